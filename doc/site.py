#!/usr/bin/env python3
"""Builds the documentation as a site of static HTML, in build/docs/site.

  site.py        needs mkdocs-material and mandoc: run it with ./dev docs

The site consists of every page of doc/, the README.md files and the manual pages. They are copied to build/docs/source
with the files that they link to, in the folders of the repository, so links stay as they are. A warning from mandoc or
mkdocs fails the build, and so does a link in a finished page to a file or an anchor that the site lacks.
"""
import html.parser
import os
import re
import shutil
import subprocess
import sys
import urllib.parse
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE, SITE = ROOT / "build/docs/source", ROOT / "build/docs/site"
LINK = re.compile(r"(\]\(<?)([^)\s>]+)(>?\))")
SECTIONS = {"7": "Topics", "5": "File formats", "1": "Commands"}
# nav and docs_dir are added below. No font and no script is loaded from elsewhere.
CONFIG = """\
site_name: cleave
site_url: ""
use_directory_urls: false
theme:
  name: material
  font: false
  features: [navigation.tabs, navigation.top, content.code.copy]
  palette:
    - {media: "(prefers-color-scheme: light)", scheme: default, primary: blue grey, accent: blue}
    - {media: "(prefers-color-scheme: dark)", scheme: slate, primary: blue grey, accent: blue}
plugins: [search]
extra_css: [site.css]
markdown_extensions:
  - tables
  - pymdownx.superfences
  - pymdownx.highlight: {use_pygments: true}
  - pymdownx.magiclink
  - toc: {slugify: !!python/object/apply:pymdownx.slugs.slugify {kwds: {case: lower}}, toc_depth: 3}
exclude_docs: "!/.ci/"   # which begins with a dot
validation:
  omitted_files: ignore
  absolute_links: warn
  unrecognized_links: warn
  not_found: warn
  anchors: warn
"""
STYLE = """\
.md-grid { max-width: 70rem }
.md-typeset table:not([class]) { font-size: .7rem }
.manual .head, .manual .foot { width: 100%; font-size: .7rem }
.manual .head td, .manual .foot td { width: 33%; text-align: center }
.manual td:first-child { text-align: left }
.manual td:last-child { text-align: right }
.manual dd { margin-bottom: .6em }
.manual h1, .manual h2 { font-size: 1rem; margin: 1.6em 0 .4em; font-weight: bold }
.manual h2 { font-size: .85rem }
"""


def pages():
    """The pages of the site, by their paths in the repository."""
    listed = subprocess.run(["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard",
                             "*.md"], stdout=subprocess.PIPE, check=True).stdout.decode()
    return sorted(Path(name) for name in listed.split("\0") if name and (ROOT / name).exists())


def copy(path):
    """Copies a page, and the files that it links to. A link to a folder becomes a link to its README.md, or plain
    text."""
    text = (ROOT / path).read_text(encoding="utf-8")

    def adapted(match):
        link, _, anchor = match[2].partition("#")
        target = ROOT / path.parent / link
        if not link or re.match(r"[a-z]+:", link) or not target.exists():
            return match[0]   # mkdocs says so if it is missing
        if target.is_dir():
            return "%s%s%s" % (match[1], link.rstrip("/") + "/README.md", match[3])
        if target.suffix != ".md":
            copied = SOURCE / os.path.relpath(target, ROOT)
            copied.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(target, copied)
        return match[0]

    written = SOURCE / path
    written.parent.mkdir(parents=True, exist_ok=True)
    parts = re.split(r"(^ *```.*?^ *```|`[^`\n]*`)", text, flags=re.M | re.S)   # code is at the odd indices
    parts[::2] = [LINK.sub(adapted, part) for part in parts[::2]]
    parts[1::2] = [re.sub(r"^( *```\w+) (\S+)$", r'\1 title="\2"', part, flags=re.M) for part in parts[1::2]]
    wide = "---\nhide: [navigation]\n---\n\n" if path == Path("README.md") else ""   # no pages beside it to list
    written.write_text(wide + "".join(parts), encoding="utf-8")


