"""Recorded answers by the requests that they answered, for whatever stands in for a server."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl, unquote, urlsplit

HOST = "127.0.0.1"
NOT_RECORDED = 501
TOOL = "tools/call"
"""The method of a call of an MCP server's tool. Its target is the tool, its body the arguments."""


@dataclass(frozen=True, slots=True)
class Answer:
    """How a request is answered, after so many seconds."""

    status: int
    body: bytes
    headers: Mapping[str, str]
    seconds: float


class Mock:
    """The recorded answers by their requests. One that was made several times gets its answers in their order, and
    the last one from then on."""

    def __init__(self) -> None:
        self._answers: dict[tuple[object, ...], deque[Answer]] = {}
        self.servers: set[str] = set()
        """Their names; `NAME@ACCOUNT` for each account of one that has several: their answers are never mixed."""
        self.tools: dict[str, dict[str, Mapping[str, object]]] = {}
        """The tools of servers that are MCP servers, by their names, as `tools/list` has them."""
        self.unserved: dict[str, str] = {}
        """Functions of which no answer is served, and why."""

    def add(self, server: str, method: str, target: str, body: bytes | None, answer: Answer) -> None:
        self.servers.add(server)
        self._answers.setdefault(_key(method, f"/{server}{target}", body), deque()).append(answer)

    def answer(self, method: str, target: str, body: bytes | None) -> Answer:
        if found := self._answers.get(_key(method, target, body)):
            return found.popleft() if len(found) > 1 else found[0]
        told = json.dumps({"error": f"no answer to {method} {target[:500]} is recorded"})
        return Answer(NOT_RECORDED, told.encode(), JSON, 0.0)

    @property
    def count(self) -> int:
        return sum(map(len, self._answers.values()))


JSON = {"Content-Type": "application/json"}


def _key(method: str, target: str, body: bytes | None) -> tuple[object, ...]:
    """What makes two requests the same: neither the order of the query nor the layout of JSON."""
    parts = urlsplit(target)
    try:
        said: object = json.dumps(json.loads(body), sort_keys=True) if body else None
    except ValueError:
        said = body
    return method, unquote(parts.path), tuple(sorted(parse_qsl(parts.query, keep_blank_values=True))), said
