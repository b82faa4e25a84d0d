"""Random inputs with a secret in each column that a rule names, and random command lines for the verbs that apply
rules."""

# The operations that hide a value, and how each value is written in its field.
OPERATIONS = [(b"null", b"%s"), (b'fixed("x, y")', b"%s"), (b"hmac(p)", b"%s"),
              (b"hmac(p, trim, lower, bytes=32)", b" %s"), (b"mask", b"%s"), (b"mask(first=1, last=2)", b"%s"),
              (b"initials", b"Ann %s"), (b"short-name", b"Ann %s"), (b"email(local=mask)", b"%s@x.example"),
              (b"email(local=hmac(p))", b"%s@x.example"), (b"date(year)", b"%s"), (b"bucket(10)", b"%s"),
              (b"hmac(p, version=2, prefix)", b"%s"), (b"form(p)", b"%s 12"), (b"encrypt(p, context=c, prefix)", b"%s"),
              (b"pick(p, list)", b"%s"), (b"generalise(levels)", b"%s"), (b"noise(p, sd=1, by=id)", b"%s"),
              (b"round(5)", b"%s"), (b"top(90)", b"%s"), (b"drop", b"%s")]
FILES = {"list": b"Ann\nBob\n", "levels": b"0..9,digit\n*,other\n"}   # those that operations name
NAMES = [b"name", b"mail", b"ssn", b"born", b"phone", b"pay", b'"home town"', "straße".encode(), b'"of, 2"']
PLAIN = [b"id", b"kind", b"note"]   # the columns that stay as they are


class Table:
    """Columns and records. The operation `drop` means that --select leaves the column out."""

    def __init__(self, case, count=None, can_drop=True):
        chance = case.chance
        self.case, self.chance, self.end = case, chance, chance.choice((b"\n", b"\n", b"\r\n"))
        self.hidden = {name: chance.choice(OPERATIONS if can_drop else OPERATIONS[:-1])
                       for name in chance.sample(NAMES, chance.randint(1, 4))}
        self.names = PLAIN + list(self.hidden)
        chance.shuffle(self.names)
        self.secret_of = {name: case.secret() for name in self.hidden}
        self.records = [self.record(number) for number in range(chance.randint(2, 12) if count is None else count)]

    def record(self, number):
        values = {b"id": b"%d" % number, b"kind": self.chance.choice((b"a", b"b", b'"a"')), b"note": b"text"}
        for name, (_, form) in self.hidden.items():
            value = form % self.secret_of[name]
            look = self.chance.randrange(6)
            if look == 0:
                value = b'"%s"' % value
            elif look == 1:
                value = b'"%s, ""and"",\n%s"' % (value, b"x" * self.chance.randrange(20))
            values[name] = value
        return values

    def line(self, values):
        return b",".join(values[name] for name in self.names) + self.end

    def lines(self):
        return [self.line(values) for values in self.records]

    def header(self, names=None):
        return b",".join(names or self.names) + self.end

    def bytes(self, lines=None, names=None):
        return self.header(names) + b"".join(self.lines() if lines is None else lines)

    def numbers(self):
        return {name: b"#%d" % number for number, name in enumerate(self.names, 1)}

    def rules(self, called=None):
        """Words that hide every secret. `called` maps columns to the names used for them."""
        called, rules = called or {name: name for name in self.names}, []
        dropped = [name for name, (operation, _) in self.hidden.items() if operation == b"drop"]
        words = [b"-d", b","]
        if dropped:
            words += [b"--select", b",".join(b"!" + called[name] for name in dropped)]
        for name, (operation, _) in self.hidden.items():
            if operation != b"drop":
                rules.append(called[name] + b": " + operation.replace(b"by=id", b"by=" + called[b"id"]))
        for path, content in FILES.items():
            if any(b"%s)" % path.encode() in rule for rule in rules):
                self.case.give(path, content)
        if rules and self.chance.random() < 0.2:
            self.case.give("rules", b"".join(rule + b"\n" for rule in rules))
            words += [b"--rules", b"rules"]
        else:
            words += [word for rule in rules for word in (b"--redact", rule)]
        if b"(p" in b"".join(rules):
            words += self.case.give_key()
        return words + self.chance.choice(([], [b"--redact-default", b"keep"], [b"--quiet"]))


FILE = ("file",)
VERBS = (b"cat", b"check", b"split", b"by", b"filter")
PIECES = [b"-o", b"out/p.{i}.csv"]


def verb(case, names=VERBS, by=b"kind"):
    """Words for a verb that applies rules to the source of the case."""
    chance, name = case.chance, case.chance.choice(names)
    spool = [b"--spool", b"plain"] if case.is_stream else []
    machine = chance.choice(([], [b"-j", b"1"], [b"-j", b"3"], [b"-j", b"3", b"--block-size", b"1K"]))
    if name == b"cat":
        return [b"cat", *machine, *report(chance)]
    if name == b"check":
        return [b"check", *machine, *chance.choice(([], [b"--json"], [b"--all"])), *report(chance)]
    if name == b"filter":
        command = chance.choice((b"cat", b"cat >&2", b"env; cat"))
        return [b"split", b"-l", b"3", *machine, b"--filter", command, *PIECES]
    if name == b"by":
        how = chance.choice(([*PIECES, b"--buckets", b"2"], [*PIECES, b"--parts", b"x=1,y=3"],
                             [b"-o", b"out/{value}.csv"],
                             [b"-o", b"out/{value}/{i}.csv", b"--mkdir"],
                             [b"-o", b"out/{value}/{i}", b"--mkdir" if by.startswith(b"#") else b"--hive"],
                             [b"-o", b"out/{value}.{i}", b"-l", b"2"],
                             [*PIECES, b"--buckets", b"2", b"--drop-by", *spool]))
        return [b"split", b"--by", by, *how, *machine, *beside(chance)]
    how = chance.choice(([b"-l", b"3"], [b"-C", b"3K"], [b"-n", b"3", *spool], [b"-l", b"1000"],
                         [b"-n", b"2", b"--together", by, *spool]))
    where = chance.choice((PIECES, PIECES, [b"-o", b"out/deep/{i}/p", b"--mkdir"]))
    return [b"split", *how, *where, *machine, *beside(chance)]


def report(chance):
    return chance.choice(([], [], [b"--redact-report", b"out/r.json"], [b"-v"]))


def beside(chance):
    """Options for what a split may print and leave beside its pieces."""
    return chance.choice(([], [b"--manifest", b"out/m.json"], [b"--redact-report", b"out/r.json"], [b"--json", b"-v"],
                          [b"--manifest", b"out/m.json", b"--redact-report",
                              b"out/r.json", b"--checksum"], [b"--print-names"],
                          [b"--dry-run"], [b"--resume"], [b"--compress", b"gzip"], [b"--force", b"--sync"],
                          [b"--manifest", b"-", b"--redact-report", b"/dev/stderr"], [b"--header", b"drop"]))
