#!/usr/bin/env python3
"""Tests the gate itself: which steps a change calls for, what counts as which verdict, and that every test has a label.

  gate_test.py --build FOLDER [--only SUBSTRING]

FOLDER is a build folder.
"""
import argparse
import contextlib
import fcntl
import glob
import io
import json
import os
import subprocess
import sys
import tempfile
from unittest.mock import patch

from verdicts import FAILED, INCONCLUSIVE, PASSED, SKIPPED, Failure, Inconclusive, Skip, Tally, need

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


sys.path[:0] = [os.path.join(ROOT, ".ci"), os.path.join(ROOT, "tests", "fuzz")]
import gate     # noqa: E402
import tidy     # noqa: E402
import touched as fuzz   # noqa: E402
from results import Result, read_output, run_command   # noqa: E402


def same(found, wanted):
    need(found == wanted, "%r, but %r is wanted" % (found, wanted))


# Which steps.

def every_file_is_in_the_table(_):
    """Every file of the repository has a row, and every row has a file and names steps"""
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-z"], stdout=subprocess.PIPE, text=True)
    if listed.returncode != 0:
        raise Skip("this is not a clone")
    paths, table = listed.stdout.split("\0")[:-1], gate.read_map()
    rows = {path: [row for row in table if path == row or row.endswith("/") and path.startswith(row)] for path in paths}
    without = [path for path in paths if not rows[path]]
    need(not without, "without a row: %s" % without[:5])
    unused = [row for row in table if not any(row in found for found in rows.values())]
    need(not unused, "no file has the row: %s" % unused)
    unknown = {step for steps in table.values() for step in steps} - gate.STEPS.keys()
    need(not unknown, "there are no such steps: %s" % unknown)
    without = [row for row, steps in table.items() if "release" not in steps]
    need(not without, "the tests are not run after a change of %s" % without)


def steps_follow_the_paths(_):
    """A change calls for the steps of its paths, and an unknown path for all of them; the longest match counts"""
    def steps(*paths):
        return gate.steps_for(paths, gate.read_map())
    same(steps("python/cleave/dask.py"), ["build-release", "release", "python", "lint"])
    same(steps("README.md"), ["build-release", "release", "interop"])
    same(steps("python/cleave/dask.py", "new"), list(gate.STEPS))
    same(steps("src/base/json.cpp"), list(gate.STEPS))
    same(steps(), [])
    for path in ("src/cli/main.cpp", "src/core/kernels/avx2.cpp", "tests/cases/run.py"):
        need("gpu" not in steps(path), "%s builds CUDA" % path)
        need({"release", "asan", "tsan"} <= set(steps(path)), "%s is not tested by all builds" % path)
    for step, path, wanted in (("counts", "src/cli/main.cpp", True), ("counts", "cmake/options.cmake", True),
                               ("counts", "tests/tools/counts.py", True), ("counts", "doc/guide/rules.md", False),
                               ("counts", "modules/cuda/stage.cu", False), ("gpu", "modules/cuda/stage.cu", True),
                               ("gpu", "src/features/redact/stage/compile.cpp", True)):
        need((step in steps(path)) == wanted, "%s after a change of %s: not %s" % (step, path, wanted))
    table = {"a/": ["release"], "a/b/": ["lint"], "a/b/c": ["acceptance"], "a/d": ["fuzz"]}
    same(gate.steps_for(["a/x"], table), ["build-release", "release"])
    same(gate.steps_for(["a/b/x"], table), ["build-release", "lint"])
    same(gate.steps_for(["a/b/c"], table), ["build-release", "build-asan", "acceptance"])
    same(gate.steps_for(["a/dd"], table), ["build-release", "release"])


