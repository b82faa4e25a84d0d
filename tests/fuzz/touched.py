#!/usr/bin/env python3
"""Prints the fuzz targets that a change touches, a line each.

  touched.py COMMIT BUILD

COMMIT is what the change is measured from. BUILD is the folder of a build with the address sanitizer, whose dependency
files say what each target includes. A target is touched by a change of its corpus, its source, a file that it includes, or
the .cpp file of such a header, which has the same name wherever it is. All are touched by a change of what they share.
"""
import glob
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "tools"))
from dependencies import ROOT, changed_since, dependencies  # noqa: E402


SHARED = {"choices", "run"}


def stem(path):
    return os.path.splitext(os.path.basename(path))[0]


def touched(changed, sources):
    """`sources`: {source of a target: paths that it includes}; `changed` and all of these are relative to the repository."""
    stems = {stem(path) for path in changed if path.endswith((".h", ".cpp", ".inc"))}
    for source, included in sorted(sources.items()):
        name = stem(source).removesuffix("_fuzz")
        parts = SHARED | {stem(path) for path in included if not path.startswith("..")}
        if parts & stems or any(path.startswith("tests/fuzz/corpus/%s/" % name) for path in changed):
            yield name


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    commit, build = sys.argv[1:]
    wanted = glob.glob(os.path.join(HERE, "*_fuzz.cpp"))
    known = dependencies(os.path.abspath(build))
    missing = [path for path in wanted if path not in known]
    if missing:
        sys.exit("%s has not compiled %s" % (build, ", ".join(missing)))

    def relative(paths):
        return {os.path.relpath(path, ROOT) for path in paths}
    sources = {os.path.relpath(path, ROOT): relative(known[path]) for path in wanted}
    print(*touched(changed_since(commit), sources), sep="\n")


if __name__ == "__main__":
    main()
