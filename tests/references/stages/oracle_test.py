#!/usr/bin/env python3
"""Tests the oracle against expectations worked out by hand, and searches.py against commands that count wrongly."""
import contextlib
import datetime
import fractions
import io
import math
import os
import random
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import aes_siv  # noqa: E402
import operations  # noqa: E402
import pieces  # noqa: E402
import searches  # noqa: E402
from fields import Fault, make_dialect  # noqa: E402
from oracle import redact  # noqa: E402

COMMA = make_dialect(b",")
KEY = {b"k": b"Jefe"}


def run(data, dialect=COMMA, **options):
    return redact(data, dialect, **options)


class Base(unittest.TestCase):
    def writes(self, data, output, dialect=COMMA, **options):
        result = run(data, dialect, **options)
        self.assertIsNone(result.refusal, data)
        self.assertEqual(result.output, output)
        return result

    def refuses(self, code, data, dialect=COMMA, **options):
        result = run(data, dialect, **options)
        self.assertIsNotNone(result.refusal, (data, result.output))
        self.assertEqual(result.refusal.code, code, result.refusal)
        return result

    def changes(self, operation, value, new):
        """Expects the operation to change an unquoted field, next to a second one, in this way."""
        self.writes(b"a,b\n" + value + b",1\n", b"a,b\n" + new + b",1\n", rules=[b"a: " + operation], keys=KEY)


class Ciphers(unittest.TestCase):
    def test_aes(self):
        # FIPS 197, appendix C.
        text = bytes.fromhex("00112233445566778899aabbccddeeff")
        for size, expected in ((16, "69c4e0d86a7b0430d8cdb78070b4c55a"), (32, "8ea2b7ca516745bfeafc49904b496089")):
            keys = aes_siv.round_keys(bytes(range(size)))
            self.assertEqual(aes_siv.encrypt_block(keys, text).hex(), expected)

    def test_siv(self):
        # RFC 5297, appendix A.
        key = bytes.fromhex("fffefdfcfbfaf9f8f7f6f5f4f3f2f1f0f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff")
        text = bytes.fromhex("112233445566778899aabbccddee")
        associated = [bytes.fromhex("101112131415161718191a1b1c1d1e1f2021222324252627")]
        sealed = aes_siv.seal(key, text, associated)
        self.assertEqual(sealed.hex(), "85632d07c6e8f37f950acd320a2ecc9340c02b9690c4dc04daef7f6afe5c")
        self.assertEqual(aes_siv.unseal(key, sealed, associated), text)
        self.assertIsNone(aes_siv.unseal(key, sealed[:-1] + b"\0", associated))
        key = bytes.fromhex("7f7e7d7c7b7a79787776757473727170404142434445464748494a4b4c4d4e4f")
        text = b"this is some plaintext to encrypt using SIV-AES"
        associated = [bytes.fromhex("00112233445566778899aabbccddeeffdeaddadadeaddadaffeeddccbbaa99887766554433221100"),
                      bytes.fromhex("102030405060708090a0"), bytes.fromhex("09f911029d74e35bd84156c5635688c0")]
        self.assertEqual(aes_siv.seal(key, text, associated).hex(),
                         "7bdb6e3b432667eb06f4d14bff2fbd0fcb900f2fddbe404326601965c889bf17"
                         "dba77ceb094fa663b7a3f748ba8af829ea64ad544a272e9c485b62a3fd5c0d")

    def test_derived_keys(self):
        # HKDF computed step by step; the first 32 bytes do not depend on the size.
        secret = operations.mac(bytes(32), b"key")
        first = operations.mac(secret, b"cleave 2 form\0c\x01")
        self.assertEqual(operations.derived_key(b"key", b"form", b"c"), first)
        self.assertEqual(operations.derived_key(b"key", b"form", b"c", 64),
                         first + operations.mac(secret, first + b"cleave 2 form\0c\x02"))


