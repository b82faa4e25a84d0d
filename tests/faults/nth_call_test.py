#!/usr/bin/env python3
"""cleave split while the n-th system call of a kind fails, for every n and one kind of call after another.

  nth_call_test.py --cleave PATH [--only SUBSTRING] [--rounds N] [--seed N] [-v]

Each failure has the next of a call's errors. With --rounds N there are N times as many pieces, and so more calls, and
each call fails with each of its errors. A sanitized binary writes fewer pieces, and each call fails in one way only.
With --rounds 1 only the first and then every fifth call of a sanitized binary fails, and every third one of a split by
value, under rules or with rejects. If a call is made but never fails, the check fails. The table at the end says how
often each call failed, and how the runs ended: whole, clean, in the loader (clean, and before main), or with remnants
where removing them failed ("rest").
"""
import collections
import concurrent.futures
import gzip
import os
import random
import re
import subprocess
import sys

from harness import (RULE_WORDS, Failure, Job, Place, Skip, contents, expect_clean, expect_only_whole, expect_whole, finish,
                     is_hidden, is_marker, long, main, need, snapshot, under_rules, wait_until, with_rejects, write)

# The errors of each call, the most telling first. EINTR is listed only where the manual pages allow it.
CALLS = {
    "openat": ["EACCES", "EMFILE", "EINTR"],
    "read": ["EIO", "EINTR"],
    "preadv2": ["EIO", "EINTR", "EAGAIN"],
    "pread64": ["EIO", "EINTR"],
    "write": ["ENOSPC", "EIO", "EINTR"],
    "pwrite64": ["ENOSPC", "EIO", "EINTR"],
    "writev": ["ENOSPC", "EIO", "EINTR"],
    "copy_file_range": ["EIO", "ENOSPC", "EINTR"],
    "ioctl": ["EIO", "EINTR"],
    "mmap": ["ENOMEM"],
    "munmap": ["ENOMEM"],
    "mremap": ["ENOMEM"],
    "mlock": ["ENOMEM", "EPERM"],
    "madvise": ["EINVAL", "ENOMEM"],
    "newfstatat": ["EIO", "ENOMEM"],
    "fstat": ["EIO", "ENOMEM"],
    "fsync": ["EIO", "ENOSPC"],
    "syncfs": ["EIO", "ENOSPC"],
    "close": ["EIO", "ENOSPC", "EINTR"],
    "ftruncate": ["EIO", "EINTR"],
    "fallocate": ["ENOSPC", "EOPNOTSUPP", "EINTR"],
    "renameat2": ["EACCES", "EINVAL", "EIO"],
    "renameat": ["EACCES", "EIO"],
    "linkat": ["EACCES", "EPERM", "EIO"],
    "unlinkat": ["EIO", "EACCES"],
    "unlink": ["EIO", "EACCES"],
    "mkdir": ["EACCES", "ENOSPC"],
    "mkdirat": ["EACCES", "ENOSPC"],
    "rmdir": ["EIO"],
    "flock": ["ENOLCK", "EINTR"],
    "poll": ["ENOMEM", "EINTR"],
    "clone3": ["EAGAIN"],
    "eventfd2": ["EMFILE"],
    "fcntl": ["EMFILE"],
    "lseek": ["EIO"],
    "statfs": ["EIO"],
    "fstatfs": ["EIO"],
}
# A sanitizer's runtime makes these calls too, for its options and to test whether an address is readable, and fails
# silently.
RUNTIME_CALLS = {"read", "write", "mmap", "munmap", "mremap", "madvise", "clone3"}
REMOVING = ["unlinkat", "unlink", "renameat2", "renameat", "newfstatat", "rmdir", "close"]
PIECES, SANITIZED_PIECES = 4, 2   # with --rounds 1
MOST_REPORTED = 5
FIRST_TRIES = 10   # attempts at the first failure of a call that depends on timing
# For an empty pipe these calls are made in this order, and the first of them only once. So nothing is written until
# poll() is seen.
WAITING_CALLS = ["eventfd2", "poll", "read"]


def small_job(bench, option="-C", size=4 << 10, tail=b""):
    """A few pieces of about that size."""
    count = (SANITIZED_PIECES if bench.sanitized else PIECES) * bench.scale
    data = bench.kind.make_input(size * count, seed=7)
    return bench.kind(data + tail, option, count if option == "-n" else size + 512)


