"""The reader for Dask, without workers: types, columns and positions in errors. tests/system/reach has tests with worker
processes, and compares the rows with those of pandas.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import cleave

dask = pytest.importorskip("cleave.dask")
pandas = pytest.importorskip("pandas")


def test_a_fault_has_its_place_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    for fault, words in ((b"2,caf\xe9\n", "not UTF-8"), (b"2,3,4\n", "3 fields"), (b"x,3\n", "not of type int64")):
        data = b"k,v\n" + b'1,"x\ny"\n' * 500 + b" \n" + fault + b"3,z\n" * 500
        path.write_bytes(data)
        for blocksize in (600, None):
            with pytest.raises(cleave.InputError, match=words) as raised:
                dask.read_csv(path, dtype={"k": "int64"}, blocksize=blocksize, page_size=300).compute(scheduler="sync")
            place = data.index(fault) + (fault.index(b"\xe9") if b"\xe9" in fault else 3 if b"4" in fault else 0)
            assert raised.value.byte == place
            assert f"byte {place}" in str(raised.value)


@pytest.mark.parametrize(
    ("dtype", "texts", "values"),
    [
        ("int64", ["1", "-2"], [1, -2]),
        ("float32", ["1.5", ""], [1.5, None]),
        ("Int64", ["1", ""], [1, None]),
        ("boolean", ["True", ""], [True, None]),
        ("string", ["x", ""], ["x", None]),
        ("int64[pyarrow]", ["9007199254740993", ""], [9007199254740993, None]),
    ],
)
def test_types(tmp_path: Path, dtype: str, texts: list[str], values: list[Any]) -> None:
    path = tmp_path / "in.csv"
    path.write_text("a,b\n" + "".join(f"{text},x\n" for text in texts))
    found = dask.read_csv(path, dtype={"a": dtype}, columns=["a"]).compute(scheduler="sync").a
    assert str(found.dtype) == dtype
    assert [None if pandas.isna(value) else value for value in found] == values


def test_a_whole_number_that_is_missing_never_becomes_a_float(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_text("a,b\n1,x\n,y\n")
    with pytest.raises(cleave.InputError, match="missing, which int64 cannot be"):
        dask.read_csv(path, dtype={"a": "int64"}).compute(scheduler="sync")


def test_lines_of_blanks_are_dropped_outside_quotes(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_text('a,b\n  \n1,"x\n  \ny"\n\t\n" ",2\n" "\n')
    found = dask.read_csv(path, blocksize=None).compute(scheduler="sync")
    assert found.fillna("-").to_numpy().tolist() == [["1", "x\n  \ny"], [" ", "2"], [" ", "-"]]


@pytest.mark.parametrize(("name", "meant"), [("sep", "delimiter"), ("usecols", "columns"), ("nulls", "na_values")])
def test_names_of_pandas_lead_to_ours(tmp_path: Path, name: str, meant: str) -> None:
    message = rf"^cleave.dask.read_csv\(\) has no argument '{name}'; {meant} is meant$"
    with pytest.raises(TypeError, match=message):
        dask.read_csv(tmp_path / "in.csv", **{name: ";"})
