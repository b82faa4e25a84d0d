#!/usr/bin/env python3
"""Builds the packages for JavaScript, with clang 19 and Debian's libc++-19-dev-wasm32 and wasi-libc.

  build.py [FOLDER]    FOLDER [build/wasm] gets cleave-csv/, the npm package; cleave-csv-VERSION.tgz; and web/, the page
"""
import concurrent.futures
import gzip
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
LAUNCHER = os.environ.get("CMAKE_CXX_COMPILER_LAUNCHER", "").split()
CLANG = [*LAUNCHER, "clang++-19", "--target=wasm32-wasi", "-std=c++20", "-fvisibility=hidden", "-ffunction-sections",
         "-fdata-sections", "-c"]
SETTLED_BY = ["packaging/wasm/settle.cpp", "src/base/json_scan.cpp", "src/base/json_string.cpp",
              *("src/core/dialect/%s.cpp" % name for name in ("dialect", "doubt", "fields", "fit", "foreign",
                                                              "headerless", "preamble", "sniff", "state_machine"))]
MODULES = ("scan.js", "csv.js", "cleave_scan.wasm", "cleave_settle.wasm")


def link(target, objects, *options):
    subprocess.check_call(["wasm-ld-19", "--no-entry", "--gc-sections", "--strip-all", "--export=__heap_base", *options,
                           "-L/usr/lib/wasm32-wasi", *objects, "-lc++", "-lc", "-o", target])


def build(folder):
    package, web, work = folder / "cleave-csv", folder / "web", folder / "work"
    for each in (package, web):
        shutil.rmtree(each, ignore_errors=True)
        each.mkdir(parents=True)
    work.mkdir(exist_ok=True)
    subprocess.check_call([sys.executable, "-B", ROOT / "packaging/amalgamate.py", work], stdout=subprocess.DEVNULL)
    scan = ["-O2", "-msimd128", "-fno-exceptions", "-fno-rtti", work / "cleave_scan.cpp", "-o", work / "scan.o"]
    commands = [scan] + [["-Oz", "-fexceptions", "-I", ROOT / "include", "-I", ROOT / "src", ROOT / path, "-o",
                          work / (pathlib.Path(path).stem + ".o")] for path in SETTLED_BY]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda command: subprocess.check_call([*CLANG, *command]), commands))
    link(package / "cleave_scan.wasm", [work / "scan.o"], "--export-dynamic")
    link(package / "cleave_settle.wasm", [command[-1] for command in commands[1:]], "--export=_initialize",
         "/usr/lib/wasm32-wasi/crt1-reactor.o")
    version = re.search(r'CLEAVE_VERSION "(.*)"', (ROOT / "include/cleave/version.h").read_text())[1]
    (package / "package.json").write_text(json.dumps({
        "name": "cleave-csv", "version": version, "license": "MIT", "type": "module", "bin": {"cleave-csv": "cli.js"},
        "description": "Cuts CSV files at record boundaries, exactly", "engines": {"node": ">=20"},
        "exports": {".": {"types": "./scan.d.ts", "default": "./scan.js"}, "./cleave_scan.wasm": "./cleave_scan.wasm"},
    }, indent=2) + "\n")
    for name in ("scan.js", "scan.d.ts", "csv.js", "cli.js"):
        shutil.copy(ROOT / "packaging/wasm" / name, package)
    shutil.copy(ROOT / "LICENSE", package)
    (package / "cli.js").chmod(0o755)
    for each in [*(package / name for name in MODULES), *(ROOT / "packaging/web").iterdir()]:
        shutil.copy(each, web)
    with gzip.GzipFile(folder / ("cleave-csv-%s.tgz" % version), "wb", mtime=0) as raw, \
            tarfile.open(fileobj=raw, mode="w") as archive:
        for path in sorted(package.iterdir()):
            entry = tarfile.TarInfo("package/" + path.name)
            entry.size, entry.mode = path.stat().st_size, 0o755 if path.name == "cli.js" else 0o644
            archive.addfile(entry, io.BytesIO(path.read_bytes()))


if __name__ == "__main__":
    build(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build/wasm"))
