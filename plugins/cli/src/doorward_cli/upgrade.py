"""`doorward upgrade`: what this version would change or refuse of what an earlier one stored. It changes nothing."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

import anyio
import click
from doorward import DoorwardError
from doorward.abilities import TellsLayout
from doorward.texts import indented

from doorward_cli.installed_commands import other_commands
from doorward_cli.shared import Project, common, described, plain, print_json, say

if TYPE_CHECKING:
    from doorward.configuration import Loaded
    from doorward.engines import Store


@dataclass(frozen=True, slots=True)
class Stored:
    """Something that is stored, what this version does with it, and advice."""

    what: str
    state: Literal["kept", "migrated", "refused"]
    advice: str = ""


@runtime_checkable
class StoredCheckProvider(Protocol):
    """A command of a plugin that has lines of its own in `doorward upgrade`: a class for `@click.command(cls=…)` with
    this method."""

    def stored_checks(self, loaded: Loaded, store: Store | None) -> AsyncIterator[Stored]:
        """What the plugin has stored, in files of the configuration and in its store (`None` while that has the tables
        of another version), and whether this version can use it. It changes nothing: the version before may still run.
        A DoorwardError becomes a line that is refused."""
        ...


@click.command()
@common
def upgrade(project: Project) -> int:
    """Say what this version of Doorward would change or refuse of what an earlier one has stored: the configuration,
    the store, stored runs and lock files. Ends with 1 if something is refused.

    It changes nothing. Install the new version beside the old one, and run its `doorward upgrade` before you switch.
    """
    found = anyio.run(_all, project)
    refused = any(each.state == "refused" for each in found)
    if project.json:
        from doorward import __version__

        rows = [{"what": each.what, "state": each.state, "advice": each.advice} for each in found]
        print_json({"ok": not refused, "version": __version__, "stored": rows})
    for each in found if not project.json else ():
        colour = {"kept": "green", "migrated": "yellow", "refused": "red"}[each.state]
        advice = f"\n    {indented(plain(each.advice))}" if each.advice else ""
        say(f"{click.style(each.state, fg=colour)} {indented(plain(each.what))}{advice}", clean=False)
    return int(refused)


async def _all(project: Project) -> list[Stored]:
    try:
        loaded = project.load()
    except DoorwardError as error:
        return [_refused(f"configuration {project.config}", error)]
    found = [each async for each in _configuration(project, loaded)]
    return [*found, *[each async for each in _stored(loaded)]]


def _refused(what: str, error: DoorwardError) -> Stored:
    return Stored(f"{what}: {described(error)['message']}", "refused", error.hint or "")


async def _configuration(project: Project, loaded: Loaded) -> AsyncIterator[Stored]:
    """Whether everything takes its settings: in a gateway whose state and store are thrown away."""
    from doorward import MissingSecret
    from doorward.configuration import find_index

    what = f"configuration {project.config}"
    engine = "sqlite" if find_index().named("store", "sqlite") else "memory"
    with tempfile.TemporaryDirectory(prefix="doorward-") as folder:
        away = {"state": Path(folder), "store": engine, "stores": {}}
        try:
            elsewhere = replace(loaded, config=loaded.config.model_copy(update=away))
            async with project.gateway(elsewhere, ready=False) as gate:
                yield Stored(what, "kept")
                broken = dict(gate.servers.broken)
                for name in gate.servers.configured:
                    try:
                        gate.servers.settings(name)
                    except MissingSecret:  # no matter of versions
                        continue
                    except DoorwardError as error:
                        broken[name] = error
                for name, why in broken.items():
                    yield _refused(f"server {name}", why)
        except DoorwardError as error:
            yield _refused(what, error)


async def _stored(loaded: Loaded) -> AsyncIterator[Stored]:
    """The store, and what plugins have stored there and in files of their own."""
    from doorward.administration import Plugins, open_store
    from doorward.configuration import find_index

    readable: Store | None = None
    try:
        async with open_store(loaded) as store:
            try:
                yield (at := await _layout(store))
                readable = store if at.state == "kept" else None  # to read it would change it
            except DoorwardError as error:
                yield _refused("store", error)
            plugins = Plugins(find_index())
            for entry in other_commands(plugins.index):
                try:
                    command = plugins.driver("command", entry.name)
                    if isinstance(command, StoredCheckProvider):
                        async for each in command.stored_checks(loaded, readable):
                            yield each
                except DoorwardError as error:
                    yield _refused(entry.name, error)
    except DoorwardError as error:
        yield _refused("store", error)


async def _layout(store: Store) -> Stored:
    """What this version does with the tables of a store. Raises: StateError if it refuses them."""
    if not isinstance(store, TellsLayout):
        return Stored("store: it says of no version" if store.lasts else "store: nothing lasts", "kept")
    there, ours = await store.layout()
    if not there:
        return Stored("store: nothing is stored", "kept")
    if there < ours:
        advice = (
            "It is done at its first use; older versions cannot read it then. Copy it before, and look again after."
        )
        return Stored(f"store: its tables are brought from version {there} to {ours}", "migrated", advice)
    newer = f", which is newer than this Doorward's {ours}, and can be used" if there > ours else ""
    return Stored(f"store: its tables are of version {there}{newer}", "kept")
