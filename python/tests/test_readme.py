"""Runs the code of README.md in order."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import make_csv, rows_of

FOLDER = Path(__file__).parents[1]


def run_blocks(readme: Path, folder: Path) -> int:
    blocks = re.findall(r"^```python\n(.*?)^```", readme.read_text(), re.DOTALL | re.MULTILINE)
    script = folder / "readme.py"
    script.write_text("\n".join(blocks))
    run = subprocess.run([sys.executable, script], cwd=folder, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    script.unlink()
    return len(blocks)


def test_the_code_of_the_readme_runs(tmp_path: Path) -> None:
    for module in ("pandas", "polars", "pyarrow"):
        pytest.importorskip(module)
    rows = rows_of(make_csv(2000))
    lines = ["id,name,mail,city"]
    lines += [f'{row[0]},{row[1]},"user{row[0]}@example.org",city {int(row[0]) % 7}' for row in rows[1:]]
    (tmp_path / "big.csv").write_text("\n".join(lines) + "\n")
    assert run_blocks(FOLDER / "README.md", tmp_path) >= 6
    assert sorted(os.listdir(tmp_path)) == ["big.csv", "pieces"]
