#!/usr/bin/env python3
"""Tests the gate itself: which steps a change calls for, what counts as which verdict, and that every test has a label.

  gate_test.py --build FOLDER [--only SUBSTRING]

FOLDER is a build folder.
"""
import argparse
import contextlib
import glob
import importlib.util
import io
import json
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

from verdicts import FAILED, INCONCLUSIVE, PASSED, SKIPPED, Failure, Inconclusive, Skip, Tally, need

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def load(path):
    """Loads a program of the repository as a module."""
    name = os.path.basename(path).removesuffix(".py")
    spec = importlib.util.spec_from_file_location(name, os.path.join(ROOT, path))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


gate, tidy, fuzz = load(".ci/gate.py"), load("tests/tools/tidy.py"), load("tests/fuzz/touched.py")


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
    """A change calls for the steps of its paths, an unknown path for all of them"""
    def steps(*paths):
        return gate.steps_for(paths, gate.read_map())
    same(steps("python/cleave/dask.py"), ["build-release", "release", "lint", "python"])
    same(steps("README.md"), ["build-release", "release", "interop"])
    same(steps("no/such/path"), list(gate.STEPS))
    same(steps("python/cleave/dask.py", "new"), list(gate.STEPS))
    same(steps(".ci/steps.tsv"), list(gate.STEPS))
    same(steps("src/base/json.cpp"), list(gate.STEPS))
    same(steps(), [])
    for path in ("src/cli/main.cpp", "src/kernels/avx2.cpp", "tests/cases/run.py"):
        need("gpu" not in steps(path), "%s builds CUDA" % path)
        need({"release", "asan", "tsan"} <= set(steps(path)), "%s is not tested by all builds" % path)
    for path in ("src/cli/main.cpp", "src/stage/worker.cpp", "include/cleave/stage.h", "cmake/options.cmake", "dev",
                 "tests/tools/counts.py"):
        need("counts" in steps(path), "instructions are not counted after a change of %s" % path)
    for path in ("README.md", "doc/guide/rules.md", "python/cleave/dask.py", "tests/cases/run.py", "modules/cuda/stage.cu"):
        need("counts" not in steps(path), "%s has no effect on instructions" % path)
    same(gate.counts(gate.EMPTY_TREE), [])
    same(gate.counts("1234"), [["./dev", "counts", "--against", "1234"]])
    need("gpu" in steps("modules/cuda/stage.cu") and "gpu" in steps("src/stage/compile.cpp"), "CUDA is not built")


def the_longest_row_counts(_):
    """The longest row that fits a path counts, and a step brings the builds that it needs"""
    table = {"a/": ["release"], "a/b/": ["lint"], "a/b/c": ["acceptance"], "a/d": ["fuzz"]}
    same(gate.steps_for(["a/x"], table), ["build-release", "release"])
    same(gate.steps_for(["a/b/x"], table), ["build-release", "lint"])
    same(gate.steps_for(["a/b/c"], table), ["build-release", "build-asan", "acceptance"])
    same(gate.steps_for(["a/d"], table), ["build-asan", "fuzz"])
    same(gate.steps_for(["a/dd"], table), ["build-release", "release"])


