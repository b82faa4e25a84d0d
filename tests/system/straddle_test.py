#!/usr/bin/env python3
"""Every verb reads a 40 MiB file whose records cross the boundaries of every block, buffer and window.

  straddle_test.py --cleave PROGRAM [--only SUBSTRING]

The records are between a few bytes and 3 MB long. Most of their bytes are random, so any part that is lost, written
twice or taken from elsewhere is noticed. The expected result of each run follows from how the records were generated,
without any CSV reader. No constant in src/ that sizes a buffer is larger than the file; LARGER has the exceptions.
"""
import argparse
import base64
import collections
import contextlib
import functools
import gzip
import hashlib
import hmac
import json
import os
import random
import re
import struct
import subprocess
import sys
import tempfile
import threading
import zlib
from pathlib import Path

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "tools"))
from verdicts import Tally, need, need_tool  # noqa: E402

ROOT = Path(HERE).resolve().parents[1]
SIZE = 40 << 20
LONGEST = 3 << 20   # the size of the longest record
HEADER = b"id,key,text\n"
KEYS = [b"amber", b"birch", b"cedar", b"delta", b"ember", b"flint", b"grove"]
SECRET = hashlib.sha256(b"straddle").digest()
PRINTABLE = bytes(ord("a") + byte % 26 for byte in range(256))
Record = collections.namedtuple("Record", "key text line")   # the value of the field, and the bytes of the record


def make_records():
    """Returns runs of records with the same key. With these lengths all boundaries fall within records, most of them
    within quotes."""
    chance = random.Random(7)
    records, total, key = [], len(HEADER), 0
    while total < SIZE:
        if chance.random() < 0.3:
            key = (key + 1 + chance.randrange(len(KEYS) - 1)) % len(KEYS)
        longest = chance.choice([100] * 20 + [5000] * 10 + [70_000] * 4 + [600_000, LONGEST])
        text = chance.randbytes(chance.randrange(longest)).translate(PRINTABLE)
        if len(text) > 10:
            at = len(text) // 2
            text = text[:at] + chance.choice([b'"', b"\n", b",", b'"\n', b'\n"x",\n']) + text[at:]
        quoted = b'"' + text.replace(b'"', b'""') + b'"'
        line = b"%d,%s,%s\n" % (len(records) + 1, KEYS[key], quoted)
        records.append(Record(KEYS[key], text, line))
        total += len(line)
    return records


def groups_of_size(sizes, limit):
    """(first, last + 1) of each group: as many as fit into `limit`, and at least one."""
    found, first, size = [], 0, 0
    for at, each in enumerate(sizes):
        if size + each > limit and at > first:
            found.append((first, at))
            first, size = at, 0
        size += each
    return found + [(first, len(sizes))]


def read(path):
    with open(path, "rb") as file:
        return file.read()


@contextlib.contextmanager
def feeding(data):
    """The read end of a pipe into which a thread writes the data. subprocess.run() would write 4 KiB at a time."""
    def fill():
        with contextlib.suppress(BrokenPipeError), open(writer, "wb") as pipe:
            pipe.write(data)

    reader, writer = os.pipe()
    feeder = threading.Thread(target=fill)
    feeder.start()
    try:
        yield reader
    finally:
        os.close(reader)
        feeder.join()


@functools.cache
def deflated(text):
    """Blocks of deflate, without the last one, that need nothing before them."""
    packer = zlib.compressobj(6, zlib.DEFLATED, -15)
    return packer.compress(text) + packer.flush(zlib.Z_FULL_FLUSH)


def member(*texts):
    """A gzip member of the texts, each of which is deflated by itself."""
    text = b"".join(texts)
    return b"".join([b"\x1f\x8b\x08\0\0\0\0\0\0\xff", *map(deflated, texts), b"\x03\0",
                     struct.pack("<2I", zlib.crc32(text), len(text))])


