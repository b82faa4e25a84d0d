#!/usr/bin/env python3
"""The command on a terminal: when it draws a bar, how wide the bar is, and that it leaves nothing of it behind.

  terminal_test.py --cleave PATH [--only SUBSTRING] [--rounds N] [-v]
"""
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "faults"))
from harness import TIMEOUT_S, expect_exit, kill_group, main, need, need_sight, Run, wait_until_read  # noqa: E402

ERASE = b"\x1b[K"
PATIENCE_S = 0.5   # shorter runs have no bar
MARK = b"<the end>"


class Screen:
    """What a one-line terminal shows, with the few controls that are used. `lines` are the completed lines."""

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

    def read_until(self, condition, what):
        end = time.monotonic() + TIMEOUT_S
        while not condition():
            need(time.monotonic() < end, "%s: not within %d s, but %r" % (what, TIMEOUT_S, self.output[-300:]))
            self.read_for(0.02)

    def read_all(self):
        """Reads until a mark arrives; everything written before has arrived by then."""
        os.write(self.slave, MARK)
        self.read_until(lambda: self.output.endswith(MARK), "the terminal is silent")
        self.output = self.output[:-len(MARK)]

    def draws(self):
        """How many times a bar was drawn. If one was removed at the end, this counts as one more time."""
        return self.output.count(ERASE)

    def close(self):
        os.close(self.master)
        os.close(self.slave)


def run_slowly(bench, args, terminal, *, rows=b"1,2\n" * 10_000, seconds=0.0, env=None, stdout=subprocess.PIPE,
               until=lambda: True):
    """Runs the command on a pipe, with standard error on the terminal. Feeds it rows for some seconds after it has read
    the first, and then until the condition holds. Returns the run and how many times it got the rows."""
    env = env or bench.environment(TERM="xterm")
    process = bench.start(args, env=env, stdin=subprocess.PIPE, stdout=stdout, stderr=terminal.slave)
    try:
        began, fed = time.monotonic(), 0
        while fed < 20 or time.monotonic() - began < seconds or not until():
            need(time.monotonic() - began < TIMEOUT_S, "no bar, or no other one: %r" % terminal.output[-300:])
            process.stdin.write(rows)
            process.stdin.flush()
            if fed == 0:
                wait_until_read(process)
                began = time.monotonic()
            fed += 1
            if seconds or not until():
                terminal.read_for(0.05)
        process.stdin.close()
        process.stdin = None
        code = process.wait(TIMEOUT_S)
        terminal.read_all()
        return Run(code, process.stdout.read() if process.stdout else b"", terminal.output), fed
    finally:
        kill_group(process)


def shown(output):
    screen = Screen()
    screen.feed(output)
    return screen


def a_bar_that_goes_away(bench):
    """On a terminal there is a bar, and nothing of it remains"""
    terminal = Terminal(80)
    run, fed = run_slowly(bench, ["count", "-H", "-"], terminal, until=lambda: b"/s" in terminal.output)
    expect_exit(Run(run.code), 0)
    need(run.stdout == b"%d\n" % (10_000 * fed), "it counted %r" % run.stdout)
    need(b"reading" in run.stderr and (b"KB" in run.stderr or b"MB" in run.stderr), "no bar: %r" % run.stderr[:300])
    screen = shown(run.stderr)
    need(screen.lines == [] and screen.line == "", "left on the screen: %r %r" % (screen.lines, screen.line))
    terminal.close()


