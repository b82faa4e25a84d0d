"""The ways in which a secret could get out of a run, each as a function of a Case. The docstring says what is tried,
and which exit status is right. Nearly all of these ways were once open. The ways that involve other users or processes
are in ways_by_others.py.
"""
import base64
import hashlib
import hmac
import os
import unicodedata

from case import flip, need
from tables import FILE, PIECES, VERBS, Table, beside, verb

REFUSED, MALFORMED = (2,), (3,)
IDENTITY = [[b"--redact-default", b"keep"], [b"--select", b"*"], [b"--redact", b"*: keep", b"--header", b"repeat"]]


def sound(case):
    """Nothing is wrong: exit status 0, and every value is hidden."""
    table = Table(case)
    data = table.bytes()
    if flip(case, 0.2):
        data = data[:-len(table.end)]
    if flip(case, 0.2):
        data = b"\xef\xbb\xbf" + data
    operand, fed = case.source(data)
    snapshot = [b"--snapshot"] if not case.is_stream and flip(case, 0.1) else []
    case.run([*verb(case), *table.rules(), *snapshot, operand], fed)


def unnamed(case):
    """No header: the rules name columns by number, either one by one or all at once: 0."""
    table = Table(case)
    numbers = table.numbers()
    if flip(case, 0.3):
        rules = [b"-d", b",", b"--redact", b"*: " + case.chance.choice((b"null", b"mask", b"fixed(x)"))]
    else:
        rules = table.rules(numbers)
    operand, fed = case.source(b"".join(table.lines()))
    case.run([*verb(case, by=numbers[b"kind"]), b"-H", *rules, operand], fed)


def headerless(case):
    """No header, and nothing says so. A rule that fits any first record does not prove a header: 2."""
    table, chance = Table(case, can_drop=False), case.chance
    cell = chance.choice((b"te*", b"t*t", b"*text*", b"!text", b"!te*", b"#1-#%d" % len(table.names), b"*, !text",
                          b"#2", b"*"))
    operation = chance.choice((b"null", b"mask", b"mask(last=2)", b"fixed(x)", b"initials", b"email(local=mask)",
                               b"date(year)"))
    words = chance.choice((
        [b"--redact", cell + b": " + operation], [b"--redact", b"*: " + operation], [b"--redact-default", b"null"],
        [b"--redact", b"none: " + operation], [b"--select", b"*", b"--redact", b"*: " + operation],
        [b"--select", b"!text", b"--redact-default", b"null"], [b"--redact-default", b"fail"], [b"--redact-default", b"mask"],
        [b"--redact", b"tex: mask"], [b"--select", b"te xts"]))
    operand, fed = case.source(b"".join(table.lines()))
    delimiter = chance.choice(([], [b"-d", b","]))
    # `--header drop` would say that there is a header.
    run = [word for word in verb(case) if word not in (b"--header", b"drop")]
    case.run([*run, *words, *delimiter, operand], fed, REFUSED)


def identity(case):
    """Rules that change nothing read as strictly as other rules: a malformed record gives 3, and no part of it gets
    out."""
    table, chance = Table(case, can_drop=False), case.chance
    table.names = [b"id", b"kind", b"note"]
    table.secret_of = {}
    secret, lines = case.secret(), table.lines()
    odd = chance.choice((
        b"7,a,text,%s", b"7,a,\"%s\" ", b"7,a,\"x\"%s", b"7,a,5\" %s", b"%s,a", b"%s", b"7,\"a\" ,%s", b"7,a,x\r%s"))
    at = chance.randint(1, len(lines))
    if flip(case, 0.2):
        odd, at = b"7,a,\"%s", len(lines)
    lines.insert(at, odd % secret + (b"" if odd.endswith(b'"%s') else table.end))
    words = chance.choice((
        [b"--select", b"id,kind,note"], [b"-H", b"--select", b"#1-#3"], *IDENTITY,
        [b"--redact-default", b"null", b"--redact", b"id,kind,note: keep"], [b"--redact", b"id: keep"],
        [b"--rules", case.give("rules", b"@default keep\nid, note: keep\n")], [b"--forbid", b"card"]))
    is_named = b"-H" not in words
    lenient = chance.choice(([], [], [b"--allow-open-quote", b"--quiet"], [b"--quoting", b"anywhere"]))
    terminator = [b"--terminator", b"lf"] if b"\r" in odd else []
    operand, fed = case.source(table.bytes(lines) if is_named else b"".join(lines))
    by = b"kind" if is_named else b"#2"
    case.run([*verb(case, by=by), *words, b"-d", b",", *lenient, *terminator, operand], fed, MALFORMED)


