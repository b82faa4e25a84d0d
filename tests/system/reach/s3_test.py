#!/usr/bin/env python3
"""Reads objects from an S3 server on loopback, behind a proxy that fails. The result is the right rows, or an error.

  s3_test.py --cleave PATH [--only SUBSTRING] [--rounds N] [--seed N]

The server is moto's. The proxy passes requests on, and disturbs the answers to chosen range requests in the ways that
networks and servers do.
"""
import contextlib
import functools
import http.client
import io
import logging
import os
import random
import socket
import struct
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import common
from harness import need, need_sight

BLOCK = 100000
FAULTS = ("fail", "refuse", "slow", "cut", "short", "whole", "other", "reset", "silent")
CLIENT_TIMEOUT_S = 120   # only a hang exceeds it
SHORT_TIMEOUT_S = 5   # for a client whose server is silent: it waits this long each time


class Proxy(ThreadingHTTPServer):
    """Stands between client and server. `fault(number)` determines what happens to range request `number`, counted
    from 0."""

    daemon_threads = True

    def __init__(self, port):
        super().__init__(("127.0.0.1", 0), Handler)
        self.upstream = port
        self.lock = threading.Lock()
        self.use(lambda number: None)

    def use(self, fault, before=lambda number: None):
        self.fault, self.before, self.ranges, self.bytes = fault, before, 0, 0

    def next_range(self):
        with self.lock:
            self.ranges += 1
            return self.ranges - 1

    def handle_error(self, request, client_address):
        pass   # the client has gone


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def answer(self):
        server = self.server
        size = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(size) if size else None
        fault = None
        if self.command == "GET" and self.headers.get("Range"):
            number = server.next_range()
            server.before(number)
            fault = server.fault(number)
        headers = {name: value for name, value in self.headers.items() if name.lower() != "connection"}
        if fault == "whole":
            headers = {name: value for name, value in headers.items() if name.lower() != "range"}
        upstream = http.client.HTTPConnection("127.0.0.1", server.upstream, timeout=60)
        upstream.request(self.command, self.path, body, headers)
        got = upstream.getresponse()
        data = got.read()
        status, length = got.status, len(data)
        if fault in ("reset", "silent"):
            if fault == "silent":   # longer than the client waits
                time.sleep(SHORT_TIMEOUT_S + 1)
            # Closing the connection now resets it.
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.close_connection = True
            upstream.close()
            return
        if fault == "slow":
            time.sleep(1)
        if fault == "fail":
            status, data = 500, b"<Error><Code>InternalError</Code></Error>"
        elif fault == "refuse":
            status, data = 403, b"<Error><Code>AccessDenied</Code></Error>"
        elif fault == "short":   # with a Content-Length that agrees
            data = data[:-1]
        elif fault == "cut":   # but Content-Length promises more
            data = data[: len(data) // 2]
        elif fault == "other":   # one byte too many
            data += b"x"
        self.send_response_only(status)
        kept = [(name, value) for name, value in got.getheaders()
                if name.lower() not in ("content-length", "transfer-encoding", "connection", "content-md5")
                and not name.lower().startswith("x-amz-checksum")]
        for name, value in kept:
            self.send_header(name, value)
        head_size = got.getheader("Content-Length", "0") if self.command == "HEAD" else None
        self.send_header("Content-Length", str(length) if fault == "cut" else head_size or str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)
        server.bytes += len(data)
        if fault == "cut":
            self.wfile.flush()
            self.close_connection = True
            self.connection.shutdown(2)
        upstream.close()

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = answer


@functools.cache
def store():
    """Returns the proxy of a running server with a bucket, and the fsspec options to reach it."""
    common.module("s3fs")
    common.module("pyarrow")
    server_module = common.module("moto.server")
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    os.environ.update(AWS_ACCESS_KEY_ID="cleave", AWS_SECRET_ACCESS_KEY="cleave", AWS_DEFAULT_REGION="us-east-1")
    server = server_module.ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    _, port = server.get_host_and_port()
    proxy = Proxy(port)
    threading.Thread(target=proxy.serve_forever, daemon=True).start()
    options = {"key": "cleave", "secret": "cleave", "endpoint_url": "http://127.0.0.1:%d" % proxy.server_address[1],
               "client_kwargs": {"region_name": "us-east-1"},
               "config_kwargs": {"retries": {"max_attempts": 1}, "read_timeout": CLIENT_TIMEOUT_S}}
    system(options).call_s3("create_bucket", Bucket="bucket")
    return proxy, options


def impatient(options):
    """The options for a server that may be silent. On a busy machine such a client may also give up on requests that
    are only slow."""
    return {**options, "config_kwargs": {**options["config_kwargs"], "read_timeout": SHORT_TIMEOUT_S}}


def system(options):
    import s3fs
    return s3fs.S3FileSystem(skip_instance_cache=True, **options)


def put(options, name, data):
    system(options).pipe_file("bucket/" + name, data)


def rows_of(data):
    import pandas
    return pandas.read_csv(io.BytesIO(data), dtype=str, keep_default_na=False, na_values=[""])


def frame(options, name):
    import cleave.dask
    return cleave.dask.read_csv("s3://bucket/" + name, blocksize=BLOCK, delimiter=",", storage_options=options,
                                page_size=BLOCK // 2)


def compute(options, name):
    import dask
    with dask.config.set(scheduler="threads", num_workers=4):
        return frame(options, name).compute().reset_index(drop=True).astype("str")


def need_same(found, data, what):
    need(found.equals(rows_of(data).astype("str")), "%s: the rows differ" % what)


def without_faults(bench):
    """Ranges of an object: every byte is read twice, and little more"""
    proxy, options = store()
    data = common.broken_records(1 << 20, seed=bench.seed)
    put(options, "plain.csv", data)
    proxy.use(lambda number: None)
    need_same(compute(options, "plain.csv"), data, "plain")
    pieces = -(-len(data) // BLOCK)
    bench.note("%d bytes, %d pieces: %d requests for ranges, %.2f times the bytes" %
               (len(data), pieces, proxy.ranges, proxy.bytes / len(data)))
    # Read in addition: the beginning, for the dialect, and for each cut at most one part of a range.
    need(proxy.bytes < 2 * len(data) + 70000 + 300000 * pieces, "%d bytes" % proxy.bytes)


def each_fault(bench):
    """With a fault in each request in turn: the right rows, or an error"""
    proxy, options = store()
    data = common.broken_records(400000, seed=bench.seed)
    put(options, "faults.csv", data)
    proxy.use(lambda number: None)
    need_same(compute(options, "faults.csv"), data, "without a fault")
    requests = proxy.ranges
    need(requests > 8, "only %d requests" % requests)
    outcome = {}
    for kind in FAULTS:
        right = failed = 0
        for at in range(0, requests, 1 if bench.rounds(1) > 1 else 3):
            proxy.use(lambda number, kind=kind, at=at: kind if number == at else None)
            try:
                found = compute(impatient(options) if kind == "silent" else options, "faults.csv")
            except Exception:   # from any layer: what matters is that there are no rows
                failed += 1
                continue
            need_same(found, data, "%s of request %d" % (kind, at))
            right += 1
        outcome[kind] = (right, failed)
    bench.note("right rows, errors: " + ", ".join("%s %d, %d" % (kind, *counts) for kind, counts in outcome.items()))
    need(outcome["slow"][1] == 0, "a slow answer is an error")
    for kind in ("refuse", "short", "whole", "other"):   # s3fs does not retry these
        need(outcome[kind][1] > 0, "%s went unnoticed" % kind)


def always_failing(bench):
    """Reading from a store that always fails raises an error"""
    proxy, options = store()
    data = common.broken_records(300000, seed=bench.seed)
    put(options, "never.csv", data)
    proxy.use(lambda number: "refuse" if number >= 3 else None)
    with contextlib.suppress(OSError):
        compute(options, "never.csv")
        need(False, "it was read")


def changed_object(bench):
    """With an object that changes before any of the requests: the rows of one version, or an error"""
    proxy, options = store()
    old = common.broken_records(400000, seed=1)
    # The same size, so that only the ETag differs.
    new = old.replace(b"line 1", b"line 2")
    need(len(new) == len(old) and new != old, "the versions do not differ")
    put(options, "moving.csv", old)
    proxy.use(lambda number: None)
    compute(options, "moving.csv")
    requests, outcome = proxy.ranges, {"old": 0, "new": 0, "error": 0}
    import cleave
    for at in range(requests + 1):
        put(options, "moving.csv", old)
        proxy.use(lambda number: None, lambda number, at=at: put(options, "moving.csv", new) if number == at else None)
        try:
            found = compute(options, "moving.csv")
        except cleave.InputChangedError:
            outcome["error"] += 1
            continue
        version = "old" if found.equals(rows_of(old)) else "new" if found.equals(rows_of(new)) else None
        need(version is not None, "the rows are of two versions, after a change at request %d" % at)
        outcome[version] += 1
    bench.note("changed before each of %d requests: %s" % (requests, outcome))
    need(outcome["error"] >= requests - 2 and outcome["old"] == 1, "the outcome is %s" % outcome)


def random_faults(bench):
    """With many random faults: the right rows, or an error"""
    proxy, options = store()
    data = common.broken_records(300000, seed=bench.seed)
    put(options, "random.csv", data)
    chance, right, failed = random.Random(bench.seed), 0, 0
    for _ in range(bench.rounds(10)):
        proxy.use(lambda number: chance.choice(FAULTS) if chance.random() < 0.08 else None)
        try:
            found = compute(impatient(options), "random.csv")
        except Exception:   # from any layer
            failed += 1
            continue
        need_same(found, data, "random faults")
        right += 1
    bench.note("%d times the right rows, %d errors" % (right, failed))
    need_sight(right > 0 and failed > 0, "only one of both came about: %d, %d" % (right, failed))


@contextlib.contextmanager
def obstore():
    """In place of s3fs, fsspec uses obstore, which sends no If-Match. Its options."""
    _, options = store()
    import fsspec
    import s3fs
    common.module("obstore")
    from obstore.fsspec import register
    register("s3")
    try:
        yield {"config": {"endpoint": options["endpoint_url"], "access_key_id": "cleave", "secret_access_key": "cleave",
                          "region": "us-east-1"},
               "client_options": {"allow_http": True, "timeout": "%ds" % CLIENT_TIMEOUT_S},
               "retry_config": {"max_retries": 0}, "skip_instance_cache": True}
    finally:
        fsspec.register_implementation("s3", s3fs.S3FileSystem, clobber=True)


def by_obstore(bench):
    """By obstore, with a fault in some of the requests, or a change before one: the right rows, or an error"""
    proxy, options = store()
    old = common.broken_records(400000, seed=1)
    new = old.replace(b"line 1", b"line 2")
    put(options, "other.csv", old)
    outcome = {"right": 0, "error": 0}
    with obstore() as theirs:
        proxy.use(lambda number: None)
        need_same(compute(theirs, "other*.csv"), old, "without a fault")
        requests = proxy.ranges
        need(requests > 8, "only %d requests" % requests)
        for number, kind in enumerate(kind for kind in FAULTS if kind != "silent"):
            for at in range(number % 3, requests, 1 if bench.rounds(1) > 1 else 3):
                proxy.use(lambda number, kind=kind, at=at: kind if number == at else None)
                try:
                    found = compute(theirs, "other.csv")
                except Exception:   # from any layer
                    outcome["error"] += 1
                    continue
                need_same(found, old, "%s of request %d" % (kind, at))
                outcome["right"] += 1
        for at in range(requests):
            put(options, "other.csv", old)
            proxy.use(lambda number: None,
                      lambda number, at=at: put(options, "other.csv", new) if number == at else None)
            try:
                found = compute(theirs, "other.csv")
            except Exception:   # InputChangedError, but a scheduler may wrap it
                outcome["error"] += 1
                continue
            need(found.equals(rows_of(old)) or found.equals(rows_of(new)), "the rows are of two versions")
            outcome["right"] += 1
    bench.note("%d times the right rows, %d errors" % (outcome["right"], outcome["error"]))
    need(outcome["right"] > 0 and outcome["error"] >= requests - 2, "the outcome is %s" % outcome)


CHECKS = [without_faults, each_fault, always_failing, changed_object, random_faults, by_obstore]


if __name__ == "__main__":
    sys.exit(common.harness.main(__doc__, CHECKS))
