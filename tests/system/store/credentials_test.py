#!/usr/bin/env python3
"""Credentials from the metadata of a container or an instance: only if they are asked for, and as long as they last.

  credentials_test.py --cleave PATH --folder FOLDER [--module MODULE]

The servers are that of server.py and one of metadata, both on loopback. The command runs as in store_test.py.
"""
import concurrent.futures
import datetime
import json
import os
import pathlib
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(HERE)), "tools"))
sys.path.insert(0, HERE)
import module_test  # noqa: E402
from server import InBackground, Server  # noqa: E402
from store_test import KEY, SECRET, Bench, main, pieces_in, records  # noqa: E402
from verdicts import Skip, need as check  # noqa: E402

ROLE = "a_role+=,.@-x"
DATA = records(400000, 8)   # several parts
URL = "s3://bucket/a.csv"


class Metadata(InBackground, ThreadingHTTPServer):
    """`requests` are pairs of a method and a path. `fault` of a request is a status, "silent", bytes to answer, or
    nothing. `token`, if it is set, is what a container has to send. `life` is that of the credentials, in seconds."""

    def __init__(self, store, life=3600):
        super().__init__(("127.0.0.1", 0), Handler)
        self.store, self.life, self.number, self.token, self.has_v2 = store, life, 0, None, True
        self.requests, self.tokens, self.lock = [], set(), threading.Lock()
        self.fault = lambda method, path: None
        self.change()

    @property
    def url(self):
        return "http://127.0.0.1:%d" % self.server_address[1]

    @property
    def issues(self):
        """How often it was asked for credentials."""
        return sum(path.startswith("/container") or "credentials/a" in path for method, path in self.requests)

    def change(self):
        """There are newer credentials, which the store wants from now on."""
        with self.lock, self.store.lock:
            if self.number:
                self.store.expired.add(self.store.key)
            self.number += 1
            self.store.key, self.store.secret, self.store.token = ("%s%d" % (one, self.number)
                                                                   for one in ("ASIA", "secret+/", "token+/="))

    def answer(self):
        expires = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=self.life)
        with self.lock:
            return json.dumps({"Code": "Success", "Type": "AWS-HMAC", "AccessKeyId": self.store.key,
                               "SecretAccessKey": self.store.secret, "Token": self.store.token,
                               "Expiration": expires.strftime("%Y-%m-%dT%H:%M:%SZ")}).encode()


class Handler(BaseHTTPRequestHandler):   # each request needs a connection of its own
    def log_message(self, *args):
        pass

    def answer(self, status, body=b""):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def serve(self):
        server = self.server
        with server.lock:
            server.requests.append((self.command, self.path))
        fault = server.fault(self.command, self.path)
        if fault == "silent":
            time.sleep(1000)
        elif isinstance(fault, bytes):
            self.answer(200, fault)
        else:
            self.answer(*((fault,) if fault else getattr(self, "found_" + self.command.lower())()))

    do_GET = do_PUT = serve

    def found_put(self):
        life = self.headers.get("x-aws-ec2-metadata-token-ttl-seconds", "")
        if self.path != "/latest/api/token" or not self.server.has_v2:
            return (404,)
        if not (life.isdigit() and 1 <= int(life) <= 21600) or self.headers["Content-Length"] != "0":
            return (400,)
        self.server.tokens.add("v2+%d=" % len(self.server.tokens))
        return 200, max(self.server.tokens).encode()

    def found_get(self):
        server, folder = self.server, "/latest/meta-data/iam/security-credentials/"
        if self.path == "/container?id=1":
            is_known = server.token is None or self.headers["Authorization"] == server.token
            return (200, server.answer()) if is_known else (401,)
        if server.has_v2 and self.headers["x-aws-ec2-metadata-token"] not in server.tokens:
            return (401,)
        if self.path == folder:
            return 200, ROLE.encode()
        return (200, server.answer()) if self.path == folder + ROLE else (404,)


def serve(data=DATA):
    return Server({"bucket/a.csv": data}, KEY, SECRET)


