"""CSV files with holes: records of several GiB that take up no disk space, and the position of each record.

Holes read as NUL bytes, which are data like any other. The expected pieces of a file follow from where its records were
put.
"""
import os
import struct
import zlib

GIB = 1 << 30
PART = 1 << 20   # how many bytes are read at a time
HEADER = b"id,key,text\n"


def sum_of_file(file):
    """The CRC-32 and the size of what remains to be read from the file."""
    crc = size = 0
    while part := file.read(PART):
        crc, size = zlib.crc32(part, crc), size + len(part)
    return crc, size


class Sparse:
    """A CSV file with holes, and where its records are."""

    def __init__(self, path):
        self.path = path
        self.file = open(path, "wb+")
        self.file.write(HEADER)
        self.starts = [len(HEADER)]   # of the records, and the end of the last one
        self.holes = []               # (start, end) of the holes in long records

    @property
    def records(self):
        return len(self.starts) - 1

    @property
    def size(self):
        return self.starts[-1]

    def add(self, line=None):
        line = line or b'%d,short,"a\nb%d"\n' % (self.records + 1, self.records)
        self.file.seek(self.size)
        self.file.write(line)
        self.starts.append(self.size + len(line))

    def add_shorts(self, count):
        for _ in range(count):
            self.add()

    def add_long(self, end, quoted=True):
        """Adds a record that ends at that byte. If it is quoted, there are line feeds around each multiple of 1 GiB."""
        parts = [(self.size, b'%d,long,%s' % (self.records + 1, b'"' if quoted else b""))]
        if quoted:
            parts += [(at - 2, b'\n\n,""\n') for at in range(self.size // GIB * GIB + GIB, end - 9, GIB)]
        parts.append((end - 2, b'"\n' if quoted else b".\n"))
        for (at, part), (then, _) in zip(parts, [*parts[1:], (end, b"")]):
            self.file.seek(at)
            self.file.write(part)
            self.holes.append((at + len(part), then))
        self.holes.pop()   # the hole after the last part
        self.starts.append(end)

    def done(self):
        self.file.flush()
        return self

    def read(self, start, end):
        self.file.seek(start)
        return self.file.read(end - start)

    def record(self, number):
        """The bytes of the record with that number, from 1."""
        return self.read(self.starts[number - 1], self.starts[number])

    def sum(self, start, end, with_header=True):
        """CRC-32 and size of a piece."""
        crc, size = (zlib.crc32(HEADER), len(HEADER)) if with_header else (0, 0)
        self.file.seek(start)
        while start < end:
            part = self.file.read(min(PART, end - start))
            crc, size, start = zlib.crc32(part, crc), size + len(part), start + len(part)
        return crc, size

    def sum_of_records(self, places):
        """CRC-32 and size of a piece with these records, counted from 0."""
        crc, size = zlib.crc32(HEADER), len(HEADER)
        for at in places:
            crc, size = zlib.crc32(self.record(at + 1), crc), size + self.starts[at + 1] - self.starts[at]
        return crc, size

    def whole_sum(self):
        return self.sum(len(HEADER), self.size)

    def groups(self, limit, size_of):
        """(first, last + 1) of the records of each piece: as many as fit into `limit`, and at least one."""
        found, first, taken = [], 0, 0
        for at in range(self.records):
            each = size_of(at)
            if taken + each > limit and at > first:
                found.append((first, at))
                first, taken = at, 0
            taken += each
        return found + [(first, self.records)]

    def by_size(self, limit):
        return self.groups(limit - len(HEADER), lambda at: self.starts[at + 1] - self.starts[at])

    def by_number(self, number):
        body, cuts, at = self.size - len(HEADER), [], 0
        for k in range(number):
            while self.starts[at] < len(HEADER) + body * k // number:
                at += 1
            cuts.append(at)
        return list(zip(cuts, [*cuts[1:], self.records]))

    def offsets(self, pieces):
        """As `cleave offsets` prints them."""
        rows = [(i, self.starts[first], self.starts[end] - self.starts[first], first + 1, end - first)
                for i, (first, end) in enumerate(pieces, 1)]
        return b"".join(b"%d\t%d\t%d\t%d\t%d\n" % row for row in rows)

    def index(self, digest):
        """The index as doc/guide/index.md describes it. `digest` is the digest of the dialect."""
        status, step = os.fstat(self.file.fileno()), 1 << 20
        entries, record = [], 0   # the header is record 0
        starts = [0, *self.starts]
        for at in range(0, self.size, step):
            while starts[record] < at:
                record += 1
            entries.append((starts[record], record))
        nowhere = (1 << 64) - 1
        index = b"\x89CLV\r\n\x1a\n" + struct.pack("<2I", 1, 128) + digest
        index += struct.pack("<Q2q6Q", self.size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, len(HEADER), 1,
                             self.records + 1, step, nowhere)
        index += struct.pack("<4Q", nowhere, 0, len(entries), 0)
        index += b"".join(struct.pack("<2Q", *entry) for entry in entries)
        index += struct.pack("<QI", len(index) + 16, 0)
        return index + struct.pack("<I", crc32c(index))


def make_sparse(path):
    """Creates a 4.5 GiB file with records that start at, before and after 2^31 and 2^32."""
    sparse = Sparse(path)
    sparse.add_shorts(5000)
    for around in (1 << 31, 1 << 32):
        sparse.add_long(around - 1)
        sparse.add_shorts(1)
        sparse.add_long(around + 70_000)
        sparse.add_shorts(100)
    sparse.add_long((1 << 32) + GIB // 2)
    sparse.add_shorts(100)
    return sparse.done()


def make_many(path, key=lambda number: b"ab"[number % 2:number % 2 + 1]):
    """Creates a 4.5 GiB file of 330 records of 14 MiB each, which rules and --by can read."""
    sparse = Sparse(path)
    for number in range(330):
        sparse.file.seek(sparse.size)
        sparse.file.write(b"%d,%s," % (number + 1, key(number)))
        sparse.starts.append(sparse.size + (14 << 20))
        sparse.file.seek(sparse.size - 2)
        sparse.file.write(b"z\n")
    return sparse.done()


def crc32c(data):
    """The CRC32C of RFC 3720, appendix B.4."""
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ table[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def member_of_zeros(size):
    """A gzip member with a header, a record of that size and a short one; and the size and CRC-32 of its content."""
    pack = zlib.compressobj(1, zlib.DEFLATED, -15)
    head = pack.compress(HEADER + b"1,long,") + pack.flush(zlib.Z_FULL_FLUSH)
    zeros = bytes(64 << 20)
    block = pack.compress(zeros) + pack.flush(zlib.Z_FULL_FLUSH)
    tail_bytes = b".\n2,short,x\n"
    tail = pack.compress(tail_bytes) + pack.flush()
    count = size // len(zeros)
    crc = zlib.crc32(HEADER + b"1,long,")
    for _ in range(count):
        crc = zlib.crc32(zeros, crc)
    crc = zlib.crc32(tail_bytes, crc)
    total = len(HEADER) + 7 + count * len(zeros) + len(tail_bytes)
    member = struct.pack("<4BI2B", 31, 139, 8, 0, 0, 0, 255) + head + block * count + tail
    return member + struct.pack("<2I", crc, total & 0xFFFFFFFF), total, crc
