"""What policy denies a principal does not exist for its programs, on every executor: no name of it is listed or found."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

from .conftest import LIMITS, SHELF
from .forked import Forked
from .product import Api, needs_proc
from .test_docker_executor import use

pytestmark = [pytest.mark.anyio, pytest.mark.slow, needs_proc]

EXECUTORS = {
    "monty": [],
    "nsjail": [pytest.mark.skipif(sys.platform != "linux", reason="nsjail needs Linux")],
    "docker": [],
    "deno": [pytest.mark.skipif(importlib.util.find_spec("deno") is None, reason="no deno")],
}
SERVERS = ("by_list", "by_upstream", "by_rule", "by_principal")
"""Each is denied `create_item` in another way."""
POLICY = """
[policy]
deny = ["by_list.create_item", "{url}#POST /items"]
[[policy.rules]]
match = "by_rule.create_item"
then = "deny"
[principals.local]
deny = ["by_principal.create_item"]
"""
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


@pytest.mark.parametrize("executor", [pytest.param(name, marks=marks) for name, marks in EXECUTORS.items()])
async def test_no_program_sees_the_name_of_a_denied_function(
    tmp_path: Path, api: Api, request: Any, executor: str
) -> None:
    """Neither in `dir` nor by `hasattr` or `Object.keys`, and it cannot be imported; who names it is told why."""
    servers = {name: SHELF.format(url=api.url).replace("shelf", name) for name in SERVERS}
    servers = {name: text + (f'base_url = "{api.other}"\n' * (name == "by_upstream")) for name, text in servers.items()}
    project = Forked(tmp_path, LIMITS + "".join(servers.values()) + POLICY.format(url=api.other))
    if executor == "docker":
        use(project, **request.getfixturevalue("engine").settings(pool=1))
    project.change('executor = "monty"' if executor != "docker" else "", f'executor = "{executor}"')
    async with project.stdio() as agent:
        for server in SERVERS:
            if executor == "deno":
                there, created, listed = await agent.value(SCRIPT.replace("shelf", server))
                assert (there[:2], created, listed) == ([False, False], [], True)
                continue
            there, created, listed = await agent.value(LISTED.replace("shelf", server))
            assert (there, created, listed) == ([False, False, True, True], [], True)
            for code in IMPORTED:
                refused = await agent.run(code.replace("shelf", server))
                assert refused["error"]["type"] in ("ImportError", "AttributeError"), refused
                assert "is not allowed" in str(refused["error"]), refused
