#!/usr/bin/env python3
"""Runs the cleave command on the cases in cases/*.case. README.md describes how a case is written.

  run.py --cleave PATH [--only SUBSTRING...] [--every N] [--features LIST] [--partial REGEX] [-j N] [-v]

Everything is bytes. Case files are read as Latin-1, so a case can contain any byte.
"""
import argparse
import collections
import concurrent.futures
import difflib
import glob
import json
import os
import re
import shlex
import shutil
import signal
import stat
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.path.join(HERE, "..", "..", "data")
TIMEOUT_S = 120   # a command that takes longer has hung, however busy the machine is


class BadCase(Exception):
    """A case file has an error."""


class Skip(Exception):
    """The case cannot run here."""


class Command:
    def __init__(self, kind, text):
        self.kind, self.text = kind, text
        self.stdin = ("none", b"", 0)                # mode, content, offset
        self.env, self.exit = {}, None
        self.checks = {"stdout": [], "stderr": []}   # (kind, value); kinds: any exact lines has count
        self.json = []                               # (keyword, path, value)
        self.new, self.gone, self.files = {}, set(), None      # new: name -> content


class Case:
    def __init__(self, title, where):
        self.title, self.where = title, where
        self.needs = set()                           # features
        self.setup, self.commands = [], []           # set-up: (kind, name, content or target)

    def is_among(self, only):
        return any(part in self.title or part in self.where for part in only)


def unescape(text):
    """The bytes that the escaped text stands for."""
    def one(m):
        known = {"n": "\n", "r": "\r", "t": "\t", "0": "\0", "\\": "\\", '"': '"'}
        if m.group(1) in known:
            return known[m.group(1)]
        if len(m.group(1)) == 3:
            return chr(int(m.group(1)[1:], 16))
        raise BadCase("unknown escape \\%s" % m.group(1))
    return re.sub(r"\\(x[0-9a-fA-F]{2}|.|$)", one, text).encode("latin-1")


def content(inline, block):
    """The bytes that follow on the same line, or else those on the indented lines below it, which are removed from the
    block."""
    if bool(inline) and block or inline is None and not block:
        raise BadCase("content belongs on the line or below it")
    parts = [unescape(inline or "")]
    for line in block:
        if line.startswith("| ") or line == "|":
            parts.append(unescape(line[2:]) + b"\n")
        elif line.startswith("+ "):
            parts.append(unescape(line[2:]))
        elif line.startswith("= data/"):
            with open(os.path.join(DATA, line[len("= data/"):]), "rb") as f:
                parts.append(f.read())
        elif m := re.fullmatch(r"repeat (\d+) (.*)", line):
            around = [unescape(text) for text in m.group(2).split("\\#")]   # the number
            parts += [(b"%d" % i).join(around) for i in range(1, int(m.group(1)) + 1)]
        else:
            raise BadCase("unknown content line %r" % line)
    block.clear()
    return b"".join(parts)


def output_check(mark, inline, block):
    if mark == "~":
        return "lines", inline
    if mark == " has~":
        return "has", inline
    if mark == " lines:":
        return "count", tuple(map(int, inline.split("..")))
    if inline == "any":
        return "any", None
    return "exact", b"" if inline == "empty" else content(inline if mark else None, block)


