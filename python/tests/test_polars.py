"""The reader for Polars: types, what is left to it of a query, and errors. tests/system/reach compares its rows."""

from __future__ import annotations

import datetime
import gzip
import io
import pickle
from decimal import Decimal
from pathlib import Path
from typing import Any, Callable

import pytest

import cleave

pl = pytest.importorskip("polars")
pytest.importorskip("pyarrow")

from cleave.polars import scan_csv  # noqa: E402

ENGINES = ["in-memory", "streaming"]


def write(path: Path, *lines: str) -> Path:
    path.write_bytes("".join(line + "\n" for line in lines).encode())
    return path


@pytest.fixture
def typed(tmp_path: Path) -> Path:
    lines = ["id,price,day,at,sold,code,note"]
    for n in range(1000):
        day, time = f"2024-{1 + n % 12:02}-{1 + n % 28:02}", f"{n % 24:02}:00:{n % 60:02}"
        lines.append(f'{n},{n / 7},{day},{day} {time},{"true" if n % 3 else "false"},c{n},"a\n""{n}"""')
    return write(tmp_path / "typed.csv", *lines)


def test_types_that_are_found(typed: Path) -> None:
    wanted = pl.read_csv(typed, try_parse_dates=True)
    assert scan_csv(typed, try_parse_dates=True).collect().equals(wanted)
    kinds = [pl.Int64, pl.Float64, pl.Date, pl.Datetime("us"), pl.Boolean, pl.String, pl.String]
    assert scan_csv(typed, try_parse_dates=True).collect_schema().dtypes() == kinds
    assert scan_csv(typed).collect().equals(pl.read_csv(typed))
    assert scan_csv(typed, infer_schema_length=0).collect().equals(pl.read_csv(typed, infer_schema=False))


def test_types_that_are_given(typed: Path) -> None:
    schema = {
        **{"id": pl.UInt16, "price": pl.Float32, "day": pl.Date},
        **{"at": pl.Datetime("ns"), "sold": pl.Boolean, "code": pl.String},
    }
    found = scan_csv(typed, schema=schema).collect()
    assert found.equals(pl.read_csv(typed, schema_overrides=schema))
    assert found.schema["id"] == pl.UInt16 and found.schema["at"] == pl.Datetime("ns")
    assert scan_csv(typed, schema={"id": pl.Decimal(10, 2)}).collect()["id"][7] == Decimal("7.00")
    assert scan_csv(typed, schema={"id": int}).collect_schema()["id"] == pl.Int64
    wide = {"at": pl.Binary, "code": pl.Categorical}
    frame = scan_csv(typed, schema=wide).select("at", "code").collect()
    assert {**frame.schema} == wide
    assert frame.equals(scan_csv(typed).select("at", "code").cast(wide).collect())
    for wrong in (pl.Enum(["c1"]), pl.List(pl.Int8), pl.Duration):
        with pytest.raises(cleave.UsageError, match="not a type that text is converted to"):
            scan_csv(typed, schema={"id": wrong})
    with pytest.raises(cleave.UsageError, match="there is no column 'ids'"):
        scan_csv(typed, schema={"ids": pl.Int8}).collect()


def test_a_zone(tmp_path: Path) -> None:
    path = write(tmp_path / "in.csv", "at", "2024-01-02T03:04:05+01:00")
    found = scan_csv(path, schema={"at": pl.Datetime("ms", "Europe/Paris")}).collect()
    assert found["at"].dtype == pl.Datetime("ms", "Europe/Paris")
    utc = found["at"].dt.convert_time_zone("UTC")[0]
    assert utc == datetime.datetime(2024, 1, 2, 2, 4, 5, tzinfo=datetime.timezone.utc)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["0", "-5", "9223372036854775807"], pl.Int64),
        (["1", "007"], pl.String),
        (["1", "+5"], pl.String),
        (["1", "-0"], pl.Float64),
        (["9223372036854775808"], pl.String),
        (["1", "2.5", "NaN", "-inf", "1e-05"], pl.Float64),
        (["1.5", "007.5"], pl.String),
        (["1.5", "9007199254740993"], pl.String),
        (["12e4"], pl.String),
        (["1.0e400"], pl.String),
        (["true", "False"], pl.Boolean),
        (["true", "1"], pl.String),
        (["2024-02-30"], pl.String),
        (["2024-02-29"], pl.Date),
        (["2024-02-29", "2024-02-29 00:00:00"], pl.String),
        (["", "", "5"], pl.Int64),
        (["", ""], pl.String),
        (["n/a", "5"], pl.Int64),
    ],
)
def test_a_type_is_found_only_where_no_text_is_lost(tmp_path: Path, values: list[str], kind: Any) -> None:
    path = write(tmp_path / "in.csv", "x,y", *[f"{value},z" for value in values])
    for length in (100, None):
        found = scan_csv(path, try_parse_dates=True, nulls=["n/a"], infer_schema_length=length).collect()
        assert found.schema["x"] == kind
        if kind == pl.String:
            assert found["x"].to_list() == [value or None for value in values]


