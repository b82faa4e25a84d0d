"""Files to read with other programs: the samples, one file for each difficulty, and random files with fixed seeds."""
import os
import random

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "data")

# Two fields per record where possible, so that readers that insist on a fixed number accept the file.
NAMED = {
    "header only": b"a,b\n",
    "header only, no line end": b"a,b",
    "quoted line feed": b'a,b\n1,"x\ny"\n2,z\n',
    "quoted CRLF": b'a,b\r\n1,"x\r\ny"\r\n2,z\r\n',
    "quoted CR": b'a,b\n1,"x\ry"\n2,z\n',
    "quoted delimiters": b'a,b\n"1,1","x,\n,y"\n2,z\n',
    "doubled quotes": b'a,b\n1,"x ""y"" z"\n2,"""\n"""\n3,""""\n',
    "empty quoted fields": b'a,b\n"",""\n1,""\n"",2\n',
    "CRLF": b"a,b\r\n1,2\r\n3,4\r\n",
    "CR": b"a,b\r1,2\r3,4\r",
    "CR, quoted": b'a,b\r1,"x\ry"\r3,"4\n"\r',
    "CR, no line end": b"a,b\r1,2\r3,4",
    "LF, then a CR": b"a,b\n1,x\ry\n3,4\n",
    "LF, then a CRLF": b"a,b\n1,x\r\n3,4\n",
    "CRLF, then an LF": b"a,b\r\n1,x\n3,4\r\n",
    "CRLF, then a CR": b"a,b\r\n1,x\ry,4\r\n3,4\r\n",
    "CR, then an LF": b"a,b\r1,x\ny,4\r3,4\r",
    "CR, empty line, delimiter": b"a,b\r\r,\r3,4\r",
    "CR CR LF": b"a,b\r\r\n1,x\r\r\n3,4\r\r\n",
    "one column, a delimiter too many before a CRLF": b"a\n1,\r\n2\n",
    "LF CR": b"a,b\n\r1,x\n\r3,4\n\r",
    "one stray quote in a field": b'a,b\n1,5" tv\n2,6" tv\n3,z\n',
    "one stray quote at the end of a field": b'a,b\n1,5"\n2,6"\n3,z\n',
    "stray quotes in pairs": b'a,b\n1,5" x 7"\n2,5" x 8"\n',
    "stray quotes around a delimiter": b'a,b\n1,x"y,z"\n2,3\n',
    "stray quotes around a line feed": b'a,b\n1,x"y\nz"\n2,3\n',
    "a stray quote before a quoted field": b'a,b\n1,5" tv,"x\n2,y"\n3,z\n',
    "text after a closing quote": b'a,b\n1,"x"y\n2,z\n',
    "text and a quote after a closing quote": b'a,b\n1,"x"y"\n2,z"\n3,4\n',
    "text and a quoted line feed after a closing quote": b'a,b\n1,"x"y"\nz"\n3,4\n',
    "a space before a quote": b'a,b\n1, "x\ny"\n2,z\n',
    "a space after a quote": b'a,b\n1,"x\ny" \n2,z\n',
    "a space before a quote and a comma": b'a,b\n1, "x,y"\n2, "z"\n',
    "a tab before a quote": b'a,b\n1,\t"x\ny"\n2,z\n',
    "backslash before a quote": b'a,b\n1,"x\\"\n2,"y\\"\n3,z\n',
    "backslash before a quote in a quoted field": b'a,b\n1,"x\\"y"\n2,"z\\"y"\n',
    "backslash at the end of a record": b"a,b\n1,x\\\n2,y\\\n",
    "doubled backslash before a quote": b'a,b\n1,"x\\\\"\n2,y\n',
    "byte order mark": b"\xef\xbb\xbfa,b\n1,2\n3,4\n",
    "byte order mark before a quote": b'\xef\xbb\xbf"a\nx",b\n1,2\n3,4\n',
    "no line end": b"a,b\n1,2\n3,4",
    "no line end after a quote": b'a,b\n1,"2"\n3,"4"',
    "ends with a delimiter": b"a,b\n1,2\n3,",
    "empty lines": b"a,b\n\n1,2\n\n\n3,4\n",
    "empty lines, CRLF": b"a,b\r\n\r\n1,2\r\n\r\n\r\n3,4\r\n",
    "empty line first": b"\na,b\n1,2\n",
    "empty lines last": b"a,b\n1,2\n\n\n",
    "lines of spaces": b"a,b\n  \n1,2\n \n3,4\n",
    "one column": b"a\n1\n2\n3\n",
    "one column, empty lines": b"a\n1\n\n3\n",
    "one column, empty quoted fields": b'a\n""\n1\n""\n',
    "one column, quoted": b'a\n"1\n2"\n"3\r\n4"\n',
    "ragged": b"a,b\n1\n1,2,3\n1,2\n",
    "open quote": b'a,b\n1,2\n3,"4\n5,6\n',
    "apostrophes": b"a,b\n1,'x\n2,it's\n3,'y'\n",
    "semicolons": b'a;b\n1;"x\ny"\n2;z\n',
    "backslash and point": b"a,b\n1,2\n\\.\n3,4\n",
    "comment signs": b"a,b\n#1,2\n3,#4\n",
    "one record, one byte": b"a",
    "a line feed alone": b"\n",
    "a quoted line feed alone": b'"\n"\n',
}

FIELDS = [b"", b"a", b"a a", b'""', b'"a"', b'"a,a"', b'"a\na"', b'"a\r\na"', b'"a""a"', b'"""\n"""', b'a"a', b'a"',
          b'"a"a', b'"a" ', b' "a"', b"\\", b'"\\"', b'"a\ra"', b";", b" "]


def random_bytes(chance):
    return bytes(chance.choice(b'aa,,""\n\n\r \\;') for _ in range(chance.randrange(1, 16)))


def random_records(chance):
    """Two-field records, with the same line end throughout or several; few of the fields are unusual."""
    ends = chance.choice([[b"\n"], [b"\n"], [b"\r\n"], [b"\r"], [b"\n", b"\r\n"], [b"\n", b"\r\n", b"\r"]])
    fields = [b"a"] * chance.choice([1, 20, 60]) + FIELDS
    rows = [chance.choice(fields) + b"," + chance.choice(fields) + chance.choice(ends)
            for _ in range(chance.randrange(1, 8))]
    return b"".join(rows)


def samples():
    """{name: bytes} of the files in data/."""
    found = {}
    for name in sorted(os.listdir(DATA)):
        if name.endswith((".csv", ".tsv")):
            with open(os.path.join(DATA, name), "rb") as file:
                found[name] = file.read()
    return found


def corpus(count, seed):
    """{name: bytes}: the samples, the files named above, and `count` random files of each kind."""
    chance = random.Random(seed)
    files = samples()
    files.update(NAMED)
    for kind in (random_bytes, random_records):
        for number in range(count):
            files["%s, seed %d, number %d" % (kind.__name__, seed, number)] = kind(chance)
    return files
