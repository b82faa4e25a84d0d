"""The chart of how many bytes per second each tool counts and splits."""

from pathlib import Path
from typing import Any

OURS, OTHERS, LIMIT = "#1f6fb4", "#b9bec5", "#e0e2e6"
COUNT_RACES = ("peers/quoted", "peers/slow")
SPLIT_RACES = ("split", "split-peers/fast", "split-peers/slow")
LADDER = ("quoted", "quoted, with an escape", "dense", "dense, with an escape")


def speeds(report: dict[str, Any], names: tuple[str, ...]) -> list[tuple[str, float]]:
    """GB/s of every contestant, once each, on the largest file it was tried on, fastest first."""
    found: dict[str, float] = {}
    for race in report["races"]:
        for c in race["contestants"] if race["name"] in names else []:
            if c["best"] is not None:
                found.setdefault(c["name"], race["bytes"] / c["best"] / 1e9)
    return sorted(found.items(), key=lambda item: item[1], reverse=True)


def colour(name: str) -> str:
    if name.startswith("cleave"):
        return OURS
    return LIMIT if name.startswith(("read_ceiling", "cp")) else OTHERS


def label(name: str) -> str:
    return {name: f"{name} (copies the file)" for name in ("cp", "cp --reflink=never")}.get(name, "only reading (ceiling)" if "ceiling" in name else name)


def draw(report: dict[str, Any], path: Path) -> bool:
    """Draws the chart. Returns False if there is nothing to draw. Needs matplotlib."""
    panels = [("Counting records", speeds(report, COUNT_RACES)), ("Splitting", speeds(report, SPLIT_RACES))]
    panels += [(kind.capitalize(), speeds(report, (f"ladder/{kind}", f"ladder/{kind}/python"))) for kind in LADDER]
    panels = [(title, bars) for title, bars in panels if bars]
    if not panels:
        return False
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.hashsalt": "cleave", "font.family": "sans-serif", "font.size": 10})
    from matplotlib import pyplot

    heights = [len(bars) for _, bars in panels]
    figure, axes = pyplot.subplots(
        len(panels), figsize=(8, 0.31 * sum(heights) + 1.2), squeeze=False, gridspec_kw={"height_ratios": heights}
    )
    for axis, (title, bars) in zip(axes[:, 0], panels):
        names, values = [name for name, _ in bars], [value for _, value in bars]
        drawn = axis.barh([label(n) for n in names], values, color=[colour(n) for n in names], height=0.72)
        axis.bar_label(drawn, labels=[f"{v:.3f}" if v < 0.1 else f"{v:.2f}" if v < 10 else f"{v:.1f}" for v in values], padding=4, fontsize=9)
        axis.invert_yaxis()
        axis.set_title(f"{title}, GB/s (more is better)", loc="left", fontweight="bold")
        axis.set_xlim(0, max(values) * 1.1)
        axis.xaxis.set_visible(False)
        axis.tick_params(axis="y", length=0)
        for side in ("top", "right", "bottom", "left"):
            axis.spines[side].set_visible(False)
        for text, name in zip(axis.get_yticklabels(), names):
            text.set_fontweight("bold" if name.startswith("cleave") else "normal")
    machine, largest = report["machine"], max(race["bytes"] for race in report["races"])
    figure.text(
        0.01,
        0.005,
        f"CSV of {largest / 1e9:.2g} GB, {machine['cpu']}, {machine['cores']} cores, {machine['date']}",
        fontsize=8,
        color="#666666",
    )
    figure.patch.set_facecolor("white")
    figure.tight_layout(rect=(0, 0.02, 1, 1))
    figure.savefig(path, format="svg", metadata={"Date": None, "Creator": None})
    pyplot.close(figure)
    return True
