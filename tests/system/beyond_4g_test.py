#!/usr/bin/env python3
"""Inputs, records, fields and pieces larger than 4 GiB: no offset or size is kept in 32 bits.

  beyond_4g_test.py --cleave PROGRAM [--quick] [--python PYTHON] [--folder FOLDER] [--only SUBSTRING]

The inputs are sparse files: there are short records around bytes 2^31 and 2^32, and between them long records of NUL
bytes, which take up no disk space. The expected results follow from where the records were put. Pieces are compared
through checksums, which a --filter command computes, except in checks about files; those are skipped if the disk has
too little room. --quick leaves out everything that takes seconds. --python is an interpreter with the module cleave.
"""
import argparse
import contextlib
import gzip
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "tools"))
from large_test import Group  # noqa: E402
from sparse import GIB, HEADER, PART, Sparse, make_many, make_sparse, member_of_zeros, sum_of_file  # noqa: E402
from verdicts import Skip, Tally, need, need_tool  # noqa: E402

DIALECT = ["-d", ",", "--terminator", "lf"]
SUM = ("import sys, zlib\n"
       "crc = size = 0\n"
       "while part := sys.stdin.buffer.read(%d): crc, size = zlib.crc32(part, crc), size + len(part)\n"
       "print(crc, size)\n" % PART)
FILTER = "%s -S -c '%s' >$FILE" % (sys.executable, SUM)


