"""Shared by the tests in this folder, in addition to the harness in ../faults: inputs that are hard to cut, and
engines."""
import csv
import importlib
import io
import os
import random
import re
import socket
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "faults"))
import harness  # noqa: E402

# Files, each with a single oddity.
ODD = {
    "plain": b"a,b\n1,2\n3,4\n",
    "no last line end": b"a,b\n1,2\n3,4",
    "empty fields": b'a,b\n,\n"",x\n"",""\n,""\n',
    "blank lines": b"a,b\n\n1,2\n\n\n3,4\n\n",
    "blank lines first": b"\n\na,b\n1,2\n",
    "lines of blanks": b"a,b\n  \n1,2\n \t\n",
    "quoted blanks": b'a,b\n" "\n1,2\n',
    "short records": b"a,b,c\n1\n1,2\n1,2,3\n",
    "long records": b"a,b,c\n1,2,3\n1,2,3,4\n1,2,3,\n",
    "CRLF": b'a,b\r\n1,2\r\n"x\r\ny",3\r\n\r\n4,"5"\r\n',
    "CRLF, then LF": b'a,b\r\n1,2\n"x\ny",3\r\n4,"5"\n6,"7"\r\n8,\r\n',
    "LF, then CRLF": b'a,b\n1,2\r\n"x\r\ny",3\r\n4,"5"\r\n6,7\n8,\r\n\r\n9,9\n',
    "CR": b'a,b\r1,2\r"x\ry",3\r',
    "CR as data": b'a,b\n1\rx,2\n"p\rq",3\n',
    "CR at the end": b"a,b\n1,2\r",
    "LF in a header of CRLF": b'"a\nx",b\r\n1,2\r\n',
    "byte order mark": b"\xef\xbb\xbfa,b\n1,2\n",
    "byte order mark, quoted": b'\xef\xbb\xbf"a","b"\n1,2\n',
    "byte order mark in the middle": b"a,b\n\xef\xbb\xbf1,2\n3,4\n",
    "doubled quotes": b'a,b\n"x""y",2\n"""",3\n"""a""",""""""\n',
    "blanks": b"a,b\n 1 , 2 \n\" q \", z \n",
    "blank before a quote": b'a,b\n1, "z"\n',
    "blank behind a quote": b'a,b\n"q" ,3\n',
    "stray quotes": b'a,b\nx"y,2\nx"y"z,3\n',
    "text behind a quote": b'a,b\n"x"y,2\n4,5\n',
    "two columns of a name": b"a,A,\n1,2,3\n",
    "a header with a line break": b'"a\nx","b""c"\n1,2\n',
    "a header with CRLF": b'"a\r\nx",b\r\n"1\r\n2",3\r\n',
    "a header with CR": b'"a\rx",b\r"1\r2",3\r',
    "a header alone": b"a,b\n",
    "a header of CRLF with LF alone": b'"a\nx",b\r\n',
    "a header with a stray quote alone": b'a"x"b,"c"d\n',
    "a header not UTF-8": b"\xe9,b\n1,2\n",
    "a line of blanks first": b"  \na\n1\n",
    "a line of blanks first, then two columns": b" \t\na,b\n1,2\n",
    "a byte order mark, one column": b"\xef\xbb\xbfa\n1\n2\n",
    "not UTF-8": b"a,b\n\xe9,2\n",
    "NUL": b'a,b\n\x00x,2\nx\x00y,"\x00"\n',
    "one column": b'a\n1\n\n""\n2\n',
    "line breaks alone": b'a,b\n"\n",2\n"\n\n","\r\n"\n',
    "backslashes": b'a,b\n\\,2\n"\\",3\n"x\\""y",4\n',
    "the header again": b"a,b\na,b\n1,2\n",
    "an open quote": b'a,b\n1,"2\n3,4\n',
    "a last empty field": b"a,b\n1,",
    "a last quoted field": b'a,b\n1,"x"',
    "a record like an archive": b"a,b\nPK\x03\x04,1\nBZh9,2\n",
}


