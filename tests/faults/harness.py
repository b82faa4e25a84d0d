"""Shared by the tests under faults: splits whose outcome is known beforehand, and checks of what a run has left.

A check is a function that takes a Bench; the first line of its docstring is its name. For what it may raise, see
verdicts.py.
"""
import argparse
import array
import contextlib
import fcntl
import functools
import hashlib
import hmac
import json
import os
import random
import re
import resource
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import termios
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "tools"))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "references", "stages"))
import mounts  # noqa: E402
import pieces as stage_pieces  # noqa: E402
from fields import make_dialect  # noqa: E402
from oracle import redact  # noqa: E402
from verdicts import Failure, Inconclusive, Skip, Tally, need, need_sight, need_tool  # noqa: E402

TIMEOUT_S = 120   # a run takes a second at most; one that takes longer has hung, however busy the machine is


def read(path):
    with open(path, "rb", buffering=0) as file:
        return file.read()


def write(path, data):
    with open(path, "wb") as file:
        file.write(data)
    return path


# The expected result of a split, found without using any of the program's code.

# A quote opens only as the first byte of a field. A quote behind a closing one opens again, so it counts as doubled.
FIELD = rb'(?:"[^"]*")*(?!")[^,\n]*'
RECORD = re.compile(rb"%s(?:,%s)*(?:\n|\Z)|(?s:.+)" % (FIELD, FIELD))   # the rest, if a quote is never closed


@functools.lru_cache(maxsize=32)
def record_ends(data):
    """The offset just past each record."""
    return [record.end() for record in RECORD.finditer(data) if record[0]] or [0]


def pieces_of_size(ends, header, limit):
    """The (start, end) of each piece, which holds as many records as fit with the header, and at least one."""
    start, last, found = ends[0], ends[0], []
    for end in ends[1:]:
        if header + end - start > limit and last > start:
            found.append((start, last))
            start = last
        last = end
    return found + [(start, last)] if last > start else found


def pieces_of_records(ends, count):
    last = ends[:1] + ends[count::count]
    if last[-1] != ends[-1]:
        last.append(ends[-1])
    return list(zip(last, last[1:]))


def pieces_of_number(ends, number):
    size, starts, at = ends[-1] - ends[0], [], 0
    for k in range(number):
        while ends[at] < ends[0] + size * k // number:
            at += 1
        starts.append(ends[at])
    return list(zip(starts, starts[1:] + [ends[-1]]))


STRAY = b'%d,5" tv\n'


@functools.lru_cache(maxsize=32)
def make_input(size, seed=1, stray=True):
    """Returns records of every difficult kind: quoted terminators, delimiters and quotes, empty records, CRLF and, with
    `stray`, quotes inside fields, which rules refuse."""
    chance = random.Random(seed)
    kinds = [b"%d,plain\n", b'%d,"two\nlines"\n', b'%d,"a ""b"", c"\n', b"%d,\r\n", b'%d,"\r\n,\n"\r\n',
             STRAY if stray else b'%d,"5"" tv"\n', b"\n", b"%d," + b"long " * 40 + b"\n"]
    parts, total = [b'id,"note\n(free)"\n'], 0
    while total < size:
        records = b"".join(chance.choices(kinds, k=16))
        parts.append(records % tuple(chance.choices(range(10 ** 6), k=records.count(b"%"))))
        total += len(parts[-1])
    return b"".join(parts)


