"""The language of rules: words, lists of columns, operations, conditions, and files of rules."""
import csv
import io
import re
from collections import namedtuple

import operations
from fields import BOM

# kind: word, quoted, nth ("name"[2], whose text is name[2]), number (a column #3 or a range #2-#5), or the punctuation
# itself.
Token = namedtuple("Token", "kind text")
# An item of a list of columns. kind: word, quoted, nth or number.
Item = namedtuple("Item", "kind text negated")
# test: a function from the column's value to a bool.
Condition = namedtuple("Condition", "column test")
# apply: a function from a value, and from the value of the column `by` if that is not None, to a value or to None for
# null. constant: what the operation always writes, or None. by: an Item.
Operation = namedtuple("Operation", "name apply constant empty_changes by")
# keys: name -> bytes. tables: the files that rules can name, path -> bytes.
Scope = namedtuple("Scope", "keys tables")
Argument = namedtuple("Argument", "name value nested kind")
Rule = namedtuple("Rule", "text items operation conditions")

PUNCTUATION = (b"!=", b",", b":", b"(", b")", b"{", b"}", b"=", b"!")
NOT_IN_WORDS = b' \t,:(){}"=!#'


class RuleError(Exception):
    """The rules are refused: exit status 2."""

    def __init__(self, kind):
        super().__init__(kind)
        self.kind = kind


def word_size(text, at, also=b""):
    size = 0
    while at + size < len(text):
        byte = text[at + size]
        if byte not in also and (byte in NOT_IN_WORDS or byte < 0x20 or byte == 0x7F):
            break
        size += 1
    return size


def tokens_of(text):
    tokens, at = [], 0
    while at < len(text):
        if text[at:at + 1] in (b" ", b"\t"):
            at += 1
            continue
        if text[at:at + 1] == b'"':
            end, value = at + 1, b""
            while True:
                close = text.find(b'"', end)
                if close < 0:
                    raise RuleError("open quote in a rule")
                value += text[end:close]
                if text[close + 1:close + 2] != b'"':
                    break
                value += b'"'
                end = close + 2
            number = re.compile(rb"\[[0-9]+\]").match(text, close + 1)
            tokens.append(Token("nth", value + number.group()) if number else Token("quoted", value))
            at = number.end() if number else close + 1
            continue
        if text[at:at + 1] == b"#":
            size = 1 + word_size(text, at + 1, b"#")
            tokens.append(Token("number", text[at:at + size]))
            at += size
            continue
        punctuation = next((mark for mark in PUNCTUATION if text.startswith(mark, at)), None)
        if punctuation:
            tokens.append(Token(punctuation.decode(), punctuation))
            at += len(punctuation)
            continue
        size = word_size(text, at)
        if size == 0:
            raise RuleError("a byte that no word may have")
        tokens.append(Token("word", text[at:at + size]))
        at += size
    return tokens


class Parser:
    def __init__(self, text):
        self.tokens = tokens_of(text)
        self.at = 0

    def peek(self):
        return self.tokens[self.at] if self.at < len(self.tokens) else Token("end", b"")

    def take(self, *kinds):
        token = self.peek()
        if token.kind not in kinds:
            raise RuleError("expected %s" % " or ".join(kinds))
        self.at += 1
        return token

    def skip(self, kind):
        if self.peek().kind == kind:
            self.at += 1
            return True
        return False

    def skip_word(self, text):
        if self.peek() == Token("word", text):
            self.at += 1
            return True
        return False

    def columns(self):
        items = []
        while True:
            negated = self.skip("!")
            token = self.column()
            items.append(Item(token.kind, token.text, negated))
            if not self.skip(","):
                return items

    def column(self):
        return self.take("word", "quoted", "nth", "number")

    def value(self):
        return self.take("word", "quoted").text

    def arguments(self):
        """Returns a list of Arguments; name and nested may be None."""
        found = []
        if not self.skip("("):
            return found
        if self.skip(")"):
            return found
        while True:
            token = self.take("word", "quoted")
            name, value, nested, kind = None, token.text, None, token.kind
            if token.kind == "word" and self.skip("="):
                token = self.column() if value == b"by" else self.take("word", "quoted")
                name, value, kind = value, token.text, token.kind
                if self.peek().kind == "(":
                    nested = self.arguments()
            found.append(Argument(name, value, nested, kind))
            if not self.skip(","):
                self.take(")")
                return found

    def condition(self):
        token = self.column()
        column = Item(token.kind, token.text, False)
        if self.skip("="):
            wanted = self.value()
            return Condition(column, lambda value: value == wanted)
        if self.skip("!="):
            unwanted = self.value()
            return Condition(column, lambda value: value != unwanted)
        if self.skip_word(b"in"):
            self.take("{")
            choices = [self.value()]
            while self.skip(","):
                choices.append(self.value())
            self.take("}")
            return Condition(column, lambda value: value in choices)
        if self.skip_word(b"empty"):
            return Condition(column, lambda value: value == b"")
        if self.skip_word(b"not") and self.skip_word(b"empty"):
            return Condition(column, lambda value: value != b"")
        raise RuleError("no condition")

    def end(self):
        self.take("end")


