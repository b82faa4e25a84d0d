"""What all rows share: the programs, the input files, and the results so far."""

import os
import re
import shutil
import statistics
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from .measure import Contestant, Race, Times, Track, say
from .checks import CHUNK, says

ROOT = Path(__file__).resolve().parents[2]
UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def parse_size(text: str) -> int:
    match = re.fullmatch(r"(\d+)([KMGT]?)", text)
    if not match:
        raise ValueError(f"not a size: {text}")
    return int(match[1]) * UNITS[match[2]]


def size_name(size: int) -> str:
    for unit in "TGMK":
        if size % UNITS[unit] == 0:
            return f"{size // UNITS[unit]}{unit}"
    return str(size)


@dataclass
class Verdict:
    """A figure, the value it must reach (because it has before), and the goal."""

    row: str
    figure: float
    unit: str  # "×" (a ratio of times or speeds), "GB/s", "ms", "MiB"
    must: str  # ">= 0.9", "<= 0.8", or "" if there is no requirement
    goal: str = ""  # in the same form
    median: float | None = None  # over the rounds
    commands: tuple[str, ...] = ()  # the commands behind it: for a ratio, the numerator first

    @property
    def holds(self) -> bool | None:
        if not self.must:
            return None
        relation, limit = self.must.split()
        return self.figure >= float(limit) if relation == ">=" else self.figure <= float(limit)


@dataclass
class Results:
    races: list[Race] = field(default_factory=list)
    verdicts: list[Verdict] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    versions: dict[str, str] = field(default_factory=dict)  # of other people's programs
    kernels: dict[str, float] = field(default_factory=dict)  # bytes per second, from scan_bench
    kernel_commands: list[str] = field(default_factory=list)


@dataclass
class Bench:
    """A run of the benchmarks."""

    cleave: Path
    programs: Path  # the folder of bench/'s own programs
    data: Path
    size: int
    rounds: int
    venv: Path | None
    results: Results = field(default_factory=Results)

    def __post_init__(self) -> None:
        self.data.mkdir(parents=True, exist_ok=True)
        self.track = Track(self.data, self.rounds, self.shown)
        self._records: dict[Path, int] = {}

    def shown(self, argv: list[str], stdout: str = "") -> str:
        """The command as anyone could type it."""

        def word(text: str) -> str:
            for tool in (self.cleave, *self.programs.glob("*")):
                text = re.sub(re.escape(str(tool)) + r"(?!\S)", tool.name, text)
            text = text.replace(str(self.data), "$DATA").replace("{out}", "$OUT")
            return f"'{text}'" if " " in text else text

        first, *rest = argv
        words = [Path(first).name, *(word(Path(r).name if r.endswith(".py") else r) for r in rest)]
        return " ".join([*words, *([">", word(stdout)] if stdout else [])])

    def program(self, name: str) -> str:
        return str(self.programs / name)

    def threads(self) -> int:
        return len(os.sched_getaffinity(0))

    # Input

    def input(self, kind: str, size: int | None = None) -> Path:
        """A file of the kind, created if necessary, and in the page cache."""
        path = self.data / f"{kind}-{size_name(size or self.size)}.csv"
        if not path.exists():
            say(f"making {path.name}")
            unfinished = path.with_suffix(".part")
            subprocess.run(
                [self.program("make_input"), kind, str(size or self.size), str(unfinished)], check=True
            )
            unfinished.rename(path)
        warm(path)
        return path

    def records(self, path: Path) -> int:
        """The records of one of our inputs, without the header, counted without cleave where possible."""
        if path not in self._records:
            newlines_end_records = path.name.startswith(("stray-", "escapes-"))  # no newlines in quotes
            old = self.program("loop2021_main")
            if newlines_end_records:
                argv, header = ["wc", "-l", str(path)], 1
            elif Path(old).exists():
                argv, header = [old, str(path), str(self.threads())], 1
            else:
                argv, header = [str(self.cleave), "count", str(path)], 0
            output = subprocess.run(argv, check=True, capture_output=True, text=True).stdout
            self._records[path] = int(output.split()[0]) - header
        return self._records[path]

    def records_in(self, path: Path, size: int) -> int:
        """The number of records that gives pieces of about `size` bytes."""
        return max(1, self.records(path) * size // path.stat().st_size)

    # Contestants

    def run(self, name: str, *arguments: object) -> Contestant:
        """cleave with these arguments."""
        return Contestant(name, [str(self.cleave), *map(str, arguments)])

    def ceiling(self, path: Path, threads: int) -> Contestant:
        return Contestant(f"read_ceiling, {threads}", [self.program("read_ceiling"), str(path), str(threads)])

    def loop2021(self, path: Path, threads: int) -> Contestant | None:
        if not (self.programs / "loop2021_main").exists():
            return None
        argv = [self.program("loop2021_main"), str(path), str(threads)]
        return Contestant(f"loop of 2021, {threads}", argv, check=says(self.records(path) + 1))

    # Results

    def race(self, *arguments: object, **options: object) -> Race:
        race = self.track.race(*arguments, **options)  # type: ignore[arg-type]
        self.results.races.append(race)
        return race

    def compare_speed(self, race: Race, row: str, ours: str, theirs: str, must: str = "", goal: str = "") -> None:
        """Our speed divided by theirs."""
        self._compare(race, row, theirs, ours, theirs, must, goal)

    def compare_time(self, race: Race, row: str, ours: str, theirs: str, must: str = "", goal: str = "") -> None:
        """Our time divided by theirs."""
        self._compare(race, row, ours, theirs, theirs, must, goal)

    def _compare(self, race: Race, row: str, time: str, over: str, theirs: str, must: str, goal: str) -> None:
        if not race.has(time, over):
            self.skip(f"{row}: {race.times[theirs].note if theirs in race.times else 'it is not here'}")
            return
        a, b = race.times[time], race.times[over]
        commands = (a.command, b.command)
        pairs = statistics.median(one / other for one, other in zip(a.wall, b.wall))  # from the same round
        self.verdict(Verdict(row, a.best / b.best, "×", must, goal, pairs, commands))

    def verdict(self, verdict: Verdict) -> None:
        self.results.verdicts.append(verdict)
        holds = {True: "holds", False: "DOES NOT HOLD", None: ""}[verdict.holds]
        say(f"  {verdict.row}: {verdict.figure:.3g} {verdict.unit} {verdict.must} {holds}")

    def skip(self, why: str) -> None:
        if why in self.results.skipped:
            return
        self.results.skipped.append(why)
        say(f"  skipped: {why}")

    # Other people's programs

    def find(self, name: str) -> str | None:
        """The path of a program in the virtual environment or on the PATH."""
        if self.venv and (self.venv / "bin" / name).exists():
            return str(self.venv / "bin" / name)
        return shutil.which(name)

    def python_with(self, module: str) -> str | None:
        for python in [str(self.venv / "bin" / "python3")] if self.venv else ["/usr/bin/python3"]:
            if subprocess.run([python, "-c", f"import {module}"], capture_output=True, check=False).returncode == 0:
                return python
        return None


def faster(race: Race, names: tuple[str, ...]) -> str:
    """Of the contestants that ran, the one with the best time."""
    return min((name for name in names if race.has(name)), key=lambda name: race.times[name].best)


def speed(race: Race, times: Times) -> float:
    """Bytes per second."""
    return race.size / times.best


def warm(path: Path) -> None:
    buffer = bytearray(CHUNK)
    with path.open("rb", buffering=0) as file:
        while file.readinto(buffer):
            pass
