#!/usr/bin/env python3
"""Compares what --forbid NAME=re2:PATTERN finds with Python's re, on random patterns and texts.

  patterns.py CLEAVE [--module PATH] [--count N] [--seed N]

N texts, 400 for each set of eight patterns. A random pattern is written twice: for RE2, and for Python as a
pattern of bytes that means the same. What a dot, a negated class or a letter beyond ASCII matches is spelt out in
bytes there. Texts contain quotes, line feeds, zeros, and bytes that are not UTF-8. Then files larger than several
blocks, with patterns at and across the places where blocks end. searches.py says how values are compared.

The command is copied to a folder with the module in ../lib/cleave. Without --module there is nothing to compare.
"""
import argparse
import functools
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import searches  # noqa: E402

TRUSTED_FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools", "trusted_folder.py")
CHUNK = 400                 # texts of one run
PATTERNS = 8                # of one run
LARGE = 5 << 20             # bytes of the large file
MOST_UNBOUNDED = 4          # pluses and stars in a pattern
SMALL_BLOCK = "64K"         # the size of blocks in the second run over it

# What RE2 takes for a character beyond ASCII: it does not look for forms that are longer than necessary.
BEYOND = (rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf][\x80-\xbf]|[\xf0-\xf4][\x80-\xbf][\x80-\xbf][\x80-\xbf]")
LETTERS = ["a", "b", "B", "7", "0", "-", " ", "@", "ü", "Ж", "漢", "\""]
# A class for RE2, and the same for Python's bytes.
CLASSES = [("[ab]", rb"[ab]"), ("[a-c0-3]", rb"[a-c0-3]"), (r"\d", rb"[0-9]"), (r"\w", rb"[0-9A-Za-z_]"),
           (r"\s", rb"[\t\n\f\r ]"), ("[[:upper:]]", rb"[A-Z]"), ("[aü]", b"(?:a|\xc3\xbc)"),
           ("[^a]", rb"(?:[\x00-\x60\x62-\x7f]|" + BEYOND + rb")"),
           (r"\D", rb"(?:[\x00-\x2f\x3a-\x7f]|" + BEYOND + rb")"),
           (".", rb"(?:[\x00-\x09\x0b-\x7f]|" + BEYOND + rb")"), ("(?s:.)", rb"(?:[\x00-\x7f]|" + BEYOND + rb")"),
           (r"\C", rb"[\x00-\xff]"), (r"\x{fc}", b"(?:\xc3\xbc)"), (r"\n", rb"\n"), (r"\x00", rb"\x00")]
TEXTS = [b"a", b"b", b"B", b"7", b"0", b"-", b" ", b"@", "ü".encode(), "Ж".encode(), "漢".encode(), b'"', b"\n",
         b"\r\n", b"\0", b"\xff", b"\xc3", b"\x80", b",", b"c", b"_", b"ab", b"7 0"]


def make_atom(random_, depth):
    if depth > 0 and random_.random() < 0.35:
        parts = [make_sequence(random_, depth - 1) for _ in range(random_.choice([1, 2, 2, 3]))]
        return "(%s)" % "|".join(one for one, _ in parts), b"(?:%s)" % b"|".join(other for _, other in parts)
    if random_.random() < 0.5:
        letter = random_.choice(LETTERS)
        return letter, b"(?:%s)" % re.escape(letter.encode())
    return random_.choice(CLASSES)


def make_sequence(random_, depth):
    one, other = "", b""
    for _ in range(random_.choice([1, 1, 2, 2, 3])):
        atom, its_other = make_atom(random_, depth)
        times = random_.choice(["", "", "", "", "?", "+", "*", "{2}", "{1,3}", "+?"])
        if "(" in atom and times in ("+", "*", "+?"):
            times = "{1,2}"     # so that Python does not take exponential time
        if random_.random() < 0.06:
            mark = random_.choice([("^", rb"\A"), ("$", rb"\Z"), (r"\b", rb"\b"), ("(?m:^)", rb"(?m:^)")])
            one, other = one + mark[0], other + mark[1]
        one, other = one + atom + times, other + its_other + times.encode()
    return one, other


