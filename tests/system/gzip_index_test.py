#!/usr/bin/env python3
"""The index of a gzip file is as doc/guide/index.md describes it, and what is read by it is right.

  gzip_index_test.py --cleave PATH

The files have several checkpoints and are of several kinds. Python's zlib and gzip are the witnesses: they decode from
each checkpoint, and compute each checksum. Then parts of the text, taken by the index, are compared with the text.
"""
import argparse
import gzip
import os
import random
import struct
import subprocess
import sys
import tempfile
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
from verdicts import Tally, need  # noqa: E402

WINDOW = 32768
PART = 262144
MIB = 1 << 20


def crc32c_table():
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


TABLE = crc32c_table()


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 255]
    return crc ^ 0xFFFFFFFF


def some_text(rng, size):
    """Records without quotes: stretches that shrink well and stretches that hardly shrink."""
    parts = [b"id,name,note\n"]
    length = len(parts[0])
    while length < size:
        if rng.random() < 0.3:
            stretch = b"".join(b"%d,%s\n" % (i, rng.randbytes(60).hex().encode()) for i in range(8000))
        else:
            stretch = b"".join(b"%d,name %d,%s\n" % (i, i * 7 % 1000, b"note" * (i % 9)) for i in range(20000))
        parts.append(stretch)
        length += len(stretch)
    return b"".join(parts)


def bgzf(text):
    members = []
    for begin in list(range(0, len(text), 65280)) + [len(text)]:
        part = text[begin:begin + 65280]
        deflate = zlib.compressobj(6, zlib.DEFLATED, -15)
        data = deflate.compress(part) + deflate.flush()
        head = b"\x1f\x8b\x08\x04\0\0\0\0\0\xff\x06\0BC\x02\0" + struct.pack("<H", len(data) + 25)
        members.append(head + data + struct.pack("<II", zlib.crc32(part), len(part)))
    return b"".join(members)


def several(text):
    third = len(text) // 3
    return gzip.compress(text[:third], 1) + gzip.compress(b"") + gzip.compress(text[third:], 4) + bytes(1000)


KINDS = {"one member": lambda text: gzip.compress(text, 6), "stored": lambda text: gzip.compress(text, 0), "several members": several,
         "BGZF": bgzf}


