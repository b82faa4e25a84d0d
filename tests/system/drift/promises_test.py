#!/usr/bin/env python3
"""Compares tests/README.md with the tests that exist.

  promises_test.py --build FOLDER

Each name in the second column of the table of promises must be a test of the build in FOLDER, a program with such
tests, a file of cases, a fuzz target, or a file or folder of the repository. The page must name every program.
"""
import argparse
import fnmatch
import json
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
TESTS = os.path.join(ROOT, "tests")
sys.path.insert(0, os.path.join(TESTS, "tools"))
from verdicts import Tally, need  # noqa: E402

NAME = re.compile(r"`([^`]+)`")
PROGRAM = re.compile(r"_test\.(cpp|py|sh)$|_fuzz\.cpp$")
SUPPORT = os.path.join("unit", "support")


def promises(page):
    """(promise, names) for each row of the table at the start of the page."""
    rows = [line.split(" | ") for line in page[:page.index("\n## ")].splitlines() if line.startswith("| ")]
    return [(row[0][2:], NAME.findall(row[1])) for row in rows[1:]]


def files():
    """The files in tests/, except the seeds of fuzz targets."""
    for folder, folders, names in os.walk(TESTS):
        folders[:] = [name for name in folders if name not in ("corpus", "__pycache__")]
        for name in names:
            yield os.path.relpath(os.path.join(folder, name), TESTS)


def tests_of(build):
    listed = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"], stdout=subprocess.PIPE, check=True)
    return [test["name"] for test in json.loads(listed.stdout)["tests"]]


def exists(name, tests, paths):
    """Whether a name in the table refers to something that exists."""
    if name.startswith(("./dev ", "--")):
        return True
    if any(test == name or test.startswith(name + ".") or fnmatch.fnmatchcase(test, name) for test in tests):
        return True
    if name.split(".", 1)[0] + "_fuzz.cpp" in {os.path.basename(path) for path in paths}:
        return True
    if os.path.exists(os.path.join(ROOT, name)) or os.path.exists(os.path.join(TESTS, name)):
        return True
    return name in {os.path.basename(path) for path in paths}


def every_promise_is_kept(page, build):
    """Every promise names tests that exist"""
    tests, paths = tests_of(build), list(files())
    table = promises(page)
    need(len(table) > 40, "only %d promises were found" % len(table))
    need(not exists("no_such_test", tests, paths), "any name would do")
    for promise, names in table:
        need(names, "no test is named for: %s" % promise)
        unknown = [name for name in names if not exists(name, tests, paths)]
        need(not unknown, "%s: there is no %s" % (promise[:60], ", ".join(unknown)))


def every_program_is_named(page, _):
    """Every program is named on the page"""
    names = {name for text in NAME.findall(page) for name in (text, os.path.basename(text))}
    programs = [path for path in files()
                if os.path.dirname(path) != SUPPORT and PROGRAM.search(path) or os.path.dirname(path) == "tools"]
    need(len(programs) > 100, "only %d programs were found" % len(programs))
    missing = [path for path in programs
               if not {os.path.basename(path), os.path.basename(path).rsplit("_fuzz.", 1)[0],
                       os.path.basename(path).rsplit(".", 1)[0]} & names]
    need(not missing, "not named: %s" % ", ".join(missing))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, metavar="FOLDER", help="with all tests")
    arguments = parser.parse_args()
    with open(os.path.join(TESTS, "README.md"), encoding="utf-8") as file:
        page = file.read()
    tally = Tally()
    for check in (every_promise_is_kept, every_program_is_named):
        tally.run(check.__doc__, lambda check=check: check(page, arguments.build))
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