def make_pattern(random_):
    """A pattern for RE2, and what it means. It does not match the empty text."""
    while True:
        one, other = make_sequence(random_, 2)
        if one.count("+") + one.count("*") > MOST_UNBOUNDED:
            continue
        meaning = re.compile(other)
        if meaning.search(b"") is None:
            return one, meaning


def make_text(random_):
    return b"".join(random_.choice(TEXTS) for _ in range(random_.choice([0, 1, 2, 4, 8, 16])))


def install(folder, cleave, module):
    """Copies the command and its module. Returns the path of the command."""
    path = os.path.join(folder, "bin", "cleave")
    for source, target in ((cleave, path), (module, os.path.join(folder, "lib", "cleave", "cleave_re2.so"))):
        os.makedirs(os.path.dirname(target))
        shutil.copy(source, target)
    return path


def search_for(cleave, patterns, *options):
    """The search for these patterns, and the oracle for a value."""
    names = ["p%d" % number for number in range(len(patterns))]
    named = ["--forbid=%s=re2:%s" % (name, pattern) for name, (pattern, _) in zip(names, patterns)]
    return searches.Search(cleave, [*options, *named], names), functools.cache(
        lambda value: tuple(meaning.search(value) is not None for _, meaning in patterns))


def compare_random(cleave, count, seed, tally):
    random_ = random.Random("patterns %d" % seed)
    shares = []
    for _ in range(0, count, CHUNK):
        patterns = [make_pattern(random_) for _ in range(PATTERNS)]
        search, look = search_for(cleave, patterns)
        texts = [make_text(random_) for _ in range(CHUNK)]
        failed = tally.failed
        shares += searches.compare(search, texts, look, random_, tally)
        if tally.failed > failed:
            print("     where the patterns are %r, for Python %r" % (
                [pattern for pattern, _ in patterns], [meaning.pattern for _, meaning in patterns]))
    share = sum(shares) / len(shares)
    print("%.1f %% of the values have a pattern" % (100 * share))
    tally.need(0.05 < share < 0.95, "too few or too many to be a test")


def compare_large(cleave, seed, tally):
    """Values of up to 200 kB, most of them short, of which some end or begin as a pattern does."""
    random_ = random.Random("large %d" % seed)
    patterns = [("P[0-9]{7}", re.compile(rb"P[0-9]{7}")), ("^\"a\\n", re.compile(rb'\A"a\n')),
                ("ü{3}\\C?$", re.compile(b"(?:\xc3\xbc){3}(?s:.)?\\Z"))]
    ends = [b"P1234567", b"P123456", b'"a\n', "üüü".encode(), "üüü".encode() + b"\xff", b"xyz"]
    texts, size = [], 0
    while size < LARGE:
        filling = bytes(random_.choice(b'abcP"\n ,\xff') for _ in range(random_.choice([0, 5, 40])))
        filling *= random_.choice([1] * 50 + [5000])
        text = random_.choice([b"", random_.choice(ends)]) + filling + random_.choice([b"", random_.choice(ends)])
        texts.append(text)
        size += len(text) + 6
    for options in ([], ["--block-size", SMALL_BLOCK], ["--threads", "1"]):
        search, look = search_for(cleave, patterns, *options)
        shares = searches.compare(search, texts, look, random_, tally, sizes=[])
        tally.need(min(shares) > 0, "no value has one of the patterns")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cleave")
    parser.add_argument("--module", default="")
    parser.add_argument("--count", type=int, default=20000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if not os.path.exists(options.module):
        print("skip all of it: libre2-dev is not installed")
        return 77
    # The command loads no module from a folder that others can write.
    trusted = subprocess.run([sys.executable, "-B", TRUSTED_FOLDER, os.path.dirname(os.path.abspath(options.module))],
                             capture_output=True, check=True, text=True).stdout.strip()
    tally = searches.Tally()
    with tempfile.TemporaryDirectory(dir=trusted) as folder:
        cleave = install(folder, options.cleave, options.module)
        compare_random(cleave, options.count, options.seed, tally)
        compare_large(cleave, options.seed, tally)
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
