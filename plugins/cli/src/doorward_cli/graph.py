"""`doorward show --graph`: which functions give the identifiers that others need."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click
from doorward import LOCAL

from doorward_cli.shared import Project, note, plain, print_json, say, table

if TYPE_CHECKING:
    from doorward import Gateway


async def show_graph(project: Project, names: Sequence[str]) -> int:
    """Print what is known of the named servers and functions, or of all servers. Returns: the exit status."""
    from doorward import UnknownName

    found: list[dict[str, Any]] = []
    errors = []
    async with project.gateway(only=names or None) as gate:
        for name in names or sorted(gate.catalog.servers().intersection(gate.servers.modules)):
            try:
                found += [edge for edge in await _edges(gate, name) if edge not in found]
            except UnknownName as error:
                errors.append(error)
    if project.json:
        print_json({"graph": found})
    elif found:
        rows = [(e["function"], e["parameter"], e["producer"], e["field"], _sure(e)) for e in found]
        table(["function", "needs", "from", "its field", "how sure"], rows)
    elif not errors:
        note("no function is known to give what another one needs")
    for wrong in errors:
        told = " ".join(filter(None, (str(wrong), wrong.hint)))
        say(f"{click.style('error:', fg='red')} {plain(told)}", err=True, clean=False)
    return 1 if errors else 0


async def _edges(gate: Gateway, name: str) -> list[dict[str, Any]]:
    """The edges of a server, or those that lead to or from one function. Raises: UnknownName."""
    from doorward import UnknownName

    try:
        module = gate.discovery.module(name, LOCAL)
    except UnknownName:
        function = gate.broker.functions.find(name, LOCAL)
        of_server = await _told(gate, function.server)
        return [edge for edge in of_server if function.qualified in (edge["function"], edge["producer"])]
    return await _told(gate, module)


def _sure(edge: dict[str, Any]) -> str:
    return f"{edge['confidence']:.0%}" + (f", learned from {edge['learned']} runs" if "learned" in edge else "")


async def _told(gate: Gateway, module: str) -> list[dict[str, Any]]:
    """The edges of a server as JSON shows them: `function` needs `parameter`, which `producer` gives as `field`. Those
    that were learned from use say of how many runs."""
    return [
        {key: value for key, value in given._asdict().items() if key != "learned" or value}
        for given in await gate.search_engine().graph(module, LOCAL)
    ]
