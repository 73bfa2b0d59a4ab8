"""One session with a server: the protocol that is spoken over a wire, in both eras."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Collection, Mapping
from typing import Any

import anyio
import doorward
import mcp_types as types
from doorward import DoorwardError, ServerContext
from doorward.values import quoted
from mcp import ClientSession
from mcp.client.subscriptions import SubscriptionLost, listen
from mcp.shared.dispatcher import CallOptions
from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import (
    MCP_METHOD_HEADER,
    MCP_NAME_HEADER,
    MCP_PROTOCOL_VERSION_HEADER,
    NAME_BEARING_METHODS,
    encode_header_value,
    mcp_param_headers,
    x_mcp_header_map,
)
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp_types.jsonrpc import HEADER_MISMATCH
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from doorward_mcp_upstream.connections.flights import MAX_QUESTIONS, Flight, Flights
from doorward_mcp_upstream.connections.listing import Listing
from doorward_mcp_upstream.connections.repair import read_tools
from doorward_mcp_upstream.connections.settings import MCPSettings
from doorward_mcp_upstream.connections.troubles import TROUBLE_CODE, Refusal, Trouble, own_data, trouble_in
from doorward_mcp_upstream.connections.wire import Watched, Wire

MAX_ROUNDS = 10
"""How often a server may ask for more input within one request."""
TASKS = "io.modelcontextprotocol/tasks"
"""The extension by which a server may answer a call with a task, for which it is asked until that is over."""
MIN_POLL_SECONDS, POLL_SECONDS, MAX_POLL_SECONDS = 0.1, 1.0, 10.0
"""Seconds between two questions for a task: what the server says within bounds, or if it says nothing."""
_MAX_FAILED_POLLS = 3
_CANCELLING_SECONDS = 10.0
"""Seconds that a server has to take notice that a task is not wanted any more. Nobody waits for it."""
_RESUBSCRIBE_SECONDS = 5.0
"""Seconds until a lost subscription is made again."""
LISTING_SECONDS = 60.0
"""Seconds after which tools are listed again before one is called, where the server does not say how long a list is
fresh: it may not say that it has changed them."""
MIN_TTL_SECONDS, MAX_TTL_SECONDS = 5.0, 600.0
"""Bounds of what a server may say of that (MCP 2026-07-28, `ttlMs`): not every call lists, and no list is for ever."""
_MAX_WAITING_PROGRESS = 100
"""Reports on progress that wait for a client; further ones are dropped."""
_UNREADABLE_PREFIX = "SSE stream failed: "
"""Beginning of the SDK's message about a stream of events that is not valid, or has an event that is too large."""
_NAMES = {**NAME_BEARING_METHODS, **dict.fromkeys(("tasks/get", "tasks/update", "tasks/cancel"), "taskId")}
"""The parameters that headers repeat. The SDK does not know those of tasks."""
_TAKES_TASKS: dict[str, dict[str, Any]] = {
    method: {"extensions": {TASKS: {}}} for method in ("tools/call", "tasks/get", "tasks/update", "tasks/cancel")
}
_INFO = types.Implementation(name="doorward", version=doorward.__version__)

for _name in ("client", "mcp.client"):  # we report misbehaving servers ourselves, to the caller
    logging.getLogger(_name).setLevel(logging.CRITICAL)


