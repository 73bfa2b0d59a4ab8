"""`doorward WORD …`: finds the command and runs it. It imports what WORD needs; `doorward --help` imports no command,
and not even click."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from doorward_cli.installed_commands import other_commands, own_commands, well_known

if TYPE_CHECKING:
    from doorward import Entry

ABOUT = "Doorward: APIs and MCP servers as Python functions that AI agents call from a sandbox, through one door."
USAGE = "Usage: doorward COMMAND [OPTIONS] …"
COMMON_OPTIONS = """\
Every command takes --help, --config PATH (doorward.toml, or DOORWARD_CONFIG) and --env-file PATH; \
those that print data take --json.
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
    """The click command of this name. Exits with advice if there is none."""
    own = own_commands()
    if word in own:
        return own[word].load()
    plugins = _plugin_commands()
    if word in plugins:
        from doorward import Plugins
        from doorward.administration import find_index

        return Plugins(find_index()).driver("command", word)
    known = well_known()
    if word in known:
        _refuse(f"the command {word!r} is not installed", f"pip install {known[word]['from']}")
    from difflib import get_close_matches

    near = get_close_matches(word, {*own, *plugins, *known})
    _refuse(f"there is no command {word!r}", f"Did you mean {' or '.join(near)}?" if near else "See doorward --help.")
    return None


def _plugin_commands() -> dict[str, Entry]:
    """The commands of other distributions that are installed, by name."""
    from doorward.administration import find_index

    return {entry.name: entry for entry in other_commands(find_index())}


def _commands() -> dict[str, str]:
    """All commands, with what they do. None is imported. Raises: ConfigError of a distribution."""
    known, rows = well_known(), _own_rows()
    for name, entry in _plugin_commands().items():
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
    except ConfigError as error:  # of a distribution
        rows, wrong = _own_rows(), f"\nerror: {error}\n"
    listed = "".join(f"  {name:<10} {does}\n" for name, does in rows.items())
    return f"{USAGE}\n\n{ABOUT}\n\nCommands:\n{listed}\n{COMMON_OPTIONS}{wrong}"


def _version() -> str:
    """The version, below that of the installed distribution."""
    from doorward import ConfigError, __version__
    from doorward.administration import title_of_active

    own = f"doorward {__version__}\n"
    try:
        title = title_of_active()
    except ConfigError as error:
        return f"{own}error: {error}\n"
    return own if title is None else f"{title}\n{own}"


def _refuse(message: str, hint: str) -> None:
    sys.stderr.write(f"error: {message}\nhint: {hint}\n")
    sys.exit(2)
