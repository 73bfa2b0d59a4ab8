"""The logger of core and plugins: on standard error, unless structlog is configured otherwise.

structlog is imported with the first event, because most uses of the library have none.
"""

from __future__ import annotations

import contextlib
import sys
from typing import Any


class _Stderr:
    """Standard error. What cannot be written there, on a full disk for example, stops nothing of what is only told."""

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
        import structlog

        if structlog.is_configured():
            return getattr(structlog.get_logger(), level)
        # Plain tracebacks: structlog's own show local variables, and these may be secrets.
        plain: list[Any] = [
            structlog.processors.add_log_level,
            structlog.processors.format_exc_info,
            structlog.processors.KeyValueRenderer(),
        ]
        return getattr(structlog.wrap_logger(structlog.PrintLogger(stderr), processors=plain), level)


log = _Log()
