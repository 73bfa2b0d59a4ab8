"""Progress and requests from the calls of a run to its client.

Progress of all calls is added up and bounded. The run's clock stops while the client is asked.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from typing import Any

import anyio

from doorward.data.clean_text import clean_text
from doorward.data.json_writing import exceeds
from doorward.model.calls import Client, LearnsRun
from doorward.model.clock import Clock
from doorward.model.errors import LimitExceeded, ServerError

METHODS = ("elicitation/create", "sampling/createMessage")
"""The requests that a client can get."""

_MAX_MESSAGE_CHARS = 1000
"""Characters of a progress message."""

_MAX_QUESTION_CHARS = 4000
"""Characters of a question to a person: the name of the server that asks must stay in sight."""

_MAX_QUESTION_PARTS = 10_000
"""Values in a question, its form included."""

_SHOWN_FIELDS = ("message", "title", "description")
"""The fields of a question that a person reads."""

_FREE_REPORTS = 100
"""Progress reports that a run may send without a pause between them."""

_PAUSE_SECONDS = 0.1
"""Seconds between later progress reports."""


class RunClient:
    """One client for all calls of a run."""

    def __init__(self, client: Client, clock: Clock, patience: float) -> None:
        self._client = client
        self._clock = clock
        self._patience = patience
        self._calls: dict[object, tuple[float, float | None]] = {}
        self._told = 0
        self._last = 0.0

    async def run_stored(self, run: str) -> None:
        """Tell the client that its run can be resumed, if it wants to know."""
        if isinstance(self._client, LearnsRun):
            await self._client.run_stored(run)

    def of_call(self, server: str, scrub: Callable[[Any], Any]) -> Client:
        """The client for one call to a server. `scrub` takes secrets out of everything sent to it."""
        return _CallClient(self, server, scrub)

    async def progress(self, call: object, done: float, total: float | None, message: str) -> None:
        """Report the progress of all calls together, and its total if every call has given one."""
        if not _amount(done):
            return
        self._calls[call] = done, total if _amount(total) else None
        now = time.monotonic()
        if self._told >= _FREE_REPORTS and now - self._last < _PAUSE_SECONDS:
            return
        self._told, self._last = self._told + 1, now
        totals = [total for _, total in self._calls.values()]
        whole = None if None in totals else sum(totals)  # type: ignore[arg-type]
        await self._client.progress(sum(done for done, _ in self._calls.values()), whole, message[:_MAX_MESSAGE_CHARS])

    async def ask(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        if method not in METHODS:
            raise ServerError(
                f"the client cannot be asked {method!r}", hint=f"It can be asked {' and '.join(METHODS)}."
            )
        with self._clock.still(), anyio.move_on_after(self._patience - self._clock.stood):
            return await self._client.ask(method, params)
        raise LimitExceeded(
            f"the client did not answer within the {self._patience:g} s that a run may wait for it",
            hint="[limits] asking says how long.",
        )

    async def ask_for(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """Ask for a layer around calls, see `Run.ask`: in plain text, whatever the layer was told by others."""
        return await self.ask(method, _question("a plugin", params) if method == METHODS[0] else params)


class _CallClient:
    """The `doorward.Client` of one call."""

    def __init__(self, run: RunClient, server: str, scrub: Callable[[Any], Any]) -> None:
        self._run = run
        self._server = server
        self._scrub = scrub

    async def progress(self, done: float, total: float | None = None, message: str = "") -> None:
        await self._run.progress(self, done, total, self._scrub(clean_text(str(message)[: 2 * _MAX_MESSAGE_CHARS])))

    async def ask(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        said = dict(params)
        if method == METHODS[0]:
            said = self._scrub(_question(self._server, said))
            if isinstance(said.get("message"), str):
                # A person must know which server asks.
                said["message"] = f"{self._server} asks: {said['message'][:_MAX_QUESTION_CHARS]}"
        else:
            said = self._scrub(said)
        return await self._run.ask(method, said)


def _question(whose: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """A question to a person, in plain text. Raises: ServerError for one that nobody could answer."""
    said = dict(params)
    if exceeds(said, _MAX_QUESTION_PARTS):
        raise ServerError(f"{whose} asks for more at once than a person can answer")
    if said.get("mode") == "url" and not str(said.get("url")).lower().startswith(("https://", "http://")):
        raise ServerError(f"{whose} asks a person to open what is no web page")
    plain: dict[str, Any] = _plainly({key: value for key, value in said.items() if key != "_meta"})
    return plain


def _plainly(value: Any) -> Any:
    """A question in plain text: nothing in it moves a cursor, hides text or reverses its direction."""
    match value:
        case dict():
            return {
                k: clean_text(v) if k in _SHOWN_FIELDS and isinstance(v, str) else _plainly(v) for k, v in value.items()
            }
        case list():
            return [_plainly(item) for item in value]
    return value


def _amount(number: Any) -> bool:
    return isinstance(number, (int, float)) and math.isfinite(number) and number >= 0
