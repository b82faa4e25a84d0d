"""Spark, for the tests of its data source.

As a program, prints the encoding that Java uses for names, and the rows of a file as read in both ways, and of its
folder.

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


def by_spark(spark, path, header=True, schema=None, **options):
    return spark.read.options(**options).csv(path, schema=schema, header=header, multiLine=True, escape='"')


def by_cleave(spark, path, schema=None, **options):
    reader = spark.read.format("cleave").options(**{name: str(value) for name, value in options.items()})
    return (reader if schema is None else reader.schema(schema)).load(path)


def rows(frame):
    return frame.columns, [tuple(row) for row in frame.collect()]


def compared(spark, path, pieces, header=True, **options):
    """Whether both readers agree; None if cleave's raises an error. Raises Failure if the rows differ."""
    found = unless_refused(lambda: rows(by_cleave(spark, path, pieces=pieces, header=header, pageSize=64, **options)))
    if found is None:
        return None
    wanted = rows(by_spark(spark, path, header, **options))
    need(found == wanted, "%s: %s instead of %s" % (path, found, wanted))
    return True


def typed_and_compared(spark, path, pieces, chance, header=True):
    """Like `compared`, but reads some of the columns, with types, and counts the records. Spark's reader has the types
    of all columns and selects some."""
    from pyspark.sql import types

    import cleave.spark
    names = unless_refused(lambda: by_cleave(spark, path, header=header).columns)
    if not names:
        return None
    kinds = {name: chance.choice(["string"] * 6 + ["int", "double", "boolean", "date"]) for name in names}
    some = chance.sample(names, chance.randrange(1, len(names) + 1))

    def schema(wanted):
        of = {"string": types.StringType, "int": types.IntegerType, "double": types.DoubleType,
              "boolean": types.BooleanType, "date": types.DateType}
        return types.StructType([types.StructField(name, of[kinds[name]]()) for name in wanted])
    if not header:
        some = names   # which have no names of their own in Spark, and are in their order
    options = {"pieces": pieces, "header": header, "pageSize": 64}
    number = unless_refused(lambda: by_cleave(spark, path, types.StructType(), **options).count())
    counted = unless_refused(lambda: cleave.spark.count(spark, path, **options))
    need(counted == number, "%s: count() is %s, and the frame has %s rows" % (path, counted, number))
    if number is not None:
        wanted = by_spark(spark, path, header).count()
        need(number == wanted, "%s: %d rows are counted instead of %d" % (path, number, wanted))
    found = unless_refused(lambda: rows(by_cleave(spark, path, schema(some), **options)))
    if found is None:
        return None
    wanted = rows(by_spark(spark, path, header, schema(names)).select(*["`%s`" % name for name in some]))
    need(repr(found) == repr(wanted), "%s: %s instead of %s" % (path, found, wanted))
    return True


def unless_refused(read):
    """What `read` returns; None if the input is refused."""
    try:
        return read()
    except Exception as error:   # from a task, the driver or the analysis
        need(REFUSAL.search(str(error)), "an unknown error: %s" % str(error)[-400:])
        return None


def main(folder, name):
    from cleave.spark import read_csv
    spark = session("local[1]")
    print(spark._jvm.java.lang.System.getProperty("sun.jnu.encoding"))
    path = os.path.join(folder, name)
    for frame in (by_cleave(spark, path, pieces=2), read_csv(spark, path, pieces=2), by_cleave(spark, folder)):
        print([tuple(row) for row in frame.collect()])


if __name__ == "__main__":
    main(*sys.argv[1:])
