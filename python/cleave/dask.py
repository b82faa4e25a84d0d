"""Reads CSV that may have line breaks in quotes, with Dask's workers.

    import cleave.dask
    frame = cleave.dask.read_csv("s3://bucket/big-*.csv", dtype={"id": "int64", "price": "float64"})

The rows are the same as from ``pandas.read_csv(path, dtype=dtype, keep_default_na=False, na_values=[""],
index_col=False)``, with strings where no type is given: empty lines and lines of blanks are dropped, and empty fields
and fields that a short record lacks are missing values. The following raise an error: a text that is not a value of its
type, a missing value in a column of a type without one (``int64`` and ``bool``: ``Int64`` and ``boolean`` have one), a
record that is too long, a column without a name or with the same name as another column, a line of blanks in place of
the header, bytes that are not UTF-8 in a column that is read, and an open quote at the end. Where lines end in CR, pandas
loses a row that begins with a comma after an empty line; this reader does not. Floats are the nearest to their texts, as
with ``float_precision="round_trip"``.

Only the columns that a query needs are read: ``frame.price.sum()`` reads one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import dask
import dask.dataframe
import dask.utils
import pandas
import pyarrow
import pyarrow.compute

from . import _arguments, _batches, ranges
from ._errors import InputError, UsageError

_WHOLE = 1 << 62
"""A block size that no file has."""


def read_csv(
    urlpath: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    blocksize: int | str | None = "64MiB",
    columns: Sequence[str] | None = None,
    dtype: Any = None,
    na_values: Sequence[str] = (),
    include_path_column: bool | str = False,
    dialect: str = "pandas",
    delimiter: str | None = None,
    header: bool = True,
    storage_options: Mapping[str, Any] | None = None,
    page_size: int = ranges.PAGE_SIZE,
    **unknown: Any,
) -> dask.dataframe.DataFrame:
    """A frame with one partition for roughly every ``blocksize`` bytes.

    The workers read the files twice: once in this call, with one task for every ``blocksize`` bytes, to find where the
    partitions start, and again when the frame is computed. If a file has changed in between, this raises an error.

    urlpath: a path, a folder, a pattern with ``*``, ``?``, ``[...]`` or ``**``, or a list of them, local or for fsspec. A
        pattern that matches no file can also be the literal name of a file. All files must have the same columns. A
        local gzip file is read if ``cleave index`` has made an index beside it.
    blocksize: in bytes, decompressed, or text such as ``"64MiB"``; with None, each file is one partition.
    columns: the names of the columns to read, in this order; all of them by default.
    dtype: the type of all columns, or a dict of types by name. Whole numbers and floats (``"int64"``, ``"float32"``),
        ``"bool"``, the types of pandas that have missing values (``"Int64"``, ``"Float64"``, ``"boolean"``), strings, and
        Arrow's types: ``pandas.ArrowDtype(pyarrow.decimal128(10, 2))``, ``"date32[pyarrow]"``. With ``"datetime64[us]"``
        and its like, texts are ``2024-12-31``, ``2024-12-31 23:59`` or ``2024-12-31T23:59:59.999999``. Booleans are
        ``true``, ``True``, ``TRUE`` and likewise ``false``. Columns without a type are strings.
    na_values: texts that are missing values, in addition to the empty one.
    include_path_column: whether to add a column of strings, ``path`` or the name given, with the path of the file.
    dialect, delimiter: as for ``cleave.open``.
    header: whether the first record contains the names of the columns. Otherwise they are named ``column_1`` and so
        on, and there are as many as the first record has fields.
    page_size: roughly how many bytes of a file a task reads at a time; at least 1.
    """
    _arguments.only("cleave.dask.read_csv", unknown, read_csv.__kwdefaults__)
    if page_size < 1:
        raise UsageError("page_size: at least 1")
    plan = ranges.plan(
        urlpath,
        blocksize=_WHOLE if blocksize is None else int(dask.utils.parse_bytes(blocksize)),
        header=header,
        map=_map_by_tasks,
        storage_options=storage_options,
        include_secrets=True,
        dialect=dialect,
        delimiter=delimiter,
    )
    _check(plan)
    names = plan.names if columns is None else list(columns)
    dtypes = _dtypes(plan.names, names, dtype)
    path_column = include_path_column if isinstance(include_path_column, str) else "path" if include_path_column else None
    if path_column is not None:
        if path_column in dtypes:
            raise UsageError(f"include_path_column: there is a column {path_column!r}; give another name")
        dtypes[path_column] = _STRING
    reader = _Reader(dtypes, path_column, tuple(_batches.Request.of([], None, None, na_values, True, None).nulls))
    return dask.dataframe.from_map(
        _read, plan.pieces, reader=reader, page_size=page_size, meta=reader.frame([*dtypes], []), label="cleave-read-csv"
    )


_STRING = pandas.StringDtype("pyarrow")
"""The type to which Dask converts strings if dataframe.convert-string is set."""


def _map_by_tasks(function: Callable[[ranges.Range], Any], parts: ranges.Ranges) -> Sequence[Any]:
    """Applies the function to each range in a Dask task of its own."""
    return dask.compute(*[dask.delayed(function, pure=False)(part) for part in parts])  # type: ignore[no-any-return]


def _read(piece: ranges.Piece, columns: list[str], reader: _Reader, page_size: int) -> pandas.DataFrame:
    """The rows of a piece. Dask passes the columns that a query needs."""
    wanted = [name for name in columns if name != reader.path_column]
    schema = {name: _arrow_type(reader.dtypes[name]) for name in wanted}
    request = _batches.Request.of(piece.names, wanted, schema, ("", *reader.na_values), True, None)
    request = replace(request, convert=reader.convert, read_size=_batches.SHARED_READ_SIZE)
    return reader.frame(columns, _batches_of_piece(piece, request, page_size), piece.path)


def _batches_of_piece(piece: ranges.Piece, request: _batches.Request, page_size: int) -> list[pyarrow.RecordBatch]:
    """The rows of a piece. Nearly all pieces only have records with as many fields as the header, and are read in one
    go. If that finds a fault, the piece is read again in pages, where it is known whether pandas minds it."""
    if request.width > 1:
        try:
            return list(piece.batches_of(replace(request, missing_is_null=False), page_size))
        except InputError:
            pass
    return [batch for page in piece.pages(page_size) for batch in _batches_of(page, request)]


@dataclass(frozen=True)
class _Reader:
    dtypes: dict[str, Any]
    """By the name of the column: of pandas."""
    path_column: str | None
    na_values: tuple[str, ...]

    def convert(
        self, field: pyarrow.Field, strings: pyarrow.StringArray, nulls: tuple[str, ...]
    ) -> pyarrow.Array:
        """Converts texts as pandas does, or raises Unfit."""
        values = _batches.converted(field, strings, nulls)
        if values.null_count > 0 and getattr(self.dtypes[field.name], "kind", "O") in "iub" and not _is_nullable(
            self.dtypes[field.name]
        ):
            message = f"the value of column {field.name!r} is missing, which {self.dtypes[field.name]} cannot be"
            raise _batches.Unfit(values.is_null().index(True).as_py(), message)
        if pyarrow.types.is_boolean(field.type):
            _need(pyarrow.compute.match_substring_regex(strings, "^(true|True|TRUE|false|False|FALSE)$"), values, field)
        elif pyarrow.types.is_floating(field.type):
            is_nan = pyarrow.compute.is_nan(values)
            _need(pyarrow.compute.invert(is_nan), values, field)
        return values

    def frame(
        self, columns: Sequence[str], batches: Sequence[pyarrow.RecordBatch], path: str | None = None
    ) -> pandas.DataFrame:
        count = sum(batch.num_rows for batch in batches)
        series: dict[str, Any] = {}
        for name in columns:
            dtype = self.dtypes[name]
            if name == self.path_column:
                values = pyarrow.chunked_array([pyarrow.repeat(pyarrow.scalar(path, pyarrow.string()), count)])
            else:
                number = len(series) - (self.path_column in series)
                values = pyarrow.chunked_array([batch.column(number) for batch in batches], _arrow_type(dtype))
            series[name] = dtype.__from_arrow__(values) if _is_nullable(dtype) else values.to_numpy()
        return pandas.DataFrame(series, index=pandas.RangeIndex(count), columns=[*columns])


def _need(flags: pyarrow.BooleanArray, values: pyarrow.Array, field: pyarrow.Field) -> None:
    """Raises Unfit for the first value that is not missing and whose flag is false."""
    unfit = pyarrow.compute.and_(pyarrow.compute.invert(flags), values.is_valid())
    if unfit.true_count > 0:
        raise _batches.Unfit(unfit.index(True).as_py(), _batches.message_of(field))


def _dtypes(names: Sequence[str], wanted: Sequence[str], dtype: Any) -> dict[str, Any]:
    """The type of each wanted column, of pandas. Raises UsageError."""
    given = dtype if isinstance(dtype, Mapping) else {} if dtype is None else dict.fromkeys(names, dtype)
    for name in (*wanted, *given):
        _arguments.number_of(name, names)
    if len({*wanted}) != len(wanted):
        raise UsageError("columns: the same column twice")
    dtypes = {name: pandas.api.types.pandas_dtype(given[name]) if name in given else _STRING for name in wanted}
    for name, kind in dtypes.items():
        try:
            _batches.type_of(name, _arrow_type(kind))
        except (pyarrow.ArrowException, TypeError, NotImplementedError):
            raise UsageError(f"dtype[{name!r}]: {kind} is not a type that text is converted to") from None
    return dtypes


def _is_nullable(dtype: Any) -> bool:
    """Whether it is a type of pandas or Arrow, which has missing values, and not one of numpy."""
    return hasattr(dtype, "__from_arrow__")


def _arrow_type(dtype: Any) -> pyarrow.DataType:
    if isinstance(dtype, pandas.ArrowDtype):
        return dtype.pyarrow_dtype
    if isinstance(dtype, pandas.StringDtype):
        return pyarrow.string()
    if isinstance(dtype, pandas.DatetimeTZDtype):
        return pyarrow.timestamp(dtype.unit, str(dtype.tz))
    return pyarrow.from_numpy_dtype(getattr(dtype, "numpy_dtype", dtype))


def _check(plan: ranges.Plan) -> None:
    """Raises InputError for columns that pandas does not read, or reads under other names."""
    first = plan.sources[0].name
    used = {piece.path for piece in plan.pieces}
    for source in plan.sources:
        if source.path not in used:
            raise InputError(f"{source.name}: there are no columns")
    if len(plan.names) == 1 and not plan.names[0].strip(" \t"):
        raise InputError(f"{first}: the header is a line of blanks")
    if len({*plan.names, ""}) != len(plan.names) + 1:
        raise InputError(f"{first}: a column has no name, or the name of another one")


def _batches_of(page: ranges.Page, request: _batches.Request) -> list[pyarrow.RecordBatch]:
    """The rows of a page. Raises InputError where pandas would raise an error."""
    found = page.open().check(max_ragged=len(page.data))
    for record in found.ragged:
        if record.fields > found.fields:
            raise page.error(f"a record has {record.fields} fields, and the header has {found.fields}", record.byte)
    data = _without_blanks(page, found)
    if data is None:
        return list(page.batches(request))
    try:
        return list(replace(page, data=memoryview(data)).batches(request))
    except InputError as error:  # the number of the record is another one
        raise InputError(re.sub(r" \(byte [^()]*\)$", "", str(error)), error.byte) from None


def _without_blanks(page: ranges.Page, found: Any) -> bytearray | None:
    """The page with empty records in place of those of blanks; None if it has none. All other bytes stay in place."""
    blanks = b" \t".replace(page.format.options["delimiter"], b"")
    if found.fields > 1:  # then such a record has too few fields
        spans = [_blanks_before(page, record.byte, blanks) for record in found.ragged if record.fields == 1]
    else:
        records = page.data[page.header_size - 1 :]
        lines = list(re.finditer(rb"(?<=[\r\n])[" + blanks + rb"]+(?=[\r\n]|\Z)", records))
        quote = page.format.options["quote"]
        if lines and quote and quote in bytes(records):
            raise page.error("a line of blanks: whether it is inside quotes is not known here, and outside it is dropped")
        spans = [(page.header_size - 1 + line.start(), page.header_size - 1 + line.end()) for line in lines]
    spans = [(start, end) for start, end in spans if start < end]
    if not spans:
        return None
    data = bytearray(page.data)
    for start, end in spans:
        data[start:end] = data[start - 1 : start] * (end - start)
    return data


def _blanks_before(page: ranges.Page, end: int, blanks: bytes) -> tuple[int, int]:
    """Where the record that ends there is, if it is a line of blanks; otherwise an empty range. The line break before
    the blanks cannot be inside quotes, because none end after it."""
    start = end
    while start > page.header_size and page.data[start - 1] in blanks:
        start -= 1
    terminator = {"lf": b"\n", "cr": b"\r"}.get(page.format.options["terminator"], b"\r\n")
    return (start, end) if page.data[start - 1] in terminator else (end, end)
