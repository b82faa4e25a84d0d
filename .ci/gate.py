#!/usr/bin/env python3
"""The gate: judges a change by running the steps that its paths call for. Only a fault turns it red.

  gate.py [STEP...]    runs these steps [those that steps.tsv gives for the change; all of them where CI_ALL=1]

The change is the difference from the commit in .ci/base, the newest one that has landed. If that file cannot be
trusted, the change is the whole tree. steps.tsv maps paths to steps; a path that it does not list calls for all of
them.

The output of a step (GoogleTest, pytest, tests/tools/verdicts.py) is read line by line, and CTest's report for its
tests:
  passed        counted
  failed        named at the end; the gate fails. A failure is never retried.
  skipped       named in skips.tsv, otherwise the gate fails. It does not count as passed.
  inconclusive  the check could not be carried out, even after another try. Listed in the ledger, with the checks that
                another try settled. More than two in a run fail the gate.
The last line is "N passed, N failed, N skipped".
"""
import concurrent.futures
import glob
import os
import re
import subprocess
import sys
import time
import xml.etree.ElementTree
from typing import Callable, NamedTuple

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
SHARED = os.path.join(ROOT, "..", "shared")
EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"   # Git's name for a tree without files
INCONCLUSIVE, SKIPPED = 75, 77   # exit statuses, as in tests/tools/verdicts.py
MOST_INCONCLUSIVE = 2


# Reading what programs print.

CLOSING = re.compile(r"^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?(?:, (\d+) inconclusive)?$", re.MULTILINE)
VERDICT = re.compile(r"^(FAIL|skip|open) (.*)$")
GTEST_PASSED = re.compile(r"^\[  PASSED  \] (\d+) tests?\.$", re.MULTILINE)
GTEST = re.compile(r"^\[  (FAILED |SKIPPED) \] ([\w/<>: ,]+?\.[^\s,]+)")
PYTEST = re.compile(r"^(FAILED|ERROR|SKIPPED) (?:\[\d+\] )?(.*)$")


class Result:
    """The result of a step, or of one of its tests. `opened` has a line for each try of a check that was
    inconclusive."""

    def __init__(self, passed=0):
        self.passed, self.inconclusive = passed, 0
        self.failed, self.skipped, self.opened = [], [], []

    def add(self, other, prefix=""):
        self.passed += other.passed
        self.inconclusive += other.inconclusive
        for mine, theirs in ((self.failed, other.failed), (self.skipped, other.skipped), (self.opened, other.opened)):
            mine += [prefix + name for name in theirs]


def read_output(text, status):
    """The Result of a program with that output and exit status."""
    result = Result()
    for line in dict.fromkeys(text.splitlines()):   # GoogleTest names a test twice
        if match := VERDICT.match(line):
            {"FAIL": result.failed, "skip": result.skipped, "open": result.opened}[match.group(1)].append(match.group(2))
        elif match := GTEST.match(line):
            names = result.failed if match.group(1) == "FAILED " else result.skipped
            if match.group(2) not in names:
                names.append(match.group(2))
        elif match := PYTEST.match(line):
            (result.skipped if match.group(1) == "SKIPPED" else result.failed).append(match.group(2))
    if status == SKIPPED:
        status, result.skipped = 0, result.skipped or ["all of it"]
    closing = CLOSING.findall(text)
    passed = GTEST_PASSED.findall(text)
    if closing:
        result.passed = int(closing[-1][0])
    elif passed:
        result.passed = sum(map(int, passed))
    elif status == 0 and not result.skipped:
        result.passed = 1
    if status == INCONCLUSIVE and not result.failed:
        result.inconclusive = int(closing[-1][3] or 1) if closing else 1
        if not result.opened:
            result.opened.append("exit status %d, and nothing says why" % status)
    elif status != 0 and not result.failed:
        result.failed.append("exit status %d" % status)
    elif status == 0 and result.failed:
        result.failed.append("exit status 0, although that failed")
    return result


def read_test(test):
    """The Result of one test in CTest's report."""
    values = {item.get("name"): item.findtext("Value") or "" for item in test.iter("NamedMeasurement")}
    output = test.findtext("Results/Measurement/Value") or ""
    ended = values.get("Completion Status", "")
    if test.get("Status") == "passed":
        return read_output(output, 0)
    if test.get("Status") == "notrun":
        result = Result()
        if ended.startswith("SKIP_"):
            result.skipped = read_output(output, SKIPPED).skipped
        else:
            result.failed.append("not run: " + ended)
        return result
    if ended == "Completed" and values.get("Exit Code") == "Failed":
        return read_output(output, int(values["Exit Value"]))
    result = read_output(output, 1)   # killed by a signal, or timed out
    result.failed.append(values.get("Exit Code") or ended)
    return result


# What makes CTest write a report.
REPORT = "-T Test --no-compress-output --test-output-size-passed 1000000 --test-output-size-failed 1000000".split()