class Bench:
    def __init__(self, program, folder):
        self.program = os.path.abspath(program)
        self.folder = folder
        self.records = make_records()
        self.lines = [record.line for record in self.records]
        self.bytes = HEADER + b"".join(self.lines)
        with open(self.at("in.csv"), "wb") as file:
            file.write(self.bytes)
        with open(self.at("key"), "wb") as file:
            file.write(SECRET)
        os.chmod(self.at("key"), 0o600)
        self.starts = [len(HEADER)]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line))

    def at(self, name):
        return os.path.join(self.folder, name)

    def run(self, *words, code=0, data=None, says=""):
        with contextlib.nullcontext(subprocess.DEVNULL) if data is None else feeding(data) as stdin:
            done = subprocess.run([self.program, *words], cwd=self.folder, stdin=stdin, capture_output=True,
                                  timeout=120, check=False)
        errors = done.stderr.decode(errors="replace")
        need(done.returncode == code and says in errors,
             "%s: exit %d, not %d: %s" % (" ".join(words), done.returncode, code, errors[-500:]))
        return done.stdout

    def piece(self, first, end):
        return HEADER + b"".join(self.lines[first:end])

    def by_number(self, number):
        """The cuts that -n makes: each at the first record that starts at or after its share of the body."""
        body = self.starts[-1] - self.starts[0]
        cuts, at = [], 0
        for k in range(number):
            while self.starts[at] < self.starts[0] + body * k // number:
                at += 1
            cuts.append(at)
        return list(zip(cuts, [*cuts[1:], len(self.lines)]))

    def expect_split(self, wanted, *words, data=None, decode=lambda data: data):
        """Runs a split into a new folder and compares the pieces, given as ranges (first, end) of records."""
        with tempfile.TemporaryDirectory(dir=self.folder) as out:
            source = "in.csv" if data is None else "-"
            self.run("split", *words, "-o", os.path.join(out, "{i:04}"), source, data=data)
            names = sorted(os.listdir(out))
            need(len(names) == len(wanted), "%s: %d pieces, not %d" % (words, len(names), len(wanted)))
            for name, (first, end) in zip(names, wanted):
                got = decode(read(os.path.join(out, name)))
                need(got == self.piece(first, end), "%s: %s differs" % (words, name))


def by_number(bench):
    bench.expect_split(bench.by_number(5), "-n", "5")
    bench.expect_split(bench.by_number(5), "-n", "5", "-j", "1")
    spooled = ["--spool", "plain", "-d", ",", "--redact-default", "keep"]
    bench.expect_split(bench.by_number(5), "-n", "5", *spooled, data=bench.bytes)


def by_size(bench):
    sizes = [len(line) for line in bench.lines]
    for limit in (3 << 20, 9 << 20):
        wanted = groups_of_size(sizes, limit - len(HEADER))
        bench.expect_split(wanted, "-C", str(limit))
        bench.expect_split(wanted, "-C", str(limit), data=bench.bytes)
        bench.expect_split(wanted, "-C", str(limit), "-j", "1", "--block-size", "16M")


def by_count(bench):
    wanted = [(at, min(at + 300, len(bench.lines))) for at in range(0, len(bench.lines), 300)]
    bench.expect_split(wanted, "-l", "300")
    bench.expect_split(wanted, "-l", "300", data=bench.bytes)


def compressed(bench):
    bench.expect_split(bench.by_number(3), "-n", "3", "--compress", "gzip:1", decode=gzip.decompress)
    zstd = [need_tool("zstd"), "-dcq"]

    def decode(data):
        return subprocess.run(zstd, input=data, capture_output=True, timeout=120, check=True).stdout

    bench.expect_split(bench.by_number(3), "-n", "3", "--compress", "zstd:1", decode=decode)
    wanted = groups_of_size([len(line) for line in bench.lines], (9 << 20) - len(HEADER))
    bench.expect_split(wanted, "-C", "9M", "--compress", "zstd:1", data=bench.bytes, decode=decode)


