"""`doorward compile --enhance`: which model is asked, and what is told of its answers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import anyio
import click
from doorward import ConfigError, DoorwardError
from doorward.administration import open_store, qualified
from doorward.texts import clean
from doorward_cli import show_progress

from doorward_enhance.enhancer import Done, Enhancer, source_that_enhances
from doorward_enhance.texts import example_call
from doorward_enhance.written import WRITTEN, Written

if TYPE_CHECKING:
    from pathlib import Path

    from doorward import Function, Gateway
    from doorward.configuration import Loaded
    from doorward.engines import Store

    from doorward_enhance.enhancement import Enhancement

MAX_LISTED = 10
"""Failures that are listed without `--verbose`."""


def dollars(text: str) -> float | None:
    """The sum that is meant by `--budget`; `None` for as much as it takes. Raises: click.UsageError."""
    with suppress(ValueError):
        if text == "none" or 0 < float(text) < math.inf:
            return None if text == "none" else float(text)
    raise click.UsageError(f"--budget {text}: give US dollars, for example 0.50, or none to ask whatever it costs")


class Asking:
    """A step of `doorward compile`, with the options of `--enhance`: the server that is asked ("": the only one that
    can be), the money, and whether the answers are only shown. Raises: click.UsageError for a sum that is none."""

    def __init__(self, by: str, budget: str, *, dry_run: bool, verbose: bool) -> None:
        self.by, self.budget, self.dry_run, self.verbose = by, dollars(budget), dry_run, verbose

    async def run(self, gate: Gateway, servers: Sequence[str], kept: Loaded | None) -> Told:
        """Ask about the functions of these servers. `kept` is the configuration whose store keeps the answers, if it is
        not that of the gateway. Raises: ConfigError, PluginError, StateError."""
        written = gate.services[WRITTEN]
        if not gate.store.lasts:
            raise ConfigError(
                "what a model writes would be forgotten: nothing stores it",
                hint="`pip install doorward-store-sqlite` brings a store; `store` of the configuration may name one.",
            )
        if kept is None:
            told = await enhance(gate, self, servers, written)
            gate.catalog.forget()
            return told
        async with open_store(kept) as store:
            written = Written(store)
            await written.read(kept.state_folder())
            return await enhance(gate, self, servers, written)


async def enhance(gate: Gateway, asking: Asking, servers: Sequence[str], to: Written) -> Told:
    """Ask about the functions of these servers. Raises: ConfigError, PluginError, StateError."""
    by = _asked(gate, asking.by)
    enhancer = Enhancer(gate, by, to, budget=asking.budget, waits=asking.dry_run)
    due = [each for server in servers if server != by for each in await enhancer.due(server)]
    told = Told(enhancer.done, asking)
    if due:
        with show_progress(len(due)) as tell:
            try:
                await enhancer.ask(due, tell)
            except BaseException:
                click.echo(f"{told.summary()} The same command goes on from there.", err=True)
                raise
    return told


def _asked(gate: Gateway, wanted: str) -> str:
    """The module name of the server that is asked. Raises: ConfigError, PluginError; click.UsageError."""
    from doorward.configuration import module_name

    if wanted:
        if (by := module_name(wanted)) not in gate.servers.modules:
            raise click.UsageError(f"there is no server {wanted!r} in the configuration")
        source_that_enhances(gate, by)
        return by
    able = []
    for module in gate.servers.modules:
        with suppress(DoorwardError):
            source_that_enhances(gate, module)
            able.append(module)
    if len(able) == 1:
        return able[0]
    if able:
        raise click.UsageError(f"several servers can be asked: say which by --enhance-with ({', '.join(able)})")
    raise ConfigError(
        "no server of the configuration has a model that could be asked",
        hint="Add a server whose source asks a model: `pip install doorward[llm]` brings one.",
    )


@dataclass(frozen=True, slots=True)
class Told:
    """What a run did, for `--json` and as lines."""

    done: Done
    asking: Asking

    @property
    def complete(self) -> bool:
        return not (self.done.failed or self.done.left)

    def as_dict(self) -> dict[str, Any]:
        done = self.done
        counts = {"answered": done.answered, "accepted": done.accepted, "known": done.known, "left": done.left}
        told: dict[str, Any] = {**counts, "cost": round(done.cost, 6), "models": sorted(done.models)}
        told |= {"why_left": done.why_left} if done.left else {}
        told |= {"failed": done.failed} if done.failed else {}
        told |= {"dropped": done.dropped} if done.dropped else {}
        if self.asking.dry_run:
            told["changes"] = {
                name: {key: value for key, value in asdict(added).items() if value and key not in ("model", "cost")}
                for name, (_, added) in done.changes.items()
            }
        return told

    def lines(self) -> Iterator[str]:
        done, most = self.done, None if self.asking.verbose else MAX_LISTED
        if self.asking.dry_run:
            for name, (function, added) in done.changes.items():
                yield "\n".join([name, *(f"  {line}" for line in _changes(function, added))])
        for what, each in (("failed", done.failed), ("partly", done.dropped)):
            for name, why in [*each.items()][:most]:
                yield f"enhanced {what}: {name}: {why if isinstance(why, str) else '; '.join(why)}"
            if most is not None and len(each) > most:
                yield f"… and {len(each) - most} more (--verbose)"
        yield self.summary()
        if self.asking.dry_run and done.changes:
            yield "Nobody is shown any of it yet: the same command without --dry-run takes it, and asks nothing twice."

    def summary(self) -> str:
        done = self.done
        by = f" by {', '.join(sorted(filter(None, done.models)))}" if any(done.models) else ""
        parts = [f"{done.answered} now{by}, for {done.cost:.4f} USD", f"{done.known} before"]
        parts += [f"{done.accepted} of them accepted now"] if done.accepted else []
        parts += [f"{len(done.failed)} failed"] if done.failed else []
        parts += [f"{done.left} left{f', because {done.why_left}' if done.why_left else ''}"] if done.left else []
        return f"Enhanced: {'; '.join(parts)}."


def _changes(function: Function, added: Enhancement) -> Iterator[str]:
    for what in ("summary", "description"):
        if new := getattr(added, what):
            before = clean(getattr(function, what), 200)
            yield from [f"  {what}: {before}"] * bool(before)
            yield f"+ {what}: {new}"
    for name, note in added.notes.items():
        yield f"+ {name}: {note}"
    for example in added.examples:
        yield f"+ example: {example_call(function, example)}"
    for question in added.questions:
        yield f"+ question: {question}"
    if added.probe is not None:
        yield f"+ probe: {example_call(function, added.probe)}"


def remove(loaded: Loaded, names: Sequence[str]) -> list[str]:
    """Remove what models wrote about the functions of a configuration, or only about those that are named: servers, or
    `server.function` with wildcards. Returns: the functions. Raises: StateError, ConfigError."""

    async def removed() -> list[str]:
        async with open_store(loaded) as store:
            return await removed_of(store, loaded.state_folder(), names)

    return anyio.run(removed)


async def removed_of(store: Store, state: Path, names: Sequence[str]) -> list[str]:
    """The same of a store. Raises: StateError."""
    written = Written(store)
    await written.read(state)
    wanted = [*map(qualified, names)]
    removed: list[str] = []
    for server in sorted(written.servers()):
        found = {name: f"{server}.{name}" for name in sorted(written.of(server))}
        gone = {name: whole for name, whole in found.items() if not names or _is_one_of(whole, wanted)}
        if gone:
            await written.change(server, dict.fromkeys(gone))
            removed += gone.values()
    return removed


def _is_one_of(function: str, wanted: Iterable[str]) -> bool:
    return any(name == function.partition(".")[0] or fnmatchcase(function, name) for name in wanted)


ENHANCE = click.Command("enhance", callback=Asking)
REMOVE = click.Command("enhancements", callback=remove)
"""The steps behind the options of `compile` and `clean`: those call what these have as callbacks."""
