#!/usr/bin/env python3
"""Run the examples of the README and of the manual page as they stand, each block in a directory with the samples, and
compare what they print. Those with big.csv, which nobody has, are left out; the README's three recipes must stand in
doc/recipes.md, which ./dev interop runs.

  examples_test.py --cleave PATH
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def blocks_of_readme(text):
    return [block for block in re.findall(r"^```console\n(.*?)^```", text, re.M | re.S) if "big.csv" not in block]


def blocks_of_page(text):
    section = re.search(r"^\.SH EXAMPLES\n(.*?)^\.SH", text, re.M | re.S).group(1)
    blocks = re.findall(r"^\.EX\n(.*?)^\.EE", section, re.M | re.S)
    return [block.replace("\\-", "-").replace("\\e", "\\") for block in blocks]


def examples(block):
    """(command, what it prints) of every line that begins with a dollar, with the lines that go on with "> "."""
    for command, printed in re.findall(r"^\$ (.*\n(?:> .*\n)*)((?:(?!\$ ).*\n)*)", block, re.M):
        yield command.replace("\n> ", "\n"), printed


def unwrapped(text):
    """The page has four blanks where a long line goes on, and for a tab."""
    return re.sub(r"\n    (?=\w)", " ", text.replace("\t", "    "))


def run(block, where, environment):
    """The faults of the block, and how many examples it has."""
    faults, count = [], 0
    with tempfile.TemporaryDirectory() as directory:
        for name in os.listdir(os.path.join(ROOT, "data")):
            if name.endswith((".csv", ".tsv")):
                shutil.copy(os.path.join(ROOT, "data", name), directory)
        for command, wanted in examples(block):
            count += 1
            done = subprocess.run(["bash", "-c", command], cwd=directory, env=environment, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            if unwrapped(done.stdout) != unwrapped(wanted):
                faults.append("$ %s%s-- but %s says\n%s" % (command, done.stdout, where, wanted))
    return faults, count


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cleave", required=True)
    cleave = os.path.abspath(parser.parse_args().cleave)
    path = os.pathsep.join([os.path.dirname(cleave), os.environ.get("PATH", "")])
    environment = dict(os.environ, PATH=path)
    readme, page = read("README.md"), read("man/cleave.1")
    faults, counts = [], []
    for where, blocks in (("README.md", blocks_of_readme(readme)), ("man/cleave.1", blocks_of_page(page))):
        counts.append(0)
        for block in blocks:
            found, count = run(block, where, environment)
            faults += found
            counts[-1] += count
    recipes = re.search(r"\*\*Three recipes\*\*.*?```sh\n(.*?)```", readme, re.S).group(1).splitlines()
    faults += ["not in doc/recipes.md: " + line for line in recipes if line not in read("doc/recipes.md").splitlines()]
    print("\n".join(faults + ["%d examples of README.md, %d of man/cleave.1, %d recipes" % (*counts, len(recipes))]))
    return 1 if faults or 0 in counts or len(recipes) != 3 else 0


if __name__ == "__main__":
    sys.exit(main())
