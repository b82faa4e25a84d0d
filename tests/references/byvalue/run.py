#!/usr/bin/env python3
"""Compares `cleave split --by` with an oracle on random files and options.

  run.py CLEAVE [--count N] [--seed N] [--jobs N] [--kernel NAME] [--keep DIRECTORY] [--without-stages]

Case K of a run, counted from 0, has the seed SEED + K; --seed with that number and --count 1 repeat it. If there is a
difference, the seed, the command line and what differs are printed, and --keep keeps the input in DIRECTORY.
"""
import argparse
import gzip
import json
import os
import re
import shutil
import sys
from fractions import Fraction

from expect import Expected
from cases import make_case
from compare import Difference, execute, read, stage_words, told, write
import driver
import names

FEW = 64


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("cleave")
    driver.add_options(parser, count=1500)
    parser.add_argument("--without-stages", action="store_true", help="leave out the cases in which records change")
    options = parser.parse_args()
    if names.xxh3 is None:
        print("there is no xxhash for Python: --buckets, --parts and names of more than 200 bytes are not compared")
    return driver.run_all(options, run_case)


def run_case(seed, options, kernels, directory):
    """See driver.run_all()."""
    case = make_case(seed)
    if options.without_stages and case.has_stages:
        return None
    return run(case, options, options.kernel or kernels[seed % len(kernels)], directory)


def run(case, options, kernel, directory):
    os.makedirs(os.path.join(directory, "out"))
    name = "in.csv.gz" if case.source == "gzip" else "in.csv"
    write(os.path.join(directory, name), gzip.compress(case.data, 1) if case.source == "gzip" else case.data)
    expected = Expected(case)
    line = command_line(case, options.cleave, kernel, directory)
    errors = b""
    try:
        code, output, errors = run_once(line, case, directory)
        check(case, expected, directory, code, output, errors)
        if code == 0 and case.again is not None and expected.pieces:
            check_again(case, expected, line, directory)
    except Difference as difference:
        return told(difference, case, options, line, errors, directory)
    shutil.rmtree(directory)
    return ""


def run_once(line, case, directory):
    return execute(line, case, directory, os.path.join(directory, "out") if is_inside(case) else None)


def is_inside(case):
    """Whether the run's working directory is its output directory, where --hive and names without a template put their
    files."""
    return case.hive or case.template == "default"


def is_numbered(case):
    return case.count is not None or case.size is not None


def command_line(case, cleave, kernel, directory):
    line = [cleave.encode(), b"split"] + ([] if case.is_draw else [b"--by=" + case.by])
    if case.parts:
        line.append(b"--parts=" + b",".join(b"%s=%s" % (name, weight.encode()) for name, weight in case.parts))
    if case.few_descriptors:
        line = [b"sh", b"-c", b'ulimit -n %d; exec "$@"' % FEW, b"sh", *line]
    line += case.dialect_arguments
    line.append(b"-H" if case.header_mode == "none" else b"--header=" + case.header_mode.encode())
    for option, is_given in ((b"--hive", case.hive), (b"--keep-by", case.keep_by), (b"--drop-by", case.drop_by),
                             (b"--allow-open-quote", case.allows_open_quote),
                             (b"--allow-ragged", case.allows_ragged), (b"--compress=gzip:1", case.compress),
                             (b"--manifest=%s/manifest.json" % directory.encode(), case.manifest)):
        line += [option] if is_given else []
    for option, number in ((b"-n", case.total), (b"-l", case.count), (b"-C", case.size), (b"--buckets=", case.buckets),
                           (b"--max-values=", case.max_keys), (b"--seed=", case.hash_seed or None)):
        line += [b"%s%d" % (option, number)] if number is not None else []
    if case.has_stages:
        line += absolute(stage_words(case, directory), directory)
    line += [b"-j%d" % case.threads, b"--kernel=" + kernel.encode(), b"--block-size=%d" % case.block_size]
    if not is_inside(case):
        line += [b"-o", template(case)]
    path = {"file": b"in.csv", "gzip": b"in.csv.gz"}.get(case.source)
    line.append(b"-" if path is None else os.path.join(directory.encode(), path))
    return line


def absolute(words, directory):
    """The words, with absolute paths to the files that stage_words() writes."""
    return [re.sub(rb"^(--rules=|--redact-report=|--key=[^=]*=file:)", rb"\g<0>" + directory.encode() + b"/", word)
            for word in words]


def template(case):
    if case.buckets is not None:
        return b"out/{stem}-{i:06}.x" if case.template == "stem" else b"out/{i:06}"
    number = b".{i:06}" if is_numbered(case) else b""
    return b"out/{stem}-{value}" + number + b".x" if case.template == "stem" else b"out/{value}" + number


def file_name(case, piece):
    """The path that a piece must have below the output directory."""
    stem = b"stdin" if case.source in ("redirect", "pipe") else b"in"
    extension = b"" if stem == b"stdin" else b".csv"
    suffix = b".gz" if case.compress else b""
    numbered = is_numbered(case)
    if case.hive:
        return b"%s/%s.%d%s" % (piece.name, stem, piece.number, extension) + suffix
    if case.buckets is not None:
        if case.template == "default":
            return b"%s.%0*d%s" % (stem, len(str(case.buckets)), piece.number, extension) + suffix
        return (b"%s-%06d.x" % (stem, piece.number) if case.template == "stem" else b"%06d" % piece.number) + suffix
    if case.template == "default":
        return b"%s.%s%s%s" % (stem, piece.name, b".%d" % piece.number if numbered else b"", extension) + suffix
    number = b".%06d" % piece.number if numbered else b""
    return (b"%s-%s%s.x" % (stem, piece.name, number) if case.template == "stem" else piece.name + number) + suffix


