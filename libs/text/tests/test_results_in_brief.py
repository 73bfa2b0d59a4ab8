"""What a function gives is told in few words, whatever its schema is."""

from __future__ import annotations

from typing import Any

import pytest
from doorward.catalog.schemas import Reader
from doorward_testing.any_schema import ANY
from doorward_text.results_in_brief import MAX_CHARS, in_brief
from hypothesis import given

ISSUE = {"$ref": "#/$defs/issue"}
DEFINITIONS: dict[str, Any] = {
    "issue": {"type": "object", "properties": {"id": {"type": "integer"}, "title": {"type": "string"}}},
    "page": {
        "type": "object",
        "properties": {"total": {"type": "integer"}, "items": {"type": "array", "items": ISSUE}},
    },
}


@pytest.mark.parametrize(
    ("schema", "told"),
    [
        (ISSUE, "Issue"),
        ({"type": "array", "items": ISSUE}, "list[Issue]"),
        ({"$ref": "#/$defs/page"}, "{items: list[Issue]}"),
        ({"type": ["array", "null"], "items": {"type": "string"}}, "list[str]"),
        ({"type": "string"}, "str"),
        ({"anyOf": [{"type": "null"}, ISSUE]}, "Issue"),
        ({"type": "object", "properties": {key: {"type": "string"} for key in "abcdef"}}, "{a, b, c, …}"),
        ({"type": "array"}, "list[Any]"),
        ({"type": "object"}, ""),
        ({}, ""),
    ],
)
def test_results_in_few_words(schema: Any, told: str) -> None:
    """Lists of things, what they come in, and objects by their names or first keys."""
    assert in_brief(schema, Reader(DEFINITIONS.get)) == told


@pytest.mark.slow
@given(ANY)
def test_any_schema_is_told_in_a_line(schema: Any) -> None:
    """A hostile document neither breaks a line nor takes room."""
    told = in_brief(schema, Reader({"A": {"type": "object"}, "B": schema}.get, 60))
    assert len(told) <= MAX_CHARS
    assert told.isprintable()
