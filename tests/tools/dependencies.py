"""Which sources a change touches, according to the dependency files of builds.

Used by tidy.py and by ./dev fuzz-changed.
"""
import json
import os
import re
import shlex
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NEW = re.compile(r"^(\S.*): #deps \d+, deps mtime \d+ \(VALID\)$")


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


def recorded(build):
    """{object: absolute paths that it was compiled from}, from Ninja's log. Empty if nothing was built."""
    if not os.path.exists(os.path.join(build, ".ninja_deps")):
        return {}
    listed = subprocess.run(["ninja", "-C", build, "-t", "deps"], stdout=subprocess.PIPE, text=True, check=True).stdout
    found, paths = {}, []
    for line in listed.splitlines():
        if match := NEW.match(line):
            paths = found[match.group(1)] = []
        elif line.startswith("    "):
            paths.append(os.path.normpath(os.path.join(build, line.strip())))
    return found


def dependencies(*builds):
    """{source: set of the paths that it includes, and itself}, for sources that these builds have compiled."""
    found = {}
    for build in builds:
        objects = recorded(build)
        for entry in compile_commands(build) if objects else []:
            words = shlex.split(entry["command"])
            output = os.path.relpath(os.path.join(entry["directory"], words[words.index("-o") + 1]), build)
            if output in objects:
                found.setdefault(entry["file"], set()).update(objects[output])
    return found


def ask_compiler(entry):
    """The same for a single source that no build has compiled, by asking the compiler."""
    words = shlex.split(entry["command"])
    at = words.index("-o")
    command = [*words[:at], *words[at + 2:], "-M"]
    done = subprocess.run(command, cwd=entry["directory"], stdout=subprocess.PIPE, text=True, check=True)
    listed = done.stdout.replace("\\\n", " ").partition(":")[2].split()
    return {os.path.normpath(os.path.join(entry["directory"], path)) for path in listed}
