"""The names of pieces by value, according to a plain reading of the rules, and the hash that names and buckets use."""
import bisect
import ctypes
import math
import os
import sys
from fractions import Fraction

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "stages"))
from operations import characters  # noqa: E402

PLAIN = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-~.")
EMPTY, HIVE_EMPTY = b"__EMPTY__", b"__HIVE_DEFAULT_PARTITION__"
MAX_NAME = 200
MAX_FOLDER = 255


class NoName(Exception):
    """Under --hive, a folder's name would be longer than a file system allows."""


def load_hash():
    """Returns 64-bit XXH3 of some bytes and, by default, seed 0, as third-party code computes it: the module from PyPI
    or Debian, or the C library."""
    try:
        import xxhash
        return xxhash.xxh3_64_intdigest
    except ImportError:
        pass
    try:
        library = ctypes.CDLL("libxxhash.so.0")
    except OSError:
        return None
    function = library.XXH3_64bits_withSeed
    function.restype, function.argtypes = ctypes.c_uint64, [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint64]
    return lambda data, seed=0: function(data, len(data), seed)


xxh3 = load_hash()   # None if neither is available


def hash_of(key, seed=0):
    """The hash of a key. For a single value it covers the bytes; for several, each value's length as 64 bits, followed
    by its bytes."""
    if len(key) == 1:
        return xxh3(key[0], seed)
    return xxh3(b"".join(len(value).to_bytes(8, "little") + value for value in key), seed)


def hash_of_number(number, seed):
    """The hash of a record in a draw; records are numbered from 1."""
    return xxh3(number.to_bytes(8, "little"), seed)


def ends_of(weights):
    """Where the hashes of each part end. `weights` are numbers, or decimals as text. The parts divide the hashes, from 0
    to 2**64 - 1, in the order of the parts and in the proportion of their weights."""
    shares = [Fraction(weight) for weight in weights]
    return [math.ceil(sum(shares[:part + 1]) / sum(shares) * 2 ** 64) for part in range(len(shares))]


def part_of(hash_, ends):
    """The part, from 0, that has the hash."""
    return bisect.bisect_right(ends, hash_)


def is_control(character):
    """Whether the UTF-8 bytes encode a character in U+0080 .. U+009F."""
    return len(character) == 2 and b"\xc2\x80" <= character <= b"\xc2\x9f"


def atoms(value):
    """The escaped value, in parts that a shortened name never cuts in two. FAT drops a final `.`, so it is escaped."""
    found = []
    for character in characters(value):
        if len(character) > 1:
            stays = not is_control(character)
        else:
            stays = character[0] in PLAIN
        found += [character] if stays else [b"%%%02X" % byte for byte in character]
    if found and found[0] in (b".", b"-"):
        found[0] = b"%%%02X" % found[0][0]
    if found and found[-1] == b".":
        found[-1] = b"%2E"
    return found


def escaped(value, empty):
    """The escaped name, in parts. A value that equals the word for the empty value is escaped too."""
    if value == b"":
        return [empty]
    found = atoms(value)
    return [b"%5F"] + found[1:] if value == empty else found


def shortened(parts):
    """At most MAX_NAME bytes: a prefix, `@` and the 16 digits of the hash of the whole name."""
    whole = b"".join(parts)
    if len(whole) <= MAX_NAME:
        return whole
    prefix = b""
    for part in parts:
        if len(prefix) + len(part) > MAX_NAME - 17:
            break
        prefix += part
    return prefix + b"@%016x" % xxh3(whole)


def names_of(keys):
    """The names of the keys, which are tuples of values in the order of their first records."""
    names, taken = [], {}
    for key in keys:
        parts = []
        for value in key:
            parts += [b","] if parts else []
            parts += escaped(value, EMPTY)
        name = shortened(parts)
        folded = name.lower()   # the name is bytes, so only ASCII is folded
        taken[folded] = taken.get(folded, 0) + 1
        names.append(name if taken[folded] == 1 else name + b"@%d" % taken[folded])
    return names


def folders_of(keys, columns):
    """The folder of each key under --hive. Raises NoName."""
    folders = []
    for key in keys:
        levels = [b"".join(escaped(column, HIVE_EMPTY)) + b"=" + b"".join(escaped(value, HIVE_EMPTY))
                  for column, value in zip(columns, key)]
        if any(len(level) > MAX_FOLDER for level in levels):
            raise NoName()
        folders.append(b"/".join(levels))
    return folders


def clash_in_case(folders):
    """Whether two of the folders are the same if case is ignored."""
    return len({folder.lower() for folder in folders}) < len(folders)
