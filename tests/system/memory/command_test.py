#!/usr/bin/env python3
"""The command with memory managers from shared libraries: the same output as with its own, and clear errors.

  command_test.py CLEAVE DOCUMENTED_PLUGIN [OTHER_PLUGIN...]
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "tools"))
from verdicts import Tally, check, need  # noqa: E402

CLEAVE, DOCUMENTED = sys.argv[1:3]
PLUGINS = sys.argv[2:]
RULES = ["--redact", "b: mask", "--select", "b,c"]


def cat(path, *words, **environment):
    return subprocess.run([CLEAVE, "cat", "--quiet", *RULES, *words, path], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, env={**os.environ, **environment}, text=True, timeout=120)


def trust(folder, path, wanted):
    """A plugin that other users could have written, or that belongs to one, is not loaded; root's plugins are"""
    with tempfile.TemporaryDirectory(dir=os.path.dirname(DOCUMENTED)) as trusted:
        plugin = shutil.copy(DOCUMENTED, trusted)
        name = plugin + ":1000000000"
        for mode, place in ((0o666, plugin), (0o777, trusted), (0o1777, trusted)):
            before = os.stat(place).st_mode
            os.chmod(place, mode)
            for words, environment, origin in ((["--memory-manager", name], {}, "--memory-manager"),
                                               ([], {"CLEAVE_MEMORY_MANAGER": name}, "CLEAVE_MEMORY_MANAGER")):
                done = cat(path, *words, **environment)
                text = "cleave: %s: memory manager %s: not loaded: other users can write to '%s'\n" % (
                    origin, plugin, place)
                check((done.returncode, done.stdout, done.stderr) == (2, "", text),
                      "mode %o of %s: %d %s" % (mode, place, done.returncode, done.stderr))
            os.chmod(place, before)
        check(cat(path, "--memory-manager", name).stdout == wanted.stdout, "it is trusted again")
    if os.geteuid() != 0:
        return
    # As the user nobody: a library that belongs to root is loaded, and one that belongs to a third user is not.
    libraries = subprocess.run(["ldd", CLEAVE], stdout=subprocess.PIPE, text=True).stdout
    found = re.search(r"libz\.so\.1 => (/\S+)", libraries)
    command = shutil.copy(CLEAVE, folder)
    for place in (folder, path, command):
        os.chmod(place, 0o755)
    os.chown(path, 65534, 65534)
    if found:
        done = subprocess.run([command, "cat", *RULES, "--memory-manager", found[1], path], capture_output=True,
                              text=True, user=65534, group=65534, extra_groups=[], timeout=120)
        check(done.returncode == 1 and done.stderr.endswith("has no function cleave_memory_manager_open\n"),
              "nobody, a library of root: %d %s" % (done.returncode, done.stderr))


def same_output(path, wanted):
    """A manager changes nothing, whether an option or the variable names it"""
    for plugin in PLUGINS:
        done = cat(path, "--memory-manager", plugin)
        check((done.returncode, done.stdout, done.stderr) == (0, wanted.stdout, ""),
              "%s changes nothing: %d %s" % (plugin, done.returncode, done.stderr))
    done = cat(path, CLEAVE_MEMORY_MANAGER=DOCUMENTED + ":1000000000")
    check((done.returncode, done.stdout) == (0, wanted.stdout), "the variable names it: " + done.stderr)


def errors(path):
    """With too little memory or wrong settings the command fails and names the manager"""
    done = cat(path, "--memory-manager", DOCUMENTED + ":1000")
    check(done.returncode == 1 and not done.stdout and
          done.stderr.startswith("cleave: out of memory: memory manager limited has no "),
          "1000 bytes are too few: %d %s" % (done.returncode, done.stderr))
    done = cat(path, "--memory-manager", DOCUMENTED + ":many")
    check(done.returncode == 1 and not done.stdout and
          done.stderr.endswith(DOCUMENTED + ": cannot start: 'many' is not a number of bytes\n"),
          "its settings are wrong: " + done.stderr)


def main():
    tally = Tally()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "in.csv")
        with open(path, "w") as file:
            file.write("a,b,c\n" + "".join('%d,"x ""%d""",z%d\n' % (i, i * i, i) for i in range(20000)))
        wanted = cat(path)
        need(wanted.returncode == 0 and wanted.stdout.startswith("b,c\n\"***"), "without a manager: " + wanted.stderr)
        tally.run(same_output.__doc__, lambda: same_output(path, wanted))
        tally.run(errors.__doc__, lambda: errors(path))
        tally.run(trust.__doc__, lambda: trust(folder, path, wanted))
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
