#!/usr/bin/env python3
"""Which folder may know which: every #include in src/ and include/ against the table below, and the folders' pages.

  includes_test.py ROOT           check, and print the arrows that are found
  includes_test.py ROOT --map     print the map of the folders
  includes_test.py ROOT --write   write the map into src/README.md

A violation is a line "FILE:LINE: ..."; the exit code is 1 then. The README.md of each folder in src/ must name the
files that are there, each once, in items of a list: `name` stands for name.h and name.cpp, `name/` for a folder. The
test also plants each kind of violation in a copy of ROOT, and fails if it does not find them all there.
"""

import collections
import pathlib
import re
import shutil
import sys
import tempfile

# The floors of src/, from the top down, and which folders each folder may include: only folders on lower floors, so no
# two depend on each other. All but the kernels may also include base; all may include include/cleave.
FLOORS = [
    {"cli": "formats lane write plan stage scan offload io memory"},
    {"job": "formats lane write plan keys stage scan dialect io"},
    {"columns": "plan stage fields records scan dialect io", "formats": "io",
     "lane": "plan keys stage records scan offload memory", "write": "io"},
    {"plan": "keys ranges scan io"},
    {"keys": "stage fields records scan io memory"},
    {"stage": "fields records scan io memory"},
    {"check": "scan dialect io", "fields": "scan kernels dialect memory", "ranges": "scan kernels dialect",
     "records": "scan io memory"},
    {"scan": "kernels dialect io"},
    {"index": "dialect io", "kernels": "", "offload": "io memory"},
    {"dialect": "", "io": "", "memory": ""},
    {"base": ""},
]
GROUND = "base"
WITHOUT_GROUND = ("kernels", GROUND)
PUBLIC = "cleave"

FLOOR_OF = {folder: len(FLOORS) - i for i, floor in enumerate(FLOORS) for folder in floor}
MAY_INCLUDE = {folder: set(names.split()) | ({GROUND} if folder not in WITHOUT_GROUND else set())
               for floor in FLOORS for folder, names in floor.items()}

# Made by CMake.
GENERATED = {("kernels/dispatch.cpp", "kernel_rows.inc")}

INCLUDE = re.compile(r'\s*#\s*include\s*(["<])([^">]+)[">]')
# Headers of the standard library have no suffix; a header for C includes two of C.
STANDARD = re.compile(r"[a-z_]+|stddef\.h|stdint\.h")
SOURCES = (".h", ".cpp", ".inc", ".cu", ".cuh")

# Where the map stands, and how long the page of a folder may be.
PAGE = "src/README.md"
BEGIN, END = "<!-- the map: tests/system/includes_test.py . --write -->", "<!-- the end of the map -->"
OTHER_MAP = "the map differs from the table: run tests/system/includes_test.py . --write"
MOST_LINES = 30
ITEM = re.compile(r"^- ([^:]*):", re.MULTILINE)


def table_faults(floors):
    """What is wrong with a table: a folder that is listed twice, or includes one that is not on a lower floor."""
    faults = []
    below = set()
    for floor in reversed(floors):
        for folder, names in floor.items():
            faults += [f"{folder} includes {name}, which is not below it"
                       for name in names.split() if name not in below]
            if folder in below:
                faults.append(f"{folder} is there twice")
        below |= set(floor)
    return faults


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
        is_ours = "/" in name and target in [*FLOOR_OF, PUBLIC]
        return f"<{name}> is a header of this project: write it in quotes" if is_ours else None
    if (source, name) in GENERATED:
        return None
    if target == PUBLIC:
        return None if (root / "include" / name).is_file() else f'"{name}" does not exist'
    if target not in FLOOR_OF or "/" not in name:
        return f'"{name}" does not begin with a folder of the table'
    if not (root / "src" / name).is_file():
        return f'"{name}" does not exist'
    if target != folder and target not in MAY_INCLUDE[folder]:
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
        if path.suffix not in SOURCES:
            continue
        source = path.relative_to(root / "src").as_posix()
        folder = source.split("/")[0]
        if folder not in FLOOR_OF or folder == source:
            violations.append(f"src/{source}:1: is in no folder of the table")
            continue
        for number, delimiter, name in includes_of(path):
            fault = source_fault(root, source, delimiter, name)
            if fault:
                violations.append(f"src/{source}:{number}: {fault}")
            elif delimiter == '"' and "/" in name and name.split("/")[0] != folder:
                arrows[folder, name.split("/")[0]] += 1
    return arrows, violations


def in_order(folders):
    """From the top floor down."""
    return sorted(folders, key=lambda folder: (-FLOOR_OF.get(folder, 0), folder))


def folder_map():
    """The floors with their arrows, as they stand in PAGE."""
    lines = ["    floor  folder    may include"]
    last = None
    for folder in in_order(FLOOR_OF):
        floor = FLOOR_OF[folder]
        arrows = " ".join(in_order(MAY_INCLUDE[folder] - {GROUND})) or "nothing else"
        lines.append(f"    {floor if floor != last else '':>5}  {folder:<8}  {arrows}")
        last = floor
    return "\n".join(lines)


def with_map(page):
    """The page with the map of today. Throws ValueError for a page without the markers."""
    begin, end = page.index(BEGIN) + len(BEGIN), page.index(END)
    return page[:begin] + "\n\n" + folder_map() + "\n\n" + page[end:]


