"""What an agent is told that mistakes an answer or writes no Python: alike in every executor, whatever its interpreter
says."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from typing import Any

import pytest

from .product import Agent, Api, Project, apart, needs_proc
from .test_nsjail_executor import made

pytestmark = pytest.mark.anyio
JAIL = pytest.param(
    "nsjail", marks=[pytest.mark.skipif(sys.platform != "linux", reason="nsjail needs Linux"), needs_proc]
)


@pytest.fixture(scope="module", params=["monty", JAIL])
async def either(
    request: Any, anyio_backend: str, api: Api, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Agent]:
    """A client of a gateway with one executor, and no guard that reads programs before it."""
    project: Project = made(tmp_path_factory.mktemp("mistakes"), api)
    if request.param == "monty":
        project.change('executor = "nsjail"', 'executor = "monty"')
    async with apart(project.stdio()) as agent:
        yield agent


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ("shelf.list_items()['price']", "There is 'price' at ['items'][0]. "),
        ("shelf.list_items()['item']", "Did you mean 'items'? "),
        ("shelf.list_items()[0]", "shelf.list_items answered a dict with "),
        ("shelf.list_items()[:1]", "shelf.list_items answered a dict with "),
        ("[row['id'] for row in shelf.list_items()]", "A loop over a dictionary gives its keys. "),
        ("[row.get('id') for row in shelf.list_items()]", "A loop over a dictionary gives its keys. "),
        ("shelf.list_items().items[0]", 'write value["items"]'),
        ("shelf.list_items().json()", "An answer is its value, not a response: leave out `.json`. "),
        ("import json\njson.loads(shelf.list_items())", "Answers are values already: leave out `json.loads`. "),
        ("shelf.list_items()['items']['id']", "items (a list of "),
        ("shelf.list_items()['items'][99]", "items (a list of "),
        ("shelf.list_items().get('rows')[0]", "shelf.list_items answered a dict with "),
        ("shelf.items_list()", "Near: shelf.list_items"),
    ],
)
async def test_what_an_answer_was_is_told(either: Agent, wrong: str, told: str) -> None:
    """By name, with where to find what was asked for."""
    error = (await either.run(f"import shelf\n{wrong}"))["error"]
    assert told in error["hint"], error


async def test_no_python_is_a_syntax_error(either: Agent) -> None:
    """With its line, also where it gets parameters."""
    for more in ({}, {"params": {"x": 2}}):
        error = (await either.run("x = 1\nx = = 2", **more))["error"]
        assert (error["kind"], error["type"], error["line"]) == ("program", "SyntaxError", 2)
