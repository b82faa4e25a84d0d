#!/usr/bin/env python3
"""Uploads by the module for object stores itself, without the command: whatever the server does, an object is there
whole or not at all, and after an abort nothing is left.

  module_test.py --module MODULE [--only WORDS]

The module is loaded by ctypes. The server is that of server.py, on loopback.
"""
import argparse
import concurrent.futures
import ctypes
import hashlib
import itertools
import os
import random
import subprocess
import sys
import tempfile
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(HERE)), "tools"))
sys.path.insert(0, HERE)
from server import Server  # noqa: E402
from verdicts import Skip, Tally, need as check, need_tool  # noqa: E402

KEY, SECRET = "AKIDEXAMPLE", "wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY"
DONE, ABSENT, DENIED, CHANGED, UNSUPPORTED, INVALID, FAILED, CANCELLED, TAKEN = range(9)
MIB = 1 << 20

# store_module.h in ctypes.
IS_CANCELLED = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)
P, U32, U64, SIZE = ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_size_t


class Call(ctypes.Structure):
    _fields_ = [("is_cancelled", IS_CANCELLED), ("context", P), ("message", P), ("message_size", SIZE)]


class Facts(ctypes.Structure):
    _fields_ = [("size", U64), ("version", ctypes.c_char_p)]


TEXT, CALL, INTO = ctypes.c_char_p, ctypes.POINTER(Call), ctypes.POINTER(P)


def function(result, *arguments):
    return ctypes.CFUNCTYPE(result, *arguments)


class Table(ctypes.Structure):
    _fields_ = [
        ("interface_version", U32), ("struct_size", U32),
        ("open", function(ctypes.c_int32, TEXT, INTO, CALL)), ("close", function(None, P)),
        ("ports", function(SIZE, P, ctypes.POINTER(ctypes.c_uint16))),
        ("find", function(ctypes.c_int32, P, TEXT, INTO, CALL)),
        ("facts", function(ctypes.POINTER(Facts), P)), ("release", function(None, P)),
        ("read", function(ctypes.c_int32, P, U64, P, SIZE, CALL)),
        ("begin_upload", function(ctypes.c_int32, P, TEXT, INTO, CALL)), ("release_upload", function(None, P)),
        ("upload_part", function(ctypes.c_int32, P, U32, TEXT, SIZE, CALL)),
        ("copy_part", function(ctypes.c_int32, P, U32, P, U64, U64, CALL)),
        ("complete_upload", function(ctypes.c_int32, P, ctypes.c_int, CALL)),
        ("abort_upload", function(ctypes.c_int32, P, CALL)),
        ("remove", function(ctypes.c_int32, P, TEXT, CALL)), ("abort_uploads", function(ctypes.c_int32, P, TEXT, CALL)),
        ("place", function(ctypes.c_int32, P, TEXT, P, CALL))]


class Module:
    lock = threading.Lock()   # open() reads the environment

    def __init__(self, path):
        library = ctypes.CDLL(path)
        library.cleave_store_open.restype = ctypes.POINTER(Table)
        self.table = library.cleave_store_open().contents
        check(self.table.interface_version == 1 and self.table.struct_size == ctypes.sizeof(Table),
              "the table has %d bytes, not %d" % (self.table.struct_size, ctypes.sizeof(Table)))

    def call(self, name, *arguments, is_cancelled=None):
        """The result and the message, which never shows a secret."""
        message = ctypes.create_string_buffer(400)
        watch = IS_CANCELLED(is_cancelled) if is_cancelled else IS_CANCELLED()
        call = Call(watch, None, ctypes.addressof(message), len(message))
        result = getattr(self.table, name)(*arguments, ctypes.byref(call))
        text = message.value.decode()
        for secret in (SECRET, "Signature=", "+/="):
            check(secret not in text, "a message shows a secret: %s" % text)
        check((result == DONE) == (text == ""), "%s ends with %d and says %r" % (name, result, text))
        return result, text

    def make(self, name, *arguments, **more):
        """The same for a function that makes something, which it returns instead of the message."""
        made = P()
        result, text = self.call(name, *arguments, ctypes.byref(made), **more)
        check((result == DONE) == bool(made.value), "%s ends with %d and makes %s" % (name, result, made.value))
        return result, text if result else made


