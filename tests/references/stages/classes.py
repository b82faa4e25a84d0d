#!/usr/bin/env python3
"""Compares `check --quasi` and `suppress` with a plain count, on random files.

  classes.py CLEAVE [--count N] [--seed N]

The values after the other rules are what `cat` prints for them; compare.py tests those. Values are read with Python's
csv module, and counted in a dictionary.
"""
import argparse
import collections
import csv
import io
import json
import os
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools"))
import in_memory  # noqa: E402

COLUMNS = ["birth", "zip", "sex", "diagnosis", "note"]
RULES = {"birth": ["keep", "date(year)", "null", "mask(first=3)"], "zip": ["keep", "mask(first=2)", "bucket(100)", "null"],
         "sex": ["keep", "null", 'fixed("x, y")']}
LIMITS = ["2", "3", "5", "10"]


class Case:
    def __init__(self, seed):
        random_ = random.Random(seed)
        self.quasi = random_.sample(COLUMNS[:3], random_.choice([1, 2, 2, 3]))
        self.sensitive = random_.choice([None, "diagnosis", "note"])
        self.k = random_.choice([2, 2, 3, 5, 10])
        self.null_token = random_.choice(["", "", "NULL"])
        self.has_end = random_.random() < 0.8
        self.threads = random_.choice(["1", "2", "3"])
        self.block = random_.choice([None, "64K"])
        self.rules = ["%s: %s" % (name, random_.choice(choices)) for name, choices in RULES.items()]
        self.drops = random_.random() < 0.1
        wide = random_.choice([2, 4, 30])
        records = random_.choice([0, 1, 2, 5, 20, 200, 200, 3000])
        out = io.StringIO()
        end = random_.choice(["\n", "\r\n"])
        writer = csv.writer(out, lineterminator=end, quoting=random_.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]))
        writer.writerow(COLUMNS)
        for _ in range(records):
            writer.writerow([random_.choice(["", "%d-05-%02d" % (1950 + random_.randrange(wide), 1 + random_.randrange(3)), "?"]),
                             str(1000 + 37 * random_.randrange(wide)), random_.choice(["f", "m", "", 'o"o', "a\nb", "NULL"]),
                             random_.choice(["flu", "cold", "flu", "a, b"]), str(random_.randrange(4))])
            if random_.random() < 0.02:
                out.write(end)  # an empty record
        self.text = out.getvalue()
        if not self.has_end:
            self.text = self.text.rstrip("\r\n")

    def options(self):
        rules = [word for rule in self.rules for word in ("--redact", rule)]
        return rules + ["--redact-null", self.null_token, "-d", ",", "-e", "none", "-j", self.threads]

    def suppress(self):
        return ["--redact", "%s: suppress(k=%d)" % (", ".join(self.quasi), self.k)]


def run(*words, codes=(0,)):
    done = subprocess.run(words, capture_output=True, check=False)
    if done.returncode not in codes:
        raise SystemExit("exit status %d of %s: %r" % (done.returncode, words, done.stderr))
    return done


def rows_of(text):
    return [row for row in csv.reader(io.StringIO(text.decode(), newline="")) if row]


def places(rows, names):
    return [rows[0].index(name) for name in names if name in rows[0]]


def figures(rows, quasi, sensitive):
    at = places(rows, quasi)
    details = collections.defaultdict(set)
    sizes = collections.Counter()
    where = places(rows, [sensitive]) if sensitive else []
    for row in rows[1:]:
        key = tuple(row[i] for i in at)
        sizes[key] += 1
        if where:
            details[key].add(row[where[0]])
    made = {"records": len(rows) - 1, "classes": len(sizes), "k": min(sizes.values(), default=None),
            "below": {limit: sum(n for n in sizes.values() if n < int(limit)) for limit in LIMITS},
            "sizes": [{"size": size, "classes": n} for size, n in sorted(collections.Counter(sizes.values()).items())]}
    if sensitive:
        made["l"] = min(map(len, details.values()), default=None)
    return made


