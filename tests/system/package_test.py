#!/usr/bin/env python3
"""Builds the packages, unpacks them into an empty root, and uses their contents: the command, its manual pages, and the
library from a program in another project. A build with CLEAVE_BUILD_SHARED, as in ./dev package, also provides the
shared library, and programs are then linked with that too.

  package_test.py --build BUILD_DIRECTORY --cxx COMPILER [--all-examples]
  package_test.py --keep-symbols BUILD_DIRECTORY    renews the list of what the shared library exports
"""
import argparse
import functools
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
         "file", "pkg-config", "mandoc", "nm", "readelf"]
SOURCE = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
INPUT = os.path.join(SOURCE, "data", "orders.csv")
GUIDE = os.path.join(SOURCE, "doc", "guide", "library.md")
SYMBOLS = os.path.join(SOURCE, "cmake", "libcleave.symbols")
C_HEADERS = [os.path.join(SOURCE, "include", "cleave", name) for name in ("cleave_c.h", "cleave_scan.h")]
COMPLETIONS = {"bash": "usr/share/bash-completion/completions/cleave",
               "zsh": "usr/share/zsh/vendor-completions/_cleave",
               "fish": "usr/share/fish/vendor_completions.d/cleave.fish"}
MANUAL_PAGES = {"usr/share/man/man%s/%s.gz" % (name[-1], name) for name in os.listdir(os.path.join(SOURCE, "man"))
                if re.search(r"\.[1-9]$", name)}
COMMAND_FILES = {"usr/bin/cleave", "usr/share/doc/cleave/copyright", "usr/share/doc/cleave/changelog.gz",
                 "usr/share/lintian/overrides/cleave", *MANUAL_PAGES, *COMPLETIONS.values()}
# In the library folder of the architecture.
LIBRARY_FILES = [r"usr/lib/{arch}/libcleave((_offload)?\.a|\.so)", r"usr/lib/{arch}/pkgconfig/cleave(-offload)?\.pc",
                 r"usr/lib/{arch}/cmake/cleave/cleave(Config|ConfigVersion|Targets|Targets-[a-z]+)\.cmake",
                 r"usr/lib/{arch}/cmake/cleave/Find(Bz2|Libdeflate|Lz4|Lzma|Nettle|Utf8proc)\.cmake",
                 r"usr/share/doc/libcleave-dev/(copyright|changelog\.gz)"]
SHARED_FILES = [r"usr/lib/{arch}/libcleave\.so\.1(\.[0-9]+\.[0-9]+)?", r"usr/share/lintian/overrides/libcleave1",
                r"usr/share/doc/libcleave1/(copyright|changelog\.gz)"]
HEADERS = {"usr/" + os.path.relpath(path, SOURCE)
           for path in glob.glob(os.path.join(SOURCE, "include", "**", "*.h"), recursive=True)}


def run(*words, may_talk=False, **options):
    """The standard output of a command that must succeed and print nothing on standard error."""
    done = subprocess.run(words, capture_output=True, text=True, **options)
    if done.returncode != 0 or (done.stderr and not may_talk):
        raise Failure("%s: exit %d\n%s%s" % (" ".join(words), done.returncode, done.stdout, done.stderr))
    return done.stdout


def has_shared_library(build):
    with open(os.path.join(build, "CMakeCache.txt")) as file:
        return "\nCLEAVE_BUILD_SHARED:BOOL=ON\n" in file.read()


def make_packages(build, packed):
    """{name: path} of the packages."""
    run("cpack", "--config", os.path.join(build, "CPackConfig.cmake"), "-G", "DEB", "-B", packed, umask=0o077,
        may_talk=True)
    found = {run("dpkg-deb", "-f", path, "Package").strip(): path for path in glob.glob(packed + "/*.deb")}
    wanted = {"cleave", "libcleave-dev"} | ({"libcleave1"} if has_shared_library(build) else set())
    check(set(found) == wanted, "the packages are %s, not %s" % (sorted(wanted), sorted(found)))
    return found


