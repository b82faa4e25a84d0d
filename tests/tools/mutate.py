#!/usr/bin/env python3
"""Change the sources in one small place at a time, and see whether a unit test notices.

  mutate.py [--files FILE...] [--sample N] [--seed N] [--allowed N] [--timeout SECONDS] [--report FILE] [--list]

Works on a copy of the tree in build/mutate, built without optimisations that matter and with the scalar kernel alone:
the rest of the scan is the same source for all kernels. A mutant is killed by the first test that fails or runs out of
time. One that survives is either the same program in other words, or a test that is missing. Exit: 0 if no more than
--allowed have survived and at least one was killed, 1 otherwise.
"""
import argparse
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
TREE = ROOT / "build/mutate/tree"
BUILD = ROOT / "build/mutate/build"
MEMORY_LIMIT = 4 << 30  # a mutant may well take all there is

FILES = [
    "src/dialect/state_machine.cpp", "src/kernels/step.h", "src/plan/cut_stream.cpp", "src/plan/limits.h",
    "src/plan/plan.cpp", "src/scan/carry.cpp", "src/scan/examine.cpp", "src/scan/census.cpp", "src/scan/excerpt.cpp",
    "src/scan/index.cpp", "src/scan/locator.cpp", "src/scan/rescan.cpp", "src/scan/summarise.cpp",
    "src/scan/walker.cpp"]

# Which tests concern a folder, or a file of it alone, those first that kill soonest: (binary, GoogleTest's filter).
QUICK_INDEX = ("index_test", "RecordIndex.*:*ReadsDenseNoise*")
TESTS = {
    "src/dialect": [("dialect_test", "*"), QUICK_INDEX, ("stream_test", "Scan.*"), ("index_test", "*")],
    "src/kernels": [("kernel_test", "*AllSizes*:*SummariesCompose*:*LanesAsOneByOne*"), ("kernel_test", "*"),
                    ("kernel_edge_test", "*"), ("proof_test", "*"), QUICK_INDEX, ("index_test", "*")],
    "src/plan": [("plan_test", "*OfAlmostNothing*:*AtTheByte*"), ("aligned_cuts_test", "*OfAlmostNothing*:*AtTheByte*"),
                 ("plan_test", "*"), ("aligned_cuts_test", "*")],
    "src/scan": [QUICK_INDEX, ("index_test", "-ThreadsTest.*"), ("stream_test", "Scan.*"), ("plan_test", "*"),
                 ("index_test", "ThreadsTest.*")],
    **dict.fromkeys(["src/scan/examine.cpp", "src/scan/census.cpp", "src/scan/excerpt.cpp"],
                    [("examine_test", "-*TheSameByEveryMachine"), ("examine_test", "*TheSameByEveryMachine")]),
}

# What is replaced by what. Operators stand between blanks, as clang-format writes them; templates do not.
REPLACEMENTS = [
    (r" < ", " <= "), (r" <= ", " < "), (r" > ", " >= "), (r" >= ", " > "), (r" == ", " != "), (r" != ", " == "),
    (r" \+ ", " - "), (r" - ", " + "), (r" \* ", " / "), (r" / ", " * "), (r" % ", " / "),
    (r" && ", " || "), (r" \|\| ", " && "), (r" & ", " | "), (r" \| ", " & "), (r" \^ ", " | "),
    (r" << ", " >> "), (r" >> ", " << "),
    (r" \+= ", " -= "), (r" -= ", " += "), (r" &= ", " |= "), (r" \|= ", " &= "), (r" \^= ", " |= "),
    (r" \*= ", " += "), (r"\+\+", "--"), (r"--", "++"),
    (r" [+-] 1\b(?!')", ""),
    (r"(?<![=!<>])!(?=[\w(])", ""), (r"~(?=[\w(])", ""),
    (r"\btrue\b", "false"), (r"\bfalse\b", "true"),
    (r"(?<![\w.'])0(?![\w.'])", "1"), (r"(?<![\w.'])1(?![\w.'])", "0"),
    (r"\bstd::min\b", "std::max"), (r"\bstd::max\b", "std::min"),
    (r"\blower_bound\b", "upper_bound"), (r"\bupper_bound\b", "lower_bound"),
    (r"\bif \((?=.*\) (?:return|break|continue)\b)", "if (false) if ("),
    (r"\b(?:break|continue|return);", ";"),
]
NOT_CODE = re.compile(r"^\s*(#|//|static_assert|assert\(|namespace |using |template )|\bassert\(")


class Mutant(NamedTuple):
    file: str
    line: int  # from 1
    before: str
    after: str

    def __str__(self):
        return "%s:%d\n  - %s\n  + %s" % (self.file, self.line, self.before.strip(), self.after.strip())


def code_part(line):
    """The line without its comment and with nothing in its literals."""
    line = re.sub(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)+\'', lambda match: "\0" * len(match.group()), line)
    return line.split("//")[0]


def mutants_of(file):
    for number, line in enumerate((ROOT / file).read_text().split("\n"), 1):
        if NOT_CODE.search(line):
            continue
        seen = {line}
        code = code_part(line)
        for pattern, replacement in REPLACEMENTS:
            for match in re.finditer(pattern, code):
                mutated = line[:match.start()] + replacement + line[match.end():]
                if mutated not in seen:
                    seen.add(mutated)
                    yield Mutant(file, number, line, mutated)


