#!/usr/bin/env python3
"""The dataset for Hugging Face's library, compared with Python's csv and with the library's own CSV loader.

  datasets_test.py --cleave PATH [--only SUBSTRING] [--rounds N] [--seed N]
"""
import datetime
import json
import os
import random
import sys

import common
from harness import need, write

RANDOM_FILES = 100
REFUSED = ["lines of blanks", "quoted blanks", "short records", "long records", "CR as data", "a header not UTF-8",
           "a line of blanks first, then two columns", "not UTF-8", "an open quote"]
PIECES = 30
RECORDS = 1200


def library(bench):
    """The module datasets, which neither looks for anything on the network nor keeps anything outside of the test."""
    os.environ.update(HF_HUB_OFFLINE="1", HF_HOME=os.path.join(bench.root, "hf"))
    return common.module("datasets")


def load(path, **options):
    from cleave.datasets import load_csv
    return load_csv(path, **{"dialect": "python", **options})


def judge(path, data, name, **options):
    import cleave
    try:
        found = list(load(write(path, data), **options))
    except cleave.Error:
        return False
    wanted = common.rows_by_csv(data)
    need(found == wanted, "%s: %s, and not %s: %r" % (name, found, wanted, data))
    return True


def odd_files(bench):
    """Odd files: the rows of Python's csv, or an error"""
    library(bench)
    path = os.path.join(bench.root, "odd.csv")
    refused = [name for name, data in common.ODD.items() if not judge(path, data, name, pieces=3, page_size=16)]
    need(refused == REFUSED, "refused are %s" % refused)