def page_faults(root):
    """What is wrong with the pages about folders."""
    faults = []
    page = (root / PAGE).read_text(encoding="utf-8")
    if BEGIN not in page or END not in page or with_map(page) != page:
        faults.append(f"{PAGE}:1: {OTHER_MAP}")
    for folder in in_order(FLOOR_OF):
        path = root / "src" / folder / "README.md"
        name = path.relative_to(root)
        if not path.is_file():
            faults.append(f"{name}:1: does not exist")
            continue
        text = path.read_text(encoding="utf-8")
        if text.count("\n") > MOST_LINES:
            faults.append(f"{name}:{MOST_LINES + 1}: is longer than {MOST_LINES} lines")
        named = [word for item in ITEM.findall(text) for word in re.findall(r"`([^`]+)`", item)]
        there = {entry.name + "/" if entry.is_dir() else entry.stem.removesuffix("_linux") for entry in path.parent.iterdir()
                 if entry.is_dir() or entry.suffix in SOURCES}
        faults += [f"{name}:1: does not name {stem}" for stem in sorted(there - set(named))]
        faults += [f"{name}:1: names {stem}, which is not there" for stem in sorted(set(named) - there)]
        faults += [f"{name}:1: names {stem} twice" for stem in sorted(set(named)) if named.count(stem) > 1]
    return faults


# A file, what is put into it, and what must be said of its second line.
PLANTED = [
    ("src/scan/planted.h", '#include "plan/limits.h"', "scan may not include plan"),
    ("src/io/planted.h", '#include "memory/planted.h"', "io may not include memory"),
    ("src/base/planted.h", '#  include "io/fd.h"', "base may not include io"),
    ("src/kernels/planted.h", '#include "base/bits.h"', "kernels may not include base"),
    ("src/write/planted.cpp", '#include "cli/options.h"', "write may not include cli"),
    ("src/check/planted.h", '#include "kernels/step.h"', "check may not include kernels"),
    ("src/plan/planted.cpp", '#include "scan/no_such_file.h"', '"scan/no_such_file.h" does not exist'),
    ("src/plan/planted2.cpp", '#include "cleave/no_such_file.h"', '"cleave/no_such_file.h" does not exist'),
    ("src/plan/planted3.cpp", '#include "limits.h"', '"limits.h" does not begin with a folder of the table'),
    ("src/plan/planted4.cpp", "#include <scan/walker.h>",
     "<scan/walker.h> is a header of this project: write it in quotes"),
    ("include/cleave/planted.h", '#include "io/fd.h"', '"io/fd.h" is not a public header'),
    ("include/cleave/planted2.h", "#include <fmt/format.h>", "<fmt/format.h> is not of the standard library"),
    ("include/cleave/planted3.h", '#include "cleave/no_such_file.h"', '"cleave/no_such_file.h" does not exist'),
]

# A page, a text in it, what stands there in its place, and what must be said of the page.
PLANTED_IN_PAGES = [
    (PAGE, "    11  cli ", "    11  CLI ", f"1: {OTHER_MAP}"),
    ("src/scan/README.md", "- `walker`:", "- `runner`:", "1: does not name walker"),
    ("src/scan/README.md", "- `walker`:", "- `runner`:", "1: names runner, which is not there"),
    ("src/plan/README.md", "\n- `plan`", "\n- `limits`: again\n- `plan`", "1: names limits twice"),
    ("src/io/README.md", "\n\n", "\n" * MOST_LINES, f"{MOST_LINES + 1}: is longer than {MOST_LINES} lines"),
]


def self_test(root):
    """Returns what was planted and not found, and what was found and not planted."""
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder)
        for part in ("src", "include"):
            shutil.copytree(root / part, copy / part)
        expected = set(check(root)[1]) | set(page_faults(root))
        for name, text, other, fault in PLANTED_IN_PAGES:
            page = (root / name).read_text(encoding="utf-8")
            (copy / name).write_text(page.replace(text, other, 1))
            expected.add(f"{name}:{fault}")
        (copy / "src/stage/operations").rename(copy / "src/stage/no_operations")
        expected |= {"src/stage/README.md:1: does not name no_operations/",
                     "src/stage/README.md:1: names operations/, which is not there"}
        found = set(page_faults(copy))
        (copy / "src/stage/no_operations").rename(copy / "src/stage/operations")

        (copy / "src/memory/planted.h").write_text("// May be included.\n")
        (copy / "src/utils").mkdir()
        (copy / "src/utils/planted.h").write_text("// In a folder without a row.\n")
        expected.add("src/utils/planted.h:1: is in no folder of the table")
        for name, text, fault in PLANTED:
            (copy / name).write_text("#pragma once\n" + text + "\n")
            expected.add(f"{name}:2: {fault}")
        found |= set(check(copy)[1])
    circle = [{"a": "b"}, {"b": "a", "c": "d"}, {"d": "", "c": ""}]
    expected |= {"b includes a, which is not below it", "c is there twice"}
    return sorted(expected.symmetric_difference(found | set(table_faults(circle))))


def main():
    root = pathlib.Path(sys.argv[1])
    if sys.argv[2:] == ["--map"]:
        print(folder_map())
        return 0
    if sys.argv[2:] == ["--write"]:
        path = root / PAGE
        path.write_text(with_map(path.read_text(encoding="utf-8")), encoding="utf-8")
        return 0
    arrows, violations = check(root)
    violations += table_faults(FLOORS) + page_faults(root)
    for (source, target), count in sorted(arrows.items(), key=lambda arrow: in_order(FLOOR_OF).index(arrow[0][0])):
        print(f"{source} -> {target}: {count}")
    for folder in in_order(FLOOR_OF):
        for target in in_order(MAY_INCLUDE[folder] - {GROUND}):
            if not arrows[folder, target]:
                print(f"{folder} may include {target}, and does not")
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
