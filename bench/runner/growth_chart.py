"""The chart of how the time of --by grows with the number of values and bytes."""

from pathlib import Path
from typing import Any

from .chart import OTHERS, OURS

PANELS = (("by-keys/", "values"), ("by-bytes/", "bytes of input"))
GREY = "#666666"
STYLES = {  # line styles: colour, dashes
    "cleave split --by": (OURS, "-"),
    "create_files": (GREY, "--"),
    "cp": (OTHERS, "-"),
    "cp --reflink=never": (OTHERS, ":"),
}

Line = list[tuple[float, float]]


def lines_of(report: dict[str, Any], prefix: str) -> dict[str, Line]:
    """(values or bytes, best seconds) of every contestant, ascending."""
    found: dict[str, Line] = {}
    for race in report["races"]:
        if not race["name"].startswith(prefix):
            continue
        name = race["name"].removeprefix(prefix)
        at = float(name) if name.isdigit() else float(race["bytes"])
        for c in race["contestants"]:
            if c["best"] is not None:
                found.setdefault(c["name"], []).append((at, c["best"]))
    return {name: sorted(line) for name, line in found.items()}


def draw(report: dict[str, Any], path: Path) -> bool:
    """Draws the chart. Returns False if there is nothing to draw. Needs matplotlib."""
    panels = [(title, lines) for prefix, title in PANELS if (lines := lines_of(report, prefix))]
    if not panels:
        return False
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.hashsalt": "cleave", "font.family": "sans-serif", "font.size": 10})
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, len(panels), figsize=(4.4 * len(panels), 3.6), squeeze=False)
    for axis, (title, lines) in zip(axes[0], panels):
        for name, line in lines.items():
            colour, dashes = STYLES.get(name, (OTHERS, "-"))
            axis.plot(*zip(*line), label=name, color=colour, linestyle=dashes, marker="o", markersize=3)
        axis.set_xscale("log")
        axis.set_yscale("log")
        axis.set_xlabel(title)
        axis.set_ylabel("seconds (less is better)")
        axis.grid(color="#e0e2e6", linewidth=0.6)
        for side in ("top", "right"):
            axis.spines[side].set_visible(False)
    axes[0][0].legend(frameon=False, fontsize=8)
    machine = report["machine"]
    caption = f"split --by, {machine['cpu']}, {machine['cores']} cores, {machine['date']}"
    figure.text(0.01, 0.01, caption, fontsize=8, color=GREY)
    figure.patch.set_facecolor("white")
    figure.tight_layout(rect=(0, 0.04, 1, 1))
    figure.savefig(path, format="svg", metadata={"Date": None, "Creator": None})
    pyplot.close(figure)
    return True
