"""Files, pieces and columns, over the classes of _native."""

from __future__ import annotations

import io
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from typing import IO, TYPE_CHECKING, Any, NamedTuple, overload

from . import _native
from ._errors import UsageError

if TYPE_CHECKING:
    from typing_extensions import Buffer

_PAGE_SIZE = 1 << 20


class Place(NamedTuple):
    """A place in the input."""

    byte: int
    """Offset from the start of the input."""
    record: int
    """Number of the record, from 1 behind the header; 0 in the header."""


class RaggedRecord(NamedTuple):
    """A record that does not have as many fields as the first one."""

    byte: int
    """Offset of the delimiter before the first field too many, or of the end of a record with too few."""
    record: int
    """Number of the record, from 1 behind the header."""
    fields: int
    """How many fields it has."""


class Dialect(NamedTuple):
    """What the bytes of a file mean. What was not given was found by a look at the first 64 KiB."""

    delimiter: bytes
    quote: bytes | None
    escape: bytes | None
    escape_scope: str
    """``"everywhere"``, or ``"quoted"``: an escape acts inside quotes only."""
    quoting: str
    """``"field-start"``: a quote opens a section only at the start of a field; or ``"anywhere"``."""
    terminator: str
    """``"lf"`` (CRLF too), ``"cr"`` or ``"any"``."""
    header: str
    """Which record is the header: ``"first-not-empty"`` or ``"first"``."""
    quotes_unexplained: bool
    """Whether no delimiter explains the quotes in the first 64 KiB: then it is better given."""


class Check(NamedTuple):
    """What a file is, and what is odd in it. Numbers of bytes, records and things; places are of the first one."""

    sound: bool
    """No quote is left open, and all records have the same number of fields."""
    size: int
    records: int
    """Without the header."""
    fields: int
    """Of the first record."""
    ragged_count: int
    ragged: list[RaggedRecord]
    """The first ones, in the order of the file."""
    longest: int
    """Bytes of the longest record."""
    longest_place: Place | None
    empty_count: int
    empty: Place | None
    lf: int
    """Records that end in LF, and so on."""
    crlf: int
    cr: int
    unterminated: int
    quoted_breaks: int
    """Line breaks inside quotes."""
    data_breaks: int
    """Line breaks outside quotes that end no record."""
    stray_quotes_count: int
    stray_quotes: Place | None
    divergence: Place | None
    """Where the two quote rules begin to cut differently."""
    open_quote: Place | None


class Piece:
    """One of the pieces of a file: whole records, without the header."""

    __slots__ = ("_file", "_first_record", "_header_size", "_length", "_number", "_records", "_start")

    def __init__(self, pieces: Pieces, index: int) -> None:
        self._file = pieces._file
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
        """Offset of the first byte in the file."""
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

    @property
    def bytes(self) -> memoryview:
        """The bytes, ``length`` of them.

        Of an object in memory a view without a copy, which keeps the object alive. Of a file a copy that is read now; a
        file that has changed raises ``InputChangedError``.
        """
        return self._file._view(self._start, self._length)

    def with_header(self) -> io.BytesIO:
        """A file object of the header and the bytes, for readers of CSV such as pandas and Polars. A copy."""
        joined = io.BytesIO()
        joined.write(self._file._view(0, self._header_size))
        joined.write(self.bytes)
        joined.seek(0)
        return joined

    def select(self, *columns: str | int, **options: Any) -> Columns:
        """As ``File.select``, of the records of this piece."""
        return self._file._select(columns, [self._start, self._length, self._first_record - 1], **options)

    def __len__(self) -> int:
        return self._length

    def __repr__(self) -> str:
        end = self._start + self._length
        return f"<cleave.Piece {self._number}: {self._records} records, bytes {self._start} to {end}>"


