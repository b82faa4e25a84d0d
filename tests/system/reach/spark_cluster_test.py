#!/usr/bin/env python3
"""The Spark data source in a cluster of executors on this machine.

  spark_cluster_test.py --cleave PATH [--only SUBSTRING] [--rounds N] [--seed N]
"""
import os
import signal
import sys
import threading
import time

import common
import sparks
from harness import Inconclusive, need, write


def every_record(bench):
    """Every record has line breaks: several executors read the same rows as a single Spark task"""
    from pyspark.sql import functions
    spark = sparks.cluster(bench)
    for end, name in ((b"\n", "lf.csv"), (b"\r\n", "crlf.csv")):
        path = write(os.path.join(bench.root, name), common.broken_records(3 << 20, end, bench.seed, ragged=True))
        one, many = sparks.by_spark(spark, path), sparks.by_cleave(spark, path, pieces=7, pageSize=100000)
        need(one.rdd.getNumPartitions() == 1, "Spark has learnt to split such files")
        need(many.columns == one.columns, "the columns are %s" % many.columns)
        need(many.rdd.getNumPartitions() == 7, "%d tasks" % many.rdd.getNumPartitions())
        need(many.collect() == one.collect(), "the rows differ")
        numbers = many.select(functions.spark_partition_id().alias("task")).groupBy("task").count().collect()
        need(len(numbers) == 7 and all(row["count"] > 0 for row in numbers), "the tasks have %s" % numbers)


def first_job(bench):
    """The executors scan the file in a first job"""
    from cleave.spark import read_csv
    spark = sparks.cluster(bench)
    path = write(os.path.join(bench.root, "job.csv"), common.broken_records(1 << 20, seed=bench.seed))
    need(read_csv(spark, path, pieces=5).collect() == sparks.by_spark(spark, path).collect(), "the rows differ")


def changed(bench):
    """Reading fails if the file changes after the plan"""
    spark = sparks.cluster(bench)
    path = write(os.path.join(bench.root, "changed.csv"), common.broken_records(1 << 16, seed=bench.seed))
    frame = sparks.by_cleave(spark, path, pieces=3)
    count = frame.count()
    need(count == sparks.by_spark(spark, path).count(), "%d rows" % count)
    data = bytearray(common.broken_records(1 << 16, seed=bench.seed))
    data[-10] ^= 1
    write(path, data)
    try:
        frame.collect()
    except Exception as error:
        need("changed" in str(error), "another error: %s" % str(error)[:300])
    else:
        need(False, "it was read")


def executors(spark):
    """The executor processes of this session."""
    word = spark.sparkContext.applicationId.encode()
    found = []
    for number in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/cmdline" % number, "rb") as file:
                words = file.read().split(b"\0")
        except OSError:
            continue
        if word in words and b"org.apache.spark.executor.CoarseGrainedExecutorBackend" in words:
            found.append(int(number))
    return found


def killed_worker(bench):
    """An executor that is killed midway: the rows are the same"""
    spark = sparks.cluster(bench)
    path = write(os.path.join(bench.root, "killed.csv"), common.broken_records(8 << 20, seed=bench.seed))
    wanted = sparks.by_spark(spark, path).collect()
    tracker, killed = spark.sparkContext.statusTracker(), []

    def kill():
        while not killed:
            for stage in tracker.getActiveStageIds():
                about = tracker.getStageInfo(stage)
                if about is not None and about.numTasks == 40 and about.numCompletedTasks >= 3:
                    killed.append((executors(spark)[0], about.numCompletedTasks))
                    os.kill(killed[0][0], signal.SIGKILL)
                    return
            time.sleep(0.002)

    frame = sparks.by_cleave(spark, path, pieces=40, pageSize=20000)
    thread = threading.Thread(target=kill, daemon=True)
    thread.start()
    found = frame.collect()
    if not killed:
        raise Inconclusive("the job ended before an executor could be killed")
    bench.note("process %d was killed after %d of 40 tasks" % killed[0])
    need(found == wanted, "the rows differ")


if __name__ == "__main__":
    sys.exit(common.harness.main(__doc__, [every_record, first_job, changed, killed_worker]))
