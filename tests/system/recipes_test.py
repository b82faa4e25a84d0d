#!/usr/bin/env python3
"""Compares the recipes in packaging/ with each other and with the build: version, licence, summary, source,
dependencies.

  recipes_test.py

The test only reads files and does not need any package manager. The last check changes each fact of each recipe in
turn, and fails unless the other checks notice.
"""
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tools"))
from verdicts import Failure, Tally, need  # noqa: E402

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))

# The names of each dependency. The Debian names are the ones in ./dev; the CMake names are the ones that CMakeLists.txt
# finds; the last column is the first column of packaging/portable/sources.tsv.
COLUMNS = "Debian CMake pkg-config Homebrew conda nix vcpkg Conan portable".split()
DEPENDENCIES = [row.split() for row in """
zlib1g-dev                    ZLIB           zlib         zlib           zlib            zlib           zlib                   zlib           zlib
libdeflate-dev                Libdeflate     libdeflate   libdeflate     libdeflate      libdeflate     libdeflate             libdeflate     libdeflate
libzstd-dev                   zstd           libzstd      zstd           zstd            zstd           zstd                   zstd           libzstd
liblzma-dev                   Lzma           liblzma      xz             liblzma-devel   xz             liblzma                xz_utils       xz
libbz2-dev                    Bz2            -            bzip2          bzip2           bzip2          bzip2                  bzip2          bzip2
liblz4-dev                    Lz4            liblz4       lz4            lz4-c           lz4            lz4                    lz4            lz4
nettle-dev                    Nettle         nettle       nettle         nettle          nettle         nettle                 nettle         nettle
libutf8proc-dev               Utf8proc       libutf8proc  utf8proc       libutf8proc     utf8proc       utf8proc               utf8proc       utf8proc
libxxhash-dev                 xxhash.h       -            xxhash         xxhash          xxhash         xxhash                 xxhash         xxhash
libboost-program-options-dev  Boost          -            boost          libboost-devel  boost          boost-program-options  boost          boost
libfmt-dev                    fmt            -            fmt            fmt             fmt            fmt                    fmt            fmtlib
""".strip().splitlines()]
LIBRARY = 8   # how many of the first rows programs that use the library also need
TOOLS = {"cmake", "ninja", "ninja-build", "g++", "vcpkg-cmake", "vcpkg-cmake-config"}   # build tools, not compiled in

VERSION_HEADER = "include/cleave/version.h"
MANUAL_PAGES = sorted("man/" + name for name in os.listdir(os.path.join(ROOT, "man")) if re.search(r"\.[1-9]$", name))
FORMULA = "packaging/homebrew/Formula/cleave.rb"
CONDA = "packaging/conda/recipe.yaml"
NIX = "packaging/nix/package.nix"
PORT = "packaging/vcpkg/ports/cleave/vcpkg.json"
PORTFILE = "packaging/vcpkg/ports/cleave/portfile.cmake"
CONAN = "packaging/conan/conanfile.py"
CONTAINER = "packaging/Containerfile"


class Tree:
    """The files in the repository, possibly with a change to one of them."""

    def __init__(self, changed=None, text=None):
        self.changed, self.changed_text = changed, text

    def text(self, path):
        if path == self.changed:
            return self.changed_text
        with open(os.path.join(ROOT, path), encoding="utf-8") as file:
            return file.read()

    def found(self, path, pattern):
        """The string that the pattern's group matches, for each match in the file."""
        found = re.findall(pattern, self.text(path), re.MULTILINE)
        need(found, "%s: nothing matches %s" % (path, pattern))
        return found

    def one(self, path, pattern):
        found = self.found(path, pattern)
        need(len(set(found)) == 1, "%s: %s matches %s" % (path, pattern, found))
        return found[0]

    def words(self, path, pattern):
        return set(self.one(path, pattern).split())


def same(what, found, wanted):
    need(found == wanted, "%s: %s, but %s is wanted" % (what, found, wanted))


def names(column, rows=DEPENDENCIES):
    return {row[COLUMNS.index(column)] for row in rows} - {"-"}


