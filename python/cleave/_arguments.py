"""Checks arguments before they reach the extension module, whose own error messages are in C++ terms."""

from __future__ import annotations

import operator
from typing import overload

from ._errors import UsageError


@overload
def number(name: str, value: object) -> int: ...
@overload
def number(name: str, value: object, is_optional: bool) -> int | None: ...
def number(name: str, value: object, is_optional: bool = False) -> int | None:
    """A 64-bit number. Raises TypeError if it is not a whole number, and UsageError if it is out of range."""
    if value is None and is_optional:
        return None
    try:
        whole = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"{name}: a whole number, and not {type(value).__name__}") from None
    if not 0 <= whole < 1 << 64:
        raise UsageError(f"{name}: from 0 to 2**64 - 1")
    return whole


def text(name: str, value: object) -> str:
    """A str. Raises TypeError for anything else."""
    if not isinstance(value, str):
        raise TypeError(f"{name}: a str, and not {type(value).__name__}")
    return value
