#!/usr/bin/env python3
"""cleave while the n-th request for memory fails, alone or with all later ones, in every verb and with every output.

  memory_test.py --cleave PATH [--only SUBSTRING] [--rounds N] [--seed N] [-v]

Each check takes one command line, counts its requests, and runs it repeatedly while one of them fails ("once"), or
while one and all later ones fail ("on"). With --rounds N each check picks 12 N requests at random for each mode;
--rounds 1000 takes every request. The last lines say how many runs were hit by a failing request, and how these runs
ended.
"""
import bz2
import collections
import concurrent.futures
import contextlib
import fcntl
import gzip
import io
import os
import random
import re
import signal
import stat
import struct
import subprocess
import sys
import threading
import time
import zipfile

from harness import (RULE_WORDS, TIMEOUT_S, Failure, Job, Place, Redacted, expect_clean, expect_exit, expect_only_whole,
                     expect_whole, finish, is_hidden, is_marker, main, need, snapshot, write)

PICKED = 12   # requests per check and mode, with --rounds 1
MOST_REPORTED = 5
NO_MEMORY = ("out of memory", "Cannot allocate memory", "Resource temporarily unavailable")


class Subject:
    """A command line, and the expected result when a request for memory has failed.

    In `words`, @in is the input and @out the output directory. With `piped` the command gets the input through a pipe;
    `encode` turns the job's bytes into the input's. The pieces whose numbers are in `old` exist beforehand with other
    content, and those in `right` with the right content.
    """

    def __init__(self, bench, job, words, *, piped=False, encode=bytes, old=(), right=(), manifest=False,
                 report=False):
        self.bench, self.job, self.words, self.piped, self.encode = bench, job, words, piped, encode
        self.old, self.right, self.manifest, self.report = old, right, manifest, report

    def new_place(self):
        place = Place(self.bench, self.job)
        write(place.input, self.encode(self.job.data))
        os.utime(place.input, (10 ** 9, 10 ** 9))   # the time is in the manifest
        place.counts = write(os.path.join(place.root, "counts"), bytes(16))
        return place

    def prepare(self, place):
        place.empty()
        write(place.path("beside"), b"beside")
        for number in self.old:
            write(place.piece(number), b"old %d" % number)
        for number in self.right:
            write(place.piece(number), list(self.job.pieces.values())[number - 1])
        write(place.counts, bytes(16))
        return snapshot(place.out)

    def run(self, place, fail=""):
        env = self.bench.environment(LD_PRELOAD=self.bench.preloaded("allocation_shim.c"),
                                     ALLOCATION_COUNTS=place.counts, ALLOCATION_FAIL=fail)
        words = [word.replace("@in", place.input).replace("@out", place.out).replace("@key", place.key)
                 for word in self.words]
        with piped_file(place.input) if self.piped else open(os.devnull, "rb") as stdin:
            process = self.bench.start(words, env=env, stdin=stdin)
        return finish_alone(process)

    def calls(self, place):
        """How many requests the last run made, and how many failed."""
        with open(place.counts, "rb") as file:
            return struct.unpack("=QQ", file.read())

    def normal(self, place, data):
        """Without what depends on the place: its path, and the MAC of a report, which expect_whole() checks."""
        return re.sub(rb'"hmac_sha256":"[0-9a-f]{64}"}}$', b'"hmac_sha256":"MAC"}}',
                      data.replace(place.root.encode(), b"ROOT"), flags=re.MULTILINE)

    def tree(self, place):
        """{name: bytes, target of a link, or kind} of everything in the output directory."""
        return {name: self.normal(place, what[-1]) if stat.S_ISREG(what[0]) else what[0]
                for name, what in snapshot(place.out).items()}

    def learn(self, place):
        """Runs the command without a failure; returns the number of requests."""
        self.prepare(place)
        run = self.run(place)
        need(run.code in (0, 3), "it fails by itself: %s" % run)
        self.code, self.stdout, self.wanted = run.code, self.normal(place, run.stdout), self.tree(place)
        self.judge_learned(place)
        return self.calls(place)[0]

    def judge_learned(self, place):
        """Expects no files, because this is not a split."""
        need(list(self.wanted) == ["beside"], "it writes files")

    def judge(self, place, before, run):
        """Returns the outcome in one word."""
        need(run.code >= 0, "it died of signal %d: %s" % (-run.code, run.stderr[-200:]))
        if run.code == self.code:
            stdout, warned = self.normal(place, run.stdout), b": warning: " in run.stderr
            need(stdout == self.stdout or warned and self.stdout.startswith(stdout), "its output is not whole")
            need(self.tree(place) == self.wanted, "exit 0, but the files are not those of a good run")
            return "whole"
        told = run.message.split("\n")[-1]
        need(run.code == 1 and "cleave: " in told and any(text in told for text in NO_MEMORY), str(run))
        self.judge_failed(place, before)
        return "clean"

    def judge_failed(self, place, before):
        expect_clean(before, place.out)


