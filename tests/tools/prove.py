#!/usr/bin/env python3
"""Runs what takes too long for every change: full counts, other builds, and inputs that are new every day.

  ./dev prove [--seed N] [--again] [--list] [PART...]     these parts [all of them]

Seeds: every program that draws its inputs gets the seed of the run, which is the date (20261126) unless --seed repeats
another day. Programs that number their cases and start at a given one start at a million times the seed. If they
started at the seed itself, two consecutive days would share all cases but one.

Resuming: a part that has passed is not run again at the same commit with the same seed, so an interrupted run continues
with the remaining parts. --again runs them all. Nothing is remembered while the working tree differs from the commit.
build/prove/passed.json records what has passed.

Verdicts: the gate's own code, .ci/results.py, runs the commands. A part passes if something passed, nothing
failed and nothing was inconclusive; the log of each part is build/prove/PART.log. The table at the end is also in
build/prove/summary.txt. Exit status: 1 if a part failed, otherwise 75 if one was inconclusive, otherwise 0.
"""
import argparse
import datetime
import json
import os
import shlex
import subprocess
import sys
import time
from typing import NamedTuple

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, ".ci"))
import results  # noqa: E402


class Part(NamedTuple):
    """`builds` are the presets that are built first, with their tests. Each line of `commands` is one command: a Python
    program, ./dev, or any other program."""
    proves: str
    builds: str
    commands: str


# What commands can name in braces, besides {seed} and {jobs}: a binary, and the first of numbered cases. The slower
# binary gets the cases from {middle} on, which a run from {first} does not reach.
BINARIES = {"release": "build/release/cleave", "asan": "build/asan/cleave"}
CASES = 1000000   # per day, at most

