"""`doorward list`, `search`, `show` and `call`: commands on the functions of the catalog."""

from __future__ import annotations

import base64
import contextlib
import json
import re
import sys
from collections.abc import AsyncIterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import click
from doorward import ConfigError

from doorward_cli.completion import complete_functions, complete_servers
from doorward_cli.graph import show_graph
from doorward_cli.shared import (
    Project,
    common,
    in_commands,
    json_object,
    note,
    pairs,
    parsed,
    plain,
    print_json,
    say,
    table,
)

if TYPE_CHECKING:
    from doorward import Artefact, Gateway

_REST = re.compile(r"^(?:#|//) In full: .*$", re.M)
"""The line of a card that says how to ask for what it leaves out."""


@click.command()
@common
@click.argument("server", required=False, shell_complete=complete_servers)
def list(project: Project, server: str | None) -> None:
    """List the servers, or all functions of one SERVER."""
    anyio.run(_list, project, server)


async def _list(project: Project, server: str | None) -> None:
    async with project.gateway(warn=server is not None, only=[server] if server else None) as gate:
        if server is not None:
            _tell_functions(project, {"functions": await _functions(gate, server)})
            return
        found = await gate.list_servers()
        if (managed := gate.loaded.managed) and not project.json:
            note(managed.title)
    if project.json:
        print_json(found)
    elif not found["servers"]:
        say("no server is configured; for example: doorward add openapi NAME SPEC, or doorward add mcp NAME -- COMMAND")
    else:
        table(["server", "functions", ""], [(s["name"], s["functions"], _about(s)) for s in found["servers"]])


def _about(server: dict[str, Any]) -> str:
    return f"broken: {server['broken']}" if "broken" in server else server.get("note", server.get("about", ""))


async def _functions(gate: Gateway, server: str) -> Any:
    """Every function of a server, page by page."""
    page = await gate.search_functions("", server=server, limit=50)
    functions = page["functions"]
    while "cursor" in page:
        page = await gate.search_functions("", server=server, limit=50, cursor=page["cursor"])
        functions += page["functions"]
    return functions


@click.command()
@common
@click.argument("words", nargs=-1)
@click.option("--also", multiple=True, metavar="WORDS", help="Another question, answered together with the first.")
@click.option("--server", help="Only functions of this server.", shell_complete=complete_servers)
@click.option("--read-only", is_flag=True, help="Only functions that change nothing.")
@click.option("--limit", default=10, show_default=True, type=click.IntRange(1, 50), help="How many to show.")
@click.option("--explain", is_flag=True, help="Say which words were found, and where.")
@click.option("--pick", is_flag=True, help="Find while you type, and show the function that you choose.")
def search(
    project: Project, words: tuple[str, ...], also: tuple[str, ...], read_only: bool, pick: bool, **options: Any
) -> int:
    """Find functions that fit the WORDS, best first. "tag:NAME" among the words keeps those of a tag. At a terminal,
    without WORDS, it is as with --pick."""
    options |= {"queries": also, "read_only": read_only or None}
    at_a_terminal = sys.stdin.isatty() and sys.stdout.isatty() and not project.json
    if pick and not at_a_terminal:
        raise click.UsageError("--pick needs a terminal, and no --json")
    if pick or (at_a_terminal and not words):
        return anyio.run(partial(_pick, project, " ".join(words), **options))
    if not words:
        raise click.MissingParameter(param_hint="'WORDS...'", param_type="argument")
    anyio.run(partial(_search, project, " ".join(words), **options))
    return 0


async def _pick(project: Project, words: str, **options: Any) -> int:
    try:
        from doorward_cli.picker import pick
    except ImportError:
        hint = "pip install 'doorward-cli[pick]', or give the words: doorward search WORDS"
        raise ConfigError("what finds functions while you type is not installed", hint=hint) from None
    async with project.gateway() as gate:
        chosen = await pick(gate, words, **options)
    return await _show(project, (chosen,), "") if chosen else 1


async def _search(project: Project, words: str, **options: Any) -> None:
    async with project.gateway() as gate:
        found = await gate.search_functions(words, **options)
        empty = not any(report.functions for report in gate.catalog.reports().values())
    _tell_functions(project, found)
    if project.json:
        return
    if not found["total"]:
        advice = (
            "the catalog is empty: `doorward list` says why" if empty else "try other words, or `doorward list SERVER`"
        )
        near = f"near: {', '.join(found['near'])}; " if "near" in found else ""
        note(f"no function fits; {near}{advice}")
        return
    if not found["well"]:
        note("none of these fits well; try other words")
    if found["total"] > len(found["functions"]):
        note(f"{found['well']} of {found['total']} functions fit well; --limit shows more")


def _tell_functions(project: Project, found: dict[str, Any]) -> None:
    if project.json:
        print_json(found)
    else:
        table(["function", "summary"], [(hit["function"], hit["summary"] + _facts(hit)) for hit in found["functions"]])


def _facts(hit: dict[str, Any]) -> str:
    """What a hit needs and gives, and why it was found: in parentheses, because only the last column is wrapped."""
    needs = (f"{name} from {' or '.join(producers)}" for name, producers in hit.get("needs", {}).items())
    told = {
        "gives": hit.get("gives", ""),
        "needs": ", ".join(needs),
        "for": ", ".join(map(str, hit.get("answers", ()))),
        "matched:": ", ".join(hit.get("matched", ())),
    }
    facts = [f"{name} {text}" for name, text in told.items() if text]
    return f" ({'; '.join(facts)})" if facts else ""


