#!/usr/bin/env python3
"""The command on a terminal: when there is a bar, how wide it is, and that nothing of it stays.

  terminal_test.py --cleave PATH [--only SUBSTRING] [--rounds N] [-v]
"""
import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "faults"))
from harness import TIMEOUT_S, expect_exit, kill_group, main, need, Run  # noqa: E402

ERASE = b"\x1b[K"


class Screen:
    """What a terminal of one line shows, of the few controls that are used. `lines` are those that were ended."""

    def __init__(self):
        self.lines, self.line, self.column, self.widest = [], "", 0, 0

    def feed(self, data):
        text = data.decode()
        while text:
            if text.startswith("\x1b[K"):
                self.line, text = self.line[:self.column], text[3:]
                continue
            char, text = text[0], text[1:]
            if char == "\n":
                self.lines.append(self.line)
                self.line, self.column = "", 0
            elif char == "\r":
                self.column = 0
            else:
                need(char >= " ", "an unknown control: %r" % char)
                self.line = self.line[:self.column] + char + self.line[self.column + 1:]
                self.column += 1
                self.widest = max(self.widest, self.column)


class Terminal:
    def __init__(self, width):
        self.master, self.slave = pty.openpty()
        self.resize(width)
        self.output = b""

    def resize(self, width):
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))

    def read_for(self, seconds):
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if select.select([self.master], [], [], left)[0]:
                self.output += os.read(self.master, 1 << 16)

    def close(self):
        self.read_for(0.05)
        os.close(self.master)
        os.close(self.slave)


def run_slowly(bench, args, terminal, *, rows=b"1,2\n" * 10_000, seconds=1.2, env=None, stdout=subprocess.PIPE,
               at_half=lambda: None):
    """Runs the command on a pipe that is filled during that time, standard error on the terminal."""
    env = env or bench.environment(TERM="xterm")
    process = bench.start(args, env=env, stdin=subprocess.PIPE, stdout=stdout, stderr=terminal.slave)
    try:
        for step in range(20):
            if step == 10:
                at_half()
            process.stdin.write(rows)
            process.stdin.flush()
            terminal.read_for(seconds / 20)
        process.stdin.close()
        process.stdin = None
        code = process.wait(TIMEOUT_S)
        terminal.read_for(0.1)
        return Run(code, process.stdout.read() if process.stdout else b"", terminal.output)
    finally:
        kill_group(process)


def shown(output):
    screen = Screen()
    screen.feed(output)
    return screen


def a_bar_that_goes_away(bench):
    """On a terminal there is a bar, and nothing of it stays"""
    terminal = Terminal(80)
    run = run_slowly(bench, ["count", "-H", "-"], terminal)
    expect_exit(Run(run.code), 0)
    need(run.stdout == b"200000\n", "it counted %r" % run.stdout)
    need(b"reading" in run.stderr and b"KB" in run.stderr and b"/s" in run.stderr, "no bar: %r" % run.stderr[:300])
    screen = shown(run.stderr)
    need(screen.lines == [] and screen.line == "", "left on the screen: %r %r" % (screen.lines, screen.line))
    terminal.close()


def never_wider_than_the_window(bench):
    """The bar is never as wide as the window, which may be resized"""
    for wide, narrow in ((100, 30), (40, 12), (20, 5)):
        terminal = Terminal(wide)
        marks = []

        def shrink():
            terminal.resize(narrow)
            terminal.read_for(0.3)   # what was drawn before is not counted
            marks.append(len(terminal.output))
        run = run_slowly(bench, ["split", "-l", "50000", "-H", "--filter", "cat > /dev/null", "-"], terminal,
                         at_half=shrink)
        expect_exit(Run(run.code), 0)
        before, after = run.stderr[:marks[0]], run.stderr[marks[0]:]
        need(shown(before).widest < wide, "%d columns in a window of %d" % (shown(before).widest, wide))
        need(after.count(ERASE) > 1, "no bar after the window was resized")
        need(shown(after).widest < narrow, "%d columns in a window of %d" % (shown(after).widest, narrow))
        terminal.close()


def messages_are_whole(bench):
    """A warning overwrites the bar and is not mixed with it"""
    terminal = Terminal(80)
    run = run_slowly(bench, ["count", "-v", "-"], terminal, rows=b'1,a"b\n2,c"d\n' * 5000)
    expect_exit(Run(run.code), 0)
    lines = shown(run.stderr).lines
    need(len(lines) == 2 and all(line.startswith("cleave: stdin: ") for line in lines), "%r" % lines)
    need(lines[0].endswith("see --quoting") and lines[1].endswith("/s"), "%r" % lines)
    terminal.close()


def no_bar(bench):
    """No bar if it is not wanted: quiet, never, a dumb terminal, a short run, output on the same terminal"""
    dumb, no_kind = bench.environment(TERM="dumb"), bench.environment()
    no_kind.pop("TERM", None)
    for args, env, seconds in ((["count", "--quiet", "-"], None, 1.2), (["count", "--progress", "never", "-"], None, 1.2),
                               (["count", "-"], dumb, 1.2), (["count", "-"], no_kind, 1.2), (["count", "-"], None, 0)):
        terminal = Terminal(80)
        run = run_slowly(bench, args, terminal, rows=b"1,2\n", env=env, seconds=seconds)
        expect_exit(Run(run.code), 0)
        need(run.stderr == b"", "%s: %r" % (args, run.stderr[:200]))
        terminal.close()
    terminal = Terminal(80)
    run = run_slowly(bench, ["offsets", "-l", "100000", "-"], terminal, stdout=terminal.slave)
    expect_exit(Run(run.code), 0)
    need(ERASE not in run.stderr and b"reading" not in run.stderr, "%r" % run.stderr[:200])
    terminal.close()


def gone_before_an_error(bench):
    """The bar is gone before an error is told"""
    terminal = Terminal(80)
    process = bench.start(["count", "--progress", "always", "-"], env=bench.environment(TERM="xterm"),
                          stdin=subprocess.PIPE, stderr=terminal.slave)
    try:
        process.stdin.write(b'h\n"open\n')
        terminal.read_for(0.4)
        process.stdin.close()
        process.stdin = None
        need(process.wait(TIMEOUT_S) == 3, "exit %s" % process.returncode)
        terminal.read_for(0.1)
    finally:
        kill_group(process)
    screen = shown(terminal.output)
    need(screen.lines == ["cleave: stdin: quote opened at byte 2 (record 1) is never closed; "
                              "cleave check shows it, --lenient accepts it"] and screen.line == "",
         "%r %r" % (screen.lines, screen.line))
    terminal.close()


CHECKS = [a_bar_that_goes_away, never_wider_than_the_window, messages_are_whole, no_bar, gone_before_an_error]

if __name__ == "__main__":
    sys.exit(main(__doc__, CHECKS))
