#!/usr/bin/env python3
"""A secret in every column that a rule names or --select drops, and in the key: nothing that a run leaves shows it.

  secrets_test.py --cleave PATH [--only SUBSTRING] [--rounds N] [--seed N] [-v]

The secrets differ in each run of this test. They are looked for in what the command prints, in the names and contents
of all files, in temporary files without a name, and in the command lines and environments of all processes that the
command starts. Compressed files are decoded. --seed N chooses other moments and a different sample of failures.
"""
import collections
import contextlib
import errno
import gzip
import os
import random
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

from harness import (TIMEOUT_S, Failure, Run, Skip, drip, expect_clean, finish, kill_group, main, need, need_sight, read,
                     snapshot, stop, stop_while_reading, wait_until, wait_until_read, write)
from planted import (COLUMNS, FILE, KEY, PIPE, RULES, WORDS, Site, Table, need_code, processes_of_session)

# Inputs that violate the rules, which gives exit status 3: (name, function from table and place to the input's bytes,
# more options).

def changed(name, make):
    def with_field(table, place):
        fields = dict(table.records[place])
        fields[name] = make(table.markers)
        return table.with_record(place, table.line(fields))
    return with_field


def with_line(make):
    return lambda table, place: table.with_record(place, make(table, table.line(table.records[place])))


def without_field(name):
    def make(table, place):
        fields = table.records[place]
        return table.with_record(place, b",".join(fields[n] for n in COLUMNS if n != name) + b"\n")
    return make


FAULTS = [
    ("a stray quote", changed(b"name", lambda m: b"Ann " + m["name"] + b'"x'), []),
    ("a stray quote before a secret", changed(b"ssn", lambda m: b'5" ' + m["ssn"]), []),
    ("text after a closing quote", changed(b"name", lambda m: b'"Ann"' + m["name"]), []),
    ("a blank after a closing quote", changed(b"phone", lambda m: b'"%s" ' % m["phone"]), []),
    ("an escape after a closing quote", changed(b"ref", lambda m: b'"%s"\\' % m["ref"]), ["-e", "\\"]),
    ("a lone CR", changed(b"name", lambda m: b"Ann\r" + m["name"]), ["--terminator", "lf"]),
    ("a lone CR, terminator not said", changed(b"ssn", lambda m: m["ssn"] + b"\r7," + m["ssn"]), []),
    ("a lone CR at the end", lambda t, _: t.bytes()[:-1] + b"\r", ["--terminator", "lf"]),
    ("a short record", without_field(b"id"), []),
    ("a record without its last field", without_field(b"pay"), []),
    ("a long record", with_line(lambda t, line: t.markers["name"] + b"," + line), []),
    ("a delimiter in a value", changed(b"name", lambda m: m["name"] + b"," + m["name"]), []),
    ("a record of one field", with_line(lambda t, line: t.markers["ssn"] + b"\n"), []),
    ("a blank line of blanks", with_line(lambda t, line: b" " + t.markers["name"] + b"\n"), []),
    ("an open quote", changed(b"name", lambda m: b'"Ann ' + m["name"]), []),
    ("an open quote at the end", lambda t, _: t.bytes() + b'"' + t.markers["name"], []),
    ("a long value", changed(b"phone", lambda m: m["phone"] * 400), ["--max-record", "4K"]),
    ("a mail address in another column", changed(
        b"note", lambda m: m["note"] + b"@example.org"), ["--forbid", "email"]),
    ("a card number in another column", changed(b"note", lambda m: m["note"] + b" 4111 1111 1111 1111"),
     ["--forbid", "card"]),
]

# Rules that cannot be used, which gives exit status 2: (name, header or None, options).
REFUSED = [
    ("a number without -d", None, ["--header", "repeat", "--redact", "#2: null"]),
    ("a number without a word on the header", None, ["-d", ",", "--redact", "#2: null"]),
    ("a column twice", COLUMNS[:4] + [b"name"] + COLUMNS[5:], WORDS),
    ("a column of nearly the same name", COLUMNS[:4] + [b"E mail"] + COLUMNS[5:], WORDS),
    ("a column whose name looks the same", COLUMNS[:4] + ["\u0435mail".encode()] + COLUMNS[5:], WORDS),
    ("a condition without a last word", None, ["-d", ",", "--redact", "name: null if kind = a"]),
    ("a missing column", None, ["-d", ",", "--redact", "nobody: null"]),
    ("default fail", None, ["-d", ",", "--redact-default", "fail", "--redact", "name: null"]),
    ("no rule at all", None, ["-d", ",", "--redact", "name: fixed(x"]),
    ("a token that needs quotes", None, ["-d", ",", "--redact-null", "a,b", "--redact", "name: null"]),
    ("--select twice", None, ["-d", ",", "--select", "id", "--select", "note"]),
    ("a key that is not there", None, ["-d", ",", "--redact", "name: hmac(nobody)"]),
]

