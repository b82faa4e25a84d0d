#!/usr/bin/env python3
"""--filter commands: how many run at once, what they are told, and what becomes of them when something goes wrong.

  filter_test.py --cleave PATH [--only SUBSTRING] [--rounds N] [-v]
"""
import contextlib
import fcntl
import json
import os
import pty
import select
import signal
import subprocess
import sys
import termios
import threading
import time
import uuid

from harness import (TIMEOUT_S, bytes_in_pipe, contents, drip, expect_exit, finish, kill_group, main, need, need_sight, read,
                     under_rules, wait_until, wait_until_idle, write)

# Longer than any check waits, because TIMEOUT_S is less.
FOREVER_S = 1000
GRACE_S = 1.5   # how long the processes of a command may continue after it has ended


def lines_of(path):
    return read(path).decode().splitlines()


def read_until(descriptor, wanted, what, timeout_s=TIMEOUT_S):
    """Reads until `wanted` has arrived, in any number of parts."""
    end, seen = time.monotonic() + timeout_s, b""
    while wanted not in seen:
        ready, _, _ = select.select([descriptor], [], [], max(0, end - time.monotonic()))
        need(ready, "%s: not within %d s, but %r" % (what, timeout_s, seen))
        seen += os.read(descriptor, 1000)


def is_running(pid):
    try:
        with open("/proc/%s/stat" % pid, encoding="ascii") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def sources(place):
    """Both kinds of input, each as (the operand FILE, the bytes for a pipe)."""
    return [(place.input, None), ("-", place.job.data)]


def every_piece_arrives_whole(bench):
    """Every piece arrives whole, from a file and from a pipe"""
    for option, value in (("-l", 3000), ("-C", 300_000)):
        place = bench.place(3 << 20, option, value)
        for source, data in sources(place):
            for threads in ("1", "2", "5"):
                run = bench.run(place.command("-j", threads, "--filter", 'cat > "$FILE"', "--print-names", source=source),
                                data=data)
                expect_exit(run, 0)
                need(contents(place.out) == place.job.pieces, "the pieces are not those of a split (-j %s)" % threads)
                names = [os.path.basename(name) for name in run.stdout.decode().splitlines()]
                need(names == list(place.job.pieces), "--print-names: %s" % names)
                place.empty()
        place.remove()


def the_environment_tells_of_the_piece(bench):
    """The environment describes the piece, with the numbers that offsets prints"""
    place = bench.place(1 << 20, "-l", 2000)
    offsets = bench.run(["offsets", "-l", "2000", "--format", "jsonl", place.input]).stdout
    wanted = [json.loads(line) for line in offsets.decode().splitlines()]
    for source, data in sources(place):
        report = os.path.join(place.out, "report")
        command = 'cat > /dev/null; echo "$CLEAVE_PIECE $CLEAVE_START $CLEAVE_RECORD $FILE" >> ' + report
        env = bench.environment(FILE="mine", CLEAVE_PIECE="mine")
        expect_exit(bench.run(place.command("--filter", command, source=source), data=data, env=env), 0)
        rows = sorted((line.split() for line in lines_of(report)), key=lambda row: int(row[0]))
        need([row[:3] for row in rows] == [[str(p["piece"]), str(p["start"]), str(p["first_record"])] for p in wanted],
             "the numbers are not those of offsets: %s" % rows[:3])
        need([os.path.basename(row[3]) for row in rows] == list(place.job.pieces), "the names: %s" % rows[:3])
        place.empty()


