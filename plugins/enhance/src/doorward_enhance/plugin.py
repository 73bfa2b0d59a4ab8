"""The plugin: what models wrote about functions stands on their cards and finds them. Nothing here asks a model."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from doorward import Function, Gateway, PluginContext, StateError, hookimpl, log
from doorward.administration import FunctionNotes, open_store

if TYPE_CHECKING:
    from doorward.configuration import Loaded

    from doorward_enhance.enhancement import Enhancement
    from doorward_enhance.written import Written

HEADING = "By a model, not by the API's document:"


class Enhance(FunctionNotes):
    """Shows what models wrote, as long as what they wrote about is documented as it was."""

    heading = HEADING

    def __init__(self, context: PluginContext) -> None:
        self._state = context.state
        self._compiled: set[str] = set()
        self._written: Written | None = None

    @staticmethod
    async def clean(loaded: Loaded) -> list[str]:
        """Forget all of it, with the catalog. Returns: what was forgotten."""
        from doorward_enhance.command import removed_of

        async with open_store(loaded) as store:
            removed = await removed_of(store, loaded.state_folder(), ())
        return [f"what models wrote about {len(removed)} functions"] if removed else []

    @hookimpl
    def gateway_made(self, gateway: Gateway) -> None:
        from doorward_enhance.written import WRITTEN, Written

        self._catalog, self._written = gateway.catalog, Written(gateway.store)
        self._shown = lru_cache(4096)(self._enhancement)
        gateway.catalog.caches.append(self._shown)
        gateway.catalog.notes.add(self)
        gateway.services.give(WRITTEN, self._written)

    @hookimpl
    def source_compiled(self, server: str, functions: list[Function]) -> None:
        self._compiled.add(server)

    async def open(self) -> None:
        assert self._written is not None
        with _logged():
            await self._written.read(self._state)

    async def flush(self) -> None:
        """Read what another process has stored, and forget what a compile has outdated."""
        assert self._written is not None
        with _logged():
            if await self._written.refresh():
                self._catalog.forget()
            if self._compiled:
                self._catalog.refresh()
            while self._compiled:
                await self._written.forget_outdated(self._compiled.pop(), self._catalog)

    def lines(self, function: Function, language: str) -> Sequence[str]:
        if (found := self._shown(function.server, function.name)) is None:
            return ()
        from doorward_enhance.texts import lines

        return lines(function, found, language)

    def summary(self, function: Function) -> str:
        found = self._shown(function.server, function.name)
        return f"by a model: {found.summary}" if found and found.summary else ""

    def words(self) -> Sequence[tuple[str, str, Sequence[str]]]:
        assert self._written is not None
        return [
            (server, name, each.words.split())
            for server in self._written.servers()
            for name, each in self._written.of(server).items()
            if not each.waits
        ]

    def arguments(self, function: Function) -> Mapping[str, Any] | None:
        found = self._shown(function.server, function.name)
        return found.probe if found else None

    def _enhancement(self, server: str, name: str) -> Enhancement | None:
        """What a model adds to the documentation of a function as it is now, if that waits for nobody's yes."""
        from doorward_enhance.written import documented

        assert self._written is not None
        stored = self._written.of(server).get(name)
        if stored is None or stored.waits or (function := self._catalog.function(server, name)) is None:
            return None
        return stored.enhancement() if stored.documented == documented(function, self._catalog) else None


@contextlib.contextmanager
def _logged() -> Iterator[None]:
    """Go on without what cannot be read: functions are described without it."""
    try:
        yield
    except StateError as error:
        log.warning("enhancements_not_read", why=error.message, hint=error.hint)
