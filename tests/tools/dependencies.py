"""Which sources a change touches, according to what they include.

Used by tidy.py and by ./dev fuzz-changed.
"""
import functools
import json
import os
import re
import shlex
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
INCLUDE = re.compile(r'^\s*#\s*include\s*["<]([^">]+)[">]', re.MULTILINE)


def git(*arguments):
    done = subprocess.run(["git", "-C", ROOT, *arguments], stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout


def changed_since(commit):
    """The paths that differ between the commit and the working tree, including untracked files. A renamed file counts
    under both names."""
    changed = git("diff", "--name-only", "--no-renames", "-z", commit).split("\0")
    new = git("ls-files", "--others", "--exclude-standard", "-z").split("\0")
    return sorted(filter(None, changed + new))


def compile_commands(build):
    """The entries of the build folder's database."""
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        return json.load(file)


@functools.cache
def names_included(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return INCLUDE.findall(file.read())


@functools.cache
def is_file(path):
    return os.path.isfile(path)


def included_by(path, folders):
    """The file, and all files of the repository that it includes, directly or not. Conditions are not evaluated, so
    there may be too many."""
    found, new = set(), [path]
    while new:
        path = new.pop()
        if path in found:
            continue
        found.add(path)
        for name in names_included(path):
            places = (os.path.normpath(os.path.join(folder, name)) for folder in (os.path.dirname(path), *folders))
            new += [place for place in places if is_file(place)][:1]
    return found


def dependencies(entries):
    """{source: set of the paths of the repository that it includes, and itself}, for entries of a database."""
    found = {}
    for entry in entries:
        words = shlex.split(entry["command"])
        folders = [word[2:] if word.startswith("-I") else words[i + 1] for i, word in enumerate(words)
                   if word.startswith("-I") or word == "-isystem"]
        folders = tuple(folder for folder in folders if folder.startswith(ROOT + os.sep))
        found.setdefault(entry["file"], set()).update(included_by(entry["file"], folders))
    return found