class Operations(Base):
    def test_numbers(self):
        for width, value, new in ((b"10", b"45", b"50"), (b"10", b"-45", b"-50"), (b"0.5", b"0.74", b"0.5"),
                                  (b"7", b"3.5", b"7"), (b"1", b"x", b""), (b"1", b"1" + b"0" * 18, b""),
                                  (b"1", b"0" * 9 + b"9" * 18, b"9" * 18)):
            self.changes(b"round(" + width + b")", value, new)
        for limit, value, new in ((b"90", b"91", b"90"), (b"90", b"90.0", b"90.0"), (b"7.50", b"8", b"7.50"),
                                  (b"90", b"-" + b"9" * 30, b"-" + b"9" * 30), (b"90", b"1e3", b"")):
            self.changes(b"top(" + limit + b")", value, new)

    def test_shift_date(self):
        formats = [b"YYYY-MM-DD", b"DD.MM.YYYY"]
        key = KEY[b"k"]
        moved = [operations.shift_date(day, b"p", key, 100, formats, b"") for day in
                 (b"2024-02-28", b"2024-02-29T10:20", b"01.03.2024")]
        first = datetime.date.fromisoformat(moved[0].decode())
        self.assertLessEqual(abs((first - datetime.date(2024, 2, 28)).days), 100)
        self.assertEqual(moved[1].decode(), (first + datetime.timedelta(1)).isoformat() + "T10:20")
        self.assertEqual(moved[2].decode(), (first + datetime.timedelta(2)).strftime("%d.%m.%Y"))
        self.assertEqual(operations.shift_date(b"0400-02-28", b"p", key, 100, formats, b"")[4:], moved[0][4:])
        for value, by in ((b"2023-02-29", b"p"), (b"2024-02-29 ", b"p"), (b"2024-02-28", b"")):
            with self.assertRaises(Fault):
                operations.shift_date(value, by, key, 100, formats, b"")

    def test_tokens_that_can_be_turned_back(self):
        for value in (b"", b"x", b"\xff\0" * 20):
            sealed = operations.encrypt(value, KEY[b"k"], b"c", b"v2.")
            self.assertEqual(operations.decrypt(sealed, KEY[b"k"], b"c"), value)
            for damaged in (sealed[:-1], sealed + b"=", b"x" + sealed, sealed.swapcase()):
                with self.assertRaises(Fault):
                    operations.decrypt(damaged, KEY[b"k"], b"c")

    def test_generalise(self):
        table = [[b"1..5", b"low"], [b"6..9", b"high"], [b"x", b"letter"], [b"3", b"three"]]
        for value, new in ((b"1", b"low"), (b"5.0", b"low"), (b"3", b"three"), (b"3.0", b"low"), (b"9", b"high")):
            self.assertEqual(operations.generalise(value, table, 1), new)
        for value in (b"5.5", b"10", b"y", b""):
            with self.assertRaises(Fault):
                operations.generalise(value, table, 1)
            self.assertEqual(operations.generalise(value, table + [[b"*", b"rest"]], 1), b"rest")

    def test_keep(self):
        self.writes(b'a,b\n"x""y", z\n', b'a,b\n"x""y", z\n', rules=[b"a: keep"])
        self.writes(b'a,b\n"x""y", z\n', b'a,b\n"x""y", z\n', rules=[b"a, b: keep()"])

    def test_null(self):
        self.changes(b"null", b"x", b"")
        self.changes(b"null", b'"x"', b"")
        self.writes(b'a,b\n"x",1\n"",2\n,3\n', b'a,b\nNULL,1\n"",2\n,3\n', rules=[b"a: null"], null_token=b"NULL")
        self.writes(b'a,b\n"",2\n,3\n', b"a,b\nNULL,2\nNULL,3\n", rules=[b"a: null(empty=change)"], null_token=b"NULL")

    def test_fixed(self):
        self.changes(b'fixed("x y")', b"abc", b"x y")
        self.changes(b"fixed(x)", b'"abc"', b'"x"')
        self.changes(b'fixed("x,y")', b"abc", b'"x,y"')
        self.changes(b'fixed("say ""no""")', b"abc", b'"say ""no"""')
        self.changes(b'fixed("")', b"abc", b"")
        self.changes(b'fixed("")', b'"abc"', b'""')
        self.changes(b"fixed(x)", b'""', b'""')
        self.changes(b"fixed(x, empty=change)", b'""', b'"x"')
        self.changes(b"fixed(x, empty=change)", b"", b"x")

    def test_hmac(self):
        # RFC 4231, test case 2: key Jefe.
        value = b"what do ya want for nothing?"
        digest = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        self.changes(b"hmac(k, form=hex, bytes=32)", value, digest.encode())
        self.changes(b"hmac(k, form=hex)", value, digest[:32].encode())
        self.changes(b"hmac(k, bytes=8)", value, b"W9zBRr9gdU4")
        self.changes(b"hmac(k)", value, b"W9zBRr9gdU5qBCQmCJV1xw")
        self.changes(b"hmac(k, form=decimal)", value, str(0x5bdcc146bf60754e).encode())
        self.changes(b"hmac(k, bytes=8, trim)", b" \t" + value + b"\v ", b"W9zBRr9gdU4")
        self.changes(b"hmac(k, bytes=8, lower)", value.upper(), b"W9zBRr9gdU4")

    def test_hmac_of_rfc_4231(self):
        self.assertEqual(operations.token(b"Hi There", b"\x0b" * 20, 32, "hex"),
                         b"b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7")
        self.assertEqual(operations.token(b"Test Using Larger Than Block-Size Key - Hash Key First", b"\xaa" * 131, 32,
                                          "hex"),
                         b"60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54")

    def test_hmac_with_context(self):
        inner = operations.mac(b"Jefe", b"\xffcleave context 1mails")
        self.changes(b"hmac(k, context=mails, form=hex, bytes=32)", b"x", operations.mac(inner, b"x").hex().encode())

    def test_the_top_bit_of_a_decimal_token_is_cleared(self):
        # The MAC in RFC 4231, test case 1, begins with b0344c61d8db3853.
        self.assertEqual(operations.token(b"Hi There", b"\x0b" * 20, form="decimal"), b"%d" % 0x30344C61D8DB3853)

    def test_mask(self):
        self.changes(b"mask", b"abc", b"***")
        self.changes(b"mask()", b"abc", b"***")
        self.changes(b"mask(first=1)", b"abc", b"a**")
        self.changes(b"mask(last=1, first=1)", b"abc", b"a*c")
        self.changes(b"mask(first=1, last=2)", b"abc", b"***")
        self.changes(b"mask(last=2, char=-)", b"abc", b"-bc")
        self.changes(b'mask(char=" ")', b"abc", b"   ")
        self.changes(b"mask(first=1, empty=change)", b"", b"")
        self.changes(b"mask(first=1)", "äöü".encode(), "ä**".encode())
        self.changes(b"mask", "a€𝄞".encode(), b"***")
        self.changes(b"mask(char=\",\")", b"ab", b'",,"')
        # Overlong, surrogate, beyond U+10FFFF, truncated: each byte is a character.
        self.changes(b"mask", b"\xc0\x80", b"**")
        self.changes(b"mask", b"\xed\xa0\x80", b"***")
        self.changes(b"mask", b"\xf4\x90\x80\x80", b"****")
        self.changes(b"mask", b"\xe2\x82", b"**")
        self.changes(b"mask", b"\xe2\x82\xac\xac", b"**")

    def test_initials(self):
        self.changes(b"initials", b"Ann Mary Lee", b"A.M.L.")
        self.changes(b"initials", b"  ann   lee ", b"a.l.")
        self.changes(b"initials", "Åsa Öberg".encode(), "Å.Ö.".encode())
        self.changes(b"initials", b"   ", b"")
        self.changes(b"initials", b'"  "', b'""')

    def test_short_name(self):
        self.changes(b"short-name", b"John Doe", b"D John")
        self.changes(b"short-name", b"John M Doe", b"M John")
        self.changes(b"short-name", b"John  Doe", b"  John")
        self.changes(b"short-name", "John Öl".encode(), "Ö John".encode())
        for value in (b"John", b" John", b"John ", b" "):
            self.changes(b"short-name", value, b"X X")
        self.changes(b"short-name", b"", b"")
        self.changes(b"short-name(empty=change)", b"", b"X X")

    def test_email(self):
        self.changes(b"email(local=mask)", b"ann@example.org", b"***@example.org")
        self.changes(b"email(local=mask)", b"a@b@c.d", b"***@c.d")
        self.changes(b"email(local=mask)", b"ann@ex_ample.org", b"*" * 16)
        self.changes(b"email(local=mask)", b"@example.org", b"*" * 12)
        self.changes(b"email(local=mask)", b"ann@", b"****")
        self.changes(b"email(local=mask)", b"ann@4711", b"*" * 8)
        self.changes(b"email(local=mask)", b"ann@b.4711", b"*" * 10)
        self.changes(b"email(local=mask)", b"ann", b"***")
        self.changes(b"email(local=hmac(k))", b"ann", b"***")
        self.changes(b"email(local=hmac(k, bytes=8))", b"what do ya want for nothing?@x", b"W9zBRr9gdU4@x")

    def test_date(self):
        self.changes(b"date(year)", b"2024-05-17", b"2024")
        self.changes(b"date(month)", b"2024-05-17T01:02", b"2024-05")
        self.changes(b"date(day)", b"2024-05-17 23:59:60.123+0200", b"2024-05-17")
        for value in (b"2024-02-29", b"2000-02-29", b"0000-02-29", b"2024-05-17T00:00:00Z", b"2024-05-17T00:00-23:59",
                      b"2024-05-17 00:00+05"):
            self.changes(b"date(day)", value, value[:10])
        for value in (b"2023-02-29", b"1900-02-29", b"2024-13-01", b"2024-00-10", b"2024-04-31", b"2024-05-17 ",
                      b"2024-05-17T24:00", b"2024-05-17T00:60", b"2024-05-17T00:00:61", b"2024-05-17T00",
                      b"2024-05-17  00:00", b"2024-05-17t00:00", b"2024-05-17T00:00:00.", b"2024-05-17T00:00+24",
                      b"2024-05-17Z", b"2024-5-17", b"24-05-17", b" 2024-05-17", b"2024-05-17T00:00:00 Z"):
            self.changes(b"date(day)", value, b"")

    def test_bucket(self):
        for width, value, new in ((b"10", b"-3", b"-10"), (b"10", b"37", b"30"), (b"10", b"-30", b"-30"),
                                  (b"10", b"9.99", b"0"), (b"10", b"-0.01", b"-10"), (b"10", b"-0", b"0"),
                                  (b"0.5", b"1.7", b"1.5"), (b"0.5", b"-0.2", b"-0.5"), (b"0.50", b"1", b"1.00"),
                                  (b"0.25", b"+3.30", b"3.25"), (b"10", b"007", b"0"), (b"7", b"0023", b"21"),
                                  (b"100", b"1" + b"0" * 40 + b"1", b"1" + b"0" * 41),
                                  (b"0.001", b"-0.0001", b"-0.001"), (b"1.0", b"5", b"5.0")):
            self.changes(b"bucket(" + width + b")", value, new)
        for value in (b"x", b"1.", b".5", b"1e3", b" 1", b"--1", b"1_0", b"0x1", b"+"):
            self.changes(b"bucket(10)", value, b"")

    def test_forbidden_values(self):
        for value in (b"see a@b.co now", b"x.y+z@a-b.c.org,"):
            self.assertTrue(operations.has_mail(value), value)
        for value in (b"a@b", b"@b.co", b"a@b.c", b"a@.co", b"a b@ c.de"):
            self.assertFalse(operations.has_mail(value), value)
        for value in (b"4111111111111111", b"no 4111 1111 1111 1111.", b"4111-1111-1111-1111"):
            self.assertTrue(operations.has_card(value), value)
        for value in (b"4111111111111112", b"14111111111111111", b"4111  1111 1111 1111", b"04111111111111111"):
            self.assertFalse(operations.has_card(value), value)


