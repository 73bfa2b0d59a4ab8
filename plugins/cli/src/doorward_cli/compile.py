"""`doorward compile` and `doorward clean`."""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import anyio
import click
from doorward import ConfigError
from doorward.texts import indented

from doorward_cli.command_line import installed_command
from doorward_cli.completion import complete_servers
from doorward_cli.server_check import check_server
from doorward_cli.shared import Project, common, described, plain, print_json, say

if TYPE_CHECKING:
    from doorward import DoorwardError, Gateway
    from doorward.administration import Report
    from doorward.configuration import Loaded

MAX_LISTED = 10
"""Skipped operations and warnings of a server that are listed without `--verbose`."""


class Result(Protocol):
    """What a step of a compile did. It is `complete` if there is nothing to go on with."""

    @property
    def complete(self) -> bool: ...

    def as_dict(self) -> dict[str, Any]:
        """For `--json`."""
        ...

    def lines(self) -> Iterable[str]:
        """As lines of text."""
        ...


class Step(Protocol):
    """A step after a compile that another distribution brings, by the callback of its command `compile.enhance`."""

    async def run(self, gate: Gateway, servers: Sequence[str], kept: Loaded | None) -> Result:
        """Do it for the servers of these modules."""
        ...


class Advice(Protocol):
    """Advice on the servers that were compiled."""

    def as_dict(self) -> dict[str, Any]:
        """For `--json`."""
        ...

    def told(self) -> list[str]:
        """As lines of text."""
        ...


@click.command()
@common
@click.argument("servers", nargs=-1, shell_complete=complete_servers)
@click.option("--dry-run", is_flag=True, help="Check everything, write nothing.")
@click.option("--force", is_flag=True, help="Compile also what has not changed.")
@click.option("--verbose", is_flag=True, help="List all warnings, and everything that was skipped.")
@click.option(
    "--probe",
    is_flag=True,
    help="Call what only reads and needs no arguments, or has some by --enhance, to learn what its results are like.",
)
@click.option("--enhance", is_flag=True, help="Ask a model for better documentation; with --dry-run, show it first.")
@click.option("--enhance-with", metavar="SERVER", default="", help="The server whose model is asked.")
@click.option("--budget", metavar="USD|none", default="1", show_default=True, help="What --enhance may cost.")
def compile(
    project: Project,
    servers: tuple[str, ...],
    dry_run: bool,
    force: bool,
    verbose: bool,
    probe: bool,
    enhance: bool,
    enhance_with: str,
    budget: str,
) -> int:
    """Turn the documents of all SERVERS (or of those named) into functions.

    What has not changed is not compiled again. Ends with 1 if any server is broken, or if --enhance did not get an
    answer for every function: the same command then goes on.
    """
    if probe and dry_run:
        raise click.UsageError("--probe makes calls, --dry-run does nothing: choose one")
    asking = None
    if enhance:
        asking = installed_command("compile.enhance").callback(enhance_with, budget, dry_run=dry_run, verbose=verbose)
    elif enhance_with:
        raise click.UsageError("--enhance-with says who is asked by --enhance: give both")
    return compile_now(project, servers, dry_run=dry_run, force=force, verbose=verbose, probe=probe, asking=asking)


@click.command()
@common
@click.argument("names", nargs=-1)
@click.option("--compile", "again", is_flag=True, help="Compile everything anew.")
@click.option("--enhancements", is_flag=True, help="Remove only what models wrote: of all, or of these NAMES.")
@click.option("--all", "everything", is_flag=True, help="Remove the state folder: logins, runs and audit log, too.")
@click.option("--yes", is_flag=True, help="Do not ask whether to remove all.")
def clean(
    project: Project, names: tuple[str, ...], again: bool, enhancements: bool, everything: bool, yes: bool
) -> int:
    """Remove the catalog: everything that was compiled, and what models wrote and plugins know about it.

    With --enhancements NAMES are servers, or functions as `server.function`. `doorward clean compile` is the same as
    `doorward clean --compile`.
    """
    from doorward.administration import Plugins
    from doorward.configuration import find_index
    from doorward.engines import catalog_in

    if names == ("compile",) and not enhancements:
        names, again = (), True
    if names and not enhancements:
        raise click.UsageError("the whole catalog is removed: leave out the names, or give --enhancements as well")
    if everything and (names or again or enhancements):
        raise click.UsageError("--all removes everything: leave out what else is given")
    loaded = project.load()
    if everything:
        return _remove_state(project, loaded, yes)
    catalog = catalog_in(loaded.state_folder(), Plugins(find_index()))
    if enhancements:
        removed = installed_command("clean.enhancements").callback(loaded, names)
    else:
        removed = [*catalog.remove(), *_removed_by_plugins(loaded)]
    if again:
        return compile_now(project, ())
    if project.json:
        print_json({"removed": removed})
    else:
        say("\n".join(f"removed {each}" for each in removed) or "nothing to remove")
    return 0