def the_base_must_be_the_parent(_):
    """.ci/base is believed only if it names the commit before the one that wrote it"""
    with tempfile.TemporaryDirectory() as folder, patch.multiple(gate, ROOT=folder, HERE=folder + "/.ci"):
        def git(*words):
            return subprocess.check_output(["git", "-C", folder, "-c", "user.name=a", "-c", "user.email=a@b", *words],
                                           text=True).strip()

        def commit(path, text):
            os.makedirs(folder + "/.ci", exist_ok=True)
            with open(os.path.join(folder, path), "w", encoding="ascii") as file:
                file.write(text)
            git("add", path)
            git("commit", "-qm", path)
            return git("rev-parse", "HEAD")
        git("init", "-q")
        first = commit("x", "1")
        same(gate.find_base(), (gate.EMPTY_TREE, "there is no .ci/base"))
        commit(".ci/base", first + "\n")
        same(gate.find_base(), (first, None))
        later = commit("x", "2")
        same(gate.find_base(), (first, None))
        commit("x", "3")
        commit(".ci/base", later + "\n")   # otherwise one commit would never be checked
        need(gate.find_base()[0] == gate.EMPTY_TREE and "between" in gate.find_base()[1], "%s" % (gate.find_base(),))
        commit(".ci/base", "no commit\n")
        need(gate.find_base()[0] == gate.EMPTY_TREE, "a name that is not a commit is believed")


def targets_are_touched_by_what_they_include(_):
    """A fuzz target is touched by its corpus, its dictionary, its headers and their sources, and by nothing else"""
    sources = {"tests/fuzz/codec_fuzz.cpp": {"tests/fuzz/codec_fuzz.cpp", "src/features/compressed/decoder.h",
                                             "../usr/include/zlib.h"},
               "tests/fuzz/sniff_fuzz.cpp": {"tests/fuzz/sniff_fuzz.cpp", "include/cleave/dialect.h"}}
    for changed, touched in (
            ("src/features/compressed/decoder.cpp", ["codec"]), ("src/core/dialect/dialect.cpp", ["sniff"]),
            ("tests/fuzz/gzip.dict", ["codec"]), ("tests/fuzz/sniff_fuzz.cpp", ["sniff"]),
            ("tests/fuzz/corpus/codec.tar", ["codec"]), ("tests/fuzz/choices.h", ["codec", "sniff"]),
            ("src/core/writer/names.cpp", []), ("README.md", []), ("tests/decoder.py", []), ("src/other/zlib.cpp", [])):
        same(list(fuzz.touched([changed], sources, {"tests/fuzz/gzip.dict": ["codec", "gzip"]})), touched)


def targets_have_one_dictionary_each(_):
    """Every fuzz target is named by one dictionary, and no dictionary names anything else"""
    targets = [os.path.basename(path).removesuffix("_fuzz.cpp")
               for path in glob.glob(os.path.join(ROOT, "tests/fuzz/*_fuzz.cpp"))]
    named = [name for path in glob.glob(os.path.join(ROOT, "tests/fuzz/*.dict")) for name in fuzz.targets_of(path)]
    same(sorted(named), sorted(targets))


def files_are_linted_with_their_headers(_):
    """A source is linted if it has changed, or a header that it includes, or the rules of the linter"""
    one, two = os.path.join(ROOT, "src/a.cpp"), os.path.join(ROOT, "src/b.cpp")
    header = os.path.join(ROOT, "src/a.h")
    commands, known = {one: {}, two: {}}, {one: {one, header}, two: {two}}
    same(list(tidy.touched_by(["src/a.h"], commands, known)), [one])
    same(list(tidy.touched_by(["src/b.cpp"], commands, known)), [two])
    same(list(tidy.touched_by(["README.md"], commands, known)), [])
    same(list(tidy.touched_by([".clang-tidy"], commands, known)), [one, two])


# Which verdict.

def tally_of(*checks):
    """Runs a program with these checks. Returns its output, its exit status and the calls."""
    calls = []

    def counted(name, check):
        calls.append(name)
        check()
    output, tally = io.StringIO(), Tally()
    with contextlib.redirect_stdout(output):
        for name, check in checks:
            tally.run(name, lambda name=name, check=check: counted(name, check))
        status = tally.close()
    return output.getvalue(), status, calls


def raising(error, times=99):
    """A check that raises that many times, and then passes."""
    left = [times]

    def check():
        left[0] -= 1
        if left[0] >= 0:
            raise error
    return check


