"""Secrets that are planted in inputs and keys, and the search for them in everything that a run leaves behind."""
import contextlib
import gzip
import os
import random
import secrets
import shutil
import stat
import subprocess
import tempfile

from harness import Run, finish, need, read, write

MARKER_SIZE = 24
PART = 8   # any 15 consecutive bytes of a marker contain a whole part
LETTERS = b"ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


def new_marker():
    """A marker that differs in each run of the test."""
    return bytes(secrets.choice(LETTERS) for _ in range(MARKER_SIZE))


def plain_contents(data):
    """The bytes, and what they decompress to."""
    yield data
    if data.startswith(b"\x1f\x8b"):
        with contextlib.suppress(OSError, EOFError):
            yield gzip.decompress(data)
    if data.startswith(b"\x28\xb5\x2f\xfd"):
        yield subprocess.run(["zstd", "-qdc"], input=data, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout


class Markers:
    """Named markers: {purpose: bytes}."""

    def __init__(self, *names):
        self.of = {name: new_marker() for name in names}

    def __getitem__(self, name):
        return self.of[name]

    def add(self, name, value):
        self.of[name] = value

    def found_in(self, data):
        """The names of the markers that occur in the bytes, at least in part."""
        parts = [(marker[at:at + PART], name) for name, marker in self.of.items()
                 for at in range(0, len(marker) - PART + 1, PART)]
        return sorted({name for plain in plain_contents(data) for part, name in parts if part in plain})

    def expect_none(self, data, where):
        found = self.found_in(data)
        need(not found, "%s: a secret of %s: %r" % (where, ", ".join(found), excerpt(data, self, found)))

    def expect_none_below(self, directory, beside=()):
        """Expects no marker in the names, links and files below the directory, except in the files in `beside`."""
        for parent, directories, files in os.walk(directory):
            for name in directories + files:
                path = os.path.join(parent, name)
                if path in beside:
                    continue
                self.expect_none(os.fsencode(name), "the name of a file")
                with contextlib.suppress(FileNotFoundError):
                    mode = os.lstat(path).st_mode
                    if stat.S_ISLNK(mode):
                        self.expect_none(os.fsencode(os.readlink(path)), "the link " + name)
                    elif stat.S_ISREG(mode):
                        self.expect_none(read(path), "the file " + name)

    def expect_none_in_process(self, pid, beside=(), descriptors=True):
        """Expects no marker in the command line and the environment of the process, nor in the regular files that it
        has open, except for those in `beside`. Files are compared by inode, because they may have no name."""
        root = "/proc/%d/" % pid
        same = {(status.st_dev, status.st_ino) for status in map(os.stat, beside)}
        for name in ("cmdline", "environ"):
            with contextlib.suppress(OSError):
                self.expect_none(read(root + name), "%s of a process" % name)
        if not descriptors:
            return
        with contextlib.suppress(OSError):
            for number in os.listdir(root + "fd"):
                with contextlib.suppress(OSError):
                    status = os.stat(root + "fd/" + number)
                    if stat.S_ISREG(status.st_mode) and (status.st_dev, status.st_ino) not in same:
                        self.expect_none(read(root + "fd/" + number), "an open file of a process")


def excerpt(data, markers, found):
    for name in found:
        marker = markers[name]
        for plain in plain_contents(data):
            for at in range(0, len(marker) - PART + 1, PART):
                place = plain.find(marker[at:at + PART])
                if place >= 0:
                    return plain[max(0, place - 60):place + 60]
    return b""


def processes_of_session(session):
    """The numbers of all processes in the session."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError, ValueError):
            if int(read("/proc/%s/stat" % name).rsplit(b")", 1)[1].split()[3]) == session:
                found.append(int(name))
    return found


# A table with secrets, rules for it, and a place to run the command.

COLUMNS = [b"id", b"name", b"ssn", b"email", b"note", b"kind", b"born", b"phone", b"who", b"ref", b"pay"]
SECRET = [b"name", b"ssn", b"email", b"born", b"phone", b"who", b"ref", b"pay"]
RULES = ["name: short-name if kind = a", 'name: fixed("X X")', "email: email(local=hmac(pii))", "born: date(year)",
         "phone: mask(last=2)", "who: initials", "ref: hmac(pii, trim, lower, context=c)", "pay: bucket(10)"]
WORDS = ["-d", ",", "--header", "repeat", "--select", "!ssn"] + [word for rule in RULES for word in ("--redact", rule)]
KEY = ["--key", "pii=file:@key"]


def new_markers():
    markers = Markers(*(name.decode() for name in SECRET), "note", "key", "other")
    markers.add("key in hex", markers["key"].hex().encode())
    return markers


class Table:
    """Records with a secret in each secret column."""

    def __init__(self, markers, count, seed=1):
        self.markers, chance = markers, random.Random(seed)
        self.records = [self.record(chance, number) for number in range(count)]

    def record(self, chance, number):
        m = self.markers
        fields = {b"id": b"%d" % number, b"name": b"Ann " + m["name"], b"ssn": m["ssn"], b"note": b"text",
                  b"email": m["email"] + b"@example.org", b"kind": chance.choice([b"a", b"b", b'"a"']),
                  b"born": m["born"], b"phone": m["phone"] + b"42", b"who": m["who"], b"ref": b" " + m["ref"] + b" ",
                  b"pay": m["pay"]}
        for name in SECRET:
            way = chance.randrange(6)
            if way == 0:
                fields[name] = b'"%s"' % fields[name]
            elif way == 1:
                fields[name] = b'"%s ""and,""\r\n%s"' % (fields[name], b"x" * chance.randrange(20))
        return fields

    @staticmethod
    def line(fields, end=b"\n"):
        return b",".join(fields[name] for name in COLUMNS) + end

    def bytes(self, header=None):
        return (header or b",".join(COLUMNS)) + b"\n" + b"".join(map(self.line, self.records))

    def with_record(self, place, line):
        """The bytes of the table, with that line replacing the record at `place`."""
        lines = list(map(self.line, self.records))
        lines[place] = line
        return b",".join(COLUMNS) + b"\n" + b"".join(lines)


PIPE, FILE = "pipe", "file"


class Site:
    """All locations where a run may leave something: output, working directory and TMPDIR."""

    def __init__(self, bench, markers=None):
        self.bench, self.markers = bench, markers or new_markers()
        self.root = tempfile.mkdtemp(dir=bench.root)
        self.out, self.cwd = self.path("out"), self.path("cwd")
        self.input, self.key = self.path("in.csv"), self.path("key")
        self.directories = [self.out, self.cwd, bench.temporary]
        for directory in (self.out, self.cwd):
            os.mkdir(directory)
        write(self.key, self.markers["key"] + b"\0" * 8)
        os.chmod(self.key, 0o600)

    def path(self, name):
        return os.path.join(self.root, name)

    def words(self, way, options, extras=()):
        """The command line. @out and @key stand for paths."""
        head, source = way[1], way[2]
        words = [*head, *options, *extras, "-" if source == PIPE else self.input]
        if head[0] == "split":
            words += ["-o", "@out/p.{i:04}.csv"]
        return [word.replace("@out", self.out).replace("@key", self.key) for word in words]

    def start(self, words, **more):
        return self.bench.start(words, cwd=self.cwd, **more)

    def run(self, way, options, data, extras=(), **more):
        """Runs the command on the data and looks for secrets. Returns the Run."""
        data = way[3](data)
        words = self.words(way, options, extras)
        if way[2] == FILE:
            write(self.input, data)
            run = finish(self.start(words, **more))
        else:
            run = finish(self.start(words, stdin=subprocess.PIPE, **more), data=data)
        self.expect_none(run)
        return run

    def expect_none(self, run=Run(0)):
        self.markers.expect_none(run.stdout, "standard output")
        self.markers.expect_none(run.stderr, "standard error")
        for directory in self.directories:
            self.markers.expect_none_below(directory)

    def empty(self):
        for directory in self.directories:
            for name in os.listdir(directory):
                path = os.path.join(directory, name)
                shutil.rmtree(path) if os.path.isdir(path) and not os.path.islink(path) else os.unlink(path)

    def remove(self):
        shutil.rmtree(self.root, ignore_errors=True)


def need_code(run, codes, what):
    need(run.code in codes, "%s: %s, but one of %s is wanted" % (what, run, sorted(codes)))
