#!/usr/bin/env python3
"""Columns that leave the library through the Arrow C data interface, as pyarrow reads them.

  arrow_test.py --cleave PATH [--only SUBSTRING]

The library for this, libarrow_export.so, is built with the tests and is expected beside the command. What pyarrow finds
is compared with the rows of Python's csv.
"""
import csv
import ctypes
import io
import os
import sys

import common
from corpus import corpus
from harness import Inconclusive, need

SEED, RANDOM_FILES = 2, 200
BOM = b"\xef\xbb\xbf"
UNREAD = {"utf16.csv"}   # cleave refuses it
DELIMITERS = {"semicolon.csv": b";", "pipe.csv": b"|", "tab.tsv": b"\t"}
STRUCT_SIZE = 128        # room for ArrowSchema and ArrowArray


class Refused(Exception):
    """The library throws an exception."""


class Exporter:
    """libarrow_export.so."""

    def __init__(self, cleave):
        path = os.path.join(os.path.dirname(cleave), "tests", "libarrow_export.so")
        if not os.path.exists(path):
            raise Inconclusive("there is no " + path, retry=False)
        self.library = ctypes.CDLL(path)
        self.pyarrow = common.module("pyarrow")

    def batch(self, data, delimiter, columns, is_text):
        schema, array, error = (ctypes.create_string_buffer(STRUCT_SIZE) for _ in range(3))
        failed = self.library.export_arrow(data, ctypes.c_size_t(len(data)), ctypes.c_char(delimiter),
                                           ctypes.c_size_t(columns), int(is_text), schema, array, error)
        if failed:
            raise Refused(error.value)
        batch = self.pyarrow.RecordBatch._import_from_c(ctypes.addressof(array), ctypes.addressof(schema))
        batch.validate(full=True)
        return batch


def rows_of(data, delimiter):
    """The rows as Python's csv reads them, in bytes."""
    text = io.StringIO(data.decode("latin-1"), newline="")
    csv.field_size_limit(1 << 30)
    return [[field.encode("latin-1") for field in row] for row in csv.reader(text, delimiter=delimiter.decode())]


def is_utf8(value):
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True


def columns_of(rows):
    width = max([len(row) for row in rows] + [1])
    return [[row[i] if i < len(row) else None for row in rows] for i in range(width)]


def compare(exporter, data, delimiter, is_text):
    """Returns True if the file was compared, False if it was refused as not UTF-8."""
    wanted = columns_of(rows_of(data, delimiter))
    all_utf8 = all(is_utf8(value) for column in wanted for value in column if value is not None)
    try:
        batch = exporter.batch(data, delimiter, len(wanted), is_text)
    except Refused:
        need(is_text and not all_utf8, "refused")
        return False
    need(not is_text or all_utf8, "not refused")
    kind = "string" if is_text else "binary"
    need([str(column.type) for column in batch.columns] == [kind] * len(wanted), "types: %s" % batch.schema)
    need(batch.schema.names == ["c%d" % i for i in range(len(wanted))], "names: %s" % batch.schema)
    for column, values in zip(batch.columns, wanted):
        if is_text:
            values = [None if value is None else value.decode() for value in values]
        need(column.to_pylist() == values, "%r is not %r" % (column.to_pylist(), values))
        need(column.null_count == values.count(None), "%d nulls" % column.null_count)
    # A column outlives the batch that it was part of.
    first, values = batch.columns[0], batch.columns[0].to_pylist()
    del batch, column
    need(first.to_pylist() == values, "a column changed when its batch was released")
    return True


def read_back(is_text):
    def check(bench):
        exporter = Exporter(bench.cleave)
        compared = refused = 0
        for name, data in corpus(RANDOM_FILES, SEED + bench.seed - 1).items():
            if name in UNREAD:
                continue
            try:
                done = compare(exporter, data.removeprefix(BOM), DELIMITERS.get(name, b","), is_text)
            except common.harness.Failure as failure:
                raise common.harness.Failure("%s: %s" % (name, failure)) from None
            compared, refused = compared + done, refused + (not done)
        bench.note("%d files compared, %d not UTF-8" % (compared, refused))
        need(compared >= 400, "only %d files were compared" % compared)
    return common.named(check, "pyarrow reads " + ("text" if is_text else "bytes"))


if __name__ == "__main__":
    sys.exit(common.harness.main(__doc__, [read_back(is_text) for is_text in (False, True)]))
