"""Typed batches of files, pieces and ranges, compared with Python's csv and Python's own conversions."""

from __future__ import annotations

import csv
import datetime
import gzip
import io
import itertools
import json
import os
import random
import subprocess
import sys
import threading
from decimal import Decimal
from pathlib import Path
from typing import Any, Callable, Iterator

import pytest

import cleave
from cleave import ranges

pyarrow = pytest.importorskip("pyarrow")
_batches = pytest.importorskip("cleave._batches")

FILES = int(os.environ.get("CLEAVE_BATCHES_FILES", "200"))

UTC = datetime.timezone.utc
Values = list[tuple[str, Any]]

TEXTS = ("plain", "two\nlines", 'said "hi"', "a,b", " x ", "Köln", "0x1F", "'")

# Types, each with texts and what Python makes of them.
KINDS: dict[str, tuple[Any, Values, list[str]]] = {
    "int8": ("int8", [(text, int(text)) for text in ("0", "-128", "127", "+5", "007")], ["128", "1.0", "0x1F", " 1"]),
    "int": (int, [(t, int(t)) for t in ("0", "-9223372036854775808", "+9223372036854775807")], ["++1", "1 ", "1_0", "x"]),
    "uint64": ("uint64", [("18446744073709551615", 2**64 - 1), ("+0", 0)], ["-1", "18446744073709551616", "0X1"]),
    "float": (
        float,
        [(t, float(t)) for t in ("0", "-0.0", "1e5", ".5", "5.", "+1", "0.1", "1.7976931348623157e308", "inf", "-Infinity")],
        ["1e400", "1,5", "0x1p3", "nan(x)", "1d", " 1", "--1"],
    ),
    "bool": (bool, [("true", True), ("FALSE", False), ("1", True), ("0", False)], ["yes", "t", "2", "true "]),
    "date": ("date", [("2024-02-29", datetime.date(2024, 2, 29))], ["2023-02-29", "2024-1-2", "20240102", "2024-01-02T"]),
    "timestamp": (
        "timestamp",
        [
            ("2024-01-02", datetime.datetime(2024, 1, 2)),
            ("2024-01-02 03:04", datetime.datetime(2024, 1, 2, 3, 4)),
            ("2024-01-02T03:04:05.000006", datetime.datetime(2024, 1, 2, 3, 4, 5, 6)),
        ],
        ["2024-01-02T03:04:05Z", "2024-01-02T24:00", "2024-01-02T03:04:05.0000001"],
    ),
    "time": (
        datetime.time,
        [("03:04", datetime.time(3, 4)), ("23:59:59.000001", datetime.time(23, 59, 59, 1))],
        ["24:00", "3:04", "03", "03:04:60", "03:04:05.0000001", "03:04Z", "2024-01-02 03:04"],
    ),
    "seconds": ("time32[s]", [("03:04:05", datetime.time(3, 4, 5))], ["03:04:05.5"]),
    "zoned": (
        "timestamp[us, tz=UTC]",
        [
            ("2024-01-02T03:04:05Z", datetime.datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC)),
            ("2024-01-02 03:04:05+02:00", datetime.datetime(2024, 1, 2, 1, 4, 5, tzinfo=UTC)),
        ],
        ["2024-01-02 03:04:05"],
    ),
    "decimal": (
        "decimal(10, 2)",
        [
            (t, Decimal(t).quantize(Decimal("0.01")))
            for t in ("1.23", "-0.5", "+7", "1e2", "99999999.99", ".5", "2.", "0" * 99 + "1", "3." + "0" * 99, "0e-999999")
        ],
        ["1.239", "123456789.00", "x", " 1", "1" * 99, "0." + "0" * 50 + "1", "1e-77", "1e-400000000", "1e10", ".", "1_0"],
    ),
    "wide": (
        "decimal256(76,76)",
        [(t, Decimal(t)) for t in ("0", "0.5", "-." + "9" * 76, "1e-76")],
        ["1", "1e-77", "." + "9" * 77],
    ),
    "text": (str, [(t, t) for t in TEXTS], []),
    "bytes": (bytes, [(t, t.encode()) for t in TEXTS], []),
    "dictionary": ("dictionary", [(t, t) for t in TEXTS], []),
}


