#!/usr/bin/env python3
"""The verbs that read several files, lists or indexes, with objects in their place.

  verbs_test.py --cleave PATH --folder FOLDER [--module MODULE] [--seed N]

As store_test.py.
"""
import gzip
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import store_test  # noqa: E402
from store_test import KEY, LASTING, PASSING, SECRET, check, pieces_in, records  # noqa: E402
from server import Server  # noqa: E402

LEAST_OBJECT = 16 << 20   # whose index is looked for unasked


def several(bench):
    """Objects of several buckets and servers, and files, in one run"""
    with Server({"a/x.csv": b"h\n1\n", "b/y.csv": b"h\n1\n2\n"}, KEY, SECRET) as server, \
            Server({"w/z.csv": b"h\n1\n2\n3\n"}) as web:
        path = bench.write("f.csv", b"h\n1\n2\n3\n4\n")
        urls = ["s3://a/x.csv", "s3://b/y.csv", web.url + "/w/z.csv", path]
        found = bench.run(server, "count", *urls)
        numbers = [int(line.split()[0]) for line in found[1].splitlines()]
        check(found[0] == 0 and numbers == [1, 2, 3, 4, 10], "count: %s" % (found,))
        found = bench.run(server, "count", "s3://a/none.csv", *urls[1:])
        numbers = [int(line.split()[0]) for line in found[1].splitlines()]
        check(found[0] == 1 and numbers == [2, 3, 4, 9], "one is missing: %s" % (found,))


def upload(server, folder, prefix):
    for name, data in pieces_in(folder).items():
        server.put(prefix + name, data)


def joined(bench):
    """Pieces that are objects, in a list and by a manifest: the file again, or an error and no file"""
    data = records(3000, 1)
    path = bench.write("some.csv", data)
    output = os.path.join(bench.work, "joined.csv")
    for words in (("-n", "4", "--checksum"), ("-l", "700", "--compress", "gzip"), ("-n", "3", "--header", "first")):
        with bench.folder() as folder, Server({}, KEY, SECRET) as server:
            found = bench.run(None, "split", *words, "-o", folder + "/{i}.csv" + (".gz" if "gzip" in words else ""),
                              "--manifest", folder + "/manifest.json", path)
            check(found[0] == 0, "split: %s" % (found,))
            upload(server, folder, "p/x/")
            pieces = ["s3://p/x/" + name for name in sorted(pieces_in(folder)) if name != "manifest.json"]
            header = words[2:] if words[2] == "--header" else ()
            ways = [("join", *header, *pieces), ("join", "--manifest", "s3://p/x/manifest.json"),
                    ("join", "--manifest", folder + "/manifest.json", *reversed(pieces)),
                    ("join", "--manifest", "s3://p/x/manifest.json", *reversed(pieces))]
            for way in ways:
                found = bench.run(server, *way)
                check(found == (0, data, ""), "%s: %s" % (way, (found[0], found[2])))
            found = bench.run(server, *ways[1], "-o", output)
            with open(output, "rb") as file:
                check(found[0] == 0 and file.read() == data, "-o: %s" % (found,))
            os.remove(output)
            server.fault = lambda request: "503" if request.number % 3 == 0 else None
            found = bench.run(server, *ways[1])
            check(found == (0, data, ""), "with faults: %s" % (found[0],))
            server.fault = lambda request: "expired" if request.number > 2 else None
            server.requests.clear()
            found = bench.run(server, *ways[1], "-o", output)
            check(found[0] == 1 and not os.path.exists(output), "with credentials that expire: %s" % (found,))
            server.fault = lambda request: None
            one = server.objects.pop("p/x/" + pieces[1].rsplit("/", 1)[1])
            for way in ways[:2]:
                found = bench.run(server, *way)
                check(found[:2] == (1, b"") and "there is no such object" in found[2], "a piece is missing: %s" % (found,))
            server.put("p/x/" + pieces[1].rsplit("/", 1)[1], bytes(one.data) + b"7,x,y\n")
            found = bench.run(server, *ways[1], "-o", output)
            check(found[0] in (1, 3) and not os.path.exists(output), "a piece differs: %s" % (found,))
    with Server({"p/a.csv": b"h\n1\n", "p/b.csv": b"h\n2\n", "p/m.json": b'{"cleave": 2'}, KEY, SECRET) as server:
        found = bench.run(server, "join", "s3://p/a.csv", "s3://p/b.csv", "-o", "s3://p/c.csv")
        check(found[0] == 2 and set(server.objects) == {"p/a.csv", "p/b.csv", "p/m.json"}, "an object as output: %s" % (found,))
        server.buckets.add("o")
        found = bench.run(server, "split", "-n", "2", bench.write("some.csv", b"h\n1\n2\n"), "-o", "s3://o/{i}.csv",
                          "--manifest", "m.json")
        check(found[0] == 0, "a manifest beside objects: %s" % (found,))
        found = bench.run(server, "join", "--manifest", "m.json")
        check(found[:2] == (2, b"") and "list the pieces after the manifest" in found[2], "its URLs: %s" % (found,))
        found = bench.run(server, "join", "--manifest", "m.json", "s3://o/1.csv", "s3://o/2.csv")
        check(found == (0, b"h\n1\n2\n", ""), "of listed objects: %s" % (found,))
        found = bench.run(server, "join", "--manifest", "s3://p/m.json")
        check(found[0] == 3 and "not a manifest" in found[2], "no manifest: %s" % (found,))
        for name in ("../a.csv", "/a.csv", "x/../../a.csv"):
            server.put("p/q/m.json", json.dumps({
                "cleave": 2, "header": {"mode": "repeat"}, "pieces": [{"name": name, "size": 4}]}).encode())
            found = bench.run(server, "join", "--manifest", "s3://p/q/m.json")
            check(found[0] == 3 and found[1] == b"", "the piece %s: %s" % (name, found))


