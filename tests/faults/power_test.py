#!/usr/bin/env python3
"""What a loss of power leaves of a run, and what the next run does with it.

  power_test.py --cleave PATH [--only SUBSTRING] [--rounds N] [--seed N] [-v]

recording_shim.c records a run. power_model.py derives every folder that a loss of power at some moment may have left:
each prefix of the record; what the loss of one change leaves; random subsets of what was not yet durable. Each of these
states is created, checked, given to the next run, and checked again.

For `split --sync`, the state is right if every name has its whole piece, or what it had before; if a new manifest
exists only beside all pieces; and if everything is there once the run has reported success. The next run must succeed,
and leave what a run without a loss of power leaves, hidden files included. It may refuse to replace pieces only if all
of them exist. Where runs replace older files, a run for other names must restore all the older files, or keep all the
new ones. An index may be damaged, but then no run may use it, and the next `cleave index` must replace it.

The record itself is checked first: with all its changes, the model must equal the real folder in names, bytes and
modes, and removed files must have had the bytes that the record gives them.
With --rounds 1 there are 40 random subsets for each run and a sample of the single losses; with --rounds 25, 1,000
subsets and every single loss.
"""
import os
import random
import shutil
import stat
import sys
import time

import by_value_test
from harness import (Job, Place, Redacted, difference, expect_exit, expect_whole, is_hidden, is_marker,
                     main, make_input, need, need_sight, write)
from power_model import Record, read_disk, states

GENERATION = 1 << 40   # the inodes of one generation of the folder are numbered from here
SHOWN = 3              # faults that are printed
SUBSETS, LOSSES = 40, 120   # with --rounds 1
ALL_ROUNDS = 25

MANIFEST, REPORT = "m.json", "r.json"


class Scene:
    """A place where runs are recorded, and which is recreated in the states that a loss of power may have left. The
    command sees the same inode numbers each time; see recording_shim.c."""

    def __init__(self, bench, job):
        self.bench, self.place = bench, Place(bench, job)
        self.root, self.generation, self.table = self.place.root, 1, {}
        self.log, self.inodes = os.path.join(bench.root, "record"), os.path.join(bench.root, "inodes")
        # The input and the key stay, because an index has the times of its file.
        self.beside = [os.path.basename(path) for path in (self.place.input, self.place.key)]
        self.fixed = {inode: self.number_of(inode) for inode in (os.stat(os.path.join(self.root, name)).st_ino
                                                                for name in self.beside)}
        self.library, self.lacks, self.refused = bench.preloaded("recording_shim.c"), "", ""

    def number_of(self, inode):
        return self.table.get(inode, inode + self.generation * GENERATION)

    def disk(self):
        return read_disk(self.root, self.number_of, self.beside)

    def make(self, disk):
        for name in os.listdir(self.root):
            path = os.path.join(self.root, name)
            if name not in self.beside:
                shutil.rmtree(path) if stat.S_ISDIR(os.lstat(path).st_mode) else os.unlink(path)
        self.generation += 1
        self.table = {**self.fixed, **disk.build(self.root)}

    def run(self, command, log="/dev/null", data=None):
        device = os.stat(self.root).st_dev
        write(self.inodes, b"".join(b"%d %d %d\n" % (device, *row) for row in self.table.items()))
        return self.bench.run(command, data=data, env=self.bench.environment(
            LD_PRELOAD=self.library, RECORD_LOG=log, RECORD_INODES=self.inodes,
            RECORD_BASE=str(self.generation * GENERATION), RECORD_LACKS=self.lacks,
            RECORD_REFUSED=self.refused))

    def record(self, command, code=0, data=None):
        """Runs the command, with `data` in a pipe if it is given. Returns its Record, after checking that it is
        complete."""
        before = self.disk()
        write(self.log, b"")
        expect_exit(self.run(command, self.log, data), code)
        record = Record(self.log, before.inodes, before.root, os.stat(self.root).st_dev)
        need(record.unknown == 0, "the record has changes that the model does not know")
        need_sight(record.reused == 0, "the file system has used the number of an inode twice")
        replayed, real = record.disk(range(len(record.changes))), self.disk()
        wrong = difference(dict(replayed.files()), dict(real.files()))
        need(not wrong, "the record is not complete: %s" % wrong)
        need(replayed.key() == real.key(), "the record leads to other inodes")
        need(not record.wrong_contents(), "the record is not complete: a removed file had other bytes")
        return record


