"""Plans the pieces of one input or of many, which any process that can open them reads.

    plan = ranges.plan("s3://bucket/big-*.csv", pieces=64)
    for batch in plan.pieces[7].batches(["id"], {"id": int}):
        ...

The readers for Dask, Spark and other engines are built on this. A worker summarises a range, for which it does not need any other bytes (``scan_range``). A plan is made from the
summaries (``plan``). A worker, not necessarily the same one, then reads a piece of the plan: it first finds the two
ends of the piece, each near the start of some range, and then reads the records in pages (``Piece.pages``). Every byte
is therefore read twice, plus a little more at each cut. Everything that passes between workers is small and can be
pickled: a summary, a plan, a piece.

Memory use is bounded by the size of a page, or of the longest record if that is larger. Nothing is retried here: a task
that fails raises an error, and the engine runs it again. A task that runs twice has the same result, because the
version of the input is part of the piece: a different version causes an error before any of its records is passed on.
"""

from __future__ import annotations

import bisect
import builtins
import heapq
import io
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import cleave

from . import _arguments, _native
from ._errors import InputError, UsageError
from ._pages import HEAD_SIZE, OPTIONS, Format, Page, is_of_text
from ._sources import Reader, Source, expand, is_local, local_path

if TYPE_CHECKING:
    import pyarrow

    from ._batches import Request, Schema

__all__ = [
    "BLOCK_SIZE",
    "BOM",
    "LEAST_RANGE_SIZE",
    "MOST_PIECES",
    "PAGE_SIZE",
    "SPARE_RANGES",
    "Format",
    "Map",
    "Page",
    "Piece",
    "Plan",
    "Range",
    "Ranges",
    "Reader",
    "Source",
    "plan",
    "planned",
    "scan_by_threads",
    "scan_range",
]

BOM = b"\xef\xbb\xbf"
"""The byte order mark, which is not part of the first record."""
BLOCK_SIZE = 64 << 20
"""The size of a piece in bytes, if neither the number nor the size of pieces is given."""
PAGE_SIZE = 8 << 20
"""Roughly how many bytes of an input a worker holds at once."""
LEAST_RANGE_SIZE = 64 << 10
"""The least number of bytes that a worker summarises; ranges are smaller only if there are at most SPARE_RANGES."""
SPARE_RANGES = 1024
MOST_PIECES = 1_000_000
"""The most pieces in a plan."""
_BATCH_SIZE = 1 << 20


