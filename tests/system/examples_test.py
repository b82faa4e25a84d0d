#!/usr/bin/env python3
"""Runs the programs of examples/ on a plain file, a compressed one, a pipe and standard input, and compares the results
with the command's.

  examples_test.py --cleave CLEAVE --examples DIRECTORY
"""
import argparse
import gzip
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tools"))
from verdicts import Skip, Tally, check  # noqa: E402

DATA = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", "..", "data"))


def run(*words, stdin=b"", environment=None):
    return subprocess.run(words, input=stdin, capture_output=True, timeout=120,
                          env={**os.environ, **(environment or {})})


def output(*words, stdin=b""):
    done = run(*words, stdin=stdin)
    check(done.returncode == 0 and not done.stderr, "%s succeeds: %d %s" % (words, done.returncode, done.stderr))
    return done.stdout.decode()


class Examples:
    def __init__(self, cleave, folder, scratch):
        self.cleave = cleave
        self.folder = folder
        self.scratch = scratch
        self.plain = os.path.join(DATA, "orders.csv")
        self.packed = os.path.join(scratch, "orders.csv.gz")
        with open(self.plain, "rb") as file:
            self.text = file.read()
        with gzip.open(self.packed, "wb") as file:
            file.write(self.text)

    def program(self, name):
        return os.path.join(self.folder, "example_" + name)

    def ways(self):
        """The ways to pass the same bytes: (name, path, bytes for standard input)."""
        return [("file", self.plain, b""), ("gzip", self.packed, b""), ("pipe", "/dev/stdin", self.text),
                ("standard input", "-", self.text)]

    def test_ranges(self):
        """Ranges are the same as the command's, however the bytes arrive"""
        wanted = output(self.cleave, "offsets", "-n", "4", self.plain)
        check(len(wanted.splitlines()) == 4, "the command prints four rows")
        for name, path, stdin in self.ways():
            for program in ("ranges", "plan"):
                printed = output(self.program(program), path, "4", stdin=stdin)
                check(printed == wanted, "%s of a %s: %r" % (program, name, printed))

    def test_count(self):
        """Counts are the same as the command's"""
        wanted = int(output(self.cleave, "count", "--no-header", self.plain))
        for name, path, stdin in self.ways():
            printed = output(self.program("count"), path, stdin=stdin)
            check(printed == "%d\n" % wanted, "count of a %s: %r" % (name, printed))

    def test_split(self):
        """Pieces are the same as the command's"""
        for number, (name, path, stdin) in enumerate(self.ways()):
            template = os.path.join(self.scratch, "%s%d.{i}.csv")
            wanted = output(self.cleave, "split", "-n", "3", "-o", template %
                            ("want", number), "--print-names", self.plain)
            printed = output(self.program("split"), path, "3", template % ("got", number), stdin=stdin)
            check(printed == wanted.replace("want", "got"), "names of a %s: %r" % (name, printed))
            for piece in wanted.splitlines():
                with open(piece, "rb") as a, open(piece.replace("want", "got"), "rb") as b:
                    check(a.read() == b.read(), "%s of a %s" % (piece, name))

    def test_mapping(self):
        """A program with a guard that asks for a mapping gets one, and the other does not"""
        if run("sh", "-c", "strace -e trace=none true").returncode != 0:
            raise Skip("strace cannot be used here")
        for name, wanted, more in [("count", True, []),
                                   ("split", False, ["2", os.path.join(self.scratch, "traced{i}.csv")])]:
            done = run("strace", "-f", "-y", "-e", "trace=mmap", self.program(name), self.plain, *more,
                       environment={"ASAN_OPTIONS": "detect_leaks=0"})  # the leak check uses ptrace, as strace does
            check(done.returncode == 0, "%s runs under strace: %s" % (name, done.stderr))
            check((self.plain in done.stderr.decode()) == wanted, "%s maps the file: %s" % (name, wanted))

    def test_failures(self):
        """A failure is named, gives exit status 1, and leaves nothing"""
        wide = os.path.join(DATA, "utf16.csv")
        unclosed = os.path.join(DATA, "unclosed.csv")
        missing = os.path.join(self.scratch, "missing.csv")
        for path, part in [(wide, "UTF-16"), (unclosed, "quote"), (missing, "No such file")]:
            for name, more in [("ranges", ["4"]), ("plan", ["4"]), ("count", []),
                               ("split", ["4", os.path.join(self.scratch, "never{i}.csv")])]:
                done = run(self.program(name), path, *more)
                check(done.returncode == 1 and part in done.stderr.decode() and not done.stdout,
                      "%s of %s fails: %d %s" % (name, path, done.returncode, done.stderr))
        done = run(self.program("ranges"), self.plain, "0")
        check(done.returncode == 1 and b"at least 1" in done.stderr, "no ranges for 0 workers: %s" % done.stderr)
        done = run(self.program("plan"), self.plain, "0")
        check(done.returncode == 1 and b"no limit" in done.stderr, "no plan for 0 workers: %s" % done.stderr)
        check(not any(name.startswith("never") for name in os.listdir(self.scratch)), "a failed split leaves nothing")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cleave", required=True, type=os.path.realpath)
    parser.add_argument("--examples", required=True, type=os.path.realpath)
    arguments = parser.parse_args()
    tally = Tally()
    with tempfile.TemporaryDirectory() as scratch:
        examples = Examples(arguments.cleave, arguments.examples, scratch)
        for test in (examples.test_ranges, examples.test_count, examples.test_split, examples.test_mapping,
                     examples.test_failures):
            tally.run(test.__doc__, test)
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