def text_of(rows: list[list[str]], end: str) -> bytes:
    out = io.StringIO(newline="")
    csv.writer(out, lineterminator=end).writerows(rows)
    return out.getvalue().encode()


def delivered(batches: Any) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for batch in batches for row in batch.to_pylist()]


def readers_of(path: Path, chance: random.Random) -> list[Callable[..., Any]]:
    """Ways to read a whole file."""
    file = cleave.open(path, delimiter=",", threads=2)
    memory = cleave.open(path.read_bytes(), delimiter=",", threads=1)
    pieces = file.split(n=chance.randrange(1, 4))
    plan = ranges.plan(path, pieces=chance.randrange(1, 6), delimiter=",")
    page_size = chance.choice([1, 50, 1000, 1 << 20])
    return [
        file.batches,
        memory.batches,
        lambda *a, **k: (batch for piece in pieces for batch in piece.batches(*a, **k)),
        lambda *a, **k: (b for piece in plan.pieces for b in piece.batches(*a, page_size=page_size, **k)),
    ]


@pytest.mark.parametrize("seed", range(4))
def test_random_files_are_what_python_reads(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    path = tmp_path / "in.csv"
    for _ in range(FILES // 4):
        kinds = chance.choices(list(KINDS), k=chance.randrange(1, 6))
        names = [f"{kind} {number}" for number, kind in enumerate(kinds)]
        nulls = chance.choice([(), ("",), ("NA", "-"), ("", "NA")])
        rows, wanted = [], []
        for _ in range(chance.randrange(60)):
            texts, values = [], []
            for kind in kinds:
                text, value = chance.choice(KINDS[kind][1])
                if chance.random() < 0.2:
                    is_text = kind in ("text", "bytes", "dictionary")
                    text = chance.choice(nulls if is_text and nulls else [*nulls, ""])
                    value = None if text in nulls or not is_text else text.encode() if kind == "bytes" else text
                texts.append(text)
                values.append(value)
            rows.append(texts)
            wanted.append(tuple(values))
        end = chance.choice(["\n", "\r\n"])
        data = text_of([names, *rows], end)
        for _ in range(chance.randrange(3)):  # empty records
            data += end.encode() + text_of(rows[-1:], end)
            wanted += wanted[-1:] if rows else []
        path.write_bytes(data)
        columns = None if chance.random() < 0.3 else chance.sample(range(len(kinds)), chance.randrange(len(kinds) + 1))
        schema = {name: KINDS[kind][0] for name, kind in zip(names, kinds)}
        size = chance.choice([None, 1, 7])
        shown = wanted if columns is None else [tuple(row[number] for number in columns) for row in wanted]
        for read in readers_of(path, chance):
            if columns == []:
                assert sum(batch.num_rows for batch in read([], schema, nulls, size)) == len(wanted)
                continue
            batches = list(read(columns, schema, nulls, size))
            assert delivered(batches) == shown
            assert all(0 < batch.num_rows <= (size or 1 << 40) for batch in batches)


@pytest.mark.parametrize("kind", [kind for kind, (_, _, bad) in KINDS.items() if bad])
def test_values_of_other_types_are_refused_where_they_are(tmp_path: Path, kind: str) -> None:
    chance = random.Random(kind)
    target, good, bad = KINDS[kind]
    path = tmp_path / "in.csv"
    for text in bad:
        before = [["x\ny", chance.choice(good)[0]] for _ in range(chance.randrange(300))]
        after = [["z", chance.choice(good)[0]] for _ in range(chance.randrange(300))]
        head = text_of([["k", "v"]], "\n") + b"\n" + text_of(before, "\n")
        path.write_bytes(head + text_of([["q", text], *after, ["r", text]], "\n"))
        for read in readers_of(path, chance):
            with pytest.raises(cleave.InputError) as caught:
                list(read(["v", "k"], {"v": target}))
            assert (caught.value.byte, caught.value.record) == (len(head), len(before) + 2)
            name = next(read(["v"], {"v": target}, [text])).schema.field("v").type
            place = f"(byte {len(head)}, record {len(before) + 2})"
            assert str(caught.value) == f"the value of column 'v' is not of type {name} {place}"  # without the value


def test_other_faults_have_their_places(tmp_path: Path) -> None:
    chance = random.Random(1)
    path = tmp_path / "in.csv"
    head = b"k,v\n" + b'1,"x\ny"\n' * 500
    for fault, message in ((b"1,2,3\n", "3 fields, not 2"), (b"1\n", "1 fields, not 2"), (b"2,caf\xe9\n", "not UTF-8")):
        path.write_bytes(head + fault + b"3,z\n" * 500)
        for read in readers_of(path, chance):
            with pytest.raises(cleave.InputError, match=message) as caught:
                list(read())
            assert caught.value.byte is not None
            assert len(head) <= caught.value.byte < len(head) + len(fault)
        if "fields" in message:
            with pytest.raises(cleave.InputError, match=message):
                list(cleave.open(path).batches(["k"]))


def test_records_of_any_width(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_bytes(b"a,b,c\n1\n\n1,2\n1,2,3\n1,2,3,4\n,\n")
    rows = [(1, None, None), (1, 2, None), (1, 2, "3"), (1, 2, "3"), (None, None, None)]
    for read in readers_of(path, random.Random(2)):
        assert delivered(read(None, {"a": int, "b": int}, missing_is_null=True)) == rows
        assert delivered(read(["c"], missing_is_null=True)) == [row[2:] for row in rows]
        assert sum(batch.num_rows for batch in read([], missing_is_null=True)) == 5


@pytest.mark.parametrize(
    ("data", "rows"),
    [
        (b"", []),
        (b"a\n", []),
        (b"a\n\n\n", []),
        (b"a\n1\n\n2", [(1,), (2,)]),
        (b'a\n""\n\n2\n', [(None,), (2,)]),
        (b"a\n1", [(1,)]),
        (b"\n\na\n1\n", [(1,)]),
    ],
)
def test_files_that_are_short(tmp_path: Path, data: bytes, rows: list[Any]) -> None:
    path = tmp_path / "in.csv"
    path.write_bytes(data)
    schema = {"a": int} if data else {}
    for read in readers_of(path, random.Random(3)):
        assert delivered(read(None, schema)) == rows
        assert sum(batch.num_rows for batch in read([])) == len(rows)
    with pytest.raises(cleave.InputError, match="2 fields, not 1"):
        list(cleave.open(b"a\n1\n\n1,2\n", delimiter=",").batches())


def test_a_file_of_many_pages(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    count = 400_000
    with path.open("w") as out:
        out.write("id,note\n")
        out.writelines(f'{number},"a note\nof two lines, and a ""quote"""\n' for number in range(count))
    assert path.stat().st_size > 2 * ranges.PAGE_SIZE
    [piece] = ranges.plan(path, pieces=1).pieces
    for source in (piece, cleave.open(path, threads=1), cleave.open(path, threads=3)):
        batches = source.batches(["id"], {"id": int})
        assert pyarrow.Table.from_batches(batches).column(0).to_pylist() == list(range(count))


def test_bad_arguments() -> None:
    file = cleave.open(b"a,b,b\n1,2,3\n")
    for error, message, arguments in (
        (cleave.UsageError, "there is no column 'x'; the columns are 'a', 'b', 'b'", {"columns": ["x"]}),
        (cleave.UsageError, "there are several columns 'b'", {"columns": ["b"]}),
        (cleave.UsageError, "there is no column 3", {"columns": [3]}),
        (cleave.UsageError, "there is no column -1", {"columns": [-1]}),
        (cleave.UsageError, "the same column twice", {"columns": ["a", 0]}),
        (TypeError, "columns: a list", {"columns": "a"}),
        (TypeError, "a str or an int, and not bool", {"columns": [True]}),
        (TypeError, "nulls: a list", {"nulls": "NA"}),
        (TypeError, "nulls: a str", {"nulls": [1]}),
        (TypeError, "schema: a dict", {"schema": ["int"]}),
        (cleave.UsageError, "there is no column 'x'", {"schema": {"x": int}}),
        (cleave.UsageError, "int99 is not a type", {"schema": {"a": "int99"}}),
        (cleave.UsageError, "list is not a type", {"schema": {"a": list}}),
        (cleave.UsageError, "is not a type", {"schema": {"a": pyarrow.list_(pyarrow.int8())}}),
        (cleave.UsageError, "a decimal needs digits", {"schema": {"a": Decimal}}),
        (cleave.UsageError, "batch_size: at least 1", {"batch_size": 0}),
    ):
        with pytest.raises(error, match=message):
            file.batches(**arguments)
    with pytest.raises(cleave.UsageError, match="page_size: at least 1"):
        list(ranges.plan(__file__).pieces[0].batches(page_size=0))
    schema = pyarrow.schema([("a", pyarrow.int8())])
    assert delivered(file.batches([1, 0], schema)) == [("2", 1)]


def test_streams(tmp_path: Path) -> None:
    path = tmp_path / "in.csv.gz"

    def streams(data: bytes) -> Iterator[Any]:
        path.write_bytes(gzip.compress(data))
        yield path
        yield path.open("rb")
        reader, writer = os.pipe()
        os.write(writer, data)
        os.close(writer)
        yield f"/proc/self/fd/{reader}"
        os.close(reader)

    for source in streams(b"a,b\n1,x\n\n2,y\n"):
        assert delivered(cleave.open(source).batches(schema={"a": int})) == [(1, "x"), (2, "y")]
    for source in streams(b"a\n1\n\n2\n"):
        assert delivered(cleave.open(source, delimiter=",").batches(schema={"a": int})) == [(1,), (2,)]
    for fault, message in ((b"3,4", "2 fields, not 1"), (b"x", "column 'a' is not of type int64")):
        for source in streams(b"a\n1\n\n" + fault):
            with pytest.raises(cleave.InputError, match=message) as raised:
                list(cleave.open(source, delimiter=",").batches(schema={"a": int}))
            assert raised.value.record == 3
    for fault, message in ((b"3", "1 fields, not 2"), (b"x,3", "column 'a' is not of type int64")):
        for source in streams(b"a,b\n1,2\n\n" + fault):
            with pytest.raises(cleave.InputError, match=message) as raised:
                list(cleave.open(source).batches(schema={"a": int}))
            assert raised.value.record == 3


def test_the_place_of_an_error_takes_no_memory() -> None:
    program = """
import resource, cleave
file = cleave.open(b"a,b\\n1,2\\nx,2\\n" + b"1,2\\n" * 10_000_000, threads=1)
file.records
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    list(file.batches(schema={"a": int}))
except cleave.InputError as error:
    print(error.byte, error.record, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    byte, record, kib = map(int, run.stdout.split())
    assert (byte, record) == (8, 2)
    assert kib < 150_000  # 32 bytes for each record would be twice as much


def test_an_error_before_an_open_quote() -> None:
    file = cleave.open(b'a,b\nx,1\n2,"')
    with pytest.raises(cleave.OpenQuoteError):
        file.split(n=1)
    with pytest.raises(cleave.InputError, match="'a' is not of type int64") as raised:
        list(cleave.open(b'a,b\nx,1\n' + b"2,2\n" * 500_000 + b'2,"').batches(schema={"a": int}))
    assert (raised.value.byte, raised.value.record) == (4, 1)


def test_only_what_is_delivered_must_be_text() -> None:
    file = cleave.open(b"a,b\n\xff,1\n\xff\n\n2,\xff\n")
    assert sum(batch.num_rows for batch in file.batches([], missing_is_null=True)) == 3
    with pytest.raises(cleave.InputError, match="field 2 is not UTF-8") as raised:
        list(file.batches(["b"], missing_is_null=True))
    assert (raised.value.byte, raised.value.record) == (11, 4)
    with pytest.raises(cleave.InputError, match="field 1 is not UTF-8"):
        list(file.batches(["b", "a"], missing_is_null=True))
    file = cleave.open(b"a,b\n\xff,1\n\xff\n\n2,\xc3\xa9\n")
    assert delivered(file.batches(["b"], missing_is_null=True)) == [("1",), (None,), ("\u00e9",)]


def test_a_file_that_changes(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_bytes(b"a,b\n" + b"1,2\n" * 2_000_000)
    batches = cleave.open(path, threads=1).batches()
    next(batches)
    os.truncate(path, 5)
    with pytest.raises((cleave.InputChangedError, OSError)):
        list(batches)


@pytest.mark.parametrize("gap", [1, 5, 100, 200_000])
@pytest.mark.parametrize("threads", [1, 4])
def test_the_first_error_is_raised(tmp_path: Path, threads: int, gap: int) -> None:
    path = tmp_path / "in.csv"
    rows = [b"%d,x\n" % number for number in range(1_000_000)]
    for record, fault in ((600_000, b"one,x\n"), (600_000 + gap, b"1\n"), (900_000, b"two,x\n")):
        rows[record - 1] = fault
    path.write_bytes(b"a,b\n" + b"".join(rows))
    count = 0
    with pytest.raises(cleave.InputError, match="column 'a' is not of type int64") as raised:
        for batch in cleave.open(path, threads=threads).batches(schema={"a": int}):
            assert batch.column(0).to_pylist() == list(range(count, count + batch.num_rows))
            count += batch.num_rows
    assert raised.value.record == 600_000 > count > 0


@pytest.mark.parametrize("threads", [1, 2])
def test_the_first_of_several_faults(threads: int) -> None:
    faults = (b"one,x\n", b"1\n", b"1,2,3\n", b"2,caf\xe9\n")
    for rows in itertools.permutations(faults, 3):
        file = cleave.open(b"a,b\n\n1,x\n" + b"".join(rows), delimiter=",", threads=threads)
        with pytest.raises(cleave.InputError) as raised:
            list(file.batches(schema={"a": int}))
        assert raised.value.record == 3


def test_batches_that_are_not_read_to_the_end(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_bytes(b"a\n" + b"1\n" * 2_000_000)
    before = threading.active_count()
    batches = cleave.open(path, threads=4).batches(schema={"a": int})
    next(batches)
    assert threading.active_count() > before
    batches.close()  # type: ignore[attr-defined]
    assert threading.active_count() == before


def test_columns_of_bytes_have_any(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_bytes(b"a,b,c\n\xff,x,\xfe\n\xfd,\xfc,\xfb\n")
    for read in readers_of(path, random.Random(4)):
        schema = {"a": bytes, "c": "large_binary"}
        assert delivered(read(["a", "c"], schema, ["-"])) == [(b"\xff", b"\xfe"), (b"\xfd", b"\xfb")]
        with pytest.raises(cleave.InputError, match="not UTF-8") as caught:
            list(read(None, {"a": bytes, "c": bytes}))
        assert caught.value.byte in (9, 12)  # the record, or the byte


def test_types_of_numpy_and_polars() -> None:
    numpy, polars = pytest.importorskip("numpy"), pytest.importorskip("polars")
    for kind, name in (
        (numpy.int16, "int16"),
        (numpy.dtype("float32"), "float"),
        (numpy.dtype("datetime64[ms]"), "timestamp[ms]"),
        (polars.UInt8, "uint8"),
        (polars.Datetime("us", "UTC"), "timestamp[us, tz=UTC]"),
        (polars.Decimal(10, 2), "decimal128(10, 2)"),
        (polars.Time, "time64[ns]"),
        (polars.Categorical, "dictionary<values=large_string, indices=uint32, ordered=0>"),
    ):
        assert str(_batches.type_of("a", kind)) == name
    for kind in (numpy.complex64, numpy.dtype("O"), polars.List(polars.Int8), polars.Enum(["x"]), "decimal(99, 2)"):
        with pytest.raises(cleave.UsageError, match=r"^schema\['a'\]: .* is not a type that text is converted to$"):
            _batches.type_of("a", kind)


def test_a_stream_is_read_as_often_as_it_is_used(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_bytes(b"id,day,note\n" + b"".join(b"%d,2024-02-29,\"a\nb\"\n\n" % n for n in range(5000)))
    f = cleave.open(path)
    stream = f.stream({"id": int}, ["id", "note"])
    assert stream.schema == pyarrow.schema([("id", pyarrow.int64()), ("note", pyarrow.string())])
    table = pyarrow.table(stream)
    assert table.equals(pyarrow.table(stream)) and table.schema == stream.schema == pyarrow.schema(stream)
    assert table.equals(pyarrow.Table.from_batches(f.batches(["id", "note"], {"id": int})))
    with pytest.raises(cleave.UsageError, match="there is no column 'x'"):
        f.stream(columns=["x"])
    with pytest.raises(pyarrow.ArrowException, match=r"not of type int64 \(byte 12, record 1\)"):
        pyarrow.table(f.stream({"note": int}))


def test_duckdb_scans_a_stream() -> None:
    duckdb = pytest.importorskip("duckdb")
    f = cleave.open(b"id,day\n1,2024-02-29\n2,2024-03-01\n")
    stream = f.stream(f.schema)
    for _ in range(2):
        assert duckdb.sql("SELECT sum(id), max(day) FROM stream").fetchall() == [(3, datetime.date(2024, 3, 1))]


def test_the_schema_and_the_head() -> None:
    f = cleave.open(b"id,day,code,x\n\n1,2024-02-29,007,1.5\n2,2024-03-01\n")
    kinds = [pyarrow.int64(), pyarrow.date32(), pyarrow.string(), pyarrow.float64()]
    assert f.schema == pyarrow.schema(zip(["id", "day", "code", "x"], kinds))
    assert f.head().column("x").to_pylist() == ["1.5", None] and f.head().num_rows == 2
    assert f.head(1).to_pylist() == [{"id": "1", "day": "2024-02-29", "code": "007", "x": "1.5"}]
    assert f.head(0).num_rows == 0 and f.head(0).schema.names == f.header
    with pytest.raises(TypeError, match="n: a whole number"):
        f.head("1")  # type: ignore[arg-type]
    many = cleave.open(b"n\n" + b"".join(b"%d\n" % n for n in range(400_000)), threads=2)
    assert many.head(300_000).column(0).to_pylist()[-1] == "299999"
    assert cleave.open(b"a,b\n").schema == pyarrow.schema([("a", pyarrow.string()), ("b", pyarrow.string())])
    assert cleave.open(b"").schema == pyarrow.schema([]) and cleave.open(b"").head().num_rows == 0


def test_the_head_of_what_is_read_once_leaves_the_rest(tmp_path: Path) -> None:
    path = tmp_path / "in.csv.gz"
    path.write_bytes(gzip.compress(b"id\n1\n2\n3\n"))
    f = cleave.open(path)
    assert f.head(1).num_rows == 1 and f.schema.field("id").type == pyarrow.int64() and f.records == 3


def damaged(chance: random.Random, count: int) -> Iterator[tuple[bytes, tuple[Any, ...] | None, str | None]]:
    """Records, each with its row or, if rejected, the column at fault. An empty record has no row."""
    for i in range(count):
        note = chance.choice(["plain", "", "two\nlines", "a, b", "K\u00f6ln"])
        text = b'"%s"' % note.encode() if note else b""
        ending = chance.choice([b"\n", b"\r\n"])
        fault = chance.choice(["", "id", "x", "both", "note", "more", "less", "quotes", "open", "none"])
        if fault in ("", "id", "x", "both") or chance.random() < 0.5:
            bad = fault if fault in ("id", "x", "both") and chance.random() < 0.1 else ""
            number = b"%dq" % i if bad in ("id", "both") else b"%d" % i
            x = b"z" if bad in ("x", "both") else chance.choice([b"", b"2.5"])
            row = (i, float(x) if x else None, note) if not bad else None
            yield number + b"," + x + b"," + text + ending, row, {"": None, "both": "id"}.get(bad, bad)
        elif fault == "none":
            yield ending, None, None
        else:
            bodies = {"note": b"1,2,\xff", "more": b"1,2," + text + b",3", "less": b"1", "quotes": b'1,2,"a"b', "open": b'1,2,"a'}
            yield bodies[fault] + ending, None, "note" if fault == "note" else None


@pytest.mark.parametrize(("threads", "ending"), [(1, ""), (4, ""), (2, ".gz")])
def test_rejects_are_what_was_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, threads: int, ending: str
) -> None:
    monkeypatch.setattr(_batches, "SHARED_READ_SIZE", 1 << 13)
    made = [*damaged(random.Random(7), 3000), (b"1,,end\n", (1, None, "end"), None)]
    data = b"id,x,note\n" + b"".join(text for text, _, _ in made)
    path = tmp_path / ("in.csv" + ending)
    path.write_bytes(gzip.compress(data) if ending else data)
    rows = [row for _, row, _ in made if row is not None]
    wanted, byte = [], len(b"id,x,note\n")
    for record, (text, row, column) in enumerate(made, 1):
        if row is None and text.strip():
            wanted.append((byte, record, text, column))
        byte += len(text)
    schema = {"id": "int64", "x": "float64"}
    with cleave.open(path, threads=threads) as f:
        rejects: list[cleave.Reject] = []
        seen = 0
        found = []
        for batch in f.batches(schema=schema, rejects=rejects):
            assert len(rejects) > seen
            seen = len(rejects)
            found += list(zip(*(column.to_pylist() for column in batch.columns)))
        assert found == rows
        assert [(each.byte, each.record, each.text, each.column) for each in rejects] == wanted
        assert {each.reason for each in rejects if each.column == "x"} == {"the value of column 'x' is not of type double"}
        with pytest.raises(cleave.InputError, match="records are bad.*; record 1, byte 10: 1 field"):
            list(f.batches(schema=schema, rejects=tmp_path / "bad"))
    assert os.listdir(tmp_path) == [path.name]


def test_a_file_of_rejects(tmp_path: Path) -> None:
    path, bad = tmp_path / "in.csv", tmp_path / "bad.jsonl"
    path.write_bytes(b"a,b\n1,2\nx,3\n4\n" + b"5,\xff\n" * 9 + b"6,7\n" * 2000)
    f = cleave.open(path)
    for _ in f.batches(schema={"a": int}, rejects=bad, batch_size=10):
        assert not bad.exists()
        break
    assert sum(batch.num_rows for batch in f.batches(schema={"a": int}, rejects=bad)) == 2001
    lines = [json.loads(line) for line in bad.read_text().splitlines()]
    assert lines[:2] == [
        {
            **{"byte": 8, "size": 4, "record": 2, "reason": "the value of column 'a' is not of type int64"},
            **{"column": "a", "text": "x,3\n", "header": "a,b\n"},
        },
        {"byte": 12, "size": 2, "record": 3, "reason": "1 field, not 2", "text": "4\n"},
    ]
    assert [(line["column"], line["base64"]) for line in lines[2:]] == [("b", "NSz/Cg==")] * 9
    with pytest.raises(FileExistsError, match=r"bad\.jsonl"):
        list(f.batches(rejects=bad))
    every: list[cleave.Reject] = []
    assert sum(batch.num_rows for batch in f.batches(["b"], missing_is_null=True, rejects=every)) == 2003
    assert {each.column for each in every} == {"b"}
    path.write_bytes(b"a\nx\n")
    with pytest.raises(cleave.InputError, match="^1 of 1 records are bad; record 1, byte 2: the value of column 'a' is"):
        list(cleave.open(path).batches(schema={"a": int}, rejects=tmp_path / "more"))
    with pytest.raises(cleave.UsageError, match="rejects: only for a file that was opened by its path"):
        list(cleave.open(b"a\n1\n").batches(rejects=[]))
    assert sorted(os.listdir(tmp_path)) == ["bad.jsonl", "in.csv"]