@dataclass(frozen=True)
class Piece:
    """The records of an input that one worker reads: from one cut to the next. Small, and can be pickled."""

    source: Source
    format: Format
    header: builtins.bytes  # with the empty records before it; invented if the input has no header
    begin: Any  # cuts of a plan; None is the end of the input
    end: Any
    number: int
    """From 1, in the plan."""
    last_record: int
    """The number of records in the input."""

    @property
    def path(self) -> str:
        """The path or URL of the input."""
        return self.source.path

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return self.format.open(self.header).header or []

    @property
    def start(self) -> int:
        """The offset of the first byte.

        The first use of ``start``, ``length``, ``first_record`` or ``records`` reads a little of the input to find both
        ends of the piece, and raises InputChangedError if that is another version than the one that was planned."""
        return self._extent[0]

    @property
    def length(self) -> int:
        """The size of the piece in bytes, without a header."""
        return self._extent[1]

    @property
    def first_record(self) -> int:
        """The number of the first record, from 1 after the header."""
        return self._extent[2]

    @property
    def records(self) -> int:
        """The number of records, including empty ones."""
        return self._extent[3]

    @property
    def bytes(self) -> memoryview:
        """The bytes, ``length`` of them, read at this moment, without a header. Raises InputChangedError."""
        with self.source.open() as reader:
            return memoryview(reader.read(self.start, self.length))

    def with_header(self) -> io.BytesIO:
        """A file object of the header, if the input has one, and the bytes, for readers of CSV such as pandas."""
        return io.BytesIO(b"".join([self.header if self.format.has_header else b"", self.bytes]))

    @cached_property
    def _extent(self) -> tuple[int, int, int, int]:
        with self.source.open() as reader:
            start, first = self._find(self.begin, reader)
            end, past = self._find(self.end, reader)
        return start, end - start, first, past - first

    def _find(self, cut: Any, reader: Reader) -> tuple[int, int]:
        """Where a cut is: the offset and the number of the record that starts there."""
        if cut is None:
            return self.source.size, self.last_record + 1
        start, record = cut.find(reader.read)
        # An invented header is not in the input.
        if not self.format.has_header and start == 0 and reader.read(0, min(len(BOM), reader.size)) == BOM:
            start = len(BOM)
        return int(start), int(record)

    def batches(
        self,
        columns: Sequence[str | int] | None = None,
        schema: Schema | None = None,
        nulls: Sequence[str] = (),
        batch_size: int | None = None,
        *,
        missing_is_null: bool = False,
        page_size: int = PAGE_SIZE,
    ) -> Iterator[pyarrow.RecordBatch]:
        """The records as ``File.batches`` delivers them: Arrow record batches of the named columns, with the types of
        ``schema``, and one row for each record that is not empty. Needs pyarrow.

        page_size: roughly how many bytes of the input are held at once.

        Raises what ``File.batches`` raises, with the byte and the record in the input, and InputChangedError if the
        input is another version than the one that was planned.
        """
        from . import _batches

        request = _batches.Request.of(self.names, columns, schema, nulls, missing_is_null, batch_size)
        return self.batches_of(request, _at_least_1("page_size", page_size))

    def batches_of(self, request: Request, page_size: int = PAGE_SIZE) -> Iterator[pyarrow.RecordBatch]:
        """The records, as an adapter wants them. Of a local file they are read in place, in batches of ``request.read_size``."""
        source = self.source
        if not is_local(source.path) or source.is_gzip or self.format.preamble > 0 or page_size < _BATCH_SIZE:
            for page in self.pages(page_size):
                yield from page.batches(request)
            return
        from . import _batches

        span = [self.start, self.length, self.first_record - 1]
        file = cleave.open(
            local_path(source.path),
            header=self.format.has_header,
            allow_open_quote=True,
            index=False,
            threads=1,
            **self.format.options,
        )
        source.check()
        try:
            for batch in _batches.batches(file, request, span):
                source.check()
                yield batch
        except InputError as error:
            source.check()
            if error.byte is None or not is_of_text(error):
                raise
            with source.open() as reader:
                record = reader.read(error.byte, min(PAGE_SIZE, self.start + self.length - error.byte))
            fault = self.format.find_no_text(record) or 0
            raise InputError("bytes that are not UTF-8", error.byte + fault, error.record) from None

    def pages(self, page_size: int = PAGE_SIZE) -> Iterator[Page]:
        """The records in order, in pages of roughly ``page_size`` bytes. Each page has at least one record."""
        _at_least_1("page_size", page_size)
        header_size = len(self.header)
        with self.source.open() as reader:
            start, record = self._find(self.begin, reader)
            end, _ = self._find(self.end, reader)
            rest: bytes | memoryview = b""
            while start < end:
                fetched = start + len(rest)
                before = header_size + len(rest)
                data = memoryview(bytearray(before + min(max(page_size, len(rest)), end - fetched)))
                data[:header_size], data[header_size:before] = self.header, rest
                reader.read_into(fetched, data[before:])
                is_last = start + len(data) - header_size == end
                page = Page(data, header_size, start, record, self.format)
                size, records = (len(data) - header_size, 0) if is_last else _whole_records(page)
                if size > 0:
                    yield Page(data[: header_size + size], header_size, start, record, self.format)
                start, record, rest = start + size, record + records, data[header_size + size :]


def _whole_records(page: Page) -> tuple[int, int]:
    """The size and the number of the whole records in a page, except for the last one, which may continue after it."""
    file = page.open()
    records = file.records
    if records < 2:
        return 0, 0
    return int(file.split(records=records - 1).starts[1]) - page.header_size, records - 1


