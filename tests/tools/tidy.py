#!/usr/bin/env python3
"""Runs clang-tidy on each source of the repository that a build folder would compile.

A file that several targets compile is checked once, as the first of them compiles it. Generated files are left out, and
so are C files, because the checks are for C++. With --changed COMMIT, only sources that have changed since that commit,
or that include a header that has changed, are checked.

A file without findings is not checked again until something that affects the outcome changes: the file, a header, the
command, a package with headers, .clang-tidy, or clang-tidy itself. The user's cache records what has passed, by a digest
of all these.

Shows every finding once and ends with "N files, M with findings, K known". Exit status: 1 if there are findings.
"""
import argparse
import concurrent.futures
import hashlib
import json
import os
import re
import subprocess
import sys

import dependencies
from dependencies import ROOT

FINDING = re.compile(r"^(?=\S+:\d+:\d+: (?:error|warning): )", re.MULTILINE)
CACHE = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "cleave", "tidy")


def commands_of(build, folders):
    """The first entry of each file in the build folder's database."""
    wanted = tuple(os.path.abspath(folder) + os.sep for folder in folders)
    generated = os.path.join(ROOT, "build") + os.sep
    commands = {}
    for entry in dependencies.compile_commands(build):
        is_ours = entry["file"].startswith(wanted) and not entry["file"].startswith(generated)
        if is_ours and entry["file"].endswith(".cpp"):
            commands.setdefault(entry["file"], entry)
    return commands


def touched_by(changed, commands, known):
    """The entries of the sources that are among these paths or include one of them."""
    changed = {os.path.join(ROOT, path) for path in changed}
    if os.path.join(ROOT, ".clang-tidy") in changed:
        return commands
    return {path: entry for path, entry in commands.items() if path in changed or changed & known[path]}


class Passed:
    """The record of files without findings, by digest."""

    def __init__(self, common):
        self.common = common
        os.makedirs(CACHE, exist_ok=True)

    def path(self, entry, included):
        digest = hashlib.sha256(self.common)
        digest.update(entry["command"].replace(ROOT, ".").encode())
        for path in sorted(included):
            with open(path, "rb") as file:
                content = hashlib.sha256(file.read()).digest()
            digest.update(os.path.relpath(path, ROOT).encode() + b"\0" + content)
        return os.path.join(CACHE, digest.hexdigest())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clang-tidy", default="clang-tidy", metavar="PATH", help="the program [clang-tidy]")
    parser.add_argument("--build", default=os.path.join(ROOT, "build", "lint"), metavar="FOLDER",
                        help="it has compile_commands.json [build/lint]")
    parser.add_argument("--checks", default="", metavar="GLOBS", help="are put after those of .clang-tidy")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), metavar="N",
                        help="files at a time [as many as there are processors]")
    parser.add_argument("--changed", metavar="COMMIT", help="check what has changed since that commit")
    parser.add_argument("folder", nargs="*", default=[ROOT], help="check the files in it [the repository]")
    args = parser.parse_args()

    commands = commands_of(args.build, args.folder)
    known = dependencies.dependencies(commands.values())
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        if args.changed:
            commands = touched_by(dependencies.changed_since(args.changed), commands, known)

        # clang-tidy checks a file once for each of its entries in a database. In this database each file has one entry.
        database = os.path.join(args.build, "tidy", "compile_commands.json")
        os.makedirs(os.path.dirname(database), exist_ok=True)
        with open(database, "w", encoding="utf-8") as file:
            json.dump(list(commands.values()), file, indent=1)
        command = [args.clang_tidy, "--quiet", "--warnings-as-errors=*", "-p", os.path.dirname(database)]
        if args.checks:
            command.append("--checks=" + args.checks)
        version = subprocess.run([args.clang_tidy, "--version"], stdout=subprocess.PIPE, check=True).stdout
        packages = subprocess.run(["dpkg-query", "-W", "lib*-dev", "nlohmann*"], stdout=subprocess.PIPE).stdout
        with open(os.path.join(ROOT, ".clang-tidy"), "rb") as file:
            passed = Passed(version + packages + args.checks.encode() + file.read())

        def check(path):
            """Checks a file. Returns None if it is already known to pass."""
            mark = passed.path(commands[path], known[path])
            if os.path.exists(mark):
                return None
            done = subprocess.run([*command, path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            if done.returncode == 0:
                open(mark, "w").close()
            return done

        bad, familiar, shown = 0, 0, set()
        for done in pool.map(check, commands):
            if done is None:
                familiar += 1
                continue
            if done.returncode == 0:
                continue
            bad += 1
            for finding in FINDING.split(done.stdout):   # once per including file, for findings in headers
                title = finding.partition("\n")[0]
                if title not in shown:
                    shown.add(title)
                    print(finding, end="", flush=True)
            if not done.stdout:
                print(done.stderr, end="", flush=True)
    print("%d files, %d with findings, %d known" % (len(commands), bad, familiar))
    return 0 if bad == 0 and (commands or args.changed) else 1


if __name__ == "__main__":
    sys.exit(main())
