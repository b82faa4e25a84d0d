"""What the readers for engines do outside the engines: path patterns, and positions in errors.
tests/system/reach has tests with the real engines.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import cleave
from cleave import ranges

pytest.importorskip("pyarrow")


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
