"""Checks arguments before they reach the extension module, whose own error messages are in C++ terms."""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping
from fractions import Fraction
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


def parts(weights: Mapping[str, object]) -> list[tuple[str, int]]:
    """The names of parts with weights that are whole numbers in the same proportion. Raises TypeError and UsageError."""
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
