#!/usr/bin/env python3
"""Compares what --forbid finds with the oracle, on random texts that nearly are, or are, of the kind.

  forbidden.py CLEAVE [--count N] [--seed N]

N texts for each kind. searches.py says how they are compared.
"""
import argparse
import os
import random
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import operations  # noqa: E402
import searches  # noqa: E402

SEEDS = {
    "mail": [b"ann@example.org", b"\"a b\"@x.example", b"a@[192.0.2.1]", "ä@bü.example".encode()],
    "card": [b"4111111111111111", b"4111 1111 1111 1111", b"378282246310005", b"5500-0000-0000-0004"],
    "iban": [b"GB29 NWBK 6016 1331 9268 19", b"at611904300234573201", b"DE89370400440532013000", b"NO9386011117947",
             b"FR14-2004-1010-0505-0001-3M02-606", "BE68\u00a05390\u00a00754\u00a07034".encode()],
    "phone": [b"+43 (1) 234-56.78", b"+15550109999", b"+(49)/30 1234567", b"+4912345", b"+ 43 1 234567",
              b"+49 (0)30 / 123", b"++4312345678"],
    "ip": [b"10.0.0.1", b"192.168.255.1:80", b"2001:db8::1", b"::ffff:10.0.0.1", b"1:2:3:4:5:6:7:8", b"::1",
           b"1:2:3:4:5:6:1.2.3.4", b"fe80::", b"host:10.0.0.1", b"host:2001:db8::1", b"ad:1:2:3:4:5:6:7:8",
           b"..10.0.0.1...", b"fe80::1:eth", b"node:fe80::1"],
    "date": [b"1980-05-17", b"17.5.1980", b"05/17/1980", b"2024-02-29T10:20", b"29.2.2023", b"1.1.2000",
             b"17. 5. 2024", b"2024-02-29t10", "1.\u00a01.\u202f2000".encode(), b"2024-02-29Z"],
    "secret": [b"AKIAABCDEFGH01234567", b"%3DAKIAABCDEFGH01234567", b"_AKIAABCDEFGH01234567", b"ghp_" + b"aB3" * 12,
               b"xsk-proj-" + b"a_-B" * 10, b"-----BEGIN RSA PRIVATE KEY-----",
               b"-----BEGIN PGP PRIVATE KEY BLOCK-----"],
}
PARTS = [b"", b"", b"0", b"1", b"9", b"a", b"F", b"x", b"T", b"t", b"Z", b"%", b" ", b".", b":", b"-", b"/", b"+", b"(",
         b")", b"@", b"_", b"[", "\u00a0".encode(), "\u2011".encode(), b"\xc3", b"\n", b"1.2", b"::"]


def make_text(kind, random_):
    text = random_.choice(SEEDS[kind])
    for _ in range(random_.choice([0, 1, 1, 2, 3])):
        at = random_.randrange(len(text) + 1)
        text = text[:at] + random_.choice(PARTS) + text[at + random_.choice([0, 0, 1, 2]):]
    return random_.choice(PARTS) + text + random_.choice(PARTS)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cleave")
    parser.add_argument("--count", type=int, default=20000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    tally = searches.Tally()
    for kind, look in operations.FORBIDDEN.items():
        random_ = random.Random("%s %d" % (kind, options.seed))
        texts = [make_text(kind, random_) for _ in range(options.count)]
        search = searches.Search(options.cleave, ["--forbid", kind], [kind])
        (share,) = searches.compare(search, texts, lambda text: (look(text),), random_, tally)
        print("%-6s %5.1f %% of the texts have it" % (kind, 100 * share))
        tally.need(0.05 < share < 0.95, "too few or too many to be a test")
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
