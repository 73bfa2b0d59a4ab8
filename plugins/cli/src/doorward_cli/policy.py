"""`doorward policy`: what the rules of the configuration decide, tried without a call."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import anyio
import click
from doorward import LOCAL, Program, Refused

from doorward_cli.completion import complete_functions, complete_servers
from doorward_cli.shared import EXIT_CODES, Project, common, json_object, print_json, say, table

if TYPE_CHECKING:
    from doorward import Function, Gateway
    from doorward.administration import PolicyRules, Rule

_WHO = click.option("--principal", metavar="NAME", default=LOCAL, show_default=True, help="Who asks.")


@click.group()
def policy() -> None:
    """What the operator's rules decide of calls. Nothing is called."""


@policy.command()
@common
@_WHO
@click.argument("function", shell_complete=complete_functions)
@click.option("--args", "arguments", metavar="JSON", help="The arguments of the call, as a JSON object.")
@click.option("--calls", default=0, show_default=True, help="How many calls the run has begun before.")
def test(project: Project, function: str, principal: str, arguments: str | None, calls: int) -> int:
    """Say what would happen with a call: by which rule, and why.

    Ends with 0 if it would be made, and with 3 if it is denied or a person would be asked.
    """
    told = anyio.run(_test, project, function, principal, arguments, calls)
    if project.json:
        print_json(told)
    else:
        by = f" by {told['rule']}" if told["rule"] else ""
        why = f": {told['reason']}" if told["reason"] else ""
        say(f"{told['then']}: {told['function']} for {principal}{by}{why}")
    return 0 if told["then"] == "allow" else EXIT_CODES["policy"]


async def _test(project: Project, name: str, principal: str, text: str | None, calls: int) -> dict[str, Any]:
    async with project.gateway(only=[name]) as gate:
        from doorward import Call
        from doorward.administration import bind_arguments

        function = gate.broker.functions.find(name, principal)
        arguments = {} if text is None else bind_arguments(function, (), json_object(text, "--args"), gate.catalog)
        told = {"function": function.qualified, "principal": principal, "then": "allow", "rule": "", "reason": ""}
        policy, program = gate.discovery.policy, Program("", principal=principal)
        try:
            gate.broker.permissions.check(program, function)
        except Refused as refused:
            if not refused.rule or policy.refusal_by_lists(program, function):
                return told | {"then": "deny", "reason": str(refused)}
        found = await policy.decide(Call(function, arguments, principal=principal, earlier=calls))
        return told | {"then": found.then, "rule": found.rule, "reason": found.reason}


@policy.command()
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
        from doorward.administration import fitting_functions, rule_steps

        if (rules := _rules(gate)) is None:
            return []
        if name is not None:
            function = gate.broker.functions.find(name, principal)
            return [step._asdict() for step in rule_steps(gate.discovery.policy, rules, function, principal)]
        fits = fitting_functions(rules, _functions(gate), principal)
        return [
            {"rule": rule.name, "then": rule.decision.then, "functions": len(fits[rule.name]), "for": _shown(rule)}
            for each in rules.tables
            for rule in each.rules
        ]


def _rules(gate: Gateway) -> PolicyRules | None:
    """The rules of a gateway; `None` if it has none."""
    found: PolicyRules | None = gate.plugins.manager.get_plugin("doorward.rules")
    return found


def _shown(rule: Rule) -> str:
    """What a rule is for, in a line."""
    given = rule.settings.model_dump(by_alias=True, exclude_defaults=True, exclude={"then"})
    return json.dumps(given, ensure_ascii=False)


@policy.command()
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
        from doorward.administration import Effects, KnownFunctions

        chosen = [gate.discovery.module(server, LOCAL) for server in servers]
        known = KnownFunctions(gate.state, Effects(gate.config.policy.classes))
        return known.accept(_functions(gate, chosen), keep=bool(chosen))


def _functions(gate: Gateway, servers: Sequence[str] = ()) -> Iterator[Function]:
    """The functions of these servers; of all, if none is named."""
    for server in servers or gate.servers.modules:
        yield from gate.catalog.functions(server)


async def about_policy(gate: Gateway) -> AsyncIterator[tuple[str, bool, str]]:
    """The findings of `doorward doctor`: rules that decide nothing, and `new` without a list of functions."""
    from doorward.administration import idle_rules

    if (rules := _rules(gate)) is None:
        return
    functions = [*_functions(gate)]
    found = [*idle_rules(rules, functions, LOCAL)] if functions else []
    for name, why in found:
        yield f"{name}: {why}", True, "Correct or remove it; `doorward policy explain` shows all rules."
    if rules.new != "allow" and rules.known.accepted() is None:
        yield "[policy] new does nothing", True, "`doorward policy accept` stores which functions there are now."
    if not found:
        yield f"policy: {sum(len(each.rules) for each in rules.tables)} rules", True, ""
