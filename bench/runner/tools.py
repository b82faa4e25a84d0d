"""Other people's programs: where they are, which version, and how each does our jobs at its best. One row per tool."""

import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from .bench import Bench
from .measure import OUT, Contestant

NOTHING = "/dev/null"
MASKED = f"{OUT}/masked.csv"

PEERS = Path(__file__).resolve().parents[1] / "peers.py"

Command = Callable[[str, str], list[str]]  # takes the program and the input file
SplitCommand = Callable[[str, str, int], list[str]]  # also takes the records per piece
SelectCommand = Callable[[str, str, str], list[str]]  # also takes comma-separated columns; writes to standard output


@dataclass(frozen=True)
class Tool:
    name: str
    programs: tuple[str, ...] = ()  # the first one installed is used
    module: str = ""  # a Python module in place of a program: peers.py count MODULE counts
    version: tuple[str, ...] = ("--version",)
    counts: tuple[tuple[str, Command], ...] = ()  # suffix of the name in the row, and the command
    split: SplitCommand | None = None
    selects: tuple[tuple[str, SelectCommand], ...] = ()  # suffix of the name in the row, and the command
    masks: tuple[tuple[str, Command], ...] = ()  # the same; masks according to stage_rows.MASK, to standard output
    partition: SelectCommand | None = None  # writes one file per value of the column
    pseudo: SelectCommand | None = None  # replaces the values of the columns with tokens
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


def select_plainly(program: str, file: str, columns: str) -> list[str]:
    return [program, "select", columns, file]


def partition_plainly(program: str, file: str, column: str) -> list[str]:
    return [program, "partition", column, OUT, file]


def miller_put(words: str) -> Command:
    return lambda program, file: [program, "--csv", "-S", "--from", file, "put", words]


IN_ANY_ORDER = ", in any order"  # for output written by several threads
STARS = "*" * 64
MILLER_GSUB = '$phone = gsub($phone, ".", "*"); if ($status == "public") {$mail = gsub($mail, ".", "*")}'
# Works provided that no value has more characters than there are stars.
MILLER_SUBSTR = (
    f'begin {{@stars = "{STARS}"}} $phone = substr(@stars, 0, strlen($phone) - 1); '
    'if ($status == "public") {$mail = substr(@stars, 0, strlen($mail) - 1)}'
)
MODULE_PARTITIONS = ("duckdb",)  # peers.py partition MODULE FILE OUT COLUMN creates folders COLUMN=VALUE
MODULE_MASKS = ("duckdb",)  # peers.py mask MODULE FILE OUT masks according to stage_rows.MASK

TOOLS = (
    Tool(
        "xsv",
        ("xsv",),
        counts=(("", plainly),),
        split=lambda program, file, records: [program, "split", "-s", str(records), OUT, file],
        selects=(("", select_plainly),),
        partition=partition_plainly,
    ),
    Tool(
        "qsv",
        ("qsv", "qsvlite"),
        counts=(("", plainly),),
        split=lambda program, file, records: [program, "split", "-s", str(records), OUT, file],
        selects=(("", select_plainly),),
        partition=partition_plainly,
        pseudo=lambda program, file, columns: [program, "pseudo", columns, file],
    ),
    Tool(
        "xan",
        ("xan",),
        counts=(("", plainly), (", parallel", lambda program, file: [program, "count", "--parallel", file])),
        split=lambda program, file, records: [program, "split", "-S", str(records), "-O", OUT, file],
        partition=lambda program, file, column: [program, "partition", "-O", OUT, column, file],
        selects=(
            ("", select_plainly),
            (
                IN_ANY_ORDER,
                lambda program, file, columns: [program, "parallel", "cat", "-P", f"select {columns}", file],
            ),
        ),
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
        selects=(
            ("", lambda program, file, columns: [program, "--csv", "-S", "--from", file, "cut", "-o", "-f", columns]),
        ),
        partition=lambda program, file, column: [
            program, "--csv", "-S", "--from", file, "split", "-g", column, "--prefix", f"{OUT}/x"
        ],
        masks=(("", miller_put(MILLER_GSUB)), (", by substr", miller_put(MILLER_SUBSTR))),
        is_slow=True,
    ),
)  # fmt: skip


def present(
    bench: Bench, is_slow: bool, is_wanted: Callable[[Tool], bool] = lambda tool: True
) -> list[tuple[Tool, str]]:
    """The installed tools, with their programs. Versions go into the results; missing tools are listed as skipped."""
    found = []
    for tool in TOOLS:
        if tool.is_slow != is_slow or not is_wanted(tool):
            continue
        program = tool.find(bench)
        if program is None:
            bench.skip(f"{tool.name} is not here")
            continue
        bench.results.versions[tool.name] = tool.version_of(program)
        found.append((tool, program))
    return found


def counters(bench: Bench, path: Path, is_slow: bool = False) -> list[Contestant]:
    """Every tool that counts records, in each way that it can."""
    found = []
    for tool, program in present(bench, is_slow):
        if tool.module:
            argv = [program, str(PEERS), "count", tool.module, str(path)]
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


def selectors(bench: Bench, path: Path, columns: str, is_slow: bool = False) -> list[Contestant]:
    """Every tool that selects columns, in each way that it can; to /dev/null."""
    return [
        Contestant(
            f"{tool.name} select{suffix}",
            command(program, str(path), columns),
            is_peer=True,
            keeps_order=suffix != IN_ANY_ORDER,
            stdout=NOTHING,
        )
        for tool, program in present(bench, is_slow, lambda tool: bool(tool.selects))
        for suffix, command in tool.selects
    ]


def maskers(bench: Bench, path: Path, is_slow: bool = False) -> list[Contestant]:
    """Every tool that can mask according to stage_rows.MASK, into one file."""
    found = []
    for tool, program in present(bench, is_slow, lambda tool: bool(tool.masks) or tool.module in MODULE_MASKS):
        if tool.module in MODULE_MASKS:
            argv = [program, str(PEERS), "mask", tool.module, str(path), MASKED]
            found.append(Contestant(f"{tool.name} mask", argv, times_itself=True, is_peer=True))
        for suffix, command in tool.masks:
            argv = command(program, str(path))
            found.append(Contestant(f"{tool.name} mask{suffix}", argv, is_peer=True, stdout=MASKED))
    return found


def partitioners(bench: Bench, path: Path, column: str) -> list[Contestant]:
    """Every tool that writes one file per value of a column, including slow ones."""
    found = []
    for is_slow in (False, True):
        for tool, program in present(bench, is_slow, lambda tool: bool(tool.partition) or tool.module in MODULE_PARTITIONS):
            if tool.partition is None:
                argv = [program, str(PEERS), "partition", tool.module, str(path), OUT, column]
            else:
                argv = tool.partition(program, str(path), column)
            found.append(
                Contestant(f"{tool.name} partition", argv, times_itself=tool.partition is None, is_peer=True)
            )
    return found


def pseudonymisers(bench: Bench, path: Path, column: str) -> list[Contestant]:
    """Every tool that replaces values with tokens; to /dev/null."""
    return [
        Contestant(f"{tool.name} pseudo", tool.pseudo(program, str(path), column), is_peer=True, stdout=NOTHING)
        for tool, program in present(bench, False, lambda tool: tool.pseudo is not None)
        if tool.pseudo is not None
    ]