class Pieces(Sequence[Piece]):
    """The pieces of a file, in order. Together they are all records, each in one piece."""

    def __init__(self, file: File, pieces: _native.Pieces) -> None:
        self._file = file
        self._pieces = pieces
        self._starts = pieces.starts

    @property
    def starts(self) -> memoryview:
        """Offsets of the pieces in the file: one ``uint64`` a piece. ``numpy.asarray`` takes it without a copy."""
        return self._starts

    @property
    def lengths(self) -> memoryview:
        """Bytes of the pieces: one ``uint64`` a piece."""
        return self._pieces.lengths

    @property
    def first_records(self) -> memoryview:
        """Numbers of the pieces' first records, from 1 behind the header: one ``uint64`` a piece."""
        return self._pieces.first_records

    @property
    def records(self) -> memoryview:
        """How many records are in each piece: one ``uint64`` a piece."""
        return self._pieces.records

    @property
    def header_size(self) -> int:
        """Bytes of the header, with what stands before it; 0 without one."""
        return self._pieces.header_size

    def __len__(self) -> int:
        return len(self._starts)

    @overload
    def __getitem__(self, index: int) -> Piece: ...
    @overload
    def __getitem__(self, index: slice) -> list[Piece]: ...
    def __getitem__(self, index: int | slice) -> Piece | list[Piece]:
        if isinstance(index, slice):
            return [Piece(self, i) for i in range(*index.indices(len(self)))]
        number = index + len(self) if index < 0 else index
        if not 0 <= number < len(self):
            raise IndexError("there is no such piece")
        return Piece(self, number)

    def __iter__(self) -> Iterator[Piece]:
        return (Piece(self, i) for i in range(len(self)))

    def __repr__(self) -> str:
        return f"<cleave.Pieces: {len(self)}>"


class Columns:
    """Columns of a file, for anything that takes an Arrow stream: ``pyarrow.table(columns)``, ``polars.DataFrame``...

    One row a record, all columns strings. An empty record is null in every column. Batches are of about ``page_size``
    bytes of the file, and threads work only a few batches ahead of the consumer. Each use reads the file anew; a pipe
    or a compressed file that was not copied can be used once.
    """

    def __init__(self, file: File, arguments: tuple[Any, ...]) -> None:
        self._file = file
        self._arguments = arguments
        self._stream: _native.ColumnStream | None = file._native.select(*arguments)
        self._names = self._stream.names

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return list(self._names)

    def _take(self) -> _native.ColumnStream:
        stream, self._stream = self._stream, None
        return stream if stream is not None else self._file._native.select(*self._arguments)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """A capsule of the Arrow C stream interface. ``requested_schema`` is not heeded, as the protocol allows."""
        return self._take().export()

    def __arrow_c_schema__(self) -> object:
        """A capsule of the schema."""
        if self._stream is None:
            self._stream = self._take()
        return self._stream.schema()

    def __repr__(self) -> str:
        return f"<cleave.Columns: {', '.join(self._names)}>"


