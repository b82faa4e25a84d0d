#!/usr/bin/env python3
"""Pieces as objects, on a server that others wrote: those of a split into files, all or none, and no upload is left.

  servers_test.py --cleave PATH --folder FOLDER --module MODULE [--endpoint URL] [--only WORDS]

The server at URL is asked with the credentials of the environment, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, which
must permit making buckets. Without a URL, moto's is started, so that it checks signatures. boto3 makes the buckets,
lists what the command leaves in them, and removes them. See store_test.py.

versitygw is one to try, with any empty folder:

  versitygw --port 127.0.0.1:7070 --access KEY --secret SECRET --quiet posix FOLDER
"""
import functools
import gzip
import importlib.util
import json
import logging
import os
import subprocess
import sys
import time
import urllib.request
import uuid

import output_test
import store_test
from output_test import as_files, template
from store_test import records
from verdicts import Skip, need as check, need_sight

MB = 10 ** 6
SPLITS = (("-n", "4"), ("-n", "4", "--header", "first"), ("-n", "4", "--header", "drop"), ("-C", "3M"),
          ("-n", "4", "--checksum", "--json"), ("-n", "4", "--compress", "zstd"), ("--by", "place"))
KEYS = ("plain", "two  words", " blank first", "a+b", "a&b", "a=b", "100%", "a%20b", "%2F", "\u00e4\u00f6\u00fc\u00df",
        "u\u0308", "q?x=y", "h#i", "it's", "a\"b", "a<b>", "a;b:c@d", "(1)!*~", "deep/er/still", "$,[]")


@functools.cache
def client_of(endpoint, key, secret):
    import boto3
    from botocore.config import Config
    config = Config(s3={"addressing_style": "path"}, request_checksum_calculation="when_required",
                    response_checksum_validation="when_required")
    return boto3.client("s3", endpoint_url=endpoint, aws_access_key_id=key, aws_secret_access_key=secret,
                        region_name=os.environ.get("AWS_REGION", "us-east-1"), config=config)


@functools.cache
def moto():
    """A running server of moto's: its URL, and the key and the secret of its only user."""
    try:
        from moto.server import ThreadedMotoServer
    except ImportError:
        raise Skip("moto is not installed, and there is no --endpoint") from None
    import boto3
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    url = "http://%s:%d" % server.get_host_and_port()
    iam = boto3.client("iam", endpoint_url=url, aws_access_key_id="x", aws_secret_access_key="x",
                       region_name="us-east-1")
    iam.create_user(UserName="cleave")
    made = iam.create_access_key(UserName="cleave")["AccessKey"]
    allowed = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]}
    iam.put_user_policy(UserName="cleave", PolicyName="all", PolicyDocument=json.dumps(allowed))
    # From the next request on, it checks who asks.
    plain = {"Content-Type": "text/plain"}
    urllib.request.urlopen(urllib.request.Request(url + "/moto-api/reset-auth", b"0", plain)).close()
    return url, made["AccessKeyId"], made["SecretAccessKey"]


class Place:
    """Two buckets on the server, empty at the beginning."""
    requests = ()   # what servers of others are sent is not known

    def __init__(self, url, key, secret):
        self.url, self.secret = url, secret
        self.variables = {"AWS_ACCESS_KEY_ID": key, "AWS_SECRET_ACCESS_KEY": secret,
                          "AWS_REGION": os.environ.get("AWS_REGION", "us-east-1")}
        self.client = client_of(url, key, secret)
        name = "cleave-test-" + uuid.uuid4().hex[:16]
        self.buckets = self.input, self.output = name + "-in", name + "-out"

    def __enter__(self):
        for bucket in self.buckets:
            self.client.create_bucket(Bucket=bucket)
        return self

    def __exit__(self, *args):
        for bucket in self.buckets:
            self.clear(bucket)
            for key, upload in self.uploads(bucket):
                self.client.abort_multipart_upload(Bucket=bucket, Key=key, UploadId=upload)
            self.client.delete_bucket(Bucket=bucket)

    def put(self, bucket, key, data):
        self.client.put_object(Bucket=bucket, Key=key, Body=data)

    def get(self, bucket, key):
        return self.client.get_object(Bucket=bucket, Key=key)["Body"].read()

    def keys(self, bucket):
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=bucket)
        return [one["Key"] for page in pages for one in page.get("Contents", ())]

    def objects(self, bucket, prefix=""):
        return {key[len(prefix):]: self.get(bucket, key) for key in self.keys(bucket) if key.startswith(prefix)}

    def clear(self, bucket, prefix=""):
        for key in self.keys(bucket):
            if key.startswith(prefix):
                self.client.delete_object(Bucket=bucket, Key=key)

    def uploads(self, bucket=None):
        """(key, ID) of the uploads that are neither complete nor aborted; without a bucket, of both."""
        names = self.buckets if bucket is None else (bucket,)
        pages = [page for name in names for page in
                 self.client.get_paginator("list_multipart_uploads").paginate(Bucket=name)]
        return [(one["Key"], one["UploadId"]) for page in pages for one in page.get("Uploads", ())]


