#!/usr/bin/env python3
"""Composes summaries of ranges as doc/guide/ranges.md describes, and compares the result with the command's.

  compose_test.py --cleave PATH
"""
import argparse
import functools
import json
import os
import random
import subprocess
import sys
import tempfile


class Summary:
    """The table of a summary: states and rules, with offsets in the file."""

    def __init__(self, text):
        data = json.loads(text)
        self.begin, self.end = data["range"]

        def place(value):
            return value if value in (None, -1) else value + self.begin

        self.states, self.rules = {}, {}
        for letters, row in data["states"].items():
            row = row + [None] * (7 - len(row))
            row[2:6] = map(place, row[2:6])
            for letter in letters:
                header = [row[2], None if row[2] is None else 0] if letter.islower() else row[5:7]
                self.states[letter] = row[:5] + header
                self.rules[letter + letter] = [row[0], None, 0]
        for pairs, row in data["rules"].items():
            row = row + [None, None]
            for pair in pairs.split():
                self.rules[pair] = [row[0], place(row[1]), row[2] or 0]


def compose(a, b):
    """The summary of two adjacent ranges."""
    assert a.end == b.begin
    total = object.__new__(Summary)
    total.begin, total.end, total.states, total.rules = a.begin, b.end, {}, {}
    for state, row in a.states.items():
        then = b.states[row[0]]
        header = row[5:7] if row[5] is not None else [then[5], then[6] if then[5] is None else row[1] + then[6]]
        total.states[state] = [then[0], row[1] + then[1], then[2] if row[2] is None else row[2],
                               row[3] if then[3] is None else then[3], row[4] if then[4] == -1 else then[4]] + header
    for pair, row in a.rules.items():
        if row[0] != "!":
            own = a.states[pair[0]]
            to, parted, records = b.rules[own[0] + row[0]]
            row = [to, row[1] if parted == -1 else parted, own[1] + records if to == "!" else 0]
        total.rules[pair] = row
    return total


def findings(whole):
    """For a whole file: records, size and records of the header, the open quote, and where the quote modes differ."""
    to, records, second, _, open_quote, header, header_records = whole.states["0"]
    if to in "FRUC":
        header, header_records = second, 1
    if header is None:
        header, header_records = whole.end, 1 if to in "FRUC" else records
    rule, parted, before = whole.rules["00"]
    return {"records": records, "header": [header, header_records],
            "open_quote": [open_quote, records - 1] if to in ("q", "k") else None,
            "divergence": [parted, before - 1] if rule == "!" else None}


# --------------------------------------------------------------- the command, on random files

DIALECTS = (["--terminator", "lf"], ["--terminator", "any"], ["--terminator", "lf", "--quoting", "anywhere"],
            ["--terminator", "any", "--escape", "\\"], ["--terminator", "cr", "--escape", "\\", "--escape-scope", "quoted"])


def run(*words, **options):
    return subprocess.run(words, capture_output=True, text=True, check=True, **options).stdout


def random_file(rng):
    start = rng.choice([b"", b"", b"\xef\xbb\xbf", b"\xef\xbb", b"\r\n\n"])
    return start + bytes(rng.choice(b'aab,,""\n\n\r\\') for _ in range(rng.randrange(1, 60)))


def grouped(summaries, rng):
    """All summaries composed, in a random grouping."""
    while len(summaries) > 1:
        at = rng.randrange(len(summaries) - 1)
        summaries[at:at + 2] = [compose(*summaries[at:at + 2])]
    return summaries[0]


def check(cleave, path, rng):
    content = random_file(rng)
    with open(path, "wb") as file:
        file.write(content)
    dialect = ["--delimiter", ","] + rng.choice(DIALECTS)
    cuts = sorted(rng.randrange(len(content) + 1) for _ in range(rng.randrange(4)))
    ends = list(zip([0] + cuts, cuts + [len(content)]))
    texts = [run(cleave, "scan", *dialect, "--range", "%d-%d" % each, path) for each in ends]
    plan = json.loads(run(cleave, "plan", "-l", "1", "--allow-open-quote", "--quiet", input="".join(texts)))
    expected = {"records": plan["records"], "header": [plan["header"]["length"], plan["header"]["records"]],
                "open_quote": plan["open_quote"], "divergence": plan["divergence"]}
    summaries = [Summary(text) for text in texts]
    left = functools.reduce(compose, summaries)
    other = grouped(summaries, rng)
    whole = Summary(run(cleave, "scan", *dialect, path))
    same = left.states == other.states == whole.states and left.rules == other.rules == whole.rules
    offsets = run(cleave, "count", "--allow-open-quote", "--quiet", *dialect, path)
    return same and findings(left) == expected and int(offsets) == plan["records"] - plan["header"]["records"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cleave", required=True)
    parser.add_argument("--count", type=int, default=150)
    parser.add_argument("--seed", type=int, default=0, help="of the first file [0]")
    arguments = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(arguments.seed, arguments.seed + arguments.count):
            if not check(os.path.abspath(arguments.cleave), os.path.join(folder, "in.csv"), random.Random(seed)):
                print("FAIL seed %d: the composed summaries differ from that of the whole file" % seed)
                failed += 1
    print("%d passed, %d failed" % (arguments.count - failed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
