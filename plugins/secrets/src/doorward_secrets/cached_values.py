"""Values that are fetched once for a while, by whoever needs them first."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable

from doorward import ConfigError

RETRY_SECONDS = 5.0
"""Seconds after which what failed is tried again: whoever asks meanwhile is told the same."""


class CachedValues:
    """What `fetch` gives for a name, for `ttl` seconds. Threads that ask for one name at the same time share one
    `fetch`."""

    def __init__(self, ttl: float, fetch: Callable[[str], str]) -> None:
        self._ttl, self._fetch = ttl, fetch
        self._values: dict[str, tuple[float, str | ConfigError]] = {}
        self._locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)

    def get(self, name: str) -> str:
        """Raises: ConfigError, as `fetch` does."""
        with self._locks[name]:
            until, value = self._values.get(name, (0.0, ""))
            if time.monotonic() >= until:
                value = self._fetched(name)
        if isinstance(value, ConfigError):
            raise type(value)(value.message, hint=value.hint)
        return value

    def _fetched(self, name: str) -> str | ConfigError:
        try:
            value: str | ConfigError = self._fetch(name)
        except ConfigError as error:
            value = error
        seconds = RETRY_SECONDS if isinstance(value, ConfigError) else self._ttl
        self._values[name] = time.monotonic() + seconds, value
        return value
