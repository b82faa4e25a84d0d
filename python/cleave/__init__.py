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
    File.select     columns of strings, for anything that reads Arrow streams
    File.batches    columns with types, as Arrow record batches, or File.stream for anything that reads Arrow streams
    File.head       the first records, and File.schema the types that fit them
    File.write      pieces in files, as the command ``cleave split`` writes them
    File.index      an index beside the file, so that later calls need not search for records again

These modules are imported by their names, and need the packages of their engines:

    cleave.ranges   pieces of one file or of many, in a folder or an object store, for any number of processes
    cleave.dask, cleave.datasets, cleave.polars, cleave.ray, cleave.spark, cleave.torch
                    readers for these engines

``scan`` and ``plan`` are what ``cleave.ranges`` is built on: each process summarises a range of an input, and a plan is
made from the summaries. ``scan_bytes`` scans buffers in order, for programs that cut them themselves.

Offsets and sizes are in bytes. Bytes and columns are numbered from 0, records and pieces from 1. Without a header,
columns are named ``column_1``, ``column_2`` and so on, but in frames of Polars and Spark as these name them.

If cleave finds a fault, it raises an ``Error``: ``InputError`` for the data, with the byte and the record, or
``UsageError`` for arguments. An argument of the wrong type raises ``TypeError``, and a system call that fails raises
``OSError``. Warnings have the category ``CleaveWarning``. The logger "cleave" reports what is done, without any values
of the data.
"""

from ._columns import Columns
from ._errors import CleaveWarning, Error, InputChangedError, InputError, OpenQuoteError, RuleError, UsageError
from ._file import File
from ._native import version as __version__
from ._open import open
from ._pieces import Piece, Pieces, ValuePiece, ValuePieces
from ._ranges import Cut, Plan, Summary, plan, scan, scan_bytes
from ._types import Check, Dialect, Place, RaggedRecord, Reject

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
    "Reject",
    "RuleError",
    "Summary",
    "UsageError",
    "ValuePiece",
    "ValuePieces",
    "__version__",
    "open",
    "plan",
    "scan",
    "scan_bytes",
]
