"""What passes from process to process: exceptions, and files and streams after a fork."""

from __future__ import annotations

import copy
import multiprocessing
import os
import pickle
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import cleave


def changed_while_open(path: str) -> None:
    f = cleave.open(path)
    with open(path, "ab") as file:
        file.write(b"3,4\n")
    f.records


CALLS: dict[str, Callable[[str], Any]] = {
    "Error": lambda path: raise_own(),
    "UsageError": lambda path: cleave.open(path).split(n=0),
    "RuleError": lambda path: cleave.open(path).select("a", redact={"a": "no-such"}),
    "InputError": lambda path: cleave.open(b"a\0\0\0b\0\0\0" * 20, delimiter=","),
    "InputError with its place": lambda path: cleave.open(b"a,b\n1\n2\n").split(records=1, together="b"),
    "OpenQuoteError": lambda path: cleave.open(b'a,b\n1,"2\n').records,
    "InputChangedError": changed_while_open,
    "OSError": lambda path: cleave.open(path + "/none"),
    "ValueError": lambda path: cleave.open("a\0b"),
    "TypeError": lambda path: cleave.open(path).split(n="2"),  # type: ignore[call-overload]
}


def raise_own() -> None:
    error = cleave.Error("its own")
    if hasattr(error, "add_note"):  # Python 3.11
        error.add_note("a note")
    raise error


def call(name: str, path: str) -> None:
    CALLS[name](path)


def raised_by(name: str, path: str) -> Exception:
    try:
        call(name, path)
    except Exception as error:
        return error
    raise AssertionError("nothing was raised")


def facts_of(error: Exception) -> Any:
    return type(error), str(error), error.args, error.__dict__, getattr(error, "errno", None)


@pytest.fixture
def path(tmp_path: Path) -> str:
    path = tmp_path / "in.csv"
    path.write_bytes(b"a,b\n1,2\n")
    return str(path)


@pytest.mark.parametrize("name", CALLS)
def test_exceptions_are_pickled_and_copied(name: str, path: str) -> None:
    error = raised_by(name, path)
    assert type(error).__name__ in name or isinstance(error, (OSError, ValueError))
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert facts_of(pickle.loads(pickle.dumps(error, protocol))) == facts_of(error)
    assert facts_of(copy.copy(error)) == facts_of(copy.deepcopy(error)) == facts_of(error)


class OwnError(cleave.RuleError):
    """A class that a user has defined."""


def test_subclasses_are_pickled_too() -> None:
    error = OwnError("why", "where", "text", 3)
    assert facts_of(pickle.loads(pickle.dumps(error))) == facts_of(error)


@pytest.fixture(scope="module")
def pool() -> Iterator[ProcessPoolExecutor]:
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        yield pool


@pytest.mark.parametrize("name", CALLS)
def test_exceptions_come_from_other_processes(name: str, path: str, pool: ProcessPoolExecutor) -> None:
    error = pool.submit(call, name, path).exception(timeout=120)
    assert error is not None
    expected = raised_by(name, path)
    assert (type(error), str(error)) == (type(expected), str(expected))
    assert {name: value for name, value in error.__dict__.items() if name != "__cause__"} == expected.__dict__


def status_of_fork(work: Callable[[], bool], seconds: int = 60) -> int:
    """The exit status of a child process that does the work: 0 for True. A child that hangs is killed by SIGALRM."""
    child = os.fork()
    if child == 0:
        signal.alarm(seconds)
        status = 2
        try:
            status = 0 if work() else 1
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_stream_after_a_fork_raises(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    path = tmp_path / "in.csv"
    path.write_bytes(b"a,b\n" + b"1,2\n" * 5000)
    f = cleave.open(path, threads=2)
    reader = pyarrow.RecordBatchReader.from_stream(f.select("a", page_size=100))
    first = reader.read_next_batch()

    def use_again() -> bool:
        nonlocal reader
        try:
            reader.read_next_batch()
        except pyarrow.ArrowInvalid as error:
            del reader  # joins no thread
            return "fork" in str(error)
        return False

    assert [status_of_fork(use_again) for _ in range(5)] == [0] * 5
    assert first.num_rows + reader.read_all().num_rows == 5000
    # The child can use what it creates itself.
    assert status_of_fork(lambda: bool(f.records == pyarrow.table(f.select("b")).num_rows == 5000)) == 0
