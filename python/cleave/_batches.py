"""Arrow record batches with types, made from the string columns that the engine lays out.

Arrow's own casts convert the strings, because they refuse nearly everything that is not a value of the type. A few texts
that they accept are refused here: ``0x1F`` as an integer, ``nan(x)`` as a float, and numbers too large for a float, which
they make infinite. ``+5``, which they refuse as an integer, is passed to them as ``5``. Their decimals wrap around or
lose digits if a text has many of them, and crash on some exponents (pyarrow 26), so they only see texts without an
exponent whose digits fit; Python's decimals prepare the others. So a value is either converted exactly or reported with
its place in the file, and never replaced by null.

Usually, an empty record has no row. The engine delivers it as null in every column, but a short record can have nulls,
too, so wherever the first column of a batch has a null, column 0 decides: it is null only in an empty record.

Casts release the GIL, so a file that is read by several threads is converted by as many, a few batches ahead of the
consumer. The batches, and the first error, still come in the order of the file.

To find the first value that a cast refuses, halves of the column are tried: log n casts, and only if there is one.
"""

from __future__ import annotations

import contextlib
import datetime
import decimal
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar, Union

import pyarrow
import pyarrow.compute

from . import _arguments
from ._errors import InputError, UsageError

if TYPE_CHECKING:
    from ._columns import Source

ColumnType = Any
"""The type of a column: Arrow's or its name such as ``"int64"``; NumPy's; Polars'; or one of Python's: int, float,
bool, str, bytes, ``datetime.date``, ``datetime.time`` and ``datetime.datetime``."""
Schema = Union[Mapping[Union[str, int], ColumnType], "pyarrow.Schema"]
Converter = Callable[["pyarrow.Field", "pyarrow.StringArray", "tuple[str, ...]"], "pyarrow.Array"]
"""Converts the strings of a column to its type, with nulls in place of some texts, and raises Unfit: see ``converted``."""

_OF_PYTHON = {
    int: pyarrow.int64(),
    float: pyarrow.float64(),
    bool: pyarrow.bool_(),
    str: pyarrow.string(),
    bytes: pyarrow.binary(),
    datetime.date: pyarrow.date32(),
    datetime.time: pyarrow.time64("us"),
    datetime.datetime: pyarrow.timestamp("us"),
}
_OF_NAMES = {
    "int": pyarrow.int64(),
    "float": pyarrow.float64(),
    "str": pyarrow.string(),
    "date": pyarrow.date32(),
    "time": pyarrow.time64("us"),
    "timestamp": pyarrow.timestamp("us"),
    "dictionary": pyarrow.dictionary(pyarrow.int32(), pyarrow.string()),
}
_ZONED_NAME = re.compile(r"timestamp\[(s|ms|us|ns), ?tz=([^]]+)\]")
_DECIMAL_NAME = re.compile(r"(decimal(?:128|256)?)\((\d{1,2}), ?(\d{1,2})\)", re.ASCII)
_TIME = r"^\d{2}:\d{2}(:\d{2}(\.\d+)?)?$"
_DECIMAL = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,9})?", re.ASCII)
_NO_NUMBER = re.compile(r"[+-]?(nan|inf|infinity)", re.IGNORECASE)
_PLACE = re.compile(r" \((?:byte (\d+), )?(?:record (\d+)|(in the header))\)$")
MOST_ROWS = 1 << 31
READ_SIZE = 1 << 20
"""Roughly how many bytes of a file a batch is made of: few enough to stay in a core's cache."""
SHARED_READ_SIZE = 4 << 20
"""The same where several threads convert batches. Each batch takes the GIL some dozens of times, and threads that all
do so hold each other up: on 16 cores, three typed columns are read three times as fast as with READ_SIZE."""

_In = TypeVar("_In")
_Out = TypeVar("_Out")


