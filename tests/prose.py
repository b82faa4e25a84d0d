#!/usr/bin/env python3
"""Lists wordings that a native reader stumbles over, by folder: an aid for editing the texts, not a test.

  prose.py [--list] [PATH...]     [the whole tree]

Each pattern finds a habit, and also some sentences that are right. --list prints each occurrence.
"""
import argparse
import collections
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HABITS = {
    "free relative": r"\b(?:[Ww]hoever|[Ww]ho (?:has|reads|writes|takes|wants|gets)\b|^What (?:is|are|has|a)\b"
                     r"|\. What (?:is|are|has|a)\b)",
    "stacked genitive": r"\b(?:that|those) of\b",
    "negated noun": r"\bis (?:no|none)\b|\bare (?:no|none) (?!longer|more)|\bis an error\b|\bthere (?:is|are) none\b",
    "fragment": r"(?:^|\. )(?:Only|Not|Also|Without|By|Of|For) [^.:,]{1,30}: [a-z]",
    "archaic word": r"\b(?:anew|dear|unasked|spares?|at hand|hitherto|thereby|wherever|nor does|such a one|of its own"
                    r"|makes? good|as it stands)\b",
    "displaced order": r"\b(?:too|also)\.$|\bis to be\b|\bare to be\b|\bhas to do\b|\bis (?:wanted|had)\b"
                       r"|\bcan be had\b|\bnothing else\b|\bsomething else\b",
}
TEXT = {".md", ".1", ".5", ".7"}
CODE = {".h", ".cpp", ".cu", ".cuh", ".c", ".py", ".sh", ".cmake"}
COMMENT = re.compile(r"^\s*(?://|#|\*|/\*|\"\"\")|\s//\s")


def lines_of(path):
    """(number, text) of each line of prose: all lines of a page, the comments of a program."""
    text = (ROOT / path).read_text(errors="replace")
    for number, line in enumerate(text.splitlines(), 1):
        if Path(path).suffix in TEXT or COMMENT.search(line):
            yield number, line


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="print each place")
    parser.add_argument("paths", nargs="*", default=["."])
    arguments = parser.parse_args()
    files = subprocess.run(["git", "ls-files", *arguments.paths], cwd=ROOT, stdout=subprocess.PIPE, text=True,
                           check=True).stdout.split("\n")
    counts = collections.Counter()
    for path in filter(None, files):
        if Path(path).suffix not in TEXT | CODE or path == "tests/prose.py":
            continue
        folder = "/".join(path.split("/")[:2]) if path.count("/") > 1 else path.split("/")[0]
        for number, line in lines_of(path):
            for habit, pattern in HABITS.items():
                if re.search(pattern, line):
                    counts[folder, habit] += 1
                    if arguments.list:
                        print("%s:%d: %s: %s" % (path, number, habit, line.strip()))
    for (folder, habit), count in sorted(counts.items()):
        print("%6d  %-18s %s" % (count, habit, folder))
    print("%6d  in all" % sum(counts.values()))


main()
