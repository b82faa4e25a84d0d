"""Writes a folder for each value of a column with DuckDB; prints the seconds that the query alone took."""

import sys
import time

import duckdb

source, target, column = sys.argv[1:4]
# All columns are text, so that nothing is sniffed or converted. The folder already exists and is empty.
QUERY = f"""
    COPY (FROM read_csv('{source}', all_varchar = true, header = true, delim = ',', quote = '"', escape = '"'))
    TO '{target}' (FORMAT csv, HEADER, PARTITION_BY ({column}), OVERWRITE_OR_IGNORE)
"""
begin = time.perf_counter()
duckdb.execute(QUERY)
print("written", time.perf_counter() - begin)
