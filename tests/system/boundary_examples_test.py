#!/usr/bin/env python3
"""Builds the programs of examples/boundary with the two files of ./dev amalgamate, each where its compiler is, and cuts
files with them: the pieces, joined, are the file, begin where records begin, and hold as many as the command counts.

  boundary_examples_test.py --cleave CLEAVE --cxx CXX [--size BYTES]
"""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "tools"))
from verdicts import Skip, Tally, check, need  # noqa: E402

EXAMPLES = ROOT / "examples" / "boundary"
MOST_LINES = 120
TOOLS = {"C": "cc", "Go": "go", "Rust": "rustc"}
# A quote that stays open over the cuts; line feeds inside quotes; no terminator at the end.
MADE = 'id,text\n' + ''.join('%d,"a ""line""\nand, %s"\n' % (i, "x" * (i % 50)) for i in range(4000)) + '4000,"end'


def run(*words, folder=None):
    done = subprocess.run([str(word) for word in words], cwd=folder, capture_output=True, text=True, timeout=600,
                          env={**os.environ, "CGO_ENABLED": "1", "CGO_CXXFLAGS": "-O0", "GOFLAGS": "-mod=mod"})
    need(done.returncode == 0, "%s: %d %s" % (words, done.returncode, done.stderr[-2000:]))
    return done.stdout


class Examples:
    def __init__(self, arguments, folder):
        self.cleave, self.cxx, self.folder = arguments.cleave, arguments.cxx, folder
        run(sys.executable, "-B", ROOT / "packaging/amalgamate.py", folder)
        self.made = folder / "cleave_scan.o"
        # Not optimised: amalgamation_test.py compares what optimising compilers make of it with the library.
        run(self.cxx, "-std=c++20", "-O0", "-c", folder / "cleave_scan.cpp", "-o", self.made)
        self.inputs = [folder / "made.csv", folder / "long.csv", folder / "empty.csv", ROOT / "data" / "orders.csv"]
        self.inputs[0].write_text(MADE + '"\n')
        self.inputs[1].write_text('a\n"' + "x,\n" * 3000 + '"\nb\n')
        self.inputs[2].write_text("")
        if arguments.size > 0:
            self.inputs.append(folder / "large.csv")
            with open(self.inputs[-1], "w") as file:
                for _ in range(arguments.size // len(MADE) + 1):
                    file.write(MADE + '"\n')

    def build(self, language):
        tool = shutil.which(TOOLS[language])
        if tool is None:
            raise Skip("%s is not installed" % TOOLS[language])
        program = self.folder / ("split_" + language)
        if language == "C":
            check(len((EXAMPLES / "split.c").read_text().splitlines()) <= MOST_LINES, "split.c is short")
            run(tool, "-std=c99", "-Wall", "-Wextra", "-Werror", "-O2", "-I", self.folder, EXAMPLES / "split.c", self.made,
                "-lstdc++", "-lpthread", "-o", program)
        elif language == "Go":
            module = self.folder / "go"
            module.mkdir(exist_ok=True)
            for path in (EXAMPLES / "main.go", self.folder / "cleave_scan.h", self.folder / "cleave_scan.cpp"):
                shutil.copy(path, module)
            (module / "go.mod").write_text("module example/split\n\ngo 1.21\n")
            run(tool, "build", "-o", program, folder=module)
        else:
            run(tool, "-O", "-D", "warnings", EXAMPLES / "split.rs", "-C", "link-arg=%s" % self.made,
                "-C", "link-arg=-lstdc++", "-o", program)
        return program

    def test_language(self, language):
        program = self.build(language)
        for path in self.inputs:
            text = path.read_bytes()
            counted = int(run(self.cleave, "count", "--no-header", "-d", ",", "--terminator", "lf", path)) if text else 0
            for pieces in (1, 2, 3, 8, 64):
                prefix = self.folder / "piece"
                said = run(program, path, pieces, prefix)
                check(said == "%d records\n" % counted, "%s of %s: %r, not %d" % (language, path.name, said, counted))
                parts = [Path("%s.%d" % (prefix, i)).read_bytes() for i in range(pieces)]
                check(b"".join(parts) == text, "%d pieces of %s join to it" % (pieces, path.name))
                inside = 0   # every quote of these files opens or closes
                for part in parts[:-1]:
                    inside ^= part.count(b'"') % 2
                    check(not part or (not inside and part.endswith(b"\n")), "a piece of %s is whole" % path.name)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cleave", required=True, type=os.path.realpath)
    parser.add_argument("--cxx", required=True)
    parser.add_argument("--size", type=int, default=0, help="also a file of this size")
    arguments = parser.parse_args()
    tally = Tally()
    with tempfile.TemporaryDirectory() as scratch:
        examples = Examples(arguments, Path(scratch))
        for language in TOOLS:
            tally.run("%s cuts files by all cores" % language, lambda: examples.test_language(language))
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
