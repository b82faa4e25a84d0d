"""Columns through Arrow, against Python's csv."""

from __future__ import annotations

import datetime
import gc
import gzip
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from conftest import HEADER, make_csv, rows_of

import cleave
import cleave.ranges

pyarrow = pytest.importorskip("pyarrow")

KEY = bytes(range(32))


def table(columns: cleave.Columns) -> Any:
    read = pyarrow.table(columns)
    read.validate(full=True)
    return read


def test_all_columns(path: Path, data: bytes) -> None:
    rows = rows_of(data)
    for source in (path, data):
        read = table(cleave.open(source).select("*"))
        assert read.column_names == HEADER
        assert [list(row.values()) for row in read.to_pylist()] == rows[1:]


def test_no_column_is_not_all_columns() -> None:
    f = cleave.open(b"a,b\n1,2\n")
    wanted: list[str] = []
    for use in (f.select, f.split(n=1)[0].select):
        for columns in (use(*wanted), use([]), use([], redact={"a": "null"})):
            assert columns.names == []
            assert (table(columns).num_columns, table(columns).num_rows) == (0, 1)
        assert use(["b", "a"]).names == use("b", "a").names == ["b", "a"]
        for wrong in (True, [True], ["a", False], b"a", [["a"]], 1.0):
            with pytest.raises((TypeError, cleave.UsageError), match="^a column: "):
                use(wrong)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="not NoneType$"):
            use(None)  # type: ignore[arg-type]
        for beside in (("*", "a"), ("a", "*"), ("*", "*")):
            with pytest.raises(cleave.UsageError, match="stands for all"):
                use(*beside)
        assert use("*").names == ["a", "b"]
        assert table(use("*", redact={"a": "null"})).to_pylist() == [{"a": "", "b": "2"}]


@pytest.mark.parametrize(
    ("data", "rows", "empty"),
    [
        (b"", 0, 0),
        (b"a,b\n", 0, 0),
        (b"a,b\n1,2\n", 1, 0),
        (b"a,b\n1,2\n3,4", 2, 0),
        (b"\na,b\n\n1,2\n\n\n", 4, 3),
        (b"a\n\n1\n\n", 3, 2),
        (b"a,b\n\xff,2\n", 1, 0),
        (b"a,b\n" + b'1,"x\ny"\n\n' * 200_000, 400_000, 200_000),
    ],
)
def test_rows_without_columns(tmp_path: Path, data: bytes, rows: int, empty: int) -> None:
    path = tmp_path / "in.csv"
    path.write_bytes(data)
    packed = tmp_path / "in.csv.gz"
    packed.write_bytes(gzip.compress(data, 1))
    assert table(cleave.open(packed, delimiter=",").select([])).num_rows == rows
    for source in (path, packed, data):
        f = cleave.open(source, delimiter=",")
        assert f.size == len(data)
        for columns in (f.select([]), f.select([], missing_is_null=True), f.select([], page_size=1000)):
            batches = list(pyarrow.RecordBatchReader.from_stream(columns))
            assert sum(batch.num_rows for batch in batches) == rows == f.records
            assert all(batch.num_columns == 0 and batch.num_rows > 0 for batch in batches)
        pieces = f.split(n=3)
        assert [table(piece.select([])).num_rows for piece in pieces] == list(pieces.records)
        assert sum(batch.num_rows for batch in f.batches([])) == rows - empty
        assert sum(batch.num_rows for piece in pieces for batch in piece.batches([])) == rows - empty
    plan = cleave.ranges.plan(path, pieces=2, delimiter=",") if b"\xff" not in data else None
    if plan is not None:
        for page_size in (5_000, cleave.ranges.PAGE_SIZE):
            batches = [batch for piece in plan.pieces for batch in piece.batches([], page_size=page_size)]
            assert sum(batch.num_rows for batch in batches) == rows - empty
            assert all(batch.num_columns == 0 for batch in batches)


def test_without_columns_the_same_records_are_wrong() -> None:
    for data, message in ((b"a,b\n1,2\n3\n", "1 fields, not 2"), (b"a,b\n1,2,3\n", "3 fields, not 2")):
        for columns in ([], ["a"]):
            with pytest.raises(pyarrow.ArrowInvalid, match=message):
                table(cleave.open(data).select(columns))
    with pytest.raises(pyarrow.ArrowInvalid, match="quote"):
        table(cleave.open(b'a,b\n1,x"y\n').select([], redact={"a": "null"}))
    with pytest.raises(cleave.RuleError):
        cleave.open(b"a,b\n1,2\n").select([], redact={"a": "nul"})


