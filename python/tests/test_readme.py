"""The code of README.md, run in order."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import make_csv, rows_of

README = Path(__file__).parents[1] / "README.md"


def test_the_code_of_the_readme_runs(tmp_path: Path) -> None:
    for module in ("pandas", "polars", "pyarrow"):
        pytest.importorskip(module)
    rows = rows_of(make_csv(2000))
    lines = ["id,name,mail"] + [f'{row[0]},{row[1]},"user{row[0]}@example.org"' for row in rows[1:]]
    (tmp_path / "big.csv").write_text("\n".join(lines) + "\n")
    blocks = re.findall(r"^```python\n(.*?)^```", README.read_text(), re.DOTALL | re.MULTILINE)
    assert len(blocks) >= 7
    script = tmp_path / "readme.py"
    script.write_text("\n".join(blocks))
    run = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert sorted(os.listdir(tmp_path)) == ["big.csv", "readme.py"]
