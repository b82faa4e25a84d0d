"""Pieces by value, against Python's csv."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy
import pandas
import pytest
from conftest import HEADER, make_csv, rows_of

import cleave


def oracle(data: bytes, columns: list[int]) -> dict[tuple[str, ...], list[list[str]]]:
    """The records of each value as Python's csv reads them, in the order of their first records."""
    groups: dict[tuple[str, ...], list[list[str]]] = {}
    for row in rows_of(data)[1:]:
        groups.setdefault(tuple(row[column] for column in columns), []).append(row)
    return groups


BY: list[tuple[Any, list[int]]] = [
    ("a note", [2]),
    (2, [2]),
    (["a note", "last"], [2, 3]),
    (("last", 2), [3, 2]),
]


@pytest.mark.parametrize("source", ["path", "bytes"])
@pytest.mark.parametrize(("by", "columns"), BY, ids=str)
def test_there_is_a_piece_for_each_value(
    source: str, by: Any, columns: list[int], path: Path, data: bytes
) -> None:
    f = cleave.open(path if source == "path" else data)
    pieces = f.split(by=by)
    expected = oracle(data, columns)
    assert pieces.keys == list(expected)
    assert len(pieces) == len(expected) > 1
    numbers = {tuple(row): i for i, row in enumerate(rows_of(data))}
    for piece, (key, rows) in zip(pieces, expected.items()):
        body = bytes(piece.bytes)
        assert piece.key == key
        assert rows_of(body) == rows
        assert len(body) == len(piece) == piece.length
        assert piece.records == len(rows)
        assert piece.first_record == numbers[tuple(rows[0])]
        assert rows_of(data[piece.start :])[0] == rows[0]
        assert rows_of(piece.with_header().getvalue()) == [HEADER, *rows]
        assert b"".join(data[start : start + size] for start, size in numpy.asarray(piece.ranges).tolist()) == body
    assert list(pieces.lengths) == [piece.length for piece in pieces]
    assert list(pieces.records) == [len(rows) for rows in expected.values()]
    assert sum(pieces.lengths) + pieces.header_size == len(data)
    assert pieces[-1].key == pieces[len(pieces) - 1].key
    assert [piece.number for piece in pieces[1:3]] == [2, 3]
    with pytest.raises(IndexError):
        pieces[len(pieces)]


def test_ranges_are_a_view_that_keeps_the_plan(data: bytes) -> None:
    pieces = cleave.open(data).split(by="last")
    body = bytes(pieces[0].bytes)
    ranges = pieces[0].ranges
    assert (ranges.format, ranges.ndim, ranges.readonly) == ("Q", 2, True)
    assert numpy.asarray(ranges).shape == (len(ranges), 2)
    rows = numpy.asarray(ranges)
    assert numpy.shares_memory(rows, numpy.asarray(ranges))
    del pieces, ranges
    gc.collect()
    assert b"".join(data[start : start + size] for start, size in rows.tolist()) == body


def test_limits_divide_the_records_of_a_value(data: bytes) -> None:
    f = cleave.open(data)
    expected = oracle(data, [2])
    for limits in ({"records": 100}, {"size": 5000}, {"size": 5000, "records": 30}):
        pieces = f.split(by="a note", **limits)  # type: ignore[call-overload]
        found: dict[Any, list[list[str]]] = {}
        for piece in pieces:
            found.setdefault(piece.key, []).extend(rows_of(bytes(piece.bytes)))
            assert piece.records <= limits.get("records", piece.records)
            assert len(piece.with_header().getvalue()) <= limits.get("size", 1 << 30)
        assert found == expected
        assert len(pieces) > len(expected)


def test_buckets(data: bytes) -> None:
    pieces = cleave.open(data).split(by="a note", buckets=5)
    assert len(pieces) == 5
    assert pieces.keys == [()] * 5
    rows = [rows_of(bytes(piece.bytes)) for piece in pieces]
    assert sorted(sum(rows, [])) == sorted(rows_of(data)[1:])
    notes = [{row[2] for row in some} for some in rows]
    assert sum(map(len, notes)) == len(set().union(*notes)), "a value in two buckets"
    many = cleave.open(data).split(by="a note", buckets=1000)
    assert len(many) == 1000
    assert [bytes(piece.bytes) for piece in many if piece.records == 0].count(b"") > 900
    assert all(piece.ranges.shape == (0, 2) for piece in many if piece.records == 0)


