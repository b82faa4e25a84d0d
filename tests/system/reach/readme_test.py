#!/usr/bin/env python3
"""Installs the wheel in fresh environments, each with one extra or one engine and nothing else, and runs there what
python/README.md and doc/guide/engines.md say about it.

  readme_test.py --cleave PATH [--only SUBSTRING] [--rounds N] [--seed N]

It installs the wheel of build/wheel, which ./dev reach-test makes, and packages from PyPI in the versions of
requirements.txt; an extra also in its oldest versions, which pyproject.toml names. PyTorch takes 5 GB until its check
ends. python/tests/test_readme.py runs the code of python/README.md in one environment, with the engines that are there.
"""
import glob
import os
import re
import shutil
import subprocess
import sys
import tomllib

import common
import s3_test
from harness import Inconclusive, need, write

WITHOUT_NAME = ["pandas", "polars", "pyarrow"]   # what the code needs that belongs to no engine
COUNT = 2000


def read_text(*names):
    with open(os.path.join(common.ROOT, *names), encoding="utf-8") as file:
        return file.read()


EXTRAS = tomllib.loads(read_text("pyproject.toml"))["project"]["optional-dependencies"]
PROGRAMS = {page: common.programs(page) for page in common.PAGES}


def packages_for(name, wheel):
    """What is installed for the code of that name: the extra alone, if there is one."""
    if name in EXTRAS:
        return ["%s[%s]" % (wheel, name)]
    return [wheel, *([name, "pyarrow"] if name else WITHOUT_NAME)]


def versions_for(name, oldest):
    """The lines of a file of constraints."""
    pins = {re.split(r"[\[=]", line)[0]: re.sub(r"\[.*?\]", "", line)
            for line in read_text("tests", "system", "reach", "requirements.txt").splitlines()}
    if oldest:
        for line in EXTRAS[name]:
            pins[re.split(r"[\[>]", line)[0]] = re.sub(r"\[.*?\]", "", line).replace(">=", "==")
    return "".join(pin + "\n" for pin in pins.values())


def run(command, folder, **more):
    return subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, **more)


def installed(name, oldest=False):
    """A check that installs what the code of that name needs, and runs the code of each page."""
    def check(bench):
        found = glob.glob(os.path.join(common.ROOT, "build", "wheel", "cleave_csv-*-cp311-*.whl"))
        if len(found) != 1:
            raise Inconclusive("build/wheel has %d wheels for Python 3.11" % len(found), retry=False)
        pages = [page for page in PROGRAMS if name in PROGRAMS[page]]
        need(pages, "no page has code for it")
        if name == "spark":
            bench.need_tool("java")
        place = os.path.join(common.ROOT, "build", "reach", "fresh")
        shutil.rmtree(place, ignore_errors=True)
        environment = {**os.environ, "PATH": os.path.join(place, "bin") + ":" + os.environ["PATH"],
                       "HF_HOME": os.path.join(bench.root, "hf"), "HF_HUB_OFFLINE": "1"}
        for variable in ("PYTHONPATH", "PYSPARK_PYTHON", "VIRTUAL_ENV"):
            environment.pop(variable, None)
        if name == "s3":
            _, options = s3_test.store()
            s3_test.put(options, "big-1.csv", common.input_of("doc/guide/engines.md", COUNT))
            environment.update(AWS_ENDPOINT_URL=options["endpoint_url"], AWS_ACCESS_KEY_ID=options["key"],
                               AWS_SECRET_ACCESS_KEY=options["secret"], AWS_DEFAULT_REGION="us-east-1")
        try:
            need(run([sys.executable, "-m", "venv", place], bench.root).returncode == 0, "no environment was made")
            python = os.path.join(place, "bin", "python")
            pins = write(os.path.join(place, "pins.txt"), versions_for(name, oldest).encode())
            done = run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-c", pins,
                        *packages_for(name, found[0])], bench.root)
            if done.returncode != 0:
                raise Inconclusive("pip: %s" % done.stdout[-300:], retry=False)
            for number, page in enumerate(pages):
                folder = os.path.join(bench.root, "readme-%s-%d-%d" % (name, oldest, number))
                os.mkdir(folder)
                write(os.path.join(folder, "big.csv"), common.input_of(page, COUNT))
                done = run([python, "-c", PROGRAMS[page][name]], folder, env=environment)
                need(done.returncode == 0, "%s: %s" % (page, done.stdout[-600:]))
        finally:
            shutil.rmtree(place, ignore_errors=True)
    check.__doc__ = "In a fresh environment: %s%s" % (name or "the code without a name", ", oldest versions" * oldest)
    return check


CHECKS = [check for name in sorted({*EXTRAS}.union(*PROGRAMS.values()))
          for check in [installed(name), *([installed(name, oldest=True)] if name in EXTRAS else [])]]


if __name__ == "__main__":
    sys.exit(common.harness.main(__doc__, CHECKS))