class Job:
    """A split: the input's bytes, the options, and the expected bytes of each piece."""

    def __init__(self, data, option="-C", value=64 << 10, stem="p"):
        self.data, self.stem = data, stem
        self.args = [option, str(value), "-d", ","]
        ends = record_ends(data)
        self.header = data[:ends[0]]
        how = {"-C": lambda: pieces_of_size(ends, ends[0], value), "-l": lambda: pieces_of_records(ends, value),
               "-n": lambda: pieces_of_number(ends, value)}
        self.ranges = how[option]()
        self.pieces = {"%s.%06d.csv" % (stem, i): self.header + data[start:end]
                       for i, (start, end) in enumerate(self.ranges, 1)}

    @property
    def template(self):
        return self.stem + ".{i:06}.csv"

    def expect_rows(self, rows):
        """Expects the rows of a manifest to describe the pieces."""
        named = [(os.path.basename(row.get("name", "")), row["start"], row["start"] + row["length"], row.get("size"))
                 for row in rows]
        wanted = [(name, start, end, len(data))
                  for (name, data), (start, end) in zip(self.pieces.items(), self.ranges)]
        need(named == wanted, "the manifest names other pieces: %s..." % named[:2])

    @staticmethod
    def make_input(size, seed=1):
        return make_input(size, seed)


KEY = bytes(range(32))   # "@key" in a command line is the path of a file that holds it
RULES = ["#1: hmac(k, bytes=8, form=hex)", '#2: fixed("a, b") if #1 = 7', "#2: mask(first=2)"]
RULE_WORDS = ["-d", ",", "--header", "repeat", "--select", "#2,#1", "--key", "k=file:@key",
              *(word for rule in RULES for word in ("--redact", rule))]


class Redacted(Job):
    """The same under rules. The oracle of tests/references/stages provides the expected result."""

    def __init__(self, data, option="-C", value=64 << 10, stem="p"):
        self.data, self.stem = data, stem
        self.args = [option, str(value), *RULE_WORDS]
        if option == "-n":
            self.args += ["--spool", "plain"]
        result = self.redacted(data)
        self.records, self.header, self.output = len(result.records), result.header, result.output
        self.refusal = result.refusal
        if option == "-n":
            parts = stage_pieces.shared_pieces(result.header, result.records, "repeat", result.input_starts,
                                               result.body_start, result.input_size, value)
        else:
            parts = stage_pieces.written_pieces(result.header, result.records, "repeat",
                                                **{"count" if option == "-l" else "size": value})
        self.pieces = {"%s.%06d.csv" % (stem, i): part for i, part in enumerate(parts, 1)}
        self.ranges, end = [], len(self.header)
        for part in parts:   # offsets in the output
            self.ranges.append((end, end + len(part) - len(self.header)))
            end = self.ranges[-1][1]

    @staticmethod
    @functools.lru_cache(maxsize=32)
    def redacted(data):
        return redact(data, make_dialect(b","), "repeat", b"#2,#1", [rule.encode() for rule in RULES],
                      keys={b"k": KEY})

    @staticmethod
    def make_input(size, seed=1):
        return make_input(size, seed, stray=False)


class Rejecting(Job):
    """The same with bad records, which are set aside in a file beside the pieces."""

    def __init__(self, data, option="-C", value=64 << 10, stem="p"):
        chance, dirty, rejects, end = random.Random(len(data)), [], [], 0
        header = json.dumps(data[:record_ends(data)[0]].decode(), ensure_ascii=False)
        for number, next_end in enumerate(record_ends(data)):
            dirty.append(data[end:next_end])
            end = next_end
            if chance.random() < 0.05:
                text = b'%d,"one\nfield",too many\n' % number
                line = '{"byte":%d,"size":%d,"record":%d,"reason":"3 fields, not 2","text":%s' % (
                    sum(map(len, dirty)), len(text), len(dirty), json.dumps(text.decode()))
                rejects.append(line + (',"header":%s}\n' % header if not rejects else "}\n"))
                dirty.append(text)
        super().__init__(data, option, value, stem)
        self.data = b"".join(dirty)
        self.args += ["--rejects", "@out/rejects", "--max-rejects", "all"]
        self.pieces["rejects"] = "".join(rejects).encode()

    @staticmethod
    def make_input(size, seed=1):
        return make_input(size, seed, stray=False)


