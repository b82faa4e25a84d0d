"""What a run with --select and --redact must write, according to a plain reading of the rules. Shares no code with the
library.

Everything is in redact(); pieces.py says which record goes into which piece.
"""
import itertools
import re
from collections import namedtuple

import operations
from fields import BOM, CannotCarry, Fault, needs_quotes_or_escapes, read_record, write_value
from language import Columns, RuleError, Scope, one_place, parse_file, parse_rule, parse_select, places_of_list
from similar import are_similar

MAX_RECORD = 16 << 20

# code: the exit status. kind: a description for people.
Refusal = namedtuple("Refusal", "code kind")


class Result:
    """The outcome of a run. If `refusal` is set, `records` are those before the refusal."""

    def __init__(self):
        self.refusal = None
        self.header = b""
        self.records = []
        self.input_starts = []      # where each record starts in the input
        self.body_start = 0         # the first offset in the input where a record may start
        self.input_size = 0
        self.empty_records = 0
        self.fault_start = None     # where the record with the fault starts in the input, if the input is refused
        self.rules = []             # RuleReport, in the order of the rules
        self.unnamed = []           # columns, from 0, that neither a rule nor --redact-default decides
        self.names = None           # the names of the columns; None without a header
        self.hidden = None          # columns that a rule names or that are dropped; None if unknown
        self.bound = None           # the rules as a Bound, once they are bound

    @property
    def output(self):
        return self.header + b"".join(self.records)

    @property
    def output_starts(self):
        starts, at = [], len(self.header)
        for record in self.records:
            starts.append(at)
            at += len(record)
        return starts


class RuleReport:
    def __init__(self, text, columns, operation):
        self.text = text
        self.columns = columns
        self.operation = operation
        self.seen = self.changed = self.kept = self.empty = self.condition_false = 0


class Bound:
    """The rules as applied to the columns of one input."""

    def __init__(self):
        self.columns = None
        self.order = []             # the columns of the output
        self.rules_of = {}          # column -> [(operation, [(column, test)], RuleReport)]
        self.by = {}                # the column of an operation's `by`
        self.named = set()
        self.default_report = None  # for --redact-default null, which counts like a rule


def redact(data, dialect, header_mode="repeat", select=None, rules=(), files=(), keys=None, null_token=None,
           default=None, forbid=(), max_record=MAX_RECORD, escape_given=False, mark_is_plain=False, tables=None):
    """Returns what becomes of `data`. Never raises for anything that a user can do.

    header_mode: none (-H), or repeat, first, drop, which make no difference here. select: text or None. rules: texts
    given with --redact. files: contents of files of rules. keys: name -> bytes. null_token: bytes or None. tables: the
    files that rules name, path -> bytes.
    escape_given: whether the user said what escapes a quote, or that nothing does. mark_is_plain: accept a quote after
    a byte order mark.
    """
    result = Result()
    result.input_size = len(data)
    try:
        select_items = parse_select(select) if select is not None else None
        parsed, default = parse_rules(rules, files, Scope(keys or {}, tables or {}), default)
        check_constants(parsed, null_token, dialect)
        is_marked = dialect.quote is not None and data.startswith(BOM + bytes([dialect.quote]))
        if is_marked and header_mode == "none" and not mark_is_plain:
            raise Fault("a quote behind a byte order mark")
        records = read_records(data, dialect, max_record, escape_given, result)
        late_fault = None
        try:
            preamble, header, ahead = read_header(records, header_mode != "none")
        except Fault as fault:
            # Records that consist only of CR and LF do not decide which record is the header, even if there is a fault.
            start = start_of_first_record(data, result.fault_start, dialect)
            if start is None:
                raise
            late_fault, fault_start = fault, result.fault_start
            preamble, header, ahead = read_header(read_records(data[start:], dialect, max_record, escape_given, result),
                                                  header_mode != "none")
            result.fault_start = fault_start
        if header is not None:
            count = len(header.fields)
        else:  # The last record that was read ahead is the first one that is not empty, if there is one.
            count = len(ahead[-1].fields) if ahead else 0
        result.names = [field.value for field in header.fields] if header is not None else None
        bound = bind(select_items, parsed, default, Columns(result.names, count), result)
        result.bound = bound
        if late_fault is not None:
            raise late_fault
        result.body_start = header.end if header is not None else 0
        if header is not None:
            result.header = b"".join(write_plain(record, data) for record in preamble)
            result.header += write_header(header, bound, dialect, data)
            look_for_forbidden(header, bound, forbid, result)
        for record in itertools.chain(ahead, records):
            result.records.append(write_record(record, bound, dialect, data, null_token, forbid, result))
            result.input_starts.append(record.start)
    except RuleError as error:
        result.refusal = Refusal(2, error.kind)
    except (Fault, CannotCarry) as error:
        result.refusal = Refusal(3, getattr(error, "kind", "a value that the dialect cannot carry"))
        return result
    result.fault_start = None
    return result


