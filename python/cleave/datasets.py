"""Reads CSV that may have line breaks in quotes, as an iterable dataset of Hugging Face's library ``datasets``.

    dataset = cleave.datasets.load_csv("big-*.csv", schema={"price": float}, pieces=30)
    assert dataset.num_shards == 30

The rows are those of ``ranges.Piece.batches``. Each piece is a shard, so ``split_dataset_by_node``, the workers of a
DataLoader, ``shuffle`` and ``state_dict`` work within one file, too. Tables reach the library as Arrow, so with
``with_format("arrow")`` there is no conversion to rows.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import datasets
import datasets.builder
import pyarrow

from . import _batches, ranges
from ._errors import UsageError

if TYPE_CHECKING:
    from ._batches import Schema


def load_csv(
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | ranges.Plan,
    *,
    columns: Sequence[str | int] | None = None,
    schema: Schema | None = None,
    features: datasets.Features | None = None,
    nulls: Sequence[str] = (),
    missing_is_null: bool = False,
    page_size: int = ranges.PAGE_SIZE,
    **options: Any,
) -> datasets.IterableDataset:
    """A dataset with one shard for each piece. Reads the inputs once, to plan the pieces.

    paths: as for ``ranges.plan``, or its result.
    columns, schema, nulls, missing_is_null, page_size: as for ``ranges.Piece.batches``.
    features: columns and types, in place of ``columns`` and ``schema``: ``Value`` of a type that a schema may have, or
        anything that the library makes from a string, such as ``ClassLabel`` and ``Image``. The library converts each
        row of a dataset with features by itself, which takes much longer; so without this it has none, like one that
        ``load_dataset("csv", streaming=True)`` returns.
    options: as for ``ranges.plan``: ``pieces``, ``blocksize``, ``header``, ``storage_options``, the dialect.

    Raises what ``ranges.plan`` and ``ranges.Piece.batches`` raise, and UsageError if two columns have one name.
    """
    plan = ranges.planned(load_csv, paths, options)
    if features is not None:
        if columns is not None or schema is not None:
            raise UsageError("features: they are the columns and the schema")
        columns = list(features)
        schema = {name: "string" if _is_made(one) else _type_of(name, one) for name, one in features.items()}
    request = _batches.Request.of(plan.names, columns, schema, nulls, missing_is_null, None)
    if len({*request.schema.names}) != len(request.schema.names):
        raise UsageError("two columns have one name: select columns")
    if page_size < 1:
        raise UsageError("page_size: at least 1")
    builder = _Builder(config_id="cleave")  # which otherwise would be a hash of all arguments
    builder.use(plan, request, features, page_size)
    return builder.as_streaming_dataset(split="train")


class _Builder(datasets.ArrowBasedBuilder):
    """The library's way to make a dataset of tables."""

    def use(
        self, plan: ranges.Plan, request: _batches.Request, features: datasets.Features | None, page_size: int
    ) -> None:
        self._pieces = plan.pieces
        self._request = request
        self._page_size = page_size
        self.info.features = features

    def _info(self) -> datasets.DatasetInfo:
        return datasets.DatasetInfo()

    def _split_generators(self, dl_manager: object) -> list[datasets.SplitGenerator]:
        return [datasets.SplitGenerator("train", {"pieces": self._pieces})]  # the library divides this list

    def _generate_tables(self, pieces: list[ranges.Piece]) -> Iterator[tuple[Any, pyarrow.Table]]:
        for piece in pieces:
            for number, batch in enumerate(piece.batches_of(self._request, self._page_size)):
                table = pyarrow.Table.from_batches([batch])
                yield datasets.builder.Key(piece.number, number), _with_features(table, self.info.features)


def _is_made(feature: Any) -> bool:
    """Whether the library makes it from a string."""
    return hasattr(feature, "cast_storage")


def _type_of(name: str, feature: Any) -> pyarrow.DataType:
    return datasets.Features({name: feature}).arrow_schema.field(name).type


def _with_features(table: pyarrow.Table, features: datasets.Features | None) -> pyarrow.Table:
    for number, (name, feature) in enumerate((features or {}).items()):
        if _is_made(feature):
            strings = _batches.without_empty(table.column(number).combine_chunks())
            table = table.set_column(number, name, feature.cast_storage(strings))
    return table
