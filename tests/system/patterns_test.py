#!/usr/bin/env python3
"""--forbid NAME=re2:PATTERN: without the module, with a stub of it, and with the module itself.

  patterns_test.py --cleave PATH --stub MODULE --other MODULE [--module MODULE]

The command is copied to a folder with the module in ../lib/cleave, where it looks for it. The stub searches for the
text of the pattern; it fails for the text "fail". `other` is for another version of the interface; `module` is of RE2.
"""
import argparse
import contextlib
import gzip
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tools"))
from verdicts import Skip, Tally, check  # noqa: E402

SECRET = "P7654321"
TEXT = 'id,note\n1,"see\n""%s"""\n2,plain\n3,\n' % SECRET
PATTERN = "--forbid=patient=re2:P[0-9]{7}"
KEY = "0123456789abcdef0123456789abcdef0123456789"


class Site:
    """A folder with the command and, if `module` is given, a module."""

    def __init__(self, folder, cleave, module=None, mode=0o755):
        self.folder = folder
        self.cleave = os.path.join(folder, "bin", "cleave")
        self.module = os.path.join(folder, "lib", "cleave", "cleave_re2.so")
        self.work = os.path.join(folder, "work")
        for path, source in ((self.cleave, cleave), (self.module, module)):
            os.makedirs(os.path.dirname(path))
            if source:
                shutil.copy(source, path)
        if module:
            os.chmod(self.module, mode)
        os.mkdir(self.work)

    def write(self, name, text):
        with open(os.path.join(self.work, name), "wb") as file:
            file.write(text if isinstance(text, bytes) else text.encode())

    def run(self, *words, stdin=b""):
        done = subprocess.run([self.cleave, *words], capture_output=True, timeout=300, cwd=self.work, input=stdin,
                              env={**os.environ, "KEY": KEY}, check=False)
        out, errors = done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
        check(SECRET not in errors, "no message shows the value: %s" % errors)
        return done.returncode, out, errors

    def expect(self, code, errors, *words, **more):
        """Checks that the run fails so, prints nothing and leaves nothing."""
        before = sorted(os.listdir(self.work))
        found = self.run(*words, **more)
        check(found[0] == code and found[1] == "" and errors in found[2], "%s: %s" % (words, found))
        check(sorted(os.listdir(self.work)) == before, "nothing is left: %s" % os.listdir(self.work))


def without_module(bench):
    """Without the module the run ends before it reads anything"""
    with bench.site(None) as site:
        site.write("in.csv", TEXT)
        wanted = "cleave: --forbid patient: patterns need the module cleave_re2.so, which is not installed"
        for words in (["split", "-n", "2"], ["cat"], ["check"], ["sample", "-k", "2"]):
            site.expect(2, wanted, *words, PATTERN, "in.csv")
            site.expect(2, wanted, *words, PATTERN, "--rules", "/no/such", "/no/such")
        check(site.run("check", "--forbid", "email", "in.csv")[0] == 0, "kinds need no module")


def other_module(bench):
    """A module of another version, and one that others can write, are not used"""
    with bench.site(bench.other) as site:
        site.write("in.csv", TEXT)
        site.expect(2, "cannot be used: it is for version 7 of the interface, not 1\n", "split", "-n", "2", PATTERN,
                    "in.csv")
    with bench.site(bench.stub, mode=0o777) as site:
        site.write("in.csv", TEXT)
        site.expect(2, "is not loaded: other users can write to", "split", "-n", "2", PATTERN, "in.csv")


def failing_search(bench):
    """A value that cannot be searched counts as one that matches"""
    with bench.site(bench.stub) as site:
        site.write("in.csv", TEXT)
        fail = "--forbid=x=re2:fail"
        site.expect(3, "cleave: in.csv: a match of 'x' in column #1 of the header", "split", "-n", "2", "--header",
                    "repeat", fail, "in.csv")
        site.expect(3, "a match of 'x' in column #1, which stays", "split", "-n", "2", "-H", fail, "in.csv")
        code, out, _ = site.run("check", "--json", "-H", fail, "in.csv")
        check(code == 3 and json.loads(out)["forbidden"]["x"] == 7, "all values but the empty one: %s" % out)
        check(site.run("check", "-H", "--forbid=x=re2:never", "in.csv")[0] == 0, "the stub can succeed")


