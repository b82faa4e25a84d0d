#!/usr/bin/env python3
"""Times Spark's typed multiLine reader and cleave's, and `count()` of both; or cleave.dask and pandas.

  typed.py --input FILE [--engine spark|dask] [--cores N] [--rounds 7] [--json FILE] [--columns WORDS]

FILE has a header, and `--columns` names three of its columns with their types, as in "id int, price double, day date";
`--schema` gives the types of all of them. The environment is that of `engines.py`. Each round runs every job once, in a
random order, after one round that is not counted; all jobs must give the same results. Prints JSON: for each job the
best and the median time, the least processor time of all processes, and the ratio to the job it is compared with.
"""
import argparse
import json
import os
import random
import statistics
import sys

from engines import timed

SCHEMA = ("id int, name string, city string, price double, qty int, day date, at timestamp, flag boolean, note string, "
          "mail string, code string, ratio double")
COLUMNS = "id int, price double, day date"


def spark_jobs(args):
    os.environ.update(PYSPARK_PYTHON=sys.executable, SPARK_LOCAL_IP="127.0.0.1")
    from pyspark.sql import SparkSession, functions
    import cleave.spark
    session = (SparkSession.builder.master("local[%d]" % args.cores).appName("cleave bench")
               .config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false")
               .config("spark.driver.host", "127.0.0.1").config("spark.driver.memory", "4g").getOrCreate())
    session.sparkContext.setLogLevel("OFF")
    session.dataSource.register(cleave.spark.CleaveDataSource)
    names = [word.split()[0] for word in args.columns.split(",")]

    def own():
        return session.read.schema(args.schema).csv(args.input, header=True, multiLine=True, escape='"')

    def summed(frame):
        # The sum of floats depends on their order, so their number and their maximum stand in for it.
        return str(frame.agg(*[function(name) for name in names for function in (functions.max, functions.count)]).first())

    block = args.blocksize or min(64 << 20, os.path.getsize(args.input) // args.cores + 1)
    return {
        "spark": (lambda: summed(own()), None),
        "cleave": (lambda: summed(session.read.format("cleave").option("blocksize", block).schema(args.columns)
                                  .load(args.input)), "spark"),
        "cleave read_csv": (lambda: summed(cleave.spark.read_csv(session, args.input, schema=args.columns,
                                                                 blocksize=block)), "spark"),
        "spark count": (lambda: own().count(), None),
        "cleave count": (lambda: cleave.spark.count(session, args.input, blocksize=block), "spark count"),
    }


def dask_jobs(args):
    import dask
    import pandas
    import cleave.dask
    dask.config.set(scheduler="threads", num_workers=args.cores)
    kinds = {"int": "int64", "double": "float64", "date": "datetime64[us]", "string": "string"}
    types = {name: kinds[kind] for name, kind in (word.split() for word in args.columns.split(","))}
    dates = [name for name, kind in types.items() if kind.startswith("datetime")]

    def summed(frame):
        return str([(name, frame[name].max()) for name in types])

    return {
        "pandas": (lambda: summed(pandas.read_csv(args.input, usecols=list(types), parse_dates=dates)), None),
        "cleave": (lambda: summed(cleave.dask.read_csv(args.input, columns=list(types), dtype=types, delimiter=",",
                                                       blocksize=args.blocksize or "64MiB").compute()), "pandas"),
    }


def measured(jobs, rounds):
    times, results = {name: [] for name in jobs}, {name: set() for name in jobs}
    for number in range(rounds + 1):
        for name in random.sample(list(jobs), len(jobs)):
            result, *taken = timed(jobs[name][0])
            results[name].add(str(result))
            if number > 0:
                times[name].append(taken)
    for name, (_, beside) in jobs.items():
        if len(results[name]) != 1 or beside is not None and results[name] != results[beside]:
            sys.exit("the results differ: %s" % results)
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--input", required=True, metavar="FILE")
    parser.add_argument("--engine", default="spark", choices=["spark", "dask"])
    parser.add_argument("--cores", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--blocksize", type=int, help="of a piece, in bytes [the default of 64 MiB or, if that is less, a piece a core]")
    parser.add_argument("--columns", default=COLUMNS)
    parser.add_argument("--schema", default=SCHEMA)
    parser.add_argument("--json", metavar="FILE", help="every time, in seconds")
    args = parser.parse_args()
    args.input = os.path.abspath(args.input)
    jobs = (spark_jobs if args.engine == "spark" else dask_jobs)(args)
    times = measured(jobs, args.rounds)
    best = {name: min(wall for wall, _ in taken) for name, taken in times.items()}
    summary = {
        name: {
            "best_s": round(best[name], 3),
            "median_s": round(statistics.median(wall for wall, _ in taken), 3),
            "processor_s": round(min(used for _, used in taken), 3),
            **({"beside": jobs[name][1], "ratio": round(best[name] / best[jobs[name][1]], 3)} if jobs[name][1] else {}),
        }
        for name, taken in times.items()
    }
    about = {"engine": args.engine, "cores": args.cores, "size": os.path.getsize(args.input), "load": os.getloadavg(),
             "jobs": summary}
    print(json.dumps(about, indent=1))
    if args.json:
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump({**about, "times": times}, file, indent=1)
            file.write("\n")


if __name__ == "__main__":
    main()
