#!/usr/bin/env python3
"""Compressed files that are damaged, changed or cut off while they are read, or read while calls fail; and the same for
the index of a gzip file.

  gzip_test.py --cleave PATH [--only SUBSTRING] [--rounds N] [--seed N] [-v]
"""
import bz2
import contextlib
import functools
import gzip
import lzma
import os
import re
import shutil
import signal
import sys
import tempfile
import time

from harness import (Place, expect_clean, expect_exit, expect_whole, finish, main, make_input, need, need_sight, read,
                     record_ends, snapshot, stop_while_reading, write)
from index_test import each_call, judge_writer
from nth_call_test import Subject, fail_all, small_job

FORMATS = {"gz": lambda data: gzip.compress(data, 1), "bz2": bz2.compress, "xz": lambda data: lzma.compress(data, preset=0)}
# The text between two places from which a gzip file can be read is 2 MiB, because it shrinks to less than two fifths.
DATA = make_input(9 << 19, seed=4)

ENDS = record_ends(DATA)
GZIP = FORMATS["gz"](DATA)


@functools.lru_cache(maxsize=3)
def encoded(name, data):
    return FORMATS[name](data)


class Compressed(Place):
    """A Place whose input is compressed."""

    def __init__(self, bench, job, name, data=None):
        super().__init__(bench, job)
        self.input = write(os.path.join(self.root, "in.csv." + name), data or encoded(name, job.data))


def changing(bench, name, change, threads):
    """Starts a split, stops it while it reads, and changes its input. Returns how it ended, or None if it ended before
    that. Expects that all pieces are whole, or that nothing is left."""
    place = Compressed(bench, bench.job(4 << 20), name)
    before = snapshot(place.out)
    process = bench.start(place.command("-j", threads))
    if not stop_while_reading(process, place.input):
        finish(process)
        place.remove()
        return None
    change(place.input)
    process.send_signal(signal.SIGCONT)
    run = finish(process)
    if run.code == 0:
        expect_whole(place.job, place.out)
    else:
        expect_clean(before, place.out)
    place.remove()
    return run


def stopped(bench, change, judge):
    ended = 0
    for name in FORMATS:
        for round_ in range(bench.rounds(4)):
            run = changing(bench, name, change, "14"[round_ % 2])
            if run is not None:
                judge(run)
                ended += 1
    bench.note("%d runs were stopped in time" % ended)
    need_sight(ended > 0, "no run was stopped in time")


