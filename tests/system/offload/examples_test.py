#!/usr/bin/env python3
"""Run the programs of examples/offload/ on the processor alone and on a simulated device, and compare what they print.

  examples_test.py --examples DIRECTORY --module SIMULATED_MODULE
"""
import argparse
import math
import os
import subprocess
import sys

COUNT = 5000
failures = []


def check(holds, what):
    if not holds:
        failures.append(what)
        print("not so:", what)


def lines_of(program, *words):
    done = subprocess.run([program, *words], capture_output=True, text=True, timeout=120)
    check(done.returncode == 0 and not done.stderr, "%s succeeds: %s" % (words, done.stderr))
    return done.stdout.splitlines() or [""]


def check_arrays(program, module):
    wanted = sum(math.sqrt(math.asin(i / COUNT) * 0.25) for i in range(COUNT))
    size = COUNT * 8
    steps = ["allocate", "arcsin", "multiply", "square_root"]
    for words, place in [(["cpu", str(COUNT)], " host"), ([module, str(COUNT)], " device"),
                         ([module, str(COUNT), str(size // 8)], " device in pages")]:
        total, *ran = lines_of(program, *words)
        check(abs(float(total) - wanted) < 1e-2, "arrays %s: %s is %f" % (words, total, wanted))
        check(sorted(ran) == [step + place for step in steps], "arrays %s: %s" % (words, ran))


def check_table(program, module):
    amounts = sorted(((i * 7 % COUNT, -i) for i in range(COUNT)), reverse=True)
    wanted = ["customer %d %g" % (-i, amount * 1.25 * 0.5) for amount, i in amounts[:3]]
    on_host = lines_of(program, "cpu", str(COUNT))
    check(on_host == wanted + ["scaled host", "sorted host", "scaled host"], "table on the host: %s" % on_host)
    on_device = lines_of(program, module, str(COUNT))
    check(on_device == wanted + ["scaled device", "sorted host", "scaled device"], "table on a device: %s" % on_device)


def check_errors(program):
    done = subprocess.run([program, "/no/such/module.so", "1"], capture_output=True, text=True, timeout=120)
    check(done.returncode == 1 and "no module" in done.stderr, "a missing module is named: " + done.stderr)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--examples", required=True)
    parser.add_argument("--module", required=True)
    arguments = parser.parse_args()
    arrays = os.path.join(arguments.examples, "example_offload_arrays")
    check_arrays(arrays, arguments.module)
    check_table(os.path.join(arguments.examples, "example_offload_table"), arguments.module)
    check_errors(arrays)
    sys.exit(1 if failures else 0)


main()
