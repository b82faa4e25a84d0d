#!/usr/bin/env python3
"""--encoding against Python's own codecs: names and aliases, every byte of every set, random texts, and files of `auto`.

  encodings_test.py --cleave PATH [--rounds N]   test the command, with N times as many random texts [1]
  encodings_test.py --write                      write src/core/reader/charsets.inc from the codecs of this Python
"""

import argparse
import codecs
import encodings
import encodings.aliases
import os
import pkgutil
import random
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tools"))
from verdicts import Tally, need  # noqa: E402

ROOT = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..")
TABLES = os.path.join(ROOT, "src", "core", "reader", "charsets.inc")
ESCAPED = 0xDC00  # what stands for a byte that a set does not define, as in Python's surrogateescape
ASCII = bytes(range(128)).decode()

# Names that options had before, which count as the sets' own; and text that is not converted, with iconv's name for it.
OWN_NAMES = {"utf-16-le": "utf-16le", "utf-16-be": "utf-16be"}
UNICODE = ["utf-16-le", "utf-16-be", "utf-16", "utf-8", "utf-8-sig"]  # in the order of enum Encoding
ICONV = {
    "big5": "BIG5", "big5hkscs": "BIG5-HKSCS", "cp932": "CP932", "cp949": "CP949", "cp950": "CP950",
    "euc_jp": "EUC-JP", "euc_jis_2004": "EUC-JISX0213", "euc_jisx0213": "EUC-JISX0213", "euc_kr": "EUC-KR",
    "gb2312": "GB2312", "gbk": "GBK", "gb18030": "GB18030", "hz": "HZ", "johab": "JOHAB",
    "iso2022_jp": "ISO-2022-JP", "iso2022_jp_1": "ISO-2022-JP-1", "iso2022_jp_2": "ISO-2022-JP-2",
    "iso2022_jp_2004": "ISO-2022-JP-3", "iso2022_jp_3": "ISO-2022-JP-3", "iso2022_jp_ext": "ISO-2022-JP",
    "iso2022_kr": "ISO-2022-KR", "shift_jis": "SHIFT_JIS", "shift_jis_2004": "SHIFT_JISX0213",
    "shift_jisx0213": "SHIFT_JISX0213", "utf-7": "UTF-7", "utf-32": "UTF-32", "utf-32-be": "UTF-32BE",
    "utf-32-le": "UTF-32LE", "cp037": "IBM037", "cp273": "IBM273", "cp424": "IBM424", "cp500": "IBM500",
    "cp864": "IBM864", "cp875": "CP875", "cp1026": "IBM1026", "cp1140": "IBM1140",
}
NO_TEXT = {"charmap", "mbcs", "oem", "undefined", "idna", "punycode", "unicode_escape", "raw_unicode_escape",
           "aliases", "palmos_"}


def normal(name):
    """A name as Python compares it, and dots like other marks."""
    return "_".join(re.findall("[a-z0-9]+", name.lower()))


def points_of(name):
    """What the bytes from 0x80 on stand for, or None if it is not a set of single bytes above ASCII."""
    try:
        if bytes(range(128)).decode(name) != ASCII:
            return None
        points = []
        for byte in range(0x80, 0x100):
            text = bytes([byte]).decode(name, "surrogateescape")
            if len(text) != 1:
                return None
            points.append(ord(text))
        return points if bytes(range(0x80, 0x100)).decode(name, "surrogateescape") == "".join(map(chr, points)) else None
    except (UnicodeError, LookupError):
        return None


def all_names():
    """The normal names and aliases of each codec of this Python, by its own name."""
    names = {}
    modules = {module.name for module in pkgutil.iter_modules(encodings.__path__)} - NO_TEXT
    for name in modules | set(encodings.aliases.aliases) | set(encodings.aliases.aliases.values()):
        try:
            codec = codecs.lookup(name)
        except LookupError:
            continue
        if codec._is_text_encoding and normal(codec.name) not in NO_TEXT:  # pylint: disable=protected-access
            names.setdefault(codec.name, set()).add(normal(name))
    return names