# Ways to run the command: (name, first words, kind of input, how its bytes are encoded).
WAYS = [
    ("split -l", ["split", "-l", "7"], FILE, bytes),
    ("split -l of a pipe", ["split", "-l", "7"], PIPE, bytes),
    ("split -C", ["split", "-C", "2K"], FILE, bytes),
    ("split -C of a pipe", ["split", "-C", "2K"], PIPE, bytes),
    ("split -n", ["split", "-n", "5"], FILE, bytes),
    ("split -n of a pipe, spooled", ["split", "-n", "5", "--spool", "plain"], PIPE, bytes),
    ("split -l of gzip data", ["split", "-l", "9"], FILE, gzip.compress),
    ("split -n of gzip data, spooled", ["split", "-n", "3", "--spool", "plain"], PIPE, gzip.compress),
    ("cat", ["cat"], FILE, bytes),
    ("cat of a pipe", ["cat"], PIPE, bytes),
    ("cat -n", ["cat", "-n", "2/3"], FILE, bytes),
    ("check", ["check"], FILE, bytes),
    ("check --json of a pipe", ["check", "--json", "--all"], PIPE, bytes),
]
SPLIT_EXTRAS = [
    ["--json", "-v"], ["--manifest", "@out/m.json", "--redact-report",
        "@out/r.json", "--checksum"], ["--resume", "--print-names"],
    ["--dry-run"], ["--allow-open-quote", "--quoting", "anywhere", "-v"], ["--compress", "gzip"],
    ["--compress", "zstd:1", "-j", "2"], ["--filter", 'env; cat /proc/self/cmdline; cat > "$FILE"'], ["--require-one-reading"],
    ["-j", "3", "--block-size", "1K"], ["--redact-report", "/dev/stderr"], ["--manifest", "/dev/stdout", "--sync", "--force"],
    ["--redact-report", "@out/r.json", "--sign", "pii"], ["--progress", "always", "-v"], ["--print0", "--first-index", "0"]]
OTHER_EXTRAS = [["-v"], ["--allow-open-quote", "--quoting", "anywhere"], ["-j", "3", "--block-size", "1K"], ["--require-one-reading"],
                ["--redact-report", "@out/r.json"], ["--redact-report", "@out/r.json", "--sign", "pii"],
                ["--progress", "always"]]


def extras_of(way):
    return SPLIT_EXTRAS if way[1][0] == "split" else OTHER_EXTRAS


def expect_failed_clean(site, before, extras, what):
    if "--filter" in extras:   # what the commands have written does not matter
        return
    try:
        expect_clean(before, site.out)
    except Failure as failure:
        raise Failure("%s: %s" % (what, failure)) from None


def with_each_way(bench, cases, judge, samples=1):
    """Calls judge(site, way, extras, case) for each way and case, without more options and with some picked at
    random."""
    site, chance, count, failures = Site(bench), random.Random("ways %d" % bench.seed), 0, []
    for case in cases:
        for way in WAYS:
            picked = chance.sample(extras_of(way), min(bench.rounds(samples), len(extras_of(way))))
            for extras in [[], *picked]:
                try:
                    judge(site, way, extras, case)
                except Failure as failure:
                    failures.append("%s: %s %s: %s" % (case[0], way[0], " ".join(extras), failure))
                site.empty()
                count += 1
    site.remove()
    bench.note("%d runs" % count)
    if failures:
        raise Failure("\n       ".join(["%d runs" % len(failures), *failures[:None if bench.verbose else 12]]))


# Tests of the test itself.

def expect_found(act, what):
    try:
        act()
    except Failure as failure:
        need("a secret of" in str(failure), "%s: found for another reason: %s" % (what, failure))
        return
    raise Failure("a secret is not found: " + what)