@dataclass(frozen=True)
class Plan:
    """Where the pieces of the inputs are."""

    names: list[str]
    """The names of the columns, which are the same in all inputs. Empty if no input has columns."""
    pieces: list[Piece]
    """In the order of the inputs. An input without columns has none."""
    sources: list[Source]
    """The inputs."""
    records: int
    """The number of records, including empty ones, not counting headers."""

    @property
    def size(self) -> int:
        """The size of the inputs in bytes."""
        return sum(source.size for source in self.sources)

    def text(self) -> str:
        """The plan as JSON, without storage options."""
        pieces: dict[int, list[Piece]] = {id(source): [] for source in self.sources}
        for piece in self.pieces:
            pieces[id(piece.source)].append(piece)
        inputs = [_about(source, pieces[id(source)]) for source in self.sources]
        return json.dumps({"names": self.names, "records": self.records, "inputs": inputs})

    @staticmethod
    def of_text(text: str, storage_options: Mapping[str, Any], include_secrets: bool = False) -> Plan:
        """The plan that the text contains. Raises UsageError if it is not a plan."""
        pieces: list[Piece] = []
        try:
            about = json.loads(text)
            secret: dict[str, Any] = {"storage_options": storage_options, "include_secrets": include_secrets}
            sources = [Source(**one["source"], **secret) for one in about["inputs"]]
            for source, one in zip(sources, about["inputs"]):
                if "cuts" in one:
                    options = {name: _of_text(name, value) for name, value in one["options"].items()}
                    form = Format(options, one["has_header"], one["preamble"], one["line_break"].encode())
                    cuts = [_cut_of_text(cut) for cut in one["cuts"]]
                    header = one["header"].encode("latin-1")
                    pieces += _pieces(source, form, header, cuts, one["records"], len(pieces) + 1)
            return Plan(about["names"], pieces, sources, about["records"])
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise UsageError(f"this is no plan: {error}") from error


def _about(source: Source, pieces: list[Piece]) -> dict[str, Any]:
    about: dict[str, Any] = {
        "source": {"path": source.path, "size": source.size, "version": source.version, "is_gzip": source.is_gzip}
    }
    if pieces:
        first = pieces[0]
        about["options"] = {name: _text(value) for name, value in first.format.options.items()}
        about["preamble"] = first.format.preamble
        about["has_header"] = first.format.has_header
        about["line_break"] = first.format.line_break.decode()
        about["header"] = _text(first.header)
        about["records"] = first.last_record
        about["cuts"] = [piece.begin._native.__getstate__() for piece in pieces]
    return about


def _text(value: Any) -> Any:
    if isinstance(value, cleave.Dialect):
        return {name: _text(part) for name, part in value._asdict().items()}
    return value.decode("latin-1") if isinstance(value, bytes) else value


def _of_text(name: str, value: Any) -> Any:
    if isinstance(value, dict):
        return cleave.Dialect(**{name: _of_text(name, part) for name, part in value.items()})
    return value.encode("latin-1") if name in ("delimiter", "quote", "escape") and value is not None else value


def _cut_of_text(text: str) -> cleave.Cut:
    cut = _native.Cut.__new__(_native.Cut)
    cut.__setstate__(text)
    return cleave.Cut(cut)


@dataclass(frozen=True)
class Range:
    """Bytes of an input to be summarised."""

    input: int
    """The number of the input in the plan."""
    source: Source
    format: Format
    begin: int
    end: int
    page_size: int = PAGE_SIZE


