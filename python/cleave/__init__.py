"""Cuts CSV at record boundaries, never inside a quoted field, and exports columns through Arrow.

>>> import cleave
>>> f = cleave.open(b"id,name\\n1,Ada\\n2,\\"Grace\\nHopper\\"\\n")
>>> f.header, f.records
(['id', 'name'], 2)
>>> [bytes(piece.bytes) for piece in f.split(n=2)]
[b'1,Ada\\n', b'2,"Grace\\nHopper"\\n']
"""

from ._errors import CleaveWarning, Error, InputChangedError, InputError, OpenQuoteError, RuleError, UsageError
from ._file import Columns, File
from ._native import version as __version__
from ._open import open
from ._pieces import Piece, Pieces, ValuePiece, ValuePieces
from ._ranges import Cut, Plan, Summary, plan, scan
from ._types import Check, Dialect, Place, RaggedRecord

__all__ = [
    "Check",
    "CleaveWarning",
    "Columns",
    "Cut",
    "Dialect",
    "Error",
    "File",
    "InputChangedError",
    "InputError",
    "OpenQuoteError",
    "Piece",
    "Pieces",
    "Place",
    "Plan",
    "RaggedRecord",
    "RuleError",
    "Summary",
    "UsageError",
    "ValuePiece",
    "ValuePieces",
    "__version__",
    "open",
    "plan",
    "scan",
]
