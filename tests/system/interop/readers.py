"""Other programs that read CSV, each with its defaults except for the delimiter and the absence of a header.

Further options are set only where a reader would otherwise reject a whole file for reasons that have nothing to do with
quotes and line ends. They say that fields are text and, if a reader insists on it, how many fields a record has.
"""
import contextlib
import csv
import io
import json
import os
import re
import shutil
import subprocess

import postgres
from common import module
from harness import Inconclusive, read


class Refused(Exception):
    """The reader reports that the file is malformed."""


class Apart:
    """Something that no Dialect can express: files that match `pattern` are not compared; `example` is a file on which
    the readers differ."""

    def __init__(self, pattern, why, example):
        self.pattern, self.why, self.example = re.compile(pattern), why, example


class Reader:
    """One reader, and the preset that should read as it does."""
    preset = ""
    apart = ()
    pieces_of = 1   # one in this many files is also read piece by piece; more than 1 for slow readers

    def skips(self, record, width):
        """Whether the reader skips a record with these bytes without producing a row."""
        return False

    def rows(self, path, width):
        """[(field, ...)] of the file, whose first record has `width` fields. Raises Refused."""
        raise NotImplementedError

    def told_nothing(self, path):
        """How many rows the reader finds if it is given only the file's name and, where it has to be told, the fact
        that there is a header."""
        raise NotImplementedError

    @contextlib.contextmanager
    def ready(self):
        yield


def is_empty(record):
    return record.strip(b"\r\n") == b""


