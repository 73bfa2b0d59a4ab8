"""`doorward remove`: deletes a server's entry, its compiled functions and, if wanted, its stored logins."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import click
from doorward import LOCAL, ConfigError, DoorwardError, MissingSecret, UnknownName
from doorward.abilities import SupportsLogout
from doorward.administration import some
from doorward.configuration import EVERYONE, Loaded, module_name, read_config, variables_of_server
from doorward.files import refuse_link

from doorward_cli import logs
from doorward_cli.auth_suggestions import variables
from doorward_cli.compile import counted
from doorward_cli.completion import complete_servers
from doorward_cli.servers import remove_server, servers_of
from doorward_cli.shared import Project, common, print_json, say
from doorward_cli.variables import Variables

if TYPE_CHECKING:
    from doorward import Gateway


@click.command()
@common
@click.argument("name", shell_complete=complete_servers)
@click.option("--logins/--keep-logins", default=None, help="Forget its stored logins, or keep them; asks by default.")
@click.option("--dry-run", is_flag=True, help="Say what would be removed, remove nothing.")
def remove(project: Project, name: str, logins: bool | None, dry_run: bool) -> None:
    """Remove the server NAME from the configuration, its compiled functions, and its logins if you like."""
    removal = anyio.run(_remove, project, name, logins, dry_run)
    if project.json:
        print_json(removal.as_dict())
    else:
        say("\n".join(removal.told()))


@dataclass(slots=True)
class _Removal:
    """What is removed, or would be by a dry run, and what is left."""

    name: str
    file: str
    dry_run: bool
    functions: int = 0
    logins: list[str] = field(default_factory=list)
    kept: bool = False
    variables: list[str] = field(default_factory=list)
    env_file: str = ""
    elsewhere: list[str] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        left = {"variables": self.variables, "elsewhere": self.elsewhere, "logins": self.kept}
        return {
            "server": self.name,
            "file": self.file,
            "functions": self.functions,
            "logins": self.logins,
            "left": {what: value for what, value in left.items() if value},
            **({"dry_run": True} if self.dry_run else {}),
        }

    def told(self) -> list[str]:
        remove, forget = ("would remove", "would forget") if self.dry_run else ("removed", "forgot")
        lines = [f"{remove} [servers.{self.name}] from {self.file}"] if self.file else []
        lines += [f"{forget} {counted(self.functions)}"] if self.functions else []
        lines += [f"logins: {said}" for said in self.logins]
        if self.kept:
            lines.append(f"left: its stored logins; `doorward remove {self.name} --logins` forgets them")
        if self.variables:
            lines.append(f"left: {', '.join(self.variables)} in {self.env_file}, no longer used by the configuration")
        return lines + [f"left: {each}, which makes a server of this name" for each in self.elsewhere]


async def _remove(project: Project, name: str, logins: bool | None, dry_run: bool) -> _Removal:
    loaded, there = project.load(), servers_of(project)
    kept = _kept(loaded.state_folder(), name)
    is_there = name in there
    if not is_there and not (logins and kept):
        raise _absent(name, loaded)
    removal = _Removal(name, str(project.config) if is_there else "", dry_run)
    removal.variables, removal.env_file = _unnamed(project, loaded, name)
    module = module_name(name)
    is_shared = module in map(module_name, there.keys() - {name})
    async with project.gateway(loaded, ready=False) as gate:
        report = None if is_shared else gate.catalog.report(module)
        removal.functions = report.functions if report else 0
        auths = [*_auths(gate, name)]
        if logins is None and (auths or kept) and not (dry_run or project.json) and at_terminal():
            logins = click.confirm(f"Log out of {name}, and forget its stored logins?", default=True, err=True)
        removal.kept = any(file.suffix == ".json" for file in kept) and not logins
        if not dry_run:
            if is_there:
                remove_server(project, name)
            if logins:
                removal.logins = [logs.scrub(said) for auth in auths if (said := await _logged_out(auth))]
                if forgotten := _forget(_kept(gate.state, name)):
                    removal.logins.append(f"{forgotten} more forgotten")
            if not is_shared:
                await anyio.to_thread.run_sync(gate.catalog.drop, [module])
            if re.fullmatch(r"[\w-]+", name, re.ASCII):  # any other name may be that of another folder
                shutil.rmtree(gate.state / "servers" / name, ignore_errors=True)
    removal.elsewhere = _elsewhere(name, loaded)
    return removal


def _auths(gate: Gateway, name: str) -> Iterator[Any]:
    """The auths of a server that can log out; where each principal has credentials of their own, the auths of all
    principals that the configuration names."""
    server = gate.servers.configured.get(name)
    others = [each for each in gate.config.principals if each not in (LOCAL, EVERYONE)]
    for principal in [LOCAL, *(others if server and server.settings.per_principal else ())]:
        with suppress(DoorwardError):  # an auth that cannot be used cannot log out either
            yield from (auth for auth in gate.servers.auths_of(name, principal) if isinstance(auth, SupportsLogout))


async def _logged_out(auth: Any) -> str:
    try:
        return str(await auth.logout())
    except DoorwardError as error:
        return str(error)


def _kept(state: Path, name: str) -> list[Path]:
    """The files that auths keep of logins to a server, of all principals. They lie in the folder `credentials`, and
    their names begin with the server's. Raises: ConfigError if that is a link."""
    own, folder = re.compile(rf"{re.escape(name)}(@[\w-]+)?-[0-9a-f]{{32}}\.(json|lock|changed)"), state / "credentials"
    refuse_link(folder)
    return [file for file in folder.iterdir() if own.fullmatch(file.name)] if folder.is_dir() else []


