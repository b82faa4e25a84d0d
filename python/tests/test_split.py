"""Pieces, compared with Python's csv and with the readers that they are meant for."""

from __future__ import annotations

import gc
import gzip
import io
import mmap
import os
import sys
import tracemalloc
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import HEADER, make_csv, rows_of

import cleave

POLICIES: list[dict[str, Any]] = [
    {"n": 1},
    {"n": 7},
    {"n": 7, "balance": "records"},
    {"size": 4000},
    {"records": 123},
    {"size": 4000, "records": 50},
]


def mapped(path: Path) -> mmap.mmap:
    with open(path, "rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


SOURCES: dict[str, Callable[[Path], Any]] = {
    "str": str,
    "path": lambda path: path,
    "bytes": lambda path: path.read_bytes(),
    "bytearray": lambda path: bytearray(path.read_bytes()),
    "memoryview": lambda path: memoryview(b"--" + path.read_bytes())[2:],
    "mmap": mapped,
    "BytesIO": lambda path: io.BytesIO(path.read_bytes()),
    "file": lambda path: open(path, "rb"),
    "raw file": lambda path: open(path, "rb", buffering=0),
    "gzip file": lambda path: gzip.open(io.BytesIO(gzip.compress(path.read_bytes()))),
}


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_pieces_are_all_records(source: str, policy: dict[str, Any], path: Path, data: bytes) -> None:
    f = cleave.open(SOURCES[source](path))
    rows = rows_of(data)
    assert f.records == len(rows) - 1
    assert f.header == HEADER
    assert f.size == len(data)
    pieces = f.split(**policy)
    header = data[: pieces.header_size]
    assert header + b"".join(bytes(piece.bytes) for piece in pieces) == data
    assert list(pieces.starts) == [piece.start for piece in pieces]
    assert list(pieces.lengths) == [len(piece.bytes) for piece in pieces]
    done = 1
    for piece in pieces:
        own = rows_of(bytes(piece.bytes))
        assert own == rows[done : done + piece.records]
        assert piece.first_record == done
        assert rows_of(piece.with_header().read()) == [HEADER, *own]
        done += piece.records
    if "n" in policy:
        assert len(pieces) == policy["n"]
    if "size" in policy:
        assert max(pieces.lengths) + len(header) <= policy["size"]
    if "records" in policy:
        assert max(pieces.records) <= policy["records"]


def test_threads_change_nothing(path: Path) -> None:
    expected = cleave.open(path, threads=1).split(n=9)
    for threads in (2, 3, 8):
        assert cleave.open(path, threads=threads).split(n=9).starts == expected.starts


def test_together(tmp_path: Path) -> None:
    data = b"k,v\n" + b"".join(b"%d,%d\n" % (i // 10, i) for i in range(1000))
    pieces = cleave.open(data).split(records=25, together="k")
    assert len(pieces) == 50
    for piece in pieces:
        assert piece.records == 20
        assert piece.first_record % 10 == 1


def test_starts_are_a_buffer_without_a_copy(data: bytes) -> None:
    numpy = pytest.importorskip("numpy")
    pieces = cleave.open(data).split(records=10)
    view = pieces.starts
    assert (view.format, view.itemsize, view.ndim, view.readonly) in {("Q", 8, 1, True), ("L", 8, 1, True)}
    array = numpy.asarray(view)
    assert array.dtype == numpy.uint64
    assert numpy.shares_memory(array, numpy.asarray(pieces.starts))
    expected = list(array)
    del pieces, view
    gc.collect()
    assert list(array) == expected


def test_bytes_are_views_that_keep_their_owner() -> None:
    class Owner(bytearray):
        pass

    owner = Owner(make_csv(100))
    gone = weakref.ref(owner)
    base = sys.getrefcount(owner)
    piece = cleave.open(owner).split(n=2)[1]
    del base
    view = piece.bytes
    address = memoryview(owner)[piece.start : piece.start + piece.length]
    assert view == address
    owner[piece.start] ^= 0xFF  # the same memory as the piece
    assert view == address
    del address
    del owner, piece
    gc.collect()
    assert gone() is not None
    del view
    gc.collect()
    assert gone() is None


def test_many_uses_leave_no_references(data: bytes) -> None:
    def count() -> int:
        return sys.getrefcount(data)

    before = count()
    for _ in range(20):
        f = cleave.open(data)
        pieces = f.split(n=3)
        assert f.records and pieces[1].bytes and pieces.starts
        f.select("id").names
    del f, pieces
    gc.collect()
    assert count() == before


def test_pandas_and_polars_and_pyarrow_read_pieces(path: Path, data: bytes) -> None:
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    arrow_csv = pytest.importorskip("pyarrow.csv")
    expected = rows_of(data)[1:]
    pieces = cleave.open(path).split(n=4)
    for read in (
        lambda file: pandas.read_csv(file, dtype=str, keep_default_na=False).values.tolist(),
        lambda file: [list(row) for row in polars.read_csv(file, infer_schema=False).fill_null("").rows()],
        lambda file: [
            list(row.values())
            for row in arrow_csv.read_csv(
                file,
                parse_options=arrow_csv.ParseOptions(newlines_in_values=True),
                convert_options=arrow_csv.ConvertOptions(column_types={name: "string" for name in HEADER}),
            ).to_pylist()
        ],
    ):
        rows = [row for piece in pieces for row in read(piece.with_header())]
        assert rows == expected


def test_a_file_object_is_read_from_where_it_stands(path: Path, data: bytes) -> None:
    with open(path, "rb") as file:
        file.readline()
        assert cleave.open(file, header=False).size == len(data) - len(data.split(b"\n", 1)[0]) - 1
    stream = io.BytesIO(b"junk\n" + data)
    stream.readline()
    assert cleave.open(stream).size == len(data)


def test_a_pipe_is_copied_when_it_must_be(data: bytes) -> None:
    reader, writer = os.pipe()
    with os.fdopen(writer, "wb") as file:
        file.write(data[:60000])
    f = cleave.open(f"/proc/self/fd/{reader}", allow_open_quote=True)
    os.close(reader)
    assert f.size == 60000
    assert f.records > 0


def test_compressed_files(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "in.csv.gz"
    path.write_bytes(gzip.compress(data))
    f = cleave.open(path)
    assert f.records == len(rows_of(data)) - 1
    assert f.size == len(data)
    f = cleave.open(path.read_bytes())
    assert (f.records, f.size, f.name) == (len(rows_of(data)) - 1, len(data), "memory")


@pytest.mark.parametrize("encoding", ["utf-16le", "utf-16be"])
def test_utf_16(tmp_path: Path, data: bytes, encoding: str) -> None:
    path = tmp_path / "in.csv"
    path.write_bytes(("\ufeff" + data.decode()).encode(encoding))
    f = cleave.open(path, encoding=encoding)
    assert (f.header, f.records) == (HEADER, len(rows_of(data)) - 1)
    pieces = f.split(n=3)
    assert (pieces.header + b"".join(bytes(piece.bytes) for piece in pieces)).removeprefix(b"\xef\xbb\xbf") == data
    with gzip.open(path, "wb") as file:
        file.write(data.decode().encode(encoding))
    assert cleave.open(path, encoding=encoding).size == len(data)
    path.write_bytes(b"a,b\n1,2\n3")
    with pytest.raises(cleave.InputError):
        cleave.open(path, encoding=encoding).split(n=2)
    for source in (path.read_bytes(), io.BytesIO(b"a")):
        with pytest.raises(cleave.UsageError, match="encoding"):
            cleave.open(source, encoding=encoding)
    with pytest.raises(cleave.UsageError, match="encoding"):
        cleave.open(path, encoding="shift_jis")


def test_encodings(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes("a,b\n\u00e9,\u20ac\n".encode("cp1252"))
    for encoding, text in (("cp1252", "\u00e9,\u20ac\n"), ("Windows_1252", "\u00e9,\u20ac\n"), ("latin-1", "\u00e9,\x80\n")):
        pieces = cleave.open(path, encoding=encoding).split(n=1)
        assert pieces.header + bytes(pieces[0].bytes) == b"a,b\n" + text.encode()
    with pytest.raises(cleave.UsageError, match=r"^encoding: 'sjis' is not converted here; bytes.decode makes text of it$"):
        cleave.open(path, encoding="sjis")
    with pytest.raises(cleave.UsageError, match="did you mean windows_1252"):
        cleave.open(path, encoding="windows1252")
    with pytest.raises(cleave.InputError, match="byte 4, line 2"):
        cleave.open(path, encoding="utf-8")


@pytest.mark.parametrize("size", [1, 4093, 4094, 4095, 4096, 4097, 70_000])
@pytest.mark.parametrize("source", SOURCES)
def test_the_header_alone_is_read(source: str, size: int, tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    name = "x" * (size // 2) + "\n" + "y" * (size - size // 2)
    for start, end in ((b"", b"\n1,2\n"), (b"\xef\xbb\xbf", b"\n1,2\n"), (b"\n\r\n", b"\n" + b"1,2\n" * 30_000), (b"", b"")):
        path.write_bytes(start + b'"' + name.encode() + b'",caf\xe9' + end)
        f = cleave.open(SOURCES[source](path), delimiter=",")
        assert f.header == [name, "caf\ufffd"]
        assert f.header == f.select("*").names
        without = cleave.open(SOURCES[source](path), delimiter=",", header=False)
        assert without.select("*").names == ["column_1", "column_2"]


def test_the_header_of_a_pipe(data: bytes) -> None:
    reader, writer = os.pipe()
    with os.fdopen(writer, "wb") as file:
        file.write(data[:60_000])
    f = cleave.open(f"/proc/self/fd/{reader}")
    os.close(reader)
    assert f.header == f.header == HEADER
    columns = f.select("last")
    with pytest.raises(cleave.UsageError, match="stream"):
        f.header
    assert columns.names == ["last"]


def test_without_a_header(data: bytes) -> None:
    f = cleave.open(data, header=False)
    assert f.header is None
    assert f.records == len(rows_of(data))
    assert f.split(n=2).header_size == 0


def test_huge_offsets(tmp_path: Path) -> None:
    path = tmp_path / "huge.csv"
    tail = b'"\na\n"b\nc"\nd\n'
    with open(path, "wb") as file:
        file.write(b'h\n"')
        file.truncate((4 << 30) + 999)
        file.seek(0, os.SEEK_END)
        file.write(tail)
    f = cleave.open(path)
    assert f.records == 4
    pieces = f.split(records=1)
    end = (4 << 30) + 999 + len(tail)
    assert list(pieces.starts)[1:] == [end - 10, end - 8, end - 2]
    assert bytes(pieces[2].bytes) == b'"b\nc"\n'
    assert sum(pieces.lengths) == end - 2


@pytest.mark.parametrize("n", [65_537, 10**9, (1 << 64) - 1])
def test_more_pieces_than_any_file_needs(n: int) -> None:
    f = cleave.open(make_csv(100))
    assert len(f.split(n=65_536)) == 65_536
    for limits in ({"n": n}, {"n": n, "balance": "records"}, {"n": n, "together": "id"}):
        with pytest.raises(cleave.UsageError, match="too many for 100 records"):
            f.split(**limits)
    with pytest.raises(cleave.UsageError):
        f.split(by="id", buckets=n)


@pytest.mark.parametrize("in_memory", [True, False])
def test_with_header_is_one_copy(tmp_path: Path, in_memory: bool) -> None:
    path = tmp_path / "in.csv"
    path.write_bytes(b"k,v\n" + b"a,%s\n" % (b"x" * 1000) * 40_000)
    f = cleave.open(path.read_bytes() if in_memory else path)
    for piece in (f.split(n=1)[0], f.split(by="k")[0]):
        tracemalloc.start()
        joined = piece.with_header()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert joined.read(10) == b"k,v\na,xxxx"
        assert peak < 1.1 * piece.length


def test_indexing(data: bytes) -> None:
    pieces = cleave.open(data).split(n=5)
    assert pieces[-1].start == pieces[4].start
    assert [piece.number for piece in pieces[1:3]] == [2, 3]
    for index in (5, -6):
        with pytest.raises(IndexError):
            pieces[index]


def test_empty_inputs() -> None:
    f = cleave.open(b"")
    assert (f.records, f.size) == (0, 0)
    assert len(f.split(records=5)) == 0
    assert list(f.split(records=5).starts) == []
    assert cleave.open(b"a,b\n").split(n=2)[1].records == 0
