"""What `cleave split --by` must write, according to a plain reading of the rules."""
import copy
import functools
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "stages"))
import compare  # noqa: E402
from fields import BOM, read_record  # noqa: E402
from language import Columns, RuleError, parse_select, places_of_list  # noqa: E402
from oracle import redact  # noqa: E402

from loosely import Reader, split_header  # noqa: E402
import names  # noqa: E402

DEFAULT_MAX_KEYS = 10000


class Refused(Exception):
    """The run must end with one of these exit statuses."""

    def __init__(self, *codes):
        super().__init__(str(codes))
        self.codes = set(codes)


class Piece:
    """name: without folder and suffixes. key: the values, or None for a bucket or a part. number: from 1, among the
    pieces with these values. first: the number of the piece's first record."""

    def __init__(self, name, key, number, records, content, first=0):
        self.name, self.key, self.number, self.records, self.content = name, key, number, records, content
        self.first = first


class Body:
    """What is written, and the values that it is grouped by. header: bytes. records: the bytes of each record. keys: a
    tuple of values for each record."""

    def __init__(self, header, records, keys, columns):
        self.header, self.records, self.keys, self.columns = header, records, keys, columns


@functools.lru_cache(maxsize=8)
def read(data, dialect, is_anywhere):
    return Reader(data, dialect, is_anywhere).read()


def needs_spool(case):
    """Whether a temporary file would contain a column that is in no output."""
    return case.has_rules and case.source in ("pipe", "gzip") and (case.buckets or case.parts) and case.drops


class Expected:
    """codes: the correct exit statuses. pieces: for exit status 0, in the order of their first records, or of the
    buckets; None where the rules leave open what is written. result: what the oracle in tests/references/stages
    returned, or None."""

    def __init__(self, case):
        self.result, self.pieces, self.codes = None, None, {0}
        try:
            body = self.read_strictly(case) if case.has_stages else self.read_loosely(case)
            if body is not None:
                self.pieces = cut(case, body)
        except Refused as refused:
            self.codes = refused.codes
        if 3 in self.codes:
            self.codes |= usage_faults(case)
        if needs_spool(case) and not case.spool:
            self.pieces, self.codes = None, {2} | self.codes & {1}

    def read_strictly(self, case):
        uncut = copy.copy(case)
        uncut.count = uncut.size = uncut.total = None
        staged = compare.Expected(uncut, True)
        self.result = staged.result
        if case.total is not None:
            raise Refused(2, *staged.codes - {0})
        if staged.codes != {0}:
            if not can_name_keys(case, staged.result):
                staged.codes.add(2)
            if 0 in staged.codes:   # the file has a fault, but the command need not look there
                self.codes = staged.codes
                return None
            raise Refused(*staged.codes)
        if not case.data and not case.is_draw:
            self.codes = {0, 2}   # Without a record there are no columns.
            return None
        return self.body_of(case, staged.result)

    def body_of(self, case, result):
        columns = result.bound.columns
        places = key_places(case, columns, result.bound.order)
        header, records = result.header, result.records
        keys = [key_of(record, case, places, number) for number, record in enumerate(records)]
        if case.drops:
            header, records = without(case, result, places)
        return Body(header, records, keys, column_names(case, columns, result.bound.order, places))

    def read_loosely(self, case):
        reader = read(case.data, case.dialect, case.is_anywhere)
        before, header = split_header(reader.records, case.header_mode != "none")
        if case.total is not None:
            raise Refused(2, *({3} if reader.is_open and not case.allows_open_quote else ()))
        if not reader.records and not case.is_draw:
            self.codes = {0, 2}   # as above
            return None
        body = reader.records[before:]
        if not body and not case.is_draw and header.is_blank:
            # As above: a line end alone names no column, and no record needs one.
            self.codes = {0, 2}
            return None
        is_open = reader.is_open and not case.allows_open_quote
        columns = places = order = None
        if not case.is_draw:
            first = header or next((record for record in body if not record.is_blank), body[0])
            columns = Columns(first.values if header is not None else None, len(first.values))
            order = list(range(columns.count))
            try:
                places = key_places(case, columns, order)
            except Refused:
                raise Refused(2, *({3} if is_open else ())) from None
        if is_open:
            raise Refused(3)
        if reader.escapes_end:
            self.codes = {0, 3}
            return None
        # In a record with more fields than the header, a name may be beside another field.
        is_named = not case.is_draw and any(item.kind != "number" for item in parse_select(case.by))
        keys = [] if not case.is_draw else [()] * len(body)
        for record in [] if case.is_draw else body:
            if not record.is_empty and not case.allows_ragged and max(places) >= len(record.values):
                raise Refused(3)
            if is_named and not case.allows_ragged and any(record.values[columns.count:]):
                raise Refused(3)
            keys.append(tuple(record.values[place] if place < len(record.values) else b"" for place in places))
        at = reader.records[before - 1].end if before else 0
        return Body(case.data[:at], [case.data[record.start:record.end] for record in body], keys,
                    column_names(case, columns, order, places))


