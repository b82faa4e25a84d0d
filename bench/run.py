#!/usr/bin/env python3
"""Times whole processes side by side: every row of bench/README.md."""

import argparse
import json
import os
import re
import sys
from pathlib import Path

import figures
from runner import by_rows, chart, cold_rows, count_rows, growth_chart, gzip_rows, limit_rows, machine, report
from runner import split_rows, stage_rows, together_rows
from runner.bench import ROOT, Bench, parse_size, size_name
from runner.measure import WrongAnswer, say

GROUPS = {
    "ceiling": count_rows.ceiling,
    "cores": count_rows.cores,
    "cached": count_rows.cached,
    "ladder": count_rows.ladder,
    "peers": count_rows.peers,
    "shapes": count_rows.shapes,
    "stray": count_rows.stray,
    "split": split_rows.split,
    "split-peers": split_rows.split_peers,
    "split-cores": split_rows.cores,
    "clone": split_rows.clone,
    "together": together_rows.together,
    "by": by_rows.by,
    "gzip": gzip_rows.gzip,
    "pipe": split_rows.pipe,
    "tiny": limit_rows.tiny,
    "memory": limit_rows.memory,
    "stages": stage_rows.stages,
}
GROWTH_GROUPS = {
    "growth": limit_rows.growth_in_size,
    "pieces": limit_rows.growth_in_pieces,
    "by-growth": by_rows.growth,
}
COLD_GROUPS = {"cold": cold_rows.cold}


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./dev bench", description=__doc__)
    venv = os.environ.get("CLEAVE_BENCH_VENV")
    groups = " ".join([*GROUPS, *GROWTH_GROUPS, *COLD_GROUPS])
    parser.add_argument("--size", type=parse_size, default="2G", help="of the large files [2G]")
    parser.add_argument("--rounds", type=int, default=5, help="runs of each program [5]")
    parser.add_argument("--only", default="", metavar="REGEX", help=f"these groups of rows only: {groups}")
    parser.add_argument("--growth", action="store_true", help="growth too: up to 20 GB and 100,000 pieces")
    parser.add_argument("--cold", action="store_true", help="these rows only: files that are not in the page cache")
    parser.add_argument("--data", type=Path, default=ROOT / "build/bench-data", help="folder of the files")
    parser.add_argument("--cleave", type=Path, default=ROOT / "build/release/cleave", help="the command to measure")
    parser.add_argument("--venv", type=Path, default=venv, help="folder whose bin/ has other tools [CLEAVE_BENCH_VENV]")
    parser.add_argument("--output", type=Path, default=ROOT / "bench/results.json", help="where the figures go")
    parser.add_argument("--chart", type=Path, default=ROOT / "bench/results.svg", help="where the chart goes")
    parser.add_argument(
        "--render", type=Path, metavar="JSON", help="measure nothing: draw these figures, and fill the pages"
    )
    arguments = parser.parse_args()
    if arguments.cold and arguments.output == ROOT / "bench/results.json":  # page cache rows are kept apart
        arguments.output, arguments.chart = ROOT / "bench/cold.json", ROOT / "build/cold.svg"
    return arguments


def shown_command(arguments: list[str]) -> str:
    """The arguments without folders, which differ from machine to machine."""
    words = []
    for word in arguments:
        if words and words[-1] in ("--data", "--cleave", "--venv", "--output", "--chart"):
            words.pop()
        elif "/" not in word:
            words.append(word)
    return " ".join(["./dev bench", *words])


def measure(arguments: argparse.Namespace) -> int:
    bench = Bench(
        cleave=arguments.cleave.resolve(),
        programs=ROOT / "build/release/bench",
        data=arguments.data.resolve(),
        size=arguments.size,
        rounds=arguments.rounds,
        venv=arguments.venv,
    )
    status = 0
    for name, run in {**GROUPS, **GROWTH_GROUPS, **COLD_GROUPS}.items():
        if arguments.cold:
            wanted = name in COLD_GROUPS
        elif arguments.only:
            wanted = re.fullmatch(arguments.only, name) is not None
        else:
            wanted = name in GROUPS or (arguments.growth and name in GROWTH_GROUPS)
        if not wanted:
            continue
        try:
            run(bench)
        except WrongAnswer as error:
            say(f"{name}: {error}")
            bench.results.skipped.append(f"{name}: {error}")
            status = 1
    measured = report.to_json(
        bench.results,
        machine.describe(bench.data),
        size_name(arguments.size),
        arguments.rounds,
        shown_command(sys.argv[1:]),
    )
    report.write_json(measured, arguments.output)
    chart.draw(measured, arguments.chart) or growth_chart.draw(measured, arguments.chart)
    print(report.plain_table(report.verdict_rows(measured)))
    return status


def render(arguments: argparse.Namespace) -> int:
    """Draws the chart from one file of figures, and fills the marked places of all pages: see figures.py."""
    drawn = json.loads(arguments.render.read_text(encoding="utf-8"))
    chart.draw(drawn, arguments.chart) or growth_chart.draw(drawn, arguments.chart)
    pages, places = figures.fill()
    print("\n".join([*(f"filled {page}" for page in pages), f"{places} places"]))
    return 0


def main() -> int:
    arguments = parse_arguments()
    return render(arguments) if arguments.render else measure(arguments)


if __name__ == "__main__":
    sys.exit(main())
