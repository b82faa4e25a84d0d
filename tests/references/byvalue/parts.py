#!/usr/bin/env python3
"""`cleave split --parts` on more than 100,000 records, compared with an oracle for the part of each record.

  parts.py --cleave PATH [--records N] [--seed N]

Pieces are compared byte for byte. Counts must be within five standard deviations of what the weights say; since hashes
are fixed, the same seed always gives the same counts.
"""
import argparse
import collections
import gzip
import math
import os
import random
import re
import subprocess
import sys
import tempfile
import types
from pathlib import Path

import names

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests" / "tools"))
import in_memory  # noqa: E402
from verdicts import Inconclusive, Tally, need  # noqa: E402

HEADER = b"id,user,note\n"
NOTES = [b"plain", b'"two\nlines"', b'"a ""b"", c"', b"", b"long " * 20]
WEIGHTS = {"train": "80", "valid": "10", "test": "10"}
PAIRS = {(a, b): int(WEIGHTS[a]) * int(WEIGHTS[b]) for a in WEIGHTS for b in WEIGHTS}
SIGMAS = 5


class Bench:
    """A file whose last record has no line ending, and a folder to split it in."""

    def __init__(self, cleave, folder, count, seed):
        self.cleave, self.folder, self.chance = cleave, folder, random.Random(seed)
        self.users, self.records = [], []
        for number in range(count):
            user = b"user %d" % min(self.chance.randrange(count // 2) for _ in range(2))   # some have many records
            self.users.append(user)
            self.records.append(b"%d,%s,%s\n" % (number, b'"%s"' % user if number % 3 == 0 else user,
                                                 self.chance.choice(NOTES)))
        self.records[-1] = self.records[-1][:-1]
        self.data = HEADER + b"".join(self.records)

    def split(self, data, *options, way="file"):
        """Returns {name: content} of the pieces."""
        path = os.path.join(self.folder, "in.csv.gz" if way == "gzip" else "in.csv")
        with open(path, "wb") as file:
            file.write(gzip.compress(data, 1) if way == "gzip" else data)
        if way == "index":
            subprocess.run([self.cleave, "index", "--quiet", "-d", ",", path], check=True)
            options += "--index", "require"
        template = "{i}" if "--buckets" in options else "{value}"
        words = [self.cleave, "split", "--quiet", "-d", ",", "-o", template, *options]
        with tempfile.TemporaryDirectory(dir=self.folder) as out:
            done = subprocess.run(words + ["-" if way == "pipe" else path], cwd=out, capture_output=True,
                                  **{"input": data} if way == "pipe" else {"stdin": subprocess.DEVNULL})
            need(done.returncode == 0, "%s: exit status %d: %s" % (words, done.returncode, done.stderr.decode()))
            return {name: Path(out, name).read_bytes() for name in os.listdir(out)}


def parts_option(weights):
    return "--parts=" + ",".join("%s=%s" % part for part in weights.items())


def hashes_of(bench, by, seed):
    """The hash of each record."""
    if by:
        return [names.hash_of((user,), seed) for user in bench.users]
    return [names.hash_of_number(number, seed) for number in range(1, len(bench.records) + 1)]


def parts_of(hashes, weights=WEIGHTS):
    ends, parts = names.ends_of(weights.values()), list(weights)
    return [parts[names.part_of(hash_, ends)] for hash_ in hashes]


def pieces(bench, parts):
    """{name: content} as it must be."""
    found = {part: [HEADER] for part in WEIGHTS}
    for record, part in zip(bench.records, parts):
        found[part].append(record)
    return {part: b"".join(content) for part, content in found.items()}


def values_of(content):
    """The lines of a piece with one column, without the header."""
    return content.split(b"\n")[1:-1]


def expect_proportions(counts, weights, what):
    """Each count, and chi-square, is within SIGMAS standard deviations of its mean."""
    total, whole, chi_square = sum(counts.values()), sum(map(float, weights.values())), 0
    for part, weight in weights.items():
        share = float(weight) / whole
        mean = total * share
        need(abs(counts[part] - mean) <= SIGMAS * math.sqrt(mean * (1 - share)),
             "%s: %d of %d are in %s, expected %.0f" % (what, counts[part], total, part, mean))
        chi_square += (counts[part] - mean) ** 2 / mean
    freedom = len(weights) - 1   # the mean of chi-square, and half its variance
    need(chi_square <= freedom + SIGMAS * math.sqrt(2 * freedom), "%s: chi-square is %.1f" % (what, chi_square))


# The checks.

def by_value(bench):
    """With --by: every record is in the part of its value"""
    for seed in (0, 1, 2 ** 64 - 1):
        parts = parts_of(hashes_of(bench, True, seed))
        found = bench.split(bench.data, parts_option(WEIGHTS), "--by", "user", "--seed", str(seed))
        need(found == pieces(bench, parts), "seed %d: the pieces are wrong" % seed)
        expect_proportions(collections.Counter(dict(zip(bench.users, parts)).values()), WEIGHTS, "values")


def drawn(bench):
    """Without --by: every record is in the part of its number; neighbours and seeds are independent"""
    of_seed = {seed: parts_of(hashes_of(bench, False, seed)) for seed in (0, 1, 7)}
    for seed, parts in of_seed.items():
        found = bench.split(bench.data, parts_option(WEIGHTS), "--seed", str(seed))
        need(found == pieces(bench, parts), "seed %d: the pieces are wrong" % seed)
        expect_proportions(collections.Counter(parts), WEIGHTS, "records")
        expect_proportions(collections.Counter(zip(parts[::2], parts[1::2])), PAIRS, "neighbours")
    expect_proportions(collections.Counter(zip(of_seed[0], of_seed[1])), PAIRS, "two seeds")


def every_way(bench):
    """Threads, blocks, pipes, compression, indexes and rules change nothing"""
    for by in ([], ["--by", "user"]):
        wanted = pieces(bench, parts_of(hashes_of(bench, bool(by), 0)))
        for threads in range(1, 17):
            block = [64 << 10, 1 << 20, 64, 1000][threads % 4]
            options = [parts_option(WEIGHTS), *by, "-j%d" % threads, "--block-size", str(block)]
            need(bench.split(bench.data, *options) == wanted, "%s: the pieces are wrong" % options)
        for options in (["--redact", "note: keep"], ["--filter", 'cat > "$FILE"'], ["--checksum", "--json"]):
            for way in ("file", "pipe", "gzip"):
                found = bench.split(bench.data, parts_option(WEIGHTS), *by, *options, way=way)
                need(found == wanted, "%s, %s: the pieces are wrong" % (options, way))
        packed = bench.split(bench.data, parts_option(WEIGHTS), *by, "--compress", "gzip:1", way="index")
        need({name: gzip.decompress(content) for name, content in packed.items()} ==
             {name + ".gz": content for name, content in wanted.items()}, "compressed: the pieces are wrong")


def file_that_grows(bench):
    """Values keep their parts when records are added, removed and sorted; with a draw, records do when others follow"""
    def parts_of_users(records):
        found = bench.split(HEADER + b"".join(record.rstrip(b"\n") + b"\n" for record in records),
                            parts_option(WEIGHTS), "--by", "user")
        return {user: part for part, content in found.items() for user in re.findall(rb'^\d+,"?(user \d+)', content, re.M)}
    first = bench.records[:len(bench.records) // 3]
    before = parts_of_users(first)
    for records in (bench.records, bench.chance.sample(bench.records, len(bench.records)), first[::-1], first[:1000]):
        after = parts_of_users(records)
        need(len(before.keys() & after.keys()) > 500, "there are too few values")
        need(all(before.get(user, part) == part for user, part in after.items()), "a value has moved")
    grown = bench.split(bench.data, parts_option(WEIGHTS))
    for part, content in bench.split(HEADER + b"".join(first), parts_option(WEIGHTS)).items():
        need(grown[part].startswith(content) and len(grown[part]) > len(content), "a record has moved")


def weights_that_change(bench):
    """Values move over the boundaries that move, and over no others"""
    data = b"k\n" + b"".join(b"%d\n" % number for number in range(len(bench.records)))

    def parts_with(**weights):
        found = bench.split(data, parts_option(weights), "--by", "k")
        return {value: part for part, content in found.items() for value in values_of(content)}

    def moves(one, other):
        return {(part, other[value]) for value, part in one.items() if part != other[value]}
    first = parts_with(train=80, valid=10, test=10)
    need(len(first) == len(bench.records), "values are missing")
    need(parts_with(train="0.8", valid=".1", test="0.10") == first, "the scale of the weights matters")
    need(moves(first, parts_with(a=8, b=1, c=1)) == {("train", "a"), ("valid", "b"), ("test", "c")}, "names matter")
    need(moves(first, parts_with(train=70, valid=20, test=10)) == {("train", "valid")}, "others have moved")
    need(moves(first, parts_with(train=80, valid=20)) == {("test", "valid")}, "others have moved")
    need(moves(parts_with(test=10, train=90), parts_with(test=10, train=80, valid=10)) == {("train", "valid")},
         "the first part has changed")


def divided_again(bench):
    """Parts and buckets are independent, and so are parts and buckets with other seeds"""
    data = b"k\n" + b"".join(b"%d\n" % number for number in range(len(bench.records)))
    halves, into_buckets = {"one": 50, "two": 50}, ("--buckets", "16")

    def divide(data, *options):
        return bench.split(data, "--by", "k", *options)

    def expect_even(pieces_, what):
        counts = collections.Counter({name: len(values_of(content)) for name, content in pieces_.items()})
        expect_proportions(counts, dict.fromkeys(pieces_, 1), what)
    by_part, by_bucket = divide(data, parts_option(WEIGHTS)), divide(data, *into_buckets)
    expect_even(by_bucket, "buckets")
    for content in by_part.values():
        expect_even(divide(content, *into_buckets), "buckets of a part")
        expect_even(divide(content, parts_option(halves), "--seed", "1"), "parts of a part")
    for content in (by_bucket["01"], by_bucket["16"]):
        expect_even(divide(content, parts_option(halves)), "parts of a bucket")
        expect_even(divide(content, *into_buckets, "--seed", "1"), "buckets of a bucket")
    need(divide(by_part["test"], parts_option(halves))["one"] == b"k\n", "the same seed divides a part, unlike what the manual says")


def snippet(bench):
    """The function in the guide computes the parts"""
    page = (ROOT / "doc/guide/pieces.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(import xxhash\n.*?)^```", page, re.M | re.S)
    need(len(blocks) == 1, "there are %d snippets" % len(blocks))
    stand_in = types.ModuleType("xxhash")   # where the package is not installed
    stand_in.xxh3_64_intdigest = names.xxh3
    sys.modules.setdefault("xxhash", stand_in)
    scope = {}
    exec(blocks[0], scope)   # pylint: disable=exec-used
    weights = {name: int(weight) for name, weight in WEIGHTS.items()}
    for seed in (0, 9):
        for by in (["--by", "user"], []):
            values = bench.users if by else [number.to_bytes(8, "little") for number in range(1, len(bench.users) + 1)]
            parts = [scope["part_of"](value, weights, seed) for value in values]
            found = bench.split(bench.data, parts_option(WEIGHTS), *by, "--seed", str(seed))
            need(found == pieces(bench, parts), "the pieces are others")
    two = [b"".join(len(value).to_bytes(8, "little") + value for value in (user, b"%d" % number))
           for number, user in enumerate(bench.users)]
    found = bench.split(bench.data, parts_option(WEIGHTS), "--by", "user,id")
    need(found == pieces(bench, [scope["part_of"](value, weights) for value in two]), "several columns: the pieces are others")


CHECKS = [by_value, drawn, every_way, file_that_grows, weights_that_change, divided_again, snippet]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cleave", required=True, type=os.path.abspath)
    parser.add_argument("--records", type=int, default=120_000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    tally = Tally(verbose=True)
    with tempfile.TemporaryDirectory(prefix="cleave-parts-", dir=in_memory.folder()) as folder:
        bench = Bench(arguments.cleave, folder, arguments.records, arguments.seed)

        def run(check):
            if names.xxh3 is None:
                raise Inconclusive("there is neither the module xxhash nor libxxhash.so.0", retry=False)
            check(bench)
        for check in CHECKS:
            tally.run(check.__name__, lambda check=check: run(check))
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
