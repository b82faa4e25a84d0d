#!/usr/bin/env python3
"""What lies between the command and a store, and what must not leave the command: proxies, slow and silent servers,
core dumps, and whatever names a secret.

  links_test.py --cleave PATH --folder FOLDER [--module MODULE] [--seed N] [--rounds N]

See store_test.py. The proxy is one of our own, on loopback.
"""
import base64
import concurrent.futures
import http.client
import os
import random
import resource
import select
import signal
import socket
import socketserver
import subprocess
import sys
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler

import output_test
import server as server_module
import store_test
from output_test import as_files, objects_in, store_of, wait_for
from server import FIRST_BYTES, InBackground, Server
from store_test import KEY, SECRET, TOKEN, encrypt, has_ports, records
from verdicts import Skip, need as check

USER, PASSWORD = "somebody", "hunter2andmore"
SILENCE_S = 20   # the limit of modules/store/http.h


class Proxy(InBackground, socketserver.ThreadingTCPServer):
    """Passes requests on, and opens tunnels. `seen` are their methods. With `needs_user`, only for USER."""
    allow_reuse_address, request_queue_size = True, 128

    def __init__(self, address=("127.0.0.1", 0), needs_user=False):
        super().__init__(address, ProxyHandler)
        self.needs_user, self.seen = needs_user, []

    @property
    def address(self):
        return "%s:%d" % self.server_address


class ProxyHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def is_refused(self):
        self.server.seen.append(self.command)
        wanted = "Basic " + base64.b64encode(("%s:%s" % (USER, PASSWORD)).encode()).decode()
        if not self.server.needs_user or self.headers.get("Proxy-Authorization") == wanted:
            return False
        self.send_response(407)
        self.send_header("Proxy-Authenticate", "Basic realm=\"proxy\"")
        self.send_header("Content-Length", "0")
        self.end_headers()
        return True

    def do_CONNECT(self):
        if self.is_refused():
            return
        host, _, port = self.path.rpartition(":")
        with socket.create_connection((host, int(port))) as far:
            self.send_response(200)
            self.end_headers()
            ends = {self.connection: far, far: self.connection}
            while True:
                for one in select.select(list(ends), [], [])[0]:
                    data = one.recv(1 << 16)
                    if not data:
                        self.close_connection = True
                        return
                    ends[one].sendall(data)

    def forward(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.is_refused():
            return
        url = urllib.parse.urlsplit(self.path)
        far = http.client.HTTPConnection(url.netloc)
        far.putrequest(self.command, self.path[len("http://") + len(url.netloc):], skip_host=True,
                       skip_accept_encoding=True)
        for name, value in self.headers.items():
            if not name.lower().startswith("proxy-"):
                far.putheader(name, value)
        far.endheaders(body)
        answer = far.getresponse()
        data = answer.read()
        self.send_response_only(answer.status)
        for name, value in answer.getheaders():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)
        far.close()

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = forward


def need_sandbox(bench, server):
    """A proxy that the sandbox keeps from being reached would not be noticed without it."""
    found = bench.run(server, "count", "-v", "s3://bucket/a.csv")
    if "the sandbox is not active" in found[2] or not has_ports():
        raise Skip("the kernel does not confine connections")


def quiet(found):
    """The same, after a look that no message shows the proxy's password."""
    for secret in (PASSWORD, base64.b64encode(("%s:%s" % (USER, PASSWORD)).encode()).decode()):
        check(secret not in found[2] and secret.encode() not in found[1], "a message shows a password: %s" % (found,))
    return found


