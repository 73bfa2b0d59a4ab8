"""A specification is hostile input: its strings become data, never code, and no line of an answer that is not
theirs."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest

from .forked import Forked
from .product import Agent, Api

pytestmark = pytest.mark.anyio


def attacks(mark: Path) -> list[str]:
    run = f"__import__('os').system('touch {mark}')"
    return [
        run,
        f'"""\n{run}\n"""',
        f"'''\n{run}\n'''",
        f'x"; {run}; "',
        f"x'); {run}; ('",
        f"}}}} {{{{{run}}}}} ${{HOME}} %(x)s {{0.__class__}}",
        f"a\\\n{run}\r\n\u2028{run}\u0085",
        f"\\\"\"\"; {run} #",
        "\x00\x1b[2J\x1b]0;title\x07",
        f"x\n\nimport os\nos.system('touch {mark}')\n",
        "{{constructor.constructor('return process')()}} `touch /tmp/x` $(touch /tmp/x)",
        "../../../../etc/passwd",
        "class", "None", "__init__", "__class__", "import", "self", "print", "result", "_", "", " ", "ﬁ", "9lives", "a" * 5000,
    ]  # fmt: skip


def document(url: str, mark: Path) -> dict[str, Any]:
    """A document in which every string that can be chosen is an attack."""
    paths: dict[str, Any] = {}
    texts = attacks(mark)
    for n, text in enumerate(texts):
        schema = {
            "type": "object",
            "title": text,
            "description": text,
            "properties": {
                text: {"type": "string", "default": text, "description": text, "enum": [text, "b"]},
                "ok": {"type": "integer"},
            },
            "required": [text],
            "x": text,
        }
        parameters = [
            {
                "name": text,
                "in": place,
                "description": text,
                "schema": {"type": "string", "default": text, "example": text},
            }
            for place in ("query", "header", "cookie")
        ]
        parameters.append({"name": "count", "in": "query", "schema": {"type": "integer", "default": text}})
        answer = {"description": text, "content": {"application/json": {"schema": schema, "example": text}}}
        paths[f"/p{n}/{text.replace('{', '(').replace('}', ')')}"] = {
            "post": {
                "operationId": text,
                "summary": text,
                "description": f"{text}\n```python\n{text}\n```",
                "tags": [text],
                "externalDocs": {"url": text, "description": text},
                "parameters": parameters,
                "requestBody": {"description": text, "content": {"application/json": {"schema": schema}}},
                "responses": {"200": answer, text: answer},
            }
        }
    paths["/items/{id}"] = {
        "get": {
            "operationId": "getItem",
            "summary": "Good",
            "parameters": [{"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}}],
            "responses": {"200": {"description": "OK"}},
        }
    }
    return {
        "openapi": "3.0.3",
        "info": {"title": texts[1], "description": texts[2], "version": texts[0]},
        "servers": [{"url": url, "description": texts[0]}],
        "tags": [{"name": text, "description": text} for text in texts],
        "paths": paths,
        "components": {"schemas": {f"S{n}": {"type": "object", "title": text} for n, text in enumerate(texts)}},
    }


async def test_nothing_of_a_hostile_document_is_executed(api: Api, tmp_path: Path) -> None:
    """Compiled, listed, searched, shown, imported and called: no string of it runs, every card is sane, and the good
    operation works.
    CONTRACT: SRC-01, SRC-08, OBS-03."""
    mark = tmp_path / "pwned"
    evil = f'[servers.evil]\nsource = "openapi"\nspec = "evil.json"\nbase_url = "{api.url}"\n'
    project = Forked(tmp_path, f"[limits]\nrate = 1000\n{evil}[executors.monty]\ntype_check = true\n")
    (tmp_path / "evil.json").write_text(json.dumps(document(api.url, mark)))
    compiled = project.run("compile", "--json")
    report = json.loads(compiled.stdout)["servers"]["evil"]
    assert "error" not in report, report
    assert report["functions"] + len(report["skipped"]) == len(attacks(mark)) + 1
    for words in (["list", "evil"], ["search", "touch"]):
        printed = project.run(*words).stdout
        assert "\x1b" not in printed
        assert "\x00" not in printed
    async with project.stdio() as agent:
        names = await every_name(agent)
        assert len(names) == report["functions"]
        assert "evil.get_item" in names
        assert all(name.removeprefix("evil.").isidentifier() for name in names)
        for name in names:
            card = (await agent.call("get_functions", functions=[name]))["functions"][0]
            assert "text" in card, card
            said = {
                type(node).__name__ for node in ast.parse(card["text"]).body
            }  # a card is Python that defines, and no more
            assert said <= {"ImportFrom", "FunctionDef", "ClassDef", "Assign"}, card["text"]
            assert not set(card["text"]) & {"\x00", "\x1b", "\u2028"}
            await agent.client.read_resource(f"doorward://functions/evil/{name.removeprefix('evil.')}")
            await agent.run(f"import evil\nevil.{name.removeprefix('evil.')}()")
            await agent.run(f"from evil import {name.removeprefix('evil.')} as f\nf(body={{}})")
            await agent.run("import doorward\ndoorward.describe(n)\ndoorward.call(n, {})", params={"n": name})
        for text in attacks(mark):
            await agent.call("search_functions", query=text)
            await agent.call("get_functions", functions=[f"evil.{text}"])
            await agent.run("import doorward\nresult = doorward.search(q)", params={"q": text})
        assert await agent.value("import evil\nresult = evil.get_item(id=2)['id']") == 2
    assert not mark.exists()
    assert "Traceback" not in project.said()


async def every_name(agent: Agent) -> list[str]:
    """The names of all functions, page by page."""
    listed = (await agent.call("list_servers"))["servers"][0]
    found = await agent.call(
        "search_functions", query=" ".join(listed["first"]) + " touch os system good post", limit=50
    )
    names = [f["function"] for f in found["functions"]]
    while "cursor" in found:
        found = await agent.call("search_functions", query="", limit=50, cursor=found["cursor"])
        names += [f["function"] for f in found["functions"]]
    code = "import doorward\nresult = [f['function'] for f in doorward.search('', limit=50)['functions']]"
    return sorted({*names, *(await agent.value(code))})
