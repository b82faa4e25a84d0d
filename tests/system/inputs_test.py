#!/usr/bin/env python3
"""Several inputs as one, against a reference that reads bytes one by one.

  inputs_test.py PROGRAM [--seed N] [--count N] [--only SUBSTRING]

Random sets of files: empty, a header alone, byte order marks, all line ends, no last line end, open quotes and escapes,
compressed, other columns. The program must write the bytes that the reference does, or refuse what it refuses.
"""
import argparse
import collections
import csv
import functools
import gzip
import io
import json
import os
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tools"))
from verdicts import Tally, need  # noqa: E402

csv.field_size_limit(1 << 30)
MARK = b"\xef\xbb\xbf"
LINE_ENDS = {"lf": (b"\n", b"\r\n"), "cr": (b"\r",), "any": (b"\n", b"\r\n", b"\r")}


class Malformed(Exception):
    pass


def read(data, terminator, has_escape):
    """The records, each with its fields, and what the last one lacks: "", "a line end" or "an end"."""
    records, fields, begin, state, i, escaped = [], [b""], 0, "field", 0, 0
    while i < len(data):
        byte, i = data[i:i + 1], i + 1
        if state.startswith("escaped"):
            fields[-1], state, escaped = fields[-1] + byte, state[8:], i
        elif has_escape and byte == b"\\" and state != "closed":
            state = "escaped " + ("quoted" if state == "quoted" else "plain")
        elif state == "quoted":
            state = "closed" if byte == b'"' else state
            fields[-1] += b"" if byte == b'"' else byte
        elif byte == b'"' and state in ("field", "closed"):
            fields[-1] += byte if state == "closed" else b""
            state = "quoted"
        elif byte == b",":
            fields.append(b"")
            state = "field"
        elif (byte == b"\n" and terminator != "cr") or (byte == b"\r" and terminator != "lf"):
            i += byte == b"\r" and terminator == "any" and data[i:i + 1] == b"\n"
            if byte == b"\n" and fields[-1].endswith(b"\r") and escaped != i - 1:
                fields[-1] = fields[-1][:-1]
            records.append((data[begin:i], fields))
            begin, fields, state = i, [b""], "field"
        else:
            fields[-1] += byte
            state = "plain"
    if begin < len(data):
        records.append((data[begin:], fields))
    is_open = state == "quoted" or state.startswith("escaped")
    return records, "an end" if is_open else "a line end" if begin < len(data) else ""


def joined(files, terminator, has_escape, has_header):
    """The head of the first input that is not empty, and the records of all; the last may be open. Raises Malformed."""
    while len(files) > 1 and not files[0].removeprefix(MARK).strip(b"\r\n" if has_header else b""):
        files = files[1:]
    parts, columns, end = [], None, b"\r" if terminator == "cr" else b"\n"
    for number, data in enumerate(files, 1):
        mark = MARK if data.startswith(MARK) else b""
        records, lack = read(data[len(mark):], terminator, has_escape)
        first = next((i for i, (text, _) in enumerate(records) if text.strip(b"\r\n")), None)
        own = None if first is None else records[first][1]
        if columns is not None and own is not None and (own != columns if has_header else len(own) != len(columns)):
            raise Malformed("other columns")
        sample = records[first or 0][0] if records else b""
        own_end = next((e for e in (b"\r\n", b"\n", b"\r") if sample.endswith(e)), None)
        end = own_end or end
        cut = (len(records) if first is None and number > 1 else (first or 0) + 1) if records and has_header else 0
        head = mark + b"".join(text for text, _ in records[:cut])
        texts = [text for text, _ in records[cut:]]
        is_first = number == 1
        if lack == "an end" and (texts or is_first) and number < len(files):
            raise Malformed("an open end")
        if is_first or texts:
            parts.append([head if is_first else b"", texts, lack and end])
        columns = own if columns is None else columns
    for part, following in zip(parts, parts[1:]):
        if part[1]:
            part[1][-1] += part[2] or b""
        elif part[0] not in (b"", MARK):
            part[0] += part[2] or b""
        before = part[1][-1] if part[1] else part[0]
        if terminator == "any" and before.endswith(b"\r") and following[1][0].startswith(b"\n"):
            raise Malformed("a CR and an LF")
    return parts[0][0], [text for part in parts for text in part[1]]


