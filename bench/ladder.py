#!/usr/bin/env python3
"""The first step of the loop of 2021 (see loop2021.h): a state machine in Python that counts newlines outside quotes.

  ladder.py FILE [escape]
"""

import mmap
import sys

QUOTE, NEWLINE, ESCAPE = b'"\n\\'


def count(data, has_escape):
    newlines, is_inside, is_escaped = 0, False, False
    for byte in memoryview(data):
        if is_escaped:
            is_escaped = False
        elif byte == QUOTE:
            is_inside = not is_inside
        elif byte == NEWLINE:
            newlines += not is_inside
        elif has_escape and byte == ESCAPE:
            is_escaped = True
    return newlines


with open(sys.argv[1], "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
    print(count(data, "escape" in sys.argv[2:]))