class Connection:
    """A session that its owner keeps open, and that any task may use. `changed` is called when the server says that its
    tools have changed."""

    def __init__(
        self, context: ServerContext[MCPSettings], wire: Wire, flights: Flights, changed: Callable[[], None]
    ) -> None:
        self._name, self._settings = context.name, context.settings
        self._wire = wire
        self._flights = flights
        self._changed = changed
        self._listing: Listing | None = None
        self._listed_at, self._ttl = 0.0, 0.0
        self._changes = 0
        self._reading = asyncio.Lock()
        self._header_maps: dict[str, Any] = {}
        self.ended = wire.ended
        self._retired, self._under_way = False, 0
        self._leaving: set[asyncio.Future[None]] = set()
        self._dispatcher: JSONRPCDispatcher[Any] = JSONRPCDispatcher(Watched(wire.read, wire.ended), wire.write)
        self.session = ClientSession(
            dispatcher=self._dispatcher,
            client_info=_INFO,
            elicitation_callback=self._elicit,
            sampling_callback=self._sample if self._settings.sampling else None,
            message_handler=self._told,
        )

    @property
    def modern(self) -> bool:
        return self.session.protocol_version in MODERN_PROTOCOL_VERSIONS

    @property
    def server(self) -> dict[str, Any]:
        """The name and version that the server gives itself."""
        info = self.session.server_info
        return info.model_dump(by_alias=True, mode="json", exclude_none=True) if info else {}

    @property
    def usable(self) -> bool:
        """Whether it takes another request."""
        return not self._retired and not self.ended.is_set()

    def retire(self) -> None:
        """Take no more requests, and end when those that are under way have their answers: what one was told of the
        session says nothing of what the server does for another."""
        self._retired = True
        self._end_retired()

    def _end_retired(self) -> None:
        if self._retired and not self._under_way:
            self.ended.set()

    async def agree(self, era: str = "") -> None:
        """Find out which era the server speaks. `era` is the one that it spoke last; it only decides what is tried
        first.

        Raises: Trouble.
        """
        first, second = self.session.discover, self.session.initialize
        if era and era not in MODERN_PROTOCOL_VERSIONS:
            first, second = second, first  # type: ignore[assignment]
        try:
            try:
                await first()
            except (MCPError, RuntimeError, ValidationError) as error:
                if self._hopeless(error):
                    raise
                try:
                    await second()
                except MCPError as late:  # it was only slow: the first request has settled the era
                    if late.code != types.UNSUPPORTED_PROTOCOL_VERSION:
                        raise
                    await first()
        except (MCPError, RuntimeError, ValidationError) as error:
            known = trouble_in(error.data) if isinstance(error, MCPError) else None
            unknown = f"it does not speak MCP as we know it: {quoted(_brief(error))}"
            raise known or self._trouble(error) or Trouble(unknown, sent=False) from None

    def _hopeless(self, error: Exception) -> bool:
        """Whether the other handshake would fail, too."""
        trouble = self._trouble(error)
        return trouble is not None and (trouble.gone or not trouble.status or trouble.status in (401, 403))

    async def send(self, method: str, params: Mapping[str, Any], flight: Flight) -> dict[str, Any]:
        """Send a request, and return the result. Whatever the server asks in between is asked of the client.

        Raises: Trouble; Refusal if the answer is an error.
        """
        given = dict(params)
        for _ in range(MAX_ROUNDS):
            result = await self._send(method, given, flight)
            if self.modern and method == "tools/call" and result.get("resultType") == "task":
                try:
                    return await self._awaited(result, flight)
                except Trouble as trouble:
                    trouble.sent = True  # whatever became of a question about its task, the call was made
                    raise
                except Refusal as refusal:  # nor is it made again for headers that its task misses
                    code = types.INTERNAL_ERROR if refusal.code == HEADER_MISMATCH else refusal.code
                    raise Refusal(code, refusal.message, refusal.data) from None
            if result.get("resultType") != "input_required" or not self.modern:
                return result
            given = await self._more(params, result, flight)
        raise Trouble(f"it asked for more input {MAX_ROUNDS} times within one request")

    async def _awaited(self, task: Mapping[str, Any], flight: Flight) -> dict[str, Any]:
        """The result of the call for which a server has answered with a task. What it asks on its way is asked of the
        client. If the call is given up, the server is told.

        Raises: Trouble; Refusal if the task failed.
        """
        id, failed, told, last = task.get("taskId"), 0, 0, ""
        if not isinstance(id, str) or not 0 < len(id) <= 2000:
            raise Trouble("it answered with a task that has no id")
        over = False
        answered: set[str] = set()
        self._under_way += 1  # it is, between two questions as well
        try:
            while True:
                await anyio.sleep(_poll_seconds(task.get("pollIntervalMs")))
                try:
                    task = await self._send("tasks/get", {"taskId": id}, flight)
                    failed = 0
                except Trouble as trouble:
                    failed += 1
                    if not trouble.passing or self.ended.is_set() or failed > _MAX_FAILED_POLLS:
                        raise
                    continue
                match task.get("status"):
                    case "working":
                        message = task.get("statusMessage")
                        if flight.client is not None and isinstance(message, str) and message != last:
                            told, last = told + 1, message
                            with contextlib.suppress(DoorwardError):  # a client that is gone
                                await flight.client.progress(told, None, message)
                    case "input_required":
                        if responses := await self._answers(task, flight, answered):
                            answered |= responses.keys()
                            await self._send("tasks/update", {"taskId": id, "inputResponses": responses}, flight)
                    case status:
                        over = True
                        return _result(task, status)
        finally:
            self._under_way -= 1
            self._end_retired()
            if not over and not self.ended.is_set():
                leaving = asyncio.ensure_future(self._cancel(id))
                self._leaving.add(leaving)
                leaving.add_done_callback(self._leaving.discard)

    async def _cancel(self, task: str) -> None:
        with contextlib.suppress(Trouble, Refusal), anyio.move_on_after(_CANCELLING_SECONDS):
            await self._send("tasks/cancel", {"taskId": task}, Flight(None))

    async def ping(self) -> None:
        """Return when the server has answered anything, if only that it knows no ping."""
        with contextlib.suppress(Trouble, Refusal):
            await self._send("ping", {}, Flight(None))

    async def _more(self, params: Mapping[str, Any], result: Mapping[str, Any], flight: Flight) -> dict[str, Any]:
        """The parameters of the repeated request, with the answers for the server (2026-07-28,
        multi round-trip requests)."""
        given = dict(params)
        if responses := await self._answers(result, flight):
            given["inputResponses"] = responses
        else:
            await anyio.sleep(0.1)  # the server only wants the request to be repeated
        if isinstance(state := result.get("requestState"), str):
            given["requestState"] = state
        return given

    async def _answers(
        self, result: Mapping[str, Any], flight: Flight, answered: Collection[str] = ()
    ) -> dict[str, Mapping[str, Any]]:
        """The answers to what a server asks in a result, but for what is `answered` already. Raises: Trouble."""
        requests = result.get("inputRequests")
        if not isinstance(requests, dict):
            return {}
        if len(requests) > MAX_QUESTIONS:
            raise Trouble(f"it asked {len(requests)} questions at once; a call may ask {MAX_QUESTIONS}")
        return {key: await self._answer(each, flight) for key, each in requests.items() if key not in answered}

    async def _answer(self, request: Any, flight: Flight) -> Mapping[str, Any]:
        method, params = (request.get("method"), request.get("params")) if isinstance(request, dict) else (None, None)
        if method == "elicitation/create" or (method == "sampling/createMessage" and self._settings.sampling):
            return await self._flights.ask(method, params if isinstance(params, dict) else {}, flight)
        hint = (
            f"`sampling = true` of [servers.{self._name}] lets it ask the client's model."
            if method == "sampling/createMessage"
            else ""
        )
        raise Trouble(f"it asked for {str(method)[:100]!r}, which it was not told that we can do", hint)

    async def _send(self, method: str, params: dict[str, Any], flight: Flight) -> dict[str, Any]:
        if self.ended.is_set():
            raise Trouble("it has ended", sent=False, passing=True, gone=True)
        options: CallOptions = {}
        client = flight.client
        if client is not None:
            waiting = 0

            async def told(progress: float, total: float | None, message: str | None) -> None:
                nonlocal waiting
                if waiting < _MAX_WAITING_PROGRESS:
                    waiting += 1
                    try:
                        with contextlib.suppress(DoorwardError):  # a client that is gone
                            await client.progress(progress, total, message or "")
                    finally:
                        waiting -= 1

            options["on_progress"] = told
        stamped = self._stamped(method, params, flight)
        self._under_way += 1
        try:
            with self._wire.exchange() as headers:
                options["headers"] = {**stamped, **headers}
                return self._wire.whole(await self._dispatcher.send_raw_request(method, params, options))
        except MCPError as error:
            raise self._trouble(error) or Refusal(error.code, error.message, own_data(error.data)) from None
        finally:
            self._under_way -= 1
            self._end_retired()

    def _stamped(self, method: str, params: dict[str, Any], flight: Flight) -> dict[str, str]:
        """Put into `_meta` what requests say about the client from 2026-07-28 on. Returns: the HTTP headers, for
        transports that have any."""
        version = self.session.protocol_version or ""
        headers = {MCP_PROTOCOL_VERSION_HEADER: version}
        if not self.modern:
            return headers
        meta = params.get("_meta")
        params["_meta"] = {
            **(meta if isinstance(meta, dict) else {}),
            types.PROTOCOL_VERSION_META_KEY: version,
            types.CLIENT_INFO_META_KEY: {"name": _INFO.name, "version": _INFO.version},
            types.CLIENT_CAPABILITIES_META_KEY: self._capabilities(flight) | _TAKES_TASKS.get(method, {}),
        }
        headers[MCP_METHOD_HEADER] = method
        name = params.get(_NAMES.get(method, ""))
        if isinstance(name, str):
            headers[MCP_NAME_HEADER] = encode_header_value(name)
            if method == "tools/call" and (wanted := self._header_maps.get(name)):
                headers.update(mcp_param_headers(wanted, params.get("arguments") or {}))
        return headers

    def _capabilities(self, flight: Flight) -> dict[str, Any]:
        """The client capabilities that this request offers: none if there is no client to ask."""
        if flight.client is None:
            return {}
        return {"elicitation": {"form": {}, "url": {}}} | ({"sampling": {}} if self._settings.sampling else {})

    def _trouble(self, error: Exception) -> Trouble | None:
        """The trouble behind an error of the SDK; `None` if it is the server's own answer."""
        if not isinstance(error, MCPError):
            return None
        if (trouble := trouble_in(error.data)) is not None:
            answered = error.code != TROUBLE_CODE and not trouble.passing and trouble.status not in (401, 403, 429)
            return None if answered else trouble
        if error.message.startswith(_UNREADABLE_PREFIX):
            return Trouble(f"its answer cannot be read: {quoted(error.message.removeprefix(_UNREADABLE_PREFIX))}")
        closed = self.ended.is_set() or error.message == "Connection closed"
        if error.code == types.CONNECTION_CLOSED and (closed or error.message.startswith("SSE stream")):
            return Trouble("the connection ended before it answered", passing=True, gone=closed)
        return None

    async def why(self) -> str:
        """Why the session has ended, as far as that is known."""
        return await self._wire.reason()

    async def listing(self, *, fresh: bool = False) -> Listing:
        """The listing of the server, read anew if it is old, the server has told of changes, or it must be `fresh`.

        Raises: Trouble, Refusal.
        """
        if (listing := self._recent()) is not None and not fresh:
            return listing
        async with self._reading:
            if (listing := self._recent()) is not None and not fresh:
                return listing
            before, self._listed_at = self._changes, time.monotonic()
            listing = await self._read()
            self._listing = listing if before == self._changes else None  # it changed while it was read
            return listing

    def _recent(self) -> Listing | None:
        return self._listing if time.monotonic() - self._listed_at < (self._ttl or LISTING_SECONDS) else None

    async def _read(self) -> Listing:
        capabilities = self.session.server_capabilities
        known = capabilities.model_dump(by_alias=True, mode="json", exclude_none=True) if capabilities else {}

        ttls = []
        async with self._flights.one(None, self._settings.timeout) as flight:

            async def page(cursor: str | None) -> Mapping[str, Any]:
                answer = await self._send("tools/list", {} if cursor is None else {"cursor": cursor}, flight)
                ttls.append(_ttl(answer.get("ttlMs")) if self.modern else 0.0)
                return answer

            try:
                tools, skipped = await read_tools(page)
            except Refusal as refusal:
                if refusal.code != types.METHOD_NOT_FOUND or "tools" in known:
                    raise
                tools, skipped = [], []
        self._ttl = min(ttls, key=lambda ttl: ttl or LISTING_SECONDS, default=0.0)
        if self.modern:
            self._header_maps = await anyio.to_thread.run_sync(_header_maps, tools)
        instructions = self.session.instructions or ""
        return Listing(tools, skipped, self.session.protocol_version or "", instructions, self.server, known)

    async def subscribe(self) -> None:
        """Subscribe to changes. Servers of older protocols tell of them unasked."""
        capabilities = self.session.server_capabilities
        if not self.modern or capabilities is None or capabilities.tools is None or not capabilities.tools.list_changed:
            return
        again = False
        while not self.ended.is_set():
            try:
                async with listen(self.session, tools_list_changed=True) as events:
                    if again:
                        self._forget()  # changes in between were not told
                    again = True
                    async for _ in events:  # `_told` hears of each as well
                        pass
            except SubscriptionLost as lost:
                if str(lost.__cause__).startswith(_UNREADABLE_PREFIX):
                    return  # it sends what cannot be read, or more than anybody reads
            except MCPError as error:
                unreadable = error.message.startswith(_UNREADABLE_PREFIX)
                if unreadable or (error.code != types.CONNECTION_CLOSED and trouble_in(error.data) is None):
                    return  # it does not offer subscriptions
            await anyio.sleep(_RESUBSCRIBE_SECONDS)

    def _forget(self) -> None:
        self._changes += 1
        self._listing = None

    async def _told(self, message: Any) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            self._forget()
            self._changed()

    async def _elicit(self, context: Any, params: Any) -> types.ElicitResult | types.ErrorData:
        return await self._pushed("elicitation/create", params, types.ElicitResult.model_validate)  # type: ignore[no-any-return]

    async def _sample(self, context: Any, params: Any) -> Any:
        return await self._pushed("sampling/createMessage", params, types.client_result_adapter.validate_python)

    async def _pushed(self, method: str, params: Any, read: Callable[[Any], Any]) -> Any:
        """Answer a request of the server that does not say to which call it belongs."""
        try:
            return read(
                await self._flights.ask(method, params.model_dump(by_alias=True, mode="json", exclude_none=True))
            )
        except Refusal as refusal:
            return types.ErrorData(code=refusal.code, message=refusal.message)
        except ValidationError:
            return types.ErrorData(code=types.INTERNAL_ERROR, message="The client's answer cannot be read.")


