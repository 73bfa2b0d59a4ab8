"""`doorward doctor`: checks everything that the configuration names, and says what to do."""

from __future__ import annotations

import os
import platform
import stat
from collections.abc import AsyncIterator, Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import anyio
import click
from doorward import LOCAL, ConfigError, DoorwardError, MissingSecret
from doorward.abilities import SupportsLoginCheck
from doorward.administration import contained, expected
from doorward.configuration import to_install
from doorward.texts import indented

from doorward_cli import auth_suggestions
from doorward_cli.doctor_secrets import about_secrets
from doorward_cli.installed_commands import other_commands, well_known
from doorward_cli.server_check import check_server
from doorward_cli.shared import CheckProvider, Project, common, described, plain, print_json, say
from doorward_cli.suggest import of_doctor

if TYPE_CHECKING:
    from doorward import Gateway
    from doorward.configuration import Entry

PROBE_COMMAND = "sandbox"
"""The command of a plugin that checks whether executors isolate."""

MAX_CHECK_SECONDS = 300.0
"""Seconds for one check of a command: the probes of one executor are one."""


@dataclass(frozen=True, slots=True)
class Check:
    """What was checked, whether it is well, and advice. A check that is well and has advice is a warning."""

    check: str
    ok: bool
    advice: str = ""

    @property
    def mark(self) -> str:
        if not self.ok:
            return click.style("✗", fg="red")
        return click.style("!", fg="yellow") if self.advice else click.style("✓", fg="green")


@click.command()
@common
def doctor(project: Project) -> int:
    """Check configuration, servers, secrets, executors, cache and plugins. Ends with 1 if anything is wrong."""
    checks = anyio.run(_all, project)
    if project.json:
        print_json({"ok": all(check.ok for check in checks), "checks": [asdict(check) for check in checks]})
    for check in checks if not project.json else ():
        advice = f"\n    {indented(plain(check.advice))}" if check.advice else ""
        say(f"{check.mark} {indented(plain(check.check))}{advice}", clean=False)
    return 0 if all(check.ok for check in checks) else 1


async def _all(project: Project) -> list[Check]:
    checks = [*_versions()]
    try:
        async with project.gateway(ready=False) as gate:
            checks.append(Check(f"configuration {project.config}", True))
            checks += _state(gate)
            checks += [check async for check in _servers(gate)]
            checks += [check async for check in _principals(gate)]
            env_file = project.env_file or project.config.parent / ".env"
            checks += [Check(*found) async for found in about_secrets(gate, env_file)]
            checks += [check async for check in _executors(gate)]
            checks += [await _store(gate), await _cache(gate)]
            checks += [Check(*found) async for found in gate.search_engine().checks()]
            checks += [check async for check in _commands(gate)]
            named = dict.fromkeys([*gate.config.plugins, *gate.config.capabilities])
            checks += [Check(f"plugin {n}", True) for n in named if gate.plugins.manager.has_plugin(n)]
            checks += chain(*gate.plugins.each("doctor_checks", lambda found: [Check(*given) for given in found]))
    except DoorwardError as error:  # an error of the configuration or of a hook plugin stops the start
        checks.append(_wrong(f"configuration {project.config}", error))
    return checks


def _wrong(what: str, error: DoorwardError) -> Check:
    return Check(f"{what}: {described(error)['message']}", False, error.hint or "")


def _versions() -> Iterator[Check]:
    from doorward import __version__
    from doorward.configuration import GROUPS, find_index, find_managed, near_group

    brought: set[str] = set()
    strays: list[Entry] = []
    try:
        index = find_index()
        brought, strays = {entry.given_by for entry in index.entries}, index.stray
        if managed := find_managed():
            yield Check(f"distribution {managed.title}: {managed.about}", True)
    except ConfigError as error:
        yield _wrong("distribution", error)
    yield Check(f"Python {platform.python_version()} on {platform.system()}", True)
    yield Check(", ".join([f"doorward {__version__}", *sorted(brought)]), True)
    for stray in strays:
        what = f"{stray.name!r} of {stray.given_by} is in the unknown entry-point group {stray.kind}"
        near = near_group(stray.kind)
        yield Check(what, True, f"Its author meant {near}." if near else f"Groups: {', '.join(GROUPS.values())}.")