def finds_what_is_there(bench):
    """A secret is found wherever it is"""
    site = Site(bench)
    m = site.markers
    data = Table(m, 40).bytes()
    keeping = [word.replace("phone: mask(last=2)", "phone: keep") for word in WORDS] + KEY
    for way in WAYS[:-2]:
        for extras in ([], ["--compress", "gzip"], ["--compress", "zstd:1"]) if way[1][0] == "split" else ([],):
            expect_found(lambda: site.run(way, keeping, data, extras), way[0])
            site.empty()
    expect_found(lambda: site.run(WAYS[0], keeping, data, ["--filter", "cat >&2"]), "standard error")
    for where in site.directories:
        for name, content in ((b"x." + m["ssn"], b""), (b"core.1", b"\0" * 5000 + m["email"][9:]), (b".x", m["key"]),
                              (b"x.gz", gzip.compress(m["born"]))):
            path = os.path.join(os.fsencode(where), name)
            write(path, content)
            expect_found(site.expect_none, os.fsdecode(name))
            os.unlink(path)
        os.symlink(m["who"], os.path.join(os.fsencode(where), b"link"))
        expect_found(site.expect_none, "a link")
        site.empty()
    site.expect_none()

    @contextlib.contextmanager
    def sleeping(words, **more):
        process = subprocess.Popen(words, start_new_session=True, **more)
        try:
            wait_until(lambda: read("/proc/%d/environ" % process.pid), "it does not begin")
            need(process.pid in processes_of_session(process.pid), "the process is not found")
            yield process.pid
        finally:
            kill_group(process)

    with sleeping(["sleep", "100"], env={"X": m["ref"].decode()}) as pid:
        expect_found(lambda: m.expect_none_in_process(pid), "an environment")
    with sleeping(["sh", "-c", "sleep 100; : " + m["ref"].decode()]) as pid:
        expect_found(lambda: m.expect_none_in_process(pid), "a command line")
    with tempfile.TemporaryFile(dir=site.root) as file:
        file.write(m["pay"])
        file.flush()
        with sleeping(["sleep", "100"], stdin=file) as pid:
            expect_found(lambda: m.expect_none_in_process(pid), "a file without a name")
    site.remove()


# Runs that end by themselves.

def sound(bench):
    """Sound inputs"""
    def bom(table):
        return b"\xef\xbb\xbf" + table.bytes(), []

    def crlf(table):
        return b"".join([b",".join(COLUMNS) + b"\r\n", *(table.line(fields, b"\r\n") for fields in table.records)]), []

    def empty_records(table):
        return table.with_record(20, b"\n\n\n"), []

    def invalid(table):
        return changed(b"phone", lambda m: m["phone"] + b"\xff\xfe42")(table, 9), []

    def last(table):
        return table.bytes()[:-1], []

    def no_header(table):
        numbered = [re.sub(r"\b(%s)\b(?=:| =)" % "|".join(name.decode() for name in COLUMNS),
                           lambda match: "#%d" % (COLUMNS.index(match[1].encode()) + 1), rule) for rule in RULES]
        return table.bytes().split(b"\n", 1)[1], ["-d", ",", "-H", "--select", "!#3", *sum(
            (["--redact", rule] for rule in numbered), []), *KEY]

    def judge(site, way, extras, case):
        data, options = case[1](Table(site.markers, 50))
        run = site.run(way, options or WORDS + KEY, data, extras)
        need_code(run, {0}, "sound")
        if way[1][0] == "split" and "--dry-run" not in extras:
            need(len(os.listdir(site.out)) > 2, "there are no pieces")
        if way[1][0] == "cat":
            need(run.stdout.count(b"text") > 10, "there are no records")

    with_each_way(bench, [("plain", lambda table: (table.bytes(), [])), ("a byte order mark", bom), ("CRLF", crlf),
                          ("empty records", empty_records), ("invalid UTF-8", invalid), ("no last newline", last),
                          ("no header", no_header)], judge, samples=4)


def malformed(bench):
    """Inputs that violate the rules give exit status 3, and nothing is left"""
    chance = random.Random("places %d" % bench.seed)

    def judge(site, way, extras, case):
        _, make, options = case
        data = make(Table(site.markers, 50), chance.choice((0, 25, 30, 49)))
        before = snapshot(site.out)
        run = site.run(way, WORDS + KEY + options, data, extras)
        # To print one piece, cat need not read the other pieces.
        need_code(run, {0, 3} if way[0] == "cat -n" else {3}, "malformed")
        if run.code == 3 and way[1][0] != "check":
            expect_failed_clean(site, before, extras, "malformed")

    with_each_way(bench, FAULTS, judge, samples=2)


def resumed(bench):
    """--resume after a failure: nothing from the failed run stays, with or without other right pieces"""
    site = Site(bench)
    table = Table(site.markers, 50)
    for way in WAYS[:6]:
        need_code(site.run(way, WORDS + KEY, table.bytes()), {0}, "sound")
        pieces = {name: read(os.path.join(site.out, name)) for name in os.listdir(site.out)}
        site.empty()
        for name, make, options in FAULTS:
            for kept in ([], sorted(pieces)[:2]):
                for piece in kept:
                    write(os.path.join(site.out, piece), pieces[piece])
                before = snapshot(site.out)
                run = site.run(way, WORDS + KEY + options, make(table, 49), ["--resume"])
                if run.code == 1 and "differs from piece" in run.message:
                    # It is also a different input. Another thread may already have finished a piece, which stays.
                    site.expect_none(run)
                    site.empty()
                    continue
                need_code(run, {3}, name)
                left = {n: what for n, what in snapshot(site.out).items() if not n.startswith(".cleave-")}
                need(left == before, "%s, %s: left: %s" % (name, way[0], sorted(left.keys() - before.keys())))
                site.empty()
    site.remove()


