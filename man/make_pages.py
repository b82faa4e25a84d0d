#!/usr/bin/env python3
"""Fill in the lists of options in the manual pages of the verbs, from the command's own help.

  make_pages.py --cleave PATH [--check] [FOLDER]

A page cleave-VERB.1 describes some options in full and only lists the others. The lists are the lines between

  .\\" options: GROUP
  .\\" end of options

where GROUP is a heading of "cleave VERB --help". Each list names the page that describes its options in full: see home().
--check changes nothing. It prints what would change, and fails if anything would.
"""
import argparse
import collections
import difflib
import glob
import os
import re
import subprocess
import sys

# The pages that describe a group of options in full, for all verbs. The page of a verb describes the other groups.
PAGE_OF_GROUP = {"Records": "cleave-redaction(7)", "Dialect": "cleave-dialects(7)",
                 "Malformed input": "cleave-dialects(7)", "Machine": "cleave(1)", "Other": "cleave(1)"}
PAGE_OF_OPTION = dict.fromkeys(["memory-manager", "device", "device-memory", "explain"], "cleave-redaction(7)")
# For this verb, the group Machine is the main subject.
OWN_GROUPS = {"info": ["Machine"]}
# The help lists only the kernels of the machine's processor.
WORDS_OF_PAGE = {"kernel": "the instruction set to scan with [fastest]"}
REGION = re.compile(r'^(\.\\" options: ([^\n]+)\n)(.*?)(^\.\\" end of options\n)', re.M | re.S)

Option = collections.namedtuple("Option", "letter name value help group")     # "" if there is none


def options_of(text):
    """The options in the help of a verb, in order."""
    found, group = [], ""
    text = re.sub(r"\n {28,}(?=\S)", " ", text)      # continuation lines
    for line in text.splitlines():
        if re.fullmatch(r"\S.*:", line):
            group = line[:-1]
        row = re.fullmatch(r"  (?:-(\S), |    )--([a-z][a-z0-9-]*)(?: ([A-Z][^a-z\s]*))? +(.*)", line)
        if row:
            found.append(Option(row[1] or "", row[2], row[3] or "", row[4], group))
    return found


def page_of(verb):
    return "cleave-%s(1)" % verb


def home(verb, option):
    """The page that describes an option of the verb in full."""
    if option.group not in PAGE_OF_GROUP or option.group in OWN_GROUPS.get(verb, []):
        return page_of(verb)
    return PAGE_OF_OPTION.get(option.name, PAGE_OF_GROUP[option.group])


def roff(text):
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq")
    return "\\&" + text if text.startswith((".", "\\(aq")) else text


def listed(verb, options):
    """The lines of a list, with the options grouped by page."""
    lines = []
    for page in dict.fromkeys(home(verb, option) for option in options):
        name, _, section = page.partition("(")
        lines += [] if not lines else [".PP"]
        lines += ["For details see", ".BR %s (%s." % (roff(name), section), ".PP", ".PD 0"]
        for option in options:
            if home(verb, option) != page:
                continue
            tag = "\\fB\\-%s\\fR, " % option.letter if option.letter else ""
            tag += "\\fB\\-\\-%s\\fR" % roff(option.name) + (" \\fI%s\\fR" % roff(option.value) if option.value else "")
            lines += [".TP 28", tag, roff(WORDS_OF_PAGE.get(option.name, option.help))]
        lines += [".PD"]
    return "".join(line + "\n" for line in lines)


def filled(text, verb, options):
    """The text of a page with its lists brought up to date."""
    def fill(region):
        begin, group, _, end = region.groups()
        those = [option for option in options if option.group == group and home(verb, option) != page_of(verb)]
        if not those:
            sys.exit("the page of %s lists options of the group %s, but its help has none" % (verb, group))
        return begin + listed(verb, those) + end
    return REGION.sub(fill, text)


def without_lists(text):
    return REGION.sub("", text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cleave", required=True, type=os.path.abspath, metavar="PATH", help="the command")
    parser.add_argument("--check", action="store_true", help="only compare")
    parser.add_argument("folder", nargs="?", default=os.path.dirname(os.path.abspath(__file__)), metavar="FOLDER")
    arguments = parser.parse_args()
    differ = False
    for path in sorted(glob.glob(os.path.join(glob.escape(arguments.folder), "cleave-*.1"))):
        with open(path, encoding="utf-8") as file:
            old = file.read()
        if not REGION.search(old):
            continue
        name = os.path.basename(path)
        verb = name[len("cleave-"):-len(".1")]
        done = subprocess.run([arguments.cleave, verb, "--help"], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit("%s --help: %s" % (verb, done.stderr))
        new = filled(old, verb, options_of(done.stdout))
        if arguments.check and new != old:
            differ = True
            sys.stdout.writelines(difflib.unified_diff(old.splitlines(keepends=True), new.splitlines(keepends=True),
                                                       name, name + ", as the help has it"))
        elif new != old:
            with open(path, "w", encoding="utf-8") as file:
                file.write(new)
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
