"""Counts the records of a file with ClickHouse in this process; prints the number and the seconds of the query alone."""

import sys
import time

import chdb

begin = time.perf_counter()
count = chdb.query(f"SELECT count() FROM file('{sys.argv[1]}', 'CSVWithNames')", "CSV").bytes().split()[0]
print(int(count), time.perf_counter() - begin)
