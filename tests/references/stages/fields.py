"""Reads records and fields of a file a byte at a time, under the strict rules that apply with stages.

Shares no code with the library. It is written to be obviously right, not to be fast; it only skips bytes that are data
in every state.
"""
import functools
import re
from collections import namedtuple

BOM = b"\xef\xbb\xbf"
CR, LF = 13, 10

# Bytes are integers; quote and escape may be None. terminator: lf, cr or any.
Dialect = namedtuple("Dialect", "delimiter quote escape escape_everywhere terminator")
# raw: the bytes in the file. value: without quotes and escapes.
Field = namedtuple("Field", "raw value quoted")
# start, end: offsets into the file, including the terminator. bom: BOM or b"". terminator: bytes, possibly empty.
Record = namedtuple("Record", "start end bom fields terminator is_empty")


class Fault(Exception):
    """The input breaks the strict rules: exit status 3. `kind` is a short description for people."""

    def __init__(self, kind):
        super().__init__(kind)
        self.kind = kind


class CannotCarry(Exception):
    """The dialect cannot write a value."""


def make_dialect(delimiter, quote=b'"', escape=None, scope="everywhere", terminator="lf"):
    """Takes one-byte values, or None. An escape that equals the quote means no escape."""
    if escape == quote:
        escape = None
    return Dialect(delimiter[0], quote[0] if quote else None, escape[0] if escape else None,
                   escape is not None and scope == "everywhere", terminator)


@functools.lru_cache(maxsize=None)
def special(dialect):
    """Matches a byte that may mean something, anywhere in a text. All others are data in every state."""
    found = {dialect.delimiter, dialect.quote, dialect.escape, CR, LF} - {None}
    return re.compile(b"[%s]" % re.escape(bytes(sorted(found))))


def next_special(data, at, dialect):
    """The offset of the first such byte from `at` on, or of the end."""
    found = special(dialect).search(data, at)
    return found.start() if found else len(data)


def terminator_size(data, at, dialect):
    """The size of the terminator at `at`: 0, 1 or 2 bytes."""
    if at >= len(data) or data[at] not in (CR, LF):
        return 0
    is_crlf = data[at:at + 2] == b"\r\n"
    if dialect.terminator == "lf":
        return 2 if is_crlf else int(data[at] == LF)
    if dialect.terminator == "cr":
        return int(data[at] == CR)
    return 2 if is_crlf else 1


def read_quoted(data, at, dialect):
    value, i = bytearray(), at + 1
    while True:
        plain, i = i, next_special(data, i, dialect)
        value += data[plain:i]
        if i >= len(data):
            raise Fault("open quote")
        byte = data[i]
        if byte == dialect.escape:
            if i + 1 >= len(data):
                raise Fault("open quote")
            value.append(data[i + 1])
            i += 2
        elif byte == dialect.quote:
            if i + 1 < len(data) and data[i + 1] == dialect.quote:
                value.append(byte)
                i += 2
            else:
                i += 1
                break
        else:
            value.append(byte)
            i += 1
    if i < len(data) and data[i] != dialect.delimiter and not terminator_size(data, i, dialect):
        raise Fault("data after a closing quote")
    return Field(data[at:i], bytes(value), True), i


def read_unquoted(data, at, dialect):
    value, i = bytearray(), at
    while True:
        plain, i = i, next_special(data, i, dialect)
        value += data[plain:i]
        if i >= len(data):
            break
        byte = data[i]
        if byte == dialect.delimiter:
            break
        if byte == CR or byte == LF:
            if terminator_size(data, i, dialect):
                break
            raise Fault("a line end that is no terminator")
        if byte == dialect.quote:
            raise Fault("quote inside an unquoted field")
        if byte == dialect.escape and dialect.escape_everywhere:
            # The rules do not name this fault. If --select moved such a field, it would swallow a delimiter.
            if i + 1 >= len(data):
                raise Fault("escape at the end of the input")
            value.append(data[i + 1])
            i += 2
        else:
            value.append(byte)
            i += 1
    return Field(data[at:i], bytes(value), False), i


def read_field(data, at, dialect):
    """Returns the field that starts at `at`, and where it ends."""
    if dialect.quote is not None and at < len(data) and data[at] == dialect.quote:
        return read_quoted(data, at, dialect)
    return read_unquoted(data, at, dialect)


def read_record(data, start, dialect):
    """The record that starts at `start`. Raises Fault."""
    bom = BOM if start == 0 and data.startswith(BOM) else b""
    first = at = start + len(bom)
    fields = []
    while True:
        field, at = read_field(data, at, dialect)
        fields.append(field)
        if at < len(data) and data[at] == dialect.delimiter:
            at += 1
        else:
            break
    end = at + terminator_size(data, at, dialect)
    return Record(start, end, bom, fields, data[at:end], at == first)


def write_value(value, quoted, dialect):
    """The bytes of a changed field with this value. Raises CannotCarry."""
    special = {dialect.delimiter, CR, LF}
    if dialect.escape_everywhere:
        special.add(dialect.escape)
    if dialect.quote is None:
        if not any(byte in special for byte in value):
            return value
        if not dialect.escape_everywhere:
            raise CannotCarry()
        out = bytearray()
        for byte in value:
            if byte in special:
                out.append(dialect.escape)
            out.append(byte)
        return bytes(out)
    special.add(dialect.quote)
    if not quoted and not any(byte in special for byte in value):
        return value
    out = bytearray([dialect.quote])
    for byte in value:
        if byte == dialect.quote:
            out.append(dialect.quote if dialect.escape is None else dialect.escape)
        elif byte == dialect.escape:
            out.append(dialect.escape)
        out.append(byte)
    out.append(dialect.quote)
    return bytes(out)


def needs_quotes_or_escapes(value, dialect):
    try:
        return write_value(value, False, dialect) != value
    except CannotCarry:
        return True
