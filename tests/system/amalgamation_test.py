#!/usr/bin/env python3
"""Tests the two files that ./dev amalgamate writes: by themselves, beside the library, and with each compiler here.

  amalgamation_test.py --library ARCHIVE --needs NAME,NAME... --cxx CXX

CLEAVE_EVERY_COMPILER=1, set by ./dev prove, tries all of COMPILERS; otherwise only the first two are tried.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "tools"))
from verdicts import Skip, Tally, check, need  # noqa: E402

LAUNCHER = os.environ.get("CMAKE_CXX_COMPILER_LAUNCHER", "").split()   # ./dev sets it, where there is ccache
WARNINGS = "-Wall -Wextra -Wpedantic -Wconversion -Werror".split()
ALONE = ["-std=c++20", "-O2", "-fno-exceptions", "-fno-rtti", *WARNINGS]
MOST_LINES = 6000
SAME = Path(__file__).parent / "amalgamation" / "same.c"
# By name: the command that compiles C++, the one that compiles and links C, and what may run the program.
RUN_WASM = ("const wasi = new (require('wasi').WASI)({version: 'preview1'});"
            "WebAssembly.instantiate(require('fs').readFileSync(process.argv[1]), wasi.getImportObject())"
            ".then(made => wasi.start(made.instance))")
COMPILERS = {
    "g++ 12": ("g++-12", "gcc-12", []),
    "clang 19": ("clang++-19", "clang-19", []),
    "clang 14": ("clang++-14", "clang-14", []),
    "clang 19, memory sanitizer": ("clang++-19 -fsanitize=memory", "clang-19 -fsanitize=memory", []),
    "clang 19, other sanitizers": ("clang++-19 -fsanitize=address,undefined -fno-sanitize-recover=all",
                                   "clang-19 -fsanitize=address,undefined", []),
    "g++ for arm64": ("aarch64-linux-gnu-g++", "aarch64-linux-gnu-gcc -static", ["qemu-aarch64"]),
    "zig for musl": ("zig c++ -target x86_64-linux-musl", "zig cc -target x86_64-linux-musl", []),
    "zig for arm64": ("zig c++ -target aarch64-linux-musl", "zig cc -target aarch64-linux-musl", ["qemu-aarch64"]),
    "zig for wasm32": ("zig c++ -target wasm32-wasi", "zig cc -target wasm32-wasi",
                       ["node", "--no-warnings", "-e", RUN_WASM]),
}


def run(*words, folder=None):
    done = subprocess.run([str(word) for word in words], cwd=folder, capture_output=True, text=True, timeout=600)
    # GCC notes that vectors are passed in another way than by GCC 4.5; none are passed to or from this file.
    said = [line for line in done.stderr.splitlines() if re.search(r"warning:|error:", line)]
    need(done.returncode == 0 and not said, "%s: %d %s" % (words, done.returncode, done.stderr[-2000:]))
    return done.stdout


def found(command):
    """A command, with the path of its program, or of zig where ./dev dist keeps it."""
    name = command[0]
    path = shutil.which(name) or shutil.which(name + "-static")
    if path is None and name == "zig":
        cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "cleave"
        path = next((str(one) for one in cache.glob("zig-*/lib/python3*/site-packages/ziglang/zig")), None)
    if path is None:
        raise Skip("%s is not installed" % name)
    return [path, *command[1:]]


class Amalgamation:
    def __init__(self, arguments, folder):
        self.cxx, self.folder = arguments.cxx, folder
        self.library = [arguments.library, *("-l" + name for name in arguments.needs.split(",") if name), "-pthread"]
        run(sys.executable, "-B", ROOT / "packaging/amalgamate.py", folder)
        self.header, self.source = folder / "cleave_scan.h", folder / "cleave_scan.cpp"
        self.objects = {}   # by compiler

    def compiled(self, *compiler):
        """The source, compiled alone by this compiler, once whatever its name is."""
        key = (os.path.realpath(found(compiler[:1])[0]), *compiler[1:])
        if key not in self.objects:
            made = "scan%d.o" % len(self.objects)
            run(*([] if compiler[1:] else LAUNCHER), *compiler, *ALONE, "-c", self.source.name, "-o", made,
                folder=self.folder)
            self.objects[key] = self.folder / made
        return self.objects[key]

    def program(self, name, header, *linked, compiler=None):
        """same.c, compiled with that header and linked with these."""
        path = self.folder / name
        run(*(compiler or [self.cxx]), "-O2", "-x", "c", "-std=c99", "-I", ROOT / "include", "-I", self.folder,
            '-DCLEAVE_SCAN_HEADER="%s"' % header, SAME, "-x", "none", *linked, "-o", path)
        return path

    def test_alone(self):
        """They include nothing but the standard library, and are short"""
        lines = 0
        for path in (self.header, self.source):
            text = path.read_text()
            lines += len(text.splitlines())
            included = set(re.findall(r"^ *# *include (.*)$", text, re.M))
            check({one for one in included if not one.startswith("<")} <= {'"cleave_scan.h"'}, "no file of ours: %s" % included)
            check("throw " not in re.sub(r"//.*|/\*.*?\*/", "", text, flags=re.S), "nothing is thrown in %s" % path.name)
        check(lines <= MOST_LINES, "%d lines are at most %d" % (lines, MOST_LINES))
        run(sys.executable, "-B", ROOT / "packaging/amalgamate.py", self.folder / "again")
        for path in (self.header, self.source):
            check((self.folder / "again" / path.name).read_bytes() == path.read_bytes(), "the same twice: %s" % path.name)

    def test_header(self):
        """The header is C99 and C++11"""
        for kind, standard in (("c", "c99"), ("c++", "c++11")):
            unit = self.folder / ("unit." + ("c" if kind == "c" else "cc"))
            unit.write_text('#include "cleave_scan.h"\n#include "cleave_scan.h"\ncleave_scan_dialect csv = CLEAVE_SCAN_CSV;\n')
            run(self.cxx, "-x", kind, "-std=" + standard, *WARNINGS, "-fsyntax-only", unit)

    def test_symbols(self):
        """They define the functions of the header and nothing else, and need no memory and no exceptions"""
        made = self.compiled(self.cxx)
        declared = set(re.findall(r"\b(cleave_\w+)\(", re.sub(r"/\*.*?\*/", "", self.header.read_text(), flags=re.S)))
        names = [line.split()[-2:] for line in run("nm", made).splitlines()]
        # Weak definitions are inline functions of the standard library.
        defined = {name for kind, name in names if kind.isupper() and kind not in "UWV"}
        check(defined == declared, "the names that others see: %s" % sorted(defined ^ declared))
        needed = {name for kind, name in names if kind == "U"}
        bad = [name for name in needed if re.match(r"_Zn|_Zd|malloc|free|calloc|__cxa_|_Unwind|__gxx|abort|getenv|f?open", name)]
        check(not bad, "needs nothing that allocates, throws or opens: %s" % bad)

    def test_same(self):
        """They give what the library gives, and a program with both links"""
        by_library = run(self.program("by_library", "cleave/cleave_scan.h", *self.library))
        made = self.compiled(self.cxx)
        alone = run(self.program("by_files", "cleave_scan.h", made))
        check(re.fullmatch(r"[0-9a-f]{16}\n", alone), "no check in the program fails: %r" % alone[:300])
        check(alone == by_library, "%s by the files is %s by the library" % (alone, by_library))
        # The linker takes the functions from the first; the rest of the library is as it was.
        unit = self.folder / "both.cc"
        unit.write_text('#include "cleave/cleave_c.h"\n#include <stdio.h>\nint main() {\n'
                        'cleave_scan_dialect csv = CLEAVE_SCAN_CSV;\n'
                        'cleave_scan_state state = cleave_scan_begin(&csv);\ncleave_scan_counts counts;\n'
                        'return cleave_scan(&csv, &state, "a\\n", 2, &counts) + (counts.records != 1) + '
                        '(cleave_version() == nullptr);\n}\n')
        run(self.cxx, "-std=c++20", "-I", ROOT / "include", unit, made, *self.library, "-o", self.folder / "both")
        run(self.folder / "both")

    def test_compiler(self, name):
        """A program in C needs no C++ library beside them."""
        compiler, linker, runner = COMPILERS[name]
        made = self.compiled(*found(compiler.split()))
        program = self.program(re.sub(r"\W+", "_", name), "cleave_scan.h", made, compiler=found(linker.split()))
        wanted = run(self.program("wanted", "cleave/cleave_scan.h", *self.library))
        given = run(*(found(runner) if runner else []), program)
        check(given == wanted, "%s by %s is %s by the library" % (given, name, wanted))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--library", required=True, type=os.path.realpath)
    parser.add_argument("--needs", required=True, help="what the library links, as after -l")
    parser.add_argument("--cxx", required=True)
    arguments = parser.parse_args()
    tally = Tally()
    with tempfile.TemporaryDirectory() as scratch:
        files = Amalgamation(arguments, Path(scratch))
        for test in (files.test_alone, files.test_header, files.test_symbols, files.test_same):
            tally.run(test.__doc__, test)
        for name in list(COMPILERS)[:None if "CLEAVE_EVERY_COMPILER" in os.environ else 2]:
            tally.run("Compiled alone: " + name, lambda: files.test_compiler(name))
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
