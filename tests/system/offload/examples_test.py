#!/usr/bin/env python3
"""Runs the programs of examples/offload/ on the CPU and on a simulated device, and compares what they print with other
programs of the same workloads, here.

  examples_test.py --examples DIRECTORY --module SIMULATED_MODULE
"""
import argparse
import difflib
import math
import os
import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "tools"))
from verdicts import Tally, check  # noqa: E402

ROOT = Path(__file__).resolve().parents[3]
COUNT = 20_000  # rows, which are several chunks of work
PLACES = 140_000  # rows whose columns are large enough to be copied in parts
POINTS = 900  # fewer, because they are compared with each other
STATES = ("Alabama", "Alaska", "Arizona", "California", "Massachusetts", "New Jersey", "New York", "North Carolina", "Ohio",
          "West Virginia")


def random(i, kind):
    """The generator of inputs.cpp."""
    word = 2**64 - 1
    z = (i + (kind << 40)) * 0x9E3779B97F4A7C15 & word
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & word
    z = (z ^ z >> 27) * 0x94D049BB133111EB & word
    return ((z ^ z >> 31) >> 11) * 2.0**-53


def uniform(least, most, kind, count=COUNT):
    return [least + (most - least) * random(i, kind) for i in range(count)]


def blackscholes():
    """Options: numbers"""
    def normal(x):
        return 0.5 + 0.5 * math.erf(x / math.sqrt(2))

    total, rate, volatility = 0.0, 0.02, 0.3
    for price, strike, years in zip(uniform(10, 100, 1), uniform(10, 100, 2), uniform(0.25, 10, 3)):
        spread = volatility * math.sqrt(years)
        d1 = (math.log(price / strike) + (rate + volatility**2 / 2) * years) / spread
        total += price * normal(d1) - strike * math.exp(-rate * years) * normal(d1 - spread)
    return total


def haversine():
    """Distances: numbers"""
    total = 0.0
    for latitude, longitude in zip(uniform(-1.5, 1.5, 4, PLACES), uniform(-3, 3, 5, PLACES)):
        up, along = math.sin((0.73935 - latitude) / 2), math.sin((-1.24016 - longitude) / 2)
        a = up**2 + math.cos(latitude) * math.cos(0.73935) * along**2
        total += 2 * 3959 * math.asin(math.sqrt(a))
    return total / PLACES


def crime_index():
    """Cities: texts, numbers and a filter"""
    total = 0.0
    for i, row in enumerate(zip(uniform(1e4, 2e6, 6), uniform(5e3, 1e6, 7), uniform(0, 1000, 8))):
        population, adults, robberies = row
        if population > 500000 and STATES[int(random(i, 1) * len(STATES))].startswith("New "):
            index = (population + 2 * adults - 2000 * robberies) / 100000
            total += 32 if index > 30 else 5 if index < 10 else index
    return total


def dbscan():
    """Clusters: the CPU does what the device cannot"""
    side = math.sqrt(POINTS) / 2 + 1

    def place(i, kind):
        if i % 10 == 0:
            return side * random(i, kind)
        return side * random(i // 1024, kind + 1) + 5 * (random(i, kind + 2) + random(i, kind + 3) - 1)

    points = [(place(i, 10), place(i, 20)) for i in range(POINTS)]
    close = [[k for k, b in enumerate(points) if (a[0] - b[0])**2 + (a[1] - b[1])**2 <= 1] for a in points]
    core = [len(near) >= 10 for near in close]
    seen, clusters = set(), 0
    for start in range(POINTS):
        if not core[start] or start in seen:
            continue
        clusters += 1
        path = [start]
        while path:
            point = path.pop()
            if point not in seen:
                seen.add(point)
                path += [k for k in close[point] if core[k]]
    noise = sum(not any(core[k] for k in near) for near in close)
    return "%d clusters, %d points of noise" % (clusters, noise)


def run(examples, name, count, **environment):
    """What the program prints, and where its functions ran."""
    known = {key: value for key, value in os.environ.items() if not key.startswith("OFFLOAD_")}
    done = subprocess.run([os.path.join(examples, "example_offload_" + name), str(count)], capture_output=True, text=True,
                          timeout=120, env={**known, "OFFLOAD_EXPLAIN": "1", **environment})
    check(done.returncode == 0, "%s %s succeeds: %s" % (name, environment, done.stderr))
    return done.stdout.strip(), done.stderr.splitlines()


def is_same(printed, wanted):
    return printed == wanted if isinstance(wanted, str) else abs(float(printed) - wanted) <= 1e-8 * abs(wanted)


def places(examples, module, workload):
    name, wanted = workload.__name__, workload()
    count = {"dbscan": POINTS, "haversine": PLACES}.get(name, COUNT)
    on_host = {"grid", "join"}
    for environment in ({}, {"OFFLOAD_DEVICE": module}, {"OFFLOAD_DEVICE": module, "OFFLOAD_MEMORY": str(count * 24)}):
        place = "host" if not environment else "device in pages" if len(environment) > 1 else "device"
        if name == "dbscan" and place == "device in pages":
            continue  # it needs all points at once
        printed, ran = run(examples, name, count, **environment)
        check(is_same(printed, wanted), "%s on the %s: %s is %s" % (name, place, printed, wanted))
        for line in ran:
            function = re.sub(r" (host|device)( in pages)?$", "", line)
            where = "host" if function in on_host else place
            check(line == "%s %s" % (function, where), "%s on the %s: %s" % (name, place, line))
        check(ran, "%s says where it ran" % name)


def one_line(examples, module):
    """A plain program and an annotated one: the difference is what the page says"""
    plain, _ = run(examples, "haversine_plain", COUNT)
    annotated, ran = run(examples, "haversine", COUNT, OFFLOAD_DEVICE=module)
    check(ran and all(line.endswith(" device") for line in ran), "the annotated program ran on the device: %s" % ran)
    check(is_same(annotated, float(plain)), "%s is %s" % (annotated, plain))
    lines = [(ROOT / "examples/offload" / name).read_text(encoding="utf-8").splitlines()
             for name in ("haversine_plain.cpp", "haversine.cpp")]
    differ = [line for line in difflib.unified_diff(*lines, n=0, lineterm="") if re.match("[-+][^-+]", line)]
    page = (ROOT / "doc/guide/devices.md").read_text(encoding="utf-8")
    check(len(differ) == 4 and "```diff\n%s\n```" % "\n".join(differ) in page, "doc/guide/devices.md shows %s" % differ)


def errors(examples, _):
    """A missing module is named"""
    done = subprocess.run([os.path.join(examples, "example_offload_haversine"), "1"], capture_output=True, text=True,
                          timeout=120, env={**os.environ, "OFFLOAD_DEVICE": "/no/such/module.so"})
    check(done.returncode == 1 and "no module" in done.stderr, "a missing module is named: " + done.stderr)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--examples", required=True)
    parser.add_argument("--module", required=True)
    arguments = parser.parse_args()
    module = arguments.module + ":100000000"  # bytes of memory
    tally = Tally()
    for workload in (blackscholes, haversine, crime_index, dbscan):
        tally.run(workload.__doc__, lambda: places(arguments.examples, module, workload))
    for test in (one_line, errors):
        tally.run(test.__doc__, lambda: test(arguments.examples, module))
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
