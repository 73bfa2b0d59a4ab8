"""Compiles the configured servers into the catalog, and says which of them need it."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from functools import partial
from itertools import chain

import anyio

from doorward.access.policy import left_out_by
from doorward.access.rules import selected
from doorward.catalog import recovery
from doorward.catalog.catalog import Catalog
from doorward.catalog.function_codec import Report
from doorward.config.config import module_name
from doorward.config.settings import ServerSettings
from doorward.data.clean_text import clean_compile
from doorward.host.logs import log
from doorward.model.calls import Effect, effect
from doorward.model.drivers import Source
from doorward.model.errors import DoorwardError, ServerError, StateError
from doorward.model.functions import Compiled, Function, Skipped
from doorward.model.names import Named, brief_names, kept_names, other_names
from doorward.plugins.function_checks import drop_unusable
from doorward.plugins.hook_answers import expected
from doorward.plugins.manager import Plugins
from doorward.secrets.scrubber import answers_of
from doorward.secrets.store import Secrets
from doorward.servers.registry import Servers

MAX_ADVISED_TOOLS = 3
"""If more functions of one server become tools, `compile` warns: each takes room in every client's context."""


def narrowed(
    compiled: Compiled, settings: ServerSettings, effect_of: Callable[[Function], Effect] = effect
) -> tuple[Compiled, dict[str, list[str]]]:
    """The compile, without the functions that `include`, `exclude` and `read_only` leave out, and with
    warnings about patterns that fit nothing; and the names of those left out, by key."""
    warnings = list(compiled.warnings)
    kept: list[Function] = []
    left_out: dict[str, list[str]] = {}
    for function in compiled.functions:
        if key := left_out_by(function, settings, effect_of):
            left_out.setdefault(key, []).append(function.name)
        else:
            kept.append(function)
    for key, patterns, among in (
        ("include", settings.include or (), compiled.functions),
        ("exclude", settings.exclude, compiled.functions),
        ("expose", settings.expose, kept),
    ):
        warnings += [f"{key}: {p!r} fits no function" for p in patterns if not any(selected(f, [p]) for f in among)]
    if (count := sum(selected(f, settings.expose) for f in kept)) > MAX_ADVISED_TOOLS:
        warnings.append(
            f"expose: {count} functions become tools; each costs every client tokens, and one is often enough"
        )
    unique: dict[str, Function] = {}
    for function in kept:
        unique.setdefault(function.name, function)
    skipped = [Skipped(f.id, f"the name {f.name} is taken") for f in kept if unique[f.name] is not f]
    skipped = [*compiled.skipped, *skipped]
    return replace(compiled, functions=[*unique.values()], warnings=warnings, skipped=skipped), left_out


def renamed(functions: Sequence[Function], before: Iterable[Named]) -> list[Function]:
    """The functions with shorter names, without repetition. A function that was in the catalog `before` keeps its name,
    whatever its server adds."""
    made = _named(functions)
    names = kept_names([f._replace(name=brief) for f, brief in zip(made, brief_names(made), strict=True)], before)
    return [f if f.name == name else replace(f, name=name) for f, name in zip(functions, names, strict=True)]


def otherwise_called(functions: Sequence[Function]) -> list[Function]:
    """The functions with aliases: other names by which programs may mean them."""
    others = other_names(_named(functions))
    return [replace(f, aliases=(*f.aliases, *also)) if also else f for f, also in zip(functions, others, strict=True)]


def _named(functions: Iterable[Function]) -> list[Named]:
    return [Named(f.name, f.id, f.route) for f in functions]


MAX_CONCURRENT_COMPILES = 8
"""Servers that `compile` compiles at the same time: most of the time is spent waiting for them."""


class Crashed(ServerError):
    """A source failed in a way in which none should: its server is out of use, whatever was compiled before."""


