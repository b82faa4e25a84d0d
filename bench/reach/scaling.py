#!/usr/bin/env python3
"""Compares N processes on ranges with one process of N threads. Needs only the binary and Python's standard library.

  scaling.py --cleave PATH [--counts 1,2,4] [--size 2G] [--ambiguous] [--rounds 5] [--data FOLDER] [--json FILE]

By ranges: N processes of `cleave scan -j 1 --bytes`, then `cleave plan`, then N processes of `cleave cat -j 1 --plan -n
K` into N files. By threads: `cleave count -j N` and `cleave split -j N -n N`. The input and all output are in one
folder, which should be in memory (tmpfs). Each round runs every job once, in a random order; the table shows the best
time of each, and ratios of the best times. Before the first round, the pieces from both methods are compared byte for
byte.
"""
import argparse
import filecmp
import json
import os
import platform
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

DIALECT = ["-d", ",", "--terminator", "lf", "--quiet"]
SUFFIXES = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
CHUNK_SIZE = 4 << 20


def records(size, ambiguous, seed=1):
    """Writes about that many bytes of records; in every fourth one a quoted field has line breaks, delimiters and
    quotes. If `ambiguous`, that field ends with a line break, so a reader that is wrong about the quotes takes the
    closing quote for an opening one, and so on to the end of the file."""
    chance = random.Random(seed)
    parts, total = [], 0
    while total < size:
        note = " ".join("word%d" % chance.randrange(10000) for _ in range(chance.randrange(2, 9)))
        if chance.random() < 0.25:
            note = '"%s,\nsaid ""%s""%s"' % (note, note[:8], "\n" if ambiguous else " twice")
        record = "%d,%s,%s,2026-%02d-%02d\n" % (chance.randrange(10 ** 9), chance.random(), note,
                                                chance.randrange(1, 13), chance.randrange(1, 29))
        parts.append(record)
        total += len(record)
    return "".join(parts).encode()


