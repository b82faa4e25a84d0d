#!/usr/bin/env python3
"""The gate: judges a change by running the steps that its paths call for. Only a fault turns it red.

  gate.py [STEP...]    runs these steps [those that steps.tsv gives for the change; all of them where CI_ALL=1]

The change is the difference from the commit in .ci/base, the newest one that has landed. If that file cannot be
trusted, the change is the whole tree. steps.tsv maps paths to steps; a path that it does not list calls for all of
them.

Verdicts (results.py):
  passed        counted
  failed        named at the end; the gate fails. A failure is never retried.
  skipped       named in skips.tsv, otherwise the gate fails. It does not count as passed.
  inconclusive  the check could not be carried out, even after another try. Listed in the ledger, with the checks that
                another try settled. More than two in a run fail the gate.
The last line is "N passed, N failed, N skipped".
"""
import concurrent.futures
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from typing import NamedTuple

import results
from results import Result

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"   # Git's name for a tree without files
MOST_INCONCLUSIVE = 2


class Step(NamedTuple):
    """A row of STEPS. A step is not run if one that it needs failed."""
    needs: str
    holds: str      # what only one step at a time may use
    minutes: int    # the time limit for all commands together
    commands: str   # one a line; {base} is the commit that the change is measured from


# In the order in which they start. Two run at once, but only one that compiles: two builds side by side take half as
# long again as one after the other. The tests of a build run three at a time; of the rest, most are one process, and
# come before, so that no processor waits at the end. Steps that hold "environment" use build/venv-3.11 and build/wheel.
AT_ONCE = 2
STEPS = {
    "build-release": Step("", "compiler", 40, "./dev build-tests release"),
    "release": Step("build-release", "", 60, "./dev test release"),
    # Its objects are the same as in the release build, which runs all cases, except for the stand-ins and what the
    # command lists.
    "core": Step("build-release", "compiler", 40, """
        ./dev build core
        python3 -B tests/cases/run.py --cleave build/core/cleave --features= --every 3
        python3 -B tests/system/left_out_test.py --cleave build/core/cleave --features="""),
    "build-asan": Step("", "compiler", 40, "./dev build-tests asan"),
    "build-tsan": Step("", "compiler", 40, "./dev build-tests tsan"),
    "python": Step("build-release", "compiler environment", 40, "./dev python-test 3.11"),
    "interop": Step("build-release", "environment", 40, "./dev interop"),
    "counts": Step("build-release", "compiler", 40, "./dev counts --against {base}"),
    "lint": Step("build-release", "compiler", 60, "./dev lint --changed {base}"),
    # No test runs the device code here, and optimising it takes most of the time. With -G, which also turns that off,
    # ptxas takes long over its debug information. ./dev prove builds it optimised, and the benchmarks.
    "gpu": Step("", "compiler", 40, "env CLEAVE_CUDA_ARCHITECTURES=90 CLEAVE_CUDA_FLAGS=-Ofc=max "
                                    "./dev gpu -D CLEAVE_CUDA_BENCHMARKS=OFF"),
    # External checks, if they exist: the contract, and faults that were found.
    "acceptance": Step("build-release build-asan", "", 40, """
        python3 ../shared/acceptance/accept.py --cleave build/release/cleave --seed 1
        python3 ../shared/acceptance/accept.py --cleave build/asan/cleave --seed 2 --quick
        python3 ../shared/found/run.py build/release/cleave
        python3 ../shared/found/run.py build/release/cleave ../shared/found/cases-2026-11-28.jsonl
        python3 ../shared/found/run.py build/asan/cleave"""),
    "fuzz": Step("build-asan", "", 40, "./dev fuzz-changed {base}"),
    "asan": Step("build-asan", "", 60, "env ASAN_OPTIONS=detect_leaks=0 ./dev test asan -LE rare"),
    "tsan": Step("build-tsan", "", 60, "./dev test tsan -LE rare"),
}


# The change, and the steps that it calls for.

def read_table(name):
    """The rows of a file in this folder, without comments: lists of fields."""
    with open(os.path.join(HERE, name), encoding="utf-8") as file:
        return [line.rstrip("\n").split("\t") for line in file if line.strip() and not line.startswith("#")]


def read_map():
    """{path, or beginning of a path that ends in a slash: steps}"""
    return {path: list(STEPS) if steps == "all" else steps.split()
            for paths, steps in read_table("steps.tsv") for path in paths.split()}


