"""Numbers and dates as texts write them: in digits, in words, in Roman numerals, with months in
five languages.

Words of numbers are read by ``text2num``, which knows them in English, German, French, Spanish and
Italian; a text with one of the common English words is read as English alone, since "once" is
eleven in Spanish. What is not read: fractions in words, and calendars other than the Christian one.
"""

import re
import unicodedata
from collections.abc import Callable, Collection
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeVar

T = TypeVar("T")

_LANGUAGES = ("en", "de", "fr", "es", "it")
_ENGLISH = re.compile(r"\b(?:the|of|what|which|who|whom|whose|when|where|how|did|does)\b", re.I)

# Month -> its names in the five languages without accents; the short ones count beside a day or a
# year only.
_LONG = (
    "january januar janner janvier enero gennaio",
    "february februar fevrier febrero febbraio",
    "march marz maerz mars marzo",
    "april avril abril aprile",
    "may mai mayo maggio",
    "june juni juin junio giugno",
    "july juli juillet julio luglio",
    "august aout agosto",
    "september septembre septiembre setiembre settembre",
    "october oktober octobre octubre ottobre",
    "november novembre noviembre",
    "december dezember decembre diciembre dicembre",
)
_SHORT = ("jan", "feb", "mar", "apr", "", "jun", "jul", "aug", "sep sept", "oct okt", "nov", "dec dez")
_MONTHS = {name: n for names in (_LONG, _SHORT) for n, line in enumerate(names, 1) for name in line.split()}
_WORDS_TOO = frozenset(
    {"may", "march", "mars", "mai", "mayo", "august", "april", "june"}
)  # of other meanings, names among them
_M = "|".join(sorted(_MONTHS, key=len, reverse=True))
_OF = r"(?:of\s+|de\s+|del\s+|di\s+)?"
_DAY = r"(?P<d>\d{1,2})(?:st|nd|rd|th|er|\.|º)?"
_DATES = tuple(
    re.compile(pattern, re.I)
    for pattern in (
        r"\b(?P<y>\d{4})[-/.](?P<n>\d{1,2})[-/.](?P<d>\d{1,2})\b",
        r"\b(?P<first>\d{1,2})[-/.](?P<second>\d{1,2})[-/.](?P<y>\d{4})\b",
        rf"\b(?P<y>\d{{4}}),?\s+(?P<m>{_M})\b\.?\s+{_DAY}\b",
        rf"\b{_DAY}\s*{_OF}(?P<m>{_M})\b\.?(?:,?\s*{_OF}(?P<y>\d{{3,4}})\b)?",
        rf"\b(?P<m>{_M})\b\.?\s+(?:the\s+)?{_DAY}(?![\d:])\b(?:,?\s+{_OF}(?P<y>\d{{3,4}})\b)?",
        rf"\b(?P<m>{_M})\b\.?,?\s+{_OF}(?P<y>\d{{3,4}})\b",
    )
)
_ALONE = re.compile(
    rf"(?:\b(?P<cue>in|of|early|late|mid|by|since|until|before|after|during|im|en|de|di)\s+)?\b(?P<m>{_M})\b",
    re.I,
)

_TENS = {
    name: n
    for n, name in enumerate(
        "twenties thirties forties fifties sixties seventies eighties nineties".split(), 2
    )
}
_DECADE = re.compile(rf"\b(\d{{2,3}})0['’]?s\b|\b(\d{{1,2}}) ({'|'.join(_TENS)})\b", re.I)
_CENTURY = re.compile(
    r"\b(\d{1,2})(?:st|nd|rd|th|\.|e|eme)?[\s-]+(?:century|centuries|jahrhunderts?|siecles?|secolo)\b|\bsiglo\s+(\d{1,2})\b",
    re.I,
)
_ORDINAL = re.compile(r"\b(\d{1,6})(?:st|nd|rd|th)\b")
_ROMAN = re.compile(
    r"\b(?=[MDCLXVI]{2})M{0,3}(?:CM|CD|D?C{0,3})(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})(?=(?:th|e|er|eme)?\b)"
    r"|(?<=[a-z] )[VX]\b"
)
_LETTERS = {"M": 1000, "D": 500, "C": 100, "L": 50, "X": 10, "V": 5, "I": 1}

