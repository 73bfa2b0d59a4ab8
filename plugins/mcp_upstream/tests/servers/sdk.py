"""A server of the SDK: `sdk.py stdio`, or `sdk.py http PORT`, `sdk.py json PORT`, `sdk.py sse PORT`.

`ERA=legacy` refuses 2026-07-28. `LOG` is a file that gets a line for every call that was made: its name and its
arguments. With `HURRY`, nothing is slow. `TTL` is a file with the `ttlMs` of the list of tools.
"""

from __future__ import annotations

import json
import os
import sys
from importlib.util import find_spec
from types import ModuleType
from typing import Any

# A server is started dozens of times. What these packages import of their own, clients and other servers, takes half as
# long again as what is used.
for name in ("mcp", "mcp.server"):
    spec = find_spec(name)
    assert spec is not None
    sys.modules[name] = ModuleType(name)
    sys.modules[name].__path__ = spec.submodule_search_locations or []

import anyio  # noqa: E402
import mcp_types as t  # noqa: E402
from mcp.server.lowlevel import NotificationOptions, Server  # noqa: E402
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged  # noqa: E402
from mcp.shared.exceptions import MCPError  # noqa: E402
from mcp.shared.message import SessionMessage  # noqa: E402

LEGACY = os.environ.get("ERA") == "legacy"
FORM = {"type": "object", "properties": {"name": {"type": "string"}}}
bus = InMemorySubscriptionBus()
extra: list[str] = []
cancelled: list[str] = []
tasks: list[dict[str, Any]] = []
ASKED_SOON = {
    "createdAt": "2026-07-28T00:00:00Z",
    "lastUpdatedAt": "2026-07-28T00:00:00Z",
    "ttlMs": None,
    "pollIntervalMs": 1,
}


def tool(name: str, read_only: bool = True, **properties: Any) -> t.Tool:
    schema = {"type": "object", "properties": properties}
    return t.Tool(
        name=name, description=name, input_schema=schema, annotations=t.ToolAnnotations(read_only_hint=read_only)
    )


async def list_tools(ctx: Any, params: Any) -> t.ListToolsResult:
    tools = [
        tool("echo", text={"type": "string"}),
        tool("write", False, id={"type": "string"}),
        tool("slow", seconds={"type": "number"}),
        tool("big", bytes={"type": "integer"}),
        tool("ask"),
        tool("sample"),
        tool("roots"),
        tool("steps"),
        tool("task", False, end={"type": "string"}, asks={"type": "boolean"}),
        tool("change", False),
        tool("environment"),
        tool("headers"),
        tool("cancelled"),
        tool("fail"),
        tool("pid"),
        tool("region", region={"type": "string", "x-mcp-header": "Region"}),
        *(tool(name) for name in extra),
    ]
    if path := os.environ.get("TTL"):
        with open(path) as ttl:
            return t.ListToolsResult(tools=tools, ttl_ms=int(ttl.read()), cache_scope="public")
    return t.ListToolsResult(tools=tools)


def text(value: Any) -> t.CallToolResult:
    return t.CallToolResult(content=[t.TextContent(text=value if isinstance(value, str) else json.dumps(value))])


async def call_tool(ctx: Any, params: Any) -> Any:
    name, arguments = params.name, params.arguments or {}
    if path := os.environ.get("LOG"):
        with open(path, "a") as log:
            log.write(json.dumps([name, arguments]) + "\n")
    match name:
        case "echo" | "write" | "region":
            return text(arguments)
        case "slow":
            try:
                await anyio.sleep(0 if "HURRY" in os.environ else arguments["seconds"])
            except anyio.get_cancelled_exc_class():
                cancelled.append("slow")
                raise
            return text("done")
        case "big":
            return text("x" * arguments["bytes"])
        case "steps":
            for step in range(3):
                await ctx.session.report_progress(step + 1, 3, f"step {step + 1}")
            return text("done")
        case "change":
            extra.append(f"new_{len(extra)}")
            await bus.publish(ToolsListChanged())
            if LEGACY or ctx.session.protocol_version != "2026-07-28":
                await ctx.session.send_tool_list_changed()
            return text("changed")
        case "environment":
            return text({**os.environ, "cwd": os.getcwd()})
        case "headers":
            return text(dict(ctx.request.headers))
        case "cancelled":
            return text(cancelled)
        case "pid":
            return text(str(os.getpid()))
        case "task":
            if "io.modelcontextprotocol/tasks" not in (ctx.session.client_capabilities.extensions or {}):
                return text("at once")
            tasks.append({"end": arguments["end"], "asked": not arguments.get("asks"), "polls": 0})
            return {"resultType": "task", "taskId": str(len(tasks) - 1), "status": "working", **ASKED_SOON}
        case "fail":
            raise MCPError(t.INVALID_PARAMS, "that is wrong")
        case "ask" | "sample" | "roots":
            return await asked(ctx, params, name)
        case _:
            raise MCPError(t.INVALID_PARAMS, f"unknown tool {name}")


class TaskParams(t.RequestParams):
    task_id: str
    input_responses: dict[str, Any] | None = None


