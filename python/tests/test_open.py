"""What a File is opened from, and with which dialect."""

from __future__ import annotations

import bz2
import errno
import gzip
import io
import lzma
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from conftest import rows_of

import cleave
from cleave import ranges
from cleave._urls import shown


class Located(os.PathLike[Any]):
    """A path with any representation."""

    def __init__(self, path: Any) -> None:
        self.path = path

    def __fspath__(self) -> Any:
        return self.path


def test_paths(path: Path) -> None:
    assert cleave.open(Located(str(path))).name == str(path)
    with pytest.raises(TypeError, match=r"^source: a path is a str .* and not bytes; os.fsdecode makes one$"):
        cleave.open(Located(os.fsencode(path)))
    for wrong in ("", "a\0b", Located("a\0b"), "file:///a%00b"):
        with pytest.raises(cleave.UsageError, match="^source: "):
            cleave.open(wrong)


def test_bytes_that_name_a_file_are_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(path.parent)
    for name in (b"in.csv", os.fsencode(path), bytearray(b"in.csv")):
        with pytest.raises(cleave.UsageError, match="bytes are content, and there is a file"):
            cleave.open(name)
    assert cleave.open(b"in.csv\n").header == ["in.csv"]
    assert cleave.open(b"no.csv").header == ["no.csv"]
    assert cleave.open(io.BytesIO(b"in.csv")).header == ["in.csv"]
    assert cleave.open(b".").header == ["."]


