"""Rows on --by: one piece per value of a column, compared with copies of the file and with other tools."""

import random
import resource
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from .bench import Bench, faster, parse_size, size_name, warm
from .limit_rows import compare_memory
from .measure import OUT, Contestant, Race, WrongAnswer, say
from .split_rows import COPIERS, copiers
from .tools import partitioners

SIZE = 500 << 20
SLOW_SIZE = 100 << 20  # for tools that would take minutes on more
FEW, MANY, HUGE = 20, 10_000, 1_000_000
FEW_DESCRIPTORS = 64
GROWTH_KEYS = (1, 10, 100, 1_000, 10_000, 100_000, 1_000_000)
GROWTH_SIZES = ("1M", "10M", "100M", "500M", "2G")
MEMORY_BASE, MEMORY_A_KEY = 64 << 20, 64  # bytes; the second is per value and thread

HEADER = "id,k,name,city,note\n"
RECORD = 115  # bytes
KEY = "key{:07}"
NOTES = [f"{number * 0x9E3779B97F4A7C15 & (1 << 64) - 1:016x}" * 4 + "abcdefgh" for number in range(997)]

# With many values DuckDB takes minutes on the large file.
FAST_TOOLS = {FEW: ("xsv", "qsv", "xan", "DuckDB"), MANY: ("xsv", "qsv", "xan")}
SLOW_TOOLS = {FEW: ("Miller",), MANY: ("Miller", "DuckDB")}

# The required ratio of our speed to theirs.
OVER = {
    FEW: {"xan": ">= 4", "qsv": ">= 5", "DuckDB": ">= 12", "Miller": ">= 50"},
    MANY: {"xan": ">= 6"},
}


@dataclass
class Keyed:
    """An input whose column `k` has that many values, unsorted."""

    path: Path
    values: int

    @property
    def size(self) -> int:
        return self.path.stat().st_size


def keyed_input(bench: Bench, values: int, size: int) -> Keyed:
    """Creates the input. Every value occurs if there are enough records."""
    path = bench.data / f"keyed-{values}-{size_name(size)}.csv"
    records = size // RECORD
    values = min(values, records)
    if not path.exists():
        say(f"making {path.name}")
        chance = random.Random(values)
        keys = list(range(values)) + [chance.randrange(values) for _ in range(records - values)]
        chance.shuffle(keys)
        unfinished = path.with_suffix(".part")
        with unfinished.open("w", encoding="ascii", newline="") as file:
            file.write(HEADER)
            for i, key in enumerate(keys):
                file.write(f"{i:010},{KEY.format(key)},Ada Lovelace,London,{NOTES[i % len(NOTES)]}\n")
        unfinished.rename(path)
    warm(path)
    return Keyed(path, values)


# Checks of the pieces


def sums_of(source: Keyed, is_dropped: bool) -> dict[bytes, tuple[int, int]]:
    """For each value, an ordered checksum of its records, and their number. If `is_dropped`, the column is left out."""
    found: dict[bytes, tuple[int, int]] = {}
    with source.path.open("rb") as file:
        file.readline()
        for line in file:
            first, key, rest = line.split(b",", 2)
            checksum, count = found.get(key, (0, 0))
            found[key] = zlib.crc32(first + b"," + rest if is_dropped else line, checksum), count + 1
    return found


def is_by_value(source: Keyed, is_dropped: bool = False, keeps_order: bool = True) -> Callable[[Path], None]:
    """Checks that each value has one file with the header and its records, in their order if the tool keeps it.

    If `is_dropped`, the files are in folders named k=VALUE and lack the column.
    """

    def key_of(path: Path, lines: list[bytes]) -> bytes:
        return path.parent.name.removeprefix("k=").encode() if is_dropped else lines[1].split(b",", 2)[1]

    def check(folder: Path) -> None:
        expected = sums_of(source, is_dropped)
        for path in folder.rglob("*.csv"):
            lines = path.read_bytes().splitlines(keepends=True)
            if len(lines) < 2 or lines[0] != (HEADER.replace("k,", "", 1) if is_dropped else HEADER).encode():
                raise WrongAnswer(f"{path.name} does not begin with the header")
            if not keeps_order:
                lines[1:] = sorted(lines[1:])  # records begin with numbers of equal width
            checksum = 0
            for line in lines[1:]:
                checksum = zlib.crc32(line, checksum)
            if expected.pop(key_of(path, lines), None) != (checksum, len(lines) - 1):
                raise WrongAnswer(f"{path.name} is not what its value has")
        if expected:
            raise WrongAnswer(f"{len(expected)} values have no file")

    return check


# Contestants


def splitter(bench: Bench, name: str, source: Keyed, *options: object) -> Contestant:
    """cleave split --by, one file for each value."""
    argv = ("split", "--quiet", "--by", "k", "--max-values", source.values, *options, "-o", f"{OUT}/{{value}}.csv")
    return replace(bench.run(name, *argv, source.path), check_files=is_by_value(source))


def hive_splitter(bench: Bench, name: str, source: Keyed) -> Contestant:
    template = f"{OUT}/{{value}}/{{stem}}.{{i}}{{ext}}"
    argv = ("split", "--quiet", "--by", "k", "--hive", "--max-values", source.values, "-o", template)
    return replace(bench.run(name, *argv, source.path), check_files=is_by_value(source, is_dropped=True))


def limited(contestant: Contestant) -> Contestant:
    """The contestant, limited to few file descriptors."""
    limit = ["/bin/sh", "-c", f'ulimit -n {FEW_DESCRIPTORS} && exec "$@"', "sh"]
    return replace(contestant, argv=[*limit, *contestant.argv])


