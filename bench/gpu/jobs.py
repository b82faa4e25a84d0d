#!/usr/bin/env python3
"""Times whole runs of cleave with rules on the CPU, on a GPU, and wherever --device auto places them.

  jobs.py [--cleave PATH] [--data DIR] [--only REGEX] [--sizes LIST] [--rounds N] [--output JSON] [--chart SVG]
  jobs.py --render JSON --chart SVG       do not measure: print the tables and draw the chart from these figures

The module must be where the command looks for it: ../lib/cleave/cleave_cuda.so relative to the command. Three groups:

  grid     sizes x rules x --device cpu, gpu, auto. The regret of a cell is the time with auto divided by the
           better of the other two times
  paging   --device-memory set to 1/8 and 1/64 of the input, compared with all of the device's memory
  full     a device on which another process holds all but a few MiB of memory; needs cuPy

Output is discarded. In each round all devices of a cell run in turn; the first output of each cell is compared with the
CPU's, outside the timing. Times are medians over the rounds.
"""
import argparse
import datetime
import hashlib
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
KINDS_OF_SIZE = {"M": 20, "G": 30}
HELD_BACK = (4096, 256, 32)  # MiB of device memory left free
JOBS = {
    "fixed of 1": ("--redact", 'code: fixed("x")'),
    "mask of 1": ("--redact", "phone: mask"),
    "hmac of 1": ("--redact", "mail: hmac(k)"),
    "hmac of 4": ("--redact", "name: hmac(k)", "--redact", "mail: hmac(k)", "--redact", "phone: hmac(k)",
                  "--redact", "card: hmac(k)"),
    "select 3 of 12": ("--select", "id,mail,code"),
}
DEVICES = ("cpu", "gpu", "auto")
Figures = dict[str, Any]


def bytes_of(size: str) -> int:
    return int(size[:-1]) << KINDS_OF_SIZE[size[-1]]


