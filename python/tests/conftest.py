from __future__ import annotations

import csv
import io
import random
from pathlib import Path

import pytest

HEADER = ["id", "name", "a note", "last"]


def make_csv(records: int, seed: int = 1) -> bytes:
    """CSV with line breaks, quotes and delimiters in quotes."""
    rng = random.Random(seed)
    notes = ['two\nlines', 'said "hi"', "a,b", "", "plain", "Köln", '"', "x" * 70]
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(HEADER)
    for i in range(records):
        writer.writerow([i, f"name {rng.randrange(1000)}", rng.choice(notes), rng.choice(notes)])
    return out.getvalue().encode()


def rows_of(data: bytes) -> list[list[str]]:
    """The rows as Python's csv reads them."""
    return list(csv.reader(io.StringIO(data.decode(), newline="")))


@pytest.fixture(scope="session")
def data() -> bytes:
    return make_csv(5000)


@pytest.fixture
def path(tmp_path: Path, data: bytes) -> Path:
    path = tmp_path / "in.csv"
    path.write_bytes(data)
    return path
