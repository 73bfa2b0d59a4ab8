"""Keeps to the limits of a server, as its answers tell them: a request waits, rather than being refused.

One object is for one server and one credential, as the limits of servers are.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections import deque
from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

from doorward import Call, RateLimited

from doorward_http.rate_headers import Told, told

MAX_FIRST_REQUESTS = 4
"""Requests that are in flight before the first answer has told what the limits are."""

FIRST_PATIENCE_SECONDS = 1.0
"""How long further ones wait for that answer: a slow server need not have limits."""

MAX_WAIT_SECONDS = 120.0
"""The longest wait of a request that no call makes: of a compile, or of a connection."""

_SPARE_SECONDS = 0.5
"""Before a run's time is over, a call whose turn has not come gives up: the run may then wait for another time."""

_MAX_WINDOWS = 64
_MAX_ROUTES = 1000
_ORIGIN = re.compile(r"[^/?#]*//[^/?#]*")
_ID = re.compile(r"/(?:[^/]*\d[^/]*)(?=/|$)")


class UpstreamLimits:
    """The limits of one server for one credential. Nothing is learned of a server that tells none."""

    def __init__(self, server: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._server = server
        self._clock = clock
        self._windows: dict[tuple[str, str, bool], _Window] = {}
        self._buckets: dict[tuple[str, str], str] = {}

    def turn(self, method: str, url: str, call: Call | None) -> Turn:
        """A block in which one request of a call is made. It begins when the server will have it: callers wait in
        turns, one of each principal after the other. A request that no call makes, for a document, has turns of its
        own: it may be limited otherwise.

        Raises, when it begins: RateLimited if the call has not that much time.
        """
        origin = _origin(url)
        bucket = self._buckets.get((origin, _route(method, url)), "") if self._buckets else ""
        window = self._windows.get((origin, bucket, call is not None))
        return Turn(self, method, url, window or self._window(origin, bucket, call is not None), call)

    def learn(self, turn: Turn, said: Told | None) -> None:
        """What an answer said. One that names a limit holds for its route from then on."""
        window = turn.window
        if said and said.bucket and self._buckets.get(at := (_origin(turn.url), turn.route)) != said.bucket:
            if len(self._buckets) >= _MAX_ROUTES:
                self._buckets.clear()
            self._buckets[at] = said.bucket
            window.learn(None, turn.began)  # it was no answer of this one
            window = self._window(at[0], said.bucket, turn.of_call)
        window.learn(said, turn.began)

    def _window(self, origin: str, bucket: str, of_call: bool) -> _Window:
        found = self._windows.get((origin, bucket, of_call))
        if found is None:
            if len(self._windows) >= _MAX_WINDOWS:
                idle = [key for key, window in self._windows.items() if not window.busy]
                for key in idle[: _MAX_WINDOWS // 2]:  # the oldest: what is forgotten of a limit is told again
                    del self._windows[key]
            found = self._windows[origin, bucket, of_call] = _Window(self._server, self._clock)
        return found


class Turn:
    """See `UpstreamLimits.turn`. A class, and no generator: one is around every request."""

    __slots__ = ("_call", "_limits", "_method", "began", "url", "window")

    def __init__(self, limits: UpstreamLimits, method: str, url: str, window: _Window, call: Call | None) -> None:
        self._limits, self._method, self._call = limits, method, call
        self.url, self.window = url, window
        self.began = 0.0

    @property
    def route(self) -> str:
        return _route(self._method, self.url)

    @property
    def of_call(self) -> bool:
        return self._call is not None

    async def __aenter__(self) -> Turn:
        if self.window.enter():
            self.began = self.window.clock()
            return self
        came = self.window.clock()
        await self.window.wait(self._call)
        self.began = self.window.clock()
        if self._call is not None:
            details = self._call.details
            details["paced_ms"] = round(float(details.get("paced_ms", 0)) + (self.began - came) * 1000, 1)
        return self

    async def __aexit__(self, *raised: object) -> None:
        self.window.leave()

    def answered(self, status: int, headers: Mapping[str, str]) -> None:
        """Learn from an answer, whose headers have names in small letters."""
        if (said := told(status, headers)) is not None or not self.window.silent:
            self._limits.learn(self, said)


def _origin(url: str) -> str:
    """The beginning of a URL: taken apart in full, it would be what a call waits for here."""
    found = _ORIGIN.match(url)
    return found[0] if found else url


def _route(method: str, url: str) -> str:
    """A request, whatever it is about."""
    return f"{method} {_ID.sub('/*', urlsplit(url).path)}"


class _Waiting:
    __slots__ = ("call", "future")

    def __init__(self, call: Call | None) -> None:
        self.call = call
        self.future: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    @property
    def time_left(self) -> float:
        return MAX_WAIT_SECONDS if self.call is None else self.call.time_left


class _Window:
    """One limit. `_left` is what the server said last; requests in flight may not be counted in that yet, so that many
    fewer are sent. `None`: it said nothing."""

    def __init__(self, server: str, clock: Callable[[], float]) -> None:
        self._server = server
        self.clock = clock
        self._patience = clock() + FIRST_PATIENCE_SECONDS
        self._is_known = self._tells = False
        self._left: int | None = None
        self._learned = 0.0
        self._renewed: float | None = None
        self._limit: int | None = None
        self._flying = 0
        self._waiting: dict[str, deque[_Waiting]] = {}
        self._timer: asyncio.TimerHandle | None = None

    @property
    def silent(self) -> bool:
        """Whether its server has answered, and told of no limit: most tell of none."""
        return self._is_known and self._left is None and self._renewed is None

    @property
    def busy(self) -> bool:
        return bool(self._flying or self._waiting)

    def enter(self) -> bool:
        """Count a request, if it may be made at once."""
        if self._waiting or not (self.silent or self._has_room()):
            return False
        self._flying += 1
        return True

    async def wait(self, call: Call | None) -> None:
        """Count a request as soon as it may be made. Raises: RateLimited."""
        one = _Waiting(call)
        if late := self._late(one):
            raise late
        who = call.principal if call else ""
        queue = self._waiting.setdefault(who, deque())
        queue.append(one)
        self._admit()
        try:
            await self._turn_of(one)
        except asyncio.CancelledError:
            if one.future.done() and not one.future.cancelled() and one.future.exception() is None:
                self.leave()  # it was admitted at the very moment
            elif one in queue:
                queue.remove(one)
            raise

    async def _turn_of(self, one: _Waiting) -> None:
        """Raises: RateLimited if others are before this one for longer than its run has time."""
        if one.call is None:
            return await one.future
        spare = min(_SPARE_SECONDS, one.call.time_left / 10)
        while not one.future.done() and (left := one.call.time_left - spare) > 0:
            await asyncio.wait([one.future], timeout=left)  # the clock of a run may stand still meanwhile
        if not one.future.done():
            wait = max(0.0, (self._renewed or 0.0) - self.clock()) + one.call.time_left + 1
            one.future.set_exception(self._refused(wait, one.call.time_left))
        return one.future.result()

    def leave(self) -> None:
        """A request is over."""
        self._flying -= 1
        if self._waiting or self._timer is not None:
            self._admit()

    def learn(self, said: Told | None, began: float) -> None:
        """Take what the answer to a request said that `began` then."""
        self._is_known = True
        if said is None:
            if self._renewed is None and not self._tells:
                self._left = None
            return
        self._tells = self._tells or not said.is_refusal
        now = self.clock()
        if self._left is None or began >= self._learned:
            self._left = said.remaining
        else:  # it was under way when another answer told: which of them is newer nobody knows
            self._left = min(self._left, said.remaining or 0)
        self._learned = now
        self._limit = said.limit if said.limit is not None else self._limit
        self._renewed = None if said.reset is None else now + said.reset
        for queue in self._waiting.values():
            for one in queue:
                if (late := self._late(one)) and not one.future.done():
                    one.future.set_exception(late)

    def _has_room(self) -> bool:
        now = self.clock()
        if self._renewed is not None and now >= self._renewed:
            self._renewed, self._left, self._learned = None, self._limit or 1, now
        if self._left is not None:
            return self._flying < self._left
        return self._is_known or self._flying < MAX_FIRST_REQUESTS or now >= self._patience

    def _late(self, one: _Waiting) -> RateLimited | None:
        """The error for a request that would have to wait longer than it may."""
        if self._left != 0 or self._renewed is None:
            return None
        wait, left = self._renewed - self.clock(), one.time_left
        if wait <= left:
            return None
        return self._refused(wait, left)

    def _refused(self, wait: float, left: float) -> RateLimited:
        return RateLimited(
            f"{self._server} takes no more requests for {wait:.0f} s, and this run has {left:.0f} s left",
            retry_after=wait,
            hint=f"Try again in {wait:.0f} s, or ask for a longer `timeout`. The limit is that of {self._server}.",
        )

    def _admit(self) -> None:
        """Let in those who wait, as many as there is room for: one of each principal after the other."""
        while self._waiting and self._has_room():
            who = next(iter(self._waiting))
            queue = self._waiting.pop(who)
            one = queue.popleft() if queue else None
            if queue:
                self._waiting[who] = queue
            if one and not one.future.done():
                self._flying += 1
                one.future.set_result(None)
        self._set_timer()

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._waiting:
            now = self.clock()
            # Where no time is known, the next answer says more; if none is under way, one request asks.
            at = self._renewed if self._left is not None else self._patience
            if at is None and not self._flying:
                self._renewed = at = now + FIRST_PATIENCE_SECONDS
            if at is not None:
                self._timer = asyncio.get_running_loop().call_later(max(0.0, at - now), self._admit)
