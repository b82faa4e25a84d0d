"""A target of the portable builds: a processor and a C library, with the compiler and the libraries for it.

The compiler is clang from the Python package `ziglang`, which includes the C libraries and libc++. The other libraries
are built with the same compiler from Debian's sources, as pinned in sources.tsv. Everything is cached in
$XDG_CACHE_HOME/cleave, in folders named after their inputs.
"""
import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "cleave"
OUT = ROOT / "build/dist"
ZIG_VERSION = "0.17.1"
GLIBC = "2.28"   # the oldest version on which the programs run
# The compiler's target for each archive.
TARGETS = {"x86_64-musl": "x86_64-linux-musl", "aarch64-musl": "aarch64-linux-musl",
           "x86_64": "x86_64-linux-gnu." + GLIBC, "aarch64": "aarch64-linux-gnu." + GLIBC}
# Functions that musl gained after 1.2.0, the version of musllinux_1_2; source: its WHATSNEW.
NEWER_MUSL = {"_Fork", "gettid", "reallocarray", "pthread_getname_np", "qsort_r", "preadv2", "pwritev2", "statx"}


def run(*words, log=None, **more):
    """Runs a command and returns its output. Raises SystemExit with the end of the output if it fails."""
    done = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", **more)
    if log:
        log.write_text(done.stdout)
    if done.returncode != 0:
        sys.exit("%s\n%s" % (shlex.join(map(str, words)), done.stdout[-4000:]))
    return done.stdout


def in_folder(folder, make):
    """The folder. If it does not exist, make() fills a temporary folder, which is then renamed."""
    if not folder.is_dir():
        part = folder.with_name(folder.name + ".part")
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        make(part)
        part.rename(folder)
    return folder


def zig():
    def make(folder):
        run(sys.executable, "-m", "venv", folder)
        run(folder / "bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
            "ziglang==" + ZIG_VERSION)
    folder = in_folder(CACHE / ("zig-" + ZIG_VERSION), make)
    return next(folder.glob("lib/python3*/site-packages/ziglang/zig"))


def version():
    return re.search(r'CLEAVE_VERSION "(.*)"', (ROOT / "include/cleave/version.h").read_text()).group(1)


def commit_time():
    """The commit's time in seconds since 1970, which all packed files get."""
    return int(run("git", "-C", ROOT, "log", "-1", "--format=%ct"))


def rows():
    lines = (HERE / "sources.tsv").read_text().splitlines()
    return [line.split("\t") for line in lines if not line.startswith("#")]


def sources():
    """The folder with the unpacked sources, one folder per name in sources.tsv."""
    return in_folder(CACHE / ("sources-" + digest_of(HERE / "sources.tsv")), unpack_sources)


def unpack_sources(folder):
    """Downloads with apt, from the sources of this machine's packages."""
    lists = folder / "apt"
    (lists / "lists/partial").mkdir(parents=True)
    for file in [Path("/etc/apt/sources.list"), *Path("/etc/apt/sources.list.d").glob("*")]:
        if file.suffix in (".list", ".sources") and file.is_file():
            text = re.sub(r"^deb ", "deb-src ", re.sub(r"^Types: deb$", "Types: deb-src", file.read_text(), flags=re.M),
                          flags=re.M)
            (lists / file.name).write_text(text)
    apt = ["apt-get", "-qq", "-o", "Dir::Etc::sourcelist=/dev/null", "-o", "Dir::Etc::sourceparts=%s" % lists,
           "-o", "Dir::State::lists=%s/lists" % lists, "-o", "APT::Sandbox::User=root"]
    run(*apt, "update")
    for name, package, version, digest in rows():
        run(*apt, "source", "--download-only", "%s=%s" % (package, version), cwd=lists)
        dsc = lists / ("%s_%s.dsc" % (package, version.split(":")[-1]))
        found = hashlib.sha256(dsc.read_bytes()).hexdigest()
        if found != digest:
            sys.exit("%s has the digest %s, not that of sources.tsv" % (dsc.name, found))
        run("dpkg-source", "--extract", dsc, folder / name)
    shutil.rmtree(lists)


def digest_of(*files, more=""):
    together = hashlib.sha256(more.encode())
    for file in files:
        together.update(file.read_bytes())
    return together.hexdigest()[:12]


