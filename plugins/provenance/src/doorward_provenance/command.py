"""`doorward provenance`: the labels of functions, which say what is asked about."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import anyio
import click
from doorward import ConfigError
from doorward_cli import Project, common, complete_functions, print_json, table

if TYPE_CHECKING:
    from doorward import Function

    from doorward_provenance.labels import Labels
    from doorward_provenance.plugin import Provenance


@click.command()
@common
@click.argument("names", nargs=-1, shell_complete=complete_functions)
def provenance(project: Project, names: tuple[str, ...]) -> None:
    """Show the labels of functions: of all servers, or of NAMES, which are servers or functions (crm.get_notes,
    'crm.get_*').

    What an untrusted function answers may be a stranger's will; a private one answers what is not for everybody; an
    outward one reaches other people or places, by the parameters in parentheses. The lists of [provenance] change them.
    """
    labelled = anyio.run(_labels, project, names)
    if project.json:
        print_json({"labels": {name: _as_dict(labels) for name, labels in labelled.items()}})
    else:
        table(["function", "labels"], [(name, str(labels)) for name, labels in labelled.items()])


async def _labels(project: Project, names: Sequence[str]) -> dict[str, Labels]:
    """The functions that have labels, by their qualified names."""
    from doorward.deciding import Patterns

    patterns = Patterns(names or ["*"])

    def is_meant(function: Function) -> bool:
        return function.server in names or patterns.fit(function.qualified)

    async with project.gateway() as gate:
        plugin: Provenance | None = gate.plugins.manager.get_plugin("provenance")
        if plugin is None:
            raise ConfigError("provenance is not in use", hint="Write the table [provenance] into the configuration.")
        functions = [each for module in gate.servers.modules for each in gate.catalog.functions(module)]
        found = {each.qualified: plugin.labels.of(each) for each in functions if is_meant(each)}
    return {name: labels for name, labels in sorted(found.items()) if str(labels)}


def _as_dict(labels: Labels) -> dict[str, object]:
    return {
        "untrusted": labels.untrusted, "private": labels.private, "outward": labels.outward,
        "places": sorted(labels.places),
    }  # fmt: skip
