"""Random small files, and random rules for them. A seed alone determines a case.

Most cases are valid. Some files break the strict rules, and some rules are refused; the oracle says which.
"""
import datetime
import random

import operations
from fields import BOM, Dialect, Fault, CR, LF, read_record

SECRET = b"Zq7secret"
# The files that rules can name.
TABLES = {
    b"names.txt": "Ann\nBob\r\n\nCarl, the 3rd\nÄnne \n\"Dee\"".encode(), b"one.txt": b"\xef\xbb\xbfx",
    b"levels.csv": b"0..9,digit,small\r\n10..99.5,\"two, digits\",small\n-5..-1,minus,\npublic,open,\"a \"\"b\"\"\"\n"
                   b"..,dots,\n\n100..1000000,large,large\nAnn,first,name\n*,other,\n",
    b"few.csv": b"1..500,half,all\n501..1000,rest,all\npublic,open,x\n", b"half.csv": b"0..17,a\n18..,b\n*,c\n"}
KEYS = {b"k": bytes(range(32)), b"pii": b"\x00\xff\n" * 100, b"long-key.2": b"xy" * 32}
FORMS = ["base64url", "hex", "decimal"]

NAMES = [b"id", b"name", b"mail", b"date", b"amount", b"city", b"note", b"a", b"b", b"c", b"d", b"addr1", b"addr2",
         b"addr_zip", b"tel.", "Größe".encode(), b"visibility", b"in", b"empty", b"select", b"7", b"x@y", b"+z"]
ODD_NAMES = [b"", b" ", b"*", b"x*", b"a-c", b"a-b", b"e mail", b"a,b", b"a;b", b'q"q', b"new\nline", b"#1", b"if: x",
             b"!no", b"\xff\xc3", b"tab\there", b"=", b"{x}", b"back\\slash", b"it's", b"cr\rhere",
             b"2024-01", b"202401", b"1.5", b"15", b"C", b"C#", b"C++", b"x1", b"xl"]
WORDS = [b"Ann", b"Mary", b"Lee", b"John", b"Doe", "Åsa".encode(), "Öberg".encode(), b"de", "李".encode(),
         "𝄞".encode(), b"X", b"O'Neil"]
BROKEN = [b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82", b"\x80", b"\xc3", b"\xf0\x9f\x98",
          b"\xbf\xbf", b"\xe0\x9f\x80", b"\xf8\x88"]


class Case:
    """The input and the options of one run. The members are named after the options."""

    def __init__(self):
        self.seed = 0
        self.data = b""
        self.dialect = None
        self.dialect_arguments = []
        self.header_mode = "repeat"
        self.select = None
        self.rules = []
        self.files = []
        self.keys = {}
        self.kinds = []
        self.null_token = None
        self.default = None
        self.forbid = []
        self.max_record = None
        self.verb = "split"
        self.count = None           # -l
        self.size = None            # -C
        self.total = None           # -n
        self.piece = None           # cat -n PIECE/TOTAL
        self.together = None        # a column, written as in rules
        self.source = "file"        # file, redirect, pipe, gzip
        self.compress = False       # whether the pieces are compressed with gzip
        self.manifest = False
        self.key_fault = None       # missing, short, readable, directory
        self.spool = False
        self.report = False
        self.repeated = None        # an option that is given twice, which gives exit status 2
        self.column_count = 0
        self.secrets = {}           # column number from 0 -> its secret values


def make_case(seed, stages=True):
    random_ = random.Random(seed)
    case = Case()
    case.seed = seed
    make_dialect(case, random_)
    case.header_mode = random_.choices(["repeat", "first", "drop", "none"], [5, 2, 1, 2])[0]
    names = make_file(case, random_)
    if stages:
        make_stages(case, names, random_)
    if random_.random() < (0.15 if stages else 0):
        damage(case, random_)
    make_how(case, random_, stages)
    if case.total is not None or case.count is not None or case.size is not None:
        make_together(case, names, random.Random(-seed - 2), stages)
    return case


def make_together(case, names, random_, stages):
    if random_.random() < 0.7:
        return
    count = len(names) if names is not None else case.column_count
    place = random_.randrange(count)
    case.together = column(place, names, count, random_)
    if random_.random() < 0.05:
        case.together = random_.choice([b"#%d" % (count + 1), b"none", b"*", b"#0", b"a,b", b"", b"!a"])
    case.data = with_runs(case, random_)
    if case.source in ("pipe", "gzip"):
        case.spool = stages and random_.random() < 0.7


