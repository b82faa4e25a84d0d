#!/usr/bin/env python3
"""Tests the --by oracle against expectations worked out by hand."""
import sys
import unittest

import names
from cases import Case
from expect import Expected
from fields import make_dialect
from loosely import Reader


def case_of(data, by=b"k", **options):
    case = Case()
    case.data, case.by, case.dialect = data, by, options.pop("dialect", make_dialect(b","))
    for name, value in options.items():
        setattr(case, name, value)
    return case


class Names(unittest.TestCase):
    def names(self, *values):
        return names.names_of([(value,) for value in values])

    def test_plain(self):
        self.assertEqual(self.names(b"a", b"Z9_-~.x", "Größe".encode()), [b"a", b"Z9_-~.x", "Größe".encode()])

    def test_escaped(self):
        self.assertEqual(self.names(b"../x", b".", b"-rf", b"a,b", b"%2F", b"a b", b"\x00", b"a+b", b"a\nb"),
                         [b"%2E.%2Fx", b"%2E", b"%2Drf", b"a%2Cb", b"%252F", b"a%20b", b"%00", b"a%2Bb", b"a%0Ab"])
        self.assertEqual(self.names(b"\xff\xc3", b"\xed\xa0\x80", "\u0085".encode()), [b"%FF%C3", b"%ED%A0%80", b"%C2%85"])
        self.assertEqual(self.names(b"a.", b".."), [b"a%2E", b"%2E%2E"])

    def test_empty(self):
        self.assertEqual(self.names(b"", b"__EMPTY__"), [b"__EMPTY__", b"%5F_EMPTY__"])

    def test_several(self):
        self.assertEqual(names.names_of([(b"a,b", b""), (b"-", b".c")]), [b"a%2Cb,__EMPTY__", b"%2D,%2Ec"])

    def test_case(self):
        self.assertEqual(self.names(b"ab", b"Ab", b"x", b"AB", b"X"), [b"ab", b"Ab@2", b"x", b"AB@3", b"X@2"])
        self.assertEqual(self.names("ä".encode(), "Ä".encode()), ["ä".encode(), "Ä".encode()])
        self.assertEqual(self.names(b"ab@2", b"ab", b"AB"), [b"ab%402", b"ab", b"AB@2"])

    def test_long(self):
        self.assertEqual(self.names(b"x" * 200), [b"x" * 200])
        if names.xxh3 is None:
            self.skipTest("there is no xxhash")
        name, = self.names(b"x" * 201)
        self.assertEqual(name, b"x" * 183 + b"@%016x" % names.xxh3(b"x" * 201))
        name, = self.names(b"x" * 182 + b"/" * 10)
        self.assertEqual((name[:183], len(name)), (b"x" * 182 + b"@", 199))
        name, = self.names(b"x" * 182 + "€".encode() * 9)
        self.assertEqual((name[:183], len(name)), (b"x" * 182 + b"@", 199))

    def test_hive(self):
        self.assertEqual(names.folders_of([(b"a/b", b"")], [b"k y", b"z"]), [b"k%20y=a%2Fb/z=__HIVE_DEFAULT_PARTITION__"])
        names.folders_of([(b"x" * 253,)], [b"k"])
        with self.assertRaises(names.NoName):
            names.folders_of([(b"x" * 254,)], [b"k"])

    def test_hash(self):
        if names.xxh3 is None:
            self.skipTest("there is no xxhash")
        # The hash that the specification of XXH3 implies for an empty input and seed 0; xxhsum -H3 prints it.
        self.assertEqual(names.hash_of((b"",)), 0x2D06800538D394C2)
        self.assertEqual(names.hash_of((b"a", b"")), names.xxh3(b"\1\0\0\0\0\0\0\0a\0\0\0\0\0\0\0\0"))
        self.assertEqual(names.hash_of_number(258, 7), names.xxh3(b"\2\1\0\0\0\0\0\0", 7))
        self.assertNotEqual(names.xxh3(b"abc", 7), names.xxh3(b"abc"))

    def test_parts(self):
        half = 2 ** 63
        self.assertEqual(names.ends_of(["1", "1"]), [half, 2 * half])
        self.assertEqual(names.ends_of(["0.5", ".25", "0.250"]), [half, half + half // 2, 2 * half])
        self.assertEqual(names.ends_of([1, 2]), [2 ** 64 // 3 + 1, 2 ** 64])   # hashes below 2**64 / 3
        self.assertEqual([names.part_of(hash_, [half, 2 * half]) for hash_ in (0, half - 1, half, 2 * half - 1)],
                         [0, 0, 1, 1])


class Records(unittest.TestCase):
    def values(self, data, anywhere=False, **dialect):
        return [record.values for record in Reader(data, make_dialect(b",", **dialect), anywhere).read().records]

    def test_quotes(self):
        self.assertEqual(self.values(b'"a,b",c\n'), [[b"a,b", b"c"]])
        self.assertEqual(self.values(b'"a""b","\n"\r\n'), [[b'a"b', b"\n"]])
        self.assertEqual(self.values(b'5" tv,x\n'), [[b'5" tv', b"x"]])
        self.assertEqual(self.values(b'5" tv,x\n', anywhere=True), [[b"5 tv,x\n"]])
        self.assertEqual(self.values(b"\xef\xbb\xbf\"a\",b\n"), [[b"a", b"b"]])

    def test_ends(self):
        self.assertEqual(self.values(b"a\r\n\r\nb"), [[b"a"], [b""], [b"b"]])
        self.assertEqual(self.values(b"a\rb\r", terminator="cr"), [[b"a"], [b"b"]])
        self.assertEqual(self.values(b"a\r\nb\rc\n", terminator="any"), [[b"a"], [b"b"], [b"c"]])

    def test_escapes(self):
        self.assertEqual(self.values(b'a\\,b,"\\""\n', escape=b"\\"), [[b"a,b", b'"']])
        self.assertEqual(self.values(b'a\\,b,"\\""\n', escape=b"\\", scope="quoted"), [[b"a\\", b"b", b'"']])


class Pieces(unittest.TestCase):
    DATA = b"id,k\n1,a\n2,b\n\n3,a\n"

    def pieces(self, data=DATA, **options):
        expected = Expected(case_of(data, **options))
        self.assertEqual(expected.codes, {0})
        return {piece.name + (b".%d" % piece.number if piece.number > 1 else b""): piece.content
                for piece in expected.pieces}

    def test_parts(self):
        if names.xxh3 is None:
            self.skipTest("there is no xxhash")
        # The hashes of "a", "b" and "" are 0.90, 0.34 and 0.18 of 2**64; of the numbers 1 to 4, 0.19, 0.13, 0.30, 0.79.
        parts = [(b"x", "0.3"), (b"y", "0.1"), (b"z", "0.6")]
        self.assertEqual(self.pieces(parts=parts),
                         {b"x": b"id,k\n\n", b"y.2": b"id,k\n2,b\n", b"z.3": b"id,k\n1,a\n3,a\n"})
        self.assertEqual(self.pieces(parts=parts, by=b"", is_draw=True),
                         {b"x": b"id,k\n1,a\n2,b\n", b"y.2": b"id,k\n\n", b"z.3": b"id,k\n3,a\n"})
        self.assertEqual(self.pieces(data=b"", parts=parts, by=b"", is_draw=True), {b"x": b"", b"y.2": b"", b"z.3": b""})

    def refused(self, code, data=DATA, **options):
        expected = Expected(case_of(data, **options))
        self.assertIn(code, expected.codes)
        self.assertNotIn(0, expected.codes)

    def test_values(self):
        self.assertEqual(self.pieces(), {b"a": b"id,k\n1,a\n3,a\n", b"b": b"id,k\n2,b\n", b"__EMPTY__": b"id,k\n\n"})
        self.assertEqual(self.pieces(header_mode="first"), {b"a": b"id,k\n1,a\n3,a\n", b"b": b"2,b\n", b"__EMPTY__": b"\n"})
        self.assertEqual(self.pieces(header_mode="none", by=b"#2"), {
            b"k": b"id,k\n", b"a": b"1,a\n3,a\n", b"b": b"2,b\n", b"__EMPTY__": b"\n"})

    def test_unquoted(self):
        self.assertEqual(self.pieces(b'k\n"a"\na'), {b"a": b'k\n"a"\na'})

    def test_several(self):
        self.assertEqual(self.pieces(by=b"k,id").keys(), {b"a,1", b"b,2", b"__EMPTY__,__EMPTY__", b"a,3"})

    def test_columns_left_out(self):
        self.assertEqual(self.pieces(hive=True), {b"k=a": b"id\n1\n3\n", b"k=b": b"id\n2\n",
                                                  b"k=__HIVE_DEFAULT_PARTITION__": b"id\n\n"})
        self.assertEqual(self.pieces(drop_by=True)[b"a"], b"id\n1\n3\n")

    def test_rules(self):
        self.assertEqual(self.pieces(has_rules=True, rules=[b"k: fixed(x)"]), {
            b"x": b"id,k\n1,x\n2,x\n3,x\n", b"__EMPTY__": b"id,k\n\n"})
        self.refused(2, has_rules=True, select=b"id")

    def test_limits(self):
        self.assertEqual(self.pieces(count=1), {
            b"a": b"id,k\n1,a\n", b"a.2": b"id,k\n3,a\n", b"b": b"id,k\n2,b\n", b"__EMPTY__": b"id,k\n\n"})
        self.assertEqual(self.pieces(size=12), self.pieces(count=1))
        self.pieces(max_keys=3)
        self.refused(2, max_keys=2)
        self.refused(2, total=3)

    def test_ragged(self):
        self.refused(3, b"id,k\n1\n")
        self.assertEqual(self.pieces(b"id,k\n1\n", allows_ragged=True), {b"__EMPTY__": b"id,k\n1\n"})
        self.refused(3, b"id,k\n1,a,x\n")
        self.assertEqual(self.pieces(b"id,k\n1,a,x\n", allows_ragged=True), {b"a": b"id,k\n1,a,x\n"})
        self.assertEqual(self.pieces(b'id,k\n1,a,,""\n'), {b"a": b'id,k\n1,a,,""\n'})
        self.refused(3, b'id,k\n1,"a\n')
        self.assertEqual(self.pieces(b'id,k\n1,"a\n', allows_open_quote=True), {b"a%0A": b'id,k\n1,"a\n'})


if __name__ == "__main__":
    sys.exit(unittest.main())
