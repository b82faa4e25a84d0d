#!/usr/bin/env python3
"""Builds all artefacts of a release in build/dist/VERSION, from the committed files.

  release.py            needs the Python package spdx-tools: run it with ./dev release

In addition to the artefacts it writes SHA256SUMS, an SBOM (see sbom.py) and the release notes, which are this version's
section of CHANGELOG.md. The same commit gives the same bytes on the same machine.

If an artefact cannot be built here, the reason is printed. Exit status: 1 if a command failed, otherwise 75 if an
artefact is missing, otherwise 0.
"""
import gzip
import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests/tools"), str(ROOT / "packaging/portable")]
import target  # noqa: E402
from verdicts import INCONCLUSIVE, Failure, Inconclusive, Tally, need  # noqa: E402

# The artefacts of a release. The columns: the command, the folder where it leaves the file, the file (a pattern), and
# what is compiled in, as a key for sbom.py. {...,...} stands for each of its words, PYTHON for each word of PYTHONS.
ARTEFACTS = """
source                     build/dist     cleave-VERSION.tar.gz                                           source
./dev dist                 build/dist     cleave-VERSION-linux-{x86_64,aarch64}-musl.tar.gz               musl
./dev dist                 build/dist     cleave-VERSION-linux-{x86_64,aarch64}.tar.gz                    glibc
./dev package amd64 arm64  build/package  cleave_VERSION_{amd64,arm64}.deb                                debian
./dev package amd64 arm64  build/package  libcleave1_VERSION_{amd64,arm64}.deb                            headers
./dev package amd64 arm64  build/package  libcleave-dev_VERSION_{amd64,arm64}.deb                         headers
./dev wheel --all          build/wheel    cleave_csv-VERSION.tar.gz                                       source
./dev wheel --all          build/wheel    cleave_csv-VERSION-PYTHON-*manylinux_2_28_{x86_64,aarch64}.whl  glibc-wheel
./dev wheel --all          build/wheel    cleave_csv-VERSION-PYTHON-*musllinux_1_2_{x86_64,aarch64}.whl   musl-wheel
"""
PYTHONS = "{cp39-cp39,cp310-cp310,cp311-cp311,cp312-abi3}"   # the last one also serves all later versions
SUMS = "SHA256SUMS"


class Artefact(NamedTuple):
    command: str
    folder: str
    pattern: str
    made_of: str


def expand(text):
    """The strings that result from replacing each {...,...} with each of its words."""
    match = re.search(r"\{([^}]*)\}", text)
    if not match:
        return [text]
    return [whole for word in match.group(1).split(",")
            for whole in expand(text[:match.start()] + word + text[match.end():])]


def artefacts(version):
    for line in ARTEFACTS.strip().splitlines():
        command, folder, pattern, made_of = re.split(r"  +| (?=[\w-]+$)", line)
        for name in expand(pattern.replace("VERSION", version).replace("PYTHON", PYTHONS)):
            yield Artefact(command, folder, name, made_of)


def git(*words):
    return subprocess.run(["git", "-C", str(ROOT), *words], stdout=subprocess.PIPE, check=True).stdout


def make_source(version):
    """Creates the archive of the committed files: in Git's order, with the commit's time and modes for umask 022."""
    name = "cleave-%s" % version
    tar = git("-c", "tar.umask=022", "archive", "--format=tar", "--prefix=%s/" % name, "HEAD")
    folder = ROOT / "build/dist"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / (name + ".tar.gz")).write_bytes(gzip.compress(tar, 9, mtime=0))


class Command:
    """A command that builds artefacts. It runs once."""

    def __init__(self, command, version, when):
        self.name, self.log = command, ROOT / ("build/release-%s.log" % re.sub(r"\W+", "-", command).strip("-"))
        if command == "source":
            make_source(version)
            self.status, self.output = 0, ""
            return
        print("== %s" % command, flush=True)
        # The Debian packages have their own time, from cmake/changelog. Files in wheels get this one.
        times = {"SOURCE_DATE_EPOCH": str(when)} if "wheel" in command else {}
        done = subprocess.run(command.split(), cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace", env={**os.environ, **times})
        self.status, self.output = done.returncode, done.stdout
        self.log.write_text(done.stdout, encoding="utf-8")

    def reason(self):
        """The reason why an artefact was not built."""
        said = re.findall("^open (.*)", self.output, re.MULTILINE)
        return "; ".join(said) or "%s does not make it" % self.name


def take(artefact, command, into):
    """Copies the artefact and returns its path."""
    if command.status not in (0, INCONCLUSIVE):
        raise Failure("%s: exit status %d, see %s" % (command.name, command.status, command.log.relative_to(ROOT)))
    found = sorted((ROOT / artefact.folder).glob(artefact.pattern))
    if not found:
        raise Inconclusive(command.reason(), retry=False)
    need(len(found) == 1, "there are %d of them: %s" % (len(found), ", ".join(path.name for path in found)))
    path = Path(into) / found[0].name
    shutil.copyfile(found[0], path)
    return path


def notes(changelog, version):
    """The changelog's section for the version, with its own title."""
    match = re.search(r"^## %s - \S+\n(.*?)(?=^## |\Z)" % re.escape(version), changelog, re.MULTILINE | re.DOTALL)
    need(match and match.group(1).strip(), "CHANGELOG.md has no section for " + version)
    return "# cleave %s\n\n%s\n" % (version, re.sub("^###", "##", match.group(1).strip(), flags=re.MULTILINE))


def write_sums(folder):
    """Writes the SHA-256 of each file in the folder, as `sha256sum -c` reads it."""
    lines = ["%s  %s\n" % (hashlib.sha256(path.read_bytes()).hexdigest(), path.name)
             for path in sorted(folder.iterdir()) if path.name != SUMS]
    (folder / SUMS).write_text("".join(lines), encoding="utf-8")


def write_sbom(folder, version, taken):
    import sbom   # only this needs spdx-tools
    commit, when = git("log", "-1", "--format=%H %ct").decode().split()
    sbom.write(folder / ("cleave-%s.spdx.json" % version), version, commit, int(when), taken)


def main():
    if len(sys.argv) > 1:
        print(__doc__)
        return 0 if sys.argv[1] == "--help" else 2
    if git("status", "--porcelain"):
        sys.exit("there are changes that are not committed, and a release is made from a commit")
    os.umask(0o022)
    version, when = target.version(), target.commit_time()
    folder = ROOT / "build/dist" / version
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    wanted = list(artefacts(version))
    for artefact in wanted:   # files from an earlier commit are not part of this release
        for path in (ROOT / artefact.folder).glob(artefact.pattern):
            path.unlink()
    tally, commands, taken = Tally(), {}, []

    def take_one(artefact):
        taken.append((take(artefact, commands[artefact.command], folder), artefact.made_of))

    for artefact in wanted:
        if artefact.command not in commands:
            commands[artefact.command] = Command(artefact.command, version, when)
        tally.run(artefact.pattern, lambda artefact=artefact: take_one(artefact))

    def write_notes():
        text = notes((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), version)
        (folder / ("cleave-%s-notes.md" % version)).write_text(text, encoding="utf-8")

    tally.run("release notes", write_notes)
    tally.run("SBOM", lambda: write_sbom(folder, version, taken))
    tally.run(SUMS, lambda: write_sums(folder))
    print("%s:" % folder.relative_to(ROOT))
    for path in sorted(folder.iterdir()):
        print("%12d %s" % (path.stat().st_size, path.name))
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
