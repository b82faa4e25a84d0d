#!/usr/bin/env python3
"""Runs the examples in README.md, the guide and the manual pages as printed, and compares the output. The examples in
the short help must succeed.

  examples_test.py --cleave PATH

An example is a line that begins with "$ ", in a ```console block of README.md or doc/guide, or between .EX and .EE in
the section EXAMPLES of a manual page. Lines that begin with "> " continue the command; the other lines are its output.
Each block runs in a new folder with copies of data/*.csv and data/*.tsv. ```sh blocks in README.md that name big.csv
are recipes: ./dev interop runs the recipes in the guide, so each of their lines must also be in the guide.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests" / "tools"))
from command import Command  # noqa: E402
from verdicts import Failure, Tally, need  # noqa: E402

# How roff writes the characters that are special to it. The backslash comes last.
ESCAPES = ((r"\-", "-"), (r"\&", ""), (r"\(aq", "'"), (r"\(dq", '"'), (r"\(ti", "~"), (r"\(ha", "^"), (r"\(ga", "`"),
           (r"\e", "\\"), (r"\(rs", "\\"))


def blocks_of_markdown(text):
    return re.findall(r"^```console\n(.*?)^```", text, re.M | re.S)


def blocks_of_roff(text):
    blocks = []
    for section in re.findall(r"^\.SH \"?EXAMPLES?\"?\n(.*?)(?=^\.SH |\Z)", text, re.M | re.S):
        for block in re.findall(r"^\.EX\n(.*?)^\.EE", section, re.M | re.S):
            for escape, character in ESCAPES:
                block = block.replace(escape, character)
            blocks.append(block)
    return blocks


def examples(block):
    """(command, what it prints) of each example of a block."""
    for command, printed in re.findall(r"^\$ (.*\n(?:> .*\n)*)((?:(?!\$ ).*\n)*)", block, re.M):
        yield command.replace("\n> ", "\n"), printed


def unwrapped(text):
    """Undoes the wrapping of manual pages, where four blanks continue a long line or stand for a tab."""
    return re.sub(r"\n    (?=\w)", " ", text.replace("\t", "    "))


def run_block(block, environment):
    """Runs the examples of the block and returns how many there are. Raises Failure at the first one with different
    output."""
    count = 0
    with tempfile.TemporaryDirectory() as folder:
        for path in (ROOT / "data").iterdir():
            if path.suffix in (".csv", ".tsv"):
                shutil.copy(path, folder)
        for command, wanted in examples(block):
            count += 1
            done = subprocess.run(["bash", "-c", command], cwd=folder, env=environment, text=True,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            if unwrapped(done.stdout) != unwrapped(wanted):
                raise Failure("\n$ %s%s-- but the page says\n%s" % (command, done.stdout, wanted))
    return count


def pages():
    """(path, blocks) of each page that may have examples."""
    for path in [ROOT / "README.md", *sorted((ROOT / "doc/guide").glob("*.md"))]:
        yield path, blocks_of_markdown(path.read_text(encoding="utf-8"))
    for path in sorted((ROOT / "man").glob("*.[157]")):
        yield path, blocks_of_roff(path.read_text(encoding="utf-8"))


# What the examples of some verbs need first, and the example that needs a device.
PREPARATIONS = {"index": "cleave index orders.csv", "plan": "cleave scan -d , --terminator lf orders.csv >1.json; :>2.json",
                "join": "cleave split -n 2 --manifest orders.json orders.csv",
                "verify": "cleave key new audit.key; cleave split -q -n 2 --key audit=file:audit.key --redact 'mail: mask' "
                          "--redact-report report.json --sign audit orders.csv"}
FOR_A_DEVICE = "cleave info --calibrate"


def examples_of_help(cleave, environment):
    """Runs the examples of every verb's short help, each in its own folder."""
    def run(*words, **options):
        return subprocess.run(words, env=environment, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, **options)
    for verb in Command(cleave).verbs:
        found = re.findall(r"^  (cleave .*?)(?:   .*)?$", run(cleave, verb, "-h").stdout.partition("Examples:")[2], re.M)
        need(found, "the help of %s has no examples" % verb)
        for command in found:
            if command.startswith(FOR_A_DEVICE):
                continue
            with tempfile.TemporaryDirectory() as folder:
                shutil.copy(ROOT / "data/orders.csv", folder)
                done = run("bash", "-ec", PREPARATIONS.get(verb, ":") + "\n" + command, cwd=folder)
                need(done.returncode == 0, "$ %s\nexit status %d: %s" % (command, done.returncode, done.stdout[:500]))


def recipes_are_in_the_guide():
    """The recipes of README.md are in the guide"""
    blocks = re.findall(r"^```sh\n(.*?)^```", (ROOT / "README.md").read_text(encoding="utf-8"), re.M | re.S)
    lines = [line for block in blocks if "big.csv" in block for line in block.splitlines()]
    need(lines, "there are none")
    guide = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "doc/guide").glob("*.md")).splitlines()
    missing = [line for line in lines if line not in guide]
    need(not missing, "not there:\n%s" % "\n".join(missing))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cleave", required=True, type=os.path.abspath)
    cleave = parser.parse_args().cleave
    environment = dict(os.environ, PATH=os.pathsep.join([os.path.dirname(cleave), os.environ.get("PATH", "")]))
    tally, counts = Tally(), {}

    def run_page(path, blocks):
        counts[path] = sum(run_block(block, environment) for block in blocks)

    for path, blocks in pages():
        if blocks:
            tally.run("The examples of %s" % path.relative_to(ROOT), lambda: run_page(path, blocks))

    def every_kind_has_examples():
        for kind in ("README.md", "doc/guide", "man"):
            count = sum(number for path, number in counts.items() if str(path.relative_to(ROOT)).startswith(kind))
            print("     %d examples in %s" % (count, kind))
            need(count > 0, "no example of %s has run" % kind)

    tally.run("README.md, the guide and the manual pages have examples", every_kind_has_examples)
    tally.run(recipes_are_in_the_guide.__doc__, recipes_are_in_the_guide)
    tally.run("The examples of the short help run", lambda: examples_of_help(cleave, environment))
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
