"""Files and columns, built on the classes of _native."""

from __future__ import annotations

import logging
import os
import re
import time
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, overload

from . import _arguments, _native
from ._columns import Columns, Key, Limits, Selection
from ._errors import UsageError
from ._native import KeyRing
from ._pieces import Pieces, ValuePieces
from ._types import Check, Dialect, Place, RaggedRecord, Reject

if TYPE_CHECKING:
    import pyarrow

    from ._batches import Schema, Stream

_log = logging.getLogger("cleave")

_PAGE_SIZE = 1 << 20

Header = Literal["repeat", "first", "drop"]


class Recipe(NamedTuple):
    """What a pickled file is opened from."""

    path: str
    version: tuple[int, int]
    """The size, and the time of the last change in ns since 1970."""
    arguments: dict[str, object]
    """Of ``open``."""


class File:
    """A CSV file, or CSV in memory. ``cleave.open`` returns one.

    Any thread may use it; calls run one after another. Long calls release the GIL, use ``threads`` threads, and end
    when Ctrl-C is pressed, but a call that waits for another thread's call goes on waiting. Every call raises ``InputChangedError`` if the file has changed since it was opened.

    It is a context manager that closes the file. ``len`` is the number of records; a File is always true, even without
    any. A File that was opened by the path of a regular file can be pickled: it is opened again from the same path, and
    another version of the file raises ``InputChangedError``.
    """

    def __init__(
        self, native: _native.File, owner: memoryview | None, settings: _native.Settings, name: str
    ) -> None:
        self._open: _native.File | None = native
        self._owner = owner
        self._name = name
        self._has_header = settings.has_header and native.dialect()["header"] != "none"
        self._allow_open_quote = settings.allow_open_quote
        self._threads = settings.threads
        self._recipe: Recipe | None = None
        self._columns: weakref.WeakSet[Columns] = weakref.WeakSet()

    @property
    def _native(self) -> _native.File:
        if self._open is None:
            raise UsageError(f"{self._name}: the file is closed")
        return self._open

    def close(self) -> None:
        """Closes the file and frees its memory. Any later use, also of its pieces and columns, raises ``UsageError``.

        Closing twice does nothing. Calls and streams that run go on to their end; bytes that were returned stay.
        """
        self._open = None
        self._owner = None
        for columns in self._columns:
            columns._stream = None

    @property
    def closed(self) -> bool:
        """Whether ``close`` was called."""
        return self._open is None

    def __enter__(self) -> File:
        self._native  # noqa: B018  raises if it is closed
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __len__(self) -> int:
        return self.records

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        if self._open is None:
            return f"<cleave.File {self._name!r}: closed>"
        dialect = self.dialect
        if self._open.is_json_lines():
            return f"<cleave.File {self._name!r}: JSON Lines>"
        header = "with" if self._has_header else "without"
        return f"<cleave.File {self._name!r}: delimiter {dialect.delimiter!r}, {header} a header>"

    @property
    def name(self) -> str:
        """The path; the URL of a file that is not on this machine; the name of the file object; or ``"memory"`` for
        bytes."""
        return self._name

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
        """Examines every byte, on all threads.

        max_ragged: the most records that ``Check.ragged`` lists.
        """
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
        by: a column, or several, by their names or their numbers from 0; in JSON Lines, a path, or several. The result is ``ValuePieces``, one piece for each distinct value. ``size`` and ``records`` divide
            the records of a value; ``accepts_missing`` is as for ``together``. A plan takes about 200 bytes per value,
            and 16 bytes per range in a temporary file.
        buckets: with ``by``, the number of pieces, as for ``n``. The hash of a value decides which piece has its
            records.
        parts: the names and weights of the pieces, such as ``{"train": 80, "test": 20}``. Each has its share of the
            records: those whose values, by a hash of ``by``, belong to it or, without ``by``, those that are drawn for
            it by their numbers. A weight is a number above 0, or its decimal digits as text.
        seed: with ``buckets`` and ``parts``, the seed of the hash, 0 by default. Another seed divides the records
            differently.
        max_values: with ``by``, more distinct values than this raise ``UsageError``; 10,000 by default.
        """
        limits = self._limits(
            n, size, records, together, by, balance, accepts_missing, buckets, parts, seed, max_values
        )
        policy = limits.policy("repeat" if self._has_header else "none")
        pieces: Pieces | ValuePieces
        if limits.is_by_value:
            pieces = ValuePieces(self, self._native.split_by_value(policy), limits)
        else:
            pieces = Pieces(self, self._native.split(policy), limits)
        _log.debug("split: %s: %d pieces", self._name, len(pieces))
        return pieces

    def _limits(
        self,
        n: int | None,
        size: int | None,
        records: int | None,
        together: str | None,
        by: str | int | Sequence[str | int] | None,
        balance: str,
        accepts_missing: bool,
        buckets: int | None,
        parts: Mapping[str, float | str] | None,
        seed: int | None,
        max_values: int | None,
    ) -> Limits:
        """Checks the arguments of ``split`` and ``write``."""
        native = self._native
        counts = {"n": n, "size": size, "records": records, "buckets": buckets, "max_values": max_values, "seed": seed}
        numbers = {name: _arguments.number(name, value, True) for name, value in counts.items()}
        for name in ("n", "size", "records", "buckets"):
            if numbers[name] == 0:
                raise UsageError(f"{name}: at least 1")
        _arguments.flag("accepts_missing", accepts_missing)
        _arguments.text("balance", balance)
        ends = {name: numbers[name] for name in ("size", "records")}
        if n is None and size is None and records is None and by is None and parts is None:
            raise UsageError("give n, size, records, by or parts")
        if n is not None and (size is not None or records is not None):
            raise UsageError("n excludes size and records")
        if by is None and (buckets is not None or max_values is not None):
            raise UsageError("buckets and max_values need by")
        if seed is not None and buckets is None and parts is None:
            raise UsageError("seed needs buckets or parts")
        if by is None and parts is None:
            values: dict[str, object] = {
                "n": numbers["n"],
                "together": None if together is None else _arguments.text("together", together),
                "balance": balance,
                "accepts_missing": accepts_missing,
                **ends,
            }
            return Limits(False, values, [])
        if n is not None or together is not None or balance != "bytes":
            raise UsageError("by and parts exclude n, together and balance")
        if buckets is not None and max_values is not None:
            raise UsageError("buckets excludes max_values: there are as many pieces as buckets")
        if parts is not None and max_values is not None:
            raise UsageError("parts excludes max_values: there are as many pieces as parts")
        weights = _arguments.mapping("parts", parts)
        if parts is not None and not weights:
            raise UsageError("parts: no part")
        columns = [] if by is None else _arguments.columns("by", by)
        if by is not None and not columns:
            raise UsageError("by: no column")
        if native.is_json_lines():
            text = ",".join(_arguments.text("by", path) for path in columns)
        else:
            numbered = zip(columns, self._numbers_of(columns))
            text = ",".join(_as_rule(column if self._has_header else number, number) for column, number in numbered)
        named = _arguments.parts(weights)
        values = {
            "columns": text,
            "buckets": numbers["buckets"],
            "parts": named,
            "seed": numbers["seed"] or 0,
            "max_values": numbers["max_values"],
            "accepts_missing": accepts_missing,
            **ends,
        }
        return Limits(True, values, [name for name, _ in named])

    def write(
        self,
        folder: str | os.PathLike[str],
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
        header: Header = "repeat",
        select: Sequence[str | int] | None = None,
        redact: Mapping[str, str] | None = None,
        keys: Mapping[str, Key] | None = None,
        name: str | None = None,
        compress: str | None = None,
        manifest: str | os.PathLike[str] | None = None,
        rejects: str | os.PathLike[str] | None = None,
        replace: bool = False,
        progress: Callable[[int, int | None], object] | None = None,
    ) -> list[str]:
        """Writes pieces to files, as the command ``cleave split`` does, and returns their paths in order.

        Either all pieces appear or none: whatever goes wrong, and if Ctrl-C is pressed, nothing is left behind. Reads
        the file once or twice, and holds none of it in memory. A pipe cannot be used any more afterwards.

        folder: the folder of the pieces. It is created if it is missing.
        n, size, records, together, by, balance, accepts_missing, buckets, parts, seed, max_values: as for ``split``.
            With ``select`` and ``redact``, ``size`` limits what is written.
        header: ``"repeat"`` in every piece, ``"first"``: only in the first one, or ``"drop"``: in none.
        select: the columns of the pieces, in this order, by their names or their numbers from 0; all by default.
        redact, keys: as for ``select``.
        name: the names of the pieces, within the folder: a pattern with ``{stem}`` and ``{ext}`` of the file's name,
            the number ``{i}`` or ``{i:05}``, how many there are ``{n}``, the first byte ``{start}``, the first record
            ``{record}``, and the value or the part ``{value}``. By default ``"{stem}.{i}{ext}"`` or, with ``by`` and
            ``parts``, ``"{stem}.{value}{ext}"``.
        compress: ``"gzip"`` or ``"zstd"``, or with a level: ``"gzip:9"``. The names get the suffix ``.gz`` or ``.zst``.
        manifest: the path of a JSON file that lists the pieces, which appears after all of them.
        rejects: the path of a file in which bad records are set aside, as ``cleave split --rejects`` does, with its
            limits. A warning says how many there were. Only for files that were opened by their path, and pipes.
        replace: replace files that have the name of a piece; otherwise they raise ``FileExistsError``.
        progress: called by this thread about ten times a second, and once at the end, with the bytes that have been
            read and written, and the bytes to read and write in all, or None for a pipe. If it raises an exception,
            the job is undone and the exception is passed on. It must not use this file.

        Raises what ``split`` and ``select`` raise, and ``OSError``.
        """
        limits = self._limits(
            n, size, records, together, by, balance, accepts_missing, buckets, parts, seed, max_values
        )
        if _arguments.text("header", header) not in ("repeat", "first", "drop"):
            raise UsageError(f"header: {header!r} is not one of repeat, first, drop")
        columns = None
        if select is not None:
            columns = self._numbers_of(_arguments.columns("select", select))
            if not columns:
                raise UsageError("select: no column")
        rules, ring = self._rules(redact, keys)
        return self._write(
            folder, limits, header, columns, rules, ring, name, compress, manifest, replace, progress, rejects
        )

    def _write(
        self,
        folder: str | os.PathLike[str],
        limits: Limits,
        header: str,
        columns: list[int] | None,
        rules: list[tuple[str, str]],
        keys: KeyRing | None,
        name: str | None,
        compress: str | None,
        manifest: str | os.PathLike[str] | None,
        replace: bool,
        progress: Callable[[int, int | None], object] | None,
        rejects: str | os.PathLike[str] | None = None,
    ) -> list[str]:
        path = _arguments.path("folder", folder)
        if not path:
            raise UsageError('folder: the path is empty; "." is the working directory')
        pattern = _default_name(limits) if name is None else _arguments.text("name", name)
        if not pattern or pattern.startswith("/") or pattern.endswith("/") or ".." in pattern.split("/"):
            raise UsageError(f"name: {pattern!r} is not the name of a file within the folder")
        packing = _arguments.compression(compress)
        if packing is None and name is not None:
            _refuse_plain(pattern)
        if progress is not None and not callable(progress):
            raise _arguments.wrong("progress", "a function", progress)
        list_path = _arguments.file("manifest", manifest)
        rejects_path = _arguments.file("rejects", rejects)
        start = "" if path == "." else path.rstrip("/").replace("{", "{{").replace("}", "}}") + "/"
        began = time.monotonic()
        paths = self._native.write(
            policy=limits.policy(header if self._has_header else "none"),
            columns=columns,
            rules=rules,
            keys=keys,
            names=os.fsencode(start + pattern),
            compression=None if packing is None else packing[0],
            level=None if packing is None else packing[1],
            manifest=os.fsencode(list_path),
            rejects=os.fsencode(rejects_path),
            replace=_arguments.flag("replace", replace),
            progress=progress,
        )
        _log.debug("write: %s: %d pieces in %.3f s", self._name, len(paths), time.monotonic() - began)
        return [os.fsdecode(path) for path in paths]

    def index(self) -> str:
        """Makes the index of the file, ``FILE.cleave`` beside it, as ``cleave index`` does, and returns its path.

        This file uses it from then on, and later ones will, unless they are opened with ``index=False``. Records need
        not be searched for then, and pieces of a gzip file are read from the middle. An older index is replaced.
        Raises ``UsageError`` if it is not a plain or gzip file that was opened by its path, ``OpenQuoteError``, and
        ``OSError``.
        """
        path = os.fsdecode(self._native.make_index())
        _log.debug("index: %s", path)
        return path

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
        """Columns as an Arrow stream, in the given order.

        columns: names, or numbers from 0, or one list of them. ``"*"`` alone means all columns. With none, or an empty
            list, the batches have rows but no columns. Without a header, the names are ``column_1``, ``column_2`` and
            so on.
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
        return self._select(columns, redact, keys, empty_is_null, missing_is_null, binary, page_size, None)

    def _select(
        self,
        columns: tuple[str | int | Sequence[str | int], ...],
        redact: Mapping[str, str] | None,
        keys: Mapping[str, Key] | None,
        empty_is_null: bool,
        missing_is_null: bool,
        binary: bool,
        page_size: int,
        span: list[int] | None,
    ) -> Columns:
        is_list = len(columns) == 1 and isinstance(columns[0], Sequence) and not isinstance(columns[0], (str, bytes))
        wanted = _arguments.columns("a column", columns[0] if is_list else columns)
        has_all = wanted == ["*"]
        if "*" in wanted and not has_all:
            raise UsageError('"*" stands for all columns, so name no others')
        numbers = None if has_all else self._numbers_of(wanted)
        rules, ring = self._rules(redact, keys)
        selection = Selection(
            columns=numbers,
            rules=rules,
            keys=ring,
            is_text=not _arguments.flag("binary", binary),
            empty_is_null=_arguments.flag("empty_is_null", empty_is_null),
            missing_is_null=_arguments.flag("missing_is_null", missing_is_null),
            page_size=_arguments.number("page_size", page_size),
            range=span,
        )
        return Columns(self, selection)

    def _rules(
        self, redact: Mapping[str, str] | None, keys: Mapping[str, Key] | None
    ) -> tuple[list[tuple[str, str]], KeyRing | None]:
        """The rules with where they were given, and the keys."""
        given = _arguments.mapping("redact", redact)
        columns = [_arguments.column("redact", column) for column in given]
        texts = [_arguments.text(f"redact[{column!r}]", rule) for column, rule in given.items()]
        rules = [
            (f"#{number + 1}: {text}", f"redact[{column!r}]")
            for number, text, column in zip(self._numbers_of(columns), texts, columns)
        ]
        ring = _key_ring(_arguments.mapping("keys", keys)) if keys else None
        return rules, ring

    def batches(
        self,
        columns: Sequence[str | int] | None = None,
        schema: Schema | None = None,
        nulls: Sequence[str] = (),
        batch_size: int | None = None,
        *,
        missing_is_null: bool = False,
        rejects: list[Reject] | str | os.PathLike[str] | None = None,
    ) -> Iterator[pyarrow.RecordBatch]:
        """The records as Arrow record batches, with one row for each record that is not empty. Needs pyarrow.

        columns: the names of columns, or their numbers from 0, in this order; all of them by default. With an empty
            list, the batches have rows but no columns.
        schema: the types of columns, by name or number: a dict of Arrow's types, their names such as ``"int64"``,
            ``"date32"``, ``"timestamp[us, tz=UTC]"`` and ``"decimal128(38, 10)"``, the types of NumPy and Polars, or
            Python's int, float, bool, str, bytes, date, time and datetime; or a ``pyarrow.Schema``. Columns that it
            does not name are strings. Numbers are decimal, and ``bool`` is ``true``, ``false``, ``1`` or ``0``, in any
            case. A date is ``2024-12-31``, a time is ``23:59`` or ``23:59:59.999``, and a timestamp may add ``T`` or a
            blank, the time, and, if the type has a time zone, ``Z`` or an offset. ``"dictionary"`` is Arrow's type for
            text with few different values, and columns of bytes need not be UTF-8.
        nulls: texts that are null, quoted or not. An empty value is null in any column that is not one of text or
            bytes, and in those if ``""`` is listed.
        batch_size: the most rows in a batch. Without it, a batch has the records of about 1 MiB, or of 4 MiB if several
            threads read the file.
        missing_is_null: a record may have any number of fields: those that it lacks are null, and surplus ones are left
            out. Otherwise every record must have as many fields as the header.
        rejects: sets bad records aside, as ``write`` does, and those with a value that does not fit its type, instead
            of raising an error. A list gets each as a ``Reject``, before the batch of the next record, and any number
            may be bad. Otherwise it is the path of a new file, which appears when all batches have been taken; more
            bad records than 1 %, if more than ten, raise InputError then. Only for a file that was opened by its path;
            one that is compressed is copied to a temporary file.

        Raises InputError, with the byte and the record, for a value that does not fit its type, a record with a
        different number of fields, and bytes that are not UTF-8 in the columns that are delivered. The byte of such a
        value is None if the input can be read only once, as a pipe can, and a compressed file without an index.
        """
        if rejects is None:
            return self._batches(columns, schema, nulls, batch_size, missing_is_null, None)
        from . import _batches, _rejects

        sink = rejects if isinstance(rejects, list) else _arguments.file("rejects", rejects)
        request = _batches.Request.of(self._native.names(), columns, schema, nulls, missing_is_null, batch_size)
        return _rejects.batches(self, request, sink)

    def _without_rejects(self, path: str, has_any_fields: bool, has_any_number: bool) -> File:
        """The file without the records that a strict reader refuses, which are listed in a new file."""
        file = File.__new__(File)
        native = self._native.without_rejects(os.fsencode(path), has_any_fields, has_any_number)
        file.__dict__.update(self.__dict__, _open=native, _columns=weakref.WeakSet())
        return file

    def stream(
        self,
        schema: Schema | None = None,
        columns: Sequence[str | int] | None = None,
        nulls: Sequence[str] = (),
        *,
        missing_is_null: bool = False,
    ) -> Stream:
        """The columns with types, as ``batches`` delivers them, for anything that reads Arrow streams: ``duckdb.sql``
        finds a variable by its name, and ``pyarrow.table`` and ``polars.DataFrame`` take it. Needs pyarrow.

        Each use reads the file again. Errors in the data surface in the consumer, with the byte and the record in their
        message.
        """
        from . import _batches

        request = _batches.Request.of(self._native.names(), columns, schema, nulls, missing_is_null, None)
        return _batches.Stream(self, request)

    @property
    def schema(self) -> pyarrow.Schema:
        """The names of the columns, and the types that fit the first 100 records: ``f.stream(f.schema)``. Later values
        that do not fit raise ``InputError`` there. Codes such as ``007`` are text. Needs pyarrow."""
        import pyarrow

        from . import _guess

        first = self.head(100)
        kinds = _guess.types_of(first.to_batches(), (), True)
        return pyarrow.schema(zip(first.schema.names, (kind for kind, _ in kinds))) if kinds else first.schema

    def head(self, n: int = 5) -> pyarrow.Table:
        """The first ``n`` records that are not empty, as text. What a record lacks is null. Needs pyarrow."""
        import pyarrow

        from . import _batches

        left = _arguments.number("n", n)
        request = _batches.Request.of(self._native.names(), None, None, (), True, None)
        _ = self.size  # copies what can be read only once
        rows = []
        for batch in _batches.batches(self, request):
            rows.append(batch.slice(0, left))
            left -= rows[-1].num_rows
            if left == 0:
                break
        return pyarrow.Table.from_batches(rows, request.schema)

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
        names = self._native.names() if columns else []
        return [_arguments.number_of(column, names) for column in columns]

    def _view(self, start: int, length: int) -> memoryview:
        if self._owner is not None:
            return self._owner[start : start + length]
        return memoryview(self._native.read(start, length))