class Indexed(Subject):
    """A command that finds an index beside its input."""

    def new_place(self):
        place = super().new_place()
        expect_exit(self.bench.run(["index", "--quiet", place.input]), 0)
        return place


class Writing(Subject):
    """A command that writes one file: an index, or the joined pieces. An index holds times and an inode."""

    def prepare(self, place):
        super().prepare(place)
        write(place.path("f.csv"), self.job.data)
        return snapshot(place.out)

    def tree(self, place):
        return {name: len(data) if name.endswith(".cleave") else data for name, data in super().tree(place).items()}

    def judge_learned(self, place):
        need(len(self.wanted) == 3, "it writes no file, or several")


class Split(Subject):
    """A split into files."""

    def __init__(self, bench, job, *options, piped=False, **how):
        words = ["split", *job.args, "-o", "@out/" + job.template, *options, "-" if piped else "@in"]
        super().__init__(bench, job, words, piped=piped, **how)

    def judge_learned(self, place):
        expect_whole(self.job, place.out, manifest="m.json" if self.manifest else None, beside=["beside"],
                     report="r.json" if self.report else None)


class Compressed(Split):
    """A split whose decompressed pieces are the job's."""

    def judge_learned(self, place):
        pieces = {os.path.splitext(name)[0]: subprocess.run(
            ["gzip" if name.endswith(".gz") else "zstd", "-dc"], input=data, stdout=subprocess.PIPE, check=True).stdout
            for name, data in self.wanted.items() if name != "beside"}
        need(pieces == self.job.pieces, "they are not the pieces")


class Directories(Split):
    """A split into directories that it creates."""

    def __init__(self, *args, **how):
        super().__init__(*args, **how)
        self.words = [word.replace("@out/", "@out/made/deep/") for word in self.words]

    def judge_learned(self, place):
        pieces = {os.path.basename(name): data for name, data in self.wanted.items() if name.startswith("made/deep/")}
        need(pieces == self.job.pieces, "they are not the pieces")


class Resumed(Split):
    """A split with --resume. When it fails, complete pieces may stay, with the marker that lists them."""

    def judge_failed(self, place, before):
        expect_only_whole(self.job, place, before)
        left = [name for name in os.listdir(place.out) if is_hidden(name) and not is_marker(name)]
        need(not left, "hidden files are left: %s" % left)


class Filtered(Split):
    """A split with --filter. What the commands write does not matter, but none of them may be left running."""

    def judge_failed(self, place, before):
        need(not [name for name in os.listdir(place.out) if is_hidden(name)], "hidden files are left")


def finish_alone(process):
    """Waits for the process to end. Everything that it has started must end, by itself or with its input."""
    run = finish(process)
    deadline = time.monotonic() + TIMEOUT_S
    with contextlib.suppress(ProcessLookupError):
        while time.monotonic() < deadline:
            os.killpg(process.pid, 0)
            time.sleep(0.01)
        os.killpg(process.pid, signal.SIGKILL)
        raise Failure("a process is left running")
    return run


@contextlib.contextmanager
def piped_file(path):
    """The read end of a pipe that holds the file's bytes."""
    reader, writer = os.pipe()
    with open(path, "rb") as file:
        data = file.read()
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 1 << 20)
    os.set_blocking(writer, False)
    need(os.write(writer, data) == len(data), "the pipe does not hold the input")
    os.close(writer)
    try:
        yield reader
    finally:
        os.close(reader)


