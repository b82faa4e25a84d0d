"""Runs the code of README.md: the blocks without a name in order, as one program, and those of each engine, which are
marked with the name of its module (```python duckdb), as a program of their own, if the engine is installed.
tests/system/reach/readme_test.py installs the engines.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import make_csv, rows_of

README = Path(__file__).parents[1] / "README.md"
PROGRAMS: dict[str, list[str]] = {}
for name, block in re.findall(r"^```python ?(\w*)\n(.*?)^```", README.read_text(), re.DOTALL | re.MULTILINE):
    PROGRAMS.setdefault(name, []).append(block)


def write_input(folder: Path) -> None:
    rows = rows_of(make_csv(2000))
    lines = ["id,name,mail,city"]
    lines += [f'{row[0]},{row[1]},"user{row[0]}@example.org",city {int(row[0]) % 7}' for row in rows[1:]]
    (folder / "big.csv").write_text("\n".join(lines) + "\n")


def run_program(name: str, folder: Path) -> None:
    write_input(folder)
    script = folder / "readme.py"
    script.write_text("\n".join(PROGRAMS[name]))
    environment = {**os.environ, "HF_HOME": str(folder.parent / "hf"), "HF_HUB_OFFLINE": "1"}
    environment["PYSPARK_PYTHON"] = sys.executable
    run = subprocess.run(
        [sys.executable, script], cwd=folder, capture_output=True, text=True, check=False, env=environment
    )
    assert run.returncode == 0, run.stderr
    script.unlink()
    assert {*os.listdir(folder)} <= {"big.csv", "pieces"}


def test_the_code_of_the_readme_runs(tmp_path: Path) -> None:
    for module in ("pandas", "polars", "pyarrow"):
        pytest.importorskip(module)
    assert len(PROGRAMS[""]) >= 6
    run_program("", tmp_path)


@pytest.mark.parametrize("name", sorted(name for name in PROGRAMS if name))
def test_the_code_for_each_engine_runs(name: str, tmp_path: Path) -> None:
    pytest.importorskip("pyspark" if name == "spark" else name)
    run_program(name, tmp_path)