def reports_of(build):
    return glob.glob(os.path.join(build, "Testing", "*", "Test.xml"))


def remove_reports(build):
    for report in reports_of(build):
        os.unlink(report)


def read_ctest(build, text, status):
    """The Result of CTest in that build folder, which had no report before."""
    reports = reports_of(build)
    if len(reports) != 1:
        return read_output(text, status or 1)   # it did not get that far
    result = Result()
    for test in xml.etree.ElementTree.parse(reports[0]).iter("Test"):
        if test.get("Status"):   # not an entry in the list of names
            result.add(read_test(test), test.findtext("Name") + ": ")
    if not (result.passed or result.failed or result.inconclusive):
        result.failed.append("no test was run")
    return result


# Steps. Two run at once: one that compiles beside one whose tests mostly wait. Two builds do not run at once, because
# side by side they take half as long again as one after the other.

class Step(NamedTuple):
    """`commands` may depend on the commit that the change is measured from."""
    commands: Callable
    after: tuple = ()   # steps whose results it uses
    build: str = ""     # for CTest's report


def build(preset):
    return Step(lambda base: [["./dev", "build-tests", preset]])


def ctest(preset):
    return Step(lambda base: [["./dev", "test", preset, *REPORT]], ("build-" + preset,),
                os.path.join(ROOT, "build", preset))


def acceptance(_):
    """External checks, if they exist: the contract, and faults that were found."""
    plain, sanitized = os.path.join("build", "release", "cleave"), os.path.join("build", "asan", "cleave")
    accept = os.path.join(SHARED, "acceptance", "accept.py")
    found = os.path.join(SHARED, "found", "run.py")
    commands = [[accept, "--cleave", plain, "--seed", "1"], [accept, "--cleave", plain, "--seed", "2"],
                [accept, "--cleave", sanitized, "--seed", "3", "--quick"], [found, plain], [found, sanitized]]
    return [[sys.executable, *command] for command in commands if os.path.exists(command[0])]


def counts(base):
    """Without a commit to compare with, there is nothing to count."""
    return [] if base == EMPTY_TREE else [["./dev", "counts", "--against", base]]


def is_build(step):
    return step.startswith("build-")


STEPS = {   # in the order in which they start
    "build-release": build("release"),
    "release": ctest("release"),
    "build-asan": build("asan"),
    "asan": ctest("asan"),
    "build-tsan": build("tsan"),
    "lint": Step(lambda base: [["./dev", "lint", "--changed", base]], ("build-release",)),
    "tsan": ctest("tsan"),
    "fuzz": Step(lambda base: [["./dev", "fuzz-changed", base]], ("build-asan",)),
    # No test runs the device code here, and optimising it takes most of the time. ./dev prove builds it optimised.
    "gpu": Step(lambda base: [["env", "CLEAVE_CUDA_ARCHITECTURES=90", "CLEAVE_CUDA_FLAGS=-G", "./dev", "gpu"]]),
    "counts": Step(counts, ("build-release",)),   # finds most of what it compiles in the cache
    "acceptance": Step(acceptance, ("build-release", "build-asan")),
    "python": Step(lambda base: [["./dev", "python-test", "3.11"]], ("build-release",)),   # uses the compiled library
    "interop": Step(lambda base: [["./dev", "interop"]], ("build-release", "python")),   # uses the same environment
}
AT_ONCE = 2


def read_table(name):
    """The rows of a file in this folder, without comments: lists of fields."""
    with open(os.path.join(HERE, name), encoding="utf-8") as file:
        return [line.rstrip("\n").split("\t") for line in file if line.strip() and not line.startswith("#")]


def read_map():
    """{path, or beginning of a path that ends in a slash: steps}"""
    return {path: list(STEPS) if steps == "all" else steps.split() for path, steps in read_table("steps.tsv")}


def steps_for(paths, table):
    """The steps that a change to these paths calls for. The longest matching row counts."""
    wanted = set()
    for path in paths:
        rows = [row for row in table if path == row or row.endswith("/") and path.startswith(row)]
        wanted.update(table[max(rows, key=len)] if rows else STEPS)
    return with_builds(wanted)


def with_builds(wanted):
    """These steps and the builds that they need, in the order of STEPS."""
    builds = {other for step in wanted for other in STEPS[step].after if is_build(other)}
    return [step for step in STEPS if step in builds | set(wanted)]


# The change.

