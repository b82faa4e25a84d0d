#!/usr/bin/env python3
"""Compares what rules make of JSON Lines with a reference that shares no code with the library.

  json_rules.py CLEAVE [--leaks] [--count N] [--seed N] [--jobs N] [--keep DIRECTORY] [--most N]

Each case is a file of random lines, with damage in some, and random rules, as lists of paths and not as text. The
reference parses a line into a tree whose nodes know their bytes, and makes a list of edits. Compared are the exit
status, the bytes, and the counts of the report.

With --leaks, each case is a line with a secret somewhere, and rules that must not let it pass, whatever else is wrong
with the line. It may be in no output.
"""
import argparse
import gzip
import json
import os
import random
import re
import shlex
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import driver  # noqa: E402
import operations  # noqa: E402
from similar import are_similar  # noqa: E402

EACH = object()
SCALAR = re.compile(rb"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?|true|false|null")
KEY = b"a key of 32 bytes for the test.."
TIMEOUT = 120


class Fault(Exception):
    """Exit status 3."""


class Node:
    def __init__(self, kind, begin):
        self.kind, self.begin, self.end = kind, begin, begin
        self.text = None       # of a scalar, decoded
        self.members = []      # (name or index, begin of the member, Node)


class Parser:
    """RFC 8259, a byte at a time."""

    def __init__(self, line):
        self.line, self.at = line, 0

    def parse(self):
        self.blanks()
        node = self.value()
        self.blanks()
        if self.at != len(self.line):
            raise Fault("more text")
        return node

    def peek(self):
        return self.line[self.at:self.at + 1]

    def blanks(self):
        while self.peek() and self.peek() in b" \t\r\n":
            self.at += 1

    def take(self, byte):
        if self.peek() != byte:
            raise Fault("expected %r" % byte)
        self.at += 1

    def value(self):
        begin = self.peek()
        if begin == b"{" or begin == b"[":
            return self.container(begin == b"{")
        node = Node(None, self.at)
        if begin == b'"':
            node.kind, node.text = "string", self.string()
        else:
            found = SCALAR.match(self.line, self.at)
            if not found:
                raise Fault("no value")
            node.text = found.group()
            node.kind = {b"true": "bool", b"false": "bool", b"null": "null"}.get(node.text, "number")
            self.at = found.end()
        node.end = self.at
        return node

    def string(self):
        begin = self.at
        self.at += 1
        while self.peek() != b'"':
            if not self.peek():
                raise Fault("open string")
            self.at += 2 if self.peek() == b"\\" else 1
        self.at += 1
        try:
            return json.loads(self.line[begin:self.at].decode("utf-8")).encode("utf-8")
        except ValueError as error:  # also half a surrogate pair, which cannot be encoded
            raise Fault("a bad string") from error

    def container(self, is_object):
        node = Node("object" if is_object else "array", self.at)
        self.at += 1
        self.blanks()
        close = b"}" if is_object else b"]"
        while self.peek() != close:
            if node.members:
                self.take(b",")
                self.blanks()
            begin, name = self.at, len(node.members)
            if is_object:
                if self.peek() != b'"':
                    raise Fault("no name")
                name = self.string()
                self.blanks()
                self.take(b":")
                self.blanks()
            node.members.append((name, begin, self.value()))
            self.blanks()
        self.at += 1
        node.end = self.at
        names = [name for name, _, _ in node.members]
        if len(set(names)) != len(names):
            raise Fault("a doubled name")
        return node


def matches(pattern, path, whole=True):
    """Whether the pattern is that of the path; without `whole`, whether it begins with it."""
    if len(pattern) < len(path) or (whole and len(pattern) != len(path)):
        return False
    return all(one == step or (one is EACH and isinstance(step, int)) for one, step in zip(pattern, path))


def text_of(pattern):
    text = ""
    for step in pattern:
        if isinstance(step, bytes):
            name = step.decode()
            plain = name.isascii() and name.isalnum()
            text += "." + (name if plain else '"%s"' % name.replace('"', '""'))
        else:
            text += ("." if not text else "") + ("[]" if step is EACH else "[%d]" % step)
    return text


