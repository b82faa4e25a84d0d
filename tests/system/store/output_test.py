#!/usr/bin/env python3
"""Pieces as objects: those of a split into files, all or none, whatever the server does.

  output_test.py --cleave PATH --folder FOLDER [--module MODULE] [--seed N] [--rounds N]

See store_test.py.
"""
import concurrent.futures
import contextlib
import gzip
import json
import os
import signal
import subprocess
import sys
import threading
import time

import store_test
from server import FIRST_BYTES, Server
from store_test import KEY, SECRET, pieces_in, records
from verdicts import need as check

PART = 5 << 20
PASSING = ("500", "503", "429", "reset", "lost", "error200")   # another attempt may succeed
SPLITS = (("-n", "5"), ("-l", "700"), ("-C", "9000"), ("-n", "3", "--header", "first"), ("-n", "3", "--header", "drop"),
          ("--by", "place"), ("--by", "place", "--buckets", "3"), ("-l", "500", "--compress", "gzip"), ("-n", "2", "-H"),
          ("-n", "4", "--redact", 'note: fixed("x")'), ("-n", "3", "--select", "id,place"))


def objects_in(server, prefix):
    return {name[len(prefix):]: bytes(one.data) for name, one in sorted(server.objects.items()) if name.startswith(prefix)}


def is_clean(server, prefix="out/"):
    """Whether no object and no upload is there."""
    return objects_in(server, prefix) == {} and server.uploads == {}


def store_of(objects=None):
    server = Server(objects or {}, KEY, SECRET)
    server.buckets.add("out")
    return server


def template(words):
    return "{value}.csv" if "--by" in words and "--buckets" not in words else "{i}.csv"


def as_files(bench, source, words):
    """The exit status of the split into files, and the files."""
    with bench.folder() as folder:
        found = bench.run(None, "split", *words, source, "-o", os.path.join(folder, template(words)))
        return found[0], pieces_in(folder)


def same_as_files(bench):
    """Objects, pipes and files as inputs: the objects are the files of the same split, and there are no others"""
    files = {"empty.csv": b"", "header.csv": b"id,note,place\n", "one.csv": b"id,note,place\n1,x,y\n",
             "last.csv": b"id,note,place\n1,x,y\n2,x,y", "some.csv": records(3000, 1),
             "some.csv.gz": gzip.compress(records(3000, 1)), "open.csv": b'id,note,place\n1,"x,y\n2,x,y\n'}
    with store_of({"in/" + name: data for name, data in files.items()}) as server:
        for name in files:
            path = bench.write(name, files[name])
            for words in SPLITS:
                status, wanted = as_files(bench, path, words)
                for source in (path, "s3://in/" + name):
                    found = bench.run(server, "split", *words, source, "-o", "s3://out/a b/" + template(words))
                    check(found[0] == status, "%s of %s: %s" % (words, source, found))
                    got = objects_in(server, "out/a b/")
                    check(got == wanted, "%s of %s: %s instead of %s" % (words, source, list(got), list(wanted)))
                    check(server.uploads == {}, "%s of %s leaves %s" % (words, source, server.uploads))
                    for key in got:
                        del server.objects["out/a b/" + key]
        with open(os.path.join(bench.work, "some.csv"), "rb") as file:
            done = subprocess.run([bench.cleave, "split", "-l", "700", "-o", "s3://out/{i}.csv", "-"], stdin=file,
                                  env=bench.environment(server), capture_output=True, check=False)
        wanted = as_files(bench, os.path.join(bench.work, "some.csv"), ("-l", "700"))[1]
        check(done.returncode == 0 and objects_in(server, "out/") == wanted, "from a pipe: %s" % done.stderr)
    left = sorted(set(os.listdir(bench.work)) - set(files))
    check(left == [], "there are the files %s" % left)


