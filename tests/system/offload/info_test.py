#!/usr/bin/env python3
"""cleave info with a simulated device: what it prints, and the profile that it keeps.

  info_test.py --cleave PATH --module SIMULATED_MODULE
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "tools"))
from verdicts import Tally, check  # noqa: E402

COLD_S = 0.9   # opening the device for the first time takes longer than this


class Machine:
    def __init__(self, command, cache):
        self.command = command
        self.environment = {**os.environ, "XDG_CACHE_HOME": cache}

    def run(self, *words, **variables):
        environment = {**self.environment, **variables}
        done = subprocess.run([self.command, "info", *words], capture_output=True, text=True, timeout=120,
                              env={name: value for name, value in environment.items() if value is not None})
        lines = [(line[:18].strip(), line[19:]) for line in done.stdout.splitlines()]
        return done.returncode, dict(lines), done.stderr


def profile(machine, module, cache):
    """A device is described, measured, and measured again; what other programs have added to its profile stays"""
    path = os.path.join(cache, "cleave", "machine-simulated-0.json")
    code, shown, errors = machine.run("--device", module)
    check(code == 0 and not errors, "a device is described: %s" % errors)
    check(shown["device"] == "simulated" and shown["device memory"] == "1.00 MiB", "the device: %s" % shown)
    check(shown["profile"] == path + ": not measured yet; run cleave info --calibrate", "no profile: %s" % shown)
    check("to the device" not in shown, "what was not measured is not shown: %s" % shown)
    check(not os.path.exists(cache), "without --calibrate nothing is written")

    code, shown, errors = machine.run("--calibrate", "--device", module + ":100000000")
    check(code == 0 and not errors, "a device is measured: %s" % errors)
    check(shown["profile"] == path and shown["to the device"] == "10 GB/s, 10.0 us to start", "measured: %s" % shown)
    check(shown["to it, unpinned"] == shown["to the device"], "measured from ordinary memory: %s" % shown)
    check(os.stat(path).st_mode & 0o777 == 0o600, "the profile is private")
    code, again, errors = machine.run("--device", module + ":100000000")
    again["memory"] = shown["memory"]    # available memory changes
    check((code, again, errors) == (0, shown, ""), "what was measured is shown again: %s %s" % (again, errors))

    # Rates of functions survive a new measurement.
    with open(path) as file:
        kept = json.load(file)
    check(kept["device"] == "simulated-0", "the profile names the device: %s" % kept)
    kept["functions"] = {"hmac\n": {"host": {"fixed": 0, "per_byte": 1e-9}, "device": {"fixed": 1, "per_byte": 1e-11}}}
    kept["in"]["fixed"] = 77
    with open(path, "w") as file:
        json.dump(kept, file)
    code, shown, _ = machine.run("--device", module)
    wanted = "host 1 GB/s, 0.00 us to start; device 100 GB/s, 1.00 s to start"
    check(code == 0 and shown.get("function hmac\\x0a") == wanted, "a function: %s" % shown)
    check("77.0 s" in shown["to the device"], "what the file says: %s" % shown)
    code, shown, _ = machine.run("--device", module, "--calibrate")
    check(code == 0 and shown.get("function hmac\\x0a") == wanted, "functions stay: %s" % shown)
    check("10.0 us" in shown["to the device"], "the link is measured again: %s" % shown)

    with open(path, "w") as file:
        file.write("{")
    code, shown, _ = machine.run("--device", module)
    check(code == 0 and shown["profile"].startswith(path + ": is damaged;"), "a damaged profile: %s" % shown)


# Opening the device for the first time after the machine has started takes much longer than opening it later. The first
# time must not be the one that is measured.
def cold_driver(machine, module, folder):
    """The time to open a device is measured with a warm driver"""
    marker = os.path.join(folder, "warm")
    for _ in range(5):   # on a busy machine even a warm opening may be slow
        code, shown, errors = machine.run("--calibrate", "--device", "%s:100000000,%s" % (module, marker))
        check(code == 0 and not errors and os.path.exists(marker), "a cold driver is measured: %s" % errors)
        with open(shown["profile"]) as file:
            profile = json.load(file)
        os.remove(marker)
        if profile["open"] < COLD_S:
            break
    check(profile["open"] < COLD_S, "the opening that is kept is a warm one: %s" % profile["open"])
    code, _, _ = machine.run("--device", "%s:100000000,%s" % (module, marker))
    check(code == 0 and os.path.exists(marker), "without --calibrate the device is opened once")


def errors(machine, module):
    """If a device is unusable or a profile cannot be stored, the command fails and names it"""
    for config, message in [("no driver", "device: no driver"), ("no card", "device: no such card"),
                            ("no luck", "device: the module cannot be used: ")]:
        for words in [[], ["--calibrate"]]:
            code, shown, errors = machine.run("--device", "%s:%s" % (module, config), *words)
            check(code == 1 and not shown and message in errors, "%s: %d %s" % (config, code, errors))
    nowhere = {"XDG_CACHE_HOME": "relative", "HOME": None}
    code, shown, errors = machine.run("--device", module, **nowhere)
    check(code == 0 and shown["profile"].startswith("there is no folder"), "no folder: %s" % shown)
    code, _, errors = machine.run("--calibrate", "--device", module, **nowhere)
    check(code == 1 and "there is no folder for the profile" in errors, "no folder to write to: %s" % errors)
    code, _, errors = machine.run("--calibrate", "--device", module, XDG_CACHE_HOME="/proc/none")
    check(code == 1 and "/proc/none" in errors, "a folder that cannot be made: %s" % errors)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cleave", required=True)
    parser.add_argument("--module", required=True)
    arguments = parser.parse_args()
    module = os.path.abspath(arguments.module)
    tally = Tally()
    with tempfile.TemporaryDirectory() as folder:
        cache = os.path.join(folder, "cache")
        machine = Machine(arguments.cleave, cache)
        tally.run(profile.__doc__, lambda: profile(machine, module, cache))
        tally.run(cold_driver.__doc__, lambda: cold_driver(machine, module, folder))
        tally.run(errors.__doc__, lambda: errors(machine, module))
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
