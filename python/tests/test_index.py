"""Files with an index beside them, made by the command."""

from __future__ import annotations

import gzip
import os
import pickle
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from conftest import HEADER, make_csv, rows_of
from test_ranges import one_thread, records_of

import cleave
from cleave import ranges

COMMAND = Path(sys.executable).parent / "cleave"
KEY = bytes(range(64))


def make_index(path: Path, *options: str) -> Path:
    subprocess.run([COMMAND, "index", "-d", ",", *options, path], check=True)
    return path


@pytest.fixture(scope="module")
def text() -> bytes:
    """Several times as long as what lies between two places from which a gzip file can be read."""
    small = make_csv(5000)
    header = small.index(b"\n") + 1
    return small[:header] + b"".join(b"%d" % copy + small[header + 1 :] for copy in range(40))


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory, text: bytes) -> Path:
    path = tmp_path_factory.mktemp("original") / "in.csv.gz"
    path.write_bytes(gzip.compress(text, 6))
    return make_index(path)


@pytest.fixture
def no_copies(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Makes it impossible to copy an input to a temporary file."""
    monkeypatch.setenv("TMPDIR", "/nowhere")
    yield


def table(columns: cleave.Columns) -> pyarrow.Table:
    return pyarrow.table(columns)


@pytest.mark.parametrize("dialect", [None, "pandas"])
@pytest.mark.parametrize("threads", [1, 3])
def test_pieces_of_a_gzip_file(original: Path, text: bytes, no_copies: None, dialect: str | None, threads: int) -> None:
    """The index was made for a dialect that differs from the second one."""
    f = cleave.open(original, dialect=dialect, threads=threads)
    assert f.size == len(text)
    assert f.records == 40 * 5000
    assert f.header == HEADER
    pieces = f.split(n=5)
    assert pieces.header + b"".join(bytes(piece.bytes) for piece in pieces) == text
    whole = table(f.select("id"))
    parts = [table(piece.select("id")) for piece in pieces]
    assert pyarrow.concat_tables(parts).combine_chunks().equals(whole.combine_chunks())
    assert table(f.select("id")).equals(whole)
    found = f.check()
    assert (found.sound, found.records) == (True, 40 * 5000)


@pytest.mark.parametrize("small", [b"", b"\n", b"a,b", b"a,b\n", b"a,b\n1,2", b"a,b\n1,2\n", b'\xef\xbb\xbfa,b\n1,"x\ny"\n3,4'])
def test_small_gzip_files(tmp_path: Path, no_copies: None, small: bytes) -> None:
    path = tmp_path / "in.csv.gz"
    path.write_bytes(gzip.compress(small))
    make_index(path)
    f, expected = cleave.open(path, delimiter=","), cleave.open(small, delimiter=",")
    assert (f.size, f.records, f.header, f.check()) == (expected.size, expected.records, expected.header, expected.check())
    assert [bytes(piece.bytes) for piece in f.split(n=2)] == [bytes(piece.bytes) for piece in expected.split(n=2)]
    records = records_of(ranges.plan(path, pieces=2, delimiter=","), 5)
    assert records == b"".join(bytes(piece.bytes) for piece in expected.split(n=2))


def test_pieces_by_value(original: Path, text: bytes) -> None:
    found, expected = (cleave.open(source).split(by="last") for source in (original, text))
    assert found.keys == expected.keys
    assert bytes(found[1].bytes) == bytes(expected[1].bytes)


def bytes_read() -> int:
    """How many bytes this process has read so far."""
    return int(Path("/proc/self/io").read_text().split()[1])


def test_a_piece_is_read_from_the_middle(original: Path) -> None:
    pieces = cleave.open(original).split(n=8)
    before = bytes_read()
    assert len(pieces[6].bytes) == pieces[6].length
    assert bytes_read() - before < original.stat().st_size / 2


def test_a_plain_file(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "in.csv"
    path.write_bytes(text)
    expected = cleave.open(path)
    starts, records, found = list(expected.split(n=7).starts), expected.records, expected.check()
    make_index(path)
    f = cleave.open(path)
    assert (list(f.split(n=7).starts), f.records, f.check()) == (starts, records, found)
    assert list(cleave.open(path, index=False).split(n=7).starts) == starts


@pytest.mark.parametrize("compress", [gzip.compress, bytes])
def test_an_index_that_cannot_be_trusted(tmp_path: Path, text: bytes, compress: Any) -> None:
    path = tmp_path / "in.csv.gz"
    path.write_bytes(compress(text))
    make_index(path)
    path.write_bytes(compress(text[:-1] + b"\n1,2,3,4\n"))
    with pytest.warns(UserWarning, match=r"in.csv.gz.cleave: not used: the file has changed since"):
        assert cleave.open(path).records == 40 * 5000 + 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cleave.open(path, index=False).split(n=2)
    index = Path(f"{path}.cleave")
    index.write_bytes(index.read_bytes()[:-1])
    with pytest.warns(UserWarning, match="damaged or incomplete"):
        assert cleave.open(path).split(n=2)[1].records > 0
    index.unlink()
    assert cleave.open(path).records == 40 * 5000 + 1


def test_without_the_index_it_is_copied(original: Path, no_copies: None) -> None:
    with pytest.raises(OSError, match="/nowhere"):
        cleave.open(original, index=False).split(n=5)


def test_rules_do_not_read_by_the_index(original: Path, text: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    rules: dict[str, Any] = {"redact": {"name": "hmac(k)"}, "keys": {"k": KEY}}
    expected = table(cleave.open(text).select("id", "name", **rules))
    f = cleave.open(original)
    pieces = f.split(n=3)
    assert table(f.select("id", "name", **rules)).equals(expected)
    with monkeypatch.context() as nowhere:
        nowhere.setenv("TMPDIR", "/nowhere")
        assert table(f.select("id", "name", **rules)).equals(expected)
        with pytest.raises(OSError, match="/nowhere"):
            table(pieces[1].select("id", "name", **rules))
    parts = [table(piece.select("id", "name", **rules)) for piece in pieces]
    assert pyarrow.concat_tables(parts).combine_chunks().equals(expected.combine_chunks())


def crc32c(data: bytes) -> int:
    table = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
        table.append(value)
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ table[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def test_rules_do_not_believe_the_index(tmp_path: Path, text: bytes) -> None:
    """The numbers of the records are wrong by one, and the rest is right."""
    path = tmp_path / "in.csv"
    path.write_bytes(text)
    index = Path(f"{make_index(path)}.cleave")
    data = bytearray(index.read_bytes())
    for at in range(128 + 16, len(data) - 16, 16):
        data[at + 8 : at + 16] = (int.from_bytes(data[at + 8 : at + 16], "little") - 1).to_bytes(8, "little")
    data[-4:] = crc32c(bytes(data[:-4])).to_bytes(4, "little")
    index.write_bytes(data)
    f = cleave.open(path)
    piece = f.split(n=3)[1]
    assert piece.first_record == cleave.open(path, index=False).split(n=3)[1].first_record - 1
    with pytest.raises(cleave.InputChangedError, match="index"):
        table(piece.select("id", "name", redact={"name": "hmac(k)"}, keys={"k": KEY}))


def test_ranges_of_a_gzip_file(original: Path, text: bytes, no_copies: None) -> None:
    header = text.index(b"\n") + 1
    for path in (original, f"file://{original}"):
        plan = ranges.plan(path, pieces=5, map=one_thread)
        assert plan.names == HEADER
        assert records_of(plan, 1 << 20) == text[header:]
        again = ranges.Plan.of_text(plan.text(), {})
        assert records_of(again, 1 << 20) == text[header:]
    piece = pickle.loads(pickle.dumps(plan.pieces[3]))
    page = next(piece.pages(1000))
    assert rows_of(bytes(page.data))[0] == HEADER
    assert page.start > len(text) / 2


def test_ranges_need_the_index(tmp_path: Path, original: Path) -> None:
    path = tmp_path / "in.csv.gz"
    path.write_bytes(original.read_bytes())
    with pytest.raises(cleave.UsageError, match="File.index makes one"):
        ranges.plan(path)
    plan = ranges.plan(make_index(path), pieces=3)
    next(plan.pieces[1].pages())
    path.write_bytes(gzip.compress(b"a,b\n1,2\n"))
    with pytest.raises(cleave.UsageError, match="File.index makes one"), pytest.warns(UserWarning, match="changed"):
        next(plan.pieces[1].pages())
    make_index(path)
    with pytest.raises(cleave.InputChangedError):
        next(plan.pieces[1].pages())


def test_dask_reads_a_gzip_file(original: Path, text: bytes) -> None:
    reader = pytest.importorskip("cleave.dask")
    frame = reader.read_csv(str(original), blocksize=len(text) // 6)
    assert frame.npartitions == 7
    rows = frame.compute()
    assert rows["id"].tolist() == [row[0] for row in rows_of(text)[1:]]
