#!/usr/bin/env python3
"""Which folder may know which: every #include in src/ and include/ against the table below.

  includes_test.py ROOT

Prints the arrows that it finds. A violation is a line "FILE:LINE: ..."; the exit code is 1 then. The test also plants
each kind of violation in a copy of ROOT, and fails if it does not find them all there.
"""

import collections
import pathlib
import re
import shutil
import sys
import tempfile

# A folder may include the folders of the rows below its own, itself, and include/cleave. Folders of one row may not
# include each other. Folders that do not exist yet have their row already.
ROWS = [
    ["cli", "python"],
    ["job"],
    ["lane", "columns", "formats", "write"],
    ["plan"],
    ["keys"],
    ["stage"],
    ["fields", "records", "check", "ranges"],
    ["scan"],
    ["index", "kernels", "offload"],
    ["dialect", "io", "memory"],
    ["base"],
]
ROW_OF = {folder: row for row, folders in enumerate(ROWS) for folder in folders}
PUBLIC = "cleave"

# Made by CMake.
GENERATED = {("kernels/dispatch.cpp", "kernel_rows.inc")}

INCLUDE = re.compile(r'\s*#\s*include\s*(["<])([^">]+)[">]')
# Headers of the standard library have no suffix; a header for C includes two of C.
STANDARD = re.compile(r"[a-z_]+|stddef\.h|stdint\.h")


def includes_of(path):
    """The line number, the delimiter and the name of each include."""
    for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
        found = INCLUDE.match(line)
        if found:
            yield number, found[1], found[2]


def public_fault(root, delimiter, name):
    if delimiter == "<":
        return None if STANDARD.fullmatch(name) else f"<{name}> is not of the standard library"
    if not name.startswith(PUBLIC + "/"):
        return f'"{name}" is not a public header'
    return None if (root / "include" / name).is_file() else f'"{name}" does not exist'


def source_fault(root, source, delimiter, name):
    """What is wrong with an include in src/; `source` is the path of the file below src/."""
    folder, target = source.split("/")[0], name.split("/")[0]
    if delimiter == "<":
        is_ours = "/" in name and target in [*ROW_OF, PUBLIC]
        return f"<{name}> is a header of this project: write it in quotes" if is_ours else None
    if (source, name) in GENERATED:
        return None
    if target == PUBLIC:
        return None if (root / "include" / name).is_file() else f'"{name}" does not exist'
    if target not in ROW_OF or "/" not in name:
        return f'"{name}" does not begin with a folder of the table'
    if not (root / "src" / name).is_file():
        return f'"{name}" does not exist'
    if target != folder and ROW_OF[target] <= ROW_OF[folder]:
        return f"{folder} may not include {target}"
    return None


def check(root):
    """Returns the arrows, with how often each occurs, and the violations."""
    arrows = collections.Counter()
    violations = []
    for path in sorted((root / "include").rglob("*.h")):
        for number, delimiter, name in includes_of(path):
            fault = public_fault(root, delimiter, name)
            if fault:
                violations.append(f"{path.relative_to(root)}:{number}: {fault}")
    for path in sorted((root / "src").rglob("*")):
        if path.suffix not in (".h", ".cpp", ".inc", ".cu", ".cuh"):
            continue
        source = path.relative_to(root / "src").as_posix()
        folder = source.split("/")[0]
        if folder not in ROW_OF or folder == source:
            violations.append(f"src/{source}:1: is in no folder of the table")
            continue
        for number, delimiter, name in includes_of(path):
            fault = source_fault(root, source, delimiter, name)
            if fault:
                violations.append(f"src/{source}:{number}: {fault}")
            elif delimiter == '"' and "/" in name and name.split("/")[0] != folder:
                arrows[folder, name.split("/")[0]] += 1
    return arrows, violations


# A file, what is put into it, and what must be said of its second line.
PLANTED = [
    ("src/scan/planted.h", '#include "plan/limits.h"', "scan may not include plan"),
    ("src/io/planted.h", '#include "memory/planted.h"', "io may not include memory"),
    ("src/base/planted.h", '#  include "io/fd.h"', "base may not include io"),
    ("src/write/planted.cpp", '#include "cli/options.h"', "write may not include cli"),
    ("src/plan/planted.cpp", '#include "scan/no_such_file.h"', '"scan/no_such_file.h" does not exist'),
    ("src/plan/planted2.cpp", '#include "cleave/no_such_file.h"', '"cleave/no_such_file.h" does not exist'),
    ("src/plan/planted3.cpp", '#include "limits.h"', '"limits.h" does not begin with a folder of the table'),
    ("src/plan/planted4.cpp", "#include <scan/walker.h>", "<scan/walker.h> is a header of this project: write it in quotes"),
    ("include/cleave/planted.h", '#include "io/fd.h"', '"io/fd.h" is not a public header'),
    ("include/cleave/planted2.h", "#include <fmt/format.h>", "<fmt/format.h> is not of the standard library"),
    ("include/cleave/planted3.h", '#include "cleave/no_such_file.h"', '"cleave/no_such_file.h" does not exist'),
]


def self_test(root):
    """Returns what was planted and not found, and what was found and not planted."""
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder)
        for part in ("src", "include"):
            shutil.copytree(root / part, copy / part)
        expected = set(check(root)[1])
        (copy / "src/memory").mkdir(exist_ok=True)
        (copy / "src/memory/planted.h").write_text("// May be included.\n")
        (copy / "src/utils").mkdir()
        (copy / "src/utils/planted.h").write_text("// In a folder without a row.\n")
        expected.add("src/utils/planted.h:1: is in no folder of the table")
        for name, text, fault in PLANTED:
            (copy / name).write_text("#pragma once\n" + text + "\n")
            expected.add(f"{name}:2: {fault}")
        return sorted(expected.symmetric_difference(check(copy)[1]))


def main():
    root = pathlib.Path(sys.argv[1])
    arrows, violations = check(root)
    for (source, target), count in sorted(arrows.items(), key=lambda arrow: [ROW_OF.get(end, 99) for end in arrow[0]]):
        print(f"{source} -> {target}: {count}")
    for violation in violations:
        print(violation)
    differences = self_test(root)
    for difference in differences:
        print(f"the self-test: planted or found, but not both: {difference}")
    if not arrows:
        print("no include was found at all")
    return 1 if violations or differences or not arrows else 0


if __name__ == "__main__":
    sys.exit(main())
