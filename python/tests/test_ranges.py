"""Summaries of ranges, plans from them, and the pieces that workers read, compared with Python's csv and a scan of the
whole input."""

from __future__ import annotations

import itertools
import operator
import os
import pickle
import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from conftest import make_csv, rows_of

import cleave
from cleave import ranges
from cleave._sources import expand

COMMA: dict[str, Any] = {"delimiter": ",", "terminator": "lf"}
BOM = b"\xef\xbb\xbf"


def summaries_of(data: bytes, size: int) -> list[cleave.Summary]:
    return [cleave.scan(data[start : start + size], start, **COMMA) for start in range(0, len(data), size)]


def reader_of(data: bytes) -> Callable[[int, int], bytes]:
    return lambda offset, size: data[offset : offset + size]


@pytest.fixture
def small() -> bytes:
    return make_csv(300)


@pytest.fixture
def file(tmp_path: Path, small: bytes) -> Path:
    path = tmp_path / "in.csv"
    path.write_bytes(small)
    return path


def one_thread(function: Callable[[ranges.Range], Any], parts: ranges.Ranges) -> Iterator[Any]:
    """A Map whose results arrive in a different order and are pickled, as if from other processes."""
    for number in reversed(range(len(parts))):
        part = pickle.loads(pickle.dumps(parts[number]))
        yield pickle.loads(pickle.dumps(function(part)))


def records_of(plan: ranges.Plan, page_size: int) -> bytes:
    """The records of all pieces in order, without headers."""
    pieces = [pickle.loads(pickle.dumps(piece)) for piece in plan.pieces]
    pages = [page for piece in pieces for page in piece.pages(page_size)]
    return b"".join(page.data[page.header_size :] for page in pages)


# scan, + and plan


@pytest.mark.parametrize("size", [1, 7, 100, 5000])
def test_summaries_add_up_to_that_of_the_whole(small: bytes, size: int) -> None:
    parts = summaries_of(small, size)
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    whole = cleave.scan(small, **COMMA)
    assert (total.begin, total.end) == (0, len(small))
    assert total == whole
    assert total.text(len(small), "v") == whole.text(len(small), "v")
    assert parts[0] != whole


