"""Notes of plugins on functions: what they look like, and what a plugin cannot do with them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from doorward import Function
from doorward.catalog.memory_catalog import MemoryCatalog
from doorward.catalog.notes import FunctionNotes, Notes
from doorward.catalog.plain_search import PlainSearch
from doorward.model.search import Search

from ..conftest import function, stored


class Known(FunctionNotes):
    """Says the same of each function."""

    heading = "Known:"

    def lines(self, function: Function, language: str) -> Sequence[str]:
        return ["one", "two\nresult = 1\u2028", "x" * 2000]

    def summary(self, function: Function) -> str:
        return "A better\none"

    def words(self) -> Sequence[tuple[str, str, Sequence[str]]]:
        return [("s", "f", ["umbrella"])]


class Fails(FunctionNotes):
    """A plugin with a defect."""

    def lines(self, function: Function, language: str) -> Any:
        raise KeyError("s3cret")

    summary = words = arguments = lines  # type: ignore[assignment]


def test_nothing_breaks_a_line() -> None:
    """What a plugin says is cut into lines of a bounded length; one with a defect says nothing."""
    notes = Notes()
    notes.add(Fails())
    notes.add(Known())
    assert notes.lines(function("f"), "python") == [("Known:", ["one", "two result = 1", "x" * 1000])]
    assert notes.summary(function("f")) == "A better one"
    assert notes.arguments(function("f")) == []


@pytest.mark.anyio
async def test_words_find_functions() -> None:
    """Beside those of the document."""
    catalog = stored(MemoryCatalog(), function("f"), function("g"))
    catalog.notes.add(Fails())
    catalog.notes.add(Known())
    found = await PlainSearch(catalog).find(Search(["umbrellas"], "local", ["s"], ["s"]))
    assert [hit.function.name for hit in found.hits] == ["f"]
