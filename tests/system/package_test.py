#!/usr/bin/env python3
"""Make the packages, unpack them into an empty root, and use what is there: the command, its manual page, and the
library from a program of another project.

  package_test.py --build BUILD_DIRECTORY --cxx COMPILER
"""
import argparse
import glob
import os
import re
import stat
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tools"))
from verdicts import Failure, Tally, check, need_tool  # noqa: E402

TOOLS = ["cpack", "cmake", "ninja", "dpkg-deb", "dpkg-shlibdeps", "dpkg-parsechangelog", "dpkg-architecture",
         "file", "pkg-config", "mandoc"]
SOURCE = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
INPUT = os.path.join(SOURCE, "data", "orders.csv")
COMPLETIONS = {"bash": "usr/share/bash-completion/completions/cleave",
               "zsh": "usr/share/zsh/vendor-completions/_cleave",
               "fish": "usr/share/fish/vendor_completions.d/cleave.fish"}
COMMAND_FILES = {"usr/bin/cleave", "usr/share/man/man1/cleave.1.gz", "usr/share/doc/cleave/copyright",
                 "usr/share/doc/cleave/changelog.gz", *COMPLETIONS.values()}
# In the folder of the architecture.
LIBRARY_FILES = [r"usr/lib/{arch}/libcleave(_offload)?\.a", r"usr/lib/{arch}/pkgconfig/cleave(-offload)?\.pc",
                 r"usr/lib/{arch}/cmake/cleave/cleave(Config|ConfigVersion|Targets|Targets-[a-z]+)\.cmake",
                 r"usr/lib/{arch}/cmake/cleave/Find(Libdeflate|Nettle|Utf8proc)\.cmake",
                 r"usr/share/doc/libcleave-dev/(copyright|changelog\.gz)"]
HEADERS = {"usr/include/cleave/" + name for name in os.listdir(os.path.join(SOURCE, "include", "cleave"))}


def run(*words, may_talk=False, **options):
    """The standard output of a command that succeeds and has nothing to say beside."""
    done = subprocess.run(words, capture_output=True, text=True, **options)
    if done.returncode != 0 or (done.stderr and not may_talk):
        raise Failure("%s: exit %d\n%s%s" % (" ".join(words), done.returncode, done.stdout, done.stderr))
    return done.stdout


def make_packages(build, packed):
    """The paths of the command's package and of the library's."""
    run("cpack", "--config", os.path.join(build, "CPackConfig.cmake"), "-G", "DEB", "-B", packed, umask=0o077,
        may_talk=True)
    found = {run("dpkg-deb", "-f", path, "Package").strip(): path for path in glob.glob(packed + "/*.deb")}
    check(set(found) == {"cleave", "libcleave-dev"}, "there are two packages, not %s" % sorted(found))
    return found["cleave"], found["libcleave-dev"]


def check_same_again(build, folder, packages):
    """Packed in another folder, from files of another time, the packages are the same byte for byte."""
    os.utime(os.path.join(build, "cleave"))
    for first, second in zip(packages, make_packages(build, os.path.join(folder, "again"))):
        with open(first, "rb") as one, open(second, "rb") as other:
            check(one.read() == other.read(), os.path.basename(first) + " is the same when it is packed again")


def field(package, name):
    return run("dpkg-deb", "-f", package, name).strip()


def unpack(package, root):
    """The files of the package, from the root."""
    before = files_below(root)
    run("dpkg-deb", "-x", package, root)
    return files_below(root) - before


def files_below(root):
    return {os.path.relpath(os.path.join(folder, name), root) for folder, _, names in os.walk(root) for name in names}


def check_control(command, library):
    version = field(command, "Version")
    for package, section, depends in [(command, "utils", r"libc6 \(>= [0-9.]+\)"), (library, "libdevel", "libc6-dev")]:
        name, architecture = field(package, "Package"), field(package, "Architecture")
        check(os.path.basename(package) == "%s_%s_%s.deb" % (name, version, architecture), "the name of " + package)
        check(field(package, "Section") == section, "the section of " + name)
        check(re.search(depends, field(package, "Depends")), "what %s depends on" % name)
        check(re.fullmatch(r".+ <.+@.+>", field(package, "Maintainer")), name + " has a maintainer")
        check(len(field(package, "Description").splitlines()) > 1, name + " has a long description")


def check_files(root, command_files, library_files, build):
    check(command_files == COMMAND_FILES, "the command's files are %s" % sorted(command_files))
    arch = run("dpkg-architecture", "-qDEB_HOST_MULTIARCH").strip()
    patterns = [pattern.replace("{arch}", arch) for pattern in LIBRARY_FILES]
    unknown = {path for path in library_files - HEADERS if not any(re.fullmatch(p, path) for p in patterns)}
    check(not unknown, "the library's files are those and no others: %s" % sorted(unknown))
    check(HEADERS <= library_files, "there is each header")
    for folder, _, names in os.walk(os.path.join(root, "usr")):
        check(stat.S_IMODE(os.lstat(folder).st_mode) == 0o755, "mode 755 of " + folder)
        for name in names:
            path = os.path.join(folder, name)
            mode = 0o755 if folder.endswith("/bin") else 0o644
            check(os.lstat(path).st_mode == stat.S_IFREG | mode, "mode %o of %s" % (mode, path))
            with open(path, "rb") as file:
                text = file.read()
            if b"\0" not in text:
                for place in (SOURCE, build):
                    check(place.encode() not in text, "%s names no path of the build" % path)


