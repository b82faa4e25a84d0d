#!/usr/bin/env python3
"""Signed reports: what they contain, recomputed with hashlib and hmac, and everything that somebody without the key
could do to a report and its files, tried.

  signed_report_test.py --cleave PATH

Each attack must end cleave verify with exit status 3, or 2 if it spoils the command. It must never end with 0, and no
message may contain a key or a value of the input.
"""
import argparse
import gzip
import hashlib
import hmac
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tools"))
from verdicts import Tally, need  # noqa: E402

KEYS = {name: hashlib.sha256(name.encode()).digest() for name in ("audit", "other")}
VALUES = ["Hildegard", "Kunigunde", "Walburga"]
INPUT = "id,name\n" + "".join("%d,%s\n" % row for row in enumerate(VALUES))
MOST = 64 << 20   # bytes of a report
TAIL = b'"}}\n'


def hkdf(key, info):
    """HKDF-SHA-256 without a salt, 32 bytes (RFC 5869)."""
    pseudo_random = hmac.new(bytes(32), key, hashlib.sha256).digest()
    return hmac.new(pseudo_random, info + b"\x01", hashlib.sha256).digest()


def mac(before, key, label=b"cleave 2 report"):
    """The MAC of everything before it in a report. The info is the label, a NUL byte and an empty context."""
    return hmac.new(hkdf(key, label + b"\0"), before, hashlib.sha256).hexdigest().encode()


def signed(first, key=KEYS["audit"], second=b'{"signature":{"key":"audit","id":"0","hmac_sha256":"'):
    """A report with this first line, signed by a holder of the key."""
    before = first + b"\n" + second
    return before + mac(before, key) + TAIL


def sha256(data):
    return hashlib.sha256(data).hexdigest()


class Bench:
    def __init__(self, cleave):
        self.cleave = os.path.abspath(cleave)
        self.temporary = tempfile.TemporaryDirectory(prefix="signed.")
        self.root = pathlib.Path(self.temporary.name)
        self.made = 0
        self.said = b""   # everything that cleave verify has said
        for name, key in KEYS.items():
            (self.root / name).write_bytes(key)
            (self.root / name).chmod(0o600)

    def folder(self):
        """A new folder with the input."""
        self.made += 1
        folder = self.root / ("run%d" % self.made)
        folder.mkdir()
        (folder / "in.csv").write_text(INPUT)
        return folder

    def run(self, folder, *words, data=None):
        how = {"input": data} if data is not None else {"stdin": subprocess.DEVNULL}
        return subprocess.run([self.cleave, *words], cwd=folder, capture_output=True, timeout=120, check=False, **how)

    def report(self, folder, verb="split", *words, redact="name: null", data=None):
        """Runs the verb on in.csv with a signed report r.json; returns the text of the report."""
        done = self.run(folder, verb, "-q", "--key", "audit=file:../audit", "--redact", redact, "--redact-report",
                        "r.json", "--sign", "audit", *words, "in.csv" if data is None else "-", data=data)
        need(done.returncode == 0, "%s %s: exit status %d: %r" % (verb, words, done.returncode, done.stderr))
        self.printed = done.stdout
        return (folder / "r.json").read_bytes()

    def split(self, *words):
        folder = self.folder()
        return folder, self.report(folder, "split", *(words or ("-n", "2", "--manifest", "m.json")))

    def verify(self, folder, *words, report="r.json", key="audit", data=None):
        done = self.run(folder, "verify", "--key", "audit=file:../" + key, *words, report, data=data)
        self.said += done.stdout + done.stderr
        return done

    def status(self, folder, *words, **how):
        return self.verify(folder, *words, **how).returncode

    def expect(self, folder, wanted, *words, says=b"", **how):
        done = self.verify(folder, *words, **how)
        said = done.stdout + done.stderr
        need(done.returncode == wanted, "exit status %d, not %d: %r" % (done.returncode, wanted, said))
        need(says in said, "it does not say %r: %r" % (says, said))


def expect_true(folder, text):
    """Expects what the report says of the key and of the files to be so."""
    first, _, second = text.partition(b"\n")
    report, signature = json.loads(first), json.loads(second)["signature"]
    need(text.endswith(TAIL), "it ends otherwise")
    before = text[:-len(TAIL) - 64]
    need(before.endswith(b'"hmac_sha256":"'), "its MAC is elsewhere")
    need(signature["hmac_sha256"].encode() == mac(before, KEYS["audit"]), "its MAC is wrong")
    need(signature["key"] == "audit", "another key")
    need(signature["id"] == hmac.new(KEYS["audit"], b"\xffcleave key id 1", hashlib.sha256).hexdigest()[:16], "its ID")
    for file in report["files"] + ([report["manifest"]] if "manifest" in report else []):
        data = (folder / file["name"]).read_bytes()
        need((len(data), sha256(data)) == (file["size"], file["sha256"]), "%s: another size or hash" % file["name"])
    return report


