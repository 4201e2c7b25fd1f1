"""Canonical keys (paper, section 3.3, stage 1) and loop forms.

The paper removes all punctuation; that makes C, C++ and C# one language and 3.5 the number 35. Here
``+``, ``#``, ``&`` and combining marks are kept, and digits that punctuation or space parts stay
parted. See docs/design/keys.md.
"""

import re
import unicodedata

_KEPT = frozenset("+#&")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
# Removed: separators, control and format characters, punctuation, modifier symbols. Kept: letters,
# marks, numbers, symbols.
_REMOVED = frozenset({"Zs", "Zl", "Zp", "Cc", "Cf", "Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po", "Sk"})
_SLASHES = frozenset("/\u2044\u2215")

_LOOP_HEADS = (
    "history life lives death birth legacy part parts list works work career biography timeline "
    "outline overview "
    "origin origins influence impact role importance significance background description contributions"
)


def canonical_key(name: str) -> str:
    """The key two surface forms of one entity share; never empty for a name with a visible
    character.

    "U.S." and "US" give ``us``; "Covid-19" and "Covid 19" ``covid19``; "C++" ``c++``; "!!!"
    ``!!!``.
    """
    text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    text = _THOUSANDS.sub("", text)
    out: list[str] = []
    gap = ""
    for char in text:
        if char in _KEPT or (unicodedata.category(char) not in _REMOVED and char not in _SLASHES):
            if gap and out and out[-1][-1].isdigit() and char.isdigit():
                out.append(gap)
            out.append(char)
            gap = ""
        elif gap != "/":
            gap = "/" if char in _SLASHES else "." if char == "." or gap == "." else "-"
    return "".join(out) or "".join(text.split())


_HEADS = frozenset(canonical_key(h) for h in [*_LOOP_HEADS.split(), "early life", "personal life"])


def is_self_or_loop(name: str, subject: str) -> bool:
    """True for the subject itself and for forms built on it (paper, appendix L): "History of S",
    "S's X", "S in popular culture".

    Only structural heads count ("History of", "Part of", "Life of", ...): "Bank of Japan" is no
    loop form of "Japan".
    """
    key = canonical_key(name)
    subject_key = canonical_key(subject)
    if key == subject_key:
        return True
    folded = " ".join(name.casefold().split())
    base = " ".join(subject.casefold().split())
    if re.match(re.escape(base) + r"(['\u2019]s?)\s", folded) or folded.startswith(
        f"{base} in popular culture"
    ):
        return True
    head, of, tail = name.casefold().removeprefix("the ").partition(" of ")
    return bool(of) and canonical_key(tail) == subject_key and canonical_key(head) in _HEADS