def versions_agree(tree):
    """The version is the one in version.h"""
    version = tree.one(VERSION_HEADER, r'CLEAVE_VERSION "(.*)"')
    parts = [tree.one(VERSION_HEADER, r"CLEAVE_VERSION_%s (\d+)$" % name) for name in ("MAJOR", "MINOR", "PATCH")]
    same(VERSION_HEADER, ".".join(parts), version)
    same("cmake/changelog", tree.found("cmake/changelog", r"^cleave \((.*)\)")[0], version)
    same("CHANGELOG.md", tree.found("CHANGELOG.md", r"^## (\d\S*)")[0], version)
    for page in MANUAL_PAGES:
        same(page, tree.one(page, r'^\.TH .*"cleave (\S+)"'), version)
    same(CONTAINER, tree.one(CONTAINER, r"^ARG VERSION=(\S+)"), version)
    same(CONDA, tree.one(CONDA, r'^  version: "(.*)"'), version)
    same(NIX, tree.one(NIX, r'^  version = "(.*)";'), version)
    same(PORT, json.loads(tree.text(PORT))["version"], version)
    # These read the version from the header.
    tree.found("pyproject.toml", '^input = "%s"' % re.escape(VERSION_HEADER))
    tree.found(CONAN, "../../%s" % re.escape(VERSION_HEADER))
    need(not re.search(r"^    version = ", tree.text(CONAN), re.MULTILINE), CONAN + " has a version of its own")


def licences_agree(tree):
    """The licence is the one in pyproject.toml"""
    licence = tree.one("pyproject.toml", '^license = "(.*)"')
    need(tree.text("LICENSE").startswith(licence + " License\n"), "LICENSE is another one than " + licence)
    same(CONTAINER, tree.one(CONTAINER, r'image\.licenses="(.*?)"'), licence)
    same(FORMULA, tree.one(FORMULA, '^  license "(.*)"'), licence)
    same(CONDA, tree.one(CONDA, "^  license: (.*)"), licence)
    same(NIX, tree.one(NIX, r"license = lib\.licenses\.(\w+);"), licence.lower())
    same(PORT, json.loads(tree.text(PORT))["license"], licence)
    same(CONAN, tree.one(CONAN, '^    license = "(.*)"'), licence)


def summaries_agree(tree):
    """The summary is the one in CMakeLists.txt"""
    summary = tree.one("CMakeLists.txt", r'^project\(.* DESCRIPTION "(.*?)"')
    same("pyproject.toml", tree.one("pyproject.toml", '^description = "(.*)"')[:len(summary)], summary)
    same(CONTAINER, tree.one(CONTAINER, r'image\.description="(.*?)"'), summary)
    same(FORMULA, tree.one(FORMULA, '^  desc "(.*)"'), summary)
    same(CONDA, tree.one(CONDA, "^  summary: (.*)"), summary)
    same(NIX, tree.one(NIX, r'description = "(.*)";'), summary)
    same(PORT, json.loads(tree.text(PORT))["description"], summary)
    same(CONAN, tree.one(CONAN, '^    description = "(.*)"'), summary)


def sources_agree(tree):
    """The source archive has one address, and no hash until it is published"""
    version = tree.one(VERSION_HEADER, r'CLEAVE_VERSION "(.*)"')
    recipes = {FORMULA: (r'^  url "(.*)"', r'^  sha256 "0+"'), CONDA: (r"^  url: (.*)", r'^  sha256: "0+"'),
               NIX: (r'^    url = "(.*)";', r"^    hash = lib\.fakeHash;"), PORTFILE: (r'URLS "(.*)"', r"SHA512 0$")}
    for path, (address, no_hash) in recipes.items():
        found = re.sub(r"\$\{(\{ version \}|finalAttrs\.version|VERSION)\}", version, tree.one(path, address))
        same(path, found, "https://cleave.invalid/releases/%s/cleave-%s.tar.gz" % (version, version))
        tree.found(path, no_hash)
    for path, pattern in {FORMULA: r'^  homepage "(.*)"', CONDA: "^  homepage: (.*)", NIX: r'homepage = "(.*)";',
                          PORT: r'"homepage": "(.*)"', CONAN: '^    homepage = "(.*)"'}.items():
        same(path, tree.one(path, pattern), "https://cleave.invalid/")


