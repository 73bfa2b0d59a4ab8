"""A configuration that changes beside a running `doorward serve`: its servers are taken over, nothing else is
disturbed."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event
from typing import Any

import anyio
import pytest
from doorward import Gateway, Refused
from doorward.config.config import load
from mcp_types import ResourceListChangedNotification, ToolListChangedNotification

from .forked import Forked
from .product import BASE, Answering, Project, connected, web

pytestmark = pytest.mark.anyio


class Slow(Answering):
    """`/wait` answers when told; every other path at once, with itself and the key that it came with."""

    asked = Event()
    told = Event()

    def do_GET(self) -> None:
        if self.path.endswith("/wait"):
            self.asked.set()
            self.told.wait(60)
        self.answer([self.path, self.headers.get("X-Key")])


@pytest.fixture(name="api")
def _api() -> Iterator[str]:
    Slow.asked, Slow.told = Event(), Event()
    with web(Slow) as url:
        yield url
        Slow.told.set()


@pytest.fixture(name="project")
def _project(tmp_path: Path, api: str) -> Project:
    document = {
        "openapi": "3.1.0",
        "info": {"title": "Slow", "description": "Answers when\nit is told"},
        "paths": {"/wait": {"get": {"operationId": "wait"}}, "/now": {"get": {"operationId": "now"}}},
    }
    (tmp_path / "api.json").write_text(json.dumps(document))
    return Forked(tmp_path, server("one", api))


def server(name: str, url: str, more: str = "") -> str:
    return f'[servers.{name}]\nsource = "openapi"\nspec = "api.json"\nbase_url = "{url}"\n{more}\n'


async def soon(found: Callable[[], Any]) -> Any:
    """What `found` answers (or will) as soon as it is true."""
    with anyio.fail_after(60):
        while True:
            answer = found()
            if answer := await answer if asyncio.iscoroutine(answer) else answer:
                return answer
            await anyio.sleep(0.05)


async def servers(agent: Any) -> list[str]:
    return [each["name"] for each in (await agent.call("list_servers"))["servers"]]


@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_add_beside_serve(project: Project, api: str, transport: str) -> None:
    """What `doorward add` adds is there for a client that is connected, who is told; a session and its variables
    stay. CONTRACT: OBS-04."""
    notes: list[Any] = []

    async def told(message: Any) -> None:
        notes.append(message)

    async def work(agent: Any) -> None:
        first = await agent.run("import one\nkept = one.now()", session_id="new")
        await agent.client.list_tools()
        await agent.client.list_resources()
        added = await anyio.to_thread.run_sync(
            project.run, "add", "openapi", "two", "api.json", "--base-url", f"{api}/v2", "--expose", "now"
        )
        assert added.returncode == 0, added.stderr

        async def there() -> bool:
            return await servers(agent) == ["one", "two"]

        await soon(there)
        assert "two: 2 functions: wait, now\n  Answers when it is told" in agent.text
        assert (await agent.run("import two\nresult = [kept, two.now()]", session_id=first["session_id"]))["value"] == [
            ["/now", None],
            ["/v2/now", None],
        ]

        async def exposed() -> bool:
            return "two_now" in [tool.name for tool in (await agent.client.list_tools()).tools]

        await soon(exposed)
        kinds = (ToolListChangedNotification, ResourceListChangedNotification)
        await soon(lambda: all(any(isinstance(note, kind) for note in notes) for kind in kinds))

    if transport == "stdio":
        async with project.stdio("legacy", message_handler=told) as agent:
            await work(agent)
    else:
        with project.http() as (url, _):
            async with connected(url, "legacy", message_handler=told) as agent:
                await work(agent)


async def test_a_call_ends_that_was_made_before(project: Project, api: str) -> None:
    """A program that waits for an answer gets it though its server is changed and then removed; what it calls next goes
    where the configuration says, or nowhere."""
    async with Gateway.open(project.file) as gate:
        await gate.compile()
        code = "import one\nfirst = one.wait()\ntry:\n    then = one.now()\nexcept Exception as e:\n    then = str(e)\nresult = [first, then]"
        for change, second in (
            (server("one", f"{api}/new", 'headers = { X-Key = "k" }'), ["/new/now", "k"]),
            (server("other", api), "there is no function 'one.now'"),
        ):
            Slow.asked.clear()
            Slow.told.clear()
            running = asyncio.ensure_future(gate.execute(code))
            await anyio.to_thread.run_sync(Slow.asked.wait, 60)
            before = gate.servers.revision
            project.configure(change)
            await soon(lambda before=before: gate.servers.revision > before)
            await soon(lambda: not gate.compiler.stale())
            Slow.told.set()
            outcome = await running
            assert outcome.ok, outcome.error
            assert outcome.value[0][0].endswith("/wait")
            assert outcome.value[1] == second or outcome.value[1].startswith(str(second))
        assert gate.servers.names("local") == ("other",)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[servers.two", "configuration_not_used"),
        ('nonsense = 1\n[servers.two]\nsource = "openapi"\nspec = "api.json"\n', "nonsense"),
        (
            '[policy]\ndeny = ["*"]\n[servers.two]\nsource = "openapi"\nspec = "api.json"\n',
            "policy: read at the start only",
        ),
        (
            '[principals.local]\ndeny = ["*"]\n[servers.two]\nsource = "openapi"\nspec = "api.json"\n',
            "principals.local: read at the start only",
        ),
        ('[servers.one]\nsource = "openapi"\nspec = 1\nread_only = 3\n', "server one"),
        (None, "configuration_gone"),
    ],
    ids=["no TOML", "unknown key", "policy", "rights", "a server that was good", "no file"],
)
async def test_what_cannot_be_used_changes_nothing(project: Project, text: str | None, why: str) -> None:
    """A file that is wrong, or that changes what is read at the start, leaves all as it was, with one line in the log;
    a good one later is used."""
    good = project.file.read_text()
    async with project.stdio() as agent:
        assert await servers(agent) == ["one"]
        if text is None:
            project.file.unlink()
        else:
            project.configure(text)
        await soon(lambda: why in project.said())
        assert await servers(agent) == ["one"]
        assert await agent.value("import one\nresult = one.now()") == ["/now", None]
        said = project.said().count("configuration_")
        project.file.write_text(good + good.replace(BASE, "").replace("servers.one", "servers.two"))

        async def there() -> bool:
            return await servers(agent) == ["one", "two"]

        await soon(there)
        assert project.said().count("configuration_") == said == 1


async def test_a_broken_server_beside_a_good_one(project: Project) -> None:
    """A new server that is wrong is listed as such, and is served once it is mended; one that is disabled is gone."""
    async with Gateway.open(project.file) as gate:
        await gate.compile()
        project.change(last='[servers.odd]\nsource = "openapi"\nspec = ["x"]\n')

        async def listed() -> dict[str, Any]:
            return {each["name"]: each for each in (await gate.list_servers())["servers"]}

        async def odd() -> bool:
            return "broken" in (await listed()).get("odd", {})

        await soon(odd)
        assert (await gate.call("one.now")) == ["/now", None]
        project.change('spec = ["x"]', 'spec = "api.json"')

        async def mended() -> bool:
            return (await listed()).get("odd", {}).get("functions") == 2

        await soon(mended)
        project.change("[servers.odd]", "[servers.odd]\ndisabled = true")

        async def gone() -> bool:
            return [*await listed()] == ["one"]

        await soon(gone)
        project.change("[servers.one]", "[servers.one]\nread_only = true\nexclude = ['wait']")

        async def narrowed() -> bool:
            return (await listed())["one"]["first"] == ["now"]

        await soon(narrowed)


async def test_what_changes_while_a_gateway_opens_is_seen(project: Project) -> None:
    """A server that is added between the reading of the file and the first look at it is served, too."""
    loaded = load(project.file)
    project.configure(
        project.file.read_text().replace(BASE, "") + project.file.read_text().replace(BASE, "").replace("one", "two")
    )
    async with Gateway.open(loaded) as gate:
        assert gate.servers.names("local") == ("one",)
        await soon(lambda: gate.servers.names("local") == ("one", "two"))


async def test_what_is_excluded_is_refused_at_once(project: Project, api: str) -> None:
    """Also while the document is asked for, with which its upstream may take its time: what was compiled before is no
    licence."""
    async with Gateway.open(project.file) as gate:
        await gate.compile()
        assert (await gate.call("one.now")) == ["/now", None]
        before = gate.servers.revision
        project.configure(
            f'[servers.one]\nsource = "openapi"\nspec = "{api}/wait"\nbase_url = "{api}"\nexclude = ["now"]\n'
        )
        await soon(lambda: gate.servers.revision > before)
        await anyio.to_thread.run_sync(Slow.asked.wait, 60)
        with pytest.raises(Refused, match=r"one.now is left out by `exclude` of \[servers.one\]"):
            await gate.call("one.now")
        Slow.told.set()
