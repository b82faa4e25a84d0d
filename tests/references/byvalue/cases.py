"""Random files for `cleave split --by`, and the options of a run. A seed alone determines a case."""
import random

from expect import Expected   # sets the path to tests/references/stages
from fields import BOM
import generate
import names

# Values that make awkward names, or are hard to tell apart.
HARD = [b"", b"a", b"A", b"aB", b"Ab", b"AB", b"ab", "ä".encode(), "Ä".encode(), b"x y", b" ", b"../x", b".", b"..", b"...",
        b"a/b", b"/etc/passwd", b"-rf", b"--", b"a\nb", b"\r\n", b"\n", b"\x1b[31m", b"\x00", b"a\x00b", b"\x7f", b"a,b", b",",
        b"%2F", b"%2f", b"%", b"__EMPTY__", b"__empty__", b"%5F_EMPTY__", b"__HIVE_DEFAULT_PARTITION__",
        b"__Hive_Default_Partition__", b"\xff\xc3", b"\xc3", b"\xed\xa0\x80", b"\xf0\x9f\x98", "𝄞é€".encode(),
        "\u0085".encode(), "\u202e".encode(), b"a.", b".a", b"-a", b"a-", b"a@2", b"A@2", b"~", b"_", b'"', b'q"q', b"'", b"\\",
        b"*", b"{i}", b"{value}", b"%s%n", b"1", b"01", b"1.0", b"null", b"NaN", b"true", b"k=v", b"=", b"a+b", b"a b",
        b"CON", b"nul.csv", "\ufeff".encode(), "\ufeffa".encode(), b"x" * 199, b"x" * 200, b"x" * 201, b"X" * 201, b"/" * 67,
        b"x" * 182 + b"/" * 10, "é".encode() * 101, b"x" * 182 + "€".encode() * 9, b"y" * 10240, b"y" * 10239 + b"z",
        b"Y" * 10240, b"h" * 252, b"h" * 253, b"h" * 254, b"h" * 255]


class Case(generate.Case):
    """The input and the options of one run. The members are named after the options."""

    def __init__(self):
        super().__init__()
        self.by = b""               # the value of --by
        self.hive = self.keep_by = self.drop_by = self.allows_open_quote = self.allows_ragged = self.strict = False
        self.buckets = self.max_keys = self.parts = None   # parts: a list of (name, weight as text)
        self.is_draw = False        # parts without --by
        self.hash_seed = 0          # for buckets and parts
        self.is_anywhere = False
        self.has_rules = False
        self.template = "value"     # value, stem, default
        self.again = None           # plain, resume, force: a second run into the same folder
        self.few_descriptors = False
        self.threads, self.block_size = 1, 64

    @property
    def drops(self):
        """Whether the columns given by --by are dropped."""
        return self.drop_by or (self.hive and not self.keep_by)

    @property
    def has_stages(self):
        return self.has_rules or self.drops


def make_case(seed):
    random_ = random.Random(seed)
    case = Case()
    case.seed = seed
    generate.make_dialect(case, random_)
    case.is_anywhere = b"--quoting=anywhere" in case.dialect_arguments
    case.header_mode = random_.choices(["repeat", "first", "drop", "none"], [5, 2, 1, 2])[0]
    make_options(case, random_)
    column_names, key_places = make_file(case, random_)
    make_by(case, column_names, key_places, random_)
    if case.has_rules:
        generate.make_stages(case, column_names, random_)
    if random_.random() < 0.12:
        generate.damage(case, random_)
    if case.data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        case.data = b"x" + case.data
    make_machine(case, random_)
    if any(path in b"\n".join(case.rules + case.files) for path in generate.TABLES):
        # The files that rules name are in the working directory, where the pieces must not be.
        case.hive, case.keep_by, case.template = False, False, "value"
    if not case.has_rules:
        case.max_record = None
    if case.buckets is None and case.parts is None and random_.random() < 0.15:
        case.max_keys = random_.choice([20, 100, 20000])
        count = len({piece.key for piece in Expected(case).pieces or []})
        if count > 1:
            case.max_keys = random_.choice([count, count - 1])   # just enough, or one too few
    return case


def make_options(case, random_):
    case.has_rules = random_.random() < 0.3
    hashed = 1 if names.xxh3 else 0
    kind = random_.choices(["value", "hive", "buckets", "parts", "draw"], [10, 3, 3 * hashed, 2 * hashed, 2 * hashed])[0]
    if kind == "hive":
        case.hive, case.keep_by = True, random_.random() < 0.4
        if case.header_mode == "none" and random_.random() < 0.8:   # without a header --hive is refused
            case.header_mode = "repeat"
    elif kind == "buckets":
        case.buckets = random_.choice([1, 2, 3, 7, 16, 100, 300])
    elif kind in ("parts", "draw"):
        case.parts, case.is_draw = make_parts(random_), kind == "draw"
    if kind in ("buckets", "parts", "draw") and random_.random() < 0.4:
        case.hash_seed = random_.choice([1, 2, 42, 2 ** 32, 2 ** 64 - 1])
    if kind not in ("hive", "draw"):
        case.drop_by = random_.random() < 0.25
    if kind in ("value", "hive") and random_.random() < 0.25:
        how = random_.choice(["l", "C", "lC", "n"] if random_.random() < 0.2 else ["l", "C", "lC"])
        if "l" in how:
            case.count = random_.choice([1, 1, 2, 3, 5, 100])
        if "C" in how:
            case.size = random_.choice([1, 20, 100, 200, 400, 1000])
        if how == "n":
            case.total = random_.choice([1, 3])
    case.allows_open_quote = not case.has_stages and random_.random() < 0.3
    case.allows_ragged = not case.has_stages and random_.random() < 0.3