class Target:
    """A target to build for. Its libraries exist once it is constructed."""

    def __init__(self, archive):
        self.archive = archive
        self.name = TARGETS[archive]
        self.is_static = self.name.endswith("musl")
        self.processor = processor = self.name.split("-")[0]
        self.emulator = ["/usr/bin/env"]
        if processor != os.uname().machine:
            self.emulator = [shutil.which("qemu-%s-static" % processor) or sys.exit("qemu-user-static is missing")]
        self.tools = in_folder(CACHE / ("tools-%s-%s" % (self.name, ZIG_VERSION)), self.make_tools)
        recipe = digest_of(HERE / "CMakeLists.txt", HERE / "zig.cmake", HERE / "sources.tsv", more=ZIG_VERSION)
        self.environment = {**os.environ, "CLEAVE_PROCESSOR": processor, "CLEAVE_TOOLS": str(self.tools),
                            "CLEAVE_EMULATOR": ";".join(self.emulator)}
        self.libraries = in_folder(CACHE / ("libraries-%s-%s" % (self.name, recipe)), self.make_libraries)
        self.environment["CLEAVE_LIBRARIES"] = str(self.libraries)

    def make_tools(self, folder):
        program = zig()
        for name, words in {"cc": "cc -target " + self.name, "c++": "c++ -target " + self.name, "ar": "ar",
                            "ranlib": "ranlib"}.items():
            (folder / name).write_text('#!/bin/sh\nexec %s %s "$@"\n' % (shlex.quote(str(program)), words))
            (folder / name).chmod(0o755)

    def make_libraries(self, folder):
        print("building the libraries for " + self.name, flush=True)
        tree = sources()
        (folder / "include").mkdir()
        shutil.copy(tree / "xxhash/xxhash.h", folder / "include")
        (folder / "work").mkdir()
        run("cmake", "-S", HERE, "-B", folder / "work/libraries", "-G", "Ninja", "-D", "SOURCES=%s" % tree,
            "-D", "CMAKE_BUILD_TYPE=Release", "--toolchain", HERE / "zig.cmake", "--install-prefix", folder,
            env=self.environment)
        run("cmake", "--build", folder / "work/libraries", env=self.environment)
        run("cmake", "--install", folder / "work/libraries")
        # Nettle's stamps would claim that the files made by m4 exist.
        nettle = folder / "work/nettle"
        shutil.copytree(tree / "nettle", nettle, ignore=shutil.ignore_patterns("*.stamp"))
        run("./configure", "--host=" + self.name.removesuffix("." + GLIBC), "--enable-fat", "--disable-shared",
            "--disable-public-key", "--disable-openssl", "--disable-documentation", "--prefix=%s" % folder, "--libdir=%s/lib" % folder,
            cwd=nettle, env={**self.environment, "CC": str(self.tools / "cc"), "AR": str(self.tools / "ar"),
                             "RANLIB": str(self.tools / "ranlib"), "CC_FOR_BUILD": "cc",
                             "CFLAGS": "-O2 -fPIC -w -ffile-prefix-map=%s=." % nettle})
        run("make", "-j%d" % os.cpu_count(), "libnettle.a", cwd=nettle)
        run("make", "install-headers", cwd=nettle)
        shutil.copy(nettle / "libnettle.a", folder / "lib")
        shutil.rmtree(folder / "work")

    def build(self, kind="build", **options):
        """Builds, and returns the folder, whose name contains the kind. The options are CMake's; None unsets one, and
        options that are not given keep their values."""
        # CMake remembers where it found the libraries, so different libraries need a different folder.
        folder = OUT / self.libraries.name.replace("libraries-", kind + "-")
        options = {"CMAKE_BUILD_TYPE": "Release", "BUILD_TESTING": "OFF", "CMAKE_COMPILE_WARNING_AS_ERROR": "ON",
                   "CLEAVE_PORTABLE": "static" if self.is_static else "dynamic", **options}
        words = [word for name, value in options.items()
                 for word in (("-U", name) if value is None else ("-D", "%s=%s" % (name, value)))]
        run("cmake", "-S", ROOT, "-B", folder, "-G", "Ninja", "--toolchain", HERE / "zig.cmake", *words,
            env=self.environment)
        run("cmake", "--build", folder, env=self.environment, log=OUT / (self.name + ".log"))
        return folder

    def install(self, folder, component):
        """The folder with the files that the component of a build installs."""
        installed = OUT / ("%s-%s" % (self.name, component))
        shutil.rmtree(installed, ignore_errors=True)
        run("cmake", "--install", folder, "--component", component, "--prefix", installed, env=self.environment)
        return installed

    def check_needs(self, program):
        """Checks that a program or library runs with its C library, and uses the memory functions of glibc."""
        if self.is_static:
            newer = set(run("nm", "-D", "--undefined-only", program).split()) & NEWER_MUSL
            if newer:
                sys.exit("%s needs a newer musl: %s" % (program, ", ".join(newer)))
            return
        needed = run("objdump", "-T", program)
        newest = max(tuple(map(int, version.split("."))) for version in re.findall(r"GLIBC_([0-9.]+)", needed))
        if newest > tuple(map(int, GLIBC.split("."))):
            sys.exit("%s needs glibc %s" % (program, ".".join(map(str, newest))))
        if self.processor == "x86_64" and not re.search(r"GLIBC_[0-9.]+\) memcpy$", needed, re.M):
            sys.exit("%s has a memcpy() of its own: see wide_division.cpp" % program)

    def test(self, program):
        """Runs the test cases and returns their exit status."""
        if self.processor != os.uname().machine:
            folder = OUT / (self.name + "-emulated")
            folder.mkdir(exist_ok=True)
            (folder / "cleave").write_text('#!/bin/sh\nexec %s %s "$@"\n' % (shlex.join(self.emulator), program))
            (folder / "cleave").chmod(0o755)
            program = folder / "cleave"
        print("the cases, for %s:" % self.name, flush=True)
        return subprocess.run([sys.executable, "-B", ROOT / "tests/cases/run.py", "--cleave", program]).returncode
