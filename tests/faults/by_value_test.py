#!/usr/bin/env python3
"""cleave split --by under every kind of failure: runs the checks of the other scripts on pieces by value.

  by_value_test.py --cleave PATH [--only SUBSTRING] [--rounds N] [--seed N] [-v]

With --rounds 1 some checks are skipped, and the output says so.
"""
import collections
import contextlib
import functools
import json
import os
import random
import re
import resource
import signal
import subprocess
import sys
import time

import memory_test
import nth_call_test
import output_test
import signals_test
from harness import (HERE, KEY, Job, Place, Skip, bytes_in_pipe, contents, difference, drip, expect_clean, expect_exit,
                     expect_whole, finish, is_hidden, long, main, need, need_sight, read, snapshot, stop,
                     stop_while_reading, under, wait_until_idle, write)
from planted import FILE, KEY as KEY_WORDS, PIPE, WORDS, Site, Table, need_code
from secrets_test import FAULTS

sys.path.insert(0, os.path.join(os.path.dirname(HERE), "references", "byvalue"))
from cases import Case  # noqa: E402
from expect import Expected, Piece  # noqa: E402
from fields import make_dialect  # noqa: E402

# Fields as written in a file. They are hard to turn into names.
HARD = [b"a", b'"a"', b"A", b'"x,y"', b'"../x"', b"", b'"two\nlines"', b'"say ""no"""', b".", b"-rf", b"\xff", b"%2F"]


