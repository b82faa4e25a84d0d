"""Makes programs for another processor run like native ones: the kernel passes them to qemu (binfmt_misc). Needs
root."""
import contextlib
import os
import shutil
import subprocess

BINFMT = "/proc/sys/fs/binfmt_misc"


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


@contextlib.contextmanager
def emulated(processor):
    """Registers qemu with the kernel for the duration of the context, unless it is registered already. The registration
    comes from Debian's qemu-user-static."""
    with contextlib.ExitStack() as stack:
        if not os.path.exists(BINFMT + "/register"):
            subprocess.run(["mount", "-t", "binfmt_misc", "binfmt_misc", BINFMT], check=True)
            stack.callback(subprocess.run, ["umount", BINFMT], check=True)
        entry = "%s/qemu-%s" % (BINFMT, processor)
        if not os.path.exists(entry):
            shutil.copyfile("/usr/lib/binfmt.d/qemu-%s.conf" % processor, BINFMT + "/register")
            stack.callback(write, entry, "-1")   # removes the entry
        yield