PARTS = {
    "memory": Part("a run ends cleanly whichever requests for memory fail", "release", """
        tests/faults/memory_test.py --cleave {release} --rounds 1000 --seed {seed}"""),
    "sanitized": Part("leaks in all tests, and those that the gate runs without a sanitizer", "asan tsan", """
        env CLEAVE_TEST_ROUNDS=20 ./dev test asan
        env CLEAVE_TEST_ROUNDS=100 ./dev test asan -R ^cuda_
        ./dev test tsan -L rare
        env CLEAVE_TEST_ROUNDS=20 ./dev test tsan -R ^unit|_test$
        tests/cases/run.py --cleave {asan}
        tests/system/encodings_test.py --cleave {release} --rounds 10"""),
    "faults": Part("all or nothing, whatever fails; scripts that the gate leaves out of asan", "release asan", """
        tests/faults/input_test.py --cleave {release} --rounds 40 --seed {seed}
        tests/faults/filter_test.py --cleave {release} --rounds 20 --seed {seed}
        tests/faults/output_test.py --cleave {release} --rounds 20 --seed {seed}
        tests/faults/signals_test.py --cleave {release} --rounds 20 --seed {seed}
        tests/faults/nth_call_test.py --cleave {release} --rounds 15 --seed {seed}
        tests/faults/nth_call_test.py --cleave {asan} --rounds 2 --seed {seed}
        tests/faults/gzip_test.py --cleave {release} --rounds 10 --seed {seed}
        tests/faults/index_test.py --cleave {release} --rounds 10 --seed {seed}
        tests/faults/secrets_test.py --cleave {release} --rounds 10 --seed {seed}
        tests/faults/by_value_test.py --cleave {asan} --seed {seed}
        tests/faults/filter_test.py --cleave {asan} --seed {seed}
        tests/faults/index_test.py --cleave {asan} --seed {seed}
        tests/faults/output_test.py --cleave {asan} --seed {seed}
        tests/faults/secrets_test.py --cleave {asan} --seed {seed}
        tests/faults/signals_test.py --cleave {asan} --seed {seed}
        tests/system/clone_test.py --cleave {asan}
        tests/faults/rewritten_test.py --cleave {release} --rounds 1000 --seed {seed}
        tests/faults/ways_test.py --cleave {release} --runs 100000 --jobs {jobs} --seed {first}"""),
    "stages": Part("--select and --redact beside an oracle: 100,000 random files, and those of this machine",
                   "release asan", """
        tests/references/stages/compare.py {release} --count 100000 --jobs {jobs} --seed {first}
        tests/references/stages/json_rules.py {release} --count 100000 --jobs {jobs} --seed {first}
        tests/references/stages/json_rules.py {release} --leaks --count 100000 --jobs {jobs} --seed {first}
        tests/references/stages/json_rules.py {asan} --count 5000 --jobs {jobs} --seed {middle}
        tests/references/stages/compare.py {release} --without-stages --count 50000 --jobs {jobs} --seed {first}
        tests/references/stages/compare.py {asan} --count 5000 --jobs {jobs} --seed {middle}
        tests/references/stages/compare.py {asan} --count 2000 --seed {middle} --device build/asan/tests/plugins/libemulated_cuda_module.so
        tests/system/edges_test.py --cleave {release}
        tests/system/edges_test.py --cleave {asan}
        tests/references/stages/real_files.py {release} --seed {first}
        tests/references/stages/forbidden.py {release} --count 100000 --seed {first}
        tests/references/stages/patterns.py {release} --module build/release/tests/re2/cleave_re2.so --count 400000 --seed {first}
        tests/references/stages/classes.py {release} --count 20000 --seed {first}"""),
    "by_value": Part("--by beside an oracle: 100,000 random files, a million values, and all that can fail",
                     "release asan", """
        tests/references/byvalue/run.py {release} --count 100000 --jobs {jobs} --seed {first}
        tests/references/byvalue/run.py {asan} --count 5000 --jobs {jobs} --seed {middle}
        tests/system/json_lines_test.py --cleave {release} --lines 60000 --seed {seed}
        tests/references/byvalue/large.py {release} --records 200000 --keys 2 --seed {seed}
        tests/references/byvalue/large.py {release} --records 3000000 --keys 1000000 --seed {seed}
        tests/faults/by_value_test.py --cleave {release} --rounds 10 --seed {seed}"""),
    "ranges": Part("summaries of ranges compose: 1,000,000 random texts", "release", """
        env CLEAVE_RANGE_CASES=1000000 CLEAVE_TEST_SEED={first} build/release/tests/unit_test --gtest_filter=RangeTest.Random*
        tests/system/reach/compose_test.py --cleave {release} --count 10000 --seed {first}"""),
    "boundary": Part("the C interface for engines: every string of up to 9 bytes, cut anywhere; 100,000 random buffers; "
                     "its two files by every compiler, sanitizer and processor that is here", "release", """
        env CLEAVE_BOUNDARY_LENGTH=9 build/release/tests/unit_test --gtest_filter=*BoundaryProof*
        env CLEAVE_TEST_SEED={first} CLEAVE_TEST_ROUNDS=500 build/release/tests/unit_test --gtest_filter=BoundaryTest.Random*
        env CLEAVE_EVERY_COMPILER=1 ./dev test release -R ^amalgamation"""),
    "wasm": Part("the boundary by WebAssembly: every string of up to 7 bytes; every case that cleave-csv can run; the page in "
                 "browsers, with 5 GB", "release", """
        ./dev wasm
        tests/system/wasm/wasm_test.py --cleave {release} --length 7 --every 1 --speed --pages"""),
    "gzip": Part("gzip is read as by zlib: 100,000 streams, each damaged ten times, in order and on threads", "release", """
        env CLEAVE_GZIP_STREAMS=100000 CLEAVE_TEST_SEED={first} build/release/tests/unit_test --gtest_filter=GzipReaderTest.Random*
        env CLEAVE_GZIP_STREAMS=20000 CLEAVE_TEST_SEED={first} build/release/tests/unit_test --gtest_filter=ParallelGzipTest.*"""),
    "power": Part("what a loss of power leaves: 1,000 subsets of what was not synced, and every single loss", "release", """
        tests/faults/power_test.py --cleave {release} --rounds 50 --seed {seed}"""),
    "beyond_4g": Part("sparse inputs of more than 4 GiB, under every verb; takes up to 16 GiB of the disk", "release", """
        ./dev beyond-4g"""),
    "reach": Part("the readers for engines and object stores, with the real engines; 10,000 random files each for Polars, "
                  "Ray and PyTorch", "release", """
        env CLEAVE_READER_FILES=10000 ./dev reach-test --seed {seed}
        build/reach/venv/bin/python -B tests/system/reach/torch_test.py --cleave {release} --rounds 50 --seed {seed} --only Random"""),
    "interop": Part("the programs that people use beside cleave, chdb, dbt and PySpark among them", "release", """
        ./dev interop --large --seed {seed}"""),
    "acceptance": Part("the contract, checked from outside", "release asan", "\n".join(
        "../shared/acceptance/accept.py --cleave {%s} --seed {seed}%d" % (binary, number)
        for binary in BINARIES for number in range(1, 6))),
    "fuzz": Part("every fuzz target for ten minutes", "asan", """
        ./dev fuzz 600 {seed}"""),
    "lint": Part("formatting, pages, and clang-tidy over every file", "", """
        ./dev lint"""),
    "mutants": Part("the tests notice 200 small changes of the sources", "", """
        tests/tools/mutate.py --sample 200 --seed {seed}"""),
    "features": Part("no feature, and all but one and those that need it: what is left builds and passes", "", """
        ./dev test core
        tests/tools/without_feature.py"""),
    "debug": Part("the debug preset: -Werror, the checks of the standard library, all tests", "", """
        env CLEAVE_TEST_SEED={first} CLEAVE_TEST_ROUNDS=200 ./dev test debug"""),
    "clang": Part("clang compiles the release, tests and benchmarks without a warning; the unit tests pass", "", """
        ./dev test clang -R ^unit\\.|_test$"""),
    "counts": Part("no command and no kind of rule needs more than 1.002 times the instructions that it needed before", "", """
        ./dev counts"""),
    "coverage": Part("the tests take as many branches as the page of coverage says, which is renewed", "", """
        ./dev coverage
        tests/tools/coverage.py --page"""),
    "gpu": Part("the GPU module and its tests compile, optimised, for all architectures", "", """
        ./dev gpu"""),
    "wheels": Part("the wheels for any Linux are what pip takes, and work, for each Python that is here", "", """
        ./dev wheel --all
        ./dev wheels-test"""),
    "portable": Part("the command for any Linux, for x86-64 and arm64, gives what the cases say", "", """
        ./dev dist --test"""),
    "arm64": Part("the unit tests and the cases for arm64, under qemu; what emulation cannot do is left out by name", "", """
        ./dev test arm64"""),
    "packages": Part("the Debian packages: the same bytes twice; installed, used, upgraded and removed", "", """
        ./dev package --twice amd64 arm64
        ./dev package --test amd64 arm64
        tests/system/package_test.py --build build/packaging --cxx c++ --all-examples"""),
    "install": Part("each line of README.md that installs the command does so", "", """
        ./dev wheel
        ./dev dist
        ./dev package
        tests/system/install_test.py"""),
    "recipes": Part("Conan, buildah, Nix, rattler-build and Ruby take the recipes of packaging/", "", """
        ./dev recipes"""),
    "release": Part("two releases in two folders are the same, byte for byte, and no artefact is missing", "", """
        ./dev release --twice"""),
    "analysis": Part("the checks that lint leaves out for their time: clang's static analyzer, above all", "", """
        ./dev lint --checks=-*,clang-analyzer-*,-clang-analyzer-optin.performance.Padding,misc-static-initialization-cycle src"""),
}


