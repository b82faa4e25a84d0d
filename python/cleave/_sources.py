"""Inputs that are read by ranges: local files, local gzip files with an index, and anything that fsspec knows."""

from __future__ import annotations

import contextlib
import glob
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import cleave

from . import _arguments, _native
from ._errors import InputChangedError, UsageError
from ._urls import asked, shown

GZIP = b"\x1f\x8b"
INDEX_SUFFIX = ".cleave"

# A version of an input: the first of these that the file system reports. A size alone is not a version.
_VERSION_KEYS = (
    *("ETag", "etag", "e_tag", "md5Hash", "content_md5"),
    *("mtime", "LastModified", "last_modified", "updated", "modified"),
)


def expand(
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]], options: Mapping[str, Any], name: str = "paths"
) -> list[str]:
    """The inputs that the paths mean: paths, URLs, patterns with ``*``, ``?``, ``[...]`` and ``**``, and folders.

    A pattern stands for its matches in the order of their names and, if there are none, for the file of that name. A
    folder stands for its files, but not for those of folders in it, for names that begin with ``.`` or ``_``, and for
    indexes; a URL is one of a folder if it ends in ``/``. Raises FileNotFoundError if nothing is left. ``name`` is what
    the caller's argument is called.
    """
    given = [paths] if isinstance(paths, (str, bytes, os.PathLike)) else paths
    if not isinstance(given, Iterable):
        raise _arguments.wrong(name, "a path or several", paths)
    found = [one for path in given for one in _inputs_of(_arguments.path(name, path), options)]
    if not found:
        raise FileNotFoundError(f"there is no file {paths}")
    return found


def _inputs_of(path: str, options: Mapping[str, Any]) -> list[str]:
    if is_local(path):
        if path == "-":
            raise UsageError("paths: ranges of standard input cannot be read; ./- is a file with the name -")
        pattern = _arguments.local_pattern("paths", path)
        if _is_pattern(path) and not os.path.isdir(path):
            matches = [one for one in glob.glob(pattern, recursive=True) if os.path.isfile(one) and _is_meant(one, pattern)]
            return sorted(matches) or [path]
        local = local_path(path)
        if os.path.isdir(local):
            return [os.path.join(local, name) for name in sorted(os.listdir(local)) if _is_input(local, name)]
        return [path]
    if not _is_pattern(path) and not path.endswith("/"):
        return [path]
    system, inner = _system_of(path, options)
    pattern = inner.rstrip("/") + "/*" if path.endswith("/") else inner
    found = asked(path, options, lambda: system.glob(pattern, detail=True))
    matches = [name for name, about in found.items() if about["type"] == "file"]
    if path.endswith("/"):
        matches = [name for name in matches if _is_name_of_input(name.rpartition("/")[2])]
    return [system.unstrip_protocol(one) for one in sorted(matches) if _is_meant(one, pattern)] or [path]


def _is_pattern(path: str) -> bool:
    # In a web URL, "?" begins a query.
    return any(letter in path for letter in ("*[" if path.startswith(("http://", "https://")) else "*?["))


def _is_input(folder: str, name: str) -> bool:
    return _is_name_of_input(name) and os.path.isfile(os.path.join(folder, name))


def _is_name_of_input(name: str) -> bool:
    return not name.startswith((".", "_")) and not name.endswith(INDEX_SUFFIX)


def _is_meant(path: str, pattern: str) -> bool:
    """Whether a match is not the index of an input, or such are asked for."""
    return not path.endswith(INDEX_SUFFIX) or pattern.endswith(INDEX_SUFFIX)


