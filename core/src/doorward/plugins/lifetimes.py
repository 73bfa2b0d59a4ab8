"""Opens, flushes and closes hook plugins that wait for something: a file, a connection."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from types import ModuleType
from typing import Any, NamedTuple

from doorward.config.installed_plugins import PluginId
from doorward.plugins.failures import Failures, Method, limited

OPEN_SECONDS = 30.0
"""Seconds that `open` of one plugin may take; else the start fails."""

CLOSE_SECONDS = 5.0
"""Seconds that `flush` or `close` of one plugin may take."""

FLUSH_SECONDS = 300.0
"""Seconds in which a plugin writes out what waits in it while Doorward serves: for that nobody waits, and a store that
another process locks, or that many write to at once, may take seconds for each write."""


class HookPlugin(NamedTuple):
    """A hook plugin that is loaded."""

    id: PluginId
    plugin: Any

    def method(self, name: str) -> Method | None:
        """Its `async def` method of this name. A function of a module is none: it may be any `open` or `close` that the
        module imports."""
        found = None if isinstance(self.plugin, ModuleType) else getattr(self.plugin, name, None)
        return found if inspect.iscoroutinefunction(found) else None


class Lifetimes:
    """The hook plugins of one gateway, in the order of the configuration."""

    def __init__(self, plugins: Sequence[HookPlugin], failures: Failures) -> None:
        self._plugins = plugins
        self._failures = failures
        self._opened: list[HookPlugin] = []

    async def open(self) -> None:
        """Open each plugin, before anything is compiled or served. Raises: PluginError, or the plugin's own error."""
        for each in self._plugins:
            with self._failures.blamed(each.id, "open"):
                if (method := each.method("open")) is not None:
                    await limited(method, OPEN_SECONDS)
            self._opened.append(each)

    async def flush(self) -> None:
        """Have each plugin write out what waits in it. A failure is logged."""
        for each in self._opened:
            await self._end(each, "flush", FLUSH_SECONDS)

    async def close(self) -> None:
        """Flush and close each plugin that was opened, the last one first. A failure is logged, and stops no other."""
        while self._opened:
            each = self._opened.pop()
            await self._end(each, "flush")
            await self._end(each, "close")

    async def _end(self, each: HookPlugin, what: str, seconds: float | None = None) -> None:
        try:
            if (method := each.method(what)) is not None:
                await limited(method, seconds or CLOSE_SECONDS)
        except Exception as error:
            self._failures.told(each.id, what, error)
