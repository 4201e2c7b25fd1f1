"""Whether a question gives an answer away, be it in other words for a number or another order of a
date.

A part that all accounts share is no leak: "in August 1910" tells nothing where they say 26 and 27
August 1910. A part that only some have is one, also where the question names it as wrong. What is
not seen: another name of the same thing, and paraphrase.
"""

import re
from collections.abc import Sequence
from decimal import Decimal

from llmpedia.entities.keys import canonical_key
from llmpedia.text.numbers import Date, Figures, figures, languages_of, without_accents
from llmpedia.text.scripts import has_hangul, has_unspaced
from llmpedia.text.tokens import recomposed, run_pattern

_ENGLISH = ("en",)
_SMALL = 3  # the ordinals up to here are said of anything
_LONGEST_ENDING = 3  # letters of an ending or suffix: poet-s, Berlin-er
# A tone mark that turns a Burmese name into "of that name".
_GENITIVE = "\u1037"
# Units: signs, and letters that stand alone; "a" is a word, and a letter beside a point an
# abbreviation.
_SIGN = re.compile(r"[$€£¥₹%‰°]|(?<![\w'’.])[b-z](?![\w'’.])", re.I)
_ARTICLE = re.compile(r"^\s*(?:the|an?|le|la|les|l['’]|der|die|das|el|los|las|il|lo|gli)\s+", re.I)
_BOUNDS = frozenset(
    "before after over under more less fewer least most than above below until since not".split()
)
_EMPTY = frozenset(
    "a an the of in on at by to from for with and or as is was it its about around near circa ca c "
    "approximately some who which "
    "le la les l un une de des du d et en au der die das den dem ein eine und im am von zu el los "
    "las uno una y il lo gli i e di"
    .split()
)  # fmt: skip


def leak(question: str, answers: Sequence[str]) -> str | None:
    """What of an answer the question gives away, in words; None where it gives nothing away."""
    languages = languages_of(question)
    asked = figures(question, languages)
    answered = [figures(answer, languages) for answer in answers]
    for number, answer in enumerate(answers):
        others = [f for n, f in enumerate(answered) if n != number]
        part = _figure(asked, answered[number], others)
        if part is None:
            part = _words(question, answer, answered[number], others)
        if part is not None:
            return f"it gives away {part} of the answer {answer!r}"
    return None


def says(text: str, name: str) -> bool:
    """Whether a text holds a name: from the beginning of a word on, whatever accents, case,
    punctuation, and a short ending.

    In a script without spaces a name may stand anywhere; in Korean anywhere in a word, but for a
    single syllable, and with any particles behind it.
    """
    words = _folded(text)
    wanted = "".join(_folded(name))
    if not wanted:
        return name.strip() != "" and name.strip() in text
    if has_unspaced(wanted):
        return wanted in "".join(words)
    if has_hangul(wanted) and len(wanted) > 1 and any(wanted in word for word in words):
        return True
    return any(_begins(words[start:], wanted) for start in range(len(words)))


def same_value(a: str, b: str) -> bool:
    """Whether two answers are one: "1,200" and "1200", "12 May 1900" and "May 12, 1900"."""
    keys = [canonical_key(_ARTICLE.sub("", without_accents(text))) for text in (a, b)]
    if keys[0] == keys[1] and not any(c.isdigit() for c in keys[0]):
        return True  # D.C. is DC, which alone reads as a Roman number
    # too few words to tell a language by
    one = figures(a, _ENGLISH)
    other = figures(b, _ENGLISH)
    if one.comparable != other.comparable:
        return False
    if not one:
        return keys[0] == keys[1]
    left = _content(one.words)
    right = _content(other.words)
    return (
        (left <= right or right <= left)
        and not (left ^ right) & _BOUNDS
        and _same_units(one.words, other.words)
    )


def _same_units(a: str, b: str) -> bool:
    """Whether nothing of the signs and single letters beside two figures says that they count other
    things: m and km, $ and €.
    """
    signs = [{sign.casefold() for sign in _SIGN.findall(text)} for text in (a, b)]
    if all(signs):
        return signs[0] <= signs[1] or signs[1] <= signs[0]
    left = _content(a)
    right = _content(b)
    others = right - left if signs[0] else left - right
    letters = [sign for sign in signs[0] | signs[1] if sign.isalpha()]
    return not others or all(any(word.startswith(letter) for word in others) for letter in letters)


def shares(value: str, source: str) -> bool:
    """Whether a value can come from a text: all its figures are there, or, where it has none, one
    of its words.
    """
    languages = languages_of(source)
    value_figures = figures(value, languages)
    there = figures(source, languages)
    if value_figures:
        counted = there.numbers | {Decimal(n) for n in there.years | there.ordinals}
        return value_figures.numbers <= counted and value_figures.dates <= _dated(there)
    return says(source, value) or any(says(source, word) for word in _content(value))


