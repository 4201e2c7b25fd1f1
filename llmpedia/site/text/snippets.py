"""The part of a text that best shows why it was found, with marks around what was searched for."""

from collections.abc import Sequence

from llmpedia.site.text.normalize import pieces, spaced

BEGIN = "\x02"
END = "\x03"
_LENGTH = 240
_STEP = 160
_BEFORE = 80
Wanted = tuple[
    tuple[str, ...], bool
]  # words that follow each other; whether the last is only the beginning of one


def excerpt(text: str, phrases: Sequence[Wanted]) -> str:
    """Some 240 characters of a text, those that hold most of the phrases; its beginning where none
    does.
    """
    text = text.replace(BEGIN, " ").replace(END, " ")
    needles = [f" {' '.join(words)}{'' if is_open else ' '}" for words, is_open in phrases]
    best = 0
    most = 0
    for start in range(0, max(1, len(text) - _LENGTH + _STEP), _STEP):
        folded = f" {' '.join(spaced(text[start : start + _LENGTH]).split())} "
        count = sum(needle in folded for needle in needles)
        if count > most:
            best = start
            most = count
        if most == len(needles):
            break
    first = _marked(text[best : best + _LENGTH], needles).find(BEGIN)
    begin, end = _at_spaces(text, best + max(0, first - _BEFORE))
    shown = _marked(text[begin:end], needles)
    return f"{'… ' if begin else ''}{shown}{' …' if end < len(text) else ''}"


def _at_spaces(text: str, start: int) -> tuple[int, int]:
    """The window, without the words that its ends would cut."""
    end = min(len(text), start + _LENGTH)
    if start and (space := text.find(" ", start, start + 40)) >= 0:
        start = space + 1
    if end < len(text) and (space := text.rfind(" ", end - 40, end)) >= 0:
        end = space
    return start, end


def _marked(text: str, needles: Sequence[str]) -> str:
    """The text with marks around each place of a phrase."""
    folded = [" "]
    places = [0]
    for place, piece in enumerate(pieces(text)):
        for char in piece:
            if char != " " or folded[-1] != " ":
                folded.append(char)
                places.append(place)
    whole = f"{''.join(folded)} "
    marked = [False] * len(text)
    for needle in needles:
        at = whole.find(needle)
        while at >= 0:
            last = at + len(needle) - (2 if needle.endswith(" ") else 1)
            for place in range(places[at + 1], places[last] + 1):
                marked[place] = True
            at = whole.find(needle, at + 1)
    out = []
    inside = False
    for char, now in zip(text, marked, strict=True):
        if now != inside:
            out.append(BEGIN if now else END)
            inside = now
        out.append(char)
    return "".join(out) + (END if inside else "")
