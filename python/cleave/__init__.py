"""Cuts CSV at record boundaries, never inside a quoted field, and exports columns through Arrow.

>>> import cleave
>>> f = cleave.open(b"id,name\\n1,Ada\\n2,\\"Grace\\nHopper\\"\\n")
>>> f.header, f.records
(['id', 'name'], 2)
>>> [bytes(piece.bytes) for piece in f.split(n=2)]
[b'1,Ada\\n', b'2,"Grace\\nHopper"\\n']

``open`` returns a ``File``. From there:

    File.check      what is in the file, and whether it is sound
    File.split      pieces: ranges of whole records or, with by= and parts=, the records with some values
    File.select     columns, for anything that reads Arrow streams
    File.write      pieces in files, as the command ``cleave split`` writes them
    File.index      an index beside the file, so that records need not be searched for again

``scan`` and ``plan`` do the same for an input of which each process has only a range; ``cleave.ranges``,
``cleave.dask`` and ``cleave.spark`` are built on them.

Offsets and sizes are in bytes; bytes and columns are numbered from 0, and records and pieces from 1. Everything that
cleave finds wrong is an ``Error``: ``InputError`` for the data, with its byte and record, and ``UsageError`` for
arguments. An argument of a wrong type raises ``TypeError``, and what the system refuses is an ``OSError``. Warnings are
of the category ``CleaveWarning``, and the logger "cleave" tells what is done, without any values of the data.
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
