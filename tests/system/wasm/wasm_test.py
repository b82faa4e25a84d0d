#!/usr/bin/env python3
"""Tests the packages for JavaScript: the boundary under Node, and the command's cases with cleave-csv.

  wasm_test.py --cleave PATH [--length N] [--every N] [--speed] [--pages]

Strings of up to N bytes are proved [3]; every N-th case is run [16]. --speed compares the scan with one thread of the
command; --pages tests the page in browsers, with a large file: ./dev prove does all this.
"""
import argparse
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests" / "tools"))
from verdicts import Skip, Tally, check, need  # noqa: E402

# A case is left out if a command of it says this. The help is another one, and so is what is in these cases:
NEEDS_MORE = "is not in cleave-csv"
OTHER = {
    "formats that begin with text, and rarer ones": "the message names a command for another format",
    "a name that promises compressed data": "there is no warning about names",
    "--force leaves older pieces from a different plan alone": "there is no warning about older pieces",
    "standard input is closed": "Node opens it again",
    "a column that does not exist is named before the rest of a pipe is read": "it needs --by, and its exit status is lost",
    "the output of commands is not mixed with events": "it needs --filter, and its message is lost",
    "a manifest written into a named pipe": "it needs --manifest, and waits for it",
    "a manifest is not written into a pipe if a piece fails": "it needs --manifest, and waits for it",
    "formats that begin with text and have no control byte": "the message names a command for another format",
    "a dry run fails where the real run would": "the message names no --resume",
    "split and offsets need a limit, and cat needs to know what to print": "the message names no --by, --parts and --every",
}


def run(*words, **options):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=1700, **options)
    need(done.returncode == 0, "%s: %d %s%s" % (words[:3], done.returncode, done.stdout[-3000:], done.stderr[-2000:]))
    return done.stdout