class Bench:
    def __init__(self, program, folder, python):
        self.program = os.path.abspath(program)
        self.folder = folder
        self.python = python
        self.sparse = make_sparse(self.at("sparse.csv"))

    def at(self, name):
        return os.path.join(self.folder, name)

    def start(self, *words, source=None):
        return subprocess.Popen([self.program, *words], cwd=self.folder, stdin=source or subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def run(self, *words, code=0, says="", data=None, piped=None):
        """Returns the output of the command. `piped` is a file to feed to it through a pipe."""
        with contextlib.ExitStack() as stack:
            source = subprocess.PIPE if data is not None else None
            if piped:
                feeder = stack.enter_context(subprocess.Popen(["cat", piped], stdout=subprocess.PIPE))
                source = feeder.stdout
            process = stack.enter_context(self.start(*words, source=source))
            if piped:
                feeder.stdout.close()
            printed, errors = process.communicate(data, timeout=1800)
        errors = errors.decode(errors="replace")
        need(process.returncode == code and says in errors,
             "%s: exit %d, not %d with %r: %s" % (" ".join(words), process.returncode, code, says, errors))
        return printed

    def sum_of(self, *words, piped=None):
        """Returns the CRC-32 and the size of the command's output."""
        with contextlib.ExitStack() as stack:
            feeder = stack.enter_context(subprocess.Popen(["cat", piped], stdout=subprocess.PIPE)) if piped else None
            process = stack.enter_context(self.start(*words, source=feeder and feeder.stdout))
            if feeder:
                feeder.stdout.close()
            summed = sum_of_file(process.stdout)
            errors = process.stderr.read().decode(errors="replace")
        need(process.returncode == 0, "%s: %s" % (" ".join(words), errors))
        return summed

    @contextlib.contextmanager
    def output(self, room=0):
        """Yields an empty folder on a disk that has room for that many bytes."""
        if shutil.disk_usage(self.folder).free < room + 10 * GIB:
            raise Skip("less than %d GiB are free in %s" % (room // GIB + 10, self.folder))
        with tempfile.TemporaryDirectory(dir=self.folder) as out:
            yield out

    def expect_sums(self, sparse, wanted, *words, piped=None):
        """Splits through a filter that computes checksums, and expects the pieces to be these (first, end) ranges of
        records."""
        with self.output() as out:
            self.run("split", *words, "--filter", FILTER, "-o", os.path.join(out, "{i:04}"),
                     "-" if piped else sparse.path, piped=piped)
            names = sorted(os.listdir(out))
            need(len(names) == len(wanted), "%s: %d pieces, not %d" % (words, len(names), len(wanted)))
            for name, (first, end) in zip(names, wanted):
                with open(os.path.join(out, name), encoding="ascii") as file:
                    got = tuple(map(int, file.read().split()))
                wanted_sum = sparse.sum(sparse.starts[first], sparse.starts[end])
                need(got == wanted_sum, "%s: piece %s differs" % (words, name))


def counted(bench):
    sparse = bench.sparse
    need(bench.run("count", sparse.path) == b"%d\n" % sparse.records, "another count")
    wanted = sparse.offsets([(at, at + 1) for at in range(sparse.records)])
    need(bench.run("offsets", "-l", "1", sparse.path) == wanted, "other records")
    for words, pieces in ((["-n", "7"], sparse.by_number(7)), (["-C", "3G"], sparse.by_size(3 << 30)),
                          (["-C", "5G"], sparse.by_size(5 << 30))):
        need(bench.run("offsets", *words, sparse.path) == sparse.offsets(pieces), "other pieces: %s" % words)
    starts = [sparse.starts[first] for first, _ in sparse.by_number(7)] + [sparse.size]
    got = bench.run("offsets", "-n", "7", "--format", "u64", sparse.path)
    need(got == struct.pack("<8Q", *starts), "other binary numbers")


def printed(bench):
    sparse = bench.sparse
    got = bench.run("cat", "--header", "drop", "-r", "%d-%d" % (sparse.records, sparse.records), sparse.path)
    need(got == sparse.record(sparse.records), "the last record differs: %r" % got[:100])
    got = bench.run("cat", "--header", "drop", "-n", "1000/1000", sparse.path)
    need(got == sparse.read(sparse.starts[sparse.by_number(1000)[-1][0]], sparse.size), "the last piece differs")


def expect_same(one, other):
    need(subprocess.run(["cmp", one, other], check=False).returncode == 0, "%s differs" % one)


def expect_indexed(bench):
    sparse = bench.sparse
    need(bench.run("count", "--index", "require", sparse.path) == b"%d\n" % sparse.records, "another count")
    for words, pieces in ((["-n", "7"], sparse.by_number(7)), (["-C", "3G"], sparse.by_size(3 << 30))):
        got = bench.run("offsets", *words, "--index", "require", sparse.path)
        need(got == sparse.offsets(pieces), "other pieces: %s" % words)
    for number in (1, 5003, 5105, sparse.records - 150, sparse.records - 50, sparse.records):
        got = bench.run("cat", "--header", "drop", "-r", "%d-%d" % (number, number), "--index", "require", sparse.path)
        need(got == sparse.record(number), "record %d differs" % number)


def by_index(bench):
    """An index built from the description of its format, so that the holes need not be read."""
    with open(bench.at("small.csv"), "wb") as file:
        file.write(HEADER + b"1,2,3\n")
    bench.run("index", "small.csv")
    with open(bench.at("small.csv.cleave"), "rb") as file:
        bench.index = bench.sparse.index(file.read()[16:24])
    with open(bench.sparse.path + ".cleave", "wb") as file:
        file.write(bench.index)
    os.chmod(bench.sparse.path + ".cleave", 0o600)
    expect_indexed(bench)
    os.remove(bench.sparse.path + ".cleave")


def indexed(bench):
    bench.run("index", bench.sparse.path)
    with open(bench.sparse.path + ".cleave", "rb") as file:
        need(file.read() == bench.index, "the index is another one")
    os.remove(bench.sparse.path + ".cleave")


def expect_planned(bench, summaries):
    sparse, last = bench.sparse, 5250   # the number of records before a cut beyond 4 GiB
    for words, pieces in ((["-l", str(last)], [(0, last), (last, sparse.records)]),
                          (["-n", "1000"], sparse.by_number(1000))):
        with open(bench.at("plan.json"), "wb") as file:
            file.write(bench.run("plan", *words, data=b"".join(summaries)))
        got = bench.run("offsets", "--plan", "plan.json", sparse.path)
        need(got == sparse.offsets(pieces), "other pieces: %s" % words)
    got = bench.run("cat", "--plan", "plan.json", "-n", "1000", sparse.path)
    need(got == HEADER + sparse.read(sparse.starts[pieces[-1][0]], sparse.size), "the last piece differs")


def scanned(bench, begin, end):
    return bench.run("scan", "-r", "%d-%d" % (begin, end), *DIALECT, bench.sparse.path)


def by_ranges(bench):
    """Summaries of holes are the same however long the hole is, so only a few bytes of each need to be read."""
    summaries, at = [], 0
    for start, end in [hole for hole in bench.sparse.holes if hole[1] - hole[0] > PART]:
        some = scanned(bench, start, start + 70_000)
        summaries += [scanned(bench, at, start),
                      some.replace(b"[%d,%d]" % (start, start + 70_000), b"[%d,%d]" % (start, end))]
        at = end
    expect_planned(bench, [*summaries, scanned(bench, at, bench.sparse.size)])


def by_whole_ranges(bench):
    """Scanned in several ranges, and in a single range larger than 4 GiB."""
    for inner in ([1 << 31, (1 << 32) - 1, 1 << 32, (1 << 32) + 70_001], []):
        bounds = [0, *inner, bench.sparse.size]
        expect_planned(bench, [scanned(bench, begin, end) for begin, end in zip(bounds, bounds[1:])])


# For each fault: the bytes to append, the fault's entry in the report, its offset within those bytes, the exit status.
FAULTS = [(b"1,2\n", lambda report: report["ragged"]["first"], 3, 3),
          (b'1,2,5" x\n', lambda report: report["stray_quotes"]["first"], 5, 0),
          (b'1,2,"open\n', lambda report: report["open_quote"], 4, 3)]


def faults(bench):
    """Each fault is reported at the right byte and record, and the message gives its line."""
    sparse, size = bench.sparse, bench.sparse.size
    sparse.file.seek(0)
    lines = 1 + sum(part.count(b"\n") for part in iter(lambda: sparse.file.read(PART), b""))
    for tail, found_in, byte, code in FAULTS:
        sparse.file.seek(size)
        sparse.file.write(tail)
        sparse.file.flush()
        found = found_in(json.loads(bench.run("check", "--json", "-d", ",", sparse.path, code=code)))
        shown = bench.run("check", "-d", ",", sparse.path, code=code)
        need(code == 0 or b"line %d," % lines in shown, "the line of %r is not %d: %s" % (tail, lines, shown))
        sparse.file.truncate(size)
        need(found == {"byte": size + byte, "record": sparse.records + 1}, "%r is found at %s" % (tail, found))


def long_record(bench):
    """A field, quoted or unquoted, and a record, each larger than 4 GiB."""
    for quoted in (True, False):
        sparse = Sparse(bench.at("long.csv"))
        sparse.add_shorts(5000)
        sparse.add_long((1 << 32) + (3 << 20), quoted)
        sparse.add_shorts(100)
        sparse.done()
        need(bench.run("count", sparse.path) == b"%d\n" % sparse.records, "another count")
        need(bench.run("offsets", "-l", "2500", sparse.path) == sparse.offsets([(0, 2500), (2500, 5000), (5000, 5101)]),
             "other offsets")
        longest = json.loads(bench.run("check", "--json", "-d", ",", sparse.path))["longest_record"]
        size = sparse.starts[5001] - sparse.starts[5000]
        wanted = {"byte": sparse.starts[5000], "record": 5001, "size": size}
        need(longest == wanted, "the longest record is %s" % longest)
        for source in (None, sparse.path):
            got = bench.run("cat", "--header", "drop", "-r", "5002-5003", source and "-" or sparse.path, piped=source)
            need(got == sparse.record(5002) + sparse.record(5003), "the records behind it differ")
        bench.run("cat", "-d", ",", "--select", "id", sparse.path, code=3, says="record 5001")
        os.remove(sparse.path)


def piped(bench):
    sparse = bench.sparse
    need(bench.run("count", "-", piped=sparse.path) == b"%d\n" % sparse.records, "another count")
    wanted = sparse.offsets([(at, at + 1) for at in range(sparse.records)])
    need(bench.run("offsets", "-l", "1", "-", piped=sparse.path) == wanted, "other records")
    need(bench.sum_of("cat", "--header", "first", "-", piped=sparse.path) == sparse.whole_sum(), "other bytes")
    bench.expect_sums(sparse, sparse.by_size(3 << 30), "-C", "3G", piped=sparse.path)
    report = json.loads(bench.run("check", "--json", "-d", ",", "-", piped=sparse.path))
    need(report["records"] == sparse.records and report["sound"], "check: %s" % report)


def split_sums(bench):
    sparse = bench.sparse
    bench.expect_sums(sparse, [(0, sparse.records)], "-n", "1")
    bench.expect_sums(sparse, sparse.by_number(3), "-n", "3")
    need(bench.sum_of("cat", "--header", "first", sparse.path) == sparse.whole_sum(), "cat: other bytes")


def split_files(bench):
    """A piece larger than 4 GiB is written, checksummed, compared under --resume, and joined."""
    sparse = bench.sparse
    with bench.output(10 * GIB) as out:
        words = ["split", "-n", "1", "--checksum", "--manifest", os.path.join(out, "m"), "-o", os.path.join(out, "{i}"),
                 sparse.path]
        bench.run(*words)
        piece = os.path.join(out, "1")
        expect_same(piece, sparse.path)
        with open(os.path.join(out, "m"), encoding="ascii") as file:
            told = json.load(file)["pieces"][0]
        need((told["size"], told["length"]) == (sparse.size, sparse.size - len(HEADER)), "the manifest says %s" % told)
        bench.run(*words, "--resume")
        need(bench.sum_of("join", "--manifest", os.path.join(out, "m")) == sparse.whole_sum(), "join differs")
        with open(piece, "r+b") as file:
            file.seek((1 << 32) + 5)
            file.write(b"#")
        bench.run(*words, "--resume", code=1, says="1")


def shared(bench):
    """Pieces that share blocks with the input, one of them larger than 4 GiB."""
    image, directory = bench.at("image"), bench.at("mounted")
    with open(image, "wb") as file:
        file.truncate(3 * GIB)
    os.mkdir(directory)
    for command in ([need_tool("mkfs.xfs"), "-q", image], ["mount", "-o", "loop", image, directory]):
        if subprocess.run(command, capture_output=True, check=False).returncode != 0:
            raise Skip("%s fails" % command[0])
    try:
        sparse = make_sparse(bench.at("mounted/sparse.csv"))
        bench.run("split", "-n", "1", "--reflink", "always", "-o", "mounted/{i}", sparse.path)
        expect_same(bench.at("mounted/1"), sparse.path)
        sparse.file.close()
    finally:
        subprocess.run(["umount", directory], check=True)
        os.remove(image)


def ruled(bench):
    sparse = make_many(bench.at("many.csv"))
    ids = b"".join(b"%d\n" % (at + 1) for at in range(sparse.records))
    for source in (None, sparse.path):
        name = "-" if source else sparse.path
        got = bench.run("cat", "--header", "drop", "-d", ",", "--select", "id", name, piped=source)
        need(got == ids, "other records")
        crc = size = 0
        for at in range(sparse.records):   # the records without the column `key`
            number, _, text = sparse.record(at + 1).split(b",", 2)
            line = number + b"," + text
            crc, size = zlib.crc32(line, crc), size + len(line)
        words = ["cat", "--header", "drop", "-d", ",", "--select", "!key", name]
        need(bench.sum_of(*words, piped=source) == (crc, size), "other bytes without the key")
    with bench.output(6 * GIB):
        spooled = ["--spool", "plain", "-d", ",", "--redact-default", "keep"]
        bench.expect_sums(sparse, sparse.by_number(3), "-n", "3", *spooled, piped=sparse.path)
    rules = ["--redact", "text: null", "--redact", "id,key: keep"]
    want = b"".join(b"%d,%s,\n" % (at + 1, b"ab"[at % 2:at % 2 + 1]) for at in range(sparse.records))
    need(bench.run("cat", "--header", "drop", "-d", ",", *rules, sparse.path) == want, "other values")


def by_value(bench):
    sparse = make_many(bench.at("many.csv"), lambda number: b"b" if number % 100 == 99 else b"a")
    others = [99, 199, 299]
    with bench.output(16 * GIB) as out:
        for source in (None, sparse.path):
            bench.run("split", "--by", "key", "-f", "--mkdir", "-o", os.path.join(out, "{value}"), "-d", ",",
                      "-" if source else sparse.path, piped=source)
            need(sorted(os.listdir(out)) == ["a", "b"], "there are %s" % os.listdir(out))
            with open(os.path.join(out, "b"), "rb") as file:
                small = HEADER + b"".join(sparse.record(at + 1) for at in others)
                need(file.read() == small, "the small piece differs")
            wanted = sparse.sum_of_records([at for at in range(sparse.records) if at not in others])
            need(wanted[1] > 1 << 32, "the piece is small")
            with open(os.path.join(out, "a"), "rb") as file:
                need(sum_of_file(file) == wanted, "the large piece differs")


def grouped(bench):
    """With little memory, the records of each value are collected in a temporary file, in windows of 256 MiB."""
    sparse = make_many(bench.at("many.csv"))
    with bench.output(6 * GIB) as out, Group(1200 << 20) as group:
        command = [bench.program, "split", "--by", "key", "-d", ",", "--filter", FILTER, "-o", out + "/{value}"]
        done = subprocess.run([*command, sparse.path], capture_output=True, check=False, preexec_fn=group.enter)
        need(done.returncode == 0, "exit %d: %s" % (done.returncode, done.stderr))
        for first, value in enumerate("ab"):
            wanted = sparse.sum_of_records(range(first, sparse.records, 2))
            with open(os.path.join(out, value), encoding="ascii") as file:
                need(file.read() == "%d %d\n" % wanted, "the piece %s differs" % value)


def together(bench):
    """A run of equal values larger than 4 GiB stays whole. Values are found in records that span several GiB."""
    sparse = bench.sparse
    keys = [sparse.read(start, start + 20).split(b",")[1] for start in sparse.starts[:-1]]
    cuts = [0]
    for first, _ in sparse.by_number(7)[1:]:
        cuts.append(next((at for at in range(first, sparse.records) if keys[at] != keys[at - 1]), sparse.records))
    got = bench.run("offsets", "-n", "7", "--together", "key", "-d", ",", sparse.path)
    need(got == sparse.offsets(list(zip(cuts, [*cuts[1:], sparse.records]))), "other pieces: %s" % got)
    words = ["split", "--by", "key", "-d", ",", "-o", "{value}", sparse.path]
    bench.run(*words, code=3, says="more than 1073741824 bytes")
    sparse = make_many(bench.at("many.csv"), lambda number: b"a" if number < 315 else b"b")
    for words in (["-n", "2"], ["-C", "5G"]):
        got = bench.run("offsets", *words, "--together", "key", "-d", ",", sparse.path)
        wanted = [(0, 315), (315, 330)] if words[0] == "-n" else [(0, 330)]
        need(got == sparse.offsets(wanted), "%s: other pieces: %s" % (words, got))


def sampled(bench):
    sparse = bench.sparse
    words = ["sample", "--seed", "3", "--header", "drop", sparse.path]
    wanted = sparse.sum(len(HEADER), sparse.size, with_header=False)
    need(bench.sum_of(*words, "-k", str(sparse.records)) == wanted, "not all records")
    drawn = bench.run(*words, "-k", "100")
    numbers = [int(each.split(b",")[0]) for each in drawn.replace(b"\nb", b"").splitlines()]
    need(len(numbers) == 100 and sparse.starts[numbers[-1] - 1] > 1 << 32, "none behind 4 GiB is drawn: %s" % numbers)
    need(drawn == b"".join(map(sparse.record, numbers)), "other records")


COLUMNS = """
import sys, cleave, pyarrow
file = cleave.open(sys.argv[1], delimiter=",")
print(file.records, *file.split(n=7).starts)
for batch in pyarrow.RecordBatchReader.from_stream(file.select(*sys.argv[2:])):
    for row in zip(*(column.to_pylist() for column in batch.columns)): print(*row)
"""


def columns(bench):
    """Python reads columns from records beyond the first 4 GiB."""
    if bench.python is None:
        raise Skip("there is no --python")
    sparse = make_many(bench.at("many.csv"))
    done = subprocess.run([bench.python, "-c", COLUMNS, sparse.path, "id", "key"], capture_output=True, text=True,
                          check=False)
    need(done.returncode == 0, "it fails: " + done.stderr)
    starts = [str(sparse.starts[first]) for first, _ in sparse.by_number(7)]
    wanted = [" ".join([str(sparse.records), *starts])]
    wanted += ["%d %s" % (at + 1, "ab"[at % 2]) for at in range(sparse.records)]
    need(done.stdout.splitlines() == wanted, "other values: %s" % done.stdout[:200])


def decompressed(bench):
    member, total, crc = member_of_zeros((1 << 32) + (128 << 20))
    with open(bench.at("one.csv.gz"), "wb") as file:
        file.write(member)
    need(bench.run("count", "one.csv.gz") == b"2\n", "another count")
    second = bench.run("offsets", "-l", "1", "one.csv.gz").splitlines()[1]
    need(second == b"2\t%d\t10\t2\t1" % (total - 10), "other offsets: %s" % second)
    need(bench.sum_of("cat", "--header", "first", "one.csv.gz") == (crc, total), "other bytes")
    need(bench.run("cat", "--header", "drop", "-r", "2-2", "one.csv.gz") == b"2,short,x\n", "another record")
    zstd = need_tool("zstd")
    with open(bench.at("sparse.zst"), "wb") as file:
        subprocess.run([zstd, "-1cq", bench.sparse.path], stdout=file, check=True)
    need(bench.run("count", "sparse.zst") == b"%d\n" % bench.sparse.records, "zstd: another count")


def compressed(bench):
    sparse = bench.sparse
    with bench.output(5 * GIB) as out:
        bench.run("split", "-n", "1", "--compress", "gzip:1", "-o", os.path.join(out, "{i}"), sparse.path)
        with gzip.open(os.path.join(out, "1.gz")) as file:
            summed = sum_of_file(file)
        need(summed == sparse.whole_sum(), "gzip: other bytes")
        bench.run("split", "-f", "-n", "1", "--compress", "zstd:1", "-o", os.path.join(out, "{i}"), sparse.path)
        subprocess.run([need_tool("zstd"), "-dq", os.path.join(out, "1.zst")], check=True)
        expect_same(os.path.join(out, "1"), sparse.path)


QUICK = [by_index, by_ranges]
SLOW = [counted, printed, indexed, by_whole_ranges, faults, long_record, piped, split_sums, split_files,
        shared, sampled, ruled, by_value, grouped, together, columns, decompressed, compressed]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cleave", required=True, metavar="PROGRAM")
    parser.add_argument("--quick", action="store_true", help="some seconds, for ctest")
    parser.add_argument("--python", metavar="PYTHON", help="an interpreter that has the module cleave")
    parser.add_argument("--folder", default="/var/tmp", help="of temporary files, on a disk [/var/tmp]")
    parser.add_argument("--only", default="", metavar="SUBSTRING", help="of a check's name")
    arguments = parser.parse_args()
    tally = Tally()
    with tempfile.TemporaryDirectory(prefix="beyond_4g.", dir=arguments.folder) as folder:
        bench = Bench(arguments.cleave, folder, arguments.python)
        for check in QUICK if arguments.quick else QUICK + SLOW:
            if arguments.only in check.__name__:
                tally.run(check.__name__, lambda check=check: check(bench))
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
