#!/usr/bin/env python3
"""Installs the wheels for any Linux with every given Python, and uses what was installed.

  wheels_test.py [--wheels DIR] PLACE...

A PLACE is an interpreter on this machine, or a folder with the root of a system that has /usr/bin/python3 and pip; the
system may be for a different CPU, and then runs under qemu. pip itself chooses the wheel. The library counts, plans,
finds a fault and exports a stream of columns, and the command that came with it counts and splits; every result is
compared with the file.

Exit status: 1 if a place fails, 75 if a root cannot be entered.
"""
import argparse
import csv
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tools"))
from verdicts import Failure, Inconclusive, Tally, check, need_tool  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
INPUT = ROOT / "data/orders.csv"
# Prints the results to compare with the file, which is the first argument.
PROGRAM = """
import platform, sys
import cleave
file = cleave.open(sys.argv[1])
pieces = file.split(n=4)
print(file.records, sum(pieces.records), sum(pieces.lengths), len(pieces.starts))
try:
    cleave.open(b'a,b\\n1,"2\\n').records
except cleave.InputError as error:
    print(error.byte, error.record)
stream = file.select("order", redact={"order": "hmac(k)"}, keys={"k": b"a key of thirty-two bytes or so.."})
print(type(stream.__arrow_c_stream__()).__name__)
print(cleave.__file__.rpartition("/")[0])
print(platform.python_version(), *platform.libc_ver(), platform.machine())
"""


class Place:
    """An installation of Python."""

    def __init__(self, where):
        self.where = Path(where)
        self.is_root = self.where.is_dir()
        self.folder = Path(tempfile.mkdtemp(dir=self.where / "tmp" if self.is_root else None))
        self.python = ["/usr/bin/python3"] if self.is_root else [str(self.where)]
        self.emulator = []

    def enter(self):
        if os.getuid() != 0:
            raise Inconclusive("only root can enter %s" % self.where, retry=False)
        with open(self.where / "usr/bin/python3", "rb") as file:
            is_foreign = file.read(20)[18:20] != Path("/proc/self/exe").read_bytes()[18:20]  # e_machine in an ELF file
        if is_foreign:
            shutil.copy(need_tool("qemu-aarch64-static"), self.folder / "qemu")
            self.emulator = [str(self.inside("qemu"))]

    def inside(self, name):
        path = self.folder / name
        return Path("/") / path.relative_to(self.where) if self.is_root else path

    def run(self, *words, **environment):
        entering = ["chroot", str(self.where)] if self.is_root else []
        words = [*entering, *self.emulator, *map(str, words)]
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "PYTHON"))}
        done = subprocess.run(words, capture_output=True, text=True, env={**clean, **environment})
        if done.returncode != 0:
            raise Failure("%s: exit %d\n%s%s" % (" ".join(words), done.returncode, done.stdout, done.stderr))
        return done.stdout

    def close(self):
        shutil.rmtree(self.folder)


def records_of(path):
    with open(path, newline="") as file:
        return sum(1 for _ in csv.reader(file)) - 1


def use(place, wheels):
    """Installs the wheel and tries it. Returns a description of what was installed where."""
    for wheel in wheels.glob("*.whl"):
        shutil.copy(wheel, place.folder)
    shutil.copy(INPUT, place.folder / "orders.csv")
    site, data = place.inside("site"), place.inside("orders.csv")
    said = place.run(*place.python, "-m", "pip", "install", "--no-index", "--no-deps", "--no-cache-dir", "--find-links",
                     place.inside(""), "--target", site, "cleave-csv")
    records, size = records_of(INPUT), INPUT.stat().st_size
    program = place.folder / "program.py"
    program.write_text(PROGRAM)
    lines = place.run(*place.python, place.inside("program.py"), data, PYTHONPATH=str(site)).splitlines()
    with open(INPUT, "rb") as file:
        header = len(file.readline())
    check(lines[0] == "%d %d %d 4" % (records, records, size - header), "counts: " + lines[0])
    check(lines[1] == "6 1", "the place of a fault: " + lines[1])
    check(lines[2] == "PyCapsule", "columns: " + lines[2])
    check(lines[3].startswith(str(site)), "it is the installed one: " + lines[3])
    command = site / "bin/cleave"
    place.run(command, "split", "-n", "4", "--header", "first", "-o", place.inside("piece.{i}.csv"), data)
    pieces = b"".join((place.folder / ("piece.%d.csv" % i)).read_bytes() for i in range(1, 5))
    check(pieces == INPUT.read_bytes(), "the pieces of the command, joined, are the file")
    check(place.run(command, "count", data) == "%d\n" % records, "the command counts")
    check((place.folder / "site/share/man/man5/cleave-formats.5").is_file(), "the manual pages are beside the command")
    name = next((place.folder / "site").glob("cleave_csv-*.dist-info/WHEEL")).read_text().split("Tag: ")[1].strip()
    has_store = (place.folder / "site/libexec/cleave/cleave_store.so").is_file()
    check(has_store == ("musl" not in name), "the module for object stores is there, except with musl")
    check("Successfully installed" in said, "pip says so: " + said)
    return "%s: Python %s" % (name, lines[4])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wheels", type=Path, default=ROOT / "build/wheel")
    parser.add_argument("places", nargs="+", metavar="PLACE")
    arguments = parser.parse_args()
    tally = Tally()

    def try_place(where):
        place = Place(where)
        try:
            if place.is_root:
                place.enter()
            print("%s: %s" % (where, use(place, arguments.wheels)))
        finally:
            place.close()

    for where in arguments.places:
        tally.run("the wheels in " + where, lambda where=where: try_place(where))
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
