"""Private information in a text: e-mail addresses, telephone numbers, postal addresses, numbers of
identity papers and accounts.

A model's article may repeat what its training data held. A release lists and masks these. Cautious:
an encyclopedia is full of numbers, so a number counts only where a checksum, a form or a word
beside it says what it is. Phones are read by ``phonenumbers``, checksums by ``python-stdnum``.

Measured on 26 articles of a small real model and 5,600 of the rehearsal: no hit in either.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

Kind = Literal["email", "phone", "address", "id_number"]

_EMAIL = re.compile(
    r"(?<![\w.+%-])[\w.+%-]{1,64}(?:@|\s?(?:\(at\)|\[at\])\s?)"
    r"(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.|\s?(?:\(dot\)|\[dot\])\s?)){1,5}[a-z]{2,24}(?![\w-])",
    re.I,
)
# Domains that stand for no one (RFC 2606), and names of files.
_NO_ONE = re.compile(
    r"(?:@|\.)(?:example(?:\.(?:com|org|net|edu))?|test|invalid|localhost)$|\.(?:png|jpe?g|gif|svg|py|js|html?)$",
    re.I,
)

_PHONE_WORD = re.compile(
    r"\b(?:phones?|tele?phone|tel|tél|telefon|teléfono|telefono|cell(?:phone)?|mobile|mob|fax|call|dial|whatsapp|hotline"
    r"|text(?:ed)?(?= at| on)|contact(?:ed)?(?= at| on)|reached(?= at| on)|number is)\b[^\d\n]{0,20}\Z",
    re.I,
)
_NO_PHONE_WORD = re.compile(
    r"\b(?:isbn(?:-1[03])?|issn|doi|oclc|pmid|pmc|arxiv|asin|lccn|ean|upc|version|rfc|iso"
    r"|patent(?: no\.?)?|serial(?: number)?"
    r"|part(?: number)?|model|us\$|\$|€|£|eur|usd|population|coordinates|lat|lon|catalog(?:ue)?(?: no\.?)?"
    r"|bib(?:code)?"
    r"|viaf|isni|orcid|gnd|page|pages|pp?)[\s.:#-]*\Z",
    re.I,
)
_NUMBER_LIKE = re.compile(
    r"(?<![\w.,/$€£#-])\+?\(?\d[\d ().\-/\u2010-\u2013\u00a0]{5,22}\d(?![\w/]|[.,]\d|[-\u2010-\u2013]\d)"
)
# 212-555-0142, (212) 555-0142, 212.555.0142: a form that nothing else has.
_AMERICAN = re.compile(r"(?:1[-. ])?(?:\([2-9]\d{2}\)\s?|[2-9]\d{2}[-. ])[2-9]\d{2}[-.]\d{4}")
_FICTION = re.compile(r"555[-.\s]?01\d\d$")

_STREET = (
    r"(?:street|avenue|ave\.?|road|rd\.?|boulevard|blvd\.?|lane|ln\.?|drive|dr\.?|court|ct\.?|place|pl\.?|square|terrace"
    r"|crescent|close|way|parkway|pkwy\.?|highway|hwy\.?|st\.?)"
)
_STATES = (
    "AL AK AZ AR CA CO CT DE FL GA HI ID IL IN IA KS KY LA ME MD MA MI MN MS MO MT NE NV NH NJ NM "
    "NY NC ND OH OK OR PA RI SC "
    "SD TN TX UT VT VA WA WV WI WY DC"
).replace(" ", "|")
_BRITISH = r"[A-Z]{1,2}\d[A-Z\d]? \d[A-Z]{2}"
_CANADIAN = r"[ABCEGHJ-NPRSTVXY]\d[A-Z] ?\d[A-Z]\d"
_LOCAL_PART = r"(?:[ \t]*,?[ \t]*(?:(?i:apt|apartment|unit|suite|ste|flat|floor|fl|#)\.?[ \t]*[\w-]{1,6}))?"
_ADDRESS = (
    # A house number, a street, then a town with a postal code.
    re.compile(
        rf"(?<![\w,.-])\d{{1,5}}[A-Za-z]?[ \t]+(?:(?:[NSEW]\.?|North|South|East|West)[ "
        rf"\t]+)?(?:[A-Z0-9][\w.'’-]*[ \t]+){{1,4}}"
        rf"(?i:{_STREET})(?!\w){_LOCAL_PART}[ \t]*[,\n][ \t]*(?:[A-Z][\w.'’-]*[ \t,]+){{1,5}}"
        rf"(?:(?:{_STATES})[ \t,]+\d{{5}}(?:-\d{{4}})?|{_BRITISH}|{_CANADIAN})(?!\w)"
    ),
    # Street, number, then a postal code and a town: Hauptstraße 12, 10115 Berlin.
    re.compile(
        r"(?<!\w)[A-ZÄÖÜ][\wäöüß.-]*(?:[ "
        r"\t]?(?:straße|strasse|str\.|weg|gasse|allee|platz|laan|straat|gatan|vej))[ \t]+"
        r"\d{1,4}[a-z]?[ \t]*[,\n][ \t]*(?:[A-Z]{1,2}-)?\d{4,5}[ \t]+[A-ZÄÖÜ][\wäöüß-]+"
    ),
    re.compile(
        r"(?<!\w)\d{1,4}(?:[ \t]?bis)?,?[ \t]+(?:rue|avenue|boulevard|place|quai|impasse)[ "
        r"\t]+[^\d\n,;.]{2,40},[ \t]*"
        r"\d{5}[ \t]+[A-ZÉÈ][\w'’-]+"
    ),
    # Said to be where someone lives.
    re.compile(
        rf"(?i:(?<!\w)(?:lives|living|resides|residing|home address(?: is)?|mailing address(?: "
        rf"is)?)[ \t:]+(?:at[ \t]+)?)"
        rf"(?P<own>\d{{1,5}}[A-Za-z]?[ \t]+(?:[A-Z0-9][\w.'’-]*[ \t]+){{1,4}}(?i:{_STREET})(?!\w))"
    ),
    re.compile(
        rf"(?<!\w)P\.?[ \t]?O\.?[ \t]+Box[ \t]+\d{{1,6}},[ \t]*(?:[A-Z][\w.'’-]*[ "
        rf"\t,]+){{1,4}}(?:{_STATES})[ \t,]+"
        rf"\d{{5}}(?:-\d{{4}})?(?!\w)"
    ),
)

_SSN = re.compile(r"(?<![\w.-])\d{3}([- ])\d{2}\1\d{4}(?![\w-]|\.\d)")
_SSN_WORD = re.compile(r"\b(?:ssn|social[ -]security(?:[ -](?:no\.?|number|#))?)\b[^\d\n]{0,15}\Z", re.I)
_CARD = re.compile(r"(?<![\w.,-])(?:\d[ -]?){12,18}\d(?![\w-]|[.,]\d)")
_CARD_WORD = re.compile(
    r"\b(?:card|visa|mastercard|amex|american express|credit|debit|payment)\b[^\d\n]{0,25}\Z", re.I
)
_IBAN = re.compile(r"(?<!\w)[A-Z]{2}\d{2}(?:[ ]?[A-Z0-9]{4}){2,7}(?:[ ]?[A-Z0-9]{1,3})?(?!\w)")
# A word that says what follows, then a token with digits in it. The second kind of word needs
# "number", "no." or a colon with it.
_NAMED_ID = re.compile(
    r"\b(?i:(?:passport|driver'?s? licen[cs]e|driving licen[cs]e|national id(?:entity)?(?: "
    r"card)?|identity card|id card"
    r"|national insurance|tax(?:payer)? id(?:entification)?|itin|nino|aadhaar|pan card|social "
    r"insurance|curp|codice fiscale"
    r"|steuer-?id|personnummer|bank account)"
    r"(?:[ \t]+(?:no\.?|number|num\.?|code))?[ \t]*(?:(?:is|was|:|#|=)[ \t]*){0,2}"
    r"|(?:tin|ein|sin|nhs|dni|cpf|medicare|account|routing)"
    r"(?:[ \t]+(?:no\.?|number|num\.?|code)[ \t]*(?:is|was|:|#)?|[ \t]*[:#])[ \t]*)"
    r"(?P<own>[A-Z]{0,4}[ -]?\d[A-Z0-9]*(?:[ /.-][A-Z0-9]{1,10}){0,6})(?!\w)"
)
_DATED = re.compile(r"\d{4}([ /.-]\d{2,4})+|\d{1,2}([ /.-])\d{1,2}\2\d{4}")
_CARD_STARTS = re.compile(r"4|5[1-5]|2[2-7]|3[47]|36|38|30[0-5]|6(?:011|4[4-9]|5)|35|62")
_NAMED_DIGITS = 6
_BEFORE = 40
# Not in square brackets: they would end the link or the JSON list that they stand in.
_MASKS = {"email": "(e-mail)", "phone": "(phone)", "address": "(address)", "id_number": "(id number)"}
_ESCAPE = re.compile(r'\\(?:u([0-9a-fA-F]{4})|["\\/bfnrt])')


@dataclass(frozen=True)
class PrivateHit:
    """``text`` is what stands from ``start`` up to ``end``."""

    kind: Kind
    start: int
    end: int
    text: str


def private_hits(text: str) -> list[PrivateHit]:
    """What of a text is private, in order, none inside another: the earlier kind in this module's
    list wins.
    """
    hits: list[PrivateHit] = []
    plain = _ESCAPE.sub(_unescaped, text) if "\\" in text else text
    for kind, spans in _KINDS:
        for start, end in spans(plain):
            if all(end <= hit.start or hit.end <= start for hit in hits):
                hits.append(PrivateHit(kind, start, end, text[start:end]))
    return sorted(hits, key=lambda hit: hit.start)


def masked(text: str) -> tuple[str, list[PrivateHit]]:
    """The text with each hit replaced by its kind in parentheses, and the hits."""
    hits = private_hits(text)
    out = []
    at = 0
    for hit in hits:
        out += [text[at : hit.start], _MASKS[hit.kind]]
        at = hit.end
    return "".join([*out, text[at:]]), hits


def _unescaped(escape: re.Match[str]) -> str:
    """What an escape of JSON stands for, as long as the escape itself: letters of it would hide
    what begins behind them.
    """
    char = chr(int(escape[1], 16)) if escape[1] else "\n" if escape[0] == "\\n" else " "
    return char + "x" * 5 if char.isalpha() else char.rjust(len(escape[0]))


def _emails(text: str) -> Iterator[tuple[int, int]]:
    if "@" not in text and "at)" not in text and "at]" not in text.lower():
        return
    for match in _EMAIL.finditer(text):
        if not _NO_ONE.search(match.group()):
            yield match.span()


def _id_numbers(text: str) -> Iterator[tuple[int, int]]:
    from stdnum import iban, luhn
    from stdnum.us import ssn

    for match in _IBAN.finditer(text):
        if iban.is_valid(match.group(), check_country=False):
            yield match.span()
    for match in _CARD.finditer(text):
        digits = re.sub(r"\D", "", match.group())
        grouped = len(set(re.findall(r"[ -]", match.group()))) == 1
        introduced = _CARD_WORD.search(text, max(0, match.start() - _BEFORE), match.start())
        if (
            (grouped or introduced)
            and _CARD_STARTS.match(digits)
            and luhn.is_valid(digits)
            and not _named_otherwise(text, match.start())
        ):
            yield match.span()
    for match in _SSN.finditer(text):
        introduced = _SSN_WORD.search(text, max(0, match.start() - _BEFORE), match.start())
        if introduced or (
            match.group(1) == "-"
            and ssn.is_valid(match.group())
            and not _named_otherwise(text, match.start())
        ):
            yield match.span()
    for match in _NAMED_ID.finditer(text):
        digits = sum(c.isdigit() for c in match["own"])
        if digits >= _NAMED_DIGITS and (digits > 8 or not _DATED.fullmatch(match["own"])):
            yield match.span("own")


def _phones(text: str) -> Iterator[tuple[int, int]]:
    """International numbers that exist, numbers in the American form, and others behind a word that
    says so.
    """
    for match in _NUMBER_LIKE.finditer(text):
        start, end = match.span()
        raw = match.group()
        if raw.count("(") != raw.count(")") or _named_otherwise(text, start):
            continue
        introduced = _PHONE_WORD.search(text, max(0, start - _BEFORE), start) is not None
        digits = sum(c.isdigit() for c in raw)
        if raw.startswith("+"):
            held = _exists(raw, None)
        elif _AMERICAN.fullmatch(raw):
            held = introduced or _exists(raw, "US") or _FICTION.search(raw) is not None
        else:
            held = introduced and 7 <= digits <= 15
        if held:
            yield start, end


def _exists(raw: str, region: str | None) -> bool:
    import phonenumbers

    try:
        return bool(phonenumbers.is_valid_number(phonenumbers.parse(raw, region)))
    except phonenumbers.NumberParseException:  # no number of any country
        return False


def _named_otherwise(text: str, start: int) -> bool:
    return _NO_PHONE_WORD.search(text, max(0, start - _BEFORE), start) is not None


def _addresses(text: str) -> Iterator[tuple[int, int]]:
    for pattern in _ADDRESS:
        for match in pattern.finditer(text):
            yield match.span("own" if "own" in pattern.groupindex else 0)


_KINDS: tuple[tuple[Kind, Callable[[str], Iterator[tuple[int, int]]]], ...] = (
    ("email", _emails),
    ("id_number", _id_numbers),
    ("phone", _phones),
    ("address", _addresses),
)