def _as_rule(column: str | int, number: int) -> str:
    """The column as rules name it: by its name if that was given, because manifests repeat it."""
    if isinstance(column, str) and re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", column):
        return column
    if isinstance(column, str) and column.isprintable() and "\ufffd" not in column:
        return '"' + column.replace('"', '""') + '"'
    return f"#{number + 1}"


def _default_name(limits: Limits) -> str:
    """The pattern that the command uses, too."""
    if not limits.is_by_value or limits.values["buckets"] is not None:
        return "{stem}.{i}{ext}"
    has_several = limits.values["size"] is not None or limits.values["records"] is not None
    return "{stem}.{value}.{i}{ext}" if has_several else "{stem}.{value}{ext}"


def _refuse_plain(pattern: str) -> None:
    """Refuses a name of a compressed file for a piece that is not compressed."""
    for suffix, format in ((".gz", "gzip"), (".zst", "zstd")):
        if pattern.endswith(suffix):
            raise UsageError(f"name: it ends with {suffix}, but the pieces are not compressed; add compress={format!r}")


def _key_ring(keys: Mapping[object, object]) -> KeyRing:
    sources, given = [], []
    for name, key in keys.items():
        name = _arguments.text("keys", name)
        if isinstance(key, bytes):
            given.append((name, key))
        elif isinstance(key, str) and key.startswith(("file:", "env:", "fd:")):
            sources.append(_arguments.text(f"keys[{name!r}]", f"{name}={key}"))
        else:
            path = _arguments.path(f"keys[{name!r}]", key)
            sources.append(_arguments.text(f"keys[{name!r}]", f"{name}=file:{path}"))
    return KeyRing(sources, given)
