"""The configured search views. Without any, nothing here costs anything.

They embed in the background what a compile has stored. A search asks all of them at once, and does without those that
do not answer at once.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
from doorward import DoorwardError
from doorward.administration import answers_of, run_in_thread

from doorward_search.views.texts import text_of

if TYPE_CHECKING:
    from doorward.administration import Outgoing, Plugins
    from doorward.configuration import Loaded
    from doorward.engines import Store
    from doorward.searching import Catalog

    from doorward_search.fusion import Opinion
    from doorward_search.index import Index
    from doorward_search.views.view import Name, View

LOOK_SECONDS = 1.0
"""Seconds between two looks whether a compile has changed the catalog."""

MAX_LOOKS = 30
"""Looks until functions are embedded although the catalog goes on changing: a server may change without end."""

MIN_PAUSE_SECONDS, MAX_PAUSE_SECONDS = 5.0, 600.0
"""Seconds until a view that failed is tried again; doubled after each attempt."""

LOOK_FOR_SECRETS_SECONDS = 60.0
"""Seconds for which it is known which secrets the configuration and the environment have. Those that were revealed are
known at once."""


class SearchViews:
    """The views of one gateway."""

    def __init__(
        self, names: Sequence[str], loaded: Loaded, plugins: Plugins, catalog: Catalog, state: Path, store: Store
    ) -> None:
        """Raises: PluginError, ConfigError: a view that is configured must exist."""
        self._catalog = catalog
        self._views: list[View] = []
        self._version: tuple[int, ...] | None = None
        self._building = anyio.Lock()
        self._read, self._patient = anyio.Event(), True
        if names:
            from doorward_search.views.stored_vectors import EARLIER, StoredVectors
            from doorward_search.views.view import View

            vectors, clear = StoredVectors(store, state / EARLIER), Clearing(loaded)
            for name in dict.fromkeys(names):
                driver = plugins.made("search_view", name, loaded, state)
                self._views.append(View(plugins.id("search_view", name), driver, vectors, plugins.failures, clear))

    async def run(self, embed: bool) -> None:
        """Take up what was kept; and from then on (`embed`) embed what compiles change."""
        if not self._views:
            return
        async with self._building:
            with suppress(DoorwardError):
                await self._update(embed=False)
        self._read.set()
        pause = MIN_PAUSE_SECONDS
        while embed:
            await self._quiet()
            if await self.build():
                pause = MIN_PAUSE_SECONDS
                await anyio.sleep(LOOK_SECONDS)
            else:
                await anyio.sleep(pause)
                pause = min(2 * pause, MAX_PAUSE_SECONDS)

    async def _quiet(self) -> None:
        """Wait until no compile has changed the catalog for a moment: at a start one follows another."""
        for _ in range(MAX_LOOKS):
            before = self._catalog.version()
            if before == self._version:
                return
            await anyio.sleep(LOOK_SECONDS)
            if self._catalog.version() == before:
                return

    async def build(self) -> bool:
        """Embed what is new, if a compile has changed anything since the last time. Returns: whether all is embedded;
        what failed is logged."""
        if not self._views:
            return True
        async with self._building:
            if (version := self._catalog.version()) == self._version:
                return True
            try:
                await self._update(embed=True)
            except DoorwardError:
                return False
            self._version = version
        return True

    async def _update(self, *, embed: bool) -> None:
        """Raises: DoorwardError of the first view that failed, after all others were tried."""
        texts: dict[Name, str] = {}
        for server in sorted(self._catalog.servers()):
            decode = self._catalog.stored_functions(server)
            texts |= await run_in_thread(lambda decode=decode: {(f.server, f.name): text_of(f) for f in decode()})
        failed = []
        for view in self._views:
            try:
                await view.update(texts, embed=embed)
            except DoorwardError as error:
                failed.append(error)
        if failed:
            raise failed[0]

    async def opinions(self, questions: Sequence[str], index: Index) -> list[list[Opinion]]:
        """What the views say of each question; a view that does not answer at once says nothing."""
        found: list[list[Opinion]] = [[] for _ in questions]
        if not self._views or not questions:
            return found
        from doorward_search.fusion import Opinion
        from doorward_search.views.view import ANSWER_SECONDS

        if self._patient:  # the first search after a start: what was kept may be here in a moment
            self._patient = False
            with anyio.move_on_after(ANSWER_SECONDS):
                await self._read.wait()
        said: dict[str, list[Opinion]] = {}

        async def ask(view: View) -> None:
            if (likeness := await view.likeness(questions, index)) is not None:
                said[view.id.name] = [Opinion(view.id.name, each) for each in likeness]

        async with anyio.create_task_group() as group:
            for view in self._views:
                group.start_soon(ask, view)
        return [[said[view.id.name][n] for view in self._views if view.id.name in said] for n in range(len(questions))]

    async def checks(self) -> AsyncIterator[tuple[str, bool, str]]:
        """For `doorward doctor`: whether each view embeds. One that does not harms no search, but is no use."""
        await self.build()
        for view in self._views:
            what = f"search view {view.id.name}"
            try:
                yield f"{what}: {await view.check()}", True, ""
            except DoorwardError as error:
                yield f"{what}: {error}", False, error.hint or ""

    async def close(self) -> None:
        for view in self._views:
            await view.close()


class Clearing:
    """Clears texts of credentials before a view has them, which may send them anywhere."""

    def __init__(self, loaded: Loaded) -> None:
        self._loaded = loaded
        self._outgoing: Outgoing | None = None
        self._looked = 0.0

    def __call__(self, texts: Sequence[str]) -> list[str]:
        if self._outgoing is None:
            from doorward.administration import Outgoing

            loaded = self._loaded
            tables = {"servers": loaded.config.servers, "principals": loaded.principals, "rest": loaded.rest}
            self._outgoing = Outgoing(loaded.secrets, lambda: tables, answers_of(""))
        if not self._looked or time.monotonic() > self._looked + LOOK_FOR_SECRETS_SECONDS:
            self._looked = time.monotonic()
            self._outgoing.look()
        return self._outgoing.all(texts)