def make_input(path, size, ambiguous):
    chunk = records(CHUNK_SIZE, ambiguous)
    with open(path, "wb") as file:
        file.write(b"id,value,note,day\n")
        for _ in range(max(1, size // len(chunk))):
            file.write(chunk)


def run_all(commands, outputs):
    """Runs the commands at the same time, each into its own file; returns the seconds."""
    begin = time.perf_counter()
    running = []
    for command, output in zip(commands, outputs):
        with open(output, "wb") as file:
            running.append(subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file))
    codes = [process.wait() for process in running]
    taken = time.perf_counter() - begin
    if any(codes):
        sys.exit("%s: exit statuses %s" % (commands[0], codes))
    return taken


class Jobs:
    """The timed jobs for one N."""

    def __init__(self, cleave, path, folder, count):
        self.cleave, self.path, self.folder, self.count = cleave, path, folder, count
        self.size = os.path.getsize(path)
        self.plan_file = self.out("plan.json")
        self.summaries = [self.out("range.%d.json" % number) for number in range(count)]

    def out(self, name):
        return os.path.join(self.folder, name)

    def pieces(self, name):
        """The names of the pieces, with equally wide numbers, as split writes them."""
        width = len(str(self.count))
        return [self.out("%s.%0*d.csv" % (name, width, number)) for number in range(1, self.count + 1)]

    def scan(self):
        ends = [self.size * number // self.count for number in range(self.count + 1)]
        return run_all([[self.cleave, "scan", "-j", "1", *DIALECT, "--range", "%d-%d" % pair, self.path]
                        for pair in zip(ends, ends[1:])], self.summaries)

    def plan(self):
        return run_all([[self.cleave, "plan", "-n", str(self.count), *self.summaries]], [self.plan_file])

    def cat(self):
        return run_all([[self.cleave, "cat", "-j", "1", "--plan", self.plan_file, "-n", str(number), self.path]
                        for number in range(1, self.count + 1)], self.pieces("range"))

    def by_ranges(self):
        self.remove(self.pieces("range"))
        scan, plan, cat = self.scan(), self.plan(), self.cat()
        return {"scan": scan, "plan": plan, "cat": cat, "ranges": scan + plan + cat}

    def by_threads(self):
        self.remove(self.pieces("split"))
        threads = ["-j", str(self.count), *DIALECT]
        split = run_all([[self.cleave, "split", *threads, "-n", str(self.count), "-o",
                          self.out("split.{i}.csv"), self.path]], [os.devnull])
        return {"split": split}

    def counted(self):
        return {"count": run_all([[self.cleave, "count", "-j", str(self.count), *DIALECT, self.path]],
                                 [self.out("count.txt")])}

    @staticmethod
    def remove(paths):
        for path in paths:
            if os.path.exists(path):
                os.unlink(path)

    def check(self):
        """Compares the pieces from both methods, and the count of records."""
        self.by_ranges()
        self.by_threads()
        self.counted()
        for one, other in zip(self.pieces("range"), self.pieces("split")):
            if not filecmp.cmp(one, other, shallow=False):
                sys.exit("%s and %s differ" % (one, other))
        with open(self.plan_file, encoding="utf-8") as file:
            plan = json.load(file)
        with open(self.out("count.txt"), encoding="utf-8") as file:
            if int(file.read()) != plan["records"] - plan["header"]["records"]:
                sys.exit("the plan has another number of records")


def measure(jobs, rounds):
    """{name: [seconds of each round]}"""
    times = {}
    order = [jobs.by_ranges, jobs.by_threads, jobs.counted]
    for _ in range(rounds):
        random.shuffle(order)
        for job in order:
            for name, seconds in job().items():
                times.setdefault(name, []).append(seconds)
    return times


def cpu_name():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return next(line.split(":")[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.machine()


def table(results, size):
    lines = ["| N | scan | count | scan/count | plan | cat | by ranges | split | ratio | GB/s by ranges | speed-up |",
             "|---|---|---|---|---|---|---|---|---|---|---|"]
    first = None
    for count, times in results:
        best = {name: min(values) for name, values in times.items()}
        first = first or best["ranges"]
        ms = {name: "%.4g ms" % (1e3 * seconds) for name, seconds in best.items()}
        lines.append("| %d | %s | %s | %.2f | %s | %s | %s | %s | %.2f | %.1f | %.2f |" % (
            count, ms["scan"], ms["count"], best["scan"] / best["count"], ms["plan"], ms["cat"], ms["ranges"],
            ms["split"], best["ranges"] / best["split"], size / best["ranges"] / 1e9, first / best["ranges"]))
    return "\n".join(lines)


def size_of(text):
    return int(text[:-1]) * SUFFIXES[text[-1]] if text[-1] in SUFFIXES else int(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cleave", required=True, metavar="PATH", help="the binary")
    parser.add_argument("--counts", default="", help="numbers of processes and threads [powers of two up to the cores]")
    parser.add_argument("--size", default="2G", type=size_of, help="of the input; twice as much is written beside it")
    parser.add_argument("--ambiguous", action="store_true", help="a reader that is wrong about the quotes stays wrong")
    parser.add_argument("--rounds", default=5, type=int)
    parser.add_argument("--data", default="/dev/shm", help="where a folder for the input and the output is made")
    parser.add_argument("--json", metavar="FILE", help="every time, in seconds")
    args = parser.parse_args()
    cores = len(os.sched_getaffinity(0))
    counts = [int(word) for word in args.counts.split(",")] if args.counts else [
        1 << power for power in range(cores.bit_length())]
    cleave = os.path.abspath(args.cleave)
    version = subprocess.run([cleave, "--version"], capture_output=True, text=True, check=True).stdout.split("\n")[0]
    folder = tempfile.mkdtemp(prefix="cleave-scaling-", dir=args.data)
    try:
        path = os.path.join(folder, "in.csv")
        make_input(path, args.size, args.ambiguous)
        size = os.path.getsize(path)
        print("%s; %s, %d cores; Linux %s; %.2f GB in %s, best of %d\n" % (
            version, cpu_name(), cores, platform.release(), size / 1e9, args.data, args.rounds))
        results = []
        for count in counts:
            jobs = Jobs(cleave, path, folder, count)
            jobs.check()
            results.append((count, measure(jobs, args.rounds)))
            Jobs.remove(jobs.pieces("range") + jobs.pieces("split"))
        print(table(results, size))
        for count, times in results:
            ratios = [a / b for a, b in zip(times["ranges"], times["split"])]
            print("\nN = %d: the ratios to split in each round are %s, their median %.2f" % (
                count, " ".join("%.2f" % ratio for ratio in ratios), statistics.median(ratios)))
        if args.json:
            with open(args.json, "w", encoding="utf-8") as file:
                json.dump({"version": version, "cpu": cpu_name(), "cores": cores, "size": size,
                           "times": {str(count): times for count, times in results}}, file, indent=1)
                file.write("\n")
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
