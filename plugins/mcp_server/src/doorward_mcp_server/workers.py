"""`serve --workers N`: processes that accept from one socket. The one that was started forks them, and does nothing but
start anew those that die, and tell all to end when it is told to.

A worker that is killed loses no connection that none of them had accepted: the socket lives on.
"""

from __future__ import annotations

import asyncio
import contextlib
import mmap
import os
import signal
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass

from doorward import ConfigError, log

MAX_PAUSE_SECONDS = 30.0
"""A worker that dies before it serves is started anew after a second, then after twice as long, up to this."""


@dataclass
class _Process:
    ready: int
    """The pipe by which it says where it serves."""
    url: str = ""


class Workers:
    """`count` workers, which accept connections from `listener`."""

    def __init__(self, count: int, listener: socket.socket) -> None:
        if not hasattr(os, "fork"):
            raise ConfigError("--workers needs processes that can be forked", hint="Serve without it on this system.")
        self.count, self.listener = count, listener
        self._live = mmap.mmap(-1, 1)  # shared by all
        self._processes: dict[int, _Process] = {}
        self._retired: set[int] = set()
        self._to_replace: list[int] = []
        self._served, self._stops, self._failed, self._pause = False, False, 0, 1.0
        self._lifeline = os.pipe()
        self._ready = -1

    def live(self) -> int:
        """How many of them serve."""
        return self._live[0]

    def supervise(self, announce: Callable[[str], None]) -> None:
        """Fork the workers, and look after them until told to end; `announce` gets the URL when all serve. Returns in
        each worker, and never in the first process, which exits."""
        signals = {signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGALRM}
        before = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
        if self._fork():
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            return
        while self._processes:
            number = signal.sigwait(signals)
            if number in (signal.SIGTERM, signal.SIGINT):
                self._stops = True
                self._tell_all(number)
            elif number == signal.SIGHUP and not self._to_replace and self.live():
                self._to_replace = [*self._processes]
            elif number == signal.SIGCHLD:
                self._reap()
            if number == signal.SIGUSR1 and self._read_ready() and not self._served and self.live() == self.count:
                self._served = True
                announce(next(each.url for each in self._processes.values()))
            if self._start_missing(later=number not in (signal.SIGALRM, signal.SIGHUP, signal.SIGUSR1)):
                signal.pthread_sigmask(signal.SIG_SETMASK, before)
                return
        sys.exit(self._failed)

    def serves(self, url: str) -> None:
        """In a worker: say that it serves, and end when the first process is gone, however that came."""

        def orphaned() -> None:
            asyncio.get_running_loop().remove_reader(self._lifeline[0])
            signal.raise_signal(signal.SIGTERM)

        asyncio.get_running_loop().add_reader(self._lifeline[0], orphaned)
        os.write(self._ready, url.encode())
        with contextlib.suppress(OSError):
            os.kill(os.getppid(), signal.SIGUSR1)

    def _fork(self) -> bool:
        """Returns: whether this is the new process."""
        read, write = os.pipe()
        os.set_blocking(read, False)
        pid = os.fork()
        if pid == 0:
            for number in (read, self._lifeline[1], *(each.ready for each in self._processes.values())):
                os.close(number)
            self._ready = write
            return True
        os.close(write)
        self._processes[pid] = _Process(read)
        return False

    def _start_missing(self, *, later: bool) -> bool:
        """Start the workers that are missing: the first alone, so that what is wrong is said once; those that replace
        others one after the other. Returns: whether this is a new process."""
        if self._stops or self._failed:
            return False
        staying = [each for pid, each in self._processes.items() if pid not in self._retired]
        wanted = self.count + bool(self._to_replace)
        if any(not each.url for each in staying) and (self._to_replace or not self.live()):
            return False
        if later and self._pause > 1.0:
            signal.setitimer(signal.ITIMER_REAL, self._pause / 2)
            return False
        return any(self._fork() for _ in range(wanted - len(staying)))

    def _read_ready(self) -> bool:
        """Note who serves since the last time. Returns: whether any does."""
        found = False
        for each in self._processes.values():
            with contextlib.suppress(BlockingIOError):
                if not each.url and (said := os.read(each.ready, 4096)):
                    each.url, self._pause, found = said.decode(), 1.0, True
                    if self._to_replace:
                        self._retire(self._to_replace.pop(0))
        self._count()
        return found

    def _retire(self, pid: int) -> None:
        if pid in self._processes:
            self._retired.add(pid)
            os.kill(pid, signal.SIGTERM)

    def _reap(self) -> None:
        while self._processes:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                break
            if (gone := self._processes.pop(pid, None)) is None:
                continue
            os.close(gone.ready)
            if pid in self._retired or self._stops:
                self._retired.discard(pid)
                continue
            code = os.waitstatus_to_exitcode(status)
            if not gone.url:
                self._to_replace, self._pause = [], min(self._pause * 2, MAX_PAUSE_SECONDS)
                if not self._served:  # the configuration or the machine is not fit for it
                    self._failed = code if code > 0 else 1
                    self._tell_all(signal.SIGTERM)
                    continue
            elif pid in self._to_replace:
                self._to_replace.remove(pid)
            log.warning("worker_died", pid=pid, code=code, live=self._count())
        self._count()

    def _count(self) -> int:
        live = sum(bool(each.url) for pid, each in self._processes.items() if pid not in self._retired)
        self._live[0] = min(live, 255)
        return live

    def _tell_all(self, number: int) -> None:
        for pid in self._processes:
            os.kill(pid, number)
