#!/usr/bin/env python3
"""Runs the test suite for another processor, under qemu, after building it with the compiler of the portable builds.

  emulated.py [CTEST ARGUMENT...]        run it with ./dev test arm64

The tests are those of ./dev test, built for arm64 with glibc and libc++: the GoogleTest programs and the command's
cases. Tests that trace system calls, count instructions or inspect packages concern only this machine and are not run.
emulated.tsv names tests that cannot work under emulation and are left out, with the reason for each. qemu on x86-64
reproduces neither the memory order of arm64 nor the sandbox.
"""
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "packaging/portable"))
import target  # noqa: E402
from emulation import emulated  # noqa: E402

LEFT_OUT = Path(__file__).with_suffix(".tsv")


def make_test_libraries(arm, folder):
    """GoogleTest from Debian's googletest, and the headers of SIMDe."""
    target.run("cmake", "-S", "/usr/src/googletest", "-B", folder / "work", "-G", "Ninja", "--toolchain",
               target.HERE / "zig.cmake", "-D", "CMAKE_BUILD_TYPE=Release", "-D", "BUILD_GMOCK=OFF",
               "--install-prefix", folder, env=arm.environment)
    target.run("cmake", "--build", folder / "work", env=arm.environment)
    target.run("cmake", "--install", folder / "work", env=arm.environment)
    shutil.rmtree(folder / "work")
    shutil.copytree("/usr/include/simde", folder / "include/simde")


def left_out():
    lines = LEFT_OUT.read_text().splitlines()
    return [line.split("\t") for line in lines if line and not line.startswith("#")]


def main():
    arm = target.Target("aarch64")
    libraries = target.in_folder(arm.libraries.with_name(arm.libraries.name.replace("libraries-", "test-libraries-")),
                                 lambda folder: make_test_libraries(arm, folder))
    arm.environment["CLEAVE_LIBRARIES"] += ";%s" % libraries
    with emulated(arm.processor):   # the build runs the command, which prints its completions
        folder = arm.build(kind="tests", BUILD_TESTING="ON")
        names = left_out()
        for name, why in names:
            print("left out: %s: %s" % (name, why))
        # Each name is that of a check (see verdicts.py), of a case, or of a test of GoogleTest, which has no blank.
        arm.environment["CLEAVE_LEFT_OUT"] = "\n".join(name for name, _ in names)
        arm.environment["GTEST_FILTER"] = "-" + ":".join(name for name, _ in names if " " not in name)
        words = ["ctest", "--test-dir", folder, "--output-on-failure", "--no-tests=error", "-j", str(os.cpu_count()),
                 "-R", r"^unit\.|_test$|^cli$|^terminal$"]
        return subprocess.run([*map(str, words), *sys.argv[1:]], env=arm.environment).returncode


if __name__ == "__main__":
    sys.exit(main())
