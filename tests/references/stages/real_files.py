#!/usr/bin/env python3
"""Compares the command with the oracle, under random rules, on files written by people.

  real_files.py CLEAVE [--folder DIRECTORY]... [--rounds N] [--seed N] [--largest BYTES]
                [--most-files N] [--keep DIRECTORY]

Takes all .csv, .tsv and .tab files below the folders, by default this repository and /usr/share; files with the same
content are taken once. Files that the strict rules refuse are included.
"""
import argparse
import collections
import hashlib
import os
import random
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import compare  # noqa: E402
import driver  # noqa: E402
from fields import Fault, make_dialect, read_record  # noqa: E402
from generate import Case, make_how, make_stages  # noqa: E402

REPOSITORY = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
PIPE_SIZE = 60000  # Larger data are not passed through a pipe.


def find_files(folders, largest, most):
    seen, found = set(), []
    for folder in folders:
        for path, directories, names in os.walk(folder):
            directories.sort()
            for name in sorted(names):
                if not name.lower().endswith((".csv", ".tsv", ".tab")):
                    continue
                full = os.path.join(path, name)
                if not os.path.isfile(full) or not 0 < os.path.getsize(full) <= largest:
                    continue
                try:
                    data = compare.read(full)
                except OSError:
                    continue
                digest = hashlib.sha256(data).digest()
                if digest not in seen and b"\0" not in data and data[:2] not in (b"\xff\xfe", b"\xfe\xff"):
                    seen.add(digest)
                    found.append((full, data))
                if len(found) == most:
                    return found
    return found


def make_case(data, seed):
    random_ = random.Random(seed)
    case = Case()
    case.seed = seed
    case.data = data
    line = data[:65536].splitlines()[0]
    delimiter = max([b",", b";", b"\t", b"|"], key=line.count)
    terminator = "cr" if b"\r" in data and b"\n" not in data else random_.choice(["lf", "lf", "lf", "any"])
    case.dialect = make_dialect(delimiter, terminator=terminator)
    case.dialect_arguments = [b"--delimiter=" + delimiter, b"--terminator=" + terminator.encode()]
    case.header_mode = random_.choice(["repeat", "repeat", "first", "drop"])
    names = header_names(case)
    make_stages(case, names, random_)
    make_how(case, random_, True)
    if case.count is not None:
        case.count *= random_.choice([1, 100, 1000])
    if case.size is not None:
        case.size *= random_.choice([1, 10, 100])
    pieces = max(case.data.count(b"\n"), case.data.count(b"\r")) // (case.count or 10 ** 9)
    if case.size is not None:
        pieces = max(pieces, len(data) // case.size)
    if pieces > 500:
        case.count, case.size, case.total = None, None, 7
        case.spool = case.source in ("pipe", "gzip")
    if case.source == "pipe" and len(data) > PIPE_SIZE:
        case.source = "redirect"
    return case


def header_names(case):
    """The column names in the first record that is not empty; one name if it cannot be read."""
    at = 0
    while at < len(case.data):
        try:
            record = read_record(case.data, at, case.dialect)
        except Fault:
            break
        if not record.is_empty:
            return [field.value for field in record.fields]
        at = record.end
    return [b"x"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("cleave")
    parser.add_argument("--folder", action="append")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each file")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--largest", type=int, default=1 << 20)
    parser.add_argument("--most-files", type=int, default=500)
    parser.add_argument("--kernel")
    parser.add_argument("--keep", default=tempfile.gettempdir())
    options = parser.parse_args()
    options.cleave = os.path.abspath(options.cleave)
    options.without_stages, options.device = False, None
    kernels = driver.find_kernels(options.cleave)
    files = find_files(options.folder or [os.path.join(REPOSITORY, "data"), "/usr/share"], options.largest,
                       options.most_files)
    kinds, differences, seed = collections.Counter(), 0, options.seed
    with tempfile.TemporaryDirectory(prefix="cleave-stages-", dir=driver.in_memory.folder()) as root:
        for path, data in files:
            for _ in range(options.rounds):
                case = make_case(data, seed)
                seed += 1
                refusal = compare.judge(case).refusal
                kinds[refusal.kind if refusal else "accepted"] += 1
                text = compare.run(case, options, kernels, os.path.join(root, "run"))
                if text:
                    differences += 1
                    print("%s\n%s" % (path, text[:4000]), flush=True)
    for kind, count in kinds.most_common():
        print("%6d %s" % (count, kind))
    runs = sum(kinds.values())
    print("%d files" % len(files))
    print("%d passed, %d failed" % (runs - differences, differences))
    return 1 if differences or not files else 0


if __name__ == "__main__":
    sys.exit(main())