def _state(gate: Gateway) -> Iterator[Check]:
    what = f"state folder {gate.state}"
    if not os.access(gate.state, os.W_OK):
        advice = "Give it to the user who runs Doorward, or set DOORWARD_STATE_DIR."
        yield Check(f"{what} cannot be written", False, advice)
    elif os.name == "posix" and stat.S_IMODE(gate.state.stat().st_mode) & 0o077:
        yield Check(f"{what} is open to other users", False, f"chmod 700 {gate.state}")
    else:
        yield Check(what, True)


async def _servers(gate: Gateway) -> AsyncIterator[Check]:
    """Checks of each server: its settings and secrets, and whether its functions are those of today's document."""
    from doorward.configuration import module_name

    settings: dict[str, list[Any]] = {}
    for name, server in gate.servers.configured.items():
        try:
            settings[name] = gate.servers.settings(name)
        except ConfigError as wrong:
            if not (
                server.settings.per_principal and isinstance(wrong, MissingSecret)
            ):  # it is told for each principal
                gate.servers.broken.setdefault(name, wrong)
    await gate.compiler.compile()
    reports = gate.catalog.reports()
    told = set()
    for name in gate.servers.configured:
        shown = settings.get(name) or auth_suggestions.templates(
            gate.servers.configured[name].settings.auth, gate.loaded.secrets
        )
        for check in _secrets(name, shown, gate.servers.configured[name].settings.per_principal):
            told.add(check.check)
            yield check
    for name in gate.servers.configured:
        if name in gate.servers.broken:
            continue
        report = reports[module_name(name)]
        count = f"server {name}: {report.functions} function{'s' * (report.functions != 1)}"
        behind = gate.servers.outdated.get(name)
        why = "" if report.functions else " ".join(report.warnings[:1])  # an entry that would start us, for example
        yield Check(count, True, why) if behind is None else _wrong(f"{count} of the last compile", behind)
        if not gate.servers.configured[name].settings.per_principal:
            async for check in _login(gate, name):
                yield check
        for what, ok, advice in await check_server(gate, name):
            yield Check(f"server {name}: {what}", ok, advice)
        for what, advice in of_doctor(gate, name, report):
            yield Check(what, True, advice)
    for name, broken in gate.servers.broken.items():
        if (check := _wrong(f"server {name}", broken)).check not in told:
            yield check


async def _principals(gate: Gateway) -> AsyncIterator[Check]:
    """Checks of the principals that the configuration names: their servers and, where each principal has credentials of
    their own, the missing ones. What `local` lacks is no failure, since all others may come over HTTP."""
    for unknown in gate.principals.unknown():
        yield Check(unknown, False, "Check the name: `doorward list` shows them.")
    for principal in dict.fromkeys([LOCAL, *gate.principals.configured()]):
        for name, server in gate.servers.configured.items():
            if not server.settings.per_principal or name in gate.servers.broken:
                continue
            if gate.principals.may_use(principal, name):
                async for check in _own(gate, name, principal):
                    yield Check(check.check, check.ok or principal == LOCAL, check.advice)


async def _own(gate: Gateway, name: str, principal: str) -> AsyncIterator[Check]:
    """The credentials that a principal lacks at a server, or the state of their login there."""
    what = f"server {name} for {principal}"
    try:
        missing = {
            str(found): found
            for template in _templates(gate.servers.settings(name, principal))
            if (found := template.trouble())
        }
    except DoorwardError as error:
        yield _wrong(what, error)
        return
    for trouble in missing.values():
        yield _wrong(what, trouble)
    if not missing:
        async for check in _login(gate, name, principal):
            yield check


async def _login(gate: Gateway, name: str, principal: str = LOCAL) -> AsyncIterator[Check]:
    """The state of a login, as the server's auth tells it, if that has logins."""
    settings = gate.servers.configured[name].settings
    if not (kinds := [str(table.get("type")) for table in settings.auths(principal)]):
        return
    what = f"server {name} for {principal}" if settings.per_principal else f"server {name}"
    try:
        for kind, auth in zip(kinds, gate.servers.auths_of(name, principal), strict=True):
            if isinstance(auth, SupportsLoginCheck):
                with gate.plugins.blamed("auth", kind, "check", server=name):
                    found = expected(str, await auth.check())
                yield Check(f"{what}: {found}", True)
    except DoorwardError as error:
        yield _wrong(what, error)


