"""A data source for Spark, for CSV files with line breaks in quotes. As many tasks read a file as it has pieces.

    from cleave.spark import CleaveDataSource
    spark.dataSource.register(CleaveDataSource)
    frame = spark.read.format("cleave").schema("id int, price double, day date").load("big.csv")

Without a schema, the rows are the same as from ``spark.read.csv(path, header=True, multiLine=True, escape='"')``, or
there is an error: all columns are strings, empty lines are dropped, fields that a short record lacks are null, surplus
fields of a long record are left out, and empty fields are null. Input that CSV readers interpret differently causes an
error that says where it is: quotes inside unquoted fields or text after a closing quote, records with different line
ends, bytes that are not UTF-8 in a column that is read, or an open quote at the end.

Schema: the columns to read, in any order, by their names in the header, in any case. Spark does not tell a data source
in Python which columns a query needs, so only the schema saves reading the others. The types are ``byte``, ``short``,
``int``, ``long``, ``float``, ``double``, ``decimal(p, s)``, ``boolean``, ``date``, ``timestamp``, ``timestamp_ntz`` and
``string``. A text that is not a value of its type is an error that says where it is: Spark's mode FAILFAST. Some texts
that Spark converts are also refused: a decimal with more digits than the scale, a date other than ``2024-12-31``, a
timestamp other than ``2024-12-31``, ``2024-12-31 23:59`` or ``2024-12-31T23:59:59.999999``, the last with or without
``Z`` or an offset, and one without in an hour that a change of clocks leaves out, or after 2037 if the zone is named
after a place. Without a header, the schema has all columns in their
order, or names such as ``_c0``.

Paths: a file, a folder, a pattern with ``*``, ``?``, ``[...]`` or ``**``, or a list of them in ``load``; local, ``file:/PATH``
as Hadoop writes URLs, or for fsspec. All files must have the same columns. A gzip file on a disk is read if ``cleave
index`` has made an index beside it; sizes then refer to the decompressed text. Python opens files, so it does not matter
which characters Java's locale supports.

Options: ``pieces``: how many tasks read the files; or ``blocksize``: how many bytes each task reads, 64 MiB by default.
``pageSize``: roughly how many bytes a task holds at once. ``delimiter`` or ``sep``: a byte, ``,`` by default as in Spark,
or ``auto`` to find it from the first 64 KiB. ``quote``: a byte. ``header``: false if the files have none.
``strayQuotes``: true to read quotes inside unquoted fields and text after a closing quote as cleave does, not
necessarily as Spark would. ``inputFileName``: the name of one more column, with the path of the record's file.
``storage.NAME``: an fsspec option; ``true``, ``false``, ``null``, and JSON in ``{}`` or ``[]`` mean what they mean in JSON,
and anything else is text.

These options of Spark's reader mean the same as there; any other, or another value, is refused. ``mode``: FAILFAST, in
which a record with too few or too many fields is an error, too; PERMISSIVE if all columns are strings. ``nullValue``:
a text that is null; an empty value in quotes is then an error, unless ``emptyValue`` is the same text. ``timeZone``: the
zone of a timestamp without an offset, by default that of the session if it was set there. ``dateFormat``,
``timestampFormat`` and ``timestampNTZFormat``: one of those in ``FORMATS``. ``multiLine``: true. ``escape``: the quote.
``encoding`` or ``charset``: UTF-8. ``lineSep``: LF, if the file has no other. ``inferSchema``, ``enforceSchema``,
``ignoreLeadingWhiteSpace`` and ``ignoreTrailingWhiteSpace``: false.

To make the plan, the driver scans the files with all its cores, for each query anew if there is a schema. With
``read_csv``, the executors do so instead, once, in a preliminary job. ``count`` counts the rows and reads no columns.
Spark 4.0 takes a frame without columns to be empty, so there such a frame is refused. Every executor needs cleave,
pandas and pyarrow, and must see the files at the same paths.
"""

