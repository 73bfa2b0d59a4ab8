"""`doorward WORD …`: finds the command and runs it. It imports what WORD needs; `doorward --help` imports no command,
and not even click."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from doorward_cli.installed_commands import other_commands, own_commands, own_entry_points, well_known

if TYPE_CHECKING:
    from doorward.configuration import Entry

ABOUT = "Doorward: APIs and MCP servers as Python functions that AI agents call from a sandbox, through one door."
USAGE = "Usage: doorward COMMAND [OPTIONS] …"
GROUPS = {
    "configure": "Configure",
    "use": "Use functions and programs",
    "operate": "Operate",
    "extend": "Extend",
    "": "Of other distributions",
}
"""The groups of commands in the help, in their order; those that we do not know stand in the last one."""

COMMON_OPTIONS = """\
Every command takes --help, --config PATH (doorward.toml, or DOORWARD_CONFIG) and --env-file PATH; \
those that print data take --json; --quiet leaves out notes and progress.
With DOORWARD_DEBUG=1 everything is logged, and errors come with their traceback.
"""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command line and exit."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if "_DOORWARD_COMPLETE" in os.environ:  # a shell asks
        from doorward_cli.completion import answer

        sys.exit(answer(_commands(), _command))
    match words:
        case [] | ["--help" | "-h" | "help", *_]:
            sys.stdout.write(_help())
        case ["--version" | "-V", *_]:
            sys.stdout.write(_version())
        case [word, *_] if word.startswith("-"):
            _refuse(f"{word} comes before the command", "Options follow the command: doorward list --config PATH")
        case [word, *rest]:
            gc.disable()  # until the command is imported: it would look again and again at what stays
            from doorward_cli.shared import run

            sys.exit(run(lambda: _command(word), rest, f"doorward {word}"))


def _command(word: str) -> object:
    """The click command of this name, with what is below it. Exits with advice if there is none."""
    if "." not in word and (found := installed_command(word)) is not None:
        import click

        if not isinstance(found, click.Group):
            return found
        from doorward_cli.sub_commands import with_sub_commands

        return with_sub_commands(found, lambda name: installed_command(f"{word}.{name}"), lambda: _below(word))
    from difflib import get_close_matches

    near = get_close_matches(word, {name for name in (*_commands(), *well_known()) if "." not in name})
    _refuse(f"there is no command {word!r}", f"Did you mean {' or '.join(near)}?" if near else "See doorward --help.")
    return None


def installed_command(name: str) -> Any:
    """What an entry point of this name gives, or `None`. Exits with advice if it is known, and not installed."""
    if (own := own_entry_points().get(name)) is not None:
        return own.load()
    if name in _plugin_commands():
        from doorward.administration import Plugins
        from doorward.configuration import find_index

        return Plugins(find_index()).driver("command", name)
    if (known := well_known().get(name)) is not None:
        _refuse(f"the command {name.replace('.', ' ')!r} is not installed", f"pip install {known['from']}")
    return None


def _below(group: str) -> list[str]:
    """The names of the installed commands below a group that it has not itself."""
    names = (*own_entry_points(), *_plugin_commands())
    return [name.removeprefix(f"{group}.") for name in names if name.startswith(f"{group}.")]


def _plugin_commands() -> dict[str, Entry]:
    """The commands of other distributions that are installed, by name, and those below groups (`runs.undo`)."""
    from doorward.configuration import find_index

    return {entry.name: entry for entry in other_commands(find_index())}


def _commands() -> dict[str, str]:
    """All commands, with what they do. None is imported. Raises: ConfigError of what manages the configuration."""
    known, rows = well_known(), _own_rows()
    for name, entry in _plugin_commands().items():
        if "." not in name:
            rows.setdefault(name, known[name]["does"] if name in known else f"(from {entry.given_by})")
    return rows


def _own_rows() -> dict[str, str]:
    known = well_known()
    return {name: known[name]["does"] for name in own_commands()}


def _help() -> str:
    from doorward import ConfigError

    wrong = ""
    try:
        rows = _commands()
    except ConfigError as error:  # of what manages the configuration
        rows, wrong = _own_rows(), f"\nerror: {error}\n"
    known, listed = well_known(), ""
    for group, title in GROUPS.items():
        of_group = [
            name for name in {**known, **rows} if name in rows and known.get(name, {}).get("group", "") == group
        ]
        if of_group:
            listed += "\n".join([f"{title}:", *(f"  {name:<10} {rows[name]}" for name in of_group), "", ""])
    return f"{USAGE}\n\n{ABOUT}\n\n{listed}{COMMON_OPTIONS}{wrong}"


def _version() -> str:
    """The version, below that of what manages the configuration."""
    from doorward import ConfigError, __version__
    from doorward.configuration import managed_title

    own = f"doorward {__version__}\n"
    try:
        title = managed_title()
    except ConfigError as error:
        return f"{own}error: {error}\n"
    return own if title is None else f"{title}\n{own}"


def _refuse(message: str, hint: str) -> None:
    sys.stderr.write(f"error: {message}\nhint: {hint}\n")
    sys.exit(2)
