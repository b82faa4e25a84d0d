#!/usr/bin/env python3
"""Compare the command's help and messages with the manual page and the README.

  pages_test.py --cleave PATH
"""
import argparse
import os
import re
import sys

from command import Command

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
# Where the names that an option takes have a list of their own, beside the option's entry.
LISTS = {"format": "OFFSETS FORMATS", "clone": "SHARED BLOCKS", "terminator": "Terminators", "quoting": "Quote rules"}


def read(path):
    with open(os.path.join(ROOT, path)) as file:
        return file.read()


def plain(roff):
    """A piece of a line without its fonts and escapes."""
    return re.sub(r"\\f[BIR]", "", roff).replace(r"\-", "-").replace(r"\|", "").replace(r"\&", "").replace(r"\e", "\\")


class Page:
    """The manual page: the tagged paragraphs of each section, by heading."""

    def __init__(self, text):
        self.sections = {}
        for part in re.split(r"^\.S[HS] ", text, flags=re.M)[1:]:
            heading, _, body = part.partition("\n")
            self.sections[plain(heading).strip('"')] = body
        self.synopsis = self.sections["SYNOPSIS"]
        options = re.search(r"^\.SH OPTIONS\n(.*?)^\.SH ", text, re.M | re.S).group(1)
        self.options = {}
        for entry in re.split(r"^\.(?:TP|SS .*)\n", options, flags=re.M)[1:]:
            tag, _, body = entry.partition("\n")
            found = re.fullmatch(r"(?:\.B )?(?:-(\S), )?--([a-z][a-z0-9-]*)(?: (\S+))?", plain(tag))
            if found:
                letter, name, value = found.groups("")
                self.options[name] = (letter, value, body)

    def tags(self, heading):
        """The words of the tags of a section, without fonts."""
        found = re.findall(r"^\.TP\n\.BR? (.+)$", self.sections[heading], re.M)
        return [plain(tag).strip() for tag in found]


def bold_words(body, verbs):
    """The names that an entry sets in bold, and those of its table; verbs and options are no names."""
    words = []
    for macro, rest in re.findall(r"^\.(B[RI]?) (.*)$", body, re.M):
        texts = [quoted or bare for quoted, bare in re.findall(r'"([^"]*)"|(\S+)', rest)]
        words += texts[::2] if macro != "B" else [" ".join(texts)]
    table = re.search(r"^\.EX\n.*\n((?:.+\n)+?)\.EE", body, re.M)
    words += re.findall(r"^(\S+)", table.group(1), re.M) if table else []
    return {word for word in map(plain, words) if re.fullmatch(r"[a-z0-9][a-z0-9-]*", word)} - set(verbs)


def listed_in_help(text):
    """"which: a (so), b, c [a]" lists a, b and c."""
    return set(re.split(r",? +", re.sub(r" *\(.*?\)| *\[.*\]$", "", text.rpartition(": ")[2]).strip()))


def agrees(option, entry):
    """The tag of an entry may have several value words, N|K/N."""
    letter, value, _ = entry
    return option.letter == letter and option.value in value.split("|")


def options(command, page):
    """Each option has its entry, with the same letter and value word, and each entry its option."""
    by_name = command.by_name()
    for name in sorted(set(by_name) ^ set(page.options)):
        yield "--%s is only in the %s" % (name, "help" if name in by_name else "manual page")
    for name, uses in by_name.items():
        for verb, option in uses.items():
            if name in page.options and not agrees(option, page.options[name]):
                yield "--%s: %s in the help of %r, %s in the manual page" % (
                    name, (option.letter, option.value), verb, page.options[name][:2])


def helps(command, page):
    """The help fits 80 columns, and what a verb says of an option is true of this verb: it names no other verb, and no
    option that the verb does not have."""
    for verb in ["", *command.verbs]:
        words = [verb] if verb else []
        for line in command.run(*words, "--help").stdout.splitlines():
            if len(line) > 80:
                yield "the help of %r: %d columns: %s" % (verb, len(line), line)
    for verb, known in command.options.items():
        spellings = {"--" + name for name in known} | {"-" + option.letter for option in known.values()}
        for name, option in known.items():
            words = set(re.findall(r"(?<![\w-])[\w-]+", option.help))
            others = words & (set(command.verbs) - {verb})
            others |= {word for word in words if re.match(r"--?[A-Za-z]", word)} - spellings
            if "K/N" in option.value + option.help and verb != "cat":
                others.add("K/N")
            if others:
                yield "--%s: the help of %s speaks of %s" % (name, verb, ", ".join(sorted(others)))


def choices(command, page):
    """The names that the parser takes are those of the help and of the manual page."""
    seen = 0
    for name, uses in command.by_name().items():
        for verb, option in uses.items():
            taken = option.value and command.choices(verb, name)
            if not taken:
                continue
            seen += 1
            body = page.options.get(name, ("", "", ""))[2]
            where = {"the help of %r" % verb: listed_in_help(option.help),
                     "the manual page": bold_words(body, command.verbs)}
            if name in LISTS:
                where[LISTS[name]] = set(page.tags(LISTS[name]))
            for place, names in where.items():
                # The parser takes the kernels that run on this machine.
                if names != set(taken) and not (name == "kernel" and names > set(taken)):
                    yield "--%s: %s in %s, %s taken" % (name, sorted(names), place, sorted(taken))
    if seen == 0:
        yield "no option is known to take names"


def verbs(command, page):
    """Synopsis, VERBS and the examples of the README know the verbs."""
    in_synopsis = re.findall(r"^\.B cleave ([a-z]+)", page.synopsis, re.M)
    for place, names in [("SYNOPSIS", in_synopsis), ("VERBS", page.tags("VERBS"))]:
        if names != command.verbs:
            yield "verbs: %s in %s, %s in the help" % (names, place, command.verbs)
    examples = "".join(re.findall(r"^\$ .*\n", read("README.md"), re.M))
    used = set(re.findall(r"\bcleave ([a-z]+)", examples))
    if used != set(command.verbs):
        yield "verbs: the examples of the README show %s, the help has %s" % (sorted(used), sorted(command.verbs))


def readme(command, page):
    """The README names known options only, all presets, and the exit codes of the manual page."""
    text = read("README.md")
    known = set(command.by_name())
    spans = re.findall(r"`cleave[^`]*`|`--[^`]*`|^\$ .*cleave.*$", text, re.M)
    for name in sorted({name for span in spans for name in re.findall(r"(?<=--)[a-z][a-z0-9-]*", span)} - known):
        yield "the README speaks of --%s, which no verb has" % name
    presets = re.search(r"`--dialect NAME`[^:]*: `([^`]*)`", text).group(1).split()
    if presets != command.choices("count", "dialect"):
        yield "the README's presets are %s" % presets
    codes = re.findall(r"^\| (\d) \| ", text, re.M)
    if codes != page.tags("EXIT STATUS"):
        yield "exit codes: %s in the README, %s in the manual page" % (codes, page.tags("EXIT STATUS"))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cleave", required=True, type=os.path.abspath)
    command, page = Command(parser.parse_args().cleave), Page(read("man/cleave.1"))
    faults = [fault for check in (options, helps, choices, verbs, readme) for fault in check(command, page)]
    print("%d verbs, %d options" % (len(command.verbs), len(command.by_name())))
    sys.exit("\n".join(faults) or 0)


main()
