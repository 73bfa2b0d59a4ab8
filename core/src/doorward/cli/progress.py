"""A progress bar on standard error for what takes over a second; nothing where that is no terminal."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any


@contextlib.contextmanager
def progress(total: int) -> Iterator[Callable[[str], None]]:
    """Call what this gives with the name of each step as it begins."""
    if not sys.stderr.isatty():
        yield lambda name: None
        return
    bar = _Bar(total)
    timer = threading.Timer(1.0, bar.show)
    timer.daemon = True
    timer.start()
    try:
        yield bar.step
    finally:
        timer.cancel()
        bar.hide()


class _Bar:
    def __init__(self, total: int) -> None:
        self._lock = threading.Lock()
        self._total = total
        self._begun = 0
        self._name = ""
        self._shown: Any = None
        self._ended = False

    def step(self, name: str) -> None:
        with self._lock:
            self._begun += 1
            self._name = name
            self._update()

    def show(self) -> None:
        from rich.console import Console
        from rich.progress import Progress

        with self._lock:
            if self._ended:
                return
            self._shown = Progress(console=Console(stderr=True), transient=True)
            self._shown.add_task("", total=self._total)
            self._update()
            self._shown.start()

    def _update(self) -> None:
        if self._shown is not None:
            self._shown.update(0, completed=self._begun - 1, description=self._name)

    def hide(self) -> None:
        with self._lock:
            self._ended = True
            if self._shown is not None:
                self._shown.stop()