def large(bench):
    """60 MB, whose records have line breaks in quotes."""
    data = records(40000, 7)
    head, _, rest = data.partition(b"\n")
    return head + b"\n" + rest * (60 * 10 ** 6 // len(rest))


def in_the_store(bench):
    """An object is cut in the store: almost no bytes move, between buckets too; without copies all do"""
    data = large(bench)
    path = bench.write("large.csv", data)
    for words, parts, copies in ((("-n", "4"), 3, True), (("-n", "4", "--header", "first"), 0, True),
                                 (("-n", "3", "--header", "drop"), 0, True), (("-C", "8M"), 8, True),
                                 (("-C", "3M", "--header", "drop"), 0, True),
                                 (("-n", "3", "--checksum", "--json"), 2, True), (("-n", "3"), 2, False)):
        with store_of({"in/large.csv": data}) as server:
            server.support_copy = copies
            found = bench.run(server, "split", *words, "s3://in/large.csv", "-o", "s3://out/{i}.csv")
            check(found[0] == 0, "%s: %s" % (words, found))
            check(objects_in(server, "out/") == as_files(bench, path, words)[1] and server.uploads == {},
                  "%s: other objects" % (words,))
            if copies:
                check(server.received <= parts * PART + 1000, "%s: %d bytes were uploaded" % (words, server.received))
                check(server.copied >= len(data) - parts * PART - 1000, "%s: %d bytes were copied" % (words, server.copied))
            else:
                check(server.received >= len(data) and server.copied == 0, "%d bytes were uploaded" % server.received)
            once = 2 if "--checksum" in words or not copies else 1
            check(server.sent <= once * len(data) + (parts + 1) * PART + 10 ** 6,
                  "%s: %d bytes were downloaded" % (words, server.sent))


def large_parts(bench):
    """Files of several parts: the objects are the files"""
    data = large(bench)
    path = bench.write("large.csv", data)
    with store_of() as server:
        for words in (("-n", "2"), ("-n", "2", "--compress", "zstd"), ("-l", "400000"), ("--by", "place")):
            found = bench.run(server, "split", *words, path, "-o", "s3://out/" + template(words))
            check(found[0] == 0, "%s: %s" % (words, found))
            check(objects_in(server, "out/") == as_files(bench, path, words)[1], "%s: other objects" % (words,))
            check(server.uploads == {}, "%s leaves uploads" % (words,))
            for key in objects_in(server, ""):
                del server.objects[key]


def faults(bench):
    """Faults at random requests: the right objects, or an error and none"""
    data = records(2000, 3)
    path = bench.write("some.csv", data)
    words = ("-n", "6")
    wanted = as_files(bench, path, words)[1]
    ended = [0, 0]
    for _ in range(bench.args.rounds):
        with store_of({"in/some.csv": data}) as server:
            share = bench.random.choice([0.05, 0.2, 0.5])
            server.fault = lambda request: bench.random.choice(PASSING) if bench.random.random() < share else None
            source = bench.random.choice([path, "s3://in/some.csv"])
            found = bench.run(server, "split", *words, source, "-o", "s3://out/{i}.csv")
            got = objects_in(server, "out/")
            if found[0] == 0:
                check(got == wanted and server.uploads == {}, "%s: other objects: %s" % (source, list(got)))
            else:
                # Requests that clean up fail, too, so some of it may be left, but never wrong bytes.
                check(found[0] == 1 and all(wanted.get(key) == value for key, value in got.items()),
                      "%s: %s, %s" % (source, found, list(got)))
            ended[found[0]] += 1
    check(ended[0] > 0, "no run succeeded")


def lasting_faults(bench):
    """A request that fails for good: an error, and nothing is left"""
    path = bench.write("some.csv", records(2000, 3))
    kinds = {"begin": lambda one: one.method == "POST" and "uploads" in one.query,
             "part": lambda one: one.method == "PUT",
             "complete": lambda one: one.method == "POST" and "uploadId" in one.query}

    def work(kind, fault, number):
        seen = []

        def failing(one):
            if kinds[kind](one):
                seen.append(one.key)
            return fault if kinds[kind](one) and one.key in seen[number:] else None
        with store_of() as server:
            server.fault = failing
            found = bench.run(server, "split", "-n", "5", path, "-o", "s3://out/{i}.csv")
            check(found[0] == 1 or (fault == "lost" and found[0] == 0), "%s, %s: %s" % (kind, fault, found))
            if found[0] == 0:
                check(len(objects_in(server, "out/")) == 5 and server.uploads == {}, "%s, lost" % kind)
            else:
                check(is_clean(server), "%s, %s leaves %s, %s" % (
                    kind, fault, list(objects_in(server, "out/")), server.uploads))

    cases = [(kind, fault, number) for kind in kinds for fault in ("500", "expired", "reset", "lost", "error200")
             for number in (0, 3) if fault != "error200" or kind == "complete"]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:   # most of the time is spent with waiting
        for done in [pool.submit(work, *case) for case in cases]:
            done.result()


def kept_objects(bench):
    """Objects that must not be removed: the uploads are aborted all the same"""
    path = bench.write("some.csv", records(2000, 3))
    with store_of() as server:
        complete = []

        def refuse(one):
            if one.method == "POST" and "uploadId" in one.query:
                complete.append(one.key)
                return "expired" if len(complete) > 8 else None
            return "expired" if one.method == "DELETE" and "uploadId" not in one.query else None
        server.fault = refuse
        found = bench.run(server, "split", "-n", "40", path, "-o", "s3://out/{i}.csv")
        check(found[0] == 1 and "the credentials have expired" in found[2], found)
        left = objects_in(server, "out/")
        check(len(left) == 8 and server.uploads == {}, "%d uploads are left" % len(server.uploads))
        names = found[2].partition("may be left in the store, as objects or as uploads that nobody sees: ")[2]
        named = names.partition(" and 5 more\n")[0].split(", ")
        check(len(named) == 3 and all(name.removeprefix("s3://out/") in left for name in named), found)


def in_doubt(bench):
    """An object that may be complete is removed, or named if it may have replaced another; the others are aborted"""
    path = bench.write("some.csv", records(2000, 3))
    for words in ((), ("-f",)):
        with store_of() as server:
            def lose(one):
                is_first = one.key == "out/01.csv"
                if one.method == "POST" and "uploadId" in one.query:
                    return "lost" if is_first else "503"
                return "expired" if is_first and one.method == "HEAD" else None

            is_first_aborted = threading.Event()

            def dawdle(one, is_first_aborted=is_first_aborted):   # the first is aborted before all the others
                if one.method == "DELETE" and "uploadId" in one.query:
                    is_first_aborted.set() if one.key == "out/01.csv" else is_first_aborted.wait(WAIT_S)
            server.fault, server.before = lose, dawdle
            found = bench.run(server, "split", "-n", "40", path, "-o", "s3://out/{i}.csv", *words)
            left = list(objects_in(server, "out/"))
            check(found[0] == 1 and server.uploads == {}, "%d uploads are left: %s" % (len(server.uploads), found))
            check(left == (["01.csv"] if words else []), "there are %s: %s" % (left, found))
            named = found[2].partition("may be left in the store, as objects or as uploads that nobody sees: ")[2].partition("\n")[0]
            check(named == ("s3://out/01.csv" if words else ""), found)


def taken(bench):
    """An object of the name: an error, and it stays; -f replaces it; one that appears meanwhile stays as well"""
    path = bench.write("some.csv", records(2000, 3))
    split = ("split", "-n", "3", path, "-o", "s3://out/{i}.csv")
    with store_of({"out/2.csv": b"old"}) as server:
        found = bench.run(server, *split)
        check(found[0] == 1 and "s3://out/2.csv: File exists" in found[2], found)
        check(objects_in(server, "out/") == {"2.csv": b"old"} and server.uploads == {}, "something was written")
        check(not any(one.method in ("PUT", "POST") for one in server.requests), "something was sent")
        with open(path, "rb") as file:
            done = subprocess.run([bench.cleave, "split", "-l", "700", "-o", "s3://out/{i}.csv", "-"], stdin=file,
                                  env=bench.environment(server), capture_output=True, check=False)
        check(done.returncode == 1 and b"s3://out/2.csv: File exists" in done.stderr, done)
        check(objects_in(server, "out/") == {"2.csv": b"old"} and server.uploads == {}, "something is left")
        found = bench.run(server, *split, "-f")
        check(found[0] == 0 and objects_in(server, "out/") == as_files(bench, path, ("-n", "3"))[1], found)
    with store_of() as server:
        def appear(one):
            if one.method == "POST" and "uploadId" in one.query and one.key == "out/3.csv":
                server.put("out/3.csv", b"another's")
        server.before = appear
        found = bench.run(server, *split)
        check(found[0] == 1 and "s3://out/3.csv: File exists" in found[2], found)
        check(objects_in(server, "out/") == {"3.csv": b"another's"} and server.uploads == {}, "something is left")


def killed(bench):
    """A run that is killed: --resume aborts its uploads, keeps what is complete, and writes the rest"""
    data = records(200000, 5)   # of which a piece is compared in several parts
    path = bench.write("some.csv", data)
    wanted = as_files(bench, path, ("-n", "6"))[1]
    split = ("split", "-n", "6", path, "-o", "s3://out/{i}.csv")
    for kind in ("PUT", "POST"):
        with store_of() as server:
            at = []

            def hang(one, kind=kind, at=at):
                if one.method == kind and (kind == "PUT" or "uploadId" in one.query):
                    at.append(one.key)
                    return "silent" if len(at) > 3 else None
                return None
            server.fault = hang
            with bench.start(server, *split) as process:
                wait_for(lambda at=at: len(at) > 3, "requests")
                wait_for(lambda: len(objects_in(server, "out/")) == 3 if kind == "POST" else
                         sum(len(upload.parts) for upload in server.uploads.values()) == 3, "three that are served")
                process.kill()
            complete = objects_in(server, "out/")
            check(server.uploads != {}, "no upload is left")
            check((kind == "PUT") == (complete == {}), "there are %s" % list(complete))
            check(all(wanted[key] == value for key, value in complete.items()), "an object has other bytes")
            # Another server, because this one may still have to read what the run sent before it was killed.
            with store_of() as after:
                after.objects, after.uploads = dict(server.objects), dict(server.uploads)
                found = bench.run(after, *split, "--resume")
                check(found[0] == 0 and objects_in(after, "out/") == wanted and after.uploads == {},
                      "%s: %s, %s" % (kind, found, after.uploads))
                parts = {one.key for one in after.requests if one.method == "PUT"}
                check(len(parts) == 6 - len(complete), "%d parts are uploaded" % len(parts))
                after.put("out/4.csv", wanted["4.csv"][:-2] + b"?\n")
                found = bench.run(after, *split, "--resume")
                check(found[0] != 0 and "s3://out/4.csv: exists and differs" in found[2], found)
                check(after.uploads == {}, "uploads are left")


def resumed_requests(bench):
    """--resume asks for the facts of each object once, whether it is there or not"""
    path = bench.write("some.csv", records(3000, 5))
    split = ("split", "-n", "4", path, "-o", "s3://out/{i}.csv", "--manifest", "s3://out/m.json", "--resume")
    with store_of() as server:
        check(bench.run(server, *split)[0] == 0, "a first run")
        del server.objects["out/2.csv"]
        begun = len(server.requests)
        found = bench.run(server, *split)
        check(found[0] == 0, found)
        asked = [one.key for one in server.requests[begun:] if one.range == FIRST_BYTES]
        check(sorted(asked) == ["out/1.csv", "out/2.csv", "out/3.csv", "out/4.csv", "out/m.json"], asked)


def resumed_without_records(bench):
    """--resume of an input without records: what the files of the same split are"""
    for name, data in (("empty.csv", b""), ("header.csv", b"id,place\n")):
        path = bench.write(name, data)
        for words in (("-n", "2"), ("-l", "5"), ("-C", "900"), ("--by", "place")):
            wanted = as_files(bench, path, words)
            with store_of() as server:
                for _ in range(2):
                    found = bench.run(server, "split", *words, path, "-o", "s3://out/" + template(words), "--resume")
                    check((found[0], objects_in(server, "out/")) == wanted, "%s of %s: %s" % (words, name, found))


def killed_at_manifest(bench):
    """A run that is killed while it writes the manifest: --resume aborts that upload; a manifest that is there stays"""
    path = bench.write("some.csv", records(3000, 5))
    split = ("split", "-n", "3", path, "-o", "s3://out/{i}.csv", "--manifest", "s3://out/m.json")
    with store_of() as server:
        at = []

        def hang(one):
            if one.key == "out/m.json" and one.method == "PUT":
                at.append(one)
                return "silent"
            return None
        server.fault = hang
        with bench.start(server, *split) as process:
            wait_for(lambda: at, "parts of the manifest")
            process.kill()
        check({upload.key for upload in server.uploads.values()} == {"out/m.json"}, server.uploads)
        server.fault = lambda one: None
        for more in (("--resume",), ("--resume",), ("--resume", "--dry-run"), ("--resume", "-f")):
            found = bench.run(server, *split, *more)
            check(found[0] == 0 and set(objects_in(server, "out/")) == {"1.csv", "2.csv", "3.csv", "m.json"}, found)
            check(server.uploads == {}, "%s: uploads are left" % (more,))
        server.put("out/m.json", b"{}")
        del server.objects["out/2.csv"]
        found = bench.run(server, *split, "--resume")
        check(found[0] == 1 and "s3://out/m.json: exists and differs from that of this run; -f replaces it" in found[2], found)
        check(set(objects_in(server, "out/")) == {"1.csv", "3.csv", "m.json"} and server.uploads == {}, "something is left")
        del server.objects["out/1.csv"], server.objects["out/3.csv"]
        for more in ((), ("--dry-run",)):
            found = bench.run(server, *split, *more)
            check(found[0] == 1 and "s3://out/m.json: File exists" in found[2], "%s: %s" % (more, found))


def ended(bench):
    """A run that is ended by a signal leaves nothing, unless it is done"""
    path = bench.write("some.csv", records(6000, 5))
    wanted = as_files(bench, path, ("-n", "6"))[1]
    for kind in ("PUT", "POST"):
        for number in (signal.SIGINT, signal.SIGTERM):
            with store_of() as server:
                at, may_go_on = [], threading.Event()

                def dawdle(one, kind=kind, at=at, may_go_on=may_go_on):
                    if one.method == kind and (kind == "PUT" or "uploadId" in one.query):
                        at.append(one.key)
                        if len(at) > 2:
                            may_go_on.wait(WAIT_S)
                server.before = dawdle
                with bench.start(server, "split", "-n", "6", path, "-o", "s3://out/{i}.csv") as process:
                    wait_for(lambda at=at: len(at) > 2, "requests")
                    process.send_signal(number)
                    wait_for(lambda: not is_pending(process.pid, number), "threads that take the signal")
                    may_go_on.set()
                    status = process.wait(store_test.TIMEOUT_S)
                got = objects_in(server, "out/")
                is_late = kind == "POST" and status == 0 and got == wanted   # all pieces were being completed
                check(server.uploads == {} and (is_late or (status in (-number, 128 + number) and got == {})),
                      "%s: %s, %s, %s" % (kind, status, list(got), server.uploads))


def ended_in_silence(bench):
    """A signal ends a run soon, although the server has gone silent while it makes the objects"""
    path = bench.write("some.csv", records(3000, 5))
    for more in ((), ("-f",)):
        with store_of() as server:
            at = []

            def fall_silent(one, at=at):
                if one.method == "POST" and "uploadId" in one.query:
                    at.append(one.key)
                    return "silent"
                return None
            server.fault = fall_silent
            with bench.start(server, "split", "-n", "4", *more, path, "-o", "s3://out/{i}.csv") as process:
                wait_for(lambda at=at: len(at) == 4, "requests")
                process.send_signal(signal.SIGINT)
                status = process.wait(WAIT_S)   # and not the 300 seconds that a server may need
            check(status in (-signal.SIGINT, 128 + signal.SIGINT) and is_clean(server), "%s: %s, %s, %s" % (
                more, status, list(objects_in(server, "out/")), server.uploads))


def replaced(bench):
    """An object that is replaced while it is cut: exit status 4, and no piece"""
    data = large(bench)
    for count in (2, 4, 9, 15):
        with store_of({"in/large.csv": data}) as server:
            def replace(one, server=server, count=count):
                if one.number == count:
                    server.put("in/large.csv", data.replace(b"Oslo", b"Roma"))
            server.before = replace
            found = bench.run(server, "split", "-n", "4", "s3://in/large.csv", "-o", "s3://out/{i}.csv")
            check(found[0] == 4 and is_clean(server), "%d: %s, %s" % (count, found, list(objects_in(server, "out/"))))


def replaced_unseen(bench):
    """The same where the server copies from whatever object is there"""
    data = large(bench)
    for count in (1, 2, 4):
        with store_of({"in/large.csv": data}) as server:
            server.checks_source = False
            copies = []

            def replace(one, server=server, count=count, copies=copies):
                if "x-amz-copy-source" in {name.lower() for name in one.headers}:
                    copies.append(one.key)
                    if len(copies) == count:
                        server.put("in/large.csv", data.replace(b"Oslo", b"Roma"))
            server.before = replace
            found = bench.run(server, "split", "-n", "4", "--header", "first", "s3://in/large.csv",
                              "-o", "s3://out/{i}.csv")
            check(len(copies) == 4, "%d copies" % len(copies))
            check(found[0] == 4 and is_clean(server), "%d: %s, %s" % (count, found, list(objects_in(server, "out/"))))


def names_of_others(bench):
    """No piece, manifest or report replaces the input or another of them, even with -f"""
    data = records(3000, 1)
    path = bench.write("some.csv", data)
    rules = ("--redact", 'note: fixed("x")')
    with store_of({"in/1.csv": data, "in/a?1.csv": data}) as server:
        for key, words in (("1.csv", ("-n", "1", "-o", "s3://in/{i}.csv")), ("1.csv", ("-l", "900", "-o", "s3://in/{i}.csv")),
                           ("1.csv", ("-n", "2", "-o", "s3://in/{i}.csv", *rules)), ("a?1.csv", ("-n", "2", "-o", "s3://in/a?{i}.csv")),
                           ("1.csv", ("-n", "2", "-o", "s3://in/x{i}", "--manifest", "s3://in/1.csv")),
                           ("1.csv", ("-n", "2", "-o", "s3://in/x{i}", "--redact-report", "s3://in/1.csv", *rules))):
            for more in ((), ("-f",), ("--dry-run", "-f")):
                found = bench.run(server, "split", *more, *words, "s3://in/" + key)
                shown = key.partition("?")[0]   # as messages show URLs
                check(found[0] == 1 and "s3://in/%s: would overwrite the input" % shown in found[2], "%s: %s" % (words, found))
        check(objects_in(server, "in/") == {"1.csv": data, "a?1.csv": data} and server.uploads == {}, "something is left")
        check(not any(one.method in ("PUT", "POST") for one in server.requests), "something was sent")
    packed = gzip.compress(data)
    with store_of({"in/1 a.csv": data, "in/z.gz": packed}) as server:   # called differently
        web, template = server.url + "/in/", ("-n", "1", "-o", "s3://in/{i} a.csv")
        for source, words, name in ((web + "1%20a.csv?X-Amz-Signature=1", template, "1 a.csv"), ("gs://in/1 a.csv", template, "1 a.csv"),
                                    (web + "%31%20%61.csv?X-Amz-Signature=1", template, "1 a.csv"),
                                    (web + "z.gz?X-Amz-Signature=1", ("-l", "900", "-o", "s3://in/{i}", "--manifest", "s3://in/z.gz"), "z.gz")):
            for more in (("-f",), ("-f", "--dry-run")):
                found = bench.run(server, "split", *more, *words, source, AWS_REGION=server.region)
                check(found[0] == 1 and "s3://in/%s: would overwrite the input" % name in found[2], "%s: %s" % (source, found))
        check(objects_in(server, "in/") == {"1 a.csv": data, "z.gz": packed} and server.uploads == {}, "something is left")
        check(not any(one.method in ("PUT", "POST") for one in server.requests), "something was sent")
        found = bench.run(server, "split", "-f", "-n", "1", "-o", "s3://out/{i} a.csv", web + "1%20a.csv?X-Amz-Signature=1")
        check(found[0] == 0 and objects_in(server, "out/") == {"1 a.csv": data}, "another bucket: %s" % (found,))
    with store_of() as server:
        found = bench.run(server, "split", "-f", "-n", "2", path, "-o", "s3://out/{i}", *rules, "--manifest", "s3://out/m",
                          "--redact-report", "s3://out/m")
        check(found[0] == 2 and "the report and the manifest have the same name" in found[2] and is_clean(server), found)
        for more in (("--manifest", "s3://out/000002.csv"), ("--redact-report", "s3://out/000002.csv", *rules)):
            found = bench.pipe(server, data, "split", "-f", "-l", "900", *more, "-o", "s3://out/{i}.csv", "-")
            check(found[0] == 2 and "a piece has the name 's3://out/000002.csv'" in found[2] and is_clean(server), found)


def texts(bench):
    """The manifest and the report on rules: objects that appear last, or files; in a dry run nothing is written"""
    path = bench.write("some.csv", records(2000, 3))
    rules = ("--redact", 'note: fixed("x")')
    with store_of() as server:
        split = ("split", "-n", "2", path, "-o", "s3://out/a/{i}.csv", *rules)
        found = bench.run(server, *split, "--manifest", "s3://out/m.json", "--redact-report", "s3://out/r.json", "--dry-run")
        check(found[0] == 0 and is_clean(server), found)
        check(not any(one.method in ("PUT", "POST", "DELETE") for one in server.requests), "the dry run writes")
        found = bench.run(server, *split, "--manifest", "s3://out/m.json", "--redact-report", "s3://out/r.json")
        got = objects_in(server, "out/")
        check(found[0] == 0 and set(got) == {"a/1.csv", "a/2.csv", "m.json", "r.json"}, "%s: %s" % (found, list(got)))
        check(server.uploads == {}, "uploads are left")
        names = [piece["name"] for piece in json.loads(got["m.json"])["pieces"]]
        check(names == ["a/1.csv", "a/2.csv"], "the manifest names %s" % names)
        order = [one.key for one in server.requests if one.method == "POST" and "uploadId" in one.query]
        check(set(order[:2]) == {"out/a/1.csv", "out/a/2.csv"} and order[2:] == ["out/r.json", "out/m.json"], order)
        found = bench.run(server, *split, "--manifest", "s3://out/m.json", "--dry-run")
        check(found[0] == 1 and "File exists" in found[2], "a dry run: %s" % (found,))
        found = bench.run(server, *split, "-f", "--manifest", os.path.join(bench.work, "m.json"))
        check(found[0] == 0, found)
        with open(os.path.join(bench.work, "m.json"), encoding="utf-8") as file:
            names = [piece["name"] for piece in json.load(file)["pieces"]]
        check(names == ["s3://out/a/1.csv", "s3://out/a/2.csv"], "the manifest names %s" % names)


def refusals(bench):
    """What objects do not have is refused before anything is asked"""
    path = bench.write("some.csv", records(20, 3))
    with store_of() as server:
        for words in (("-n", "2", "-o", server.url + "/out/{i}.csv"), ("-n", "2", "-o", "s3://out/{i}", "--reflink", "auto"),
                      ("-n", "2", "-o", "s3://out/{i}.gz", "--compress", "gzip", "--resume"),
                      ("-n", "2", "-o", "s3://out/a.csv"), ("-n", "2", "-o", "s3://")):
            found = bench.run(server, "split", *words, path)
            check(found[0] == 2 and found[1] == b"", "%s: %s" % (words, found))
        check(server.requests == [], "the server was asked")
        found = bench.run(server, "split", "-n", "2", "-o", "s3://nowhere/{i}.csv", path)
        check(found[0] == 1 and "there is no such bucket" in found[2], found)


WAIT_S = 60   # a longer wait is a hang, however busy the machine is


def is_pending(pid, number):
    """Whether no thread of the process has taken the signal yet."""
    with contextlib.suppress(OSError), open("/proc/%d/status" % pid, encoding="ascii") as file:
        mask = next(line.split()[1] for line in file if line.startswith("ShdPnd:"))
        return bool(int(mask, 16) >> (number - 1) & 1)
    return False


def wait_for(condition, what):
    end = time.monotonic() + WAIT_S
    while not condition():
        check(time.monotonic() < end, "there are no %s" % what)
        time.sleep(0.01)


class Bench(store_test.Bench):
    def pipe(self, server, data, *words):
        """Like run(), with the data from a pipe, so the names are not known before the pieces."""
        done = subprocess.run([self.cleave, *words], input=data, env=self.environment(server), capture_output=True, check=False)
        return self.unrevealing(server, done)

    @contextlib.contextmanager
    def start(self, server, *words):
        with subprocess.Popen([self.cleave, *words], env=self.environment(server), stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, cwd=self.work) as process:
            try:
                yield process
            finally:
                process.kill()


CHECKS = (same_as_files, in_the_store, large_parts, faults, lasting_faults, kept_objects, in_doubt, taken, killed,
          killed_at_manifest, resumed_requests, resumed_without_records, ended, ended_in_silence, replaced, replaced_unseen,
          names_of_others, texts, refusals)

if __name__ == "__main__":
    sys.exit(store_test.main(__doc__, CHECKS, Bench))