def _remove_state(project: Project, loaded: Loaded, yes: bool) -> int:
    """Remove the state folder, once a person has seen what lies in it."""
    folder = loaded.state_folder()
    kept = [Path.cwd(), Path.home(), loaded.path.resolve().parent]
    if holds := next((each for each in kept if each.resolve().is_relative_to(folder.resolve())), None):
        raise ConfigError(
            f"the state folder {folder} holds {holds}, which is not of Doorward alone",
            hint="Remove by hand what may go.",
        )
    names = sorted(file.name for file in folder.iterdir()) if folder.exists() else []
    shown = ", ".join(names[:20]) + (f" and {len(names) - 20} more" if len(names) > 20 else "")
    if names and not yes:
        say(f"{folder}: {shown}", err=True)
        click.confirm(
            "Remove it, with all logins, stored runs and the audit log? Stop doorward serve first.", abort=True
        )
    if folder.exists():
        shutil.rmtree(folder)
    if project.json:
        print_json({"removed": [str(folder / name) for name in names]})
    elif not names:
        say("nothing to remove")
    else:
        say(f"removed {folder}: {shown}\n  What lies in another store, such as PostgreSQL, is still there.")
    return 0


def _removed_by_plugins(loaded: Loaded) -> list[str]:
    """What the plugins in use removed of what they know of the catalog: their classes may have a function `clean`."""
    from doorward.administration import Plugins
    from doorward.configuration import find_index

    index, config = find_index(), loaded.config
    used = [name for name in (*config.plugins, *config.capabilities) if index.named("plugin", name)]
    found = [getattr(Plugins(index).driver("plugin", name), "clean", None) for name in dict.fromkeys(used)]
    return [removed for clean in found if callable(clean) for removed in anyio.run(clean, loaded)]


def compile_now(
    project: Project,
    servers: tuple[str, ...],
    *,
    dry_run: bool = False,
    force: bool = False,
    verbose: bool = False,
    probe: bool = False,
    asking: Step | None = None,
    check: bool = False,
    snippet: bool = True,
    advise: Callable[[Gateway], Advice | None] = lambda gate: None,
) -> int:
    """Compile, and tell the results and what `advise` finds in them. `check`: say whether calls reach anything, too.
    `snippet`: the first time, show how a client is connected. Returns: the exit code."""
    loaded, options = project.load(), _Options(servers, dry_run, force, verbose, probe, asking, check, snippet)
    if not dry_run:
        return anyio.run(_compile, project, loaded, options, None, advise)
    kept = loaded
    with tempfile.TemporaryDirectory(prefix="doorward-") as folder:  # a gateway writes to its state folder
        loaded = replace(loaded, config=loaded.config.model_copy(update={"state": Path(folder)}))
        return anyio.run(_compile, project, loaded, options, kept, advise)


@dataclass(frozen=True, slots=True)
class _Options:
    servers: tuple[str, ...]
    dry_run: bool
    force: bool
    verbose: bool
    probe: bool
    asking: Step | None
    check: bool
    snippet: bool


async def _compile(
    project: Project,
    loaded: Loaded,
    options: _Options,
    kept: Loaded | None,
    advise: Callable[[Gateway], Advice | None],
) -> int:
    """`kept` is the configuration that says where to keep what is kept all the same, if the gateway has another."""
    began, dry_run = time.time(), options.dry_run
    async with project.gateway(loaded, ready=False) as gate:
        first = not gate.catalog.reports()
        results = await compile_servers(
            gate, options.servers, dry_run=dry_run and options.asking is None, force=options.force
        )
        enhanced = await _enhanced(gate, options.asking, results, kept) if options.asking else None
        probed = await _probed(gate, results) if options.probe else None
        checks = {name: await check_server(gate, name) for name in results} if options.check else {}
        advice = advise(gate)
        if project.json:
            told: dict[str, Any] = {"servers": {name: result.as_dict() for name, result in results.items()}}
            told |= {"suggested": advice.as_dict()} if advice else {}
            told |= {"enhanced": enhanced.as_dict()} if enhanced else {}
            told |= {"checks": checks} if options.check else {}
            print_json(told if probed is None else told | {"probed": probed})
        else:
            for name, result in results.items():
                _tell(name, result, options.verbose, began)
            for line in enhanced.lines() if enhanced else ():
                say(line)
            for function, learnt in (probed or {}).items():
                say(f"probed {function}: {' '.join(learnt)} {plain(' '.join(learnt.values()))}")
            if probed == {}:
                say("probed: there is nothing to learn by calls that surely change nothing")
            for line in advice.told() if advice else ():
                say(line)
            for what, ok, advised in (found for each in checks.values() for found in each if not found[1] or found[2]):
                say(f"{'warning' if ok else 'wrong'}: {what}\n  {advised}")
            _tell_all(results, dry_run)
            if first and options.snippet and not dry_run and any(result.report for result in results.values()):
                say(f"\nFor the configuration of an MCP client:\n{client_snippet(project.config)}")
    unfinished = enhanced is not None and not enhanced.complete
    return 1 if unfinished or any(result.error for result in results.values()) else 0


