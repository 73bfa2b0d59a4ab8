"""The logger of core and plugins: on standard error, unless structlog is configured otherwise.

structlog is imported with the first event: it costs as much as all else that starts us.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any


class _Log:
    def __init__(self) -> None:
        self._set_up: Callable[[], None] | None = None

    def set_up(self, how: Callable[[], None]) -> None:
        """Call this before the first event; the command line configures structlog so."""
        self._set_up = how

    def __getattr__(self, level: str) -> Any:
        import structlog

        if self._set_up is not None:
            how, self._set_up = self._set_up, None
            how()
        if structlog.is_configured():
            return getattr(structlog.get_logger(), level)
        return getattr(structlog.wrap_logger(structlog.PrintLogger(sys.stderr)), level)


log = _Log()