@pytest.mark.parametrize("page_size", [1, 500, 1 << 20])
@pytest.mark.parametrize("threads", [1, 2, 5])
def test_some_columns(path: Path, data: bytes, page_size: int, threads: int) -> None:
    columns = cleave.open(path, threads=threads).select("last", 1, page_size=page_size)
    assert columns.names == ["last", "name"]
    assert table(columns).to_pydict() == {
        "last": [row[3] for row in rows_of(data)[1:]],
        "name": [row[1] for row in rows_of(data)[1:]],
    }


def test_used_twice(path: Path) -> None:
    columns = cleave.open(path).select("id")
    assert table(columns).equals(table(columns))
    assert pyarrow.schema(columns).names == ["id"]
    assert table(columns).num_rows == 5000


def test_polars_and_duckdb(path: Path, data: bytes) -> None:
    polars = pytest.importorskip("polars")
    duckdb = pytest.importorskip("duckdb")
    expected = [(row[3], row[0]) for row in rows_of(data)[1:]]
    columns = cleave.open(path).select("last", "id", page_size=2000)
    assert polars.DataFrame(columns).rows() == expected
    reader = pyarrow.RecordBatchReader.from_stream(columns)
    assert duckdb.from_arrow(reader).fetchall() == expected


def test_pieces_have_columns(path: Path) -> None:
    f = cleave.open(path)
    parts = [table(piece.select("id", page_size=700)) for piece in f.split(n=4)]
    assert pyarrow.concat_tables(parts).combine_chunks().equals(table(f.select("id")).combine_chunks())


def test_redact_with_a_second_column_and_a_list(tmp_path: Path) -> None:
    (tmp_path / "visits.csv").write_text("who,day,name\np,2024-02-28,Ann\np,2024-03-01,Bob\n")
    (tmp_path / "names").write_text("Eve\n")
    f = cleave.open(tmp_path / "visits.csv")
    redact = {"day": "shift-date(k, by=who)", "name": f'pick(k, "{tmp_path / "names"}")'}
    read = table(f.select("day", "name", redact=redact, keys={"k": KEY}))
    days = [datetime.date.fromisoformat(day) for day in read.column("day").to_pylist()]
    assert (days[1] - days[0]).days == 2
    assert read.column("name").to_pylist() == ["Eve", "Eve"]
    sealed = table(f.select("name", redact={"name": "encrypt(k)"}, keys={"k": KEY})).column("name").to_pylist()
    (tmp_path / "sealed.csv").write_text("name\n" + "".join(token + "\n" for token in sealed))
    opened = cleave.open(tmp_path / "sealed.csv").select("name", redact={"name": "decrypt(k)"}, keys={"k": KEY})
    assert table(opened).column("name").to_pylist() == ["Ann", "Bob"]
    with pytest.raises(FileNotFoundError):
        f.select("name", redact={"name": "pick(k, nowhere)"}, keys={"k": KEY})


def test_redact(path: Path, data: bytes) -> None:
    columns = cleave.open(path).select("id", "name", redact={"name": "hmac(k)", "id": "fixed(x)"}, keys={"k": KEY})
    read = table(columns)
    assert read.num_rows == 5000
    names = [row[1] for row in rows_of(data)[1:]]
    tokens = read.column("name").to_pylist()
    assert len(set(tokens)) == len(set(names))
    assert len(set(zip(tokens, names))) == len(set(names))
    assert not any("name" in token for token in tokens)
    assert set(read.column("id").to_pylist()) == {"x"}
    assert table(columns).equals(read)