def parse_rules(texts, files, scope, default):
    texts = list(texts)
    defaults = [default] if default is not None else []
    for content in files:
        more, file_defaults = parse_file(content)
        texts.extend(more)
        defaults.extend(file_defaults)
    if len(defaults) > 1:
        raise RuleError("--redact-default twice")
    if defaults and defaults[0] not in ("keep", "null", "drop", "fail"):
        raise RuleError("--redact-default")
    return [parse_rule(text, scope) for text in texts], defaults[0] if defaults else "keep"


def check_constants(rules, null_token, dialect):
    if null_token and needs_quotes_or_escapes(null_token, dialect):
        raise RuleError("a token that needs quotes or escapes")
    for rule in rules:
        if rule.operation.constant is not None:
            try:
                write_value(rule.operation.constant, False, dialect)
            except CannotCarry:
                raise RuleError("a text that the dialect cannot carry") from None


def read_records(data, dialect, max_record, escape_given, result):
    at = 0
    while at < len(data):
        result.fault_start = at
        record = read_record(data, at, dialect)
        if not escape_given and has_two_readings(record, dialect):
            raise Fault("a backslash before a quote")
        if record.end - record.start > max_record:
            raise Fault("record too long")
        yield record
        at = record.end


def has_two_readings(record, dialect):
    """Whether a reader that treats a backslash as an escape would find different fields."""
    if dialect.quote is None or dialect.escape is not None or ord("\\") in (dialect.quote, dialect.delimiter):
        return False
    return any(field.quoted and b"\\" + bytes([dialect.quote]) in field.raw for field in record.fields)


def start_of_first_record(data, after, dialect):
    """Where the first record with a byte other than CR and LF begins; None if that is not beyond `after`, or if there
    is no such record."""
    found = re.compile(rb"[^\r\n]").search(data, 3 if data.startswith(b"\xEF\xBB\xBF") else 0)
    if found is None:
        return None
    ends = {"lf": b"\n", "cr": b"\r"}.get(dialect.terminator)
    start = found.start() if ends is None else data.rfind(ends, 0, found.start()) + 1
    return start if start > after else None


def read_header(records, has_header):
    """Returns the empty records before the header, the header (or None), and the body records that were read ahead."""
    ahead = []
    for record in records:
        ahead.append(record)
        if not record.is_empty:
            break
    if not has_header or not ahead:
        return [], None, ahead
    if ahead[-1].is_empty:  # All records are empty, so the first one is the header.
        return [], ahead[0], ahead[1:]
    return ahead[:-1], ahead[-1], []


