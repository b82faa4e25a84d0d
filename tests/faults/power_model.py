"""What a loss of power may leave of a folder, given the record that recording_shim.c has written of a run.

The model follows ALICE (Pillai et al., "All File Systems Are Not Created Equal", OSDI 2014) and SQLite's crash tests.
The disk is a set of inodes. A call causes one or more *changes*:

    names   entries of folders now lead to other inodes, all at once: create, link, unlink, mkdir, rename, exchange
    block   bytes within one sector of a file; a write causes one such change for each sector
    size    a file ends somewhere else; a write that extends the file causes one, besides those of its sectors
    mode    permissions

A change is *durable* when a later call has made it so:

    fsync(file)      all earlier changes to its blocks, size and mode; not its name
    fdatasync(file)  the same without the mode
    fsync(folder)    all earlier changes to its names; not the contents of the files. A rename between two folders needs
                     both
    syncfs           everything

close(), sync_file_range() and the passage of time make nothing durable.

When the power is lost, durable changes are on the disk. Any other change may be there or not, whatever happened to the
changes before and after it. A sector that was not written has its old bytes; a new one has zeros, or whatever the disk
had there. A name that exists leads to an inode with the mode that it was created with, but perhaps without bytes.

This is weaker than what POSIX and file systems guarantee, so whatever is true of the model is true of them. POSIX
promises only what fsync does. ext4 and XFS write changes of names in order; on fsync(file) they also write the name of
a new file; ext4 (data=ordered) writes the bytes of a file before its size. btrfs writes the names that belong to a
synced file, and other names later. Two assumptions are stronger than POSIX and hold on all three: a call changes names
as a whole or not at all, and a 512-byte sector is either old or new, never half of each. The model does not cover disks
that lie about a flush.
"""
import math
import os
import random
import stat
import struct
from typing import NamedTuple

SECTOR = 512
ENTRY = struct.Struct("=II4Q2Q2Q2I")   # as in recording_shim.c
INODE, NAMES, DATA, SIZE, MODE, FILE_SYNC, DISK_SYNC, UNKNOWN, CONTENT = range(1, 10)


class Inode:
    """A file, a folder or a link as it is on the disk. `data` holds the bytes of a file or the target of a link. It may
    be longer than `size`: then there are sectors beyond the end."""

    def __init__(self, mode, data=b"", names=None):
        self.mode, self.size, self.data, self.names = mode, len(data), bytearray(data), dict(names or {})

    def copy(self):
        other = Inode(self.mode, self.data, self.names)
        other.size = self.size
        return other

    @property
    def content(self):
        return bytes(self.data[:self.size]).ljust(self.size, b"\0")

    def put(self, offset, data):
        if len(self.data) < offset + len(data):
            self.data.extend(bytes(offset + len(data) - len(self.data)))
        self.data[offset:offset + len(data)] = data


class Change(NamedTuple):
    at: int            # the entry of the record that describes it
    kind: int          # NAMES, DATA, SIZE or MODE
    needs: tuple       # the inodes that must be synced
    what: tuple        # NAMES: (folder, name, target)...; DATA: offset, bytes; SIZE: size, if it only grows; MODE: mode