class Packages:
    def __init__(self, arguments, folder):
        self.arguments, self.folder = arguments, folder
        self.package = folder / "cleave-csv"

    def build(self):
        for tool in ("node", "clang++-19", "wasm-ld-19"):
            if shutil.which(tool) is None:
                raise Skip("%s is not installed" % tool)
        if not Path("/usr/lib/wasm32-wasi/libc++.a").exists():
            raise Skip("libc++-19-dev-wasm32 is not installed")
        if not self.package.exists():
            run(sys.executable, "-B", ROOT / "packaging/wasm/build.py", self.folder)

    def test_sizes(self):
        """The packages are small, and need nothing"""
        self.build()
        size = (self.package / "cleave_scan.wasm").stat().st_size
        check(size <= 60000, "cleave_scan.wasm has %d bytes" % size)
        imports = run("node", "-p", "WebAssembly.Module.imports(new WebAssembly.Module(require('fs').readFileSync('%s'))).length"
                      % (self.package / "cleave_scan.wasm"))
        check(imports == "0\n", "and no imports")
        packed = next(self.folder.glob("*.tgz"))
        check(packed.stat().st_size <= 200000, "the npm package has %d bytes" % packed.stat().st_size)
        if shutil.which("npm"):
            listed = run("npm", "pack", "--dry-run", cwd=self.package, env={**os.environ, "npm_config_cache": str(self.folder / "npm")})
            check(packed.name in listed, "npm packs it: %s" % listed)

    def test_boundary(self):
        """Every short string, cut anywhere, and random pieces"""
        self.build()
        print(run("node", ROOT / "tests/system/wasm/boundary.mjs", self.package, self.arguments.length), end="")

    def test_cases(self):
        """The cases of the command"""
        self.build()
        command = self.folder / "command"
        command.write_text('#!/bin/sh\nexec node "%s" "$@"\n' % (self.package / "cli.js"))
        command.chmod(0o755)
        done = subprocess.run([sys.executable, "-B", str(ROOT / "tests/cases/run.py"), "--cleave", str(command), "--partial",
                               NEEDS_MORE, "--every", str(self.arguments.every)], stdout=subprocess.PIPE, timeout=1700,
                              env={**os.environ, "CLEAVE_LEFT_OUT": "\n".join(OTHER)})
        said = done.stdout.decode("latin-1")
        failed = [line for line in said.splitlines() if line.startswith("FAIL") and not line.startswith("FAIL help.case")]
        print(said.splitlines()[-1])
        check(not failed and "passed" in said.splitlines()[-1], "all pass: %s" % said[-3000:])

    def test_safety(self):
        """A run that is ended, or whose input changes, leaves nothing; old files come back if --force fails"""
        self.build()
        folder = self.folder / "safety"
        folder.mkdir()
        path = folder / "in.csv"
        with path.open("wb") as file:
            file.write(b"h\n1\n")
            file.truncate(1 << 29)
        command = ["node", str(self.package / "cli.js"), "split", "-n", "4", "in.csv"]

        def begun():
            process = subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE)
            while not any(name.startswith(".cleave-") for name in os.listdir(folder)):
                need(process.poll() is None, "it has ended")
            return process
        for number in (signal.SIGTERM, signal.SIGINT):
            process = begun()
            process.send_signal(number)
            process.communicate()
            check((process.returncode, os.listdir(folder)) == (-number, ["in.csv"]), "ended by %d, with %s" % (
                process.returncode, os.listdir(folder)))
        process = begun()
        os.utime(path, (1, 1))
        said = process.communicate()[1]
        check((process.returncode, os.listdir(folder)) == (4, ["in.csv"]), "changed: %d %s" % (process.returncode, said))
        path.write_bytes(b"h\n1\n2\n")
        (folder / "in.1.csv").write_bytes(b"old")
        done = subprocess.run([*command[:3], "-n", "2", "in.csv"], cwd=folder, stderr=subprocess.PIPE)
        check(done.stderr == b"cleave: in.1.csv: File exists; -f replaces it\n", "it names only what it has: %s" % done)
        done = subprocess.run([*command[:3], "in.csv"], cwd=folder, stderr=subprocess.PIPE)
        check(done.stderr == b"cleave: split needs -n PIECES, -l RECORDS or -C SIZE\n", "likewise: %s" % done)
        (folder / "in.2.csv").mkdir()
        done = subprocess.run([*command[:3], "-f", "-n", "2", "in.csv"], cwd=folder, stderr=subprocess.PIPE)
        check(done.returncode == 1 and (folder / "in.1.csv").read_bytes() == b"old", "%s" % done)
        (folder / "in.2.csv").rmdir()
        run(*command[:3], "-f", "-n", "2", "in.csv", cwd=folder)
        check((folder / "in.1.csv").read_bytes() == b"h\n1\n" and sorted(os.listdir(folder)) == ["in.1.csv", "in.2.csv", "in.csv"],
              "replaced: %s" % os.listdir(folder))

    def test_speed(self):
        """The scan has a quarter of the speed of the command on one core"""
        if not self.arguments.speed:
            raise Skip("it takes long: from --speed")
        self.build()
        rows = b'12345,"some text, quoted",67.8,plain\n' * 1000
        path = self.folder / "rows.csv"
        path.write_bytes(b"a,b,c,d\n" + rows * 14000)
        own = float(run("node", "--input-type=module", "-e", """
            import fs from 'node:fs';
            const {load} = await import('%s/scan.js');
            const api = await load(fs.readFileSync('%s/cleave_scan.wasm'));
            const file = fs.readFileSync('%s');
            const bytes = api.buffer(file.length);
            bytes.set(file);
            let best = Infinity;
            for (let i = 0; i < 5; ++i) {
              const begin = process.cpuUsage();
              let state = api.begin();
              for (let at = 0; at < bytes.length; at += 1 << 20) ({state} = api.scan(bytes.subarray(at, at + (1 << 20)), state));
              best = Math.min(best, process.cpuUsage(begin).user);
            }
            console.log(best / 1e6)""" % (self.package, self.package, path)))
        best = float("inf")
        for _ in range(5):
            begin = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
            run(self.arguments.cleave, "count", "-j", "1", path)
            best = min(best, resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - begin)
        print("512 MB: %.3f s, %.2f of the speed of the command on one core" % (own, best / own))
        check(best / own >= 0.25, "%.3f s beside %.3f s" % (own, best))

    def test_pages(self):
        """The page in browsers"""
        if not self.arguments.pages:
            raise Skip("it takes long: from --pages")
        self.build()
        print(run(sys.executable, "-B", ROOT / "tests/system/wasm/page_test.py", "--web", self.folder / "web", "--large"), end="")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cleave", required=True)
    parser.add_argument("--length", default="3")
    parser.add_argument("--every", type=int, default=16)
    parser.add_argument("--speed", action="store_true")
    parser.add_argument("--pages", action="store_true")
    arguments = parser.parse_args()
    tally = Tally()
    with tempfile.TemporaryDirectory() as scratch:
        packages = Packages(arguments, Path(scratch))
        for test in (packages.test_sizes, packages.test_boundary, packages.test_cases, packages.test_safety, packages.test_speed, packages.test_pages):
            tally.run(test.__doc__, test)
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
