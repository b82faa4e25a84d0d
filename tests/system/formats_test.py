#!/usr/bin/env python3
"""Reads files that older versions of the command wrote, and compares the files that this version writes with those
that are kept.

  formats_test.py --cleave PROGRAM [--module SIMULATED_MODULE] [--keep]

data/formats.tar holds a file of each version of each format that any commit has ever written; data/formats.md says
which command produced it. A check of reading passes if the file is used and gives exactly the expected result, or is
refused with a message that names its version. A check of writing writes the file again and compares it byte for byte
with the newest kept file, except for what differs between machines (inodes, times of status changes, rates). To change what is
written, choose a new version, for which --keep adds a file; the old file stays, and must remain readable.
"""
import argparse
import csv
import io
import json
import os
import re
import stat
import struct
import subprocess
import sys
import tarfile
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "tools"))
from verdicts import Skip, Tally, need, need_sight, need_tool  # noqa: E402

DATA = os.path.join(HERE, "..", "..", "data")
KEPT = os.path.join(DATA, "formats.tar")
WRITTEN_NS = 1767323045678901234   # the modification time of each input
DIALECT = ["-d", ",", "--terminator", "lf"]
RANGES = ["0-500", "500-900", "900-"]
PIECES = ["p1.csv", "p2.csv", "p3.csv"]


def read(path):
    with open(path, "rb") as file:
        return file.read()


def write(path, data):
    with open(path, "wb") as file:
        file.write(data)


def read_archive():
    """{name: data} of the files that are kept."""
    with tarfile.open(KEPT) as archive:
        return {member.name: archive.extractfile(member).read() for member in archive}


FILES = read_archive()


def keep(name, data):
    """Adds a file to those that are kept."""
    FILES[name] = data
    with tarfile.open(KEPT, "w", format=tarfile.USTAR_FORMAT) as archive:
        for member, content in sorted(FILES.items()):
            header = tarfile.TarInfo(member)
            header.size = len(content)
            archive.addfile(header, io.BytesIO(content))


def kept(name):
    need(name in FILES, "there is no %s in data/formats.tar" % name)
    return FILES[name]