def refused(bench):
    """Rules that cannot be used give exit status 2, and nothing is left"""
    def judge(site, way, extras, case):
        _, header, options = case
        before = snapshot(site.out)
        data = Table(site.markers, 50).bytes(header and b",".join(header))
        keys = KEY if "hmac(pii)" in " ".join(options) else []
        run = site.run(way, options + keys, data, extras)
        need_code(run, {2}, "refused")
        expect_clean(before, site.out)

    with_each_way(bench, REFUSED, judge)


def refused_otherwise(bench):
    """Other reasons to refuse: a value that cannot be written, a spool that was not allowed, a different format"""
    site = Site(bench)
    m, table = site.markers, Table(site.markers, 40)
    one = b"id,name\n" + b"".join(b"%d,%s\n" % (i, m["name"]) for i in range(30))
    empty_one = ["-d", ",", "--no-quote", "--select", "name", "--redact", "name: null if id = 17", "--redact", "name: mask"]
    cases = [(way, empty_one, one, {3}) for way in WAYS if way[0] != "cat -n" and way[1][0] != "check"]
    options = WORDS + KEY
    cases += [(("", ["split", "-n", "3"], PIPE, encode), options, table.bytes(), {2}) for encode in (bytes, gzip.compress)]
    cases += [(("", ["cat", "-n", "2/3"], PIPE, bytes), options, table.bytes(), {2}),
              (("", ["split", "-n", "3", "--reflink", "always"], FILE, bytes), options, table.bytes(), {2}),
              (("", ["offsets", "-n", "3"], FILE, bytes), options, table.bytes(), {2}),
              (("", ["split", "-l", "3", "--max-record", "0"], FILE, bytes), options, table.bytes(), {2})]
    for encode in (lambda data: data.decode().encode("utf-16"), lambda data: gzip.compress(data)[:-30],
                   lambda data: gzip.compress(data)[:-8] + b"\0" * 8):
        for way in WAYS[:6]:
            cases.append(((way[0], way[1], way[2], encode), options, table.bytes(), {1, 3}))
    for way, words, data, codes in cases:
        before = snapshot(site.out)
        run = site.run(way, words, data)
        need_code(run, codes, "%s %s" % (way[0] or way[1], way[3](data)[:10]))
        expect_clean(before, site.out)
        site.empty()
    site.remove()


# Runs that are disturbed.

def large(site):
    return Table(site.markers, 6000).bytes()


MIDST = [WAYS[0], WAYS[1], WAYS[3], WAYS[4], WAYS[5], WAYS[6], WAYS[8]]


