"""What a call may send and get: bounded in bytes and values, and only what the configuration includes by now."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from doorward import Call, Compiled, Function, hookimpl
from doorward.calls import answer_checks
from doorward.calls.artefacts import kind_of
from doorward_testing.samples import Replies

from ..conftest import CONFIG, Weather

pytestmark = pytest.mark.anyio

SMALL = CONFIG + '[limits]\nresult = "1KiB"\n'


async def error(gate: Any, code: str) -> tuple[str, str, str]:
    """Kind, message and hint of the error with which a program ends."""
    found = (await gate.execute(code)).error
    return found.kind, found.message, found.hint


async def test_arguments_are_bounded(doorward_host: Any) -> None:
    """Before the source is asked, and the agent reads what to do."""
    async with doorward_host.gateway(SMALL) as gate:
        kind, message, hint = await error(gate, "await weather.get_forecast(city='x' * 2000)")
        assert kind == "limit"
        assert message.startswith("the arguments have 20")
        assert hint == "Send less at once."


async def test_files_of_a_call_are_bounded_together(doorward_host: Any) -> None:
    """Each of them is small enough, and kept; but not all at once."""

    class Mails(Weather):
        async def compile(self) -> Compiled:
            files = {"type": "array", "items": {"type": "string", "format": "binary"}}
            return Compiled(
                [Function(self.name, "send", parameters={"type": "object", "properties": {"files": files}})]
            )

        async def call(self, call: Call) -> Any:
            return [len(file.content) for file in call.arguments["files"]] if "files" in call.arguments else b"x" * 600

    doorward_host.install("source", "mails", Mails)
    async with doorward_host.gateway(SMALL.replace("fake", "mails")) as gate:
        sent = await gate.execute("file = await weather.send()\nresult = await weather.send(files=[file])")
        assert sent.value == [600]
        kind, message, _ = await error(gate, "file = await weather.send()\nawait weather.send(files=[file, file])")
        assert (kind, message) == ("limit", "the files of a call have more than 1024 bytes")


async def test_answers_are_bounded_in_values(doorward_host: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """However small each is: a million empty lists are few bytes and much memory."""
    monkeypatch.setattr(answer_checks, "MAX_PARTS", 1000)

    async def call(self: Weather, call: Call) -> Any:
        return [[]] * 2000

    monkeypatch.setattr(Weather, "call", call)
    async with doorward_host.gateway(CONFIG) as gate:
        kind, message, hint = await error(gate, "await weather.sleep()")
        assert (kind, message) == ("limit", "weather.sleep answered more than 1,000 values")
        assert hint == "Ask for less: pages, filters."


async def test_what_the_configuration_leaves_out_by_now_is_refused(doorward_host: Any) -> None:
    """A function that was compiled under an earlier configuration is still known, and not called."""
    async with doorward_host.gateway(CONFIG) as gate:
        await gate.list_servers()  # it is compiled now
        server = gate.servers.configured["weather"]
        settings = server.settings.model_copy(update={"exclude": ["get_*"]})
        gate.servers.configured["weather"] = replace(server, settings=settings)
        kind, message, hint = await error(gate, "await doorward.call('weather.get_forecast', {'city': 'Oslo'})")
        assert (kind, message) == (
            "policy",
            "weather.get_forecast is left out by `exclude` of [servers.weather]",
        )
        assert hint == "Do without it: only the operator can change that."
        assert (await gate.execute("await weather.add_station(city='Oslo')")).ok


async def test_a_plugin_may_not_change_what_headers_are(doorward_host: Any) -> None:
    """Headers stay a dictionary, whatever a plugin makes of a result."""

    class Flattens:
        @hookimpl
        def change_result(self, result: Any) -> Any:
            return "flat" if isinstance(result, dict) else None

    doorward_host.install("plugin", "flattens", Flattens())
    doorward_host.install("plugin", "replies", Replies)
    async with doorward_host.gateway(CONFIG.replace("plugins = []", 'plugins = ["flattens", "replies"]')) as gate:
        await gate.list_servers()
        run = gate.execution.of_call("local")
        with pytest.raises(Exception, match="a plugin made a str of a dict"):
            await run.call(
                "doorward.replies.reply", (), {"function": "weather.get_forecast", "arguments": {"city": "Oslo"}}
            )


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"\x89PNG\r\n\x1a\n...", "image/png"),
        (b"RIFF\x00\x00\x00\x00WEBPVP8 ", "image/webp"),
        (b"RIFF\x00\x00\x00\x00WAVEfmt ", "application/octet-stream"),
        ("grün".encode(), "text/plain"),
        (b"\xff\xfe\x00", "application/octet-stream"),
        (b"a\x00b", "application/octet-stream"),
    ],
)
def test_bytes_without_a_type_are_judged_by_their_first(content: bytes, kind: str) -> None:
    """Text is text, known starts are what they are, and the rest is no more than bytes."""
    assert kind_of(content) == kind
