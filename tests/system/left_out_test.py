#!/usr/bin/env python3
"""A build that lacks features: its verbs and options are refused by a sentence that names the feature, and help does not
list them.

  left_out_test.py --cleave CLEAVE --features LIST

LIST has the features of the build, with commas. That what needs no feature works is for cases/run.py to show.
"""
import argparse
import gzip
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tools"))
from verdicts import Tally, need  # noqa: E402

ROOT = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..")
ORDERS = os.path.join(ROOT, "data", "orders.csv")
FEATURES = {"arrow", "check", "compressed", "gpu", "index", "json_lines", "ranges", "redact", "stores"}
# The verbs of each feature, and its options with a verb that takes them.
VERBS = {"check": ["check"], "gpu": ["info"], "index": ["index"], "ranges": ["scan", "plan"], "redact": ["key", "verify"]}
OPTIONS = {
    "compressed": "split --compress, count --encoding",
    "gpu": "split --device, split --device-memory, cat --explain",
    "index": "split --index, cat --index, count --index",
    "ranges": "offsets --plan, cat --plan, cat --input-version",
    "redact": "split --redact, cat --select, sample --rules, split --key, cat --redact-default, cat --redact-null, "
              "cat --null, split --forbid, split --redact-report, split --sign, cat --max-record, split --spool, "
              "split --memory-manager, split --hive, split --keep-by, split --drop-by",
}


def run(*words, stdin=b""):
    done = subprocess.run(words, input=stdin, capture_output=True, timeout=60)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def refused(found, what, feature):
    need(found == (2, "", "cleave: %s: this cleave was built without the feature '%s'\n" % (what, feature)),
         "%s: %s" % (what, found))


def verbs(cleave, feature):
    for verb in VERBS.get(feature, []):
        for words in ([verb], [verb, "--help"], ["help", verb], [verb, ORDERS]):
            refused(run(cleave, *words), verb, feature)
        need(not re.search(r"^  cleave %s " % verb, run(cleave, "--help")[1], re.MULTILINE), "help lists " + verb)


def options(cleave, feature):
    for verb, option in (one.split() for one in OPTIONS.get(feature, "").split(", ") if one):
        for words in ([option, "x"], [option + "=x"]):
            refused(run(cleave, verb, *words, ORDERS), option, feature)
        need(option + " " not in run(cleave, verb, "--help")[1], "the help of %s lists %s" % (verb, option))
        # The value of another option is not one.
        code, _, errors = run(cleave, "count", "--", option)
        need(code == 1 and "No such file" in errors, errors)


def inputs(cleave, feature):
    found = None
    if feature == "compressed":
        found = run(cleave, "count", "-", stdin=gzip.compress(b"a\n1\n"))
        wanted = 3, "", "cleave: stdin: it is compressed with gzip, which this build of cleave does not read\n"
    elif feature == "stores":
        found = run(cleave, "count", "https://127.0.0.1:1/x.csv")
        wanted = 2, "", "cleave: this cleave was built without the feature 'stores'\n"
    elif feature == "json_lines":
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "in.jsonl")
            with open(path, "w", encoding="ascii") as file:
                file.write('{"a":1}\n')
            found = run(cleave, "split", "--by", ".a", path)
            wanted = 2, "", "cleave: this build of cleave does not know values in JSON Lines\n"
            need(os.listdir(folder) == ["in.jsonl"], "pieces appeared")
    need(found is None or found == wanted, found)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cleave", required=True)
    parser.add_argument("--features", required=True)
    args = parser.parse_args()
    built = set(args.features.split(",")) - {""}
    tally = Tally()
    for feature in sorted(FEATURES - built):
        for check in (verbs, options, inputs):
            tally.run("%s of %s" % (check.__name__, feature), lambda: check(args.cleave, feature))
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
