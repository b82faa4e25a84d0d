#!/usr/bin/env python3
"""Keys that cannot be used: the command ends with exit status 1 or 2 before it reads a byte of its input, and shows no
part of the key.

  keys_test.py --cleave PATH [--only SUBSTRING] [--rounds N] [-v]
"""
import contextlib
import os
import re
import resource
import signal
import socket
import subprocess
import sys
import time

from harness import (finish, has_open, kill_group, main, need, need_sight, read, wait_until,
                     wait_until_read, write)
from planted import FILE, PIPE, WORDS, Site, Table, need_code

SPLIT, CAT, CHECK = ["split", "-l", "7"], ["cat"], ["check"]


class KeySite(Site):
    def __init__(self, bench):
        super().__init__(bench)
        self.data = Table(self.markers, 60).bytes()
        self.good = self.markers["key"] + b"\0" * 8
        write(self.input, self.data)

    def command(self, head, where, extras=()):
        keys = [where] if isinstance(where, str) else where
        words = WORDS + [word for key in keys for word in ("--key", key)]
        return self.words(("", head, PIPE), words, extras)

    def run_unread(self, head, where, extras=(), wrap=(), during=None, **more):
        """Runs the command on a pipe that holds the input, and expects all of it to be in the pipe afterwards."""
        reader, writer = os.pipe()
        try:
            os.write(writer, self.data[:60000])
            os.close(writer)
            process = self.start(self.command(head, where, extras), stdin=reader, wrap=wrap, **more)
            try:
                if during:
                    during(process)
                run = finish(process)
            finally:
                kill_group(process)
            left = 0
            while part := os.read(reader, 1 << 16):
                left += len(part)
            need(left == len(self.data[:60000]), "%s: it has read from its input: %s" % (where, run))
        finally:
            os.close(reader)
        return run

    def expect_refused(self, where, *texts, heads=(SPLIT, CAT, CHECK), codes=(1, 2), **more):
        for head in heads:
            run = self.run_unread(head, where, **more)
            need_code(run, set(codes), "%s %s" % (head[0], where))
            need(all(text in run.message for text in texts), "%s: it says %s" % (where, run))
            need(run.stdout == b"" and os.listdir(self.out) == [], "%s: something is written" % where)
            self.expect_none(run)


PATIENCE_S = 5   # how long a command waits for a key


def wait_for_opening(process, path):
    """Waits until the process has opened the pipe, and so is waiting for its contents, or has ended."""
    wait_until(lambda: process.poll() is not None or has_open(process, path), "it does not open the key")


def usable(bench):
    """Usable keys: in a file, a named pipe, a variable, a descriptor; the tokens are the same"""
    site = KeySite(bench)
    fifo, wanted = site.path("fifo"), None
    os.mkfifo(fifo, 0o600)
    os.symlink(site.key, site.path("link"))

    def feed(process):
        wait_for_opening(process, fifo)   # a pipe's contents are lost when the last process with it open closes it
        for part in (site.good[:10], site.good[10:]):
            os.write(writing[0], part)
            wait_until_read(process, writing[0])
        os.close(writing[0])

    for where in ("file:" + site.key, "file:" + site.path("link"), "file:" + fifo, "env:PII", "fd:%d"):
        writing, more, passed = [], {}, []
        if "fifo" in where:
            writing = [os.open(fifo, os.O_RDWR)]
        if where.startswith("env"):
            write(site.key, site.markers["key"] + b"12345678")
            more["env"] = bench.environment(PII=read(site.key).decode())
        if where.startswith("fd"):
            passed = [os.open(site.key, os.O_RDONLY)]
            more["pass_fds"] = passed
            where %= passed[0]
        process = site.start(site.command(CAT, "pii=" + where), stdin=subprocess.PIPE, **more)
        if writing:
            feed(process)
        run = finish(process, data=site.data)
        for descriptor in passed:
            os.close(descriptor)
        need_code(run, {0}, where)
        site.expect_none(run)
        if where == "env:PII":
            wanted = site.run(("", CAT, PIPE, bytes), WORDS + ["--key", "pii=file:" + site.key], site.data).stdout
        wanted = wanted or run.stdout
        need(run.stdout == wanted, "%s: other tokens" % where)
    site.remove()


