#!/usr/bin/env python3
"""The command with memory managers of shared libraries: the same output as with its own, and clear errors.

  command_test.py CLEAVE DOCUMENTED_PLUGIN [OTHER_PLUGIN...]
"""
import os
import subprocess
import sys
import tempfile

CLEAVE, DOCUMENTED = sys.argv[1:3]
PLUGINS = sys.argv[2:]
RULES = ["--redact", "b: mask", "--select", "b,c"]
failures = []


def check(holds, what):
    if not holds:
        failures.append(what)
        print("not so:", what)


def cat(path, *words, **environment):
    return subprocess.run([CLEAVE, "cat", "--quiet", *RULES, *words, path], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, env={**os.environ, **environment}, text=True, timeout=120)


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "in.csv")
        with open(path, "w") as file:
            file.write("a,b,c\n" + "".join('%d,"x ""%d""",z%d\n' % (i, i * i, i) for i in range(20000)))
        wanted = cat(path)
        check(wanted.returncode == 0 and wanted.stdout.startswith("b,c\n\"***"), "the command works: " + wanted.stderr)
        for plugin in PLUGINS:
            done = cat(path, "--memory-manager", plugin)
            check((done.returncode, done.stdout, done.stderr) == (0, wanted.stdout, ""),
                  "%s changes nothing: %d %s" % (plugin, done.returncode, done.stderr))
        done = cat(path, CLEAVE_MEMORY_MANAGER=DOCUMENTED + ":1000000000")
        check((done.returncode, done.stdout) == (0, wanted.stdout), "the variable names it: " + done.stderr)
        done = cat(path, "--memory-manager", DOCUMENTED + ":1000")
        check(done.returncode == 1 and not done.stdout and
              done.stderr.startswith("cleave: out of memory: memory manager limited has no "),
              "1000 bytes are too few: %d %s" % (done.returncode, done.stderr))
        done = cat(path, "--memory-manager", DOCUMENTED + ":many")
        check(done.returncode == 1 and not done.stdout and
              done.stderr.endswith(DOCUMENTED + ": cannot start: 'many' is not a number of bytes\n"),
              "its settings are wrong: " + done.stderr)
    print("%d plugins: %d failures" % (len(PLUGINS), len(failures)))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
