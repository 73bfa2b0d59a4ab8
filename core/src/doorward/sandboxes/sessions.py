"""Sandboxes that keep their variables between runs. Each belongs to one principal, who can end it; unused ones end."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import anyio

from doorward.access.slots import NOTICE_SECONDS
from doorward.data.languages import PYTHON
from doorward.model.errors import (
    Busy,
    ExecutorError,
    InvalidArguments,
    LimitExceeded,
    SandboxDied,
    UnknownName,
    Unsupported,
)

if TYPE_CHECKING:
    from doorward.host.processes import Process
    from doorward.model.executors import Door, Sandbox
    from doorward.model.programs import Program, ProgramResult
    from doorward.sandboxes.executors import Executors


NEW_SESSION_HINT = 'Start anew with session_id="new".'


def gone(hint: str | None) -> str:
    """A hint with the addition that the session is over."""
    return f"{hint or ''} The session and its variables are gone.".lstrip()


class Session:
    """One sandbox for the runs of one principal, one run at a time."""

    def __init__(self, principal: str, language: str = PYTHON, process: str = "") -> None:
        self.language = language
        self.id = process + secrets.token_urlsafe(16)
        self.principal = principal
        self.executor = ""
        self.used = 0.0
        self.dead = False
        self.used_before = False
        self._begun = False
        self._sandbox: Sandbox | None = None
        self._lock = anyio.Lock()

    @property
    def busy(self) -> bool:
        return self._lock.locked()

    def begin(self, program: Program) -> Program:
        """A program as the next of this session: only the first has its names for itself."""
        program, self._begun = replace(program, continues=self._begun), True
        return program

    async def run(self, executors: Executors, name: str, program: Program, door: Door) -> ProgramResult:
        """Run in this session's sandbox, which the first run opens. A run that is cancelled, meets a limit or loses its
        sandbox ends the session; the error says that its variables are gone."""
        async with self._turn(program):
            if self.dead:
                raise UnknownName("the session has ended", hint=NEW_SESSION_HINT)
            if self._sandbox is None:
                if not executors.capabilities(name).sessions:
                    raise Unsupported("it keeps no sessions")
                self._sandbox, self.executor = await executors.open(name, program, session=True), name
            try:
                if self.dead:  # it was closed while its sandbox opened
                    raise UnknownName("the session has ended", hint=NEW_SESSION_HINT)
                ended = await self._sandbox.run(program, door)
                self.used_before = True
                return ended
            except Unsupported:
                if not self.used_before:  # the next executor may take the session
                    await self._sandbox.close()
                    self._sandbox, self.executor = None, ""
                raise
            except InvalidArguments:  # a file does not exist: nothing has run
                raise
            except ExecutorError as error:
                died = (
                    "the session was closed while the program ran"
                    if self.dead
                    else f"{error}; the session and its variables are gone"
                )
                self.dead = True
                raise SandboxDied(died, hint=NEW_SESSION_HINT) from None
            except BaseException as error:
                self.dead = True
                if isinstance(error, LimitExceeded):
                    error.hint = gone(error.hint)
                raise
            finally:
                if self.dead:  # others may wait for its slot
                    with anyio.CancelScope(shield=True):
                        await self.close()

    @contextlib.asynccontextmanager
    async def _turn(self, program: Program) -> AsyncIterator[None]:
        """Wait until no other run of this session is active.

        Raises: Busy if one still is shortly before this run's time ends.
        """
        try:
            self._lock.acquire_nowait()
        except anyio.WouldBlock:
            with anyio.move_on_after(program.deadline - time.monotonic() - NOTICE_SECONDS) as waiting:
                await self._lock.acquire()
            if waiting.cancelled_caught:
                hint = "Nothing has run: wait for it, or open another session."
                raise Busy("the session is busy: another run of it has not ended", hint=hint) from None
        try:
            yield
        finally:
            self._lock.release()

    def end_after_run(self) -> None:
        """End the session after its current run."""
        self.dead = True

    async def close(self) -> None:
        """End the session, and a program that runs in it."""
        self.dead = True
        if self._sandbox is not None:
            await self._sandbox.close()


class Sessions:
    """The open sessions. Ids cannot be guessed, and work for their principal only."""

    def __init__(
        self, *, most: int, idle: float, clock: Callable[[], float] = time.monotonic, process: Process | None = None
    ) -> None:
        self._most = most
        self._process = process
        self._idle = idle
        self._clock = clock
        self._open: dict[str, Session] = {}

    def language(self, session_id: str, principal: str) -> str:
        """The language of the session of this id; "" for none and for a new one. Raises: UnknownName."""
        return "" if not session_id or session_id == "new" else self.find(session_id, principal).language

    async def get(self, session_id: str, principal: str, language: str = PYTHON) -> Session:
        """The session of this id, or a new one for `"new"`, whose programs are of this language.

        Raises: UnknownName; LimitExceeded if the principal has too many.
        """
        await self.sweep()
        if session_id != "new":
            session = self.find(session_id, principal)
        else:
            mine = [s for s in self._open.values() if s.principal == principal]
            if len(mine) >= self._most:
                hint = f"Go on with one of them; each ends when it is unused for {self._idle:g} s."
                raise LimitExceeded(f"{len(mine)} sessions are open, no more are allowed", hint=hint)
            session = Session(principal, language, self._process.id if self._process else "")
            self._open[session.id] = session
        session.used = self._clock()
        return session

    def find(self, session_id: str, principal: str) -> Session:
        """An open session. Raises: UnknownName."""
        session = self._open.get(session_id)
        if session is None and self._process is not None and self._process.knows(session_id):
            raise UnknownName(
                f"the session {session_id[:80]!r} belongs to another process that shares this state folder",
                hint='Sessions stay in their process: ask that one, or open one here with session_id="new".',
            )
        if session is None or session.principal != principal:
            raise UnknownName(
                f"there is no session {session_id[:80]!r} (any more)", hint='Open one with session_id="new".'
            )
        return session

    async def sweep(self) -> None:
        """End sessions that are dead or unused for too long; all at once, since opening a session waits for this."""
        over = [s for s in self._open.values() if not s.busy and (s.dead or self._clock() - s.used > self._idle)]
        await asyncio.gather(*map(self.end, over))

    async def leave(self, session: Session) -> None:
        """Note the end of a run. The session ends if the run ended it; otherwise it is unused from now on."""
        session.used = self._clock()
        if session.dead:
            await self.end(session)

    async def end(self, session: Session) -> None:
        if self._open.pop(session.id, None):
            await session.close()

    async def close(self) -> None:
        await asyncio.gather(*map(self.end, [*self._open.values()]))
