#!/usr/bin/env python3
"""The Ray reader compared with ray.data.read_csv and Python's csv module, with Ray's worker processes.

  ray_test.py --cleave PATH [--only SUBSTRING] [--rounds N] [--seed N]

CLEAVE_READER_FILES=N: how many random files.
"""
import contextlib
import csv
import io
import logging
import os
import random
import signal
import sys

import common
from harness import need, need_sight, write

WORKERS = 2
RANDOM_FILES = 200
FILES_AT_ONCE = 400
# What becomes of ODD: everything else is read by both, with the same rows. Ray gives bytes and an open quote as they are.
REFUSED = ["lines of blanks", "quoted blanks", "short records", "long records", "CR as data", "a header not UTF-8",
           "a line of blanks first, then two columns", "not UTF-8", "an open quote"]


@contextlib.contextmanager
def cluster():
    ray = common.module("ray")
    common.module("ray.data")
    if not ray.is_initialized():   # once for all checks
        ray.init(num_cpus=WORKERS, include_dashboard=False, object_store_memory=200 << 20, log_to_driver=False,
                 logging_level="ERROR")
        context = ray.data.DataContext.get_current()
        context.enable_progress_bars = False
        logging.getLogger("ray.data").setLevel(logging.CRITICAL)   # it prints the stack of each error
        context.execution_options.preserve_order = True
    yield ray


def cause(error):
    """The exception that a worker raised."""
    while getattr(error, "cause", None) or error.__cause__:
        error = getattr(error, "cause", None) or error.__cause__
    return error


def contents(dataset):
    names = dataset.schema().names
    return names, [tuple(row[name] for name in names) for row in dataset.take_all()]


def by_ray(path, names):
    """The names and rows that Ray reads as text, or None on an error."""
    import pyarrow.csv
    import ray
    options = {"parse_options": pyarrow.csv.ParseOptions(newlines_in_values=True),
               "convert_options": pyarrow.csv.ConvertOptions(column_types=dict.fromkeys(names, pyarrow.string()))}
    try:
        dataset = ray.data.read_csv(path, **options).materialize()
        return contents(dataset) if dataset.schema() is not None else (names, [])
    except Exception:   # of many kinds
        return None


def by_cleave(paths, **options):
    """The names and rows that the reader reads, or None on an error of its own."""
    import cleave.ray
    try:
        return contents(cleave.ray.read_csv(paths, **options))
    except Exception as error:
        if not isinstance(cause(error), cleave.Error):
            raise
        return None


def in_this_process(path, blocksize):
    """The rows that the reader's tasks read, if no Ray runs them; or None on an error."""
    import cleave.ranges
    try:
        pieces = cleave.ranges.plan(path, blocksize=blocksize, dialect="arrow").pieces
        return [tuple(row.values()) for piece in pieces for batch in piece.batches() for row in batch.to_pylist()]
    except cleave.Error:
        return None


def by_csv(data):
    """What Python's csv module reads."""
    rows = list(filter(None, csv.reader(io.StringIO(data.decode("utf-8-sig"), newline=""))))
    return list(map(tuple, rows[1:]))


def odd_files(bench):
    """Odd files: the rows of Ray, or an error"""
    path, refused = os.path.join(bench.root, "odd.csv"), []
    with cluster():
        for name, data in common.ODD.items():
            write(path, data)
            found = by_cleave(path, blocksize=7)
            if found is None:
                refused.append(name)
                continue
            wanted = by_ray(path, found[0])
            need(found == wanted, "%s: %r, and not %r" % (name, found, wanted))
    need(refused == REFUSED, "refused are %s" % refused)


