"""Describes the machine on which the figures are measured."""

import datetime
import os
import platform
import subprocess
from pathlib import Path


def first_line(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return (done.stdout.splitlines() or [""])[0]


def field_of(path: str, name: str) -> str:
    for line in Path(path).read_text(encoding="utf-8").splitlines():
        key, _, value = line.partition(":")
        if key.strip() == name:
            return value.strip()
    return "unknown"


def describe(data: Path) -> dict[str, str | int]:
    return {
        "cpu": field_of("/proc/cpuinfo", "model name"),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / (1 << 30)),
        "kernel": platform.release().split("-")[0],
        "compiler": first_line("c++", "--version"),
        "file_system": first_line("findmnt", "-n", "-o", "FSTYPE", "-T", str(data)),
        "date": datetime.date.today().isoformat(),
    }