def with_runs(case, random_):
    """The file with most records of its body repeated."""
    records, at = [], 0
    try:
        while at < len(case.data):
            records.append(read_record(case.data, at, case.dialect))
            at = records[-1].end
    except Fault:
        return case.data
    body = 0
    while case.header_mode != "none" and body < len(records) and records[body].is_empty:
        body += 1
    body += 1  # The header, or without one the first record, which may have a byte order mark.
    out = case.data[:records[body].start] if body < len(records) else case.data
    for record in records[body:]:
        copies = random_.choice([1, 2, 2, 5]) if record.terminator else 1
        out += case.data[record.start:record.end] * copies
    return out


def make_dialect(case, random_):
    delimiter = random_.choices([b",", b";", b"\t", b"|", b" ", b"\xa7"], [10, 3, 3, 2, 1, 1])[0]
    quote = random_.choices([b'"', b"'", b"~", None], [12, 3, 1, 3])[0]
    escape = random_.choices([None, b"\\", b"^", quote], [10, 4, 2, 1])[0]
    scope = random_.choice(["everywhere", "quoted"])
    terminator = random_.choices(["lf", "cr", "any"], [7, 2, 2])[0]
    quoting = random_.choices([None, b"field-start", b"anywhere"], [3, 1, 1])[0]
    arguments = [b"--delimiter=" + delimiter, b"--terminator=" + terminator.encode()]
    if quote is None:
        arguments.append(b"--no-quote")
    elif quote != b'"' or random_.random() < 0.3:
        arguments.append(b"--quote=" + quote)
    if escape is not None:
        arguments.append(b"--escape=" + escape)
        if scope == "quoted" or random_.random() < 0.3:
            arguments.append(b"--escape-scope=" + scope.encode())
    if quoting is not None and quote is not None:
        arguments.append(b"--quoting=" + quoting)
    if escape == quote:
        escape = None
    case.dialect_arguments = arguments
    case.dialect = Dialect(delimiter[0], quote[0] if quote else None, escape[0] if escape else None,
                           escape is not None and scope == "everywhere", terminator)


def encode(value, case, random_):
    """The bytes of a field with this value, minus the bytes that the dialect cannot carry."""
    dialect = case.dialect
    special = {dialect.delimiter, CR, LF}
    if dialect.quote is not None:
        special.add(dialect.quote)
    if dialect.escape is not None:
        special.add(dialect.escape)
    must = any(byte in special for byte in value)
    if dialect.quote is not None and (random_.random() < 0.25 or (must and not dialect.escape_everywhere)
                                      or (must and random_.random() < 0.5)):
        out = bytearray([dialect.quote])
        for byte in value:
            if byte == dialect.quote:
                out.append(dialect.escape if dialect.escape is not None and random_.random() < 0.6 else byte)
            elif dialect.escape is not None and (byte == dialect.escape or random_.random() < 0.03):
                out.append(dialect.escape)
            out.append(byte)
        out.append(dialect.quote)
        return bytes(out)
    if dialect.escape_everywhere:
        out = bytearray()
        for byte in value:
            if byte in special or random_.random() < 0.02:
                out.append(dialect.escape)
            out.append(byte)
        return bytes(out)
    if dialect.quote is None and dialect.escape is not None and random_.random() < 0.8:
        special.discard(dialect.escape)  # With escape scope `quoted` it is plain data.
    return bytes(byte for byte in value if byte not in special)


