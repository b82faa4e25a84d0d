#!/usr/bin/env python3
"""The core by itself: a program that is linked with nothing else plans files as the command does, and says what it lacks.

  core_test.py --cleave CLEAVE --plan CORE_PLAN

Linking it already shows that the core calls no feature.
"""
import argparse
import gzip
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tools"))
from verdicts import Tally, need  # noqa: E402

ORDERS = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "data", "orders.csv")


def run(*words, stdin=None):
    done = subprocess.run(words, input=stdin, capture_output=True, timeout=120)
    return done.returncode, done.stdout, done.stderr.decode()


def plans(args, folder):
    """Files that are empty, have a header only, one record, an incomplete last one, quoted line breaks, and a pipe"""
    with open(ORDERS, "rb") as file:
        orders = file.read()
    texts = {"empty": b"", "header": b"id,note\n", "one": b"id,note\n1,x\n", "last": b"id,note\n1,x\n2,\"y\n",
             "orders": orders, "large": orders * 20}
    for name, text in texts.items():
        path = os.path.join(folder, name + ".csv")
        with open(path, "wb") as file:
            file.write(text)
        for pieces in (1, 3, 7):
            code, out, err = run(args.plan, path, str(pieces))
            wanted_code, wanted, _ = run(args.cleave, "offsets", "-n", str(pieces), path)
            need((code == 0) == (wanted_code == 0), "%s in %d: %d, %s" % (name, pieces, code, err))
            if code == 0:
                need(out == wanted, "%s in %d: %s, %s" % (name, pieces, out[:200], wanted[:200]))
                piped = run(args.plan, "-", str(pieces), stdin=text)
                need(piped[:2] == (0, out), "%s through a pipe: %s" % (name, piped[2]))


def missing(args, folder):
    """A compressed file is refused, by name, in one line"""
    path = os.path.join(folder, "a.csv.gz")
    with gzip.open(path, "wb") as file:
        file.write(b"id\n1\n")
    code, out, err = run(args.plan, path, "2")
    need(code == 1 and out == b"" and "compressed with gzip, which this build of cleave does not read" in err and
         err.count("\n") == 1, "%d, %s, %s" % (code, out, err))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cleave", required=True)
    parser.add_argument("--plan", required=True)
    args = parser.parse_args()
    tally = Tally()
    with tempfile.TemporaryDirectory() as folder:
        for work in (plans, missing):
            tally.run(work.__doc__, lambda work=work: work(args, folder))
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
