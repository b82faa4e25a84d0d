#!/usr/bin/env python3
"""Measures the workloads of examples/offload on the CPU, on a GPU, where the runtime places them, and by hand.

  offload.py [--only WORKLOADS] [--sizes LIST] [--seconds N] [--output JSON] [--chart SVG]
  offload.py --render JSON --chart SVG

Sizes are exponents of 2. The two largest of 20 and 26 that are listed are also run without one of the runtime's abilities
at a time. build/gpu/offload_bench says what a run is; times are medians. Figures are kept if the time runs out.
"""
import argparse
import datetime
import json
import os
import re
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build/gpu"
WORKLOADS = ("blackscholes", "haversine", "crime_index", "dbscan")
ABLATED = (20, 26)
Figures = dict[str, Any]


def run_workload(workload: str, sizes: list[int], program: Path, device: str, seconds: float) -> list[Figures]:
    words = [str(program), workload, *(str(1 << size) for size in sizes if size not in ABLATED), "--ablations",
             *(str(1 << size) for size in sizes if size in ABLATED)]
    environment = {**os.environ, "OFFLOAD_DEVICE": device}
    cells = []
    with subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, text=True) as process:
        timer = threading.Timer(seconds, process.kill)
        timer.start()
        assert process.stdout
        for line in process.stdout:
            cells.append(json.loads(line))
            print(line_of(cells[-1]), flush=True)
        timer.cancel()
    if process.wait() != 0:
        print(f"{workload}: exit status {process.returncode}", file=sys.stderr)
    return cells


def line_of(cell: Figures) -> str:
    text = f"{cell['workload']:13} 2^{cell['size'].bit_length() - 1:<3} {cell['way']:30} " \
           f"{median(cell) * 1e3:>10.3f} ms of {len(cell['seconds'])}"
    if "functions" in cell:
        text += f"  {cell['on the device']} of {cell['functions']} on the device, {cell['pages']} pages"
    return text + ("" if cell["right"] else "  WRONG")


def median(cell: Figures) -> float:
    return statistics.median(cell["seconds"])


def measure(arguments: argparse.Namespace) -> Figures:
    end = time.monotonic() + arguments.seconds
    gpu = "none"
    if not arguments.device:
        words = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
        gpu = subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()
    cpu = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    figures: Figures = {"machine": {"gpu": gpu, "cpu": cpu[1] if cpu else "unknown",
                                    "cores": len(os.sched_getaffinity(0)), "date": datetime.date.today().isoformat()}}
    figures["cells"] = []
    device = arguments.device or f"{BUILD}/cleave_cuda.so:0"
    for workload in arguments.only.split(","):
        left = end - time.monotonic()
        figures["cells"] += run_workload(workload, arguments.sizes, arguments.program, device, left)
        arguments.output.write_text(json.dumps(figures, indent=1) + "\n")
    return figures


def draw(figures: Figures, path: Path) -> None:
    """The speed of each way over the CPU's, against the size; a panel for each workload."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.hashsalt": "cleave", "font.family": "sans-serif", "font.size": 9})
    from matplotlib import pyplot

    times = {(c["workload"], c["way"], c["size"]): median(c) for c in figures["cells"]}
    workloads = list(dict.fromkeys(c["workload"] for c in figures["cells"]))
    figure, axes = pyplot.subplots(1, len(workloads), figsize=(11, 3.4), sharex=True, sharey=True, squeeze=False)
    styles = {"gpu": ("#1f6fb4", "-"), "auto": ("#1b9e5a", "-"), "by hand": ("#888888", "--")}
    for axis, workload in zip(axes[0], workloads):
        for way, (colour, line) in styles.items():
            sizes = sorted(size for (w, y, size) in times if (w, y) == (workload, way) and (w, "cpu", size) in times)
            axis.plot(sizes, [times[workload, "cpu", size] / times[workload, way, size] for size in sizes], color=colour,
                      linestyle=line, marker="o", markersize=3, label=way)
        axis.axhline(1, color="black", linewidth=0.7)
        axis.set_title(workload, loc="left", fontweight="bold")
        axis.set_xscale("log", base=2)
        axis.set_yscale("log")
        axis.set_xlabel("rows")
        axis.grid(alpha=0.3)
    machine = figures["machine"]
    axes[0][0].set_ylabel(f"speed over {machine['cores']} cores")
    handles, labels = axes[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncols=3, fontsize=8, frameon=False)
    figure.text(0.01, 0.96, f"{machine['gpu']}, {machine['date']}", fontsize=7)
    figure.tight_layout(rect=(0, 0.06, 1, 0.96))
    figure.savefig(path, metadata={"Date": None, "Creator": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(WORKLOADS), help="these workloads [all]")
    parser.add_argument("--sizes", default="10,12,14,16,18,20,22,24,26", help="[10,12,14,16,18,20,22,24,26]")
    parser.add_argument("--seconds", type=float, default=440, help="the most seconds for all [440]")
    parser.add_argument("--program", type=Path, default=BUILD / "offload_bench", help="[build/gpu/offload_bench]")
    parser.add_argument("--device", help="for tests: a device that is no GPU")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "offload.json", help="where the figures go")
    parser.add_argument("--render", type=Path, metavar="JSON", help="figures that were measured before")
    parser.add_argument("--chart", type=Path, metavar="SVG", help="where the chart goes")
    arguments = parser.parse_args()
    arguments.sizes = [int(size) for size in arguments.sizes.split(",")]
    if arguments.render:
        figures = json.loads(arguments.render.read_text())
        for cell in figures["cells"]:
            print(line_of(cell))
    else:
        figures = measure(arguments)
    if arguments.chart:
        draw(figures, arguments.chart)


if __name__ == "__main__":
    sys.exit(main())
