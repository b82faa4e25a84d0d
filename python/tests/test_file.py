"""A File as an object: closed, named, counted, pickled, forked, indexed."""

from __future__ import annotations

import gc
import gzip
import io
import logging
import os
import pickle
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from conftest import HEADER, make_csv
from test_processes import status_of_fork

import cleave


def descriptors() -> set[str]:
    """Where the descriptors of this process lead to."""
    links = set()
    for name in os.listdir("/proc/self/fd"):
        try:
            links.add(f"{name} {os.readlink(f'/proc/self/fd/{name}')}")
        except FileNotFoundError:  # the one of the list itself
            continue
    return links


def test_a_closed_file_says_so(path: Path) -> None:
    before = descriptors()
    f = cleave.open(path)
    pieces, values = f.split(n=3), f.split(by="last")
    columns, used = f.select("id"), f.select("id")
    assert pyarrow.table(used).num_rows == f.records
    reader = pyarrow.RecordBatchReader.from_stream(columns)
    piece, value = pieces[1], values[0]
    held = piece.bytes
    assert not f.closed
    assert len(descriptors() - before) == 1
    f.close()
    f.close()
    assert f.closed
    assert repr(f) == f"<cleave.File {str(path)!r}: closed>"
    assert f and f.name == str(path)
    uses: list[Callable[[], Any]] = [
        lambda: f.size,
        lambda: f.records,
        lambda: len(f),
        lambda: f.header,
        lambda: f.dialect,
        f.check,
        f.index,
        lambda: f.split(n=2),
        lambda: f.select("id"),
        lambda: f.write(path.parent / "out", n=2),
        lambda: pieces.write(path.parent / "out"),
        lambda: pieces.header,
        lambda: piece.bytes,
        lambda: piece.select("id"),
        piece.with_header,
        lambda: value.bytes,
        value.with_header,
        lambda: pyarrow.table(columns),
        lambda: pyarrow.table(used),
        lambda: pyarrow.schema(used),
        lambda: pickle.dumps(f),
        lambda: pickle.dumps(pieces),
        f.__enter__,
    ]
    for use in uses:
        with pytest.raises(cleave.UsageError, match="the file is closed$"):
            use()
    # What is held in memory stays, and so does a stream that has begun.
    assert len(held) == piece.length and pieces.records[0] == pieces[0].records
    assert reader.read_all().num_rows == pieces.total_records
    del reader
    gc.collect()
    assert descriptors() == before


def test_closing_frees_the_bytes_and_the_descriptor(path: Path, data: bytes) -> None:
    owner = bytearray(data)
    f = cleave.open(owner)
    columns = f.select("id")
    pieces = f.split(by="last")
    with pytest.raises(BufferError):
        owner.clear()
    f.close()
    gc.collect()
    owner.clear()  # nothing has its buffer any more
    before = descriptors()
    f = cleave.open(path)
    columns, pieces = f.select("id"), f.split(by="last")
    assert len(descriptors() - before) == 1
    f.close()
    assert descriptors() == before
    assert columns.names == ["id"] and len(pieces) > 1


def test_a_context_closes(path: Path) -> None:
    with cleave.open(path) as f:
        assert f.records == 5000
    assert f.closed
    with pytest.raises(ZeroDivisionError), cleave.open(path) as f:
        raise ZeroDivisionError
    assert f.closed


def test_a_file_has_a_name_a_length_and_a_text(path: Path, data: bytes) -> None:
    with cleave.open(path) as f:
        assert f.name == str(path)
        assert repr(f) == f"<cleave.File {str(path)!r}: delimiter b',', with a header>"
        assert len(f) == 5000
    empty = cleave.open(b"a;b\n", header=False, delimiter=";")
    assert (empty.name, len(empty), bool(empty)) == ("memory", 1, True)
    assert repr(empty) == "<cleave.File 'memory': delimiter b';', without a header>"
    nothing = cleave.open(b"")
    assert len(nothing) == 0 and nothing
    assert repr(cleave.open(b"{}\n", dialect="jsonl")) == "<cleave.File 'memory': JSON Lines>"
    with open(path, "rb") as file:
        assert cleave.open(file).name == str(path)
    with open(path, "rb") as file:
        file.readline()
        assert cleave.open(file).name == str(path)
    assert cleave.open(gzip.open(io.BytesIO(gzip.compress(data)))).name == "stream"
    piece = nothing.split(n=1)[0]
    assert len(piece) == 0 and piece


def test_a_check_is_true_if_it_is_sound() -> None:
    assert cleave.open(b"a,b\n1,2\n").check()
    found = cleave.open(b"a,b\n1\n").check()
    assert not found and not found.sound
    assert len(found) == len(found._fields)


def test_pieces_have_a_total(data: bytes) -> None:
    f = cleave.open(data)
    for pieces in (f.split(n=7), f.split(by="last")):
        assert pieces.total_records == sum(pieces.records) == f.records


