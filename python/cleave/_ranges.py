"""Summaries of ranges, and plans made from them, built on the classes of _native."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from . import _arguments, _native
from ._open import settings_of
from ._types import Dialect

if TYPE_CHECKING:
    from typing_extensions import Buffer


class Summary:
    """What a range of an input does to a reader that enters it. ``scan`` returns one. Can be pickled, to about 1 KB."""

    def __init__(self, native: _native.Summary) -> None:
        self._native = native

    @property
    def begin(self) -> int:
        """The offset in the input of the first byte."""
        return self._native.begin

    @property
    def end(self) -> int:
        """The offset in the input just after the last byte."""
        return self._native.end

    def __add__(self, other: Summary) -> Summary:
        """The summary of both ranges. Raises UsageError unless ``other`` begins where this one ends."""
        return Summary(self._native + other._native) if isinstance(other, Summary) else NotImplemented

    def __eq__(self, other: object) -> bool:
        return self._native == other._native if isinstance(other, Summary) else NotImplemented

    def text(self, input_size: int, version: str) -> str:
        """One line of JSON, as ``cleave scan`` prints it. ``input_size`` is the size of the input in bytes."""
        return self._native.text(_arguments.number("input_size", input_size), _arguments.text("version", version))

    @staticmethod
    def of_text(text: str) -> tuple[Summary, int, str]:
        """The summary in a line from ``text``, the size of the input, and its version. Raises InputError for any
        other text."""
        native, size, version = _native.Summary.of_text(_arguments.text("text", text))
        return Summary(native), size, version

    def __repr__(self) -> str:
        return f"<cleave.Summary: bytes {self.begin} to {self.end}>"


class Cut:
    """Where a piece of a ``Plan`` starts. Can be pickled."""

    def __init__(self, native: _native.Cut) -> None:
        self._native = native

    def find(self, read: Callable[[int, int], Buffer]) -> tuple[int, int]:
        """The offset of the first byte, and the number of the first record, from 1 after the header.

        ``read(offset, size)`` returns bytes of the input. It is called only for bytes of one range, in order and only
        as far as needed, or not at all. Any exception that it raises is passed on.
        """
        if not callable(read):
            raise TypeError(f"read: a function, and not {type(read).__name__}")
        return self._native.find(read)


def view_of(buffer: Buffer) -> memoryview:
    try:
        return memoryview(buffer).cast("B")
    except TypeError:
        raise _arguments.wrong("buffer", "an object with contiguous bytes", buffer) from None


def scan(
    buffer: Buffer,
    start: int = 0,
    *,
    threads: int = 1,
    preamble: int | None = None,
    dialect: str | Dialect | None = None,
    delimiter: str | bytes | None = None,
    quote: str | bytes | None = None,
    escape: str | bytes | None = None,
    escape_scope: str | None = None,
    quoting: str | None = None,
    terminator: str | None = None,
) -> Summary:
    """Summarises bytes ``[start, start + len(buffer))`` of an input; ``buffer`` contains exactly these.

    The bytes before and after them need not be known. If the range of ``b`` follows the range of ``a``, ``a + b`` is
    the summary of both together. The dialect is given as for ``open``, and must include the delimiter and the
    terminator; the ``Dialect`` of a ``File`` with the head of the input has both.

    preamble: how many bytes of the input come before its header and are not data, as in ``Dialect.preamble``, which is
        the default if ``dialect`` is a ``Dialect``; it must be the same for all ranges.
    """
    if preamble is None:
        preamble = dialect.preamble if isinstance(dialect, Dialect) else 0
    options: dict[str, str | bytes | None] = {
        "delimiter": delimiter,
        "quote": quote,
        "escape": escape,
        "escape_scope": escape_scope,
        "quoting": quoting,
        "terminator": terminator,
    }
    settings = settings_of(dialect, options, True, False, threads, preamble=preamble)
    return Summary(_native.scan(view_of(buffer), _arguments.number("start", start), settings))


def scan_bytes(
    buffer: Buffer, state: bytes | None = None, *, dialect: str | Dialect | None = None, **syntax: str | bytes | None
) -> tuple[bytes, int, int | None]:
    """Passes over the next bytes of an input: ``(state, records, last)``.

    state: what the call for the bytes before these has returned; None at the start of the input. 24 bytes, which may be
        stored and sent.
    records: how many records end in these bytes.
    last: the offset in the input just past the last of them, where the input may be cut; None if no record ends.

    The dialect is given as for ``scan``; without one, the delimiter is a comma, and LF ends records.
    """
    unknown = set(syntax) - {"delimiter", "quote", "escape", "escape_scope", "quoting", "terminator"}
    if unknown:
        raise TypeError(f"scan_bytes() got an unexpected keyword argument {min(unknown)!r}")
    if dialect is None:
        syntax = {"delimiter": ",", "terminator": "lf", **syntax}
    if state is not None and not isinstance(state, bytes):
        raise _arguments.wrong("state", "bytes", state)
    settings = settings_of(dialect, syntax, True, False, 1)
    return _native.scan_bytes(view_of(buffer), state, settings)


class Plan:
    """Where the pieces of an input start."""

    def __init__(self, plan: _native.RangePlan) -> None:
        self.header_size: int = plan.header_size
        """The size of the header in bytes, including what comes before it; 0 without a header."""
        self.records: int = plan.records
        """The number of records, not counting the header."""
        self.cuts: list[Cut] = [Cut(cut) for cut in plan.cuts]
        """Where the pieces start."""


def plan(
    summaries: Iterable[Summary],
    *,
    input_size: int,
    n: int | None = None,
    records: int | None = None,
    header: bool = True,
    allow_open_quote: bool = False,
) -> Plan:
    """Plans the pieces of an input from the summaries of its ranges, given in any order, without reading the input.

    n: the number of pieces, of nearly equal bytes, as for ``File.split``; or
    records: the number of records in a piece.

    Raises InputError if the ranges do not form one whole input or, unless ``allow_open_quote``, if a quote is open at
    its end.
    """
    natives = []
    if not isinstance(summaries, Iterable):
        raise _arguments.wrong("summaries", "several of Summary", summaries)
    for summary in summaries:
        if not isinstance(summary, Summary):
            raise TypeError(f"summaries: a Summary, and not {type(summary).__name__}")
        natives.append(summary._native)
    return Plan(
        _native.plan(
            natives,
            input_size=_arguments.number("input_size", input_size),
            n=_arguments.number("n", n, True),
            records=_arguments.number("records", records, True),
            has_header=_arguments.flag("header", header),
            allow_open_quote=_arguments.flag("allow_open_quote", allow_open_quote),
        )
    )