def expect_input(report, data):
    stored = report["input"]["stored"]
    keyed = mac(sha256(data).encode(), KEYS["audit"], b"cleave 2 input").decode()
    need(stored == {"size": len(data), "hmac_sha256": keyed}, "the hash of the input is wrong")


def reports_are_true(bench):
    """What a report says is so, for every way to write pieces"""
    ways = [("-n", "2"), ("-n", "1"), ("-l", "1"), ("-C", "20"), ("--by", "id"), ("--by", "id", "--buckets", "2"),
            ("--parts", "a=1,b=1"), ("--by", "id", "--hive"), ("-n", "2", "--compress", "gzip"),
            ("-l", "2", "--compress", "zstd"), ("-n", "3", "--resume", "--print-names"), ("-n", "2", "-j", "1"),
            ("-n", "2", "--manifest", "m.json", "--checksum", "--sync"), ("-n", "2", "--header", "first")]
    for way in ways:
        folder = bench.folder()
        report = expect_true(folder, bench.report(folder, "split", *way))
        expect_input(report, INPUT.encode())
        records = sum(file["records"] for file in report["files"])
        need(records == len(VALUES) == report["records"], "%s: records" % (way,))
        need(len(report["files"]) == report["pieces"] > 0, "%s: pieces" % (way,))
        need(report["program"].startswith("cleave "), "no version")
        bench.expect(folder, 0, "--input", "in.csv", says=b"as reported")
    # An earlier piece that stays is listed, too.
    folder, before = bench.split("-n", "2")
    (folder / "r.json").unlink()
    need(bench.report(folder, "split", "-n", "2", "--resume") == before, "--resume: another report")
    # Streams, which are hashed as they arrive, in full and before they are decompressed.
    for packed, words in ((INPUT.encode(), ("-l", "1")), (gzip.compress(INPUT.encode()), ("-l", "2")),
                          (INPUT.encode(), ("-n", "2", "--spool", "plain")),
                          (INPUT.encode("utf-16-le"), ("-l", "1", "--encoding", "utf-16le"))):
        folder = bench.folder()
        expect_input(expect_true(folder, bench.report(folder, "split", *words, data=packed)), packed)
    # Compressed files are hashed as they are.
    packed = gzip.compress(INPUT.encode())
    folder = bench.folder()
    (folder / "in.csv").write_bytes(packed)
    expect_input(expect_true(folder, bench.report(folder, "split", "-l", "1")), packed)


def large_input_is_hashed(bench):
    """Files larger than each buffer, and than what a thread takes at a time"""
    data = "id,name\n".encode() + b"".join(b"%d,%s\n" % (i, b"x" * (i % 97)) for i in range(60_000))
    need(len(data) > 3 << 20, "too small")
    for words in (("-n", "3"), ("--by", "id", "--buckets", "3"), ("-n", "2", "--compress", "gzip")):
        folder = bench.folder()
        (folder / "in.csv").write_bytes(data)
        expect_input(expect_true(folder, bench.report(folder, "split", *words)), data)
        bench.expect(folder, 0, "--input", "in.csv")


def streams_are_listed(bench):
    """cat, sample and check"""
    for verb, words in (("cat", ()), ("cat", ("-r", "2-3")), ("cat", ("-n", "1/2")), ("sample", ("-k", "2"))):
        folder = bench.folder()
        report = json.loads(bench.report(folder, verb, *words).split(b"\n")[0])
        printed = bench.printed
        rows = printed.count(b"\n") - 1
        need(report["files"] == [{"name": "-", "size": len(printed), "sha256": sha256(printed), "records": rows}],
             "%s: %s" % (verb, report["files"]))
        expect_input(report, INPUT.encode())
        bench.expect(folder, 0, "--input", "in.csv", data=printed)
        bench.expect(folder, 3, data=printed[:-1], says=b"stdin: size")
        bench.expect(folder, 3, data=printed.replace(b"1", b"7").replace(b"2", b"7"), says=b"stdin: content")
        bench.expect(folder, 2, report="-", data=(folder / "r.json").read_bytes())
    folder = bench.folder()
    report = json.loads(bench.report(folder, "check").split(b"\n")[0])
    need(report["files"] == [] and report["pieces"] == 0, "check lists files")
    expect_input(report, INPUT.encode())
    bench.expect(folder, 0, "--input", "in.csv")