def without_figures(value: str, source: str) -> bool:
    """Whether a value has figures and a text that is said to tell it has none at all; other figures
    may be another unit's.
    """
    languages = languages_of(source)
    return bool(figures(value, languages)) and not figures(source, languages)


def _figure(asked: Figures, answer: Figures, others: list[Figures]) -> str | None:
    """The number or part of a date that the question has and not all answers share."""
    stated = _quantities(asked) | asked.years
    for value in sorted(_quantities(answer) | answer.ordinals):
        is_said = value in stated or value in answer.ordinals & asked.ordinals
        if is_said and not all(value in o.numbers or value in o.ordinals or value in o.years for o in others):
            return f"{value:f}"
    known = _dated(asked)
    for part in sorted(_dated(answer)):
        if part in known and not all(part in _dated(o) for o in others):
            return _told(part)
    for day in sorted({d.day for d in answer.dates} & asked.ordinals):  # the day alone, as in "on the 26th"
        if day > _SMALL and not all(day in {d.day for d in o.dates} for o in others):
            return f"day {day}"
    return _span(asked, answer, others)


def _quantities(read: Figures) -> frozenset[Decimal]:
    """Numbers, and ordinals from the fourth on; "first" and "second" are said of anything."""
    return read.numbers | {Decimal(n) for n in read.ordinals if n > _SMALL}


def _span(asked: Figures, answer: Figures, others: list[Figures]) -> str | None:
    """The decade or century that the question is about, where some answers lie in it and some do
    not.
    """
    for name, unit in (("decades", _decade), ("centuries", _century)):
        lies = [getattr(f, name) | set(map(unit, f.years)) for f in (answer, *others)]
        named = getattr(asked, name) | (set(map(unit, asked.years)) & getattr(answer, name))
        if any(span in lies[0] and not all(span in at for at in lies) for span in named):
            return f"one of the {name}"
    return None


def _decade(year: int) -> int:
    return year // 10


def _century(year: int) -> int:
    return (year - 1) // 100 + 1


def _dated(read: Figures) -> set[Date]:
    """All that a text's dates and years tell, part by part."""
    return {part for d in read.dates for part in _parts(d)} | {Date(year) for year in read.years}


def _parts(date: Date) -> set[Date]:
    """Date and those of its parts that tell something: the year, the month, both, and the day with
    its month.
    """
    year = date.year
    month = date.month
    day = date.day
    return {date, Date(year), Date(0, month), Date(year, month), Date(0, month, day if month else 0)} - {
        Date()
    }


def _told(part: Date) -> str:
    names = (("year", part.year), ("month", part.month), ("day", part.day))
    return " ".join(f"{name} {value}" for name, value in names if value)


def _words(question: str, answer: str, answer_figures: Figures, others: list[Figures]) -> str | None:
    """The whole answer, or all words of it that no other answer has."""
    words = _content(answer_figures.words)
    if (words or not answer_figures) and says(question, answer):
        return "all"
    if answer_figures and any(answer_figures.comparable != o.comparable for o in others):
        return None  # the figures are what tells it from the others
    distinct = words.difference(*(_content(o.words) for o in others))
    return " ".join(sorted(distinct)) if distinct and all(says(question, word) for word in distinct) else None


def _content(text: str) -> frozenset[str]:
    """Words that mean something by themselves."""
    words = _folded(text)
    return frozenset(
        w
        for w in words
        if w not in _EMPTY and not w.isdigit() and (len(w) > 1 or w in _BOUNDS or not w.isascii())
    )


def _folded(text: str) -> list[str]:
    plain = recomposed(without_accents(text)).replace("'s ", " ").replace("’s ", " ")
    return [word.casefold() for word in run_pattern().findall(plain.replace(_GENITIVE, ""))]


def _begins(words: list[str], wanted: str) -> bool:
    """Whether words, run together, begin with what is wanted and go on for no more than an ending."""
    text = ""
    for word in words:
        if text[-1:].isdigit() and word[0].isdigit():
            return False
        text += word
        if len(text) >= len(wanted):
            break
    rest = len(text) - len(wanted)
    return text.startswith(wanted) and (rest == 0 or _may_end(wanted, rest))


def _may_end(name: str, letters: int) -> bool:
    """Whether so many letters behind a name in a word may be an ending."""
    if has_hangul(name[-1]):
        return len(name) > 1 or letters <= _LONGEST_ENDING
    return len(name) >= 4 and name[-1].isalpha() and letters <= _LONGEST_ENDING
