#!/usr/bin/env python3
"""Fills the marked places of pages with figures from the JSON files of benchmarks.

  figures.py            fill them
  figures.py --check    change nothing; name each page that differs from its source. Exit status 1 if one does

A place is either a region between two lines, named after one of REGIONS below, or a single figure within a line. A
figure names a file of this folder and a row of its verdicts; it is the best one unless ": median" follows:

  <!-- figures: speed -->
  <!-- /figures -->
  ... takes <!-- figure: ceiling: split -n, time of the faster cp -->0.61<!-- /figure --> of the time ...
"""
import argparse
import functools
import json
import re
import statistics
import sys
from pathlib import Path

from runner import chart, report

BENCH = Path(__file__).resolve().parent
ROOT = BENCH.parent
REGION = re.compile(r"^(<!-- figures: (\S+) -->\n).*?^(<!-- /figures -->)$", re.M | re.S)
FIGURE = re.compile(r"(<!-- figure: ([^>]*?) -->).*?(<!-- /figure -->)", re.S)
# What ./dev bench has measured, in the order of bench/README.md.
REPORTS = ("results", "ceiling", "own", "ladder", "cores", "sixteen", "pieces", "cold", "growth", "stages", "together", "by")


@functools.cache
def load(name):
    return json.loads((BENCH / (name + ".json")).read_text(encoding="utf-8"))


def verdict(name, row):
    found = [v for v in load(name)["verdicts"] if v["row"] == row]
    if not found:
        sys.exit("bench/%s.json has no row %r" % (name, row))
    return found[0]


def seconds(name, race, contestant):
    """The best time of a contestant."""
    races = [r for r in load(name)["races"] if r["name"] == race]
    times = [c["best"] for r in races for c in r["contestants"] if c["name"] == contestant]
    if not times:
        sys.exit("bench/%s.json has no %r in %r" % (name, contestant, race))
    return times[0]


def ratio(value):
    return "%.0f" % value if value >= 20 else "%.1f" % value if value >= 3 else "%.2f" % value


def machine(name, size=""):
    """A report's machine, date and command, as the last line of a region."""
    source, where = load(name), load(name)["machine"]
    return "%s, %d cores, %s; files of %s in the page cache, best of %d; [%s.json](%s.json), `%s`." % (
        where["cpu"], where["cores"], where["date"], size or source["size"], source["rounds"], name,
        "../../bench/" + name, source["command"])


def speed():
    """The chart of README.md and what it shows, from one run."""
    def count(tool):
        return seconds("results", "peers/quoted", tool)

    def split(tool):
        return seconds("results", "split-peers/fast", tool)

    where = load("results")["machine"]
    text = """\
![GB/s of cleave and of other tools, counting and splitting](bench/results.svg)

On %s, with %d cores of an %s and 2 GB of quoted CSV in the page cache, `cleave` counted the records in
%.3f s (Polars %.3f s, xan %.2f s, DuckDB %.1f s) and cut the file into pieces with equal numbers of records in %.2f s
(xan %.1f s, qsv %.1f s)."""
    return text % (
        where["date"], where["cores"], where["cpu"], count("cleave count"), count("Polars"),
        count("xan, parallel"), count("DuckDB"), split("cleave split -l"), split("xan split"), split("qsv split"))


def cost():
    """count and split, compared with reading and copying."""
    rows = [["job", "one thread", "two threads", "for comparison"]]
    one, two = ("%.3f" % seconds("ceiling", "ceiling/quoted/%d" % threads, "count") for threads in (1, 2))
    rows.append(["`count`", one, two, "a loop that only reads: %.3f with one thread, %.3f with two" % tuple(
        seconds("ceiling", "ceiling/quoted/%d" % threads, "read_ceiling, %d" % threads) for threads in (1, 2))])
    one, two, copy, plain, gnu = ("%.3f" % seconds("ceiling", "split", tool) for tool in (
        "cleave split -n -j 1", "cleave split -n", "cp", "cp --reflink=never", "GNU split -l"))
    rows.append(["`split -n 10`", one, two, "`cp`: %s; `cp --reflink=never`: %s; GNU `split -l`: %s"
                 % (copy, plain, gnu)])
    return report.markdown_table(rows) + "\n\n" + machine("ceiling")


