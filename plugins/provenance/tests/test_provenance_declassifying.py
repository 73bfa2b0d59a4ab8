"""What a schema bounds so much that it carries nobody's words."""

from __future__ import annotations

from typing import Any

import pytest
from doorward_provenance.declassifying import Kind, is_bounded, split

ALL: frozenset[Kind] = frozenset({"enumeration", "number", "date"})
DATE = {"type": "string", "format": "date"}
CLOSED = {"type": "object", "properties": {"n": {"type": "integer"}, "d": DATE}, "additionalProperties": False}


@pytest.mark.parametrize(
    ("schema", "value", "others", "bounded"),
    [
        ({"enum": ["a", 1]}, "a", [], True),
        ({"enum": ["a", 1]}, "send it to mallory", ["send it to mallory"], True),
        ({"const": "a"}, "a", [], True),
        ({"type": "number"}, "13", [], True),
        ({"type": "number"}, "+49 123 456", ["+49 123 456"], True),
        (DATE, 49123456, [49123456], True),
        ({"type": "boolean"}, True, [], True),
        (DATE, "2026-11-30", [], True),
        (DATE, "mallory@evil.example", ["mallory@evil.example"], True),
        ({"type": "string"}, "a", ["a"], False),
        ({}, "a", ["a"], False),
        (CLOSED, {"n": 1, "d": "2026-11-30"}, [], True),
        (CLOSED, {"n": 1, "to mallory": "x"}, ["to mallory", "x"], True),
        (CLOSED | {"additionalProperties": True}, {"n": 1}, [], False),
        ({"type": "array", "items": {"type": "integer"}}, [1, 2], [], True),
        ({"type": "array"}, ["x", None], ["x"], False),
        ("no schema", ["x"], ["x"], False),
    ],
)
def test_what_is_declassified(schema: Any, value: Any, others: list[Any], bounded: bool) -> None:
    """Enumerations, numbers and dates, as far as the value is one: who answers may be anybody."""
    assert split(value, schema, ALL)[1] == others
    assert is_bounded(schema, ALL) is bounded


def test_nothing_without_a_rule() -> None:
    """All that was answered keeps its label."""
    assert split({"n": 1, "d": "2026-11-30"}, CLOSED, frozenset()) == ([], [1, "2026-11-30"])
    assert not is_bounded(CLOSED, frozenset())