from __future__ import annotations

import datetime
import json
import os
import pickle
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Union

import pyarrow
import pyarrow.compute
import pyspark
from pyspark import TaskContext
from pyspark.sql import types
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from . import _arguments, _batches, ranges
from ._errors import InputError, UsageError
from ._pages import HEAD_SIZE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FORMATS = {
    "yyyy-MM-dd": r"\d{4}-\d\d-\d\d",
    "yyyy-MM-dd HH:mm": r"\d{4}-\d\d-\d\d \d\d:\d\d",
    "yyyy-MM-dd HH:mm:ss": r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d",
    "yyyy-MM-dd HH:mm:ss.SSS": r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}",
    "yyyy-MM-dd HH:mm:ss.SSSSSS": r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6}",
    "yyyy-MM-dd'T'HH:mm:ss": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d",
    "yyyy-MM-dd'T'HH:mm:ss.SSS": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}",
    "yyyy-MM-dd'T'HH:mm:ssXXX": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(Z|[+-]\d\d:\d\d)",
    "yyyy-MM-dd'T'HH:mm:ss[.SSS][XXX]": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?(Z|[+-]\d\d:\d\d)?",
}
"""Formats of dates and timestamps, each with the texts that it stands for."""

_DIALECT = {"delimiter": "delimiter", "sep": "delimiter", "quote": "quote"}
_FORMAT_OPTIONS = {
    "dateformat": types.DateType,
    "timestampformat": types.TimestampType,
    "timestampntzformat": types.TimestampNTZType,
}
# Options of Spark's reader that can have these values only, in lower case.
_FIXED = {
    "multiline": ["true"],
    "encoding": ["utf-8", "utf8"],
    "charset": ["utf-8", "utf8"],
    "lineseparator": ["\n"],
    "linesep": ["\n"],
    "inferschema": ["false"],
    "enforceschema": ["false"],
    "ignoreleadingwhitespace": ["false"],
    "ignoretrailingwhitespace": ["false"],
}
_KNOWN = {
    *("path", "paths", "plan", "pieces", "blocksize", "header", "pagesize", "strayquotes", "inputfilename"),
    *("escape", "mode", "nullvalue", "emptyvalue", "timezone"),
    *_DIALECT,
    *_FORMAT_OPTIONS,
    *_FIXED,
}
_ZONED = pyarrow.timestamp("us", "UTC")
_LOCAL = pyarrow.timestamp("us")
_TYPES = {
    types.ByteType: pyarrow.int8(),
    types.ShortType: pyarrow.int16(),
    types.IntegerType: pyarrow.int32(),
    types.LongType: pyarrow.int64(),
    types.FloatType: pyarrow.float32(),
    types.DoubleType: pyarrow.float64(),
    types.BooleanType: pyarrow.bool_(),
    types.DateType: pyarrow.date32(),
    types.TimestampType: _ZONED,
    types.TimestampNTZType: _LOCAL,
}
# Zones that mean the same in Java and in the database of time zones.
_ZONE = re.compile(r"UTC|GMT|[+-]\d\d:\d\d|\w+(/[\w+-]+)+")
# Arrow does not go on with the rules of a zone after the years that the database lists.
_LISTED = pyarrow.scalar(datetime.datetime(2038, 1, 1), _LOCAL)
_WITH_OFFSET = r"^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d{1,6})?(Z|[+-](0\d|1[0-7])(:?\d\d)?)$"