def without_padding(name):
    """The name without the zero padding of its number, whose width depends on the run."""
    return re.sub(rb"\.0+([1-9][0-9]*(\.csv)?(\.gz)?)$", rb".\1", name)


def files_below(directory):
    """{path: bytes}, hidden files included. Folders that contain nothing end in a slash."""
    found, top = {}, directory.encode()
    for parent, folders, files in os.walk(top):
        for name in files:
            path = os.path.join(parent, name)
            found[os.path.relpath(path, top)] = read(path)
        if not folders and not files and parent != top:
            found[os.path.relpath(parent, top) + b"/"] = b""
    return found


def check(case, expected, directory, code, output, errors):
    found = files_below(os.path.join(directory, "out"))
    left = os.listdir(os.path.join(directory, "tmp")) + [name for name in os.listdir(directory) if name[0] == "."]
    if left:
        raise Difference("temporary files: %s" % left)
    if re.search(rb"[\x00-\x08\x0b-\x1f\x7f]", errors):
        raise Difference("control bytes in standard error")
    if code not in expected.codes:
        raise Difference("exit status %d, expected %s (%s)" % (code, sorted(expected.codes),
                                                               expected.result and expected.result.refusal))
    manifest = os.path.join(directory, "manifest.json")
    if code != 0:
        if found or output or os.path.exists(manifest):
            raise Difference("left behind: %s %r" % (sorted(found), output))
        if not errors:
            raise Difference("no message")
        return
    if expected.pieces is None:
        return
    check_pieces(case, expected, found)
    if case.manifest:
        check_manifest(case, expected, json.loads(read(manifest)))


def check_pieces(case, expected, found):
    if case.compress:
        found = {name: gzip.decompress(content) for name, content in found.items()}
    loose = is_numbered(case) and is_inside(case)
    if loose:
        found = {without_padding(name): content for name, content in found.items()}
    wanted = {file_name(case, piece): piece.content for piece in expected.pieces}
    if len(wanted) < len(expected.pieces):
        raise AssertionError("the oracle gives two pieces one name")
    if found.keys() != wanted.keys():
        raise Difference("names\n  new %r\n  gone %r" % (sorted(found.keys() - wanted.keys())[:5],
                                                         sorted(wanted.keys() - found.keys())[:5]))
    for name, content in wanted.items():
        if found[name] != content:
            raise Difference("piece %r\n   found %r\nexpected %r" % (name, found[name][:2000], content[:2000]))


def check_manifest(case, expected, manifest):
    """Expects a row for each piece, in order, with its name, values, records and bytes."""
    rows = manifest["pieces"]
    if len(rows) != len(expected.pieces):
        raise Difference("manifest: %d pieces, expected %d" % (len(rows), len(expected.pieces)))
    if case.parts:
        check_parts(case, manifest["parts"])
    numbered = is_numbered(case) and is_inside(case)
    for row, piece in zip(rows, expected.pieces):
        name = os.fsencode(row["name"] if is_inside(case) else os.path.basename(row["name"]))
        wanted = {"records": piece.records, "size": len(piece.content)}
        if (without_padding(name) if numbered else name) != file_name(case, piece):
            raise Difference("manifest: %r, expected %r" % (row, file_name(case, piece)))
        if piece.key is not None and "\ufffd" not in "".join(map(in_json, piece.key)):
            wanted["values"] = [in_json(value) for value in piece.key]
        elif piece.key is None:
            wanted["values"] = None
            wanted["part"] = piece.name.decode() if case.parts else None
        if {key: row.get(key) for key in wanted} != wanted:
            raise Difference("manifest: %r, expected %r" % (row, wanted))


def check_parts(case, parts):
    """Expects what another program needs to compute the parts."""
    if (parts["by"], parts["seed"]) != (None if case.is_draw else in_json(case.by), case.hash_seed):
        raise Difference("manifest: %r" % parts)
    ratios = {weight / Fraction(text) for weight, (_, text) in zip(parts["weights"], case.parts)}
    if len(parts["weights"]) != len(case.parts) or len(ratios) != 1:
        raise Difference("manifest: %r, expected weights like %r" % (parts, case.parts))


def in_json(value):
    """The text with U+FFFD in place of bytes that are not UTF-8; how many U+FFFD there are is left open."""
    return value.decode("utf-8", "replace")


def check_again(case, expected, line, directory):
    """Repeats the run into the same folder."""
    options = {"plain": [], "resume": [b"--resume"], "force": [b"--force"]}[case.again]
    before = {name: os.stat(os.path.join(directory.encode(), b"out", name)).st_ino
              for name in files_below(os.path.join(directory, "out"))}
    at = line.index(b"split") + 1
    code, output, errors = run_once(line[:at] + options + line[at:], case, directory)
    if case.again == "plain":
        if code != 1 or b"File exists" not in errors:
            raise Difference("again: exit status %d, %r" % (code, errors))
    elif code != 0:
        raise Difference("again with --%s: exit status %d, %r" % (case.again, code, errors))
    check_pieces(case, expected, files_below(os.path.join(directory, "out")))
    after = {name: os.stat(os.path.join(directory.encode(), b"out", name)).st_ino for name in before}
    if (before == after) != (case.again != "force"):
        raise Difference("again, %s: files were %sreplaced" % (case.again, "not " if before == after else ""))


if __name__ == "__main__":
    sys.exit(main())
