"""Files and columns, built on the classes of _native."""

from __future__ import annotations

import io
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from typing import IO, TYPE_CHECKING, Any, overload

from . import _arguments, _native
from ._errors import UsageError
from ._pieces import Pieces, ValuePieces
from ._types import Check, Dialect, Place, RaggedRecord

if TYPE_CHECKING:
    import pyarrow
    from typing_extensions import Buffer

    from ._batches import Schema

_PAGE_SIZE = 1 << 20


class Columns:
    """Columns of a file, for anything that accepts an Arrow stream, such as ``pyarrow.table`` or ``polars.DataFrame``.

    One row per record, and all columns are strings. An empty record is null in every column. A batch holds about
    ``page_size`` bytes of the file, and threads work only a few batches ahead of the consumer. Each use reads the file
    again; a pipe or a compressed file that has neither been copied nor has an index can be used only once.
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
        """A capsule of the Arrow C stream interface. ``requested_schema`` is ignored, as the protocol allows."""
        return self._take().export()

    def __arrow_c_schema__(self) -> object:
        """A capsule of the schema."""
        if self._stream is None:
            self._stream = self._take()
        return self._stream.schema()

    def __repr__(self) -> str:
        return f"<cleave.Columns: {', '.join(self._names)}>"


class File:
    """A CSV file, or CSV in memory. ``open`` returns one. Any thread may use it; calls run one after another.

    Long calls release the GIL, use ``threads`` threads, and end when Ctrl-C is pressed.
    """

    def __init__(
        self, native: _native.File, owner: memoryview | None, has_header: bool, allow_open_quote: bool
    ) -> None:
        self._native = native
        self._owner = owner
        self._has_header = has_header and native.dialect()["header"] != "none"
        self._allow_open_quote = allow_open_quote

    @property
    def size(self) -> int:
        """The size in bytes, decompressed."""
        return self._native.size()

    @property
    def dialect(self) -> Dialect:
        """How the bytes are interpreted."""
        return Dialect(**self._native.dialect())

    @property
    def records(self) -> int:
        """The number of records, not counting the header. Scans the file the first time."""
        return self._native.records(self._has_header)

    @property
    def header(self) -> list[str] | None:
        """The names in the header; ``None`` without a header. Bytes that are not UTF-8 become U+FFFD."""
        return self._native.names() if self._has_header else None

    def check(self, max_ragged: int = 10) -> Check:
        """Examines every byte. ``ragged`` lists at most ``max_ragged`` records."""
        most = _arguments.number("max_ragged", max_ragged)
        found: dict[str, Any] = {**self._native.check(most, self._has_header)}
        found["ragged"] = [RaggedRecord(*record) for record in found["ragged"]]
        for name, value in found.items():
            if isinstance(value, tuple):
                found[name] = Place(*value)
        if found["keys"] is not None:
            found["keys"] = {key.decode("utf-8", "surrogatepass"): count for key, count in found["keys"]}
        sound = found["ragged_count"] == 0 and (self._allow_open_quote or found["open_quote"] is None)
        sound = sound and found["not_json_count"] == 0
        return Check(sound=sound, **found)

    @overload
    def split(
        self,
        *,
        n: int | None = None,
        size: int | None = None,
        records: int | None = None,
        together: str | None = None,
        by: None = None,
        balance: str = "bytes",
        accepts_missing: bool = False,
    ) -> Pieces: ...
    @overload
    def split(
        self,
        *,
        size: int | None = None,
        records: int | None = None,
        by: str | int | Sequence[str | int],
        buckets: int | None = None,
        parts: Mapping[str, float | str] | None = None,
        seed: int | None = None,
        max_values: int | None = None,
        accepts_missing: bool = False,
    ) -> ValuePieces: ...
    @overload
    def split(self, *, by: None = None, parts: Mapping[str, float | str], seed: int | None = None) -> ValuePieces: ...
    def split(
        self,
        *,
        n: int | None = None,
        size: int | None = None,
        records: int | None = None,
        together: str | None = None,
        by: str | int | Sequence[str | int] | None = None,
        balance: str = "bytes",
        accepts_missing: bool = False,
        buckets: int | None = None,
        parts: Mapping[str, float | str] | None = None,
        seed: int | None = None,
        max_values: int | None = None,
    ) -> Pieces | ValuePieces:
        """Plans pieces; nothing is written.

        Give ``n``, or one or both of ``size`` and ``records``: the first limit reached ends a piece. Or give ``by``
        or ``parts``.

        n: the number of pieces, of nearly equal bytes or, with ``balance="records"``, of equal numbers of records.
            Pieces can be empty. A number that exceeds both 65,536 and the number of records raises ``UsageError``.
        size: the most bytes in a piece, including its header as in ``with_header()``. A record that does not fit is a
            piece of its own.
        records: the number of records in a piece.
        together: a column. A piece ends only where the column's value changes from one record to the next. With
            ``accepts_missing``, a record without the field counts as having the empty value; otherwise it raises
            ``InputError``. In JSON Lines, the path of a key, such as ``".user.country"``.
        by: a column, or several, by their names in the header or their numbers from 0; in JSON Lines, a path, or several. The
            result is ``ValuePieces``, one piece for each distinct value. ``size`` and ``records`` divide the records of a value;
            ``accepts_missing`` is as for ``together``. A plan takes about 200 bytes per value, and 16 bytes per range
            in a temporary file.
        buckets: with ``by``, the number of pieces, as for ``n``. The hash of a value decides which piece has its
            records.
        parts: the names and weights of the pieces, such as ``{"train": 80, "test": 20}``. Each has its share of the
            records: those whose values, by a hash of ``by``, belong to it or, without ``by``, those that are drawn for
            it by their numbers. A weight is a number above 0, or its decimal digits as text.
        seed: with ``buckets`` and ``parts``, the seed of the hash, 0 by default. Another seed divides the records
            differently.
        max_values: with ``by``, more distinct values than this raise ``UsageError``; 10,000 by default.
        """
        limits = {"size": size, "records": records}
        ends = {name: _arguments.number(name, value, True) for name, value in limits.items()}
        for name, value in {"n": n, "buckets": buckets, **limits}.items():
            if value == 0:
                raise UsageError(f"{name}: at least 1")
        if n is None and size is None and records is None and by is None and parts is None:
            raise UsageError("split needs n, size, records, by or parts")
        if n is not None and (size is not None or records is not None):
            raise UsageError("n excludes size and records")
        if by is None and (buckets is not None or max_values is not None):
            raise UsageError("buckets and max_values need by")
        if seed is not None and buckets is None and parts is None:
            raise UsageError("seed needs buckets or parts")
        if by is None and parts is None:
            header = "repeat" if self._has_header else "none"
            return Pieces(
                self,
                self._native.split(
                    n=_arguments.number("n", n, True),
                    together=None if together is None else _arguments.text("together", together),
                    balance=_arguments.text("balance", balance),
                    accepts_missing=bool(accepts_missing),
                    header=header,
                    **ends,
                ),
            )
        if n is not None or together is not None or balance != "bytes":
            raise UsageError("by and parts exclude n, together and balance")
        if buckets is not None and max_values is not None:
            raise UsageError("buckets excludes max_values: there are as many pieces as buckets")
        if parts is not None and max_values is not None:
            raise UsageError("parts excludes max_values: there are as many pieces as parts")
        if parts is not None and not parts:
            raise UsageError("parts: no part")
        if isinstance(by, (bytes, bytearray, memoryview)):
            raise UsageError("by: a name is a str, and a number an int")
        columns = [] if by is None else [by] if isinstance(by, (str, int)) else list(by)
        if by is not None and not columns:
            raise UsageError("by: no column")
        if self._native.is_json_lines():
            text = ",".join(_arguments.text("by", path) for path in columns)
        else:
            text = ",".join(f"#{number + 1}" for number in self._numbers_of(columns))
        named = _arguments.parts(parts or {})
        return ValuePieces(
            self,
            self._native.split_by_value(
                columns=text,
                buckets=_arguments.number("buckets", buckets, True),
                parts=named,
                seed=_arguments.number("seed", 0 if seed is None else seed),
                max_values=_arguments.number("max_values", max_values, True),
                accepts_missing=bool(accepts_missing),
                has_header=self._has_header,
                **ends,
            ),
            [name for name, _ in named],
        )

    def select(
        self,
        *columns: str | int,
        redact: Mapping[str, str] | None = None,
        keys: Mapping[str, bytes | str | os.PathLike[str]] | None = None,
        empty_is_null: bool = False,
        missing_is_null: bool = False,
        binary: bool = False,
        page_size: int = _PAGE_SIZE,
        _span: list[int] | None = None,
    ) -> Columns:
        """Columns as an Arrow stream, in the given order.

        columns: names in the header, or numbers from 0; at least one. ``"*"`` alone means all columns. Naming none
            raises ``UsageError``, so that a list that is empty by mistake does not select every column.
        redact: an operation for each column to be changed, in the language of rules: ``{"mail": "hmac(k)"}``. With it,
            a byte that readers may interpret differently raises ``InputError``. ``suppress`` raises ``RuleError``,
            because it reads a file twice; write the changed file first, with ``cleave cat``.
        keys: the keys that operations name, each 32 bytes to 64 KiB long: ``bytes``, the path of a private file, or a
            source as the command takes it, ``"env:NAME"``, ``"fd:N"`` or ``"file:PATH"``.
        empty_is_null: an unquoted empty field is null; otherwise it is an empty string.
        missing_is_null: a record may have any number of fields, and those that it lacks are null; otherwise every
            record must have as many fields as the first, or an error is raised.
        binary: the type is Binary, and values may be any bytes; otherwise it is Utf8, and values must be UTF-8.
        page_size: roughly how many bytes of the file a batch covers.

        Errors in the data surface in the consumer, with the byte and the record in their message.
        """
        rules = redact or {}
        if not columns:
            raise UsageError('no column is named; "*" stands for all of them')
        has_all = columns == ("*",)
        if has_all:
            columns = ()
        elif "*" in columns:
            raise UsageError('"*" stands for all columns, so name no others')
        numbers = self._numbers_of((*columns, *rules))
        wanted = None if has_all else numbers[: len(columns)]
        texts = [
            (f"#{number + 1}: {rule}", f"redact[{column!r}]")
            for number, (column, rule) in zip(numbers[len(columns) :], rules.items())
        ]
        ring = _key_ring(keys) if keys else None
        size = _arguments.number("page_size", page_size)
        return Columns(
            self, (wanted, texts, ring, not binary, bool(empty_is_null), bool(missing_is_null), size, _span)
        )

    def batches(
        self,
        columns: Sequence[str | int] | None = None,
        schema: Schema | None = None,
        nulls: Sequence[str] = (),
        batch_size: int | None = None,
        *,
        missing_is_null: bool = False,
    ) -> Iterator[pyarrow.RecordBatch]:
        """The records as Arrow record batches, with one row for each record that is not empty. Needs pyarrow.

        columns: the names of columns, or their numbers from 0, in this order; all of them by default. With an empty
            list, the batches have rows but no columns.
        schema: the types of columns, by name or number: a dict of Arrow's types, their names such as ``"int64"``,
            ``"date32"`` and ``"timestamp[us]"``, or Python's int, float, bool, str, date and datetime; or a
            ``pyarrow.Schema``. All others are strings. Numbers are decimal, and ``bool`` is ``true``, ``false``, ``1``
            or ``0``, in any case. A date is ``2024-12-31``, and a timestamp may add ``T`` or a blank, the time, and,
            if the type has a time zone, ``Z`` or an offset.
        nulls: texts that are null, quoted or not. An empty value is null in any column that is not one of strings, and
            in those if ``""`` is listed.
        batch_size: the most rows in a batch. Without it, a batch has the records of about 1 MiB.
        missing_is_null: a record may have any number of fields: those that it lacks are null, and surplus ones are left
            out. Otherwise every record must have as many fields as the header.

        Raises InputError, with the byte and the record, for a value that is not one of its type, a record with a
        different number of fields, and bytes that are not UTF-8 in the columns that are delivered.
        """
        return self._batches(columns, schema, nulls, batch_size, missing_is_null, None)

    def _batches(
        self,
        columns: Sequence[str | int] | None,
        schema: Schema | None,
        nulls: Sequence[str],
        batch_size: int | None,
        missing_is_null: bool,
        span: list[int] | None,
    ) -> Iterator[pyarrow.RecordBatch]:
        from . import _batches

        request = _batches.Request.of(self._native.names(), columns, schema, nulls, missing_is_null, batch_size)
        return _batches.batches(self, request, span)

    def _numbers_of(self, columns: Sequence[str | int]) -> list[int]:
        """The numbers of the columns, from 0."""
        names = self._native.names() if self._has_header and any(isinstance(c, str) for c in columns) else []
        return [_number_of(column, names, self._has_header) for column in columns]

    def _view(self, start: int, length: int) -> memoryview:
        if self._owner is not None:
            return self._owner[start : start + length]
        return memoryview(self._native.read(start, length))


def _number_of(column: str | int, names: list[str], has_header: bool) -> int:
    if not isinstance(column, (str, int)):
        hint = "; write *names" if isinstance(column, (list, tuple)) else ""
        raise TypeError(f"a column: a str or an int, and not {type(column).__name__}{hint}")
    if isinstance(column, int):
        if not 0 <= column < 1 << 64:
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
    sources, given = [], []
    for name, key in keys.items():
        _arguments.text("the name of a key", name)
        if isinstance(key, bytes):
            given.append((name, key))
        elif isinstance(key, str) and key.startswith(("file:", "env:", "fd:")):
            sources.append(f"{name}={key}")
        else:
            sources.append(f"{name}=file:{os.fsdecode(key)}")
    return _native.KeyRing(sources, given)


def _path_of(source: Any) -> bytes | None:
    """A path that opens the file behind a file object, if the object is a plain file at its start."""
    try:
        descriptor = source.fileno()
        if not stat.S_ISREG(os.fstat(descriptor).st_mode) or source.tell() != 0:
            return None
    except (AttributeError, OSError, ValueError):
        return None
    # A file object that decompresses has the descriptor of the compressed file, and there is no way to tell.
    return f"/proc/self/fd/{descriptor}".encode() if isinstance(source, (io.FileIO, io.BufferedReader)) else None


def _settings(
    dialect: str | None,
    options: dict[str, str | bytes | None],
    header: bool,
    allow_open_quote: bool,
    threads: int | None,
    *,
    skip_lines: int = 0,
    preamble: int = 0,
    index: bool = True,
) -> _native.Settings:
    settings = _native.Settings(None if dialect is None else _arguments.text("dialect", dialect))
    for option, value in options.items():
        if isinstance(value, str):
            settings.set(option, value.encode("utf-8" if option == "comment" else "latin-1"))
        elif value is not None:
            if not isinstance(value, bytes):
                raise TypeError(f"{option}: a str or bytes, and not {type(value).__name__}")
            settings.set(option, value)
    settings.skip_lines = _arguments.number("skip_lines", skip_lines)
    settings.preamble = _arguments.number("preamble", preamble)
    settings.has_header = bool(header)
    settings.allow_open_quote = bool(allow_open_quote)
    settings.uses_index = bool(index)
    if threads is None:
        threads = len(os.sched_getaffinity(0))
    threads = _arguments.number("threads", threads)
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
    skip_lines: int = 0,
    comment: str | bytes | None = None,
    header: bool = True,
    allow_open_quote: bool = False,
    encoding: str | None = None,
    index: bool = True,
    threads: int | None = None,
) -> File:
    """Opens CSV, and finds its dialect from the first 64 KiB.

    source: a path, where ``"-"`` is standard input; an object with contiguous bytes, such as ``bytes``, ``memoryview``, ``mmap`` or an array; or a
        binary file object, which is read from its current position. ``bytes`` are never a path. A file is read as
        needed; if it becomes shorter, an error is raised. Compressed files, pipes, and file objects that are not
        plain files are copied, decompressed, to a temporary file if more than one pass is needed, but see ``index``. An
        ``mmap`` is read in place: if its file becomes shorter in the meantime, the process dies, as always in Python.
    dialect: a preset: rfc4180, excel, python, pandas, polars, arrow, duckdb, postgres, mysql, clickhouse, miller, tsv,
        jsonl. The other options change parts of it.
    delimiter: one byte, or ``"auto"``, the default.
    quote, escape: one byte, or ``""`` for none.
    escape_scope: ``"everywhere"`` or ``"quoted"``.
    quoting: ``"field-start"``, the default, or ``"anywhere"``.
    terminator: ``"lf"``, ``"cr"``, ``"any"`` or ``"auto"``, the default.
    skip_lines: how many lines come before the header, whatever they contain. A first line ``sep=;`` is always skipped
        and sets the delimiter, except in JSON Lines and where a different delimiter is given.
    comment: lines before the header that begin with this text are not records.
    header: whether the first record is a header; JSON Lines never have one.
    allow_open_quote: accept a quote that is never closed; everything after it belongs to the same record.
    encoding: ``"utf-16le"`` or ``"utf-16be"``: the file is converted to UTF-8 as it is read, and sizes and offsets refer
        to the UTF-8 text. Without it, the bytes are read as they are, in any encoding in which the bytes that have a
        meaning in CSV are ASCII, such as UTF-8 and Latin-1.
    index: use the index beside the file, ``FILE.cleave``, if ``cleave index`` has made one and the file is still the
        same. Records need not be searched for then, and pieces of a gzip file are read from the middle, without a
        copy. An index that cannot be trusted is not used, and causes a ``UserWarning``. With ``redact``, nothing is read
        by it, and pieces that were planned with it are compared with a scan of the file.
    threads: the number of threads; by default, one for each core that the process may use. Results do not depend on it.
    """
    options: dict[str, str | bytes | None] = {
        "delimiter": delimiter,
        "quote": quote,
        "escape": escape,
        "escape_scope": escape_scope,
        "quoting": quoting,
        "terminator": terminator,
        "comment": comment,
        "encoding": encoding,
    }
    settings = _settings(dialect, options, header, allow_open_quote, threads, skip_lines=skip_lines, index=index)
    if isinstance(source, (str, os.PathLike)):
        return File(_native.File.of_path(os.fsencode(source), settings), None, header, allow_open_quote)
    if isinstance(source, io.BytesIO):
        if source.tell() == 0:
            source = source.getbuffer()
        else:
            source = source.getbuffer()[source.tell() :]
    if isinstance(source, io.TextIOBase):
        raise TypeError("a file object that reads text; open it in binary mode, 'rb'")
    if not hasattr(source, "read") or hasattr(source, "tolist") or _is_buffer(source):
        view = memoryview(source).cast("B")  # type: ignore[arg-type]
        return File(_native.File.of_buffer(view, "memory", settings), view.toreadonly(), header, allow_open_quote)
    path = _path_of(source)
    if path is not None:
        return File(_native.File.of_path(path, settings), None, header, allow_open_quote)
    import shutil  # rarely needed and slow to import
    import tempfile

    with tempfile.TemporaryFile() as copy:
        shutil.copyfileobj(source, copy, _PAGE_SIZE)  # type: ignore[arg-type]
        copy.flush()
        path = f"/proc/self/fd/{copy.fileno()}".encode()
        return File(_native.File.of_path(path, settings), None, header, allow_open_quote)


def _is_buffer(source: object) -> bool:
    try:
        memoryview(source).release()  # type: ignore[arg-type]
    except TypeError:
        return False
    return True