@pytest.mark.parametrize(("first", "later"), [("1", "007"), ("1", "x"), ("1.5", "007"), ("true", "1"), ("1.5", "1e400")])
def test_a_later_value_of_another_type(tmp_path: Path, first: str, later: str) -> None:
    path = write(tmp_path / "in.csv", "x", *[first] * 200, later, first)
    with pytest.raises(cleave.InputError, match="found from the first values") as raised:
        scan_csv(path).collect()
    assert (raised.value.byte, raised.value.record) == (path.read_bytes().index(later.encode() + b"\n", 3), 201)
    assert str(path) in str(raised.value)
    assert scan_csv(path, infer_schema_length=None).collect()["x"].dtype == pl.String
    assert scan_csv(path).head(200).collect().height == 200


def test_a_value_that_is_not_of_its_type(typed: Path) -> None:
    for engine in ENGINES:
        with pytest.raises(cleave.InputError, match="column 'code' is not of type int64"):
            scan_csv(typed, schema={"code": pl.Int64}).collect(engine=engine)


@pytest.mark.parametrize("engine", ENGINES)
def test_only_what_a_query_needs(tmp_path: Path, engine: Any) -> None:
    rows = b"".join(b"%d,\xe9,5\n" % n for n in range(1000))
    path = tmp_path / "in.csv"
    path.write_bytes(b"a,b,c\n" + rows + b"x,\xe9,5\n")
    with pytest.raises(cleave.InputError, match="UTF-8"):
        scan_csv(path, infer_schema_length=0).collect(engine=engine)
    frame = scan_csv(path, schema={"a": pl.Int64, "b": pl.String, "c": pl.Int64})
    assert frame.select(pl.col("c").sum()).collect(engine=engine).item() == 5005
    assert frame.select("c", "a").head(2).collect(engine=engine).rows() == [(5, 0), (5, 1)]
    assert frame.select("a").head(1000).filter(pl.col("a") > 997).collect(engine=engine).rows() == [(998,), (999,)]
    assert frame.filter(pl.col("c") == 5).select("c").collect(engine=engine).height == 1001
    with pytest.raises(cleave.InputError, match="record 1001"):
        frame.select("a").collect(engine=engine)


@pytest.mark.parametrize("engine", ENGINES)
def test_queries(typed: Path, engine: Any) -> None:
    mine, theirs = scan_csv(typed), pl.scan_csv(typed)
    queries: list[Callable[[Any], Any]] = [
        lambda frame: frame.select(pl.len()),
        lambda frame: frame.filter(pl.col("id") > 500).select("note", "id").head(3),
        lambda frame: frame.head(600).filter(pl.col("id") > 500),
        lambda frame: frame.slice(10, 5),
        lambda frame: frame.tail(2),
        lambda frame: frame.filter(pl.col("id") < 0),
        lambda frame: frame.group_by("sold").agg(pl.col("price").sum().round(6), pl.len()).sort("sold"),
        lambda frame: frame.join(frame.select("id", other="code"), on="id").sort("id"),
    ]
    for query in queries:
        assert query(mine).collect(engine=engine).equals(query(theirs).collect(engine=engine))


def test_rows_and_batches(typed: Path) -> None:
    assert scan_csv(typed, n_rows=5).collect().equals(pl.read_csv(typed, n_rows=5))
    assert scan_csv(typed, n_rows=5).head(3).collect().height == 3
    assert scan_csv(typed, n_rows=0).collect().shape == (0, 7)
    heights = [frame.height for frame in scan_csv(typed).collect_batches(chunk_size=100)]
    assert sum(heights) == 1000
    from cleave import _batches, polars as reader

    seen: list[int | None] = []
    given = reader._Scan._rows

    def rows(self: Any, names: Any, columns: Any, most: int | None, batch_size: int | None) -> Any:
        for batch in given(self, names, columns, most, batch_size):
            seen.append(batch.num_rows)
            yield batch

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reader._Scan, "_rows", rows)
        scan = reader._Scan((str(typed),), {}, 0, False, (), False, None, True, {}, {})
        assert [frame.height for frame in scan(["id"], None, 25, 10)] == [0, 10, 10, 5]
    assert seen == [10, 10, 5]
    assert list(_batches.ahead(lambda number: -number, range(50), 3)) == list(range(0, -50, -1))


def test_nulls_and_short_records(tmp_path: Path) -> None:
    path = write(tmp_path / "in.csv", "a,b", '"",-', ",1", "", '"-",""')
    found = scan_csv(path, nulls=["-"]).collect()
    assert found.rows() == [("", None), (None, 1), (None, None), (None, None)]
    path = write(path, "a,b", "1", "1,2,3")
    with pytest.raises(cleave.InputError, match="a record of 1 fields"):
        scan_csv(path).collect()
    assert scan_csv(path, missing_is_null=True).collect().rows() == [(1, None), (1, 2)]


