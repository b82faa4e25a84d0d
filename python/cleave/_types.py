"""What cleave finds out about a file."""

from __future__ import annotations

from typing import NamedTuple


class Place(NamedTuple):
    """A position in the input.

    byte: offset from the start of the input.
    record: number of the record, from 1 after the header; 0 in the header.
    """

    byte: int
    record: int


class RaggedRecord(NamedTuple):
    """A record that does not have as many fields as the first one.

    byte: offset of the delimiter before the first surplus field, or of the end of a record with too few.
    record: number of the record, from 1 after the header.
    fields: how many fields it has.
    """

    byte: int
    record: int
    fields: int


class Reject(NamedTuple):
    """A record, or a line of a broken one, that was set aside.

    byte: offset from the start of the input.
    record: how many records and rejected lines precede it, plus 1; the header is not counted.
    reason: what is wrong with it.
    text: its bytes, with the line break.
    column: the name of the column whose value is not of its type; None if something else is wrong.
    """

    byte: int
    record: int
    reason: str
    text: bytes
    column: str | None = None


class Dialect(NamedTuple):
    """What the bytes of a file mean. Anything not given was found from the first 64 KiB.

    ``open`` and ``scan`` take it as their ``dialect``, so a second file is read like the first.

    delimiter, quote, escape: one byte each, or None if there is no such byte.
    escape_scope: ``"everywhere"``, or ``"quoted"``: an escape acts only inside quotes.
    quoting: ``"field-start"``: a quote opens a section only at the start of a field; or ``"anywhere"``.
    terminator: ``"lf"`` (also for CRLF), ``"cr"`` or ``"any"``.
    header: which record is the header: ``"first-not-empty"``, ``"first"`` or ``"none"``.
    preamble: how many bytes before the header, or before the records if there is no header, are not data.
    quotes_unexplained: whether no delimiter explains the quotes in the first 64 KiB. If so, it is better to give
        the delimiter.
    """

    delimiter: bytes
    quote: bytes | None
    escape: bytes | None
    escape_scope: str
    quoting: str
    terminator: str
    header: str
    preamble: int
    quotes_unexplained: bool


class Check(NamedTuple):
    """What a file contains, and what is unusual in it: counts, and the position of the first occurrence of each.

    It is true if it is ``sound``: ``assert f.check()``.

    sound: whether no quote is left open, all records have the same number of fields and, in JSON Lines, all are JSON.
    size: of the file in bytes, decompressed.
    records: how many, not counting the header.
    fields: how many the first record has.
    ragged_count: how many records do not have as many fields as the first; ``ragged`` lists the first of them.
    longest, longest_place: the size of the longest record in bytes, and where it starts.
    empty_count, empty: records without any byte before their line break, and the first of them.
    lf, crlf, cr, unterminated: how many records end in LF, in CRLF, in CR, and in nothing.
    quoted_breaks: line breaks inside quotes.
    data_breaks: line breaks outside quotes that do not end a record.
    stray_quotes_count, stray_quotes: quotes where none should be, and the first of them.
    divergence: where the two quote modes begin to cut differently.
    open_quote: the quote that is never closed.
    not_json_count, not_json: lines that are not JSON, in JSON Lines, and the first of them; 0 and None for CSV.
    keys: how often the objects have each key, in the order in which they occur first; {} for CSV. None if there are
        more than 1000 keys, or one longer than 256 bytes.
    """

    sound: bool
    size: int
    records: int
    fields: int
    ragged_count: int
    ragged: list[RaggedRecord]
    longest: int
    longest_place: Place | None
    empty_count: int
    empty: Place | None
    lf: int
    crlf: int
    cr: int
    unterminated: int
    quoted_breaks: int
    data_breaks: int
    stray_quotes_count: int
    stray_quotes: Place | None
    divergence: Place | None
    open_quote: Place | None
    not_json_count: int
    not_json: Place | None
    keys: dict[str, int] | None

    def __bool__(self) -> bool:
        return self.sound
