"""Attribute slots: which attributes a sentence speaks of, told by cue words and a value of the
right kind beside them.

The slots are data, ``slots.yaml`` or a user's file like it (``pairs.slots``). A sentence's words
are held against the first words of all cues at once; the rest of a cue, and values, are looked for
only where that finds one.
"""

import re
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Annotated, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from llmpedia.errors import ConfigError
from llmpedia.text.scripts import has_unspaced

SHIPPED = Path(__file__).with_name("slots.yaml")
# kinds of values: none is looked for; one that is made of names
ANY = "any"
NAMES = "name"

_TOKEN = re.compile(r"\w+|[^\w\s]")
_NAME = re.compile(r"[a-z][a-z0-9_]*")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_Text = Annotated[str, Field(min_length=1)]


class _Data(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Slot(_Data):
    """One attribute; ``slots.yaml`` tells the rest."""

    words: _Text
    value: _Text
    cues: list[_Text] = Field(min_length=1)
    patterns: list[_Text] = Field(default_factory=list)

    @model_validator(mode="after")
    def _usable(self) -> Self:
        blank = [cue for cue in self.cues if not cue.strip()]
        if blank:
            raise ValueError(f"cues: {blank[0]!r} holds no character; take it out")
        _compiled("patterns", self.patterns)
        return self


class _File(_Data):
    """A whole file, checked."""

    pronouns: list[_Text] = Field(default_factory=list)
    values: dict[str, _Text]
    slots: dict[str, Slot] = Field(min_length=1)

    @model_validator(mode="after")
    def _fitting(self) -> Self:
        for kind, pattern in self.values.items():
            _compiled(f"values.{kind}", [pattern])
        for name, slot in self.slots.items():
            if not _NAME.fullmatch(name):
                raise ValueError(
                    f"slots.{name}: a name holds small letters, digits and _ only, a letter first; rename it"
                )
            if slot.value != ANY and slot.value not in self.values:
                known = ", ".join([ANY, *self.values])
                raise ValueError(
                    f"slots.{name}.value = {slot.value!r}: is no kind of value; use one of {known}"
                )
        return self


def _compiled(where: str, patterns: list[str]) -> list[re.Pattern[str]]:
    try:
        return [re.compile(pattern) for pattern in patterns]
    except re.error as e:
        raise ValueError(f"{where}: {e.pattern!r}: is no regular expression ({e}); correct it") from e


class _Cues:
    """Words that stand for something, found whole and in any case. What a cue stands for are the
    names it was given under.
    """

    def __init__(self, by_name: dict[str, list[str]]) -> None:
        names: dict[str, set[str]] = defaultdict(set)
        for name, cues in by_name.items():
            for cue in cues:
                names[" ".join(cue.lower().split())].add(name)
        # A cue of a script without spaces is found inside a run of letters.
        self._inside = {cue: frozenset(slots) for cue, slots in names.items() if has_unspaced(cue)}
        apart = [
            (_TOKEN.findall(cue), frozenset(slots)) for cue, slots in names.items() if cue not in self._inside
        ]
        self._words = {tokens[0]: slots for tokens, slots in apart if len(tokens) == 1}
        self._phrases: dict[str, list[tuple[str, frozenset[str]]]] = defaultdict(list)
        for tokens, slots in apart:
            if len(tokens) > 1:
                self._phrases[tokens[0]].append((_row(tokens), slots))
        self._firsts = frozenset(self._words) | frozenset(self._phrases)

    def names(self, sentence: str) -> set[str]:
        """What a sentence has cues of."""
        plain = sentence.lower()
        tokens = _TOKEN.findall(plain)
        firsts = self._firsts.intersection(tokens)
        slots: set[str] = set()
        for first in firsts & self._words.keys():
            slots |= self._words[first]
        if not firsts.isdisjoint(self._phrases):
            row = _row(tokens)
            for first in firsts & self._phrases.keys():
                slots.update(
                    name for phrase, names in self._phrases[first] if phrase in row for name in names
                )
        slots.update(name for cue, names in self._inside.items() if cue in plain for name in names)
        return slots


def _row(tokens: list[str]) -> str:
    return f" {' '.join(tokens)} "


class Slots:
    """The slots of a file, ready to be used. ``names``: all of them, in the file's order."""

    def __init__(self, file: _File) -> None:
        self.names = list(file.slots)
        self._slots = file.slots
        self._values = {kind: re.compile(pattern) for kind, pattern in file.values.items()}
        self._patterns = [
            (name, pattern) for name, slot in file.slots.items() for pattern in _compiled(name, slot.patterns)
        ]
        self._cues = _Cues({name: slot.cues for name, slot in file.slots.items()})
        self._pronouns = _Cues({"": file.pronouns})

    def of(self, sentence: str) -> list[str]:
        """The slots that a sentence has, in the file's order."""
        spoken = self._cues.names(sentence)
        spoken.update(name for name, pattern in self._patterns if pattern.search(sentence))
        if not spoken:
            return []
        kinds = {self._slots[name].value for name in spoken}
        held = {kind for kind in kinds if kind == ANY or self._values[kind].search(sentence)}
        return [name for name in self.names if name in spoken and self._slots[name].value in held]

    def words(self, name: str) -> str:
        """A slot in words; a name that is no slot's, as the attribute of an open pair, in its own."""
        return self._slots[name].words if name in self._slots else name.replace("_", " ")

    def values_in(self, name: str, sentence: str) -> frozenset[str]:
        """The values in a sentence that could be a slot's: its dates, numbers or names; empty for a
        slot of any value.
        """
        kind = self._slots[name].value
        if kind == ANY:
            return frozenset()
        return frozenset(
            _THOUSANDS.sub("", m.group()).casefold() for m in self._values[kind].finditer(sentence)
        )

    def takes_names(self, name: str) -> bool:
        """Whether a slot's value is a name, as its subject is."""
        return self._slots[name].value == NAMES

    def refers(self, sentence: str) -> bool:
        """Whether a sentence holds a pronoun, and so may speak of someone named before."""
        return bool(self._pronouns.names(sentence))


@cache
def load_slots(path: str | None) -> Slots:
    """The slots of a user's file, or the shipped ones.

    Raises:
        ConfigError: the file cannot be read or is at fault; one line that names the slot and the
        rule.
    """
    file = Path(path) if path else SHIPPED
    where = f"pairs.slots = {str(file)!r}"
    try:
        data = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as e:
        raise ConfigError(f"{where}: cannot be read ({type(e).__name__}); every node needs it") from e
    except yaml.YAMLError as e:
        raise ConfigError(f"{where}: not valid YAML ({' '.join(str(e).split())}); correct it") from e
    try:
        return Slots(_File.model_validate(data))
    except ValidationError as e:
        first = e.errors(include_url=False)[0]
        at = ".".join(map(str, first["loc"]))
        fault = first["msg"].removeprefix("Value error, ")
        message = (
            f"{at}.{fault}" if at and first["type"] == "value_error" else f"{at}: {fault}" if at else fault
        )
        raise ConfigError(f"{where}: {message}; llmpedia/probe/candidates/slots.yaml tells how") from e
