#!/usr/bin/env python3
"""Measures the published example of string columns on a GPU: our forms and, with --anchor, libcudf's own programs.

  strings.py [--anchor DIR] [--only GROUPS] [--output JSON]       DIR: unpacked output of shared/anchors/libcudf.sh
  strings.py --render JSON [--chart SVG] [--timeline SVG]

Groups of figures:

  sweep      times of every form with both kinds of allocator, for 10,000 to 64,000,000 rows
  kernels    what one run launches: each kernel's time, and the bytes of device memory that it reads and writes, from ncu
  timeline   when the ranges and kernels of each form begin and end, from events: figure 2
  large      the sweep's times for columns with 64-bit offsets: only the names, and all
  jit        libcudf's example that it compiles at run time (extract_email_jit), and the same function as a functor of ours

The times are medians of 20 runs and include the allocation of the result.
"""
import argparse
import csv
import datetime
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
BENCH = ROOT / "build/gpu/redact_bench"
PROVIDER = ROOT / "build/gpu/provider_bench"
ROWS = (10_000, 100_000, 600_000, 1_000_000, 10_000_000, 64_000_000)
ROWS_OF_TIMELINE = 600_000  # as published
LARGE_ROWS = (261_000_000, 400_000_000)  # names of 3.0 GB; and all columns above 2 GiB
ROWS_OF_JIT = (600_000, 64_000_000)
MOST_WITH_MALLOC = 1_000_000  # the device's malloc takes seconds for more
# Our name of each form, and the program of libcudf.
FORMS = {"composed": "apis", "malloc": "malloc", "working-memory": "prealloc", "two-passes": "opt", "one-pass": None}
TITLES = {"composed": "general column operations", "malloc": "a kernel with malloc", "working-memory": "working memory",
          "two-passes": "two passes", "one-pass": "one pass"}
RUNS_OF_ANCHOR = 23
METRICS = {"gpu__time_duration.sum": "ns", "dram__bytes_read.sum": "read", "dram__bytes_write.sum": "written"}
Figures = dict[str, Any]


