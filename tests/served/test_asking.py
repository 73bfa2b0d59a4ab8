"""What upstream MCP servers ask reaches the person before the client, and progress the client, in every pairing of eras
and transports."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

import anyio
import mcp_types as t
import pytest
from doorward_testing import reserve_port

from .conftest import LIMITS, WAYS
from .forked import Forked, script
from .product import Agent, Project, apart, connected, end, until

pytestmark = pytest.mark.anyio
SERVER = Path(__file__).resolve().parents[2] / "plugins/mcp_upstream/tests/servers/sdk.py"
UPSTREAMS = ("stdio_modern", "stdio_legacy", "http_modern", "http_legacy")
EVEN, ODD = (
    [
        (way, upstream)
        for one, way in enumerate(WAYS)
        for other, upstream in enumerate(UPSTREAMS)
        if (one ^ other).bit_count() % 2 == rest
    ]
    for rest in (0, 1)
)
"""Halves of all pairings, each with every three of the two eras and the two transports together."""

STDIO = """
[servers.stdio_{era}]
source = "mcp"
command = {command}
env = {{ ERA = "{era}" }}
sampling = true
expose = ["ask"]
"""
HTTP = """
[servers.http_{era}]
source = "mcp"
url = "{url}"
sampling = true
"""


@contextlib.contextmanager
def served_by_http(era: str) -> Iterator[str]:
    """The URL of the fixture server."""
    port = reserve_port()
    url = f"http://127.0.0.1:{port}/mcp"
    process = subprocess.Popen(script(SERVER, "http", str(port)), env={**os.environ, "ERA": era})

    def answers() -> bool:
        try:
            urlopen(url, timeout=5).close()
        except URLError as error:
            return hasattr(error, "status")
        return True

    try:
        assert until(answers)
        yield url
    finally:
        end(process)


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """A project with four upstream servers: of both eras, by both transports."""
    command = json.dumps(script(SERVER, "stdio"))
    config = LIMITS + "timeout = 30\n" + "".join(STDIO.format(era=era, command=command) for era in ("modern", "legacy"))
    with served_by_http("modern") as modern, served_by_http("legacy") as legacy:
        config += HTTP.format(era="modern", url=modern) + HTTP.format(era="legacy", url=legacy)
        project = Forked(tmp_path_factory.mktemp("asked"), config)
        compiled = project.run("compile")
        assert compiled.returncode == 0, compiled.stdout + compiled.stderr
        yield project


async def person(context: Any, params: Any) -> t.ElicitResult:
    return t.ElicitResult(action="accept", content={"name": f"Ann: {params.message}"})


async def model(context: Any, params: Any) -> t.CreateMessageResult:
    return t.CreateMessageResult(role="assistant", content=t.TextContent(text="Hello!"), model="m")


@pytest.fixture(scope="module", params=WAYS)
async def client(request: Any, anyio_backend: str, asked: Project, asked_url: str) -> AsyncIterator[Agent]:
    transport, era = request.param.split("-")
    callbacks = {"elicitation_callback": person, "sampling_callback": model}
    async with apart(
        asked.stdio(era, **callbacks) if transport == "stdio" else connected(asked_url, era, **callbacks)
    ) as agent:
        yield agent


@pytest.fixture(scope="module")
def asked_url(asked: Project) -> Iterator[str]:
    with asked.http() as (url, _):
        yield url


@pytest.mark.parametrize(("client", "upstream"), EVEN, indirect=["client"])
async def test_a_person_is_asked(client: Agent, upstream: str) -> None:
    """Elicitation and sampling, out of one program that goes on with the answers. CONTRACT: EXE-06."""
    code = f"import {upstream} as it\nwho = it.ask()\nsaid = it.sample()\n[who, said['content']['text'], it.echo(text='and on')]"
    first = await client.run(code)
    again = await client.call("run_cached_code", cache_id=first["cache_id"])
    assert again["value"] == (value := first["value"]), again
    assert value[0] == {"action": "accept", "content": {"name": f"Ann: {upstream} asks: Who?"}}
    assert value[1:] == ["Hello!", {"text": "and on"}]


async def test_calls_at_once_ask_at_once(client: Agent) -> None:
    """A server of the older era does not say for which call it asks; those of one run have one client."""
    code = "import asyncio, stdio_legacy as it\nfound = await asyncio.gather(it.ask(), it.ask(), it.ask())\n[who['action'] for who in found]"
    assert (await client.run(code))["value"] == ["accept"] * 3


@pytest.mark.parametrize("upstream", UPSTREAMS[:2])
async def test_a_direct_tool_asks(client: Agent, upstream: str) -> None:
    """CONTRACT: TLF-03."""
    answer = await client.call(f"{upstream}_ask")
    assert answer["content"] == {"name": f"Ann: {upstream} asks: Who?"}


@pytest.mark.parametrize(("client", "upstream"), ODD, indirect=["client"])
async def test_progress_reaches_the_client(client: Agent, upstream: str) -> None:
    told: list[Any] = []

    async def listen(done: float, total: float | None, message: str | None) -> None:
        if not str(message).startswith("running for"):  # on a busy machine it is told that, too
            told.append((done, total, message))

    code = f"import {upstream} as it\nit.steps()\nit.ask()\nit.steps()"
    answer = await client.client.call_tool("execute_code", {"code": code}, progress_callback=listen)
    assert not answer.is_error, answer.content[0].text
    while len(told) < 6:
        await anyio.sleep(0.01)
    assert [rest for _, *rest in told[:3]] == [[3, "step 1"], [3, "step 2"], [3, "step 3"]]
    assert sorted({done for done, *_ in told}) == [done for done, *_ in told]


async def test_nobody_can_be_asked(asked: Project, asked_url: str) -> None:
    """A client that declares nothing: the upstream is told that nobody answers, long before the run's time is over."""
    for era in ("auto", "legacy"):
        async with connected(asked_url, era) as agent:
            values = [(await agent.run(f"import {upstream}\n{upstream}.ask()")) for upstream in UPSTREAMS]
            for answer in values:
                assert (answer.get("error") or {}).get("kind") != "limit", answer
                assert not answer["ok"] or answer["value"]["action"] in ("decline", "cancel"), answer