def suppressed(rows, quasi, k, null):
    """The rows that must be written, or None if that is impossible."""
    at = places(rows, quasi)
    members = collections.defaultdict(list)
    for number, row in enumerate(rows[1:], 1):
        members[tuple(row[i] for i in at)].append(number)
    hidden = tuple([null] * len(at))
    others = len(members.pop(hidden, []))
    chosen = [number for numbers in members.values() if len(numbers) < k for number in numbers]
    if 0 < len(chosen) + others < k:
        large = [numbers for numbers in members.values() if len(numbers) >= k]
        if not large:
            return None
        chosen += min(large, key=lambda numbers: (len(numbers), numbers[0]))
    made = [list(row) for row in rows]
    for number in chosen:
        for i in at:
            made[number][i] = null
    return made


def judge(cleave, seed, folder):
    """Returns what is wrong, if anything."""
    case = Case(seed)
    path = os.path.join(folder, "in.csv")
    with open(path, "w", encoding="utf-8", newline="") as file:
        file.write(case.text)
    quasi = ["--quasi", ",".join(case.quasi)] + (["--sensitive", case.sensitive] if case.sensitive else [])
    if case.block:
        quasi += ["--block-size", case.block]
    plain = rows_of(case.text.encode())
    after = rows_of(run(cleave, "cat", *case.options(), path).stdout)
    # Without rules.
    got = json.loads(run(cleave, "check", "--json", "-d", ",", "-e", "none", *quasi, path).stdout)["quasi"]
    expected = dict(figures(plain, case.quasi, case.sensitive), columns=case.quasi)
    if case.sensitive:
        expected["sensitive"] = case.sensitive
    if got != expected:
        return "check: %s, the oracle says %s" % (got, expected)
    # Before and after rules; a column that is left out tells nothing.
    options = case.options()
    if case.drops:
        options += ["--select", "!" + case.quasi[0]]
        after_drop = [[value for name, value in zip(after[0], row) if name != case.quasi[0]] for row in after]
    else:
        after_drop = after
    got = json.loads(run(cleave, "check", "--json", *options, *quasi, path).stdout)["quasi"]
    expected.update(figures(after_drop, case.quasi, case.sensitive), before=figures(plain, case.quasi, case.sensitive))
    if got != expected:
        return "check with rules: %s, the oracle says %s" % (got, expected)
    # Suppression.
    expected = suppressed(after, case.quasi, case.k, case.null_token)
    done = run(cleave, "cat", *case.options(), *case.suppress(), path, codes=(0, 3))
    if expected is None:
        return None if done.returncode == 3 and not done.stdout else "cat: exit status %d, not 3" % done.returncode
    if rows_of(done.stdout) != expected:
        return "cat with suppress: %r, the oracle says %r" % (rows_of(done.stdout)[:9], expected[:9])
    sizes = collections.Counter(tuple(row[i] for i in places(expected, case.quasi)) for row in expected[1:])
    if min(sizes.values(), default=case.k) < case.k:
        return "the oracle itself does not reach k"
    target = os.path.join(folder, "out.{i:05}")
    words = random.Random(seed).choice([["-n", "3"], ["-l", "7"], ["-C", "2K"], ["-n", "2", "--together", case.quasi[0]]])
    run(cleave, "split", *words, *case.options(), *case.suppress(), "-o", target, "-f", path)
    rows = expected[:1]
    for name in sorted(os.listdir(folder)):
        if name.startswith("out."):
            with open(os.path.join(folder, name), "rb") as file:
                rows += rows_of(file.read())[1:]
            os.unlink(os.path.join(folder, name))
    if rows != expected:
        return "split %s with suppress differs from cat" % words
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cleave")
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    differences = 0
    with tempfile.TemporaryDirectory(dir=in_memory.folder()) as folder:
        for seed in range(options.seed, options.seed + options.count):
            what = judge(os.path.abspath(options.cleave), seed, folder)
            if what and differences < 20:
                print("seed %d: %s" % (seed, what[:700]))
            differences += bool(what)
    print("%d passed, %d failed" % (options.count - differences, differences))
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
