"""What `doorward mock` serves: APIs and MCP servers over HTTP on loopback, or one MCP server over stdio."""

from __future__ import annotations

import json
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import anyio
import mcp_types as t
import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Mount
from starlette.types import Receive, Scope, Send

from doorward_durable_runs.mock_answers import HOST, TOOL, Mock

MAX_BODY_BYTES = 50 * 2**20
_HOSTS = [HOST, "localhost"]


def app_of(mock: Mock) -> Starlette:
    """The application. Only this machine is to ask it, and no page in a browser but one of this machine."""
    sessions = {
        name: StreamableHTTPSessionManager(
            server_of(mock, name), json_response=True, stateless=True, max_request_body_size=MAX_BODY_BYTES
        )
        for name in mock.tools
    }

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for each in sessions.values():
                await stack.enter_async_context(each.run())
            yield

    async def respond(scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        if any(urlsplit(each).hostname not in _HOSTS for each in request.headers.getlist("origin")):
            await PlainTextResponse("this origin may not ask", 403)(scope, receive, send)
            return
        target = scope["raw_path"].decode("latin-1")
        if (of_tools := sessions.get(target.split("/")[1])) is not None:
            await of_tools.handle_request(scope, receive, send)
            return
        body = bytearray()
        async for part in request.stream():
            if len(body) + len(part) > MAX_BODY_BYTES:
                await PlainTextResponse("the body is too large", 413)(scope, receive, send)
                return
            body += part
        query = scope["query_string"].decode("latin-1")
        answer = mock.answer(request.method, f"{target}?{query}" if query else target, bytes(body) or None)
        await anyio.sleep(answer.seconds)
        await Response(answer.body, answer.status, answer.headers)(scope, receive, send)

    hosts = Middleware(TrustedHostMiddleware, allowed_hosts=_HOSTS, www_redirect=False)
    return Starlette(routes=[Mount("/", respond)], middleware=[hosts], lifespan=lifespan)


def server_of(mock: Mock, name: str) -> Server[Any]:
    """The MCP server of this name: its tools are those that were called."""

    async def listed(ctx: Any, params: Any) -> t.ListToolsResult:
        return t.ListToolsResult(tools=[t.Tool.model_validate(each) for each in mock.tools[name].values()])

    async def called(ctx: Any, params: t.CallToolRequestParams) -> t.CallToolResult:
        answer = mock.answer(TOOL, f"/{name}/{params.name}", json.dumps(params.arguments or {}).encode())
        await anyio.sleep(answer.seconds)
        if answer.status != 200:
            content: list[t.ContentBlock] = [t.TextContent(type="text", text=json.loads(answer.body)["error"])]
            return t.CallToolResult(content=content, is_error=True)
        return t.CallToolResult.model_validate_json(answer.body)

    return Server(name, on_list_tools=listed, on_call_tool=called)


async def serve(mock: Mock, listening: socket.socket) -> None:
    """Serve all servers until the process is told to end. Requests may carry credentials: nothing is logged."""
    how = partial(uvicorn.Config, http="h11", ws="none", log_level="critical", access_log=False)
    await uvicorn.Server(how(app_of(mock), timeout_graceful_shutdown=1)).serve(sockets=[listening])


async def serve_stdio(mock: Mock, name: str) -> None:
    """Be one MCP server until standard input ends."""
    server = server_of(mock, name)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())