def under(kind, words, check, divisor=1):
    """Returns the check with splits of that kind, and with `words` added to its name. The divisor makes its inputs
    smaller."""
    def changed(bench):
        bench.kind, bench.divisor = kind, divisor
        try:
            check(bench)
        finally:
            bench.kind, bench.divisor = Job, 1
    changed.__doc__ = check.__doc__.strip().splitlines()[0].rstrip(".") + ", " + words
    return changed


def under_rules(check, divisor=1):
    """Returns the check with rules in each split; see Redacted. There is a divisor because the oracle is slow."""
    return under(Redacted, "under rules", check, divisor)


def with_rejects(check):
    """Returns the check with bad records in each split, which are set aside; see Rejecting."""
    return under(Rejecting, "with rejects", check)


def long(check):
    """Skips the check with --rounds 1."""
    def only_if_long(bench):
        if bench.scale < 2:
            raise Skip("it takes long: from --rounds 2 on")
        check(bench)
    only_if_long.__doc__ = check.__doc__
    return only_if_long


# What is on disk.

def snapshot(directory):
    """{name: description} of everything there, hidden files too: bytes, mode, inode and time of each file."""
    found = {}
    for parent, directories, files in os.walk(directory):
        for name in directories + files:
            path = os.path.join(parent, name)
            status = os.lstat(path)
            what = [stat.S_IFMT(status.st_mode), stat.S_IMODE(status.st_mode), status.st_ino]
            if stat.S_ISREG(status.st_mode):
                what += [status.st_mtime_ns, read(path)]
            elif stat.S_ISLNK(status.st_mode):
                what += [os.readlink(path)]
            found[os.path.relpath(path, directory)] = tuple(what)
    return found


def difference(before, after):
    """One line that says how two snapshots, or two dictionaries {name: bytes}, differ; empty if they are equal."""
    lost, new = sorted(before.keys() - after.keys()), sorted(after.keys() - before.keys())
    other = sorted(name for name in before.keys() & after.keys() if before[name] != after[name])
    parts = [(word, names) for word, names in (("gone", lost), ("new", new), ("changed", other)) if names]
    return "; ".join("%s: %s" % (word, ", ".join(names[:5]) + (" and %d more" % (len(names) - 5) if names[5:] else ""))
                     for word, names in parts)


def contents(directory):
    """{name: bytes} of everything there, in folders too; None for an empty folder or anything but a regular file."""
    found = {}
    for entry in os.scandir(directory):
        below = contents(entry.path) if entry.is_dir(follow_symlinks=False) else {}
        found.update({entry.name + "/" + other: data for other, data in below.items()})
        if not below:
            found[entry.name] = read(entry.path) if entry.is_file(follow_symlinks=False) else None
    return found


def expect_whole(job, directory, manifest=None, beside=(), report=None):
    """Expects every piece with its bytes and nothing else, except for the names in `beside`."""
    need(os.path.isdir(directory), "there is no output directory")
    found = contents(directory)
    wanted = dict(job.pieces)
    if report is not None:
        need(report in found, "there is no report")
        expect_report(job, found[report], found)
        del found[report]
    if manifest is not None:
        need(manifest in found, "there is no manifest")
        expect_manifest(job, found.pop(manifest))
    for name in beside:
        found.pop(name, None)
    wrong = difference(wanted, found)
    need(not wrong, "the pieces are not whole: " + wrong)


def expect_manifest(job, text):
    try:
        manifest = json.loads(text)
    except ValueError as error:
        raise Failure("the manifest is no JSON: %s" % error) from None
    need(manifest.get("cleave") == 2, "the manifest has another version")
    job.expect_rows(manifest["pieces"])


