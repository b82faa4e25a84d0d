#!/usr/bin/env python3
"""Everything that the library throws is a cleave::Error, except std::bad_alloc.

  errors_test.py SOURCE_DIRECTORY

Looks at each throw expression outside of the command, and at what its class derives from.
"""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tools"))
from verdicts import Tally, check  # noqa: E402

CLASS = re.compile(r"\bclass (\w+)(?: final)? : public ([\w:]+)")
THROW = re.compile(r"\bthrow ([\w:]+)[({]")
BASE = "ErrorOf"
# These do not leave the library: they are caught by the function that called the one that throws.
CAUGHT = {"DoubtfulBatch", "TooManyKeys"}
# Functions that return an error to be thrown, and what they return.
MAKERS = {"name_error": "MemoryManagerNameError"}
OUT_OF_MEMORY = "std::bad_alloc"


def code_of(path):
    return re.sub(r"//.*", "", path.read_text())


def faults_of(sources):
    """`sources`: {name: text}. The throw expressions that do not throw an Error."""
    bases = {name: base for text in sources.values() for name, base in CLASS.findall(text)}

    def is_error(name):
        while name in bases and name != BASE:
            name = bases[name]
        return name == BASE

    for name, text in sources.items():
        for thrown in THROW.findall(text):
            kind = MAKERS.get(thrown, thrown).removeprefix("cleave::")
            if not (is_error(kind) or kind in CAUGHT or kind == OUT_OF_MEMORY):
                yield f"{name} throws {thrown}"


def library(root):
    paths = [path for folder in ("include", "src") for path in sorted((root / folder).rglob("*"))
             if path.suffix in (".h", ".cpp") and not {"cli", "command"} & set(path.parts)]
    return {path.relative_to(root).as_posix(): code_of(path) for path in paths}


def every_throw(root):
    """Everything that the library throws is a cleave::Error"""
    sources = library(root)
    check(sum(len(THROW.findall(text)) for text in sources.values()) > 300, "the throw expressions are found")
    faults = list(faults_of(sources))
    check(not faults, "; ".join(faults[:20]))


def planted():
    """A class of the standard library, and one that only looks like an error, are found"""
    sources = {"a.cpp": 'class A : public ErrorOf<std::runtime_error> {};\nclass B : public A {};\n'
                        'class C : public std::runtime_error {};\nthrow B("b"); throw C("c"); throw std::logic_error("d");'}
    check(list(faults_of(sources)) == ["a.cpp throws C", "a.cpp throws std::logic_error"], "both are found, not B")


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    tally = Tally()
    tally.run(every_throw.__doc__, lambda: every_throw(root))
    tally.run(planted.__doc__, planted)
    return tally.close()


sys.exit(main())