def check_command(root):
    """Returns what cleave says the offsets are."""
    cleave = os.path.join(root, "usr/bin/cleave")
    offsets = run(cleave, "offsets", "-n", "4", INPUT)
    check(len(offsets.splitlines()) == 4, "cleave offsets prints four rows")
    for shell, path in COMPLETIONS.items():
        with open(os.path.join(root, path)) as file:
            check(file.read() == run(cleave, "--completion", shell), path + " is what the command prints")
    page = run("mandoc", "-T", "ascii", os.path.join(root, "usr/share/man/man1/cleave.1.gz"))
    check("CLEAVE(1)" in page, "the manual page can be read")
    with open(os.path.join(root, "usr/share/doc/cleave/copyright")) as file:
        check("MIT" in file.read(), "the licence is there")
    changelog = os.path.join(root, "usr/share/doc/cleave/changelog.gz")
    newest = run("dpkg-parsechangelog", "-l", changelog, "-S", "Version").strip()
    check(run(cleave, "--version").startswith("cleave %s\n" % newest), "the changelog ends with this version")
    return offsets


def build_by_cmake(root, folder, cxx):
    build = os.path.join(folder, "by_cmake")
    run("cmake", "-S", os.path.join(SOURCE, "examples"), "-B", build, "-G", "Ninja",
        "-D", "CMAKE_PREFIX_PATH=" + os.path.join(root, "usr"), "-D", "CMAKE_CXX_COMPILER=" + cxx)
    with open(os.path.join(build, "CMakeCache.txt")) as file:
        found = re.search(r"^cleave_DIR:PATH=(.*)$", file.read(), re.M).group(1)
    check(found.startswith(root), "cleave is found in the root, not in " + found)
    run("cmake", "--build", build)
    return os.path.join(build, "example_ranges")


def build_by_pkg_config(root, folder, cxx):
    places = glob.glob(root + "/usr/lib/**/pkgconfig", recursive=True)
    environment = {**os.environ, "PKG_CONFIG_PATH": ":".join(places)}
    flags = run("pkg-config", "--cflags", "--libs", "cleave", env=environment).split()
    program = os.path.join(folder, "by_pkg_config")
    run(cxx, "-std=c++20", os.path.join(SOURCE, "examples", "ranges.cpp"), "-o", program, *flags)
    return program


def check_embedding(folder, cxx):
    """A project that adds this one as a folder gets the library alone, and needs nothing that only the rest needs."""
    project, build = os.path.join(folder, "embedding"), os.path.join(folder, "embedded")
    os.mkdir(project)
    with open(os.path.join(project, "CMakeLists.txt"), "w") as file:
        file.write("cmake_minimum_required(VERSION 3.25)\nproject(embedding LANGUAGES CXX)\n"
                   "add_subdirectory(%s cleave)\n" % SOURCE)
    absent = ["--no-warn-unused-cli", "-D", "CMAKE_CXX_COMPILER=" + cxx]
    for package in ("fmt", "GTest", "benchmark"):
        absent += ["-D", "CMAKE_DISABLE_FIND_PACKAGE_%s=ON" % package]
    run("cmake", "-S", project, "-B", build, "-G", "Ninja", *absent)
    made = [line.split(":")[0] for line in run("ninja", "-C", build, "-t", "targets", "all").splitlines()]
    check(any(name.endswith("/libcleave.a") for name in made), "the embedded project has the library")
    others = [name for name in made if re.search(r"src/cli|tests/|bench/|(^|/)cleave$|changelog", name)]
    check(not others, "the embedded project has the library alone, not " + ", ".join(others[:3]))


def packages_are_whole(build, cxx):
    """The packages hold what they should, the same again; the command works, and programs are built with the library"""
    for tool in TOOLS:
        need_tool(tool)
    with tempfile.TemporaryDirectory() as folder:
        root = os.path.join(folder, "root")
        os.mkdir(root)
        command, library = packages = make_packages(build, os.path.join(folder, "packed"))
        check_same_again(build, folder, packages)
        check_control(command, library)
        check_files(root, unpack(command, root), unpack(library, root), build)
        offsets = check_command(root)
        # All kernels are in the archive.
        kernels = run(os.path.join(root, "usr/bin/cleave"), "--version").split("available:")[1].split()
        for build_one in (build_by_cmake, build_by_pkg_config):
            program = build_one(root, folder, cxx)
            for kernel in kernels:
                printed = run(program, INPUT, "4", env={**os.environ, "CLEAVE_KERNEL": kernel})
                check(printed == offsets, "%s, kernel %s: the offsets are those of the command" % (program, kernel))


def embedding_gets_the_library(cxx):
    """A project that adds this one as a folder gets the library alone"""
    with tempfile.TemporaryDirectory() as folder:
        check_embedding(folder, cxx)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True, type=os.path.realpath)
    parser.add_argument("--cxx", required=True)
    arguments = parser.parse_args()
    tally = Tally()
    tally.run(packages_are_whole.__doc__, lambda: packages_are_whole(arguments.build, arguments.cxx))
    tally.run(embedding_gets_the_library.__doc__, lambda: embedding_gets_the_library(arguments.cxx))
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
