#!/usr/bin/env python3
"""Objects as inputs: the same results as for files, whatever the server does, or an error.

  store_test.py --cleave PATH --folder FOLDER [--module MODULE] [--seed N] [--rounds N]

The server is that of server.py, on loopback. The command is copied to a folder in FOLDER, with the module in ../lib/cleave,
where it looks for it; no other user may be able to write there. Nothing of the environment but what a check sets reaches the command.
"""
import argparse
import contextlib
import ctypes
import datetime
import functools
import gzip
import os
import random
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(HERE)), "tools"))
sys.path.insert(0, HERE)
from server import FIRST_BYTES, Server  # noqa: E402
from verdicts import Skip, Tally, need as check, need_tool  # noqa: E402

KEY, SECRET, TOKEN = "AKIDEXAMPLE", "wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY", "IQoJb3JpZ2luX2VjEXAMPLETOKEN"
PASSING = ("500", "503", "429", "reset", "cut", "short", "slow", "other")   # another attempt may succeed
LASTING = {"tag": 4, "size": 4, "expired": 1}   # with the exit status
TIMEOUT_S = 300


@functools.lru_cache(maxsize=2)   # large ones are asked for again and again
def records(count, seed):
    random_ = random.Random(seed)
    lines = [b"id,note,place\n"]
    for number, place in enumerate(random_.choices([b"Oslo", b"Rome", b"", b'"Nice, FR"'], k=count)):
        note = b'"a note\nof ""two"" lines, %d"' % (random_.random() * 10 ** 6) if number % 3 == 0 else b"plain"
        lines.append(b"%d,%s,%s\n" % (number, note, place))
    return b"".join(lines)


class Bench:
    def __init__(self, args):
        self.args, self.random = args, random.Random(args.seed)
        self.root = tempfile.mkdtemp(prefix="store-test-", dir=args.folder)
        self.cleave = os.path.join(self.root, "bin", "cleave")
        folder = os.path.join(self.root, "lib", "cleave")
        for path, source in ((self.cleave, args.cleave), (os.path.join(folder, "cleave_store.so"), args.module)):
            os.makedirs(os.path.dirname(path))
            if source:
                shutil.copy(source, path)
                os.chmod(path, 0o755)
        self.work = os.path.join(self.root, "work")
        os.mkdir(self.work)

    def close(self):
        shutil.rmtree(self.root)

    def write(self, name, data):
        path = os.path.join(self.work, name)
        with open(path, "wb") as file:
            file.write(data)
        return path

    def environment(self, server):
        """What the command is told. Sanitizers keep their options, without which they can crash in modules, and a build
        that measures coverage keeps its file."""
        found = {"HOME": self.work, "AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET}
        if server is not None:
            found["AWS_ENDPOINT_URL"] = server.url
        kept = ("ASAN_OPTIONS", "TSAN_OPTIONS", "LLVM_PROFILE_FILE")
        return found | {name: os.environ[name] for name in kept if name in os.environ}

    def run(self, server, *words, **more):
        """The exit status, the output, and the messages, which never show a secret."""
        environment = {name: value for name, value in {**self.environment(server), **more}.items() if value}
        done = subprocess.run([self.cleave, *words], capture_output=True, timeout=TIMEOUT_S, cwd=self.work, env=environment,
                              check=False)
        return self.unrevealing(server, done)

    @staticmethod
    def unrevealing(server, done):
        """What run() returns of a process that has ended, after a look for secrets and for signatures that were sent."""
        errors = done.stderr.decode(errors="replace")
        sent = [request.headers.get("Authorization", "") for request in server.requests if request] if server else []
        for secret in {SECRET, TOKEN, "Signature=", *(text[-64:] for text in sent if text)}:
            check(secret not in errors, "a message shows a secret: %s" % errors)
            check(secret.encode() not in done.stdout, "the output shows a secret: %s" % done.stdout)
        return done.returncode, done.stdout, errors

    @contextlib.contextmanager
    def folder(self):
        path = tempfile.mkdtemp(dir=self.work)
        yield path
        shutil.rmtree(path)


def pieces_in(folder):
    found = {}
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), "rb") as file:
            found[name] = file.read()
    return found


def without_module(bench):
    """Without the module, a URL is refused before anything is asked"""
    module = os.path.join(bench.root, "lib", "cleave", "cleave_store.so")
    if bench.args.module:
        os.remove(module)
    with Server({"bucket/a.csv": b"a\n1\n"}, KEY, SECRET) as server:
        for words in (("count",), ("split", "-n", "2"), ("cat",), ("check",)):
            found = bench.run(server, *words, "s3://bucket/a.csv")
            check(found[0] == 2 and found[1] == b"" and server.requests == [] and found[2].startswith(
                "cleave: URLs need the module cleave_store.so, which is not installed, see doc/guide/stores.md, or pip "
                "install cleave-csv; looked for "),
                "%s: %s" % (words, found))


