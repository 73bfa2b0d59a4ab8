"""Tokens that a surface costs: its definitions, the way to some calls, and the cards of functions. UTF-8 bytes / 4, as
nobody knows the reader's tokenizer."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from common import HEAD, Project, connected, median, openapi, table
from doorward import Gateway
from doorward_mcp_server.function_tool import function_tool
from program import ONE_BY_ONE, api

SURFACES = ("standard", "minimal", "calls")
COUNTS = (1, 3, 10, 30)
"""Calls in a task."""

DOCUMENTS = ("github.json.zst", "box.json.zst", "figma.yaml.zst", "asana.yaml.zst")
DIRECT = (100, 1_000)
"""Functions of the first of them that are tools."""
CARDS = 75
"""Functions of a document whose cards are counted."""

FIND = ("search_functions", {"query": "one item"})
READ = ("get_functions", {"functions": ["loop.item"]})
FIND_INSIDE = "import doorward\n[doorward.search('one item'), doorward.describe('loop.item')]"


async def run(folder: Path) -> None:
    print("## Tokens of the surfaces")
    with api(folder / "surfaces-api") as (url, spec):
        server = f'[servers.loop]\nsource = "openapi"\nspec = "{spec}"\nbase_url = "{url}"\n'
        rows = [[surface, *await _surface(surface, folder / surface, server)] for surface in SURFACES]
    calls = [f"{count} call{'s' * (count > 1)}" for count in COUNTS]
    table(["surface", "tools", "definitions", "instructions", "together", *calls], rows)
    specs = Path(os.environ.get("DOORWARD_SPECS", "-"))
    if specs.is_dir():
        await _cards(folder / "cards", {f"s{n}": str(specs / name) for n, name in enumerate(DOCUMENTS)})
        await _direct(folder / "direct", str(specs / DOCUMENTS[0]))
    else:
        print("Cards were left out: set DOORWARD_SPECS to the folder of specifications.\n")


async def _surface(surface: str, folder: Path, server: str) -> Sequence[object]:
    project = Project(folder, server, f'surface = "{surface}"\n{HEAD}')
    project.compile()
    async with connected(project.serve) as client:
        tools = (await client.list_tools()).tools
        definitions = _tokens([tool.model_dump(by_alias=True, exclude_none=True, mode="json") for tool in tools])
        instructions = len((client.instructions or "").encode()) / 4
        tasks = []
        for count in COUNTS:
            spent = 0.0
            for tool, arguments in _task(surface, count):
                answer = await client.call_tool(tool, arguments)
                assert not answer.is_error, answer
                spent += _tokens([tool, arguments]) + len(answer.content[0].text.encode()) / 4
            tasks.append(f"{spent:,.0f}")
        return len(tools), f"{definitions:,.0f}", f"{instructions:,.0f}", f"{definitions + instructions:,.0f}", *tasks


def _task(surface: str, count: int) -> list[tuple[str, dict[str, Any]]]:
    """What an agent sends that finds a function, reads its card, and calls it so often."""
    if surface == "calls":
        call = ("call_function", {"function": "loop.item"})
        return [FIND, READ, *((call[0], {**call[1], "arguments": {"n": n}}) for n in range(count))]
    program = ("execute_code", {"code": ONE_BY_ONE.format(count=count)})
    return [FIND, READ, program] if surface == "standard" else [("execute_code", {"code": FIND_INSIDE}), program]


async def _cards(folder: Path, specs: dict[str, str]) -> None:
    """The card of a function for programs and for calls without code, beside its JSON Schema."""
    project, found = Project(folder, openapi(specs)), dict[str, list[float]]()
    project.compile()
    async with Gateway.open(project.config, compile=False) as gate:
        for server in specs:
            functions = [*gate.catalog.functions(server)]
            for function in random.Random(1).sample(functions, min(CARDS, len(functions))):
                for name, language in (("card for Python", "python"), ("card for calls", "json")):
                    (card,) = await gate.get_functions([function.qualified], language=language)
                    found.setdefault(name, []).append(len(card["text"].encode()) / 4)
                tool = function_tool(function, lambda name, of=server: gate.catalog.definition(of, name))
                sent = _tokens([function.qualified, tool.description, tool.input_schema])
                found.setdefault("JSON Schema of arguments", []).append(sent)
                found.setdefault("and of the answer", []).append(sent + _tokens(tool.output_schema))
    print(f"### How to describe a function: {len(found['card for calls'])} of {len(specs)} documents")
    rows = [[name, *(f"{n:,.0f}" for n in (sum(v) / len(v), median(v), max(v)))] for name, v in found.items()]
    table(["form", "mean", "median", "most"], rows)


async def _direct(folder: Path, spec: str) -> None:
    """What a client sends with each request that has functions as tools, beside a Doorward before as many."""
    rows = []
    for count in DIRECT:
        project = Project(folder / str(count), openapi({"github": spec}))
        project.compile()
        async with Gateway.open(project.config, compile=False) as gate:
            functions = [*gate.catalog.functions("github")][:count]
            direct = 0.0
            for function in functions:
                tool = function_tool(function, lambda name: gate.catalog.definition("github", name))
                direct += _tokens([function.qualified, tool.description, tool.input_schema])
        async with connected(project.serve) as client:
            listed = (await client.list_tools()).tools
            ours = _tokens([[tool.name, tool.description, tool.input_schema] for tool in listed])
            ours += len((client.instructions or "").encode()) / 4
        rows.append([f"{len(functions):,}", f"{direct:,.0f}", f"{ours:,.0f}", f"{direct / ours:,.0f} ×"])
    print("### Functions of GitHub as tools")
    table(["functions", "each a tool", "Doorward, with instructions", "ratio"], rows)


def _tokens(value: Any) -> float:
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()) / 4
