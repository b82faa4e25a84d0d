"""Converts pages of records to Arrow tables of strings, as CSV readers do."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy
import pyarrow
import pyarrow.compute

if TYPE_CHECKING:
    from ._errors import InputError
    from .ranges import Page


def table_of(page: Page, blanks: str = "") -> pyarrow.Table:
    """All columns of a page as strings, one row for each record that is not empty. Fields that a record lacks are null,
    as are empty fields, quoted or not. Surplus fields are left out. Bytes that are not UTF-8 raise InputError.

    blanks: records that consist only of these characters are left out, too.
    """
    file = page.open()
    try:
        table = pyarrow.table(file.select("*", missing_is_null=True))
    except pyarrow.ArrowException as error:
        raise _placed(page, str(error)) from None  # its byte numbers count from the start of the page
    if table.num_columns == 0:
        return table
    # The first field is missing only if the record is empty.
    if table.column(0).null_count > 0:
        table = table.filter(pyarrow.compute.is_valid(table.column(0)))
    if blanks:
        table = _without_blanks(page, table, blanks)
    columns = [[_with_nulls(chunk) for chunk in column.chunks] for column in table.columns]
    arrays = [pyarrow.chunked_array(chunks, pyarrow.string()) for chunks in columns]
    return pyarrow.Table.from_arrays(arrays, names=table.column_names)


def _placed(page: Page, message: str) -> InputError:
    """An error from the page's stream, with the position in the input."""
    fault = page.format.find_no_text(page.data[page.header_size :])
    if fault is not None:
        return page.error("bytes that are not UTF-8", page.header_size + fault)
    return page.error(re.sub(r" \(byte \d+, [^()]*\)$", "", message))


def _without_blanks(page: Page, table: pyarrow.Table, blanks: str) -> pyarrow.Table:
    first = table.column(0)
    is_blank = pyarrow.compute.equal(pyarrow.compute.utf8_trim(first, characters=blanks), "")
    is_blank = pyarrow.compute.and_(is_blank, pyarrow.compute.not_equal(first, ""))
    if table.num_columns > 1:  # if a record has one field, the second is null
        is_blank = pyarrow.compute.and_(is_blank, pyarrow.compute.is_null(table.column(1)))
    if not pyarrow.compute.any(is_blank).as_py():
        return table
    quote = page.format.options["quote"]
    if quote and quote in bytes(page.data[page.header_size :]):
        raise page.error("a record of blanks: whether it has quotes is not known here, and without them it is dropped")
    return table.filter(pyarrow.compute.invert(is_blank))


def _with_nulls(array: pyarrow.StringArray) -> pyarrow.StringArray:
    """The same strings, with nulls in place of empty ones."""
    count = len(array)
    offsets = numpy.frombuffer(array.buffers()[1], numpy.int32, count + 1, 4 * array.offset)
    full = offsets[1:] != offsets[:-1]
    if full.all():
        return array
    # A null has no bytes either.
    validity = pyarrow.py_buffer(numpy.packbits(full, bitorder="little").tobytes())
    buffers = [validity, pyarrow.py_buffer(offsets), array.buffers()[2]]
    return pyarrow.StringArray.from_buffers(count, buffers[1], buffers[2], buffers[0], count - int(full.sum()))
