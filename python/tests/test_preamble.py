"""Lines before the header: what ``skip_lines``, ``comment`` and a line ``sep=;`` leave out of the records."""

from __future__ import annotations

from pathlib import Path

import pytest

import cleave
from cleave import ranges

TEXT = b'Report "A\n# x\nid,n\n1,2\n3,4\n'
BEFORE = len(b'Report "A\n# x\n')


def test_open() -> None:
    f = cleave.open(TEXT, skip_lines=1, comment="#")
    assert (f.header, f.records, f.dialect.preamble) == (["id", "n"], 2, BEFORE)
    pieces = f.split(n=2)
    assert list(pieces.starts) == [BEFORE + 5, BEFORE + 9]
    assert pieces[1].with_header().getvalue() == TEXT[: BEFORE + 5] + b"3,4\n"
    without = cleave.open(TEXT, skip_lines=2, header=False)
    assert without.records == 3
    assert list(without.split(records=1).starts) == [BEFORE, BEFORE + 5, BEFORE + 9]


def test_columns() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    f = cleave.open(TEXT, skip_lines=1, comment="#")
    assert pyarrow.table(f.select("n")).to_pydict() == {"n": ["2", "4"]}
    assert pyarrow.table(f.split(n=2)[1].select("n")).to_pydict() == {"n": ["4"]}


def test_a_line_that_names_the_delimiter() -> None:
    f = cleave.open(b"sep=;\na;b\n1;2\n")
    assert (f.dialect.delimiter, f.header, f.records) == (b";", ["a", "b"], 1)
    assert cleave.open(b"sep=,\na,b\n", delimiter=",").header == ["a", "b"]
    assert cleave.open(b"sep=;\na,b\n", delimiter=",").header == ["sep=;"]
    assert cleave.open(b"sep=;\na,b\n", dialect="python").header == ["sep=;"]


def scan(data: bytes, offset: int) -> cleave.Summary:
    return cleave.scan(data, offset, delimiter=",", terminator="lf", preamble=BEFORE)


def test_ranges() -> None:
    for cut in range(len(TEXT) + 1):
        summary = scan(TEXT[:cut], 0) + scan(TEXT[cut:], cut)
        plan = cleave.plan([summary], input_size=len(TEXT), n=2)
        assert (plan.header_size, plan.records) == (BEFORE + 5, 2)
        assert plan.cuts[1].find(lambda offset, size: TEXT[offset : offset + size]) == (BEFORE + 9, 2)
    with pytest.raises(TypeError, match="comment"):
        cleave.scan(TEXT, delimiter=",", terminator="lf", comment="#")  # type: ignore[call-arg]
    with pytest.raises(cleave.UsageError, match="preamble"):
        cleave.scan(b"sep=;\na\n", delimiter=";", terminator="lf")


@pytest.mark.parametrize("header", [True, False])
def test_pages_of_ranges(tmp_path: Path, header: bool) -> None:
    path = tmp_path / "in.csv"
    path.write_bytes(TEXT)
    plan = ranges.plan(path, pieces=2, header=header, skip_lines=2)
    pages = [page for piece in plan.pieces for page in piece.pages()]
    assert b"".join(page.data[page.header_size :] for page in pages) == TEXT[BEFORE + (5 if header else 0) :]
    assert plan.names == (["id", "n"] if header else ["column_1", "column_2"])
    assert all(page.open().records == bytes(page.data).count(b"\n") - 1 for page in pages)


def test_refusals() -> None:
    with pytest.raises(cleave.UsageError, match="skip_lines"):
        cleave.open(TEXT, skip_lines=-1)
    with pytest.raises(cleave.UsageError, match="comment"):
        cleave.open(TEXT, comment="")
