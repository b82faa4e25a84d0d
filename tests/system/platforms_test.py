#!/usr/bin/env python3
"""Checks that only these files depend on Linux: files whose names end in _linux, and the files that
doc/internals/platforms.md lists. Porting to another system then means working through a list of files, not searching.

  platforms_test.py ROOT

The test looks for names that only Linux has. It also plants each of these names in a copy, and fails if it does not
find it there.
"""
import pathlib
import re
import sys
import tempfile

PAGE = "doc/internals/platforms.md"
# Names of system calls, of their flags, and of kernel files. Comments do not count.
NAMES = re.compile(r"<linux/|\"/proc/|\bSYS_\w+|::syscall\(|landlock_|\bPR_[A-Z]+_|copy_file_range\(|renameat2\(|openat2\(|"
                   r"\bO_TMPFILE\b|\bO_PATH\b|\bMADV_(?:DONTDUMP|WIPEONFORK|HUGEPAGE)\b|\bMAP_(?:HUGETLB|POPULATE)\b|"
                   r"\bFICLONE|fstatfs\(|fgetxattr\(|getrandom\(|sched_getaffinity\(|dl_iterate_phdr\(|pipe2\(|preadv2\(|"
                   r"memfd_create\(|fallocate\(|splice\(|tee\(")
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
ROW = re.compile(r"^\| `([^`]+)` \|", re.MULTILINE)
PLANTED = ["#include <linux/fs.h>", 'open("/proc/self/maps")', "SYS_openat2", "prctl(PR_SET_NAME)", "O_TMPFILE", "O_PATH",
           "fstatfs(1)", "getrandom(a, 1, 0)", "FICLONERANGE"]


def users(root):
    """The files below src/ and include/ that use such a name."""
    found = set()
    for folder in ("src", "include"):
        for path in (root / folder).rglob("*"):
            if path.suffix in (".h", ".cpp") and NAMES.search(COMMENT.sub("", path.read_text())):
                found.add(str(path.relative_to(root)))
    return found


def faults(root):
    listed = set(ROW.findall((root / PAGE).read_text()))
    known = {path for path in listed if not path.endswith("_linux.cpp")}
    found = {path for path in users(root) if not path.endswith("_linux.cpp")}
    return (["%s uses what Linux alone has: name it *_linux.cpp, or list it in %s" % (path, PAGE)
             for path in sorted(found - known)] +
            ["%s lists %s, which uses nothing of Linux" % (PAGE, path) for path in sorted(known - found)] +
            ["%s does not list %s" % (PAGE, path.relative_to(root))
             for path in sorted((root / "src").rglob("*_linux.cpp")) if str(path.relative_to(root)) not in listed])


def planted_faults_are_found(root):
    for text in PLANTED:
        with tempfile.TemporaryDirectory() as name:
            copy = pathlib.Path(name)
            (copy / "include").mkdir()
            (copy / "src/base").mkdir(parents=True)
            (copy / "doc/internals").mkdir(parents=True)
            (copy / PAGE).write_text("| `src/base/listed.cpp` | |\n| `src/base/gone_linux.cpp` | |\n")
            (copy / "src/base/listed.cpp").write_text("// O_PATH\n")
            (copy / "src/base/new_linux.cpp").write_text("O_PATH\n")
            (copy / "src/base/planted.cpp").write_text(text + "\n")
            if len(faults(copy)) != 3:
                return "planted, and not found: %s: %s" % (text, faults(copy))
    return None


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    found = faults(root)
    print("\n".join(found), end="\n" if found else "")
    missed = planted_faults_are_found(root)
    if missed:
        print(missed)
    print("%d passed, %d failed" % (2 - bool(found) - bool(missed), bool(found) + bool(missed)))
    return 1 if found or missed else 0


if __name__ == "__main__":
    sys.exit(main())
