"""Pieces that are written, compared with those of the command."""

from __future__ import annotations

import gzip
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from conftest import make_csv, rows_of

import cleave

COMMAND = Path(sys.executable).parent / "cleave"
KEY = bytes(range(64))


def content_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def by_command(path: Path | str, *options: str) -> dict[str, bytes]:
    """What the command writes to the folder out, which is removed."""
    run = subprocess.run([COMMAND, "split", *options, path], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return taken(Path("out"))


def taken(folder: Path) -> dict[str, bytes]:
    content = content_of(folder)
    subprocess.run(["rm", "-r", folder], check=True)
    return content


@pytest.fixture
def source(path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(path.parent)
    return path.name


# Arguments of write, and the options of the command.
WAYS: list[tuple[dict[str, Any], list[str]]] = [
    ({"n": 3}, ["-n", "3"]),
    ({"n": 3, "balance": "records"}, ["-n", "3", "--balance", "records"]),
    ({"size": 20_000}, ["-C", "20000"]),
    ({"records": 700}, ["-l", "700"]),
    ({"records": 700, "size": 20_000}, ["-l", "700", "-C", "20000"]),
    ({"records": 700, "together": "last"}, ["-l", "700", "--together", "last"]),
    ({"by": "last"}, ["--by", "last"]),
    ({"by": ["last", "a note"]}, ["--by", 'last,"a note"']),
    ({"by": "last", "records": 100}, ["--by", "last", "-l", "100"]),
    ({"by": "id", "buckets": 5, "seed": 7}, ["--by", "id", "--buckets", "5", "--seed", "7"]),
    ({"by": "name", "parts": {"train": 80, "test": 20}}, ["--by", "name", "--parts", "train=80,test=20"]),
    ({"parts": {"a": 1, "b": 2}}, ["--parts", "a=1,b=2"]),
]
WRITTEN: list[tuple[dict[str, Any], list[str]]] = [
    ({}, []),
    ({"compress": "gzip"}, ["--compress", "gzip"]),
    ({"compress": "zstd:3"}, ["--compress", "zstd:3"]),
    ({"manifest": "out/manifest.json"}, ["--manifest", "out/manifest.json"]),
    ({"manifest": Path("out/m"), "compress": "gzip:1"}, ["--manifest", "out/m", "--compress", "gzip:1"]),
]


@pytest.mark.parametrize(("cut", "options"), WAYS, ids=str)
def test_pieces_are_those_of_the_command(source: str, cut: dict[str, Any], options: list[str]) -> None:
    for arguments, more in WRITTEN:
        expected = by_command(source, "--mkdir", "-o", "out/", *options, *more)
        assert len(expected) > 1
        f = cleave.open(source)
        for write in (lambda: f.write("out", **cut, **arguments), lambda: f.split(**cut).write("out/", **arguments)):
            paths = write()
            assert [path for path in paths if not Path(path).is_file()] == []
            assert len(set(paths)) == len(expected) - ("manifest" in arguments)
            assert taken(Path("out")) == expected


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        ({"header": "drop"}, ["--header", "drop"]),
        ({"header": "first"}, ["--header", "first"]),
        ({"select": ["last", "id"]}, ["--select", "last,id"]),
        ({"select": [3, 0]}, ["--select", "last,id"]),
        ({"redact": {"name": "null", 0: "keep"}}, ["--redact", "name: null", "--redact", "id: keep"]),
        (
            {"redact": {"name": "hmac(k)"}, "keys": {"k": KEY}, "select": ["name"]},
            ["--redact", "name: hmac(k)", "--select", "name", "--key", "k=file:key"],
        ),
    ],
    ids=str,
)
@pytest.mark.parametrize("cut", [["n", "-n", 4], ["size", "-C", 9000], ["records", "-l", 999]], ids=str)
def test_rules_and_headers(source: str, arguments: dict[str, Any], options: list[str], cut: list[Any]) -> None:
    key = Path("key")
    key.write_bytes(KEY)
    key.chmod(0o600)
    # The command must be told that quotes are doubled, and not escaped; here it reads the same text.
    options = [*options, "-d", ",", cut[1], str(cut[2])]
    f = cleave.open(source, delimiter=",")
    expected = by_command(source, "--mkdir", "-o", "out/", *options)
    f.write("out", **{cut[0]: cut[2]}, **arguments)
    assert taken(Path("out")) == expected


