"""Values of a JSON text, counted without reading it."""

from __future__ import annotations

import json

import pytest
from doorward_json import Values, values_in


@pytest.mark.parametrize("value", [[0] * 5000, [[]] * 2500, [{"a": 1}] * 2500, {str(n): n for n in range(5000)}])
def test_values_are_counted(value: object) -> None:
    """The members of lists and objects, and these themselves, whatever they are."""
    assert 5000 <= values_in(json.dumps(value).encode(), 10_000) <= 5001


def test_those_in_strings_are_none() -> None:
    """A table as one text is one value, however it is written."""
    text = json.dumps({"csv": ",[{\\" * 1000, 'a"b\\': "," * 1000, "last": [1]})
    assert values_in(text, 1000) == values_in(text.encode(), 1000) == 4
    assert values_in(text, 10**6) == text.count(",") + text.count("[") + text.count("{"), "far less than the bound"


def test_nothing_is_counted_far_beyond_the_bound() -> None:
    """Whoever sends more has sent enough."""
    assert 1000 < values_in(b"[" + b"[]," * 10**6 + b"[]]", 1000) < 2**18


def test_a_text_is_cut_anywhere() -> None:
    """Within a string, and between a backslash and what it escapes."""
    pieces = Values()
    text = (json.dumps(["\\", '\\"', "a,b" * 1000]) * 30).encode()
    for start in range(0, len(text), 7):
        pieces.feed(text[start : start + 7])
    assert pieces.count == 30 * 3
