"""Reading facts back out of prose: which templates a text uses, on whom, with which object.

White space and line breaks of the text do not matter. What two surfaces name is asked of the world;
nothing else of it is.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

from llmpedia.rehearsal.world.facts import TEMPLATES, Template
from llmpedia.rehearsal.world.names import fold
from llmpedia.rehearsal.world.world import World

_OBJECTS = {"year": r"\d{4}", "large": r"\d[\d,]*", "place": r".+"}
_MARK = "\x02"
_WORD = r"[^\W\d_]+"
# Names hold full stops, so a place may end at any of the next ones.
_STOP = re.compile(r"\.(?=\s|$)")
_INITIAL = re.compile(r"\w{1,2}\.")  # "J.", "Dr.": ends no sentence
_MOST_STOPS = 6
_MOST_WORDS = 8


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence read. ``subject``, ``what``: as written; ``quote``: the whole sentence; ``at``:
    where it begins.
    """

    template: Template
    subject: str
    what: str
    quote: str
    at: int


class _Marked:
    """A text with a mark for each name, so that one expression a template serves whatever the names
    are.
    """

    def __init__(self, text: str, names: tuple[str, ...]) -> None:
        self._names: list[str] = []
        self.text = _any_of(names).sub(self._mark, text)

    def _mark(self, match: re.Match[str]) -> str:
        self._names.append(match.group())
        return _MARK

    def plain(self, start: int, end: int) -> str:
        """A part of the text with its names put back, in one line."""
        names = iter(self._names[self.text.count(_MARK, 0, start) :])
        parts = re.split(f"({_MARK})", self.text[start:end])
        return " ".join("".join(next(names) if p == _MARK else p for p in parts).split())


class Reader:
    """Reads texts of one world."""

    def __init__(self, world: World) -> None:
        self._world = world

    def sentence(self, text: str) -> Statement | None:
        """The statement that a whole text is (its last full stop may be missing); None if it is
        none.
        """
        text = " ".join(text.split())
        for template in TEMPLATES:
            match = _whole(template).fullmatch(text)
            if match:
                return Statement(template, match["s"], match["o"], text, 0)
        return None

    def statements(
        self, text: str, names: Iterable[str], templates: Iterable[Template] = TEMPLATES
    ) -> list[Statement]:
        """All statements of a text about any of the names, in order."""
        marked = _marked(text, tuple(sorted(set(names), key=lambda n: (-len(n), n))))
        return sorted((s for t in templates for s in self._of(t, marked)), key=lambda s: s.at)

    def _of(self, template: Template, marked: "_Marked") -> Iterable[Statement]:
        for match in _among(template).finditer(marked.text):
            name = marked.plain(match.start("s"), match.end("s"))
            what = marked.plain(*match.span("o"))
            end = match.end()
            if template.text.startswith("{s}") and self._part_of_longer(marked.text[: match.start()], name):
                continue
            if template.kind == "place":
                place = self._place(marked, match.start("o"))
                if place is None:
                    continue
                what, end = place
            yield Statement(template, name, what, marked.plain(match.start(), end), match.start())

    def _place(self, marked: "_Marked", start: int) -> tuple[str, int] | None:
        """The known name that a sentence ends in, and where it ends; None where it is cut off or
        the name is unknown.
        """
        for stop in islice(_STOP.finditer(marked.text, start), _MOST_STOPS):
            what = marked.plain(start, stop.start())
            if self._world.entity(what) is not None:
                return what, stop.end()
        return None

    def _part_of_longer(self, before: str, name: str) -> bool:
        """Whether the words before a name make it another entity's: "New Ashton" says nothing of
        Ashton.
        """
        words = before[-200:].rpartition("\n")[2].split()[-_MOST_WORDS:]
        ends = [i for i, word in enumerate(words) if word[-1] in ".!?:" and not _INITIAL.fullmatch(word)]
        words = words[ends[-1] + 1 :] if ends else words
        entity = self._world.entity(name)
        longer = (" ".join([*words[i:], name]) for i in range(len(words)))
        return any(self._world.entity(other) not in (None, entity) for other in longer)

    def same(self, one: str, other: str) -> bool:
        """Whether two surfaces name one entity, or else are the same but for spelling."""
        a = self._world.entity(one)
        b = self._world.entity(other)
        return fold(one) == fold(other) if a is None or b is None else a == b

    def agree(self, template: Template, one: str, other: str) -> bool:
        """Whether two objects of a template are the same."""
        return self.same(one, other) if template.kind == "place" else one.casefold() == other.casefold()

    def names_of(self, name: str) -> tuple[str, ...]:
        """All names of what a name names, itself first."""
        entity = self._world.entity(name)
        others = () if entity is None else (self._world.name(entity), *self._world.others(entity))
        return tuple(dict.fromkeys([name, *others]))


@lru_cache(maxsize=64)
def _whole(template: Template) -> re.Pattern[str]:
    """The template as a whole text, whoever it is about."""
    return re.compile(
        _filled(template, "(?P<s>.+?)", _OBJECTS.get(template.kind, _WORD)).removesuffix(r"\.") + r"\.?"
    )


@lru_cache(maxsize=64)
def _among(template: Template) -> re.Pattern[str]:
    """The template in a marked text. A place is matched up to its first character."""
    whole = _filled(template, f"(?P<s>{_MARK})", _OBJECTS.get(template.kind, _WORD))
    return re.compile(whole.removesuffix(r".+)\.") + r"\S)" if template.kind == "place" else whole)


@lru_cache(maxsize=16)  # the claims of one article are judged by the same text, one after the other
def _marked(text: str, names: tuple[str, ...]) -> _Marked:
    return _Marked(text.replace(_MARK, " "), names)


def _any_of(names: tuple[str, ...]) -> re.Pattern[str]:
    """Any of the names, whatever white space they are written with; the longest first."""
    return re.compile(
        r"(?<!\w)(?:" + "|".join(r"\s+".join(map(re.escape, name.split())) for name in names) + ")"
    )


def _filled(template: Template, subject: str, what: str) -> str:
    """The template as a regular expression; white space of any kind and length fits a blank."""
    pieces = re.split(r"(\{s\}|\{o\})", template.text)
    slots = {"{s}": subject, "{o}": f"(?P<o>{what})"}
    return "".join(slots.get(p) or re.escape(p).replace(r"\ ", r"\s+") for p in pieces)
