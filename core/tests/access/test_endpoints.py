"""What is not part of an endpoint does not exist for whoever comes by it, and what is stored there is of nobody else."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from doorward import ConfigError, DoorwardError, LimitExceeded, Principal, UnknownName
from doorward.access.principals import Principals, members_of
from doorward.config.config import load
from doorward.gateway import Gateway
from doorward.model.principals import LOCAL, endpoint_of, person_of, via
from doorward.runs.helper_context import MODULE
from doorward.secrets.scrubber import answers_of, made_by
from doorward.serving import can_come_in

from ..test_gateway import CALL
from .test_principals import BOTH, HIDDEN, door, everything, place, said

__all__ = ["place"]
pytestmark = pytest.mark.anyio

ENDPOINTS = (
    BOTH
    + """
[endpoints.field]
servers = ["weather"]
[endpoints.desk]
servers = ["weather", "zephyr-vault"]
include = ["weather.*", "zephyr_vault.*"]
exclude = ["zephyr_vault.siphon_two", "weather.echo_*"]
surface = "calls"
[endpoints.desk.limits]
calls = 3
rate = 2
[endpoints.readers]
principals = ["alice", "@night"]
read_only = true
[endpoints.tagged]
include = ["tag:nothing"]
[endpoints.only]
include = ["weather.get_forecast"]
[groups]
night = ["owl*"]
"""
)


@pytest.mark.slow
async def test_another_server_does_not_exist_by_an_endpoint(place: Any) -> None:
    """Neither listed, searched, described, imported, called, nor named by an error, a hint or a helper."""
    async with place.gateway(ENDPOINTS) as gate:
        by_field = await everything(gate, via("bob", "field"))
        gone = await everything(gate, via("bob", "gone"))
        bobs = "\n".join(await everything(gate, "bob")).lower()
        assert all(word in bobs for word in HIDDEN)
    for secret in ("quagmire", "siphon_two", "siphonoftwo", "zephyr_vault_siphon_one"):
        assert not [text for text in [*by_field, *gone] if secret in text.lower()]
    assert "get_forecast" in "".join(by_field)
    assert not [text for text in gone if "get_forecast" in text]


async def asked(gate: Gateway, who: str, name: str) -> list[str]:
    """What comes of each way to ask for a function of `zephyr_vault` by its exact name or id."""
    full, theirs = f"zephyr_vault.{name}", door(gate, who)
    texts = [await said(gate.get_functions([each], principal=who)) for each in (full, f"{full}#X")]
    texts += [await said(gate.call(full, {"city": "Oslo"}, principal=who))]
    texts += [await said(theirs.call(each, (), {})) for each in (full, f"mcp__zephyr-vault__{name}")]
    texts += [await said(gate.execute(f"{full}(city='Oslo')", principal=who, functions=[full]))]
    texts += [theirs.stub("zephyr_vault", [name])]
    for helper in gate.modules.helpers[MODULE]:
        if helper != "close_session":
            texts += [await said(theirs.call(f"doorward.{helper}", given, {})) for given in ((full,), (full, {}))]
    return [re.sub(r'"ms":[0-9.]+', "", text) for text in texts]


async def test_a_function_that_is_left_out_is_answered_as_one_that_nobody_has(place: Any) -> None:
    """By its exact name or its original id; and no count, list, search or name nearby tells of it."""
    who = via("bob", "desk")
    async with place.gateway(ENDPOINTS.replace("rate = 2\n", "")) as gate:
        for hidden, absent in (("siphon_two", "siphon_tzq"), ("siphonOftwo", "siphonOftzq")):
            them, nobody = await asked(gate, who, hidden), await asked(gate, who, absent)
            assert [text.replace(hidden, absent) for text in them] == nobody
        found = await gate.search_functions("siphon", principal=who)
        listed = {each["name"]: each for each in (await gate.list_servers(principal=who))["servers"]}
        names = door(gate, who).members("zephyr_vault")
        assert (found["total"], listed["zephyr_vault"]["functions"]) == (1, 1)
        assert [name for name in names if "two" in name.lower()] == []
        assert "siphon_two" in (door(gate, "bob").members("zephyr_vault") or ())
        near = await said(door(gate, who).call("zephyr_vault.siphon_tw", (), {}))
        assert ("siphon_one" in near, "siphon_two" in near) == (True, False)
        assert (await gate.call("zephyr_vault.siphon_one", {"city": "Oslo"}, principal=who))["city"] == "Oslo"


async def test_by_an_endpoint_nobody_may_do_more(place: Any) -> None:
    """What a person may not use is not there by an endpoint that has it; and one of readers has nothing that writes."""
    async with place.gateway(ENDPOINTS) as gate:
        assert gate.servers.names(via("alice", "desk")) == ("weather",)
        with pytest.raises(DoorwardError, match=r"\[principals\.bob\] deny"):
            await gate.call("weather.add_station", {"city": "x"}, principal=via("bob", "desk"))
        with pytest.raises(UnknownName, match=r"there is no function 'weather\.add_station'"):
            await gate.call("weather.add_station", {"city": "x"}, principal=via("alice", "readers"))
        assert (await gate.list_servers(principal=via(LOCAL, "tagged")))["servers"][0]["functions"] == 0
        assert gate.servers.names(via("bob", "only")) == ("weather",), "others are not even named"
        come = {who: [name for name in gate.principals.endpoints if gate.principals.by_endpoint(who, name)]
                for who in ("alice", "owl1", "bob")}  # fmt: skip
        assert come == {
            "alice": ["field", "desk", "readers", "tagged", "only"],
            "owl1": ["field", "desk", "readers", "tagged", "only"],
            "bob": ["field", "desk", "tagged", "only"],
        }
        assert gate.principals.by_endpoint("alice", "nowhere") is None


async def test_an_endpoint_has_its_own_limits_and_surface(place: Any) -> None:
    """Its rate counts beside that of the person, which stays one by whatever endpoint they come."""
    async with place.gateway(ENDPOINTS + "[limits]\nrate = 3\ncalls = 50\n") as gate:
        desk, field = via("bob", "desk"), via("bob", "field")
        assert [gate.admission.limits(who).calls for who in (desk, field)] == [3, 50]
        assert [gate.surface(who) for who in (desk, field, "bob")] == ["calls", "standard", "standard"]
        assert [(await gate.execute("1", principal=desk)).ok for _ in range(3)] == [True, True, False]
        assert [(await gate.execute("1", principal=field)).ok for _ in range(2)] == [True, False]
        with pytest.raises(LimitExceeded, match="3 runs a minute"):
            await gate.admission.admit("bob")


async def test_what_is_stored_by_an_endpoint_is_of_nobody_else(place: Any) -> None:
    """Not even of the same person elsewhere: kept programs, results and sessions of the sandbox."""
    async with place.gateway(ENDPOINTS.replace("rate = 2\n", "")) as gate:
        desk, field = via("bob", "desk"), via("bob", "field")
        kept = await gate.execute(CALL, principal=desk)
        session = await gate.execute("1", session_id="new", principal=desk)
        artefact = await gate.artefacts.keep(gate.artefacts.made(b"x", "text/plain"), desk)
        for other in (field, "bob", "alice"):
            with pytest.raises(UnknownName):
                await gate.result(artefact.uri, principal=other)
            again = await gate.run_cached(kept.cache_id, principal=other)
            joined = await gate.execute("1", session_id=session.session_id, principal=other)
            assert [each.ok for each in (again, joined)] == [False, False]
            assert "zephyr" not in str(again)
        assert (await gate.result(artefact.uri, principal=desk)).total
        # A program that was kept when the endpoint had more: what it calls is looked up when it runs.
        gate.principals.use(replace(gate.loaded, config=_without(gate, "weather.*")))
        told = await gate.run_cached(kept.cache_id, principal=desk)
        assert "has no attribute 'get_forecast'" in str(told.error)


def _without(gate: Gateway, pattern: str) -> Any:
    desk = gate.config.endpoints["desk"].model_copy(update={"exclude": [pattern]})
    return gate.config.model_copy(update={"endpoints": {"desk": desk}})


async def test_credentials_groups_and_attributes_are_of_the_person(place: Any) -> None:
    """Whoever comes by an endpoint is the same person to servers, rules and the scrubber."""
    who = via(Principal("owl1", attributes={"team": "x"}), "readers")
    assert (person_of(who), endpoint_of(who), who.attributes["team"]) == ("owl1", "readers", "x")
    assert (person_of("a"), endpoint_of("a")) == ("a", "")
    assert answers_of("s", who) == answers_of("s", "owl1")
    assert made_by(who, frozenset()) == made_by("owl1", frozenset())
    async with place.gateway(ENDPOINTS) as gate:
        assert gate.principals.known(who).groups == ("night",)
    members = members_of({"night": ["owl*"], "front": ["* via desk"]})
    assert [members([name], "")(who) for name in ("owl1", "@night", "* via readers", "* via desk", "@front")] == [
        True, True, True, False, False,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ('[endpoints."Up/x"]\n', "cannot name an endpoint"),
        ("[endpoints.a]\nserver = []\n", "did you mean 'servers'"),
        ("[endpoints.a.limits]\nkept = 1\n", "kept"),
        ('[principals."a via b"]\n', "cannot name a principal"),
    ],
)
def test_what_cannot_be_an_endpoint(tmp_path: Path, table: str, told: str) -> None:
    """A name goes into a path; and nobody is called as if they had come by an endpoint."""
    (tmp_path / "doorward.toml").write_text(table)
    with pytest.raises(ConfigError, match=told):
        load(tmp_path / "doorward.toml")
    (tmp_path / "doorward.toml").write_text('[endpoints.a]\nprincipals = ["@nobody"]\n')
    with pytest.raises(ConfigError, match="there is no group 'nobody'"):
        Principals(load(tmp_path / "doorward.toml"))
    names = ["a via b", "avia b", "local via ", "alice via ", " via "]
    assert [can_come_in(name) for name in names] == [False, True, False, False, False]
