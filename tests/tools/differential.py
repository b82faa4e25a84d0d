#!/usr/bin/env python3
"""Runs two binaries on the same random commands: their output, their exit status and the files that they leave must be
the same.

  differential.py OLD NEW [--count N] [--seed N] [--jobs N] [--show N]

For changes that should not affect behaviour: build the commit before and the commit after. Verbs and options are drawn
at random, on sound and unsound inputs of all kinds. A case is determined by its number, so `--seed N --count 1` repeats
case N. Intended differences are reported too, and you have to explain them. A run with --sync waits for the disk,
unless TMPDIR is in memory.
"""
import argparse
import collections
import multiprocessing
import os
import random
import shutil
import subprocess
import sys
import tempfile

TIMEOUT_S = 60
NAMES = ["id", "k", "name", "mail", "v", "a b", "Größe"]
WORDS = [b"", b"0", b"7", b"12", b"x", b"red", b"blue", b"ada@example.org", "Zoë".encode(), b"4012888888881881",
         b"2024-02-29", b"-3.5", b"a b", b"NULL"]


class Input:
    """An input's bytes, and how to read them."""

    def __init__(self, chance):
        self.delimiter = chance.choice([b","] * 6 + [b";", b"\t", b"|"])
        self.quote = chance.choice([b'"'] * 8 + [b"'"])
        self.end = chance.choice([b"\n"] * 5 + [b"\r\n"] * 2 + [b"\r"])
        self.columns = chance.choice([1, 2, 3, 3, 4, 5])
        self.names = chance.sample(NAMES, self.columns)
        self.odd = chance.random() < 0.25
        count = chance.choice([0, 1, 2, 5, 12, 30, 60]) if chance.random() < 0.93 else 3000
        lines = [self.delimiter.join(name.encode() for name in self.names)] + [self.record(chance)
                                                                              for _ in range(count)]
        text = self.end.join(lines) + (self.end if chance.random() < 0.7 else b"")
        if chance.random() < 0.04:
            text = text[:chance.randrange(len(text) + 1)]
        self.preamble = chance.random() < 0.05
        if self.preamble:
            text = b"# made by hand\n# twice\n" + text
        if chance.random() < 0.08:
            text = b"\xef\xbb\xbf" + text
        if chance.random() < 0.01:
            text = b""
        self.text = text

    def record(self, chance):
        if chance.random() < 0.04:
            return b""
        columns = self.columns
        if self.odd and chance.random() < 0.05:
            columns = chance.randrange(1, 7)
        return self.delimiter.join(self.field(chance) for _ in range(columns))

    def field(self, chance):
        word = chance.choice(WORDS) if chance.random() < 0.9 else b"w%d" % chance.randrange(10 ** 6)
        kind = chance.random()
        if self.odd and kind < 0.02:
            return chance.choice([self.quote, word + self.quote, self.quote + word + self.quote + b"x",
                                  self.quote + b"a\\" + self.quote, b"\xff", b"a\rb"])
        if kind < 0.2:
            inner = word + chance.choice([b"", self.delimiter, b"\n", b"\r\n", self.quote * 2, b"\xc3\xa9"])
            return self.quote + inner + self.quote
        return word


def dialect(chance, data):
    words = []
    if chance.random() < 0.5:
        words += ["-d", data.delimiter.decode()]
    if chance.random() < 0.15:
        words += chance.choice([["-q", data.quote.decode()], ["--no-quote"]])
    if chance.random() < 0.15:
        words += chance.choice([["--quoting", "field-start"], ["--quoting", "anywhere"], ["-e", "\\"],
                                ["-e", "\\", "--escape-scope", "everywhere"], ["--dialect", "excel"],
                                ["--dialect", "mysql"], ["--dialect", "rfc4180"]])
    if chance.random() < 0.1:
        words += ["--terminator", chance.choice(["any", "lf", "cr", "auto"])]
    if data.preamble or chance.random() < 0.02:
        words += chance.choice([["--comment", "#"], ["--skip-lines", "2"], []])
    if chance.random() < 0.3:
        words += chance.choice([["-H"], ["--header", "first"], ["--header", "drop"], ["--header", "repeat"]])
    if chance.random() < 0.4:
        words += [chance.choice(["--lenient", "--lenient", "--strict"])]
    return words