def children_at_once(bench):
    """As many commands as threads run at once, and no more"""
    place = bench.place(1 << 20, "-l", 4000)
    log = os.path.join(place.out, "log")
    for source, data in sources(place):
        for threads in (1, 3):
            need(len(place.job.pieces) > threads, "too few pieces")
            # No command ends before that many have begun, and one too many would have time to begin.
            command = ('echo + >> %s; cat > /dev/null; until test "$(grep -c + %s)" -ge %d; do sleep 0.05; done; sleep 0.3; '
                       'echo - >> %s' % (log, log, threads, log))
            expect_exit(bench.run(place.command("-j", str(threads), "--filter", command, source=source), data=data), 0)
            need(lines_of(log).count("+") == len(place.job.pieces), "not each piece has its command")
            at_once = most = 0
            for line in lines_of(log):
                at_once += 1 if line == "+" else -1
                most = max(most, at_once)
            need(most == threads, "%d at once with -j %d" % (most, threads))
            os.unlink(log)


def who_stops_reading_may(bench):
    """A command may stop reading, as long as it succeeds"""
    place = bench.place(3 << 20, "-C", 1 << 20)
    for source, data in sources(place):
        for command in ("head -n 1 > /dev/null", "exec < /dev/null", "true"):
            expect_exit(bench.run(place.command("--filter", command, source=source), data=data), 0)


def who_fails_is_named(bench):
    """A command that fails is named, with exit status 1, and nothing follows it"""
    place = bench.place(1 << 20, "-l", 500)
    log = os.path.join(place.out, "log")
    for source, data in sources(place):
        for end, text in (("exit 7", "exited with status 7"), ("kill -9 $$", "was ended by signal 9"),
                          ("no-such-command", "exited with status 127")):
            # Commands from the tenth on would never end, so the run cannot finish them before the third has failed.
            command = ('echo $CLEAVE_PIECE >> %s; test $CLEAVE_PIECE -lt 10 || exec sleep %d; test $CLEAVE_PIECE != 3 || %s'
                       % (log, FOREVER_S, end))
            run = bench.run(place.command("-j", "2", "--filter", command, source=source), data=data)
            expect_exit(run, 1, text, "(piece 3, byte ")
            need(len(lines_of(log)) < len(place.job.pieces), "it went on to the end")
            os.unlink(log)


def the_others_are_ended(bench):
    """When one command fails, the others are ended and the run does not wait for them"""
    place = bench.place(3 << 20, "-C", 1 << 20)
    pids = os.path.join(place.out, "pids")
    command = ('echo $$ >> %s; if test $CLEAVE_PIECE = 2; then until test "$(grep -c . %s)" -ge 2; do sleep 0.05; done; '
               'exit 1; fi; exec sleep %d' % (pids, pids, FOREVER_S))
    for source, data in sources(place):
        run = bench.run(place.command("-j", "3", "--filter", command, source=source), data=data)
        expect_exit(run, 1, "(piece 2, byte ")
        need(len(lines_of(pids)) > 1, "there were no others")
        need(not any(is_running(pid) for pid in lines_of(pids)), "a command is still there")
        os.unlink(pids)


def a_signal_ends_all(bench):
    """A signal ends the commands, and the run dies from it"""
    place = bench.place(3 << 20, "-C", 1 << 20)
    pids = os.path.join(place.out, "pids")
    for command in ("exec sleep %d", "read line; exec sleep %d", "trap '' TERM; sleep %d"):
        command %= FOREVER_S
        for sent in (signal.SIGINT, signal.SIGTERM):
            for pipe in (False, True):
                process = bench.start(place.command("-j", "2", "--filter", "echo $$ >> %s; %s" % (pids, command),
                                                    source="-" if pipe else None),
                                      stdin=subprocess.PIPE if pipe else subprocess.DEVNULL)
                try:
                    if pipe:
                        drip(process, place.job.data[:1 << 20], [1 << 16], keep_open=True)
                    wait_until(lambda: os.path.exists(pids) and lines_of(pids), "no command began")
                    process.send_signal(sent)
                    if pipe:  # the input ends after the process, because its end would let the run succeed
                        wait_until(lambda: process.poll() is not None, "the signal does not end the run")
                    run = finish(process)
                finally:
                    kill_group(process)
                need(run.code == -sent, "%s of signal %d" % (run, sent))
                need(not any(is_running(pid) for pid in lines_of(pids)), "a command is still there")
                os.unlink(pids)


