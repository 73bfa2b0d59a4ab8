"""Plugins may change what a program gets, by every way by which words of an upstream reach it."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
import structlog
from doorward import (
    ApiError,
    Call,
    Compiled,
    File,
    Function,
    GuardRefused,
    PluginError,
    Reply,
    ServerContext,
    ServerError,
    Settings,
    ToolError,
    hookimpl,
)
from doorward.plugins import result_changes
from doorward_testing.samples import InProcess, Replies

pytestmark = pytest.mark.anyio

SSN = "078-05-1120"


class Registry:
    """A source that says the same number in every place."""

    Settings = Settings

    def __init__(self, server: ServerContext[Settings]) -> None:
        self.name = server.name

    async def fingerprint(self) -> str:
        return "1"

    async def compile(self) -> Compiled:
        how = {"type": "object", "properties": {"how": {"type": "string"}}}
        return Compiled([Function(self.name, "get", parameters=how)])

    async def call(self, call: Call) -> Any:
        match call.arguments.get("how"):
            case "error":
                body = {"detail": [{"input": SSN}], SSN: 1}
                raise ApiError(f"422: {SSN} is taken", status=422, body=body, hint=f"Not {SSN}.")
            case "tool error":
                raise ToolError(f"there is no {SSN}")
            case "server error":
                raise ServerError(f"it said: {SSN}")
            case "defect":
                raise KeyError(SSN)
            case "bytes":
                return Reply(SSN.encode(), type="text/x", name=f"{SSN}.txt")
            case "listed bytes":
                return [SSN.encode(), File(SSN.encode(), name=f"{SSN}.txt")]
            case "page":
                return Reply({"items": [{"ssn": SSN}]}, headers={"X-Ssn": SSN}, left=f"it is about {SSN}")
            case "text":
                return SSN
        return {"ssn": SSN, "others": [SSN, {SSN: 1}], "n": 1}

    async def close(self) -> None: ...


def clean(value: Any) -> Any:
    match value:
        case str():
            return value.replace(SSN, "[ssn]")
        case bytes():
            return value.replace(SSN.encode(), b"[ssn]")
        case File():
            return File(clean(value.content), value.type, clean(value.name))
        case dict():
            return {clean(key): clean(part) for key, part in value.items()}
        case list():
            return [clean(part) for part in value]
        case ApiError():
            hint = clean(value.hint)
            return ApiError(clean(value.message), status=value.status, body=clean(value.body), hint=hint)
        case ServerError():
            value.message = clean(value.message)  # in place
            return None
    return value


class Redacts:
    @hookimpl
    def change_result(self, result: Any) -> Any:
        return clean(result)


def answering(answer: Any) -> Any:
    class Answers:
        @hookimpl
        def change_result(self, call: Call, result: Any) -> Any:
            if isinstance(answer, Exception):
                raise answer
            return answer(result) if callable(answer) else answer

    return Answers()


@pytest.fixture
def gateway(host: Any) -> Any:
    def opened(**plugins: Any) -> Any:
        host.entries.clear()
        host.install("source", "registry", Registry)
        host.install("executor", "inprocess", InProcess)
        for name, thing in {**plugins, "replies": Replies}.items():
            host.install("plugin", name, thing)
        return host.gateway(
            f'executor = "inprocess"\ncache = "none"\nplugins = {[*plugins, "replies"]}\n[servers.other]\nsource = "registry"'
        )

    return opened


REPLIES = "replies"
WAYS = ["value", "text", "error", "tool error", "server error", "bytes", "listed bytes", "page", "defect"]


@pytest.mark.parametrize("how", WAYS)
async def test_no_way_leads_past_it(gateway: Any, how: str) -> None:
    """Values, bytes with their names, errors with message, hint and body, headers and what is said about pages."""
    async with gateway(redacts=Redacts()) as gate:
        heard: list[Any] = []
        gate.on_answer(lambda call, reply: heard.append(reply))
        run = gate.execution.of_call("local")
        seen: list[Any] = []
        for helper in ("other.get", "doorward.replies.reply"):
            given = {"how": how} if helper == "other.get" else {"function": "other.get", "arguments": {"how": how}}
            try:
                seen.append(await run.call(helper, (), given))
            except Exception as error:
                seen += [str(error), getattr(error, "hint", ""), getattr(error, "body", "")]
        outcome = await gate.answer("other.get", {"how": how})
        code = f"try:\n    print(await other.get(how={how!r}))\nexcept Exception as e:\n    print(e)"
        ran = [await gate.execute(code), await gate.execute(f"await other.get(how={how!r})")]
        files = [(await gate.file(artefact["artefact"])).content for artefact in _handles(seen)]
        learned = str([gate.catalog.function("other", "get"), heard])
    told = repr([seen, run.notes, outcome, ran, files, learned])
    assert SSN not in told
    assert SSN[::-1] not in told
    assert how == "defect" or "[ssn]" in told


def _handles(value: Any) -> list[dict[str, Any]]:
    if isinstance(value, dict):
        return [value] if "artefact" in value else [found for part in value.values() for found in _handles(part)]
    return [found for part in value for found in _handles(part)] if isinstance(value, list) else []


async def test_each_gets_what_the_former_made(gateway: Any) -> None:
    """In the order of the configuration; `None` changes nothing, and guards and the scrubber come last."""
    seen: list[Any] = []

    class Guards:
        @hookimpl
        def guard_result(self, result: Any) -> str | None:
            seen.append(result)
            return None

    plugins = {
        "guard": Guards(),
        "one": answering(lambda result: [result, 1]),
        "none": answering(None),
        "two": answering(lambda result: [*result, 2]),
    }
    async with gateway(**plugins) as gate:
        gate.secrets.remember("a-known-secret")
        assert await gate.call("other.get", {"how": "text"}) == [SSN, 1, 2]
        assert seen == [[SSN, 1, 2]]
    async with gateway(late=answering({"k": ["a-known-secret"]})) as gate:
        gate.secrets.remember("a-known-secret")
        assert await gate.call("other.get") == {"k": ["[secret]"]}


async def test_guards_see_errors(gateway: Any) -> None:
    """As plain data, whatever the error's class, after they were changed."""
    seen: list[Any] = []

    class Guards:
        @hookimpl
        def guard_result(self, result: Any) -> str | None:
            seen.append(result)
            return "it tells a number" if SSN in str(result) else None

    async with gateway(guard=Guards()) as gate:
        for how in ("error", "tool error", "server error"):
            with pytest.raises(
                GuardRefused, match=r"^other.get: it tells a number \(plugin 'guard' of test-plugin 1.0\)$"
            ) as refused:
                await gate.call("other.get", {"how": how})
            assert SSN not in repr(vars(refused.value))
        with pytest.raises(ServerError, match="KeyError"):
            await gate.call("other.get", {"how": "defect"})
    body = {"detail": [{"input": SSN}], SSN: 1}
    assert seen[0] == {"error": f"422: {SSN} is taken", "hint": f"Not {SSN}.", "status": 422, "body": body}
    assert seen[1:] == [{"error": f"there is no {SSN}"}, {"error": f"it said: {SSN}"}]
    async with gateway(guards=Guards(), redacts=Redacts()) as gate:
        with pytest.raises(ApiError, match=r"422: \[ssn\] is taken") as raised:
            await gate.call("other.get", {"how": "error"})
    assert raised.value.body == {"detail": [{"input": "[ssn]"}], "[ssn]": 1}
    assert raised.value.status == 422