@dataclass(frozen=True)
class Request:
    """Which columns of a file to deliver, and how."""

    columns: tuple[int, ...]
    schema: pyarrow.Schema
    nulls: tuple[str, ...]
    missing_is_null: bool
    batch_size: int
    width: int
    """How many columns the file has."""
    read_size: int = READ_SIZE
    """How many bytes of a file make a batch, if the file is read by one thread."""
    keeps_empty: bool = False
    """Whether an empty record is a row of nulls, and an empty value without quotes null, as Polars has it."""
    most_rows: int | None = None
    """With keeps_empty: how many rows are converted at most. Batches end there, and the stream no later than a batch
    after. Records after these rows are not at fault."""
    guessed: Mapping[int, str] = field(default_factory=dict)
    """The columns whose types were found from their first values, by their numbers, each with the regular expression
    that all its values match, so that ``007``, which may be a code, stays text."""
    convert: Converter | None = None
    """In place of ``converted``, for an engine that knows other texts for values."""

    @staticmethod
    def of(
        names: Sequence[str],
        columns: Sequence[str | int] | None,
        schema: Schema | None,
        nulls: Sequence[str],
        missing_is_null: bool,
        batch_size: int | None,
    ) -> Request:
        """Checks the arguments of ``batches`` for a file with columns of these names. Raises UsageError and
        TypeError."""
        numbers = list(range(len(names)))
        if columns is not None:
            numbers = [_arguments.number_of(column, names) for column in _list_of("columns", "names or numbers", columns)]
        if len({*numbers}) != len(numbers):
            raise UsageError("columns: the same column twice")
        types = dict.fromkeys(range(len(names)), pyarrow.string())
        for column, kind in _items(schema):
            types[_arguments.number_of(column, names)] = type_of(column, kind)
        fields = [pyarrow.field(names[number], types[number]) for number in numbers]
        size = MOST_ROWS if batch_size is None else _arguments.number("batch_size", batch_size)
        if size < 1:
            raise UsageError("batch_size: at least 1")
        texts = tuple(_arguments.text("nulls", text) for text in _list_of("nulls", "texts", nulls))
        is_loose = _arguments.flag("missing_is_null", missing_is_null)
        return Request(tuple(numbers), pyarrow.schema(fields), texts, is_loose, size, len(names))


def _list_of(name: str, what: str, values: Iterable[object]) -> list[object]:
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise TypeError(f"{name}: a list of {what}, and not {type(values).__name__}")
    return list(values)


def _items(schema: Schema | None) -> list[tuple[str | int, ColumnType]]:
    if schema is None:
        return []
    if isinstance(schema, pyarrow.Schema):
        return [(field.name, field.type) for field in schema]
    if not isinstance(schema, Mapping):
        raise TypeError(f"schema: a dict or a pyarrow.Schema, and not {type(schema).__name__}")
    return list(schema.items())


def type_of(column: str | int, kind: ColumnType) -> pyarrow.DataType:
    """The Arrow type that is meant. Raises UsageError."""
    if kind is decimal.Decimal:
        raise UsageError(f"schema[{column!r}]: a decimal needs digits: pyarrow.decimal128(PRECISION, SCALE)")
    try:
        found = _arrow_type(kind)
    except (ValueError, TypeError, pyarrow.ArrowException):
        found = None
    if found is None or not _is_supported(found):
        raise UsageError(f"schema[{column!r}]: {getattr(kind, '__name__', kind)} is not a type that text is converted to")
    return found


def _arrow_type(kind: Any) -> pyarrow.DataType | None:
    if isinstance(kind, pyarrow.DataType):
        return kind
    if isinstance(kind, str):
        if zoned := _ZONED_NAME.fullmatch(kind):
            return pyarrow.timestamp(zoned[1], zoned[2])
        if exact := _DECIMAL_NAME.fullmatch(kind):
            make = pyarrow.decimal256 if exact[1] == "decimal256" else pyarrow.decimal128
            return make(int(exact[2]), int(exact[3]))
        return _OF_NAMES.get(kind) or pyarrow.type_for_alias(kind)
    package = getattr(kind if isinstance(kind, type) else type(kind), "__module__", "").partition(".")[0]
    if package == "numpy":
        return pyarrow.from_numpy_dtype(kind)
    if package == "polars":
        import polars

        return polars.Series([], dtype=kind).to_arrow().type
    return _OF_PYTHON.get(kind)