def test_add_in_any_grouping(small: bytes) -> None:
    a, b, c = summaries_of(small, -(-len(small) // 3))
    assert (a + b) + c == a + (b + c)


def test_add_needs_neighbours(small: bytes) -> None:
    a, _, c = summaries_of(small, -(-len(small) // 3))
    with pytest.raises(ValueError):
        a + c


def test_a_summary_has_no_hash(small: bytes) -> None:
    with pytest.raises(TypeError):
        hash(cleave.scan(small, **COMMA))


def test_scan_needs_a_dialect(small: bytes) -> None:
    with pytest.raises(ValueError):
        cleave.scan(small)


def test_summary_is_pickled_and_a_text(small: bytes) -> None:
    for part in summaries_of(small, 500):
        data = pickle.dumps(part)
        assert len(data) < 2048
        assert pickle.loads(data) == part
        assert cleave.Summary.of_text(part.text(len(small), "v1")) == (part, len(small), "v1")


@pytest.mark.parametrize("n", [1, 2, 7, 50])
def test_cuts_are_those_of_a_split(small: bytes, n: int) -> None:
    parts = summaries_of(small, 333)
    random.Random(n).shuffle(parts)
    plan = cleave.plan(parts, input_size=len(small), n=n)
    whole = cleave.open(small, **COMMA)
    assert plan.records == whole.records == len(rows_of(small)) - 1
    assert plan.header_size == small.index(b"\n") + 1
    starts = [cut.find(reader_of(small)) for cut in plan.cuts]
    split = whole.split(n=n)
    # A split leaves out empty pieces.
    assert sorted({offset for offset, _ in starts} - {len(small)}) == [int(start) for start in split.starts]
    for offset, record in starts:
        assert record == len(rows_of(small[:offset]))


def test_cuts_by_records(small: bytes) -> None:
    plan = cleave.plan(summaries_of(small, 100), input_size=len(small), records=60)
    found = [cut.find(reader_of(small)) for cut in plan.cuts]
    assert [record for _, record in found] == [1, 61, 121, 181, 241]
    assert [len(rows_of(small[:offset])) for offset, _ in found] == [record for _, record in found]


def test_find_reads_little_and_in_order(small: bytes) -> None:
    plan = cleave.plan(summaries_of(small, 500), input_size=len(small), n=10)
    for cut in plan.cuts:
        asked: list[tuple[int, int]] = []

        def read(offset: int, size: int, asked: list[tuple[int, int]] = asked) -> bytes:
            asked.append((offset, size))
            return small[offset : offset + size]

        again = pickle.loads(pickle.dumps(cut))
        assert again.find(read) == cut.find(reader_of(small))
        assert sum(size for _, size in asked) <= 500
        assert asked == sorted(asked)


def test_find_passes_errors_on(small: bytes) -> None:
    cut = cleave.plan(summaries_of(small, 500), input_size=len(small), n=10).cuts[5]

    def fails(offset: int, size: int) -> bytes:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        cut.find(fails)
    with pytest.raises(ValueError):
        cut.find(lambda offset, size: b"")


def test_plan_needs_all_ranges(small: bytes) -> None:
    parts = summaries_of(small, 500)
    for wrong in (parts[1:], parts[:-1], parts[:2] + parts[3:], [*parts, parts[0]]):
        with pytest.raises(cleave.InputError):
            cleave.plan(wrong, input_size=len(small), n=2)


def test_plan_refuses_an_open_quote() -> None:
    data = b'a,b\n1,2\n3,"4\n'
    parts = summaries_of(data, 5)
    with pytest.raises(cleave.OpenQuoteError) as caught:
        cleave.plan(parts, input_size=len(data), n=2)
    assert caught.value.byte == data.index(b'"')
    assert cleave.plan(parts, input_size=len(data), n=2, allow_open_quote=True).records == 2


# cleave.ranges


@pytest.mark.parametrize("page_size", [1, 100, 1 << 20])
@pytest.mark.parametrize("pieces", [1, 2, 9, 200])
def test_pieces_are_the_whole_file(file: Path, small: bytes, pieces: int, page_size: int) -> None:
    plan = ranges.plan(file, pieces=pieces, map=one_thread)
    assert plan.names == rows_of(small)[0]
    assert len(plan.pieces) == pieces
    assert plan.pieces[0].format.line_break == b"\n"
    header = small.index(b"\n") + 1
    assert records_of(plan, page_size) == small[header:]


def test_pages_are_whole_records(file: Path, small: bytes) -> None:
    rows = rows_of(small)
    found = []
    for piece in ranges.plan(file, blocksize=1000).pieces:
        for page in piece.pages(200):
            assert page.data[page.header_size :] == small[page.start :][: len(page.data) - page.header_size]
            assert page.place(page.header_size) == page.start
            found += rows_of(bytes(page.data))[1:]
    assert found == rows[1:]


def test_pages_as_arrow(file: Path, small: bytes) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    pages = [page for piece in ranges.plan(file, pieces=5).pieces for page in piece.pages(500)]
    table = pyarrow.concat_tables([pyarrow.table(page.open().select("*")) for page in pages])
    assert [list(row.values()) for row in table.to_pylist()] == rows_of(small)[1:]


@pytest.mark.parametrize("mark", [b"", BOM])
@pytest.mark.parametrize("first", [b"1,2\n", b'"1","2"\n', b'"a\nb",2\n'])
def test_without_a_header(tmp_path: Path, mark: bytes, first: bytes) -> None:
    path = tmp_path / "in.csv"
    data = first + b'3,"4\n5"\n' * 20
    path.write_bytes(mark + data)
    for pieces in (1, 3, 100):
        plan = ranges.plan(path, pieces=pieces, header=False)
        assert plan.names == ["column_1", "column_2"]
        assert records_of(plan, 10) == data


@pytest.mark.parametrize("header", [True, False])
def test_empty_inputs(tmp_path: Path, header: bool) -> None:
    path = tmp_path / "in.csv"
    for data in (b"", BOM, b"\n"):
        path.write_bytes(data)
        assert records_of(ranges.plan(path, pieces=3, header=header), 10).strip() == b""


def test_a_header_that_is_not_utf8(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_bytes(b"a,\xe9\n1,2\n")
    with pytest.raises(cleave.InputError) as caught:
        ranges.plan(path)
    assert (caught.value.byte, caught.value.record) == (2, 0)


@pytest.mark.parametrize("size", [ranges.PAGE_SIZE, 3000])
def test_bytes_that_are_not_utf8(tmp_path: Path, size: int) -> None:
    pytest.importorskip("pyarrow")
    lines = b"".join(b'%d,"x\n""caf\xc3\xa9"\n' % number for number in range(2000))
    (tmp_path / "a.csv").write_bytes(b"id,place\n" + lines + b'2000,"x\n""caf\xe9"\n' + lines)
    fault = (tmp_path / "a.csv").read_bytes().index(b"\xe9\"")
    piece = ranges.plan(tmp_path / "a.csv", pieces=1).pieces[0]
    with pytest.raises(cleave.InputError, match="not UTF-8") as caught:
        list(piece.batches(page_size=size))
    assert caught.value.byte == fault
    assert sum(batch.num_rows for batch in piece.batches(["id"], page_size=size)) == 4001


def test_more_pieces_than_the_file_can_hold(file: Path) -> None:
    assert len(ranges.plan(file, pieces=65_536).pieces) == 65_536
    asked = []

    def count(function: Callable[[ranges.Range], Any], parts: ranges.Ranges) -> list[Any]:
        asked.append(len(parts))
        return [function(part) for part in parts]

    for pieces in (65_537, 10**6, 10**12):
        with pytest.raises(cleave.UsageError, match="too many for 300 records|at most 1000000"):
            ranges.plan(file, pieces=pieces, map=count)
        with pytest.raises(cleave.UsageError):
            cleave.plan(summaries_of(file.read_bytes(), 5000), input_size=file.stat().st_size, n=pieces)
    assert max(asked) <= ranges.SPARE_RANGES


@pytest.mark.parametrize("start", ["", "file:", "file://", "file://localhost"])
def test_urls_of_local_files(file: Path, small: bytes, start: str) -> None:
    plan = ranges.plan(start + str(file), pieces=2)
    assert records_of(plan, 1000) == small[small.index(b"\n") + 1 :]


@pytest.mark.parametrize("name", ["a b.csv", "50%.csv", "%41.csv", "K\u00f6ln.csv", "a[1].csv", "what?#.csv", b"caf\xe9.csv"])
@pytest.mark.parametrize("start", ["file://", "file:", "FILE://localhost"])
def test_codes_in_urls_of_files(tmp_path: Path, small: bytes, name: str | bytes, start: str) -> None:
    path = tmp_path / os.fsdecode(name)
    path.write_bytes(small)
    (tmp_path / "a1.csv").write_bytes(b"x\n")
    (tmp_path / "A.csv").write_bytes(b"x\n")
    url = path.as_uri().replace("file://", start)
    assert cleave.open(url).records == ranges.plan(url).records == ranges.plan([url], pieces=2).records == 300
    assert ranges.plan(url.replace(".csv", ".c?v")).records == 300
    piece = ranges.plan(url).pieces[0]
    assert piece.path == url
    pytest.importorskip("pyarrow")
    assert sum(batch.num_rows for batch in pickle.loads(pickle.dumps(piece)).batches(["id"])) == 300
    for wrong in (f"file://host{path}", f"{url}?x", f"{url}#x", "file://"):
        with pytest.raises(cleave.UsageError, match="a file on this machine is"):
            cleave.open(wrong)
        with pytest.raises((cleave.UsageError, FileNotFoundError)):
            ranges.plan(wrong)


def test_standard_input_has_no_ranges(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("-").write_bytes(b"a,b\n1,2\n")
    with pytest.raises(cleave.UsageError, match="standard input"):
        ranges.plan("-")
    for path in ("./-", ".", tmp_path / "-"):
        assert [page.data for piece in ranges.plan(path).pieces for page in piece.pages()] == [b"a,b\n1,2\n"]


def test_json_lines_have_no_ranges(tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    path.write_bytes(b'{"a":1}\n{"a":2}\n')
    for dialect in ("jsonl", cleave.open(path, dialect="jsonl").dialect):
        for header in (True, False):
            with pytest.raises(cleave.UsageError, match="JSON Lines"):
                ranges.plan(path, dialect=dialect, header=header)


def test_bad_arguments(file: Path) -> None:
    wrong: list[tuple[type[Exception], str, dict[str, Any]]] = [
        *((TypeError, "pieces: a whole number", {"pieces": value}) for value in ("3", True, 1.5)),
        *((TypeError, "blocksize: a whole number", {"blocksize": value}) for value in ("3", True, lambda size: 1.5)),
        *((cleave.UsageError, "at least 1", {name: 0}) for name in ("pieces", "blocksize")),
        (TypeError, "header: True or False", {"header": "no"}),
        (TypeError, "map: a function", {"map": 1}),
        (TypeError, "storage_options: a mapping", {"storage_options": 1}),
        *((TypeError, rf"ranges.plan\(\) has no argument '{name}'$", {name: 1}) for name in ("threads", "index")),
        (TypeError, "has no argument 'sep'; delimiter is meant$", {"sep": ";"}),
    ]
    for error, message, options in wrong:
        with pytest.raises(error, match=message):
            ranges.plan(file, **options)
    for paths in (None, 3):
        with pytest.raises(TypeError, match="paths: a path or several"):
            ranges.plan(paths)  # type: ignore[arg-type]
    for page_size in ("1", 1.0):
        with pytest.raises(TypeError, match="page_size: a whole number"):
            next(ranges.plan(file).pieces[0].pages(page_size))  # type: ignore[arg-type]


def test_text_of_a_plan_has_everything(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_bytes(b"a line, and more\n# another\nk;v\n1;2\n3;4\n5;6\n")
    dialect = cleave.open(path, skip_lines=1, comment="#").dialect
    for given in (None, "excel", dialect._replace(header="first")):
        plan = ranges.plan(path, pieces=2, dialect=given, delimiter=";", skip_lines=1, comment="#")
        again = ranges.Plan.of_text(plan.text(), {})
        assert again.text() == plan.text()
        pages = [page.data for piece in again.pieces for page in piece.pages()]
        assert b"".join(page[4:] for page in pages) == b"1;2\n3;4\n5;6\n"
        pytest.importorskip("pyarrow")
        rows = [row for piece in again.pieces for batch in piece.batches() for row in batch.to_pylist()]
        assert rows == [{"k": "1", "v": "2"}, {"k": "3", "v": "4"}, {"k": "5", "v": "6"}]


def test_bad_options(file: Path) -> None:
    wrong: list[dict[str, Any]] = [{"pieces": 0}, {"blocksize": 0}, {"pieces": 1, "blocksize": 1}]
    for options in wrong:
        with pytest.raises(cleave.UsageError):
            ranges.plan(file, **options)
    with pytest.raises(cleave.UsageError):
        next(ranges.plan(file).pieces[0].pages(0))


def test_patterns_and_folders(tmp_path: Path) -> None:
    for name in ("a1.csv", "a2.csv", "b1.csv", "b[1].csv", "c[9].csv", "d?.csv", "a1.csv.cleave", "_done", ".hidden"):
        (tmp_path / name).write_bytes(b"k,v\n1,2\n")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a3.csv").write_bytes(b"k,v\n3,4\n")

    def expanded(*patterns: str) -> list[str]:
        return [os.path.relpath(path, tmp_path) for path in expand([f"{tmp_path}/{one}" for one in patterns], {})]

    assert expanded("a*.csv") == expanded("a?.csv") == expanded("a[12].csv") == expanded("a*") == ["a1.csv", "a2.csv"]
    assert expanded("a*.cleave") == ["a1.csv.cleave"]
    assert expanded("[ab]1.csv") == ["a1.csv", "b1.csv"]
    assert expanded("b[1].csv") == ["b1.csv"]
    assert expanded("c[9].csv", "d?.csv") == ["c[9].csv", "d?.csv"]  # names that the patterns do not match
    assert expanded("**/a*.csv") == ["a1.csv", "a2.csv", "in/a3.csv"]
    assert expanded("in") == ["in/a3.csv"]
    assert expanded("in", "") == ["in/a3.csv", "a1.csv", "a2.csv", "b1.csv", "b[1].csv", "c[9].csv", "d?.csv"]
    for url in (f"file://{tmp_path}/a?.csv", f"file:{tmp_path}/a?.csv"):
        assert [Path(path).name for path in expand(url, {})] == ["a1.csv", "a2.csv"]
    assert expand("https://host/in.csv?key=1", {}) == ["https://host/in.csv?key=1"]
    assert [piece.path for piece in ranges.plan(tmp_path / "in").pieces] == [str(tmp_path / "in" / "a3.csv")]
    with pytest.raises(FileNotFoundError):
        ranges.plan(f"{tmp_path}/x?.csv")
    with pytest.raises(FileNotFoundError):
        ranges.plan([])
    with pytest.raises(TypeError, match="paths: a path is a str or an os.PathLike of one, and not bytes"):
        ranges.plan(b"in.csv")  # type: ignore[arg-type]


def test_patterns_of_a_store(tmp_path: Path) -> None:
    fsspec = pytest.importorskip("fsspec")
    system = fsspec.filesystem("memory")
    for name in ("a1.csv", "a2.csv", "_done", "deep/a3.csv"):
        system.pipe(f"/{tmp_path.name}/{name}", b"k,v\n1,2\n")
    base = f"memory://{tmp_path.name}"
    names = [path.rpartition("/")[2] for path in expand([f"{base}/a?.csv", f"{base}/", f"{base}/**/a3.csv"], {})]
    assert names == ["a1.csv", "a2.csv", "a1.csv", "a2.csv", "a3.csv"]


def test_as_many_pieces_as_asked_for() -> None:
    chance = random.Random(1)
    for _ in range(300):
        sizes = [chance.choice([1, 2, 3, 10, 1000]) for _ in range(chance.randrange(1, 5))]
        wanted = chance.randrange(1, 9)
        counts = ranges._shares(sizes, wanted)
        assert min(counts) >= 1
        assert sum(counts) == max(wanted, len(sizes))
        others = [other for other in itertools.product(range(1, wanted + 1), repeat=len(sizes)) if sum(other) == wanted]
        largest = max(map(operator.truediv, sizes, counts))
        assert not others or largest == min(max(map(operator.truediv, sizes, other)) for other in others)
    assert ranges._shares([100] * 8, 16) == [2] * 8
    assert ranges._shares([10, 11], 4) == [2, 2]


def test_several_inputs(tmp_path: Path, small: bytes) -> None:
    header = small[: small.index(b"\n") + 1]
    names = ["a.csv", "b.csv", "empty.csv", "header.csv", "last.csv"]
    for name, data in zip(names, (small, small * 1, b"", header, header + b"1,2,3,4")):
        (tmp_path / name).write_bytes(data)
    plan = ranges.plan(tmp_path, pieces=8, map=one_thread)
    assert [source.path for source in plan.sources] == [str(tmp_path / name) for name in names]
    assert plan.size == sum(os.path.getsize(tmp_path / name) for name in names)
    assert plan.records == 601 == sum(piece.records for piece in plan.pieces)
    assert [piece.number for piece in plan.pieces] == list(range(1, len(plan.pieces) + 1))
    assert {Path(piece.path).name for piece in plan.pieces} == {"a.csv", "b.csv", "header.csv", "last.csv"}
    assert len(plan.pieces) == 8
    again = ranges.Plan.of_text(plan.text(), {})
    assert records_of(again, 1000) == records_of(plan, 1000) == (small[len(header) :]) * 2 + b"1,2,3,4"
    (tmp_path / "z.csv").write_bytes(b"id,other\n")
    with pytest.raises(cleave.InputError, match="z.csv: the columns are not those of .*a.csv"):
        ranges.plan(tmp_path)


def test_pieces_of_a_size_that_depends_on_the_inputs(tmp_path: Path, small: bytes) -> None:
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_bytes(small)
    seen: list[int] = []
    plan = ranges.plan(tmp_path, blocksize=lambda size: seen.append(size) or size // 4)  # type: ignore[func-returns-value]
    assert seen == [2 * len(small)]
    assert len(plan.pieces) == 4
    with pytest.raises(cleave.UsageError):
        ranges.plan(tmp_path, blocksize=lambda size: 0)


def test_where_a_piece_is(file: Path, small: bytes) -> None:
    for piece in ranges.plan(file, pieces=7).pieces:
        pages = list(piece.pages(500))
        data = b"".join(page.data[page.header_size :] for page in pages)
        assert small[piece.start :][: piece.length] == data == bytes(piece.bytes)
        assert (piece.path, piece.names) == (str(file), rows_of(small)[0])
        assert piece.records == len(rows_of(data))
        assert piece.first_record == len(rows_of(small[: piece.start]))
        for page in pages:
            assert page.first_record == len(rows_of(small[: page.start]))


def test_what_is_no_plain_file(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (str(pipe), "/proc/cpuinfo", "/dev/null"):
        with pytest.raises(cleave.UsageError):
            ranges.plan(path)
    with pytest.raises(FileNotFoundError):
        ranges.plan(tmp_path)


def test_a_file_that_changes_before_a_piece_is_read(file: Path, small: bytes) -> None:
    plan = ranges.plan(file, pieces=2)
    later = file.stat().st_mtime_ns + 10**9
    file.write_bytes(small)
    os.utime(file, ns=(later, later))
    with pytest.raises(cleave.InputChangedError):
        next(plan.pieces[0].pages(100))


def test_a_file_that_changes_between_pages(file: Path, small: bytes) -> None:
    pages = ranges.plan(file, pieces=1).pieces[0].pages(100)
    next(pages)
    later = file.stat().st_mtime_ns + 10**9
    with open(file, "r+b") as writer:  # in place
        writer.write(small.replace(b"plain", b"PLAIN"))
    os.utime(file, ns=(later, later))
    with pytest.raises(cleave.InputChangedError):
        next(pages)


def test_secrets_are_not_shown() -> None:
    source = ranges.Source("s3://bucket/key", 1, "ETag:x", {"secret": "hush"})
    piece = ranges.Piece(source, ranges.Format({}), b"a\n", None, None, 0, 1)
    assert "hush" not in repr(source) + str(piece)
    with pytest.raises(cleave.UsageError, match=r"s3://bucket/key: storage_options may have secrets") as caught:
        pickle.dumps(piece)
    assert "hush" not in str(caught.value)
    source = replace(source, include_secrets=True)
    assert pickle.loads(pickle.dumps(source)).storage_options == {"secret": "hush"}


def test_plans_with_secrets_are_pickled_only_if_asked(file: Path) -> None:
    assert pickle.loads(pickle.dumps(ranges.plan(file))).sources == ranges.plan(file).sources
    for include, error in ((False, cleave.UsageError), (True, None)):
        plan = ranges.plan(file, storage_options={"secret": "hush"}, include_secrets=include)
        if error is None:
            assert pickle.loads(pickle.dumps(plan.pieces[0])).source.storage_options == {"secret": "hush"}
            continue
        for one in (plan, plan.pieces[0], ranges.Range(0, plan.sources[0], plan.pieces[0].format, 0, 1)):
            with pytest.raises(error, match="include_secrets=True"):
                pickle.dumps(one)


@pytest.mark.parametrize("header", [True, False])
def test_a_piece_has_what_a_piece_of_a_file_has(file: Path, header: bool) -> None:
    shared = {name for name in dir(cleave.Piece) if not name.startswith("_")} - {"select"}
    assert shared <= {*dir(ranges.Piece), *ranges.Piece.__annotations__}
    pieces = cleave.open(file, header=header).split(n=3)
    for one, other in zip(ranges.plan(file, pieces=3, header=header).pieces, pieces):
        for name in ("number", "start", "length", "first_record", "records", "bytes"):
            assert getattr(one, name) == getattr(other, name)
        assert one.with_header().read() == other.with_header().read()


def test_plan_as_text(tmp_path: Path, small: bytes) -> None:
    path = tmp_path / "in.csv"
    path.write_bytes(BOM + small)
    for header in (True, False):
        plan = ranges.plan(path, pieces=4, header=header, quote='"', storage_options={"secret": "hush"})
        text = plan.text()
        assert "hush" not in text
        again = ranges.Plan.of_text(text, {"secret": "hush"})
        assert (again.names, again.records, again.sources) == (plan.names, plan.records, plan.sources)
        assert [piece.source for piece in again.pieces] == [piece.source for piece in plan.pieces]
        assert [piece.format for piece in again.pieces] == [piece.format for piece in plan.pieces]
        assert [piece.number for piece in again.pieces] == [1, 2, 3, 4]
        for one, other in zip(again.pieces, plan.pieces):
            assert list(one.pages(100)) == list(other.pages(100)) != []
    path.write_bytes(b"")
    assert ranges.Plan.of_text(ranges.plan(path).text(), {}) == ranges.plan(path)


@pytest.mark.parametrize("text", ["", "{", "[]", "1", "{}", '{"names": [], "records": 1, "inputs": ["x"]}'])
def test_a_text_that_is_no_plan(text: str) -> None:
    with pytest.raises(cleave.UsageError):
        ranges.Plan.of_text(text, {})


def test_wrong_cuts_in_a_text(file: Path) -> None:
    text = ranges.plan(file, pieces=2).text()
    with pytest.raises((cleave.UsageError, cleave.InputError)):
        ranges.Plan.of_text(text.replace("cleave_plan", "cleave_plum"), {})


def test_remote_files(file: Path, small: bytes) -> None:
    fsspec = pytest.importorskip("fsspec")
    system = fsspec.filesystem("local")
    name = system.unstrip_protocol(str(file)).replace("file://", "local://")
    plan = ranges.plan(name, pieces=3)
    assert records_of(plan, 100) == small[small.index(b"\n") + 1 :]
    pages = plan.pieces[0].pages(100)
    next(pages)
    later = file.stat().st_mtime_ns + 10**9
    os.utime(file, ns=(later, later))
    with pytest.raises(cleave.InputChangedError):
        next(pages)


@pytest.mark.parametrize("size", [1, 7, 64, 4096, 10**6])
def test_buffers_in_order_end_where_records_do(size: int) -> None:
    data = BOM + make_csv(300)
    ends = list(itertools.accumulate(len(line) for line in record_lines(data)))
    state, found = None, 0
    for start in range(0, len(data), size):
        state, records, last = cleave.scan_bytes(memoryview(data)[start : start + size], state)
        here = [end for end in ends if start < end <= start + size]
        assert (records, last) == (len(here), here[-1] if here else None)
        assert len(state) == 24
        found += records
    assert found == len(ends)


def record_lines(data: bytes) -> Iterator[bytes]:
    """The records of CSV in which every quote opens or closes."""
    record = b""
    for line in data.splitlines(keepends=True):
        record += line
        if record.count(b'"') % 2 == 0:
            yield record
            record = b""


def test_scan_bytes_refuses_what_is_not_valid() -> None:
    state, _, _ = cleave.scan_bytes(b'a,"b')
    with pytest.raises(cleave.UsageError, match="state: not what scan_bytes has returned"):
        cleave.scan_bytes(b"c", state, quote="")
    with pytest.raises(cleave.UsageError, match="state"):
        cleave.scan_bytes(b"c", b"short")
    with pytest.raises(TypeError, match="state"):
        cleave.scan_bytes(b"c", 1)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="encoding"):
        cleave.scan_bytes(b"c", encoding="utf-16le")
    assert cleave.scan_bytes(b"a\rb\r", terminator="any")[1:] == (1, 2)
    assert cleave.scan_bytes(b"")[1:] == (0, None)