class Subject:
    """A way to run a split, and how to judge the result of a failing call."""

    def __init__(self, bench, job, *options, piped=False, old=(), manifest=False, calls=None, env=None, made=False,
                 skipped=0, encode=bytes, report=False):
        self.encode = encode   # turns the job's bytes into those for the pipe
        self.report = report
        self.bench, self.job, self.options, self.piped, self.skipped = bench, job, list(options), piped, skipped
        self.old, self.manifest, self.calls, self.env, self.made = old, manifest, calls or list(CALLS), env or {}, made

    def new_place(self):
        place = Place(self.bench, self.job)
        place.top = place.out
        place.longer = write(os.path.join(place.root, "longer"), b"x" * self.skipped + self.job.data)
        if self.made:
            place.out = os.path.join(place.out, "made")
        return place

    def prepare(self, place):
        """Sets up the directory before a run. Returns a snapshot of it."""
        top, place.out = place.out, place.top
        place.empty()
        place.out = top
        if not self.made:
            write(place.path("beside"), b"beside")
        for number in self.there(self.old):
            write(place.piece(number), b"old %d" % number)
        return snapshot(place.top)

    def there(self, numbers):
        """The given numbers that belong to pieces; with a sanitizer there are fewer pieces."""
        return [number for number in numbers if number <= len(self.job.pieces)]

    def command(self, place):
        options = list(self.options)
        if self.manifest:
            options += ["--manifest", place.path("m.json")]
        if self.report:
            options += ["--redact-report", place.path("r.json")]
        return place.command("--quiet", *options, source="-" if self.piped or self.skipped else None)

    def run(self, place, calls, *strace):
        """Runs the command and traces its calls."""
        command = self.command(place)
        wrap = [self.bench.strace, "-f", "--seccomp-bpf", "-qq", "-o", write(os.path.join(place.root, "trace"), b""),
                "-e", "trace=" + ",".join("?" + call for call in calls), *strace]
        for name, value in {"ASAN_OPTIONS": "detect_leaks=0", **self.env}.items():
            wrap += ["-E", "%s=%s" % (name, value)]
        if self.piped and "poll" in calls:
            process = self.bench.start(command, wrap=wrap, stdin=subprocess.PIPE)
            wait_until(lambda: process.poll() is not None or " poll(" in self.trace(place), "it waits for its input")
            return finish(process, data=self.encode(self.job.data))
        if self.piped:
            return self.bench.run(command, wrap=wrap, data=self.encode(self.job.data))
        with open(place.longer if self.skipped else os.devnull, "rb", buffering=0) as stdin:
            stdin.seek(self.skipped)
            return self.bench.run(command, wrap=wrap, stdin=stdin)

    def trace(self, place):
        with open(os.path.join(place.root, "trace"), errors="replace") as file:
            return file.read()

    def judge(self, call, place, before, run):
        """Returns the outcome in one word."""
        # main() first checks whether descriptor 0 is open. Before that, any harmless outcome is right.
        if run.code != 0 and "fcntl(0, F_GETFD" not in self.trace(place):
            expect_clean(before, place.top)
            return "loader"
        need(run.code >= 0, "it died of signal %d" % -run.code)
        if run.code == 0:
            beside = [] if self.made else ["beside"]
            if call in ("unlinkat", "unlink"):   # files that could not be removed may be left if they are hidden
                beside += [name for name in contents(place.out) if is_hidden(name)]
            expect_whole(self.job, place.out, manifest="m.json" if self.manifest else None, beside=beside,
                         report="r.json" if self.report else None)
            return "whole"
        # With several threads the failing call may be the one that writes the message.
        told = run.message.startswith("cleave: ") or call == "write" and run.message == ""
        need(run.code == 1 and told, str(run))
        self.judge_failed(place, before)
        return "clean"

    def judge_failed(self, place, before):
        expect_clean(before, place.top)


class Resuming(Subject):
    """A split with --resume. When it fails, complete pieces may stay, with the marker that lists them."""

    def judge_failed(self, place, before):
        expect_only_whole(self.job, place, before)
        left = [name for name in os.listdir(place.out) if is_hidden(name) and not is_marker(name)]
        need(not left, "hidden files are left: %s" % left)


