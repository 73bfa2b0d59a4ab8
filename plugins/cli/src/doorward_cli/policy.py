"""`doorward policy`: what is decided of calls, tried without a call."""

from __future__ import annotations

from typing import Any

import anyio
import click
from doorward import LOCAL, Program, Refused

from doorward_cli.completion import complete_functions
from doorward_cli.shared import EXIT_CODES, Project, common, json_object, print_json, say


@click.group()
def policy() -> None:
    """What the operator's rules decide of calls. Nothing is called."""


@policy.command()
@common
@click.option("--principal", metavar="NAME", default=LOCAL, show_default=True, help="Who asks.")
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
