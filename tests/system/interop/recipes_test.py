#!/usr/bin/env python3
"""The recipes of the guide, run as printed.

  recipes_test.py --cleave PATH [--only SUBSTRING]

Each section with a recipe has a check of the same name here. The first word of a block says how to run it, in a
directory with a big.csv, a sales.csv and a requests.jsonl. If there is a second word, the block is first written to a file of that name,
for the other blocks to use. `console` blocks and unnamed `text` blocks are not recipes; ../drift/examples_test.py runs
the `console` blocks. A block before the first section repeats lines of a recipe.
"""
import base64
import contextlib
import csv
import glob
import gzip
import hmac
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import common
import postgres
from harness import finish, kill_group, need, need_sight, read, write

GUIDE = os.path.join(common.HERE, "..", "..", "..", "doc", "guide")
PAGES = ("pieces.md", "load.md", "batch.md", "json_lines.md", "verify.md", "vendor.md", "repair.md")   # the order of CHECKS
BLOCK = re.compile(r"^```(\w+) ?(\S*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
RUN_BY = {"sh": ["bash", "-c"], "python": ["python3", "-c"]}
ROWS = 20000
REQUESTS = 120000   # more than a batch may have
HEADER = b"id,amount,note\n"
RUN_TIMEOUT_S = 120
# Values that are hard to name, and hard to read back.
REGIONS = ["north", "North", "South Side", "a/b", "\u00cele-de-France", "\u6771\u4eac", "", "50%", "x=y", "007", "..", "a,b",
           "1+1", "__EMPTY__", '27"', " "]
LARGE = 64 << 20   # large enough for the run to be killed midway


def parts(page):
    """The part of a page before its first section, and {heading: text of the section}."""
    with open(os.path.join(GUIDE, page), encoding="utf-8") as file:
        intro, *rest = re.split(r"^## (.+)\n", file.read(), flags=re.MULTILINE)
    return intro, dict(zip(rest[::2], rest[1::2]))


def recipe_blocks(text):
    """[(language, file name or "", text)] of the blocks to run or to write."""
    return [block for block in BLOCK.findall(text) if block[0] in RUN_BY or block[1]]


def sections():
    """{heading: recipe_blocks} of all sections that have any, page by page."""
    found = {}
    for page in PAGES:
        for heading, text in parts(page)[1].items():
            if recipe_blocks(text):
                need(heading not in found, "two recipes are called %s" % heading)
                found[heading] = recipe_blocks(text)
    return found


def make_records(count):
    """Rows with unique ids; every third has a line feed, a delimiter or a quote in its note."""
    notes = ['plain', '"two\nlines, and a comma"', 'long ' * 8, '"he said ""now""\n"', '', '"\r\n,"']
    return [("%d,%d,%s\n" % (i, i * 7919 % 10007, notes[i * 31 % len(notes)])).encode() for i in range(1, count + 1)]


def make_requests(count):
    """Requests for an API, one on each line."""
    return [b'{"custom_id":"r%d","params":{"n":%d,"text":"%s"}}\n' % (i, i, b"[,]\\n" * (i * 31 % 7)) for i in range(count)]


def make_sales(count):
    """[(id, region, amount, note)]; a third of the notes have a line feed, a delimiter or a quote."""
    notes = ["plain", "two\nlines, and a comma", 'he said "now"', ""]
    return [(i, REGIONS[i * 13 % len(REGIONS)], i * 7919 % 10007, notes[i * 31 % 3 if i % 2 else 3])
            for i in range(1, count + 1)]


def sales_file(sales):
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows([("id", "region", "amount", "note"), *sales])
    return text.getvalue().encode()


class Kitchen:
    """A directory with the input, in which the blocks of one section run."""

    def __init__(self, bench, heading, directory):
        self.bench, self.blocks, self.directory = bench, sections()[heading], directory
        self.records = make_records(ROWS)
        self.data = HEADER + b"".join(self.records)
        self.amount = sum(int(record.split(b",")[1]) for record in self.records)
        write(self.path("big.csv"), self.data)
        self.sales = make_sales(ROWS)
        write(self.path("sales.csv"), sales_file(self.sales))
        self.requests = make_requests(REQUESTS)
        write(self.path("requests.jsonl"), b"".join(self.requests))
        programs = self.path("bin")
        os.mkdir(programs)
        shutil.copy(bench.cleave, programs)
        path = [programs, os.path.dirname(sys.executable), os.environ.get("PATH", "")]
        self.environment = bench.environment(PATH=":".join(path), HOME=directory)

    def path(self, name):
        return os.path.join(self.directory, name)

    def start(self, command, **more):
        env = dict(self.environment, **more)
        return subprocess.Popen(command, cwd=self.directory, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, start_new_session=True)

    def run(self, command, **more):
        """Runs the command and returns its output, as a list of words for each line."""
        done = finish(self.start(command, **more), RUN_TIMEOUT_S)
        need(done.code == 0, "%s: %s" % (" ".join(command)[:80], done))
        return [line.split() for line in done.stdout.decode().splitlines()]

    def write_blocks(self):
        """Writes the blocks that have a name."""
        for _, name, text in self.blocks:
            if name:
                os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
                write(self.path(name), text.encode())

    def add_program(self, name, text):
        os.chmod(write(self.path("bin/" + name), text.encode()), 0o755)

    def cook(self):
        """Writes the blocks that have a name and runs the others in order; returns the output of each."""
        self.write_blocks()
        return [self.run(command) for command in self.commands()]

    def commands(self):
        return [RUN_BY[language] + [text] for language, name, text in self.blocks if not name]

    def pieces(self, number):
        """The bodies of the pieces that `split -n` writes."""
        plan = self.bench.run(["offsets", "-n", str(number), self.path("big.csv")])
        rows = [[int(word) for word in line.split()] for line in plan.stdout.splitlines()]
        need(len(rows) == number, "%d pieces" % len(rows))
        return [self.data[start:start + length] for _, start, length, _, _ in rows]

    def expect_bytes(self, names, header, unpack=read):
        """Expects the files with these names to have the header and the pieces, byte for byte."""
        pieces = self.pieces(len(names))
        need(header + b"".join(pieces) == (self.data if header else self.data[len(HEADER):]), "the pieces are not all")
        for name, piece in zip(names, pieces):
            need(unpack(self.path(name)) == header + piece, "%s has other bytes" % name)

    def expect_sums(self, words):
        need(words == [str(ROWS), str(ROWS), str(self.amount)], "rows, distinct rows and their sum are %s" % words)

    def expect_parts(self, lines, number):
        """Expects `number` lines, each with a number of rows and their sum."""
        need(len(lines) == number, "%d lines" % len(lines))
        need(all(int(rows) > 0 for rows, _ in lines), "a piece has no rows")
        need(sum(int(rows) for rows, _ in lines) == ROWS, "the rows are %s" % lines)
        need(sum(int(total) for _, total in lines) == self.amount, "the sums are %s" % lines)


def unzip(path):
    return gzip.decompress(read(path))


@contextlib.contextmanager
def kitchen(bench, heading):
    with tempfile.TemporaryDirectory(dir=bench.root) as directory:
        yield Kitchen(bench, heading, directory)


def named_parts(bench):
    """Training, validation and test data"""
    common.module("xxhash")
    with kitchen(bench, "Training, validation and test data") as at:
        printed = at.cook()
        write(at.path("one.csv"), b"customer\nGoran Jansen\n")
        at.run(["cleave", "split", "--parts", "train=80,valid=10,test=10", "--by", "customer", "one.csv"])
        holders = [part for part in ("train", "valid", "test") if b"Goran" in read(at.path("one.%s.csv" % part))]
        need(printed == [[holders]], "the function prints %s, the record is in %s" % (printed, holders))


def compressed_pieces(bench):
    """Compressed pieces"""
    for program in ("zstd", "xz"):
        bench.need_tool(program)

    def by(program):
        return lambda path: subprocess.run([program, "-dc", path], stdout=subprocess.PIPE, check=True).stdout
    with kitchen(bench, "Compressed pieces") as at:
        at.cook()
        at.expect_bytes(["big.%d.csv.zst" % k for k in range(1, 9)], HEADER, by("zstd"))
        at.expect_bytes(["big.%d.csv.xz" % k for k in range(1, 9)], HEADER, by("xz"))


def dd(bench):
    """Cut with dd"""
    with kitchen(bench, "Cut with dd") as at:
        at.cook()
        at.expect_bytes(["part.%d" % k for k in range(1, 5)], b"")


def tail_and_head(bench):
    """Cut with tail and head"""
    with kitchen(bench, "Cut with tail and head") as at:
        at.cook()
        at.expect_bytes(["part.%d" % k for k in range(1, 5)], b"")


def shared_blocks(bench):
    """Pieces that share blocks with the input"""
    with kitchen(bench, "Pieces that share blocks with the input") as at:
        at.cook()
        found = [read(at.path("big.%02d.csv" % k)) for k in range(1, 11)]
        need(all(piece.startswith(HEADER) for piece in found), "a piece has no header")
        need(HEADER + b"".join(piece[len(HEADER):] for piece in found) == at.data, "the pieces are not all")


def gnu_parallel(bench):
    """GNU parallel"""
    bench.need_tool("parallel")
    with kitchen(bench, "GNU parallel") as at:
        at.cook()
        at.expect_bytes(["piece.%d.csv.gz" % k for k in range(1, 9)], HEADER, unzip)
        at.expect_bytes(["part.%d.gz" % k for k in range(1, 9)], b"", unzip)


def xargs(bench):
    """xargs"""
    with kitchen(bench, "xargs") as at:
        at.cook()
        at.expect_bytes(["piece.%d.csv.gz" % k for k in range(1, 9)], HEADER, unzip)


def python_recipe(heading, *modules, partitions=()):
    """A check for a section with one block, which prints rows, distinct rows and their sum."""
    def check(bench):
        for name in modules:
            common.module(name)
        with kitchen(bench, heading) as at:
            (lines,) = at.cook()
            at.expect_sums(lines[0])
            need(lines[1:] == list(partitions), "it says %s" % lines[1:])
    return common.named(check, heading)


def duckdb(bench):
    """DuckDB"""
    common.module("duckdb")
    with kitchen(bench, "DuckDB") as at:
        (lines,) = at.cook()
        at.expect_parts(lines, 4)


def clickhouse(bench):
    """ClickHouse"""
    common.module("chdb")
    with kitchen(bench, "ClickHouse") as at:
        (lines,) = at.cook()
        at.expect_parts(lines, 4)


@contextlib.contextmanager
def kitchen_with_postgres(bench, heading):
    """A Kitchen whose programs reach a server, and a function that asks it."""
    with postgres.server() as server:
        directory = os.path.join(server, "kitchen")
        os.mkdir(directory)
        at = Kitchen(bench, heading, directory)
        at.environment.update(postgres.client_environment(server), PATH=at.environment["PATH"], PSQLRC="/dev/null")
        session = postgres.Session(server)
        yield at, session.ask
        session.close()


def expect_table(at, ask):
    """Expects the table big to have the rows of big.csv."""
    (found,) = ask("SELECT count(*), count(DISTINCT id), sum(amount) FROM big")
    at.expect_sums(found.decode().split("|"))
    notes = ask("COPY (SELECT id, amount, note FROM big ORDER BY id) TO STDOUT (FORMAT csv)")
    wanted = ask("CREATE TEMP TABLE whole (LIKE big); COPY whole FROM '%s' (FORMAT csv, HEADER); "
                 "COPY (SELECT id, amount, note FROM whole ORDER BY id) TO STDOUT (FORMAT csv)" % at.path("big.csv"))
    need(len(wanted) > ROWS and notes == wanted, "the rows are others than those of the whole file")


def postgresql(bench):
    """PostgreSQL"""
    with kitchen_with_postgres(bench, "PostgreSQL") as (at, ask):
        at.cook()
        expect_table(at, ask)


# Fails for one piece, after it has written part of it.
BROKEN_CLEAVE = b"""#!/bin/sh
case "$*" in
*" 5/8 "*) cleave.real "$@" | head -n 100; exit 3 ;;
*) exec cleave.real "$@" ;;
esac
"""


def postgresql_gzip(bench):
    """PostgreSQL, from a gzip file"""
    with kitchen_with_postgres(bench, "PostgreSQL, from a gzip file") as (at, ask):
        write(at.path("big.csv.gz"), gzip.compress(at.data))
        at.cook()
        expect_table(at, ask)
        ask("DROP TABLE big; DROP TABLE whole")
        os.rename(at.path("bin/cleave"), at.path("bin/cleave.real"))
        write(at.path("bin/cleave"), BROKEN_CLEAVE)
        os.chmod(at.path("bin/cleave"), 0o755)
        (command,) = at.commands()
        write(at.path("bin/again"), command[2].split("\n", 1)[1].encode())   # the index exists
        done = finish(at.start(["bash", at.path("bin/again")]), RUN_TIMEOUT_S)
        need(done.code != 0, "exit 0, although a piece was incomplete")
        plan = bench.run(["offsets", "-n", "8", at.path("big.csv")]).stdout.splitlines()
        (found,) = ask("SELECT count(*) FROM big")
        need(int(found) == ROWS - int(plan[4].split()[4]), "%s rows, after a session has failed" % found)


def make(bench):
    """make"""
    bench.need_tool("make")
    with kitchen(bench, "make") as at:
        at.cook()
        need(read(at.path("total")) == b"%d\n" % ROWS, "the total is %r" % read(at.path("total")))
        at.run(["make", "--question"])   # fails if anything remains to be made
        at.data = HEADER + b"".join(at.records[:5000])
        write(at.path("big.csv"), at.data)
        later = time.time() + 2
        os.utime(at.path("big.csv"), (later, later))
        time.sleep(max(0.0, later - time.time()) + 0.1)
        at.cook()
        need(read(at.path("total")) == b"5000\n", "the total of the new file is %r" % read(at.path("total")))
        at.run(["make", "--question"])


def killed_midway(at):
    """Kills the first step as soon as it has written a piece. Returns whether it left some pieces and no manifest."""
    shutil.rmtree(at.path("pieces"), ignore_errors=True)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(at.path("pieces.json"))
    process = at.start(["bash", "prepare.sh"])
    while process.poll() is None and not glob.glob(at.path("pieces/*.csv")):
        time.sleep(0.0005)
    kill_group(process)
    process.communicate()
    return process.returncode == -signal.SIGKILL and 0 < len(glob.glob(at.path("pieces/*.csv"))) < 16 and \
        not os.path.exists(at.path("pieces.json"))


def slurm(bench):
    """Slurm"""
    with kitchen(bench, "Slurm") as at:
        at.cook()
        with open(at.path("big.csv"), "wb") as file:
            file.write(HEADER)
            body = at.data[len(HEADER):]
            for _ in range(LARGE // len(body)):
                file.write(body)
        at.data = read(at.path("big.csv"))
        need_sight(any(killed_midway(at) for _ in range(30)), "it could not be killed in the middle")
        kept = {name: os.stat(name).st_ino for name in glob.glob(at.path("pieces/*.csv"))}
        at.run(["bash", "prepare.sh"])
        names = ["pieces/%02d.csv" % k for k in range(1, 17)]
        at.expect_bytes(names, HEADER)
        need(all(os.stat(name).st_ino == inode for name, inode in kept.items()), "a complete piece was made again")
        bench.note("%d of 16 pieces were there after the kill" % len(kept))
        manifest = json.loads(read(at.path("pieces.json")))
        need([piece["name"] for piece in manifest["pieces"]] == names, "the manifest names other pieces")
        need(sorted(os.listdir(at.path("pieces"))) == [os.path.basename(name) for name in names], "more is left")
        for task in range(1, 17):
            for script in ("job.sh", "direct.sh"):
                at.run(["bash", script], SLURM_ARRAY_TASK_ID=str(task), SLURM_ARRAY_TASK_COUNT="16")
        at.expect_bytes(["result.%02d.gz" % k for k in range(1, 17)], HEADER, unzip)
        at.expect_bytes(["direct.%d.gz" % k for k in range(1, 17)], HEADER, unzip)


def ranges_by_parallel(bench):
    """Ranges with GNU parallel"""
    bench.need_tool("parallel")
    with kitchen(bench, "Ranges with GNU parallel") as at:
        at.cook()
        at.expect_bytes(["piece.%d.csv" % k for k in range(1, 9)], HEADER)
        # The same with an incomplete summary, and with a file that changes after the plan is made.
        for spoil, code in ((lambda: write(at.path("range.3.json"), read(at.path("range.3.json"))[:-9]), 3),
                            (lambda: os.unlink(at.path("range.3.json")), 3)):
            spoil()
            done = finish(at.start(["bash", "-c", "cleave plan -n 8 range.[0-7].json"]), RUN_TIMEOUT_S)
            need(done.code == code and not done.stdout, "a plan was made: %s" % done)
        write(at.path("big.csv"), at.data)
        done = finish(at.start(["cleave", "cat", "--plan", "plan.json", "-n", "3", "big.csv"]), RUN_TIMEOUT_S)
        need(done.code == 4 and not done.stdout, "a piece of another version was read: %s" % done)


# Runs the tasks of a job immediately, provided that its predecessors have succeeded.
SBATCH = """#!/usr/bin/env python3
import os, re, subprocess, sys
script = sys.argv[-1]
after = [word.split(":")[1] for word in sys.argv if word.startswith("--dependency=afterok:")]
if any(os.path.exists(number + ".failed") or not os.path.exists(number + ".done") for number in after):
    sys.exit("the job before failed")
array = re.search(r"^#SBATCH --array=(\\d+)-(\\d+)$", open(script).read(), re.MULTILINE)
tasks = range(int(array[1]), int(array[2]) + 1) if array else [None]
failed = 0
for task in tasks:
    more = {} if task is None else {"SLURM_ARRAY_TASK_ID": str(task), "SLURM_ARRAY_TASK_COUNT": str(len(tasks))}
    failed += subprocess.run(["bash", script], env={**os.environ, **more}).returncode != 0
number = "1" + str(len([name for name in os.listdir() if name.endswith((".done", ".failed"))]))
open(number + (".failed" if failed else ".done"), "w").close()
print(number)
"""


def ranges_by_slurm(bench):
    """Ranges with a Slurm array"""
    with kitchen(bench, "Ranges with a Slurm array") as at:
        at.add_program("sbatch", SBATCH)
        at.cook()
        at.expect_bytes(["result.%d.gz" % k for k in range(1, 17)], HEADER, unzip)


def manifest_check(bench):
    """Rows that the reader sees"""
    with kitchen(bench, "Rows that the reader sees") as at:
        _, lines = at.cook()
        need(lines == [[str(ROWS)]], "it says %s" % lines)
        whole = read(at.path("big.3.csv"))
        write(at.path("big.3.csv"), whole[:whole.rindex(b"\n", 0, -1) + 1])   # without its last line
        done = finish(at.start(at.commands()[1]), RUN_TIMEOUT_S)
        need(done.code != 0, "a lost line is not noticed: %s" % done)


def token_of(key, value, context):
    """The token that hmac(KEY, context=CONTEXT) writes."""
    own = hmac.digest(key, b"\xffcleave context 1" + context, "sha256")
    return base64.urlsafe_b64encode(hmac.digest(own, value, "sha256")[:16]).rstrip(b"=")


def postgresql_redacted(bench):
    """PostgreSQL, redacted"""
    with kitchen_with_postgres(bench, "PostgreSQL, redacted") as (at, ask):
        at.cook()
        (found,) = ask("SELECT count(*), count(DISTINCT id), sum(amount), count(note) FROM redacted")
        ids = ask("SELECT id FROM redacted ORDER BY id")
        amount = sum(int(record.split(b",")[1]) // 100 * 100 for record in at.records)
        need(found == b"%d|%d|%d|0" % (ROWS, ROWS, amount), "the table has %s" % found)
        key = read(at.path("pii.key"))
        tokens = [int.from_bytes(hmac.digest(key, b"%d" % i, "sha256")[:8], "big") & (1 << 63) - 1
                  for i in range(1, ROWS + 1)]
        need([int(line) for line in ids] == sorted(tokens), "the ids are no tokens")


def duckdb_redacted(bench):
    """DuckDB, two redacted files"""
    common.module("duckdb")
    with kitchen(bench, "DuckDB, two redacted files") as at:
        _, lines = at.cook()
        amounts = [int(at.records[i - 1].split(b",")[1]) for i in (7, 12, 20000)]
        need(lines == [["3", "40", str(sum(amounts))]], "the join gives %s" % lines)


def duckdb_rejects(bench):
    """Set bad records aside"""
    common.module("duckdb")
    import duckdb as database
    bad = [b"7,8\n", b'9,"a note"b,c\n', b'10,11,"two\n12,13,lines",more\n', b'14,15,"open\n']
    with kitchen(bench, "Set bad records aside") as at:
        step = ROWS // len(bad)
        mixed = b"".join(bad[k] + b"".join(at.records[k * step:(k + 1) * step]) for k in range(len(bad)))
        write(at.path("big.csv"), HEADER + mixed)
        at.cook()
        listed = [json.loads(line) for line in read(at.path("bad.jsonl")).splitlines()]
        need([line["text"].encode() for line in listed] == bad, "the rejects are %s" % listed)
        with database.connect(at.path("big.db")) as base:
            rows = base.execute("SELECT id, amount, coalesce(note, '') FROM big ORDER BY id").fetchall()
        wanted = csv.reader(io.StringIO(b"".join(at.records).decode(), newline=""))
        need(rows == [(int(number), int(amount), note) for number, amount, note in wanted], "other rows are loaded")


def vendor(bench):
    """Hand-over to a vendor"""
    with kitchen(bench, "Hand-over to a vendor") as at:
        lines = at.cook()
        need(lines[-1] == [[str(ROWS), "amount", "id", "note"]], "the check says %s" % lines[-1])
        key = read(at.path("vendor.key"))
        found = b"".join(read(at.path("vendor/%d.csv" % k))[len(HEADER):] for k in range(1, 9))
        rows = list(csv.reader(io.StringIO(found.decode(), newline="")))
        wanted = list(csv.reader(io.StringIO(b"".join(at.records).decode(), newline="")))
        need(len(rows) == ROWS, "%d rows" % len(rows))
        for (token, amount, note), (number, old_amount, old_note) in zip(rows, wanted):
            need(token.encode() == token_of(key, number.encode(), b"vendor A"), "%s is no token" % token)
            need(int(amount) == int(old_amount) // 100 * 100, "%s was %s" % (amount, old_amount))
            need(note == old_note if old_note in ("plain", "") else note == "*" * len(old_note), "a note is %s" % note)
        report = json.loads(read(at.path("report.json")))
        need([rule["origin"] for rule in report["rules"]] == ["vendor.rules:%d" % k for k in range(2, 6)], "the rules")


def partitions(heading, rows, *modules):
    """A check for a section that writes folders and reads them back; `rows` is Python code for the rows of its
    `sales`."""
    def check(bench):
        for name in modules:
            common.module(name)
        with kitchen(bench, heading) as at:
            split, (*python, text) = at.commands()
            at.run(split)
            folders = os.listdir(at.path("sales"))
            need(len(folders) == len(REGIONS) and all(name.startswith("region=") for name in folders), str(folders))
            ask = "import json\nrows = %s\nprint(json.dumps(sorted(list(row) for row in rows)))" % rows
            done = finish(at.start([*python, text + ask]), RUN_TIMEOUT_S)
            need(done.code == 0, str(done))
            printed = done.stdout.decode().splitlines()
            amount = sum(row[2] for row in at.sales)
            need(printed[0].split() == [str(ROWS), str(ROWS), str(amount)], "it says %s" % printed[0])
            # Readers treat an empty field as null, in a file and in a folder's name.
            found = [[number, region or "", total, note or ""] for number, region, total, note in json.loads(printed[1])]
            need(found == [list(row) for row in at.sales], "the rows are others than those of the file")
    return common.named(check, heading)


def spark_partitions(bench):
    """Partitions in Spark"""
    common.module("pyspark")
    bench.need_tool("java")
    partitions("Partitions in Spark", "sales.select('id', 'region', 'amount', 'note').collect()", "pyspark")(bench)


def postgresql_partitions(bench):
    """PostgreSQL, partitions by value"""
    with kitchen_with_postgres(bench, "PostgreSQL, partitions by value") as (at, ask):
        at.cook()
        parts = ask("SELECT relname FROM pg_class JOIN pg_inherits ON pg_class.oid = inhrelid "
                    "WHERE inhparent = 'sales'::regclass")
        found = ask("COPY (SELECT id, region, amount, note FROM sales ORDER BY id) TO STDOUT (FORMAT csv)")
        wanted = ask("CREATE TEMP TABLE whole (LIKE sales); COPY whole FROM '%s' (FORMAT csv, HEADER); "
                     "COPY (SELECT id, region, amount, note FROM whole ORDER BY id) TO STDOUT (FORMAT csv)"
                     % at.path("sales.csv"))
        mixed = ask("SELECT tableoid FROM sales GROUP BY tableoid HAVING count(DISTINCT coalesce(region, '')) > 1")
        need(len(parts) == len(REGIONS) and mixed == [], "the partitions are %s" % parts)
        need(len(wanted) > ROWS and found == wanted, "the rows are others than those of the whole file")


def loop(bench):
    """A loop over the pieces"""
    with kitchen(bench, "A loop over the pieces") as at:
        done = finish(at.start(at.commands()[0]), RUN_TIMEOUT_S)
        need(done.code == 0, str(done))
        counts = {}
        for row in at.sales:
            counts[row[1]] = counts.get(row[1], 0) + 1
        # Decoded, the name of the empty value equals that of the value __EMPTY__; undecoded, its first byte differs.
        wanted = sorted([region or "__EMPTY__", str(count)] for region, count in counts.items())
        need(sorted(line.split("\t") for line in done.stdout.decode().splitlines()) == wanted, "it says %s" % done)


def openai_batches(bench):
    """OpenAI batch files"""
    with kitchen(bench, "OpenAI batch files") as at:
        at.cook()
        need(sorted(os.listdir(at.path("openai"))) == ["1.jsonl", "2.jsonl", "3.jsonl"], "there are other files")
        for k in range(3):
            need(read(at.path("openai/%d.jsonl" % (k + 1))) == b"".join(at.requests[50000 * k:50000 * (k + 1)]), "batch %d" % k)


def anthropic_batches(bench):
    """Anthropic message batches"""
    with kitchen(bench, "Anthropic message batches") as at:
        at.cook()
        names = sorted(os.listdir(at.path("anthropic")))
        batches = [json.loads(read(at.path("anthropic/" + name))) for name in names]
        need([len(batch["requests"]) for batch in batches] == [100000, 20000], "the batches have other sizes")
        found = [request for batch in batches for request in batch["requests"]]
        need(found == [json.loads(request) for request in at.requests], "the requests are others")


def hugging_face_shards(bench):
    """Hugging Face shards"""
    with kitchen(bench, "Hugging Face shards") as at:
        at.cook()
        names = ["train-%05d-of-00008.jsonl.gz" % k for k in range(8)]
        need(sorted(os.listdir(at.path("data"))) == names, "there are other files")
        need(b"".join(unzip(at.path("data/" + name)) for name in names) == b"".join(at.requests), "the lines are others")


# A warehouse: stores files, loads them as CSV, and counts rows. It keeps the files in stored/ and the rows in rows.json.
# It understands what the recipes say, and nothing else.
WAREHOUSE = """#!/usr/bin/env python3
import csv, glob, gzip, io, json, os, re, shutil, sys
text = " ".join([os.path.basename(sys.argv[0])] + sys.argv[1:])

def store(names, folder):
    os.makedirs("stored/" + folder, exist_ok=True)
    for name in names:
        shutil.copy(name, "stored/" + folder)

def load(names):
    rows = []
    for name in names:
        data = open(name, "rb").read()
        data = gzip.decompress(data) if name.endswith(".gz") else data
        rows += csv.reader(io.StringIO(data.decode(), newline=""))
    json.dump([len(names), rows], open("rows.json", "w"))

if re.match("snow sql -q PUT 'file://(.*)' @~/big/ AUTO_COMPRESS = FALSE$", text):
    store(glob.glob(text.split("'")[1][7:]), "big")
elif re.match("snow sql -q COPY INTO big FROM @~/big/ .*COMPRESSION = GZIP", text, re.DOTALL):
    load(glob.glob("stored/big/*.gz"))
elif re.match("aws s3 cp --recursive redshift s3://bucket/redshift/$", text):
    store(glob.glob("redshift/*"), "redshift")
elif "stv_slices" in text:
    print(2)
elif re.match("psql .* MANIFEST IAM_ROLE default FORMAT CSV GZIP$", text):
    entries = json.load(open("stored/redshift/files.json"))["entries"]
    load([entry["url"].replace("s3://bucket", "stored") for entry in entries])
elif re.match("gcloud storage cp .* gs://bucket/bigquery/$", text):
    store(sys.argv[3:-1], "bigquery")
elif re.match("bq load .*--allow_quoted_newlines", text):
    load(glob.glob("stored/bigquery/*.csv"))
elif text.endswith(("count(*) FROM big", "count(*) FROM data.big")):
    header = "" if text.startswith("psql") else "f0_" + os.linesep
    print(header + str(len(json.load(open("rows.json"))[1])))
else:
    sys.exit("not understood: " + text)
"""


def warehouse(heading, files, *programs):
    """A check for a section that loads big.csv, as so many files, with programs for which WAREHOUSE stands in."""
    def check(bench):
        with kitchen(bench, heading) as at:
            for program in programs:
                at.add_program(program, WAREHOUSE)
            at.cook()
            found, rows = json.loads(read(at.path("rows.json")))
            need(found == files, "%d files were loaded" % found)
            wanted = list(csv.reader(io.StringIO(b"".join(at.records).decode(), newline="")))
            need(sorted(rows) == sorted(wanted), "%d other rows" % len(rows))
            # The same with a program that loses a row.
            lossy = WAREHOUSE.replace("[len(names), rows]", "[len(names), rows[1:]]")
            need(lossy != WAREHOUSE, "no row is lost")
            for program in programs:
                at.add_program(program, lossy)
            os.unlink(at.path("pieces.json"))
            shutil.rmtree(at.path(heading.lower()))
            shutil.rmtree(at.path("stored"))
            done = finish(at.start(at.commands()[-1]), RUN_TIMEOUT_S)
            need(done.code != 0, "a lost row is not noticed")
            need(len(json.loads(read(at.path("rows.json")))[1]) == ROWS - 1, "the check came before the load: %s" % done)
    return common.named(check, heading)


# Both run the tasks immediately, one after another.
AIRFLOW = """
def task(**options):
    def decorated(function):
        function.expand = lambda piece: [function(one) for one in piece]
        return function
    return decorated

class Dag:
    def __init__(self, function):
        self.test = function

def dag(**options):
    return lambda function: lambda: Dag(function)
"""
PREFECT = """
class Futures(list):
    def result(self):
        return list(self)

def task(function):
    function.map = lambda items: Futures(map(function, items))
    return function

def flow(function):
    return function
"""


def scheduled(heading, module, stand_in):
    """A check for a section whose tasks load PostgreSQL, with a stand-in for the module of the scheduler."""
    def check(bench):
        common.module("cleave")
        with kitchen_with_postgres(bench, heading) as (at, ask):
            at.environment.update(SHARED_FOLDER=at.directory, PYTHONPATH=at.path("lib"))
            path = at.path("lib/%s.py" % module.replace(".", "/"))
            os.makedirs(os.path.dirname(path))
            write(path, stand_in.encode())
            at.cook()
            expect_table(at, ask)
            # The same with rows that a trigger keeps out.
            kept = ask("CREATE FUNCTION skip() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'; "
                       "CREATE TRIGGER one BEFORE INSERT ON big FOR EACH ROW WHEN (NEW.id = 7) EXECUTE FUNCTION skip()")
            need(kept == [], "the trigger was not made")
            done = finish(at.start(["bash", "-c", at.commands()[-1][-1].split("\n", 1)[1]]), RUN_TIMEOUT_S)
            need(done.code != 0 and b"COPY" in done.stderr, "a lost row is not noticed: %s" % done)
    return common.named(check, heading)


def dbt(bench):
    """dbt"""
    common.module("dbt.adapters.duckdb")
    import duckdb as database
    with kitchen(bench, "dbt") as at:
        at.cook()
        with database.connect(at.path("big.duckdb")) as found:
            words = found.execute("SELECT count(*), count(DISTINCT id), sum(amount) FROM big").fetchone()
        at.expect_sums([str(word) for word in words])
        os.unlink(at.path("pieces/3.csv"))
        done = finish(at.start(["dbt", "build"]), RUN_TIMEOUT_S)
        need(done.code != 0 and b"big_is_whole" in done.stdout, "a lost piece is not noticed: %s" % done)


CHECKS = [
    # pieces.md
    named_parts, loop, compressed_pieces, dd, tail_and_head, shared_blocks,
    # load.md
    postgresql, postgresql_gzip, postgresql_partitions, postgresql_redacted, duckdb, clickhouse,
    python_recipe("pandas", "pandas", "cleave"), python_recipe("pyarrow", "pyarrow", "cleave"),
    partitions("Partitions in DuckDB", "sales.fetchall()", "duckdb"),
    partitions("Partitions in pyarrow", "zip(*(sales[name].to_pylist() for name in ('id', 'region', 'amount', 'note')))",
               "pyarrow.dataset"),
    partitions("Partitions in Polars", "sales.select('id', 'region', 'amount', 'note').rows()", "polars", "pyarrow.dataset"),
    spark_partitions, warehouse("Snowflake", 1, "snow"), warehouse("Redshift", 8, "psql", "aws"),
    warehouse("BigQuery", 1, "gcloud", "bq"), scheduled("Airflow", "airflow.sdk", AIRFLOW),
    scheduled("Prefect", "prefect", PREFECT), dbt,
    # batch.md
    gnu_parallel, xargs, make, slurm, ranges_by_parallel, ranges_by_slurm,
    # json_lines.md
    openai_batches, anthropic_batches, hugging_face_shards,
    # verify.md
    manifest_check,
    # vendor.md
    vendor, duckdb_redacted,
    # repair.md
    duckdb_rejects,
]


# Programs and modules without which a recipe fails before it notices that its input is missing.
NEEDED = {"GNU parallel": ("parallel",), "make": ("make",), "Compressed pieces": ("zstd", "xz"),
          "Partitions in Spark": ("java",), "Ranges with GNU parallel": ("parallel",)}
MODULES = {"pandas": ("pandas", "cleave"), "pyarrow": ("pyarrow", "cleave"), "Partitions in DuckDB": ("duckdb",),
           "Partitions in pyarrow": ("pyarrow",), "Partitions in Polars": ("polars", "pyarrow"),
           "Partitions in Spark": ("pyspark",), "Airflow": ("cleave",), "Prefect": ("cleave",), "dbt": ("dbt.adapters.duckdb",),
           "Set bad records aside": ("duckdb",)}
WITHOUT_INPUT = ("Training, validation and test data",)   # its recipe computes a part from a value
RESULT = re.compile(r"(big\..*\.(zst|xz|csv|count)|big\.db|bad\.jsonl|part\.\d+(\.gz)?|piece\..*|result\..*gz|direct\..*gz|total|pieces.*|plan\.json|redacted.*|refunds\.redacted.*|vendor|report\.json"
                    r"|sales|regions|openai|data|snowflake|redshift|bigquery|stored)$")


def expect_failure(at, command):
    done = finish(at.start(command, SLURM_ARRAY_TASK_ID="1", SLURM_ARRAY_TASK_COUNT="16"), RUN_TIMEOUT_S)
    need(done.code != 0, "exit 0 without an input: %s" % " ".join(command)[:120])
    left = [name for name in os.listdir(at.directory) if RESULT.match(name)]
    need(not left, "left without an input: %s" % left)


def missing_input(bench):
    """Without its input, every recipe fails and leaves no result"""
    judged = []
    for heading in sections():
        if heading in WITHOUT_INPUT:
            continue
        try:
            for program in NEEDED.get(heading, ()):
                bench.need_tool(program)
            for name in MODULES.get(heading, ()):
                common.module(name)
        except (common.harness.Skip, common.harness.Inconclusive) as reason:
            bench.note("%s: not judged: %s" % (heading, reason))
            continue
        with kitchen(bench, heading) as at:
            os.unlink(at.path("big.csv"))
            os.unlink(at.path("sales.csv"))
            os.unlink(at.path("requests.jsonl"))
            at.write_blocks()
            scripts = [["bash", name] for _, name, _ in at.blocks if name.endswith(".sh")]
            for command in scripts + at.commands():
                expect_failure(at, command)
            judged.append(heading)
    need(len(judged) >= 5, "only these were judged: %s" % judged)


def every_recipe(_):
    """Every recipe has a check, every check a recipe, and every block is run"""
    headings, names = list(sections()), [check.__doc__ for check in CHECKS]
    need(headings == names, "the guide has %s, the checks are of %s" % (headings, names))
    for page in PAGES:
        intro, by_heading = parts(page)
        blocks = [block for text in (intro, *by_heading.values()) for block in BLOCK.findall(text)]
        fences = (intro + "".join(by_heading.values())).count("\n```")
        need(fences == 2 * len(blocks), "%s: %d fences, but %d blocks" % (page, fences, len(blocks)))
        for language, name, _ in blocks:
            need(name or language in (*RUN_BY, "console", "text"), "%s: nothing runs a block of %s" % (page, language))
        lines = {line for text in by_heading.values() for _, _, block in recipe_blocks(text)
                                                    for line in block.splitlines()}
        for _, _, text in recipe_blocks(intro):
            need(lines.issuperset(text.splitlines()), "%s: the first block repeats no recipe:\n%s" % (page, text))


if __name__ == "__main__":
    sys.exit(common.harness.main(__doc__, [every_recipe, missing_input, *CHECKS]))
