#!/usr/bin/env python3
"""Checks the Debian packages with lintian, then installs, uses, upgrades, removes and purges them in a fresh root of
this machine's Debian release. Packages for a different architecture run under qemu.

  debian_test.py PACKAGE_FOLDER ARCHITECTURE...

Needs root, a few hundred megabytes in $TMPDIR [/var/tmp], and access to Debian's archive.
"""
import argparse
import contextlib
import glob
import os
import platform
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tools"))
from emulation import emulated  # noqa: E402
from verdicts import Failure, Inconclusive, Skip, Tally, check, need_tool  # noqa: E402

SOURCE = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
INPUT = os.path.join(SOURCE, "data", "orders.csv")
PROGRAM = os.path.join(SOURCE, "examples", "ranges.cpp")
NAMES = ["cleave", "libcleave-dev", "libcleave1"]
INSTALL = ["apt-get", "install", "-y", "-q", "--no-install-recommends"]
# Files that apt and ldconfig keep for any package.
CACHES = ("var/cache/", "var/lib/apt/", "var/log/", "var/lib/dpkg/status-old", "var/lib/dpkg/diversions-old")


def run(*words, **options):
    """The standard output of a command that must succeed."""
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, **options)
    if done.returncode != 0:
        raise Failure("%s: exit %d\n%s%s" % (" ".join(words), done.returncode, done.stdout[-2000:],
                                             done.stderr[-2000:]))
    return done.stdout


def run_or_open(*words):
    """Runs a command that depends on the network rather than on the packages."""
    try:
        run(*words)
    except Failure as failure:
        raise Inconclusive(str(failure), retry=False) from failure


@contextlib.contextmanager
def mounted(kind, place):
    run("mount", "-t", kind, kind, place)
    try:
        yield
    finally:
        run("umount", place)


@contextlib.contextmanager
def runnable(architecture):
    """A context in which the kernel can run programs for the architecture, under qemu if it is not the machine's
    own."""
    with contextlib.ExitStack() as stack:
        if architecture != run("dpkg", "--print-architecture").strip():
            processor = run("dpkg-architecture", "-f", "-a", architecture, "-q", "DEB_HOST_GNU_CPU").strip()
            need_tool("qemu-%s-static" % processor)
            stack.enter_context(emulated(processor))
        yield


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def read(path):
    with open(path, "rb") as file:
        return file.read()


class Root:
    """A root with Debian in it. `work` is a folder for the test, seen as /work from inside."""

    def __init__(self, folder):
        self.folder = folder
        self.work = os.path.join(folder, "work")

    def run(self, *words):
        return run("chroot", self.folder, "/usr/bin/env", "-i", "-C", "/work", "PATH=/usr/sbin:/usr/bin:/sbin:/bin",
                   "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C", *words)

    def files(self):
        """The paths of all files except the caches."""
        found = set()
        for folder, folders, names in os.walk(self.folder):
            folders[:] = [name for name in folders if os.path.join(folder, name) not in
                          (self.work, self.folder + "/proc", self.folder + "/dev", self.folder + "/sys")]
            links = [name for name in folders if os.path.islink(os.path.join(folder, name))]
            found.update(os.path.relpath(os.path.join(folder, name), self.folder) for name in [*names, *links])
        return {path for path in found if not path.startswith(CACHES)}


@contextlib.contextmanager
def debian_root(architecture):
    if os.geteuid() != 0:
        raise Skip("only root can do that")
    debootstrap = need_tool("debootstrap")
    with contextlib.ExitStack() as stack:
        folder = tempfile.mkdtemp(dir=os.environ.get("TMPDIR", "/var/tmp"))
        stack.callback(shutil.rmtree, folder)
        stack.enter_context(runnable(architecture))
        run_or_open(debootstrap, "--variant=minbase", "--arch=" + architecture,
                    platform.freedesktop_os_release()["VERSION_CODENAME"], folder)
        root = Root(folder)
        os.mkdir(root.work)
        # debootstrap mounts /proc only for emulated architectures, and leaves it mounted.
        if os.path.ismount(folder + "/proc"):
            stack.callback(run, "umount", folder + "/proc")
        else:
            stack.enter_context(mounted("proc", folder + "/proc"))
        yield root


def packages_of(folder, architecture):
    """{name: path} with the newest package of each name."""
    found = {}
    for name in NAMES:
        paths = glob.glob(os.path.join(folder, "%s_*_%s.deb" % (name, architecture)))
        check(paths, "there is a package %s for %s in %s" % (name, architecture, folder))
        found[name] = max(paths, key=os.path.getmtime)
    return found


def field(package, name):
    return run("dpkg-deb", "-f", package, name).strip()


def library_file(version):
    """The library's file is named after the version of its interface, and then the rest of the version."""
    return "libcleave.so.1." + version.split(".", 1)[1]


