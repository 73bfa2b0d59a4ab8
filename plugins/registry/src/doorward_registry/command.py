"""`doorward add registry` and `doorward outdated`."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from urllib.parse import urlsplit

import anyio
import click
from doorward import ConfigError, DoorwardError
from doorward.configuration import module_name
from doorward.values import clean_text, escaped
from doorward_cli import (
    Project,
    Variables,
    block,
    common,
    compile_now,
    plain,
    print_json,
    put_server,
    say,
    server_name,
    servers_of,
    table,
    write_env,
)

from doorward_registry.document import Input
from doorward_registry.entry import Plan, choices, plan
from doorward_registry.fetching import Found, fetch


@click.command("registry")
@common
@click.argument("name")
@click.option("--registry", metavar="URL", default="", help="The address of the registry that is asked for NAME.")
@click.option("--version", default="latest", show_default=True, help="The version that the registry is asked for.")
@click.option("--as", "called", metavar="SERVER", help="The name here; the last part of NAME if not given.")
@click.option("--package", metavar="KIND", help="Which of several: npm, pypi, oci, nuget or remote.")
@click.option("--set", "given", metavar="INPUT=VALUE", multiple=True, help="A value that the server wants; repeatable.")
@click.option(
    "--egress", metavar="HOST:PORT", multiple=True, help="Where a server in a container may connect to; repeatable."
)
@click.option("--private", is_flag=True, help="Allow a remote server at a private address.")
@click.option("--force", is_flag=True, help="Replace the server if there is one of that name.")
@click.option("--dry-run", is_flag=True, help="Show what would be written, and write nothing.")
@click.option("--yes", is_flag=True, help="Ask nothing: write it.")
@click.option("--no-compile", is_flag=True, help="Do not start or ask the server yet.")
def add_registry(
    project: Project,
    name: str,
    registry: str,
    version: str,
    called: str | None,
    package: str | None,
    given: tuple[str, ...],
    egress: tuple[str, ...],
    private: bool,
    force: bool,
    dry_run: bool,
    yes: bool,
    no_compile: bool,
) -> int:
    """Add the MCP server NAME as its `server.json` says: the name in a registry, a file, or a URL.

    What it would run, may do and gets is shown before anything is written or started. The version and the hash of the
    document are kept in the configuration: `doorward outdated` compares them.
    """
    asks = not yes and not dry_run and not project.json and sys.stdin.isatty() and sys.stdout.isatty()
    found = anyio.run(fetch, name, registry, version)
    document = found.document
    if found.status == "deleted":
        raise ConfigError(f"{document.name} {document.version} was deleted from {found.source}")
    there = servers_of(project)
    server = called or server_name(document.name.rpartition("/")[2], [] if force else [*map(module_name, there)])
    answers = _Answers(project, server, given, asks=asks)
    number = _chosen(choices(document), package, asks=asks)
    made = plan(document, number, answers.ask)
    if answers.missing and not dry_run:
        wanted = "".join(f"\n  {line}" for line in answers.missing)
        raise ConfigError(f"{document.name} wants values:{wanted}", hint="Give each by --set INPUT=VALUE.")
    if left := answers.unused():
        raise ConfigError(f"{document.name} asks for no {', '.join(left)}", hint="Leave out that --set.")
    if "url" in made.table and not private:
        anyio.run(_check_public, made.table["url"])
    if egress and "image" not in made.table:
        raise ConfigError("--egress is for a server in a container", hint="Leave it out.")
    entry = {**made.table, **({"egress": list(egress)} if egress else {}), "registry": _origin(found, made)}
    say(_shown(found, made, egress), err=True)
    if dry_run:
        if project.json:
            print_json({"server": server, "table": entry, "wants": answers.missing})
        else:
            say(f"\n{block(server, entry).rstrip()}")
        return 0
    if not yes:
        if not asks:
            raise ConfigError("there is nobody to ask: nothing was written", hint="Read the lines above; then --yes.")
        click.confirm(f"Write [servers.{server}] to {project.config}?", default=False, abort=True)
    if answers.variables.new:
        write_env(answers.variables.file, answers.variables.new)
    put_server(project, server, entry, replace=force)
    say(f"Wrote [servers.{server}] to {project.config}", err=True)
    code = 0 if no_compile else compile_now(project, (server,))
    if project.json:
        print_json({"server": server, "table": entry})
    return code


@click.command()
@common
@click.argument("names", nargs=-1)
def outdated(project: Project, names: tuple[str, ...]) -> int:
    """Compare the servers NAMES, or all that came from a document, with what their registries say now.

    Ends with 1 if there is a newer version, if a version is deprecated or deleted, or if the document of the pinned
    version is another one than when it was added.
    """
    there = {name: entry["registry"] for name, entry in servers_of(project).items() if "registry" in entry}
    if unknown := [name for name in names if name not in there]:
        raise ConfigError(f"{', '.join(unknown)} came from no document", place=str(project.config))
    rows = anyio.run(_compared, {name: origin for name, origin in there.items() if not names or name in names})
    if project.json:
        print_json({"servers": rows})
    elif rows:
        columns = ["server", "name", "pinned", "latest", ""]
        table(columns, [[row[key] for key in ("server", "name", "pinned", "latest", "note")] for row in rows])
        if newer := [row for row in rows if row["latest"] not in ("", row["pinned"])]:
            say(f"\nNext: doorward add registry {newer[0]['name']} --as {newer[0]['server']} --force", err=True)
    else:
        say("no server came from a document: doorward add registry adds one", err=True)
    return 1 if any(row["note"] for row in rows) else 0


async def _compared(origins: Mapping[str, Mapping[str, str]]) -> list[dict[str, str]]:
    rows = []
    for server, origin in origins.items():
        name, pinned, source = origin["name"], origin["version"], origin["source"]
        row = {"server": server, "name": name, "pinned": pinned, "latest": "", "note": ""}
        try:
            latest = await fetch(name, source)
            row["latest"] = latest.document.version
            same = latest if latest.document.version == pinned else await fetch(name, source, pinned)
            notes = [
                "" if latest.document.version == pinned else "there is another version",
                same.status if same.status in ("deprecated", "deleted") else "",
                "ITS DOCUMENT HAS CHANGED since it was added"
                if same.document.version == pinned and same.sha256 != origin["sha256"]
                else "",
            ]
            row["note"] = "; ".join(filter(None, notes))
        except DoorwardError as error:
            row["note"] = clean_text(str(error))[:300]
        rows.append(row)
    return rows


async def _check_public(url: str) -> None:
    """Raises: ConfigError for a host that is this machine, or of its network."""
    from doorward_http import not_public, not_public_name, resolved

    parts = urlsplit(url)
    host = parts.hostname or ""
    try:
        kind = not_public_name(host) or next(filter(None, map(not_public, await resolved(host, parts.port or 443))), "")
    except OSError as error:
        raise ConfigError(f"{host} cannot be resolved: {error}") from None
    if kind:
        raise ConfigError(
            f"the document leads to {host}, which has {kind} address", hint="--private allows that, if it is meant."
        )


def _chosen(there: list[str], wanted: str | None, *, asks: bool) -> int:
    """The place of what is used. Raises: ConfigError if it is not clear."""
    if not there:
        raise ConfigError("the document has neither a package nor a remote address")
    if wanted is None and len(there) > 1 and asks:
        wanted = click.prompt("Which of them?", type=click.Choice(list(dict.fromkeys(there))))
    if wanted is None and len({*there}) > 1:
        raise ConfigError(f"the document has {', '.join(there)}", hint="Say which with --package.")
    if wanted is not None and wanted not in there:
        raise ConfigError(f"the document has no {wanted}: it has {', '.join(there)}")
    return there.index(wanted or there[0])


def _origin(found: Found, made: Plan) -> dict[str, str]:
    document = found.document
    origin = {"name": document.name, "version": document.version, "sha256": found.sha256, "source": found.source}
    return origin | ({"package": made.package} if made.package else {})


def _shown(found: Found, made: Plan, egress: tuple[str, ...]) -> str:
    document = found.document
    about = " ".join(document.description.split())[:200]
    lines = [
        f"{document.name} {document.version}: {about}",
        *([f"It is {found.status}."] if found.status == "deprecated" else []),
    ]
    rows = [*made.lines, *(("reaches", place) for place in egress), ("from", found.source), ("sha256", found.sha256)]
    told = (f"  {what:<8} {' '.join(text.split())}" for what, text in rows)  # no text begins a line of its own
    return plain("\n".join([*lines, *told]))


class _Answers:
    """The values that a person gives, at the prompt or by `--set`. Secrets become references to `.env`. A value that
    happens to be set on this machine is never taken: the document only names what it would like to have."""

    def __init__(self, project: Project, server: str, given: tuple[str, ...], *, asks: bool) -> None:
        self.variables = Variables(project.env_file or project.config.parent / ".env")
        self.missing: list[str] = []
        self._server, self._asks = server, asks
        if wrong := next((each for each in given if "=" not in each), None):
            raise click.UsageError(f"{wrong!r} is not of the form INPUT=VALUE")
        self._given = dict(each.split("=", 1) for each in given)
        self._used: set[str] = set()

    def unused(self) -> list[str]:
        """What was given and is not asked for."""
        return sorted({*self._given} - self._used)

    def ask(self, name: str, wanted: Input) -> str | None:
        """The text of the configuration for an input; `None` if there is none. Raises: ConfigError."""
        self._used.add(name)
        value = self._given.get(name)
        about = " ".join(wanted.description.split())[:200]
        told = f"{name}{f' ({about})' if about else ''}{f', one of {wanted.choices}' if wanted.choices else ''}"
        if value is None and self._asks:
            hidden = wanted.is_secret
            shown = f"{plain(told)}{'' if wanted.is_required else ' (Enter: none)'}"
            value = (
                click.prompt(shown, default=wanted.default or "", hide_input=hidden, show_default=not hidden) or None
            )
        if wanted.default is not None and value in (None, wanted.default):
            value = escaped(wanted.default)  # the document's own words name no variable of this machine
        if value is None:
            if wanted.is_required:
                self.missing.append(told)
            return None
        if not _fits(value, wanted):
            what = f"one of {', '.join(wanted.choices)}" if wanted.choices else f"a {wanted.format}"
            raise ConfigError(f"{name} is to be {what}")
        if wanted.is_secret and not value.startswith("${"):
            return self.variables.keep(value, f"{self._server}_{name}")
        return value


def _fits(value: str, wanted: Input) -> bool:
    if value.startswith("${"):
        return True
    if wanted.choices:
        return value in wanted.choices
    patterns = {"number": r"-?\d+(\.\d+)?", "boolean": "true|false"}
    return re.fullmatch(patterns.get(wanted.format, "(?s).*"), value) is not None
