"""Columns of a file, and what pieces, columns and batches use of one."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Union

from . import _native
from ._native import KeyRing

if TYPE_CHECKING:
    import pyarrow

Key = Union[bytes, str, "os.PathLike[str]"]


class Source(Protocol):
    """What the modules that ``File`` imports use of one."""

    _threads: int
    _columns: weakref.WeakSet[Columns]

    @property
    def _native(self) -> _native.File: ...
    @property
    def size(self) -> int: ...
    @property
    def _view(self) -> Callable[[int, int], memoryview]: ...
    @property
    def _select(self) -> Callable[..., Columns]: ...
    @property
    def _batches(self) -> Callable[..., Iterator[pyarrow.RecordBatch]]: ...
    @property
    def _without_rejects(self) -> Callable[[str, bool, bool], Source]: ...
    @property
    def _write(self) -> Callable[..., list[str]]: ...


class Selection(NamedTuple):
    """What ``select`` passes to the extension module."""

    columns: list[int] | None
    rules: list[tuple[str, str]]
    keys: KeyRing | None
    is_text: bool
    empty_is_null: bool
    missing_is_null: bool
    page_size: int
    range: list[int] | None


class Limits(NamedTuple):
    """Where to cut, as ``split`` and ``write`` pass it to the extension module."""

    is_by_value: bool
    values: dict[str, Any]
    parts: list[str]

    def policy(self, header: str) -> _native.Policy:
        make = _native.Policy.by_value if self.is_by_value else _native.Policy.of
        return make(**self.values, header=header)


class Columns:
    """Columns of a file, for anything that accepts an Arrow stream, such as ``pyarrow.table`` or ``polars.DataFrame``.

    One row per record, and all columns are strings. An empty record is null in every column. A batch holds about
    ``page_size`` bytes of the file, and threads work only a few batches ahead of the consumer. Each use reads the file
    again; a pipe or a compressed file that has neither been copied nor has an index can be used only once.

    ``File.select`` and ``Piece.select`` make them. Once the file is closed, a use raises ``UsageError``; a stream that
    a consumer has already begun goes on.
    """

    def __init__(self, file: Source, selection: Selection) -> None:
        self._file = file
        self._selection = selection
        self._stream: _native.ColumnStream | None = file._native.select(*selection)
        self._names = self._stream.names
        file._columns.add(self)

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return list(self._names)

    def _take(self) -> _native.ColumnStream:
        native = self._file._native
        stream, self._stream = self._stream, None
        return stream if stream is not None else native.select(*self._selection)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """A capsule of the Arrow C stream interface. ``requested_schema`` is ignored, as the protocol allows."""
        return self._take().export()

    def __arrow_c_schema__(self) -> object:
        """A capsule of the schema."""
        if self._stream is None:
            self._stream = self._take()
        return self._stream.schema()

    def __repr__(self) -> str:
        return f"<cleave.Columns: {', '.join(self._names)}>"
