#!/usr/bin/env python3
"""Compares what the command makes of JSON Lines with Python's json module.

  json_lines_test.py --cleave PATH [--lines N] [--seed N]

The lines are generated: sound ones with escapes, surrogates, repeated keys and numbers of any form; the same after
damage; long ones; blank ones; bytes that are not UTF-8. Each round has N lines, a different seed, and its own threads
and block size. The key of a record, and whether a line is JSON, follow from Python's reading alone.
"""
import argparse
import gzip
import json
import os
import random
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import in_memory  # noqa: E402
from verdicts import Tally, need  # noqa: E402

ROUNDS = 6
LARGE = 80 << 20   # more than any buffer in src/, see straddle_test.py
DEEPEST = 1024
TIMEOUT_S = 120
BLANKS = b" \t\r\n"
# For --by, and as the steps that they consist of.
PATHS = {".k": ["k"], ".o.k": ["o", "k"], ".a[1]": ["a", 1], '."x y".k': ["x y", "k"], ".a[0].k": ["a", 0, "k"],
         '."é""".k': ['é"', "k"]}


# What a line means.

class Number(str):
    """A number as it is written."""


class Object(dict):
    """With all keys in order, repeated ones too."""

    def __init__(self, pairs):
        super().__init__(pairs)   # the last value of a key counts
        self.keys_in_order = [key for key, _ in pairs]


def refuse(word):
    raise ValueError(word)


def parse(line):
    """The value, or ValueError."""
    text = line.decode("utf-8")   # UnicodeDecodeError is a ValueError
    return json.loads(text, parse_int=Number, parse_float=Number, parse_constant=refuse, object_pairs_hook=Object)


class Container(Exception):
    """The value at a path is an object or an array."""


def key_of(value, steps):
    """The key as bytes."""
    for step in steps:
        if isinstance(step, str):
            value = value.get(step) if isinstance(value, dict) else None
        else:
            value = value[step] if isinstance(value, list) and step < len(value) else None
    if isinstance(value, (dict, list)):
        raise Container
    if value is None:
        return b""
    if isinstance(value, bool):
        return b"true" if value else b"false"
    return value.encode("utf-8", "surrogatepass")


def is_blank(line):
    return not line.strip(BLANKS)


# Lines.

STRINGS = ['""', '"a"', '"b"', '"\\u0061"', '"a\\/b"', '"a/b"', '"\\""', '"\\\\"', '"\\n\\t\\r\\b\\f"', '"é"', '"\\u00e9"',
           '"\\u00E9"', '"😀"', '"\\ud83d\\ude00"', '"\\uD83D"', '"\\ude00\\ud83d"', '"\\u0000"', '"\x7f"', '"\uffff"',
           '"[1,2]"', '"{\\"k\\":1}"', '"a long text, of more than eight bytes"']
NUMBERS = ["0", "-0", "1", "1.0", "1e0", "10", "-1.5e+10", "1E-400", "1e400", "0.000", "123456789012345678901234567890",
           "18446744073709551616", "9007199254740993"]
KEYS = ['"k"', '"k"', '"o"', '"a"', '"x y"', '"\\u006b"', '"é\\""', '"\\u00e9\\u0022"', '""', '"other"']


def blanks(chance):
    return "".join(chance.choice(" \t\r") for _ in range(chance.choice([0, 0, 0, 0, 1, 2])))


def scalar(chance):
    kind = chance.random()
    if kind < 0.5:
        return chance.choice(STRINGS)
    return chance.choice(NUMBERS) if kind < 0.8 else chance.choice(["true", "false", "null"])


def value_text(chance, depth):
    if depth == 0 or chance.random() < 0.55:
        return scalar(chance)
    gap = lambda: blanks(chance)   # noqa: E731
    members = [gap() + value_text(chance, depth - 1) + gap() for _ in range(chance.randrange(4))]
    if chance.random() < 0.35:
        return "[" + (",".join(members) or gap()) + "]"
    return "{" + (",".join(gap() + chance.choice(KEYS) + gap() + ":" + member for member in members) or gap()) + "}"


