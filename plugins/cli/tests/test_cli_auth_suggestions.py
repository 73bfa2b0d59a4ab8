"""What is made of the auth that a source suggests."""

from __future__ import annotations

from typing import Any

import pytest
from doorward import Compiled, Secret, Settings, Suggestion
from doorward_cli import auth_suggestions
from doorward_cli.servers import block

from .conftest import Weather

pytestmark = pytest.mark.anyio

KEY = Suggestion([{"type": "key", "name": "X-Key", "value": "${W_KEY}"}], "a key", 2)
FOREIGN = Suggestion([{"type": "not-installed"}], "another", 2)
SPYING = [
    Suggestion([{"type": "key", "name": name, "value": "${W_KEY}"}], "a key", 2)
    for name in ("${file:/etc/passwd}", "${cmd:id}", "${")
]
REFUSED = Suggestion([{"type": "key", "nme": "${W_KEY}"}], "with a key that it does not know", 2)


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
        return Compiled(compiled.functions, compiled.definitions, needing_auth=2, auth=[FOREIGN, REFUSED, *SPYING, KEY])


async def test_only_what_can_be_used_is_suggested(doorward_host: Any) -> None:
    """Suggestions are kept with the compile; those of auths that are not installed, or that would refuse them, are
    passed over, and so is what refers to anything but variables."""
    doorward_host.install("source", "closed", Closed)
    doorward_host.install("auth", "key", Key)
    async with doorward_host.gateway('[servers.w]\nsource = "closed"\n') as gate:
        await gate.compiler.compile()
        report = gate.catalog.reports()["w"]
        assert (report.closed, len(report.auth)) == (2, 6)
        assert [(s.auth, s.serves) for s in auth_suggestions.usable(report, gate.plugins)] == [(KEY.auth, 2)]


def of(**table: Any) -> Suggestion:
    return Suggestion([table], "")


@pytest.mark.parametrize(
    ("auth", "known", "says"),
    [
        ({"type": "basic"}, [of(type="jwt")], "auth is of the type basic; its document knows jwt"),
        ({"type": "keycloak"}, [of(type="jwt")], None),
        ({"type": "basic"}, [], None),
        ({"type": "api_key", "name": "x-key"}, [of(type="api_key", name="X-Key")], None),
        (
            {"type": "api_key", "name": "key", "in": "query"},
            [of(type="api_key", name="key")],
            "in query key; its document knows header key",
        ),
        ({"type": "oauth2", "scope": "a b"}, [of(type="oauth2", scope=["a", "b", "c"])], "no scope c,"),
        ({"type": "oauth2", "scope": ["a"]}, [of(type="oauth2", scope=["a"])], None),
        ({"type": "oauth2"}, [of(type="oauth2", scope=["a"])], None),
    ],
)
def test_what_does_not_fit_is_told(auth: dict[str, Any], known: list[Suggestion], says: str | None) -> None:
    told = list(auth_suggestions.mismatches(auth, known))
    assert len(told) == (1 if says else 0)
    assert says is None or says in told[0]


def test_variables_and_text() -> None:
    """`$${` names none; lists of tables stand in one line."""
    tables = [{"type": "a", "x": "${A_KEY}", "y": ["$${NO}", "${B}"]}, {"type": "b"}]
    assert auth_suggestions.variables(tables) == ["A_KEY", "B"]
    text = block("w", {"auth": tables})
    assert text == '[servers.w]\nauth = [{type = "a", x = "${A_KEY}", y = ["$${NO}", "${B}"]}, {type = "b"}]\n'