def malformed(case):
    """The same with rules that change values."""
    table, chance = Table(case), case.chance
    lines = table.lines()
    secret = case.secret()
    name = chance.choice(list(table.hidden))
    odd = chance.choice((
        lambda line: secret + b"," + line, lambda line: secret + table.end,
        lambda line: line.replace(b"text", b'"x" ' + secret), lambda line: line.replace(b"text", b'5" ' + secret),
        lambda line: line.replace(b"text", secret + b",x")))
    at = chance.randrange(len(lines))
    lines[at] = odd(table.line({**table.records[at], name: secret}))
    if flip(case, 0.2):
        lines = table.lines() + [b'"' + secret]
    operand, fed = case.source(table.bytes(lines))
    case.run([*verb(case), *table.rules(), operand], fed, MALFORMED)


def two_readings(case):
    """A backslash before a quote within quotes, and a quote after a byte order mark: 3."""
    chance, secret, other = case.chance, case.secret(), case.secret()
    end = chance.choice((b"\n", b"\r\n"))
    rules = chance.choice(([b"--redact", b"#1: null"], [b"--redact", b"#1: mask"], [b"--select", b"!#1"],
                           [b"--redact", b"#1: fixed(x)", b"--redact-default", b"keep"]))
    if flip(case):
        lines = [b"1,a,1", b'%s,"foo\\",",x' % secret, b'%s,bar,5"' % other]
        words = chance.choice(([b"-H"], [b"--header", b"repeat"]))
        lines.insert(0, b"id,kind,note")
        if flip(case, 0.3):
            lines[2:] = [b'%s,"C:\\a\\",b' % secret]
    else:
        lines, words = [b'\xef\xbb\xbf"x,%s",y' % secret], [b"-H"]
        rules = [b"--redact", b"#2: null"] if flip(case) else [b"--select", b"#1"]
    operand, fed = case.source(end.join(lines) + end)
    case.run([*verb(case, by=b"#2"), b"-d", b",", *words, *rules, operand], fed, MALFORMED)


def key_material(case):
    """A value like those from which keys are derived, so that its token would be a key: 3."""
    chance, context = case.chance, case.secret()
    key, text = case.give_key(), b"\xffcleave " + chance.choice((b"context 1" + context, b"key id 1"))
    token = hmac.new(case.key, text, hashlib.sha256).digest()
    case.secrets += [token.hex().encode(), base64.urlsafe_b64encode(token)[:40]]
    rule, value = chance.choice((
        (b"hmac(p, bytes=32, form=hex)", text), (b"hmac(p, bytes=32)", text),
        (b"hmac(p, trim, bytes=32, form=hex)", b" " + text),
        (b"hmac(p, lower, form=hex)", text.replace(b"cleave", b"Cleave")),
        (b"email(local=hmac(p, bytes=32, form=hex))", text + b"@x.example")))
    lines = [b"x,%d,a\n" % number for number in range(chance.randint(0, 5))] + [value + b",7,a\n"]
    operand, fed = case.source(b"name,id,kind\n" + b"".join(lines))
    case.run([*verb(case), b"-d", b",", b"--redact", b"name: " + rule, *key, operand], fed, MALFORMED)


def unchangeable(case):
    """A value that an operation cannot change, and so refuses: 3."""
    chance, secret = case.chance, case.secret()
    table, key = Table(case, can_drop=False), case.give_key()
    name = chance.choice(list(table.hidden))
    case.give("few", b"0..9,digit\nAnn,name\n")
    rule, value = chance.choice(((b"shift-date(p, by=id)", secret), (b"shift-date(p, by=id)", b"2024-02-30 " + secret),
                                 (b"shift-date(p, by=id)", b"2024-02-01T" + secret), (b"decrypt(p)", secret),
                                 (b"decrypt(p)", b"v2." + secret), (b"generalise(few)", secret),
                                 (b"generalise(few)", b"Ann " + secret)))
    table.hidden = {name: (rule, b"%s")}
    table.names = [b"id", b"kind", b"note", name]
    lines = [b"%d,a,text,%s\n" % (number, b"") for number in range(chance.randint(0, 9))]
    lines.insert(chance.randint(0, len(lines)), b'7,a,text,"%s"\n' % value)
    operand, fed = case.source(b"id,kind,note," + name + b"\n" + b"".join(lines))
    case.run([*verb(case), b"-d", b",", b"--redact", name + b": " + rule, *key, operand], fed, MALFORMED)