def add(case, line, block):
    """Adds one unindented line, with the indented lines below it, to the case."""
    def match(pattern):
        return re.fullmatch(pattern.replace("NAME", r"([^\s:]+)").replace("TEXT", r"(?:: ?(.*))?"), line)
    cmd = case.commands[-1] if case.commands else None
    if m := match(r"(run|sh): (.+)"):
        case.commands.append(Command(*m.groups()))
    elif line == "sh:":
        case.commands.append(Command("sh", "\n".join(b.removeprefix("| ") for b in block)))
        block.clear()
    elif cmd is None:
        if m := match("file NAMETEXT"):
            case.setup.append(("file", m.group(1), content(m.group(2), block)))
        elif m := match("(dir|fifo|device) NAME"):
            case.setup.append((m.group(1), m.group(2), None))
        elif m := match(r"(symlink|hardlink) NAME -> (\S+)"):
            case.setup.append(m.groups())
        else:
            raise BadCase("unknown line before the first command: %r" % line)
    elif m := match(r"stdin (pipe|file)(?:@(\d+))?TEXT"):
        cmd.stdin = (m.group(1), content(m.group(3), block), int(m.group(2) or 0))
    elif m := match(r"env (\w+)=(.*)"):
        cmd.env[m.group(1)] = m.group(2)
    elif (m := match(r"exit: (\d+)")) and cmd.exit is None:
        cmd.exit = int(m.group(1))
    elif m := match(r"(stdout|stderr)(~ | has~ | lines: |: ?|$)(.*)"):
        cmd.checks[m.group(1)].append(output_check(m.group(2).rstrip(), m.group(3), block))
    elif m := match(r"(jsonl?)(?: (\S+): (.*))?"):
        cmd.json.append((m.group(1), m.group(2), json.loads(m.group(3) or "null")))
    elif (m := match("new NAMETEXT")) and m.group(1) not in cmd.new:
        cmd.new[m.group(1)] = content(m.group(2), block)
    elif m := match("gone NAME"):
        cmd.gone.add(m.group(1))
    elif (m := match("files: (any|unchanged)")) and cmd.files is None:
        cmd.files = m.group(1)
    else:
        raise BadCase("an unknown line, or one too many: %r" % line)
    if block:
        raise BadCase("%r takes no indented lines" % line)


def check_case(case):
    """Refuses a case that contradicts itself or checks nothing."""
    if not case.commands:
        raise BadCase("no command")
    for cmd in case.commands:
        if cmd.kind == "run" and cmd.text.split()[0] != "cleave":
            raise BadCase("'run:' takes a cleave command, not %r" % cmd.text)
        if cmd.files and (cmd.new or cmd.gone):
            raise BadCase("'files:' beside 'new' or 'gone'")
        for checks in cmd.checks.values():
            if len(checks) > 1 and {"any", "exact"} & {kind for kind, _ in checks}:
                raise BadCase("several checks of an output where one says it all")
        if cmd.json and cmd.checks["stdout"]:
            raise BadCase("json beside stdout")


def read_cases(path, only):
    """The cases of a file. Cases that were not asked for are not parsed."""
    with open(path, encoding="latin-1", newline="\n") as f:
        lines, cases, number, needs = f.read().split("\n"), [], 0, set()
    try:
        while number < len(lines):
            line, first = lines[number], number + 1
            number += 1
            if not line.strip() or line.startswith("#"):
                continue
            block = []
            while number < len(lines) and lines[number].startswith("  "):
                block.append(lines[number][2:])
                number += 1
            if line.startswith("case: ") and not block:
                cases.append(Case(line[len("case: "):], "%s:%d" % (os.path.basename(path), first)))
                cases[-1].needs |= needs
                continue
            if line.startswith("needs: ") and not block:
                (cases[-1].needs if cases else needs).update(line[len("needs: "):].split())
                continue
            if not cases:
                raise BadCase("a line before the first 'case:'")
            if cases[-1].is_among(only):
                add(cases[-1], line, block)
        for case in filter(lambda case: case.is_among(only), cases):
            first = case.where.split(":")[1]
            check_case(case)
    except (BadCase, ValueError, OSError) as e:
        sys.exit("%s:%s: %s" % (path, first, e))
    return cases


def snapshot(folder):
    """{name: what is there}; for files also mode, inode and time, so that a rewrite is noticed."""
    found = {}
    for parent, dirs, files in os.walk(folder):
        for path in (os.path.join(parent, entry) for entry in dirs + files):
            s = os.lstat(path)
            if stat.S_ISREG(s.st_mode):
                with open(path, "rb") as f:
                    what = ("file", s.st_mode, s.st_ino, s.st_mtime_ns, f.read())
            else:
                what = (stat.filemode(s.st_mode), os.readlink(path) if stat.S_ISLNK(s.st_mode) else s.st_rdev)
            found[os.path.relpath(path, folder)] = what
    return found