class AgainstPython(unittest.TestCase):
    """Compares operations with the parts of Python's library that do the same."""

    def test_characters(self):
        edges = [0x00, 0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xEC, 0xED,
                 0xEE, 0xEF, 0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xFF]
        parts = [b""]
        for _ in range(4):
            parts = [part + bytes([byte]) for part in parts for byte in edges]
            for part in parts:
                try:
                    is_one = len(part.decode("utf-8")) == 1
                except UnicodeDecodeError:
                    is_one = False
                self.assertEqual(operations.is_one_character(part), is_one, part)
            if len(parts) > 10000:
                parts = random.Random(1).sample(parts, 2000)

    def test_bucket(self):
        random_ = random.Random(2)
        for _ in range(3000):
            value = "%s%d" % (random_.choice(["", "-", "+"]), random_.randrange(10 ** random_.randrange(1, 30)))
            value += random_.choice(["", ".%d" % random_.randrange(1000), ".000", ".5"])
            width = random_.choice(["1", "3", "0.7", "10.00", "0.001", "12.5", "999999999999999999"])
            found = operations.bucket(value.encode(), width.encode()).decode()
            wanted = math.floor(fractions.Fraction(value) / fractions.Fraction(width)) * fractions.Fraction(width)
            self.assertEqual(fractions.Fraction(found), wanted, (value, width))
            self.assertEqual(len(found.partition(".")[2]), len(width.partition(".")[2]))
            self.assertRegex(found, r"^-?(0|[1-9][0-9]*)(\.[0-9]+)?$")
            self.assertFalse(wanted == 0 and found.startswith("-"))

    def test_date(self):
        for year in (1, 4, 100, 400, 1900, 2000, 2023, 2024, 9999):
            for month in range(14):
                for day in range(33):
                    text = b"%04d-%02d-%02d" % (year, month, day)
                    try:
                        datetime.date(year, month, day)
                        wanted = text
                    except ValueError:
                        wanted = None
                    self.assertEqual(operations.date(text, "day"), wanted, text)