def make_value(kind, random_):
    if kind == "id":
        return b"%d" % random_.randrange(1000)
    if kind == "name":
        space = b" " if random_.random() < 0.9 else b"  "
        value = space.join(random_.choice(WORDS) for _ in range(random_.choice([1, 2, 2, 2, 3, 4])))
        return random_.choice([value, value, value, value, b" " + value, value + b" "])
    if kind == "mail":
        local = random_.choice([b"ann", b"j.doe", "ö".encode(), b"", b"a@b", b"x y", b"A+b"])
        domain = random_.choice([b"example.org", b"x", b"a-b.co.uk", b"", b"ex_ample.org", b"example.org "])
        return local + random_.choice([b"@", b"@", b"@", b""]) + domain
    if kind == "date":
        day = b"%04d-%02d-%02d" % (random_.choice([0, 1900, 1999, 2000, 2023, 2024, 9999]),
                                   random_.choice([1, 2, 2, 4, 12, 12, 13, 0]),
                                   random_.choice([1, 17, 28, 29, 30, 31, 32, 0]))
        rest = random_.choice([b"", b"", b"", b"T10:20", b" 23:59:60", b"T00:00:00.123Z", b" 01:02:03+0200",
                               b"T01:02+01:00", b"T24:00", b"  10:20", b"T10:20:30.", b"T10", b" ", b"Z", b"T10:20-2",
                               b"T10:20:30-23:60", b"T10:20+05", b"T10:20 Z"])
        return day + rest if random_.random() < 0.95 else random_.choice([b"17.5.2024", b"2024-5-17", b"20240517"])
    if kind == "day":
        day = datetime.date(random_.choice([1, 1900, 1999, 2000, 2023, 2024, 9999]), random_.randrange(1, 13),
                            random_.randrange(1, 29)) + datetime.timedelta(days=random_.randrange(4))
        text = random_.choice(["%04d-%02d-%02d", "%04d-%02d-%02d", "%04d%02d%02d", "%04d/%02d/%02d"])
        rest = random_.choice([b"", b"", b"", b"T10:20", b" 23:59:60", b" 01:02:03+0200"])
        return (text % (day.year, day.month, day.day)).encode() + rest
    if kind == "token":
        made = operations.encrypt(make_value(random_.choice(["name", "id", "text"]), random_), KEYS[b"k"],
                                  b"", random_.choice([b"", b"", b"v2."]))
        return made if random_.random() < 0.99 else made[:-1] + random_.choice([b"A", b"", b"=", b"AA"])
    if kind == "number":
        digits = b"%d" % random_.randrange(10 ** random_.choice([1, 1, 3, 5, 20]))
        value = random_.choice([b"", b"", b"-", b"+"]) + random_.choice([b"", b"", b"0", b"000"]) + digits
        if random_.random() < 0.4:
            value += b"." + random_.choice([b"0", b"5", b"25", b"001", b"999999", b"50", b""])
        return random_.choice([value] * 12 + [b"1e3", b"." + digits, b" " + value, b"--1", b"NaN"])
    if kind == "text":
        alphabet = [b"x", b"y", b" ", b",", b";", b'"', b"'", b"\\", b"^", b"\n", b"\r", b"\r\n", b"|", b"\t",
                    "é".encode(), b"~", b"\xa7", b'""', b"\\\\", b"z" * 30]
        return b"".join(random_.choice(alphabet) for _ in range(random_.randrange(9)))
    if kind == "broken":
        return b"".join(random_.choice(BROKEN + WORDS[:3] + ["é€".encode()]) for _ in range(random_.randrange(4)))
    if kind == "flag":
        return random_.choice([b"public", b"private", b"", b"x y"])
    if kind == "card":
        return random_.choice([b"4111111111111111", b"4111 1111 1111 1111", b"4111111111111112",
                               b"x 5500-0000-0000-0004."])
    if kind == "tripwire":
        text = random_.choice([b"GB29 NWBK 6016 1331 9268 19", b"at611904300234573201", b"DE89370400440532013000",
                               b"+43 (1) 234-56.78", b"+1 555 010 9999", b"10.0.0.1", b"2001:db8::1", b"::ffff:10.0.0.1",
                               b"1:2:3:4:5:6:7:8", b"1980-05-17", b"17.5.1980", b"05/17/1980", b"AKIAABCDEFGH01234567",
                               b"ghp_" + b"aB3" * 12, b"-----BEGIN RSA PRIVATE KEY-----", b"+43123456789",
                               b"host:10.0.0.1", b"17. 5. 2024", b"-----BEGIN PGP PRIVATE KEY BLOCK-----"])
        for _ in range(random_.choice([0, 0, 1, 1, 2])):
            at = random_.randrange(len(text) + 1)
            text = text[:at] + random_.choice([b"", b"1", b"x", b" ", b".", b":", b"-", b"+", b"(", "\u00a0".encode()]) + \
                text[at + random_.randrange(2):]
        return random_.choice([b"", b"", b"to ", b"x", b"7", b"("]) + text + random_.choice([b"", b"", b".", b" x", b":"])
    return SECRET + b"%010x" % random_.getrandbits(40)


def make_terminator(case, random_, style):
    if case.dialect.terminator == "cr":
        return b"\r"
    if case.dialect.terminator == "lf":
        return {"plain": b"\n", "crlf": b"\r\n"}.get(style) or random_.choice([b"\n", b"\r\n"])
    return {"plain": b"\r", "crlf": b"\r\n"}.get(style) or random_.choice([b"\r", b"\n", b"\r\n"])


