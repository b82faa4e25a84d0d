"""Spark, for the tests of its data source.

As a program, prints the encoding that Java uses for names, the rows of a file as read in both ways, and the result of
reading its folder.

  sparks.py FOLDER NAME
"""
import functools
import os
import re
import sys

import common
from harness import need

EXECUTORS = 2
# This package's errors about an input, and Spark's error about two columns with the same name.
REFUSAL = re.compile(r"cleave\._errors\.(InputError|OpenQuoteError): |COLUMN_ALREADY_EXISTS")


@functools.cache
def session(master):
    """The session of this process. It makes no outside connections."""
    common.module("pyarrow")
    common.module("pyspark")
    os.environ.update(PYSPARK_PYTHON=sys.executable, SPARK_LOCAL_IP="127.0.0.1")
    from pyspark.sql import SparkSession
    from cleave.spark import CleaveDataSource
    spark = (SparkSession.builder.master(master).appName("cleave reach")
             .config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false")
             .config("spark.executor.memory", "900m")
             .config("spark.driver.host", "127.0.0.1").config("spark.task.maxFailures", "8").getOrCreate())
    spark.sparkContext.setLogLevel("OFF")
    spark.dataSource.register(CleaveDataSource)
    return spark


def local(bench):
    """Tasks are threads of one process."""
    bench.need_tool("java")
    return session("local[2]")


def cluster(bench):
    """Each executor is a separate process."""
    bench.need_tool("java")
    return session("local-cluster[%d,1,1024]" % EXECUTORS)


def by_spark(spark, path, header=True):
    return spark.read.csv(path, header=header, multiLine=True, escape='"')


def by_cleave(spark, path, **options):
    return spark.read.format("cleave").options(**{name: str(value) for name, value in options.items()}).load(path)


def rows(frame):
    return frame.columns, [tuple(row) for row in frame.collect()]


def compared(spark, path, pieces, header=True):
    """Whether both readers agree; None if cleave's raises an error. Raises Failure if the rows differ."""
    try:
        found = rows(by_cleave(spark, path, pieces=pieces, header=header, pageSize=64))
    except Exception as error:   # from a task, the driver or the analysis
        need(REFUSAL.search(str(error)), "an unknown error: %s" % str(error)[-400:])
        return None
    wanted = rows(by_spark(spark, path, header))
    need(found == wanted, "%s: %s instead of %s" % (path, found, wanted))
    return True


def main(folder, name):
    from cleave.spark import read_csv
    spark = session("local[1]")
    print(spark._jvm.java.lang.System.getProperty("sun.jnu.encoding"))
    path = os.path.join(folder, name)
    for frame in (by_cleave(spark, path, pieces=2), read_csv(spark, path, pieces=2)):
        print([tuple(row) for row in frame.collect()])
    try:
        by_cleave(spark, folder).collect()
    except Exception as error:
        print("UsageError" if "cleave._errors.UsageError: " in str(error) else error)


if __name__ == "__main__":
    main(*sys.argv[1:])
