"""What follows when a plugin fails: the log has everything but secrets, and whoever asked learns whose plugin failed,
and in what. A plugin ends nothing but its own work."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import anyio

from doorward.host.logs import log
from doorward.model.errors import DoorwardError, PluginError
from doorward.packages.index import PluginId
from doorward.plugins.hook_answers import Unfit

CLOSE_SECONDS = 30.0
"""Seconds that a driver may take to close what it has opened."""

Method = Callable[[], Coroutine[Any, Any, None]]


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
        which = {"plugin": plugin.name, "kind": plugin.kind, "distribution": plugin.given_by}
        where = {"hook" if plugin.kind == "plugin" else "method": method}
        log.error(event, **which, **where, **about, why=why, trace=trace)
        if isinstance(error, DoorwardError):
            return error
        whose = plugin.given_by.rpartition(" ")[0] or "it"
        hint = f"For the operator: the log has the details. Upgrade {whose}, or tell its author."
        told = raising(failed(plugin, method, error), hint=hint)
        if not isinstance(error, Unfit):
            told.add_note(said(error))
        return told

    @contextmanager
    def blamed(
        self, plugin: PluginId, method: str, raising: type[DoorwardError] = PluginError, **about: Any
    ) -> Iterator[None]:
        """Runs code of a plugin. An exception that is none of Doorward's is told, and becomes `raising`.

        Raises: `raising`; DoorwardError as the plugin raised it.
        """
        try:
            with contained():
                yield
        except DoorwardError:
            raise
        except Exception as error:
            raise self.told(plugin, method, error, raising=raising, **about) from error

    async def closed(self, plugin: PluginId, driver: Any) -> None:
        """Close a driver. A failure is logged, and stops nobody."""
        try:
            with anyio.CancelScope(shield=True), anyio.fail_after(CLOSE_SECONDS), contained():
                await driver.close()
        except Exception as error:
            self.told(plugin, "close", error, event="close_failed")


@contextmanager
def contained() -> Iterator[None]:
    """Runs code of a plugin, which cannot end more than itself: `SystemExit` would end the process, and a
    `CancelledError` that is not ours this task. Ctrl-C still ends us.

    Raises: Unfit in place of these.
    """
    before = _cancellations()
    try:
        yield
    except (Exception, KeyboardInterrupt):
        raise
    except BaseException as error:
        if isinstance(error, asyncio.CancelledError) and _cancellations() > before:
            raise
        raise Unfit(type(error).__name__) from error


async def limited(method: Method, seconds: float) -> None:
    """Await a method of a plugin, in a task of its own. One that takes longer is cancelled, and not waited for any
    more.

    Raises: TimeoutError; what the method raises.
    """

    async def work() -> None:
        with contained():
            await method()

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
    with suppress(RuntimeError):  # there is no loop in this thread
        if task := asyncio.current_task():
            return task.cancelling()
    return 0
