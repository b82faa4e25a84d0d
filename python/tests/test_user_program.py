"""Runs user_program.py. That its types are right is checked by mypy, in the same step."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def test_the_program_of_a_user_runs(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_text("id,kind\n" + "".join(f"{i},kind {i % 3}\n" for i in range(300)))
    program = Path(__file__).with_name("user_program.py")
    run = subprocess.run([sys.executable, program, path], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert f"<cleave.File {str(path)!r}: delimiter b',', with a header> 300" in run.stdout
    assert len(list((tmp_path / "out").iterdir())) == 2 + 2 + 2 + 3


def test_what_the_program_uses() -> None:
    """Every public name is in the program, so that its types are checked."""
    import cleave

    text = Path(__file__).with_name("user_program.py").read_text()
    for name in cleave.__all__:
        if not name.endswith(("Error", "Warning")):
            assert name in text, name
    for kind in (cleave.File, cleave.Pieces, cleave.Piece, cleave.ValuePiece, cleave.ValuePieces, cleave.Columns):
        for member in dir(kind):
            is_own = not member.startswith("_") and not hasattr(tuple, member)
            # What returns objects of pyarrow is not there, because it has no types.
            is_of_arrow = member in ("batches", "head", "schema", "stream")
            if is_own and not is_of_arrow and member not in ("header_size", "lengths", "first_records", "close", "key"):
                assert f".{member}" in text, f"{kind.__name__}.{member}"