def files(bench):
    """Files: missing, too short, too long, readable by other users, owned by other users, not files at all"""
    site = KeySite(bench)

    def key(data, mode=0o600):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(site.key)
        write(site.key, data)
        os.chmod(site.key, mode)
        return "pii=file:" + site.key

    site.expect_refused("pii=file:" + site.path("missing"), "No such file")
    site.expect_refused("pii=file:" + site.path("missing/key"), "No such file")
    for size in (0, 1, 31):
        site.expect_refused(key((site.good * 2)[:size]), "needs at least 32")
    site.expect_refused(key(site.good * 2049), "more than 65536 bytes")
    for mode in (0o644, 0o604, 0o602, 0o601, 0o666, 0o660, 0o620, 0o777):
        site.expect_refused(key(site.good, mode), "chmod 600", heads=(CAT,))
    os.symlink(key(site.good, 0o644).split(":")[1], site.path("link"))
    site.expect_refused("pii=file:" + site.path("link"), "chmod 600")
    if os.geteuid() == 0:
        where = key(site.good)
        os.chown(site.key, 65534, 0)
        site.expect_refused(where, "another user")
    for path in (site.root, "/dev/zero", "/dev/null", "/dev/full", "/dev/tty"):
        site.expect_refused("pii=file:" + path)
    with socket.socket(socket.AF_UNIX) as listening:
        path = os.path.join(bench.root, "socket")
        listening.bind(path)
        site.expect_refused("pii=file:" + path)
    other = site.path("other")
    write(other, (site.markers["other"] * 2)[:40])
    os.chmod(other, 0o600)
    site.expect_refused(["other=file:" + other, key(site.good[:31])], "needs at least 32")
    site.expect_refused(["pii=file:" + other, key(site.good)], "two keys")
    site.remove()


def words(bench):
    """A key on the command line is refused and not repeated"""
    site = KeySite(bench)
    key = site.markers["key"].decode()
    for where in (key, "pii=" + key, "pii=mem:" + key, "=" + key, "pii:" + key, "pii=FILE:" + key, key + "=file",
                  "p i=" + key):
        site.expect_refused(where, codes=(2,))
    site.remove()


def pipes(bench):
    """A named pipe without a writer, or whose writer is silent or leaves: the run ends in about five seconds, or TERM
    ends it"""
    site = KeySite(bench)
    path = site.path("fifo")
    os.mkfifo(path, 0o600)

    def expect_timeout():
        began = time.monotonic()
        site.expect_refused("pii=file:" + path, "timed out", heads=(SPLIT,))
        took = time.monotonic() - began
        need(took >= PATIENCE_S - 1, "it took %.1f s" % took)

    expect_timeout()
    writer = os.open(path, os.O_RDWR)
    expect_timeout()
    os.write(writer, site.good[:31])
    expect_timeout()
    os.close(writer)

    def waits(process):
        wait_for_opening(process, path)
        need_sight(process.poll() is None, "it was over before it was seen to wait")

    def leaves(process):
        waits(process)
        try:
            writer = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:   # the reader has gone
            need_sight(False, "it was over before the writer came")
        with contextlib.suppress(BrokenPipeError):
            os.write(writer, site.good[:31])
        os.close(writer)

    began = time.monotonic()
    run = site.run_unread(SPLIT, "pii=file:" + path, during=leaves)
    need_sight("timed out" not in run.message or time.monotonic() - began < PATIENCE_S, "the writer came too late")
    need_code(run, {1, 2}, "a writer that leaves")
    need("needs at least 32" in run.message and run.stdout == b"" and os.listdir(site.out) == [], "it says %s" % run)
    site.expect_none(run)
    os.chmod(path, 0o644)
    site.expect_refused("pii=file:" + path, "chmod 600", heads=(SPLIT,))
    os.chmod(path, 0o600)

    def terminate(process):
        waits(process)
        process.terminate()

    began = time.monotonic()
    run = site.run_unread(SPLIT, "pii=file:" + path, during=terminate)
    need_sight("timed out" not in run.message or time.monotonic() - began < PATIENCE_S, "the signal came too late")
    need(run.code == -15, "TERM: %s" % run)
    site.expect_none(run)
    site.remove()


