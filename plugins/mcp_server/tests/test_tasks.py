"""Tasks: a call that takes long is one, for a client that takes such (2026-07-28). Driven by the SDK's own client, whose
seams for extensions carry it."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

import httpx2
import mcp_types as t
import pytest
from doorward.serving import Process
from doorward_mcp_server import tasks
from doorward_mcp_server.server import build
from doorward_mcp_server.suspended_calls import SuspendableCall, SuspendedCalls
from mcp import MCPError
from mcp.client.client import Client
from mcp.client.extension import ClaimContext, ClientExtension, ResultClaim
from mcp.client.streamable_http import streamable_http_client
from pydantic import TypeAdapter

from .test_client_requests import CONFIG, Asks, Ends, red
from .test_mcp_2026 import served
from .test_other_machines import Database

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
ANY = TypeAdapter(dict[str, Any])
TOKENS = "".join(
    f"\n[[principals.{who}.tokens]]\nid = '{who}'\nhash = 'sha256:{hashlib.sha256(who.encode()).hexdigest()}'"
    for who in ("ann", "bob")
)
BLUE = {"action": "accept", "content": {"colour": "blue"}}


class OneTask(t.Result):
    """A task, as a call or a question about it gets it."""

    result_type: Literal["task"] = "task"
    task_id: str
    status: str
    ttl_ms: int | None
    poll_interval_ms: int


class AboutParams(t.RequestParams):
    task_id: str
    input_responses: dict[str, Any] | None = None


class About(t.Request[AboutParams, str]):
    name_param = "taskId"


async def about(session: Any, method: str, id: str, answers: Any = None) -> dict[str, Any]:
    """What the server says of a task."""
    request = About(method=method, params=AboutParams(task_id=id, input_responses=answers))
    return dict(await session.send_request(request, ANY))


class MisnamedParams(AboutParams):
    other: str = "another"


class Misnamed(t.Request[MisnamedParams, str]):
    name_param = "other"


class TakesTasks(ClientExtension):
    """A client's side of the extension: asks until the task is over, and answers what is asked on its way."""

    identifier = tasks.EXTENSION

    def __init__(self) -> None:
        self.seen: list[dict[str, Any]] = []

    def claims(self) -> list[ResultClaim[Any]]:
        return [ResultClaim(result_type="task", model=OneTask, resolve=self.resolve)]

    async def resolve(self, task: OneTask, context: ClaimContext) -> t.CallToolResult:
        while True:
            now = await about(context.session, "tasks/get", task.task_id)
            self.seen.append(now)
            match now["status"]:
                case "completed":
                    return t.CallToolResult.model_validate(now["result"], by_name=False)
                case "input_required":
                    await about(
                        context.session, "tasks/update", task.task_id, dict.fromkeys(now["inputRequests"], BLUE)
                    )
                case "working":
                    await asyncio.sleep(0)
                case ended:
                    raise RuntimeError(f"{ended}: {now}")


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is not over when it is asked for becomes a task."""
    monkeypatch.setattr(tasks, "AFTER_SECONDS", 0.0)


@pytest.fixture
async def gate(doorward_host: Any) -> AsyncIterator[Any]:
    doorward_host.install("source", "asking", Asks)
    async with doorward_host.gateway(CONFIG) as gate:
        yield gate


async def begun(client: Client, code: str = "await weather.sleep(seconds=3600)") -> OneTask:
    """A task that stays at work."""
    return await client.session.call_tool("execute_code", {"code": code}, allow_claimed=True)  # type: ignore[return-value]


@pytest.mark.usefixtures("at_once")
async def test_a_long_call_is_a_task_and_its_answer_the_same(gate: Any) -> None:
    """Asked for until it is over, with a question on its way; a failure of the program is an answer, too."""
    extension = TakesTasks()
    async with Client(build(gate), extensions=[extension], elicitation_callback=red) as client:
        code = "import asyncio\nawait asyncio.sleep(0)\nawait weather.work()\nresult = await weather.colour()"
        answer = await client.call_tool("execute_code", {"code": code})
        assert answer.structured_content["value"] == ["accept", "blue"], answer
        statuses = [now["status"] for now in extension.seen]
        assert statuses[0] == "working"
        assert "input_required" in statuses
        assert statuses[-1] == "completed"
        (question,) = next(now["inputRequests"] for now in extension.seen if "inputRequests" in now).values()
        assert question["params"]["message"] == "weather asks: Which colour?"
        assert all(now["ttlMs"] > tasks.KEPT_SECONDS and now["resultType"] == "complete" for now in extension.seen)
        failed = await client.call_tool("execute_code", {"code": "await weather.work()\n1 / 0"})
        assert failed.is_error
        assert "ZeroDivisionError" in failed.content[0].text


async def test_who_takes_no_tasks_and_what_is_soon_over_gets_the_answer(gate: Any, monkeypatch: Any) -> None:
    """In both eras. The former may not ask for tasks either; the older era does not know them."""
    async with Client(build(gate), extensions=[TakesTasks()]) as client:
        assert client.server_capabilities.extensions == {tasks.EXTENSION: {}}
        assert isinstance(await begun(client, "1 + 1"), t.CallToolResult)
    monkeypatch.setattr(tasks, "AFTER_SECONDS", 0.0)
    for more, code in (({"mode": "auto"}, -32021), ({"mode": "legacy", "extensions": [TakesTasks()]}, -32601)):
        async with Client(build(gate), **more) as client:
            assert isinstance(await begun(client, "await weather.work()"), t.CallToolResult)
            for method in tasks.METHODS:
                with pytest.raises(MCPError) as refused:
                    await about(client.session, method, "x")
                assert refused.value.error.code == code


@pytest.mark.usefixtures("at_once")
async def test_a_cancelled_task_ends_its_run(gate: Any) -> None:
    """What the run said last of its progress stands in the task, as long as it is at work."""
    gate.plugins.manager.register(ends := Ends())
    async with Client(build(gate), extensions=[TakesTasks()]) as client:
        task = await begun(client, "await weather.work()\nawait weather.sleep(seconds=3600)")
        while (now := await about(client.session, "tasks/get", task.task_id)).get("statusMessage") != "step 3":
            assert now["status"] == "working"
        assert "status" not in await about(client.session, "tasks/cancel", task.task_id)
        assert (await about(client.session, "tasks/get", task.task_id))["status"] == "cancelled"
        assert ends.errors == ["Cancelled"]
        for method in ("tasks/cancel", "tasks/update"):  # nothing of it is left to do
            await about(client.session, method, task.task_id)


@asynccontextmanager
async def coming(url: str, who: str) -> AsyncIterator[Any]:
    """The session of a client over HTTP that comes by the token of somebody."""
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {who}"}) as http,
        Client(streamable_http_client(url, http_client=http), extensions=[TakesTasks()]) as client,
    ):
        yield client.session


@pytest.mark.usefixtures("at_once")
async def test_a_task_is_its_principals_by_any_connection(doorward_host: Any) -> None:
    """Another's id is as one that does not exist, word for word, whatever is asked of it; over HTTP, where whoever began
    it is gone, and the header must name the task, too."""
    doorward_host.install("source", "asking", Asks)
    async with doorward_host.gateway(CONFIG + TOKENS) as gate, served(gate) as url:
        async with coming(url, "ann") as session:
            code = {"code": "await weather.sleep(seconds=3600)"}
            id = (await session.call_tool("execute_code", code, allow_claimed=True)).task_id
        unknown = set()
        async with coming(url, "bob") as session:
            for named in (id, id[:-1] + "x", f"{id}x", "", "a.b.c.d", "x" * 10_000):
                for method in tasks.METHODS:
                    with pytest.raises(MCPError) as refused:
                        await about(session, method, named)
                    unknown.add((refused.value.error.code, refused.value.error.message))
        assert unknown == {(-32602, "There is no such task, or it is over and forgotten.")}
        async with coming(url, "ann") as session:
            assert (await about(session, "tasks/get", id))["status"] == "working"
            with pytest.raises(MCPError) as refused:
                await session.send_request(Misnamed(method="tasks/cancel", params=MisnamedParams(task_id=id)), ANY)
            assert refused.value.error.code == -32020
            await about(session, "tasks/cancel", id)
            assert (await about(session, "tasks/get", id))["status"] == "cancelled"


@pytest.mark.usefixtures("at_once")
async def test_tasks_are_few_and_go(gate: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is over makes room for the next of its principal. Where none is over, the client waits as without
    tasks."""
    monkeypatch.setattr(tasks, "MAX_TASKS", 2)
    async with Client(build(gate), extensions=[TakesTasks()]) as client:
        first, second = await begun(client), await begun(client)
        assert isinstance(await begun(client, "await weather.work()"), t.CallToolResult)
        await about(client.session, "tasks/cancel", first.task_id)
        third = await begun(client)
        with pytest.raises(MCPError, match="no such task"):
            await about(client.session, "tasks/get", first.task_id)
        for task in (second, third):
            assert (await about(client.session, "tasks/get", task.task_id))["status"] == "working"