class Writing(Base):
    def test_a_changed_field_keeps_its_quotes(self):
        self.writes(b'a,b\n"x",y\n', b'a,b\n"*",*\n', rules=[b"*: mask"])

    def test_a_value_that_stays_the_same_is_written_anew(self):
        dialect = make_dialect(b",", escape=b"\\")
        self.writes(b'a,b\n"x\\y""",1\n', b'a,b\n"xy\\"",1\n', dialect, rules=[b"a: mask(first=9, last=0) if b=2",
                                                                         b'a: fixed("xy""")'])

    def test_quotes_and_escapes_inside_quotes(self):
        dialect = make_dialect(b";", b"'", b"\\", "quoted")
        self.writes(b"a;b\nx;1\n", b"a;b\n'it\\'s \\\\';1\n", dialect, rules=[b"a: fixed(\"it's \\\")"])
        self.writes(b"a;b\nx;1\n", b"a;b\n\\;1\n", dialect, rules=[b"a: fixed(\\)"])
        dialect = make_dialect(b";", b"'", b"\\")
        self.writes(b"a;b\nx;1\n", b"a;b\n'\\\\';1\n", dialect, rules=[b"a: fixed(\\)"])

    def test_without_quotes(self):
        dialect = make_dialect(b",", None, b"\\")
        self.writes(b"a,b\nx,1\n", b'a,b\n\\\\\\,",1\n', dialect, rules=[b'a: fixed("\\,""")'])
        plain = make_dialect(b",", None)
        self.refuses(2, b"a,b\nx,1\n", plain, rules=[b'a: fixed(",")'])
        quoted = make_dialect(b",", None, b"\\", "quoted")
        self.refuses(2, b"a,b\nx,1\n", quoted, rules=[b'a: fixed(",")'])
        self.writes(b"a,b\nx,1\n", b"a,b\n\\,1\n", quoted, rules=[b"a: fixed(\\)"])
        self.refuses(3, b"a,b\nx,1\n", plain, rules=[b'a: mask(char=",")'])
        self.writes(b'a,b\n"x",1\n', b"a,b\n***,1\n", plain, rules=[b"a: mask"])

    def test_a_token_that_needs_quotes(self):
        for token in (b",", b'"', b"\n", b"a\rb"):
            self.refuses(2, b"a,b\nx,1\n", rules=[b"a: null"], null_token=token)

    def test_the_only_field_becomes_empty(self):
        self.writes(b"a\nx\n\ny", b'a\n""\n\n""', rules=[b"a: null"])
        self.writes(b"a,b\n,1\n2,\n", b'a\n""\n2\n', select=b"a")
        self.writes(b"a\n\nx\n", b"a\nz\nz\n", rules=[b"a: fixed(z, empty=change)"])
        self.writes(b"a\n\n", b"a\n\n", rules=[b"a: null(empty=change)"])
        self.writes(b",b\n1,2\n", b'""\n1\n', select=b'""')
        self.refuses(3, b"a,b\n,1\n", make_dialect(b",", None), select=b"a")

    def test_a_fault_before_the_first_record(self):
        for data, is_known in ((b"\r\r\na,b\n1,2\n", True), (b"\r\r\n", False), (b"\ra\n1\n", False)):
            result = redact(data, make_dialect(b","), select=b"*")
            self.assertEqual(result.refusal.code, 3)
            self.assertEqual((result.hidden is not None, result.fault_start), (is_known, 0))

    def test_byte_order_mark_and_empty_records_stay_first(self):
        self.writes(b"\xef\xbb\xbfa,b\n1,2\n", b"\xef\xbb\xbfb,a\n2,1\n", select=b"b,a")
        self.writes(b'\xef\xbb\xbf"a",b\n1,2\n', b'\xef\xbb\xbfb,"a"\n2,1\n', select=b"b,a")
        self.writes(b"\xef\xbb\xbf\n\r\na,b\n1,2\n", b"\xef\xbb\xbf\n\r\nb\n2\n", select=b"b")
        self.writes(b"\xef\xbb\xbf1,2\n", b"\xef\xbb\xbf2,1\n", header_mode="none", select=b"#2,#1")

    def test_empty_records(self):
        result = self.writes(b"a,b\n\n1,2\r\n\r\n", b"a,b\n\nx,2\r\n\r\n", rules=[b"a: fixed(x)"])
        self.assertEqual(result.empty_records, 2)
        self.assertEqual(result.output_starts, [4, 5, 10])

    def test_terminators_stay(self):
        self.writes(b"a,b\r\n1,2\r\n3,4", b"b\r\n2\r\n4", select=b"b")
        self.writes(b"a,b\r1,2\r", b"b\r2\r", make_dialect(b",", terminator="cr"), select=b"b")
        self.writes(b"a,b\r1,2\n3,4\r\n", b"b\r2\n4\r\n", make_dialect(b",", terminator="any"), select=b"b")

    def test_escapes_outside_quotes(self):
        dialect = make_dialect(b",", escape=b"\\")
        self.writes(b"a,b\n1\\,\\\n2,3\n", b"a,b\n1\\,\\\n2,****\n",
                    dialect, rules=[b"b: fixed(\"****\") if a = \"1,\n2\"", b"b: keep"])
        self.writes(b"a,b\n\\\"1,3\n", b"b,a\n3,\\\"1\n", dialect, select=b"b,a")


