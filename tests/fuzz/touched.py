"""Which fuzz targets a change touches.

A build with the address sanitizer says how each target is compiled. A target is touched by a
change to its corpus, its dictionary, its source, a file that it includes, or a .cpp file with the same name as such
a header, wherever it is. A change to what the targets share touches all of them.
"""
import glob
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "tools"))
from dependencies import ROOT, changed_since, compile_commands, dependencies  # noqa: E402


SHARED = {"choices", "run"}


def stem(path):
    return os.path.splitext(os.path.basename(path))[0]


def targets_of(dictionary):
    """The targets that a dictionary names in its first line."""
    with open(dictionary) as file:
        return file.readline().removeprefix("# Targets:").split()


def touched(changed, sources, dictionaries):
    """`sources`: {source of a target: paths that it includes}, `dictionaries`: {path: targets that use it};
    `changed` and all paths are relative to the repository."""
    named = {name for path in changed for name in dictionaries.get(path, [])}
    stems = {stem(path) for path in changed if path.endswith((".h", ".cpp", ".inc"))}
    for source, included in sorted(sources.items()):
        name = stem(source).removesuffix("_fuzz")
        parts = SHARED | {stem(path) for path in included if not path.startswith("..")}
        if name in named or parts & stems or "tests/fuzz/corpus/%s.tar" % name in changed:
            yield name


def touched_targets(commit, build):
    """The targets that have changed since that commit, according to the build in that folder."""
    wanted = glob.glob(os.path.join(HERE, "*_fuzz.cpp"))
    known = dependencies(compile_commands(build))
    missing = [path for path in wanted if path not in known]
    if missing:
        sys.exit("%s has not compiled %s" % (build, ", ".join(missing)))

    def relative(paths):
        return {os.path.relpath(path, ROOT) for path in paths}
    sources = {os.path.relpath(path, ROOT): relative(known[path]) for path in wanted}
    dictionaries = {os.path.relpath(path, ROOT): targets_of(path) for path in glob.glob(os.path.join(HERE, "*.dict"))}
    return list(touched(changed_since(commit), sources, dictionaries))
