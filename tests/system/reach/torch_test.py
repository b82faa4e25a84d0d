#!/usr/bin/env python3
"""The dataset for PyTorch, compared with Python's csv, with real DataLoaders, their workers and torch.distributed.

  torch_test.py --cleave PATH [--only SUBSTRING] [--rounds N] [--seed N]
"""
import json
import multiprocessing
import os
import random
import signal
import sys
import time

import common
from harness import need, write

RANDOM_FILES = 200   # ./dev prove tries 50 times as many
REFUSED = ["lines of blanks", "quoted blanks", "short records", "long records", "CR as data", "a header not UTF-8",
           "a line of blanks first, then two columns", "not UTF-8", "an open quote"]
PIECES = 7
RECORDS = 500


def dataset(path, **options):
    from cleave.torch import CSVDataset
    return CSVDataset(path, **{"dialect": "python", **options})


def by_cleave(path, **options):
    """The rows that the dataset yields, or None on an error."""
    import cleave
    try:
        return list(dataset(path, **options))
    except cleave.Error:
        return None


def judge(path, data, name, **options):
    """Whether both read the file, with the same rows. Raises Failure if the rows differ or only Python's csv refuses."""
    found, wanted = by_cleave(write(path, data), **options), common.rows_by_csv(data)
    need(found is None or found == wanted, "%s: %s, and not %s: %r" % (name, found, wanted, data))
    return found is not None


def odd_files(bench):
    """Odd files: the rows of Python's csv, or an error"""
    common.module("torch")
    path = os.path.join(bench.root, "odd.csv")
    refused = [name for name, data in common.ODD.items() if not judge(path, data, name, pieces=3, page_size=16)]
    need(refused == REFUSED, "refused are %s" % refused)