def random_files(bench):
    """Random files, many in one dataset: the rows of Python's csv, or an error"""
    chance = random.Random(bench.seed)
    count = int(os.environ.get("CLEAVE_READER_FILES", bench.rounds(RANDOM_FILES)))
    read, refused = 0, 0
    with cluster():
        for begin in range(0, count, FILES_AT_ONCE):
            blocksize = chance.randrange(60, 200)
            # Files of one dataset must have the same columns: {number of columns: (paths, rows)}.
            groups = {}
            for number in range(begin, min(begin + FILES_AT_ONCE, count)):
                data = common.random_file(chance)
                path = write(os.path.join(bench.root, "random%d.csv" % (number % FILES_AT_ONCE)), data)
                rows = in_this_process(path, blocksize)
                if rows is None:
                    refused += 1
                    if refused % 100 == 1:
                        need(by_cleave(path, blocksize=blocksize) is None, "file %d: Ray's tasks read it" % number)
                    continue
                read += 1
                need(rows == by_csv(data), "file %d: %r is read as %r" % (number, data, rows))
                width = data.split(b"\n")[0].split(b"\r")[0].count(b",") + 1
                paths, wanted = groups.setdefault(width, ([], []))
                paths.append(path)
                wanted += rows
            for width, (paths, wanted) in groups.items():
                found = by_cleave(paths, blocksize=blocksize)
                need(found == (["c%d" % n for n in range(width)], wanted), "files %d to %d, of %d columns, differ"
                     % (begin, begin + FILES_AT_ONCE, width))
    bench.note("of %d files, %d were read and %d refused" % (count, read, refused))
    need(read > count // 3, "only %d of %d files were read" % (read, count))


def many_pieces(bench):
    """A file whose every record has line breaks, with types, in many pieces; what a query does not need is not read"""
    data = common.broken_records(2 << 20, seed=bench.seed)
    path = write(os.path.join(bench.root, "many.csv"), data.replace(b"say", b"\xff\xfe"))
    numbers = [int(row[0]) for row in csv.reader(io.StringIO(data.decode("utf-8-sig"), newline="")) if row and row[0] != "id"]
    import cleave
    with cluster():
        import cleave.ray
        dataset = cleave.ray.read_csv(path, schema={"id": int}, blocksize=100000)
        need([str(kind) for kind in dataset.schema().types] == ["int64", "string", "string"], "the types")
        need(dataset.count() == len(numbers), "it counts %d rows" % dataset.count())
        need([row["id"] for row in dataset.select_columns(["id"]).take_all()] == numbers, "the numbers differ")
        need(dataset.select_columns(["id"]).sum("id") == sum(numbers), "the sum differs")
        need(dataset.select_columns(["id"]).limit(7).take_all() == [{"id": n} for n in numbers[:7]], "the first rows")
        try:
            dataset.take_all()
        except Exception as error:
            place = data.replace(b"say", b"\xff\xfe").index(b"\xff")
            need("UTF-8 (byte %d" % place in str(cause(error)), "it says %s" % cause(error))
            return
    need(False, "bytes that are no text were read")


def bad_value(bench):
    """A value that is not of its type: the error has the path, the byte and the record"""
    data = b"a,b\n" + b'1,"x\ny"\n' * 5000 + b"one,z\n" + b"2,z\n" * 100
    path = write(os.path.join(bench.root, "bad.csv"), data)
    import cleave
    with cluster():
        import cleave.ray
        dataset = cleave.ray.read_csv(path, schema={"a": int}, blocksize=10000)
        try:
            dataset.take_all()
        except Exception as error:
            found = cause(error)
            need(isinstance(found, cleave.InputError), "it raised %r" % found)
            need((found.byte, found.record) == (data.index(b"one"), 5001), "it is at %s, %s" % (found.byte, found.record))
            need(path in str(found), "it says %s" % found)
            return
    need(False, "it was read")


def changed(bench):
    """Reading fails if the file changes after the plan"""
    data = common.broken_records(1 << 16, seed=bench.seed)
    path = write(os.path.join(bench.root, "changed.csv"), data)
    import cleave
    with cluster():
        import cleave.ray
        dataset = cleave.ray.read_csv(path, blocksize=10000)
        write(path, data[:-2] + b"?\n")
        try:
            dataset.take_all()
        except Exception as error:
            need(isinstance(cause(error), cleave.InputChangedError), "it raised %r" % cause(error))
            return
    need(False, "it was read")


def killed_worker(bench):
    """A worker that is killed in the middle of a piece: the rows are the same"""
    data = common.broken_records(4 << 20, seed=bench.seed)
    path, mark = write(os.path.join(bench.root, "killed.csv"), data), os.path.join(bench.root, "killed")

    def kill_once(batch):   # in the worker that has read the batch, and before it can deliver its piece
        if batch["id"][0] != "1":
            try:
                os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                return batch
            os.kill(os.getpid(), signal.SIGKILL)
        return batch

    with cluster():
        import cleave.ray
        dataset = cleave.ray.read_csv(path, blocksize=200000).map_batches(kill_once, batch_size=None)
        found = contents(dataset)[1]
    need_sight(os.path.exists(mark), "no worker was killed")
    need(found == by_csv(data), "the rows differ")


def bad_options(bench):
    """Columns that there are not, a block size of 0, and two columns of a name are refused"""
    path = write(os.path.join(bench.root, "small.csv"), b"a,b\n1,2\n")
    twice = write(os.path.join(bench.root, "twice.csv"), b"a,a\n1,2\n")
    import cleave
    with cluster():
        import cleave.ray
        need(contents(cleave.ray.read_csv(path, columns=["b"])) == (["b"], [("2",)]), "column b")
        for what, options in ((path, {"blocksize": 0}), (path, {"columns": ["c"]}), (path, {"schema": {"c": int}}),
                              (twice, {})):
            try:
                cleave.ray.read_csv(what, **options)
            except cleave.Error:
                continue
            need(False, "%s with %s was taken" % (what, options))


CHECKS = [bad_options, odd_files, random_files, many_pieces, bad_value, changed, killed_worker]


if __name__ == "__main__":
    sys.exit(common.harness.main(__doc__, CHECKS))
