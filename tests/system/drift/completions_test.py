#!/usr/bin/env python3
"""Asks a shell for completions, and compares them with what the command says about itself.

  completions_test.py --cleave PATH bash|zsh|fish
"""
import argparse
import os
import pty
import select
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "tools"))
from command import Command  # noqa: E402
from verdicts import INCONCLUSIVE  # noqa: E402

FILES = ["data.csv", "notes.txt"]
WORDS = {"key": {"new", "rotate", "list", "check"}}    # what must come right after a verb
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
        words = []
        for word in line.split(" "):
            option, equals, value = word.partition("=")
            words += [option, equals, value] if value else [option, equals] if equals else [word]
        asked = [self.run(words)]
        if "=" in line:
            asked.append([word.partition("=")[2] for word in self.run(line.split(" "))])
            if sorted(asked[0]) != sorted(asked[1]):
                sys.exit("%r: an equals sign as a separate word makes a difference: %s" % (line, asked))
        return asked[0]

    def run(self, words):
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


def questions(command, shell):
    """Yields (line, the names that must be offered, whether other names may be offered too)."""
    yield "cleave ", {*command.verbs, "help"}, False
    for word in ["help", "--help", "-h"]:
        yield "cleave %s " % word, set(command.verbs), False
    yield "cleave sp", {verb for verb in command.verbs if verb.startswith("sp")}, False
    yield "cleave --", {"--" + name for name in command.general}, False
    yield "cleave --completion ", set(command.choices("", "completion")), False
    for verb, options in command.options.items():
        # If an option has both a letter and a long name, a shell may offer either.
        dashed = {"--" + name for name in options}
        letters = {"-" + option.letter for option in options.values() if option.letter}
        yield "cleave %s --" % verb, dashed, False
        yield "cleave %s -" % verb, dashed | letters if shell != "zsh" else letters, shell == "zsh"
        yield "cleave %s " % verb, WORDS.get(verb, set(FILES)), False
        for word in sorted(WORDS.get(verb, ())):
            yield "cleave %s %s " % (verb, word), set(FILES), False
        if verb in WORDS:
            continue
        yield "cleave %s -- " % verb, set(FILES), False
        for name, option in options.items():
            yield from values(command, verb, name, option)


def values(command, verb, name, option):
    if not option.value:
        return
    choices = all_choices(command, verb, name, option)
    offered = set(choices or (FILES if option.value in ("FILE", "TEMPLATE") else []))
    for before in ["--%s " % name, "--%s=" % name] + (["-%s " % option.letter] if option.letter else []):
        if not (before.endswith("=") and not choices):      # a shell may offer file names with the option in front
            yield "cleave %s %s" % (verb, before), offered, False
    for choice in choices or []:
        beginning = choice[:2]
        yield ("cleave %s --%s %s" % (verb, name, beginning),
               {other for other in choices if other.startswith(beginning)}, False)


def all_choices(command, verb, name, option):
    """All values of the option: the parser lists only the kernels that run on this machine, but the help lists all of
    them."""
    choices = command.choices(verb, name)
    return option.help.partition(" [")[0].split(", ") if name == "kernel" else choices


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
        for name in FILES:
            open(name, "w").close()
        with open("../script", "w") as file:
            file.write(script)
        shell = {"bash": Bash, "zsh": Zsh, "fish": Fish}[arguments.shell]("../script")
        for line, expected, more in dict.fromkeys((q, frozenset(e), m) for q, e, m in questions(command, arguments.shell)):
            offered = set(shell.ask(line))
            count += 1
            if offered != expected and not (more and offered > expected):
                failed += 1
                print("%r: missing %s, unexpected %s" % (line, sorted(expected - offered), sorted(offered - expected)))
        os.chdir("/")
    print("%d questions, %d answered wrongly" % (count, failed))
    sys.exit(failed > 0)


main()