class Injection:
    """All runs of a subject."""

    def __init__(self, bench, name, subject):
        self.bench, self.name, self.subject = bench, name, subject
        self.outcomes, self.failures, self.lock = collections.Counter(), [], threading.Lock()

    def picked(self, count):
        """The requests that are to fail, in the shim's notation."""
        chance = random.Random("%s %d" % (self.name, self.bench.seed))
        most = min(count, PICKED * self.bench.scale)
        numbers = {*chance.sample(range(1, count + 1), most), count}   # the last may come after the commit
        return ["%d%s" % (number, later) for later in ("", "+") for number in sorted(numbers)]

    def inject(self, waiting):
        place = self.subject.new_place()
        for fail in waiting:
            before = self.subject.prepare(place)
            failed = 0
            try:
                run = self.subject.run(place, fail)
                failed = self.subject.calls(place)[1]
                outcome = self.subject.judge(place, before, run)
            except Failure as failure:
                outcome = "wrong"
                self.failures.append("request %s: %s" % (fail, failure))
            with self.lock:
                if failed or outcome == "wrong":
                    self.outcomes[outcome] += 1
                if len(self.failures) > 4 * MOST_REPORTED and not self.bench.verbose:
                    break
        place.remove()

    def run(self):
        place = self.subject.new_place()
        count = self.subject.learn(place)
        place.remove()
        picked = self.picked(count)
        workers = len(os.sched_getaffinity(0))
        with concurrent.futures.ThreadPoolExecutor(workers) as pool:
            for job in [pool.submit(self.inject, picked[k::workers]) for k in range(workers)]:
                job.result()
        self.bench.note("%d requests, %d runs with a failing one" % (count, sum(self.outcomes.values())))
        self.bench.outcomes[self.name] = self.outcomes
        if self.failures:
            shown = self.failures[:None if self.bench.verbose else MOST_REPORTED]
            raise Failure("\n       ".join(["%d runs" % len(self.failures), *shown]))
        need(sum(self.outcomes.values()) > 0, "no request was made to fail")


def small(option="-C", size=4 << 10, count=6, kind=Job):
    """A split into a few small pieces."""
    data = kind.make_input(size * count, seed=7)
    return kind(data, option, {"-n": count, "-l": 40, "-C": size + 512}[option])


def large(**how):
    """A split whose pieces are large enough for several threads."""
    return small(size=80 << 10, count=4, **how)


def huge():
    """A split of an input that several threads decode if it is compressed with gzip."""
    return small(size=1 << 20, count=6)


def redacted(option="-C", of=small):
    """A split, or its input, under rules."""
    return lambda: of(option=option, kind=Redacted)


def signed():
    """A split under rules, with a signed report."""
    job = small(kind=Redacted)
    job.args += ["--sign", "k"]
    return job


