"""Which column names are easily mistaken for one another, according to Python's unicodedata. Shares no code with the
library.

The table of twins is smaller than the library's: it has the letters that generate.py puts into names, and their
neighbours.
"""
import re
import unicodedata

# Default-ignorable characters that are not in category Cf.
IGNORABLE = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u3164\ufe00-\ufe0f\uffa0\ufff0-\ufff8"
                       "\U000e0000-\U000e0fff]")
BLANK = re.compile("[\t-\r\x85 \u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\u00a0]")
CYRILLIC = zip("АВЕЅІЈКМНОРСТУХҺԀԚԜавеѕіјкмнорстухһԁԛԝг",
               "abesijkmhopctyxhdqwabesijkmhopctyxhdqwr", strict=True)
GREEK = zip("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧαβγεζηικνορστυχ",
            "abezhikmnoptyxabyeznikvopotux", strict=True)
MARKS = zip("\u02d7\u2010\u2012\u2013\u2014\u2043\u2212\u2018\u2019\u2800\u0131", "-------'' i", strict=True)
TWINS = dict([*CYRILLIC, *GREEK, *MARKS])


def decoded(name):
    """The name as text, in which bytes that are not UTF-8 become lone surrogates."""
    return name.decode("utf-8", "surrogateescape")


def normal(text):
    text = BLANK.sub(" ", text)
    text = "".join(c for c in text if unicodedata.category(c) not in ("Cc", "Cf"))
    return unicodedata.normalize("NFKD", IGNORABLE.sub("", unicodedata.normalize("NFKD", text)))


def folded(text):
    """Folds twice, because a decomposed letter may fold again."""
    for _ in range(2):
        text = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
    return text


def joined(text):
    """Removes blanks and punctuation, except between digits."""
    def between_digits(match):
        before, after = text[:match.start()][-1:], text[match.end():][:1]
        if before.isdecimal() and after.isdecimal():
            return match.group().replace(" ", "") or " "
        return ""
    return re.sub(r"[ ._-]+", between_digits, text)


def letters(name):
    return joined(folded(normal(decoded(name))))


def shape(name):
    text = "".join(TWINS.get(c, c) for c in normal(decoded(name)))
    text = joined(folded(text))
    return re.sub("[1i|]", "l", text).replace("0", "o").replace("m", "rn")


def are_similar(one, other):
    if letters(one) == letters(other):
        return True
    return not (one.isascii() and other.isascii()) and shape(one) == shape(other)
