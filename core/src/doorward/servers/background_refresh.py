"""Keeping the catalog of an open gateway as it should be: compiled once, now and then, and when a source says so."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

import anyio

from doorward.catalog.recovery import turn
from doorward.config.config import module_name
from doorward.host.logs import log
from doorward.model.abilities import TellsChanges
from doorward.model.errors import ConfigError, DoorwardError, StateError

if TYPE_CHECKING:
    from doorward.catalog.catalog import Catalog
    from doorward.servers.compiler import Compiler
    from doorward.servers.reconfiguration import Reconfiguration
    from doorward.servers.registry import Servers

ROUND_SECONDS = 1.0
"""Seconds between two rounds of compiles: a server may say without end that it has changed."""

MIN_PAUSE_SECONDS = 5.0
"""Seconds until servers that could not be compiled are tried again; twice as many after each time."""

MAX_PAUSE_SECONDS = 600.0

SWEEP_SECONDS = 30.0
"""Seconds between two rounds of what is done now and then."""

MAX_CONCURRENT_COMPILES = 32
"""Servers that are compiled at once, each of which may be a process: more than `doorward compile` takes, for one that
does not answer must not keep those behind it."""


def given_up(servers: Servers) -> list[str]:
    """Servers that failed by themselves: what only the operator can mend is not among them."""
    return [
        name
        for name, error in servers.broken.items()
        if name in servers.configured and not isinstance(error, ConfigError)
    ]


def unstored(servers: Servers) -> list[str]:
    """Servers of which a new compile could not be stored."""
    return [name for name, error in servers.outdated.items() if isinstance(error, StateError)]


def recover(servers: Servers, catalog: Catalog) -> None:
    """Use those that were given up here and that another process (`doorward compile`, after a login) has compiled
    since."""
    with suppress(StateError):
        for name in given_up(servers):
            if (report := catalog.report(module_name(name))) and report.settings == servers.fingerprint(name):
                del servers.broken[name]


async def steadily(work: Callable[[], Awaitable[None]]) -> None:
    """Do it now and then. What fails, for want of a file that can be opened perhaps, ends nobody's server, and is done
    the next time."""
    while True:
        try:
            await work()
        except Exception as error:
            log.warning("sweep_failed", why=f"{type(error).__name__}: {error}")
        await anyio.sleep(SWEEP_SECONDS)


class BackgroundRefresh:
    """Compiles the servers of one gateway in the background."""

    def __init__(
        self, servers: Servers, compiler: Compiler, catalog: Catalog, refresh: float, reconfiguration: Reconfiguration
    ) -> None:
        self._servers = servers
        self._compiler = compiler
        self._catalog = catalog
        self._refresh = refresh or float("inf")
        self._reconfiguration = reconfiguration
        self._changed: set[str] = set()
        self._told = anyio.Event()
        servers.changed = self._has_changed

    def _has_changed(self, name: str) -> None:
        self._changed.add(name)
        self._told.set()

    async def run(self, done: Callable[[], None]) -> None:
        """Compile what has no compile under this configuration, which callers wait for until `done` is called; then
        what may have changed; then what a source says has changed, what failed, and everything again every `refresh`
        seconds (0: never)."""
        stale = self._compiler.stale()
        try:
            await self._compile(stale)
        finally:
            done()
        async with anyio.create_task_group() as group:
            for work in (self._try_again, self._restore, self._reconfigure, partial(self._follow, stale)):
                group.start_soon(self._go_on, work)

    async def _go_on(self, work: Callable[[], Awaitable[None]]) -> None:
        """Do what has no end. What fails, for want of a file that can be opened perhaps, ends nobody's server, and is
        begun again."""
        while True:
            try:
                return await work()
            except Exception as error:
                log.warning("upkeep_failed", why=f"{type(error).__name__}: {error}")
            await anyio.sleep(MIN_PAUSE_SECONDS)

    async def _try_again(self) -> None:
        """A server that was not there when it was asked for may come up later."""
        pause = MIN_PAUSE_SECONDS
        while True:
            await anyio.sleep(pause)
            failed = [*given_up(self._servers), *unstored(self._servers)]
            pause = min(2 * pause, MAX_PAUSE_SECONDS) if failed else MIN_PAUSE_SECONDS
            await self._compile(failed)

    async def _reconfigure(self) -> None:
        """Servers that are added to the configuration, changed or removed need no restart."""
        while True:
            await anyio.sleep(ROUND_SECONDS)
            for name in await self._reconfiguration.look():
                self._has_changed(name)

    async def _restore(self) -> None:
        """A catalog that was removed, replaced or broken is made again without anybody's asking, and served as it was
        meanwhile."""
        pause = ROUND_SECONDS
        while True:
            await anyio.sleep(pause)
            try:
                if self._catalog.touched():  # what is broken should not wait for whoever reads it
                    await anyio.to_thread.run_sync(self._catalog.check)
                if not self._catalog.lost:
                    pause = ROUND_SECONDS
                    continue
                await self._compile_lost(patient=pause < MIN_PAUSE_SECONDS)
            except (StateError, ConfigError, OSError) as error:
                log.warning(
                    "catalog_not_made_anew",
                    why=str(error),
                    hint=error.hint if isinstance(error, DoorwardError) else None,
                )
            pause = min(2 * pause, MAX_PAUSE_SECONDS)

    async def _compile_lost(self, *, patient: bool) -> None:
        """Compile what the file lacks that is there now. `patient`: what cannot be compiled now is served as it was for
        a while yet."""
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

    async def _follow(self, compiled: Sequence[str]) -> None:
        for name in self._servers.configured.keys() - set(compiled):
            if not self._tells_changes(name):
                await self._compiler.compile_one(name)
        again = anyio.current_time() + self._refresh
        while True:
            with anyio.move_on_after(again - anyio.current_time()):
                await self._told.wait()
            self._told, due = anyio.Event(), [*self._changed]
            self._changed.clear()
            if anyio.current_time() >= again:
                again, due = anyio.current_time() + self._refresh, [*self._servers.configured]
            await self._compile(due)
            await anyio.sleep(ROUND_SECONDS)

    async def _compile(self, names: Sequence[str]) -> None:
        turn = anyio.Semaphore(MAX_CONCURRENT_COMPILES)

        async def compile_one(name: str) -> None:
            async with turn:
                await self._compiler.compile_one(name)

        async with anyio.create_task_group() as group:
            for name in names:
                group.start_soon(compile_one, name)

    def _tells_changes(self, name: str) -> bool:
        """Whether the source needs no asking. One that cannot be had is asked, and that tells what is wrong."""
        try:
            source = self._servers.source(module_name(name))
        except DoorwardError:
            return False
        return isinstance(source, TellsChanges) and source.tells_changes
