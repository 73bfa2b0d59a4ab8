"""One server, as the source sees it: connected by the first call, kept connected while it is used, and connected anew
when the connection is lost."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from textwrap import indent
from typing import TYPE_CHECKING, Any, Literal

from doorward import LOCAL, ApiError, Call, DoorwardError, LimitExceeded, ServerContext, ServerError, Suggestion
from doorward.values import clean_text, quoted
from doorward_http import error_text

from doorward_mcp_upstream.breaker import CircuitBreaker
from doorward_mcp_upstream.connections.flights import Flights
from doorward_mcp_upstream.connections.listing import Listing
from doorward_mcp_upstream.connections.pace import Pace
from doorward_mcp_upstream.connections.settings import MCPSettings
from doorward_mcp_upstream.connections.stderr import StderrLog
from doorward_mcp_upstream.connections.troubles import Refusal, Trouble

if TYPE_CHECKING:
    from doorward_mcp_upstream.connections.connection import Connection
    from doorward_mcp_upstream.connections.wire import Wire

__all__ = ["Listing", "Opener", "Upstream"]

Transport = Literal["stdio", "http", "sse", "given"]
Opener = Callable[[], contextlib.AbstractAsyncContextManager["Wire"]]
"""Opens a wire to a server that is reached in another way than by the settings of the source `mcp`."""

_DEBOUNCE_SECONDS, _MAX_DEBOUNCE_SECONDS = 0.3, 60.0
"""Seconds for which a change waits for further ones before it is told: doubled each time, until the server has been
quiet for the longest time."""
_MAX_ATTEMPTS = 3
_PAUSE_SECONDS = 0.2
"""Seconds before the third attempt: the second may have failed for the same reason as the first."""
_PROBE_SECONDS = 10.0
"""Seconds that a process has for its answer to a ping, after a call was given up."""
_MAX_ERROR_CHARACTERS = 2**16
"""Characters of a server's error that are kept. Far more than is shown: the core removes credentials, then cuts."""
_HEADER_MISMATCH_CODE = -32020
"""A server misses arguments in headers: its tools have changed (MCP 2026-07-28, streamable HTTP)."""
_URL_ELICITATION_CODE = -32042
"""A person has to visit a page first (MCP 2025-11-25, elicitation, URL mode)."""
_PAGE_URL = re.compile(r"https?://[\x21-\x7e]{1,2000}")
_OLDER_TRANSPORT_STATUSES = (400, 404, 405)
"""Answers of servers with the older transport to the newer one (2025-11-25, transports, backwards compatibility)."""


