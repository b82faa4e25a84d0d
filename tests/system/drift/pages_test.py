#!/usr/bin/env python3
"""Compares the command's help and messages with the manual pages, README.md and the guide.

  pages_test.py --cleave PATH

The pages are those in the folder man beside the command. That each option of each verb is on the verb's page follows
from how cmake/manual_page.cmake makes it.
"""
import argparse
import collections
import os
import re
import sys
from pathlib import Path

from command import ROOT, Command

# Pages that list the values of some options in place of the option's entry.
LISTS = {"format": "cleave-formats(5)", "reflink": "cleave-split(1)", "terminator": "cleave-dialects(7)",
         "quoting": "cleave-dialects(7)"}
GUIDE = [ROOT / "README.md", *sorted((ROOT / "doc/guide").glob("*.md"))]


def plain(roff):
    """The text without font changes and escapes."""
    roff = re.sub(r"\\f[BIRP]|\\[|&c]", "", roff)
    return roff.replace(r"\-", "-").replace(r"\(aq", "'").replace(r"\e", "\\")


def words_of(line):
    """The text of a line, which may be a font macro."""
    macro = re.match(r"\.(BR?|BI|IR?|RB|RI|IB) (.*)", line)
    if not macro:
        return plain(line)
    words = [quoted or bare for quoted, bare in re.findall(r'"([^"]*)"|(\S+)', macro[2])]
    return plain((" " if macro[1] in "BI" else "").join(words))


def section(text, heading):
    found = re.search(r"^\.SH %s\n(.*?)(?=^\.SH |\Z)" % heading, text, re.M | re.S)
    return found[1] if found else ""


def tagged(text):
    """(tag, body) of each tagged paragraph."""
    for entry in re.split(r"^\.(?=TP|S[HS] )", text, flags=re.M):
        macro, _, entry = entry.partition("\n")
        tag, _, body = entry.partition("\n")
        if macro.startswith("TP"):
            yield words_of(tag).strip(), body


def entries(text):
    """name -> the bodies of the paragraphs that describe an option."""
    found = collections.defaultdict(list)
    for tag, body in tagged(text):
        row = re.match(r"(?:-\S, )?--([a-z][a-z0-9-]*)", tag)
        if row:
            found[row[1]].append(body)
    return found


def page_of(verb):
    return "cleave-%s(1)" % verb


class Manual:
    """The texts of the pages by name, such as cleave-split(1), and the options that each describes in full."""

    def __init__(self, folder):
        self.texts = {"%s(%s)" % (path.stem, path.suffix[1:]): path.read_text(encoding="utf-8")
                      for path in sorted(folder.glob("cleave*.[1-8]"))}
        lists = re.compile(r"^For details see\n.*?^\.PD\n", re.M | re.S)
        self.described = {name: entries(lists.sub("", text)) for name, text in self.texts.items()}

    def entry(self, verb, option):
        """(page, text) of the paragraphs that describe an option of the verb."""
        for page in [page_of(verb), "cleave(1)", "cleave-dialects(7)", "cleave-redaction(7)"]:
            if option in self.described.get(page, {}):
                return page, "".join(self.described[page][option])


def pages(command, manual):
    """Each verb has a page, each page of a command its verb, and every page that a page refers to exists."""
    there = {name for name in manual.texts if re.match(r"cleave-\w+\(1\)", name)}
    for name in sorted({page_of(verb) for verb in command.verbs} ^ there):
        yield "%s: there is no such page, or no such verb" % name
    for page, text in manual.texts.items():
        for stem, number in re.findall(r"^\.BR (?:.* )?(cleave(?:\\-[a-z]+)?) \((\d)\)", text, re.M):
            if "%s(%s)" % (plain(stem), number) not in manual.texts:
                yield "%s: it refers to %s(%s)" % (page, plain(stem), number)


def options(command, manual):
    """options.def has a PAGE only for options that exist."""
    text = (ROOT / "src/cli/options.def").read_text(encoding="utf-8")
    known = {name for options in command.options.values() for name in options}
    for name, page in re.findall(r'^PAGE\("([^"]*)", (\w+),', text, re.M):
        if name not in command.options.get(page, known):
            yield "options.def: PAGE(%s, %s), which has no such option" % (name, page)


