#!/usr/bin/env python3
"""Runs the examples in README.md, the guide and the manual pages as printed, and compares the output. The examples in
the short help must succeed.

  examples_test.py --cleave PATH

An example is a line that begins with "$ ", in a ```console block of README.md or doc/guide, between .EX and .EE in the
section EXAMPLES of a manual page, or in doc/terminal.svg. Lines that begin with "> " continue the command; the other
lines are its output. Each block runs in a new folder with copies of data/*.csv and data/*.tsv. ./dev interop runs the
recipes of the guide; the recipes of README.md, ```sh blocks that name big.csv, must be among them.
"""
import argparse
import html
import os
import re
import shutil
import subprocess
import sys
import tempfile

from command import ROOT, Command
from verdicts import Tally, need

# How roff writes the characters that are special to it. The backslash comes last.
ESCAPES = ((r"\-", "-"), (r"\&", ""), (r"\(aq", "'"), (r"\(dq", '"'), (r"\(ti", "~"), (r"\(ha", "^"), (r"\(ga", "`"),
           (r"\e", "\\"), (r"\(rs", "\\"))
# What the examples of some verbs need first, and the example that needs a device.
PREPARATIONS = {"index": "cleave index orders.csv",
                "plan": "cleave scan -d , --terminator lf orders.csv >1.json; :>2.json",
                "join": "cleave split -n 2 --manifest orders.json orders.csv",
                "verify": "cleave key new audit.key; cleave split -q -n 2 --key audit=file:audit.key "
                          "--redact 'mail: mask' --redact-report report.json --sign audit orders.csv"}
FOR_A_DEVICE = "cleave info --calibrate"


def read(path):
    return path.read_text(encoding="utf-8")


def blocks_of_roff(text):
    for section in re.findall(r"^\.SH \"?EXAMPLES?\"?\n(.*?)(?=^\.SH |\Z)", text, re.M | re.S):
        for block in re.findall(r"^\.EX\n(.*?)^\.EE", section, re.M | re.S):
            for escape, character in ESCAPES:
                block = block.replace(escape, character)
            yield block


def pages():
    """(path, blocks) of each page that may have examples."""
    for path in [ROOT / "README.md", *sorted((ROOT / "doc/guide").glob("*.md"))]:
        yield path, re.findall(r"^```console\n(.*?)^```", read(path), re.M | re.S)
    for path in sorted((ROOT / "man").glob("*.[157]")):
        yield path, list(blocks_of_roff(read(path)))
    lines = re.findall(r"^ *<text [^>]*>(.*)</text>$", read(ROOT / "doc/terminal.svg"), re.M)
    lines.pop()   # the last prompt
    yield ROOT / "doc/terminal.svg", [html.unescape(re.sub(r"<[^>]*>", "", "".join(line + "\n" for line in lines)))]


def examples(block):
    """(command, what it prints) of each example of a block."""
    for command, printed in re.findall(r"^\$ (.*\n(?:> .*\n)*)((?:(?!\$ ).*\n)*)", block, re.M):
        yield command.replace("\n> ", "\n"), printed


def unwrapped(text):
    """Undoes the wrapping of manual pages, where four blanks continue a long line or stand for a tab."""
    return re.sub(r"\n    (?=\w)", " ", text.replace("\t", "    "))


def run(command, folder, environment):
    return subprocess.run(["bash", "-c", command], cwd=folder, env=environment, text=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def run_block(block, environment):
    """Fails at the first example with different output."""
    with tempfile.TemporaryDirectory() as folder:
        for path in (ROOT / "data").iterdir():
            if path.suffix in (".csv", ".tsv"):
                shutil.copy(path, folder)
        found = list(examples(block))
        need(found or "$ " not in block, "no example is understood in\n" + block)
        for command, wanted in found:
            printed = run(command, folder, environment).stdout
            need(unwrapped(printed) == unwrapped(wanted),
                 "\n$ %s%s-- but the page says\n%s" % (command, printed, wanted))


def examples_of_help(command, environment):
    """Runs the examples of every verb's short help, each in its own folder."""
    for verb in command.verbs:
        text = command.run(verb, "-h").stdout.partition("Examples:")[2]
        found = re.findall(r"^  (cleave .*?)(?:   .*)?$", text, re.M)
        need(found, "the help of %s has no examples" % verb)
        for example in found:
            with tempfile.TemporaryDirectory() as folder:
                shutil.copy(ROOT / "data/orders.csv", folder)
                if not example.startswith(FOR_A_DEVICE):
                    done = run("set -e\n%s\n%s" % (PREPARATIONS.get(verb, ":"), example), folder, environment)
                    need(done.returncode == 0,
                         "$ %s\nexit status %d: %s" % (example, done.returncode, done.stdout[:500]))


def recipes_are_in_the_guide():
    blocks = re.findall(r"^```sh\n(.*?)^```", read(ROOT / "README.md"), re.M | re.S)
    lines = [line for block in blocks if "big.csv" in block for line in block.splitlines()]
    need(lines, "there are none")
    guide = "\n".join(read(path) for path in (ROOT / "doc/guide").glob("*.md")).splitlines()
    missing = [line for line in lines if line not in guide]
    need(not missing, "not there:\n%s" % "\n".join(missing))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cleave", required=True, type=os.path.abspath)
    cleave = parser.parse_args().cleave
    environment = dict(os.environ, PATH=os.pathsep.join([os.path.dirname(cleave), os.environ.get("PATH", "")]))
    tally = Tally()
    for path, blocks in pages():
        if blocks:
            tally.run("The examples of %s" % path.relative_to(ROOT),
                      lambda: [run_block(block, environment) for block in blocks])
    tally.run("The recipes of README.md are in the guide", recipes_are_in_the_guide)
    tally.run("The examples of the short help run", lambda: examples_of_help(Command(cleave), environment))
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
