"""Batches without bad records, which are set aside in the order of the input. Those that a strict reader refuses are
found first, and wait in a temporary file for those with values that are not of their type."""

from __future__ import annotations

import base64
import errno
import itertools
import json
import os
import tempfile
from collections.abc import Callable, Generator, Iterable, Iterator
from typing import IO, TYPE_CHECKING

from . import _batches
from ._errors import InputError
from ._types import Reject

if TYPE_CHECKING:
    import pyarrow

    from ._columns import Source


def batches(file: Source, request: _batches.Request, sink: list[Reject] | str) -> Iterator[pyarrow.RecordBatch]:
    """The batches; their rejects go to a list, or to a file that appears at the end."""
    to = None if isinstance(sink, list) else sink
    if to is not None and os.path.lexists(to):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), to)
    folder = None if to is None else os.path.dirname(to) or "."
    with tempfile.TemporaryDirectory(prefix=".cleave.", dir=folder) as temporary:
        path, known_path = (os.path.join(temporary, name) for name in ("rejects", "known"))
        sound = file._without_rejects(known_path, request.missing_is_null, to is None)
        accepted = 0
        with open(known_path, "rb") as known, open(path, "wb") as out:
            take = sink.append if isinstance(sink, list) else _writer(out, sound)
            merged = _merge(map(_reject_of, known), take)
            next(merged)

            def reject(number: int, unfit: _batches.Unfit) -> None:
                byte, record, text = sound._native.reject(number)
                merged.send(Reject(byte, record + 1, unfit.message, text, unfit.column))

            for batch in _batches.batches(sound, request, None, reject):
                accepted += batch.num_rows
                yield batch
            next(merged, None)
        if to is not None:
            _judge(path, accepted)
            os.link(path, to)


def _merge(known: Iterable[Reject], take: Callable[[Reject], None]) -> Generator[None, Reject | None, None]:
    """Passes on the rejects that are sent to it and those that are known, in order; ``None`` ends those sent."""
    sent = yield
    for one in known:
        while sent is not None and sent.byte < one.byte:
            take(sent)
            sent = yield
        take(one)
    while sent is not None:
        take(sent)
        sent = yield


def _reject_of(line: bytes) -> Reject:
    """A line of the file that the engine writes."""
    found = json.loads(line)
    text = base64.b64decode(found["base64"]) if "base64" in found else found["text"].encode()
    return Reject(found["byte"], found["record"], found["reason"], text)


def _writer(out: IO[bytes], file: Source) -> Callable[[Reject], None]:
    """Writes rejects as the engine does."""
    header = file._native.read(0, file._native.header_size())

    def shown(name: str, encoded: str, value: bytes) -> dict[str, str]:
        try:
            return {name: value.decode()}
        except UnicodeDecodeError:
            return {encoded: base64.b64encode(value).decode()}

    def write(reject: Reject) -> None:
        line = {"byte": reject.byte, "size": len(reject.text), "record": reject.record, "reason": reject.reason}
        line.update({} if reject.column is None else {"column": reject.column}, **shown("text", "base64", reject.text))
        if out.tell() == 0 and header:
            line.update(shown("header", "header_base64", header))
        out.write(json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")

    return write


def _judge(path: str, accepted: int) -> None:
    """Raises InputError if more are rejected than ``write`` permits."""
    with open(path, "rb") as lines:
        first = [json.loads(line) for line in itertools.islice(lines, 3)]
        rejected = len(first) + sum(1 for _ in lines)
    all_records = accepted + rejected
    if rejected > max(10, all_records // 100) or (rejected and not accepted):
        named = "".join("; record {record}, byte {byte}: {reason}".format(**reject) for reject in first)
        raise InputError(f"{rejected} of {all_records} records are bad{named}")
