"""File systems for tests: created in a file, mounted on a new directory, then unmounted and removed. Needs root."""
import contextlib
import os
import subprocess
import tempfile

from verdicts import Skip, need_tool


def run_or_skip(program, *arguments):
    """Runs a command that a machine or a container may forbid, and raises Skip if it fails."""
    done = subprocess.run([need_tool(program), *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise Skip("%s: %s" % (program, " ".join(done.stderr.split())[:200]))


@contextlib.contextmanager
def image(root, size, mkfs, *options):
    """The path of a sparse file of that size in `root`, with a file system made by mkfs."""
    descriptor, path = tempfile.mkstemp(dir=root, suffix=".image")
    try:
        os.truncate(descriptor, size)
        os.close(descriptor)
        run_or_skip(mkfs, *options, path)
        yield path
    finally:
        os.unlink(path)


@contextlib.contextmanager
def mounted(root, *arguments, program="mount"):
    """A new directory in `root` with a mounted file system. `arguments` are for the program, without the directory."""
    if os.geteuid() != 0:
        raise Skip("only root can do that")
    directory = tempfile.mkdtemp(dir=root)
    try:
        run_or_skip(program, *arguments, directory)
        try:
            yield directory
        finally:
            if subprocess.run(["umount", directory], stderr=subprocess.DEVNULL).returncode != 0:
                subprocess.run(["umount", "-l", directory])
    finally:
        os.rmdir(directory)
