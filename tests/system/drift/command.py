"""What the command says about itself: verbs, options and choices, read from its help and its messages."""
import collections
import re
import subprocess

Option = collections.namedtuple("Option", "letter value help")     # "" if absent


class Command:
    def __init__(self, path):
        self.path = path
        general = self.run("--help").stdout
        self.verbs = re.findall(r"^  cleave (\w+) ", general, re.M)
        self.general = options_in(general)
        self.options = {verb: options_in(self.run(verb, "--help").stdout) for verb in self.verbs}
        if not self.verbs or not self.general or not all(self.options.values()):
            raise SystemExit("the help cannot be read")

    def run(self, *arguments):
        return subprocess.run([self.path, *arguments], capture_output=True, text=True, stdin=subprocess.DEVNULL)

    def by_name(self):
        """name -> {verb: Option}; the verb of general options is "" """
        found = collections.defaultdict(dict)
        for verb, options in [("", self.general), *self.options.items()]:
            for name, option in options.items():
                found[name][verb] = option
        return found

    def choices(self, verb, name):
        """The values that the parser says it takes, or None if it takes anything."""
        needed = {"split": ["-n", "1"], "offsets": ["-n", "1"], "cat": ["-n", "1/1"]}.get(verb, [])
        if name in ("records", "max-bytes", "pieces", "every"):
            needed = []
        if name == "escape-scope":
            needed = [*needed, "--escape", "\\"]
        words = [verb, *needed, "--%s=no-choice" % name, "/no/such/input"] if verb else ["--%s=no-choice" % name]
        message = self.run(*words).stderr
        listed = re.search(r"(?:is not one of|there are): (.*)$", message, re.M)
        return listed and listed.group(1).split(", ")


def options_in(text):
    """name -> Option, from the lines of a help text."""
    text = re.sub(r"\n {28,}(?=\S)", " ", text)      # continuation lines
    rows = re.findall(r"^  (?:-(\S), |    )--([a-z][a-z0-9-]*)(?: ([A-Z][^a-z\s]*))? +(.*)$", text, re.M)
    return {name: Option(letter, value, text) for letter, name, value, text in rows}
