#!/usr/bin/env python3
"""Tests prove.py, counts.py and coverage.py: what is run again, what is understood, and that each program gets the
seed.

  prove_test.py [--only SUBSTRING]

Runs prove.py's functions on a small repository, whose ./dev and parts are one line each.
"""
import argparse
import contextlib
import io
import os
import shutil
import subprocess
import sys
import tempfile

import counts
import coverage
import prove
from verdicts import Failure, Tally, need, need_tool

HERE = prove.ROOT   # the real repository
SEED = 20261126


def same(found, wanted):
    need(found == wanted, "%r, but %r is wanted" % (found, wanted))


class Repository:
    """A repository with these parts. Each command of a part is a shell command."""

    def __init__(self, folder, builds="", **parts):
        self.folder = folder
        self.write(".gitignore", "build/\n")
        self.write("dev", '#!/bin/sh\necho "$@" >>build/calls\n! test -e build/broken\n')
        os.chmod(self.path("dev"), 0o755)
        self.git("init", "-q")
        self.commit()
        prove.ROOT = folder
        prove.PARTS = {name: prove.Part("-", builds, "sh -c 'echo %s >>build/calls; %s'" % (name, command))
                       for name, command in parts.items()}

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="ascii") as file:
            file.write(text)

    def git(self, *words):
        subprocess.run(["git", "-C", self.folder, "-c", "user.name=a", "-c", "user.email=a@b", *words], check=True)

    def commit(self):
        self.git("add", ".")
        self.git("commit", "-q", "--allow-empty", "-m", "x")

    def run(self, *parts, seed=SEED, again=False):
        """Runs prove.py in the repository. Returns the exit status, what ran, and the lines of the table."""
        os.makedirs(self.path("build"), exist_ok=True)
        self.write("build/calls", "")
        with contextlib.redirect_stdout(io.StringIO()) as output:
            status = prove.run_parts(list(parts) or list(prove.PARTS), seed, again)
        with open(self.path("build/calls"), encoding="ascii") as file:
            calls = file.read().splitlines()
        with open(self.path("build/prove/summary.txt"), encoding="ascii") as file:
            table = file.read()
        need(output.getvalue().endswith(table), "the table is not printed")
        return status, calls, [line.split() for line in table.splitlines()[1:]]


def what_has_passed_is_not_run_again(make):
    """What has passed is not run again; another seed, another commit and --again run it"""
    repository = make(good="echo 7 passed, 0 failed", other="true")
    row = ["good", str(SEED), "0.0", "7", "0", "0", "0"]
    status, calls, table = repository.run()
    same((status, calls, table[0]), (0, ["good", "other"], row))
    status, calls, table = repository.run()
    same((status, calls, table[0]), (0, [], [*row, "earlier"]))
    same(repository.run(again=True)[1], ["good", "other"])
    same(repository.run("good", seed=5)[1], ["good"])
    same(repository.run("good")[1], ["good"])   # only the last seed counts
    repository.commit()
    same(repository.run()[1], ["good", "other"])
    repository.write("build/prove/passed.json", "{")
    same(repository.run("good")[1], ["good"])


def what_has_not_passed_is_run_again(make):
    """What failed, was inconclusive, was skipped or printed nothing to count is run again"""
    repository = make(bad="echo FAIL it: lost; echo 3 passed, 1 failed; exit 1", open="exit 75", skipped="exit 77",
                      none="echo 0 passed, 0 failed", good="true")
    for _ in range(2):
        status, calls, table = repository.run("bad", "open", "skipped", "none")
        same((status, calls), (1, ["bad", "open", "skipped", "none"]))
        same([row[3:] for row in table], [["3", "1", "0", "0"], ["0", "0", "0", "1"], ["0", "0", "1", "0"],
                                          ["0", "0", "0", "0"]])
    same(repository.run("open")[0], 75)
    same(repository.run("open", "good")[0], 75)
    same(repository.run("none")[0], 1)
    same(repository.run("skipped")[0], 0)


def changes_are_not_remembered(make):
    """Nothing is remembered of a tree with changes, and nothing is taken from an earlier run"""
    repository = make(good="true", writes="touch new")
    repository.run("good")
    repository.write("new", "")
    same(repository.run("good")[1], ["good"])
    same(repository.run("good")[1], ["good"])
    os.unlink(repository.path("new"))
    same(repository.run("good")[1], [])
    repository.run("writes")   # the tree changes while the part runs
    os.unlink(repository.path("new"))
    same(repository.run("writes")[1], ["writes"])


def an_interrupted_run_continues(make):
    """An interrupted run has its table, and the next one runs the parts that are left"""
    repository = make(first="true", second="kill -INT $PPID; sleep 9", third="true")
    with contextlib.suppress(KeyboardInterrupt):
        repository.run()
        raise Failure("the run was not interrupted")
    with open(repository.path("build/prove/summary.txt"), encoding="ascii") as file:
        same([line.split()[0::3] for line in file.read().splitlines()[1:]],
             [["first", "1", "0"], ["second"], ["third"]])
    prove.PARTS["second"] = prove.PARTS["third"]._replace(commands="sh -c 'echo second >>build/calls'")
    same(repository.run()[1], ["second", "third"])