def filtered(bench):
    bench.expect_split(bench.by_number(3), "-n", "3", "--filter", "cat >$FILE")


def bgzf(data):
    """gzip members with their size in the extra field, which several threads can decode."""
    members = []
    for at in range(0, len(data), 65280):
        part = data[at:at + 65280]
        packer = zlib.compressobj(0, zlib.DEFLATED, -15)
        body = packer.compress(part) + packer.flush()
        members.append(struct.pack("<4BI2BH2B2H", 31, 139, 8, 4, 0, 0, 255, 6, 66, 67, 2, len(body) + 25) + body +
                       struct.pack("<2I", zlib.crc32(part), len(part)))
    return b"".join(members)


def decompressed(bench):
    zstd, step = [need_tool("zstd"), "-1cq"], 7 << 20
    frames = [subprocess.run(zstd, input=bench.bytes[at:at + step], capture_output=True, timeout=120, check=True).stdout
              for at in range(0, len(bench.bytes), step)]
    sizes = [len(line) for line in bench.lines]
    wanted = groups_of_size(sizes, (9 << 20) - len(HEADER))
    for data in (member(bench.bytes), bgzf(bench.bytes), b"".join(frames)):
        bench.expect_split(wanted, "-C", "9M", data=data)
        need(bench.run("cat", "-H", "-", data=data) == bench.bytes, "cat prints other bytes")


def by_chunks_of_gzip(bench):
    """Files that several threads decode: of usual blocks; a part that shrinks to a thousandth, so that a chunk would be
    too long; one that does not shrink, in stored blocks; and many members."""
    run = b"1," + b"x" * (40 << 20) + b"\n"
    noise = b"".join(SECRET + hashlib.sha256(b"%d" % i).digest() for i in range(200000)).replace(b"\n", b"_")
    noise = noise.replace(b"\r", b"_").replace(b'"', b"_") + b"\n"
    some = HEADER + b"".join(bench.lines[:200])
    members = b"".join(gzip.compress(line, 1) for line in bench.lines[:3000])
    for name, text, data in (
            ("usual", bench.bytes, member(bench.bytes)),
            ("long", some + run + some, member(some, run, some)),
            ("noise", noise + bench.bytes, member(noise) + gzip.compress(bench.bytes, 0)),
            ("members", HEADER + b"".join(bench.lines[:3000]), gzip.compress(HEADER) + members)):
        with open(bench.at(name + ".csv.gz"), "wb") as file:
            file.write(data)
        for threads in ("1", "5"):
            got = bench.run("cat", "-H", "-d", ",", "-j", threads, name + ".csv.gz")
            need(got == text, f"{name}, {threads} threads: cat prints other bytes")


def printed(bench):
    need(bench.run("cat", "--header", "first", "in.csv") == bench.bytes, "cat: other bytes of a file")
    need(bench.run("cat", "--header", "first", "-", data=bench.bytes) == bench.bytes, "cat: other bytes of a pipe")
    for first, end in ((1, 2), (2, len(bench.lines) - 1)):
        wanted = b"".join(bench.lines[first:end])
        for words, data in (["in.csv"], None), (["-"], bench.bytes):
            got = bench.run("cat", "--header", "drop", "-r", "%d-%d" % (first + 1, end), *words, data=data)
            need(got == wanted, "cat -r: other bytes, %s" % words)


def offsets(bench):
    wanted = [b"%d\t%d\t%d\t%d\t1" % (i + 1, start, len(line), i + 1)
              for i, (start, line) in enumerate(zip(bench.starts, bench.lines))]
    for words, data in (["in.csv"], None), (["-"], bench.bytes):
        need(bench.run("offsets", "-l", "1", *words, data=data).splitlines() == wanted, "other offsets: %s" % words)
        need(bench.run("count", *words, data=data) == b"%d\n" % len(bench.lines), "another count: %s" % words)