def _is_supported(kind: pyarrow.DataType) -> bool:
    types = pyarrow.types
    if types.is_dictionary(kind):
        return not kind.ordered and _is_text(kind.value_type)
    checks = (
        *(types.is_integer, types.is_float32, types.is_float64, types.is_boolean),
        *(types.is_decimal128, types.is_decimal256, types.is_date32, types.is_timestamp, types.is_time),
        *(_is_text, _is_bytes),
    )
    return any(check(kind) for check in checks)


def _is_text(kind: pyarrow.DataType) -> bool:
    return bool(pyarrow.types.is_string(kind) or pyarrow.types.is_large_string(kind))


def _is_bytes(kind: pyarrow.DataType) -> bool:
    return bool(pyarrow.types.is_binary(kind) or pyarrow.types.is_large_binary(kind))


def batches(
    file: Source,
    request: Request,
    span: list[int] | None = None,
    reject: Callable[[int, Unfit], None] | None = None,
) -> Iterator[pyarrow.RecordBatch]:
    """The columns of a file, or of the records of a span of it, with one row for each record that is not empty, or for
    each record.

    span: the offset, the size, and how many records of the file are before it; as ``select`` takes it.
    reject: is called with the number, from 0, of each record with a value that is not of its type. These records are
        left out, and do not raise an error.

    Raises InputError with the byte and the record, both as the file counts them.
    """
    if request.width == 0:
        return
    # Where every record must have as many fields as the first, nulls are empty records.
    mark = 0 if request.missing_is_null or not request.columns else request.columns[0]
    is_extra = mark not in request.columns  # then it may be any bytes, and so are all columns until they are cast
    columns = (*request.columns, mark) if is_extra else request.columns
    is_binary = is_extra or reject is not None or any(map(_is_bytes, request.schema.types))

    def typed(batch: pyarrow.RecordBatch) -> tuple[pyarrow.RecordBatch, int, list[Unfit]]:
        """What is delivered of a batch, the number of its records, and its faults, or the first if they are errors;
        rows count from its first record."""
        present = None if request.keeps_empty else batch.column(columns.index(mark)).is_valid()
        rows = batch if present is None or present.false_count == 0 else batch.filter(present)
        rows = rows.select(range(len(request.columns)))
        faults = []
        try:
            rows = _typed(rows, request)
        except Unfit as unfit:
            faults = [unfit] if reject is None else _faults(rows, request)
        if faults and reject is not None:
            is_bad = pyarrow.compute.is_in(
                pyarrow.array(range(rows.num_rows)), value_set=pyarrow.array([unfit.row for unfit in faults])
            )
            rows = _typed(rows.filter(pyarrow.compute.invert(is_bad)), request)
        if faults and present is not None:
            numbers = pyarrow.compute.indices_nonzero(present)
            faults = [Unfit(numbers[unfit.row].as_py(), unfit.message, unfit.column) for unfit in faults]
        return rows, batch.num_rows, faults

    record = span[2] if span else 0
    strings = _strings(file, columns, request, request.missing_is_null, span, is_binary)
    for batch, records, faults in ahead(typed, strings, file._threads):
        for unfit in faults:
            where = record + unfit.row
            if reject is None:
                raise InputError(unfit.message, _start_of(file, where), where + 1)
            reject(where, unfit)
        record += records
        for start in range(0, batch.num_rows, request.batch_size):
            yield batch.slice(start, request.batch_size)