class Printing(Subject):
    """cat, under the rules that the split has. It may have printed whole records when it fails."""

    def command(self, place):
        return ["cat", "--quiet", *(word.replace("@key", place.key) for word in RULE_WORDS), *self.options,
                "-" if self.piped else place.input]

    def judge(self, call, place, before, run):
        expect_clean(before, place.top)
        need(run.code >= 0 or "fcntl(0, F_GETFD" not in self.trace(place), "it died of signal %d" % -run.code)
        need(self.job.output.startswith(run.stdout), "it has printed something else")
        if run.code == 0:
            need(self.job.output == run.stdout, "it has not printed all")
            return "whole"
        if "fcntl(0, F_GETFD" not in self.trace(place):
            return "loader"
        need(run.code == 1 and (run.message.startswith("cleave: ") or call == "write"), str(run))
        return "clean"


class Malformed(Subject):
    """A split that fails at the end of its input. Its clean-up fails too, but nothing may look like a success."""

    def judge(self, call, place, before, run):
        need(run.code >= 0, "it died of signal %d" % -run.code)
        need(run.code != 0 and run.message, "it says that it is done")
        expect_only_whole(self.job, place, before)
        return "clean" if snapshot(place.top) == before else "rest"


def calls_made(subject):
    """The calls that the subject makes when nothing fails."""
    place = subject.new_place()
    subject.prepare(place)
    run = subject.run(place, CALLS)
    need(run.code == 0 or isinstance(subject, Malformed), "it fails by itself: %s" % run)
    made = set(re.findall(r"^\d+ +(\w+)\(", subject.trace(place), re.MULTILINE))
    place.remove()
    return [call for call in subject.calls if call in made]


def fail_each(bench, subject, call, errors, outcomes, failures):
    """Makes the call fail for every n, with these errors in turn. Returns how many times it failed."""
    place, failed, tries, nth = subject.new_place(), 0, 0, 1
    traced = ["fcntl", *WAITING_CALLS] if call in WAITING_CALLS else ["fcntl", call]
    step = 1 if bench.scale > 1 else 5 if bench.sanitized else 1 if bench.kind is Job else 3
    while True:
        inject = "inject=%s:error=%s:when=%d" % (call, errors[failed % len(errors)], nth)
        before = subject.prepare(place)
        try:
            run = subject.run(place, traced, "-e", inject)
            if "(INJECTED)" not in subject.trace(place):
                subject.judge(call, place, before, run)
                tries += 1
                if failed > 0 or tries == FIRST_TRIES:
                    break
                continue
            in_leak_check = bench.sanitized and "LeakSanitizer has encountered a fatal error" in run.message
            outcome = "loader" if in_leak_check else subject.judge(call, place, before, run)
        except Failure as failure:
            outcome = "FAIL"
            failures.append("-e %s: %s" % (inject, failure))
            if len(failures) > 3 * MOST_REPORTED or nth > 2000:
                break
        outcomes[call][outcome] += 1
        failed += 1
        nth += step
    place.remove()
    return failed


def errors_of(bench, call):
    """Lists of errors. For each, the call fails for every n, with its errors in turn. Normally that is one list, which
    the kind of split and the seed turn; with --rounds a list for each error; under a sanitizer a single error."""
    errors = CALLS[call]
    if bench.sanitized:
        return [errors[:1]]
    if bench.scale > 1:
        return [[error] for error in errors]
    turn = random.Random("%d %s %s" % (bench.seed, bench.kind.__name__, call)).randrange(len(errors))
    return [errors[turn:] + errors[:turn]]


def fail_all(bench, subject):
    bench.strace = bench.need_tool("strace")
    outcomes, failures = collections.defaultdict(collections.Counter), []
    made = calls_made(subject)
    need(made, "it makes none of these calls: %s" % ", ".join(subject.calls))
    calls = [call for call in made if not (bench.sanitized and call in RUNTIME_CALLS)]
    if not calls:
        raise Skip("the binary is sanitized: its runtime makes these calls, too")
    work = [(call, errors) for call in calls for errors in errors_of(bench, call)]
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        jobs = [pool.submit(fail_each, bench, subject, *item, outcomes, failures) for item in work]
        spared = ["%s:%s" % (item[0], item[1][0]) for item, job in zip(work, jobs) if job.result() == 0]
    for call, counted in outcomes.items():
        bench.outcomes.setdefault(call, collections.Counter()).update(counted)
    bench.note("%d runs with a failing call" % sum(sum(counted.values()) for counted in outcomes.values()))
    if failures:
        shown = failures[:None if bench.verbose else MOST_REPORTED]
        raise Failure("\n       ".join(["%d runs" % len(failures), *shown]))
    need(not spared, "never made to fail: %s" % ", ".join(spared))


