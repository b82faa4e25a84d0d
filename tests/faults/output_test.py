#!/usr/bin/env python3
"""cleave split when the output cannot be written, names are taken, or the machine is short of something.

  output_test.py --cleave PATH [--only SUBSTRING] [--rounds N] [--seed N] [-v]

README.md says how the outcomes are judged.
"""
import contextlib
import errno
import fcntl
import os
import re
import resource
import shutil
import stat
import subprocess
import sys
import tempfile
import threading
import time

from harness import (Job, Place, Skip, bytes_in_pipe, contents, drip, expect_clean, expect_exit, expect_whole, finish,
                     is_hidden, is_marker, kill_group, long, main, make_input, need, need_sight, read, record_ends,
                     snapshot, under_rules, wait_until, wait_until_idle, wait_until_read, with_rejects, write)
import mounts   # harness.py has put its folder on the path

LIKELY_ERRORS = [errno.ENOSPC, errno.EIO, errno.EDQUOT]

NOBODY = 65534


def refused(bench, place, *texts, command=None, code=1, **more):
    """Expects a run to fail with that exit status and those texts, and to leave the output directory as it was."""
    before = snapshot(place.out)
    run = bench.run(command or place.command(), **more)
    expect_exit(run, code, *texts)
    expect_clean(before, place.out)
    return run


def done(bench, place, *, command=None, beside=(), **more):
    run = bench.run(command or place.command(), **more)
    expect_exit(run, 0)
    expect_whole(place.job, place.out, beside=beside)
    return run


def either(bench, place, command=None, text="", **more):
    """Expects a run that either succeeds and is whole, or fails with exit status 1 and the text and is clean. Empties
    the directory; returns whether the run succeeded."""
    before = snapshot(place.out)
    run = bench.run(command or place.command(), **more)
    if run.code == 0:
        expect_whole(place.job, place.out)
    else:
        expect_exit(run, 1, text)
        expect_clean(before, place.out)
    place.empty()
    return run.code == 0


def both_ways(place):
    """(command, standard input or None), once for the file and once for a pipe."""
    return [(place.command(), None), (place.command(source="-"), place.job.data)]


# The output cannot be written.

def disk_full(bench):
    """The disk is full"""
    place = bench.place()
    with bench.mounted("-t", "tmpfs", "-o", "size=256k", "tmpfs") as place.out:
        for command, data in both_ways(place):
            write(place.path("old"), b"old")
            run = refused(bench, place, "No space left on device", command=command, data=data)
            need("p.0000" in run.message, "the message names no piece: " + run.message)
        write(place.piece(5), b"old")
        refused(bench, place, "No space left on device", command=place.command("--force"))
        place.empty()


def inodes_gone(bench):
    """There are no inodes left"""
    place = bench.place()
    with bench.mounted("-t", "tmpfs", "-o", "nr_inodes=8", "tmpfs") as place.out:
        for command, data in both_ways(place):
            refused(bench, place, "No space left on device", command=command, data=data)


def late_write_back(bench):
    """The disk under the file system is full: --sync notices, and there is no manifest"""
    place = bench.place(size=8 << 20, value=1 << 20)
    with bench.mounted("-t", "tmpfs", "-o", "size=6m", "tmpfs") as below:
        with mounts.image(below, 64 << 20, "mkfs.ext4", "-q", "-O", "^has_journal") as image, \
                bench.mounted("-o", "loop", image) as place.out:
            run = bench.run(place.command("--sync", "--manifest", place.path("m.json")))
            expect_exit(run, 1)
            need("No space left" in run.message or "Input/output error" in run.message, str(run))
            left = [name for name in os.listdir(place.out) if name != "lost+found"]
            need(not left, "something is left: %s" % left[:5])


def full_standard_output(bench):
    """Standard output is full"""
    place = bench.place()
    with open("/dev/full", "wb") as full:
        run = bench.run(["offsets", "-l", "1", place.input], stdout=full)
        expect_exit(run, 1, "No space left on device")
        refused(bench, place, "No space left on device", command=place.command("--print-names"), stdout=full)


def closed_descriptors(bench):
    """Descriptors 0, 1 and 2 are closed"""
    def close(*descriptors):
        return lambda: [os.close(descriptor) for descriptor in descriptors]
    place = bench.place()
    expect_exit(bench.run(["offsets", "-l", "1", place.input], before=close(1)), 1, "Bad file descriptor")
    for closed in ((0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)):
        done(bench, place, before=close(*closed))
        place.empty()
    run = bench.run(place.command(source="-"), before=close(0))
    expect_exit(run, 1)
    need(os.listdir(place.out) == [], "something is left")


def reader_leaves(bench):
    """The reader of standard output leaves"""
    place = bench.place()
    def leave(args, **more):
        process = bench.start(args, **more)
        process.stdout.read(1)
        process.stdout.close()
        process.stdout = None
        return finish(process)
    offsets = ["offsets", "--quiet", "--every", "1", place.input]
    run = leave(offsets)
    need(run.code == -13 and run.message == "", "%s, but it should die of SIGPIPE silently" % run)
    run = leave(["cat", "--quiet", "-n", "1/1", "-d", ",", place.input])
    need(run.code == -13 and run.message == "", "%s, but it should die of SIGPIPE silently" % run)
    expect_exit(leave(offsets, restore_signals=False), 1, "Broken pipe")   # Python itself ignores SIGPIPE
    before = snapshot(place.out)
    reader, writer = os.pipe()
    os.close(reader)
    run = bench.run(place.command("--quiet", "--print-names"), stdout=writer)
    os.close(writer)
    need(run.code == -13 and run.message == "", "%s, but it should die of SIGPIPE silently" % run)
    expect_clean(before, place.out)


