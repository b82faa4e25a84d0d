#!/usr/bin/env python3
"""Runs fuzz targets of a build with the address sanitizer.

  fuzz.py BUILD --seconds N [--seed N]     every target for N seconds, as many in parallel as there are processors
  fuzz.py BUILD --since COMMIT             the targets changed since then, 10,000 runs each, one after the other

With --seconds, new inputs are kept in build/fuzz/corpus/TARGET, and the next run reads them; seed 0 is random. With
--since, the inputs are the same each time, so nothing is kept and the seed is always 1. The logs are
build/fuzz/TARGET.log.
"""
import argparse
import concurrent.futures
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

from touched import HERE, ROOT, stem, targets_of, touched_targets   # also adds the folder of verdicts.py to the path
from verdicts import PASSED, Failure, Tally

FOLDER = os.path.join("build", "fuzz")
LIMITS = ["-max_len=300", "-timeout=60", "-print_final_stats=1"]


def dictionary_of(target):
    return next(path for path in glob.glob(os.path.join(HERE, "*.dict")) if target in targets_of(path))


def run(build, target, *arguments):
    """Runs a target to its end. Returns the number of executions; raises Failure with the target's output."""
    # A target that writes files is several times faster if no disk is involved.
    environment = {**os.environ, **({"TMPDIR": "/dev/shm"} if os.access("/dev/shm", os.W_OK) else {})}
    path = os.path.join(FOLDER, target + ".log")
    with open(path, "wb") as log:
        status = subprocess.run([os.path.join(build, "tests", "fuzz", target + "_fuzz"), *LIMITS,
                                 "-dict=" + dictionary_of(target), "-artifact_prefix=%s-" % os.path.join(FOLDER, target),
                                 *arguments], stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment).returncode
    with open(path, errors="replace") as log:
        text = log.read()
    if status != 0:
        raise Failure("\n".join(["exit status %d" % status, *re.findall("^[^#].*", text, re.MULTILINE)]))
    return "%s executions" % re.search(r"^stat::number_of_executed_units: *(\d+)", text, re.MULTILINE).group(1)


def run_long(build, target, seconds, seed):
    kept = os.path.join(FOLDER, "corpus", target)
    os.makedirs(kept, exist_ok=True)   # libFuzzer writes new inputs to the first folder
    return run(build, target, "-seed=%d" % seed, "-max_total_time=%d" % seconds, kept,
               os.path.join("tests", "fuzz", "corpus", target), "data")


def run_again(build, target):
    found = tempfile.mkdtemp()
    try:
        return run(build, target, "-seed=1", "-runs=10000", found, os.path.join("tests", "fuzz", "corpus", target))
    finally:
        shutil.rmtree(found)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", metavar="BUILD")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--seconds", type=int, metavar="N")
    what.add_argument("--since", metavar="COMMIT")
    parser.add_argument("--seed", type=int, default=0, metavar="N")
    arguments = parser.parse_args()
    os.chdir(ROOT)
    os.makedirs(FOLDER, exist_ok=True)
    if arguments.since:
        targets, beside = touched_targets(arguments.since, arguments.build), 1
    else:
        targets = sorted(stem(path).removesuffix("_fuzz") for path in glob.glob(os.path.join(HERE, "*_fuzz.cpp")))
        beside = len(os.sched_getaffinity(0))
    if not targets:
        print("0 passed, 0 failed")
        return PASSED

    def run_target(target):
        if arguments.since:
            return run_again(arguments.build, target)
        return run_long(arguments.build, target, arguments.seconds, arguments.seed)
    tally = Tally()
    with concurrent.futures.ThreadPoolExecutor(beside) as pool:
        for target, ended in [(target, pool.submit(run_target, target)) for target in targets]:
            notes = []
            tally.run(target, lambda ended=ended, notes=notes: notes.append(ended.result()), lambda notes=notes: notes)
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