_SCALES = {
    "dozen|dutzend|douzaines?|docenas?|dozzin[ae]": 12,
    "hundred": 100,
    "thousand|tausend|mille|mil|mila|k": 10**3,
    "million|millions|millionen|millon|millones|milione|milioni": 10**6,
    "billion|billions|bn|milliarden?|milliards?|miliard[oi]": 10**9,
    "trillion|trillions": 10**12,
}
_SCALE_OF = {re.compile(rf"(?:{names})", re.I): size for names, size in _SCALES.items()}
_BEFORE_SCALE = re.compile(rf"(?<=\d)\s+(?=(?:{'|'.join(_SCALES)})\b)", re.I)
_GROUP = "[,'’ \u00a0\u2009\u202f]"
_NUMBER = re.compile(
    rf"(?P<sign>(?<![\w.,)])[-\u2212])?(?<![\w.])"
    rf"(?P<n>\d{{1,3}}(?:{_GROUP}\d{{3}})+(?:\.\d+)?(?!\d)|\d+(?:[.,]\d+)?)(?:\s*(?P<scale>{'|'.join(_SCALES)})\b)?",
    re.I,
)
_ONE = re.compile(
    r"\b(which|the|this|that|each|every|any|no|some|only|another|or)\s+one\b|(?<!ty )\bone(?=\s+of\b)", re.I
)
_DOZEN = re.compile(r"\b(half a )?(?<!\d )dozen\b", re.I)
_SPOKEN_YEAR = re.compile(r"\b(1[1-9]|20) (?:(?:oh?) ([1-9])|([1-9]\d))\b(?!:|[.,]?\d)")


@dataclass(frozen=True, order=True)
class Date:
    """A day or a part of its name; 0 where a part is not told."""

    year: int = 0
    month: int = 0
    day: int = 0


@dataclass(frozen=True)
class Figures:
    """What a text tells in numbers. ``numbers``: quantities and bare years; ``decades``: 187 for
    the 1870s.

    ``words``: the text without any of it, and without accents.
    """

    numbers: frozenset[Decimal]
    dates: frozenset[Date]
    ordinals: frozenset[int]
    decades: frozenset[int]
    centuries: frozenset[int]
    words: str

    @property
    def years(self) -> frozenset[int]:
        """Years of dates, and numbers that could be one."""
        bare = {int(n) for n in self.numbers if n == n.to_integral_value() and 100 <= n < 2200}
        return frozenset(bare | {d.year for d in self.dates if d.year})

    @property
    def comparable(self) -> tuple[frozenset[Any], ...]:
        """All of it but the words, to be compared."""
        return self.numbers, self.dates, self.ordinals, self.decades, self.centuries

    def __bool__(self) -> bool:
        return any(self.comparable)


def languages_of(text: str) -> tuple[str, ...]:
    """The languages in which a text's words of numbers are read."""
    return ("en",) if _ENGLISH.search(text) else _LANGUAGES


def figures(text: str, languages: tuple[str, ...]) -> Figures:
    """The numbers and dates of a text, as any of the languages reads it."""
    readings = [_read(text, language) for language in languages]
    sets: dict[str, Any] = {
        name: frozenset().union(*(getattr(f, name) for f in readings))
        for name in ("numbers", "dates", "ordinals", "decades", "centuries")
    }
    return Figures(**sets, words=min((f.words for f in readings), key=len))


def without_accents(text: str) -> str:
    """The text in compatibility form without combining marks of Latin, Greek and Cyrillic letters,
    and with a dot on every i.
    """
    bare = "".join(c for c in unicodedata.normalize("NFKD", text) if not "\u0300" <= c <= "\u036f")
    return bare.replace("\u0131", "i")  # which a pattern that knows no case takes for an i


def _month_alone(match: re.Match[str], text: str) -> list[Date]:
    return [Date(month=_MONTHS[match["m"].lower()])] if _is_month(match, text) else []


