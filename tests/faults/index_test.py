#!/usr/bin/env python3
"""cleave index and cleave join when the output cannot be written, calls fail, and runs are killed; and the verbs that
use an index under the same conditions.

  index_test.py --cleave PATH [--only SUBSTRING] [--rounds N] [--seed N] [-v]
"""
import concurrent.futures
import contextlib
import itertools
import os
import re
import resource
import shutil
import signal
import sys
import tempfile
import time

from harness import (Failure, expect_exit, finish, main, make_input, need, need_sight, read, record_ends, snapshot,
                     stop_while_reading, write)
from nth_call_test import CALLS, FIRST_TRIES, RUNTIME_CALLS

DATA = make_input(3 << 19, seed=3)
ENDS = record_ends(DATA)
COUNT = b"%d\n" % (len(ENDS) - 1)
STEP = 1 << 20


class Site:
    """A folder with a file, possibly an index of it, and two pieces of the file."""

    def __init__(self, bench, folder=None, data=DATA):
        self.bench = bench
        self.folder = folder or tempfile.mkdtemp(dir=bench.root)
        self.input = write(os.path.join(self.folder, "in.csv"), data)
        self.index = self.input + ".cleave"
        middle = ENDS[len(ENDS) // 2]
        if data is DATA:
            write(os.path.join(self.folder, "a.csv"), DATA[:middle])
            write(os.path.join(self.folder, "b.csv"), DATA[:ENDS[0]] + DATA[middle:])

    @property
    def joining(self):
        return ["join", "--quiet", "-o", os.path.join(self.folder, "joined"), *(
            os.path.join(self.folder, name) for name in ("a.csv", "b.csv"))]

    @property
    def joined(self):
        return os.path.join(self.folder, "joined")

    @property
    def indexing(self):
        return ["index", "--quiet", "-j", "1", self.input]

    def make(self):
        expect_exit(self.bench.run(self.indexing), 0)

    def expect_good(self):
        """Expects the index to exist and to be complete and right, according to the harness's own reading of the
        file."""
        data = read(self.index)
        number = lambda at, size=8: int.from_bytes(data[at:at + size], "little")
        need(len(data) == number(len(data) - 16) == 144 + 16 * number(112), "the index is not complete")
        need(number(24) == len(DATA) and number(72) == len(ENDS) and number(56) == ENDS[0], "its head is wrong")
        starts = [0, *ENDS[:-1]]
        at = 0
        for entry in range(number(112)):
            while at < len(starts) and starts[at] < entry * STEP:
                at += 1
            need((number(128 + 16 * entry), number(136 + 16 * entry)) == (starts[at], at), "entry %d is wrong" % entry)

    def remove(self):
        shutil.rmtree(self.folder, ignore_errors=True)


def refused(bench, site, command, text, **more):
    before = snapshot(site.folder)
    run = bench.run(command, **more)
    expect_exit(run, 1, text)
    need(snapshot(site.folder) == before, "the folder is not as it was")


def disk_full(bench):
    """The disk is full"""
    with bench.mounted("-t", "tmpfs", "-o", "size=8m", "tmpfs") as folder:
        site = Site(bench, folder)
        for old in (False, True):
            if old:
                site.make()
                write(site.joined, b"old")
            with contextlib.suppress(OSError), open(os.path.join(folder, "filler"), "wb", buffering=0) as filler:
                while filler.write(b"x" * 4096):
                    pass
            refused(bench, site, site.indexing, "No space left on device")
            refused(bench, site, [*site.joining[:1], "-f", *site.joining[1:]] if old else site.joining,
                    "No space left on device")
            os.unlink(os.path.join(folder, "filler"))


def file_size_limit(bench):
    """A limit on the size of files"""
    bench.need_plain_binary("its runtime writes files, too")
    site = Site(bench)
    for old in (False, True):
        if old:
            site.make()
        for size in (0, 1, 100):
            refused(bench, site, site.indexing, "File too large", limits=[(resource.RLIMIT_FSIZE, size)])
        refused(bench, site, site.joining, "File too large", limits=[(resource.RLIMIT_FSIZE, 1 << 20)])
    site.remove()


def forbidden(bench):
    """The folder is not writable"""
    bench.need_root()
    site = Site(bench)
    os.chmod(bench.root, 0o755)
    os.chmod(site.folder, 0o755)
    wrap = [bench.need_tool("setpriv"), "--reuid=65534", "--regid=65534", "--clear-groups"]
    refused(bench, site, site.indexing, "Permission denied", wrap=wrap)
    refused(bench, site, site.joining, "Permission denied", wrap=wrap)
    site.make()
    for owner, code in ((0, 0), (12345, 4)):
        os.chown(site.index, owner, owner)
        expect_exit(bench.run(["count", "--index", "require", site.input], wrap=wrap), code)
    site.remove()


def every_byte(bench):
    """Each byte of an index is damaged, and each end is cut off: the count is right, and one line reports the damage"""
    site = Site(bench)
    site.make()
    good = read(site.index)
    bad = [good[:at] + bytes([good[at] ^ 0x40]) + good[at + 1:] for at in range(len(good))]
    bad += [good[:size] for size in range(len(good))] + [good + b"\0"]
    for data in bad:
        write(site.index, data)
        run = bench.run(["count", site.input])
        need(run.code == 0 and run.stdout == COUNT, str(run))
        need(len(re.findall(rb"^cleave: .*in\.csv\.cleave: not used: .+$", run.stderr, re.M)) == 1, str(run))
    bench.note("%d damaged indexes" % len(bad))
    write(site.index, good)
    expect_exit(bench.run(["index", "--verify", "--quiet", site.input]), 0)
    site.remove()


def each_call(bench, make_command, prepare, judge, kind=Site, usual_step=1):
    """Makes each call of the command fail, for every n, in a new site of that kind; with --rounds 1 for every
    `usual_step`-th n. `judge(site, before, run, call)` raises Failure."""
    strace, step = bench.need_tool("strace"), usual_step if bench.scale == 1 else 1

    def traced(site, *words):
        trace = os.path.join(bench.root, "trace." + os.path.basename(site.folder))
        run = bench.run(make_command(site), wrap=[strace, "-f", "--seccomp-bpf", "-qq", "-o", trace, *words, "-E",
                                                  "ASAN_OPTIONS=detect_leaks=0"])
        with open(trace, errors="replace") as file:
            return run, file.read()

    site = kind(bench)
    prepare(site)
    _, text = traced(site, "-e", "trace=" + ",".join("?" + call for call in CALLS))
    site.remove()
    made = set(re.findall(r"^\d+ +(\w+)\(", text, re.MULTILINE))
    calls = [call for call in CALLS if call in made and not (bench.sanitized and call in RUNTIME_CALLS)]
    need(calls, "it makes none of the calls")

    def fail_each(call, error):
        failed, tries, site = 0, 0, None
        while True:
            nth = failed * step + 1
            if site is None or snapshot(site.folder) != before:
                if site is not None:
                    site.remove()
                site = kind(bench)
                prepare(site)
                before = snapshot(site.folder)
            run, text = traced(site, "-e", "trace=fcntl," + call, "-e", "inject=%s:error=%s:when=%d" % (call, error, nth))
            try:
                if "(INJECTED)" not in text:
                    tries += 1
                    if failed > 0 or tries == FIRST_TRIES:
                        break
                    continue
                failed += 1
                if run.code != 0 and "fcntl(0, F_GETFD" not in text:   # it failed before main()
                    need(snapshot(site.folder) == before, "the folder is not as it was")
                else:
                    judge(site, before, run, call)
            except Failure as failure:
                raise Failure("%s:%s:%d: %s" % (call, error, nth, failure)) from None
        site.remove()
        return failed

    work = [(call, error) for call in calls for error in CALLS[call][:1 if bench.sanitized else None]]
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        counts = list(pool.map(lambda item: fail_each(*item), work))
    bench.note("%d runs with a failing call" % sum(counts))
    spared = ["%s:%s" % item for item, count in zip(work, counts) if count == 0]
    need(not spared, "never made to fail: %s" % ", ".join(spared))


REMOVING = ("unlinkat", "unlink", "renameat2", "renameat")


def judge_writer(good, names):
    """Expects all or nothing in the files `names`; hidden files may stay where removing them failed."""
    def judge(site, before, run, call):
        need(run.code >= 0, "it died of signal %d" % -run.code)
        after = snapshot(site.folder)
        hidden = {name for name in after if name.startswith(".cleave-")}
        need(not hidden or call in REMOVING, "left behind: %s" % hidden)
        changed = {name for name in (after.keys() | before.keys()) - hidden if after.get(name) != before.get(name)}
        if run.code == 0:
            need(changed <= names, "changed: %s" % changed)
            good(site)
        else:
            need(run.code == 1 and (run.message.startswith("cleave: ") or call == "write"), str(run))
            need(not changed, "changed: %s" % changed)
    return judge


def failing_index(bench):
    """The n-th call of cleave index fails"""
    each_call(bench, lambda site: site.indexing, lambda site: None,
              judge_writer(Site.expect_good, {"in.csv.cleave"}))


def failing_replacement(bench):
    """The n-th call of cleave index fails, over an older index"""
    def prepare(site):
        site.make()
        os.utime(site.input)
    each_call(bench, lambda site: site.indexing, prepare, judge_writer(Site.expect_good, {"in.csv.cleave"}), usual_step=3)


def failing_join(bench):
    """The n-th call of cleave join fails"""
    def good(site):
        need(read(site.joined) == DATA, "it is not the file")
    each_call(bench, lambda site: site.joining, lambda site: None, judge_writer(good, {"joined"}))


def failing_use(bench):
    """The n-th call of a run that uses an index fails"""
    def judge(site, before, run, call):
        need(run.code >= 0, "it died of signal %d" % -run.code)
        need(snapshot(site.folder) == before, "the folder is not as it was")
        need(run.code == 0 and run.stdout == COUNT or run.code == 1 and not run.stdout, str(run))
    each_call(bench, lambda site: ["count", "--quiet", "-j", "1", site.input], Site.make, judge)


def killed(bench):
    """INT, TERM and KILL at random moments; then the same command again"""
    chance = bench.random(5)
    site = Site(bench)
    began = time.monotonic()
    finish(bench.start(site.indexing))
    seconds = time.monotonic() - began
    site.remove()
    in_time, wanted = 0, bench.rounds(60) // 10
    for round_ in itertools.count():
        if round_ >= bench.rounds(60) and in_time >= wanted:
            break
        need_sight(round_ < 40 * bench.rounds(60), "only %d signals came in time" % in_time)
        site = Site(bench)
        if round_ % 2:
            site.make()
            os.utime(site.input)
        before = snapshot(site.folder)
        command, path = ((site.indexing, site.index), (site.joining, site.joined))[round_ // 2 % 2]
        number = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)[round_ % 3]
        process = bench.start(command)
        if round_ % 8 < 2:   # any other moment may be after the end of the run
            stop_while_reading(process, site.input)
        else:
            time.sleep(chance.random() * seconds)
        process.send_signal(number)
        process.send_signal(signal.SIGCONT)
        run = finish(process)
        need(run.code in (0, -number), str(run))
        in_time += run.code != 0
        after = snapshot(site.folder)
        name = os.path.basename(path)
        if number != signal.SIGKILL and run.code != 0:
            need(after == before, "the folder is not as it was")
        for other in after.keys() - {name}:
            need(after[other] == before.get(other) or other.startswith(".cleave-"), "changed: " + other)
        if after.get(name) != before.get(name):
            site.expect_good() if path == site.index else need(read(path) == DATA, "it is not the file")
        if path == site.joined and os.path.exists(path):
            os.unlink(path)
        expect_exit(bench.run(command), 0)
        site.expect_good() if path == site.index else need(read(path) == DATA, "it is not the file")
        hidden = [name for name in os.listdir(site.folder) if name.startswith(".cleave-")]
        need(not hidden, "left behind: %s" % hidden)
        site.remove()


def at_once(bench):
    """Several runs write the index of the same file at once"""
    for _ in range(bench.rounds(20)):
        site = Site(bench)
        runs = [finish(process) for process in [bench.start(site.indexing) for _ in range(4)]]
        need({run.code for run in runs} <= {0, 1} and any(run.code == 0 for run in runs), str([str(r) for r in runs]))
        site.expect_good()
        need(sorted(os.listdir(site.folder)) == ["a.csv", "b.csv", "in.csv", "in.csv.cleave"], "left behind")
        site.remove()


def changed_under_way(bench):
    """The file changes while it is indexed, and while its index is used"""
    data = DATA * 24
    site = Site(bench, data=data)
    noticed = 0
    for round_ in range(bench.rounds(30)):
        write(site.input, data)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(site.index)
        process = bench.start(site.indexing)
        time.sleep(round_ % 10 * 0.001)
        with open(site.input, "r+b") as file:
            file.seek(len(data) // 2)
            file.write(b'"\n"')
        run = finish(process)
        need(run.code in (0, 3, 4), str(run))
        noticed += run.code != 0
        right = bench.run(["count", "--quiet", "--index", "never", "--allow-open-quote", site.input])
        found = bench.run(["count", "--quiet", "--allow-open-quote", site.input])
        need((found.code, found.stdout) == (right.code, right.stdout), "the index is believed: %s" % found)
    bench.note("%d changes were noticed by cleave index itself" % noticed)
    site.remove()


CHECKS = [disk_full, file_size_limit, forbidden, every_byte, failing_index, failing_replacement, failing_join,
          failing_use, killed, at_once, changed_under_way]

if __name__ == "__main__":
    sys.exit(main(__doc__, CHECKS))
