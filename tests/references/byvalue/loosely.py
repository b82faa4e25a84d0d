"""Reads records and fields where no rule requires strict reading: every text can be read.

The states are those in doc/internals/design.md, "What a record is". Shares no code with the library.
"""
from collections import namedtuple

from fields import BOM, CR, LF, next_special

# start, end: offsets, including the terminator. values: without quotes and escapes. is_empty: whether there is only a
# terminator. is_blank: whether there are only CR and LF.
Record = namedtuple("Record", "start end values is_empty is_blank")

START, PLAIN, QUOTED, AFTER_QUOTE = range(4)


class Reader:
    def __init__(self, data, dialect, anywhere):
        self.data, self.dialect, self.anywhere = data, dialect, anywhere
        self.records = []
        self.is_open = False   # a quote is never closed
        self.escapes_end = False   # the last byte is an escape, on whose meaning readers differ

    def read(self):
        at = 0
        while at < len(self.data):
            start, self.values, self.value, self.state = at, [], bytearray(), START
            if start == 0 and self.data.startswith(BOM):
                at = len(BOM)
            body = at
            at = self.read_record(at)
            is_blank = not self.data[body:at].strip(b"\r\n") and self.state != QUOTED
            self.records.append(Record(start, at, self.values, is_blank and self.values == [b""], is_blank))
        return self

    def end_field(self):
        self.values.append(bytes(self.value))
        self.value, self.state = bytearray(), START

    def read_record(self, at):
        """Reads the record at `at`. Returns the offset of the byte after it."""
        data, dialect = self.data, self.dialect
        is_return = False   # whether the preceding byte is a CR that counts as plain data
        while at < len(data):
            plain, at = at, next_special(data, at, dialect)
            if at > plain:
                is_return = False
                self.value += data[plain:at]
                if self.state != QUOTED:
                    self.state = PLAIN
                if at == len(data):
                    break
            byte = data[at]
            if self.state != QUOTED:
                size = self.terminator_size(at)
                if size > 0:
                    if dialect.terminator == "lf" and is_return:
                        del self.value[-1]
                    self.end_field()
                    return at + size
                if byte == dialect.delimiter:
                    self.end_field()
                    is_return = False
                    at += 1
                    continue
            is_return = False
            if self.escape_acts(byte):
                if self.state == START or self.state == AFTER_QUOTE:
                    self.state = PLAIN
                self.escapes_end = at + 1 == len(data)
                self.value += data[at + 1:at + 2]
                at += 2
                continue
            if byte == dialect.quote:
                self.read_quote(byte)
            else:
                is_return = byte == CR and self.state != QUOTED
                self.value.append(byte)
                if self.state != QUOTED:
                    self.state = PLAIN
            at += 1
        self.is_open = self.state == QUOTED
        was_open = self.state
        self.end_field()
        self.state = was_open
        return len(data)

    def read_quote(self, byte):
        if self.state == QUOTED:
            self.state = AFTER_QUOTE
        elif self.state == AFTER_QUOTE:   # a doubled quote
            self.value.append(byte)
            self.state = QUOTED
        elif self.state == START or self.anywhere:
            self.state = QUOTED
        else:
            self.value.append(byte)

    def escape_acts(self, byte):
        if self.dialect.escape is None or byte != self.dialect.escape:
            return False
        if self.state == QUOTED:
            return True
        return self.dialect.escape_everywhere and (self.state != AFTER_QUOTE or self.anywhere)

    def terminator_size(self, at):
        byte = self.data[at]
        if self.dialect.terminator == "lf":
            return int(byte == LF)
        if self.dialect.terminator == "cr":
            return int(byte == CR)
        if self.data[at:at + 2] == b"\r\n":
            return 2
        return int(byte in (CR, LF))


def split_header(records, has_header):
    """Returns how many records at the start belong to the header, including the blank ones before it; and the header,
    or None."""
    if not has_header or not records:
        return 0, None
    for number, record in enumerate(records):
        if not record.is_blank:
            return number + 1, record
    return 1, records[0]