class CleaveDataSource(DataSource):
    """The data source ``cleave``. Spark creates it."""

    @classmethod
    def name(cls) -> str:
        return "cleave"

    def __init__(self, options: Mapping[str, str]) -> None:
        self._options = {name.lower(): value for name, value in options.items()}
        storage = {name: value for name, value in options.items() if name.lower().startswith("storage.")}
        self._storage = {name[len("storage.") :]: _value(value) for name, value in storage.items()}
        _check_options(self._options)
        self._plan: ranges.Plan | None = None

    def plan(self, map: ranges.Map = ranges.scan_by_threads) -> ranges.Plan:  # noqa: A002
        """The plan of the input. The first call makes it."""
        if self._plan is None:
            self._plan = self._made(map)
            for piece in self._plan.pieces:
                if piece.number == 1 or piece.source is not self._plan.pieces[piece.number - 2].source:
                    _check_header(piece, self._options)
        return self._plan

    def _made(self, map: ranges.Map) -> ranges.Plan:  # noqa: A002
        given = [name for name in ("path", "paths", "plan") if name in self._options]
        if len(given) != 1:
            raise UsageError("there is no path: load(PATH)" if not given else f"{' and '.join(given)}: only one of them")
        if given == ["plan"]:
            return ranges.Plan.of_text(self._options["plan"], self._storage, include_secrets=True)
        dialect = {_DIALECT[name]: value for name, value in self._options.items() if name in _DIALECT}
        delimiter = dialect.pop("delimiter", ",")
        return ranges.plan(
            self._options["path"] if given == ["path"] else json.loads(self._options["paths"]),
            pieces=_number(self._options, "pieces"),
            blocksize=_number(self._options, "blocksize"),
            header=_truth(self._options, "header", True),
            map=map,
            storage_options=self._storage,
            include_secrets=True,
            delimiter=None if delimiter == "auto" else delimiter,
            **dialect,
        )

    def schema(self) -> types.StructType:
        names = [*_names(self.plan()), *self._file_name()]
        return types.StructType([types.StructField(name, types.StringType()) for name in names])

    def reader(self, schema: types.StructType) -> DataSourceReader:
        return _CleaveReader(self.plan(), schema, self._options, [*self._file_name()])

    def row_counter(self) -> Callable[[ranges.Piece], int]:
        """A function that counts the rows of a piece. It can be pickled, so it contains neither the plan nor this."""
        options, page_size, _ = self._options, _page_size(self._options), [*self._file_name()]
        return lambda piece: sum(_row_counts(piece, page_size, options))

    def _file_name(self) -> Iterator[str]:
        """The name of the column for the file's path, if there is one. Raises UsageError if the files have it, too."""
        if "inputfilename" in self._options:
            name = self._options["inputfilename"]
            if name.lower() in map(str.lower, _names(self.plan())):
                raise UsageError(f"inputFileName: the files have a column {name!r}")
            yield name


class _Partition(InputPartition):
    def __init__(self, piece: ranges.Piece) -> None:
        super().__init__(piece.number)
        self.piece = piece


class _CleaveReader(DataSourceReader):
    def __init__(
        self, plan: ranges.Plan, schema: types.StructType, options: Mapping[str, str], file_name: list[str]
    ) -> None:
        fields = schema.fields
        self._schema = pyarrow.schema([(field.name, _type_of(field)) for field in fields])
        if not fields and pyspark.__version__ < "4.1":
            raise UsageError("a frame without columns has no rows in Spark 4.0: name a column, or use Spark 4.1")
        self._path_at = [number for number, field in enumerate(fields) if field.name in file_name]
        if any(self._schema.field(number).type != pyarrow.string() for number in self._path_at):
            raise UsageError("inputFileName: its type is string")
        names = [field.name for field in fields if field.name not in file_name]
        self._columns = _numbers(names, _names(plan), _truth(options, "header", True)) if plan.pieces else []
        if options.get("mode", "").upper() == "PERMISSIVE" and {*self._schema.types} - {pyarrow.string()}:
            raise UsageError("mode: PERMISSIVE makes texts that are not of their type null, and here they are errors")
        self._page_size = _page_size(options)
        self._partitions = [_Partition(piece) for piece in plan.pieces]
        self._options = dict(options)

    def partitions(self) -> list[InputPartition]:
        return list(self._partitions)

    def __getstate__(self) -> dict[str, Any]:  # a task receives only its own partition
        return {**self.__dict__, "_partitions": []}

    def read(self, partition: InputPartition) -> Iterator[pyarrow.RecordBatch]:
        if not isinstance(partition, _Partition):  # for an empty input
            return
        piece = partition.piece
        if len(self._schema) == 0:
            for rows in _row_counts(piece, self._page_size, self._options):
                yield pyarrow.record_batch([pyarrow.nulls(rows)], [""]).select([])
            return
        kinds = [field.type for number, field in enumerate(self._schema) if number not in self._path_at]
        nulls = (self._options.get("nullvalue", ""), "")
        request = _batches.Request.of(piece.names, self._columns, dict(zip(self._columns, kinds)), nulls, True, None)
        convert = _Converter(piece.format.line_break, _zone(self._options, self._schema), _patterns(self._options))
        request = replace(request, convert=convert)
        for page in piece.pages(self._page_size):
            _check(page, self._options)
            for batch in page.batches(request):
                columns = batch.columns
                for number in self._path_at:
                    columns.insert(number, pyarrow.repeat(pyarrow.scalar(piece.path), batch.num_rows))
                yield pyarrow.RecordBatch.from_arrays(columns, schema=self._schema)


