"""The possible outcomes of a check, and the loop with which every Python test program runs its checks.

A check passes, or it raises one of these:
  Failure        wrong bytes, something left behind, a crash, a hang. Never tried again.
  Inconclusive   the check could not tell: too few of its signals hit a run, a deadline passed on a busy machine, a
                 tool is missing. Tried again at most twice. If it still cannot tell, the program exits with status 75.
  Skip           this machine or this build cannot do it at all. .ci/skips.tsv lists every skip that may happen.

Each try prints one line, which .ci/results.py reads: "ok   NAME", "FAIL NAME: why", "skip NAME: why" or
"open NAME: why (try 1 of 3)". The closing line is "N passed, N failed, N skipped, N inconclusive".
"""
import os
import shutil
import signal
import sys
import time
import traceback

PASSED, FAILED, INCONCLUSIVE, SKIPPED = 0, 1, 75, 77   # exit statuses; 75 is EX_TEMPFAIL in sysexits.h
TRIES = 3
LEFT_OUT = set(os.environ.get("CLEAVE_LEFT_OUT", "").splitlines())   # names from emulated.tsv


class Failure(Exception):
    pass


class Skip(Exception):
    """The check cannot be done here; the message says why."""


class Inconclusive(Exception):
    """The check could not tell; the message says why. `retry` says whether another try might help."""

    def __init__(self, why, retry=True):
        super().__init__(why)
        self.retry = retry


def need(condition, text):
    """Raises Failure unless the condition holds."""
    if not condition:
        raise Failure(text)


def check(holds, what):
    """The same, with a message that says what should hold."""
    need(holds, "not so: " + what)


def need_sight(condition, text):
    """Raises Inconclusive unless the check has seen enough to tell."""
    if not condition:
        raise Inconclusive(text)


def need_tool(name):
    """The path of a program. ./dev setup should have installed it, so a missing one leaves the check inconclusive."""
    path = shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
    if path is None:
        raise Inconclusive("there is no " + name, retry=False)
    return path


class Tally:
    """Runs checks, prints the outcome of each, and keeps count."""

    def __init__(self, verbose=False):
        self.verbose = verbose   # also print where a check failed
        self.passed = self.failed = self.skipped = self.inconclusive = 0
        # A shell's background job ignores SIGINT, and nohup ignores SIGHUP; what a check runs would inherit that.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGHUP, signal.SIG_DFL)

    def run(self, name, check, notes=list):
        """Calls check(), again if it was inconclusive. `notes()` returns lines to print below the verdict."""
        for number in range(1, TRIES + 1):
            began = time.monotonic()
            last = self._try(name, check, number)
            print(" (%.1f s)" % (time.monotonic() - began))
            for note in notes():
                print("     " + note)
            sys.stdout.flush()
            if last:
                return

    def _try(self, name, check, number):
        """Prints the line without its end. Returns whether no other try follows."""
        try:
            if name in LEFT_OUT:
                raise Skip("emulated.tsv leaves it out")
            check()
        except Skip as reason:
            self.skipped += 1
            print("skip %s: %s" % (name, reason), end="")
        except Inconclusive as reason:
            print("open %s: %s (try %d of %d)" % (name, reason, number, TRIES), end="")
            if reason.retry and number < TRIES:
                return False
            self.inconclusive += 1
        except Failure as failure:
            self.failed += 1
            print("FAIL %s: %s" % (name, failure), end="")
            if self.verbose:
                traceback.print_exc(file=sys.stdout)
        except Exception as error:   # so that the remaining checks still run
            self.failed += 1
            traceback.print_exc(file=sys.stdout)
            print("FAIL %s: the check itself is wrong: %r" % (name, error), end="")
        else:
            self.passed += 1
            print("ok   " + name, end="")
        return True

    def close(self):
        """Prints the closing line and returns the program's exit status."""
        print("%d passed, %d failed, %d skipped, %d inconclusive" % (self.passed, self.failed, self.skipped,
                                                                     self.inconclusive))
        if self.failed:
            return FAILED
        if self.inconclusive:
            return INCONCLUSIVE
        return PASSED if self.passed else SKIPPED