def test_urls_of_files(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "a b#?%\u00e9.csv"
    path.write_bytes(data)
    for url in (path.as_uri(), path.as_uri().replace("file://", "FILE://localhost")):
        f = cleave.open(url)
        assert (f.size, f.name) == (len(data), str(path))
    plain = tmp_path / "in.csv"
    plain.write_bytes(data)
    for url in (f"file://host{plain}", f"file://{plain}?x", f"file://{plain}#x", "file://"):
        with pytest.raises(cleave.UsageError):
            cleave.open(url)
    with pytest.raises(FileNotFoundError):
        cleave.open(f"file://{tmp_path}/none")


class Reversed(io.FileIO):
    """Reads other bytes than those of its descriptor, as a file object that decrypts does."""

    def readall(self) -> bytes:
        return super().readall()[::-1]

    def read(self, size: int | None = -1, /) -> bytes:
        return self.readall()

    def readinto(self, buffer: Any, /) -> int:
        data = self.readall()
        buffer[: len(data)] = data
        return len(data)


def test_file_objects_that_change_what_they_read(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_bytes(b"a,b\n1,2\n"[::-1])
    for source in (Reversed(path), io.BufferedReader(Reversed(path))):
        assert cleave.open(source).header == ["a", "b"]


@pytest.fixture
def store(data: bytes) -> Iterator[str]:
    fsspec = pytest.importorskip("fsspec")
    memory = fsspec.filesystem("memory")
    memory.pipe("/bucket/in.csv", data)
    memory.pipe("/bucket/in.csv.gz", gzip.compress(data))
    yield "memory://bucket"
    memory.rm("/bucket", recursive=True)


def test_urls_of_stores(store: str, data: bytes, tmp_path: Path) -> None:
    for name in ("in.csv", "in.csv.gz"):
        f = cleave.open(f"{store}/{name}")
        assert (f.size, f.records, f.name) == (len(data), len(rows_of(data)) - 1, f"{store}/{name}")
        assert [Path(path).name for path in f.write(tmp_path / name, n=2)] == ["in.1.csv", "in.2.csv"]
        assert cleave.open(f"simplecache::{store}/{name}").size == len(data)
    with pytest.raises(FileNotFoundError, match="^memory://bucket/none: "):
        cleave.open(f"{store}/none")
    with pytest.raises(FileNotFoundError, match="^memory://bucket/none: "):
        ranges.plan(f"{store}/none")
    with pytest.raises(ValueError, match="no-such"):
        cleave.open("no-such://bucket/in.csv")


def test_errors_of_stores_name_the_url_and_the_endpoint() -> None:
    fsspec: Any = pytest.importorskip("fsspec")

    class Refusing(fsspec.AbstractFileSystem):
        cachable = False

        def __init__(self, key: str, client_kwargs: object = None) -> None:
            super().__init__()
            self.key = key

        def info(self, path: str, **options: object) -> dict[str, object]:
            raise PermissionError("Forbidden") if self.key == "wrong" else fsspec.exceptions.FSTimeoutError

        def _open(self, path: str, mode: str, **options: object) -> None:
            self.info(path)

    fsspec.register_implementation("refusing", Refusing, clobber=True)
    for endpoint in ("https://store.example", "https://user:pass@store.example"):
        options = {"key": "wrong", "client_kwargs": {"endpoint_url": endpoint}}
        for use in (cleave.open, ranges.plan):
            for url in ("refusing://me:hush@bucket/a.csv", "refusing://bucket/a.csv"):
                message = "^refusing://bucket/a.csv at https://store.example: Forbidden$"
                with pytest.raises(PermissionError, match=message):
                    use(url, storage_options=options)
                with pytest.raises(OSError, match="^refusing://bucket/a.csv: FSTimeoutError$"):
                    use(url, storage_options={"key": "right"})
    with pytest.raises(TypeError, match="storage_options: a mapping"):
        cleave.open("refusing://bucket/a.csv", storage_options=3)  # type: ignore[arg-type]


PASSWORD = "hush/sh@hush"


def failing_system(fsspec: Any, raised: list[Any]) -> type:
    """A file system whose requests raise the first of these errors while it handles the others."""

    def fail(errors: list[Any]) -> None:
        if errors[1:]:
            try:
                fail(errors[1:])
            finally:
                raise errors[0]
        raise errors[0]

    class Failing(fsspec.AbstractFileSystem):
        cachable = False

        def __init__(self, secret: str, client_kwargs: object = None) -> None:
            super().__init__()

        def info(self, path: str, **options: object) -> None:
            fail(raised)

        def _open(self, path: str, mode: str, **options: object) -> None:
            fail(raised)

        glob = info

    return Failing


class Strange(Exception):
    """One of a package, with arguments of its own."""

    def __init__(self, url: str, status: int) -> None:
        super().__init__(url, status)
        self.errno = errno.EHOSTDOWN


class InputIsGone(ValueError):
    pass


@pytest.mark.parametrize(
    ("error", "kind", "number", "told"),
    [
        (PermissionError(errno.EACCES, "no {url}"), PermissionError, errno.EACCES, "[Errno 13] no {plain}"),
        (OSError("no {url} with {option}"), OSError, None, "no {plain} with ***"),
        (ImportError("GET /a.csv?X-Amz-Signature=hushed failed"), ImportError, None, "GET /a.csv failed"),
        (Strange("https://x.example/?hushed#hush", 1), OSError, errno.EHOSTDOWN, "Strange: ('https://x.example/', 1)"),
        (InputIsGone("port 'hush'"), ValueError, None, "InputIsGone: port '***'"),
        (TypeError(), TypeError, None, "TypeError"),
        (KeyError("x"), OSError, None, "KeyError: 'x'"),
        (UnicodeDecodeError("ascii", b"hushed", 0, 1, "{option}"), ValueError, None, "UnicodeDecodeError: 'ascii' "),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_tracebacks_of_stores_show_no_secrets(error: Exception, kind: type, number: int | None, told: str) -> None:
    fsspec: Any = pytest.importorskip("fsspec")
    url = f"failing://me:{PASSWORD}@bucket/a.csv?X-Amz-Signature=hushed%2Bhush"
    option = "hushed+hush/hush"
    words = {"url": url, "plain": "failing://bucket/a.csv", "option": option}
    if isinstance(error, UnicodeDecodeError):
        error.reason = error.reason.format(**words)
    else:
        error.args = tuple(one.format(**words) if isinstance(one, str) else one for one in error.args)
    chained = [error, RuntimeError(f"cannot open {url}"), KeyError(option)]
    fsspec.register_implementation("failing", failing_system(fsspec, chained), clobber=True)
    uses: list[Callable[..., object]] = [cleave.open, ranges.plan, lambda url, **more: ranges.plan(f"{url}/*", **more)]
    if isinstance(error, PermissionError):
        error.strerror = error.args[1]
    for use in uses:
        options = {"secret": option, "client_kwargs": {"endpoint_url": f"https://me:{PASSWORD}@store.example"}}
        with pytest.raises(kind) as caught:
            use(url, storage_options=options)
        text = "".join(traceback.format_exception(caught.type, caught.value, caught.tb))
        assert "hush" not in text.replace("hush}", "")
        assert caught.value.__context__ is caught.value.__cause__ is None
        assert getattr(caught.value, "errno", None) == number
        assert f" at https://store.example: {told.format(**words)}" in str(caught.value)
        assert "in fail\n" in text  # where the original error was raised


def test_messages_show_no_secrets_of_urls(data: bytes) -> None:
    fsspec: Any = pytest.importorskip("fsspec")

    class Held(type(fsspec.filesystem("memory"))):  # type: ignore[misc]
        protocol = "held"

        @classmethod
        def _strip_protocol(cls, path: str) -> str:
            return "/" + path.rpartition("@")[2].lstrip("/")

        def info(self, path: str, **options: object) -> dict[str, object]:
            return {**super().info(path), "mtime": 1}

    fsspec.register_implementation("held", Held, clobber=True)
    system = Held()
    for name, content in (("a.csv", data), ("a.jsonl", b'{"a": 1}\n'), ("other.csv", b"other\n1\n")):
        system.pipe(f"/bucket/{name}", content)
    url = "held://me:hush@bucket/{}"
    with cleave.open(url.format("a.csv")) as f:
        assert f.name == "held://bucket/a.csv"
    plan = ranges.plan(url.format("a.csv"))
    assert plan.pieces[0].path == url.format("a.csv")
    message = "^held://bucket/other.csv: the columns are not those of held://bucket/a.csv$"
    with pytest.raises(cleave.InputError, match=message):
        ranges.plan([url.format(name) for name in ("a.csv", "other.csv")])
    with pytest.raises(cleave.UsageError, match="^held://bucket/a.jsonl: JSON Lines"):
        ranges.plan(url.format("a.jsonl"), dialect="jsonl")
    system.pipe("/bucket/a.csv", data + b"1,2,3,4\n")
    with pytest.raises(cleave.InputChangedError, match="^held://bucket/a.csv: the input changed: "):
        bytes(plan.pieces[0].bytes)
    system.rm("/bucket", recursive=True)


def test_urls_in_messages() -> None:
    for url, message in (
        ("s3://bucket/a@b.csv", "s3://bucket/a@b.csv"),
        ("s3://bucket/a?.csv", "s3://bucket/a?.csv"),
        ("s3://bucket/day=?/x=1.csv", "s3://bucket/day=?/x=1.csv"),
        ("s3://key@bucket/a@b.csv?versionId=1", "s3://bucket/a@b.csv"),
        ("https://host:8080/a@b.csv?x#y", "https://host:8080/a@b.csv"),
        ("HTTPS://me:p/s's@s@host:8080/a.csv#y", "HTTPS://host:8080/a.csv"),
        ("zip://in.csv::simplecache::https://me:p/w@host/a.zip?x", "zip://in.csv::simplecache::https://host/a.zip"),
        ("/a//me:b@c?d=e", "/a//me:b@c?d=e"),
    ):
        assert shown(url) == message


def test_ctrl_c_in_a_store_shows_no_secrets() -> None:
    fsspec: Any = pytest.importorskip("fsspec")
    chained = [KeyboardInterrupt(), RuntimeError("hush")]
    fsspec.register_implementation("failing", failing_system(fsspec, chained), clobber=True)
    with pytest.raises(KeyboardInterrupt) as caught:
        cleave.open("failing://bucket/a.csv", storage_options={"secret": "x"})
    assert "hush" not in "".join(traceback.format_exception(caught.type, caught.value, caught.tb))


def test_a_url_needs_fsspec(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(ImportError, match="^s3://bucket/in.csv: a URL needs the package fsspec$"):
        cleave.open("s3://bucket/in.csv")


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress], ids=lambda one: one.__module__)
def test_compressed_bytes(compress: Callable[[bytes], bytes], data: bytes) -> None:
    packed = compress(data)
    before = len(os.listdir("/proc/self/fd"))
    for source in (packed, bytearray(packed), memoryview(packed), io.BytesIO(packed)):
        with cleave.open(source) as f:
            assert (f.size, f.records, f.name) == (len(data), len(rows_of(data)) - 1, "memory")
            assert pyarrow.table(f.select("id")).num_rows == f.records
            assert bytes(f.split(n=1)[0].bytes) == data[f.split(n=1).header_size :]
    assert len(os.listdir("/proc/self/fd")) == before


def test_file_objects_that_are_none(path: Path) -> None:
    class Text:
        def read(self, size: int) -> str:
            return "a,b\n"

    with pytest.raises(TypeError, match=r"^source: a file object whose read\(\) returns str"):
        cleave.open(Text())  # type: ignore[arg-type]
    with open(path) as text, pytest.raises(TypeError, match="^source: .* binary mode"):
        cleave.open(text)  # type: ignore[arg-type]
    for wrong in (5, None, object(), [b"a"], cleave):
        with pytest.raises(TypeError, match="^source: "):
            cleave.open(wrong)  # type: ignore[arg-type]


DIALECTS: list[tuple[bytes, dict[str, Any]]] = [
    (b"a;b\n1;2\n", {}),
    (b"a\tb\r1\t2\r", {"terminator": "any"}),
    (b"a,b\n'1,2',3\n", {"quote": "'"}),
    (b"a,b\n1,2\n", {"quote": ""}),
    (b'a,b\n"1\\",2",3\n', {"escape": "\\", "escape_scope": "quoted"}),
    (b'a,b\n5",2"\n', {"quoting": "anywhere"}),
    (b'{"a": 1}\n{"a": 2}\n', {"dialect": "jsonl"}),
    (b"a,b\n\n1,2\n", {"dialect": "postgres"}),
    (b"x\na;b\n1;2\n", {"skip_lines": 1}),
]


@pytest.mark.parametrize(("text", "options"), DIALECTS, ids=str)
def test_a_dialect_is_passed_on(text: bytes, options: dict[str, Any]) -> None:
    f = cleave.open(text, **options)
    other = cleave.open(text[f.dialect.preamble :], dialect=f.dialect)
    assert other.dialect == f.dialect._replace(preamble=0, quotes_unexplained=other.dialect.quotes_unexplained)
    assert (other.records, other.header) == (f.records, f.header)
    assert repr(other) == repr(f)
    summary = cleave.scan(text[:5], dialect=f.dialect) + cleave.scan(text[5:], 5, dialect=f.dialect)
    header = f.header is not None
    assert cleave.plan([summary], input_size=len(text), n=1, header=header).records == f.records
    if f.dialect.terminator != "any" and f.header is not None:
        changed = cleave.open(text, dialect=f.dialect, terminator="any")
        assert changed.dialect.terminator == "any"


def test_a_dialect_does_not_say_that_nothing_is_escaped() -> None:
    """Under rules, a backslash before a quote is refused unless somebody has said what it means."""
    text = b'a,b\n"x\\",1\n'
    f = cleave.open(text, delimiter=",", terminator="lf", allow_open_quote=True)
    for g in (f, cleave.open(text, dialect=f.dialect, allow_open_quote=True)):
        with pytest.raises(pyarrow.ArrowException):
            pyarrow.table(g.select("a", redact={"a": "null"}))


def test_a_dialect_of_wrong_parts_is_refused() -> None:
    dialect = cleave.open(b"a,b\n1,2\n").dialect
    for parts in ({"delimiter": 5}, {"delimiter": b""}, {"quoting": "never"}, {"header": "last"}, {"terminator": None}):
        with pytest.raises((TypeError, cleave.UsageError)):
            cleave.open(b"a\n", dialect=dialect._replace(**parts))
