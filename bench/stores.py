#!/usr/bin/env python3
"""Times what the command does with an object beside the same by hand: download with boto3, the command on files, upload.

  stores.py --cleave PATH --endpoint URL --file FILE [--rounds N]

PATH must find its module for stores. Any server with S3's interface will do; the credentials come from the environment.
The buckets cleave-bench-in and cleave-bench-out are created, filled and emptied. Prints seconds, one column per round.
"""
import argparse
import glob
import os
import subprocess
import sys
import tempfile
import time

import boto3
import botocore.exceptions

IN, OUT = "cleave-bench-in", "cleave-bench-out"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cleave", required=True, metavar="PATH")
    parser.add_argument("--endpoint", required=True, metavar="URL")
    parser.add_argument("--file", required=True, metavar="FILE")
    parser.add_argument("--rounds", type=int, default=3, metavar="N")
    args = parser.parse_args()
    environment = dict(os.environ, AWS_ENDPOINT_URL=args.endpoint)
    client = boto3.client("s3", endpoint_url=args.endpoint, region_name="us-east-1")
    for bucket in (IN, OUT):
        try:
            client.create_bucket(Bucket=bucket)
        except botocore.exceptions.ClientError as error:
            if error.response["Error"]["Code"] != "BucketAlreadyOwnedByYou":
                raise
    client.upload_file(args.file, IN, "a.csv")
    with tempfile.TemporaryDirectory() as folder:
        copy = os.path.join(folder, "a.csv")

        def run(*words):
            subprocess.run([args.cleave, *words], env=environment, check=True, stdout=subprocess.DEVNULL)

        def split(source, place, index="never"):
            run("split", "-n", "8", "--index", index, source, "-o", place + "{i}.csv")

        def download():
            client.download_file(IN, "a.csv", copy)

        def upload():
            for path in sorted(glob.glob(os.path.join(folder, "p.*.csv"))):
                client.upload_file(path, OUT, os.path.basename(path))

        jobs = {
            "count": lambda: run("count", "--index", "never", "s3://%s/a.csv" % IN),
            "download, count": lambda: (download(), run("count", copy)),
            "split in the store": lambda: split("s3://%s/a.csv" % IN, "s3://%s/" % OUT),
            "download, split, upload": lambda: (download(), split(copy, os.path.join(folder, "p.")), upload()),
            "split into the store": lambda: split(args.file, "s3://%s/" % OUT),
            "index": lambda: run("index", "s3://%s/a.csv" % IN),
            "count by it": lambda: run("count", "--index", "require", "s3://%s/a.csv" % IN),
            "split by it": lambda: split("s3://%s/a.csv" % IN, "s3://%s/" % OUT, "require"),
            "split, upload": lambda: (split(args.file, os.path.join(folder, "p.")), upload()),
        }
        times = {name: [] for name in jobs}
        for _ in range(args.rounds):
            for name, job in jobs.items():
                for one in client.list_objects_v2(Bucket=OUT).get("Contents", []):
                    client.delete_object(Bucket=OUT, Key=one["Key"])
                for path in glob.glob(os.path.join(folder, "*")):
                    os.remove(path)
                begin = time.perf_counter()
                job()
                times[name].append(time.perf_counter() - begin)
    for name, found in times.items():
        print("%-24s %s" % (name, " ".join("%.2f" % seconds for seconds in found)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