class Ranges(Sequence[Range]):
    """The ranges of the inputs, one for each piece. Small, whatever their number."""

    def __init__(self, inputs: Sequence[tuple[Source, Format, int]]) -> None:
        """The inputs, each with the number of its pieces."""
        self._inputs = list(inputs)
        # Each summary takes a few KiB, and at the end all of them are in memory.
        counts = [
            min(count, source.size, max(-(-source.size // LEAST_RANGE_SIZE), SPARE_RANGES))
            for source, _, count in self._inputs
        ]
        self._ends = list(accumulate(counts))

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def __getitem__(self, number: int) -> Range:  # type: ignore[override]
        if not 0 <= number < len(self):
            raise IndexError("there is no such range")
        one = bisect.bisect_right(self._ends, number)
        first = self._ends[one - 1] if one > 0 else 0
        source, form, _ = self._inputs[one]
        count, at = self._ends[one] - first, number - first
        return Range(one, source, form, source.size * at // count, source.size * (at + 1) // count)


Map = Callable[[Callable[[Range], Any], Ranges], Iterable[Any]]
"""Applies a function to each range with the workers of an engine; the results may come in any order."""


def scan_range(part: Range) -> tuple[int, cleave.Summary]:
    """The number of the range's input, and the summary of the range. Reads only the range's own bytes."""
    total = None
    buffer = memoryview(bytearray(min(part.page_size, part.end - part.begin)))
    with part.source.open() as reader:
        for start in range(part.begin, part.end, part.page_size):
            data = buffer[: min(part.page_size, part.end - start)]
            reader.read_into(start, data)
            summary = cleave.scan(data, start, preamble=part.format.preamble, **part.format.options)
            total = summary if total is None else total + summary
    assert total is not None  # a range has at least one byte
    return part.input, total


def scan_by_threads(function: Callable[[Range], Any], ranges: Ranges) -> list[Any]:
    """A Map for one machine, with as many threads as cores. The scan itself releases the GIL."""
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        return list(pool.map(function, ranges))


def plan(
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    pieces: int | None = None,
    blocksize: int | Callable[[int], int] | None = None,
    header: bool = True,
    map: Map = scan_by_threads,  # noqa: A002
    storage_options: Mapping[str, Any] | None = None,
    include_secrets: bool = False,
    **dialect: Any,
) -> Plan:
    """Reads all inputs once, and returns where their pieces are.

    paths: a path or URL, a list of them, a pattern with ``*``, ``?``, ``[...]`` or ``**``, or a folder, which stands for
        the files in it. All inputs must have the same columns; empty inputs are left out. Compressed inputs raise
        UsageError, except for a local gzip file with an index. In a URL of a local file, bytes can be ``%`` codes, as
        in ``file:///data/50%25.csv``.
    pieces: the number of pieces of nearly equal bytes, like ``n`` in ``File.split``; several inputs share them, and
        have at least one each; or
    blocksize: roughly how many bytes each piece has, or a function that takes the bytes of all inputs together and
        returns that; 64 MiB if neither is given. A piece can be empty if a record is longer than a piece. More than
        1,000,000 pieces raise UsageError.
    header: whether each input has a header. Otherwise the columns are named ``column_1``, ``column_2`` and so on, and
        there are as many as the first record has fields.
    map: how the ranges of the inputs are summarised, by the workers of an engine for instance: called with
        ``scan_range`` and the ranges, it returns the results in any order. By default, threads of this process do it.
    storage_options: for fsspec, which opens URLs. They are part of each piece, and are not shown by ``repr``.
    include_secrets: whether plans, ranges and pieces with ``storage_options`` can be pickled; otherwise, pickling them
        raises UsageError, because the options may have secrets. Workers can have these by their environment instead.
    dialect: ``dialect``, ``delimiter``, ``quote``, ``escape``, ``escape_scope``, ``quoting``, ``terminator``,
        ``skip_lines`` and ``comment``, as for ``cleave.open``. Anything they leave open is found once for each input,
        from the first 64 KiB.

    Raises InputError if a quote is open at the end of an input, a header is not UTF-8, or the columns differ;
    InputChangedError if an input changes in the meantime; UsageError and TypeError for arguments that cannot be used;
    and OSError, such as FileNotFoundError, and what fsspec raises.
    """
    _arguments.only("cleave.ranges.plan", dialect, plan.__kwdefaults__, OPTIONS)
    if pieces is not None and blocksize is not None:
        raise UsageError("pieces and blocksize cannot be used together")
    if not callable(map):
        raise _arguments.wrong("map", "a function", map)
    _arguments.flag("header", header)
    _arguments.flag("include_secrets", include_secrets)
    options: dict[str, Any] = {**_arguments.mapping("storage_options", storage_options)}  # type: ignore[dict-item]
    with ThreadPoolExecutor(_OPEN_AT_ONCE) as pool:
        sources = list(pool.map(lambda path: Source.of(path, options, include_secrets), expand(paths, options)))
        heads = list(pool.map(_head_of, sources))
    used = [(source, Format.settle(source.path, head, header, dialect)) for source, head in zip(sources, heads) if head]
    sizes = [source.size for source, _ in used]
    counts = _counts(sizes, pieces, blocksize(sum(sizes)) if callable(blocksize) else blocksize)
    inputs = [(source, form, count) for (source, form), count in zip(used, counts)]
    summaries: list[list[cleave.Summary]] = [[] for _ in inputs]
    for number, summary in map(scan_range, Ranges(inputs)):
        summaries[number].append(summary)
    plans = [_plan_of(*one, found) for one, found in zip(inputs, summaries)]
    return _joined(plans, sources)


def planned(
    reader: Callable[..., Any],
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | Plan,
    options: Mapping[str, Any],
) -> Plan:
    """``plan(paths, **options)`` for the workers of an engine, or ``paths`` itself if that is a plan already, which
    takes no options. ``reader`` is what was called with them."""
    name = f"{reader.__module__}.{reader.__qualname__}".removesuffix(".__init__")
    _arguments.only(name, options, reader.__kwdefaults__, plan.__kwdefaults__, OPTIONS)
    if not isinstance(paths, Plan):
        return plan(paths, **{"include_secrets": True, **options})
    if options:
        raise UsageError(f"{next(iter(options))}: the plan is made already")
    return paths


_OPEN_AT_ONCE = 16


def _head_of(source: Source) -> bytes:
    with source.open() as reader:
        return reader.read(0, min(HEAD_SIZE, source.size))


def _counts(sizes: Sequence[int], pieces: int | None, blocksize: int | None) -> list[int]:
    """How many pieces each input has."""
    if pieces is None:
        size = BLOCK_SIZE if blocksize is None else _at_least_1("blocksize", blocksize)
        counts = [max(1, -(-one // size)) for one in sizes]
    else:
        counts = _shares(sizes, _at_least_1("pieces", pieces))
    if sum(counts) > MOST_PIECES:
        raise UsageError(f"{sum(counts)} pieces; at most {MOST_PIECES} are possible")
    return counts


def _shares(sizes: Sequence[int], wanted: int) -> list[int]:
    """How many of the wanted pieces each input has: at least one, and such that the largest piece is as small as it can
    be (the method of D'Hondt)."""
    counts = [max(1, wanted * one // sum(sizes)) for one in sizes]
    excess = sum(counts) - wanted
    if excess < 0:  # the input with the largest pieces gets one more
        heap = [(-size / count, number) for number, (size, count) in enumerate(zip(sizes, counts))]
        change = 1
    else:  # the input whose pieces stay the smallest loses one
        heap = [(size / (count - 1), number) for number, (size, count) in enumerate(zip(sizes, counts)) if count > 1]
        change = -1
    heapq.heapify(heap)
    for _ in range(abs(excess)):
        if not heap:
            break
        number = heap[0][1]
        counts[number] += change
        if change > 0:
            heapq.heapreplace(heap, (-sizes[number] / counts[number], number))
        elif counts[number] > 1:
            heapq.heapreplace(heap, (sizes[number] / (counts[number] - 1), number))
        else:
            heapq.heappop(heap)
    return counts


def _at_least_1(name: str, value: object) -> int:
    number = _arguments.number(name, value)
    if number < 1:
        raise UsageError(f"{name}: at least 1")
    return number


def _plan_of(source: Source, form: Format, count: int, summaries: list[cleave.Summary]) -> Plan:
    """The plan of one input."""
    found = cleave.plan(summaries, n=count, input_size=source.size, header=form.has_header)
    with source.open() as reader:
        if form.has_header:
            first = reader.read(form.preamble, found.header_size - form.preamble)
            line_break = _first_line_break(first)
        else:
            first, line_break = _made_up_header(reader, form)
    fault = form.find_no_text(first)
    if fault is not None:
        raise InputError(f"{source.name}: bytes that are not UTF-8", fault, 0)
    form = replace(form, line_break=line_break)
    names = form.open(first).header or []
    cuts = found.cuts if names else []
    return Plan(names, _pieces(source, form, first, cuts, found.records), [source], found.records)


def _joined(plans: list[Plan], sources: list[Source]) -> Plan:
    """The plan of all inputs. Those without columns, such as empty ones, have no records either."""
    named = [plan for plan in plans if plan.names]
    for plan in named:
        if plan.names != named[0].names:
            raise InputError(f"{plan.sources[0].name}: the columns are not those of {named[0].sources[0].name}")
    pieces = [piece for plan in named for piece in plan.pieces]
    numbered = [replace(piece, number=number) for number, piece in enumerate(pieces, 1)]
    return Plan(named[0].names if named else [], numbered, sources, sum(plan.records for plan in named))


def _pieces(
    source: Source, form: Format, header: bytes, cuts: list[Any], records: int, first_number: int = 1
) -> list[Piece]:
    ends = zip(cuts, [*cuts[1:], None])
    return [
        Piece(source, form, header, begin, end, number, records)
        for number, (begin, end) in enumerate(ends, first_number)
    ]


def _first_line_break(data: bytes) -> bytes:
    match = re.search(rb"\r\n|\r|\n", data)
    return match.group() if match else b"\n"


def _made_up_header(reader: Reader, form: Format) -> tuple[bytes, bytes]:
    """A header for an input without one, with as many columns as the first record has fields, and the first line
    break."""
    size = HEAD_SIZE
    while True:
        size = min(size, reader.size - form.preamble)
        head = reader.read(form.preamble, size)
        file = form.open(head, header=False, allow_open_quote=True)
        if size == reader.size - form.preamble or file.records > 1:
            break
        size *= 4
    line_break = _first_line_break(head)
    end = b"\r" if form.options["terminator"] == "cr" else b"\n" if line_break == b"\r" else line_break
    names = [name.encode() for name in file.select("*").names]
    return form.options["delimiter"].join(names) + end, line_break
