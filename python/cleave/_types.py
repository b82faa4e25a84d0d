"""What is learned of a file."""

from __future__ import annotations

from typing import NamedTuple


class Place(NamedTuple):
    """A place in the input."""

    byte: int
    """Offset from the start of the input."""
    record: int
    """Number of the record, from 1 behind the header; 0 in the header."""


class RaggedRecord(NamedTuple):
    """A record that does not have as many fields as the first one."""

    byte: int
    """Offset of the delimiter before the first field too many, or of the end of a record with too few."""
    record: int
    """Number of the record, from 1 behind the header."""
    fields: int
    """How many fields it has."""


class Dialect(NamedTuple):
    """What the bytes of a file mean. What was not given was found by a look at the first 64 KiB."""

    delimiter: bytes
    quote: bytes | None
    escape: bytes | None
    escape_scope: str
    """``"everywhere"``, or ``"quoted"``: an escape acts inside quotes only."""
    quoting: str
    """``"field-start"``: a quote opens a section only at the start of a field; or ``"anywhere"``."""
    terminator: str
    """``"lf"`` (CRLF too), ``"cr"`` or ``"any"``."""
    header: str
    """Which record is the header: ``"first-not-empty"``, ``"first"`` or ``"none"``."""
    preamble: int
    """Bytes before the header, or before the records without one, which are not data."""
    quotes_unexplained: bool
    """Whether no delimiter explains the quotes in the first 64 KiB: then it is better given."""


class Check(NamedTuple):
    """What a file is, and what is odd in it. Numbers of bytes, records and things; places are of the first one."""

    sound: bool
    """No quote is left open, and all records have the same number of fields."""
    size: int
    records: int
    """Without the header."""
    fields: int
    """Of the first record."""
    ragged_count: int
    ragged: list[RaggedRecord]
    """The first ones, in the order of the file."""
    longest: int
    """Bytes of the longest record."""
    longest_place: Place | None
    empty_count: int
    empty: Place | None
    lf: int
    """Records that end in LF, and so on."""
    crlf: int
    cr: int
    unterminated: int
    quoted_breaks: int
    """Line breaks inside quotes."""
    data_breaks: int
    """Line breaks outside quotes that end no record."""
    stray_quotes_count: int
    stray_quotes: Place | None
    divergence: Place | None
    """Where the two quote rules begin to cut differently."""
    open_quote: Place | None
