"""Pages from templates. All values are escaped; only what ``wiki`` has cleaned is taken as HTML, by
the filter ``cleaned``.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from llmpedia.site.urls import Addresses

STATIC = Path(__file__).parents[1] / "static"
_TEMPLATES = Path(__file__).parents[1] / "templates"


def rendered(template: str, context: Mapping[str, Any], to: Addresses) -> str:
    """A whole page. A name that the context lacks is an error, never an empty place."""
    return _environment().get_template(template).render({"run": None, "query": "", **context, "to": to})


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.filters["count"] = count
    environment.filters["cleaned"] = cleaned
    return environment


def count(value: int) -> str:
    """A number for people: 1,234."""
    return f"{value:,}"


def cleaned(html: str) -> Markup:
    """HTML that ``wiki.Page.html`` made, and nothing else: it is not escaped."""
    return Markup(html)  # noqa: S704 - cleaned by nh3 where it was made
