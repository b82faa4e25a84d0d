"""A data source for Spark, for CSV files with line breaks in quotes. As many tasks read a file as it has pieces.

    from cleave.spark import CleaveDataSource
    spark.dataSource.register(CleaveDataSource)
    frame = spark.read.format("cleave").load("big.csv")

The rows are the same as from ``spark.read.csv(path, header=True, multiLine=True, escape='"')``, or there is an error:
all columns are strings, empty lines are dropped, fields that a short record lacks are null, surplus fields of a long
record are left out, and empty fields are null. Input that CSV readers interpret differently causes an error that says
where it is: quotes inside unquoted fields or text after a closing quote, records with different line ends, bytes that
are not UTF-8, or an open quote at the end.

Options: ``pieces``: how many tasks read the file; or ``blocksize``: how many bytes each task reads, 64 MiB by default.
``header``: false if the input has no header. ``pageSize``: roughly how many bytes a task holds at once. ``delimiter``
or ``sep``: a byte, ``,`` by default as in Spark, or ``auto`` to find it from the first 64 KiB. ``quote``: a byte.
``storage.NAME``: an fsspec option; ``true``, ``false``, ``null``, and JSON in ``{}`` or ``[]`` mean what they mean in
JSON, and anything else is text.

The path names one file, not a folder or a pattern: ``*``, ``?`` and ``[`` are part of its name. It may be a gzip file
on a disk if ``cleave index`` has made an index beside it; sizes then refer to the decompressed text. It may be
``file:/PATH``, as Hadoop writes URLs. Python opens it, so it does not matter which characters Java's locale supports.

To make the plan, the driver scans the file with all its cores. With ``read_csv``, the executors do so instead, in a
preliminary job. Every executor needs cleave and pyarrow, and must see the file at the same path.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pyarrow
import pyarrow.compute
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StringType, StructField, StructType

from . import ranges
from ._arrow import table_of
from ._errors import InputError, UsageError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_DIALECT = {"delimiter": "delimiter", "sep": "delimiter", "quote": "quote"}
_KNOWN = {"path", "pieces", "blocksize", "header", "pagesize", "plan", *_DIALECT}


class CleaveDataSource(DataSource):
    """The data source ``cleave``. Spark creates it."""

    @classmethod
    def name(cls) -> str:
        return "cleave"

    def __init__(self, options: Mapping[str, str]) -> None:
        self._options = {name.lower(): value for name, value in options.items()}
        storage = {name: value for name, value in options.items() if name.lower().startswith("storage.")}
        self._storage = {name[len("storage.") :]: _value(value) for name, value in storage.items()}
        for name in self._options:
            if name not in _KNOWN and not name.startswith("storage."):
                raise UsageError(f"there is no option {name!r}")
        self._plan: ranges.Plan | None = None

    def plan(self, map: ranges.Map = ranges.scan_by_threads) -> ranges.Plan:  # noqa: A002
        """The plan of the input. The first call makes it."""
        if self._plan is None and "plan" in self._options:
            self._plan = ranges.Plan.of_text(self._options["plan"], self._storage)
            if any(piece.source.path != self._options.get("path") for piece in self._plan.pieces[:1]):
                raise UsageError("the plan is that of another path")
        if self._plan is None:
            if "path" not in self._options:
                raise UsageError("there is no path: load(PATH)")
            dialect = {_DIALECT[name]: value for name, value in self._options.items() if name in _DIALECT}
            delimiter = dialect.pop("delimiter", ",")
            self._plan = ranges.plan(
                self._options["path"],
                pieces=_number(self._options, "pieces"),
                blocksize=_number(self._options, "blocksize"),
                header=_truth(self._options, "header", True),
                map=map,
                storage_options=self._storage,
                delimiter=None if delimiter == "auto" else delimiter,
                **dialect,
            )
            _check_header(self._plan)
        return self._plan

    def schema(self) -> StructType:
        return StructType([StructField(name, StringType()) for name in _names(self.plan())])

    def reader(self, schema: StructType) -> DataSourceReader:
        plan = self.plan()
        if [one.name for one in schema.fields] != _names(plan) or any(
            not isinstance(one.dataType, StringType) for one in schema.fields
        ):
            raise UsageError("the schema is that of the file, all strings: cast columns afterwards")
        page_size = _number(self._options, "pagesize")
        if page_size is None:
            page_size = ranges.PAGE_SIZE
        if page_size < 1:
            raise UsageError("pageSize: at least 1")
        return _CleaveReader(plan, schema.fieldNames(), page_size)


class _Partition(InputPartition):
    def __init__(self, piece: ranges.Piece) -> None:
        super().__init__(piece.number)
        self.piece = piece


class _CleaveReader(DataSourceReader):
    def __init__(self, plan: ranges.Plan, names: list[str], page_size: int) -> None:
        self._partitions = [_Partition(piece) for piece in plan.pieces]
        self._line_break = _line_break_of(plan)
        self._names = names
        self._page_size = page_size

    def partitions(self) -> list[InputPartition]:
        return list(self._partitions)

    def __getstate__(self) -> dict[str, Any]:  # a task receives only its own partition
        return {**self.__dict__, "_partitions": []}

    def read(self, partition: InputPartition) -> Iterator[pyarrow.RecordBatch]:
        if not isinstance(partition, _Partition):  # for an empty input
            return
        # A table may contain the same name twice; a Spark schema may not.
        schema = pyarrow.schema([(name, pyarrow.string()) for name in self._names])
        for page in partition.piece.pages(self._page_size):
            table = _as_spark(page, self._line_break)
            yield from pyarrow.Table.from_arrays(table.columns, schema=schema).to_batches()


def _check_header(plan: ranges.Plan) -> None:
    """Raises InputError where Spark reads the start of the file differently. It takes the first line break,
    quoted or not, as the line end."""
    if not plan.pieces:
        return
    form, header, line_break = plan.pieces[0].format, plan.pieces[0].header, _line_break_of(plan)
    if form.preamble > 0:
        raise InputError(f"the first {form.preamble} bytes are before the header, and Spark reads them as records")
    if (line_break == b"\r") != (form.options["terminator"] == "cr"):
        raise InputError(f"the first line break, {line_break!r}, is not how lines end")
    if form.has_header:
        _check(ranges.Page(memoryview(header), len(header), len(header), 1, form), line_break)


def _check(page: ranges.Page, line_break: bytes) -> None:
    """Raises InputError where Spark reads the page differently from cleave."""
    found = page.open().check(max_ragged=0)
    if found.stray_quotes is not None:
        raise page.error("a quote that readers of CSV take differently", found.stray_quotes.byte)
    others = {
        b"\n": found.crlf + found.cr,
        b"\r\n": found.lf + found.cr,
        b"\r": found.lf + found.crlf + found.data_breaks,
    }
    if others[line_break] > 0:
        raise page.error(f"not all lines end in {line_break!r}, as the first one does")


def _as_spark(page: ranges.Page, line_break: bytes) -> pyarrow.Table:
    """The rows of a page. Raises InputError where Spark reads it differently."""
    _check(page, line_break)
    table = table_of(page)
    if line_break == b"\n":
        return table
    # Inside quotes, Spark replaces the file's line ends with LF.
    columns = [pyarrow.compute.replace_substring(column, line_break.decode(), "\n") for column in table.columns]
    return pyarrow.Table.from_arrays(columns, names=table.column_names)


def _line_break_of(plan: ranges.Plan) -> bytes:
    return plan.pieces[0].format.line_break if plan.pieces else b"\n"


def _names(plan: ranges.Plan) -> list[str]:
    """The column names that Spark derives from the header, if it ignores case."""
    names = [name.replace(_line_break_of(plan).decode(), "\n") for name in plan.names]
    lower = [name.lower() for name in names]
    return [
        f"_c{number}" if not name else f"{name}{number}" if lower.count(lower[number]) > 1 else name
        for number, name in enumerate(names)
    ]


def _number(options: Mapping[str, str], name: str) -> int | None:
    if name not in options:
        return None
    if not options[name].isdigit():
        raise UsageError(f"{name}: a number, and not {options[name]!r}")
    return int(options[name])


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


def read_csv(spark: SparkSession, path: str, **options: Any) -> DataFrame:
    """The frame that ``spark.read.format("cleave").options(...).load(path)`` returns, but the executors scan the file.

    Values that are not text are converted to JSON: ``**{"storage.client_kwargs": {"region_name": "eu-central-1"}}``.
    """
    spark.dataSource.register(CleaveDataSource)
    words = {name: value if isinstance(value, str) else json.dumps(value) for name, value in options.items()}
    source = CleaveDataSource({**words, "path": path})
    plan = source.plan(lambda function, parts: _map_by_tasks(spark, function, parts))
    words["plan"] = plan.text()
    return spark.read.format("cleave").options(**words).load(path)


def _map_by_tasks(spark: SparkSession, function: Callable[[ranges.Range], Any], parts: ranges.Ranges) -> list[Any]:
    """Applies the function to each range in a Spark task of its own."""

    def run(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield pyarrow.record_batch([[pickle.dumps(function(parts[number]))]], ["result"])

    frame = spark.range(0, len(parts), 1, len(parts)).mapInArrow(run, "result binary")
    return [pickle.loads(row.result) for row in frame.collect()]  # noqa: S301