def expect_report(job, text, files):
    """`files` are the contents of the folder of the report, which a signed report must list as they are."""
    first, _, second = text.partition(b"\n")
    try:
        report = json.loads(first)
    except ValueError as error:
        raise Failure("the report is no JSON: %s" % error) from None
    counts = [report.get("records"), report.get("pieces"), report["rules"][0]["seen"] + report.get("empty_records")]
    need(counts == [job.records, len(job.pieces), job.records], "the report counts otherwise: %s" % counts)
    if "--sign" not in job.args:
        need(not second, "the report has two lines")
        return
    listed = report["files"] + ([report["manifest"]] if "manifest" in report else [])
    need([file["name"] for file in report["files"]] == list(job.pieces), "the report lists other pieces")
    for file in listed:
        wanted = hashlib.sha256(files[file["name"]]).hexdigest()
        need(file["sha256"] == wanted, "the report has the hash of another file")
    need(report["input"]["stored"]["size"] == len(job.data), "the report has the size of another input")
    keys = [hmac.new(bytes(32), KEY, hashlib.sha256).digest()]    # HKDF
    keys.append(hmac.new(keys[0], b"cleave 2 report\0\1", hashlib.sha256).digest())
    mac = hmac.new(keys[1], text[:-68], hashlib.sha256).hexdigest().encode()
    need(text.endswith(mac + b'"}}\n'), "the MAC is wrong")


def expect_clean(before, directory):
    wrong = difference(before, snapshot(directory))
    need(not wrong, "the directory is not as it was: " + wrong)


def is_hidden(name):
    """Whether it is one of cleave's hidden files, or is in one of its hidden folders."""
    return any(part.startswith(".cleave") for part in name.split("/"))


def is_marker(name):
    """Whether it is the file that tells a later run that an earlier run has not succeeded."""
    return re.fullmatch(r"\.cleave-[0-9a-f]{16}", os.path.basename(name)) is not None


def expect_only_whole(job, place, before):
    """Expects each name to have its piece, or what it had before. There may be hidden files."""
    now = snapshot(place.out)
    data = contents(place.out)
    for name in now:
        if is_hidden(name) or now[name] == before.get(name):
            continue
        need(data[name] == job.pieces.get(name), "%s is neither old nor a whole piece" % name)
    lost = [name for name in before if name not in now]
    need(not lost, "what was there is gone: %s" % lost)


class Run:
    """A run that has ended. The code is -N for a run that died from signal N."""

    def __init__(self, code, stdout=b"", stderr=b""):
        self.code, self.stdout, self.stderr = code, stdout or b"", stderr or b""

    @property
    def message(self):
        """What the run printed on standard error, without warnings and the messages of a coverage build."""
        lines = self.stderr.decode("utf-8", "backslashreplace").strip().splitlines()
        return "\n".join(line for line in lines if ": warning: " not in line and not line.startswith("LLVM Profile"))

    def __str__(self):
        return "exit %d: %s" % (self.code, self.message[-400:])


def expect_exit(run, code, *texts):
    need(run.code == code, "%s, but %s is wanted" % (run, code))
    for text in texts:
        need(text in run.message, "the message lacks '%s': %s" % (text, run.message[-400:]))


