#!/usr/bin/env python3
"""What each operation protects from, and what not: the attacks that doc/guide/redaction.md names, tried.

  threats_test.py --cleave PATH

The attacker has the redacted file and knows something about the people in it, but has no key unless a check says so.
Each check asserts both halves of its row: what the attack must not reveal, and what it does reveal, because a page that
claims less than the truth is wrong, too.
"""
import argparse
import collections
import datetime
import hashlib
import hmac
import itertools
import pathlib
import random
import subprocess
import sys
import tempfile

CITIES = [("Vienna", 400), ("Graz", 220), ("Linz", 130), ("Salzburg", 80), ("Innsbruck", 50), ("Klagenfurt", 30),
          ("Villach", 20), ("Wels", 12)]


class Bench:
    def __init__(self, cleave):
        self.cleave = pathlib.Path(cleave).resolve()
        self.directory = tempfile.TemporaryDirectory()
        self.root = pathlib.Path(self.directory.name)
        self.random = random.Random(36)
        # The keys are always the same: with others, two values might share a picked name by chance.
        for name in ("k", "other"):
            (self.root / name).write_bytes(hashlib.sha256(name.encode()).digest())
            (self.root / name).chmod(0o600)

    def columns(self, rows, *rules):
        """The columns of the redacted file, as lists of text. The columns are named a, b, c and so on."""
        names = "abcdef"[:len(rows[0])]
        text = ",".join(names) + "\n" + "".join(",".join(map(str, row)) + "\n" for row in rows)
        (self.root / "in.csv").write_text(text)
        command = [self.cleave, "cat", "-q", "--key", "k=file:k", "--key", "other=file:other"]
        for rule in rules:
            command += ["--redact", rule]
        output = subprocess.run(command + ["in.csv"], cwd=self.root, check=True, capture_output=True, text=True).stdout
        return list(zip(*(line.split(",") for line in output.splitlines()[1:])))

    def cities(self):
        values = [city for city, count in CITIES for _ in range(count)]
        self.random.shuffle(values)
        return values


def frequency(bench):
    """Counts reveal which token is which, for every operation whose equal values have equal results."""
    values = bench.cities()
    (bench.root / "list").write_text("".join("name %d\n" % i for i in range(10_000)))
    for operation in ("hmac(k)", "hmac(k, version=2)", "encrypt(k)", "form(k)", "pick(k, list)"):
        tokens = bench.columns([(value,) for value in values], "a: " + operation)[0]
        if operation != "form(k)":
            assert not set(tokens) & set(values), operation
        ranked = [token for token, _ in collections.Counter(tokens).most_common()]
        guessed = dict(zip(ranked, (city for city, _ in CITIES)))
        assert [guessed.get(token) for token in tokens] == values, operation
    # A table that puts the cities together leaves nothing to count.
    (bench.root / "areas.csv").write_text("Vienna,east\nGraz,south\nKlagenfurt,south\nVillach,south\n*,elsewhere\n")
    areas = collections.Counter(bench.columns([(value,) for value in values], "a: generalise(areas.csv)")[0])
    assert areas == {"east": 400, "south": 270, "elsewhere": 272}, areas


def small_domains(bench):
    """With an unkeyed hash, all four-digit numbers can be tried. With a key they cannot, unless the attacker has it."""
    pins = ["%04d" % bench.random.randrange(10_000) for _ in range(200)]
    rows = [(pin,) for pin in pins]
    tokens = bench.columns(rows, "a: hmac(k, bytes=32, form=hex)")[0]
    unkeyed = {hashlib.sha256(b"%04d" % guess).hexdigest() for guess in range(10_000)}
    wrong = {hmac.new(bytes(32), b"%04d" % guess, hashlib.sha256).hexdigest() for guess in range(10_000)}
    assert not set(tokens) & (unkeyed | wrong)
    key = (bench.root / "k").read_bytes()
    reversed_ = {hmac.new(key, b"%04d" % guess, hashlib.sha256).hexdigest(): "%04d" % guess for guess in range(10_000)}
    assert [reversed_[token] for token in tokens] == pins
    # A form with few values: one in ten digits is its own token, which tells nobody that it is.
    digits = [str(digit) for digit in range(10)]
    same = sum(bench.columns([(digit,) for digit in digits], "a: form(k, context=\"%d\")" % context)[0][int(digit)]
               == digit for context in range(40) for digit in digits)
    assert 15 <= same <= 75, same


