"""What compiling a document costs, told by counts: operations that declare the same are read once."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest
from doorward_openapi.document.refs import Bundle
from doorward_openapi.operations.compiler import compile_document

MOST_CALLS = 350
"""Calls of functions, those of C included, for each operation: a third more than it takes."""

NAMES = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa")


def document(size: int) -> Bundle:
    """So many operations with the same parameters and responses."""
    query = [
        {"name": name, "in": "query", "description": f"The {name}, if there is one", "schema": {"type": "string"}}
        for name in NAMES
    ]
    answer = {"description": "OK", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Thing"}}}}
    paths = {
        f"/{NAMES[n % 10]}/{n}/{{id}}": {
            "get": {
                "operationId": f"get{NAMES[n % 10].title()}{n}",
                "summary": f"Get the {NAMES[n % 10]} {n}",
                "parameters": [{"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}, *query],
                "responses": {"200": answer, "404": {"description": "There is none"}},
            }
        }
        for n in range(size)
    }
    thing = {"type": "object", "properties": {name: {"type": "string"} for name in NAMES}}
    whole = {"openapi": "3.1.0", "info": {}, "paths": paths, "components": {"schemas": {"Thing": thing}}}
    return Bundle("file:///d.json", {"file:///d.json": json.dumps(whole).encode()})


def calls(bundle: Bundle) -> int:
    """How many functions a compile calls."""
    count = 0

    def seen(frame: Any, event: str, of: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(seen)
    try:
        compile_document("s", bundle)
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.slow
def test_an_operation_costs_little() -> None:
    """Ten times the operations are ten times the work."""
    compile_document("s", document(1))  # imports
    few, many = calls(document(100)), calls(document(1000))
    assert (many - few) / 900 < MOST_CALLS
    assert (many - few) / 900 < 1.2 * few / 100


def test_equal_operations_share_what_they_take() -> None:
    first, *others = compile_document("s", document(20)).functions
    assert all(each.parameters is first.parameters for each in others)
    assert all(each.data["arguments"] is first.data["arguments"] for each in others)
