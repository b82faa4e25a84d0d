#!/usr/bin/env python3
"""Compares the command's help and messages with the manual pages.

  pages_test.py --cleave PATH [--man FOLDER]

man/make_pages.py knows which page describes an option in full.
"""
import argparse
import collections
import glob
import os
import re
import subprocess
import sys

from command import Command

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
MAN = os.path.join(ROOT, "man")
sys.path.insert(0, MAN)
from make_pages import REGION, home, options_of, page_of, without_lists  # noqa: E402

# Options whose values are listed somewhere other than in the option's entry, and where.
LISTS = {"format": ("cleave-formats(5)", "OFFSETS FORMATS"), "reflink": ("cleave-split(1)", "SHARED BLOCKS"),
         "terminator": ("cleave-dialects(7)", "Terminators"), "quoting": ("cleave-dialects(7)", "Quote modes")}
# Verbs that the help may also use as ordinary words.
WORDS = {"index", "key", "plan", "sample"}
SHORT_HELP = 24     # lines


def plain(roff):
    """Part of a line, without font changes and escapes."""
    roff = re.sub(r"\\f[BIRP]|\\[|&c]", "", roff)
    return roff.replace(r"\-", "-").replace(r"\(aq", "'").replace(r"\e", "\\")


def words_of(line):
    """The text of a line, which may be a font macro."""
    macro = re.match(r"\.(BR?|BI|IR?|RB|RI|IB) (.*)", line)
    if not macro:
        return plain(line)
    words = [quoted or bare for quoted, bare in re.findall(r'"([^"]*)"|(\S+)', macro[2])]
    return plain((" " if macro[1] in "BI" else "").join(words))


class Page:
    """A manual page: its sections by heading, the options that it describes, and the options that it only lists."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            self.text = file.read()
        stem, _, section = os.path.basename(path).rpartition(".")
        self.name = "%s(%s)" % (stem, section)
        # The verb, or "".
        self.verb = stem.partition("-")[2] if section == "1" else ""
        self.sections = {}
        for part in re.split(r"^\.S[HS] ", self.text, flags=re.M)[1:]:
            heading, _, body = part.partition("\n")
            self.sections[plain(heading).strip('"')] = body
        described = without_lists(self.text)
        self.described = self.entries(described)
        self.listed = self.entries("".join(region[2] for region in REGION.findall(self.text)))

    @staticmethod
    def entries(text):
        """name -> [(letter, value word, body)] from the tagged paragraphs that describe an option."""
        found = collections.defaultdict(list)
        for entry in re.split(r"^\.(?=TP|S[HS] )", text, flags=re.M):
            tag, _, body = entry.partition("\n")
            if not tag.startswith("TP"):
                continue
            tag, _, body = body.partition("\n")
            row = re.fullmatch(r"(?:-(\S), )?--([a-z][a-z0-9-]*)(?: (\S+))?", words_of(tag))
            if row:
                found[row[2]].append((row[1] or "", row[3] or "", body))
        return found

    def whole_section(self, heading):
        """A section with its subsections."""
        found = re.search(r"^\.SH %s\n(.*?)(?=^\.SH |\Z)" % heading, self.text, re.M | re.S)
        return found.group(1) if found else ""

    def tags(self, heading):
        """The tags of a section."""
        return [words_of(tag).strip() for tag in re.findall(r"^\.TP.*\n(.+)$", self.sections.get(heading, ""), re.M)]


def bold_words(body, verbs):
    """The names that an entry sets in bold, and the names in its table. Verbs, pages and options do not count."""
    words = re.findall(r"\\fB(.*?)\\f[RP]", body)
    for macro, rest in re.findall(r"^\.(B[RI]?) (.*)$", body, re.M):
        texts = [quoted or bare for quoted, bare in re.findall(r'"([^"]*)"|(\S+)', rest)]
        words += texts[::2] if macro != "B" else [" ".join(texts)]
    table = re.search(r"^\.EX\n.*\n((?:.+\n)+?)\.EE", body, re.M)
    words += re.findall(r"^(\S+)", table.group(1), re.M) if table else []
    return {word for word in map(plain, words) if re.fullmatch(r"(?!cleave)[a-z0-9][a-z0-9-]*", word)} - set(verbs)


def listed_in_help(text):
    """The names in the help text: a, b and c in "which: a (so), b, c [a]"."""
    return set(re.split(r",? +", re.sub(r" *\(.*?\)| *\[.*\]$", "", text.rpartition(": ")[2]).strip()))


class Manual:
    """The pages, and the options of each verb."""

    def __init__(self, command, folder):
        self.folder = folder
        paths = sorted(glob.glob(os.path.join(folder, "cleave*.[1-8]")))
        self.pages = {page.name: page for page in map(Page, paths)}
        self.options = {verb: options_of(command.run(verb, "--help").stdout) for verb in command.verbs}

    def of_verbs(self):
        """(page, verb, options) for each verb that has a page."""
        for verb, options in self.options.items():
            if page_of(verb) in self.pages:
                yield self.pages[page_of(verb)], verb, options


def agrees(option, entry):
    """Whether the help and the entry agree. The tag of an entry may have several words for the value, such as N|K/N."""
    letter, value, _ = entry
    return option.letter == letter and option.value in (value, *value.split("|"))


def pages(command, manual):
    """Each verb has a page, each verb's page has its verb, and every page that is referred to exists."""
    wanted = {page_of(verb) for verb in command.verbs}
    there = {page.name for page in manual.pages.values() if page.verb}
    for name in sorted(wanted ^ there):
        yield "%s: there is no %s" % (name, "such page" if name in wanted else "such verb")
    for page in manual.pages.values():
        found = re.findall(r"^\.BR (?:.* )?(cleave(?:\\-[a-z]+)?) \((\d)\)", page.text, re.M)
        for name in sorted({"%s(%s)" % (plain(stem), section) for stem, section in found} - set(manual.pages)):
            yield "%s: it refers to %s" % (page.name, name)


