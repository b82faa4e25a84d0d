"""Pieces of a file: ranges of it, or the records with one value, wherever they are in the file."""

from __future__ import annotations

import io
import operator
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from . import _arguments, _native
from ._errors import UsageError

if TYPE_CHECKING:
    import pyarrow

    from ._batches import Schema
    from ._columns import Columns, Key, Limits, Source

_PAGE_SIZE = 1 << 20

_Piece = TypeVar("_Piece", bound="_AnyPiece")
_Native = TypeVar("_Native", bound=_native.Pieces)


class _AnyPiece:
    """What both kinds of pieces have in common."""

    __slots__ = ("_first_record", "_header_size", "_length", "_number", "_records", "_start")

    def __init__(self, pieces: _AnyPieces[Any, Any], index: int) -> None:
        self._header_size = pieces.header_size
        self._number = index + 1
        self._start = int(pieces.starts[index])
        self._length = int(pieces.lengths[index])
        self._first_record = int(pieces.first_records[index])
        self._records = int(pieces.records[index])

    @property
    def number(self) -> int:
        """The number of the piece, from 1."""
        return self._number

    @property
    def start(self) -> int:
        """The offset of the first byte in the file."""
        return self._start

    @property
    def length(self) -> int:
        """The size of the piece in bytes."""
        return self._length

    @property
    def first_record(self) -> int:
        """The number of the first record, from 1 after the header."""
        return self._first_record

    @property
    def records(self) -> int:
        """The number of records in the piece."""
        return self._records

    def __len__(self) -> int:
        return self._length

    def __bool__(self) -> bool:
        return True


class Piece(_AnyPiece):
    """One of the pieces of a file: whole records, without the header.

    It can be pickled if its file can; a process that loads it opens the file. ``len`` is ``length``; a Piece is always
    true, even without any bytes.
    """

    __slots__ = ("_file",)

    def __init__(self, pieces: Pieces, index: int) -> None:
        super().__init__(pieces, index)
        self._file = pieces._file

    @property
    def bytes(self) -> memoryview:
        """The bytes, ``length`` of them.

        For an object in memory this is a view, without a copy, that keeps the object alive. For a file it is a copy,
        read at this moment; if the file has changed, this raises ``InputChangedError``.
        """
        return self._file._view(self._start, self._length)

    def with_header(self) -> io.BytesIO:
        """A file object of the header and the bytes, for readers of CSV such as pandas and Polars. One copy."""
        # A BytesIO shares the bytes that it is created from.
        return io.BytesIO(self._file._native.read(self._start, self._length, self._header_size))

    def select(
        self,
        *columns: str | int | Sequence[str | int],
        redact: Mapping[str, str] | None = None,
        keys: Mapping[str, Key] | None = None,
        empty_is_null: bool = False,
        missing_is_null: bool = False,
        binary: bool = False,
        page_size: int = _PAGE_SIZE,
    ) -> Columns:
        """Like ``File.select``, for the records of this piece."""
        span = [self._start, self._length, self._first_record - 1]
        return self._file._select(columns, redact, keys, empty_is_null, missing_is_null, binary, page_size, span)

    def batches(
        self,
        columns: Sequence[str | int] | None = None,
        schema: Schema | None = None,
        nulls: Sequence[str] = (),
        batch_size: int | None = None,
        *,
        missing_is_null: bool = False,
    ) -> Iterator[pyarrow.RecordBatch]:
        """Like ``File.batches``, for the records of this piece."""
        span = [self._start, self._length, self._first_record - 1]
        return self._file._batches(columns, schema, nulls, batch_size, missing_is_null, span)

    def __repr__(self) -> str:
        end = self._start + self._length
        return f"<cleave.Piece {self._number}: {self._records} records, bytes {self._start} to {end}>"


class ValuePiece(_AnyPiece):
    """The records with one value or, with ``buckets`` or ``parts``, with some of the values, in the order of the file,
    without the header."""

    __slots__ = ("_pieces",)

    def __init__(self, pieces: ValuePieces, index: int) -> None:
        super().__init__(pieces, index)
        self._pieces = pieces

    @property
    def key(self) -> tuple[str, ...]:
        """The values of the records, one for each column of ``by``; empty with ``buckets`` and ``parts``.

        Bytes that are not UTF-8 become surrogates, as with ``os.fsdecode``, so different values stay different.
        """
        values = self._pieces._native.key(self._number - 1)
        return tuple(value.decode("utf-8", "surrogateescape") for value in values or ())

    @property
    def part(self) -> str | None:
        """The name of the part; ``None`` without ``parts``."""
        names = self._pieces._parts
        return names[self._number - 1] if names else None

    @property
    def ranges(self) -> memoryview:
        """Where the records are in the file: ``uint64`` of shape (ranges, 2), an offset and a size in each row.

        ``numpy.asarray`` takes it without a copy. Adjacent records may share a range.
        """
        return self._pieces._native.ranges(self._number - 1)

    @property
    def bytes(self) -> memoryview:
        """The records, one after the other: ``length`` bytes, copied at this moment.

        If the file has changed, this raises ``InputChangedError``.
        """
        return memoryview(self._pieces._file._native.gather(self._pieces._native, self._number - 1))

    def with_header(self) -> io.BytesIO:
        """A file object of the header and the bytes, for readers of CSV such as pandas and Polars. One copy."""
        native = self._pieces._file._native
        return io.BytesIO(native.gather(self._pieces._native, self._number - 1, self._header_size))

    def __reduce__(self) -> tuple[object, ...]:
        raise UsageError(_NO_PICKLE)

    def __repr__(self) -> str:
        return f"<cleave.ValuePiece {self._number}: {self._records} records>"