OPERATIONS = {
    "mask": ("mask", operations.mask),
    "first": ("mask(first=1, char=x)", lambda value: operations.mask(value, 1, 0, b"x")),
    "fixed": ('fixed("a ""b"" \\")', lambda value: b'a "b" \\'),
    "initials": ("initials", operations.initials),
    "hmac": ("hmac(k)", lambda value: operations.token(value, KEY)),
    "round": ("round(10)", lambda value: operations.round_to(value, b"10")),
    "top": ("top(90)", lambda value: operations.top(value, b"90")),
    "bucket": ("bucket(10)", lambda value: operations.bucket(value, b"10")),
    "date": ("date(year)", lambda value: operations.date(value, "year")),
    "null": ("null", lambda value: None),
    "keep": ("keep", None),
}


class Rule:
    def __init__(self, patterns, operation, changes_empty, conditions):
        self.patterns, self.operation, self.changes_empty = patterns, operation, changes_empty
        self.conditions = conditions  # ("string",) or (kind, pattern, values)
        self.counts = dict.fromkeys(("seen", "changed", "kept", "empty", "condition_false"), 0)

    def text(self):
        operation = OPERATIONS[self.operation][0]
        if self.changes_empty:
            operation = operation[:-1] + ", empty=change)" if operation.endswith(")") else operation + "(empty=change)"
        text = ", ".join(map(text_of, self.patterns)) + ": " + operation
        parts = []
        for kind, *rest in self.conditions:
            if kind == "string":
                parts.append("string")
                continue
            pattern, values = rest
            quoted = ['"%s"' % value.decode().replace('"', '""') for value in values]
            parts.append(text_of(pattern) + {"in": " in {%s}" % ", ".join(quoted), "=": " = " + quoted[0],
                                             "!=": " != " + quoted[0], "empty": " empty",
                                             "not empty": " not empty"}[kind])
        return text + (" if " + " and ".join(parts) if parts else "")


