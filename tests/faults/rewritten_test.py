#!/usr/bin/env python3
"""Another process writes to the input while rules are applied to it: no value from a named column leaves the command,
and it does not crash.

  rewritten_test.py --cleave PATH [--only SUBSTRING] [--rounds N] [--seed N]

Each round starts a command, and after a random time overwrites its input with other content of the same size: with
pwrite(), or through a mapping whose pages were already dirty, so that none of the file's times need change. In both
contents the secret is in the column that a rule names, and the fields of one overlap those of the other: a program that
finds fields in the bytes of one and copies them from the other prints the secret. The output of the command is
searched, and so is everything that it has left in its folder, names included. The exit status may be 0, 3 or 4. A table
shows how often each command ended with which exit status.
"""
import argparse
from collections import Counter
import mmap
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time

from harness import TIMEOUT_S, Tally, need, need_sight

SECRET = b"@secret."
SIZE = 600_000    # several runs of 256 KiB, so neighbours may come from different contents
ENDS = (0, 3, 4)  # done, malformed, changed


def filled(header, rows, size):
    """The header, as many rows as fit, and a last row that fills the content up to `size`."""
    text, at = [header], len(header)
    while True:
        row = rows(len(text))
        if at + len(row) + 8 > size:
            break
        text.append(row)
        at += len(row)
    text.append(b"0,e," + b"x" * (size - at - 5) + b"\n")
    return b"".join(text)


def mail(i):
    return b"p%d@secret.example" % i


def narrow(i):
    return b"%d,%s,note %d\n" % (i % 10, mail(i % 7), i % 100)


def wide(i):
    return b"%d,%s,%s\n" % (i % 10 ** 6 + 10 ** 6, mail(i % 10 ** 5 + 10 ** 5), b"a longer note " * (i % 3 + 1))


def quoted(i):
    return b'%d,"%s","a, ""b"",\n%d"\n' % (i % 1000, mail(i % 10), i)


def quoted_otherwise(i):
    return b'"%d,\n",%s,"%s"\n' % (i % 100, mail(i % 1000), b"\n," * (i % 5))


def short(i):
    return b"%d,%s,\n" % (i % 10, mail(i % 10))


def returned(i):
    return b"%d,%s,\r\n" % (i % 10, mail(i % 10))


HEADER = b"id,mail,note\n"
CONTENTS = {"widths": (narrow, wide), "quotes": (quoted, quoted_otherwise), "line ends": (short, returned),
            "quotes and none": (narrow, quoted)}

OPTIONS = ["--quiet", "-d", ",", "--max-record", "64K"]
HASHED = [*OPTIONS, "--redact", "mail: hmac(p)", "--key", "p=file:key"]
MASKED = [*OPTIONS, "--redact", "mail: mask(last=4)"]
SELECTED = [*OPTIONS, "--select", "note,id"]
# Commands that must not print the secret.
COMMANDS = {
    "cat, fixed": ["cat", *OPTIONS, "--redact", "mail: fixed(x)"],
    "cat, hmac": ["cat", *HASHED],
    "cat, mask": ["cat", *MASKED],
    "cat, select": ["cat", *SELECTED],
    "cat, a snapshot": ["cat", "--snapshot", *HASHED],
    "cat, a piece": ["cat", "-n", "2/3", *MASKED],
    "cat, a range": ["cat", "-r", "1000-9000", *MASKED],
    "cat, forbidden": ["cat", *OPTIONS, "--select", "note,id", "--forbid", "email"],
    "check": ["check", *HASHED],
    "sample, mask": ["sample", "-k", "5000", "--seed", "1", *MASKED],
    "sample, select": ["sample", "-k", "5000", "--seed", "1", *SELECTED],
    "split, pieces": ["split", "-n", "3", "-o", "out/{i}", *HASHED],
    "split, rejects": ["split", "-n", "3", "--force", "-o", "out/{i}", "--rejects", "out/rejects", "--max-rejects", "all",
                       *HASHED],
    "split, sizes": ["split", "-C", "100K", "-o", "out/{i}", *MASKED],
    "split, a filter": ["split", "-n", "2", "--filter", "cat", *SELECTED],
    "split, a filter, mask": ["split", "-n", "2", "--filter", "cat", *MASKED],
    "split, together": ["split", "-n", "3", "--together", "id", "-o", "out/{i}", *HASHED],
    "split, buckets": ["split", "--by", "id", "--buckets", "5", "-o", "out/{i}", *HASHED],
    "split, parts": ["split", "--parts", "a=1,b=3", "-o", "out/{value}", *HASHED],
    "split, by a redacted value": ["split", "--by", "mail", "--max-values", "5000000", "-o", "out/{value}", *HASHED],
    "split, by value": ["split", "--by", "id", "--max-values", "5000000", "-o", "out/{i}", *HASHED],
    "split, columns dropped": ["split", "--by", "id", "--drop-by", "--buckets", "3", "-o", "out/{i}", *SELECTED],
}
# Commands that may print it, and must not crash.
PLAIN = {
    "split, by value, without rules": ["split", "--by", "id", "--buckets", "5", "-o", "out/{i}", "-d", ","],
    "split, together, without rules": ["split", "-n", "3", "--together", "id", "-o", "out/{i}", "-d", ","],
    "check, without rules": ["check", "-d", ","],
    "count": ["count", "-d", ","],
}