def without_libcurl(bench):
    """Without libcurl, an error that says what to install; Debian's variant with GnuTLS will do"""
    with bench.folder() as folder, Server({"bucket/a.csv": b"a\n1\n"}, KEY, SECRET) as server:
        for name, wanted in (("libcurl.so.4", (0, b"1\n", "")), ("libcurl-gnutls.so.4", (1, b"", (
                "cleave: s3://bucket/a.csv: libcurl.so.4 cannot be loaded: install the package libcurl4 of Debian or "
                "Ubuntu, or libcurl of Fedora\n")))):
            with open(os.path.join(folder, name), "wb"):
                pass   # a library that cannot be loaded stands before the system's
            if wanted[0] == 1 or has_gnutls_variant():
                found = bench.run(server, "count", "s3://bucket/a.csv", LD_LIBRARY_PATH=folder)
                check(found == wanted, "%s: %s" % (name, found))


def has_gnutls_variant():
    try:
        return bool(ctypes.CDLL("libcurl-gnutls.so.4"))
    except OSError:
        return False


JOBS = (("count",), ("count", "-H"), ("check",), ("offsets", "-n", "4"), ("offsets", "-l", "1000"), ("cat",),
        ("cat", "--select", "id,place"), ("cat", "-n", "2/3"), ("sample", "-k", "20", "--seed", "3"),
        ("cat", "--redact", 'note: fixed("x")'))
SPLITS = (("-n", "5"), ("-l", "700"), ("-C", "9000"), ("-n", "3", "--header", "first"), ("--by", "place"),
          ("-l", "500", "--compress", "gzip"), ("-n", "2", "--checksum", "--json"))


def same_as_files(bench):
    """Every verb that reads a file: the results for an object are those for a file with its bytes"""
    files = {"empty.csv": b"", "header.csv": b"id,note,place\n", "one.csv": b"id,note,place\n1,x,y\n",
             "last.csv": b"id,note,place\n1,x,y\n2,x,y", "some.csv": records(3000, 1),
             "some.csv.gz": gzip.compress(records(3000, 1)), "open.csv": b'id,note,place\n1,"x,y\n2,x,y\n'}
    with Server({"bucket/" + name: data for name, data in files.items()}, KEY, SECRET) as server:
        for name, data in files.items():
            path = bench.write(name, data)
            for words in JOBS:
                local = bench.run(server, *words, path)
                stored = bench.run(server, *words, "s3://bucket/" + name)
                url = "s3://bucket/" + name
                stored = (stored[0], stored[1].replace(url.encode(), path.encode()), stored[2].replace(url, path))
                check(local[0] == 0 or name != "some.csv", "%s: %s" % (words, local))
                check(stored == local, "%s of %s: %s, and of the file %s" % (words, name, stored, local))
            for words in SPLITS:
                with bench.folder() as one, bench.folder() as other:
                    template = "%s/{i}.csv" if "--by" not in words else "%s/{value}.csv"
                    local = bench.run(server, "split", *words, "-o", template % one, path)
                    stored = bench.run(server, "split", *words, "-o", template % other, "s3://bucket/" + name)
                    check(local[0] == 0 or name != "some.csv", "split %s: %s" % (words, local))
                    check(stored[0] == local[0], "split %s of %s: %s, and of the file %s" % (words, name, stored, local))
                    check(pieces_in(one) == pieces_in(other), "split %s of %s: the pieces differ" % (words, name))


def many_parts(bench):
    """An object of many parts, on one thread and several; a count receives it once"""
    data = records(500000, 2)
    check(len(data) > 3 * (4 << 20), "the file is small")
    path = bench.write("many.csv", data)
    with Server({"bucket/many.csv": data}, KEY, SECRET) as server:
        for threads in ("1", "5"):
            server.sent = 0
            found = bench.run(server, "count", "--threads", threads, "s3://bucket/many.csv")
            check(found[:2] == (0, b"500000\n"), "count: %s" % (found,))
            check(server.sent < len(data) * 1.3, "%d bytes were received of %d" % (server.sent, len(data)))
            for words, times in ((("-n", "6"), 1), (("-l", "70000"), 2), (("-C", "3M"), 2)):
                with bench.folder() as folder:
                    server.sent = 0
                    found = bench.run(server, "split", *words, "--threads", threads, "-o", folder + "/{i}.csv",
                                      "s3://bucket/many.csv")
                    check(found[0] == 0, "split: %s" % (found,))
                    joined = b"".join(piece.split(b"\n", 1)[1] for piece in pieces_in(folder).values())
                    check(joined == data.split(b"\n", 1)[1], "the pieces are not the file")
                    check(server.sent < len(data) * (times + 0.3), "%s: %d bytes were received" % (words, server.sent))
        server.sent = 0
        found = bench.run(server, "offsets", "-n", "3", "s3://bucket/many.csv")
        check(found[1] == bench.run(server, "offsets", "-n", "3", path)[1], "offsets: %s" % (found,))


