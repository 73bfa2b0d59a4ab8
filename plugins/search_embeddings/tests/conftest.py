"""A small model that the test makes, and an endpoint on loopback."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import AsyncIterator, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from doorward import Gateway
from doorward_search_embeddings import Embeddings
from doorward_testing import Host, reserve_port

WORDS = ["[UNK]", "forecast", "umbrella", "station", "outpost", "weather", "city"]
VECTORS = [[0, 0, 0], [1, 0.1, 0], [1, 0, 0.1], [0, 1, 0.1], [0.1, 1, 0], [0.1, 0.1, 1], [0.2, 0.1, 0.9]]
CONFIG = """
executor = "inprocess"
cache = "none"
plugins = []
search_view = ["embeddings"]
[search_views.embeddings]
{settings}
[servers.weather]
source = "fake"
"""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def _installed(doorward_host: Host) -> None:
    doorward_host.install_real("search", "search_view", "search_views", "doorward-store-sqlite")


def save_model(folder: Path, vectors: Any = VECTORS, **more: Any) -> Path:
    """A static model that knows `WORDS`, in the form of model2vec; `more` are further tensors."""
    from safetensors.numpy import save_file
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace

    folder.mkdir(exist_ok=True)
    tokenizer = Tokenizer(WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.save(str(folder / "tokenizer.json"))
    save_file({"embeddings": np.array(vectors, np.float32), **more}, folder / "model.safetensors")
    (folder / "config.json").write_text('{"normalize": true}')
    return folder


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return save_model(tmp_path / "model")


class Endpoint:
    """An OpenAI-compatible endpoint. `answer` is a status and a body, in place of embeddings; `delay` holds it up."""

    def __init__(self) -> None:
        self.seen: list[dict[str, Any]] = []
        self.answer: tuple[int, dict[str, str], bytes] | None = None
        self.delay = 0.0
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                headers = {name.lower(): value for name, value in self.headers.items()}
                endpoint.seen.append({"path": self.path, "headers": headers, "body": body})
                time.sleep(endpoint.delay)
                status, more, content = endpoint.answer or (200, {}, embedded(body["input"]))
                self.send_response(status)
                for name, value in {"Content-Type": "application/json", **more}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                with contextlib.suppress(OSError):  # the client has read enough
                    self.wfile.write(content)

            def log_message(self, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", reserve_port()), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def texts(self) -> list[str]:
        """All texts that it was sent."""
        return [text for request in self.seen for text in request["body"]["input"]]

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def embedded(texts: list[str]) -> bytes:
    """What an endpoint answers: the mean of the vectors of the words, and the last text first."""
    known = dict(zip(WORDS, VECTORS, strict=True))
    data = []
    for number, text in enumerate(texts):
        found = [known[word] for word in text.lower().replace(":", " ").split() if word in known] or [[0, 0, 0]]
        data.append({"object": "embedding", "index": number, "embedding": np.mean(found, axis=0).tolist()})
    return json.dumps({"object": "list", "data": data[::-1], "model": "m"}).encode()


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    made = Endpoint()
    yield made
    made.close()


@contextlib.asynccontextmanager
async def opened(host: Host, settings: str, more: str = "", **options: Any) -> AsyncIterator[Gateway]:
    """A gateway with the view, once all functions are embedded; as far as they can be."""
    host.install("search_view", "embeddings", Embeddings)
    async with host.gateway(CONFIG.format(settings=settings) + more, **options) as gate:
        await gate.ready()
        await gate.search_engine().prepare()
        yield gate
    host.entries = [entry for entry in host.entries if entry.kind != "search_view"]


def names(found: Any) -> list[str]:
    return [hit["function"] for hit in found["functions"]]