def make_file(case, random_):
    """Fills case.data and case.secrets. Returns the names of the columns, decoded, or None."""
    count = random_.choices(range(1, 9), [3, 3, 4, 4, 3, 2, 2, 2])[0]
    style = random_.choice(["plain", "plain", "crlf", "mixed"])
    names = []
    for _ in range(count):
        pick = random_.random()
        if pick < 0.04 and names:
            names.append(random_.choice(names))
        elif pick < 0.05 and names:
            names.append(random_.choice(names).upper())
        elif pick < 0.06 and names:
            names.append(similar_name(random_.choice(names), random_))
        elif pick < 0.15:
            names.append(random_.choice(ODD_NAMES))
        else:
            free = [name for name in NAMES if name not in names]
            names.append(random_.choice(free))
    kinds = random_.choices(["id", "name", "mail", "date", "number", "text", "broken", "flag", "secret", "card",
                             "day", "token", "tripwire"], [3, 4, 4, 4, 4, 5, 3, 3, 5, 1, 2, 1, 1], k=count)
    if random_.random() < 0.85:
        kinds = ["id" if kind == "card" else kind for kind in kinds]
    case.kinds = kinds
    case.secrets = {place: [] for place, kind in enumerate(kinds) if kind == "secret"}

    lines = []
    has_header = case.header_mode != "none"
    if has_header:
        if random_.random() < 0.08:
            lines += [b""] * random_.randrange(1, 3)
        lines.append(delimited([encode(name, case, random_) for name in names], case))
    empty_share = random_.choice([0, 0, 0.1, 0.3])
    quoted_empty = bytes([case.dialect.quote]) * 2 if case.dialect.quote is not None else b""
    goal, size = random_.choices([0, 50, 200, 500, 1900], [1, 8, 12, 12, 6])[0], 0
    while size < goal:
        if random_.random() < 0.03:
            lines.append(b"")
            size += 1
            continue
        fields = []
        for place, kind in enumerate(kinds):
            if random_.random() < empty_share:
                fields.append(random_.choice([b"", quoted_empty]))
                continue
            value = make_value(kind, random_)
            if kind == "secret":
                case.secrets[place].append(value)
            fields.append(encode(value, case, random_))
        lines.append(delimited(fields, case))
        size += len(lines[-1]) + 1
    data = b""
    for number, line in enumerate(lines):
        is_last = number == len(lines) - 1
        data += line + (b"" if is_last and random_.random() < 0.3 else make_terminator(case, random_, style))
    if random_.random() < 0.08:
        data = BOM + data
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        data = b"x" + data
    case.data = data
    case.column_count = count
    # The header carries the names minus the bytes that the dialect cannot carry.
    return names if has_header else None


# A byte or two of a name, and the character that a reader may mistake for them.
LOOKALIKES = [(b"a", "а"), (b"e", "е"), (b"o", "ο"), (b"c", "с"), (b"x", "х"), (b"i", "і"), (b"m", "м"), (b"d", "ԁ"),
              (b"n", "ｎ"), (b"n", "Ν"), (b"t", "Ｔ"), (b"s", "ѕ"), (b"id", "іd"), (b"z", "Ζ"), ("ö".encode(), "Ö"),
              ("ö".encode(), "o\u0308"), ("ß".encode(), "SS"), (b"y", "ｙ"), (b"1", "l"), (b"m", "rn"), (b"2", "²")]
UNSEEN = [" ", "_", "-", ".", "\u00a0", "\u200b", "\u00ad", "\ufeff", "\u2009", "\u2013", "\u2060", "\x01", "\u200e"]


def similar_name(name, random_):
    """In most cases, a name that a reader would mistake for this one."""
    lookalikes = [pair for pair in LOOKALIKES if pair[0] in name]
    if lookalikes and random_.random() < 0.5:
        old, new = random_.choice(lookalikes)
        return name.replace(old, new.encode(), 1)
    at = random_.randrange(len(name) + 1)
    return name[:at] + random_.choice(UNSEEN).encode() + name[at:]


def delimited(fields, case):
    return bytes([case.dialect.delimiter]).join(fields)


