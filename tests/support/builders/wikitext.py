"""Pages for the tests of the renderer, and what a reader would see of their HTML."""

import html
from html.parser import HTMLParser

from llmpedia.site.wikitext.page import ArticlePage, Html, Target

RED = Target("red", "/red", "filtered")
HIDDEN = {("sup", "fn"), ("a", "ref")}  # numbers of notes and claims
HEADINGS = ("h2", "h3", "h4", "h5", "h6")


def page_of(text: str) -> ArticlePage:
    return ArticlePage(text, "Title")


def written(text: str) -> Html:
    """The HTML of a text, each link leading to ``/a/`` and its number."""
    numbers = iter(range(10**6))
    return page_of(text).html(lambda _: Target("article", f"/a/{next(numbers)}", None), {})


class Seen(HTMLParser):
    """The tags of some HTML in order and its text, without headings, note marks and claim marks."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self._hidden: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        first = (dict(attrs).get("class") or "").split(" ")[0]
        if self._hidden or tag in HEADINGS or (tag, first) in HIDDEN:
            self._hidden += [] if tag in ("br", "hr") else [tag]

    def handle_endtag(self, tag):
        if self._hidden and self._hidden[-1] == tag:
            self._hidden.pop()

    def handle_data(self, data):
        if not self._hidden:
            self.text.append(data)


class Bare(HTMLParser):
    """HTML again without the elements of sentences, the directions of blocks and the line breaks
    between them.
    """

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self._open: list[bool] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        sentence = dict(attrs).get("class") == "s"
        if tag not in ("br", "hr"):
            self._open.append(sentence)
        if not sentence:
            told = "".join(f' {name}="{html.escape(value or "")}"' for name, value in attrs if name != "dir")
            self.parts.append(f"<{tag}{told}>")

    def handle_endtag(self, tag):
        if not self._open.pop():
            self.parts.append(f"</{tag}>")

    def handle_data(self, data):
        self.parts.append(html.escape(data.replace("\n", ""), quote=False))


def bare(text: str) -> str:
    return "".join(Bare(text).parts)


def shown_words(html: str) -> str:
    """All that can be read, white space apart: where blocks meet there is none."""
    return "".join("".join(Seen(html).text).split())
