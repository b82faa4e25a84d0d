"""Compares how often `check --forbid` finds something with what an oracle says about each value.

A count does not say which values it counted, and two errors may cancel out. So the values are grouped by what the
oracle says: of each kind that is looked for, a file has either no value or only values, and any error changes a count.
Then the same values are counted in random order, in files of several sizes, because what is found in a value must not
depend on its neighbours.
"""
import itertools
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools"))
import in_memory  # noqa: E402

HEADER = b"text"
SIZES = [1, 2, 5, 20, 100, 500]   # of files in random order
MOST_FILES = 1000   # of one run
MOST_SHOWN = 20     # differences


class Search:
    """options: what is looked for, and how. names: of what is looked for, as in the report."""

    def __init__(self, cleave, options, names):
        self.words = [cleave, "check", "--json", "-d", ",", "-e", "none", "--header", "repeat", "--select", "text",
                      *options]
        self.names = names

    def counts(self, files):
        """For each list of values, a tuple: how many of them, and of the header's cells, have what a name says."""
        found = []
        with tempfile.TemporaryDirectory(dir=in_memory.folder()) as folder:
            for first in range(0, len(files), MOST_FILES):
                paths = []
                for number, values in enumerate(files[first:first + MOST_FILES]):
                    paths.append(os.path.join(folder, "%d.csv" % number))
                    with open(paths[-1], "wb") as file:
                        file.write(b"id,%s\n" % HEADER)
                        file.writelines(b'1,"%s"\n' % value.replace(b'"', b'""') for value in values)
                found += self.reports(paths)
        return found

    def reports(self, paths):
        # Exit status 3 says that something was found.
        done = subprocess.run([*self.words, *paths], capture_output=True, check=False)
        reports = [json.loads(line)["forbidden"] for line in done.stdout.splitlines()]
        counts = [tuple(report[name] for name in self.names) for report in reports]
        if done.returncode != (3 if any(map(any, counts)) else 0) or len(counts) != len(paths):
            raise SystemExit("%r: exit status %d, %d reports of %d files: %r" % (
                self.words, done.returncode, len(counts), len(paths), done.stderr))
        return counts


class Tally:
    """Counts comparisons. Each is one file, whose counts must all be right."""

    def __init__(self):
        self.passed = self.failed = 0

    def need(self, condition, text):
        """Fails if the comparisons could not show a fault."""
        if not condition:
            self.fail(text)

    def fail(self, text):
        self.failed += 1
        if self.failed <= MOST_SHOWN:
            print("FAIL " + text, flush=True)

    def close(self):
        """Prints the closing line. Returns the exit status."""
        print("%d passed, %d failed" % (self.passed, self.failed))
        return 1 if self.failed else 0


def compare(search, values, look, chance, tally, sizes=SIZES):
    """look(value) returns a tuple: whether the value has what each name says. Returns the shares of the values that
    have it."""
    verdicts = list(map(look, values))

    def wanted(numbers):
        return tuple(map(sum, zip(look(HEADER), *(verdicts[i] for i in numbers))))
    files = list(numbers_of_files(verdicts, chance, sizes))
    for numbers, counts in zip(files, search.counts([[values[i] for i in numbers] for numbers in files])):
        if counts == wanted(numbers):
            tally.passed += 1
            continue
        tally.fail("%s in %d values: %s, not %s" % (", ".join(search.names), len(numbers), counts, wanted(numbers)))
        if tally.failed <= MOST_SHOWN:
            alone = search.counts([[values[i]] for i in numbers])
            wrong = [values[i] for i, found in zip(numbers, alone) if found != wanted([i])]
            print("     " + ("as in %r" % wrong[0][:1000] if wrong else "each of them alone is counted correctly"))
    return [sum(column) / len(values) for column in zip(*verdicts)]


def numbers_of_files(verdicts, chance, sizes):
    """Yields the numbers of the values in each file."""
    order = sorted(range(len(verdicts)), key=verdicts.__getitem__)
    for _, numbers in itertools.groupby(order, key=verdicts.__getitem__):
        yield list(numbers)
    chance.shuffle(order)
    yield order
    at = 0
    while sizes and at < len(order):
        size = chance.choice(sizes)
        yield order[at:at + size]
        at += size
