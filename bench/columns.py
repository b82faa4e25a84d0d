"""columns.py FILE [ROUNDS]: reads 3 of 12 columns of a `make_input people` file as strings, in cleave and other tools.

Each run is a separate process, which imports its modules before the clock starts; programs take turns in a random
order. "kept" combines all batches into one table; "passed" counts the rows of each batch and discards it. Before that,
each program runs once untimed, and checksums of the values that it returns are compared.
"""

from __future__ import annotations

import importlib
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import time
import zlib
from collections.abc import Callable, Iterable
from typing import Any

COLUMNS = ["id", "mail", "code"]


def cleave_kept(path: str) -> list[Any]:
    import cleave
    import pyarrow

    return [pyarrow.table(cleave.open(path).select(*COLUMNS))]


def cleave_passed(path: str) -> Iterable[Any]:
    import cleave
    import pyarrow

    return pyarrow.RecordBatchReader.from_stream(cleave.open(path).select(*COLUMNS))


def polars_frame(path: str, engine: Any) -> list[Any]:
    import polars

    return [polars.scan_csv(path, infer_schema=False).select(COLUMNS).collect(engine=engine)]


def polars_kept(path: str) -> list[Any]:
    return polars_frame(path, "auto")


def polars_streaming_kept(path: str) -> list[Any]:
    return polars_frame(path, "streaming")


def polars_passed(path: str) -> Iterable[Any]:
    import polars

    return polars.scan_csv(path, infer_schema=False).select(COLUMNS).collect_batches()


def pyarrow_kept(path: str) -> list[Any]:
    import pyarrow
    from pyarrow import csv

    types = {column: pyarrow.string() for column in COLUMNS}
    return [
        csv.read_csv(
            path,
            read_options=csv.ReadOptions(block_size=4 << 20),
            parse_options=csv.ParseOptions(newlines_in_values=True),
            convert_options=csv.ConvertOptions(include_columns=COLUMNS, column_types=types),
        )
    ]


def duckdb_kept(path: str) -> list[Any]:
    import duckdb

    options = "all_varchar = true, header = true, delim = ',', quote = '\"'"
    query = f"SELECT {', '.join(COLUMNS)} FROM read_csv(?, {options})"
    return [duckdb.connect().execute(query, [path]).to_arrow_table()]


JOBS: dict[str, tuple[Callable[[str], Iterable[Any]], list[str]]] = {
    "cleave, kept": (cleave_kept, ["cleave", "pyarrow"]),
    "Polars, kept": (polars_kept, ["polars"]),
    "Polars streaming, kept": (polars_streaming_kept, ["polars"]),
    "pyarrow, kept": (pyarrow_kept, ["pyarrow.csv"]),
    "DuckDB, kept": (duckdb_kept, ["duckdb", "pyarrow"]),
    "cleave, passed": (cleave_passed, ["cleave", "pyarrow"]),
    "Polars, passed": (polars_passed, ["polars"]),
}


def rows_in(batches: Iterable[Any]) -> int:
    # A Polars frame has no num_rows.
    return sum(batch.height if hasattr(batch, "height") else batch.num_rows for batch in batches)


def checksums(batches: Iterable[Any]) -> list[tuple[str, int, int, int]]:
    """For each column: its name, the number of values, and checksums of their sizes and bytes, which do not depend on
    the batches. Null counts as the empty string, because some programs read an empty field as null.
    """
    import numpy
    import pyarrow

    sums = {name: [0, 0, 0] for name in COLUMNS}
    for batch in batches:
        table = batch.to_arrow() if hasattr(batch, "to_arrow") else pyarrow.table(batch)
        if table.column_names != COLUMNS:
            sys.exit(f"the columns are {table.column_names}")
        for name, column in zip(COLUMNS, table.columns, strict=True):
            for chunk in column.cast(pyarrow.large_string()).fill_null("").chunks:
                offsets = numpy.frombuffer(chunk.buffers()[1], numpy.int64, len(chunk) + 1, 8 * chunk.offset)
                text = memoryview(chunk.buffers()[2] or b"")[offsets[0] : offsets[-1]]
                of_column = sums[name]
                of_column[0] += len(chunk)
                of_column[1] = zlib.crc32(numpy.diff(offsets).tobytes(), of_column[1])
                of_column[2] = zlib.crc32(text, of_column[2])
    return [(name, count, sizes, values) for name, (count, sizes, values) in sums.items()]


def run_here(name: str, path: str, is_check: bool) -> None:
    job, modules = JOBS[name]
    if is_check:
        print(json.dumps(checksums(job(path))))
        return
    for module in modules:
        importlib.import_module(module)
    before = resource.getrusage(resource.RUSAGE_SELF)
    start = time.perf_counter()
    rows = rows_in(job(path))
    wall = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_SELF)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(json.dumps([wall, cpu, after.ru_minflt - before.ru_minflt, rows]))


def run(name: str, path: str, how: str) -> Any:
    done = subprocess.run([sys.executable, __file__, path, how, name], check=True, stdout=subprocess.PIPE)
    return json.loads(done.stdout)


def main() -> None:
    path = sys.argv[1]
    if len(sys.argv) == 4:
        run_here(sys.argv[3], path, sys.argv[2] == "check")
        return
    found = {name: run(name, path, "check") for name in JOBS}
    expected = found["cleave, kept"]
    if wrong := {name: sums for name, sums in found.items() if sums != expected}:
        sys.exit(f"the values differ from those of cleave, {expected}: {wrong}")
    runs: dict[str, list[list[float]]] = {name: [] for name in JOBS}
    for _ in range(int(sys.argv[2]) if len(sys.argv) == 3 else 5):
        for name in random.sample(list(JOBS), len(JOBS)):
            runs[name].append(run(name, path, "time"))
    if {run[3] for some in runs.values() for run in some} != {expected[0][1]}:
        sys.exit(f"the numbers of rows differ: { {name: some[0][3] for name, some in runs.items()} }")
    print(f"{os.path.getsize(path) / 1e9:.2f} GB; seconds: best, median; of the processor: least, median; page faults")
    for name, some in runs.items():
        wall, cpu, faults, _ = zip(*some, strict=True)
        numbers = [min(wall), statistics.median(wall), min(cpu), statistics.median(cpu)]
        print(f"{name:24}" + "".join(f"{number:8.3f}" for number in numbers) + f"{statistics.median(faults):9.0f}")


if __name__ == "__main__":
    main()
