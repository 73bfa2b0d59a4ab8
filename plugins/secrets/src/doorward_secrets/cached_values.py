"""A cache of values that are fetched when first needed, and again after some time."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable

from doorward import ConfigError

RETRY_SECONDS = 5.0
"""After this time a failed fetch is tried again; until then every caller gets the same error."""


class CachedValues:
    """The results of `fetch` by name, each for `ttl` seconds. Threads that need the same name at the
    same time share one `fetch`."""

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
