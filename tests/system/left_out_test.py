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
from verdicts import SKIPPED, Tally, need  # noqa: E402

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
# What a command reads, its exit status and message. FILE is a file of JSON Lines.
INPUTS = {
    "compressed": (["count", "-"], gzip.compress(b"a\n1\n"), 3,
                   "stdin: it is compressed with gzip, which this build of cleave does not read"),
    "json_lines": (["split", "--by", ".a", "FILE"], b"", 2, "this build of cleave does not know values in JSON Lines"),
    "stores": (["count", "https://127.0.0.1:1/x.csv"], b"", 2, "this cleave was built without the feature 'stores'"),
}


def run(*words, stdin=b""):
    done = subprocess.run(words, input=stdin, capture_output=True, timeout=60)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def refused(found, what, feature):
    need(found == (2, "", "cleave: %s: this cleave was built without the feature '%s'\n" % (what, feature)),
         "%s: %s" % (what, found))


def verbs(cleave, feature):
    for verb in VERBS[feature]:
        for words in ([verb], [verb, "--help"], ["help", verb], [verb, ORDERS]):
            refused(run(cleave, *words), verb, feature)
        need(not re.search(r"^  cleave %s " % verb, run(cleave, "--help")[1], re.MULTILINE), "help lists " + verb)


def options(cleave, feature):
    for verb, option in (one.split() for one in OPTIONS[feature].split(", ")):
        for words in ([option, "x"], [option + "=x"]):
            refused(run(cleave, verb, *words, ORDERS), option, feature)
        need(option + " " not in run(cleave, verb, "--help")[1], "the help of %s lists %s" % (verb, option))
        # The value of another option is not one.
        code, _, errors = run(cleave, "count", "--", option)
        need(code == 1 and "No such file" in errors, errors)


def inputs(cleave, feature):
    words, stdin, code, message = INPUTS[feature]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "in.jsonl")
        with open(path, "w", encoding="ascii") as file:
            file.write('{"a":1}\n')
        found = run(cleave, *(word.replace("FILE", path) for word in words), stdin=stdin)
        need(found == (code, "", "cleave: %s\n" % message), found)
        need(os.listdir(folder) == ["in.jsonl"], "pieces appeared")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cleave", required=True)
    parser.add_argument("--features", required=True)
    args = parser.parse_args()
    built = set(args.features.split(",")) - {""}
    missing = FEATURES - built
    if not missing & {*VERBS, *OPTIONS, *INPUTS}:
        print("what is missing has no verb, option or input: " + ", ".join(sorted(missing)))
        return SKIPPED
    tally = Tally()
    for feature in sorted(missing):
        for check, subjects in ((verbs, VERBS), (options, OPTIONS), (inputs, INPUTS)):
            if feature in subjects:
                tally.run("%s of %s" % (check.__name__, feature), lambda: check(args.cleave, feature))
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
