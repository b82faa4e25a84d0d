#!/usr/bin/env python3
"""Folding many ranges: the model of doc/internals/scale.md, with recorded summaries.

  fold_test.py --cleave PATH [--only SUBSTRING]

./dev reach-test first builds the simulation, as build/release/tests/fold_simulation; CLEAVE_FOLD_SIMULATION can name a
different one.
"""
import os
import re
import subprocess
import sys

import common
from harness import Inconclusive, need, write

PROGRAM = os.environ.get("CLEAVE_FOLD_SIMULATION") or os.path.join(common.HERE, "..", "..", "..", "build", "release",
                                                                  "tests", "fold_simulation")
FIGURES = re.compile(r"(\d+) summaries of .*\nfold ([\d.e+-]+) ms, with JSON ([\d.e+-]+) ms, plan ([\d.e+-]+) ms\n"
                     r"JSON (\d+) bytes, at most (\d+) a summary")


def simulate(bench, path, size, count, pieces):
    if not os.path.exists(PROGRAM):
        raise Inconclusive("the program is not built", retry=False)
    done = subprocess.run([PROGRAM, path, str(size), str(count), str(pieces)], capture_output=True, text=True,
                          timeout=600)
    need(done.returncode == 0, done.stderr)
    found = FIGURES.search(done.stdout)
    need(found is not None, "it says %r" % done.stdout)
    bench.note(done.stdout.strip().replace("\n", "; "))
    return [float(value) for value in found.groups()]


def fold(bench):
    """Recorded summaries, each at most 1 KB of JSON, fold to the right plan"""
    orders = os.path.join(common.HERE, "..", "..", "..", "data", "orders.csv")
    broken = write(os.path.join(bench.root, "broken.csv"),
                   common.broken_records(1 << 20, seed=bench.seed).removeprefix(b"\xef\xbb\xbf"))
    for path in (orders, broken):
        for size, count, pieces in ((10000, 10000, 10000), (700, 10000, 37), (60, 20000, 5)):
            *_, longest = simulate(bench, path, size, count, pieces)
            need(longest <= 1024, "a summary has %d bytes" % longest)


if __name__ == "__main__":
    sys.exit(common.harness.main(__doc__, [fold]))
