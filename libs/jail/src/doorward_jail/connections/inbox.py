"""The messages of a sandbox in their order: bounded, and decoded in a thread if they are large."""

from __future__ import annotations

import asyncio
import base64
import json
import re
from collections import deque
from collections.abc import Callable
from typing import Any

from doorward.values import aside
from doorward_json import read_json, values_in
from pydantic_core import from_json

from doorward_jail.inside.protocol import MAX_UNREAD_BYTES, BadFrame, Frames, Message, decode
from doorward_jail.inside.results import BYTES_KEY

_BYTES_KEY = json.dumps(BYTES_KEY).encode()

_SEND_LESS = "Filter or aggregate in the program."

_LARGE_FRAME_BYTES = 2**16
"""A larger frame is decoded in a thread."""

_PIECE_CHARACTERS = 2**20

MAX_PARTS = 100_000
"""One message may have so many values and members. What is made of them is searched for garbage, and freed, in one step
of the interpreter (20 ms for so many), in which nobody is served."""

_MAX_PARTS_OF_RUN = 1_000_000
"""One run may send so many of them, all messages together."""

_FILLED = re.compile(rb'\{(?:"seen": ?(\[[-+.0-9eE, ]{0,300000}\]), ?)?(?:"(done)": ?\{|"id": ?(\d{1,15}),)')
"""How a message begins that a program has filled: its result, or a question; before it, times that it has read."""

_MAX_LEVELS = 200
"""A message nested more deeply is refused. The decoder of small frames has the same limit."""


class TooMuch(BadFrame):
    """One run has sent more than it may."""


class Inbox:
    """Takes the bytes of a sandbox's channel, and hands its messages to `heard`. Bytes that are no frame call
    `broken`."""

    def __init__(
        self, most_bytes: int, heard: Callable[[dict[str, Any], bytes], None], broken: Callable[[str, str], None]
    ) -> None:
        """`broken` gets the reason, and a hint if that is a limit."""
        self._frames = Frames(most_bytes)
        self._heard = heard
        self._broken = broken
        self._unread: deque[bytes] = deque()
        self._reading: asyncio.Task[None] | None = None
        self._is_open = True
        self._parts = 0

    def begin(self, most_bytes: int) -> None:
        """Begin a run, whose frames have at most so many bytes."""
        self._frames = Frames(most_bytes)
        self._parts = 0

    def feed(self, data: bytes) -> None:
        """Take bytes that have come."""
        if not self._is_open:
            return
        try:
            self._unread.extend(self._frames.bodies(data))
        except BadFrame as error:
            self._refuse(error)
            return
        if self._reading is None:
            self._read()
        elif sum(map(len, self._unread)) > MAX_UNREAD_BYTES:
            self._broken("the program sent more at once than can be read", _SEND_LESS)

    def close(self) -> None:
        """Read nothing more. The callbacks are dropped, with everything that they hold."""
        self._is_open = False
        self._heard = lambda message, blob: None
        self._broken = lambda why, hint: None
        self._unread.clear()

    async def all_read(self) -> None:
        """Wait until all messages that have come are handed on."""
        while self._reading is not None:
            await asyncio.wait([self._reading])

    def _read(self) -> None:
        """Hand on the messages, up to a frame that is decoded in a thread. Those after it wait."""
        while self._unread and self._is_open:
            body = self._unread.popleft()
            if len(body) > _LARGE_FRAME_BYTES:
                self._reading = asyncio.ensure_future(self._read_large(body))
                return
            self._hear(body)

    def _hear(self, body: bytes) -> None:
        try:
            message = decode(body, self._loads)
        except BadFrame as error:
            self._refuse(error)
        else:
            self._heard(*message)

    async def _read_large(self, body: bytes) -> None:
        message: Message | None = None
        try:
            message = await aside(lambda: decode(body, self._loads), len(body))
        except BadFrame as error:
            self._refuse(error)
        finally:
            self._reading = None
        if message is not None and self._is_open:
            self._heard(*message)
        self._read()

    def _refuse(self, error: BadFrame) -> None:
        if isinstance(error, TooMuch):
            self._broken(str(error), _SEND_LESS)
        else:
            self._broken(f"it sent {error}", "")

    def _loads(self, text: bytes) -> Any:
        self._parts += (parts := values_in(text, _MAX_PARTS_OF_RUN))
        if self._parts > _MAX_PARTS_OF_RUN:
            raise TooMuch(f"what the program sent has more than {_MAX_PARTS_OF_RUN:,} parts")
        if parts > MAX_PARTS:
            return _refused(text)
        value = from_json(text) if len(text) <= _LARGE_FRAME_BYTES else _not_deep(read_json(text, constant=float))
        return _with_bytes(value) if _BYTES_KEY in text else value


def _refused(text: bytes) -> dict[str, Any]:
    """What is heard in place of a message of too many parts, of which nothing is made: that it has too many. Raises:
    ValueError for a message that no program fills."""
    found = _FILLED.match(text)
    if found is None:
        raise ValueError(f"more than {MAX_PARTS:,} parts in a message that has few")
    seen, done, number = found.groups()
    too_many: dict[str, Any] = {"done": {"parts": MAX_PARTS}} if done else {"id": int(number), "parts": MAX_PARTS}
    return too_many if seen is None else {"seen": json.loads(seen), **too_many}


def _not_deep(value: Any) -> Any:
    """The value, if it has not too many levels. Raises: ValueError."""
    level: list[Any] = [[value]]
    for _ in range(_MAX_LEVELS + 1):
        parts = (node.values() if isinstance(node, dict) else node for node in level)
        level = [part for among in parts for part in among if isinstance(part, (dict, list))]
        if not level:
            return value
    raise ValueError(f"more than {_MAX_LEVELS} levels")


def _with_bytes(value: Any) -> Any:
    """The value with bytes in place of the objects that stand for them. It keeps its own stack: JSON may be deep."""

    def real(node: Any) -> Any:
        if isinstance(node, dict) and len(node) == 1 and isinstance(text := node.get(BYTES_KEY), str):
            try:
                return _decoded(text)
            except ValueError:
                return text
        return node

    value = real(value)
    todo = [value]
    while todo:
        node = todo.pop()
        places = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
        for place, part in list(places):
            if isinstance(part, (dict, list)):
                node[place] = part = real(part)
                todo.append(part)
    return value


def _decoded(text: str) -> bytes:
    """The bytes of a base64 text, decoded in pieces, since the decoder holds the interpreter's lock. Raises:
    ValueError."""
    return b"".join(
        base64.b64decode(text[at : at + _PIECE_CHARACTERS]) for at in range(0, len(text), _PIECE_CHARACTERS)
    )