def damage(case, random_):
    """Inserts, removes or replaces a few bytes, so that a strict rule may be broken."""
    dialect = case.dialect
    data = bytearray(case.data)
    special = [CR, LF, dialect.delimiter, dialect.quote or 34, dialect.escape or 92, ord("x")]
    for _ in range(random_.choice([1, 1, 1, 2, 3])):
        low = 3 if case.data.startswith(BOM) else 0
        at = random_.randrange(low, len(data) + 1) if len(data) > low else len(data)
        pick = random_.random()
        if pick < 0.6:
            data[at:at] = bytes([random_.choice(special)])
        elif pick < 0.75:
            del data[at:at + random_.randrange(1, 4)]
        elif pick < 0.9:
            data[at:at + 1] = bytes([random_.choice(special)])
        else:
            data += bytes([random_.choice(special)])
    case.data = bytes(data)
    if random_.random() < 0.15:
        case.max_record = random_.randrange(64, 200)


BARE = set(range(0x21, 0x100)) - set(b',:(){}"=!#\x7f')


def word(text, random_):
    """The text as a VALUE."""
    if text and all(byte in BARE for byte in text) and random_.random() < 0.6:
        return text
    return b'"' + text.replace(b'"', b'""') + b'"'


def column(place, names, count, random_):
    if names is None or random_.random() < 0.15:
        return b"#%d" % (place + 1)
    name = names[place]
    is_bare = name and all(byte in BARE and byte not in b"*[" for byte in name)
    if names.count(name) > 1:
        number = b"[%d]" % names[:place + 1].count(name)
        if is_bare and b"-" not in name and random_.random() < 0.6:
            return name + number
        if random_.random() < 0.6:
            return b'"' + name.replace(b'"', b'""') + b'"' + number
        return b"#%d" % (place + 1) if random_.random() < 0.9 else word(name, random_)
    if is_bare and b"-" not in name and random_.random() < 0.7:
        return name
    if is_bare and random_.random() < 0.1:
        return name
    return b'"' + name.replace(b'"', b'""') + b'"'


def column_list(places, names, count, random_):
    """A list that probably names these columns, in this order."""
    parts, at = [], 0
    while at < len(places):
        run = 1
        while at + run < len(places) and places[at + run] == places[at] + run:
            run += 1
        if run > 1 and random_.random() < 0.3:
            first, last = places[at], places[at + run - 1]
            if names is None or random_.random() < 0.5:
                parts.append(b"#%d-#%d" % (first + 1, last + 1))
                at += run
                continue
            if all(names.count(names[end]) == 1 and names[end] and all(byte in BARE and byte not in b"*-[" for byte in
                                                                     names[end]) for end in (first, last)):
                parts.append(names[first] + b"-" + names[last])
                at += run
                continue
        parts.append(column(places[at], names, count, random_))
        at += 1
    return random_.choice([b",", b", ", b" , ", b",\t"]).join(parts)


def make_token_arguments(random_):
    parts = [word(random_.choice(list(KEYS)), random_)]
    extra = []
    form = random_.choice([None, None] + FORMS)
    if form:
        extra.append(b"form=" + form.encode())
    if form != "decimal" and random_.random() < 0.4:
        extra.append(b"bytes=%d" % random_.randrange(8, 33))
    if random_.random() < 0.3:
        extra.append(b"context=" + word(random_.choice([b"mails", b"mails", b"a b", b"\xc3\xa4", b'"']), random_))
    extra += [flag for flag in (b"trim", b"lower") if random_.random() < 0.25]
    if random_.random() < 0.3:
        extra += [b"version=2"] + ([b"prefix"] if random_.random() < 0.5 else [])
    random_.shuffle(extra)
    return parts + extra


def make_text(random_):
    return random_.choice([b"X X", b"", b"x", b"-", b"a,b", b'"', b"it's", b"\\", b"^", b";", b"line\nbreak", b"\r",
                           "ü".encode(), b"0", b"*", b"long " * 20, b"|", b"\t", b"\xa7", b"'~'"])


def make_context(random_):
    if random_.random() < 0.7:
        return []
    return [b"context=" + word(random_.choice([b"mails", b"mails", b"a b", b"\xc3\xa4", b'"']), random_)]


