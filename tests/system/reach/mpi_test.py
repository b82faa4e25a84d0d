#!/usr/bin/env python3
"""Cuts files with MPI processes, and compares the pieces with the records that the command finds.

  mpi_test.py --cleave PATH --examples FOLDER
"""
import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "tools"))
from verdicts import INCONCLUSIVE  # noqa: E402


def mpirun():
    """The command that starts processes. Open MPI refuses root, and more processes than cores, unless told
    otherwise."""
    version = subprocess.run(["mpirun", "--version"], capture_output=True, text=True).stdout
    return ["mpirun", *(["--allow-run-as-root", "--oversubscribe"] if "Open MPI" in version else []), "-n"]


def texts(rng):
    """Files whose records or headers prevent even shares."""
    rows = "".join('%d,"name, %d","a ""b""\nc %s"\n' % (i, i * 7, "x" * rng.randrange(40)) for i in range(300))
    yield "id,name,text\n" + rows
    yield "\ufeffid,name,text\r\n" + rows.replace("\n", "\r\n")
    yield "\r\n\n\nid,name\n1,2\n"
    yield 'id,text\n1,"' + "one record\n" * 200 + '"\n2,b\n'
    yield "a,b\n" + '1,6" pipe\n2,"x\ny"\n' * 200
    yield "only\n"


def check(cleave, program, text, count):
    """Whether each piece has the header and begins with a record, and the pieces together make up the file."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "in.csv")
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        done = subprocess.run(mpirun() + [str(count), program, path, os.path.join(folder, "p")], capture_output=True)
        if done.returncode != 0:
            print(done.stderr.decode())
            return False
        dialect = ["-d", ",", "--terminator", "lf", "--quiet"]
        words = [cleave, "offsets", "--every", "1", *dialect, path]
        starts = list(map(int, subprocess.run(words, capture_output=True, check=True).stdout.split()))
        with open(path, "rb") as file:
            content = file.read()
        header = starts[0] if starts else len(content)
        starts = set(starts) | {len(content)}
        joined = content[:header]
        for number in range(count):
            with open(os.path.join(folder, "p.%d.csv" % number), "rb") as file:
                piece = file.read()
            if not piece.startswith(content[:header]) or len(joined) not in starts:
                return False
            joined += piece[header:]
        return joined == content


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cleave", required=True)
    parser.add_argument("--examples", required=True)
    arguments = parser.parse_args()
    program = os.path.join(arguments.examples, "example_mpi_cut")
    if shutil.which("mpirun") is None or not os.path.exists(program):
        print("open example_mpi_cut: MPI is not installed\n0 passed, 0 failed, 0 skipped, 1 inconclusive")
        return INCONCLUSIVE
    failed = total = 0
    for text in texts(random.Random(1)):
        for count in (1, 2, 4):
            total += 1
            if not check(os.path.abspath(arguments.cleave), os.path.abspath(program), text, count):
                failed += 1
                print("%d processes, %r...: the pieces are not the file" % (count, text[:40]))
    print("%d runs, %d failed" % (total, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