def builds_come_first(make):
    """A part's builds come first; where one fails, the part fails and none of its commands run"""
    repository = make(builds="release asan", good="true")
    same(repository.run()[1], ["build-tests release", "build-tests asan", "good"])
    repository.write("build/broken", "")
    status, calls, table = repository.run(again=True)
    same((status, calls, table[0][3:]), (1, ["build-tests release"], ["0", "1", "0", "0"]))


def every_command_is_read(make):
    """The commands of a part count together, each into one log; a program outside the clone may be missing"""
    repository = make(part="echo 2 passed, 0 failed")
    line = prove.PARTS["part"].commands
    prove.PARTS["part"] = prove.Part("-", "", "\n".join(["../shared/no.py", line, line.replace("2", "5")]))
    same(repository.run()[2][0][3:], ["7", "0", "1", "0"])
    with open(repository.path("build/prove/part.log"), encoding="ascii") as file:
        text = file.read()
    need("2 passed" in text and "5 passed" in text and "$ sh -c" in text, text)


def reports_of_ctest_are_read(make):
    """A command that runs CTest is judged by its report"""
    repository = make(part="true")
    repository.write("report", "<a><testcase name='a' status='run'/><testcase name='b' status='run'/></a>")
    prove.PARTS["part"] = prove.Part("-", "", "env A=1 ./dev test debug -R x")
    for script, wanted in (("cp report $6", ["2", "0", "0", "0"]), ("true", ["0", "1", "0", "0"])):
        repository.write("dev", "#!/bin/sh\n[ $5 = --output-junit ] && %s\n" % script)
        same(repository.run()[2][0][3:], wanted)


def programs_get_the_seed(_):
    """Every program of the parts exists, and gets the seed if it takes one; no two days have cases in common"""
    options = {}
    for part in prove.PARTS:
        commands, next_day = prove.commands_of(part, SEED), prove.commands_of(part, SEED + 1)
        for words, later in zip(commands, next_day):
            program = words[2] if words[0] == sys.executable else words[0]
            if program.startswith("../"):
                continue
            if words[0] == sys.executable:
                if program not in options:
                    options[program] = subprocess.run([*words[:3], "--help"], cwd=HERE, stdout=subprocess.PIPE,
                                                      text=True, check=True).stdout
                need(("--seed" in options[program]) == ("--seed" in words), "%s: its seed" % program)
            if "--seed" in words:
                first, second = (int(line[line.index("--seed") + 1]) for line in (words, later))
                numbered = [int(words[at + 1]) for at, word in enumerate(words) if word in ("--count", "--runs")]
                need(second - first >= max(numbered, default=1), "%s: the next day repeats cases" % words)


def counts_are_compared(_):
    """counts.py reads what callgrind_annotate prints, allows 1.002, and names the function that grew most"""
    def read(total, walk, loader=0):
        return counts.read_annotated("""
Ir
%s (100.0%%)  PROGRAM TOTALS

Ir                 file:function
%s (90.00%%)  ???:cleave::walk(int, char) [/x/cleave]
     2,000 ( 0.90%%)  ???:cleave::(anonymous namespace)::mark<cleave::Avx2, (cleave::Rules)0>(char) [/x/cleave]
     1,000 ( 0.10%%)  ./string/memcpy.S:memcpy [/lib/libc.so.6]
%s ( 0.10%%)  ./string/strcmp-sse2.S:strcmp [/lib/ld-linux-x86-64.so.2]
""" % (f"{total:,}", f"{walk:,}", f"{loader:,}"))
    old = read(1000000, 900000)
    same((old.total, sorted(old.functions.values())), (1000000, [0, 1000, 2000, 900000]))
    need("cleave::(anonymous namespace)::mark<cleave::Avx2, (cleave::Rules)0>(char)" in old.functions, old.functions)
    counts.compare(old, read(1002000, 902000))
    counts.compare(old, read(900000, 800000))
    try:
        counts.compare(old, read(1002001, 902001))
    except Failure as failure:
        need("cleave::walk(int, char)" in str(failure) and "2,001" in str(failure), str(failure))
    else:
        raise Failure("1.002001 passes")
    counts.compare(old, read(1010000, 902000, 8000))   # names that lie elsewhere
    try:
        counts.compare(old, read(1010001, 902001, 7000))
    except Failure:
        return
    raise Failure("1.003 passes beside names that lie elsewhere")


WORKING = """
#include <stdio.h>
#include <string.h>
static volatile unsigned done;
static void __attribute__((noinline)) work(unsigned count) { for (unsigned i = 0; i < count; ++i) done = i; }
int main(int argc, char** argv) {
    static char line[1 << 20];
    FILE* file = fopen(argv[argc - 1], "r");
    work(START);
    while (file && fgets(line, sizeof line, file)) work(EACH);
    return file == NULL;
}
"""