async def test_another_process_answers_for_it_and_a_lost_one_leads_to_its_run(
    doorward_host: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Any process of the state folder is asked for a task; if its own is gone, and the run is stored, the answer says what
    resumes that."""

    async def stored(work: Any) -> None:
        while not work.run:
            await asyncio.sleep(0)

    monkeypatch.setattr(tasks, "AFTER_SECONDS", None)
    monkeypatch.setattr(SuspendableCall, "halted", stored)
    doorward_host.install_real("runs", "doorward-store-sqlite")
    doorward_host.install("source", "asking", Asks)
    config = CONFIG.replace("plugins = []", 'plugins = []\nruns.durable = "always"')
    async with doorward_host.gateway(config) as other, Client(build(other), extensions=[TakesTasks()]) as later:
        async with doorward_host.gateway(config) as gate, Client(build(gate), extensions=[TakesTasks()]) as client:
            id = (await begun(client)).task_id
            now = await about(later.session, "tasks/get", id)
            assert now["status"] == "working"
            assert "is stored" in now["statusMessage"]
            with pytest.raises(MCPError, match="no such task"):
                await about(later.session, "tasks/get", id + "x")
        lost = await about(later.session, "tasks/get", id)
        assert lost["status"] == "completed"
        assert lost["result"]["isError"]
        assert f'resume_run("{id.split(".")[1]}")' in lost["result"]["content"][0]["text"]
        with pytest.raises(MCPError, match="no such task"):
            await about(later.session, "tasks/cancel", id)


@pytest.mark.usefixtures("at_once")
async def test_another_machine_answers_for_it(tmp_path: Path) -> None:
    """By the store that they share; a process that is not there has no tasks."""

    def asking(method: str) -> Any:
        session = SimpleNamespace(client_capabilities=t.ClientCapabilities(extensions={tasks.EXTENSION: {}}))
        return SimpleNamespace(
            protocol_version="2026-07-28", method=method, params={}, request=None, session=session
        )  # fmt: skip

    async def at_work(call: SuspendableCall) -> None:
        await asyncio.Event().wait()

    store, key = Database(None), bytes(32)
    one, other = (SuspendedCalls(5, Process(tmp_path / name), "resume_run", key) for name in ("one", "other"))
    for each in (one, other):
        each.share(store, key)
    try:
        id = (await one.call(asking("tools/call"), None, at_work))["taskId"]
        about = tasks.TaskParams(task_id=id)
        assert (await other.about_task(asking("tasks/get"), about))["status"] == "working"
        assert await other.about_task(asking("tasks/cancel"), about) == {}
        assert (await other.about_task(asking("tasks/get"), about))["status"] == "cancelled"
    finally:
        await one.close()
    with pytest.raises(MCPError, match="no such task"):
        await other.about_task(asking("tasks/get"), about)
    await other.close()
