#!/usr/bin/env python3
"""The command for any Linux: static, with musl, for each processor an archive in build/dist.

  build.py [--test] [PROCESSOR...]     x86_64 and aarch64 unless some are named

The compiler is clang as the Python package `ziglang` has it, which brings musl and libc++. The libraries are built from
Debian's sources, as sources.tsv pins them, with the same compiler. Both are kept in $XDG_CACHE_HOME/cleave, in folders
that are named by what they are made of. The same tree gives the same bytes.

--test also runs the cases of the command (tests/cases), under qemu for a processor other than this machine's. Exit
status: 1 if one fails.
"""
import argparse
import gzip
import hashlib
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "cleave"
OUT = ROOT / "build/dist"
ZIG_VERSION = "0.17.1"
PROCESSORS = ("x86_64", "aarch64")


def run(*words, log=None, **more):
    """Throws SystemExit with the end of what was said."""
    done = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", **more)
    if log:
        log.write_text(done.stdout)
    if done.returncode != 0:
        sys.exit("%s\n%s" % (shlex.join(map(str, words)), done.stdout[-4000:]))
    return done.stdout


def in_folder(folder, make):
    """The folder, made as a whole by make(another folder) if it is not there."""
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


def rows():
    lines = (HERE / "sources.tsv").read_text().splitlines()
    return [line.split("\t") for line in lines if not line.startswith("#")]


def sources():
    """The folder with the unpacked sources, one folder for each name of sources.tsv."""
    return in_folder(CACHE / ("sources-" + digest_of(HERE / "sources.tsv")), unpack_sources)


def unpack_sources(folder):
    """By apt, from where this machine has its packages from."""
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
    """A processor to build for."""

    def __init__(self, processor):
        self.processor = processor
        self.name = processor + "-linux-musl"
        self.emulator = "/usr/bin/env"
        if processor != os.uname().machine:
            self.emulator = shutil.which("qemu-%s-static" % processor) or sys.exit("there is no qemu-user-static")
        self.tools = in_folder(CACHE / ("tools-%s-%s" % (self.name, ZIG_VERSION)), self.make_tools)
        recipe = digest_of(HERE / "CMakeLists.txt", HERE / "zig.cmake", HERE / "sources.tsv", more=ZIG_VERSION)
        self.environment = {**os.environ, "CLEAVE_PROCESSOR": processor, "CLEAVE_TOOLS": str(self.tools),
                            "CLEAVE_EMULATOR": self.emulator}
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
        shutil.copytree(tree / "nlohmann/include", folder / "include")
        shutil.copy(tree / "xxhash/xxhash.h", folder / "include")
        (folder / "work").mkdir()
        run("cmake", "-S", tree / "nlohmann", "-B", folder / "work/json", "-G", "Ninja", "-D", "JSON_BuildTests=OFF",
            "--toolchain", HERE / "zig.cmake", "--install-prefix", folder, env=self.environment)
        run("cmake", "--install", folder / "work/json")
        run("cmake", "-S", HERE, "-B", folder / "work/libraries", "-G", "Ninja", "-D", "SOURCES=%s" % tree,
            "-D", "CMAKE_BUILD_TYPE=Release", "--toolchain", HERE / "zig.cmake", "--install-prefix", folder,
            env=self.environment)
        run("cmake", "--build", folder / "work/libraries", env=self.environment)
        run("cmake", "--install", folder / "work/libraries")
        # Its stamps say that what is made by m4 is there.
        nettle = folder / "work/nettle"
        shutil.copytree(tree / "nettle", nettle, ignore=shutil.ignore_patterns("*.stamp"))
        run("./configure", "--host=" + self.name, "--enable-fat", "--disable-shared", "--disable-public-key",
            "--disable-openssl", "--disable-documentation", "--prefix=%s" % folder, "--libdir=%s/lib" % folder,
            cwd=nettle, env={**self.environment, "CC": str(self.tools / "cc"), "AR": str(self.tools / "ar"), "CC_FOR_BUILD": "cc",
                 "RANLIB": str(self.tools / "ranlib"), "CFLAGS": "-O2 -fPIC -w -ffile-prefix-map=%s=." % nettle})
        run("make", "-j%d" % os.cpu_count(), "libnettle.a", cwd=nettle)
        run("make", "install-headers", cwd=nettle)
        shutil.copy(nettle / "libnettle.a", folder / "lib")
        shutil.rmtree(folder / "work")

    def build(self):
        """The folder of the build, and what it installs."""
        # CMake remembers where it has found the libraries: other libraries, another folder.
        folder, installed = OUT / self.libraries.name.replace("libraries-", "build-"), OUT / (self.name + "-installed")
        run("cmake", "-S", ROOT, "-B", folder, "-G", "Ninja", "-D", "CMAKE_BUILD_TYPE=Release",
            "-D", "BUILD_TESTING=OFF", "-D", "CLEAVE_PORTABLE=ON", "--toolchain", HERE / "zig.cmake", env=self.environment)
        run("cmake", "--build", folder, env=self.environment, log=OUT / (self.name + ".log"))
        shutil.rmtree(installed, ignore_errors=True)
        run("cmake", "--install", folder, "--component", "cleave", "--prefix", installed, env=self.environment)
        return folder, installed

    def test(self, program):
        """The exit status of the cases."""
        if self.processor != os.uname().machine:
            folder = OUT / (self.name + "-emulated")
            folder.mkdir(exist_ok=True)
            (folder / "cleave").write_text('#!/bin/sh\nexec %s %s "$@"\n' % (self.emulator, program))
            (folder / "cleave").chmod(0o755)
            program = folder / "cleave"
        print("the cases, for %s:" % self.name, flush=True)
        return subprocess.run([sys.executable, "-B", ROOT / "tests/cases/run.py", "--cleave", program]).returncode


def archive(installed, name, when):
    """One archive of what was installed; its bytes depend on nothing else."""
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
    parser.add_argument("processors", nargs="*", metavar="PROCESSOR", help="%s or %s" % PROCESSORS)
    arguments = parser.parse_args()
    for processor in arguments.processors:
        if processor not in PROCESSORS:
            parser.error("%s is not %s or %s" % (processor, *PROCESSORS))
    OUT.mkdir(parents=True, exist_ok=True)
    version = re.search(r'CLEAVE_VERSION "(.*)"', (ROOT / "include/cleave/version.h").read_text()).group(1)
    when = int(run("git", "-C", ROOT, "log", "-1", "--format=%ct"))
    statuses = []
    for processor in arguments.processors or PROCESSORS:
        target = Target(processor)
        folder, installed = target.build()
        file = archive(installed, "cleave-%s-linux-%s-musl" % (version, processor), when)
        print("%s: %d bytes, the command %d; SHA-256 %s" % (
            file.relative_to(ROOT), file.stat().st_size, (installed / "bin/cleave").stat().st_size,
            hashlib.sha256(file.read_bytes()).hexdigest()), flush=True)
        if arguments.test:
            statuses.append(target.test(folder / "cleave"))
    return max(statuses, default=0)


if __name__ == "__main__":
    sys.exit(main())