def run(*words: object, **options: Any) -> str:
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, **options)
    if done.returncode != 0:
        raise SystemExit(f"{words[0]}: exit {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


class Anchor:
    """libcudf's programs."""

    def __init__(self, folder: Path, data: Path) -> None:
        self.folder, self.data = folder.resolve(), data
        libraries = [str(self.folder / "lib")]
        for name in ("libnvrtc.so.13", "libnvJitLink.so.13"):
            found = subprocess.run(["find", "/", "-xdev", "-name", name, "-print", "-quit"], capture_output=True, text=True)
            libraries += [str(Path(line).parent) for line in found.stdout.split()]
        self.environment = {**os.environ, "LD_LIBRARY_PATH": ":".join(libraries)}

    def input(self, rows: int) -> Path:
        path = self.data / f"names-{rows}.csv"
        if not path.exists():
            with open(path, "wb") as file:
                subprocess.run([BENCH, "--csv", str(rows)], stdout=file, check=True)
        return path

    def command(self, form: str, allocator: str, rows: int) -> list[str]:
        return [str(self.folder / str(FORMS[form])), str(self.input(rows)), allocator]

    def time(self, form: str, allocator: str, rows: int) -> Figures:
        text = run(*self.command(form, allocator, rows), env=self.environment)
        best, median, size_in, size_out = re.search(  # type: ignore[union-attr]
            r"best_us ([\d.]+) median_us ([\d.]+) in_MB ([\d.]+) out_MB ([\d.]+)", text).groups()
        return {"of": "libcudf", "form": form, "allocator": allocator, "rows": rows, "best_us": float(best),
                "median_us": float(median), "MB": float(size_in) + float(size_out)}


    def jit(self, allocator: str, rows: int) -> Figures:
        given, made = self.data / f"addresses-{rows}.csv", self.data / "providers.csv"
        if not given.exists():
            with open(given, "wb") as file:
                subprocess.run([PROVIDER, "--csv", str(rows)], stdout=file, check=True)
        cache = self.data / f"cache-{allocator}-{rows}"  # so that it compiles each time
        cache.mkdir()
        text = run(self.folder / "email", given, made, rows, allocator,
                   env={**self.environment, "LIBCUDF_KERNEL_CACHE_PATH": str(cache)})
        median, size_in, size_out, first = re.search(  # type: ignore[union-attr]
            r"median_us ([\d.]+) in_MB ([\d.]+) out_MB ([\d.]+) .*first_us ([\d.]+)", text).groups()
        return {"of": "libcudf", "form": "jit", "allocator": allocator, "rows": rows, "median_us": float(median),
                "first_us": float(first), "MB": float(size_in) + float(size_out), "out_MB": float(size_out)}


def kernel_name(mangled: str) -> str:
    name = re.search(r"\d([a-z_]+_kernel)", mangled)
    kind = re.search(r"4PassE(\d)", mangled)
    return (name[1] if name else mangled) + (", " + ("one pass", "measure", "write")[int(kind[1])] if kind else "")


def timeline() -> list[Figures]:
    cells = []
    for form in FORMS:
        spans = []
        for line in run(BENCH, "--timeline", form, ROWS_OF_TIMELINE).splitlines():
            kind, depth, begin, end, name = line.split(" ", 4)
            if kind == "kernel":
                name = kernel_name(name)
            spans.append({"kind": kind, "depth": int(depth), "begin_us": float(begin), "end_us": float(end), "name": name})
        cells.append({"form": form, "rows": ROWS_OF_TIMELINE, "spans": spans})
    return cells


def jit(anchor: Anchor | None) -> list[Figures]:
    cells = []
    for rows in ROWS_OF_JIT:
        cells += lines_of("provider", run(PROVIDER, rows))
        for allocator in ("cuda", "pool") if anchor else ():
            cells.append(anchor.jit(allocator, rows))  # type: ignore[union-attr]
            if abs(cells[-1]["MB"] - next(cell["MB"] for cell in cells if cell["rows"] == rows)) > 0.2:
                raise SystemExit(f"jit, {rows} rows: libcudf's result has another size than ours")
    return cells


def lines_of(program: str, text: str) -> list[Figures]:
    cells = []
    pattern = re.compile(r"^" + program + r" (\S+) +(\S+) +rows +(\d+) best_us +([\d.]+) median_us +([\d.]+) in\+out_MB +([\d.]+) .* (\w+)$", re.M)
    for form, manager, rows, best, median, size, verdict in pattern.findall(text):
        if verdict != "right":
            raise SystemExit(f"{form}, {manager}, {rows} rows: a wrong result")
        cells.append({"of": "cleave", "form": form, "allocator": manager.partition(":")[0].replace("cuda-pool", "pool"),
                      "rows": int(rows), "best_us": float(best), "median_us": float(median), "MB": float(size)})
    return cells


def sweep(anchor: Anchor | None) -> list[Figures]:
    cells = lines_of("redact", run(BENCH, *ROWS))
    for rows in ROWS if anchor else ():
        for form, program in FORMS.items():
            if program and (form != "malloc" or rows <= MOST_WITH_MALLOC):
                cells += [anchor.time(form, allocator, rows) for allocator in ("cuda", "pool")]  # type: ignore[union-attr]
    return cells


def profile(command: list[str], environment: dict[str, str] | None = None) -> list[Figures]:
    """What each launch of the command did, in order."""
    words = ["ncu", "--clock-control", "none", "--csv", "--page", "raw", "--print-units", "base", "--metrics", ",".join(METRICS)]
    lines = run(*words, *command, env=environment).splitlines()
    begin = next(i for i, line in enumerate(lines) if line.startswith('"ID"'))
    launches = []
    for row in csv.DictReader(lines[begin:]):
        if row["ID"]:
            name = re.sub(r"[<(]?unnamed[>)]?::|\(anonymous namespace\)::", "", row["Kernel Name"])
            launches.append({"name": re.search(r"(\w+)\s*[<(]", name + "(")[1],  # type: ignore[index]
                             **{ours: float(row[theirs].replace(",", "")) for theirs, ours in METRICS.items()}})
    return launches


def last_run(launches: list[Figures]) -> list[Figures]:
    """The last of RUNS_OF_ANCHOR equal runs, which other launches precede and follow."""
    names = [launch["name"] for launch in launches]
    for end in range(len(names), 0, -1):
        for length in range(end // RUNS_OF_ANCHOR, 0, -1):
            one = names[end - length:end]
            if names[end - RUNS_OF_ANCHOR * length:end] == one * RUNS_OF_ANCHOR:
                return launches[end - length:end]
    raise SystemExit("no launches are repeated %d times" % RUNS_OF_ANCHOR)


def kernels(anchor: Anchor | None) -> list[Figures]:
    cells = []
    for form, program in FORMS.items():
        rows = MOST_WITH_MALLOC if form == "malloc" else ROWS[-1]
        made = {"cleave": profile([str(BENCH), "--once", form, str(rows)])}
        if anchor and program:
            made["libcudf"] = last_run(profile(anchor.command(form, "pool", rows), anchor.environment))
        cells += [{"of": of, "form": form, "rows": rows, "kernels": found} for of, found in made.items()]
    return cells


def measure(arguments: argparse.Namespace) -> Figures:
    gpu = run("nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader").strip()
    figures: Figures = {"sweep": [], "kernels": []}
    if arguments.output.exists():
        figures = json.loads(arguments.output.read_text())  # other groups stay
    figures["machine"] = {"gpu": gpu, "date": datetime.date.today().isoformat()}
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        anchor = Anchor(arguments.anchor, Path(folder)) if arguments.anchor else None
        if "sweep" in arguments.only:
            figures["copy"] = float(re.search(r"copy on the device: (\d+) GB/s", run(BENCH, 10_000))[1])  # type: ignore[index]
            figures["sweep"] = sweep(anchor)
        if "kernels" in arguments.only:
            figures["kernels"] = kernels(anchor)
        if "timeline" in arguments.only:
            figures["timeline"] = timeline()
        if "large" in arguments.only:
            figures["large"] = lines_of("redact", run(BENCH, *LARGE_ROWS))
        if "jit" in arguments.only:
            figures["jit"] = jit(anchor)
    arguments.output.write_text(json.dumps(figures, indent=1) + "\n")
    return figures


def plots() -> Any:
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.hashsalt": "cleave", "font.family": "sans-serif", "font.size": 9})
    from matplotlib import pyplot
    return pyplot


def save(figure: Any, figures: Figures, path: Path) -> None:
    machine = figures["machine"]
    figure.text(0.01, 0.985, f"{machine['gpu']}, {machine['date']}", fontsize=7)
    figure.savefig(path, metadata={"Date": None, "Creator": None})


def draw_timeline(figures: Figures, path: Path) -> None:
    """The ranges of each form, and below them its kernels and copies, against the time since it began."""
    cells = figures["timeline"]
    figure, axes = plots().subplots(len(cells), 1, figsize=(9, 1.5 * len(cells)))
    for axis, cell in zip(axes, cells):
        end = cell["spans"][0]["end_us"]
        for span in cell["spans"]:
            is_work = span["kind"] == "kernel" or span["name"] == "copy"
            level = -3 if is_work else -span["depth"]
            took = span["end_us"] - span["begin_us"]
            colour = "#1f6fb4" if is_work else ("#dddddd", "#e8b98f")[min(span["depth"], 2) - 1]
            axis.barh(level, took, left=span["begin_us"], height=0.9, color=colour, edgecolor="white", linewidth=0.5)
            if took > end / 9:
                axis.text(span["begin_us"] + took / 2, level, f"{span['name']}\n{took:,.1f}", ha="center", va="center",
                          fontsize=5, color="white" if is_work else "black")
        axis.set_title(f"{TITLES[cell['form']]}, {cell['rows']:,} rows", loc="left", fontsize=8, fontweight="bold")
        axis.set_yticks([-1, -2, -3], ["form", "ranges", "kernels"])
        axis.set_xlim(0, end * 1.01)
    axes[-1].set_xlabel("µs on the device; events between kernels take time, too")
    figure.tight_layout(rect=(0, 0, 1, 0.98))
    save(figure, figures, path)


def draw(figures: Figures, path: Path) -> None:
    """GB/s of every form against rows, and the speed-up over general column operations; a column for each allocator."""
    pyplot = plots()
    figure, axes = pyplot.subplots(2, 2, figsize=(9, 7), sharex=True, sharey="row")
    colours = dict(zip(FORMS, ("#888888", "#c44e52", "#dd8452", "#1f6fb4", "#1b9e5a")))
    for column, allocator in enumerate(("cuda", "pool")):
        of_allocator = [cell for cell in figures["sweep"] if cell["allocator"] == allocator]
        for (of, form) in dict.fromkeys((cell["of"], cell["form"]) for cell in of_allocator):
            cells = sorted((c for c in of_allocator if (c["of"], c["form"]) == (of, form)), key=lambda c: c["rows"])
            composed = {c["rows"]: c["median_us"] for c in of_allocator if (c["of"], c["form"]) == (of, "composed")}
            style = {"color": colours[form], "linestyle": "-" if of == "cleave" else "--", "marker": "o", "markersize": 3,
                     "label": f"{TITLES[form]}{'' if of == 'cleave' else ', libcudf'}"}
            rows = [c["rows"] for c in cells]
            axes[0][column].plot(rows, [c["MB"] / c["median_us"] * 1e3 for c in cells], **style)
            axes[1][column].plot(rows, [composed[c["rows"]] / c["median_us"] for c in cells], **style)
        axes[0][column].set_title(f"allocator: {allocator}", loc="left", fontweight="bold")
        axes[1][column].set_xlabel("rows")
    for axis in axes.flat:
        axis.set_xscale("log")
        axis.set_yscale("log")
        axis.grid(alpha=0.3)
    axes[0][0].set_ylabel("GB/s of input and output")
    axes[1][0].set_ylabel("speed over general column operations")
    handles, labels = axes[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncols=3, fontsize=8, frameon=False)
    figure.tight_layout(rect=(0, 0.1, 1, 0.98))
    save(figure, figures, path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--anchor", type=Path, metavar="DIR", help="libcudf's programs")
    parser.add_argument("--only", default="sweep,kernels,timeline,large,jit", help="these groups of figures [all]")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "strings.json", help="where the figures go")
    parser.add_argument("--render", type=Path, metavar="JSON", help="figures that were measured before")
    parser.add_argument("--chart", type=Path, metavar="SVG", help="where the chart goes")
    parser.add_argument("--timeline", type=Path, metavar="SVG", help="where the chart of ranges goes")
    arguments = parser.parse_args()
    figures = json.loads(arguments.render.read_text()) if arguments.render else measure(arguments)
    for cell in figures["sweep"] + figures.get("large", []) + figures.get("jit", []):
        print(f"{cell['of']:8} {cell['form']:15} {cell['allocator']:10} {cell['rows']:>9} rows {cell['median_us']:>10.1f} us "
              f"{cell['MB'] / cell['median_us'] * 1e3:>7.1f} GB/s")
    for cell in figures["kernels"]:
        moved = sum(kernel["read"] + kernel["written"] for kernel in cell["kernels"])
        print(f"{cell['of']:8} {cell['form']:15} {cell['rows']:>9} rows {len(cell['kernels']):>3} kernels {moved / 1e9:.2f} GB "
              f"{sum(kernel['ns'] for kernel in cell['kernels']) / 1e3:.0f} us")
    if arguments.chart:
        draw(figures, arguments.chart)
    if arguments.timeline:
        draw_timeline(figures, arguments.timeline)


if __name__ == "__main__":
    sys.exit(main())
