#!/usr/bin/env python3
"""The Spark data source compared with Spark's own reader, on odd files and random ones.

  spark_test.py --cleave PATH [--only SUBSTRING] [--rounds N] [--seed N]
"""
import os
import random
import subprocess
import sys

import common
import sparks
from harness import need, write

RANDOM_FILES = 40
REFUSED = ["CRLF, then LF", "LF, then CRLF", "LF in a header of CRLF", "blank before a quote",
           "blank behind a quote", "stray quotes", "text behind a quote", "a header of CRLF with LF alone",
           "a header with a stray quote alone", "a header not UTF-8", "not UTF-8", "an open quote"]
REFUSED_WITHOUT_HEADER = REFUSED


def odd_files(bench):
    """Odd files: the same rows, or an error where readers differ"""
    spark, path = sparks.local(bench), os.path.join(bench.root, "odd.csv")
    for header, wanted in ((True, REFUSED), (False, REFUSED_WITHOUT_HEADER)):
        refused = []
        for name, data in common.ODD.items():
            write(path, data)
            if sparks.compared(spark, path, 2, header) is None:
                refused.append(name)
        need(refused == wanted, "refused with header=%s are %s" % (header, refused))


def random_files(bench):
    """Random files: the same rows, or an error"""
    spark, path = sparks.local(bench), os.path.join(bench.root, "random.csv")
    chance, agreed = random.Random(bench.seed), 0
    count = bench.rounds(RANDOM_FILES)
    for number in range(count):
        write(path, common.random_file(chance))
        agreed += sparks.compared(spark, path, chance.randrange(1, 5), header=number % 3 > 0) is True
    bench.note("%d of %d files were read, the others refused" % (agreed, count))
    need(agreed > count // 2, "only %d of %d files were read" % (agreed, count))


def options(bench):
    """Options: the default is a comma, a different delimiter is found on request, and unusable options are refused"""
    from cleave.spark import CleaveDataSource, read_csv
    spark, path = sparks.local(bench), write(os.path.join(bench.root, "semicolons.csv"), b"a;b\n1;2\n3;4\n")
    for given, columns in (({}, ["a;b"]), ({"delimiter": "auto"}, ["a", "b"]), ({"sep": ";"}, ["a", "b"])):
        for frame in (sparks.by_cleave(spark, path, **given), read_csv(spark, path, pieces=2, header=True, **given)):
            need(frame.columns == columns and frame.count() == 2, "with %s there are %s" % (given, frame.columns))
    for given in ({"pageSize": 0}, {"pieces": 0}, {"plan": "gASVAAAA"}, {"header": "maybe"}, {"there": "is none"}):
        try:
            sparks.by_cleave(spark, path, **given).collect()
        except Exception as error:   # raised by the driver or the analysis
            need("cleave._errors.UsageError: " in str(error), "%s: %s" % (given, str(error)[-400:]))
        else:
            need(False, "%s was taken" % given)
    words = {"storage.anon": "true", "storage.key": "123", "storage.secret": "{x", "storage.none": "null",
             "storage.client_kwargs": '{"a": [1]}'}
    wanted = {"anon": True, "key": "123", "secret": "{x", "none": None, "client_kwargs": {"a": [1]}}
    need(CleaveDataSource(words)._storage == wanted, "storage options are %s" % CleaveDataSource(words)._storage)


def other_locale(bench):
    """Without a UTF-8 locale Java cannot name the file, but it is still read; a folder is refused"""
    bench.need_tool("java")
    common.module("pyspark")
    folder = os.path.join(bench.root, "\u6771\u4eac")
    os.mkdir(folder)
    write(os.path.join(folder, "\u00e9t\u00e9.csv"), b'a,b\n1,"x\ny"\n2,z\n')
    done = subprocess.run([sys.executable, "-B", os.path.join(common.HERE, "sparks.py"), folder, "\u00e9t\u00e9.csv"],
                          env={**os.environ, "LC_ALL": "C"}, stdout=subprocess.PIPE, text=True, timeout=300)
    need(done.returncode == 0, "exit status %d" % done.returncode)
    encoding, *found = done.stdout.splitlines()
    need(encoding != "UTF-8", "Java's encoding is UTF-8 in the locale C: the check cannot fail")
    rows = "[('1', 'x\\ny'), ('2', 'z')]"
    need(found == [rows, rows, "UsageError"], "it says %s" % found)


if __name__ == "__main__":
    sys.exit(common.harness.main(__doc__, [odd_files, random_files, options, other_locale]))