def make_keyed_arguments(name, by, random_):
    """For the operations with keys of their own; `by` is a column."""
    arguments = []
    if name == b"shift-date":
        arguments.append(b"by=" + by)
        if random_.random() < 0.5:
            arguments.append(b"days=%d" % random_.choice([1, 2, 30, 365, 36500]))
        if random_.random() < 0.4:
            arguments.append(b"version=%d" % random_.choice([1, 2]))
        if random_.random() < 0.2:
            arguments.append(b"format=" + word(random_.choice([b"YYYY-MM-DD", b"DD.MM.YYYY|YYYYMMDD",
                                                               b"YYYYMMDD|YYYY/MM/DD|YYYY-MM-DD"]), random_))
    elif name == b"noise":
        arguments += [b"by=" + by, b"sd=" + random_.choice([b"1", b"10", b"0.5", b"2.25", b"123456789012"])]
    elif name == b"encrypt" and random_.random() < 0.3:
        arguments.append(b"prefix")
    if name != b"decrypt" or random_.random() < 0.1:
        arguments += make_context(random_)
    random_.shuffle(arguments)
    first = [word(random_.choice(list(KEYS)) if name != b"decrypt" or random_.random() < 0.1 else b"k", random_)]
    if name == b"pick":
        first.append(word(random_.choice([b"names.txt", b"one.txt"]), random_))
    return first + arguments


def make_operation(kinds, by, random_):
    """`kinds`: the kinds of the columns that change. `by`: how a rule names some column."""
    name = random_.choices([b"keep", b"null", b"fixed", b"hmac", b"mask", b"initials", b"short-name", b"email", b"date",
                            b"bucket", b"round", b"top", b"form", b"pick", b"noise", b"encrypt", b"generalise"],
                           [3, 3, 3, 3, 4, 2, 2, 3, 3, 3, 2, 2, 2, 2, 2, 2, 2])[0]
    if random_.random() < 0.02:
        name = random_.choice([b"shift-date", b"decrypt"])
    if kinds == {"day"} and random_.random() < 0.6:
        name = b"shift-date"
    if kinds == {"token"} and random_.random() < 0.6:
        name = b"decrypt"
    arguments = []
    if name in (b"form", b"pick", b"noise", b"encrypt", b"decrypt", b"shift-date"):
        arguments = make_keyed_arguments(name, by, random_)
    elif name == b"round":
        arguments = [random_.choice([b"1", b"10", b"7", b"0.5", b"0.25", b"100.00", b"123456789012345678", b"3.0"])]
    elif name == b"top":
        arguments = [random_.choice([b"0", b"90", b"7.5", b"100.00", b"999999999999999999", b"0.001"])]
    elif name == b"generalise":
        arguments = [word(b"levels.csv" if random_.random() < 0.9 else b"few.csv", random_)]
        if random_.random() < 0.5:
            arguments.append(b"level=%d" % random_.choice([1, 2, 2]))
    elif name == b"fixed":
        text = make_text(random_)
        # Without quotes most texts cannot be carried, so plain ones are chosen more often.
        arguments = [word(text if random_.random() < 0.6 else b"plain", random_)]
    elif name == b"hmac":
        arguments = make_token_arguments(random_)
    elif name == b"mask":
        for argument in random_.sample([b"first", b"last", b"char"], random_.randrange(4)):
            if argument == b"char":
                arguments.append(b"char=" + word(random_.choice([b"*", b"x", b"#", b" ", b",", b'"', b"-"]), random_))
            else:
                arguments.append(argument + b"=%d" % random_.choice([0, 1, 1, 2, 3, 9, 1000000]))
    elif name == b"email":
        arguments = [b"local=mask" if random_.random() < 0.5 else
                     b"local=hmac(" + b", ".join(make_token_arguments(random_)) + b")"]
    elif name == b"date":
        arguments = [random_.choice([b"year", b"month", b"day"])]
    elif name == b"bucket":
        arguments = [random_.choice([b"1", b"10", b"7", b"0.5", b"0.25", b"100.00", b"1000000", b"0.001",
                                     b"123456789012345678", b"3.0"])]
    if name != b"keep" and random_.random() < 0.15:
        arguments.append(b"empty=change")
    if not arguments:
        may_have_brackets = name in (b"null", b"initials", b"short-name", b"keep")
        return name + (b"()" if may_have_brackets and random_.random() < 0.2 else b"")
    return name + b"(" + random_.choice([b",", b", "]).join(arguments) + b")"


def make_condition(names, count, case, random_):
    # Rules never mention a secret.
    places = [place for place in range(count) if place not in case.secrets] or [0]
    text = column(random_.choice(places), names, count, random_)
    values = [b"public", b"private", b"", b"1", b"7", b"Ann", b"x y", b"2024-01-01"]
    pick = random_.randrange(6)
    if pick == 0:
        return text + b" = " + word(random_.choice(values), random_)
    if pick == 1:
        return text + b" != " + word(random_.choice(values), random_)
    if pick == 2:
        return text + b" in {" + b", ".join(word(value, random_) for value in random_.sample(values, 3)) + b"}"
    if pick == 3:
        return text + b" empty"
    if pick == 4:
        return text + b" not empty"
    return text + b"=" + word(random_.choice(values), random_)


