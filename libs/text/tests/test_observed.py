"""Results that were observed, as an agent reads them."""

from __future__ import annotations

import ast
import time
from typing import Any

import pytest
from doorward import Function
from doorward.catalog.observation import Observation, as_schema
from doorward.catalog.schema_inference import bounded, merge, shape
from doorward_testing.any_schema import JSON
from doorward_text.cards import describe
from doorward_text.signatures import observed_in_words, signature, stub
from hypothesis import given, settings
from hypothesis import strategies as st


@pytest.mark.slow
@settings(deadline=None)
@given(st.lists(JSON, max_size=4))
def test_the_text_of_what_was_observed_is_python(values: list[Any]) -> None:
    """CONTRACT: SRC-23."""
    merged: Any = {}
    for value in values:
        merged = bounded(merge(merged, shape(value)))
    known = Function("weather", "f", returns=as_schema(merged))
    ast.parse(describe(known, lambda name: None, module="weather"))
    ast.parse(f"{signature(known, lambda name: None)}: ...")


def test_how_far_to_rely_on_it() -> None:
    """How often, and when last; also in a stub."""
    now = time.time()
    seen = Observation("", {"array": {"object": {"a": {"integer": {}}}}}, 3, now)
    assert observed_in_words(seen) == "observed 3 times, last today, not promised"
    assert observed_in_words(seen, now + 2 * 86400) == "observed 3 times, last 2 days ago, not promised"
    stubbed = stub([Function("s", "f")], lambda name: None, lambda function: seen)
    assert "-> Any: ...  # list[dict[str, Any]], observed" in stubbed
    ast.parse(stubbed)
