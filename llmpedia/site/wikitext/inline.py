"""Running text: Wikitext of one paragraph, with tokens, as runs of plain text.

What is no markup stays as text: a tag that nothing closes, a tag that is not one of style, a lone
``**``. Markdown is read where Wikitext would say nothing with it.
"""

import html
import re
from collections import defaultdict
from urllib.parse import urlsplit

from llmpedia.audit.wikipedia.templates import template_text
from llmpedia.site.wikitext.source import MAX_NESTING, TOKEN, WikitextSource, split_template
from llmpedia.site.wikitext.tree import (
    BOLD,
    BREAK,
    CODE,
    FILE,
    ITALIC,
    SMALL,
    STRIKE,
    SUB,
    SUP,
    TEMPLATE,
    UNDERLINE,
    TextRun,
)

_STYLES = {
    **dict.fromkeys(("b", "strong"), BOLD),
    **dict.fromkeys(("i", "em"), ITALIC),
    **dict.fromkeys(("u", "ins"), UNDERLINE),
    **dict.fromkeys(("s", "del", "strike"), STRIKE),
    "sub": SUB,
    "sup": SUP,
    "small": SMALL,
}
_URL = r"https?://[^\s<>\[\]\"{}|\x02\x03]+"
_PIECE = re.compile(
    r"\x02(?P<letter>[A-Z])(?P<number>\d+)\x03|(?P<quotes>'{2,})|<(?P<slash>/?)(?P<tag>[a-zA-Z][a-zA-Z0-9]*)(?:[\s/][^<>]{0,500})?>"
    rf"|\[(?P<outside>{_URL}+)(?P<words>[^\[\]\n]{{0,1000}})\]"
    rf"|!?\[(?P<shown>[^\[\]\x02\x03\n]{{1,300}})\]\((?P<target>{_URL}?)(?:\s+\"[^\"\n]{{0,300}}\")?\)"
    rf"|(?P<bare>{_URL})|(?P<stars>\*\*)|`(?P<code>[^`\n\x02\x03]{{1,300}})`"
    r"|(?<![\w*])\*(?=[^\s*])(?P<slanted>[^*\n]{1,300})(?<=[^\s*])\*(?![\w*])",
    re.I,
)
# Bidirectional overrides and isolates, invisible joins, the controls that no font shows, halves of
# characters.
_INVISIBLE = re.compile(
    "[\u202a-\u202e\u2066-\u2069\u206a-\u206f\ufff9-\ufffb\ufeff\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f]"
)
_HALF = re.compile("[\ud800-\udfff]")
_SPACES = re.compile(r"\s+")
_FILE = re.compile(r"\s*:?\s*(?:file|image|media)\s*:\s*", re.I)
_FILE_OPTION = re.compile(
    r"\s*(?:thumb(?:nail)?|frame(?:d|less)?|border|left|right|cent(?:er|re)|none|upright.*|\d*x?\d+\s*px"
    r"|baseline|middle|top|bottom|(?:alt|link|page|class|lang)\s*=.*)\s*",
    re.I | re.S,
)
_CATEGORY = re.compile(r"\s*category\s*:\s*", re.I)
_SCORE = re.compile(r"\s*\(\s*(?:0?[.,]\d{1,3}|1[.,]0{1,3}|(?:100|\d{1,2})\s*%)\s*\)\s*$")
# Templates that say how their last parameter looks or in which language it is, and those that stand
# for a sign.
_PLAIN = re.compile(
    r"(?:nowrap|nobr|small|smaller|big|larger|nobold|noitalic|em|strong|abbr|sic|nihongo|formatnum:?"
    r"|visible anchor|anchor|ill"
    r"|link|center|left|right|mvar|math|val|var|code|mono|kbd|sub|sup|not a typo"
    r"|proper name|as of|sfrac|frac|keypress|ipa"
    r"|respell)",
    re.I,
)
_LANGUAGE = re.compile(r"(?:lang|langx|transl|transliteration|wikt-lang)", re.I)
_LANGUAGE_CODE = re.compile(r"[a-zA-Z]{2,3}(?:-[a-zA-Z0-9]+)*")
_READ = re.compile(r"(?:(?:birth|death|start|end)[ _-].*|dob|dod|bda|dda|convert|cvt)", re.I)
_SIGNS = {
    "!": "|",
    "=": "=",
    "snd": " – ",
    "spnd": " – ",
    "ndash": "–",
    "mdash": "—",
    "nbsp": " ",
    "'": "'",
    "·": " · ",
    "•": " • ",
}
_LONGEST_URL = 2000
# Links in templates in links: all that MAX_NESTING of each makes, within Python's own limit.
_DEEPEST = 4 * MAX_NESTING