class Python(Reader):
    """The csv module of the standard library. Files are opened as utf-8-sig, because the module would otherwise treat a
    byte order mark as text."""
    preset = "python"

    def rows(self, path, width):
        with open(path, encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
            return [tuple(row) for row in csv.reader(file)]

    def told_nothing(self, path):
        return max(0, len(self.rows(path, 0)) - 1)


class StrictPython(Python):
    """The csv module, told to refuse what RFC 4180 does not allow."""
    preset = "rfc4180"
    apart = [Apart(rb"(?s)\A(?=.*\n)(?=.*\r(?!\n))", "a CR alone ends a record in a file with LF too", "LF, then a CR")]

    def rows(self, path, width):
        with open(path, encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
            try:
                return [tuple(row) for row in csv.reader(file, strict=True)]
            except csv.Error as error:
                raise Refused(error) from None


class Pandas(Reader):
    preset = "pandas"
    apart = [Apart(rb"(^|[\r\n])[ \t]*\r,",
                   "a row after an empty line that a CR ends is lost if it begins with a comma",
                   "CR, empty line, delimiter")]

    def skips(self, record, width):
        return record.strip(b" \t\r\n") == b""

    def rows(self, path, width):
        pandas = module("pandas")
        widest = max((len(row) for row in Python().rows(path, width)), default=0)
        try:
            frame = pandas.read_csv(path, header=None, names=range(max(widest, width)), dtype=str, na_filter=False,
                                    index_col=False)
        except (pandas.errors.ParserError, pandas.errors.EmptyDataError, UnicodeError) as error:
            raise Refused(error) from None
        return list(frame.itertuples(index=False, name=None))

    def told_nothing(self, path):
        pandas = module("pandas")
        try:
            return len(pandas.read_csv(path))
        except (pandas.errors.ParserError, pandas.errors.EmptyDataError, UnicodeError) as error:
            raise Refused(error) from None


class Polars(Reader):
    preset = "polars"

    def ask(self, call):
        polars = module("polars")
        try:
            return call(polars)
        except polars.exceptions.PolarsError as error:
            raise Refused(error) from None

    def rows(self, path, width):
        return self.ask(lambda polars: polars.read_csv(path, has_header=False, infer_schema=False,
                                                       encoding="utf8-lossy", truncate_ragged_lines=True).rows())

    def told_nothing(self, path):
        return self.ask(lambda polars: polars.read_csv(path).height)


class Arrow(Reader):
    preset = "arrow"

    def skips(self, record, width):
        return is_empty(record)

    def ask(self, path, *options):
        module("pyarrow")
        try:
            return module("pyarrow.csv").read_csv(path, *options)
        except module("pyarrow").ArrowInvalid as error:
            raise Refused(error) from None

    def rows(self, path, width):
        arrow = module("pyarrow.csv")
        names = ["c%d" % i for i in range(width)]
        types = {name: module("pyarrow").binary() for name in names}
        table = self.ask(path, arrow.ReadOptions(column_names=names), arrow.ParseOptions(newlines_in_values=True),
                         arrow.ConvertOptions(column_types=types))
        return list(zip(*(column.to_pylist() for column in table.columns)))

    def told_nothing(self, path):
        return self.ask(path).num_rows


class DuckDb(Reader):
    preset = "duckdb"
    apart = [Apart(rb'(^|[,\r\n]) +"', "a quote after spaces at the start of a field opens a quoted section too",
                   "a space before a quote"),
             Apart(rb"\A[^,\r\n]*\n(?s:.*),\r\n",
                   "in one column whose first row ends in an LF, a delimiter too many before a CRLF makes one row more",
                   "one column, a delimiter too many before a CRLF")]

    def skips(self, record, width):
        return width > 1 and is_empty(record)

    def ask(self, statement, *values):
        duckdb = module("duckdb")
        try:
            return self.connection.execute(statement, values).fetchall()
        except duckdb.Error as error:
            raise Refused(error) from None

    def rows(self, path, width):
        columns = ", ".join("'c%d': 'VARCHAR'" % i for i in range(width))
        return self.ask("SELECT * FROM read_csv(?, auto_detect = false, header = false, delim = ',', quote = '\"', "
                        "escape = '\"', columns = {%s})" % columns, path)

    def told_nothing(self, path):
        delimiter, quote = self.ask("SELECT Delimiter, Quote FROM sniff_csv(?)", path)[0]
        if delimiter != "," or quote != '"' and b'"' in read(path):
            raise Refused("it takes the file for another dialect")
        return len(self.ask("SELECT * FROM read_csv(?)", path))

    @contextlib.contextmanager
    def ready(self):
        self.connection = module("duckdb").connect()
        yield
        self.connection.close()


class ClickHouse(Reader):
    preset = "clickhouse"
    pieces_of = 4
    apart = [Apart(rb'(^|[,\r\n])[ \t]+"',
                   "a quote after spaces and tabs at the start of a field opens a quoted section too",
                   "a space before a quote"),
             Apart(rb"\n\r(?!\n)", "an LF and a CR after it are one line end", "LF CR")]

    def ask(self, query):
        chdb = module("chdb")
        try:
            return str(chdb.query(query, "JSONCompactEachRow")).splitlines()
        except RuntimeError as error:
            raise Refused(error) from None

    def file(self, path, width):
        return "file('%s', CSV, '%s')" % (path, ", ".join("c%d Nullable(String)" % i for i in range(width)))

    def rows(self, path, width):
        lines = self.ask("SELECT * FROM " + self.file(path, width))
        return [tuple(json.loads(line)) for line in lines]

    def told_nothing(self, path):
        return len(self.ask("SELECT * FROM file('%s', CSVWithNames)" % path))

    @contextlib.contextmanager
    def ready(self):
        module("chdb")
        yield


class ClickHouseCount(ClickHouse):
    """SELECT count(), which only looks for the ends of rows."""

    def rows(self, path, width):
        return [()] * int(json.loads(self.ask("SELECT toInt32(count()) FROM " + self.file(path, width))[0])[0])


class Postgres(Reader):
    """COPY ... FROM. It finds the ends of records before it looks for fields, so a one-column table is enough."""
    preset = "postgres"
    apart = [Apart(rb"(^|[\r\n])\\\.", "a line with a backslash and a point alone ends the input",
                   "backslash and point")]

    def rows(self, path, width):
        copy = shutil.copyfile(path, self.shared)
        self.session.ask("TRUNCATE plain RESTART IDENTITY")
        if self.session.ask("COPY plain (record) FROM '%s' (FORMAT csv, DELIMITER E'\\x01')" % copy) is None:
            raise Refused()
        return self.session.ask("COPY (SELECT record FROM plain ORDER BY number) TO STDOUT")

    def told_nothing(self, path):
        with open(path, encoding="latin-1", newline="") as file:
            width = len(next(csv.reader(file)))
        copy = shutil.copyfile(path, self.shared)
        self.session.ask("DROP TABLE IF EXISTS wide")
        self.session.ask("CREATE TABLE wide (%s)" % ", ".join("c%d text" % i for i in range(width)))
        if self.session.ask("COPY wide FROM '%s' (FORMAT csv, HEADER)" % copy) is None:
            raise Refused()
        return int(self.session.ask("SELECT count(*) FROM wide")[0])

    @contextlib.contextmanager
    def ready(self):
        with postgres.server() as directory:
            self.shared = os.path.join(directory, "in.csv")
            self.session = postgres.Session(directory)
            self.session.ask("CREATE UNLOGGED TABLE plain (record text, number serial)")
            yield
            self.session.close()


class Miller(Reader):
    preset = "miller"
    apart = [Apart(rb'(^|[,\n])([^,"\n]+"|"([^"]|"")*"[^,"\r\n])[^\n]*,"', "the rest of a line after a quote inside an "
                   "unquoted field, or text after a closing one, is lost, an opening quote too",
                   "a stray quote before a quoted field")]

    def ask(self, path, *words):
        done = subprocess.run(["mlr", "--icsv", "--ojsonl", *words, path], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE)
        if done.returncode != 0:
            raise Refused(done.stderr)
        lines = io.BytesIO(done.stdout).readlines()
        return [json.loads(line.decode("utf-8", "replace"), strict=False) for line in lines]

    def rows(self, path, width):
        found = self.ask(path, "--implicit-csv-header", "--allow-ragged-csv-input", "cat")
        return [tuple(row.values()) for row in found]

    def told_nothing(self, path):
        return sum(row["count"] for row in self.ask(path, "count"))

    @contextlib.contextmanager
    def ready(self):
        if shutil.which("mlr") is None:
            raise Inconclusive("there is no Miller", retry=False)
        yield


READERS = {
    "Python csv": Python(), "Python csv, strict": StrictPython(), "pandas": Pandas(), "Polars": Polars(),
    "pyarrow": Arrow(), "DuckDB": DuckDb(), "ClickHouse": ClickHouse(), "PostgreSQL COPY": Postgres(),
    "Miller": Miller(),
}
