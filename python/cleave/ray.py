"""Reads CSV that may have line breaks in quotes, with Ray's workers: as many tasks read the files as there are pieces.

    import cleave.ray
    data = cleave.ray.read_csv("s3://bucket/big-*.csv", schema={"price": float, "day": "date32"})

The rows are those of ``ray.data.read_csv`` with ``newlines_in_values``: empty records have no row, and each record must
have as many fields as the header. But columns are strings unless the schema says otherwise, and a text is null only if
``nulls`` lists it, or if it is empty and its column is not one of strings. A value that is not of its type, bytes that
are not UTF-8, and an open quote at the end are errors that say where they are.

First, Ray tasks find where the pieces start; each reads a range of a file. Then each piece is read by a task, which
reads only the columns that Ray's optimiser asks for. A task can run again, anywhere, with the same result; if a file
has changed since the plan, it raises an error.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

import pyarrow
import ray
import ray.data
from ray.data.block import BlockMetadata
from ray.data.datasource import Datasource, ReadTask

from . import _arguments, ranges
from ._batches import Request
from ._errors import InputError
from ._pages import OPTIONS

if TYPE_CHECKING:
    from ._batches import Schema

PIECES_PER_CPU = 2
"""How many pieces there are for each core of the cluster, unless ``blocksize`` is given,"""
LEAST_BLOCK_SIZE = 4 << 20
"""if they are not smaller than this, in bytes."""

_BATCHES = 8
"""How many batches a table has."""
_NO_COLUMN = "__bsp_stub"  # Ray's name for a column that is there for the number of rows alone


def read_csv(
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    ray_options: Mapping[str, Any] | None = None,
    **options: Any,
) -> ray.data.Dataset:
    """A dataset with one block for each piece of the files. Ray keeps their order if ``preserve_order`` is set in the
    ``execution_options`` of its ``DataContext``.

    paths, options: as for ``CSVDatasource``.
    ray_options: for ``ray.data.read_datasource``, such as ``{"concurrency": 8}``.
    """
    known = read_csv.__kwdefaults__, CSVDatasource.__init__.__kwdefaults__
    _arguments.only("cleave.ray.read_csv", options, *known, OPTIONS)
    source = CSVDatasource(paths, **options)
    given = {"override_num_blocks": max(1, len(source.plan.pieces)), **(ray_options or {})}
    return ray.data.read_datasource(source, **given)


class CSVDatasource(Datasource):
    """Pieces of CSV files, for ``ray.data.read_datasource``. Creating it makes the plan: Ray tasks read the files once.

    paths: a path or URL, a list of them, a pattern with ``*``, ``?``, ``[...]`` or ``**``, or a folder, which stands for
        the files in it. All files must have the same columns. They must be at the same paths for all workers. A local
        gzip file is read if ``cleave index`` has made an index beside it.
    schema, nulls, missing_is_null: as for ``File.batches``.
    columns: the names of the columns to read, in this order; all of them by default.
    blocksize: roughly how many bytes a piece has. By default, each core has two pieces of at least 4 MiB and at most
        64 MiB.
    header: whether the first record contains the names of the columns. Otherwise they are named ``column_1`` and so
        on, and there are as many as the first record has fields.
    storage_options: for fsspec, which opens URLs.
    dialect, options: as for ``cleave.open``.
    """

    def __init__(
        self,
        paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
        *,
        schema: Schema | None = None,
        columns: Sequence[str] | None = None,
        nulls: Sequence[str] = (),
        missing_is_null: bool = False,
        blocksize: int | None = None,
        header: bool = True,
        storage_options: Mapping[str, Any] | None = None,
        dialect: str = "arrow",
        **options: Any,
    ) -> None:
        known = CSVDatasource.__init__.__kwdefaults__
        _arguments.only("cleave.ray.CSVDatasource", options, known, OPTIONS)
        super().__init__()
        self._projection_map: dict[str, str] | None = None  # set by Ray's apply_projection
        self.plan = ranges.plan(
            paths,
            blocksize=_block_size if blocksize is None else blocksize,
            header=header,
            map=_map_by_tasks,
            storage_options=storage_options,
            include_secrets=True,
            dialect=dialect,
            **options,
        )
        names = self.plan.names
        if len({*names}) != len(names):
            raise InputError(f"{self.plan.sources[0].name}: two columns have the same name")
        self._request = Request.of(names, columns, schema, nulls, missing_is_null, None)

    def get_name(self) -> str:
        """The name of the read tasks, before which Ray puts ``Read``."""
        return "CSV"

    def estimate_inmemory_data_size(self) -> int:
        """The size in memory: that of the files, or the part of it that the columns have, if all are equally wide."""
        return self.plan.size * max(1, len(self._columns())) // max(1, len(self.plan.names))

    def supports_projection_pushdown(self) -> bool:
        """Ray gives the columns that are needed to ``apply_projection``, which sets them in a copy."""
        return True

    def _columns(self) -> list[str]:
        """The names of the columns to read."""
        names: list[str] = self._request.schema.names
        return names if self._projection_map is None else [name for name in self._projection_map if name in names]

    def get_read_tasks(
        self, parallelism: int, per_task_row_limit: int | None = None, data_context: Any = None
    ) -> list[ReadTask]:
        """One task for each piece, whatever the parallelism. How many rows it has is not known, as empty records have
        none."""
        names = self._columns()
        numbers = [self._request.schema.get_field_index(name) for name in names]
        schema = pyarrow.schema([self._request.schema.field(number) for number in numbers])
        request = replace(
            self._request, columns=tuple(self._request.columns[number] for number in numbers), schema=schema
        )
        size = self.estimate_inmemory_data_size() // max(1, len(self.plan.pieces))
        return [
            ReadTask(
                partial(_read, piece, request),
                BlockMetadata(num_rows=None, size_bytes=size, input_files=[piece.path], exec_stats=None),
                schema=schema,
                per_task_row_limit=per_task_row_limit,
            )
            for piece in self.plan.pieces
        ]


def _block_size(size: int) -> int:
    if not ray.is_initialized():
        ray.init()  # as ray.data does when it needs a cluster
    cpus = int(ray.cluster_resources().get("CPU", 1))
    return min(max(size // (cpus * PIECES_PER_CPU), LEAST_BLOCK_SIZE), ranges.BLOCK_SIZE)


def _map_by_tasks(function: Callable[[ranges.Range], Any], parts: ranges.Ranges) -> list[Any]:
    """Applies the function to each range in a Ray task of its own."""
    task = ray.remote(function)
    return ray.get([task.remote(part) for part in parts])  # type: ignore[no-any-return]


def _read(piece: ranges.Piece, request: Request) -> Iterator[pyarrow.Table]:
    """The records of a piece, in tables of some MiB."""
    try:
        batches = piece.batches_of(request)
        while some := [*islice(batches, _BATCHES)]:
            table = pyarrow.Table.from_batches(some)
            yield table if request.columns else pyarrow.table({_NO_COLUMN: pyarrow.nulls(table.num_rows)})
    except InputError as error:
        error.args = (f"{piece.source.name}: {error}",)
        raise