def table_text():
    names = all_names()
    charsets = {name: points for name in names if name not in UNICODE and name not in ICONV
                and (points := points_of(name)) is not None and name != "utf-8"}
    unknown = set(names) - set(charsets) - set(UNICODE) - set(ICONV)
    if unknown:
        sys.exit(f"what are {sorted(unknown)}?")
    lines = ["// Written by tests/system/encodings_test.py --write from the codecs of Python; do not edit.", "//",
             "//   UNICODE(name, aliases)                   in the order of enum Encoding, from kUtf16Le on",
             "//   CHARSET(name, aliases, code points...)   of the bytes 80 to FF; DCxx: the byte is not defined",
             "//   FOREIGN(name, aliases, iconv's name)     not converted",
             "", "// clang-format off"]

    def aliases(name):
        shown = OWN_NAMES.get(name, name)
        return " ".join(sorted(names[name] | {normal(name)} - {normal(shown)}))

    def named(kind, name, end=")"):
        words = aliases(name)
        middle = words.rfind(" ", 0, 90) + 1 if len(words) > 90 else 0
        text = f'"{words[:middle]}"\n        "{words[middle:]}"' if middle else f'"{words}"'
        return f'{kind}("{OWN_NAMES.get(name, name)}", {text}{end}'

    def order(name):
        return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]

    lines += [named("UNICODE", name) for name in UNICODE]
    for name in sorted(charsets, key=order):
        lines.append(named("CHARSET", name, ","))
        rows = [",".join(f"0x{point:04X}" for point in charsets[name][i:i + 16]) for i in range(0, 128, 16)]
        lines.append(",\n".join(rows) + ")")
    lines += [named("FOREIGN", name, f', "{ICONV[name]}")') for name in sorted(ICONV, key=order)
              if name in names]
    return "\n".join(lines) + "\n"



TEXTS = {   # by language, what some of its files look like
    "french": "Le garçon dîne à l’hôtel près du château où la forêt bête s’arrête ; un cœur naïf, une œuvre déjà très "
              "chère et l'été même à Nîmes. «Très bien», dit-il. Père, mère, frère et élève : la fête fut achevée. Goûter",
    "german": "Müller, Größe, Straße, Übung, Äpfel, schön, für, natürlich; fünf Füße müssen grüßen, 20 °C – „gut“",
    "spanish": "El niño pequeño comió en España mañana; año, señor, Muñoz, Núñez, ¿qué? ¡sí! corazón, García, Peña, N.º 5",
    "portuguese": "A situação não é boa: João e São Paulo, informações, lições, você, três, português, avó, pão, mãe, limões",
    "italian": "La città è più bella così; perché però già lunedì caffè e libertà, l’università è là, dell’arte, può",
    "danish": "Søren Jørgensen, København, grøn, rødgrød, blå, på, færdig, læse, æble, ægte, Åse, Østergård, måned, kød",
    "swedish": "Åke Öberg på ön, över, för, människa, måste, början, år, själv, Göteborg, Malmö, Västerås, en blå bil, å",
    "finnish": "Hyvää päivää, Jyväskylä, Hämeenlinna, äiti, öljy, pöytä, kiitään, yö, työ, mökki, sää",
    "dutch": "reünie, coöperatie, België, één, ideeën, geïnd, poëzie, naïef, knieën, Italië",
    "catalan": "paral·lel, Barça, l’òpera, això, què, cançó, català, és, Núria, més, així, camió, pingüí, raïm, cafè",
    "english": "It’s “fine” – don’t worry… café, naïve, £5 and 20 € © 2024, the company’s résumé™, we’ll see — soon",
    "polish": "Zażółć gęślą jaźń, Łódź, Kraków, Wałęsa, się, będzie, świat, źródło, Gdańsk, Poznań, pięć, być",
    "czech": "Příliš žluťoučký kůň úpěl ďábelské ódy; Dvořák, Černý, Jiří, řeka, město, děti, Plzeň, můj, tři, včera",
    "slovak": "Vŕba, mŕtvy, ľad, šťastie, žena, čas, ďakujem, nôž, kôň, Košice, vláda, môže, stĺp, päť",
    "hungarian": "Árvíztűrő tükörfúrógép, Győr, erő, nő, szűk, hűtő, első, könyv, ősz, fűtés, Petőfi, időjárás",
    "croatian": "Kovač, Petrović, Đorđe, žena, šuma, čovjek, kuća, noć, Karlovac, ljubav, Šibenik, đak, Marić",
    "slovene": "Kočevje, Črnomelj, Žalec, Škofja Loka, čas, življenje, mož, Maček, več, kaj, Vič, računalnik",
    "romanian": "România, București, Timișoara, țară, că, să, fără, înțeles, învăța, mâine, pâine, Brăila, ștefan",
    "turkish": "İstanbul, Yılmaz, Şahin, ağaç, doğru, güneş, çocuk, işçi, ılık, öğretmen, üzüm, Çağlar",
    "lithuanian": "Šiauliai, žmogus, ąžuolas, čia, ėjo, įėjimas, šuo, ūkis, žūsta, Kęstutis, gražus, tačiau, yra",
    "latvian": "Rīga, ābols, ēka, ģimene, ķirbis, ļoti, ņem, šis, ūdens, žagars, četri, mājās, Jūrmala, vējš",
    "estonian": "Tõnu, Võru, õhtu, õpetaja, šokolaad, žürii, jõgi, mõte, põld, sõber, kõik, tõde",
    "icelandic": "Guðmundur, Þór, þetta, ýmis, að, það, við, hún, börn, Reykjavík, Björk, Ísland, kýr, æði",
    "russian": "Привет, мир! Москва, Санкт-Петербург, и, в, на, не, что; Иванов Пётр, улица Ленина, дом 5",
    "ukrainian": "Київ, Львів, їжак, єдність, щастя, ґанок, Україна, і, та, що, Шевченко, місто Одеса",
    "greek": "Αθήνα, Θεσσαλονίκη, καλημέρα, και, το, Παπαδόπουλος, ελληνικά, είναι, πόλη, Κρήτη",
    "hebrew": "שלום עולם, ירושלים, תל אביב, ספר, בית, ילד, כהן, לוי, משפחה",
    "arabic": "السلام عليكم, القاهرة, محمد, كتاب, بيت, مدينة, شارع, العربية",
    "thai": "สวัสดี, กรุงเทพ, ประเทศไทย, ภาษาไทย, เชียงใหม่, บ้าน",
    "vietnamese": "Hà Nội, Việt Nam, tiếng, phở, đường, người, Nguyễn, Huế, cảm ơn",
    "japanese": "東京, 日本語, こんにちは, カタカナ, 大阪府, 株式会社, 鈴木一郎, データ",
    "chinese": "北京, 上海, 中文, 你好, 公司, 张伟, 数据, 广州市",
    "korean": "서울, 부산, 안녕하세요, 한국어, 김철수, 데이터, 회사",
}
WESTERN = ["french", "german", "spanish", "portuguese", "italian", "danish", "swedish", "finnish", "dutch", "catalan",
           "english"]