def json_lines():
    return Job(b"".join(b'{"k":"%d\\n","key%d":[{"a":%d}]}\n' % (i // 5, i % 40, i) for i in range(200)) + b"x\n" * 3)


def never_closed():
    return Job(small().data + b'1,"never closed\n')


def zstd(data):
    return subprocess.run(["zstd", "-qc"], input=data, stdout=subprocess.PIPE, check=True).stdout


def xz(data):
    """One stream of several blocks."""
    words = ["xz", "-T2", "--block-size=4KiB", "-c"]
    return subprocess.run(words, input=data, stdout=subprocess.PIPE, check=True).stdout


def zipped(data):
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as writer:
        writer.writestr("in.csv", data)
    return archive.getvalue()


THREADS = ["-j", "4", "--block-size", "16K"]


def printing():
    """Yields (name, function that creates the subject) for each command that only prints."""
    def row(name, *words, job=small, **how):
        return name, lambda bench: Subject(bench, job(), [*words, "-" if how.get("piped") else "@in"], **how)

    for name, words in (("count", ["count"]), ("check", ["check"]), ("check --json", ["check", "--json"])):
        yield row(name, *words, "-d", ",", "-j", "1")
        yield row(name + " by threads", *words, *THREADS, job=large)
        yield row(name + " of a pipe", *words, piped=True)
        yield row(name + " of a pipe with gzip data", *words, piped=True, encode=gzip.compress)
        yield row(name + " of an open quote", *words, job=never_closed)
    yield row("count of gzip data by threads", "count", "-j", "4", job=huge, encode=gzip.compress)
    yield row("count of two inputs", "count", "@in")
    for form in ("tsv", "csv", "jsonl", "json", "u64", "http"):
        yield row("offsets --format " + form, "offsets", "-C", "4K", "--format", form, *THREADS)
    yield row("offsets of a pipe", "offsets", "-l", "50", "--format", "json", piped=True)
    yield row("offsets --every", "offsets", "--every", "10")
    for words in (["cat", "-r", "5-9"], ["sample", "-k", "20", "--seed", "1"]):
        yield row(" ".join(words), *words, *THREADS)
        yield row(" ".join(words) + " of a pipe", *words, piped=True)
    for words in (["check"], ["check", "--json"], ["offsets", "-l", "3", "--together", ".k"]):
        name = " ".join(words[:2]) + " of JSON Lines"
        yield row(name, *words, "--dialect", "jsonl", "-j", "1", job=json_lines)
        yield row(name + " in a pipe", *words, "--dialect", "jsonl", job=json_lines, piped=True)
    yield row("join", "join", "@in", "@in")
    for words in (["count"], ["cat", "-r", "5-9"], ["sample", "-k", "20", "--seed", "1"], ["offsets", "-n", "9"]):
        yield " ".join(words) + " by an index", lambda bench, words=words: Indexed(bench, small(), [*words, "@in"])
    for name, words in (("index", ["index", "--quiet", "@out/f.csv"]), ("join -o", ["join", "-o", "@out/j", "@in"])):
        yield name, lambda bench, words=words: Writing(bench, small(), words)
    yield row("cat", "cat", "-n", "2/4", *THREADS)
    yield row("cat of a pipe", "cat", "-n", "4/4", piped=True)
    yield row("cat with a bar", "cat", "-n", "2/4", "--progress", "always", "-v")
    for piped in (False, True):
        yield row("split --dry-run" + " of a pipe" * piped, "split", "-C", "4K", "-o", "@out/{i}.csv", "--dry-run",
                  piped=piped)


    for verb in ("cat", "check", "check --json", "cat -n 2/4"):
        for piped in (False, True):
            words = [*verb.split(), *RULE_WORDS, *(["--spool", "plain"] if "-n" in verb else [])]
            yield row(verb + " under rules" + " of a pipe" * piped, *words, job=redacted(), piped=piped)
        yield row(verb + " under rules by threads", *words, *THREADS, job=redacted(of=large))
    yield row("cat --redact-report", "cat", *RULE_WORDS, "--redact-report", "/dev/stdout", job=redacted())
    yield row("check --quasi", "check", "--json", "--quasi", "#1", "--sensitive", "#2", "-d", ",", "--header", "repeat")
    suppressing = ["--redact", "#1,#2: suppress(k=2)", *RULE_WORDS]
    yield row("check --quasi under rules with suppress", "check", "--json", "--quasi", "#1,#2", *suppressing,
              job=redacted())
    yield row("cat under rules with suppress", "cat", *suppressing, job=redacted())
    yield row("split --dry-run under rules", "split", "-C", "4K", *RULE_WORDS, "-o", "@out/{i}.csv", "--dry-run",
              job=redacted())


def splitting():
    """Yields (name, function that creates the subject) for each command that writes pieces."""
    def row(name, *options, kind=Split, job=small, **how):
        return "split " + name, lambda bench: kind(bench, job(), *options, **how)

    for option in ("-n", "-l", "-C"):
        yield row(option, "-j", "1", job=lambda option=option: small(option))
        yield row(option + " from a pipe", job=lambda option=option: small(option), piped=True)
        yield row(option + " under rules", "-j", "1", job=redacted(option))
        yield row(option + " under rules from a pipe", job=redacted(option), piped=True)
        yield row(option + " under rules by threads", *THREADS, job=redacted(option, large))
    yield row("--redact-report --manifest under rules", "--redact-report", "@out/r.json", "--manifest", "@out/m.json", job=redacted(),
              manifest=True, report=True)
    yield row("--redact-report --manifest --sync --force under rules from a pipe", "--redact-report", "@out/r.json", "--manifest",
              "@out/m.json", "--sync", "--force", job=redacted(), manifest=True, report=True, old=(1, 2, 5), piped=True)
    yield row("--sign under rules", "--redact-report", "@out/r.json", "-j", "1", job=signed, report=True)
    yield row("--json under rules from a pipe", "--json", job=redacted(), piped=True)
    yield row("--resume under rules", "--resume", "-j", "1", kind=Resumed, right=(1, 4), job=redacted())
    yield row("of gzip data under rules", encode=gzip.compress, job=redacted())
    yield row("--compress gzip under rules", "--compress", "gzip:1", "-j", "4", kind=Compressed, job=redacted())
    yield row("--filter under rules", "--filter", 'cat > "$FILE"', "-j", "4", kind=Filtered, job=redacted())
    yield row("by threads", *THREADS, job=large)
    yield row("with a bar", *THREADS, "--progress", "always", "-v", job=large)
    yield row("with a bar, from a pipe", "--progress", "always", "-v", piped=True)
    yield row("of gzip data", encode=gzip.compress)
    yield row("of gzip data by threads", "-j", "4", job=huge, encode=gzip.compress)
    yield row("of gzip data in a pipe, -n", job=lambda: small("-n"), encode=gzip.compress, piped=True)
    yield row("of zstd data", encode=zstd)
    yield row("of xz data", "-j", "4", encode=xz)
    yield row("of bzip2 data", encode=bz2.compress)
    yield row("of a zip archive", encode=zipped)
    yield row("of UTF-16", "--encoding", "utf-16le", encode=lambda data: data.decode().encode("utf-16-le"))
    # A set with ASCII among its other bytes, so the pieces are the same.
    yield row("of a set of single bytes", "--encoding", "mac-arabic", encode=lambda data: data.replace(b'"', b"\xa2"))
    yield row("of UTF-8 that is checked", "--encoding", "utf-8")
    yield row("--force", "--force", "-j", "1", old=(1, 2, 5))
    yield row("--force from a pipe", "--force", old=(1, 2, 5), piped=True)
    yield row("--resume", "--resume", "-j", "1", kind=Resumed, right=(1, 4))
    yield row("--resume from a pipe", "--resume", kind=Resumed, right=(1, 4), piped=True)
    yield row("--manifest", "--manifest", "@out/m.json", manifest=True)
    yield row("--manifest --sync --force from a pipe", "--manifest", "@out/m.json", "--sync", "--force", manifest=True,
              old=(1, 2, 5), piped=True)
    yield row("--sync", "--sync", *THREADS, job=large)
    yield row("--checksum --manifest", "--checksum", "--manifest", "@out/m.json", *THREADS, manifest=True, job=large)
    yield row("--json", "--json", "-j", "1")
    yield row("--json from a pipe", "--json", piped=True)
    yield row("--checksum --json from a pipe", "--checksum", "--json", piped=True)
    yield row("--print-names", "--print-names", *THREADS, job=large)
    yield row("--print-names -0 from a pipe", "--print-names", "-0", piped=True)
    yield row("--reflink auto", "--reflink", "auto", *THREADS, job=large)
    for piped in (False, True):
        yield row("--mkdir" + " from a pipe" * piped, "--mkdir", kind=Directories, piped=piped)
        for threads in ("1", "4"):
            where = " -j " + threads + " from a pipe" * piped
            for name in ("gzip", "zstd"):
                yield row("--compress " + name + where, "--compress", name + ":1", "-j", threads, kind=Compressed,
                          piped=piped)
            yield row("--filter" + where, "--filter", 'cat > "$FILE"', "-j", threads, kind=Filtered, piped=piped)


def as_check(name, make):
    def check(bench):
        bench.need_tool("zstd")
        Injection(bench, name, make(bench)).run()
    check.__doc__ = name
    return check


CHECKS = [as_check(name, make) for rows in (printing(), splitting()) for name, make in rows]


def print_total(bench):
    total = collections.Counter()
    for outcomes in bench.outcomes.values():
        total.update(outcomes)
    print("%d runs with a failing request: %d whole, %d clean, %d wrong" % (
        sum(total.values()), total["whole"], total["clean"], total["wrong"]))


if __name__ == "__main__":
    sys.exit(main(__doc__, CHECKS, print_total))
