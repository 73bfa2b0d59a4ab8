"""Large messages that come by HTTP. The SDK reads what it is given on the event loop, where nobody else has a turn
meanwhile; so they are read beside it, and the SDK is given a note of where the result is."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any

from doorward import aside, read_json
from httpx2 import SSEError

from doorward_mcp_upstream.connections.troubles import Trouble
from doorward_mcp_upstream.connections.wire import MAX_MESSAGE_BYTES, TOO_MANY_VALUES
from doorward_mcp_upstream.tools.values import too_many

SMALL_CHARACTERS = 2**16
"""Characters of a message that the SDK may read itself."""
_CLAIM_SECONDS = 10.0
"""Seconds for which a result is kept that nobody asks for: its request may have been cancelled."""
_MAX_KEPT_CHARACTERS = 2 * MAX_MESSAGE_BYTES
"""Characters of messages whose results are kept; those that came first go first."""
_MAX_ERROR_CHARACTERS = 2000
"""Characters of the message of an error."""


class Large:
    """The results of large messages, until who asked comes for them."""

    def __init__(self) -> None:
        self._mark = f"doorward-{secrets.token_hex(8)}"
        self._kept: dict[str, tuple[Any, int]] = {}

    def whole(self, result: dict[str, Any]) -> dict[str, Any]:
        """The result that a note stands for; any other is itself. Raises: Trouble."""
        if self._mark not in result:
            return result
        found, _ = self._kept.pop(str(result[self._mark]), (None, 0))
        if found is None:
            raise Trouble("its answer came too late")
        return found  # type: ignore[no-any-return]

    async def noted(self, text: str | bytes) -> str:
        """A message, with a note in place of its result. Raises: Trouble for what is no answer, or has too many
        values."""
        try:
            message = await aside(partial(_read, text), len(text))
        except ValueError as error:
            raise Trouble(f"its answer is no JSON: {error}") from None
        match message:
            case {"result": dict() as result}:
                rest: dict[str, Any] = {"result": {self._mark: self._keep(result, len(text))}}
            case {"error": {"code": int(code), "message": str(said)}}:
                rest = {"error": {"code": code, "message": said[:_MAX_ERROR_CHARACTERS]}}
            case _:
                raise Trouble(f"it sent a message of {len(text)} characters that is no answer")
        identity = message.get("id")
        return json.dumps({"jsonrpc": "2.0", "id": identity if isinstance(identity, int | str) else None, **rest})

    def _keep(self, result: Any, size: int) -> str:
        key = secrets.token_hex(8)
        self._kept[key] = result, size
        while len(self._kept) > 1 and sum(each for _, each in self._kept.values()) > _MAX_KEPT_CHARACTERS:
            del self._kept[next(iter(self._kept))]
        asyncio.get_running_loop().call_later(_CLAIM_SECONDS, self._kept.pop, key, None)
        return key

    async def events(self, texts: Callable[[], AsyncIterator[str]]) -> AsyncIterator[str]:
        """A stream of events, whose large ones hold notes. Raises: SSEError for one that is too large, or no answer."""
        held, size, begun = list[str](), 0, ""
        async for text in texts():
            text = text.removeprefix(begun)
            begun = "\n" if text.endswith("\r") else ""  # the rest of that line's end, if it comes
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
            if len(whole) <= SMALL_CHARACTERS:
                yield f"{whole}\n\n"
                continue
            for event in whole.split("\n\n"):
                yield f"{event if len(event) <= SMALL_CHARACTERS else await self._event(event)}\n\n"

    async def _event(self, event: str) -> str:
        lines = await aside(event.splitlines, len(event))
        data = "\n".join(line[5:].removeprefix(" ") for line in lines if line.startswith("data:"))
        others = [line for line in lines if line.startswith(("event:", "id:", "retry:"))]
        if len(data) > SMALL_CHARACTERS:
            try:
                data = await self.noted(data)
            except Trouble as trouble:
                raise SSEError(trouble.message) from None
        return "\n".join([*others, *(f"data: {line}" for line in data.split("\n"))])


def _read(text: str | bytes) -> Any:
    if too_many(text):
        raise TOO_MANY_VALUES
    return read_json(text)
