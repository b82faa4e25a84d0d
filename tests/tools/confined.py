"""Runs an untrusted command where it can do no harm.

The command sees only its own processes, so it cannot signal any others. It can write only to an empty folder, which is
its working directory and its $TMPDIR, to an empty /dev/shm, and to an overlay of /tmp: everything else is read-only.
Processes that it starts end with it. Its memory, its processor time and the size of its files are limited. This needs
namespaces, and therefore root.
"""
import math
import os
import resource
import shutil
import signal
import subprocess

from verdicts import Inconclusive

MEMORY, FILE_SIZE = 4 << 30, 1 << 30
UNCONFINED = 99   # an exit status

# The shell remains as the first process of the namespace, because the first process ignores signals.
SETUP = """
findmnt -nlo TARGET --real | while read -r mounted; do mount -o remount,bind,ro "$mounted" 2>/dev/null; done
[ ! -w / ] && mount -t tmpfs tmpfs /dev/shm && mkdir -m 1777 /dev/shm/upper /dev/shm/work &&
    mount -t overlay -o lowerdir=/tmp,upperdir=/dev/shm/upper,workdir=/dev/shm/work overlay /tmp &&
    mount --no-canonicalize --bind . "$TMPDIR" && mount -o remount,bind,rw "$TMPDIR" && cd "$TMPDIR" || exit %d
"$@"
exit $?""" % UNCONFINED
NAMESPACES = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", SETUP, "sh"]


def run_confined(command, folder, timeout, processor_time):
    """The exit status (None on a timeout) and the output. The scratch folder and the output file are created in
    `folder`."""
    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_SIZE, FILE_SIZE))
        resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(processor_time), math.ceil(processor_time) + 1))

    scratch = folder / "scratch"
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    with open(folder / "output", "w+b") as log:   # processes left behind by the command would hold a pipe open
        with subprocess.Popen([*NAMESPACES, *command], cwd=scratch, stdin=subprocess.DEVNULL, stdout=log,
                              stderr=subprocess.STDOUT, env={**os.environ, "TMPDIR": str(scratch)},
                              start_new_session=True, preexec_fn=limit) as process:
            try:
                status = process.wait(timeout)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                status = None
        log.seek(0)
        output = log.read(1 << 20).decode(errors="replace")
    if status == UNCONFINED:
        raise Inconclusive("the command cannot be confined: " + output[-300:], retry=False)
    return status, output