def creator(bench: Bench, source: Keyed) -> Contestant:
    """Creates the same number of files with the input's bytes."""
    return Contestant("create_files", [bench.program("create_files"), str(source.values), str(source.path), OUT])


def tools_of(bench: Bench, source: Keyed, names: tuple[str, ...]) -> list[Contestant]:
    """The tools with these names that are installed."""
    tools = [tool for tool in partitioners(bench, source.path, "k") if tool.name.split()[0] in names]
    for tool in tools:
        is_hive = tool.name.startswith("DuckDB")
        tool.check_files = is_by_value(source, is_dropped=is_hive, keeps_order=not is_hive)
    return tools


def memory_folder() -> Path | None:
    """A folder in memory if the machine has a tmpfs: many files on a disk would time the disk."""
    return Path("/dev/shm/cleave-bench") if Path("/dev/shm").is_dir() else None


def race_of(bench: Bench, name: str, source: Keyed, racers: list[Contestant], where: Path | None = None) -> Race:
    title = f"one piece for each of {source.values:,} values, {size_name_of(source)}{', in memory' if where else ''}"
    return bench.race(name, title, source.size, racers, out=where)


def size_name_of(source: Keyed) -> str:
    return source.path.stem.rsplit("-", 1)[1]


# Rows


def by(bench: Bench) -> None:
    """Compares each number of values with copies, created files and other tools; also measures folders and memory."""
    # The other tools keep many files open but do not ask for more descriptors.
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    size, slow_size = min(SIZE, bench.size), min(SLOW_SIZE, bench.size)
    beside_tools(bench, FEW, size, slow_size, ("<= 1.5", "<= 1.0"))
    beside_tools(bench, MANY, size, slow_size, ("", ""), memory_folder())
    hive(bench, keyed_input(bench, FEW, size))
    huge(bench, keyed_input(bench, HUGE, size))
    for values in (FEW, MANY, HUGE):
        memory(bench, keyed_input(bench, values, size))


def beside_tools(
    bench: Bench, values: int, size: int, slow_size: int, limits: tuple[str, str], where: Path | None = None
) -> None:
    """`limits` are the required ratio to the time of cp, and the goal."""
    ours = "cleave split --by"
    source = keyed_input(bench, values, size)
    tools = tools_of(bench, source, FAST_TOOLS[values])
    racers = [splitter(bench, ours, source), creator(bench, source), *copiers(source.path), *tools]
    race = race_of(bench, f"by/{values}", source, racers, where)
    row = f"split --by, {values:,} values"
    bench.compare_time(race, f"{row}, time of the faster cp", ours, faster(race, COPIERS), *limits)
    bench.compare_time(race, f"{row}, time of creating as many files", ours, "create_files", "", "<= 1.0")
    over_tools(bench, race, row, values, tools)
    source = keyed_input(bench, values, slow_size)
    tools = tools_of(bench, source, SLOW_TOOLS[values])
    if tools:
        race = race_of(bench, f"by/slow/{values}", source, [splitter(bench, ours, source), *tools], where)
        over_tools(bench, race, row, values, tools)


def over_tools(bench: Bench, race: Race, row: str, values: int, tools: list[Contestant]) -> None:
    for tool in tools:
        must = OVER[values].get(tool.name.split()[0], "")
        bench.compare_speed(race, f"{row}, over {tool.name}", "cleave split --by", tool.name, must)


def hive(bench: Bench, source: Keyed) -> None:
    """Folders, with the column left out."""
    ours = "cleave split --by --hive"
    tools = tools_of(bench, source, ("DuckDB",))
    race = race_of(bench, "by/hive", source, [hive_splitter(bench, ours, source), *copiers(source.path), *tools])
    row = f"split --by --hive, {source.values:,} values"
    bench.compare_time(race, f"{row}, time of the faster cp", ours, faster(race, COPIERS))
    for tool in tools:
        bench.compare_speed(race, f"{row}, over {tool.name}", ours, tool.name, ">= 12")


def huge(bench: Bench, source: Keyed) -> None:
    """A million values with few descriptors, compared with creating as many files."""
    ours = "cleave split --by"
    where = memory_folder()
    racers = [limited(splitter(bench, ours, source)), creator(bench, source)]
    race = race_of(bench, f"by/{HUGE}", source, racers, where)
    row = f"split --by, {source.values:,} values, ulimit -n {FEW_DESCRIPTORS}, time of creating as many files"
    bench.compare_time(race, row, ours, "create_files", "<= 2.0")


def memory(bench: Bench, source: Keyed) -> None:
    threads = bench.threads()
    limit = MEMORY_BASE + source.values * (len(KEY.format(0)) + MEMORY_A_KEY * threads)
    row = f"split --by, {source.values:,} values, {threads} threads, {size_name_of(source)}, anonymous memory"
    compare_memory(bench, row, limited(splitter(bench, "", source, "-j", threads)), f"<= {limit / (1 << 20):.0f}")


# Growth


def growth(bench: Bench) -> None:
    """From one value to a million, and from a small file to a large one. growth_chart.py draws the races."""
    where = memory_folder()
    for values in GROWTH_KEYS:
        source = keyed_input(bench, values, min(SIZE, bench.size))
        if source.values == values:  # otherwise the file is too small for more
            growth_race(bench, f"by-keys/{values}", source, where)
    for name in GROWTH_SIZES:
        if parse_size(name) <= bench.size:
            growth_race(bench, f"by-bytes/{name}", keyed_input(bench, FEW, parse_size(name)), where)


def growth_race(bench: Bench, name: str, source: Keyed, where: Path | None) -> None:
    ours = splitter(bench, "cleave split --by", source)
    race_of(bench, name, source, [ours, creator(bench, source), *copiers(source.path)], where)
