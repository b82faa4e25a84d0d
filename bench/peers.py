"""Does with a library of Python what a benchmark compares, and prints the seconds that the library alone took.

peers.py count MODULE FILE              also prints the number of records
peers.py mask duckdb FILE OUT           masks phone numbers, and email addresses of public records
peers.py partition duckdb FILE OUT COLUMN    writes a folder for each value of the column
"""

import sys
import time
from importlib import import_module

# All columns are text, so that nothing is sniffed or converted. Every character of the columns that are masked is one
# byte.
READ = "read_csv('{source}', all_varchar = true, header = true, delim = ',', quote = '\"', escape = '\"')"
MASK = """
    COPY (
        SELECT * REPLACE (
            repeat('*', length(phone)) AS phone,
            CASE WHEN status = 'public' THEN repeat('*', length(mail)) ELSE mail END AS mail
        )
        FROM {read}
    ) TO '{target}' (FORMAT csv, HEADER)
"""
# The folder already exists and is empty.
PARTITION = "COPY (FROM {read}) TO '{target}' (FORMAT csv, HEADER, PARTITION_BY ({column}), OVERWRITE_OR_IGNORE)"


def chdb(module, path):
    query = f"SELECT count() FROM file('{path}', 'CSVWithNames')"
    return int(module.query(query, "CSV").bytes().split()[0])


def duckdb(module, path):
    return module.execute("SELECT count(*) FROM read_csv(?)", [path]).fetchone()[0]


def polars(module, path):
    return module.scan_csv(path).select(module.len()).collect().item()


def pyarrow(_, path):
    """Converts one column, because at least one must be. Of block sizes from 1 to 64 MiB, 16 MiB was the fastest."""
    csv = import_module("pyarrow.csv")
    reading = csv.ReadOptions(block_size=16 << 20)
    with open(path, encoding="utf-8") as file:
        first = file.readline().rstrip("\n").split(",")[0]
    converting = csv.ConvertOptions(include_columns=[first], column_types={first: "string"})
    parsing = csv.ParseOptions(newlines_in_values=True)
    with csv.open_csv(path, reading, parsing, converting) as batches:
        return sum(batch.num_rows for batch in batches)


def main():
    task, name, source, *rest = sys.argv[1:]
    module = import_module("pyarrow.csv" if name == "pyarrow" else name)
    begin = time.perf_counter()
    if task == "count":
        done = globals()[name](module, source)
    else:
        target, column = (*rest, "")[:2]
        query = MASK if task == "mask" else PARTITION
        module.execute(query.format(read=READ.format(source=source), target=target, column=column))
        done = "written"
    print(done, time.perf_counter() - begin)


if __name__ == "__main__":
    main()