def passing_faults(bench):
    """Answers that fail for a while: the right bytes"""
    data = records(60000, 3)
    with Server({"bucket/a.csv": data}, KEY, SECRET) as server:
        for round_ in range(bench.args.rounds):
            fault = PASSING[round_ % len(PASSING)]
            often = bench.random.choice([1, 2, 3])
            server.fault = lambda request, fault=fault, often=often: fault if request.number % often == 0 and \
                request.number < 4 * often else None
            server.requests.clear()
            found = bench.run(server, "cat", "s3://bucket/a.csv")
            check(found == (0, data, ""), "%s, every %d: %s" % (fault, often, (found[0], found[2])))


def lasting_faults(bench):
    """Answers that fail for good, from any request on: an error, nothing printed that is not of the file, no piece left"""
    data = records(200000, 4)
    with Server({"bucket/a.csv": data}, KEY, SECRET) as server:
        for fault, status in (*LASTING.items(), ("503", 1), ("reset", 1), ("whole", 3)):
            for first in (0, 1, 2) if status != 1 else (1,):
                if fault in ("tag", "size") and first == 0:
                    continue   # a server that always says so is right
                server.fault = lambda request, fault=fault, first=first: fault if request.number >= first else None
                server.requests.clear()
                found = bench.run(server, "cat", "s3://bucket/a.csv")
                check(found[0] == status and data.startswith(found[1]), "%s from %d: %s" % (fault, first, (found[0], found[2])))
                server.requests.clear()
                with bench.folder() as folder:
                    found = bench.run(server, "split", "-l", "5000", "-o", folder + "/{i}.csv", "s3://bucket/a.csv")
                    check(found[0] == status and os.listdir(folder) == [], "%s from %d: %s, and %s is left" %
                          (fault, first, found, os.listdir(folder)))


def endless(bench):
    """An answer that does not end, whatever it answers: an error, long before the answer has been read"""
    with Server({"bucket/a.csv": records(20000, 9)}, KEY, SECRET) as server:
        for is_first in (True, False):
            server.fault = lambda request, is_first=is_first: \
                "endless" if (request.range == FIRST_BYTES) == is_first else None
            found = bench.run(server, "count", "s3://bucket/a.csv")
            check(found[0] == 1 and "more than it was asked for" in found[2], "first: %s: %s" % (is_first, found))


def replaced(bench):
    """An object that is replaced or removed while it is read: exit 4, and no piece"""
    data = records(400000, 5)
    check(len(data) > 2 * (4 << 20), "the file is small")
    for what in ("replaced", "removed"):
        with Server({"bucket/a.csv": data, "bucket/b.csv": b""}, KEY, SECRET) as server:
            def change(request, server=server, what=what):
                if request.number == 2:
                    if what == "replaced":
                        server.put("bucket/a.csv", data[:-8] + b"1,2,3,4\n")
                    else:
                        del server.objects["bucket/a.csv"]
            server.before = change
            with bench.folder() as folder:
                found = bench.run(server, "split", "-n", "3", "--threads", "1", "-o", folder + "/{i}.csv", "s3://bucket/a.csv")
                check(found[0] == 4 and os.listdir(folder) == [], "%s: %s" % (what, found))