def the_base_must_be_the_parent(_):
    """.ci/base is believed only if it names the commit before the one that wrote it"""
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        def git(*words):
            done = subprocess.run(["git", "-C", folder, "-c", "user.name=a", "-c", "user.email=a@b", *words], check=True,
                                  stdout=subprocess.PIPE, text=True)
            return done.stdout.strip()

        def commit(path, text):
            os.makedirs(os.path.dirname(os.path.join(folder, path)), exist_ok=True)
            with open(os.path.join(folder, path), "w", encoding="ascii") as file:
                file.write(text)
            git("add", path)
            git("commit", "-qm", path)
            return git("rev-parse", "HEAD")
        for name, value in (("ROOT", folder), ("HERE", os.path.join(folder, ".ci"))):
            stack.callback(setattr, gate, name, getattr(gate, name))
            setattr(gate, name, value)
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
    sources = {"tests/fuzz/codec_fuzz.cpp": {"tests/fuzz/codec_fuzz.cpp", "src/io/decoder.h", "../usr/include/zlib.h"},
               "tests/fuzz/sniff_fuzz.cpp": {"tests/fuzz/sniff_fuzz.cpp", "include/cleave/dialect.h"}}

    def touched(*changed):
        return list(fuzz.touched(changed, sources, {"tests/fuzz/gzip.dict": ["codec", "gzip"]}))
    same(touched("src/io/decoder.cpp"), ["codec"])
    same(touched("src/dialect/dialect.cpp"), ["sniff"])
    same(touched("tests/fuzz/sniff_fuzz.cpp"), ["sniff"])
    same(touched("tests/fuzz/corpus/codec.tar"), ["codec"])
    same(touched("tests/fuzz/gzip.dict"), ["codec"])
    same(touched("tests/fuzz/choices.h"), ["codec", "sniff"])
    same(touched("src/write/names.cpp", "README.md", "tests/decoder.py", "src/other/zlib.cpp"), [])


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
    return result.passed, result.failed, result.skipped, result.inconclusive, len(result.opened)


def what_programs_print_is_understood(_):
    """What test programs, GoogleTest and pytest print, and how they exit"""
    def read(text, status):
        return told(gate.read_output(text, status))
    output, status, _ = tally_of(("good", lambda: None), ("no device", raising(Skip("why"))),
                                 ("busy", raising(Inconclusive("few"), 1)))
    same(status, PASSED)
    result = gate.read_output(output, status)
    same(told(result), (2, [], result.skipped, 0, 1))
    need(len(result.skipped) == 1 and result.skipped[0].startswith("no device: why"), result.skipped)
    output, status, _ = tally_of(("good", lambda: None), ("busy", raising(Inconclusive("few"))))
    same(read(output, status), (1, [], [], 1, 3))
    output, status, _ = tally_of(("bad", raising(Failure("lost"))), ("busy", raising(Inconclusive("few"))))
    result = gate.read_output(output, status)
    need(len(result.failed) == 1 and result.failed[0].startswith("bad: lost"), result.failed)
    same(read("12 passed, 0 failed\n", 0), (12, [], [], 0, 0))
    same(read("12 passed, 0 failed\n", 139), (12, ["exit status 139"], [], 0, 0))
    same(read("12 passed, 1 failed\nFAIL it\n", 0)[1], ["it", "exit status 0, although that failed"])
    same(read("no line that is known\n", 0), (1, [], [], 0, 0))
    same(read("no line that is known\n", 1), (0, ["exit status 1"], [], 0, 0))
    same(read("no reason\n", 75)[3], 1)
    same(read("no reason\n", 77), (0, [], ["all of it"], 0, 0))
    same(read("skip a: no root (0.1 s)\n0 passed, 0 failed\n", 77), (0, [], ["a: no root (0.1 s)"], 0, 0))
    same(read("[  SKIPPED ] A.B (0 ms)\n[  PASSED  ] 3 tests.\n[  SKIPPED ] 1 test, listed below:\n[  SKIPPED ] A.B\n", 0),
         (3, [], ["A.B"], 0, 0))
    same(read("[  FAILED  ] A.B, where GetParam() = 1 (0 ms)\n[  PASSED  ] 3 tests.\n", 1), (3, ["A.B"], [], 0, 0))
    same(read("SKIPPED [1] test_x.py:5: no Java\n1 passed, 0 failed\n", 0), (1, [], ["test_x.py:5: no Java"], 0, 0))


def report(status, ended="Completed", code="", value="", output=""):
    """A test as CTest reports it."""
    named = {"Exit Code": code, "Exit Value": value, "Completion Status": ended}
    rows = "".join('<NamedMeasurement name="%s"><Value>%s</Value></NamedMeasurement>' % item for item in named.items())
    return xml.etree.ElementTree.fromstring(
        '<Test Status="%s"><Name>t</Name><Results>%s<Measurement><Value>%s</Value></Measurement></Results></Test>'
        % (status, rows, output))