def mentions(command, manual):
    """Manual pages, README.md and the guide mention only options and verbs that exist."""
    known = {name for options in command.options.values() for name in options}
    texts = {page: plain(text) for page, text in manual.texts.items()}
    for path in GUIDE:
        spans = re.findall(r"`((?:cleave |--)[^`\n]*)`", path.read_text(encoding="utf-8"))
        texts[path.name] = "\n".join(spans)
        for verb in {span.split()[1] for span in spans if re.match(r"cleave [a-z]", span)} - {*command.verbs, "help"}:
            yield "%s: it speaks of the verb %s, which does not exist" % (path.name, verb)
    for page, text in texts.items():
        for name in sorted(set(re.findall(r"(?<![\w-])--([a-z][a-z0-9-]*)", text)) - known):
            yield "%s: it speaks of --%s, which no verb has" % (page, name)


def choices(command, manual):
    """The manual pages name each value that the parser takes, and the guide each preset."""
    seen = 0
    for verb, known in command.options.items():
        for name, option in known.items():
            place, entry = manual.entry(verb, name)
            taken = option.value and command.choices(verb, name) or []
            seen += len(taken)
            tags = {tag for tag, _ in tagged(manual.texts.get(LISTS.get(name), ""))}
            for value in taken:
                bold = r"(?:\\fB|^\.B[RI]? (?:.* )?\"?|^)%s(?![\w-])" % re.escape(value.replace("-", r"\-"))
                if not (value in tags if name in LISTS else re.search(bold, entry, re.M)):
                    yield "%s: --%s takes %s, which is not described" % (place, name, value)
    if seen == 0:
        yield "no option is known to take names"
    presets = (ROOT / "doc/guide/dialects.md").read_text(encoding="utf-8")
    for preset in command.choices("count", "dialect"):
        if "`%s`" % preset not in presets:
            yield "doc/guide/dialects.md: it does not describe the preset %s" % preset


def verbs(command, manual):
    """cleave(1) lists the verbs in the order of the help, and each page begins its synopsis as the help does."""
    names = [re.split(r"[ (]", tag.replace("cleave-", "", 1))[0] for tag, _ in tagged(section(
        manual.texts["cleave(1)"], "VERBS"))]
    if names != command.verbs:
        yield "verbs: %s in VERBS of cleave(1), %s in the help" % (names, command.verbs)
    for verb in command.verbs:
        usage = re.search(r"\bcleave %s\b.*" % verb, command.run(verb, "--help").stdout)[0]
        forms = section(manual.texts.get(page_of(verb), ""), "SYNOPSIS").split("\n.br\n")
        forms = ["".join(words_of(line) for line in form.splitlines()).replace(" ", "") for form in forms]
        if usage.replace(" ", "") not in forms:
            yield "%s: the synopsis has %s, and the help has %r" % (page_of(verb), forms, usage)


def statuses(command, manual):
    """cleave(1), README.md and the guide list the exit statuses that the command can end with."""
    constants = {status for name in ("src/cli/main.cpp", "src/core/offsets/failure.cpp")
                 for status in re.findall(r"^ *constexpr int k\w+ = (\d+);", (ROOT / name).read_text(), re.M)}
    wanted = sorted({"0", *constants})
    found = {"cleave(1)": [tag for tag, _ in tagged(section(manual.texts["cleave(1)"], "EXIT STATUS"))]}
    for path in GUIDE:
        for rows in re.findall(r"^\| (?:exit )?status \|.*\n\|[-| ]+\n((?:\|.*\n)+)", path.read_text(), re.M | re.I):
            found[path.name] = re.findall(r"^\| `?(\d)`? \|", rows, re.M)
    for page, listed in found.items():
        if listed != wanted:
            yield "%s: the exit statuses are %s, and not %s" % (page, wanted, listed)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cleave", required=True, type=os.path.abspath)
    arguments = parser.parse_args()
    command, manual = Command(arguments.cleave), Manual(Path(arguments.cleave).parent / "man")
    checks = (pages, options, mentions, choices, verbs, statuses)
    faults = [fault for check in checks for fault in check(command, manual)]
    print("%d pages, %d verbs" % (len(manual.texts), len(command.verbs)))
    sys.exit("\n".join(faults) or 0)


main()
