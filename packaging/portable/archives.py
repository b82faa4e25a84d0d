#!/usr/bin/env python3
"""Builds the command for any Linux: an archive in build/dist for each target.

  archives.py [--test] [TARGET...]     all targets by default

With musl, the command is a single static file, which needs nothing and loads nothing. With glibc, from 2.28 on, it can
load memory managers and devices. The same tree gives the same bytes.

--test also runs the command's test cases (tests/cases), under qemu for any processor other than this machine's. Exit
status: 1 if a case fails.
"""
import argparse
import gzip
import hashlib
import io
import os
import sys
import tarfile

from target import OUT, ROOT, TARGETS, Target, commit_time, version


def archive(installed, name, when):
    """An archive of the installed files. Its bytes depend on nothing else."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for path in sorted(installed.rglob("*")):
            member = tar.gettarinfo(path, "%s/%s" % (name, path.relative_to(installed)))
            member.uid = member.gid = 0
            member.uname = member.gname = ""
            member.mtime = when
            member.mode = 0o755 if path.is_dir() or os.access(path, os.X_OK) else 0o644
            with (open(path, "rb") if path.is_file() else io.BytesIO()) as content:
                tar.addfile(member, content if path.is_file() else None)
    file = OUT / (name + ".tar.gz")
    file.write_bytes(gzip.compress(buffer.getvalue(), 9, mtime=0))
    return file


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--test", action="store_true", help="run the cases of the command")
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=" or ".join(TARGETS))
    arguments = parser.parse_args()
    for name in arguments.targets:
        if name not in TARGETS:
            parser.error("%s is not one of %s" % (name, ", ".join(TARGETS)))
    OUT.mkdir(parents=True, exist_ok=True)
    statuses = []
    for name in arguments.targets or TARGETS:
        target = Target(name)
        folder = target.build(CLEAVE_BUILD_PYTHON="OFF")
        installed = target.install(folder, "cleave")
        target.check_needs(installed / "bin/cleave")
        file = archive(installed, "cleave-%s-linux-%s" % (version(), name), commit_time())
        print("%s: %d bytes, the command %d; SHA-256 %s" % (
            file.relative_to(ROOT), file.stat().st_size, (installed / "bin/cleave").stat().st_size,
            hashlib.sha256(file.read_bytes()).hexdigest()), flush=True)
        if arguments.test:
            statuses.append(target.test(folder / "cleave"))
    return max(statuses, default=0)


if __name__ == "__main__":
    sys.exit(main())
