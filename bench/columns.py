"""columns.py FILE [ROUNDS]: 3 of 12 columns of a file of make_input people, all as strings, with cleave and others.

Each run is a process of its own, which has imported its modules before the clock starts; programs take turns in a
random order. "kept" makes one table of all batches; "passed" counts the rows of batches and lets them go.
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
from collections.abc import Callable
from typing import Any

COLUMNS = ["id", "mail", "code"]


def cleave_kept(path: str) -> int:
    import cleave
    import pyarrow

    return int(pyarrow.table(cleave.open(path).select(*COLUMNS)).num_rows)


def cleave_passed(path: str) -> int:
    import cleave
    import pyarrow

    reader = pyarrow.RecordBatchReader.from_stream(cleave.open(path).select(*COLUMNS))
    return sum(batch.num_rows for batch in reader)


def polars_frame(path: str, engine: Any) -> int:
    import polars

    return polars.scan_csv(path, infer_schema=False).select(COLUMNS).collect(engine=engine).height


def polars_kept(path: str) -> int:
    return polars_frame(path, "auto")


def polars_streaming_kept(path: str) -> int:
    return polars_frame(path, "streaming")


def polars_passed(path: str) -> int:
    import polars

    batches = polars.scan_csv(path, infer_schema=False).select(COLUMNS).collect_batches()
    return sum(batch.height for batch in batches)


def pyarrow_kept(path: str) -> int:
    import pyarrow
    from pyarrow import csv

    types = {column: pyarrow.string() for column in COLUMNS}
    return int(
        csv.read_csv(
            path,
            read_options=csv.ReadOptions(block_size=4 << 20),
            parse_options=csv.ParseOptions(newlines_in_values=True),
            convert_options=csv.ConvertOptions(include_columns=COLUMNS, column_types=types),
        ).num_rows
    )


def duckdb_kept(path: str) -> int:
    import duckdb

    options = "all_varchar = true, header = true, delim = ',', quote = '\"'"
    query = f"SELECT {', '.join(COLUMNS)} FROM read_csv(?, {options})"
    return int(duckdb.connect().execute(query, [path]).to_arrow_table().num_rows)


JOBS: dict[str, tuple[Callable[[str], int], list[str]]] = {
    "cleave, kept": (cleave_kept, ["cleave", "pyarrow"]),
    "Polars, kept": (polars_kept, ["polars"]),
    "Polars streaming, kept": (polars_streaming_kept, ["polars"]),
    "pyarrow, kept": (pyarrow_kept, ["pyarrow.csv"]),
    "DuckDB, kept": (duckdb_kept, ["duckdb", "pyarrow"]),
    "cleave, passed": (cleave_passed, ["cleave", "pyarrow"]),
    "Polars, passed": (polars_passed, ["polars"]),
}


def run_here(name: str, path: str) -> None:
    job, modules = JOBS[name]
    for module in modules:
        importlib.import_module(module)
    before = resource.getrusage(resource.RUSAGE_SELF)
    start = time.perf_counter()
    rows = job(path)
    wall = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_SELF)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(json.dumps([wall, cpu, after.ru_minflt - before.ru_minflt, rows]))


def main() -> None:
    path = sys.argv[1]
    if len(sys.argv) == 4:
        run_here(sys.argv[3], path)
        return
    runs: dict[str, list[list[float]]] = {name: [] for name in JOBS}
    for _ in range(int(sys.argv[2]) if len(sys.argv) == 3 else 5):
        for name in random.sample(list(JOBS), len(JOBS)):
            done = subprocess.run([sys.executable, __file__, path, "1", name], check=True, capture_output=True)
            runs[name].append(json.loads(done.stdout))
    if len({run[3] for some in runs.values() for run in some}) != 1:
        sys.exit(f"the numbers of rows differ: { {name: some[0][3] for name, some in runs.items()} }")
    print(f"{os.path.getsize(path) / 1e9:.2f} GB; seconds: best, median; of the processor: least, median; page faults")
    for name, some in runs.items():
        wall, cpu, faults, _ = zip(*some, strict=True)
        numbers = [min(wall), statistics.median(wall), min(cpu), statistics.median(cpu)]
        print(f"{name:24}" + "".join(f"{number:8.3f}" for number in numbers) + f"{statistics.median(faults):9.0f}")


if __name__ == "__main__":
    main()
