"""The command line: a thin skin over `gateway.py`.

`doorward WORD …` imports what WORD needs; `doorward --help` imports no command, and not even click.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from doorward.config.index import Entry

COMMANDS = {
    "init": ("configuring.project", "Write a doorward.toml to start from"),
    "add": ("configuring.add", "Add a server to the configuration, and compile it"),
    "remove": ("configuring.remove", "Remove a server, what was compiled of it, and its logins"),
    "compile": ("compile", "Turn the servers' documents into functions"),
    "clean": ("compile", "Forget everything that was compiled"),
    "list": ("catalog", "List the servers, or the functions of one"),
    "search": ("catalog", "Find functions by words"),
    "show": ("catalog", "Show functions: signature, types, docs, an example"),
    "call": ("catalog", "Call one function"),
    "login": ("login", "Log in to a server, or out"),
    "run": ("run", "Run a program in a sandbox"),
    "plugins": ("plugins", "List what is installed"),
    "schema": ("schema", "Print the JSON Schema of the configuration"),
    "doctor": ("doctor", "Check the configuration, and say what to do"),
}
"""Each command's module below `doorward.cli` (in which it is a click command of its own name), and what it does."""

ABOUT = "Doorward: APIs and MCP servers as Python functions that AI agents call from a sandbox, through one door."
USAGE = "Usage: doorward COMMAND [OPTIONS] …"
COMMON = """\
Every command takes --help, --config PATH (doorward.toml, or DOORWARD_CONFIG) and --env-file PATH; those that print data take --json.
With DOORWARD_DEBUG=1 everything is logged, and errors come with their traceback.
"""
WELL_KNOWN = {
    "serve": ("doorward-mcp-server", "Serve MCP clients"),
    "token": ("doorward-mcp-server", "Make, list and revoke tokens of HTTP clients"),
    "sandbox": ("doorward-jail", "List, build and probe the executors"),
    "connect": ("doorward-clients", "Connect an MCP client with Doorward"),
    "import": ("doorward-clients", "Take over the servers of an MCP client"),
    "setup": ("doorward-clients", "Do all of this, asked step by step"),
    "demo": ("doorward-demo", "Show what Doorward does"),
}
"""Commands that other distributions of ours bring: which, and what each does."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command line and exit."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    match words:
        case [] | ["--help" | "-h" | "help", *_]:
            sys.stdout.write(_help())
        case ["--version" | "-V", *_]:
            from doorward.model.version import __version__

            sys.stdout.write(f"doorward {__version__}\n")
        case [word, *_] if word.startswith("-"):
            _refuse(f"{word} comes before the command", "Options follow the command: doorward list --config PATH")
        case [word, *rest]:
            from doorward.cli.common import run

            sys.exit(run(lambda: _command(word), rest, f"doorward {word}"))


def _command(word: str) -> object:
    """The click command of a word. Exits with advice if there is none."""
    from importlib import import_module

    if word in COMMANDS:
        return getattr(import_module(f"doorward.cli.{COMMANDS[word][0]}"), word)
    plugins = _plugin_commands()
    if word in plugins:
        from doorward.config.distribution import find_index
        from doorward.plugins.manager import Plugins

        return Plugins(find_index()).driver("command", word)
    if word in WELL_KNOWN:
        _refuse(f"the command {word!r} is not installed", f"pip install {WELL_KNOWN[word][0]}")
    from difflib import get_close_matches

    near = get_close_matches(word, [*COMMANDS, *plugins, *WELL_KNOWN])
    _refuse(f"there is no command {word!r}", f"Did you mean {' or '.join(near)}?" if near else "See doorward --help.")
    return None


def _plugin_commands() -> dict[str, Entry]:
    """The commands that other distributions bring, by name; nothing of them is imported."""
    from doorward.config.distribution import find_index

    return {entry.name: entry for entry in find_index().of("command")}


def _help() -> str:
    rows = {name: does for name, (_, does) in COMMANDS.items()}
    for name, entry in _plugin_commands().items():
        rows.setdefault(name, WELL_KNOWN[name][1] if name in WELL_KNOWN else f"(from {entry.given_by})")
    listed = "".join(f"  {name:<10} {does}\n" for name, does in rows.items())
    return f"{USAGE}\n\n{ABOUT}\n\nCommands:\n{listed}\n{COMMON}"


def _refuse(message: str, hint: str) -> None:
    sys.stderr.write(f"error: {message}\nhint: {hint}\n")
    sys.exit(2)
