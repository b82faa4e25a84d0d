"""What cleave finds out about a file."""

from __future__ import annotations

from typing import NamedTuple


class Place(NamedTuple):
    """A position in the input."""

    byte: int
    """Offset from the start of the input."""
    record: int
    """Number of the record, from 1 after the header; 0 in the header."""


class RaggedRecord(NamedTuple):
    """A record that does not have as many fields as the first one."""

    byte: int
    """Offset of the delimiter before the first surplus field, or of the end of a record with too few."""
    record: int
    """Number of the record, from 1 after the header."""
    fields: int
    """How many fields it has."""


class Dialect(NamedTuple):
    """What the bytes of a file mean. Anything not given was found from the first 64 KiB.

    ``open`` and ``scan`` take it as their ``dialect``, so a second file is read like the first.
    """

    delimiter: bytes
    quote: bytes | None
    escape: bytes | None
    escape_scope: str
    """``"everywhere"``, or ``"quoted"``: an escape acts only inside quotes."""
    quoting: str
    """``"field-start"``: a quote opens a section only at the start of a field; or ``"anywhere"``."""
    terminator: str
    """``"lf"`` (also for CRLF), ``"cr"`` or ``"any"``."""
    header: str
    """Which record is the header: ``"first-not-empty"``, ``"first"`` or ``"none"``."""
    preamble: int
    """How many bytes before the header, or before the records if there is no header, are not data."""
    quotes_unexplained: bool
    """Whether no delimiter explains the quotes in the first 64 KiB. If so, it is better to give the delimiter."""


class Check(NamedTuple):
    """What a file contains, and what is unusual in it: counts, and the position of the first occurrence of each.

    It is true if it is ``sound``: ``assert f.check()``.
    """

    sound: bool
    """Whether no quote is left open, all records have the same number of fields and, in JSON Lines, all are JSON."""
    size: int
    records: int
    """Not counting the header."""
    fields: int
    """Of the first record."""
    ragged_count: int
    ragged: list[RaggedRecord]
    """The first ones, in the order of the file."""
    longest: int
    """Size of the longest record in bytes."""
    longest_place: Place | None
    empty_count: int
    empty: Place | None
    lf: int
    """Records that end in LF; the next three likewise count CRLF, CR and no terminator."""
    crlf: int
    cr: int
    unterminated: int
    quoted_breaks: int
    """Line breaks inside quotes."""
    data_breaks: int
    """Line breaks outside quotes that do not end a record."""
    stray_quotes_count: int
    stray_quotes: Place | None
    divergence: Place | None
    """Where the two quote modes begin to cut differently."""
    open_quote: Place | None
    not_json_count: int
    """Lines that are not JSON, in JSON Lines; this and the next two are 0, None and {} for CSV."""
    not_json: Place | None
    keys: dict[str, int] | None
    """How often the objects have each key, in the order in which they occur first. None if there are more than 1000
    keys, or one longer than 256 bytes."""

    def __bool__(self) -> bool:
        return self.sound