def steps_for(paths, table):
    """The steps that a change to these paths calls for. The longest matching row counts."""
    wanted = set()
    for path in paths:
        rows = [row for row in table if path == row or row.endswith("/") and path.startswith(row)]
        wanted.update(table[max(rows, key=len)] if rows else STEPS)
    return with_needed(wanted)


def with_needed(wanted):
    """These steps and those that they need, in the order of STEPS."""
    needed = {other for step in wanted for other in STEPS[step].needs.split()}
    return [step for step in STEPS if step in needed | set(wanted)]


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

def run_step(name, base):
    """The step's Result, and its processor time in seconds."""
    result, seconds, end = Result(), 0, time.monotonic() + 60 * STEPS[name].minutes
    for line in STEPS[name].commands.strip().splitlines():
        words = shlex.split(line.format(base=base))
        if all(os.path.exists(os.path.join(ROOT, word)) for word in words if word.startswith("../")):
            found, used = results.run_command(
                words, lambda line: print("%s| %s" % (name, line.rstrip("\n")), flush=True), ROOT,
                max(0, end - time.monotonic()))
            result.add(found)
            seconds += used
    return result, seconds


def may_start(name, running, done):
    """Whether a step may start beside these."""
    held = {word for other in running for word in STEPS[other].holds.split()}
    return (len(running) < AT_ONCE and held.isdisjoint(STEPS[name].holds.split())
            and done >= set(STEPS[name].needs.split()))


def run_steps(steps, base):
    """{step: Result}. Prints the output of steps as it comes."""
    found, minutes, running, waiting, began = {}, {}, {}, list(steps), time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        while waiting or running:
            for name in list(waiting):
                if not may_start(name, running.values(), found.keys()):
                    continue
                waiting.remove(name)
                if any(found[other].failed for other in STEPS[name].needs.split()):
                    found[name] = Result()
                    continue
                print("== %s begins after %.1f min" % (name, (time.monotonic() - began) / 60), flush=True)
                minutes[name] = time.monotonic()
                running[pool.submit(run_step, name, base)] = name
            for done in concurrent.futures.wait(running, return_when=concurrent.futures.FIRST_COMPLETED).done:
                name = running.pop(done)
                found[name], seconds = done.result()
                minutes[name] = ((time.monotonic() - minutes[name]) / 60, seconds / 60)
                print("== %s ends after %.1f min" % (name, minutes[name][0]), flush=True)
    print("== minutes, and of them on processors: "
          + ", ".join("%s %.1f (%.1f)" % (name, *both) for name, both in minutes.items())
          + "; in all %.1f (%.1f)" % ((time.monotonic() - began) / 60, sum(cpu for _, cpu in minutes.values())))
    return found


def unlisted(step, skipped, table):
    """The skipped checks that skips.tsv does not list for this step."""
    known = [pattern for of, pattern, _ in table if step in of.split()]
    return [name for name in skipped if not any(re.match(pattern, name) for pattern in known)]


def judge(found, skips):
    """Prints what there is to know about these {step: Result}. Returns whether all is well."""
    total = Result()
    for step, result in found.items():
        result.failed += ["a skip that .ci/skips.tsv does not list: " + name
                          for name in unlisted(step, result.skipped, skips)]
        total.add(result, step + ": ")
    print("== longest tests", *("%8.1f s  %s" % row for row in sorted(total.times, reverse=True)[:10]), sep="\n")
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


def stop(number, _):
    results.kill(results.RUNNING)
    os._exit(128 + number)


def main():
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    base, doubt = find_base()
    if doubt:
        print("the whole tree counts as changed: " + doubt)
    unknown = set(sys.argv[1:]) - STEPS.keys()
    if unknown:
        sys.exit("unknown step %s; the steps are %s" % (", ".join(unknown), ", ".join(STEPS)))
    if sys.argv[1:]:
        steps = with_needed(sys.argv[1:])
    elif os.environ.get("CI_ALL") == "1":
        steps = list(STEPS)
    else:
        steps = steps_for(changed_paths(base), read_map())
    print("steps since %s: %s" % (base[:12], " ".join(steps)))
    return 0 if judge(run_steps(steps, base), read_table("skips.tsv")) else 1


if __name__ == "__main__":
    sys.exit(main())
