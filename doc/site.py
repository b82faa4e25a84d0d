#!/usr/bin/env python3
"""Builds the documentation as a site of static HTML, in build/docs/site.

  site.py            needs mkdocs-material and mandoc: run it with ./dev docs
  site.py --check    only checks what the pages refer to: see faults(). Needs git alone

The site consists of every page of doc/, the README.md files and the manual pages. They are copied to build/docs/source
with the files that they link to, in the folders of the repository, so links stay as they are. A warning from mandoc or
mkdocs fails the build.
"""
import collections
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE, SITE = ROOT / "build/docs/source", ROOT / "build/docs/site"
LINK = re.compile(r"(\]\(<?)([^)\s>]+)(>?\))")
CODE = re.compile(r"(^ *```.*?^ *```|`[^`\n]*`)", re.M | re.S)
# A source, a script, a page or a test program, unless it is made up or built.
FILE = re.compile(r"`(?!.*NAME|build/)([\w./-]*\w(?:\.(?:case|cpp|cu|h|md|py|sh|tsv)|_test))`")
# The page of coverage, and after how many landings it is out of date.
COVERAGE, MOST_LANDINGS = "doc/internals/coverage.md", 10
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


def git(*words):
    """The lines that git prints."""
    return subprocess.run(["git", "-C", str(ROOT), *words], stdout=subprocess.PIPE, text=True).stdout.splitlines()


def files():
    """The files in the repository, committed or not, by their paths there."""
    listed = git("-c", "core.quotePath=off", "ls-files", "--cached", "--others", "--exclude-standard")
    return sorted(Path(name) for name in listed if (ROOT / name).exists())


def pages():
    """The pages of the site."""
    return [path for path in files() if path.suffix == ".md"]


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
    parts = CODE.split(text)   # code is at the odd indices
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


def anchors(text):
    """The anchors that GitHub makes from the headings of a page, and those that the page has itself."""
    found, seen = set(re.findall(r"<a (?:id|name)=\"([^\"]+)\"", text)), collections.Counter()
    for heading in re.findall(r"^#+ +(.+)$", re.sub(r"^ *```.*?^ *```", "", text, flags=re.M | re.S), re.M):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
        slug = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        found.add("%s-%d" % (slug, seen[slug]) if seen[slug] else slug)
        seen[slug] += 1
    return found


def faults():
    """Links to files and headings that do not exist, and names of files that do not exist."""
    tree, known, count = files(), set(), 0
    for path in tree:
        for at in range(len(path.parts)):
            known |= {str(Path(*path.parts[at:])), str(Path(*path.parts[at:-1], path.stem))}
        if path.name == "CMakeLists.txt":   # a test program may have a name of its own
            known |= set(re.findall(r"\w+_test\b", (ROOT / path).read_text(encoding="utf-8")))
    for page in pages():
        text = (ROOT / page).read_text(encoding="utf-8")
        for _, link, _ in LINK.findall("".join(CODE.split(text)[::2])):
            if re.match(r"[a-z]+:", link):
                continue
            name, _, anchor = link.partition("#")
            target = ROOT / page.parent / name if name else ROOT / page
            count += 1
            if not target.exists():
                yield "%s: there is no %s" % (page, link)
            elif anchor and target.suffix == ".md" and anchor not in anchors(target.read_text(encoding="utf-8")):
                yield "%s: there is no heading %s" % (page, link)
        for name in FILE.findall(text):
            count += 1
            if re.sub(r"^(\.?\./)+", "", name) not in known:
                yield "%s: there is no file %s" % (page, name)
    for line in git("grep", "-IoE", r"(^|[^A-Za-z/.-])doc/[a-z_/]+\.md"):   # messages and manual pages name them too
        count += 1
        if not (ROOT / line[line.rindex("doc/"):]).exists():
            yield line
    if count < 500:
        yield "only %d links and names of files were found; is this a git repository?" % count


def coverage_faults():
    """What is wrong with the page of coverage: rows for other folders than src/ has, or its age."""
    rows = set(re.findall(r"^\| (src/\w+) \|", (ROOT / COVERAGE).read_text(encoding="utf-8"), re.M))
    there = {str(path.parent) for path in files() if re.match(r"src/\w+/\w+\.(cpp|h)$", str(path))}
    for name in sorted(rows ^ there):
        yield "%s: %s is %s" % (COVERAGE, name, "missing" if name in there else "not in the tree")
    made = git("log", "-1", "--format=%H", "--", COVERAGE)
    landings = git("log", "--format=%H", made[0] + "..", "--", ".ci/base") if made else []
    if len(landings) > MOST_LANDINGS and not git("status", "--porcelain", "--", COVERAGE):
        yield "%s: %d changes have landed since; ./dev prove coverage renews it" % (COVERAGE, len(landings))


def build():
    """Builds the site. Returns what mkdocs complains about."""
    for folder in (SOURCE, SITE):
        shutil.rmtree(folder, ignore_errors=True)
    SOURCE.mkdir(parents=True)
    markdown = pages()
    for path in markdown:
        copy(path)
    manual = [render_manual(page) for page in sorted((ROOT / "build/release/man").iterdir())]
    (SOURCE / "site.css").write_text(STYLE, encoding="utf-8")
    config = SOURCE.parent / "mkdocs.yml"
    config.write_text("%sdocs_dir: %s\nsite_dir: %s\n%s" % (CONFIG, SOURCE, SITE, nav(markdown, manual)),
                      encoding="utf-8")
    done = subprocess.run([sys.executable, "-m", "mkdocs", "build", "--strict", "-f", str(config)], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env={**os.environ, "NO_MKDOCS_2_WARNING": "1"})
    return [line for line in done.stdout.splitlines() if not line.startswith("INFO")] if done.returncode != 0 else []


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        print(__doc__)
        return 0 if sys.argv[1] == "--help" else 2
    found = [*faults(), *coverage_faults()]
    if not sys.argv[1:]:
        found += build()
    print("\n".join([*found, "%d faults" % len(found)]))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