class Store:
    """A store on a server. Calls return the result alone."""

    def __init__(self, module, server, url="s3://bucket/a", **more):
        self.module = module
        environment = {"HOME": "/nonexistent", "AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET,
                       "AWS_ENDPOINT_URL": server.url, "AWS_REGION": server.region, **more}
        with Module.lock:
            before = dict(os.environ)
            for name in list(os.environ):
                if name.startswith("AWS_") or name.lower().endswith("_proxy"):
                    del os.environ[name]
            os.environ.update(environment)
            result, self.handle = module.make("open", url.encode())
            os.environ.clear()
            os.environ.update(before)
        check(result == DONE, "open: %s" % self.handle)

    def __enter__(self):
        return self

    def __exit__(self, *args):
        self.module.table.close(self.handle)

    def begin(self, url, **more):
        result, made = self.module.make("begin_upload", self.handle, url.encode(), **more)
        return result, None if result else Upload(self.module, made)

    def find(self, url):
        result, made = self.module.make("find", self.handle, url.encode())
        check(result == DONE, "find: %s" % made)
        return made

    def remove(self, url, **more):
        return self.module.call("remove", self.handle, url.encode(), **more)[0]

    def abort_all(self, url, **more):
        return self.module.call("abort_uploads", self.handle, url.encode(), **more)[0]


class Upload:
    def __init__(self, module, handle):
        self.module, self.handle = module, handle

    def __del__(self):
        self.module.table.release_upload(self.handle)

    def part(self, number, data, **more):
        return self.module.call("upload_part", self.handle, number, data, len(data), **more)[0]

    def copy(self, number, source, offset, size, **more):
        return self.module.call("copy_part", self.handle, number, source, offset, size, **more)[0]

    def complete(self, replaces=0, **more):
        return self.module.call("complete_upload", self.handle, replaces, **more)[0]

    def abort(self, **more):
        return self.module.call("abort_upload", self.handle, **more)[0]


def kind_of(request):
    """Which function sends such a request."""
    query = request.query
    if request.method == "PUT":
        return "copy" if "x-amz-copy-source" in request.headers else "part"
    if request.method == "POST":
        return "begin" if "uploads" in query else "complete"
    if request.method == "DELETE":
        return "abort" if "uploadId" in query else "remove"
    return "list" if "uploads" in query else "look"


def failing(kind, fault, times=1 << 30):
    """A server's fault: for requests of one kind, so many times."""
    left = itertools.count()
    return lambda request: fault if kind_of(request) == kind and next(left) < times else None


def text_of(size, seed=1):
    return random.Random(seed).randbytes(size)


SOURCE = text_of(5 * MIB + 100)
PART = text_of(1000, 2)
WHOLE = PART + SOURCE[7:5 * MIB] + b"end"


def serve():
    """A server that takes small parts, with a source to copy from."""
    return Server({"bucket/source": SOURCE}, KEY, SECRET, least_part=1)


def write(store, server):
    """Uploads WHOLE as s3://bucket/a and then removes it, by every function. Returns the results that are not DONE."""
    source = store.find("s3://bucket/source")
    try:
        result, upload = store.begin("s3://bucket/a")
        if result:
            return {"begin": result}
        results = {"part": upload.part(1, PART) or upload.part(3, b"end"),
                   "copy": upload.copy(2, source, 7, 5 * MIB - 7)}
        if not any(results.values()):
            results["complete"] = upload.complete()
        if not any(results.values()):
            check(server.objects["bucket/a"].data == WHOLE, "the object has other bytes")
            results["remove"] = store.remove("s3://bucket/a")
        results["abort"] = upload.abort()
        results["list"] = store.abort_all("s3://bucket/a")
        return {name: result for name, result in results.items() if result}
    finally:
        store.module.table.release(source)


def clear(store, server):
    """What a caller does after a failure: nothing is left."""
    check(store.abort_all("s3://bucket/a") == DONE, "abort_uploads fails")
    check(store.remove("s3://bucket/a") == DONE, "remove fails")
    check(not server.uploads and set(server.objects) == {"bucket/source"},
          "left: %s, %s" % (server.uploads, set(server.objects)))


