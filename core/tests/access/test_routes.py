"""Routes that the policy forbids: told to sources that find out the path of a request only when they make it; and the tokens
that principals bring."""

from __future__ import annotations

from typing import Any

import pytest
from doorward import Call
from doorward.access import principals

from ..conftest import CONFIG, Weather

pytestmark = pytest.mark.anyio

API = "https://api.example.com"
POLICY = f"""
[policy]
deny = ["{API}#DELETE /admin/**"]
[principals.ann]
deny = ["{API}#POST /admin/**"]
"""


class Sending(Weather):
    """A source whose request is what the caller says."""

    async def call(self, call: Call) -> Any:
        return call.forbids(call.arguments["city"])


@pytest.mark.parametrize(
    ("who", "route", "said"),
    [
        (
            "ben",
            "DELETE /admin/users/3",
            "DELETE /admin/users/3 is not allowed by the operator's policy: [policy] deny",
        ),
        ("ann", "DELETE /admin/users/3", "by the operator's policy: [policy] deny"),
        ("ann", "POST /admin/users", "not allowed for 'ann' by the operator's policy: deny"),
        ("ben", "POST /admin/users", ""),
        ("ann", "GET /admin/users", ""),
        ("ann", "DELETE /users/../admin/3", "[policy] deny"),
    ],
)
async def test_a_source_is_told_what_it_may_not_send(doorward_host: Any, who: str, route: str, said: str) -> None:
    """By the policy of all, and by that of whoever asks; the refusal names the function, the route and the key."""
    doorward_host.install("source", "sending", Sending)
    async with doorward_host.gateway(CONFIG.replace("fake", "sending") + f'url = "{API}"\n{POLICY}') as gate:
        outcome = await gate.execute(f"await weather.get_forecast(city={route!r})", principal=who)
    assert outcome.error is None
    told = outcome.value
    assert told == "" if not said else said in told
    assert not said or told.startswith("weather.get_forecast: ")


async def test_the_last_token_of_a_principal(doorward_host: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is theirs alone, scrubbed once somebody sends it on, and that of whoever came longest ago is forgotten first."""
    monkeypatch.setattr(principals, "_MAX_PRESENTED_TOKENS", 2)
    async with doorward_host.gateway(CONFIG) as gate:
        for who, token in (("ann", "token-of-ann-1"), ("ben", "token-of-ben-22"), ("ann", "token-of-ann-333")):
            gate.principals.present(who, token)
        assert gate.principals.presented("ann") == "token-of-ann-333"
        assert gate.loaded.secrets.scrub("a token-of-ann-333 and token-of-ben-22") == "a [secret] and token-of-ben-22"
        gate.principals.present("cid", "token-of-cid-4444")
        assert gate.principals.presented("ben") is None
        assert gate.principals.presented("cid") == "token-of-cid-4444"
