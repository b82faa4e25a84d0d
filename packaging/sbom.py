"""Describes what a release is made of, as SPDX 2.3 in JSON, created and validated with the Python package spdx-tools.

The document lists cleave, each artefact with its SHA-256, and each library that is compiled into an artefact. A library
is listed with its version, its licence and, if its source package is in portable/sources.tsv, the SHA-256 of the .dsc.
The time is the commit's, and the namespace depends only on the artefacts, so that the same artefacts give the same
bytes.
"""
import datetime
import hashlib
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from spdx_tools.common.spdx_licensing import spdx_licensing
from spdx_tools.spdx.model import (Actor, ActorType, Checksum, ChecksumAlgorithm, CreationInfo, Document,
                                   ExternalPackageRef, ExternalPackageRefCategory, ExtractedLicensingInfo, Package,
                                   PackagePurpose, Relationship, RelationshipType, SpdxNoAssertion)
from spdx_tools.spdx.validation.document_validator import validate_full_spdx_document
from spdx_tools.spdx.writer.json.json_writer import write_document_to_file

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "portable"))
import target  # noqa: E402
AUTHORS = Actor(ActorType.ORGANIZATION, "The cleave authors")

# The libraries of portable/sources.tsv: the licence, and the Debian package that contains the compiled code.
LIBRARIES = {
    "boost": ("BSL-1.0", "libboost-program-options1.*-dev"),
    "bzip2": ("bzip2-1.0.6", "libbz2-dev"),
    "fmtlib": ("MIT", "libfmt-dev"),
    "libdeflate": ("MIT", "libdeflate-dev"),
    "libzstd": ("BSD-3-Clause OR GPL-2.0-only", "libzstd-dev"),
    "lz4": ("BSD-2-Clause", "liblz4-dev"),
    "nettle": ("LGPL-3.0-or-later OR GPL-2.0-or-later", "nettle-dev"),
    "utf8proc": ("MIT AND Unicode-DFS-2015", "libutf8proc-dev"),
    "xxhash": ("BSD-2-Clause", "libxxhash-dev"),
    "xz": ("LicenseRef-liblzma", "liblzma-dev"),
    "zlib": ("Zlib", "zlib1g-dev"),
}
# SPDX has no identifier for this.
LIBLZMA = ExtractedLicensingInfo("LicenseRef-liblzma", "liblzma is in the public domain.", "the terms of liblzma")
GCC = ("GPL-3.0-or-later WITH GCC-exception-3.1", "libstdc++-*-dev")

# The run-time libraries that the compiler of the portable builds includes, for each version of the compiler.
LLVM = "Apache-2.0 WITH LLVM-exception"
RUNTIMES = {"0.17.1": [("musl", "1.2.5", "MIT"), ("libc++", "22.1.8", LLVM), ("libc++abi", "22.1.8", LLVM),
                       ("libunwind", "22.1.8", LLVM), ("compiler_rt", "0.17.1", "MIT")]}


class Library(NamedTuple):
    name: str
    version: str
    licence: str
    purl: str           # https://github.com/package-url/purl-spec
    digest: str = ""    # SHA-256 of the .dsc
    origin: str = ""


def debian_library(name, version, licence, digest=""):
    purl = "pkg:deb/debian/%s@%s?arch=source" % (name, quote(version, safe=""))
    return Library(name, version, licence, purl, digest,
                   "source package of Debian" + ("; the checksum is that of the .dsc" if digest else ""))


def musl_libraries():
    """The libraries that `./dev dist` compiles in for musl."""
    zig = target.ZIG_VERSION
    found = [debian_library(package, version, LIBRARIES[name][0], digest)
             for name, package, version, digest in target.rows()]
    return found + [Library(name, version, licence, "pkg:pypi/ziglang@%s#%s" % (zig, quote(name)),
                            origin="part of ziglang %s of PyPI" % zig) for name, version, licence in RUNTIMES[zig]]


def glibc_libraries():
    """The libraries that `./dev dist` compiles in for glibc, which itself comes from the system."""
    return [library for library in musl_libraries() if library.name != "musl"]


def nanobind():
    """What wheels contain in addition, for their module."""
    version = re.search(r"nanobind==([0-9.]+)", (HERE.parent / "dev").read_text(encoding="utf-8")).group(1)
    return [Library("nanobind", version, "BSD-3-Clause", "pkg:pypi/nanobind@" + version)]


