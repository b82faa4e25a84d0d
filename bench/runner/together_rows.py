"""Rows on --together, which cuts only where the value of a column changes, with sorted files."""

from pathlib import Path

from .bench import Bench, size_name, warm
from .checks import header_size_of, joins_to
from .measure import OUT, Contestant, WrongAnswer, say

SIZE = 500 << 20
RECORD = 110  # bytes, approximately
VALUES = (3, 21, 10_000, 1_000_000)  # with 3, finding the cuts reads most of the file; with 21, a fifth
NOTES = [f"{number * 0x9E3779B97F4A7C15 & (1 << 64) - 1:016x}" * 4 for number in range(997)]


def sorted_input(bench: Bench, values: int) -> Path:
    """A file sorted by its column `k`, which has that many values."""
    size = min(SIZE, bench.size)
    path = bench.data / f"sorted-{values}-{size_name(size)}.csv"
    if not path.exists():
        say(f"making {path.name}")
        records = size // RECORD
        unfinished = path.with_suffix(".part")
        with unfinished.open("w", encoding="ascii", newline="") as file:
            file.write("id,k,name,city,note\n")
            for i in range(records):
                file.write(f"{i:010},key{i * values // records:07},Ada Lovelace,London,{NOTES[i % len(NOTES)]}\n")
        unfinished.rename(path)
    warm(path)
    return path


def keeps_together(path: Path, folder: Path) -> None:
    """Checks that the pieces are the input, and that no value of `k` is in two of them."""
    joins_to(path, header_size_of(path))(folder)
    seen: set[bytes] = set()
    for piece in folder.iterdir():
        with piece.open("rb") as file:
            found = {line.split(b",")[1] for line in list(file)[1:]}
        if seen & found:
            raise WrongAnswer(f"{piece.name} has a value that another piece has, too")
        seen |= found


def together(bench: Bench) -> None:
    """split -n 10 --together against split -n 10."""
    for values in VALUES:
        path = sorted_input(bench, values)

        def split(name: str, *options: str) -> Contestant:
            return bench.run(name, "split", "-n", 10, *options, "-o", f"{OUT}/{{i}}.csv", path)

        plain = split("cleave split -n")
        plain.check_files = joins_to(path, header_size_of(path))
        ours = split("cleave split -n --together", "--together", "k")
        ours.check_files = lambda folder, path=path: keeps_together(path, folder)  # type: ignore[misc]
        title = f"splitting a file sorted by a column of {values:,} values"
        race = bench.race(f"together/{values}", title, path.stat().st_size, [ours, plain])
        row = f"split -n 10 --together, {values:,} values, time of split -n 10"
        bench.compare_time(race, row, ours.name, plain.name, "<= 1.5", "<= 1.1")