@dataclass(frozen=True)
class _Converter:
    """Converts texts as Spark does, or raises Unfit."""

    line_break: bytes
    zone: str | None
    patterns: Mapping[pyarrow.DataType, str]
    """What a text of a type must be, if a format is given."""

    def __call__(
        self, field: pyarrow.Field, strings: pyarrow.StringArray, nulls: tuple[str, ...]
    ) -> pyarrow.Array:
        kind = field.type
        if self.line_break != b"\n":  # inside quotes, Spark replaces the file's line ends with LF
            strings = pyarrow.compute.replace_substring(strings, self.line_break.decode(), "\n")
        if kind == pyarrow.string():
            return _batches.converted(field, strings, nulls)
        # From here on, only texts that are not null.
        strings = _batches.converted(field.with_type(pyarrow.string()), strings, (*nulls, ""))
        if kind in self.patterns:
            _need(pyarrow.compute.match_substring_regex(strings, f"^({self.patterns[kind]})$"), field)
        if kind == _ZONED:
            return self._zoned(field, strings)
        if kind == _LOCAL:
            _need_minutes(field, strings)
        if kind == pyarrow.bool_():
            _need(pyarrow.compute.greater(pyarrow.compute.binary_length(strings), 1), field)  # 1 and 0
        values = _batches.converted(field, strings, ())
        if pyarrow.types.is_floating(kind):
            is_finite = pyarrow.compute.is_finite(values)
            if is_finite.false_count > 0:
                is_word = pyarrow.compute.match_substring_regex(strings, "^([+-]?(NaN|Infinity)|-?Inf)$")
                _need(pyarrow.compute.or_(is_finite, is_word), field)
        return values

    def _zoned(self, field: pyarrow.Field, strings: pyarrow.StringArray) -> pyarrow.Array:
        """Timestamps, in the session's zone where they have no offset."""
        local, missing = field.with_type(_LOCAL), pyarrow.scalar(None, pyarrow.string())
        has_offset = pyarrow.compute.match_substring_regex(strings, _WITH_OFFSET)
        without = strings if has_offset.true_count == 0 else pyarrow.compute.if_else(has_offset, missing, strings)
        _need_minutes(field, without)
        clocks = _batches.converted(local, without, ())
        if "/" in str(self.zone):
            _need(pyarrow.compute.less(clocks, _LISTED), field)
        times = _batches.attempted(
            lambda part: pyarrow.compute.assume_timezone(
                part, self.zone, ambiguous="earliest", nonexistent="raise"  # Java takes the earliest, too
            ).cast(_ZONED),
            clocks,
            f"the value of column {field.name!r} is a time that clocks left out in {self.zone}",
        )
        if has_offset.true_count == 0:
            return times
        return pyarrow.compute.coalesce(
            times, _batches.converted(field, pyarrow.compute.if_else(has_offset, strings, missing), ())
        )


