"""The cost of many servers, principals and patterns: the same work with 1, 10, 100 and 500
servers of 40 functions each; and of packages with plugins that nothing names."""

from __future__ import annotations

import json
import resource
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

from common import Project, Wire, median, openapi, table
from doorward.gateway import Gateway
from memory import IDLE_SECONDS, held
from program import api

SIZES = (1, 10, 100, 500)
FUNCTIONS = 40
PRINCIPALS = 100
"""The largest number of principals; there is one for each server. Each has half of the servers, listed by name, with a
pattern for each of what it may call."""

VERBS, NOUNS = (
    ("get", "list", "create", "update", "delete"),
    ("issue", "customer", "channel", "pod", "file", "payment", "team", "note"),
)
PACKAGES = (0, 1, 10, 50)
"""Installed packages of which each has plugins of all kinds, and none is configured."""

METHODS = {"create": "post", "update": "patch", "delete": "delete"}

Took = dict[str, float]
"""CPU milliseconds (other work on the machine hardly changes them) or tokens, by what was measured."""


async def run(folder: Path) -> None:
    with api(folder / "scale-api") as (url, _):
        found = {size: await _measured(folder / f"scale-{size}", size, url) for size in SIZES}
    print(
        f"## Scale: servers of {FUNCTIONS} functions, and as many principals (at most {PRINCIPALS}); in brackets × of "
        f"one server"
    )
    rows = [[what, *(_cell(found[size][what], found[SIZES[0]][what]) for size in SIZES)] for what in found[SIZES[0]]]
    table(["CPU ms, tokens, or MB", *(f"{size} server{'s' * (size > 1)}" for size in SIZES)], rows)
    print("## Scale: packages with plugins that are installed, and not configured")
    project = Project(folder / "scale-packages")
    project.compile()
    columns = [_with_packages(project, folder / f"scale-site-{count}", count) for count in PACKAGES]
    rows = [[what, *(_cell(column[what], columns[0][what]) for column in columns)] for what in columns[0]]
    table(["CPU ms, or MB", *map(str, PACKAGES)], rows)


def _cell(value: float, one: float) -> str:
    return (
        f"{value:,.0f}" + (f" ({value / one:.1f})" if one else "")
        if value >= 100
        else f"{value:.2f} ({value / one:.1f})"
    )


async def _measured(folder: Path, size: int, url: str) -> Took:
    servers = openapi(_documents(folder, size)).replace("http://127.0.0.1:9", url)
    project = Project(folder, servers + _principals(size))
    took = {"`doorward compile`, first": _of_processes(project.compile)}
    took["`doorward compile`, nothing has changed"] = _of_processes(project.compile, 3)
    took["`doorward serve` to the first `tools/list`, and its end"] = _of_processes(lambda: _served(project.serve), 3)
    async with Gateway.open(project.config, compile=False) as gate:
        for who in ("local", "p0", "few"):
            about = {"local": "everything is theirs", "p0": "half is, by exact patterns", "few": "3 servers are"}[who]

            async def execute(who: str = who) -> Any:
                assert (await gate.execute("result = 1", principal=who)).ok

            async def search(who: str = who) -> Any:
                assert (await gate.search_functions("create a payment for the team", principal=who))["total"]

            async def unknown(who: str = who) -> Any:
                assert "error" in (await gate.get_functions(["api_0.get_isue_0"], principal=who))[0]

            async def call(who: str = who) -> Any:
                assert await gate.call("api_0.get_issue_0", {"id": "1"}, principal=who)

            took[f"`execute_code('result = 1')`, {about}"] = await _here(execute)
            took[f"`Gateway.call`, {about}"] = await _here(call)
            took[f"`search_functions`, {about}"] = await _here(search)
            took[f"`get_functions` of a name that is none, {about}"] = await _here(unknown)
        listed = await gate.list_servers(limit=50)
        took["`list_servers`, first page"] = await _here(lambda: gate.list_servers(limit=50))
    wire = Wire(project.serve).connect()
    wire.ask("tools/list")
    time.sleep(IDLE_SECONDS)
    took["MB of an idle `doorward serve`"] = held(wire.process)[0]
    answer = await wire.call("list_servers")
    wire.close()
    assert answer["structuredContent"]["servers"] == listed["servers"]
    took["tokens of `list_servers`, text"] = len(answer["content"][0]["text"].encode()) / 4
    took["tokens of `list_servers`, structured"] = len(json.dumps(answer["structuredContent"]).encode()) / 4
    return took