class Fault(Exception):
    """A state that is wrong, or that the next run does not put right."""


def expect(condition, text):
    if not condition:
        raise Fault(text)


def shown(files):
    """Those of the files that have visible names, and their folders."""
    return {path: file for path, file in files.items() if not is_hidden(path)}


def has_ended(state, record):
    """Whether the run may already have reported its outcome, because nothing more is synced."""
    return state.time > record.last_sync


class Split:
    """The expected result of a split with --sync. `old` and `new`: the files before the first run, and those that it
    writes. `after`: the files after its end. `left`: the files before this run, if a loss of power has left them."""

    def __init__(self, scene, job, options):
        self.scene, self.job, self.left = scene, job, {}
        self.command = scene.place.command("--sync", *(word.replace("@out", scene.place.out) for word in options))

    def settle(self, old):
        """Notes the outcome. To be called after the recorded run."""
        self.old, self.new = shown(old.files()), self.scene.disk().files()
        self.after = self.new
        asked = {option: os.path.basename(name) for option, name in zip(self.command, self.command[1:])}
        expect_whole(self.job, self.scene.place.out, asked.get("--manifest"), [MANIFEST], asked.get("--redact-report"))

    def is_complete(self, files):
        return shown(files) == self.new

    def judge_state(self, state, record):
        files = shown(state.disk.files())
        for path, file in files.items():
            right = [side.get(path) for side in (self.new, self.old, self.left)]
            expect(file in right, "%s is neither new nor as before" % path)
        lost = [path for path in self.old if path not in files]
        expect(not lost, "what was there is gone: %s" % lost)
        manifest = "out/" + MANIFEST
        if manifest in files and files[manifest] != self.old.get(manifest):
            expect(self.is_complete(files), "a manifest without all pieces")
        if has_ended(state, record):
            expect(self.is_complete(files), "the run has ended: %s" % difference(self.new, files))

    def go_on(self, state, record, more):
        """Runs the same command again."""
        was_complete = self.is_complete(state.disk.files())
        run = self.scene.run(self.command + list(more))
        files = self.scene.disk().files()
        if run.code == 1 and was_complete and "File exists" in run.message:
            expect(self.is_complete(files), "pieces are gone after %s" % run)
            return
        expect(run.code == 0, "the next run: %s" % run)
        wrong = difference(self.new, files)
        expect(not wrong, "after the next run: %s" % wrong)


class Unsynced(Split):
    """A split without --sync: only the next run is judged."""

    def __init__(self, scene, job, options):
        super().__init__(scene, job, options)
        self.command.remove("--sync")

    def judge_state(self, state, record):
        pass

    def go_on(self, state, record, more):
        run = self.scene.run(self.command + list(more))
        expect(run.code == 0, "the next run: %s" % run)
        wrong = difference(self.new, shown(self.scene.disk().files()))
        expect(not wrong, "after the next run: %s" % wrong)


class Undone(Split):
    """The same, but the next run writes a different piece, and so only clears what was left."""

    def go_on(self, state, record, more):
        place = self.scene.place
        other = Job(place.job.data, "-n", 1, stem="other")
        run = self.scene.run(place.command(job=other))
        expect(run.code == 0, "the other run: %s" % run)
        files = self.scene.disk().files()
        files.pop("out/other.000001.csv")
        # An empty marker may be in use.
        files = {path: file for path, file in files.items() if not (is_marker(path) and file[1] == b"")}
        pieces = {"out/" + name for name in self.job.pieces}
        now = {path: file for path, file in files.items() if path in pieces}
        if has_ended(state, record):
            expect(files == self.after, "not as the run has left it: %s" % difference(self.after, files))
        sides = [{path: file for path, file in side.items() if path in pieces} for side in (self.old, self.new)]
        expect(now in sides, "pieces are new in part: %s" % difference(sides[0], now))
        expect(now == sides[1] or files == self.old, "not as before: %s" % difference(self.old, files))


class Failing(Undone):
    """A split that fails after it has replaced older files."""

    def settle(self, old):
        self.old = shown(old.files())
        mode = self.old["out/" + MANIFEST][0]
        self.new = {**self.old, **{"out/" + name: (mode, data) for name, data in self.job.pieces.items()}}
        self.after = self.old
        need(shown(self.scene.disk().files()) == self.old, "the run has changed something")

    def judge_state(self, state, record):
        for path, file in shown(state.disk.files()).items():
            expect(file in (self.new.get(path), self.old.get(path)), "%s is neither new nor as before" % path)


