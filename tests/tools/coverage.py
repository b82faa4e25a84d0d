#!/usr/bin/env python3
"""Finds what no test reaches: the branches of src/ and include/ that the tests never take, with the preset `coverage`.

  coverage.py [--keep] [CTEST ARGUMENT...]
  coverage.py --page

Runs the tests, prints a table of branches by folder, and writes build/prove/coverage.md: every branch with a side that
was never taken, with its file, line and code. A branch has two sides, true and false. A branch in a template or in an
inline function counts once, whichever instance takes it.

--keep adds to what earlier runs have reached, so that ./dev coverage --keep -R unit shows what new tests add.

--page runs no test. It renews coverage.md in doc/internals from what the last run has reached, and exits with status 1
if that is a smaller share of a folder's sides than the page said, by more than ALLOWANCE percentage points. The page
gets the new figures all the same.

The build has clang's source-based coverage. Each program has a file of counters (%m), which all its processes share.
A process maps the file into memory when it starts, and counts there (%c, continuous mode). By default a profile is
written when a process exits, which would lose most of what matters here: a process that is ended by a signal writes
nothing, and cleave cannot open another file once it has given up its rights.

Known inaccuracies: counters are not atomic, so two threads may lose a count, but are very unlikely to lose all counts
of a branch; and in a function that calls fork(), counters that are computed from others may be wrong.

Tests that prove nothing in such a build are left out; LEFT_OUT names them.
"""
import collections
import datetime
import glob
import os
import re
import shutil
import subprocess
import sys
import textwrap

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BUILD = os.path.join(ROOT, "build", "coverage")
PROFILES = os.path.join(BUILD, "profiles")
DETAILS = os.path.join(ROOT, "build", "prove", "coverage.md")
PAGE = os.path.join(ROOT, "doc", "internals", "coverage.md")
ALLOWANCE = 0.5   # some branches depend on which thread is first

# Tests of the binary as shipped, which this build does not produce, and of pages and scripts, which reach no code.
LEFT_OUT = r"^(hardening|symbols\.|package|gate|prove|includes|public_headers|dev$|drift\.|large$)"

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


def llvm(tool):
    """The tool of the clang that has compiled the programs: both read each other's profiles."""
    with open(os.path.join(BUILD, "CMakeCache.txt"), encoding="utf-8") as file:
        return "llvm-%s%s" % (tool, re.search(r"^CMAKE_CXX_COMPILER:.*clang\+\+(-\d+)?$", file.read(), re.M)[1] or "")


def shown():
    """The sources with the counts of their branches, as llvm-cov prints them."""
    merged = os.path.join(BUILD, "merged.profdata")
    subprocess.run([llvm("profdata"), "merge", "-sparse", "-o", merged,
                    *glob.glob(os.path.join(PROFILES, "*.profraw"))], check=True)
    # Passes the objects to llvm-cov, not the programs, which lack functions that no program calls.
    # Objects of sources that have been moved since an earlier build are not in the list.
    with open(os.path.join(BUILD, "build.ninja"), encoding="utf-8") as file:
        built = re.findall(r"^build ((?:CMakeFiles|src)/\S*\.o):", file.read(), re.MULTILINE)
    objects = [os.path.join(BUILD, path) for path in built]
    words = [word for path in objects for word in ("-object", path)][1:]
    # Names of sources are relative to ROOT or, if ccache has called clang, to BUILD.
    for folder in (".", os.path.relpath(BUILD, ROOT)):
        done = subprocess.run([llvm("cov"), "show", *words, "-instr-profile", merged, "-show-branches=count",
                               "-compilation-dir=" + folder, "-show-instantiations=false",
                               "-ignore-filename-regex=^/usr/|/tests/|generated/"],
                              cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace")
        if done.stdout:
            break
    if done.returncode != 0 or not done.stdout:
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
    return os.path.dirname(file) if file.startswith("src" + os.sep) else file.split(os.sep)[0]


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


def details_of(files):
    """The lines of a page with every branch that has a side which no test takes."""
    lines = ["# What no test reaches", "", "Each line is a branch and the side of it that no test takes."]
    for file in sorted(files):
        missed = [(at, branch) for at, branch in sorted(files[file].items()) if not all(branch.taken)]
        if missed:
            lines += ["", "## " + file, ""]
            for (line, column), branch in missed:
                side = {(False, False): "evaluated", (True, False): "false", (False, True): "true"}[tuple(branch.taken)]
                lines.append("- %d:%d, never %s: `%s`" % (line, column, side, branch.code))
    return lines


def page_of(files, table):
    """The lines of the page: the table, and the files of each folder, those with most to cover first."""
    lines = ["# Coverage", "", *textwrap.wrap(
        "The branches of `src/` and `include/` that the tests take, measured on %s with %s. A branch has two sides, "
        "true and false. `./dev prove coverage` makes this page, and lists each side that no test takes in "
        "`build/prove/coverage.md`, with its line. It fails if the share of a folder has fallen by more than half a "
        "percentage point. The gate measures nothing: it checks that the table "
        "has the folders of `src/`, and that at most ten changes have landed since the page was made." % (
            datetime.date.today(), llvm("cov").replace("llvm-cov-", "clang ")), 120), "", *table, "",
        "## What is not covered", "", "Sides that no test takes, of all sides, by file."]
    rest = collections.defaultdict(list)
    for file, branches in files.items():
        missed = sum(branch.taken.count(False) for branch in branches.values())
        if missed:
            rest[folder_of(file)].append((-missed, os.path.relpath(file, folder_of(file)), 2 * len(branches)))
    for folder in sorted(rest):
        words = ", ".join("%s %d of %d" % (name, -missed, total) for missed, name, total in sorted(rest[folder]))
        lines += ["", *textwrap.wrap("**%s**: %s." % (folder, words), 120, break_on_hyphens=False)]
    return lines


def shares(lines):
    """{folder: percentage} of the rows of the table in a page."""
    rows = [line.strip("| ").split(" | ") for line in lines]
    return {row[0]: float(row[-1]) for row in rows if len(row) == 5 and row[1].isdigit()}


def write(path, lines):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


def main():
    arguments = sys.argv[1:]
    if arguments[:1] == ["--help"]:
        print(__doc__)
        return 0
    is_page = arguments == ["--page"]
    if arguments[:1] == ["--keep"]:
        arguments = arguments[1:]
    elif not is_page:
        shutil.rmtree(PROFILES, ignore_errors=True)
    status = 0 if is_page else run_tests(arguments)
    files = read_branches(shown())
    table = table_of(files)
    write(DETAILS, details_of(files))
    print(*table, "what no test reaches: " + os.path.relpath(DETAILS, ROOT), sep="\n")
    if is_page:
        with open(PAGE, "a+", encoding="utf-8") as file:   # the first time there is none
            file.seek(0)
            before = shares(file.read().splitlines())
        write(PAGE, page_of(files, table))
        for folder, share in shares(table).items():
            if share < before.get(folder, 0) - ALLOWANCE:
                print("%s: %.1f %% of the sides are taken, and %.1f %% were before" % (folder, share, before[folder]))
                status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