def from_file(bench):
    """From a file"""
    fail_all(bench, Subject(bench, small_job(bench), "-j", "1"))


def from_pipe(bench):
    """From a pipe"""
    # strace counts the calls of each thread separately, so with several threads one may also fail in the clean-up.
    fail_all(bench, Subject(bench, small_job(bench), "-j", "1", piped=True))


def spooled(bench):
    """From a pipe, through a temporary file"""
    calls = [call for call in CALLS if call not in ("renameat2", "linkat", "fcntl")]
    fail_all(bench, Subject(bench, small_job(bench, "-n"), "-j", "1", piped=True, calls=calls))


def from_offset(bench):
    """From standard input that is positioned inside a file"""
    fail_all(bench, Subject(bench, small_job(bench), "-j", "1", skipped=100, calls=[
        "lseek", "newfstatat", "fstat", "mmap", "read", "preadv2", "fcntl"]))


def replacing(bench):
    """With --force over old pieces"""
    fail_all(bench, Subject(bench, small_job(bench), "-j", "1", "--force", old=(1, 2, 5)))


def replacing_from_pipe(bench):
    """With --force over old pieces, from a pipe"""
    calls = ["openat", "write", "newfstatat", "close", "renameat2", "linkat", "unlinkat", "flock"]
    fail_all(bench, Subject(bench, small_job(bench), "-j", "1", "--force", piped=True, old=(1, 2, 5), calls=calls))


def by_threads(bench):
    """With several threads"""
    calls = ["openat", "write", "mmap", "close", "renameat2", "linkat", "unlinkat", "newfstatat", "clone3", "flock"]
    fail_all(bench, Subject(bench, small_job(bench, size=100 << 10), "-j", "3", calls=calls))


def with_directories(bench):
    """With --mkdir"""
    calls = ["openat", "write", "newfstatat", "close", "mkdir", "mkdirat", "renameat2", "linkat", "unlinkat", "flock"]
    fail_all(bench, Subject(bench, small_job(bench), "-j", "1", "--mkdir", made=True, calls=calls))


def without_nameless_files(bench):
    """Where files cannot be created without a name"""
    env = {"LD_PRELOAD": bench.shim(), "SHIM_LACKS": "tmpfile"}
    calls = ["openat", "write", "newfstatat", "close", "renameat2", "linkat", "unlinkat", "flock"]
    fail_all(bench, Subject(bench, small_job(bench), "-j", "1", env=env, calls=calls))


def with_manifest(bench):
    """With --manifest and --sync"""
    fail_all(bench, Subject(bench, small_job(bench), "-j", "1", "--sync", manifest=True))


def with_checksums(bench):
    """With --checksum and --manifest"""
    calls = ["openat", "write", "mmap", "preadv2", "close", "newfstatat", "renameat2", "linkat", "unlinkat", "clone3"]
    fail_all(bench, Subject(bench, small_job(bench, size=100 << 10), "-j", "2", "--checksum", manifest=True, calls=calls))


def with_events(bench):
    """With --json, --verbose and --manifest: what fails after the pieces are there for good is a warning"""
    fail_all(bench, Subject(bench, small_job(bench), "-j", "1", "--json", "-v", manifest=True, calls=["write"]))


def with_manifest_replaced(bench):
    """With --manifest and --sync, from a pipe, over old pieces"""
    calls = ["openat", "write", "newfstatat", "close", "renameat2", "linkat", "unlinkat", "flock", "fsync", "syncfs"]
    fail_all(bench, Subject(bench, small_job(bench), "--sync", "--force", piped=True, old=(1, 2, 5), manifest=True,
                            calls=calls))


def resuming(bench):
    """With --resume, when some pieces exist"""

    class Half(Resuming):
        def prepare(self, place):
            super().prepare(place)
            for number in self.there((1, 4)):
                write(place.piece(number), list(self.job.pieces.values())[number - 1])
            return snapshot(place.top)
    fail_all(bench, Half(bench, small_job(bench), "-j", "1", "--resume"))