def commands_of(part, seed):
    """The commands of a part, with this seed: lists of words."""
    values = {**BINARIES, "seed": seed, "first": seed * CASES, "middle": seed * CASES + CASES // 2,
              "jobs": os.cpu_count()}
    commands = []
    for line in PARTS[part].commands.strip().splitlines():
        words = shlex.split(line.format(**values))
        if words[0].endswith(".py"):
            words = [sys.executable, "-B", *words]
        commands.append(words)
    return commands


# What has passed.

class State(NamedTuple):
    """`commit` is None if the working tree has uncommitted changes."""
    commit: str
    seed: int

    def has_passed(self, part):
        row = passed_parts().get(part)
        return self.commit is not None and row is not None and (row["commit"], row["seed"]) == self

    def remember(self, part, row):
        if self.commit is None or commit_of_tree() != self.commit:
            return
        passed = {**passed_parts(), part: {"commit": self.commit, "seed": self.seed, "row": row}}
        with open(path_of("passed.json.new"), "w", encoding="utf-8") as file:
            json.dump(passed, file, indent=1)
        os.replace(path_of("passed.json.new"), path_of("passed.json"))


def path_of(name):
    return os.path.join(ROOT, "build", "prove", name)


def passed_parts():
    """{part: commit, seed and row of the table} of each part's last pass. Empty if the file is missing or damaged."""
    try:
        with open(path_of("passed.json"), encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError):
        return {}