def check_same_again(build, folder, packages):
    """Packages built in a different folder, from files with different modification times, are the same byte for
    byte."""
    os.utime(os.path.join(build, "cleave"))
    again = make_packages(build, os.path.join(folder, "again"))
    for name, path in packages.items():
        with open(path, "rb") as one, open(again[name], "rb") as other:
            check(one.read() == other.read(), name + " is the same when it is packed again")


def field(package, name):
    return run("dpkg-deb", "-f", package, name).strip()


def unpack(package, root):
    """The package's files, relative to the root."""
    before = files_below(root)
    run("dpkg-deb", "-x", package, root)
    return files_below(root) - before


def files_below(root):
    return {os.path.relpath(os.path.join(folder, name), root) for folder, _, names in os.walk(root) for name in names}


def check_control(packages):
    version = field(packages["cleave"], "Version")
    same = r"libcleave1 \(= %s\), " % re.escape(version) if "libcleave1" in packages else ""
    wanted = {"cleave": ("utils", r"libc6 \(>= [0-9.]+\)"), "libcleave-dev": ("libdevel", same + "libc6-dev, .*"),
              "libcleave1": ("libs", r".*\blibc6 \(>= [0-9.]+\), .*\bzlib1g\b.*")}
    for name, package in packages.items():
        section, depends = wanted[name]
        architecture = field(package, "Architecture")
        check(os.path.basename(package) == "%s_%s_%s.deb" % (name, version, architecture), "the name of " + package)
        check(field(package, "Section") == section, "the section of " + name)
        check(re.fullmatch(depends, field(package, "Depends")), "what %s depends on" % name)
        check(re.fullmatch(r".+ <.+@.+>", field(package, "Maintainer")), name + " has a maintainer")
        check(len(field(package, "Description").splitlines()) > 1, name + " has a long description")
    if "libcleave1" in packages:
        shlibs = run("dpkg-deb", "-I", packages["libcleave1"], "shlibs")
        check(shlibs.startswith("libcleave 1 libcleave1 (>= %s), libcleave1 (<< " % version), "the ABI of libcleave1")


def check_files(root, files, build):
    """`files`: the files of each package."""
    check(files["cleave"] == COMMAND_FILES, "the command's files are %s" % sorted(files["cleave"]))
    arch = run("dpkg-architecture", "-qDEB_HOST_MULTIARCH").strip()
    for name, patterns in (("libcleave-dev", LIBRARY_FILES), ("libcleave1", SHARED_FILES)):
        allowed = [pattern.replace("{arch}", arch) for pattern in patterns]
        unknown = {path for path in files.get(name, set()) - HEADERS
                   if not any(re.fullmatch(pattern, path) for pattern in allowed)}
        check(not unknown, "the files of %s are those and no others: %s" % (name, sorted(unknown)))
    check(HEADERS <= files["libcleave-dev"], "there is each header")
    for folder, _, names in os.walk(os.path.join(root, "usr")):
        check(stat.S_IMODE(os.lstat(folder).st_mode) == 0o755, "mode 755 of " + folder)
        for name in names:
            path = os.path.join(folder, name)
            if re.fullmatch(r"libcleave\.so(\.1)?", name):
                check(os.path.islink(path) and os.path.exists(path), path + " leads to the shared library")
                continue
            mode = 0o755 if folder.endswith("/bin") else 0o644
            check(os.lstat(path).st_mode == stat.S_IFREG | mode, "mode %o of %s" % (mode, path))
            with open(path, "rb") as file:
                text = file.read()
            if b"\0" not in text:
                for place in (SOURCE, build):
                    check(place.encode() not in text, "%s names no path of the build" % path)