def _need(flags: pyarrow.BooleanArray, field: pyarrow.Field) -> None:
    """Raises Unfit for the first value whose flag is false."""
    if flags.false_count > 0:
        raise _batches.Unfit(flags.index(False).as_py(), _batches.message_of(field))


def _need_minutes(field: pyarrow.Field, strings: pyarrow.StringArray) -> None:
    """Arrow takes a time that is only an hour, and Spark does not."""
    _need(pyarrow.compute.not_equal(pyarrow.compute.binary_length(strings), len("2024-12-31 23")), field)


def _check_options(options: Mapping[str, str]) -> None:
    """Raises UsageError for an option that does not exist, or does not mean here what it means in Spark."""
    for name, value in options.items():
        if name not in _KNOWN and not name.startswith("storage."):
            raise UsageError(f"there is no option {name!r}")
        if name == "inferschema" and value.lower() == "true":
            raise UsageError("inferSchema: types are given, as in .schema('id int, day date'), and not found")
        if name in _FIXED and value.lower() not in _FIXED[name]:
            raise UsageError(f"{name}: only {_FIXED[name][0]!r}, and not {value!r}")
        if name in _FORMAT_OPTIONS and value not in FORMATS:
            raise UsageError(f"{name}: one of {', '.join(FORMATS)}, and not {value!r}")
    if options.get("mode", "FAILFAST").upper() not in ("FAILFAST", "PERMISSIVE"):
        raise UsageError(f"mode: FAILFAST or PERMISSIVE, and not {options['mode']!r}")
    quote = options.get("quote", '"')
    if options.get("escape", quote) != quote:
        raise UsageError(f"escape: only the quote, {quote!r}, and not {options['escape']!r}")
    if options.get("emptyvalue", "") not in ("", options.get("nullvalue", "")):
        raise UsageError("emptyValue: only nothing, or the same as nullValue")
    if "timezone" in options and not _ZONE.fullmatch(options["timezone"]):
        raise UsageError(f"timeZone: a zone such as Europe/Paris, UTC or +02:00, and not {options['timezone']!r}")


def _check_header(piece: ranges.Piece, options: Mapping[str, str]) -> None:
    """Raises InputError where Spark reads the start of the file differently. It takes the first line break,
    quoted or not, as the line end."""
    form, line_break = piece.format, piece.format.line_break
    if form.preamble > 0:
        raise InputError(f"the first {form.preamble} bytes are before the header, and Spark reads them as records")
    if (line_break == b"\r") != (form.options["terminator"] == "cr"):
        raise InputError(f"the first line break, {line_break!r}, is not how lines end")
    if line_break == b"\r" and _is_only_break_last(piece):
        raise InputError("the only line break is a CR at the end, and Spark reads it as data")
    if line_break != b"\n" and ("linesep" in options or "lineseparator" in options):
        raise InputError(f"the first line break is {line_break!r}, and not lineSep")
    if form.has_header:
        page = ranges.Page(memoryview(piece.header), len(piece.header), len(piece.header), 1, form)
        _check(page, options)


def _is_only_break_last(piece: ranges.Piece) -> bool:
    """Whether the first line break of the input is its last byte. In a file that is larger than the head, the head has a
    line break, or lines would not end in CR."""
    if piece.source.size > HEAD_SIZE:
        return False
    with piece.source.open() as reader:
        return b"\r" not in reader.read(0, piece.source.size - 1)


