#!/usr/bin/env python3
"""Checks what README.md says about the command, and the links on all pages.

  front_page_test.py --cleave PATH
"""
import argparse
import os
import re
import sys
from pathlib import Path

from command import Command

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests" / "tools"))
from verdicts import Tally, need  # noqa: E402

MOST_LINES = 150
TEXTS = {".1", ".5", ".7", ".c", ".case", ".cmake", ".cpp", ".cu", ".dict", ".h", ".in", ".md", ".py", ".pyi", ".sh",
         ".toml", ".tsv", ".txt"}
LINK = re.compile(r"!?\[[^\]]*\]\(<?([^)\s>]+)>?(?: \"[^\"]*\")?\)")
PAGE = re.compile(r"(?<![\w/.-])doc/[\w/]+\.md\b")


def read(path):
    return (ROOT / path).read_text(encoding="utf-8")


def without_code(text):
    """The text without fenced blocks and code spans, in which brackets are not links."""
    text = re.sub(r"^( *)(```|~~~).*?^\1\2 *$", "", text, flags=re.M | re.S)
    return re.sub(r"`[^`\n]*`", "", text)


def anchors(text):
    """The anchors that GitHub derives from the headings, and those that the page defines explicitly."""
    found, seen = set(re.findall(r"<a (?:id|name)=\"([^\"]+)\"", text)), {}
    blocks = re.sub(r"^( *)(```|~~~).*?^\1\2 *$", "", text, flags=re.M | re.S)
    for heading in re.findall(r"^#{1,6} +(.+?) *#*$", blocks, re.M):
        heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
        slug = re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")
        number = seen.get(slug, 0)
        seen[slug] = number + 1
        found.add("%s-%d" % (slug, number) if number else slug)
    return found


def files():
    """All files in the repository except build outputs."""
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [name for name in folders if name not in (".git", "build", "corpus", "__pycache__")]
        yield from (Path(folder, name) for name in names)


def commands(text):
    """The commands that a page shows: the words from each "cleave" onwards, in code spans and in lines of blocks."""
    code = re.findall(r"`(cleave [^`\n]*)`", text)
    for block in re.findall(r"^```(?:console|sh)\n(.*?)^```", text, re.M | re.S):
        code += re.findall(r"(?<![\w/.-])cleave [a-z-][^|;&'\n]*", block.replace("\n> ", " "))
    return code


def readme_is_short(command):
    """README.md has at most 150 lines"""
    count = len(read("README.md").splitlines())
    need(count <= MOST_LINES, "%d lines" % count)


def readme_knows_the_command(command):
    """README.md names only verbs and options that the help lists"""
    text = read("README.md")
    found = commands(text)
    need(len(found) > 5, "only %d commands were found" % len(found))
    spans = [*found, *re.findall(r"`(--[a-z][^`\n]*)`", text)]
    names = {name for span in spans for name in re.findall(r"(?<![\w-])--([a-z][a-z0-9-]*)", span)}
    unknown = sorted(names - set(command.by_name()))
    need(not unknown, "no verb has --%s" % ", --".join(unknown))
    for words in found:
        verb = words.split()[1]
        need(verb in command.verbs or verb == "help" or verb.startswith("-"), "there is no verb %s: %s" % (verb, words))


def presets_are_complete(command):
    """Lists of presets in README.md and the guide match the parser's"""
    presets = command.choices("count", "dialect")
    need(presets and len(presets) > 5, "the parser lists no presets")
    for path in [ROOT / "README.md", *sorted((ROOT / "doc/guide").glob("*.md"))]:
        for span in re.findall(r"`([a-z0-9]+(?: [a-z0-9]+){5,})`", path.read_text(encoding="utf-8")):
            if presets[0] in span.split():
                need(span.split() == presets, "%s: %s" % (path.relative_to(ROOT), span))


def exit_statuses_agree(command):
    """Tables of exit statuses in README.md and the guide match the manual page"""
    section = re.search(r"^\.SH EXIT STATUS\n(.*?)(?=^\.SH |\Z)", read("man/cleave.1"), re.M | re.S)
    need(section, "man/cleave.1 has no section EXIT STATUS")
    wanted = re.findall(r"^\.TP[^\n]*\n\.BR? (\d)\b", section.group(1), re.M)
    need(len(wanted) > 3, "only %d statuses were found" % len(wanted))
    for path in [ROOT / "README.md", *sorted((ROOT / "doc/guide").glob("*.md"))]:
        text = path.read_text(encoding="utf-8")
        for rows in re.findall(r"^\| (?:exit )?status \|.*\n\|[-| ]+\n((?:\|.*\n)+)", text, re.M | re.I):
            statuses = re.findall(r"^\| `?(\d)`? \|", rows, re.M)
            need(statuses == wanted, "%s: %s, not %s" % (path.relative_to(ROOT), statuses, wanted))


def links_lead_somewhere(command):
    """The target of every relative link on every page exists, its anchor included"""
    pages = [path for path in files() if path.suffix == ".md"]
    faults, count = [], 0
    for page in pages:
        for link in LINK.findall(without_code(page.read_text(encoding="utf-8"))):
            if re.match(r"[a-z]+:", link):
                continue
            count += 1
            name, _, anchor = link.partition("#")
            target = (page.parent / name) if name else page
            if not target.exists():
                faults.append("%s: there is no %s" % (page.relative_to(ROOT), link))
            elif anchor and target.suffix == ".md" and anchor not in anchors(target.read_text(encoding="utf-8")):
                faults.append("%s: there is no heading %s" % (page.relative_to(ROOT), link))
    need(count > 50, "only %d links were found" % count)
    need(not faults, "\n     ".join(["%d links lead nowhere" % len(faults), *faults]))


def named_pages_exist(command):
    """Every page of doc/ that a source, a script or a manual page names exists"""
    faults, count = set(), 0
    for path in files():
        if path.suffix in TEXTS and path != Path(__file__):
            for name in PAGE.findall(path.read_text(encoding="utf-8", errors="replace")):
                count += 1
                if not (ROOT / name).exists():
                    faults.add("%s: there is no %s" % (path.relative_to(ROOT), name))
    need(count > 50, "only %d names were found" % count)
    need(not faults, "\n     ".join(["%d pages do not exist" % len(faults), *sorted(faults)]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cleave", required=True, type=os.path.abspath)
    command, tally = Command(parser.parse_args().cleave), Tally()
    for check in (readme_is_short, readme_knows_the_command, presets_are_complete, exit_statuses_agree,
                  links_lead_somewhere, named_pages_exist):
        tally.run(check.__doc__, lambda check=check: check(command))
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