@contextlib.contextmanager
def midway(site, way, data, extras=(), **more):
    """Yields a run that has read half of its input from a pipe, or has begun to read its file."""
    data = way[3](data)
    words = site.words(way, WORDS + KEY, ["--block-size", "16K", *extras])
    stdout = open(site.path("stdout"), "wb")   # not in a directory that is searched while the command runs
    if way[2] == FILE:
        write(site.input, data)
    process = site.start(words, stdin=subprocess.PIPE if way[2] == PIPE else subprocess.DEVNULL, stdout=stdout, **more)
    try:
        if way[2] == PIPE:
            drip(process, data[:len(data) // 2], [64 << 10], keep_open=True)
        process.rest = data[len(data) // 2:] if way[2] == PIPE else b""
        yield process
    finally:
        stdout.close()
        for pid in processes_of_session(process.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        kill_group(process)
        if process.stdin:
            process.stdin.close()
        process.stderr.close()


def end(site, process):
    if process.rest:
        drip(process, process.rest, [64 << 10])
    run = finish(process)
    run.stdout = read(site.path("stdout"))
    site.expect_none(run)
    return run


def stopped(bench):
    """Stopped midway: files without names, hidden files, command lines and environments"""
    site, chance, hits = Site(bench), random.Random("stop %d" % bench.seed), 0
    data = large(site)
    for round_ in range(bench.rounds(42)):
        way = MIDST[round_ % len(MIDST)]
        env = bench.shimmed(lacks="tmpfile") if round_ // len(MIDST) % 2 and not bench.sanitized else None
        extras = chance.choice([[], ["--compress", "gzip:1"], ["--json"], ["-j", "1"]]) if way[1][0] == "split" else []
        with midway(site, way, data, extras, env=env) as process:
            time.sleep(chance.uniform(0, 0.03))
            hits += stop(process)
            for pid in processes_of_session(process.pid):
                site.markers.expect_none_in_process(pid, beside=[site.key, *([site.input] if way[2] == FILE else [])],
                                                    descriptors="--spool" not in way[1])
            site.expect_none()
            process.send_signal(signal.SIGCONT)
            need_code(end(site, process), {0}, way[0])
        site.empty()
    bench.note("%d stopped" % hits)
    need_sight(hits > 5, "too few hits")   # sanitizers also slow down the part before the hits
    site.remove()


def ended(bench):
    """INT, TERM, HUP, KILL at random moments"""
    site, chance, counts = Site(bench), random.Random("end %d" % bench.seed), collections.Counter()
    data = large(site)
    for round_ in range(bench.rounds(84)):
        way = MIDST[round_ % len(MIDST)]
        sent = chance.choice([signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
        extras = ["--manifest", "@out/m", "--redact-report", "@out/r"] if way[1][0] == "split" and round_ % 2 else []
        if way[1][0] == "split" and round_ % 5 == 1:
            extras = ["--resume", *extras]
        before = snapshot(site.out)
        with midway(site, way, data, extras) as process:
            time.sleep(chance.uniform(0, 0.03))
            process.send_signal(sent)
            process.rest = b""
            process.wait(TIMEOUT_S)
            run = end(site, process)
        need_code(run, {0, -sent}, way[0])
        if run.code < 0 and sent != signal.SIGKILL and "--resume" not in extras and os.listdir(site.out):
            need(all(name in os.listdir(site.out) for name in ("m", "r") if extras), "something is left: %s" % (
                sorted(snapshot(site.out).keys() - before.keys())[:5]))
        counts[run.code] += 1
        site.empty()
    bench.note(", ".join("%d of code %d" % (count, code) for code, count in sorted(counts.items())))
    need_sight(sum(count for code, count in counts.items() if code < 0) > 10, "too few hits")
    site.remove()


def cores(bench):
    """ABRT, SEGV, QUIT, with core dumps allowed: no core dump is written"""
    bench.need_plain_binary("its runtime handles these signals")
    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    if hard == 0 or read("/proc/sys/kernel/core_pattern").startswith((b"|", b"/")):
        raise Skip("this machine writes no core files where they can be found")
    site, chance, hits = Site(bench), random.Random("core %d" % bench.seed), collections.Counter()
    data, limits = large(site), [(resource.RLIMIT_CORE, hard)]
    site.cwd = bench.temporary   # elsewhere the sandbox would prevent the core dump

    def defaults():
        signal.signal(signal.SIGQUIT, signal.SIG_DFL)

    # Without rules there is a core dump, which contains what was read.
    process = site.start(["cat", "-d", ",", "-"], stdin=subprocess.PIPE, limits=limits, stdout=subprocess.DEVNULL,
                         before=defaults)
    drip(process, data[:len(data) // 2], [64 << 10], keep_open=True)
    wait_until_read(process)
    process.send_signal(signal.SIGQUIT)
    process.wait(TIMEOUT_S)
    finish(process)
    if not os.listdir(site.cwd):
        raise Skip("this machine writes no core files")
    expect_found(site.expect_none, "a core dump without rules")
    site.empty()

    for round_ in range(bench.rounds(60)):
        way = MIDST[round_ % len(MIDST)]
        sent = (signal.SIGABRT, signal.SIGSEGV, signal.SIGQUIT)[round_ % 3]
        with midway(site, way, data, limits=limits, before=defaults) as process:
            time.sleep(chance.uniform(0, 0.03))
            process.send_signal(sent)
            process.rest = b""
            process.wait(TIMEOUT_S)
            run = end(site, process)
        need_code(run, {0, -sent}, way[0])
        left = os.listdir(site.cwd)
        # Before main() there may be a core dump, which contains no part of the input.
        need(not left or way[2] == FILE, "%s: there is a core dump: %s" % (way[0], left))
        hits["ended"] += run.code < 0
        hits["early core"] += bool(left)
        site.empty()
    bench.note("%d ended, %d cores from before the input was opened" % (hits["ended"], hits["early core"]))
    need_sight(hits["ended"] > 10, "too few hits")
    site.remove()


def memory(bench):
    """Requests for memory fail"""
    library = bench.preloaded("allocation_shim.c")
    site, chance, counts = Site(bench), random.Random("memory %d" % bench.seed), collections.Counter()
    data = Table(site.markers, 60).bytes()
    tallies = site.path("counts")
    extras = {"split": [[], ["--json", "-v"], ["--manifest", "@out/m", "--redact-report", "@out/r", "--sign", "pii"], ["--resume"],
                        ["--filter", 'cat > "$FILE"'], ["--compress", "gzip"]], "cat": [[]], "check": [[]]}
    for way in WAYS:
        for more in extras[way[1][0]]:
            options = WORDS + KEY
            write(tallies, bytes(16))
            env = bench.environment(LD_PRELOAD=library, ALLOCATION_COUNTS=tallies)
            need_code(site.run(way, options, data, more, env=env), {0}, way[0])
            count = struct.unpack("=QQ", read(tallies))[0]
            site.empty()
            picked = chance.sample(range(1, count + 1), min(count, bench.rounds(6)))
            for fail in ["%d%s" % (number, later) for number in picked for later in ("", "+")]:
                write(tallies, bytes(16))
                before = snapshot(site.out)
                run = site.run(way, options, data, more, env=dict(env, ALLOCATION_FAIL=fail))
                need_code(run, {0, 1}, "%s %s, request %s" % (way[0], more, fail))
                if run.code == 1 and "--resume" not in more:
                    expect_failed_clean(site, before, more, "%s %s, request %s" % (way[0], more, fail))
                counts[run.code] += 1
                site.empty()
    bench.note("%d runs, %d failed" % (sum(counts.values()), counts[1]))
    need_sight(counts[1] > 20, "too few hits")
    site.remove()


def disk_full(bench):
    """The disk is full, or broken after some bytes"""
    site, chance = Site(bench), random.Random("disk %d" % bench.seed)
    data = Table(site.markers, 200).bytes()
    failed = 0
    for round_ in range(bench.rounds(40)):
        way = WAYS[round_ % 8]
        more = chance.choice([[], ["--json", "-v"], ["--manifest", "@out/m", "--redact-report", "@out/r"], ["--force"]])
        env = bench.shimmed(room="%d:%d" % (chance.randrange(len(data) // 2), chance.choice([errno.ENOSPC, errno.EIO])))
        before = snapshot(site.out)
        run = site.run(way, WORDS + KEY, data, more, env=env)
        need_code(run, {0, 1}, way[0])
        if run.code == 1:
            expect_failed_clean(site, before, more, way[0])
        failed += run.code == 1
        site.empty()
    need_sight(failed > 10, "too few hits")
    bench.note("%d runs failed" % failed)
    with bench.mounted("-t", "tmpfs", "-o", "size=16k", "tmpfs") as site.out:
        site.directories[0] = site.out
        for way in WAYS[:8]:
            need_code(site.run(way, WORDS + KEY, data), {1}, way[0])
            need(os.listdir(site.out) == [], "something is left")
    site.remove()


def input_changed(bench):
    """The input is rewritten or truncated while it is read"""
    site, chance, counts = Site(bench), random.Random("change %d" % bench.seed), collections.Counter()
    data, lengths = large(site), {}
    ways = (WAYS[0], WAYS[2], WAYS[4], WAYS[8])
    for way in ways:
        began = time.monotonic()
        with midway(site, way, data) as process:
            end(site, process)
        lengths[way[0]] = time.monotonic() - began
        site.empty()
    rounds = bench.rounds(30)
    for round_ in range(10 * rounds):
        if round_ >= rounds and counts[4] > 0:
            break
        way = ways[round_ % 4]
        extras = ["--resume"] if way[1][0] == "split" and round_ % 3 == 0 else []
        before = snapshot(site.out)
        with midway(site, way, data, extras) as process:
            if round_ % 5 == 0:
                stop_while_reading(process, site.input)
            else:
                time.sleep(chance.uniform(0, lengths[way[0]]))
            with open(site.input, "r+b") as file:
                if round_ % 2:
                    file.truncate(chance.randrange(len(data)))
                else:
                    file.seek(chance.randrange(len(data)))
                    file.write(site.markers["other"] + b',"\n' + site.markers["other"])
            process.send_signal(signal.SIGCONT)
            run = end(site, process)
        # If the input changed before it was opened, it is simply a different input.
        need_code(run, {0, 3, 4}, way[0])
        if run.code != 0:
            expect_clean(before, site.out)
        counts[run.code] += 1
        site.empty()
    bench.note(", ".join("%d of code %d" % (count, code) for code, count in sorted(counts.items())))
    need_sight(counts[4] > 0, "no run was hit")
    site.remove()


def filters(bench):
    """--filter: environments, command lines and open files of all processes while it runs; the key in a file, a
    variable, a descriptor"""
    site = Site(bench)
    site.directories.append(site.path("log"))
    os.mkdir(site.path("log"))
    data = Table(site.markers, 60).bytes()
    command = ('env; cat /proc/self/cmdline /proc/self/environ; ls -l /proc/self/fd; touch "%s/$CLEAVE_PIECE"; '
               'cat > "$FILE"; until test -e go; do sleep 0.01; done' % site.path("log"))
    key, looked = site.markers["key"] + b"012345678", 0
    for way in (WAYS[0], WAYS[1], WAYS[4], WAYS[5]):
        for where in ("file:" + site.key, "env:PII", "fd:9"):
            site.empty()
            words = site.words(way, WORDS + ["--key", "pii=" + where], ["--filter", command, "-j", "2"])
            write(site.input, data)
            reader, writer = os.pipe()
            os.write(writer, key)
            os.close(writer)
            os.set_inheritable(reader, True)
            stdout = open(site.path("stdout"), "wb")   # a pipe would fill up before it is read
            more = {"env": bench.environment(PII=key.decode())} if where.startswith("env") else {}
            if where.startswith("fd"):
                words = ["-c", 'exec "$@" 9<&%d %d<&-' % (reader, reader), "sh", bench.cleave, *words]
                process = subprocess.Popen(["sh", *words], cwd=site.cwd, env=bench.environment(), pass_fds=[reader],
                                           stdin=subprocess.PIPE, stdout=stdout, stderr=subprocess.PIPE,
                                           start_new_session=True)
            else:
                process = site.start(words, stdin=subprocess.PIPE, stdout=stdout, **more)
            os.close(reader)
            stdout.close()
            try:
                if way[2] == PIPE:
                    drip(process, data, [64 << 10])
                wait_until(lambda: process.poll() is not None or os.listdir(site.path("log")), "no command begins")
                looks = 0
                while process.poll() is None:
                    for pid in processes_of_session(process.pid):
                        site.markers.expect_none_in_process(pid, beside=[site.input, site.key],
                                                            descriptors="--spool" not in way[1])
                        looked += 1
                    looks += 1
                    if looks == 3:
                        write(os.path.join(site.cwd, "go"), b"")
                if process.stdin and process.stdin.closed:
                    process.stdin = None
                run = finish(process)
                run.stdout = read(site.path("stdout"))
            finally:
                kill_group(process)
            need_code(run, {0}, "%s %s" % (way[0], where))
            need(b"CLEAVE_PIECE=" in run.stdout, "the command has not printed its environment")
            need(b"/key" not in run.stdout.replace(os.fsencode(where), b""), "a command has the key open")
            site.expect_none(run)
    bench.note("looked %d times at a process" % looked)
    need(looked > 50, "too few looks")
    site.remove()


def dumpable(bench):
    """If the process cannot be protected from being dumped, it does not start"""
    bench.need_plain_binary("its runtime makes such calls, too")
    strace = bench.need_tool("strace")
    site = Site(bench)
    write(site.input, Table(site.markers, 50).bytes())
    trace = site.path("trace")
    for way in (WAYS[0], WAYS[8], WAYS[11]):
        words = site.words(way, WORDS + KEY)
        run = finish(site.start(words, wrap=[strace, "-f", "-qq", "-o", trace, "-e", "trace=prctl,openat",
                                             "-e", "inject=prctl:error=EPERM:when=1"]))
        lines = read(trace).decode().splitlines()
        need(any("PR_SET_DUMPABLE" in line and "INJECTED" in line for line in lines), "another call has failed")
        need_code(run, {1}, way[0])
        need(not any(site.key in line or site.input in line for line in lines), "the key or the input was opened")
        site.expect_none(run)
    site.remove()


# Runs as a user other than root, from whom the system hides a process that is not dumpable.

NOBODY = 65534


class NobodySite(Site):
    def __init__(self, bench):
        bench.need_plain_binary("its runtime looks into the process")
        bench.need_root()
        setpriv = bench.need_tool("setpriv")
        super().__init__(bench)
        self.wrap = [setpriv, "--reuid=%d" % NOBODY, "--regid=%d" % NOBODY, "--clear-groups"]
        os.chmod(bench.root, 0o755)
        os.chmod(self.root, 0o755)
        os.chmod(bench.temporary, 0o777)
        self.binary = shutil.copy(bench.cleave, self.path("cleave"))
        os.chmod(self.binary, 0o755)
        write(self.input, Table(self.markers, 60).bytes())
        for path in (self.out, self.cwd, self.key):
            os.chown(path, NOBODY, NOBODY)

    def shell(self, script, **more):
        """$CLEAVE, $IN, $OUT and $KEY are set; $RULES is an array of words."""
        rules = "RULES=(%s)" % " ".join("'%s'" % word.replace("@key", self.key) for word in WORDS + KEY)
        env = self.bench.environment(CLEAVE=self.binary, IN=self.input, OUT=self.out, KEY=self.key)
        done = subprocess.run([*self.wrap, "bash", "-c", rules + "; set -o pipefail; " + script], cwd=self.cwd, env=env,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=TIMEOUT_S, **more)
        return Run(done.returncode, done.stdout, done.stderr)


def nobody_works(bench):
    """As a user other than root: /dev/stdout, /dev/fd/N and files without names work"""
    site = NobodySite(bench)
    split = '"$CLEAVE" split -l 20 -o "$OUT/p.{i}.csv" "${RULES[@]}" '
    wanted = None
    for script, texts in [
            (split + '"$IN"', []),
            (split + '--manifest /dev/stdout "$IN" | cat', [b'"pieces"']),
            (split + '--manifest /dev/stdout "$IN" > x; cat x', [b'"pieces"']),
            (split + '--redact-report /dev/fd/7 "$IN" 7> x && cat x', [b'"rules_digest"']),
            (split + '--redact-report /dev/stderr "$IN" 2>&1 | cat', [b'"rules_digest"']),
            (split + '--redact-report >(cat > x) "$IN"; wait $!; cat x', [b'"rules_digest"']),
            (split + '<(cat "$IN")', []),
            (split + '<(gzip -c "$IN")', []),
            (split + '- < "$IN"', []),
            (split + '/dev/stdin < "$IN"', []),
            (split + '--rules <(echo "id: keep") "$IN"', []),
            (split + '--resume "$IN"', []),
            (split + '--force --manifest "$OUT/m" --redact-report "$OUT/r" "$IN"; rm "$OUT/m" "$OUT/r"', []),
            (split.replace('"${RULES[@]}"', '"${RULES[@]/file:*/file:/dev/fd/8}"') + '"$IN" 8< <(cat "$KEY")', []),
            (split.replace('"${RULES[@]}"', '"${RULES[@]/file:*/fd:8}"') + '"$IN" 8< "$KEY"', []),
            (split.replace("-l 20", "-l 20 --filter 'cat > \"$FILE\"'") + '"$IN"', [])]:
        run = site.shell(script)
        need(run.code == 0, "%s: %s" % (script, run))
        need(all(text in run.stdout for text in texts), "%s: prints %r" % (script, run.stdout[:300]))
        site.expect_none(run)
        pieces = [read(os.path.join(site.out, name)) for name in sorted(os.listdir(site.out))
                  if not name.startswith(".")]
        wanted = wanted or pieces
        need(len(pieces) == 3 and pieces == wanted, "%s: other pieces" % script)
        site.empty()
    for script in ('"$CLEAVE" cat "${RULES[@]}" <(cat "$IN")', '("$CLEAVE" cat "${RULES[@]}" "$IN" > /dev/stdout) | cat',
                   '"$CLEAVE" check "${RULES[@]}" <(cat "$IN")',
                   '"$CLEAVE" split -n 3 --spool plain -o "$OUT/p.{i}" "${RULES[@]}" <(cat "$IN")'):
        run = site.shell(script)
        need(run.code == 0, "%s: %s" % (script, run))
        site.expect_none(run)
    site.remove()


def nobody_sees(bench):
    """As a user other than root: other processes can neither look into the process nor dump it"""
    site = NobodySite(bench)
    data = Table(site.markers, 2000).bytes()

    def looks(words):
        """How many attempts to look into the process of this command succeed."""
        process = subprocess.Popen([*site.wrap, site.binary, *words, "-"], stdin=subprocess.PIPE, cwd=site.cwd,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=bench.environment(),
                                   start_new_session=True)
        try:
            drip(process, data, [64 << 10], keep_open=True)
            wait_until_read(process)
            root = "/proc/%d/" % process.pid
            seen = [os.stat(root + "environ").st_uid == NOBODY]
            for script in ("cat %senviron", "head -c 1 %smaps", "ls %sfd/", "head -c 0 %smem"):
                done = subprocess.run([*site.wrap, "sh", "-c", script % root], stdout=subprocess.PIPE,
                                      stderr=subprocess.DEVNULL)
                seen.append(done.returncode == 0)
            gdb = shutil.which("gcore")
            if gdb:
                subprocess.run([*site.wrap, gdb, "-o", os.path.join(site.cwd, "dump"), str(process.pid)],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=TIMEOUT_S, cwd=site.cwd,
                               env=bench.environment(HOME=site.cwd))
                seen.append(any(name.startswith("dump") for name in os.listdir(site.cwd)))
        finally:
            kill_group(process)
            process.stdin.close()
        return seen

    plain = looks(["cat", "-d", ","])
    need(any(plain), "nobody cannot look into any process")
    site.empty()
    seen = looks(["cat", *[word.replace("@key", site.key) for word in WORDS + KEY]])
    need(not any(seen), "a look into the process succeeds: %s" % seen)
    bench.note("without rules %d of %d looks succeed" % (sum(plain), len(plain)))
    site.expect_none()
    site.remove()


CHECKS = [finds_what_is_there, sound, malformed, resumed, refused, refused_otherwise, stopped, ended, cores, memory,
          disk_full, input_changed, filters, dumpable, nobody_works, nobody_sees]

if __name__ == "__main__":
    sys.exit(main(__doc__, CHECKS))
