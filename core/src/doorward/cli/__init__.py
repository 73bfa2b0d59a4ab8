"""The command line: a thin skin over `gateway.py`.

Never what another face of the gateway needs too. `doorward WORD …` imports what WORD needs; `doorward --help` imports
no command, and not even click.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from doorward.packages.index import Entry

COMMANDS = {
    "init": ("configuring.project", "Write a doorward.toml to start from"),
    "add": ("configuring.add", "Add a server to the configuration, and compile it"),
    "remove": ("configuring.remove", "Remove a server, what was compiled of it, and its logins"),
    "compile": ("cli.compile", "Turn the servers' documents into functions"),
    "clean": ("cli.compile", "Forget everything that was compiled"),
    "list": ("cli.catalog", "List the servers, or the functions of one"),
    "search": ("cli.catalog", "Find functions by words"),
    "show": ("cli.catalog", "Show functions: signature, types, docs, an example"),
    "learned": ("cli.learned", "Show, export or clear what was learned from use"),
    "call": ("cli.catalog", "Call one function"),
    "login": ("cli.login", "Log in to a server, or out"),
    "policy": ("configuring.policy", "Try, explain and accept what rules decide of calls"),
    "approvals": ("operating.approvals", "List the calls that wait for a person's yes, and answer them"),
    "run": ("cli.run", "Run a program in a sandbox"),
    "runs": ("operating.runs", "List stored runs, show, resume, undo, cancel or replay one"),
    "plugins": ("cli.plugins", "List what is installed"),
    "schema": ("cli.schema", "Print the JSON Schema of the configuration"),
    "completion": ("cli.completion", "Print what lets a shell complete commands, servers and functions"),
    "doctor": ("configuring.doctor", "Check the configuration, and say what to do"),
}
"""The module of each command below `doorward`, and what the command does. The module has a click command of the
same name."""

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
        from doorward.cli.completion import answer

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
            from doorward.cli.common import run

            sys.exit(run(lambda: _command(word), rest, f"doorward {word}"))


def _command(word: str) -> object:
    """The click command of this name. Exits with advice if there is none."""
    from importlib import import_module

    if word in COMMANDS:
        return getattr(import_module(f"doorward.{COMMANDS[word][0]}"), word)
    plugins = _plugin_commands()
    if word in plugins:
        from doorward.config.distribution import find_index
        from doorward.plugins.manager import Plugins

        return Plugins(find_index()).driver("command", word)
    known = well_known()
    if word in known:
        _refuse(f"the command {word!r} is not installed", f"pip install {known[word]['from']}")
    from difflib import get_close_matches

    near = get_close_matches(word, {*COMMANDS, *plugins, *known})
    _refuse(f"there is no command {word!r}", f"Did you mean {' or '.join(near)}?" if near else "See doorward --help.")
    return None


def _plugin_commands() -> dict[str, Entry]:
    """The commands of other distributions that are installed, by name. They are not imported."""
    from doorward.config.distribution import find_index

    return {entry.name: entry for entry in find_index().of("command")}


def well_known() -> dict[str, dict[str, str]]:
    """Commands of other distributions, installed or not: `from` which distribution, and what the command `does`."""
    import json  # importlib.metadata has it already
    from pathlib import Path

    found: dict[str, dict[str, str]] = json.loads(Path(__file__).with_name("commands.json").read_text(encoding="utf-8"))
    return found


def known_commands() -> set[str]:
    """The commands that are spoken for: core's own, and those of distributions that core knows, installed or not."""
    return {*COMMANDS, *well_known()}


def _commands() -> dict[str, str]:
    """All commands, with what they do. None is imported. Raises: ConfigError of a distribution."""
    rows, known = {name: does for name, (_, does) in COMMANDS.items()}, well_known()
    for name, entry in _plugin_commands().items():
        rows.setdefault(name, known[name]["does"] if name in known else f"(from {entry.given_by})")
    return rows


def _help() -> str:
    from doorward.model.errors import ConfigError

    wrong = ""
    try:
        rows = _commands()
    except ConfigError as error:  # of a distribution
        rows, wrong = {name: does for name, (_, does) in COMMANDS.items()}, f"\nerror: {error}\n"
    listed = "".join(f"  {name:<10} {does}\n" for name, does in rows.items())
    return f"{USAGE}\n\n{ABOUT}\n\nCommands:\n{listed}\n{COMMON_OPTIONS}{wrong}"


def _version() -> str:
    """The version, below that of the installed distribution."""
    from doorward.config.distribution import find_active, raw_manifest
    from doorward.model.errors import ConfigError
    from doorward.model.version import __version__
    from doorward.packages.index import installed

    own = f"doorward {__version__}\n"
    try:
        if (active := find_active(installed())) is None:
            return own
        brand = raw_manifest(active).get("branding", {})
    except ConfigError as error:
        return f"{own}error: {error}\n"
    title = " ".join(str(brand.get("title", "")).split()) if isinstance(brand, dict) else ""
    clean = "".join(letter for letter in title if letter.isprintable())[:100]
    return f"{clean or active.name} ({active.given_by})\n{own}"


def _refuse(message: str, hint: str) -> None:
    sys.stderr.write(f"error: {message}\nhint: {hint}\n")
    sys.exit(2)
