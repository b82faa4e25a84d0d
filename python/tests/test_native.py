"""The classes of the extension module, used as they never should be: this raises errors, and does not end the
process."""

from __future__ import annotations

import gc
import inspect
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import make_csv

import cleave
from cleave import _native


def stream_of(data: bytes) -> _native.ColumnStream:
    return cleave.open(data)._native.select(None, [], None, True, False, False, 1000, None)


def test_a_stream_that_was_exported_raises() -> None:
    stream = stream_of(make_csv(100))
    assert len(stream.names) == 4
    capsule = stream.export()
    uses: list[Callable[[], Any]] = [stream.export, stream.schema, lambda: stream.names]
    for use in uses:
        with pytest.raises(cleave.UsageError, match="already been exported"):
            use()
    del capsule
    gc.collect()
    with pytest.raises(cleave.UsageError, match="already been exported"):
        stream.export()


def test_a_capsule_outlives_its_stream() -> None:
    capsules = [stream_of(make_csv(100)).export() for _ in range(3)]
    schemas = [stream_of(make_csv(100)).schema() for _ in range(3)]
    gc.collect()
    del capsules, schemas
    gc.collect()


EMPTY: list[tuple[Any, Callable[[Any], Any]]] = [
    (_native.Settings, lambda settings: settings.threads),
    (_native.Settings, lambda settings: settings.set("quote", b"'")),
    (_native.KeyRing, lambda ring: cleave.open(b"a\n")._native.select(None, [], ring, True, False, False, 1000, None)),
    (_native.Pieces, lambda pieces: pieces.starts),
    (_native.PiecesByValue, lambda pieces: pieces.ranges(0)),
    (_native.PiecesByValue, lambda pieces: pieces.key(0)),
    (_native.PiecesByValue, lambda pieces: cleave.open(b"a\n")._native.gather(pieces, 0)),
    (_native.ColumnStream, lambda stream: stream.export()),
    (_native.File, lambda file: file.size()),
    (_native.Summary, lambda summary: summary + summary),
    (_native.Cut, lambda cut: cut.find(lambda offset, size: b"")),
    (_native.RangePlan, lambda plan: plan.cuts),
]


@pytest.mark.parametrize(("kind", "use"), EMPTY)
def test_an_object_without_content_raises(kind: Any, use: Callable[[Any], Any]) -> None:
    with pytest.warns(RuntimeWarning, match="uninitialized"), pytest.raises((TypeError, RuntimeError)):
        use(kind.__new__(kind))


def public_functions() -> Iterator[tuple[str, Any]]:
    for name in cleave.__all__:
        thing = getattr(cleave, name)
        for member, value in [("", thing), *(vars(thing).items() if isinstance(thing, type) else [])]:
            is_public = not member.startswith("_") or member in ("__add__", "__eq__", "__getitem__", "__init__")
            if is_public and (callable(value) or isinstance(value, staticmethod)):
                yield f"{name}.{member}", value.__func__ if isinstance(value, staticmethod) else value


def test_what_users_see_is_of_python() -> None:
    """Python can tell the signatures, and they mention nothing of the extension module."""
    seen = dict(public_functions())
    assert {"Summary.text", "Summary.of_text", "Cut.find", "File.split", "scan.", "plan."} <= seen.keys()
    for name, function in seen.items():
        assert not type(function).__module__.startswith(("cleave._native", "nanobind")), name
        assert not type(function).__name__.startswith("nb_"), name
        if not (isinstance(function, type) and issubclass(function, BaseException)):
            inspect.signature(function)
        assert "_native" not in (function.__doc__ or ""), name