def checked(bench):
    """Checked in one chunk per thread or in 4,096 chunks, with one thread or several."""
    words = ["check", "--json", "-d", ",", "in.csv"]
    wanted = json.loads(bench.run(*words))
    need(wanted["records"] == len(bench.lines) and wanted["sound"], "the report says %s" % wanted)
    longest = max(range(len(bench.lines)), key=lambda at: len(bench.lines[at]))
    need(wanted["longest_record"] == {"byte": bench.starts[longest], "record": longest + 1,
                                      "size": len(bench.lines[longest])}, "another record is the longest: %s" % wanted)
    for size in ("64", "9999", "16M"):
        got = json.loads(bench.run(*words, "--block-size", size))
        need(got == wanted, "blocks of %s bytes change the report" % size)


def indexed(bench):
    """Each entry is the first boundary of its MiB, and commands that use the index give the same results as without."""
    bench.run("index", "in.csv")
    wanted, record, starts = [], 0, [0, *bench.starts]   # the header is record 0
    for at in range(0, len(bench.bytes), 1 << 20):
        while starts[record] < at:
            record += 1
        wanted.append((starts[record], record))
    entries = list(struct.iter_unpack("<2Q", read(bench.at("in.csv.cleave"))[128:-16]))
    need(entries == wanted, "other entries")
    for words in (["-n", "5"], ["-C", "3M"], ["-l", "7"]):
        need(bench.run("offsets", *words, "--index", "require", "in.csv") ==
             bench.run("offsets", *words, "--index", "never", "in.csv"), "%s: other offsets with an index" % words)
    for number in (1, len(bench.lines) // 2, len(bench.lines)):
        got = bench.run("cat", "--header", "drop", "-r", "%d-%d" % (number, number), "--index", "require", "in.csv")
        need(got == bench.lines[number - 1], "record %d differs" % number)
    os.remove(bench.at("in.csv.cleave"))


def by_ranges(bench):
    bounds = [0, 100, 70_000, 35 << 20, (35 << 20) + 1, len(bench.bytes)]
    dialect = ["-d", ",", "--terminator", "lf"]
    files, streams = [], []
    for begin, end in zip(bounds, bounds[1:]):
        words = ["-r", "%d-%d" % (begin, end), *dialect, "--input-version", "one"]
        files.append(bench.run("scan", *words, "in.csv"))
        whole = ["--input-size", str(len(bench.bytes))]
        streams.append(bench.run("scan", *words, *whole, "-", data=bench.bytes[begin:end]))
    need(files == streams, "a pipe has other summaries")
    with open(bench.at("plan.json"), "wb") as file:
        file.write(bench.run("plan", "-n", "5", data=b"".join(files)))
    for number, (first, end) in enumerate(bench.by_number(5), 1):
        got = bench.run("cat", "--plan", "plan.json", "-n", str(number), "--input-version", "one", "in.csv")
        need(got == bench.piece(first, end), "piece %d of the plan differs" % number)


def many_ranges(bench):
    """More summaries than `cleave plan` reads at a time. For a regular file they differ only in their range."""
    record, size, count = b"abcdefg\n", 64, 4000
    with open(bench.at("regular.csv"), "wb") as file:
        file.write(record * (size * count // len(record)))
    words = ["-d", ",", "--terminator", "lf", "--input-version", "v" * 100, "regular.csv"]
    first = bench.run("scan", "-r", "0-64", *words)
    second = bench.run("scan", "-r", "64-128", *words)
    summaries = first + b"".join(second.replace(b"[64,128]", b"[%d,%d]" % (at, at + size))
                                 for at in range(size, size * count, size))
    need(len(summaries) > 1 << 20, "there are too few summaries")
    with open(bench.at("summaries"), "wb") as file:
        file.write(summaries)
    for words, data in (["summaries"], None), (["-"], summaries):
        with open(bench.at("plan.json"), "wb") as file:
            file.write(bench.run("plan", "-n", "7", *words, data=data))
        got = bench.run("offsets", "--plan", "plan.json", "--input-version", "v" * 100, "regular.csv")
        need(got == bench.run("offsets", "-n", "7", "regular.csv"), "the summaries give other pieces: %s" % words)
    bench.run("plan", "-n", "5", data=first.rstrip(b"\n") + b" " * 70_000, code=3, says="a line is too long")


def redacted(bench):
    def token(text):
        mac = hmac.new(SECRET, text, hashlib.sha256).digest()[:16]
        return base64.urlsafe_b64encode(mac).rstrip(b"=")

    lines = [b'"%s",%d,%s\n' % (token(record.text) if record.text else b"", i, record.key)
             for i, record in enumerate(bench.records, 1)]
    rules = ["-d", ",", "--select", "text,id,key", "--redact", "text: hmac(k)", "--redact", "id,key: keep", "--key",
             "k=file:key"]
    for words, data in (["in.csv"], None), (["-"], bench.bytes):
        got = bench.run("cat", "--header", "drop", *rules, *words, data=data)
        need(got.splitlines() == b"".join(lines).splitlines(), "other records: %s" % words)
    lines = [b"%s,%s\n" % (record.line.split(b",", 2)[2][:-1], record.key) for record in bench.records]
    for words, data in (["in.csv"], None), (["-"], bench.bytes):
        got = bench.run("cat", "--header", "drop", "-d", ",", "--select", "text,key", *words, data=data)
        need(got == b"".join(lines), "other columns: %s" % words)


def long_rules(bench):
    """A file of rules of the maximum length, and one that is too long."""
    data, rules = HEADER + b"1,a,x\n", b"text: null\nid, key: keep\n"
    for size in (16 << 20, (16 << 20) + 1):
        with open(bench.at("rules"), "wb") as file:
            file.write(b"# " + b"x" * (size - len(rules) - 3) + b"\n" + rules)
        words = ["cat", "--header", "drop", "-d", ",", "--rules", "rules", "-"]
        if size == 16 << 20:
            need(bench.run(*words, data=data) == b"1,a,\n", "the rules behind 16 MiB do something else")
        else:
            bench.run(*words, data=data, code=2, says="too long for a rules file")


def memory(bench):
    """A long record takes its size three times, and many rules little."""
    script = ("import resource, subprocess, sys; subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True); "
              "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss << 10)")

    def expect(most, name, data, *words):
        with open(bench.at(name), "wb") as file:
            file.write(data)
        words = [sys.executable, "-c", script, bench.program, "cat", "-q", "--header", "repeat", *words, bench.at(name)]
        peak = int(subprocess.run(words, cwd=bench.folder, capture_output=True, timeout=120, check=True).stdout)
        need(peak < most, "%s: %d bytes, not less than %d" % (name, peak, most))

    size = 80 << 20
    expect(3 * size, "long.csv", b"id,text\n1," + b"x" * size + b"\n", "--max-record", "1G", "--redact", "text: mask")
    names = [b"c%d" % i for i in range(50_000)]
    with open(bench.at("rules"), "wb") as file:
        file.write(b"".join(b"%s: mask\n" % name for name in names))
    expect(120 << 20, "wide.csv", b",".join(names) + b"\n" + b",".join(names) + b"\n", "--rules", "rules")
    os.remove(bench.at("long.csv"))


def long_lists(bench):
    """A list of the maximum length, for pick, and one that is too long."""
    words = ["cat", "-q", "--header", "drop", "--key", "k=file:key", "--redact", "text: pick(k, list)", "-"]
    with open(bench.at("key"), "wb", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
        file.write(bytes(range(32)))
    for size in (64 << 20, (64 << 20) + 1):
        with open(bench.at("list"), "wb") as file:
            file.write(b"\n" * (size - 4) + b"last")
        if size == 64 << 20:
            need(bench.run(*words, data=HEADER + b"1,a,x\n") == b"1,a,last\n", "the end of the list is not read")
        else:
            bench.run(*words, data=HEADER + b"1,a,x\n", code=2, says="too long for a file that a rule names")


def by_value(bench):
    """Split by value, also with rules that change nothing, and with a column dropped."""
    every_way = (["in.csv"], None), (["-j", "1", "in.csv"], None), (["-"], bench.bytes), \
                (["--filter", "cat >$FILE", "in.csv"], None)
    two_ways = (["in.csv"], None), (["-j", "1", "-"], bench.bytes)
    whole, short = lambda record: record.line, lambda record: record.line.replace(record.key + b",", b"", 1)
    for options, ways, header, line_of in (
            ([], every_way, HEADER, whole),
            (["--redact", "*: keep"], two_ways, HEADER, whole),
            (["--redact", "*: keep", "--drop-by"], every_way, HEADER.replace(b"key,", b""), short)):
        wanted = collections.defaultdict(list)
        for record in bench.records:
            wanted[record.key.decode()].append(line_of(record))
        for words, data in ways:
            with tempfile.TemporaryDirectory(dir=bench.folder) as out:
                bench.run("split", "--by", "key", *options, "-o", os.path.join(out, "{value}"), *words, data=data)
                need(sorted(os.listdir(out)) == sorted(wanted), "other values: %s" % os.listdir(out))
                for key, lines in wanted.items():
                    need(read(os.path.join(out, key)) == header + b"".join(lines),
                         "%s %s: %s differs" % (options, words, key))


def parts(bench):
    """Split into parts, by value and by number: each record is in one part, in order, and so are all records of a key."""
    for options in (["--by", "key"], []):
        for words, data in ((["in.csv"], None), (["-j", "1", "-"], bench.bytes), (["--redact", "*: keep", "in.csv"], None)):
            with tempfile.TemporaryDirectory(dir=bench.folder) as out:
                bench.run("split", "--parts", "a=5,b=3,c=1", *options, "-o", os.path.join(out, "{value}"), *words, data=data)
                pieces = [read(os.path.join(out, part)) for part in "abc"]
            need(all(piece.startswith(HEADER) for piece in pieces), "a part has no header")
            ends, part_of = [len(HEADER)] * 3, {}
            for record in bench.records:   # each begins with a number of its own
                found = [part for part in range(3) if pieces[part].startswith(record.line, ends[part])]
                need(len(found) == 1, "%s %s: a record is in %d parts" % (options, words, len(found)))
                ends[found[0]] += len(record.line)
                need(not options or part_of.setdefault(record.key, found[0]) == found[0], "a key is in two parts")
            need(ends == list(map(len, pieces)), "a part has more than the records")


def together(bench):
    runs = []   # (first, end) of the records with the same key
    for at, record in enumerate(bench.records):
        if not runs or record.key != bench.records[at - 1].key:
            runs.append([at, at])
        runs[-1][1] = at + 1
    sizes = [bench.starts[end] - bench.starts[first] for first, end in runs]
    need(max(sizes) < 9 << 20, "a run does not fit into a piece")
    wanted = [(runs[a][0], runs[b - 1][1]) for a, b in groups_of_size(sizes, (9 << 20) - len(HEADER))]
    bench.expect_split(wanted, "-C", "9M", "--together", "key", "-d", ",")
    bench.expect_split(wanted, "-C", "9M", "--together", "key", "-d", ",", "-j", "1")
    cuts = [0]   # made with -n: each at the first run that begins at or after the piece's share
    for k in range(1, 5):
        share = bench.starts[0] + (bench.starts[-1] - bench.starts[0]) * k // 5
        cuts.append(next(first for first, _ in runs if bench.starts[first] >= share))
    wanted = list(zip(cuts, [*cuts[1:], len(bench.lines)]))
    for threads in ("1", "4"):
        bench.expect_split(wanted, "-n", "5", "--together", "key", "-d", ",", "-j", threads)


def long_runs(bench):
    """The next value is some MiB away, after small records or after records larger than what is read at a time."""
    for size, count in ((100, 90_000), (100, 130_000), (300_000, 40), (300_000, 42), (300_000, 43)):
        data = HEADER + (b"1,a," + b"x" * size + b"\n") * count + (b"1,b," + b"x" * size + b"\n") * 5
        with open(bench.at("runs.csv"), "wb") as file:
            file.write(data)
        for threads in ("1", "4"):
            got = bench.run("offsets", "-n", "2", "--together", "key", "-d", ",", "-j", threads, "runs.csv")
            records = [line.split(b"\t")[4] for line in got.splitlines()]
            need(records == [b"%d" % count, b"5"], "records of %d bytes: another cut: %s" % (size, got))


def resumed(bench):
    """A piece that differs in one byte is not kept, wherever that byte is."""
    with open(bench.at("part.csv"), "wb") as file:
        file.write(bench.bytes[:next(start for start in bench.starts if start > 9 << 20)])
    for suffix, more in (("", []), ("", ["--checksum", "--manifest", "m"]), (".zst", ["--compress", "zstd:1"])):
        with tempfile.TemporaryDirectory(dir=bench.folder) as out:
            words = ["split", "-n", "3", "-o", os.path.join(out, "{i}"), *more, "part.csv"]
            bench.run(*words, "-f")
            bench.run(*words, "--resume")
            bench.run(*words, "--resume", "--dry-run")
            piece = os.path.join(out, "2" + suffix)
            whole = read(piece)
            ends = [at + part for at in (0, len(HEADER)) for part in (64 << 10, 1 << 20)]   # of the parts compared
            for place in (0, *ends, *(end - 1 for end in ends), len(whole) - 1):
                with open(piece, "wb") as file:
                    file.write(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1:])
                bench.run(*words, "--resume", code=1, says="2" + suffix)
                bench.run(*words, "--resume", "--dry-run", code=1, says="2" + suffix)


def joined(bench):
    with tempfile.TemporaryDirectory(dir=bench.folder) as out:
        bench.run("split", "-n", "3", "-o", os.path.join(out, "{i}"), "in.csv")
        pieces = [os.path.join(out, str(i)) for i in (1, 2, 3)]
        need(bench.run("join", *pieces) == bench.bytes, "join prints other bytes")
        bench.run("join", "-o", os.path.join(out, "joined"), *pieces)
        need(read(os.path.join(out, "joined")) == bench.bytes, "join writes other bytes")


def faults(bench):
    """A fault after all records, with its byte, line and record; and one after nothing but line feeds."""
    for data in (bench.bytes, HEADER + b'1,a,"' + b"\n" * (3 << 20) + b'"\n'):
        records, place = (len(bench.lines) if data is bench.bytes else 1), "byte %d" % (len(data) + 2)
        line = data.count(b"\n") + 1
        data += b'x,"y\n'
        with open(bench.at("bad.csv"), "wb") as file:
            file.write(data)
        for words, piped in (["bad.csv"], None), (["-"], data):
            report = json.loads(bench.run("check", "--json", "-d", ",", *words, data=piped, code=3))
            need(report["records"] == records + 1, "another count: %s" % words)
            where = "(record %d)" % (records + 1) if piped else "(line %d, record %d)" % (line, records + 1)
            bench.run("count", "-d", ",", *words, data=piped, code=3, says="%s %s" % (place, where))


def long_header(bench):
    """A 300 KB header with line feeds in its names, and a header after 3 MiB of empty lines."""
    with open(bench.at("empty.csv"), "wb") as file:
        file.write(b"\n" * (3 << 20) + HEADER + b"1,a,x\n")
    need(bench.run("count", "empty.csv") == b"1\n", "the header behind empty lines is not found")
    with open(bench.at("empty.jsonl"), "wb") as file:
        file.write(b"\n" * (3 << 20) + b"a\x1fb\n" + b"c\n" * 9)
    report = json.loads(bench.run("check", "--json", "--dialect", "jsonl", "empty.jsonl", code=3))
    need(report["fields"] == 2 and report["ragged"]["count"] == 9, "the first record is another one: %s" % report)
    names = [b'"column\n%d"' % number for number in range(20_000)]
    header, line = b",".join(names) + b"\n", b",".join(b"%d" % number for number in range(20_000)) + b"\n"
    for data, records in ((header + line * 3, 3), (header + b"\n" + line * 3, 4)):
        need(bench.run("cat", "--header", "first", "-", "-d", ",", data=data) == data, "cat: other bytes")
        got = bench.run("cat", "--header", "first", "-", "-d", ",", "--select", "#20000,#2", data=data)
        wanted = names[19_999] + b"," + names[1] + b"\n" + b"\n" * (records - 3) + b"19999,1\n" * 3
        need(got == wanted, "other columns: %r" % got)
        need(bench.run("count", "-", "-d", ",", data=data) == b"%d\n" % records, "another count")


# The constants of SIZE bytes or more, by the test whose input is larger; "" if nothing has parts of that size.
LARGER = {
    "./dev prove beyond_4g": {"clone.cpp kCloneSize", "clone.cpp kReportedSize", "records_by_value.cpp kLargestWindow",
                              "split.cpp kWorthCloning", "fields.h kMaxRecordLimit"},
    "classes_test": {"class_counts.h kMostInMemory"}, "decoder_test": {"xz_decoder.cpp kMaxMemory"},
    "inputs": {"cat.cpp kMostWaiting", "joined_inputs.cpp kLargeInput"},
    "large": {"records_by_value.cpp kSmallestWindow"}, "read_ahead_test": {"page_cache_linux.cpp kWorthLooking"},
    "request_queue_test": {"request_queue.h kMostBytes"}, "signed_report": {"signed_report.h kMaxSignedReport"},
    "store_output_test": {"store_output.h kCopySize"}, "straddle, long_lists": {"rules_file.cpp kMaxSize"},
    "straddle, memory": {"batch_check.cpp kMostMapped"},
    "": {"copy_linux.cpp kCopySize", "pool_manager.h kDefaultRegionSize", "xz_decoder.cpp kMemoryOfThread"}}


def larger_constants(_):
    """A constant of SIZE bytes or more has a test with a larger input"""
    found = set()
    for path in [*(ROOT / "src").rglob("*.*"), *(ROOT / "include").rglob("*.h")]:
        for name, value, shift in re.findall(r"\bconstexpr [\w:]+ (k\w+) = [^;]*?(\d+)\}? << (20|24|30)\b",
                                             path.read_text(encoding="utf-8")):
            if int(value) << int(shift) >= SIZE:
                found.add("%s %s" % (path.name, name))
    wrong = sorted(found ^ set().union(*LARGER.values()))
    need(not wrong, "without a test, or not in the sources: %s" % ", ".join(wrong))


CHECKS = [larger_constants, by_number, by_size, by_count, compressed, filtered, decompressed, by_chunks_of_gzip,
          printed, offsets, checked, indexed, by_ranges, many_ranges, redacted, long_rules, memory, long_lists,
          by_value, parts, together, long_runs, resumed, joined, long_header, faults]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cleave", required=True, metavar="PROGRAM")
    parser.add_argument("--only", default="", metavar="SUBSTRING", help="of a check's name")
    arguments = parser.parse_args()
    tally = Tally()
    memory = "/dev/shm"
    with tempfile.TemporaryDirectory(prefix="straddle.", dir=memory if os.access(memory, os.W_OK) else None) as folder:
        bench = Bench(arguments.cleave, folder)
        for check in CHECKS:
            if arguments.only in check.__name__:
                tally.run(check.__name__, lambda check=check: check(bench))
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
