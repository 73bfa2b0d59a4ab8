"""What follows when a plugin fails: the log has everything but secrets, and whoever asked learns whose plugin failed,
and in what. A plugin ends nothing but its own work."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AbstractContextManager, suppress
from functools import partial
from typing import Any, TypeVar

import anyio

from doorward.config.installed_plugins import PluginId
from doorward.host.logs import log
from doorward.model.errors import DoorwardError, PluginError
from doorward.plugins.cancellation import cancellable
from doorward.plugins.hook_answers import Unfit

CLOSE_SECONDS = 30.0
"""Seconds that a driver may take to close what it has opened."""

T = TypeVar("T")
Method = Callable[[], Coroutine[Any, Any, None]]


def log_left_behind(plugin: PluginId, method: str, **about: Any) -> None:
    """Log that work of a plugin did not end when it was cancelled."""
    hint = "It goes on when it is cancelled. Its author should let CancelledError pass."
    log.error("plugin_does_not_end", **plugin.log_fields, method=method, **about, hint=hint)


class Failures:
    """Tells of the failures of one gateway's plugins."""

    def __init__(self) -> None:
        self.scrub: Callable[[str], str] = str

    def told(
        self,
        plugin: PluginId,
        method: str,
        error: Exception,
        *,
        event: str = "plugin_failed",
        raising: type[DoorwardError] = PluginError,
        **about: Any,
    ) -> DoorwardError:
        """Log a failure. Returns: the error for whoever asked, which is the plugin's own if that is one of Doorward's.
        Any other is not quoted, because it may hold a secret, but in notes for the operator."""
        why, trace = kind_of(error), ""
        with suppress(Exception):  # it may fail even at that
            trace = self.scrub("".join(traceback.format_exception(error)))
        where = {"hook" if plugin.kind == "plugin" else "method": method}
        log.error(event, **plugin.log_fields, **where, **about, why=why, trace=trace)
        if isinstance(error, DoorwardError):
            return error
        whose = plugin.given_by.rpartition(" ")[0] or "it"
        hint = f"For the operator: the log has the details. Upgrade {whose}, or tell its author."
        told = raising(failed(plugin, method, error), hint=hint)
        if not isinstance(error, Unfit):
            told.add_note(said(error))
        return told

    def blamed(
        self, plugin: PluginId, method: str, raising: type[DoorwardError] = PluginError, **about: Any
    ) -> AbstractContextManager[None]:
        """Runs code of a plugin. An exception that is none of Doorward's is told, and becomes `raising`.

        Raises: `raising`; DoorwardError as the plugin raised it.
        """
        return _Blamed(self, plugin, method, raising, about)

    def leave_if_stuck(self, plugin: PluginId, method: str, work: Awaitable[T], *, patience: int = 1) -> Awaitable[T]:
        """`work` of a plugin, which is left behind, and told of, if it does not end when it is cancelled."""
        return cancellable(work, partial(log_left_behind, plugin, method), patience)

    async def closed(self, plugin: PluginId, driver: Any) -> None:
        """Close a driver. A failure is logged, and stops nobody."""
        try:
            with anyio.CancelScope(shield=True), anyio.fail_after(CLOSE_SECONDS), contained():
                await self.leave_if_stuck(plugin, "close", driver.close())
        except Exception as error:
            self.told(plugin, "close", error, event="close_failed")


# These two are classes, and no generators: several of each are around every run.


class contained:
    """Runs code of a plugin, which cannot end more than itself: `SystemExit` would end the process, and a
    `CancelledError` that is not ours this task. Ctrl-C still ends us.

    Raises: Unfit in place of these.
    """

    __slots__ = ("_before",)

    def __enter__(self) -> None:
        self._before = _cancellations()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: Any) -> None:
        if error is None or isinstance(error, (Exception, KeyboardInterrupt)):
            return
        if isinstance(error, asyncio.CancelledError) and _cancellations() > self._before:
            return
        raise Unfit(type(error).__name__) from error


class passes_cancellation:
    """Runs code of a plugin that is to end when somebody cancels this task. Raises: CancelledError if it went on."""

    __slots__ = ("_before",)

    def __enter__(self) -> None:
        self._before = _cancellations()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: Any) -> None:
        if not isinstance(error, (asyncio.CancelledError, KeyboardInterrupt)) and _cancellations() > self._before:
            raise asyncio.CancelledError


class _Blamed(contained):
    """Runs code of a plugin, and raises what is told of a failure that is none of Doorward's."""

    __slots__ = ("_about", "_failures", "_method", "_plugin", "_raising")

    def __init__(
        self, failures: Failures, plugin: PluginId, method: str, raising: type[DoorwardError], about: dict[str, Any]
    ) -> None:
        self._failures, self._plugin, self._method = failures, plugin, method
        self._raising, self._about = raising, about

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: Any) -> None:
        try:
            super().__exit__(kind, error, trace)
        except Unfit as unfit:
            error = unfit
        if isinstance(error, Exception) and not isinstance(error, DoorwardError):
            told = self._failures.told(self._plugin, self._method, error, raising=self._raising, **self._about)
            raise told from error


async def limited(method: Method, seconds: float) -> None:
    """Await a method of a plugin, in a task of its own. One that takes longer is cancelled, and not waited for any
    more.

    Raises: TimeoutError; what the method raises.
    """

    async def work() -> None:
        with contained():
            await cancellable(method(), lambda: None)

    task = asyncio.ensure_future(work())
    try:
        await asyncio.wait({task}, timeout=seconds)
        if not task.done():
            raise TimeoutError(f"it took more than {seconds:g} s")
        task.result()
    finally:
        task.cancel()


def failed(plugin: PluginId, method: str, error: Exception) -> str:
    """The failure of a plugin in words that hold no secret."""
    return f"{plugin} failed in {method}: {kind_of(error)}"


def kind_of(error: Exception) -> str:
    """What may be said of an exception to everyone."""
    with suppress(Exception):
        return str(error) if isinstance(error, Unfit) else type(error).__name__
    return "an exception without a name"


def said(error: Exception) -> str:
    """What an exception says, for the operator alone."""
    cause = error.__cause__ if isinstance(error, Unfit) else None
    with suppress(Exception):
        return f"{type(cause or error).__name__}: {cause or error}"
    return kind_of(error)


def _cancellations() -> int:
    """How often somebody has asked to cancel this task."""
    try:
        task = asyncio.current_task()
    except RuntimeError:  # there is no loop in this thread
        return 0
    return task.cancelling() if task else 0