def random_files(bench):
    """Random files: the rows of Python's csv, or an error; the same from ranks, and after a resumption"""
    common.module("torch")
    path, chance, agreed = os.path.join(bench.root, "random.csv"), random.Random(bench.seed), 0
    count = bench.rounds(RANDOM_FILES)
    for number in range(count):
        data, pieces = common.random_file(chance), chance.randrange(1, 6)
        options = {"pieces": pieces, "page_size": chance.choice([1, 20, 1 << 20])}
        if not judge(path, data, "file %d" % number, **options):
            continue
        agreed += 1
        rows, data_set = common.rows_by_csv(data), dataset(path, **options)
        if len(data_set.plan.pieces) > 1:
            split = [row for rank in range(2) for row in dataset(path, rank=rank, world_size=2, **options)]
            need(sorted(map(str, split)) == sorted(map(str, rows)), "file %d: ranks read %s: %r" % (number, split, data))
        at = chance.randrange(len(rows) + 1)
        need(after(data_set, at) == rows[at:], "file %d: others after row %d: %r" % (number, at, data))
    bench.note("%d of %d files were read, the others refused" % (agreed, count))
    need(agreed > count // 2, "only %d of %d files were read" % (agreed, count))


def after(data_set, at):
    """The rows after a resumption at row `at`."""
    items = iter(data_set)
    for _ in range(at):
        next(items)
    data_set.load_state_dict(json.loads(json.dumps(data_set.state_dict())))
    return list(data_set)


def numbered(bench, records=RECORDS):
    """A file of numbered records with line breaks, and its numbers."""
    body = b"".join(b'%d,"two\nlines",2024-01-%02d\n' % (k, k % 28 + 1) for k in range(records))
    return write(os.path.join(bench.root, "numbered.csv"), b"id,note,day\n" + body), list(range(records))


def loader_of(data_set, kind="DataLoader", **options):
    from torch.utils.data import DataLoader
    if kind == "StatefulDataLoader":
        return common.module("torchdata.stateful_dataloader").StatefulDataLoader(data_set, **options)
    return DataLoader(data_set, **options)


def ids(loader):
    return [number for batch in loader for number in batch["id"].tolist()]


def workers(bench):
    """Workers of a DataLoader, forked and spawned: each row once, in other orders from epoch to epoch"""
    common.module("torch")
    path, numbers = numbered(bench)
    plain = dataset(path, columns=["id"], schema={"id": int}, pieces=PIECES)
    need(ids(loader_of(plain, batch_size=9)) == numbers, "other rows without a worker")
    for count, context in ((1, "fork"), (3, "fork"), (3, "spawn"), (9, "fork")):
        found = ids(loader_of(plain, batch_size=9, num_workers=count, multiprocessing_context=context))
        need(sorted(found) == numbers, "%d workers read %d rows" % (count, len(found)))
    shuffled = dataset(path, columns=["id"], schema={"id": int}, pieces=PIECES, shuffle_seed=5)
    loader = loader_of(shuffled, batch_size=9, num_workers=2, persistent_workers=True)
    seen = []
    for epoch in (0, 1, 2, 1):
        shuffled.set_epoch(epoch)
        seen.append(ids(loader))
        need(sorted(seen[-1]) == numbers, "epoch %d has %d rows" % (epoch, len(seen[-1])))
    need(seen[1] == seen[3] and len({*map(tuple, seen)}) == 3, "the orders of the epochs")
    tables = list(loader_of(dataset(path, batch_size=50, pieces=PIECES), batch_size=None, num_workers=2))
    need(sum(batch.num_rows for batch in tables) == len(numbers), "%d rows in tables" % len(tables))


def rank_main(rank, port, path, results):
    import torch.distributed
    kinds = ((0, None), (2, "fork"), (2, "spawn"))
    made_before = [dataset(path, columns=["id"], schema={"id": int}, pieces=PIECES) for _ in kinds]
    torch.distributed.init_process_group("gloo", init_method="tcp://127.0.0.1:%d" % port, rank=rank, world_size=2)
    for data_set, (count, context) in zip(made_before, kinds):
        results.put((count, context, ids(loader_of(data_set, batch_size=9, num_workers=count,
                                                   multiprocessing_context=context))))
    torch.distributed.destroy_process_group()


def ranks(bench):
    """Ranks, given and of torch.distributed: each row once; too few pieces are refused"""
    common.module("torch")
    import cleave
    path, numbers = numbered(bench)
    for world_size in (2, 3, 7):
        found = [[row["id"] for row in dataset(path, schema={"id": int}, pieces=PIECES, rank=rank, shuffle_seed=1,
                                               world_size=world_size)] for rank in range(world_size)]
        need(all(found) and sorted(sum(found, [])) == numbers, "%d ranks read %s rows" % (world_size, [*map(len, found)]))
    for options in ({"rank": 0, "world_size": 8}, {"rank": 2, "world_size": 2}, {"rank": 1}, {"rank": -1, "world_size": 2}):
        try:
            list(dataset(path, pieces=PIECES, **options))
        except cleave.UsageError:
            continue
        need(False, "%s was taken" % options)
    context = multiprocessing.get_context("spawn")
    results, port = context.Queue(), common.free_port()
    processes = [context.Process(target=rank_main, args=(rank, port, path, results)) for rank in range(2)]
    for process in processes:
        process.start()
    try:
        by_loader = {}
        for _ in range(6):
            count, kind, found = results.get(timeout=600)
            need(found, "a rank with %d workers (%s) read nothing" % (count, kind))
            by_loader.setdefault((count, kind), []).extend(found)
    finally:
        for process in processes:
            process.join(30)
            process.kill()
    need(len(by_loader) == 3, "the loaders were %s" % list(by_loader))
    for key, found in by_loader.items():
        need(sorted(found) == numbers, "two ranks with the loader %s read %d rows" % (key, len(found)))


def resumption(bench):
    """Resuming at every row: exactly the remaining rows, from rows and from tables; other states are refused"""
    common.module("torch")
    import cleave
    path, numbers = numbered(bench, 60)
    data_set = dataset(path, columns=["id"], schema={"id": int}, pieces=PIECES, shuffle_seed=2, page_size=100)
    data_set.set_epoch(4)
    order = [row["id"] for row in data_set]
    need(order != numbers and sorted(order) == numbers, "the rows are %s" % order)
    for at in range(len(order) + 1):
        other = dataset(path, columns=["id"], schema={"id": int}, pieces=PIECES, shuffle_seed=2, page_size=1000)
        data_set.set_epoch(4)
        items = iter(data_set)
        for _ in range(at):
            next(items)
        other.load_state_dict(data_set.state_dict())
        need(other.epoch == 4 and other.state_dict() == data_set.state_dict(), "the state at %d" % at)
        need([row["id"] for row in other] == order[at:], "others after %d" % at)
        need([row["id"] for row in other] == order, "the iteration after the resumed one is not whole")
        other.load_state_dict(data_set.state_dict())
        other.set_epoch(5)
        need(len(list(other)) == len(numbers), "a state of one epoch was used in another")
    tables = dataset(path, columns=["id"], schema={"id": int}, pieces=3, batch_size=7)
    whole = [batch["id"].to_pylist() for batch in tables]
    for at in range(len(whole) + 1):
        need([batch["id"].to_pylist() for batch in after(tables, at)] == whole[at:], "other tables after %d" % at)
    state = data_set.state_dict()
    for options in ({"pieces": 6}, {"shuffle_seed": 3}, {"shuffle_seed": None}, {"rank": 1, "world_size": 2}):
        try:
            dataset(path, **{"pieces": PIECES, "shuffle_seed": 2, **options}).load_state_dict(state)
        except cleave.UsageError:
            continue
        need(False, "a dataset with %s took the state" % options)
    write(path, b"id,note,day\n" + b"1,,\n" * 60)
    try:
        dataset(path, pieces=PIECES, shuffle_seed=2).load_state_dict(state)
    except cleave.UsageError:
        return
    need(False, "a state was taken with another file")


def stateful(bench):
    """StatefulDataLoader, without workers and with some: a loader made from a state has exactly the remaining rows"""
    common.module("torch")
    common.module("torchdata.stateful_dataloader")
    path, numbers = numbered(bench, 100)
    for count in (0, 1, 3):
        def loader():
            made = dataset(path, columns=["id"], schema={"id": int}, pieces=PIECES, shuffle_seed=3)
            made.set_epoch(2)
            return loader_of(made, "StatefulDataLoader", batch_size=4, num_workers=count)
        whole = [batch["id"].tolist() for batch in loader()]
        need(sorted(sum(whole, [])) == numbers, "%d workers read %s" % (count, whole))
        for at in (0, 1, 5, len(whole) - 1, len(whole)):
            first = loader()
            items = iter(first)
            for _ in range(at):
                next(items)
            second = loader()
            second.load_state_dict(first.state_dict())
            need([batch["id"].tolist() for batch in second] == whole[at:], "%d workers, others after %d" % (count, at))
            need(len(ids(second)) == len(numbers), "%d workers: the next epoch is not whole" % count)


def killed_worker(bench):
    """A worker that is killed: an error, and from the last state the remaining rows"""
    common.module("torch")
    common.module("torchdata.stateful_dataloader")
    path, numbers = numbered(bench, 4000)

    def loader():
        made = dataset(path, columns=["id"], schema={"id": int}, pieces=PIECES)
        return loader_of(made, "StatefulDataLoader", batch_size=10, num_workers=2)
    first, seen, state = loader(), [], None
    items = iter(first)
    try:
        for batch in items:
            seen += batch["id"].tolist()
            state = first.state_dict()
            if len(seen) == 500:
                os.kill(multiprocessing.active_children()[0].pid, signal.SIGKILL)
                time.sleep(0.5)
    except RuntimeError:
        pass
    else:
        need(False, "a worker was killed, and no error was raised")
    second = loader()
    second.load_state_dict(state)
    rest = ids(second)
    bench.note("%d rows before the error, %d after" % (len(seen), len(rest)))
    need(rest and sorted(seen + rest) == numbers, "%d rows, then %d" % (len(seen), len(rest)))


def types(bench):
    """Values of all types are those of Arrow; the year 0 and two columns of a name are refused"""
    common.module("torch")
    import cleave
    data = b"i,f,b,d,t,z,s\n1,2.5,true,2024-02-29,2024-02-29 12:00:01.25,2024-02-29 12:00Z,x\n,,,,,,\n-3,nan,0,0001-01-01,9999-12-31,,\n"
    path = write(os.path.join(bench.root, "types.csv"), data)
    kinds = {"i": int, "f": "float32", "b": bool, "d": "date32", "t": "timestamp[us]", "s": str}
    import pyarrow
    schema = {**kinds, "z": pyarrow.timestamp("us", "UTC")}
    found = list(dataset(path, schema=schema))
    (wanted,) = dataset(path, schema=schema, batch_size=10)
    need(str(found) == str(wanted.to_pylist()) and len(found) == 3, "%s, and not %s" % (found, wanted.to_pylist()))
    need(list(dataset(path, columns=[])) == [{}, {}, {}], "rows without columns")
    for data, schema in ((b"d\n0000-01-01\n", {"d": "date"}), (b"a,a\n1,2\n", None)):
        try:
            list(dataset(write(path, data), schema=schema))
        except (ValueError, OverflowError):
            continue
        need(False, "%r was read" % data)
    for options in ({"page_size": 0}, {"batch_size": 0}, {"columns": ["b"]}, {"shuffle_seed": -1}):
        try:
            dataset(write(path, b"a\n1\n"), **options)
        except cleave.UsageError:
            continue
        need(False, "%s was taken" % options)
    plan = dataset(path, pieces=1).plan
    need(list(cleave.torch.CSVDataset(plan)) == [{"a": "1"}], "the rows of a plan")
    try:
        cleave.torch.CSVDataset(plan, pieces=2)
    except cleave.UsageError:
        return
    need(False, "pieces of a plan that is made were taken")


CHECKS = [odd_files, random_files, types, workers, ranks, resumption, stateful, killed_worker]


if __name__ == "__main__":
    sys.exit(common.harness.main(__doc__, CHECKS))