class Stream:
    """The batches of a file for anything that reads Arrow streams. Each use reads the file again."""

    def __init__(self, file: Source, request: Request) -> None:
        self._file = file
        self._request = request

    @property
    def schema(self) -> pyarrow.Schema:
        """The names and types of the columns."""
        return self._request.schema

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        reader = pyarrow.RecordBatchReader.from_batches(self.schema, batches(self._file, self._request))
        return reader.__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        return self.schema.__arrow_c_schema__()


def ahead(function: Callable[[_In], _Out], items: Iterable[_In], threads: int) -> Iterator[_Out]:
    """The function of each item, in the order of the items. With several threads, as many items are worked on at once,
    and at most that many results wait. An error in the items follows the results of those before it."""
    if threads == 1:
        yield from map(function, items)
        return
    with ThreadPoolExecutor(threads) as pool:
        waiting: deque[Future[_Out]] = deque()
        error = None
        try:
            iterator = iter(items)
            while True:
                try:
                    item = next(iterator)
                except StopIteration:
                    break
                except Exception as caught:
                    error = caught
                    break
                waiting.append(pool.submit(function, item))
                if len(waiting) > threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
    if error is not None:
        raise error


def _strings(
    file: Source,
    columns: Sequence[int],
    request: Request,
    missing_is_null: bool,
    span: list[int] | None,
    binary: bool = False,
) -> Iterator[pyarrow.RecordBatch]:
    """The columns as strings. If a record is at fault, those before it are delivered before the error is raised, however
    many a batch has, so that an error in their values comes first."""
    size = request.read_size if file._threads == 1 else SHARED_READ_SIZE
    left = request.most_rows
    record = span[2] if span else 0
    try:
        stream = file._select(tuple(columns), None, None, request.keeps_empty, missing_is_null, binary, size, span)
        for batch in pyarrow.RecordBatchReader.from_stream(stream):
            record += batch.num_rows
            yield batch if left is None else batch.slice(0, left)
            if left is not None:
                left -= min(left, batch.num_rows)
                if left == 0:
                    return
        return
    except pyarrow.ArrowException as error:
        fault = _as_input_error(file, error)
    if isinstance(fault, InputError) and fault.record and fault.record - 1 > record:
        start, end = _start_of(file, record), _start_of(file, fault.record - 1)
        before = None if start is None or end is None else [start, end - start, record]
        shorter = replace(request, most_rows=left)
        for batch in _strings(file, columns, shorter, missing_is_null, before, binary) if before else ():
            yield batch
            left = None if left is None else left - batch.num_rows
    if left != 0:
        raise fault


def _as_input_error(file: Source, error: Exception) -> Exception:
    """The exception behind one that passed through Arrow, which keeps only its message."""
    with contextlib.suppress(UsageError):  # of a stream that has been read, and of a closed file
        _ = file.size  # raises InputChangedError if that is the reason
    message = str(error)
    place = _PLACE.search(message)
    if place is None:
        return InputError(message)
    byte, record, _ = place.groups()
    return InputError(
        message[: place.start()], None if byte is None else int(byte), 0 if record is None else int(record)
    )


def _start_of(file: Source, record: int) -> int | None:
    """Where a record starts, counted from 0; None if the file can no longer be read, because it is a stream or closed."""
    try:
        return file._native.start_of(record)
    except UsageError:
        return None


class Unfit(Exception):
    """The first value of a column that does not have the column's type."""

    def __init__(self, row: int, message: str, column: str | None = None) -> None:
        super().__init__()
        self.row = row
        self.message = message
        self.column = column


def _faults(batch: pyarrow.RecordBatch, request: Request) -> list[Unfit]:
    """All rows with a value that is not of its type."""
    few = 256  # rows; each fault costs that they are converted again
    faults = []
    for start in range(0, batch.num_rows, few):
        part, end = batch.slice(start, few), min(start + few, batch.num_rows)
        while part.num_rows > 0:
            try:
                _typed(part, request)
                break
            except Unfit as unfit:
                faults.append(Unfit(end - part.num_rows + unfit.row, unfit.message, unfit.column))
                part = part.slice(unfit.row + 1)
    return faults


