#!/usr/bin/env python3
"""Gzip files by every encoder that people use, read by cleave and by zlib.

  encoders_test.py --cleave PATH [--only SUBSTRING] [--seed N]

Encoders differ in what zlib itself never writes: other lengths of blocks and codes, codes with one symbol, matches that
zlib does not look for, many members.
"""
import os
import subprocess
import sys
import zlib

import common
from harness import make_input, need, write

# The program and its options, and the Debian package. Standard input becomes standard output.
ENCODERS = [
    (["gzip", "-1"], "gzip"), (["gzip", "-9"], "gzip"),
    (["pigz", "-1", "-b", "128", "-p", "4"], "pigz"), (["pigz", "-9", "-i", "-p", "4"], "pigz"),
    (["pigz", "-11", "-I", "1"], "pigz"), (["zopfli", "--i1", "-c", "@"], "zopfli"),
    (["igzip", "-0", "-c", "@"], "isal"), (["igzip", "-1", "-c", "@"], "isal"), (["igzip", "-3", "-c", "@"], "isal"),
    (["libdeflate-gzip", "-1"], "libdeflate-tools"), (["libdeflate-gzip", "-12"], "libdeflate-tools"),
    (["7zz", "a", "-si", "-so", "-tgzip", "-mx1", "x"], "7zip"), (["7zz", "a", "-si", "-so", "-tgzip", "-mx9", "x"], "7zip"),
    (["bgzip", "-c"], "tabix"),
]
SLOW = ("zopfli", "-11")
FLIPS = 12   # of each file


def texts(random, is_slow):
    """What is encoded: short texts, what shrinks much, little or not at all, and what has several blocks."""
    most = 1 << 18 if is_slow else 5 << 20
    records = make_input(most, seed=random.randrange(1 << 30))
    return {"empty": b"", "one byte": b"a", "one line": b"id,name\n", "equal lines": b"1,2,3\n" * (most // 6),
            "records": records, "noise": b"".join(b"%d,%s\n" % (i, random.randbytes(40).hex().encode()) for i in range(4000)),
            "bytes": random.randbytes(200_000), "both": records[:most // 2] + random.randbytes(100_000) + records[:most // 3]}


def by_zlib(data):
    """What zlib makes of a file: its bytes as far as they go, and whether there is nothing wrong with it."""
    out = []
    while data:
        decoder = zlib.decompressobj(16 + zlib.MAX_WBITS)
        try:
            for at in range(0, len(data), 1024):
                out.append(decoder.decompress(data[at:at + 1024]))
                if decoder.eof:
                    break
        except zlib.error:
            return b"".join(out), False
        if not decoder.eof:
            return b"".join(out), False
        data = (decoder.unused_data + data[at + 1024:]).lstrip(b"\0")
    return b"".join(out), True


class Reader:
    """Reads a file with the command, in order and on threads."""

    def __init__(self, bench):
        self.bench = bench
        self.path = os.path.join(bench.root, "in.csv.gz")

    def expect(self, data, text, is_good, what):
        """Expects this text, and exit status 3 unless the file is good."""
        write(self.path, data)
        for threads in "1", "4":
            run = self.bench.run(["cat", "--quiet", "--dialect", "tsv", "-j", threads, self.path])
            need(run.code == (0 if is_good else 3), "%s, %s threads: %s" % (what, threads, run))
            same = min(len(text), len(run.stdout))   # Python drops some of the bytes before damage
            need(run.stdout == text if is_good else run.stdout[:same] == text[:same], "%s: other bytes" % what)

    def expect_parts(self, text, what):
        """Expects the parts that are read by an index to be those of the text."""
        plain = write(os.path.join(self.bench.root, "in.csv"), text)
        made = self.bench.run(["index", "--quiet", "--dialect", "tsv", self.path])
        need(made.code == 0, "%s: %s" % (what, made))
        for part in "1/3", "3/3":
            words = ["cat", "--quiet", "--dialect", "tsv", "-n", part]
            run, wanted = (self.bench.run([*words, *more, path]) for path, more in
                           ((self.path, ["--index", "require"]), (plain, [])))
            need((run.code, run.stdout) == (wanted.code, wanted.stdout), "%s: part %s is another one" % (what, part))


def encoder(command, package):
    def check(bench):
        bench.need_tool(command[0])
        random = bench.random(1)
        reader, failed, count = Reader(bench), 0, 0
        for name, text in texts(random, any(word in SLOW for word in command)).items():
            source = write(os.path.join(bench.root, "text"), text)
            words = [source if word == "@" else word for word in command]
            done = subprocess.run(words, input=text if "@" not in command else b"", stdout=subprocess.PIPE, check=True)
            need(by_zlib(done.stdout) == (text, True), "%s: this is no gzip file of the text" % name)
            reader.expect(done.stdout, text, True, name)
            if name in ("records", "both"):
                reader.expect_parts(text, name)
            for _ in range(FLIPS if len(done.stdout) > 100 else 0):
                data = bytearray(done.stdout)
                if random.randrange(3) == 0:
                    del data[random.randrange(len(data)):]
                else:
                    data[random.randrange(len(data))] ^= 1 << random.randrange(8)
                found, is_good = by_zlib(bytes(data))
                reader.expect(bytes(data), found, is_good, "%s, damaged" % name)
                failed, count = failed + (not is_good), count + 1
        need(failed >= count // 2, "%d of %d damaged files are damaged" % (failed, count))
        bench.note("%d damaged files" % count)
    return common.named(check, "%s of %s" % (" ".join(command), package))


if __name__ == "__main__":
    sys.exit(common.harness.main(__doc__, [encoder(*row) for row in ENCODERS]))