def usage_faults(case):
    """{2} where there is a usage error that may be found before or after the faults in the records: the rules do not
    say which comes first."""
    return {2} if case.size is not None or case.max_keys is not None or case.hive else set()


def can_name_keys(case, result):
    """Whether the columns given by --by exist, and at least one other column if they are dropped."""
    if result.bound is None:   # a fault was found first
        return False
    try:
        places = key_places(case, result.bound.columns, result.bound.order)
    except Refused:
        return False
    return not case.drops or len(places) < len(result.bound.order)


def key_places(case, columns, order):
    """The positions of the columns given by --by among the written columns. Raises Refused."""
    if case.is_draw:
        return []
    try:
        items = parse_select(case.by)
        if any(item.negated or (item.kind == "word" and b"*" in item.text) for item in items):
            raise RuleError("--by names columns")
        places = places_of_list(items, columns)
    except RuleError:
        raise Refused(2) from None
    if any(place not in order for place in places) or len(set(places)) < len(places):
        raise Refused(2)
    return [order.index(place) for place in places]


def key_of(written, case, places, number):
    """The values of a written record. A byte order mark is recognised only at the very start of a file."""
    has_mark = number == 0 and case.header_mode == "none" and case.data.startswith(BOM)
    fields = read_record(written, 0, case.dialect).fields if has_mark else read_record(b" " + written, 1, case.dialect).fields
    return tuple(fields[place].value if place < len(fields) else b"" for place in places)


def column_names(case, columns, order, places):
    """The column names for the folders that --hive creates."""
    if not case.hive:
        return None
    if columns.names is None:
        raise Refused(2)
    found = [columns.names[order[place]] for place in places]
    if any(name == b"" for name in found):
        raise Refused(2)
    return found


def without(case, result, places):
    """Header and records without the columns given by --by."""
    items = b",".join(b"!#%d" % (place + 1) for place in places)
    # The new first value may look like a byte order mark, which counts as one only at the very start.
    before = b""
    if result.output.startswith(BOM) and not case.data.startswith(BOM):
        before = b"\r" if case.dialect.terminator == "cr" else b"\n"
    again = redact(before + result.output, case.dialect, case.header_mode, select=items, escape_given=True,
                   mark_is_plain=True)
    if again.refusal is not None:
        raise Refused(again.refusal.code)
    if not before:
        return again.header, again.records
    if case.header_mode == "none":
        return again.header, again.records[1:]
    return again.header[len(before):], again.records


def groups_of(body):
    """{values: the numbers of the records with them}, in the order of their first records."""
    groups = {}
    for number, key in enumerate(body.keys):
        groups.setdefault(key, []).append(number)
    return groups


def cut(case, body):
    groups = groups_of(body)
    mode = case.header_mode
    if case.size is not None and mode == "repeat" and len(body.header) > case.size:
        raise Refused(2)
    if case.buckets or case.parts:
        found = [[] for _ in range(case.buckets or len(case.parts))]
        ends = names.ends_of([weight for _, weight in case.parts]) if case.parts else None
        for number, (key, record) in enumerate(zip(body.keys, body.records), 1):
            found[fixed_piece(case, key, number, ends)].append(record)
        return [Piece(case.parts[at][0] if case.parts else b"", None, at + 1, len(records),
                      headed(body.header, mode, at == 0) + b"".join(records)) for at, records in enumerate(found)]
    if len(groups) > (DEFAULT_MAX_KEYS if case.max_keys is None else case.max_keys):
        raise Refused(2)
    keys = list(groups)
    try:
        found = names.folders_of(keys, body.columns) if case.hive else names.names_of(keys)
    except names.NoName:
        raise Refused(2) from None
    result = []
    for key, name in zip(keys, found):
        for number, run in enumerate(runs(case, body, groups[key], is_first=not result), 1):
            content = headed(body.header, mode, not result) + b"".join(body.records[at] for at in run)
            result.append(Piece(name, key, number, len(run), content, run[0]))
    return sorted(result, key=lambda piece: piece.first)


def fixed_piece(case, key, number, ends):
    """The bucket or part, from 0, of record `number`, which counts from 1. `ends` are the ends of the parts."""
    if case.buckets:
        return names.hash_of(key, case.hash_seed) % case.buckets
    hash_ = names.hash_of_number(number, case.hash_seed) if case.is_draw else names.hash_of(key, case.hash_seed)
    return names.part_of(hash_, ends)


def headed(header, mode, is_first):
    return header if mode == "repeat" or (mode == "first" and is_first) else b""


def runs(case, body, numbers, is_first):
    """The records with one key, divided according to -l and -C."""
    if case.count is None and case.size is None:
        return [numbers]
    size = len(headed(body.header, case.header_mode, is_first))
    found, current, total = [], [], size
    for number in numbers:
        record = body.records[number]
        is_full = case.count is not None and len(current) == case.count
        is_too_large = case.size is not None and current and total + len(record) > case.size
        if is_full or is_too_large:
            found.append(current)
            current, total = [], size if case.header_mode == "repeat" else 0
        current.append(number)
        total += len(record)
    return found + [current]
