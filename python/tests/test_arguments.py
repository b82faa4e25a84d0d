"""Wrong arguments of every public function cause errors that a user of Python understands."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from test_native import public_functions

import cleave

TEXT = b"a,b\n1,2\n3,4\n"


class Odd:
    """An object that is none of what any function wants."""


class OddPath(os.PathLike[Any]):
    def __fspath__(self) -> Any:
        return b"bytes"


JUNK: list[Any] = [
    None,
    True,
    False,
    0,
    -1,
    1 << 64,
    1 << 200,
    2.0,
    float("nan"),
    1j,
    "",
    "x",
    "\0",
    "\ud800",
    "\udcff",
    b"",
    b"x",
    bytearray(b"x"),
    memoryview(b"x"),
    [],
    [None],
    ["\ud800"],
    [1 << 64],
    [[]],
    (),
    {},
    {"a": "\ud800"},
    {"a": None},
    {"\ud800": "null"},
    {None: 1},
    {"k": Odd()},
    {"k": "\udcff"},
    {1.5: "null"},
    {"a"},
    range(2),
    print,
    Odd,
    Odd(),
    OddPath(),
]

Call = tuple[Callable[..., Any], dict[str, Any]]


def one_of_each(folder: Path) -> dict[str, Call]:
    """Each public function that takes arguments, with arguments that it takes."""
    f = cleave.open(TEXT)
    pieces, values = f.split(n=2), f.split(by="a")
    summary = cleave.scan(TEXT, delimiter=",", terminator="lf")
    cut = cleave.plan([summary], input_size=len(TEXT), n=2).cuts[1]
    out = {"folder": folder / "out", "replace": True}
    calls: dict[str, Call] = {
        "open.": (cleave.open, {"source": TEXT}),
        "scan.": (cleave.scan, {"buffer": TEXT, "delimiter": ",", "terminator": "lf"}),
        "scan_bytes.": (cleave.scan_bytes, {"buffer": TEXT}),
        "plan.": (cleave.plan, {"summaries": [summary], "input_size": len(TEXT), "n": 2}),
        "File.check": (f.check, {}),
        "File.split": (f.split, {"n": 2}),
        "File.split by": (f.split, {"by": "a"}),
        "File.split parts": (f.split, {"parts": {"x": 1}}),
        "File.select": (f.select, {"columns": "a"}),
        "File.batches": (f.batches, {"columns": ["a"]}),
        "File.stream": (f.stream, {}),
        "File.head": (f.head, {}),
        "File.write": (f.write, {"n": 2, **out}),
        "Pieces.write": (pieces.write, out),
        "ValuePieces.write": (values.write, out),
        "Pieces.__getitem__": (pieces.__getitem__, {"index": 0}),
        "ValuePieces.__getitem__": (values.__getitem__, {"index": 0}),
        "Piece.select": (pieces[0].select, {"columns": "a"}),
        "Piece.batches": (pieces[0].batches, {"columns": ["a"]}),
        "Summary.__add__": (summary.__add__, {"other": cleave.scan(b"5,6\n", len(TEXT), delimiter=",", terminator="lf")}),
        "Summary.__eq__": (summary.__eq__, {"other": summary}),
        "Summary.text": (summary.text, {"input_size": len(TEXT), "version": "1"}),
        "Summary.of_text": (cleave.Summary.of_text, {"text": summary.text(len(TEXT), "1")}),
        "Cut.find": (cut.find, {"read": lambda offset, size: TEXT[offset : offset + size]}),
    }
    return calls


def called(function: Callable[..., Any], arguments: dict[str, Any]) -> Any:
    """Calls it; an argument of *columns is given by position."""
    named = dict(arguments)
    place = [named.pop("columns")] if "columns" in named else []
    if getattr(function, "__name__", "").startswith("__"):  # those of operators have no names
        place, named = list(named.values()), {}
    return function(*place, **named)


def wrong_calls(folder: Path) -> Iterator[tuple[str, Callable[[], Any]]]:
    for name, (function, arguments) in one_of_each(folder).items():
        called(function, arguments)
        for parameter in inspect.signature(function).parameters:
            for value in JUNK:
                given = {**arguments, parameter: value}
                yield f"{name}({parameter}={value!r})", lambda f=function, g=given: called(f, g)  # type: ignore[misc]


def test_every_function_is_tried(tmp_path: Path) -> None:
    tried = {name.split(" ")[0] for name in one_of_each(tmp_path)}
    inherited = {"Pieces.write", "Pieces.__getitem__", "ValuePieces.write", "ValuePieces.__getitem__"}
    takes_more = set()
    for name, function in public_functions():
        if isinstance(function, type) or name.endswith(".__init__"):  # the classes are made by functions
            continue
        parameters = [one for one in inspect.signature(function).parameters if one not in ("self", "cls")]
        if parameters and not name.startswith(("Check.", "Dialect.", "Place.", "RaggedRecord.", "Reject.")):  # are tuples
            takes_more.add(name)
    assert takes_more | inherited == tried


def test_wrong_arguments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    refused = 0
    for what, call in wrong_calls(tmp_path):
        try:
            call()
        except (TypeError, ValueError, OSError, IndexError, cleave.Error) as error:
            text = str(error)
            refused += 1
        except Exception as error:
            raise AssertionError(f"{what}: {error!r}") from error
        else:
            continue
        assert text, what
        for word in ("incompatible", "nanobind", "std::", "_native", "__init__", "NoneType' object"):
            assert word not in text, f"{what}: {text}"
    assert refused > 1000


@pytest.mark.parametrize(
    "call",
    [
        lambda f: f.split(n=True),
        lambda f: f.split(records=True),
        lambda f: f.split(by=True),
        lambda f: f.split(by=[False]),
        lambda f: f.split(by="a", buckets=True),
        lambda f: f.split(parts={"x": True}),
        lambda f: f.split(parts={"x": 1}, seed=True),
        lambda f: f.check(max_ragged=True),
        lambda f: f.select(True),
        lambda f: f.select("a", False),
        lambda f: f.select([True]),
        lambda f: f.select("a", page_size=True),
        lambda f: f.select("a", redact={True: "null"}),
        lambda f: f.write("out", n=True),
        lambda f: f.write("out", n=1, select=[True]),
        lambda f: cleave.open(TEXT, threads=True),
        lambda f: cleave.open(TEXT, skip_lines=True),
        lambda f: cleave.scan(TEXT, True, delimiter=",", terminator="lf"),
    ],
)
def test_a_bool_is_no_number(call: Callable[[cleave.File], Any]) -> None:
    with pytest.raises((TypeError, cleave.UsageError), match="bool|True"):
        call(cleave.open(TEXT))


@pytest.mark.parametrize("name", ["header", "allow_open_quote", "index"])
def test_a_switch_is_true_or_false(name: str) -> None:
    for value in (None, 0, 1, "yes", "none"):
        options: dict[str, Any] = {name: value}
        with pytest.raises(TypeError, match=f"^{name}: True or False, and not "):
            cleave.open(TEXT, **options)


def test_numbers_of_numpy_are_numbers() -> None:
    numpy = pytest.importorskip("numpy")
    f = cleave.open(TEXT)
    assert len(f.split(n=numpy.int64(2))) == 2
    assert f.select(numpy.uint8(1)).names == ["b"]
    assert f.split(n=2)[numpy.int32(-1)].number == 2
