#!/usr/bin/env python3
"""The recipes of doc/recipes.md, run as they stand there.

  recipes_test.py --cleave PATH [--only SUBSTRING]

Each section of the document has a check of the same name here. A block of code is run by what its first word says, in a
directory with a big.csv and a sales.csv; one that has a second word is written to a file of that name first, for the others to use.
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

DOCUMENT = os.path.join(common.HERE, "..", "..", "..", "doc", "recipes.md")
ROWS = 20000
HEADER = b"id,amount,note\n"
RUN_TIMEOUT_S = 120
# Hard to name, and hard to read back.
REGIONS = ["north", "North", "South Side", "a/b", "\u00cele-de-France", "\u6771\u4eac", "", "50%", "x=y", "007", "..", "a,b",
           "1+1", "__EMPTY__", '27"', " "]
LARGE = 64 << 20   # enough to be killed in the middle


def sections():
    """{heading: [(language, name of a file or "", text)]}"""
    with open(DOCUMENT, encoding="utf-8") as file:
        parts = re.split(r"^## (.+)\n", file.read(), flags=re.MULTILINE)[1:]
    block = re.compile(r"^```(\w+) ?(\S*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
    return {heading: block.findall(text) for heading, text in zip(parts[::2], parts[1::2])}


def make_records(count):
    """Rows with unique ids; every third has a line feed, a delimiter or a quote in its note."""
    notes = ['plain', '"two\nlines, and a comma"', 'long ' * 8, '"he said ""now""\n"', '', '"\r\n,"']
    return [("%d,%d,%s\n" % (i, i * 7919 % 10007, notes[i * 31 % len(notes)])).encode() for i in range(1, count + 1)]


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
        """Its output, a list of words a line."""
        done = finish(self.start(command, **more), RUN_TIMEOUT_S)
        need(done.code == 0, "%s: %s" % (" ".join(command)[:80], done))
        return [line.split() for line in done.stdout.decode().splitlines()]

    def cook(self):
        """Writes the blocks that have a name, runs the others in order; the outputs, a list of words a line."""
        for _, name, text in self.blocks:
            if name:
                write(self.path(name), text.encode())
        return [self.run(command) for command in self.commands()]

    def commands(self):
        how = {"sh": ["bash", "-c"], "python": ["python3", "-c"]}
        return [how[language] + [text] for language, name, text in self.blocks if not name]

    def pieces(self, number):
        """The bodies that `split -n` makes."""
        plan = self.bench.run(["offsets", "-n", str(number), self.path("big.csv")])
        rows = [[int(word) for word in line.split()] for line in plan.stdout.splitlines()]
        need(len(rows) == number, "%d pieces" % len(rows))
        return [self.data[start:start + length] for _, start, length, _, _ in rows]

    def expect_bytes(self, names, header, unpack=read):
        """The files of these names have the header and the pieces, byte for byte."""
        pieces = self.pieces(len(names))
        need(header + b"".join(pieces) == (self.data if header else self.data[len(HEADER):]), "the pieces are not all")
        for name, piece in zip(names, pieces):
            need(unpack(self.path(name)) == header + piece, "%s has other bytes" % name)

    def expect_sums(self, words):
        need(words == [str(ROWS), str(ROWS), str(self.amount)], "rows, distinct rows and their sum are %s" % words)

    def expect_parts(self, lines, number):
        """`number` lines, each with a number of rows and their sum."""
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
    """dd"""
    with kitchen(bench, "dd") as at:
        at.cook()
        at.expect_bytes(["part.%d" % k for k in range(1, 5)], b"")


def tail_and_head(bench):
    """tail and head"""
    with kitchen(bench, "tail and head") as at:
        at.cook()
        at.expect_bytes(["part.%d" % k for k in range(1, 5)], b"")


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
    """A check of a section with one block, which prints rows, distinct rows and their sum."""
    def check(bench):
        for name in modules:
            common.module(name)
        with kitchen(bench, heading) as at:
            (lines,) = at.cook()
            at.expect_sums(lines[0])
            need(lines[1:] == list(partitions), "it says %s" % lines[1:])
    return common.named(check, heading)


def pyspark(bench):
    """PySpark"""
    common.module("pyspark")
    bench.need_tool("java")
    python_recipe("PySpark", "pyspark", partitions=[["8"]])(bench)


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


def postgresql(bench):
    """PostgreSQL"""
    with postgres.server() as server:
        directory = os.path.join(server, "kitchen")
        os.mkdir(directory)
        at = Kitchen(bench, "PostgreSQL", directory)
        at.environment.update(postgres.client_environment(server), PATH=at.environment["PATH"], PSQLRC="/dev/null")
        at.cook()
        session = postgres.Session(server)
        (found,) = session.ask("SELECT count(*), count(DISTINCT id), sum(amount) FROM big")
        at.expect_sums(found.decode().split("|"))
        notes = session.ask("COPY (SELECT id, amount, note FROM big ORDER BY id) TO STDOUT (FORMAT csv)")
        wanted = session.ask("CREATE TEMP TABLE whole (LIKE big); COPY whole FROM '%s' (FORMAT csv, HEADER); "
                             "COPY (SELECT id, amount, note FROM whole ORDER BY id) TO STDOUT (FORMAT csv)"
                             % at.path("big.csv"))
        session.close()
        need(len(wanted) > ROWS and notes == wanted, "the rows are others than those of the whole file")


def make(bench):
    """make"""
    bench.need_tool("make")
    with kitchen(bench, "make") as at:
        at.cook()
        need(read(at.path("total")) == b"%d\n" % ROWS, "the total is %r" % read(at.path("total")))
        at.run(["make", "--question"])   # fails if anything is left to make
        at.data = HEADER + b"".join(at.records[:5000])
        write(at.path("big.csv"), at.data)
        later = time.time() + 2
        os.utime(at.path("big.csv"), (later, later))
        time.sleep(max(0.0, later - time.time()) + 0.1)
        at.cook()
        need(read(at.path("total")) == b"5000\n", "the total of the new file is %r" % read(at.path("total")))
        at.run(["make", "--question"])


def killed_midway(at):
    """Whether the first step, killed as soon as it has made a piece, has left some and no manifest."""
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
    """Ranges, by GNU parallel"""
    bench.need_tool("parallel")
    with kitchen(bench, "Ranges, by GNU parallel") as at:
        at.cook()
        at.expect_bytes(["piece.%d.csv" % k for k in range(1, 9)], HEADER)
        # The same with a summary that is not whole, and with a file that changes behind the plan.
        for spoil, code in ((lambda: write(at.path("range.3.json"), read(at.path("range.3.json"))[:-9]), 3),
                            (lambda: os.unlink(at.path("range.3.json")), 3)):
            spoil()
            done = finish(at.start(["bash", "-c", "cleave plan -n 8 range.[0-7].json"]), RUN_TIMEOUT_S)
            need(done.code == code and not done.stdout, "a plan was made: %s" % done)
        write(at.path("big.csv"), at.data)
        done = finish(at.start(["cleave", "cat", "--plan", "plan.json", "-n", "3", "big.csv"]), RUN_TIMEOUT_S)
        need(done.code == 4 and not done.stdout, "a piece of another version was read: %s" % done)


# Runs the tasks of a job at once, if it may: those before it have succeeded.
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
    """Ranges, by a Slurm array"""
    with kitchen(bench, "Ranges, by a Slurm array") as at:
        program = write(at.path("bin/sbatch"), SBATCH.encode())
        os.chmod(program, 0o755)
        at.cook()
        at.expect_bytes(["result.%d.gz" % k for k in range(1, 17)], HEADER, unzip)


def ranges_by_ray(bench):
    """Ranges, by Ray"""
    common.module("ray")
    with kitchen(bench, "Ranges, by Ray") as at:
        (lines,) = at.cook()
        at.expect_parts(lines, 8)


def token_of(key, value, context):
    """What hmac(KEY, context=CONTEXT) writes."""
    own = hmac.digest(key, b"\xffcleave context 1" + context, "sha256")
    return base64.urlsafe_b64encode(hmac.digest(own, value, "sha256")[:16]).rstrip(b"=")


def postgresql_redacted(bench):
    """PostgreSQL, redacted"""
    with postgres.server() as server:
        directory = os.path.join(server, "kitchen")
        os.mkdir(directory)
        at = Kitchen(bench, "PostgreSQL, redacted", directory)
        at.environment.update(postgres.client_environment(server), PATH=at.environment["PATH"], PSQLRC="/dev/null")
        at.cook()
        session = postgres.Session(server)
        (found,) = session.ask("SELECT count(*), count(DISTINCT id), sum(amount), count(note) FROM redacted")
        ids = session.ask("SELECT id FROM redacted ORDER BY id")
        session.close()
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
    """A check of a section that writes folders and reads them back; `rows` are the rows of its `sales`, in Python."""
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
            # Readers take an empty field for null, of a text and of a folder.
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
    with postgres.server() as server:
        directory = os.path.join(server, "kitchen")
        os.mkdir(directory)
        at = Kitchen(bench, "PostgreSQL, partitions by value", directory)
        at.environment.update(postgres.client_environment(server), PATH=at.environment["PATH"], PSQLRC="/dev/null")
        at.cook()
        session = postgres.Session(server)
        parts = session.ask("SELECT relname FROM pg_class JOIN pg_inherits ON pg_class.oid = inhrelid "
                            "WHERE inhparent = 'sales'::regclass")
        found = session.ask("COPY (SELECT id, region, amount, note FROM sales ORDER BY id) TO STDOUT (FORMAT csv)")
        wanted = session.ask("CREATE TEMP TABLE whole (LIKE sales); COPY whole FROM '%s' (FORMAT csv, HEADER); "
                             "COPY (SELECT id, region, amount, note FROM whole ORDER BY id) TO STDOUT (FORMAT csv)"
                             % at.path("sales.csv"))
        mixed = session.ask("SELECT tableoid FROM sales GROUP BY tableoid HAVING count(DISTINCT coalesce(region, '')) > 1")
        session.close()
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
        # The word for the empty value looks like a value that is the same word, but for its first byte.
        wanted = sorted([region or "__EMPTY__", str(count)] for region, count in counts.items())
        need(sorted(line.split("\t") for line in done.stdout.decode().splitlines()) == wanted, "it says %s" % done)


CHECKS = [
    compressed_pieces, dd, tail_and_head, gnu_parallel, xargs, python_recipe("pandas", "pandas"),
    python_recipe("Polars", "polars"),
    python_recipe("pyarrow", "pyarrow"), duckdb, clickhouse, postgresql,
    python_recipe("Dask", "dask.dataframe", partitions=[["8"]]), pyspark, make, slurm,
    ranges_by_parallel, ranges_by_slurm, ranges_by_ray,
    postgresql_redacted, duckdb_redacted, vendor,
    partitions("Partitions in DuckDB", "sales.fetchall()", "duckdb"),
    partitions("Partitions in pyarrow", "zip(*(sales[name].to_pylist() for name in ('id', 'region', 'amount', 'note')))",
               "pyarrow.dataset"),
    partitions("Partitions in Polars", "sales.select('id', 'region', 'amount', 'note').rows()", "polars", "pyarrow.dataset"),
    spark_partitions, postgresql_partitions, loop,
]


# Programs and modules that a recipe's program must find before it can miss its input.
NEEDED = {"GNU parallel": ("parallel",), "make": ("make",), "Compressed pieces": ("zstd", "xz"), "PySpark": ("java",),
          "Partitions in Spark": ("java",), "Ranges, by GNU parallel": ("parallel",)}
MODULES = {"pandas": ("pandas",), "Polars": ("polars",), "pyarrow": ("pyarrow",), "PySpark": ("pyspark",),
           "Dask": ("dask.dataframe", "pandas"), "Partitions in DuckDB": ("duckdb",),
           "Partitions in pyarrow": ("pyarrow",), "Partitions in Polars": ("polars", "pyarrow"),
           "Partitions in Spark": ("pyspark",), "Ranges, by Ray": ("ray",)}
RESULT = re.compile(r"(big\..*\.(zst|xz|csv|count)|part\.\d+(\.gz)?|piece\..*|result\..*gz|direct\..*gz|total|pieces.*|plan\.json|redacted.*|refunds\.redacted.*|vendor|report\.json"
                    r"|sales|regions)$")


def expect_failure(at, command):
    done = finish(at.start(command, SLURM_ARRAY_TASK_ID="1", SLURM_ARRAY_TASK_COUNT="16"), RUN_TIMEOUT_S)
    need(done.code != 0, "exit 0 without an input: %s" % " ".join(command)[:120])
    left = [name for name in os.listdir(at.directory) if RESULT.match(name)]
    need(not left, "left without an input: %s" % left)


def missing_input(bench):
    """Without its input every recipe fails and leaves no result"""
    judged = []
    for heading in sections():
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
            for _, name, text in at.blocks:
                if name:
                    write(at.path(name), text.encode())
            scripts = [["bash", name] for _, name, _ in at.blocks if name.endswith(".sh")]
            for command in scripts + at.commands():
                expect_failure(at, command)
            judged.append(heading)
    need(len(judged) >= 5, "only these were judged: %s" % judged)


def every_recipe(_):
    """Every recipe has a check, every check a recipe, and every block is run"""
    headings, names = list(sections()), [check.__doc__ for check in CHECKS]
    need(headings == names, "the document has %s, the checks are of %s" % (headings, names))
    fences = read(DOCUMENT).count(b"\n```")
    blocks = sum(len(found) for found in sections().values())
    need(fences == 2 * blocks, "%d fences, but %d blocks" % (fences, blocks))
    for heading, found in sections().items():
        need(found, "%s has no block" % heading)


if __name__ == "__main__":
    sys.exit(common.harness.main(__doc__, [every_recipe, missing_input, *CHECKS]))