def crc32c(data):
    """The CRC32C of RFC 3720, appendix B.4, computed one bit at a time."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


class Folder:
    """A temporary folder with copies of samples, all with the same modification time."""

    def __init__(self, bench, *samples):
        self.program = bench.program
        self.environment = bench.environment
        self.temporary = tempfile.TemporaryDirectory(prefix="formats.")
        self.path = self.temporary.name
        for sample in samples:
            self.put(sample, FILES[sample] if sample in FILES else read(os.path.join(DATA, sample)))
            os.utime(self.at(sample), ns=(WRITTEN_NS, WRITTEN_NS))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.temporary.cleanup()

    def at(self, name):
        return os.path.join(self.path, name)

    def put(self, name, data):
        write(self.at(name), data)

    def get(self, name):
        return read(self.at(name))

    def names(self):
        return sorted(os.listdir(self.path))

    def run(self, *words, code=0, says="", data=b"", wrap=()):
        """The standard output of the command. Exit status and standard error must be as given."""
        done = subprocess.run([*wrap, self.program, *words], cwd=self.path, input=data, capture_output=True, timeout=60,
                              env=self.environment, check=False)
        errors = done.stderr.decode(errors="replace")
        need(done.returncode == code, "%s: exit %d, not %d: %s" % (" ".join(words), done.returncode, code, errors))
        need(says in errors if says else not errors, "%s: says %r, not %r" % (" ".join(words), errors, says))
        return done.stdout


class Bench:
    def __init__(self, program, module, keeps):
        self.program = os.path.abspath(program)
        self.module = module and os.path.abspath(module)
        self.keeps = keeps
        self.environment = {**os.environ, "LC_ALL": "C"}

    def expect_kept(self, name, data):
        """Expects the bytes just written to be the same as in the file that is kept."""
        if self.keeps and name not in FILES:
            keep(name, data)
        need(name in FILES, "there is no %s in data/formats.tar: a new version is written; keep a file of it" % name)
        need(data == FILES[name],
             "what is written is no more %s of data/formats.tar: a new format needs a new version" % name)


# Indexes. Bytes 40 to 55 are the time of FILE's last status change and its inode; the last 4 are the CRC.

INDEXES = ["index-1-hash.cleave", "index-1.cleave"]


def with_bytes(index, at, new):
    index = index[:at] + new + index[at + len(new):-4]
    return index + struct.pack("<I", crc32c(index))


def with_identity(index, ctime_ns, inode):
    return with_bytes(index, 40, struct.pack("<qQ", ctime_ns, inode))


def expect_indexed(folder, says="", when="require"):
    """Expects the right counts and ranges of records. `says`: expected on standard error."""
    lines = folder.get("readings.csv").decode().splitlines(keepends=True)
    ends = []   # line numbers
    rows = csv.reader(lines)
    for _ in rows:
        ends.append(rows.line_num)
    counted = folder.run("count", "--index", when, "readings.csv", says=says)
    need(counted == b"%d\n" % (len(ends) - 1), "another count: %s" % counted)
    first, last = 40000, 41999   # counted from 1; the header is number 0
    words = ["-r", "%d-%d" % (first, last), "--index", when]
    printed = folder.run("cat", "--header", "drop", *words, "readings.csv", says=says)
    need(printed == "".join(lines[ends[first - 1]:ends[last]]).encode(), "cat -r prints other records")


def index_is_read(bench):
    for name in INDEXES:
        with Folder(bench, "readings.csv") as folder:
            index = kept(name)
            folder.put("readings.csv.cleave", index)
            folder.run("count", "--index", "require", "readings.csv", code=4, says="has been copied or moved since")
            status = os.stat(folder.at("readings.csv"))
            folder.put("readings.csv.cleave", with_identity(index, status.st_ctime_ns, status.st_ino))
            expect_indexed(folder)
            folder.put("readings.csv.cleave", index)
            folder.run("index", "--verify", "readings.csv", says="good; renewed for this file")
            expect_indexed(folder)


def later_index_is_refused(bench):
    with Folder(bench, "readings.csv") as folder:
        for version in (0, 3):
            folder.put("readings.csv.cleave", with_bytes(kept("index-1.cleave"), 8, struct.pack("<I", version)))
            says = "it is of version %d of the format" % version
            folder.run("count", "--index", "require", "readings.csv", code=4, says=says)
            expect_indexed(folder, says, "auto")


def index_is_written(bench):
    with Folder(bench, "readings.csv") as folder:
        folder.run("index", "readings.csv")
        index = folder.get("readings.csv.cleave")
        status = os.stat(folder.at("readings.csv"))
        need(index == with_identity(index, status.st_ctime_ns, status.st_ino), "its identity or its CRC is wrong")
        bench.expect_kept("index-%d.cleave" % struct.unpack_from("<I", index, 8), with_identity(index, 0, 0))


# The index of a gzip file: windows are not in the CRC, and their bytes depend on the library that compresses them.

GZIP_INDEX = "index-2.cleave"
GZIP_RECORDS = 900000


def checkpoints_of(index):
    """Where the checkpoints begin and end."""
    size, = struct.unpack_from("<Q", index, 24)
    entries, = struct.unpack_from("<Q", index, 112)
    count, = struct.unpack_from("<Q", index, 136)
    begin = 144 + 16 * entries + 4 * -(-size // 262144)
    return begin, begin + 48 * count


def gzip_with_identity(index, ctime_ns, inode):
    index = index[:40] + struct.pack("<qQ", ctime_ns, inode) + index[56:]
    return index[:-4] + struct.pack("<I", crc32c(index[:checkpoints_of(index)[1]] + index[-16:-4]))


def without_windows(index):
    """What does not depend on how windows are compressed."""
    begin, end = checkpoints_of(index)
    kept_of = [index[at:at + 24] + index[at + 40:at + 48] for at in range(begin, end, 48)]
    return [index[:begin], *kept_of]


def gzip_index_is_read(bench):
    with Folder(bench, "long.csv.gz") as folder:
        status = os.stat(folder.at("long.csv.gz"))
        index = gzip_with_identity(kept(GZIP_INDEX), status.st_ctime_ns, status.st_ino)
        need(checkpoints_of(index)[1] > checkpoints_of(index)[0], "it has no checkpoint")
        folder.put("long.csv.gz.cleave", index)
        words = ["--index", "require", "long.csv.gz"]
        need(folder.run("count", *words) == b"%d\n" % GZIP_RECORDS, "another count")
        last = folder.run("cat", "--header", "drop", "-r", "%d-" % GZIP_RECORDS, *words)
        number = GZIP_RECORDS - 1
        need(last == b"%d,name %d\n" % (number % 10, number % 7), "another last record: %s" % last)
        folder.put("long.csv.gz.cleave", kept(GZIP_INDEX))
        folder.run("index", "--verify", "long.csv.gz", says="good; renewed for this file")
        folder.run("count", *words)


def gzip_index_is_written(bench):
    with Folder(bench, "long.csv.gz") as folder:
        folder.run("index", "long.csv.gz")
        index = gzip_with_identity(folder.get("long.csv.gz.cleave"), 0, 0)
        if bench.keeps and GZIP_INDEX not in FILES:
            keep(GZIP_INDEX, index)
        need(without_windows(index) == without_windows(kept(GZIP_INDEX)),
             "what is written is no more %s of data/formats.tar: a new format needs a new version" % GZIP_INDEX)


# Manifests. Version 1 names pieces relative to the folder where the run was started, version 2 relative to
# the manifest's own folder.

SPLIT = ["split", "-n", "3", "-o", "p{i}.csv"]
BY = ["split", "--by", "sensor", "--drop-by", "-o", "by/{value}/p.csv", "--mkdir"]
BUCKETS = ["split", "--by", "thing", "--buckets", "4", "-o", "p{i}.csv"]
PARTS = ["split", "--by", "thing", "--parts", "a=0.5,b=2", "--seed", "3", "-o", "{value}.csv"]
LEAD = ["--skip-lines", "2", "-e", "\\", "--quote", "'", *DIALECT]
PREAMBLE = ["split", "-n", "3", "-o", "p{i}.csv", "--header", "first", *LEAD]


def expect_joined(folder, manifest, source):
    need(folder.run("join", "--manifest", manifest) == source, "%s: joined, the pieces are not the input" % manifest)


def manifest_is_read(bench):
    for name, split, sample in [("manifest-1.json", SPLIT, "quoted.csv"), ("manifest-2.json", SPLIT, "quoted.csv"),
                                ("manifest-2-preamble.json", PREAMBLE, "preamble.csv")]:
        with Folder(bench, sample) as folder:
            source = os.path.basename(sample)
            folder.run(*split, source)
            folder.put("m.json", kept(name))
            expect_joined(folder, "m.json", folder.get(source))
            again = [*split, "--checksum", "--manifest", "m.json", "--resume", source]
            if json.loads(kept(name))["cleave"] == 1:
                folder.run(*again, code=1, says="its 'cleave' differs")
            else:
                folder.run(*again)
                need(folder.get("m.json") == kept(name), "--resume changes the manifest")
                os.mkdir(folder.at("moved"))
                for piece in [*PIECES, "m.json"]:
                    os.rename(folder.at(piece), folder.at("moved/" + piece))
                expect_joined(folder, "moved/m.json", folder.get(source))
    with Folder(bench, "readings.csv") as folder:
        folder.run(*BY, "readings.csv")
        folder.put("by.json", kept("manifest-2-by.json"))
        folder.run("join", "--manifest", "by.json", code=2, says="lack the column sensor")


def later_manifest_is_refused(bench):
    with Folder(bench, "quoted.csv") as folder:
        folder.run(*SPLIT, "quoted.csv")
        for version in (0, 3):
            folder.put("m.json", kept("manifest-2.json").replace(b'"cleave":2', b'"cleave":%d' % version))
            folder.run("join", "--manifest", "m.json", code=3, says="it is of version %d" % version)
            folder.run(*SPLIT, "--manifest", "m.json", "--resume", "quoted.csv", code=1, says="its 'cleave' differs")


def manifest_is_written(bench):
    for part, split, sample in [("", SPLIT, "quoted.csv"), ("-preamble", PREAMBLE, "preamble.csv"),
                                ("-by", BY, "readings.csv"), ("-buckets", BUCKETS, "quoted.csv"),
                                ("-parts", PARTS, "quoted.csv")]:
        with Folder(bench, sample) as folder:
            folder.run(*split, "--checksum", "--manifest", "m.json", os.path.basename(sample))
            manifest = folder.get("m.json")
            bench.expect_kept("manifest-%d%s.json" % (json.loads(manifest)["cleave"], part), manifest)
    with Folder(bench, "quoted.csv") as folder:   # here the pieces are not below the manifest's folder
        for place in ("pieces", "manifests"):
            os.mkdir(folder.at(place))
        folder.run("split", "-n", "3", "-o", "pieces/p{i}.csv", "--manifest", "manifests/m.json", "quoted.csv")
        manifest = folder.get("manifests/m.json")
        need(json.loads(manifest)["cleave"] == 1, "the names of pieces elsewhere are not of version 1")
        bench.expect_kept("manifest-1.json", manifest.replace(b"pieces/", b""))


# Summaries of ranges, and plans made from them.

RANGE_SAMPLES = [("", "quoted.csv", DIALECT), ("-preamble", "preamble.csv", LEAD)]


def ranges_are_read(bench):
    for part, sample, dialect in RANGE_SAMPLES:
        source = os.path.basename(sample)
        with Folder(bench, sample) as folder:
            plan = folder.run("plan", "-n", "3", data=kept("ranges-1%s.jsonl" % part))
            need(plan == kept("plan-1%s.json" % part), "another plan comes of the summaries")
            folder.put("plan.json", kept("plan-1%s.json" % part))
            folder.run("split", "-n", "3", "-o", "p{i}.csv", *dialect, source)
            for number, piece in enumerate(PIECES, 1):
                printed = folder.run("cat", "--plan", "plan.json", "-n", str(number), source)
                need(printed == folder.get(piece), "cat --plan prints another piece %d" % number)
            need(folder.run("offsets", "--plan", "plan.json", source) ==
                 folder.run("offsets", "-n", "3", *dialect, source), "offsets --plan prints others")


def later_ranges_are_refused(bench):
    says = "it has another version of the format"
    with Folder(bench, "quoted.csv") as folder:
        for version in (0, 3):
            summaries = kept("ranges-1.jsonl").replace(b'"cleave_range":1', b'"cleave_range":%d' % version)
            folder.run("plan", "-n", "3", data=summaries, code=3, says=says)
            folder.put("plan.json", kept("plan-1.json").replace(b'"cleave_plan":1', b'"cleave_plan":%d' % version))
            for words in [["offsets"], ["cat", "-n", "1"]]:
                folder.run(*words, "--plan", "plan.json", "quoted.csv", code=3, says=says)
        summaries = kept("ranges-1.jsonl").replace(b'"dialect":{', b'"dialect":{"comment":"#",')
        folder.run("plan", "-n", "3", data=summaries, code=3, says="its dialect is unknown")


def ranges_are_written(bench):
    for part, sample, dialect in RANGE_SAMPLES:
        source = os.path.basename(sample)
        with Folder(bench, sample) as folder:
            summaries = b"".join(folder.run("scan", *dialect, "-r", piece, source) for piece in RANGES)
            version = json.loads(summaries.splitlines()[0])["cleave_range"]
            bench.expect_kept("ranges-%d%s.jsonl" % (version, part), summaries)
            plan = folder.run("plan", "-n", "3", data=summaries)
            bench.expect_kept("plan-%d%s.json" % (json.loads(plan)["cleave_plan"], part), plan)


def offsets_are_written(bench):
    with Folder(bench, "quoted.csv") as folder:
        offsets = folder.run("offsets", "-n", "3", "--format", "json", "quoted.csv")
        bench.expect_kept("offsets-%d.json" % json.loads(offsets)["cleave"], offsets)


# Rules, keys and tokens. They have no version: the meaning of a file of rules and the token of a value never change.

RULED = ["-d", ",", "--header", "repeat", "--rules", "rules-1.rules", "--key", "pii=file:key-1"]


def rules_are_read(bench):
    with Folder(bench, "people.csv", "rules-1.rules", "key-1") as folder:
        os.chmod(folder.at("key-1"), stat.S_IRUSR)
        bench.expect_kept("rules-1.csv", folder.run("cat", *RULED, "people.csv"))
        folder.run("split", "-n", "2", "-o", "p{i}.csv", "--redact-report", "report.json", *RULED, "people.csv")
        report = folder.get("report.json")
        bench.expect_kept("report-%d.json" % json.loads(report)["cleave"], report)
        bench.expect_kept("template-1.rules", folder.run("check", "--rules-template", "people.csv"))


# Signed reports. They contain the version of cleave, which is not a version of the format.

SIGNED = ["split", "-n", "2", "-o", "p{i}.csv", "--manifest", "m.json", "--redact-report", "report.json", "--sign",
          "pii"]
PROGRAM = re.compile(rb'"program":"cleave [^"]+"')


def signed_report_is_read(bench):
    with Folder(bench, "people.csv", "rules-1.rules", "key-1") as folder:
        os.chmod(folder.at("key-1"), stat.S_IRUSR)
        folder.run(*SIGNED, *RULED, "people.csv")
        folder.put("kept.json", kept("signed-report-1.json"))
        words = ["verify", "--key", "pii=file:key-1", "--input", "people.csv", "kept.json"]
        need(folder.run(*words).endswith(b"; 4 files, as reported\n"), "it is not verified")
        folder.put("p1.csv", folder.get("p2.csv"))
        need(folder.run(*words, code=3).startswith(b"p1.csv: size\n"), "another file is verified")


def later_signed_report_is_refused(bench):
    with Folder(bench) as folder:
        for version in (0, 2):
            folder.put("r.json", kept("signed-report-1.json").replace(b'"cleave":1', b'"cleave":%d' % version))
            folder.run("verify", "--no-key", "r.json", code=3, says="it is of version %d" % version)


def signed_report_is_written(bench):
    with Folder(bench, "people.csv", "rules-1.rules", "key-1") as folder:
        os.chmod(folder.at("key-1"), stat.S_IRUSR)
        folder.run(*SIGNED, *RULED, "people.csv")
        report = folder.get("report.json")
        version = json.loads(report.splitlines()[0])["cleave"]
        name = "signed-report-%d.json" % version
        if bench.keeps and name not in FILES:
            keep(name, report)
        known = PROGRAM.search(kept(name))
        need(known and PROGRAM.search(report), "a report does not name the program")
        before = PROGRAM.sub(known[0], report)[:-68]
        need(before == kept(name)[:-68],
             "what is written is no more %s of data/formats.tar: a new format needs a new version" % name)


# The markers of killed runs, `.cleave-ID`. They are kept with placeholders for inodes and the ID.

KEPT_ID = b"0123456789abcdef"
KEPT_INODES = [b"4000000001", b"4000000002"]


def run_id(path, pattern):
    """FNV-1a of the directory and the names."""
    status = os.stat(path)
    number = 0xCBF29CE484222325
    for byte in b"%d %d %s" % (status.st_dev, status.st_ino, pattern):
        number = (number ^ byte) * 0x100000001B3 % (1 << 64)
    return b"%016x" % number


def kill_at(bench, folder, call, number):
    """Runs a split over two older pieces, and kills it before that call."""
    strace = need_tool("strace")
    wrap = [strace, "-f", "-qq", "-o", os.devnull, "-e", "trace=" + call, "-e",
            "inject=%s:signal=KILL:when=%d" % (call, number)]
    words = ["split", "-f", "-n", "2", "-j", "1", "-o", "p{i}.csv", "quoted.csv"]
    done = subprocess.run([*wrap, bench.program, *words], cwd=folder.path, capture_output=True, timeout=60, check=False)
    need_sight(done.returncode == -9 or done.returncode == 137, "the run was not killed: %r" % done.stderr)


KILLED = [("marker-1-replacing", "renameat2", 2), ("marker-1-done", "unlinkat", 1)]


def marker_is_written(bench):
    for name, call, number in KILLED:
        with Folder(bench, "quoted.csv") as folder:
            for piece in PIECES[:2]:
                folder.put(piece, b"old\n")
            kill_at(bench, folder, call, number)
            own = run_id(folder.path, b"p{1.csv 1")
            marker = folder.get(".cleave-" + own.decode())
            process, notes = marker[:20], marker[20:].replace(own, KEPT_ID)
            need(re.fullmatch(rb"[1-9][0-9]*\0+", process), "the marker does not begin with the process: %r" % process)
            fields = notes.split(b"\0")
            for number, (at, inode) in enumerate(zip((0, 3), KEPT_INODES)):
                fields[at] = inode
                fields[at + 1] = re.sub(rb"-\d+$", b"-%d" % number, fields[at + 1])   # starts at a random number
            bench.expect_kept(name, b"1".ljust(20, b"\0") + b"\0".join(fields))


def marker_is_read(bench):
    for name, _, _ in KILLED:
        with Folder(bench, "quoted.csv") as folder:
            hidden = [".cleave-%s-%d" % (KEPT_ID.decode(), i) for i in (0, 1)]
            # What a killed run leaves: one piece or both have been replaced, and a replaced file has the hidden name.
            holders = [PIECES[0], hidden[1] if name == "marker-1-replacing" else PIECES[1]]
            for path in [*PIECES[:2], *hidden]:
                folder.put(path, b"new\n" if path in holders else b"old\n")
            marker = kept(name)
            for inode, path in zip(KEPT_INODES, holders):
                marker = marker.replace(inode, b"%d" % os.stat(folder.at(path)).st_ino)
            folder.put(".cleave-" + KEPT_ID.decode(), marker)
            folder.run("split", "-n", "1", "-o", "other.csv", "quoted.csv")
            need(folder.names() == ["other.csv", *PIECES[:2], "quoted.csv"], "left: %s" % folder.names())
            wanted = b"old\n" if name == "marker-1-replacing" else b"new\n"
            for piece in PIECES[:2]:
                need(folder.get(piece) == wanted, "%s: %s is %r, not %r" % (name, piece, folder.get(piece), wanted))


# Profiles of machines. A profile belongs to one processor and one device, so this machine's names replace the names in
# the kept file.

def machine(bench, folder, *words):
    """Returns what `cleave info` says about its profile, and its whole output."""
    if bench.module is None:
        raise Skip("there is no --module")
    bench.environment["XDG_CACHE_HOME"] = folder.path
    lines = folder.run("info", "--device", bench.module, *words).decode().splitlines()
    shown = {line[:18].strip(): line[19:] for line in lines}
    return shown["profile"], shown


def members(value):
    """The names of an object's members in order, each with the names of its own members; None for anything but an
    object."""
    return [(name, members(each)) for name, each in value.items()] if isinstance(value, dict) else None


def profile_is_read(bench):
    with Folder(bench) as folder:
        said, shown = machine(bench, folder)
        os.mkdir(folder.at("cleave"), 0o700)
        for version in (1, 2, 3, 4):
            profile = json.loads(kept("profile-%d.json" % min(version, 3)))
            profile.update(version=version, cpu=shown["processor"], driver=shown["driver, runtime"].split(",")[0])
            path = folder.at("cleave/machine-simulated-0.json")
            write(path, json.dumps(profile).encode())
            os.chmod(path, 0o600)
            said, now = machine(bench, folder)
            if version == 3:
                need(said == path, "the profile is not used: %s" % said)
                need(now["to the device"] == "8 GB/s, 12.0 us to start", "another rate: %s" % now)
                need(now["to open it"] == "250 ms", "another time: %s" % now)
            else:
                need("has another version" in said, "version %d: %s" % (version, said))


def profile_is_written(bench):
    with Folder(bench) as folder:
        machine(bench, folder, "--calibrate")
        profile = json.loads(folder.get("cleave/machine-simulated-0.json"))
        name = "profile-%d.json" % profile["version"]
        wanted = {**json.loads(kept(name)), "functions": {}}   # no function has been measured
        need(members(profile) == members(wanted),
             "what is written is no more like %s of data/formats.tar: a new format needs a new version" % name)


CHECKS = {
    "An index of version 1 is used": index_is_read,
    "An index of another version is refused": later_index_is_refused,
    "An index is written as it was": index_is_written,
    "An index of version 2, of a gzip file, is used": gzip_index_is_read,
    "An index of version 2 is written as it was": gzip_index_is_written,
    "A manifest of version 1 or 2 is used": manifest_is_read,
    "A manifest of another version is refused": later_manifest_is_refused,
    "A manifest is written as it was": manifest_is_written,
    "Summaries and plans of version 1 are used": ranges_are_read,
    "Summaries and plans of another version are refused": later_ranges_are_refused,
    "Summaries and plans are written as they were": ranges_are_written,
    "Offsets in JSON are written as they were": offsets_are_written,
    "Rules, keys, tokens, reports and templates are what they were": rules_are_read,
    "A signed report of version 1 is verified": signed_report_is_read,
    "A signed report of another version is refused": later_signed_report_is_refused,
    "A signed report is written as it was": signed_report_is_written,
    "The marker of a killed run is obeyed": marker_is_read,
    "The marker of a run is written as it was": marker_is_written,
    "A profile of version 3 is used, and no other": profile_is_read,
    "A profile is written as it was": profile_is_written,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cleave", required=True, metavar="PROGRAM")
    parser.add_argument("--module", metavar="PATH", help="a simulated device, for profiles")
    parser.add_argument("--keep", action="store_true", help="add files of new versions to data/formats.tar")
    arguments = parser.parse_args()
    bench = Bench(arguments.cleave, arguments.module, arguments.keep)
    tally = Tally()
    for name, check in CHECKS.items():
        tally.run(name, lambda check=check: check(bench))
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
