#!/usr/bin/env python3
"""Compares the command with the oracle on random files and rules.

  compare.py CLEAVE [--count N] [--seed N] [--jobs N] [--kernel NAME] [--keep DIRECTORY] [--without-stages]

Case K of a run, counted from 0, has the seed SEED + K; --seed with that number and --count 1 repeat it. If there is a
difference, the seed, the command line and what differs are printed, and --keep keeps the input and the rules in
DIRECTORY. --without-stages cuts the same files without rules, which checks the oracle's pieces against the command.
"""
import argparse
import gzip
import json
import os
import random
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import driver  # noqa: E402
import pieces  # noqa: E402
from fields import BOM, Fault, read_record  # noqa: E402
from generate import SECRET, TABLES, make_case  # noqa: E402
from language import RuleError, one_place, parse_select  # noqa: E402
from oracle import MAX_RECORD, redact  # noqa: E402

TIMEOUT = 120   # seconds; a command that takes longer has hung, however busy the machine is


class Difference(Exception):
    pass


def write(path, content, mode=0o644):
    with open(path, "wb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
        file.write(content)


def read(path):
    with open(path, "rb") as file:
        return file.read()


def judge(case):
    """What the oracle says about a case."""
    return redact(case.data, case.dialect, case.header_mode, case.select, case.rules, case.files, case.keys,
                  case.null_token, case.default, case.forbid,
                  MAX_RECORD if case.max_record is None else case.max_record, tables=TABLES, **settled(case))


def settled(case):
    """Which ambiguities the command accepts, as arguments for redact(): without rules, all of them (pieces by value may
    drop columns without rules); and a backslash before a quote if --escape is given, even if it names the quote
    itself."""
    has_rules = getattr(case, "has_rules", True)
    has_escape = any(argument.startswith(b"--escape=") for argument in case.dialect_arguments)
    return {"escape_given": has_escape or not has_rules, "mark_is_plain": not has_rules}


class Expected:
    """codes: the correct exit statuses. pieces: those that split writes. output: what cat prints. Each is None where
    nothing is known."""

    def __init__(self, case, stages):
        self.result = result = judge(case)
        self.pieces = self.output = None
        self.codes = {0}
        if case.together == b"" or (stages and case.repeated is not None and is_given(case, case.repeated)):
            self.codes = {2}
        elif stages and case.key_fault is not None:
            self.codes = {1, 2}
        elif stages and case.source in ("pipe", "gzip") and not case.spool and (
                case.total is not None or case.together is not None):
            # An empty input needs no temporary file; columns given by number are then missing, or not used.
            self.codes = {2} if case.data else {0, 2}
        elif result.refusal is not None:
            self.codes = {result.refusal.code}
            self.allow_what_is_not_looked_at(case)
            self.allow_either_order(case)
            if case.together is not None and result.bound is not None and not has_key(case, result):
                self.codes.add(2)
                self.codes.discard(0)
        elif case.together is not None and not has_key(case, result) and (stages or not is_passed_over(case)):
            self.codes = {2}
        else:
            try:
                self.cut(case)
            except pieces.HeaderTooLarge:
                self.codes = {2}
        if 3 in self.codes and self.is_header_too_large(case):
            self.codes.add(2)  # The rules do not say which of the two faults is found first.

    def is_header_too_large(self, case):
        return case.size is not None and case.header_mode == "repeat" and len(self.result.header) > case.size

    def allow_what_is_not_looked_at(self, case):
        result = self.result
        if result.refusal.code != 3 or result.hidden is None:
            return
        if case.piece is not None:
            # cat need not read the other pieces. Only the pieces before the fault are known.
            fault = None
            if result.fault_start is not None:
                fault = pieces.share_of(max(result.fault_start, result.body_start), case.header_mode, result.body_start,
                                        result.input_size, case.total) + 1
            if fault != case.piece:
                self.codes = {0, 3}
            if fault is not None and case.piece < fault:
                self.cut(case)

    def allow_either_order(self, case):
        """Accepts either exit status if two things are wrong and the rules do not say which is found first."""
        if self.result.refusal.kind == "record too long" and self.result.hidden is None:
            # The first record names the columns, whatever its size.
            unlimited = redact(case.data, case.dialect, case.header_mode, case.select, case.rules, case.files,
                               case.keys, case.null_token, case.default, case.forbid, len(case.data), tables=TABLES,
                               **settled(case))
            if unlimited.refusal is not None and unlimited.refusal.code == 2:
                self.codes = {2, 3}
            if case.together is not None and unlimited.bound is not None and not has_key(case, unlimited):
                self.codes = {2, 3}
        if case.together is not None and not case.data.strip(b"\r\n") and self.result.refusal.code == 3:
            self.codes = {2, 3}  # Records that consist only of line ends have one column, unless they are faults.
        if self.result.refusal.code != 2 or self.result.hidden is not None:
            return
        if not case.data:
            self.codes = {0, 2}  # There are no columns, and nothing is written.
        else:
            max_record = MAX_RECORD if case.max_record is None else case.max_record
            plain = redact(case.data, case.dialect, case.header_mode, max_record=max_record, **settled(case))
            if plain.refusal is not None and plain.hidden is None:
                self.codes = {2, 3}  # The header has a fault, too.

    def cut(self, case):
        result, mode = self.result, case.header_mode
        starts, keys = result.input_starts, None
        if case.together is not None:
            if not has_key(case, result):
                return
            keys = keys_of(case, result)
            # All records of a run belong to the piece of its first record.
            starts = [run[0] for run in pieces.runs_of(starts, keys) for _ in run]
        if case.total is not None:
            parts = pieces.shared_pieces(result.header, result.records, mode, starts, result.body_start,
                                         result.input_size, case.total)
            if case.piece is not None:
                self.output = parts[case.piece - 1]
            else:
                self.pieces = parts
        elif case.verb == "cat":
            self.output = pieces.whole(result.header, result.records, mode)
        elif keys is not None:
            self.pieces = pieces.written_runs(result.header, pieces.runs_of(result.records, keys), mode, case.count,
                                              case.size)
        else:
            self.pieces = pieces.written_pieces(result.header, result.records, mode, case.count, case.size)


def key_place(case, result):
    """The position of the column given by --together among the written columns. Raises RuleError."""
    items = parse_select(case.together)
    if len(items) != 1 or items[0].negated:
        raise RuleError("--together is one column")
    place = one_place(items[0], result.bound.columns)
    if place not in result.bound.order:
        raise RuleError("--together names a column that is left out")
    return result.bound.order.index(place)


def has_key(case, result):
    try:
        key_place(case, result)
    except RuleError:
        return False
    return True


def is_passed_over(case):
    """Whether --together names one column of an input without bytes, which has no record that could lack it."""
    items = parse_select(case.together) if case.together else []
    return case.data in (b"", b"\xef\xbb\xbf") and len(items) == 1 and not items[0].negated


def keys_of(case, result):
    """The value of the column in each record, as written."""
    if not result.records:
        return []
    place, keys = key_place(case, result), []
    for written in result.records:
        fields = read_record(written, 0, case.dialect).fields
        keys.append(fields[place].value if place < len(fields) else b"")
    return keys


def is_given(case, option):
    """Whether the case has this option, apart from the repetition that is added."""
    name = option.split(b"=")[0]
    return {b"--select": case.select is not None, b"--redact-null": case.null_token is not None,
            b"--redact-default": case.default is not None, b"--redact-report": case.report}[name]


def command_line(case, cleave, kernel, random_, directory, stages):
    line = [cleave.encode(), case.verb.encode()]
    if case.piece is not None:
        line.append(b"-n%d/%d" % (case.piece, case.total))
    elif case.total is not None:
        line.append(b"-n%d" % case.total)
    if case.count is not None:
        line.append(b"-l%d" % case.count)
    if case.size is not None:
        line.append(b"-C%d" % case.size)
    if case.together is not None:
        line.append(b"--together=" + case.together)
    line += case.dialect_arguments
    line.append(b"-H" if case.header_mode == "none" else b"--header=" + case.header_mode.encode())
    if stages:
        line += stage_words(case, directory)
    line += [b"-j%d" % random_.randrange(1, 5), b"--kernel=" + kernel.encode(),
             b"--block-size=%d" % random_.choice([64, 64, 65, 100, 127, 128, 300, 1000, 1 << 20])]
    if case.verb == "split":
        line += [b"-o", b"out/{i:06}"]
        if case.compress:
            line.append(b"--compress=gzip")
        if case.manifest:
            line.append(b"--manifest=manifest.json")
    line.append({"file": b"in.csv", "gzip": b"in.csv.gz"}.get(case.source, b"-"))
    return line


def stage_words(case, directory):
    """Returns the options for the stages, and writes the files that they name."""
    line = []
    if case.select is not None:
        line.append(b"--select=" + case.select)
    for number, content in enumerate(case.files):
        write(os.path.join(directory, "rules.%d" % number), content)
        line.append(b"--rules=rules.%d" % number)
    for path, content in TABLES.items():
        write(os.path.join(directory, path.decode()), content)
    line += [b"--redact=" + rule for rule in case.rules]
    for name, key in case.keys.items():
        make_key(os.path.join(directory, "key.%s" % name.decode()), key, case.key_fault)
        line.append(b"--key=" + name + b"=file:key." + name)
    if case.null_token is not None:
        line.append(b"--redact-null=" + case.null_token)
    if case.default is not None:
        line.append(b"--redact-default=" + case.default.encode())
    line += [b"--forbid=" + name.encode() for name in case.forbid]
    if case.max_record is not None:
        line.append(b"--max-record=%d" % case.max_record)
    if case.spool:
        line.append(b"--spool=plain")
    if case.report:
        line.append(b"--redact-report=report.json")
    if case.repeated is not None and is_given(case, case.repeated):
        line.append(case.repeated)
    return line


def make_key(path, key, fault):
    if fault == "directory":
        os.mkdir(path)
    elif fault != "missing":
        write(path, key[:31] if fault == "short" else key, 0o644 if fault == "readable" else 0o600)


def execute(line, case, directory, cwd=None):
    """Runs the command line. Returns the exit status and both outputs. Creates out/ and tmp/ if they are missing."""
    os.makedirs(os.path.join(directory, "out"), exist_ok=True)
    os.makedirs(os.path.join(directory, "tmp"), exist_ok=True)
    stdin = subprocess.DEVNULL
    if case.source == "redirect":
        stdin = os.open(os.path.join(directory, "in.csv"), os.O_RDONLY)
    elif case.source == "pipe":
        stdin, writer = os.pipe()
        os.write(writer, case.data)  # The data fit into a pipe.
        os.close(writer)
    try:
        process = subprocess.Popen(line, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   cwd=cwd or directory, env={**os.environ, "TMPDIR": os.path.join(directory, "tmp")})
    finally:
        if stdin != subprocess.DEVNULL:
            os.close(stdin)
    try:
        output, errors = process.communicate(timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise Difference("no end after %d seconds" % TIMEOUT) from None
    return process.returncode, output, errors


def hidden_secrets(case, result):
    """The secrets in columns that a rule names or that are dropped; all secrets if no column was looked at. If a
    damaged line end made a record part of the header, its fields are names, and messages may show those of columns
    that stay."""
    found = set()
    for column, values in case.secrets.items():
        if result.hidden is None or column in result.hidden:
            found.update(values)
    if result.hidden is not None and result.names is not None:
        shown = {name for place, name in enumerate(result.names) if place not in result.hidden}
        found = {secret for secret in found if not any(secret in name for name in shown)}
    return found


def check_secrets(case, expected, directory, output, errors):
    texts = [("standard error", errors)]
    if 3 not in expected.codes and 0 not in expected.codes:
        texts.append(("standard output", output))
    for name in ("report.json", "manifest.json"):
        if os.path.exists(os.path.join(directory, name)):
            texts.append((name, read(os.path.join(directory, name))))
    if any(SECRET in text for _, text in texts):
        for secret in hidden_secrets(case, expected.result):
            for name, text in texts:
                if secret in text:
                    raise Difference("a secret is in %s: %r" % (name, secret))


def check_refusal(case, expected, output, files):
    if files:
        raise Difference("left behind: %s" % files)
    if case.verb == "split":
        if output:
            raise Difference("standard output: %r" % output)
        return
    # cat may have printed whole records, header first, before it saw the fault.
    if 3 not in expected.codes:
        if output:
            raise Difference("standard output: %r" % output)
    elif case.piece is None and not output_is_prefix(case, expected.result, output):
        raise Difference("standard output is no beginning of the right one: %r" % output)


def output_is_prefix(case, result, output):
    at = pieces.whole(result.header, [], case.header_mode)
    if output in (b"", at) or (output == BOM and case.data.startswith(BOM)):
        return True
    if result.bound is None and case.header_mode == "none" and output in beginnings_without_values(case):
        return True
    for record in result.records:
        at += record
        if at == output:
            return True
    return False


def beginnings_without_values(case):
    """The empty records before the first other record, which defines the columns: the first, the first two, and so
    on."""
    at, found = 0, []
    try:
        while at < len(case.data):
            record = read_record(case.data, at, case.dialect)
            if not record.is_empty:
                break
            at = record.end
            found.append(case.data[:at])
    except Fault:
        pass
    return found


def check_report(case, expected, directory):
    try:
        report = json.loads(read(os.path.join(directory, "report.json")))
    except (OSError, ValueError) as error:
        raise Difference("report: %s" % (error.strerror if isinstance(error, OSError) else error)) from None
    result = expected.result
    if report.get("empty_records") != result.empty_records:
        raise Difference("report: empty_records %r, expected %d" % (report.get("empty_records"), result.empty_records))
    rows = report.get("rules", [])
    if len(rows) != len(result.rules):
        raise Difference("report: %d rules, expected %d" % (len(rows), len(result.rules)))
    for found, rule in zip(rows, result.rules):
        counts = {"seen": rule.seen, "changed": rule.changed, "kept": rule.kept, "empty": rule.empty,
                  "condition_false": rule.condition_false}
        if {name: found.get(name) for name in counts} != counts:
            raise Difference("report: %r, expected %r" % (found, counts))
        if found.get("operation") != rule.operation or len(found.get("columns", ())) != len(rule.columns):
            raise Difference("report: %r, expected %s of columns %r" % (found, rule.operation, rule.columns))
    if len(report.get("unnamed", ())) != len(result.unnamed):
        raise Difference("report: unnamed %r, expected columns %r" % (report.get("unnamed"), result.unnamed))


def check(case, expected, directory, code, output, errors):
    check_secrets(case, expected, directory, output, errors)
    out = os.path.join(directory, "out")
    files = sorted(os.listdir(out))
    left = os.listdir(os.path.join(directory, "tmp")) + [name for name in os.listdir(directory) if name[0] == "."]
    if left:
        raise Difference("temporary files: %s" % left)
    # A byte order mark alone is a record to the command, but no rule sees it.
    if case.data == BOM and case.header_mode == "none":
        return
    if code not in expected.codes:
        raise Difference("exit status %d, expected %s (%s)" % (code, sorted(expected.codes), expected.result.refusal))
    if code != 0:
        files += [name for name in ("report.json", "manifest.json") if name in os.listdir(directory)]
        check_refusal(case, expected, output, files)
        return
    if expected.pieces is None and expected.output is None:
        return
    if expected.output is not None:
        if output != expected.output:
            raise Difference("standard output\n   found %r\nexpected %r" % (output, expected.output))
        return
    found = [read(os.path.join(out, name)) for name in files]
    if case.compress:
        found = [gzip.decompress(content) for content in found]
    if found != expected.pieces:
        raise Difference("pieces\n   found %r\nexpected %r" % (found, expected.pieces))
    if case.report:
        check_report(case, expected, directory)
    if case.manifest:
        check_manifest(expected, directory)


def check_manifest(expected, directory):
    """Expects positions and sizes to count the bytes that are written."""
    rows = json.loads(read(os.path.join(directory, "manifest.json")))["pieces"]
    if [row["size"] for row in rows] != [len(piece) for piece in expected.pieces]:
        raise Difference("manifest: sizes in %r" % rows)
    at = len(expected.result.header)
    for row in rows:
        if row["start"] != at:
            raise Difference("manifest: start in %r, expected %d" % (row, at))
        at += row["length"]
    if at != len(expected.result.output):
        raise Difference("manifest: ends at %d, expected %d" % (at, len(expected.result.output)))


def run_case(seed, options, kernels, directory):
    """See driver.run_all()."""
    return run(make_case(seed, not options.without_stages), options, kernels, directory)


def run(case, options, kernels, directory):
    """See driver.run_all()."""
    random_ = random.Random(-case.seed - 1)
    kernel = options.kernel or random_.choice(kernels)
    os.mkdir(directory)
    if case.source == "gzip":
        write(os.path.join(directory, "in.csv.gz"), gzip.compress(case.data, 1))
    else:
        write(os.path.join(directory, "in.csv"), case.data)
    expected = Expected(case, not options.without_stages)
    if options.without_stages and expected.result.refusal is not None:
        shutil.rmtree(directory)  # Without rules such a file may be cut.
        return None
    line = command_line(case, options.cleave, kernel, random_, directory, not options.without_stages)
    if options.device:
        line.insert(2, b"--device=" + options.device.encode())
    code, errors = None, b""
    try:
        code, output, errors = execute(line, case, directory)
        check(case, expected, directory, code, output, errors)
    except Difference as difference:
        return told(difference, case, options, line, errors, directory)
    shutil.rmtree(directory)
    return ""


def told(difference, case, options, line, errors, directory):
    """Keeps the files of a difference, and returns the message about it."""
    kept = os.path.join(options.keep, "case.%d" % case.seed)
    shutil.rmtree(kept, ignore_errors=True)
    shutil.copytree(directory, kept, symlinks=True)
    shutil.rmtree(directory)
    return "seed %d: %s\n command %s\n   stdin %s\n  stderr %r\n    kept %s\n" % (
        case.seed, difference, " ".join(quoted(word) for word in line), case.source, errors, kept)


def quoted(word):
    """Quotes the word for bash."""
    if re.fullmatch(rb"[A-Za-z0-9_./=:{}-]+", word):
        return word.decode()
    shown = (chr(byte) if 32 <= byte < 127 and byte not in b"\\'" else "\\x%02x" % byte for byte in word)
    return "$'%s'" % "".join(shown)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("cleave")
    driver.add_options(parser, count=1500)
    parser.add_argument("--without-stages", action="store_true")
    parser.add_argument("--device", help="where rules are applied: gpu, or the absolute path of a module")
    options = parser.parse_args()
    return driver.run_all(options, run_case)


if __name__ == "__main__":
    sys.exit(main())