def test_names(tmp_path: Path) -> None:
    path = write(tmp_path / "in.csv", 'a,a,,"b""c",a', "1,2,3,4,5")
    assert scan_csv(path).collect_schema().names() == ["a", "a_duplicated_0", "", 'b"c', "a_duplicated_1"]
    assert scan_csv(path).select("a_duplicated_1", "").collect().rows() == [(5, 3)]
    assert scan_csv(path, header=False).collect_schema().names() == [f"column_{n}" for n in range(5)]
    assert scan_csv(path, header=False).collect().row(1) == ("1", "2", 3, "4", "5")


def test_inch_marks_are_counted(tmp_path: Path) -> None:
    # polars.scan_csv takes the marks for quotes when it only counts.
    path = write(tmp_path / "in.csv", "id,what", *[f'{n},5" pipe' for n in range(1000)])
    assert scan_csv(path).select(pl.len()).collect().item() == 1000
    assert scan_csv(path).collect()["what"].to_list() == ['5" pipe'] * 1000


def test_line_ends(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_bytes(b'a,b\r1,"x\ry"\r')
    assert scan_csv(path).collect().rows() == [(1, "x\ry")]
    path.write_bytes(b"a,b\n1,2\n3,4\r")
    with pytest.raises(cleave.InputError, match="ends in CR alone"):
        scan_csv(path).collect()
    assert scan_csv(path, infer_schema_length=0).select("a").collect().rows() == [("1",), ("3",)]
    path.write_bytes(b'a,b\n1,"2\r"\n')
    assert scan_csv(path).collect().rows() == [(1, "2\r")]


def test_several_files(tmp_path: Path, data: bytes) -> None:
    for name, some in (("a.csv", data), ("b.csv", b""), ("c.csv", data)):
        (tmp_path / name).write_bytes(some)
    (tmp_path / "d.csv.gz").write_bytes(gzip.compress(data))
    wanted = pl.concat([pl.read_csv(data)] * 3)
    for source in (tmp_path, f"{tmp_path}/*", sorted(tmp_path.iterdir())):
        assert scan_csv(source).collect().equals(wanted)
    write(tmp_path / "e.csv", "other", "1")
    with pytest.raises(cleave.InputError, match="e.csv: the columns are not those of .*a.csv"):
        scan_csv(tmp_path).collect()
    assert scan_csv(tmp_path).head(10).collect().height == 10
    with pytest.raises(FileNotFoundError):
        scan_csv(tmp_path / "none.csv")
    with pytest.raises(cleave.InputError, match="there are no columns"):
        scan_csv(tmp_path / "b.csv").collect()


def test_a_url(tmp_path: Path, data: bytes) -> None:
    pytest.importorskip("fsspec")
    (tmp_path / "in.csv").write_bytes(data * 1)
    url = f"local://{tmp_path}/in.csv"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("cleave.ranges.PAGE_SIZE", 20000)
        frame = scan_csv(url)
        assert frame.collect().equals(pl.read_csv(data))
        assert frame.select("a note").head(3).collect().equals(pl.read_csv(data, columns=["a note"]).head(3))
        assert frame.select(pl.len()).collect().item() == 5000
        (tmp_path / "in.csv").write_bytes(data + b"1,2,3,4\n")
        with pytest.raises(cleave.InputChangedError):
            frame.collect()
        (tmp_path / "in.csv").write_bytes(data + b"1,2,3,4\r")
        with pytest.raises(cleave.InputError, match="ends in CR alone"):
            scan_csv(url, infer_schema_length=0).collect()
        (tmp_path / "in.csv").write_bytes(data + b"x,2,3,4\n")
        with pytest.raises(cleave.InputError) as raised:
            scan_csv(url).collect()
    assert (raised.value.byte, raised.value.record) == (len(data), 5001)


def test_a_frame_can_be_sent(typed: Path) -> None:
    frame = scan_csv(typed, schema={"day": pl.Date})
    assert pl.LazyFrame.deserialize(io.BytesIO(frame.serialize())).collect().equals(frame.collect())
    assert pickle.loads(pickle.dumps(frame)).collect().equals(frame.collect())


def test_arguments(typed: Path) -> None:
    with pytest.raises(TypeError, match="nulls: a list of texts"):
        scan_csv(typed, nulls="NA")
    with pytest.raises(TypeError, match="schema: a dict"):
        scan_csv(typed, schema=["id"])  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        scan_csv(typed, quot="'").collect()
    with pytest.raises((TypeError, cleave.UsageError)):
        scan_csv(typed, n_rows=-1)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("separator", "; delimiter is meant"),
        ("null_values", "; nulls is meant"),
        ("has_header", "; header is meant"),
        ("schema_overrides", "; schema is meant"),
        ("rechunk", ""),
    ],
)
def test_names_of_polars_lead_to_ours(tmp_path: Path, name: str, meant: str) -> None:
    message = rf"^cleave.polars.scan_csv\(\) has no argument '{name}'{meant}$"
    with pytest.raises(TypeError, match=message):
        scan_csv(tmp_path / "in.csv", **{name: ";"})  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="^source: a path or several"):
        scan_csv(3)  # type: ignore[arg-type]