def parse_select(text):
    parser = Parser(text)
    items = parser.columns()
    parser.end()
    return items


def parse_rule(text, scope):
    parser = Parser(text)
    items = parser.columns()
    parser.take(":")
    name = parser.take("word").text
    operation = make_operation(name, parser.arguments(), scope)
    conditions = []
    if parser.skip_word(b"if"):
        conditions.append(parser.condition())
        while parser.skip_word(b"and"):
            conditions.append(parser.condition())
    parser.end()
    return Rule(text, items, operation, conditions)


def parse_file(text):
    """The rules of a file, and the values of its @default lines."""
    rules, defaults = [], []
    lines = text.removeprefix(BOM).split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    for line in lines:
        if line == b"#" or line[:2] in (b"# ", b"#\t"):
            continue
        words = line.split()
        if words[:1] == [b"@default"]:
            if len(words) != 2:
                raise RuleError("@default")
            defaults.append(words[1].decode("latin-1"))
        else:
            rules.append(line)
    return rules, defaults


def whole_number(text, least, most):
    if not re.fullmatch(rb"[0-9]+", text) or not least <= int(text) <= most:
        raise RuleError("number out of range")
    return int(text)


def named_arguments(arguments, allowed):
    """The arguments as a dict; a flag, which has no value, maps to True."""
    found = {}
    for name, value, nested, kind in arguments:
        if name == b"by":
            value = Item(kind, value, False)
        if nested is not None:
            raise RuleError("arguments of a value")
        if name is None:
            name, value = value, True
        name = name.decode("latin-1")
        if name in found or name not in allowed or (value is True) != (allowed[name] == "flag"):
            raise RuleError("argument")
        found[name] = value
    return found


def make_token(arguments, keys):
    """Returns a function from a value to its token."""
    key = take_key(arguments, keys)
    given = named_arguments(arguments[1:], {"bytes": "value", "form": "value", "context": "value", "trim": "flag",
                                            "lower": "flag", "version": "value", "prefix": "flag"})
    check_context(given)
    version = whole_number(given.get("version", b"1"), 1, 2)
    if "prefix" in given and version == 1:
        raise RuleError("prefix")
    prefix = b"v2." if "prefix" in given else b""
    form = given.get("form", b"base64url").decode("latin-1")
    if form not in ("base64url", "hex", "decimal") or (form == "decimal" and "bytes" in given):
        raise RuleError("form")
    size = whole_number(given.get("bytes", b"16"), 8, 32)
    return lambda value: operations.token(value, key, size, form, given.get("context"), "trim" in given,
                                          "lower" in given, version, prefix)


def take_key(arguments, keys):
    if not arguments or arguments[0].name is not None or arguments[0].nested is not None:
        raise RuleError("no key")
    if arguments[0].value not in keys:
        raise RuleError("unknown key")
    return keys[arguments[0].value]


def check_context(given):
    if given.get("context") == b"":
        raise RuleError("an empty context")
    return given.get("context", b"")


def decimal(text, most, least=0):
    if not re.fullmatch(rb"[0-9]+(\.[0-9]+)?", text) or len(text.replace(b".", b"")) > most:
        raise RuleError("no decimal number")
    if least and operations.exact_number(text) == 0:
        raise RuleError("zero")
    return text


def only_argument(arguments):
    if len(arguments) != 1 or arguments[0].name is not None or arguments[0].nested is not None:
        raise RuleError("one argument")
    return arguments[0].value


def lines_of(text):
    lines = [line.removesuffix(b"\r") for line in text.removeprefix(BOM).split(b"\n")]
    lines = [line for line in lines if line]
    if not lines:
        raise RuleError("a list without values")
    return lines


