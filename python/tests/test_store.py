"""Object stores, by the module that comes with the package, and a server on this machine."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import cleave

COMMAND = Path(sys.executable).parent / "cleave"


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "tests/system/store")
    for name in list(os.environ):
        if name.startswith("AWS_") or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "a secret of this test")
    with importlib.import_module("server").Server({}, "AKIDEXAMPLE", "a secret of this test") as server:
        server.buckets.add("bucket")
        monkeypatch.setenv("AWS_ENDPOINT_URL", server.url)
        yield server


def test_pieces_are_objects(server: Any, path: Path, tmp_path: Path) -> None:
    local = cleave.open(path).write(tmp_path / "out", n=3)
    stored = cleave.open(path).write("s3://bucket/out/", n=3)
    assert [Path(name).name for name in stored] == [Path(name).name for name in local]
    objects = [bytes(server.objects[name.removeprefix("s3://")].data) for name in stored]
    assert objects == [Path(name).read_bytes() for name in local]


def test_the_command_reads_and_writes_objects(server: Any, data: bytes, tmp_path: Path) -> None:
    server.put("bucket/in.csv", data)
    template = "s3://bucket/{i}.csv"
    subprocess.run([COMMAND, "split", "-n", "2", "--header=first", "-o", template, "s3://bucket/in.csv"], check=True)
    assert b"".join(bytes(server.objects[f"bucket/{i}.csv"].data) for i in (1, 2)) == data