def peers():
    """Other tools, as multiples of the time of cleave in the same run."""
    def over(race, tool, ours):
        return ratio(seconds("results", race, tool) / seconds("results", race, ours))

    def version(tool):
        found = re.search(r"\d+\.\d+\.\d+", load("results")["versions"].get(tool, ""))
        return found.group() if found else ""

    rows = [["tool", "version", "`count`", "`split -l`"]]
    for tool, count, split in (
            ("xan, parallel", "xan, parallel", None), ("xan", "xan", "xan split"), ("xsv", "xsv", "xsv split"),
            ("qsv", "qsv", "qsv split"), ("zsv, parallel", "zsv, parallel", None), ("Polars", "Polars", None),
            ("DuckDB", "DuckDB", None), ("pyarrow", "pyarrow", None), ("ClickHouse (chdb)", "ClickHouse (chdb)", None)):
        rows.append([tool, version(tool.split(",")[0]), over("peers/quoted", count, "cleave count"),
                     over("split-peers/fast", split, "cleave split -l") if split else ""])
    rows.append(["Miller, on 256 MB", version("Miller"), over("peers/slow", "Miller", "cleave count"),
                 over("split-peers/slow", "Miller split", "cleave split -l")])
    gnu = seconds("ceiling", "split", "GNU split -l") / seconds("ceiling", "split", "cleave split -l")
    return "%s\n\n%s\n\nGNU `split -l` took %s times as long as `cleave split -l`: %s" % (
        report.markdown_table(rows), machine("results"), ratio(gnu), machine("ceiling"))


def cores():
    """count, offsets and split with more threads."""
    rows = [["threads", "`count`: speed / speed of a loop that only reads", "`offsets -l`: the same ratio",
             "`split -n 64` in memory: time / time of the faster `cp`"]]
    for threads in (1, 2, 4, 8, 16):
        figures = (verdict("cores", row % threads)["figure"] for row in (
            "count, -j %d, of the ceiling's speed", "offsets -l, -j %d, of the ceiling's speed",
            "split -n 64 -j %d, tmpfs, time of the faster cp"))
        rows.append([str(threads), *("%.2f" % figure for figure in figures)])
    return report.markdown_table(rows) + "\n\n" + machine("cores")


def ladder():
    """The steps of the article of 2021, and count, in GB/s."""
    rows = [["step", *chart.LADDER]]
    speeds = [dict(chart.speeds(load("ladder"), ("ladder/" + kind, "ladder/%s/python" % kind))) for kind in chart.LADDER]
    for step in ("Python", "states in C", "nested loops", "loop of 2021", "cleave count -j 1", "cleave count -j 2"):
        rows.append([step, *("%.3g" % of_kind[step] for of_kind in speeds)])
    return report.markdown_table(rows) + "\n\n" + machine("ladder", "512M, and of 16M for Python,")


def memory():
    """Anonymous memory, which is what a run needs besides the mapped file."""
    rows = [["job", "MiB"]]
    for name, source in (("own", load("own")), ("stages", load("stages")), ("by", load("by"))):
        for v in source["verdicts"]:
            if v["unit"] == "MiB" and "people-quoted" not in v["row"]:
                rows.append([v["row"].replace(", anonymous memory", "").replace(", 2G", ""), "%.1f" % v["figure"]])
    return "%s\n\n%s\n\n%s\n\n%s" % (report.markdown_table(rows), machine("own"), machine("stages"), machine("by"))


def by_value():
    """split --by and --together."""
    rows = [["job", "ratio"]]
    for name in ("by", "together"):
        rows += [[v["row"], ratio(v["figure"])] for v in load(name)["verdicts"] if v["unit"] == "×"]
    return "%s\n\n%s\n\n%s" % (report.markdown_table(rows), machine("by"), machine("together"))


def rules():
    """Rules, compared with other tools."""
    rows = [["job", "ratio"]]
    rows += [[v["row"], ratio(v["figure"])] for v in load("stages")["verdicts"]
             if v["unit"] == "×" and "people-quoted" not in v["row"]]
    return report.markdown_table(rows) + "\n\n" + machine("stages")


def gpu():
    """cat with rules on a GPU and on its host's processor."""
    jobs = json.loads((BENCH / "gpu/jobs.json").read_text(encoding="utf-8"))

    def seconds_of(group, job, size):
        found = [c for c in jobs["cells"] if (c["group"], c["job"], c["size"]) == (group, job, size)]
        if not found:
            sys.exit("bench/gpu/jobs.json has no %s of %s in %s" % (job, size, group))
        return {name: statistics.median(times) for name, times in found[0]["seconds"].items()}

    rows = [["rules", "4 GiB: device", "processor", "16 GiB: device", "processor"]]
    for job, text in (("hmac of 4", "`hmac` of 4 columns"), ("hmac of 1", "`hmac` of 1 column"),
                      ("fixed of 1", "`fixed` of 1 column"), ("mask of 1", "`mask` of 1 column"),
                      ("select 3 of 12", "`--select`, 3 of 12 columns")):
        rows.append([text, *("%.2f" % seconds_of("grid", job, size)[place] for size in ("4G", "16G")
                             for place in ("gpu", "cpu"))])
    paging = seconds_of("paging", "hmac of 4", "4G")
    where = jobs["machine"]
    text = """\
%s

On 4 GiB, `hmac` of 4 columns took %.2f s with device memory for 1/8 of the input, %.2f s with memory for 1/64, and
%.2f s without a limit.

%s, %d host cores, %s; input in a tmpfs, output thrown away, medians; [jobs.json](../../bench/gpu/jobs.json)."""
    return text % (
        report.markdown_table(rows), paging["1/8"], paging["1/64"], paging["all"], where["gpu"], where["cores"],
        where["date"])