def _with_packages(project: Project, site: Path, count: int) -> Took:
    """A start with so many packages more."""
    kinds = ("source", "auth", "cache", "executor", "observer", "plugins", "command")
    for number in range(count):
        about = site / f"more_{number}-1.0.dist-info"
        about.mkdir(parents=True)
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: more-{number}\nVersion: 1.0\n")
        points = (f"[doorward.{kind}]\nmore{number}{kind} = more_{number}:Plugin\n" for kind in kinds)
        (about / "entry_points.txt").write_text("\n".join(points))
    serve = ["env", f"PYTHONPATH={site}", *project.serve]
    took = {"`doorward serve` to the first `tools/list`, and its end": _of_processes(lambda: _served(serve), 5)}
    wire = Wire(serve).connect()
    wire.ask("tools/list")
    time.sleep(IDLE_SECONDS)
    took["MB of an idle `doorward serve`"] = held(wire.process)[0]
    wire.close()
    return took


def _documents(folder: Path, size: int) -> dict[str, str]:
    """Write a document for each server below the folder. Returns: the documents by server name."""
    below = folder.with_name(f"{folder.name}-documents")
    below.mkdir(parents=True)
    found = {}
    for number in range(size):
        paths = {}
        for n in range(FUNCTIONS):
            verb, noun = VERBS[n % len(VERBS)], NOUNS[n % len(NOUNS)]
            operation = {
                "operationId": f"{verb}_{noun}_{n}",
                "summary": f"{verb.title()} {noun} {n} of the API {number}",
            }
            operation |= {
                "parameters": [{"name": "id", "in": "query", "schema": {"type": "string"}}],
                "responses": {"200": {}},
            }
            paths[f"/{noun}s/{n}"] = {METHODS.get(verb, "get"): operation}
        file = below / f"api-{number}.json"
        file.write_text(
            json.dumps({"openapi": "3.1.0", "info": {"title": f"API {number}", "version": "1"}, "paths": paths})
        )
        found[f"api-{number}"] = str(file)
    return found


def _principals(size: int) -> str:
    tables = ""
    for number in range(min(size, PRINCIPALS)):
        theirs = [f"api-{(number + n) % size}" for n in range(max(1, size // 2))]
        allowed = json.dumps([f"{name}.*" for name in theirs])
        tables += f"[principals.p{number}]\nservers = {json.dumps(theirs)}\nallow = {allowed}\n"
    few = [f"api-{number}" for number in range(min(3, size))]
    return f"{tables}[principals.few]\nservers = {json.dumps(few)}\n"


def _served(command: Sequence[str]) -> None:
    wire = Wire(command)
    wire.connect().ask("tools/list")
    wire.close()


def _of_processes(work: Callable[[], Any], rounds: int = 1) -> float:
    """CPU milliseconds of the processes that the work starts; the median of a few rounds."""
    took = []
    for _ in range(rounds):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        work()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        took.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return 1000 * median(took)


async def _here(work: Callable[[], Awaitable[Any]], rounds: int = 25) -> float:
    """CPU milliseconds of this process, which contains the gateway; the median."""
    took = []
    for number in range(-3, rounds):
        started = time.process_time()
        await work()
        took += [time.process_time() - started] if number >= 0 else []
    return 1000 * median(took)
