#!/usr/bin/env python3
"""Runs each line of README.md that installs cleave, each in its own environment, and uses what it installed.

  install_test.py

The lines install what ./dev wheel, ./dev dist and ./dev package have left in build/; a line whose artefact is missing
is inconclusive. pip runs in a new virtual environment. The archive is unpacked, and a clone is built, each with a
separate home folder. apt runs in an overlay of the system, which only root can mount and which leaves nothing behind.
"""
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "tools"))
from verdicts import Failure, Inconclusive, Skip, Tally, need, need_tool  # noqa: E402

INPUT = ROOT / "data/orders.csv"
RECORDS = "7000"
# Mounts the overlay in a separate namespace, and runs the last argument in it. The mounts end with the namespace.
OVERLAY = """
set -e
mount -t tmpfs tmpfs "$1"
mkdir "$1/upper" "$1/work" "$1/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" "$1/root" || exit 99
for folder in proc dev; do mount --rbind "/$folder" "$1/root/$folder"; done
for folder in tmp var/tmp; do mount -t tmpfs -o mode=1777 tmpfs "$1/root/$folder"; done
mkdir -p "$1/root$2"
mount --bind "$2" "$1/root$2"
exec chroot "$1/root" bash -c "$3"
"""


def lines():
    """The lines of the section "Install", without comments."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    section = re.search(r"^## Install\n(.*?)^## ", text, re.M | re.S)
    block = section and re.search(r"^```sh\n(.*?)^```", section.group(1), re.M | re.S)
    need(block, "README.md has no section Install with a block of sh")
    return [line for line in block.group(1).splitlines() if line and not line.startswith("#")]


def line_with(words):
    found = [line for line in lines() if words in line]
    need(len(found) == 1, "%d lines of README.md have %r" % (len(found), words))
    return found[0]


def artefact(pattern, command):
    """The one file that a line installs."""
    found = sorted(ROOT.glob(pattern))
    if not found:
        raise Inconclusive("there is no %s; %s makes it" % (pattern, command), retry=False)
    need(len(found) == 1, "the line means %d files: %s" % (len(found), ", ".join(path.name for path in found)))
    return found[0]


def run(line, folder=ROOT, **environment):
    done = subprocess.run(["bash", "-c", line], cwd=folder, env={**os.environ, **environment}, text=True, input="y\n",
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        raise Failure("exit status %d: %s\n%s" % (done.returncode, line, done.stdout[-2000:]))
    return done.stdout


def use(cleave):
    """The command counts the records of a file."""
    counted = run('"%s" count "%s"' % (cleave, INPUT)).strip()
    need(counted == RECORDS, "%s counts %s" % (cleave, counted))


def python_for(wheels):
    """An interpreter that one of the wheels is for."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    known = ["python3.%d" % minor for minor in range(9, 15)]
    for python in [sys.executable, "python3", *known, *pyenv.glob("*/bin/python3")]:
        version = subprocess.run([python, "-c", "import sys, venv, ensurepip; print(*sys.version_info[:2])"],
                                 capture_output=True, text=True) if shutil.which(python) else None
        if not version or version.returncode != 0:
            continue
        minor = int(version.stdout.split()[1])
        for wheel in wheels:
            made_for, stable = re.search(r"-cp3(\d+)-(abi3)?", wheel.name).groups()
            if int(made_for) == minor or stable and int(made_for) <= minor:
                return python
    raise Inconclusive("no Python of this machine suits %s" % ", ".join(wheel.name for wheel in wheels), retry=False)


def by_pip(folder):
    """pip"""
    line = line_with("pip install")
    wheels = [path for path in ROOT.glob("build/wheel/cleave_csv-*.whl")]
    if not wheels:
        raise Inconclusive("there is no build/wheel/cleave_csv-*.whl; ./dev wheel makes it", retry=False)
    run('"%s" -m venv "%s/venv"' % (python_for(wheels), folder))
    binaries = folder / "venv/bin"
    run(line, PATH="%s:%s" % (binaries, os.environ["PATH"]), PIP_DISABLE_PIP_VERSION_CHECK="1")
    use(binaries / "cleave")
    counted = run('"%s/python" -c "import cleave; print(cleave.open(\'%s\').records)"' % (binaries, INPUT)).strip()
    need(counted == RECORDS, "the module counts %s" % counted)


def by_archive(folder):
    """The archive"""
    line = line_with("tar xzf")
    artefact("build/dist/cleave-*-linux-%s-musl.tar.gz" % platform.machine(), "./dev dist")
    run(line, HOME=str(folder))
    use(folder / ".local/bin/cleave")
    need(list(folder.glob(".local/share/man/man1/cleave*.1*")), "there is no manual page")


def by_apt(folder):
    """apt"""
    line = line_with("apt install")
    architecture = run("%s --print-architecture" % need_tool("dpkg")).strip()
    artefact("build/package/cleave_*_%s.deb" % architecture, "./dev package")
    if os.geteuid() != 0:
        raise Skip("only root can do that")
    # Root needs no sudo, and may not have it installed.
    script = 'sudo() { "$@"; }; cd "%s" && { %s; } && PATH=/usr/bin:/bin cleave count "%s"' % (ROOT, line, INPUT)
    done = subprocess.run([need_tool("unshare"), "--mount", "--propagation", "private", "sh", "-c", OVERLAY, "sh",
                           str(folder), str(ROOT), script], text=True, input="y\n", stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"})
    if done.returncode == 99 or "unshare failed" in done.stdout:
        raise Skip("no overlay of the system: %s" % " ".join(done.stdout.split())[:200])
    need(done.returncode == 0, "exit status %d: %s\n%s" % (done.returncode, line, done.stdout[-2000:]))
    counted = done.stdout.splitlines()[-1]
    need(counted == RECORDS, "the command counts %s" % counted)


def by_source(folder):
    """A clone, built"""
    line = line_with("./dev build")
    home, clone = folder / "home", folder / "clone"
    home.mkdir()
    run('git clone --quiet "%s" "%s"' % (ROOT, clone))
    cache = os.environ.get("CCACHE_DIR", str(Path.home() / ".cache/ccache"))
    run(line, clone, HOME=str(home), CCACHE_DIR=cache)
    use(home / ".local/bin/cleave")
    need(list(home.glob(".local/share/man/man1/cleave*.1*")), "there is no manual page")


def main():
    if len(sys.argv) > 1:
        print(__doc__)
        return 0 if sys.argv[1] == "--help" else 2
    ways, tally = (by_pip, by_archive, by_apt, by_source), Tally()

    def every_line_is_known():
        count = len(lines())
        need(count == len(ways), "README.md has %d lines that install, and %d are tried" % (count, len(ways)))

    tally.run("README.md has the lines that are tried", every_line_is_known)
    for way in ways:
        def try_way(way=way):
            with tempfile.TemporaryDirectory() as folder:
                way(Path(folder))
        tally.run(way.__doc__, try_way)
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
