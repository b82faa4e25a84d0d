#!/usr/bin/env python3
"""cleave split and cat with --device auto and --device gpu: checks their messages, and that the output never changes.

  auto_test.py --cleave PATH --module EMULATED_CUDA_MODULE --simulated SIMULATED_MODULE
               --faulty MEMORY_MANAGER

The command is copied to a folder with the module in ../lib/cleave, where it looks for it. The profile is measured and
then changed, to make the device as cheap or as expensive as a check needs.
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "tools"))
from verdicts import Tally, check  # noqa: E402

BLOCK = 256                 # bytes of a batch for the CPU; a page for the device holds 128 of them
TRIAL = 768 * BLOCK         # how much the CPU processes before the choice is made
KEY = "0123456789abcdef0123456789abcdef0123456789"


def make_text(size, last=""):
    lines = ["id,name,note"]
    length = 0
    for i in range(size):
        lines.append('%d,"Doe, J%s",%s' % (i, "\n" * (i % 3 == 0), "n" * (i % 17)))
        length += len(lines[-1]) + 1
        if length > size:
            break
    return "\n".join(lines) + "\n" + last


class Site:
    def __init__(self, folder, cleave, module):
        self.folder = folder
        self.cleave = os.path.join(folder, "bin", "cleave")
        self.module = os.path.join(folder, "lib", "cleave", "cleave_cuda.so")
        self.cache = os.path.join(folder, "cache")
        for path, source in [(self.cleave, cleave), (self.module, module)]:
            os.makedirs(os.path.dirname(path))
            shutil.copy(source, path)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), "w") as file:
            file.write(text)
        return self.path(name)

    def run(self, *words, stdin=None, cache=None):
        environment = {**os.environ, "XDG_CACHE_HOME": cache or self.cache, "KEY": KEY}
        done = subprocess.run([self.cleave, *words], capture_output=True, text=True, timeout=120, env=environment,
                              cwd=self.folder, input=stdin)
        return done.returncode, done.stdout, done.stderr

    def cat(self, *words, **more):
        return self.run("cat", "--block-size", str(BLOCK), *RULES, *words, **more)

    def profile_path(self):
        names = os.listdir(os.path.join(self.cache, "cleave"))
        check(len(names) == 1, "one profile: %s" % names)
        return os.path.join(self.cache, "cleave", names[0])

    def change_profile(self, **members):
        with open(self.profile_path()) as file:
            profile = json.load(file)
        profile.update(members)
        with open(self.profile_path(), "w") as file:
            json.dump(profile, file)
        return profile


RULES = ["--redact", "id: keep", "--key", "k=env:KEY", "--redact", "name: hmac(k)", "--redact", "note: mask"]
AUTO = ["--device", "auto"]
CHEAP = {"open": 0, "stage": 1e-30}
OF_AUTO = "cleave: --device auto: the CPU applies all rules: "
NOT_MEASURED = OF_AUTO + "this machine has not been measured; run cleave info --calibrate\n"
OTHER = "cleave: device: another one was measured last; run cleave info --calibrate\n"
NOT_OPENED = "cleave: stage: the CPU goes on, because the device cannot be opened\n"
BY_CPU = "cleave: stage: the CPU\n"


def without_profile(site):
    """A machine that was not measured: the CPU is used, and a message says so"""
    path = site.write("in.csv", make_text(100000))
    wanted = site.cat(path)
    check(wanted[0] == 0 and wanted[2] == "", "the CPU: %s" % (wanted,))
    check(site.cat(*AUTO, path) == (0, wanted[1], NOT_MEASURED), "not measured: it is said")
    check(site.cat(*AUTO, "--quiet", path) == wanted, "not measured: --quiet")
    code, out, errors = site.cat(*AUTO, "--explain", path)
    check((code, out, errors) == (0, wanted[1], NOT_MEASURED + BY_CPU), "not measured: %s" % errors)
    check(not os.path.exists(site.cache), "nothing is measured by the way")


def small_input(site):
    """An input that ends before a choice is made: the profile is not even read"""
    for size in [0, 1000, 60000]:
        path = site.write("small.csv", make_text(size))
        wanted = site.cat(path)
        check(wanted[0] == 0 and wanted[2] == "", "a small input: %s" % (wanted,))
        check(site.cat(*AUTO, path) == wanted, "a small input of %d bytes: no profile is missed" % size)
        check(site.cat(*AUTO, "--explain", path) == (*wanted[:2], BY_CPU), "a small input of %d bytes: the CPU" % size)
    pipe = site.cat(*AUTO, "-", stdin=make_text(1000))
    check(pipe[2] == NOT_MEASURED, "a pipe may be long: %s" % pipe[2])


def calibration(site):
    """A machine is measured"""
    code, out, errors = site.run("info", "--calibrate")
    lines = {line[:18].strip(): line[19:] for line in out.splitlines()}
    check(code == 0 and errors == "", "it is measured: %s" % errors)
    check(lines.get("to open it", "").endswith("s"), "the time to open it: %s" % lines)
    check(lines.get("rules", "").endswith(" GB/s, transfers included"), "the rate of rules: %s" % lines)
    profile = site.change_profile()
    check(profile["open"] > 0 and profile["stage"] > 0, "both are kept: %s" % profile)


def output(site):
    """The output is the same as the CPU's, and a slower device is abandoned"""
    site.change_profile(**CHEAP)
    for size, is_slower in [(TRIAL + 3 * 128 * BLOCK, False), (TRIAL + 30 * 128 * BLOCK, True)]:
        text = make_text(size, "1,last,one")
        path = site.write("in.csv", text)
        wanted = site.cat(path)
        check(wanted[0] == 0, "the CPU: %s" % wanted[2])
        for name, words, stdin in [("file", [path], None), ("pipe", ["-"], text)]:
            code, out, errors = site.cat(*AUTO, "--explain", *words, stdin=stdin)
            check(code == 0 and out == wanted[1], "%s of %d bytes is as by the CPU: %s" % (name, size, errors))
            check("stage: device" in errors, "%s: the device was taken: %s" % (name, errors))
            # The emulated device is a hundred times slower than the CPU.
            slower = "stage: the CPU goes on, because the device was slower\n"
            check((slower in errors) == is_slower, "%s: it is seen that it is slower: %s" % (name, errors))
            check(site.cat(*AUTO, *words, stdin=stdin) == wanted, "%s: without --explain nothing is said" % name)
            check(site.cat("--device", "gpu", *words, stdin=stdin) == wanted, "%s: the device alone" % name)