def event_reader_leaves(bench):
    """The reader of events leaves: before the last event nothing is left, and after it everything is there"""
    place = bench.place(size=1 << 16, value=8192)
    options = ["--quiet", "--json", "--manifest", place.path("m.json")]
    command = place.command(*options)
    with open("/dev/full", "wb") as full:
        refused(bench, place, "No space left on device", command=command, stdout=full)
    for command, data in [(command, None), (place.command(*options, source="-"), place.job.data),
                          (place.command(*options, "--force"), None)]:
        write(place.piece(2), b"old") if "--force" in command else None
        events = bench.run(command, data=data).stdout.splitlines(keepends=True)
        need(len(events) == len(place.job.pieces) + 2, "%d events" % len(events))
        for count in range(len(events) + 1):
            for ignored in (False, True):
                place.empty()
                write(place.piece(2), b"old") if "--force" in command else None
                before = snapshot(place.out)
                run = leave_after(bench, command, data, sum(map(len, events[:count])), ignored)
                if count == len(events):
                    expect_exit(run, 0)
                    expect_whole(place.job, place.out, manifest="m.json")
                    continue
                expect_exit(run, 1, "Broken pipe") if ignored else need(run.code == -13, str(run))
                expect_clean(before, place.out)
        place.empty()


def leave_after(bench, command, data, size, ignored):
    """Runs the command with its output going to a pipe with room for `size` bytes, whose reader leaves when it is
    full."""
    room = 4096   # a page: what fits into the remaining room is accepted, and a write of anything more waits
    reader, writer = os.pipe()
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, room)
    os.write(writer, b"x" * (room - size))
    stdin = subprocess.DEVNULL if data is None else subprocess.PIPE
    process = bench.start(command, stdout=writer, stdin=stdin, restore_signals=not ignored)
    os.close(writer)
    if data is not None:
        drip(process, data, [65536])
    wait_until(lambda: process.poll() is not None or bytes_in_pipe(reader) >= room, "it does not say what it should")
    wait_until_idle(process)   # it waits to write the next event
    os.close(reader)
    return finish(process)


def file_size_limit(bench):
    """A limit on the size of files"""
    bench.need_plain_binary("its runtime writes files, too")
    place = bench.place()
    for command, data in both_ways(place):
        for size in (0, 1, 4096, 32 << 10, (64 << 10) - 100):
            refused(bench, place, "File too large", command=command, data=data, limits=[(resource.RLIMIT_FSIZE, size)])


