"""The text of a page, or what keeps it from being evidence (paper, appendix F).

"Pages shorter than 200 characters are flagged as unusable. CAPTCHA challenges, paywalls, and
JavaScript-only responses are excluded." A kind is told by what the page is made of (scripts,
frames, forms, class names, its ``noscript``); words count only beside that, so that an article
*about* CAPTCHAs is an article.
"""

import re
from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal[
    "ok",
    "captcha",
    "paywall",
    "js_only",
    "meta_refresh",
    "too_short",
    "too_deep",
    "too_slow",
    "not_text",
    "broken",
]

SHORTEST = 200
"""Characters that a page must have (paper, appendix F)."""
# Above this a text is an article, whatever widgets stand around it.
_LONG = 1500
# A challenge or a stub says no more than this.
_STUB = 600
DEEPEST = 500
"""Levels of a page. Real ones stay under 100; parsers recurse, and 20,000 levels take them seconds
or their stack.
"""
_EVIDENCE_WANTED = 2

_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]{0,20})")
# Hold no elements of the page: code, and drawings whose tags close themselves.
_OPAQUE = frozenset({"script", "style", "svg", "math", "textarea", "template", "title"})
# Without an end tag, or with one that may be left out: they do not nest.
_FLAT = frozenset(
    "area base br col embed hr img input link meta param source track wbr p li dt dd tr td th "
    "thead tbody tfoot option "
    "optgroup colgroup caption rp rt html head body".split()
)
_CHALLENGE = re.compile(
    r"challenge-platform/h/|cf-chl-|challenge-running|challenge-form|px-captcha|captcha-delivery\.com|_Incapsula_Resource"
    r"|/_sec/verify|/\.well-known/ddos-guard|awswaf\.com",
    re.I,
)
_WIDGET = re.compile(r"\b(g-recaptcha|h-captcha|cf-turnstile)\b|hcaptcha\.com/1/api|recaptcha/api", re.I)
_CHALLENGE_WORDS = re.compile(
    r"(verify|confirm|prove)\s+(that\s+)?you\s*(are|'re|’re)\s+(not\s+a\s+robot|(a\s+)?human)|unusual\s+traffic|checking\s+(if|your)"
    r"|just\s+a\s+moment|access\s+denied|are\s+you\s+a\s+robot|security\s+check|attention\s+required",
    re.I,
)
_PAYWALL = re.compile(r"pay-?wall|reg-?wall|subscriber-only|piano-offer|tp-modal", re.I)
_PAYWALL_FLAG = re.compile(r"\"isAccessibleForFree\"\s*:\s*\"?false", re.I)
_PAYWALL_WORDS = [
    re.compile(pattern, re.I)
    for pattern in (
        r"subscribe\s+(now\s+)?to\s+(continue|read|keep\s+reading)|to\s+continue\s+reading|(continue|keep)\s+reading\s+with",
        (
            r"(for|to)\s+subscribers(\s+only)?\b|subscriber[- "
            r"]only|unlock\s+this\s+(article|story)|register\s+to\s+continue"
        ),
        r"already\s+(a\s+subscriber|subscribed|have\s+an\s+account|a\s+member)",
        r"you(’ve|'ve|\s+have)\s+(reached|used)\s+your\s+(free|monthly|limit)",
    )
]
_JS_WORDS = re.compile(
    r"(enable|requires?|turn\s+on|needs?)\s+(to\s+enable\s+)?javascript|javascript\s+is\s+(disabled|required)",
    re.I,
)


@dataclass(frozen=True)
class Page:
    """What a page came to. ``text``: also of a page that cannot be used, as far as there is any."""

    kind: Kind
    text: str = ""
    title: str = ""


def read_page(body: bytes, content_type: str, charset: str | None = None) -> Page:
    """The main text of a page. ``charset``: what the HTTP header says; believed if the bytes bear
    it out.

    Can take seconds and much memory for a hostile page: see
    :class:`~llmpedia.web.extractor.Extractor`.
    """
    if not body.strip():
        return Page("too_short")
    source = decode(body, charset).replace("\x00", "")
    if content_type == "text/plain":
        return Page("ok" if len(source.strip()) >= SHORTEST else "too_short", source.strip())
    if depth(source) > DEEPEST:
        return Page("too_deep")
    return _read_html(source)


