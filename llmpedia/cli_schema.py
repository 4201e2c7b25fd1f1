"""``llmpedia schema KIND``: the JSON Schema of a kind of configuration; ``docs/configuration.md`` is made of the same models.

python -m llmpedia.cli_schema        # writes configs/schemas/ and docs/configuration.md of this checkout anew
"""

import argparse
import importlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from llmpedia.errors import EXIT_DONE

if TYPE_CHECKING:
    from pydantic import BaseModel

KINDS = {
    "walk": "llmpedia.config:Config",
    "audit": "llmpedia.audit.settings:AuditConfig",
    "probe-build": "llmpedia.probe.build_settings:BuildConfig",
    "probe-run": "llmpedia.probe.run_settings:ProbeRunConfig",
    "ppl": "llmpedia.perplexity.settings:PerplexityJobConfig",
    "serve": "serving.settings:ServeConfig",
    "grid": "llmpedia.grid.settings:GridConfig",
    "rehearsal": "llmpedia.rehearsal.settings:WorldSettings",
}
"""Kind of configuration -> module and class of its settings, by name: they are loaded once they are asked for."""
_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_UNSTATED = "–"
MISSING = "*missing description*"
_HEAD = """# Configuration

Every setting of every kind of configuration: key, type, default, meaning. Made of the settings' classes by
`python -m llmpedia.cli_schema`; do not edit. `llmpedia schema KIND` prints the same as JSON Schema.
NAME stands for a name of your choice, or for one of those that the key before it knows.
The default – is empty, or depends on other settings.
"""


@dataclass(frozen=True)
class Setting:
    """A setting by its dotted key. ``description`` is empty where the class has none."""

    key: str
    type: str
    default: str
    description: str


def add_schema(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser("schema", help="the JSON Schema of a kind of configuration")
    parser.add_argument("kind", metavar="KIND", choices=list(KINDS), help=", ".join(KINDS))
    parser.set_defaults(run=_schema)


def _schema(args: argparse.Namespace) -> int:
    print(schema_text(args.kind), end="")
    return EXIT_DONE


def schema_text(kind: str) -> str:
    """The JSON Schema of a kind of configuration, as a file's text."""
    schema = {"$schema": _DIALECT, **_model(kind).model_json_schema()}
    return json.dumps(schema, indent=1, ensure_ascii=False) + "\n"


def settings(kind: str) -> list[Setting]:
    """All settings of a kind of configuration, those of sections included, in the order of the classes."""
    schema = _model(kind).model_json_schema()
    return list(_settings(schema, schema.get("$defs", {}), ""))


def configuration_page() -> str:
    """``docs/configuration.md``."""
    parts = [_HEAD]
    for kind in KINDS:
        parts.append(f"## {kind}\n\n| key | type | default | meaning |\n| --- | --- | --- | --- |")
        for setting in settings(kind):
            cells = (f"`{setting.key}`", setting.type, setting.default, setting.description or MISSING)
            parts.append(f"| {' | '.join(_cell(cell) for cell in cells)} |")
        parts.append("")
    return "\n".join(parts)


def _model(kind: str) -> "type[BaseModel]":
    module, _, name = KINDS[kind].partition(":")
    model: type[BaseModel] = getattr(importlib.import_module(module), name)
    return model


def _settings(
    schema: dict[str, Any], definitions: dict[str, Any], prefix: str, given: dict[str, Any] | None = None
) -> Iterator[Setting]:
    """``given``: the defaults that the section's owner gives, before those of the section's class."""
    required = schema.get("required", [])
    for name, field in schema.get("properties", {}).items():
        key = f"{prefix}{name}"
        default = given.get(name) if given is not None else field.get("default")
        section = _section(field, definitions)
        if section is None:
            known = given is not None or "default" in field
            shown = f"`{json.dumps(default, ensure_ascii=False)}`" if known else _UNSTATED
            unset = name in required and given is None
            yield Setting(key, _type(field, definitions), "required" if unset else shown, field.get("description", ""))
            values = field.get("additionalProperties")
            named = _section(values, definitions) if isinstance(values, dict) else None
            if named is not None:
                yield from _settings(named, definitions, f"{key}.NAME.")
            continue
        if "anyOf" in field:
            yield Setting(key, "section or null", f"`{json.dumps(default)}`", section.get("description", ""))
        yield from _settings(section, definitions, f"{key}.", default)


def _section(field: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any] | None:
    """The object that a field holds, null or not; None where it is a plain setting."""
    choices = [choice for choice in field.get("anyOf", [field]) if choice.get("type") != "null"]
    reference = choices[0].get("$ref") if len(choices) == 1 else None
    if reference is None:
        return None
    target: dict[str, Any] = definitions[reference.rpartition("/")[2]]
    return target if "properties" in target else None


def _type(field: dict[str, Any], definitions: dict[str, Any]) -> str:
    if "anyOf" in field:
        return " or ".join(_type(choice, definitions) for choice in field["anyOf"])
    if "$ref" in field:
        name = field["$ref"].rpartition("/")[2]
        target = definitions[name]
        return name if "properties" in target else _type(target, definitions)
    if "enum" in field:
        return ", ".join(f"`{value}`" for value in field["enum"])
    if "const" in field:
        return f"`{field['const']}`"
    if field.get("type") == "array" and "items" in field:
        return f"list of {_type(field['items'], definitions)}"
    return str(field.get("type", "any")) + _bounds(field)


def _bounds(field: dict[str, Any]) -> str:
    signs = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}
    bounds = [f"{sign} {field[name]}" for name, sign in signs.items() if name in field]
    return f" ({', '.join(bounds)})" if bounds else ""


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def write_files(root: Path) -> None:
    """The schemas and the page of a checkout."""
    folder = root / "configs" / "schemas"
    folder.mkdir(exist_ok=True)
    for kind in KINDS:
        (folder / f"{kind}.json").write_text(schema_text(kind), encoding="utf-8")
    (root / "docs" / "configuration.md").write_text(configuration_page(), encoding="utf-8")


if __name__ == "__main__":
    write_files(Path(__file__).parent.parent)
