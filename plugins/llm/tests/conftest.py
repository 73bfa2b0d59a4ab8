"""A provider on loopback that records what reaches it, and answers whatever a test wants."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from doorward import Gateway
from doorward_testing.samples import InProcess


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def completion(text: str, *, prompt: int = 10, answer: int = 5) -> dict[str, Any]:
    """An answer as providers give it."""
    usage = {"prompt_tokens": prompt, "completion_tokens": answer, "total_tokens": prompt + answer}
    return {"model": "m", "choices": [{"index": 0, "message": {"role": "assistant", "content": text}}], "usage": usage}


class Provider:
    """An OpenAI-compatible API. `answers` are given one after the other, the last one for ever: a text, a whole answer,
    (status, headers, body), or what makes any of these of a request's body."""

    def __init__(self) -> None:
        self.seen: list[dict[str, Any]] = []
        self.answers: list[Any] = ["Hello!"]
        self.stopped = threading.Event()
        provider = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                body = json.loads(raw)
                headers = {name.lower(): value for name, value in self.headers.items()}
                provider.seen.append({"path": self.path, "headers": headers, "body": body, "raw": raw.decode()})
                found = provider.answers.pop(0) if len(provider.answers) > 1 else provider.answers[0]
                found = found(body) if callable(found) else found
                if found == "for ever":
                    self._drip()
                    return
                found = completion(found) if isinstance(found, str) else found
                status, extra, content = found if isinstance(found, tuple) else (200, {}, found)
                content = content if isinstance(content, bytes) else json.dumps(content).encode()
                self.send_response(status)
                for name, value in {"Content-Type": "application/json", **extra}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                with contextlib.suppress(OSError):  # the client has read enough
                    self.wfile.write(content)

            def _drip(self) -> None:
                """Send a little again and again, and never come to an end."""
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.end_headers()
                self.close_connection = True
                with contextlib.suppress(OSError):
                    while not provider.stopped.wait(0.01):
                        self.wfile.write(b" ")

            def log_message(self, *args: Any) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True

        self._server = Server(("127.0.0.1", 0), Handler)
        self.origin = f"http://127.0.0.1:{self._server.server_port}"
        self.url = f"{self.origin}/v1"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    @property
    def prompts(self) -> list[str]:
        """The last message of each request."""
        return [each["body"]["messages"][-1]["content"] for each in self.seen]

    def close(self) -> None:
        self.stopped.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture
def provider() -> Iterator[Provider]:
    server = Provider()
    yield server
    server.close()


Open = Callable[..., contextlib.AbstractAsyncContextManager[Gateway]]


@pytest.fixture
def asking(host: Any, provider: Provider) -> Open:
    """Opens a gateway with the server `other` (the executor of tests knows no `llm`). Words are settings of the server; `more` is further
    configuration, `shelf` another server."""
    host.install_real("llm", "runs", "doorward-store-sqlite")
    host.install("executor", "here", InProcess)

    @contextlib.asynccontextmanager
    async def opened(
        *, more: Any = None, options: Any = None, shelf: Any = None, **settings: Any
    ) -> AsyncIterator[Gateway]:
        given = {"source": "llm", "base_url": provider.url, "model": "m", **settings}
        server = {name: value for name, value in given.items() if value is not None}
        servers = {"other": server} | ({"shelf": shelf} if shelf else {})
        config = {"executor": "here", "servers": servers, **(more or {})}
        async with host.gateway(config, **(options or {})) as gate:
            yield gate

    return opened
