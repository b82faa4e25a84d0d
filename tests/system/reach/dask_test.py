#!/usr/bin/env python3
"""The Dask reader compared with pandas, with worker processes of dask.distributed.

  dask_test.py --cleave PATH [--only SUBSTRING] [--rounds N] [--seed N]
"""
import contextlib
import io
import os
import random
import re
import signal
import sys
import threading
import time
import warnings

import common
from harness import need, need_sight, write

WORKERS = 4
RANDOM_FILES = 300
REFUSED = ["long records", "two columns of a name", "a header not UTF-8", "a line of blanks first",
           "a line of blanks first, then two columns", "not UTF-8", "an open quote"]
REFUSED_WITHOUT_HEADER = ["long records", "a header not UTF-8",
                          "a line of blanks first, then two columns", "not UTF-8", "an open quote"]
# Inputs that pandas reads wrongly; see class Apart in ../interop/readers.py.
LOST_BY_PANDAS = re.compile(rb"(^|[\r\n])[ \t]*\r,")


@contextlib.contextmanager
def cluster(directory):
    distributed = common.module("distributed")
    common.module("dask.dataframe")
    import dask
    with dask.config.set({"distributed.scheduler.allowed-failures": 10,
                          "distributed.worker.multiprocessing-method": "spawn"}):
        with distributed.LocalCluster(n_workers=WORKERS, threads_per_worker=1, processes=True, dashboard_address=None,
                                      local_directory=directory) as local, distributed.Client(local) as client:
            client.wait_for_workers(WORKERS, timeout=120)
            yield client


def by_pandas(data, header=True):
    """The rows that pandas reads, or None on an error. Without a header, columns are named as cleave.dask names
    them."""
    import pandas
    with warnings.catch_warnings():
        # With index_col=False, pandas warns about a record that is too long and drops its extra fields. Here the
        # warning becomes an error.
        warnings.simplefilter("error", pandas.errors.ParserWarning)
        try:
            found = pandas.read_csv(io.BytesIO(data), dtype=str, keep_default_na=False, na_values=[""], index_col=False,
                                    header=0 if header else None)
        except (ValueError, pandas.errors.ParserWarning):
            return None
    return found if header else found.rename(columns=lambda number: "column_%d" % (number + 1))


def by_cleave(path, blocksize, header=True, page_size=64):
    """The rows that the reader reads, or None on an error."""
    import cleave.dask
    try:
        frame = cleave.dask.read_csv(path, blocksize=blocksize, delimiter=",", header=header, page_size=page_size)
        return frame.compute(scheduler="synchronous").reset_index(drop=True)
    except cleave.Error:
        return None


def same(found, wanted, name):
    import pandas
    # Dask chooses its own string type.
    need(all(str(kind) == "string" for kind in found.dtypes), "%s: the types are %s" % (name, found.dtypes.tolist()))
    found = found.astype(wanted.dtypes)
    need(found.columns.tolist() == wanted.columns.tolist(), "%s: the columns are %s" % (name, found.columns.tolist()))
    try:
        pandas.testing.assert_frame_equal(found, wanted)
    except AssertionError as error:
        need(False, "%s: %s" % (name, error))


def judge(path, data, blocksize, name, header=True):
    """Whether both readers read the file, with the same rows. Raises Failure if the rows differ or only pandas
    refuses."""
    write(path, data)
    found, wanted = by_cleave(path, blocksize, header), by_pandas(data, header)
    if found is None:
        return False
    need(wanted is not None, "%s: pandas refuses %r" % (name, data))
    same(found, wanted, "%s: %r" % (name, data))
    return True


def odd_files(bench):
    """Odd files: the rows of pandas, or an error"""
    common.module("dask.dataframe")
    path = os.path.join(bench.root, "odd.csv")
    for header, wanted in ((True, REFUSED), (False, REFUSED_WITHOUT_HEADER)):
        refused = [name for name, data in common.ODD.items() if not judge(path, data, 7, name, header)]
        need(refused == wanted, "refused with header=%s are %s" % (header, refused))