def git(*words):
    done = subprocess.run(["git", "-C", ROOT, *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return done.stdout.strip() if done.returncode == 0 else None


def find_base():
    """The commit in .ci/base, and None; or the empty tree, and the reason why the file is not trusted.

    The commit that last changed the file must be the child of the one that it names. Otherwise commits between the two
    would never be judged."""
    try:
        with open(os.path.join(HERE, "base"), encoding="ascii") as file:
            named = git("rev-parse", "--verify", "--quiet", file.read().strip() + "^{commit}")
    except OSError:
        return EMPTY_TREE, "there is no .ci/base"
    if not named:
        return EMPTY_TREE, ".ci/base names no commit of this repository"
    if git("merge-base", "--is-ancestor", named, "HEAD") is None:
        return EMPTY_TREE, "HEAD does not come after the commit in .ci/base"
    if git("rev-parse", "HEAD") != named:
        changed_by = git("log", "-1", "--format=%H", "--", ".ci/base")
        if not changed_by or git("rev-parse", changed_by + "^") != named:
            return EMPTY_TREE, "commits lie between the one in .ci/base and the one that wrote it there"
    return named, None


def changed_paths(base):
    """See tests/tools/dependencies.py."""
    sys.path.insert(0, os.path.join(ROOT, "tests", "tools"))
    import dependencies
    return dependencies.changed_since(base)


# The run.

def run_command(command):
    """What the command printed, its exit status, and the processor time in seconds of it and the processes it waited
    for."""
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, errors="replace") as process:
        text = process.stdout.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    return text, process.returncode, used.ru_utime + used.ru_stime


def run_step(name, base):
    """The step's Result, what it printed, and its processor time in seconds."""
    step, result, texts, seconds = STEPS[name], Result(), [], 0
    if step.build:
        remove_reports(step.build)
    for command in step.commands(base):
        text, status, used = run_command(command)
        texts.append(text)
        seconds += used
        result.add(read_ctest(step.build, text, status) if step.build else read_output(text, status))
    return result, "".join(texts), seconds


def run_steps(steps, base):
    """{step: Result}. Prints the output of each step when it ends. A step whose build failed is not run."""
    results, minutes, running, waiting = {}, {}, {}, list(steps)
    began = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        while waiting or running:
            for name in list(waiting):
                before = [other for other in STEPS[name].after if other in steps]
                is_second_build = is_build(name) and any(map(is_build, running.values()))
                if len(running) < AT_ONCE and not is_second_build and all(other in results for other in before):
                    waiting.remove(name)
                    if any(results[other].failed for other in before if is_build(other)):
                        results[name] = Result()
                        continue
                    print("== %s begins after %.1f min" % (name, (time.monotonic() - began) / 60), flush=True)
                    minutes[name] = time.monotonic()
                    running[pool.submit(run_step, name, base)] = name
            for done in concurrent.futures.wait(running, return_when=concurrent.futures.FIRST_COMPLETED).done:
                name = running.pop(done)
                results[name], text, seconds = done.result()
                minutes[name] = ((time.monotonic() - minutes[name]) / 60, seconds / 60)
                print("%s== %s ends after %.1f min" % (text, name, minutes[name][0]), flush=True)
    print("== minutes, and of them on processors: "
          + ", ".join("%s %.1f (%.1f)" % (name, *both) for name, both in minutes.items())
          + "; in all %.1f (%.1f)" % ((time.monotonic() - began) / 60, sum(cpu for _, cpu in minutes.values())))
    return results


def unlisted(step, skipped, table):
    """The skipped checks that skips.tsv does not list for this step."""
    known = [pattern for of, pattern, _ in table if step in of.split()]
    return [name for name in skipped if not any(re.match(pattern, name) for pattern in known)]


def judge(results, skips):
    """Prints what there is to know about these {step: Result}. Returns whether all is well."""
    total = Result()
    for step, result in results.items():
        result.failed += ["a skip that .ci/skips.tsv does not list: " + name
                          for name in unlisted(step, result.skipped, skips)]
        total.add(result, step + ": ")
    if total.opened:
        print("== ledger: checks that could not look, try by try")
        print(*total.opened, sep="\n")
    if total.inconclusive > MOST_INCONCLUSIVE:
        total.failed.append("%d checks could not look; at most %d may" % (total.inconclusive, MOST_INCONCLUSIVE))
    if total.failed:
        print("== failed")
        print(*total.failed, sep="\n")
    print("%d checks stayed inconclusive" % total.inconclusive)
    print("%d passed, %d failed, %d skipped" % (total.passed, len(total.failed), len(total.skipped)))
    return total.passed > 0 and not total.failed


def main():
    base, doubt = find_base()
    if doubt:
        print("the whole tree counts as changed: " + doubt)
    unknown = set(sys.argv[1:]) - STEPS.keys()
    if unknown:
        sys.exit("unknown step %s; the steps are %s" % (", ".join(unknown), ", ".join(STEPS)))
    if sys.argv[1:]:
        steps = with_builds(sys.argv[1:])
    elif os.environ.get("CI_ALL") == "1":
        steps = list(STEPS)
    else:
        steps = steps_for(changed_paths(base), read_map())
    print("steps since %s: %s" % (base[:12], " ".join(steps)))
    return 0 if judge(run_steps(steps, base), read_table("skips.tsv")) else 1


if __name__ == "__main__":
    sys.exit(main())
