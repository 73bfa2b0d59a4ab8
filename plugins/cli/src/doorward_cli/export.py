"""`doorward export`: what is known of functions as files, for agents with a shell."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import click

from doorward_cli.completion import complete_servers
from doorward_cli.shared import Project, common, print_json, say

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Collection

    from doorward import Gateway

_AT_ONCE = 5
"""Functions that a gateway describes in one answer."""

_IMPORTS = "from typing import Any, Literal, NotRequired, Required, TypedDict"
"""What the declarations of functions name."""


@click.group()
def export() -> None:
    """Write what Doorward knows as files."""


@export.command()
@common
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.argument("servers", nargs=-1, shell_complete=complete_servers)
def stubs(project: Project, folder: Path, servers: tuple[str, ...]) -> None:
    """Write the functions of all SERVERS (or of those named) as FOLDER/servers/SERVER/FUNCTION.pyi, and an index.

    An agent with a shell finds them with `ls` and `grep`. Stubs of functions that are gone are removed.
    """
    anyio.run(_stubs, project, folder, servers)


async def _stubs(project: Project, folder: Path, servers: tuple[str, ...]) -> None:
    from doorward import LOCAL
    from doorward.files import write_file

    lines, written = ["# Functions", "", "`import SERVER` in a program, then `SERVER.FUNCTION(…)`.", ""], 0
    async with project.gateway(only=servers or None) as gate:
        wanted = [gate.discovery.module(each, LOCAL) for each in servers] or sorted(gate.servers.names(LOCAL))
        for server in wanted:
            names = await gate.discovery.allowed(server, LOCAL)
            names = gate.catalog.names(server) if names is None else names
            about = [line async for line in _written(gate, server, sorted(names), folder / "servers" / server)]
            lines += [f"## {server}", "", *about, ""]
            written += len(about)
    write_file(folder / "servers" / "README.md", "\n".join(lines).encode())
    if project.json:
        print_json({"folder": str(folder / "servers"), "functions": written})
    else:
        say(f"wrote {written} stubs to {folder / 'servers'}; README.md there lists them")


async def _written(gate: Gateway, server: str, names: list[str], folder: Path) -> AsyncIterator[str]:
    """Write the stubs of a server. Returns: the lines of the index."""
    from doorward.files import write_file

    _remove_others(folder, names)
    for start in range(0, len(names), _AT_ONCE):
        asked = names[start : start + _AT_ONCE]
        for name, card in zip(asked, await gate.get_functions([f"{server}.{each}" for each in asked]), strict=True):
            if "error" in card:
                continue
            write_file(folder / f"{name}.pyi", stub(card["text"]).encode())
            function = gate.catalog.function(server, name)
            summary = " ".join(function.summary.split()) if function else ""
            yield f"* [{name}]({server}/{name}.pyi): {summary}"


def _remove_others(folder: Path, names: Collection[str]) -> None:
    for old in folder.glob("*.pyi"):
        if old.stem not in names:
            old.unlink()


def stub(card: str) -> str:
    """The card of a function as a stub, which type checkers read; as comments, if it is none."""
    text = "\n".join(line for line in card.split("\n") if not line.startswith("from ")).strip()
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return "".join(f"# {line}\n" for line in text.splitlines())
    lines = text.split("\n")
    for statement in tree.body:
        if not isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):  # the example
            for number in range(statement.lineno - 1, statement.end_lineno or 0):
                lines[number] = f"# {lines[number]}"
    return "\n".join([_IMPORTS, "", *lines, ""])
