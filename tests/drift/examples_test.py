#!/usr/bin/env python3
"""Run the examples of the README as they stand, in a directory with the samples, and compare what they print. Those with
big.csv, which nobody has, are left out; its three recipes must stand in doc/recipes.md, which ./dev interop runs.

  examples_test.py --cleave PATH
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def examples(text):
    """(command, what it prints) of every line that begins with a dollar."""
    for block in re.findall(r"^```console\n(.*?)^```", text, re.M | re.S):
        if "big.csv" not in block:
            yield from re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.M)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cleave", required=True)
    cleave = os.path.abspath(parser.parse_args().cleave)
    text = read("README.md")
    faults, count = [], 0
    with tempfile.TemporaryDirectory() as directory:
        for name in os.listdir(os.path.join(ROOT, "data")):
            if name.endswith((".csv", ".tsv")):
                shutil.copy(os.path.join(ROOT, "data", name), directory)
        path = os.pathsep.join([os.path.dirname(cleave), os.environ.get("PATH", "")])
        for command, wanted in examples(text):
            count += 1
            done = subprocess.run(["bash", "-c", command], cwd=directory, env=dict(os.environ, PATH=path), text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            if done.stdout != wanted:
                faults.append("$ %s\n%s-- but the README says\n%s" % (command, done.stdout, wanted))
    recipes = re.search(r"\*\*Three recipes\*\*.*?```sh\n(.*?)```", text, re.S).group(1).splitlines()
    faults += ["not in doc/recipes.md: " + line for line in recipes if line not in read("doc/recipes.md").splitlines()]
    print("\n".join(faults + ["%d examples, %d recipes" % (count, len(recipes))]))
    return 1 if faults or count == 0 or len(recipes) != 3 else 0


if __name__ == "__main__":
    sys.exit(main())
