#!/usr/bin/env python3
"""Draws terminal.svg, the picture in README.md, from the actual output of the command.

  terminal.py --cleave PATH            draw it
  terminal.py --cleave PATH --check    fail if the committed picture differs
"""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from xml.sax.saxutils import escape

FOLDER = Path(__file__).resolve().parent
DATA = FOLDER.parent / "data"
PICTURE = FOLDER / "terminal.svg"
# (command, how many of the last lines to show)
SESSION = (
    ("cleave split -n 3 --print-names orders.csv", 3),
    ("cleave count orders.?.csv", 4),
    ("cleave check unclosed.csv | tail -n 3", 3),
)
COLUMNS, WIDTH, LINE, MARGIN, BAR = 74, 8.4, 20, 16, 28   # the first in characters, all others in pixels
# A dark window on either background, with a border that shows on both.
STYLE = """\
    rect { fill: #1e2430; stroke: #6b7483 }
    text { font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #d5dae3;
           white-space: pre }
    .prompt { fill: #7fd08a }
    .command { fill: #ffffff; font-weight: bold }
    .fault { fill: #ff8f88 }"""


def lines(cleave):
    """Yields (class, text) for each line in the window; a command has the class "command"."""
    environment = dict(os.environ, PATH=os.pathsep.join([str(cleave.parent), os.environ["PATH"]]), LC_ALL="C")
    with tempfile.TemporaryDirectory() as folder:
        for name in ("orders.csv", "unclosed.csv"):
            shutil.copy(DATA / name, folder)
        for command, shown in SESSION:
            done = subprocess.run(["bash", "-c", command], cwd=folder, env=environment, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            printed = done.stdout.splitlines()
            if done.returncode != 0 or len(printed) != shown:
                sys.exit("%s: exit status %d, %d lines:\n%s" % (command, done.returncode, len(printed), done.stdout))
            yield "command", command
            for line in printed:
                yield ("fault" if "check" in command else ""), line
    yield "command", ""   # the last prompt


def text(kind, words, number):
    """One line of the window as an element."""
    y = BAR + MARGIN + LINE * number + 10
    begin = '  <text x="%d" y="%d"' % (MARGIN, y)
    if kind == "command":
        return '%s><tspan class="prompt">$ </tspan><tspan class="command">%s</tspan></text>' % (begin, escape(words))
    return "%s%s>%s</text>" % (begin, ' class="%s"' % kind if kind else "", escape(words))


def picture(cleave):
    rows = list(lines(cleave))
    wide = [words for _, words in rows if len(words) > COLUMNS - 2]
    if wide:
        sys.exit("wider than the window: %s" % wide[0])
    width, height = round(COLUMNS * WIDTH + 2 * MARGIN), BAR + LINE * len(rows) + 2 * MARGIN - 6
    buttons = ["  <circle cx=\"%d\" cy=\"%d\" r=\"5\" fill=\"%s\"/>" % (MARGIN + 5 + 18 * i, 20, colour)
               for i, colour in enumerate(("#ec6a5e", "#f4bf4f", "#61c554"))]
    return "\n".join([
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img">' % (
            width, height, width, height),
        "  <title>A terminal session with cleave</title>", "  <style>", STYLE, "  </style>",
        '  <rect x="0.5" y="0.5" width="%d" height="%d" rx="8"/>' % (width - 1, height - 1), *buttons,
        *(text(kind, words, number) for number, (kind, words) in enumerate(rows)), "</svg>", ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cleave", required=True, metavar="PATH", type=lambda path: Path(path).absolute())
    parser.add_argument("--check", action="store_true", help="draw nothing; fail if the picture differs")
    arguments = parser.parse_args()
    new = picture(arguments.cleave)
    if not arguments.check:
        PICTURE.write_text(new, encoding="utf-8")
        return 0
    if not PICTURE.exists() or PICTURE.read_text(encoding="utf-8") != new:
        print("doc/terminal.svg differs from what the command prints; doc/terminal.py --cleave PATH draws it again")
        return 1
    print("doc/terminal.svg shows what the command prints")
    return 0


if __name__ == "__main__":
    sys.exit(main())