KINDS = ("begin", "part", "copy", "complete", "remove", "abort", "list")
PASSING = ("500", "503", "429", "reset", "lost", "cut", "error200")


def cases():
    for kind in KINDS:
        for fault in PASSING:
            only = {"cut": ("part", "complete"), "error200": ("copy", "complete")}
            if kind in only.get(fault, KINDS):
                yield kind, fault


def at_once(work, items):
    """Most of the time is spent with waiting."""
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        for done in [pool.submit(work, *item) for item in items]:
            done.result()


def many_parts(module):
    """Parts of full size, sent by several threads in any order; odd names; an empty object; without credentials"""
    parts = [text_of(5 * MIB + number, number) for number in range(4)] + [b"the last"]
    for key in (KEY, None):
        with Server({}, key, SECRET) as server:
            server.buckets.add("bucket")
            more = {} if key else {"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""}
            with Store(module, server, **more) as store:
                for name in ("a", "s p+&=%\u00fc/<x>.csv"):
                    result, upload = store.begin("s3://bucket/" + name)
                    check(result == DONE, "begin: %d" % result)
                    at_once(lambda number, data: check(upload.part(number, data) == DONE, "a part"),  # noqa: B023
                            [(number, parts[number - 1]) for number in (5, 2, 1, 4, 3)])
                    check(upload.complete() == DONE, "complete")
                    check(server.objects["bucket/" + name].data == b"".join(parts), "the bytes of %s" % name)
                    check(not server.uploads, "an upload is left")
                check(server.received == 2 * sum(map(len, parts)), "%d bytes were received" % server.received)
                result, upload = store.begin("s3://bucket/empty")
                check(upload.part(1, b"") == DONE and upload.complete() == DONE, "an empty object")
                check(server.objects["bucket/empty"].data == b"", "the bytes of an empty object")
                result, upload = store.begin("s3://bucket/again")
                check(upload.part(1, b"x") == upload.part(1, b"y") == upload.complete() == DONE, "a part sent twice")
                check(server.objects["bucket/again"].data == b"y", "a part sent twice does not replace the first")


def refused(module):
    """What the server refuses of a finished upload is an error, and the object is not there"""
    with Server({"bucket/source": SOURCE}, KEY, SECRET) as server, Store(module, server) as store:
        _, upload = store.begin("s3://bucket/a")
        check(upload.part(1, b"small") == DONE and upload.part(2, b"small") == DONE, "a part")
        check(upload.complete() == FAILED and "bucket/a" not in server.objects, "parts that are too small")
        check(upload.abort() == DONE and upload.abort() == DONE and not server.uploads, "abort")
        check(upload.part(1, PART) == FAILED and upload.complete() == FAILED, "an upload that is gone")
        check(store.begin("s3://none/a")[0] == INVALID and store.remove("s3://none/a") == INVALID and
              store.abort_all("s3://none/a") == INVALID, "another bucket")
        for url in (server.url + "/bucket/a", "https://127.0.0.1/a"):
            with Store(module, server, url) as web:
                check((web.begin(url)[0], web.remove(url), web.abort_all(url)) == (INVALID,) * 3, url)
        with Store(module, server, "s3://none/a") as other:
            check(other.begin("s3://none/a")[0] == ABSENT, "no such bucket")
        with Store(module, server, AWS_SECRET_ACCESS_KEY="other") as other:
            check((other.begin("s3://bucket/a")[0], other.remove("s3://bucket/source")) == (DENIED,) * 2, "a wrong key")
        check(set(server.objects) == {"bucket/source"} and not server.uploads, "something is left")


def passing_faults(module):
    """Each request fails once or twice in each way: the right bytes, and nothing is left"""
    def work(kind, fault, times):
        with serve() as server, Store(module, server) as store:
            server.fault = failing(kind, fault, times)
            results = write(store, server)
            check(results == {}, "%s, %d times %s: %s" % (kind, times, fault, results))
            check(not server.uploads and set(server.objects) == {"bucket/source"},
                  "%s, %s: something is left" % (kind, fault))
            seen = [kind_of(request) for request in server.requests]
            check(seen.count(kind) > times, "%s was not repeated: %s" % (kind, seen))
    at_once(work, [(*case, times) for case in cases() for times in (1, 2)])


def lasting_faults(module):
    """Each request fails for good in each way: an error, an object that is whole or none, and nothing after an abort"""
    def work(kind, fault, expected):
        with serve() as server, Store(module, server) as store:
            server.fault = failing(kind, fault)
            results = write(store, server)
            is_found_out = (kind, fault) == ("complete", "lost")   # by looking for the object
            check(results == ({} if is_found_out else {kind: expected}), "%s, %s: %s" % (kind, fault, results))
            check("bucket/a" not in server.objects or kind == "remove" or (kind, fault) == ("complete", "lost"),
                  "%s, %s: an object" % (kind, fault))
            check("bucket/a" not in server.objects or server.objects["bucket/a"].data == WHOLE, "other bytes")
            server.fault = lambda request: None
            clear(store, server)
    at_once(work, [(*case, FAILED) for case in cases()] + [(kind, "expired", DENIED) for kind in KINDS])


def lost_answers(module):
    """What was done although no answer came is neither done twice nor taken for somebody else's"""
    with serve() as server, Store(module, server) as store:
        server.fault = failing("begin", "lost")
        check(store.begin("s3://bucket/a")[0] == FAILED, "begin")
        check([kind_of(request) for request in server.requests].count("begin") == 6, "begin is not repeated")
        check(not server.uploads, "uploads that nobody knows are left: %s" % server.uploads)
        server.fault = failing("begin", "lost", 2)
        _, upload = store.begin("s3://bucket/a")
        check(len(server.uploads) == 1, "uploads that nobody knows are left: %s" % server.uploads)
        check(upload.part(1, PART) == DONE, "the wrong one was aborted")
        server.fault = failing("complete", "lost", 1)
        check(upload.complete() == DONE and server.objects["bucket/a"].data == PART, "complete")
        check(store.begin("s3://bucket/ab")[0] == DONE, "begin")
        server.fault = failing("begin", "503", 1)
        check(store.begin("s3://bucket/ab")[0] == DONE and len(server.uploads) == 2,
              "somebody else's upload is aborted")
        check(store.abort_all("s3://bucket/ab") == DONE and not server.uploads, "abort_uploads")
        begin, forbidden = failing("begin", "lost", 1), failing("list", "expired")
        server.fault = lambda request: begin(request) or forbidden(request)
        check(store.begin("s3://bucket/ab")[0] == DONE, "begin by somebody who may not list")
        server.uploads.clear()

        # Somebody else writes an object of that name, while the answer is lost: it is not ours.
        for replaces, expected, theirs in ((0, TAKEN, b"theirs"), (1, FAILED, b"theirs"), (1, FAILED, PART[::-1])):
            server.objects.pop("bucket/a", None)
            server.fault = lambda request: None
            _, upload = store.begin("s3://bucket/a")
            upload.part(1, PART)
            server.fault = failing("complete", "500", 1)

            def steal(request, replaces=replaces, theirs=theirs):
                if kind_of(request) == "complete":
                    server.put("bucket/a", theirs, '"%s-1"' % hashlib.md5(hashlib.md5(theirs).digest()).hexdigest())
                    if replaces:
                        server.uploads.clear()
            server.before = steal
            check(upload.complete(replaces) == expected, "somebody else's object is taken for ours")
            check(server.objects["bucket/a"].data == theirs, "somebody else's object is gone")
            server.before = lambda request: None
            server.uploads.clear()


def doubts(module):
    """An upload that is gone although no answer said that it is an object: abort() does not claim that nothing is left"""
    for fault, expected in (("lost", ABSENT), ("500", DONE)):
        with serve() as server, Store(module, server) as store:
            _, upload = store.begin("s3://bucket/a")
            check(upload.part(1, PART) == DONE, "a part")
            server.fault = lambda one, fault=fault: {"complete": fault}.get(kind_of(one), "expired" if one.method == "HEAD" else None)
            check(upload.complete() == FAILED, "complete")
            server.fault = lambda request: None
            check(("bucket/a" in server.objects) == (fault == "lost"), "the object")
            check(upload.abort() == expected and not server.uploads, "abort after %s" % fault)
    with serve() as server, Store(module, server) as store:
        faults_ = {"begin": "lost", "list": "expired"}
        server.fault = lambda one: faults_.get(kind_of(one))
        made = module.make("begin_upload", store.handle, b"s3://bucket/a")
        check(made[0] == FAILED and made[1].endswith("; an upload of this name may be left"), made)
        check(len(server.uploads) == 6, "%d uploads" % len(server.uploads))


def conditions(module):
    """An object that is there is replaced only if that is asked for, also by servers that know no conditions"""
    for support in (True, False):
        for url in ("s3://bucket/a", "gs://bucket/a"):
            with serve() as server, Store(module, server, url) as store:
                server.support_condition = support
                server.put("bucket/a", b"theirs")
                _, upload = store.begin(url)
                check(upload.part(1, PART) == DONE, "a part")
                check(upload.complete() == TAKEN, "%s: an object that is there" % url)
                check(server.objects["bucket/a"].data == b"theirs", "%s: it is gone" % url)
                check(upload.complete(1) == DONE and server.objects["bucket/a"].data == PART, "%s: it replaces" % url)
                check(store.remove(url) == DONE, "remove")
                _, upload = store.begin(url)
                check((upload.part(1, b"x"), upload.complete()) == (DONE, DONE), "%s: none is there" % url)
                check(server.objects["bucket/a"].data == b"x", "the bytes")
                _, upload = store.begin(url)
                check((upload.part(1, b"x"), upload.complete()) == (DONE, TAKEN), "%s: the same object is there" % url)
                server.uploads.clear()


def copies(module):
    """Copies from the same bucket and another one; what cannot be copied is told at once; a source that changes"""
    with serve() as server, Store(module, server) as store:
        server.put("other/s p+\u00fc.csv", SOURCE[::-1])
        server.put("bucket/small", SOURCE[:5 * MIB - 1])
        with Store(module, server, "s3://other/x") as other:
            source = other.find("s3://other/s p+\u00fc.csv")
            _, upload = store.begin("s3://bucket/a")
            check(upload.copy(1, source, 3, 5 * MIB) == DONE, "from another bucket")
            check(upload.copy(2, store.find("s3://bucket/source"), 0, len(SOURCE)) == DONE, "all of an object")
            check(upload.copy(3, source, len(SOURCE) - 1, 1) == DONE, "the last byte")
            check(upload.complete() == DONE, "complete")
            data = SOURCE[::-1][3:3 + 5 * MIB] + SOURCE + SOURCE[:1]
            check(server.objects["bucket/a"].data == data, "the bytes")
            check(server.received == 0 and server.copied == len(data), "bytes were moved")
            _, upload = store.begin("s3://bucket/b")
            server.support_copy = False
            check(upload.copy(1, source, 0, 1000) == UNSUPPORTED, "a server that does not copy")
            server.support_copy = True
            server.put("other/s p+\u00fc.csv", SOURCE)
            check(upload.copy(1, source, 0, 1000) == CHANGED, "a source that was replaced")
            del server.objects["other/s p+\u00fc.csv"]
            server.buckets.add("other")
            check(upload.copy(1, source, 0, 1000) == CHANGED, "a source that was removed")
            source = store.find("s3://bucket/source")
            check(upload.copy(1, source, 0, len(SOURCE) + 1) == FAILED, "a range that is not there")
            upload.abort()
            check(upload.copy(1, source, 0, 1000) == FAILED, "an upload that is gone")

        _, upload = store.begin("s3://bucket/b")
        server.put("bucket/weak", SOURCE, 'W/"1"')
        with serve() as far, \
                Store(module, far, "s3://bucket/a") as elsewhere, \
                Store(module, server, "s3://bucket/a", AWS_SESSION_TOKEN="t") as stranger, \
                Store(module, server, "gs://bucket/a") as gs, \
                Store(module, server, server.url + "/bucket/source?X-Amz-Signature=1") as web:
            sources = {"another server": elsewhere.find("s3://bucket/source"),
                       "a small object": store.find("s3://bucket/small"),
                       "gs": gs.find("gs://bucket/source"), "a weak tag": store.find("s3://bucket/weak"),
                       "a web server": web.find(server.url + "/bucket/source?X-Amz-Signature=1")}
            server.token = "t"
            sources["other credentials"] = stranger.find("s3://bucket/source")
            server.token = None
            before = len(server.requests) + len(far.requests)
            for what, source in sources.items():
                check(upload.copy(1, source, 0, 1000) == UNSUPPORTED, what)
            check(len(server.requests) + len(far.requests) == before, "requests were sent")
            _, upload = gs.begin("gs://bucket/c")
            check(upload.copy(1, sources["gs"], 0, 1000) == UNSUPPORTED, "within gs")


def lists(module):
    """abort_uploads finds all uploads of exactly one name, on any number of pages, encoded or not"""
    for page, encodes in ((1, True), (2, False), (1000, True), (1000, False)):
        with serve() as server, Store(module, server) as store:
            server.page, server.encodes = page, encodes
            kept = {}
            for key in ("a", "a+b &<\u00fc%41/c", "a+b &<\u00fc%41/c2", "b"):
                for _ in range(3):
                    kept.setdefault(key, []).append(store.begin("s3://bucket/" + key)[1])
            for key in ("a+b &<\u00fc%41/c", "a", "none"):
                check(store.abort_all("s3://bucket/" + key) == DONE, "abort_uploads")
                kept.pop(key, None)
                left = {upload.key[7:] for upload in server.uploads.values()}
                check(left == set(kept) and len(server.uploads) == 3 * len(kept), "%s: %s are left" % (key, left))


def cancelled(module):
    """While the server is silent, each call asks whether it is cancelled, again and again, and ends when it is"""
    def work(kind):
        with serve() as server, Store(module, server) as store:
            source = store.find("s3://bucket/source")
            _, upload = store.begin("s3://bucket/a")
            check(upload.part(1, PART) == DONE, "a part")
            silence, is_silent, questions = failing(kind, "silent"), threading.Event(), itertools.count()

            def fall_silent(request):
                fault = silence(request)
                if fault:
                    is_silent.set()
                return fault
            server.fault = fall_silent
            more = {"is_cancelled": lambda context: int(is_silent.is_set() and next(questions) >= 3)}
            url = "s3://bucket/a"
            calls = {"begin": lambda: store.begin(url, **more)[0], "part": lambda: upload.part(2, PART, **more),
                     "copy": lambda: upload.copy(2, source, 0, 1000, **more),
                     "complete": lambda: upload.complete(**more),
                     "abort": lambda: upload.abort(**more), "remove": lambda: store.remove(url, **more),
                     "list": lambda: store.abort_all(url, **more)}
            result = calls[kind]()
            check(result == CANCELLED, "%s ends with %d" % (kind, result))
            server.fault = lambda request: None
            clear(store, server)
            store.module.table.release(source)
    at_once(work, [(kind,) for kind in KINDS])


def encryption(module):
    """Over TLS, which protects the parts: their hashes are not sent"""
    openssl = need_tool("openssl")
    with tempfile.TemporaryDirectory() as folder:
        key, certificate = os.path.join(folder, "key.pem"), os.path.join(folder, "cert.pem")
        subprocess.run([openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                        "-days", "2", "-subj", "/CN=store", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key,
                        "-out", certificate], check=True, capture_output=True)
        server = serve()
        server.encrypt(certificate, key)
        with server:
            with Store(module, server, AWS_CA_BUNDLE=certificate) as store:
                check(write(store, server) == {}, "a certificate that is known")
            hashes = {kind_of(one): one.headers["x-amz-content-sha256"] for one in server.requests}
            check(hashes["part"] == "UNSIGNED-PAYLOAD" and len(hashes["complete"]) == 64, "hashes: %s" % hashes)
            with Store(module, server) as store:
                check(store.begin("s3://bucket/a")[0] == FAILED and not server.uploads, "one that is not")


CHECKS = (many_parts, refused, passing_faults, lasting_faults, lost_answers, doubts, conditions, copies, lists, cancelled,
          encryption)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--module")
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    tally = Tally()

    def judge(one):
        if not args.module:
            raise Skip("libcurl4-openssl-dev is not installed")
        one(Module(args.module))
    for one in CHECKS:
        if args.only in one.__name__:
            tally.run(one.__doc__.splitlines()[0], lambda one=one: judge(one))
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
