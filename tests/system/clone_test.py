#!/usr/bin/env python3
"""--reflink on file systems that share blocks, and on one that does not.

  clone_test.py --cleave PATH

Creates images of XFS, btrfs and ext4 in a temporary directory and mounts them. A file system is skipped if this machine
has no mkfs for it or cannot mount it.
"""
import argparse
import contextlib
import fcntl
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "faults"))
from harness import Tally, need  # noqa: E402
import mounts  # noqa: E402

BLOCK = 4096
INPUT_SIZE = 16 << 20
IMAGE_SIZES = {"xfs": 3 << 30, "btrfs": 3 << 30, "ext4": 256 << 20}
HEADER = b"id,name\n"
# Limits and header modes for which the input has aligned cuts, because its records are short.
HOWS = [["-n", "4"], ["-C", "6M"]]
MODES = ["repeat", "first", "drop", "none"]


@contextlib.contextmanager
def mounted(kind, root):
    """A directory on a fresh file system."""
    with mounts.image(root, IMAGE_SIZES[kind], "mkfs." + kind, "-q") as image, \
            mounts.mounted(root, "-o", "loop", image) as directory:
        yield directory


def make_input():
    random.seed(1)
    block = b"".join(b"%d,%s\n" % (random.randrange(1000), b"abcde"[:random.randrange(6)]) for _ in range(100000))
    block += b'7,"a\n,b"\n' * 1000
    return HEADER + block * (INPUT_SIZE // len(block))


def write(path, data):
    with open(path, "wb") as file:
        file.write(data)
    return path


def read(path):
    with open(path, "rb") as file:
        return file.read()


def sync(directory):
    subprocess.run(["sync", "-f", directory], check=True)


def extents(path):
    """(logical, physical, length, shared) of each extent, as FIEMAP reports it."""
    fiemap, count, extent = struct.Struct("=QQLLLL"), 500, struct.Struct("=QQQQQLLLL")
    found, offset = [], 0
    with open(path, "rb") as file:
        while True:
            buffer = bytearray(fiemap.size + count * extent.size)
            fiemap.pack_into(buffer, 0, offset, (1 << 64) - 1 - offset, 1, 0, count, 0)
            fcntl.ioctl(file, 0xC020660B, buffer)
            mapped = fiemap.unpack_from(buffer)[3]
            for i in range(mapped):
                at = fiemap.size + i * extent.size
                logical, physical, length, _, _, flags, _, _, _ = extent.unpack_from(buffer, at)
                found.append((logical, physical, length, bool(flags & 0x2000)))
                offset = logical + length
                if flags & 0x1:
                    return found
            if mapped == 0:
                return found


def blocks(path):
    """{block number: (its position on the disk, whether it is shared)}"""
    return {(logical + i) // BLOCK: (physical + i, shared)
            for logical, physical, length, shared in extents(path) for i in range(0, length, BLOCK)}


class Tests:
    def __init__(self, cleave, plain_directory):
        self.cleave = cleave
        self.data = make_input()
        self.is_silence_tested = False
        self.plain = write(os.path.join(plain_directory, "in.csv"), self.data)   # in the temporary directory

    def run(self, *args, want=0, stdin=None):
        env = {k: v for k, v in os.environ.items() if not k.startswith("CLEAVE")}
        done = subprocess.run([self.cleave, *args], env=dict(env, LC_ALL="C"), stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, stdin=stdin or subprocess.DEVNULL)
        message = done.stderr.decode()
        need(done.returncode == want, "%s: exit %d, want %d: %s" % (args, done.returncode, want, message))
        return done.stdout, message

    def cuts(self, path, *args):
        """[(start, length)] as `cleave offsets` prints them."""
        rows = [row.split(b"\t") for row in self.run("offsets", *args, path)[0].splitlines()]
        return [(int(start), int(length)) for _, start, length, _, _ in rows]

    def split(self, path, directory, *args, mode, stdin=None):
        """Splits into a fresh directory and checks the bytes. Returns [(path of the piece, size of its header,
        start)]."""
        shutil.rmtree(directory, ignore_errors=True)
        os.mkdir(directory)
        how = [*args, *header_options(mode)]
        _, message = self.run("split", *how, "-o", os.path.join(directory, "{i:3}"), path, stdin=stdin)
        need(message == "", "%s says %s" % (how, message))
        pieces, body = [], len(HEADER) if mode != "none" else 0
        at = body
        for i, name in enumerate(sorted(os.listdir(directory))):
            head = self.data[:body] if mode == "repeat" or (mode == "first" and i == 0) else b""
            content = read(os.path.join(directory, name))
            size = len(content) - len(head)
            need(content == head + self.data[at:at + size], "%s: %s has other bytes than it should" % (how, name))
            pieces.append((os.path.join(directory, name), len(head), at))
            at += size
        need(at == len(self.data), "%s: %d bytes are missing" % (how, len(self.data) - at))
        return pieces

    def expect_shared(self, path, pieces, mode):
        """Each whole block of each body is also a block of the input."""
        of_input = blocks(path)
        for i, (piece, header, start) in enumerate(pieces):
            of_piece = blocks(piece)
            if mode == "drop" and i == 0:
                continue   # this cut cannot be aligned
            first, last = -(-header // BLOCK), os.path.getsize(piece) // BLOCK
            need(last - first > 500, "%s is too small to tell" % piece)
            for number in range(first, last):
                where, shared = of_piece[number]
                source = of_input[number + (start - header) // BLOCK]
                need(shared and source == (where, True), "%s: block %d is not the input's" % (piece, number))

    def sharing(self, directory):
        path, out = write(os.path.join(directory, "in.csv"), self.data), os.path.join(directory, "out")
        sync(directory)
        for how in HOWS:
            for mode in MODES:
                before = used(directory)
                pieces = self.split(path, out, *how, "--reflink", "always", mode=mode)
                sync(directory)
                self.expect_shared(path, pieces, mode)
                grown = used(directory) - before
                copied = os.path.getsize(pieces[0][0]) if mode == "drop" else 0
                need(grown < copied + len(self.data) // 20, "%s %s takes %d bytes" % (how, mode, grown))
                starts = [start for _, _, start in pieces]
                for clone in ("auto", "always"):
                    cuts = self.cuts(self.plain, *how, "--reflink", clone, *header_options(mode))
                    need([start for start, _ in cuts] == starts, "%s %s: other cuts elsewhere" % (how, mode))
                need(self.split(path, out, *how, "--reflink", "auto", mode=mode) == pieces, "auto cuts otherwise")
                sync(directory)
                self.expect_shared(path, pieces, mode)
                shutil.rmtree(out)
                sync(directory)
        # Pieces so small that some cuts are not aligned.
        self.split(path, out, "-n", "300", "--reflink", "auto", mode="repeat")
        shutil.rmtree(out)
        os.unlink(path)

    def standard_input(self, directory):
        """Standard input is a file positioned after its start."""
        for skipped in (BLOCK, 100):
            path = write(os.path.join(directory, "in.csv"), b"p" * (skipped - 1) + b"\n" + self.data)
            sync(directory)
            out = os.path.join(directory, "out")
            with open(path, "rb", buffering=0) as file:
                file.seek(skipped)
                pieces = self.split("-", out, "-n", "4", "--reflink", "auto", mode="repeat", stdin=file)
                sync(directory)
                if skipped == BLOCK:
                    self.expect_shared(path, [(p, h, start + BLOCK) for p, h, start in pieces], "repeat")
                shutil.rmtree(out)
                os.mkdir(out)
                file.seek(skipped)
                _, message = self.run("split", "-n", "4", "--reflink", "always", "-o", out + "/{i}", "-", stdin=file,
                                      want=0 if skipped == BLOCK else 1)
                need(skipped == BLOCK or (os.listdir(out) == [] and "begins at byte 100" in message), message)
            shutil.rmtree(out)
            os.unlink(path)

    def remark(self, directory):
        """More than 1 GiB brings a remark about sharing blocks. The input is sparse so that it is quick to create. Only
        the first run copies it. Later ones find that the piece is there."""
        path, out = write(os.path.join(directory, "in.csv"), b"h\n"), os.path.join(directory, "out")
        size = (1 << 30) + 2 * BLOCK + 1
        os.truncate(path, size)
        os.mkdir(out)
        split = ["split", "-H", "-o", out + "/{i}", path]
        said = "cleave: %s: this file system can share blocks: --reflink auto would take almost no extra space\n" % path
        need(self.run(*split, "-n", "1")[1] == said, "there is no remark on -n")
        need(self.run(*split, "-n", "1", "-f", "--reflink", "auto")[1] == "", "there is a remark with --reflink auto")
        need(os.path.getsize(out + "/1") == size, "what is shared in parts has another size")
        split.append("--resume")
        need(self.run(*split, "-C", "2G")[1] == said, "there is no remark on -C")
        # What silences it does not depend on the file system, and each run compares 1 GiB.
        for silent in [] if self.is_silence_tested else (["-l", "9"], ["-n", "1", "--quiet"], ["-n", "1", "--reflink", "never"],
                       ["-n", "1", "--dry-run"]):
            need(self.run(*split, *silent)[1] == "", "there is a remark with %s" % silent)
        self.is_silence_tested = True
        need(os.listdir(out) == ["1"], "more is left than the piece: %s" % os.listdir(out))
        os.truncate(path, 1 << 30)
        os.truncate(out + "/1", 1 << 30)
        need(self.run(*split, "-n", "1")[1] == "", "there is a remark on 1 GiB")
        shutil.rmtree(out)
        os.unlink(path)

    def refusal(self, path, directory, reason):
        """Where blocks cannot be shared, `always` fails and leaves nothing, and `auto` copies."""
        out = os.path.join(directory, "out")
        os.mkdir(out)
        write(os.path.join(out, "2"), b"old")
        split = ["split", "-n", "4", "-j", "1", "-f", "-o", out + "/{i}", path]
        _, message = self.run(*split, "--reflink", "always", want=1)
        need(message == "cleave: %s/1: cannot share blocks: %s\n" % (out, reason), message)
        need(os.listdir(out) == ["2"], "something is left: %s" % os.listdir(out))
        need(read(os.path.join(out, "2")) == b"old", "the old file is gone")
        for mode in MODES:
            self.split(path, out, "-n", "4", "--reflink", "auto", mode=mode)
        shutil.rmtree(out)

    def between(self, directory, other):
        path = write(os.path.join(directory, "in.csv"), self.data)
        self.refusal(path, other, "Invalid cross-device link")
        os.unlink(path)

    def not_sharing(self, directory):
        path = write(os.path.join(directory, "in.csv"), self.data)
        self.refusal(path, directory, "Operation not supported")
        os.unlink(path)


def header_options(mode):
    return ["--no-header"] if mode == "none" else ["--header", mode]


def used(directory):
    status = os.statvfs(directory)
    return (status.f_blocks - status.f_bfree) * status.f_frsize


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cleave", required=True, help="the binary")
    cleave = os.path.abspath(parser.parse_args().cleave)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated"))   # so that file systems are unmounted

    tally = Tally()
    with tempfile.TemporaryDirectory(prefix="clone.") as root, contextlib.ExitStack() as stack:
        tests, directories = Tests(cleave, root), {}
        for kind in IMAGE_SIZES:
            tally.run("%s: mounted" % kind, lambda kind=kind: directories.update(
                {kind: stack.enter_context(mounted(kind, root))}))
        ext4 = directories.pop("ext4", None)
        todo = [(tests.not_sharing, "ext4", [ext4])] if ext4 else []
        for kind, directory in directories.items():
            todo += [(test, kind, [directory]) for test in (tests.sharing, tests.standard_input, tests.remark)]
            todo += [(tests.between, kind, [directory, ext4])] if ext4 else []
        for test, kind, arguments in todo:
            tally.run("%s: %s" % (kind, test.__name__), lambda: test(*arguments))
            for directory in arguments:
                for name in os.listdir(directory):   # after a failure; the next test needs it empty
                    path = os.path.join(directory, name)
                    shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
