"""Counts the records of a file with DuckDB; prints the number and the seconds that the query alone took."""

import sys
import time

import duckdb

begin = time.perf_counter()
count = duckdb.execute("SELECT count(*) FROM read_csv(?)", [sys.argv[1]]).fetchone()[0]
print(count, time.perf_counter() - begin)
