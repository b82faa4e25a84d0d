#!/usr/bin/env python3
"""Compares the presets of --dialect with the readers that they are named after, by running these readers.

  readers_test.py --cleave PATH [--only SUBSTRING]

If a reader refuses a file, nothing is known about its records; the file is counted as refused. Records that a reader
skips without producing a row are removed from cleave's records too; see `skips` in readers.py. Excel and MySQL are not
run here.
"""
import csv
import io
import json
import os
import sys

import common
from corpus import corpus, samples
from harness import Failure, need, read, write
from readers import READERS, Arrow, ClickHouse, ClickHouseCount, Refused

SEED, RANDOM_FILES = 1, 120
UNREAD = {"utf16.csv"}   # cleave refuses it
OTHER_DELIMITER = {"semicolon.csv", "pipe.csv", "tab.tsv"}
SMALL = 60               # records; larger files are not read again piece by piece


class Outcome:
    """How a reader handled the corpus."""

    def __init__(self):
        self.compared, self.refused, self.apart, self.pieced, self.wrong = 0, 0, 0, 0, []

    def judge(self, bench):
        bench.note("%d files compared, %d of them piece by piece; %d refused by the reader, %d set apart"
                   % (self.compared, self.pieced, self.refused, self.apart))
        need(not self.wrong, "%d files differ: %s" % (len(self.wrong), "; ".join(self.wrong[:5])))
        need(self.compared >= 100, "only %d files were compared" % self.compared)


def width_of(data):
    text = data.removeprefix(b"\xef\xbb\xbf").decode("latin-1")
    return max(1, len(next(csv.reader(io.StringIO(text, newline="")), [])))


def make_files(bench, random_files=RANDOM_FILES):
    """{name: path} of the corpus."""
    files = {}
    for number, (name, data) in enumerate(corpus(random_files, SEED + bench.seed - 1).items()):
        if name not in UNREAD:
            files[name] = write(os.path.join(bench.root, "%d.csv" % number), data)
    return files


def succeed(bench, *args):
    run = bench.run([*args, "--allow-open-quote", "--quiet"])
    need(run.code == 0, "%s: %s" % (args, run))
    return run.stdout.decode()


def records(bench, path, dialect):
    """The file's records according to `cleave offsets`; `cleave count` must give the same number."""
    data = read(path)
    starts = [int(line) for line in succeed(bench, "offsets", "--every", "1", "-H", *dialect, path).split()]
    counted = int(succeed(bench, "count", "-H", *dialect, path))
    need(counted == len(starts), "%s: count says %d, offsets %d" % (path, counted, len(starts)))
    return [data[start:end] for start, end in zip(starts, starts[1:] + [len(data)])]


def rows_by_piece(reader, path, wanted, width):
    """The rows of all records, each read from a file of its own."""
    rows = []
    for record in wanted:
        rows += reader.rows(write(path + ".piece.csv", record), width)
    return rows


def same_rows(whole, pieces):
    """Whether the rows are equal, except for empty fields at their ends: some readers pad all rows to the length of the
    first."""
    def shape(row, size):
        row = row[:size]
        while row and row[-1] in ("", b"", None):
            row = row[:-1]
        return row
    return len(whole) == len(pieces) and all(shape(row, len(row)) == shape(piece, len(row))
                                             for row, piece in zip(whole, pieces))


def compare(bench, reader, name, path, dialect, outcome):
    data, width = read(path), width_of(read(path))
    apart = any(rule.pattern.search(data) for rule in reader.apart)
    try:
        rows = reader.rows(path, width)
    except Refused:
        outcome.refused += 1
        return
    wanted = [record for record in records(bench, path, dialect) if not reader.skips(record, width)]
    if apart:
        outcome.apart += 1
        return
    outcome.compared += 1
    if len(rows) != len(wanted):
        outcome.wrong.append("%s %s: %d rows, but %d records" % (name, data[:80], len(rows), len(wanted)))
    elif len(wanted) <= SMALL and outcome.compared % reader.pieces_of == 0:
        try:
            again = rows_by_piece(reader, path, wanted, width)
        except Refused:
            return
        outcome.pieced += 1
        if not same_rows(rows, again):
            outcome.wrong.append("%s %s: the pieces have other rows" % (name, data[:80]))


def expect_still_apart(bench, reader, files, dialect):
    """Expects the files that are excluded from the comparison still to differ."""
    for rule in reader.apart:
        path = files[rule.example]
        data = read(path)
        need(rule.pattern.search(data), "'%s' is no example of: %s" % (rule.example, rule.why))
        width = width_of(data)
        wanted = [record for record in records(bench, path, dialect) if not reader.skips(record, width)]
        need(len(reader.rows(path, width)) != len(wanted), "no longer so: " + rule.why)
        bench.note("set apart: " + rule.why)


