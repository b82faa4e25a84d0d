"""Finds the types of columns from their values.

Each type is tried on each column, batch by batch, until one value does not fit it. The first type left is the column's:
whole numbers, floats, booleans and, if asked for, dates and timestamps; or text, also if there are no values.

A type fits only values that are written as its values usually are, so that nothing is lost that may have had a meaning.
``007`` and ``+5`` may be codes and telephone numbers, and ``12e4`` a part of a hash. A whole number of more than 15
digits is not exact as a float.
"""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow
import pyarrow.compute

from . import _batches

_FRACTION = r"\.[0-9]+(?:[eE][+-]?[0-9]+)?"
_DATE = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_WRITINGS = {
    pyarrow.int64(): "0|-?[1-9][0-9]*",
    pyarrow.float64(): rf"-?(?:0|[1-9][0-9]{{0,14}})(?:{_FRACTION}|[eE][+-][0-9]+)?|NaN|nan|-?inf",
    pyarrow.bool_(): "true|false|True|False|TRUE|FALSE",
}
_WRITINGS_OF_DATES = {
    pyarrow.date32(): _DATE,
    pyarrow.timestamp("us"): rf"{_DATE}[ T][0-9]{{2}}:[0-9]{{2}}(?::[0-9]{{2}}(?:\.[0-9]{{1,6}})?)?",
}


def types_of(
    batches: Iterable[pyarrow.RecordBatch], nulls: tuple[str, ...], has_dates: bool
) -> list[tuple[pyarrow.DataType, str]]:
    """The types of the columns of these batches of strings, each with the regular expression that the values match,
    which is empty for text. An empty list if there are no batches."""
    writings = {**_WRITINGS, **(_WRITINGS_OF_DATES if has_dates else {})}
    candidates = [(kind, rf"\A(?:{writing})\z") for kind, writing in writings.items()]
    left: list[list[tuple[pyarrow.DataType, str]]] = []
    has_values: list[bool] = []
    none = pyarrow.array([*nulls, ""], pyarrow.string())
    for batch in batches:
        left = left or [candidates for _ in batch.columns]
        has_values = has_values or [False for _ in batch.columns]
        for number, column in enumerate(batch.columns):
            column = column.drop_null()
            values = column.filter(pyarrow.compute.invert(pyarrow.compute.is_in(column, value_set=none)))
            has_values[number] = has_values[number] or len(values) > 0
            left[number] = [one for one in left[number] if _batches.fits(values, *one)]
    return [kinds[0] if kinds and has else (pyarrow.string(), "") for kinds, has in zip(left, has_values)]