def test_parts(data: bytes, path: Path, tmp_path: Path) -> None:
    """The same parts as the command makes."""
    parts: dict[str, Any] = {"train": 0.8, "valid": "0.10", "test": Decimal("0.1")}
    command = Path(sys.executable).parent / "cleave"
    assert command.read_bytes()[:4] == b"\x7fELF"  # a script takes several times as long to start
    f = cleave.open(path)
    cases: list[tuple[Any, list[str], int]] = [
        ("a note", ["--by", "#3"], 0),
        ("a note", ["--by", "#3"], 7),
        (["a note", "last"], ["--by", "#3,#4"], 7),
        (None, [], 0),
        (None, [], 7),
    ]
    for by, columns, seed in cases:
        pieces = f.split(by=by, parts=parts, seed=seed)
        assert [piece.part for piece in pieces] == list(parts)
        assert pieces.keys == [()] * 3
        assert sum(pieces.records) == f.records
        options = ["--parts", "train=80,valid=10,test=10", *columns, "--seed", str(seed), "-f", "-d", ","]
        subprocess.run([command, "split", *options, "--header=repeat", "-o", tmp_path / "{value}", path], check=True)
        for piece in pieces:
            assert piece.with_header().getvalue() == (tmp_path / str(piece.part)).read_bytes()
    assert [piece.part for piece in f.split(by="last", buckets=2)] == [None, None]
    assert list(f.split(by="last", buckets=7, seed=1).records) != list(f.split(by="last", buckets=7).records)
    empty = cleave.open(b"a,b\n").split(parts={"x": 1, "y": 1})
    assert [(piece.part, piece.records, bytes(piece.bytes)) for piece in empty] == [("x", 0, b""), ("y", 0, b"")]


def test_values_are_what_a_reader_gets() -> None:
    data = b'k,v\n"a",1\na,2\n"a""",3\n\xff,4\n\xfe,5\n"x\ny",6\n,7\n"",8\n'
    pieces = cleave.open(data).split(by="k")
    assert pieces.keys == [("a",), ('a"',), ("\udcff",), ("\udcfe",), ("x\ny",), ("",)]
    assert [os.fsencode(key[0]) for key in pieces.keys[2:4] if key] == [b"\xff", b"\xfe"]
    assert [bytes(piece.bytes) for piece in pieces][0] == b'"a",1\na,2\n'
    assert bytes(pieces[5].bytes) == b',7\n"",8\n'


def test_paths_in_json_lines() -> None:
    data = b'{"k":{"a":"x"}}\n{"k":{"a":1}}\n{}\n{"k":{"a":"x"}}\n'
    f = cleave.open(data, dialect="jsonl")
    pieces = f.split(by=".k.a")
    assert pieces.keys == [("x",), ("1",), ("",)]
    assert bytes(pieces[0].bytes) == b'{"k":{"a":"x"}}\n{"k":{"a":"x"}}\n'
    assert f.split(by=[".k.a", ".k.b"]).keys == [("x", ""), ("1", ""), ("", "")]
    assert len(f.split(by=".k.a", buckets=3)) == 3
    assert len(f.split(records=1, together=".k.a")) == 4
    for by in ("k", "#1"):
        with pytest.raises(cleave.UsageError, match="begins with '.'"):
            f.split(by=by)
    with pytest.raises(TypeError):
        f.split(by=0)
    with pytest.raises(cleave.InputError, match="is an object") as error:
        f.split(by=".k")
    assert (error.value.byte, error.value.record) == (5, 1)


def test_without_header_and_with_missing_fields() -> None:
    data = b"a,1\nb,2\na\n\na,2\n"
    f = cleave.open(data, header=False)
    with pytest.raises(cleave.InputError) as error:
        f.split(by=1)
    assert (error.value.byte, error.value.record) == (8, 3)
    pieces = f.split(by=1, accepts_missing=True)
    assert [(piece.key, bytes(piece.bytes)) for piece in pieces] == [
        (("1",), b"a,1\n"),
        (("2",), b"b,2\na,2\n"),
        (("",), b"a\n\n"),
    ]
    assert pieces.header_size == 0


def test_readers_take_a_piece(path: Path, data: bytes) -> None:
    pieces = cleave.open(path).split(by="a note")
    frames = [pandas.read_csv(piece.with_header(), keep_default_na=False) for piece in pieces]
    assert [len(frame) for frame in frames] == list(pieces.records)
    assert all(frame["a note"].nunique() == 1 for frame in frames)


