"""The simplest value that fits a JSON Schema: the answer in a stage that the world has no knowledge
for.
"""

from typing import Any

_SIMPLE = {"string": "x", "integer": 0, "number": 0.0, "boolean": False}


def simplest(schema: dict[str, Any]) -> Any:
    """A value that fits, of as few parts as the schema allows; null where it names no type."""
    if "enum" in schema:
        return schema["enum"][0]
    kind = schema.get("type")
    if kind == "object":
        properties = schema.get("properties", {})
        return {name: simplest(properties.get(name, {})) for name in schema.get("required", [])}
    if kind == "array":
        return [simplest(schema.get("items", {}))] * schema.get("minItems", 0)
    if kind == "string":
        return _SIMPLE["string"] * max(1, schema.get("minLength", 1))
    if kind in ("integer", "number"):
        return schema.get("minimum", _SIMPLE[kind])
    return _SIMPLE.get(str(kind))
