"""Checks arguments before they reach the extension module, whose own error messages are in C++ terms.

All functions raise TypeError for an argument of the wrong type, and UsageError for one that is out of range. The
message begins with the name of the argument.
"""

from __future__ import annotations

import math
import operator
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import overload

from ._errors import UsageError

_BYTES = (bytes, bytearray, memoryview)


def wrong(name: str, wanted: str, value: object) -> TypeError:
    """The error for an argument that is not what is wanted."""
    return TypeError(f"{name}: {wanted}, and not {type(value).__name__}")


# What engines call arguments that several readers here have.
_SAME = (
    ("delimiter", "sep", "separator"),
    ("quote", "quotechar", "quote_char"),
    ("escape", "escapechar", "escape_char"),
    ("header", "has_header"),
    ("schema", "schema_overrides", "dtype", "dtypes"),
    ("nulls", "null_values", "na_values"),
    ("columns", "usecols"),
    ("skip_lines", "skip_rows", "skiprows"),
    ("comment", "comment_prefix"),
    ("n_rows", "nrows"),
)


def only(function: str, given: Iterable[str], *known: Iterable[str] | None) -> None:
    """Raises TypeError for a name that is not a known one, and says which is meant if engines have it for that."""
    names = {name for some in known for name in some or ()}
    for name in given:
        if name not in names:
            meant = [one for same in _SAME if name in same for one in same if one in names]
            raise TypeError(f"{function}() has no argument {name!r}" + (f"; {meant[0]} is meant" if meant else ""))


@overload
def number(name: str, value: object) -> int: ...
@overload
def number(name: str, value: object, is_optional: bool) -> int | None: ...
def number(name: str, value: object, is_optional: bool = False) -> int | None:
    """A 64-bit number. A bool is not a number."""
    if value is None and is_optional:
        return None
    try:
        if isinstance(value, bool):
            raise TypeError
        whole = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise wrong(name, "a whole number", value) from None
    if not 0 <= whole < 1 << 64:
        raise UsageError(f"{name}: from 0 to 2**64 - 1")
    return whole


def text(name: str, value: object) -> str:
    """A str that can be passed on as UTF-8."""
    if not isinstance(value, str):
        raise wrong(name, "a str", value)
    try:
        value.encode()
    except UnicodeEncodeError:
        raise UsageError(f"{name}: it has a surrogate, which is not a character") from None
    return value


def flag(name: str, value: object) -> bool:
    """True or False, and nothing that merely counts as one of them."""
    if not isinstance(value, bool):
        raise wrong(name, "True or False", value)
    return value


def path(name: str, value: object) -> str:
    """A path: a str, or an os.PathLike of one."""
    try:
        found = os.fspath(value)  # type: ignore[call-overload]
    except TypeError:
        raise wrong(name, "a path", value) from None
    if isinstance(found, bytes):
        raise TypeError(f"{name}: a path is a str or an os.PathLike of one, and not bytes; os.fsdecode makes one")
    if "\0" in found:
        raise UsageError(f"{name}: a path has no NUL character")
    try:
        os.fsencode(found)
    except UnicodeEncodeError:
        raise UsageError(f"{name}: it has a surrogate, which is not a character") from None
    return str(found)


def file(name: str, value: object) -> str:
    """The path of a file; "" for None."""
    found = "" if value is None else path(name, value)
    if value is not None and (not found or found.endswith("/")):
        raise UsageError(f"{name}: {found!r} names no file")
    return found


_URL = re.compile("[A-Za-z][A-Za-z0-9+._:-]*://")
_FILE_URL = re.compile("file:(?://(?:localhost)?|(?!//))(/.*)", re.IGNORECASE | re.DOTALL)


def is_remote(text: str) -> bool:
    """Whether it is a URL that is opened through fsspec, and not the path of a file, or ``file:/PATH``."""
    return _URL.match(text) is not None and not text[:6].lower() == "file:/"


