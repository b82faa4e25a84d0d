#!/usr/bin/env python3
"""Engines that take the Arrow stream of columns: DuckDB, DataFusion, Daft and pandas give the rows of Python's csv.

  stream_test.py --cleave PATH [--only SUBSTRING] [--rounds N] [--seed N]
"""
import os
import random
import sys

import common
from harness import need, write

RANDOM_FILES = 40


def by_duckdb(columns):
    database = common.module("duckdb")
    return database.from_arrow(columns).fetchall()


def by_datafusion(columns):
    frame = common.module("datafusion").SessionContext().from_arrow(columns)
    return [tuple(row.values()) for batch in frame.collect() for row in batch.to_pylist()]


def by_daft(columns):
    import pyarrow
    return [tuple(row.values()) for row in common.module("daft").from_arrow(pyarrow.table(columns)).to_pylist()]


def by_pandas(columns):
    frame = common.module("pandas").DataFrame.from_arrow(columns)
    return list(frame.itertuples(index=False, name=None))


def rows_by(reader):
    """A check of the engine that the function reads with."""
    def check(bench):
        import cleave
        path, chance, agreed = os.path.join(bench.root, "stream.csv"), random.Random(bench.seed), 0
        count = bench.rounds(RANDOM_FILES)
        for number in range(count):
            data = common.random_file(chance) if number else common.broken_records(3 << 20)
            wanted = common.rows_by_csv(data)
            # Alone in its column, an empty record cannot be told from an empty value in a stream.
            if wanted is None or any(len(row) < 2 for row in wanted):
                continue
            try:
                found = reader(cleave.open(write(path, data), dialect="python").select("*"))
            except cleave.Error:
                continue
            found = [row for row in found if any(isinstance(value, str) for value in row)]   # empty records are nulls
            wanted = [tuple(row.values()) for row in wanted]
            if reader is by_datafusion:   # which promises no order
                found, wanted = sorted(found), sorted(wanted)
            need(found == wanted, "file %d: %s: %r" % (number, found[:20], data[:500]))
            agreed += 1
        bench.note("%d of %d files were compared" % (agreed, count))
        need(agreed > count // 4, "only %d of %d files were compared" % (agreed, count))
        columns = cleave.open(write(path, b"a,b\n1,2\n" * 9 + b"1\n"), dialect="python").select("*")
        try:
            found = reader(columns)
        except Exception as error:   # of the engine
            need("record" in str(error), "the error is %s" % error)
        else:
            need(False, "a record that is too short was read: %s" % found)
    check.__doc__ = "%s: the rows of Python's csv, or an error" % reader.__name__[3:]
    return check


CHECKS = [rows_by(reader) for reader in (by_duckdb, by_datafusion, by_daft, by_pandas)]


if __name__ == "__main__":
    sys.exit(common.harness.main(__doc__, CHECKS))