def prepare(kind, name, value, folder):
    path = os.path.join(folder, name)
    if kind == "file":
        with open(path, "wb") as f:
            f.write(value)
    elif kind == "dir":
        os.makedirs(path)
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "device":
        if os.geteuid() != 0:
            raise Skip("making a device needs root")
        os.mknod(path, 0o600 | stat.S_IFCHR, os.makedev(1, 3))      # the null device
    elif kind == "symlink":
        os.symlink(value, path)
    elif kind == "hardlink":
        os.link(os.path.join(folder, value), path)


def execute(cmd, cleave, folder, tmp):
    """Runs one command. Returns exit status, stdout and stderr."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("CLEAVE")}
    env.update(cmd.env, LC_ALL="C", TMPDIR=tmp, CLEAVE=cleave)
    if cmd.kind == "sh":
        argv = ["/bin/sh", "-c", cmd.text.encode("latin-1")]
    else:
        argv = [cleave] + [w.encode("latin-1") for w in shlex.split(cmd.text)[1:]]
    mode, data, offset = cmd.stdin
    stdin = {"none": subprocess.DEVNULL, "pipe": subprocess.PIPE}.get(mode)
    if mode == "file":
        stdin = tempfile.TemporaryFile(buffering=0)
        stdin.write(data)
        stdin.seek(offset)
    process = subprocess.Popen(argv, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder, env=env,
                               start_new_session=True)
    try:
        out, err = process.communicate(data if mode == "pipe" else None, timeout=TIMEOUT_S)
        return process.returncode, out, err
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return "none within %d s" % TIMEOUT_S, b"", b""


def diff(what, want, got):
    if max(len(want), len(got)) > 20000:
        return "%s: want %d bytes, got %d bytes, and they differ" % (what, len(want), len(got))
    a, b = ([repr(x.decode("latin-1"))[1:-1] for x in t.splitlines(keepends=True)] for t in (want, got))
    lines = list(difflib.unified_diff(a, b, lineterm="", n=1))[2:]
    return "%s: '-' is wanted, '+' is what came\n" % what + "\n".join("      " + x for x in lines[:24])


def judge_output(which, checks, got):
    text = got.decode("latin-1")
    lines = text.removesuffix("\n").split("\n") if text else []
    patterns = [value for kind, value in checks if kind == "lines"]
    if patterns and (len(patterns) != len(lines) or not all(map(re.search, patterns, lines))):
        yield "%s: want lines like %s\n      got %s" % (which, patterns, lines[:12])
    for kind, value in checks or [("exact", b"")]:
        if kind == "exact" and got != value:
            yield diff(which, value, got)
        elif kind == "has" and not re.search(value, text, re.MULTILINE):
            yield "%s: nothing like %r in %s" % (which, value, lines[:12])
        elif kind == "count" and not value[0] <= len(lines) <= value[1]:
            yield "%s: %d lines, want %d to %d" % (which, len(lines), *value)


def judge_json(checks, got):
    for keyword, path, want in checks:
        try:
            at = [json.loads(x) for x in got.splitlines()] if keyword == "jsonl" else json.loads(got)
            for key in path.split(".") if path else []:
                at = at[int(key)] if isinstance(at, list) else at[key]
        except (ValueError, KeyError, IndexError, TypeError) as e:
            yield "stdout as %s, %s: %s: %s in %r" % (keyword, path, type(e).__name__, e, got[:300])
        else:
            if path and (at != want or type(at) is not type(want)):
                yield "%s %s: want %r, got %r" % (keyword, path, want, at)


def judge_files(cmd, before, after):
    parents = {os.path.dirname(n) for n in cmd.new}
    parents |= {os.path.dirname(p) for p in parents}
    for name in sorted(before.keys() | after.keys() | cmd.new.keys()):
        if name in cmd.new:
            if name not in after or after[name][0] != "file":
                yield "%s is not there as a regular file" % name
            elif after[name][-1] != cmd.new[name]:
                yield diff(name, cmd.new[name], after[name][-1])
        elif name in cmd.gone and name in after:
            yield "%s is still there" % name
        elif name not in before and name not in parents:
            yield "%s is left behind" % name
        elif name in before and name not in cmd.gone and before[name] != after.get(name):
            yield "%s was touched: %.80r is now %.80r" % (name, before[name], after.get(name))


def run_case(case, cleave, root, partial):
    """Yields what is wrong, as text."""
    folder, tmp = os.path.join(root, "work"), os.path.join(root, "tmp")
    os.mkdir(folder)
    os.mkdir(tmp)
    for kind, name, value in case.setup:
        prepare(kind, name, value, folder)
    if partial and any(cmd.kind == "sh" for cmd in case.commands):
        raise Skip("a script may hide what it needs")
    for cmd in case.commands:
        before = snapshot(folder)
        code, out, err = execute(cmd, cleave, folder, tmp)
        if partial and re.search(partial, (out + err).decode("latin-1")):
            raise Skip("needs more")
        wrong = []
        if code != (cmd.exit or 0):
            wrong.append("exit: want %d, got %s" % (cmd.exit or 0, code))
        wrong += judge_json(cmd.json, out) if cmd.json else judge_output("stdout", cmd.checks["stdout"], out)
        wrong += judge_output("stderr", cmd.checks["stderr"], err)
        wrong += judge_files(cmd, before, snapshot(folder)) if cmd.files != "any" else []
        wrong += ["%s is left in TMPDIR" % n for n in os.listdir(tmp)]
        if wrong:
            yield "  %s: %s\n    %s" % (cmd.kind, cmd.text, "\n    ".join(wrong))


def try_case(case, cleave, partial):
    """What is wrong with a case, as a list of texts; or a Skip."""
    root = tempfile.mkdtemp(prefix="cli.")
    try:
        if case.title in os.environ.get("CLEAVE_LEFT_OUT", "").splitlines():
            raise Skip("emulated.tsv leaves it out")
        return list(run_case(case, cleave, root, partial))
    except Skip as e:
        return e
    finally:
        shutil.rmtree(root, ignore_errors=True)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--cleave", required=True, help="the binary")
    ap.add_argument("--only", nargs="+", default=[""], metavar="SUBSTRING", help="of a case's title or file name")
    ap.add_argument("--every", type=int, default=1, metavar="N", help="every N-th case [1]")
    ap.add_argument("--features", metavar="LIST", help="of the binary, separated by commas; cases that need "
                    "others are left out [all]")
    ap.add_argument("--partial", metavar="REGEX", help="leave out a case in which a command prints this: the "
                    "binary has not all that the case needs")
    ap.add_argument("-j", type=int, default=os.cpu_count() + 1, metavar="N", help="cases at once [processors + 1]")
    ap.add_argument("-v", action="store_true", help="name every case")
    args = ap.parse_args()
    cases = [c for path in sorted(glob.glob(os.path.join(HERE, "*.case"))) for c in read_cases(path, args.only)]
    for title, n in collections.Counter(c.title for c in cases).items():
        if n > 1:
            sys.exit("%d cases have the title '%s'" % (n, title))
    cases = [case for case in cases if case.is_among(args.only)][::args.every]
    if args.features is not None:
        built = set(args.features.split(","))
        print("left out: %d cases that need other features" % sum(not case.needs <= built for case in cases))
        cases = [case for case in cases if case.needs <= built]
    passed = failed = skipped = 0
    with concurrent.futures.ThreadPoolExecutor(args.j) as pool:
        for case, wrong in zip(cases, pool.map(lambda case: try_case(case, os.path.abspath(args.cleave), args.partial), cases)):
            if isinstance(wrong, Skip):
                skipped += 1
                print("skip %s: %s" % (case.title, wrong))
                continue
            passed, failed = passed + (not wrong), failed + bool(wrong)
            if wrong:
                print("FAIL %s: %s\n%s" % (case.where, case.title, "\n".join(wrong)))
            elif args.v:
                print("ok   %s: %s" % (case.where, case.title))
    print("%d passed, %d failed, %d skipped" % (passed, failed, skipped))
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