# --- pickle


def test_files_and_pieces_are_pickled(path: Path, data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(path.parent)
    f = cleave.open(path.name, delimiter=",", quote='"', threads=2, header=True)
    pieces = f.split(size=50_000, records=400)
    monkeypatch.chdir("/")
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        g = pickle.loads(pickle.dumps(f, protocol))
        assert (g.records, g.header, g.dialect, g.name) == (f.records, HEADER, f.dialect, str(path))
        again = pickle.loads(pickle.dumps(pieces, protocol))
        for name in ("starts", "lengths", "first_records", "records"):
            assert getattr(again, name) == getattr(pieces, name)
        assert (again.header, again.header_size, len(again)) == (pieces.header, pieces.header_size, len(pieces))
        for one, other in zip(again, pieces):
            assert one.bytes == other.bytes and repr(one) == repr(other)
        piece = pickle.loads(pickle.dumps(pieces[3], protocol))
        assert piece.bytes == pieces[3].bytes
        assert piece.with_header().read() == pieces[3].with_header().read()
        assert pyarrow.table(piece.select("id")) == pyarrow.table(pieces[3].select("id"))
    folder = path.parent / "again"
    assert len(again.write(folder)) == len(pieces)
    assert b"".join(p.read_bytes()[pieces.header_size :] for p in sorted(folder.iterdir())) == data[pieces.header_size :]
    # Pieces in one pickle share their file.
    one, other = pickle.loads(pickle.dumps(pieces[:2]))
    assert one._file is other._file


def test_what_was_given_is_pickled(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_bytes(b"#\n1;'2;3'\n4;'5\n")
    options: dict[str, Any] = {
        "delimiter": ";",
        "quote": "'",
        "comment": "#",
        "header": False,
        "allow_open_quote": True,
        "terminator": "any",
    }
    f = cleave.open(path, **options)
    g = pickle.loads(pickle.dumps(f))
    assert (g.dialect, g.records, g.header) == (f.dialect, 2, None)
    h = cleave.open(path, dialect=f.dialect, header=False, comment="#", allow_open_quote=True)
    assert pickle.loads(pickle.dumps(h)).dialect == f.dialect


def test_another_version_is_not_unpickled(path: Path) -> None:
    f = cleave.open(path)
    pickled = pickle.dumps(f)
    status = path.stat()
    before = descriptors()
    for change in (
        lambda: os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns + 1)),
        lambda: path.write_bytes(path.read_bytes() + b"1,2,3,4\n"),
    ):
        change()
        with pytest.raises(cleave.InputChangedError, match="has changed since it was pickled"):
            pickle.loads(pickled)
    gc.collect()
    assert descriptors() == before
    path.unlink()
    with pytest.raises(FileNotFoundError):
        pickle.loads(pickled)


def test_what_cannot_be_pickled_says_so(path: Path, data: bytes) -> None:
    with open(path, "rb") as file:
        files = [cleave.open(data), cleave.open(file), cleave.open(gzip.compress(data)), cleave.open(io.BytesIO(data))]
    reader, writer = os.pipe()
    with os.fdopen(writer, "wb") as pipe:
        pipe.write(b"a,b\n1,2\n")
    files.append(cleave.open(f"/proc/self/fd/{reader}"))
    os.close(reader)
    for f in files:
        with pytest.raises(cleave.UsageError, match="only a File that was opened by the path of a regular file"):
            pickle.dumps(f)
    values = cleave.open(path).split(by="last")
    for thing in (values, values[0]):
        with pytest.raises(cleave.UsageError, match="pickle the File, and split it again"):
            pickle.dumps(thing)


# --- fork


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_file_in_use_at_a_fork_raises_in_the_child() -> None:
    reader, writer = os.pipe()
    writing = threading.Thread(target=os.write, args=(writer, b"a,b\n" + b"1,2\n" * 20_000))
    writing.start()
    f = cleave.open(f"/proc/self/fd/{reader}", delimiter=",", terminator="lf")
    os.close(reader)
    using = threading.Thread(target=lambda: f.records)  # waits for the end of the pipe
    using.start()
    writing.join()

    def is_refused() -> bool:
        try:
            f.records
        except cleave.UsageError as error:
            return "forked" in str(error)
        return False

    try:
        status = 1
        end = time.monotonic() + 120  # a thread that is not in its call by then never will be
        while status != 0 and time.monotonic() < end:
            status = status_of_fork(is_refused, seconds=60)
    finally:
        os.close(writer)
    using.join()
    assert status == 0
    assert f.records == 20_000


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("has_index", [True, False])
def test_a_compressed_file_after_a_fork(tmp_path: Path, has_index: bool) -> None:
    """Neither hangs, even while threads of the parent read it, nor moves the place at which the parent reads."""
    data = make_csv(60_000)
    path = tmp_path / "in.csv.gz"
    path.write_bytes(gzip.compress(data, 1))
    f = cleave.open(path, threads=4)
    if has_index:
        f.index()
        pieces = f.split(n=2)
    for _ in range(30):
        columns = pieces[0].select("id", page_size=1 << 16) if has_index else f.select("id", page_size=1 << 16)
        reader = pyarrow.RecordBatchReader.from_stream(columns)
        first = reader.read_next_batch()
        if has_index:
            wanted = pieces[1].length
            assert status_of_fork(lambda: len(pieces[1].bytes) == wanted) == 0
        assert status_of_fork(lambda: f.records == 60_000) == 0
        assert first.num_rows + reader.read_all().num_rows == (pieces[0].records if has_index else 60_000)
        if not has_index:
            f = cleave.open(path, threads=4)
    fresh = cleave.open(path, threads=4)
    assert status_of_fork(lambda: fresh.records == 60_000) == 0
    assert fresh.records == 60_000
    copied = cleave.open(path.read_bytes())

    def is_refused() -> bool:
        with pytest.raises(cleave.UsageError, match="open it again here"):
            copied.records
        return True

    assert status_of_fork(is_refused) == 0
    assert copied.records == 60_000
    assert status_of_fork(lambda: copied.records == 60_000) == 0