OTHER_SETS = [   # set and language
    ("cp1250", "polish"), ("cp1250", "czech"), ("cp1250", "slovak"), ("cp1250", "hungarian"), ("cp1250", "croatian"),
    ("cp1250", "slovene"), ("cp1250", "romanian"), ("iso8859-2", "polish"), ("iso8859-2", "czech"),
    ("iso8859-2", "hungarian"), ("iso8859-2", "croatian"), ("iso8859-16", "romanian"), ("cp852", "polish"),
    ("cp852", "czech"), ("mac_latin2", "polish"), ("cp1254", "turkish"), ("iso8859-9", "turkish"), ("cp857", "turkish"),
    ("cp1257", "lithuanian"), ("cp1257", "latvian"), ("cp1257", "estonian"), ("iso8859-13", "lithuanian"),
    ("iso8859-4", "latvian"), ("cp775", "lithuanian"), ("cp1251", "russian"), ("koi8-r", "russian"),
    ("cp866", "russian"), ("mac_cyrillic", "russian"), ("iso8859-5", "russian"), ("cp1251", "ukrainian"),
    ("koi8-u", "ukrainian"), ("cp1253", "greek"), ("iso8859-7", "greek"), ("cp737", "greek"), ("cp1255", "hebrew"),
    ("cp862", "hebrew"), ("cp1256", "arabic"), ("iso8859-6", "arabic"), ("tis-620", "thai"), ("shift_jis", "japanese"),
    ("euc_jp", "japanese"), ("iso2022_jp", "japanese"), ("gbk", "chinese"), ("big5", "chinese"), ("gb18030", "chinese"),
    ("euc_kr", "korean"), ("cp850", "french"), ("cp437", "german"), ("cp850", "spanish"), ("cp850", "portuguese"),
    ("cp860", "portuguese"), ("cp865", "danish"), ("cp850", "swedish"), ("mac_roman", "french"), ("mac_roman", "german"),
    ("mac_roman", "spanish"), ("mac_roman", "italian"), ("mac_roman", "danish"), ("hp-roman8", "french"),
    ("iso8859-15", "english"), ("utf-16-le", "russian"), ("utf-16-be", "greek"), ("utf-16-le", "japanese"),
    ("cp037", "german"), ("cp500", "french"),
]