def changing(bench):
    """A file that changes while it is read"""
    bench.need_plain_binary("its runtime does not work under strace")
    strace = bench.need_tool("strace")
    site = KeySite(bench)
    trace = site.path("trace")

    def append():
        with open(site.key, "ab") as file:
            file.write(site.markers["other"])

    def rewrite():
        with open(site.key, "r+b") as file:
            file.write(site.markers["other"])

    def truncate():
        os.truncate(site.key, 33)

    def touch():
        os.utime(site.key, (5, 5))

    def chmod():
        os.chmod(site.key, 0o644)

    for change in (append, rewrite, truncate, touch, chmod):
        write(site.key, site.good * 200)
        os.chmod(site.key, 0o600)
        # The command is stopped after its first read of the key.
        wrap = [strace, "-f", "-o", trace, "-P", site.key, "-e", "trace=read", "-e", "inject=read:signal=STOP:when=1"]

        def during(process):
            wait_until(lambda: process.poll() is not None or has_stopped(trace), "it does not read the key")
            need(process.poll() is None, "it has not read the key")
            change()
            os.killpg(process.pid, signal.SIGCONT)

        with contextlib.suppress(FileNotFoundError):
            os.unlink(trace)
        site.expect_refused("pii=file:" + site.key, "modified while it was read",
                            heads=(CAT,), wrap=wrap, during=during)
    site.remove()


def has_stopped(trace):
    return os.path.exists(trace) and b"--- stopped by SIGSTOP ---" in read(trace)


def variables(bench):
    """Variables: empty, missing, too short, too long"""
    site = KeySite(bench)
    key = site.markers["key"].decode()
    for value, text in ((None, "not set"), ("", "needs at least 32"), (key, "needs at least 32"),
                        ((key * 3000)[:65537], "more than 65536 bytes")):
        more = {} if value is None else {"PII": value}
        site.expect_refused("pii=env:PII", text, env=bench.environment(**more))
    site.remove()


def descriptors(bench):
    """Descriptors: closed, standard ones, not numbers, not leading to keys"""
    site = KeySite(bench)
    for number in ("7", "999999", "0", "1", "2", "-1", "x", "3x", "99999999999999999999", " 5"):
        site.expect_refused("pii=fd:" + number, codes=(2,))

    def passed(descriptor, *texts):
        site.expect_refused("pii=fd:%d" % descriptor, *texts, heads=(CAT,), pass_fds=[descriptor])
        os.close(descriptor)

    passed(os.open(site.root, os.O_RDONLY))
    passed(os.open(site.key, os.O_WRONLY), "Bad file descriptor")
    os.chmod(site.key, 0o644)
    passed(os.open(site.key, os.O_RDONLY), "chmod 600")
    os.chmod(site.key, 0o600)
    descriptor = os.open(site.key, os.O_RDONLY)
    os.lseek(descriptor, 1, os.SEEK_SET)
    passed(descriptor, "needs at least 32")
    reader, writer = os.pipe()
    os.write(writer, site.good[:31])
    os.close(writer)
    passed(reader, "needs at least 32")
    site.remove()


def unopened(bench):
    """An input file is not opened before the key has been read; no command is started"""
    bench.need_plain_binary("its runtime does not work under strace")
    strace = bench.need_tool("strace")
    site = KeySite(bench)
    trace = site.path("trace")
    wrap = [strace, "-f", "-qq", "-o", trace, "-e", "trace=open,openat,openat2,execve"]
    for head in (SPLIT, CAT, CHECK):
        extras = ["--filter", "cat > /dev/null"] if head == SPLIT else []
        for where, code in (("pii=file:" + site.path("missing"), 1), ("pii=env:NOBODY", 2), ("pii=fd:77", 2),
                            ("pii=file:" + site.key, 0)):
            words = site.words(("", head, FILE), WORDS + ["--key", where], extras)
            run = bench.run(words, wrap=wrap, cwd=site.cwd)
            need_code(run, {code}, where)
            lines = read(trace).decode().splitlines()
            opened = [number for number, line in enumerate(lines)
                      if re.search(r"open\w*\(.*%s" % re.escape(site.input), line) and "O_PATH" not in line]
            started = [line for line in lines[1:] if "execve(" in line]
            if code == 0:
                key = [number for number, line in enumerate(lines) if site.key + '"' in line and "open" in line]
                need(key and opened and key[0] < opened[0], "the key is opened after the input, or not at all")
            else:
                need(not opened and not started, "%s: the input is opened, or a command started: %s" % (where, opened))
            site.empty()
    site.remove()


