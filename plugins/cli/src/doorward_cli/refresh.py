"""`doorward refresh`: compiles what changed upstream, and says what that means to programs."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import click

from doorward_cli.compile import CompileResult, compile_servers, counted
from doorward_cli.completion import complete_servers
from doorward_cli.function_changes import BREAKING, Change, Known, changes
from doorward_cli.shared import Project, common, plain, print_json, say

if TYPE_CHECKING:
    from doorward import Gateway
    from doorward.configuration import Loaded

MAX_LISTED = 20
"""Changes of one class that are listed without `--verbose`."""


@click.command()
@common
@click.argument("servers", nargs=-1, shell_complete=complete_servers)
@click.option("--check", is_flag=True, help="Write nothing; end with 1 if somebody should look at what changed.")
@click.option("--verbose", is_flag=True, help="List all changes.")
def refresh(project: Project, servers: tuple[str, ...], check: bool, verbose: bool) -> int:
    """Compile what changed upstream of all SERVERS (or of those named), and say which functions changed and which kept
    programs that breaks.

    A change is removed, narrowed (a program may rely on what is not so any more), effect (it writes now, or only
    reads), instructions (a text that seems to address a model), added, widened or text. Ends with 1 if a server is
    broken; with --check also if a function is of the first four classes, or a program breaks.
    """
    return anyio.run(_refresh, project, servers, check, verbose)


@dataclass(frozen=True, slots=True)
class BrokenProgram:
    """A kept program that is refused until somebody looks at it: whose it is, if not everybody's; the changed functions
    that it uses; and what to do."""

    program: str
    principal: str
    functions: Sequence[str]
    advice: str


async def _refresh(project: Project, servers: tuple[str, ...], check: bool, verbose: bool) -> int:
    loaded = project.load()
    async with project.gateway(loaded, ready=False) as gate, _target(project, loaded, gate, check=check) as target:
        before = {module: _known(gate, module) for module in gate.servers.modules}
        compiled = {*gate.catalog.reports()}
        results = await compile_servers(target, servers)
        target.catalog.refresh()
        fresh = [module for module, name in target.servers.modules.items() if _is_compiled(results.get(name))]
        found = [
            change
            for module in fresh
            if module in compiled
            for change in changes(before[module], _known(target, module))
        ]
        broken = await _broken(gate, target, {change.function for change in found})
    wrong = {name: str(result.error) for name, result in results.items() if result.error is not None}
    if project.json:
        print_json({
            "changes": [asdict(change) for change in found], "programs": [asdict(each) for each in broken],
            "compiled": [name for name in results if name not in wrong], "errors": wrong,
        })  # fmt: skip
    else:
        _tell(results, found, broken, verbose)
    alarming = broken or any(change.kind in BREAKING for change in found)
    return 1 if wrong or (check and alarming) else 0


def _is_compiled(result: CompileResult | None) -> bool:
    return result is not None and result.report is not None and result.error is None


@contextlib.asynccontextmanager
async def _target(project: Project, loaded: Loaded, gate: Gateway, *, check: bool) -> AsyncIterator[Gateway]:
    """The gateway that compiles: the same; or to check, one whose state is a copy that is thrown away, in which
    functions keep their names."""
    if not check:
        yield gate
        return
    from doorward import Compiled

    with tempfile.TemporaryDirectory(prefix="doorward-") as folder:
        elsewhere = replace(loaded, config=loaded.config.model_copy(update={"state": Path(folder)}))
        async with project.gateway(elsewhere, ready=False, warn=False) as other:
            for module, report in gate.catalog.reports().items():
                functions = [*gate.catalog.functions(module)]
                shapes = [[each.parameters, each.returns] for each in functions]
                copied = Compiled(functions, gate.catalog.reached(module, shapes), description=report.description)
                await anyio.to_thread.run_sync(_store, other, module, copied)
            other.catalog.refresh()
            yield other


def _store(gate: Gateway, module: str, compiled: Any) -> None:
    gate.catalog.store(module, compiled, fingerprint="", settings="", ms=0)


def _known(gate: Gateway, module: str) -> dict[str, Known]:
    from doorward.deciding import Effects

    effects, reached = Effects(gate.config.policy.classes), gate.catalog.reached
    return {
        each.qualified: Known(each, reached(module, [each.parameters, each.returns]), effects.of(each))
        for each in gate.catalog.functions(module)
    }


async def _broken(gate: Gateway, target: Gateway, changed: set[str]) -> list[BrokenProgram]:
    """The kept programs that use changed functions and are refused now."""
    from doorward.sandboxing import KEPT_PROGRAMS

    programs = gate.services.get(KEPT_PROGRAMS)
    found = []
    for each in await programs.using(changed) if programs is not None and changed else ():
        uses = {name: hash for name, hash in each["uses"].items() if name in changed}
        wrong = [name for name, hash in uses.items() if target.catalog.schema_hash(*name.split(".", 1)) != hash]
        if wrong:
            found.append(BrokenProgram(each["program"], each["principal"], wrong, each["advice"]))
    return found


def _tell(
    results: Mapping[str, CompileResult], found: Sequence[Change], broken: Iterable[BrokenProgram], verbose: bool
) -> None:
    for name, result in results.items():
        if result.error is not None:
            hint = f"\n    {result.error.hint}" if result.error.hint else ""
            say(f"{click.style('broken', fg='red')} {name}: {plain(str(result.error.message))}{hint}", clean=False)
        elif result.report is not None:
            say(f"{name}: {counted(result.report.functions)}")
    for kind in dict.fromkeys(change.kind for change in found):
        of_kind = [change for change in found if change.kind == kind]
        for change in of_kind if verbose else of_kind[:MAX_LISTED]:
            shown = click.style(kind, fg="red" if kind in BREAKING else None)
            say(f"{shown} {change.function}: {plain(change.what)}", clean=False)
        if not verbose and len(of_kind) > MAX_LISTED:
            say(f"… and {len(of_kind) - MAX_LISTED} more {kind} (--verbose)")
    for program in broken:
        whose = f" of {program.principal}" if program.principal else ""
        used = ", ".join(program.functions)
        say(f"{click.style('breaks', fg='red')} {program.program}{whose}, which calls {used}", clean=False)
        say(f"  {program.advice}")
    if not found:
        say("no function has changed")
