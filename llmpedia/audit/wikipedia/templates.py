"""What a template of Wikipedia says, from its name and parameters alone.

There are hundreds of thousands of templates and they cannot be expanded without the wiki. The rule
is to keep every parameter that may be a fact; only templates that never hold one are dropped by
name. A fact too many costs a judge some reading, a fact lost turns a true claim into an
unverifiable one.
"""

import re

# (name or None for a positional one, plain text of the value), in order
Parameters = list[tuple[str | None, str]]

_DROPPED = re.compile(
    r"""^(?:
    cite\b|citation\b|sfn|harv|efn|refn?$|r$|rp$|reflist|refbegin|refend|notelist|notes?$|fact$|cn$|dubious|clarify|when$|who$
    |failed.verification|better.source|verify|vague|page.needed|according.to\?|by.whom|unreferenced|more.citations|refimprove
    |navbox|nav\b|sidebar|portal|authority.control|commons|wiktionary|wikiquote|wikisource|sister|subject.bar|succession
    |s-(?:start|end|bef|aft|ttl|off|par|aca|hou|reg|vac|new)|start.box|end.box|succession
    |main$|main.article|see.also|further|details|about$|for$|other.uses|distinguish|redirect|hatnote|not.to.be.confused
    |use.(?:dmy|mdy|british|american|indian|canadian|australian|oxford).*|engvar|pp(?:-|$)|pp.|short.description.none
    |good.article|featured.article|multiple.issues|cleanup|expand|update|pov|npov|orphan|stub|.*-stub$|italic.title|lowercase
    |clear|toc|col-|columns|div.col|end$|coord.missing|defaultsort|displaytitle|default|wide.image|multiple.image|css.image
    |image|gallery|location.map|anchor|family.name.hatnote|spoken|isbn.missing|dead.link|webarchive|archive|cbignore
    )""",
    re.X | re.I,
)
_SIGNS = {
    "!": "|", "=": "=", "snd": " – ", "spnd": " – ", "spaced ndash": " – ",
    "ndash": "–", "mdash": "—", "spaced mdash": " — ",
    "nbsp": " ", "sp": " ", "'": "'", "·": " · ", "dot": " · ", "bull": " · ",
    "c.": "c. ", "circa": "c. ", "pad": " ",
}  # fmt: skip
# How a value looks, not what it is.
_STYLE = re.compile(
    r"^(?:df|mf|align|style|class|.*(?:style|class|width|size|color|colour)|link|display|format|abbr|adj|sp|sigfig|lk|disp|upright"
    r"|image.*|img.*|logo|alt|.*_alt|.*map.*|signature|cat|nocat|sortable|name_sort|archive.*|access-?date|url-status|ref|bodyclass)$",
    re.I,
)
_LANGUAGES = re.compile(r"^(?:lang|langx|lang-[a-z-]+|transl|transliteration|wikt-lang)$", re.I)
_LISTS = re.compile(
    r"^(?:ubl|unbulleted.list|hlist|flatlist|plainlist|plain.list|bulleted.list|cslist)$", re.I
)
_MEASURES = re.compile(r"^(?:convert|cvt)$", re.I)
_NUMBER = re.compile(r"^(?:[-+−]?[\d.,]+(?:[/+][\d/]+)?|to|and|or|by|x|×|-|–|\+/-|±)$")
_DATES = re.compile(r"\b(?:date|dob|birth|death|start|end|age|da|dda|bda)\b", re.I)
_PARSER_FUNCTION = re.compile(r"^(#[a-z]+|formatnum|lc|uc|lcfirst|ucfirst|padleft|plural):", re.I)
_VARIABLE = re.compile(r"^[A-Z]{4,}(?::|$)")


def template_text(name: str, parameters: Parameters) -> str:
    """The text that stands for a template; several named parameters make a block of ``name: value``
    lines.
    """
    name = " ".join(name.replace("_", " ").split())
    if name.lower() in _SIGNS:
        return _SIGNS[name.lower()] + _joined([v for _, v in parameters])
    function = _PARSER_FUNCTION.match(name)
    if function:
        return _joined(
            [name[function.end() :] if function[1].lower() != "#if" else "", *(v for _, v in parameters)]
        )
    if _VARIABLE.match(name) or _DROPPED.match(name):
        return ""
    shown = [(k, v) for k, v in parameters if v and not (k and _STYLE.match(k))]
    # Numbered by hand, as in {{lang|1=fr}}, is still positional.
    named = [(k.replace("_", " "), v) for k, v in shown if k and not k.isdigit()]
    positional = [v for k, v in shown if not k or k.isdigit()]
    lead = _positional(name, positional)
    if not named:
        return lead or ("" if parameters else name)
    if len(named) == 1 and lead:
        return _joined([lead, f"({named[0][0]}: {named[0][1]})"])
    return "\n" + "\n".join([*([lead] if lead else []), *(f"{k}: {_one_line(v)}" for k, v in named)]) + "\n"


def _positional(name: str, values: list[str]) -> str:
    if _LANGUAGES.match(name) and len(values) > 1 and "-" not in name[:5]:
        return values[1]
    if _LISTS.match(name):
        return "; ".join(_one_line(v) for v in values)
    if _DATES.search(name):
        return _dates(values)
    if _MEASURES.match(name):
        return _measure(values)
    return _joined(values)


def _dates(values: list[str]) -> str:
    """Year, month, day in numbers as an ISO date, and so the next three; anything else as it
    stands.
    """
    out = []
    rest = list(values)
    while rest:
        n = next((i for i, v in enumerate(rest[:3]) if not v.isdecimal()), min(3, len(rest)))
        if n and len(rest[0]) >= 3:
            out.append("-".join(v.zfill(2) for v in rest[:n]))
            rest = rest[n:]
        else:
            out.append(rest.pop(0))
    return ", ".join(out)


def _measure(values: list[str]) -> str:
    """The numbers and the unit they are given in, without the units that the template would convert
    them to.
    """
    unit = next((i for i, v in enumerate(values) if not _NUMBER.match(v)), len(values))
    return _joined(values[: unit + 1])


def _one_line(text: str) -> str:
    """A value on one line; its own lines, as of a list in an infobox, are parted by semicolons."""
    lines = [line.strip().removeprefix("- ").strip() for line in text.splitlines()]
    return "; ".join(line for line in lines if line)


def _joined(values: list[str]) -> str:
    return " ".join(v for v in values if v)