def test_what_cannot_be_is_said(data: bytes) -> None:
    f = cleave.open(data)
    for arguments, text in (
        ({"by": "none"}, "there is no column 'none'"),
        ({"by": []}, "no column"),
        ({"by": 99}, "there is no column 99"),
        ({"by": -1}, "no column -1"),
        ({"by": ["last", "last"]}, "twice"),
        ({"by": "last", "n": 3}, "exclude n"),
        ({"by": "last", "together": "last"}, "exclude n, together"),
        ({"by": "last", "balance": "records"}, "exclude n, together and balance"),
        ({"by": "last", "buckets": 0}, "buckets"),
        ({"by": "last", "buckets": 2, "records": 2}, "buckets"),
        ({"by": "last", "buckets": 2, "max_values": 2}, "buckets excludes max_values"),
        ({"by": b"last"}, "a name is a str"),
        ({"by": "last", "max_values": 0}, "number of values"),
        ({"by": "last", "max_values": 2}, "more than 2 different values in by; max_values allows more"),
        ({"n": 2, "buckets": 2}, "need by"),
        ({"n": 2, "max_values": 2}, "need by"),
        ({"parts": {"x": 1}, "buckets": 2}, "need by"),
        ({"parts": {"x": 1}, "n": 2}, "exclude n"),
        ({"parts": {"x": 1}, "size": 2}, "parts cannot be used with records or max_bytes"),
        ({"parts": {"x": 1}, "by": "last", "max_values": 2}, "parts excludes max_values"),
        ({"parts": {"x": 1}, "by": "last", "buckets": 2}, "buckets cannot be used with parts"),
        ({"parts": {}}, "parts: no part"),
        ({"parts": {"": 1}}, "a part needs a name"),
        ({"parts": {"x": 0}}, "the weight of 'x' is 0, and not a number above 0"),
        ({"parts": {"x": -1}}, "above 0"),
        ({"parts": {"x": float("nan")}}, "above 0"),
        ({"parts": {"x": float("inf")}}, "above 0"),
        ({"parts": {"x": "much"}}, "above 0"),
        ({"parts": {"x": None}}, "above 0"),
        ({"parts": {"x": 1 << 64}}, "too many digits"),
        ({"parts": {str(i): 1 for i in range(1001)}}, "at most 1000 parts"),
        ({"by": "last", "seed": 1}, "seed needs buckets or parts"),
        ({"parts": {"x": 1}, "seed": -1}, "seed: from 0"),
        ({}, "^give n, size, records, by or parts$"),
        ({"n": 0}, "^n: at least 1$"),
        ({"n": 2, "size": 9}, "^n excludes size and records$"),
    ):
        with pytest.raises(cleave.UsageError, match=text):
            f.split(**arguments)


def test_a_quote_that_is_never_closed() -> None:
    data = b'k,v\na,1\nb,"2\n'
    with pytest.raises(cleave.OpenQuoteError) as error:
        cleave.open(data).split(by="k")
    assert (error.value.byte, error.value.record) == (10, 2)
    pieces = cleave.open(data, allow_open_quote=True).split(by="k")
    assert [bytes(piece.bytes) for piece in pieces] == [b"a,1\n", b'b,"2\n']


def test_a_file_that_becomes_shorter_raises(path: Path) -> None:
    pieces = cleave.open(path).split(by="last")
    os.truncate(path, 1000)
    with pytest.raises(cleave.InputChangedError):
        for piece in pieces:
            bytes(piece.bytes)
    f = cleave.open(path)
    assert f.size == 1000
    os.truncate(path, 100)
    with pytest.raises(cleave.InputChangedError):
        f.split(by="last")


def test_a_file_that_is_rewritten_raises(path: Path, data: bytes) -> None:
    pieces = cleave.open(path).split(by="last")
    os.utime(path, ns=(1, 1))
    path.write_bytes(make_csv(5000, seed=2)[: len(data)])
    with pytest.raises(cleave.InputChangedError):
        bytes(pieces[0].bytes)


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    """A 200 MB file in which every record has a different value from the previous one."""
    path = tmp_path / "large.csv"
    part = b"".join(b"%d,%s\n" % (i % 7, b"x" * 40) for i in range(70_000))
    with open(path, "wb") as file:
        file.write(b"k,v\n")
        for _ in range(65):
            file.write(part)
    script = f"""
import resource, cleave
f = cleave.open({str(path)!r})
peak = lambda: int(next(line for line in open("/proc/self/status") if line.startswith("RssAnon")).split()[1])
before = peak()
pieces = f.split(by="k")
assert len(pieces) == 7 and sum(pieces.records) == f.records == 65 * 70_000
print(peak() - before)
"""
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert int(done.stdout) < 32 << 10, "KiB of anonymous memory"
