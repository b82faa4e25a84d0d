"""Like ways.py: the ways that another user or process could open by writing to the input during the run, or by planting
an index, a manifest, a library, a key, a piece or a marker.
"""
import json
import os
import shutil
import struct

from case import OTHER_USER, Skip, flip, is_shared, need, overwriting
from tables import FILE, PIECES, VERBS, Table, verb

# Record shapes for rewritten(): i is a number, s the secret, and x has a different length in each record.
SHAPES = (b"%(i)d,,\n", b"%(i)d,,\r\n", b"%(i)d,%(s)s,\n", b"%(i)d,%(s)s,\r\n", b"%(i)d,%(s)s@b,note %(x)s\n",
          b"%(i)d%(i)d%(i)d,%(s)s%(i)d,note\n", b'%(i)d,"%(s)s","a, ""b"",\n%(x)s"\n',
          b'"%(i)d,\n",%(s)s,"%(x)s\n,\n,"\n')
SIZE = 600_000   # several batches


def rewritable(case, shape, secret):
    """Records of that shape, with the secret in the second of three columns, if anywhere."""
    if shape not in case.place.cache:
        lines, left = [b"id,mail,note\n"], SIZE - 13
        while left > 300:
            number = len(lines)
            lines.append(shape % {b"i": number % 1000, b"s": secret, b"x": b"x" * (number * 7 % 40)})
            left -= len(lines[-1])
        case.place.cache[shape] = b"".join(lines) + b"0,e," + b"y" * (left - 5) + b"\n"
    return case.place.cache[shape]


def rewritten(case):
    """Another process overwrites the input with other records during the run, with a system call or through a mapping:
    0, 3 or 4."""
    chance, secret = case.chance, b"aSecretThatAllShapesHave"
    case.secrets.append(secret)
    contents = [rewritable(case, shape, secret) for shape in chance.sample(SHAPES, 2)]
    hidden = chance.choice((
        [b"--redact", b"mail: mask(last=4)"], [b"--redact", b"mail: null"], [b"--select", b"note,id"],
        [b"--redact", b"mail: hmac(p)", *case.give_key()], [b"--select", b"note,id", b"--forbid", b"mail"]))
    words = chance.choice((
        [b"cat"], [b"cat"], [b"cat", b"--snapshot"], [b"cat", b"-n", b"2/3"], [b"check"],
        [b"split", b"-n", b"3", *PIECES], [b"split", b"-C", b"100K", *PIECES],
        [b"split", b"-n", b"2", b"--filter", b"cat", *PIECES],
        [b"split", b"--by", b"id", b"--buckets", b"3", *PIECES]))
    threads = chance.choice(([], [b"-j", b"1"], [b"-j", b"3"]))
    words += [*hidden, *threads, b"--quiet", b"-d", b",", b"--max-record", b"64K", b"in.csv"]
    case.permissions = 0o600
    with overwriting("in.csv", contents, flip(case)) as write:
        case.run_beside(words, write, flip(case), (0, 3, 4))
    os.unlink("in.csv")


