#!/usr/bin/env python3
"""Compares the command's help and messages with the manual pages, README.md and the guide.

  pages_test.py --cleave PATH [--man FOLDER]

man/make_pages.py knows which page describes an option in full.
"""
import argparse
import collections
import os
import re
import subprocess
import sys
from pathlib import Path

from command import ROOT, Command
from make_pages import home, page_of, without_lists

# Pages that list the values of some options in place of the option's entry.
LISTS = {"format": "cleave-formats(5)", "reflink": "cleave-split(1)", "terminator": "cleave-dialects(7)",
         "quoting": "cleave-dialects(7)"}
WORDS = {"index", "key", "plan", "sample"}   # verbs that the help may also use as ordinary words
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
    """name -> [(letter, value word, body)] from the paragraphs that describe an option."""
    found = collections.defaultdict(list)
    for tag, body in tagged(text):
        row = re.fullmatch(r"(?:-(\S), )?--([a-z][a-z0-9-]*)(?: (\S+))?", tag)
        if row:
            found[row[2]].append((row[1] or "", row[3] or "", body))
    return found


def described_at(verb, option):
    return home(verb, option) if verb else "cleave(1)"


class Manual:
    """The texts of the pages by name, such as cleave-split(1), and the options that each describes."""

    def __init__(self, folder):
        self.folder = folder
        self.texts = {"%s(%s)" % (path.stem, path.suffix[1:]): path.read_text(encoding="utf-8")
                      for path in sorted(Path(folder).glob("cleave*.[1-8]"))}
        self.described = {name: entries(without_lists(text)) for name, text in self.texts.items()}


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
    """Each option of each verb is described once, on its home, as the help has it; make_pages.py lists it elsewhere.
    No page describes an option that no verb has there."""
    homes = collections.defaultdict(set)
    for verb, known in command.options.items():
        for name, option in known.items():
            place = described_at(verb, option)
            homes[place].add(name)
            found = manual.described.get(place, {}).get(name, [])
            if len(found) != 1:
                yield "%s: --%s of %r is described %d times" % (place, name, verb, len(found))
            for letter, value, _ in found:   # the page may say more, such as N|K/N
                if option.letter != letter or option.value not in (value, *value.split("|")):
                    yield "%s: --%s: %s in the help of %r, %s here" % (place, name, (option.letter, option.value), verb,
                                                                      (letter, value))
            if verb and "--%s" % name not in plain(manual.texts.get(page_of(verb), "")):
                yield "%s: --%s is not listed" % (page_of(verb), name)
    for page, described in manual.described.items():
        for name in sorted(set(described) - homes[page]):
            yield "%s: --%s is described, and no verb needs that" % (page, name)


def lists(command, manual):
    """The lists of options are as make_pages.py generates them."""
    done = subprocess.run([sys.executable, ROOT / "man/make_pages.py", "--cleave", command.path, "--check",
                           manual.folder], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        yield "make_pages.py would change the pages:\n%s%s" % (done.stdout, done.stderr)


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


def helps(command, manual):
    """What a verb's help says about an option names no other verb, and no option that the verb lacks."""
    for verb in command.verbs:
        known = command.options[verb]
        spellings = {"--" + name for name in known} | {"-" + option.letter for option in known.values()}
        for name, option in known.items():
            words = set(re.findall(r"(?<![\w-])[\w-]+", option.help))
            others = words & (set(command.verbs) - {verb} - WORDS)
            others |= {word for word in words if re.match(r"--?[A-Za-z]", word)} - spellings
            if others:
                yield "--%s: the help of %s speaks of %s" % (name, verb, ", ".join(sorted(others)))


def choices(command, manual):
    """The manual pages name each value that the parser takes, and the guide each preset."""
    seen = 0
    for verb, known in command.options.items():
        for name, option in known.items():
            place = described_at(verb, option)
            taken = option.value and command.choices(verb, name) or []
            seen += len(taken)
            entry = "".join(body for _, _, body in manual.described.get(place, {}).get(name, []))
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
    constants = re.findall(r"^constexpr int k\w+ = (\d+);", (ROOT / "src/cli/main.cpp").read_text(), re.M)
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
    parser.add_argument("--man", default=str(ROOT / "man"), metavar="FOLDER", help="of the pages")
    arguments = parser.parse_args()
    command, manual = Command(arguments.cleave), Manual(arguments.man)
    checks = (pages, options, lists, mentions, helps, choices, verbs, statuses)
    faults = [fault for check in checks for fault in check(command, manual)]
    print("%d pages, %d verbs" % (len(manual.texts), len(command.verbs)))
    sys.exit("\n".join(faults) or 0)


main()
