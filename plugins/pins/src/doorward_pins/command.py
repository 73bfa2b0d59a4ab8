"""`doorward pins`: what has changed since functions were reviewed, and its review."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import anyio
import click
from doorward import ConfigError
from doorward_cli import Project, Stored, common, complete_functions, described, note, plain, print_json, say

if TYPE_CHECKING:
    from doorward import DoorwardError, Gateway
    from doorward.configuration import Loaded
    from doorward.engines import Store

    from doorward_pins.plugin import Pins
    from doorward_pins.review import Difference


@dataclass
class Found:
    """Differences by server, servers of which nothing is pinned, the functions that were accepted, and what is
    broken."""

    differences: dict[str, list[Difference]] = field(default_factory=dict)
    unpinned: list[str] = field(default_factory=list)
    accepted: list[str] = field(default_factory=list)
    errors: Mapping[str, DoorwardError] = field(default_factory=dict)

    @property
    def waits(self) -> bool:
        return bool(self.unpinned) or any(each.waits for some in self.differences.values() for each in some)


class PinsCommand(click.Command):
    """The command, which also tells `doorward upgrade` of the lock file."""

    async def stored_checks(self, loaded: Loaded, store: Store | None) -> AsyncIterator[Stored]:
        """Whether the lock file can be read. Raises: ConfigError."""
        from doorward_pins.lock_file import LockFile
        from doorward_pins.settings import PinsSettings

        settings = getattr(loaded.config, "pins", None) or PinsSettings()
        file = loaded.folder / settings.file.expanduser()
        if servers := LockFile(file).read():
            yield Stored(f"pins: {file.name} has {len(servers)} servers", "kept")


@click.command(cls=PinsCommand)
@common
@click.argument("names", nargs=-1, shell_complete=complete_functions)
@click.option("--accept", is_flag=True, help="Pin these functions as they are now.")
@click.option("--check", is_flag=True, help="End with 1 if anything waits for a review.")
def pins(project: Project, names: tuple[str, ...], accept: bool, check: bool) -> int:
    """Show how functions differ upstream from what was reviewed: of all servers, or of NAMES, which are servers or
    functions (crm.get_notes, 'crm.get_*').

    What waits is served as it was reviewed until it is accepted; what [pins] allow names is served as it is.
    """
    found = anyio.run(_pins, project, names, accept)
    if project.json:
        print_json(_as_dict(found))
    else:
        _tell(found, accept)
    return 1 if found.errors or (check and found.waits) else 0


async def _pins(project: Project, names: Sequence[str], accept: bool) -> Found:
    from doorward_pins.plugin import is_asked

    async with project.gateway(ready=False) as gate:
        plugin: Pins | None = gate.plugins.manager.get_plugin("pins")
        if plugin is None:
            raise ConfigError("pins are not in use", hint="Write the table [pins] into the configuration.")
        chosen = _chosen(gate, names)
        found = Found()
        await gate.compiler.compile([gate.servers.modules[module] for module in chosen], force=True, dry_run=True)
        found.errors = {name: gate.servers.broken[name] for name in gate.servers.broken if name in
                        {gate.servers.modules[module] for module in chosen}}  # fmt: skip
        readable = [module for module in chosen if gate.servers.modules[module] not in found.errors]
        for module in readable:
            if accept:
                accepted = plugin.accept(module, chosen[module])
                found.accepted += [f"{module}.{name}" for name in accepted]
            elif (review := plugin.review(module)) is None:
                found.unpinned.append(gate.servers.modules[module])
            else:
                found.differences[module] = [
                    each for each in review.differences if is_asked(module, each, chosen[module])
                ]
        if accept:
            await gate.compiler.compile([gate.servers.modules[module] for module in readable], force=True)
        return found


def _chosen(gate: Gateway, names: Sequence[str]) -> dict[str, list[str]]:
    """The modules of the servers, each with the patterns of functions that were named; none means all."""
    from doorward import LOCAL

    if not names:
        return {module: [] for module in gate.servers.modules}
    chosen: dict[str, list[str]] = {}
    for name in names:
        server, dot, function = name.partition(".")
        patterns = chosen.setdefault(gate.discovery.module(server, LOCAL), [])
        if dot:
            patterns.append(function)
    return chosen


def _as_dict(found: Found) -> dict[str, object]:
    return {
        "differences": [
            {
                "function": f"{module}.{each.function}", "waits": each.waits,
                "changes": [{"kind": change.kind, "what": change.what} for change in each.changes],
            }
            for module, differences in found.differences.items()
            for each in differences
        ],
        "unpinned": found.unpinned, "accepted": found.accepted,
        "errors": {name: described(error) for name, error in found.errors.items()},
    }  # fmt: skip


def _tell(found: Found, accept: bool) -> None:
    for name, error in found.errors.items():
        say(f"{click.style('broken', fg='red')} {name}: {plain(described(error)['message'])}", clean=False)
    for module, differences in found.differences.items():
        for each in differences:
            state = click.style("waits", fg="red") if each.waits else "served"
            say(f"{state} {module}.{each.function}", clean=False)
            for change in each.changes:
                say(f"  {change.kind}: {plain(change.what)}", clean=False)
    for server in found.unpinned:
        say(f"not pinned: {server}")
    if accept:
        for name in found.accepted:
            say(name)
        note(f"{len(found.accepted)} function{'' if len(found.accepted) == 1 else 's'} accepted")
    elif not found.unpinned and not any(found.differences.values()) and not found.errors:
        say("nothing differs from what was reviewed")