def _forget(kept: list[Path]) -> int:
    """Delete these files. Returns: the number of logins in them. Raises: ConfigError."""
    for file in kept:
        try:
            file.unlink(missing_ok=True)
        except OSError as error:
            raise ConfigError(f"cannot be deleted: {error.strerror}", place=str(file)) from None
    return sum(file.suffix == ".json" for file in kept)


def _absent(name: str, loaded: Loaded) -> DoorwardError:
    """Why a server cannot be removed from the file."""
    if where := _elsewhere(name, loaded):
        return ConfigError(
            f"the server {name!r} does not stand in {loaded.file}, but in {' and '.join(where)}",
            hint="Remove it there.",
        )
    near = get_close_matches(name, loaded.config.servers)
    hint = f"Did you mean {' or '.join(near)}?" if near else f"Servers: {some(loaded.config.servers)}."
    return UnknownName(f"there is no server {name!r}", hint=hint)


def _elsewhere(name: str, loaded: Loaded) -> list[str]:
    """Other places that configure a server of this name, or a part of it: environment variables and the installed
    distribution."""
    managed, variables = loaded.managed, variables_of_server(name, loaded.secrets)
    return [*variables, *([managed.given_by] if managed and name in managed.servers else [])]


def _unnamed(project: Project, loaded: Loaded, name: str) -> tuple[list[str], str]:
    """The variables in `.env` that only this server uses, and the file."""
    data, _ = read_config(project.config)
    file = project.env_file or project.config.parent / ".env"
    servers: dict[str, Any] = data.get("servers", {})
    rest = {**data, "servers": {other: table for other, table in servers.items() if other != name}}
    others = [rest, *loaded.secrets.variables("DOORWARD_").values()]
    values = Variables(file, environ={})
    with suppress(MissingSecret):  # a broken reference may mean any variable
        still = {*variables(others)}
        return [each for each in variables(servers.get(name, {})) if each not in still and values.has(each)], str(file)
    return [], str(file)


def at_terminal() -> bool:
    """Whether there is a person to ask."""
    return sys.stdin.isatty() and sys.stderr.isatty()
