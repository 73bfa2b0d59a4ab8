"""Words of answers: the names of fields and classes, read once, and never at the expense of a compile."""

from __future__ import annotations

import time
from typing import Any

import pytest
from doorward import Function
from doorward_search.index import Index
from doorward_search.question import read
from doorward_search.ranking import Ranking
from doorward_search.result_words import MAX_WORDS, ResultWords
from doorward_search.segment import packed, segment, unpacked

PERSON = {
    "properties": {"birthday": {"type": "string"}, "place_of_birth": {"type": "string"}, "secret": {"writeOnly": True}}
}


def function(name: str, returns: Any = None) -> Function:
    return Function("films", name, "", name.replace("_", " "), returns=returns, read_only=True)


def words(returns: Any, **definitions: Any) -> list[str]:
    return ResultWords(definitions.get).of(function("get", returns))


def test_fields_and_classes_are_words() -> None:
    """Also those of items and of variants; not what only requests have, nor what is in fields."""
    assert words({"type": "array", "items": {"$ref": "#/$defs/Person"}}, Person=PERSON) == [
        "person", "birthday", "place", "of", "birth",
    ]  # fmt: skip
    assert words({"properties": {"cast": {"properties": {"role": {"properties": {"deep": {}}}}}}}) == ["cast"]
    assert words({"oneOf": [{"properties": {"cat": {}}}, {"properties": {"dog": {}}}]}) == ["cat", "dog"]
    assert words(None) == []


def test_an_answer_is_found_by_what_it_has() -> None:
    """No word of the question is in the function's own texts; plain BM25 has no part in it."""
    functions = [
        function("get_person", {"$ref": "#/$defs/Person"}),
        function("get_movie", {"properties": {"title": {}}}),
    ]
    made = unpacked(packed(segment(functions, ResultWords({"Person": PERSON}.get))))
    assert made is not None
    index = Index({"films": made}, {})
    found = Ranking(index, read("birthday")).best(10)
    assert [index.names[n] for n in found.functions] == ["get_person"]


@pytest.mark.slow
def test_hostile_results_cost_little() -> None:
    """Circles, thousands of fields, and results that all refer to the same large definition."""
    circle = {"properties": {"next": {"$ref": "#/$defs/Circle"}, "name": {}}}
    assert words({"$ref": "#/$defs/Circle"}, Circle=circle) == ["circle", "next", "name"]
    wide = {"properties": {f"field{n}": {"$ref": "#/$defs/Wide"} for n in range(5000)}}
    assert len(words({"$ref": "#/$defs/Wide"}, Wide=wide)) <= MAX_WORDS
    of = ResultWords({"Wide": wide}.get)
    start = time.process_time()
    for n in range(2000):
        of.of(function(f"f{n}", {"$ref": "#/$defs/Wide"}))
    assert time.process_time() - start < 2
    for odd in (True, [], {"properties": []}, {"properties": {"a": None, "b": True}}, {"items": {"items": "x"}}):
        assert isinstance(words(odd), list)


def test_a_credential_is_no_word() -> None:
    """A document may contain the token with which it was fetched."""
    of = ResultWords({}.get, lambda text: text.replace("hunter2", "***"))
    assert "hunter2" not in of.of(function("get", {"properties": {"hunter2": {}, "name": {}}}))