def debian_libraries(rows=(*LIBRARIES.values(), GCC)):
    """The libraries that `./dev package` compiles in, as installed on this machine."""
    digests = {(package, version): digest for _, package, version, digest in target.rows()}
    found = []
    for licence, pattern in rows:
        columns = "${source:Package}\t${source:Version}\t${db:Status-Status}\n"
        listed = subprocess.run(["dpkg-query", "-W", "-f", columns, pattern], stdout=subprocess.PIPE, text=True,
                                check=True)
        for name, version, status in sorted({tuple(line.split("\t")) for line in listed.stdout.splitlines()}):
            if status == "installed":
                found.append(debian_library(name, version, licence, digests.get((name, version), "")))
    return found


def header_libraries():
    """The libraries in the static library. Its users link the other libraries themselves."""
    return debian_libraries([LIBRARIES["xxhash"]])


MADE_OF = {"source": list, "musl": musl_libraries, "glibc": glibc_libraries, "debian": debian_libraries,
           "headers": header_libraries, "glibc-wheel": lambda: glibc_libraries() + nanobind(),
           "musl-wheel": lambda: musl_libraries() + nanobind()}


def identifier(text):
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]+", "-", text)


def package(name, version, licence, **more):
    return Package(identifier("%s-%s" % (name, version) if version else name), name, SpdxNoAssertion(), version,
                   files_analyzed=False, license_declared=spdx_licensing.parse(licence),
                   license_concluded=SpdxNoAssertion(), copyright_text=SpdxNoAssertion(), **more)


def sha256(digest):
    return [Checksum(ChecksumAlgorithm.SHA256, digest)]


def library_package(library):
    reference = ExternalPackageRef(ExternalPackageRefCategory.PACKAGE_MANAGER, "purl", library.purl)
    return package(library.name, library.version, library.licence, source_info=library.origin,
                   external_references=[reference], primary_package_purpose=PackagePurpose.LIBRARY,
                   **({"checksums": sha256(library.digest)} if library.digest else {}))


def artefact_package(path, kind, version):
    purpose = PackagePurpose.SOURCE if kind == "source" else PackagePurpose.INSTALL
    return package(path.name, None, "MIT", file_name=path.name, supplier=AUTHORS, primary_package_purpose=purpose,
                   checksums=sha256(hashlib.sha256(path.read_bytes()).hexdigest()),
                   comment="cleave " + version)


def make_document(version, commit, when, artefacts):
    """`artefacts` are pairs of a path and a key of MADE_OF. Raises ValueError with the validator's messages."""
    cleave = package("cleave", version, "MIT", supplier=AUTHORS, source_info="commit " + commit,
                     primary_package_purpose=PackagePurpose.APPLICATION)
    packages = {cleave.spdx_id: cleave}
    links = [Relationship("SPDXRef-DOCUMENT", RelationshipType.DESCRIBES, cleave.spdx_id)]
    digests = hashlib.sha256()
    for path, kind in sorted(artefacts):
        artefact = artefact_package(path, kind, version)
        packages[artefact.spdx_id] = artefact
        digests.update(artefact.checksums[0].value.encode() + path.name.encode())
        links.append(Relationship(cleave.spdx_id, RelationshipType.GENERATES, artefact.spdx_id))
        for library in MADE_OF[kind]():
            linked = library_package(library)
            packages.setdefault(linked.spdx_id, linked)
            links.append(Relationship(artefact.spdx_id, RelationshipType.STATIC_LINK, linked.spdx_id))
    name = "cleave-" + version
    created = datetime.datetime.fromtimestamp(when, datetime.timezone.utc).replace(tzinfo=None)
    document = Document(CreationInfo("SPDX-2.3", "SPDXRef-DOCUMENT", name,
                                     "https://cleave.invalid/spdx/%s-%s" % (name, digests.hexdigest()[:16]), [AUTHORS],
                                     created), list(packages.values()), relationships=links,
                        extracted_licensing_info=[LIBLZMA])
    faults = validate_full_spdx_document(document)
    if faults:
        raise ValueError("\n".join(fault.validation_message for fault in faults))
    return document


def write(path, *facts):
    write_document_to_file(make_document(*facts), str(path), validate=False)   # it has just been validated