@pytest.mark.parametrize("pattern", ["x{i:05}.csv", "{stem}-{n}-{i}{ext}", "{start}", "{record}/a", "a{{b{i}"])
def test_names(source: str, pattern: str) -> None:
    expected = by_command(source, "--mkdir", "-o", f"out/{pattern}", "-n", "3")
    f = cleave.open(source)
    paths = f.split(n=3).write("out", name=pattern)
    assert {path.removeprefix("out/") for path in paths} == expected.keys()
    assert taken(Path("out")) == expected
    # Braces in the name of a folder are its name.
    f.write("{stem}", n=3, name=pattern)
    assert taken(Path("{stem}")) == expected
    f.write(".", n=3, name=f"out/{pattern}")
    assert taken(Path("out")) == expected


def test_compressed_inputs(source: str, data: bytes) -> None:
    name = f"{source}.gz"
    Path(name).write_bytes(gzip.compress(data))
    ways: list[tuple[dict[str, Any], list[str]]] = [({"n": 3}, ["-n", "3"]), ({"records": 400}, ["-l", "400"]), ({"by": "last"}, ["--by", "last"])]
    for cut, options in ways:
        expected = by_command(name, "--mkdir", "-o", "out/", *options)
        f = cleave.open(name)
        f.write("out", **cut)
        assert taken(Path("out")) == expected
        assert f.records == len(rows_of(data)) - 1  # it can be used again
        f.index()
        f.write("out", **cut)
        assert taken(Path("out")) == expected
        os.unlink(f"{name}.cleave")
    with open(name, "rb") as file:
        f = cleave.open(file)
        f.write("out", records=400, name="{i:012}")
        pieces = taken(Path("out"))
        assert pieces == by_command(name, "--mkdir", "-o", "out/{i:012}", "-l", "400")
        assert f.records == len(rows_of(data)) - 1


def test_pipes_and_memory(source: str, data: bytes) -> None:
    expected = by_command(source, "--mkdir", "-o", "out/p{i:02}", "-l", "400")
    cleave.open(data).write("out", records=400, name="p{i:02}")
    assert taken(Path("out")) == expected
    cleave.open(gzip.compress(data)).write("out", records=400, name="p{i:02}")
    assert taken(Path("out")) == expected
    reader, writer = os.pipe()
    feeding = threading.Thread(target=lambda: os.fdopen(writer, "wb").write(data))
    feeding.start()
    f = cleave.open(f"/proc/self/fd/{reader}")
    os.close(reader)
    calls: list[tuple[int, int | None]] = []
    f.write("out", records=400, name="p{i:02}", progress=lambda done, total: calls.append((done, total)))
    feeding.join()
    assert calls[-1] == (len(data), None)
    assert taken(Path("out")) == expected
    with pytest.raises(cleave.UsageError, match="already been read"):
        f.records


def test_progress(source: str) -> None:
    big = make_csv(5000)
    header = big.index(b"\n") + 1
    big += big[header:] * 60
    Path("big.csv").write_bytes(big)
    Path("big.csv.gz").write_bytes(gzip.compress(big, 1))
    for name, total in (("big.csv", 2 * len(big)), ("big.csv.gz", os.path.getsize("big.csv.gz"))):
        calls: list[tuple[int, int | None, int]] = []

        def progress(done: int, total: int | None) -> None:
            calls.append((done, total, threading.get_ident()))

        f = cleave.open(name, threads=1)
        began = time.monotonic()
        f.write("out", records=100_000, compress="gzip:6", progress=progress)
        took = time.monotonic() - began
        dones = [call[0] for call in calls]
        assert dones == sorted(dones)
        assert {call[1] for call in calls} == {total}
        assert calls[-1][0] == total
        assert {call[2] for call in calls} == {threading.get_ident()}
        assert 3 <= len(calls) <= took / 0.1 + 2  # at most ten a second, and the last
        taken(Path("out"))