def local_path(name: str, text: str) -> str:
    """The path that is given as a path, or as ``file:///PATH``, ``file://localhost/PATH`` or ``file:/PATH``, where bytes
    can be % codes."""
    if text[:6].lower() != "file:/":
        return path(name, text)
    from urllib.parse import unquote  # rarely needed and slow to import

    return path(name, unquote(_path_in(name, text, "?#"), errors="surrogateescape"))


def local_pattern(name: str, text: str) -> str:
    """The same for a pattern. Bytes that are % codes stand for themselves."""
    if text[:6].lower() != "file:/":
        return path(name, text)
    from glob import escape
    from urllib.parse import unquote

    found = _path_in(name, text, "#")
    codes = re.compile("(?:%[0-9A-Fa-f]{2})+")
    return path(name, codes.sub(lambda match: escape(unquote(match[0], errors="surrogateescape")), found))


def _path_in(name: str, url: str, reserved: str) -> str:
    found = _FILE_URL.fullmatch(url)
    if found is None or any(letter in found[1] for letter in reserved):
        raise UsageError(f"{name}: {url}: a file on this machine is file:///PATH, with % codes for '?', '#' and '%'")
    return found[1]


def mapping(name: str, value: object) -> Mapping[object, object]:
    """A mapping, such as a dict; None stands for an empty one."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise wrong(name, "a mapping", value)
    return value


def columns(name: str, value: object) -> list[str | int]:
    """One column or several: names, or numbers from 0."""
    several = value if isinstance(value, Sequence) and not isinstance(value, (str, *_BYTES)) else [value]
    return [column(name, one) for one in several]


def column(name: str, value: object) -> str | int:
    """A name, or a number from 0."""
    if isinstance(value, str):
        return value
    if isinstance(value, _BYTES):
        raise UsageError(f"{name}: a name is a str, and a number an int")
    try:
        if isinstance(value, bool):
            raise TypeError
        whole = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise wrong(name, "a column is a str or an int", value) from None
    if not 0 <= whole < 1 << 64:
        raise UsageError(f"{name}: there is no column {whole}")
    return whole


def number_of(value: object, names: Sequence[str]) -> int:
    """The number, from 0, of the column that a name or a number stands for, if the columns have these names."""
    wanted = column("a column", value)
    if isinstance(wanted, int) and wanted < len(names):
        return wanted
    some = ", ".join(repr(name[:40]) for name in names[:20]) + (", ..." if len(names) > 20 else "")
    known = f"the columns are {some}" if names else "the input has no columns"
    found = [] if isinstance(wanted, int) else [number for number, name in enumerate(names) if name == wanted]
    if not found:
        raise UsageError(f"there is no column {wanted!r}; {known}")
    if len(found) > 1:
        raise UsageError(f"there are several columns {wanted!r}: give a number, from 0; {known}")
    return found[0]


def parts(weights: Mapping[object, object]) -> list[tuple[str, int]]:
    """The names of parts with weights that are whole numbers in the same proportion."""
    shares = []
    for name, weight in weights.items():
        try:
            share = Fraction(str(weight))  # as it is written: 0.1 is a tenth
        except (ValueError, ZeroDivisionError):
            share = Fraction(0)
        if share <= 0:
            raise UsageError(f"parts: the weight of {text('parts', name)!r} is {weight!r}, and not a number above 0")
        shares.append(share)
    scale = math.lcm(*(share.denominator for share in shares))
    whole = [int(share * scale) for share in shares]
    if sum(whole) >= 1 << 64:
        raise UsageError("parts: the weights have too many digits")
    return [(text("parts", name), weight) for name, weight in zip(weights, whole)]


def compression(value: object) -> tuple[str, int | None] | None:
    """The format and the level of "gzip", "zstd", "gzip:9" and so on; None for no compression."""
    if value is None:
        return None
    format, colon, level = text("compress", value).partition(":")
    if not colon:
        return format, None
    if not (level.isascii() and level.isdigit() and len(level) < 4):
        raise UsageError(f"compress: {level!r} is not a level, as in gzip:9")
    return format, int(level)
