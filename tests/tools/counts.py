#!/usr/bin/env python3
"""Compares the instructions of commands, counted by Callgrind, with those of an earlier commit.

  counts.py [--against COMMIT] [--only SUBSTRING]

COMMIT is the commit in .ci/base by default. Its binary and the binary of the working tree, including new files, are
built in a worktree in build/prove/counts/, with the ./dev of each. The two binaries are kept in ~/.cache/cleave/counts,
by what they were built from and with, so that they are found again while that is the same. A check fails if a command
needs more than 1.002 times the instructions of the earlier binary. It then names the function whose own count grew
most. ACCEPTED lists commands that a change makes slower on purpose.

There are two kinds of commands. WHOLE ones are counted from start to end, with inputs of a few megabytes. RULES are
run with two sizes of one input, and the difference is compared: what one kind of rule costs for 8000 records, without
the start of the command, which would hide a small loss. There is a row for each kind of operation because a compiler
decides anew what it inlines whenever other code in the same file changes, so a new operation can slow others down.

Why 1.002: on a shared machine, times vary by more than a small loss costs, so only the median of many pairs reveals a
loss; and ten losses of 0.5 % that each go unnoticed add up to 5 %. Counts do not vary: the same binary gives the same
number, except for a few tens of instructions that write a process id with more or fewer digits. So the 0.2 % is not an
allowance for noise. It is what a change may add outside the hot path, for example one more option to parse.

What makes counts exact: one thread and a named kernel; inputs made from a fixed seed; folders to run in whose paths are
of equal length, an environment with only PATH and the preloaded library, and binaries with paths of equal length,
because starting a process includes scanning and copying these strings; the same random bytes each time
(fixed_random.c), because the seed of a hash table determines how many slots are tried; and malloc's cache without a
limit, because what it costs to merge and to find blocks outside of it depends on where they happen to lie. So both
binaries can run side by side. Address randomisation has no effect, because Valgrind itself places mappings.

One count is left out before a command fails: that of the loader's strcmp, with which it compares the names of symbols.
How many bytes a step of it compares depends on where the linker has put the names, which one symbol more or less moves.
How many names there are to look up shows in the loader's other functions.

What Callgrind cannot see: the operating system's work (system calls, page faults, input and output); the cost of an
instruction (a division counts as much as an addition, and a cache miss or a mispredicted branch counts nothing);
threads that wait for each other; and the AVX-512 kernels, because Valgrind does not know these instructions, so the
commands use avx2 where the machine has it. bench/ measures all of these.
"""
import argparse
import concurrent.futures
import contextlib
import glob
import hashlib
import os
import platform
import random
import re
import shutil
import subprocess
import sys
from typing import NamedTuple

from verdicts import PASSED, Failure, Inconclusive, Tally, need_tool

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))

LIMIT = 1.002
TUNABLES = "glibc.malloc.tcache_count=65535"   # the most that there is
FOLDER = os.path.join(ROOT, "build", "prove", "counts")
KEPT = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "cleave", "counts")
EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"   # what the gate compares with if it does not trust its base
SEED = 1
NAMES_OF_LOADER = "strcmp in the loader"

# {name of a command: (how many times the instructions it may need, why)}: for this change only, since .ci/base.
INLINED = "mark_fields() with AVX2 has other code, with 2 % more instructions, but takes the same time"
ACCEPTED = {"split --by": (1.005, INLINED), "rules: --forbid": (1.006, INLINED), "rules: suppress": (1.005, INLINED)}

# {name: the words of the command, without those common to all}. The inputs come from make_inputs().
WHOLE = {
    "count, plain": ["count", "plain.csv"],
    "count, quoted": ["count", "quoted.csv"],
    "offsets -n": ["offsets", "-n", "9", "plain.csv"],
    "split -l": ["split", "-l", "5000", "-o", "out/{i}.csv", "quoted.csv"],
    "split --by": ["split", "--by", "kind", "-o", "out/{value}.csv", "quoted.csv"],
    "split --compress gzip": ["split", "-n", "3", "--compress", "gzip", "-o", "out/{i}.csv.gz", "short.csv"],
    "cat --select": ["cat", "--select", "id,note", "quoted.csv"],
    "cat --redact, fixed": ["cat", "--redact", 'note: fixed("x")', "quoted.csv"],
    "cat --redact, hmac": ["cat", "--key", "k=file:key", "--redact", "id: hmac(k)", "short.csv"],
    "count, a tiny file": ["count", "tiny.csv"],
}