class Reference:
    def __init__(self, rules, select, default, forbid):
        self.rules, self.select, self.default, self.forbid = rules, select, default, forbid
        self.implied = {}       # the last rule of a chain -> a Rule that keeps
        self.default_rule = Rule([], "null", False, [])
        self.met = {}
        self.keeps_others = all(is_out for _, is_out in select)

    def line(self, line):
        if not line.strip(b" \t\r\n"):
            return line
        body = line.rstrip(b" \t\r\n")
        root = Parser(body).parse()
        may_be_array = any(not isinstance(pattern[0], bytes) for pattern in self.required())
        if root.kind != "object" and not (root.kind == "array" and may_be_array):
            raise Fault("no object")
        self.root, self.edits = root, []
        self.meet(root, ())
        self.write(root, (), self.keeps_others, False)
        out, at = b"", 0
        for begin, end, text in sorted(self.edits, key=lambda edit: edit[:2]):
            out += body[at:begin] + text
            at = end
        self.body = body
        return out + body[at:] + line[len(body):]

    def required(self):
        found = [pattern for rule in self.rules for pattern in rule.patterns]
        found += [rest[0] for rule in self.rules for kind, *rest in rule.conditions if kind != "string"]
        return found + [pattern for pattern, _ in self.select]

    def meet(self, node, path):
        for pattern in self.required():
            if path and matches(pattern, path):
                self.met[text_of(pattern)] = True
        for name, _, below in node.members:
            self.meet(below, path + (name,))

    def at(self, path):
        node = self.root
        for step in path:
            found = [below for name, _, below in node.members
                     if name == step and (node.kind == "object") == isinstance(step, bytes)]
            if not found:
                return None
            node = found[0]
        return node

    def holds(self, condition, node, path):
        kind, *rest = condition
        if kind == "string":
            return node.kind == "string"
        pattern, values = rest
        concrete, same = (), True
        for i, step in enumerate(pattern):
            if step is EACH:
                assert same and isinstance(path[i], int)
                step = path[i]
            concrete += (step,)
            same = same and i < len(path)
        found = self.at(concrete)
        is_container = found is not None and found.kind in ("object", "array")
        is_empty = found is None or found.kind == "null" or (not is_container and found.text == b"")
        if kind in ("empty", "not empty"):
            return is_empty == (kind == "empty")
        if is_container:
            raise Fault("a condition on an object")
        return ((b"" if is_empty else found.text) in values) == (kind != "!=")

    def decide(self, node, path):
        """The rule for a value and whether it covers what is inside; None without rules."""
        last = None
        for rule in self.rules:
            if not any(matches(pattern, path) for pattern in rule.patterns):
                continue
            rule.counts["seen"] += 1
            if all(self.holds(condition, node, path) for condition in rule.conditions):
                return rule, True
            rule.counts["condition_false"] += 1
            last = rule
        if last is None:
            return None, False
        implied = self.implied.setdefault(id(last), Rule([], "keep", False, []))
        implied.counts["seen"] += 1
        return implied, False

    def look(self, text):
        for kind in self.forbid:
            if {"email": operations.has_mail, "card": operations.has_card}[kind](text):
                raise Fault("forbidden")

    def is_within(self, path):
        return any(matches(pattern, path, whole=False) for rule in self.rules for pattern in rule.patterns)

    def write(self, node, path, stays, covered):
        """For a node that is written."""
        rule, covers = self.decide(node, path) if path else (None, False)
        if node.kind in ("object", "array"):
            if rule is not None:
                if rule.operation == "null":
                    rule.counts["changed"] += 1
                    self.edits.append((node.begin, node.end, b"null"))
                    return
                if rule.operation != "keep":
                    raise Fault("an object where text is expected")
                rule.counts["kept"] += 1
                covered = covered or covers
            self.write_members(node, path, stays, covered)
            return
        if rule is None:
            if node.kind == "string" and self.default != "keep" and not covered:
                if self.default == "fail":
                    raise Fault("no rule")
                self.default_rule.counts["seen"] += 1
                if node.text:
                    self.default_rule.counts["changed"] += 1
                    self.edits.append((node.begin, node.end, b"null"))
                    return
                self.default_rule.counts["empty"] += 1
            if node.kind in ("string", "number"):
                self.look(node.text)
            return
        value = b"" if node.kind == "null" else node.text
        if not value and not rule.changes_empty and rule.operation is not None:
            rule.counts["empty"] += 1
            return
        if rule.operation == "keep":
            rule.counts["kept"] += 1
            self.look(value)
            return
        rule.counts["changed"] += 1
        made = OPERATIONS[rule.operation][1](value)
        if rule.operation == "top" and made == value:
            self.look(value)
        text = b"null" if made is None else self.encoded(made, node, rule)
        self.edits.append((node.begin, node.end, text))

    @staticmethod
    def encoded(made, node, rule):
        if node.kind == "number" and rule.operation in ("round", "bucket", "top"):
            try:
                parsed = Parser(made)
                if parsed.parse().kind == "number" and made[:1] not in b" \t":
                    return made
            except Fault:
                pass
        try:
            return json.dumps(made.decode("utf-8"), ensure_ascii=False).encode("utf-8")
        except ValueError as error:
            raise Fault("not UTF-8") from error

    def write_members(self, node, path, stays, covered):
        written, gap, last_end = False, None, None
        for name, begin, below in node.members:
            here = path + (name,)
            named = [is_out for pattern, is_out in self.select if matches(pattern, here)]
            keeps = not named[-1] if named else stays
            nests = below.kind in ("object", "array") and any(
                not is_out and len(pattern) > len(here) and matches(pattern, here, whole=False)
                for pattern, is_out in self.select)
            if keeps or nests:
                if gap is not None:
                    self.edits.append((gap, begin, b""))
                gap, written = None, True
                if isinstance(name, bytes):
                    self.check_name(name, path, covered)
                self.write(below, here, keeps, covered)
            elif written:
                comma = last_end
                while self.line_at(comma) != b",":
                    comma += 1
                self.edits.append((comma, below.end, b""))
            elif gap is None:
                gap = begin
            last_end = below.end
        if gap is not None:
            self.edits.append((gap, last_end, b""))

    def line_at(self, at):
        return self.raw[at:at + 1]

    def check_name(self, name, path, covered):
        self.look(name)
        if self.default != "keep" or covered or self.is_within(path + (name,)):
            return
        for rule in self.rules:
            for pattern in rule.patterns:
                if len(pattern) > len(path) and matches(pattern[:len(path)], path) and \
                        isinstance(pattern[len(path)], bytes) and are_similar(pattern[len(path)], name):
                    raise Fault("a similar name")


