"""Rows on records that are rewritten: columns selected, values replaced, masked and turned into tokens."""

import base64
import csv
import hashlib
import hmac
import os
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from .bench import Bench, faster, size_name
from .checks import says
from .limit_rows import compare_memory
from .measure import OUT, Contestant, Race, WrongAnswer, in_order
from .split_rows import COPIERS, SLOW_SIZE, copiers
from .tools import NOTHING, maskers, pseudonymisers, selectors

KINDS = ("people", "people-quoted")
CHECKED_SIZE = 1 << 20  # on an input of this size, every program's output is compared with Python's
GIANT_SIZE = 24 << 20  # its giant record is almost as large as --max-record allows
MEMORY_THREADS = 2
MEMORY_LIMIT = "<= 64"
KEY = bytes(range(32))

COLUMNS = ("id", "mail", "code")
FIXED = ("--redact", 'code: fixed("x")')
MASK = ("--redact", "phone: mask", "--redact", "mail: mask if status = public", "--redact", "mail: keep")
TOKEN = "mail: hmac(k)"

# The ratio of our speed to theirs: required, and the goal.
SELECT_OVER = {
    "xsv select": (">= 12", ">= 24"),
    "qsv select": (">= 8", ">= 16"),
    "xan select": (">= 5", ">= 10"),
    "xan select, in any order": (">= 5", ">= 10"),
    "Miller select": (">= 40", ">= 80"),
}
MASK_OVER = {"DuckDB mask": ">= 5", "Miller mask": ">= 40"}

Values = dict[str, str]  # the values of a record, by column
Racers = Callable[[Path], list[Contestant]]


def stages(bench: Bench) -> None:
    """Every kind of stage against a copy of the file, other tools, and the part of the work that cannot be avoided."""
    for kind in KINDS:
        fixed(bench, kind)
        select(bench, kind)
        mask(bench, kind)
        token(bench, kind)
        memory(bench, kind)
    giant_memory(bench)


def fixed(bench: Bench, kind: str) -> None:
    """A column replaced while the file is cut, against a copy of the file."""
    ours = "cleave split -n 10 --redact fixed"

    def racers(path: Path) -> list[Contestant]:
        return [splitter(bench, ours, path, FIXED)]

    def change(record: Values) -> Values:
        return {**record, "code": "x"}

    verify(bench, kind, racers, change)
    path = bench.input(kind)
    title = f"splitting with a column replaced, {kind}"
    race = bench.race(f"stages/fixed/{kind}", title, path.stat().st_size, [*racers(path), *copiers(path)])
    row = f"split -n 10 --redact fixed, {kind}, time of the faster cp"
    bench.compare_time(race, row, ours, faster(race, COPIERS), "<= 1.5", "<= 1.0")


def select(bench: Bench, kind: str) -> None:
    """3 of 12 columns, to /dev/null, against other tools."""
    ours = "cleave cat --select"

    def racers(is_slow: bool, path: Path) -> list[Contestant]:
        columns = ",".join(COLUMNS)
        tools = selectors(bench, path, columns, is_slow)
        return [printer(bench, ours, path, "--select", columns), *tools]

    def change(record: Values) -> Values:
        return {name: record[name] for name in COLUMNS}

    for race in beside_tools(bench, "select", "selecting 3 of 12 columns", kind, racers, change):
        for theirs in list(race.times)[1:]:
            row = f"cat --select, {kind}, over {theirs}"
            bench.compare_speed(race, row, ours, theirs, *SELECT_OVER.get(theirs, ()))