def next_version(package, folder):
    """Repacks the package with the patch version increased by one."""
    old = field(package, "Version")
    new = "%s.%d" % (old.rpartition(".")[0], int(old.rpartition(".")[2]) + 1)
    tree = tempfile.mkdtemp(dir=folder)
    run("dpkg-deb", "-R", package, tree)
    os.chmod(tree, 0o755)
    os.remove(tree + "/DEBIAN/md5sums")
    with open(tree + "/DEBIAN/control", encoding="utf-8") as file:
        control = file.read()
    write(tree + "/DEBIAN/control", control.replace("Version: " + old, "Version: " + new).replace(
        "libcleave1 (= %s)" % old, "libcleave1 (= %s)" % new))
    for library in glob.glob(tree + "/usr/lib/*/" + library_file(old)):
        os.rename(library, os.path.join(os.path.dirname(library), library_file(new)))
        link = os.path.dirname(library) + "/libcleave.so.1"
        os.remove(link)
        os.symlink(library_file(new), link)
    run("dpkg-deb", "--root-owner-group", "-b", tree, folder)
    shutil.rmtree(tree)
    return new


def lintian_finds_nothing(folder, architecture):
    """lintian reports no errors and no warnings"""
    done = subprocess.run([need_tool("lintian"), "--allow-root", "--fail-on", "error,warning",
                           *packages_of(folder, architecture).values()], capture_output=True, text=True)
    check(done.returncode == 0, "lintian is satisfied\n" + done.stdout + done.stderr)


def check_command(root, version):
    check(root.run("cleave", "--version").startswith("cleave "), "cleave --version")
    check(root.run("dpkg-query", "-W", "-f", "${Version}", "cleave") == version, "the version is " + version)
    check(root.run("cleave", "count", "orders.csv") == "7000\n", "cleave count")
    names = root.run("cleave", "split", "-f", "-n", "3", "--header", "first", "--print-names", "orders.csv").split()
    pieces = b"".join(read(os.path.join(root.work, name)) for name in names)
    check(len(names) == 3 and pieces == read(INPUT), "the three pieces, joined, are the input")


def build_program(root):
    """A program linked with the shared library."""
    flags = root.run("pkg-config", "--cflags", "--libs", "cleave").split()
    root.run("c++", "-std=c++20", "ranges.cpp", "-o", "ranges", *flags)
    check("[libcleave.so.1]" in root.run("readelf", "-d", "ranges"), "the program needs libcleave.so.1")


def check_program(root):
    check(root.run("./ranges", "orders.csv", "4") == root.run("cleave", "offsets", "-n", "4", "orders.csv"),
          "the program prints the offsets that the command prints")


def packages_come_and_go(folder, architecture):
    """the packages can be installed, used, upgraded, removed and purged"""
    packages = packages_of(folder, architecture)
    with debian_root(architecture) as root:
        for file in (INPUT, PROGRAM, *packages.values()):
            shutil.copy(file, root.work)
        shutil.copy("/etc/resolv.conf", root.folder + "/etc/resolv.conf")
        needed = ", ".join(field(package, "Depends") for package in packages.values())
        needed = ", ".join(part for part in needed.split(", ") if not part.startswith("libcleave1"))
        run_or_open("chroot", root.folder, "apt-get", "update", "-q")
        root.run("apt-get", "satisfy", "-y", "-q", "--no-install-recommends", "g++, pkgconf, " + needed)
        before = root.files()
        version = field(packages["cleave"], "Version")
        inside = {name: "./" + os.path.basename(path) for name, path in packages.items()}

        root.run(*INSTALL, inside["cleave"])
        check_command(root, version)   # it does not need any of the other packages
        root.run(*INSTALL, inside["libcleave-dev"], inside["libcleave1"])
        check(root.run("dpkg", "--verify", *NAMES) == "", "the installed files are those of the packages")
        build_program(root)
        check_program(root)

        os.mkdir(root.work + "/next")
        newer = {name: next_version(path, root.work + "/next") for name, path in packages.items()}
        upgrades = sorted(os.listdir(root.work + "/next"))
        root.run(*INSTALL, *("./next/" + name for name in upgrades))
        check_command(root, newer["cleave"])
        check_program(root)   # built before the upgrade
        libraries = [os.path.basename(path) for path in root.files() if "/libcleave.so.1." in path]
        check(libraries == [library_file(newer["libcleave1"])], "one library stays, not %s" % libraries)

        root.run("apt-get", "remove", "-y", "-q", *NAMES)
        check("libcleave" not in root.run("ldconfig", "-p"), "the loader has forgotten the library")
        root.run("dpkg", "--purge", *NAMES)
        left, lost = root.files() - before, before - root.files()
        check(not left and not lost, "no file is left behind or lost: %s" % sorted(left | lost)[:10])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", metavar="PACKAGE_FOLDER")
    parser.add_argument("architectures", nargs="+", metavar="ARCHITECTURE")
    arguments = parser.parse_args()
    tally = Tally()
    for architecture in arguments.architectures:
        for function in (lintian_finds_nothing, packages_come_and_go):
            tally.run("%s: %s" % (architecture, function.__doc__), lambda: function(arguments.folder, architecture))
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
