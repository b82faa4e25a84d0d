#!/usr/bin/env python3
"""The conformance suite for memory managers finds the faults of plugins/faulty.c and plugins/faulty_device.c.

  faulty_test.py MEMORY_CONFORMANCE PLUGINS [--sanitized]
"""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "tools"))
from verdicts import Tally, need  # noqa: E402

PROGRAM, PLUGINS = sys.argv[1:3]
SANITIZED = "--sanitized" in sys.argv

# A fault, the check that finds it, and part of the message.
FOUND = [
    ("version", "interface.version", "is for version 7 of the interface, not 1"),
    ("struct-size", "interface.version", "its cleave_memory_manager has 40 bytes"),
    ("no-release", "interface.members", "lacks a member"),
    ("pin-without-member", "interface.members", "capabilities do not agree"),
    ("info-without-member", "interface.members", "capabilities do not agree"),
    ("open-without-member", "interface.members", "capabilities do not agree"),
    ("open-without-room", "interface.members", "capabilities do not agree"),
    ("begin-without-end", "interface.members", "capabilities do not agree"),
    ("unknown-capability", "interface.capabilities", "do not exist"),
    ("no-space", "interface.capabilities", "no space"),
    ("name", "interface.name", "control character"),
    ("free-over-total", "interface.info", "more host memory is free than there is"),
    ("defer-depth", "interface.defer_cleanup", "an end without a begin returned 0"),
    ("initialize", "allocate.spaces", "initialize returned 19"),
    ("initialize-again", "lifetime.initialize_again", "changed while" if not SANITIZED else ""),
    ("allocate-from=3", "allocate.sizes", "63 bytes of host memory"),
    ("allocate-number=4", "allocate.sizes", "64 bytes of host memory"),
    ("arguments", "allocate.sizes", "Invalid argument"),
    ("too-small", "allocate.sizes", "gave 0 bytes"),
    ("misaligned", "allocate.alignments", "misaligned"),
    ("device-too-small --device", "allocate.sizes", "gave 0 bytes"),
    ("device-misaligned --device", "allocate.sizes", "misaligned"),
    ("no-memory", "allocate.sizes", "*memory was not set"),
    ("lies", "allocate.neighbours", "changed while they were in use"),
    ("lies", "threads.hammer", ""),
    ("careless", "allocate.spaces", "a call that failed changed *memory"),
    ("careless", "allocate.arguments", "alignment"),
    ("careless", "allocate.zeroed", "zeroed host memory is not 0"),
    ("crash", "lifetime.reset", "ended by signal 6"),
    ("pin-alone", "device.pin", "the owner was not retained once"),
    ("one-state", "lifetime.independence", ""),
]
# The same, of the device that plugins/faulty_device.c makes up.
FOUND_THERE = [
    ("no-reset", "lifetime.reset_frees", "after reset"),
    ("no-destroy", "lifetime.destroy_frees", "after destroy"),
    ("leaks", "lifetime.leaks", "more bytes of the device"),
    ("info-leaks", "lifetime.reset_frees", "the manager says"),
    ("eager", "interface.defer_cleanup", "more bytes of the device"),
    ("pin-nothing", "device.pin", "pin of 0 bytes returned 0"),
    ("pin-flags", "device.pin", "unknown flag returned 0"),
    ("pin-twice", "device.pin", "pin of pinned memory returned 0"),
    ("pin-first", "device.pin", "the owner was not retained once"),
    ("pin-keeps", "device.pin", "reset: the owner was not released once"),
    ("pin-stays", "device.pin", "release: the memory is still pinned"),
    ("pin-late", "device.pin", "release: the owner was not released once"),
    ("pin-locked", "device.pin", "ended by signal 14"),
    ("open-own", "device.export_ipc", "in the process that exported"),
    ("open-anywhere", "device.export_ipc", "refused what it must"),
    ("open-any-size", "device.export_ipc", "refused what it must"),
    ("open-stays", "device.export_ipc", "returned 16"),
    ("open-kept", "device.export_ipc", "refused what it must"),
    ("open-offset", "device.export_ipc", "returned 84"),
]
# These need a process that is not sanitized.
if not SANITIZED:
    FOUND += [
        ("secret", "secret.wiped", "can be read after its release"),
        ("secret", "secret.wiped_by_reset", "can be read after its release"),
        ("secret", "secret.left_out_of_dumps", "are part of a core dump"),
        ("leaks", "lifetime.leaks", "more bytes are mapped"),
        ("leaks", "exhaustion.address_space", "after a release of 8 MiB"),
        ("no-reset", "lifetime.reset_frees", "after reset"),
        ("no-destroy", "lifetime.destroy_frees", "after destroy"),
        ("no-deferral", "interface.defer_cleanup", "more bytes are mapped"),
        ("unlocked", "threads", ""),
    ]


def find(plugin, fault, check, why):
    name, *words = fault.split()
    done = subprocess.run([PROGRAM, "%s/%s:%s" % (PLUGINS, plugin, name), *words, "--only=" + check],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=300)
    start = "FAIL " + check
    need(done.returncode == 1 and any(l.startswith(start) and why in l for l in done.stdout.splitlines()),
         "it is not found: exit %d\n%s" % (done.returncode, done.stdout))


def main():
    tally = Tally()
    for fault, check, why in FOUND:
        tally.run("%s is found by %s" % (fault, check), lambda: find("faulty.so", fault, check, why))
    for fault, check, why in FOUND_THERE:
        words = "%s --device=%s/faulty_device.so --limit=%d" % (fault, PLUGINS, 5 if fault == "pin-locked" else 120)
        tally.run("%s of a device is found by %s" % (fault, check),
                  lambda: find("faulty_device.so", words, check, why))
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