def planted_index(case):
    """An index of a different file with the same size and time is not used; if an index is required: 4."""
    chance, line = case.chance, b"0123456\n"
    # Earlier versions only looked at samples of a larger file, and no sample is at this offset.
    count, at = chance.choice(((60_000, 72_000), (200, 8 * chance.randrange(200))))
    before = line * count
    after = before[:at] + b"0123456x" + before[at + 8:]
    case.permissions = 0o644
    case.give("in.csv", before, 0o644)
    case.run([b"index", b"-d", b",", b"--quiet", b"in.csv"])
    status = os.stat("in.csv")
    if flip(case):
        os.unlink("in.csv")
    case.give("in.csv", after, 0o644)
    os.utime("in.csv", ns=(status.st_atime_ns, status.st_mtime_ns))
    if flip(case, 0.3):
        case.run([b"count", b"--index", b"require", b"-d", b",", b"in.csv"], allowed=(4,))
        return
    records = after.splitlines(True)
    place = min(len(records) - 1, at // 8 + 1)
    wanted, words = chance.choice((
        (b"%d\n" % (len(records) - 1), [b"count"]),
        (records[place], [b"cat", b"-r", b"%d" % place, b"--header", b"drop"]),
        (after, [b"sample", b"-k", b"1000000", b"--seed", b"1"]),
        (b"%d\n" % len(records[0]), [b"offsets", b"--every", b"1000000"])))
    run = case.run([*words, b"-d", b",", b"in.csv"])
    need(run.out == wanted, "a planted index is believed: %r" % run.out[:100])


def planted_manifest(case):
    """If a manifest names a file outside its folder, directly or through a link, the file is not opened: 2 or 3."""
    chance = case.chance
    os.mkdir("v", 0o700)
    outside = b"id\n%s\n" % case.secret()
    case.give("other.csv", outside)
    case.give("v/1.csv", b"id\n1\n")
    case.link("v/link", "../other.csv")
    case.link("v/way", "..")
    name = chance.choice(("../other.csv", os.path.abspath("other.csv"), "a/../../other.csv", "link", "way/other.csv"))
    pieces = [{"name": name, "size": len(outside)}]
    if flip(case):
        pieces.insert(0, {"name": "1.csv", "size": 5})
    if flip(case, 0.3):
        pieces[-1]["size"] = None
    manifest = {"cleave": chance.choice((1, 2)), "header": {"mode": chance.choice(("repeat", "none", "first"))},
                "pieces": pieces}
    case.give("v/m.json", json.dumps(manifest).encode())
    os.chdir("v")
    try:
        case.run([b"join", b"--manifest", b"m.json", *chance.choice(([], [b"-o", b"joined"]))], allowed=(2, 3))
    finally:
        os.chdir("..")


def planted_library(case):
    """A library that other users can write to, or could have put there, is not loaded: 2. A safe file is tried, and
    proves not to be a library: 1."""
    chance, table = case.chance, Table(case)
    operand, fed = case.source(table.bytes())
    if not case.place.trusted:
        raise Skip("others can write to all folders for the cases")
    folder = os.path.join(chance.choice(case.place.trusted), "library-%d" % case.number)
    library = os.path.join(folder, "m.so")
    os.mkdir(folder, 0o755)
    with open(library, "wb") as file:
        file.write(b"no library")
    os.chmod(library, 0o755)
    doubt = chance.choice(("mode", "folder", "owner", "shared", "none"))
    above = os.path.dirname(case.place.root)
    in_shared = os.path.join(above, "%s-%d" % (os.path.basename(case.place.root), case.number))
    allowed = (1,) if doubt == "none" else (2,)
    if doubt == "mode":
        os.chmod(library, chance.choice((0o666, 0o664, 0o646, 0o777)))
    elif doubt == "folder":
        os.chmod(folder, chance.choice((0o777, 0o775, 0o757, 0o1777)))
    elif doubt == "owner":
        case.give_away(chance.choice((library, folder)))
    elif doubt == "shared":
        if not is_shared(above):
            raise Skip("the cases are not in a sticky folder of root")
        kind = chance.choice(("file", "link", "link to folder"))
        if kind == "file":
            shutil.copy(library, in_shared)
        else:
            os.symlink(library if kind == "link" else folder, in_shared)
        library = os.path.join(in_shared, "m.so") if kind == "link to folder" else in_shared
    if flip(case, 0.2):   # the target of a link has to pass the same checks
        case.link("link.so", library)
        library = os.path.abspath("link.so")
    library = library.encode()
    words = chance.choice(([b"--memory-manager", library], [b"--device", library], []))
    if not words:
        case.environment[b"CLEAVE_MEMORY_MANAGER"] = library
    names = [name for name in VERBS if name != b"check" or b"--device" not in words]
    try:
        case.run([*verb(case, names), *table.rules(), *words, operand], fed, allowed)
    finally:
        if doubt == "shared":
            os.unlink(in_shared)


def planted_key(case):
    """A key that other users can know, or that is unusable: 2."""
    chance, table = case.chance, Table(case)
    doubt = chance.choice(("equal bytes", "size", "mode", "owner", "list"))
    case.give("key", chance.choice(b"aZ\0").to_bytes(1, "big") * 32 if doubt == "equal bytes" else
              case.secret(size=31 if doubt == "size" else 32))
    if doubt == "mode":
        os.chmod("key", chance.choice((0o604, 0o660, 0o666)))
    elif doubt == "owner":
        case.give_away("key")
    elif doubt == "list":
        # An access control list, see <linux/posix_acl_xattr.h>: owner, a user or a group, owner's group, mask, others.
        anyone = 2 ** 32 - 1
        entries = sorted(((1, 6, anyone), (chance.choice((2, 8)), 4, OTHER_USER), (4, 0, anyone), (16, 4, anyone),
                          (32, 0, anyone)))
        try:
            os.setxattr("key", "system.posix_acl_access",
                        struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries))
        except OSError:
            raise Skip("the file system has no access control lists") from None
    operand, fed = case.source(table.bytes())
    rules = [word for name in table.hidden for word in (b"--redact", name + b": hmac(p)")]
    case.run([*verb(case), b"-d", b",", *rules, b"--key", b"p=file:key", operand], fed, (2,))