class File:
    """A CSV file, or CSV in memory. Made by ``open``. Any thread may use it; calls take turns.

    Long calls give up the interpreter's lock, use ``threads`` threads, and end when Ctrl-C is pressed.
    """

    def __init__(self, native: _native.File, owner: memoryview | None, has_header: bool, lenient: bool) -> None:
        self._native = native
        self._owner = owner
        self._has_header = has_header
        self._lenient = lenient

    @property
    def size(self) -> int:
        """Bytes, decompressed."""
        return self._native.size()

    @property
    def dialect(self) -> Dialect:
        """What the bytes mean."""
        return Dialect(**self._native.dialect())

    @property
    def records(self) -> int:
        """How many records there are, without the header. Scans the file, once."""
        return self._native.records(self._has_header)

    @property
    def header(self) -> list[str] | None:
        """The names in the header; ``None`` without a header. What is not UTF-8 is U+FFFD."""
        return self._native.names() if self._has_header else None

    def check(self, max_ragged: int = 10) -> Check:
        """Looks at every byte. ``ragged`` lists at most ``max_ragged`` records."""
        found = self._native.check(max_ragged, self._has_header)
        sound = self._lenient or (found["open_quote"] is None and found["ragged_count"] == 0)
        places: dict[str, Any] = {
            name: None if place is None else Place(*place)
            for name, place in (
                ("longest_place", found["longest_place"]),
                ("empty", found["empty"]),
                ("stray_quotes", found["stray_quotes"]),
                ("divergence", found["divergence"]),
                ("open_quote", found["open_quote"]),
            )
        }
        rest: dict[str, Any] = {name: value for name, value in found.items() if name not in places and name != "ragged"}
        return Check(sound=sound, ragged=[RaggedRecord(*record) for record in found["ragged"]], **places, **rest)

    def split(
        self,
        *,
        n: int | None = None,
        size: int | None = None,
        records: int | None = None,
        together: str | None = None,
        balance: str = "bytes",
        accepts_missing: bool = False,
    ) -> Pieces:
        """Plans pieces; nothing is written.

        Give ``n``, or one or both of ``size`` and ``records``: the first limit reached ends a piece.

        n: the number of pieces, of nearly equal bytes; with ``balance="records"`` of equal numbers of records.
        size: the most bytes of a piece. Its header counts, as it is in ``with_header()``. A record that does not fit
            stands alone.
        records: the records of a piece.
        together: a column. A piece ends only where its value changes from one record to the next. With
            ``accepts_missing``, a record without the field has the empty value; else it is an ``InputError``.
        """
        header = "repeat" if self._has_header else "none"
        pieces = self._native.split(n, size, records, together, balance, accepts_missing, header)
        return Pieces(self, pieces)

    def select(
        self,
        *columns: str | int,
        redact: Mapping[str, str] | None = None,
        keys: Mapping[str, bytes | str | os.PathLike[str]] | None = None,
        empty_is_null: bool = False,
        missing_is_null: bool = False,
        binary: bool = False,
        page_size: int = _PAGE_SIZE,
    ) -> Columns:
        """Columns as an Arrow stream, in the order in which they are named; all of them if none is named.

        columns: names in the header, or numbers from 0.
        redact: an operation for each column that is to be changed, in the language of rules: ``{"mail": "hmac(k)"}``. A
            byte at which readers may differ is an error then.
        keys: the keys that operations name, of 32 bytes to 64 KiB: ``bytes``, the path of a file that is private, or a
            source as the command takes it, such as ``"env:NAME"``.
        empty_is_null: an empty field without quotes is null; else it is an empty string.
        missing_is_null: a record may have any number of fields, and those that it lacks are null; else it is an error.
        binary: the type is Binary, and values may be any bytes; else it is Utf8, and other values are an error.
        page_size: bytes of the file in a batch, about.

        Errors in the data come out of the consumer, with the byte and the record in their text.
        """
        return self._select(
            columns,
            None,
            redact=redact,
            keys=keys,
            empty_is_null=empty_is_null,
            missing_is_null=missing_is_null,
            binary=binary,
            page_size=page_size,
        )

    def _select(
        self,
        columns: tuple[str | int, ...],
        span: list[int] | None,
        *,
        redact: Mapping[str, str] | None = None,
        keys: Mapping[str, bytes | str | os.PathLike[str]] | None = None,
        empty_is_null: bool = False,
        missing_is_null: bool = False,
        binary: bool = False,
        page_size: int = _PAGE_SIZE,
    ) -> Columns:
        named = any(isinstance(column, str) for column in (*columns, *(redact or ())))
        names = self._native.names() if named else []
        numbers = [_number_of(column, names, self._has_header) for column in columns] or None
        rules = [
            (f"#{_number_of(column, names, self._has_header) + 1}: {rule}", f"redact[{column!r}]")
            for column, rule in (redact or {}).items()
        ]
        ring = _key_ring(keys) if keys else None
        return Columns(self, (numbers, rules, ring, not binary, empty_is_null, missing_is_null, page_size, span))

    def _view(self, start: int, length: int) -> memoryview:
        if self._owner is not None:
            return self._owner[start : start + length]
        return memoryview(self._native.read(start, length))


def _number_of(column: str | int, names: list[str], has_header: bool) -> int:
    if isinstance(column, int):
        if column < 0:
            raise UsageError(f"there is no column {column}")
        return column
    if not has_header:
        raise UsageError(f"there is no header with a column {column!r}: give its number, from 0")
    found = [number for number, name in enumerate(names) if name == column]
    if len(found) != 1:
        what = "is no column" if not found else "are several columns: give a number, from 0"
        some = ", ".join(repr(name[:40]) for name in names[:20]) + (", ..." if len(names) > 20 else "")
        raise UsageError(f"{column!r} {what}; the header has {some}")
    return found[0]


def _key_ring(keys: Mapping[str, bytes | str | os.PathLike[str]]) -> _native.KeyRing:
    sources = []
    pipes = []
    try:
        for name, key in keys.items():
            if isinstance(key, bytes):
                if len(key) > 1 << 16:
                    raise UsageError(f"the key {name!r} is longer than 64 KiB")
                reader, writer = os.pipe()
                pipes.append(reader)
                with os.fdopen(writer, "wb") as pipe:
                    pipe.write(key)
                sources.append(f"{name}=fd:{reader}")
            elif isinstance(key, str):
                sources.append(f"{name}={key}")
            else:
                sources.append(f"{name}=file:{os.fspath(key)}")
        return _native.KeyRing(sources)
    finally:
        for reader in pipes:
            try:
                os.close(reader)
            except OSError:
                pass  # the ring has closed it


