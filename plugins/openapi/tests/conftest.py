"""An HTTP server on loopback that tells what it received, and a source for any document."""

from __future__ import annotations

import json
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from doorward import Call, Compiled, ServerContext
from doorward_openapi import OpenAPI


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def _installed(request: Any) -> None:
    """Programs have the helpers that make calls; functions are written as Python."""
    if "host" in request.fixturenames:
        request.getfixturevalue("host").install_real("program_helpers", "text")


class Upstream:
    """The server: `answers` maps a path to (status, headers, body), or to what makes these of a request; any other path
    is echoed as JSON."""

    def __init__(self) -> None:
        self.seen: list[dict[str, Any]] = []
        self.answers: dict[str, Any] = {}
        upstream = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                body = self.rfile.read(length).decode("latin-1")
                headers = [[k, v] for k, v in self.headers.items()]
                told = {"method": self.command, "path": self.path, "headers": headers, "body": body}
                upstream.seen.append(told)
                path = self.path.partition("?")[0]
                found = upstream.answers.get(
                    path, (200, {"Content-Type": "application/json"}, json.dumps(told).encode())
                )
                status, extra, content = found(told) if callable(found) else found
                self.send_response(status)
                for name, value in extra.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = do_QUERY = do_OPTIONS = answer

            def log_message(self, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def header(self, name: str) -> list[str]:
        """The values of a header of the last request."""
        return [v for k, v in self.seen[-1]["headers"] if k.lower() == name.lower()]


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    server = Upstream()
    yield server
    server.close()


elsewhere = upstream
"""A server of another origin."""


class Api:
    """A source made of a document, and its functions by name."""

    def __init__(self, source: OpenAPI, compiled: Compiled) -> None:
        self.source = source
        self.compiled = compiled
        self.functions = {f.name: f for f in compiled.functions}

    async def call(self, name: str, **arguments: Any) -> Any:
        reply = await self.source.call(Call(self.functions[name], arguments))
        return reply if isinstance(reply.value, bytes) else reply.value


@pytest.fixture
async def api(tmp_path: Path, upstream: Upstream, anyio_backend: str) -> AsyncIterator[Callable[..., Any]]:
    """Makes an Api of a document (a dictionary, text or bytes); `base_url` is the upstream's if nothing else is
    said."""
    opened: list[OpenAPI] = []

    async def make(
        document: Any, *, name: str = "openapi.json", auth: Any = None, filled: Any = (), **settings: Any
    ) -> Api:
        raw = (
            document
            if isinstance(document, bytes)
            else document.encode()
            if isinstance(document, str)
            else json.dumps(document).encode()
        )
        (tmp_path / name).write_bytes(raw)
        settings = {"spec": name, "base_url": upstream.url, **settings}
        definitions: dict[str, Any] = {}
        source = OpenAPI(
            ServerContext(
                *("api", OpenAPI.Settings(**settings), tmp_path, tmp_path / "state", lambda: auth),
                definition=definitions.get,
                filled=lambda: filled,
            )
        )
        opened.append(source)
        compiled = await source.compile()
        definitions.update(compiled.definitions)
        return Api(source, compiled)

    yield make
    for source in opened:
        await source.close()


def document(paths: Any, **more: Any) -> dict[str, Any]:
    return {"openapi": "3.1.0", "info": {"title": "t", "version": "1"}, "paths": paths, **more}


def operation(method: str = "get", path: str = "/x", **node: Any) -> dict[str, Any]:
    """A document of one operation, named `op`."""
    return document({path: {method: {"operationId": "op", **node}}})


@pytest.fixture(name="document")
def _document() -> Callable[..., dict[str, Any]]:
    return document


@pytest.fixture(name="operation")
def _operation() -> Callable[..., dict[str, Any]]:
    return operation