def make_parts(random_):
    all_names = [b"train", b"valid", b"test", b"_", b"a-b", b"v1.2", "prüf".encode(), b"~", b"0", b"y" * 150]
    names_ = random_.sample(all_names, random_.choice([1, 2, 3, 3, 3, 7]))
    weights = random_.choice([["80", "10", "10"], ["0.8", "0.10", ".1"], ["1"], ["1", "2", "3.5"],
                              ["007", "1000000000000"], ["0.000001", "123456.75"]])
    return [(name, random_.choice(weights)) for name in names_]


def make_file(case, random_):
    """Fills case.data. Returns the names of the columns, or None, and the numbers of the columns given by --by."""
    count = random_.choices(range(1, 7), [3, 5, 5, 4, 2, 1])[0]
    key_count = random_.choices([1, 2, 3], [10, 3, 1])[0]
    key_places = random_.sample(range(count), min(count, key_count))
    column_names = make_names(count, random_)
    pools = {place: make_pool(random_) for place in key_places}
    kinds = [random_.choice(["id", "name", "number", "text", "flag", "broken"]) for _ in range(count)]
    style = random_.choice(["plain", "plain", "crlf", "mixed"])
    is_ragged = not case.has_stages and random_.random() < 0.15
    has_strays = not case.has_stages and random_.random() < 0.15
    lines = []
    if case.header_mode != "none":
        lines += [b""] * random_.choice([0] * 12 + [1, 2])
        lines.append(generate.delimited([generate.encode(name, case, random_) for name in column_names], case))
    total = random_.choices([0, 1, 5, 20, 60, 200], [1, 3, 8, 12, 6, 1])[0]
    order = random_.choice(["random", "sorted", "runs"])
    draws = [[random_.choice(pools[place]) for place in key_places] for _ in range(total)]
    if order == "sorted":
        draws.sort()
    elif order == "runs":
        draws = [draw for draw in draws[:total // 4 + 1] for _ in range(random_.choice([1, 2, 5]))][:max(total, 1)]
    for draw in draws:
        if random_.random() < 0.03:
            lines.append(b"")
        values = [generate.make_value(kind, random_) for kind in kinds]
        for place, value in zip(key_places, draw):
            values[place] = value
        fields = [generate.encode(value, case, random_) for value in values]
        if has_strays and case.dialect.quote is not None and random_.random() < 0.3:
            place = random_.randrange(count)
            if place not in key_places or not case.is_anywhere:
                fields[place] = b'5%c tv' % case.dialect.quote
        if is_ragged and random_.random() < 0.2:
            fields = fields[:random_.randrange(1, count + 1)] if random_.random() < 0.7 else fields + [b"more"]
        lines.append(generate.delimited(fields, case))
    ends = [generate.make_terminator(case, random_, style) for _ in lines]
    if lines and random_.random() < 0.3:
        ends[-1] = b""
    case.data = b"".join(line + end for line, end in zip(lines, ends))
    if random_.random() < 0.08:
        case.data = BOM + case.data
    case.column_count = count
    return (column_names if case.header_mode != "none" else None), key_places


def make_names(count, random_):
    free = [name for name in generate.NAMES if name != b""]
    random_.shuffle(free)
    found = free[:count]
    for place in range(count):
        if random_.random() < 0.06:
            found[place] = random_.choice(generate.ODD_NAMES)
    return found


def make_pool(random_):
    """Values for a column given by --by."""
    wanted = random_.choices([1, 2, 5, 20, 60], [2, 4, 8, 6, 2])[0]
    pick = random_.random()
    if pick < 0.4:
        return random_.sample(HARD, wanted)
    if pick < 0.5:
        return [b"%d" % number for number in range(wanted)]
    if pick < 0.6:   # long values that differ only near the end
        return [b"p" * random_.choice([170, 183, 184, 200, 250]) + b"%d" % number for number in range(wanted)]
    if pick < 0.7:   # values that differ only in case
        return [bytes(random_.choice([byte, byte ^ 32]) for byte in b"abcdef") for _ in range(wanted)]
    if pick < 0.85:
        return [bytes(random_.randrange(256) for _ in range(random_.randrange(1, 6))) for _ in range(wanted)]
    return [random_.choice([b"Berlin", b"Rome", b"Oslo", b"", "Köln".encode(), b"x,y", b"new\nline"])
            for _ in range(wanted)]


def make_by(case, column_names, key_places, random_):
    if case.is_draw:
        return
    count = case.column_count
    case.by = b",".join(generate.column(place, column_names, count, random_) for place in key_places)
    if random_.random() < 0.03:
        case.by = random_.choice([b"#%d" % (count + 1), b"no such", b"none", b"*", b"#0", b"", b"!#1", b"#1,#1", b"#1,"])


def make_machine(case, random_):
    case.source = random_.choices(["file", "redirect", "pipe", "gzip"], [12, 3, 5, 2])[0]
    if len(case.data) > 60000 and case.source == "pipe":
        case.source = "file"
    if case.source in ("pipe", "gzip"):
        # Needed only for expect.needs_spool(); otherwise the spooled data are redacted.
        case.spool = case.has_rules and random_.random() < (0.7 if (case.buckets or case.parts) and case.drop_by else 0.2)
    case.compress = random_.random() < 0.05
    case.manifest = random_.random() < 0.3
    case.report = case.has_rules and random_.random() < 0.1
    case.template = random_.choice(["value", "value", "stem", "default"])
    case.again = random_.choices([None, "plain", "resume", "force"], [20, 1, 1, 1])[0]
    case.few_descriptors = random_.random() < 0.1
    case.threads = random_.choice([1, 1, 2, 3, 4, 8, 16])
    case.block_size = random_.choice([64, 64, 65, 100, 127, 128, 300, 1000, 1 << 20])
