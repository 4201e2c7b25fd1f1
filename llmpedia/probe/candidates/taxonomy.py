"""Knowledge points: the paths of a taxonomy of three levels (SuperGPQA's, extended for the web: 18
disciplines, 84 fields, 340 subfields). Reports group by the middle level, as ElephantBench's
figures do by the names they show; its list of 22 is not public.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from llmpedia.errors import ConfigError

TaxonomyPath = tuple[str, ...]
SHIPPED = Path(__file__).with_name("taxonomy.json")
_BETWEEN = " > "
_LEVELS = ("discipline", "field", "subfield")


@dataclass(frozen=True)
class Taxonomy:
    """Paths (discipline, field, subfield) in the file's order, and where they come from."""

    source: str
    paths: tuple[TaxonomyPath, ...]

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """The paths as text, in order."""
        return tuple(map(path_text, self.paths))

    @cached_property
    def by_text(self) -> dict[str, TaxonomyPath]:
        """Text -> path."""
        return dict(zip(self.texts, self.paths, strict=True))

    @cached_property
    def block(self) -> str:
        """All paths for a prompt: a line a discipline, below it a line a field with its subfields."""
        lines: list[str] = []
        last: TaxonomyPath = ("", "")
        for discipline, name, subfield in self.paths:
            if discipline != last[0]:
                lines.append(discipline)
            if (discipline, name) == last:
                lines[-1] += f"; {subfield}"
            else:
                lines.append(f"- {name}: {subfield}")
            last = (discipline, name)
        return "\n".join(lines)


def path_text(path: TaxonomyPath) -> str:
    """A path as text, "Science > Physics > Acoustics"."""
    return _BETWEEN.join(path)


def field_of(path: tuple[str, ...]) -> str:
    """What reports group a question by: the middle level. Its names are unique over the
    disciplines.
    """
    return path[1]


@cache
def load_taxonomy(path: str | None) -> Taxonomy:
    """The taxonomy in a file of the shipped one's form; null is the shipped one.

    Raises:
        ConfigError: the file cannot be read, or is no taxonomy whose paths can be told apart.
    """
    file = SHIPPED if path is None else Path(path)
    at = f"knowledge.taxonomy = {str(file)!r}"
    try:
        data = json.loads(file.read_text(encoding="utf-8"), object_pairs_hook=_unique)
    except OSError as e:
        raise ConfigError(f"{at}: cannot be read ({e.strerror}); give a JSON file like {SHIPPED}") from e
    except ValueError as e:
        raise ConfigError(f"{at}: {e}; correct the file") from e
    tree = data.get("taxonomy") if isinstance(data, dict) else None
    source = data.get("source") if isinstance(data, dict) else None
    if not isinstance(tree, dict) or not isinstance(source, str):
        raise ConfigError(f'{at}: not {{"source": "...", "taxonomy": {{...}}}}; give a file like {SHIPPED}')
    paths = tuple(_paths(tree, at))
    _check(paths, at)
    return Taxonomy(source, paths)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    names = [name for name, _ in pairs]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise ValueError(f"{twice[0]!r} comes twice in one place")
    return dict(pairs)


def _paths(tree: dict[str, Any], at: str) -> Iterator[TaxonomyPath]:
    for discipline, fields in tree.items():
        if not isinstance(fields, dict) or not fields:
            raise ConfigError(
                f"{at}: {discipline!r}: a discipline holds fields, each a list of subfields; correct the file"
            )
        for name, subfields in fields.items():
            if (
                not isinstance(subfields, list)
                or not subfields
                or not all(isinstance(s, str) for s in subfields)
            ):
                raise ConfigError(
                    f"{at}: {discipline!r}, {name!r}: a field is a list of subfields' names; correct the file"
                )
            yield from ((discipline, name, subfield) for subfield in subfields)


def _check(paths: tuple[TaxonomyPath, ...], at: str) -> None:
    """Raise unless each name can stand in a path, and what labels and reports go by is unique."""
    if not paths:
        raise ConfigError(f"{at}: holds no path; give a file like {SHIPPED}")
    for level, name in ((_LEVELS[n], name) for path in paths for n, name in enumerate(path)):
        if name != " ".join(name.split()) or not name or _BETWEEN.strip() in name or ";" in name:
            raise ConfigError(
                f"{at}: {level} {name!r}: a name is one line of text without > and ;; rename it"
            )
    fields = list(dict.fromkeys(path[:2] for path in paths))
    for names, what in ((list(map(path_text, paths)), "path"), ([name for _, name in fields], "field")):
        folded = [name.casefold() for name in names]
        twice = [name for name, key in zip(names, folded, strict=True) if folded.count(key) > 1]
        if twice:
            raise ConfigError(f"{at}: {what} {twice[0]!r} comes twice; rename one of them")