def only_what_could_not_look_is_tried_again(_):
    """What could not look is tried again twice at most; a failure and a skip never are"""
    passing = ("passing", lambda: None)
    same(tally_of(passing)[1:], (PASSED, ["passing"]))
    same(tally_of(("a", raising(Failure("x"), 1)))[1:], (FAILED, ["a"]))
    same(tally_of(("a", raising(ZeroDivisionError(), 1)))[1:], (FAILED, ["a"]))
    same(tally_of(("a", raising(Skip("x"))))[1:], (SKIPPED, ["a"]))
    same(tally_of(("a", raising(Skip("x"))), passing)[1:], (PASSED, ["a", "passing"]))
    same(tally_of(("a", raising(Inconclusive("x"), 1)))[1:], (PASSED, ["a", "a"]))
    same(tally_of(("a", raising(Inconclusive("x"), 2)))[1:], (PASSED, ["a", "a", "a"]))
    same(tally_of(("a", raising(Inconclusive("x"), 3)), passing)[1:], (INCONCLUSIVE, ["a", "a", "a", "passing"]))
    same(tally_of(("a", raising(Inconclusive("x", retry=False))))[1:], (INCONCLUSIVE, ["a"]))
    same(tally_of(("a", raising(Inconclusive("x"))), ("b", raising(Failure("y"))))[1], FAILED)


def told(result):
    return result.passed, result.failed, result.skipped, result.inconclusive


def what_programs_print_is_understood(_):
    """What test programs print, and how they exit"""
    def read(text, status):
        return told(read_output(text, status))
    for checks, wanted, said in (
            ([("good", lambda: None), ("x", raising(Skip("why"))), ("y", raising(Inconclusive("few"), 1))],
             (2, [], ["x: why"], 0), 1),
            ([("good", lambda: None), ("x", raising(Inconclusive("few")))], (1, [], [], 1), 3),
            ([("x", raising(Failure("lost"))), ("y", raising(Inconclusive("few")))], (0, ["x: lost"], [], 0), 3)):
        result = read_output(*tally_of(*checks)[:2])
        for names in (result.failed, result.skipped):
            names[:] = [name.partition(" (")[0] for name in names]   # the time
        same((told(result), len(result.opened)), (wanted, said))
    closing = "3 passed, 0 failed, 0 skipped, 1 inconclusive"
    same(read(closing, 139), (3, ["exit status 139; the last line: " + closing], [], 0))
    same(read("12 passed, 1 failed\nFAIL it\n", 0)[1], ["it", "exit status 0, although that failed"])
    same(read("12 passed, 1 failed\n", 0)[1], ["exit status 0, although that failed"])
    same(read("something else\n", 0), (1, [], [], 0))
    same(read("something else\n", 1)[1], ["exit status 1; the last line: something else"])
    same(read("something else\n", 75), (0, [], [], 1))
    same(read("something else\n", 77), (0, [], ["all of it"], 0))


def command_in(folder, script, *words, show=lambda line: None, **limit):
    """The Result of ./dev in that folder, which is this script."""
    with open(os.path.join(folder, "dev"), "w", encoding="ascii") as file:
        file.write("#!/bin/sh\n%s\n" % script)
    os.chmod(file.name, 0o755)
    return run_command(["./dev", *words], show, folder, **limit)[0]


def gtest(name, more="", end="</testsuites>"):
    """A script that writes the JUnit file of a GoogleTest program."""
    return r"""printf '<testsuites><testcase classname="S" name="Good/0" status="run"/>
        <testcase classname="S" name="Off" status="notrun"/><testcase classname="S" name="No" status="run">
        <skipped message="x.cpp:1&#10;no root"/></testcase>%s%s' >${GTEST_OUTPUT#xml:}%s.xml; """ % (more, end, name)


