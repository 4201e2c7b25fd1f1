"""Reading planted documents: whom a text is about, what it states of which attribute, and whether
two values can both hold.

It goes by the words of the text alone; no planted fact is looked up here.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

from llmpedia.rehearsal.planted import words
from llmpedia.rehearsal.planted.kinds import PlantedAttribute, ValueKind, kinds
from llmpedia.rehearsal.world.names import fold

_MONTH = "|".join(words.MONTHS)
_NUMBER = r"\d{1,3}(?:,\d{3})*(?:\.\d)?"
_VALUES: dict[ValueKind, str] = {
    "date": rf"(?:in|on) (?P<v>(?:\d{{1,2}} (?:{_MONTH}) )?\d{{4}})",
    "length": rf"(?P<v>(?:about )?{_NUMBER} (?:metres|feet))",
    "surface": rf"(?P<v>(?:about )?{_NUMBER} square (?:kilometres|miles))",
    "count": rf"(?P<v>(?:about )?{_NUMBER})",
    "person": r"(?P<v>[A-Z][a-z.]+ [A-Z][a-z]+)",
    "town": r"(?P<v>[A-Z][a-z]+(?:, [A-Z][a-z]+)?)",
}
_METRES = {"metres": 1.0, "feet": 0.3048, "square kilometres": 1.0, "square miles": 2.589988}
# how far two figures of one thing may be apart: other units, and "about"
_EXACT = 0.005
_ROUNDED = 0.06
# The end of a sentence; an initial ends none.
_STOPS = re.compile(r"(?<!\b[A-Z])[.!?] (?=[A-Z])")
_MOST = 400  # characters of a name that is sought


@dataclass(frozen=True, slots=True)
class About:
    """Whom a text describes. ``mark``: what it is known for; None: not told."""

    name: str
    noun: str
    region: str
    mark: str | None = None

    def same(self, other: "About") -> bool:
        """Whether both are one: the same name and the same description."""
        marks = self.mark is None or other.mark is None or self.mark == other.mark
        return (
            fold(self.name) == fold(other.name)
            and (self.noun, self.region) == (other.noun, other.region)
            and marks
        )


@dataclass(frozen=True, slots=True)
class Stated:
    """A value that a sentence states. ``context``: the time, edition or part it is of; None: there
    is only one.
    """

    slot: PlantedAttribute
    value: str
    context: str | None
    sentence: str


@dataclass(frozen=True, slots=True)
class Read:
    """A text as it was read."""

    about: About
    stated: tuple[Stated, ...]


@lru_cache(maxsize=4096)
def read(text: str) -> Read | None:
    """What a text says of the subject that it introduces; None where it introduces none that can be
    made out.
    """
    text = " ".join(text.split())
    match = next((m for m in (p.search(text) for p in _leads()) if m), None)
    if match is None:
        return None
    name = match["s"]
    mark = next((m["m"] for m in (p.search(text) for p in _marks(name)) if m), None)
    return Read(About(name, match["n"], match["r"], mark), tuple(_stated(text, name, match["n"])))


def _stated(text: str, name: str, noun: str) -> list[Stated]:
    """The statements on what is called so, in order, each attribute and context once."""
    out: dict[tuple[str, str | None], tuple[int, Stated]] = {}
    for slot, pattern in _statements(name, noun):
        for match in pattern.finditer(text):
            context = match.groupdict().get("c")
            begins = max((m.end() for m in _STOPS.finditer(text[: match.start()])), default=0)
            ends = next((m.start() + 1 for m in _STOPS.finditer(text, match.end())), len(text))
            stated = Stated(slot, match["v"], context, text[begins:ends])
            out.setdefault((slot.name, context), (match.start(), stated))
    return [stated for _, stated in sorted(out.values(), key=lambda pair: pair[0])]


def compatible(kind: ValueKind, one: str, other: str) -> bool:
    """Whether two values are the same, or one of them in another unit, rounded, or more exactly."""
    if kind == "date":
        return one[-4:] == other[-4:] and (" " not in one or " " not in other or one == other)
    if kind == "town":
        return one.partition(",")[0].casefold() == other.partition(",")[0].casefold()
    if kind == "person":
        return _same_person(one.split(), other.split())
    a = _amount(one)
    b = _amount(other)
    if a is None or b is None:
        return one == other
    apart = _ROUNDED if "about" in f"{one} {other}" else _EXACT
    return abs(a - b) <= apart * max(a, b)


def plainness(value: str) -> tuple[bool, bool, bool, int]:
    """Sorts values of one account: the usual form first."""
    return (
        "about" in value,
        "feet" in value or "miles" in value,
        "." in value.partition(" ")[0][:2],
        len(value),
    )


def _same_person(one: list[str], other: list[str]) -> bool:
    if not one or not other or one[-1] != other[-1]:
        return False
    a = one[0].rstrip(".")
    b = other[0].rstrip(".")
    return a == b or (1 in (len(a), len(b)) and a[:1] == b[:1])


def _amount(value: str) -> float | None:
    """The figure in metres, square kilometres or as it is."""
    match = re.fullmatch(rf"(?:about )?({_NUMBER})(?: (.+))?", value)
    if match is None:
        return None
    return float(match.group(1).replace(",", "")) * _METRES.get(match.group(2) or "", 1.0)


@lru_cache(maxsize=64)
def slots_of(noun: str) -> tuple[PlantedAttribute, ...]:
    """The attributes of what is called so."""
    return next((kind.slots for kind in kinds() if noun in kind.nouns), ())


@lru_cache(maxsize=1)
def _leads() -> tuple[re.Pattern[str], ...]:
    nouns = "|".join(noun for kind in kinds() for noun in kind.nouns)
    regions = "|".join(words.REGIONS)
    parts = {
        "s": rf"(?P<s>[^.?!]{{1,{_MOST}}}?)",
        "n": rf"an? (?P<n>{nouns})",
        "p": "(?:in|from)",
        "r": f"(?P<r>{regions})",
    }
    return tuple(re.compile(_filled(lead, parts)) for lead in words.LEADS)


@lru_cache(maxsize=1024)
def _marks(name: str) -> tuple[re.Pattern[str], ...]:
    parts = {"s": re.escape(name), "m": "(?P<m>a [a-z ]+?)"}
    return tuple(re.compile(_filled(mark, parts)) for mark in words.MARKS)


@lru_cache(maxsize=1024)
def _statements(name: str, noun: str) -> tuple[tuple[PlantedAttribute, re.Pattern[str]], ...]:
    out = []
    for slot in slots_of(noun):
        context = "|".join(map(re.escape, slot.contexts))
        parts = {"s": re.escape(name), "v": _VALUES[slot.value], "c": f"(?P<c>{context})"}
        out += [(slot, re.compile(rf"\b{_filled(core, parts)}(?![\d\w])")) for core in slot.cores]
    return tuple(out)


def _filled(template: str, parts: dict[str, str]) -> str:
    """A template as a regular expression, its places filled with others."""
    pieces = re.split(r"\{(\w)\}", template)
    return "".join(parts[p] if i % 2 else re.escape(p) for i, p in enumerate(pieces))