def rare(case):
    """A secret in each record that is alone with its values: `suppress` removes it, 0, unless there are too few records,
    3, or it would have to copy a stream, 2. `check --quasi` prints no values."""
    chance, k = case.chance, case.chance.randint(2, 4)
    end = chance.choice((b"\n", b"\r\n"))
    lines = [b"%d,a,text,common" % number for number in range(chance.choice((0, k, k, 9)))]
    for _ in range(chance.randint(1, 5)):
        form = chance.choice((b"%s", b'"%s"', b'"%s, or so"'))
        lines.insert(chance.randint(0, len(lines)), b"7,b,text," + form % case.secret())
    data = b"id,kind,note,name" + end + end.join(lines) + chance.choice((b"", end, end + end))
    columns = chance.choice((b"name", b"kind, name", b"note, name"))
    words = [b"--redact", b"*: keep", b"--redact", columns + b": suppress(k=%d)" % k, b"-d", b","]
    operand, fed = case.source(data)
    quasi = [b"check", b"--quasi", b"name,kind", *chance.choice(([], [b"--json"]))]
    case.run([*chance.choice((verb(case), verb(case), quasi)), *words, operand], fed, (0, 2, 3))


def twins(name, chance):
    """A name that a reader would mistake for this one, which has ASCII letters."""
    at = chance.randrange(len(name) + 1)
    unseen = chance.choice("\u00a0\u200b\u00ad\ufeff\u2009\u2060\x01\u200e -_.\u2010\u3000")
    wide = "".join(chr(ord(letter) + 0xFEE0) for letter in name)
    alike = {"a": "а", "e": "е", "o": "ο", "c": "с", "x": "х", "i": "і", "p": "р", "s": "ѕ", "y": "у"}
    looks = "".join(alike.get(letter, letter) for letter in name)
    return chance.choice((name[:at] + unseen + name[at:], name.upper(), name.capitalize(), wide, wide.upper(),
                          looks if looks != name else wide, name + " ", " " + name))


def look_alikes(case):
    """A column without a rule has a name that is easily mistaken for a ruled column's: 2; if it has a rule too: 0."""
    chance, table = case.chance, Table(case, can_drop=False)
    if flip(case, 0.7):
        one = chance.choice(("email", "name", "phone", "income", "spice"))
        other = twins(one, chance)
    else:
        one = chance.choice(("\u00e9tat", "stra\u00dfe", "\u00fcber"))
        apart = unicodedata.normalize("NFD", one.replace("\u00df", "\u1e9e"))
        other = chance.choice((one.upper(), apart, one.capitalize()))
    table.hidden = {b"one": (b"mask", b"%s"), b"other": (b"mask", b"%s")}
    table.secret_of = {name: case.secret() for name in table.hidden}
    table.names = [b"id", b"kind", b"note", b"one", b"other"]
    chance.shuffle(table.names)
    table.records = [table.record(number) for number in range(5)]
    called = {b"one": one, b"other": other}
    header = b",".join(called[name].encode() if name in called else name for name in table.names).split(b",")
    rule = b'"%s": ' % one.encode() + chance.choice((b"mask", b"null", b"fixed(x)"))
    words = [b"-d", b",", b"--redact", rule, *chance.choice(([], [b"--quiet"], [b"--redact-default", b"keep"]))]
    allowed = REFUSED
    if flip(case, 0.2):
        words += [b"--redact", b'"%s": null' % other.encode()]
        allowed = (0,)
    operand, fed = case.source(table.bytes(names=header))
    case.run([*verb(case), *words, operand], fed, allowed)


def card_number(chance):
    digits = [4] + [chance.randrange(10) for _ in range(14)]
    total = sum(digit if place % 2 else sum(divmod(2 * digit, 10)) for place, digit in enumerate(digits))
    return "".join(map(str, digits + [-total % 10]))


