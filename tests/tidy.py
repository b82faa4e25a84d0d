#!/usr/bin/env python3
"""Runs clang-tidy over each source of the repository that a build folder would compile.

A file that several targets compile is checked once, as the first of them compiles it. Generated files are left out, and
those of C: the checks are for C++. With --sample N, files that the commits of the last six hours changed are checked, and
one in N of the others. The commit of HEAD decides which.
Shows every finding once and closes with "N files, M with findings". Exits with 1 if there is one.
"""
import argparse
import concurrent.futures
import hashlib
import json
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FINDING = re.compile(r"^(?=\S+:\d+:\d+: (?:error|warning): )", re.MULTILINE)


def commands_of(build, folders):
    """The first entry of each file in the build folder's database."""
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        database = json.load(file)
    wanted = tuple(os.path.abspath(folder) + os.sep for folder in folders)
    generated = os.path.join(ROOT, "build") + os.sep
    commands = {}
    for entry in database:
        is_ours = entry["file"].startswith(wanted) and not entry["file"].startswith(generated)
        if is_ours and entry["file"].endswith(".cpp"):
            commands.setdefault(entry["file"], entry)
    return commands


def git(*arguments):
    done = subprocess.run(["git", "-C", ROOT, *arguments], stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout


def sample_of(commands, one_in):
    """The entries of files that changed within six hours before the last commit, and of one in `one_in` others."""
    head, time = git("log", "-1", "--format=%H %ct").split()
    changed = git("log", "--since=%d" % (int(time) - 6 * 3600), "--format=", "--name-only").split()
    recent = {os.path.join(ROOT, name) for name in changed}

    def is_drawn(path):
        digest = hashlib.sha256((head + os.path.relpath(path, ROOT)).encode()).digest()
        return int.from_bytes(digest[:8], "big") % one_in == 0

    return {path: entry for path, entry in commands.items() if path in recent or is_drawn(path)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clang-tidy", default="clang-tidy", metavar="PATH", help="the program [clang-tidy]")
    parser.add_argument("--build", default=os.path.join(ROOT, "build", "lint"), metavar="FOLDER",
                        help="it has compile_commands.json [build/lint]")
    parser.add_argument("--checks", metavar="GLOBS", help="are put after those of .clang-tidy")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), metavar="N",
                        help="files at a time [as many as there are processors]")
    parser.add_argument("--sample", type=int, metavar="N", help="check one in N of the files that have not changed lately")
    parser.add_argument("folder", nargs="*", default=[ROOT], help="check the files in it [the repository]")
    args = parser.parse_args()

    # clang-tidy checks a file once for each of its entries in a database. In this one it has one.
    commands = commands_of(args.build, args.folder)
    if args.sample:
        commands = sample_of(commands, args.sample)
    database = os.path.join(args.build, "tidy", "compile_commands.json")
    os.makedirs(os.path.dirname(database), exist_ok=True)
    with open(database, "w", encoding="utf-8") as file:
        json.dump(list(commands.values()), file, indent=1)
    command = [args.clang_tidy, "--quiet", "--warnings-as-errors=*", "-p", os.path.dirname(database)]
    if args.checks:
        command.append("--checks=" + args.checks)

    def check(path):
        return subprocess.run([*command, path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    bad, shown = 0, set()
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for done in pool.map(check, commands):
            if done.returncode == 0:
                continue
            bad += 1
            for finding in FINDING.split(done.stdout):   # one in a header comes with each file that includes it
                title = finding.partition("\n")[0]
                if title not in shown:
                    shown.add(title)
                    print(finding, end="", flush=True)
            if not done.stdout:
                print(done.stderr, end="", flush=True)
    print("%d files, %d with findings" % (len(commands), bad))
    return 0 if commands and bad == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
