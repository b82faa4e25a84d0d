#!/usr/bin/env python3
"""Runs the programs of examples/offload/ on the CPU alone and on a simulated device, and compares what they print.

  examples_test.py --examples DIRECTORY --module SIMULATED_MODULE
"""
import argparse
import math
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "tools"))
from verdicts import Tally, check  # noqa: E402

COUNT = 5000


def lines_of(program, *words):
    done = subprocess.run([program, *words], capture_output=True, text=True, timeout=120)
    check(done.returncode == 0 and not done.stderr, "%s succeeds: %s" % (words, done.stderr))
    return done.stdout.splitlines() or [""]


def arrays(program, module):
    """Arrays: one pass over device memory, or pages of it"""
    wanted = sum(math.sqrt(math.asin(i / COUNT) * 0.25) for i in range(COUNT))
    size = COUNT * 8
    steps = ["allocate", "arcsin", "multiply", "square_root"]
    for words, place in [(["cpu", str(COUNT)], " host"), ([module, str(COUNT)], " device"),
                         ([module, str(COUNT), str(size // 8)], " device in pages")]:
        total, *ran = lines_of(program, *words)
        check(abs(float(total) - wanted) < 1e-2, "arrays %s: %s is %f" % (words, total, wanted))
        check(sorted(ran) == [step + place for step in steps], "arrays %s: %s" % (words, ran))


def table(program, module):
    """A table: the CPU does what the device cannot"""
    amounts = sorted(((i * 7 % COUNT, -i) for i in range(COUNT)), reverse=True)
    wanted = ["customer %d %g" % (-i, amount * 1.25 * 0.5) for amount, i in amounts[:3]]
    on_host = lines_of(program, "cpu", str(COUNT))
    check(on_host == wanted + ["scaled host", "sorted host", "scaled host"], "table on the host: %s" % on_host)
    on_device = lines_of(program, module, str(COUNT))
    check(on_device == wanted + ["scaled device", "sorted host", "scaled device"], "table on a device: %s" % on_device)


def errors(program, _):
    """A missing module is named"""
    done = subprocess.run([program, "/no/such/module.so", "1"], capture_output=True, text=True, timeout=120)
    check(done.returncode == 1 and "no module" in done.stderr, "a missing module is named: " + done.stderr)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--examples", required=True)
    parser.add_argument("--module", required=True)
    arguments = parser.parse_args()
    tally = Tally()
    for test, name in ((arrays, "arrays"), (table, "table"), (errors, "arrays")):
        program = os.path.join(arguments.examples, "example_offload_" + name)
        tally.run(test.__doc__, lambda: test(program, arguments.module))
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
