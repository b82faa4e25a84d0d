#!/usr/bin/env python3
"""The data source of Spark beside Spark's own reader: odd files and random ones.

  spark_test.py --cleave PATH [--only SUBSTRING] [--rounds N] [--seed N]
"""
import os
import random
import sys

import common
import sparks
from harness import need, write

RANDOM_FILES = 40


def odd_files(bench):
    """Odd files: the same rows, or an error where readers differ"""
    spark, path = sparks.local(bench), os.path.join(bench.root, "odd.csv")
    refused = []
    for name, data in common.ODD.items():
        write(path, data)
        if sparks.compared(spark, path, 2) is None:
            refused.append(name)
    need(refused == ["CRLF, then LF", "LF, then CRLF", "LF in a header of CRLF", "blank before a quote",
                     "blank behind a quote", "stray quotes", "text behind a quote", "not UTF-8", "an open quote"],
         "refused are %s" % refused)


def random_files(bench):
    """Random files: the same rows, or an error"""
    spark, path = sparks.local(bench), os.path.join(bench.root, "random.csv")
    chance, agreed = random.Random(bench.seed), 0
    count = bench.rounds(RANDOM_FILES)
    for _ in range(count):
        write(path, common.random_file(chance))
        agreed += sparks.compared(spark, path, chance.randrange(1, 5)) is True
    bench.note("%d of %d files were read, the others refused" % (agreed, count))
    need(agreed > count // 2, "only %d of %d files were read" % (agreed, count))


if __name__ == "__main__":
    sys.exit(common.harness.main(__doc__, [odd_files, random_files]))