def never_wider_than_the_window(bench):
    """The bar is always narrower than the window, which may be resized"""
    for wide, narrow in ((100, 30), (40, 12), (20, 5)):
        terminal = Terminal(wide)
        marks = []   # the number of draws, and where the output ended, when the window became narrow and a little later

        def narrowed():
            """Whether the bar has been drawn twice, the window has then been made narrow, and the bar has been drawn
            three more times, of which the first may have begun earlier, and then twice again."""
            if terminal.draws() < 2:
                return False
            if not marks:
                terminal.read_all()
                marks.append((terminal.draws(), len(terminal.output)))
                terminal.resize(narrow)
            elif len(marks) == 1 and terminal.draws() >= marks[0][0] + 3:
                marks.append((terminal.draws(), terminal.output.rindex(ERASE) + len(ERASE)))
            return len(marks) == 2 and terminal.draws() >= marks[1][0] + 2
        run, _ = run_slowly(bench, ["split", "-l", "50000", "-H", "--filter", "cat > /dev/null", "-"], terminal,
                            until=narrowed)
        expect_exit(Run(run.code), 0)
        before, after = run.stderr[:marks[0][1]], run.stderr[marks[1][1]:]
        need(0 < shown(before).widest < wide, "%d columns in a window of %d" % (shown(before).widest, wide))
        need(shown(after).widest > 0 or narrow < 10, "there is no bar in a window of %d" % narrow)
        need(shown(after).widest < narrow, "%d columns in a window of %d" % (shown(after).widest, narrow))
        terminal.close()


def messages_are_whole(bench):
    """A warning overwrites the bar and is not mixed with it"""
    terminal = Terminal(80)
    run, _ = run_slowly(bench, ["count", "-v", "-"], terminal, rows=b'1,a"b\n2,c"d\n' * 5000,
                        until=lambda: b"reading" in terminal.output)
    expect_exit(Run(run.code), 0)
    lines = shown(run.stderr).lines
    need(len(lines) == 2 and all(line.startswith("cleave: stdin: ") for line in lines), "%r" % lines)
    need(lines[0].endswith("--quoting chooses") and lines[1].endswith("/s"), "%r" % lines)
    terminal.close()


def no_bar(bench):
    """No bar if it is unwanted: quiet, never, a dumb terminal, a short run, output on the same terminal"""
    dumb, no_kind = bench.environment(TERM="dumb"), bench.environment()
    no_kind.pop("TERM", None)
    for args, env in ((["count", "--quiet", "-"], None), (["count", "--progress", "never", "-"], None),
                      (["count", "-"], dumb), (["count", "-"], no_kind)):
        terminal = Terminal(80)
        run, _ = run_slowly(bench, args, terminal, rows=b"1,2\n", env=env, seconds=1.2)
        expect_exit(Run(run.code), 0)
        need(run.stderr == b"", "%s: %r" % (args, run.stderr[:200]))
        terminal.close()
    for _ in range(20):   # on a busy machine a short run may be a long one
        terminal = Terminal(80)
        began = time.monotonic()
        run, _ = run_slowly(bench, ["count", "-"], terminal, rows=b"1,2\n")
        is_short = time.monotonic() - began < PATIENCE_S
        expect_exit(Run(run.code), 0)
        terminal.close()
        if is_short:
            break
    need_sight(is_short, "no run was short")
    need(run.stderr == b"", "a short run: %r" % run.stderr[:200])
    terminal = Terminal(80)
    run, _ = run_slowly(bench, ["offsets", "-l", "100000", "-"], terminal, stdout=terminal.slave, seconds=1.2)
    expect_exit(Run(run.code), 0)
    need(ERASE not in run.stderr and b"reading" not in run.stderr, "%r" % run.stderr[:200])
    terminal.close()


def nothing_is_left_after_ctrl_c(bench):
    """After Ctrl-C, a line says that no piece is left; with --quiet or after another signal, there is no such line"""
    for sent, options in ((signal.SIGINT, []), (signal.SIGINT, ["-q"]), (signal.SIGTERM, [])):
        terminal = Terminal(80)
        folder = tempfile.mkdtemp(dir=bench.root)
        process = bench.start(["split", "-l", "10", "-o", folder + "/", *options, "-"], env=bench.environment(TERM="xterm"),
                              stdin=subprocess.PIPE, stderr=terminal.slave)
        process.stdin.write(b"1,2\n" * 10_000)
        process.stdin.flush()
        wait_until_read(process)
        process.send_signal(sent)
        code = process.wait(TIMEOUT_S)
        process.stdin.close()
        terminal.read_all()
        expect_exit(Run(code), -sent)
        told = shown(terminal.output).lines
        wanted = ["cleave: interrupted; no piece of this run is left"] if sent == signal.SIGINT and not options else []
        need(told == wanted, "%s: %r" % ([sent, *options], told))
        need(not os.listdir(folder), "pieces are left")
        terminal.close()


