"""What policy denies a principal does not exist for its programs, on every executor: no name of it is listed or found."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

from .conftest import LIMITS, SHELF
from .product import Api, Project, needs_proc
from .test_docker_executor import use

pytestmark = [pytest.mark.anyio, pytest.mark.slow, pytest.mark.timeout(180), needs_proc]

EXECUTORS = {
    "monty": [],
    "nsjail": [pytest.mark.skipif(sys.platform != "linux", reason="nsjail needs Linux")],
    "docker": [],
    "deno": [pytest.mark.skipif(importlib.util.find_spec("deno") is None, reason="no deno")],
}
POLICIES = {
    "a list": "[policy]\ndeny = ['shelf.create_item']\n",
    "an upstream": "[policy]\ndeny = ['{url}#POST /items']\n",
    "a rule": "[[policy.rules]]\nmatch = 'shelf.create_item'\nthen = 'deny'\n",
    "a principal": "[principals.local]\ndeny = ['shelf.create_item']\n",
}
LISTED = """
import shelf
names = dir(shelf)
result = [
    [hasattr(shelf, name) for name in ("create_item", "createItem", "list_items", "listItems")],
    [name for name in names if "create" in name.lower()], "list_items" in names,
]
"""
IMPORTED = ["from shelf import create_item", "from shelf import createItem", "import shelf\nshelf.create_item"]
SCRIPT = """
import * as shelf from "shelf";
const names = Object.keys(shelf);
const there = ["create_item", "createItem", "list_items", "listItems"].map((name) => name in shelf);
export default [there, names.filter((name) => name.toLowerCase().includes("create")), names.includes("listItems")];
"""


@pytest.mark.parametrize(
    ("executor", "policy"),
    [
        *(pytest.param(executor, "a list", marks=marks) for executor, marks in EXECUTORS.items()),
        *(("monty", policy) for policy in POLICIES if policy != "a list"),
    ],
)
async def test_no_program_sees_the_name_of_a_denied_function(
    tmp_path: Path, api: Api, request: Any, executor: str, policy: str
) -> None:
    """Neither in `dir` nor by `hasattr` or `Object.keys`, and it cannot be imported; who names it is told why."""
    project = Project(tmp_path, LIMITS + SHELF.format(url=api.url) + POLICIES[policy].format(url=api.url))
    if executor == "docker":
        use(project, **request.getfixturevalue("engine").settings(pool=1))
    project.change('executor = "monty"' if executor != "docker" else "", f'executor = "{executor}"')
    async with project.stdio() as agent:
        if executor == "deno":
            there, created, listed = await agent.value(SCRIPT)
            assert (there[:2], created, listed) == ([False, False], [], True)
            return
        there, created, listed = await agent.value(LISTED)
        assert (there, created, listed) == ([False, False, True, True], [], True)
        for code in IMPORTED:
            refused = await agent.run(code)
            assert refused["error"]["type"] in ("ImportError", "AttributeError"), refused
            assert "is not allowed" in str(refused["error"]), refused