# The same without the name of the input, which is one of SIZES.
KEY = ["--key", "k=file:key"]
CLASSES = ["--redact", "born: date(year)", "--redact", "postcode: mask(first=2)", "--redact", "sex: keep"]
RULES = {
    "rules: mask": ["cat", "--redact", "name: mask(first=2)"],
    "rules: date": ["cat", "--redact", "born: date(month)"],
    "rules: shift-date": ["cat", *KEY, "--redact", "born: shift-date(k, by=id, days=30)"],
    "rules: initials": ["cat", "--redact", "name: initials"],
    "rules: short-name": ["cat", "--redact", "name: short-name"],
    "rules: email": ["cat", "--redact", "email: email(local=mask)"],
    "rules: round": ["cat", "--redact", "amount: round(10)"],
    "rules: bucket": ["cat", "--redact", "postcode: bucket(100)"],
    "rules: fixed": ["cat", "--redact", 'note: fixed("x")'],
    "rules: hmac": ["cat", *KEY, "--redact", "id: hmac(k)"],
    "rules: a condition": ["cat", "--redact", "note: null if sex = f and postcode != 1000", "--redact", "note: keep"],
    "rules: --select": ["cat", "--select", "id,born,note"],
    "rules: --forbid": ["check", "--select", "!email", "--forbid", "email"],
    "rules: count": ["count"],
    "rules: check --quasi": ["check", "--quasi", "born,postcode,sex", "--sensitive", "note", *CLASSES],
    "rules: suppress": ["cat", *CLASSES, "--redact", "born,postcode,sex: suppress(k=5)"],
}
SIZES = {"people2000.csv": 2000, "people10000.csv": 10000}   # {name: number of records}


# Inputs and binaries.

def make_inputs(folder):
    """Creates the inputs of all commands, a few megabytes."""
    chance = random.Random(SEED)

    def records(count, quoted):
        for number in range(count):
            note = "some text %d" % chance.randrange(10**9)
            if quoted:
                note = '"%s, ""%s""%s"' % (note, "x" * chance.randrange(9), "\n" * (chance.random() < 0.1))
            yield "%d,name%d,kind%d,%d.%02d,%s\n" % (number, chance.randrange(1000), chance.randrange(20),
                                                     chance.randrange(10000), chance.randrange(100), note)
    for name, count, quoted in (("plain.csv", 80000, False), ("quoted.csv", 40000, True), ("short.csv", 5000, True),
                                ("tiny.csv", 3, False)):
        with open(os.path.join(folder, name), "w", encoding="ascii") as file:
            file.write("id,name,kind,amount,note\n")
            file.writelines(records(count, quoted))
    for name, count in SIZES.items():
        with open(os.path.join(folder, name), "w", encoding="ascii") as file:
            file.write("id,name,born,postcode,sex,email,amount,note\n")
            file.writelines(people(random.Random(SEED), count))
    with open(os.open(os.path.join(folder, "key"), os.O_CREAT | os.O_WRONLY, 0o600), "w", encoding="ascii") as file:
        file.write("%064x\n" % chance.getrandbits(256))


def people(chance, count):
    """The records of an input for RULES."""
    for number in range(count):
        name = chance.choice(("Ada Lowe", "Ben van Dyk", "Cleo", "Emil J. Ost"))
        yield '%d,"%s",%d-%02d-%02d,%d,%s,user%d@example.org,%d.%02d,"some text, %d"\n' % (
            number, name, chance.randrange(1930, 2010), chance.randrange(1, 13), chance.randrange(1, 29),
            chance.randrange(1000, 9999), chance.choice("fm"), chance.randrange(10**6), chance.randrange(10000),
            chance.randrange(100), chance.randrange(10**9))


def run(words, **options):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **options)
    if done.returncode != 0:
        raise Failure("%s: %s" % (" ".join(words), done.stdout[-2000:]))
    return done.stdout.strip()


def git(*words, **options):
    return run(["git", "-C", ROOT, *words], **options)


