"""What the command says about itself: verbs, options and choices, read from its help and its messages."""
import collections
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests/tools"))
Option = collections.namedtuple("Option", "letter name value help")     # "" if there is none


def options_of(text):
    """The options in the help of a verb, in order."""
    text = re.sub(r"\n {28,}(?=\S)", " ", text)      # continuation lines
    return [Option(*row) for row in re.findall(r"^  (?:-(\S), |    )--([a-z][a-z0-9-]*)(?: ([A-Z][^a-z\s]*))? +(.*)", text,
                                               re.M)]


class Command:
    """`options` has the options of each verb by name; the general ones belong to the verb ""."""

    def __init__(self, path):
        self.path = path
        self.verbs = re.findall(r"^  cleave (\w+) ", self.run("--help").stdout, re.M)
        self.options = {verb: {option.name: option for option in options_of(self.run(*verb.split(), "--help").stdout)}
                        for verb in ["", *self.verbs]}
        if not self.verbs or not all(self.options.values()):
            raise SystemExit("the help cannot be read")

    def run(self, *words):
        return subprocess.run([self.path, *words], capture_output=True, text=True, stdin=subprocess.DEVNULL)

    def choices(self, verb, name):
        """The values that the parser says it takes, or None if it takes anything."""
        needed = {"split": ["-n", "1"], "offsets": ["-n", "1"], "cat": ["-n", "1/1"]}.get(verb, [])
        if name in ("records", "max-bytes", "pieces", "every"):
            needed = []
        if name == "escape-scope":
            needed = [*needed, "--escape", "\\"]
        words = [verb, *needed, "--%s=no-choice" % name, "/no/such/input"] if verb else ["--%s=no-choice" % name]
        listed = re.search(r"(?:is not one of|there are): (.*)$", self.run(*words).stderr, re.M)
        return listed and listed.group(1).split(", ")