class Runner:
    def __init__(self, command, folder, rounds=1):
        self.command, self.folder, self.rounds = command, folder, rounds

    def write(self, name, data):
        path = os.path.join(self.folder, name)
        with open(path, "wb") as file:
            file.write(data)
        return path

    def run(self, *words, stdin=b"", **more):
        done = subprocess.run([self.command, *words], input=stdin, capture_output=True, cwd=self.folder, timeout=120,
                              check=False, **more)
        return done.returncode, done.stdout, done.stderr.decode(errors="replace")

    def cat(self, encoding, path, *words):
        return self.run("cat", "--no-quote", "-d", "\\t", "--encoding", encoding, *words, path)


def tables():
    """The names of the file of tables, by kind, and its code points."""
    with open(TABLES, encoding="ascii") as file:
        text = file.read()
    kinds = {"UNICODE": {}, "CHARSET": {}, "FOREIGN": {}}
    for kind, name, words, rest in re.findall(r'^(\w+)\("([^"]*)", ("[^"]*"(?:\n *"[^"]*")*),?\s?([^)]*)\)', text, re.M):
        aliases = "".join(re.findall('"([^"]*)"', words)).split()
        kinds[kind][name] = (aliases, rest)
    return kinds


def test_tables(_):
    kinds = tables()
    names = all_names()
    for name, (_, points) in kinds["CHARSET"].items():
        if name in names:
            need(points_of(name) == [int(point, 16) for point in re.findall("0x(....)", points)], f"{name} differs")
    known = {alias: OWN_NAMES.get(name, name) for rows in kinds.values() for name, (aliases, _) in rows.items()
             for alias in aliases}
    for name, aliases in names.items():
        for alias in aliases:
            need(alias in known, f"{alias}, an alias of {name}, is missing")


def test_names(runner):
    """Each name is Python's, however it is spelt."""
    path = runner.write("in.csv", b"\xff\xfea\0,\0b\0\n\0")
    plain = runner.write("plain.csv", b"a,b\n1,2\n")
    spelling = random.Random(1)
    for kind, rows in tables().items():
        for name, (aliases, rest) in rows.items():
            for alias in aliases:
                spelt = "".join(spelling.choice("-_ ") if c == "_" else c.upper() if spelling.random() < 0.5 else c
                                for c in alias)
                status, out, error = runner.run("offsets", "-n", "1", "--format", "json", "--encoding", spelt,
                                                path if name.startswith("utf-16") else plain)
                if kind == "FOREIGN":
                    iconv = rest.strip('"')
                    need(status == 2 and f"try: iconv -f {iconv} -t UTF-8 FILE | cleave ... -" in error, f"{spelt}: {error}")
                else:
                    found = re.search(r'"encoding": ?"([^"]*)"', out.decode())
                    wanted = "utf-16le" if name == "utf-16" else name
                    if name == "utf-16be":
                        need(status == 3, f"{spelt}: the mark is wrong")
                    else:
                        need(status == 0 and found is not None and found[1] == wanted, f"{spelt}: {out!r} {error}")
    for word, hint in [("windows1252", "did you mean windows_1252?"), ("utf-9", "known"), ("", "known"), ("\u00e9", "known")]:
        status, _, error = runner.run("count", "--encoding", word, plain)
        need(status == 2 and hint in error, f"{word}: {error}")


def test_bytes(runner):
    """Every byte of every set: what it becomes, or that it is refused, with its place."""
    for name, (_, points) in tables()["CHARSET"].items():
        values = [int(point, 16) for point in re.findall("0x(....)", points)]
        defined = [i + 0x80 for i, point in enumerate(values) if not ESCAPED <= point < ESCAPED + 0x100]
        data = b"text\n" + bytes(range(32, 127)) + b"\n" + b"".join(b"a" + bytes([byte]) + b"\n" for byte in defined)
        path = runner.write("set.csv", data)
        status, out, error = runner.cat(name, path)
        need(status == 0 and out == data.decode(name).encode(), f"{name}: {status} {error}")
        for byte in set(range(0x80, 0x100)) - set(defined):
            path = runner.write("bad.csv", b"text\nok\nab" + bytes([byte]) + b"c\n")
            status, _, error = runner.cat(name, path)
            wanted = f"{name} text with byte 0x{byte:02X}, which the set does not define (byte 10, line 3 before its conversion)"
            need(status == 3 and wanted in error, f"{name}: {error}")