def short_and_interrupted(bench):
    """Short transfers and EINTR, everywhere"""
    place, spooled = bench.place(), bench.place(option="-n", value=5)
    manifest = ["--manifest", place.path("m.json")]
    ways = [(place, [], None), (place, ["--force", "-j", "1"], None), (place, manifest, "m.json"),
            (spooled, [], None)]
    faults, rounds = 0, bench.rounds(64)
    for seed in range(bench.seed - 1, bench.seed - 1 + rounds):
        at, options, named = ways[seed % 4]
        command, data = both_ways(at)[seed // 4 % 2]
        env = bench.shimmed(seed=seed, short=60, eintr=20, lacks="tmpfile" if seed // 8 % 2 else "")
        run = bench.run([*command, *options], data=data, env=env)
        need(run.code == 0, "seed %d: %s" % (seed, run))
        expect_whole(at.job, at.out, manifest=named or None)
        at.empty()
        faults += bench.shim_faults()
    need(faults > 0, "the shim did nothing")
    bench.note("%d runs, %d transfers short or interrupted" % (rounds, faults))


def error_after_bytes(bench):
    """The disk is full, broken or over quota after N bytes"""
    place, count = bench.place(), 0
    sizes = [0, 1, 4095, 4096, 65535, 65536, 65537, len(place.job.data) // 2, len(place.job.data) - 1]
    chance = bench.random(5)
    sizes += [chance.randrange(len(place.job.data)) for _ in range(bench.rounds(6))]
    write(place.piece(3), b"old")
    write(place.path("other"), b"other")
    for size in sizes:
        for error in LIKELY_ERRORS:
            for command, data in both_ways(place):
                env = bench.shimmed(room="%d:%d" % (size, error))
                refused(bench, place, os.strerror(error), command=[*command, "--force"], data=data, env=env)
                need(bench.shim_faults() > 0, "the shim did nothing")
                count += 1
    bench.note("%d runs" % count)


def failing_sync(bench):
    """fsync, syncfs or close fails at the end"""
    place = bench.place()
    command = place.command("--sync", "--manifest", place.path("m.json"))
    synced = 0
    for call in ("fsync", "fdatasync", "syncfs", "close"):
        nth = 0
        while True:
            nth += 1
            before = snapshot(place.out)
            run = bench.run(command, env=bench.shimmed(fail="%s:%d:%d" % (call, nth, errno.EIO)))
            if bench.shim_faults() == 0:
                break
            synced += call != "close"
            if run.code == 0 and call == "close":   # the file was only read
                expect_whole(place.job, place.out, manifest="m.json")
            else:
                expect_exit(run, 1, "Input/output error")
                expect_clean(before, place.out)
            place.empty()
        place.empty()
    need(synced > 0, "nothing was synced")


def named_when_durable(bench):
    """--sync: the pieces get their names, then are made durable, and only then the manifest gets its name"""
    strace = bench.need_tool("strace")
    place = bench.place(1 << 19)
    trace, calls = os.path.join(place.root, "trace"), "linkat,renameat2,renameat,syncfs,fsync"
    for source, data in ((None, None), ("-", place.job.data)):
        run = bench.run(place.command("-j", "1", "--sync", "--manifest", place.path("m.json"), source=source), data=data,
                        wrap=[strace, "-f", "-qq", "-o", trace, "-e", "trace=" + calls],
                        env=bench.environment(ASAN_OPTIONS="detect_leaks=0"))
        expect_exit(run, 0)
        expect_whole(place.job, place.out, manifest="m.json")
        lines = read(trace).decode(errors="replace").splitlines()

        def places(pattern):
            return [at for at, line in enumerate(lines) if re.search(pattern, line)]
        pieces = places(r"(link|rename)at2?\(.*\"p\.\d+\.csv\"")
        manifest = places(r"(link|rename)at2?\(.*\"m\.json\"")
        flushed, synced = places(r"syncfs\("), places(r"fsync\(")
        need(len(pieces) == len(place.job.pieces) and len(manifest) == 1,
             "the names are not given once each: %s" % lines[-9:])
        need(flushed and max(pieces) < min(flushed), "the pieces are synced before they have their names")
        need(max(flushed) < manifest[0], "the manifest has its name before the pieces are durable")
        need(synced and min(synced) < manifest[0], "the manifest has its name before its bytes are durable")
        need(max(synced) > manifest[0], "the name of the manifest is not made durable")
        place.empty()


def failing_names(bench):
    """A name cannot be given: no permission, or a system without links, rename flags, O_TMPFILE or /proc"""
    place, hits = bench.place(), 0
    for lacking in ("", "tmpfile"):
        for call in ("renameat2", "linkat"):
            for error in (errno.EACCES, errno.EIO):
                env = bench.shimmed(fail="%s:2:%d" % (call, error), lacks=lacking)
                if either(bench, place, env=env, text=os.strerror(error)):
                    need(lacking or not bench.shim_faults() or call == "linkat", "%s failed unnoticed" % call)
                hits += bench.shim_faults(call)
    need(hits > 0, "no call failed")
    for lacking in ("tmpfile", "rename_flags", "tmpfile,rename_flags", "tmpfile,links", "proc", "proc,rename_flags"):
        done(bench, place, env=bench.shimmed(lacks=lacking))
        place.empty()
        for number in (1, 4):
            write(place.piece(number), b"old")
        finished = either(bench, place, command=place.command("--force"), env=bench.shimmed(lacks=lacking))
        # Without rename flags, names cannot be exchanged.
        need(finished or "rename_flags" in lacking, "without %s it fails" % lacking)


def no_permission(bench):
    """The directory is not writable"""
    bench.need_root()
    place = bench.place()
    setpriv = bench.need_tool("setpriv")
    for path in (bench.root, place.root):
        os.chmod(path, 0o755)
    run = refused(bench, place, "Permission denied",
                  wrap=[setpriv, "--reuid=65534", "--regid=65534", "--clear-groups"])
    need(place.out in run.message, "the message does not say where")


def immutable_directory(bench):
    """The directory is immutable"""
    bench.need_root()
    chattr = bench.need_tool("chattr")
    place = bench.place()
    for parent in (bench.root, "/var/tmp"):
        place.out = tempfile.mkdtemp(dir=parent)
        if subprocess.run([chattr, "+i", place.out], stderr=subprocess.DEVNULL).returncode == 0:
            break
        os.rmdir(place.out)
    else:
        raise Skip("chattr +i does not work here")
    try:
        refused(bench, place, "Operation not permitted")
    finally:
        subprocess.run([chattr, "-i", place.out], check=True)
        shutil.rmtree(place.out)


def taken_by_directory(bench):
    """A directory has a piece's name; the output directory is missing"""
    place = bench.place()
    os.mkdir(place.piece(1))
    for options in ([], ["--force"]):
        refused(bench, place, "exists and is not a regular file", command=place.command(*options))
    os.rmdir(place.piece(1))
    os.rmdir(place.out)
    run = bench.run(place.command())
    expect_exit(run, 2)
    need(not os.path.exists(place.out), "the directory was made")
    place.out = os.path.join(place.root, "made", "of", "it")
    done(bench, place, command=place.command("--mkdir"))


# Names are taken.

def piece_exists(bench):
    """A piece exists already"""
    place = bench.place()
    for number in (1, 4, len(place.job.pieces)):
        write(place.piece(number), b"old")
        os.utime(place.piece(number), (1, 1))
        refused(bench, place, os.path.basename(place.piece(number)) + ": File exists")
        for command, data in both_ways(place)[1:]:
            refused(bench, place, os.path.basename(place.piece(number)) + ": File exists", command=command, data=data)
        done(bench, place, command=place.command("--force"))
        place.empty()


def old_until_new(bench):
    """With --force, a reader sees the old piece or the new one, never a partial one"""
    watch_pieces(bench, bench.rounds(5), old=True)


def complete_when_named(bench):
    """A reader sees only complete pieces during the run"""
    watch_pieces(bench, bench.rounds(5), old=False)


def watch_pieces(bench, rounds, old):
    place = bench.place(size=4 << 20)
    looks, wrong, stop = [0], [], threading.Event()

    def watch():
        while not stop.is_set():
            for name, data in place.job.pieces.items():
                try:
                    found = read(place.path(name))
                except FileNotFoundError:
                    if old:
                        wrong.append(name + " is missing for a moment")
                    continue
                looks[0] += 1
                if found != data and not (old and found == b"old"):
                    wrong.append("%s has %d bytes that are not its own" % (name, len(found)))
    for round_ in range(rounds):
        if old:
            for name in place.job.pieces:
                write(place.path(name), b"old")
        stop.clear()
        watcher = threading.Thread(target=watch)
        watcher.start()
        try:
            for command, data in both_ways(place)[:1 if old else 2]:
                done(bench, place, command=[*command, "--force"], data=data)
        finally:
            stop.set()
            watcher.join()
        need(not wrong, "; ".join(wrong[:3]))
        place.empty()
    need_sight(looks[0] > 0, "no piece was seen")
    bench.note("%d looks at pieces" % looks[0])


def input_is_a_piece(bench):
    """The input has a piece's name, directly or through a link"""
    place = bench.place()
    data = place.job.data
    def by_copy(path):
        write(path, data)
        return path
    def by_symlink(path):
        os.symlink(place.input, path)
        return place.input
    def by_hard_link(path):
        os.link(place.input, path)
        return place.input
    for lead in (by_copy, by_symlink, by_hard_link):
        for number in (1, 3):
            source = lead(place.piece(number))
            for options in ([], ["--force"]):
                for standard_input in (None, source):
                    command = place.command(*options, source="-" if standard_input else source)
                    with open(standard_input or os.devnull, "rb") as stdin:
                        refused(bench, place, "would overwrite the input", command=command, stdin=stdin)
            need(read(source) == data, "the input has changed")
            place.empty()


def planted_links(bench):
    """A link is planted under a piece's name"""
    place = bench.place()
    victim = os.path.join(place.root, "victim")
    for dangling in (False, True):
        if not dangling:
            write(victim, b"victim")
        os.symlink(victim, place.piece(2))
        refused(bench, place, "File exists")
        refused(bench, place, "File exists", command=place.command(source="-"), data=place.job.data)
        done(bench, place, command=place.command("--force"))
        need(not os.path.islink(place.piece(2)), "the link is still there")
        need(os.path.exists(victim) != dangling, "the victim has come or gone")
        if not dangling:
            need(read(victim) == b"victim", "the victim has changed")
            os.unlink(victim)
        place.empty()


def other_owner(bench):
    """A piece, or the folder of one, belongs to another user"""
    bench.need_root()
    place = bench.place()
    done(bench, place)
    os.chown(place.piece(2), NOBODY, NOBODY)
    refused(bench, place, "exists, but belongs to another user", command=place.command("--resume"))
    os.chown(place.input, NOBODY, NOBODY)   # this user could have written anything into the input
    done(bench, place, command=place.command("--resume"))
    os.chown(place.input, 0, 0)
    done(bench, place, command=place.command("--resume", "--force"))
    need(os.stat(place.piece(2)).st_uid == 0, "the piece has stayed")
    place.empty()
    command = ["split", "-n", "1", "-o", place.path("{i}/{stem}"), place.input]
    rules = ["--quiet", "-H", "-d", ",", "--redact", "#1: keep"]
    elsewhere = os.path.join(place.root, "elsewhere")
    os.mkdir(elsewhere, 0o755)
    for make in (os.mkdir, lambda path: os.symlink(elsewhere, path)):
        make(place.path("1"))
        os.chown(place.path("1"), NOBODY, NOBODY, follow_symlinks=False)
        os.chmod(place.input, 0o640)
        refused(bench, place, "1: belongs to another user", command=command)
        refused(bench, place, "1: belongs to another user", command=[*command, "--mkdir", "--dry-run"])
        os.chmod(place.input, 0o644)
        refused(bench, place, "1: belongs to another user", command=[*command, *rules])
        expect_exit(bench.run([*command, "--dry-run"]), 0)   # these users may read the input too
        place.empty()


def names_without_case(bench):
    """--force where A and a are the same name: the manifest does not replace a piece"""
    chattr = bench.need_tool("chattr")
    place = bench.place()
    with mounts.image(place.root, 64 << 20, "mkfs.ext4", "-q", "-O", "casefold") as image, \
            bench.mounted("-o", "loop", image) as root:
        place.out = os.path.join(root, "out")
        os.mkdir(place.out)
        subprocess.run([chattr, "+F", place.out], check=True)
        write(place.piece(2), b"old")
        for number in (1, 2):
            other = os.path.join(place.out, os.path.basename(place.piece(number)).upper())
            refused(bench, place, "already a piece of this run", command=place.command("--force", "--manifest", other))
        place.out = root   # so that the image can be unmounted


def devices(bench):
    """A FIFO or a device has a piece's name"""
    place = bench.place()
    os.mkfifo(place.piece(2))
    for options in ([], ["--force"]):
        refused(bench, place, "exists and is not a regular file", command=place.command(*options))
    place.empty()
    bench.need_root()
    for device in ("/dev/null", "/dev/full"):
        try:
            os.mknod(place.piece(1), stat.S_IFCHR | 0o666, os.stat(device).st_rdev)
        except PermissionError:
            raise Skip("devices cannot be made here") from None
        for options in ([], ["--force"]):
            refused(bench, place, "exists and is not a regular file", command=place.command(*options))
        place.empty()


def two_runs(bench):
    """Two runs at once into one directory"""
    jobs = [Job(make_input(8 << 20, seed), "-C", 256 << 10) for seed in (1, 2)]
    one, other = Place(bench, jobs[0]), Place(bench, jobs[1])
    other.out = one.out   # pieces with the same names
    rounds, chance, live = bench.rounds(60), bench.random(3), 0
    for round_ in range(rounds):
        write(one.path("beside"), b"beside")
        places = [one, other if round_ % 2 else one]
        first = bench.start(places[0].command("-j", "2"))
        time.sleep(chance.choice((0, 0, 0.002, 0.005)))
        started = [first, bench.start(places[1].command("-j", "2"))]
        runs = [finish(process) for process in started]
        said = " | ".join(map(str, runs))
        need(sorted(run.code for run in runs) == [0, 1], "not one alone has won: " + said)
        winner = [place for place, run in zip(places, runs) if run.code == 0][0]
        expect_whole(winner.job, one.out, beside=["beside"])
        need(read(one.path("beside")) == b"beside", "another file has changed")
        live += "another run" in said
        one.empty()
    bench.note("%d rounds; in %d the other run was seen to live" % (rounds, live))
    for place in (one, other):
        place.remove()


def taken_meanwhile(bench):
    """A name is taken by another process during the run"""
    place = bench.place()
    for number in (2, 9):
        process = bench.start(place.command(source="-"), stdin=subprocess.PIPE)
        process.stdin.write(place.job.data[:64 << 10])
        process.stdin.flush()
        wait_until_read(process)
        write(place.piece(number), b"other")
        run = finish(process, data=place.job.data[64 << 10:])
        expect_exit(run, 1, os.path.basename(place.piece(number)) + ": File exists")
        need(contents(place.out) == {os.path.basename(place.piece(number)): b"other"}, "not what was there is left")
        place.empty()


def templates(bench):
    """Templates that are invalid, or look like a printf format"""
    place = bench.place()
    before = snapshot(place.root)
    for template in ("%n", "%s%s", "%1$s", "../{}", "a/{i}", "same", "{i", "{i:0}", "{i:99}", "i}", "{what}"):
        run = bench.run(["split", "-C", "64K", "-o", os.path.join(place.out, template), place.input])
        expect_exit(run, 2)
        expect_clean(before, place.root)
    job = place.job
    done_with = {"%s.{i:06}": "%s.", "%n%n{i:06}": "%n%n"}
    for template, prefix in done_with.items():
        expect_exit(bench.run(["split", *job.args, "-o", os.path.join(place.out, template), place.input]), 0)
        wanted = {prefix + "%06d" % i: data for i, data in enumerate(job.pieces.values(), 1)}
        need(contents(place.out) == wanted, "%s: other names, or bytes" % template)
        place.empty()


def narrow_counter(bench):
    """More pieces than the counter has digits for"""
    place = bench.place()
    job = Job(place.job.data, "-l", len(record_ends(place.job.data)) // 120)
    need(len(job.pieces) > 100, "too few pieces")
    for command, data in ((place.command(job=job), None), (place.command(source="-", job=job), job.data)):
        command[command.index("-o") + 1] = place.path("{i:02}")
        before = snapshot(place.out)
        run = bench.run(command, data=data)
        if run.code == 0:
            found = contents(place.out)
            need([found[name] for name in sorted(found)] == list(job.pieces.values()), "names do not sort as pieces do")
        else:
            need(data is not None, str(run))   # the number is known in advance
            expect_exit(run, 1, "digits")
            expect_clean(before, place.out)
        place.empty()


def modes(bench):
    """Pieces, and temporary files too, have the input's permissions less the umask, and no set-id bits"""
    place, looks, strace = bench.place(size=4 << 20), 0, bench.need_tool("strace")
    calls = "write,pwrite64,copy_file_range"
    for permissions, umask in [(0o7755, 0o022), (0o640, 0o022), (0o600, 0o022), (0o444, 0o022), (0o644, 0o077),
                               (0o666, 0o027), (0o7777, 0o777)]:
        os.chmod(place.input, permissions)
        for options, lacking in ([], ""), (["--force"], ""), ([], "" if bench.sanitized else "tmpfile"):
            wrap = ()
            if lacking:   # each write takes a while, so that the file can be seen before it gets its name
                settings = bench.shimmed(lacks=lacking)
                wrap = [strace, "-f", "-qq", "-o", "/dev/null", "-e", "trace=" + calls,
                        "-e", "inject=%s:delay_exit=3000" % calls,
                        *(word for name in ("LD_PRELOAD", "SHIM_LOG", "SHIM_LACKS")
                          for word in ("-E", "%s=%s" % (name, settings[name])))]
            process, seen = bench.start(place.command(*options), umask=umask, wrap=wrap), set()
            while process.poll() is None:
                time.sleep(0.0005)   # much less than a run takes
                for name in filter(lambda name: not is_marker(name), os.listdir(place.out)):
                    with contextlib.suppress(FileNotFoundError):
                        seen.add((is_hidden(name), stat.S_IMODE(os.lstat(place.path(name)).st_mode)))
            expect_exit(finish(process), 0)
            looks += any(hidden for hidden, _ in seen)
            wanted = permissions & 0o777 & ~umask
            wider = [oct(mode) for _, mode in seen if mode & ~wanted]
            need(not wider, "umask %o: %s was seen" % (umask, wider))
            wrong = [name for name in os.listdir(place.out)
                     if stat.S_IMODE(os.lstat(place.path(name)).st_mode) != wanted]
            need(not wrong, "umask %o: %s" % (umask, wrong[:3]))
            if os.geteuid() == 0:
                expect_whole(place.job, place.out)
            place.empty()
    bench.note("hidden files were seen in %d runs" % looks)
    need_sight(looks > 0 or bench.sanitized, "no temporary file was seen")
    os.chmod(place.input, 0o600)
    expect_exit(bench.run(place.command(source="-"), data=place.job.data, umask=0o027), 0)
    need(stat.S_IMODE(os.lstat(place.piece()).st_mode) == 0o640, "pieces of a pipe have other permissions than 0666 less the umask")


# Reading.

def read_errors(bench):
    """A read fails"""
    place = bench.place()
    for call in ("read", "preadv2"):
        for nth in range(1, 4 + bench.rounds(3)):
            either(bench, place, command=place.command(source="-"), data=place.job.data,
                   env=bench.shimmed(fail="%s:%d:%d" % (call, nth, errno.EIO)))
    env = bench.shimmed(fail="read:0:%d" % errno.EIO, lacks="")
    before = snapshot(place.out)
    run = bench.run(place.command(source="-"), data=place.job.data, env=env)
    need(run.code == 0 or "Input/output error" in run.message, str(run))
    expect_clean(before, place.out) if run.code else expect_whole(place.job, place.out)


def small_writes(bench):
    """A pipe that is filled one byte at a time"""
    place = bench.place(size=1 << 15, value=4096)
    process = bench.start(place.command(source="-"), stdin=subprocess.PIPE)
    drip(process, place.job.data, [1])
    expect_exit(finish(process), 0)
    expect_whole(place.job, place.out)


def nonblocking_input(bench):
    """Standard input is non-blocking, and slow"""
    place = bench.place(size=1 << 18, value=8192)
    spooled = Place(bench, bench.job(size=1 << 18, option="-n", value=5))
    for at in (place, spooled):
        reader, writer = os.pipe()
        os.set_blocking(reader, False)
        process = bench.start(at.command(source="-"), stdin=reader)
        os.close(reader)
        process.stdin = os.fdopen(writer, "wb", buffering=0)
        drip(process, at.job.data, [1, 5000, 70000], pause_s=0.005)
        expect_exit(finish(process), 0)
        expect_whole(at.job, at.out)


def input_at_offset(bench):
    """Standard input is positioned inside a file"""
    for skipped in (2, 1000, 4096, 5000):
        for option, value in (("-C", 64 << 10), ("-n", 7)):
            place = Place(bench, Job(bench.job().data[skipped:], option, value))
            path = write(os.path.join(place.root, "longer.csv"), bench.job().data)
            with open(path, "rb", buffering=0) as file:
                file.seek(skipped)
                done(bench, place, command=place.command(source="-"), stdin=file)
                file.seek(skipped)
                rows = bench.run(["offsets", *place.job.args, "-"], stdin=file).stdout.split(b"\n")[:-1]
            found = [tuple(map(int, row.split(b"\t")[1:3])) for row in rows]
            need(found == [(start, end - start) for start, end in place.job.ranges], "offsets: %s" % found[:3])
            place.remove()


# The machine is short of something.

def few_descriptors(bench):
    """16 file descriptors and 500 pieces"""
    place = bench.place(size=1 << 20, value=2100)
    need(len(place.job.pieces) > 500, "too few pieces")
    spooled = Place(bench, bench.job(option="-n", value=500))
    for at in (place, spooled):
        for command, data in both_ways(at):
            for options in ([], ["-j", "8"], ["--force"]):
                done(bench, at, command=[*command, *options], data=data, limits=[(resource.RLIMIT_NOFILE, 16)])
                if options == ["-j", "8"]:
                    continue   # --force replaces its pieces
                at.empty()
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


def many_pieces(bench):
    """16 file descriptors and 100,000 pieces"""
    if bench.scale < 5:
        raise Skip("it takes long: from --rounds 5 on")
    data = b"id\n" + b"".join(b"%d\n" % i for i in range(100000))
    place = Place(bench, Job(data, "-l", 1))
    need(len(place.job.pieces) == 100000, "other than 100,000 pieces")
    for command, data in both_ways(place):
        began = time.monotonic()
        done(bench, place, command=command, data=data, limits=[(resource.RLIMIT_NOFILE, 16)], timeout=300)
        bench.note("%.1f s with %s" % (time.monotonic() - began, "a pipe" if data else "a file"))
        place.empty()
    place.remove()


def many_offsets(bench):
    """A million offsets as JSON, printed in less memory than they take up"""
    bench.need_plain_binary("it needs terabytes of addresses")
    place = Place(bench, Job(b"id\n1\n2\n", "-l", 1))
    write(place.input, b"id\n" + b"\n" * 1000000)   # this many pieces are accepted only if there are as many records
    limit = 56 << 20
    run = bench.run(["offsets", "-n", "1000000", "--format", "json", "-j", "1", place.input],
                    limits=[(resource.RLIMIT_AS, limit)])
    need(run.code == 0, str(run))
    need(len(run.stdout) > limit and run.stdout.count(b'{"piece":') == 1000000, "not a million pieces")
    need(run.stdout.endswith(b',"records":1}]}\n'), "the end is missing")
    place.remove()


def address_space(bench):
    """Little address space: less than the size of the input"""
    bench.need_plain_binary("it needs terabytes of addresses")
    limits = [(resource.RLIMIT_AS, 48 << 20)]
    if bench.run(["--version"], limits=limits).code != 0:
        raise Skip("the command does not even start in 48 MiB")
    line = b"0123456789" * 10 + b"\n"
    place = Place(bench, Job(b"id\n" + line * 9, "-l", 3))
    count = (96 << 20) // len(line)
    place.job.data = b"id\n" + line * count
    write(place.input, place.job.data)
    place.job.args = ["-C", str(16 << 20), "-d", ","]
    fit = ((16 << 20) - 3) // len(line)
    place.job.pieces = {"p.%06d.csv" % (i + 1): b"id\n" + line * min(fit, count - i * fit)
                        for i in range(-(-count // fit))}
    done(bench, place, command=place.command("-j", "1"), limits=limits)
    place.empty()
    finished = {}
    for mib in range(8, 160, 8 if bench.scale > 1 else 24):
        for threads in ("1", "4"):
            before = snapshot(place.out)
            run = bench.run(place.command("-j", threads), limits=[(resource.RLIMIT_AS, mib << 20)])
            if run.code == 0:
                expect_whole(place.job, place.out)
            else:
                started = bench.run(["--version"], limits=[(resource.RLIMIT_AS, mib << 20)]).code == 0
                need(run.code == 1 or not started, "with %d MiB and %s threads: %s" % (mib, threads, run))
                expect_clean(before, place.out)
            finished.setdefault(threads, []).append("%d:%d" % (mib, run.code))
            place.empty()
    for threads, codes in finished.items():
        bench.note("MiB:exit with -j %s: %s" % (threads, " ".join(codes)))
    place.remove()


@contextlib.contextmanager
def memory_group(limit):
    """Yields a memory cgroup (version 1) with that limit."""
    root = "/sys/fs/cgroup/memory"
    if not os.path.exists(os.path.join(root, "memory.limit_in_bytes")):
        raise Skip("there is no memory cgroup of version 1")
    try:
        group = tempfile.mkdtemp(prefix="cleave-test.", dir=root)
    except OSError as error:
        raise Skip("no memory cgroup can be made: %s" % error.strerror) from None
    try:
        write(os.path.join(group, "memory.limit_in_bytes"), b"%d" % limit)
        yield group
    finally:
        for _ in range(100):
            with contextlib.suppress(OSError):
                os.rmdir(group)
                break
            time.sleep(0.05)


def anonymous_bytes(pid):
    with contextlib.suppress(OSError):
        for line in read("/proc/%d/status" % pid).splitlines():
            if line.startswith(b"RssAnon:"):
                return int(line.split()[1]) << 10
    return 0


def is_in_memory(directory):
    kind = subprocess.run(["stat", "-f", "-c", "%T", directory], stdout=subprocess.PIPE, text=True).stdout.strip()
    return kind in ("tmpfs", "ramfs")


def long_record(bench):
    """A 300 MB record from a pipe in a 64 MiB memory cgroup"""
    bench.need_plain_binary("it allocates memory")
    parent = "/var/tmp"
    if is_in_memory(parent):
        raise Skip(parent + " is in memory itself")
    block = b"x" * 60 + b'""' + b"\n" + b"," * 1
    count = 300 * 1000 * 1000 // len(block) // 10000
    head, tail = b'id,note\n1,plain\n2,"', b'"\n3,plain\n'
    for option, what in (("-C", "quoted"), ("-l", "quoted"), ("-C", "no newline")):
        with memory_group(64 << 20) as group, tempfile.TemporaryDirectory(prefix="faults.", dir=parent) as out:
            def enter():
                write(os.path.join(group, "cgroup.procs"), b"%d" % os.getpid())
            args = ["split", option, "100M" if option == "-C" else "1", "-d", ",", "-o", out + "/{i:06}", "-"]
            part, closing = (block * 10000, tail) if what == "quoted" else (b"y" * len(block) * 10000, b"")
            process = bench.start(args, stdin=subprocess.PIPE, before=enter,
                                  env=dict(bench.environment(), TMPDIR=out))
            peak = [0]
            def sample():
                while process.poll() is None:
                    peak[0] = max(peak[0], anonymous_bytes(process.pid))
                    time.sleep(0.01)
            sampler = threading.Thread(target=sample)
            sampler.start()
            try:
                with contextlib.suppress(BrokenPipeError):
                    process.stdin.write(head if what == "quoted" else b"id\n")
                    for _ in range(count):
                        process.stdin.write(part)
                    process.stdin.write(closing)
                    process.stdin.close()
                process.stdin = None
                run = finish(process, timeout=300)
            except BaseException:
                kill_group(process)
                raise
            finally:
                sampler.join()
            expect_exit(run, 0)
            names = sorted(os.listdir(out))
            wanted = [(b"id\n", b"")]   # before and behind the parts
            if what == "quoted":
                wanted = [(b"id,note\n1,plain\n", None), (b'id,note\n2,"', b'"\n'), (b"id,note\n3,plain\n", None)]
            need(len(names) == len(wanted), "%s pieces: %s" % (len(names), names[:5]))
            for name, (before, behind) in zip(names, wanted):
                with open(os.path.join(out, name), "rb", buffering=0) as file:
                    same = file.read(len(before)) == before
                    if behind is not None:
                        same = same and all(file.read(len(part)) == part for _ in range(count))
                        same = same and file.read(len(behind)) == behind
                    need(same and file.read(1) == b"", "%s, %s: other bytes" % (what, name))
            need_sight(peak[0] > 0, "nobody has looked at its memory")
            need(peak[0] <= 64 << 20, "%d MiB of anonymous memory" % (peak[0] >> 20))
            bench.note("%s, %s: %d MiB of anonymous memory at most" % (what, option, peak[0] >> 20))


# Resuming.

def resumed(bench):
    """--resume keeps the existing pieces and writes the others"""
    place = bench.place()
    manifest = ["--manifest", place.path("m.json")]
    for options in ([], manifest):
        done_ = lambda: expect_whole(place.job, place.out, manifest="m.json" if options else None)
        expect_exit(bench.run(place.command(*options)), 0)
        for gone in ([1], [2, 5], range(3, 17), []):
            for number in gone:
                os.unlink(place.piece(number))
            kept = snapshot(place.out)
            expect_exit(bench.run(place.command("--resume", *options)), 0)
            done_()
            now = snapshot(place.out)
            again = [name for name in kept if name != "m.json" and now[name] != kept[name]]
            need(not again, "made again: %s" % again[:3])
        place.empty()


def resumed_over_others(bench):
    """--resume does not accept a file with other bytes as a piece"""
    place = bench.place()
    right = place.job.pieces["p.000003.csv"]
    for wrong in (b"", right[:-1], right + b"\n", right[:-1] + b"x", b"x" + right[1:]):
        expect_exit(bench.run(place.command()), 0)
        write(place.piece(3), wrong)
        before = snapshot(place.out)
        run = bench.run(place.command("--resume"))
        need(run.code in (0, 1), str(run))
        if run.code == 0:
            expect_whole(place.job, place.out)
        else:
            need(snapshot(place.out)["p.000003.csv"] == before["p.000003.csv"], "it has changed nonetheless")
        place.empty()


def resumed_after_failure(bench):
    """--resume keeps complete pieces when it fails, and the next run continues from them"""
    place = bench.place()
    for command, data in both_ways(place):
        for share in (0, 1, 3, 6, 9):
            room = len(place.job.data) * share // 10
            env = bench.shimmed(room="%d:%d" % (room, errno.ENOSPC))
            expect_exit(bench.run([*command, "--resume"], data=data, env=env), 1, "No space left on device")
            left = {name: data for name, data in contents(place.out).items() if not is_marker(name)}
            wrong = [name for name, found in left.items() if place.job.pieces.get(name) != found]
            need(not wrong, "no pieces, or not whole: %s" % wrong[:3])
            # Data from a pipe first fills the disk with a temporary file.
            need(share < 3 or left or data, "nothing was kept")
            expect_exit(bench.run([*command, "--resume"], data=data), 0)
            expect_whole(place.job, place.out)
            place.empty()


CHECKS = [disk_full, inodes_gone, late_write_back, full_standard_output, closed_descriptors, reader_leaves,
          event_reader_leaves, file_size_limit, short_and_interrupted, error_after_bytes, failing_sync, named_when_durable,
          failing_names, no_permission, immutable_directory, taken_by_directory, piece_exists, old_until_new, complete_when_named, input_is_a_piece,
          planted_links, other_owner, names_without_case, devices, two_runs, taken_meanwhile,
          templates, narrow_counter, modes, read_errors, small_writes,
          nonblocking_input, input_at_offset, few_descriptors, many_pieces, many_offsets, address_space, long_record, resumed,
          resumed_over_others, resumed_after_failure]
CHECKS += map(under_rules, [
    disk_full, inodes_gone, event_reader_leaves, failing_sync, failing_names, read_errors, small_writes, resumed,
    resumed_after_failure])
CHECKS += map(long, map(under_rules, [
    closed_descriptors, file_size_limit, short_and_interrupted, error_after_bytes, nonblocking_input,
    resumed_over_others]))
CHECKS += map(with_rejects, [disk_full, inodes_gone, failing_sync, failing_names, read_errors, small_writes])
CHECKS += map(long, map(with_rejects, [short_and_interrupted, two_runs]))

if __name__ == "__main__":
    sys.exit(main(__doc__, CHECKS))
