"""A source of a third party that puts hostile texts into every field: what is read of it is clean, what is sent is what
its API takes."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from doorward import Call, Compiled, Function, Skipped, Suggestion, hookimpl
from doorward.calls.artefacts import base_name
from doorward.data.clean_text import shown_schema
from doorward.values import clean_text
from doorward_mcp_server.server import build
from doorward_testing.samples import CONFIG, Weather
from mcp.client.client import Client

pytestmark = pytest.mark.anyio

SHAPELESS = "\u3164\u115f\ufe0f\U000e0100\u2800\u034f\u17b4\uffa0\u180b"
"""What Python calls printable, and nobody sees."""

HIDDEN = f"\u202e\u200b\U000e0041\x1b[31m\x07\u2066\ufeff\xad\ue000\x85{SHAPELESS}"


def odd(text: str) -> str:
    return f"{text}{HIDDEN}"


VALUES = {"choice": odd("a"), "fixed": odd("b"), "preset": odd("c"), odd("key"): odd("d"), "plain": odd("p")}

GIVEN = {"key" if name == odd("key") else name: value for name, value in VALUES.items()}
"""The same as arguments of a function: a parameter has a name of Python."""


def schema(inner: Any) -> dict[str, Any]:
    properties = {
        "plain": {
            "type": "string",
            "description": odd("said"),
            "format": odd("f"),
            "pattern": odd("p"),
            odd("x-more"): odd("more"),
        },
        "choice": {"type": "string", "enum": [odd("a"), odd("b")]},
        "fixed": {"const": odd("b")},
        "preset": {"type": "string", "default": odd("c"), "examples": [odd("c")], "example": odd("c")},
        "kind": {"x-values": [odd("kind")], "contentMediaType": odd("text/plain"), "x-names": [[odd("name")]]},
        odd("key"): {"type": "string", "description": odd("of a key")},
        "inner": inner,
        "many": {"type": "array", "items": inner},
    }
    told = {"title": odd("title"), "description": odd("described"), "$comment": odd("comment")}
    rules = {
        "required": ["plain", odd("key")],
        "dependentRequired": {"plain": [odd("key")]},
        "additionalProperties": False,
    }
    return {"type": "object", **told, "properties": properties, **rules}


def parameters(inner: Any) -> dict[str, Any]:
    found = schema(inner)
    found["properties"]["key"] = found["properties"].pop(odd("key"))
    return {**found, "required": ["plain", "key"], "dependentRequired": {"plain": ["key"]}}


class Hostile(Weather):
    """Its functions tell no field without what nobody sees."""

    sent: Any = None

    async def compile(self) -> Compiled:
        inner, plain = {"$ref": f"#/$defs/{odd('Inner')}"}, {"$ref": "#/$defs/Plain"}
        functions = [
            Function(
                self.name, name, odd(name), odd("It\u2028is a summary"), odd("description"), parameters(inner), schema(plain),
                tags=(odd("tag"),), route=f"POST /{odd('route')}", names={"plain": odd("original")}, headers=(odd("X-Header"),),
                aliases=(odd("alias"),),
            )
            for name in ("one", odd("two"))
        ]  # fmt: skip
        inner_schema = schema({"type": "string"})
        wants = Suggestion(
            [{"type": "static", "headers": {"X": "${KEY}"}}], odd("says"), 1, [odd("https://elsewhere.example")]
        )
        return Compiled(
            functions, {odd("Inner"): inner_schema, "Plain": inner_schema}, [Skipped(odd("where"), odd("why"))], [odd("warning")],
            odd("about"), 1, [wants],
        )  # fmt: skip

    async def call(self, call: Call) -> Any:
        type(self).sent = dict(call.arguments)
        return {"done": True}


class Translator:
    """A hook that takes words of somebody else."""

    @hookimpl
    def source_compiled(self, server: str, functions: list[Function]) -> None:
        functions[0] = replace(functions[0], description=odd("translated"), tags=(*functions[0].tags, odd("hooked")))


@pytest.mark.slow
async def test_what_is_read_of_a_hostile_source_is_clean(doorward_host: Any) -> None:
    """Nothing that an agent gets of its functions hides anything: tools, cards, search, answers, errors; what is sent
    stays as it is."""
    doorward_host.install("source", "hostile", Hostile)
    doorward_host.install("plugin", "translator", Translator())
    config = CONFIG.replace("[]", '["translator"]') + '[servers.other]\nsource = "hostile"\nexpose = ["one", "two"]\n'
    names = ["other.one", "other.two", "other.one#parameters", "other.one#Plain", "other"]
    wrong = [
        {}, {"plain": 1}, {"plain": VALUES["plain"], "choice": "no"}, {**GIVEN, "fixed": odd("x")}, {**GIVEN, odd("ky"): 1},
        {**GIVEN, "inner": {"choice": 1}}, {**GIVEN, "many": [{odd("key"): 1}]}, {**GIVEN, odd("original"): 1, "preset": 1},
    ]  # fmt: skip
    programs = [f"other.one(**{arguments!a})" for arguments in wrong] + ["other.ones()", f"other.{'on'}(x=1)"]
    async with doorward_host.gateway(config) as gate, Client(build(gate)) as client:
        await gate.ready()
        read: list[Any] = [await client.list_tools(), await client.list_resources()]
        read += [
            await client.call_tool("list_servers", {}),
            await client.call_tool("search_functions", {"query": "summary"}),
        ]
        read += [
            await client.call_tool("get_functions", {"functions": [name]})
            for name in [*names, "other.one#none", "other.onne"]
        ]
        read += [await client.call_tool("execute_code", {"code": f"await {program}"}) for program in programs]
        read += [await client.call_tool("other_one", arguments) for arguments in wrong[:4]]
        read += [await client.read_resource("doorward://functions/other/one")]
        for answer in read:
            text = json.dumps(answer.model_dump(mode="json", exclude={"meta"}), ensure_ascii=False)
            assert clean_text(text) == text, text.encode("ascii", "backslashreplace")
        told = json.dumps([answer.model_dump(mode="json") for answer in read], ensure_ascii=False)
        assert all(each in told for each in ("said", "described", "translated", "X-Header", "It is a summary"))
        for name in [*names, "other.onne"]:  # as the surface without code tells it
            for card in await gate.get_functions([name], language="json"):
                assert clean_text(str(card)) == str(card)
                assert all(c.isprintable() for line in card.get("text", "").splitlines() for c in line)
        stub = gate.modules.stub("other", ["one", "two"], "local")
        assert clean_text(stub) == stub

        found = gate.catalog.function("other", "one")
        assert (found.tags, found.headers, found.aliases[:1]) == (("tag", "hooked"), ("X-Header",), ("alias",))
        report = gate.catalog.report("other")
        assert (report.auth[0]["says"], report.auth[0]["elsewhere"]) == ("says", ["https://elsewhere.example"])
        done = await client.call_tool("execute_code", {"code": f"await other.one(**{GIVEN!a})"})
        assert not done.is_error, done
        assert Hostile.sent == GIVEN


async def test_the_catalog_takes_no_hidden_character(doorward_host: Any) -> None:
    """Whoever stores a compile, its texts are clean."""
    async with doorward_host.gateway(CONFIG) as gate:
        function = Function("other", "one", "one", odd("summary"), parameters=schema({}))
        report = gate.catalog.store(
            "other", Compiled([function], description=odd("about")), fingerprint="", settings="", ms=0
        )
        gate.catalog.refresh()
        found = gate.catalog.function("other", "one")
        assert (report.description, found.summary, found.parameters["description"]) == ("about", "summary", "described")
        assert found.parameters["properties"]["choice"]["enum"] == [odd("a"), odd("b")]


def test_a_schema_that_is_shown_can_be_checked() -> None:
    """What is left out of a schema that a client is shown leaves one that is valid, and takes what the API takes."""
    import jsonschema_rs

    shown = shown_schema({**schema({"$ref": f"#/$defs/{odd('Inner')}"}), "$defs": {odd("Inner"): {}}})
    jsonschema_rs.Draft202012Validator(shown).validate(VALUES)


def test_the_name_of_a_file_hides_nothing() -> None:
    """A file that an API names is saved under what is seen of its name."""
    assert base_name(f"a/{odd('report')}.pdf") == "report.pdf"