def _check(page: ranges.Page, options: Mapping[str, str]) -> Any:
    """What is in a page. Raises InputError where Spark reads it differently from cleave, or mode forbids it."""
    found = page.open().check(max_ragged=1)
    if found.stray_quotes is not None and not _truth(options, "strayquotes", False):
        raise page.error("a quote that readers of CSV take differently", found.stray_quotes.byte)
    line_break = page.format.line_break
    others = {
        b"\n": found.crlf + found.cr,
        b"\r\n": found.lf + found.cr,
        b"\r": found.lf + found.crlf + found.data_breaks,
    }
    if others[line_break] > 0:
        raise page.error(f"not all lines end in {line_break!r}, as the first one does")
    if found.ragged and options.get("mode", "").upper() == "FAILFAST":
        fields = found.ragged[0].fields
        raise page.error(f"a record has {fields} fields, and the header has {found.fields}", found.ragged[0].byte)
    if options.get("nullvalue", "") != options.get("emptyvalue", ""):
        _check_empty_quotes(page)
    return found


def _row_counts(piece: ranges.Piece, page_size: int, options: Mapping[str, str]) -> Iterator[int]:
    """The number of rows in each page of a piece. Raises InputError as ``_check`` does."""
    before = piece.format.open(piece.header).check().empty_count  # empty records before the header, in each page
    for page in piece.pages(page_size):
        found = _check(page, options)
        yield found.records - (found.empty_count - before)


def _check_empty_quotes(page: ranges.Page) -> None:
    """Raises InputError if a value may be empty and in quotes, which is not null if nullValue is another text."""
    delimiter, quote = (re.escape(page.format.options[name]) for name in ("delimiter", "quote"))
    pattern = rb"(?<=[\r\n]|" + delimiter + rb")" + quote * 2 + rb"(?=[\r\n]|" + delimiter + rb"|\Z)"
    found = re.search(pattern, page.data[page.header_size - 1 :]) if quote else None
    if found is not None:
        raise page.error(
            "an empty value in quotes, which nullValue does not make null; give emptyValue, too, if it is null",
            page.header_size - 1 + found.start(),
        )


def _type_of(field: types.StructField) -> pyarrow.DataType:
    """The Arrow type of a column. Raises UsageError."""
    kind = field.dataType
    if not field.nullable:
        raise UsageError(f"{field.name!r}: values can be missing, so it cannot be NOT NULL")
    if isinstance(kind, types.DecimalType):
        return pyarrow.decimal128(kind.precision, kind.scale)
    if kind == types.StringType():
        return pyarrow.string()
    if type(kind) not in _TYPES:
        raise UsageError(f"{field.name!r}: text is not converted to {kind.simpleString()}")
    return _TYPES[type(kind)]


def _zone(options: Mapping[str, str], schema: pyarrow.Schema) -> str | None:
    """The zone of timestamps without an offset, if the schema has such columns. Raises UsageError."""
    if _ZONED not in schema.types:
        return None
    context = TaskContext.get()
    zone = options.get("timezone") or (context and context.getLocalProperty("spark.sql.session.timeZone"))
    if not zone:
        raise UsageError("timestamps need a time zone: the option timeZone, or spark.sql.session.timeZone")
    if not _ZONE.fullmatch(zone):
        raise UsageError(f"spark.sql.session.timeZone: a zone such as Europe/Paris, UTC or +02:00, and not {zone!r}")
    return str(zone)


def _patterns(options: Mapping[str, str]) -> dict[pyarrow.DataType, str]:
    return {_TYPES[kind]: FORMATS[options[name]] for name, kind in _FORMAT_OPTIONS.items() if name in options}


def _numbers(wanted: Sequence[str], names: Sequence[str], has_header: bool) -> list[int]:
    """The numbers of the wanted columns, from 0. Raises UsageError."""
    if not has_header and not {*wanted} <= {*names}:
        if len(wanted) != len(names):
            raise UsageError(f"the schema has {len(wanted)} columns, and the first record {len(names)} fields")
        return list(range(len(names)))
    lower = [name.lower() for name in names]
    return [
        lower.index(name.lower()) if lower.count(name.lower()) == 1 else _arguments.number_of(name, names)
        for name in wanted
    ]