def dates(bench):
    """One known date of a person reveals the others; without one, every shift is equally likely."""
    start = datetime.date(2020, 1, 1)
    people = ["p%d" % i for i in range(1500)]
    rows = [(person, start + datetime.timedelta(days=bench.random.randrange(1500))) for person in people for _ in (0, 1)]
    moved = [datetime.date.fromisoformat(day) for day in bench.columns(rows, "a: hmac(k)", "b: shift-date(k, by=a)")[1]]
    shifts = [(after - row[1]).days for after, row in zip(moved, rows)]
    for first, second in zip(shifts[::2], shifts[1::2]):
        assert first == second  # what the attacker learns from a known date holds for the other one
    counts = collections.Counter(shifts[::2])
    assert min(counts) >= -365 and max(counts) <= 365 and 0 not in counts
    assert counts.most_common(1)[0][1] <= 15, "the best guess of a shift is right for 1 % at most"
    # Intervals stay, so somebody whose visits are known to be 3, 11 and 40 days apart is found.
    apart = [0, 3, 14, 54]
    rows = [("x", start + datetime.timedelta(days=day)) for day in apart]
    rows += [("y", start + datetime.timedelta(days=day)) for day in (0, 4, 14, 54)]
    tokens, days = bench.columns(rows, "a: hmac(k)", "b: shift-date(k, by=a)")
    by_person = collections.defaultdict(list)
    for token, day in zip(tokens, days):
        by_person[token].append(datetime.date.fromisoformat(day))
    found = [token for token, own in by_person.items() if [(day - own[0]).days for day in own] == apart]
    assert found == [tokens[0]]


def joins(bench):
    """Equal contexts join files, different ones do not, and no operation helps with the tokens of another."""
    rows = [("p%d" % i,) for i in range(500)]
    tokens = [set(bench.columns(rows, "a: " + operation)[0]) for operation in
              ("hmac(k)", "hmac(k, context=A)", "hmac(k, context=B)", "hmac(k, version=2)", "hmac(other)",
               "hmac(k, version=2, context=A)")]
    for one, other in itertools.combinations(tokens, 2):
        assert not one & other
    assert tokens[1] == set(bench.columns(rows[::-1], "a: hmac(k, context=A)")[0])
    sealed = [set(bench.columns(rows, "a: " + operation)[0]) for operation in
              ("encrypt(k)", "encrypt(k, context=A)", "encrypt(other)")]
    assert not sealed[0] & sealed[1] and not sealed[0] & sealed[2] and not sealed[1] & sealed[2]


def averages(bench):
    """Releases with one key and context have the same noise. With different ones, their average has less of it."""
    rows = [("p%d" % i, 1000) for i in range(400)]

    def error(*rules):
        releases = [[int(number) for number in bench.columns(rows, rule)[1]] for rule in rules]
        means = [sum(numbers) / len(releases) for numbers in zip(*releases)]
        return (sum((mean - 1000) ** 2 for mean in means) / len(means)) ** 0.5

    rule = "b: noise(k, sd=40, by=a%s)"
    once = error(rule % "")
    assert 34 < once < 46, once
    assert error(*[rule % ""] * 9) == once
    assert error(*[rule % ", context=\"%d\"" % i for i in range(9)]) < 0.45 * once


def two_equations(bench):
    """Two releases with one key and different arguments are not two equations for the value."""
    names = ["p%d" % i for i in range(2000)]
    truth = [bench.random.randrange(10_000) for _ in names]
    rows = list(zip(names, truth))

    def error(guesses):
        return (sum((guess - value) ** 2 for guess, value in zip(guesses, truth)) / len(truth)) ** 0.5

    few, many = ([float(number) for number in bench.columns(rows, "b: noise(k, sd=%d, by=a)" % sd)[1]]
                 for sd in (10, 1000))
    # If both had the same noise x, few = value + 10 x and many = value + 1000 x would give the value.
    solved = [(1000 * one - 10 * other) / 990 for one, other in zip(few, many)]
    assert error(solved) > error(few) > 9.2, (error(solved), error(few))
    # The best that two releases give is their average, weighted by what is known of them: hardly better than one.
    best = min(error([(1 - part) * one + part * other for one, other in zip(few, many)])
               for part in (0, 0.00005, 0.0001, 0.0002, 0.001))
    assert best > 0.97 * error(few), (best, error(few))
    # A value that is given with further decimals is as hidden as one without.
    rows = [(name, "%d.%02d" % (value, bench.random.randrange(100))) for name, value in zip(names, truth)]
    assert all(number.lstrip("-").isdigit() for number in bench.columns(rows, "b: noise(k, sd=10, by=a)")[1])

    start = datetime.date(2020, 1, 1)
    rows = [(name, start + datetime.timedelta(days=value)) for name, value in zip(names, truth)]
    near, far = ([datetime.date.fromisoformat(day) for day in
                  bench.columns(rows, "b: shift-date(k, by=a, days=%d)" % days)[1]] for days in (20, 1000))
    # With the same share of both ranges, the shift would be 20 / 980 of the days between the releases.
    right = sum(abs((one - row[1]).days - (one - other).days * 20 / (20 - 1000)) <= 1
                for one, other, row in zip(near, far, rows))
    assert right < 0.12 * len(rows), right
    # But the date is within reach of both releases.
    assert all(abs((one - row[1]).days) <= 20 and abs((other - row[1]).days) <= 1000
               for one, other, row in zip(near, far, rows))


CHECKS = (frequency, small_domains, dates, joins, averages, two_equations)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cleave", required=True, metavar="PATH", help="the binary")
    bench, failed = Bench(parser.parse_args().cleave), 0
    for check in CHECKS:
        try:
            check(bench)
            print("ok   %s" % check.__doc__.split("\n")[0])
        except AssertionError as error:
            failed += 1
            print("FAIL %s: %s" % (check.__name__, error))
    print("%d passed, %d failed" % (len(CHECKS) - failed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
