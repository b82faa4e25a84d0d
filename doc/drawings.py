#!/usr/bin/env python3
"""Draw the pictures of doc/internals/design.md: shape.svg, the three steps of a job, and lanes.svg, its two lanes.

  doc/drawings.py            write the pictures into doc/internals
  doc/drawings.py --check    fail if they differ from what this program draws

Text stays text, so it can be searched and read aloud. Each picture has its own background, light or dark like the
reader's theme, so it is readable on any page.
"""
import argparse
import pathlib
import sys
from xml.sax.saxutils import escape

FOLDER = pathlib.Path(__file__).resolve().parent / "internals"
WIDTH = 800  # the largest width that a page shows without scaling

STYLE = """\
  text { font-family: system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; font-size: 12px; fill: #1f2328 }
  .head { font-size: 15px; font-weight: bold }
  .name { font-size: 13px; font-weight: bold }
  .note { fill: #59636e }
  .page { fill: #ffffff; stroke: #d1d9e0 }
  .box { fill: #f6f8fa; stroke: #818b98 }
  .one { fill: #ddf4ff; stroke: #0969da }
  .two { fill: #fff1e5; stroke: #bc4c00 }
  .line { fill: none; stroke: #59636e; stroke-width: 1.5 }
  .cut { fill: none; stroke: #cf222e; stroke-width: 2; stroke-dasharray: 5 3 }
  .cut-text { fill: #cf222e }
  .tip { fill: #59636e }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 }
    .note { fill: #9198a1 }
    .page { fill: #0d1117; stroke: #3d444d }
    .box { fill: #151b23; stroke: #656c76 }
    .one { fill: #0c2d4d; stroke: #4493f8 }
    .two { fill: #3d2007; stroke: #db6d28 }
    .line { stroke: #9198a1 }
    .cut { stroke: #f85149 }
    .cut-text { fill: #f85149 }
    .tip { fill: #9198a1 }
  }
"""


class Drawing:
    """An SVG of some height, in pixels. `title` is what a screen reader says."""

    def __init__(self, height, title):
        self.height = height
        self.title = title
        self.parts = []
        self.rect(0.5, 0.5, WIDTH - 1, height - 1, "page", 8)

    def rect(self, x, y, width, height, kind, radius=4):
        assert 0 <= x and x + width <= WIDTH and 0 <= y and y + height <= self.height, (x, y, width, height)
        self.parts.append('<rect class="%s" x="%g" y="%g" width="%g" height="%g" rx="%g"/>' %
                          (kind, x, y, width, height, radius))

    def text(self, x, y, text, kind="", anchor="middle"):
        kind = ' class="%s"' % kind if kind else ""
        self.parts.append('<text%s x="%g" y="%g" text-anchor="%s">%s</text>' % (kind, x, y, anchor, escape(text)))

    def box(self, x, y, width, height, name, notes=(), kind="box"):
        """A box with its name in bold, and lines of notes below the name, centred."""
        self.rect(x, y, width, height, kind)
        first = y + height / 2 + 4.5 - 8 * len(notes)
        self.text(x + width / 2, first, name, "name")
        for i, note in enumerate(notes):
            self.text(x + width / 2, first + 16 * (i + 1), note)

    def arrow(self, *points):
        """A line through the points, each (x, y), with a tip at the last one. The last part is straight."""
        (from_x, from_y), (x, y) = points[-2:]
        step_x, step_y = (x > from_x) - (x < from_x), (y > from_y) - (y < from_y)
        self.line("line", *points[:-1], (x - 5 * step_x, y - 5 * step_y))
        back_x, back_y = x - 8 * step_x, y - 8 * step_y
        self.parts.append('<path class="tip" d="M%g %gL%g %gL%g %gZ"/>' % (
            x, y, back_x - 4 * step_y, back_y - 4 * step_x, back_x + 4 * step_y, back_y + 4 * step_x))

    def line(self, kind, *points):
        self.parts.append('<path class="%s" d="M%s"/>' % (kind, "L".join("%g %g" % point for point in points)))

    def svg(self):
        return ('<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img">\n'
                "<title>%s</title>\n<style>\n%s</style>\n%s\n</svg>\n" %
                (WIDTH, self.height, WIDTH, self.height, escape(self.title), STYLE, "\n".join(self.parts)))