def several(bench):
    """Patterns and kinds together; each counts for itself"""
    with bench.site(bench.stub) as site:
        site.write("in.csv", TEXT + "4,a@b.example plain\n")
        code, out, _ = site.run("check", "--json", "--header", "repeat", "--forbid=a=re2:plain", "--forbid=email",
                                "--forbid=b-2=re2:see\n\"P", "--forbid=a=re2:plain", "in.csv")
        report = json.loads(out)
        check(code == 3 and report["forbidden"] == {"mail": 1, "card": 0, "a": 2, "b-2": 1}, "counts: %s" % out)
        check(report["patterns"] == {"a": "plain", "b-2": "see\n\"P"}, "patterns: %s" % out)


def need_module(bench):
    if not bench.module:
        raise Skip("libre2-dev is not installed")


def real_search(bench):
    """With RE2: what is found ends the run, on every way to the data"""
    need_module(bench)
    with bench.site(bench.module) as site:
        site.write("in.csv", TEXT)
        site.write("in.csv.gz", gzip.compress(TEXT.encode()))
        wanted = "a match of 'patient' in column note, which stays"
        given = ["--header", "repeat", PATTERN]
        for words in (["split", "-n", "2"], ["split", "-l", "1"], ["split", "--by", "id"],
                      ["split", "-l", "1", "-j", "1"], ["split", "-l", "1", "--filter", "cat >/dev/null"],
                      ["split", "-l", "1", "--compress", "gzip"]):
            site.expect(3, wanted, *words, *given, "in.csv")
        site.expect(3, wanted, "split", "-l", "1", *given, "in.csv.gz")
        site.expect(3, wanted, "split", "-l", "1", *given, "-o", "{i}.csv", "-", stdin=TEXT.encode())
        code, out, _ = site.run("cat", "--header", "repeat", PATTERN, "--redact", "note: null", "in.csv")
        check((code, out) == (0, "id,note\n1,\n2,\n3,\n"), "what changes is not searched: %s" % out)
        code, out, _ = site.run("cat", "--header", "repeat", PATTERN, "--select", "id", "in.csv")
        check(code == 0, "what is left out is not searched")


def names_of_columns(bench):
    """With RE2: a header that matches is not shown"""
    need_module(bench)
    with bench.site(bench.module) as site:
        site.write("in.csv", "id,%s\n1,2\n" % SECRET)
        site.expect(3, "a match of 'patient' in column #2 of the header", "split", "-l", "1", "--header", "repeat",
                    PATTERN, "in.csv")
        code, out, _ = site.run("check", "--json", "--header", "repeat", PATTERN, "in.csv")
        check(code == 3 and json.loads(out)["unnamed"] == ["#1", "#2"] and SECRET not in out, out)


