#!/usr/bin/env python3
"""Runs fuzz targets of a build with the address sanitizer.

  fuzz.py BUILD --seconds N [--seed N]     every target for N seconds, as many in parallel as there are processors
  fuzz.py BUILD --since COMMIT             the targets changed since then, 2,500 runs each, one after the other
  fuzz.py BUILD --replay TARGET            each input of the target's corpus and each file in data/, once
  fuzz.py BUILD --renew TARGET...          pack the corpora again, with inputs that --seconds has found

With --seconds, new inputs are kept in build/fuzz/corpus/TARGET, and the next run reads them; seed 0 is random. With
--since, the inputs are the same each time, so nothing is kept and the seed is always 1. --renew drops inputs that reach
nothing new, except those with a name of their own: libFuzzer names inputs by their SHA-1 digests. The logs are
build/fuzz/TARGET.log, those of --replay BUILD/tests/fuzz/TARGET.log.
"""
import argparse
import concurrent.futures
import contextlib
import glob
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

from touched import HERE, ROOT, stem, targets_of, touched_targets   # also adds the folder of verdicts.py to the path
from verdicts import PASSED, Failure, Tally, need

FOLDER = os.path.join("build", "fuzz")
LIMITS = ["-max_len=300", "-timeout=60", "-print_final_stats=1"]
WHOLE = "-max_len=4096"   # the samples in data/ are truncated, because targets are slow on long inputs
DIGEST = re.compile("[0-9a-f]{40}")


def dictionary_of(target):
    return next(path for path in glob.glob(os.path.join(HERE, "*.dict")) if target in targets_of(path))


def packed(target):
    return os.path.join(HERE, "corpus", target + ".tar")


@contextlib.contextmanager
def corpus(target):
    """A temporary folder with the inputs of a target's corpus. libFuzzer is content with no inputs; this is not."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.unpack_archive(packed(target), folder)
        need(os.listdir(folder), packed(target) + " has no inputs")
        yield folder


def pack(folder, path):
    """The same inputs always give the same bytes."""
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as archive:
        for name in sorted(os.listdir(folder)):
            entry = tarfile.TarInfo(name)   # without an owner and a time
            entry.size = os.path.getsize(os.path.join(folder, name))
            with open(os.path.join(folder, name), "rb") as file:
                archive.addfile(entry, file)


def run(build, target, folder, *arguments):
    """Runs a target to its end, and returns what it printed; raises Failure with that. The log and the input of a crash
    are left in the folder."""
    # A target that writes files is several times faster if no disk is involved.
    environment = {**os.environ, **({"TMPDIR": "/dev/shm"} if os.access("/dev/shm", os.W_OK) else {})}
    os.makedirs(folder, exist_ok=True)
    prefix = os.path.join(folder, target)
    with open(prefix + ".log", "wb") as log:
        status = subprocess.run([os.path.join(build, "tests", "fuzz", target + "_fuzz"), *LIMITS,
                                 "-dict=" + dictionary_of(target), "-artifact_prefix=%s-" % prefix, *arguments],
                                stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment).returncode
    with open(prefix + ".log", errors="replace") as log:
        text = log.read()
    if status != 0:
        raise Failure("\n".join(["exit status %d" % status, *re.findall("^[^#].*", text, re.MULTILINE)]))
    return text


def executions(text):
    return int(re.search(r"^stat::number_of_executed_units: *(\d+)", text, re.MULTILINE).group(1))


def run_long(build, target, seconds, seed):
    kept = os.path.join(FOLDER, "corpus", target)
    os.makedirs(kept, exist_ok=True)   # libFuzzer writes new inputs to the first folder
    with corpus(target) as inputs:
        text = run(build, target, FOLDER, "-seed=%d" % seed, "-max_total_time=%d" % seconds, kept, inputs, "data")
    return "%d executions" % executions(text)


def run_again(build, target):
    with corpus(target) as inputs:
        return "%d executions" % executions(run(build, target, FOLDER, "-seed=1", "-runs=2500", inputs))


def replay(build, target):
    with corpus(target) as inputs:
        text = run(build, target, os.path.join(build, "tests", "fuzz"), "-runs=0", WHOLE, inputs, "data")
        paths = glob.glob(os.path.join(inputs, "*")) + glob.glob(os.path.join("data", "**"), recursive=True)
        count = sum(os.path.isfile(path) and os.path.getsize(path) > 0 for path in paths)
    need(executions(text) > count,   # libFuzzer begins with the empty input, and runs some twice
         "%d executions of %d inputs" % (executions(text), count))
    return "%d inputs" % count


def renew(build, target):
    """Packs the named inputs, and of the others a part that reaches as much code as all of them."""
    kept = os.path.join(FOLDER, "corpus", target)
    os.makedirs(kept, exist_ok=True)
    with tempfile.TemporaryDirectory() as old, tempfile.TemporaryDirectory() as new:
        if os.path.exists(packed(target)):
            shutil.unpack_archive(packed(target), old)
        for path in glob.glob(os.path.join(old, "*")) + glob.glob(os.path.join(kept, "*")):
            if not DIGEST.fullmatch(os.path.basename(path)):
                shutil.copy(path, new)
        named = len(os.listdir(new))
        text = run(build, target, FOLDER, "-set_cover_merge=1", "-use_counters=0", WHOLE, new, old, kept)
        need("caused a failure" not in text, "an input makes the target fail: see its log")
        pack(new, packed(target))
        return "%d inputs, %d of them named; there were %d" % (len(os.listdir(new)), named, len(os.listdir(old)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", metavar="BUILD")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--seconds", type=int, metavar="N")
    what.add_argument("--since", metavar="COMMIT")
    what.add_argument("--replay", metavar="TARGET")
    what.add_argument("--renew", nargs="+", metavar="TARGET")
    parser.add_argument("--seed", type=int, default=0, metavar="N")
    arguments = parser.parse_args()
    os.chdir(ROOT)
    beside = 1
    if arguments.replay:
        targets, run_target = [arguments.replay], replay
    elif arguments.renew:
        targets, run_target = arguments.renew, renew
    elif arguments.since:
        targets, run_target = touched_targets(arguments.since, arguments.build), run_again
    else:
        targets = sorted(stem(path).removesuffix("_fuzz") for path in glob.glob(os.path.join(HERE, "*_fuzz.cpp")))
        beside = len(os.sched_getaffinity(0))

        def run_target(build, target):
            return run_long(build, target, arguments.seconds, arguments.seed)
    if not targets:
        print("0 passed, 0 failed")
        return PASSED
    tally = Tally()
    with concurrent.futures.ThreadPoolExecutor(beside) as pool:
        for target, ended in [(target, pool.submit(run_target, arguments.build, target)) for target in targets]:
            notes = []
            tally.run(target, lambda ended=ended, notes=notes: notes.append(ended.result()), lambda notes=notes: notes)
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
