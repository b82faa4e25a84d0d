#!/usr/bin/env python3
"""Finds what no test reaches: the branches of src/ and include/ that the tests never take, with the preset `coverage`.

  coverage.py [--keep] [CTEST ARGUMENT...]

Runs the tests, prints a table of branches by folder, and writes build/prove/coverage.md: every branch with a side that
was never taken, with its file, line and code. A branch has two sides, true and false. A branch in a template or in an
inline function counts once, whichever instance takes it. --keep adds to what earlier runs have reached, so that
./dev coverage --keep -R plan_test shows what new tests add.

The build has clang's source-based coverage. Each program has a file of counters (%m), which all its processes share.
A process maps the file into memory when it starts, and counts there (%c, continuous mode). By default a profile is
written when a process exits, which would lose most of what matters here: a process that is ended by a signal writes
nothing, and cleave cannot open another file once it has given up its rights.

Known inaccuracies: counters are not atomic, so two threads may lose a count, but are very unlikely to lose all counts
of a branch; and in a function that calls fork(), counters that are computed from others may be wrong.

Tests that prove nothing in such a build are left out; LEFT_OUT names them.
"""
import collections
import glob
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BUILD = os.path.join(ROOT, "build", "coverage")
PROFILES = os.path.join(BUILD, "profiles")
PAGE = os.path.join(ROOT, "build", "prove", "coverage.md")
LLVM = "14"

# Tests of the binary as shipped, which this build does not produce, and of pages and scripts, which reach no code.
LEFT_OUT = r"^(hardening|symbols\.|package|gate|prove|includes|public_headers|drift\.|large$)"

LINE = re.compile(r"^ *(\d+)\|[^|]*\|(.*)$")
BRANCH = re.compile(r"^[ |]*\|  Branch \((\d+):(\d+)\): \[True: ([^,]+), False: ([^\]]+)\]")


class Branch:
    """A branch: its line of code, and whether its true and its false side were taken."""

    def __init__(self, code):
        self.code, self.taken = code, [False, False]


def run_tests(arguments):
    """Runs the tests and returns CTest's exit status."""
    os.makedirs(PROFILES, exist_ok=True)
    environment = {**os.environ, "LLVM_PROFILE_FILE": os.path.join(PROFILES, "%m%c.profraw")}
    return subprocess.run(["ctest", "--test-dir", BUILD, "--output-on-failure", "-j", str(os.cpu_count() + 1),
                           "-E", LEFT_OUT, *arguments], env=environment).returncode


def shown():
    """The sources with the counts of their branches, as llvm-cov prints them."""
    merged = os.path.join(BUILD, "merged.profdata")
    subprocess.run(["llvm-profdata-" + LLVM, "merge", "-sparse", "-o", merged,
                    *glob.glob(os.path.join(PROFILES, "*.profraw"))], check=True)
    # Passes the objects to llvm-cov, not the programs, which lack functions that no program calls.
    objects = glob.glob(os.path.join(BUILD, "CMakeFiles", "*.dir", "src", "**", "*.o"), recursive=True)
    objects += glob.glob(os.path.join(BUILD, "src", "cli", "**", "*.o"), recursive=True)
    words = [word for path in objects for word in ("-object", path)][1:]
    done = subprocess.run(["llvm-cov-" + LLVM, "show", *words, "-instr-profile", merged, "-show-branches=count",
                           "-show-instantiations=false", "-ignore-filename-regex=^/usr/|/tests/|generated/"],
                          cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace")
    if done.returncode != 0:
        sys.exit(done.stderr)
    return done.stdout   # llvm-cov's warnings are about inline functions in objects that do not use them


def read_branches(text):
    """{file: {(line, column): Branch}}. Constant conditions, which llvm-cov calls folded, are left out."""
    files, code, file = {}, {}, None
    for line in text.splitlines():
        if line.endswith(":") and "|" not in line:
            file = os.path.relpath(os.path.join(ROOT, line[:-1]), ROOT)
            files[file], code = {}, {}
        elif match := LINE.match(line):
            code[int(match.group(1))] = match.group(2).strip()
        elif match := BRANCH.match(line):
            at = int(match.group(1)), int(match.group(2))
            branch = files[file].setdefault(at, Branch(code.get(at[0], "")))
            for side in (0, 1):
                branch.taken[side] |= match.group(3 + side) != "0"
    return files


def folder_of(file):
    parts = file.split(os.sep)
    return os.sep.join(parts[:2]) if parts[0] == "src" else parts[0]


def table_of(files):
    """The lines of a Markdown table with the sides of branches by folder."""
    reached, total = collections.Counter(), collections.Counter()
    for file, branches in files.items():
        for branch in branches.values():
            for name in (folder_of(file), "all"):
                reached[name] += sum(branch.taken)
                total[name] += 2
    names = sorted(total.keys() - {"all"}) + ["all"]
    return ["| folder | sides of branches | taken | never taken | taken, % |", "|---|--:|--:|--:|--:|"] + [
        "| %s | %d | %d | %d | %.1f |" % (name, total[name], reached[name], total[name] - reached[name],
                                         100 * reached[name] / total[name]) for name in names if total[name]]


def page_of(files, table):
    lines = ["# What no test reaches", "",
             "Made by `./dev coverage`. Each line is a branch and the side of it that no test takes.", "", *table]
    for file in sorted(files):
        missed = [(at, branch) for at, branch in sorted(files[file].items()) if not all(branch.taken)]
        if missed:
            lines += ["", "## " + file, ""]
            for (line, column), branch in missed:
                side = {(False, False): "evaluated", (True, False): "false", (False, True): "true"}[tuple(branch.taken)]
                lines.append("- %d:%d, never %s: `%s`" % (line, column, side, branch.code))
    return "\n".join(lines) + "\n"


def main():
    arguments = sys.argv[1:]
    if arguments[:1] == ["--help"]:
        print(__doc__)
        return 0
    if arguments[:1] == ["--keep"]:
        arguments = arguments[1:]
    else:
        shutil.rmtree(PROFILES, ignore_errors=True)
    status = run_tests(arguments)
    files = read_branches(shown())
    table = table_of(files)
    os.makedirs(os.path.dirname(PAGE), exist_ok=True)
    with open(PAGE, "w", encoding="utf-8") as file:
        file.write(page_of(files, table))
    print(*table, sep="\n")
    print("what no test reaches: " + os.path.relpath(PAGE, ROOT))
    return status


if __name__ == "__main__":
    sys.exit(main())
