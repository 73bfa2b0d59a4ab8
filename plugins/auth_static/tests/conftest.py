"""An API on loopback, for the tests of `static` and its like."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Api(ThreadingHTTPServer):
    """Keeps in mind what it got: paths and headers."""

    seen: list[tuple[str, dict[str, str]]]


class Door(BaseHTTPRequestHandler):
    """Tells what it got. It refuses the token `old`, gives a `new` one at /token, and redirects from /away."""

    server: Api

    def do_GET(self) -> None:
        self.server.seen.append((self.path, dict(self.headers)))
        code = 302 if self.path.startswith("/away") else 401 if self.headers.get("X-Fetched") == "old" else 200
        body = json.dumps({"path": self.path, "headers": dict(self.headers)}).encode()
        self.send_response(code)
        if code == 302:
            self.send_header("Location", f"http://localhost:{self.server.server_port}/stolen")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture(scope="module")
def api() -> Iterator[Api]:
    server = Api(("127.0.0.1", 0), Door)
    server.seen = []
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def door(api: Api) -> Api:
    """It, with nothing in mind."""
    api.seen.clear()
    return api


@pytest.fixture(scope="module")
def url(api: Api) -> str:
    return f"http://127.0.0.1:{api.server_port}"
