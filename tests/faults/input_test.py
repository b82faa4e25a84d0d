#!/usr/bin/env python3
"""The input changes during the run: it is truncated, grown, rewritten or replaced while it is read, or reading fails.

  input_test.py --cleave PATH [--only SUBSTRING] [--rounds N] [--seed N]

--only runs the checks whose names contain SUBSTRING. --rounds is the number of attempts in checks that depend on
timing. Checks that this machine or user cannot carry out are skipped.
"""
import argparse
import contextlib
import filecmp
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

from harness import (TIMEOUT_S, Failure, Inconclusive, Skip, Tally, need, need_sight, read, stop_while_reading,
                     wait_until)
import mounts   # harness.py has put its folder on the path

MIB = 1 << 20
SIZE = 64 * MIB    # the size of an input that another process changes
RECORD = 256 << 10
QUOTED = 20
TRUNCATED = "input truncated while reading"
CHANGED = "the input was modified while it was read (its mtime or size changed)"
GREW = "input grew while reading"
UNREADABLE = "Input/output error"


# Options for runs that change records.
RULES = ["--quiet", "-d", ",", "--redact", "rest: mask(last=1)", "--redact", 'text: fixed("x, y") if id = 000000007',
         "--redact", "text: keep"]
UNDER_RULES = [["cat", *RULES], ["cat", "-n", "2/3", "--select", "!text", "--quiet"], ["split", "-C", "1M", *RULES],
               ["split", "-n", "3", "--select", "rest,id", *RULES[:5]], ["split", "-l", "20", "--resume", *RULES],
               ["check", *RULES]]


def make_input(path, size):
    """Writes long records that consist almost entirely of holes: the file is created immediately, yet the kernel must
    fill every page when it is read. There is a quoted field QUOTED bytes before each multiple of RECORD."""
    with open(path, "wb") as file:
        file.write(b"id,text,rest\n0,,")
        for i, at in enumerate(range(RECORD, size, RECORD)):
            file.seek(at - QUOTED - 10)
            file.write(b'\n%09d,"a\n""b",x' % i)
        file.truncate(size)
    return path


class Run:
    """A running command. `out` is where split puts its pieces."""

    def __init__(self, cleave, directory, *words, stdin=None, limits=()):
        self.out = os.path.join(directory, "out")
        shutil.rmtree(self.out, ignore_errors=True)
        os.mkdir(self.out)
        if words[0] == "split":
            words += ("-o", self.out + "/{i:5}")
        self.words = words
        # A process that is stopped while it looks for leaks never ends: its tracer waits in a loop.
        self.process = subprocess.Popen(
            [cleave, *words], stdin=subprocess.DEVNULL if stdin is None else stdin, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0"},
            preexec_fn=(lambda: [resource.setrlimit(*limit) for limit in limits]) if limits else None)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()

    def finish(self):
        try:
            self.stdout, stderr = self.process.communicate(timeout=TIMEOUT_S)
        except subprocess.TimeoutExpired:
            raise Failure("%s hangs" % (self.words,)) from None
        self.code, self.stderr = self.process.returncode, stderr.decode(errors="replace")
        return self

    def pieces(self):
        return [os.path.join(self.out, name) for name in sorted(os.listdir(self.out))]

    def joined(self):
        return b"".join(read(path) for path in self.pieces())

    def expect(self, code, message=""):
        """Checks the exit status and the message after the name of the input; a run that failed leaves nothing."""
        need(self.code == code, "%s: exit %s, not %d: %s" % (self.words, self.code, code, self.stderr[:2000]))
        if code != 0:
            name = "stdin" if self.words[-1] == "-" or "-" in self.words else self.words[1]
            need(self.stderr == "cleave: %s: %s\n" % (name, message), "%s: says %r" % (self.words, self.stderr))
            need(self.pieces() == [], "%s: something is left: %s" % (self.words, self.pieces()))
            need(self.words[0] in ("cat", "offsets") or self.stdout == b"", "%s: prints %r" % (self.words, self.stdout))
        return self

    def go_on(self):
        self.process.send_signal(signal.SIGCONT)
        return self.finish()


