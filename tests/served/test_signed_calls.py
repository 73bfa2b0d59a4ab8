"""An auth that signs each request, and upstreams that give the signatures back: late, in another order, and in every
place. None is seen by a program, however many calls are made at once."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import secrets
import threading
from collections.abc import AsyncIterator, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from doorward import PluginContext, Secret, Settings

pytestmark = pytest.mark.anyio

CALLS = 64
"""Calls of one run at the same time; two runs are made at once."""
HIDDEN = "[secret]"
API = """
async def echo(n):
    how = ["result", "error", "header", "file"][n % 4]
    try:
        answer = await doorward.reply(api.echo, how=how) if how == "header" else await api.echo(how=how)
        return doorward.read(answer) if how == "file" else answer
    except doorward.ApiError as error:
        return [str(error), error.body]
"""
TOOL = """
async def echo(n):
    try:
        return await api.echo(how=["result", "error"][n % 2])
    except Exception as error:
        return str(error)
"""
PROGRAM = f"import asyncio, doorward, api\n%s\nawait asyncio.gather(*[echo(n) for n in range({CALLS})])"


class SignedSettings(Settings):
    key: Secret


class Signed:
    """Each request has a signature of its own."""

    Settings = SignedSettings

    def __init__(self, context: PluginContext[SignedSettings]) -> None:
        self.context = context

    def create_auth(self) -> httpx2.Auth:
        context = self.context

        class Signing(httpx2.Auth):
            async def async_auth_flow(self, request: httpx2.Request) -> AsyncIterator[httpx2.Request]:  # type: ignore[override]
                key = await context.settings.key.get()
                signature = hmac.new(key.encode(), secrets.token_bytes(16), hashlib.sha256).hexdigest()
                context.redact(signature)
                request.headers["X-Signature"] = signature
                yield request

        return Signing()


class Echo(ThreadingHTTPServer):
    """An API and an MCP server. Calls are answered when `together` of them have come, the last one first."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.seen: list[str] = []
        self.calls: list[str] = []
        self.first = ""
        self.turn = threading.Condition()
        self.together = CALLS
        self.answered = 0

    def wait(self, signature: str) -> None:
        """Wait until all are here, and all later ones are answered."""
        with self.turn:
            self.calls.append(signature)
            mine = len(self.calls)
            group = (mine - 1) // self.together
            before = group * self.together + (self.together - (mine - 1) % self.together - 1)
            self.turn.notify_all()
            ready = (group + 1) * self.together
            assert self.turn.wait_for(lambda: len(self.calls) >= ready and self.answered >= before, 100)

    def done(self) -> None:
        with self.turn:
            self.answered += 1
            self.turn.notify_all()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Echo

    def do_GET(self) -> None:
        signature = self.headers["X-Signature"] or ""
        self.server.seen.append(signature)
        if self.path == "/openapi.json":
            return self.answer(json.dumps(SPEC).encode())
        if self.path == "/mcp":
            return self.answer(b"", status=405)
        self.server.wait(signature)
        try:
            match parse_qs(urlsplit(self.path).query)["how"][0]:
                case "result":
                    self.answer(json.dumps({"got": signature, signature: [signature[::-1]]}).encode())
                case "error":
                    self.answer(json.dumps({"message": f"bad {signature}", "sent": signature}).encode(), status=422)
                case "header":
                    self.answer(b"{}", **{"X-Echo": signature})
                case "file":
                    self.answer(b"\0\1" + signature.encode(), type="application/octet-stream")
        finally:
            self.server.done()
        return None

    def do_POST(self) -> None:
        signature = self.headers["X-Signature"] or ""
        self.server.seen.append(signature)
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if "id" not in asked:
            return self.answer(b"", status=202)
        match asked["method"]:
            case "initialize":
                self.server.first = signature
                told = {
                    "protocolVersion": "2025-11-25",
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": "echo", "version": signature},
                }
            case "tools/list":
                schema = {"type": "object", "properties": {"how": {"type": "string"}}}
                told = {"tools": [{"name": "echo", "description": signature, "inputSchema": schema}]}
            case "tools/call":
                self.server.wait(signature)
                how = asked["params"]["arguments"]["how"]
                text = f"got {self.server.first if how == 'first' else signature}"
                told = {"content": [{"type": "text", "text": text}], "isError": how == "error"}
                self.answer(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": told}).encode())
                return self.server.done()
            case _:
                error = {"code": -32601, "message": "no such method"}
                return self.answer(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "error": error}).encode())
        return self.answer(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": told}).encode())

    do_DELETE = do_GET

    def answer(self, body: bytes, *, status: int = 200, type: str = "application/json", **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": type, "Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words: Any) -> None:
        pass


SPEC = {
    "openapi": "3.1.0",
    "info": {"title": "Echo", "version": "1"},
    "paths": {
        "/echo": {
            "get": {
                "operationId": "echo",
                "parameters": [{"name": "how", "in": "query", "required": True, "schema": {"type": "string"}}],
                "responses": {"200": {"description": "what was sent"}},
            }
        }
    },
}


@pytest.fixture
def echo() -> Iterator[Echo]:
    with Echo() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


CONFIG = """
executor = "monty"
plugins = []
cache = "none"
[limits]
timeout = 120
[servers.api]
auth = {{ type = "signed", key = "${{KEY}}" }}
{source}
"""
SOURCES = {
    "openapi": ('source = "openapi"\nspec = "openapi.json"\nbase_url = "{url}"', API),
    "mcp": ('source = "mcp"\nurl = "{url}/mcp"', TOOL),
}


@pytest.fixture
def config(host: Any, echo: Echo, kind: str) -> str:
    host.install("auth", "signed", Signed)
    host.install_real("openapi", "mcp", "monty", "program_helpers")
    (host.folder / "openapi.json").write_text(json.dumps(SPEC))
    (host.folder / ".env").write_text(f"KEY={secrets.token_hex(16)}\n")
    return CONFIG.format(source=SOURCES[kind][0].format(url=echo.url))


@pytest.mark.parametrize("kind", SOURCES)
async def test_no_signature_is_seen(host: Any, echo: Echo, config: str, kind: str) -> None:
    """128 signed calls of two runs at the same time, each answered after 64 others were sent: results, errors, headers
    and files hold `[secret]` in place of what the request carried."""
    program = PROGRAM % SOURCES[kind][1]
    async with host.gateway(config) as gate:
        outcomes = await asyncio.gather(gate.execute(program), gate.execute(program))
        outcomes += await asyncio.gather(gate.execute(program), gate.execute(program))
    assert len(echo.calls) == 4 * CALLS
    assert len(set(echo.seen)) == len(echo.seen)
    for outcome in outcomes:
        assert outcome.ok, outcome.error
        text = json.dumps([outcome.value, outcome.printed, outcome.notes, repr(outcome)])
        assert text.count(HIDDEN) >= CALLS
        assert [each for each in echo.seen if each in text or each[::-1] in text] == []
    stored = [file.read_bytes() for file in (host.folder / "state").rglob("*") if file.is_file()]
    assert [each for each in echo.seen for content in stored if each.encode() in content] == []


@pytest.mark.parametrize("kind", ["mcp"])
async def test_what_a_session_began_with_is_not_seen(host: Any, echo: Echo, config: str) -> None:
    """Nor after far more calls than values are remembered: a server may tell at any time what it was sent first."""
    echo.together = 1
    async with host.gateway(config) as gate:
        for _ in range(50):
            await gate.call("api.echo", {"how": "result"})
        told = json.dumps(await gate.call("api.echo", {"how": "first"}))
    assert echo.first
    assert echo.first not in told
    assert HIDDEN in told