def compressed(bench):
    """Compressed pieces, from a file and from a pipe"""
    job = small_job(bench, size=100 << 10)
    place = Place(bench, job)
    options = ["-j", "2", "--compress", "gzip:1"]
    run = bench.run(place.command(*options))
    need(run.code == 0, "it fails by itself: %s" % run)
    pieces = contents(place.out)
    need({name[:-3]: gzip.decompress(data) for name, data in pieces.items()} == job.pieces, "they are not the pieces")
    place.remove()
    job.pieces = pieces
    calls = ["openat", "read", "preadv2", "write", "mmap", "close", "linkat", "clone3", "poll"]
    for piped in (False, True):
        fail_all(bench, Subject(bench, job, *options, piped=piped, calls=calls))


def compressed_input(bench):
    """From a pipe of compressed data"""

    calls = ["read", "preadv2", "poll", "write", "openat", "mmap"]
    for options in ([], ["-n"]):
        fail_all(bench, Subject(bench, small_job(bench, *options), piped=True, calls=calls, encode=gzip.compress))


def failing_clean_up(bench):
    """The clean-up after a failure fails too"""
    for options, old in (([], ()), (["--force"], (1, 2, 5))):
        job = small_job(bench, tail=b'1,"never closed\n')
        fail_all(bench, Malformed(bench, job, *options, piped=True, old=old, calls=REMOVING))


def redacted(bench):
    """Into records, sizes and shares, with a report"""
    for option in ("-l", "-C", "-n"):
        fail_all(bench, Subject(bench, small_job(bench, option, size=2 << 10), "-j", "1", report=True))


def redacted_by_threads(bench):
    """With several threads, a report and a manifest"""
    # None of the calls that the clean-up needs.
    calls = ["openat", "write", "mmap", "munmap", "close", "linkat", "clone3", "flock"]
    fail_all(bench, Subject(bench, small_job(bench, "-n", size=20 << 10), "-j", "3", "--block-size", "4K", calls=calls,
                            manifest=True, report=True))


def signed(bench):
    """With a signed report and a manifest, from a file, which a thread of its own hashes, and from a pipe"""
    calls = ["openat", "read", "pread64", "write", "mmap", "munmap", "mlock", "close", "linkat", "clone3", "fcntl",
             "fstat"]
    for piped in (False, True):
        job = small_job(bench, size=2 << 10)
        job.args += ["--sign", "k"]
        fail_all(bench, Subject(bench, job, "-j", "1", piped=piped, calls=calls, manifest=True, report=True))


def printed(bench):
    """cat, of a file and of a pipe"""
    calls = ["openat", "read", "preadv2", "write", "writev", "mmap", "munmap", "mremap", "mlock", "madvise",
             "newfstatat", "fstat", "poll", "lseek", "fcntl"]
    for piped in (False, True):
        fail_all(bench, Printing(bench, small_job(bench), "-j", "1", piped=piped, calls=calls))


CHECKS = [from_file, from_pipe, spooled, from_offset, replacing, replacing_from_pipe, by_threads, with_directories,
          without_nameless_files, with_manifest, with_checksums, with_events, with_manifest_replaced, resuming, compressed,
          compressed_input, failing_clean_up]
CHECKS += map(under_rules, [redacted, signed, spooled, failing_clean_up])
CHECKS += map(long, map(under_rules, [
    redacted_by_threads, printed, from_pipe, with_manifest, resuming, replacing_from_pipe, compressed,
    without_nameless_files]))
CHECKS += map(with_rejects, [from_file, replacing])
CHECKS += map(long, map(with_rejects, [from_pipe, with_manifest, without_nameless_files]))


def print_table(bench):
    words = ["whole", "clean", "loader", "rest", "FAIL"]
    print("%-16s %10s" % ("call", "injections") + "".join("%8s" % word for word in words))
    total = collections.Counter()
    for call in [call for call in CALLS if call in bench.outcomes]:
        counted = bench.outcomes[call]
        total.update(counted)
        print("%-16s %10d" % (call, sum(counted.values())) + "".join("%8d" % counted[word] for word in words))
    print("%-16s %10d" % ("all", sum(total.values())) + "".join("%8d" % total[word] for word in words))


if __name__ == "__main__":
    sys.exit(main(__doc__, CHECKS, print_table))