class Faults(Base):
    RULES = {"rules": [b"a: null"]}

    def test_each_fault(self):
        for body in (b"1\n", b"1,2,3\n", b'1,"2\n', b'1,2"3\n', b'1,"2"3\n', b'1,"2" \n', b"1,2\r3\n", b"1,2\r",
                     b"1,2\r\r\n", b'1,"2"\r', b"\r1,2\n"):
            self.refuses(3, b"a,b\n" + body, **self.RULES)
            self.refuses(3, b"a,b\n5,6\n" + body + b"7,8\n", **self.RULES)

    def test_the_header_too(self):
        for header in (b'a,"b', b'a,b"c\n', b'a,"b"c\n1,2\n', b"a,b\rc\n"):
            self.refuses(3, header, **self.RULES)

    def test_escape_after_a_closing_quote(self):
        self.refuses(3, b'a,b\n1,"2"\\\n', make_dialect(b",", escape=b"\\"), **self.RULES)

    def test_escape_at_the_end(self):
        self.refuses(3, b"a,b\n1,2\\", make_dialect(b",", escape=b"\\"), **self.RULES)
        self.refuses(3, b'a,b\n1,"2\\', make_dialect(b",", escape=b"\\"), **self.RULES)

    def test_other_terminators(self):
        self.refuses(3, b"a,b\r1,2\n3,4\r", make_dialect(b",", terminator="cr"), **self.RULES)
        self.refuses(3, b"a,b\r\n1,2\r\n", make_dialect(b",", terminator="cr"), **self.RULES)
        self.writes(b'a,b\r1,"\n"\r', b'a,b\r,"\n"\r', make_dialect(b",", terminator="cr"), **self.RULES)
        self.writes(b'a,b\n1,"\r"\n', b'a,b\n,"\r"\n', **self.RULES)

    def test_long_record(self):
        self.writes(b"a,b\n1,234567\n", b"a,b\n,234567\n", max_record=9, **self.RULES)
        self.refuses(3, b"a,b\n1,2345678\n", max_record=9, **self.RULES)
        self.refuses(3, b"a,b\n", max_record=3, **self.RULES)

    def test_quotes_are_data_without_quotes(self):
        self.writes(b'a,b\n1,2"3\n', b'a,b\n,2"3\n', make_dialect(b",", None), **self.RULES)

    def test_forbidden(self):
        data = b"a,b,c\n1,x@example.org,4111111111111111\n"
        self.refuses(3, data, forbid=["mail"], **self.RULES)
        self.refuses(3, data, forbid=["card"], **self.RULES)
        self.writes(data, b"a,b,c\n1,*************,4111111111111111\n", rules=[b"b: mask"], forbid=["mail"])
        self.writes(data, b"a,b\n1,x@example.org\n", select=b"a,b", forbid=["card"])
        self.refuses(3, b"a@b.co,b\n1,2\n", forbid=["mail"])
        self.writes(b"a@b.co,b\n1,2\n", b"a@b.co,b\n1,2\n", forbid=["card"])
        self.writes(b"a@b.co,b\n1,2\n", b"b\n2\n", select=b"b", forbid=["mail"])
        for text in ("ann@b\u00fccher.example", "x \"\"@x.example", "a@[192.0.2.1]"):
            self.refuses(3, b"a\n\"%s\"\n" % text.replace('"', '""').encode(), forbid=["mail"])
        for sign in " \t./-\u00a0\u2011\u2013":
            self.refuses(3, b"a\n4111%s111111111111\n" % sign.encode(), forbid=["card"])
        self.refuses(3, data, rules=[b"b: mask if a=2", b"b: keep"], forbid=["mail"])

    def test_records_before_a_fault(self):
        result = self.refuses(3, b"a,b\n1,2\n3\n5,6\n", **self.RULES)
        self.assertEqual(result.output, b"a,b\n,2\n")


