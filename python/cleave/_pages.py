"""How an input is read, and pages of it: whole records that are preceded by the header."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import cleave

from ._errors import InputError, UsageError
from ._sources import GZIP
from ._urls import shown

if TYPE_CHECKING:
    import pyarrow

    from ._batches import Request

HEAD_SIZE = 64 << 10
"""How many bytes are examined to find the dialect."""

OPTIONS = (
    *("dialect", "delimiter", "quote", "escape", "escape_scope", "quoting", "terminator", "skip_lines", "comment"),
)
"""The arguments of ``cleave.open`` that ranges have, too."""


@dataclass(frozen=True)
class Format:
    """How to read an input. It is complete: nothing remains to be found from the data."""

    options: Mapping[str, Any]  # for the dialect, as for cleave.open
    has_header: bool = True
    preamble: int = 0  # bytes of the input before its header; pages do not contain them
    line_break: bytes = b"\n"  # the first one of the input, quoted or not; LF if it has none

    @staticmethod
    def settle(path: str, head: bytes, has_header: bool, options: Mapping[str, Any]) -> Format:
        """Finds what the options leave open in the first HEAD_SIZE bytes of the input."""
        if head.startswith((GZIP, b"\x28\xb5\x2f\xfd")):
            raise UsageError(f"{shown(path)} is compressed, and ranges of it cannot be read; of a local gzip file with an index, they can")
        given = {name: value for name, value in options.items() if value is not None}
        name = path.lower().removesuffix(".gz")
        if "delimiter" not in given and "dialect" not in given and name.endswith((".tsv", ".tab")):
            given["delimiter"] = "\t"
        found = cleave.open(head, header=has_header, **given).dialect
        if found.header == "none":
            raise UsageError(f"{shown(path)}: JSON Lines have no columns, and ranges of them cannot be read")
        for name in ("skip_lines", "comment"):
            given.pop(name, None)
        # Quote and escape are bytes; b"" stands for none. Properties that only a preset can set are left to the preset.
        settled = {
            "delimiter": found.delimiter,
            "quote": found.quote or b"",
            "escape": found.escape or b"",
            "quoting": found.quoting,
            "terminator": found.terminator,
            "escape_scope": found.escape_scope,
        }
        return Format({**given, **settled}, has_header, found.preamble)

    def open(self, data: bytes | memoryview, header: bool = True, allow_open_quote: bool = False) -> cleave.File:
        """Opens bytes of this format. The engine runs several tasks at once, so each uses a single thread."""
        return cleave.open(memoryview(data), header=header, allow_open_quote=allow_open_quote, threads=1, **self.options)

    def find_no_text(self, data: bytes | memoryview) -> int | None:
        """The index of the first byte that is not UTF-8. Delimiters, quotes and escapes may be any bytes."""
        between = b"".join(self.options[name] for name in ("delimiter", "quote", "escape"))
        try:
            bytes(data).translate(bytes.maketrans(between, b"," * len(between))).decode()
        except UnicodeDecodeError as error:
            return error.start
        return None


def is_of_text(error: InputError) -> bool:
    """Whether the error is about bytes that are not UTF-8. Then its byte is where their record starts."""
    return re.match(r"field \d+ is not UTF-8", str(error)) is not None


@dataclass(frozen=True)
class Page:
    """Whole records, preceded by the header."""

    data: memoryview  # the header and the records
    header_size: int
    start: int  # where the first record starts in the input
    first_record: int  # its number, from 1 after the header
    format: Format

    def open(self) -> cleave.File:
        """The page as a file. Byte numbers in it count from the start of the page: see ``place``."""
        return self.format.open(self.data, allow_open_quote=True)

    def batches(self, request: Request) -> Iterator[pyarrow.RecordBatch]:
        """The records as ``_batches.batches`` delivers them, but errors have their places in the input."""
        from . import _batches

        try:
            yield from _batches.batches(self.open(), request)
        except InputError as error:
            if is_of_text(error):
                start = error.byte or self.header_size
                fault = self.format.find_no_text(self.data[start:])
                raise self.error("bytes that are not UTF-8", start + (fault or 0)) from None
            raise self.located(error) from None

    def place(self, byte: int) -> int:
        """The offset in the input of a byte of the page."""
        return self.start + byte - self.header_size

    def error(self, message: str, byte: int | None = None) -> InputError:
        """An InputError about the page, or about one of its bytes."""
        if byte is None:
            last = self.start + len(self.data) - self.header_size
            return InputError(f"{message} (in the records from byte {self.start} to {last})")
        return InputError(message, self.place(byte))

    def located(self, error: InputError) -> InputError:
        """The error, whose byte and record count from the start of the page, with the place in the input."""
        message = re.sub(r" \((byte|record) [^()]*\)$", "", str(error))
        if error.byte is None:
            return self.error(message)
        record = None if error.record is None else self.first_record + error.record - 1
        return InputError(message, self.place(error.byte), record)