class Upstream:
    """One server. Any task may use it.

    The SDK's session belongs to a task of its own, the owner: the task that enters it has to leave it, and an error of
    the network cancels that task. So it must not be a caller's.
    """

    def __init__(self, context: ServerContext[MCPSettings], wired: Opener | None = None) -> None:
        self._wired = wired
        self._context = replace(context, auth=functools.cache(context.auth))
        self._settings = context.settings
        self._flights = Flights()
        self._breaker = CircuitBreaker()
        self._pace = Pace(context.name, context.settings.url)
        self._log = StderrLog(context.state / "stderr.log", context.scrub)
        self._connection: Connection | None = None
        self._open: set[Connection] = set()
        """The connection, and those that are retired."""
        self._opening: asyncio.Future[Connection] | None = None
        self._opener: asyncio.Task[None] | None = None
        self._owners: set[asyncio.Task[None]] = set()
        self._probe: asyncio.Task[None] | None = None
        self._telling: asyncio.TimerHandle | None = None
        self._patience = _DEBOUNCE_SECONDS
        self._told_at = float("-inf")
        self._transport: Transport | None = "given" if wired is not None else self._settings.transport
        self._closed = False

    async def listing(self, *, fresh: bool = False, era: str = "", principal: str = LOCAL) -> Listing:
        """The listing of the server, read once per connection and again after changes. Connects if need be; `era` is
        the protocol that was spoken last, which saves a question; `principal` is who gets an error.

        Raises: ServerError.
        """
        for last in (False, True):
            since = time.monotonic()
            connection = None
            try:
                connection = await self._connected(era)
                return await connection.listing(fresh=fresh)
            except Trouble as trouble:
                if last or not trouble.passing or connection is None:
                    raise await self._error("tools/list", trouble, connection, principal) from None
                self._lost(connection, trouble, since)
            except Refusal as refusal:
                raise self._refused("tools/list", refusal) from None
        raise AssertionError  # the last attempt returns or raises

    async def request(
        self, method: str, params: Mapping[str, Any], *, call: Call | None = None, era: str = "", safe: bool = False
    ) -> Mapping[str, Any]:
        """Make a request, and return the result as it was on the wire. Connects if need be; `era` is the protocol that
        was spoken last, which saves a question.

        Questions of the server and progress go to `call.client`. Cancelling this cancels the request at the server,
        too. If the connection is lost, a request that is `safe` or was never sent is repeated, at most twice. A call
        waits for its turn, where the server limits requests. Raises: ServerError, with the last lines of the server's
        standard error; LimitExceeded.
        """
        if call is not None and call.trace:  # the place that MCP has for the context of a trace
            params = {**params, "_meta": {**params.get("_meta", {}), **call.trace}}
        principal = call.principal if call is not None else LOCAL
        relisted, attempts = False, 0
        since = time.monotonic()
        while True:
            connection = None
            try:
                if not attempts:
                    self._breaker.check()
                attempts += 1
                connection = await self._connected(era)
                async with self._pace.turn(call), self._flights.one(call, self._settings.timeout) as flight:
                    try:
                        result = await connection.send(method, params, flight)
                    except asyncio.CancelledError:  # its time is over, or nobody waits for it any more
                        self._check_alive(connection)
                        raise
                self._breaker.succeeded()
                return result
            except Trouble as trouble:
                if connection is not None:
                    self._lost(connection, trouble, since)
                if (
                    attempts == _MAX_ATTEMPTS
                    or connection is None
                    or not trouble.passing
                    or (trouble.sent and not safe)
                ):
                    raise await self._error(method, trouble, connection, principal) from None
                await asyncio.sleep(_PAUSE_SECONDS * (attempts - 1))
            except Refusal as refusal:
                self._breaker.succeeded()
                if refusal.code != _HEADER_MISMATCH_CODE or relisted or connection is None:
                    raise self._refused(method, refusal) from None
                relisted = True
                await self.listing(fresh=True, principal=principal)

    async def close(self) -> None:
        """Disconnect, and end the server if it was started here."""
        self._closed = True
        if self._telling is not None:
            self._telling.cancel()
        for connection in self._open:
            connection.ended.set()
        if self._opener is not None and self._opening is not None:
            self._opener.cancel()
        if self._probe is not None:
            self._probe.cancel()
        await asyncio.gather(*self._owners, return_exceptions=True)

    async def _connected(self, era: str) -> Connection:
        """Raises: Trouble, DoorwardError."""
        if self._closed:
            raise Trouble("it is disconnected for good", sent=False)
        if self._connection is not None and self._connection.usable:
            return self._connection
        if self._opening is None:
            self._breaker.check()
            self._opening = asyncio.get_running_loop().create_future()
            # Perhaps nobody waits any more: the exception is looked at here, so that asyncio does not complain.
            self._opening.add_done_callback(lambda done: done.cancelled() or done.exception())
            self._opener = asyncio.create_task(
                self._own(self._opening, era), name=f"doorward upstream {self._context.name}"
            )
            self._owners.add(self._opener)
            self._opener.add_done_callback(self._owners.discard)
        return await asyncio.shield(self._opening)

    async def _own(self, opening: asyncio.Future[Connection], era: str) -> None:
        """Open a session, keep it until it is over, and leave it: all in this task."""
        from doorward_mcp_upstream.connections.opening import explained, opened

        since = time.monotonic()
        this = asyncio.current_task()
        assert this is not None
        late = False

        def too_late() -> None:
            nonlocal late
            late = True
            this.cancel()

        timer = asyncio.get_running_loop().call_later(self._settings.start_timeout, too_late)
        failure: Exception = Trouble("it is disconnected", sent=False)
        try:
            for transport in self._transports():
                try:
                    with self._context.holding():
                        async with opened(
                            transport,
                            self._context,
                            self._log,
                            self._flights,
                            self._pace,
                            self._tell,
                            era,
                            self._wired,
                        ) as connection:
                            timer.cancel()
                            self._transport, self._connection, self._opening = transport, connection, None
                            opening.set_result(connection)
                            self._open.add(connection)
                            try:
                                await self._over(connection)
                            finally:
                                self._open.discard(connection)
                except Exception as error:
                    if transport != "sse" or self._transport is not None:
                        failure = explained(error, self._context)
                if opening.done() or getattr(failure, "status", 0) not in _OLDER_TRANSPORT_STATUSES:
                    return
        except asyncio.CancelledError:
            if late:
                hint = f"If it needs longer, set `start_timeout` of [servers.{self._context.name}]."
                failure = Trouble(f"it did not start within {self._settings.start_timeout:g} seconds", hint, sent=False)
        finally:
            timer.cancel()
            if self._connection is not None and self._connection.ended.is_set():
                self._connection = None
            if not opening.done():
                self._opening = None
                # A server that answers anything, if only 401, is there.
                if isinstance(failure, Trouble) and not failure.status:
                    self._breaker.failed(str(failure), since)
                opening.set_exception(failure)

    def _transports(self) -> list[Transport]:
        if self._transport is not None:
            return [self._transport]
        return ["stdio"] if self._settings.is_started else ["http", "sse"]

    async def _over(self, connection: Connection) -> None:
        """Wait until the connection has ended, or was idle for too long."""
        idle = self._settings.idle
        self._flights.last = time.monotonic()
        while not connection.ended.is_set():
            left = self._flights.last + idle - time.monotonic() if idle and not self._flights else idle
            if idle and left <= 0:
                connection.ended.set()  # from here on, a call opens another
                break
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(left or None):
                    await connection.ended.wait()
        if self._connection is connection:
            self._connection = None

    def _lost(self, connection: Connection, trouble: Trouble, since: float) -> None:
        if trouble.passing and not trouble.status:
            self._breaker.failed(str(trouble), since)
        if trouble.gone and trouble.status:  # a session that is forgotten, and a server that answers
            connection.retire()
        elif trouble.gone:
            connection.ended.set()

    def _check_alive(self, connection: Connection) -> None:
        """A call was given up: end a process that answers nothing at all any more, so that the next call starts it
        anew."""
        if self._settings.is_started and self._probe is None and not connection.ended.is_set():
            self._probe = asyncio.create_task(self._probed(connection), name=f"doorward probe {self._context.name}")
            self._owners.add(self._probe)
            self._probe.add_done_callback(self._probe_ended)

    async def _probed(self, connection: Connection) -> None:
        earlier = self._flights.under_way()
        answer = asyncio.create_task(connection.ping())
        ended = asyncio.create_task(connection.ended.wait())
        try:
            await asyncio.wait([answer, ended], timeout=_PROBE_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            # A server that does one thing after the other may be at work for another call: that one has its own limit.
            while not answer.done() and not ended.done() and self._flights.under_way() & earlier:
                await asyncio.wait([answer, ended], timeout=1, return_when=asyncio.FIRST_COMPLETED)
            if not answer.done():
                connection.ended.set()
        finally:
            answer.cancel()
            ended.cancel()
            await asyncio.gather(answer, ended, return_exceptions=True)

    def _probe_ended(self, task: asyncio.Task[None]) -> None:
        self._probe = None
        self._owners.discard(task)

    def _tell(self) -> None:
        """Tell core that the functions have changed: once for a burst of changes, and ever later if they go on."""
        if self._telling is None and not self._closed:
            quiet = time.monotonic() - self._told_at > _MAX_DEBOUNCE_SECONDS
            self._patience = _DEBOUNCE_SECONDS if quiet else min(self._patience * 2, _MAX_DEBOUNCE_SECONDS)
            self._telling = asyncio.get_running_loop().call_later(self._patience, self._told)

    def _told(self) -> None:
        self._telling, self._told_at = None, time.monotonic()
        self._context.changed()

    async def _error(
        self, method: str, trouble: Trouble, connection: Connection | None, principal: str
    ) -> DoorwardError:
        """The error for the caller: what went wrong, why, and what the server itself said last."""
        message = f"{self._context.name} ({method}): {clean_text(trouble.message)[:_MAX_ERROR_CHARACTERS]}"
        hint = trouble.hint
        if connection is not None and connection.ended.is_set() and (why := await connection.why()):
            message += f": {why}"
        if trouble.limit:
            return LimitExceeded(message, hint=hint or "Ask for less, or give the run more time.")
        if trouble.sent and trouble.passing and method == "tools/call":  # nothing else changes anything
            hint = (
                f"{hint} It may have been done or not; it is not repeated unless the function is known to be safe to "
                "repeat."
            ).strip()
        if said := self._log.tail():
            if principal != self._context.principal:  # these lines may hold what others sent
                where = f"servers/{self._context.state.name}/stderr.log below the state folder"
                hint = f"{hint} The operator finds what it wrote to its standard error in {where}.".strip()
            else:
                message += ". Its standard error said last:\n" + indent(said, "> ")
        if trouble.status == 429:
            return ApiError(message, status=429, retry_after=trouble.retry_after, hint=hint or "Try again later.")
        error = ServerError(message, hint=hint or None)
        if trouble.oauth:
            error.auth = [
                Suggestion([{"type": "oauth2"}], f"OAuth with a login, by `doorward login {self._context.name}`")
            ]
        return error

    def _refused(self, method: str, refusal: Refusal) -> ServerError:
        hint, said = None, {"message": refusal.message, "detail": refusal.data}  # many say there what is wrong
        if refusal.code == _URL_ELICITATION_CODE and isinstance(refusal.data, dict):
            asked = refusal.data.get("elicitations")
            urls = [each.get("url") for each in asked if isinstance(each, dict)] if isinstance(asked, list) else []
            pages = [quoted(url) for url in urls[:5] if isinstance(url, str) and _PAGE_URL.fullmatch(url)]
            hint = f"Its server wants a person to open {' and '.join(pages)} first." if pages else None
            del said["detail"]
        told = error_text(said) if refusal.message or refusal.data else quoted("")
        return ServerError(
            f"{self._context.name} ({method}) answered with an error: {told} (code {refusal.code})", hint=hint
        )
