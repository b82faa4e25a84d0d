#!/usr/bin/env python3
"""Examines how a program was linked and compiled.

  hardening_test.py PROGRAM plain|fortified    an optimised build also has fortified functions
"""
import re
import subprocess
import sys


def readelf(*arguments):
    return subprocess.run(["readelf", "--wide", *arguments], check=True, capture_output=True, text=True).stdout


def faults(program, kind):
    dynamic, segments, symbols = readelf("-d", program), readelf("-l", program), readelf("--dyn-syms", program)
    with open(program, "rb") as file:
        text = file.read().decode("latin-1")
    wanted = [("position-independent (PIE)", r"FLAGS_1.*\bPIE\b", dynamic),
              ("bound before it runs (now)", r"FLAGS_1.*\bNOW\b", dynamic),
              ("read-only after relocation (RELRO)", r"GNU_RELRO", segments),
              ("without an executable stack", r"GNU_STACK .* RW +0x", segments),
              ("protecting its stack", r"__stack_chk_fail", symbols),
              ("free of arc4random(), which glibc has since 2.36 only", r"(?s)\A(?!.*\barc4random\b)", symbols),
              # the message of libstdc++ may show a value
              ("silent about an exception that nobody catches", r"(?s)\A(?!.*terminate called)", text)]
    if kind == "fortified":
        wanted.append(("calling fortified functions", r"__(?!stack)\w+_chk\b", symbols))
    for what, pattern, found in wanted:
        if not re.search(pattern, found):
            yield "%s is not %s" % (program, what)


sys.exit("\n".join(faults(*sys.argv[1:])) or 0)