class Record:
    """The changes of a run, and when each became durable. `base`: {number: Inode}, the disk before the run."""

    def __init__(self, path, base, root, device):
        self.base, self.root = base, root
        self.inodes = {}      # those that the run creates: number -> mode, target
        self.changes = []
        self.contents = []    # contents of files that have lost a name: (entries before that, inode, bytes)
        self.unknown = 0      # entries that only say that something has changed
        self.reused = 0       # inodes that were freed and created again under the same number
        self.length = 0       # the number of entries
        syncs = []            # (at, kind, inode, mode)
        for kind, mode, entry_device, inode, offset, size, names, data in entries(path):
            known = self.inodes.keys() | base.keys()
            about = {folder for folder, _, _ in names} or {inode}
            if entry_device != device or kind not in (INODE, DISK_SYNC, UNKNOWN) and not about <= known:
                continue   # a change elsewhere
            if kind == CONTENT:
                self.contents.append((self.length, inode, data))
                continue
            at = self.length
            self.length += 1
            if kind == INODE:
                self.reused += inode in self.inodes or inode in base
                self.inodes[inode] = (mode, data)
                self.length -= 1   # a new inode changes nothing on the disk before it has a name
            elif kind == NAMES:
                self._add(at, NAMES, tuple({folder for folder, _, _ in names}), names)
            elif kind == DATA:
                self._add(at, SIZE, (inode,), (offset + size, True))
                start = offset
                while start < offset + size:
                    end = min(start - start % SECTOR + SECTOR, offset + size)
                    self._add(at, DATA, (inode,), (start, data[start - offset:end - offset]))
                    start = end
            elif kind == SIZE:
                self._add(at, SIZE, (inode,), (offset, False))
            elif kind == MODE:
                self._add(at, MODE, (inode,), (mode,))
            elif kind in (FILE_SYNC, DISK_SYNC):
                syncs.append((at, kind, inode, mode))
            else:
                self.unknown += 1
        self.syncs = len(syncs)
        self.last_sync = syncs[-1][0] if syncs else math.inf
        self.durable = [self._durable_at(change, syncs) for change in self.changes]

    def _add(self, *change):
        self.changes.append(Change(*change))

    @staticmethod
    def _durable_at(change, syncs):
        """The number of the entry that makes the change durable; infinity if none does."""
        def first(inode):
            return next((at for at, kind, synced, data_only in syncs if at > change.at and
                         (kind == DISK_SYNC or synced == inode and not (data_only and change.kind == MODE))), math.inf)
        return max(map(first, change.needs))

    def wrong_contents(self):
        """The inodes of files whose bytes differed from the record when they lost a name."""
        return [inode for time, inode, data in self.contents
                if self.disk(sum(self.made_before(time), [])).inodes[inode].content != data]

    def made_before(self, time):
        """The changes in the first `time` entries: (those that are durable by then, those that are not)."""
        made = [i for i, change in enumerate(self.changes) if change.at < time]
        return ([i for i in made if self.durable[i] < time], [i for i in made if self.durable[i] >= time])

    def disk(self, kept, stale=None):
        """The disk with these changes. A new sector that was not written has zeros, or bytes from `stale`."""
        inodes = {number: inode.copy() for number, inode in self.base.items()}
        for number, (mode, target) in self.inodes.items():
            inodes[number] = Inode(mode, target)
        if stale is not None:
            for number in self.inodes:
                if stat.S_ISREG(inodes[number].mode):
                    inodes[number].data = bytearray(stale)
        for i in sorted(kept):
            change = self.changes[i]
            inode = inodes[change.needs[0]]
            if change.kind == NAMES:
                for folder, name, target in change.what:
                    inodes[folder].names[name] = target
            elif change.kind == DATA:
                inode.put(*change.what)
            elif change.kind == MODE:
                inode.mode = stat.S_IFMT(inode.mode) | stat.S_IMODE(change.what[0])
            elif change.what[1]:
                inode.size = max(inode.size, change.what[0])
            else:
                inode.size = change.what[0]
                del inode.data[inode.size:]
        return Disk(inodes, self.root)


class Disk:
    """A folder with everything in it."""

    def __init__(self, inodes, root):
        self.inodes, self.root = inodes, root

    def tree(self, number=None, path=""):
        """Yields (path, number, Inode) for everything that has a name, folders first."""
        for name, target in sorted(self.inodes[self.root if number is None else number].names.items()):
            if target == 0:
                continue
            inode = self.inodes[target]
            yield path + name, target, inode
            if stat.S_ISDIR(inode.mode):
                yield from self.tree(target, path + name + "/")

    def files(self):
        """{path: (mode, content)}; a folder has no content."""
        return {path: (inode.mode, None if stat.S_ISDIR(inode.mode) else inode.content)
                for path, _, inode in self.tree()}

    def key(self):
        """A key that is equal for equal disks."""
        return tuple((path, number, inode.mode, inode.content) for path, number, inode in self.tree())

    def build(self, folder):
        """Creates everything in an empty folder. Returns {real inode: number in the model}."""
        numbers, paths = {os.stat(folder).st_ino: self.root}, {}
        for path, number, inode in self.tree():
            full = os.path.join(folder, path)
            if number in paths:
                os.link(paths[number], full, follow_symlinks=False)
                continue
            paths[number] = full
            if stat.S_ISDIR(inode.mode):
                os.mkdir(full)
            elif stat.S_ISLNK(inode.mode):
                os.symlink(inode.content, full)
            else:
                with open(full, "wb") as file:
                    file.write(inode.content)
            status = os.lstat(full)
            if status.st_mode != inode.mode and not stat.S_ISLNK(inode.mode):
                os.chmod(full, stat.S_IMODE(inode.mode))
            numbers[status.st_ino] = number
        return numbers