def planted_piece(case):
    """A file, or a link, that has the name of a piece. With --resume: 1. With --force it is replaced, and the target of
    the link stays."""
    table, path = Table(case), "out/p.000001.csv"
    operand, fed = case.source(table.bytes(), ("file", "pipe"))
    is_forced = flip(case)
    plain = table.bytes()
    if flip(case, 0.3):
        case.give("target", plain)
        case.link(path, "../target")
    else:
        case.give(path, plain)
    words = [b"split", b"-l", b"1000", b"-o", b"out/p.{i:06}.csv", b"--resume", *table.rules()]
    if is_forced:
        words.append(b"--force")
        del case.given[path]
    case.run([*words, operand], fed, (0,) if is_forced else (1,))


def foreign_piece(case):
    """The right piece, but owned by another user, or writable by users who cannot write to the input. With --resume: 1.
    With --force it is replaced."""
    table, path = Table(case), "out/p.000001.csv"
    operand, fed = case.source(table.bytes(), FILE)
    words = [b"split", b"-l", b"1000", b"-o", b"out/p.{i:06}.csv", *table.rules(), operand]
    case.run(words, fed)
    case.given[path] = case.content(path)
    if flip(case):
        case.give_away(path)
    else:
        os.chmod(path, case.chance.choice((0o622, 0o660, 0o606)))
    is_forced = flip(case)
    if is_forced:
        del case.given[path]
    case.run([*words, b"--resume", *([b"--force"] if is_forced else [])], fed, (0,) if is_forced else (1,))


def planted_folder(case):
    """A folder, or a link to one, that another user created for the pieces of a value, or that other users can write
    to: 1 under rules, and nothing is put there."""
    chance, table = case.chance, Table(case)
    table.records[0][b"kind"] = b"a"
    folder = "out/kind=a"
    operand, fed = case.source(table.bytes())
    os.mkdir("elsewhere", 0o700)
    os.mkdir(folder, 0o700)
    doubt = chance.choice(("owner", "mode", "link"))
    if doubt == "mode":
        os.chmod(folder, chance.choice((0o777, 0o770, 0o702)))
    elif doubt == "owner":
        case.give_away(folder)
    else:
        os.rmdir(folder)
        case.link(folder, "../elsewhere")
        case.give_away(folder)
    for path in ("elsewhere", folder):
        case.given.setdefault(path, b"")
    how = chance.choice(([b"-o", b"out/{value}/{i}", b"--hive"], [b"-o", b"out/kind={value}/{i}", b"--mkdir"]))
    case.run([b"split", b"--by", b"kind", *how, *table.rules(), operand], fed, (1,))
    need(not os.listdir("elsewhere") and not os.listdir(folder), "something is put into somebody else's folder")


