# The extension module, written in C++: python/src/. Not for users.
from collections.abc import Callable
from typing import Any, ClassVar, TypedDict

version: str

class _Dialect(TypedDict):
    delimiter: bytes
    quote: bytes | None
    escape: bytes | None
    escape_scope: str
    quoting: str
    terminator: str
    header: str
    quotes_unexplained: bool

_Place = tuple[int, int] | None

class _Examination(TypedDict):
    size: int
    records: int
    fields: int
    ragged_count: int
    ragged: list[tuple[int, int, int]]
    longest: int
    longest_place: _Place
    empty_count: int
    empty: _Place
    lf: int
    crlf: int
    cr: int
    unterminated: int
    quoted_breaks: int
    data_breaks: int
    stray_quotes_count: int
    stray_quotes: _Place
    divergence: _Place
    open_quote: _Place

class Settings:
    def __init__(self, preset: str | None = None) -> None: ...
    def set(self, option: str, value: bytes) -> None: ...
    @property
    def has_header(self) -> bool: ...
    @has_header.setter
    def has_header(self, value: bool, /) -> None: ...
    @property
    def accepts_open_quote(self) -> bool: ...
    @accepts_open_quote.setter
    def accepts_open_quote(self, value: bool, /) -> None: ...
    @property
    def threads(self) -> int: ...
    @threads.setter
    def threads(self, value: int, /) -> None: ...

class KeyRing:
    def __init__(self, sources: list[str], given: list[tuple[str, bytes]]) -> None: ...

class Pieces:
    @property
    def starts(self) -> memoryview: ...
    @property
    def lengths(self) -> memoryview: ...
    @property
    def first_records(self) -> memoryview: ...
    @property
    def records(self) -> memoryview: ...
    @property
    def header_size(self) -> int: ...

class PiecesByValue(Pieces):
    def key(self, index: int) -> tuple[bytes, ...] | None: ...
    def ranges(self, index: int) -> memoryview: ...

class ColumnStream:
    @property
    def names(self) -> list[str]: ...
    def export(self) -> Any: ...
    def schema(self) -> Any: ...

class File:
    @staticmethod
    def of_path(path: bytes, settings: Settings) -> File: ...
    @staticmethod
    def of_buffer(buffer: Any, name: str, settings: Settings) -> File: ...
    def size(self) -> int: ...
    def dialect(self) -> _Dialect: ...
    def records(self, has_header: bool) -> int: ...
    def header_size(self) -> int: ...
    def names(self) -> list[str]: ...
    def check(self, max_listed: int, has_header: bool) -> _Examination: ...
    def split(
        self,
        n: int | None,
        size: int | None,
        records: int | None,
        together: str | None,
        balance: str,
        accepts_missing: bool,
        header: str,
    ) -> Pieces: ...
    def split_by_value(
        self,
        columns: str,
        buckets: int | None,
        max_keys: int | None,
        size: int | None,
        records: int | None,
        accepts_missing: bool,
        has_header: bool,
    ) -> PiecesByValue: ...
    def read(self, start: int, length: int, header_size: int = 0) -> bytes: ...
    def gather(self, pieces: PiecesByValue, index: int, header_size: int = 0) -> bytes: ...
    def select(
        self,
        columns: list[int] | None,
        rules: list[tuple[str, str]],
        keys: KeyRing | None,
        is_text: bool,
        empty_is_null: bool,
        missing_is_null: bool,
        page_size: int,
        range: list[int] | None,
    ) -> ColumnStream: ...

class Summary:
    @property
    def begin(self) -> int: ...
    @property
    def end(self) -> int: ...
    def __add__(self, other: Summary) -> Summary: ...
    def __eq__(self, other: object) -> bool: ...
    __hash__: ClassVar[None]  # type: ignore[assignment]
    def text(self, input_size: int, version: str) -> str: ...
    @staticmethod
    def of_text(text: str) -> tuple[Summary, int, str]: ...
    def __getstate__(self) -> str: ...
    def __setstate__(self, text: str, /) -> None: ...

class Cut:
    def __getstate__(self) -> str: ...
    def __setstate__(self, text: str, /) -> None: ...
    def find(self, read: Callable[[int, int], Any]) -> tuple[int, int]: ...

class RangePlan:
    @property
    def header_size(self) -> int: ...
    @property
    def records(self) -> int: ...
    @property
    def cuts(self) -> list[Cut]: ...

def scan(buffer: Any, start: int, settings: Settings) -> Summary: ...
def plan(
    summaries: list[Summary],
    input_size: int,
    n: int | None,
    records: int | None,
    has_header: bool,
    lenient: bool,
) -> RangePlan: ...