class Index:
    """The expected result of `cleave index`."""

    def __init__(self, scene, job, options):
        self.scene = scene
        self.command = ["index", "-d", ",", scene.place.input]
        self.count = b"%d\n" % job.records

    def settle(self, old):
        self.new = self.scene.disk().files()
        need("in.csv.cleave" in self.new, "there is no index")
        expect_exit(self.scene.run([*self.command, "--verify", "--quiet"]), 0)

    def judge_state(self, state, record):
        expect(set(shown(state.disk.files())) <= set(self.new), "another file")

    def go_on(self, state, record, more):
        run = self.scene.run(["count", "-d", ",", self.scene.place.input])
        expect(run.code == 0 and run.stdout == self.count, "the count: %s, %s" % (run, run.stdout))
        run = self.scene.run(self.command)
        expect(run.code == 0, "the next run: %s" % run)
        wrong = difference(shown(self.new), shown(self.scene.disk().files()))
        expect(not wrong, "after the next run: %s" % wrong)


def try_states(bench, scene, subject, record, more=()):
    """Creates the states of the record one after another, and judges each."""
    began, count, faults = time.monotonic(), 0, []
    is_all = bench.scale >= ALL_ROUNDS
    for state in states(record, bench.rounds(SUBSETS), bench.seed, None if is_all else LOSSES):
        count += 1
        try:
            subject.judge_state(state, record)
            scene.make(state.disk)
            subject.go_on(state, record, more)
        except Fault as fault:
            faults.append("%s: %s" % (state.how, fault))
    bench.note("%d changes and %d syncs in %d entries; %d states in %.1f s, %d wrong"
               % (len(record.changes), record.syncs, record.length, count, time.monotonic() - began, len(faults)))
    for fault in faults[:SHOWN]:
        bench.note(fault)
    need(not faults, "%d of %d states are wrong" % (len(faults), count))


def small_job(bench):
    return Job(make_input(6 << 10, bench.seed), "-C", 1800)