def entries(path):
    """Yields (kind, mode, device, inode, offset, size, names, data) for each entry of a record; names: (folder, name,
    target)..."""
    with open(path, "rb") as file:
        text = file.read()
    at = 0
    while at < len(text):
        kind, mode, device, inode, offset, size, *rest = ENTRY.unpack_from(text, at)
        folders, targets, sizes = rest[0:2], rest[2:4], rest[4:6]
        at += ENTRY.size
        names = []
        for folder, target, name_size in zip(folders, targets, sizes):
            if name_size:
                names.append((folder, os.fsdecode(text[at:at + name_size]), target))
            at += name_size
        taken = size if kind in (INODE, DATA, CONTENT) else 0
        yield kind, mode, device, inode, offset, size, tuple(names), text[at:at + taken]
        at += taken


def read_disk(folder, number_of, beside=()):
    """The Disk with what a folder holds, without the names in `beside`. `number_of(inode)` gives the numbers."""
    inodes = {}

    def add(path):
        status = os.lstat(path)
        number = number_of(status.st_ino)
        if number in inodes:
            return number
        if stat.S_ISDIR(status.st_mode):
            inodes[number] = Inode(status.st_mode)
            for name in os.listdir(path):
                if path != folder or name not in beside:
                    inodes[number].names[name] = add(os.path.join(path, name))
        elif stat.S_ISLNK(status.st_mode):
            inodes[number] = Inode(status.st_mode, os.fsencode(os.readlink(path)))
        else:
            with open(path, "rb") as file:
                inodes[number] = Inode(status.st_mode, file.read())
        return number

    return Disk(inodes, add(folder))


class State(NamedTuple):
    """The disk after a loss of power just before entry number `time` of the record, and how it came about."""
    disk: Disk
    time: int
    how: str


def states(record, subsets, seed, singles=None):
    """Yields each distinct State once: all prefixes of the record; what the loss of a single change leaves; random
    subsets of what is not durable. `singles`: how many single losses to draw at random; None for all.
    """
    chance = random.Random(seed)
    stale = chance.randbytes(4 * SECTOR)
    seen = set()

    def fresh(kept, time, how, stale=None):
        disk = record.disk(kept, stale)
        key = hash((disk.key(), time == record.length))
        if key not in seen:
            seen.add(key)
            yield State(disk, time, how)

    for time in range(record.length + 1):
        durable, pending = record.made_before(time)
        yield from fresh(durable + pending, time, "the first %d of %d entries" % (time, record.length))
    losses = [(time, lost, how) for time in range(1, record.length + 1) for lost, how in single_losses(record, time)]
    for time, lost, how in losses if singles is None else chance.sample(losses, min(singles, len(losses))):
        durable, pending = record.made_before(time)
        kept = durable + [i for i in pending if i not in lost]
        yield from fresh(kept, time, "the first %d entries, without %s" % (time, how), chance.choice([None, stale]))
    for number in range(subsets):
        time = chance.randrange(1, record.length + 1)
        durable, pending = record.made_before(time)
        share = chance.choice([0.1, 0.5, 0.9])
        kept = durable + [i for i in pending if chance.random() < share]
        yield from fresh(kept, time, "subset %d of what the first %d entries left unsynced" % (number, time),
                         chance.choice([None, stale]))


def single_losses(record, time):
    """Yields (changes, words) for each way in which one entry that is not durable may be lost: all of it; all its
    sectors, or all but the first one, but not its size; only its size."""
    entries_of = {}
    for i in record.made_before(time)[1]:
        entries_of.setdefault(record.changes[i].at, []).append(i)
    for at, lost in entries_of.items():
        yield lost, "entry %d" % at
        sectors = [i for i in lost if record.changes[i].kind == DATA]
        if sectors:
            yield sectors, "the bytes of entry %d" % at
            yield [i for i in lost if i not in sectors], "the size of entry %d" % at
        if len(sectors) > 1:
            yield sectors[1:], "all but one sector of entry %d" % at
