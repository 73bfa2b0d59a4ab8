"""Runs that turn to their client: progress, elicitation and sampling, in both eras of the protocol."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import mcp_types as t
import pytest
from doorward import LOCAL, Busy, Call, Compiled, Function, Secret, ServerContext, ServerError, Settings, hookimpl
from doorward.calls.client_requests import RunClient
from doorward.model.clock import Clock
from doorward.plugins.mcp_additions import PRINCIPAL
from doorward_mcp_server import progress, suspended_calls
from doorward_mcp_server.server import build
from mcp import MCPError
from mcp.client.client import Client
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

pytestmark = pytest.mark.anyio
ERAS = pytest.mark.parametrize("era", ["auto", "legacy"])
FORM = {"message": "Which colour?", "requestedSchema": {"type": "object", "properties": {"colour": {"type": "string"}}}}
SAMPLE = {"messages": [{"role": "user", "content": {"type": "text", "text": "hi"}}], "maxTokens": 9}
CONFIG = """
executor = "inprocess"
cache = "none"
plugins = []
[servers.weather]
source = "asking"
expose = ["colour"]
"""


class AskingSettings(Settings):
    token: Secret | None = None


class Asks:
    """A source that turns to the client."""

    Settings = AskingSettings

    def __init__(self, server: ServerContext) -> None:
        self.name, self.settings = server.name, server.settings
        self.asleep = asyncio.Event()

    async def fingerprint(self) -> str:
        return "1"

    async def compile(self) -> Compiled:
        one = {
            "type": "object",
            "properties": {"params": {"type": "object"}, "what": {"type": "string"}, "seconds": {"type": "number"}},
        }
        return Compiled(
            [Function(self.name, name, parameters=one) for name in ("colour", "ask", "work", "left", "sleep", "tell")]
        )

    async def call(self, call: Call) -> Any:
        assert call.client is not None
        params = call.arguments.get("params", FORM)
        secret = self.settings.token.reveal() if self.settings.token else ""
        match call.function.name:
            case "colour":
                answer = await call.client.ask("elicitation/create", {**params, "message": params["message"] + secret})
                return [answer["action"], answer.get("content", {}).get("colour")]
            case "ask":
                return dict(await call.client.ask(call.arguments["what"], params))
            case "left":
                await call.client.ask("elicitation/create", FORM)
                return call.time_left
            case "sleep":
                self.asleep.set()
                await asyncio.sleep(call.arguments["seconds"])
            case "work":
                for done in range(1, 4):
                    await call.client.progress(done, 3, f"step {done}{secret}")
            case "tell":
                for done, total in ((1, None), (float("nan"), 3), (True, None), (2, float("inf")), (1.5, 3), (3, 3)):
                    await call.client.progress(done, total, "x" * 5000)
        return None

    async def close(self) -> None:
        pass


class Ends:
    """A plugin that is told how runs and calls end."""

    def __init__(self) -> None:
        self.errors: list[str | None] = []
        self.calls: list[str] = []

    @hookimpl
    def call_finished(self, call: Any, record: Any) -> None:
        self.calls.append(record.error)

    @hookimpl
    def run_finished(self, program: Any, outcome: Any) -> None:
        self.errors.append(outcome.error.type if outcome.error else None)


@pytest.fixture
def gateway(doorward_host: Any) -> Any:
    def gateway(config: str = CONFIG) -> Any:
        doorward_host.install("source", "asking", Asks)
        return doorward_host.gateway(config)

    return gateway


async def red(context: Any, params: Any) -> t.ElicitResult:
    return t.ElicitResult(action="accept", content={"colour": f"red, {params.message}"})


async def hello(context: Any, params: Any) -> t.CreateMessageResult:
    return t.CreateMessageResult(role="assistant", content=t.TextContent(text="hello"), model="m")


def connected(gate: Any, era: str = "auto", **callbacks: Any) -> Client:
    return Client(build(gate), mode=era, **callbacks)


async def first(client: Client, code: str, **more: Any) -> Any:
    """The answer to a call of `execute_code`, which may be that input is required."""
    return await client.session.call_tool("execute_code", {"code": code}, allow_input_required=True, **more)


@ERAS
async def test_a_run_asks_its_client(gateway: Any, era: str) -> None:
    """Out of a program, a direct tool and one after the other; the program goes on with what the person said. CONTRACT:
    EXE-06."""
    async with gateway() as gate, connected(gate, era, elicitation_callback=red, sampling_callback=hello) as client:
        code = "result = [await weather.colour(), await weather.colour(params={**form, 'message': 'again'})]"
        answer = await client.call_tool("execute_code", {"code": f"form = {FORM!r}\n{code}"})
        assert answer.structured_content["value"] == [
            ["accept", "red, weather asks: Which colour?"],
            ["accept", "red, weather asks: again"],
        ]
        direct = await client.call_tool("weather_colour", {})
        assert direct.structured_content == {"result": ["accept", "red, weather asks: Which colour?"]}
        sampled = await client.call_tool(
            "execute_code", {"code": f"await weather.ask(what='sampling/createMessage', params={SAMPLE!r})"}
        )
        assert sampled.structured_content["value"]["content"] == {"type": "text", "text": "hello"}


@ERAS
async def test_calls_at_once_ask_at_once(gateway: Any, era: str) -> None:
    asked = []

    async def answer(context: Any, params: Any) -> t.ElicitResult:
        asked.append(params.message)
        return t.ElicitResult(action="decline")

    code = (
        f"import asyncio\nform = {FORM!r}\n"
        "result = await asyncio.gather(*(weather.colour(params={**form, 'message': str(i)}) for i in range(5)))"
    )
    async with gateway() as gate, connected(gate, era, elicitation_callback=answer) as client:
        found = await client.call_tool("execute_code", {"code": code})
        assert found.structured_content["value"] == [["decline", None]] * 5
        assert sorted(asked) == [f"weather asks: {i}" for i in range(5)]


@ERAS
async def test_a_client_that_cannot_be_asked(gateway: Any, era: str) -> None:
    """What the client does not declare is not asked, nor what is no question; the former is told apart."""
    url = {"mode": "url", "message": "Log in", "url": "https://example.com/"}
    async with gateway() as gate:
        gate.plugins.manager.register(ends := Ends())
        async with connected(gate, era) as client:
            for what, params, missing in (
                ("elicitation/create", FORM, "does not declare elicitation (form)"),
                ("elicitation/create", url, "does not declare elicitation (url)"),
                ("sampling/createMessage", SAMPLE, "does not declare sampling"),
                ("roots/list", {}, "cannot be asked 'roots/list'"),
                ("elicitation/create", {"message": 1}, "is no elicitation/create: "),
            ):
                answer = await client.call_tool(
                    "execute_code", {"code": f"await weather.ask(what={what!r}, params={params!r})"}
                )
                assert answer.is_error
                assert missing in answer.content[0].text
                kind = "CannotAsk" if "does not declare" in missing else "ServerError"
                assert ends.calls[-1] == kind
        async with connected(gate, era, sampling_callback=hello) as client:
            tools = {**SAMPLE, "tools": [{"name": "x", "inputSchema": {"type": "object"}}]}
            answer = await client.call_tool(
                "execute_code", {"code": f"await weather.ask(what='sampling/createMessage', params={tools!r})"}
            )
            assert "does not declare sampling with tools" in answer.content[0].text


@ERAS
async def test_a_client_that_refuses(gateway: Any, era: str) -> None:
    async def refuse(context: Any, params: Any) -> t.ErrorData:
        return t.ErrorData(code=-32603, message="nobody is here")

    async with gateway() as gate, connected(gate, era, elicitation_callback=refuse) as client:
        if era == "legacy":
            answer = await client.call_tool("execute_code", {"code": "await weather.colour()"})
            assert "the client cannot be asked: nobody is here" in answer.content[0].text
        else:  # the SDK's client does not call again
            with pytest.raises(MCPError, match="nobody is here"):
                await client.call_tool("execute_code", {"code": "await weather.colour()"})


@ERAS
async def test_secrets_are_not_asked_or_told(gateway: Any, era: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN", "tok-123456789")
    told: list[Any] = []

    async def progress(done: float, total: float | None, message: str | None) -> None:
        told.append(message)

    config = f'{CONFIG}token = "${{TOKEN}}"'
    async with gateway(config) as gate, connected(gate, era, elicitation_callback=red) as client:
        answer = await client.call_tool(
            "execute_code", {"code": "await weather.work(), await weather.colour()"}, progress_callback=progress
        )
        assert answer.structured_content["value"][1] == ["accept", "red, weather asks: Which colour?[secret]"]
        assert told == ["step 1[secret]", "step 2[secret]", "step 3[secret]"]


@ERAS
async def test_progress(gateway: Any, era: str) -> None:
    """Calls of one run are added up, and the number always increases."""
    told: list[Any] = []

    async def progress(done: float, total: float | None, message: str | None) -> None:
        told.append((done, total, message))

    async with gateway() as gate, connected(gate, era, elicitation_callback=red) as client:
        await client.call_tool("weather_colour", {}, progress_callback=progress)
        assert told == []
        await client.call_tool("execute_code", {"code": "await weather.work()"}, progress_callback=progress)
        assert told == [(1, 3, "step 1"), (2, 3, "step 2"), (3, 3, "step 3")]
        told.clear()
        both = "import asyncio\nawait asyncio.gather(weather.work(), weather.tell())\nawait weather.colour()\nawait weather.work()"
        await client.call_tool("execute_code", {"code": both}, progress_callback=progress)
        done = [one for one, _, _ in told]
        assert done == sorted(set(done))
        assert told[-1][:2] == (9, 9)
        assert max(len(message or "") for *_, message in told) == 1000
        assert not (await client.call_tool("execute_code", {"code": "await weather.work()"})).is_error


@pytest.mark.slow
@ERAS
async def test_signs_of_life_do_not_count_backwards(
    doorward_host: Any, era: str, monkeypatch: pytest.MonkeyPatch, until: Any
) -> None:
    monkeypatch.setattr(progress, "HEARTBEAT_SECONDS", 0.1)
    told: list[Any] = []

    class Slow(Asks):
        async def call(self, call: Call) -> Any:
            if call.function.name == "sleep":
                return await until(lambda: len(told) >= call.arguments["seconds"])
            return await super().call(call)

    async def listen(done: float, total: float | None, message: str | None) -> None:
        told.append((done, total, message))

    doorward_host.install("source", "asking", Slow)
    async with doorward_host.gateway(CONFIG) as gate, connected(gate, era) as client:
        code = "await weather.sleep(seconds=1)\nawait weather.work()\nawait weather.sleep(seconds=6)"
        await client.call_tool("execute_code", {"code": code}, progress_callback=listen)
        assert told[0][:2] == (1, None)
        assert told[0][2].startswith("running for 0.")
        done = [one for one, _, _ in told]
        assert done == sorted(set(done))
        work = next(i for i, (*_, message) in enumerate(told) if message == "step 1")
        assert told[work][:2] == (work + 1, work + 3)
        assert told[-1][2].startswith("running for")


@pytest.mark.slow
@ERAS
async def test_the_deadline_stands_still(doorward_host: Any, era: str, later: Any) -> None:
    """A person takes longer than the run may; the time that is left is what was left before."""

    class Slow(Asks):
        async def call(self, call: Call) -> Any:
            if call.function.name == "sleep":
                later(call.arguments["seconds"])
                return await asyncio.sleep(3600)
            return await super().call(call)

    async def slowly(context: Any, params: Any) -> t.ElicitResult:
        later(80)
        return t.ElicitResult(action="accept")

    doorward_host.install("source", "asking", Slow)
    async with doorward_host.gateway(CONFIG) as gate, connected(gate, era, elicitation_callback=slowly) as client:
        answer = await client.call_tool("execute_code", {"code": "await weather.left()", "timeout": 50})
        assert 0 < answer.structured_content["value"] < 50
        code = "await weather.left()\nprint('answered')\nawait weather.sleep(seconds=51)"
        late = await client.call_tool("execute_code", {"code": code, "timeout": 50})
        assert late.structured_content["error"]["type"] == "TimeoutError"
        assert late.structured_content["printed"] == "answered\n"


@ERAS
async def test_nobody_is_asked_for_ever(gateway: Any, era: str, later: Any) -> None:
    """All waiting of a run together is bounded."""
    waiting = asyncio.Event()

    async def never(context: Any, params: Any) -> t.ElicitResult:
        later(61)
        await waiting.wait()
        raise AssertionError

    config = CONFIG.replace("[servers.weather]", "[limits]\nasking = 60\n[servers.weather]")
    async with gateway(config) as gate, connected(gate, era, elicitation_callback=never) as client:
        if era == "legacy":
            answer = await client.call_tool("execute_code", {"code": "await weather.colour()"})
            assert "did not answer within the 60 s" in answer.content[0].text
        else:
            asked = await first(client, "await weather.colour()")
            later(61)
            while isinstance(asked, t.InputRequiredResult):
                asked = answer = await first(client, "await weather.colour()", request_state=asked.request_state)
            assert "did not answer within the 60 s" in answer.content[0].text


async def test_tokens_are_good_for_one_retry(gateway: Any) -> None:
    """An unknown, a used and a changed token, and other arguments: a clear answer, and nothing runs."""
    code = "await weather.colour()"
    yes = {"1": t.ElicitResult(action="accept", content={"colour": "blue"})}
    async with (
        gateway() as gate,
        gateway('state = "elsewhere"' + CONFIG) as stranger,
        connected(gate, elicitation_callback=red) as client,
        connected(stranger, elicitation_callback=red) as other,
    ):
        asked = await first(client, code)
        assert isinstance(asked, t.InputRequiredResult)
        assert asked.input_requests is not None
        assert list(asked.input_requests) == ["1"]
        for state in ("nonsense", asked.request_state[:-2] + "AA", ""):
            with pytest.raises(MCPError, match="Invalid or expired requestState"):
                await first(client, code, input_responses=yes, request_state=state)
        with pytest.raises(MCPError, match="Invalid or expired requestState"):
            await first(client, code + "\n", input_responses=yes, request_state=asked.request_state)
        with pytest.raises(MCPError, match="Invalid or expired requestState"):  # another state folder has another key
            await first(other, code, input_responses=yes, request_state=asked.request_state)
        again = await first(client, code, input_responses={}, request_state=asked.request_state)
        assert isinstance(again, t.InputRequiredResult)
        used = await first(client, code, input_responses=yes, request_state=asked.request_state)
        assert used.is_error
        assert "has been answered already" in used.content[0].text
        answer = await first(client, code, input_responses=yes, request_state=again.request_state)
        assert answer.structured_content["value"] == ["accept", "blue"]


async def test_an_answer_that_is_none(gateway: Any) -> None:
    wrong = {"1": t.ListRootsResult(roots=[])}
    async with gateway() as gate, connected(gate, elicitation_callback=red) as client:
        asked = await first(client, "await weather.colour()")
        answer = await first(client, "await weather.colour()", input_responses=wrong, request_state=asked.request_state)
        assert "not an answer to it" in answer.content[0].text


async def test_an_answer_that_comes_too_late() -> None:
    """Whoever asked has just stopped waiting, and has not noticed yet: the answer is dropped."""
    asked = t.ElicitRequest(
        params=t.ElicitRequestFormParams(message="?", requested_schema={"type": "object", "properties": {}})
    )
    run = suspended_calls.SuspendableCall(
        SimpleNamespace(request=None, params={"inputResponses": {"1": {"action": "accept"}}}), lambda who: None
    )
    waited: asyncio.Future[Mapping[str, Any]] = asyncio.get_running_loop().create_future()
    run.open["1"] = asked, waited
    waited.cancel()
    run.answered(run.ctx.params["inputResponses"])
    assert not run.open


async def test_suspended_runs_are_bounded(gateway: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suspended_calls, "MAX_WAITING_RUNS", 2)
    async with gateway() as gate, connected(gate, elicitation_callback=red) as client:
        asked = [await first(client, "await weather.colour()") for _ in range(2)]
        full = await first(client, "await weather.colour()")
        assert "2 runs wait for answers already" in full.content[0].text
        yes = {"1": t.ElicitResult(action="accept")}
        assert not (
            await first(client, "await weather.colour()", input_responses=yes, request_state=asked[0].request_state)
        ).is_error
        assert isinstance(await first(client, "await weather.colour()"), t.InputRequiredResult)


@pytest.mark.slow
async def test_principals_share_the_places_of_suspended_runs() -> None:
    """One has half of them at most, and is told so; there is one for whoever comes next. `local` may have all."""

    async def asks(run: suspended_calls.SuspendableCall) -> Any:
        return await run.ask(
            "elicitation/create", {"message": "?", "requestedSchema": {"type": "object", "properties": {}}}
        )

    def request(who: str) -> Any:
        can = t.ClientCapabilities(elicitation=t.ElicitationCapability())
        session = SimpleNamespace(client_capabilities=can)
        of = None if who == LOCAL else SimpleNamespace(scope={PRINCIPAL: who})
        return SimpleNamespace(
            request=of, session=session, protocol_version=MODERN_PROTOCOL_VERSIONS[-1], params={}, meta=None
        )

    runs = suspended_calls.SuspendedCalls(5)
    try:
        for who, most in (
            ("mallory", suspended_calls.MAX_WAITING_RUNS // 2),
            ("alice", suspended_calls.MAX_WAITING_RUNS // 4),
            ("bob", suspended_calls.MAX_WAITING_RUNS // 8),
            (LOCAL, suspended_calls.MAX_WAITING_RUNS // 8),
        ):
            for _ in range(most):
                assert isinstance(await runs.call(request(who), None, asks), t.InputRequiredResult)
            with pytest.raises(Busy, match=f"{most} of them yours"):
                await runs.call(request(who), None, asks)
    finally:
        await runs.close()


async def test_a_client_that_does_not_come_back(
    gateway: Any, doorward_host: Any, monkeypatch: pytest.MonkeyPatch, later: Any, until: Any
) -> None:
    """The run ends by itself, and is forgotten; one that catches the error is ended."""
    monkeypatch.setattr(suspended_calls, "GRACE_SECONDS", 60)
    ends = Ends()
    doorward_host.install("plugin", "ends", ends)
    config = CONFIG.replace("plugins = []", 'plugins = ["ends"]').replace(
        "[servers.weather]", "[limits]\nasking = 60\n[servers.weather]"
    )
    async with gateway(config) as gate, connected(gate, elicitation_callback=red) as client:
        stubborn = "try:\n    await weather.colour()\nexcept Exception:\n    await weather.sleep(seconds=3600)"
        tokens = [(await first(client, code)).request_state for code in ("await weather.colour()", stubborn)]
        later(61)
        await until(lambda: ends.errors == ["LimitExceeded"])
        later(61)
        await until(lambda: ends.errors == ["LimitExceeded", "Cancelled"])
        with pytest.raises(MCPError, match="Invalid or expired requestState"):
            await first(client, stubborn, request_state=tokens[1])


@pytest.mark.slow
async def test_everything_ends_with_the_server(gateway: Any, doorward_host: Any, until: Any) -> None:
    """A client that goes away ends both suspended and running calls."""
    ends = Ends()
    doorward_host.install("plugin", "ends", ends)
    before = asyncio.all_tasks()
    async with gateway(CONFIG.replace("plugins = []", 'plugins = ["ends"]')) as gate:
        async with connected(gate, elicitation_callback=red) as client:
            await first(client, "await weather.colour()")
            running = asyncio.ensure_future(first(client, "await weather.sleep(seconds=3600)"))
            await gate.servers.source("weather").asleep.wait()
            running.cancel()
            await until(lambda: ends.errors == ["Cancelled"])
        assert ends.errors == ["Cancelled", "Cancelled"]
    gc.collect()
    assert asyncio.all_tasks() <= before


@pytest.mark.slow
@ERAS
async def test_cancelling_a_question_ends_the_run(gateway: Any, doorward_host: Any, era: str, until: Any) -> None:
    ends = Ends()
    doorward_host.install("plugin", "ends", ends)
    asked = asyncio.Event()

    async def never(context: Any, params: Any) -> t.ElicitResult:
        asked.set()
        await asyncio.sleep(3600)
        raise AssertionError

    async with (
        gateway(CONFIG.replace("plugins = []", 'plugins = ["ends"]')) as gate,
        connected(gate, era, elicitation_callback=never) as client,
    ):
        code = "import asyncio\nawait asyncio.gather(weather.colour(), weather.sleep(seconds=3600))"
        call = asyncio.ensure_future(client.call_tool("execute_code", {"code": code}))
        await asked.wait()
        call.cancel()
        await asyncio.wait([call])
        if era == "legacy":
            await until(lambda: ends.errors)
    assert ends.errors == ["Cancelled"]


async def test_library_clients(gateway: Any) -> None:
    """Who uses the gateway as a library gives a client of their own."""
    told: list[Any] = []

    class Mine:
        async def progress(self, done: float, total: float | None = None, message: str = "") -> None:
            told.append(done)

        async def ask(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
            if params["message"] != "weather asks: Which colour?":
                raise ServerError("not now")
            return {"action": "accept", "content": {"colour": "green"}}

    async with gateway() as gate:
        assert (await gate.execute("await weather.colour()", client=Mine())).value == ["accept", "green"]
        assert (await gate.answer("weather.colour", client=Mine())).value == ["accept", "green"]
        await gate.execute("await weather.work()", client=Mine())
        assert told == [1, 2, 3]
        failed = await gate.answer("weather.colour", {"params": {**FORM, "message": "?"}}, client=Mine())
        assert failed.error.message == "not now"


async def test_a_question_shows_who_asks_whatever_it_holds() -> None:
    """Its texts cannot turn around, hide or scroll away the name of the server; what is no web page is not opened."""
    asked: list[Any] = []

    class Client:
        async def ask(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
            asked.append(params)
            return {"action": "decline"}

    client = RunClient(Client(), Clock(), 5).of_call("evil", lambda value: value)  # type: ignore[arg-type]
    field = {"type": "string", "title": "\u202eToken", "enum": ["a\u00a0b"]}
    form = {"type": "object", "properties": {"a": field}}
    await client.ask(
        "elicitation/create",
        {"message": "\r\x1b[2K\u202eX\nY" + "z" * 9000, "requestedSchema": form, "_meta": {"a": 1}},
    )
    assert asked[0]["message"].startswith("evil asks:  X\nYzzz")
    assert len(asked[0]["message"]) < 5000
    assert asked[0]["requestedSchema"]["properties"]["a"] == {**field, "title": "Token"}
    assert "_meta" not in asked[0]
    for params in (
        {"mode": "url", "url": "javascript:alert(1)"},
        {"message": "", "requestedSchema": {"enum": ["x"] * 10_000}},
    ):
        with pytest.raises(ServerError):
            await client.ask("elicitation/create", params)
    assert len(asked) == 1


@ERAS
async def test_single_calls_turn_to_the_client_too(gateway: Any, era: str) -> None:
    """With `surface = "calls"`: questions, and progress of what the source does."""
    steps: list[float] = []

    async def step(done: float, total: float | None, message: str | None) -> None:
        steps.append(done)

    async with (
        gateway('surface = "calls"\n' + CONFIG) as gate,
        Client(build(gate), mode=era, elicitation_callback=red) as client,
    ):
        answer = await client.call_tool("call_function", {"function": "weather.colour"})
        assert answer.structured_content["value"] == ["accept", "red, weather asks: Which colour?"]
        await client.call_tool("call_function", {"function": "weather.work"}, progress_callback=step)
        assert steps[-1] == 3