def working_tree():
    """A commit of the working tree as it is; HEAD if nothing has changed."""
    index = os.path.join(FOLDER, "index")
    environment = {**os.environ, "GIT_INDEX_FILE": index}
    git("read-tree", "HEAD", env=environment)
    git("add", "--all", env=environment)
    tree = git("write-tree", env=environment)
    os.unlink(index)
    if tree == git("rev-parse", "HEAD^{tree}"):
        return git("rev-parse", "HEAD")
    return git("commit-tree", tree, "-p", "HEAD", "-m", "The working tree")


def build(commit):
    """Builds a commit in the worktree, and returns the binary."""
    tree = os.path.join(FOLDER, "tree")
    if os.path.exists(os.path.join(tree, ".git")):
        run(["git", "-C", tree, "checkout", "--quiet", "--force", "--detach", commit])
    else:
        git("worktree", "prune")
        git("worktree", "add", "--quiet", "--force", "--detach", tree, commit)
    with contextlib.suppress(FileNotFoundError):   # a commit has defaults of its own, such as the list of features
        os.unlink(os.path.join(tree, "build/release/CMakeCache.txt"))
    run(["./dev", "build", "release"], cwd=tree)
    return os.path.join(tree, "build", "release", "cleave")


def kept(commit):
    """The path of a commit's binary, which is built if it was not kept. Keeps the two that were used last.

    The name has the tree of the commit, and a digest of all else that decides how it is compiled: the compiler, the
    Debian packages, whose headers and libraries are part of it, and the environment's options. No option depends on the
    processor."""
    options = [os.environ.get(name, "") for name in ("CC", "CXX", "CPPFLAGS", "CFLAGS", "CXXFLAGS", "LDFLAGS")]
    made_with = [run([os.environ.get("CXX", "c++"), "-v"]), run(["dpkg-query", "-W"]), *options]
    path = os.path.join(KEPT, "%s-%s" % (git("rev-parse", commit + "^{tree}"),
                                         hashlib.sha256("\0".join(made_with).encode()).hexdigest()[:16]))
    if not os.path.exists(path):
        os.makedirs(KEPT, exist_ok=True)
        part = "%s.%d" % (path, os.getpid())
        shutil.copy(build(commit), part)
        os.replace(part, path)
    os.utime(path)
    for older in sorted(glob.glob(os.path.join(KEPT, "*")), key=os.path.getmtime)[:-2]:
        os.unlink(older)
    return path


# Counting.

class Counts(NamedTuple):
    """The counts of one run of a command: all instructions, and {function: its own instructions}, or a function that
    returns that, because callgrind_annotate takes as long as a run and is only needed after a failure."""
    total: int
    functions: object

    def by_function(self):
        return self.functions() if callable(self.functions) else self.functions


def kernel():
    """The fastest kernel that Valgrind can run here."""
    if platform.machine() != "x86_64":
        return "neon" if platform.machine() == "aarch64" else "scalar"
    with open("/proc/cpuinfo", encoding="ascii") as file:
        return "avx2" if re.search(r"\bavx2\b", file.read()) else "sse2"


def count(binary, words, work, preloaded):
    """Runs a command in the folder `work` and returns its Counts."""
    out, data = os.path.join(work, "out"), os.path.join(work, "callgrind.out." + words[-1])
    shutil.rmtree(out, ignore_errors=True)
    os.mkdir(out)
    environment = {"PATH": "/usr/bin:/bin", "LD_PRELOAD": preloaded, "GLIBC_TUNABLES": TUNABLES}
    run([need_tool("valgrind"), "--tool=callgrind", "--callgrind-out-file=" + data, binary, words[0], "--threads", "1",
         "--kernel", kernel(), *words[1:]], cwd=work, env=environment)
    return Counts(read_total(data), lambda: read_annotated(
        run([need_tool("callgrind_annotate"), "--threshold=100", "--auto=no", data])).functions)


def read_total(path):
    """The instructions of the run that Callgrind has written about."""
    with open(path, encoding="utf-8", errors="replace") as file:
        found = [line for line in file if line.startswith(("summary: ", "totals: "))]
    if not found:
        raise Failure("%s has no total" % path)
    return int(found[-1].split()[1])


