"""What each operation turns a value into. None is null."""
import base64
import datetime
import hashlib
import hmac
import ipaddress
import re
import sys
from fractions import Fraction

import aes_siv
from fields import Fault

sys.set_int_max_str_digits(0)

ASCII_BLANKS = b" \t\n\v\f\r"


def mac(key, message):
    return hmac.new(key, message, hashlib.sha256).digest()


def characters(value):
    """The UTF-8 characters of a value (Unicode standard, table 3-7). Each invalid byte is a separate character."""
    if value.isascii():
        return [value[at:at + 1] for at in range(len(value))]
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


def derived_key(key, operation, context, size=32, scheme=b"cleave 2 "):
    """HKDF with SHA-256 (RFC 5869), without a salt."""
    secret, made, block = mac(bytes(32), key), b"", b""
    while len(made) < size:
        block = mac(secret, block + scheme + operation + b"\0" + context + bytes([len(made) // 32 + 1]))
        made += block
    return made[:size]


def token(value, key, size=16, form="base64url", context=None, trim=False, lower=False, version=1, prefix=b""):
    if version == 1 and re.search(rb"\xff(?i:cleave) ", value):
        raise Fault("a value that gets no token")
    if trim:
        value = value.strip(ASCII_BLANKS)
    if lower:
        value = bytes(byte + 32 if 65 <= byte <= 90 else byte for byte in value)
    if version == 2:
        key = derived_key(key, b"hmac", context or b"")
    elif context is not None:
        key = mac(key, b"\xff" + b"cleave context 1" + context)
    digest = mac(key, value)
    if form == "decimal":
        return prefix + b"%d" % (int.from_bytes(digest[:8], "big") & (2 ** 63 - 1))
    if form == "hex":
        return prefix + digest[:size].hex().encode()
    return prefix + base64.urlsafe_b64encode(digest[:size]).rstrip(b"=")


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


def is_day(year, month, day):
    if not 1 <= month <= 12:
        return False
    days = [31, 29 if is_leap(year) else 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1]
    return 1 <= day <= days


def is_time(text):
    time = TIME.fullmatch(text)
    if not time:
        return False
    hour, minute, second, zone_hour, zone_minute = (int(part or b"0") for part in time.groups())
    return hour <= 23 and minute <= 59 and second <= 60 and zone_hour <= 23 and zone_minute <= 59


def date(value, unit):
    day = re.match(rb"([0-9]{4})-([0-9]{2})-([0-9]{2})", value)
    if not day:
        return None
    if not is_day(*(int(part) for part in day.groups())):
        return None
    rest = value[10:]
    if rest and not (rest[:1] in (b"T", b" ") and is_time(rest[1:])):
        return None
    return value[:{"year": 4, "month": 7, "day": 10}[unit]]


NUMBER = re.compile(rb"([+-]?)([0-9]+)(?:\.([0-9]+))?")


def exact_number(value):
    """The value as a fraction; None if it is not a decimal number."""
    number = NUMBER.fullmatch(value)
    return Fraction(value.decode()) if number else None


def is_short(value, decimals):
    """Whether the number has at most 18 digits with that many decimals, not counting leading zeros."""
    return abs(exact_number(value)) * 10 ** decimals < 10 ** 18


def with_decimals(units, decimals):
    digits = str(abs(units)).rjust(decimals + 1, "0")
    if decimals:
        digits = digits[:-decimals] + "." + digits[-decimals:]
    return (("-" if units < 0 else "") + digits).encode()


def decimals_of(text):
    return len(text.partition(b".")[2])


def rounded(fraction):
    """To the nearest whole number, a half away from zero."""
    whole = (abs(fraction) + Fraction(1, 2)).__floor__()
    return -whole if fraction < 0 else whole


def round_to(value, width):
    number = exact_number(value)
    decimals = decimals_of(width)
    if number is None or not is_short(value, decimals):
        return None
    step = exact_number(width)
    return with_decimals(int(rounded(number / step) * step * 10 ** decimals), decimals)


def top(value, limit):
    number = exact_number(value)
    if number is None:
        return None
    return limit if number > exact_number(limit) else value


def noise(value, by, key, deviation, context):
    if by == b"":
        raise Fault("nothing that the noise depends on")
    number = exact_number(value)
    decimals = decimals_of(deviation)
    if number is None or not is_short(value, decimals):
        return None
    numbers = [int(deviation.replace(b".", b"")), decimals, len(by)]
    message = b"".join(part.to_bytes(8, "big") for part in numbers) + by + value
    digest = mac(derived_key(key, b"noise", context), message)
    total = sum(int.from_bytes(digest[at:at + 2], "big") for at in range(0, 24, 2))
    normal = Fraction(2 * total - 12 * 65535, 131072)
    added = rounded(normal * exact_number(deviation) * 10 ** decimals)
    return with_decimals(rounded(number * 10 ** decimals) + added, decimals)


def form(value, key, context):
    key = derived_key(key, b"form", context)
    first = mac(key, b"\0" + value)
    stream, number, drawn_count, product, word = first, 0, 0, 1, 0

    def draw(count):
        """The digits of word / 2^64 as a fraction, in the mixed radix of the counts."""
        nonlocal stream, number, drawn_count, product, word
        if drawn_count % 10 == 0:
            at = drawn_count // 10 * 8
            if at == len(stream):
                number += 1
                stream += mac(key, b"\x01" + first + number.to_bytes(8, "big"))
            product, word = 1, int.from_bytes(stream[at:at + 8], "big")
        drawn_count += 1
        product *= count
        return word * product // 2 ** 64 % count

    made = b""
    for character in characters(value):
        if b"0" <= character <= b"9":
            made += b"%d" % draw(10)
        elif b"A" <= character <= b"Z":
            made += bytes([65 + draw(26)])
        elif b"a" <= character <= b"z" or character >= b"\x80":
            made += bytes([97 + draw(26)])
        else:
            made += character
    return made


def drawn(digest, count):
    return int.from_bytes(digest[:8], "big") * count // 2 ** 64


def pick(value, key, lines, context):
    return lines[drawn(mac(derived_key(key, b"pick", context), value), len(lines))]


def shift_date(value, by, key, days, formats, context, version=2):
    if by == b"":
        raise Fault("no value to shift a date by")
    message = days.to_bytes(8, "big") + by
    if version == 1:
        moved = drawn(mac(derived_key(key, b"shift-date", context), message), 2 * days + 1) - days
    else:
        shifts = [*range(-days, 0), *range(1, days + 1)]
        own_key = derived_key(key, b"shift-date", context, scheme=b"cleave 3 ")
        moved = shifts[drawn(mac(own_key, message), len(shifts))]
    for pattern in formats:
        head, rest = value[:len(pattern)], value[len(pattern):]
        shape = re.escape(pattern).replace(b"YYYY", b"(?P<y>[0-9]{4})").replace(b"MM", b"(?P<m>[0-9]{2})")
        found = re.fullmatch(shape.replace(b"DD", b"(?P<d>[0-9]{2})"), head, re.DOTALL)
        if not found or (rest and not (rest[:1] in (b"T", b" ") and is_time(rest[1:]))):
            continue
        year, month, day = (int(found.group(part)) for part in "ymd")
        if not is_day(year, month, day):
            continue
        # Python's dates have no year 0, so years are counted 400 later; the calendar repeats every 400 years.
        try:
            date_ = datetime.date(year % 400 + 2000, month, day) + datetime.timedelta(days=moved)
        except ValueError:
            raise AssertionError("no such day") from None
        year = year // 400 * 400 + date_.year - 2000
        if not 0 <= year <= 9999:
            raise Fault("a date beyond the calendar")
        made = bytearray(value)
        for group, text in (("y", b"%04d" % year), ("m", b"%02d" % date_.month), ("d", b"%02d" % date_.day)):
            made[found.start(group):found.end(group)] = text
        return bytes(made)
    raise Fault("no date")


def generalise(value, table, level):
    exact, ranges, rest = {}, [], None
    for record in table:
        name, label = record[0], record[level]
        limits = [exact_number(limit) for limit in name.partition(b"..")[::2]]
        if name == b"*":
            rest = label
        elif b".." in name and None not in limits:
            ranges.append((*limits, label))
        else:
            exact[name] = label
    if value in exact:
        return exact[value]
    number = exact_number(value)
    if ranges and number is not None and is_short(value, 6):
        for first, last, label in ranges:
            if first <= number <= last:
                return label
    if rest is None:
        raise Fault("a value that the table does not have")
    return rest


def encrypt(value, key, context, prefix):
    sealed = aes_siv.seal(derived_key(key, b"encrypt", context, 64), value, [context, b"\x01"])
    return prefix + base64.urlsafe_b64encode(sealed).rstrip(b"=")


def decrypt(value, key, context):
    prefix, point, digits = value.rpartition(b".")
    text = None
    if (prefix + point).startswith(b"v2.") or not point:
        try:
            sealed = base64.urlsafe_b64decode(digits + b"=" * (-len(digits) % 4))
        except ValueError:
            sealed = b""
        # Python ignores bytes that are not digits.
        if base64.urlsafe_b64encode(sealed).rstrip(b"=") == digits and len(sealed) >= 16:
            text = aes_siv.unseal(derived_key(key, b"encrypt", context, 64), sealed, [context, b"\x01"])
    if text is None:
        raise Fault("no token of the key")
    return text


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


SEPARATOR = b"(?:[ \\t./-]|\xc2[\xa0\xad]|\xe2\x80[\x90-\x95\xaf]|\xe2\x88\x92)"
WORD = rb"[0-9A-Za-z]"
IBAN_SIZES = {b"AT": 20, b"BE": 16, b"DE": 22, b"FR": 27, b"GB": 22, b"NO": 15}   # those that are generated


def has_iban(value):
    for start in re.finditer(rb"(?=(?<![0-9A-Za-z])([A-Za-z])" + SEPARATOR + rb"?([A-Za-z]))", value):
        size = IBAN_SIZES.get((start.group(1) + start.group(2)).upper(), 0)
        if not size:
            continue
        found = re.compile(WORD + b"(?:" + SEPARATOR + b"?" + WORD + b"){%d}(?!%s)" % (size - 1, WORD)).match(
            value, start.start())
        # A separator that is followed by another character is always skipped, so there is only one match.
        text = re.sub(SEPARATOR, b"", found.group()).upper() if found else b""
        if re.match(rb"[A-Z]{2}[0-9]{2}", text):
            number = "".join(str(int(chr(byte), 36)) for byte in text[4:] + text[:4])
            if int(number) % 97 == 1:
                return True
    return False


def has_phone(value):
    between = b"(?:" + SEPARATOR + rb"|[()]){0,3}"
    return re.search(rb"(?<![0-9A-Za-z])\+" + between + rb"[1-9](?:" + between + rb"[0-9]){6,14}(?![0-9])",
                     value) is not None


def is_address(text, kind):
    try:
        kind(text.decode())
    except ValueError:
        return False
    return text != b"::"


def has_ip(value):
    four = rb"(?=(?<![0-9A-Za-z])(?<![0-9]\.)([0-9]{1,3}(?:\.[0-9]{1,3}){3})(?![0-9A-Za-z])(?!\.[0-9]))"
    if any(is_address(found.group(1), ipaddress.IPv4Address) for found in re.finditer(four, value)):
        return True
    for run in re.finditer(rb"[0-9A-Fa-f:]+", value):
        text = run.group()
        if re.search(rb"(?:[0-9A-Za-z]|[0-9]\.)\Z", value[:run.start()]) or re.match(rb":(?!:)", text):
            text = text.partition(b":")[2]
        if re.match(rb"[0-9A-Za-z]|\.[0-9]", value[run.end():]) or re.search(rb"(?<!:):\Z", text):
            text = text.rpartition(b":")[0]
        word, _, rest = text.partition(b":")
        if is_address(text, ipaddress.IPv6Address):
            return True
        if re.search(rb"[A-Fa-f]", word) and is_address(rest, ipaddress.IPv6Address):
            return True
    return False


def has_date(value):
    blank = b"(?: |\xc2\xa0|\xe2\x80\xaf)?"
    pattern = (rb"(?=(?<![0-9A-Za-z])([0-9]{1,4})([./-])" + blank + rb"([0-9]{1,2})\2" + blank +
               rb"([0-9]{1,4})(?![0-9A-SU-Ya-su-y]))")
    for found in re.finditer(pattern, value):
        first, _, second, third = found.groups()
        if len(first) == 4 and len(third) <= 2:
            days = [(first, second, third)]
        elif len(third) == 4 and len(first) <= 2:
            days = [(third, second, first), (third, first, second)]
        else:
            continue
        if any(1900 <= int(year) <= 2099 and is_day(int(year), int(month), int(day)) for year, month, day in days):
            return True
    return False


def has_secret(value):
    """The few that are generated."""
    key = rb"(?:(?<![0-9A-Za-z])|(?<=%[0-9A-Fa-f]{2}))AKIA[A-Z0-9]{16}"
    block = rb"-----BEGIN .{0,24}PRIVATE KEY(?: BLOCK)?-----"
    return re.search(key + rb"|ghp_[A-Za-z0-9]{36}|sk-proj-[A-Za-z0-9_-]{40}|" + block, value, re.DOTALL) is not None


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


FORBIDDEN = {"mail": has_mail, "card": has_card, "iban": has_iban, "phone": has_phone, "ip": has_ip, "date": has_date,
             "secret": has_secret}
