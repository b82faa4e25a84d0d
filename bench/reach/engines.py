#!/usr/bin/env python3
"""Times cleave's readers for Spark and Dask against the engines' own, on records with line breaks in quotes.

  engines.py [--engines spark,dask] [--size 300M] [--workers N] [--rounds 3] [--data FOLDER] [--json FILE]

Run it in a Python environment that has the package and the requirements of tests/system/reach; Spark also needs Java.
It does not use the network. To run it elsewhere, copy that environment's site-packages folder (pyspark 491 MB, pyarrow
170 MB, pandas and numpy 130 MB, the rest small except moto and sympy, which it does not need), a JRE and this file, and
set PYTHONPATH and JAVA_HOME.

Each round runs every job once, in a random order, after one round that is not counted. The table shows the best time of
each job, the ratio to the job it is compared with, and the least processor time of all processes, which a busy machine
affects less. Before that, the rows of all readers are compared: their number, and the sum of their hashes.
"""
import argparse
import importlib.metadata
import json
import os
import platform
import random
import shutil
import subprocess
import sys
import tempfile
import time

SUFFIXES = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
CHUNK_SIZE = 4 << 20
BLOCK_SIZE = 16 << 20
EXECUTOR_MB = 1024


def records(size, seed=1):
    """Writes about that many bytes of records, each with line breaks in quotes."""
    chance = random.Random(seed)
    parts, total = [], 0
    while total < size:
        lines = ["line %d of %d" % (chance.randrange(1000), total) for _ in range(chance.randrange(2, 6))]
        record = '%d,%.3f,"%s","say ""%d"",\n%d",%s\n' % (total, chance.random(), "\n".join(lines), total,
                                                         chance.randrange(10 ** 9), "abcdef"[:chance.randrange(1, 7)])
        parts.append(record)
        total += len(record)
    return "".join(parts).encode()