def test_errors_of_arguments_are_of_python() -> None:
    f: Any = cleave.open(b"a,b\n1,2\n")
    scan: Any = cleave.scan
    plan: Any = cleave.plan
    summary: Any = scan(b"a\n", 0, delimiter=",", terminator="lf")
    cut: Any = plan([summary], input_size=2, n=1).cuts[0]
    calls: list[Callable[[], Any]] = [
        lambda: f.split(n="2"),
        lambda: f.split(n=-1),
        lambda: f.split(n=1 << 64),
        lambda: f.split(n=2.0),
        lambda: f.split(size=[1]),
        lambda: f.split(n=2, together=1),
        lambda: f.split(n=2, balance=None),
        lambda: f.split(by="a", buckets="1"),
        lambda: f.split(by="a", max_values="1"),
        lambda: f.split(parts={1: 1}),
        lambda: f.split(parts={"x": 1}, seed="1"),
        lambda: f.check(max_ragged="1"),
        lambda: f.select("a", page_size="1"),
        lambda: f.select(1 << 64),
        lambda: f.select("a", keys={1: b"x" * 32}),
        lambda: cleave.open(b"a\n", delimiter=5),  # type: ignore[arg-type]
        lambda: cleave.open(b"a\n", dialect=5),  # type: ignore[arg-type]
        lambda: cleave.open(b"a\n", threads="1"),  # type: ignore[arg-type]
        lambda: scan("text", 0, delimiter=",", terminator="lf"),
        lambda: scan(b"a", "0", delimiter=",", terminator="lf"),
        lambda: plan([None], input_size=2, n=1),
        lambda: plan([summary], input_size="2", n=1),
        lambda: plan([summary], input_size=2, n="1"),
        lambda: summary + 1,
        lambda: summary.text("2", "v"),
        lambda: summary.text(2, 5),
        lambda: cleave.Summary.of_text(5),  # type: ignore[arg-type]
        lambda: cut.find(5),
    ]
    for call in calls:
        with pytest.raises((TypeError, cleave.UsageError)) as raised:
            call()
        assert "incompatible" not in str(raised.value) and "nanobind" not in str(raised.value)


def test_an_object_is_filled_once() -> None:
    summary = cleave.scan(b"a\n1\n", 0, delimiter=",", terminator="lf")
    text = summary._native.__getstate__()
    with pytest.raises((TypeError, RuntimeError)), pytest.warns(RuntimeWarning):
        summary._native.__setstate__(text)
    settings = _native.Settings()
    with pytest.raises((TypeError, RuntimeError)), pytest.warns(RuntimeWarning):
        settings.__init__()  # type: ignore[misc]
    assert settings.threads == 1


def by_column(columns: str) -> _native.Policy:
    return _native.Policy.by_value(columns, None, [], 0, None, None, None, False, "repeat")


def test_none_is_no_object() -> None:
    file = cleave.open(b"a,b\n1,2\n")._native
    pieces = file.split_by_value(by_column("#1"))
    calls: list[Callable[[], Any]] = [
        lambda: _native.plan([None], 10, 1, None, True, False),  # type: ignore[list-item]
        lambda: _native.scan(b"a", 0, None),  # type: ignore[arg-type]
        lambda: _native.File.of_path(b"x", None),  # type: ignore[arg-type]
        lambda: _native.File.of_buffer(None, "x", _native.Settings()),
        lambda: file.gather(None, 0),  # type: ignore[arg-type]
        lambda: file.select(None, [], None, True, False, False, 1000, []),
    ]
    for call in calls:
        with pytest.raises((TypeError, ValueError, IndexError)):
            call()
    for index in (1, 1 << 63):
        for use in (pieces.key, pieces.ranges, lambda i: file.gather(pieces, i)):
            with pytest.raises(IndexError):
                use(index)
    for start, length in ((9, 0), (0, 9), (1 << 63, 1), (4, (1 << 64) - 1)):
        with pytest.raises(cleave.UsageError):
            file.read(start, length)


def test_pieces_outlive_their_file() -> None:
    data = make_csv(1000)
    pieces = cleave.open(data)._native.split_by_value(by_column("#3"))
    other = cleave.open(b"a\n")._native
    gc.collect()
    assert len(pieces.starts) > 1
    assert all(pieces.key(i) is not None for i in range(len(pieces.starts)))
    ranges: Any = pieces.ranges(0)  # the type stub of memoryview has only one dimension
    assert sum(size for _, size in ranges.tolist()) == pieces.lengths[0]
    with pytest.raises(cleave.UsageError, match="not within the input"):
        other.gather(pieces, 0)


def test_looks_for_modules_only_beside_itself() -> None:
    """By now, anybody may have put a module where the wheel was built."""
    command = Path(sys.executable).parent / "cleave"
    run = subprocess.run(
        [command, "check", "--forbid", "name=re2:x", "absent"], capture_output=True, text=True, check=False
    )
    paths = run.stderr.partition("looked for ")[2].split(", ")
    assert all("/../lib/cleave/" in path or "/../libexec/cleave/" in path for path in paths), paths