def make_stages(case, names, random_):
    # Nothing here depends on whether the dialect can carry the names. If it cannot, the run is refused.
    first_record = len(case.data) > 0
    count = 1 + max([len(names) - 1] if names is not None else [max(case.secrets, default=0), 0])
    if names is None and first_record:
        count = max(count, count_fields(case))
    places = list(range(count))
    rules = []
    pick = random_.random()
    wants_select = pick < 0.45
    wants_rules = pick > 0.25
    if wants_rules:
        named = random_.sample(places, random_.randrange(1, count + 1))
        named = sorted(set(named) | {place for place in case.secrets if place < count and random_.random() < 0.9})
        random_.shuffle(named)
        while named:
            group = sorted(named[:random_.choice([1, 1, 1, 2, 3])])
            named = [place for place in named if place not in group]
            text = column_list(group, names, count, random_)
            if random_.random() < 0.04:
                text = b"*"
            kinds = {case.kinds[place] if place < len(case.kinds) else "id" for place in group}
            by = column(random_.choice(places), names, count, random_)
            for _ in range(random_.choice([0, 0, 0, 1, 2])):
                conditions = [make_condition(names, count, case, random_) for _ in range(random_.choice([1, 1, 2]))]
                rules.append(text + b": " + make_operation(kinds, by, random_) + b" if " + b" and ".join(conditions))
            rules.append(text + random_.choice([b":", b": ", b" : "]) + make_operation(kinds, by, random_))
        if random_.random() < 0.1:
            rules.append(b"!" + column(random_.choice(places), names, count, random_) + b": mask(first=1)")
        if random_.random() < 0.1:
            case.default = random_.choice(["keep", "null", "drop"])
        if random_.random() < 0.06:
            rules = [rule if b'"' in rule else rule.split(b":")[0] + b": keep" for rule in rules]
    if wants_select:
        case.select = make_select(places, names, count, random_)
    if random_.random() < 0.3:
        case.null_token = random_.choice([b"NULL", b"\\N", b"-", b"NULL", b"n/a"])
    if random_.random() < 0.1:
        case.forbid = random_.sample(sorted(operations.FORBIDDEN), random_.choice([1, 1, 1, 2]))
    if not rules and case.select is None and not case.forbid:
        case.select = b"*"
    if random_.random() < 0.07:
        spoil(case, rules, names, count, random_)
    place_rules(case, rules, random_)


def count_fields(case):
    """How many fields the first record may have: the delimiters in the first line, ignoring quotes."""
    line = case.data.lstrip(b"\r\n").splitlines()
    return line[0].count(bytes([case.dialect.delimiter])) + 1 if line else 1


def make_select(places, names, count, random_):
    pick = random_.random()
    if pick < 0.5:
        return column_list(random_.sample(places, random_.randrange(1, count + 1)), names, count, random_)
    if pick < 0.65:
        return b"!" + column(random_.choice(places), names, count, random_)
    if pick < 0.75:
        return column(random_.choice(places), names, count, random_) + b", *"
    if pick < 0.85:
        return b"*, " + column(random_.choice(places), names, count, random_)
    if pick < 0.95 and names is not None:
        return random_.choice([b"addr*", b"a*", b"*a*", b"!a*", b"*e", b"na*,!*1"])
    return b"*"