async def about_task(ctx: Any, params: TaskParams) -> dict[str, Any]:
    """A task is at work when it is first asked for, then asks if it was told to, then ends as it was told to."""
    task = tasks[int(params.task_id)]
    if ctx.method == "tasks/cancel":
        cancelled.append("task")
        return {}
    if ctx.method == "tasks/update":
        task["asked"] = params.input_responses
        return {}
    task["polls"] += 1
    told: dict[str, Any] = {"taskId": params.task_id, "status": "working", **ASKED_SOON}
    if task["polls"] == 1 or task["end"] == "never":
        return {**told, "statusMessage": "half way"}
    if not task["asked"]:
        ask = t.ElicitRequest(params=t.ElicitRequestFormParams(message="Who?", requested_schema=FORM))
        asked = ask.model_dump(by_alias=True, mode="json", exclude_none=True)
        return {**told, "status": "input_required", "inputRequests": {"1": asked}}
    more: dict[str, Any] = {
        "completed": {"result": text(task["asked"]).model_dump(by_alias=True, mode="json", exclude_none=True)},
        "failed": {"error": {"code": -32020, "message": f"that is wrong {len(tasks)} times"}},
    }.get(task["end"], {})
    return {**told, "status": task["end"], **more}


async def asked(ctx: Any, params: Any, name: str) -> Any:
    """Ask the client, in the way of the era."""
    prompt = t.CreateMessageRequestParams(
        messages=[t.SamplingMessage(role="user", content=t.TextContent(text="Hello?"))], max_tokens=10
    )
    if ctx.session.protocol_version == "2026-07-28":
        if not params.input_responses:
            ask = t.ElicitRequest(params=t.ElicitRequestFormParams(message="Who?", requested_schema=FORM))
            others = {"sample": t.CreateMessageRequest(params=prompt), "roots": t.ListRootsRequest()}
            request: Any = others.get(name, ask)
            many = int((params.arguments or {}).get("many", 0))
            more = {f"q{n}": request for n in range(many)}
            return t.InputRequiredResult(input_requests={"q": request, **more}, request_state="token")
        assert params.request_state == "token"
        return text(params.input_responses["q"].model_dump(by_alias=True, mode="json", exclude_none=True))
    if name == "ask":
        answer: Any = await ctx.session.elicit_form("Who?", FORM, related_request_id=ctx.request_id)
    elif name == "roots":
        answer = await ctx.session.send_request(t.ListRootsRequest(), t.ListRootsResult)
    else:
        answer = await ctx.session.send_request(t.CreateMessageRequest(params=prompt), t.CreateMessageResult)
    return text(answer.model_dump(by_alias=True, mode="json", exclude_none=True))


async def not_modern(ctx: Any, call_next: Any) -> Any:
    if ctx.method == "server/discover":
        raise MCPError(t.METHOD_NOT_FOUND, "Method not found")
    return await call_next(ctx)


def make() -> Server[Any]:
    server: Server[Any] = Server(
        os.environ.get("NAME", "fixture"), version="1", instructions="Be kind.", on_list_tools=list_tools, on_call_tool=call_tool,
        on_subscriptions_listen=ListenHandler(bus),
    )  # fmt: skip
    for method in ("tasks/get", "tasks/update", "tasks/cancel"):
        server.add_request_handler(method, TaskParams, about_task)
    if LEGACY:
        server.middleware.append(not_modern)
    options = server.create_initialization_options
    server.create_initialization_options = lambda *_, **__: options(NotificationOptions(tools_changed=True))  # type: ignore[method-assign]
    return server


async def stdio() -> None:
    from mcp.server.stdio import stdio_server

    server = make()
    async with stdio_server() as (read, write):
        await server.run(Old(read, write) if LEGACY else read, write, server.create_initialization_options())


class Old:
    """Messages to a server that has never heard of discovery: the SDK's would settle the era by it."""

    def __init__(self, read: Any, write: Any) -> None:
        self.read, self.write = read, write

    async def __aenter__(self) -> Any:
        await self.read.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> None:
        await self.read.__aexit__(*error)

    async def aclose(self) -> None:
        await self.read.aclose()

    async def __aiter__(self) -> Any:
        async for item in self.read:
            if getattr(getattr(item, "message", None), "method", "") == "server/discover":
                error = t.ErrorData(code=t.METHOD_NOT_FOUND, message="Method not found")
                await self.write.send(SessionMessage(t.JSONRPCError(jsonrpc="2.0", id=item.message.id, error=error)))
            else:
                yield item


def http(kind: str, port: int) -> None:
    import uvicorn

    server = make()
    if kind == "sse":
        from mcp.server.sse import SseServerTransport
        from starlette.applications import Starlette
        from starlette.responses import Response
        from starlette.routing import Mount, Route

        transport = SseServerTransport("/messages/")

        async def connect(request: Any) -> Response:
            async with transport.connect_sse(request.scope, request.receive, request._send) as (read, write):
                await server.run(Old(read, write) if LEGACY else read, write, server.create_initialization_options())
            return Response()

        app: Any = Starlette(
            routes=[Route("/mcp", connect, methods=["GET"]), Mount("/messages/", transport.handle_post_message)]
        )
    else:
        app = server.streamable_http_app(json_response=kind == "json")
    uvicorn.run(app, host="127.0.0.1", port=port, log_level="warning", timeout_graceful_shutdown=1)


if __name__ == "__main__":
    if sys.argv[1] == "stdio":
        anyio.run(stdio)
    else:
        http(sys.argv[1], int(sys.argv[2]))