def texts(seed, count):
    """Random texts with borders of blocks in every place, of several densities."""
    rng = random.Random(seed)
    for _ in range(count):
        high = rng.choice([0, 0.001, 0.05, 0.5, 0.95])
        size = rng.choice([rng.randrange(1, 300), 65536 + rng.randrange(-9, 9), rng.randrange(60000, 300000)])
        yield rng, high, max(size, 20)


def compare(runner, name, data, rng, text=None):
    """A file, a pipe, and a compressed file."""
    path = runner.write("random.csv", data)
    try:
        wanted = (data.decode(name) if text is None else text).encode()
        place = None
    except UnicodeDecodeError as error:
        wanted, place = data[:error.start].decode(name).encode(), error.start
    for words, stdin in (([path], b""), (["-"], data)):
        command = ["cat", "--no-quote", "-d", "\\t", "--encoding", name, *words]
        status, out, error = runner.run(*command, stdin=stdin)
        if place is None:
            need(status == 0 and out == wanted, f"{name}: {status} {error} {rng}")
        else:
            need(status == 3 and wanted.startswith(out) and f"(byte {place}, line {data[:place].count(10) + 1}" in error,
                 f"{name}: not byte {place}: {error}")


def choices(rng, high, some, others, count):
    """So many values, each one of `some` with the probability `high`, otherwise one of `others`."""
    weights = [high / len(some)] * len(some) + [(1 - high) / len(others)] * len(others)
    return rng.choices([*some, *others], weights, k=count)


def test_random_sets(runner):
    names = list(tables()["CHARSET"])
    for rng, high, size in texts(2, 40 * runner.rounds):
        name = rng.choice(names)
        defined = [i + 0x80 for i, point in enumerate(points_of(name)) if not ESCAPED <= point < ESCAPED + 0x100] or [65]
        data = bytearray(b"head\n")
        while len(data) < size:
            data += bytes(choices(rng, high, defined, b"abc def,;\n0123", min(5000, size)))
        if rng.random() < 0.3:
            data[rng.randrange(5, len(data))] = rng.randrange(0x80, 0x100)
        compare(runner, name, bytes(data), rng)


def test_random_utf8(runner):
    for rng, high, size in texts(3, 30 * runner.rounds):
        characters = "\u00e9\u0416\u20ac\u4e2d\U0001F600\ud7ff\ue000\uffff\U0010FFFF"
        text = "head\n"
        while len(text) < size:
            text += "".join(choices(rng, high, characters, "abc def,;\n0123", min(5000, size)))
        data = bytearray(text.encode())
        for _ in range(rng.choice([0, 0, 1, 1, 3])):
            data[rng.randrange(5, len(data))] = rng.randrange(0x80, 0x100)
        if rng.random() < 0.2:
            data = data[:-1]
        compare(runner, "utf-8", bytes(data), rng)


def test_marks(runner):
    text = "a,b\n\u00e9,2\n"
    for name, data, status in [
            ("utf-8", b"\xef\xbb\xbf" + text.encode(), 0), ("utf-8-sig", b"\xef\xbb\xbf" + text.encode(), 0),
            ("utf-8-sig", text.encode(), 0), ("utf-16", text.encode("utf-16"), 0),
            ("utf-16", b"\xfe\xff" + text.encode("utf-16-be"), 0), ("utf-16", text.encode("utf-16-le"), 3),
            ("utf-16", b"\xef\xbb\xbf" + text.encode(), 3), ("utf-8", text.encode("utf-16"), 3),
            ("cp1252", b"\xef\xbb\xbfa,b\n", 3), ("cp1251", b"\xff\xfea,b\n", 3), ("koi8-r", b"\xfe\xffa,b\n", 3),
            ("utf-8-sig", b"\xff\xfe\0\0a\0\0\0", 3), ("utf-16", b"\xff\xfe\0\0a\0\0\0", 3), ("utf-16", b"", 0),
            ("utf-16", b"\xff\xfe", 0), ("utf-8-sig", b"\xef\xbb\xbf", 0), ("utf-8-sig", b"\xef\xbb", 3)]:
        path = runner.write("marks.csv", data)
        got, out, error = runner.run("cat", "--encoding", name, path)
        need(got == status and (status != 0 or out == data.decode(name).encode()), f"{name} {data}: {got} {out} {error}")
        need(status != 3 or "byte order mark" in error or "ends within" in error, error)