async def _coroutine() -> None: ...


def _loop(result: Any) -> list[Any]:
    ring: list[Any] = []
    ring.append(ring)
    return ring


@pytest.mark.slow
@pytest.mark.parametrize(
    ("how", "answer", "why"),
    [
        ("value", KeyError(SSN), "'bad' of test-plugin 1.0 failed in change_result: KeyError"),
        ("error", KeyError(SSN), "'bad' of test-plugin 1.0 failed in change_result: KeyError"),
        (
            "value",
            object(),
            "'bad' of test-plugin 1.0 failed in change_result: it answered object, which is no JSON, bytes or File",
        ),
        ("value", lambda result: [{"x": [Reply(1)]}], "it answered Reply, which is no JSON"),
        ("value", lambda result: _coroutine(), "it answered coroutine, which is no JSON"),
        ("value", lambda result: [0] * 1_000_001, "more than 1,000,000 values"),
        ("value", _loop, "more than 1,000,000 values"),
        (
            "value",
            lambda result: ApiError("x", status=400),
            "ApiError for dict: an error stays an error, a result a result",
        ),
        ("error", {"message": SSN}, "dict for ApiError: an error stays an error"),
        ("error", ValueError("x"), "'bad' of test-plugin 1.0 failed in change_result: ValueError"),
        ("error", lambda result: ValueError("x"), "ValueError for ApiError"),
    ],
)
@pytest.mark.filterwarnings("ignore:coroutine")
async def test_one_that_fails_withholds_the_result(gateway: Any, how: str, answer: Any, why: str) -> None:
    """Fail closed: what it should have changed reaches no program, and the error says whose it is."""
    with structlog.testing.capture_logs() as logs:
        async with gateway(bad=answering(answer)) as gate:
            error = (await gate.execute(f"await other.get(how={how!r})")).error
    assert error.kind == "guard"
    assert why in error.message
    assert "other.get: plugin 'bad' of test-plugin 1.0" in error.message
    assert SSN not in repr(error)
    assert any(line["event"] == "plugin_failed" for line in logs)


async def test_headers_stay_headers(gateway: Any) -> None:
    """What a program reads as a dictionary, or a note as a sentence, is not made anything else."""
    async with gateway(bad=answering(lambda result: 5)) as gate:
        assert await gate.call("other.get") == 5
        with pytest.raises(GuardRefused, match="a plugin made a int of a dict"):
            await gate.call("doorward.replies.reply", {"function": "other.get", "arguments": {"how": "page"}})


async def test_odd_but_readable_values_pass(gateway: Any) -> None:
    """What a source may answer a plugin may answer: tuples, sets, dates and bytes."""
    odd = {"t": (1,), "s": {2}, "d": datetime.date(2026, 1, 2), "b": [b"x"]}
    async with gateway(odd=answering(odd)) as gate:
        value = await gate.call("other.get")
    assert {key: value[key] for key in "tsd"} == {"t": [1], "s": [2], "d": "2026-01-02"}


async def test_a_wrapper_of_it_stops_the_start(gateway: Any) -> None:
    """It would get no result: there is a chain, and no common answer."""

    class Wraps:
        @hookimpl(wrapper=True)
        def change_result(self, result: Any) -> Any:
            return (yield)

    with pytest.raises(PluginError, match=r"'wraps' .* does not fit its hook.*change_result has no wrappers"):
        async with gateway(wraps=Wraps()):
            pass


async def test_without_a_plugin_it_costs_nothing(gateway: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """No result is looked at, if nobody changes it, and none that is left as it is."""
    looked: list[Any] = []
    monkeypatch.setattr(result_changes, "exceeds", lambda value, most: looked.append(value) or False)
    for plugins in ({}, {"none": answering(None)}):
        async with gateway(**plugins) as gate:
            await gate.call("other.get")
            with pytest.raises(ApiError):
                await gate.call("other.get", {"how": "error"})
    assert looked == []
    async with gateway(redacts=Redacts()) as gate:
        await gate.call("other.get")
    assert len(looked) == 1
