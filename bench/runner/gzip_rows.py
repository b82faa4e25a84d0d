"""Rows on gzip files, which all cores decode: beside rapidgzip, and the programs that decode with one thread."""

import random
import shutil
import subprocess
from pathlib import Path

from .bench import Bench, size_name, warm
from .by_rows import memory_folder
from .checks import joins_to, says
from .measure import OUT, Contestant, say

POOL = 64 << 20  # bytes that a file repeats; deflate sees no more than 32 KiB of them
THREADS = (1, 2, 4, 8, 16)
CITIES = ("Berlin", "New York", "São Paulo", "Reykjavík", "Ulan Bator", "Lagos", "Osaka", "Lima")


def pool_of_records() -> bytes:
    """Records as people have them: numbers, times, addresses, cities, prices, states, and a remark in quotes."""
    chance = random.Random(5)
    words = ["".join(chance.choices("abcdefghijklmnoprstuvwxyz", k=chance.randint(3, 10))) for _ in range(3000)]
    lines: list[str] = []
    time, size = 1_700_000_000, 0
    while size < POOL:
        time += chance.randint(0, 9)
        remark = " ".join(chance.choices(words, k=chance.randint(2, 9)))
        lines.append(
            f"{len(lines)},{time},{chance.choice(words)}.{chance.randint(0, 999)}@example.com,{chance.choice(CITIES)},"
            f'{chance.random() * 1000:.2f},{chance.choice(("paid", "open", "failed"))},"{remark}, ok"\n'
        )
        size += len(lines[-1])
    return "".join(lines).encode()


def real_input(bench: Bench) -> Path:
    path = bench.data / f"real-{size_name(bench.size)}.csv"
    if not path.exists():
        say(f"making {path.name}")
        pool = pool_of_records()
        unfinished = path.with_suffix(".part")
        with unfinished.open("wb") as file:
            file.write(b"id,time,user,city,amount,state,remark\n")
            for _ in range(max(1, bench.size // len(pool))):
                file.write(pool)
        unfinished.rename(path)
    return path


def gzipped(path: Path) -> Path:
    """The file, compressed with gzip -6, as most files are."""
    compressed = path.with_name(path.name + ".gz")
    if not compressed.exists():
        say(f"making {compressed.name}")
        unfinished = path.with_name(path.name + ".gz.part")
        with unfinished.open("wb") as file:
            subprocess.run(["gzip", "-6", "-c", str(path)], stdout=file, check=True)
        unfinished.rename(compressed)
    warm(compressed)
    return compressed


def decoders(bench: Bench, path: Path, threads: int) -> list[Contestant]:
    """Programs that decode the file to nothing, which leaves out counting records."""
    found = []
    if rapidgzip := bench.find("rapidgzip"):
        argv = [rapidgzip, "-P", str(threads), "-d", "-f", "-o", "/dev/null", str(path)]
        found.append(Contestant(f"rapidgzip -P {threads}", argv, is_peer=True))
        note_version(bench, "rapidgzip", rapidgzip)
    for name in ("gzip", "pigz", "igzip", "libdeflate-gunzip") if threads == 1 else ():
        if program := bench.find(name):
            found.append(Contestant(name, [program, "-d", "-c", str(path)], stdout="/dev/null", is_peer=True))
            note_version(bench, name, program)
    return found


def note_version(bench: Bench, name: str, program: str) -> None:
    option = "-V" if name.startswith("libdeflate") else "--version"
    done = subprocess.run([program, option], capture_output=True, text=True, check=False)
    bench.results.versions[name] = ((done.stdout or done.stderr).splitlines() or ["unknown"])[0]


def count_rows(bench: Bench, kind: str, path: Path, records: int) -> None:
    compressed = gzipped(path)
    size = path.stat().st_size
    for threads in (count for count in THREADS if count <= bench.threads()):
        ours = bench.run("cleave count", "count", "-j", threads, compressed)
        ours.check = says(records)
        others = decoders(bench, compressed, threads)
        race = bench.race(f"gzip/{kind}/{threads}", f"count of {kind}.csv.gz, -j {threads}", size, [ours, *others])
        for other in others:
            must, goal = ("<= 1.2", "<= 1.0") if threads == max(THREADS) else ("", "")
            bench.compare_time(race, f"count of .gz, {kind}, -j {threads}, time of {other.name}", ours.name, other.name,
                               must, goal)


def split_row(bench: Bench, path: Path) -> None:
    """split -n 8 of the compressed file, against decoding it to a file and splitting that."""
    where = memory_folder()
    rapidgzip = bench.find("rapidgzip")
    if not where or not rapidgzip:
        bench.skip("split -n 8 of .gz: no tmpfs, or no rapidgzip")
        return
    compressed = gzipped(path)
    threads = bench.threads()
    ours = bench.run("cleave split -n 8", "split", "-n", 8, "-j", threads, "-o", f"{OUT}/{{i}}.csv", compressed)
    ours.check_files = joins_to(path, len(path.open("rb").readline()))
    script = f"{rapidgzip} -P {threads} -d -f -o {OUT}/plain {compressed} && split -n l/8 {OUT}/plain {OUT}/piece. && rm {OUT}/plain"
    theirs = Contestant("rapidgzip, split", ["sh", "-c", script], is_peer=True)
    race = bench.race("gzip/split", "split -n 8 of real.csv.gz into a tmpfs", path.stat().st_size, [ours, theirs],
                      out=where / "gzip-out")
    bench.compare_time(race, "split -n 8 of .gz, time of rapidgzip -d and split -n", ours.name, theirs.name,
                       "<= 0.6" if threads >= max(THREADS) else "")


def gzip(bench: Bench) -> None:
    """count and split of gzip files."""
    if not shutil.which("gzip"):
        bench.skip("gzip: it is not here")
        return
    real, quoted = real_input(bench), bench.input("quoted")
    count_rows(bench, "real", real, bench.records(real))
    count_rows(bench, "quoted", quoted, bench.records(quoted))
    split_row(bench, real)
