"""Results as programs get them, and functions that stay as they were while a program runs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from doorward import File, Function, LimitExceeded, Reply
from doorward_testing.samples import Anything

NO_PARAMETERS = {"type": "object", "properties": {}}
CONFIG = 'executor = "inprocess"\ncache = "none"\nplugins = []\n[servers.weather]\nsource = "any"\n'


@pytest.fixture
def source(doorward_host: Any) -> type[Anything]:
    class Source(Anything):
        functions, answers, calls = {}, {}, []

    doorward_host.install("source", "any", Source)
    return Source


def function(name: str, **fields: Any) -> Function:
    return replace(Function("weather", name, name, read_only=True, parameters=NO_PARAMETERS), **fields)


@pytest.mark.anyio
async def test_bytes_within_a_result_are_artefacts(doorward_host: Any, source: type[Anything]) -> None:
    """CONTRACT: SRC-18."""
    source.functions = {name: function(name) for name in ("mixed", "many", "large", "whole")}
    source.answers = {
        "mixed": Reply([b"abc", {"file": File(b"PNG", "image/png", "../a.png"), "n": 1}, "x"], next={"page": 2}),
        "many": [b"x"] * 101,
        "large": [b"x" * 2**20] * 3,
        "whole": File(b"%PDF", "application/pdf", "b.pdf"),
    }
    async with doorward_host.gateway(CONFIG + '[limits]\nresult = "2MiB"\n') as gate:
        raw, named, text = await gate.call("weather.mixed")
        assert (raw["type"], raw["bytes"], text) == ("application/octet-stream", 3, "x")
        assert named["file"] | {"artefact": ""} == {"artefact": "", "type": "image/png", "bytes": 3, "name": "a.png"}
        assert (await gate.file(named["file"]["artefact"])).content == b"PNG"
        whole = await gate.call("weather.whole")
        assert await gate.file(whole["artefact"]) == File(b"%PDF", "application/pdf", "b.pdf")
        for name in ("many", "large"):
            with pytest.raises(LimitExceeded):
                await gate.call(f"weather.{name}")


@pytest.mark.anyio
async def test_a_function_that_changes_while_a_program_runs_is_refused(
    doorward_host: Any, source: type[Anything]
) -> None:
    """CONTRACT: SEC-10."""
    source.functions = {"f": function("f"), "other": function("other"), "change": function("change")}

    async def change() -> None:
        properties = {"town": {"type": "string"}}
        source.functions = {
            **source.functions,
            "f": function("f", parameters={"type": "object", "properties": properties}),
        }
        source.version += 1
        await gate.compile()

    source.answers = {"f": 1, "other": 2, "change": change}
    async with doorward_host.gateway(CONFIG) as gate:
        outcome = await gate.execute(
            "await weather.f()\nawait weather.other()\nawait weather.change()\nawait weather.other()\nawait weather.f()"
        )
        assert outcome.error is not None
        assert outcome.error.line == 5
        assert "weather.f has changed since this program called it first" in outcome.error.message
        assert source.calls == ["f", "other", "change", "other"]
        assert (await gate.execute("await weather.f(town='x')")).value == 1


@pytest.mark.anyio
async def test_original_names_of_parameters_work(doorward_host: Any, source: type[Anything]) -> None:
    """CONTRACT: SEC-10."""
    properties = {"from_": {"type": "string"}, "auth": {"type": "string"}}
    schema = {"type": "object", "properties": properties, "additionalProperties": False}
    source.functions = {"f": function("f", parameters=schema, names={"from_": "from", "auth": "x-auth"})}
    source.answers = {"f": 1}
    async with doorward_host.gateway(CONFIG) as gate:
        assert await gate.call("weather.f", {"from": "a", "x-auth": "b"}) == 1
        with pytest.raises(Exception, match="two values for 'from_'"):
            await gate.call("weather.f", {"from": "a", "from_": "b"})
        with pytest.raises(Exception, match="auth-x"):
            await gate.call("weather.f", {"auth-x": "b"})