def far_behind(bench):
    """With RE2: the last of 9 MB, behind many blocks, or of a long value is found, and its place is said"""
    need_module(bench)
    with bench.site(bench.module) as site:
        record = b'7,"' + b'see P123456,\n""x"" \xff' * 40 + b'"\n'
        data = b"id,note\n" + record * (9 * 1000 * 1000 // len(record))
        site.write("in.csv", data + b'8,"' + SECRET.encode() + b'"\n')
        wanted = "column note, which stays (byte %d, " % (len(data) + 2)
        for words in (["-n", "3"], ["-C", "1M"], ["-l", "1000", "--block-size", "64K"]):
            site.expect(3, wanted, "split", *words, "--header", "repeat", PATTERN, "in.csv")
        site.write("in.csv", data)
        code, _, errors = site.run("split", "-q", "-n", "3", "--header", "first", "-o", "{i}.csv", PATTERN, "in.csv")
        joined = b"".join(open(os.path.join(site.work, "%d.csv" % i), "rb").read() for i in (1, 2, 3))
        check(code == 0 and joined == data, "the pieces are the file: %s" % errors)
        site.write("in.csv", b"id,note\n8," + b"x " * 20000 + SECRET.encode() + b"\n")   # searched by a thread
        site.expect(3, "column note, which stays (byte 10, ", "split", "-n", "1", "--header", "repeat", PATTERN, "in.csv")


def signed_report(bench):
    """With RE2: a signed report names the pattern, and is verified"""
    need_module(bench)
    with bench.site(bench.module) as site:
        site.write("in.csv", "id,note\n1,a\n2,b\n")
        key = ["--key", "k=env:KEY"]
        code, _, errors = site.run("split", "-q", "-n", "2", "--header", "repeat", PATTERN, "--redact", "id: hmac(k)",
                                   *key, "--redact-report", "r.json", "--sign", "k", "in.csv")
        check(code == 0, errors)
        with open(os.path.join(site.work, "r.json"), encoding="utf-8") as file:
            text = file.read()
        report = json.loads(text.splitlines()[0])
        check(report["patterns"] == {"patient": "P[0-9]{7}"} and report["forbidden"]["patient"] == 0, text)
        code, out, errors = site.run("verify", *key, "r.json")
        check(code == 0, "it is verified: %s%s" % (out, errors))
        site.write("r.json", text.replace("{7}", "{8}"))
        check(site.run("verify", *key, "r.json")[0] == 3, "another pattern is not")


def refused_patterns(bench):
    """With RE2: what is no pattern is refused, with the reason"""
    need_module(bench)
    with bench.site(bench.module) as site:
        site.write("in.csv", TEXT)
        for pattern, why in (("P(", "not a pattern of RE2: missing ): P("), ("a*", "matches the empty text"),
                             ("", "matches the empty text"), ("^$", "matches the empty text"),
                             (r"(a)\1", "not a pattern of RE2: invalid escape"), ("(?=a)", "not a pattern of RE2"),
                             ("a{1001}", "not a pattern of RE2"),
                             ("((a{100}){100}){100}", "not a pattern of RE2"), (b"\xff", "not a pattern of RE2"),
                             ("(" * 5000, "not a pattern of RE2"), ("x\033[", "not a pattern of RE2")):
            word = b"--forbid=x=re2:" + (pattern if isinstance(pattern, bytes) else pattern.encode())
            site.expect(2, "cleave: --forbid x: ", "split", "-n", "2", word, "in.csv")
            errors = site.run("check", word, "in.csv")[2]
            check(why in errors and "\033" not in errors, "%r: %r" % (pattern, errors))


def processor_seconds(pid):
    """What the process has used, in all its threads."""
    with open("/proc/%d/stat" % pid) as file:
        user, system = file.read().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def interrupted(bench):
    """With RE2: a signal ends a search of minutes, and nothing is left"""
    need_module(bench)
    with bench.site(bench.module) as site:
        note = "".join(random.Random(1).choices("ac", k=10_000_000))   # searched for minutes
        site.write("in.csv", "id,note\n1,%s\n" % note)
        for words in (["-l", "1"], ["--by", "id"]):
            process = subprocess.Popen([site.cleave, "split", "--header", "repeat", *words, "in.csv",
                                        "--forbid=x=re2:a[ac]{0,1000}b"], cwd=site.work, stderr=subprocess.DEVNULL)
            try:
                while process.poll() is None and processor_seconds(process.pid) < 1:   # all else takes a fifth of it
                    time.sleep(0.02)
                process.send_signal(signal.SIGINT)
                check(process.wait(timeout=30) == -signal.SIGINT, "it ends by the signal")
            finally:
                process.kill()
            check(os.listdir(site.work) == ["in.csv"], "nothing is left: %s" % os.listdir(site.work))


def ways_out(bench):
    """With RE2: the planted-secret programme finds no way out"""
    need_module(bench)
    script = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "faults", "ways_test.py")
    with bench.site(bench.module) as site:
        done = subprocess.run([sys.executable, "-B", script, "--cleave", site.cleave, "--only", "pattern", "--runs",
                               "300", "--seed", "1"], capture_output=True, text=True, check=False, timeout=600)
        check(done.returncode == 0, done.stdout + done.stderr)


CHECKS = [without_module, other_module, failing_search, several, real_search, names_of_columns, far_behind,
          signed_report, refused_patterns, interrupted, ways_out]


class Bench:
    def __init__(self, options):
        self.cleave, self.stub, self.other, self.module = options.cleave, options.stub, options.other, options.module

    @contextlib.contextmanager
    def site(self, module, mode=0o755):
        # The command loads no module from a folder that others can write.
        with tempfile.TemporaryDirectory(dir=os.path.dirname(os.path.abspath(self.stub))) as folder:
            yield Site(folder, self.cleave, module, mode)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cleave", required=True)
    parser.add_argument("--stub", required=True)
    parser.add_argument("--other", required=True)
    parser.add_argument("--module")
    bench, tally = Bench(parser.parse_args()), Tally()
    for one in CHECKS:
        tally.run(one.__doc__.splitlines()[0], lambda one=one: one(bench))
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