def check_exports(root, build):
    """The shared library exports names in the namespace cleave, and no others. Of the classes that public headers
    define, it exports everything that the static library has."""
    library = glob.glob(root + "/usr/lib/*/libcleave.so.1")[0]
    check("[libcleave.so.1]" in run("readelf", "-d", library), "the name in the library is libcleave.so.1")
    names = [line.split()[-1] for line in run("nm", "-D", "--defined-only", library).splitlines()]
    declared = set()
    for path in C_HEADERS:
        with open(path) as file:
            declared |= set(re.findall(r"\b(cleave_\w+)\(", re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)))
    in_c = {name for name in names if name.startswith("cleave_")}
    check(in_c == declared, "the C interface is exported: %s" % sorted(in_c ^ declared))
    others = [name for name in names if not re.match(r"_Z(NK?[RO]?|GVN|TIN|TSN|TVN)6cleave", name) and name not in in_c]
    check(not others, "no other name outside of the namespace is exported: %s" % others[:3])
    with open(SYMBOLS) as file:
        kept = set(file.read().splitlines())
    there = public_names(library, "-D")
    members = {name for name in public_names(os.path.join(build, "libcleave.a"))
               if re.match(r"cleave::[A-Z]\w*::(~?\w+|operator[^(]+)[([]", name)}
    hidden = members - there
    check(not hidden, "all members are exported: %s" % sorted(hidden)[:5])
    check(there == kept, "the exports are those in libcleave.symbols: gone %s, new %s"
          % (sorted(kept - there)[:5], sorted(there - kept)[:5]))


def public_names(library, *options):
    """What the library defines itself and a public header declares, in C++'s notation. Two kinds are left out: weak
    definitions, which are inline functions and the like, and depend on the compiler; and the members of classes that
    public headers only name, such as Input::Impl, which no program can call."""
    lines = run("nm", *options, "--demangle", "--defined-only", library, may_talk=True).splitlines()
    found = (re.match(r"[0-9a-f]+ ([A-Z]) (.*)$", line) for line in lines)
    names = {match.group(2) for match in found if match and match.group(1) not in "WV"}
    texts = []
    for path in HEADERS:
        with open(os.path.join(SOURCE, os.path.relpath(path, "usr"))) as file:
            texts.append(file.read())
    classes = set(re.findall(r"\b(?:class|struct) (\w+)(?: final)?(?: : [^{;]*)? \{", "\n".join(texts)))

    def is_declared(name):
        scopes = re.sub(r"<[^<>]*>", "", name.split("(")[0]).split()[-1].split("::")[1:-1]
        return all(scope in classes or scope == "offload" for scope in scopes)

    return {name for name in names if is_declared(name)}


def keep_symbols(build):
    with open(SYMBOLS, "w") as file:
        file.writelines(name + "\n" for name in sorted(public_names(os.path.join(build, "libcleave.so"), "-D")))


def code_of_guide(after, language):
    """The first block in that language after the text."""
    with open(GUIDE) as file:
        text = file.read()
    return re.search(r"```%s\n(.*?)```" % language, text[text.index(after):], re.S).group(1)



def check_command(root):
    """Returns the offsets that cleave prints."""
    cleave = os.path.join(root, "usr/bin/cleave")
    offsets = run(cleave, "offsets", "-n", "4", INPUT)
    check(len(offsets.splitlines()) == 4, "cleave offsets prints four rows")
    for shell, path in COMPLETIONS.items():
        with open(os.path.join(root, path)) as file:
            check(file.read() == run(cleave, "--completion", shell), path + " is what the command prints")
    for path in sorted(MANUAL_PAGES):
        stem, section, _ = os.path.basename(path).split(".")
        page = run("mandoc", "-T", "ascii", os.path.join(root, path))
        check("%s(%s)" % (stem.upper(), section) in page, "%s can be read" % path)
    with open(os.path.join(root, "usr/share/doc/cleave/copyright")) as file:
        check("MIT" in file.read(), "the licence is there")
    changelog = os.path.join(root, "usr/share/doc/cleave/changelog.gz")
    newest = run("dpkg-parsechangelog", "-l", changelog, "-S", "Version").strip()
    check(run(cleave, "--version").startswith("cleave %s\n" % newest), "the changelog ends with this version")
    return offsets


# In C++ and in C.
EXAMPLES = ["example_ranges", "example_plan"]