def commit_of_tree():
    """The commit that the working tree equals, or None."""
    def git(*words):
        return subprocess.run(["git", "-C", ROOT, *words], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    return None if git("status", "--porcelain") else git("rev-parse", "HEAD")


# Running.

def run_command(words, log):
    """Runs a command, with its output in the log, and returns its results.Result."""
    shown = shlex.join(words[2:] if words[0] == sys.executable else words)
    log.write("$ %s\n" % shown)
    missing = next((word for word in words if word.startswith("../")), None)
    if missing and not os.path.exists(os.path.join(ROOT, missing)):
        return results.Result(skipped=["there is no " + missing])
    result = results.Result()
    result.add(results.run_command(words, log.write, ROOT)[0], shown + ": ")
    return result


def run_part(part, seed):
    """Runs a part and returns its results.Result. Builds first; no command runs if a build has failed."""
    result = results.Result()
    with open(path_of(part + ".log"), "w", encoding="utf-8", buffering=1) as log:
        for preset in PARTS[part].builds.split():
            built = run_command(["./dev", "build-tests", preset], log)
            if built.failed:
                result.add(built)
                return result
        for words in commands_of(part, seed):
            result.add(run_command(words, log))
    return result


def is_good(result):
    return result.passed > 0 and not result.failed and not result.inconclusive


COLUMNS = "part seed minutes passed failed skipped inconclusive".split()


def table_of(rows, left):
    """The summary as text. Rows of an earlier run are marked; `left` are the parts without a row."""
    lines = ["%-12s%10s%9s%10s%8s%9s%14s" % tuple(COLUMNS)]
    for row, earlier in rows:
        lines.append("%-12s%10d%9.1f%10d%8d%9d%14d" % tuple(row[name] for name in COLUMNS)
                     + ("   earlier" if earlier else ""))
    return "\n".join(lines + ["%-12snot run" % part for part in left]) + "\n"


def run_parts(parts, seed, again):
    """Runs the parts that have not passed yet, prints how each went, and returns the exit status."""
    os.makedirs(path_of(""), exist_ok=True)
    state = State(commit_of_tree(), seed)
    print("seed %d, %s" % (seed, "commit %.12s" % state.commit if state.commit else
                           "and changes that are not committed: nothing is remembered"), flush=True)
    rows, left, failed, inconclusive = [], list(parts), [], []
    try:
        for part in parts:
            if state.has_passed(part) and not again:
                rows.append((passed_parts()[part]["row"], True))
                left.remove(part)
                continue
            print("== %s begins at %s: %s" % (part, time.strftime("%H:%M"), PARTS[part].proves), flush=True)
            began = time.monotonic()
            result = run_part(part, seed)
            row = dict(zip(COLUMNS, (part, seed, (time.monotonic() - began) / 60, result.passed, len(result.failed),
                                     len(result.skipped), result.inconclusive)))
            rows.append((row, False))
            left.remove(part)
            if is_good(result):
                state.remember(part, row)
            failed += [part + ": " + name for name in result.failed]
            if not result.passed and not result.inconclusive and not result.failed and not result.skipped:
                failed.append(part + ": nothing was checked")
            inconclusive += [part + ": " + name for name in result.opened] if result.inconclusive else []
            for kind, names in (("FAIL", result.failed), ("open", result.opened), ("skip", result.skipped)):
                print("".join("%s %s\n" % (kind, name) for name in names), end="")
            print("== %s ends after %.1f min; %s" % (part, row["minutes"], path_of(part + ".log")), flush=True)
    finally:   # an interrupted run prints its table too
        table = table_of(rows, left)
        print(table, end="", flush=True)
        with open(path_of("summary.txt"), "w", encoding="utf-8") as file:
            file.write(table)
    return 1 if failed else results.INCONCLUSIVE if inconclusive else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART")
    parser.add_argument("--seed", type=int, default=int(datetime.date.today().strftime("%Y%m%d")), metavar="N",
                        help="repeats the inputs of another day [the date]")
    parser.add_argument("--again", action="store_true", help="run parts that have passed, too")
    parser.add_argument("--list", action="store_true", help="print the parts and their commands; run nothing")
    arguments = parser.parse_args()
    unknown = [part for part in arguments.parts if part not in PARTS]
    if unknown:
        parser.error("there is no part %s; the parts are %s" % (unknown[0], ", ".join(PARTS)))
    parts = arguments.parts or list(PARTS)
    if not arguments.list:
        try:
            return run_parts(parts, arguments.seed, arguments.again)
        except KeyboardInterrupt:
            return 130
    for part in parts:
        print("%s: %s" % (part, PARTS[part].proves))
        for words in commands_of(part, arguments.seed):
            print("    " + shlex.join(words[2:] if words[0] == sys.executable else words))
    return 0


if __name__ == "__main__":
    sys.exit(main())