BAD = r'<testcase classname="S" name="Bad" status="run"><failure message="\351"/><failure/></testcase>'
NO_ROOT = ["S.No: no root"]
CTESTS = {   # {a test of CTest: a script, and what is told of it: passed, failed, skipped, inconclusive}
    "good": ("echo 7 passed, 0 failed, 0 skipped, 0 inconclusive", 7, [], [], 0),
    "silent": ("true", 1, [], [], 0),
    "partly": ("echo skip a: b; echo 7 passed, 0 failed", 7, [], ["a: b"], 0),
    "nothing": ("echo 0 passed, 0 failed", 0, ["it checked nothing"], [], 0),
    "bad": ("echo why; exit 1", 0, ["it failed; the last line: why"], [], 0),
    "named": ("echo FAIL c: d; echo 2 passed, 1 failed; exit 1", 2, ["c: d"], [], 0),
    "open": ("echo open a: b; echo 2 passed, 0 failed, 0 skipped, 1 inconclusive; exit 75", 2, [], [], 1),
    "both": ("echo FAIL c: d; echo 0 passed, 1 failed, 0 skipped, 1 inconclusive; exit 1", 0, ["c: d"], [], 0),
    "crash": ("echo open a: b; kill -SEGV $$", 0, ["it failed; the last line: open a: b"], [], 0),
    "late": ("exec sleep 60", 0, ["it failed; the last line: "], [], 0),
    "skipped": ("exit 77", 0, [], ["all of it"], 0),
    "reason": ("echo skip a: b; exit 77", 0, [], ["a: b"], 0),
    "long": ("seq 200000; echo 5 passed, 0 failed", 5, [], [], 0),
    "unit_test": (gtest("unit_test"), 1, [], NO_ROOT, 0),
    "bad_test": (gtest("bad_test", BAD) + "exit 1", 1, ["S.Bad"], NO_ROOT, 0),
    "torn_test": (gtest("torn_test", end=""), 0, ["torn_test.xml.no element found: line 3, column 59",
                                                  "exit status 0, although that failed"], [], 0),
    "leak_test": (gtest("leak_test") + "echo ABORTING; exit 23", 1, ["it failed; the last line: ABORTING"], NO_ROOT, 0),
    "absent": (None, 0, ["not run: Unable to find executable"], [], 0),
}


def what_ctest_reports_is_understood(_):
    """Tests of CTest that pass, fail, crash, hang, are skipped, could not look, or are not there"""
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "CTestTestfile.cmake"), "w", encoding="ascii") as file:
            for name, (script, *_) in CTESTS.items():
                words = "sh -c [==[%s]==]" % script if script else "/no/such/program"
                file.write("add_test(%s %s)\nset_tests_properties(%s PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT %d)\n"
                           % (name, words, name, 1 if name == "late" else 600))
        result = command_in(folder, 'shift 2; exec ctest -j 4 --test-dir . "$@"', "test", "x")
        for name, (_, _, *wanted, _) in CTESTS.items():
            found = [[line.removeprefix(name + ": ") for line in lines if line.startswith(name + ": ")]
                     for lines in (result.failed, result.skipped)]
            need(found == wanted, "%s: %s" % (name, found))
        same((result.passed, result.inconclusive), tuple(sum(row[at] for row in CTESTS.values()) for at in (1, 4)))
        same((len(result.times), max(result.times)[1]), (len(CTESTS), "late"))
        same(command_in(folder, "echo why; exit 1", "test", "x").failed, ["exit status 1; the last line: why"])
        same(command_in(folder, "true", "test", "x").failed, ["it failed; the last line: "])
        same(told(command_in(folder, gtest("x", BAD) + "exit 1", "x")), (1, ["S.Bad"], NO_ROOT, 0))


def output_comes_at_once(_):
    """A command's lines are shown while it runs; at its limit its whole process group is killed"""
    with tempfile.TemporaryDirectory() as folder:
        def show(line):
            with open(os.path.join(folder, line.strip()), "w", encoding="ascii"):
                pass
        command_in(folder, "echo first; until [ -e first ]; do sleep 0.01; done; echo second", show=show, seconds=120)
        need(os.path.exists(os.path.join(folder, "second")), "the second line was not shown")
        result = command_in(folder, "flock lock sh -c 'sleep 20; echo left >lock' & wait", seconds=1)
        same(result.failed[1:], ["killed after 1 s, the time limit: ./dev"])
        with open(os.path.join(folder, "lock"), "a+", encoding="ascii") as file:
            fcntl.flock(file, fcntl.LOCK_EX)   # waits for those that were killed
            same(os.path.getsize(file.name), 0)