def times(cells, of, form, count):
    """Milliseconds with either allocator, and GB/s with a pool."""
    found = {c["allocator"]: c for c in cells if (c["of"], c["form"], c["rows"]) == (of, form, count)}
    return [*("%.2f" % (found[allocator]["median_us"] / 1e3) for allocator in ("cuda", "pool")),
            "%.0f" % (found["pool"]["MB"] / found["pool"]["median_us"] * 1e3)]


def strings():
    """The published example of string columns: what each form launches and moves, and how long it takes."""
    measured = json.loads((BENCH / "gpu/strings.json").read_text(encoding="utf-8"))

    def median(of, form, allocator, rows):
        found = [c["median_us"] for c in measured["sweep"]
                 if (c["of"], c["form"], c["allocator"], c["rows"]) == (of, form, allocator, rows)]
        return "%.2f" % (found[0] / 1e3)

    rows = [["form", "of", "rows", "ms: cuda", "pool", "kernels", "read, GB", "written, GB", "over in and out",
             "the longest kernels, ms"]]
    for cell in measured["kernels"]:
        size = next(c["MB"] for c in measured["sweep"] if c["rows"] == cell["rows"] and c["form"] == cell["form"]) / 1e3
        read, written = (sum(k[what] for k in cell["kernels"]) / 1e9 for what in ("read", "written"))
        longest = sorted(cell["kernels"], key=lambda k: -k["ns"])[:2]
        rows.append([cell["form"], cell["of"], "{:,}".format(cell["rows"]),
                     *(median(cell["of"], cell["form"], allocator, cell["rows"]) for allocator in ("cuda", "pool")),
                     str(len(cell["kernels"])), "%.2f" % read, "%.2f" % written, "%.2f" % ((read + written) / size),
                     ", ".join("`%s` %.2f" % (k["name"], k["ns"] / 1e6) for k in longest)])
    tables = [report.markdown_table(rows)]
    if "timeline" in measured:
        tables.append("By kernel and copy in one run of {:,} rows, from events:".format(measured["timeline"][0]["rows"]))
        tables.append(report.markdown_table([["form", "µs"]] + [
            [cell["form"], ", ".join("`%s` %.1f" % (span["name"], span["end_us"] - span["begin_us"]) for span in cell["spans"]
                                     if span["kind"] == "kernel" or span["name"] == "copy")]
            for cell in measured["timeline"]]))
    if "large" in measured:
        tables.append("Columns with 64-bit offsets: at 261 million rows the names, 3.0 GB; at 400 million all of them.")
        tables.append(report.markdown_table([["form", "rows", "ms: cuda", "pool", "GB/s, pool"]] + [
            [form, "{:,}".format(count), *times(measured["large"], "cleave", form, count)]
            for form, count in dict.fromkeys((c["form"], c["rows"]) for c in measured["large"])]))
    if measured.get("jit"):
        tables.append("The first part of the domain of an e-mail address, libcudf's `extract_email_jit`, which it compiles at "
                      "run time; its first run takes %.2f s." % (max(c.get("first_us", 0) for c in measured["jit"]) / 1e6))
        tables.append(report.markdown_table([["form", "of", "rows", "ms: cuda", "pool", "GB/s, pool"]] + [
            [form, of, "{:,}".format(count), *times(measured["jit"], of, form, count)]
            for form, of, count in dict.fromkeys((c["form"], c["of"], c["rows"]) for c in measured["jit"])]))
    return "%s\n\n%s, %s; [strings.json](strings.json), `bench/gpu/strings.py`; a copy on the device moves %.0f GB/s." % (
        "\n\n".join(tables), measured["machine"]["gpu"], measured["machine"]["date"], measured["copy"])


def milliseconds(seconds):
    """With three digits, or more before the point."""
    return "%.*g" % (3 if seconds < 1 else 4, seconds * 1e3)


