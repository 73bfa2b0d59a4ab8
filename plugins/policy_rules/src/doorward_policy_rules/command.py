"""`doorward policy explain` and `accept`: the rules in their order, and functions that an operator has looked at."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, Any

import anyio
import click
from doorward import LOCAL
from doorward_cli import Project, common, complete_functions, complete_servers, note, print_json, say, table

from doorward_policy_rules.explained import explained, functions_of, rules_of

if TYPE_CHECKING:
    from doorward import Gateway


_WHO = click.option("--principal", metavar="NAME", default=LOCAL, show_default=True, help="Who asks.")


class Explain(click.Command):
    """The command, which also has `doctor` look at the rules."""

    async def checks(self, gateway: Gateway) -> AsyncIterator[tuple[str, bool, str]]:
        """Rules that decide nothing, and `new` without a list of functions."""
        from doorward_policy_rules.explanation import idle

        if (rules := rules_of(gateway)) is None:
            return
        functions = [*functions_of(gateway)]
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
        return explained(gate, name, principal)


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
    note(f"{len(found)} new function{'' if len(found) == 1 else 's'} accepted")


async def _accept(project: Project, servers: Sequence[str]) -> list[str]:
    async with project.gateway(only=servers or None) as gate:
        from doorward.deciding import Effects

        from doorward_policy_rules.known_functions import KnownFunctions

        chosen = [gate.discovery.module(server, LOCAL) for server in servers]
        known = KnownFunctions(gate.state, Effects(gate.config.policy.classes))
        return known.accept(functions_of(gate, chosen), keep=bool(chosen))
