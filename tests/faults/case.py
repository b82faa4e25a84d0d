"""One random case: an empty folder, the files put into it, runs of the command, and the search for secrets in
everything that the runs print or leave. A case takes a few milliseconds, because it uses no shell, no strace and no
sleep. It needs only Python and the binary.
"""
import contextlib
import fcntl
import gzip
import itertools
import mmap
import os
import random
import shutil
import signal
import stat
import tempfile
import time

OTHER_USER = 65534
PART = 8                 # any 15 consecutive bytes of a secret contain a whole part
PIPE_SIZE = 60_000       # how much a pipe holds before anything is read from it
HANGS_AFTER_S = 60
LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


class Failure(Exception):
    pass


class Skip(Exception):
    """The way cannot be tried here; the message says why."""


def need(condition, text):
    if not condition:
        raise Failure(text)


def flip(case, share=0.5):
    return case.chance.random() < share


def parts(secret):
    return [secret[at:at + PART] for at in range(0, len(secret) - PART + 1, PART)]


def is_shared(path):
    """Whether it is a sticky folder of root to which other users can write."""
    status = os.stat(path)
    return status.st_uid == 0 and bool(status.st_mode & stat.S_ISVTX) and bool(status.st_mode & 0o022)


def is_trusted(path):
    """Whether cleave loads libraries from this folder: only this user and root can write to it and to its parents,
    except to one that is shared."""
    status, parent = os.stat(path), os.path.dirname(path)
    if status.st_uid not in (0, os.geteuid()) or status.st_mode & 0o022:
        return False
    if path != "/" and is_shared(parent):
        return status.st_dev == os.stat(parent).st_dev and is_trusted(os.path.dirname(parent))
    return path == "/" or is_trusted(parent)