def shape():
    """Measure, scan, write: four blocks with ten records, cut into two pieces of five."""
    draw = Drawing(440, "Every job has three steps: measure, scan, write")
    left, width = 176, 150
    records = [3, 2, 4, 1]
    cut = left + 2 * width + 40  # where record 6 starts, the first one that starts in block 3

    steps = [(62, "1. measure", ("all blocks in parallel,", "each on its own")),
             (186, "2. scan", ("a running total: one", "small result per block,", "joined associatively")),
             (310, "3. write", ("in parallel, at places", "that are known"))]
    for y, name, notes in steps:
        draw.text(18, y, name, "head", "start")
        for i, note in enumerate(notes):
            draw.text(18, y + 20 + 16 * i, note, "note", "start")

    draw.text(left, 30, "the input, in blocks of 1 MiB", "note", "start")
    total = 0
    for i, count in enumerate(records):
        x, middle = left + i * width, left + (i + 0.5) * width
        draw.box(x, 40, width, 50, "block %d" % (i + 1),
                 ("%d records start" % count if count > 1 else "1 record starts",))
        draw.arrow((middle, 90), (middle, 164))
        draw.text(middle + 8, 131, str(count), "name", "start")
        total += count
        draw.box(x + 25, 164, width - 50, 50, str(total), ("records so far",))
        if i > 0:
            draw.arrow((x - 25, 189), (x + 25, 189))

    for x, span, number, kind in ((left, cut - left, 1, "one"), (cut, left + 4 * width - cut, 2, "two")):
        draw.box(x, 288, span, 50, "worker %d" % number,
                 ("bytes from the header to the cut" if number == 1 else "bytes from the cut to the end",), kind)
        draw.arrow((x + span / 2, 338), (x + span / 2, 374))
        draw.box(x + span / 2 - 95, 374, 190, 50, "piece %d" % number, ("header and 5 records",), kind)
    draw.line("cut", (cut, 214), (cut, 346))
    draw.text(cut + 8, 256, "the cut: record 6 starts in block 3,", "cut-text", "start")
    draw.text(cut + 8, 272, "because 5 records start before that block", "cut-text", "start")
    return draw.svg()


def lanes():
    """The byte lane and the record lane, from the input to the pieces."""
    draw = Drawing(300, "Two lanes lead from the input to the pieces: the byte lane and the record lane")
    draw.box(14, 116, 92, 68, "input", ("a mapping", "or a stream"))
    draw.box(694, 116, 92, 68, "pieces", ("files,", "commands"))

    draw.text(132, 30, "byte lane", "head", "start")
    draw.text(240, 30, "moves ranges; nothing in them changes", "note", "start")
    draw.box(132, 44, 250, 62, "plan", ("each piece is a header", "and a range of the input"), "one")
    draw.box(418, 44, 250, 62, "share or write", ("share blocks with the input,", "or write from the mapping"), "one")
    draw.arrow((60, 116), (60, 75), (132, 75))
    draw.arrow((382, 75), (418, 75))
    draw.arrow((668, 75), (740, 75), (740, 116))

    steps = [("batches", ("256 KiB of", "whole records")), ("fields", ("delimiters and", "record ends")),
             ("measure", ("output size, if", "cuts need it")), ("write", ("the new bytes,", "into memory")),
             ("emit", ("in the order", "of the input"))]
    width, gap = 98, 11.5
    for i, (name, notes) in enumerate(steps):
        x = 132 + i * (width + gap)
        draw.box(x, 194, width, 62, name, notes, "two")
        if i > 0:
            draw.arrow((x - gap, 225), (x, 225))
    draw.arrow((60, 184), (60, 225), (132, 225))
    draw.arrow((668, 225), (740, 225), (740, 184))
    draw.text(132, 180, "record lane", "head", "start")
    draw.text(240, 180, "changes records on their way: --select, --redact, --rules", "note", "start")
    draw.text(132, 280, "several threads work on batches side by side", "note", "start")
    return draw.svg()


DRAWINGS = {"shape.svg": shape, "lanes.svg": lanes}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    check = parser.parse_args().check
    stale = []
    for name, draw in DRAWINGS.items():
        path, wanted = FOLDER / name, draw()
        if not check:
            path.write_text(wanted, encoding="utf-8")
        elif not path.is_file() or path.read_text(encoding="utf-8") != wanted:
            stale.append(name)
    for name in stale:
        print("doc/internals/%s is not what doc/drawings.py draws; run doc/drawings.py" % name)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