def malformed_streams_end_them_too(bench):
    """A stream that turns out to be malformed ends the running commands"""
    place = bench.place(1 << 20, "-l", 1000)
    pids = os.path.join(place.out, "pids")
    command = 'echo $$ >> %s; cat > /dev/null; exec sleep %d' % (pids, FOREVER_S)
    with family(bench, place.command("-j", "50", "--filter", command, source="-"), feed=place.job.data) as run:
        wait_until(lambda: os.path.exists(pids) and lines_of(pids), "no command began")
        run.process.stdin.write(b'"open\n')
        ended = finish(run.process)
        expect_exit(ended, 3, "never closed")
        run.expect_none_left()
    need(not any(is_running(pid) for pid in lines_of(pids)), "a command is still there")


# How the commands of a failed run end. A witness is a command that gives the piece its name only if it has read to the
# end of its input.
WITNESS = 'cat > "$FILE.part" && mv "$FILE.part" "$FILE"'
SLOW_WITNESS = 'while dd bs=64K count=1 iflag=fullblock > "$FILE.now" 2> /dev/null; test -s "$FILE.now"; do sleep 0.05; ' \
               'cat "$FILE.now" >> "$FILE.part"; done; mv "$FILE.part" "$FILE"'
STUBBORN = "trap '' TERM INT HUP PIPE; "
WITNESSES = [WITNESS, SLOW_WITNESS, STUBBORN + WITNESS,
             'cat | sh -c "cat; sleep 0" | cat > "$FILE.part" && mv "$FILE.part" "$FILE"',
             "exec 3<&0; (%s) <&3 & wait" % WITNESS,
             "exec 3<&0; setsid sh -c '%s' <&3 & wait" % WITNESS,
             "test $CLEAVE_PIECE = 1 || (setsid sleep %d &); " % FOREVER_S + WITNESS,
             "test $CLEAVE_PIECE = 1 || (%ssleep %d &); exec bash -c 'tee >(%s) > /dev/null'" % (STUBBORN, FOREVER_S, WITNESS)]


def held_witness(place):
    """A witness that waits for a file "go"; until then, its piece cannot be whole."""
    return ('dd bs=64K count=1 iflag=fullblock > "$FILE.now" 2> /dev/null; until test -e %s; do sleep 0.05; done; '
            'cat >> "$FILE.now" && mv "$FILE.now" "$FILE"' % place.path("go"))


def command_line(pid):
    with contextlib.suppress(OSError):
        return read("/proc/%d/cmdline" % pid).replace(b"\0", b" ")[:60]
    return b"(gone)"


def parent_of(pid):
    """The parent process, or None if the process has ended."""
    try:
        return int(read("/proc/%d/stat" % pid).rsplit(b")", 1)[1].split()[1])
    except (FileNotFoundError, ProcessLookupError):
        return None


class Family:
    """A run and all its descendants, which carry its mark in their environment."""

    def __init__(self, bench, args, feed=None, terminal=None, **more):
        """Starts the command; `feed` is written to a pipe that stays open."""
        self.mark = uuid.uuid4().hex.encode()
        env = bench.environment(FILTER_TEST_MARK=self.mark.decode())
        if terminal is not None:
            more["before"] = lambda: fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)
        self.process = bench.start(args, env=env, stdin=subprocess.DEVNULL if feed is None else subprocess.PIPE, **more)
        if feed is not None:
            drip(self.process, feed, [1 << 16], keep_open=True)

    def processes(self):
        found = []
        for name in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                if self.mark in read("/proc/%s/environ" % name) and is_running(name):
                    found.append(int(name))
        return found

    def expect_none_left(self):
        end = time.monotonic() + TIMEOUT_S
        while self.processes():
            need(time.monotonic() < end, "left after %d s: %s" % (TIMEOUT_S, [command_line(pid) for pid in self.processes()]))
            time.sleep(0.02)

    def wait(self):
        """Waits for the end, while the pipe of the input stays open."""
        wait_until(lambda: self.process.poll() is not None, "it does not end while its input stays open")
        return finish(self.process)

    def close(self):
        for pid in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        kill_group(self.process)