def ranges(bench):
    """Ranges of an object, a plan of them, and its pieces; another object of the same size is another version"""
    data = records(2000, 7)
    dialect = ("--delimiter", ",", "--terminator", "lf")
    with Server({"bucket/a.csv": data}, KEY, SECRET) as server:
        url, half = "s3://bucket/a.csv", len(data) // 2
        summaries = b""
        for part in ("0-%d" % half, "%d-" % half):
            found = bench.run(server, "scan", *dialect, "--bytes", part, url)
            check(found[0] == 0, "scan: %s" % (found,))
            summaries += found[1]
        bench.write("summaries", summaries)
        found = bench.run(server, "plan", "-n", "3", "summaries")
        check(found[0] == 0, "plan: %s" % (found,))
        bench.write("plan", found[1])
        pieces = [bench.run(server, "cat", "--plan", "plan", "-n", "%d/3" % number, url) for number in (1, 2, 3)]
        check(all(piece[0] == 0 for piece in pieces), "cat: %s" % [(piece[0], piece[2]) for piece in pieces])
        check(b"".join(piece[1].split(b"\n", 1)[1] for piece in pieces) == data.split(b"\n", 1)[1], "the pieces differ")
        server.put("bucket/a.csv", data[:-2] + b"?\n")
        found = bench.run(server, "cat", "--plan", "plan", "-n", "1/3", url)
        check(found[:2] == (4, b""), "of another version: %s" % (found,))


def credentials(bench):
    """Credentials from the environment and from files, wrong ones, expired ones, none; no message shows them"""
    home = os.path.join(bench.work, ".aws")
    os.mkdir(home)
    with Server({"bucket/a.csv": b"a,b\n1,2\n"}, KEY, SECRET) as server:
        count = lambda **more: bench.run(server, "count", "s3://bucket/a.csv", **more)  # noqa: E731
        none = {"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""}
        check(count()[:2] == (0, b"1\n"), "from the environment: %s" % (count(),))
        for more, status, words in (
                ({"AWS_SECRET_ACCESS_KEY": SECRET[:-1]}, 1, "403, SignatureDoesNotMatch"),
                ({"AWS_ACCESS_KEY_ID": "AKIDOTHER"}, 1, "403, InvalidAccessKeyId"),
                ({"AWS_SECRET_ACCESS_KEY": ""}, 2, "only one of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"),
                (none, 1, "there are no credentials")):
            found = count(**more)
            check(found[0] == status and words in found[2], "%s: %s" % (more, found))
        with open(os.path.join(home, "credentials"), "w") as file:
            file.write("# mine\n[other]\naws_access_key_id = x\naws_secret_access_key = y\n\n[default]\n"
                       "aws_access_key_id=%s\naws_secret_access_key = %s\n" % (KEY, SECRET))
        check(count(**none)[:2] == (0, b"1\n"), "from a file: %s" % (count(**none),))
        found = count(**none, AWS_PROFILE="other")
        check(found[0] == 1 and "InvalidAccessKeyId" in found[2], "another profile: %s" % (found,))
        with open(os.path.join(home, "config"), "w") as file:
            file.write("[profile far]\nregion = eu-north-1\nendpoint_url = %s\naws_access_key_id=%s\n"
                       "aws_secret_access_key=%s\n" % (server.url, KEY, SECRET))
        server.region = "eu-north-1"
        found = count(**none, AWS_PROFILE="far", AWS_ENDPOINT_URL="")
        check(found[:2] == (0, b"1\n"), "a profile with a region and an endpoint: %s" % (found,))
        found = count(AWS_REGION="us-west-2")
        check(found[:2] == (0, b"1\n"), "the region that the server names: %s" % (found,))
        server.token = TOKEN
        check(count(AWS_SESSION_TOKEN=TOKEN)[:2] == (0, b"1\n"), "with a token")
        found = count(AWS_SESSION_TOKEN="old")
        check(found[0] == 1 and "the credentials have expired" in found[2], "expired: %s" % (found,))
        server.token = None
        for hours in (-3, 3):
            now = server.clock
            server.clock = lambda hours=hours: datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=hours)
            found = count()
            check(found[0] == 1 and "clock" in found[2] or found[:2] == (0, b"1\n"), "a clock %d hours off: %s" % (hours, found))
            server.clock = now


