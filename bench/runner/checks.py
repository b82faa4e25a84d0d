"""Checks of what programs print and write."""

import subprocess
from collections.abc import Callable
from pathlib import Path

from .measure import WrongAnswer, in_order

CHUNK = 16 << 20


def says(number: int) -> Callable[[str], None]:
    """Checks that the first word of the output is the number."""

    def check(output: str) -> None:
        word = (output.split() or [""])[0]
        if word != str(number):
            raise WrongAnswer(f"answers {word[:40]!r}, not {number}")

    return check


def covers(size: int, records: int) -> Callable[[str], None]:
    """Checks that the rows of `offsets` cover the input to its end and have all its records."""

    def check(output: str) -> None:
        rows = [[int(word) for word in line.split("\t")] for line in output.splitlines()]
        position = rows[0][1]
        for _, start, length, _, _ in rows:
            if start != position:
                raise WrongAnswer(f"a piece starts at {start}, not {position}")
            position = start + length
        found = sum(row[4] for row in rows)
        if (position, found) != (size, records):
            raise WrongAnswer(f"{found} records up to byte {position}, not {records} up to {size}")

    return check


def joins_to(source: Path, header_size: int) -> Callable[[Path], None]:
    """Checks that the files, joined in order, are the input; all but the first begin with a header of this size."""

    def check(folder: Path) -> None:
        with source.open("rb") as expected:
            header = expected.read(header_size)
            expected.seek(0)
            for number, path in enumerate(in_order(folder)):
                with path.open("rb") as piece:
                    if number > 0 and piece.read(header_size) != header:
                        raise WrongAnswer(f"{path.name} does not begin with the header")
                    while chunk := piece.read(CHUNK):
                        if chunk != expected.read(len(chunk)):
                            raise WrongAnswer(f"{path.name} is not what stands in the input")
            if expected.read(1):
                raise WrongAnswer("the pieces end before the input")

    return check


def header_size_of(path: Path) -> int:
    """The size of the header of a file whose header is one line."""
    with path.open("rb") as file:
        return len(file.readline())


def holds_records(cleave: Path, number: int) -> Callable[[Path], None]:
    """Checks that the files of the folder have this number of records; for tools that change the quotes of records."""

    def check(folder: Path) -> None:
        found = 0
        for path in folder.iterdir():
            found += int(subprocess.run([cleave, "count", path], check=True, capture_output=True, text=True).stdout)
        if found != number:
            raise WrongAnswer(f"writes {found} records, not {number}")

    return check