def spoil(case, rules, names, count, random_):
    """In most cases, makes one change that causes exit status 2."""
    any_column = column(random_.randrange(count), names, count, random_)
    pick = random_.randrange(9)
    if pick == 0:
        rules.append(b"no_such_column: null")
    elif pick == 1:
        case.select = random_.choice([b"no_such_column", b"#99", b"#0", b"nothing*", b"!none", b'"id', b"id,,", b"a b"])
    elif pick == 2:
        rules.append(any_column + b": " + random_.choice(
            [b"hide", b"fixed", b"hmac", b"hmac(nokey)", b"hmac(k, bytes=7)", b"hmac(k, bytes=33)", b"date(hour)",
             b"date", b"hmac(k, form=decimal, bytes=16)", b"bucket(0)", b"bucket(-5)", b"mask(first=-1)",
             b"mask(char=xy)", b"fail",
             b"email(local=keep)", b"null(1)", b"mask(empty=change, first=1)", b"keep if",
             b"keep if x", b"keep or", b"fixed(\"x)", b"bucket(0.0000000000000000001)", b"mask(first=1, first=1)",
             b"form", b"form(nokey)", b"noise(k, sd=1)", b"noise(k, by=#1)", b"noise(k, sd=0, by=#1)", b"top(-1)",
             b"shift-date(k)", b"shift-date(k, by=#99)", b"shift-date(k, by=#1, days=0)", b"round(0)", b"round()",
             b"shift-date(k, by=#1, format=\"DD/MM/YYYY|MM/DD/YYYY\")", b"shift-date(k, by=#1, format=YYYY-MM)",
             b"pick(k)", b"generalise(levels.csv, level=9)", b"generalise(levels.csv, by=#1)", b"hmac(k, prefix)",
             b"hmac(k, version=3)", b"shift-date(k, by=#1, version=3)", b"mask(char=#1)", b"form(k, context=\"\")", b"decrypt(k, prefix)",
             b"encrypt(k, bytes=9)", b"fixed(a=#1)", b"generalise(half.csv)", b"noise(k, sd=1, by=#1-#2)",
             b"noise(k, sd=1, by=\"no\"[1])", b"shift-date(k, by=id*)", b"noise(k, sd=1, by=hmac(k))"]))
    elif pick == 3 and rules:
        del rules[-1]
        rules.append(any_column + b": null if " + any_column + b" empty")
    elif pick == 4:
        case.repeated = random_.choice([b"--select=*", b"--redact-null=x",
                                       b"--redact-default=keep", b"--redact-report=r1"])
    elif pick == 5:
        quote, delimiter = case.dialect.quote or 34, case.dialect.delimiter
        case.null_token = random_.choice([bytes([delimiter]), b"a\nb", b"\r", bytes([quote])])
    elif pick == 6:
        case.default = random_.choice(["fail", "hide"])
    elif pick == 7:
        case.files.append(random_.choice([b"not a rule\n", b"#id: keep\n", b"@default\n",
                                          b"@default keep\n@default keep\n"]))
    else:
        rules.insert(0, b": null")


def place_rules(case, rules, random_):
    """Moves the rules from some point on into files, because --redact comes first."""
    plain = [b"\n" not in rule and b"\r" not in rule for rule in rules]
    start = len(rules)
    if random_.random() < 0.4:
        while start > 0 and plain[start - 1]:
            start -= 1
        start = random_.randrange(start, len(rules) + 1)
    case.rules = rules[:start]
    rest = rules[start:]
    if rest:
        if random_.random() < 0.3:
            rest.insert(random_.randrange(len(rest) + 1), random_.choice([b"#", b"# a: comment", b"#\t\xff"]))
        if case.default and random_.random() < 0.5:
            rest.insert(random_.randrange(len(rest) + 1), b"@default " + case.default.encode())
            case.default = None
        cut = random_.randrange(len(rest) + 1) if random_.random() < 0.2 else len(rest)
        for part in (rest[:cut], rest[cut:]):
            if part:
                case.files.insert(len(case.files), b"\n".join(part) + random_.choice([b"\n", b"\n", b""]))
    used = b"\n".join(case.rules + case.files)
    case.keys = {name: key for name, key in KEYS.items() if name in used}


def make_how(case, random_, stages):
    case.verb = random_.choice(["split", "split", "cat"])
    by = random_.choice(["l", "C", "C", "n", "n", "lC"])
    if case.verb == "cat":
        by = random_.choice(["n", "", ""]) if stages else "n"  # An empty string means the whole input.
    if "l" in by:
        case.count = random_.choice([1, 1, 2, 3, 5, 10, 100])
    if "C" in by:
        # Most limits leave room for a header.
        header = len(case.data.splitlines()[0]) if case.data else 0
        case.size = random_.randrange(1, 300) + (0 if random_.random() < 0.1 else 2 * header + 4)
    if by == "n":
        case.total = random_.choice([1, 2, 3, 3, 5, 8, 20])
        if case.verb == "cat":
            case.piece = random_.randrange(1, case.total + 1)
    case.source = random_.choices(["file", "redirect", "pipe", "gzip"], [10, 4, 6, 1])[0]
    if case.source in ("pipe", "gzip") and case.total is not None:
        case.spool = stages and random_.random() < 0.7
    case.report = stages and case.verb == "split" and random_.random() < 0.3
    case.compress = case.verb == "split" and random_.random() < 0.03
    case.manifest = case.verb == "split" and random_.random() < 0.1
    if case.keys and random_.random() < 0.03:
        case.key_fault = random_.choice(["missing", "short", "readable", "directory"])
