#!/usr/bin/env python3
"""Times cleave's readers for Polars and Ray against the engines' own, on one CSV file, and prints JSON.

  readers.py [--engines polars,ray] [--columns id=int64,price=float64,day=date32] [--types NAME=TYPE,...]
             [--rounds 7] [--cpus N] FILE

--columns are the few columns that some jobs read. --types are those of further columns where all are read; the others
are text. Types are Arrow's. It needs the package, pyarrow and the engines, and no network; a copy of their site-packages
folder in PYTHONPATH will do.

Each round runs every job once, in a random order, after one round that is not counted. Before that, the rows of the
jobs that read the same are compared. The JSON has the times of all rounds, wall and processor time of all processes, and
how many times as fast as the engine's own reader ours is, by the best and by the median time.
"""
import argparse
import importlib.metadata
import json
import os
import platform
import random
import statistics
import sys

from engines import timed


def polars_jobs(path, few, types):
    """{group: {reader: job}}. A job returns a frame."""
    import polars
    import pyarrow
    import cleave.polars

    def kind(name):
        return polars.from_arrow(pyarrow.array([], pyarrow.type_for_alias(name))).dtype
    schema = {name: kind(of) for name, of in {**types, **few}.items()}
    theirs = lambda: polars.scan_csv(path, schema_overrides=schema)   # noqa: E731
    ours = lambda: cleave.polars.scan_csv(path, schema=schema, infer_schema_length=0)   # noqa: E731
    return {
        "few columns": {"polars.scan_csv": lambda: theirs().select(list(few)).collect(),
                        "cleave": lambda: ours().select(list(few)).collect(),
                        "cleave, types found": lambda: cleave.polars.scan_csv(path, try_parse_dates=True)
                        .select(list(few)).collect()},
        "few columns, streaming": {"polars.scan_csv": lambda: theirs().select(list(few)).collect(engine="streaming"),
                                   "cleave": lambda: ours().select(list(few)).collect(engine="streaming")},
        "all columns": {"polars.scan_csv": lambda: theirs().collect(), "cleave": lambda: ours().collect()},
        "count": {"polars.scan_csv": lambda: theirs().select(polars.len()).collect(),
                  "cleave": lambda: ours().select(polars.len()).collect()},
    }


def ray_jobs(path, few, types):
    """Like polars_jobs. The datasets are in the object store; Ray finds types itself."""
    import pyarrow.csv
    import ray
    import cleave.ray
    schema = {**types, **few}
    options = {"parse_options": pyarrow.csv.ParseOptions(newlines_in_values=True)}
    named = {name: pyarrow.type_for_alias(of) for name, of in schema.items()}
    all_of = pyarrow.csv.ConvertOptions(column_types=named)
    few_of = pyarrow.csv.ConvertOptions(column_types=named, include_columns=list(few))
    theirs = lambda convert: ray.data.read_csv(path, convert_options=convert, **options)   # noqa: E731
    return {
        "few columns": {"ray.data.read_csv, include_columns": lambda: theirs(few_of).materialize(),
                        "cleave": lambda: cleave.ray.read_csv(path, schema=schema).select_columns(list(few))
                        .materialize()},
        "few columns, selected": {"ray.data.read_csv": lambda: theirs(all_of).select_columns(list(few)).materialize(),
                                  "cleave": lambda: cleave.ray.read_csv(path, schema=schema)
                                  .select_columns(list(few)).materialize()},
        "all columns": {"ray.data.read_csv": lambda: theirs(all_of).materialize(),
                        "cleave": lambda: cleave.ray.read_csv(path, schema=schema).materialize()},
        "count": {"ray.data.read_csv": lambda: theirs(all_of).count(),
                  "cleave": lambda: cleave.ray.read_csv(path, schema=schema).count()},
    }


def digest_of(result):
    """What is equal for the same rows."""
    if isinstance(result, int):
        return result
    if hasattr(result, "hash_rows"):   # a frame
        return result.columns, result.height, int(result.hash_rows().cast(float).sum())
    counts = [result.count()]
    for name, kind in zip(result.schema().names, result.schema().types):
        if str(kind) in ("int64", "double"):
            counts.append((name, round(result.sum(name), 3)))
    return result.schema().names, counts


def compare(groups):
    for name, jobs in groups.items():
        digests = {reader: digest_of(job()) for reader, job in jobs.items()}
        if len({str(digest) for digest in digests.values()}) != 1:
            sys.exit("%s: the readers differ: %s" % (name, digests))


def measure(groups, rounds):
    compare(groups)
    times = {group: {reader: [] for reader in jobs} for group, jobs in groups.items()}
    order = [(group, reader) for group, jobs in groups.items() for reader in jobs]
    for number in range(rounds + 1):
        for group, reader in random.sample(order, len(order)):
            _, wall, processor = timed(groups[group][reader])
            if number > 0:
                times[group][reader].append((round(wall, 4), round(processor, 2)))
    return {group: with_ratios(jobs) for group, jobs in times.items()}


def with_ratios(jobs):
    """The first reader is the engine's own."""
    own = next(iter(jobs.values()))
    report = {}
    for reader, times in jobs.items():
        walls, theirs = [wall for wall, _ in times], [wall for wall, _ in own]
        report[reader] = {"best": min(walls), "median": statistics.median(walls), "processor": min(p for _, p in times),
                          "times_as_fast_by_best": round(min(theirs) / min(walls), 2),
                          "times_as_fast_by_median": round(statistics.median(theirs) / statistics.median(walls), 2),
                          "times": times}
    return report


def start_ray(cpus):
    import ray
    import ray.data
    ray.init(num_cpus=cpus, include_dashboard=False, log_to_driver=False, logging_level="ERROR",
             object_store_memory=2 << 30)
    ray.data.DataContext.get_current().enable_progress_bars = False


def pairs(text):
    return dict(pair.split("=") for pair in text.split(",")) if text else {}


def main():
    cores = len(os.sched_getaffinity(0))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", metavar="FILE")
    parser.add_argument("--engines", default="polars,ray")
    parser.add_argument("--columns", default="id=int64,price=float64,day=date32", type=pairs, metavar="NAME=TYPE,...")
    parser.add_argument("--types", default="qty=int64,at=timestamp[s],flag=bool,ratio=float64", type=pairs,
                        metavar="NAME=TYPE,...")
    parser.add_argument("--rounds", default=7, type=int)
    parser.add_argument("--cpus", default=cores, type=int, help="of Ray's [the cores]")
    args = parser.parse_args()
    results = {"python": platform.python_version(), "linux": platform.release(), "cores": cores, "cpus": args.cpus,
               "size": os.path.getsize(args.file), "load": os.getloadavg()}
    for engine in args.engines.split(","):
        if engine == "ray":
            start_ray(args.cpus)
        types = {name: kind.replace("[s]", "[ms]") for name, kind in args.types.items()} if engine == "polars" else args.types
        groups = {"polars": polars_jobs, "ray": ray_jobs}[engine](os.path.abspath(args.file), args.columns, types)
        results[engine] = {"version": importlib.metadata.version(engine), "jobs": measure(groups, args.rounds)}
    print(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
