"""Sandboxes that keep their variables between runs, each owned by one principal, ended by time or by hand."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import anyio

from doorward.errors import ExecutorError, LimitExceeded, UnknownName, Unsupported

if TYPE_CHECKING:
    from doorward.door import RunDoor
    from doorward.drivers import Executor, Sandbox
    from doorward.types import Ended, Program


class Session:
    """One sandbox for the runs of one principal, one run at a time."""

    def __init__(self, principal: str) -> None:
        self.id = secrets.token_urlsafe(16)
        self.principal = principal
        self.executor = ""
        self.used = 0.0
        self.dead = False
        self.used_before = False
        self._sandbox: Sandbox | None = None
        self._lock = anyio.Lock()

    @property
    def busy(self) -> bool:
        return self._lock.locked()

    async def run(self, executor: Executor, name: str, program: Program, door: RunDoor) -> Ended:
        """Run in this session's sandbox, opened at its first run. A run that is cancelled or kills its sandbox ends
        the session: its variables are gone."""
        async with self._lock:
            if self._sandbox is None:
                if not executor.capabilities().sessions:
                    raise Unsupported("it keeps no sessions")
                self._sandbox, self.executor = await executor.open(program, session=True), name
            try:
                ended = await self._sandbox.run(program, door)
                self.used_before = True
                return ended
            except Unsupported:
                if not self.used_before:  # the next executor may take the session
                    await self.close()
                    self._sandbox, self.executor = None, ""
                raise
            except ExecutorError as error:
                self.dead = True
                raise ExecutorError(f"{error}; the session and its variables are gone", hint='Start anew with session_id="new".') from None
            except BaseException:
                self.dead = True
                raise

    async def close(self) -> None:
        if self._sandbox is not None:
            await self._sandbox.close()


class Sessions:
    """The open sessions. Ids cannot be guessed, and work for their principal only."""

    def __init__(self, *, most: int, idle: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = most
        self._idle = idle
        self._clock = clock
        self._open: dict[str, Session] = {}

    async def get(self, session_id: str, principal: str) -> Session:
        """The session of this id, or a new one for `"new"`.

        Raises: UnknownName; LimitExceeded if the principal has too many.
        """
        await self.sweep()
        if session_id == "new":
            mine = [s for s in self._open.values() if s.principal == principal]
            if len(mine) >= self._most:
                hint = f"Go on with one of them; each ends when it is unused for {self._idle:g} s."
                raise LimitExceeded(f"{len(mine)} sessions are open, no more are allowed", hint=hint)
            session = Session(principal)
            self._open[session.id] = session
        else:
            found = self._open.get(session_id)
            if found is None or found.principal != principal:
                raise UnknownName(f"there is no session {session_id[:80]!r} (any more)", hint='Open one with session_id="new".')
            session = found
        session.used = self._clock()
        return session

    async def sweep(self) -> None:
        """End sessions that are dead or unused for too long."""
        for session in list(self._open.values()):
            if session.dead or (not session.busy and session.used and self._clock() - session.used > self._idle):
                await self.end(session.id)

    async def end(self, session_id: str) -> None:
        session = self._open.pop(session_id, None)
        if session is not None:
            await session.close()

    async def close(self) -> None:
        for session_id in list(self._open):
            await self.end(session_id)
