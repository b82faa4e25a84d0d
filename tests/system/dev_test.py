#!/usr/bin/env python3
"""Tests what ./dev says of itself: the help of its commands, and its answers to wrong words.

  dev_test.py

Neither may do anything. ./dev runs under strace in a copy of what it reads, with an empty home, and finds only the
programs that it needs to print text, and stubs of those that would install or build something. A check fails if it
starts anything else, starts Python other than to print a program's own help, or opens a file for writing.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "tools"))
import prove  # noqa: E402
from verdicts import Tally, need, need_tool  # noqa: E402

READS = ("dev", "CMakePresets.json", "bench", ".ci", "tests/tools", "tests/system/interop", "tests/system/reach")
PRINTING = ("bash", "cat", "dirname", "env", "fold", "grep", "sed", "xargs", "echo")
DOING = ("apt-get", "c++", "ccache", "clang", "cmake", "cpack", "ctest", "curl", "dpkg", "dpkg-query", "g++", "git",
         "mkdir", "mktemp", "ninja", "nproc", "pip", "pyenv", "realpath", "rm", "sudo", "touch", "valgrind")
CALL = re.compile(r'^\d+ +execve\("([^"]*)", \[(.*)\], ')
WRITE = re.compile(r"O_WRONLY|O_RDWR|O_CREAT|O_TRUNC|"
                   r"^\d+ +(?:creat|link|mk|rename|rmdir|symlink|unlink|socket\(AF_INET)")
HARMLESS = re.compile(r'"/dev/(?:null|tty)"')
OF_THE_GATE = ("setup", "build-tests asan", "test release -T Test --no-compress-output", "lint --changed HEAD",
               "fuzz-changed HEAD", "gpu", "counts --against HEAD", "python-test 3.11", "interop")
NAMED = re.compile(r"\./dev ([a-z][a-z0-9-]*)")   # on pages and in scripts


class Place:
    """A copy of what ./dev reads, in which it runs."""

    def __init__(self, folder):
        self.strace = need_tool("strace")
        self.tree, self.home, self.programs = folder / "tree", folder / "home", folder / "programs"
        self.trace = folder / "trace"
        for path in (self.home, self.programs, self.tree):
            path.mkdir()
        for path in READS:
            (self.tree / path).parent.mkdir(parents=True, exist_ok=True)
            if (ROOT / path).is_dir():
                shutil.copytree(ROOT / path, self.tree / path, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(ROOT / path, self.tree / path)
        for name in PRINTING:
            (self.programs / name).symlink_to(need_tool(name))
        for name in DOING:
            (self.programs / name).write_text("#!/bin/bash\nexit 1\n")
            (self.programs / name).chmod(0o755)
        (self.programs / "python3").symlink_to(sys.executable)

    def listing(self):
        return {path: path.lstat().st_mtime_ns for top in (self.tree, self.home) for path in (top, *top.rglob("*"))}

    def run(self, *words):
        """Runs ./dev with these words. Fails if that does anything but print. Returns what came of it."""
        before = self.listing()
        done = subprocess.run(
            [self.strace, "-f", "--seccomp-bpf", "-o", self.trace, "-s", "4096", "-e", "trace=execve,%file,socket",
             "./dev", *words],
            cwd=self.tree, env={"PATH": str(self.programs), "HOME": str(self.home), "LC_ALL": "C.UTF-8"}, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        shown, started = "./dev " + " ".join(words), 0
        for line in self.trace.read_text(errors="replace").splitlines():
            call = CALL.match(line)
            if call:
                started += 1
                name, arguments = Path(call.group(1)).name, call.group(2)
                asks = name == "python3" and re.fullmatch(r'"python3", "-B", "[\w/.]+", "--help"', arguments)
                need(asks or name in PRINTING or name == "dev", "%s starts %s" % (shown, arguments))
            need(not WRITE.search(line) or HARMLESS.search(line), "%s: %s" % (shown, line))
        need(started > 1, "strace saw nothing of %s: %s" % (shown, done.stderr))
        need(self.listing() == before, "%s changes files" % shown)
        return done


def names_of(place):
    """The commands that ./dev lists."""
    names = re.findall(r"^  ([a-z][a-z0-9-]*) +\S", place.run("--help").stdout, re.M)
    need(len(names) > 10, "./dev --help lists %d commands" % len(names))
    return names


def help_of(place, name):
    done = place.run(name, "--help")
    need(done.returncode == 0 and not done.stderr, "exit status %d\n%s" % (done.returncode, done.stderr))
    need(re.match(r"usage: \./dev %s\b" % name, done.stdout), "it does not begin with the usage:\n" + done.stdout)
    need(len(done.stdout.splitlines()) > 3, "it says nothing:\n" + done.stdout)
    need(place.run(name, "x", "-h").stdout == done.stdout, "-h gives something else")


def without_python(place):
    """Help needs no Python, which a new machine may lack"""
    (place.programs / "python3").unlink()
    try:
        done = place.run("bench", "--help")
    finally:
        (place.programs / "python3").symlink_to(sys.executable)
    need(done.returncode == 0 and "usage: ./dev bench" in done.stdout, done.stdout + done.stderr)


def wrong_words(place):
    """A wrong word ends ./dev with exit status 2 and one line that helps"""
    presets = json.loads((ROOT / "CMakePresets.json").read_text(encoding="utf-8"))["buildPresets"]
    names = " ".join(preset["name"] for preset in presets if preset["name"] != "package")
    for words, hint in (
            ("biuld", "did you mean build?"), ("tests", "did you mean test?"), ("xyzzy", "./dev lists them"),
            ("--hlep", "./dev lists them"), ("build relaese", "did you mean release?"),
            ("test asn", "did you mean asan?"), ("build nosuch", "the presets are %s\n" % names),
            ("build arm64", "the presets are %s\n" % names), ("build --fast", "./dev build --help lists them"),
            ("bench --onyl split", "did you mean --only?"), ("lint --chagned=HEAD", "did you mean --changed?"),
            ("package --twcie", "did you mean --twice?"), ("wheel --al", "did you mean --all?"),
            ("wheel 3.6", "needs Python 3.10 or later"), ("demo twice", "usage: ./dev demo\n"),
            ("build release asan", "usage: ./dev build [PRESET]\n"),
            ("fuzz-changed", "usage: ./dev fuzz-changed COMMIT\n")):
        done = place.run(*words.split())
        need(done.returncode == 2 and not done.stdout, "./dev %s: exit status %d" % (words, done.returncode))
        need(hint in done.stderr and done.stderr.count("\n") == 1, "./dev %s: %s" % (words, done.stderr))


def words_of_the_gate(place):
    """The arguments of the gate and of ./dev prove are accepted"""
    commands = [command.split() for command in OF_THE_GATE]
    for part in prove.PARTS:
        commands += [words[words.index("./dev") + 1:] for words in prove.commands_of(part, 1) if "./dev" in words]
    need(len(commands) > 30, "only %d were found" % len(commands))
    text = (place.tree / "dev").read_text(encoding="utf-8")
    head, _ = text.rstrip("\n").rsplit("\n", 1)
    try:
        (place.tree / "dev").write_text('%s\necho "would call: $name"\n' % head, encoding="utf-8")
        for command in commands:
            done = place.run(*command)
            need(done.returncode == 0 and "would call: " in done.stdout, "%s: %s" % (" ".join(command), done.stderr))
    finally:
        (place.tree / "dev").write_text(text, encoding="utf-8")


def packages_are_listed(place):
    """The help of ./dev build names the packages that it installs"""
    packages = re.search(r"^command_packages=\(([^)]*)\)", (ROOT / "dev").read_text(encoding="utf-8"), re.M)
    shown = place.run("build", "--help").stdout
    missing = set(packages.group(1).split()) - set(shown.split())
    need(not missing, "it lacks %s" % missing)


def pages_name_commands(place, names):
    """Every command of ./dev that a page or the gate names exists"""
    found = set()
    for path in (*ROOT.glob("*.md"), *ROOT.glob("*/**/*.md"), ROOT / ".ci/gate.py", ROOT / "tests/tools/prove.py"):
        path = path.relative_to(ROOT)
        if path.parts[0] != "build" and path.name != "CHANGELOG.md":
            found |= {(path, name) for name in NAMED.findall((ROOT / path).read_text(encoding="utf-8"))}
    need(len(found) > 50, "only %d were found" % len(found))
    unknown = ["%s: ./dev %s" % pair for pair in sorted(found) if pair[1] not in names]
    need(not unknown, "\n".join(unknown))


def main():
    if len(sys.argv) > 1:
        print(__doc__)
        return 0 if sys.argv[1] == "--help" else 2
    tally, names = Tally(), []
    with tempfile.TemporaryDirectory() as folder:
        place = Place(Path(folder))
        tally.run("./dev --help lists the commands", lambda: names.extend(names_of(place)))
        for name in names:
            tally.run("./dev %s --help prints, and does nothing" % name, lambda name=name: help_of(place, name))
        for check in (without_python, wrong_words, words_of_the_gate, packages_are_listed):
            tally.run(check.__doc__, lambda check=check: check(place))
        tally.run(pages_name_commands.__doc__, lambda: pages_name_commands(place, names))
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