@contextlib.contextmanager
def family(*args, **more):
    started = Family(*args, **more)
    try:
        yield started
    finally:
        started.close()


@contextlib.contextmanager
def controlling_terminal():
    master, slave = pty.openpty()
    try:
        yield master, slave
    finally:
        os.close(master)
        os.close(slave)


def expect_only_whole(place, command):
    """Expects every file with the name of a piece to be that piece. Returns how many there are."""
    found = {name: data for name, data in contents(place.out).items() if name in place.job.pieces}
    wrong = [name for name, data in found.items() if data != place.job.pieces[name]]
    need(not wrong, "an end of input was read before it was there: %s by %s" % (wrong, command))
    return len(found)


def begun(place):
    return lambda: any(name.endswith((".part", ".now")) for name in os.listdir(place.out))


def has_bytes(path):
    """False if a command has renamed the file since it was listed."""
    try:
        return os.path.getsize(path) > 0
    except FileNotFoundError:
        return False


def all_have_read(place, run):
    """Whether each command that is there has read something."""
    def look():
        running = sum(parent_of(pid) == run.process.pid for pid in run.processes())
        read_by = {os.path.splitext(name)[0] for name in os.listdir(place.out)
                   if name.endswith((".part", ".now")) and has_bytes(place.path(name))}
        return len(read_by) == running
    return look