def forbidden(case):
    """--forbid finds something in a column that stays, or in the header: 3."""
    chance, secret = case.chance, case.secret()
    if flip(case, 0.3):
        kind, text = chance.choice((
            (b"iban", b"GB29 NWBK 6016 1331 9268 19"), (b"iban", b"de89370400440532013000"),
            (b"phone", b"+43 (1) 234-56.78"), (b"ip", b"10.0.0.1:80"), (b"ip", b"2001:db8::1"), (b"date", b"17.5.1980"),
            (b"date", b"1980-05-17T10:20"), (b"secret", b"AKIAABCDEFGH01234567")))
        text = secret + b" " + text
    elif flip(case):
        kind = b"mail"
        domain = chance.choice(("x.example", "b\u00fccher.example", "[192.0.2.1]", "a.b\u00fc.example",
                                "\u4f8b.example"))
        local = chance.choice((secret, b'"%s"' % secret, b"a." + secret, secret + "\u00fc".encode(),
                               b'"%s x"' % secret))
        text = local + b"@" + domain.encode()
    else:
        kind, number = b"card", card_number(chance)
        sign = chance.choice((" ", "-", ".", "/", "\t", "\u00a0", "\u2011", "\u2013", ""))
        text = secret + b" " + sign.join(number[at:at + 4] for at in range(0, 16, 4)).encode()
    run_with_forbidden(case, kind, text, MALFORMED)


def pattern(case):
    """A pattern of RE2 finds something in a column that stays, or in the header: 3, or 2 if there is no module."""
    form, text = case.chance.choice((
        (b"nr\\. [0-9]{4}", b"nr. 1234"), (b"(?i)FILE\\b", b"file"), (b"(?s)<.{1,200}>", b"<\n>"),
        ("\u00fc$".encode(), "\u00fc".encode()), (b"\\C{12}", b"\xff\xff")))
    module = os.path.join(os.path.dirname(case.place.cleave), "..", "lib", "cleave", "cleave_re2.so")
    allowed = MALFORMED if os.path.exists(module) else REFUSED
    run_with_forbidden(case, b"note=re2:" + form, case.secret() + b" " + text, allowed)


def run_with_forbidden(case, kind, text, allowed):
    """Runs with the text in a column that stays, or in the header."""
    chance = case.chance
    text = b'"%s"' % (chance.choice((b"", b"to ")) + text).replace(b'"', b'""')
    lines = [b"%d,a,text\n" % number for number in range(chance.randint(1, 6))]
    choices = [[], [b"--redact-default", b"keep"], [b"--header", b"repeat", b"--redact", b"id: null"]]
    if flip(case, 0.3):
        header = text
    else:
        header = b"note"
        choices.append([b"--select", b"note,kind"])
        lines.insert(chance.randint(0, len(lines)), b"7,a," + text + b"\n")
    words = chance.choice(choices)
    operand, fed = case.source(b"id,kind," + header + b"\n" + b"".join(lines))
    case.run([*verb(case), b"-d", b",", b"--forbid", kind, *words, operand], fed, allowed)


def number_for_domain(case):
    """email() keeps a domain, but a number is not a domain: 0, and it is hidden."""
    local, number = case.secret(), case.secret("0123456789", 16)
    value = local + b"@" + case.chance.choice((number, b"x." + number, number[:8] + b"." + number[8:]))
    key = case.give_key()
    rule = case.chance.choice((b"email(local=mask)", b"email(local=hmac(p))"))
    operand, fed = case.source(b"id,kind,mail\n1,a,%s\n2,b,x@y.example\n" % value)
    case.run([*verb(case), b"-d", b",", b"--redact", b"mail: " + rule, *key, operand], fed)


def modes(case):
    """Everything that a split leaves is readable only by those who can read its input, with rules or without."""
    chance, table = case.chance, Table(case, count=7)
    operand, _ = case.source(table.bytes(), FILE)
    case.secrets = []   # there may be no rules
    by = [b"--by", b"kind", *chance.choice((
        [b"-o", b"out/{value}/{i}", b"--mkdir"], [b"-o", b"out/{value}/x/{i}", b"--mkdir"],
        [b"-o", b"out/{value}/{i}", b"--hive"]))]
    how = chance.choice((by, [b"-l", b"3", *PIECES], [b"-n", b"2", b"-o", b"out/a/b/{i}", b"--mkdir"]))
    if flip(case):
        words = [*table.rules(), *beside(chance)]
    else:
        words = [b"-d", b",", *chance.choice(([], [b"--manifest", b"out/m.json"], [b"--compress", b"gzip"],
                                              [b"--resume"]))]
    case.run([b"split", *how, *words, operand])
    if flip(case, 0.4):
        case.run([b"index", b"-d", b",", operand])