def test_verbs(runner):
    """Small inputs under each verb: like their UTF-8."""
    verbs = [["count"], ["cat"], ["cat", "-r", "1"], ["cat", "-n", "1/2"], ["offsets", "-l", "1"], ["split", "-n", "2"],
             ["split", "-l", "1"], ["split", "-C", "1K"], ["sample", "-k", "1", "--seed", "1"], ["check", "-q"],
             ["split", "-l", "1", "--rejects", "bad.jsonl"], ["cat", "--rejects", "bad.jsonl"]]
    for text in ["", "\u00e4b,c\n", "\u00e4b,c", "\u00e4b,c\n1,\u20ac\n", "\u00e4b,c\n1,\u20ac", "\u00e4b,c\n1,\"\u20ac"]:
        for name in ["cp1252", "utf-8", "auto"]:
            for verb in verbs:
                results = []
                for data, words in ((text.encode(), []), (text.encode("cp1252" if name == "auto" else name),
                                                          ["--encoding", name])):
                    with tempfile.TemporaryDirectory(dir=runner.folder) as folder:
                        inner = Runner(runner.command, folder)
                        path = inner.write("in.csv", data)
                        status, out, error = inner.run(*verb, *words, path)
                        error = re.sub(".*: read as .*\n", "", error)
                        files = {}
                        for each in sorted(os.listdir(folder)):
                            if each != "in.csv":
                                with open(os.path.join(folder, each), "rb") as file:
                                    files[each] = file.read()
                        if status != 0:   # a stream may have shown a part, and its places have no lines
                            out, error = b"", ""
                        results.append((status, out.replace(path.encode(), b"in.csv"), error.replace(path, "in.csv"), files))
                if verb[0] in ("check", "offsets"):   # they say how the input is read
                    results = [each[0] for each in results]
                elif verb[0] == "split":              # a stream's names have more digits
                    results = [(*each[:3], list(each[3].values())) for each in results]
                need(results[0] == results[1], f"{verb} {name} {text!r}: {results}")


def test_rejects(runner):
    data = b"\xe4,b\n1,\xd2\n2,x\n3,\xe1\xff\n4,y\n"   # cp1253 defines neither D2 nor FF
    path = runner.write("rejects.csv", data)
    kept = "\u03b4,b\n2,x\n4,y\n".encode()
    for words in ([], ["--reject", "encoding"], ["--reject", "encoding,size"]):
        status, out, error = runner.run("cat", "--encoding", "cp1253", "--rejects", "-o", path)
        status, out, error = runner.run("cat", "--encoding", "cp1253", "--rejects", "bad.jsonl", *words, path)
        need(status == 0 and out == kept and "2 of 4 records" in error, f"{words} {status} {out} {error}")
        with open(os.path.join(runner.folder, "bad.jsonl"), encoding="utf-8") as file:
            lines = file.readlines()
        os.remove(os.path.join(runner.folder, "bad.jsonl"))
        need(all("a byte that cp1253 does not define" in line for line in lines) and len(lines) == 2, lines)
    for header in (b"\xd2,b\n1,2\n2,3\n",):
        bad = runner.write("header.csv", header)
        status, out, error = runner.run("cat", "--encoding", "cp1253", "--rejects", "bad.jsonl", bad)
        need(status == 3 and "the header is bad: a byte that cp1253 does not define" in error, error)
    status, _, error = runner.run("cat", "--encoding", "cp1253", "--rejects", "bad.jsonl", "--reject", "fields", path)
    need(status == 3 and "(byte 6, line 2" in error, error)
    path = runner.write("rejects.csv", b"a,b\n1,\xe4\n2,\xc3\xa4\n3,\xc3")
    status, out, error = runner.run("cat", "--encoding", "utf-8", "--rejects", "bad.jsonl", path)
    need(status == 0 and out == "a,b\n2,\u00e4\n".encode() and "2 of 3" in error, f"{out} {error}")


