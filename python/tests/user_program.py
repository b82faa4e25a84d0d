"""A program of a user, which uses all of cleave and is checked as strictly as mypy can: no expression in it is of an
unknown type. The types it states are those that cleave's annotations must give. test_user_program.py runs it.
"""

# mypy: disallow-any-expr, disallow-any-explicit, disallow-any-decorated, disallow-any-unimported

from __future__ import annotations

import io
import pickle
import sys
from pathlib import Path
from typing import cast

import cleave
from cleave import Check, Columns, Cut, Dialect, File, Piece, Pieces, Place, Plan, Reject, Summary, ValuePiece, ValuePieces


def look(f: File) -> int:
    name: str = f.name
    header: list[str] | None = f.header
    dialect: Dialect = f.dialect
    quote: bytes | None = dialect.quote
    found: Check = f.check(max_ragged=3)
    ragged: list[cleave.RaggedRecord] = found.ragged
    place: Place | None = found.longest_place
    keys: dict[str, int] | None = found.keys
    if not found or f.closed or place is None or keys is None or ragged or quote is None:
        raise SystemExit(f"{name}: {header} {len(f)} {f.size}")
    return f.records + place.byte + place.record


def cut(f: File) -> bytes:
    pieces: Pieces = f.split(n=3)
    same: Pieces = f.split(size=1000, records=10, together="kind", accepts_missing=True)
    total: int = pieces.total_records + same.total_records
    starts: list[int] = list(pieces.starts)
    piece: Piece = pieces[0]
    others: list[Piece] = pieces[1:]
    for each in pieces:
        total += each.records + each.start + each.length + each.first_record + each.number
    view: memoryview = piece.bytes
    copy: io.BytesIO = piece.with_header()
    columns: Columns = piece.select("id", redact={"kind": "null"}, binary=True, page_size=1 << 16)
    names: list[str] = columns.names
    return pieces.header + bytes(view) + copy.read() + repr((total, starts, len(others), names)).encode()


def cut_by_value(f: File) -> list[tuple[str, ...]]:
    values: ValuePieces = f.split(by=["kind", 0], max_values=1000)
    parts: ValuePieces = f.split(by="kind", parts={"train": 0.8, "test": "0.2"}, seed=1)
    drawn: ValuePieces = f.split(parts={"a": 1, "b": 2})
    piece: ValuePiece = values[0]
    part: str | None = parts[0].part
    ranges: memoryview = piece.ranges
    if part != "train" or ranges.nbytes == 0 or drawn.total_records != f.records:
        raise SystemExit(part)
    return values.keys


def write(f: File, folder: Path) -> list[str]:
    seen: list[int | None] = []

    def progress(done: int, total: int | None) -> None:
        seen.extend((done, total))

    paths: list[str] = f.write(
        folder,
        n=2,
        header="drop",
        select=["id", 1],
        redact={"kind": "hmac(k)"},
        keys={"k": bytes(range(32))},
        name="{i}.csv",
        compress="gzip:1",
        manifest=folder / "manifest",
        rejects=folder / "rejects",
        replace=True,
        progress=progress,
    )
    paths += f.split(n=2).write(folder, name="p{i}", progress=progress)
    paths += f.split(by="kind").write(str(folder), compress="zstd")
    if not seen:
        raise SystemExit("no progress")
    return paths


def plan(text: bytes, dialect: Dialect) -> tuple[int, int]:
    summary: Summary = cleave.scan(text[:9], dialect=dialect) + cleave.scan(text[9:], 9, dialect=dialect, threads=2)
    again, size, version = Summary.of_text(summary.text(len(text), "1"))
    made: Plan = cleave.plan([again], input_size=size, n=2)
    first: Cut = made.cuts[1]
    offset, record = first.find(lambda offset, size: text[offset : offset + size])
    state, ended, last = cleave.scan_bytes(text[:9], dialect=dialect)
    cut_at: int = last or 0
    ended += cleave.scan_bytes(text[9:], state, dialect=dialect)[1]
    return offset + made.header_size + made.records + len(version) + ended + cut_at, record


def fail(path: Path) -> tuple[int | None, int | None, int, str]:
    try:
        cleave.open(b'a,b\n1,"2\n', dialect="rfc4180").split(n=2)
    except cleave.OpenQuoteError as error:
        byte, record, code = error.byte, error.record, error.exit_code
    try:
        cleave.open(path).select("id", redact={"id": "no-such"})
    except cleave.RuleError as wrong:
        where: str = wrong.origin + wrong.text[wrong.place :]
    return byte, record, code, where


def mended(reject: Reject) -> bytes:
    column: str | None = reject.column
    return reject.text.replace((column or reject.reason).encode(), b"%d %d" % (reject.byte, reject.record))


def main(path: Path) -> None:
    with cleave.open(path, delimiter=",", threads=2) as f:
        print(look(f), cut(f)[:3], cut_by_value(f)[:1], write(f, path.parent / "out")[:1], f.index())
        with cleave.open(path.read_bytes(), dialect=f.dialect) as memory, open(path, "rb") as file:
            print(memory.records, cleave.open(file).records, plan(path.read_bytes(), f.dialect), fail(path))
        print(mended(Reject(0, 1, "type", b"text", column="text")))
        copy = cast(File, pickle.loads(pickle.dumps(f)))
        print(copy, copy.records, cleave.__version__)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