def read_annotated(text):
    """The Counts in the output of callgrind_annotate. Its rows are "1,234 (5.6%)  file:function [object]"."""
    functions, total = {}, 0
    for line in text.splitlines():
        if match := re.match(r"\s*([\d,]+) \([\d. ]+%\)\s+(.*)$", line):
            instructions = int(match.group(1).replace(",", ""))
            if match.group(2).startswith("PROGRAM TOTALS"):
                total = instructions
            else:
                name = re.sub(r" \[[^]]*\]$", "", match.group(2)).partition(":")[2]
                if name == "strcmp" and "/ld-linux" in match.group(2):
                    name = NAMES_OF_LOADER
                functions[name] = functions.get(name, 0) + instructions
    if not total:
        raise Failure("callgrind_annotate names no total: " + text[:500])
    return Counts(total, functions)


def count_growth(binary, words, work, preloaded):
    """The Counts of one of RULES: what the large input needs more than the small one."""
    small, large = (count(binary, [*words, name], work, preloaded) for name in SIZES)

    def growth():
        before, after = small.by_function(), large.by_function()
        return {name: after.get(name, 0) - before.get(name, 0) for name in before.keys() | after.keys()}
    return Counts(large.total - small.total, growth)


def count_both(binaries, counting, words, folders, preloaded):
    """The Counts of the old and the new binary, each in its folder, side by side."""
    with concurrent.futures.ThreadPoolExecutor(len(binaries)) as pool:
        return list(pool.map(lambda binary, work: counting(binary, words, work, preloaded), binaries, folders))


def grown_most(old, new):
    """(instructions, name) of the function whose own count grew most."""
    before, after = old.by_function(), new.by_function()
    return max((after.get(name, 0) - before.get(name, 0), name) for name in before.keys() | after.keys())


def compare(old, new, limit=LIMIT):
    """Raises Failure if the new count is too large."""
    if new.total > limit * old.total:
        compared = [one.by_function().get(NAMES_OF_LOADER, 0) for one in (old, new)]
        if new.total - compared[1] <= limit * (old.total - compared[0]):
            return
        growth, function = grown_most(old, new)
        raise Failure("%.4f times the instructions, %s instead of %s; the function that grew most, by %s: %s" % (
            new.total / old.total, f"{new.total:,}", f"{old.total:,}", f"{growth:,}", function))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", metavar="COMMIT", help="the earlier commit [the one in .ci/base]")
    parser.add_argument("--only", default="", metavar="SUBSTRING", help="of a command's name")
    arguments = parser.parse_args()
    with open(os.path.join(ROOT, ".ci", "base"), encoding="ascii") as file:
        earlier = arguments.against or file.read().strip()
    if earlier == EMPTY_TREE:
        print("there is nothing to compare with\n0 passed, 0 failed")
        return PASSED
    work, notes, binaries, tally = os.path.join(FOLDER, "work"), [], [], Tally()
    folders = [os.path.join(work, name) for name in ("old", "new")]
    shutil.rmtree(work, ignore_errors=True)
    for folder in folders:
        os.makedirs(folder)
        make_inputs(folder)
    preloaded = os.path.join(FOLDER, "fixed_random.so")

    def builds():
        run([need_tool("cc"), "-shared", "-fPIC", "-O2", "-o", preloaded, os.path.join(HERE, "fixed_random.c")])
        for commit, folder in zip((earlier, working_tree()), folders):
            binaries.append(shutil.copy(kept(git("rev-parse", "--verify", commit + "^{commit}")), folder + "/cleave"))
            notes.append("%s: %s" % (os.path.basename(folder), git("log", "-1", "--format=%h %s", commit)))

    def check(name, counting, words):
        if len(binaries) != 2:
            raise Inconclusive("there is nothing to compare", retry=False)
        old, new = count_both(binaries, counting, words, folders, preloaded)
        notes[:] = ["%s instructions, before %s: %.4f" % (f"{new.total:,}", f"{old.total:,}", new.total / old.total)]
        limit, why = ACCEPTED.get(name, (LIMIT, ""))
        if why:
            notes.append("accepted up to %s: %s" % (limit, why))
        compare(old, new, limit)

    tally.run("both commits are built", builds, lambda: notes)
    for counting, commands in ((count, WHOLE), (count_growth, RULES)):
        for name, words in commands.items():
            if arguments.only in name:
                tally.run(name, lambda name=name, words=words: check(name, counting, words), lambda: notes)
    shutil.rmtree(work)
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