def mask(bench: Bench, kind: str) -> None:
    """2 columns masked, one of them on a condition. The other tools write one file."""
    ours = "cleave split -n 10 --redact mask"

    def racers(is_slow: bool, path: Path) -> list[Contestant]:
        return [splitter(bench, ours, path, MASK), *maskers(bench, path, is_slow)]

    def change(record: Values) -> Values:
        mail = "*" * len(record["mail"]) if record["status"] == "public" else record["mail"]
        return {**record, "phone": "*" * len(record["phone"]), "mail": mail}

    for race in beside_tools(bench, "mask", "masking 2 columns", kind, racers, change):
        for theirs in list(race.times)[1:]:
            row = f"split -n 10 --redact mask, {kind}, over {theirs}"
            bench.compare_speed(race, row, ours, theirs, MASK_OVER.get(theirs, ""))


def token(bench: Bench, kind: str) -> None:
    """A column of tokens, to /dev/null, against the same HMACs alone, and against a tool that numbers values."""
    ours, loop = "cleave cat --redact hmac", "hash_loop"
    key = key_file(bench)

    def loop_over(path: Path) -> Contestant:
        argv = [bench.program("hash_loop"), str(path), "mail", str(key), str(bench.threads())]
        return Contestant(loop, argv, times_itself=True)

    def printing(path: Path) -> list[Contestant]:
        return [printer(bench, ours, path, *redact_tokens(key))]

    def numbering(path: Path) -> list[Contestant]:
        return pseudonymisers(bench, path, "mail")

    def change(record: Values) -> Values:
        digest = mac(record["mail"])[:16]
        return {**record, "mail": base64.urlsafe_b64encode(digest).decode().rstrip("=")}

    numbers: dict[str, int] = {}

    def number(record: Values) -> Values:
        return {**record, "mail": str(numbers.setdefault(record["mail"], len(numbers)))}

    verify(bench, kind, printing, change)
    verify_loop(bench, loop_over(small(bench, kind)), small(bench, kind))
    wrong = verify(bench, kind, numbering, number)
    path = bench.input(kind)
    hashing = loop_over(path)
    hashing.check = says(bench.records(path))
    tools = right(numbering(path), wrong)
    title = f"tokens of a column, {kind}"
    race = bench.race(f"stages/hmac/{kind}", title, path.stat().st_size, [*printing(path), hashing, *tools])
    row = f"cat --redact hmac, {kind}"
    bench.compare_time(race, f"{row}, time of the same HMACs in memory", ours, loop, "<= 1.3", "<= 1.1")
    for tool in tools:
        bench.compare_speed(race, f"{row}, over {tool.name}", ours, tool.name, ">= 10")


def memory(bench: Bench, kind: str) -> None:
    path = bench.input(kind)
    j = ("-j", MEMORY_THREADS)
    for name, contestant in (
        ("cat --select", printer(bench, "", path, *j, "--select", ",".join(COLUMNS))),
        ("cat --redact hmac", printer(bench, "", path, *j, *redact_tokens(key_file(bench)))),
        ("split -n 10 --redact mask", splitter(bench, "", path, (*j, *MASK))),
    ):
        row = f"{name}, {kind}, {MEMORY_THREADS} threads, {size_name(bench.size)}, anonymous memory"
        compare_memory(bench, row, contestant, MEMORY_LIMIT)


def giant_memory(bench: Bench) -> None:
    path = bench.input("giant", GIANT_SIZE)
    ours = printer(bench, "", path, "-j", MEMORY_THREADS, "--redact", "name: mask")
    row = f"cat --redact mask, a record of {GIANT_SIZE * 3 // 5 >> 20} MiB, {MEMORY_THREADS} threads, anonymous memory"
    compare_memory(bench, row, ours, MEMORY_LIMIT)


# Contestants


def printer(bench: Bench, name: str, path: Path, *options: object) -> Contestant:
    """cleave cat with these options, to /dev/null."""
    return replace(bench.run(name, "cat", "--quiet", *options, path), stdout=NOTHING)


def splitter(bench: Bench, name: str, path: Path, options: tuple[object, ...]) -> Contestant:
    """cleave split into 10 pieces with these options."""
    return bench.run(name, "split", "--quiet", "-n", 10, *options, "-o", f"{OUT}/{{i}}.csv", path)