class Language(Base):
    DATA = b"id,name,a-b,a,b,name\n1,2,3,4,5,6\n"

    def selects(self, text, output):
        self.assertEqual(run(self.DATA, select=text).records, [output + b"\n"], text)

    def test_select(self):
        self.selects(b"id", b"1")
        self.selects(b"b,id", b"5,1")
        self.selects(b"#2-#4", b"2,3,4")
        self.selects(b"a, *", b"4,1,2,3,5,6")
        self.selects(b"*, id", b"2,3,4,5,6,1")
        self.selects(b"!id", b"2,3,4,5,6")
        self.selects(b"!id,!#2", b"3,4,5,6")
        self.selects(b"a*", b"3,4")
        self.selects(b'"a-b"', b"3")
        self.selects(b"name[2]", b"6")
        self.selects(b"id, n*, !name[1]", b"1,6")
        self.assertEqual(run(b"a,b,c,d\n1,2,3,4\n", select=b"b-d").records, [b"2,3,4\n"])

    def test_select_refused(self):
        for text in (b"a-b", b"name", b"none", b"#7", b"#0", b"name[3]", b"x*", b'"id*"', b"id,", b"", b'"id', b"!none",
                     b"id name"):
            self.refuses(2, self.DATA, select=text)

    def test_without_a_header(self):
        self.writes(b"1,2\n3,4\n", b",2\n,4\n", header_mode="none", rules=[b"#1: null"])
        self.refuses(2, b"1,2\n3,4\n", header_mode="none", rules=[b"1: null"])
        self.refuses(2, b"1,2\n3,4\n", header_mode="none", rules=[b"#3: null"])
        self.writes(b"\n1,2\n", b"\n2\n", header_mode="none", select=b"#2")

    def test_conditions(self):
        data = b"a,b\nx,1\ny,2\nz,\nw,\"\"\n"
        for condition, output in ((b"b = 1", b"N,1\ny,2\nz,\nw,\"\"\n"), (b"b != 1", b"x,1\nN,2\nN,\nN,\"\"\n"),
                                  (b"b in {1, \"\"}", b"N,1\ny,2\nN,\nN,\"\"\n"),
                                  (b"b empty", b"x,1\ny,2\nN,\nN,\"\"\n"),
                                  (b"b not empty and a!=x", b"x,1\nN,2\nz,\nw,\"\"\n"),
                                  (b'b = ""', b"x,1\ny,2\nN,\nN,\"\"\n"), (b"#2 = 2", b"x,1\nN,2\nz,\nw,\"\"\n")):
            self.writes(data, b"a,b\n" + output, rules=[b"a: fixed(N) if " + condition, b"a: keep"])

    def test_conditions_see_the_input(self):
        self.writes(b"a,b\n1,2\n", b"b\n*\n", select=b"b",
                    rules=[b"a: fixed(9)", b"b: mask if a = 1", b"b: keep"])

    def test_the_first_rule_wins(self):
        result = self.writes(b"a,b\n1,2\n,3\n4,\n", b"a,b\nX,2\n,3\n4,\n",
                             rules=[b"a: fixed(X) if b = 2", b"a, b: keep"])
        first, second = result.rules
        self.assertEqual((first.seen, first.changed, first.kept, first.empty, first.condition_false), (3, 1, 0, 0, 2))
        self.assertEqual((second.seen, second.changed, second.kept, second.empty, second.condition_false),
                         (5, 0, 3, 2, 0))

    def test_a_column_needs_a_rule_without_a_condition(self):
        self.refuses(2, b"a,b\n1,2\n", rules=[b"a: null if b = 1"])
        self.writes(b"a,b\n1,2\n", b"a,b\n1,2\n", rules=[b"a: null if b = 1", b"a: keep"])

    def test_a_name_that_is_nearly_named(self):
        for name in (b"Email", b"e mail", b"EMAIL\t", b"email"):
            self.refuses(2, b"email," + name + b"\n1,2\n", rules=[b"#1: null"])
        self.writes(b"email,Email\n1,2\n", b"email\n\"\"\n", select=b"email", rules=[b"email: null"])
        for name in ("e-mail", "e_mail", "email\u00a0", "ema\u200bil", "\uff45mail", "\u0435mail", "\u0415MAIL",
                     "e\u2010mail"):
            self.refuses(2, b"email," + name.encode() + b"\n1,2\n", rules=[b"#1: null"])
        for one, other in (("\u00e9", "E\u0301"), ("\u00df", "SS"), ("1-5", "1\u20135"), ("m\u043ed", "rnod")):
            self.refuses(2, ("%s,%s\n1,2\n" % (one, other)).encode(), rules=[b"#1: null"])
        for one, other in (("C", "C#"), ("C#", "C++"), ("x1", "xl"), ("1.5", "15"), ("2024-01", "202401"),
                           ("1 5", "15")):
            data = ("%s,%s\n1,2\n" % (one, other)).encode()
            self.writes(data, data.replace(b"\n1", b"\n"), rules=[b"#1: null"])
        for default in ("null", "drop"):
            self.assertIsNone(run(b"email,e-mail\n1,2\n", rules=[b"email: keep"], default=default).refusal)

    def test_default(self):
        data = b"a,b\n1,2\n,\n"
        self.writes(data, b"a,b\n1,-\n,\n", rules=[b"a: keep"], default="null", null_token=b"-")
        report = run(data, rules=[b"a: keep"], default="null").rules[1]
        self.assertEqual((report.seen, report.changed, report.empty), (2, 1, 1))
        self.writes(data, b"a\n1\n\"\"\n", rules=[b"a: keep"], default="drop")
        self.refuses(2, data, rules=[b"a: keep"], default="fail")
        self.writes(data, data, rules=[b"*: keep"], default="fail")
        self.refuses(2, data, rules=[b"a: keep"], default="keep", files=[b"@default keep\n"])
        self.refuses(2, data, rules=[b"a: keep"], default="other")
        self.assertEqual(run(data, rules=[b"a: keep"]).unnamed, [1])

    def test_files(self):
        data = b"a,b\n1,2\n"
        self.writes(data, b"a,b\n,x\n", rules=[b"a: null"],
                    files=[b"# a: keep\n#\nb: fixed(x)\n", b"@default keep\nb: keep"])
        self.refuses(2, data, files=[b"#a\n"])
        self.refuses(2, data, files=[b"a: null # no\n"])

    def test_rules_that_do_not_parse(self):
        for rule in (b"a", b"a:", b"a: other", b"a: null(x)", b"a: fixed", b"a: fixed()", b"a: fixed(x, y)",
                     b"a: hmac", b"a: hmac(none)", b"a: hmac(k, bytes=7)", b"a: hmac(k, bytes=33)",
                     b"a: hmac(k, form=base32)", b"a: hmac(k, form=decimal, bytes=8)", b"a: hmac(k, trim, trim)",
                     b'a: hmac(k, context="")', b"b, !b: keep",
                     b"a: mask(first=-1)", b"a: mask(first=1000001)", b"a: mask(char=xy)", b"a: mask(1)",
                     b"a: mask(empty=change, first=1)", b"a: email(local=keep)", b"a: email(local=hmac(none))",
                     b"a: date", b"a: date(hour)", b"a: bucket(0)", b"a: bucket(-1)", b"a: bucket(0.0)",
                     b"a: bucket(1234567890123456789)", b"a: bucket(1.)", b"a: null if", b"a: null if b",
                     b"a: null if b=",
                     b"a: null if b in {}", b"a: null if b in {1", b"a: null if b=1 or b=2", b"a: null if none=1",
                     b"a: null if b not", b"a: null x", b": null", b"a,: null", b"none: null", b"a: fail",
                     b'a: fixed("x)', b"a: fixed(x"):
            self.refuses(2, b"a,b\n1,2\n", rules=[rule, b"*: keep"], keys=KEY)