def decode_from(data, bit, window, size):
    """The first bytes of deflate data that may begin in the middle of a byte.

    Python cannot tell zlib so, so the bits are moved. That would be wrong for a stored block, whose content begins with
    a byte of the file. But zlib writes none for these texts, unless it writes nothing else; then all blocks end where
    bytes do.
    """
    number = int.from_bytes(data[bit // 8:bit // 8 + 65536], "little") >> bit % 8
    decoder = zlib.decompressobj(-15, zdict=window) if window else zlib.decompressobj(-15)
    return decoder.decompress(number.to_bytes(65536, "little"), size)


def check_index(index, file, text, status):
    def number(at, size):
        return int.from_bytes(index[at:at + size], "little")

    need(index[:8] == b"\x89CLV\r\n\x1a\n", "magic")
    need((number(8, 4), number(12, 4)) == (2, 144), "version and size of the head")
    need(number(24, 8) == len(text), "size of the text")
    need(number(32, 8) == status.st_mtime_ns and number(40, 8) == status.st_ctime_ns, "times")
    need(number(48, 8) == status.st_ino, "inode")
    need(number(56, 8) == text.index(b"\n") + 1 and number(64, 8) == 1, "header")
    need(number(72, 8) == text.count(b"\n"), "records")
    need(number(80, 8) == MIB, "step")
    need(number(128, 8) == len(file), "size of the file")
    entries, checkpoints = number(112, 8), number(136, 8)
    need(entries == -(-len(text) // MIB), "number of entries")
    need(checkpoints >= 2, "number of checkpoints")
    records = 0
    passed = 0
    for i in range(entries):
        start = 0 if i == 0 else text.find(b"\n", i * MIB - 1) + 1
        records += text.count(b"\n", passed, start)
        passed = start
        at = 144 + 16 * i
        need((number(at, 8), number(at + 8, 8)) == (start, records), "entry %d" % i)
    at = 144 + 16 * entries
    for begin in range(0, len(text), PART):
        need(number(at, 4) == zlib.crc32(text[begin:begin + PART]), "checksum at %d" % begin)
        at += 4
    windows = at + 48 * checkpoints
    need(number(len(index) - 16, 8) == len(index) and number(len(index) - 8, 4) == 0, "end")
    need(number(len(index) - 4, 4) == crc32c(index[:windows] + index[-16:-4]), "CRC32C")
    end = windows
    offset = bit = 0
    for i in range(checkpoints):
        what = "checkpoint %d" % i
        before = offset, bit
        offset, bit, size, begin, stored, crc, checksum, inside = struct.unpack_from("<QQQQIIII", index, at + 48 * i)
        distance = offset - before[0]
        need(distance >= 4 * MIB or (distance >= 2 * MIB and (bit - before[1]) / 8 <= distance * 2 / 5), what + ": near")
        need(windows + begin == end, what + ": where the window is")
        packed = index[end:end + stored]
        end += stored
        need(crc32c(packed) == crc, what + ": CRC32C of the window")
        if not inside:
            need((size, stored, checksum, bit % 8) == (0, 0, 0, 0), what + ": after a member")
            rest = zlib.decompressobj(31).decompress(file[bit // 8:], 1000) if offset < len(text) else b""
            need(text[offset:].startswith(rest) and (rest or offset == len(text) or file[bit // 8:][:1] == b"\x1f"),
                 what + ": what follows")
            continue
        member = text[offset - size:offset]
        need(zlib.crc32(member) == checksum, what + ": CRC-32 of the member")
        window = zlib.decompress(packed, -15) if stored else b""
        need(window == member[-WINDOW:], what + ": window")
        need(decode_from(file, bit, window, 100) == text[offset:offset + 100], what + ": what follows")
    need(end == len(index) - 16, "windows")
    need(len(index) <= len(text) / 100, "size of the index: %d for %d" % (len(index), len(text)))


class Bench:
    def __init__(self, cleave, folder):
        self.cleave = cleave
        self.folder = folder
        self.rng = random.Random(11)
        self.text = some_text(self.rng, 15 * MIB)

    def run(self, *arguments, code=0):
        done = subprocess.run([self.cleave, *arguments], cwd=self.folder, capture_output=True, check=False)
        need(done.returncode == code, "%s: %d, %s" % (arguments, done.returncode, done.stderr.decode()))
        return done.stdout

    def check(self, kind):
        path = os.path.join(self.folder, "in.csv.gz")
        file = KINDS[kind](self.text)
        with open(path, "wb") as out:
            out.write(file)
        indexes = set()
        for threads in ("1", "2", "7"):
            self.run("index", "-j", threads, "in.csv.gz")
            with open(path + ".cleave", "rb") as index:
                indexes.add(index.read())
        need(len(indexes) == 1, "the index depends on the number of threads")
        need(os.stat(path + ".cleave").st_mode & 0o777 == 0o600, "mode")
        check_index(indexes.pop(), file, self.text, os.stat(path))
        self.run("index", "--verify", "in.csv.gz")
        self.check_reads()

    def check_reads(self):
        lines = self.text.splitlines(keepends=True)
        header, records = lines[0], lines[1:]
        for threads in ("1", "4"):
            words = ["--index", "require", "-j", threads, "in.csv.gz"]
            need(self.run("count", *words) == b"%d\n" % len(records), "count")
            for _ in range(4):
                first = self.rng.randrange(len(records))
                last = min(first + self.rng.choice([0, 10, 100000]), len(records) - 1)
                got = self.run("cat", "-r", "%d-%d" % (first + 1, last + 1), *words)
                need(got == header + b"".join(records[first:last + 1]), "cat -r")
            pieces = [self.run("cat", "-n", "%d/7" % (i + 1), "--header", "drop", *words) for i in range(7)]
            need(b"".join(pieces) == self.text[len(header):], "cat -n")
            self.run("split", "-n", "7", "-f", "--header", "drop", "-o", "p{i}.csv", *words)
            for i, piece in enumerate(pieces):
                with open(os.path.join(self.folder, "p%d.csv" % (i + 1)), "rb") as written:
                    need(written.read() == piece, "split -n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cleave", required=True)
    arguments = parser.parse_args()
    tally = Tally()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(os.path.abspath(arguments.cleave), folder)
        for kind in KINDS:
            tally.run("The index of a file of this kind: " + kind, lambda kind=kind: bench.check(kind))
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