def urls(bench):
    """What a URL may be; signatures in it and passwords are not shown"""
    with Server({"bucket/a.csv": b"a,b\n1,2\n", "bucket/s p+&=%\u00fc.csv": b"a\n1\n", "web/a.csv": b"a\n1\n2\n"},
                KEY, SECRET) as server:
        for url, status, words in (("s3://bucket/a.csv", 0, ""), ("s3://bucket/s p+&=%\u00fc.csv", 0, ""),
                                   ("s3://bucket/none.csv", 1, "s3://bucket/none.csv: there is no such object"),
                                   ("s3://none/a.csv", 1, "there is no such bucket"), ("s3://bucket", 2, "a bucket"),
                                   ("s3://bucket/", 2, "a bucket"), ("s3:///a", 2, "no bucket"),
                                   ("https://me:%s@host/a" % SECRET, 2, "user name or password")):
            found = bench.run(server, "count", url)
            check(found[0] == status and words in found[2], "%s: %s" % (url, found))
        found = bench.run(server, "count", server.url + "/web/a.csv?X-Amz-Signature=" + SECRET)
        check(found[:2] == (0, b"2\n"), "a signed URL: %s" % (found,))
        found = bench.run(server, "count", server.url + "/web/none.csv?X-Amz-Signature=" + SECRET)
        check(found[0] == 1 and server.url + "/web/none.csv: " in found[2], "a signed URL: %s" % (found,))
        server.fault = lambda request: "user"
        found = bench.run(server, "count", "s3://bucket/a.csv")
        check(found[0] == 1 and "s3://bucket/a.csv: the server answers 404, NoSuchUser" in found[2], found)
        server.fault = lambda request: None
        server.has_tags = False
        found = bench.run(server, "count", server.url + "/web/a.csv?X-Amz-Signature=1")
        check(found[:2] == (0, b"2\n"), "by its time: %s" % (found,))


def redirections(bench):
    """A web server may send the command elsewhere, but not to another port; a store may not at all"""
    with Server({"web/a.csv": b"a\n1\n2\n", "web/b.csv": b"a\n1\n"}) as server, Server({"web/a.csv": b"a\n1\n"}) as other:
        url = server.url + "/web/a.csv"
        server.fault = lambda request: ("redirect", server.url + "/web/b.csv") if request.key == "web/a.csv" else None
        found = bench.run(None, "count", url)
        check(found[:2] == (0, b"1\n"), "to another file: %s" % (found,))
        found = bench.run(server, "count", "s3://web/a.csv")
        check(found[0] == 1 and "302" in found[2], "of a store: %s" % (found,))
        server.fault = lambda request: ("redirect", "file:///etc/passwd")
        found = bench.run(None, "count", url)
        check(found[0] == 1 and found[1] == b"", "to a local file: %s" % (found,))
        server.fault = lambda request: ("redirect", other.url + "/web/a.csv")
        found = bench.run(None, "count", "-v", url)
        if "the sandbox is not active" in found[2] or not has_ports():
            raise Skip("the kernel does not confine connections")
        check(found[0] == 1 and other.requests == [], "to another port: %s" % (found,))


def has_ports():
    """Whether Landlock knows ports: version 4 of its interface, in Linux 6.7."""
    return tuple(map(int, os.uname().release.split(".")[:2])) >= (6, 7)


def encrypt(bench, server):
    """Makes the server speak TLS. Returns the path of its certificate, and the server."""
    openssl, key, certificate = need_tool("openssl"), os.path.join(bench.work, "key.pem"), os.path.join(bench.work, "cert.pem")
    subprocess.run([openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                    "-subj", "/CN=store", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate],
                   check=True, capture_output=True)
    server.encrypt(certificate, key)
    return certificate, server


def encryption(bench):
    """TLS: a certificate that AWS_CA_BUNDLE vouches for, and one that nobody does"""
    data = records(200000, 6)
    certificate, server = encrypt(bench, Server({"bucket/a.csv": data}, KEY, SECRET))
    with server:
        found = bench.run(server, "cat", "s3://bucket/a.csv", AWS_CA_BUNDLE=certificate)
        check(found == (0, data, ""), "a certificate that is known: %s" % (found[2],))
        found = bench.run(server, "cat", "s3://bucket/a.csv")
        check(found[0] == 1 and found[1] == b"" and "certificate" in found[2], "one that is not: %s" % (found,))


CHECKS = (without_module, without_libcurl, same_as_files, many_parts, passing_faults, lasting_faults, endless, replaced,
          ranges, credentials, urls, redirections, encryption)


def judge(one, bench):
    if one is not without_module and not bench.args.module:
        raise Skip("libcurl4-openssl-dev is not installed")
    one(bench)


def main(about=__doc__, checks=CHECKS, kind=Bench, more=(), timed=()):
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cleave", required=True)
    parser.add_argument("--module")
    parser.add_argument("--folder", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=24)
    parser.add_argument("--only", default="")
    parser.add_argument("--timed", choices=("yes", "no"))   # only checks that depend on how long something takes
    for option in more:
        parser.add_argument(option)
    args = parser.parse_args()
    tally = Tally()
    for one in checks:
        if args.only in one.__name__ and args.timed in (None, "yes" if one in timed else "no"):
            bench = kind(args)
            try:
                tally.run(one.__doc__.splitlines()[0], lambda one=one, bench=bench: judge(one, bench))
            finally:
                bench.close()
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