def test_known_records_are_not_searched_again(source: str) -> None:
    size = os.path.getsize(source)
    expected = by_command(source, "--mkdir", "-o", "out/{stem}.{i}{ext}", "-n", "7")
    values = by_command(source, "--mkdir", "-o", "out/{stem}.{value}{ext}", "--by", "last")
    packed = gzip.compress(Path(source).read_bytes())
    for opened in (source, packed):
        f = cleave.open(opened)
        pieces, by_value = f.split(n=7), f.split(by="last")
        for content, write in (
            (expected, partial(pieces.write, name="{i}")),
            (expected, partial(f.write, n=7, name="{i}")),
            (values, partial(by_value.write, name="{value}")),
        ):
            calls: list[tuple[int, int | None]] = []
            write("out", progress=lambda done, total: calls.append((done, total)))
            assert calls[-1] == (size, size)
            assert sorted(taken(Path("out")).values()) == sorted(content.values())
        f.write("out", n=7, redact={"id": "null"}, progress=lambda done, total: calls.append((done, total)))
        assert calls[-1] == (2 * size, 2 * size)  # rules see what a scan finds
        taken(Path("out"))
    f = cleave.open(source)
    pieces = f.split(n=7)
    with open(source, "ab") as file:
        file.write(b"1,2,3,4\n")
    with pytest.raises(cleave.InputChangedError):
        pieces.write("out")
    assert not Path("out").exists()


def test_a_warning_that_is_an_error_undoes_everything(source: str) -> None:
    cleave.open(source).index()
    with open(source, "ab") as file:
        file.write(b"1,2,3,4\n")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        f = cleave.open(source)
        with pytest.raises(cleave.CleaveWarning, match="the file has changed"):
            f.write("out", n=2)
        assert not Path("out").exists()
    with pytest.warns(cleave.CleaveWarning, match="the file has changed"):
        assert len(cleave.open(source).write("out", n=2)) == 2


class Stop(Exception):
    pass


def test_an_exception_in_progress_undoes_everything(source: str) -> None:
    before = content_of(Path())
    f = cleave.open(source)

    def stop(done: int, total: int | None) -> None:
        raise Stop(done, total)

    calls: list[Callable[[], Any]] = [
        lambda: f.write("out", n=3, progress=stop, manifest="manifest"),
        lambda: f.split(by="last").write("out/deep", progress=stop, compress="gzip"),
    ]
    for call in calls:
        with pytest.raises(Stop):
            call()
        assert content_of(Path()) == before
        assert not Path("out").exists()
    assert f.records == 5000
    assert len(f.write("out", n=3)) == 3


INTERRUPTED = """
import os, signal, sys, cleave
f = cleave.open(sys.argv[1], threads=1)
def progress(done, total):
    print(done, flush=True)
    if sys.argv[2] == "handler":
        os.kill(os.getpid(), signal.SIGINT)
try:
    f.write("out", n=40, compress="zstd:19", progress=progress)
except KeyboardInterrupt:
    print("interrupted", f.records)
"""


@pytest.mark.parametrize("way", ["handler", "from outside"])
def test_ctrl_c_leaves_nothing(source: str, way: str) -> None:
    Path("big.csv").write_bytes(make_csv(5000) * 40)
    process = subprocess.Popen([sys.executable, "-c", INTERRUPTED, "big.csv", way], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    process.stdout.readline()  # it is at work
    if way == "from outside":
        process.send_signal(signal.SIGINT)
    out = process.communicate(timeout=120)[0]
    assert "interrupted " in out
    assert process.returncode == 0
    assert sorted(os.listdir()) == ["big.csv", "in.csv"]


def test_what_is_taken_stays(source: str) -> None:
    f = cleave.open(source)
    first = f.write("out", n=3)
    before = content_of(Path("out"))
    with pytest.raises(FileExistsError):
        f.write("out", n=2, name="{stem}.{i}{ext}")
    assert content_of(Path("out")) == before
    os.unlink(first[0])
    with pytest.raises(FileExistsError):
        f.split(n=3).write("out")
    assert not Path(first[0]).exists()
    f.write("out", n=3, replace=True)
    assert content_of(Path("out")) == before
    with pytest.raises(cleave.Error, match="overwrite the input"):
        f.write(".", n=1, name=source, replace=True)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({}, "^give n, size, records, by or parts$"),
        ({"n": 2, "name": ""}, "name: "),
        ({"n": 2, "name": "/x{i}"}, "within the folder"),
        ({"n": 2, "name": "../x{i}"}, "within the folder"),
        ({"n": 2, "name": "x"}, "the argument name gives every piece the same name"),
        ({"n": 2, "name": "{nothing}{i}"}, "nothing"),
        ({"n": 2, "name": "{i}.gz"}, "add compress='gzip'"),
        ({"n": 2, "compress": "xz"}, "compress: "),
        ({"n": 2, "compress": "gzip:x"}, "compress: "),
        ({"n": 2, "compress": "gzip:99"}, "level"),
        ({"n": 2, "manifest": ""}, "manifest: "),
        ({"n": 2, "manifest": "out/"}, "manifest: "),
        ({"n": 2, "rejects": "bad/"}, "rejects: "),
        ({"n": 2, "header": "none"}, "header: "),
        ({"n": 2, "select": []}, "select: no column"),
        ({"n": 2, "select": ["no"]}, "there is no column 'no'"),
        ({"n": 2, "redact": {"no": "null"}}, "there is no column 'no'"),
        ({"n": 2, "redact": {"id": "no-such"}}, "no-such"),
    ],
    ids=str,
)
def test_what_cannot_be_written_says_so(source: str, arguments: dict[str, Any], text: str) -> None:
    f = cleave.open(source)
    with pytest.raises(cleave.UsageError, match=text):
        f.write("out", **arguments)
    with pytest.raises(cleave.UsageError, match="folder: "):
        f.write("", n=2)
    assert os.listdir() == [source]