def some_file(rng, terminator, may_be_open=True):
    ends = LINE_ENDS[terminator]
    end = rng.choice(ends)
    if rng.random() < 0.12:
        return rng.choice((b"", MARK, b"")) + end * rng.choice((0, 0, 1, 2, 3))
    data = (MARK if rng.random() < 0.15 else b"") + (end if rng.random() < 0.1 else b"")
    data += rng.choice([b"a,b"] * 8 + [b'"a",b', b'a,"b"', b"a,c", b"a,b,c"])
    for _ in range(rng.choice((0, 0, 1, 2, 3, 4))):
        data += end if rng.random() < 0.9 else rng.choice(ends)
        data += rng.choice([b"1,2", b"3,4", b'"x,y",z', b'"p\nq",r', b'"d""d",1', b"", b'u,v"w', b"k\\,l", b'"c\rd",e'])
    if may_be_open and rng.random() < 0.1:
        data += rng.choice((end + b'"op,en', b"\\"))
    return data + (end if rng.random() < 0.6 else b"")


class Bench:
    def __init__(self, program, seed, count):
        self.program, self.seed, self.count = program, seed, count

    def run(self, folder, *words, data=None):
        return subprocess.run([self.program, *words], cwd=folder, capture_output=True, input=data, check=False)


def pieces(folder):
    names = sorted(name for name in os.listdir(folder) if name.startswith("p"))
    found = []
    for name in names:
        with open(os.path.join(folder, name), "rb") as file:
            found.append(file.read())
        os.unlink(os.path.join(folder, name))
    return found


def write(folder, name, data):
    with open(os.path.join(folder, name), "wb") as file:
        file.write(gzip.compress(data, 1) if name.endswith(".gz") else data)
    return name


def random_sets(bench):
    """Sets of files: what cat and split write, and what they refuse"""
    rng = random.Random(bench.seed)
    outcomes = collections.Counter()
    for number in range(bench.count):
        terminator, has_escape, has_header = rng.choice(("lf", "any", "cr")), rng.random() < 0.2, rng.random() < 0.8
        files = [some_file(rng, terminator) for _ in range(rng.randrange(2, 6))]
        with tempfile.TemporaryDirectory() as folder:
            suffix = [".gz" if data and rng.random() < 0.15 else "" for data in files]
            names = [write(folder, "i%d.csv%s" % (i, suffix[i]), data) for i, data in enumerate(files)]
            words = ["-q", "-d", ",", "--terminator", terminator, "--threads", rng.choice("14"), *names]
            words += ["--escape", "\\"] if has_escape else []
            words += [] if has_header else ["-H"]
            words += ["--block-size", "64"] if rng.random() < 0.3 else []
            what = "set %d: %s of %s: " % (number, words, files)
            try:
                head, records = joined(files, terminator, has_escape, has_header)
            except Malformed as malformed:
                outcomes[str(malformed)] += 1
                for verb in (["cat"], ["cat", "-n", "1/1"], ["split", "-n", "2", "-o", "p{i}"],
                             ["split", "-l", "1", "-o", "p{i}"]):
                    done = bench.run(folder, *verb, *words)
                    need(done.returncode == 3 and not pieces(folder), "%s%s: %s" % (what, verb, done))
                continue
            outcomes["joined"] += 1
            whole = head + b"".join(records)
            of_one = [*(word for word in words if word not in names), write(folder, "one.csv", whole)]
            if read(files[-1], terminator, has_escape)[1] == "an end":
                outcomes["an open end of the last"] += 1
                for verb in (["cat"], ["split", "-n", "2", "-o", "p{i}"], ["split", "-l", "1", "-o", "p{i}"]):
                    wanted, alone = bench.run(folder, *verb, *of_one), pieces(folder)
                    done = bench.run(folder, *verb, *words)
                    need((done.returncode, done.stdout, pieces(folder)) == (wanted.returncode, wanted.stdout, alone),
                         "%s%s: %s, not %s" % (what, verb, done, wanted))
                continue
            for verb in (["cat"], ["cat", "-n", "1/1"]):
                done = bench.run(folder, *verb, *words)
                need(done.returncode == 0 and done.stdout == whole, "%s%s: %s" % (what, verb, done))
            size = rng.randrange(1, 4)
            bench.run(folder, "split", "-l", str(size), "-o", "p{i:05}", *words)
            wanted = [(head if has_header or i == 0 else b"") + b"".join(records[i:i + size])
                      for i in range(0, len(records), size)]
            found = pieces(folder)
            need(found == wanted or not records, "%s-l %d: %s" % (what, size, found))
            bench.run(folder, "split", "-n", "3", "-o", "p{i:05}", *words, *(["--header", "first"] if has_header else []))
            found = pieces(folder)
            need(b"".join(found) == whole, "%s-n 3: %s" % (what, found))
            # Everything else treats them as the one file that they stand for.
            verb = rng.choice((["cat", "--select", "b"], ["split", "-n", "2", "--redact", "a: mask", "--spool", "plain", "-o",
                                "p{i}"],
                               ["split", "--by", "a", "-o", "p{value}"], ["sample", "-k", "3", "--seed", "7"],
                               ["split", "--parts", "x=1,y=2", "--seed", "7", "-o", "p{value}"], ["cat", "-r", "2-3"]))
            wanted = bench.run(folder, *verb, *of_one)
            wanted = wanted.returncode, wanted.stdout, pieces(folder)
            done = bench.run(folder, *verb, *words)
            need((done.returncode, done.stdout, pieces(folder)) == wanted, "%s%s: %s, not %s" % (what, verb, done, wanted))
    need(bench.count < 500 or len(outcomes) == 5, "these are not all outcomes: %s" % outcomes)


