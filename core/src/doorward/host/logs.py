"""The logger of core and plugins: on standard error, unless structlog is configured otherwise.

structlog is imported with the first event, because most uses of the library have none.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any


class _Stderr:
    """Standard error, whose failures are ignored: a full disk, for example, must not stop what is only being logged."""

    def write(self, text: str) -> int:
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.write(text)
        return len(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.flush()


stderr: Any = _Stderr()


class _Log:
    def __getattr__(self, level: str) -> Any:
        try:
            import structlog
        except OSError as error:  # perhaps no descriptor is left to open its files with
            return partial(_bare, level, error)
        if structlog.is_configured():
            return getattr(structlog.get_logger(), level)
        # Plain tracebacks: structlog's own show local variables, and these may be secrets.
        plain: list[Any] = [
            structlog.processors.add_log_level,
            structlog.processors.format_exc_info,
            structlog.processors.KeyValueRenderer(),
        ]
        return getattr(structlog.wrap_logger(structlog.PrintLogger(stderr), processors=plain), level)


def _bare(level: str, lacking: OSError, event: object, /, *details: Any, **values: Any) -> None:
    """Write that something happened, without the rest: nothing is there to take credentials out of it."""
    stderr.write(f"[{level}] {event} (details cannot be written: {lacking})\n")


log = _Log()


MAX_LINES = 10
"""Lines of one kind, among those that strangers can cause, that are written in `PERIOD_SECONDS`."""

PERIOD_SECONDS = 60.0


class Bounded:
    """Counts lines by their kind, so that nobody who can cause lines can fill a disk."""

    def __init__(self) -> None:
        self._kinds: dict[Any, tuple[float, int]] = {}

    def left_out(self, kind: Any) -> int | None:
        """How many lines were left out before this one; `None` if this one is left out. There must be few kinds."""
        now = time.monotonic()
        began, count = self._kinds.get(kind, (now, 0))
        if now - began < PERIOD_SECONDS:
            self._kinds[kind] = began, count + 1
            return 0 if count < MAX_LINES else None
        self._kinds[kind] = now, 1
        return max(0, count - MAX_LINES)


class _Seldom:
    """The logger for events that strangers can cause: a few lines of each event a minute; the next line says how many
    were `left_out`."""

    def __init__(self) -> None:
        self._bounded = Bounded()

    def __getattr__(self, level: str) -> Callable[..., None]:
        return partial(self._log, level)

    def _log(self, level: str, event: str, **values: Any) -> None:
        if (left_out := self._bounded.left_out(event)) is not None:
            getattr(log, level)(event, **values, **({"left_out": left_out} if left_out else {}))


seldom = _Seldom()