def test_a_changed_file_writes_nothing(source: str) -> None:
    f = cleave.open(source)
    pieces = f.split(n=2)
    with open(source, "ab") as file:
        file.write(b"1,2,3,4\n")
    calls: list[Callable[[], Any]] = [lambda: pieces.write("out"), lambda: f.write("out", n=2)]
    for call in calls:
        with pytest.raises(cleave.InputChangedError):
            call()
    assert os.listdir() == [source]


def test_an_error_in_the_data_has_its_place(source: str) -> None:
    Path("bad.csv").write_bytes(b'a,b\n1,2\n3,"4\n')
    with pytest.raises(cleave.OpenQuoteError) as raised:
        cleave.open("bad.csv").write("out", n=2)
    assert (raised.value.byte, raised.value.record) == (10, 2)
    assert cleave.open("bad.csv", allow_open_quote=True).write("out", n=1) == ["out/bad.1.csv"]


def test_older_pieces_are_warned_of(source: str) -> None:
    f = cleave.open(source, delimiter=",")
    f.write("out", n=4)
    with pytest.warns(cleave.CleaveWarning, match="may be a piece of an earlier run") as warned:
        f.write("out", n=3, redact={"name": "null"}, name="{stem}.{i}{ext}", replace=True)
    assert {warning.filename for warning in warned} == {__file__}


def test_columns_with_odd_names(source: str) -> None:
    Path("odd.csv").write_bytes('"say ""hi""","a,b",#1,x*,"two\nlines",caf\u00e9\n1,2,3,4,5,6\n1,3,3,5,6,7\n'.encode())
    f = cleave.open("odd.csv", delimiter=",")
    assert f.header is not None
    for number, name in enumerate(f.header):
        expected = f.split(by=number, parts={"a": 1, "b": 1})
        pieces = f.split(by=name, parts={"a": 1, "b": 1})
        assert [bytes(piece.bytes) for piece in pieces] == [bytes(piece.bytes) for piece in expected]


def test_json_lines(source: str) -> None:
    Path("in.jsonl").write_bytes(b'{"k":1}\n{"k":2}\n{"k":1}\n')
    expected = by_command("in.jsonl", "--mkdir", "-o", "out/", "--by", ".k")
    cleave.open("in.jsonl").write("out", by=".k")
    assert taken(Path("out")) == expected


def test_bad_records_are_set_aside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in.csv").write_bytes(b"a,b\n1,2\n3\n4,5\n")
    f = cleave.open("in.csv")
    for n, reopened in enumerate((f, cleave.open("in.csv"))):
        with pytest.warns(UserWarning, match="1 of 3 records were rejected; bad.jsonl has them"):
            paths = reopened.write(f"out{n}", records=1, rejects="bad.jsonl", replace=True)
        assert [Path(path).read_bytes() for path in paths] == [b"a,b\n1,2\n", b"a,b\n4,5\n"]
        assert b'"byte":8,"size":2,"record":2' in Path("bad.jsonl").read_bytes()
    assert len(f.write("all", records=1)) == 3
    with pytest.raises(FileExistsError):
        f.write("out", records=1, rejects="bad.jsonl")
    with pytest.raises(cleave.UsageError, match="rejects: only for a file"):
        cleave.open(b"a\n1\n").write("out", records=1, rejects="other.jsonl")