def a_slower_binary_is_noticed(_):
    """counts.py notices that a binary needs 0.3 % more for each record, and that one takes longer to start"""
    with tempfile.TemporaryDirectory() as folder:
        def binary(name, start, each):
            path = os.path.join(folder, name)
            subprocess.run([need_tool("cc"), "-O1", "-x", "c", "-", "-DSTART=%d" % start, "-DEACH=%d" % each, "-o", path],
                           input=WORKING, text=True, check=True)
            return path
        folders = [os.path.join(folder, name) for name in ("1", "2")]
        os.mkdir(folders[0])
        counts.make_inputs(folders[0])
        shutil.copytree(*folders)
        old = binary("old", 1000, 1000)

        def fault(new, counting, words):
            """What compare() says about this binary, if anything."""
            try:
                counts.compare(*counts.count_both((old, new), counting, words, folders, ""))
            except Failure as failure:
                return str(failure)
            return ""
        growth, whole = (counts.count_growth, ["x"]), (counts.count, ["x", "tiny.csv"])
        same(fault(old, *growth), "")
        same(fault(old, *whole), "")
        need("work" in fault(binary("all", 1000, 1003), *growth), "0.3 % more for each record passes")
        late = binary("new", 2000, 1000)
        same(fault(late, *growth), "")
        need("work" in fault(late, *whole), "a slow start passes")


def binaries_are_kept(make):
    """counts.py keeps two binaries, and builds one again if the compiler, its options or the packages differ"""
    repository, built, real = make(), [], (counts.ROOT, counts.KEPT, counts.build)

    def build(commit):
        built.append(commit)
        return repository.path("new")
    counts.ROOT, counts.KEPT, counts.build = repository.folder, repository.path("kept"), build
    commits = []
    try:
        for text in "abc":
            repository.write("new", text)
            repository.commit()
            commits.append(counts.git("rev-parse", "HEAD"))
            with open(counts.kept("HEAD"), encoding="ascii") as file:
                same(file.read(), text)
            with open(counts.kept(commits[0]), encoding="ascii") as file:
                same(file.read(), "a")
        same(len(os.listdir(counts.KEPT)), 2)
        same(built, ["HEAD"] * 3)
        counts.kept(commits[1])   # used before the other two
        same(built, ["HEAD"] * 3 + [commits[1]])
        os.environ["CXXFLAGS"] = "-O1"
        counts.kept(commits[1])
        same(built, ["HEAD"] * 3 + [commits[1]] * 2)
    finally:
        os.environ.pop("CXXFLAGS", None)
        counts.ROOT, counts.KEPT, counts.build = real


def branches_are_read(_):
    """coverage.py reads what llvm-cov prints: sides of branches, of all instances together, without constants"""
    files = coverage.read_branches("""./src/core/scan/walker.cpp:
   11|       |// a|b
   12|  1.50k|    if (a || b) return x > 2 ? N : x;
  ------------------
  |  Branch (12:9): [True: 1.20k, False: 0]
  |  Branch (12:14): [Folded - Ignored]
  |  Branch (12:30): [True: 0, False: 7]
  |  Branch (12:30): [True: 3, False: 0]
  ------------------

include/cleave/plan.h:
   40|      0|    while (next()) {
  ------------------
  |  Branch (40:12): [True: 0, False: 0]
  ------------------
""")
    found = {file: {at: branch.taken for at, branch in branches.items()} for file, branches in files.items()}
    same(found, {"src/core/scan/walker.cpp": {(12, 9): [True, False], (12, 30): [True, True]},
                 "include/cleave/plan.h": {(40, 12): [False, False]}})
    table = coverage.table_of(files)
    same(table[2:], ["| include | 2 | 0 | 2 | 0.0 |", "| src/core/scan | 4 | 3 | 1 | 75.0 |", "| all | 6 | 3 | 3 | 50.0 |"])
    same(coverage.shares(table), {"include": 0.0, "src/core/scan": 75.0, "all": 50.0})
    details = coverage.details_of(files)
    for line in ("- 12:9, never false: `if (a || b) return x > 2 ? N : x;`",
                 "- 40:12, never evaluated: `while (next()) {`"):
        need(line in details, details)


CHECKS = [what_has_passed_is_not_run_again, what_has_not_passed_is_run_again, changes_are_not_remembered,
          an_interrupted_run_continues, builds_come_first, every_command_is_read, reports_of_ctest_are_read,
          counts_are_compared, binaries_are_kept, a_slower_binary_is_noticed, branches_are_read, programs_get_the_seed]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="SUBSTRING", help="of a check's name")
    arguments = parser.parse_args()
    real, tally = prove.ROOT, Tally()
    parts = prove.PARTS

    def tried(check):
        prove.ROOT, prove.PARTS = real, parts
        with tempfile.TemporaryDirectory() as folder:
            check(lambda **words: Repository(folder, **words))
    for check in CHECKS:
        if arguments.only in check.__doc__:
            tally.run(check.__doc__, lambda check=check: tried(check))
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
