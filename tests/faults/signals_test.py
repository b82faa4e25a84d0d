#!/usr/bin/env python3
"""cleave split when it is interrupted, stopped or killed.

  signals_test.py --cleave PATH [--only SUBSTRING] [--rounds N] [--seed N] [-v]

Moments are random; --seed N chooses different ones. A check goes on until enough signals have hit a run midway; if ten
times as many rounds do not suffice, it is inconclusive.
"""
import collections
import contextlib
import os
import signal
import subprocess
import sys
import time

from harness import (Job, Place, bytes_in_pipe, contents, drip, expect_exit, expect_whole, finish, is_hidden, long,
                     main, make_input, need, need_sight, snapshot, stop, under_rules, wait_until, wait_until_idle,
                     wait_until_read, with_rejects, write)

ENDING = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


def many_pieces(bench, size=1 << 20):
    """A place whose split takes some time, most of which is spent on giving names."""
    return bench.place(size=size, value=4096)


def names_in(directory):
    return set(os.listdir(directory))


def files_open(pid, directory):
    """The files in the directory that the process has open, including those without a name."""
    found = set()
    with contextlib.suppress(FileNotFoundError, PermissionError, ProcessLookupError):
        for descriptor in os.listdir("/proc/%d/fd" % pid):
            with contextlib.suppress(FileNotFoundError):
                path = os.readlink("/proc/%d/fd/%s" % (pid, descriptor))
                if path.startswith(directory + "/"):
                    found.add(path)
    return found


class Struck:
    """A run that is struck by something midway.

    `way` says when: "time" at a random moment; "names" when a random number of pieces have a name or are open, where
    the run is stopped until it gets the signals; "pipe" when a random part of the input has been fed to the run and it
    waits for more.
    """

    def __init__(self, bench, place, chance, way, *options, before=None):
        self.bench, self.place, self.old = bench, place, names_in(place.out)
        piped = way == "pipe"
        self.process = bench.start(place.command(*options, source="-" if piped else None),
                                   stdin=subprocess.PIPE if piped else subprocess.DEVNULL, before=before)
        if way == "pipe":
            self.fed = chance.randrange(len(place.job.data))
            drip(self.process, place.job.data[:self.fed], [64 << 10], keep_open=True)
            wait_until_idle(self.process, lambda: bytes_in_pipe(self.process.stdin.fileno()) == 0)
        elif way == "names":
            wanted = chance.randrange(1, len(place.job.pieces))
            while self.process.poll() is None and len(self.begun()) < wanted:
                time.sleep(0.0001)   # much less than a run takes
            stop(self.process)
        else:
            time.sleep(chance.uniform(0, 0.03))

    def send(self, *signals):
        """Sends the signals. Whether they arrived midway is not known until later; see in_midst()."""
        self.seen = self.begun()
        for number in signals:
            self.process.send_signal(number)
        self.process.send_signal(signal.SIGCONT)

    def begun(self):
        """The new names and the open files."""
        return (names_in(self.place.out) - self.old) | files_open(self.process.pid, self.place.out)

    def finish(self, rest=False):
        """Feeds the run what remains of the input if `rest` is set, and waits for its end."""
        if rest and self.process.stdin is not None:
            drip(self.process, self.place.job.data[self.fed:], [64 << 10])
        self.run = finish(self.process)
        return self.run

    def in_midst(self):
        return bool(self.seen) and self.run.code < 0


def judge_ended(struck, signals, before):
    """Judges what became of a run that was asked to end."""
    run, place = struck.run, struck.place
    if run.code == 0:
        expect_whole(place.job, place.out)
        return "finished before"
    need(-run.code in signals, "it should have died of the signal, or be done: %s" % run)
    left = snapshot(place.out)
    if left == before:
        return "in its midst" if struck.seen else "at its start"
    # Between the last name and the end of the process a signal changes nothing.
    expect_whole(place.job, place.out)
    return "at its end"


def told(counts):
    return ", ".join("%d %s" % (count, what) for what, count in sorted(counts.items()))


def until_hit(rounds, counts, what="in its midst"):
    """Numbers `rounds` rounds, and more while fewer than a sixth of them have hit, but ten times as many at most: on a
    busy machine, most moments are too early or too late."""
    for number in range(10 * rounds):
        if number >= rounds and counts[what] * 6 >= rounds:
            return
        yield number