class Tests:
    def __init__(self, cleave, directory, rounds, seed):
        self.cleave, self.directory, self.rounds, self.seed = cleave, directory, rounds, seed
        self.random = random.Random(seed)
        self.notes = ""

    def path(self, name):
        return os.path.join(self.directory, name)

    def run(self, *words, **options):
        with Run(self.cleave, self.directory, *words, **options) as run:
            return run.finish()

    # Truncation at any moment.

    def truncated(self, words, size, is_whole):
        """Truncates the input repeatedly, at random moments and while the run is stopped after it began to read. For a
        run that succeeds, `is_whole` checks the result."""
        path = self.path("in.csv")
        taken = min(self.time_untouched(words, size) for _ in range(3))
        hits = 0
        for i in range(self.rounds):
            make_input(path, size)
            threads, length = ("1", "4")[i % 2], (4096, 0)[i // 2 % 2]
            with Run(self.cleave, self.directory, words[0], path, *words[1:], "-j", threads) as run:
                if i % 3 == 2:
                    stop_while_reading(run.process, path)
                else:
                    time.sleep(self.random.uniform(0, taken))
                os.truncate(path, length)
                run.go_on()
            if run.code == 0:
                need(is_whole(run, read(path)), "%s: exit 0, and not whole" % (run.words,))
            else:
                # The file may be opened during the truncation, with the new size and the old times. Then only its
                # times change.
                run.expect(4, CHANGED if CHANGED in run.stderr else TRUNCATED)
                hits += 1
            os.unlink(path)
        self.notes = "%d of %d runs ended with 4" % (hits, self.rounds)
        need_sight(hits > 0, "no run was hit")

    def time_untouched(self, words, size):
        path = make_input(self.path("in.csv"), size)
        began = time.monotonic()
        self.run(words[0], path, *words[1:]).expect(0)
        taken = time.monotonic() - began
        os.unlink(path)
        return taken

    def truncated_while_counted(self):
        size = 128 * MIB
        records = b"%d\n" % (size // RECORD)
        # If the file is opened after the truncation, it holds the header and the beginning of a record, or nothing.
        self.truncated(["count"], size, lambda run, _: run.stdout in (records, b"1\n", b"0\n"))

    def truncated_while_split(self):
        size = 64 * MIB
        make_input(self.path("whole.csv"), size)
        whole = [shutil.copy(path, self.path("whole.%d" % i)) for i, path in
                 enumerate(self.run("split", self.path("whole.csv"), "-H", "-n", "5").expect(0).pieces())]

        def is_whole(run, short):
            pieces = run.pieces()
            if sum(map(os.path.getsize, pieces)) == len(short):
                return run.joined() == short
            return all(filecmp.cmp(a, b, shallow=False) for a, b in zip(pieces, whole, strict=True))

        self.truncated(["split", "-H", "-n", "5"], size, is_whole)

    # Changes while the command is stopped midway.

    def while_stopped(self, change, judge, verbs=None, stdin=False, limits=()):
        verbs = verbs or [["count"], ["check"], ["offsets", "-l", "20"], ["cat", "-n", "2/3"],
                          ["split", "-H", "-C", "1M"], ["split", "-n", "3", "--dry-run"], *UNDER_RULES]
        for i, words in enumerate(verbs):
            self.one_while_stopped([*words, "-j", ("1", "4")[i % 2]], change, judge, stdin, limits)

    def one_while_stopped(self, words, change, judge, stdin, limits):
        path, copy = self.path("in.csv"), self.path("copy.csv")
        for _ in range(20):
            for old in (path, copy):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(old)
            make_input(path, SIZE)
            with contextlib.ExitStack() as stack:
                file = stack.enter_context(open(path, "rb")) if stdin else None
                run = stack.enter_context(Run(self.cleave, self.directory, words[0], "-" if stdin else path,
                                              *words[1:], stdin=file, limits=limits))
                if not stop_while_reading(run.process, path):
                    continue
                change(path)
                run.go_on()
            judge(run)
            return
        raise Inconclusive("%s is too fast to be stopped" % (words,))

    @staticmethod
    def write_at(path, offset):
        with open(path, "r+b") as file:
            file.seek(offset)
            file.write(b"\n7,8\n")

    def expect_changed(self, change, **options):
        self.while_stopped(change, lambda run: run.expect(4, CHANGED), **options)

    def appended_to(self):
        self.while_stopped(lambda path: self.write_at(path, os.path.getsize(path)), lambda run: run.expect(4, GREW))

    # An input that grows, read as it was when it was opened.

    def appended_to_a_snapshot(self):
        """Every verb treats the input like a file that ends with the last complete record of the snapshot."""
        verbs = [["count"], ["check", "--allow-open-quote", "--allow-ragged"], ["offsets", "-l", "20"],
                 ["cat", "-n", "2/3"], ["split", "-H", "-C", "1M"], ["split", "-H", "-n", "3"], ["split", "-n", "3", "--dry-run"]]
        path = make_input(self.path("in.csv"), SIZE)
        with open(path, "r+b") as file:
            end = read(path).rindex(b"\n%09d" % (SIZE // RECORD - 2)) + 1
            file.truncate(end)
        whole = read(path)
        plain = {tuple(words): self.run(words[0], path, *words[1:]).expect(0).stdout for words in verbs}
        said = "cleave: %s: left out %d bytes from byte %d on: the last record is incomplete\n" % (
            path, SIZE - end, end)

        def judge(run):
            run.expect(0)
            words = tuple(word for word in run.words if word not in (path, "-o", self.path("out/{i:5}")))
            words = words[:words.index("--snapshot")]
            need(run.stderr == said, "%s: says %r" % (run.words, run.stderr))
            need(run.stdout == plain[words], "%s: prints %r" % (run.words, run.stdout[:2000]))
            if "-H" in words:
                need(run.joined() == whole, "%s: the pieces are not whole" % (run.words,))

        snapshots = [[*words, "--snapshot"] for words in verbs]
        self.while_stopped(lambda path: self.write_at(path, os.path.getsize(path)), judge, verbs=snapshots)

    def truncated_snapshot(self):
        self.while_stopped(lambda path: os.truncate(path, SIZE - 1), lambda run: run.expect(4, TRUNCATED),
                           verbs=[["count", "--snapshot"], ["split", "-l", "50", "--snapshot"]])

    def appended_to_all_the_time(self):
        """Parts that begin and end anywhere are appended. A snapshot has only complete records, in order."""
        size = 22   # the size of each record
        text = b"id,text\n" + b"".join(b'%09d,"a\n""b,""c"\n' % i for i in range(1000000))
        path, done = self.path("in.csv"), threading.Event()
        with open(path, "wb") as file:
            file.write(text[:2 * MIB])

        def write():
            chance, at = random.Random(self.seed + 2), 2 * MIB
            with open(path, "ab", buffering=0) as file:
                while not done.is_set() and at < len(text):
                    at += file.write(text[at:at + chance.randrange(1, 3000)])
                    time.sleep(0.0002)

        def records(bytes_):
            need(bytes_ == text[:len(bytes_)] and len(bytes_) % size == 8, "not the first records")
            return len(bytes_) // size

        writer = threading.Thread(target=write)
        writer.start()
        grown = 0
        try:
            for i in range(self.rounds):
                before = os.path.getsize(path)
                words = (["count"], ["check"], ["offsets", "-H", "-n", "3"], ["cat", "-H", "-n", "1/1"],
                         ["split", "-H", "-C", "50K"], ["split", "-H", "-n", "7"])[i % 6]
                run = self.run(words[0], path, *words[1:], "--snapshot", "--quiet", "-j", "2").expect(0)
                after = os.path.getsize(path)
                grown += after > before
                if words[0] == "count":
                    count = int(run.stdout)
                elif words[0] == "check":
                    need(b"none         ragged, empty, stray quotes, open quote" in run.stdout, "not sound")
                    continue
                elif words[0] == "offsets":
                    count = sum(int(row.split(b"\t")[4]) for row in run.stdout.splitlines()) - 1
                else:
                    count = records(run.joined() if words[0] == "split" else run.stdout)
                need((before - 8) // size <= count <= (after - 8) // size,
                     "%s: %d records of %d .. %d bytes" % (run.words, count, before, after))
        finally:
            done.set()
            writer.join()
        self.notes = "the input grew during %d of %d runs" % (grown, self.rounds)
        need_sight(grown > 0, "the input did not grow")

    def rewritten_in_place(self):
        self.expect_changed(lambda path: self.write_at(path, SIZE - MIB))

    def rewritten_in_place_with_the_old_time(self):
        """Only ctime shows the change. A second scan decides, and its result is what the file holds now."""
        def change(path):
            status = os.stat(path)
            self.write_at(path, SIZE - MIB)
            os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))

        def judge(run):
            if run.code == 0:
                now = self.run("count", run.words[1]).expect(0).stdout
                need(run.stdout == now, "%s: says %r of a file with %r" % (run.words, run.stdout, now))
            else:
                run.expect(4, CHANGED)

        self.while_stopped(change, judge, verbs=[["count"]])

    def changed_behind_standard_input(self):
        verbs = [["count"], ["split", "-l", "50"]]
        self.expect_changed(lambda path: self.write_at(path, 1000), verbs=verbs, stdin=True)
        self.while_stopped(lambda path: os.truncate(path, 9), lambda run: run.expect(4, TRUNCATED), verbs=verbs,
                           stdin=True)

    def changed_where_it_cannot_be_mapped(self):
        limits = [(resource.RLIMIT_AS, (SIZE // 2, SIZE // 2))]
        self.need_to_start(limits)
        verbs = [["count"], ["split", "-l", "50"], ["offsets", "-C", "1M"]]
        self.expect_changed(lambda path: self.write_at(path, 1000), verbs=verbs, limits=limits)
        self.while_stopped(lambda path: os.truncate(path, 9), lambda run: run.expect(4, TRUNCATED), verbs=verbs,
                           limits=limits)

    def truncated_and_then_odd(self):
        """The fault that the zeros or the missing end look like, here an unclosed quote, is not reported."""
        self.while_stopped(lambda path: os.truncate(path, SIZE - MIB - QUOTED + 5), lambda run: run.expect(4, TRUNCATED))

    def rewritten_all_the_time(self):
        """The bytes differ every time they are read."""
        size = 16 * MIB
        path, done, hits = make_input(self.path("in.csv"), size), threading.Event(), 0

        def write():
            chance = random.Random(self.seed + 1)
            with open(path, "r+b", buffering=0) as file:
                while not done.is_set():
                    file.seek(chance.randrange(size - MIB))
                    file.write(chance.choice((b"\n" * 40000, b'"', b',"\n', b"x" * 60000, b'5" x\n' * 9000)))

        writer = threading.Thread(target=write)
        writer.start()
        try:
            for i in range(self.rounds):
                words = (["offsets", path, "-l", "3"], ["offsets", path, "-n", "1000"], ["split", path, "-n", "40"],
                         ["offsets", path, "-C", "5K"], ["count", path], ["cat", path, "-n", "7/9"],
                         ["offsets", path, "-n", "50", "--reflink", "auto"])[i % 7]
                run = self.run(*words, "--allow-open-quote", "--quiet", "-j", "2", "--block-size", ("1M", "4K")[i % 2])
                if run.code != 0:
                    run.expect(4, CHANGED)
                    hits += 1
        finally:
            done.set()
            writer.join()
        self.notes = "%d of %d runs ended with 4" % (hits, self.rounds)
        need_sight(hits > 0, "no run was hit")

    # Changes that do not affect the content.

    def expect_whole(self, change):
        sound = {}

        def judge(run):
            run.expect(0)
            key = tuple(run.words[2:-2])
            if run.words[0] == "split" and "--dry-run" not in run.words:
                need(run.joined() == self.whole, "%s: the pieces are not whole" % (run.words,))
            need(sound.setdefault((run.words[0], key), run.stdout) == run.stdout, "%s: says otherwise" % (run.words,))

        self.whole = read(make_input(self.path("whole.csv"), SIZE))
        self.while_stopped(change, judge, verbs=[["count"], ["cat", "-n", "2/3"], ["split", "-H", "-C", "4M"]])

    def replaced_by_rename(self):
        def change(path):
            with open(path + ".new", "w") as file:
                file.write("other\n1\n")
            os.rename(path + ".new", path)

        self.expect_whole(change)

    def renamed(self):
        self.expect_whole(lambda path: os.rename(path, self.path("copy.csv")))

    def removed(self):
        def change(path):
            os.unlink(path)
            make_input(path, 4096)   # a different file

        self.expect_whole(change)

    def other_mode(self):
        self.expect_whole(lambda path: os.chmod(path, 0o600))

    def touched(self):
        """Changes the times as `touch -a` does."""
        self.expect_whole(lambda path: os.utime(path, ns=(1, os.stat(path).st_mtime_ns)))

    def another_link(self):
        self.expect_whole(lambda path: os.link(path, self.path("copy.csv")))

    # The medium fails.

    def medium_fails(self):
        too_little_to_map = [(resource.RLIMIT_AS, (36 * MIB, 36 * MIB))]
        with mounts.mounted(self.directory, "-t", "tmpfs", "-o", "size=160m", "tmpfs") as memory, \
                mounts.image(memory, 64 * MIB, "mkfs.ext4", "-q") as whole:
            image = os.path.join(memory, "failing")
            with mounts.mounted(self.directory, "-o", "loop", whole) as disk:
                with open(os.path.join(disk, "in.csv"), "wb") as file:
                    file.write(b"a,b,c,d\n" + b"1,2,3,4\n" * (5 * MIB))
            for words in (["count"], ["check"], ["offsets", "-l", "1"], ["cat", "-n", "3/3"],
                          ["split", "-C", "1M"], ["split", "-n", "5"]):
                for limits in ([], too_little_to_map):
                    if limits:
                        try:
                            self.need_to_start(limits)
                        except Skip:
                            continue
                    shutil.copyfile(whole, image)
                    with mounts.mounted(self.directory, "-o", "loop", image) as disk:
                        path = os.path.join(disk, "in.csv")
                        os.stat(path)
                        os.truncate(image, 20 * MIB)
                        self.run(words[0], path, *words[1:], limits=limits).expect(1, UNREADABLE)

    # Resources that the system refuses.

    def need_to_start(self, limits):
        with Run(self.cleave, self.directory, "--version", limits=limits) as run:
            if run.finish().code != 0:
                raise Skip("this build does not start with so little")

    def mapping_refused(self):
        limits = [(resource.RLIMIT_AS, (SIZE // 2, SIZE // 2))]
        self.need_to_start(limits)
        path = make_input(self.path("in.csv"), SIZE)
        for how in (["-C", "1M"], ["-l", "20"]):
            run = self.run("split", path, "-H", *how, limits=limits).expect(0)
            need(run.joined() == read(path), "%s: the pieces are not whole" % (run.words,))

    def threads_refused(self):
        # Each thread would need a stack of that size.
        limits = [(resource.RLIMIT_AS, (1024 * MIB, 1024 * MIB)), (resource.RLIMIT_STACK, (2048 * MIB, 2048 * MIB))]
        self.need_to_start(limits)
        path = make_input(self.path("in.csv"), SIZE)
        run = self.run("split", path, "-H", "-n", "8", "-j", "4", limits=limits).expect(0)
        need(run.joined() == read(path), "%s: the pieces are not whole" % (run.words,))

    # Inputs without a size.

    def files_of_the_system(self):
        for path in ("/proc/cpuinfo", "/proc/self/maps", "/sys/devices/system/cpu/online"):
            if not os.path.exists(path):
                continue
            # These inputs are not tables: their records are ragged.
            for words in (["count"], ["check", "--allow-open-quote", "--allow-ragged"], ["offsets", "-l", "1"],
                          ["cat", "-n", "1/1"], ["split", "-l", "5"]):
                self.run(words[0], path, *words[1:], "--no-quote").expect(0)

    def fifo(self):
        path = self.path("fifo")
        os.mkfifo(path)
        for words in (["count"], ["split", "-l", "1"], ["split", "-n", "2"]):
            with Run(self.cleave, self.directory, words[0], path, *words[1:]) as run:
                writers = []

                def has_writer():
                    with contextlib.suppress(OSError):   # the pipe has no reader
                        writers.append(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
                    return writers or run.process.poll() is not None

                wait_until(has_writer, "it does not open the pipe")
                for writer in writers:
                    os.write(writer, b"h\n1\n2\n")
                    os.close(writer)
                run.finish().expect(0)
            need(run.stdout == b"2\n" if words == ["count"] else len(run.pieces()) == 2, "%s: not whole" % words)


CHECKS = [Tests.truncated_while_counted, Tests.truncated_while_split, Tests.truncated_and_then_odd, Tests.appended_to,
          Tests.appended_to_a_snapshot, Tests.truncated_snapshot, Tests.appended_to_all_the_time,
          Tests.rewritten_in_place, Tests.rewritten_in_place_with_the_old_time, Tests.rewritten_all_the_time,
          Tests.changed_behind_standard_input, Tests.changed_where_it_cannot_be_mapped, Tests.replaced_by_rename,
          Tests.renamed, Tests.removed, Tests.other_mode, Tests.touched, Tests.another_link, Tests.medium_fails,
          Tests.mapping_refused, Tests.threads_refused, Tests.files_of_the_system, Tests.fifo]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cleave", required=True, help="the binary")
    parser.add_argument("--only", default="", metavar="SUBSTRING", help="the checks with that in their names")
    parser.add_argument("--rounds", type=int, default=20, metavar="N")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of moments and places [1]")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated"))   # so that file systems are unmounted

    tally, notes = Tally(), []

    def tried(check):
        with tempfile.TemporaryDirectory(prefix="input.") as directory:
            tests = Tests(os.path.abspath(arguments.cleave), directory, arguments.rounds,
                          arguments.seed)
            try:
                check(tests)
            finally:
                notes[:] = [tests.notes] if tests.notes else []

    for check in CHECKS:
        name = check.__name__.replace("_", " ")
        if arguments.only in name or arguments.only in check.__name__:
            tally.run(name, lambda check=check: tried(check), lambda: notes)
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
