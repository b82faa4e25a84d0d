#!/usr/bin/env python3
"""Where the tests' plugins are built: in a folder such that no other user can write to it or to its parents. The tests
of what cleave loads change permissions there, and below a sticky folder such as /tmp other rules hold.

  trusted_folder.py FOLDER

Prints FOLDER/plugins if FOLDER can be trusted, otherwise the path of a folder in the user's cache. Creates the folder.
The umask must deny write access to group and others.
"""
import hashlib
import os
import sys


def is_trusted(path):
    """Whether only this user and root can write to the folder and the folders above it."""
    path = os.path.realpath(path)
    status = os.stat(path)
    if status.st_uid not in (0, os.geteuid()) or status.st_mode & 0o022:
        return False
    return path == "/" or is_trusted(os.path.dirname(path))


def main():
    folder = os.path.join(sys.argv[1], "plugins")
    if not is_trusted(sys.argv[1]):
        cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
        name = hashlib.sha256(os.path.realpath(sys.argv[1]).encode()).hexdigest()[:16]
        folder = os.path.join(cache, "cleave", "plugins", name)
    os.makedirs(folder, mode=0o755, exist_ok=True)
    print(folder)


if __name__ == "__main__":
    main()