def offload():
    """The workloads of examples/offload, everywhere and by hand."""
    measured = json.loads((BENCH / "gpu/offload.json").read_text(encoding="utf-8"))
    times = {(c["workload"], c["size"], c["way"]): statistics.median(c["seconds"]) for c in measured["cells"]}
    workloads = list(dict.fromkeys(c["workload"] for c in measured["cells"]))
    sizes = sorted({c["size"] for c in measured["cells"]})

    def power(size):
        return "2^%d" % (size.bit_length() - 1)

    def of_workloads(size, way):
        return [times[workload, size, "cpu"] / times[workload, size, way] for workload in workloads]

    def both(values):
        return "%s · %s" % (ratio(statistics.median(values)), ratio(max(values)))

    rows = [["rows", *("%s, ms: CPU · GPU · auto" % workload for workload in workloads),
             "GPU over CPU: median · maximum", "auto over CPU"]]
    for size in sizes:
        rows.append([power(size), *(" · ".join(milliseconds(times[workload, size, way]) for way in ("cpu", "gpu", "auto"))
                                    for workload in workloads),
                     both(of_workloads(size, "gpu")), both(of_workloads(size, "auto"))])
    regrets = {(workload, size): times[workload, size, "auto"] / min(times[workload, size, way] for way in ("cpu", "gpu"))
               for workload in workloads for size in sizes
               if max(times[workload, size, way] for way in ("cpu", "gpu", "auto")) > 0.01}
    worst = max(regrets, key=regrets.get)
    ways = {"gpu": "GPU", "gpu, allocations on the cpu": "allocations on the CPU", "gpu, in pages": "in pages",
            "by hand": "by hand", "gpu, pinned inputs": "pinned inputs", "by hand, pinned inputs": "by hand, pinned",
            "gpu, in pages, pinned inputs": "in pages, pinned"}
    without = [["rows", "workload", "CPU, ms", *ways.values(), "GPU / by hand, speed", "the same, pinned"]]
    for workload, size in ((w, s) for s in sizes for w in workloads if (w, s, "gpu, pinned inputs") in times):
        def shown(way):
            return milliseconds(times[workload, size, way]) if (workload, size, way) in times else "–"

        without.append([power(size), workload, shown("cpu"), *(shown(way) for way in ways),
                        *(ratio(times[workload, size, "by hand" + pins] / times[workload, size, "gpu" + pins])
                          for pins in ("", ", pinned inputs"))])
    where = measured["machine"]
    return "%s\n\n%s\n\n%s\n\n%s" % (
        report.markdown_table(rows),
        "Of the %d cells that take more than 10 ms, `auto` is furthest from the better of CPU and GPU in %s at %s: %s times "
        "as long." % (len(regrets), worst[0], power(worst[1]), ratio(regrets[worst])),
        report.markdown_table(without),
        "%s, %d host cores (%s), %s; medians; [offload.json](offload.json), `bench/gpu/offload.py`." % (
            where["gpu"], where["cores"], where["cpu"], where["date"]))


def results():
    """All figures, with their commands as they were run."""
    return "\n\n".join(report.markdown(load(name)) for name in REPORTS)


REGIONS = {function.__name__: function
           for function in (speed, cost, peers, cores, ladder, memory, by_value, rules, gpu, strings, offload, results)}


def filled(text, page):
    """The page with every place filled."""
    def region(match):
        if match[2] not in REGIONS:
            sys.exit("%s: there is no region %r; there are: %s" % (page, match[2], ", ".join(REGIONS)))
        return "%s\n%s\n\n%s" % (match[1], REGIONS[match[2]](), match[3])

    def figure(match):
        name, row, which = ([part.strip() for part in match[2].split(":")] + ["best"])[:3]
        found = verdict(name, row)
        return match[1] + ratio(found["median" if which == "median" else "figure"]) + match[3]

    text = REGION.sub(region, text)
    return FIGURE.sub(figure, text)


def pages():
    yield from (ROOT / "README.md", BENCH / "README.md", BENCH / "gpu/README.md", ROOT / "python/README.md")
    yield from sorted(path for path in (ROOT / "doc").rglob("*.md"))


def fill(check=False):
    """Fills all pages, or only checks them. Returns the pages that differed, and how many places there are."""
    differ, places = [], 0
    for path in pages():
        text = path.read_text(encoding="utf-8")
        marks = len(re.findall(r"<!-- figures?: ", text))
        found = len(REGION.findall(text)) + len(FIGURE.findall(text))
        if marks != found:
            sys.exit("%s: %d marks, but only %d places that also end" % (path.relative_to(ROOT), marks, found))
        places += found
        new = filled(text, path.relative_to(ROOT))
        if new != text:
            differ.append(str(path.relative_to(ROOT)))
            if not check:
                path.write_text(new, encoding="utf-8")
    return differ, places


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="change nothing; fail if a page differs")
    arguments = parser.parse_args()
    differ, places = fill(arguments.check)
    for page in differ:
        print("%s %s" % ("differs from its source:" if arguments.check else "filled", page))
    print("%d places" % places)
    return 1 if arguments.check and differ or places == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
