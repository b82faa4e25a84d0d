#!/usr/bin/env python3
"""Splits a file that does not fit into memory: the command runs in a control group with little memory.

  large_test.py --cleave PROGRAM

Needs root, a control group for memory (version 1 or 2), and a disk. Without the first two it is skipped; if the file
stays in memory, the test is inconclusive. The expected pieces follow from how the input was written.
"""
import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "faults"))
from harness import TIMEOUT_S, Failure, Skip, Tally, need, need_sight, pieces_of_number, read, record_ends  # noqa: E402

LIMIT = 32 << 20  # bytes
SIZE = 96 << 20
PIECES = 7
HEADER = b"id,text\n"


class Group:
    """A control group whose processes, with their files in the page cache, take up at most `size` bytes."""

    def __init__(self, size=LIMIT):
        name = "cleave-test-%d" % os.getpid()
        for root, limit in (("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")):
            self.path = os.path.join(root, name)
            try:
                os.mkdir(self.path)
                with open(os.path.join(self.path, limit), "w", encoding="ascii") as file:
                    file.write(str(size))
                return
            except OSError:
                if os.path.isdir(self.path):
                    os.rmdir(self.path)
        raise Skip("no control group for memory can be made")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for _ in range(100):   # a process that has ended may remain in the group for a moment
            try:
                return os.rmdir(self.path)
            except OSError:
                time.sleep(0.05)

    def enter(self):
        with open(os.path.join(self.path, "cgroup.procs"), "w", encoding="ascii") as file:
            file.write(str(os.getpid()))


def drop(path):
    """Removes the file from the page cache. Returns whether that worked."""
    with open(path, "rb") as file:
        os.fsync(file.fileno())
        for _ in range(10):  # pages on their way to one of the kernel's lists are not removed
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            try:
                os.preadv(file.fileno(), [bytearray(1)], SIZE // 2, os.RWF_NOWAIT)
            except BlockingIOError:
                return True
            time.sleep(0.1)
    return False


def make_input(path):
    """Returns where each record ends, the header first."""
    rows, ends, number = random.Random(1), [len(HEADER)], 0
    with open(path, "wb") as file:
        file.write(HEADER)
        while ends[-1] < SIZE:
            number += 1
            row = b'%d,"%s\n""%s"""\n' % (number, b"x" * rows.randrange(2000), b"y" * rows.randrange(100))
            ends.append(ends[-1] + file.write(row))
    with open(path, "rb") as file:   # compares a part with what the harness's reader finds
        start = file.read(ends[99])
    need(record_ends(start) == ends[:100], "the input has other records than it should")
    return ends


def split(program, path, out, group):
    """Returns the exit status, the events about pieces, and the messages."""
    os.makedirs(out, exist_ok=True)
    command = [program, "split", "-n", str(PIECES), "--json", "-o", os.path.join(out, "{i}.csv"), path]
    try:
        run = subprocess.run(command, capture_output=True, check=False, preexec_fn=group.enter, timeout=2 * TIMEOUT_S)
    except subprocess.TimeoutExpired:
        raise Failure("it hangs") from None
    events = [json.loads(line) for line in run.stdout.splitlines()]
    return run.returncode, [event for event in events if event["event"] == "piece"], run.stderr.decode()


def expect_pieces(path, ends, out, events):
    ranges = pieces_of_number(ends, PIECES)
    names = ["%d.csv" % number for number in range(1, PIECES + 1)]
    need(sorted(os.listdir(out)) == names, "there are %s" % sorted(os.listdir(out)))
    with open(path, "rb") as file:
        for name, (start, end) in zip(names, ranges, strict=True):
            file.seek(start)
            need(read(os.path.join(out, name)) == HEADER + file.read(end - start), "%s has other bytes" % name)
    number_of = {end: number for number, end in enumerate(ends)}   # offset -> the number of records before it
    wanted = [(start, end - start, number_of[start] + 1, number_of[end] - number_of[start], len(HEADER) + end - start)
              for start, end in ranges]
    told = [tuple(event[key] for key in ("start", "length", "first_record", "records", "size")) for event in events]
    need(told == wanted, "the events name other pieces: %s, not %s" % (told, wanted))


def check_by_value(program):
    """Pieces for commands that run one after the other are first grouped in a temporary file, in windows of 64 MiB."""
    chance, wanted = random.Random(2), {}
    with Group() as group, tempfile.TemporaryDirectory(dir="/var/tmp") as directory:
        path = os.path.join(directory, "in.csv")
        with open(path, "wb") as file:
            size = file.write(HEADER)
            while size < SIZE:
                length = chance.choice([100] * 20 + [10_000] * 10 + [3 << 20])   # the longest do not fit into a buffer
                line = b'%d,"%s\n"\n' % (chance.randrange(5), chance.randbytes(length // 2).hex().encode())
                wanted.setdefault(line[:1].decode(), []).append(line)
                size += file.write(line)
        need_sight(drop(path), "the file stays in memory")
        names = os.path.join(directory, "{value}")
        command = [program, "split", "--by", "id", "--filter", "cat >$FILE", "-o", names, path]
        run = subprocess.run(command, capture_output=True, check=False, preexec_fn=group.enter, timeout=2 * TIMEOUT_S)
        need(run.returncode == 0, "exit %d, %s" % (run.returncode, run.stderr.decode()))
        for value, lines in wanted.items():
            need(read(os.path.join(directory, value)) == HEADER + b"".join(lines), "the piece %s differs" % value)


def check(program, is_sound):
    with Group() as group, tempfile.TemporaryDirectory(dir="/var/tmp") as directory:
        path, out = os.path.join(directory, "in.csv"), os.path.join(directory, "out")
        ends = make_input(path)
        if not is_sound:
            with open(path, "ab") as file:
                file.write(b'0,"')
        need_sight(drop(path), "the file stays in memory")
        code, events, message = split(program, path, out, group)
        if is_sound:
            need(code == 0, "exit %d, %s" % (code, message))
            expect_pieces(path, ends, out, events)
            return
        # An open quote is not found until the end. By then, a run that cuts the file while it reads has finished some
        # pieces.
        need(code == 3 and "quote" in message, "exit %d, %s" % (code, message))
        need(len(events) == PIECES - 1, "the file was not cut as it was read: %d pieces were made" % len(events))
        need(os.listdir(out) == [], "left behind: %s" % os.listdir(out))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cleave", required=True)
    program = os.path.abspath(parser.parse_args().cleave)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated"))   # so that the group is removed
    tally = Tally()
    tally.run("A file that does not fit into memory", lambda: check(program, True))
    tally.run("A file that does not fit into memory, with a quote that stays open", lambda: check(program, False))
    tally.run("A file that does not fit into memory, by value", lambda: check_by_value(program))
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
