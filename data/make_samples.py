#!/usr/bin/env python3
"""Write the sample files of this folder, byte for byte the same on every run.

  make_samples.py [FOLDER]     default: the folder of this script

All content is made up here. Only random.random() is drawn from, because its sequence for a seed never changes.
"""
import os
import random
import sys

FIRST = ["Ada", "Bo", "Chidi", "Dora", "Emil", "Farah", "Goran", "Hana", "Ines", "Jun", "Kofi", "Lena"]
LAST = ["Abel", "Brandt", "Costa", "Dahl", "Engel", "Fischer", "Grau", "Holm", "Ito", "Jansen", "Keller", "Lund"]
STREET = ["Mill Lane", "Harbour Road", "Oak Street", "Station Square", "North Quay", "Garden Row"]
CITY = ["Ulmstad", "Port Arden", "Kesterhof", "Nove Brdo", "Saint-Loup", "Eastmere"]
THING = ["desk lamp", "oak shelf", "steel bolt, M8", "cable, 3 m", 'monitor, 27"', "garden hose", 'frame, 5" x 7"', "kettle"]
NOTE = ["", "", "", "", "", "ring twice", "leave at the door", "gift, no invoice", "first floor\nleft door",
        'he said "after six"', "fragile!\nthis side up\n", "call before; no mail"]


class Dice:
    def __init__(self, seed):
        self.random = random.Random(seed).random

    def below(self, n):
        return int(self.random() * n)

    def pick(self, items):
        return items[self.below(len(items))]


def field(text, delimiter=","):
    """Quote a field where it must be quoted."""
    if any(c in text for c in (delimiter, '"', "\n", "\r")):
        return '"' + text.replace('"', '""') + '"'
    return text


def table(rows, delimiter=",", end="\n"):
    return "".join(delimiter.join(field(str(f), delimiter) for f in row) + end for row in rows).encode()


def people(seed, count):
    """Rows without anything that needs quotes."""
    d = Dice(seed)
    for i in range(1, count + 1):
        yield [i, d.pick(FIRST), d.pick(LAST), 1950 + d.below(55), d.pick(CITY)]


def remarks(seed, count):
    """Rows whose last field often needs quotes."""
    d = Dice(seed)
    for i in range(1, count + 1):
        yield [i, d.pick(THING), d.pick(NOTE)]


PEOPLE = ["id", "first", "last", "born", "city"]
REMARKS = ["id", "thing", "note"]


def plain():
    return table([PEOPLE, *people(1, 40)])


def quoted():
    return table([REMARKS, *remarks(2, 40)])


def crlf():
    return table([REMARKS, *remarks(3, 30)], end="\r\n")


def cr():
    return table([PEOPLE, *people(4, 25)], end="\r")


def bom():
    return b"\xef\xbb\xbf" + b'"id","thing,\nwith maker","note"\n' + table(remarks(5, 20))


def tab():
    return table([REMARKS, *remarks(6, 30)], "\t")


def semicolon():
    return table([["id", "price", "note"], *([i, "%d,%02d" % (i * 7 % 50, i * 13 % 100), n] for i, _, n in remarks(7, 30))], ";")


def pipe():
    return table([PEOPLE, *people(8, 30)], "|")


def backslash():
    """Quotes inside quotes, and line ends outside them, are marked by a backslash."""
    out = ["id,thing,note\n"]
    for i, thing, note in remarks(9, 30):
        thing = thing.replace("\\", "\\\\").replace('"', '\\"')
        note = note.replace(",", "\\,").replace('"', '\\"').replace("\n", "\\\n")
        out.append('%d,"%s",%s\n' % (i, thing, note))
    return "".join(out).encode()


def no_final_newline():
    return table([REMARKS, *remarks(10, 12)])[:-1]


def empty_lines():
    rows = table([PEOPLE, *people(11, 12)]).splitlines(keepends=True)
    return b"".join(row + b"\n" * (i % 3) for i, row in enumerate(rows))


def header_newline():
    return b'id,"first\nand last","city, or\n""village"""\n' + table(([r[0], r[1] + " " + r[2], r[4]] for r in people(12, 20)))


def ragged():
    return table([PEOPLE, *(row[:1 + row[0] % 5] + ["extra"] * (row[0] % 7 == 0) for row in people(13, 20))])