def table_of(text, level):
    records = [[cell.encode("latin-1") for cell in record]
               for record in csv.reader(io.StringIO(text.removeprefix(BOM).decode("latin-1"), newline="")) if record]
    if any(len(record) <= level for record in records):
        raise RuleError("no such level")
    for record in records:
        limits = [operations.exact_number(limit) for limit in record[0].partition(b"..")[::2]]
        if b".." in record[0] and (limits[0] is None) != (limits[1] is None):
            raise RuleError("half a range")
    return records


def make_keyed(name, arguments, scope):
    """The operations with keys of their own. Returns a function, and the column `by` or None."""
    key = take_key(arguments, scope.keys)
    if name == "pick":
        if len(arguments) < 2 or arguments[1].name is not None or arguments[1].nested is not None:
            raise RuleError("no file")
        lines = lines_of(scope.tables[arguments[1].value])
        context = check_context(named_arguments(arguments[2:], {"context": "value"}))
        return lambda value: operations.pick(value, key, lines, context), None
    allowed = {"context": "value", **{"shift-date": {"by": "value", "days": "value", "format": "value",
                                                             "version": "value"},
                                      "noise": {"by": "value", "sd": "value"}, "encrypt": {"prefix": "flag"}}.get(name, {})}
    given = named_arguments(arguments[1:], allowed)
    context = check_context(given)
    if name == "form":
        return lambda value: operations.form(value, key, context), None
    if name == "encrypt":
        prefix = b"v2." if "prefix" in given else b""
        return lambda value: operations.encrypt(value, key, context, prefix), None
    if name == "decrypt":
        return lambda value: operations.decrypt(value, key, context), None
    if "by" not in given:
        raise RuleError("no by")
    if name == "noise":
        deviation = decimal(given.get("sd", b""), 12, 1)
        return lambda value, by: operations.noise(value, by, key, deviation, context), given["by"]
    days = whole_number(given.get("days", b"365"), 1, 36500)
    version = whole_number(given.get("version", b"2"), 1, 2)
    formats = given.get("format", b"YYYY-MM-DD|YYYYMMDD|YYYY/MM/DD|DD.MM.YYYY").split(b"|")
    shapes = [re.sub(b"[YMD]", b"9", text) for text in formats]
    if len(formats) > 8 or len(set(shapes)) < len(shapes) or not all(is_date_format(text) for text in formats):
        raise RuleError("date format")
    return lambda value, by: operations.shift_date(value, by, key, days, formats, context, version), given["by"]


def is_date_format(text):
    return len(text) <= 16 and all(part in text and text.count(part[:1]) == len(part) for part in (b"YYYY", b"MM", b"DD"))


def make_operation(name, arguments, scope):
    name = name.decode("latin-1")
    empty_changes = bool(arguments) and arguments[-1][:3] == (b"empty", b"change", None)
    if empty_changes:
        arguments = arguments[:-1]
    constant = by = None
    keys = scope.keys
    if name == "fixed":
        if len(arguments) != 1 or arguments[0][0] is not None:
            raise RuleError("fixed")
        constant = arguments[0][1]
        apply = lambda value: constant
    elif name == "hmac":
        apply = make_token(arguments, keys)
    elif name == "mask":
        given = named_arguments(arguments, {"first": "value", "last": "value", "char": "value"})
        first = whole_number(given.get("first", b"0"), 0, 1000000)
        last = whole_number(given.get("last", b"0"), 0, 1000000)
        char = given.get("char", b"*")
        if len(char) != 1 or not 0x20 <= char[0] <= 0x7E:
            raise RuleError("char")
        apply = lambda value: operations.mask(value, first, last, char)
    elif name == "email":
        if len(arguments) != 1 or arguments[0][0] != b"local":
            raise RuleError("email")
        _, value, nested, _ = arguments[0]
        if value == b"mask" and nested is None:
            local_operation = operations.mask
        elif value == b"hmac" and nested is not None:
            local_operation = make_token(nested, keys)
        else:
            raise RuleError("email")
        apply = lambda value: operations.email(value, local_operation)
    elif name == "date":
        if len(arguments) != 1 or arguments[0][0] is not None or arguments[0][1] not in (b"year", b"month", b"day"):
            raise RuleError("date")
        unit = arguments[0][1].decode()
        apply = lambda value: operations.date(value, unit)
    elif name == "bucket":
        width = decimal(only_argument(arguments), 18, 1)
        apply = lambda value: operations.bucket(value, width)
    elif name == "round":
        width = decimal(only_argument(arguments), 18, 1)
        apply = lambda value: operations.round_to(value, width)
    elif name == "top":
        limit = decimal(only_argument(arguments), 18)
        apply = lambda value: operations.top(value, limit)
    elif name == "generalise":
        if not arguments or arguments[0].name is not None or arguments[0].nested is not None:
            raise RuleError("no file")
        level = whole_number(named_arguments(arguments[1:], {"level": "value"}).get("level", b"1"), 1, 1000)
        table = table_of(scope.tables[arguments[0].value], level)
        apply = lambda value: operations.generalise(value, table, level)
    elif name in ("pick", "shift-date", "noise", "form", "encrypt", "decrypt"):
        apply, by = make_keyed(name, arguments, scope)
    elif arguments:
        raise RuleError("arguments of an operation that has none")
    elif name == "keep":
        apply = lambda value: value
    elif name == "null":
        apply = lambda value: None
    elif name == "initials":
        apply = operations.initials
    elif name == "short-name":
        apply = operations.short_name
    elif name == "fail":
        raise RuleError("a column that is not decided yet")
    else:
        raise RuleError("unknown operation")
    return Operation(name, apply, constant, empty_changes, by)


