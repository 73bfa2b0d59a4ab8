"""Tasks: what a client gets for the call of a tool that takes long, if it declares that it takes them (the extension
`io.modelcontextprotocol/tasks` of 2026-07-28). It asks for the task until that is over, by any connection.

The SDK has none of it but the seams. The older form of 2025-11-25, which asked for tasks by a parameter, is not spoken.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any, Protocol

import mcp_types as t
from doorward import DoorwardError, log
from doorward.serving import Process, may_take, told
from mcp import MCPError
from mcp.shared.inbound import MCP_NAME_HEADER, decode_header_value
from mcp_types.jsonrpc import HEADER_MISMATCH, MISSING_REQUIRED_CLIENT_CAPABILITY
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

EXTENSION = "io.modelcontextprotocol/tasks"

METHODS = ("tasks/get", "tasks/update", "tasks/cancel")

AFTER_SECONDS = 3.0
"""Seconds after which a call becomes a task: an answer that comes sooner is the answer."""

POLL_MS = 1000
"""Milliseconds after which a client should ask again."""

KEPT_SECONDS = 600.0
"""Seconds for which a task can be asked for after its end."""

MAX_TASKS = 64
"""Tasks of all principals, those included that are over and kept. Principals share them as they share sandboxes. Where
there is no place, the client waits for its answer, as without tasks."""


class TaskParams(t.RequestParams):
    """The parameters of a request about a task."""

    task_id: str
    input_responses: dict[str, Any] | None = None


class Work(Protocol):
    """The call that a task stands for, at work in a task of its own."""

    principal: str
    run: str
    message: str
    task: asyncio.Task[Any]
    open: dict[str, tuple[Any, Any]]

    def answered(self, given: Mapping[str, Any]) -> None: ...

    async def end(self) -> None: ...


@dataclass(eq=False, slots=True)
class Task:
    """A task. It is over when its work is."""

    work: Work
    begun: float = field(default_factory=time.time)
    ended: float = 0.0
    forgetting: asyncio.TimerHandle | None = None


class Tasks:
    """The tasks of a process. Their ids name the process and the run, if that is stored, and bear a seal of their
    principal: nobody else learns from an id whether there is such a task."""

    def __init__(self, process: Process, key: bytes, resuming: str) -> None:
        self._process, self._key, self._resuming = process, hmac.digest(key, EXTENSION.encode(), "sha256"), resuming
        self._tasks: dict[str, Task] = {}

    def room(self, principal: str) -> bool:
        """Whether a principal may have one more; a task of theirs that is over may have to go for it."""
        while not may_take(principal, Counter(each.work.principal for each in self._tasks.values()), MAX_TASKS):
            over = [id for id, each in self._tasks.items() if each.ended and each.work.principal == principal]
            if not over:
                return False
            self._forget(min(over, key=lambda id: self._tasks[id].ended))
        return True

    def create(self, work: Work) -> dict[str, Any]:
        """The result of a call that has become a task."""
        named = f"{self._process.id}.{work.run}.{secrets.token_urlsafe(16)}"
        id = f"{named}.{self._seal(named, work.principal)}"
        task = self._tasks[id] = Task(work)

        def over(_: Any) -> None:
            task.ended = time.time()
            task.forgetting = asyncio.get_running_loop().call_later(KEPT_SECONDS, self._forget, id)

        work.task.add_done_callback(over)
        return {"resultType": "task", **_shape(id, task.begun, 0.0, "working", work.message)}

    def owner(self, id: str, principal: str) -> tuple[str, str]:
        """The process that has a task, and its run, if that is stored. Raises: MCPError if the principal has no such
        task."""
        named, _, seal = id.rpartition(".")
        if len(id) > 500 or not hmac.compare_digest(seal.encode(), self._seal(named, principal).encode()):
            raise _unknown()
        process, run, _ = named.split(".")
        return process, run

    async def answer(self, id: str, method: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to a request about a task of this process, whose principal asks. Raises: MCPError."""
        if (task := self._tasks.get(id)) is None:
            raise _unknown()
        if method == "tasks/cancel":
            await task.work.end()
        elif method == "tasks/update":
            task.work.answered(given)
        else:
            return _state(id, task)
        return {}

    def lost(self, id: str, run: str, method: str) -> dict[str, Any]:
        """The same for a task whose process is gone: its run may go on. Raises: MCPError if that is not stored."""
        if not run or not self._resuming or method != "tasks/get":
            raise _unknown()
        why = f'the process that ran this is gone; {self._resuming}("{run}") goes on where its run stood'
        return _shape(id, time.time(), 0.0, "completed", why, result=_refused(why))

    def close(self) -> None:
        """Forget all tasks. Their work is ended by whoever began it."""
        for id in [*self._tasks]:
            self._forget(id)

    def _forget(self, id: str) -> None:
        task = self._tasks.pop(id, None)
        if task is not None and task.forgetting is not None:
            task.forgetting.cancel()

    def _seal(self, named: str, principal: str) -> str:
        return hmac.new(self._key, f"{named}\0{principal}".encode(errors="replace"), "sha256").hexdigest()