def proxies(bench):
    """Through a proxy, in the sandbox: requests are passed on, with a password if it needs one; NO_PROXY; its port"""
    data = records(20000, 1)
    with Server({"bucket/a.csv": data}, KEY, SECRET) as server:
        server.buckets.add("out")
        need_sandbox(bench, server)
        with Proxy() as proxy:
            for url in ("http://" + proxy.address, proxy.address, "http://localhost:%d/" % proxy.server_address[1]):
                proxy.seen.clear()
                found = bench.run(server, "cat", "s3://bucket/a.csv", http_proxy=url)
                check(found == (0, data, "") and "GET" in proxy.seen, "%s: %s, %s" % (url, found[2], proxy.seen))
            found = bench.run(server, "split", "-n", "3", "s3://bucket/a.csv", "-o", "s3://out/{i}.csv",
                              http_proxy="http://" + proxy.address)
            wanted = as_files(bench, bench.write("a.csv", data), ("-n", "3"))[1]
            check(found[0] == 0 and objects_in(server, "out/") == wanted, "pieces: %s" % (found,))
            check({"PUT", "POST"} <= set(proxy.seen), "pieces: %s" % proxy.seen)
            proxy.seen.clear()
            for name in ("NO_PROXY", "no_proxy"):
                found = bench.run(server, "cat", "s3://bucket/a.csv", http_proxy="http://" + proxy.address,
                                  **{name: "example.org,127.0.0.1"})
                check(found == (0, data, "") and proxy.seen == [], "%s: %s, %s" % (name, found[2], proxy.seen))
        with Proxy(needs_user=True) as proxy:
            for more in ((), ("-v",)):
                found = quiet(bench.run(server, "cat", *more, "s3://bucket/a.csv",
                                        http_proxy="http://%s:%s@%s" % (USER, PASSWORD, proxy.address)))
                check(found[:2] == (0, data), "with a password: %s" % (found[2],))
                found = quiet(bench.run(server, "cat", *more, "s3://bucket/a.csv",
                                        http_proxy="http://%s:%sx@%s" % (USER, PASSWORD, proxy.address)))
                check(found[:2] == (1, b"") and "407" in found[2], "with another password: %s" % (found,))
        host = "127.%d.%d.1" % (bench.random.randrange(1, 255), os.getpid() % 255)
        with Proxy((host, 1080)) as proxy:
            for url in ("http://" + host, host, "http://%s:%s@%s/" % (USER, PASSWORD, host)):
                proxy.seen.clear()
                found = quiet(bench.run(server, "cat", "s3://bucket/a.csv", http_proxy=url))
                check(found == (0, data, "") and "GET" in proxy.seen, "without a port: %s, %s" % (found[2], proxy.seen))
        for address, words in ((proxy.address, "connect"), ("127.0.0.1:8a", "the port of the proxy is not a number")):
            found = quiet(bench.run(server, "cat", "-v", "s3://bucket/a.csv",
                                    http_proxy="http://%s:%s@%s" % (USER, PASSWORD, address)))
            check(found[0] in (1, 2) and found[1] == b"" and words in found[2], "no proxy there: %s" % (found,))


def tunnels(bench):
    """The same over TLS: the proxy opens a tunnel, and sees neither the object nor a signature"""
    data = records(20000, 1)
    certificate, server = encrypt(bench, Server({"bucket/a.csv": data}, KEY, SECRET))
    with server, Proxy(needs_user=True) as proxy:
        for password, status, name in ((PASSWORD, 0, "https_proxy"), (PASSWORD, 0, "HTTPS_PROXY"),
                                       (PASSWORD + "x", 1, "https_proxy")):
            proxy.seen.clear()
            found = quiet(bench.run(server, "cat", "s3://bucket/a.csv", AWS_CA_BUNDLE=certificate,
                                    **{name: "http://%s:%s@%s" % (USER, password, proxy.address)}))
            check(found[:2] == ((0, data) if status == 0 else (1, b"")), "%s: %s" % (name, found[2]))
            check(set(proxy.seen) == {"CONNECT"}, "%s: %s" % (name, proxy.seen))


class Slowly:
    """A file whose objects' bytes go out `size` at a time, each followed by a pause."""

    def __init__(self, file, size, pause_s):
        self.file, self.size, self.pause_s = file, size, pause_s

    def __getattr__(self, name):
        return getattr(self.file, name)

    def write(self, data):
        if not isinstance(data, memoryview):   # not of an object
            return self.file.write(data)
        for at in range(0, len(data), self.size):
            self.file.write(data[at:at + self.size])
            self.file.flush()
            time.sleep(self.pause_s)
        return len(data)


def slow_server(objects, size, pause_s):
    class SlowHandler(server_module.Handler):
        def setup(self):
            super().setup()
            self.wfile = Slowly(self.wfile, size, pause_s)
    server = Server(objects, KEY, SECRET)
    server.RequestHandlerClass = SlowHandler
    return server