def make_input(path, size):
    chunk = records(CHUNK_SIZE)
    with open(path, "wb") as file:
        file.write(b"id,value,note,text,word\n")
        for _ in range(max(1, size // len(chunk))):
            file.write(chunk)


def processor_time():
    """{process: seconds} for this process and all its descendants."""
    parents, seconds = {}, {}
    for number in map(int, filter(str.isdigit, os.listdir("/proc"))):
        try:
            with open("/proc/%d/stat" % number, encoding="utf-8", errors="replace") as file:
                fields = file.read().rpartition(")")[2].split()
        except OSError:   # the process has ended
            continue
        parents[number] = int(fields[1])
        seconds[number] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def is_ours(number):
        while number in parents and number != os.getpid():
            number = parents[number]
        return number == os.getpid()
    return {number: value for number, value in seconds.items() if is_ours(number)}


def timed(job):
    """Runs a job. Returns its result, the seconds and the processor seconds."""
    before, begin = processor_time(), time.perf_counter()
    result = job()
    taken, after = time.perf_counter() - begin, processor_time()
    return result, taken, sum(value - before.get(number, 0) for number, value in after.items())


class Spark:
    """Spark readers, each with the sink `noop`, which takes all columns of all rows. Executors have one core each."""

    def __init__(self, path, workers):
        os.environ.update(PYSPARK_PYTHON=sys.executable, SPARK_LOCAL_IP="127.0.0.1")
        from pyspark.sql import SparkSession
        from cleave.spark import CleaveDataSource
        self.path, self.workers = path, workers
        self.session = (SparkSession.builder.master("local-cluster[%d,1,%d]" % (workers, EXECUTOR_MB))
                        .appName("cleave bench").config("spark.ui.enabled", "false")
                        .config("spark.ui.showConsoleProgress", "false")
                        .config("spark.executor.memory", "%dm" % (EXECUTOR_MB - 100))
                        .config("spark.driver.host", "127.0.0.1").getOrCreate())
        self.session.sparkContext.setLogLevel("OFF")
        self.session.dataSource.register(CleaveDataSource)

    def jobs(self):
        return {"spark.read.csv, multiLine": (self.by_spark, None),
                'spark.read.format("cleave")': (self.by_cleave, "spark.read.csv, multiLine"),
                "cleave.spark.read_csv": (self.by_first_job, "spark.read.csv, multiLine")}

    def by_spark(self):
        return self.session.read.csv(self.path, header=True, multiLine=True, escape='"')

    def by_cleave(self):
        return self.session.read.format("cleave").option("blocksize", BLOCK_SIZE).load(self.path)

    def by_first_job(self):
        from cleave.spark import read_csv
        return read_csv(self.session, self.path, blocksize=BLOCK_SIZE)

    def time(self, reader):
        return timed(lambda: reader().write.format("noop").mode("overwrite").save())[1:]

    def digest(self, reader):
        from pyspark.sql import functions
        frame = reader()
        hashed = functions.xxhash64(*[functions.col(name) for name in frame.columns]).cast("decimal(38,0)")
        count, total = frame.select(functions.count("*"), functions.sum(hashed)).first()
        return frame.columns, count, str(total)

    def close(self):
        self.session.stop()


class Dask:
    """The frame from cleave.dask, in the memory of worker processes and gathered in one process; and pandas in one
    process."""

    def __init__(self, path, workers, folder):
        import distributed
        self.path, self.workers = path, workers
        self.cluster = distributed.LocalCluster(n_workers=workers, threads_per_worker=1, processes=True,
                                                dashboard_address=None, local_directory=folder)
        self.client = distributed.Client(self.cluster)
        self.client.wait_for_workers(workers, timeout=120)

    def jobs(self):
        return {"pandas.read_csv": (self.by_pandas, None),
                "cleave.dask, in the workers": (self.in_workers, "pandas.read_csv"),
                "cleave.dask, gathered": (self.gathered, "pandas.read_csv")}

    def by_pandas(self):
        import pandas
        return pandas.read_csv(self.path, dtype=str, keep_default_na=False, na_values=[""], index_col=False)

    def frame(self):
        import cleave.dask
        return cleave.dask.read_csv(self.path, blocksize=BLOCK_SIZE, delimiter=",")

    def in_workers(self):
        import distributed
        persisted = self.frame().persist()
        distributed.wait(persisted)
        return persisted

    def gathered(self):
        return self.frame().compute()

    def time(self, reader):
        return timed(reader)[1:]

    def digest(self, reader):
        import pandas
        found = reader()
        if hasattr(found, "compute"):
            found = found.compute()
        found = found.astype("string[python]").astype(object)
        hashes = pandas.util.hash_pandas_object(found, index=False)
        return found.columns.tolist(), len(found), str(int(hashes.sum()))

    def close(self):
        self.client.close()
        self.cluster.close()


def measure(engine, rounds):
    """{job: [(seconds, processor seconds) of each round]}, measured after all jobs have returned the same rows."""
    jobs = engine.jobs()
    digests = {name: engine.digest(reader) for name, (reader, _) in jobs.items()}
    if len({str(digest) for digest in digests.values()}) != 1:
        sys.exit("the readers differ: %s" % digests)
    times = {name: [] for name in jobs}
    for number in range(rounds + 1):
        for name in random.sample(list(jobs), len(jobs)):
            taken = engine.time(jobs[name][0])
            if number > 0:
                times[name].append(taken)
    return next(iter(digests.values()))[1], times


def java_version():
    home = os.environ.get("JAVA_HOME")
    java = os.path.join(home, "bin", "java") if home else "java"
    said = subprocess.run([java, "-version"], capture_output=True, text=True).stderr.split("\n")[0]
    return said.replace('"', "")


def versions(names):
    return ", ".join("%s %s" % (name, importlib.metadata.version(name)) for name in names)


def report(title, engine, count, size, times):
    print("\n%s; %d workers; %d rows, %.0f MB\n" % (title, engine.workers, count, size / 1e6))
    print("| job | best | processor | MB/s | beside | times as fast |\n|---|---|---|---|---|---|")
    best = {name: min(wall for wall, _ in values) for name, values in times.items()}
    for name, (_, beside) in engine.jobs().items():
        ratio = "%.2f" % (best[beside] / best[name]) if beside else ""
        used = min(used for _, used in times[name])
        print("| `%s` | %.2f s | %.2f s | %.0f | %s | %s |" % (
            name, best[name], used, size / best[name] / 1e6, beside or "", ratio), flush=True)


def size_of(text):
    return int(text[:-1]) * SUFFIXES[text[-1]] if text[-1] in SUFFIXES else int(text)


def main():
    cores = len(os.sched_getaffinity(0))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engines", default="spark,dask")
    parser.add_argument("--size", default="300M", type=size_of, help="of the input")
    parser.add_argument("--workers", default=min(4, cores), type=int, help="processes [the cores, at most 4]")
    parser.add_argument("--rounds", default=3, type=int)
    parser.add_argument("--data", default="/dev/shm", help="where a folder for the input is made")
    parser.add_argument("--json", metavar="FILE", help="every time, in seconds")
    args = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="cleave-engines-", dir=args.data)
    results = {}
    try:
        path = os.path.join(folder, "in.csv")
        make_input(path, args.size)
        size = os.path.getsize(path)
        print("Python %s, %d cores, Linux %s; best of %d" % (platform.python_version(), cores, platform.release(),
                                                           args.rounds))
        for name in args.engines.split(","):
            if name == "spark":
                title = versions(["cleave-csv", "pyspark", "pyarrow"]) + ", " + java_version()
                engine = Spark(path, args.workers)
            else:
                title = versions(["cleave-csv", "dask", "distributed", "pandas", "pyarrow"])
                engine = Dask(path, args.workers, folder)
            count, times = measure(engine, args.rounds)
            report(title, engine, count, size, times)
            engine.close()
            results[name] = {"versions": title, "workers": args.workers, "rows": count, "size": size, "times": times}
        if args.json:
            with open(args.json, "w", encoding="utf-8") as file:
                json.dump(results, file, indent=1)
                file.write("\n")
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