def run(bench, store, *words, **more):
    """Without keys in the environment. No message shows what metadata issued."""
    found = bench.run(store, *words, **{"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", **more})
    for secret in ("secret+", "token+", "v2+", "ASIA", "Bearer"):
        check(secret not in found[2], "a message shows a secret: %s" % found[2])
    return found


def container(metadata, **more):
    return {"AWS_CONTAINER_CREDENTIALS_FULL_URI": metadata.url + "/container?id=1", **more}


def instance(metadata, **more):
    return {"AWS_EC2_METADATA_DISABLED": "false", "AWS_EC2_METADATA_SERVICE_ENDPOINT": metadata.url + "/", **more}


BOTH = (container, instance)


def at_once(work, cases):
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        for job in [pool.submit(work, *case) for case in cases]:
            job.result()


def taken(bench):
    """Both give credentials, once in a run; keys that are set come first, and a container before an instance"""
    data = b"a,b\n1,2\n"
    with serve(data) as store, Metadata(store) as metadata, Metadata(serve()) as other:
        for kind in BOTH:
            metadata.requests.clear()
            found = run(bench, store, "count", URL, **kind(metadata))
            check(found[:2] == (0, b"1\n") and metadata.issues == 1, "%s: %s, %s" %
                  (kind.__name__, found, metadata.requests))
        found = run(bench, store, "count", URL, **container(metadata), **instance(other))
        check(found[:2] == (0, b"1\n") and not other.requests, "both: %s" % (found,))
        metadata.requests.clear()
        store.key, store.secret, store.token = KEY, SECRET, None
        keys = {"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET}
        with open(bench.write("keys", b""), "w") as file:
            file.write("[default]\naws_access_key_id=%s\naws_secret_access_key=%s\n" % (KEY, SECRET))
        for where in (keys, {"AWS_SHARED_CREDENTIALS_FILE": "keys"}):
            found = run(bench, store, "count", URL, **where, **container(metadata), **instance(metadata))
            check(found[:2] == (0, b"1\n") and not metadata.requests, "%s: %s" % (list(where), found))


def not_asked(bench):
    """Nobody asks metadata for anything unless the user does, and never for other stores"""
    with Server({"bucket/a.csv": b"a,b\n1,2\n"}) as store, Metadata(store) as metadata:
        store.key = None   # nothing need be signed
        for disabled in ("", "true", "1"):
            found = run(bench, store, "count", URL, **instance(metadata, AWS_EC2_METADATA_DISABLED=disabled))
            check(found[:2] == (0, b"1\n"), "%r: %s" % (disabled, found))
        for url in ("gs://bucket/a.csv", store.url + "/bucket/a.csv"):
            found = run(bench, store, "count", url, **container(metadata), **instance(metadata))
            check(found[:2] == (0, b"1\n"), "%s: %s" % (url, found))
        bench.write("a.csv", b"a,b\n1,2\n")
        check(run(bench, store, "count", "a.csv", **instance(metadata))[0] == 0, "a file")
        check(all("authorization" not in one.headers for one in store.requests), "something was signed")
        check(not metadata.requests, "it was asked: %s" % metadata.requests)


def refused(bench):
    """Hosts without encryption, and profiles with other credentials, end the run before anything is asked"""
    with serve() as store, Metadata(store) as metadata:
        with open(bench.write("config", b""), "w") as file:
            file.write("[profile role]\nrole_arn = arn:aws:iam::1:role/x\nsource_profile = default\n")
        for more, words in (
                ({"AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://10.0.0.1/Bearer"}, "must begin with https://"),
                ({"AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://127.0.0.1.host/"}, "must begin with https://"),
                ({"AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://Bearer@127.0.0.1/"}, "not the URL of a server"),
                ({"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "Bearer"}, "does not begin with /"),
                ({"AWS_PROFILE": "role", "AWS_CONFIG_FILE": "config"}, "the profile's role_arn is not resolved"),
                ({"AWS_PROFILE": "Bearer"}, "does not exist"),
                ({"AWS_WEB_IDENTITY_TOKEN_FILE": "x"}, "aws configure export-credentials --format env")):
            found = run(bench, store, "count", URL, **instance(metadata, **more))
            check(found[:2] == (2, b"") and words in found[2], "%s: %s" % (more, found))
        check(not store.requests and not metadata.requests, "something was asked")


def failures(bench):
    """If it was asked and gives nothing, the run ends, and no request goes out without a signature"""
    malformed = b'{"AccessKeyId": "ASIA", "SecretAccessKey": "secret+"'
    only = lambda end, fault: lambda method, path: fault if path.endswith(end) else None  # noqa: E731
    cases = [(kind, only("", fault), words) for kind in BOTH for fault, words in (
        (404, "answers 404"), (403, "answers 403"), (500, "answers 500"))]
    cases += [(container, only("", answer), "something else") for answer in (
        malformed, b"", b"null", b"secret+", b'{"Code": "token+"}', b"[" * 100000)]
    cases += [(instance, only("-x", malformed), "something else"),
              (instance, only("/token", b"v2+\nsecret+"), "(IMDSv2)"),
              *((instance, only("/", one), "has no role") for one in (b"", b"\na", b"secret+ x", b"../secret+")),
              (instance, only("/", 404), "has no role"), (instance, only("-x", 404), "answers 404")]

    def work(kind, fault, words):
        with serve() as store, Metadata(store) as metadata:
            metadata.fault = fault
            found = run(bench, store, "count", URL, **kind(metadata))
            name = "%s: %s" % (kind.__name__, words)
            check(found[:2] == (1, b"") and words in found[2] and "no credentials from the metadata of the " +
                  kind.__name__ in found[2], "%s: %s" % (name, found))
            check(not store.requests, "%s: the store was asked" % name)
    at_once(work, cases)


def older_version(bench):
    """Version 1 of an instance's service is not used"""
    for status in (404, 403, 405):
        with serve() as store, Metadata(store) as metadata:
            metadata.has_v2, metadata.fault = False, lambda method, path: status if method == "PUT" else None
            found = run(bench, store, "count", URL, **instance(metadata))
            check(found[0] == 1 and "answers %d to the request for a token (IMDSv2)" % status in found[2], found)
            check(all(method == "PUT" for method, path in metadata.requests), metadata.requests)


def passing_faults(bench):
    """A service that is slow or fails for a moment gives credentials; a proxy has no part in that"""
    def slow(method, path):
        time.sleep(0.5)

    def once(method, path, seen=set()):
        return 503 if (method, path) not in seen and not seen.add((method, path)) else None

    def work(kind, fault):
        with serve() as store, Metadata(store) as metadata:
            metadata.fault = fault
            found = run(bench, store, "count", URL, **kind(metadata))
            check(found[0] == 0, "%s: %s" % (kind.__name__, found))

    def proxy(kind):
        with serve() as store, Metadata(store) as metadata, Metadata(serve()) as other:
            other.fault = lambda method, path: 403
            found = run(bench, store, "count", URL, http_proxy=other.url, **kind(metadata))
            check(found[0] == 1 and metadata.issues == 1 and not store.requests, found)
            check(other.requests == [("GET", store.url + "/bucket/a.csv")], other.requests)
    at_once(lambda one, *more: one(*more), [(work, kind, fault) for kind in BOTH for fault in (slow, once)] +
            [(proxy, kind) for kind in BOTH])


def tokens(bench):
    """The token of a container: from the environment, and from a file, which is replaced while the sandbox is closed"""
    folder = os.path.join(bench.work, "tokens")
    os.mkdir(folder)

    def put(token, number):
        """As Kubernetes does it: a new folder, to which a link leads."""
        os.mkdir(os.path.join(folder, str(number)))
        with open(os.path.join(folder, str(number), "token"), "w") as file:
            file.write(token)
        os.symlink(str(number), os.path.join(folder, "next"))
        os.replace(os.path.join(folder, "next"), os.path.join(folder, "data"))
    put("Bearer 1", 1)
    os.symlink("data/token", os.path.join(folder, "token"))
    path = os.path.join(folder, "token")
    with serve() as store, Metadata(store) as metadata:
        metadata.token = "Bearer 1"
        for more, status in (({"AWS_CONTAINER_AUTHORIZATION_TOKEN": "Bearer 1"}, 0),
                             ({"AWS_CONTAINER_AUTHORIZATION_TOKEN": "Bearer 2"}, 1),
                             ({"AWS_CONTAINER_AUTHORIZATION_TOKEN": "Bearer 1\r\nx: y"}, 1), ({}, 1),
                             ({"AWS_CONTAINER_AUTHORIZATION_TOKEN": "Bearer 2",
                               "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": path}, 0),
                             ({"AWS_CONTAINER_AUTHORIZATION_TOKEN": "Bearer 1",
                               "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": path + "s"}, 1)):
            found = run(bench, store, "count", URL, **container(metadata, **more))
            check(found[0] == status, "%s: %s" % (more, found))
        metadata.requests.clear()

        def replace(request):
            if request.number == 2:
                put("Bearer 2", 2)
                metadata.token = "Bearer 2"
                metadata.change()
        store.requests.clear()
        store.before = replace
        found = run(bench, store, "cat", URL, **container(metadata, AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE=path))
        check(found == (0, DATA, "") and metadata.issues == 2, "%s, %s" % (found[::2], metadata.requests))


def expired_reading(bench):
    """The store no longer takes the credentials amid a read: one more request for all threads, and the right bytes"""
    def work(kind, number):
        with serve() as store, Metadata(store) as metadata:
            store.before = lambda request: metadata.change() if request.number == number else None
            metadata.fault = lambda method, path: time.sleep(0.4)   # others come meanwhile
            found = run(bench, store, "cat", "--threads", "4", URL, **kind(metadata))
            check(found == (0, DATA, "") and metadata.issues == 2,
                  "%s, %d: %s, %s" % (kind.__name__, number, found[::2], metadata.requests))
    at_once(work, [(kind, number) for kind in BOTH for number in (0, 1, 3)])
    with serve(b"") as store, Metadata(store) as metadata:
        store.before = lambda request: metadata.change() if request.method == "HEAD" and metadata.number == 1 else None
        found = run(bench, store, "count", URL, **container(metadata))
        check(found[:2] == (0, b"0\n") and metadata.number == metadata.issues == 2, "an empty object: %s" % (found,))


def expired_writing(bench):
    """The same amid each request of an upload; the parts of another bucket are copied by the store"""
    def pieces(number):
        """Those made if the credentials change at this request; how many requests there were, and how often metadata
        was asked."""
        with serve() as store, Metadata(store) as metadata:
            store.buckets.add("out")
            store.before = lambda request: metadata.change() if request.number == number else None
            found = run(bench, store, "split", "-n", "2", "-o", "s3://out/{i}.csv", URL, **container(metadata))
            made = {name: bytes(one.data) for name, one in store.objects.items() if name.startswith("out/")}
            check(found[0] == 0 and not store.uploads and store.copied, "%s: %s, %s" % (number, found, list(made)))
            return made, len(store.requests), metadata.issues
    expected, count, issues = pieces(None)
    check(len(expected) == 2 and issues == 2, "it was asked %d times" % issues)   # once for each store

    def work(number):
        made, _, issues = pieces(number)
        check(made == expected, "%d: the pieces differ" % number)
        check(3 <= issues <= 4, "%d: it was asked %d times" % (number, issues))
    at_once(work, [(number,) for number in range(count)])


def expiry(bench):
    """Credentials that are about to expire are replaced in time. If there are no newer ones, they are used until they
    expire, and then the run ends, without a piece."""
    def early(kind, life, fault):
        with serve(b"a,b\n1,2\n") as store, Metadata(store, life) as metadata:
            store.buckets.add("out")

            def change(method, path):
                """When it is asked again, of itself: the store still takes the older ones."""
                if metadata.number == 1 and not fault:
                    metadata.change()
                return fault

            def wait(request):
                if request.method == "POST" and "uploads" in request.query:
                    metadata.fault, metadata.requests = change, []
                    time.sleep(life / 2 + 1.1)
            store.before = wait
            found = run(bench, store, "split", "-n", "1", "-o", "s3://out/{i}.csv", URL, **kind(metadata))
            check(found[0] == 0 and "out/1.csv" in store.objects, "%s: %s" % (kind.__name__, found))
            check(metadata.requests, "it was not asked again")
            signed = " ".join(one.headers["authorization"] for one in store.requests)
            check(("ASIA2/" in signed) == (fault is None), "signed with: %s" % signed)

    def late(kind, fault, words):
        with serve() as store, Metadata(store) as metadata, bench.folder() as folder:
            def revoke(request):
                if request.number == 2:
                    metadata.fault = lambda method, path: fault
                    store.expired.add(store.key)
            store.before = revoke
            found = run(bench, store, "split", "-l", "50000", "-o", folder + "/{i}.csv", URL, **kind(metadata))
            check(found[0] == 1 and words in found[2] and pieces_in(folder) == {}, "%s: %s" % (kind.__name__, found))

    def uploads():
        """Nor are there as many requests as there are uploads to abort."""
        with serve() as store, Metadata(store) as metadata:
            store.buckets.add("out")

            def revoke(request):
                if request.method == "PUT":
                    metadata.fault = lambda method, path: 404
                    store.expired.add(store.key)
            store.before = revoke
            found = run(bench, store, "split", "-n", "8", "-o", "s3://out/{i}.csv", URL, **container(metadata))
            check(found[0] == 1 and "answers 404" in found[2] and len(store.objects) == 1, "%s" % (found,))
            check(metadata.issues <= 4, "it was asked %d times" % metadata.issues)   # twice for each store

    def silent(kind):
        with serve() as store, Metadata(store) as metadata:
            metadata.fault = lambda method, path: "silent"
            found = run(bench, store, "count", URL, **kind(metadata))
            check(found[0] == 1 and "Timeout" in found[2] and not store.requests, "%s: %s" % (kind.__name__, found))
    same = "the credentials have expired, and the metadata has no newer ones"
    at_once(lambda one, *more: one(*more), [
        (early, container, 12, 404), (late, container, "silent", "Timeout"), (silent, container), (silent, instance),
        (uploads,),
        *((early, kind, 3, None) for kind in BOTH),
        *((late, kind, *case) for kind in BOTH for case in ((None, same), (404, "answers 404")))])


def refused_head(bench):
    """An answer to HEAD that may mean that the credentials have expired: metadata is asked once more, and if it has no
    others, the answer is reported as what it is"""
    for more in (None, 404):
        with serve(b"") as store, Metadata(store) as metadata:
            def refuse(request, metadata=metadata, more=more):
                metadata.fault = lambda method, path: more
                return "expired" if request.method == "HEAD" else None
            store.fault = refuse
            found = run(bench, store, "count", URL, **container(metadata))
            check(found[0] == 1 and "the server answers 400" in found[2], "%s: %s" % (more, found))
            check(metadata.issues == 2, "it was asked %d times" % metadata.issues)


def renewed_beside(bench):
    """While one thread asks for newer credentials, the others use those that are still good"""
    if not bench.args.module:
        raise Skip("--module is not given")
    if b"__asan_" in pathlib.Path(bench.args.module).read_bytes():
        raise Skip("Python cannot load a module with a sanitizer")
    unset = {"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""}
    with serve() as server, Metadata(server, 8) as metadata, module_test.Store(
            module_test.Module(bench.args.module), server, URL, **unset, **container(metadata)) as store:
        asked, may_end = threading.Event(), threading.Event()

        def hold(method, path):
            asked.set()
            may_end.wait(60)
        metadata.fault = hold
        time.sleep(4.1)   # half of their life
        release = store.module.table.release
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            first = pool.submit(store.find, URL)
            check(asked.wait(60), "it was not asked again")
            release(store.find(URL))
            check(metadata.issues == 2, "the other thread has waited")
            may_end.set()
            release(first.result())


CHECKS = (taken, not_asked, refused, failures, older_version, passing_faults, tokens, expired_reading, expired_writing,
          expiry, refused_head, renewed_beside)


if __name__ == "__main__":
    sys.exit(main(__doc__, CHECKS, Bench, timed=[passing_faults, expiry, renewed_beside]))
