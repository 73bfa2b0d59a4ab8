"""`doorward triggers`: what starts programs without a model, and how that went."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, Any

import anyio
import click
from doorward import DoorwardError, UnknownName
from doorward.administration import open_store
from doorward.texts import nearest
from doorward_cli import Project, common, note, print_json, say, table, tell

if TYPE_CHECKING:
    from doorward import Gateway
    from doorward.configuration import Loaded

    from doorward_triggers.queue import Queue, State
    from doorward_triggers.settings import TriggerSettings


class TriggersGroup(click.Group):
    """The commands, which also give `doctor` a line for each trigger."""

    async def checks(self, gateway: Gateway) -> AsyncIterator[tuple[str, bool, str]]:
        """Whether the program and the secret of each trigger are there."""
        from doorward_triggers.running import check_program

        for name, settings in _of(gateway.loaded).items():
            try:
                await check_program(gateway, name, settings)
                if settings.secret is not None:
                    await settings.secret.get()
            except DoorwardError as error:
                yield f"trigger {name}: {error}", False, error.hint or ""
            else:
                yield f"trigger {name}: {settings.when}", True, ""


@click.group(cls=TriggersGroup)
def triggers() -> None:
    """Schedules and webhooks that start programs without a model: `[triggers.NAME]` of the configuration."""


@triggers.command("list")
@common
def list_(project: Project) -> None:
    """List them: what each waits for, what waits for it, what was missed, and how its last run ended."""
    loaded, now = project.load(), time.time()
    rows = anyio.run(_rows, project, loaded, now)
    if project.json:
        print_json({"triggers": rows})
    elif not rows:
        note("the configuration has no [triggers]")
    else:
        table(["name", "when", "runs", "state", "next", "queued", "missed", "last run"], [
            (each["name"], each["when"], f"{each['runs']} for {each['principal']}", each["state"], each["next"],
             len(each["queue"]), each["missed"], _last(each["latest"])) for each in rows
        ])  # fmt: skip


@triggers.command()
@common
@click.argument("names", nargs=-1, required=True)
def pause(project: Project, names: Sequence[str]) -> None:
    """Start nothing for the triggers NAMES. Deliveries wait meanwhile; ticks that pass are missed."""
    _pause(project, names, paused=True)


@triggers.command()
@common
@click.argument("names", nargs=-1, required=True)
def resume(project: Project, names: Sequence[str]) -> None:
    """Have the triggers NAMES go on."""
    _pause(project, names, paused=False)


@triggers.command()
@common
@click.argument("name")
@click.option("--params", metavar="JSON", default="{}", help="Values for parameters, as a delivery would give them.")
def run(project: Project, name: str, params: str) -> int:
    """Run the program of the trigger NAME now, once, as its principal. Its ticks and deliveries stay as they are."""
    from doorward_triggers.running import run as run_now

    try:
        values = json.loads(params)
    except ValueError as error:
        raise click.UsageError(f"--params is no JSON: {error}") from None
    if not isinstance(values, dict):
        raise click.UsageError("--params is no JSON object")
    loaded = project.load()
    settings = _named(loaded, [name])[name]

    async def ran() -> Any:
        async with project.gateway(loaded) as gateway:
            return await run_now(gateway, name, settings, values)

    return tell(project, anyio.run(ran))


def _pause(project: Project, names: Sequence[str], *, paused: bool) -> None:
    loaded = project.load()
    chosen = _named(loaded, names)

    async def change() -> None:
        async with open_store(loaded) as store:
            for name, settings in chosen.items():
                await _queue(store, name, settings).pause(paused=paused, now=time.time())

    anyio.run(change)
    if project.json:
        print_json({"paused" if paused else "resumed": [*chosen]})
    else:
        say("\n".join(f"{name} {'is paused' if paused else 'goes on'}" for name in chosen))


async def _rows(project: Project, loaded: Loaded, now: float) -> list[dict[str, Any]]:
    from doorward_triggers.running import check_program

    rows = []
    async with project.gateway(loaded, ready=False) as gateway:
        for name, settings in _of(loaded).items():
            row = _described(name, settings, await _queue(gateway.store, name, settings).state(), now)
            try:
                await check_program(gateway, name, settings)
            except DoorwardError as error:
                row["state"] = f"cannot run: {error.message}"
            rows.append(row)
    return rows


def _queue(store: Any, name: str, settings: TriggerSettings) -> Queue:
    from doorward_triggers.queue import Queue

    return Queue(store, name, settings.queue)


def _of(loaded: Loaded) -> dict[str, TriggerSettings]:
    return getattr(loaded.config, "triggers", None) or {}


def _named(loaded: Loaded, names: Sequence[str]) -> dict[str, TriggerSettings]:
    """Raises: UnknownName."""
    known = _of(loaded)
    for name in names:
        if name not in known:
            near = nearest(name, [*known], 1)
            hint = f"Did you mean {near[0]}?" if near else "doorward triggers list shows them."
            raise UnknownName(f"there is no trigger {name[:80]!r}", hint=hint)
    return {name: known[name] for name in names}


def _described(name: str, settings: TriggerSettings, state: State, now: float) -> dict[str, Any]:
    from doorward_triggers.queue import GRACE
    from doorward_triggers.ticks import Schedule, name_of

    following, word = "", "paused" if state.paused else "runs" if state.running else "ready"
    if settings.schedule:
        following = name_of(next(Schedule(settings.schedule, settings.zone).after(max(now, state.last))))
        if state.last > now + GRACE and not state.paused:
            word = "waits, for the clock was put back: `doorward triggers resume` has it go on"
    return {
        "name": name, "when": settings.when, "runs": settings.program or str(settings.script),
        "principal": settings.principal, "state": word, "next": following, "queue": state.queue,
        "missed": state.missed, "latest_missed": state.latest_missed, "latest": state.runs[-1] if state.runs else None,
        "ended": state.runs,
    }  # fmt: skip


def _last(run: dict[str, str] | None) -> str:
    return f"{run['at']} {run['ended']} {run['about']}".strip() if run else "none"