def pieces_of(site, *words):
    folder = site.path("out")
    os.mkdir(folder)
    code, out, errors = site.run("split", "--block-size", str(BLOCK), "-o", "out/{i}", "--manifest", "out/manifest",
                                 "--redact-report", "out/report", *RULES, *words)
    files = {}
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name)) as file:
            files[name] = file.read()
    shutil.rmtree(folder)
    return code, files, errors


def pieces(site):
    """Pieces, manifest and report are the same as the CPU's"""
    path = site.write("in.csv", make_text(3 * TRIAL))
    for policy in [["-n", "2"], ["-l", "9000"], ["-C", "200K"]]:
        wanted = pieces_of(site, *policy, path)
        check(wanted[0] == 0 and len(wanted[1]) > 3, "pieces %s: %s" % (policy, wanted[2]))
        for words in [AUTO, ["--device", "gpu"], [*AUTO, "-j", "3"]]:
            made = pieces_of(site, *policy, *words, path)
            differing = [name for name in wanted[1] if made[1].get(name) != wanted[1][name]]
            check(made[0] == 0 and made[1].keys() == wanted[1].keys() and not differing,
                  "pieces %s %s: %s %s" % (policy, words, differing, made[2]))


def faults(site):
    """Faults in the input are the same ones that the CPU finds"""
    for fault in ["1,2\n", '1,"2"3,4\n', '1,"2,3\n']:
        for before in [100, TRIAL + 70000]:
            text = make_text(before) + fault + make_text(20000)[13:]
            path = site.write("in.csv", text)
            for words, stdin in [([path], None), (["-"], text)]:
                code, out, errors = site.cat(*words, stdin=stdin)
                check(code == 3, "the CPU finds %r: %d" % (fault, code))
                for device in ["auto", "gpu"]:
                    made = site.cat("--device", device, *words, stdin=stdin)
                    check((made[0], made[2]) == (code, errors), "%r by %s: %s, not %s" % (fault, device, made[2], errors))
                    check(out.startswith(made[1]), "%r by %s: what is before it" % (fault, device))