def build_by_cmake(root, folder, cxx, targets):
    build = os.path.join(folder, "by_cmake")
    run("cmake", "-S", os.path.join(SOURCE, "examples"), "-B", build, "-G", "Ninja",
        "-D", "CMAKE_PREFIX_PATH=" + os.path.join(root, "usr"), "-D", "CMAKE_CXX_COMPILER=" + cxx)
    with open(os.path.join(build, "CMakeCache.txt")) as file:
        found = re.search(r"^cleave_DIR:PATH=(.*)$", file.read(), re.M).group(1)
    check(found.startswith(root), "cleave is found in the root, not in " + found)
    # For ccache, which ./dev lets CMake use, the folder has another name each time.
    run("cmake", "--build", build, "--target", *targets, env={**os.environ, "CCACHE_BASEDIR": folder})
    return os.path.join(build, "example_ranges")


def build_with_shared(root, folder, cxx):
    """Builds with CMake: a program with the shared library, and one with the library for devices."""
    project = os.path.join(folder, "with_shared")
    os.mkdir(project)
    with open(os.path.join(project, "CMakeLists.txt"), "w") as file:
        file.write("cmake_minimum_required(VERSION 3.25)\nproject(with_shared LANGUAGES CXX)\n"
                   "find_package(cleave REQUIRED)\nadd_executable(ranges %s/examples/ranges.cpp)\n"
                   "target_link_libraries(ranges PRIVATE cleave::shared)\n"
                   "add_executable(offload offload.cpp)\n"
                   "target_link_libraries(offload PRIVATE cleave::offload)\n" % SOURCE)
    with open(os.path.join(project, "offload.cpp"), "w") as file:
        file.write('#include "cleave/experimental/offload.h"\n'
                   'const auto volatile linked = &cleave::offload::host_value;\nint main() { return linked ? 0 : 1; }\n')
    run("cmake", "-S", project, "-B", project + "/build", "-G", "Ninja",
        "-D", "CMAKE_PREFIX_PATH=" + os.path.join(root, "usr"), "-D", "CMAKE_CXX_COMPILER=" + cxx)
    run("cmake", "--build", project + "/build")
    return os.path.join(project, "build", "ranges")


def build_by_pkg_config(root, folder, cxx, module="cleave"):
    places = glob.glob(root + "/usr/lib/**/pkgconfig", recursive=True)
    environment = {**os.environ, "PKG_CONFIG_PATH": ":".join(places)}
    flags = run("pkg-config", "--cflags", "--libs", module, env=environment).split()
    program = os.path.join(folder, "by_pkg_config_" + module)
    run(cxx, "-std=c++20", os.path.join(SOURCE, "examples", "ranges.cpp"), "-o", program, *flags)
    return program


def build_by_offload_module(root, folder, cxx):
    """Builds with the offload library, which brings the static library with it."""
    return build_by_pkg_config(root, folder, cxx, "cleave-offload")


def check_plain_compiler(build, folder, cxx):
    """The compiler's command line in the guide builds the program at its top."""
    place = os.path.join(folder, "plain")
    os.mkdir(place)
    with open(os.path.join(place, "main.cpp"), "w") as file:
        file.write(code_of_guide("One call opens", "cpp"))
    for name, target in (("include", os.path.join(SOURCE, "include")), ("build", os.path.join(place, "built"))):
        os.symlink(target, os.path.join(place, name))
    os.mkdir(os.path.join(place, "built"))
    os.symlink(build, os.path.join(place, "built", "release"))
    words = code_of_guide("**g++ alone**", "sh").replace("\\\n", " ").split()
    check(words[0] == "g++", "the line begins with g++")
    run(cxx, *words[1:], cwd=place)
    printed = run(os.path.join(place, "app"), INPUT)
    check(printed.startswith("1: 1750 records, bytes 60 to "), "the program of the guide prints %r" % printed)


def is_shared(program):
    return "[libcleave.so.1]" in run("readelf", "-d", program)