def slow_links(bench):
    """A slow link and one that only trickles, for longer than silence is borne, are waited for; silence is not"""
    def slow():
        data = records(20000, 2)
        with slow_server({"bucket/a.csv": data}, 10000, 0.05) as server:   # 200 kB/s
            found = bench.run(server, "cat", "s3://bucket/a.csv")
            check(found == (0, data, ""), "200 kB/s: %s" % (found[2],))

    def trickle():
        data = records(60, 2)
        ranges = []
        for pause_s in (0, (SILENCE_S + 5) / 50):
            began = time.monotonic()
            with slow_server({"bucket/a.csv": data}, len(data) // 50, pause_s) as server:
                found = bench.run(server, "cat", "s3://bucket/a.csv")
                check(found == (0, data, ""), "a trickle: %s" % (found,))
                ranges.append([one.range for one in server.requests])
        check(time.monotonic() - began > SILENCE_S, "the trickle was fast")
        check(ranges[0] == ranges[1], "the trickle was ended: %s" % ranges)   # and asked for again from there

    def silence():
        data, asked = records(6000, 2), []

        def fault(request):
            if request.range == FIRST_BYTES:
                return None
            asked.append(time.monotonic())
            return "silent" if len(asked) == 1 else "reset"
        with Server({"bucket/a.csv": data}, KEY, SECRET) as server:
            server.fault = fault
            found = bench.run(server, "cat", "s3://bucket/a.csv")
            check(found[:2] == (1, b"") and "s3://bucket/a.csv: " in found[2], "silence: %s" % (found,))
            check(asked[1] - asked[0] > SILENCE_S - 2,
                  "the next request came %.1f s after the silent one" % (asked[1] - asked[0]))

    with concurrent.futures.ThreadPoolExecutor(3) as pool:   # they mostly wait
        for done in [pool.submit(work) for work in (slow, trickle, silence)]:
            done.result()


def unreachable(bench):
    """What cannot be taken back is named, without its query, and only that"""
    path = bench.write("some.csv", records(2000, 3))
    text = "these may be left in the store, as objects or as uploads that nobody sees: "
    split = ("split", "-n", "12", path, "-o", "s3://out/{i}.csv?x=hidden")

    def named(found):
        """The names in the message, and how many more there are."""
        lines = [line.partition(text)[2] for line in found[2].splitlines() if text in line]
        check(found[0] == 1 and len(lines) <= 1, found)
        names, _, more = (lines or [""])[0].partition(" and ")
        check("hidden" not in found[2] and (not more or more.endswith(" more")), found)
        return names.split(", ") if names else [], int(more.split()[0]) if more else 0

    def vanishing(last):
        with store_of() as server:
            sent = []

            def vanish(one):
                if one.method in ("PUT", "POST"):
                    sent.append(one.key)
                return "reset" if len(sent) > last else None
            server.fault = vanish
            names, more = named(bench.run(server, *split, "-q"))
            left = {upload.key for upload in server.uploads.values()} | {"out/" + key for key in objects_in(server, "out/")}
            check(len(names) == min(len(left), 3) and more == max(len(left) - 3, 0),
                  "%d: %s and %d of %s" % (last, names, more, left))
            check(all(name.replace("s3://", "") + "?x=hidden" in left for name in names), "%s of %s" % (names, left))
    with concurrent.futures.ThreadPoolExecutor(3) as pool:   # they mostly wait
        list(pool.map(vanishing, (2, 12, 30)))
    with store_of() as server:   # somebody who may not remove uploads: objects are removed nevertheless
        def refuse(one):
            if one.method == "POST" and "uploadId" in one.query and one.key.startswith("out/07"):
                return "expired"
            return "expired" if one.method == "DELETE" and "uploadId" in one.query else None
        server.fault = refuse
        names, more = named(bench.run(server, *split))
        check(objects_in(server, "out/") == {} and len(names) + more == len(server.uploads), "%s, %d of %s" % (
            names, more, server.uploads))
    with store_of({"out/%02d.csv?x=hidden" % number: b"old" for number in (1, 2)}) as server:   # replaced objects stay
        complete = []

        def fail(one):
            if one.method == "POST" and "uploadId" in one.query:
                complete.append(one.key)
                return "expired" if len(complete) == 12 else None
            return None
        server.fault = fail
        names, more = named(bench.run(server, *split, "-f"))
        left = {key.replace("out/", "", 1) for key in complete[:11]}   # any piece may be last, 01 and 02 too
        check(set(objects_in(server, "out/")) == left | {"%02d.csv?x=hidden" % number for number in (1, 2)}
              and (len(names), more) == (3, 8), "%s and %d of %s" % (names, more, left))
    with store_of() as server:   # nothing is left
        server.fault = lambda one: "expired" if one.method == "PUT" else None
        check(named(bench.run(server, *split)) == ([], 0) and not server.uploads, "nothing is left")


FAULTS = ("500", "503", "429", "expired", "reset", "lost", ("redirect", "http://127.0.0.1:1/"), "user", "tag", "whole",
          "other", "size", "short", "cut", "error200")   # silence takes long


def secrets(bench):
    """With -v, for every fault of the server, and in the arguments of commands: no secret, token or signature"""
    data = records(6000, 3)   # more than is sent when it is found
    path = bench.write("some.csv", data)

    def work(fault, words):
        with Server({"bucket/a.csv": data}, KEY, SECRET, TOKEN) as server:
            server.buckets.add("out")
            server.fault = lambda one: fault if one.number > 0 else None
            bench.run(server, *words, AWS_SESSION_TOKEN=TOKEN)   # which looks for them
            check(len(server.requests) > 1, "%s: no request has failed" % (words,))
    jobs = (("cat", "-v", "s3://bucket/a.csv"), ("split", "-v", "-n", "2", path, "-o", "s3://out/{i}.csv"),
            ("split", "-v", "--json", "-n", "2", path, "-o", "s3://out/{i}.csv", "--resume"))
    with concurrent.futures.ThreadPoolExecutor(12) as pool:   # they mostly wait
        for done in [pool.submit(work, fault, words) for fault in FAULTS for words in jobs]:
            done.result()

    with Server({"bucket/a.csv": data}, KEY, SECRET, TOKEN) as server:
        command = r"tr '\0' ' ' < /proc/$$/cmdline; tr '\0' ' ' < /proc/$PPID/cmdline; cat > /dev/null"
        found = bench.run(server, "split", "-v", "-n", "2", "--filter", command, "s3://bucket/a.csv",
                          AWS_SESSION_TOKEN=TOKEN)
        check(found[0] == 0 and found[1].count(b"s3://bucket/a.csv") == 2, "the arguments of commands: %s" % (found,))


def wait_status(process):
    """The status that wait() gives."""
    status = os.waitpid(process.pid, 0)[1]
    process.returncode = os.waitstatus_to_exitcode(status)
    return status


def core_dumps(bench):
    """Killed by SIGABRT while it reads, with core dumps allowed: there is none"""
    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    folder = os.path.join(bench.work, "cores")
    os.mkdir(folder)

    def start(environment, *words):
        return subprocess.Popen(
            [bench.cleave, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=folder,
            env={**environment, "TMPDIR": folder},   # where the sandbox lets files be written
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (hard, hard)))

    with start({}, "cat", "-") as control:
        control.stdin.write(b"a\n" * 10 ** 5)
        control.stdin.flush()
        control.stdout.read(1)   # it has begun
        control.send_signal(signal.SIGABRT)
        has_cores = os.WCOREDUMP(wait_status(control))
    is_hidden = None
    with Server({"bucket/a.csv": records(6000, 1)}, KEY, SECRET) as server:
        asked = []

        def hang(one):
            asked.append(one)
            return "silent" if one.range != FIRST_BYTES else None
        server.fault = hang
        for name in os.listdir(folder):
            os.remove(os.path.join(folder, name))
        with start(bench.environment(server), "cat", "s3://bucket/a.csv") as process:
            wait_for(lambda: any(one.range != FIRST_BYTES for one in asked), "requests")
            if os.getuid() != 0:   # what cannot be dumped belongs to root
                is_hidden = os.stat("/proc/%d/mem" % process.pid).st_uid == 0
            process.send_signal(signal.SIGABRT)
            status = wait_status(process)
        check(os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGABRT, "it ended with %d" % status)
        check(not os.WCOREDUMP(status) and os.listdir(folder) == [], "there is a core dump: %s" % os.listdir(folder))
        check(is_hidden is not False, "it could be dumped")
    if not has_cores and is_hidden is None:
        raise Skip("this machine writes no core dumps, and root sees no difference")


CHECKS = (proxies, tunnels, slow_links, unreachable, secrets, core_dumps)

if __name__ == "__main__":
    sys.exit(store_test.main(__doc__, CHECKS, output_test.Bench, timed=[slow_links]))
