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


def typed_odd_files(bench):
    """Odd files, some columns with types: the same rows, or an error"""
    spark, path, chance = sparks.local(bench), os.path.join(bench.root, "odd.csv"), random.Random(bench.seed)
    agreed = 0
    for number, (name, data) in enumerate(common.ODD.items()):
        write(path, data)
        agreed += sparks.typed_and_compared(spark, path, 2, chance, header=(number + bench.seed) % 4 > 0) is True
    bench.note("%d of %d files were read, the others refused" % (agreed, len(common.ODD)))
    need(agreed > len(common.ODD) // 5, "only %d files were read" % agreed)


def typed_random_files(bench):
    """Random files, some columns with types: the same rows, or an error"""
    spark, path, chance = sparks.local(bench), os.path.join(bench.root, "random.csv"), random.Random(bench.seed)
    count, agreed = bench.rounds(RANDOM_FILES), 0
    for number in range(count):
        write(path, common.random_file(chance))
        agreed += sparks.typed_and_compared(spark, path, chance.randrange(1, 5), chance, number % 3 > 0) is True
    bench.note("%d of %d files were read, the others refused" % (agreed, count))
    need(agreed > count // 8, "only %d of %d files were read" % (agreed, count))


def null_values(bench):
    """nullValue and emptyValue: the same rows, or an error"""
    spark, path, agreed = sparks.local(bench), os.path.join(bench.root, "null.csv"), []
    files = [b'a,b\nNA,1\n"NA",\n2,NA\n', b'a,b\nNA,""\n"",3\n', b'a,b\nx"",1\n', b'a,b\r\n"x\r\ny",NA\r\n',
             b'a\n"y,"",z"\nNA\n']
    for data in files:
        write(path, data)
        for given in ({"nullValue": "NA"}, {"nullValue": "NA", "emptyValue": "NA"}, {"nullValue": "x\ny"}):
            agreed.append(sparks.compared(spark, path, 1, **given) is True)
    # Refused: an empty value in quotes, and what looks like one, unless it is null, too; and a stray quote.
    need(agreed == [True] * 3 + [False, True, False] + [False] * 3 + [True] * 3 + [False, True, False],
         "agreed: %s" % agreed)


ZONE = "America/New_York"
# Types, each with texts that must be converted, and texts that may be refused.
TEXTS = {
    "byte": (["0", "-128", "+127", "007", "-0"], ["128", "1.0", "0x1", " 1", "1 ", "1_0", "++1", "\u0661"]),
    "short": (["32767", "-32768"], ["32768"]),
    "int": (["2147483647", "-2147483648", "+5"], ["2147483648", "1e3", "-", "+", "1L", "00000000000000000000001"]),
    "bigint": (["9223372036854775807", "-9223372036854775808"], ["9223372036854775808"]),
    "float": (["0.1", "3.4028235e38", "1e-45", "-0.0", "NaN", "Inf"], ["3.5e38", "1e-50", "1f", "inf"]),
    "double": (["0", "-0.0", ".5", "5.", "+1.5", "1e5", "1E-7", "0.1", "1.7976931348623157e308", "NaN", "Inf", "-Inf",
                "Infinity", "+Infinity", "-Infinity", "4.9e-324", "2.2250738585072011e-308"],
               ["nan", "inf", "+Inf", "-inf", "infinity", "1e400", "1d", "0x1p3", " 1", "1,5", "e5", "1e", "1e+", ".", "+",
                "nan(1)", "+NaN", "-NaN"]),
    "decimal(10,2)": (["1.23", "-0.5", "+7", "99999999.99", "0", "1.230"],
                      ["1.239", "1.235", "123456789.00", "x", " 1", "1e2", ".5", "5.", "1e", "-.5", "1E+2", "NaN"]),
    "decimal(38,10)": (["1234567890123456789012345678.0123456789"], ["12345678901234567890123456789"]),
    "boolean": (["true", "False", "TRUE", "false"], ["1", "0", "t", "yes", "true ", "f", "TrUe"]),
    "date": (["2024-02-29", "1582-10-10", "0001-01-01", "9999-12-31"],
             ["2023-02-29", "2024-1-2", "20240102", "2024-01-02T", "2024", "2024-01-02 00:00:00", "02024-01-02"]),
    "timestamp": (["2024-01-02", "2024-01-02 03:04", "2024-01-02T03:04:05", "2024-01-02 03:04:05.1",
                   "2024-01-02T03:04:05.123456", "2024-01-02T03:04:05Z", "2024-01-02 03:04:05+02:00",
                   "2024-01-02T03:04:05.5-0930", "2024-11-03 01:30:00", "2024-07-01 12:00:00", "1970-01-01 00:00:00",
                   "1901-01-01 00:00:00", "2037-07-01 00:00:00"],
                  ["2024-01-02 03:04+01:00", "2037-12-31 23:59:59", "2038-01-01 00:00:00", "2024-03-10 02:30:00", "2024-01-02 03", "2024-01-02 03:04:05.1234567", "2024-01-02 24:00:00",
                   "2024-01-02T03:04:05+19:00", "2024-01-02T03:04:05+18:00", "2024-01-02 03Z", "2024-01-02 03:04:05 UTC",
                   "2024-01-02 03:04:60", "2024-01-02 03:04:05+1:00", "2024-01-02T03:04:05z", "12:30", "2024-01-02 03:04:05.",
                   "2024-01-02T03:04:05+02", "2024-01-02T", "2024-01-02 ", "1800-01-01 00:00:00", "2100-07-01 00:00:00"]),
    "timestamp_ntz": (["2024-01-02", "2024-01-02 03:04", "2024-03-10 02:30:00", "2024-01-02T03:04:05.123456"],
                      ["2024-01-02T03:04:05Z", "2024-01-02 03:04:05+02:00", "2024-01-02 03", "2024-01-02 24:00:00"]),
}


def conversions(bench):
    """Texts of each type: the value that Spark's reader makes of it, or an error with its place"""
    from pyspark.sql import functions
    import cleave.spark
    spark, path, chance = sparks.local(bench), os.path.join(bench.root, "typed.csv"), random.Random(bench.seed)
    refused = {}

    def exact(frame):   # Python knows no year 0, and has a zone of its own
        of = {"date": functions.unix_date, "timestamp": functions.unix_micros,
              "timestamp_ntz": lambda name: functions.unix_micros(functions.col(name).cast("timestamp"))}
        return [repr(row.a) for row in frame.select(of.get(kind, functions.col)("a").alias("a")).collect()]
    for kind, (sure, doubtful) in TEXTS.items():
        mutated = [mutant(chance, chance.choice(sure)) for _ in range(bench.rounds(60))]
        texts = [text for text in dict.fromkeys([*sure, *doubtful, *mutated]) if text and "," not in text]
        write(path, ("a,b\n" + "".join("%s,x\n" % text for text in texts)).encode())
        wanted = exact(sparks.by_spark(spark, path, schema="a %s, b string" % kind, timeZone=ZONE).select("a"))
        need(len(wanted) == len(texts), "Spark reads %d rows of %d" % (len(wanted), len(texts)))
        field = cleave.spark._type_of(spark.createDataFrame([], "a %s" % kind).schema.fields[0])
        taken = [text for text in texts if is_taken(field, text)]
        need({*sure} <= {*taken}, "%s: refused are %s" % (kind, {*sure} - {*taken}))
        refused[kind] = len(texts) - len(taken)
        write(path, ("a,b\n" + "".join("%s,x\n" % text for text in taken)).encode())
        found = exact(sparks.by_cleave(spark, path, "a %s" % kind, timeZone=ZONE))
        wanted = [value for text, value in zip(texts, wanted) if text in taken]
        need(found == wanted, "%s: %s" % (kind, [one for one in zip(taken, found, wanted) if one[1] != one[2]]))
    bench.note("refused are %s" % refused)
    data = b"a,b\n" + b"2,y\n" * 5000 + b"x,z\n"
    write(path, data)
    for where in ("byte %d" % data.index(b"x,z"), "record 5001"):
        try:
            sparks.by_cleave(spark, path, "a int", pieces=2).collect()
        except Exception as error:
            need(where in str(error) and "InputError" in str(error), str(error)[-400:])
        else:
            need(False, "x was read as a number")


def mutant(chance, text):
    """The text, with a character removed, doubled or replaced."""
    at = chance.randrange(len(text))
    return text[:at] + chance.choice(["", text[at] * 2, *"0159-+:.TZe xX"]) + text[at + 1:]


def is_taken(kind, text, patterns={}):
    """Whether a text is a value of that type, and of the pattern for it."""
    import pyarrow
    from cleave import _batches, spark
    try:
        spark._Converter(b"\n", ZONE, patterns)(pyarrow.field("a", kind), pyarrow.array([text]), ("", ""))
    except _batches.Unfit:
        return False
    return True


def columns(bench):
    """A schema names columns, in any order and case; others are refused, as are types and options that do not fit"""
    from cleave.spark import read_csv
    spark, path = sparks.local(bench), write(os.path.join(bench.root, "c.csv"),
                                             b'id,Name,at\n1,"x\ny",2024-01-02 03:04:05\n2,,\n3\n4,z,,5\n')
    found = sparks.rows(sparks.by_cleave(spark, path, "NAME string, ID long", pieces=2))
    need(found == (["NAME", "ID"], [("x\ny", 1), (None, 2), (None, 3), ("z", 4)]), "there is %s" % (found,))
    need(sparks.by_cleave(spark, path, "id string", mode="permissive").count() == 4, "PERMISSIVE differs")
    found = sparks.rows(sparks.by_cleave(spark, path, "id int, file string, at timestamp", inputFileName="file",
                                         timeZone="UTC").select("id", "file").limit(1))
    need(found[1] == [(1, path)], "there is %s" % (found,))
    need(sparks.by_cleave(spark, path, inputFileName="file").columns == ["id", "Name", "at", "file"], "no file")
    for schema, given, words in (
            ("id int, nothing int", {}, "there is no column 'nothing'"), ("id binary", {}, "binary"),
            ("id int not null", {}, "NOT NULL"), ("id int", {"mode": "PERMISSIVE"}, "PERMISSIVE"),
            ("id int, id2 int, id3 int", {"header": "false", "mode": "x"}, "mode"), ("a int", {"header": "false"}, "1 columns"),
            ("at timestamp", {}, "timeZone"), ("at timestamp", {"timeZone": "PST"}, "timeZone"),
            ("id int, file int", {"inputFileName": "file"}, "inputFileName"),
            ("id string", {"inputFileName": "ID"}, "the files have a column 'ID'")):
        refused(lambda: sparks.by_cleave(spark, path, schema, **given).collect(), words)
    for given, words in (({"mode": "FAILFAST"}, "a record has 1 fields"), ({"nullValue": "x"}, None)):
        read = lambda: sparks.by_cleave(spark, path, "id int", **given).collect()   # noqa: E731
        refused(read, words, "InputError") if words else need(len(read()) == 4, "%s" % given)
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    try:
        for frame in (sparks.by_cleave(spark, path, "at timestamp"), read_csv(spark, path, schema="at timestamp")):
            micros = frame.selectExpr("unix_micros(at) as at").first().at
            need(micros == 1704132245000000, "%s" % micros)
    finally:
        spark.conf.unset("spark.sql.session.timeZone")


def refused(read, words, kind="UsageError"):
    try:
        read()
    except Exception as error:   # raised by the driver, the analysis or a task
        need("cleave._errors.%s: " % kind in str(error) and words in str(error), "%s: %s" % (words, str(error)[-600:]))
    else:
        need(False, "not refused: %s" % words)


def formats(bench):
    """Formats of timestamps: the values that Spark's reader makes of them, or an error"""
    from cleave.spark import _ZONED as ZONED, FORMATS
    spark, path = sparks.local(bench), os.path.join(bench.root, "formats.csv")
    texts = ["2024-01-02", "2024-01-02 03:04", "2024-01-02 03:04:05", "2024-01-02 03:04:05.678",
             "2024-01-02 03:04:05.678901", "2024-01-02T03:04:05", "2024-01-02T03:04:05.678", "2024-01-02T03:04:05+02:00",
             "2024-01-02T03:04:05Z", "2024-01-02T03:04:05.678+02:00"]
    fitting = 0
    for one, pattern in FORMATS.items():
        given = {"timestampFormat": one, "timeZone": ZONE}
        write(path, ("a\n" + "\n".join(texts) + "\n").encode())
        wanted = sparks.by_spark(spark, path, True, "a timestamp", **given).selectExpr("unix_micros(a) AS a").collect()
        taken = [text for text in texts if is_taken(ZONED, text, {ZONED: pattern})]
        fitting += len(taken)
        write(path, ("a\n" + "\n".join(taken) + "\n").encode())
        found = sparks.by_cleave(spark, path, "a timestamp", **given).selectExpr("unix_micros(a) AS a").collect()
        wanted = [row.a for text, row in zip(texts, wanted) if text in taken]
        need([row.a for row in found] == wanted, "%s as %s: %s instead of %s" % (taken, one, found, wanted))
    need(fitting == 14, "%d texts were read" % fitting)   # one of each of seven formats, two, and five


def many_files(bench):
    """Many files: a folder, a pattern and a list give the rows of Spark's reader; other columns are refused"""
    import cleave.spark
    spark, folder = sparks.local(bench), os.path.join(bench.root, "many")
    os.mkdir(folder)
    paths = [write(os.path.join(folder, "%d.csv" % number), common.broken_records(20000, seed=number))
             for number in range(3)]
    write(os.path.join(folder, "_SUCCESS"), b"")
    write(os.path.join(folder, "empty.csv"), b"")
    wanted = sorted(sparks.by_spark(spark, folder).collect())
    for given in (folder, os.path.join(folder, "*.csv"), paths):
        for frame in (sparks.by_cleave(spark, given, pieces=7), cleave.spark.read_csv(spark, given, blocksize=5000)):
            need(sorted(frame.collect()) == wanted, "the rows of %s differ" % given)
        number = cleave.spark.count(spark, given)
        need(number == len(wanted), "%d rows are counted" % number)
    found = sparks.by_cleave(spark, folder, inputFileName="file").groupBy("file").count().collect()
    need(sorted(row.file for row in found) == paths, "the files are %s" % found)
    write(paths[1], b"id,note\n1,x\n")
    refused(lambda: sparks.by_cleave(spark, folder).collect(), "the columns are not those of", "InputError")


def stray_quotes(bench):
    """Stray quotes are read on request"""
    spark = sparks.local(bench)
    path = write(os.path.join(bench.root, "stray.csv"), b'a,b\nx"y,2\n3,"z\nw"\n')
    refused(lambda: sparks.by_cleave(spark, path).collect(), "a quote that readers of CSV take differently", "InputError")
    found = sparks.rows(sparks.by_cleave(spark, path, strayQuotes=True))
    need(found == sparks.rows(sparks.by_spark(spark, path)), "there is %s" % (found,))


def last_returns(bench):
    """A CR that is the last byte of the file and its only line break"""
    spark, path = sparks.local(bench), os.path.join(bench.root, "return.csv")
    for data, header in ((b"a,b\r", True), (b"a,b\r", False), (b'a,"b"\r', False), (b"a,b\r1,2\r", True)):
        write(path, data)
        agreed = sparks.compared(spark, path, 1, header)
        need(agreed is (True if data.count(b"\r") > 1 else None), "%s: %s" % (data, agreed))


def options(bench):
    """Options: the default is a comma, a different delimiter is found on request, and unusable options are refused"""
    from cleave.spark import CleaveDataSource, read_csv
    spark, path = sparks.local(bench), write(os.path.join(bench.root, "semicolons.csv"), b"a;b\n1;2\n3;4\n")
    for given, columns in (({}, ["a;b"]), ({"delimiter": "auto"}, ["a", "b"]), ({"sep": ";"}, ["a", "b"])):
        for frame in (sparks.by_cleave(spark, path, **given), read_csv(spark, path, pieces=2, header=True, **given)):
            need(frame.columns == columns and frame.count() == 2, "with %s there are %s" % (given, frame.columns))
    for given in ({"multiLine": "true"}, {"escape": '"'}, {"encoding": "UTF-8"}, {"inferSchema": "false"}, {"lineSep": "\n"},
                  {"mode": "FAILFAST"}, {"emptyValue": ""}, {"enforceSchema": "false"}, {"timeZone": "UTC"}):
        need(sparks.by_cleave(spark, path, **given).count() == 2, "with %s there are other rows" % given)
    for given in ({"pageSize": 0}, {"pieces": 0}, {"plan": "gASVAAAA"}, {"header": "maybe"}, {"there": "is none"},
                  {"multiLine": "false"}, {"escape": "\\"}, {"encoding": "latin1"}, {"inferSchema": "true"},
                  {"lineSep": "\r"}, {"mode": "DROPMALFORMED"}, {"emptyValue": "x"}, {"enforceSchema": "true"},
                  {"timeZone": "GMT+2"}, {"comment": "#"}, {"dateFormat": "dd.MM.yyyy"}):
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


def guide(bench):
    """The program of the guide"""
    bench.need_tool("java")
    common.module("pyspark")
    lines, sums = common.guide(bench, "spark")
    need(lines == [sums, "8", sums.split()[0]], "it says %s" % lines)


def other_locale(bench):
    """Without a UTF-8 locale Java cannot name the file, but it is still read, as is its folder"""
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
    need(found == [rows, rows, rows], "it says %s" % found)


if __name__ == "__main__":
    sys.exit(common.harness.main(__doc__, [odd_files, random_files, typed_odd_files, typed_random_files, null_values,
                                              conversions, columns, formats, many_files, stray_quotes, last_returns,
                                              options, guide, other_locale]))
