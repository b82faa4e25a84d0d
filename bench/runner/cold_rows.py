"""Rows on files that are not in the page cache or do not fit in it: count against cat and dd, split against cp."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from .bench import Bench
from .measure import Contestant
from .split_rows import COPIERS, copiers, writer

GROUP_SIZE = 256  # MiB
READ_AHEADS = (128, 8192)  # KiB: the setting of most machines, and one that suits a fast disk


def drop(path: Path) -> None:
    """Drops the file from the page cache, after dirty pages have been written to the disk."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def setting_of(path: Path) -> Path | None:
    """The kernel's setting for the read-ahead of the file's device, as a file."""
    device = path.stat().st_dev
    block = Path(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}").resolve()
    for folder in (block, block.parent):
        if (folder / "queue/read_ahead_kb").exists():
            return folder / "queue/read_ahead_kb"
    return None


@contextmanager
def read_ahead(setting: Path, kib: int) -> Iterator[None]:
    before = setting.read_text(encoding="ascii")
    setting.write_text(str(kib), encoding="ascii")
    try:
        yield
    finally:
        setting.write_text(before, encoding="ascii")


@contextmanager
def control_group() -> Iterator[Path | None]:
    """A control group whose processes and their page cache take at most GROUP_SIZE; None if that is impossible."""
    for root, limit in (("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")):
        group = Path(root, f"cleave-bench-{os.getpid()}")
        try:
            group.mkdir()
        except OSError:
            continue
        try:
            (group / limit).write_text(str(GROUP_SIZE << 20), encoding="ascii")
            yield group
        finally:
            group.rmdir()
        return
    yield None


def within(group: Path, contestant: Contestant) -> Contestant:
    enter = f'echo $$ >{group}/cgroup.procs && exec "$@"'
    return replace(contestant, argv=["sh", "-c", enter, "sh", *contestant.argv])


def cold(bench: Bench) -> None:
    """Drops the input with posix_fadvise(DONTNEED) before each run; once for each read-ahead of the device."""
    path = bench.input("quoted")
    setting = setting_of(path)
    if setting is None or not os.access(setting, os.W_OK):
        bench.skip("cold: the read-ahead of the device cannot be set; needs root and a disk")
        return
    for kib in READ_AHEADS:
        with read_ahead(setting, kib):
            cold_with(bench, path, f"read-ahead {kib} KiB", None)
            with control_group() as group:
                if group is None:
                    bench.skip("cold: a control group for memory cannot be made")
                else:
                    cold_with(bench, path, f"read-ahead {kib} KiB, {GROUP_SIZE} MiB of memory", group)


def cold_with(bench: Bench, path: Path, what: str, group: Path | None) -> None:
    size = path.stat().st_size

    def before() -> None:
        drop(path)

    readers = [
        bench.run("cleave count", "count", path),
        Contestant("dd", ["dd", f"if={path}", "of=/dev/null", "bs=1M", "status=none"]),
        Contestant("cat", ["sh", "-c", f"exec cat {path} >/dev/null"]),
    ]
    if group is not None:
        readers = [within(group, reader) for reader in readers]
    race = bench.race(f"cold/count/{what}", f"counting a cold file, {what}", size, readers, before=before)
    for other in ("dd", "cat"):
        bench.compare_speed(race, f"count, cold, {what}, of the speed of {other}", "cleave count", other, ">= 1.0")
    writers = [writer(bench, path, "cleave split -n 10", "-n", 10), *copiers(path)]
    if group is not None:
        writers = [within(group, each) for each in writers]
    race = bench.race(f"cold/split/{what}", f"splitting a cold file, {what}", size, writers, before=before)
    for other in COPIERS:
        bench.compare_time(race, f"split -n 10, cold, {what}, time of {other}", "cleave split -n 10", other, "<= 1.0")