def rejects(bench):
    """With --rejects, the rejects of each input are those of this input alone"""
    rng = random.Random(bench.seed)
    faults = (b"bad", b"1,2,3", b'x"y,1', b'"q"z,2', b'"op,en', b'"a\nb",c,d')
    for number in range(bench.count // 3):
        with tempfile.TemporaryDirectory() as folder:
            names, alone, texts = [], [], []
            for i in range(rng.randrange(2, 5)):
                data = b"a,b\n" + b"".join(rng.choice((b"1,2", b'"3\n4",5', rng.choice(faults))) + b"\n"
                                          for _ in range(rng.randrange(6)))
                data = data[:-1] if rng.random() < 0.5 else data
                name = write(folder, "i%d.csv" % i, data)
                options = ["-q", "-d", ",", "--max-rejects", "all", "--max-record", "64"]
                done = bench.run(folder, "cat", *options, "--header", "drop", "--rejects", "r%d" % i, name)
                if done.returncode == 3 and data[-1:] == b"\n":   # all are bad; a sound one lets them be listed
                    write(folder, "sound", data + b"1,2\n")
                    done = bench.run(folder, "cat", *options, "--header", "drop", "--rejects", "r%d" % i, "sound")
                    done.stdout = done.stdout.removesuffix(b"1,2\n")
                if done.returncode == 3:
                    continue
                names.append(name)
                with open(os.path.join(folder, "r%d" % i), encoding="utf-8") as file:
                    alone += [dict(json.loads(line), input=name) for line in file]
                texts.append(done.stdout)
            if len(names) < 2 or not any(texts):
                continue
            done = bench.run(folder, "cat", *options, "--header", "drop", "--rejects", "all", *names)
            with open(os.path.join(folder, "all"), encoding="utf-8") as file:
                together = [json.loads(line) for line in file]

            def shown(lines):
                return [{key: value for key, value in line.items() if key != "header"} for line in lines]
            need(shown(together) == shown(alone), "set %d: %s, not %s" % (number, together, alone))
            texts = [text for text in texts if text]
            whole = b"".join(text + b"\n"[text.endswith(b"\n"):] for text in texts[:-1]) + b"".join(texts[-1:])
            need(done.stdout == whole, "set %d: %s, not %s" % (number, done.stdout, whole))


def by_name(bench):
    """With --columns-by-name, Python's reader finds each value under its name"""
    rng = random.Random(bench.seed)
    values = ("1", "x,y", 'q"q', "l\nl", "", "longer text")
    for number in range(bench.count // 3):
        with tempfile.TemporaryDirectory() as folder:
            names, rows, are_others = [], [], False
            first = rng.sample("abcd", rng.randrange(1, 5))
            for i in range(rng.randrange(2, 6)):
                columns = first if i == 0 else rng.sample("abcdxy", rng.randrange(1, 6))
                names.append("i%d.csv%s" % (i, rng.choice(("", ".gz"))))
                text = io.StringIO()
                writer = csv.DictWriter(text, columns, lineterminator=rng.choice(("\n", "\r\n")), quoting=csv.QUOTE_ALL)
                writer.writeheader()
                own = [{column: rng.choice(values) for column in columns} for _ in range(rng.randrange(4))]
                if own and number % 25 == 0:   # longer than what is read at once
                    own[0][columns[0]] = "p,\n" * (rng.randrange(1, 5) << 19)
                writer.writerows(own)
                are_others |= not set(columns) & set(first)
                rows += [[row.get(column, "") for column in first] for row in own]
                write(folder, names[-1], text.getvalue().encode())
            done = bench.run(folder, "cat", "-q", "-d", ",", "--columns-by-name", "--drop-unknown", *names)
            if are_others:
                need(done.returncode == 3 and b"none of its columns" in done.stderr, "set %d: %s" % (number, done))
                continue
            found = list(csv.reader(io.StringIO(done.stdout.decode(), newline="")))
            need(done.returncode == 0 and found == [first, *rows], "set %d: %s, not %s" % (number, done, rows))


def large(bench):
    """Inputs that all threads check together, and more inputs than stay open, with records across all blocks"""
    rng = random.Random(bench.seed)
    block = b"".join(b'%d,"%s\n%s"\n' % (i, b"x" * rng.randrange(200), b"y" * rng.randrange(50)) for i in range(9000))
    sizes = [(70 << 20) // len(block), 1, (80 << 20) // len(block)] + [0] * 150
    with tempfile.TemporaryDirectory() as folder:
        names, whole = [], [b"a,b\n"]
        for i, size in enumerate(sizes):
            body = block * size if size else b"%d,z\n" % i
            names.append(write(folder, "i%03d.csv" % i, b"a,b\n" + body))
            whole.append(body)
        text = b"".join(whole)
        for threads in ("1", "4"):
            done = bench.run(folder, "split", "-n", "7", "--header", "first", "--threads", threads, "-o", "p{i}", "-q",
                             *names)
            need(done.returncode == 0 and b"".join(pieces(folder)) == text, "%s threads: %s" % (threads, done))
        need(bench.run(folder, "cat", *names).stdout == text, "cat")
        write(folder, names[0], b"a,b\n" + block * sizes[0] + b'1,"open')
        for threads in ("1", "4"):
            done = bench.run(folder, "split", "-n", "7", "--threads", threads, "-o", "p{i}", *names)
            need(done.returncode == 3 and b"i000.csv: a quote is not closed" in done.stderr, done)


def last(bench):
    """cat --last of a file, of a pipe and of several inputs; of a pipe, what waits has a limit"""
    rng = random.Random(bench.seed)
    with tempfile.TemporaryDirectory() as folder:
        for number in range(bench.count):
            data = some_file(rng, "lf", False)
            (head, records), count = joined([data], "lf", False, True), rng.randrange(7)
            mode = rng.choice(("repeat", "first", "drop"))
            has_head = mode == "repeat" or (mode == "first" and count >= len(records))
            wanted = (head if has_head else b"") + b"".join(records[max(0, len(records) - count):])
            write(folder, "one.csv", data)
            words = ["cat", "-q", "-d", ",", "--terminator", "lf", "--header", mode, "--last", str(count)]
            for inputs, given in ((["one.csv"], None), (["-"], data)):
                done = bench.run(folder, *words, *inputs, data=given)
                need(done.returncode == 0 and done.stdout == wanted,
                     "%d: %s of %s: %s, not %s" % (number, words, data, done, wanted))
        for name in "uvw":
            write(folder, name, b"a,b\n" + b"".join(b"%s,%d\n" % (name.encode(), i) for i in range(99)))
        need(bench.run(folder, "cat", "--last", "101", "u", "v", "w").stdout
             == b"a,b\nv,97\nv,98\n" + b"".join(b"w,%d\n" % i for i in range(99)), "several")
        done = subprocess.run("yes 1,2 | head -c 300000000 | %s cat --last 999999999 - | wc -c" % bench.program,
                              shell=True, cwd=folder, capture_output=True, check=False)
        need(done.stdout.strip() == b"0" and b"more than 256 MiB" in done.stderr, done)
        done = subprocess.run("yes 1,2 | head -c 300000000 | %s cat --last 3 -" % bench.program, shell=True,
                              cwd=folder, capture_output=True, check=False)
        need(done.stdout == b"1,2\n" * 4, done)


TESTS = (random_sets, rejects, by_name, large, last)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=150, help="random sets")
    parser.add_argument("--only", default="", help="tests whose name contains this")
    arguments = parser.parse_args()
    bench = Bench(os.path.abspath(arguments.program), arguments.seed, arguments.count)
    tally = Tally()
    for test in TESTS:
        if arguments.only in test.__name__:
            tally.run(test.__doc__, functools.partial(test, bench))
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