def options(command, manual):
    """Each option is described once for each verb: on the verb's page, or on the page of its group, in which case the
    verb's page lists it."""
    described = collections.defaultdict(set)    # page -> the options that verbs leave to it to describe
    described["cleave(1)"] = set(command.general)
    for page, verb, known in manual.of_verbs():
        for option in known:
            name, place = option.name, home(verb, option)
            described[place].add(name)
            if place != page.name and name in page.described:
                yield "%s: --%s is described here, and belongs to %s" % (page.name, name, place)
            if place != page.name and name not in page.listed:
                yield "%s: --%s is not listed" % (page.name, name)
            entries = manual.pages[place].described.get(name, []) if place in manual.pages else []
            if len(entries) != 1:
                yield "%s: --%s, which %s has, is described %d times" % (place, name, verb, len(entries))
            for entry in entries:
                if not agrees(option, entry):
                    yield "%s: --%s: %s in the help of %s, %s here" % (
                        place, name, (option.letter, option.value), verb, entry[:2])
    for name, option in command.general.items():
        for entry in manual.pages["cleave(1)"].described.get(name, [("", "", "")]):
            if not agrees(option, entry):
                yield "cleave(1): --%s: %s in the help, %s here" % (name, (option.letter, option.value), entry[:2])
    for page in manual.pages.values():
        for name in sorted(set(page.described) - described[page.name]):
            yield "%s: --%s is described, and no verb needs that" % (page.name, name)


def mentions(command, manual):
    """The pages mention only options that exist, under the names in the help."""
    known = set(command.by_name())
    for page in manual.pages.values():
        found = set(re.findall(r"(?<![\w-])--([a-z][a-z0-9-]*)", plain(page.text)))
        for name in sorted(found - known):
            yield "%s: it speaks of --%s, which no verb has" % (page.name, name)