def test_a_file_in_its_own_call_is_refused(path: Path) -> None:
    f = cleave.open(path)
    seen = []

    def progress(done: int, total: int | None) -> None:
        with pytest.raises(cleave.UsageError, match="in use"):
            f.records
        seen.append(done)

    f.write(path.parent / "out", n=2, progress=progress)
    assert seen and f.records == 5000


# --- index


def test_a_file_makes_its_index(path: Path) -> None:
    f = cleave.open(path)
    expected = list(f.split(n=5).starts)
    assert f.index() == f"{path}.cleave"
    assert Path(f"{path}.cleave").is_file()
    assert list(f.split(n=5).starts) == expected
    assert f.records == 5000
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert list(cleave.open(path).split(n=5).starts) == expected


def test_the_index_of_a_gzip_file_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = make_csv(60_000)
    path = tmp_path / "in.csv.gz"
    path.write_bytes(gzip.compress(data, 1))
    f = cleave.open(path)
    f.index()
    monkeypatch.setenv("TMPDIR", "/nowhere")  # no copies
    pieces = f.split(n=3)
    assert pieces.header + b"".join(bytes(piece.bytes) for piece in pieces) == data
    assert f._native.is_gzip_by_index()


def test_an_index_after_columns_have_been_read(tmp_path: Path) -> None:
    path = tmp_path / "in.csv.gz"
    path.write_bytes(gzip.compress(make_csv(100)))
    f = cleave.open(path)
    assert pyarrow.table(f.select("id")).num_rows == 100
    f.index()
    assert f.records == 100


def test_what_can_have_no_index_says_so(tmp_path: Path, data: bytes) -> None:
    zstd = tmp_path / "in.csv.zst"
    plain = tmp_path / "in.csv"
    plain.write_bytes(data)
    written = cleave.open(plain).write(tmp_path / "out", n=1, compress="zstd")
    os.rename(written[0], zstd)
    with open(plain, "rb") as file:
        for f in (cleave.open(data), cleave.open(zstd), cleave.open(file)):
            with pytest.raises(cleave.UsageError, match="can have an index"):
                f.index()
    broken = tmp_path / "broken.csv"
    broken.write_bytes(b'a,b\n1,"2\n')
    with pytest.raises(cleave.OpenQuoteError):
        cleave.open(broken).index()
    assert sorted(os.listdir(tmp_path)) == ["broken.csv", "in.csv", "in.csv.zst", "out"]


# --- logging and warnings


def test_what_is_logged_has_no_values(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "in.csv"
    path.write_bytes(b"kind,mail\nsecretkind,ada@example.org\nother,x\n")
    caplog.set_level(logging.DEBUG, "cleave")
    f = cleave.open(path)
    f.split(n=2)
    f.split(by="kind")
    f.write(tmp_path / "out", by="kind")
    f.index()
    assert {record.name for record in caplog.records} == {"cleave"}
    assert {record.levelno for record in caplog.records} == {logging.DEBUG}
    for step in ("open: ", "split: ", "write: ", "index: "):
        assert step in caplog.text
    for value in ("secretkind", "other", "ada", "mail", "kind"):
        assert value not in caplog.text


def test_a_warning_points_to_the_caller(path: Path) -> None:
    Path(f"{path}.cleave").write_bytes(b"no index")
    for use in (lambda f: f.records, lambda f: f.split(n=2), lambda f: len(f), lambda f: f.write(path.parent / "o", n=1)):
        with pytest.warns(cleave.CleaveWarning, match="not used") as warned:
            use(cleave.open(path))
        assert [warning.filename for warning in warned] == [__file__]
    assert issubclass(cleave.CleaveWarning, UserWarning)
