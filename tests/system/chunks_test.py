#!/usr/bin/env python3
"""Every constant that sizes a block, buffer or window has a test with a larger input: tests/system/chunks.tsv names it.

  chunks_test.py --source FOLDER --build FOLDER

An input that fits into one buffer says nothing about what happens at the end of the buffer. So each constant in src/
and include/ whose name or value looks like a size has a row: the constant, its file, a test with a larger input, and
what the constant sizes. A test is a ctest name or a step of ./dev prove; it is "-" if nothing can be larger, for
instance because the value only looks like a size. This test passes if each constant has exactly one row, there are no
other rows, and each test exists.
"""
import argparse
import glob
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "tools"))
import prove  # noqa: E402
from verdicts import Tally, need  # noqa: E402

TABLE = os.path.join(HERE, "chunks.tsv")
CONSTANT = re.compile(r"\bconstexpr\s+(?:[\w:]+\s+)+(k[A-Z]\w*)\s*(?:=|\{)([^;]*);")
SIZE_IN_NAME = re.compile(r"(Block|Chunk|Buffer|Batch|Page|Window|Part|Slice|Stretch|Stride|Step|Region|Room|Share|"
                          r"Lane|Ahead|Ring)(Size|Unit|Count)?s?$")
SIZE_IN_VALUE = re.compile(r"<<\s*(10|20|24|30)\b|\b(4096|4097|16'384|65'?536)\b")


def constants(source):
    """(constant, file) for each constant that looks like a size."""
    found = set()
    for pattern in ("src/**/*.h", "src/**/*.cpp", "include/cleave/**/*.h"):
        for path in glob.glob(os.path.join(source, pattern), recursive=True):
            with open(path, encoding="utf-8") as file:
                text = file.read()
            found.update((match[1], os.path.relpath(path, source)) for match in CONSTANT.finditer(text)
                         if SIZE_IN_NAME.search(match[1]) or SIZE_IN_VALUE.search(match[2]))
    return found


def rows():
    with open(TABLE, encoding="utf-8") as file:
        lines = [line.rstrip("\n").split("\t") for line in file if not line.startswith("#")]
    for line in lines:
        need(len(line) == 4 and all(line), "a row has not four columns: %s" % line)
    return lines


def names_of_tests(build):
    listed = subprocess.run(["ctest", "--test-dir", build, "-N"], capture_output=True, text=True, check=True).stdout
    names = {name.removesuffix("_NOT_BUILT") for name in re.findall(r"^ *Test +#\d+: (\S+)", listed, re.MULTILINE)}
    names |= {name.split(".")[0] for name in names}   # a program with many tests can also be named as a whole
    return names | {"./dev prove " + part for part in prove.PARTS}


def each_has_a_row(source):
    named = [tuple(row[:2]) for row in rows()]
    need(len(named) == len(set(named)), "there twice: %s" % sorted({row for row in named if named.count(row) > 1}))
    there = constants(source)
    need(len(there) > 50, "only %d constants were found" % len(there))
    need(there <= set(named), "no row for: %s" % sorted(there - set(named)))
    need(set(named) <= there, "rows for what is not there: %s" % sorted(set(named) - there))


def each_test_exists(build):
    names = names_of_tests(build)
    missing = {row[2] for row in rows() if row[2] != "-" and row[2] not in names}
    need(not missing, "no such tests: %s" % sorted(missing))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", required=True, metavar="FOLDER", help="of the sources")
    parser.add_argument("--build", required=True, metavar="FOLDER", help="where ctest finds its tests")
    arguments = parser.parse_args()
    tally = Tally()
    tally.run("Each constant has a row", lambda: each_has_a_row(arguments.source))
    tally.run("Each test exists", lambda: each_test_exists(arguments.build))
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
