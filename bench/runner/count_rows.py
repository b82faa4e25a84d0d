"""Rows on finding records: compared with memory speed, the loop of 2021 and other tools; more cores; hard input."""

import json
import subprocess
import sys
from pathlib import Path

from .bench import ROOT, Bench, Verdict, size_name, speed
from .checks import CHUNK, covers, says
from .measure import Contestant
from .tools import counters

# Ratios to the ceiling's speed, by threads: reached on a 2-core Sapphire Rapids on 2026-11-21, and the goal.
MUST = {"count": {1: ">= 0.93", 2: ">= 0.91"}, "offsets -l": {1: ">= 0.84", 2: ">= 0.84"}}
GOAL = {"count": ">= 0.97", "offsets -l": ">= 0.93"}
SLOW_SIZE = 256 << 20
LADDER_SLOW_SIZE = 16 << 20
THREADS = (1, 2, 4, 8, 16)
KERNELS = ("./dev bench-kernels",)


def ceiling(bench: Bench) -> None:
    """count and offsets, compared with a loop that only reads and with the loop of 2021."""
    for kind in ("plain", "quoted"):
        path = bench.input(kind)
        size, records = path.stat().st_size, bench.records(path)
        for threads in (1, 2):
            with_threads = "1 thread" if threads == 1 else f"{threads} threads"
            j = ("-j", threads)
            ours = [
                bench.run("count", "count", *j, path),
                bench.run("offsets -n 10", "offsets", "-n", 10, *j, path),
                bench.run("offsets -C", "offsets", "-C", size_name(bench.size // 20), *j, path),
                bench.run("offsets -l", "offsets", "-l", max(1, min(1_000_000, records // 20)), *j, path),
            ]
            ours[0].check = says(records)
            for contestant in ours[1:]:
                contestant.check = covers(size, records)
            old = bench.loop2021(path, threads)
            limit = bench.ceiling(path, threads)
            title = f"count and offsets, {kind}, {with_threads}"
            race = bench.race(f"ceiling/{kind}/{threads}", title, size, [*ours, limit, *([old] if old else [])])
            for contestant in ours:
                row = f"{contestant.name}, {kind}, {with_threads}, of the ceiling's speed"
                must = MUST.get(contestant.name, {}).get(threads, "")
                bench.compare_speed(race, row, contestant.name, limit.name, must, GOAL.get(contestant.name, ""))
            row = f"count, {kind}, {with_threads}, over the loop of 2021"
            bench.compare_speed(race, row, "count", f"loop of 2021, {threads}")


def cores(bench: Bench) -> None:
    """count and offsets -l with 1, 2, 4... threads, up to the number of cores, against threads that only read."""
    path = bench.input("quoted")
    size, records = path.stat().st_size, bench.records(path)
    for threads in (count for count in THREADS if count <= bench.threads()):
        j = ("-j", threads)
        count = bench.run("count", "count", *j, path)
        offsets = bench.run("offsets -l", "offsets", "-l", max(1, records // 20), *j, path)
        count.check, offsets.check = says(records), covers(size, records)
        limit = bench.ceiling(path, threads)
        race = bench.race(f"cores/{threads}", f"count and offsets, quoted, -j {threads}", size, [count, offsets, limit])
        for contestant in (count, offsets):
            row = f"{contestant.name}, -j {threads}, of the ceiling's speed"
            bench.compare_speed(race, row, contestant.name, limit.name, goal=GOAL[contestant.name])


def cached(bench: Bench) -> None:
    """One block in the level 2 cache: our best kernel against the loop of 2021."""
    speeds = kernel_speeds(bench, "^(summarise/.*|loop2021)/(plain|quoted)$")
    for kind in ("plain", "quoted"):
        old = speeds.get(f"loop2021/{kind}")
        if old is None:
            bench.skip(f"in L2, {kind}: the loop of 2021 is for x86 alone")
            continue
        name, ours = best_kernel(speeds, "summarise", kind)
        bench.verdict(Verdict(f"{name} kernel in L2, {kind}, over the loop of 2021", ours / old, "×", "", commands=KERNELS))


def ladder(bench: Bench) -> None:
    """The steps of the article of 2021, from Python to its loop, and count, with and without an escape."""
    if not Path(bench.program("loop2021_main")).exists():
        bench.skip("the ladder: the loop of 2021 is for x86 alone")
        return
    for kind in ("quoted", "dense"):
        slow, path = bench.input(kind, LADDER_SLOW_SIZE), bench.input(kind, bench.size // 4)
        for escape in ([], ["escape"]):
            name = f"{kind}, with an escape" if escape else kind
            python = Contestant("Python", [sys.executable, str(ROOT / "bench/ladder.py"), str(slow), *escape])
            python.check = says(bench.records(slow) + 1)
            bench.race(f"ladder/{name}/python", f"the ladder's first step, {name}", slow.stat().st_size, [python])
            program, lines = bench.program("loop2021_main"), says(bench.records(path) + 1)
            steps = [
                Contestant(step, [program, str(path), word, *escape], check=lines)
                for step, word in (("states in C", "states"), ("nested loops", "nested"), ("loop of 2021", "blocks"))
            ]
            options = ("-e", "\\") if escape else ()
            ours = [bench.run(f"cleave count -j {j}", "count", "-j", j, *options, path) for j in (1, 2)]
            for contestant in ours:
                contestant.check = says(bench.records(path))
            race = bench.race(f"ladder/{name}", f"the ladder, {name}", path.stat().st_size, [*steps, *ours])
            bench.compare_speed(race, f"count, 1 thread, {name}, over the loop of 2021", ours[0].name, "loop of 2021")


def shapes(bench: Bench) -> None:
    """count on every kind of record, to show that performance has no cliff."""
    size = bench.size // 4
    for kind in ("dense", "crlf", "onebyte", "embedded", "escapes", "giant"):
        path = bench.input(kind, size)
        escape = ["-e", "\\"] if kind == "escapes" else []
        contestant = bench.run("count", "count", *escape, path)
        contestant.check = says(bench.records(path))
        limit = bench.ceiling(path, bench.threads())
        race = bench.race(f"shapes/{kind}", f"count, {kind}", path.stat().st_size, [contestant, limit])
        bench.compare_speed(race, f"count, {kind}, of the ceiling's speed", "count", limit.name)


def stray(bench: Bench) -> None:
    """Quotes in unquoted fields on every line, so that the state machine has to examine each."""
    path = bench.input("stray", bench.size // 4)
    size, records = path.stat().st_size, bench.records(path)
    count = bench.run("count, 1 thread", "count", "-j", 1, path)
    both = bench.run("count", "count", path)
    offsets = bench.run("offsets -l", "offsets", "-l", bench.records_in(path, size // 10), path)
    count.check = both.check = says(records)
    offsets.check = covers(size, records)
    race = bench.race("stray", "stray quotes on every line", size, [count, both, offsets, bench.ceiling(path, 1)])
    speeds = kernel_speeds(bench, "^(walk/.*|state_machine)/stray$")
    alone = speeds["state_machine/stray"]
    figure = speed(race, race.times[count.name]) / 1e9
    bench.verdict(Verdict("count, stray quotes, 1 thread", figure, "GB/s", ">= 0.5", commands=(race.times[count.name].command,)))
    bench.verdict(Verdict("the same, over the state machine alone in L2", figure * 1e9 / alone, "×", "", commands=KERNELS))


def kernel_speeds(bench: Bench, pattern: str) -> dict[str, float]:
    """Bytes per second of scan_bench's benchmarks, the best of the rounds."""
    command = [
        bench.program("scan_bench"),
        f"--benchmark_filter={pattern}",
        "--benchmark_format=json",
        "--benchmark_min_time=0.1",
        f"--benchmark_repetitions={bench.rounds}",
        "--benchmark_enable_random_interleaving=true",
    ]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    speeds: dict[str, list[float]] = {}
    for run in json.loads(output)["benchmarks"]:
        if run.get("error_occurred"):
            raise RuntimeError(f"{run['name']}: {run['error_message']}")
        if run["run_type"] == "iteration":
            speeds.setdefault(run["run_name"], []).append(run["bytes_per_second"])
    bench.results.kernels.update({name: max(values) for name, values in speeds.items()})
    bench.results.kernel_commands.append(bench.shown(command))
    return {name: max(values) for name, values in speeds.items()}


def best_kernel(speeds: dict[str, float], stage: str, sample: str) -> tuple[str, float]:
    kernels = {name: value for name, value in speeds.items() if name.startswith(stage) and name.endswith(sample)}
    name = max(kernels, key=kernels.__getitem__)
    return name.split("/")[1], kernels[name]


def peers(bench: Bench) -> None:
    """count against other people's tools. A tool that gives a wrong answer stays in the table, with its answer."""
    for kind in ("quoted", "plain"):
        path = bench.input(kind)
        beside(bench, f"peers/{kind}", f"counting records, {kind}", path, counters(bench, path))
    path = bench.input("quoted", min(bench.size, SLOW_SIZE))
    title = f"counting records, quoted, {size_name(min(bench.size, SLOW_SIZE))}"
    beside(bench, "peers/slow", title, path, counters(bench, path, is_slow=True))


def beside(bench: Bench, name: str, title: str, path: Path, tools: list[Contestant]) -> None:
    records = bench.records(path)
    ours = bench.run("cleave count", "count", path)
    alone = bench.run("cleave count -j 1", "count", "-j", 1, path)
    for contestant in (ours, alone, *tools):
        contestant.check = says(records)
    lines = Contestant("wc -l", ["wc", "-l", str(path)], check=says(newlines(path)), is_peer=True)
    contestants = [ours, alone, *tools, lines, bench.ceiling(path, bench.threads())]
    race = bench.race(name, title, path.stat().st_size, contestants)
    kind = title.removeprefix("counting records, ")
    for tool in tools:
        bench.compare_speed(race, f"count, {kind}, over {tool.name}", ours.name, tool.name)
    bench.compare_speed(race, f"count, {kind}, over wc -l, which counts lines", ours.name, lines.name)


def newlines(path: Path) -> int:
    """Counts newlines with a loop that shares nothing with the measured programs."""
    with path.open("rb") as file:
        return sum(chunk.count(b"\n") for chunk in iter(lambda: file.read(CHUNK), b""))