# The columns of one input: names is a list of bytes, or None without a header; count is their number.
Columns = namedtuple("Columns", "names count")


def place_of_name(name, columns):
    """The only column with this name."""
    places = [place for place, other in enumerate(columns.names or []) if other == name]
    if not places:
        raise RuleError("no such column")
    if len(places) > 1:
        raise RuleError("several columns of one name")
    return places[0]


def nth_place(name, number, columns):
    places = [place for place, other in enumerate(columns.names or []) if other == name]
    if not 1 <= number <= len(places):
        raise RuleError("no such column of this name")
    return places[number - 1]


def place_of_number(text, columns):
    if not re.fullmatch(rb"#[0-9]+", text) or not 1 <= int(text[1:]) <= columns.count:
        raise RuleError("no such column number")
    return int(text[1:]) - 1


def glob_matches(pattern, name):
    return re.fullmatch(b".*".join(re.escape(part) for part in pattern.split(b"*")), name, re.DOTALL) is not None


def one_place(item, columns):
    """The column that a condition names."""
    places = places_of(item, columns)
    if len(places) != 1 or (item.kind == "word" and b"*" in item.text):
        raise RuleError("a condition looks at one column")
    return places[0]


def places_of(item, columns):
    """The columns that one item names, as numbers from 0. Not for `*` alone."""
    if item.kind == "quoted":
        return [place_of_name(item.text, columns)]
    if item.kind == "nth":
        name, _, number = item.text[:-1].rpartition(b"[")
        return [nth_place(name, int(number), columns)]
    if item.kind == "number":
        first, dash, last = item.text.partition(b"-")
        start = place_of_number(first, columns)
        return range_of(start, place_of_number(last, columns)) if dash else [start]
    names = columns.names or []
    if b"*" in item.text:
        places = [place for place, name in enumerate(names) if glob_matches(item.text, name)]
        if not places:
            raise RuleError("a glob without a column")
        return places
    ranges = []
    for at, byte in enumerate(item.text):
        if byte == ord("-") and item.text[:at] in names and item.text[at + 1:] in names:
            ranges.append((item.text[:at], item.text[at + 1:]))
    if item.text in names:
        if ranges:
            raise RuleError("a column or a range")
        return [place_of_name(item.text, columns)]
    indexed = re.fullmatch(rb"(.+)\[([0-9]+)\]", item.text, re.DOTALL)
    if indexed and not ranges:
        return [nth_place(indexed.group(1), int(indexed.group(2)), columns)]
    if len(ranges) != 1:
        raise RuleError("no such column")
    return range_of(place_of_name(ranges[0][0], columns), place_of_name(ranges[0][1], columns))


def range_of(first, last):
    if first > last:
        raise RuleError("a range that ends before it starts")
    return list(range(first, last + 1))


def places_of_list(items, columns):
    """The columns that a list names, in its order."""
    negated = {place for item in items if item.negated for place in places_of(item, columns)}
    wanted = [item for item in items if not item.negated] or [Item("word", b"*", False)]
    is_rest = [item.kind == "word" and item.text == b"*" for item in wanted]
    expanded = [None if rest else places_of(item, columns) for item, rest in zip(wanted, is_rest)]
    named = {place for places in expanded if places is not None for place in places}
    order = []
    for places in expanded:
        if places is None:
            places = [place for place in range(columns.count) if place not in named]
        order.extend(place for place in places if place not in negated)
    if not order:
        raise RuleError("a list without a column")
    return order