class Named(by_value_test.ByValue):
    """A split by a column with four values."""

    @classmethod
    def make_input(cls, size, seed=1):
        chance = random.Random(seed)
        return b"id,k,note\n" + b"".join(b'%d,%s,"some\ntext"\n' % (i, chance.choice([b"a", b"b", b"c", b"x y"]))
                                        for i in range(size // 20))


class InFolders(by_value_test.Hive):
    make_input = Named.make_input


class Large(Job):
    """An input whose index fills more than one sector."""

    def __init__(self):
        self.records = 1 << 20
        self.data = b"id,note\n" + b"".join(b"%07d,\"some text\"\n" % i for i in range(self.records))
        self.args, self.stem, self.pieces = [], "p", {}


def make_old(scene):
    """Creates older files with the same names and other sizes."""
    for i, name in enumerate([*scene.place.job.pieces, MANIFEST]):
        write(scene.place.path(name), b"older\n" * (50 + 150 * i))


def one_run(bench, kind, job, *options, more=(), prepare=lambda scene: None, lacks=""):
    scene = Scene(bench, job)
    scene.lacks = lacks
    prepare(scene)
    subject = kind(scene, job, options)
    old = scene.disk()
    record = scene.record(subject.command)
    subject.settle(old)
    try_states(bench, scene, subject, record, more)
    scene.place.remove()


def two_runs(bench, kind, job, first, second, prepare=lambda scene: None):
    """A run over what a loss of power has left of an earlier run, and a second loss of power."""
    scene = Scene(bench, job)
    prepare(scene)
    subject = kind(scene, job, first)
    old = scene.disk()
    record = scene.record(subject.command)
    subject.settle(old)
    chance = random.Random(bench.seed)
    left = [state for state in states(record, 20, bench.seed, 20)
            if 0.3 * record.length < state.time < 0.9 * record.length]
    for state in chance.sample(left, 1 + (bench.scale >= ALL_ROUNDS) * 4):
        scene.make(state.disk)
        again = kind(scene, job, second)
        record = scene.record(again.command)
        again.old, again.new, again.after = subject.old, subject.new, subject.after
        again.left = shown(state.disk.files())
        try_states(bench, scene, again, record)
    scene.place.remove()


WITH_MANIFEST = ("--manifest", "@out/" + MANIFEST)


def split_sync(bench):
    """split --sync, then the same again"""
    one_run(bench, Split, small_job(bench))


def split_manifest(bench):
    """split --sync --manifest, then the same again"""
    one_run(bench, Split, small_job(bench), *WITH_MANIFEST)


def split_resumed(bench):
    """split --sync --manifest, then with --resume"""
    one_run(bench, Split, small_job(bench), *WITH_MANIFEST, more=["--resume"])


def split_force(bench):
    """split --sync --manifest --force over older pieces, then the same again"""
    one_run(bench, Split, small_job(bench), *WITH_MANIFEST, "--force", prepare=make_old)


def split_undone(bench):
    """split --sync --manifest --force over older pieces, then a run for other names"""
    one_run(bench, Undone, small_job(bench), *WITH_MANIFEST, "--force", prepare=make_old)


def split_force_alone(bench):
    """split --sync --force over older pieces, then a run for other names"""
    one_run(bench, Undone, small_job(bench), "--force", prepare=make_old)


def split_by(bench):
    """split --by --sync --manifest, then with --resume"""
    one_run(bench, Split, Named(Named.make_input(5 << 10)), *WITH_MANIFEST, more=["--resume"])


def split_into_folders(bench):
    """split --by --hive --mkdir --sync --manifest, then the same again"""
    one_run(bench, Split, InFolders(InFolders.make_input(4 << 10)), *WITH_MANIFEST, "--mkdir")


def resume_twice(bench):
    """split --sync --resume over what a loss of power has left, and a second loss of power"""
    two_runs(bench, Split, small_job(bench), WITH_MANIFEST, (*WITH_MANIFEST, "--resume"))


def force_twice(bench):
    """split --sync --force over what a loss of power has left, and a second loss of power"""
    two_runs(bench, Undone, small_job(bench), (*WITH_MANIFEST, "--force"), (*WITH_MANIFEST, "--force"), make_old)


def split_under_rules(bench):
    """split --sync --redact-report --manifest under rules, then with --resume"""
    job = Redacted(Redacted.make_input(4 << 10), "-C", 1500)
    one_run(bench, Split, job, *WITH_MANIFEST, "--redact-report", "@out/" + REPORT, more=["--resume"])


def hidden_names(bench):
    """split --sync --manifest --force where every file must have a name, then a run for other names"""
    one_run(bench, Undone, small_job(bench), *WITH_MANIFEST, "--force", prepare=make_old, lacks="tmpfile")


def failing_run(bench):
    """split --sync --force that fails over older pieces, then a run for other names"""
    scene = Scene(bench, small_job(bench))
    make_old(scene)
    subject = Failing(scene, scene.place.job, ["--force"])
    old = scene.disk()
    subject.command[-1] = "-"
    record = scene.record(subject.command, 3, scene.place.job.data + b'1,"no end')
    subject.settle(old)
    try_states(bench, scene, subject, record)
    scene.place.remove()


def failing_end(bench):
    """split --sync --force --json whose last event cannot be written, then a run for other names"""
    scene = Scene(bench, small_job(bench))
    make_old(scene)
    scene.refused = '"event":"end"'
    subject = Failing(scene, scene.place.job, ["--force", "--json"])
    old = scene.disk()
    record = scene.record(subject.command, 1)
    subject.settle(old)
    try_states(bench, scene, subject, record)
    scene.place.remove()


def without_sync(bench):
    """split --manifest without --sync, then with --resume --force"""
    one_run(bench, Unsynced, small_job(bench), *WITH_MANIFEST, more=["--resume", "--force"])


def force_without_sync(bench):
    """split --manifest --force without --sync over older pieces, then with --resume"""
    one_run(bench, Unsynced, small_job(bench), *WITH_MANIFEST, "--force", more=["--resume"], prepare=make_old)


def index(bench):
    """index, then the same again"""
    one_run(bench, Index, Large())


def index_replaced(bench):
    """index over an older index, then the same again"""
    def make_older(scene):
        expect_exit(scene.run(["index", "-d", ",", scene.place.input]), 0)
        os.utime(scene.place.input, (1, 1))
    one_run(bench, Index, Large(), prepare=make_older)


CHECKS = [split_sync, split_manifest, split_resumed, split_force, split_undone, split_force_alone, split_by,
          split_into_folders, split_under_rules, resume_twice, force_twice, hidden_names, failing_run, failing_end, without_sync,
          force_without_sync, index, index_replaced]

if __name__ == "__main__":
    sys.exit(main(__doc__, CHECKS))