def _path_of(source: Any) -> bytes | None:
    """A path by which the file behind a file object can be opened from its start, if there is one."""
    try:
        descriptor = source.fileno()
        if not stat.S_ISREG(os.fstat(descriptor).st_mode) or source.tell() != 0:
            return None
    except (AttributeError, OSError, ValueError):
        return None
    # A file object that decompresses has the descriptor of the compressed file, and cannot say so.
    return f"/proc/self/fd/{descriptor}".encode() if isinstance(source, (io.FileIO, io.BufferedReader)) else None


def _settings(
    dialect: str | None, options: dict[str, str | bytes | None], header: bool, lenient: bool, threads: int | None
) -> _native.Settings:
    settings = _native.Settings(dialect)
    for option, value in options.items():
        if value is not None:
            settings.set(option, value.encode("latin-1") if isinstance(value, str) else value)
    settings.has_header = header
    settings.accepts_open_quote = lenient
    if threads is None:
        threads = len(os.sched_getaffinity(0))
    if not 1 <= threads <= 1024:
        raise UsageError("threads: from 1 to 1024")
    settings.threads = threads
    return settings


def open(  # noqa: A001
    source: str | os.PathLike[str] | Buffer | IO[bytes],
    *,
    dialect: str | None = None,
    delimiter: str | bytes | None = None,
    quote: str | bytes | None = None,
    escape: str | bytes | None = None,
    escape_scope: str | None = None,
    quoting: str | None = None,
    terminator: str | None = None,
    header: bool = True,
    lenient: bool = False,
    threads: int | None = None,
) -> File:
    """Opens CSV, and finds its dialect from the first 64 KiB.

    source: a path; or an object with contiguous bytes: ``bytes``, ``memoryview``, ``mmap``, an array; or a binary file
        object, which is read from where it stands. ``bytes`` are never a path. A file is read as it is needed,
        so that one that becomes shorter raises. Files compressed by gzip or zstd, pipes, and file objects that are not
        plain files are copied to a temporary file, decompressed, once more than one pass is needed. Of an ``mmap``
        pages are read: if its file becomes shorter meanwhile, that ends the process, as everywhere in Python.
    dialect: a preset: rfc4180, excel, python, pandas, polars, arrow, duckdb, postgres, mysql, clickhouse, miller, tsv.
        The other options change parts of it.
    delimiter: one byte, or ``"auto"``, the default.
    quote, escape: one byte, or ``""`` for none.
    escape_scope: ``"everywhere"`` or ``"quoted"``.
    quoting: ``"field-start"``, the default, or ``"anywhere"``.
    terminator: ``"lf"``, ``"cr"``, ``"any"`` or ``"auto"``, the default.
    header: whether the first record is a header.
    lenient: a quote that is never closed is no error: what follows it is one record.
    threads: how many threads work; the cores that the process may use by default. Results do not depend on it.
    """
    options: dict[str, str | bytes | None] = {
        "delimiter": delimiter,
        "quote": quote,
        "escape": escape,
        "escape_scope": escape_scope,
        "quoting": quoting,
        "terminator": terminator,
    }
    settings = _settings(dialect, options, header, lenient, threads)
    if isinstance(source, (str, os.PathLike)):
        return File(_native.File.of_path(os.fsencode(source), settings), None, header, lenient)
    if isinstance(source, io.BytesIO):
        if source.tell() == 0:
            source = source.getbuffer()
        else:
            source = source.getbuffer()[source.tell() :]
    if not hasattr(source, "read") or hasattr(source, "tolist") or _is_buffer(source):
        view = memoryview(source).cast("B")  # type: ignore[arg-type]
        return File(_native.File.of_buffer(view, "memory", settings), view.toreadonly(), header, lenient)
    path = _path_of(source)
    if path is not None:
        return File(_native.File.of_path(path, settings), None, header, lenient)
    import shutil  # rarely needed, and slow to import
    import tempfile

    with tempfile.TemporaryFile() as copy:
        shutil.copyfileobj(source, copy, _PAGE_SIZE)  # type: ignore[arg-type]
        copy.flush()
        path = f"/proc/self/fd/{copy.fileno()}".encode()
        return File(_native.File.of_path(path, settings), None, header, lenient)


def _is_buffer(source: object) -> bool:
    try:
        memoryview(source).release()  # type: ignore[arg-type]
    except TypeError:
        return False
    return True