def machine(chance):
    words = []
    if chance.random() < 0.5:
        words += ["-j", chance.choice("1237")]
    if chance.random() < 0.25:
        words += ["--block-size", chance.choice(["4K", "16K", "1M"])]
    return words


def column(chance, data):
    return chance.choice([*data.names, *data.names, "#1", "#2", "#9", "none"])


def quoted(name):
    return name if name.isascii() and " " not in name else '"%s"' % name


def rules(chance, data):
    """Options for the dialect, possibly none."""
    words = []
    if chance.random() < 0.5:
        return words
    for _ in range(chance.choice([1, 1, 2, 3])):
        operation = chance.choice(["null", "fixed(gone)", "fixed(\"a,b\"\"c\")", "keep", "hmac(s)", "mask(last=2)",
                                   "initials", "date(year)", "email(local=mask)", "short-name", "number(10)"])
        where = chance.choice(["", "", "", " if %s empty", " if %s != \"x\"", " if %s in {\"x\", \"red\"}"])
        where = where % quoted(column(chance, data)) if where else where
        name = chance.choice([quoted(column(chance, data)), "*"])
        words += ["--redact", "%s: %s%s" % (name, operation, where)]
        if where and chance.random() < 0.9:   # a rule for all other records is needed too
            words += ["--redact", name + ": keep"]
    if any("hmac" in word for word in words):
        words += ["--key", "s=file:key"]
    if chance.random() < 0.3:
        words += ["--select", chance.choice([quoted(column(chance, data)), "!" + quoted(column(chance, data)),
                                             ",".join(map(quoted, data.names[::-1]))])]
    if chance.random() < 0.2:
        words += ["--default", chance.choice(["keep", "null", "drop", "fail"])]
    if chance.random() < 0.1:
        words += ["--forbid", chance.choice(["mail", "card"])]
    if chance.random() < 0.1:
        words += ["--null", chance.choice(["NULL", "\\N", "a,b"])]
    if chance.random() < 0.1:
        words += ["--report", "report.json"]
    if chance.random() < 0.05:
        words += ["--max-record", chance.choice(["10", "1K"])]
    return words


def policy(chance, data, verb):
    kind = chance.random()
    if kind < 0.25:
        words = ["-n", str(chance.choice([1, 2, 3, 7]))]
        if chance.random() < 0.2:
            words += ["--balance", chance.choice(["records", "bytes"])]
    elif kind < 0.45:
        words = ["-l", str(chance.choice([1, 2, 5, 100]))]
    elif kind < 0.65:
        words = ["-C", chance.choice(["1", "20", "100", "1K", "64K"])]
        if chance.random() < 0.3:
            words += ["-l", str(chance.choice([1, 3, 10]))]
    elif verb == "split":
        words = ["--by", ",".join(quoted(column(chance, data)) for _ in range(chance.choice([1, 1, 1, 2])))]
        for each in (["--drop-by"], ["--hive"], ["--hive", "--keep-by"], ["--buckets", "3"], ["--max-keys", "4"],
                     ["-l", "2"], ["-C", "60"]):
            if chance.random() < 0.15:
                words += each
    else:
        words = ["-l", "3"]
    if "--by" not in words and chance.random() < 0.15:
        words += ["--together", column(chance, data)]
    return words


def source(chance):
    return chance.choice(["in.csv", "in.csv", "in.csv", "-"])


def split(chance, data):
    words = ["split", *policy(chance, data, "split"), *dialect(chance, data), *rules(chance, data), *machine(chance)]
    for each in (["-f"], ["--resume"], ["--manifest", "m.json"], ["--checksum", "--manifest", "m.json"], ["--print"],
                 ["--dry-run"], ["--json"], ["--compress", "gzip"], ["--compress", "zstd"],
                 ["--filter", "cat >$FILE"], ["--mkdir"], ["--first-index", "5"], ["--snapshot"], ["--sync"],
                 ["--quiet"],
                 ["--strict-size"] if "-C" in words else [], ["--clone", "auto"] if "--by" not in words else []):
        if chance.random() < 0.06:
            words += [word for word in each if word not in words or word == "m.json"]
    if "--redact" in words and chance.random() < 0.3:
        words += ["--spool", "plain"]
    if chance.random() < 0.5:
        names = ["p{value}", "{value}/"] if "--by" in words else ["p{i}", "p{i:3}.csv", "p{start}", "out/{i}",
                                                                        "{record}-{i}"]
        words += ["-o", chance.choice(names)]
        if "/" in words[-1]:
            words += ["--mkdir"]
    return [[*words, source(chance)]]