def what_ctest_reports_is_understood(_):
    """Tests that pass, fail, crash, hang, are skipped, could not look, or were not there"""
    def read(*words, **more):
        return told(gate.read_test(report(*words, **more)))
    same(read("passed"), (1, [], [], 0, 0))
    same(read("passed", output="7 passed, 0 failed, 0 skipped, 0 inconclusive"), (7, [], [], 0, 0))
    same(read("passed", output="skip a: b (0.1 s)\n7 passed, 0 failed"), (7, [], ["a: b (0.1 s)"], 0, 0))
    same(read("failed", code="Failed", value="1"), (0, ["exit status 1"], [], 0, 0))
    same(read("failed", code="Failed", value="75", output="open a: b"), (0, [], [], 1, 1))
    same(read("failed", code="Failed", value="75", output="open a: b\nFAIL c: d")[1:4], (["c: d"], [], 0))
    same(read("failed", code="SEGFAULT", value="0")[1], ["exit status 1", "SEGFAULT"])
    same(read("failed", ended="Timeout", code="Timeout")[1], ["exit status 1", "Timeout"])
    same(read("notrun", ended="SKIP_RETURN_CODE=77"), (0, [], ["all of it"], 0, 0))
    same(read("notrun", ended="SKIP_RETURN_CODE=77", output="skip a: b"), (0, [], ["a: b"], 0, 0))
    same(read("notrun", ended="Unable to find executable"), (0, ["not run: Unable to find executable"], [], 0, 0))


def verdict(result, skips=()):
    with contextlib.redirect_stdout(io.StringIO()) as output:
        return gate.judge({"release": result}, skips), output.getvalue().splitlines()[-1]


def the_run_is_red_for_a_fault_alone(_):
    """Red are failures, skips that are not listed, more than two checks that could not look, and a run without tests"""
    def result(passed=1, failed=(), skipped=(), inconclusive=0):
        made = gate.Result(passed)
        made.failed, made.skipped, made.inconclusive = list(failed), list(skipped), inconclusive
        made.opened = ["x"] * inconclusive
        return made
    same(verdict(result()), (True, "1 passed, 0 failed, 0 skipped"))
    same(verdict(result(passed=0)), (False, "0 passed, 0 failed, 0 skipped"))
    same(verdict(result(failed=["a"])), (False, "1 passed, 1 failed, 0 skipped"))
    same(verdict(result(inconclusive=2)), (True, "1 passed, 0 failed, 0 skipped"))
    same(verdict(result(inconclusive=3)), (False, "1 passed, 1 failed, 0 skipped"))
    same(verdict(result(skipped=["a: no root"])), (False, "1 passed, 1 failed, 1 skipped"))
    same(verdict(result(skipped=["a: no root"]), [["release", "a: no", "why"]]), (True, "1 passed, 0 failed, 1 skipped"))
    same(verdict(result(skipped=["a: no root"]), [["asan tsan", "a: no", "why"]])[0], False)


def skips_are_listed_with_reasons(_):
    """Each row of skips.tsv has steps that exist, a pattern, and a reason"""
    for row in gate.read_table("skips.tsv"):
        need(len(row) == 3 and all(row), "%s has not three fields" % row)
        need(set(row[0].split()) <= gate.STEPS.keys(), "%s: there is no such step" % row)


def every_test_has_one_label(build):
    """Every test of CTest has one label"""
    shown = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"], stdout=subprocess.PIPE, check=True)
    tests = json.loads(shown.stdout)["tests"]
    need(len(tests) > 50, "%d tests" % len(tests))
    for test in tests:
        labels = [item["value"] for item in test.get("properties", []) if item["name"] == "LABELS"]
        need(labels in (["threads"], ["memory"], ["plain"]) or labels in ([["threads"]], [["memory"]], [["plain"]]),
             "%s has the labels %s" % (test["name"], labels))


CHECKS = [every_file_is_in_the_table, steps_follow_the_paths, the_longest_row_counts, the_base_must_be_the_parent,
          targets_are_touched_by_what_they_include, targets_have_one_dictionary_each, files_are_linted_with_their_headers,
          only_what_could_not_look_is_tried_again, what_programs_print_is_understood, what_ctest_reports_is_understood,
          the_run_is_red_for_a_fault_alone, skips_are_listed_with_reasons, every_test_has_one_label]


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