def small_inputs(bench):
    """An empty file, a header alone, one record, and a record that is cut"""
    for data, pieces in ((b"", 0), (b"id,name\n", 0), (b"id,name\n1,A\n", 1), (b"id,name\n1,A\n2,B", 1)):
        folder = bench.folder()
        (folder / "in.csv").write_bytes(data)
        report = expect_true(folder, bench.report(folder, "split", "-l", "5", "--header", "repeat", redact="*: null"))
        expect_input(report, data)
        need(report["pieces"] == len(report["files"]), "another number of pieces")
        need(pieces == len([file for file in report["files"] if file["records"]]), "%r: pieces" % data)
        bench.expect(folder, 0, "--input", "in.csv")


def every_byte(bench):
    """Every byte of the report, of the pieces, of the manifest and of the input, one at a time"""
    folder, _ = bench.split()
    count = 0
    for name in ("r.json", "in.1.csv", "in.2.csv", "m.json", "in.csv"):
        path = folder / name
        data = path.read_bytes()
        for place in range(len(data)):
            for flip in (0x01, 0x20):
                path.write_bytes(data[:place] + bytes([data[place] ^ flip]) + data[place + 1:])
                bench.expect(folder, 3, "-j", "1", "--input", "in.csv")
                count += 1
        path.write_bytes(data)
    bench.expect(folder, 0, "--input", "in.csv")
    print("     %d flips" % count)
    need(count > 2000, "too few flips")


def lengths(bench):
    """The report and the files cut at each byte, or with a byte more"""
    folder, _ = bench.split()
    for name in ("r.json", "in.1.csv", "m.json"):
        path = folder / name
        data = path.read_bytes()
        for size in [*range(0, len(data), 7), len(data) - 1]:
            path.write_bytes(data[:size])
            bench.expect(folder, 3)
        for more in (b"\n", b"\0", b"{}\n", data):
            path.write_bytes(data + more)
            bench.expect(folder, 3)
            path.write_bytes(more + data)
            bench.expect(folder, 3)
        path.write_bytes(data)
    bench.expect(folder, 0)


def other_reports(bench):
    """A report of another run, with another key, without a signature, with its lines changed"""
    folder, text = bench.split()
    path = folder / "r.json"
    first, second = text.splitlines(keepends=True)
    other = bench.folder()
    (other / "in.csv").write_text(INPUT.replace("1", "5"))
    bench.report(other, "split", "-n", "2", "--manifest", "m.json")
    shutil.copy(other / "r.json", path)
    bench.expect(folder, 3, says=b"in.1.csv: content")
    path.write_bytes((other / "r.json").read_bytes().splitlines(keepends=True)[0] + second)
    bench.expect(folder, 3, says=b"not authentic")
    for changed in (second + first, first, second, first + first + second, first + second + second, b"", b"\n\n",
                    first + b'{"signature":{"hmac_sha256":"' + b"0" * 64 + TAIL, second[-68:], TAIL,
                    text.replace(b"\n", b"\r\n"), text.replace(mac_in(text), mac_in(text).upper()),
                    signed(first[:-1], KEYS["other"]), signed(first[:-1], b""),
                    first + second[:-68] + hmac.new(KEYS["audit"], first, hashlib.sha256).hexdigest().encode() + TAIL):
        path.write_bytes(changed)
        bench.expect(folder, 3, says=b"not authentic")
    path.write_bytes(text)
    bench.expect(folder, 3, key="other", says=b"not authentic")
    bench.expect(folder, 0)
    # A newer version of the key.
    for command in ("new", "rotate"):
        need(bench.run(bench.root, "key", command, "kept").returncode == 0, "key " + command)
    done = bench.run(folder, "split", "-q", "-n", "1", "-o", "v{i}.csv", "--key", "k=file:../kept@1", "--redact",
                     "name: null", "--redact-report", "v.json", "--sign", "k", "in.csv")
    need(done.returncode == 0 and b'"version":1,' in (folder / "v.json").read_bytes(), "no version: %r" % done.stderr)
    for version, wanted in (("@1", 0), ("@2", 3), ("", 3)):
        done = bench.run(folder, "verify", "--key", "k=file:../kept" + version, "v.json")
        need(done.returncode == wanted, "version %s: %d" % (version, done.returncode))


