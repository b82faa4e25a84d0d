"""What the readers for Spark, Dask and other engines have in common: many workers read one input, range by range.

A worker summarises a range, for which it does not need any other bytes (``scan_range``). A plan is made from the
summaries (``plan``). A worker, not necessarily the same one, then reads a piece of the plan: it first finds the two
ends of the piece, each near the start of some range, and then reads the records in pages (``Piece.pages``). Every byte
is therefore read twice, plus a little more at each cut. Everything that passes between workers is small and can be
pickled: a summary, a plan, a piece.

Memory use is bounded by the size of a page, or of the longest record if that is larger. Nothing is retried here: a task
that fails raises an error, and the engine runs it again. A task that runs twice has the same result, because the
version of the input is part of the piece: a different version causes an error before any of its records is passed on.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import cleave

from . import _native
from ._errors import InputChangedError, InputError, UsageError

BOM = b"\xef\xbb\xbf"
"""The byte order mark, which is not part of the first record."""
HEAD_SIZE = 64 << 10
"""How many bytes are examined to find the dialect."""
BLOCK_SIZE = 64 << 20
"""The size of a piece in bytes, if neither the number nor the size of pieces is given."""
PAGE_SIZE = 8 << 20
"""Roughly how many bytes of an input a worker holds at once."""
LEAST_RANGE_SIZE = 64 << 10
"""The least number of bytes that a worker summarises; ranges are smaller only if there are at most SPARE_RANGES."""
SPARE_RANGES = 1024


_GZIP = b"\x1f\x8b"

# A version of an input: the first of these that the file system reports. A size alone is not a version.
_VERSION_KEYS = (
    *("ETag", "etag", "md5Hash", "content_md5"),
    *("mtime", "LastModified", "last_modified", "updated", "modified"),
)


@dataclass(frozen=True)
class Source:
    """One version of an input: a local path, or any path that fsspec knows, such as ``s3://bucket/key``."""

    path: str
    size: int
    version: str
    storage_options: Mapping[str, Any] = field(default_factory=dict, repr=False)  # may contain secrets
    is_gzip: bool = False
    """Whether it is a local gzip file with an index. The size and all ranges then refer to the decoded bytes."""

    @staticmethod
    def of(path: str | os.PathLike[str], storage_options: Mapping[str, Any] | None = None) -> Source:
        """The present version of the input. Raises what the file system raises if the input does not exist, and
        UsageError for a local path without ranges: one that is not a regular file, such as a pipe, or a gzip file without
        an index."""
        text = os.fspath(path)
        options = dict(storage_options or {})
        if _is_local(text) and not _is_regular(_local(text)):
            raise UsageError(f"{text}: it is no plain file")
        is_gzip = _is_local(text) and _is_gzip(_local(text))
        size, version = _present(text, options, is_gzip)
        return Source(text, size, version, options, is_gzip)

    def check(self) -> None:
        """Raises InputChangedError unless the present version is this one."""
        present = _present(self.path, self.storage_options, self.is_gzip)
        if present != (self.size, self.version):
            before, now = (f"{version}, {size} bytes" for size, version in ((self.size, self.version), present))
            raise InputChangedError(f"{self.path}: the input changed: {before}, is {now} now")

    @contextlib.contextmanager
    def open(self) -> Iterator[Reader]:
        """A reader for this version. Raises InputChangedError if the input has a different version now."""
        if self.is_gzip:
            file = _open_gzip(_local(self.path))
            if _version_of_gzip(_local(self.path), file) != (self.size, self.version):
                raise InputChangedError(f"{self.path}: the input changed")
            yield Reader(self, file.read, lambda: None)  # which notices changes itself
            return
        if _is_local(self.path):
            # O_NONBLOCK avoids waiting if a pipe has taken the place of the file.
            descriptor = os.open(_local(self.path), os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
            try:
                self._check_descriptor(descriptor)
                yield Reader(
                    self,
                    lambda start, size: _pread(descriptor, start, size),
                    lambda: self._check_descriptor(descriptor),
                )
            finally:
                os.close(descriptor)
            return
        system, inner = _system_of(self.path, self.storage_options)
        with system.open(inner, "rb", cache_type="none") as file:
            self.check()
            # s3fs requests each range with If-Match and the ETag that the file had when it was opened.
            is_conditional = type(system).__name__ == "S3FileSystem"
            yield Reader(
                self,
                lambda start, size: _fetch(self.path, file, start, size),
                (lambda: None) if is_conditional else self.check,
            )
        if is_conditional:  # for a store that ignores If-Match
            self.check()

    def _check_descriptor(self, descriptor: int) -> None:
        if _stat_version(os.fstat(descriptor)) != (self.size, self.version):
            raise InputChangedError(f"{self.path}: the input changed")


class Reader:
    """Reads ranges of a Source. For use by one thread."""

    def __init__(self, source: Source, fetch: Callable[[int, int], bytes], check: Callable[[], None]) -> None:
        self._source = source
        self._fetch = fetch
        self._check = check  # checks that the fetched bytes are from this version

    @property
    def size(self) -> int:
        """The size of the input in bytes."""
        return self._source.size

    def read(self, start: int, size: int) -> bytes:
        """Exactly ``size`` bytes from ``start``, of this version. Raises InputChangedError if the version is different,
        OSError for fewer or more bytes, and what the file system raises."""
        if start + size > self._source.size:
            raise UsageError(f"bytes {start} to {start + size} of {self._source.size}")
        if size == 0:
            return b""
        data = self._fetch(start, size)
        if len(data) != size:
            self._source.check()
            raise OSError(f"{self._source.path}: {len(data)} bytes instead of {size} came from byte {start}")
        self._check()
        return data


def _is_local(path: str) -> bool:
    return "://" not in path or path.startswith("file:/")


def _local(path: str) -> str:
    """The path of a local file, given as a path, file:///PATH, file://localhost/PATH or, as Hadoop writes it,
    file:/PATH."""
    return re.sub("^file:(?=/)(//(localhost(?=/))?)?", "", path)


def _is_regular(path: str) -> bool:
    status = os.stat(path)
    if not stat.S_ISREG(status.st_mode):
        return False
    if status.st_size > 0:
        return True
    with open(path, "rb") as file:  # files in /proc report size 0, too
        return file.read(1) == b""


def _is_gzip(path: str) -> bool:
    with open(path, "rb") as file:
        return file.read(2) == _GZIP


def _open_gzip(path: str) -> _native.File:
    """A gzip file, to be read by its index."""
    # Any dialect will do, because only bytes are read.
    file = cleave.open(path, delimiter=",", terminator="lf", threads=1)._native
    if not file.is_gzip_by_index():
        raise UsageError(f"{path} is compressed, and has no index by which ranges of it can be read: cleave index makes one")
    return file


def _version_of_gzip(path: str, file: _native.File) -> tuple[int, str]:
    compressed_size, version = _stat_version(os.stat(path))
    return file.size(), f"{version}, {compressed_size} bytes compressed"


def _stat_version(status: os.stat_result) -> tuple[int, str]:
    return status.st_size, f"mtime_ns:{status.st_mtime_ns}"


def _system_of(path: str, options: Mapping[str, Any]) -> tuple[Any, str]:
    import fsspec

    return fsspec.core.url_to_fs(path, **options)  # type: ignore[no-any-return]


def _present(path: str, options: Mapping[str, Any], is_gzip: bool) -> tuple[int, str]:
    """The size and the version of what is at the path now."""
    if is_gzip:
        return _version_of_gzip(_local(path), _open_gzip(_local(path)))
    if _is_local(path):
        return _stat_version(os.stat(_local(path)))
    system, inner = _system_of(path, options)
    system.invalidate_cache()
    about = system.info(inner)
    for key in _VERSION_KEYS:
        if about.get(key) is not None:
            if about.get("size") is None:
                break
            return about["size"], f"{key}:{about[key]}"
    raise UsageError(f"{path}: this file system tells no size, or no version: a change could not be noticed")


def _pread(descriptor: int, start: int, size: int) -> bytes:
    parts = []
    while size > 0:
        part = os.pread(descriptor, size, start)
        if not part:
            break
        parts.append(part)
        start, size = start + len(part), size - len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _fetch(path: str, file: Any, start: int, size: int) -> bytes:
    file.seek(start)
    try:
        return file.read(size)  # type: ignore[no-any-return]
    except OSError as error:
        if type(error).__name__ == "FileExpired":  # from s3fs: If-Match did not match
            raise InputChangedError(f"{path}: the input changed") from error
        raise


@dataclass(frozen=True)
class Format:
    """How to read an input. It is complete: nothing remains to be found from the data."""

    options: Mapping[str, Any]  # for the dialect, as for cleave.open
    has_header: bool = True
    preamble: int = 0  # bytes of the input before its header; pages do not contain them

    @staticmethod
    def settle(path: str, head: bytes, has_header: bool, options: Mapping[str, Any]) -> Format:
        """Finds what the options leave open in the first HEAD_SIZE bytes of the input."""
        if head.startswith((_GZIP, b"\x28\xb5\x2f\xfd")):
            raise UsageError(f"{path} is compressed, and ranges of it cannot be read; of a local gzip file with an index, they can")
        given = {name: value for name, value in options.items() if value is not None}
        name = path.lower().removesuffix(".gz")
        if "delimiter" not in given and "dialect" not in given and name.endswith((".tsv", ".tab")):
            given["delimiter"] = "\t"
        found = cleave.open(head, header=has_header, **given).dialect
        for name in ("skip_lines", "comment"):
            given.pop(name, None)
        # quote and escape as bytes; b"" means that there is no such byte. Properties that only a preset can set are
        # left to the preset.
        settled = {
            "delimiter": found.delimiter,
            "quote": found.quote or b"",
            "escape": found.escape or b"",
            "quoting": found.quoting,
            "terminator": found.terminator,
            "escape_scope": found.escape_scope,
        }
        return Format({**given, **settled}, has_header, found.preamble)

    def open(self, data: bytes | bytearray, header: bool = True, allow_open_quote: bool = False) -> cleave.File:
        """Opens bytes of this format. The engine runs several tasks at once, so each uses a single thread."""
        return cleave.open(memoryview(data), header=header, allow_open_quote=allow_open_quote, threads=1, **self.options)

    def find_no_text(self, data: bytes) -> int | None:
        """The index of the first byte that is not UTF-8. Delimiters, quotes and escapes may be any bytes."""
        between = b"".join(self.options[name] for name in ("delimiter", "quote", "escape"))
        try:
            data.translate(bytes.maketrans(between, b"," * len(between))).decode()
        except UnicodeDecodeError as error:
            return error.start
        return None


@dataclass(frozen=True)
class Page:
    """Whole records, preceded by the header."""

    data: bytes  # the header and the records
    header_size: int
    start: int  # where the first record starts in the input
    format: Format

    def open(self) -> cleave.File:
        """The page as a file. Byte numbers in it count from the start of the page: see ``place``."""
        return self.format.open(self.data, allow_open_quote=True)

    def place(self, byte: int) -> int:
        """The offset in the input of a byte of the page."""
        return self.start + byte - self.header_size

    def error(self, message: str, byte: int | None = None) -> InputError:
        """An InputError about the page, or about one of its bytes."""
        if byte is None:
            last = self.start + len(self.data) - self.header_size
            return InputError(f"{message} (in the records from byte {self.start} to {last})")
        return InputError(message, self.place(byte))


@dataclass(frozen=True)
class Piece:
    """The records of an input that one worker reads: from one cut to the next. Small, and can be pickled."""

    source: Source
    format: Format
    header: bytes  # with the empty records before it; invented if the input has no header
    begin: Any  # cuts of a plan; None is the end of the input
    end: Any
    number: int

    def pages(self, page_size: int = PAGE_SIZE) -> Iterator[Page]:
        """The records in order, in pages of roughly ``page_size`` bytes. Each page has at least one record."""
        if page_size < 1:
            raise UsageError("page_size: at least 1")
        with self.source.open() as reader:
            start = _find(self.begin, reader, self.source)
            # An invented header is not in the input.
            if not self.format.has_header and start == 0 and reader.read(0, min(len(BOM), reader.size)) == BOM:
                start = len(BOM)
            end = _find(self.end, reader, self.source)
            rest = b""
            while start < end:
                fetched = start + len(rest)
                data = rest + reader.read(fetched, min(max(page_size, len(rest)), end - fetched))
                size = len(data) if start + len(data) == end else self._size_of_records(data)
                if size > 0:
                    yield Page(self.header + data[:size], len(self.header), start, self.format)
                start, rest = start + size, data[size:]

    def _size_of_records(self, data: bytes) -> int:
        """The size of the whole records at the start of ``data``, except for the last one, which may continue after
        it."""
        file = self.format.open(self.header + data, allow_open_quote=True)
        records = file.records
        if records < 2:
            return 0
        return int(file.split(records=records - 1).starts[1]) - len(self.header)


def _find(cut: Any, reader: Reader, source: Source) -> int:
    return source.size if cut is None else int(cut.find(reader.read)[0])


@dataclass(frozen=True)
class Plan:
    """Where the pieces of an input are."""

    names: list[str]
    pieces: list[Piece]
    line_break: bytes
    """The first line break of the input, quoted or not. LF if the input has no line break."""

    def text(self) -> str:
        """The plan as JSON, without storage options."""
        about: dict[str, Any] = {"names": self.names, "line_break": self.line_break.decode()}
        if self.pieces:
            first = self.pieces[0]
            source = first.source
            about["source"] = {"path": source.path, "size": source.size, "version": source.version, "is_gzip": source.is_gzip}
            about["options"] = {name: _text(value) for name, value in first.format.options.items()}
            about["has_header"] = first.format.has_header
            about["header"] = _text(first.header)
            about["cuts"] = [piece.begin._native.__getstate__() for piece in self.pieces]
        return json.dumps(about)

    @staticmethod
    def of_text(text: str, storage_options: Mapping[str, Any]) -> Plan:
        """The plan that the text contains. Raises UsageError if it is not a plan."""
        try:
            about = json.loads(text)
            names, line_break = about["names"], about["line_break"].encode()
            if "cuts" not in about:
                return Plan(names, [], line_break)
            source = Source(**about["source"], storage_options=storage_options)
            options = {name: _of_text(name, value) for name, value in about["options"].items()}
            form, header = Format(options, about["has_header"]), about["header"].encode("latin-1")
            cuts = [_cut_of_text(cut) for cut in about["cuts"]]
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise UsageError(f"this is no plan: {error}") from error
        return Plan(names, _pieces(source, form, header, cuts), line_break)


def _text(value: str | bytes) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else value


def _of_text(name: str, value: str) -> str | bytes:
    return value.encode("latin-1") if name in ("delimiter", "quote", "escape") else value


def _cut_of_text(text: str) -> cleave.Cut:
    cut = _native.Cut.__new__(_native.Cut)
    cut.__setstate__(text)
    return cleave.Cut(cut)


@dataclass(frozen=True)
class Range:
    """Bytes of an input to be summarised."""

    source: Source
    format: Format
    begin: int
    end: int
    page_size: int = PAGE_SIZE


class Ranges(Sequence[Range]):
    """The ranges of an input, one for each piece. Small, whatever their number."""

    def __init__(self, source: Source, form: Format, count: int) -> None:
        self._source = source
        self._format = form
        # Each summary takes a few KiB, and at the end all of them are in memory.
        most = max(-(-source.size // LEAST_RANGE_SIZE), SPARE_RANGES)
        self._count = min(count, source.size, most)

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, number: int) -> Range:  # type: ignore[override]
        if not 0 <= number < self._count:
            raise IndexError("there is no such range")
        size = self._source.size
        return Range(self._source, self._format, size * number // self._count, size * (number + 1) // self._count)


Map = Callable[[Callable[[Range], Any], Ranges], Iterable[Any]]
"""Applies a function to each range with the workers of an engine; the results may come in any order."""


def scan_range(part: Range) -> Any:
    """The summary of a range. Reads only the range's own bytes."""
    total = None
    with part.source.open() as reader:
        for start in range(part.begin, part.end, part.page_size):
            data = reader.read(start, min(part.page_size, part.end - start))
            summary = cleave.scan(data, start, preamble=part.format.preamble, **part.format.options)
            total = summary if total is None else total + summary
    return total


def scan_by_threads(function: Callable[[Range], Any], ranges: Ranges) -> list[Any]:
    """A Map for one machine, with as many threads as cores. The scan itself releases the GIL."""
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        return list(pool.map(function, ranges))


def plan(
    path: str | os.PathLike[str],
    *,
    pieces: int | None = None,
    blocksize: int | None = None,
    header: bool = True,
    map: Map = scan_by_threads,  # noqa: A002
    storage_options: Mapping[str, Any] | None = None,
    **dialect: Any,
) -> Plan:
    """Plans how workers read an input: ``map`` summarises its ranges, and this function folds the summaries.

    pieces: the number of pieces, of nearly equal bytes, like ``n`` in ``File.split``; or
    blocksize: roughly how many bytes each of them has; 64 MiB if neither is given. A piece can be empty if a record is
        longer than a piece.
    dialect: options of ``cleave.open``. Anything they leave open is found once, from the first 64 KiB.

    Raises InputError if a quote is open at the end of the input, or the header is not UTF-8.
    """
    if pieces is not None and blocksize is not None:
        raise UsageError("pieces and blocksize cannot be used together")
    source = Source.of(path, storage_options)
    with source.open() as reader:
        head = reader.read(0, min(HEAD_SIZE, source.size))
    if not head:
        return Plan([], [], b"\n")
    form = Format.settle(source.path, head, header, dialect)
    if pieces is None:
        size = BLOCK_SIZE if blocksize is None else blocksize
        if size < 1:
            raise UsageError("blocksize: at least 1")
        pieces = max(1, -(-source.size // size))
    if pieces < 1:
        raise UsageError("pieces: at least 1")
    summaries = map(scan_range, Ranges(source, form, pieces))
    found = cleave.plan(summaries, n=pieces, input_size=source.size, header=header)
    with source.open() as reader:
        if header:
            first = reader.read(form.preamble, found.header_size - form.preamble)
            line_break = _first_line_break(first)
        else:
            first, line_break = _made_up_header(reader, form)
    fault = form.find_no_text(first)
    if fault is not None:
        raise InputError(f"{source.path}: bytes that are not UTF-8", fault, 0)
    names = form.open(first).header or []
    return Plan(names, _pieces(source, form, first, found.cuts), line_break)


def _pieces(source: Source, form: Format, header: bytes, cuts: list[Any]) -> list[Piece]:
    ends = zip(cuts, [*cuts[1:], None])
    return [Piece(source, form, header, begin, end, number) for number, (begin, end) in enumerate(ends)]


def _first_line_break(data: bytes) -> bytes:
    match = re.search(rb"\r\n|\r|\n", data)
    return match.group() if match else b"\n"


def _made_up_header(reader: Reader, form: Format) -> tuple[bytes, bytes]:
    """A header for an input without one, with as many columns as the first record has fields, and the first line
    break."""
    size = HEAD_SIZE
    while True:
        size = min(size, reader.size - form.preamble)
        head = reader.read(form.preamble, size)
        file = form.open(head, header=False, allow_open_quote=True)
        if size == reader.size - form.preamble or file.records > 1:
            break
        size *= 4
    line_break = _first_line_break(head)
    end = b"\r" if form.options["terminator"] == "cr" else b"\n" if line_break == b"\r" else line_break
    names = [f"_c{number}".encode() for number in range(len(file.select("*").names))]
    return form.options["delimiter"].join(names) + end, line_break
