"""What each operation turns a value into. None is null."""
import base64
import hashlib
import hmac
import re
import sys

from fields import Fault

sys.set_int_max_str_digits(0)

ASCII_BLANKS = b" \t\n\v\f\r"


def mac(key, message):
    return hmac.new(key, message, hashlib.sha256).digest()


def characters(value):
    """The UTF-8 characters of a value (Unicode standard, table 3-7). Each invalid byte is a separate character."""
    found, at = [], 0
    while at < len(value):
        size = 1
        for length in (1, 2, 3, 4):
            part = value[at:at + length]
            if len(part) == length and is_one_character(part):
                size = length
                break
        found.append(value[at:at + size])
        at += size
    return found


def is_one_character(part):
    lead = part[0]
    tail = part[1:]
    if any(not 0x80 <= byte <= 0xBF for byte in tail):
        return False
    if len(part) == 1:
        return lead <= 0x7F
    if len(part) == 2:
        return 0xC2 <= lead <= 0xDF
    if len(part) == 3:
        if lead == 0xE0:
            return tail[0] >= 0xA0
        if lead == 0xED:
            return tail[0] <= 0x9F
        return 0xE1 <= lead <= 0xEF
    if lead == 0xF0:
        return tail[0] >= 0x90
    if lead == 0xF4:
        return tail[0] <= 0x8F
    return 0xF1 <= lead <= 0xF3


def token(value, key, size=16, form="base64url", context=None, trim=False, lower=False):
    if re.search(rb"\xff(?i:cleave) ", value):
        raise Fault("a value that gets no token")
    if trim:
        value = value.strip(ASCII_BLANKS)
    if lower:
        value = bytes(byte + 32 if 65 <= byte <= 90 else byte for byte in value)
    if context is not None:
        key = mac(key, b"\xff" + b"cleave context 1" + context)
    digest = mac(key, value)
    if form == "decimal":
        return b"%d" % (int.from_bytes(digest[:8], "big") & (2 ** 63 - 1))
    if form == "hex":
        return digest[:size].hex().encode()
    return base64.urlsafe_b64encode(digest[:size]).rstrip(b"=")


def mask(value, first=0, last=0, char=b"*"):
    parts = characters(value)
    if len(parts) <= first + last:
        return char * len(parts)
    hidden = len(parts) - first - last
    return b"".join(parts[:first]) + char * hidden + b"".join(parts[first + hidden:])


def initials(value):
    return b"".join(characters(word)[0] + b"." for word in value.split(b" ") if word)


def short_name(value):
    before, space, after = value.partition(b" ")
    if not space or not before or not after:
        return b"X X"
    return characters(after)[0] + b" " + before


def email(value, local_operation):
    local, at, domain = value.rpartition(b"@")
    if not at or not local or not re.fullmatch(rb"([A-Za-z0-9.-]*\.)?[A-Za-z][A-Za-z0-9-]*", domain):
        return mask(value)
    return local_operation(local) + b"@" + domain


def is_leap(year):
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


TIME = re.compile(rb"([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\.[0-9]+)?)?"
                  rb"(?:Z|[+-]([0-9]{2})(?::?([0-9]{2}))?)?")


def date(value, unit):
    day = re.match(rb"([0-9]{4})-([0-9]{2})-([0-9]{2})", value)
    if not day:
        return None
    year, month, number = (int(part) for part in day.groups())
    if not 1 <= month <= 12:
        return None
    days = [31, 29 if is_leap(year) else 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1]
    if not 1 <= number <= days:
        return None
    rest = value[10:]
    if rest:
        time = TIME.fullmatch(rest, 1) if rest[:1] in (b"T", b" ") else None
        if not time:
            return None
        hour, minute, second, zone_hour, zone_minute = (int(part or b"0") for part in time.groups())
        if hour > 23 or minute > 59 or second > 60 or zone_hour > 23 or zone_minute > 59:
            return None
    return value[:{"year": 4, "month": 7, "day": 10}[unit]]


def bucket(value, width):
    number = re.fullmatch(rb"([+-]?)([0-9]+)(?:\.([0-9]+))?", value)
    if not number:
        return None
    sign, whole, decimals = number.group(1), number.group(2), number.group(3) or b""
    width_whole, _, width_decimals = width.partition(b".")
    scale = max(len(decimals), len(width_decimals))
    scaled = int(whole + decimals.ljust(scale, b"0")) * (-1 if sign == b"-" else 1)
    scaled_width = int(width_whole + width_decimals.ljust(scale, b"0"))
    multiple = scaled // scaled_width * int(width_whole + width_decimals)
    digits = str(abs(multiple)).rjust(len(width_decimals) + 1, "0")
    if width_decimals:
        digits = digits[:-len(width_decimals)] + "." + digits[-len(width_decimals):]
    return (("-" if multiple < 0 else "") + digits).encode()


MAIL = re.compile(rb"[A-Za-z0-9._%+\"\x80-\xff-]@(?:(?:[A-Za-z0-9\x80-\xff-]+\.)+[A-Za-z\x80-\xff]{2}"
                  rb"|\[[0-9A-Za-z.:]*[0-9][0-9A-Za-z.:]*\])")
BETWEEN_DIGITS = [sign.encode() for sign in " \t./-\u00a0\u00ad\u202f\u2010\u2011\u2012\u2013\u2014\u2015\u2212"]


def has_mail(value):
    return MAIL.search(value) is not None


def luhn(digits):
    total = 0
    for place, digit in enumerate(reversed(digits)):
        if place % 2 == 1:
            digit *= 2
        total += digit // 10 + digit % 10
    return total % 10 == 0


def has_card(value):
    """Whether any run of 13 to 19 digits, with no digit directly before or after it, is a card number."""
    def is_digit(at):
        return 0 <= at < len(value) and 48 <= value[at] <= 57

    for start in range(len(value)):
        if not is_digit(start) or is_digit(start - 1) or value[start] == 48:
            continue
        digits, at = [], start
        while len(digits) < 19 and is_digit(at):
            digits.append(value[at] - 48)
            at += 1
            if len(digits) >= 13 and not is_digit(at) and luhn(digits):
                return True
            at += max((len(sign) for sign in BETWEEN_DIGITS if value.startswith(sign, at) and is_digit(at + len(sign))),
                      default=0)
    return False
