"""An API on loopback that answers with what it was sent, and the source that calls it: what conformance tests of auths
need."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from doorward import ApiError, Call, Compiled, Function, Reply, ServerContext, Settings

from doorward_testing.conformance.base import origin

if TYPE_CHECKING:
    import ssl

    import httpx2

AT_ONCE = 64
"""Requests to `/together` that wait for each other."""
MEET_SECONDS = 60.0
"""How long they wait."""
PATHS = ("/unsigned", "/echo", "/refused", "/together", "/stolen")
"""The paths of the API."""


@dataclass(frozen=True)
class Request:
    """A request as the server got it. The names of its `headers` are in small letters; `path` has no query."""

    method: str
    path: str
    query: str
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""

    @property
    def whole(self) -> str:
        """Everything that a server could send back."""
        return json.dumps([self.path, self.query, self.headers, self.body.decode("latin-1")])


Answer = tuple[int, dict[str, str], Any]
"""Status, headers, and a body: bytes, or a value that becomes JSON."""
HOW_TO_ANSWER = 'Return (status, headers, body), such as (200, {}, {"token": "…"}), or None.'


class EchoServer:
    """The server. `seen` are the requests to it, and `calls` those to the API. `answer` answers the others, or they
    get a 404. A call of `/refused` gets a 422, one whose credentials `is_over` knows a 401, and one of `/together`
    waits for others. `fault` says what is wrong with `answer`, if anything is."""

    def __init__(self, answer: Callable[[Request], Answer | None]) -> None:
        self.seen: list[Request] = []
        self.fault = ""
        self.is_over: Callable[[Request], bool] = lambda request: False
        self._answer = answer
        self._met = threading.Barrier(AT_ONCE)
        echo = self

        class Handler(BaseHTTPRequestHandler):
            def do(self) -> None:
                path, _, query = self.path.partition("?")
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                headers = {name.lower(): value for name, value in self.headers.items()}
                status, more, content = echo._answered(Request(self.command, path, query, headers, body))
                self.send_response(status)
                for name, value in {"Content-Type": "application/json", **more}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_POST = do_PUT = do_DELETE = do

            def log_message(self, *_: Any) -> None:
                pass

        self._server = type("Server", (ThreadingHTTPServer,), {"request_queue_size": 2 * AT_ONCE})(
            ("127.0.0.1", 0), Handler
        )
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def _answered(self, request: Request) -> tuple[int, dict[str, str], bytes]:
        self.seen.append(request)
        asked = f"`answer`, given {request.method} {request.path},"
        try:
            found = self._answer(request)
        except Exception as error:
            return self._failed(f"{asked} raised {type(error).__name__}: {error}. {HOW_TO_ANSWER}{origin(error)}")
        try:
            return _encoded(self._echoed(request) if found is None else found)
        except (TypeError, ValueError):
            return self._failed(f"{asked} returned {found!r}. {HOW_TO_ANSWER}")

    def _failed(self, fault: str) -> tuple[int, dict[str, str], bytes]:
        self.fault = self.fault or fault
        self._met.abort()  # the others of `/together` may never come
        return 500, {}, b"{}"

    def _echoed(self, request: Request) -> Answer:
        if request.path not in PATHS:
            return 404, {}, {"error": "there is nothing here"}
        if self.is_over(request):
            return 401, {"WWW-Authenticate": "Bearer"}, {"error": "these credentials are over"}
        if request.path == "/together":
            self._met.wait(MEET_SECONDS)
        echoed = {f"x-echo-{name}": value for name, value in request.headers.items()}
        said = {"query": request.query, "headers": request.headers, "values": list(request.headers.values())}
        return 422 if request.path == "/refused" else 200, echoed, said | {request.whole: "a key"}

    @property
    def calls(self) -> list[Request]:
        return [request for request in self.seen if request.path in PATHS]

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def _encoded(answer: Answer) -> tuple[int, dict[str, str], bytes]:
    """An answer with its body as bytes. Raises: TypeError, ValueError if it is none."""
    status, headers, body = answer
    if type(status) is not int or not all(isinstance(value, str) for value in {**headers}.values()):
        raise TypeError
    return status, headers, body if isinstance(body, bytes) else json.dumps(body).encode()


def no_authorities() -> ssl.SSLContext:
    """For clients of an API on loopback: they trust nobody, because reading whom to trust takes 20 ms for each."""
    import ssl

    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


class EchoSettings(Settings):
    url: str


class Echo:
    """A source of `echo`, `refused` and `together`: each calls the path of its name."""

    Settings = EchoSettings

    def __init__(self, server: ServerContext[EchoSettings]) -> None:
        self._server = server
        self._client: httpx2.AsyncClient | None = None

    async def fingerprint(self) -> str:
        return "1"

    async def compile(self) -> Compiled:
        return Compiled([Function(self._server.name, name, read_only=True) for name in ("echo", "refused", "together")])

    async def call(self, call: Call) -> Reply:
        if self._client is None:
            import httpx2

            limits = httpx2.Limits(max_connections=None)
            auth, verify = self._server.auth(), no_authorities()
            self._client = httpx2.AsyncClient(auth=auth, verify=verify, timeout=2 * MEET_SECONDS, limits=limits)
        response = await self._client.get(f"{self._server.settings.url}/{call.function.name}")
        body = response.json()
        if response.status_code >= 400:
            raise ApiError(f"it answered {response.text}", status=response.status_code, body=body)
        return Reply(body, status=response.status_code, headers=dict(response.headers))

    async def close(self) -> None:
        if self._client is not None:
            await self._client.aclose()