def random_files(bench):
    """Random files: the rows of pandas, or an error"""
    common.module("dask.dataframe")
    path, chance, agreed = os.path.join(bench.root, "random.csv"), random.Random(bench.seed), 0
    count = bench.rounds(RANDOM_FILES)
    for number in range(count):
        data, blocksize = common.random_file(chance), chance.randrange(1, 60)
        if not LOST_BY_PANDAS.search(data):
            agreed += judge(path, data, blocksize, "file %d" % number, header=number % 3 > 0)
    bench.note("%d of %d files were read, the others refused" % (agreed, count))
    need(agreed > count // 3, "only %d of %d files were read" % (agreed, count))


# Types, each with texts of its values, and texts that one of the readers may refuse.
TEXTS = {
    "int64": (["0", "-7", "9223372036854775807", "+5", "007"], ["1.0", "x", " 1", "9223372036854775808", "0x1F", "1e3"]),
    "Int64": (["0", "-7", "12"], ["1.5", "x"]),
    "float64": (["0.1", "-0.0", "1e-7", "1.7976931348623157e308", "inf", "-Infinity", ".5", "5.", "0.30000000000000004"],
                ["nan", "NaN", "1e400", "1,5", "0x1p3", " 1", "1d"]),
    "Float64": (["0.25", "2"], ["nan", "x"]),
    "bool": (["true", "True", "TRUE", "false", "False", "FALSE"], ["1", "0", "tRue", "yes"]),
    "boolean": (["true", "True", "false"], ["1", "0", "tRue"]),
    "datetime64[us]": (["2024-01-02", "2024-01-02 03:04:05", "2024-01-02T03:04:05.000006"], ["2024-13-01", "x"]),
    "string": (["x", "two words", "\u00e9"], []),
}


def typed_random_files(bench):
    """Random files, some columns with types: the values of pandas, or an error"""
    common.module("dask.dataframe")
    import cleave.dask
    import pandas
    path, chance, agreed = os.path.join(bench.root, "typed.csv"), random.Random(bench.seed), 0
    count = bench.rounds(RANDOM_FILES)
    for number in range(count):
        types = {"c%d" % at: chance.choice(list(TEXTS)) for at in range(chance.randrange(2, 6))}
        lines = [",".join(types)]
        for _ in range(chance.randrange(30)):
            values = [typed_text(chance, kind) for kind in types.values()]
            lines.append(",".join(values[:chance.randrange(1, len(values) + 1)] if chance.random() < 0.03 else values))
        data = ("\n".join(lines) + "\n").encode()
        write(path, data)
        columns = chance.sample(list(types), chance.randrange(1, len(types) + 1))
        try:
            found = cleave.dask.read_csv(path, blocksize=chance.choice([50, 200, None]), columns=columns, page_size=64,
                                         dtype={name: types[name] for name in columns}, delimiter=",")
            found = found.compute(scheduler="synchronous").reset_index(drop=True)
        except cleave.Error as error:
            need(isinstance(error, cleave.InputError) and error.byte is not None, "an error without a place: %s" % error)
            continue
        agreed += 1
        wanted = pandas.read_csv(
            path, keep_default_na=False, na_values=[""], index_col=False, float_precision="round_trip",
            usecols=columns, dtype={name: "string" if types[name].startswith("date") else types[name] for name in columns})
        for name in columns:
            if types[name].startswith("date"):
                wanted[name] = pandas.to_datetime(wanted[name], format="ISO8601").astype(types[name])
            elif types[name] == "string":
                wanted[name] = wanted[name].astype(found[name].dtype)
        try:
            pandas.testing.assert_frame_equal(found, wanted[columns], check_exact=True)
        except AssertionError as error:
            need(False, "file %d, %r with %s: %s" % (number, data, types, error))
    bench.note("%d of %d files were read, the others refused" % (agreed, count))
    need(count // 3 < agreed < count, "%d of %d files were read" % (agreed, count))


def typed_text(chance, kind):
    """A field of a file: mostly a value of the type."""
    sure, doubtful = TEXTS[kind]
    if chance.random() < 0.03:
        return chance.choice(["", '""'])
    text = chance.choice(doubtful if doubtful and chance.random() < 0.004 else sure)
    return '"%s"' % text if chance.random() < 0.2 or "," in text else text


def columns_of_queries(bench):
    """Only the columns that a query needs are read, with the types that were asked for"""
    common.module("dask.dataframe")
    import cleave.dask
    import pandas
    import pyarrow
    path = write(os.path.join(bench.root, "q.csv"), b'id,price,note,day\n1,2.50,"x\ny",2024-01-02\nNA,3,\xff,\n3,,z,\n')
    dtype = {"id": "Int64", "price": pandas.ArrowDtype(pyarrow.decimal128(6, 2)), "day": "date32[pyarrow]"}
    frame = cleave.dask.read_csv(path, dtype=dtype, na_values=["NA"], include_path_column="file", blocksize=20)
    need(frame.id.sum().compute() == 4 and frame.id.size.compute() == 3, "other rows")   # though a note is not UTF-8
    need(len(cleave.dask.read_csv(path, columns=[], blocksize=20)) == 3, "other rows are counted")
    found = frame[["day", "id", "price", "file"]].compute()
    need({name: str(kind) for name, kind in found.dtypes.items()} == {
        "day": "date32[day][pyarrow]", "id": "Int64", "price": "decimal128(6, 2)[pyarrow]", "file": "string"},
         "the types are %s" % found.dtypes)
    need(found.file.tolist() == [path] * 3 and found.id.isna().tolist() == [False, True, False], "there is %s" % found)
    need(cleave.dask.read_csv(path, blocksize=None).npartitions == 1, "a file is not one partition")
    for given, words in (({}, "not UTF-8"), ({"columns": ["id"], "dtype": "int64"}, "not of type int64"),
                         ({"columns": ["id"], "dtype": "int64", "na_values": ["NA"]}, "missing"),
                         ({"columns": ["price", "price"]}, "twice"), ({"columns": ["nothing"]}, "no column"),
                         ({"dtype": {"nothing": "int64"}}, "no column"), ({"dtype": "category"}, "category"),
                         ({"columns": ["id"], "include_path_column": "id"}, "another name")):
        try:
            cleave.dask.read_csv(path, **given).compute()
        except cleave.Error as error:
            need(words in str(error), "%s: %s" % (given, error))
        else:
            need(False, "%s was taken" % given)


def processes(bench):
    """Worker processes scan and read a file whose every record has line breaks"""
    common.module("distributed")
    import cleave.dask
    data = common.broken_records(4 << 20, seed=bench.seed, ragged=True)
    path = write(os.path.join(bench.root, "big.csv"), data)
    with cluster(bench.root) as client:
        frame = cleave.dask.read_csv(path, blocksize="256KiB")
        need(frame.npartitions == -(-len(data) // (256 << 10)), "%d partitions" % frame.npartitions)
        found = frame.compute()
        by = client.run(os.getpid)
    need(len(by) == WORKERS, "%d workers" % len(by))
    same(found.reset_index(drop=True), by_pandas(data), "big.csv")


def bad_options(bench):
    """A page size of 0, and a path that is not a plain file, are refused"""
    common.module("dask.dataframe")
    import cleave.dask
    path, pipe = write(os.path.join(bench.root, "small.csv"), b"a,b\n1,2\n"), os.path.join(bench.root, "pipe")
    os.mkfifo(pipe)
    for what, options in ((path, {"page_size": 0}), (pipe, {}), ("/proc/cpuinfo", {})):
        try:
            cleave.dask.read_csv(what, **options)
        except cleave.UsageError:
            continue
        need(False, "%s with %s was taken" % (what, options))


def several_files(bench):
    """Several files are one frame, and must have the same columns"""
    common.module("dask.dataframe")
    import cleave.dask
    whole = [common.broken_records(1 << 16, seed=seed) for seed in (1, 2, 3)]
    for number, data in enumerate(whole):
        write(os.path.join(bench.root, "part%d.csv" % number), data)
    frame = cleave.dask.read_csv(os.path.join(bench.root, "part*.csv"), blocksize=10000)
    import pandas
    wanted = pandas.concat([by_pandas(data) for data in whole], ignore_index=True)
    same(frame.compute().reset_index(drop=True), wanted, "three files")
    write(os.path.join(bench.root, "part3.csv"), b"id,other\n1,2\n")
    try:
        cleave.dask.read_csv(os.path.join(bench.root, "part*.csv"))
    except cleave.InputError:
        return
    need(False, "a file of other columns was read")


def changed(bench):
    """Reading fails if the file changes after the plan"""
    common.module("dask.dataframe")
    import cleave.dask
    data = common.broken_records(1 << 16, seed=bench.seed)
    path = write(os.path.join(bench.root, "changed.csv"), data)
    frame = cleave.dask.read_csv(path, blocksize=10000)
    write(path, data[:-2] + b"?\n")
    try:
        frame.compute(scheduler="synchronous")
    except cleave.InputChangedError:
        return
    need(False, "it was read")


def killed_worker(bench):
    """A worker that is killed midway: the rows are the same"""
    common.module("distributed")
    import cleave.dask
    data = common.broken_records(16 << 20, seed=bench.seed)
    path = write(os.path.join(bench.root, "killed.csv"), data)
    with cluster(bench.root) as client:
        frame = cleave.dask.read_csv(path, blocksize="128KiB", page_size=10000)
        futures = client.compute(frame.to_delayed())
        ids = client.run(os.getpid)

        killed = []   # how many pieces had been read by the time of the kill

        def kill():
            while (finished := sum(future.status == "finished" for future in futures)) < 5:
                time.sleep(0.001)
            os.kill(next(iter(ids.values())), signal.SIGKILL)
            killed.append(finished)

        thread = threading.Thread(target=kill, daemon=True)   # it never ends if no piece can be read
        thread.start()
        import pandas
        parts = client.gather(futures)
        thread.join()
        bench.note("a worker was killed after %d of %d pieces" % (killed[0], len(futures)))
        need_sight(killed[0] < len(futures), "all was read before a worker was killed")
    same(pandas.concat(parts, ignore_index=True), by_pandas(data), "killed.csv")


def guide(bench):
    """The program of the guide"""
    common.module("dask.dataframe")
    lines, sums = common.guide(bench, "dask")
    need(lines == [sums, "1"], "it says %s" % lines)


CHECKS = [odd_files, random_files, typed_random_files, columns_of_queries, bad_options, processes, several_files, changed, killed_worker, guide]


if __name__ == "__main__":
    sys.exit(common.harness.main(__doc__, CHECKS))
