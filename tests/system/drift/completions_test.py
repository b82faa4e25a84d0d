#!/usr/bin/env python3
"""Asks a shell for completions, and compares them with what the command says about itself.

  completions_test.py --cleave PATH bash|zsh|fish
"""
import argparse
import os
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from command import Command
from verdicts import INCONCLUSIVE

FILES = ["data.csv", "notes.txt"]
WORDS = {"key": ["new", "rotate", "list", "check"]}    # what must come right after a verb
TIMEOUT_S = 120   # a shell that takes longer has hung, however busy the machine is


class Bash:
    """Calls the function named by `complete -F` in the way that bash does. If it leaves file names to bash, compgen
    finds them."""
    SCRIPT = r"""
source "$1"
shift
COMP_WORDS=("$@")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
leaves_files=yes
compopt() { leaves_files=no; }
[[ $(complete -p cleave) == *"-o default"*"-F _cleave"* ]] || exit 1
_cleave
printf '%s\n' "${COMPREPLY[@]}"
[[ ${#COMPREPLY[@]} -gt 0 || $leaves_files == no ]] || compgen -f -- "${COMP_WORDS[COMP_CWORD]}"
"""

    def __init__(self, script):
        self.script = script

    def ask(self, line):
        words = [word for part in line.split(" ") for word in re.split("(=)", part)]   # as bash splits a line
        words = words[:-1] if words[-2:] == ["=", ""] else words
        out = subprocess.run(["bash", "-c", self.SCRIPT, "bash", self.script, *words], check=True, capture_output=True,
                             text=True)
        if out.stderr:
            sys.exit("bash: " + out.stderr)
        return out.stdout.split()


class Fish:
    def __init__(self, script):
        self.script = script

    def ask(self, line):
        out = subprocess.run(["fish", "--no-config", "-c", 'source $argv[1]; complete -C $argv[2]', self.script, line],
                             check=True, capture_output=True, text=True)
        if out.stderr:
            sys.exit("fish: " + out.stderr)
        words = [row.split("\t")[0] for row in out.stdout.splitlines()]
        return [word.partition("=")[2] if word.startswith("--") and "=" in line else word for word in words]


class Zsh:
    """Types the line at a terminal. A widget completes as TAB does, and records what is added."""
    SETUP = r"""
fpath=($PWD/../functions $fpath); autoload -Uz compinit; compinit -u -D
compadd() {
    local -a noted
    if [[ ${(j: :)@[1,(i)--]} != *-[a-zA-Z]#[OAD]\ * ]]; then
        builtin compadd -A noted "$@"; print -rl -- $noted >>../matches
    fi
    builtin compadd "$@"
}
note() { _main_complete; print -r -- ' end' >>../matches; compstate[insert]=; compstate[list]=; }
zle -C note complete-word note; bindkey '^I' note; setopt extendedglob; PS1=; print ready >../matches
"""

    def __init__(self, script):
        os.mkdir("../functions")
        shutil.copy(script, "../functions/_cleave")
        with open("../setup", "w") as file:
            file.write(self.SETUP)
        pid, self.terminal = pty.fork()
        if pid == 0:
            os.execvp("zsh", ["zsh", "-f", "-i"])
        self.type("source ../setup\n")
        self.wait("ready\n")

    def type(self, text):
        os.write(self.terminal, text.encode())

    def wait(self, end):
        """The content of ../matches once it ends with `end`."""
        deadline, seen = time.monotonic() + TIMEOUT_S, b""
        while time.monotonic() < deadline:
            if select.select([self.terminal], [], [], 0.02)[0]:
                seen += os.read(self.terminal, 65536)
            if os.path.exists("../matches"):
                with open("../matches") as file:
                    text = file.read()
                if text.endswith(end):
                    os.unlink("../matches")
                    return text[:-len(end)]
        sys.exit("zsh does not answer: %r" % seen)

    def ask(self, line):
        self.type("\x15" + line + "\t")
        return self.wait(" end\n").split()


def questions(command):
    """Yields (line, the names that must be offered)."""
    yield "cleave ", [*command.verbs, "help"]
    yield "cleave help ", [*command.verbs, "dialects", "redaction", "formats"]
    for word in ["--help", "-h"]:
        yield "cleave %s " % word, command.verbs
    yield "cleave sp", [verb for verb in command.verbs if verb.startswith("sp")]
    yield "cleave --", ["--" + name for name in command.options[""]]
    yield "cleave --completion ", command.choices("", "completion")
    for verb in command.verbs:
        yield "cleave %s --" % verb, ["--" + name for name in command.options[verb]]
        yield "cleave %s " % verb, WORDS.get(verb, FILES)
        for word in WORDS.get(verb, ["--"]):
            yield "cleave %s %s " % (verb, word), FILES
        for option in command.options[verb].values():
            if option.value and verb not in WORDS:
                yield from values(command, verb, option)


def values(command, verb, option):
    # The parser lists only the kernels that run on this machine, but the help lists all of them.
    choices = option.help.partition(" [")[0].split(", ") if option.name == "kernel" else (
        command.choices(verb, option.name) or [])
    offered = choices or (FILES if option.value in ("FILE", "TEMPLATE") else [])
    yield "cleave %s --%s " % (verb, option.name), offered
    if option.letter:
        yield "cleave %s -%s " % (verb, option.letter), offered
    if choices:      # otherwise a shell may offer file names with the option in front
        yield "cleave %s --%s=" % (verb, option.name), choices
        start = choices[-1][:2]
        yield "cleave %s --%s %s" % (verb, option.name, start), [name for name in choices if name.startswith(start)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cleave", required=True, type=os.path.abspath)
    parser.add_argument("shell", choices=["bash", "zsh", "fish"])
    arguments = parser.parse_args()
    if not shutil.which(arguments.shell):
        print("open completions: %s is not installed\n0 passed, 0 failed, 0 skipped, 1 inconclusive" % arguments.shell)
        sys.exit(INCONCLUSIVE)
    command = Command(arguments.cleave)
    script = command.run("--completion", arguments.shell).stdout
    failed = count = 0
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(os.path.join(folder, "here"))
        os.chdir(os.path.join(folder, "here"))
        os.environ.update(HOME=folder, TERM="dumb", PATH=os.path.dirname(command.path) + ":" + os.environ["PATH"])
        for path, text in [("../script", script), *((name, "") for name in FILES)]:
            Path(path).write_text(text, encoding="utf-8")
        shell = {"bash": Bash, "zsh": Zsh, "fish": Fish}[arguments.shell]("../script")
        for line, expected in questions(command):
            offered, expected = set(shell.ask(line)), set(expected)
            count += 1
            if offered != expected:
                failed += 1
                print("%r: missing %s, unexpected %s" % (line, sorted(expected - offered), sorted(offered - expected)))
        os.chdir("/")
    print("%d questions, %d answered wrongly" % (count, failed))
    sys.exit(failed > 0)


main()