def shown_text(text: str) -> str:
    """A text as it may be shown: entities read, white space as single spaces, nothing that hides or
    turns around what it says.
    """
    if "&" in text:
        text = html.unescape(text)
    return _SPACES.sub(" ", clean_text(text))


def clean_text(text: str) -> str:
    """A text without characters that are invisible or turn around what stands beside them."""
    return text if text.isascii() and text.isprintable() else _HALF.sub("\ufffd", _INVISIBLE.sub("", text))


def safe_url(url: str) -> str | None:
    """The address of another site if it is one that a reader can tell: http or https, a host, no
    name before the host.
    """
    url = clean_text(html.unescape(url))
    try:
        parts = urlsplit(url)
        named = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a bracketed host or a port that is none
        return None
    usable = named and "@" not in parts.netloc and "\\" not in url and len(url) <= _LONGEST_URL
    return url if usable and url.isprintable() and " " not in url else None


class Inline:
    """Reads the running text of one article, or of one of its notes: a category in a note is text."""

    def __init__(self, source: WikitextSource, note: bool = False) -> None:
        self._source = source
        self._note = note
        self._depth = 0

    def runs(
        self, text: str, style: int = 0, url: str | None = None, link: int | None = None
    ) -> list[TextRun]:
        """The runs of a paragraph, with single spaces throughout and none at the ends."""
        return _tidy(self._read(text, style, url, link))

    def literal(self, text: str) -> list[TextRun]:
        """The runs of a text whose lines and marks are kept as they are."""
        out = []
        at = 0
        for token in TOKEN.finditer(text):
            out += [
                TextRun(clean_text(text[at : token.start()]), CODE),
                *self._token(token[1], int(token[2]), CODE, None, None),
            ]
            at = token.end()
        out.append(TextRun(clean_text(text[at:]).rstrip("\n"), CODE))
        return [run for run in out if run.text or run.note is not None]

    def categories(self) -> list[list[TextRun]]:
        """The names of the categories, in order."""
        category_texts = (text for text in self._source.others if _CATEGORY.match(text))
        names = (_CATEGORY.sub("", text, count=1).partition("|")[0] for text in category_texts)
        return [runs for name in names if (runs := self.runs(name))]

    def _read(self, text: str, style: int, url: str | None, link: int | None) -> list[TextRun]:
        out: list[TextRun] = []
        tags = _matched_tags(text)
        stars = _Stars(text)
        at = base = 0
        for piece in _PIECE.finditer(text):
            start = piece.start()
            kind = piece.lastgroup
            if start > at:
                out.append(TextRun(shown_text(text[at:start]), style | base, link, url))
            at = piece.end()
            if piece["quotes"]:
                toggled, rest = _quotes(len(piece["quotes"]))
                base ^= toggled
                out.append(TextRun("'" * rest, style | base, link, url))
            elif piece["stars"]:
                toggles = stars.toggles(start, bool(base & BOLD))
                base ^= BOLD * toggles
                out.append(TextRun("**" * (not toggles), style | base, link, url))
            elif piece["tag"]:
                turned = self._tag(piece, start in tags)
                base = base if turned is None else (base & ~turned if piece["slash"] else base | turned)
                if turned is None:
                    out.append(
                        TextRun(
                            BREAK if piece["tag"].lower() == "br" else shown_text(piece.group()),
                            style | base,
                            link,
                            url,
                        )
                    )
            elif piece["letter"]:
                out += self._token(piece["letter"], int(piece["number"]), style | base, url, link)
            elif kind is not None:
                out += self._outside(piece, style | base, url, link)
        out.append(TextRun(shown_text(text[at:]), style | base, link, url))
        return out

    @staticmethod
    def _tag(piece: re.Match[str], matched: bool) -> int | None:
        """The style that a tag turns on or off; None for one that is text."""
        return _STYLES.get(piece["tag"].lower()) if matched else None

    def _outside(self, piece: re.Match[str], style: int, url: str | None, link: int | None) -> list[TextRun]:
        """Links to other sites, and the Markdown that holds text of its own."""
        if piece["slanted"]:
            return self._read(piece["slanted"], style | ITALIC, url, link)
        if piece["code"]:
            return [TextRun(shown_text(piece["code"]), style | CODE, link, url)]
        if piece["bare"]:
            address = piece["bare"].rstrip(".,;:!?'*")
            if address.endswith(")") and address.count("(") < address.count(")"):
                address = address.rstrip(")")
            rest = piece["bare"][len(address) :]
            return [
                TextRun(shown_text(address), style, link, url or safe_url(address)),
                TextRun(shown_text(rest), style, link, url),
            ]
        words, address = (
            (piece["words"], piece["outside"]) if piece["outside"] else (piece["shown"], piece["target"])
        )
        safe_address = safe_url(address)
        if safe_address is None:
            return [TextRun(shown_text(piece.group()), style, link, url)]
        return (
            self._read(words, style, url or safe_address, link)
            if words.strip()
            else [TextRun(shown_text(address), style, link, url or safe_address)]
        )

    def _token(
        self, letter: str, number: int, style: int, url: str | None, link: int | None
    ) -> list[TextRun]:
        if letter == "N":
            return [TextRun("", note=number)]
        if letter in "ZP":
            return self._literal_run(number, style, url, link)
        self._depth += 1
        try:
            return self._nested(letter, number, style, url, link)
        finally:
            self._depth -= 1

    def _nested(
        self, letter: str, number: int, style: int, url: str | None, link: int | None
    ) -> list[TextRun]:
        """A part that may hold others; too deep inside, its own text alone."""
        nested_link = self._source.links[number] if letter == "L" else None
        if nested_link is not None and not nested_link.markup:
            return [TextRun(clean_text(nested_link.label), style, number)]
        if nested_link is not None:
            url = None
            link = number
            text = nested_link.label
        else:
            text = self._source.others[number] if letter == "O" else self._source.parts[number].text
        if self._depth > _DEEPEST:
            return [TextRun(shown_text(TOKEN.sub(" ", text)), style, link, url)]
        if nested_link is not None:
            return self._read(text, style, url, link)
        return (self._other if letter == "O" else self._template)(text, style, url, link)

    def _literal_run(self, number: int, style: int, url: str | None, link: int | None) -> list[TextRun]:
        tag, text = self._source.literals[number]
        if tag == "nowiki":
            return [TextRun(shown_text(text), style, link, url)]
        return self._literal_parts(text, style | CODE, url, link)

    def _literal_parts(self, text: str, style: int, url: str | None, link: int | None) -> list[TextRun]:
        out = []
        at = 0
        for token in TOKEN.finditer(text):
            out.append(TextRun(shown_text(text[at : token.start()]), style, link, url))
            out += self._token(token[1], int(token[2]), style, url, link)
            at = token.end()
        return [*out, TextRun(shown_text(text[at:]), style, link, url)]

    def _other(self, text: str, style: int, url: str | None, link: int | None) -> list[TextRun]:
        """A link that names no article: a file as its caption, a category nowhere here, another
        wiki as its text.
        """
        if _CATEGORY.match(text):
            return self._read(text.partition("|")[0], style, url, link) if self._note else []
        first, *rest = text.split("|")
        if _FILE.match(first):
            caption = " ".join(part for part in rest if not _FILE_OPTION.fullmatch(part))
            return [
                TextRun(" "),
                *self._read(caption if caption.strip() else first, style | FILE, url, link),
                TextRun(" "),
            ]
        return self._read(_SCORE.sub("", rest[-1] if rest and rest[-1].strip() else first), style, url, link)

    def _template(self, text: str, style: int, url: str | None, link: int | None) -> list[TextRun]:
        """What a template says, where its name tells; else its name and its parameters, small."""
        name, parameters = split_template(text)
        values = [value for _, value in parameters]
        if name in _SIGNS:
            return [TextRun(_SIGNS[name], style, link, url)]
        if _PLAIN.fullmatch(name) and values:
            return self._joined(values, " ", style, url, link)
        if _LANGUAGE.fullmatch(name.partition("-")[0]) and values:
            coded = len(values) > 1 and _LANGUAGE_CODE.fullmatch(values[0].strip())
            return self._joined(values[1:] if coded else values, " ", style, url, link)
        if _READ.fullmatch(name) and not any("\x02" in value for value in values):
            return self._read(template_text(name, parameters), style, url, link)
        out = self._read(name, style | TEMPLATE, url, link)
        for i, (key, value) in enumerate(parameters):
            out.append(TextRun(" · " if i else ": ", style | TEMPLATE, link, url))
            out += self._read(f"{key}: {value}" if key else value, style | TEMPLATE, url, link)
        return out

    def _joined(
        self, values: list[str], mark: str, style: int, url: str | None, link: int | None
    ) -> list[TextRun]:
        out: list[TextRun] = []
        for value in values:
            out += [
                *([TextRun(mark, style, link, url)] if out else []),
                *self._read(value.strip(), style, url, link),
            ]
        return out


