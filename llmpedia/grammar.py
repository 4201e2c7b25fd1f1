"""Guided wikitext: the grammar under which a weak model writes a linked article.

A small model does not write ``[[wikilinks]]`` or keep to an outline of its own accord. The grammar,
in the EBNF dialect that xgrammar reads, fixes what is form (bold title first, the outline's exact
headings in order, at least ``links`` links a section) and leaves every word and every link target
to the model. Lengths are bounded, so that an article ends of its own accord within its token
budget.
"""

# A name may hold what titles hold, but begins with a capital or a digit: weak models otherwise link
# common nouns.
_NAME = "[A-Z0-9] [a-zA-Z0-9 .,()-]{1,38} [a-zA-Z0-9)]"
# Prose between links: no brackets, braces, equals signs, quotes or line breaks, which are markup.
_PROSE = "[a-zA-Z0-9 ,.;:()-]"


def wikitext_grammar(subject: str, headings: list[str], links: int, words: int) -> str:
    """The grammar of one article.

    Args:
        subject: the title, set in bold at the start.
        headings: section titles, used verbatim and in order.
        links: links in the lead and in each section.
        words: the article's target length in words; bounds the prose.

    Returns:
        EBNF text with the start rule ``root``.
    """
    # 6.5 characters a word; a section is `links` stretches of prose with a link each, and a tail.
    stretch = max(16, int(words * 6.5 / ((len(headings) + 1) * (links + 1))))
    parts = [_literal(f"'''{subject}''' "), "paragraph"]
    for heading in headings:
        parts += [_literal(f"\n\n== {heading} ==\n"), "paragraph"]
    segments = " ".join(["segment"] * links)
    return "\n".join(
        [
            f"root ::= {' '.join(parts)}",
            f"paragraph ::= [a-zA-Z] {segments} tail",
            f'segment ::= {_PROSE}{{6,{stretch}}} " [[" name "]]"',
            f'tail ::= " " {_PROSE}{{6,{stretch}}} [a-z] "."',
            f"name ::= {_NAME}",
        ]
    )


def _literal(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