def small(bench):
    """Objects that are empty, have a header only, one record, an incomplete last one, or an open quote, as files are"""
    files = {"empty.csv": b"", "header.csv": b"id,note\n", "one.csv": b"id,note\n1,x\n", "last.csv": b"id,note\n1,x\n2,x",
             "open.csv": b'id,note\n1,"x\n2,x\n', "b?c.csv": b"id,note\n1,x\n", "one.csv.gz": gzip.compress(b"id,note\n1,x\n")}
    with Server({"b/" + name: data for name, data in files.items()}, KEY, SECRET) as server:
        for name, data in files.items():
            path, url = bench.write(name, data), "s3://b/" + name
            for words in (("index",), ("index", "--verify"), ("count", "--index", "require"),
                          ("offsets", "-n", "2", "--index", "require"), ("cat", "-n", "1/2", "--index", "require"),
                          ("join",), ("join", "--header", "first"), ("plan", "-n", "2")):
                local, stored = bench.run(server, *words, path), bench.run(server, *words, url)
                check(stored[:2] == (local[0], local[1].replace(path.encode(), url.encode())),
                      "%s of %s: %s, and of the file %s" % (words, name, stored, local))
            check(os.path.exists(path + ".cleave") == ("b/" + name + ".cleave" in server.objects), "%s: one index" % name)
        manifest = {"cleave": 2, "header": {"mode": "repeat"}, "pieces": [{"name": "b?c.csv", "size": 12}]}
        server.put("b/m.json", json.dumps(manifest).encode())
        for words in ((), ("s3://b/b?c.csv",)):
            found = bench.run(server, "join", "--manifest", "s3://b/m.json", *words)
            check(found == (0, files["b?c.csv"], ""), "join: %s" % (found,))