class Runner:
    def __init__(self, arguments: argparse.Namespace) -> None:
        self.cleave, self.data = arguments.cleave.resolve(), arguments.data
        self.rounds = arguments.rounds
        self.data.mkdir(parents=True, exist_ok=True)
        self.environment = {**os.environ, "XDG_CACHE_HOME": str(self.data / "cache")}
        self.key = self.data / "key"
        if not self.key.exists():
            with open(self.key, "wb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
                file.write(bytes(range(32)))
        self.cells: list[Figures] = []
        self.digests: dict[str, str] = {}

    def call(self, *words: object) -> str:
        done = subprocess.run([str(self.cleave), *map(str, words)], env=self.environment, capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"cleave {' '.join(map(str, words))}: exit {done.returncode}\n{done.stderr}")
        return done.stdout + done.stderr

    def input(self, size: str) -> Path:
        path = self.data / f"people-{size}.csv"
        if not path.exists():
            subprocess.run([ROOT / "build/release/bench/make_input", "people", size, path], check=True)
        return path

    def arguments_of(self, job: str, device: str, size: str, options: tuple[str, ...]) -> list[str]:
        key = ("--key", f"k=file:{self.key}") if "hmac" in job else ()
        words = ("cat", "--device", device, *key, *JOBS[job], *options, self.input(size))
        return [str(self.cleave), *map(str, words)]

    def digest(self, argv: list[str]) -> str:
        """The digest of just the output. Digests of output from the CPU are kept."""
        if (known := self.digests.get(str(argv))) is not None:
            return known
        with subprocess.Popen(argv, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
            assert process.stdout
            digest = hashlib.sha1()
            while block := process.stdout.read(1 << 22):
                digest.update(block)
        answer = digest.hexdigest() if process.returncode == 0 else f"exit {process.returncode}"
        if "cpu" in argv:
            self.digests[str(argv)] = answer
        return answer

    def run(self, argv: list[str]) -> tuple[float, str]:
        with open("/dev/null", "wb") as nothing:
            begin = time.perf_counter()
            done = subprocess.run([*argv, "--explain"], env=self.environment, stdout=nothing, stderr=subprocess.PIPE,
                                  text=True)
            seconds = time.perf_counter() - begin
        if done.returncode != 0:
            raise SystemExit(f"{' '.join(argv)}: exit {done.returncode}\n{done.stderr}")
        return seconds, self.without_folders(done.stderr)

    def without_folders(self, text: str) -> str:
        """The text without folders, which differ from machine to machine."""
        return text.replace(str(self.data), "$DATA").replace(str(self.cleave.parent), "$BIN")

    def cell(self, group: str, job: str, size: str, ways: dict[str, tuple[str, tuple[str, ...]]], rounds: int,
             compares: bool = True) -> None:
        """Runs the ways of a cell, each a device with options, in turn."""
        argvs = {name: self.arguments_of(job, device, size, options) for name, (device, options) in ways.items()}
        taken: dict[str, list[float]] = {name: [] for name in ways}
        explained: dict[str, str] = {}
        for _ in range(rounds):
            for name, argv in argvs.items():
                seconds, explained[name] = self.run(argv)
                taken[name].append(round(seconds, 5))
        same = None
        if compares:
            wanted = self.digest(self.arguments_of(job, "cpu", size, ()))
            same = all(self.digest(argv) == wanted for argv in argvs.values())
        cell = {"group": group, "job": job, "size": size, "seconds": taken, "same": same, "explain": explained}
        self.cells.append(cell)
        print(line_of(cell), flush=True)


def grid(runner: Runner, sizes: list[str]) -> None:
    ways: dict[str, tuple[str, tuple[str, ...]]] = {device: (device, ()) for device in DEVICES}
    for size in sizes:
        is_small = bytes_of(size) < 1 << 30
        for job in JOBS:
            rounds = runner.rounds + 2 if is_small else runner.rounds
            runner.cell("grid", job, size, ways, rounds, compares=size == "256M")


def paging(runner: Runner, sizes: list[str]) -> None:
    size = min(sizes[-1], "4G", key=bytes_of)
    ways: dict[str, tuple[str, tuple[str, ...]]] = {"all": ("gpu", ())}
    for part in (8, 64):
        ways[f"1/{part}"] = ("gpu", ("--device-memory", f"{bytes_of(size) // part >> 20}M"))
    runner.cell("paging", "hmac of 4", size, ways, runner.rounds)


HOLDER = """
import cupy, sys
free, total = cupy.cuda.runtime.memGetInfo()
left = int(sys.argv[1]) << 20
held = []
while True:
    free, _ = cupy.cuda.runtime.memGetInfo()
    if free <= left + (2 << 20): break
    held.append(cupy.cuda.runtime.malloc(max(2 << 20, (free - left) // 2 >> 21 << 21)))
print(free >> 20, flush=True)
sys.stdin.read()
"""


def full(runner: Runner, sizes: list[str]) -> None:
    """Runs the command while another process holds the memory of the device."""
    size = min(sizes[-1], "4G", key=bytes_of)
    for left in HELD_BACK:
        command = [sys.executable, "-c", HOLDER, str(left)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
            assert holder.stdout and holder.stdin
            free = holder.stdout.readline().strip()
            try:
                for device in ("gpu", "auto"):
                    argv = runner.arguments_of("hmac of 4", device, size, ("--explain",))
                    begin = time.perf_counter()
                    done = subprocess.run(argv, env=runner.environment, stdout=subprocess.DEVNULL, text=True,
                                          stderr=subprocess.PIPE)
                    seconds = time.perf_counter() - begin
                    same = None
                    if done.returncode == 0:
                        wanted = runner.digest(runner.arguments_of("hmac of 4", "cpu", size, ()))
                        same = runner.digest(argv) == wanted
                    cell = {"group": "full", "job": f"{free} MiB free, {device}", "size": size,
                            "seconds": {"run": [round(seconds, 5)]}, "same": same, "exit": done.returncode,
                            "explain": {"run": runner.without_folders(done.stderr)}}
                    runner.cells.append(cell)
                    print(line_of(cell), flush=True)
            finally:
                holder.stdin.close()


GROUPS = {"grid": grid, "paging": paging, "full": full}


def line_of(cell: Figures) -> str:
    times = "  ".join(f"{name} {statistics.median(values):8.3f}" for name, values in cell["seconds"].items())
    same = {None: "", True: "same", False: "DIFFERENT"}[cell["same"]]
    status = f"exit {cell['exit']}" if "exit" in cell else ""
    regret = f"regret {regret_of(cell):.2f}" if cell["group"] == "grid" else ""
    return f"{cell['group']:6} {cell['size']:>4} {cell['job']:24} {times}  {regret} {status} {same}"


def regret_of(cell: Figures) -> float:
    medians = {name: statistics.median(values) for name, values in cell["seconds"].items()}
    return medians["auto"] / min(medians["cpu"], medians["gpu"])


def describe(runner: Runner) -> Figures:
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    done = subprocess.run(query, capture_output=True, text=True)
    with open("/proc/cpuinfo", encoding="ascii") as file:
        model = next(line.split(":")[1].strip() for line in file if line.startswith("model name"))
    return {"gpu": done.stdout.strip(), "cpu": model, "cores": len(os.sched_getaffinity(0)),
            "kernel": platform.release().split("-")[0], "date": datetime.date.today().isoformat(),
            "version": runner.call("--version").splitlines()[0], "profile": runner.without_folders(runner.call("info", "--calibrate"))}


def draw(figures: Figures, path: Path) -> None:
    """Draws a square for each cell of the grid: the regret of auto, and the three times."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.hashsalt": "cleave", "font.family": "sans-serif", "font.size": 9})
    from matplotlib import pyplot

    cells = [cell for cell in figures["cells"] if cell["group"] == "grid"]
    sizes = list(dict.fromkeys(cell["size"] for cell in cells))
    jobs = list(dict.fromkeys(cell["job"] for cell in cells))
    figure, axis = pyplot.subplots(figsize=(1.5 + 1.5 * len(sizes), 1.2 + 0.75 * len(jobs)))
    regrets = [[0.0] * len(sizes) for _ in jobs]
    for cell in cells:
        x, y = sizes.index(cell["size"]), jobs.index(cell["job"])
        regrets[y][x] = regret_of(cell)
        times = " · ".join(f"{statistics.median(cell['seconds'][device]):.3g}" for device in DEVICES)
        axis.text(x, y - 0.12, f"{regrets[y][x]:.2f}", ha="center", va="center", fontsize=12, fontweight="bold")
        axis.text(x, y + 0.25, times, ha="center", va="center", fontsize=7)
    axis.imshow(regrets, cmap="RdYlGn_r", vmin=0.8, vmax=1.4, aspect="auto")
    axis.set_xticks(range(len(sizes)), sizes)
    axis.set_yticks(range(len(jobs)), jobs)
    axis.set_title("Time of --device auto over the better of cpu and gpu; below, seconds: cpu · gpu · auto", loc="left",
                   fontsize=9)
    machine = figures["machine"]
    figure.text(0.01, 0.01, f"{machine['gpu']}; {machine['cores']} cores of {machine['cpu']}; {machine['date']}", fontsize=7)
    figure.tight_layout(rect=(0, 0.04, 1, 1))
    figure.savefig(path, metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cleave", type=Path, default=ROOT / "build/release/cleave", help="[build/release/cleave]")
    parser.add_argument("--data", type=Path, default=Path("/dev/shm/cleave-gpu"), help="folder of the inputs; a tmpfs")
    parser.add_argument("--only", default="", metavar="REGEX", help=f"these groups only: {' '.join(GROUPS)}")
    parser.add_argument("--sizes", default="1M,16M,256M,4G,16G", help="[1M,16M,256M,4G,16G]")
    parser.add_argument("--rounds", type=int, default=3, help="of each cell [3]; 2 more of small ones")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "jobs.json", help="where the figures go")
    parser.add_argument("--chart", type=Path, metavar="SVG", help="where the chart goes")
    parser.add_argument("--render", type=Path, metavar="JSON", help="figures that were measured before")
    arguments = parser.parse_args()
    if arguments.render:
        figures = json.loads(arguments.render.read_text(encoding="utf-8"))
        print("\n".join(map(line_of, figures["cells"])))
    else:
        runner = Runner(arguments)
        figures = {"machine": describe(runner), "cells": runner.cells}
        try:
            for name, group in GROUPS.items():
                if re.search(arguments.only, name):
                    group(runner, arguments.sizes.split(","))
        finally:
            arguments.output.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    if arguments.chart:
        draw(figures, arguments.chart)
    if any(cell["same"] is False for cell in figures["cells"]):
        raise SystemExit("an output differs")


if __name__ == "__main__":
    main()
