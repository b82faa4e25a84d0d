"""Summaries of ranges and plans of them, over the classes of _native."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from . import _native
from ._file import _settings

if TYPE_CHECKING:
    from typing_extensions import Buffer

Summary = _native.Summary
Cut = _native.Cut


def scan(buffer: Buffer, start: int = 0, *, threads: int = 1, **dialect: Any) -> Summary:
    """Summarises bytes ``[start, start + len(buffer))`` of an input, which are all of the buffer.

    What stands before and after them need not be known. ``a + b`` is the summary of two ranges of which the second
    follows the first. Summaries can be pickled, to about 1 KB. The dialect is given as to ``open``, with delimiter and
    terminator.
    """
    return _native.scan(buffer, start, _settings(dialect.pop("dialect", None), dialect, True, False, threads))


class Plan:
    """Where the pieces of an input start."""

    def __init__(self, plan: _native.RangePlan) -> None:
        self.header_size: int = plan.header_size
        """Bytes of the header, with what stands before it; 0 without one."""
        self.records: int = plan.records
        """How many records there are, without the header."""
        self.cuts: list[Cut] = plan.cuts
        """Where the pieces start. ``cut.find(read)`` is the offset of the first byte and the number of the first
        record, from 1 behind the header; ``read(offset, size)`` returns bytes of the input. It asks for bytes of one
        range at most, in order, and only as far as it must; or for none."""


def plan(
    summaries: Iterable[Summary],
    *,
    input_size: int,
    n: int | None = None,
    records: int | None = None,
    header: bool = True,
    lenient: bool = False,
) -> Plan:
    """Plans the pieces of an input from the summaries of its ranges, in any order, without its bytes.

    n: the number of pieces, of nearly equal bytes; or
    records: the records of a piece.

    Raises InputError if the ranges are not those of one whole input, or a quote is open at its end.
    """
    return Plan(_native.plan(list(summaries), input_size, n, records, header, lenient))
