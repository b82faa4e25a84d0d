"""Other people's programs: where they are, which version, and how each does our jobs at its best. One row a tool."""

import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from .bench import Bench
from .measure import OUT, Contestant

SCRIPTS = Path(__file__).resolve().parents[1] / "peers"

Command = Callable[[str, str], list[str]]  # of the program and the input file
SplitCommand = Callable[[str, str, int], list[str]]  # and the records of a piece


@dataclass(frozen=True)
class Tool:
    name: str
    programs: tuple[str, ...] = ()  # the first one that is here is taken
    module: str = ""  # of Python, in place of a program: peers/MODULE_count.py counts
    version: tuple[str, ...] = ("--version",)
    counts: tuple[tuple[str, Command], ...] = ()  # what the row's name gets, and the command
    split: SplitCommand | None = None
    is_slow: bool = False  # gets a smaller file

    def find(self, bench: Bench) -> str | None:
        if self.module:
            return bench.python_with(self.module)
        return next((found for program in self.programs if (found := bench.find(program))), None)

    def version_of(self, program: str) -> str:
        if self.module:
            argv = [program, "-c", f"import {self.module}; print({self.module}.__version__)"]
        else:
            argv = [program, *self.version]
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        return ((done.stdout or done.stderr).splitlines() or ["unknown"])[0]


def plainly(program: str, file: str) -> list[str]:
    return [program, "count", file]


TOOLS = (
    Tool(
        "xsv",
        ("xsv",),
        counts=(("", plainly),),
        split=lambda program, file, records: [program, "split", "-s", str(records), OUT, file],
    ),
    Tool(
        "qsv",
        ("qsv", "qsvlite"),
        counts=(("", plainly),),
        split=lambda program, file, records: [program, "split", "-s", str(records), OUT, file],
    ),
    Tool(
        "xan",
        ("xan",),
        counts=(("", plainly), (", parallel", lambda program, file: [program, "count", "--parallel", file])),
        split=lambda program, file, records: [program, "split", "-S", str(records), "-O", OUT, file],
    ),
    Tool(
        "zsv",
        ("zsv",),
        version=("version",),
        counts=(("", plainly), (", parallel", lambda program, file: [program, "count", "--parallel", file])),
    ),
    Tool("DuckDB", module="duckdb"),
    Tool("Polars", module="polars"),
    Tool("pyarrow", module="pyarrow"),
    Tool("ClickHouse (chdb)", module="chdb"),
    Tool(
        "Miller",
        ("mlr",),
        counts=(("", lambda program, file: [program, "--icsv", "--onidx", "count", file]),),
        split=lambda program, file, records: [
            program, "--csv", "--from", file, "split", "-n", str(records), "--prefix", f"{OUT}/x"
        ],
        is_slow=True,
    ),
)  # fmt: skip


def present(bench: Bench, is_slow: bool) -> list[tuple[Tool, str]]:
    """The tools that are here, with their programs. Versions go into the results; absent tools are listed as skipped."""
    found = []
    for tool in TOOLS:
        if tool.is_slow != is_slow:
            continue
        program = tool.find(bench)
        if program is None:
            bench.skip(f"{tool.name} is not here")
            continue
        bench.results.versions[tool.name] = tool.version_of(program)
        found.append((tool, program))
    return found


def counters(bench: Bench, path: Path, is_slow: bool = False) -> list[Contestant]:
    """Every tool that counts records, each way that it can."""
    found = []
    for tool, program in present(bench, is_slow):
        if tool.module:
            argv = [program, str(SCRIPTS / f"{tool.module}_count.py"), str(path)]
            found.append(Contestant(tool.name, argv, times_itself=True, is_peer=True))
        for suffix, command in tool.counts:
            found.append(Contestant(tool.name + suffix, command(program, str(path)), is_peer=True))
    return found


def splitters(bench: Bench, path: Path, records: int, is_slow: bool = False) -> list[Contestant]:
    """Every tool that cuts by records."""
    return [
        Contestant(f"{tool.name} split", tool.split(program, str(path), records), is_peer=True)
        for tool, program in present(bench, is_slow)
        if tool.split is not None
    ]
