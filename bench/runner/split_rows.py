"""Rows on writing pieces: against cp, GNU split and tools that know CSV; more cores; input from a pipe; reflinks."""

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from .bench import Bench, faster, size_name, warm
from .checks import header_size_of, holds_records, joins_to
from .count_rows import THREADS
from .measure import OUT, Contestant, say
from .tools import splitters

SLOW_SIZE = 256 << 20  # for tools that would take minutes on more
PIECE_SIZE = 100 << 20
CLONE_SIZE = 2 << 30  # in 1 % of a tenth of it, every position within a file system block is a possible cut


def writer(bench: Bench, path: Path, name: str, *options: object) -> Contestant:
    """cleave split with these options."""
    contestant = bench.run(name, "split", *options, "-o", f"{OUT}/{{i}}.csv", path)
    contestant.check_files = joins_to(path, header_size_of(path))
    return contestant


COPIERS = ("cp", "cp --reflink=never")


def copiers(path: Path) -> list[Contestant]:
    """Both ways to run cp, because plain cp may use copy_file_range. The faster one counts."""
    check = joins_to(path, 0)
    return [Contestant(name, [*name.split(), str(path), f"{OUT}/copy"], check_files=check) for name in COPIERS]


def piece_size(bench: Bench) -> int:
    return min(PIECE_SIZE, bench.size // 10)


def split(bench: Bench) -> None:
    """Every way to cut, against a copy of the file and GNU split."""
    path = bench.input("quoted")
    size = size_name(piece_size(bench))
    records = bench.records_in(path, piece_size(bench))
    gnu_size = ["split", "-C", size, str(path), f"{OUT}/x"]
    gnu_lines = ["split", "-l", str(records), str(path), f"{OUT}/x"]
    race = bench.race(
        "split",
        "splitting, quoted",
        path.stat().st_size,
        [
            writer(bench, path, "cleave split -n", "-n", 10),
            writer(bench, path, "cleave split -C", "-C", size),
            writer(bench, path, "cleave split -l", "-l", records),
            writer(bench, path, "cleave split -n -j 1", "-n", 10, "-j", 1),
            *copiers(path),
            Contestant("GNU split -C", gnu_size, check_files=joins_to(path, 0)),
            Contestant("GNU split -l", gnu_lines, check_files=joins_to(path, 0)),
        ],
    )
    cp = faster(race, COPIERS)
    for name, must, goal in (
        ("split -n", "<= 0.68", "<= 0.55"),
        ("split -C", "<= 0.79", "<= 0.58"),
        ("split -l", "<= 0.79", "<= 0.58"),
        ("split -n -j 1", "<= 1.2", "<= 1.0"),
    ):
        bench.compare_time(race, f"{name}, time of the faster cp", f"cleave {name}", cp, must, goal)
    bench.compare_time(race, "split -C, time of GNU split -C", "cleave split -C", "GNU split -C")
    bench.compare_time(race, "split -l, time of GNU split -l", "cleave split -l", "GNU split -l")


def split_peers(bench: Bench) -> None:
    """split -l against tools that know CSV. These rewrite records, so their pieces are counted, not compared."""
    path = bench.input("quoted")
    records = bench.records_in(path, piece_size(bench))
    split_beside(bench, "split-peers/fast", path, splitters(bench, path, records))
    path = bench.input("quoted", min(bench.size, SLOW_SIZE))
    records = bench.records_in(path, piece_size(bench))
    split_beside(bench, "split-peers/slow", path, splitters(bench, path, records, is_slow=True))


def split_beside(bench: Bench, name: str, path: Path, tools: list[Contestant]) -> None:
    if not tools:
        bench.skip(f"{name}: no such tool is here")
        return
    check = holds_records(bench.cleave, bench.records(path))
    for tool in tools:
        tool.check_files = check
    ours = writer(bench, path, "cleave split -l", "-l", bench.records_in(path, piece_size(bench)))
    race = bench.race(name, f"splitting by records, {path.stem}", path.stat().st_size, [ours, *tools])
    for tool in tools:
        bench.compare_time(race, f"split -l, time of {tool.name}", ours.name, tool.name)


def cores(bench: Bench) -> None:
    """split -n 64 into memory (tmpfs) with 1, 2, 4, ... threads, up to the number of cores, compared with cp."""
    folder = Path("/dev/shm")
    if not folder.is_dir():
        bench.skip("split over cores: there is no /dev/shm")
        return
    path = bench.input("quoted")
    threads = [count for count in THREADS if count <= bench.threads()]
    ours = [writer(bench, path, f"cleave split -n 64 -j {count}", "-n", 64, "-j", count) for count in threads]
    title = "splitting into 64 pieces in memory, quoted"
    race = bench.race("split-cores", title, path.stat().st_size, [*ours, *copiers(path)], out=folder / "cleave-bench")
    for contestant in ours:
        row = f"{contestant.name.removeprefix('cleave ')}, tmpfs, time of the faster cp"
        must, goal = ("<= 0.14", "<= 0.12") if contestant.name.endswith("-j 16") else ("", "")
        bench.compare_time(race, row, contestant.name, faster(race, COPIERS), must, goal)


def pipe(bench: Bench) -> None:
    """split -l of input from a pipe."""
    path = bench.input("plain")
    records = bench.records_in(path, piece_size(bench))

    def piped(name: str, command: str, check: Callable[[Path], None]) -> Contestant:
        return Contestant(name, ["sh", "-c", f"cat {path} | {command}"], check_files=check)

    ours = piped(
        "cleave split -l",
        f"{bench.cleave} split -l {records} -o {OUT}/{{i}}.csv -",
        joins_to(path, header_size_of(path)),
    )
    theirs = piped("GNU split -l", f"split -l {records} - {OUT}/x", joins_to(path, 0))
    race = bench.race("pipe", "splitting by records from a pipe, plain", path.stat().st_size, [ours, theirs])
    bench.compare_time(race, "split -l from a pipe, time of GNU split -l", ours.name, theirs.name, "<= 1.13", "<= 0.85")


def clone(bench: Bench) -> None:
    """split -n 10 --reflink always on file systems that can share blocks, each in its own image."""
    told = subprocess.run([bench.cleave, "split", "--help"], capture_output=True, text=True, check=True).stdout
    if not any("--reflink" in line and "always" in line for line in told.splitlines()):
        bench.skip("split --reflink: this cleave cannot clone")
        return
    if bench.size < CLONE_SIZE:
        bench.skip(
            f"split --reflink: so small pieces may have no cut to clone at; needs --size {size_name(CLONE_SIZE)}")
        return
    for kind in ("xfs", "btrfs"):
        if os.geteuid() != 0 or not bench.find(f"mkfs.{kind}"):
            bench.skip(f"split --reflink on {kind}: needs root and mkfs.{kind}")
            continue
        source = bench.input("quoted")
        with mounted(bench, kind) as folder:
            path = folder / source.name
            subprocess.run(["cp", source, path], check=True)
            os.sync()
            warm(path)
            ours = writer(bench, path, "cleave split -n 10", "-n", 10, "--reflink", "always")
            size = path.stat().st_size
            race = bench.race(
                f"clone/{kind}", f"splitting by cloning, {kind}", size, [ours, *copiers(path)], out=folder / "out"
            )
        # Plain cp clones here too, and the whole file at once, so there would be no copy to compare with.
        row = f"split -n 10 --reflink always on {kind}, time of cp --reflink=never"
        bench.compare_time(race, row, ours.name, "cp --reflink=never", "<= 0.16", "<= 0.15")


@contextmanager
def mounted(bench: Bench, kind: str) -> Iterator[Path]:
    """A new file system of the kind, with room for twice the input, removed afterwards."""
    image, folder = bench.data / f"{kind}.img", bench.data / f"mounted-{kind}"
    is_mounted = False
    try:
        folder.mkdir(exist_ok=True)
        with image.open("wb") as file:
            file.truncate(bench.size * 5 // 2 + (1 << 30))
        say(f"making a file system: {kind}")
        subprocess.run([f"mkfs.{kind}", "-q", str(image)], check=True, stdout=subprocess.DEVNULL)
        subprocess.run(["mount", "-o", "loop", image, folder], check=True)
        is_mounted = True
        yield folder
    finally:
        if is_mounted:
            subprocess.run(["umount", folder], check=True)
        image.unlink(missing_ok=True)
        folder.rmdir()
