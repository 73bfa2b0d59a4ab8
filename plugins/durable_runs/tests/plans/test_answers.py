"""What is known of an answer that nobody has seen."""

from __future__ import annotations

from typing import Any

import pytest
from doorward import Function
from doorward.catalog.memory_catalog import MemoryCatalog
from doorward.searching import Catalog
from doorward_durable_runs.plans.answers import Answers

_ID = {"type": "integer"}


@pytest.mark.parametrize(
    ("schema", "path", "lacks"),
    [
        ({"properties": {"id": _ID}}, ["id"], ""),
        ({"properties": {"id": _ID}}, ["idd"], "there is no 'idd' in it; did you mean 'id'?"),
        ({"properties": {"id": _ID}, "additionalProperties": False}, ["url"], "there is no 'url' in it; known: id"),
        ({"properties": {"id": _ID}, "additionalProperties": True}, ["idd"], ""),
        ({"properties": {"id": _ID}, "additionalProperties": {"type": "string"}}, ["idd"], ""),
        ({"type": "object"}, ["idd"], ""),
        ({}, ["idd", 0], ""),
        ({"oneOf": [{"properties": {"id": _ID}}, {"properties": {"url": {}}}]}, ["url"], ""),
        ({"oneOf": [{"properties": {"id": _ID}}, {"additionalProperties": True}]}, ["idd"], ""),
        ({"properties": {"id": _ID}}, ["id", "value"], "there is no 'value' in it at ['id'], which is no object"),
        ({"properties": {"id": _ID}}, [0], "there is no 0 in it, which is no array"),
        ({"items": {"properties": {"id": _ID}}}, [-1, "id"], ""),
        ({"items": {"properties": {"id": _ID}}}, [0, "idd"], "there is no 'idd' in it at [0]; did you mean 'id'?"),
        ({"type": "array"}, ["id"], "there is no 'id' in it, which is no object"),
        ({"type": ["array", "null"]}, [0, "id"], ""),
    ],
)
def test_what_an_answer_lacks(schema: Any, path: Any, lacks: str) -> None:
    """A schema that lists fields has no others, unless it says that there may be more."""
    catalog = Catalog(MemoryCatalog())
    answers = Answers(catalog)  # type: ignore[arg-type]
    assert answers.lacks(Function("api", "create", "create", returns=schema), path) == lacks


def test_a_near_name_is_found_among_many() -> None:
    catalog = Catalog(MemoryCatalog())
    fields = {f"field_{n}": {} for n in range(200)} | {"number": _ID}
    told = Answers(catalog).lacks(  # type: ignore[arg-type]
        Function("api", "create", "create", returns={"properties": fields}), ["numbr"]
    )
    assert told == "there is no 'numbr' in it; did you mean 'number'?"