def _typed(batch: pyarrow.RecordBatch, request: Request) -> pyarrow.RecordBatch:
    """Raises Unfit for the first row with a fault."""
    arrays, unfit = [], []
    for number, field, column in zip(request.columns, request.schema, batch.columns):
        try:
            if _is_bytes(column.type) and not _is_bytes(field.type):
                column = attempted(lambda part: part.cast(pyarrow.string()), column, f"field {number + 1} is not UTF-8")
            array = (request.convert or converted)(field, column, request.nulls)
            if number in request.guessed:
                _check_writing(field, column, array, request.guessed[number])
            arrays.append(array)
        except Unfit as error:
            hint = "; the type was found from the first values, and a schema can give another" if number in request.guessed else ""
            unfit.append(Unfit(error.row, error.message + hint, field.name))
    if unfit:
        raise min(unfit, key=lambda error: error.row)
    if not arrays:
        return batch
    return pyarrow.RecordBatch.from_arrays(arrays, schema=request.schema)


def converted(field: pyarrow.Field, strings: pyarrow.StringArray, nulls: tuple[str, ...]) -> pyarrow.Array:
    """The values of a column. An empty string is null unless the type is one of text or bytes; so are the texts in
    ``nulls``. Raises Unfit for the first text that is not a value of the type."""
    kind = field.type
    others = [text for text in nulls if text]
    if others:
        is_null = pyarrow.compute.is_in(strings, value_set=pyarrow.array(others, pyarrow.string()).cast(strings.type))
        if is_null.true_count > 0:
            strings = pyarrow.compute.if_else(is_null, pyarrow.scalar(None, strings.type), strings)
    is_dictionary = pyarrow.types.is_dictionary(kind)
    if is_dictionary or _is_text(kind) or _is_bytes(kind):
        strings = without_empty(strings) if "" in nulls else strings
        return (strings.dictionary_encode() if is_dictionary else strings).cast(kind)
    strings = without_empty(strings)
    return attempted(lambda part: _exactly(part, kind), strings, message_of(field))


def _exactly(strings: pyarrow.StringArray, kind: pyarrow.DataType) -> pyarrow.Array:
    """Raises ArrowInvalid if a string is not a value of the type."""
    types = pyarrow.types
    if types.is_integer(kind) and any(letter in _bytes_of(strings) for letter in b"+xX"):
        strings = pyarrow.compute.replace_substring_regex(strings, r"^\+(\d)", r"\1")
        if pyarrow.compute.match_substring_regex(strings, "[xX]").true_count > 0:
            raise pyarrow.ArrowInvalid("hexadecimal digits")
    if types.is_decimal(kind):
        strings = _plain_decimals(strings, kind)
    if types.is_time(kind):  # which Arrow reads only behind a date
        if pyarrow.compute.match_substring_regex(strings, _TIME).false_count > 0:
            raise pyarrow.ArrowInvalid("no such time")
        dated = pyarrow.compute.binary_join_element_wise("1970-01-01 ", strings, "")
        return dated.cast(pyarrow.timestamp(kind.unit)).cast(kind)
    typed = strings.cast(kind)
    if types.is_floating(kind):
        is_other = pyarrow.compute.invert(pyarrow.compute.is_finite(typed))
        if is_other.true_count > 0 and not all(map(_NO_NUMBER.fullmatch, strings.filter(is_other).to_pylist())):
            raise pyarrow.ArrowInvalid("no such float")
    return typed


