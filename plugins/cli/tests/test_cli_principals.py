"""What each principal has, as the command line says it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import httpx2
import pytest
from doorward import (
    Call,
    Compiled,
    Settings,
    Template,
)

from .conftest import Cli, Weather


class OwnSettings(Settings):
    who: Template
    folder: str = ""


class Own(Weather):
    """Each of its sources knows whose it is."""

    Settings = OwnSettings  # type: ignore[assignment]

    async def fingerprint(self) -> str:
        return "always"

    async def call(self, call: Call) -> Any:
        return {"who": self.settings.who.reveal()}


class Said(str, httpx2.Auth):
    """An auth that says whose it is."""

    __slots__ = ()


class Login:
    """An auth with a login of each principal."""

    closed: ClassVar[list[str]] = []

    class Settings(Settings):
        user: str

    def __init__(self, context: Any) -> None:
        self._context = context

    def create_auth(self) -> Any:
        return Said(self._context.settings.user)

    async def check(self) -> str:
        return f"{self._context.settings.user} is logged in"

    async def close(self) -> None:
        self.closed.append(self._context.principal)


OWN = 'executor = "inprocess"\n[servers.own]\nsource = "own"\nwho = "${principal:token}"\n'
OWN += "".join(f'[principals.{who}.secrets]\ntoken = "token-of-{who}"\n' for who in ("alice", "bob"))


class Zephyr(Weather):
    """A server that few may know of."""

    async def compile(self) -> Compiled:
        compiled = await super().compile()
        first, *_ = compiled.functions
        functions = [replace(first, name=f"siphon_{n}", id=f"siphonOf{n}", summary="Siphon it") for n in ("one", "two")]
        return Compiled(functions)


BOTH = """
executor = "inprocess"
[servers.weather]
source = "fake"
[servers.zephyr-vault]
source = "zephyr"
expose = ["siphon_one"]
"""


@pytest.fixture
def own(doorward_host: Any) -> Any:
    doorward_host.install("source", "own", Own)
    doorward_host.install("auth", "login", Login)
    return doorward_host


@pytest.fixture
def place(doorward_host: Any) -> Any:
    doorward_host.install("source", "zephyr", Zephyr)
    return doorward_host


def test_doctor_tells_of_each_principal(cli: Cli, own: Any) -> None:
    """What they lack, and where to set it; what `local` lacks is advice. A pattern that fits nothing is wrong."""
    server = '[servers.{}]\nsource = "own"\nwho = "${{principal:token}}"\nauth = {{ type = "login", user = "${{principal:user}}" }}\n'
    own.write(
        'executor = "inprocess"\n'
        + server.format("own")
        + server.format("hidden")
        + '[principals.alice]\nservers = ["own", "onw"]\n[principals.alice.secrets]\ntoken = "t"\nuser = '
        '"${ALICE:-Ann}"\n'
        + '[principals.bob]\nservers = ["own"]\n[principals.bob.secrets]\nuser = "Bob"\n'
        + "[principals.carol]\nservers = []\n"
    )
    found = cli("doctor", "--json").json
    checks = {check["check"]: check for check in found["checks"]}
    assert not found["ok"]
    assert checks["server own for alice: Ann is logged in"]["ok"]
    assert checks["principal alice: the secret token stands in the configuration file"]["advice"]
    missing = checks["server own for bob: the principal 'bob' has no 'token'"]
    assert (missing["ok"], missing["advice"]) == (False, "Set token in [principals.bob.secrets].")
    assert not checks["[principals.alice] servers: 'onw' fits no server"]["ok"]
    told = [check for check in checks.values() if "hidden" in check["check"] or "'local'" in check["check"]]
    assert len(told) == 3  # its functions; and what local lacks at both
    assert all(check["ok"] for check in told)
    assert not [name for name in checks if "carol" in name]


def test_without_a_secret_the_command_line_still_shows_what_there_is(cli: Cli, own: Any) -> None:
    """`list` and `show` ask nobody; `call` says what `local` lacks."""
    own.write(OWN)
    assert "own" in cli("list").out
    assert "raw" in cli("list", "own").out
    ended = cli("call", "own.raw")
    assert (
        ended.code,
        "the principal 'local' has no 'token'" in ended.err,
        "[principals.local.secrets]" in ended.err,
    ) == (2, True, True)


def test_the_command_line_is_local(cli: Cli, place: Any) -> None:
    """What is not `local`'s is not there for the commands that ask as it does."""
    place.write(BOTH + '[principals.local]\nservers = ["weather"]\n')
    assert "zephyr" not in cli("list").out
    assert "zephyr" not in cli("search", "siphon").out
    assert "there is no function" in cli("call", "zephyr_vault.siphon_one", "city=Oslo").err