def object_text(chance):
    members = [chance.choice(KEYS) + blanks(chance) + ":" + value_text(chance, 3) for _ in range(chance.randrange(6))]
    return "{" + ",".join(members) + "}"


def nested(depth):
    return b"[" * depth + b"]" * depth


def damaged(chance, line):
    at = chance.randrange(len(line) + 1)
    some = chance.choice([b"{", b"}", b"[", b"]", b",", b":", b'"', b"\\", b"\\u12", b"0", b".", b"e", b"-", b"\x00", b"\x1f",
                          b"\x80", b"\xc3", b"\xed\xa0\x80", b"\xf5", b"\xef\xbb\xbf", b"NaN", b"nul", b"'", b" "])
    kind = chance.randrange(4)
    if kind == 0:
        return line[:at] + some + line[at:]
    if kind == 1:
        return line[:at] + line[at + 1:]
    return line[:at] if kind == 2 else line[:at] + some + line[at + 1:]


def make_line(chance):
    kind = chance.random()
    if kind < 0.01:
        return chance.choice([b"", b" ", b"\t \r", b"\r"])
    if kind < 0.0102:
        return b'{"k":"' + b"long " * chance.randrange(400_000) + b'","o":{"k":"\\u0061"}}'
    if kind < 0.0105:
        return nested(chance.choice([DEEPEST, DEEPEST + 1]))
    line = (blanks(chance) + (object_text(chance) if kind < 0.85 else value_text(chance, 4)) + blanks(chance)).encode()
    return damaged(chance, line) if chance.random() < 0.4 else line


class Lines:
    def __init__(self, seed, count):
        self.chance = random.Random(seed)
        lines = [make_line(self.chance) for _ in range(count)]
        self.lines = [line.replace(b"\n", b" ") for line in lines]
        self.mark = b"\xef\xbb\xbf" if self.chance.random() < 0.5 else b""
        self.ends = not self.lines[-1] or self.chance.random() < 0.5   # an empty last line exists only if it ends
        self.values = [self.value(line) for line in self.lines]

    @staticmethod
    def value(line):
        """(True, value), or (False, None) for a line that is not JSON. None for a blank line."""
        if is_blank(line):
            return None
        try:
            if line == nested(DEEPEST + 1):
                return False, None
            return True, parse(line)
        except ValueError:
            return False, None

    def only(self, numbers):
        """The same with these lines only."""
        part = Lines.__new__(Lines)
        part.chance, part.mark, part.ends = self.chance, self.mark, True
        part.lines = [self.lines[i] for i in numbers]
        part.values = [self.values[i] for i in numbers]
        return part

    def records(self):
        last = len(self.lines) - 1
        return [(self.mark if i == 0 else b"") + line + (b"\n" if i < last or self.ends else b"")
                for i, line in enumerate(self.lines)]

    def key(self, number, steps):
        """Raises ValueError for a line that is not JSON, and Container."""
        if self.values[number] is None:
            return b""
        if not self.values[number][0]:
            raise ValueError
        return key_of(self.values[number][1], steps)


# The checks.

class Bench:
    def __init__(self, cleave, folder, lines):
        self.cleave, self.folder, self.lines = cleave, folder, lines

    def write(self, name, lines):
        data = b"".join(lines.records())
        with open(os.path.join(self.folder, name), "wb") as file:
            file.write(gzip.compress(data, 1) if name.endswith(".gz") else data)
        return data

    def machine(self):
        return ["-j%d" % self.lines.chance.choice([1, 2, 5]),
                "--block-size=%d" % self.lines.chance.choice([64, 1000, 1 << 20])]

    def run(self, words, code, data=None):
        done = subprocess.run([self.cleave, *words], cwd=self.folder, input=data, capture_output=True, timeout=TIMEOUT_S)
        need(done.returncode == code, "%s: exit %d, not %d: %s" % (words, done.returncode, code, done.stderr[-500:]))
        return done