def older_pieces(case):
    """Pieces from an earlier run without rules, some of which --force replaces: a warning names the others."""
    table = Table(case, count=9)
    operand, _ = case.source(table.bytes(), FILE)
    words = [b"split", *PIECES, b"--force", *case.chance.choice(([], [b"--manifest", b"out/m.json"]))]
    secrets, case.secrets = case.secrets, []
    case.run([*words, b"-n", b"3", b"-d", b",", operand])
    case.given["out/p.3.csv"] = case.content("out/p.3.csv")
    rules = [word for word in table.rules() if word != b"--quiet"]
    run = case.run([*words, b"-n", b"2", *rules, operand])
    need(b"out/p.3.csv" in run.err, "no warning names an older piece: %r" % run.err)
    case.secrets += secrets


def digest(case):
    """Rules may hold values, so a report has a digest of them only under one of their keys."""
    operand, _ = case.source(b"id,kind\n1,a\n", FILE)
    rule = case.chance.choice((b"fixed(x)", b"null", b"mask"))
    words = [b"split", b"-l", b"9", *PIECES, b"--force", b"--redact-report", b"-", b"-d", b",", operand]
    words += [b"--redact", b"id: " + rule]
    has_key = flip(case)
    if has_key:
        words += [b"--redact", b"kind: hmac(p)"]
    digests = set()
    for _ in range(2):
        keys = case.give_key() if has_key else []
        report = json.loads(case.run([*words, *keys]).out)
        digests.add(report.get("rules_digest"))
    need(len(digests) == 2 if has_key else digests == {None}, "a digest without a key: %s" % digests)


def planted_marker(case):
    """The marker of a killed run, changed or replaced by another user: no file that it names is touched, a link in its
    place is not followed, and the run ends with 1 unless the marker still belongs to the user of the run."""
    chance, table = case.chance, Table(case)
    case.permissions = 0o666
    words = [b"split", b"-l", b"1000000", *PIECES, b"-d", b","]
    case.kill_when([*words, b"-"], b"id\n" + b"1234567\n" * 40_000,
                   lambda: any(os.stat("out/" + name).st_size > 0 for name in os.listdir("out")))
    marker = "out/" + next(name for name in os.listdir("out") if len(name) == len(".cleave-0123456789abcdef"))
    case.give("kept", b"kept")
    case.give("out/named", b"named")
    kind = chance.choice(("owner", "empty", "link", "hard link", "names", "fifo"))
    allowed = (1,)
    if kind in ("owner", "empty"):
        if kind == "empty":
            os.truncate(marker, 0)
        case.give_away(marker)
        case.given[marker] = case.content(marker)
    elif kind == "names":
        allowed = (0,)
        with open(marker, "wb") as file:
            file.write(b"0".rjust(20))
            for hidden in (b"../kept", b"named", os.path.abspath("kept").encode()):
                file.write(b"1\0%s\0x\0" % hidden)
    else:
        os.unlink(marker)
        if kind == "link":
            case.link(marker, "../kept")
        elif kind == "hard link":
            os.link("kept", marker)
            case.given[marker] = b"kept"
        else:
            os.mkfifo(marker, 0o600)
            case.given[marker] = b""
    case.run([*words, *table.rules()[2:], b"-"], table.bytes(), allowed)


WAYS = (rewritten, planted_index, planted_manifest, planted_library, planted_key, planted_piece,
        foreign_piece, planted_folder, older_pieces, digest, planted_marker)
