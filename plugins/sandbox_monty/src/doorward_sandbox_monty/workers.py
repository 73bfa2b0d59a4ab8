"""Monty's workers: each is checked out for one run or one session, and one is kept ready for the next run.

Giving a worker back and taking the next one takes half a millisecond. Nobody waits for that: it happens after the
answer has been sent. A worker is always reset before it serves another client.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import pydantic_monty as monty
from doorward import Busy, ExecutorError, Limits

from doorward_sandbox_monty.modules import Modules
from doorward_sandbox_monty.processes import Processes
from doorward_sandbox_monty.repeats import POLICY
from doorward_sandbox_monty.steps import Steps

if TYPE_CHECKING:
    from doorward_sandbox_monty.settings import MontySettings

_HAND_BACK_DELAY_SECONDS = 0.001
"""A pause in which the answer is sent first."""


_PRINT_FLUSH_SECONDS = 0.001
"""How long a worker may hold printed text, which is lost if it is killed. Sending each line at once would let a program
that only prints keep this process busy."""

_LATER_SECONDS = 2.0
"""How long after the host a worker ends a program by itself: the host says more of it."""

_NO_LIMIT = 1_000_000_000
"""The sandbox counts itself how often a program asks: what clocks and chance are asked costs us next to nothing."""

_EXIT_DELAY_SECONDS = 0.1
"""How long the interpreter waits before it exits. Monty's threads release Python objects after the last run
(pydantic-monty 1.4); a thread that does so while the interpreter is being torn down aborts the process."""


@dataclass
class Worker:
    """A worker that is checked out: its Monty session, the modules that it may import, its process, its limits and the
    thread of its steps."""

    session: Any
    modules: Modules
    pid: int | None
    limits: Limits
    processes: Processes
    steps: Steps
    ahead: bool = False
    prepared: bool = False  # `api_errors.PRELUDE` has run
    on_death: Callable[[], None] = lambda: None

    def watch(self) -> None:
        """Make sure that the worker does not outlive this process, and notice its death at once if the
        system can tell (Linux)."""
        if self.pid is not None:
            self.processes.use(self.pid, self.died)

    def died(self) -> None:
        """Its process is gone: from now on nobody may send a signal to that process id."""
        if self.pid is not None:
            self.processes.gone(self.pid)
        self.pid = None
        self.on_death()

    async def leave(self) -> None:
        """Reset the worker and give it back; the pool replaces one that is gone."""
        if self.pid is not None:
            self.processes.leave(self.pid)  # before another run may take it
        with contextlib.suppress(monty.MontyError):
            await self.steps.take(lambda: self.session.__exit__(None, None, None))


@cache
def _settle_at_exit() -> None:
    atexit.register(time.sleep, _EXIT_DELAY_SECONDS)


class Workers:
    """The pool of workers, which starts with the first program."""

    def __init__(self, settings: MontySettings) -> None:
        self._settings = settings
        self._pool: monty.Monty | None = None
        self._starting: asyncio.Task[monty.Monty] | None = None
        self._processes = Processes()
        self._ahead: asyncio.Task[Worker] | None = None
        self._behind: set[asyncio.Task[None]] = set()
        self._idle: list[Steps] = []

    async def take(self, limits: Limits, *, session: bool = False) -> Worker:
        """A worker that nobody else has used since it was reset. Raises: ExecutorError."""
        ahead, self._ahead = self._ahead, None
        if ahead is not None:
            with contextlib.suppress(ExecutorError):
                try:
                    worker = await asyncio.shield(ahead)
                except asyncio.CancelledError:
                    self._later(self._leave_ahead(ahead))
                    raise
                if worker.limits == limits and not session:
                    worker.ahead = True
                    return worker
                await self._leave(worker)  # before another is requested: this may be the last one
        return await self.check_out(limits, session=session)

    async def check_out(self, limits: Limits, *, session: bool = False) -> Worker:
        """A worker from the pool. Raises: Busy if none gets free in time, ExecutorError if Monty does not start."""
        try:
            pool = await self._started()
            steps = self._idle.pop() if self._idle else Steps()
            modules = Modules(everything=session, stubs=self._settings.type_check, ask=steps.ask)
            checked_out = pool.checkout(
                script_name="program.py",
                limits={
                    # Each run of a session has its own deadline; that of a single run is known here.
                    "max_feed_duration_secs": _LATER_SECONDS + (limits.max_timeout if session else limits.timeout),
                    "max_memory": limits.memory_bytes,
                    "max_suspensions": _NO_LIMIT,
                },
                type_check=self._settings.type_check,
                type_check_format="concise",
                print_flush_interval=_PRINT_FLUSH_SECONDS,
                os_policy=POLICY,
                external_modules=modules,
            )
            await self._entered(checked_out, steps)
        except TimeoutError as error:
            raise Busy(
                "all Monty workers are busy", hint="Try again, end sessions, or set [executors.monty] workers."
            ) from error
        except (monty.MontyError, OSError, RuntimeError) as error:
            raise ExecutorError(
                f"Monty does not start: {error}", hint="Reinstall pydantic-monty; its worker must be executable."
            ) from error
        worker = Worker(checked_out, modules, checked_out.worker_pid, limits, self._processes, steps)
        worker.watch()
        return worker

    async def _entered(self, checked_out: Any, steps: Steps) -> None:
        """Enter a session of Monty. Whoever is cancelled meanwhile leaves it to us to give its worker back."""
        entering = steps.take(checked_out.__enter__)
        try:
            await asyncio.shield(entering)
        except asyncio.CancelledError:
            self._later(self._unwanted(entering, checked_out, steps))
            raise
        except BaseException:
            self._idle.append(steps)
            raise

    async def _unwanted(self, entering: asyncio.Future[Any], checked_out: Any, steps: Steps) -> None:
        with contextlib.suppress(monty.MontyError, OSError, RuntimeError, TimeoutError):
            await entering
            await steps.take(lambda: checked_out.__exit__(None, None, None))
        self._idle.append(steps)

    def give_back(self, worker: Worker, *, next_too: bool) -> None:
        """Reset a worker once the answer has been sent; with `next_too`, check out the next
        one with the same limits."""
        self._later(self._turn_over(worker, next_too))

    async def close(self) -> None:
        """End all workers."""
        while self._behind:
            await asyncio.wait(self._behind)
        if self._ahead is not None:
            await self._leave_ahead(self._ahead)
            self._ahead = None
        if self._starting is not None:
            await asyncio.wait([self._starting])
        if self._pool is not None:
            pool, self._pool = self._pool, None
            await asyncio.to_thread(pool.__exit__, None, None, None)
        for steps in self._idle:
            steps.stop()
        self._idle.clear()
        self._processes.close()

    async def _started(self) -> monty.Monty:
        """The pool, started once, whoever waits for it."""
        if self._pool is not None:
            return self._pool
        if self._starting is None:
            self._starting = asyncio.ensure_future(self._start())
        return await asyncio.shield(self._starting)

    async def _start(self) -> monty.Monty:
        pool = monty.Monty(min_processes=1, max_processes=self._settings.workers, checkout_timeout=self._settings.wait)
        try:
            self._pool = await asyncio.to_thread(pool.__enter__)
        finally:
            self._starting = None
        _settle_at_exit()
        return self._pool

    async def _turn_over(self, worker: Worker, next_too: bool) -> None:
        await asyncio.sleep(_HAND_BACK_DELAY_SECONDS)
        await self._leave(worker)
        if next_too and self._ahead is None and self._settings.workers > 1:
            self._ahead = asyncio.ensure_future(self.check_out(worker.limits))

    async def _leave(self, worker: Worker) -> None:
        await worker.leave()
        self._idle.append(worker.steps)

    async def _leave_ahead(self, ahead: asyncio.Task[Worker]) -> None:
        with contextlib.suppress(ExecutorError):
            await self._leave(await ahead)

    def _later(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._behind.add(task)
        task.add_done_callback(self._behind.discard)