def steps_run_in_order(_):
    """One step compiles at a time; a step waits for what it needs, is not run if that failed, and has a time limit"""
    done = gate.STEPS.keys()
    for wanted, step, running, ended in (
            (True, "release", ["build-asan"], done), (False, "release", ["build-asan"], {"build-asan"}),
            (False, "lint", ["build-asan"], done), (False, "counts", ["gpu"], done), (False, "python", ["lint"], done),
            (False, "interop", ["python"], done), (False, "fuzz", ["release", "asan"], done)):
        need(gate.may_start(step, running, ended) == wanted, "%s beside %s: not %s" % (step, running, wanted))
    steps = {"bad": gate.Step("", "", 1, "sh -c 'echo FAIL x; exit 1'"), "unrun": gate.Step("bad", "", 1, "true"),
             "late": gate.Step("", "", 1 / 60, "sleep 60\n../no/such/program"),
             "good": gate.Step("", "", 1, "echo {base}\nfalse")}
    with patch.object(gate, "STEPS", steps), contextlib.redirect_stdout(io.StringIO()) as output:
        found = gate.run_steps(list(steps), "1234")
    same(told(found["bad"]), (0, ["x"], [], 0))
    same(told(found["unrun"]), (0, [], [], 0))
    same(found["late"].failed[1:], ["killed after 1 s, the time limit: sleep 60"])
    same((found["good"].passed, len(found["good"].failed)), (1, 1))
    need("\ngood| 1234\n" in output.getvalue(), output.getvalue())


def the_run_is_red_for_a_fault_alone(_):
    """Red are failures, skips that are not listed, more than two checks that could not look, and a run without tests"""
    skip = Result(1, skipped=["a: no root"])
    for result, skips, wanted in ((Result(1), [], "1 passed, 0 failed, 0 skipped"),
                                  (Result(0), [], "0 passed, 0 failed, 0 skipped"),
                                  (Result(1, ["a"]), [], "1 passed, 1 failed, 0 skipped"),
                                  (Result(1, inconclusive=2), [], "1 passed, 0 failed, 0 skipped"),
                                  (Result(1, inconclusive=3), [], "1 passed, 1 failed, 0 skipped"),
                                  (skip, [["asan release", "a: no", "why"]], "1 passed, 0 failed, 1 skipped"),
                                  (skip, [["asan tsan", "a: no", "why"]], "1 passed, 1 failed, 1 skipped")):
        with contextlib.redirect_stdout(io.StringIO()) as output:
            same(gate.judge({"release": result}, skips), wanted.startswith("1 passed, 0 failed"))
        same(output.getvalue().splitlines()[-1], wanted)


def skips_are_listed_with_reasons(_):
    """Each row of skips.tsv has steps that exist, a pattern, and a reason"""
    for row in gate.read_table("skips.tsv"):
        need(len(row) == 3 and all(row), "%s has not three fields" % row)
        need(set(row[0].split()) <= gate.STEPS.keys(), "%s: there is no such step" % row)


def tests_are_labelled(build):
    """Every test of CTest has one label that says which builds run it; "rare" and "clock" may come in addition"""
    shown = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"], stdout=subprocess.PIPE, check=True)
    tests = json.loads(shown.stdout)["tests"]
    need(len(tests) > 50, "%d tests" % len(tests))
    for test in tests:
        labels, = [item["value"] for item in test["properties"] if item["name"] == "LABELS"]
        builds = set(labels) - {"clock", "rare"}
        need(builds in ({"threads"}, {"memory"}, {"plain"}), "%s has the labels %s" % (test["name"], labels))
        need(builds != {"plain"} or "rare" not in labels, "%s never runs sanitized anyway" % test["name"])


CHECKS = [
    every_file_is_in_the_table, steps_follow_the_paths, the_base_must_be_the_parent, steps_run_in_order,
    targets_are_touched_by_what_they_include, targets_have_one_dictionary_each, files_are_linted_with_their_headers,
    only_what_could_not_look_is_tried_again, what_programs_print_is_understood, what_ctest_reports_is_understood,
    output_comes_at_once, the_run_is_red_for_a_fault_alone, skips_are_listed_with_reasons, tests_are_labelled]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, metavar="FOLDER", help="of a build")
    parser.add_argument("--only", default="", metavar="SUBSTRING", help="of a check's name")
    arguments = parser.parse_args()
    tally = Tally()
    for check in CHECKS:
        if arguments.only in check.__doc__:
            tally.run(check.__doc__, lambda check=check: check(arguments.build))
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