def redact_tokens(key: Path) -> tuple[str, ...]:
    return ("--key", f"k=file:{key}", "--redact", TOKEN)


def key_file(bench: Bench) -> Path:
    """A key that only its owner may read."""
    path = bench.data / "key"
    if not path.exists():
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(KEY)
    return path


def beside_tools(
    bench: Bench,
    job: str,
    title: str,
    kind: str,
    racers: Callable[[bool, Path], list[Contestant]],
    change: Callable[[Values], Values],
) -> list[Race]:
    """A race with the fast tools, and one on a smaller file with the slow ones. Our contestant comes first."""
    races = []
    for is_slow, size in ((False, bench.size), (True, min(bench.size, SLOW_SIZE))):
        wrong = verify(bench, kind, partial(racers, is_slow), change)
        path = bench.input(kind, size)
        contestants = right(racers(is_slow, path), wrong)
        name = f"stages/{job}/{kind}" + ("/slow" if is_slow else "")
        races.append(bench.race(name, f"{title}, {path.stem}", path.stat().st_size, contestants))
    return races


# Answers


def small(bench: Bench, kind: str) -> Path:
    return bench.input(kind, CHECKED_SIZE)


def right(contestants: list[Contestant], wrong: set[str]) -> list[Contestant]:
    return [contestant for contestant in contestants if contestant.name not in wrong]


def verify(bench: Bench, kind: str, racers: Racers, change: Callable[[Values], Values]) -> set[str]:
    """Runs every contestant on a small input and compares the values. Returns the names of tools that are wrong."""
    path = small(bench, kind)
    header, *records = values_in([path])
    changed = [change(dict(zip(header, record))) for record in records]
    expected = [list(changed[0]), *(list(record.values()) for record in changed)]

    def check(keeps_order: bool, folder: Path) -> None:
        found = values_in(in_order(folder))
        if not keeps_order:
            found.sort()
        wanted = expected if keeps_order else sorted(expected)
        if found != wanted:
            place = next((i for i, (a, b) in enumerate(zip(found, wanted)) if a != b), min(len(found), len(wanted)))
            raise WrongAnswer(f"record {place} of {path.name} is wrong")

    contestants = [
        replace(
            contestant,
            check_files=partial(check, contestant.keeps_order),
            stdout=f"{OUT}/out.csv" if contestant.stdout else "",
        )
        for contestant in racers(path)
    ]
    wrong = set()
    if contestants:
        race = bench.track.race("check", f"what is written, {path.stem}", path.stat().st_size, contestants, rounds=1)
        for name, times in race.times.items():
            if times.note:
                wrong.add(name)
                bench.skip(f"{name}, {kind}: {times.note}")
    return wrong


def verify_loop(bench: Bench, loop: Contestant, path: Path) -> None:
    """Checks that the loop hashes the right values."""
    header, *records = values_in([path])
    mail = header.index("mail")
    sum_of_starts = 0
    for record in records:
        sum_of_starts ^= int.from_bytes(mac(record[mail])[:8], "little")
    expected = f"{len(records)} {sum_of_starts:x}"

    def check(output: str) -> None:
        if output.strip() != expected:
            raise WrongAnswer(f"answers {output!r}, not {expected!r}")

    race = [replace(loop, check=check)]
    bench.track.race("check", f"what is hashed, {path.stem}", path.stat().st_size, race, rounds=1)


def mac(value: str) -> bytes:
    return hmac.new(KEY, value.encode(), hashlib.sha256).digest()


def values_in(paths: list[Path]) -> list[list[str]]:
    """All records of the files, with the header once."""
    records: list[list[str]] = []
    for path in paths:
        with path.open(newline="", encoding="utf-8") as file:
            found = list(csv.reader(file))
        records += found[1:] if records and found[:1] == records[:1] else found
    return records
