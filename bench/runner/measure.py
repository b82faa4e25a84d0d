"""Runs programs side by side and times them, without knowing what they do."""

import os
import random
import re
import shutil
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

OUT = "{out}"  # in an argument: the fresh directory that a run writes into


class WrongAnswer(Exception):
    """A program failed, or gave or wrote the wrong answer."""


@dataclass
class Run:
    """One completed run of a program."""

    wall: float  # seconds
    cpu: float
    output: str


@dataclass
class Contestant:
    """A program in a race."""

    name: str
    argv: list[str]
    check: Callable[[str], None] | None = None  # checks standard output after every run; raises WrongAnswer
    check_files: Callable[[Path], None] | None = None  # checks the written files after the first run
    times_itself: bool = False  # the last word of its output is its time in seconds
    is_peer: bool = False  # someone else's program: a failure is noted but does not end the measurement
    keeps_order: bool = True  # its output is in the order of the input
    stdout: str = ""  # the file for standard output; captured if empty

    def writes(self) -> bool:
        return any(OUT in word for word in (*self.argv, self.stdout))


@dataclass
class Times:
    """The times of a contestant, round by round."""

    command: str
    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    note: str = ""

    @property
    def best(self) -> float:
        return min(self.wall)

    @property
    def median(self) -> float:
        return statistics.median(self.wall)


@dataclass
class Race:
    """The times of all contestants for one job."""

    name: str
    title: str
    size: int  # bytes of input
    times: dict[str, Times]

    def has(self, *names: str) -> bool:
        return all(name in self.times and self.times[name].wall for name in names)


def run_once(argv: list[str], stdout: str = "") -> Run:
    """Runs the program with empty standard input. Raises WrongAnswer if it fails.

    Standard output goes to the file `stdout`, or is captured if there is none.
    """
    with memory_file() as output, memory_file() as errors:
        actions = [
            (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, stdout, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
            if stdout
            else (os.POSIX_SPAWN_DUP2, output.fileno(), 1),
            (os.POSIX_SPAWN_DUP2, errors.fileno(), 2),
        ]
        begin = time.perf_counter()
        pid = os.posix_spawnp(argv[0], argv, os.environ, file_actions=actions)
        _, status, usage = os.wait4(pid, 0)
        wall = time.perf_counter() - begin
        if status != 0:
            code = os.waitstatus_to_exitcode(status)
            last = (content(errors).strip() or "no message").splitlines()[-1]
            raise WrongAnswer(f"exit {code}: {last[:200]}")
        return Run(wall, usage.ru_utime + usage.ru_stime, content(output))


def memory_file() -> BinaryIO:
    """A file in memory, so that no file system affects the timing of output."""
    return os.fdopen(os.memfd_create("output"), "w+b")


def content(file: BinaryIO) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")


class Track:
    """Where races are held: a folder for the output of runs, and how commands are shown."""

    def __init__(self, data: Path, rounds: int, shown: Callable[[list[str], str], str]):
        self.data = data
        self.rounds = rounds
        self.shown = shown
        self.scratch = data / "scratch"
        self.scratch.mkdir(parents=True, exist_ok=True)

    def race(
        self,
        name: str,
        title: str,
        size: int,
        contestants: list[Contestant],
        rounds: int | None = None,
        out: Path | None = None,
        before: Callable[[], None] = lambda: None,
    ) -> Race:
        """Each round runs every contestant once, in a random order, and calls `before` before each run.

        The order matters: a run that leaves memory in small pages slows down the next one that writes.
        """
        race = Race(name, title, size, {c.name: Times(self.shown(c.argv, c.stdout)) for c in contestants})
        running = list(contestants)
        out = out or self.scratch / "out"
        rounds = rounds or self.rounds
        say(f"{name}: {title}")
        chance = random.Random(name)
        for _ in range(rounds):
            for contestant in chance.sample(running, len(running)):
                times = race.times[contestant.name]
                try:
                    self._take(contestant, times, out, before)
                except WrongAnswer as error:
                    why = str(error).replace(str(self.data), "$DATA")
                    if not contestant.is_peer:
                        raise WrongAnswer(f"{times.command}: {why}") from error
                    times.note = why
                    running = [c for c in running if c is not contestant]
        for contestant in contestants:
            times = race.times[contestant.name]
            told = f"best {times.best:.4f} s, median {times.median:.4f} s" if times.wall else "failed"
            say(f"  {contestant.name:28} {told} {times.note}")
        return race

    def _take(self, contestant: Contestant, times: Times, out: Path, before: Callable[[], None]) -> None:
        fresh(out)
        if contestant.writes():
            os.sync()
        before()
        try:
            argv = [word.replace(OUT, str(out)) for word in contestant.argv]
            run = run_once(argv, contestant.stdout.replace(OUT, str(out)))
            if contestant.times_itself:
                answer, seconds = run.output.rsplit(maxsplit=1)
                run = Run(float(seconds), run.cpu, answer)
            if contestant.check:
                contestant.check(run.output)
            if contestant.check_files and not times.wall:
                contestant.check_files(out)
        finally:
            shutil.rmtree(out)
        times.wall.append(run.wall)
        times.cpu.append(run.cpu)


def fresh(folder: Path) -> None:
    """Creates the folder, or empties it."""
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir(parents=True)


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def in_order(folder: Path) -> list[Path]:
    """The files in the order of the numbers in their names."""

    def key(path: Path) -> list[tuple[int, str]]:
        return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", path.name)]

    return sorted(folder.iterdir(), key=key)