def mac_in(text):
    return text[-68:-4]


def other_files(bench):
    """Pieces that are swapped, renamed, missing, links, folders, pipes or elsewhere"""
    def attack(does, says, wanted=3):
        folder, _ = bench.split()
        does(folder)
        bench.expect(folder, wanted, says=says)

    def swap(folder):
        (folder / "in.1.csv").rename(folder / "x")
        (folder / "in.2.csv").rename(folder / "in.1.csv")
        (folder / "x").rename(folder / "in.2.csv")

    def replace(folder, make):
        (folder / "in.1.csv").rename(folder / "kept.csv")
        make(folder / "in.1.csv")

    attack(swap, b"in.1.csv: size\nin.2.csv: size\n")
    attack(lambda folder: (folder / "in.2.csv").rename(folder / "in.3.csv"), b"in.2.csv: missing")
    attack(lambda folder: (folder / "in.2.csv").unlink(), b"in.2.csv: missing")
    attack(lambda folder: (folder / "m.json").unlink(), b"m.json: missing")
    attack(lambda folder: replace(folder, lambda path: path.symlink_to("kept.csv")), b"in.1.csv: a symbolic link")
    attack(lambda folder: replace(folder, lambda path: path.mkdir()), b"in.1.csv: not a regular file")
    attack(lambda folder: replace(folder, os.mkfifo), b"in.1.csv: not a regular file")
    attack(lambda folder: (folder / "more.csv").write_text("x"), b"as reported", 0)
    # Below a folder that is a link.
    folder = bench.folder()
    bench.report(folder, "split", "--by", "id", "-o", "{value}/p.csv", "--mkdir")
    (folder / "0").rename(folder / "kept")
    bench.expect(folder, 3, says=b"0/p.csv: missing")
    (folder / "0").symlink_to("kept")
    bench.expect(folder, 3, says=b"0/p.csv: a symbolic link")
    (folder / "0").unlink()
    (folder / "0").write_text("x")
    bench.expect(folder, 3, says=b"0/p.csv: missing")


def names_outside(bench):
    """Reports that are signed with the right key, but list what cleave would never list"""
    folder, text = bench.split()
    good = text.splitlines()[0]
    (folder.parent / "out.csv").write_bytes((folder / "in.1.csv").read_bytes())
    path = folder / "r.json"

    def changed(change, key=KEYS["audit"]):
        report = json.loads(good)
        change(report)
        return signed(json.dumps(report, separators=(",", ":"), ensure_ascii=False).encode(), key)

    def name_of(name):
        def change(report):
            report["files"][0]["name"] = name
        return change

    path.write_bytes(changed(lambda report: None))
    bench.expect(folder, 0)
    for name in ("../out.csv", str(folder / "in.1.csv"), "/etc/passwd", "./in.1.csv", "a/../in.1.csv", "", ".", "..",
                 "in.1.csv/", "x//y", "in.2.csv", "m.json"):
        path.write_bytes(changed(name_of(name)))
        bench.expect(folder, 3, says=b"not a signed report")
    for name in ("in.1.csv\0", "in.3.csv", "none/in.1.csv", "in.1.csv/x"):
        path.write_bytes(changed(name_of(name)))
        bench.expect(folder, 3, says=b"1 of 3 files differs")

    def member(*keys, value):
        def change(report):
            for key in keys[:-1]:
                report = report[key]
            if value is None:
                del report[keys[-1]]
            else:
                report[keys[-1]] = value
        return change

    for change in (member("cleave", value=None), member("cleave", value=2), member("cleave", value="1"),
                   member("files", value=None), member("files", value={}), member("files", value=[1]),
                   member("input", value=None), member("input", value=1), member("input", "stored", value=None),
                   member("manifest", value=7), member("manifest", "name", value="-"),
                   member("files", 0, "name", value=None), member("files", 0, "name", value=1),
                   member("files", 0, "size", value=-1), member("files", 0, "size", value="14"),
                   member("files", 0, "size", value=14.0), member("files", 0, "sha256", value=None),
                   member("files", 0, "sha256", value="00")):
        path.write_bytes(changed(change))
        bench.expect(folder, 3, says=b"not a signed report")
    upper = json.loads(good)["files"][0]["sha256"].upper()
    path.write_bytes(changed(member("files", 0, "sha256", value=upper)))
    bench.expect(folder, 3, says=b"in.1.csv: content")
    # Members that are there twice, of which programs keep the first or the last.
    twice = good.replace(b'"files":[', b'"files":[],"files":[', 1)
    for first in (twice, good.replace(b'{"name":"in.1.csv"', b'{"name":"in.2.csv","name":"in.1.csv"'), good + b" ",
                  b" " + good, b"[]", b"1", b"", b"{", b"[" * 100_000, good.replace(b"{", b'{"cleave":1,', 1)):
        path.write_bytes(signed(first))
        bench.expect(folder, 3, says=b"not a signed report")