class Pieces(unittest.TestCase):
    RECORDS = [b"1\n", b"22\n", b"\n", b"4444\n", b"5\n"]

    def test_by_records(self):
        self.assertEqual(pieces.written_pieces(b"h\n", self.RECORDS, "repeat", count=2),
                         [b"h\n1\n22\n", b"h\n\n4444\n", b"h\n5\n"])
        self.assertEqual(pieces.written_pieces(b"h\n", self.RECORDS, "first", count=3), [b"h\n1\n22\n\n", b"4444\n5\n"])
        self.assertEqual(pieces.written_pieces(b"h\n", self.RECORDS, "drop", count=9), [b"".join(self.RECORDS)])

    def test_by_size(self):
        self.assertEqual(pieces.written_pieces(b"h\n", self.RECORDS, "repeat", size=6),
                         [b"h\n1\n", b"h\n22\n\n", b"h\n4444\n", b"h\n5\n"])
        self.assertEqual(pieces.written_pieces(b"h\n", self.RECORDS, "first", size=6),
                         [b"h\n1\n", b"22\n\n", b"4444\n", b"5\n"])
        self.assertEqual(pieces.written_pieces(b"", self.RECORDS, "none", size=2),
                         [b"1\n", b"22\n", b"\n", b"4444\n", b"5\n"])
        self.assertEqual(pieces.written_pieces(b"h\n", self.RECORDS, "repeat", count=1, size=100)[1], b"h\n22\n")

    def test_large_header(self):
        with self.assertRaises(pieces.HeaderTooLarge):
            pieces.written_pieces(b"hh\n", self.RECORDS, "repeat", size=2)
        self.assertEqual(pieces.written_pieces(b"hh\n", self.RECORDS, "first", size=2)[:2], [b"hh\n1\n", b"22\n"])

    def test_without_records(self):
        self.assertEqual(pieces.written_pieces(b"h\n", [], "repeat", count=1), [b"h\n"])
        self.assertEqual(pieces.written_pieces(b"h\n", [], "drop", count=1), [])
        self.assertEqual(pieces.written_pieces(b"", [], "none", count=1), [])

    def test_shares(self):
        # The input is "h\n", then 10 bytes of records that start at 2, 5 and 9; it ends at 12.
        records, starts = [b"a\n", b"b\n", b"c\n"], [2, 5, 9]
        self.assertEqual(pieces.shared_pieces(b"h\n", records, "repeat", starts, 2, 12, 2),
                         [b"h\na\nb\n", b"h\nc\n"])
        self.assertEqual(pieces.shared_pieces(b"h\n", records, "first", starts, 2, 12, 3), [b"h\na\n", b"b\n", b"c\n"])
        self.assertEqual(pieces.shared_pieces(b"h\n", records, "drop", starts, 2, 12, 4), [b"a\n", b"b\n", b"", b"c\n"])