_NO_PICKLE = "pieces by value cannot be pickled, as their ranges may be many; pickle the File, and split it again"


class _AnyPieces(Sequence[_Piece], Generic[_Piece, _Native]):
    def __init__(self, file: Source, native: _Native, limits: Limits) -> None:
        self._file = file
        self._native = native
        self._limits = limits
        self._starts = native.starts

    def _piece(self, index: int) -> _Piece:
        raise NotImplementedError

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self._file, self._native, self._limits)  # without views of the memory

    @property
    def starts(self) -> memoryview:
        """The offset of each piece's first byte in the file: one ``uint64`` per piece.

        ``numpy.asarray`` takes it without a copy.
        """
        return self._starts

    @property
    def lengths(self) -> memoryview:
        """The size of each piece in bytes: one ``uint64`` per piece."""
        return self._native.lengths

    @property
    def first_records(self) -> memoryview:
        """The number of each piece's first record, from 1 after the header: one ``uint64`` per piece."""
        return self._native.first_records

    @property
    def records(self) -> memoryview:
        """The number of records in each piece: one ``uint64`` per piece."""
        return self._native.records

    @property
    def total_records(self) -> int:
        """The number of records in all pieces together, which is ``File.records``."""
        return sum(self.records)

    @property
    def header_size(self) -> int:
        """The size of the header in bytes, including what comes before it; 0 without a header."""
        return self._native.header_size

    @property
    def header(self) -> bytes:
        """The header, including what comes before it: ``header_size`` bytes of the file, read at this moment."""
        return bytes(self._file._view(0, self.header_size))

    def __len__(self) -> int:
        return len(self._starts)

    def write(
        self,
        folder: str | os.PathLike[str],
        *,
        name: str | None = None,
        compress: str | None = None,
        manifest: str | os.PathLike[str] | None = None,
        replace: bool = False,
        progress: Callable[[int, int | None], object] | None = None,
    ) -> list[str]:
        """Writes these pieces to files, each with the header, and returns their paths in order.

        Like ``File.write``, which has more options. The records are not searched for again, except by a process that
        received the pieces from another one. Raises ``InputChangedError`` if the file has changed.
        """
        return self._file._write(
            folder, self._limits, "repeat", None, [], None, name, compress, manifest, replace, progress
        )

    @overload
    def __getitem__(self, index: int) -> _Piece: ...
    @overload
    def __getitem__(self, index: slice) -> list[_Piece]: ...
    def __getitem__(self, index: int | slice) -> _Piece | list[_Piece]:
        if isinstance(index, slice):
            return [self._piece(i) for i in range(*index.indices(len(self)))]
        try:
            number = operator.index(index)
        except TypeError:
            raise _arguments.wrong("the index of a piece", "an int or a slice", index) from None
        number = number + len(self) if number < 0 else number
        if not 0 <= number < len(self):
            raise IndexError("there is no such piece")
        return self._piece(number)

    def __iter__(self) -> Iterator[_Piece]:
        return (self._piece(i) for i in range(len(self)))

    def __repr__(self) -> str:
        return f"<cleave.{type(self).__name__}: {len(self)}>"


class Pieces(_AnyPieces[Piece, _native.Pieces]):
    """The pieces of a file, in order. Together they hold all records, each in one piece.

    They can be pickled if their file can.
    """

    def _piece(self, index: int) -> Piece:
        return Piece(self, index)


class ValuePieces(_AnyPieces[ValuePiece, _native.PiecesByValue]):
    """The pieces of a file by value, in the order of their first records. Together they hold all records, each in one
    piece.

    The records of a piece need not be adjacent: ``starts`` and ``first_records`` refer to its first record, and
    ``ValuePiece.ranges`` has all of them. With ``buckets`` and ``parts``, the pieces are in the order of these, and an
    empty piece starts right after the header.
    """

    def __init__(self, file: Source, native: _native.PiecesByValue, limits: Limits) -> None:
        super().__init__(file, native, limits)
        self._parts = limits.parts

    def __reduce__(self) -> tuple[object, ...]:
        raise UsageError(_NO_PICKLE)

    def _piece(self, index: int) -> ValuePiece:
        return ValuePiece(self, index)

    @property
    def keys(self) -> list[tuple[str, ...]]:
        """``ValuePiece.key`` of each piece."""
        return [piece.key for piece in self]
