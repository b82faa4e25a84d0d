#!/usr/bin/env python3
"""Examines the symbols of what was built.

  symbols_test.py kernels NM OBJECT...    no weak definition: the linker could choose it for callers on older machines
  symbols_test.py library NM ARCHIVE      nothing that prints or ends the program, and no std::random_device, which
                                          needs arc4random() of glibc 2.36
"""
import re
import subprocess
import sys

FORBIDDEN = re.compile(
    r"(v?f?printf|v?dprintf|__v?f?printf_chk|puts|fputs|putc|fputc|putchar|_IO_putc|fwrite|perror|stdout|stderr"
    r"|exit|_exit|_Exit|quick_exit|abort|raise|std::cout|std::cerr|std::clog|std::wcout|std::wcerr"
    r"|std::ios_base::Init::.*|fmt::v\d+::v?print.*"
    r"|arc4random.*|std::random_device::.*)")


def symbols(nm, arguments, path):
    """(object, type letter, name) of each symbol of the file."""
    lines = subprocess.run([nm, "-A", *arguments, path], check=True, capture_output=True, text=True).stdout.splitlines()
    found = (re.match(r".*?([^:/]+):(?:[0-9a-f]+)?\s+([A-Za-z?])\s(.*)$", line) for line in lines)
    return [match.groups() for match in found if match]


def weak_definitions(nm, objects):
    for path in objects:
        for _, letter, name in symbols(nm, ["--defined-only"], path):
            is_code = not name.startswith("DW.ref.")  # the unwinder's pointer to a function of the C++ runtime
            if letter in "WwVvu" and is_code:
                yield "%s: weak definition of %s" % (path, name)


def forbidden_references(nm, archive):
    for member, _, name in symbols(nm, ["--demangle", "--undefined-only"], archive):
        if FORBIDDEN.fullmatch(name.split("(")[0].split("@")[0]):
            yield "%s: %s refers to %s" % (archive, member, name)


def main():
    what, nm, *files = sys.argv[1:]
    if not files or not all(symbols(nm, [], path) for path in files):
        sys.exit("no symbols to look at")
    faults = list(weak_definitions(nm, files) if what == "kernels" else forbidden_references(nm, files[0]))
    sys.exit("\n".join(faults) if faults else 0)


main()
