#!/usr/bin/env python3
"""`cleave split --by` with many values and few descriptors. Every piece is checked through a checksum of its records.

  large.py CLEAVE [--records N] [--keys N] [--seed N]

Runs with several numbers of threads and block sizes, from a file and from a pipe, with and without the column, and into
buckets, must all write the same records and nothing else.
"""
import argparse
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import zlib

import names
from driver import in_memory

FEW = 64
BUCKETS = 100
HEADER = b"id,k,note\n"
NOTES = [b"plain", b'"two\nlines"', b'"a ""b"", c"', b"", b"long " * 20]


def make(path, records, keys, seed):
    """Writes the file. Returns {value: checksum of its records} with the column, the same without the column, and
    {bucket: checksum of its records}."""
    chance = random.Random(seed)
    order = list(range(keys)) + [chance.randrange(keys) for _ in range(records - keys)]
    chance.shuffle(order)
    kept, dropped, buckets = {}, {}, {b"%03d" % number: 0 for number in range(1, BUCKETS + 1)}
    with open(path, "wb") as file:
        file.write(HEADER)
        for number, key in enumerate(order):
            value, note = b"key%d" % key, NOTES[number % len(NOTES)]
            record = b"%d,%s,%s\n" % (number, b'"%s"' % value if number % 3 == 0 else value, note)
            file.write(record)
            add(kept, value, record)
            add(dropped, value, b"%d,%s\n" % (number, note))
            if names.xxh3 is not None:
                add(buckets, b"%03d" % (names.hash_of((value,)) % BUCKETS + 1), record)
    return kept, dropped, buckets


def add(sums, name, record):
    sums[name] = zlib.crc32(record, sums.get(name, 0))


class Wrong(Exception):
    pass


def run(cleave, path, out, options, is_piped):
    def limit():
        resource.setrlimit(resource.RLIMIT_NOFILE, (FEW, FEW))
    os.mkdir(out)
    began = time.monotonic()
    with open(path, "rb") as file:
        feeder = subprocess.Popen(["cat"], stdin=file, stdout=subprocess.PIPE) if is_piped else None
        done = subprocess.run([cleave, "split", "--quiet", "-d", ",", "--by", "k", *options, "-" if is_piped else path],
                              stdin=feeder.stdout if feeder else subprocess.DEVNULL, stderr=subprocess.PIPE,
                              preexec_fn=limit, cwd=out, check=False)
        if feeder:
            feeder.stdout.close()
            feeder.wait()
    if done.returncode != 0:
        raise Wrong("exit status %d: %s" % (done.returncode, done.stderr.decode(errors="replace")[-300:]))
    return time.monotonic() - began


def pieces_of(out):
    """Yields (path below `out`, content) for each file."""
    for parent, _, files in os.walk(out):
        for name in files:
            with open(os.path.join(parent, name), "rb") as file:
                yield os.path.relpath(os.path.join(parent, name), out), file.read()


def check(out, sums, header, key_of=os.fsencode):
    left = dict(sums)
    for name, content in pieces_of(out):
        key = key_of(name)
        if not content.startswith(header) or key not in left:
            raise Wrong("%s should not be there, or not like that" % name)
        if zlib.crc32(content[len(header):]) != left.pop(key):
            raise Wrong("%s has other records" % name)
    if left:
        raise Wrong("%d pieces are missing: %s" % (len(left), sorted(left)[:3]))


def folder_value(name):
    """The value in k=VALUE/in.1.csv."""
    return os.fsencode(name.split("/")[0].removeprefix("k="))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("cleave")
    parser.add_argument("--records", type=int, default=20000)
    parser.add_argument("--keys", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    cleave, keys = os.path.abspath(arguments.cleave), str(arguments.keys)
    failed = 0
    with tempfile.TemporaryDirectory(prefix="cleave-large-", dir=in_memory.folder()) as root:
        path, out = os.path.join(root, "in.csv"), os.path.join(root, "out")
        kept, dropped, buckets = make(path, arguments.records, arguments.keys, arguments.seed)
        template, short = ["-o", "{value}", "--max-values", keys], b"id,note\n"
        ways = [(["-j", "1", *template], False, (kept, HEADER)),
                (["-j", "16", "--block-size", "64K", *template], False, (kept, HEADER)),
                (["-j", "3", *template], True, (kept, HEADER)), (["--drop-by", *template], False, (dropped, short)),
                (["--hive", "--max-values", keys], False, (dropped, short, folder_value))]
        if names.xxh3 is not None:
            ways.append((["--buckets", str(BUCKETS), "-o", "{i:03}"], False, (buckets, HEADER)))
        for options, is_piped, wanted in ways:
            try:
                seconds = run(cleave, path, out, options, is_piped)
                check(out, *wanted)
                print("ok   %s%s (%.1f s)" % (" ".join(options), " of a pipe" if is_piped else "", seconds), flush=True)
            except Wrong as wrong:
                failed += 1
                print("FAIL %s: %s" % (" ".join(options), wrong), flush=True)
            shutil.rmtree(out)
    print("%d records, %d values" % (arguments.records, arguments.keys))
    print("%d passed, %d failed" % (len(ways) - failed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
