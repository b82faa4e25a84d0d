"""Where judges put their files. They run thousands of short commands, which spend most of their time on a disk's file
system."""
import os

FOLDER = "/dev/shm"
LEAST = 1 << 30   # bytes that must be free; in containers there is often less


def folder():
    """The argument `dir` for the functions of tempfile: a file system in memory, or None."""
    if not os.access(FOLDER, os.W_OK):
        return None
    free = os.statvfs(FOLDER)
    return FOLDER if free.f_bavail * free.f_frsize >= LEAST else None
