"""Names: what 64 bits are called, in many forms and scripts, and under which surfaces they are
found.

Nothing here knows an entity's number: names are functions of hashes, so that none can be told from
a name.
"""

import re
import unicodedata
from dataclasses import dataclass

from llmpedia.rehearsal.world import lexicon
from llmpedia.rehearsal.world.seeded_random import remixed

_GONE = dict.fromkeys(map(ord, " -‐‑–—.,'’‘`\"“”():;!?/·_\u00a0\u200b"))
_TYPES = tuple(lexicon.TYPES)
# Cumulated weights, out of 100, of the types of entities that stand alone.
_WEIGHTS = (
    (36, "person"),
    (60, "place"),
    (71, "institution"),
    (83, "work"),
    (90, "event"),
    (95, "company"),
    (98, "law"),
    (100, "thing"),
)
_LETTERS = str.maketrans("łŁøØıđĐßæÆœŒå", "lLoOidDsaAoOa")
_ROMAN = (
    "I II III IV V VI VII VIII IX X XI XII XIII XIV XV XVI XVII XVIII XIX XX XXI XXII XXIII "
    "XXIV XXV XXVI XXVII XXVIII"
).split()
_ORDINALS = "First Second Third Fourth Fifth Sixth Seventh".split()


def fold(name: str) -> str:
    """What two surfaces share if their canonical keys are the same (for names of this world; it may
    merge more).
    """
    if name.isascii():
        return name.lower().translate(_GONE)
    text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    return text.translate(_GONE)


@dataclass(frozen=True, slots=True)
class Named:
    """``forms``: the main name, then others of the same thing with other keys."""

    kind: str
    forms: tuple[str, ...]


