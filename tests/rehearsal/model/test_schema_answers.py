"""The answer of the world's model in a stage that it has no knowledge for."""

import pytest

from llmpedia.rehearsal.model.schema_answers import simplest


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"enum": ["b", "a"]}, "b"),
        ({"type": "boolean"}, False),
        ({"type": "integer", "minimum": 3}, 3),
        ({"type": "number"}, 0.0),
        ({"type": "array", "items": {"type": "string"}, "minItems": 2}, ["x", "x"]),
        ({"type": "array", "items": {"type": "string"}}, []),
        (
            {"type": "object", "properties": {"a": {"type": "boolean"}, "b": {}}, "required": ["a"]},
            {"a": False},
        ),
        ({}, None),
    ],
)
def test_the_simplest_value_fits(schema, value):
    assert simplest(schema) == value