def _read(text: str, language: str) -> Figures:
    whole = text.encode(errors="replace").decode()  # half characters are not text to the reader of words
    text = without_accents(_in_digits(unicodedata.normalize("NFKC", whole), language))
    text = _ROMAN.sub(lambda m: str(_roman(m.group())) if m.group() else "", text)
    left = _Left(text)
    dates = [date for pattern in _DATES for date in left.take(pattern, _dates)]
    decades = left.take(_DECADE, lambda m: [int(m[1]) if m[1] else int(m[2]) * 10 + _TENS[m[3].lower()]])
    centuries = left.take(_CENTURY, lambda m: [int(m[1] or m[2])])
    ordinals = left.take(_ORDINAL, lambda m: [int(m[1])])
    numbers = left.take(_NUMBER, _numbers)
    dates += left.take(_ALONE, lambda m: _month_alone(m, left.text))
    return Figures(
        numbers=frozenset(numbers),
        dates=frozenset(dates),
        ordinals=frozenset(ordinals),
        decades=frozenset(decades),
        centuries=frozenset(centuries),
        words=left.text,
    )


class _Left:
    """A text out of which what has been read is taken, so that the day of a date is not a number
    once more.
    """

    def __init__(self, text: str) -> None:
        self.text = text

    def take(self, pattern: re.Pattern[str], read: Callable[[re.Match[str]], Collection[T]]) -> list[T]:
        """What the matches tell; those that tell nothing stay in the text."""
        values: list[T] = []

        def _taken(match: re.Match[str]) -> str:
            value = read(match)
            values.extend(value)
            return " \x1f " if value else match.group()

        self.text = pattern.sub(_taken, self.text)
        return values


def _in_digits(text: str, language: str) -> str:
    """Words of numbers as digits; "eighteen seventy-one" as 1871."""
    from text_to_num import alpha2digit

    text = re.sub(r"(?<=[^\W\d])[-\u2010-\u2015](?=[^\W\d])", " ", text)
    if language == "en":
        text = re.sub(r"\bminus (?=\w)", "-", _ONE.sub(lambda m: m[1] or "", text))
    text = _BEFORE_SCALE.sub("", text)  # else the scale alone becomes digits
    written = set(_SPOKEN_YEAR.findall(text))
    digits: str = alpha2digit(text, language, threshold=0.0)
    digits = _DOZEN.sub(lambda m: "6" if m[1] else "12", digits)
    return _SPOKEN_YEAR.sub(
        lambda m: m.group() if m.groups("") in written else m[1] + (m[3] or f"0{m[2]}"), digits
    )


def _roman(letters: str) -> int:
    values = [_LETTERS[c] for c in letters]
    return sum(-v if v < max(values[i:]) else v for i, v in enumerate(values))


def _dates(match: re.Match[str]) -> set[Date]:
    """The dates that a match may mean; none where it cannot be one."""
    groups = match.groupdict()
    year = int(groups["y"] or 0)
    day = int(groups.get("d") or 0)
    if "first" in groups:
        a = int(groups["first"])
        b = int(groups["second"])
        pairs = {(a, b), (b, a)}
    else:
        pairs = {(int(groups["n"]) if "n" in groups else _MONTHS[groups["m"].lower()], day)}
    return {Date(year, month, day) for month, day in pairs if 1 <= month <= 12 and day <= 31}


def _is_month(match: re.Match[str], text: str) -> bool:
    """Whether a month's name without day and year is one; "may" is a verb, and May a name, more
    often.
    """
    name = match["m"]
    if name.lower() not in _WORDS_TOO:
        return name.lower() in " ".join(_LONG).split()
    return name[0].isupper() and (match["cue"] is not None or text.strip() == name)


def _numbers(match: re.Match[str]) -> set[Decimal]:
    digits = match["n"]
    scale = match["scale"]
    size = next(s for names, s in _SCALE_OF.items() if names.fullmatch(scale)) if scale else 1
    plain = re.sub(rf"(?<=\d){_GROUP}(?=\d{{3}}(?!\d))", "", digits).replace(",", ".")
    numbers = {Decimal(plain)}
    if re.fullmatch(r"[1-9]\d{0,2}\.\d{3}", digits):  # 1.200 is more than a thousand on the continent
        numbers.add(Decimal(digits.replace(".", "")))
    return {(-n if match["sign"] else n) * size for n in numbers}