def random_files(bench):
    """Random files: the rows of Python's csv, or an error"""
    library(bench)
    path, chance, agreed = os.path.join(bench.root, "random.csv"), random.Random(bench.seed), 0
    count = bench.rounds(RANDOM_FILES)
    for number in range(count):
        options = {"pieces": chance.randrange(1, 6), "page_size": chance.choice([1, 20, 1 << 20])}
        agreed += judge(path, common.random_file(chance), "file %d" % number, **options)
    bench.note("%d of %d files were read, the others refused" % (agreed, count))
    need(agreed > count // 2, "only %d of %d files were read" % (agreed, count))


def numbered(bench):
    body = b"".join(b'%d,%d.5,"two\nlines, ""%d""",2024-01-%02d,%s\n'
                    % (k, k, k, k % 28 + 1, [b"true", b"false"][k % 2]) for k in range(RECORDS))
    return write(os.path.join(bench.root, "numbered.csv"), b"id,price,note,day,flag\n" + body)


def same_as_theirs(bench):
    """30 shards where their loader has 1, with the same rows and tables"""
    datasets = library(bench)
    path = numbered(bench)
    theirs = datasets.load_dataset("csv", data_files=path, streaming=True, split="train")
    ours = load(path, pieces=PIECES, schema={"id": int, "price": float, "flag": bool})
    need(theirs.num_shards == 1 and ours.num_shards == PIECES, "%d and %d shards" % (theirs.num_shards, ours.num_shards))
    need(list(ours) == list(theirs), "other rows")
    tables = [datasets.concatenate_datasets([datasets.Dataset(table) for table in
                                             dataset.with_format("arrow").iter(batch_size=97)])
              for dataset in (ours, theirs)]
    need(tables[0].to_dict() == tables[1].to_dict(), "other tables")
    selected = load(path, pieces=3, columns=["day", "id"], schema={"day": "date", "id": "int16"})
    need(next(iter(selected)) == {"day": datetime.date(2024, 1, 1), "id": 0}, "selected columns")
    taken = list(load(write(os.path.join(bench.root, "header.csv"), b"a,b\n"), pieces=3))
    need(taken == [] and list(load(write(path, b""))) == [], "rows of nothing")


def features(bench):
    """Features name the columns and their types: numbers, labels, and what cannot be made from a string"""
    datasets = library(bench)
    import cleave
    path = write(os.path.join(bench.root, "labels.csv"), b"text,n,kind\nx,7,dog\ny,,cat\nz,9,\n")
    wanted = datasets.Features(kind=datasets.ClassLabel(names=["cat", "dog"]), n=datasets.Value("int32"),
                               text=datasets.Value("large_string"))
    dataset = load(path, features=wanted)
    need(dataset.features == wanted, "the features are %s" % dataset.features)
    rows = [{"kind": 1, "n": 7, "text": "x"}, {"kind": 0, "n": None, "text": "y"}, {"kind": None, "n": 9, "text": "z"}]
    need(list(dataset) == rows, "the rows are %s" % list(dataset))
    table = next(dataset.with_format("arrow").iter(batch_size=3))
    need(table.schema == wanted.arrow_schema, "the schema is %s" % table.schema)
    text = datasets.Value("string")
    for more in ({"features": wanted, "columns": ["n"]}, {"features": datasets.Features(other=text)}, {"page_size": 0},
                 {"features": datasets.Features(n=datasets.List(text))}):
        try:
            load(path, **more)
        except cleave.UsageError:
            continue
        need(False, "%s was taken" % more)
    for data, more in ((b"a,a\n1,2\n", {}), (b"n\n300\n", {"features": datasets.Features(n=datasets.Value("int8"))}),
                       (b"n\ncow\n", {"features": datasets.Features(n=datasets.ClassLabel(names=["cat"]))})):
        try:
            list(load(write(path, data), **more))
        except ValueError:
            continue
        need(False, "%s was read with %s" % (data, more))


def ids(dataset):
    return [row["id"] for row in dataset]


def nodes(bench):
    """split_dataset_by_node: each row once, and whole shards if the nodes divide them"""
    datasets = library(bench)
    from datasets.distributed import split_dataset_by_node
    dataset = load(numbered(bench), pieces=PIECES, schema={"id": int})
    for world_size in (2, 3, 7):
        parts = [split_dataset_by_node(dataset, rank, world_size) for rank in range(world_size)]
        found = [ids(part) for part in parts]
        need(sorted(sum(found, [])) == list(range(RECORDS)), "%d nodes read %s rows" % (world_size, [*map(len, found)]))
        shards = [part.num_shards for part in parts]
        need(PIECES % world_size > 0 or shards == [PIECES // world_size] * world_size, "%d nodes: %s" % (world_size, shards))
    shuffled = dataset.shuffle(seed=3, buffer_size=1)
    found = [ids(split_dataset_by_node(shuffled, rank, 2)) for rank in range(2)]
    need(sorted(sum(found, [])) == list(range(RECORDS)) and found[0] != sorted(found[0]), "two nodes, shuffled")


def resumption(bench):
    """state_dict: exactly the remaining rows and tables, also after a shuffle of shards"""
    library(bench)
    path = numbered(bench)
    chance = random.Random(bench.seed)
    for shuffled in (False, True):
        def made():
            dataset = load(path, pieces=PIECES, schema={"id": int})
            return dataset.shuffle(seed=3, buffer_size=1) if shuffled else dataset
        whole = ids(made())
        need(sorted(whole) == list(range(RECORDS)) and (whole != sorted(whole)) == shuffled, "the order")
        for at in [1, 39, 40, 41, RECORDS] + [chance.randrange(RECORDS) for _ in range(6)]:
            first, second = made(), made()
            items = iter(first)
            for _ in range(at):
                next(items)
            second.load_state_dict(json.loads(json.dumps(first.state_dict())))
            need(ids(second) == whole[at:], "others after %d, shuffled: %s" % (at, shuffled))
    tables = [load(path, pieces=PIECES, schema={"id": int}).with_format("arrow") for _ in range(2)]
    items = tables[0].iter(batch_size=50)
    seen = [next(items)["id"].to_pylist() for _ in range(5)]
    tables[1].load_state_dict(tables[0].state_dict())
    rest = [table["id"].to_pylist() for table in tables[1].iter(batch_size=50)]
    need(sum(seen + rest, []) == list(range(RECORDS)), "the tables after five")


def workers(bench):
    """Workers of PyTorch's DataLoader divide the shards: each row once, and the same after a resumption"""
    library(bench)
    common.module("torch")
    from torch.utils.data import DataLoader
    stateful = common.module("torchdata.stateful_dataloader").StatefulDataLoader
    dataset = load(numbered(bench), pieces=PIECES, columns=["id"], schema={"id": int})
    for context in ("fork", "spawn"):
        loader = DataLoader(dataset, batch_size=16, num_workers=2, multiprocessing_context=context)
        found = [number for batch in loader for number in batch["id"].tolist()]
        need(sorted(found) == list(range(RECORDS)), "%s: %d rows" % (context, len(found)))
    first, second = (stateful(dataset, batch_size=16, num_workers=2) for _ in range(2))
    items = iter(first)
    seen = [number for _ in range(9) for number in next(items)["id"].tolist()]
    second.load_state_dict(first.state_dict())
    rest = [number for batch in second for number in batch["id"].tolist()]
    need(sorted(seen + rest) == list(range(RECORDS)), "%d rows, then %d" % (len(seen), len(rest)))


CHECKS = [odd_files, random_files, same_as_theirs, features, nodes, resumption, workers]


if __name__ == "__main__":
    sys.exit(common.harness.main(__doc__, CHECKS))
