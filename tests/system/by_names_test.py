#!/usr/bin/env python3
"""Pieces for values that are hard to turn into file names, on several kinds of file system.

  by_names_test.py --cleave PATH

One is the file system that holds temporary files. The others are mounted images on which names are not case-sensitive.
A kind is skipped if this machine has no program for it or cannot mount it.
"""
import argparse
import contextlib
import os
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "faults"))
from harness import Tally, need, read, write  # noqa: E402
import mounts  # noqa: E402

IMAGE_SIZE = 64 << 20
# For each kind: the commands that create and mount it.
KINDS = {
    "ext4": ("mkfs.ext4 -q -O casefold -E encoding=utf8", "mount -o loop"),
    "vfat": ("mkfs.vfat", "mount -o loop,utf8"),
    "ntfs": ("mkfs.ntfs -F -Q -q", "lowntfs-3g -o ignore_case"),
}
HEADER = b"id,value,note\n"
# Values whose names are different on every file system.
VALUES = [
    b"../x", b"/etc/passwd", b"", b".", b"..", b"a/b", b"-rf", b"a\nb", b"\x1b[31m", b"x" * 300, b"x" * 299 + b"X", b"A",
    b"a", b"\xff\xfe", b"a b", b"%2F", b"/", b"a.", b"a@2", b"A@2", b"__EMPTY__", b"__empty__", b"\x00", b"\xc2\x85",
    b"con", b"nul.txt", b"a:b", b"*?<>|\\", b"\"quoted\"", b"a,b", b"%41", b"~", b"..." * 70, "é".encode() * 150,
    "東京".encode(), "\U0001F600".encode(), b".cleave-x", b"{i}", b"$(id)", b"`id`", b"\r", b"a\r", b" ", b"A ", b"aA",
    b"Aa", b"AA", b"_", b"99", b"+", b"=",
]
RECORDS_EACH = 3


def field(value):
    return b'"' + value.replace(b'"', b'""') + b'"'


def make_input(values):
    """Returns the file, and the content of each value's piece."""
    records = [(value, b"%d,%s,x\n" % (i * 1000 + k, field(value)))
               for k in range(RECORDS_EACH) for i, value in enumerate(values)]
    pieces = {value: HEADER + b"".join(record for of, record in records if of == value) for value in values}
    return HEADER + b"".join(record for _, record in records), pieces


@contextlib.contextmanager
def mounted(kind, root):
    """A directory on a fresh file system on which names are not case-sensitive."""
    make, mount = KINDS[kind]
    program, *options = mount.split()
    with mounts.image(root, IMAGE_SIZE, *make.split()) as image, \
            mounts.mounted(root, *options, image, program=program) as directory:
        folded = os.path.join(directory, "folded")
        os.mkdir(folded)
        if kind == "ext4":
            subprocess.run(["chattr", "+F", folded], check=True, stderr=subprocess.DEVNULL)
        need(takes_for_the_same(folded, "a", "A"), "%s tells a from A" % kind)
        yield folded


def takes_for_the_same(directory, one, other):
    path = os.path.join(directory, one)
    write(path, b"")
    try:
        return os.path.exists(os.path.join(directory, other))
    finally:
        os.unlink(path)


def files_below(directory):
    return sorted(os.path.join(folder, name) for folder, _, names in os.walk(directory) for name in names)


