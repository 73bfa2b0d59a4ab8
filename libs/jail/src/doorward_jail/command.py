"""`doorward sandbox`: lists executors, adds packages to one, builds what they need, and probes whether they isolate on
this machine."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import anyio
import click
from doorward import DoorwardError, Executor, ExecutorError, UnknownName
from doorward.abilities import SupportsBuild, SupportsMachineCheck
from doorward_cli import Project, change_config, common, described, plain, print_json, put_keys, say, table

if TYPE_CHECKING:
    from doorward import Gateway


class Sandbox(click.Command):
    """The command, which also has `doctor` probe the executors."""

    async def checks(self, gateway: Gateway) -> AsyncIterator[tuple[str, bool, str]]:
        """The means of isolation that each executor uses on this machine, and whether they hold."""
        from doorward_jail import devices
        from doorward_jail.probes import probe, summary

        if wrong := devices.trouble():
            yield wrong[0], False, wrong[1]
        for name in gateway.executors.names:
            try:
                executor = gateway.executors.get(name)
                used, probes = await uses(executor), await probe(executor, gateway.limits)
            except DoorwardError as error:
                yield f"executor {name}: {error}", False, error.hint or ""
                continue
            for line in used:
                yield f"executor {name}: {line}", True, ""
            for probed in probes:
                if probed.held is False:
                    advice = f"{probed.says}. Do not use it until that is mended."
                    yield f"executor {name} does not hold: {probed.probe}", False, advice
            yield f"executor {name} {summary(probes)} ({sum(p.ms for p in probes):.0f} ms)", True, ""


@click.command(cls=Sandbox)
@common
@click.argument("action", type=click.Choice(["list", "add", "build", "probe"]))
@click.argument("name", required=False)
@click.argument("packages", nargs=-1, metavar="[PACKAGE]...")
def sandbox(project: Project, action: str, name: str | None, packages: tuple[str, ...]) -> int:
    """Executors: `list` what they can do (and a shell or a network that programs are given), `add` packages that
    programs may import there, `build` what one needs (an image, an environment with packages), `probe` whether their
    isolation holds on this machine. NAME is an executor; all that the configuration names if not given.

    `add` writes the packages into the configuration, the executor too if it is not there, and builds. `probe` runs
    small programs that try to get out, and ends with 1 if one did, or if an executor does not work.
    """
    if action == "add":
        if name is None or not packages:
            raise click.UsageError("add what? For example: doorward sandbox add nsjail pandas openpyxl")
        return anyio.run(_add, project, name, packages)
    if packages:
        raise click.UsageError(f"{action} takes no packages")
    return anyio.run({"list": _list, "build": _build, "probe": _probe}[action], project, name)


async def _list(project: Project, name: str | None) -> int:
    rows = []
    async with project.gateway(ready=False) as gate:
        installed = [entry.name for entry in gate.plugins.index.of("executor")]
        for each in dict.fromkeys([name] if name else [*gate.executors.names, *installed]):
            row: dict[str, Any] = {"executor": each, "used": each in gate.executors.names}
            try:
                can = _get(gate, each).capabilities()
                row |= {
                    "language": can.language,
                    "isolation": can.isolation,
                    "packages": list(can.packages),
                    "shell": can.shell,
                    "network": can.network,
                    "limits": dict(can.limits),
                }
            except DoorwardError as error:
                row["broken"] = described(error)
            rows.append(row)
    if project.json:
        print_json({"executors": rows})
    else:
        table(["executor", "used", "language", "isolation", "packages", "grants", "limits"], map(_cells, rows))
    return 0


def _cells(row: dict[str, Any]) -> list[str]:
    cells = [row["executor"], "yes" if row["used"] else "no"]
    if "broken" in row:
        return [*cells, "broken", row["broken"]["message"], "", "", ""]
    grants = ", ".join(word for word in ("shell", "network") if row[word])
    limits = ", ".join(f"{limit}: {by}" for limit, by in row["limits"].items())
    return [*cells, row["language"], row["isolation"], ", ".join(row["packages"]), grants, limits]


async def _add(project: Project, name: str, packages: tuple[str, ...]) -> int:
    """Write the packages into the configuration, and build; if that fails, the configuration is as it was."""
    async with project.gateway(ready=False) as gate:
        executor, names = _get(gate, name), list(gate.executors.names)
        if not isinstance(executor, SupportsBuild) or "packages" not in executor.Settings.model_fields:
            raise ExecutorError(
                f"{name} takes no packages", hint="Name an executor that has `packages` among its settings."
            )
        there = gate.config.executors.get(name, {}).get("packages", ())
    before = project.config.read_bytes().decode()
    used = {} if name in names else {"executor": [*names, name]}
    put_keys(project, {**used, "executors": {name: {"packages": [*dict.fromkeys([*there, *packages])]}}})
    try:
        return await _build(project, name)
    except BaseException:  # a person who has waited long enough, too
        change_config(project, before)
        raise


async def _build(project: Project, name: str | None) -> int:
    made: dict[str, str] = {}
    async with project.gateway(ready=False) as gate:
        for each in _chosen(gate, name):
            executor = _get(gate, each)
            made[each] = "has nothing to build"
            if isinstance(executor, SupportsBuild):
                made[each] = await executor.build(lambda line: say(line, err=True))
            if not project.json:
                say(f"{each}: {made[each]}")
    if project.json:
        print_json({"built": made})
    return 0


async def _probe(project: Project, name: str | None) -> int:
    from doorward_jail.probes import probe

    found: list[dict[str, Any]] = []
    async with project.gateway(ready=False) as gate:
        for each in _chosen(gate, name):
            about: dict[str, Any] = {"executor": each}
            try:
                executor = _get(gate, each)
                about["uses"] = await uses(executor)
                about["probes"] = [asdict(probed) for probed in await probe(executor, gate.limits)]
            except DoorwardError as error:
                about["broken"] = described(error)
            found.append(about | {"ok": "broken" not in about and all(p["held"] is not False for p in about["probes"])})
            if not project.json:
                _show(about)
    ok = bool(found) and all(about["ok"] for about in found)
    if project.json:
        print_json({"ok": ok, "executors": found})
    return 0 if ok else 1


def _show(about: dict[str, Any]) -> None:
    say(" · ".join([about["executor"], *about.get("uses", ())]))
    marks = {True: click.style("✓", fg="green"), False: click.style("✗", fg="red"), None: "-"}
    for probed in about.get("probes", ()):
        text = f"{probed['probe']}: {probed['says']} ({probed['ms']:.0f} ms)"
        say(f"{marks[probed['held']]} {plain(text)}", clean=False)
    if broken := about.get("broken"):
        hint = f"\n    {plain(broken['hint'])}" if "hint" in broken else ""
        say(f"{marks[False]} {plain(broken['message'])}{hint}", clean=False)


async def uses(executor: Executor) -> list[str]:
    """The means of isolation that an executor uses on this machine, if it names any. Raises: DoorwardError."""
    return list(await executor.check()) if isinstance(executor, SupportsMachineCheck) else []


def _chosen(gate: Gateway, name: str | None) -> list[str]:
    """The executor of this name, or all that the configuration names. Raises: ExecutorError if it names none."""
    if not (chosen := [name] if name else list(gate.executors.names)):
        raise ExecutorError("no executor", hint=gate.catalog.texts.no_executor())
    return chosen


def _get(gate: Gateway, name: str) -> Executor:
    """An installed executor, whether the configuration names it or not."""
    if name not in gate.executors.names and not gate.plugins.index.named("executor", name):
        known = ", ".join(entry.name for entry in gate.plugins.index.of("executor")) or "none"
        raise UnknownName(f"there is no executor {name!r}", hint=f"Installed: {known}.")
    return gate.executors.get(name)