def module(name):
    """Imports the module of that name."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise harness.Inconclusive("there is no Python module %s: %s" % (name, error), retry=False) from None


def rows_by_csv(data):
    """The rows as Python's csv reads them: dicts of strings; empty records have none. None if it raises an error, or if
    a record has not as many fields as the header."""
    try:
        header, *rows = filter(None, csv.reader(io.StringIO(data.decode("utf-8-sig"), newline="")))
    except (UnicodeDecodeError, csv.Error):
        return None
    if any(len(row) != len(header) for row in rows):
        return None
    return [dict(zip(header, row)) for row in rows]


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
# What big.csv has in the programs of each page: the header, and a record with a number where there are
# parentheses.
PAGES = {"python/README.md": ("id,name,mail,city", '%(id)d,"two\nlines","user%(id)d@example.org",city %(week)d'),
         "doc/guide/engines.md": ("id,amount,note", '%(id)d,%(week)d,"x\n%(id)d"\n')}


def programs(page):
    """{name: the blocks of that page that are marked with it (```python NAME), as one program}"""
    with open(os.path.join(ROOT, page), encoding="utf-8") as file:
        found = {}
        for name, block in re.findall(r"^```python ?(\w*)\n(.*?)^```", file.read(), re.DOTALL | re.MULTILINE):
            found[name] = found.get(name, "") + block
    return found


def input_of(page, count):
    """The bytes of big.csv, with so many records."""
    header, record = PAGES[page]
    return "\n".join([header, *(record % {"id": n, "week": n % 7} for n in range(count)), ""]).encode()


def guide(bench, name):
    """Runs the program of that name in doc/guide/engines.md, with a file big.csv. Returns the lines that it prints, and
    those that it must: the number of records, of different values of `id`, and the sum of `amount`."""
    page, count = "doc/guide/engines.md", 40000
    harness.write(os.path.join(bench.root, "big.csv"), input_of(page, count))
    done = subprocess.run([sys.executable, "-B", "-c", programs(page)[name]], cwd=bench.root, stdout=subprocess.PIPE,
                          text=True, timeout=300, env={**os.environ, "PYSPARK_PYTHON": sys.executable})
    harness.need(done.returncode == 0, "exit status %d" % done.returncode)
    return done.stdout.splitlines(), "%d %d %d" % (count, count, sum(n % 7 for n in range(count)))


def random_file(chance):
    """A small file of fields that are plain, quoted, empty or, rarely, read differently by different readers."""
    end = chance.choice([b"\n", b"\n", b"\r\n", b"\r"])
    plain = [b"", b"1", b"two words", b"\xc3\xa9", b" x", b"y ", b"'"]
    quoted = [b'""', b'"a"', b'"a,b"', b'"x' + end + b'y"', b'"""q"""', b'"' + end + b'"', b'" "',
              b'"' + end * 2 + b'z"']
    odd = [b'x"y', b'"a" ', b"\r", b"\\"]
    width = chance.randrange(1, 5)
    parts = [b",".join(b"c%d" % k for k in range(width)), end]
    for _ in range(chance.randrange(12)):
        fields = width if chance.random() < 0.85 else chance.randrange(1, 6)
        values = [chance.choice(plain if chance.random() < 0.5 else quoted) for _ in range(fields)]
        if chance.random() < 0.01:
            values[chance.randrange(fields)] = chance.choice(odd)
        parts.append(b",".join(values) if chance.random() < 0.9 else b"")
        parts.append(end)
    if chance.random() < 0.3:
        parts.pop()
    return (b"\xef\xbb\xbf" if chance.random() < 0.1 else b"") + b"".join(parts)


def broken_records(size, end=b"\n", seed=1, ragged=False):
    """A file of about that size in which each record has line breaks within quotes. Some lines are blank and, with
    `ragged`, some records have too few fields."""
    chance = random.Random(seed)
    parts, total, number = [b"\xef\xbb\xbfid,note,text" + end], 0, 0
    while total < size:
        number += 1
        lines = [b"line %d" % chance.randrange(1000) for _ in range(chance.randrange(2, 6))]
        record = b'%d,"%s","say ""%d"",%s%d"' % (number, end.join(lines), number, end, chance.randrange(10 ** 9))
        if ragged and number % 97 == 0:
            record = b'%d,"%s"' % (number, end.join(lines))
        parts += [record, end]
        if number % 101 == 0:
            parts.append(end)
        total += len(record)
    return b"".join(parts)
