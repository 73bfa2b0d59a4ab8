"""What is said to the operator of a server that wants credentials."""

from __future__ import annotations

from typing import Any

import pytest
from doorward import Compiled, Secret, Settings, Suggestion
from doorward.config.config import Server
from doorward.config.settings import ServerSettings
from doorward.servers.source_maker import auth_hint

from ..conftest import Weather

pytestmark = pytest.mark.anyio

KEY = Suggestion([{"type": "key", "name": "X-Key", "value": "${W_KEY}"}], "a key", 2)


FOREIGN = Suggestion([{"type": "not-installed"}], "another", 2)


class KeySettings(Settings):
    name: str
    value: Secret
    id: str = ""


class Key:
    Settings = KeySettings

    def __init__(self, context: Any) -> None: ...

    def create_auth(self) -> None: ...


class Closed(Weather):
    async def compile(self) -> Compiled:
        compiled = await super().compile()
        return Compiled(compiled.functions, compiled.definitions, needing_auth=2, auth=[FOREIGN, KEY])


def server(auth: Any) -> Server:
    return Server("w", ServerSettings(source="x", auth=auth), {}, "")


def test_a_server_with_auth_gets_no_hint() -> None:
    assert auth_hint(server({"type": "key"}), None) == ""
    assert auth_hint(server(None), None) == "[servers.w] has no credentials: the operator gives it an `auth`."


async def test_a_variable_that_is_missing_stops_calls_and_no_compile(doorward_host: Any) -> None:
    """CONTRACT: AUT-18 Also where a setting of an auth is resolved as it is read."""
    doorward_host.install("source", "closed", Closed)
    doorward_host.install("auth", "key", Key)
    table = '{ type = "key", name = "${NO_SUCH_NAME}", value = "${NO_SUCH}" }'
    async with doorward_host.gateway(f'[servers.w]\nsource = "closed"\nauth = {table}\n') as gate:
        await gate.compiler.compile()
        assert gate.servers.broken == {}
        assert gate.catalog.reports()["w"].functions > 0


async def test_it_names_the_types_that_the_document_knows(doorward_host: Any) -> None:
    doorward_host.install("source", "closed", Closed)
    async with doorward_host.gateway('[servers.w]\nsource = "closed"\n') as gate:
        await gate.compiler.compile()
        report = gate.catalog.reports()["w"]
        assert "of the type not-installed or key" in auth_hint(gate.servers.configured["w"], report)