def gone_before_an_error(bench):
    """The bar disappears before an error is printed"""
    terminal = Terminal(80)
    process = bench.start(["count", "--progress", "always", "-"], env=bench.environment(TERM="xterm"),
                          stdin=subprocess.PIPE, stderr=terminal.slave)
    try:
        process.stdin.write(b'h\n"open\n')
        process.stdin.flush()
        terminal.read_until(lambda: b"reading" in terminal.output and terminal.draws() > 0, "no bar")
        process.stdin.close()
        process.stdin = None
        need(process.wait(TIMEOUT_S) == 3, "exit %s" % process.returncode)
        terminal.read_all()
    finally:
        kill_group(process)
    screen = shown(terminal.output)
    need(screen.lines == ["cleave: stdin: quote opened at byte 2 (record 1) is never closed; "
                              "cleave check shows it, --allow-open-quote accepts it"] and screen.line == "",
         "%r %r" % (screen.lines, screen.line))
    terminal.close()


def amounts_are_grouped(bench):
    """check groups the digits of amounts on a terminal, but not elsewhere, and never those of places"""
    with tempfile.NamedTemporaryFile(suffix=".csv") as file:
        file.write(b"id,n\n" + b"1234,5\n" * 1234)
        file.flush()
        terminal = Terminal(80)
        env = bench.environment(TERM="xterm", NO_COLOR="1")
        process = bench.start(["check", file.name], env=env, stdout=terminal.slave, stderr=subprocess.PIPE)
        need(process.wait(TIMEOUT_S) == 0, "exit %s" % process.returncode)
        terminal.read_all()
        lines = shown(terminal.output).lines
        need("  size         8,643 bytes" in lines and "  records      1,234 and a header" in lines, "%r" % lines)
        plain = bench.run(["check", file.name], env=env).stdout
        need(b"8643 bytes" in plain and b"1234 and a header" in plain and b"8,643" not in plain, "%r" % plain)
        terminal.close()


def standard_input_is_a_terminal(bench):
    """A command that waits for input from the terminal says so, and how to end it"""
    for more, wanted in (([], ["cleave: stdin: reading from the terminal; Ctrl-D ends it"]), (["-q"], [])):
        terminal = Terminal(80)
        modes = termios.tcgetattr(terminal.slave)
        modes[3] &= ~termios.ECHO
        termios.tcsetattr(terminal.slave, termios.TCSANOW, modes)
        process = bench.start(["count", "--progress", "never", *more], env=bench.environment(TERM="xterm"),
                              stdin=terminal.slave, stdout=subprocess.PIPE, stderr=terminal.slave)
        try:
            os.write(terminal.master, b"a\n1\n2\n\x04")
            need(process.wait(TIMEOUT_S) == 0 and process.stdout.read() == b"2\n", "exit %s" % process.returncode)
            terminal.read_all()
        finally:
            kill_group(process)
        need(shown(terminal.output).lines == wanted, "%s: %r" % (more, terminal.output))
        terminal.close()


CHECKS = [a_bar_that_goes_away, never_wider_than_the_window, messages_are_whole, no_bar, nothing_is_left_after_ctrl_c,
          gone_before_an_error, amounts_are_grouped, standard_input_is_a_terminal]

if __name__ == "__main__":
    sys.exit(main(__doc__, CHECKS, timed=[no_bar]))
