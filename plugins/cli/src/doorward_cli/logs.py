"""Logging of the command line: to standard error, as JSON lines unless that is a terminal, without secrets."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import click
from doorward import log
from doorward.administration import Bounded, log_stream

from doorward_cli.once_imported import once_imported

if TYPE_CHECKING:
    from doorward.configuration import Loaded, Secrets

_QUIET = "doorward.quiet"

_secrets: list[Secrets] = []
"""The secrets of the configuration, once it is read."""


def debugging() -> bool:
    """Whether everything is logged, and errors are printed with their traceback."""
    return os.environ.get("DOORWARD_DEBUG", "") not in ("", "0", "false")


def is_dumb() -> bool:
    """Whether the terminal can do nothing but write lines."""
    return os.environ.get("TERM") == "dumb"


def may_colour() -> bool:
    """Whether a terminal may get colours: `NO_COLOR` (https://no-color.org) says that it may not."""
    return not (os.environ.get("NO_COLOR") or is_dumb())


def set_quiet(context: click.Context, option: click.Parameter, quiet: bool) -> None:
    """Have the command that runs be quiet, or not."""
    context.meta[_QUIET] = quiet


def is_quiet() -> bool:
    """Whether the command was given `--quiet`: warnings, errors and questions are shown all the same."""
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.meta.get(_QUIET))


def scrub(text: str) -> str:
    """The text without the secrets that were revealed so far."""
    for secrets in _secrets:
        text = secrets.scrub(text)
    return text


def level(loaded: Loaded, *, serves: bool = False) -> str:
    """The configured level. Without one, a command that answers one question logs errors only: its answer says the
    rest."""
    if debugging():
        return "debug"
    return loaded.config.log_level if serves or "log_level" in loaded.named else "error"


def configure(secrets: Secrets, level: str) -> None:
    """Send every event of structlog and of `logging` through the scrubber to standard error."""
    _secrets[:] = [secrets]
    once_imported("structlog", partial(_configure_structlog, secrets, level), within=_without_rich)
    logging.basicConfig(handlers=[_ToStructlog()], level=level.upper(), force=True)
    logging.getLogger("httpcore2").setLevel(logging.INFO)  # its debug messages hold every header of every answer


def _configure_structlog(secrets: Secrets, level: str) -> None:
    import structlog

    human = sys.stderr.isatty()

    def scrub(logger: Any, method: str, event: Any) -> Any:
        return secrets.scrub_value(event)

    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            scrub,
            structlog.dev.ConsoleRenderer(colors=may_colour()) if human else structlog.processors.JSONRenderer(),
            scrub,  # the rendered line: values that are no strings are written out only now
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelName(level.upper())),
        logger_factory=structlog.PrintLoggerFactory(log_stream),
        cache_logger_on_first_use=False,
    )


MAX_MESSAGE_CHARACTERS = 4000
"""Longer messages of libraries are cut: some quote what strangers sent."""


class _ToStructlog(logging.Handler):
    """Sends what libraries log with the standard library to the same stream. Strangers can cause many messages, so each
    place in a library's source may log only a few, except at the level `debug`."""

    def __init__(self) -> None:
        super().__init__()
        self._bounded = Bounded()

    def emit(self, record: logging.LogRecord) -> None:
        everything = logging.root.level <= logging.DEBUG
        left_out = 0 if everything else self._bounded.left_out((record.pathname, record.lineno))
        if left_out is not None:
            more = {"left_out": left_out} if left_out else {}
            log.log(
                record.levelno,
                record.getMessage()[:MAX_MESSAGE_CHARACTERS],
                logger=record.name,
                exc_info=record.exc_info,
                **more,
            )


@contextlib.contextmanager
def _without_rich() -> Iterator[None]:
    """structlog without rich, which takes 40 ms to import and draws tracebacks, which we write as text."""
    known = "rich" in sys.modules
    if not known:
        sys.modules["rich"] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        if not known:
            del sys.modules["rich"]