def preset_check(name, reader):
    def check(bench):
        dialect, outcome = ["--dialect", reader.preset], Outcome()
        with reader.ready():
            files = make_files(bench)
            for file, path in files.items():
                compare(bench, reader, file, path, dialect, outcome)
            expect_still_apart(bench, reader, files, dialect)
        outcome.judge(bench)
        need(outcome.pieced * reader.pieces_of >= 60, "only %d files were read piece by piece" % outcome.pieced)
    return common.named(check, "--dialect %s reads as %s" % (reader.preset, name))


def told_nothing_check(name, reader):
    """A check with the header, on the samples that have commas."""
    def check(bench):
        compared, refused = 0, []
        with reader.ready():
            for file, data in samples().items():
                if file in UNREAD | OTHER_DELIMITER:
                    continue
                path = write(os.path.join(bench.root, file), data)
                try:
                    rows = reader.told_nothing(path)
                except Refused:
                    refused.append(file)
                    continue
                found, width = records(bench, path, ["--dialect", reader.preset]), width_of(data)
                wanted = sum(not reader.skips(record, width) for record in found[1:])
                need(rows == wanted, "%s: %d rows, but %d records" % (file, rows, wanted))
                compared += 1
        bench.note("%d files compared; refused: %s" % (compared, " ".join(refused) or "none"))
        need(compared >= 8, "only %d files were compared" % compared)
    return common.named(check, "--dialect %s reads as %s, told nothing" % (reader.preset, name))


def byte_order_mark(bench):
    """Python csv treats a byte order mark as text, and the quote after it too, unless opened as utf-8-sig"""
    path = write(os.path.join(bench.root, "mark.csv"), b'\xef\xbb\xbf"a\nx",b\n1,2\n')
    counts = []
    for encoding in ("utf-8", "utf-8-sig"):
        with open(path, encoding=encoding, newline="") as file:
            counts.append(len(list(csv.reader(file))))
    need(counts == [3, 2], "%s rows" % counts)
    need(len(records(bench, path, ["--dialect", "python"])) == 2, "cleave reads it otherwise")


def clickhouse_count(bench):
    """ClickHouse's count() finds the ends of rows in the other quote mode"""
    reader, outcome = ClickHouseCount(), Outcome()
    dialect = ["--dialect", "clickhouse", "--quoting", "anywhere"]
    with reader.ready():
        differ = 0
        for file, path in make_files(bench, 40).items():
            data = read(path)
            try:
                count = len(reader.rows(path, width_of(data)))
            except Refused:
                outcome.refused += 1
                continue
            if reader.apart[1].pattern.search(data):
                outcome.apart += 1
                continue
            outcome.compared += 1
            wanted = len(records(bench, path, dialect))
            if count != wanted:
                outcome.wrong.append("%s %s: %d rows, but %d records" % (file, data[:80], count, wanted))
            differ += wanted != len(records(bench, path, ["--dialect", "clickhouse"]))
    outcome.judge(bench)
    if differ == 0:
        raise Failure("nowhere do the rules differ")


def clickhouse_threads(bench):
    """ClickHouse cuts large files for its threads in the other quote mode"""
    reader = ClickHouse()
    path = write(os.path.join(bench.root, "large.csv"), b'1,5" tv\n' + b'2,"two\nlines"\n' * 1200000)
    wanted = int(succeed(bench, "count", "-H", "--dialect", "clickhouse", path))
    need(wanted == 1200001, "cleave counts %d" % wanted)

    def rows(parallel):
        query = "SELECT toInt32(count()) FROM (SELECT * FROM %s) WHERE c0 != 'x' SETTINGS max_threads = 4, " \
            "input_format_parallel_parsing = %d" % (reader.file(path, 2), parallel)
        return json.loads(reader.ask(query)[0])[0]

    with reader.ready():
        need(rows(parallel=0) == wanted, "read as one part it has %d rows" % rows(parallel=0))
        try:
            found = rows(parallel=1)
        except Refused:
            found = 0
    os.unlink(path)
    need(found != wanted, "no longer so: it finds the same rows")
    bench.note("%d records; cut for threads %s" % (wanted, "%d rows" % found if found else "it is refused"))


def arrow_large(bench):
    """pyarrow refuses large files with line feeds in fields unless newlines_in_values is set"""
    reader, data = Arrow(), b'1,"two\nlines"\n' * 500000
    path = write(os.path.join(bench.root, "large.csv"), data)
    with reader.ready():
        rows = len(reader.rows(path, 2))
        try:
            reader.told_nothing(path)
        except Refused:
            refused = True
        else:
            refused = False
    counted = int(succeed(bench, "count", "-H", "--dialect", "arrow", path))
    os.unlink(path)
    need(rows == counted == 500000, "%d rows, %d records" % (rows, counted))
    need(refused, "no longer so: it is not refused")


def checks():
    found = []
    for name, reader in READERS.items():
        found.append(preset_check(name, reader))
        if reader.preset != "rfc4180":
            found.append(told_nothing_check(name, reader))
    return found + [byte_order_mark, arrow_large, clickhouse_count, clickhouse_threads]


if __name__ == "__main__":
    sys.exit(common.harness.main(__doc__, checks()))
