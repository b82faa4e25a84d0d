"""Reads CSV that may have line breaks in quotes, as a PyTorch dataset.

    dataset = cleave.torch.CSVDataset("big-*.csv", schema={"price": float}, pieces=256, shuffle_seed=1)
    loader = torch.utils.data.DataLoader(dataset, batch_size=512, num_workers=8)

The rows are those of ``ranges.Piece.batches``. Each rank reads its share of the pieces, and each worker of a DataLoader
its share of those: every row is delivered exactly once in an epoch, by one worker of one rank. Without ``shuffle_seed``
and with at most one worker and one rank, the rows are in the order of the inputs.

A state (``state_dict``) is a piece and the number of its rows that have been delivered. Resuming reads that piece from
its start again and leaves those rows out.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow
import torch
import torch.distributed
import torch.utils.data

from . import _arguments, _batches, ranges
from ._errors import UsageError

if TYPE_CHECKING:
    from ._batches import Schema


class CSVDataset(torch.utils.data.IterableDataset):
    """The rows of CSV inputs, as dicts from the name of a column to a Python value, or as Arrow record batches.

    Can be pickled. For use by one thread; its state is that of the iteration that began last.
    """

    def __init__(
        self,
        paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | ranges.Plan,
        *,
        columns: Sequence[str | int] | None = None,
        schema: Schema | None = None,
        nulls: Sequence[str] = (),
        missing_is_null: bool = False,
        batch_size: int | None = None,
        shuffle_seed: int | None = None,
        rank: int | None = None,
        world_size: int | None = None,
        page_size: int = ranges.PAGE_SIZE,
        **options: Any,
    ) -> None:
        """Plans the pieces, for which it reads the inputs once. Several ranks can share one plan instead.

        paths: as for ``ranges.plan``, or its result.
        columns, schema, nulls, missing_is_null, page_size: as for ``ranges.Piece.batches``.
        batch_size: yields ``pyarrow.RecordBatch`` of at most that many rows, and not rows. A DataLoader passes them on
            with ``batch_size=None``.
        shuffle_seed: in each epoch, the pieces come in an order that depends on this and on the epoch, and the ranks and
            workers have other ones of them. Rows of one piece stay together, so many small pieces are shuffled better.
        rank, world_size: whose share this is: from 0, and of how many. If not given, they are those of
            ``torch.distributed`` if that is initialised when the dataset is iterated or sent to a worker, and else 0 and
            1.
        options: as for ``ranges.plan``: ``pieces``, ``blocksize``, ``header``, ``storage_options``, the dialect.

        Raises what ``ranges.plan`` and ``ranges.Piece.batches`` raise, and UsageError if two columns of rows have one
        name.
        """
        super().__init__()
        self.plan = ranges.planned(CSVDataset.__init__, paths, options)
        self._request = _batches.Request.of(self.plan.names, columns, schema, nulls, missing_is_null, batch_size)
        self._yields_rows = batch_size is None
        names = self._request.schema.names
        if self._yields_rows and len({*names}) != len(names):
            raise UsageError("two columns have one name: select columns, or give a batch_size for record batches")
        if page_size < 1:
            raise UsageError("page_size: at least 1")
        self._page_size = page_size
        self._seed = None if shuffle_seed is None else _arguments.number("shuffle_seed", shuffle_seed)
        self._is_share_given = rank is not None or world_size is not None
        self._rank, self._world_size = _share(rank, world_size)
        # Workers that persist see the epoch of this process.
        self._epoch = torch.zeros((), dtype=torch.int64).share_memory_()
        self._piece = 0  # in the list of pieces of this worker
        self._row = 0
        self._resumed: tuple[int, int, int] | None = None  # an epoch, a piece and a row, for the next iteration

    @property
    def epoch(self) -> int:
        """Set by ``set_epoch``; 0 at first."""
        return int(self._epoch)

    def set_epoch(self, epoch: int) -> None:
        """Sets the epoch of iterations that begin from now on, also in the workers of a DataLoader."""
        self._epoch.fill_(_arguments.number("epoch", epoch))

    def __iter__(self) -> Iterator[Any]:
        resumed, self._resumed = self._resumed, None
        is_resumed = resumed is not None and resumed[0] == self.epoch
        self._piece, self._row = resumed[1:] if resumed is not None and is_resumed else (0, 0)
        return self._read(self._pieces()[self._piece :], self._row)

    def _read(self, pieces: list[ranges.Piece], delivered: int) -> Iterator[Any]:
        for piece in pieces:
            for batch in piece.batches_of(self._request, self._page_size):
                rest = batch.slice(delivered)
                delivered -= batch.num_rows - rest.num_rows
                if rest.num_rows > 0 and not self._yields_rows:
                    self._row += rest.num_rows
                    yield rest
                elif rest.num_rows > 0:
                    for row in _rows(rest):
                        self._row += 1
                        yield row
            if delivered > 0:
                raise UsageError("the state is of another dataset: a piece has fewer rows")
            self._piece, self._row = self._piece + 1, 0

    def _pieces(self) -> list[ranges.Piece]:
        """Those of this worker in this epoch."""
        pieces = list(self.plan.pieces)
        rank, world_size, worker, workers = self._place()
        if 0 < len(pieces) < world_size:
            raise UsageError(f"{len(pieces)} pieces for {world_size} ranks: more are possible with pieces= or blocksize=")
        if self._seed is not None:
            random.Random(f"{self._seed} {self.epoch}").shuffle(pieces)
        return pieces[rank::world_size][worker::workers]

    def _place(self) -> tuple[int, int, int, int]:
        """The rank and how many there are, the worker and how many there are."""
        if not self._is_share_given and torch.distributed.is_available() and torch.distributed.is_initialized():
            self._rank, self._world_size = torch.distributed.get_rank(), torch.distributed.get_world_size()
        info = torch.utils.data.get_worker_info()
        return self._rank, self._world_size, *((0, 1) if info is None else (info.id, info.num_workers))

    def __getstate__(self) -> dict[str, Any]:
        self._place()  # torch.distributed is not initialised in workers
        return self.__dict__

    def state_dict(self) -> dict[str, Any]:
        """Where the iteration is: plain numbers and texts. torchdata's StatefulDataLoader calls this in its workers;
        with another DataLoader that has workers, the state in this process does not move."""
        epoch, piece, row = self._resumed or (self.epoch, self._piece, self._row)
        return {"dataset": self._identity, "place": self._place_text(), "epoch": epoch, "piece": piece, "row": row}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """The next iteration yields what remained when the state was taken; those after it start at the beginning.

        The inputs may be elsewhere or have other times, but their sizes and the plan must be the same, and so must the
        dialect, the seed, the rank, the worker and their numbers. Raises UsageError if they are not.
        """
        for key, present in (("dataset", self._identity), ("place", self._place_text())):
            if state[key] != present:
                raise UsageError(f"the state is of another {key}: {state[key]}, and this is {present}")
        self.set_epoch(state["epoch"])
        self._resumed = state["epoch"], state["piece"], state["row"]

    def _place_text(self) -> str:
        return "rank {} of {}, worker {} of {}".format(*self._place())

    @cached_property
    def _identity(self) -> str:
        """Equal for plans whose pieces are at the same bytes, in the same order."""
        about = json.loads(self.plan.text())
        for one in about["inputs"]:
            del one["source"]["path"], one["source"]["version"]
        return hashlib.sha256(json.dumps([about, self._seed]).encode()).hexdigest()


def _share(rank: int | None, world_size: int | None) -> tuple[int, int]:
    if rank is None and world_size is None:
        return 0, 1
    if rank is None or world_size is None:
        raise UsageError("rank and world_size belong together")
    if not 0 <= _arguments.number("rank", rank) < _arguments.number("world_size", world_size):
        raise UsageError("rank: from 0 to world_size - 1")
    return rank, world_size


def _rows(batch: pyarrow.RecordBatch) -> list[dict[str, Any]]:
    """What ``batch.to_pylist()`` returns, in less time."""
    names = batch.schema.names
    if not names:
        return [{} for _ in range(batch.num_rows)]
    return [dict(zip(names, values)) for values in zip(*map(_values, batch.columns))]


def _values(column: pyarrow.Array) -> list[Any]:
    """What ``column.to_pylist()`` returns. NumPy makes dates and times fifty times as fast as Arrow."""
    kind = column.type
    is_time = pyarrow.types.is_timestamp(kind) and kind.tz is None and kind.unit != "ns"
    if pyarrow.types.is_date32(kind) or is_time:
        values: list[Any] = column.to_numpy(zero_copy_only=False).tolist()
        if int not in {*map(type, values)}:  # the year 0, which Python does not have
            return values
    return column.to_pylist()  # type: ignore[no-any-return]
