#!/usr/bin/env python3
"""Commands as targets: how many run at once, what they are told, and what becomes of them when something goes wrong.

  filter_test.py --cleave PATH [--only SUBSTRING] [--rounds N] [-v]
"""
import json
import os
import signal
import subprocess
import sys
import time

from harness import contents, drip, expect_exit, finish, kill_group, main, need, read


def lines_of(path):
    return read(path).decode().splitlines()


def wait_until(condition, what, timeout_s=20):
    end = time.monotonic() + timeout_s
    while not condition():
        need(time.monotonic() < end, "%s: not within %d s" % (what, timeout_s))
        time.sleep(0.01)


def is_running(pid):
    try:
        with open("/proc/%s/stat" % pid, encoding="ascii") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def sources(place):
    """Both ways in: (what to give as FILE, what to put into a pipe)."""
    return [(place.input, None), ("-", place.job.data)]


def every_piece_arrives_whole(bench):
    """Every piece arrives whole, from a file and from a pipe"""
    for option, value in (("-l", 1000), ("-C", 100_000)):
        place = bench.place(3 << 20, option, value)
        for source, data in sources(place):
            for threads in ("1", "2", "5"):
                run = bench.run(place.command("-j", threads, "--filter", 'cat > "$FILE"', "--print", source=source),
                                data=data)
                expect_exit(run, 0)
                need(contents(place.out) == place.job.pieces, "the pieces are not those of a split (-j %s)" % threads)
                names = [os.path.basename(name) for name in run.stdout.decode().splitlines()]
                need(names == list(place.job.pieces), "--print: %s" % names)
                place.empty()
        place.remove()


def the_environment_tells_of_the_piece(bench):
    """The environment tells of the piece, with numbers that offsets prints too"""
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
    command = 'echo + >> %s; cat > /dev/null; sleep 0.5; echo - >> %s' % (log, log)
    for source, data in sources(place):
        for threads in (1, 3):
            expect_exit(bench.run(place.command("-j", str(threads), "--filter", command, source=source), data=data), 0)
            at_once = most = 0
            for line in lines_of(log):
                at_once += 1 if line == "+" else -1
                most = max(most, at_once)
            need(most == threads, "%d at once with -j %d" % (most, threads))
            os.unlink(log)


def who_stops_reading_may(bench):
    """A command that stops reading is no error if it succeeds"""
    place = bench.place(8 << 20, "-C", 2 << 20)
    for source, data in sources(place):
        for command in ("head -n 1 > /dev/null", "exec < /dev/null", "true"):
            expect_exit(bench.run(place.command("--filter", command, source=source), data=data), 0)


def who_fails_is_named(bench):
    """A command that fails is exit 1 and named, and nothing follows it"""
    place = bench.place(1 << 20, "-l", 500)
    log = os.path.join(place.out, "log")
    for source, data in sources(place):
        for end, text in (("exit 7", "exited with status 7"), ("kill -9 $$", "was ended by signal 9"),
                          ("no-such-command", "exited with status 127")):
            command = 'echo $CLEAVE_PIECE >> %s; test $CLEAVE_PIECE != 3 || %s' % (log, end)
            run = bench.run(place.command("-j", "2", "--filter", command, source=source), data=data)
            expect_exit(run, 1, text, "(piece 3, byte ")
            need(len(lines_of(log)) < len(place.job.pieces), "it went on to the end")
            os.unlink(log)


def the_others_are_ended(bench):
    """When one fails, the others are ended and the run does not wait for them"""
    place = bench.place(8 << 20, "-C", 2 << 20)
    pids = os.path.join(place.out, "pids")
    command = 'echo $$ >> %s; if test $CLEAVE_PIECE = 2; then sleep 0.5; exit 1; fi; exec sleep 100' % pids
    for source, data in sources(place):
        began = time.monotonic()
        run = bench.run(place.command("-j", "3", "--filter", command, source=source), data=data)
        expect_exit(run, 1, "(piece 2, byte ")
        need(time.monotonic() - began < 20, "it waited for the others")
        need(not any(is_running(pid) for pid in lines_of(pids)), "a command is still there")
        os.unlink(pids)


def a_signal_ends_all(bench):
    """A signal ends the commands, and the run dies of it"""
    place = bench.place(8 << 20, "-C", 1 << 20)
    pids = os.path.join(place.out, "pids")
    for command in ("exec sleep 100", "read line; exec sleep 100", "trap '' TERM; sleep 5"):
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
                    run = finish(process)
                finally:
                    kill_group(process)
                need(run.code == -sent, "%s of signal %d" % (run, sent))
                need(not any(is_running(pid) for pid in lines_of(pids)), "a command is still there")
                os.unlink(pids)


def malformed_streams_end_them_too(bench):
    """A stream that turns out to be malformed ends the commands at hand"""
    place = bench.place(1 << 20, "-l", 1000)
    pids = os.path.join(place.out, "pids")
    command = 'echo $$ >> %s; cat > /dev/null; exec sleep 100' % pids
    began = time.monotonic()
    run = bench.run(place.command("-j", "50", "--filter", command, source="-"), data=place.job.data + b'"open\n')
    expect_exit(run, 3, "never closed")
    need(time.monotonic() - began < 20, "it waited for them")
    need(not any(is_running(pid) for pid in lines_of(pids)), "a command is still there")


def settings_of(path):
    """The lines of the report, less the two signals that are the C library's own and ignored after its posix_spawn."""
    lines = []
    for line in lines_of(path):
        name, _, value = line.partition(":\t")
        lines.append("%s %x" % (name, int(value, 16) & ~(3 << 31)) if name == "SigIgn" else line)
    return lines


def they_begin_as_if_started_by_hand(bench):
    """The commands have no descriptor, signal setting or restriction of ours"""
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
    """If a call fails that a command needs, the run fails too, or goes on without it"""
    strace = bench.need_tool("strace")
    bench.need_plain_binary("strace would see its runtime's calls")
    place = bench.place(1 << 18, "-l", 500)
    outcomes = []
    for source, data in sources(place):
        for call, error in (("pipe2", "EMFILE"), ("clone3", "EAGAIN"), ("clone", "EAGAIN"), ("vfork", "EAGAIN"),
                            ("pidfd_open", "ENOSYS"), ("waitid", "EINTR"), ("wait4", "EINTR"), ("fcntl", "EINVAL")):
            for nth in range(1, 5):
                wrap = [strace, "-f", "-qq", "-o", "/dev/null", "-e", "trace=?" + call,
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
    """Of a piece from a pipe at most 16 MiB wait for a command that is slow"""
    bench.need_plain_binary("its runtime takes memory of its own")
    row = b"x" * 102_399 + b"\n"
    process = bench.start(["split", "-l", "1000", "-j", "4", "--quiet", "--filter", "sleep 1; cat > /dev/null", "-"],
                          stdin=subprocess.PIPE)
    try:
        drip(process, row * 1000, [1 << 20], keep_open=True)
        with open("/proc/%d/status" % process.pid, encoding="ascii") as file:
            peak_kib = int(next(line.split()[1] for line in file if line.startswith("VmHWM")))
        expect_exit(finish(process), 0)
    finally:
        kill_group(process)
    need(peak_kib < 32 << 10, "%d KiB were in memory" % peak_kib)


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
          few_descriptors]

if __name__ == "__main__":
    sys.exit(main(__doc__, CHECKS))
