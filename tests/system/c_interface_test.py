#!/usr/bin/env python3
"""Calls the C interface from Python through ctypes, and compares its plans with those that the command prints.

  c_interface_test.py --cleave CLEAVE --library LIBCLEAVE.SO
"""
import argparse
import ctypes
import os
import subprocess
import sys
from ctypes import POINTER, byref, c_char, c_char_p, c_int32, c_uint32, c_uint64, c_void_p

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tools"))
from verdicts import Tally, need  # noqa: E402

INPUT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../data/orders.csv")


class Error(ctypes.Structure):
    _fields_ = [("status", c_int32), ("has_place", c_int32), ("byte", c_uint64), ("record", c_uint64),
                ("message", c_char * 512)]


class Limits(ctypes.Structure):
    _fields_ = [("struct_size", c_uint64), ("pieces", c_uint64), ("records", c_uint64), ("max_bytes", c_uint64)]


class Library:
    """The functions, as cleave_c.h declares them."""

    def __init__(self, path):
        self.c = ctypes.CDLL(path)
        self.c.cleave_version.restype = c_char_p
        self.c.cleave_plan_size.restype = c_uint64
        for name in ("starts", "lengths", "first_records", "records"):
            function = getattr(self.c, "cleave_plan_" + name)
            function.restype, function.argtypes = POINTER(c_uint64), [c_void_p]
        for name in ("cleave_close", "cleave_plan_free", "cleave_plan_size"):
            getattr(self.c, name).argtypes = [c_void_p]
        self.c.cleave_open.argtypes = [c_char_p, c_void_p, POINTER(c_void_p), POINTER(Error)]
        self.c.cleave_plan_make.argtypes = [c_void_p, POINTER(Limits), POINTER(c_void_p), POINTER(Error)]

    def offsets(self, path, **limits):
        """The rows that `cleave offsets` prints."""
        file, plan, error = c_void_p(), c_void_p(), Error()
        if self.c.cleave_open(os.fsencode(path), None, byref(file), byref(error)) != 0:
            raise OSError(error.message.decode())
        try:
            wanted = Limits(struct_size=ctypes.sizeof(Limits), **limits)
            if self.c.cleave_plan_make(file, byref(wanted), byref(plan), byref(error)) != 0:
                raise ValueError(error.message.decode())
            columns = [getattr(self.c, "cleave_plan_" + name)(plan)
                       for name in ("starts", "lengths", "first_records", "records")]
            return "".join("%d\t%d\t%d\t%d\t%d\n" % (i + 1, *(column[i] for column in columns))
                           for i in range(self.c.cleave_plan_size(plan)))
        finally:
            self.c.cleave_plan_free(plan)
            self.c.cleave_close(file)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cleave", required=True, type=os.path.realpath)
    parser.add_argument("--library", required=True, type=os.path.realpath)
    arguments = parser.parse_args()
    library, tally = Library(arguments.library), Tally()

    def run(*words):
        return subprocess.run([arguments.cleave, *words], stdout=subprocess.PIPE, check=True, text=True).stdout

    def plans_are_the_commands():
        for option, limits in (("-n7", {"pieces": 7}), ("-l900", {"records": 900}), ("-C50000", {"max_bytes": 50000})):
            got, wanted = library.offsets(INPUT, **limits), run("offsets", option, INPUT)
            need(got == wanted and len(got.splitlines()) > 1, "%s: %r, not %r" % (option, got, wanted))

    def failures_are_exceptions():
        for path, limits, kind, part in (("/nowhere", {"pieces": 1}, OSError, "No such file"),
                                         (INPUT, {}, ValueError, "no limit")):
            try:
                library.offsets(path, **limits)
            except kind as error:
                need(part in str(error), str(error))
            else:
                need(False, "%s: no failure" % path)

    def the_version_is_the_commands():
        need(run("--version").split()[1] == library.c.cleave_version().decode(), library.c.cleave_version())

    tally.run("Plans are the ones that the command prints", plans_are_the_commands)
    tally.run("A failure has a message", failures_are_exceptions)
    tally.run("The version is the command's", the_version_is_the_commands)
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