def end_midway(bench, place, command, from_pipe, end, terminal=None):
    """Starts a run, calls `end` with it once a command has begun, and judges what is left. Returns the Run.

    On a terminal, all commands have read something: bash holds signals back while it forks, so that a process that it
    has just started can miss Ctrl-C, while bash itself dies of it.
    """
    half = place.job.data[:len(place.job.data) // 2] if from_pipe else None
    args = place.command("-j", "4", "--filter", command, source="-" if from_pipe else None)
    with family(bench, args, feed=half, terminal=terminal) as run:
        wait_until(begun(place), "no command began: %s" % command)
        if terminal is not None:
            wait_until_idle(run.process, all_have_read(place, run))
        end(run)
        ended = run.wait()
        run.expect_none_left()
    whole = expect_only_whole(place, command)
    need(whole < len(place.job.pieces) or not from_pipe, "half of the input made all of the pieces: %s" % command)
    need_sight(whole < len(place.job.pieces), "it was done before it was ended: %s of %s" % (ended, command))
    place.empty()
    return ended


def no_end_of_half_a_piece(bench):
    """After a signal, no command reads the end of a piece that is not whole, and no process is left"""
    place = bench.place(3 << 20, "-n", 4)
    stream = bench.place(3 << 20, "-C", 5 << 18)
    for round_ in range(bench.rounds(1)):
        for i, command in enumerate(WITNESSES):
            sent = bench.ending_signals[(i + round_) % len(bench.ending_signals)]
            run = end_midway(bench, stream, command, True, lambda run: run.process.send_signal(sent))
            need(run.code == -sent, "%s of signal %d" % (run, sent))
        for sent in bench.ending_signals:
            for command in (SLOW_WITNESS, STUBBORN + SLOW_WITNESS):
                run = end_midway(bench, place, command, False, lambda run: run.process.send_signal(sent))
                need(run.code == -sent, "%s of signal %d" % (run, sent))


def no_valid_xz_of_half_a_piece(bench):
    """TERM: no valid .xz file holds less than its piece"""
    xz = bench.need_tool("xz")
    place, hits = bench.place(3 << 20, "-n", 4), 0
    for wait_s in (0, 0.3, 0.6):
        args = place.command("-j", "4", "--filter", xz + ' -9e > "$FILE.xz"')
        with family(bench, args) as run:
            wait_until(lambda: os.listdir(place.out), "no command began")
            time.sleep(wait_s)
            run.process.send_signal(signal.SIGTERM)
            ended = run.wait()
            run.expect_none_left()
        need(ended.code in (0, -signal.SIGTERM), "%s" % ended)
        hits += ended.code != 0
        for name in contents(place.out):
            done = subprocess.run([xz, "-dc", place.path(name)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            whole = done.stdout == place.job.pieces[name[:-3]]
            need(whole or done.returncode != 0, "%s is valid and has %d bytes" % (name, len(done.stdout)))
        place.empty()
    need_sight(hits > 0, "all runs were done before they were ended")


def killed_itself(bench):
    """KILL of cleave: no command reads the end of a piece that is not whole, and no process is left"""
    place = bench.place(3 << 20, "-n", 4)
    stream = bench.place(3 << 20, "-C", 5 << 18)
    for command in WITNESSES:
        end_midway(bench, stream, command, True, lambda run: run.process.kill())
    for command in (SLOW_WITNESS, STUBBORN + SLOW_WITNESS):
        end_midway(bench, place, command, False, lambda run: run.process.kill())


def killed_command(bench):
    """KILL of a command: the processes that it has started are ended before their input ends"""
    place = bench.place(3 << 20, "-C", 5 << 18)
    begun = 'until test -e "$FILE.part"; do sleep 0.05; done; '
    for command in ("exec 3<&0; (%s) <&3 & %skill -9 $$" % (WITNESS, begun),
                    "exec 3<&0; (%s%s) <&3 & %sexit 3" % (STUBBORN, WITNESS, begun),
                    "exec 3<&0; setsid sh -c '%s' <&3 & %stouch \"$FILE.over\"; exit 0" % (WITNESS, begun)):
        def end(run):
            if "exit 0" in command:
                wait_until(lambda: any(name.endswith(".over") for name in os.listdir(place.out)), "the command does not end")
                run.process.send_signal(signal.SIGTERM)
        run = end_midway(bench, place, "if test $CLEAVE_PIECE = 2; then %s; else %s; fi" % (command, WITNESS), True, end)
        if "exit 0" not in command:
            expect_exit(run, 1, "was ended by signal 9" if "kill" in command else "exited with status 3", "(piece 2, byte ")


def killed_guard(bench):
    """KILL of the process between cleave and a command: the run fails, and no piece passes for whole"""
    place = bench.place(3 << 20, "-n", 4)

    def guards(run):
        """Processes of the run that are between cleave and a process of a command."""
        parents = {pid: parent_of(pid) for pid in run.processes()}
        return [pid for pid, parent in parents.items() if parent == run.process.pid and pid in parents.values()]

    def kill_one(run):
        wait_until(lambda: guards(run), "there is no process between cleave and a command")
        os.kill(guards(run)[0], signal.SIGKILL)
        write(place.path("go"), b"")

    run = end_midway(bench, place, held_witness(place), False, kill_one)
    expect_exit(run, 1, "was ended by signal 9")


def closed_early(bench):
    """A command that closes its input and continues is ended with the others"""
    place = bench.place(3 << 20, "-C", 1 << 20)
    for command in ("touch \"$FILE.now\"; exec <&-; sleep %d" % FOREVER_S,
                    STUBBORN + "touch \"$FILE.now\"; exec < /dev/null; sleep %d; sleep %d" % (FOREVER_S, FOREVER_S)):
        for sent in (signal.SIGTERM, signal.SIGKILL):
            for from_pipe in (False, True):
                end_midway(bench, place, command, from_pipe, lambda run: run.process.send_signal(sent))


def on_a_terminal(bench):
    """With a controlling terminal the same holds, and Ctrl-C ends everything"""
    place = bench.place(3 << 20, "-C", 5 << 18)
    for command in WITNESSES:
        with controlling_terminal() as (master, slave):
            run = end_midway(bench, place, command, True, lambda run: os.write(master, b"\3"), slave)
            need(run.code == -signal.SIGINT, "Ctrl-C: %s" % run)
        with controlling_terminal() as (master, slave):
            end_midway(bench, place, command, True, lambda run: run.process.kill(), slave)


def asks_for_a_password(bench):
    """With a controlling terminal, a command can ask its user for a password"""
    place = bench.place(1 << 18, "-n", 2)
    command = 'cat > /dev/null; printf "Password: " > /dev/tty; read answer < /dev/tty; echo "$answer" > "$FILE"'
    with controlling_terminal() as (master, slave):
        with family(bench, place.command("-j", "1", "--filter", command), terminal=slave) as run:
            for _ in range(2):
                read_until(master, b"Password: ", "it did not ask")
                os.write(master, b"secret\n")
            expect_exit(run.wait(), 0)
            need(set(contents(place.out).values()) == {b"secret\n"}, "the answers are %s" % contents(place.out))


def malformed_or_changed(bench):
    """If a stream is malformed or an input has changed, commands still reading are ended before their input ends"""
    place = bench.place(3 << 20, "-C", 5 << 18)
    last = list(place.job.pieces)[-1]
    for threads in ("1", "4"):
        run = bench.run(place.command("-j", threads, "--filter", WITNESS, source="-"), data=place.job.data + b'"open\n')
        expect_exit(run, 3, "never closed")
        need(last not in contents(place.out), "the malformed piece was taken for whole")
        place.empty()
    place = bench.place(3 << 20, "-n", 4)
    for command in (SLOW_WITNESS, STUBBORN + SLOW_WITNESS):
        write(place.input, place.job.data)

        def change(run):
            with open(place.input, "r+b") as file:
                file.write(b"ID")
        expect_exit(end_midway(bench, place, command, False, change), 4)


def output_that_fails(bench):
    """If names cannot be printed, commands that are still reading are ended before their input ends"""
    bench.need_tool("dd")
    place = bench.place(3 << 20, "-n", 4)
    for witness in (held_witness(place), SLOW_WITNESS):
        command = "test $CLEAVE_PIECE != 1 || exec cat > /dev/null; " + witness
        with open("/dev/full", "wb") as full, \
                family(bench, place.command("-j", "4", "--print-names", "--filter", command), stdout=full) as run:
            expect_exit(run.wait(), 1, "write error")
            run.expect_none_left()
        whole = expect_only_whole(place, command)
        need(whole == 0 or witness == SLOW_WITNESS, "it went on to the end")
        need_sight(whole < len(place.job.pieces) - 1, "all others were done before the first one was")
        place.empty()


def silent_pipe(bench):
    """A command that fails ends the run at once, even if the input is silent"""
    place = bench.place(1 << 20, "-l", 2000)
    late = "cat > /dev/null; test $CLEAVE_PIECE != 1 || { until test -e %s; do sleep 0.05; done; exit 7; }" % place.path("go")
    for threads in ("1", "3"):
        for fails in ("exit 7", "if test $CLEAVE_PIECE = 2; then read line; exit 7; fi; cat > /dev/null", late):
            place.empty()
            args = place.command("-j", threads, "--filter", fails, source="-")
            with family(bench, args, feed=place.job.data[:len(place.job.data) // 2]) as run:
                if fails == late:
                    wait_until_idle(run.process)
                    write(place.path("go"), b"")
                piece = {"exit 7": "(piece "}.get(fails, "(piece %d, byte " % (2 if "= 2" in fails else 1))
                expect_exit(run.wait(), 1, "exited with status 7", piece)
                run.expect_none_left()


def left_behind(bench):
    """After success: processes left behind are waited for, then ended; those that detach themselves stay"""
    place = bench.place(1 << 18, "-n", 2)
    for source, data in sources(place):
        slow = 'exec 3<&0; (cat <&3 > "$FILE.part"; while kill -0 $$ 2> /dev/null; do sleep 0.01; done; ' \
               'mv "$FILE.part" "$FILE") & exit 0'
        began = time.monotonic()
        run = bench.run(place.command("--filter", slow, source=source), data=data)
        # After that time, the processes that are left are ended.
        need_sight("left processes running" not in run.message or time.monotonic() - began < GRACE_S, "it was too slow")
        expect_exit(run, 0)
        need(contents(place.out) == place.job.pieces, "it did not wait for them")
        place.empty()
        for command in ("cat > /dev/null; sleep %d & exit 0" % FOREVER_S,
                        STUBBORN + "exec 3<&0; sleep %d <&3 & exit 0" % FOREVER_S):
            with family(bench, place.command("--filter", command)) as run:
                expect_exit(run.wait(), 1, "left processes running")
                run.expect_none_left()
        quickest = TIMEOUT_S
        for _ in range(3):
            began = time.monotonic()
            with family(bench, place.command("--filter", "cat > /dev/null; setsid sleep %d > /dev/null 2>&1 & exit 0"
                                             % FOREVER_S)) as run:
                expect_exit(run.wait(), 0)
                quickest = min(quickest, time.monotonic() - began)
                need(len(run.processes()) == 2, "%d of 2 stay" % len(run.processes()))
            if quickest < GRACE_S:
                break
        need_sight(quickest < GRACE_S, "it may have waited for them: it never took less than %.1f s" % quickest)


def ignored_children(bench):
    """A parent that ignores SIGCHLD: a failing command is noticed all the same"""
    place = bench.place(1 << 18, "-n", 2)
    run = bench.run(place.command("--filter", "exit 7"), before=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
    expect_exit(run, 1, "exited with status 7")


def settings_of(path):
    """The lines of the report, without the C library's own two signals, which posix_spawn leaves ignored."""
    lines = []
    for line in lines_of(path):
        name, _, value = line.partition(":\t")
        lines.append("%s %x" % (name, int(value, 16) & ~(3 << 31)) if name == "SigIgn" else line)
    return lines


def they_begin_as_if_started_by_hand(bench):
    """The commands have no descriptor, signal setting or restriction from cleave"""
    place = bench.place(1 << 20, "-C", 1 << 19)
    report = os.path.join(place.out, "report")
    command = "cat > /dev/null; ls /proc/self/fd | wc -l >> %s; " % report
    command += "grep -E 'SigBlk|SigIgn|NoNewPrivs' /proc/self/status >> %s" % report
    for source, data in sources(place):
        expect_exit(bench.run(place.command("-j", "1", "--filter", command, source=source), data=data), 0)
        by_hand = os.path.join(place.out, "by_hand")
        subprocess.run(["sh", "-c", command.replace(report, by_hand)], stdin=subprocess.DEVNULL, check=True,
                       start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        wanted = settings_of(by_hand) * len(place.job.pieces)
        need(settings_of(report) == wanted, "%s, but by hand %s" % (settings_of(report), settings_of(by_hand)))
        os.unlink(report)
        os.unlink(by_hand)


def a_call_fails(bench):
    """If a system call that a command needs fails, the run fails too, or continues without it"""
    strace = bench.need_tool("strace")
    bench.need_plain_binary("strace would see its runtime's calls")
    place = bench.place(1 << 17, "-l", 500)
    outcomes = []
    for source, data in sources(place):
        for call, error in (("pipe2", "EMFILE"), ("clone3", "EAGAIN"), ("clone", "EAGAIN"), ("vfork", "EAGAIN"),
                            ("pidfd_open", "ENOSYS"), ("waitid", "EINTR"), ("wait4", "EINTR"), ("fcntl", "EINVAL")):
            for nth in range(1, 1 + min(4, 2 * bench.scale)):
                wrap = [strace, "-f", "--seccomp-bpf", "-qq", "-o", "/dev/null", "-e", "trace=?" + call,
                        "-e", "inject=?%s:error=%s:when=%d" % (call, error, nth)]
                run = bench.run(place.command("-j", "2", "--filter", 'cat > "$FILE"', source=source), data=data, wrap=wrap)
                need(run.code in (0, 1), "%s %d: %s" % (call, nth, run))
                if run.code == 0:
                    need(contents(place.out) == place.job.pieces, "%s %d: not whole" % (call, nth))
                else:
                    need("cleave: " in run.message, "%s %d: %s" % (call, nth, run))
                outcomes.append(run.code)
                place.empty()
    need(0 in outcomes and 1 in outcomes, "no call failed")


def what_waits_is_bounded(bench):
    """At most 16 MiB of a piece from a pipe wait for a slow command"""
    bench.need_plain_binary("its runtime allocates memory")
    row, count = b"x" * 102_399 + b"\n", 1000
    place = bench.place(1 << 16)
    command = "until test -e %s; do sleep 0.05; done; cat > /dev/null" % place.path("go")
    process = bench.start(["split", "-l", str(count), "-j", "4", "--quiet", "--filter", command, "-"],
                          stdin=subprocess.PIPE)
    fed = [0]

    def feed():
        with contextlib.suppress(BrokenPipeError):
            for _ in range(count):
                process.stdin.write(row)
                process.stdin.flush()
                fed[0] += len(row)

    feeder = threading.Thread(target=feed)
    feeder.start()
    try:
        # It waits for its commands, although there is more to read.
        wait_until_idle(process, lambda: bytes_in_pipe(process.stdin.fileno()) > 0)
        waiting = fed[0]
        write(place.path("go"), b"")
        wait_until(lambda: not feeder.is_alive(), "it does not take the rest")
        with open("/proc/%d/status" % process.pid, encoding="ascii") as file:
            peak_kib = int(next(line.split()[1] for line in file if line.startswith("VmHWM")))
        expect_exit(finish(process), 0)
    finally:
        kill_group(process)
        feeder.join()
    bench.note("%.1f MiB were taken before the command read" % (waiting / (1 << 20)))
    need(waiting < 24 << 20, "it took %d MiB for a command that does not read" % (waiting >> 20))
    need(peak_kib < 32 << 10, "%d KiB were in memory" % peak_kib)
    need_sight(waiting >= 16 << 20, "it had taken %d bytes only" % waiting)


def few_descriptors(bench):
    """Sixteen descriptors are enough for any number of threads"""
    import resource
    place = bench.place(1 << 20, "-l", 500)
    for source, data in sources(place):
        run = bench.run(place.command("-j", "64", "--filter", 'cat > "$FILE"', source=source), data=data,
                        limits=[(resource.RLIMIT_NOFILE, 24 if bench.sanitized else 18)])
        expect_exit(run, 0)
        need(contents(place.out) == place.job.pieces, "the pieces are not those of a split")
        place.empty()


CHECKS = [every_piece_arrives_whole, the_environment_tells_of_the_piece, children_at_once, who_stops_reading_may,
          who_fails_is_named, the_others_are_ended, a_signal_ends_all, malformed_streams_end_them_too,
          they_begin_as_if_started_by_hand, a_call_fails, what_waits_is_bounded,
          few_descriptors, no_end_of_half_a_piece, no_valid_xz_of_half_a_piece, killed_itself, killed_command,
          killed_guard, closed_early, on_a_terminal, asks_for_a_password, malformed_or_changed, output_that_fails,
          silent_pipe, left_behind, ignored_children]
CHECKS += [under_rules(check, 6) for check in (
    every_piece_arrives_whole, who_fails_is_named, the_others_are_ended, a_signal_ends_all, no_end_of_half_a_piece,
    killed_itself, killed_command, malformed_or_changed)]

if __name__ == "__main__":
    sys.exit(main(__doc__, CHECKS, timed=[left_behind]))