@click.command()
@common
@click.argument("functions", nargs=-1, metavar="SERVER.FUNCTION...", shell_complete=complete_functions)
@click.option("--language", default="", metavar="NAME", help="Show them for programs of this language.")
@click.option(
    "--graph", is_flag=True, help="Show which functions give what they need, of whole SERVERs too, or of all."
)
def show(project: Project, functions: tuple[str, ...], language: str, graph: bool) -> int:
    """Show one to five functions: import line, signature, types, documentation and an example."""
    if graph:
        return anyio.run(show_graph, project, functions)
    if not functions:
        raise click.UsageError("Missing argument 'SERVER.FUNCTION...'.")
    return anyio.run(_show, project, functions, language)


async def _show(project: Project, functions: tuple[str, ...], language: str) -> int:
    async with project.gateway(only=functions) as gate:
        cards = await gate.get_functions(functions, language=language)
    unknown = [card for card in cards if "error" in card]
    if project.json:
        print_json({"functions": cards})
    else:
        if known := [card["text"] for card in cards if "text" in card]:
            say(_REST.sub(lambda line: in_commands(line[0]), "\n\n\n".join(known)))
        for card in unknown:
            say(f"{click.style('error:', fg='red')} {plain(in_commands(card['error']))}", err=True, clean=False)
    return 1 if unknown else 0


@click.command()
@common
@click.argument("function", metavar="SERVER.FUNCTION", shell_complete=complete_functions)
@click.argument("arguments", nargs=-1, metavar="[NAME=VALUE]...")
@click.option("--arguments", "table_", metavar="JSON", default="{}", help="All arguments, as one JSON object.")
@click.option(
    "--output",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the result here: for files and images.",
)
@click.option(
    "--artefacts",
    metavar="FOLDER",
    type=click.Path(path_type=Path, file_okay=False),
    help="Save the files within the result.",
)
def call(
    project: Project,
    function: str,
    arguments: tuple[str, ...],
    table_: str,
    output: Path | None,
    artefacts: Path | None,
) -> None:
    """Call one function through the door: credentials, policy, guards and limits apply.

    A VALUE is JSON if it parses as such and fits the parameter, or if that takes no text; else text; @FILE is the
    content of a file, whatever it holds where the function takes a file. The result is printed as JSON.
    """
    from doorward_cli.run import made

    made(artefacts)
    result, content, is_file, notes = anyio.run(
        _call, project, function, json_object(table_, "--arguments"), pairs(arguments), output is not None, artefacts
    )
    for each in notes:
        note(f"note: {each}")
    if output is not None:
        output.write_bytes(content)
        return
    print_json(result)
    if is_file and artefacts is None:
        note("hint: --output FILE keeps the bytes")


async def _call(
    project: Project, name: str, given: dict[str, Any], texts: dict[str, str], whole: bool, folder: Path | None
) -> tuple[Any, bytes, bool, Sequence[str]]:
    """The result, all of its bytes (if `whole`), whether it is a file, and notes on the files within it, which are
    saved in `folder`."""
    async with project.gateway(only=[name]) as gate:
        from doorward import LOCAL, StateError
        from doorward.administration import fits_parameter, takes_file, takes_text

        function = gate.broker.functions.find(name, LOCAL)
        values = {
            key: _file(text[1:])
            if text.startswith("@") and takes_file(function, key)
            else parsed(
                text,
                partial(fits_parameter, function, key, catalog=gate.catalog),
                partial(takes_text, function, key, catalog=gate.catalog),
            )
            for key, text in texts.items()
        }
        result = await gate.call(function.qualified, given | values)
        if whole and isinstance(result, dict) and "artefact" in result and (why := result.get("not_stored")):
            raise StateError(f"the call was made, but its file could not be stored: {why}")
        from doorward_cli.run import saved

        is_file = await _artefact(gate, result) is not None
        files = [] if is_file and folder is None else [each async for each in _within(gate, result)]
        notes = await saved(gate, files, folder)
        return result, await _content(gate, result) if whole else b"", is_file, notes


async def _artefact(gate: Gateway, value: Any) -> Artefact | None:
    """The artefact that a value is the handle of; `None` for data that only looks like one."""
    from doorward import Artefact, UnknownName
    from doorward.helping import handle as artefact_uri

    with contextlib.suppress(UnknownName):
        if uri := artefact_uri(value):
            page = await gate.result(uri)
            return Artefact(uri, page.type, page.total, str(value.get("name", "")))
    return None


async def _within(gate: Gateway, value: Any) -> AsyncIterator[Artefact]:
    """The artefacts in a result."""
    if artefact := await _artefact(gate, value):
        yield artefact
    elif isinstance(value, (dict, Sequence)) and not isinstance(value, str):
        for part in value.values() if isinstance(value, dict) else value:
            async for artefact in _within(gate, part):
                yield artefact


def _file(name: str) -> dict[str, str]:
    """A file as an argument: any bytes, and its name."""
    try:
        return {"base64": base64.b64encode(Path(name).read_bytes()).decode(), "name": Path(name).name}
    except OSError as error:
        raise click.UsageError(f"{name} cannot be read: {error.strerror}") from None


async def _content(gate: Gateway, result: Any) -> bytes:
    """The bytes of an artefact, whole; any other result as JSON."""
    artefact = await _artefact(gate, result)
    if artefact is None:
        return json.dumps(result, ensure_ascii=False, indent=2).encode()
    return (await gate.file(artefact.uri)).content
