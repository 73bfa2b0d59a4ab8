"""How servers are written into doorward.toml, for `add` and for the commands of plugins."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Container, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from doorward import ConfigError, MissingSecret, PluginError
from doorward.configuration import RESERVED_NAMES, module_name

from doorward_cli.config_file import change_config
from doorward_cli.shared import Project
from doorward_cli.starter import starter

if TYPE_CHECKING:
    from doorward.configuration import Loaded

_NAME_PATTERN = r"[A-Za-z][\w-]*"


def put_server(
    project: Project,
    name: str,
    table: Mapping[str, Any],
    *,
    replace: bool = False,
    later: bool = False,
    aside: Mapping[str, Any] | None = None,
) -> None:
    """Write `[servers.NAME]` into the configuration, which is made if there is none. The rest of the file stays as it
    is, and so does all of it if the server could not be used.

    `replace` a server of the same name. `later`: the server may lack its source or the value of a variable for now.
    `aside`: keys to write as a comment. Raises: ConfigError, also if there is a server of this name and no `replace`.
    """
    file = project.config
    if not re.fullmatch(_NAME_PATTERN, name, re.ASCII):
        raise ConfigError(f"{name!r} cannot name a server", place=str(file), hint="Use letters, digits, - and _.")

    def text(before: str | None) -> str:
        text = before or starter()
        if name in servers_of(project):
            if not replace:
                raise ConfigError("is there already", place=f"{file} [servers.{name}]", hint="--force replaces it.")
            text = without(file, text, name)
        return f"{text.rstrip()}\n\n{block(name, table)}{_comment(aside or {})}"

    change_config(project, text, lambda loaded: _check(loaded, name, table, later))


def remove_server(project: Project, name: str) -> None:
    """Remove `[servers.NAME]` from the configuration. The rest of the file stays as it is. Raises: ConfigError."""
    file = project.config

    def text(before: str | None) -> str:
        after = without(file, before or "", name)
        data = tomllib.loads((before or "").removeprefix("\ufeff"))
        del data["servers"][name]
        left = tomllib.loads(after.removeprefix("\ufeff"))
        if {"servers": {}, **left} != {"servers": {}, **data}:
            raise ConfigError(
                "cannot be removed without a change to others",
                place=f"{file} [servers.{name}]",
                hint="Remove it by hand.",
            )
        return after

    change_config(project, text)


def _check(loaded: Loaded, name: str, table: Mapping[str, Any], later: bool) -> None:
    """Find the faults that compiling the server would find. Raises: ConfigError."""
    from doorward.administration import Plugins, check_auth
    from doorward.configuration import expand, find_index, validate

    if name in loaded.broken:
        raise loaded.broken[name]
    options = dict(loaded.servers[name].options)
    plugins = Plugins(find_index())
    try:
        model = plugins.driver("source", table["source"]).Settings
        if later:
            expand(options, loaded.secrets)
    except (PluginError, MissingSecret):
        if not later:
            raise
        return
    validate(model, options, secrets=loaded.secrets, place=f"{loaded.file} [servers.{name}]")
    if not later:
        check_auth(loaded, plugins, name)


def servers_of(project: Project) -> dict[str, dict[str, Any]]:
    """The tables of the servers in the configuration; none if there is no file. Raises: ConfigError."""
    try:
        servers = tomllib.loads(project.config.read_text(encoding="utf-8-sig")).get("servers", {})
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise ConfigError(str(error), place=str(project.config), hint="Fix the file.") from None
    if not isinstance(servers, dict):
        return {}
    return {name: table for name, table in servers.items() if isinstance(table, dict)}


def server_name(text: str, taken: Container[str] = ()) -> str:
    """A valid name for a server, made of any text: `My server` → `My-server`, `time` → `time-mcp`. Its module is none
    of those `taken` (results of `module_name`)."""
    import keyword
    import unicodedata

    plain = unicodedata.normalize("NFKD", text[:400]).encode("ascii", "ignore").decode()
    plain = re.sub(r"[^\w-]+", "-", plain).strip("-_")[:60].rstrip("-_") or "server"
    if not plain[0].isalpha():
        plain = f"mcp-{plain}"
    if module_name(plain) in RESERVED_NAMES or keyword.iskeyword(module_name(plain)):
        plain = f"{plain}-mcp"
    name, number = plain, 1
    while module_name(name) in taken:
        number += 1
        name = f"{plain}-{number}"
    return name


def block(name: str, table: Mapping[str, Any]) -> str:
    """The text of `[servers.NAME]`."""
    return f"[servers.{name}]\n{lines(table)}"


def _comment(table: Mapping[str, Any]) -> str:
    return "".join(f"# {line}\n" for line in lines(table).splitlines())


def lines(table: Mapping[str, Any]) -> str:
    """A line `key = value` for each entry; tables and lists are written inline."""
    import tomlkit

    document = tomlkit.document()
    for key, value in table.items():
        document.add(key, _inline(value))
    return tomlkit.dumps(document)


def _inline(value: Any) -> Any:
    import tomlkit

    if isinstance(value, Mapping):
        inline = tomlkit.inline_table()
        inline.update({key: _inline(part) for key, part in value.items()})
        return inline
    if isinstance(value, (list, tuple)):
        array = tomlkit.array()
        array.extend([_inline(part) for part in value])
        return array
    return value


def without(file: Path, text: str, name: str) -> str:
    """The file's text without the server of this name. The rest stays as it is, also comments on what follows.

    Raises: ConfigError if the text is not TOML.
    """
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    mark = text[: text.startswith("\ufeff")]
    try:
        document = tomlkit.parse(text.removeprefix(mark))
    except TOMLKitError as error:
        raise ConfigError(str(error), place=str(file), hint="Fix the TOML.") from None
    servers: Any = document.get("servers", {})
    if name not in servers:
        return text
    del servers[name]
    return mark + _with_comments(text.removeprefix(mark), tomlkit.dumps(document))


def _with_comments(before: str, after: str) -> str:
    """The text `after` a table was removed, with the comments that followed the table after a blank line: tomlkit
    takes them for the table's, but they are about what comes next."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    kept: list[str] = []
    for change, start, end, first, last in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        kept += new[first:last]
        if change == "delete":
            behind = next(
                (n for n in range(end, start, -1) if old[n - 1].strip() and not old[n - 1].lstrip().startswith("#")),
                start,
            )
            blank = next((n for n in range(behind, end) if not old[n].strip()), end)
            comment = next((n for n in range(blank, end) if old[n].strip()), end)
            kept += old[comment:end]
    return "".join(kept)