def killed_while_waiting(bench):
    """QUIT and ABRT while the command waits for a key: no core dump contains the part that was read"""
    bench.need_plain_binary("its runtime handles these signals")
    site = KeySite(bench)
    path = site.path("fifo")
    os.mkfifo(path, 0o600)
    site.cwd = bench.temporary   # where the sandbox, if it is already closed, would let a core dump be written
    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    for number in (signal.SIGQUIT, signal.SIGABRT, signal.SIGSEGV):
        writer = os.open(path, os.O_RDWR)
        os.write(writer, site.good)

        def send(process):
            wait_for_opening(process, path)
            wait_until_read(process, writer)
            need_sight(process.poll() is None, "it was over before it was seen to wait")
            process.send_signal(number)

        began = time.monotonic()
        run = site.run_unread(CAT, "pii=file:" + path, during=send, limits=[(resource.RLIMIT_CORE, hard)],
                              before=lambda: signal.signal(signal.SIGQUIT, signal.SIG_DFL))
        os.close(writer)
        need_sight("timed out" not in run.message or time.monotonic() - began < PATIENCE_S, "the signal came too late")
        need(run.code == -number, "it did not wait: %s" % run)
        need(os.listdir(site.cwd) == [], "there is a core dump")
        site.expect_none(run)
    site.remove()


def versions(bench, key):
    """The versions of the key: number -> (id, whether it is in use)."""
    run = bench.run(["key", "list", key])
    need_code(run, {0}, "key list")
    found = {}
    for line in run.stdout.decode().splitlines():
        number, identity, _, *used = line.split("\t")
        found[int(number)] = identity, used == ["in use"]
    need(sum(used for _, used in found.values()) == 1, "not one version is in use: %s" % found)
    return found


def rotations(bench):
    """Rotations that are killed at a call, or of which a call fails: no version is lost, and the next one goes on"""
    bench.need_plain_binary("its runtime does not work under strace")
    strace = bench.need_tool("strace")
    calls = ["flock", "openat", "fchmod", "write", "fsync", "link", "rename", "unlink"]
    done = set()
    for call in calls:
        for kind in ("signal=KILL", "error=EPERM" if call == "link" else "error=EIO"):
            for nth in range(1, 100):
                site = KeySite(bench)
                key = site.path("k")
                for word in ("new", "rotate")[:1 + nth % 2]:   # so that both the first and a later one are seen
                    need_code(bench.run(["key", word, key]), {0}, word)
                before, content = versions(bench, key), read(key)
                trace = site.path("trace")
                run = bench.run(["key", "rotate", key],
                                wrap=[strace, "-f", "-qq", "-o", trace, "-e", "trace=" + call, "-e",
                                      "inject=%s:%s:when=%d" % (call, kind, nth)])
                is_hit = b"INJECTED" in read(trace) or b"killed by SIGKILL" in read(trace)
                after = versions(bench, key)
                what = "%s %s %d" % (call, kind, nth)
                for number, (identity, _) in before.items():
                    need(after[number][0] == identity, "%s: version %d is lost" % (what, number))
                need(max(after) <= max(before) + 1, "%s: %s" % (what, after))
                if call == "link" and kind.startswith("error") and is_hit:
                    need("hard links" in run.message and read(key) == content, "%s: %s" % (what, run))
                need_code(bench.run(["key", "rotate", key]), {0}, what)
                last = versions(bench, key)
                need(max(last) == max(after) + 1 and last[max(last)][1], "%s, and then: %s" % (what, last))
                need(not [name for name in os.listdir(site.root) if "cleave-new" in name], "%s: a file is left" % what)
                site.remove()
                if not is_hit:
                    break
                done.add(call)
    need(done == set(calls), "calls that were not seen: %s" % (set(calls) - done))


CHECKS = [usable, files, words, pipes, changing, variables, descriptors, unopened, killed_while_waiting, rotations]

if __name__ == "__main__":
    sys.exit(main(__doc__, CHECKS, timed=[usable, pipes, killed_while_waiting]))
