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


class Redirected(Weather):
    """A source whose further requests are what the caller says."""

    async def call(self, call: Call) -> Any:
        request, *functions = call.arguments["city"].split(", ")
        return call.refuses_further(request, [(id, "GET /forecast" if id == "getForecast" else "") for id in functions])


@pytest.mark.parametrize(
    ("request_", "policy", "said"),
    [
        ("GET /far, getForecast", "", ""),
        ("GET /far, getForecast, big", "deny = ['weather.big']", "weather.big is not allowed by the operator's policy"),
        ("GET /far, addStation", "", " is left out of weather"),  # of this route, there is none
        ("GET /far, nothing", "", " is left out of weather"),
        ("GET /far", "deny = ['weather.big']", ""),
        ("GET /far", "allow = ['weather.get_forecast']", "GET /far is no function of weather: "),
        ("POST /far", "", "POST /far is no function of weather, and may change something"),
        ("GET /far", f"deny = ['{API}#GET /far']", "[policy] deny"),
        ("GET /%66ar;a, getForecast", f"deny = ['{API}#GET /far']", "[policy] deny"),
    ],
)
async def test_a_source_is_told_which_further_requests_it_may_not_make(
    doorward_host: Any, request_: str, policy: str, said: str
) -> None:
    """Those for functions that may not be called, and what nobody allowed of those for no function."""
    doorward_host.install("source", "redirected", Redirected)
    config = CONFIG.replace("fake", "redirected") + f'url = "{API}"\n[policy]\n{policy}\n'
    async with doorward_host.gateway(config) as gate:
        told = await gate.call("weather.get_forecast", {"city": request_})
    assert told == "" if not said else said in told


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