def _plain_decimals(strings: pyarrow.StringArray, kind: pyarrow.DataType) -> pyarrow.StringArray:
    """The same numbers, in as many digits as the type has. Raises ArrowInvalid."""
    whole, places = kind.precision - kind.scale, max(kind.scale, 0)
    digits = rf"\d{{1,{whole}}}" if whole > 0 else "0"
    fitting = rf"^[+-]?(?:{digits}(?:\.\d{{0,{places}}})?|\.\d{{1,{max(places, 1)}}})$"
    is_other = pyarrow.compute.invert(pyarrow.compute.match_substring_regex(strings, fitting))
    if is_other.true_count == 0:
        return strings
    plain = [_plain_decimal(text, kind) for text in strings.filter(is_other).to_pylist()]
    return pyarrow.compute.replace_with_mask(strings, is_other, pyarrow.array(plain, pyarrow.string()))


def _plain_decimal(text: str, kind: pyarrow.DataType) -> str:
    exact = decimal.Context(prec=kind.precision, traps=[decimal.Inexact, decimal.InvalidOperation])
    try:
        if not _DECIMAL.fullmatch(text):
            raise decimal.InvalidOperation
        number = decimal.Decimal(text).quantize(decimal.Decimal(1).scaleb(-kind.scale), context=exact)
    except decimal.DecimalException:
        raise pyarrow.ArrowInvalid("no such decimal") from None
    return format(number, "f")


def _check_writing(field: pyarrow.Field, strings: pyarrow.StringArray, typed: pyarrow.Array, pattern: str) -> None:
    """Raises Unfit for a value that is not written as the pattern has it."""
    is_other = pyarrow.compute.invert(pyarrow.compute.match_substring_regex(strings, pattern))
    is_other = pyarrow.compute.and_(is_other, typed.is_valid())
    if is_other.true_count > 0:
        raise Unfit(_first(is_other), message_of(field))


def fits(strings: pyarrow.StringArray, kind: pyarrow.DataType, pattern: str) -> bool:
    """Whether all values are of the type, and are written as the pattern has it."""
    one = pyarrow.field("", kind)
    try:
        _check_writing(one, strings, converted(one, strings, ()), pattern)
    except Unfit:
        return False
    return True


def attempted(function: Callable[[pyarrow.Array], pyarrow.Array], array: pyarrow.Array, message: str) -> pyarrow.Array:
    """What the function makes of an array. Raises Unfit for the first value that makes it raise ArrowInvalid."""
    try:
        return function(array)
    except pyarrow.ArrowInvalid:
        first, count = 0, len(array)
    while count > 1:  # one of `count` values from `first` on is refused, and none before them
        half = count // 2
        try:
            function(array.slice(first, half))
            first, count = first + half, count - half
        except pyarrow.ArrowInvalid:
            count = half
    raise Unfit(first, message)


def message_of(field: pyarrow.Field) -> str:
    """What is wrong with a text that is not a value of the field's type."""
    return f"the value of column {field.name!r} is not of type {field.type}"


def _first(flags: pyarrow.BooleanArray) -> int:
    return int(flags.index(True).as_py())


def _bytes_of(strings: pyarrow.StringArray) -> bytes:
    """The bytes of the values, and of values beside them if the array is a slice."""
    return bytes(strings.buffers()[2] or b"")


def without_empty(strings: pyarrow.StringArray) -> pyarrow.StringArray:
    """The same strings, with nulls in place of empty ones."""
    is_full = pyarrow.compute.not_equal(pyarrow.compute.binary_length(strings), 0)
    if is_full.true_count == len(strings):
        return strings
    if strings.offset > 0 or is_full.offset > 0:
        return pyarrow.compute.if_else(is_full, strings, pyarrow.scalar(None, strings.type))
    # The flags are laid out as a validity bitmap is, and a null has no bytes either.
    flags = is_full if is_full.null_count == 0 else is_full.fill_null(False)
    _, offsets, values = strings.buffers()
    buffers = [flags.buffers()[1], offsets, values]
    return pyarrow.Array.from_buffers(strings.type, len(strings), buffers, len(strings) - flags.true_count)
