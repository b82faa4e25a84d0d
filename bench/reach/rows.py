#!/usr/bin/env python3
"""Times rows for training: cleave.torch and cleave.datasets beside what PyTorch and Hugging Face's library offer.

  rows.py [--records 200000] [--rounds 7] [--only SUBSTRING] [--json FILE]

Run it in a Python environment that has the package, torch, datasets and pyarrow. All jobs read one file of 12 columns, with
line breaks in quotes, in one process, and count its rows. Each round runs every job once, in a random order, after one
round that is not counted. The table shows the best and the median time of each job for a row, the least processor time
of the process for a row, and the ratios of both to the job that it is compared with. Before that, the rows of the
readers are compared.
"""
import argparse
import csv
import datetime
import importlib.metadata
import itertools
import json
import os
import platform
import random
import resource
import statistics
import tempfile
import time

os.environ["HF_HUB_OFFLINE"] = "1"

import datasets  # noqa: E402
import pyarrow  # noqa: E402
import pyarrow.csv  # noqa: E402
import torch.utils.data  # noqa: E402

import cleave.datasets  # noqa: E402
import cleave.torch  # noqa: E402

PIECES = 30
ROWS_OF_SLOW_JOB = 2000
COMPARED_ROWS = 10000
TYPES = {"id": pyarrow.int64(), "name": pyarrow.string(), "city": pyarrow.string(), "price": pyarrow.float64(),
         "quantity": pyarrow.int64(), "day": pyarrow.date32(), "at": pyarrow.timestamp("s"), "flag": pyarrow.bool_(),
         "note": pyarrow.string(), "mail": pyarrow.string(), "code": pyarrow.string(), "ratio": pyarrow.float64()}
INFERRED = {**TYPES, "day": pyarrow.string(), "at": pyarrow.string()}   # by pandas, for load_dataset
NUMBERS = [name for name, kind in TYPES.items() if kind in (pyarrow.int64(), pyarrow.float64())]


