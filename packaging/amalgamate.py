#!/usr/bin/env python3
"""Writes the functions of cleave_scan.h as two files that need nothing else, from the sources of the library.

  amalgamate.py [FOLDER]     writes cleave_scan.h and cleave_scan.cpp to FOLDER [build/amalgamated]

Each source is copied once, with what it includes before it, in an unnamed namespace: nothing in the two files has a name
that another object could see, except the functions of cleave_scan.h. The scan is copied once for each instruction set,
between pragmas that allow the compiler to use it; comments only the first time. Its instruction sets and their flags are
those in src/core/CMakeLists.txt. Everything that is left out by name must be there, or this program fails.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
SRC = ROOT / "src"
HEADER = ROOT / "include/cleave/cleave_scan.h"
SOURCES = ("core/kernels/kernel.h", "core/dialect/state_machine.cpp", "core/scan/carry.cpp", "core/scan/stepper.cpp",
           "core/scan/summarise.cpp", "core/kernels/kernel_list.cpp", "core/scan/boundary.cpp")
SCAN = "core/kernels/block_scan.h"
# By processor: the macro that tells, the headers with its instructions, and its kernels.
PROCESSORS = [("defined(__x86_64__)", "#include <immintrin.h>", ("avx512vbmi2", "avx2", "sse2")),
              ("defined(__aarch64__)", "#include <arm_neon.h>", ("neon",)),
              ("defined(__wasm_simd128__)", "#include <wasm_simd128.h>", ("wasm",)),
              (None, "", ("scalar",))]
# The interface needs neither fields nor the comparison of the two quote modes, and summarises whole units only: see
# end_of_part() in boundary.cpp. A processor with AVX-512 but without VBMI2 takes the kernel for AVX2.
LEFT_OUT = ('#include "core/kernels/block_fields.h"\n',
            "    kernel.summarise[kIndex] = &summarise<Isa, kHasQuote, kAnyTerminator, kEscape>;\n",
            "    kernel.mark[static_cast<std::size_t>(Rules::kBoth)][kIndex] =\n"
            "        &mark<Isa, Rules::kBoth, kHasQuote, kAnyTerminator, kEscape>;\n",
            "    kernel.mark_fields[kIndex] = &mark_fields<Isa, kHasQuote, kAnyTerminator, kEscape>;\n"
            "    if constexpr (Isa::kCanPick && !kAnyTerminator) {\n"
            "        kernel.pick_fields[kIndex] = &mark_fields<Picking<Isa>, kHasQuote, kAnyTerminator, kEscape>;\n"
            "    }\n")
# Without quotes there are no escapes inside them: see escape_use().
ESCAPES = "    add_variants<Isa, EscapeUse::kQuoted>(kernel);\n"
ESCAPES_IN_QUOTES = ("    add_variant<Isa, true, false, EscapeUse::kQuoted>(kernel);\n"
                     "    add_variant<Isa, true, true, EscapeUse::kQuoted>(kernel);\n")
LOCAL = re.compile(r'^#include "([^"]+)"\n', re.MULTILINE)
SYSTEM = re.compile(r"^#include <[^>]+>\n", re.MULTILINE)
KERNEL_ROWS = '#include "kernel_rows.inc"\n'
DECLARED = re.compile(r"// NOLINT[^\n]*\n#define CLEAVE_KERNEL\(symbol, runs_here\) extern.*?#undef CLEAVE_KERNEL\n", re.S)


def replaced(text, part, other=""):
    if text.count(part) != 1:
        sys.exit("amalgamate: not in the sources exactly once: %r" % part)
    return text.replace(part, other)


def path_of(name):
    return SRC / name if (SRC / name).exists() else ROOT / "include" / name


def text_of(name):
    return replaced(path_of(name).read_text(), "#pragma once\n") if name.endswith(".h") else path_of(name).read_text()


def flags_of_kernels():
    text = (SRC / "core/CMakeLists.txt").read_text()
    return {name: re.findall(r"-m(\S+)", flags)
            for name, flags in re.findall(r"\badd_kernel\((\w+)([^)]*)\)", text)}


class Amalgamation:
    def __init__(self):
        self.flags = flags_of_kernels()
        self.done = {"cleave/cleave_scan.h"}
        self.parts = []

    def add(self, name):
        """A source, after what it includes."""
        if name in self.done:
            return
        self.done.add(name)
        text = text_of(name)
        for included in LOCAL.findall(text):
            if KERNEL_ROWS not in '#include "%s"\n' % included:
                self.add(included)
        if name == "core/kernels/kernel_list.cpp":
            text = DECLARED.sub("", text)
            text = text.replace(KERNEL_ROWS, self.rows())
        text = LOCAL.sub("", text)
        text = text.replace("namespace cleave {\n", "namespace {\nnamespace cleave {\n")
        text = text.replace("}  // namespace cleave\n", "}  // namespace cleave\n}  // namespace\n")
        self.parts.append("\n// ---- %s\n\n%s" % (name, text))

    def rows(self):
        text = ""
        for number, (condition, _, kernels) in enumerate(PROCESSORS):
            text += ("#else\n" if condition is None else "#%s %s\n" % ("elif" if number else "if", condition))
            for name in kernels:
                runs = " && ".join('CLEAVE_CPU_HAS("%s")' % flag for flag in self.flags[name]) or "true"
                text += "CLEAVE_KERNEL(%s::k%sKernel, %s)\n" % (name, name.capitalize(), runs)
        return text + "#endif\n"

    def scan_of(self, name, seen, with_comments):
        """A source of the scan, after what it includes, as the inside of a namespace."""
        if name in seen or name in self.done:
            return ""
        seen.add(name)
        text = text_of(name)
        if name == SCAN:
            for part in LEFT_OUT:
                text = replaced(text, part)
            text = replaced(text, ESCAPES, ESCAPES_IN_QUOTES)
        before = "".join(self.scan_of(included, seen, with_comments) for included in LOCAL.findall(text))
        text = SYSTEM.sub("", LOCAL.sub("", text))
        text = re.sub(r"^(namespace (cleave )?\{|\}  // namespace( cleave)?)\n", "", text, flags=re.MULTILINE)
        text = text.replace("extern constinit const", "constinit const")
        if not with_comments:
            text = re.sub(r"^ *//.*\n", "", text, flags=re.MULTILINE)
        return before + "\n// ---- %s\n%s" % (name, text)

    def add_kernels(self):
        first = True
        for number, (condition, include, kernels) in enumerate(PROCESSORS):
            text = "\n#else\n" if condition is None else "\n#%s %s\n" % ("elif" if number else "if", condition)
            text += include + "\n"
            for name in kernels:
                flags = ",".join(self.flags[name])
                text += "\nnamespace {\nnamespace cleave {\n"
                if flags:
                    text += ('#if defined(__clang__)\n#pragma clang attribute push(__attribute__((target("%s"))), '
                             'apply_to = function)\n#else\n#pragma GCC push_options\n#pragma GCC target("%s")\n#endif\n'
                             % (flags, flags))
                text += "namespace %s {\n%s}  // namespace %s\n" % (
                    name, self.scan_of("core/kernels/%s.cpp" % name, set(), first), name)
                if flags:
                    text += "#if defined(__clang__)\n#pragma clang attribute pop\n#else\n#pragma GCC pop_options\n#endif\n"
                text += "}  // namespace cleave\n}  // namespace\n"
                first = False
            self.parts.append(text)
        self.parts.append("#endif\n")

    def text(self):
        for name in SOURCES:
            if name == "core/kernels/kernel_list.cpp":
                self.add_kernels()
            self.add(name)
        return re.sub(r"\n{3,}", "\n\n", "".join(self.parts))


def main():
    if len(sys.argv) > 2 or (len(sys.argv) == 2 and sys.argv[1].startswith("-")):
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) == 2 else ROOT / "build/amalgamated")
    version = re.search(r'CLEAVE_VERSION "(.*)"', (ROOT / "include/cleave/version.h").read_text())[1]
    origin = "Of cleave %s, made by ./dev amalgamate. SPDX-License-Identifier: MIT" % version
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "cleave_scan.h").write_text("/* %s */\n%s" % (origin, HEADER.read_text()))
    (folder / "cleave_scan.cpp").write_text("""// %s
// Compile with GCC 12 or Clang 14, or later, as C++20 and with -O2. cleave_scan.h is the manual.
#include "cleave_scan.h"

#include <cstring>

#pragma GCC diagnostic ignored "-Wpsabi"  // vectors are passed only between functions of this file
#pragma GCC diagnostic ignored "-Wunused-function"
#if defined(__clang__)
#pragma GCC diagnostic ignored "-Wunused-const-variable"
#pragma GCC diagnostic ignored "-Wunused-member-function"
#endif
%s""" % (origin, Amalgamation().text()))
    for name in ("cleave_scan.h", "cleave_scan.cpp"):
        print("%s: %d lines" % (folder / name, len((folder / name).read_text().splitlines())))


if __name__ == "__main__":
    main()