def _brief(error: Exception) -> str:
    return " ".join(str(error).split())[:300]


def _poll_seconds(said: Any) -> float:
    if not isinstance(said, (int, float)) or not said >= 0:
        return POLL_SECONDS
    return max(MIN_POLL_SECONDS, min(said, MAX_POLL_SECONDS * 1000) / 1000)


def _result(task: Mapping[str, Any], status: Any) -> dict[str, Any]:
    """The result of a task that is over. Raises: Refusal if it failed; Trouble."""
    result, error = task.get("result"), task.get("error")
    if status == "completed" and isinstance(result, dict):
        return result
    if status == "failed" and isinstance(error, dict):
        code = error.get("code")
        raise Refusal(
            code if isinstance(code, int) else types.INTERNAL_ERROR, str(error.get("message")), error.get("data")
        )
    raise Trouble(f"its task ended without a result: {quoted(str(status)[:100])}")


def _ttl(said: Any) -> float:
    """The seconds for which a server says that a page is fresh, within our bounds. 0 if it says nothing: that is also
    what SDKs send for a server that does not care."""
    if not isinstance(said, (int, float)) or not said > 0:
        return 0.0
    return max(MIN_TTL_SECONDS, min(said, MAX_TTL_SECONDS * 1000) / 1000)


def _header_maps(tools: list[dict[str, Any]]) -> dict[str, Any]:
    return {tool["name"]: wanted for tool in tools if (wanted := x_mcp_header_map(tool["inputSchema"]))}