def declared(ctx: Any) -> bool:
    """Whether the client of a request takes tasks."""
    client = ctx.session.client_capabilities
    return (
        ctx.protocol_version in MODERN_PROTOCOL_VERSIONS
        and client is not None
        and client.extensions is not None
        and EXTENSION in client.extensions
    )


def check(ctx: Any, task: str) -> None:
    """Raises: MCPError for a request about a task from a client that takes none, or whose header names another."""
    if ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS:
        raise MCPError(t.METHOD_NOT_FOUND, "Method not found", ctx.method)
    if not declared(ctx):
        needed: dict[str, Any] = {"requiredCapabilities": {"extensions": {EXTENSION: {}}}}
        raise MCPError(MISSING_REQUIRED_CLIENT_CAPABILITY, "Missing required client capability", needed)
    headers = getattr(ctx.request, "headers", None)
    if headers is not None and decode_header_value(headers.get(MCP_NAME_HEADER)) != task:
        raise MCPError(
            HEADER_MISMATCH, f"{MCP_NAME_HEADER} header does not match the request body's 'taskId' parameter"
        )


def _state(id: str, task: Task) -> dict[str, Any]:
    """A task as it is now."""
    work, shape = task.work, partial(_shape, id, task.begun, task.ended)
    if not work.task.done():
        if work.open:
            asked = {key: _json(request) for key, (request, _) in work.open.items()}
            return shape("input_required", "it waits for an answer", inputRequests=asked)
        return shape("working", work.message)
    if work.task.cancelled():
        return shape("cancelled")
    match work.task.exception():
        case None:
            return shape("completed", result=_json(work.task.result()))
        case DoorwardError() as error:
            return shape("completed", result=_refused(told(error)))
        case MCPError() as error:
            failure = error.error.model_dump(exclude_none=True)
        case error:
            log.error("task_failed", error=type(error).__name__)
            failure = {"code": t.INTERNAL_ERROR, "message": "Internal error"}
    return shape("failed", failure["message"], error=failure)


def _shape(id: str, begun: float, ended: float, status: str, message: str = "", **more: Any) -> dict[str, Any]:
    last = ended or time.time()
    return {
        "taskId": id,
        "status": status,
        **({"statusMessage": message[:1000]} if message else {}),
        "createdAt": _at(begun),
        "lastUpdatedAt": _at(last),
        "ttlMs": round((last - begun + KEPT_SECONDS) * 1000),
        "pollIntervalMs": POLL_MS,
        **more,
    }


def _at(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _json(model: Any) -> Any:
    return model.model_dump(by_alias=True, mode="json", exclude_none=True)


def _refused(text: str) -> Any:
    return _json(t.CallToolResult(content=[t.TextContent(text=text)], is_error=True))


def _unknown() -> MCPError:
    return MCPError(t.INVALID_PARAMS, "There is no such task, or it is over and forgotten.")