def test_keys_from_files_and_bytes_give_the_same_tokens(path: Path, tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_bytes(KEY)
    key.chmod(0o600)
    f = cleave.open(path)
    redact = {"name": "hmac(k)"}
    expected = table(f.select("name", redact=redact, keys={"k": KEY}))
    assert table(f.select("name", redact=redact, keys={"k": key})).equals(expected)
    assert table(f.select("name", redact=redact, keys={"k": str(key)})).equals(expected)
    assert table(f.select("name", redact=redact, keys={"k": f"file:{key}"})).equals(expected)
    assert not table(f.select("name", redact=redact, keys={"k": KEY[::-1]})).equals(expected)


def test_a_token_is_what_the_command_writes(path: Path, tmp_path: Path) -> None:
    command = Path(sys.executable).parent / "cleave"
    key = tmp_path / "key"
    key.write_bytes(KEY)
    key.chmod(0o600)
    out = subprocess.run(
        [command, "cat", "--select", "name", "--redact", "name: hmac(k)", "--key", f"k=file:{key}", path],
        check=True,
        capture_output=True,
    ).stdout
    read = table(cleave.open(path).select("name", redact={"name": "hmac(k)"}, keys={"k": KEY}))
    assert read.column("name").to_pylist() == [row[0] for row in rows_of(out)[1:]]


def test_nulls() -> None:
    f = cleave.open(b'a,b\n1,\n2,""\n\n')
    assert table(f.select("*")).to_pylist() == [{"a": "1", "b": ""}, {"a": "2", "b": ""}, {"a": None, "b": None}]
    assert table(f.select("*", empty_is_null=True)).column("b").to_pylist() == [None, "", None]
    short = cleave.open(b"a,b\n1\n2,3\n")
    assert table(short.select("*", missing_is_null=True)).column("b").to_pylist() == [None, "3"]


def test_a_record_with_too_few_fields_is_an_error_with_its_place() -> None:
    f = cleave.open(b"a,b\n1,2\n3\n4,5\n", delimiter=",")
    with pytest.raises(Exception, match=r"byte \d+, record 2"):
        table(f.select("*"))


def test_an_open_quote_is_an_error() -> None:
    data = b'a,b\n1,2\n3,"4\n'
    with pytest.raises(Exception, match=r"never closed \(byte 10, record 2\)"):
        table(cleave.open(data).select("*"))
    assert table(cleave.open(data, allow_open_quote=True).select("*")).num_rows == 2


def test_text_and_binary() -> None:
    f = cleave.open(b"a,b\n\xff,2\n")
    with pytest.raises(Exception, match="not UTF-8"):
        table(f.select("a"))
    assert table(f.select("a", binary=True)).column("a").to_pylist() == [b"\xff"]


def test_a_stream_is_read_once(tmp_path: Path) -> None:
    data = make_csv(100)
    reader, writer = os.pipe()
    with os.fdopen(writer, "wb") as file:
        file.write(data)
    f = cleave.open(f"/proc/self/fd/{reader}")
    os.close(reader)
    columns = f.select("id")
    with pytest.raises(cleave.UsageError, match="stream"):
        f.select("name")  # it would take records starting with the first one
    assert table(columns).num_rows == 100
    with pytest.raises(cleave.UsageError, match="stream"):
        table(columns)
    with pytest.raises(cleave.UsageError, match="stream"):
        f.records


def test_abandoned_streams_leave_no_threads(path: Path) -> None:
    before = len(os.listdir("/proc/self/task"))
    for _ in range(10):
        reader = pyarrow.RecordBatchReader.from_stream(cleave.open(path).select("*", page_size=100))
        reader.read_next_batch()
        del reader
        gc.collect()
    assert len(os.listdir("/proc/self/task")) <= before


def test_batches_outlive_everything(data: bytes) -> None:
    copy = bytearray(data)
    reader = pyarrow.RecordBatchReader.from_stream(cleave.open(copy).select("id", page_size=1000))
    batch = reader.read_next_batch()
    expected = batch.to_pydict()
    del reader
    gc.collect()
    copy.clear()  # nothing uses its buffer any more
    assert batch.to_pydict() == expected


def test_threads_use_one_file(path: Path, data: bytes) -> None:
    f = cleave.open(path)
    results: list[Any] = []

    def work(number: int) -> None:
        for _ in range(5):
            results.append((table(f.select("id")).num_rows, f.records, len(f.split(n=number + 1))))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == sorted((5000, 5000, number + 1) for number in range(6) for _ in range(5))


def test_memory_is_bounded_by_pages(tmp_path: Path) -> None:
    path = tmp_path / "big.csv"
    part = make_csv(20000).split(b"\n", 1)[1]
    with open(path, "wb") as file:
        file.write(",".join(HEADER).encode() + b"\n")
        for _ in range(-(-(256 << 20) // len(part))):
            file.write(part)
    code = """
import sys, resource, cleave, pyarrow
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
rows = sum(batch.num_rows for batch in pyarrow.RecordBatchReader.from_stream(cleave.open(sys.argv[1], threads=2).select("id", "last")))
print(rows, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    out = subprocess.run([sys.executable, "-c", code, path], check=True, capture_output=True, text=True).stdout
    rows, grown = map(int, out.split())
    assert rows == cleave.open(path).records
    assert grown < 64 << 10  # KiB; the file has 256 MiB


@pytest.mark.parametrize("options", [{}, {"empty_is_null": True}, {"missing_is_null": True}])
def test_empty_records_of_one_column_are_null(options: dict[str, Any]) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    f = cleave.open(b'a\n1\n\n""\n2\n\n')
    assert pyarrow.table(f.select("a", **options)).to_pydict() == {"a": ["1", None, "", "2", None]}
    with pytest.raises(pyarrow.ArrowInvalid, match="a record of 2 fields"):
        pyarrow.table(cleave.open(b"a\n1\n1,2\n", delimiter=",").select("a"))