def decode(body: bytes, charset: str | None) -> str:
    """Text of the bytes: by byte order mark, header, ``meta`` element and the bytes themselves, in
    this order.
    """
    from resiliparse.parse.encoding import bytes_to_str, detect_encoding

    for mark, name in ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16")):
        if body.startswith(mark):
            return body.decode(name, "replace")
    for guess in (charset, detect_encoding(body, from_html_meta=True), detect_encoding(body)):
        try:
            return body.decode(guess or "utf-8")
        except (LookupError, UnicodeError):
            continue
    return bytes_to_str(body, "utf-8", errors="replace", fallback_encodings=("utf-8", "windows-1252"))


def depth(source: str) -> int:
    """How deeply elements nest, roughly; one pass over the text, since it guards the parser."""
    now = deepest = 0
    inside: str | None = None
    for match in _TAG.finditer(source):
        closing = match.group(1)
        name = match.group(2).lower()
        if inside is not None:
            inside = None if closing and name == inside else inside
        elif name in _OPAQUE:
            inside = None if closing else name
        elif name not in _FLAT:
            now = max(0, now - 1) if closing else now + 1
            deepest = max(deepest, now)
    return deepest


def _read_html(source: str) -> Page:
    import trafilatura

    whole = source if "<body" in source.lower() else f"<html><body>{source}</body></html>"
    tree: Any = trafilatura.load_html(whole)
    if tree is None:
        return Page("not_text")
    signs = _signs(tree, source)
    extracted = trafilatura.extract(tree, fast=True, include_comments=False, include_tables=True)
    text = (extracted or "").strip()
    title = " ".join((tree.findtext(".//title") or "").split())[:300]
    return Page(_kind(text, title, signs), text, title)


def _substance(text: str, links: frozenset[str]) -> int:
    """Characters of a text without the lines that are nothing but a link: of a page without an
    article, menus are left.
    """
    return sum(len(line) + 1 for line in text.splitlines() if _plain(line) not in links) - 1


def _plain(text: str) -> str:
    return " ".join(text.strip(" \t\n-*•|").split())


@dataclass(frozen=True)
class _Signs:
    """What a page is made of. ``shown``: characters a reader sees without scripts."""

    attributes: str
    links: frozenset[str]
    noscript: str
    shown: int
    scripts: int
    refresh: bool
    paywall_flag: bool


def _signs(tree: Any, source: str) -> _Signs:
    attributes = tree.xpath(
        "//@class | //@id | //script/@src | //iframe/@src | //form/@action | //link/@href"
    )
    hidden = sum(_ink(e.text_content()) for e in tree.iter("script", "style", "noscript", "title"))
    return _Signs(
        attributes="\n".join(attributes),
        links=frozenset(_plain(a.text_content()) for a in tree.iter("a")),
        noscript=" ".join(e.text_content() for e in tree.iter("noscript")),
        shown=max(0, _ink(tree.text_content()) - hidden),
        scripts=sum(1 for _ in tree.iter("script")),
        refresh=any((e.get("http-equiv") or "").lower() == "refresh" for e in tree.iter("meta")),
        paywall_flag=_PAYWALL_FLAG.search(source) is not None,
    )


def _ink(text: str) -> int:
    return len("".join(text.split()))


def _kind(text: str, title: str, signs: _Signs) -> Kind:
    if _is_captcha(text, title, signs):
        return "captcha"
    if len(text) < _LONG and _paywall_evidence(text, signs) >= _EVIDENCE_WANTED:
        return "paywall"
    short = _substance(text, signs.links) < SHORTEST
    if short and signs.refresh:
        return "meta_refresh"
    if _is_js_only(text, signs):
        return "js_only"
    return "too_short" if short else "ok"


def _is_captcha(text: str, title: str, signs: _Signs) -> bool:
    """A challenge's own machinery around little text, or a widget on a stub that speaks of robots."""
    if len(text) >= _LONG:
        return False
    if _CHALLENGE.search(signs.attributes):
        return True
    words = _CHALLENGE_WORDS.search(f"{title}\n{text}") is not None
    return len(text) < _STUB and words and _WIDGET.search(signs.attributes) is not None


def _paywall_evidence(text: str, signs: _Signs) -> int:
    """How many independent signs there are: the publisher's flag, its markup, and phrases at the
    end of the text.
    """
    end = text[-400:]
    phrases = sum(1 for pattern in _PAYWALL_WORDS if pattern.search(end))
    return signs.paywall_flag + (_PAYWALL.search(signs.attributes) is not None) + min(phrases, 2)


def _is_js_only(text: str, signs: _Signs) -> bool:
    if len(text) >= _STUB or not signs.scripts:
        return False
    asked = _JS_WORDS.search(signs.noscript) or _JS_WORDS.search(text)
    return signs.shown < 50 or (asked is not None and signs.shown < 400)