def split_twice(chance, data):
    words = split(chance, data)[0]
    return [words, [*words, chance.choice(["-f", "--resume"])]]


def cat(chance, data):
    words = ["cat", *dialect(chance, data), *rules(chance, data), *machine(chance)]
    kind = chance.random()
    if kind < 0.35:
        pieces = chance.choice([1, 2, 3, 5])
        words += ["-n", "%d/%d" % (chance.randrange(1, pieces + 1), pieces)]
        if chance.random() < 0.2:
            words += chance.choice([["--balance", "records"], ["--together", column(chance, data)]])
    elif kind < 0.6:
        words += ["-r", chance.choice(["1-2", "3-3", "2-", "-4", "5-100", "1-1"])]
    if chance.random() < 0.05:
        words += ["--snapshot"]
    return [[*words, source(chance)]]


def offsets(chance, data):
    words = ["offsets", *policy(chance, data, "offsets"), *dialect(chance, data), *machine(chance)]
    if chance.random() < 0.5:
        words += ["--format", chance.choice(["json", "jsonl", "csv", "tsv", "u64", "http"])]
    return [[*words, source(chance)]]


def count(chance, data):
    words = ["count", *dialect(chance, data), *machine(chance)]
    return [[*words, *(["--json"] if chance.random() < 0.3 else []), source(chance)]]


def check(chance, data):
    words = ["check", *dialect(chance, data), *rules(chance, data), *machine(chance)]
    for each in (["--json"], ["--columns"], ["--all"], ["--rules-template"]):
        if chance.random() < 0.2:
            words += each
    return [[*words, source(chance)]]


def sample(chance, data):
    return [["sample", "-k", chance.choice("0139"), "--seed", chance.choice("12"), *dialect(chance, data),
             *rules(chance, data), *machine(chance), source(chance)]]


def index(chance, data):
    given = dialect(chance, data)
    return [["index", *given, "in.csv"], ["index", "--verify", *given, "in.csv"],
            ["cat", "-n", "2/3", "--index", chance.choice(["auto", "require"]), *given, "in.csv"]]


def join(chance, data):
    given = [word for word in dialect(chance, data) if word not in ("--lenient", "--strict")]
    first = ["split", *policy(chance, data, "split"), *given, "--manifest", "m.json", "in.csv"]
    return [first, ["join", "--manifest", "m.json", *chance.choice([[], ["-o", "whole.csv"]])]]


def scan(chance, data):
    given = [word for word in dialect(chance, data) if word not in ("--lenient", "--strict")]
    for option, value in (("-d", data.delimiter.decode()), ("--terminator", "lf")):
        given += [] if option in given else [option, value]
    if "--header" in given or "-H" in given:
        return count(chance, data)   # because scan does not have that option
    middle = chance.randrange(len(data.text) + 1)
    return [["scan", "-r", "0-%d" % middle, *given, "in.csv", ">", "one.json"],
            ["scan", "-r", "%d-" % middle, *given, "in.csv", ">", "two.json"],
            ["plan", chance.choice(["-n", "-l"]), "3", "one.json", "two.json", ">", "plan.json"],
            ["cat", "-n", "2/3", "--plan", "plan.json", "in.csv"],
            ["offsets", "--plan", "plan.json", "in.csv"]]


# The verbs, and how often each is drawn.
VERBS = [(split, 45), (split_twice, 6), (cat, 20), (offsets, 7), (count, 3), (check, 6), (sample, 4), (index, 3),
         (join, 4), (scan, 4)]


