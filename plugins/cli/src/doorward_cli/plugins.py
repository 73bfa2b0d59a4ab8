"""`doorward plugins`: what is installed, without importing any of it; and in which order layers stand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from doorward_cli.installed_commands import is_own_command
from doorward_cli.shared import Project, common, note, print_json, table

if TYPE_CHECKING:
    from doorward.configuration import Entry, Index


@click.command()
@common
@click.option(
    "--chain", is_flag=True, help="The layers around runs and calls, outermost first. Loads the plugins in use."
)
def plugins(project: Project, chain: bool) -> None:
    """List every installed plugin: active (the configuration names it), installed, refused (not allowed by the
    distribution that is installed), or in an entry-point group in which nothing looks for it."""
    from doorward.configuration import find_index

    if chain:
        _print_chain(project)
        return

    index = find_index()
    active = _active(project, index) | {("distribution", entry.name) for entry in index.of("distribution")}
    rows = [(entry, "active" if (entry.kind, entry.name) in active else "installed", "") for entry in index.entries]
    rows += [(entry, "refused", f"not allowed by {index.why(entry)}") for entry in index.refused]
    rows = [row for row in rows if not is_own_command(row[0])]
    rows += [(entry, "unknown group", _meant(entry)) for entry in index.stray]
    if project.json:
        found = [(_row(entry) | {"status": status}, why) for entry, status, why in rows]
        print_json({"plugins": [row | ({"why": why} if why else {}) for row, why in found]})
    else:
        table(
            ["kind", "name", "distribution", "version", "status"],
            [(*_row(entry).values(), f"{status}: {why}" if why else status) for entry, status, why in rows],
        )


def _print_chain(project: Project) -> None:
    import anyio
    from doorward import Gateway

    async def chain() -> list[dict[str, str]]:
        async with Gateway.open(project.load(), compile=False) as gate:
            return gate.chain()

    rows = anyio.run(chain)
    if project.json:
        print_json({"layers": rows})
    elif not rows:
        note("no plugin in use has a layer")
    else:
        table(["around", "layer", "plugin", "distribution"], [tuple(row.values()) for row in rows])


def _meant(entry: Entry) -> str:
    from doorward.configuration import near_group

    near = near_group(entry.kind)
    return f"{near} was meant" if near else ""


def _row(entry: Entry) -> dict[str, str]:
    return {"kind": entry.kind, "name": entry.name, "distribution": entry.distribution, "version": entry.version}


def _active(project: Project, index: Index) -> set[tuple[str, str]]:
    """Kind and name of each plugin that the configuration names, and of those whose tables or keys it has; none if
    there is no configuration. It is not validated, which would need pydantic."""
    import tomllib

    from doorward import ConfigError
    from doorward.configuration import Secrets, config_layers, find_managed

    try:
        text = project.config.read_text(encoding="utf-8")
    except OSError:
        return set()
    try:
        secrets = Secrets(project.env_file or project.config.parent / ".env")
        data = config_layers(tomllib.loads(text), secrets, managed=find_managed()).data
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(str(error), place=project.config.name, hint="Fix the TOML.") from None
    named = {(key, data.get(key)) for key in ("store", "cache")}
    named |= {("executor", name) for name in _list(data.get("executor"))}
    named |= {("observer", name) for name in _list(data.get("observer"))}
    named |= {("search_view", name) for name in _list(data.get("search_view"))}
    named |= {("plugin", name) for name in _list(data.get("plugins")) + _list(data.get("capabilities"))}
    for server in _tables(data.get("servers")):
        named.add(("source", server.get("source")))
        named |= {("server_key", key) for key in server}
        named |= {("auth", auth.get("type")) for auth in _tables({"auth": server.get("auth")})}
    named |= {("table", name) for name in data}
    owned = [entry for kind in ("table", "server_key") for entry in index.of(kind) if (kind, entry.name) in named]
    named |= {("plugin", plugin.name) for entry in owned for plugin in index.of_owner(entry)}
    return {(kind, name) for kind, name in named if isinstance(name, str)}


def _list(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else [name for name in value or () if isinstance(name, str)]


def _tables(value: Any) -> list[Mapping[str, Any]]:
    return [part for part in value.values() if isinstance(part, Mapping)] if isinstance(value, Mapping) else []
