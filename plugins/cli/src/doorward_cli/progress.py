"""Progress of what takes over a second, shown on standard error if that is a terminal and the command is not to be
quiet."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Iterator

import click

from doorward_cli.logs import is_dumb, is_quiet

CLEAR_LINE = "\r\x1b[K"


@contextlib.contextmanager
def show_progress(total: int) -> Iterator[Callable[[str], None]]:
    """Gives a function to call with the name of each step as it begins."""
    if not sys.stderr.isatty() or is_dumb() or is_quiet():
        yield lambda name: None
        return
    line = _Line(total)
    timer = threading.Timer(1.0, line.show)
    timer.daemon = True
    timer.start()
    try:
        yield line.step
    finally:
        timer.cancel()
        line.hide()


class _Line:
    def __init__(self, total: int) -> None:
        self._lock = threading.Lock()
        self._total = total
        self._begun = 0
        self._name = ""
        self._shown = self._ended = False

    def step(self, name: str) -> None:
        with self._lock:
            self._begun += 1
            self._name = name
            self._write()

    def show(self) -> None:
        with self._lock:
            self._shown = not self._ended
            self._write()

    def hide(self) -> None:
        with self._lock:
            if self._shown:
                click.echo(CLEAR_LINE, err=True, nl=False)
            self._shown, self._ended = False, True

    def _write(self) -> None:
        if self._shown:
            click.echo(f"{CLEAR_LINE}{self._begun} of {self._total}: {self._name}", err=True, nl=False)
