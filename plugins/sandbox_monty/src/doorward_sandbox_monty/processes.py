"""The processes of Monty's workers: none outlives this process, and their deaths are noticed at once."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable

from doorward_jail import Watchdog


class Processes:
    """Each is guarded from its first use to its death, which the system tells (Linux), however often it is used. Where
    the system does not tell, a process is guarded while it is in use: its number may be another's later."""

    def __init__(self) -> None:
        self._watchdog = Watchdog("kill -9 $left")
        self._news: dict[int, int] = {}
        self._users: dict[int, Callable[[], None]] = {}

    def use(self, pid: int, on_death: Callable[[], None]) -> None:
        """Guard a process. `on_death` is called if it dies before it is left."""
        self._users[pid] = on_death
        if pid in self._news:
            return
        self._watchdog.guard(pid)
        try:
            news = os.pidfd_open(pid)
        except (AttributeError, OSError):
            return
        self._news[pid] = news
        asyncio.get_running_loop().add_reader(news, self._died, pid)

    def leave(self, pid: int) -> None:
        """It is not used any more, and may be used again."""
        self._users.pop(pid, None)
        if pid not in self._news:
            self._watchdog.release(pid)

    def gone(self, pid: int) -> None:
        """It is dead: from now on nobody may send a signal to this number."""
        self._users.pop(pid, None)
        self._forget(pid)
        self._watchdog.release(pid)

    def close(self) -> None:
        """Guard none any more."""
        for pid in [*self._news]:
            self._forget(pid)
        self._watchdog.close()

    def _died(self, pid: int) -> None:
        tell = self._users.get(pid)
        self.gone(pid)
        if tell is not None:
            tell()

    def _forget(self, pid: int) -> None:
        if (news := self._news.pop(pid, None)) is not None:
            asyncio.get_running_loop().remove_reader(news)
            os.close(news)