class Searches(unittest.TestCase):
    """In place of searches.Search: a command that counts as a test says."""
    VALUES = [b"%d" % number + b"x" * (number % 3) for number in range(1000)]
    names = ["x", "7"]

    @staticmethod
    def look(value):
        return b"x" in value, b"7" in value

    def expect(self, passes, counts):
        """counts(values) returns what a command counts in a file."""
        self.counts = lambda files: [counts(values) for values in files]
        tally = searches.Tally()
        with contextlib.redirect_stdout(io.StringIO()):
            searches.compare(self, self.VALUES, self.look, random.Random(1), tally)
        self.assertGreater(tally.passed + tally.failed, 10)
        self.assertEqual(tally.failed == 0, passes)

    def right(self, values):
        return tuple(map(sum, zip(*map(self.look, [searches.HEADER, *values]))))

    def test_right(self):
        self.expect(True, self.right)

    def test_finds_lost_in_long_files(self):
        self.expect(False, lambda values: tuple(min(count, 100) for count in self.right(values)))

    def test_finds_of_the_value_before(self):
        self.expect(False, lambda values: self.right(values[:1] + values[:-1]))

    def test_a_find_in_place_of_another(self):
        others = {b"0": b"1x", b"1x": b"0"}
        self.expect(False, lambda values: self.right([others.get(value, value) for value in values]))


if __name__ == "__main__":
    unittest.main()