def dependencies_agree(tree):
    """The dependencies are the ones in CMakeLists.txt"""
    library = DEPENDENCIES[:LIBRARY]
    lists = "CMakeLists.txt"
    rows = [row.split() for row in tree.one(lists, r'^set\(dependencies\n((?:    ".*"\)?\n)+)').replace('"', "")
            .replace(")\n", "\n").splitlines()]
    for column, number in (("CMake", 1), ("pkg-config", 3), ("Debian", 5)):
        same(lists + ", dependencies", {row[number] for row in rows} - {"-"}, names(column, library))
    found = set()
    found |= set(tree.found(lists, r"^ *find_package\((\w+) REQUIRED"))
    found |= set(tree.found(lists, r"^find_path\(\w+ (\S+)"))
    same(lists, found - {"Threads"}, names("CMake", DEPENDENCIES[LIBRARY:]))
    same("./dev, command_packages", set(tree.one("dev", r"^command_packages=\(([^)]*)\)").split()) - TOOLS,
         names("Debian"))
    found = set(tree.found("packaging/portable/sources.tsv", r"^([a-z]\w*)\t"))
    same("packaging/portable/sources.tsv", found, names("portable"))

    same(FORMULA, set(tree.found(FORMULA, r'^  depends_on "(.*?)"')) - TOOLS, names("Homebrew"))
    same(CONDA, set(tree.one(CONDA, r"^  host:\n((?:    - \S+\n)+)").split()) - {"-"}, names("conda"))
    arguments = set(re.findall(r"^  (\w+),$", tree.text(NIX), re.MULTILINE)) - {"lib", "stdenv", "fetchurl"}
    inputs = " ".join(tree.found(NIX, r"uildInputs = \[([^]]*)\]")).split()
    same(NIX + ", arguments", arguments, set(inputs))
    same(NIX, set(inputs) - TOOLS, names("nix"))
    same(NIX + ", propagated", tree.words(NIX, r"propagatedBuildInputs = \[([^]]*)\]"), names("nix", library))
    port = json.loads(tree.text(PORT))
    words = [item if isinstance(item, str) else item["name"] for item in port["dependencies"]]
    same(PORT, set(words) - TOOLS, names("vcpkg", DEPENDENCIES[:-2]))
    same(PORT + ", command", set(port["features"]["command"]["dependencies"]), names("vcpkg", DEPENDENCIES[-2:]))
    same(CONAN, set(tree.found(CONAN, r'self\.requires\("(\w+)/')), names("Conan"))
    same(CONAN + ", visible", set(tree.found(CONAN, r'self\.requires\("(\w+)/[^"]*"\)')), names("Conan", library))
    found = set(re.findall(r'"(\w+)::\w+"', tree.one(CONAN, r"library\.requires = \[([^]]*)\]")))
    same(CONAN + ", package_info()", found, names("Conan", library))


CHECKS = [versions_agree, licences_agree, summaries_agree, sources_agree, dependencies_agree]


def is_noticed(tree):
    try:
        for check in CHECKS:
            check(tree)
    except (Failure, KeyError):
        return True
    return False


def mutants(version):
    """(path, text with one change, description of the change) for each fact."""
    facts = {version: "9.9.9", "MIT": "BSD", "Cuts CSV files": "Cuts files"}
    recipe = {**facts, "mit": "bsd", "cleave.invalid": "a.invalid", "fakeHash": "Hash", "0" * 64: "1" * 64,
              "SHA512 0": "SHA512 1"}
    columns = {FORMULA: "Homebrew", CONDA: "conda", NIX: "nix", PORT: "vcpkg", CONAN: "Conan",
               "CMakeLists.txt": "CMake", "packaging/portable/sources.tsv": "portable"}
    others = ("pyproject.toml", "cmake/changelog", "CHANGELOG.md", *MANUAL_PAGES, VERSION_HEADER)
    for path in (CONTAINER, PORTFILE, *others, *columns):
        text = Tree().text(path)
        pairs = dict(facts if path in others else recipe if path.startswith("packaging/") else {})
        if path in columns:
            pairs.update({name: "lib" + name for name in names(columns[path])})
        for old, new in pairs.items():
            changed = re.sub(r"(?<![\w-])%s(?![\w-])" % re.escape(old), new, text)
            if changed != text:
                yield path, changed, "%s -> %s" % (old, new)
        for old in names(columns[path]) if path in columns and path != "CMakeLists.txt" else ():
            lines = [line for line in text.splitlines(keepends=True)
                     if not re.search(r"(?<![\w-])%s(?![\w-])" % re.escape(old), line)]
            if path != PORT:   # the port is JSON, where lines end in commas
                yield path, "".join(lines), "without the lines of " + old


def mutants_are_noticed(tree):
    """For each fact of each recipe, a change or an omission is noticed"""
    need(not is_noticed(tree), "the recipes agree only when nothing is changed")
    tried = 0
    for path, text, what in mutants(tree.one(VERSION_HEADER, r'CLEAVE_VERSION "(.*)"')):
        need(is_noticed(Tree(path, text)), "%s: %s is not noticed" % (path, what))
        tried += 1
    need(tried > 100, "only %d mutants" % tried)


def main():
    tally = Tally()
    for check in [*CHECKS, mutants_are_noticed]:
        tally.run(check.__doc__, lambda check=check: check(Tree()))
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