def run(command, timeout=None):
    """The exit code and the output; None if time ran out."""
    limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT, MEMORY_LIMIT)) if timeout else None
    with subprocess.Popen(command, cwd=BUILD, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", start_new_session=True, preexec_fn=limit) as process:
        try:
            output, _ = process.communicate(timeout=timeout)
            return process.returncode, output
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return None, ""


def tests_for(file):
    return TESTS.get(file) or TESTS[str(Path(file).parent)]


def build(file):
    binaries = sorted({"tests/" + binary for binary, _ in tests_for(file)})
    code, output = run(["ninja", *binaries])
    return code == 0, output


def run_tests(file, timeout):
    """What kills: a test's name, or 'timeout'; None if all pass."""
    for binary, test_filter in tests_for(file):
        code, output = run(["tests/" + binary, "--gtest_brief=1", "--gtest_fail_fast", "--gtest_filter=" + test_filter],
                           timeout)
        if code is None:
            return "timeout in " + binary
        if code != 0:
            failed = re.search(r"\[  FAILED  \] ([^\s,]+)", output)
            return failed.group(1) if failed else "%s ends with %d" % (binary, code)
    return None


def prepare():
    """Brings the copy up to date, touching only what is different, and configures it."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in filter(None, listed.split("\0")):
        source, target = ROOT / name, TREE / name
        if not source.is_file() or (target.is_file() and target.read_bytes() == source.read_bytes()):
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
    # A processor without a name has the scalar kernel only; SIMDe would bring another one.
    subprocess.run(["cmake", "-S", TREE, "-B", BUILD, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Debug",
                    "-DCMAKE_CXX_FLAGS=-O1 -g0 -D_GLIBCXX_ASSERTIONS", "-DCMAKE_SYSTEM_NAME=Linux",
                    "-DCMAKE_SYSTEM_PROCESSOR=none", "-DSIMDE_INCLUDE_DIR=OFF",
                    "-DCMAKE_GTEST_DISCOVER_TESTS_DISCOVERY_MODE=PRE_TEST"], check=True, stdout=subprocess.DEVNULL)


def try_mutant(mutant, timeout):
    """'killed', 'survived' or 'did not compile', and by what it was killed."""
    path = TREE / mutant.file
    original = path.read_text()
    lines = original.split("\n")
    lines[mutant.line - 1] = mutant.after
    path.write_text("\n".join(lines))
    try:
        if not build(mutant.file)[0]:
            return "did not compile", ""
        killer = run_tests(mutant.file, timeout)
        return ("killed", killer) if killer else ("survived", "")
    finally:
        path.write_text(original)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", nargs="+", default=FILES, metavar="FILE")
    parser.add_argument("--sample", type=int, metavar="N", help="N mutants, picked at random [all]")
    parser.add_argument("--seed", type=int, default=1, help="of the sample [1]")
    parser.add_argument("--allowed", type=int, default=0, metavar="N", help="how many may survive [0]")
    parser.add_argument("--timeout", type=float, default=120, metavar="SECONDS", help="for one run of a test [120]")
    parser.add_argument("--report", type=Path, metavar="FILE", help="write every mutant and what became of it there")
    parser.add_argument("--list", action="store_true", help="print the mutants, try none")
    arguments = parser.parse_args()

    mutants = [mutant for file in arguments.files for mutant in mutants_of(file)]
    if arguments.sample and arguments.sample < len(mutants):
        chosen = random.Random(arguments.seed).sample(range(len(mutants)), arguments.sample)
        mutants = [mutants[i] for i in sorted(chosen)]
    if arguments.list:
        print(*mutants, sep="\n")
        print("%d mutants" % len(mutants))
        return 0

    prepare()
    for file in {str(tests_for(mutant.file)): mutant.file for mutant in mutants}.values():
        good, output = build(file)
        killer = run_tests(file, arguments.timeout) if good else output
        if killer:
            sys.exit("without a change: " + killer)

    outcomes = {"killed": [], "survived": [], "did not compile": []}
    report = arguments.report.open("w") if arguments.report else None
    for number, mutant in enumerate(mutants, 1):
        start = time.monotonic()
        outcome, killer = try_mutant(mutant, arguments.timeout)
        outcomes[outcome].append(mutant)
        line = "%s%s, %.0f s" % (outcome, " by " + killer if killer else "", time.monotonic() - start)
        print("[%d/%d] %s: %s" % (number, len(mutants), mutant, line), flush=True)
        if report:
            print("%s: %s" % (mutant, line), file=report, flush=True)
    survivors = outcomes["survived"]
    print("\nSurvivors:", *survivors, sep="\n")
    print(", ".join("%d %s" % (len(found), outcome) for outcome, found in outcomes.items()))
    if len(survivors) > arguments.allowed:
        print("%d survivors, but %d are allowed" % (len(survivors), arguments.allowed))
    elif not outcomes["killed"]:
        print("no mutant was killed")
    return int(len(survivors) > arguments.allowed or not outcomes["killed"])


if __name__ == "__main__":
    sys.exit(main())