def render_manual(page):
    """Writes a manual page as a page of the site. Returns its path there."""
    done = subprocess.run(["mandoc", "-T", "html", "-O", "fragment", "-W", "warning,stop", str(page)],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0 or done.stderr:
        sys.exit("mandoc: %s" % (done.stderr or "exit status %d" % done.returncode))
    title = "%s(%s)" % (page.stem, page.suffix[1:])
    # Empty lines would end the HTML block. In <pre>, where they have a meaning, a character reference stands for them.
    body = re.sub(r"<pre>.*?</pre>", lambda match: match[0].replace("\n", "&#10;"), done.stdout, flags=re.S)
    body = re.sub(r"\n\s*\n", "\n", body)
    path = Path("man") / (page.name + ".md")
    (SOURCE / path).parent.mkdir(parents=True, exist_ok=True)
    (SOURCE / path).write_text("---\ntitle: %s\n---\n\n<div class=\"manual\">\n%s</div>\n" % (title, body),
                               encoding="utf-8")
    return path


def nav(markdown, manual):
    """The navigation, as lines of YAML."""
    def group(title, paths):
        return ["  - %s:" % title, *("    - %s" % path for path in paths)] if paths else []

    index = [path for path in markdown if path == Path("doc/README.md")]
    text = "".join((ROOT / path).read_text(encoding="utf-8") for path in index)
    linked = [Path("doc", link.partition("#")[0]) for _, link, _ in LINK.findall(text)]   # in the order of the index
    guide = sorted((path for path in markdown if path.parts[:2] == ("doc", "guide")),
                   key=lambda path: (linked.index(path) if path in linked else len(linked), path))
    internals = [path for path in markdown if path.parts[0] == "doc" and path not in guide + index]
    # Links lead to the READMEs of deeper folders.
    first = [path for path in markdown if len(path.parts) == 1 and path != Path("README.md")]
    others = [path for path in markdown if len(path.parts) == 2 and path.parts[0] not in ("doc", ".ci")]
    lines = ["nav:", "  - cleave: README.md", *group("Guide", index + guide)]
    lines += ["  - Manual pages:"]
    for section in sorted(SECTIONS):
        names = [path for path in manual if path.stem.endswith("." + section)]
        lines += ["    - %s:" % SECTIONS[section], *("      - %s" % path for path in names)] if names else []
    return "\n".join([*lines, *group("Internals", internals), *group("Project", first + others)]) + "\n"


class Links(html.parser.HTMLParser):
    """What a page links to, and the anchors that it has."""

    def __init__(self, text):
        super().__init__()
        self.links, self.anchors = [], {""}
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name in ("id", "name") and value:
                self.anchors.add(value)
            if name in ("href", "src") and value is not None and tag != "link":
                self.links.append(value)


def dead_links():
    """Links of the finished pages that lead nowhere."""
    found = {path: Links(path.read_text(encoding="utf-8")) for path in SITE.rglob("*.html")}
    count = 0
    for path, page in found.items():
        if path.name == "404.html":   # its links begin at the root of a server
            continue
        for link in page.links:
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            count += 1
            target = Path(os.path.normpath(path.parent / urllib.parse.unquote(parts.path))) if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            if not target.exists():
                yield "%s: there is no %s" % (path.relative_to(SITE), link)
            elif target in found and urllib.parse.unquote(parts.fragment) not in found[target].anchors:
                yield "%s: there is no anchor %s" % (path.relative_to(SITE), link)
    print("%d pages, %d links" % (len(found), count))


def main():
    if len(sys.argv) > 1:
        print(__doc__)
        return 0 if sys.argv[1] == "--help" else 2
    for folder in (SOURCE, SITE):
        shutil.rmtree(folder, ignore_errors=True)
    SOURCE.mkdir(parents=True)
    markdown = pages()
    for path in markdown:
        copy(path)
    manual = [render_manual(page) for page in sorted((ROOT / "man").glob("*.[157]"))]
    (SOURCE / "site.css").write_text(STYLE, encoding="utf-8")
    config = SOURCE.parent / "mkdocs.yml"
    config.write_text("%sdocs_dir: %s\nsite_dir: %s\n%s" % (CONFIG, SOURCE, SITE, nav(markdown, manual)),
                      encoding="utf-8")
    done = subprocess.run([sys.executable, "-m", "mkdocs", "build", "--strict", "-f", str(config)], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env={**os.environ, "NO_MKDOCS_2_WARNING": "1"})
    faults = [line for line in done.stdout.splitlines() if not line.startswith("INFO")] if done.returncode != 0 else []
    faults += dead_links()
    print("\n".join([*faults, "%d faults in %s" % (len(faults), SITE.relative_to(ROOT))]))
    return 1 if done.returncode != 0 or faults else 0


if __name__ == "__main__":
    sys.exit(main())