class Namer:
    """Makes names. Holds the word lists of one world."""

    def __init__(self, seed: int) -> None:
        cultures = lexicon.cultures()
        self._latin = sum(c.latin for c in cultures)
        self._cultures = cultures
        self._given = [lexicon.stems(c, 700, seed, "given", i) for i, c in enumerate(cultures)]
        self._family = [lexicon.stems(c, 1800, seed, "family", i) for i, c in enumerate(cultures)]

    def alone(self, h: int) -> Named:
        """A thing that stands alone."""
        at = h % 100
        kind = next(kind for below, kind in _WEIGHTS if at < below)
        h = remixed(h)
        if kind == "person":
            return self._person(h)
        if kind == "place":
            return Named("place", self._place(h))
        if kind == "work":
            return self._work(h)
        if kind == "event" and h % 5 == 0:
            year = 1500 + (h >> 8) % 520
            stem = self.word(h)
            return Named(kind, (f"{year} {stem} earthquake", f"{stem} earthquake of {year}"))
        if kind == "law" and h % 3 == 0:
            year = 1600 + (h >> 8) % 420
            stem = self.word(h)
            return Named(kind, (f"{stem} Act of {year}", f"{year} {stem} Act"))
        return self._templated(kind, h)

    def word(self, h: int) -> str:
        """A Latin place word or two."""
        family = self._family[(h >> 4) % self._latin]
        stem = family[(h >> 12) % len(family)]
        if (h >> 26) % 3:
            endings = self._cultures[(h >> 4) % self._latin].endings
            stem += endings[(h >> 30) % len(endings)]
        return stem if (h >> 36) % 8 else f"{stem} {lexicon.REGIONS[(h >> 40) % len(lexicon.REGIONS)]}"

    def _culture(self, h: int) -> int:
        return (
            h % self._latin
            if (h >> 5) % 100 < 84
            else self._latin + (h >> 13) % (len(self._cultures) - self._latin)
        )

    def _person(self, h: int) -> Named:
        c = self._culture(h)
        given = self._given[c]
        family = self._family[c]
        culture = self._cultures[c]
        first = given[(h >> 20) % len(given)]
        last = family[(h >> 32) % len(family)]
        style = (h >> 44) % 20
        if not culture.joint:
            return Named("person", (f"{last[0]}{first}", f"{last[0]} {first}, {lexicon.REGIONS[h % 15]}"))
        if not culture.latin:
            return Named("person", (f"{first} {last}", f"{last}, {first[0]}."))
        middle = given[(h >> 50) % len(given)]
        initials = f"{first[0]}. {middle[0]}. {last}"
        titled = f"{('Sir', 'Dr.', 'Lord', 'Madame')[h % 4]} {first} {last}"
        particle = ("van", "de", "al", "von")[h % 4]
        forms = {
            0: (f"{first} {middle[0]}. {last}", f"{first} {last}", initials),
            1: (f"{first} {middle} {last}", initials),
            2: (f"{first} {last} Jr.", f"{first[0]}. {last} Jr."),
            3: (f"{first} {particle} {last}", f"{last}, {first}"),
            4: (f"{first} {last}-{middle}", f"{first} {last}"),
        }
        return Named("person", forms.get(style // 2, (f"{first} {last}", f"{first[0]}. {last}", titled)))

    def _place(self, h: int) -> tuple[str, ...]:
        c = self._culture(h)
        family = self._family[c]
        culture = self._cultures[c]
        stem = family[(h >> 20) % len(family)]
        town = stem + culture.endings[(h >> 34) % len(culture.endings)]
        if not culture.latin:
            return (town, f"City of {town}")
        style = (h >> 44) % 10
        if style < 3:
            name = lexicon.PLACES[(h >> 50) % len(lexicon.PLACES)] % stem
            return (name, f"The {name}")
        if style == 3:
            return (f"{town} {('am', 'upon', 'sur', 'del')[h % 4]} {self.word(h)}", town)
        return (town, f"City of {town}", f"{town} Municipality")

    def _work(self, h: int) -> Named:
        adjective = lexicon.ADJECTIVES[(h >> 8) % len(lexicon.ADJECTIVES)]
        noun = lexicon.NOUNS[(h >> 20) % len(lexicon.NOUNS)]
        style = h % 5
        other = lexicon.NOUNS[(h >> 32) % len(lexicon.NOUNS)]
        if style == 0:
            return Named(
                "work", (f"The {adjective} {noun} of {self.word(h)}", f"{adjective} {noun} of {self.word(h)}")
            )
        if style == 1:
            return Named(
                "work",
                (f"{self.word(h)}: The {adjective} {noun}", f"{self.word(h)}, or the {adjective} {noun}"),
            )
        if style == 2:
            return Named(
                "work", (f"The {noun} and the {adjective} {other}", f"{noun} and {adjective} {other}")
            )
        if style == 3:
            return Named(
                "work",
                (f"{adjective} {noun}, {adjective} {other}", f"The {adjective} {noun}, {adjective} {other}"),
            )
        return Named("work", (f"The {noun}s of {self.word(h)}", f"{noun}s of {self.word(h)}"))

    def _templated(self, kind: str, h: int) -> Named:
        templates = {
            "institution": lexicon.INSTITUTIONS,
            "event": lexicon.EVENTS,
            "company": lexicon.COMPANIES,
            "law": lexicon.LAWS,
            "thing": lexicon.THINGS,
        }[kind]
        main, other = templates[(h >> 48) % len(templates)]
        stem = self.word(h)
        forms = [main % stem, other % stem]
        if kind == "institution" and len(forms[0].split()) > 2:
            forms.append("".join(w[0] for w in forms[0].split() if w[0].isupper()) + f"-{stem[:3]}")
        if (h >> 56) % 2:
            forms[:2] = forms[1::-1]
        return Named(kind, tuple(forms))

    def siblings(self, h: int, size: int) -> list[Named]:
        """Members of one series: missions, wars, games, battles, parts, kings."""
        stem = self.word(h)
        style = (h >> 44) % 6
        start = (h >> 50) % 14
        if style == 0:
            return [
                Named("thing", (f"{stem} {start + i + 1}", f"{stem} {_ROMAN[start + i]}"))
                for i in range(size)
            ]
        if style == 1:
            return [
                Named("event", (f"{stem} War {_ROMAN[i]}", f"{_ORDINALS[i]} {stem} War")) for i in range(size)
            ]
        if style == 2:
            years = [1880 + 4 * (start + i) for i in range(size)]
            return [Named("event", (f"{year} {stem} Games", f"{stem} Games of {year}")) for year in years]
        if style == 3:
            return [
                Named("event", (f"{_ORDINALS[i]} Battle of {stem}", f"Battle of {stem} ({_ROMAN[i]})"))
                for i in range(size)
            ]
        if style == 4:
            title = self._work(h).forms[0]
            return [Named("work", (f"{title} {i + 1}", f"{title}, Part {_ROMAN[i]}")) for i in range(size)]
        given = self._given[h % self._latin]
        king = given[(h >> 8) % len(given)]
        return [
            Named("person", (f"{king} {_ROMAN[i]} of {stem}", f"{king} the {_ORDINALS[i]} of {stem}"))
            for i in range(size)
        ]

    def homonyms(self, h: int, size: int, bare: bool) -> list[Named]:
        """Things of one base name: qualified ("X (river)", "X, Maine"), or ``bare`` (all of them
        "X").
        """
        base = self.word(h)
        out = []
        if not bare and (h >> 44) % 4 == 0:
            at = (h >> 46) % len(lexicon.REGIONS)
            regions = [lexicon.REGIONS[(at + i) % len(lexicon.REGIONS)] for i in range(size)]
            return [Named("place", (f"{base}, {r}", f"{base} in {r}")) for r in regions]
        at = (h >> 46) % len(lexicon.QUALIFIERS)
        for i in range(size):
            qualifier, kind, other = lexicon.QUALIFIERS[(at + 5 * i) % len(lexicon.QUALIFIERS)]
            qualified = f"{base} ({qualifier})"
            out.append(Named(kind, (base, qualified) if bare else (qualified, other % base)))
        return out


def unaccented(name: str) -> str | None:
    """The name in plain ASCII letters, where that differs and is possible."""
    if name.isascii():
        return None
    text = "".join(
        c for c in unicodedata.normalize("NFD", name.translate(_LETTERS)) if unicodedata.category(c) != "Mn"
    )
    return text if text.isascii() else None


def respelled(name: str, h: int) -> str:
    """Another spelling with the same canonical key: hyphens, dots, case, composition; the name
    itself if it has none.
    """
    ways = []
    if " " in name:
        at = [m.start() for m in re.finditer(" ", name)][h % name.count(" ")]
        ways.append(f"{name[:at]}-{name[at + 1 :]}")
    if "-" in name:
        ways.append(name.replace("-", " "))
    if ", " in name and not name[-1].isdigit():
        head, _, tail = name.rpartition(", ")
        ways.append(f"{head} ({tail})")
    if ". " in name:
        ways.append(name.replace(". ", " "))
    if not name.isascii() and unicodedata.normalize("NFD", name) != name:
        ways.append(unicodedata.normalize("NFD", name))
    if name.isascii() and name.isalpha():
        ways.append(name.upper() if len(name) < 7 else name[0].lower() + name[1:])
    return ways[(h >> 16) % len(ways)] if ways else name