class Bench(output_test.Bench):
    def place(self):
        if importlib.util.find_spec("boto3") is None:
            raise Skip("boto3 is not installed")
        if not self.args.endpoint:
            return Place(*moto())
        return Place(self.args.endpoint, os.environ["AWS_ACCESS_KEY_ID"], os.environ["AWS_SECRET_ACCESS_KEY"])

    def environment(self, server):
        return {**super().environment(server), **(server.variables if server else {})}

    def run(self, server, *words, **more):
        found = super().run(server, *words, **more)
        check(server is None or server.secret not in found[2], "a message shows a secret")
        return found

    def piped(self, place, data, *words):
        return subprocess.run([self.cleave, *words, "-"], input=data, env=self.environment(place), capture_output=True,
                              check=False)


def sized(size):
    """About so many bytes, whose records have line breaks in quotes."""
    data = records(20000, 7)
    head, _, rest = data.partition(b"\n")
    return head + b"\n" + rest * (size // len(rest))


def need_same(place, bucket, prefix, wanted, what):
    got = place.objects(bucket, prefix)
    check(set(got) == set(wanted), "%s: %s instead of %s" % (what, list(got), list(wanted)))
    for key, value in wanted.items():
        check(got[key] == value, "%s: %s has other bytes" % (what, key))
    check(place.uploads() == [], "%s leaves uploads of %s" % (what, place.uploads()))


def reads(bench):
    """Objects as inputs: count and cat give what they give for files"""
    with bench.place() as place:
        for name, data in (("some.csv", sized(9 * MB)), ("some.csv.gz", gzip.compress(records(30000, 1))),
                           ("empty.csv", b""), ("one.csv", b"id\n1")):
            path = bench.write(name, data)
            place.put(place.input, name, data)
            for words in (("count",), ("cat",), ("cat", "-n", "2/3"), ("check",)):
                url = "s3://%s/%s" % (place.input, name)
                local, found = bench.run(place, *words, path), bench.run(place, *words, url)
                found = (found[0], found[1].replace(url.encode(), path.encode()))
                check(found == local[:2], "%s of %s: %s" % (words, name, found[0]))
        found = bench.run(place, "count", "s3://%s/none.csv" % place.input)
        check(found[0] == 1 and "there is no such object" in found[2], found)
        found = bench.run(place, "count", "s3://%s-none/a.csv" % place.input)
        check(found[0] == 1 and "there is no such bucket" in found[2], found)


def splits(bench):
    """Files and objects of 20 and 60 MB, into the bucket of the input and another: the objects are the files"""
    with bench.place() as place:
        for size in (20 * MB, 60 * MB):
            data = sized(size)
            path = bench.write("large.csv", data)
            place.put(place.input, "large.csv", data)
            stored = "s3://%s/large.csv" % place.input
            for words in SPLITS:
                status, wanted = as_files(bench, path, words)
                check(status == 0 and len(wanted) > 1, "%s of a file: %d" % (words, status))
                for source, bucket in ((path, place.output), (stored, place.output), (stored, place.input)):
                    what = "%s of %s into %s" % (words, source, bucket)
                    output = "s3://%s/out/%s" % (bucket, template(words))
                    found = bench.run(place, "split", *words, source, "-o", output)
                    check(found[0] == 0, "%s: %s" % (what, found))
                    need_same(place, bucket, "out/", wanted, what)
                    place.clear(bucket, "out/")


def names(bench):
    """Keys with blanks, umlauts and what means something in URLs"""
    data = sized(12 * MB)
    path = bench.write("some.csv", data)
    wanted = as_files(bench, path, ("-n", "2"))[1]
    with bench.place() as place:
        for key in KEYS:
            source, prefix = "s3://%s/%s.csv" % (place.input, key), "to/%s " % key
            place.put(place.input, key + ".csv", data)
            check(bench.run(place, "cat", source)[:2] == (0, data), "cat %s" % key)
            output = "s3://%s/%s{i}.csv" % (place.output, prefix)
            found = bench.run(place, "split", "-n", "2", source, "-o", output)
            check(found[0] == 0, "%s: %s" % (key, found))
            need_same(place, place.output, prefix, wanted, key)
            leave_upload(place, prefix + "2.csv")
            place.client.delete_object(Bucket=place.output, Key=prefix + "2.csv")
            found = bench.run(place, "split", "-n", "2", source, "-o", output, "--resume")
            check(found[0] == 0, "--resume, %s: %s" % (key, found))
            need_same(place, place.output, prefix, wanted, "--resume, %s" % key)
        values = ("Z\u00fcrich", "a b+c", "d&e=f", "50%")
        path = bench.write("by.csv", ("k,n\n" + "".join("%s,%d\n" % (values[n % 4], n) for n in range(99))).encode())
        wanted = as_files(bench, path, ("--by", "k"))[1]
        found = bench.run(place, "split", "--by", "k", path, "-o", "s3://%s/by/{value}.csv" % place.output)
        check(found[0] == 0 and len(wanted) == len(values), found)
        need_same(place, place.output, "by/", wanted, "by value")


def leave_upload(place, key):
    """An upload with a part, as a killed run leaves it."""
    begun = place.client.create_multipart_upload(Bucket=place.output, Key=key)
    place.client.upload_part(Bucket=place.output, Key=key, UploadId=begun["UploadId"], PartNumber=1, Body=b"old")
    check(place.uploads() == [(key, begun["UploadId"])], "the server does not list the upload of %s" % key)


def taken(bench):
    """An object of the name: an error, and it stays; with -f it is replaced"""
    path = bench.write("large.csv", sized(20 * MB))
    wanted = as_files(bench, path, ("-n", "3"))[1]
    with bench.place() as place:
        place.put(place.output, "2.csv", b"old")
        split = ("split", "-n", "3", path, "-o", "s3://%s/{i}.csv" % place.output)
        found = bench.run(place, *split)
        check(found[0] == 1 and "/2.csv: File exists" in found[2], found)
        need_same(place, place.output, "", {"2.csv": b"old"}, "an object of the name")
        found = bench.run(place, *split, "-f")
        check(found[0] == 0, found)
        need_same(place, place.output, "", wanted, "-f")
        found = bench.run(place, *split, "--resume")
        check(found[0] == 0, "--resume of what is complete: %s" % (found,))
        place.put(place.output, "3.csv", wanted["3.csv"].replace(b"plain", b"PLAIN"))
        found = bench.run(place, *split, "--resume")
        check(found[0] != 0 and "/3.csv: exists and differs" in found[2], found)
        check(place.uploads() == [], "uploads are left")


def appears(bench):
    """An object that a run meets when it completes its pieces: an error, it stays, and no other object does"""
    data = sized(40 * MB)
    # The number of pieces of a pipe is not known before, hence their names.
    with bench.place() as place:
        place.put(place.output, "000002.csv", b"old")
        done = bench.piped(place, data, "split", "-C", "9M", "-o", "s3://%s/{i}.csv" % place.output)
        check(done.returncode == 1 and b"/000002.csv: File exists" in done.stderr, done)
        need_same(place, place.output, "", {"000002.csv": b"old"}, "an object of the name")
        place.clear(place.output)
        with subprocess.Popen([bench.cleave, "split", "-C", "9M", "-o", "s3://%s/{i}.csv" % place.output, "-"],
                              env=bench.environment(place), stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            process.stdin.write(data[:30 * MB])
            process.stdin.flush()
            wait_for_uploads(place)
            place.put(place.output, "000001.csv", b"another's")
            process.stdin.write(data[30 * MB:])
            process.stdin.close()
            errors = process.stderr.read()
            status = process.wait(store_test.TIMEOUT_S)
        check(status == 1 and b"/000001.csv: File exists" in errors, "%d, %s" % (status, errors))
        need_same(place, place.output, "", {"000001.csv": b"another's"}, "an object that appears")


def wait_for_uploads(place):
    output_test.wait_for(lambda: any(place.client.list_parts(Bucket=place.output, Key=key, UploadId=one).get("Parts")
                                     for key, one in place.uploads(place.output)), "uploads")


def killed(bench):
    """A run that is killed: --resume aborts its uploads, keeps what is complete, and writes the rest"""
    path = bench.write("large.csv", sized(60 * MB))
    split = ("split", "-n", "4", "-o")
    wanted = as_files(bench, path, ("-n", "4"))[1]
    for source in ("file", "object"):
        with bench.place() as place:
            if source == "object":
                place.client.upload_file(path, place.input, "large.csv")
            words = (*split, "s3://%s/{i}.csv" % place.output,
                     path if source == "file" else "s3://%s/large.csv" % place.input)
            with bench.start(place, *words) as process:
                while process.poll() is None and place.uploads() == []:
                    time.sleep(0.002)
                process.kill()
            left, complete = place.uploads(), place.keys(place.output)
            need_sight(left != [], "the run had ended")
            for key in complete:
                check(place.get(place.output, key) == wanted[key], "%s has other bytes" % key)
            if not complete:
                place.put(place.output, "3.csv", wanted["3.csv"])
            kept = {key: place.client.head_object(Bucket=place.output, Key=key)["LastModified"]
                    for key in place.keys(place.output)}
            found = bench.run(place, *words, "--resume")
            check(found[0] == 0, "%s: %s" % (source, found))
            need_same(place, place.output, "", wanted, "--resume, %s" % source)
            for key, when in kept.items():
                now = place.client.head_object(Bucket=place.output, Key=key)["LastModified"]
                check(now == when, "%s was written again" % key)


def replaced(bench):
    """An object that is replaced while it is cut: exit status 4 and nothing, or the pieces of one version"""
    words = ("-C", "6M", "--header", "first")
    versions = [sized(60 * MB), sized(60 * MB).replace(b"Oslo", b"Roma")]
    wanted = [as_files(bench, bench.write("large.csv", data), words)[1] for data in versions]
    statuses = []
    with bench.place() as place:
        place.put(place.input, "new.csv", versions[1])
        for wait_s in (0.03, 0.06, 0.1, 0.15, 0.2, 0.3, 0.5):
            place.put(place.input, "large.csv", versions[0])
            with bench.start(place, "split", *words, "s3://%s/large.csv" % place.input,
                             "-o", "s3://%s/{i}.csv" % place.output) as process:
                time.sleep(wait_s)
                place.client.copy_object(Bucket=place.input, Key="large.csv",
                                         CopySource={"Bucket": place.input, "Key": "new.csv"})
                status = process.wait(store_test.TIMEOUT_S)
            got = place.objects(place.output)
            check(got in wanted if status == 0 else status == 4 and got == {}, "status %d: %s" % (status, list(got)))
            check(place.uploads() == [], "uploads are left")
            place.clear(place.output)
            statuses.append(status)
    need_sight(4 in statuses, "no run met the other version")


def ended(bench):
    """A run that is ended by SIGTERM, or fails in the middle, leaves nothing"""
    data = sized(60 * MB)
    path = bench.write("large.csv", data)
    with bench.place() as place:
        with bench.start(place, "split", "-n", "4", path, "-o", "s3://%s/{i}.csv" % place.output) as process:
            while process.poll() is None and place.uploads() == []:
                time.sleep(0.002)
            process.terminate()
            status = process.wait(store_test.TIMEOUT_S)
        need_sight(status != 0, "the run had ended")
        need_same(place, place.output, "", {}, "SIGTERM")
        done = bench.piped(place, data + b'9,"open', "split", "-C", "9M", "-o", "s3://%s/{i}.csv" % place.output)
        check(done.returncode == 3, done.stderr)
        need_same(place, place.output, "", {}, "a file that ends in quotes")


def credentials(bench):
    """A wrong secret, an unknown key, and no credentials: an error, and nothing is written"""
    path = bench.write("some.csv", records(200, 1))
    with bench.place() as place:
        place.put(place.input, "some.csv", records(200, 1))
        wrongs = [{"AWS_SECRET_ACCESS_KEY": place.secret[:-1] + ("x" if place.secret[-1] != "x" else "y")},
                  {"AWS_ACCESS_KEY_ID": "AKIAIOSFODNN7UNKNOWN"}]
        if bench.args.endpoint:   # moto fails with status 500 at a request that is not signed
            wrongs.append({"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""})
        for wrong in wrongs:
            for source in (path, "s3://%s/some.csv" % place.input):
                found = bench.run(place, "split", "-n", "2", source, "-o", "s3://%s/{i}.csv" % place.output, **wrong)
                # Servers that do not know unsigned requests answer variously: s3proxy 501.
                answer = "the server answers " + ("40" if all(wrong.values()) else "")
                check(found[0] == 1 and answer in found[2], "%s: %s" % (list(wrong), found))
        need_same(place, place.output, "", {}, "wrong credentials")


def texts(bench):
    """The manifest and the report on rules are objects, too"""
    path = bench.write("some.csv", sized(12 * MB))
    words = ("-n", "2", "--redact", 'note: fixed("x")')
    wanted = as_files(bench, path, words)[1]
    with bench.place() as place:
        to = "s3://%s/" % place.output
        split = ("split", *words, path, "-o", to + "a/{i}.csv", "--manifest", to + "m.json",
                 "--redact-report", to + "r.json")
        found = bench.run(place, *split)
        check(found[0] == 0, found)
        need_same(place, place.output, "a/", wanted, "with a manifest")
        check(set(place.keys(place.output)) == {"a/1.csv", "a/2.csv", "m.json", "r.json"}, place.keys(place.output))
        names_ = [piece["name"] for piece in json.loads(place.get(place.output, "m.json"))["pieces"]]
        check(names_ == ["a/1.csv", "a/2.csv"], "the manifest names %s" % names_)
        check(bench.run(place, *split)[0] == 1, "the second run did not fail")
        check(bench.run(place, *split, "-f")[0] == 0, "-f failed")
        check(place.uploads() == [], "uploads are left")


def indexed(bench):
    """The index of an object is an object, by which it is cut; that of another version is not used"""
    data = sized(60 * MB)
    path = bench.write("large.csv", data)
    with bench.place() as place:
        place.put(place.input, "large.csv", data)
        stored = "s3://%s/large.csv" % place.input
        check(bench.run(place, "index", stored)[0] == 0, "no index")
        check(set(place.keys(place.input)) == {"large.csv", "large.csv.cleave"}, place.keys(place.input))
        check(bench.run(place, "index", "--verify", stored) == (0, b"", ""), "it does not match")
        found = bench.run(place, "count", "--index", "require", stored)
        check(found[:2] == bench.run(None, "count", path)[:2], "count: %s" % (found,))
        for words in (("-n", "4"), ("-n", "4", "--header", "first"), ("-C", "9M")):
            wanted = as_files(bench, path, words)[1]
            found = bench.run(place, "split", *words, "--index", "require", stored, "-o", "s3://%s/{i}.csv" % place.output)
            check(found[0] == 0, "%s: %s" % (words, found))
            need_same(place, place.output, "", wanted, words)
            if "first" in words:
                pieces = ["s3://%s/%s" % (place.output, name) for name in wanted]
                found = bench.run(place, "join", "--header", "first", *pieces)
                check(found == (0, data, ""), "join: %s" % (found[0],))
            place.clear(place.output)
        place.put(place.input, "large.csv", data + b"7,x,y\n")
        found = bench.run(place, "count", "--index", "require", stored)
        check(found[:2] == (4, b""), "of another version: %s" % (found,))
        check(place.uploads() == [], "uploads are left")


CHECKS = (reads, splits, indexed, names, taken, appears, killed, replaced, ended, credentials, texts)

if __name__ == "__main__":
    sys.exit(store_test.main(__doc__, CHECKS, Bench, ("--endpoint",)))
