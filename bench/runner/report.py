"""Writes the figures as JSON and as tables."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from .bench import Results

STAGES = "stages/"
GROWTH = ("growth/", "pieces/")
TABLES = ("peers/quoted", "peers/plain", "peers/slow", "split", "split-peers/fast", "split-peers/slow")


def to_json(results: Results, machine: dict[str, Any], size: str, rounds: int, command: str) -> dict[str, Any]:
    return {
        "command": command,
        "size": size,
        "rounds": rounds,
        "machine": machine,
        "verdicts": [{**asdict(v), "holds": v.holds} for v in results.verdicts],
        "races": [
            {
                "name": race.name,
                "title": race.title,
                "bytes": race.size,
                "contestants": [
                    {
                        "name": name,
                        "command": times.command,
                        "note": times.note,
                        "best": times.best if times.wall else None,
                        "median": times.median if times.wall else None,
                        "wall": [round(t, 6) for t in times.wall],
                        "cpu": [round(t, 6) for t in times.cpu],
                    }
                    for name, times in race.times.items()
                ],
            }
            for race in results.races
        ],
        "kernels": {"commands": results.kernel_commands, "bytes_per_second": results.kernels},
        "versions": results.versions,
        "skipped": results.skipped,
    }


def write_json(report: dict[str, Any], path: Path) -> None:
    path.write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def figure(value: float, unit: str) -> str:
    digits = 3 if unit == "×" and value < 0.1 else 2 if value < 100 else 0
    return f"{value:.{digits}f}{'' if unit == '×' else ' '}{unit}"


def limit(must: str) -> str:
    return must.replace(">=", "≥").replace("<=", "≤")


def verdict_rows(report: dict[str, Any]) -> list[list[str]]:
    rows = [["what", "best", "median", "must be", "holds", "goal", "commands"]]
    for v in report["verdicts"]:
        median = figure(v["median"], v["unit"]) if v["median"] is not None else ""
        holds = {True: "yes", False: "**no**", None: ""}[v["holds"]]
        rows.append([v["row"], figure(v["figure"], v["unit"]), median, limit(v["must"]), holds, limit(v["goal"]), " over ".join(f"`{c}`" for c in v["commands"])])
    return rows


def race_rows(race: dict[str, Any]) -> list[list[str]]:
    rows = [["program", "best s", "median s", "CPU s", "GB/s", "command"]]
    for c in race["contestants"]:
        if c["best"] is None:
            rows.append([c["name"], "failed", "", "", "", f"`{c['command']}`: {c['note']}"])
            continue
        speed = race["bytes"] / c["best"] / 1e9
        times = [f"{c['best']:.3f}", f"{c['median']:.3f}", f"{min(c['cpu']):.3f}", f"{speed:.2f}"]
        rows.append([c["name"], *times, f"`{c['command']}`" + (f": {c['note']}" if c["note"] else "")])
    return rows


def growth_rows(races: list[dict[str, Any]]) -> list[list[str]]:
    rows = [["job", "program", "best s", "median s"]]
    for race in races:
        for c in race["contestants"]:
            if c["best"] is not None:
                rows.append([race["title"], c["name"], f"{c['best']:.4f}", f"{c['median']:.4f}"])
    return rows


def markdown_table(rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    lines.insert(1, "|" + "---|" * len(rows[0]))
    return "\n".join(lines)


def plain_table(rows: list[list[str]]) -> str:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join("  ".join(cell.ljust(w) for cell, w in zip(row, widths)).rstrip() for row in rows)


def caption(report: dict[str, Any]) -> str:
    m = report["machine"]
    cache = "not in the page cache" if "--cold" in report["command"] else "in the page cache"
    return (
        f"{m['cpu']}, {m['cores']} cores, {m['memory_gib']} GiB, Linux {m['kernel']}, {m['compiler']}, "
        f"{m['file_system']}; {m['date']}; `{report['command']}`: files of {report['size']} {cache}, "
        f"best of {report['rounds']} rounds."
    )


def markdown(report: dict[str, Any]) -> str:
    parts = [caption(report), markdown_table(verdict_rows(report))]
    for race in report["races"]:
        if race["name"] in TABLES or race["name"].startswith(STAGES):
            parts += [f"**{race['title'][0].upper() + race['title'][1:]}**", markdown_table(race_rows(race))]
    growth = [race for race in report["races"] if race["name"].startswith(GROWTH)]
    if growth:
        parts += ["**Growth**", markdown_table(growth_rows(growth))]
    if report["versions"]:
        rows = [["program", "version"], *([name, version] for name, version in report["versions"].items())]
        parts += ["**Versions**", markdown_table(rows)]
    if report["skipped"]:
        parts.append("Not measured:\n\n" + "\n".join(f"- {why}" for why in report["skipped"]))
    return "\n\n".join(parts)