def cut_off(bench):
    """A compressed file becomes shorter while it is read"""
    def judge(run):
        need(run.code == 4 and "input truncated while reading" in run.message, str(run))
    stopped(bench, lambda path: os.truncate(path, os.path.getsize(path) // 2), judge)


def rewritten(bench):
    """A byte of a compressed file changes while it is read"""
    def change(path):
        with open(path, "r+b") as file:
            file.seek(-os.path.getsize(path) // 3, os.SEEK_END)
            byte = file.read(1)
            file.seek(-1, os.SEEK_CUR)
            file.write(bytes([byte[0] ^ 0x10]))

    def judge(run):
        need(run.code == 4 and "modified while it was read" in run.message, str(run))
    stopped(bench, change, judge)


def damaged(bench):
    """Damaged and shortened compressed files: a run fails and leaves nothing"""
    chance = bench.random(1)
    for name, encode in FORMATS.items():
        job = small_job(bench, size=100 << 10)
        whole = encode(job.data)
        for round_ in range(bench.rounds(24)):
            at = chance.randrange(1, len(whole))
            data = whole[:at] if round_ % 2 else whole[:at] + bytes([whole[at] ^ 1 << chance.randrange(8)]) + whole[at + 1:]
            place = Compressed(bench, job, name, data)
            before = snapshot(place.out)
            run = bench.run(place.command("-j", "14"[round_ // 2 % 2]))
            if run.code == 0:   # a bit of the header that says nothing of the text
                expect_whole(job, place.out)
                need(round_ % 2 == 0 and at < 24, "byte %d of %d does not matter" % (at, len(whole)))
            else:
                need(run.code == 3 and run.message.startswith("cleave: "), str(run))
                expect_clean(before, place.out)
            place.remove()


class FromFile(Subject):
    """A split of a compressed file."""

    def new_place(self):
        place = super().new_place()
        place.input = write(os.path.join(place.root, "in.csv.gz"), self.encode(self.job.data))
        return place


def failing_split(bench):
    """The n-th call of a split of a compressed file fails"""
    calls = ["openat", "read", "preadv2", "pread64", "mmap", "clone3", "newfstatat", "lseek"]
    small, large = small_job(bench), small_job(bench, size=1 << 20)   # only a large file is read on several threads
    for job, name, options in ((small, "gz", ["-j", "1"]), (large, "gz", ["-j", "4"]), (small, "xz", ["-j", "2"])):
        fail_all(bench, FromFile(bench, job, *options, calls=calls, encode=FORMATS[name]))


class Site:
    """A folder with a gzip file, and possibly its index."""

    def __init__(self, bench, folder=None):
        self.bench = bench
        self.folder = folder or tempfile.mkdtemp(dir=bench.root)
        self.input = write(os.path.join(self.folder, "in.csv.gz"), GZIP)
        self.index = self.input + ".cleave"

    @property
    def indexing(self):
        return ["index", "--quiet", "-j", "1", self.input]

    @property
    def using(self):
        """Reads the last of four pieces."""
        return ["cat", "--quiet", "-H", "-j", "1", "-n", "4/4", self.input]

    def make(self):
        expect_exit(self.bench.run(self.indexing), 0)

    def expect_good(self):
        """Expects the index to be complete, and what is read by it to be right."""
        data = read(self.index)
        number = lambda at: int.from_bytes(data[at:at + 8], "little")
        need(len(data) == number(len(data) - 16), "the index is not complete")
        need([number(at) for at in (24, 56, 72, 128)] == [len(DATA), ENDS[0], len(ENDS), len(GZIP)], "its head is wrong")
        need(number(136) >= 2, "it has %d checkpoints" % number(136))
        need(os.stat(self.index).st_mode & 0o777 == 0o600, "others may read it")
        run = self.bench.run([*self.using, "--index", "require"])
        need((run.code, run.stdout) == (0, LAST), "by the index, other bytes are read")

    def remove(self):
        shutil.rmtree(self.folder, ignore_errors=True)


LAST = DATA[next(end for end in ENDS if end >= len(DATA) * 3 // 4):]   # -H: the header is a record, too


def disk_full(bench):
    """The disk is full when the index of a gzip file is written"""
    with bench.mounted("-t", "tmpfs", "-o", "size=8m", "tmpfs") as folder:
        site = Site(bench, folder)
        with contextlib.suppress(OSError), open(os.path.join(folder, "filler"), "wb", buffering=0) as filler:
            while filler.write(b"x" * 4096):
                pass
        before = snapshot(folder)
        expect_exit(bench.run(site.indexing), 1, "No space left on device")
        need(snapshot(folder) == before, "the folder is not as it was")


def failing_index(bench):
    """The n-th call of cleave index fails, for a gzip file"""
    each_call(bench, lambda site: site.indexing, lambda site: None, judge_writer(Site.expect_good, {"in.csv.gz.cleave"}),
              Site, usual_step=3)


def failing_use(bench):
    """The n-th call of a run that reads a gzip file by its index fails"""
    def judge(site, before, run, call):
        need(run.code >= 0, "it died of signal %d" % -run.code)
        need(snapshot(site.folder) == before, "the folder is not as it was")
        need(LAST.startswith(run.stdout), "it prints other bytes")
        need(run.code == 0 and run.stdout == LAST or run.code in (1, 4), str(run))
    each_call(bench, lambda site: site.using, Site.make, judge, Site, usual_step=3)


def damaged_index(bench):
    """Bytes of the index of a gzip file are damaged or missing: no other bytes are read"""
    site = Site(bench)
    site.make()
    good, chance = read(site.index), bench.random(2)
    refused = 0
    for round_ in range(bench.rounds(300)):
        at = chance.randrange(len(good)) if round_ >= 200 else round_
        bad = good[:at] if round_ % 10 == 9 else good[:at] + bytes([good[at] ^ 1 << chance.randrange(8)]) + good[at + 1:]
        write(site.index, bad)
        run = bench.run([word for word in site.using if word != "--quiet"])
        if run.code == 0:   # it was not used, or this part of it was not
            need(run.stdout == LAST, "it prints other bytes")
            refused += b".cleave: not used: " in run.stderr
        else:
            need(run.code == 4 and LAST.startswith(run.stdout), str(run))
    need(refused >= bench.rounds(300) // 2, "only %d were refused" % refused)
    bench.note("%d refused at once" % refused)
    site.remove()


def killed(bench):
    """INT and KILL while a gzip file is indexed; then the same command again"""
    chance = bench.random(3)
    site = Site(bench)
    began = time.monotonic()
    site.make()
    seconds = time.monotonic() - began
    in_time = 0
    for round_ in range(bench.rounds(40)):
        if round_ % 2 == 0:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(site.index)
        before = snapshot(site.folder)
        number = (signal.SIGINT, signal.SIGKILL)[round_ // 2 % 2]
        process = bench.start(site.indexing)
        if round_ % 5 == 0:   # any other moment may be after the end of the run
            stop_while_reading(process, site.input)
        else:
            time.sleep(chance.random() * seconds)
        process.send_signal(number)
        process.send_signal(signal.SIGCONT)
        run = finish(process)
        need(run.code in (0, -number), str(run))
        in_time += run.code != 0
        if run.code == -signal.SIGINT:
            need(snapshot(site.folder) == before, "the folder is not as it was")
        if os.path.exists(site.index):
            site.expect_good()
        site.make()
        site.expect_good()
        need(sorted(os.listdir(site.folder)) == ["in.csv.gz", "in.csv.gz.cleave"], "left behind")
    need_sight(in_time > 0, "no signal came in time")


def another_file(bench):
    """A gzip file is replaced or changed after it was indexed, or while it is read by its index"""
    site = Site(bench)
    other = FORMATS["gz"](DATA.replace(b"plain", b"PLAIN"))
    for in_place in (False, True):
        write(site.input, GZIP)
        site.make()
        process = bench.start(site.using)
        is_stopped = stop_while_reading(process, site.input)
        if in_place:
            write(site.input, other)
        else:
            os.replace(write(site.input + ".new", other), site.input)
        process.send_signal(signal.SIGCONT)
        run = finish(process)
        need(LAST.startswith(run.stdout) and run.code in (0, 4), str(run))
        need(not (in_place and is_stopped) or run.code == 4, "a change is not noticed")
        run = bench.run([word for word in site.using if word != "--quiet"])
        need(run.code == 0 and run.stdout == LAST.replace(b"plain", b"PLAIN"), "it is not the new text")
        need(re.search(rb"in\.csv\.gz\.cleave: not used: ", run.stderr), str(run))
    site.remove()


CHECKS = [cut_off, rewritten, damaged, failing_split, disk_full, failing_index, failing_use, damaged_index, killed,
          another_file]

if __name__ == "__main__":
    sys.exit(main(__doc__, CHECKS))
