#!/usr/bin/env python3
"""A file that does not fit into memory: the command runs in a control group with little of it.

  large_test.py --cleave PROGRAM

Needs root, a control group for memory (version 1 or 2), and a disk: the exit code is 77 where one of them is missing.
"""
import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time

LIMIT = 32 << 20  # bytes
SIZE = 96 << 20
PIECES = 7
SKIP = 77


class Group:
    """A control group whose processes and their files in the page cache take up at most LIMIT bytes."""

    def __init__(self):
        name = "cleave-test-%d" % os.getpid()
        for root, limit in (("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")):
            self.path = os.path.join(root, name)
            try:
                os.mkdir(self.path)
                with open(os.path.join(self.path, limit), "w", encoding="ascii") as file:
                    file.write(str(LIMIT))
                return
            except OSError:
                if os.path.isdir(self.path):
                    os.rmdir(self.path)
        raise OSError("no control group for memory can be made")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.rmdir(self.path)

    def enter(self):
        with open(os.path.join(self.path, "cgroup.procs"), "w", encoding="ascii") as file:
            file.write(str(os.getpid()))


def drop(path):
    """Takes the file out of the page cache. Returns whether that worked."""
    with open(path, "rb") as file:
        os.fsync(file.fileno())
        for _ in range(10):  # pages that are on their way to a list of the system stay
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            try:
                os.preadv(file.fileno(), [bytearray(1)], SIZE // 2, os.RWF_NOWAIT)
            except BlockingIOError:
                return True
            time.sleep(0.1)
    return False


def make_input(path):
    rows = random.Random(1)
    with open(path, "w", encoding="ascii", newline="") as file:
        size = file.write("id,text\n")
        number = 0
        while size < SIZE:
            number += 1
            size += file.write('%d,"%s\n""%s"""\n' % (number, "x" * rows.randrange(2000), "y" * rows.randrange(100)))


def split(program, path, out, group=None):
    os.makedirs(out, exist_ok=True)
    command = [program, "split", "-n", str(PIECES), "--json", "-o", os.path.join(out, "{i}.csv"), path]
    run = subprocess.run(command, capture_output=True, check=False, preexec_fn=group.enter if group else None)
    events = [json.loads(line) for line in run.stdout.splitlines()]
    return run.returncode, [event for event in events if event["event"] == "piece"], run.stderr.decode()


def need(condition, message):
    if not condition:
        sys.exit("large_test: " + message)


def check(program, directory, group):
    path = os.path.join(directory, "in.csv")
    make_input(path)
    if not drop(path):
        print("skip: the file stays in memory")
        return SKIP
    inside, outside = os.path.join(directory, "inside"), os.path.join(directory, "outside")
    got = split(program, path, inside, group)
    wanted = split(program, path, outside)
    need(wanted[0] == 0 and len(wanted[1]) == PIECES, "outside the group: %s" % (wanted,))
    need(got[0] == 0, "in the group: exit %d, %s" % (got[0], got[2]))
    for a, b in zip(got[1], wanted[1], strict=True):
        a.pop("path", None), b.pop("path", None), a.pop("name", None), b.pop("name", None)
        need(a == b, "in the group %s, outside %s" % (a, b))
    for name in sorted(os.listdir(outside)):
        with open(os.path.join(inside, name), "rb") as a, open(os.path.join(outside, name), "rb") as b:
            need(a.read() == b.read(), "%s differs" % name)
    # A quote that stays open is found at the end. By then a file that is cut as it is read has finished pieces.
    with open(path, "a", encoding="ascii") as file:
        file.write('0,"')
    need(drop(path), "the file stays in memory")
    bad = os.path.join(directory, "bad")
    code, pieces, message = split(program, path, bad, group)
    need(code == 3 and "quote" in message, "open quote: exit %d, %s" % (code, message))
    need(len(pieces) == PIECES - 1, "the file was not cut as it was read: %d pieces were made" % len(pieces))
    need(os.listdir(bad) == [], "left behind: %s" % os.listdir(bad))
    return 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cleave", required=True)
    arguments = parser.parse_args()
    try:
        group = Group()
    except OSError as error:
        print("skip: %s" % error)
        return SKIP
    with group, tempfile.TemporaryDirectory(dir="/var/tmp") as directory:
        return check(os.path.abspath(arguments.cleave), directory, group)


sys.exit(main())
