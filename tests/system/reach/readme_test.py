#!/usr/bin/env python3
"""Installs the wheel in fresh environments, each with one extra or one engine, and runs there what python/README.md says
about it.

  readme_test.py --cleave PATH [--only SUBSTRING] [--rounds N] [--seed N]

It installs the wheel of build/wheel, which ./dev reach-test makes, and packages from PyPI in the versions of
requirements.txt; PyTorch takes 5 GB until its check ends. python/tests/test_readme.py runs the same code in one
environment, with the engines that are there.
"""
import glob
import os
import re
import shutil
import subprocess
import sys
import tomllib

import common
from harness import Inconclusive, need

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(common.HERE)))
WITHOUT_NAME = ["pandas", "polars", "pyarrow"]   # what the code needs that belongs to no engine


def read_text(*names):
    with open(os.path.join(ROOT, *names), encoding="utf-8") as file:
        return file.read()


EXTRAS = tomllib.loads(read_text("pyproject.toml"))["project"]["optional-dependencies"]
PROGRAMS = {}
for label, block in re.findall(r"^```python ?(\w*)\n(.*?)^```", read_text("python", "README.md"), re.DOTALL | re.MULTILINE):
    PROGRAMS[label] = PROGRAMS.get(label, "") + block


def packages_for(name, wheel):
    """What is installed for the code of that name: the extra alone, if there is one."""
    if name in EXTRAS:
        return ["%s[%s]" % (wheel, name)]
    return [wheel, *([name, "pyarrow"] if name else WITHOUT_NAME)]


def run(command, folder, **more):
    return subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, **more)


def installed(name):
    """A check that installs what the code of that name needs, and runs the code."""
    def check(bench):
        found = glob.glob(os.path.join(ROOT, "build", "wheel", "cleave_csv-*-cp311-*.whl"))
        if len(found) != 1:
            raise Inconclusive("build/wheel has %d wheels for Python 3.11" % len(found), retry=False)
        place = os.path.join(ROOT, "build", "reach", "fresh")
        shutil.rmtree(place, ignore_errors=True)
        try:
            need(run([sys.executable, "-m", "venv", place], bench.root).returncode == 0, "no environment was made")
            python, pins = os.path.join(place, "bin", "python"), os.path.join(place, "pins.txt")
            with open(pins, "w", encoding="utf-8") as file:
                file.write(re.sub(r"\[.*?\]", "", read_text("tests", "system", "reach", "requirements.txt")))
            done = run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-c", pins,
                        *packages_for(name, found[0])], bench.root)
            if done.returncode != 0:
                raise Inconclusive("pip: %s" % done.stdout[-300:], retry=False)
            folder = os.path.join(bench.root, "readme-" + name)
            os.mkdir(folder)
            with open(os.path.join(folder, "big.csv"), "w", encoding="utf-8") as file:
                file.write("id,name,mail,city\n")
                for number in range(2000):
                    file.write('%d,"two\nlines","user%d@example.org",city %d\n' % (number, number, number % 7))
            environment = {**os.environ, "HF_HOME": os.path.join(bench.root, "hf"), "HF_HUB_OFFLINE": "1"}
            for variable in ("PYTHONPATH", "VIRTUAL_ENV"):
                environment.pop(variable, None)
            module = "s3fs" if name == "s3" else "cleave." + name   # of an extra without code
            done = run([python, "-c", PROGRAMS.get(name, "import " + module)], folder, env=environment)
            need(done.returncode == 0, done.stdout[-600:])
        finally:
            shutil.rmtree(place, ignore_errors=True)
    check.__doc__ = "In a fresh environment: %s" % (name or "the code without a name")
    return check


CHECKS = [installed(name) for name in sorted({*PROGRAMS, *EXTRAS})]


if __name__ == "__main__":
    sys.exit(common.harness.main(__doc__, CHECKS))