def what_is_said(site):
    """What is reported, and when nothing is: slow devices, a different driver, no module, an unusable profile"""
    text = make_text(TRIAL + 100000)
    path = site.write("in.csv", text)
    wanted = site.cat(path)
    site.change_profile(open=1e6, stage=1e-30)
    check(site.cat(*AUTO, path) == wanted, "a small input: nothing is said")
    check(site.cat(*AUTO, "--explain", path) == (*wanted[:2], BY_CPU), "a small input: the CPU")
    check(site.cat(*AUTO, "--explain", "-", stdin=text) == (*wanted[:2], BY_CPU), "a pipe: opening takes too long")
    site.change_profile(open=0, stage=1)
    check(site.cat(*AUTO, "--explain", path) == (*wanted[:2], BY_CPU), "a slow device")
    site.change_profile(open=0, stage=0)
    check(site.cat(*AUTO, "--explain", path) == (*wanted[:2], BY_CPU), "a device without rules")

    driver = site.change_profile(**CHEAP)["driver"]
    site.change_profile(driver="another")
    check(site.cat(*AUTO, path) == wanted, "another driver: the same output")
    check(site.cat(*AUTO, "--explain", path) == (*wanted[:2], OTHER + NOT_OPENED), "another driver: %s" %
          site.cat(*AUTO, "--explain", path)[2])
    site.change_profile(driver=driver)

    os.rename(site.module, site.module + "~")
    code, out, errors = site.cat(*AUTO, "--explain", path)
    check((code, out) == wanted[:2] and errors.endswith(NOT_OPENED) and "is not installed, see doc" in errors,
          "without the module: %s" % errors)
    check(site.cat(*AUTO, path) == wanted, "without the module nothing is said")
    code, out, errors = site.cat("--device", "gpu", path)
    missing = "cleave: --device gpu: the GPU module cleave_cuda.so is not installed, see doc"
    check(code == 1 and out == "" and errors.startswith(missing), "gpu without the module: %d %s" % (code, errors))
    os.rename(site.module + "~", site.module)

    cpu = site.change_profile()["cpu"]
    site.change_profile(cpu="another")
    check(site.cat(*AUTO, path) == (*wanted[:2], NOT_MEASURED), "a profile of another processor")
    site.change_profile(cpu=cpu)
    with open(site.profile_path()) as file:
        profile = file.read()
    with open(site.profile_path(), "w") as file:
        file.write("{")
    damaged = OF_AUTO + site.profile_path() + ": is damaged; run cleave info --calibrate\n"
    check(site.cat(*AUTO, path) == (*wanted[:2], damaged), "a damaged profile: %s" % site.cat(*AUTO, path)[2])
    check(site.cat(*AUTO, "--quiet", path) == wanted, "a damaged profile: --quiet")
    with open(site.profile_path(), "w") as file:
        file.write(profile)
    os.chmod(site.profile_path(), 0o620)
    check("is not safe; " in site.cat(*AUTO, path)[2], "a profile that others can write")
    os.chmod(site.profile_path(), 0o600)


def modules(site, simulated):
    """With an unusable module the command fails and names it"""
    path = site.write("in.csv", make_text(100000))
    wanted = site.cat(path)
    for config, message in [(":no driver", "no driver"), (":no card", "no such card"),
                            (":no luck", "the module cannot be used: " + simulated)]:
        code, out, errors = site.cat("--device", simulated + config, path)
        start = "cleave: --device %s%s: %s" % (simulated, config, message)
        check(code == 1 and out == "" and errors.startswith(start), "%s: %d %s" % (config, code, errors))
    code, out, errors = site.cat("--device", simulated + ":another version", path)
    check(code == 1 and out == "" and "the module cannot be used: %s: it is for version 7" % simulated in errors,
          "another version: %s" % errors)
    check(site.cat("--device", simulated + ":100000000", path) == wanted, "a device that has no rules")
    code, out, errors = site.cat("--device", simulated + ":1", path)
    check(code == 1 and "out of memory" in errors, "a device without memory: %d %s" % (code, errors))


def faulty_memory(site, faulty):
    """If device memory is too small or misaligned, the command fails and names the manager, even if the CPU could
    go on"""
    site.change_profile(**CHEAP)
    path = site.write("in.csv", make_text(TRIAL + 3 * 128 * BLOCK))
    wanted = site.cat(path)
    for fault in ["device-too-small", "device-misaligned"]:
        plugin = ["--memory-manager", "%s:%s" % (faulty, fault)]
        check(site.cat(*plugin, path) == wanted, "%s: the CPU does not use it" % fault)
        for device in ["gpu", "auto"]:
            code, out, errors = site.cat("--device", device, *plugin, path)
            check(code == 1 and wanted[1].startswith(out) and out != wanted[1] and
                  errors.startswith("cleave: memory manager limited with ") and
                  errors.endswith("returned memory that is too small or misaligned\n") and errors.count("\n") == 1,
                  "%s: %s: %d %s" % (device, fault, code, errors))
        code, files, errors = pieces_of(site, "-n", "2", "--device", "gpu", *plugin, path)
        check(code == 1 and not files, "%s leaves no pieces: %d %s %s" % (fault, code, list(files), errors))


def main():
    parser = argparse.ArgumentParser()
    for name in ["--cleave", "--module", "--simulated", "--faulty"]:
        parser.add_argument(name, required=True, type=os.path.abspath)
    arguments = parser.parse_args()
    tally = Tally()
    with tempfile.TemporaryDirectory(dir=os.path.dirname(arguments.module)) as folder:
        site = Site(os.path.realpath(folder), arguments.cleave, arguments.module)
        for test in (without_profile, small_input, calibration, output, pieces, faults, what_is_said):
            tally.run(test.__doc__, lambda: test(site))
        tally.run(modules.__doc__, lambda: modules(site, arguments.simulated))
        tally.run(" ".join(faulty_memory.__doc__.split()), lambda: faulty_memory(site, arguments.faulty))
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