def latin1():
    names = ["Jos\xe9", "Bj\xf6rk", "Fran\xe7ois", "\xc5sa", "Zo\xeb"]
    return "".join('%d,"%s, %s"\n' % (i, names[i % 5], "r\xe9ponse") if i else "id,name\n" for i in range(16)).encode("latin-1")


def utf8():
    names = ["Gr\u00fc\u00dfe", "\u6771\u4eac", "\u0141\u00f3d\u017a", "\u041c\u0438\u0440", "caf\u00e9 \u2615", "\U0001f33f leaf"]
    return "".join('%d,"%s\n%s"\n' % (i, names[i % 6], names[(i + 1) % 6]) if i else "id,name\n" for i in range(16)).encode()


def nul():
    return b"id,blob\n" + b"".join(b'%d,"\0\n%s\0"\n' % (i, b"\0" * (i % 4)) for i in range(1, 13))


def unclosed():
    """The quote of record 35 opens and is never closed."""
    return table([PEOPLE, *people(14, 34)]) + b'35,"Ada,Abel,1970,Ulmstad\n' + table(people(15, 5))


def stray_quotes():
    """Inches: one quote in the middle of an unquoted field, so that toggling at every quote joins records."""
    sizes = ["12", "15", "24", "27"]
    return b"id,thing,price\n" + b"".join(b'%d,%s" monitor,%d\n' % (i, sizes[i % 4].encode(), 90 + i) if i % 3 == 0
                                          else b"%d,desk,%d\n" % (i, 200 + i) for i in range(1, 25))


def balanced_stray():
    """Inches again, but two quotes in one field: both quote rules cut alike."""
    return b"id,thing,price\n" + b"".join(b'%d,frame %d" x %d",%d\n' % (i, 4 + i % 3, 6 + i % 4, 5 + i) for i in range(1, 21))


def utf16():
    return b"\xff\xfe" + table([PEOPLE, *people(16, 10)]).decode().encode("utf-16-le")


def orders():
    d = Dice(17)
    rows = [["order", "placed", "customer", "mail", "item", "quantity", "price", "ship_to", "note"]]
    for i in range(7000):
        first, last = d.pick(FIRST), d.pick(LAST)
        placed = "2023-%02d-%02d %02d:%02d" % (1 + i * 12 // 7000, 1 + d.below(28), d.below(24), d.below(60))
        ship = "%s %s\n%d %s\n%05d %s" % (first, last, 1 + d.below(200), d.pick(STREET), d.below(100000), d.pick(CITY))
        rows.append([100001 + i, placed, first + " " + last, "%s.%s@example.org" % (first.lower(), last.lower()), d.pick(THING),
                     1 + d.below(9), "%d.%02d" % (1 + d.below(300), d.below(100)), ship, d.pick(NOTE)])
    return table(rows)


def readings():
    d = Dice(18)
    rows = [["time", "station", "sensor", "value", "unit", "remark"]]
    for i in range(58000):
        remark = d.pick(["drift, see log", "restarted\nby hand"]) if d.below(200) == 0 else ""
        rows.append(["%02d:%02d:%02d.%03d" % (i // 3600 % 24, i // 60 % 60, i % 60, d.below(1000)), "st%02d" % d.below(40),
                     d.pick(["temp", "wind", "rain", "pressure"]), "%.2f" % (d.random() * 120 - 20),
                     d.pick(["C", "m/s", "mm", "hPa"]), remark])
    return table(rows)


SAMPLES = {
    "plain.csv": plain, "quoted.csv": quoted, "crlf.csv": crlf, "cr.csv": cr, "bom.csv": bom, "tab.tsv": tab,
    "semicolon.csv": semicolon, "pipe.csv": pipe, "backslash.csv": backslash, "no_final_newline.csv": no_final_newline,
    "empty_lines.csv": empty_lines, "header_newline.csv": header_newline, "ragged.csv": ragged, "latin1.csv": latin1,
    "utf8.csv": utf8, "nul.csv": nul, "unclosed.csv": unclosed, "stray_quotes.csv": stray_quotes,
    "balanced_stray.csv": balanced_stray, "utf16.csv": utf16, "orders.csv": orders, "readings.csv": readings,
}


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
    for name, make in SAMPLES.items():
        with open(os.path.join(folder, name), "wb") as f:
            f.write(make())


if __name__ == "__main__":
    main()