def _quotes(n: int) -> tuple[int, int]:
    """(styles that ``n`` apostrophes turn, how many of them are text)."""
    if n in (2, 3, 5):
        return {2: ITALIC, 3: BOLD, 5: BOLD | ITALIC}[n], 0
    return (BOLD, 1) if n == 4 else (BOLD | ITALIC, n - 5)


class _Stars:
    """Which ``**`` of a paragraph are Markdown's bold: one before a word, closed by one behind a
    word.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._last = (
            max((m.start() for m in re.finditer(r"(?<=[^\s*])\*\*", text)), default=-1)
            if "**" in text
            else -1
        )

    def toggles(self, at: int, bold: bool) -> bool:
        """Whether the one at a place begins or ends bold text."""
        if bold:
            return at > 0 and not self._text[at - 1].isspace()
        following = self._text[at + 2 : at + 3]
        return at + 2 < self._last and bool(following) and not following.isspace()


def _matched_tags(text: str) -> set[int]:
    """Where tags of style stand that are opened and closed in this text."""
    if "</" not in text:
        return set()
    waiting: defaultdict[str, list[int]] = defaultdict(list)
    matched: set[int] = set()
    for piece in _PIECE.finditer(text):
        name = (piece["tag"] or "").lower()
        if name not in _STYLES:
            continue
        if not piece["slash"]:
            waiting[name].append(piece.start())
        elif waiting[name]:
            matched |= {waiting[name].pop(), piece.start()}
    return matched


def _tidy(runs: list[TextRun]) -> list[TextRun]:
    """Runs that look the same as one; single spaces across them, none at the ends or behind a line
    break.
    """
    out: list[TextRun] = []
    spaced = True
    for run in runs:
        if run.note is not None or run.text == BREAK:
            spaced = spaced or run.text == BREAK
            out.append(run)
            continue
        text = run.text.lstrip(" ") if spaced else run.text
        if not text:
            continue
        spaced = text.endswith(" ")
        last = out[-1] if out else None
        if last and last.note is None and last.text != BREAK and _look(last) == _look(run):
            last.text += text
        else:
            out.append(TextRun(text, run.style, run.link, run.url))
    for run in reversed(out):
        if run.note is None:
            run.text = run.text.rstrip(" \n")
            if run.text:
                break
    return [run for run in out if run.text or run.note is not None]


def _look(run: TextRun) -> tuple[int, int | None, str | None]:
    return run.style, run.link, run.url
