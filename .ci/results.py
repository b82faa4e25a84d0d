"""Runs a command and reads its verdicts: from the JUnit files of CTest, GoogleTest and pytest, and from the lines of
our own programs, which tests/tools/verdicts.py describes. Used by gate.py, prove.py and planted_faults.py.
"""
import contextlib
import glob
import os
import re
import shlex
import signal
import subprocess
import tempfile
import threading
import time
from xml.etree import ElementTree

INCONCLUSIVE, SKIPPED = 75, 77   # exit statuses, as in tests/tools/verdicts.py
CLOSING = re.compile(r"^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?(?:, (\d+) inconclusive)?$", re.MULTILINE)
VERDICT = re.compile(r"^(FAIL|skip|open) (.*)$", re.MULTILINE)


class Result:
    """How checks went. `opened` has a line for each try of a check that was inconclusive; `times` has (seconds, name)
    of each test of CTest."""

    def __init__(self, passed=0, failed=(), skipped=(), opened=(), inconclusive=0):
        self.passed, self.inconclusive = passed, inconclusive
        self.failed, self.skipped, self.opened, self.times = list(failed), list(skipped), list(opened), []

    def add(self, other, prefix=""):
        self.passed += other.passed
        self.inconclusive += other.inconclusive
        self.failed += [prefix + name for name in other.failed]
        self.skipped += [prefix + name for name in other.skipped]
        self.opened += [prefix + name for name in other.opened]
        self.times += [(seconds, prefix + name) for seconds, name in other.times]


def cases_of(path):
    """The test cases of a JUnit file. If it cannot be read, that is a case, and it failed."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:   # GoogleTest may write any bytes
            return list(ElementTree.fromstring(file.read()).iter("testcase"))
    except ElementTree.ParseError as error:
        case = ElementTree.Element("testcase", classname=os.path.basename(path), name=str(error))
        ElementTree.SubElement(case, "failure")
        return [case]


def read_output(text, status, reports=()):
    """The Result of a program that printed this and wrote these JUnit files. `status` is its exit status; None is any
    but 0."""
    result, closing = Result(), CLOSING.findall(text)
    passed, failed, _, inconclusive = (int(number or 0) for number in closing[-1]) if closing else (0, 0, 0, 0)
    for verdict, what in VERDICT.findall(text):
        {"FAIL": result.failed, "skip": result.skipped, "open": result.opened}[verdict].append(what)
    result.passed = passed if closing or reports or result.skipped else int(status == 0)
    for case in (case for path in reports for case in cases_of(path)):
        name = ".".join(filter(None, (case.get("classname"), case.get("name"))))
        skipped = case.find("skipped")
        if case.find("failure") is not None or case.find("error") is not None:
            result.failed.append(name)
        elif skipped is not None:
            result.skipped.append("%s: %s" % (name, (skipped.text or skipped.get("message")).strip().split("\n")[-1]))
        else:
            result.passed += case.get("status") != "notrun"   # GoogleTest's word for a disabled test
    if status == SKIPPED:
        result.skipped = result.skipped or ["all of it"]
    elif (status == INCONCLUSIVE or status is None and inconclusive) and not result.failed:
        result.inconclusive = inconclusive or 1
        result.opened = result.opened or ["inconclusive, and nothing says why"]
    elif status != 0 and not result.failed:
        how = "it failed" if status is None else "exit status %d" % status
        result.failed.append("%s; the last line: %.200s" % (how, text.strip().split("\n")[-1]))
    elif status == 0 and (result.failed or failed):
        result.failed.append("exit status 0, although that failed")
    return result


def read_ctest(folder):
    """The Result of CTest. The folder has its JUnit file, which leaves out exit statuses, and those of its GoogleTest
    programs."""
    result = Result()
    for case in cases_of(os.path.join(folder, "ctest.xml")):
        name, status, skipped = case.get("name"), case.get("status"), case.find("skipped")
        text, why = case.findtext("system-out", ""), "" if skipped is None else skipped.get("message")
        if status in ("run", "fail") or why.startswith("SKIP_"):
            test = read_output(text, {"run": 0, "fail": None}.get(status, SKIPPED),
                               glob.glob(os.path.join(folder, glob.escape(name) + ".xml")))
            if not (test.passed or test.failed or test.skipped or test.inconclusive):
                test.failed.append("it checked nothing")
        else:
            test = Result(failed=["not run: " + (why or text)])
        result.add(test, name + ": ")
        result.times.append((float(case.get("time", 0)), name))
    if not result.times:
        result.failed.append("no test was run")
    return result


RUNNING = set()   # the process groups of commands


def kill(groups):
    for group in list(groups):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(group, signal.SIGKILL)


def run_command(words, show, root, seconds=86400):
    """Runs a command in the folder `root`, at most for so many seconds, and calls show() with each line as it comes.
    Returns its Result, and the processor time in seconds of it and the processes it waited for."""
    lines, began = [], time.monotonic()
    is_ctest = bool({("./dev", "test"), ("./dev", "coverage")} & set(zip(words, words[1:])))
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        environment = {**os.environ, "GTEST_OUTPUT": "xml:%s/" % folder,
                       "PYTEST_ADDOPTS": "--junitxml=%s/pytest.xml" % folder}
        if is_ctest:   # of a long output, the end matters
            words = [*words, "--output-junit", folder + "/ctest.xml", "--test-output-truncation", "head",
                     "--test-output-size-passed", "1000000", "--test-output-size-failed", "1000000"]
        process = subprocess.Popen(words, cwd=root, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True)

        def copy():
            for line in process.stdout:
                lines.append(line)
                show(line)
        reader = threading.Thread(target=copy, daemon=True)
        timer = threading.Timer(seconds, kill, [[process.pid]])
        timer.daemon = True   # so that it never delays an exit
        try:
            RUNNING.add(process.pid)
            reader.start()
            timer.start()
            _, status, used = os.wait4(process.pid, 0)
        except BaseException:
            kill([process.pid])
            raise
        finally:
            timer.cancel()
            RUNNING.discard(process.pid)
        reader.join(10)   # a process that has left the group may keep the pipe open
        process.returncode, text = os.waitstatus_to_exitcode(status), "".join(lines)
        reports = glob.glob(folder + "/*.xml")
        if not is_ctest:
            result = read_output(text, process.returncode, reports)
        elif folder + "/ctest.xml" in reports:
            result = read_ctest(folder)
        else:
            result = read_output(text, process.returncode or None)   # it did not get that far
        if time.monotonic() - began >= seconds:
            result.failed.append("killed after %.0f s, the time limit: %s" % (seconds, shlex.join(words)))
    return result, used.ru_utime + used.ru_stime
