#!/usr/bin/env python3
"""Keys that cannot be used: the command ends with 1 or 2 before it reads a byte of its input, and shows none of the key.

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
import threading
import time

from harness import finish, kill_group, main, need, read, write
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

    def run_unread(self, head, where, extras=(), wrap=(), during=None, timeout=20, **more):
        """Runs it on a pipe that holds the input, and asserts that all of it is still in the pipe."""
        reader, writer = os.pipe()
        try:
            os.write(writer, self.data[:60000])
            os.close(writer)
            process = self.start(self.command(head, where, extras), stdin=reader, wrap=wrap, **more)
            try:
                if during:
                    during(process)
                run = finish(process, timeout)
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


def usable(bench):
    """Keys that can be used: in a file, a named pipe, a variable, a descriptor; the tokens are the same"""
    site = KeySite(bench)
    fifo, wanted = site.path("fifo"), None
    os.mkfifo(fifo, 0o600)
    os.symlink(site.key, site.path("link"))

    def feed():
        for part in (site.good[:10], site.good[10:]):
            time.sleep(0.05)
            os.write(writing[0], part)
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
        thread = threading.Thread(target=feed) if writing else None
        process = site.start(site.command(CAT, "pii=" + where), stdin=subprocess.PIPE, **more)
        if thread:
            thread.start()
        run = finish(process, data=site.data)
        if thread:
            thread.join()
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
    """Files: missing, too short, too long, others may read them, others own them, no files at all"""
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
    """A named pipe that nobody writes to, or whose writer is silent or leaves: it ends in about five seconds, or TERM
    ends it"""
    site = KeySite(bench)
    path = site.path("fifo")
    os.mkfifo(path, 0o600)

    def timed(low, high, text, **more):
        began = time.monotonic()
        site.expect_refused("pii=file:" + path, text, heads=(SPLIT,), **more)
        took = time.monotonic() - began
        need(low <= took <= high, "it took %.1f s" % took)

    timed(4, 8, "timed out")
    writer = os.open(path, os.O_RDWR)
    timed(4, 8, "timed out")
    os.write(writer, site.good[:31])
    timed(4, 8, "timed out")
    os.close(writer)

    def leaves(_):
        writer = os.open(path, os.O_WRONLY)
        os.write(writer, site.good[:31])
        os.close(writer)

    timed(0, 4, "needs at least 32", during=leaves)
    os.chmod(path, 0o644)
    timed(0, 4, "chmod 600")
    os.chmod(path, 0o600)

    def terminate(process):
        time.sleep(0.2)
        process.terminate()

    run = site.run_unread(SPLIT, "pii=file:" + path, during=terminate)
    need(run.code == -15, "TERM: %s" % run)
    site.expect_none(run)
    site.remove()


def changing(bench):
    """A file that changes while it is read"""
    bench.need_plain_binary("its runtime does not work under strace")
    strace = bench.need_tool("strace")
    site = KeySite(bench)

    def append(_):
        with open(site.key, "ab") as file:
            file.write(site.markers["other"])

    def rewrite(_):
        with open(site.key, "r+b") as file:
            file.write(site.markers["other"])

    def truncate(_):
        os.truncate(site.key, 33)

    def touch(_):
        os.utime(site.key, (5, 5))

    def chmod(_):
        os.chmod(site.key, 0o644)

    for change in (append, rewrite, truncate, touch, chmod):
        write(site.key, site.good * 200)
        os.chmod(site.key, 0o600)
        wrap = [strace, "-f", "-qq", "-o", site.path("trace"), "-P", site.key, "-e", "trace=read",
                "-e", "inject=read:delay_exit=400000:when=1"]

        def during(process):
            end = time.monotonic() + 15
            while time.monotonic() < end and not has_begun(site.path("trace")):
                time.sleep(0.01)
            time.sleep(0.1)
            change(process)

        with contextlib.suppress(FileNotFoundError):
            os.unlink(site.path("trace"))
        site.expect_refused("pii=file:" + site.key, "changed while it was read", heads=(CAT,), wrap=wrap, during=during)
    site.remove()


def has_begun(trace):
    return os.path.exists(trace) and b"read(" in read(trace)


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
    """Descriptors: closed, standard ones, no numbers, of what is no key"""
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
    """An input that is a file is not opened before the key is there; no command is started"""
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
    """QUIT and ABRT while it waits for a key: no core dump has what was read of it"""
    bench.need_plain_binary("its runtime handles these signals")
    site = KeySite(bench)
    path = site.path("fifo")
    os.mkfifo(path, 0o600)
    site.cwd = bench.temporary   # where the sandbox, if it is closed already, would let a core be written
    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    for number in (signal.SIGQUIT, signal.SIGABRT, signal.SIGSEGV):
        writer = os.open(path, os.O_RDWR)
        os.write(writer, site.good)
        def send(process):
            time.sleep(0.2)
            process.send_signal(number)

        run = site.run_unread(CAT, "pii=file:" + path, during=send, limits=[(resource.RLIMIT_CORE, hard)],
                              before=lambda: signal.signal(signal.SIGQUIT, signal.SIG_DFL))
        os.close(writer)
        need(run.code == -number, "it did not wait: %s" % run)
        need(os.listdir(site.cwd) == [], "there is a core dump")
        site.expect_none(run)
    site.remove()


CHECKS = [usable, files, words, pipes, changing, variables, descriptors, unopened, killed_while_waiting]

if __name__ == "__main__":
    sys.exit(main(__doc__, CHECKS))