def make_input(path, records):
    chance, start = random.Random(1), datetime.datetime(2024, 1, 1)
    with open(path, "w", encoding="utf-8", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(TYPES)
        for number in range(records):
            at = start + datetime.timedelta(seconds=chance.randrange(10 ** 8))
            note = 'line %d\nline "%d", the last' % (number, chance.randrange(100))
            out.writerow([number, "name %d" % chance.randrange(1000), chance.choice(["Paris", "K\u00f6ln", "Graz"]),
                          "%.2f" % (chance.random() * 1000), chance.randrange(100), at.date(), at,
                          chance.choice(["true", "false"]), note, "user%d@example.org" % number, "%08x" % number,
                          "%.6f" % chance.random()])


class OverArrow(torch.utils.data.IterableDataset):
    """What one writes without cleave: Arrow's reader, and rows by its to_pylist()."""

    def __init__(self, path):
        super().__init__()
        self.path = path

    def __iter__(self):
        reader = pyarrow.csv.open_csv(self.path, parse_options=pyarrow.csv.ParseOptions(newlines_in_values=True),
                                      convert_options=pyarrow.csv.ConvertOptions(column_types=TYPES))
        for batch in reader:
            yield from batch.to_pylist()


class OverCsv(torch.utils.data.IterableDataset):
    """Python's own reader; all values are strings."""

    def __init__(self, path):
        super().__init__()
        self.path = path

    def __iter__(self):
        with open(self.path, encoding="utf-8", newline="") as file:
            yield from csv.DictReader(file)


def theirs(path, **more):
    return datasets.load_dataset("csv", data_files=path, streaming=True, split="train", **more)


def tables_of(dataset):
    return dataset.with_format("arrow").iter(batch_size=10000)


def jobs_for(path):
    """{name: (the job that it is compared with, a function whose result yields rows or tables)}"""
    typed = cleave.torch.CSVDataset(path, schema=TYPES, pieces=PIECES)
    strings = cleave.torch.CSVDataset(path, pieces=PIECES)
    batches = cleave.torch.CSVDataset(path, schema=TYPES, pieces=PIECES, batch_size=10000)
    numbers = cleave.torch.CSVDataset(path, columns=NUMBERS, schema=TYPES, pieces=PIECES)
    ours = cleave.datasets.load_csv(path, schema=INFERRED, pieces=PIECES)
    return {
        "torch, types: Arrow's to_pylist": (None, lambda: OverArrow(path)),
        "torch, types: cleave.torch": ("torch, types: Arrow's to_pylist", lambda: typed),
        "torch, strings: csv.DictReader": (None, lambda: OverCsv(path)),
        "torch, strings: cleave.torch": ("torch, strings: csv.DictReader", lambda: strings),
        "torch, batches: cleave.torch": ("torch, types: Arrow's to_pylist", lambda: batches),
        "numbers: datasets, with_format torch": (None, lambda: itertools.islice(
            theirs(path, usecols=NUMBERS).with_format("torch"), ROWS_OF_SLOW_JOB)),
        "numbers: cleave.torch": ("numbers: datasets, with_format torch", lambda: numbers),
        "datasets, rows: load_dataset": (None, lambda: theirs(path)),
        "datasets, rows: cleave.datasets": ("datasets, rows: load_dataset", lambda: ours),
        "datasets, tables: load_dataset": (None, lambda: tables_of(theirs(path))),
        "datasets, tables: cleave.datasets": ("datasets, tables: load_dataset", lambda: tables_of(ours)),
    }


def count(items):
    """The number of rows, whether the items are rows or tables."""
    return sum(item.num_rows if isinstance(item, (pyarrow.Table, pyarrow.RecordBatch)) else 1 for item in items)


def compare(jobs, pairs):
    for one, other in pairs:
        for left, right in itertools.islice(itertools.zip_longest(jobs[one][1](), jobs[other][1]()), COMPARED_ROWS):
            if left == right:
                continue
            raise SystemExit("%s and %s: the rows differ: %s and %s" % (one, other, left, right))


def timed(job):
    """The rows, the seconds and the processor seconds."""
    before, begin = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
    rows = count(job())
    taken, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_SELF)
    return rows, taken, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=200000, metavar="N", help="of the file [200000]")
    parser.add_argument("--rounds", type=int, default=7, metavar="N", help="that are counted [7]")
    parser.add_argument("--only", default="", metavar="SUBSTRING", help="of a job's name")
    parser.add_argument("--json", metavar="FILE", help="write the times there, too")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "rows.csv")
        make_input(path, args.records)
        jobs = {name: job for name, job in jobs_for(path).items() if args.only in name}
        compare(jobs_for(path), [("torch, types: Arrow's to_pylist", "torch, types: cleave.torch"),
                                 ("torch, strings: csv.DictReader", "torch, strings: cleave.torch"),
                                 ("datasets, rows: load_dataset", "datasets, rows: cleave.datasets")])
        times, processor = {name: [] for name in jobs}, {name: [] for name in jobs}
        for number in range(args.rounds + 1):
            for name in random.sample(list(jobs), len(jobs)):
                rows, taken, used = timed(jobs[name][1])
                if rows not in (args.records, ROWS_OF_SLOW_JOB):
                    raise SystemExit("%s: %d rows of %d" % (name, rows, args.records))
                if number > 0:
                    times[name].append(taken / rows * 1e6)
                    processor[name].append(used / rows * 1e6)
    versions = {name: importlib.metadata.version(name) for name in ("torch", "datasets", "pyarrow", "pandas")}
    found = {name: {"best_us": min(times[name]), "median_us": statistics.median(times[name]),
                    "processor_us": min(processor[name])} for name in jobs}
    print("%d records; Python %s, %s; load %.1f" % (args.records, platform.python_version(), versions, os.getloadavg()[0]))
    print("%-38s%10s%11s%14s%8s%11s" % ("microseconds for a row", "best", "median", "processor", "ratio", "processor"))
    for name, (other, _) in jobs.items():
        ratios = [found[name][key] / found[other][key] for key in ("best_us", "processor_us")] if other in found else []
        print("%-38s%10.2f%11.2f%14.2f" % (name, *found[name].values()) + "".join("%9.2f" % ratio for ratio in ratios))
    if args.json:
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump({"records": args.records, "versions": versions, "jobs": found}, file, indent=1)


if __name__ == "__main__":
    main()
