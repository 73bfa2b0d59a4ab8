"""`doorward policy explain` and `accept`: the rules in their order, and functions that an operator has looked at."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import anyio
import click
from doorward import LOCAL
from doorward_cli import Project, common, complete_functions, complete_servers, print_json, say, table

if TYPE_CHECKING:
    from doorward import Function, Gateway

    from doorward_policy_rules.policy_rules import PolicyRules
    from doorward_policy_rules.rules import Rule

_WHO = click.option("--principal", metavar="NAME", default=LOCAL, show_default=True, help="Who asks.")


class Explain(click.Command):
    """The command, which also has `doctor` look at the rules."""

    async def checks(self, gateway: Gateway) -> AsyncIterator[tuple[str, bool, str]]:
        """Rules that decide nothing, and `new` without a list of functions."""
        from doorward_policy_rules.explanation import idle

        if (rules := _rules(gateway)) is None:
            return
        functions = [*_functions(gateway)]
        found = [*idle(rules, functions, LOCAL)] if functions else []
        for name, why in found:
            yield f"{name}: {why}", True, "Correct or remove it; `doorward policy explain` shows all rules."
        if rules.new != "allow" and rules.known.accepted() is None:
            yield "[policy] new does nothing", True, "`doorward policy accept` stores which functions there are now."
        if not found:
            yield f"policy: {sum(len(each.rules) for each in rules.tables)} rules", True, ""


@click.command(cls=Explain)
@common
@_WHO
@click.argument("function", required=False, shell_complete=complete_functions)
def explain(project: Project, function: str | None, principal: str) -> None:
    """Show the rules in the order in which they are asked, and how many functions each is for; with FUNCTION, what each
    says of it."""
    rows = anyio.run(_explain, project, function, principal)
    if project.json:
        print_json({"rules": rows})
    elif rows:
        table([*rows[0]], [[*row.values()] for row in rows])
    else:
        say("there are no rules: what [policy] allow and deny let through is allowed")


async def _explain(project: Project, name: str | None, principal: str) -> list[dict[str, Any]]:
    async with project.gateway(only=None if name is None else [name]) as gate:
        from doorward_policy_rules.explanation import fitting, steps

        if (rules := _rules(gate)) is None:
            return []
        if name is not None:
            function = gate.broker.functions.find(name, principal)
            return [step._asdict() for step in steps(gate.discovery.policy, rules, function, principal)]
        fits = fitting(rules, _functions(gate), principal)
        return [
            {"rule": rule.name, "then": rule.decision.then, "functions": len(fits[rule.name]), "for": _shown(rule)}
            for each in rules.tables
            for rule in each.rules
        ]


def _rules(gate: Gateway) -> PolicyRules | None:
    """The rules of a gateway; `None` if it has none."""
    found: PolicyRules | None = gate.plugins.manager.get_plugin("rules")
    return found


def _shown(rule: Rule) -> str:
    """What a rule is for, in a line."""
    given = rule.settings.model_dump(by_alias=True, exclude_defaults=True, exclude={"then"})
    return json.dumps(given, ensure_ascii=False)


@click.command()
@common
@click.argument("servers", nargs=-1, shell_complete=complete_servers)
def accept(project: Project, servers: Sequence[str]) -> None:
    """Accept the functions that there are now, of all servers or of some.

    `[policy] new` is what is decided of those that come later, or are of another class then.
    """
    found = anyio.run(_accept, project, servers)
    if project.json:
        print_json({"new": found})
        return
    for name in found:
        say(name)
    say(f"{len(found)} new function{'' if len(found) == 1 else 's'} accepted", err=True)


async def _accept(project: Project, servers: Sequence[str]) -> list[str]:
    async with project.gateway(only=servers or None) as gate:
        from doorward.deciding import Effects

        from doorward_policy_rules.known_functions import KnownFunctions

        chosen = [gate.discovery.module(server, LOCAL) for server in servers]
        known = KnownFunctions(gate.state, Effects(gate.config.policy.classes))
        return known.accept(_functions(gate, chosen), keep=bool(chosen))


def _functions(gate: Gateway, servers: Sequence[str] = ()) -> Iterator[Function]:
    """The functions of these servers; of all, if none is named."""
    for server in servers or gate.servers.modules:
        yield from gate.catalog.functions(server)
