"""What the readers for engines do outside the engines: path patterns, and positions in errors.
tests/system/reach has tests with the real engines.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import cleave
from cleave import ranges

pytest.importorskip("pyarrow")


def test_patterns(tmp_path: Path) -> None:
    dask = pytest.importorskip("cleave.dask")
    for name in ("a1.csv", "a2.csv", "b1.csv", "b[1].csv", "c[9].csv", "d?.csv"):
        (tmp_path / name).write_bytes(b"k,v\n1,2\n")

    def expanded(pattern: str) -> list[str]:
        return [Path(path).name for path in dask._expand(f"{tmp_path}/{pattern}", None)]

    assert expanded("a*.csv") == expanded("a?.csv") == expanded("a[12].csv") == ["a1.csv", "a2.csv"]
    assert expanded("[ab]1.csv") == ["a1.csv", "b1.csv"]
    assert expanded("b[1].csv") == ["b1.csv"]
    assert expanded("c[9].csv") == ["c[9].csv"]  # a file whose name the pattern does not match
    assert expanded("d?.csv") == ["d?.csv"]
    for url in (f"file://{tmp_path}/a?.csv", f"file:{tmp_path}/a?.csv"):
        assert [Path(path).name for path in dask._expand(url, None)] == ["a1.csv", "a2.csv"]
    with pytest.raises(FileNotFoundError):
        expanded("x?.csv")
    assert dask._expand("https://host/in.csv?key=1", None) == ["https://host/in.csv?key=1"]
    assert len(dask.read_csv(f"{tmp_path}/a?.csv").compute(scheduler="synchronous")) == 2


def test_a_fault_has_its_place_in_the_file(tmp_path: Path) -> None:
    from cleave._arrow import table_of

    path = tmp_path / "in.csv"
    data = b"k,v\n" + b'1,"x\ny"\n' * 500 + b"2,caf\xe9\n" + b"3,z\n" * 500
    path.write_bytes(data)
    for pieces in (7, 1):
        with pytest.raises(cleave.InputError) as raised:
            for piece in ranges.plan(path, pieces=pieces).pieces:
                for page in piece.pages(300):
                    table_of(page)
        assert raised.value.byte == data.index(b"\xe9")
        assert raised.value.__cause__ is None
        assert f"byte {data.index(bytes([0xE9]))}" in str(raised.value)


def test_quotes_and_delimiters_need_not_be_text(tmp_path: Path) -> None:
    from cleave._arrow import table_of

    path = tmp_path / "in.csv"
    path.write_bytes(b"\xabk\n1\xab\xa6v\n1\xa6\xab2\xa63\xab\n4\xa6\xff\n")
    plan = ranges.plan(path, pieces=1, delimiter=b"\xa6", quote=b"\xab")
    assert plan.names == ["k\n1", "v"]
    with pytest.raises(cleave.InputError) as raised:
        table_of(next(plan.pieces[0].pages()))
    assert raised.value.byte == path.read_bytes().index(b"\xff")