def sizes(bench):
    """Reports that are too large, and those that never end"""
    folder, text = bench.split()
    path = folder / "r.json"
    first = text.splitlines()[0]
    report = json.loads(first)
    report["unnamed"] = ["x" * MOST]
    path.write_bytes(signed(json.dumps(report, separators=(",", ":")).encode()))
    bench.expect(folder, 3, says=b"larger than 64 MiB")
    with open(path, "wb") as file:
        file.truncate(1 << 40)
    bench.expect(folder, 3, says=b"larger than 64 MiB")
    with open("/dev/zero", "rb") as zeros:
        done = subprocess.run([bench.cleave, "verify", "--key", "a=file:../audit", "-"], cwd=folder, stdin=zeros,
                              capture_output=True, timeout=120, check=False)
    need(done.returncode == 3, "exit status %d" % done.returncode)


def where_it_comes_from(bench):
    """A report from standard input, from another folder, and through a link"""
    folder, text = bench.split()
    bench.expect(folder, 0, report="-", data=text)
    bench.expect(folder, 3, report="-", data=text[:-1])
    done = bench.run(bench.root, "verify", "--key", "audit=file:audit", folder.name + "/r.json")
    need(done.returncode == 0, "another folder: %r" % done.stderr)
    done = bench.run(bench.root, "verify", "--key", "audit=file:audit", str(folder / "r.json"))
    need(done.returncode == 0, "an absolute path: %r" % done.stderr)
    done = bench.run(bench.root, "verify", "--key", "audit=file:audit", "-", data=text)
    need(done.returncode == 3, "the current folder has no pieces, but: %d" % done.returncode)
    # Pieces in a folder, which moves together with the report.
    folder = bench.folder()
    words = ["-n", "2", "-o", "deep/er/", "--mkdir", "--manifest", "deep/m.json"]
    expect_true(folder, bench.report(folder, "split", *words))
    moved = folder.with_name("moved")
    folder.rename(moved)
    bench.expect(moved, 0)


def without_a_key(bench):
    """--no-key compares the files, and says that it has not authenticated anything"""
    folder, text = bench.split()
    done = bench.run(folder, "verify", "--no-key", "--input", "in.csv", "r.json")
    need(done.returncode == 2, "--input without a key")
    need(sha256(INPUT.encode()).encode() not in text, "the report reveals the hash of the input")
    done = bench.run(folder, "verify", "--no-key", "r.json")
    need(done.returncode == 0 and b"not authenticated" in done.stdout, "%r" % done.stdout)
    (folder / "in.1.csv").write_text("x")
    done = bench.run(folder, "verify", "--no-key", "r.json")
    need(done.returncode == 3 and b"in.1.csv: size" in done.stdout and b"not authenticated" in done.stdout, "a piece")
    for changed in (b"", text.splitlines()[0] + b"\n", text[:-1], b"{}\n"):
        (folder / "r.json").write_bytes(changed)
        need(bench.run(folder, "verify", "--no-key", "r.json").returncode == 3, "no signature")


def nothing_is_revealed(bench):
    """No message had a key or a value in it"""
    need(len(bench.said) > 10_000, "too little was said")
    keys = [*KEYS.values(), *(key.hex().encode() for key in KEYS.values())]
    for secret in keys + [value.encode() for value in VALUES]:
        need(secret not in bench.said, "it was said: %r" % secret)


CHECKS = (reports_are_true, large_input_is_hashed, streams_are_listed, small_inputs, every_byte, lengths, other_reports,
          other_files, names_outside, sizes, where_it_comes_from, without_a_key, nothing_is_revealed)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cleave", required=True, metavar="PATH", help="the binary")
    bench, tally = Bench(parser.parse_args().cleave), Tally(verbose=True)
    for check in CHECKS:
        tally.run(check.__doc__, lambda check=check: check(bench))
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