NAMES = [b"id", b"user", b"email", b"name", b"tags", b"messages", b"content", b"role", b"E-Mail", b"a.b", b"na me",
         "é".encode(), b"x"]
TEXTS = [b"", b"ann@example.org", b"Ann Lee", b"user", b"2024-05-06", b"4111 1111 1111 1111", "Zoë \u4e2d".encode(),
         b'say "hi"\n', b"95", b"\\", "\U0001F600".encode(), b"tab\there"]
NUMBERS = [b"0", b"7", b"95", b"-3", b"1.50", b"1e3", b"123456", b"4111111111111111"]


def escaped(text, random_):
    """A random spelling of a string."""
    out = ""
    for character in text.decode():
        code = ord(character)
        if random_.random() < 0.1 and code < 0x10000:
            out += "\\u%04x" % code
        elif random_.random() < 0.2 and code > 0xFFFF:
            code -= 0x10000
            out += "\\u%04X\\u%04X" % (0xD800 + (code >> 10), 0xDC00 + (code & 0x3FF))
        elif character == "/" and random_.random() < 0.3:
            out += "\\/"
        else:
            out += json.dumps(character, ensure_ascii=False)[1:-1]
    return '"%s"' % out


class Generator:
    def __init__(self, random_):
        self.random = random_
        self.names = random_.sample(NAMES if random_.random() < 0.2 else NAMES[:8] + NAMES[9:], random_.randint(2, 7))
        self.paths = []
        self.has_blanks = random_.random() < 0.5
        self.likes_scalars = random_.uniform(0.3, 0.9)

    def blank(self):
        return self.random.choice(["", " ", "\t", "  "]) if self.has_blanks else ""

    def value(self, depth):
        random_ = self.random
        if depth > 3 or random_.random() < self.likes_scalars:
            kind = random_.random()
            if kind < 0.6:
                return escaped(random_.choice(TEXTS), random_)
            if kind < 0.85:
                return random_.choice(NUMBERS).decode()
            return random_.choice(["true", "false", "null"])
        return self.object(depth) if random_.random() < 0.6 else self.array(depth)

    def joined(self, parts, brackets):
        text = ("%s,%s" % (self.blank(), self.blank())).join(parts) if not self.has_blanks else ""
        if self.has_blanks:
            for i, part in enumerate(parts):
                text += (self.blank() + "," + self.blank() if i else "") + part
        return brackets[0] + self.blank() + text + self.blank() + brackets[1]

    def object(self, depth=0):
        random_ = self.random
        names = random_.sample(self.names, random_.randint(0, len(self.names)))
        if names and random_.random() < 0.002:
            names.append(names[0])
        members = [escaped(name, random_) + self.blank() + ":" + self.blank() + self.value(depth + 1) for name in names]
        return self.joined(members, "{}")

    def array(self, depth):
        return self.joined([self.value(depth + 1) for _ in range(self.random.randint(0, 3))], "[]")

    def lines(self):
        random_ = self.random
        out = b""
        end = random_.choice([b"\n", b"\n", b"\r\n"])
        count = random_.choice([0, 1, 2, 5, 20, 60])
        for i in range(count):
            kind = random_.random()
            if kind < 0.02:
                line = random_.choice([b"", b" \t"])
            elif kind < 0.024:
                line = random_.choice([b"[1]", b'"text"', b"17", b'{"a":1', b'{"a":"\\ud800"}', b'{"a":"\xff"}',
                                       b'{"\\udc00":1}', b'{"a":NaN}', b'{"a":1}{', b"{,}", b'{"a":01}'])
            else:
                line = (self.blank() + self.object() + self.blank()).encode()
            out += line + (end if i + 1 < count or random_.random() < 0.8 else b"")
        return out

    def remember(self, node, path):
        """Takes the paths of a line, so that most patterns meet something."""
        for name, _, below in node.members:
            self.paths.append(path + (name,))
            if below.kind not in ("object", "array"):
                self.paths += [path + (name,)] * 2
            self.remember(below, path + (name,))

    def pattern(self):
        random_ = self.random
        if self.paths and random_.random() < 0.93:
            return tuple(EACH if isinstance(step, int) and (step > 2 or random_.random() < 0.8) else step
                         for step in random_.choice(self.paths))
        steps = [random_.choice(self.names)]
        while random_.random() < 0.45 and len(steps) < 4:
            kind = random_.random()
            steps.append(EACH if kind < 0.3 else random_.randint(0, 2) if kind < 0.4 else random_.choice(self.names))
        return tuple(steps)

    def condition(self, patterns):
        random_ = self.random
        if random_.random() < 0.5:
            return ("string",)
        base = patterns[0]
        cut = random_.randint(0, len(base))
        for other in patterns[1:]:
            while other[:cut] != base[:cut]:
                cut -= 1
        pattern = base[:cut] + tuple(step for step in self.pattern() if step is not EACH) or (b"x",)
        kind = random_.choice(["in", "=", "!=", "empty", "not empty"])
        values = random_.sample([text for text in TEXTS if text.isascii() and b"\n" not in text and b"\t" not in text],
                                2 if kind == "in" else 1)
        return (kind, pattern, values)

    def rules(self):
        random_ = self.random
        rules = []
        for _ in range(random_.choice([0, 1, 1, 2, 3])):
            patterns = [self.pattern() for _ in range(random_.choice([1, 1, 2]))]
            operation = random_.choice(list(OPERATIONS) + ["null", "keep"])
            changes_empty = operation != "keep" and random_.random() < 0.2
            conditions = [self.condition(patterns) for _ in range(random_.choice([0, 1, 1, 2]))]
            rules.append(Rule(patterns, operation, changes_empty, conditions))
            if any(condition[0] != "string" for condition in conditions) or len(conditions) > 1:
                rules.append(Rule(patterns, random_.choice(["keep", "mask", "null"]), False,
                                  random_.choice([[], [("string",)]])))
        return rules

    def selection(self):
        random_ = self.random
        if random_.random() < 0.5:
            return []
        found = {}
        leaves_out = random_.random() < 0.4
        for _ in range(random_.randint(1, 3)):
            pattern = self.pattern()
            # [0] and [] in one selection would need a word on which one wins; only one kind is generated here.
            found[tuple(step if isinstance(step, bytes) else EACH for step in pattern)] = (
                leaves_out if random_.random() < 0.8 else not leaves_out)
        return list(found.items())