def kill_group(process):
    """Ends the process that start() has started, and all its descendants."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def fill(pipe, data):
    with contextlib.suppress(BrokenPipeError), pipe:
        pipe.write(data)


def finish(process, timeout=TIMEOUT_S, data=None):
    """Waits for the process to end. A thread writes the data to its standard input, because communicate() would write
    4 KiB at a time."""
    if data is not None:
        pipe, process.stdin = process.stdin, None
        threading.Thread(target=fill, args=(pipe, data), daemon=True).start()
    try:
        stdout, stderr = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        kill_group(process)
        process.communicate()
        raise Failure("it hangs: no end after %d s" % timeout) from None
    return Run(process.returncode, stdout, stderr)


def wait_until(condition, what, timeout_s=TIMEOUT_S):
    """Waits for something that must happen, however busy the machine is. If it does not, `what` is the failure."""
    end = time.monotonic() + timeout_s
    while not condition():
        need(time.monotonic() < end, "%s: not within %d s" % (what, timeout_s))
        time.sleep(0.01)


def bytes_in_pipe(descriptor):
    """How many bytes in the pipe have not been read yet. The descriptor may be either end."""
    count = array.array("i", [0])
    fcntl.ioctl(descriptor, termios.FIONREAD, count)
    return count[0]


def wait_until_read(process, descriptor=None):
    """Waits until the process has read everything in its standard input, or in the given pipe, or has ended."""
    pipe = process.stdin.fileno() if descriptor is None else descriptor
    wait_until(lambda: process.poll() is not None or bytes_in_pipe(pipe) == 0, "it does not read")


def has_open(process, path):
    """Whether the process has that file open."""
    with contextlib.suppress(OSError):
        for name in os.listdir("/proc/%d/fd" % process.pid):
            with contextlib.suppress(OSError):
                if os.readlink("/proc/%d/fd/%s" % (process.pid, name)) == path:
                    return True
    return False


def state_of(pid):
    """The state of the process as a letter, see proc_pid_stat(5); Z if the process is gone."""
    try:
        return read("/proc/%d/stat" % pid).rsplit(b")", 1)[1].split()[0].decode()
    except (FileNotFoundError, ProcessLookupError):
        return "Z"


def stop(process):
    """Stops the process. Returns False if it had already ended."""
    process.send_signal(signal.SIGSTOP)
    wait_until(lambda: process.poll() is not None or state_of(process.pid) in "Tt", "it does not stop")
    return process.poll() is None


def stop_while_reading(process, path):
    """Stops the process once it has mapped the file or read a part of it. Returns False, and lets the process continue,
    if it no longer has the file, or has read all of it."""
    status = os.stat(path)
    end = time.monotonic() + TIMEOUT_S
    while not is_reading(process, status):   # without a pause, because a run takes milliseconds
        need(time.monotonic() < end, "it does not read its input")
        if process.poll() is not None:
            return False
    if stop(process) and is_reading(process, status):
        return True
    process.send_signal(signal.SIGCONT)
    return False


def is_reading(process, status):
    root = "/proc/%d/" % process.pid
    with contextlib.suppress(OSError):
        if any(line.split()[4] == b"%d" % status.st_ino for line in read(root + "maps").splitlines()):
            return True
        for name in os.listdir(root + "fd"):
            with contextlib.suppress(OSError):
                found = os.stat(root + "fd/" + name)
                if (found.st_dev, found.st_ino) == (status.st_dev, status.st_ino):
                    if 0 < int(read(root + "fdinfo/" + name).split()[1]) < status.st_size:
                        return True
    return False


def wait_until_idle(process, also=lambda: True):
    """Waits until the process waits for others, and the condition holds, or the process has ended. A process waits if
    all of its threads sleep, and none has run since an earlier look."""
    looks = [None]

    def is_idle():
        if process.poll() is not None:
            return True
        looks.append(sleeps_of(process.pid) if also() else None)
        return looks[-1] is not None and looks[-1] == looks[-2]
    wait_until(is_idle, "it goes on")


def sleeps_of(pid):
    """How often each thread of the process has been switched out, or None if one of them is not asleep."""
    sleeps = {}
    try:
        for thread in os.listdir("/proc/%d/task" % pid):
            status = read("/proc/%d/task/%s/status" % (pid, thread))
            if b"\nState:\tS" not in status:
                return None
            sleeps[thread] = [line for line in status.splitlines() if b"ctxt_switches" in line]
    except (FileNotFoundError, ProcessLookupError):   # a thread has ended meanwhile
        return None
    return sleeps


def drip(process, data, sizes, pause_s=0.0, keep_open=False):
    """Writes the data to the process in parts of those sizes, cyclically, until the process stops reading."""
    at = turn = 0
    with contextlib.suppress(BrokenPipeError):
        while at < len(data):
            size = sizes[turn % len(sizes)]
            os.write(process.stdin.fileno(), data[at:at + size])
            at, turn = at + size, turn + 1
            if pause_s:
                time.sleep(pause_s)
    if not keep_open:
        process.stdin.close()
        process.stdin = None


class Place:
    """A folder with an input file and an empty output directory, and the command that splits one into the other."""

    def __init__(self, bench, job, out=None):
        self.bench, self.job = bench, job
        self.root = tempfile.mkdtemp(dir=bench.root)
        self.input = write(os.path.join(self.root, "in.csv"), job.data)
        self.key = write(os.path.join(self.root, "key"), KEY)
        os.chmod(self.key, 0o600)
        self.out = out or os.path.join(self.root, "out")
        if out is None:
            os.mkdir(self.out)

    def command(self, *options, source=None, job=None):
        job = job or self.job
        args = [word.replace("@key", self.key).replace("@out", self.out) for word in job.args]
        return ["split", *args, "-o", os.path.join(self.out, job.template), *options, source or self.input]

    def path(self, name):
        return os.path.join(self.out, name)

    def piece(self, number=1):
        """Returns the path of a piece, and creates its folder."""
        path = self.path(list(self.job.pieces)[number - 1])
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return path

    def empty(self):
        for entry in list(os.scandir(self.out)):
            shutil.rmtree(entry.path) if entry.is_dir(follow_symlinks=False) else os.unlink(entry.path)

    def remove(self):
        shutil.rmtree(self.root, ignore_errors=True)


class Bench:
    """What a check works with."""

    def __init__(self, cleave, rounds, seed, verbose, root):
        self.cleave, self.scale, self.verbose, self.root = os.path.abspath(cleave), rounds, verbose, root
        self.seed = seed   # for everything that a check chooses at random
        binary = read(self.cleave)
        self.sanitized = b"__asan_init" in binary or b"__tsan_init" in binary
        # Signals that end the command. The thread sanitizer treats SIGPIPE as caused by the current thread, calls the
        # handler at once, even in the middle of its own code, and crashes.
        self.ending_signals = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
        if b"__tsan_init" not in binary:
            self.ending_signals += (signal.SIGPIPE,)
        self.jobs, self.libraries, self.notes = {}, {}, []
        self.kind, self.divisor = Job, 1   # the kind of splits, and what the sizes of their inputs are divided by
        self.outcomes = {}   # how runs with failing calls ended: call -> Counter
        self.temporary = os.path.join(root, "tmp")
        os.mkdir(self.temporary)

    def rounds(self, modest):
        """How many times to repeat something that is repeated `modest` times with --rounds 2."""
        return max(1, modest * self.scale // (4 if self.sanitized else 2))

    def random(self, number):
        """The random generator for a check: the same in each run with the same --seed. `number` is the check's own."""
        return random.Random(number + self.seed - 1)

    def note(self, text):
        self.notes.append(text)

    def job(self, size=1 << 20, option="-C", value=64 << 10):
        size //= self.divisor
        value //= 1 if option == "-n" else self.divisor
        key = (self.kind, size, option, value)
        if key not in self.jobs:
            self.jobs[key] = self.kind(self.kind.make_input(size), option, value)
        return self.jobs[key]

    def place(self, *args, **kwargs):
        return Place(self, self.job(*args, **kwargs))

    def need_plain_binary(self, why):
        if self.sanitized:
            raise Skip("the binary is sanitized: " + why)

    def need_root(self):
        if os.geteuid() != 0:
            raise Skip("only root can do that")

    need_tool = staticmethod(need_tool)

    def environment(self, **more):
        env = {k: v for k, v in os.environ.items() if not k.startswith(("CLEAVE", "SHIM_"))}
        return dict(env, LC_ALL="C", TMPDIR=self.temporary, **more)

    def start(self, args, *, wrap=(), env=None, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
              stderr=subprocess.PIPE, limits=(), before=None, **more):
        """Starts the command with `args`, in a new session. `limits`: (RLIMIT_..., value)."""
        def prepare():
            for limit, value in limits:
                resource.setrlimit(limit, (value, value))
            if before:
                before()
        return subprocess.Popen([*wrap, self.cleave, *args], env=env or self.environment(), stdin=stdin, stdout=stdout,
                                stderr=stderr, start_new_session=True,
                                preexec_fn=prepare if limits or before else None, **more)

    def run(self, args, *, timeout=TIMEOUT_S, data=None, **more):
        """Runs the command to its end, with `data` in a pipe if it is given."""
        if data is not None:
            more["stdin"] = subprocess.PIPE
        return finish(self.start(args, **more), timeout, data)

    def preloaded(self, source):
        """The path of a library to preload, compiled from that file."""
        self.need_plain_binary("its runtime and LD_PRELOAD do not go together")
        if source not in self.libraries:
            compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
            if compiler is None:
                raise Inconclusive("there is no C compiler", retry=False)
            library = os.path.join(self.root, source + ".so")
            subprocess.run([compiler, "-O1", "-fPIC", "-shared", "-o", library, os.path.join(HERE, source), "-ldl"],
                           check=True)
            self.libraries[source] = library
        return self.libraries[source]

    def shim(self):
        """The path of shim.c's library."""
        return self.preloaded("shim.c")

    def shimmed(self, **settings):
        """The environment in which the shim does what `settings` say; its log is `shim_log`."""
        log = self.shim_log
        with contextlib.suppress(FileNotFoundError):
            os.unlink(log)
        named = {"SHIM_" + key.upper(): str(value) for key, value in settings.items()}
        return self.environment(LD_PRELOAD=self.shim(), SHIM_LOG=log, **named)

    @property
    def shim_log(self):
        return os.path.join(self.root, "shim.log")

    def shim_faults(self, call=""):
        """How many calls, or how many calls of that name, the shim has disturbed since shimmed()."""
        lines = read(self.shim_log).splitlines() if os.path.exists(self.shim_log) else []
        return sum(line.startswith(call.encode()) for line in lines)

    def mounted(self, *arguments):
        """Mounts a file system and returns its directory. The arguments are mount's, without the directory."""
        return mounts.mounted(self.root, *arguments)