class Compiler:
    """Compiles the servers of one gateway, each of them once at a time."""

    def __init__(self, servers: Servers, catalog: Catalog, plugins: Plugins, secrets: Secrets) -> None:
        self._servers = servers
        self._catalog = catalog
        self._plugins = plugins
        self._secrets = secrets
        self._locks: dict[str, anyio.Lock] = {}
        self._writer = anyio.CapacityLimiter(1)  # of the catalog: in SQLite writers do not queue, they try again

    async def compile(
        self,
        only: Collection[str] | None = None,
        *,
        force: bool = False,
        dry_run: bool = False,
        tell: Callable[[str], None] = lambda name: None,
    ) -> dict[str, Report]:
        """Compile what has changed (`force`: everything) into the catalog (`dry_run`: into nothing), or `only` these.

        A server that fails is in `Servers.broken`, or goes on with its last compile; the others are not affected.
        """
        servers = self._servers
        if not dry_run:
            await recovery.look(self._catalog, servers.modules if only is None else None)
        reports: dict[str, Report | None] = dict.fromkeys(n for n in servers.configured if only is None or n in only)
        turn = anyio.Semaphore(MAX_CONCURRENT_COMPILES)

        async def compile_one(name: str) -> None:
            async with turn:
                tell(name)
                reports[name] = await self.compile_one(name, force=force, dry_run=dry_run)

        async with anyio.create_task_group() as group:
            for name in reports:
                group.start_soon(compile_one, name)
        if not dry_run:
            await recovery.turn(self._catalog, servers.modules)
        return {name: report for name, report in reports.items() if report is not None}

    async def compile_one(self, name: str, *, force: bool = False, dry_run: bool = False) -> Report | None:
        """Compile one server if its document or its configuration has changed. `None`: it is broken, or is no longer
        configured."""
        if name not in self._servers.configured:
            report = None
        else:
            with self._secrets.holds.of_call(module_name(name)):
                report = await self._in_turn(name, force, dry_run)
        if dry_run:
            return report
        wrong = await self._plugins.lines("compile_ended", server=name)
        return replace(report, warnings=[*report.warnings, *wrong]) if report and wrong else report

    def stale(self) -> list[str]:
        """The servers that have no compile under the present configuration in the catalog."""
        compiled: Mapping[str, str] = {}
        with suppress(StateError):
            compiled = self._catalog.settings()
        return [name for name in self.due(compiled) if name not in self._servers.broken]

    def due(self, compiled: Mapping[str, str]) -> list[str]:
        """The servers that have no compile under the present configuration among these: the `settings` of compiles, by
        module name."""
        servers = self._servers
        return [
            name
            for module, name in servers.modules.items()
            if compiled.get(module) != servers.fingerprint(name) or not self._catalog.trusts(module)
        ]

    async def _in_turn(self, name: str, force: bool, dry_run: bool) -> Report | None:
        servers, settings = self._servers, self._servers.fingerprint(name)
        servers.outdated.pop(name, None)
        async with self._locks.setdefault(name, anyio.Lock()):
            before = self._last(module_name(name))
            reading = False
            try:
                source = servers.source(module_name(name))
                servers.check_auth(name)
                reading = True
                report = await self._compiled(name, source, settings, None if force else before, dry_run)
                if not dry_run or report is before:
                    servers.broken.pop(name, None)
                return report
            except Crashed as error:
                if name in servers.configured:  # else it was removed meanwhile
                    servers.drop(name, error)
            except DoorwardError as error:
                last = before if reading and self._catalog.trusts(module_name(name)) else None
                if last and last.settings == settings:  # the document cannot be read for the moment
                    servers.keep_last(name, error)
                    return last
                servers.drop(name, error)
            except Exception as error:  # a defect of one source must not stop the others
                if name not in servers.configured:  # removed meanwhile
                    return None
                log.error("compile_crashed", server=name, trace=self._secrets.scrub(traceback.format_exc()))
                kind = type(error).__name__
                broken = ServerError(f"{name}: what {servers.called(module_name(name))} compiled is of no use: {kind}")
                broken.add_note(f"{kind}: {error}")
                servers.drop(name, broken)
            return None

    async def _compiled(self, name: str, source: Source, settings: str, before: Report | None, dry_run: bool) -> Report:
        """Compile and store one server, unless nothing has changed since `before`. Returns: the report."""
        module = module_name(name)
        source_name = self._servers.configured[name].settings.source
        blamed = partial(self._plugins.blamed, "source", source_name, raising=Crashed, server=name)
        ends = partial(self._plugins.failures.leave_if_stuck, self._plugins.id("source", source_name))
        with blamed("fingerprint"):
            fingerprint = expected(str, await ends("fingerprint", source.fingerprint()))
        unchanged = before and (before.fingerprint, before.settings) == (fingerprint, settings)
        if before and unchanged and not self._catalog.lost and self._catalog.trusts(module):
            return before
        started = time.perf_counter()
        with blamed("compile"):
            found = expected(Compiled, await ends("compile", source.compile()))
            found = await anyio.to_thread.run_sync(drop_unusable, found, module, self._servers.called(module))
        compiled, left_out = await self._narrowed(name, await anyio.to_thread.run_sync(clean_compile, found))
        ms = (time.perf_counter() - started) * 1000
        if dry_run:
            return Report(
                module, len(compiled.functions), [asdict(s) for s in compiled.skipped], compiled.warnings, ms,
                compiled.description, closed=compiled.needing_auth, auth=[asdict(s) for s in compiled.auth],
                left_out=left_out,
            )  # fmt: skip
        scrub = partial(self._secrets.scrub, scope=answers_of(module))
        store = partial(self._catalog.store, fingerprint=fingerprint, settings=settings, ms=round(ms, 1), scrub=scrub)
        write = partial(store, module, compiled, left_out=left_out)
        report = await anyio.to_thread.run_sync(write, limiter=self._writer)
        self._catalog.refresh()
        return report

    def _last(self, module: str) -> Report | None:
        """The last compile of a server; `None` if the catalog cannot be read: then the server is compiled."""
        with suppress(StateError):
            self._catalog.refresh()
            return self._catalog.report(module)
        return None

    async def _narrowed(self, name: str, compiled: Compiled) -> tuple[Compiled, Mapping[str, Sequence[str]]]:
        """What hooks and the server's own configuration leave of a compile, and what they leave out, by key."""
        before = []
        with suppress(StateError):
            before = [*self._catalog.named(module_name(name))]
        functions = await anyio.to_thread.run_sync(renamed, compiled.functions, before)
        definitions = dict(compiled.definitions)
        self._plugins.change(name, functions, definitions)
        functions = await anyio.to_thread.run_sync(otherwise_called, functions)
        settings = self._servers.configured[name].settings
        left, left_out = narrowed(
            replace(compiled, functions=functions, definitions=definitions), settings, self._servers.effect_of
        )
        more = chain(*self._plugins.each("compile_warnings", list[str], server=name, functions=list(left.functions)))
        return replace(left, warnings=[*left.warnings, *more]), left_out