@dataclass(frozen=True, slots=True)
class CompileResult:
    """The result of one server: a report, or an error. It is both if the last compile goes on serving."""

    report: Report | None
    error: DoorwardError | None

    def as_dict(self) -> dict[str, Any]:
        told: dict[str, Any] = {}
        if self.report is not None:
            report = self.report
            told = {
                "functions": report.functions,
                "skipped": list(report.skipped),
                "warnings": list(report.warnings),
                "ms": round(report.ms, 1),
            }
        if self.error is not None:
            told |= {"error": str(self.error)} | ({"hint": self.error.hint} if self.error.hint else {})
        return told


async def compile_servers(
    gate: Gateway, wanted: tuple[str, ...], *, dry_run: bool = False, force: bool = False
) -> dict[str, CompileResult]:
    """Compile all servers, or those that are `wanted`. Returns: what became of each, by its name."""
    from doorward.administration import some

    from doorward_cli.progress import show_progress

    known = [*gate.servers.configured, *(name for name in gate.servers.broken if name not in gate.servers.configured)]
    for name in wanted:
        if name not in known:
            raise click.UsageError(f"there is no server {name!r} in the configuration; servers: {some(known)}")
    names = list(wanted or known)
    with show_progress(len(names)) as tell:
        reports = await gate.compiler.compile(wanted or None, force=force, dry_run=dry_run, tell=tell)
        if not dry_run:
            await gate.search_engine().prepare()
    wrong = gate.servers.broken | gate.servers.outdated
    return {name: CompileResult(reports.get(name), wrong.get(name)) for name in names}


async def _enhanced(gate: Gateway, asking: Step, results: Mapping[str, CompileResult], kept: Loaded | None) -> Result:
    from doorward.configuration import module_name

    gate.catalog.refresh()
    return await asking.run(gate, [module_name(n) for n, result in results.items() if result.report is not None], kept)


async def _probed(gate: Gateway, results: Mapping[str, CompileResult]) -> dict[str, dict[str, str]]:
    from doorward.configuration import module_name

    from doorward_cli.probe import probe

    gate.catalog.refresh()
    return await probe(gate, [module_name(name) for name, result in results.items() if result.report is not None])


def _tell(name: str, result: CompileResult, verbose: bool, began: float) -> None:
    if result.error is not None:
        what = "broken" if result.report is None else "not compiled anew"
        why = indented(plain(". ".join(described(result.error).values())))
        say(f"{click.style(what, fg='red')} {name}: {why}", clean=False)
    if result.report is None:
        return
    report = result.report
    unchanged = 0 < report.compiled < began
    skipped = f", {len(report.skipped)} skipped" if report.skipped else ""
    say(f"{name}: {counted(report.functions)}{skipped}, {'unchanged' if unchanged else f'{report.ms:.0f} ms'}")
    shown = report.skipped if verbose else report.skipped[:MAX_LISTED]
    for one in shown:
        say(f"  skipped {one['where']}: {one['why']}")
    if len(shown) < len(report.skipped):
        say(f"  … and {len(report.skipped) - len(shown)} more (--verbose)")
    warnings = report.warnings if verbose else report.warnings[:MAX_LISTED]
    for warning in warnings:
        say(f"  warning: {warning}")
    if len(warnings) < len(report.warnings):
        say(f"  … and {len(report.warnings) - len(warnings)} more warnings (--verbose)")


def _tell_all(results: dict[str, CompileResult], dry_run: bool) -> None:
    compiled = {name: result.report for name, result in results.items() if result.report}
    total = sum(report.functions for report in compiled.values())
    say(f"{'Would compile' if dry_run else 'Compiled'}: {', '.join(compiled) or 'nothing'} ({counted(total)})")


def counted(count: int) -> str:
    return f"{count} function{'' if count == 1 else 's'}"


def client_snippet(config: Path) -> str:
    """The entry of an MCP client that starts this gateway, ready to paste."""
    import json

    command, *args = client_command(config)
    return json.dumps({"mcpServers": {"doorward": {"command": command, "args": args}}}, indent=2)


def client_command(config: Path) -> list[str]:
    """The command that serves this configuration, whatever the client's folder and PATH."""
    own = Path(sys.executable).with_name("doorward.exe" if sys.platform == "win32" else "doorward")
    command = str(own) if own.exists() else shutil.which("doorward") or str(own)
    return [command, "serve", "--config", str(config.resolve())]
