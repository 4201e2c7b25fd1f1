"""Where sentences of plain text end: as ``llmpedia.wikitext`` has it, but not behind "Dr.", "St."
or "vol.".
"""

import re

from llmpedia.wikitext import SENTENCE_END

# A quotation or a bracket may close behind the mark; two capitals before it are no initials (NASA,
# IV).
_END = re.compile(
    SENTENCE_END.pattern
    + r"|(?:(?<=[.!?][\"”’)\]])|(?<=\s[.!?])|(?<=[^\W\d_a-z]{2}[.!?]))\s+(?=[^\W\d_a-z]|[\"“‘(])"
)
_SHORT = re.compile(
    r"(?:^|[\s(\[\"“‘-])(?:Dr|Mr|Mrs|Ms|Prof|Rev|Hon|Gen|Col|Maj|Capt|Lt|Cpl|Sgt|Adm|Gov|Sen|Rep|Pres|Supt|Messrs|Mme|Mlle|Fr"
    r"|St|Ste|Mt|Ft|No|Nos|vol|Vol|vols|pp?|ed|eds|trans|chap|fig|Fig|figs|cf|viz|vs|v|approx|ca?|b|d|fl|r|lit|esp|incl|resp|orig|dept"
    r"|Dept|Univ|Assn|Bros|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec|e\.g|i\.e|q\.v)\.$"
)
_LOOK_BACK = 12


def sentence_cuts(text: str, whole: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """(start, end) of each sentence, the white space between in none. ``whole``: (start, end) of
    parts that are not cut.
    """
    cuts = []
    at = 0
    inside = 0
    for end in _END.finditer(text):
        stop, following = end.span()
        while inside < len(whole) and whole[inside][1] <= stop:
            inside += 1
        if inside < len(whole) and whole[inside][0] < stop:
            continue
        if "\n" not in end.group() and _SHORT.search(text, max(0, stop - _LOOK_BACK), stop):
            continue
        cuts.append((at, stop))
        at = following
    cuts.append((at, len(text)))
    trimmed = (
        (a + len(part) - len(part.lstrip()), a + len(part.rstrip())) for a, b in cuts if (part := text[a:b])
    )
    return [(a, b) for a, b in trimmed if b > a]