def check_report(bench):
    """check finds the lines that are not JSON, blank ones, and the keys"""
    lines = bench.lines
    data = bench.write("in.jsonl", lines)
    bench.write("in.jsonl.gz", lines)
    bad = [i + 1 for i, value in enumerate(lines.values) if value is not None and not value[0]]
    counts = {}
    for value in lines.values:
        if value is not None and isinstance(value[1], Object):
            for key in value[1].keys_in_order:
                counts[key] = counts.get(key, 0) + 1
    starts, start = {}, 0
    for i, record in enumerate(lines.records()):
        starts[i + 1] = (start, start + len(record))
        start += len(record)
    reports = []
    for words, given in ((["in.jsonl"], None), (["in.jsonl.gz"], None), (["--dialect", "jsonl", "-"], data)):
        words = ["check", "--json", "--all", *bench.machine(), *words]
        report = json.loads(bench.run(words, 3 if bad else 0, given).stdout)["json_lines"]
        reports.append(report)
        found = [line["record"] for line in report["not_json"]["lines"]]
        need(found == bad, "lines that are not JSON: %s" % sorted(set(found) ^ set(bad))[:10])
        need(report["not_json"]["count"] == len(bad), "the count")
        for line in report["not_json"]["lines"]:
            begin, end = starts[line["record"]]
            need(begin <= line["byte"] <= end, "byte %d of line %d" % (line["byte"], line["record"]))
        need(report["blank_lines"]["count"] == sum(value is None for value in lines.values), "blank lines")
        shown = {key.encode("utf-8", "replace").decode(): count for key, count in counts.items()}
        need([(key["name"], key["count"]) for key in report["keys"]] == list(shown.items()), "keys: %s" % report["keys"])
    need(reports[0] == reports[1] == reports[2], "file, compressed file and stream have the same report")


def expected_groups(lines, paths):
    groups = {}
    for i, record in enumerate(lines.records()):
        key = tuple(lines.key(i, PATHS[path]) for path in paths)
        groups.setdefault(key, []).append(record)
    return {key: b"".join(records) for key, records in groups.items()}


def sound_for(lines, paths):
    """The numbers of the lines that have a key at all of the paths."""
    numbers = []
    for i in range(len(lines.lines)):
        try:
            for path in paths:
                lines.key(i, PATHS[path])
        except (ValueError, Container):
            continue
        numbers.append(i)
    return numbers


def check_values(bench):
    """--by puts the lines with the same key together"""
    most = 0
    for paths in [[path] for path in PATHS] + [[".k", ".o.k"]]:
        lines = bench.lines.only(sound_for(bench.lines, paths))
        data = bench.write("in.jsonl", lines)
        groups = expected_groups(lines, paths)
        most = max(most, len(groups))
        out = tempfile.mkdtemp(dir=bench.folder)
        is_stream = bench.lines.chance.random() < 0.3
        bench.run(["split", *bench.machine(), "--dialect", "jsonl", "--by", ",".join(paths), "-q", "-o", out + "/{i}",
                   "-" if is_stream else "in.jsonl"], 0, data if is_stream else None)
        need(len(os.listdir(out)) == len(groups), "%s: a piece for each key" % paths)
        for number, (key, text) in enumerate(groups.items(), 1):
            with open("%s/%0*d" % (out, len(str(len(groups))), number), "rb") as file:
                need(file.read() == text, "%s: the lines with key %r" % (paths, key))
    need(most > 1, "there are several keys")


def check_large(bench):
    """--by on an input that is larger than any buffer"""
    lines = bench.lines.only(sound_for(bench.lines, [".o.k"]))
    lines.mark = b""
    groups = expected_groups(lines, [".o.k"])
    data = b"".join(lines.records())
    times = LARGE // len(data) + 1
    out = tempfile.mkdtemp(dir=bench.folder)
    for words, given in ((["in.jsonl"], None), (["-"], data * times)):
        if given is None:
            with open(os.path.join(bench.folder, "in.jsonl"), "wb") as file:
                file.write(data * times)
        bench.run(["split", "-j4", "--dialect", "jsonl", "--by", ".o.k", "-f", "-q", "-o", out + "/{i}", *words], 0, given)
        for number, text in enumerate(groups.values(), 1):
            with open("%s/%0*d" % (out, len(str(len(groups))), number), "rb") as file:
                need(file.read() == text * times, "piece %d" % number)
    report = json.loads(bench.run(["check", "--json", "in.jsonl"], 0).stdout)
    need(report["records"] == len(lines.lines) * times, "the number of records")
    need(report["json_lines"]["not_json"]["count"] == 0, "a line is said not to be JSON")