def bind(select_items, rules, default, columns, result):
    bound = Bound()
    bound.columns = columns
    if select_items is None:
        bound.order = list(range(columns.count))
    else:
        bound.order = places_of_list(select_items, columns)
        if len(set(bound.order)) < len(bound.order):
            raise RuleError("a selection with a column twice")
    decided = set()
    for rule in rules:
        places = places_of_list(rule.items, columns)
        conditions = [(one_place(condition.column, columns), condition.test) for condition in rule.conditions]
        if rule.operation.by is not None:
            bound.by[rule.operation] = one_place(rule.operation.by, columns)
        report = RuleReport(rule.text, sorted(set(places)), rule.operation.name)
        result.rules.append(report)
        for place in report.columns:
            bound.named.add(place)
            bound.rules_of.setdefault(place, []).append((rule.operation, conditions, report))
            if not conditions:
                decided.add(place)
    if bound.named - decided:
        raise RuleError("no rule without a condition")
    unnamed = [place for place in bound.order if place not in bound.named]
    if columns.names is not None and default == "keep":
        for place in unnamed:
            if any(are_similar(columns.names[place], columns.names[other]) for other in bound.named):
                raise RuleError("a name that is nearly that of a column with a rule")
    if default == "fail" and unnamed:
        raise RuleError("columns that no rule decides")
    if default == "drop" and unnamed:
        bound.order = [place for place in bound.order if place in bound.named]
        if not bound.order:
            raise RuleError("a selection of nothing")
    if default == "null" and unnamed:
        bound.default_report = RuleReport(b"@default null", unnamed, "null")
        result.rules.append(bound.default_report)
    result.unnamed = unnamed if default == "keep" else []
    result.hidden = bound.named | (set(range(columns.count)) - set(bound.order))
    return bound


def write_plain(record, data):
    return data[record.start:record.end]


def write_header(header, bound, dialect, data):
    if header.is_empty:
        return write_plain(header, data)
    return join([header.fields[place].raw for place in bound.order], header, dialect)


def look_for_forbidden(header, bound, forbid, result):
    """Looks for forbidden text in the header cells that stay."""
    for place in bound.order:
        value = header.fields[place].value
        if any(operations.FORBIDDEN[kind](value) for kind in forbid):
            result.refusal = Refusal(3, "something forbidden in the header")


def join(raws, record, dialect):
    content = bytes([dialect.delimiter]).join(raws)
    if content == b"":
        if dialect.quote is None:
            raise CannotCarry()
        content = bytes([dialect.quote]) * 2
    return record.bom + content + record.terminator


def write_record(record, bound, dialect, data, null_token, forbid, result):
    count = bound.columns.count
    if record.is_empty and count != 1:
        result.empty_records += 1
        return write_plain(record, data)
    if len(record.fields) != count:
        raise Fault("fewer or more fields than the header")
    raws = []
    for place in bound.order:
        field = record.fields[place]
        new, was_changed = change(place, record, bound, dialect, null_token)
        if not was_changed:
            if any(operations.FORBIDDEN[kind](field.value) for kind in forbid):
                result.refusal = Refusal(3, "something forbidden in a kept column")
        raws.append(new)
    if record.is_empty and raws == [b""]:
        return write_plain(record, data)
    return join(raws, record, dialect)


def change(place, record, bound, dialect, null_token):
    """Returns the new bytes of a field, and whether its value is another one than before, as far as --forbid asks."""
    field = record.fields[place]
    if place not in bound.named:
        if bound.default_report is None:
            return field.raw, False
        bound.default_report.seen += 1
        if field.value == b"":
            bound.default_report.empty += 1
            return field.raw, False
        bound.default_report.changed += 1
        return null_token or b"", True
    for operation, conditions, report in bound.rules_of[place]:
        report.seen += 1
        if not all(test(record.fields[column].value) for column, test in conditions):
            report.condition_false += 1
            continue
        if field.value == b"" and not operation.empty_changes:
            report.empty += 1
            return field.raw, False
        if operation.name == "keep":
            report.kept += 1
            return field.raw, False
        report.changed += 1
        aids = [record.fields[bound.by[operation]].value] if operation.by is not None else []
        value = operation.apply(field.value, *aids)
        if value is None:
            return null_token or b"", True
        is_kept = operation.name == "top" and value == field.value
        return write_value(value, field.quoted, dialect), not is_kept
    raise AssertionError("no rule without a condition")
