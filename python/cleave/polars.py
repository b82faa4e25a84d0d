"""Reads CSV lazily with Polars, exactly, also where line breaks are in quotes.

    import cleave.polars
    frame = cleave.polars.scan_csv("big-*.csv").filter(polars.col("price") > 100).select("id", "day").collect()

The rows are those of ``polars.scan_csv``: one for each record, also for an empty one, and an empty value is null unless
it is text in quotes. Only the columns that a query needs are read, and only as many rows as it can need. A value is
exactly what the file says, or an error says where it is, with the byte and the record of the file. So these differ from
Polars: whole numbers that begin with zeros are text unless the schema says otherwise, numbers that a float cannot hold
are not infinite, doubled quotes in the header are one quote, lines may end in CR, and a short record is an error unless
``missing_is_null`` is set.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import Any

import polars
import polars.io.plugins
import pyarrow

import cleave

from . import _arguments, _batches, _guess, _sources, ranges
from ._errors import InputError
from ._urls import shown


def scan_csv(
    source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    schema: Mapping[str, Any] | None = None,
    infer_schema_length: int | None = 100,
    try_parse_dates: bool = False,
    nulls: Sequence[str] = (),
    missing_is_null: bool = False,
    n_rows: int | None = None,
    header: bool = True,
    delimiter: str | bytes = ",",
    storage_options: Mapping[str, Any] | None = None,
    **dialect: Any,
) -> polars.LazyFrame:
    """A frame that reads the files when it is collected. This call reads the header, and finds types.

    source: a path or URL, a list of them, a pattern with ``*``, ``?``, ``[...]`` or ``**``, or a folder, which stands
        for the files in it. All files must have the same columns; one without a byte is left out. Local files may be
        compressed. A file behind a URL is read twice, the first time to find where pieces of it start.
    schema: the types of columns, by name: integers, floats, Boolean, Date, Time, Datetime, Decimal, String, Binary and
        Categorical. Texts are converted as by ``File.batches``.
    infer_schema_length: the other columns have the types that fit their values in so many records, 100 by default:
        Int64, Float64 or Boolean, or else String. A later value that is not written in the same way raises an error.
        ``None`` examines all records, and with 0, the other columns are strings.
    try_parse_dates: find dates and timestamps, too.
    nulls: texts that are null in all columns, quoted or not.
    missing_is_null: a record may have any number of fields: those that it lacks are null, and surplus ones are left
        out. Otherwise every record must have as many fields as the header.
    n_rows: read no more rows.
    header: whether the first record contains the names of the columns. Otherwise they are named ``column_0``,
        ``column_1`` and so on, as Polars names them, and there are as many as the first record has fields.
    storage_options: for fsspec, which opens URLs.
    delimiter, dialect: as for ``cleave.open``; ``delimiter="auto"`` finds the delimiter.

    Raises what ``File.batches`` raises, here or when the frame is collected.
    """
    _arguments.only("cleave.polars.scan_csv", dialect, scan_csv.__kwdefaults__, cleave.open.__kwdefaults__)
    if isinstance(nulls, (str, bytes)):
        raise TypeError(f"nulls: a list of texts, and not {type(nulls).__name__}")
    if schema is not None and not isinstance(schema, Mapping):
        raise TypeError(f"schema: a dict or a polars.Schema, and not {type(schema).__name__}")
    scan = _Scan(
        paths=tuple(_sources.expand(source, storage_options or {}, "source")),
        types={name: _type_of(name, kind) for name, kind in (schema or {}).items()},
        examined=_arguments.number("infer_schema_length", infer_schema_length, True),
        has_dates=bool(try_parse_dates),
        nulls=tuple(_arguments.text("nulls", text) for text in nulls),
        missing_is_null=bool(missing_is_null),
        n_rows=_arguments.number("n_rows", n_rows, True),
        has_header=bool(header),
        dialect={"delimiter": delimiter, **dialect},
        storage_options=dict(storage_options or {}),
    )
    return polars.io.plugins.register_io_source(
        scan, schema=scan.schema, validate_schema=True, is_pure=True, explain_name="cleave"
    )


def _type_of(name: str, kind: Any) -> tuple[Any, pyarrow.DataType]:
    """The type in Polars and in Arrow."""
    empty = polars.Series([], dtype=kind)
    found = pyarrow.string() if empty.dtype == polars.String else empty.to_arrow().type
    return empty.dtype, _batches.type_of(name, found)


class _File:
    """A local file."""

    def __init__(self, file: cleave.File) -> None:
        self.names = file._native.names()
        self._file = file

    def batches(self, request: _batches.Request) -> Iterator[pyarrow.RecordBatch]:
        return _batches.batches(self._file, request)

    def ends_in_cr(self) -> bool:
        """Whether the last line ends in CR and the others in LF. Polars drops such a CR."""
        return self._file.dialect.terminator == "lf" and self._file._native.read(self._file.size - 1, 1) == b"\r"


class _Pieces:
    """An input behind a URL. Threads read its pieces, a few ahead of the one that is wanted."""

    def __init__(self, plan: ranges.Plan) -> None:
        self.names = plan.names
        self._pieces = plan.pieces

    def batches(self, request: _batches.Request) -> Iterator[pyarrow.RecordBatch]:
        threads = len(os.sched_getaffinity(0))
        request = replace(request, read_size=_batches.SHARED_READ_SIZE)
        read = _batches.ahead(lambda piece: [*piece.batches_of(request)], self._pieces, threads)
        return chain.from_iterable(read)

    def ends_in_cr(self) -> bool:
        piece = self._pieces[-1]
        with piece.source.open() as reader:
            return piece.format.options["terminator"] == "lf" and reader.read(reader.size - 1, 1) == b"\r"


@dataclass(frozen=True)
class _Scan:
    """What Polars calls for the rows. Can be pickled. It keeps the columns that it finds, so a frame has the same ones
    each time it is collected, or there is an error."""

    paths: tuple[str, ...]
    types: Mapping[str, tuple[Any, pyarrow.DataType]]
    examined: int | None
    has_dates: bool
    nulls: tuple[str, ...]
    missing_is_null: bool
    n_rows: int | None
    has_header: bool
    dialect: Mapping[str, Any]
    storage_options: Mapping[str, Any]
    plans: dict[str, ranges.Plan] = field(default_factory=dict)
    """Of the inputs behind URLs, as they are made."""

    def __call__(
        self, with_columns: list[str] | None, predicate: Any, n_rows: int | None, batch_size: int | None
    ) -> Iterator[polars.DataFrame]:
        left = min((n for n in (self.n_rows, n_rows) if n is not None), default=None)
        names = [*self.schema] if with_columns is None else with_columns
        yield polars.DataFrame(schema={name: self.schema[name] for name in names})
        if left == 0:
            return
        for batch in self._rows(names, self.columns, left, batch_size):
            frame = polars.DataFrame(polars.from_arrow(batch, rechunk=False))
            frame.columns = names  # Arrow's may be empty, and Polars then invents some
            yield frame if predicate is None else frame.filter(predicate)

    @property
    def schema(self) -> polars.Schema:
        return polars.Schema({name: column.kind for name, column in self.columns.items()})

    @cached_property
    def columns(self) -> dict[str, _Column]:
        """The columns by the names that Polars gives them."""
        found = {name: _Column(number, polars.String, pyarrow.string()) for number, name in enumerate(self._names)}
        for name, (kind, arrow) in self.types.items():
            found[name] = _Column(_arguments.number_of(name, self._names), kind, arrow)
        open_names = [name for name in found if name not in self.types]
        if open_names and self.examined != 0:
            rows = self._rows(open_names, found, self.examined, None)
            for name, (arrow, writing) in zip(open_names, _guess.types_of(rows, self.nulls, self.has_dates)):
                kind = polars.Series(polars.from_arrow(pyarrow.array([], arrow))).dtype
                found[name] = _Column(found[name].number, kind, arrow, writing)
        return found

    @cached_property
    def _names(self) -> list[str]:
        names = next((found.names for _, found in self._inputs() if found.names), [])
        if not names:
            raise InputError(f"{self.paths[0]}: there are no columns")
        if not self.has_header:
            return [f"column_{number}" for number in range(len(names))]
        before = [names[:number].count(name) for number, name in enumerate(names)]
        names = [f"{name}_duplicated_{count - 1}" if count > 0 else name for name, count in zip(names, before)]
        if len({*names}) != len(names):
            raise InputError(f"{self.paths[0]}: two columns have the same name")
        return names

    def _inputs(self) -> Iterator[tuple[str, _File | _Pieces]]:
        for path in self.paths:
            if _sources.is_local(path):
                yield path, _File(cleave.open(_sources.local_path(path), header=self.has_header, **self.dialect))
                continue
            if path not in self.plans:
                secret = {"storage_options": self.storage_options, "include_secrets": True}
                options = {**secret, "header": self.has_header, **self.dialect}
                self.plans[path] = ranges.plan(path, blocksize=ranges.PAGE_SIZE, **options)
            yield path, _Pieces(self.plans[path])

    def _rows(
        self, names: Sequence[str], columns: Mapping[str, _Column], most: int | None, batch_size: int | None
    ) -> Iterator[pyarrow.RecordBatch]:
        """The first rows of all inputs, or all of them."""
        wanted = {name: columns[name] for name in names}
        request = _batches.Request(
            columns=tuple(column.number for column in wanted.values()),
            schema=pyarrow.schema([(name, column.arrow) for name, column in wanted.items()]),
            nulls=self.nulls,
            missing_is_null=self.missing_is_null,
            batch_size=batch_size or _batches.MOST_ROWS,
            width=len(columns),
            keeps_empty=True,
            guessed={column.number: column.writing for column in wanted.values() if column.writing},
        )
        first = None
        for path, found in self._inputs():
            if not found.names:
                continue
            first = first or (path, found.names)
            if found.names != first[1] or len(found.names) != len(columns):
                raise InputError(f"{shown(path)}: the columns are not those of {shown(first[0])}")
            last = None
            for batch in _named(path, found.batches(replace(request, most_rows=most))):
                last = batch if most is None else batch.slice(0, most)
                yield last
                if most is not None:
                    most -= last.num_rows
                    if most == 0:
                        return
            if last is not None and _ends_in_cr(last, len(columns) - 1, request) and found.ends_in_cr():
                raise InputError(f"{shown(path)}: the last line ends in CR alone, as if cut off")


@dataclass(frozen=True)
class _Column:
    number: int
    kind: Any  # in Polars
    arrow: pyarrow.DataType
    writing: str = ""
    """If the type was found from the first values: the regular expression that all of them match."""


def _named(path: str, batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
    """The batches, or an error that names the file."""
    try:
        yield from batches
    except InputError as error:
        error.args = (f"{shown(path)}: {error}",)
        raise


def _ends_in_cr(batch: pyarrow.RecordBatch, number: int, request: _batches.Request) -> bool:
    """Whether the last value of a column of strings ends in CR."""
    if number not in request.columns:
        return False
    value = batch.column(request.columns.index(number))[-1].as_py()
    return isinstance(value, str) and value.endswith("\r")