def need_hits(bench, rounds, counts, what="in its midst"):
    bench.note("%d runs: %s" % (sum(counts.values()), told(counts)))
    need_sight(counts[what] * 6 >= rounds, "too few hits to tell anything: " + told(counts))


def ended(bench):
    """INT, TERM and HUP at random moments"""
    place, chance, counts = many_pieces(bench), bench.random(11), collections.Counter()
    rounds = bench.rounds(90)
    for round_ in until_hit(rounds, counts):
        number = ENDING[round_ % 3]
        options = []
        if round_ % 4 == 3:
            for n in range(1, len(place.job.pieces), 2):
                write(place.piece(n), b"old")
            options = ["--force"]
        before = snapshot(place.out)
        struck = Struck(bench, place, chance, ("time", "names", "pipe")[round_ // 3 % 3], *options)
        struck.send(number)
        struck.finish()
        counts[judge_ended(struck, {number}, before)] += 1
        place.empty()
    need_hits(bench, rounds, counts)


def pipeline_ended(bench):
    """The whole pipeline is ended: the input ends with the signal, but it is not complete"""
    for place in (many_pieces(bench), bench.place(size=1 << 19, option="-n", value=5)):
        for round_ in range(bench.rounds(20)):
            process = bench.start(place.command(source="-"), stdin=subprocess.PIPE)
            drip(process, place.job.data[:len(place.job.data) // 2], [64 << 10], keep_open=True)
            wait_until_read(process)
            process.send_signal(signal.SIGINT)
            run = finish(process)   # closes the pipe at once
            need(run.code == -signal.SIGINT, "half of the input is taken for the whole: %s" % run)
            need(os.listdir(place.out) == [], "something is left")


def ended_twice(bench):
    """A second signal during the clean-up"""
    place, chance, counts = many_pieces(bench, 2 << 20), bench.random(12), collections.Counter()
    twice = "during the clean-up"
    rounds = bench.rounds(30)
    for round_ in until_hit(rounds, counts, twice):
        before = snapshot(place.out)
        struck = Struck(bench, place, chance, ("names", "pipe")[round_ % 2])
        struck.send(signal.SIGTERM)
        if round_ % 4 > 1:   # otherwise the clean-up has hardly begun
            time.sleep(chance.uniform(0, 0.003))
        is_alive = stop(struck.process)
        struck.send(signal.SIGTERM, signal.SIGINT)
        to_remove = is_alive and bool(struck.seen)   # the run has files to remove
        struck.finish()
        outcome = judge_ended(struck, {signal.SIGTERM, signal.SIGINT}, before)
        counts[twice if to_remove and outcome == "in its midst" else outcome] += 1
        place.empty()
    need_hits(bench, rounds, counts, twice)


def ended_without_manifest(bench):
    """TERM at random moments: there is no manifest, or everything that it lists is there"""
    place, chance, counts = many_pieces(bench), bench.random(13), collections.Counter()
    rounds = bench.rounds(30)
    for round_ in until_hit(rounds, counts):
        struck = Struck(bench, place, chance, ("time", "names", "pipe")[round_ % 3], "--sync", "--manifest",
                        place.path("m.json"))
        struck.send(signal.SIGTERM)
        run = struck.finish()
        need(run.code in (0, -signal.SIGTERM), str(run))
        if run.code == 0 or os.listdir(place.out):
            expect_whole(place.job, place.out, manifest="m.json")
        counts["in its midst" if struck.in_midst() else "otherwise"] += 1
        place.empty()
    need_hits(bench, rounds, counts)


def ended_inside_calls(bench):
    """TERM inside each call"""
    strace = bench.need_tool("strace")
    place = bench.place(size=1 << 16, value=12 << 10)
    trace, counts, hits = os.path.join(place.root, "trace"), collections.Counter(), collections.Counter()
    env = bench.environment(ASAN_OPTIONS="detect_leaks=0")
    calls = ["openat", "write", "renameat2", "linkat", "close", "newfstatat,fstat", "unlinkat", "flock", "munmap",
             "poll", "preadv2", "read", "exit_group"]
    for call in calls[:None if bench.scale > 1 else 9]:
        for source, data in ((None, None), ("-", place.job.data)):
            for nth in range(1, 200):
                before = snapshot(place.out)
                run = bench.run(place.command("-j", "1", source=source), data=data, env=env, wrap=[
                    strace, "-f", "-qq", "-o", trace, "-e", "trace=" + call, "-e",
                    "inject=%s:signal=TERM:when=%d" % (call, nth)])
                with open(trace, errors="replace") as file:
                    hit = "--- SIGTERM" in file.read()
                hits[call] += hit
                if run.code == 0:
                    expect_whole(place.job, place.out)
                    counts["finished nonetheless"] += hit
                else:
                    need(run.code == -signal.SIGTERM, "%s %d: %s" % (call, nth, run))
                    counts["died of it"] += 1
                    if snapshot(place.out) != before:
                        expect_whole(place.job, place.out)   # after the last name
                place.empty()
                if not hit:
                    break
    bench.note("signals: " + told(counts))
    bench.note("calls: " + ", ".join("%s %d" % item for item in hits.items()))
    need_sight(counts["died of it"] > 20, "too few hits")


def ignored(bench):
    """Signals that are ignored stay ignored, as under nohup"""
    def ignore():
        for number in ENDING:
            signal.signal(number, signal.SIG_IGN)
    place, chance = many_pieces(bench), bench.random(14)
    seen = 0
    for round_ in range(bench.rounds(15)):
        struck = Struck(bench, place, chance, ("time", "names", "pipe")[round_ % 3], before=ignore)
        struck.send(*ENDING)
        expect_exit(struck.finish(rest=True), 0)
        expect_whole(place.job, place.out)
        seen += 0 < len(struck.seen) < len(place.job.pieces)
        place.empty()
    need_sight(seen > 0, "no run was hit in its midst")


def stopped(bench):
    """STOP and CONT in a pipeline"""
    place, stops = bench.place(size=1 << 19, value=8192), 0
    for round_ in range(bench.rounds(6)):
        process = bench.start(place.command(source="-"), stdin=subprocess.PIPE)
        pipe = process.stdin.fileno()
        for at in range(0, len(place.job.data), 1 << 14):
            # The pipe must take the next bytes while nobody reads.
            wait_until(lambda: bytes_in_pipe(pipe) <= 1 << 14 or process.poll() is not None, "it does not read")
            need(stop(process), "it has ended too soon")
            stops += 1
            os.write(pipe, place.job.data[at:at + 100])
            process.send_signal(signal.SIGCONT)
            os.write(pipe, place.job.data[at + 100:at + (1 << 14)])
        expect_exit(finish(process), 0)
        expect_whole(place.job, place.out)
        place.empty()
    bench.note("stopped %d times" % stops)


# Killed.

def expect_crashed(place, old, manifest=None):
    """Expects each name to have its whole piece after a kill, or what it had before, and everything else to be
    hidden."""
    found = contents(place.out)
    if manifest in found:
        expect_whole(place.job, place.out, manifest=manifest, beside=[name for name in found if is_hidden(name)])
        del found[manifest]
    folders = {os.path.dirname(name) for name in place.job.pieces}
    for name, data in found.items():
        if is_hidden(name) or name in folders:   # a folder of pieces may be empty
            continue
        need(name in place.job.pieces, "%s is left" % name)
        own = data in (place.job.pieces[name], old.get(name))
        need(own, "%s has %d bytes that are not its own" % (name, len(data)))
    lost = [name for name in old if name not in found]
    need(not lost, "what was there is gone: %s" % lost[:3])


def killed_and_again(bench, rounds, ways, options=(), again=None, manifest=None, old_names=False, seed=21):
    """Kills runs, some of them repeatedly, and repeats the same command until it succeeds."""
    place, chance, counts = many_pieces(bench), bench.random(seed), collections.Counter()
    if manifest:
        options = ["--manifest", place.path(manifest)]
    names_when_done = {*place.job.pieces, *([manifest] if manifest else [])}
    for round_ in until_hit(rounds, counts):
        old = {name: b"old" for name in list(place.job.pieces)[::2]} if old_names else {}
        for name, data in old.items():
            write(place.path(name), data)
        way = ways[round_ % len(ways)]
        for attempt in range(chance.choice((1, 1, 3))):
            struck = Struck(bench, place, chance, way, *(options if attempt == 0 else again or options))
            struck.send(signal.SIGKILL)
            run = struck.finish()
            need(run.code in (0, -signal.SIGKILL), str(run))
            expect_crashed(place, old, manifest)
            counts["in its midst" if struck.in_midst() else "otherwise"] += 1
            done = run.code == 0 or contents(place.out).keys() == names_when_done   # it finished before the kill
            if done:
                break
        if not done or old_names:
            piped = way == "pipe"
            run = bench.run(place.command(*(again or options), source="-" if piped else None),
                            data=place.job.data if piped else None)
            need(run.code == 0, "the same again: %s" % run)
        expect_whole(place.job, place.out, manifest=manifest)
        place.empty()
    need_hits(bench, rounds, counts)


def killed(bench):
    """KILL at random moments, then the same again"""
    killed_and_again(bench, bench.rounds(60), ("time", "names"))


def killed_reading_a_pipe(bench):
    """KILL while a pipe is read, then the same again"""
    killed_and_again(bench, bench.rounds(30), ("pipe",))


def killed_replacing(bench):
    """KILL with --force over old pieces, then the same again"""
    killed_and_again(bench, bench.rounds(30), ("time", "names", "pipe"), options=["--force"], old_names=True)


def killed_before_the_manifest(bench):
    """KILL with --manifest, then the same again"""
    killed_and_again(bench, bench.rounds(30), ("time", "names"), manifest="m.json")


def killed_and_resumed(bench):
    """KILL, then --resume"""
    killed_and_again(bench, bench.rounds(30), ("time", "names", "pipe"), again=["--resume"])


def killed_leaves_exact_pieces(bench):
    """KILL at random moments leaves whole pieces and hidden files only"""
    place, chance, counts = many_pieces(bench), bench.random(22), collections.Counter()
    rounds = bench.rounds(60)
    for round_ in until_hit(rounds, counts):
        struck = Struck(bench, place, chance, ("time", "names", "pipe")[round_ % 3])
        struck.send(signal.SIGKILL)
        run = struck.finish()
        need(run.code in (0, -signal.SIGKILL), str(run))
        expect_crashed(place, {})
        counts["in its midst" if struck.in_midst() else "otherwise"] += 1
        place.empty()
    need_hits(bench, rounds, counts)


def killed_beside_another(bench):
    """What a killed run has left does not hinder a different split, which does not mistake it for its own pieces"""
    place, chance = many_pieces(bench), bench.random(23)
    other = Place(bench, Job(make_input(1 << 20, seed=2), stem="q"))
    other.out = place.out
    for _ in range(bench.rounds(10)):
        struck = Struck(bench, place, chance, "names")
        struck.send(signal.SIGKILL)
        struck.finish()
        left = [name for name in os.listdir(place.out) if not is_hidden(name)]
        run = bench.run(other.command())
        expect_exit(run, 0)
        found = {name: data for name, data in contents(place.out).items() if not is_hidden(name)}
        wanted = {**{name: place.job.pieces[name] for name in left}, **other.job.pieces}
        need(found == wanted, "the pieces are mixed up")
        place.empty()


CHECKS = [ended, pipeline_ended, ended_twice, ended_without_manifest, ended_inside_calls, ignored, stopped,
          killed_leaves_exact_pieces, killed_beside_another, killed, killed_reading_a_pipe, killed_replacing,
          killed_before_the_manifest, killed_and_resumed]
CHECKS += map(under_rules, [ended, ended_without_manifest, killed_replacing])
CHECKS += map(long, map(under_rules, [
    pipeline_ended, ended_inside_calls, stopped, killed_leaves_exact_pieces, killed_reading_a_pipe,
    killed_before_the_manifest, killed_and_resumed]))
CHECKS += map(with_rejects, [ended_without_manifest, killed])
CHECKS += map(long, map(with_rejects, [ended, ended_inside_calls, killed_replacing]))

if __name__ == "__main__":
    sys.exit(main(__doc__, CHECKS))
