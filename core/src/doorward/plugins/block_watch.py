"""Names the plugin that blocks the event loop: while it does, nobody else is served.

A thread looks now and then at what the loop's thread is doing. If that is the code of a plugin, it asks the loop to
answer; if that does not come for a second, the log has the plugin. So nothing is measured on the path of a call. What
holds the interpreter's lock all the while (a regular expression) is only seen when it is over: hooks and constructors
are timed as well.
"""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from inspect import unwrap
from types import CodeType, FrameType
from typing import Any

from doorward.config.installed_plugins import PluginId
from doorward.host.logs import seldom
from doorward.model.programs import Program

LOOK_SECONDS = 0.5
"""Seconds between two looks."""

BLOCKED_SECONDS = 1.0
"""Seconds after which a plugin that lets nobody else run is named."""

_OURS = "doorward"
_HINT = "Nobody else is served meanwhile. Its author should await, or work in a thread (asyncio.to_thread)."


class BlockWatch:
    """The watch of one gateway. `code` and `modules` say whose code is whose."""

    def __init__(self) -> None:
        self._code: dict[CodeType, tuple[PluginId, str]] = {}
        self._modules: dict[str, PluginId] = {}
        self._named: deque[tuple[float, PluginId, str]] = deque(maxlen=20)
        self._thread: threading.Thread | None = None
        self._over = threading.Event()
        self._answer = threading.Event()

    def add_plugin(self, plugin: PluginId, loaded: Any, module: str) -> None:
        """Learn what belongs to a plugin: a class, or a module of hooks, that was loaded from this module."""
        package = module.partition(".")[0]
        for name in (package, getattr(loaded, "__module__", None) or getattr(loaded, "__name__", "")):
            if name and name.partition(".")[0] != _OURS:
                self._modules.setdefault(name, plugin)
        if isinstance(loaded, type):
            for each in loaded.__mro__[-2::-1]:  # but `object`
                for method, function in vars(each).items():
                    self.add_code(plugin, function, "its constructor" if method == "__init__" else method)

    def add_code(self, plugin: PluginId, function: Any, method: str) -> None:
        """Learn the code of a method or a hook."""
        function = getattr(function, "__func__", function)
        for each in (function, unwrap(function) if callable(function) else None):
            if isinstance(code := getattr(each, "__code__", None), CodeType):
                self._code[code] = plugin, method

    def start(self) -> None:
        """Watch the loop of this thread."""
        given = asyncio.get_running_loop(), threading.get_ident()
        self._thread = threading.Thread(target=self._watch, args=given, name="doorward block watch", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Watch it no more."""
        self._over.set()
        self._answer.set()
        if self._thread is not None:
            self._thread.join(1)

    def watched(self, plugin: PluginId, method: str, run: Callable[..., Any]) -> Callable[..., Any]:
        """A function of a plugin, of which is told if it takes long."""

        def timed(*given: Any, **named: Any) -> Any:
            began = time.monotonic()
            answer = run(*given, **named)
            if time.monotonic() - began >= BLOCKED_SECONDS:
                self.log_if_slow(plugin, method, began)
            return answer

        return timed

    def log_if_slow(self, plugin: PluginId, method: str, began: float) -> None:
        """Tell of a plugin that was called then, by `time.monotonic`, if it took long."""
        if (seconds := time.monotonic() - began) >= BLOCKED_SECONDS:
            seldom.warning("plugin_blocked", **self._about(plugin, method), seconds=round(seconds, 1), hint=_HINT)

    def late_hint(self, program: Program) -> str:
        """What to do about a run that took too long, and who has blocked the loop since it began."""
        begun = program.deadline - program.limits.timeout
        found = {f"{plugin} in {method}": None for when, plugin, method in [*self._named] if when >= begun}
        who = f" Meanwhile nothing else could run: {', '.join(found)} blocked the event loop." if found else ""
        return f"Do less in one run, or ask for a longer `timeout`.{who}"

    def _watch(self, loop: asyncio.AbstractEventLoop, thread: int) -> None:
        while not self._over.wait(LOOK_SECONDS):
            if self._culprit(thread) is None:
                continue
            self._answer.clear()
            with suppress(RuntimeError):  # it is closed
                loop.call_soon_threadsafe(self._answer.set)
            if self._answer.wait(BLOCKED_SECONDS) or (found := self._culprit(thread)) is None:
                continue
            seldom.warning("plugin_blocks", **self._about(*found), hint=_HINT)
            while not (self._answer.wait(LOOK_SECONDS) or self._over.is_set()):
                pass

    def _about(self, plugin: PluginId, method: str) -> dict[str, str]:
        """What the log has of a plugin that blocks, which is remembered."""
        self._named.append((time.monotonic(), plugin, method))
        return {**plugin.log_fields, "method": method}

    def _culprit(self, thread: int) -> tuple[PluginId, str] | None:
        """The plugin whose code that thread is in, and its method: the innermost one. Nobody, if what runs there is
        ours, whoever has called it, or if a module is being imported: that happens once, and takes a busy machine a
        second."""
        frame: FrameType | None = sys._current_frames().get(thread)
        owner: PluginId | None = None
        method = ""
        while frame is not None:
            module = str(frame.f_globals.get("__name__"))
            known = self._code.get(frame.f_code)
            here = known[0] if known else self._owner(module)
            if owner is None and here is None and module.partition(".")[0] == _OURS:
                return None
            if owner is not None and here != owner:
                break
            if here is not None and frame.f_code.co_name == "<module>":
                return None
            if here is not None:
                owner, method = here, known[1] if known else method or frame.f_code.co_name
            if known:
                return known
            frame = frame.f_back
        return (owner, method) if owner is not None else None

    def _owner(self, module: str) -> PluginId | None:
        return self._modules.get(module) or self._modules.get(module.partition(".")[0])