def _names(plan: ranges.Plan) -> list[str]:
    """The column names that Spark derives from the header, if it ignores case, or makes up if there is none."""
    form = plan.pieces[0].format if plan.pieces else ranges.Format({})
    names = [name.replace(form.line_break.decode(), "\n") if form.has_header else "" for name in plan.names]
    lower = [name.lower() for name in names]
    return [
        f"_c{number}" if not name else f"{name}{number}" if lower.count(lower[number]) > 1 else name
        for number, name in enumerate(names)
    ]


def _number(options: Mapping[str, str], name: str) -> int | None:
    if name not in options:
        return None
    if not (options[name].isascii() and options[name].isdigit()):
        raise UsageError(f"{name}: a number, and not {options[name]!r}")
    return int(options[name])


def _page_size(options: Mapping[str, str]) -> int:
    size = _number(options, "pagesize")
    if size == 0:
        raise UsageError("pageSize: at least 1")
    return ranges.PAGE_SIZE if size is None else size


def _truth(options: Mapping[str, str], name: str, default: bool) -> bool:
    value = options.get(name, str(default)).lower()
    if value not in ("true", "false"):
        raise UsageError(f"{name}: true or false, and not {value!r}")
    return value == "true"


def _value(text: str) -> Any:
    """The value of an fsspec option. A key that consists of digits stays text."""
    if text not in ("true", "false", "null") and not text.startswith(("{", "[")):
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text


Paths = Union[str, "os.PathLike[str]", Sequence[Union[str, "os.PathLike[str]"]]]


def read_csv(
    spark: SparkSession, path: Paths, *, schema: types.StructType | str | None = None, **options: Any
) -> DataFrame:
    """The frame that ``spark.read.format("cleave").schema(...).options(...).load(path)`` returns, but the executors scan
    the files, once, and the session's time zone is the default.

    Values that are not text are converted to JSON: ``**{"storage.client_kwargs": {"region_name": "eu-central-1"}}``.
    """
    source, words = _planned(spark, path, options)
    spark.dataSource.register(CleaveDataSource)
    words.update(plan=source.plan().text())
    if "timezone" not in map(str.lower, words) and _ZONE.fullmatch(spark.conf.get("spark.sql.session.timeZone")):
        words["timeZone"] = spark.conf.get("spark.sql.session.timeZone")
    reader = spark.read.format("cleave").options(**words)
    return (reader if schema is None else reader.schema(schema)).load()


def count(spark: SparkSession, path: Paths, **options: Any) -> int:
    """The number of rows that ``read_csv`` would return, without reading any column: the executors scan the files, and
    then check them. The same as ``count()`` of a frame with the schema ``StructType()``, but with one task for each core
    instead of one for each piece."""
    source, _ = _planned(spark, path, options)
    return sum(_map_by_tasks(spark, source.row_counter(), source.plan().pieces))


def _planned(
    spark: SparkSession, path: Paths, options: Mapping[str, Any]
) -> tuple[CleaveDataSource, dict[str, str]]:
    """The source, with a plan that the executors have made, and the options as Spark passes them on."""
    paths = [path] if isinstance(path, (str, os.PathLike)) else path
    words = {name: value if isinstance(value, str) else json.dumps(value) for name, value in options.items()}
    source = CleaveDataSource({"paths": json.dumps([os.fspath(one) for one in paths]), **words})
    source.plan(lambda function, parts: _map_by_tasks(spark, function, parts))
    return source, words


def _map_by_tasks(spark: SparkSession, function: Callable[[Any], Any], parts: Sequence[Any]) -> list[Any]:
    """Applies the function to each range or piece, in as many Spark tasks as run at once. A task costs more than one of
    them does."""

    def run(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield pyarrow.record_batch([[pickle.dumps(function(parts[number]))]], ["result"])

    tasks = min(len(parts), int(spark.sparkContext.defaultParallelism))
    frame = spark.range(0, len(parts), 1, tasks).mapInArrow(run, "result binary")
    return [pickle.loads(row.result) for row in frame.collect()]  # noqa: S301