def _secrets(server: str, settings: Iterable[Any], per_principal: bool) -> Iterator[Check]:
    """Missing values, unless each principal has values of their own."""
    for template in _templates(list(settings)) if not per_principal else ():
        if trouble := template.trouble():
            yield _wrong(f"server {server}", trouble)


def _templates(value: Any) -> Iterator[Any]:
    """Every reference to a secret in settings, at any depth."""
    from doorward import Template
    from pydantic import BaseModel

    if isinstance(value, Template):
        yield value
    elif isinstance(value, BaseModel):
        yield from _templates([part for _, part in value])
    elif isinstance(value, dict):
        yield from _templates(list(value.values()))
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from _templates(part)


async def _executors(gate: Gateway) -> AsyncIterator[Check]:
    """Whether each executor runs a program. An executor that does not is checked no further."""
    if not gate.executors.names:
        yield Check("no executor", False, gate.catalog.texts.no_executor())
    works = []
    for name in list(gate.executors.names):
        gate.executors.names = [name]
        outcome = await gate.execute("1 + 1")
        if outcome.error is not None:
            yield Check(f"executor {name}: {outcome.error.message}", False, outcome.error.hint or "")
            continue
        yield Check(f"executor {name} runs programs ({outcome.ms:.0f} ms)", outcome.value == 2)
        works.append(name)
    gate.executors.names = works


_LOGINS_APART = (
    "Without a `vault_key`, the machines that share it have logins and tokens each for itself. Set the same for all."
)


async def _store(gate: Gateway) -> Check:
    """Whether the store answers, and whether what it stores outlasts the process."""
    try:
        await gate.store.signal("doctor")
    except DoorwardError as error:
        return _wrong(f"store {gate.config.store}", error)
    if gate.store.lasts:
        alone = getattr(gate.store, "distributed", False) and gate.config.vault_key is None
        return Check(f"store {gate.config.store}", True, _LOGINS_APART if alone else "")
    why = to_install("store", gate.config.store or "", ()) if gate.config.store not in ("memory", None) else ""
    return Check("store memory", True, f"Nothing that it stores outlasts the process. {why}".strip())


async def _cache(gate: Gateway) -> Check:
    """Whether the cache answers the question for a program that it does not have."""
    name = gate.config.cache
    wanted = "cache" in gate.loaded.named or gate.plugins.index.named("cache", name or "")
    if not gate.keeps_programs:
        return Check("no cache", True, f"run_cached_code is not offered. {to_install('plugin', 'kept_programs', ())}")
    if name in (None, "none") or not wanted:
        why = to_install("cache", name, ()) if name not in (None, "none") else "Name one as `cache` to change that."
        return Check("no cache", True, f"run_cached_code has nothing to run again. {why}")
    error = (await gate.run_cached("doctor")).error
    if error is not None and error.kind == "config":
        return Check(f"cache {name}: {error.message}", False, error.hint or "")
    return Check(f"cache {name}", True)


async def _next(checks: AsyncIterator[tuple[str, bool, str]]) -> tuple[str, bool, str] | None:
    """The next check of a command; `None` if there is none. Raises: TimeoutError."""
    with anyio.fail_after(MAX_CHECK_SECONDS), contained():
        return await anext(checks, None)


async def _commands(gate: Gateway) -> AsyncIterator[Check]:
    """The checks of the commands of plugins, and a warning if the command that probes executors is not installed."""
    for entry in other_commands(gate.plugins.index):
        try:
            command = gate.plugins.driver("command", entry.name)
            if isinstance(command, CheckProvider):
                checks = aiter(command.checks(gate))
                while (found := await _next(checks)) is not None:
                    yield Check(*found)
        except DoorwardError as error:
            yield _wrong(f"command {entry.name}", error)
        except Exception as error:
            gate.plugins.failures.told(entry.id, "checks", error)
            what = f"command {entry.name} of {entry.given_by} cannot check anything more"
            if isinstance(error, TimeoutError):
                what += f": nothing came for {MAX_CHECK_SECONDS:g} s"
            yield Check(what, False, "The log says why.")
    if gate.executors.names and not gate.plugins.index.named("command", PROBE_COMMAND):
        advice = f"`pip install {well_known()[PROBE_COMMAND]['from']}` brings the probes."
        yield Check("executors: nothing has probed whether they isolate", True, advice)