def work_directory():
    """A temporary directory, in memory if possible, because the tests create and remove many files."""
    memory = "/dev/shm"
    usable = os.path.isdir(memory) and os.access(memory, os.W_OK)
    return memory if usable else None


def main(description, checks, closing=lambda bench: None, timed=()):
    """Runs the checks, prints their results and what `closing` prints; returns the exit status. `timed` are those that
    depend on how long something takes."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cleave", required=True, metavar="PATH", help="the binary")
    parser.add_argument("--only", default="", metavar="SUBSTRING", help="of a check's name")
    parser.add_argument("--timed", choices=("yes", "no"), help="whether to run those that depend on a clock [both]")
    parser.add_argument("--rounds", type=int, default=1, metavar="N", help="N times as long [1]")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of all that is random [1]")
    parser.add_argument("-v", action="store_true", help="say what was counted, and where a check failed")
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated"))   # so that file systems are unmounted
    tally = Tally(args.v)
    with tempfile.TemporaryDirectory(prefix="faults.", dir=work_directory()) as root:
        bench = Bench(args.cleave, args.rounds, args.seed, args.v, root)

        def tried(check):
            bench.notes = []
            check(bench)

        for check in checks:
            name = check.__doc__.strip().splitlines()[0].rstrip(".")
            if args.only in name and args.timed in (None, "yes" if check in timed else "no"):
                tally.run(name, lambda check=check: tried(check), lambda: bench.notes)
        closing(bench)
    return tally.close()