def lists(command, manual):
    """The lists of options are as make_pages.py generates them."""
    done = subprocess.run([sys.executable, os.path.join(MAN, "make_pages.py"), "--cleave", command.path, "--check",
                           manual.folder], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        yield "make_pages.py would change the pages:\n%s%s" % (done.stdout, done.stderr)


def helps(command, manual):
    """The help fits 80 columns. What a verb's help says about an option applies to that verb: it names no other verb
    and no option that the verb lacks. The short help fits a screen, and all its options are in the long help."""
    for verb in ["", *command.verbs]:
        words = [verb] if verb else []
        for switch in ("--help", "-h"):
            lines = command.run(*words, switch).stdout.splitlines()
            for line in lines:
                if len(line) > 80:
                    yield "the help of %r: %d columns: %s" % (verb, len(line), line)
        if verb and len(lines) > SHORT_HELP:
            yield "%s -h: %d lines" % (verb, len(lines))
        if verb:
            for name in sorted({option.name for option in options_of("\n".join(lines))} - set(command.options[verb])):
                yield "%s -h: --%s is not in the long help" % (verb, name)
    for verb, known in command.options.items():
        spellings = {"--" + name for name in known} | {"-" + option.letter for option in known.values()}
        for name, option in known.items():
            words = set(re.findall(r"(?<![\w-])[\w-]+", option.help))
            others = words & (set(command.verbs) - {verb} - WORDS)
            others |= {word for word in words if re.match(r"--?[A-Za-z]", word)} - spellings
            if "K/N" in option.value + option.help and verb != "cat":
                others.add("K/N")
            if others:
                yield "--%s: the help of %s speaks of %s" % (name, verb, ", ".join(sorted(others)))


def choices(command, manual):
    """The parser accepts the same values that the help and the manual pages list."""
    seen = 0
    every = [(home(verb, option), verb, option) for verb, known in manual.options.items() for option in known]
    every += [("cleave(1)", "", option) for option in options_of(command.run("--help").stdout)]
    for place, verb, option in every:
        name = option.name
        taken = option.value and command.choices(verb, name)
        if not taken or place not in manual.pages:
            continue
        seen += 1
        where = {"the help of %r" % verb: listed_in_help(option.help)}
        for _, _, body in manual.pages[place].described.get(name, []):
            where[place] = bold_words(body, command.verbs)
        if name in LISTS:
            page, heading = LISTS[name]
            where[heading] = set(manual.pages[page].tags(heading)) if page in manual.pages else set()
        for there, names in where.items():
            # The parser accepts only the kernels that run on this machine.
            if names != set(taken) and not (name == "kernel" and names > set(taken)):
                yield "--%s: %s in %s, %s taken" % (name, sorted(names), there, sorted(taken))
    if seen == 0:
        yield "no option is known to take names"


def verbs(command, manual):
    """cleave(1) lists the verbs in the order of the help, and each page begins its synopsis as the help does."""
    found = re.findall(r"^\.TP.*\n(.+)$", manual.pages["cleave(1)"].whole_section("VERBS"), re.M)
    names = [re.sub(r"^cleave[- ]|\(1\)$", "", words_of(tag).strip()) for tag in found]
    names = [name.split()[0] for name in names if name]
    if names != command.verbs:
        yield "verbs: %s in VERBS of cleave(1), %s in the help" % (names, command.verbs)
    for page, verb, _ in manual.of_verbs():
        usage = re.search(r"\bcleave %s\b.*" % verb, command.run(verb, "--help").stdout).group(0)
        forms = page.sections["SYNOPSIS"].split("\n.br\n")
        forms = [" ".join(words_of(line) for line in form.splitlines()) for form in forms]
        if re.sub(r"\s", "", usage) not in [re.sub(r"\s", "", form) for form in forms]:
            yield "%s: the synopsis has %s, and the help has %r" % (page.name, forms, usage)


def statuses(command, manual):
    """cleave(1) lists the exit statuses that the command can end with, and other pages mention no others."""
    with open(os.path.join(ROOT, "src", "cli", "main.cpp"), encoding="utf-8") as file:
        constants = re.findall(r"^constexpr int k\w+ = (\d+);", file.read(), re.M)
    known = manual.pages["cleave(1)"].tags("EXIT STATUS")
    if sorted({"0", *constants}) != known:
        yield "exit statuses: %s in cleave(1), 0 and %s in src/cli/main.cpp" % (known, constants)
    for page in manual.pages.values():
        text = re.sub(r"\s+", " ", plain(page.text))
        for status in sorted(set(re.findall(r"status (?:is |of )?(\d+)\b", text)) - set(known)):
            yield "%s: it speaks of the exit status %s" % (page.name, status)
        if page.verb and "cleave (1)" not in page.sections.get("EXIT STATUS", ""):
            yield "%s: EXIT STATUS does not refer to cleave(1)" % page.name


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cleave", required=True, type=os.path.abspath)
    parser.add_argument("--man", default=MAN, metavar="FOLDER", help="of the pages")
    arguments = parser.parse_args()
    command = Command(arguments.cleave)
    manual = Manual(command, arguments.man)
    checks = (pages, options, mentions, lists, helps, choices, verbs, statuses)
    faults = [fault for check in checks for fault in check(command, manual)]
    print("%d pages, %d verbs, %d options" % (len(manual.pages), len(command.verbs), len(command.by_name())))
    sys.exit("\n".join(faults) or 0)


main()
