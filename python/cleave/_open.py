"""Opens files, and everything else that has the bytes of one."""

from __future__ import annotations

import copyreg
import io
import logging
import os
import stat
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol, cast

from . import _arguments, _native
from ._errors import InputChangedError, UsageError
from ._file import File, Recipe
from ._types import Dialect

if TYPE_CHECKING:
    from typing_extensions import Buffer

_log = logging.getLogger("cleave")

class BinaryFile(Protocol):
    """A file object that reads bytes."""

    def read(self, size: int, /) -> bytes: ...


_COPY_SIZE = 1 << 20


def settings_of(
    dialect: str | Dialect | None,
    options: dict[str, str | bytes | None],
    header: bool,
    allow_open_quote: bool,
    threads: int | None,
    *,
    skip_lines: int = 0,
    preamble: int = 0,
    index: bool = True,
) -> _native.Settings:
    """Checks the arguments of ``open`` and ``scan``."""
    if isinstance(dialect, Dialect):
        settings = _native.Settings(None)
        options = {**_options_of(dialect), **{name: value for name, value in options.items() if value is not None}}
    else:
        settings = _native.Settings(None if dialect is None else _arguments.text("dialect", dialect))
    for option, value in options.items():
        if isinstance(value, str):
            settings.set(option, _encoded(option, value))
        elif value is not None:
            if not isinstance(value, bytes):
                raise TypeError(f"{option}: a str or bytes, and not {type(value).__name__}")
            settings.set(option, value)
    settings.skip_lines = _arguments.number("skip_lines", skip_lines)
    settings.preamble = _arguments.number("preamble", preamble)
    settings.has_header = _arguments.flag("header", header)
    settings.allow_open_quote = _arguments.flag("allow_open_quote", allow_open_quote)
    settings.uses_index = _arguments.flag("index", index)
    if threads is None:
        threads = len(os.sched_getaffinity(0))
    threads = _arguments.number("threads", threads)
    if not 1 <= threads <= 1024:
        raise UsageError("threads: from 1 to 1024")
    settings.threads = threads
    return settings


def _encoded(option: str, value: str) -> bytes:
    try:
        return value.encode("utf-8" if option == "comment" else "latin-1")
    except UnicodeEncodeError:
        what = "one byte" if option in ("delimiter", "quote", "escape") else "it has a character that cannot be used"
        raise UsageError(f"{option}: {what}") from None


def _options_of(dialect: Dialect) -> dict[str, str | bytes | None]:
    """The options that stand for the dialect, without the lines before the header, which belong to one file."""
    options: dict[str, str | bytes | None] = {}
    for name in ("delimiter", "quote", "escape", "escape_scope", "quoting", "terminator", "header"):
        value: object = getattr(dialect, name)
        if value is None:
            if name == "escape":
                continue  # as by default; giving it would say that a backslash before a quote is plain data
            value = b""  # no such byte
        if not isinstance(value, (str, bytes)):
            raise TypeError(f"dialect.{name}: a str or bytes, and not {type(value).__name__}")
        options[name] = value
    return options


