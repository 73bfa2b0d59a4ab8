"""Keeps the catalog of an open gateway up to date: compiles at the start, at intervals, and on changes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

from doorward.catalog.recovery import turn
from doorward.config.config import Loaded, module_name, reloaded
from doorward.host.cached_file import stamp
from doorward.host.logs import log
from doorward.model.drivers import TellsChanges
from doorward.model.errors import ConfigError, DoorwardError, StateError

if TYPE_CHECKING:
    from doorward.access.principals import Principals
    from doorward.catalog.catalog import Catalog
    from doorward.servers.compiler import Compiler
    from doorward.servers.registry import Servers


class Reconfiguration:
    """Watches the file of a configuration, and has its users switch to the servers that are in it now."""

    def __init__(self, loaded: Loaded, servers: Servers, principals: Principals) -> None:
        self._loaded, self._servers = loaded, servers
        self._principals = principals
        self._stamp = loaded.stamp
        self._in_use = {*loaded.config.plugins, *loaded.config.capabilities, *(entry.name for entry in loaded.owners)}

    async def look(self) -> list[str]:
        """Serve what is in the file now, if it has changed. A file that cannot be used as a whole changes nothing, and
        is logged once.

        Returns: the servers to compile.
        """
        if (found := self._found()) == self._stamp:
            return []
        self._stamp = found
        if not found:
            log.warning("configuration_gone", file=str(self._loaded.path), hint="What it said still holds.")
            return []
        try:
            loaded = await anyio.to_thread.run_sync(reloaded, self._loaded)
        except (DoorwardError, OSError) as error:
            self._refuse(str(error), error.hint if isinstance(error, DoorwardError) else None)
            return []
        before, now = self._loaded.rest, loaded.rest
        if keys := sorted(key for key in {*before, *now} if before.get(key) != now.get(key)):
            self._refuse(f"{', '.join(keys)}: read at the start only", "Restart to use what has changed.")
            return []
        if new := [entry for entry in loaded.owners if entry.name not in self._in_use]:
            self._refuse(f"{new[0].id} is loaded at the start only", "Restart to use the keys of servers that it owns.")
            return []
        if broken := next((name for name in loaded.broken if name in self._servers.configured), None):
            self._refuse(f"server {broken}: {loaded.broken[broken]}", loaded.broken[broken].hint)
            return []
        return await self._use(loaded)

    async def _use(self, loaded: Loaded) -> list[str]:
        """Use a new configuration. Servers that it does not change go on undisturbed."""
        servers = self._servers
        before = {name: servers.fingerprint(name) for name in servers.configured}
        self._loaded = loaded
        self._principals.use(loaded)
        servers.use(loaded)
        changed = [name for name in servers.configured if before.get(name) != servers.fingerprint(name)]
        gone = [name for name in {**before, **servers.broken} if name not in servers.configured]
        for name in (*changed, *gone):
            if name not in loaded.broken:
                servers.broken.pop(name, None)
            await servers.renew(name)
        log.info("configuration_read", servers=len(servers.configured), changed=changed, gone=gone)
        return changed

    def _refuse(self, why: str, hint: str | None) -> None:
        hint = hint or "What it said before still holds."
        log.warning("configuration_not_used", file=str(self._loaded.path), why=why, hint=hint)

    def _found(self) -> tuple[int, ...]:
        try:
            return stamp(self._loaded.path.stat())
        except OSError:
            return ()


ROUND_SECONDS = 1.0
"""Seconds between two rounds of compiles: a server may report changes without end."""

MIN_PAUSE_SECONDS = 5.0
"""Seconds until servers that could not be compiled are tried again; doubled after each attempt."""

MAX_PAUSE_SECONDS = 600.0

START_SECONDS = 1.0
"""Seconds after the start until what can wait is done: the client waits for its first answers, which need the same
processor."""

SWEEP_SECONDS = 30.0
"""Seconds between two rounds of regular work."""

MAX_CONCURRENT_COMPILES = 32
"""Servers that are compiled at the same time, each of which may be a process. They are more than in `doorward compile`:
a server that does not answer must not hold up the others."""


def given_up(servers: Servers) -> list[str]:
    """Servers that failed, except those with a mistake in the configuration, which only the operator can correct."""
    return [
        name
        for name, error in servers.broken.items()
        if name in servers.configured and not isinstance(error, ConfigError)
    ]


def unstored(servers: Servers) -> list[str]:
    """Servers whose new compile could not be stored."""
    return [name for name, error in servers.outdated.items() if isinstance(error, StateError)]


def recover(servers: Servers, catalog: Catalog) -> None:
    """Use servers again that failed here, if another process has compiled them since, as `doorward compile` does."""
    with suppress(StateError):
        for name in given_up(servers):
            report = catalog.report(module_name(name)) if catalog.trusts(module_name(name)) else None
            if report and report.settings == servers.fingerprint(name):
                del servers.broken[name]


async def after_the_start(once: Callable[[], None], steadily: Callable[[], Awaitable[None]]) -> None:
    """Do what can wait: `once` in a thread, the other at intervals. A failure of that, for example because no more
    files can be opened, must not end the process: it is tried again the next time."""
    await anyio.sleep(START_SECONDS)
    await anyio.to_thread.run_sync(once)
    while True:
        try:
            await steadily()
        except Exception as error:
            log.warning("sweep_failed", why=f"{type(error).__name__}: {error}")
        await anyio.sleep(SWEEP_SECONDS)


class BackgroundRefresh:
    """Compiles the servers of one gateway in the background."""

    def __init__(
        self,
        servers: Servers,
        compiler: Compiler,
        catalog: Catalog,
        refresh: float,
        reconfiguration: Reconfiguration,
        due: Callable[[], object] = lambda: None,
    ) -> None:
        """`due` may bring the configuration up to date; it is called in a thread."""
        self._servers = servers
        self._compiler = compiler
        self._catalog = catalog
        self._refresh = refresh or float("inf")
        self._reconfiguration = reconfiguration
        self._due = due
        self._changed: set[str] = set()
        self._told = anyio.Event()
        servers.changed = self._has_changed
        if catalog.integrity is not None:
            catalog.integrity.altered = lambda module: self._has_changed(servers.modules.get(module, module))

    def _has_changed(self, name: str) -> None:
        self._changed.add(name)
        self._told.set()

    async def run(self, progressed: Callable[[], None], done: Callable[[], None]) -> None:
        """First compile the servers that have no compile under this configuration; callers wait for that until `done`
        is called, and `progressed` is called after each of them. Then compile those that may have changed. From then on
        compile those that report a change or have failed, and everything every `refresh` seconds (0: never)."""
        stale = self._compiler.stale()
        try:
            await self._compile(stale, progressed)
        finally:
            done()
        async with anyio.create_task_group() as group:
            look = partial(self._look, stale)
            for work in (self._try_again, self._restore, self._reconfigure, look, self._follow):
                group.start_soon(self._go_on, work)

    async def _go_on(self, work: Callable[[], Awaitable[None]]) -> None:
        """Do endless work. A failure, for example because no more files can be opened, must not end the process: the
        work begins again."""
        while True:
            try:
                return await work()
            except Exception as error:
                log.warning("upkeep_failed", why=f"{type(error).__name__}: {error}")
            await anyio.sleep(MIN_PAUSE_SECONDS)

    async def _try_again(self) -> None:
        """Compile servers again that have failed: one that did not answer may do so later."""
        pause = MIN_PAUSE_SECONDS
        while True:
            await anyio.sleep(pause)
            failed = [*given_up(self._servers), *unstored(self._servers)]
            pause = min(2 * pause, MAX_PAUSE_SECONDS) if failed else MIN_PAUSE_SECONDS
            await self._compile(failed)

    async def _reconfigure(self) -> None:
        """Follow changes of the configuration: added, changed and removed servers need no restart."""
        while True:
            await anyio.sleep(ROUND_SECONDS)
            for name in await self._reconfiguration.look():
                self._has_changed(name)

    async def _restore(self) -> None:
        """Make a removed, replaced or broken catalog again before anyone asks; meanwhile the old one is served."""
        pause = ROUND_SECONDS
        while True:
            await anyio.sleep(pause)
            try:
                if self._catalog.touched():  # find what is broken before anyone reads it
                    await anyio.to_thread.run_sync(self._catalog.check)
                if not self._catalog.lost:
                    pause = ROUND_SECONDS
                    continue
                await self._compile_lost(patient=pause < MIN_PAUSE_SECONDS)
            except (StateError, ConfigError, OSError) as error:
                hint = error.hint if isinstance(error, DoorwardError) else None
                log.warning("catalog_not_made_anew", why=str(error), hint=hint)
            pause = min(2 * pause, MAX_PAUSE_SECONDS)

    async def _compile_lost(self, *, patient: bool) -> None:
        """Compile the servers that the stored catalog lacks. `patient`: servers that cannot be compiled now are served
        from the old catalog for a while."""
        there = await anyio.to_thread.run_sync(self._catalog.there)
        there.reader.close()
        lacking = self._compiler.due({module: report.settings for module, report in there.reports.items()})
        if lacking:
            log.warning("catalog_made_anew", path=self._catalog.where, servers=len(lacking))
        await self._compile(lacking)
        if await turn(self._catalog, self._servers.modules if patient else ()):
            reports = self._catalog.reports()
            for name, error in [*self._servers.outdated.items()]:
                if module_name(name) not in reports:
                    self._servers.drop(name, error)
            for name in self._compiler.stale():  # what was just stored may have been lost at once, with its file
                self._has_changed(name)

    async def _look(self, compiled: Sequence[str]) -> None:
        """Compile the servers, but for these, whose documents may have changed since they were compiled."""
        await anyio.sleep(START_SECONDS)
        await anyio.to_thread.run_sync(self._due)
        for name in self._servers.configured.keys() - set(compiled):
            if not self._tells_changes(name):
                await self._compiler.compile_one(name)

    async def _follow(self) -> None:
        """Compile the servers that report a change, and all at intervals."""
        again = anyio.current_time() + self._refresh
        while True:
            with anyio.move_on_after(again - anyio.current_time()):
                await self._told.wait()
            self._told, due = anyio.Event(), [*self._changed]
            self._changed.clear()
            if anyio.current_time() >= again:
                again, due = anyio.current_time() + self._refresh, [*self._servers.configured]
                await anyio.to_thread.run_sync(self._due)
            await self._compile(due)
            await anyio.sleep(ROUND_SECONDS)

    async def _compile(self, names: Sequence[str], progressed: Callable[[], None] = lambda: None) -> None:
        turn = anyio.Semaphore(MAX_CONCURRENT_COMPILES)

        async def compile_one(name: str) -> None:
            async with turn:
                await self._compiler.compile_one(name)
                progressed()

        async with anyio.create_task_group() as group:
            for name in names:
                group.start_soon(compile_one, name)

    def _tells_changes(self, name: str) -> bool:
        """Whether the source reports changes. If it cannot be made, no: then compiling says what is wrong."""
        try:
            source = self._servers.source(module_name(name))
        except DoorwardError:
            return False
        return isinstance(source, TellsChanges) and source.tells_changes
