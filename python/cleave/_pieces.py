"""Pieces of a file: ranges of it, or the records of one value wherever they stand."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from . import _native

if TYPE_CHECKING:
    from ._file import Columns, File

_Piece = TypeVar("_Piece", bound="_AnyPiece")
_Native = TypeVar("_Native", bound=_native.Pieces)


class _AnyPiece:
    """What pieces of both kinds have."""

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
        """Number of the piece, from 1."""
        return self._number

    @property
    def start(self) -> int:
        """Offset in the file of the first byte."""
        return self._start

    @property
    def length(self) -> int:
        """Bytes of the piece."""
        return self._length

    @property
    def first_record(self) -> int:
        """Number of the first record, from 1 behind the header."""
        return self._first_record

    @property
    def records(self) -> int:
        """How many records are in the piece."""
        return self._records

    def __len__(self) -> int:
        return self._length


class Piece(_AnyPiece):
    """One of the pieces of a file: whole records, without the header."""

    __slots__ = ("_file",)

    def __init__(self, pieces: Pieces, index: int) -> None:
        super().__init__(pieces, index)
        self._file = pieces._file

    @property
    def bytes(self) -> memoryview:
        """The bytes, ``length`` of them.

        Of an object in memory a view without a copy, which keeps the object alive. Of a file a copy that is read now; a
        file that has changed raises ``InputChangedError``.
        """
        return self._file._view(self._start, self._length)

    def with_header(self) -> io.BytesIO:
        """A file object of the header and the bytes, for readers of CSV such as pandas and Polars. One copy."""
        # A BytesIO shares the bytes that it is made of.
        return io.BytesIO(self._file._native.read(self._start, self._length, self._header_size))

    def select(self, *columns: str | int, **options: Any) -> Columns:
        """As ``File.select``, of the records of this piece."""
        return self._file.select(*columns, **options, _span=[self._start, self._length, self._first_record - 1])

    def __repr__(self) -> str:
        end = self._start + self._length
        return f"<cleave.Piece {self._number}: {self._records} records, bytes {self._start} to {end}>"


class ValuePiece(_AnyPiece):
    """The records of one value, or of a part of the values, in the order of the file, without the header."""

    __slots__ = ("_pieces",)

    def __init__(self, pieces: ValuePieces, index: int) -> None:
        super().__init__(pieces, index)
        self._pieces = pieces

    @property
    def key(self) -> tuple[str, ...] | None:
        """The values of the records, one for each column of ``by``; ``None`` with ``buckets``.

        What is not UTF-8 is in surrogates, as ``os.fsdecode`` makes them, so that different values stay different.
        """
        values = self._pieces._native.key(self._number - 1)
        return None if values is None else tuple(value.decode("utf-8", "surrogateescape") for value in values)

    @property
    def ranges(self) -> memoryview:
        """Where the records stand in the file: ``uint64`` of the shape (ranges, 2), an offset and a size in each row.

        ``numpy.asarray`` takes it without a copy. Records side by side may be one range.
        """
        return self._pieces._native.ranges(self._number - 1)

    @property
    def bytes(self) -> memoryview:
        """The records, one after the other: ``length`` bytes. A copy that is made now.

        A file that has changed raises ``InputChangedError``.
        """
        return memoryview(self._pieces._file._native.gather(self._pieces._native, self._number - 1))

    def with_header(self) -> io.BytesIO:
        """A file object of the header and the bytes, for readers of CSV such as pandas and Polars. One copy."""
        native = self._pieces._file._native
        return io.BytesIO(native.gather(self._pieces._native, self._number - 1, self._header_size))

    def __repr__(self) -> str:
        return f"<cleave.ValuePiece {self._number}: {self._records} records>"


class _AnyPieces(Sequence[_Piece], Generic[_Piece, _Native]):
    def __init__(self, file: File, native: _Native) -> None:
        self._file = file
        self._native = native
        self._starts = native.starts

    def _piece(self, index: int) -> _Piece:
        raise NotImplementedError

    @property
    def starts(self) -> memoryview:
        """Offsets in the file of the pieces' first bytes: one ``uint64`` a piece.

        ``numpy.asarray`` takes it without a copy.
        """
        return self._starts

    @property
    def lengths(self) -> memoryview:
        """Bytes of the pieces: one ``uint64`` a piece."""
        return self._native.lengths

    @property
    def first_records(self) -> memoryview:
        """Numbers of the pieces' first records, from 1 behind the header: one ``uint64`` a piece."""
        return self._native.first_records

    @property
    def records(self) -> memoryview:
        """How many records are in each piece: one ``uint64`` a piece."""
        return self._native.records

    @property
    def header_size(self) -> int:
        """Bytes of the header, with what stands before it; 0 without one."""
        return self._native.header_size

    def __len__(self) -> int:
        return len(self._starts)

    @overload
    def __getitem__(self, index: int) -> _Piece: ...
    @overload
    def __getitem__(self, index: slice) -> list[_Piece]: ...
    def __getitem__(self, index: int | slice) -> _Piece | list[_Piece]:
        if isinstance(index, slice):
            return [self._piece(i) for i in range(*index.indices(len(self)))]
        number = index + len(self) if index < 0 else index
        if not 0 <= number < len(self):
            raise IndexError("there is no such piece")
        return self._piece(number)

    def __iter__(self) -> Iterator[_Piece]:
        return (self._piece(i) for i in range(len(self)))

    def __repr__(self) -> str:
        return f"<cleave.{type(self).__name__}: {len(self)}>"


class Pieces(_AnyPieces[Piece, _native.Pieces]):
    """The pieces of a file, in order. Together they are all records, each in one piece."""

    def _piece(self, index: int) -> Piece:
        return Piece(self, index)


class ValuePieces(_AnyPieces[ValuePiece, _native.PiecesByValue]):
    """The pieces of a file by value, in the order of their first records. Together they are all records, each in one
    piece.

    Records of a piece need not stand side by side: ``starts`` and ``first_records`` are those of its first record, and
    ``ValuePiece.ranges`` has all of them. With ``buckets``, pieces are in the order of the buckets, and an empty one
    starts behind the header.
    """

    def _piece(self, index: int) -> ValuePiece:
        return ValuePiece(self, index)

    @property
    def keys(self) -> list[tuple[str, ...] | None]:
        """``ValuePiece.key`` of each piece."""
        return [piece.key for piece in self]
