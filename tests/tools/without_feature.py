#!/usr/bin/env python3
"""Deletes features, one at a time, each with those that need it, from a copy of the tree: the rest builds, and passes its
tests.

The copy is a clone of HEAD in build/without. The output ends with the closing line of verdicts.py.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys

from verdicts import Tally, need

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TREE = os.path.join(ROOT, "build", "without")


def read_features():
    """All features, and {feature: those that it needs}."""
    with open(os.path.join(ROOT, "CMakeLists.txt"), encoding="utf-8") as file:
        text = file.read()
    needs = dict(re.findall(r"^set\(needed_by_(\w+) ([\w ]+)\)", text, re.MULTILINE))
    return re.search(r"^set\(CLEAVE_FEATURES ([\w ]+) CACHE", text, re.MULTILINE)[1].split(), {
        feature: names.split() for feature, names in needs.items()}


def run(*words):
    done = subprocess.run(words, cwd=TREE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    need(done.returncode == 0, "%s:\n%s" % (" ".join(words), done.stdout[-4000:]))
    return done.stdout


def try_without(feature, features, needs):
    left_out = {feature}
    while more := {name for name in features if left_out & set(needs.get(name, ()))} - left_out:
        left_out |= more
    shutil.rmtree(TREE, ignore_errors=True)
    subprocess.run(["git", "clone", "-q", ROOT, TREE], check=True)
    for name in left_out:
        shutil.rmtree(os.path.join(TREE, "src", "features", name))
    run("cmake", "--preset", "core", "-D", "BUILD_TESTING=ON",
        "-D", "CLEAVE_FEATURES=" + ";".join(name for name in features if name not in left_out))
    run("cmake", "--build", "--preset", "core")
    print(re.search(r"^\d+% tests passed.*", run("ctest", "--preset", "core", "-j", str(os.cpu_count() + 1)),
                    re.MULTILINE)[0] + ", without " + ", ".join(sorted(left_out)), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("feature", nargs="*", help="[all]")
    wanted = parser.parse_args().feature
    features, needs = read_features()
    tally = Tally()
    for feature in wanted or features:
        tally.run("without " + feature, lambda: try_without(feature, features, needs))
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