@dataclass(frozen=True)
class Source:
    """One version of an input: a local path, or any path that fsspec knows, such as ``s3://bucket/key``."""

    path: str
    size: int
    version: str
    storage_options: Mapping[str, Any] = field(default_factory=dict, repr=False)  # may contain secrets
    is_gzip: bool = False
    """Whether it is a local gzip file with an index. The size and all ranges then refer to the decoded bytes."""
    include_secrets: bool = field(default=False, compare=False)
    """Whether it can be pickled although it has storage options."""

    @property
    def name(self) -> str:
        """The path as messages show it: without a password and a query."""
        return shown(self.path)

    def __getstate__(self) -> dict[str, Any]:
        if self.storage_options and not self.include_secrets:
            raise UsageError(
                f"{self.name}: storage_options may have secrets, and are pickled only with include_secrets=True"
            )
        return self.__dict__

    @staticmethod
    def of(
        path: str | os.PathLike[str], storage_options: Mapping[str, Any] | None = None, include_secrets: bool = False
    ) -> Source:
        """The present version of the input. Raises what the file system raises if the input does not exist, and
        UsageError for a local path without ranges: one that is not a regular file, such as a pipe, or a gzip file without
        an index."""
        text = os.fspath(path)
        options = dict(storage_options or {})
        if is_local(text) and not _is_regular(local_path(text)):
            raise UsageError(f"{text}: it is no plain file")
        is_gzip = is_local(text) and _is_gzip(local_path(text))
        size, version = _present(text, options, is_gzip)
        return Source(text, size, version, options, is_gzip, include_secrets)

    def check(self) -> None:
        """Raises InputChangedError unless the present version is this one."""
        present = _present(self.path, self.storage_options, self.is_gzip)
        if present != (self.size, self.version):
            before, now = (f"{version}, {size} bytes" for size, version in ((self.size, self.version), present))
            raise InputChangedError(f"{self.name}: the input changed: {before}, is {now} now")

    @contextlib.contextmanager
    def open(self) -> Iterator[Reader]:
        """A reader for this version. Raises InputChangedError if the input has a different version now."""
        if self.is_gzip:
            file = _open_gzip(local_path(self.path))
            if _version_of_gzip(local_path(self.path), file) != (self.size, self.version):
                raise InputChangedError(f"{self.name}: the input changed")
            yield Reader(self, file.read, lambda: None)  # which notices changes itself
            return
        if is_local(self.path):
            # O_NONBLOCK avoids waiting if a pipe has taken the place of the file.
            descriptor = os.open(local_path(self.path), os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
            try:
                self._check_descriptor(descriptor)
                yield Reader(
                    self,
                    lambda start, size: _pread(descriptor, start, size),
                    lambda: self._check_descriptor(descriptor),
                    lambda start, buffer: _pread_into(descriptor, start, buffer),
                )
            finally:
                os.close(descriptor)
            return
        system, inner = _system_of(self.path, self.storage_options)
        opened = asked(self.path, self.storage_options, lambda: system.open(inner, "rb", cache_type="none"))
        with opened as file:
            self.check()
            # s3fs requests each range with If-Match and the ETag that the file had when it was opened.
            is_conditional = type(system).__name__ == "S3FileSystem"
            yield Reader(
                self,
                lambda start, size: _fetch(self, file, start, size),
                (lambda: None) if is_conditional else self.check,
            )
        if is_conditional:  # for a store that ignores If-Match
            self.check()

    def _check_descriptor(self, descriptor: int) -> None:
        if _stat_version(os.fstat(descriptor)) != (self.size, self.version):
            raise InputChangedError(f"{self.name}: the input changed")


class Reader:
    """Reads ranges of a Source. For use by one thread."""

    def __init__(
        self,
        source: Source,
        fetch: Callable[[int, int], bytes],
        check: Callable[[], None],
        fetch_into: Callable[[int, memoryview], int] | None = None,
    ) -> None:
        self._source = source
        self._fetch = fetch
        self._check = check  # checks that the fetched bytes are from this version
        self._fetch_into = fetch_into or self._copy  # returns how many bytes it fetched

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
        self._check_fetched(start, size, len(data))
        return data

    def read_into(self, start: int, buffer: memoryview) -> None:
        """Like ``read``, but fills the buffer: of a local file, without a copy."""
        size = len(buffer)
        if start + size > self._source.size:
            raise UsageError(f"bytes {start} to {start + size} of {self._source.size}")
        if size > 0:
            self._check_fetched(start, size, self._fetch_into(start, buffer))

    def _copy(self, start: int, buffer: memoryview) -> int:
        data = self._fetch(start, len(buffer))
        buffer[: len(data)] = data[: len(buffer)]
        return len(data)

    def _check_fetched(self, start: int, size: int, fetched: int) -> None:
        if fetched != size:
            self._source.check()
            raise OSError(f"{self._source.name}: {fetched} bytes instead of {size} came from byte {start}")
        self._check()


def is_local(path: str) -> bool:
    return not _arguments.is_remote(path)


def local_path(path: str) -> str:
    """The path of a local file that is given as a path or a URL."""
    return _arguments.local_path("paths", path)


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
        return file.read(2) == GZIP


def _open_gzip(path: str) -> _native.File:
    """A gzip file, to be read by its index."""
    # Any dialect will do, because only bytes are read.
    file = cleave.open(path, delimiter=",", terminator="lf", threads=1)._native
    if not file.is_gzip_by_index():
        why = "is compressed, and has no index by which ranges of it can be read: File.index makes one"
        raise UsageError(f"{path} {why}")
    return file


def _version_of_gzip(path: str, file: _native.File) -> tuple[int, str]:
    compressed_size, version = _stat_version(os.stat(path))
    return file.size(), f"{version}, {compressed_size} bytes compressed"


def _stat_version(status: os.stat_result) -> tuple[int, str]:
    return status.st_size, f"mtime_ns:{status.st_mtime_ns}"


def _system_of(path: str, options: Mapping[str, Any]) -> tuple[Any, str]:
    def find() -> tuple[Any, str]:
        import fsspec

        return fsspec.core.url_to_fs(path, **options)  # type: ignore[no-any-return]

    return asked(path, options, find)


def _present(path: str, options: Mapping[str, Any], is_gzip: bool) -> tuple[int, str]:
    """The size and the version of what is at the path now."""
    if is_gzip:
        return _version_of_gzip(local_path(path), _open_gzip(local_path(path)))
    if is_local(path):
        return _stat_version(os.stat(local_path(path)))
    system, inner = _system_of(path, options)

    def ask() -> Any:
        system.invalidate_cache()
        return system.info(inner)

    about = asked(path, options, ask)
    for key in _VERSION_KEYS:
        if about.get(key) is not None:
            if about.get("size") is None:
                break
            return about["size"], f"{key}:{about[key]}"
    raise UsageError(f"{shown(path)}: this file system tells no size, or no version: a change could not be noticed")


def _pread(descriptor: int, start: int, size: int) -> bytes:
    parts = []
    while size > 0:
        part = os.pread(descriptor, size, start)
        if not part:
            break
        parts.append(part)
        start, size = start + len(part), size - len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _pread_into(descriptor: int, start: int, buffer: memoryview) -> int:
    done = 0
    while done < len(buffer):
        count = os.preadv(descriptor, [buffer[done:]], start + done)
        if count == 0:
            break
        done += count
    return done


def _fetch(source: Source, file: Any, start: int, size: int) -> bytes:
    def read() -> bytes:
        file.seek(start)
        try:
            return file.read(size)  # type: ignore[no-any-return]
        except OSError as error:
            if type(error).__name__ != "FileExpired":  # from s3fs: If-Match did not match
                raise
        raise InputChangedError(f"{source.name}: the input changed")

    return asked(source.path, source.storage_options, read)