def guessed(runner, data):
    """What `auto` takes it for, or None. The output must be what Python makes of that."""
    path = runner.write("auto.csv", data)
    status, out, error = runner.cat("auto", path)
    found = re.search("read as (.*)", error)
    if found is None:
        need(status == 3 and ("cannot be told" in error or "not CSV" in error), f"{status} {error}")
        need("not CSV" in error or re.search("perhaps .+ or .+", error), error)
        return None
    if status == 0:
        need(out == data.decode(found[1]).encode(), f"{found[1]}: other bytes")
    return found[1]


def test_auto_western(runner):
    known = 0
    for language in WESTERN:
        text = "id,text\n" + "".join(f"{i},{part}\n" for i, part in enumerate(TEXTS[language].split(", ")))
        need(guessed(runner, text.encode()) == "utf-8", language)
        need(guessed(runner, b"\xef\xbb\xbf" + text.encode()) == "utf-8", language)
        need(guessed(runner, text.encode("utf-16")) == "utf-16le", language)
        name = guessed(runner, text.encode("cp1252"))
        need(name in ("cp1252", None), f"{language}: {name}")
        print(f"  {language}: {name}")
        known += name is not None
    need(known >= len(WESTERN) - 1, f"only {known} of {len(WESTERN)} are recognised")


def test_auto_others(runner):
    """Files in other sets, whole and in parts, are never taken for windows-1252 if that would change a letter."""
    for name, language in OTHER_SETS:
        parts = TEXTS[language].replace("\u2019", "'").split(", ")
        for lines in (parts, parts[:3], parts[3:6], parts[-4:]):
            text = "id,text\n" + "".join(f"{i},{part}\n" for i, part in enumerate(lines))
            data = text.encode(name, "ignore")
            found = guessed(runner, data)
            right = data.decode(name)
            need(found is None or data.decode(found) == right or name.startswith("iso2022"),
                 f"{language} in {name} is no {found}: {lines}")


def test_auto_corpora(runner):
    """Valid UTF-8 is always recognised."""
    seen = 0
    for folder in ("data", "doc", "man", "tests", "src/cli", "examples", "bench"):
        for place, _, files in os.walk(os.path.join(ROOT, folder)):
            for name in sorted(files):
                with open(os.path.join(place, name), "rb") as file:
                    data = file.read()
                if len(data) > 1 << 21 or not data:
                    continue
                valid = True
                try:
                    data.decode()
                except UnicodeDecodeError:
                    valid = False
                path = runner.write("corpus.csv", data)
                status, out, error = runner.cat("auto", path)
                found = re.search("read as (.*)", error)
                seen += 1
                if valid and "not CSV" not in error and b"\0" not in data:
                    need(found is not None and found[1] == "utf-8" and (status != 0 or out == data), f"{name}: {error}")
                elif found is not None and not valid:
                    need(found[1].startswith("utf-16") or name in ("latin1.csv",), f"{name}: {found[1]}")
    print(f"  {seen} files")
    need(seen > 100, f"only {seen} files")


def test_auto_sample(runner):
    """What follows the first MiB must be what it was taken for; a character may lie across its end."""
    for shift in range(4):
        data = b"text\n" + b"x" * (1 << 20)
        data = data[:(1 << 20) - shift] + "\u20ac\n".encode()
        need(guessed(runner, data) == "utf-8", f"shift {shift}")
    path = runner.write("late.csv", b"text\n" + b"abc\n" * (1 << 19) + b"caf\xe9\n")
    status, _, error = runner.cat("auto", path)
    need(status == 3 and f"(byte {5 + (4 << 19) + 3}, line {2 + (1 << 19)})" in error, error)
    late = b"text\n" + b"caf\xe9\n" * (1 << 18) + b"\x81\n"
    status, _, error = runner.cat("auto", runner.write("late.csv", late))
    need(status == 3 and "cp1252 text with byte 0x81" in error, error)


def main():
    if sys.argv[1:] == ["--write"]:
        with open(TABLES, "w", encoding="ascii") as file:
            file.write(table_text())
        return 0
    parser = argparse.ArgumentParser()
    parser.add_argument("--cleave", required=True)
    parser.add_argument("--rounds", type=int, default=1)
    options = parser.parse_args()
    tally = Tally()
    tests = [test_tables, test_names, test_bytes, test_marks, test_random_sets, test_random_utf8, test_verbs, test_rejects,
             test_auto_western, test_auto_others, test_auto_corpora, test_auto_sample]
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(os.path.abspath(options.cleave), folder, options.rounds)
        for test in tests:
            tally.run(test.__name__[len("test_"):], lambda test=test: test(runner))
    return tally.close()


sys.exit(main())