def open(  # noqa: A001
    source: str | os.PathLike[str] | Buffer | BinaryFile,
    *,
    dialect: str | Dialect | None = None,
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
    storage_options: Mapping[str, Any] | None = None,
) -> File:
    """Opens CSV, and finds its dialect from the first 64 KiB.

    source: one of

        - a path, where ``"-"`` is standard input. A file is read as needed; if it becomes shorter, an error is raised.
          Compressed files and pipes are copied, decompressed, to a temporary file if more than one pass is needed, but
          see ``index``.
        - a URL, such as ``"file:///data/in.csv"``, where bytes can be ``%`` codes, or, with the package fsspec,
          ``"s3://bucket/in.csv"``. A file that is not on this machine is copied to a temporary file first.
        - an object with contiguous bytes, such as ``bytes``, ``memoryview``, ``mmap`` or an array. They are read in
          place, unless they are compressed. ``bytes`` are content and never a path, so ``bytes`` that are the name of a
          file raise ``UsageError``. If the file of an ``mmap`` becomes shorter in the meantime, the process dies, as
          always in Python.
        - a binary file object, which is read from its current position, and copied to a temporary file unless it is
          what the built-in ``open`` returns for a regular file, at its start.
    dialect: a preset: rfc4180, excel, python, pandas, polars, arrow, duckdb, postgres, mysql, clickhouse, miller, tsv,
        jsonl; or the ``Dialect`` of another file. The other options change parts of it. Lines before the header are not
        part of a ``Dialect`` here, because each file has its own.
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
    encoding: the name of one of Python's codecs for sets of single bytes, such as ``"cp1252"``, or for UTF-8 or UTF-16;
        or ``"auto"``: the first MiB says which, or it is an ``InputError``. The file is converted to UTF-8 as it is
        read, and sizes and offsets refer to the UTF-8 text. Without it, the bytes are read as they are, in any encoding in which the bytes that have a
        meaning in CSV are ASCII, such as UTF-8 and Latin-1.
    index: use the index beside the file, ``FILE.cleave``, if ``cleave index`` has made one and the file is still the
        same. Records need not be searched for then, and pieces of a gzip file are read from the middle, without a
        copy. ``File.index`` makes one, too. An index that cannot be trusted is not used, and causes a
        ``CleaveWarning``. With ``redact``, nothing is read by it, and pieces that were planned with it are compared
        with a scan of the file.
    threads: the number of threads; by default, one for each core that the process may use. Results do not depend on it.
    storage_options: for fsspec, which opens URLs, as in ``cleave.ranges.plan``.

    Raises ``OSError`` if the system or a store cannot open it, ``InputError`` for what is not CSV, and ``UsageError``
    and ``TypeError`` for arguments that cannot be used.
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
    settings = settings_of(dialect, options, header, allow_open_quote, threads, skip_lines=skip_lines, index=index)
    file = _opened(source, settings, _arguments.mapping("storage_options", storage_options))
    native = file._native
    version = native.version()
    if version is not None:
        # For pickle. Sniffing the same version again finds the same dialect.
        arguments: dict[str, object] = {
            "dialect": dialect,
            **options,
            "skip_lines": skip_lines,
            "header": header,
            "allow_open_quote": allow_open_quote,
            "index": index,
            "threads": threads,
        }
        file._recipe = Recipe(os.path.abspath(file.name), version, arguments)
    if _log.isEnabledFor(logging.DEBUG):
        found = file.dialect
        parts = found.delimiter, found.quote, found.terminator
        _log.debug("open: %s: delimiter %r, quote %r, terminator %s", file.name, *parts)
    return file


def _recipe_of(file: File) -> tuple[Callable[[Recipe], File], tuple[Recipe]]:
    file._native  # noqa: B018  raises if it is closed
    if file._recipe is None:
        raise UsageError(f"{file._name}: only a File that was opened by the path of a regular file can be pickled")
    return reopen, (file._recipe,)


copyreg.pickle(File, _recipe_of)


def reopen(recipe: Recipe) -> File:
    """The file that was pickled. Raises InputChangedError if there is another version of it."""
    file = open(recipe.path, **recipe.arguments)  # type: ignore[arg-type]
    if file._native.version() != recipe.version:
        file.close()
        raise InputChangedError(f"{recipe.path}: the file has changed since it was pickled")
    return file


def _opened(source: object, settings: _native.Settings, storage_options: Mapping[Any, Any]) -> File:
    if isinstance(source, str):
        if _arguments.is_remote(source):
            return _of_url(source, settings, storage_options)
        return _of_path(_arguments.local_path("source", source), settings)
    if isinstance(source, os.PathLike):
        return _of_path(_arguments.path("source", source), settings)
    if isinstance(source, io.TextIOBase):
        raise TypeError("source: a file object that reads text; open it in binary mode, 'rb'")
    if isinstance(source, io.BytesIO):
        return _of_bytes(source.getbuffer()[source.tell() :], settings)
    if _is_buffer(source):
        if isinstance(source, (bytes, bytearray)):
            _refuse_name(source)
        view = memoryview(cast("Buffer", source))
        if not view.c_contiguous:
            raise _arguments.wrong("source", "contiguous bytes", source)
        return _of_bytes(view.cast("B") if view.nbytes > 0 else memoryview(b""), settings)
    if not callable(getattr(source, "read", None)):
        raise _arguments.wrong("source", "a path, a URL, an object with bytes, or a binary file object", source)
    file = cast(BinaryFile, source)
    name = getattr(source, "name", None)
    if not isinstance(name, str) or not name or "\0" in name:
        name = "stream"
    path = _path_of(file)
    return _of_path(path, settings, name) if path is not None else _of_copy(file, settings, name)


def _of_path(path: str, settings: _native.Settings, name: str = "") -> File:
    if not path:
        raise UsageError("source: the path is empty")
    native = _native.File.of_path(os.fsencode(path), settings, os.fsencode(name))
    return File(native, None, settings, name or path)


def _of_bytes(view: memoryview, settings: _native.Settings) -> File:
    if _native.is_compressed(view):
        return _of_copy(io.BytesIO(view), settings, "memory")
    return File(_native.File.of_buffer(view, "memory", settings), view.toreadonly(), settings, "memory")


def _of_copy(file: BinaryFile, settings: _native.Settings, name: str) -> File:
    import tempfile  # rarely needed and slow to import

    with tempfile.TemporaryFile() as copy:
        while True:
            data = file.read(_COPY_SIZE)
            if not isinstance(data, (bytes, bytearray, memoryview)):
                raise TypeError(f"source: a file object whose read() returns {type(data).__name__}, and not bytes")
            if not data:
                break
            copy.write(data)
        copy.flush()
        return _of_path(f"/proc/self/fd/{copy.fileno()}", settings, name)


def _of_url(url: str, settings: _native.Settings, options: Mapping[str, Any]) -> File:
    from ._urls import asked, shown  # rarely needed

    try:
        import fsspec
    except ImportError as error:
        raise ImportError(f"{shown(url)}: a URL needs the package fsspec") from error

    def copy() -> File:
        with fsspec.open(url, "rb", **options) as file:
            return _of_copy(cast(BinaryFile, file), settings, shown(url))

    return asked(url, options, copy)


def _refuse_name(data: bytes | bytearray) -> None:
    """Refuses content without a line break that is the name of a file: it is hardly meant as content."""
    if 0 < len(data) < 4096 and not any(byte in data for byte in b"\n\r\0"):
        if os.path.isfile(bytes(data)):
            name = os.fsdecode(bytes(data))
            raise UsageError(f"source: bytes are content, and there is a file {name!r}; give its name as a str")


def _is_buffer(source: object) -> bool:
    try:
        memoryview(source).release()  # type: ignore[arg-type]
    except TypeError:
        return False
    return True


def _path_of(file: BinaryFile) -> str | None:
    """A path that opens the file behind a file object, if the object is a plain file at its start."""
    # A file object that decompresses or decrypts has the descriptor of the file that it reads, and looks the same.
    raw = file.raw if type(file) is io.BufferedReader else file
    if type(raw) is not io.FileIO:
        return None
    try:
        descriptor = raw.fileno()
        if not stat.S_ISREG(os.fstat(descriptor).st_mode) or cast(io.IOBase, file).tell() != 0:
            return None
    except (OSError, ValueError):
        return None
    return f"/proc/self/fd/{descriptor}"
