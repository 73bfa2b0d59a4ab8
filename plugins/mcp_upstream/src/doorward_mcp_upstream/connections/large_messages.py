"""Large messages over HTTP.

The SDK parses messages on the event loop, where nothing else can run meanwhile. So large ones are parsed in a thread,
and the SDK gets a short note in place of the result.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any

from doorward.values import aside
from doorward_json import read_json
from httpx2 import SSEError

from doorward_mcp_upstream.connections.flow import StreamFlow
from doorward_mcp_upstream.connections.troubles import Trouble
from doorward_mcp_upstream.connections.wire import MAX_MESSAGE_BYTES, TOO_MANY_VALUES
from doorward_mcp_upstream.tools.values import too_many

SMALL_CHARACTERS = 2**16
"""Largest message that the SDK parses itself."""
_CLAIM_SECONDS = 10.0
"""Seconds for which a result is kept that nobody fetches: its request may have been cancelled."""
_MAX_KEPT_CHARACTERS = 2 * MAX_MESSAGE_BYTES
"""Characters of all messages whose results are kept. The oldest are dropped first."""
MAX_LINES = 100_000
"""Lines of a large event."""
_MAX_ERROR_CHARACTERS = 2000
"""Longest message of an error."""


class LargeMessages:
    """Keeps the results of large messages until their requests fetch them."""

    def __init__(self) -> None:
        self._mark = f"doorward-{secrets.token_hex(8)}"
        self._kept: dict[str, tuple[Any, int]] = {}

    def whole(self, result: dict[str, Any]) -> dict[str, Any]:
        """The result for a note; any other result is itself. Raises: Trouble if it is not there any more."""
        if self._mark not in result:
            return result
        found, _ = self._kept.pop(str(result[self._mark]), (None, 0))
        if found is None:
            raise Trouble("its answer came too late")
        return found  # type: ignore[no-any-return]

    async def noted(self, text: str | bytes) -> str:
        """The message with a note in place of its result.

        Raises: Trouble if it is no answer, or has too many values.
        """
        try:
            message = await aside(partial(_read, text), len(text))
        except ValueError as error:
            raise Trouble(f"its answer is not JSON: {error}") from None
        match message:
            case {"result": dict() as result}:
                rest: dict[str, Any] = {"result": {self._mark: self._keep(result, len(text))}}
            case {"error": {"code": int(code), "message": str(said)}}:
                rest = {"error": {"code": code, "message": said[:_MAX_ERROR_CHARACTERS]}}
            case _:
                raise Trouble(f"it sent a message of {len(text)} characters that is not an answer")
        identity = message.get("id")
        return json.dumps({"jsonrpc": "2.0", "id": identity if isinstance(identity, int | str) else None, **rest})

    def _keep(self, result: Any, size: int) -> str:
        key = secrets.token_hex(8)
        self._kept[key] = result, size
        while len(self._kept) > 1 and sum(each for _, each in self._kept.values()) > _MAX_KEPT_CHARACTERS:
            del self._kept[next(iter(self._kept))]
        asyncio.get_running_loop().call_later(_CLAIM_SECONDS, self._kept.pop, key, None)
        return key

    async def events(self, texts: Callable[[], AsyncIterator[str]], flow: StreamFlow) -> AsyncIterator[str]:
        """The stream, event by event, with notes in large ones.

        Raises: SSEError for an event that is too large, or is no answer, and for too many of them.
        """
        held, size, begun = list[str](), 0, ""
        async for text in texts():
            await flow.piece(text)
            text = text.removeprefix(begun)
            begun = "\n" if text.endswith("\r") else ""  # the second half of this line end may come with the next text
            text = text.replace("\r\n", "\n").replace("\r", "\n")
            ended = "\n\n" in (held[-1][-1:] if held else "") + text
            held += [text] if text else []
            size += len(text)
            if not ended:
                if size > MAX_MESSAGE_BYTES:
                    raise SSEError(f"an event has more than {MAX_MESSAGE_BYTES // 2**20} MiB")
                continue
            whole, _, rest = "".join(held).rpartition("\n\n")
            held, size = [rest] if rest else [], len(rest)
            for each in whole.split("\n\n"):
                event = each if len(each) <= SMALL_CHARACTERS else await self._event(each)
                await flow.event(event)
                yield f"{event}\n\n"

    async def _event(self, whole: str) -> str:
        data, others = await aside(partial(_fields, whole), len(whole))
        if len(data) > SMALL_CHARACTERS:
            try:
                data = await self.noted(data)
            except Trouble as trouble:
                raise SSEError(trouble.message) from None
        return "\n".join([*others, *(f"data: {line}" for line in data.split("\n"))])


def _fields(event: str) -> tuple[str, list[str]]:
    """The data of an event, and the last line of each other kind: the others say nothing. Raises: SSEError."""
    lines = event.split("\n", MAX_LINES)
    if len(lines) > MAX_LINES:
        raise SSEError(f"an event has more than {MAX_LINES:,} lines")
    data = "\n".join(line[5:].removeprefix(" ") for line in lines if line.startswith("data:"))
    others = {kind: line for line in lines if (kind := line.partition(":")[0]) in ("event", "id", "retry")}
    return data, [*others.values()]


def _read(text: str | bytes) -> Any:
    if too_many(text):
        raise TOO_MANY_VALUES
    return read_json(text)
