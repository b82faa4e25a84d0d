"""Reads CSV that may have line breaks in quotes, with Dask's workers.

    import cleave.dask
    frame = cleave.dask.read_csv("s3://bucket/big-*.csv", blocksize="64MiB")

The rows are the same as from ``pandas.read_csv(path, dtype=str, keep_default_na=False, na_values=[""],
index_col=False)``: all columns are strings, empty lines and lines of blanks are dropped, and empty fields and fields
that a short record lacks are missing values. The following raise an error: a record that is too long, a column without
a name or with the same name as another column, a line of blanks in place of the header, bytes that are not UTF-8, and
an open quote at the end. Where lines end in CR, pandas loses a row that begins with a comma after an empty line; this
reader does not.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import dask
import dask.dataframe
import dask.utils
import pandas
import pyarrow

from . import ranges
from ._arrow import table_of
from ._errors import InputError, UsageError


def read_csv(
    urlpath: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    blocksize: int | str = "64MiB",
    dialect: str = "pandas",
    delimiter: str | None = None,
    header: bool = True,
    storage_options: Mapping[str, Any] | None = None,
    page_size: int = ranges.PAGE_SIZE,
) -> dask.dataframe.DataFrame:
    """A frame with one partition for roughly every ``blocksize`` bytes.

    The workers read the files twice: once in this call, with one task for every ``blocksize`` bytes, to find where the
    partitions start, and again when the frame is computed. If a file has changed in between, this raises an error.

    urlpath: a path, a pattern with ``*``, ``?`` or ``[...]``, or a list of them, local or for fsspec. A pattern that
        matches no file can also be the literal name of a file. All files must have the same columns. A local gzip file
        is read if ``cleave index`` has made an index beside it.
    blocksize: in bytes, decompressed, or text such as ``"64MiB"``.
    dialect, delimiter: as for ``cleave.open``.
    header: whether the first record contains the names of the columns. Otherwise they are named ``_c0``, ``_c1`` and so
        on, and there are as many as the first record has fields.
    page_size: roughly how many bytes of a file a task reads at a time; at least 1.
    """
    if page_size < 1:
        raise UsageError("page_size: at least 1")
    plan = ranges.plan(
        urlpath,
        blocksize=int(dask.utils.parse_bytes(blocksize)),
        header=header,
        map=_map_by_tasks,
        storage_options=storage_options,
        dialect=dialect,
        delimiter=delimiter,
    )
    first = plan.sources[0].path
    used = {piece.path for piece in plan.pieces}
    for source in plan.sources:
        if source.path not in used:
            raise InputError(f"{source.path}: there are no columns")
    if len(plan.names) == 1 and not plan.names[0].strip(" \t"):
        raise InputError(f"{first}: the header is a line of blanks")
    if len({*plan.names, ""}) != len(plan.names) + 1:
        raise InputError(f"{first}: a column has no name, or the name of another one")
    empty = pyarrow.table({name: pyarrow.array([], pyarrow.string()) for name in plan.names})
    return dask.dataframe.from_map(_read, plan.pieces, page_size=page_size, meta=_frame(empty), label="cleave-read-csv")


def _map_by_tasks(function: Callable[[ranges.Range], Any], parts: ranges.Ranges) -> Sequence[Any]:
    """Applies the function to each range in a Dask task of its own."""
    return dask.compute(*[dask.delayed(function, pure=False)(part) for part in parts])  # type: ignore[no-any-return]


def _read(piece: ranges.Piece, page_size: int) -> pandas.DataFrame:
    tables = [_as_pandas_reads(page) for page in piece.pages(page_size)]
    if tables:
        return _frame(pyarrow.concat_tables(tables))
    names = piece.format.open(piece.header).header or []
    return _frame(pyarrow.table({name: pyarrow.array([], pyarrow.string()) for name in names}))


def _frame(table: pyarrow.Table) -> pandas.DataFrame:
    # The type to which Dask converts strings if dataframe.convert-string is set.
    return table.to_pandas(types_mapper=lambda type: pandas.StringDtype("pyarrow"))


def _as_pandas_reads(page: ranges.Page) -> pyarrow.Table:
    """The rows of a page. Raises InputError where pandas would raise an error."""
    found = page.open().check(max_ragged=len(page.data))
    for record in found.ragged:
        if record.fields > found.fields:
            raise page.error(f"a record has {record.fields} fields, and the header has {found.fields}", record.byte)
    delimiter = page.format.options["delimiter"].decode("latin-1")
    return table_of(page, blanks=" \t".replace(delimiter, ""))