class Place:
    """A folder with an input that is rewritten."""

    def __init__(self, cleave, contents):
        self.cleave, self.folder = cleave, tempfile.mkdtemp(prefix="cleave-rewritten-")
        self.before, self.after = (filled(HEADER, rows, SIZE) for rows in contents)
        self.input = os.path.join(self.folder, "in.csv")
        with open(os.path.join(self.folder, "key"), "wb") as file:
            file.write(bytes(range(64)))
        os.chmod(file.name, 0o600)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder)

    def wait_for_tick(self, time_ns):
        """Waits until the file system's clock has moved on, so that the next change of the input changes its times."""
        path = os.path.join(self.folder, "tick")
        while True:
            with open(path, "wb") as file:
                file.write(b"x")
            if os.stat(path).st_mtime_ns > time_ns:
                return

    def run(self, words, wait_s, is_mapped):
        """Returns the exit status, everything that was printed or left, and how long the run took. If `wait_s` is None,
        nothing writes to the input."""
        shutil.rmtree(os.path.join(self.folder, "out"), ignore_errors=True)
        os.mkdir(os.path.join(self.folder, "out"))
        descriptor = os.open(self.input, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            os.ftruncate(descriptor, SIZE)
            with mmap.mmap(descriptor, SIZE) as mapping:
                if is_mapped:
                    mapping[:] = self.before   # dirties the pages, so that a later write changes no time
                else:
                    os.pwrite(descriptor, self.before, 0)
                self.wait_for_tick(os.fstat(descriptor).st_mtime_ns)
                began = time.monotonic()
                process = subprocess.Popen([self.cleave, *words, "in.csv"], cwd=self.folder, stdin=subprocess.DEVNULL,
                                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
                if wait_s is not None:
                    time.sleep(wait_s)
                    if is_mapped:
                        mapping[:] = self.after
                    else:
                        os.pwrite(descriptor, self.after, 0)
                printed, _ = process.communicate(timeout=TIMEOUT_S)
                took = time.monotonic() - began
        finally:
            os.close(descriptor)
        for folder, _, names in os.walk(os.path.join(self.folder, "out")):
            printed += "\n".join(names).encode()
            for name in names:
                with open(os.path.join(folder, name), "rb") as file:
                    printed += file.read()
        return process.returncode, printed, took


def check(place, words, is_secret, rounds, chance):
    """Runs the rounds of one command, half of them with each way to write. Returns how often it ended with which exit
    status."""
    took, ends = place.run(words, None, False)[2], Counter()
    for round_ in range(rounds):
        is_mapped = round_ % 2 == 1
        status, printed, _ = place.run(words, chance.random() * took, is_mapped)
        ends[status] += 1
        need(status in ENDS, "exit status %d: %r" % (status, printed[-300:]))
        need(not (is_secret and SECRET in printed), "it prints the secret (exit status %d, %s)"
             % (status, "a mapping" if is_mapped else "pwrite"))
    return ends


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cleave", required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--rounds", type=int, default=20, help="of each command on each pair of contents")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    cleave, chance, tally = os.path.abspath(arguments.cleave), random.Random(arguments.seed), Tally()
    ends = {name: Counter() for name in {**COMMANDS, **PLAIN}}
    for pair, contents in CONTENTS.items():
        with Place(cleave, contents) as place:
            for name, words in {**COMMANDS, **PLAIN}.items():
                if arguments.only not in name:
                    continue

                def look():
                    ends[name] += check(place, words, name in COMMANDS, arguments.rounds, chance)
                tally.run("%s: %s" % (pair, name), look)
    total = sum(ends.values(), Counter())
    tally.run("some runs notice the writer", lambda: need_sight(total[4], "exit statuses %s" % dict(total)))
    for name, statuses in {**ends, "all": total}.items():
        print("     %-36s %s" % (name, "  ".join("exit %d: %5d" % end for end in sorted(statuses.items()))))
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
