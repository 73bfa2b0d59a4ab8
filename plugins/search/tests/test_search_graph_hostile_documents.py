"""What a document may hold to make a compile slow or end it: the graph and the words of answers cost little."""

from __future__ import annotations

import time
from typing import Any

import pytest
from doorward import Function
from doorward_search.graph.producers import MAX_PRODUCERS, edges
from doorward_search.result_words import ResultWords

pytestmark = pytest.mark.slow

TEXT = {"type": "string"}
SECONDS = 10
"""Far more than it takes, and far less than without bounds: those took minutes."""


def function(name: str, route: str, *needed: str, returns: Any = None) -> Function:
    parameters = {"type": "object", "properties": dict.fromkeys(needed, TEXT), "required": [*needed]}
    return Function(
        "s", name, name, parameters=parameters, returns=returns, route=route, read_only=route.startswith("GET")
    )


def answering(*fields: str) -> dict[str, Any]:
    return {"type": "object", "properties": dict.fromkeys(fields, TEXT)}


def within(seconds: float, functions: list[Function], **definitions: Any) -> int:
    start = time.process_time()
    found = edges(functions, definitions.get)
    of = ResultWords(definitions.get)
    for each in functions:
        of.of(each)
    assert time.process_time() - start < seconds
    return len(found)


def test_thousands_need_what_thousands_give() -> None:
    """Who gives it is found out once for all."""
    giving = [function(f"give{n}", f"GET /b{n}", returns=answering("user_id")) for n in range(5000)]
    needing = [function(f"need{n}", f"POST /a{n}/{{user_id}}", "user_id") for n in range(5000)]
    assert within(SECONDS, [*giving, *needing]) == 5000 * MAX_PRODUCERS
    both = [function(f"f{n}", f"GET /f{n}", "user_id", f"thing{n}_id", returns=answering("user_id")) for n in range(20)]
    assert {(e.function, e.producer) for e in edges(both, {}.get) if e.function == e.producer} == set()


def test_each_needs_something_of_its_own_beside() -> None:
    """Nothing can be found out once for all; what costs too much is not known."""
    giving = [function(f"give{n}", f"GET /b{n}", returns=answering("user_id")) for n in range(4000)]
    needing = [function(f"need{n}", f"POST /a{n}", "user_id", f"w{n}x_id") for n in range(4000)]
    assert within(SECONDS, [*giving, *needing]) > 100 * MAX_PRODUCERS


def test_large_parts_refer_to_one_definition() -> None:
    large = answering(*(f"w{n}x_id" for n in range(200)))
    wide = {"type": "object", "properties": {f"p{n}q": {"$ref": "#/$defs/Large"} for n in range(200)}}
    within(SECONDS, [function(f"g{n}", f"GET /b{n}", "w1x_id", returns=wide) for n in range(300)], Large=large)


@pytest.mark.parametrize("kind", ["items", "anyOf", "properties"])
def test_results_without_end(kind: str) -> None:
    """Lists of lists, and definitions that lead to others: neither the stack nor the time ends."""

    def around(schema: Any) -> dict[str, Any]:
        return {kind: {"items": schema, "anyOf": [schema], "properties": {"next": schema}}[kind]}

    nested: dict[str, Any] = answering("a_id")
    for _ in range(900):
        nested = around(nested)
    chain = {f"D{n}": around({"$ref": f"#/$defs/D{n + 1}"}) for n in range(3000)}
    within(SECONDS, [function("g", "GET /b", "a_id", returns=nested)])
    within(SECONDS, [function("g", "GET /b", "a_id", returns={"$ref": "#/$defs/D0"})], **chain)


def test_names_and_routes_without_end() -> None:
    """A name of a megabyte in one word, or in as many as fit; a path of as many steps."""
    for name in ("x" * 1_000_000 + "_id", "ab_" * 300_000 + "id"):
        within(SECONDS, [function("f", f"GET /{name}/{{{name}}}", name, returns=answering(name, "id"))])
    within(SECONDS, [function(f"f{n}", "GET " + "/a/{b}" * 20_000, "b") for n in range(20)])