class Tests:
    def __init__(self, cleave, root):
        self.cleave, self.root = cleave, root

    def split(self, values, directory, *options, want=0):
        """Splits in the directory. Returns the message, and what the pieces should hold."""
        data, pieces = make_input(values)
        source = os.path.join(self.root, "in.csv")
        write(source, data)
        env = {k: v for k, v in os.environ.items() if not k.startswith("CLEAVE")}
        done = subprocess.run([self.cleave, "split", "--by", "value", "-d", ",", *options, source], cwd=directory,
                              env=dict(env, LC_ALL="C"), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE)
        need(done.returncode == want, "exit %d, want %d: %s" % (done.returncode, want, done.stderr.decode()))
        need(not any(byte < 0x20 and byte != 0x0A or byte == 0x7F for byte in done.stderr + done.stdout),
             "a control character is printed")
        return done.stderr.decode(), pieces

    def hostile(self, directory):
        """Every value has a piece of its own, inside the folder, under a safe name"""
        _, pieces = self.split(VALUES, directory)
        found = files_below(directory)
        need(sorted(map(read, found)) == sorted(pieces.values()), "other pieces than one for each value")
        self.expect_safe(directory, found)
        need(all(os.path.dirname(path) == directory for path in found), "a piece is not in the folder")
        need(len({os.path.basename(path).lower() for path in found}) == len(VALUES), "two names differ in case alone")

    def bare(self, directory):
        """The same where the name consists of the value alone"""
        _, pieces = self.split(VALUES, directory, "-o", "{value}")
        found = files_below(directory)
        need(sorted(map(read, found)) == sorted(pieces.values()), "other pieces than one for each value")
        self.expect_safe(directory, found)

    def numbered(self, directory):
        """Values in several pieces"""
        _, pieces = self.split(VALUES, directory, "-l", "2")
        bodies = sorted(read(path)[len(HEADER):] for path in files_below(directory))
        need(len(bodies) == 2 * len(VALUES), "%d pieces" % len(bodies))
        wanted = [body for piece in pieces.values() for body in self.parts(piece[len(HEADER):])]
        need(bodies == sorted(wanted), "the pieces hold other records")
        self.expect_safe(directory, files_below(directory))

    @staticmethod
    def parts(body):
        """The first two records, and the last one. A record ends with ",x" and a line feed, and only there."""
        end = body.index(b",x\n", body.index(b",x\n") + 1) + 3
        return [body[:end], body[end:]]

    def folders(self, directory):
        """--hive: folders that differ in more than case"""
        values = [b"north", b"a b", b"a/b", b"", b"..", b"-x", "東京".encode(), b"y" * 249, b"a.", b"a"]
        _, pieces = self.split(values, directory, "--hive", "--keep-by")
        found = files_below(directory)
        need(sorted(map(read, found)) == sorted(pieces.values()), "other pieces than one for each value")
        # A file system may list the names in lower case.
        names = sorted(os.path.relpath(path, directory).lower() for path in found)
        encoded = ["%2E%2E", "%2Dx", "__HIVE_DEFAULT_PARTITION__", "a", "a%20b", "a%2E", "a%2Fb", "north", "y" * 249,
                   "東京"]
        need(names == sorted(("value=%s/in.1.csv" % name).lower() for name in encoded), "the folders are %s" % names)

    def equal_folders(self, directory):
        """--hive: if the file system cannot tell two folders apart, the run fails and leaves nothing"""
        self.clash([b"north", b"x", b"North"], directory, takes_for_the_same(directory, "n", "N"), "--hive", "--keep-by")

    def equal_names(self, directory):
        """Names that the file system may regard as equal although they differ in more than the case of ASCII letters"""
        same = takes_for_the_same(directory, "é", "É")
        self.clash(["é".encode(), b"x", "É".encode()], directory, same)

    def clash(self, values, directory, is_same, *options):
        write(os.path.join(directory, "other"), b"before")
        message, pieces = self.split(values, directory, *options, want=1 if is_same else 0)
        found = files_below(directory)
        if is_same:
            need("File exists" in message, "it says " + message)
            need(os.listdir(directory) == ["other"] and read(found[0]) == b"before", "left: %s" % found)
        else:
            need(sorted(map(read, found)) == sorted([*pieces.values(), b"before"]), "other pieces")

    def again(self, directory):
        """A second run replaces nothing, and --resume keeps everything"""
        self.split(VALUES, directory)
        before = {path: (read(path), os.stat(path).st_mtime_ns) for path in files_below(directory)}
        self.split(VALUES, directory, want=1)
        self.split(VALUES, directory, "--resume")
        after = {path: (read(path), os.stat(path).st_mtime_ns) for path in files_below(directory)}
        need(before == after, "files were changed")

    def expect_safe(self, directory, found):
        for path in found:
            name = os.path.relpath(path, directory)
            need(name[0] not in ".-" and "/" not in name, "a name is %r" % name)
            need(len(os.fsencode(name)) <= 255 and name.isprintable(), "a name is %r" % name)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cleave", required=True, help="the binary")
    cleave = os.path.abspath(parser.parse_args().cleave)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated"))   # so that file systems are unmounted

    tally = Tally()
    with tempfile.TemporaryDirectory(prefix="by_names.") as root, contextlib.ExitStack() as stack:
        plain = os.path.join(root, "plain")
        os.mkdir(plain)
        tests, directories = Tests(cleave, root), {"plain": plain}
        for kind in KINDS:
            tally.run("%s: mounted" % kind, lambda kind=kind: directories.update(
                {kind: stack.enter_context(mounted(kind, root))}))
        for kind, parent in directories.items():
            for test in (tests.hostile, tests.bare, tests.numbered, tests.folders, tests.equal_folders,
                         tests.equal_names, tests.again):
                # A folder inherits its case handling from its parent. It is not removed after the test, because
                # lowntfs-3g fails if a new folder reuses its inode.
                directory = tempfile.mkdtemp(dir=parent)
                tally.run("%s: %s" % (kind, test.__doc__), lambda: test(directory))
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
