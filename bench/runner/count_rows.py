"""Rows on finding records: against the memory, the loop of 2021, other tools, and on hard input."""

import json
import subprocess
from pathlib import Path

from .bench import Bench, Verdict, size_name, speed
from .checks import covers, says
from .measure import Contestant

MUST_OF_CEILING = ">= 0.9"
MUST_OF_2021 = {1: ">= 2.8", 2: ">= 4.5"}
SLOW_SIZE = 256 << 20
KERNELS = ("./dev bench-kernels",)


def ceiling(bench: Bench) -> None:
    """count and offsets beside a loop that only reads, and beside the loop of 2021."""
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
                bench.compare_speed(race, row, contestant.name, limit.name, MUST_OF_CEILING)
            # Without quotes that loop is as fast as memory too; "3 GB/s" and the limits speak of quoted data.
            must = MUST_OF_2021[threads] if kind == "quoted" else ""
            bench.compare_speed(
                race,
                f"count, {kind}, {with_threads}, over the loop of 2021",
                "count",
                f"loop of 2021, {threads}",
                must,
            )


def cached(bench: Bench) -> None:
    """One block in the second cache: our best kernel over the loop of 2021."""
    speeds = kernel_speeds(bench, "^(summarise/.*|loop2021)/(plain|quoted)$")
    for kind, must in (("plain", ""), ("quoted", ">= 8")):
        old = speeds.get(f"loop2021/{kind}")
        if old is None:
            bench.skip(f"in L2, {kind}: the loop of 2021 is for x86 alone")
            continue
        name, ours = best_kernel(speeds, "summarise", kind)
        bench.verdict(Verdict(f"{name} kernel in L2, {kind}, over the loop of 2021", ours / old, "×", must, commands=KERNELS))


def shapes(bench: Bench) -> None:
    """count on every kind of record: no input is a cliff."""
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
    """Quotes in unquoted fields on every line: the state machine has to look at each."""
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
    """Bytes a second of scan_bench's benchmarks, the best of the rounds."""
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
    """count beside other people's tools."""
    for kind in ("quoted", "plain"):
        path = bench.input(kind)
        records = bench.records(path)
        ours = bench.run("cleave count", "count", path)
        ours.check = says(records)
        found = [*fast_peers(bench, path), bench.ceiling(path, bench.threads())]
        race = bench.race(f"peers/{kind}", f"counting records, {kind}", path.stat().st_size, [ours, *found])
        for name, must in (("zsv", ">= 4"), ("xsv", ">= 25"), ("DuckDB", ">= 15")):
            bench.compare_speed(race, f"count, {kind}, over {name}", ours.name, name, must)
        for contestant in found:
            if contestant.is_peer and contestant.name not in ("zsv", "xsv", "DuckDB"):
                bench.compare_speed(race, f"count, {kind}, over {contestant.name}", ours.name, contestant.name)

    miller = bench.find("mlr")
    if miller is None:
        bench.skip("count over Miller: mlr is not here")
        return
    path = bench.input("quoted", min(bench.size, SLOW_SIZE))
    records = bench.records(path)
    ours = bench.run("cleave count", "count", path)
    theirs = peer("Miller", [miller, "--icsv", "--ojson", "count", str(path)])
    theirs.check = None
    title = f"counting records, quoted, {size_name(min(bench.size, SLOW_SIZE))}"
    race = bench.race("peers/slow", title, path.stat().st_size, [ours, theirs])
    bench.compare_speed(race, "count, quoted, over Miller", ours.name, theirs.name)


def peer(name: str, argv: list[str], records: int | None = None, times_itself: bool = False) -> Contestant:
    check = says(records) if records is not None else None
    return Contestant(name, argv, check=check, times_itself=times_itself, is_peer=True)


def fast_peers(bench: Bench, path: Path) -> list[Contestant]:
    """Those that are here and can take a large file."""
    records, file = bench.records(path), str(path)
    found = []
    if zsv := bench.find("zsv"):
        told = subprocess.run([zsv, "help", "count"], capture_output=True, text=True, check=False)
        parallel = ["--parallel"] if "--parallel" in told.stdout + told.stderr else []
        found.append(peer("zsv", [zsv, "count", *parallel, file], records))
    if xsv := bench.find("xsv"):
        found.append(peer("xsv", [xsv, "count", file], records))
    if qsv := bench.find("qsv") or bench.find("qsvlite"):
        found.append(peer("qsv", [qsv, "count", file], records))
    if xan := bench.find("xan"):
        found.append(peer("xan", [xan, "count", file], records))
        found.append(peer("xan, parallel", [xan, "count", "--parallel", file], records))
    scripts = Path(__file__).resolve().parents[1] / "peers"
    for name, module in (("DuckDB", "duckdb"), ("Polars", "polars")):
        if python := bench.python_with(module):
            found.append(peer(name, [python, str(scripts / f"{module}_count.py"), file], records, times_itself=True))
    found.append(peer("wc -l", ["wc", "-l", file]))
    return found