def command_line(options, case, directory, random_):
    line = [options.cleave]
    words = []
    for rule in case.rules:
        words += ["--redact", rule.text()]
    if case.select:
        words += ["--select", ",".join(("!" if is_out else "") + text_of(pattern) for pattern, is_out in case.select)]
    if case.default != "keep" or random_.random() < 0.1:
        words += ["--redact-default", case.default]
    for kind in case.forbid:
        words += ["--forbid", kind]
    if any(rule.operation == "hmac" for rule in case.rules):
        words += ["--key", "k=file:" + os.path.join(directory, "key")]
    return line, words


class Case:
    def __init__(self, seed):
        self.random = random_ = random.Random(seed)
        generator = Generator(random_)
        self.data = generator.lines()
        for line in self.data.split(b"\n"):
            try:
                generator.remember(Parser(line.strip()).parse(), ())
            except (Fault, IndexError):
                pass
        self.rules, self.select = generator.rules(), generator.selection()
        self.default = random_.choice(["keep", "keep", "keep", "null", "null"] + (["fail"] if self.rules else []))
        self.forbid = random_.sample(["email", "card"], random_.choice([0, 0, 0, 0, 1, 2]))
        if not (self.rules or self.select or self.forbid):
            self.default = "null"


def expected_of(case):
    """The bytes, or None if the file is refused, and the reference with its counts."""
    reference = Reference(case.rules, case.select, case.default, case.forbid)
    out = b""
    lines = case.data.split(b"\n")
    lines = [line + b"\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
    try:
        for line in lines:
            reference.raw = line
            out += reference.line(line)
        unmet = any(text_of(pattern) not in reference.met for pattern in reference.required())
        if unmet and any(line.strip() for line in lines):
            raise Fault("a path met nothing")
    except (Fault, operations.Fault):
        return None, reference
    return out, reference


def run_case(seed, options, _kernels, directory):
    case = Case(seed)
    random_ = case.random
    os.mkdir(directory)
    path = os.path.join(directory, "in.jsonl")
    source = random_.choice(["file", "file", "pipe", "gzip"])
    data = gzip.compress(case.data, 1) if source == "gzip" else case.data
    with open(path, "wb") as file:
        file.write(data)
    descriptor = os.open(os.path.join(directory, "key"), os.O_WRONLY | os.O_CREAT, 0o600)
    os.write(descriptor, KEY)
    os.close(descriptor)
    line, words = command_line(options, case, directory, random_)
    wanted, reference = expected_of(case)
    how = random_.choice(["cat", "cat", "-n", "-l", "-C"])
    report = os.path.join(directory, "report.json")
    line += ["cat"] if how == "cat" else ["split", how, {"-n": "3", "-l": "4", "-C": "200"}[how], "-o",
                                           os.path.join(directory, "p.{i:04}.jsonl")]
    if how != "cat" and source != "file":
        line += ["--spool", "plain"]
    line += words + ["--redact-report", report, "--dialect", "jsonl", "--threads", random_.choice("14"),
                     "--block-size", random_.choice(["1K", "64K"])]
    line.append("-" if source == "pipe" else path)
    with open(path, "rb") as file:
        done = subprocess.run(line, stdin=file if source == "pipe" else subprocess.DEVNULL, capture_output=True,
                              timeout=TIMEOUT, check=False)

    def told(what):
        kept = os.path.join(options.keep, "json_rules-%d.jsonl" % seed)
        with open(kept, "wb") as file:
            file.write(case.data)
        return "seed %d: %s\n  %s\n  input: %s\n  %s\n" % (seed, what, " ".join(map(shlex.quote, line)), kept,
                                                          done.stderr.decode(errors="replace")[:400])

    if done.returncode == 2:
        return told("refused as wrong usage")
    if done.returncode != (0 if wanted is not None else 3):
        return told("status %d" % done.returncode)
    pieces = sorted(name for name in os.listdir(directory) if name.startswith("p."))
    if wanted is None:
        return told("pieces are left") if pieces else ""
    output = done.stdout
    if how != "cat":
        output = b""
        for name in pieces:
            with open(os.path.join(directory, name), "rb") as file:
                output += file.read()
    if output != wanted:
        return told("bytes: %r, not %r" % (output[:300], wanted[:300]))
    with open(report, "rb") as file:
        rules = json.loads(file.read())["rules"]
    expected = [rule.counts for rule in case.rules]
    for got, count in zip(rules, expected):
        if any(got[name] != count[name] for name in count):
            return told("counts %r, not %r" % (got, count))
    if case.default == "null":
        count = reference.default_rule.counts
        if any(rules[-1][name] != count[name] for name in count):
            return told("counts of the default %r, not %r" % (rules[-1], count))
    return ""


SECRET = b"q7.secret@leak.example.org"


class Planted(Generator):
    """A line with the secret as a value or, if `in_name`, in the name of a member."""

    def __init__(self, random_, in_name):
        super().__init__(random_)
        self.likes_scalars = random_.uniform(0.2, 0.6)
        self.in_name, self.place, self.path = in_name, None, ()

    def line(self):
        random_ = self.random
        while True:
            try:
                path, node = (), Parser(self.object().encode()).parse()
                break
            except Fault:  # some names are doubled
                pass
        while True:
            below = [(name, child) for name, _, child in node.members if child.kind in ("object", "array")]
            if not below or random_.random() < 0.3:
                break
            name, node = random_.choice(below)
            path += (name,)
        spelled = escaped(SECRET, random_)
        if self.in_name or node.kind == "object":
            name = random_.choice(self.names + [b"E-Mail", b"EMAIL"])
            self.path = path + (name,)
            member = spelled + ":1" if self.in_name else escaped(name, random_) + ":" + spelled
        else:
            self.path = path + (len(node.members),)
            member = spelled
        text = self.text
        middle = node.end - 1
        comma = "," if node.members else ""
        return (text[:middle].decode() + comma + member + text[middle:].decode()).encode() + b"\n"

    def object(self, depth=0):
        text = super().object(depth)
        if depth == 0:
            self.text = text.encode()
        return text


def run_leak(seed, options, _kernels, directory):
    random_ = random.Random(seed)
    how = random_.choice(["forbid", "default", "rule", "select"])
    planted = Planted(random_, how == "forbid" and random_.random() < 0.4)
    line = planted.line()
    pattern = tuple(EACH if isinstance(step, int) and random_.random() < 0.7 else step for step in planted.path)
    words = []
    if how == "forbid":
        words = ["--forbid", "email"]
    elif how == "default":
        words = ["--redact-default", random_.choice(["null", "fail"])]
        other = random_.choice(planted.names)
        if not matches(planted.path[:1], (other,)):
            words += ["--redact", text_of((other,)) + "?: keep"]
    elif how == "rule":
        operation = random_.choice(["mask", "fixed(x)", "null", "initials", "hmac(k)", "date(year)", "mask if string"])
        words = ["--redact", text_of(pattern) + ": " + operation]
    else:
        out = pattern[:random_.randint(1, len(pattern))]
        words = ["--select", "!" + text_of(out) if random_.random() < 0.5 else
                 ",".join(text_of((name,)) + "?" for name in planted.names + [b"nothing"] if name != planted.path[0])]
    if random_.random() < 0.1 and how != "forbid":
        words += ["--forbid", "card"]
    if random_.random() < 0.05:
        line = line.replace(b"}", b"", 1)
    os.mkdir(directory)
    path = os.path.join(directory, "in.jsonl")
    report = os.path.join(directory, "report.json")
    with open(path, "wb") as file:
        file.write(line)
    environment = {**os.environ, "K": KEY.decode()}
    verb = ["cat"] if random_.random() < 0.5 else ["split", "-l", "1", "-o", os.path.join(directory, "p.{i}")]
    command = [options.cleave, *verb, *words, "--dialect", "jsonl", "--redact-report", report, path]
    if "hmac(k)" in " ".join(words):
        command += ["--key", "k=env:K"]
    done = subprocess.run(command, capture_output=True, timeout=TIMEOUT, check=False, env=environment,
                          stdin=subprocess.DEVNULL)
    texts = [done.stdout, done.stderr]
    for name in os.listdir(directory):
        if name != "in.jsonl":
            with open(os.path.join(directory, name), "rb") as file:
                texts.append(file.read())
    if done.returncode not in (0, 3):
        return "seed %d: status %d\n  %s\n  %r\n" % (seed, done.returncode, " ".join(map(shlex.quote, command)),
                                                   done.stderr[:300])
    for text in texts:
        plain = text
        try:
            plain = json.dumps(json.loads(text), ensure_ascii=False).encode()
        except ValueError:
            pass
        if any(part in one for one in (text, plain) for part in (SECRET, b"q7.secret", b"@leak.example")):
            return "seed %d: the secret is in %r\n  %s\n  %r\n" % (
                seed, text[:200], " ".join(map(shlex.quote, command)), line)
    return ""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("cleave")
    parser.add_argument("--leaks", action="store_true")
    driver.add_options(parser, 300)
    options = parser.parse_args()
    return driver.run_all(options, run_leak if options.leaks else run_case)


if __name__ == "__main__":
    sys.exit(main())