def joined(case):
    """What join writes is readable only by those who can read all pieces."""
    data = Table(case, count=3).bytes()
    case.secrets = []   # there are no rules
    for number, mode in enumerate(case.chance.choices((0o600, 0o640, 0o604, 0o644), k=3)):
        case.give("p%d" % number, data, mode)
        case.permissions &= mode
    case.run([b"join", b"-d", b",", b"-o", b"out/joined", b"p0", b"p1", b"p2"])


def template(case):
    """A name with control characters is escaped when it is printed to a terminal: 0."""
    control = case.chance.choice((b"\x1b[31m", b"\x1b]0;x\x07", b"\x08\x08", b"\x9b1m"))
    operand, fed = case.source(b"id,%s,b%sc\n1,2,3\n" % (control + b"a", control))
    run = case.run([b"check", case.chance.choice((b"--rules-template", b"--columns")), b"-d", b",", operand], fed)
    odd = [byte for byte in run.out if byte < 0x20 and byte not in b"\n\t"]
    need(not odd, "a control character is printed: %r" % run.out)


# Time, and the smallest inputs.

def colliding_names(count):
    """16-byte names that have the same hash in libstdc++ with its fixed seed (MurmurHash64A)."""
    mask, multiplier, seed = 2**64 - 1, 0xC6A4A7935BD1E995, 0xC70F6907
    inverse = pow(multiplier, -1, 2**64)
    goal, found = 0x0123456789ABCDEF, []
    for number in range(count * 40):
        word = int.from_bytes(b"%08x" % number, "little")
        mixed = word * multiplier & mask
        mixed = (mixed ^ mixed >> 47) * multiplier & mask
        state = ((seed ^ 16 * multiplier & mask) ^ mixed) * multiplier & mask
        needed = (goal * inverse & mask) ^ state
        needed = needed * inverse & mask
        needed ^= needed >> 47
        second = (needed * inverse & mask).to_bytes(8, "little")
        if not set(second) & set(b',"\r\n'):
            found.append(b"%08x" % number + second)
            if len(found) == count:
                break
    return found


def colliding(case):
    """A header of colliding names takes no longer than any other header: 0. Most headers are short, to leave time for
    the other ways."""
    if "colliding" not in case.place.cache:
        case.place.cache["colliding"] = colliding_names(30_000)
    names = case.place.cache["colliding"][:None if flip(case, 0.1) else 300]
    secret = case.secret()
    data = b",".join(names) + b"\n" + secret + b"," * (len(names) - 1) + b"\n"
    case.source(data, FILE)
    words = case.chance.choice(([b"cat"], [b"check"], [b"split", b"-l", b"1", *PIECES]))
    case.run([*words, b"-d", b",", b"--quiet", b"--header", b"drop", b"--redact", b"#1: null", b"in.csv"])


def smallest(case):
    """Inputs with hardly anything in them, under every verb: no crash, and 0 if nothing is wrong."""
    chance = case.chance
    data, is_right = chance.choice((
        (b"", True), (b"\xef\xbb\xbf", True), (b"a,b\n", True), (b"a,b", True), (b"a,b\n1,2\n", True),
        (b"a,b\r\n1,2", True), (b"\n\n", True), (b"a,b\n\n", True), (b"a,b\n1,2\n3", False),
        (b'a,b\n1,"2', False), (b'"', False)))
    operand, fed = case.source(data)
    words = verb(case, chance.choice(((b"check",), VERBS)), by=b"a")
    rules = chance.choice((
        [b"--redact-default", b"keep"], [b"--select", b"*"], [b"--select", b"b,a"], [b"--redact", b"a: mask"],
        [b"--header", b"repeat", b"--redact-default", b"null"], [b"-H", b"--redact", b"*: null"], [b"--forbid", b"mail"]))
    names_column = b"--by" in words or b"--together" in words or any(b"a" in word[:4] for word in rules[1:2])
    if names_column:
        allowed = (0, 2, 3)   # there may be no such column
    else:
        allowed = (0,) if is_right else (3,)
    case.run([*words, *rules, b"-d", b",", operand], fed, allowed)


def without_rules(case):
    """Verbs that take no rules refuse them: 2."""
    table = Table(case)
    operand, fed = case.source(table.bytes())
    words = case.chance.choice(([b"offsets", b"-l", b"3"], [b"join"], [b"count"], [b"scan"], [b"index"]))
    case.run([*words, *table.rules(), operand], fed, REFUSED)


WAYS = (sound, unnamed, headerless, identity, malformed, two_readings, key_material, unchangeable, rare, look_alikes,
        forbidden, pattern, number_for_domain, modes, joined, template, colliding, smallest, without_rules)
