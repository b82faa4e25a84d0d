#!/usr/bin/env python3
"""Every verb on the smallest inputs, in every form and under every kind of rules. doc/internals/edge_cases.md says why
each exit status is right.

  edges_test.py --cleave PATH [--only VERB] [--every N]

A cell of the table is a verb, an input, the form in which it is passed, and rules. The command must end with the exit
status that expected() returns, not from a signal. It prints data only if that status is 0 or 3.
"""
import argparse
import functools
import gzip
import itertools
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tools"))
import in_memory  # noqa: E402
from verdicts import Tally, need, need_tool  # noqa: E402

INPUTS = {
    "empty": b"",
    "mark": b"\xef\xbb\xbf",
    "header": b"a,b\n",
    "header, cut": b"a,b",
    "one": b"a,b\n1,2\n",
    "last one cut": b"a,b\n1,2\n3,4",
    "line feeds": b"\n\n",
    "a preamble": b"sep=,\n",
    "a preamble, cut": b"sep=,",
    "a preamble and one": b"sep=,\na,b\n1,2\n",
    "a field missing": b"a,b\n1,2\n3",
    "an open quote": b'a,b\n1,2\n3,"4',
}
WAYS = ("file", "index", "pipe", "gz", "zst")
RULES = {
    "none": [],
    "identity": ["--select", "*"],
    "selected": ["--select", "b"],
    "changing": ["--header", "repeat", "--redact", "a: mask"],
    "default": ["--header", "repeat", "--redact-default", "null"],
    "signed": ["--header", "repeat", "--redact", "a: mask", "--key", "k=file:k", "--redact-report", "report", "--sign",
               "k"],
}
VERBS = {   # name: words, whether rules apply, whether a column is named
    "count": (["count"], False, False),
    "offsets": (["offsets", "-l", "1"], False, False),
    "split -n": (["split", "-n", "2"], True, False),
    "split -l": (["split", "-l", "1"], True, False),
    "split -C": (["split", "-C", "100"], True, False),
    "split --by": (["split", "--by", "a"], True, True),
    "split --buckets": (["split", "--by", "a", "--buckets", "2"], True, True),
    "split --parts": (["split", "--parts", "x=1,y=1"], True, False),
    "split --parts --by": (["split", "--parts", "x=1,y=1", "--by", "a"], True, True),
    "split --together": (["split", "-n", "2", "--together", "a"], True, True),
    "cat": (["cat"], True, False),
    "cat -n": (["cat", "-n", "1/2"], True, False),
    "cat -r": (["cat", "-r", "1-1"], True, False),
    "sample": (["sample", "-k", "9", "--seed", "1"], True, False),
    "check": (["check"], True, False),
    "index": (["index"], False, False),
    "join": (["join", "-o", "joined"], False, False),
    "scan": (["scan", "--terminator", "lf"], False, False),
    "verify": (["verify", "--no-key"], False, False),
}
NAMELESS = ("empty", "mark", "line feeds", "a preamble", "a preamble, cut")   # these have no column a
OPTIONS = {"join": ["-d", ","], "verify": []}    # all other verbs also have --quiet
ODD = ("a field missing", "an open quote")
NEEDS_ALL = ("split -n", "split --together", "cat -n", "cat -r", "sample")    # with a stream, these verbs make a copy


def expected(verb, name, way, rules):
    """The exit status."""
    names_column = VERBS[verb][2]
    is_stream = way in ("pipe", "gz", "zst")
    if verb == "index":
        return 2 if way in ("pipe", "zst") else 3 if name == "an open quote" else 0
    if verb == "verify":
        return 3    # none of these is a signed report
    if verb == "scan":
        return 2 if is_stream else 0    # within a range it is not known whether a quote is closed later
    if rules != "none":
        if verb in NEEDS_ALL and is_stream and INPUTS[name]:
            return 2    # a copy would hold the values
        if rules in ("selected", "changing", "signed") and name in NAMELESS:
            return 2    # there is no such column
        if names_column and (name in NAMELESS or rules == "selected"):
            return 2    # there is no column, or it is left out
        if name in ODD:
            return 0 if verb in ("cat -n", "cat -r") else 3   # the record with the fault is in the other part
        return 0
    if names_column and name == "line feeds":
        return 2    # there is a record, but no column
    if name == "an open quote":
        return 0 if verb in ("cat", "cat -r", "join") else 3   # cat -r ends before it
    return 3 if verb == "check" and name in ODD else 0


@functools.cache
def packed(data, way):
    if way == "gz":
        return gzip.compress(data)
    if way == "zst":
        return subprocess.run([need_tool("zstd"), "-qc"], input=data, capture_output=True, check=True).stdout
    return data


class Place:
    def __init__(self, cleave):
        self.cleave, self.folder = cleave, tempfile.mkdtemp(prefix="cleave-edges-", dir=in_memory.folder())
        key = os.open(os.path.join(self.folder, "k"), os.O_WRONLY | os.O_CREAT, 0o600)
        os.write(key, bytes(range(32)))
        os.close(key)

    def run(self, *words, data=None):
        how = {"input": data} if data is not None else {"stdin": subprocess.DEVNULL}
        return subprocess.run([self.cleave, *words], cwd=self.folder, capture_output=True, timeout=120, **how)

    def hand_over(self, data, way):
        """Returns the operand, and the bytes for standard input."""
        if way == "pipe":
            return "-", data
        name = "in.csv" if way in ("file", "index") else "in.csv." + way
        with open(os.path.join(self.folder, name), "wb") as file:
            file.write(packed(data, way))
        if way == "index":
            self.run("index", "-d", ",", "--quiet", name)   # fails for an open quote
        return name, None


def check_cell(cleave, verb, name, way, rules):
    place = Place(cleave)
    try:
        operand, fed = place.hand_over(INPUTS[name], way)
        options = OPTIONS.get(verb, ["-d", ",", "--quiet"])
        run = place.run(*VERBS[verb][0], *options, *RULES[rules], operand, data=fed)
        cell = "%s, %s, %s, rules %s" % (verb, name, way, rules)
        wanted = expected(verb, name, way, rules)
        need(run.returncode == wanted,
             "%s: exit status %d, not %d: %r" % (cell, run.returncode, wanted, run.stderr[-200:]))
        need(wanted in (0, 3) or not run.stdout, "%s: it prints data" % cell)
        if rules == "signed" and wanted == 0:
            again = ["--input", operand] if way != "pipe" else []
            verified = place.run("verify", "--key", "k=file:k", *again, "report", data=run.stdout)
            need(verified.returncode == 0, "%s: not verified: %r" % (cell, verified.stdout + verified.stderr))
    finally:
        shutil.rmtree(place.folder)


def check_verb(cleave, verb, every):
    """Checks every cell of the verb, or one in `every`, which should have no divisor in common with the numbers of ways
    and of rules: otherwise some of these are never checked."""
    cells = itertools.product(INPUTS, WAYS, RULES if VERBS[verb][1] else ["none"])
    for cell in itertools.islice(cells, 0, None, every):
        check_cell(cleave, verb, *cell)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cleave", required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="one cell of N [all]")
    arguments = parser.parse_args()
    cleave, tally = os.path.abspath(arguments.cleave), Tally()
    for verb in VERBS:
        if arguments.only in verb:
            tally.run(verb, lambda verb=verb: check_verb(cleave, verb, arguments.every))
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