class ByValue(Job):
    """A split by the column k into one piece per value. Only ByValueAndSize uses the options -C and -l."""

    words, settings, has_strays = [], {}, True

    def __init__(self, data, option="-C", value=64 << 10, stem="p"):
        self.data, self.stem = data, stem
        self.args = ["-d", ",", "--header", "repeat", "--by", "k", *self.words, *self.limit_words(option, value)]
        expected = self.expected(data, option, value)
        self.refusal = expected.codes - {0}
        self.by_name = {self.file_name(piece): piece for piece in expected.pieces or []}
        self.pieces = {name: piece.content for name, piece in self.by_name.items()}
        self.records = sum(piece.records for piece in self.by_name.values())

    @classmethod
    @functools.lru_cache(maxsize=32)
    def expected(cls, data, option, value):
        case = Case()
        case.data, case.dialect, case.by, case.max_keys = data, make_dialect(b","), b"k", 1 << 30
        for name, setting in {**cls.settings, **cls.limits(option, value)}.items():
            setattr(case, name, setting)
        return Expected(case)

    def limit_words(self, option, value):
        return []

    @staticmethod
    def limits(option, value):
        return {}

    @property
    def template(self):
        return self.stem + ".{value}.csv"

    def file_name(self, piece):
        return os.fsdecode(b"%s.%s.csv" % (self.stem.encode(), piece.name))

    def expect_rows(self, rows):
        named = {os.path.basename(row["name"]): (row["records"], row["size"]) for row in rows}
        wanted = {os.path.basename(name): (piece.records, len(piece.content)) for name, piece in self.by_name.items()}
        need(named == wanted and len(rows) == len(wanted), "the manifest names other pieces")

    @classmethod
    def make_input(cls, size, seed=1):
        """Some values are hard to turn into names. There are about as many values as there would be 4 KiB pieces, in
        random order."""
        chance = random.Random(seed)
        values = HARD + [b"key%d" % number for number in range(size // 4096)]
        kinds = [b"%d,%s,plain\n", b'%d,%s,"two\nlines"\n', b'%d,%s,"a ""b"", c"\n', b"%d,%s,\r\n", b"\n",
                 b"%d,%s," + b"long " * 40 + b"\n", b'%d,%s,5" tv\n' if cls.has_strays else b'%d,%s,"5"" tv"\n']
        parts, total = [b"id,k,note\n"], 0
        while total < size:
            kind = chance.choice(kinds)
            parts.append(kind % (chance.randrange(10 ** 6), chance.choice(values)) if b"%d" in kind else kind)
            total += len(parts[-1])
        return b"".join(parts)


class ByValueAndSize(ByValue):
    """Values that are larger than the limit are divided."""

    def limit_words(self, option, value):
        return [option, str(value)] if option != "-n" else []

    @staticmethod
    def limits(option, value):
        return {"-C": {"size": value}, "-l": {"count": value}}.get(option, {})

    @property
    def template(self):
        return self.stem + ".{value}.{i:06}.csv"

    def file_name(self, piece):
        return os.fsdecode(b"%s.%s.%06d.csv" % (self.stem.encode(), piece.name, piece.number))


class Buckets(ByValue):
    """Pieces according to the hash of the value."""

    words, settings = ["--buckets", "9"], {"buckets": 9}

    @property
    def template(self):
        return self.stem + ".{i:06}.csv"

    def file_name(self, piece):
        return "%s.%06d.csv" % (self.stem, piece.number)


class Parts(ByValue):
    """Pieces with names and weights."""

    PARTS = [(name, "0.5" if name == "a" else "0.1") for name in "abcdefghi"]
    words = ["--parts", ",".join("%s=%s" % part for part in PARTS)]
    settings = {"parts": [(name.encode(), weight) for name, weight in PARTS]}

class ByPath(ByValue):
    """Lines of JSON, by a key in an object inside."""

    def __init__(self, data, option="-C", value=64 << 10, stem="p"):
        self.data, self.stem, self.refusal = data, stem, set()
        self.args = ["--dialect", "jsonl", "--by", ".o.k", "--max-values", str(1 << 30)]
        lines = {}
        for line in data.splitlines(keepends=True):
            key = json.loads(line, parse_int=str, parse_float=str)["o"]["k"]
            name = {None: "__EMPTY__", True: "true"}.get(key, key)
            lines.setdefault(name, []).append(line)
        pieces = [Piece(name.encode(), None, 1, len(of), b"".join(of)) for name, of in lines.items()]
        self.by_name = {self.file_name(piece): piece for piece in pieces}
        self.pieces = {name: piece.content for name, piece in self.by_name.items()}
        self.records = sum(piece.records for piece in self.by_name.values())

    @classmethod
    def make_input(cls, size, seed=1):
        chance = random.Random(seed)
        values = ["null", '"a"', '"\\u0062"', "1.50", "true"] + ['"key%d"' % number for number in range(size // 4096)]
        kinds = ['{"o":{"k":%s},"note":"plain"}', '{"o":{"k":0, "k":%s}}', '{"note":[{"k":"no"},"a,b"],"o":{"x":{},"k":%s}}',
                 '{"o":{"k":%s},"note":"' + "long " * 40 + '"}']
        lines, total = [], 0
        while total < size:
            lines.append((chance.choice(kinds) % chance.choice(values)).encode() + b"\n")
            total += len(lines[-1])
        return b"".join(lines)


class RedactedByValue(ByValue):
    """The value becomes a name only after a rule has changed it."""

    RULES = ["k: hmac(k, bytes=8, form=hex)", "id: mask(first=2)", 'note: fixed("a, b") if k = a', "note: keep"]
    words = ["--key", "k=file:@key", "--select", "note,k,id",
             *(word for rule in RULES for word in ("--redact", rule))]
    settings = {"has_rules": True, "rules": [rule.encode() for rule in RULES], "keys": {b"k": KEY},
                "select": b"note,k,id"}
    has_strays = False


class Dropping(ByValue):
    """The pieces lack the column."""

    words, settings, has_strays = ["--drop-by"], {"drop_by": True}, False


class Hive(Dropping):
    """Pieces in folders that the split creates."""

    words, settings = ["--hive"], {"hive": True}

    @property
    def template(self):
        return "{value}/" + self.stem + ".{i}.csv"

    def file_name(self, piece):
        return os.fsdecode(b"%s/%s.%d.csv" % (piece.name, self.stem.encode(), piece.number))

    def expect_rows(self, rows):
        need(len(rows) == len(self.by_name), "the manifest has other pieces")


def by_value(check, divisor=1):
    return under(ByValue, "by value", check, divisor)


def by_value_and_size(check, divisor=1):
    return under(ByValueAndSize, "by value and size", check, divisor)


def by_bucket(check, divisor=1):
    return under(Buckets, "by bucket", check, divisor)


def by_part(check, divisor=1):
    return under(Parts, "by part", check, divisor)


def by_path(check, divisor=1):
    return under(ByPath, "by path", check, divisor)


def by_redacted_value(check, divisor=1):
    return under(RedactedByValue, "by redacted value", check, divisor)


def without_column(check, divisor=1):
    return under(Dropping, "without the column", check, divisor)


def into_folders(check, divisor=1):
    return under(Hive, "into folders", check, divisor)


# Checks that only pieces by value have.

def disk_full(bench):
    """The disk is full, or lacks inodes"""
    place = bench.place()
    for option in ("size=256k", "nr_inodes=9"):
        with bench.mounted("-t", "tmpfs", "-o", option, "tmpfs") as place.out:
            for source, data in ((None, None), ("-", place.job.data)):
                for options in ([], ["-j", "8"], ["--force", "--manifest", place.path("m.json")]):
                    before = snapshot(place.out)
                    run = bench.run(place.command(*options, source=source), data=data)
                    expect_exit(run, 1, "No space left on device")
                    expect_clean(before, place.out)


def few_descriptors(bench):
    """Fewer descriptors than pieces, down to none"""
    place = bench.place()
    need(len(place.job.pieces) > 200, "too few pieces")
    for limit in (64, 16):
        for source, data in ((None, None), ("-", place.job.data)):
            for options in ([], ["-j", "8"]):
                run = bench.run(place.command(*options, source=source), data=data,
                                limits=[(resource.RLIMIT_NOFILE, limit)])
                expect_exit(run, 0)
                expect_whole(place.job, place.out)
                place.empty()
    # If a sanitizer's runtime gets no descriptor, it reports an error in the program.
    for limit in [] if bench.sanitized else range(3, 16):
        before = snapshot(place.out)
        run = bench.run(place.command(), limits=[(resource.RLIMIT_NOFILE, limit)])
        if run.code == 0:
            expect_whole(place.job, place.out)
        else:
            need(run.code in (1, 127) and ("open files" in run.message or "Error 24" in run.message), str(run))
            expect_clean(before, place.out)
        place.empty()


def few_values(bench):
    """Few values with many records: with few descriptors, and with routes in files that cannot be read back"""
    place = bench.place(1 << 16)
    records = [b"%d,%d\n" % (i * 7919 % 4, i % 10) for i in range(600_000 if bench.sanitized else 1_200_000)]
    source = write(os.path.join(place.root, "few.csv"), b"k,v\n" + b"".join(records))
    pieces = {"%d.csv" % (i * 7919 % 4): b"k,v\n" + b"".join(records[i::4]) for i in range(4)}
    args = ["split", "--quiet", "--by", "k", "-o", os.path.join(place.out, "{value}.csv"), source]
    shortened = {name: data.replace(b"k,", b"").replace(b"%s," % name[:1].encode(), b"") for name, data in pieces.items()}
    limits = [(resource.RLIMIT_NOFILE, 24 if bench.sanitized else 16)]
    for extra, wanted in (([], pieces), (["--json", "--checksum"], pieces), (["--resume"], pieces), (["--drop-by"], shortened)):
        expect_exit(bench.run([*args, "-j", "8", *extra], limits=limits), 0)
        need(contents(place.out) == wanted, "%s: the pieces are wrong" % extra)
        place.empty()
    if bench.sanitized:  # strace would also see the calls of the sanitizer's runtime
        return
    strace = bench.need_tool("strace")
    failed = 0
    for extra in (["--json", "--checksum"], ["--compress", "gzip"], []):
        for number in range(1, 9):
            before = snapshot(place.out)
            wrap = [strace, "-f", "-qq", "-o", "/dev/null", "-e", "trace=pread64", "-e",
                    "inject=pread64:error=EIO:when=%d" % number]
            run = bench.run([*args, "-j", "2", *extra], wrap=wrap)
            need(run.code in (0, 1, 127), "%s, call %d: %s" % (extra, number, run))  # 127: a call in the loader failed
            if run.code != 0:
                expect_clean(before, place.out)
            failed += run.code == 1
            place.empty()
    need_sight(failed > 0, "no call of ours has failed")


def too_many_values(bench):
    """More values than --max-values: refused before anything is written"""
    place = bench.place()
    count = len(place.job.pieces)
    for source, data in ((None, None), ("-", place.job.data)):
        before = snapshot(place.out)
        expect_exit(bench.run(place.command("--max-values", str(count - 1), source=source), data=data), 2)
        expect_clean(before, place.out)
        expect_exit(bench.run(place.command("--max-values", str(count), source=source), data=data), 0)
        expect_whole(place.job, place.out)
        place.empty()


def names_taken(bench):
    """A name is already that of a file, a folder, a link, a device, or the input"""
    place = bench.place()
    victim = write(os.path.join(place.root, "victim"), b"victim")

    def devices(path):
        os.mkfifo(path)

    for take in (lambda path: write(path, b"old"), os.mkdir, lambda path: os.symlink(victim, path), devices,
                 lambda path: os.symlink("nowhere", path), lambda path: os.link(place.input, path)):
        for number in (1, len(place.job.pieces) // 2, len(place.job.pieces)):
            take(place.piece(number))
            before = snapshot(place.out)
            run = bench.run(place.command())
            expect_exit(run, 1)
            need(any(word in run.message for word in ("File exists", "exists and is not", "overwrite")), str(run))
            expect_clean(before, place.out)
            place.empty()
    need(read(victim) == b"victim" and read(place.input) == place.job.data, "something else was changed")


REGULAR = re.compile(rb"\d+,key(\d+),note\n")
CHANGING_HEADER = b"id,k,note\n"


def pieces_of_changed(data):
    """{name: bytes} of the pieces that the file of input_changes() has after a change; None if it must be refused. The
    oracle decides what becomes of records that are no longer as they were written."""
    if not data.startswith(CHANGING_HEADER):
        return ByValue(data).pieces or None
    pieces, names_of_odd = collections.defaultdict(lambda: [CHANGING_HEADER]), {}
    for line in data[len(CHANGING_HEADER):].splitlines(keepends=True):
        regular = REGULAR.fullmatch(line)
        if regular:
            pieces[b"p.key%s.csv" % regular.group(1)].append(line)
            continue
        if re.search(rb'(^|,)"', line):   # the only quote in the file, so it stays open
            return None
        if line not in names_of_odd:
            names_of_odd[line] = list(ByValue(CHANGING_HEADER + line).pieces)
        if not names_of_odd[line]:
            return None
        pieces[os.fsencode(names_of_odd[line][0])].append(line)
    return {os.fsdecode(name): b"".join(parts) for name, parts in pieces.items()}


def input_changes(bench):
    """The input is truncated or rewritten while it is read"""
    size, chance, counts = (8 << 20) // bench.divisor, bench.random(31), collections.Counter()
    rows = [b"%d,key%d,note\n" % (number, number % 97) for number in range(size // 16)]
    data = CHANGING_HEADER + b"".join(rows)
    job = Job.__new__(Job)
    job.data, job.stem, job.args = data, "p", ["-d", ",", "--header", "repeat", "--by", "k"]
    place = Place(bench, job)
    job.__class__ = type("Template", (Job,), {"template": "p.{value}.csv"})
    began = time.monotonic()
    expect_exit(bench.run(place.command()), 0)
    taken, whole = time.monotonic() - began, contents(place.out)   # the moments are random, or as it begins to read
    need(whole == {"p.key%d.csv" % key: CHANGING_HEADER + b"".join(rows[key::97]) for key in range(97)}, "it is wrong")
    need(whole == pieces_of_changed(data), "what judges the changed file is wrong")
    place.empty()
    rounds = bench.rounds(20)
    for round_ in range(10 * rounds):
        if round_ >= rounds and counts[4] > 0:
            break
        write(place.input, data)
        process = bench.start(place.command("-j", "14"[round_ % 2]))
        if round_ % 4 == 0:
            stop_while_reading(process, place.input)
        else:
            time.sleep(chance.uniform(0, taken))
        with open(place.input, "r+b") as file:
            if round_ % 3 == 0:
                file.truncate(chance.randrange(len(data)))
            else:
                file.seek(chance.randrange(20, len(data) - 20))
                file.write((b"\n1,new,x\n", b'"')[round_ % 3 - 1])
        process.send_signal(signal.SIGCONT)
        run = finish(process)
        need(run.code in (0, 3, 4), str(run))   # 3: it was opened after the change
        if run.code == 0:
            found = contents(place.out)
            if found != whole:
                wanted = pieces_of_changed(read(place.input))
                need(wanted is not None, "exit 0 of a file that is malformed, and other pieces than before")
                need(found == wanted, "exit 0, and neither the old pieces nor the new ones: " + difference(wanted, found))
            counts["old" if found == whole else "new"] += 1
        else:
            need(os.listdir(place.out) == [], "something is left")
        counts[run.code] += 1
        place.empty()
    bench.note("%d of code 0, of which %d of the old bytes and %d of the new; %d of code 3, %d of code 4" % (
        counts[0], counts["old"], counts["new"], counts[3], counts[4]))
    need_sight(counts[4] > 0, "no run was hit")


def killed_among_many(bench):
    """KILL among many values with few descriptors; the next run removes all hidden files, however many"""
    count = 3000 * min(bench.scale, 10)
    data = b"id,k,note\n" + b"".join(b"%d,%d,x\n" % (number, number * 7919 % count) for number in range(3 * count))
    place, chance, counts = Place(bench, ByValue(data)), bench.random(32), collections.Counter()
    few = [(resource.RLIMIT_NOFILE, 64)]
    command = place.command("--max-values", str(count))
    expect_exit(bench.run(command, limits=few), 0)
    expect_whole(place.job, place.out)
    place.empty()
    for round_ in range(bench.rounds(8)):
        again = [*command[:1], "--resume", *command[1:]] if round_ % 2 else command
        for _ in range(chance.choice((1, 2))):
            process, wanted = bench.start(command, limits=few), chance.randrange(count)
            while process.poll() is None and sum(len(names) for _, _, names in os.walk(place.out)) <= wanted:
                pass
            process.send_signal(signal.SIGKILL)
            finish(process)
            left = contents(place.out)
            hidden = sum(map(is_hidden, left))
            counts["hidden files left" if hidden else "nothing hidden"] += 1
            tops = {name.split("/")[0] for name in left if is_hidden(name)}
            need(len(tops) < 20, "hidden files are not in one folder: %d" % len(tops))
            wrong = [name for name, found in left.items() if not is_hidden(name) and place.job.pieces.get(name) != found]
            need(not wrong, "not whole: %s" % wrong[:3])
            if not hidden and left:
                place.empty()   # it had already finished
        run = bench.run(again, limits=few)
        expect_exit(run, 0)
        expect_whole(place.job, place.out)
        place.empty()
    bench.note(signals_test.told(counts))
    need_sight(counts["hidden files left"] > 0, "no run was hit")


def killed_between_names(bench):
    """KILL between the names of a few pieces; the same command makes the rest"""
    place = Place(bench, ByValue(b"id,k,note\n" + b"".join(b"%d,%d,x\n" % (i, i % 5) for i in range(50))))
    strace, partly = bench.need_tool("strace"), 0
    for number in range(1, 8):
        wrap = [strace, "-f", "-qq", "-o", "/dev/null", "-e", "trace=linkat",
                "-e", "inject=linkat:signal=KILL:when=%d" % number]
        for options in ([], ["--resume"]):
            bench.run(place.command(), wrap=wrap)
            partly += 0 < sum(not is_hidden(name) for name in contents(place.out)) < 5
            if len(contents(place.out)) < 5 or any(map(is_hidden, contents(place.out))):
                expect_exit(bench.run(place.command(*options)), 0)
            expect_whole(place.job, place.out)
            place.empty()
    need_sight(partly > 0, "no run was killed between two names")


def two_runs(bench):
    """Two runs at once into one folder"""
    place, winners = bench.place(), 0
    for _ in range(bench.rounds(15)):
        runs = [finish(process) for process in [bench.start(place.command()) for _ in range(2)]]
        codes = sorted(run.code for run in runs)
        need(codes in ([0, 1], [1, 1]), "%s" % [str(run) for run in runs])
        if codes == [0, 1]:
            expect_whole(place.job, place.out)
            winners += 1
        else:
            need(os.listdir(place.out) == [], "something is left")
        place.empty()
    need_sight(winners > 0, "no run has won")


def by_few_threads(bench):
    """With several threads and small blocks"""
    calls = ["openat", "write", "pwrite64", "mmap", "close", "linkat", "unlinkat", "newfstatat", "clone3", "flock"]
    nth_call_test.fail_all(bench, nth_call_test.Subject(bench, nth_call_test.small_job(bench), "-j", "3", "--block-size",
                                                        "4K", calls=calls))


# Secrets.

class ValueSite(Site):
    def words(self, way, options, extras=()):
        return [word.replace("p.{i:04}", "p.{value}") for word in super().words(way, options, extras)]


BY = [["--by", "email"], ["--by", "name"], ["--by", "phone"], ["--by", "who"], ["--by", "ref"], ["--by", "born"],
      ["--by", "pay"], ["--by", "kind,name"], ["--by", "phone", "--drop-by"], ["--by", "phone", "--parts", "x=1,y=1"],
      ["--parts", "x=1,y=1"]]
EXTRAS = [[], ["--json", "-v"], ["--manifest", "@out/m.json", "--redact-report", "@out/r.json", "--checksum"], ["--print-names"],
          ["--resume"], ["--dry-run"], ["--compress", "gzip", "-j", "2"], ["-j", "3", "--block-size", "1K"],
          ["--progress", "always", "-v"], ["--max-values", "1"]]


def ways():
    for words in BY:
        yield "file " + " ".join(words), ["split", *words], FILE, bytes
        yield "pipe " + " ".join(words), ["split", *words], PIPE, bytes


def secrets(bench):
    """Columns under rules: no secret in names, messages, manifests"""
    site = ValueSite(bench)
    table, chance = Table(site.markers, 60), random.Random(bench.seed)
    for way in ways():
        for extras in [[], *chance.sample(EXTRAS[1:], min(bench.rounds(3), len(EXTRAS) - 1))]:
            run = site.run(way, WORDS + KEY_WORDS, table.bytes(), extras)
            # A rule may leave only one value.
            need_code(run, {0, 2} if "--max-values" in extras else {0}, way[0])
            site.empty()
        # A dropped column cannot be the --by column, and faulty input is not shown.
        need_code(site.run((way[0], ["split", "--by", "ssn"], FILE, bytes), WORDS + KEY_WORDS, table.bytes()), {2}, "ssn")
        for name, make, options in FAULTS if bench.scale > 1 else chance.sample(FAULTS, 4):
            before = snapshot(site.out)
            run = site.run(way, WORDS + KEY_WORDS + options, make(table, 30), chance.choice(EXTRAS[:-1]))
            need_code(run, {3}, "%s, %s" % (name, way[0]))
            need(snapshot(site.out) == before, "%s: something is left" % name)
            site.empty()
    site.remove()


def secrets_when_killed(bench):
    """Columns under rules: no secret in what a run leaves if it is killed or its disk is full"""
    site, chance = ValueSite(bench), random.Random("killed %d" % bench.seed)
    data = Table(site.markers, 4000).bytes()
    wordlist = WORDS + KEY_WORDS
    ended = hidden = 0
    for round_ in range(bench.rounds(16)):
        way = list(ways())[round_ % (2 * len(BY))]
        write(site.input, data)
        words = site.words(way, wordlist)
        if way[2] == PIPE:   # the run waits for more input
            process = site.start(words, stdin=subprocess.PIPE)
            drip(process, data[:chance.randrange(len(data))], [64 << 10], keep_open=True)
            wait_until_idle(process, lambda: bytes_in_pipe(process.stdin.fileno()) == 0)
        else:
            process = site.start(words, limits=[(resource.RLIMIT_NOFILE, 64)])
            time.sleep(chance.uniform(0, 0.15))
        stop(process)
        with contextlib.suppress(OSError):   # the run may have ended
            site.markers.expect_none_in_process(process.pid, beside=[site.input, site.key])
        process.send_signal(signal.SIGKILL)
        ended += finish(process).code == -signal.SIGKILL
        site.expect_none()
        hidden += any(map(is_hidden, contents(site.out)))
        site.empty()
    bench.note("%d runs were killed, %d left hidden files" % (ended, hidden))
    need_sight(ended * 4 >= bench.rounds(16), "too few hits")
    with bench.mounted("-t", "tmpfs", "-o", "size=64k", "tmpfs") as site.out:
        site.directories[0] = site.out
        for way in ways():
            need_code(site.run(way, wordlist, data), {1}, way[0])
            need(os.listdir(site.out) == [], "something is left")
    site.remove()


# Requests for memory.

def memory_rows():
    def row(name, *options, kind=ByValue, split=memory_test.Split, size=4 << 10, **how):
        def check(bench):
            job = kind(kind.make_input(size * 6, seed=7), "-C", size)
            memory_test.Injection(bench, name, split(bench, job, *options, **how)).run()
        check.__doc__ = "A request for memory fails: " + name
        return check

    yield row("--by", "-j", "1")
    yield row("--by by threads", *memory_test.THREADS, size=40 << 10)
    yield row("--by from a pipe", piped=True)
    yield row("--by and -C", "-j", "1", kind=ByValueAndSize)
    yield row("--by --buckets --manifest", "--manifest", "@out/m.json", kind=Buckets, manifest=True)
    yield row("--by --parts --manifest", "--manifest", "@out/m.json", kind=Parts, manifest=True)
    yield row("--by --resume", "--resume", "-j", "1", split=memory_test.Resumed, right=(1, 4))
    yield row("--by --compress", "--compress", "gzip:1", "-j", "2", split=memory_test.Compressed)
    yield row("--by a path", "-j", "1", kind=ByPath)
    yield row("--by a path from a pipe", kind=ByPath, piped=True)
    yield row("--by under rules", "-j", "2", kind=RedactedByValue)
    yield row("--by --drop-by", "-j", "2", kind=Dropping)
    yield row("--by --force --sync from a pipe", "--force", "--sync", old=(1, 2, 5), piped=True)


CHECKS = [
    by_value(disk_full), by_redacted_value(disk_full, 4), by_value_and_size(disk_full), long(by_bucket(disk_full)),
    long(by_part(disk_full)), by_part(signals_test.killed_and_resumed, 2),
    by_value(few_descriptors), long(by_value_and_size(few_descriptors)), by_value(few_values),
    by_value(too_many_values),
    by_value(names_taken), input_changes, killed_among_many, killed_between_names,
    by_value(two_runs), secrets, secrets_when_killed,
    by_value(output_test.short_and_interrupted), long(by_redacted_value(output_test.short_and_interrupted, 4)),
    long(by_value(output_test.error_after_bytes)), long(by_value(output_test.failing_sync)),
    long(by_value(output_test.failing_names)), by_value(output_test.small_writes),
    by_value(signals_test.ended), long(by_redacted_value(signals_test.ended, 2)), by_value(signals_test.pipeline_ended),
    long(by_value(signals_test.ended_without_manifest)), long(by_value(signals_test.ended_inside_calls)),
    by_value(signals_test.killed_leaves_exact_pieces), by_value(signals_test.killed), long(by_value(signals_test.killed_replacing)),
    long(by_value(signals_test.killed_before_the_manifest)), by_value(signals_test.killed_and_resumed),
    long(by_redacted_value(signals_test.killed, 2)),
    by_value(nth_call_test.from_file), by_value(by_few_threads), long(by_value(nth_call_test.with_checksums)),
    long(by_value(nth_call_test.by_threads)), long(by_value(nth_call_test.from_pipe)),
    long(by_value(nth_call_test.replacing)), long(by_value(nth_call_test.with_manifest)),
    long(by_value(nth_call_test.resuming)), long(by_value(nth_call_test.without_nameless_files)),
    long(by_value(nth_call_test.failing_clean_up)), long(by_value_and_size(nth_call_test.from_file)),
    long(by_bucket(nth_call_test.from_file)), long(by_part(nth_call_test.from_file)), by_redacted_value(nth_call_test.from_file),
    long(without_column(nth_call_test.by_threads)), into_folders(disk_full, 2), into_folders(nth_call_test.from_file),
    long(into_folders(signals_test.ended)), long(into_folders(signals_test.killed)),
    long(into_folders(signals_test.killed_and_resumed)),
    long(by_path(disk_full)), by_path(nth_call_test.from_file), long(by_path(signals_test.ended)),
    long(by_path(signals_test.killed)),
    *memory_rows()]


def closing(bench):
    nth_call_test.print_table(bench)


if __name__ == "__main__":
    sys.exit(main(__doc__, CHECKS, closing))
