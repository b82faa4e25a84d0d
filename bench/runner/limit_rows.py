"""Rows on the cost of cleave at the extremes: a tiny file, memory, and growth."""

import os
import statistics
import time
from pathlib import Path

from .bench import Bench, Verdict, parse_size, size_name
from .checks import joins_to, says
from .measure import OUT, Contestant, WrongAnswer, fresh
from .split_rows import writer

TINY_RUNS = 200
MEMORY_THREADS = 16
GROWTH_SIZES = ("1M", "10M", "100M", "1G", "4G", "20G")
LINEAR_FROM = 100 << 20  # below this, process start takes most of the time
PIECE_COUNTS = (1, 10, 100, 1_000, 10_000, 100_000)
PIECES_SIZE = 128 << 20
MANY = 10_000  # from this many pieces on, three rounds are enough


def tiny(bench: Bench) -> None:
    """The time to start, read one page and exit."""
    path = bench.input("plain", 4 << 10)
    count = bench.run("cleave count", "count", path)
    count.check = says(bench.records(path))
    start = Contestant("process start", ["/bin/true"])
    race = bench.race("tiny", "a file of 4 KiB", path.stat().st_size, [count, start], rounds=TINY_RUNS)
    ours, base = race.times[count.name], race.times[start.name]
    commands = (ours.command, base.command)
    mean, median = statistics.mean(ours.wall) * 1e3, ours.median * 1e3
    bench.verdict(Verdict("count, a tiny file, mean", mean, "ms", "<= 2.8", "", median, commands[:1]))
    mean, median = mean - statistics.mean(base.wall) * 1e3, median - base.median * 1e3
    bench.verdict(Verdict("the same less the start of a process (true)", mean, "ms", "", "<= 0.6", median, commands))


def memory(bench: Bench) -> None:
    """The peak of anonymous memory observed in a run with many threads."""
    path = bench.input("quoted")
    j = ("-j", MEMORY_THREADS)
    records = bench.records_in(path, path.stat().st_size // 20)
    for name, contestant in (
        ("count", bench.run("count", "count", *j, path)),
        ("offsets -l", bench.run("offsets", "offsets", "-l", records, *j, path)),
        ("offsets -n 1000", bench.run("offsets", "offsets", "-n", 1000, *j, path)),
        ("split -n 10", writer(bench, path, "split", "-n", 10, *j)),
    ):
        row = f"{name}, {MEMORY_THREADS} threads, {size_name(bench.size)}, anonymous memory"
        compare_memory(bench, row, contestant, "<= 4")


def compare_memory(bench: Bench, row: str, contestant: Contestant, must: str) -> None:
    """The peak of anonymous memory observed; in a single run if files are written."""
    out = bench.track.scratch / "out"
    fresh(out)
    peak = max(
        peak_anonymous([word.replace(OUT, str(out)) for word in contestant.argv])
        for _ in range(1 if contestant.writes() else bench.rounds)
    )
    fresh(out)
    command = bench.shown(contestant.argv, contestant.stdout)
    bench.verdict(Verdict(row, peak / (1 << 20), "MiB", must, commands=(command,)))


def peak_anonymous(argv: list[str]) -> int:
    """The peak in bytes, polled while the program runs."""
    to_nothing = [(os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)]
    pid = os.posix_spawn(argv[0], argv, os.environ, file_actions=to_nothing)
    peak = 0
    while True:
        try:
            with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
                for line in file:
                    if line.startswith("RssAnon:"):
                        peak = max(peak, int(line.split()[1]) << 10)
        except ProcessLookupError:
            pass
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            break
        time.sleep(0.0002)
    if status != 0:
        raise WrongAnswer(f"{argv[1]}: exit {os.waitstatus_to_exitcode(status)}")
    return peak


def growth_in_size(bench: Bench) -> None:
    """count from 1 MB to 20 GB."""
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    start = bench.race("growth/start", "process start", 0, [Contestant("true", ["/bin/true"])], rounds=TINY_RUNS)
    start_time = start.times["true"].best
    per_byte: dict[str, float] = {}
    for name in GROWTH_SIZES:
        size = parse_size(name)
        room = os.statvfs(bench.data)
        path = bench.data / f"quoted-{size_name(size)}.csv"
        if not path.exists() and size * 2 > room.f_bavail * room.f_frsize:
            bench.skip(f"growth, {name}: the disk has no room for it")
            continue
        path = bench.input("quoted", size)
        cold = size > total // 2
        count = bench.run("count", "count", path)
        count.check = says(bench.records(path))
        title = f"counting {name}" + (", larger than half of the memory: partly from the disk" if cold else "")
        race = bench.race(f"growth/{name}", title, path.stat().st_size, [count], rounds=3 if cold else None)
        if not cold and size >= LINEAR_FROM:
            per_byte[name] = (race.times["count"].best - start_time) / size
        if size > 4 << 30:
            path.unlink()
    slowest, fastest = max(per_byte, key=per_byte.__getitem__), min(per_byte, key=per_byte.__getitem__)
    row = f"count, time a byte at {slowest} over that at {fastest}"
    bench.verdict(Verdict(row, per_byte[slowest] / per_byte[fastest], "×", "<= 1.25", commands=(race.times["count"].command,)))


def growth_in_pieces(bench: Bench) -> None:
    """One file in more and more pieces, against a program that only creates as many files with the same bytes."""
    in_memory = Path("/dev/shm")
    out = in_memory / "cleave-bench" if in_memory.is_dir() else None
    where = "in memory (tmpfs)" if out else "on the disk"
    path = bench.input("plain", PIECES_SIZE)
    size, records = path.stat().st_size, bench.records(path)
    for pieces in PIECE_COUNTS:
        lines = -(-records // pieces)
        by_size = size // pieces + 1
        contestants = [
            writer(bench, path, "cleave split -l", "-l", lines, "--header", "first"),
            writer(bench, path, "cleave split -C", "-C", by_size, "--header", "first"),
            Contestant("GNU split -l", ["split", "-a", "5", "-l", str(lines), str(path), f"{OUT}/x"]),
            Contestant("create_files", [bench.program("create_files"), str(pieces), str(path), OUT]),
        ]
        for contestant in contestants:
            contestant.check_files = joins_to(path, 0)
        title = f"{pieces} pieces of {size_name(PIECES_SIZE)}, {where}"
        rounds = min(bench.rounds, 3) if pieces >= MANY else None
        race = bench.race(f"pieces/{pieces}", title, size, contestants, rounds, out)
        must, goal = ("<= 2.2", "<= 1.25") if pieces == PIECE_COUNTS[-1] else ("", "")
        for name in ("cleave split -l", "cleave split -C"):
            row = f"{name}, {pieces} pieces, time of creating as many files"
            bench.compare_time(race, row, name, "create_files", must, goal)
