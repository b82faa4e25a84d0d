"""The classes of the extension module, used as no one should: that raises, and does not end the process."""

from __future__ import annotations

import gc
from collections.abc import Callable
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
        with pytest.raises(cleave.UsageError, match="exported already"):
            use()
    del capsule
    gc.collect()
    with pytest.raises(cleave.UsageError, match="exported already"):
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


def test_an_object_is_filled_once() -> None:
    summary = cleave.scan(b"a\n1\n", 0, delimiter=",", terminator="lf")
    text = summary.__getstate__()
    with pytest.raises((TypeError, RuntimeError)), pytest.warns(RuntimeWarning):
        summary.__setstate__(text)  # type: ignore[attr-defined]
    settings = _native.Settings()
    with pytest.raises((TypeError, RuntimeError)), pytest.warns(RuntimeWarning):
        settings.__init__()  # type: ignore[misc]
    assert settings.threads == 1


def test_none_is_no_object() -> None:
    file = cleave.open(b"a,b\n1,2\n")._native
    pieces = file.split_by_value("#1", None, None, None, None, False, True)
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
    pieces = cleave.open(data)._native.split_by_value("#3", None, None, None, None, False, True)
    other = cleave.open(b"a\n")._native
    gc.collect()
    assert len(pieces.starts) > 1
    assert all(pieces.key(i) is not None for i in range(len(pieces.starts)))
    ranges: Any = pieces.ranges(0)  # the stub of memoryview knows one dimension
    assert sum(size for _, size in ranges.tolist()) == pieces.lengths[0]
    with pytest.raises(cleave.UsageError, match="not in the input"):
        other.gather(pieces, 0)