def check_faults(bench):
    """--by ends at the first line without a key, and names it"""
    bench.write("in.jsonl", bench.lines)
    for path, steps in PATHS.items():
        wanted = None
        for i in range(len(bench.lines.lines)):
            try:
                bench.lines.key(i, steps)
            except (ValueError, Container) as fault:
                wanted = (i + 1, "is an " if isinstance(fault, Container) else "a line is not JSON: ")
                break
        done = bench.run(["split", *bench.machine(), "--by", path, "--buckets", "3", "-o", "no/{i}", "--mkdir", "in.jsonl"], 3)
        text = done.stderr.decode()
        found = re.search(r"\(byte \d+, line (\d+), record (\d+)\)$", text.strip())
        need(found and int(found[1]) == int(found[2]) == wanted[0], "%s: %s is %s" % (path, text, wanted))
        need(wanted[1] in text.replace("is an array", "is an object"), "%s: why: %s" % (path, text))
        need(not os.path.exists(os.path.join(bench.folder, "no")), "nothing is left")


def check_together(bench):
    """--together cuts only where the key changes"""
    for path, steps in PATHS.items():
        lines = bench.lines.only(sound_for(bench.lines, [path])[:3000])
        bench.write("in.jsonl", lines)
        keys = [lines.key(i, steps) for i in range(len(lines.lines))]
        changes = [i for i in range(1, len(keys)) if keys[i] != keys[i - 1]] + [len(keys)]
        limit = bench.lines.chance.choice([1, 2, 5, 50])
        cuts, at = [], 0
        while at < len(keys):
            within = [i for i in changes if at < i <= at + limit]
            at = within[-1] if within else min(i for i in changes if i > at)
            cuts.append(at)
        done = bench.run(["offsets", *bench.machine(), "-l", str(limit), "--together", path, "--format", "jsonl", "-q",
                          "in.jsonl"], 0)
        pieces = [json.loads(line) for line in done.stdout.splitlines()]
        ends = [piece["first_record"] - 1 + piece["records"] for piece in pieces if "records" in piece]
        need(ends == cuts, "%s: pieces end after other records" % path)


def check_keys_seen(bench):
    """check counts a thousand keys, and says that there are more"""
    for count, name in ((1000, "k%d"), (1001, "k%d"), (2, "k" * 255 + "%d"), (2, "k" * 256 + "%d")):
        records = b"".join(b'{"id":0,"%s":1}\n' % (name % i).encode() for i in range(count - 1))
        with open(os.path.join(bench.folder, "keys.jsonl"), "wb") as file:
            file.write(records)
        report = json.loads(bench.run(["check", "--json", *bench.machine(), "keys.jsonl"], 0).stdout)["json_lines"]
        has_more = count > 1000 or len(name % 0) > 256
        need(report["more_keys"] == has_more, "%d keys: %s" % (count, report["more_keys"]))
        need(len(report["keys"]) == (0 if has_more else count), "%d keys are listed" % len(report["keys"]))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cleave", required=True)
    parser.add_argument("--lines", type=int, default=20_000, help="in each round")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    sys.setrecursionlimit(10 * DEEPEST)
    tally = Tally()
    for seed in range(options.seed, options.seed + ROUNDS):
        lines = Lines(seed, options.lines)
        checks = [check_report, check_values, check_faults, check_together, check_keys_seen]
        for check in checks + [check_large] * (seed == options.seed):
            with tempfile.TemporaryDirectory(dir=in_memory.folder()) as folder:
                bench = Bench(os.path.abspath(options.cleave), folder, lines)
                tally.run("%s (seed %d)" % (check.__doc__, seed), lambda: check(bench))
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