def check_embedding(folder, cxx):
    """A project that adds this one by FetchContent, as in the guide, gets only the library, and does not need what only
    the rest needs."""
    project, build = os.path.join(folder, "embedding"), os.path.join(folder, "embedded")
    os.mkdir(project)
    with open(os.path.join(project, "CMakeLists.txt"), "w") as file:
        file.write("cmake_minimum_required(VERSION 3.25)\nproject(embedding LANGUAGES CXX)\n"
                   "add_executable(app main.cpp)\n" + code_of_guide("**CMake, from source.**", "cmake"))
    with open(os.path.join(project, "main.cpp"), "w") as file:
        file.write(code_of_guide("One call opens", "cpp"))
    os.mkdir(os.path.join(project, "third_party"))
    os.symlink(SOURCE, os.path.join(project, "third_party", "cleave"))
    absent = ["--no-warn-unused-cli", "-D", "CMAKE_CXX_COMPILER=" + cxx]
    for package in ("fmt", "GTest", "benchmark"):
        absent += ["-D", "CMAKE_DISABLE_FIND_PACKAGE_%s=ON" % package]
    run("cmake", "-S", project, "-B", build, "-G", "Ninja", *absent)
    made = [line.split(":")[0] for line in run("ninja", "-C", build, "-t", "targets", "all").splitlines()]
    check(any(name.endswith("/libcleave.a") for name in made), "the embedded project has the library")
    others = [name for name in made if re.search(r"src/cli|tests/|bench/|(^|/)cleave$|changelog", name)]
    check(not others, "the embedded project has the library alone, not " + ", ".join(others[:3]))
    # To build the library would take minutes: the program compiles, and is linked with it.
    run("ninja", "-C", build, "CMakeFiles/app.dir/main.cpp.o")
    check("libcleave.a" in run("ninja", "-C", build, "-t", "query", "app"), "the program is linked with the library")


def packages_are_whole(build, cxx, targets):
    """The packages are complete and reproducible; the command works, and programs build with the library"""
    for tool in TOOLS:
        need_tool(tool)
    with tempfile.TemporaryDirectory() as folder:
        root = os.path.join(folder, "root")
        os.mkdir(root)
        packages = make_packages(build, os.path.join(folder, "packed"))
        check_same_again(build, folder, packages)
        check_control(packages)
        check_files(root, {name: unpack(package, root) for name, package in packages.items()}, build)
        offsets = check_command(root)
        check_plain_compiler(build, folder, cxx)
        # How to build a program, and whether the result needs the shared library.
        builds = [(functools.partial(build_by_cmake, targets=targets), False), (build_by_offload_module, False),
                  (build_by_pkg_config, False)]
        if "libcleave1" in packages:
            check_exports(root, build)
            builds[2:] = [(build_by_pkg_config, True), (build_with_shared, True)]
        libraries = ":".join(glob.glob(root + "/usr/lib/*"))
        # The library contains all kernels.
        kernels = run(os.path.join(root, "usr/bin/cleave"), "--version").split("available:")[1].split()
        for build_one, shared in builds:
            program = build_one(root, folder, cxx)
            check(is_shared(program) == shared,
                  "%s is linked with the %s library" % (program, "shared" if shared else "static"))
            for kernel in kernels:
                printed = run(program, INPUT, "4",
                              env={**os.environ, "CLEAVE_KERNEL": kernel, "LD_LIBRARY_PATH": libraries})
                check(printed == offsets, "%s, kernel %s: the offsets are those of the command" % (program, kernel))


def embedding_gets_the_library(cxx):
    """A project that adds this one with FetchContent gets only the library"""
    with tempfile.TemporaryDirectory() as folder:
        check_embedding(folder, cxx)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=os.path.realpath)
    parser.add_argument("--cxx")
    parser.add_argument("--all-examples", action="store_true")
    parser.add_argument("--keep-symbols", type=os.path.realpath)
    arguments = parser.parse_args()
    if arguments.keep_symbols:
        return keep_symbols(arguments.keep_symbols)
    tally = Tally()
    tally.run(packages_are_whole.__doc__, lambda: packages_are_whole(
        arguments.build, arguments.cxx, ["all"] if arguments.all_examples else EXAMPLES))
    tally.run(embedding_gets_the_library.__doc__, lambda: embedding_gets_the_library(arguments.cxx))
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
