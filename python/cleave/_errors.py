"""The exceptions of cleave.

If a system call fails, an ``OSError`` is raised (for which the command's exit status is 1); if memory runs out, a
``MemoryError``.
"""

from __future__ import annotations

import copyreg
import os
import re
import sys
import warnings
from typing import ClassVar


class Error(Exception):
    """An error that cleave found."""

    exit_code: ClassVar[int] = 1
    """The exit status of the command ``cleave`` for such an error."""

    def __reduce__(self) -> tuple[object, tuple[object, ...], dict[str, object]]:
        # Pickle and copy recreate it without __init__, whose arguments differ from those in args.
        return copyreg.__newobj__, (type(self), *self.args), self.__dict__  # type: ignore[attr-defined]


class UsageError(Error, ValueError):
    """An argument that cannot be used."""

    exit_code = 2


class RuleError(UsageError):
    """A rule, a list of columns or a key that cannot be used.

    ``text[place:]`` is where the fault begins, in bytes; ``origin`` says where the rule, list or key was given.
    """

    origin: str
    text: str
    place: int

    def __init__(self, message: str, origin: str, text: str, place: int) -> None:
        super().__init__(f"{origin}: {message}")
        self.origin = origin
        self.text = text
        self.place = place


class InputError(Error, ValueError):
    """The input is malformed, or its format is not supported.

    ``byte`` is an offset in the input, from 0. ``record`` counts from 1 after the header, and is 0 in the header. Both
    are ``None`` if the error has no position.
    """

    exit_code = 3
    byte: int | None
    record: int | None

    def __init__(self, message: str, byte: int | None = None, record: int | None = None) -> None:
        place = []
        if byte is not None:
            place.append(f"byte {byte}")
        if record is not None:
            place.append(f"record {record}" if record > 0 else "in the header")
        super().__init__(f"{message} ({', '.join(place)})" if place else message)
        self.byte = byte
        self.record = record


class OpenQuoteError(InputError):
    """A quote is still open at the end of the input; the position is where it opens."""


class InputChangedError(Error):
    """The input changed after it was opened. Do not use any results obtained from it."""

    exit_code = 4


class CleaveWarning(UserWarning):
    """Something that cleave works around, such as an index that it cannot use."""


_IN_PYTHON = {
    "the output template": "the argument name",
    r"give it by --key \S*=file:PATH": "give it in keys",
    "cleave key new makes a key": "secrets.token_bytes(32) makes a key",
    "; use --select '!COLUMN'": "; select the other columns",
    "with cleave cat$": "with File.write",
    "cleave index with the options of this run makes it again": "File.index makes it again",
    "cleave index --verify can renew it": "File.index makes it again",
    "cleave index makes the index again": "File.index makes it again",
    "this prints it as CSV: iconv -f UTF-16LE .*": "encoding='utf-16le' reads such a file",
    "this prints it as CSV: iconv -f UTF-16BE .*": "encoding='utf-16be' reads such a file",
    "; try: iconv -f .* FILE .*": "; bytes.decode makes text of it",
    "this prints it as CSV: iconv -f (UTF-32..) .*": r"bytes.decode('\1') makes text of it",
}


def in_python(message: str) -> str:
    """A message of the library with Python's words in place of the command's."""
    for words, others in _IN_PYTHON.items():
        message = re.sub(words, others, message)
    return message


_FOLDER = os.path.dirname(__file__) + os.sep


def warn(message: str) -> None:
    """Issues a CleaveWarning that points to the code that called this package."""
    depth, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_FOLDER):
        depth, frame = depth + 1, frame.f_back
    warnings.warn(message, CleaveWarning, stacklevel=depth)
