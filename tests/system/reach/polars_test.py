#!/usr/bin/env python3
"""The Polars reader compared with polars.scan_csv and Python's csv module.

  polars_test.py --cleave PATH [--only SUBSTRING] [--rounds N] [--seed N]

CLEAVE_READER_FILES=N: how many random files.
"""
import csv
import io
import os
import random
import sys

import common
from harness import need, write

RANDOM_FILES = 300
# What becomes of ODD: everything else is read by both, with the same rows.
REFUSED = ["lines of blanks", "quoted blanks", "short records", "long records", "CR at the end",
           "a line of blanks first, then two columns", "not UTF-8", "an open quote"]
REFUSED_BY_POLARS_ALONE = ["blank behind a quote", "stray quotes", "text behind a quote"]
# Polars knows no CR as a line end, and keeps doubled quotes in the header.
OTHERWISE_IN_POLARS = ["CR", "a header with a line break", "a header with CR", "a header with a stray quote alone"]


def by_polars(path):
    """The names and rows that Polars reads, or None on an error. Bytes that are no dialect of CSV make it panic."""
    import polars
    try:
        found = polars.scan_csv(path, infer_schema=False, glob=False).collect()
    except (polars.exceptions.PolarsError, polars.exceptions.PanicException):
        return None
    return found.columns, found.rows()


def by_cleave(path, engine="auto"):
    """The names and rows that the reader reads, or None on an error."""
    import cleave.polars
    try:
        found = cleave.polars.scan_csv(path, infer_schema_length=0).collect(engine=engine)
    except cleave.Error:
        return None
    need({str(kind) for kind in found.dtypes} == {"String"}, "the types are %s" % found.dtypes)
    return found.columns, found.rows()


def by_csv(data):
    """What Python's csv module reads, with "" for null."""
    text = data.decode("utf-8-sig", "replace")
    rows = [row or [""] for row in csv.reader(io.StringIO(text, newline=""))]
    while rows and rows[0] == [""]:
        rows.pop(0)
    width = len(rows[0])
    return rows[0], [tuple(row + [""] * (width - len(row)) if row == [""] else row) for row in rows[1:]]


def without_nulls(found):
    return found[0], [tuple("" if value is None else value for value in row) for row in found[1]]


def odd_files(bench):
    """Odd files: the rows of Polars, an error, or else the rows of Python's csv"""
    common.module("polars")
    path = os.path.join(bench.root, "odd.csv")
    refused, alone, otherwise = [], [], []
    for name, data in common.ODD.items():
        write(path, data)
        found, wanted = by_cleave(path), by_polars(path)
        need(found == by_cleave(path, "streaming"), "%s: the streaming engine reads it otherwise" % name)
        if found is None:
            refused.append(name)
        elif wanted != found:
            (alone if wanted is None else otherwise).append(name)
            need(without_nulls(found) == by_csv(data), "%s: %r" % (name, found))
    need(refused == REFUSED, "refused are %s" % refused)
    need(alone == REFUSED_BY_POLARS_ALONE, "refused by Polars alone are %s" % alone)
    need(otherwise == OTHERWISE_IN_POLARS, "read otherwise by Polars are %s" % otherwise)


def random_files(bench):
    """Random files: the rows of Polars, an error, or else the rows of Python's csv"""
    common.module("polars")
    path, chance = os.path.join(bench.root, "random.csv"), random.Random(bench.seed)
    count = int(os.environ.get("CLEAVE_READER_FILES", bench.rounds(RANDOM_FILES)))
    as_both, as_polars, as_csv, refused = 0, 0, 0, 0
    for number in range(count):
        data = common.random_file(chance)
        if b"\n" in data and b"\r," in data:   # Polars drops such a CR from the value, and csv ends the line there
            continue
        write(path, data)
        found = by_cleave(path, "streaming" if number % 2 else "in-memory")
        if found is None:
            refused += 1
            continue
        in_polars, in_csv = found == by_polars(path), without_nulls(found) == by_csv(data)
        need(in_polars or in_csv, "file %d: %r is read as %r" % (number, data, found))
        as_both, as_polars, as_csv = (as_both + (in_polars and in_csv), as_polars + (in_polars and not in_csv),
                                      as_csv + (in_csv and not in_polars))
    bench.note("of %d files, %d were read as by Polars and csv, %d as by Polars alone, %d as by csv alone; %d refused"
               % (count, as_both, as_polars, as_csv, refused))
    need(as_both > count // 4, "only %d of %d files were read as both do" % (as_both, count))


def large_file(bench):
    """A file of many chunks, whose quoted values look like records and whose plain ones have inch marks"""
    common.module("polars")
    import cleave.polars
    lines = [b"id,size,note"]
    for number in range(200000):
        lines.append(b'%d,%d" pipe,"%s"' % (number, number % 9, b'1,"",2\n3,x' if number % 5 else b"\n" * (number % 7)))
    data = b"\n".join(lines) + b"\n"
    path = write(os.path.join(bench.root, "large.csv"), data)
    names, rows = by_csv(data)
    frame = cleave.polars.scan_csv(path)
    import polars
    need(frame.select(polars.len()).collect().item() == len(rows), "it counts otherwise")
    found = frame.collect()
    need(found.columns == names, "the columns are %s" % found.columns)
    need([tuple(str("" if value is None else value) for value in row) for row in found.rows()] == rows, "rows differ")
    try:
        counted = polars.scan_csv(path).select(polars.len()).collect().item()
    except polars.exceptions.PolarsError as error:
        counted = type(error).__name__
    bench.note("of %d records, polars.scan_csv counts: %s" % (len(rows), counted))


CHECKS = [odd_files, random_files, large_file]


if __name__ == "__main__":
    sys.exit(common.harness.main(__doc__, CHECKS))