class Place:
    """Where a test process runs its cases: the binary, an in-memory folder for the cases, and folders from which cleave
    loads libraries."""

    def __init__(self, cleave, seconds):
        self.cleave, self.seconds = os.path.abspath(cleave), seconds
        self.root = tempfile.mkdtemp(prefix="cleave-ways-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
        self.trusted = [self.root] if is_trusted(self.root) else []
        for base in (os.path.expanduser("~"), "/run", os.path.dirname(self.cleave)):
            base = os.path.realpath(base)
            if os.access(base, os.W_OK) and is_trusted(base):
                self.trusted.append(tempfile.mkdtemp(prefix=".cleave-ways-", dir=base))
                break
        self.printed = [tempfile.TemporaryFile(dir=self.root, buffering=0) for _ in range(2)]
        self.nothing = os.open("/dev/null", os.O_RDONLY)
        self.quickest = {}   # verb: seconds
        self.cache = {}  # inputs that many cases share
        self.child = 0
        signal.signal(signal.SIGALRM, lambda *_: os.kill(self.child, signal.SIGKILL))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.chdir("/")
        shutil.rmtree(self.root, ignore_errors=True)
        for folder in self.trusted:
            shutil.rmtree(folder, ignore_errors=True)

    def start(self, words, environment, umask, stdin):
        """Starts the command. Returns the process ID."""
        out, err = self.printed
        for file in self.printed:
            file.seek(0)
            file.truncate()
        before = os.umask(umask)
        try:
            self.child = os.posix_spawn(self.cleave, [b"cleave", *words], environment, file_actions=[
                (os.POSIX_SPAWN_DUP2, stdin, 0), (os.POSIX_SPAWN_DUP2, out.fileno(), 1),
                (os.POSIX_SPAWN_DUP2, err.fileno(), 2)])
        finally:
            os.umask(before)
        return self.child

    def end(self, pid):
        """Waits for the end of the process. Returns the Run."""
        signal.setitimer(signal.ITIMER_REAL, HANGS_AFTER_S)
        _, status, usage = os.wait4(pid, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else -os.WTERMSIG(status)
        texts = []
        for file in self.printed:
            file.seek(0)
            texts.append(file.read())
        return Run(code, texts[0], texts[1], usage.ru_utime + usage.ru_stime)


class Run:
    def __init__(self, code, out, err, seconds):
        self.code, self.out, self.err, self.seconds = code, out, err, seconds

    def __str__(self):
        return "exit status %d: %r" % (self.code, self.err[-300:])


class Case:
    """A case in which `chance` makes every choice, so that a number always means the same case."""

    def __init__(self, place, number):
        self.place, self.number, self.chance = place, number, random.Random(number)
        self.secrets = []
        self.permissions = 0o777   # those that all inputs grant; the output may grant no more
        self.umask = self.chance.choice((0, 0o022, 0o022, 0o077))
        self.given = {}            # path: the bytes put there, which must not change
        self.words = []            # the command line of the last run
        self.environment = {b"TMPDIR": b"tmp", b"PATH": b"/usr/bin:/bin", b"LC_ALL": b"C"}
        if b"LLVM_PROFILE_FILE" in os.environb:   # for a coverage build
            self.environment[b"LLVM_PROFILE_FILE"] = os.environb[b"LLVM_PROFILE_FILE"]
        self.is_stream = False
        self.key = b""
        self.folder = os.path.join(place.root, "%d" % number)
        os.mkdir(self.folder)
        os.chdir(self.folder)
        os.mkdir("tmp", 0o700)
        os.mkdir("out", 0o700)

    def remove(self):
        os.chdir("/")
        shutil.rmtree(self.folder)

    # Setting up.

    def secret(self, alphabet=LETTERS, size=24):
        text = "".join(self.chance.choices(alphabet, k=size)).encode()
        self.secrets.append(text)
        return text

    def give(self, path, data, mode=0o600):
        with open(path, "wb") as file:
            file.write(data)
            os.fchmod(file.fileno(), mode)
        self.given[path] = data
        return path.encode()

    def link(self, path, target):
        os.symlink(target, path)
        self.given[path] = os.fsencode(target)

    def give_away(self, path):
        """Gives the file to another user, which only root can do."""
        if os.geteuid() != 0:
            raise Skip("only root makes files of another user")
        os.chown(path, OTHER_USER, OTHER_USER, follow_symlinks=False)

    def give_key(self, data=None):
        """Returns the options for the key p, and adds the key to the secrets."""
        self.key = self.secret(size=48) if data is None else data
        self.secrets.append(self.key.hex().encode())
        if self.chance.random() < 0.3:
            self.environment[b"KEY"] = self.key
            return [b"--key", b"p=env:KEY"]
        self.give("key", self.key)
        return [b"--key", b"p=file:key"]

    def source(self, data, forms=("file", "pipe", "file gz", "pipe gz")):
        """Provides the data in one of the forms. Returns the operand and the bytes for standard input."""
        form = self.chance.choice(forms)
        if "gz" in form:
            data = gzip.compress(data, 1)
        self.is_stream = form != "file"
        if "pipe" in form and len(data) <= PIPE_SIZE:
            self.permissions = 0o666
            return b"-", data
        self.permissions = self.chance.choice((0o600, 0o600, 0o640, 0o644, 0o400))
        return self.give("in.csv.gz" if "gz" in form else "in.csv", data, self.permissions), None

    # Runs.

    def start(self, words, stdin=None):
        self.words = words
        return self.place.start(words, self.environment, self.umask, self.place.nothing if stdin is None else stdin)

    def run(self, words, fed=None, allowed=(0,)):
        """Runs the command to its end, and expects one of the allowed exit statuses. If --header is given twice, only
        the second, which is the way's own, is kept."""
        if words.count(b"--header") > 1:
            first = words.index(b"--header")
            words = words[:first] + words[first + 2:]
        if fed is None:
            return self.judged(self.place.end(self.start(words)), allowed)
        reader, writer = os.pipe()
        os.write(writer, fed)
        os.close(writer)
        try:
            return self.judged(self.place.end(self.start(words, reader)), allowed)
        finally:
            os.close(reader)

    def run_beside(self, words, write, is_once, allowed):
        """Calls write() during a run, once at a random moment, or repeatedly from then on until the run ends."""
        verb = words[0]
        began = time.perf_counter()
        pid = self.start(words)
        quickest = self.place.quickest.get(verb, 0.004)
        while time.perf_counter() < began + self.chance.random() * quickest:
            pass
        write()
        while not is_once and os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            write()
        run = self.place.end(pid)
        self.place.quickest[verb] = min(quickest * 1.05, time.perf_counter() - began)
        return self.judged(run, allowed)

    def kill_when(self, words, fed, condition):
        """Starts a run on a pipe that does not end, and kills it as soon as the condition holds."""
        reader, writer = os.pipe()
        fcntl.fcntl(writer, 1031, 1 << 20)   # F_SETPIPE_SZ, which Python has had since 3.10
        os.write(writer, fed)
        try:
            pid = self.start(words, reader)
            end = time.monotonic() + HANGS_AFTER_S
            while not condition():
                need(time.monotonic() < end and os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None,
                     "the run that shall be killed has ended")
            os.kill(pid, signal.SIGKILL)
            self.place.end(pid)
        finally:
            os.close(reader)
            os.close(writer)

    def judged(self, run, allowed):
        need(run.code in allowed, "%s, but one of %s is allowed" % (run, sorted(allowed)))
        need(run.seconds < self.place.seconds, "it takes %.1f s of the processor" % run.seconds)
        self.expect_none(run.out, "standard output")
        self.expect_none(run.err, "standard error")
        odd = [byte for byte in run.err if byte < 0x20 and byte not in b"\n\t"]
        need(not odd or b"--filter" in self.words, "a message has a control character: %r" % run.err[-300:])
        return run

    # What must not happen.

    def expect_none(self, data, where):
        for secret in self.secrets:
            for part in parts(secret):
                at = data.find(part)
                need(at < 0, "%s: a secret: %r" % (where, data[max(0, at - 60):at + 60]))

    def expect_clean(self):
        """Expects no secret in the names, links and contents of new files, no mode wider than the inputs', and no
        change to anything that was put there."""
        files = self.permissions & ~self.umask
        folders = 0o700 | (files & 0o444) | (files & 0o444) >> 2
        for parent, directories, names in os.walk("."):
            for name in directories + names:
                path = os.path.join(parent, name)[2:]
                status = os.lstat(path)
                if path in self.given or path in ("tmp", "out"):
                    need(path not in self.given or self.content(path) == self.given[path], "changed: " + path)
                    continue
                self.expect_none(path.encode("utf-8", "surrogateescape"), "a name")
                content = self.content(path)
                self.expect_none(content, path)
                if content.startswith(b"\x1f\x8b"):
                    self.expect_none(gzip.decompress(content), path)
                if not stat.S_ISLNK(status.st_mode):
                    allowed = folders if stat.S_ISDIR(status.st_mode) else files
                    need(stat.S_IMODE(status.st_mode) & ~allowed == 0, "%s: mode %o, but %o is allowed" % (
                        path, stat.S_IMODE(status.st_mode), allowed))

    @staticmethod
    def content(path):
        """The target of a link; empty for anything but a link or a file."""
        status = os.lstat(path)
        if stat.S_ISLNK(status.st_mode):
            return os.fsencode(os.readlink(path))
        if not stat.S_ISREG(status.st_mode):
            return b""
        with open(path, "rb") as file:
            return file.read()


@contextlib.contextmanager
def overwriting(path, contents, is_mapped):
    """Creates a file with the first of two contents of equal size. Yields a function that overwrites it with the second
    one, then with the first again, and so on: with a system call, or through a mapping whose pages are already dirty,
    so that the file's times do not change."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    turn = itertools.cycle(contents)
    try:
        os.ftruncate(descriptor, len(contents[0]))
        with mmap.mmap(descriptor, len(contents[0])) as mapping:
            def write():
                if is_mapped:
                    mapping[:] = next(turn)
                else:
                    os.pwrite(descriptor, next(turn), 0)
            write()
            yield write
    finally:
        os.close(descriptor)
