"""What MCP servers have besides tools, for programs; and what counts as a call."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from doorward import ApiError, Call, DoorwardError, GuardRefused, hookimpl
from doorward_testing.box import BOX, Box
from doorward_testing.samples import CONFIG


@pytest.fixture
def box(doorward_host: Any) -> Any:
    doorward_host.install("source", "box", Box)
    return doorward_host


@pytest.mark.slow
@pytest.mark.anyio
async def test_resources_and_prompts(box: Any) -> None:
    """Through the broker, by what the source offers; a server without says so."""
    async with box.gateway(CONFIG + BOX) as gate:
        asked = {
            "list_resources": ({"server": "tool-box"}, ["resources/list", {}]),
            "read_resource": ({"server": "tool-box", "uri": "box://lid"}, ["resources/read", {"uri": "box://lid"}]),
            "list_prompts": ({"server": "tool_box"}, ["prompts/list", {}]),
            "get_prompt": ({"server": "tool_box", "name": "tidy"}, ["prompts/get", {"name": "tidy", "arguments": {}}]),
        }
        for helper, (arguments, answer) in asked.items():
            assert await gate.call(f"doorward.{helper}", arguments) == answer
        outcome = await gate.execute("await doorward.read_resource('tool-box', 'box://lid')")
        assert [(c["function"], c["count"]) for c in outcome.calls] == [("tool_box.read_resource", 1)]
        error = (await gate.execute("await doorward.list_prompts('weather')")).error
        assert (error.type, error.message) == ("UnknownName", "the server 'weather' has no prompts")
        error = (await gate.execute("await doorward.list_prompts('toolbox')")).error
        assert (error.message, error.hint) == ("Server 'toolbox' is not available", "Near: tool_box.")


@pytest.mark.slow
@pytest.mark.anyio
async def test_what_a_configuration_leaves_of_resources(box: Any) -> None:
    """`exclude` holds for them as for functions."""
    async with box.gateway(CONFIG + BOX + 'exclude = ["resources/*"]\n') as gate:
        error = (await gate.execute("await doorward.list_resources('tool-box')")).error
        assert error.message == "the server 'tool_box' has no resources"
        assert "exclude" in error.hint
        assert await gate.call("doorward.list_prompts", {"server": "tool-box"}) == ["prompts/list", {}]


@pytest.mark.anyio
async def test_what_counts_as_a_call(doorward_host: Any) -> None:
    """A helper that makes calls counts as many as it makes, whatever comes of them."""
    oslo: dict[str, Any] = {"city": "Oslo"}
    async with doorward_host.gateway(CONFIG) as gate:
        await gate.ready()
        for function, args, kwargs in [
            ("doorward.reply", ("weather.get_forecast",), oslo),
            ("doorward.pages", ("weather.get_forecast",), oslo),
            ("doorward.items", ("weather.big",), {}),
            ("doorward.pages", (5,), {}),
            ("doorward.items", ("weather.none",), {}),
            ("doorward.items", ("weather.fail",), {}),
        ]:
            run = gate.execution.of_call("local")
            with contextlib.suppress(DoorwardError):
                await run.call(function, args, kwargs)
            assert run.made == 1, function


class Changes:
    """A guard that lets no digit pass, and makes a text of the headers of a reply."""

    @hookimpl
    def change_result(self, call: Call, result: Any) -> Any:
        if isinstance(result, ApiError):
            return ApiError("changed", status=result.status)
        return "changed"


@pytest.mark.anyio
async def test_what_plugins_change_is_what_they_answer(doorward_host: Any) -> None:
    """No helper gets around it; headers stay headers."""
    doorward_host.install("plugin", "changes", Changes())
    config = CONFIG.replace("plugins = []", 'plugins = ["changes"]')
    async with doorward_host.gateway(config) as gate:
        asked = {"function": "weather.get_forecast", "arguments": {"city": "Oslo"}}
        assert await gate.call("doorward.pages", asked) == ["changed"]
        with pytest.raises(GuardRefused, match="a plugin made a str of a dict"):
            await gate.call("doorward.reply", asked)
        with pytest.raises(ApiError, match="changed"):
            await gate.call("doorward.pages", {"function": "weather.fail"})


@pytest.mark.anyio
async def test_how_they_are_described_and_called(doorward_host: Any) -> None:
    """Each has a card; what is wrong with a call is told in the words of programs. Without the capability there are
    none, and no agent is told of any."""
    async with doorward_host.gateway(CONFIG) as gate:
        (whole,) = await gate.get_functions(["doorward"])
        for name in ("pages", "items", "reply", "list_resources", "read_resource", "list_prompts", "get_prompt"):
            (card,) = await gate.get_functions([f"doorward.{name}"])
            assert f"\n{name}(" in whole["text"]
            assert len(card["text"]) > 80, name
        assert "whole answers" in (await gate.get_functions(["doorward.pages"]))[0]["text"]
        for code, said, hint in [
            (
                "await doorward.pages()",
                "doorward.pages: missing a required argument: 'function'",
                "doorward.pages(func",
            ),
            ("await doorward.list_prompts(x=1)", "doorward.list_prompts: ", "doorward.list_prompts(server"),
            ("await doorward.read_resource('weather')", "needs a server and the URI", "doorward.read(file)"),
        ]:
            error = (await gate.execute(code)).error
            assert error is not None
            assert said in error.message
            assert hint in (error.hint or ""), error
        cut = await gate.execute("result = await weather.big()")
        assert cut.truncated is not None
        code = f"len(await doorward.read_resource('{cut.truncated['rest']}'))"
        assert (await gate.execute(code)).value == 2000
        (in_calls,) = await gate.get_functions(["doorward"], language="json")
        assert "doorward.items({ function: string;" in in_calls["text"]
    async with doorward_host.gateway("capabilities = []\n" + CONFIG) as gate:
        for language in ("python", "json"):
            for name in ("doorward", "doorward.pages"):
                (card,) = await gate.get_functions([name], language=language)
                assert card["error"].startswith(f"{name} is not in use here. `pip install doorward-program-helpers`")
        for code in (
            "await doorward.call('doorward.pages', {'function': 'weather.big'})",
            "await doorward.pages('weather.big')",
        ):
            error = (await gate.execute(code)).error
            assert error is not None
            assert (error.type, error.message) == ("UnknownName", "doorward.pages is not in use here")
            assert "`pip install doorward-program-helpers` brings it." in str(error.hint)
        (answer,) = (await gate.execute("[(await doorward.call('weather.get_forecast', city='Oslo'))['high']]")).value
        assert answer == 20.5