def planned(bench):
    """Summaries and plans that are objects"""
    data = records(40000, 2)
    path = bench.write("some.csv", data)
    with Server({"b/some.csv": data}, KEY, SECRET) as server:
        size, words = len(data), []
        for number in range(3):
            found = bench.run(server, "scan", "--delimiter", ",", "--terminator", "lf", "--range",
                              "%d-%d" % (number * size // 3, (number + 1) * size // 3), "s3://b/some.csv")
            check(found[0] == 0, "scan: %s" % (found,))
            server.put("b/%d.json" % number, found[1])
            words.append("s3://b/%d.json" % number)
        found = bench.run(server, "plan", "-n", "5", *words)
        check(found[0] == 0, "plan: %s" % (found,))
        server.put("b/plan.json", found[1])
        wanted = bench.run(server, "offsets", "-n", "5", path)
        found = bench.run(server, "offsets", "--plan", "s3://b/plan.json", "s3://b/some.csv")
        check(found[:2] == wanted[:2], "offsets: %s instead of %s" % (found, wanted))
        found = bench.run(server, "cat", "--plan", "s3://b/plan.json", "-n", "2/5", "s3://b/some.csv")
        wanted = bench.run(server, "cat", "-n", "2/5", path)
        check(found == wanted, "cat: %s" % (found[0],))
        server.put("b/some.csv", data + b"7,x,y\n")
        found = bench.run(server, "offsets", "--plan", "s3://b/plan.json", "s3://b/some.csv")
        check(found[0] == 4, "another version: %s" % (found,))


def verified(bench):
    """A signed report and its pieces as objects: what differs is named"""
    path = bench.write("some.csv", records(3000, 4))
    key = bench.write("key", os.urandom(32).hex().encode())
    os.chmod(key, 0o600)
    with bench.folder() as folder, Server({}, KEY, SECRET) as server:
        found = bench.run(None, "split", "-n", "3", "-q", "--redact", "note: null", "--key", "k=file:" + key, "--sign", "k",
                          "--redact-report", folder + "/r.json", "--manifest", folder + "/m.json", "-o",
                          folder + "/{i}.csv", path)
        check(found[0] == 0, "split: %s" % (found,))
        upload(server, folder, "b/out/")
        with open(path, "rb") as file:
            server.put("b/some.csv", file.read())
        words = ("verify", "--key", "k=file:" + key)
        both = (*words, "--input", "s3://b/some.csv", "s3://b/out/r.json")
        found = bench.run(server, *both)
        check(found[0] == 0 and b"5 files, as reported" in found[1], "as reported: %s" % (found,))
        found = bench.run(server, *words, "--input", "s3://b/some.csv", folder + "/r.json")
        check(found[0] == 0 and b"5 files, as reported" in found[1], "the input alone: %s" % (found,))
        first = bytes(server.objects["b/out/1.csv"].data)
        server.put("b/out/1.csv", first[:-2] + b"!\n")
        server.put("b/out/2.csv", b"")
        del server.objects["b/out/3.csv"]
        server.put("b/some.csv", b"h\n")
        found = bench.run(server, *both)
        check(found[0] == 3 and found[1].splitlines()[:4] == [
            b"1.csv: content", b"2.csv: size", b"3.csv: missing", b"the input, s3://b/some.csv: size"], "it differs: %s" % (found,))
        server.put("b/out/r.json", bytes(server.objects["b/out/r.json"].data).replace(b'"1.csv"', b'"4.csv"'))
        found = bench.run(server, *both)
        check(found[0] == 3 and "not authentic" in found[2] and found[1] == b"", "another report: %s" % (found,))


# With the bytes that are received at most: the first part, and 1 MiB for each cut.
INDEXED = {("count",): 6 << 20, ("offsets", "-n", "5"): 10 << 20, ("offsets", "-C", "2M"): 40 << 20,
           ("cat", "-n", "2/3"): 40 << 20, ("sample", "-k", "9", "--seed", "3"): 16 << 20}


def indexed(bench):
    """With its index, an object is hardly read; results are those of the file"""
    data = records(900000, 5)
    check(len(data) > LEAST_OBJECT, "the file is small")
    for name, stored in (("some.csv", data), ("some.csv.gz", gzip.compress(data, 1))):
        path, url = bench.write(name, stored), "s3://b/" + name
        with Server({"b/" + name: stored}, KEY, SECRET) as server:
            wanted = {}
            for words in INDEXED:
                status, output, messages = bench.run(server, *words, path)
                wanted[words] = status, output.replace(path.encode(), url.encode()), messages.replace(path, url)
            found = bench.run(server, "count", "--index", "require", url)
            check(found[0] == 1 and "has no index" in found[2], "without one: %s" % (found,))
            found = bench.run(server, "index", url)
            check(found == (0, b"", "") and set(server.objects) == {"b/" + name, "b/" + name + ".cleave"} and
                  server.uploads == {}, "index: %s" % (found,))
            for words in INDEXED:
                if name.endswith("gz") and "-C" in words:
                    continue   # is read from its beginning
                for more in ((), ("--index", "require")):
                    server.sent = 0
                    found = bench.run(server, *words, *more, url)
                    check(found == wanted[words], "%s: %s" % (words, (found[0], found[2])))
                    if len(stored) > LEAST_OBJECT or more:
                        check(server.sent < INDEXED[words], "%s: %d bytes were received" % (words, server.sent))
            check(bench.run(server, "index", "--verify", url)[0] == 0, "it does not match")
            index = bytes(server.objects["b/" + name + ".cleave"].data)
            server.put("b/" + name, stored, '"another"')
            found = bench.run(server, "count", "--index", "require", url)
            check(found[0] == 4 and found[1] == b"", "of another version: %s" % (found,))
            found = bench.run(server, "index", "--verify", url)
            check(found[0] == 0 and "renewed" in found[2], "renewed: %s" % (found,))
            check(bench.run(server, "count", "--index", "require", url)[1] == wanted["count",][1], "it was not renewed")
            server.put("b/" + name, records(900000, 6) if name.endswith("csv") else gzip.compress(records(900000, 6), 1))
            found = bench.run(server, "count", url)
            check(found[:2] == (0, b"900000\n"), "of another object: %s" % (found,))
            check(bench.run(server, "index", "--verify", url)[0] == 4, "another object matches")
            server.put("b/" + name, stored)
            for at in range(0, len(index), max(1, len(index) // 7)):
                server.put("b/" + name + ".cleave", index[:at] + bytes([index[at] ^ 1]) + index[at + 1:])
                found = bench.run(server, "count", "--index", "require", url)
                # What is not read, as the text in the index of a gzip file, is not looked at.
                is_right = name.endswith(".gz") and found[:2] == (0, b"900000\n")
                check(found[:2] == (4, b"") or is_right, "byte %d is damaged: %s" % (at, found))


def index_not_used(bench):
    """An index that changes meanwhile, is too large, or is of an object whose versions cannot be told apart"""
    data = records(900000, 5)
    url = "s3://b/a.csv"
    with Server({"b/a.csv": data, "b/a.csv.gz": gzip.compress(data, 1)}, KEY, SECRET) as server:
        check(bench.run(server, "index", url + ".gz")[0] == 0, "no index of a gzip file")
        index = bytes(server.objects["b/a.csv.gz.cleave"].data)
        check(len(index) > 64 << 10, "it comes in one answer: %d" % len(index))

        def change(request):
            if request.key.endswith(".cleave") and request.range and request.range[0] > 0:
                server.put("b/a.csv.gz.cleave", index, '"another"')
        server.before = change
        found = bench.run(server, "count", "--index", "require", url + ".gz")
        check(found[:2] == (4, b"") and "it has changed meanwhile" in found[2], "changed: %s" % (found,))
        server.before = lambda request: None
        check(bench.run(server, "index", url)[0] == 0, "no index")
        index = bytes(server.objects["b/a.csv.cleave"].data)
        for other in (b"x" * (9 << 20), index[:128] + b"x" * (9 << 20)):
            server.put("b/a.csv.cleave", other)
            server.sent = 0
            found = bench.run(server, "count", "--index", "require", url)
            check(found[:2] == (4, b"") and server.sent < 5 << 20, "too large: %s, %d bytes" % (found, server.sent))
        server.put("b/a.csv.cleave", index)
        server.objects["b/a.csv"].tag = "W/" + server.objects["b/a.csv"].tag
        found = bench.run(server, "count", url)
        check(found == (0, b"900000\n", ""), "with a weak tag: %s" % (found,))
        check(bench.run(server, "count", "--index", "require", url)[0] == 1, "with a weak tag, and required")
        found = bench.run(server, "index", url)
        check(found[0] == 2 and "tells its versions apart" in found[2], "made with a weak tag: %s" % (found,))


def manifests_of_others(bench):
    """What a manifest and a report elsewhere cannot do, and no signature in messages"""
    first = b'{"cleave": 1, "header": {"mode": "repeat"}, "pieces": [{"name": "some.csv", "size": 4}]}'
    second = first.replace(b"1", b"2", 1)
    bench.write("some.csv", b"h\n1\n")
    with Server({"b/m.json": first, "b/some.csv": b"h\n1\n"}, KEY, SECRET) as server, \
            Server({"w/m.json": second, "w/some.csv": b"h\n1\n", "w/r.json": b"{}"}) as web:
        found = bench.run(server, "join", "--manifest", "s3://b/m.json")
        check(found[:2] == (2, b"") and "list the pieces" in found[2], "a file of this machine: %s" % (found,))
        found = bench.run(server, "join", "--manifest", "s3://b/m.json", "s3://b/some.csv")
        check(found == (0, b"h\n1\n", ""), "a listed object: %s" % (found,))
        found = bench.run(server, "join", "--manifest", web.url + "/w/m.json?sig=a/b")
        check(found[:2] == (2, b"") and "list the pieces" in found[2], "on a web server: %s" % (found,))
        piece = web.url + "/w/some.csv?sig=SECRETSIG"
        found = bench.run(server, "join", "--manifest", web.url + "/w/m.json", piece)
        check(found == (0, b"h\n1\n", ""), "a listed URL: %s" % (found,))
        for words in (("join", "--manifest", web.url + "/w/m.json", piece, piece + "2"), ("cat", piece, piece),
                      ("join", "--manifest", web.url + "/w/m.json", piece, web.url + "/w/x?sig=SECRETSIG"),
                      ("info", piece), ("join", piece, "-o", piece)):
            found = bench.run(server, *words)
            check(found[0] == 2 and "SECRETSIG" not in found[2], "%s: %s" % (words, found))
        found = bench.run(server, "verify", "--no-key", web.url + "/w/r.json")
        check(found[0] in (2, 3) and found[1] == b"", "a report on a web server: %s" % (found,))
        for option in ("--manifest", "--redact-report"):
            found = bench.run(server, "split", "-n", "2", "some.csv", "-o", "s3://b/p/", option, "s3://c/x.json",
                              *(("--redact", "h: null") if "report" in option else ()))
            check(found[0] == 2 and option in found[2], "%s in another bucket: %s" % (option, found))


def index_not_written(bench):
    """What an index cannot replace, and what fails while it is written: nothing new is there"""
    data = records(60000, 7)
    with Server({"b/a.csv": data, "b/a.csv.cleave": b"my notes"}, KEY, SECRET) as server:
        found = bench.run(server, "index", "s3://b/a.csv")
        check(found[0] == 1 and "is not an index" in found[2] and bytes(server.objects["b/a.csv.cleave"].data) == b"my notes",
              "other contents: %s" % (found,))
        del server.objects["b/a.csv.cleave"]
        with Server({"b/a.csv": data}) as web:
            found = bench.run(None, "index", web.url + "/b/a.csv")
            check(found[0] == 2 and set(web.objects) == {"b/a.csv"}, "of a web server: %s" % (found,))
        server.put("b/open.csv", b'h\n"1\n')
        found = bench.run(server, "index", "s3://b/open.csv")
        check(found[0] == 3 and set(server.objects) == {"b/a.csv", "b/open.csv"}, "of a malformed one: %s" % (found,))
        for fault in (*PASSING, *LASTING):
            for kind in ("PUT", "POST"):
                server.fault = lambda request, fault=fault, kind=kind: \
                    fault if request.method == kind and (fault in LASTING or request.number % 2) else None
                found = bench.run(server, "index", "s3://b/a.csv")
                there = server.objects.pop("b/a.csv.cleave", None)
                check((found[0] == 0) == (there is not None) and server.uploads == {}, "%s of %s: %s, %s" %
                      (fault, kind, found, server.uploads))
                check(found[0] == 0 or fault in LASTING, "%s of %s: %s" % (fault, kind, found))


def index_forbidden(bench):
    """Where an index cannot be seen, the object is read"""
    data = records(900000, 5)
    with Server({"b/a.csv": data}, KEY, SECRET) as server:
        server.fault = lambda request: "denied" if request.key.endswith(".cleave") else None
        found = bench.run(server, "count", "s3://b/a.csv")
        check(found == (0, b"900000\n", ""), "count: %s" % (found,))
        found = bench.run(server, "count", "--index", "require", "s3://b/a.csv")
        check(found[:2] == (1, b""), "required: %s" % (found,))


def cut_by_index(bench):
    """With its index, an object is cut in the store, and almost nothing moves either way"""
    data = records(1000, 8)
    head, _, rest = data.partition(b"\n")
    data = head + b"\n" + rest * (60 * 10 ** 6 // len(rest))
    path = bench.write("large.csv", data)
    with Server({"in/large.csv": data}, KEY, SECRET) as server:
        check(bench.run(server, "index", "s3://in/large.csv")[0] == 0, "no index")
        for header, heads in (("first", 0), ("drop", 0), ("repeat", 3)):
            for key in [name for name in server.objects if name.startswith("out/")]:
                del server.objects[key]
            server.buckets.add("out")
            server.sent = server.received = 0
            found = bench.run(server, "split", "-n", "4", "--header", header, "s3://in/large.csv", "-o", "s3://out/{i}.csv")
            with bench.folder() as folder:
                bench.run(None, "split", "-n", "4", "--header", header, path, "-o", folder + "/{i}.csv")
                got = {name[4:]: bytes(one.data) for name, one in server.objects.items() if name.startswith("out/")}
                check(found[0] == 0 and got == pieces_in(folder), "%s: %s" % (header, found))
            check(server.received <= heads * (5 << 20), "%s: %d bytes were uploaded" % (header, server.received))
            check(server.sent < (12 + heads * 6) << 20, "%s: %d bytes were downloaded" % (header, server.sent))


def piece_of_indexed(bench):
    """Of an object with an index, a piece costs its own bytes, what is searched for its cuts, and each byte once"""
    data = records(1000, 8)
    head, _, rest = data.partition(b"\n")
    data = head + b"\n" + rest * (60 * 10 ** 6 // len(rest))
    with Server({"b/a.csv": data, "b/a.csv.gz": gzip.compress(data, 1)}, KEY, SECRET) as server:
        for url, part, searched in (("s3://b/a.csv", 1, 1 << 20), ("s3://b/a.csv.gz", 0.5, 2 << 20)):
            check(bench.run(server, "index", url)[0] == 0, "no index")
            for piece in ("1/8", "2/8", "5/8", "8/8"):
                server.requests.clear()
                server.sent = 0
                found = bench.run(server, "cat", "-n", piece, "--index", "require", url)
                wanted = bench.run(None, "cat", "-n", piece, bench.write("a.csv", data))
                check(found == wanted, "%s of %s: %s" % (piece, url, found[::2]))
                ranges = sorted((one.key, *one.range) for one in server.requests)
                check(all(a[0] != b[0] or a[2] < b[1] for a, b in zip(ranges, ranges[1:])), "read twice: %s" % ranges)
                share = len(found[1]) * (len(server.objects[url[5:]].data) / len(data))
                check(server.sent < share + searched + (128 << 10), "%s of %s: %d bytes for %d: %s" % (
                    piece, url, server.sent, share, ranges))
                check(len(ranges) <= 9, "%s of %s: %s" % (piece, url, ranges))


CHECKS = (several, joined, small, planned, verified, indexed, index_not_used, manifests_of_others,
          index_not_written, index_forbidden, cut_by_index, piece_of_indexed)

if __name__ == "__main__":
    sys.exit(store_test.main(__doc__, CHECKS))
