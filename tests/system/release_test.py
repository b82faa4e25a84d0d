#!/usr/bin/env python3
"""Tests what packaging/release.py and packaging/sbom.py do without building anything, on a folder of made-up artefacts.

  release_test.py
"""
import glob
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "tests/tools"), str(ROOT / "packaging")]
import release  # noqa: E402
from verdicts import Failure, Inconclusive, Skip, Tally, need  # noqa: E402

COMMIT, WHEN = "0123456789abcdef0123456789abcdef01234567", 1795262400
CHANGELOG = ("# Changelog\n\n## 1.10.0 - 2027-01-01\n\nNewer.\n\n"
             "## 1.1.0 - 2026-12-01\n\n### Fixed\n\n- This.\n\n## 1.0 - x\n")


def same(found, wanted):
    need(found == wanted, "%r, but %r is wanted" % (found, wanted))


def raises(kind, call):
    try:
        call()
    except kind as error:
        return str(error)
    raise Failure("it raised no %s" % kind.__name__)


def make(folder, *names):
    for name in names:
        (folder / name).write_text("made up: %s\n" % name)


def sums_are_read_by_sha256sum(folder):
    """SHA256SUMS can be read by sha256sum, is sorted, and names all files except itself"""
    make(folder, "b.whl", "a.tar.gz", release.SUMS)
    release.write_sums(folder)
    wanted = subprocess.run(["sha256sum", "a.tar.gz", "b.whl"], cwd=folder, stdout=subprocess.PIPE, text=True,
                            check=True)
    same((folder / release.SUMS).read_text(), wanted.stdout)
    check = ["sha256sum", "--check", "--strict", "--quiet", release.SUMS]
    subprocess.run(check, cwd=folder, check=True)
    make(folder, "c")
    (folder / "c").rename(folder / "b.whl")
    need(subprocess.run(check, cwd=folder, capture_output=True).returncode == 1, "another file passes for b.whl")


def notes_are_the_section_of_the_version(_):
    """Release notes are the changelog's section for the version; a missing section is a failure"""
    same(release.notes(CHANGELOG, "1.1.0"), "# cleave 1.1.0\n\n## Fixed\n\n- This.\n")
    same(release.notes(CHANGELOG, "1.10.0"), "# cleave 1.10.0\n\nNewer.\n")
    raises(Failure, lambda: release.notes(CHANGELOG, "1.1"))
    raises(Failure, lambda: release.notes(CHANGELOG, "1.0"))   # the section is empty
    version = re.search('CLEAVE_VERSION "(.*)"', (ROOT / "include/cleave/version.h").read_text()).group(1)
    need(len(release.notes((ROOT / "CHANGELOG.md").read_text(), version)) > 500, "CHANGELOG.md says little")


def the_table_is_read(_):
    """Each row of the table gives its artefacts, with distinct names"""
    same(release.expand("a{b,c}{d,e}"), ["abd", "abe", "acd", "ace"])
    rows = list(release.artefacts("1.2.3"))
    same(len({row.pattern for row in rows}), len(rows))
    need(all("1.2.3" in row.pattern and "{" not in row.pattern for row in rows), "a row without version: %s" % rows)
    for name in ("cleave-1.2.3.tar.gz", "cleave-1.2.3-linux-aarch64-musl.tar.gz", "cleave_1.2.3_amd64.deb",
                 "cleave_csv-1.2.3-cp311-cp311-manylinux_2_27_x86_64.manylinux_2_28_x86_64.whl",
                 "cleave_csv-1.2.3-cp312-abi3-musllinux_1_2_aarch64.whl"):
        same(len([row for row in rows if Path(name).match(row.pattern)]), 1)


class FakeCommand(release.Command):
    def __init__(self, status, output):   # pylint: disable=super-init-not-called
        self.name, self.log, self.status, self.output = "./dev x", release.ROOT / "x.log", status, output


def what_is_missing_is_named(folder):
    """A missing artefact is inconclusive, with the command's message; a command that fails is a failure"""
    root, into = release.ROOT, folder / "into"
    into.mkdir()
    artefact = release.Artefact("./dev x", str(folder), "x-*.whl", "source")
    try:
        release.ROOT = folder
        said = raises(Inconclusive, lambda: release.take(artefact, FakeCommand(75, "open x: no compiler\n"), into))
        same(said, "x: no compiler")
        said = raises(Inconclusive, lambda: release.take(artefact, FakeCommand(0, ""), into))
        same(said, "./dev x does not make it")
        make(folder, "x-1.whl")
        raises(Failure, lambda: release.take(artefact, FakeCommand(2, ""), into))
        same(release.take(artefact, FakeCommand(75, ""), into).read_text(), "made up: x-1.whl\n")
        make(folder, "x-2.whl")
        raises(Failure, lambda: release.take(artefact, FakeCommand(0, ""), into))
    finally:
        release.ROOT = root


def sbom_is_valid(folder):
    """An SBOM for made-up artefacts is valid, lists each library, and is reproducible"""
    cache = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "cleave")
    sys.path += glob.glob(cache + "/spdx-tools-*/lib/python3*/site-packages")   # installed by ./dev release
    try:
        import sbom
        from spdx_tools.spdx.parser.json.json_parser import parse_from_file
        from spdx_tools.spdx.validation.document_validator import validate_full_spdx_document
    except ImportError:
        raise Skip("spdx-tools is not installed") from None
    make(folder, "a.tar.gz", "b.tar.gz", "c.whl")
    made = [(folder / "b.tar.gz", "musl"), (folder / "a.tar.gz", "source"), (folder / "c.whl", "glibc-wheel")]
    for name, artefacts in (("one.json", made), ("other.json", made[::-1])):
        sbom.write(folder / name, "1.2.3", COMMIT, WHEN, artefacts)
    same((folder / "one.json").read_bytes(), (folder / "other.json").read_bytes())
    document = parse_from_file(str(folder / "one.json"))
    same(validate_full_spdx_document(document), [])
    packages = {package.name: package for package in document.packages}
    for _, package, version, digest in sbom.target.rows():
        same((packages[package].version, packages[package].checksums[0].value), (version, digest))
    need({"musl", "libc++", "nanobind"} <= packages.keys(), "the compiler's libraries are missing")
    links = {(link.spdx_element_id, link.related_spdx_element_id) for link in document.relationships}
    need((packages["b.tar.gz"].spdx_id, packages["zlib"].spdx_id) in links, "zlib is not in b.tar.gz")
    need((packages["c.whl"].spdx_id, packages["musl"].spdx_id) not in links, "musl is in c.whl")
    for row in release.artefacts("1.2.3"):
        need(row.made_of in sbom.MADE_OF, "sbom.py does not know what %s is made of" % row.pattern)
    make(folder, "c.whl")
    (folder / "c.whl").write_text("changed")
    sbom.write(folder / "changed.json", "1.2.3", COMMIT, WHEN, made)
    need(parse_from_file(str(folder / "changed.json")).creation_info.document_namespace
         != document.creation_info.document_namespace, "another artefact, and the same namespace")


def main():
    tally = Tally()
    for check in (sums_are_read_by_sha256sum, notes_are_the_section_of_the_version, the_table_is_read,
                  what_is_missing_is_named, sbom_is_valid):
        with tempfile.TemporaryDirectory() as folder:
            tally.run(check.__doc__, lambda check=check, folder=folder: check(Path(folder)))
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
