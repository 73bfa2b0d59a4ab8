"""What policies in Cedar decide of calls, asked as the hook and through a gateway."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from doorward import ConfigError, Decision, Principal, Refused
from doorward_policy_cedar import CedarPolicies
from doorward_testing import call_of
from doorward_testing.samples import CONFIG

POLICIES = """
permit(principal, action, resource);
@id("ours") @reason("not this")
forbid(principal, action == Action::"write", resource in Server::"github");
@id("payments") @then("confirm") @reason("it moves money")
forbid(principal, action, resource == Function::"billing.pay")
unless { principal in Group::"ops" && context.args.amount <= 100 };
@id("much") forbid(principal, action, resource == Function::"billing.pay")
when { context.args has amount && context.args.amount > 1000 };
@id("rates") forbid(principal, action, resource == Function::"billing.rate")
when { context.args.rate.greaterThan(decimal("1.5")) };
"""


@pytest.fixture(autouse=True)
def _rules(doorward_host: Any) -> None:
    doorward_host.install_real("doorward-policy-rules")


@pytest.fixture
def cedar(host: Any, tmp_path: Path) -> CedarPolicies:
    file = tmp_path / "policies.cedar"
    file.write_text(POLICIES)
    settings = {"policies": str(file), "groups": {"ops": ["alice"]}}
    return CedarPolicies(host.context(CedarPolicies.Settings, settings))


PAYMENTS = Decision("confirm", "cedar payments", "it moves money")
MUCH = Decision("deny", "cedar much")


@pytest.mark.parametrize(
    ("call", "decision"),
    [
        (call_of("github.get"), None),
        (call_of("github.add", read_only=False), Decision("deny", "cedar ours", "not this")),
        (call_of("gitlab.add", read_only=False), None),
        (call_of("billing.pay", amount=100), None),
        (call_of("billing.pay", amount=101), PAYMENTS),
        (call_of("billing.pay", amount=1001), MUCH),
        (call_of("billing.rate", rate=1.5), None),
        (call_of("billing.rate", rate=1.51), Decision("deny", "cedar rates")),
    ],
)
def test_policies_decide(cedar: CedarPolicies, call: Any, decision: Decision | None) -> None:
    """By action, server, function, group and arguments; a person is asked only if no policy denies."""
    assert cedar.decide(call=call) == decision


@pytest.mark.parametrize(
    ("who", "then"),
    [
        (Principal("ann", attributes={"team": "money", "level": 3}), None),
        (Principal("ann", attributes={"team": "money"}), "deny"),  # a policy cannot be evaluated
        (Principal("ann", attributes={"team": "sea", "level": 3}), "deny"),
        (Principal("ann", groups=("auditors",)), None),
        (Principal("ann", groups=("ops",)), "deny"),  # its own table says who these are
        (Principal("ann", attributes={"groups": ["auditors"]}), "deny"),
        ("ann", "deny"),
    ],
)
def test_policies_ask_who_calls(host: Any, tmp_path: Path, who: str, then: str | None) -> None:
    """By what is known of the principal: claims and attributes, and the groups of the configuration."""
    file = tmp_path / "policies.cedar"
    file.write_text(
        'permit(principal in Group::"auditors", action, resource);\npermit(principal in Group::"ops", action, resource);'
        "\npermit(principal, action, resource) when { principal.attributes has team && principal.attributes.team == "
        '"money" && principal.attributes.level > 2 };'
    )
    settings = {"policies": str(file), "groups": {"ops": ["alice"]}}
    plugin = CedarPolicies(host.context(CedarPolicies.Settings, settings))
    decision = plugin.decide(call=replace(call_of("billing.pay"), principal=who))
    assert (decision and decision.then) == then


@pytest.mark.parametrize("args", [{}, {"amount": "1"}, {"amount": 1.5}, {"amount": None}, {"amount": 2**64}])
def test_what_cannot_be_judged_is_denied(cedar: CedarPolicies, args: Any) -> None:
    """A policy that fails is none that lets pass."""
    decision = cedar.decide(call=call_of("billing.pay", **args))
    assert decision is not None
    assert decision.then == "deny"


@pytest.mark.parametrize("key", ["__entity", "__extn", "__expr"])
def test_no_argument_becomes_an_entity(cedar: CedarPolicies, key: str) -> None:
    """What a program sends is data to a policy, at any depth."""
    given = {key: {"type": "Group", "id": "ops", "fn": "decimal", "arg": "0.0"}}
    for value in (given, [given], {"deep": [{"er": given}]}):
        decision = cedar.decide(call=call_of("github.get", value=value))
        assert decision is not None
        assert decision.then == "deny"


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("permit(", "unexpected end"),
        ('@then("ask") forbid(principal, action, resource);', "@then"),
        ("permit(principal == ?principal, action, resource);", "templates"),
    ],
)
def test_wrong_policies_stop_the_start(host: Any, tmp_path: Path, text: str, wrong: str) -> None:
    """The error says what is wrong with them."""
    file = tmp_path / "policies.cedar"
    file.write_text(text)
    for path, why in ((file, wrong), (tmp_path / "none", "cannot be read")):
        with pytest.raises(ConfigError, match=why):
            CedarPolicies(host.context(CedarPolicies.Settings, {"policies": str(path)}))


@pytest.mark.anyio
async def test_a_relative_path_starts_where_the_configuration_lies(doorward_host: Any) -> None:
    """Whatever folder the client starts the process in."""
    (doorward_host.folder / "rules").mkdir()
    (doorward_host.folder / "rules/all.cedar").write_text("forbid(principal, action, resource);")
    doorward_host.install("plugin", "cedar", CedarPolicies)
    config = CONFIG.replace("plugins = []", 'plugins = ["cedar"]') + '[hooks.cedar]\npolicies = "rules/all.cedar"\n'
    async with doorward_host.gateway(config) as gate:
        with pytest.raises(Refused):
            await gate.call("weather.get_forecast", {"city": "Oslo"})


@pytest.mark.anyio
async def test_a_gateway_keeps_to_them(doorward_host: Any, tmp_path: Path) -> None:
    """A call that a policy forbids is refused with its name and reason; rules may deny what policies permit."""
    file = tmp_path / "policies.cedar"
    file.write_text(
        'permit(principal, action, resource); @id("no towns") @reason("not Oslo") '
        'forbid(principal, action, resource) when { context.args has city && context.args.city == "Oslo" };'
    )
    doorward_host.install("plugin", "cedar", CedarPolicies)
    config = CONFIG.replace("plugins = []", 'plugins = ["cedar"]') + f'[hooks.cedar]\npolicies = "{file}"\n'
    async with doorward_host.gateway(config + '[[policy.rules]]\nmatch = "weather.big"\nthen = "deny"\n') as gate:
        await gate.call("weather.get_forecast", {"city": "Rome"})
        with pytest.raises(Refused, match="cedar no towns: not Oslo"):
            await gate.call("weather.get_forecast", {"city": "Oslo"})
        with pytest.raises(Refused, match=r"\[\[policy.rules\]\] 1"):
            await gate.call("weather.big")