class Bench:
    def __init__(self, programs):
        self.programs = [os.path.abspath(program) for program in programs]
        self.folder = tempfile.mkdtemp(prefix="differential.")

    def remove(self):
        shutil.rmtree(self.folder)

    def leave(self):
        """Removes the files that a run has left, and returns {name: mode and bytes}."""
        found = {}
        for root, folders, files in os.walk(self.folder, topdown=False):
            for name in files:
                path = os.path.join(root, name)
                where = os.path.relpath(path, self.folder)
                if where in ("in.csv", "key"):
                    continue
                with open(path, "rb") as file:   # the marker of a run contains a process id
                    is_marker = name.startswith(".cleave-")
                    found[where] = (os.stat(path).st_mode, b"" if is_marker else file.read())
                os.unlink(path)
            for name in folders:
                path = os.path.join(root, name)
                found[os.path.relpath(path, self.folder) + "/"] = (os.stat(path).st_mode, b"")
                os.rmdir(path)
        return found

    def outcome(self, program, commands, text):
        outcome = []
        for words in commands:
            target = subprocess.PIPE
            if ">" in words:
                target = open(os.path.join(self.folder, words[-1]), "wb")
                words = words[:-2]
            done = subprocess.run([program, *words], cwd=self.folder, input=text, stdout=target,
                                  stderr=subprocess.PIPE, timeout=TIMEOUT_S, check=False)
            if target is not subprocess.PIPE:
                target.close()
            outcome.append((done.returncode, done.stdout, done.stderr))
        return outcome, self.leave()

    def difference(self, number):
        """Returns what differs, or None, and the verb with the status of the old program's last command."""
        chance = random.Random(number)
        data = Input(chance)
        make = chance.choices([verb for verb, _ in VERBS], [weight for _, weight in VERBS])[0]
        commands = make(chance, data)
        for name, text in (("in.csv", data.text), ("key", b"0123456789abcdef0123456789abcdef")):
            with open(os.path.join(self.folder, name), "wb") as file:
                file.write(text)
        os.chmod(os.path.join(self.folder, "key"), 0o600)
        (old, old_files), (new, new_files) = [self.outcome(program, commands, data.text) for program in self.programs]
        kind = "%s: %d" % (make.__name__, old[-1][0])
        if "--filter" in commands[0] and old[-1][0] != 0:   # what filters did before they were ended varies
            old, new, old_files, new_files = old[-1][0], new[-1][0], {}, {}
        if (old, old_files) == (new, new_files):
            return None, kind
        lines = ["case %d: %s" % (number, " && ".join(" ".join(words) for words in commands))]
        for before, after in zip(old, new) if isinstance(old, list) else [((old,), (new,))]:
            lines += ["   %s -> %s" % pair for pair in zip(map(repr, before), map(repr, after)) if pair[0] != pair[1]]
        for name in sorted({*old_files, *new_files}):
            if old_files.get(name) != new_files.get(name):
                lines.append("   %s: %.300r -> %.300r" % (name, old_files.get(name), new_files.get(name)))
        return "\n".join(lines), kind


def work(programs, numbers, sender):
    bench, found, kinds = Bench(programs), [], collections.Counter()
    try:
        for number in numbers:
            difference, kind = bench.difference(number)
            kinds[kind] += 1
            if difference:
                found.append((number, difference))
    finally:
        bench.remove()
    sender.send((found, kinds))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs=2, metavar="PROGRAM")
    parser.add_argument("--count", type=int, default=1000, metavar="N")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="the number of the first case [1]")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N")
    parser.add_argument("--show", type=int, default=20, metavar="N", help="differences that are printed [20]")
    args = parser.parse_args()
    workers, found, kinds = [], [], collections.Counter()
    for first in range(args.jobs):
        receiver, sender = multiprocessing.Pipe(duplex=False)
        numbers = range(args.seed + first, args.seed + args.count, args.jobs)
        process = multiprocessing.Process(target=work, args=(args.programs, numbers, sender))
        process.start()
        sender.close()
        workers.append((receiver, process))
    for receiver, process in workers:
        some, more = receiver.recv()
        found += some
        kinds.update(more)
        process.join()
    for _, difference in sorted(found)[:args.show]:
        print(difference)
    print("; ".join("%s (%d times)" % pair for pair in sorted(kinds.items())))
    print("%d passed, %d failed" % (args.count - len(found), len(found)))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
