"""What the tests of killed runs share: an API that counts writes and kills whoever calls it, its configuration, and
processes that run and resume programs."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import parse_qs, urlsplit
from urllib.request import urlopen

from .forked import script
from .product import Answering, until

ONCE = ("POST", "PATCH")
"""Methods whose calls may not be repeated."""


class Asked:
    """A process of `killed_process.py`: `victims`, or the `survivor`."""

    def __init__(self, role: str, config: Path) -> None:
        command = script("killed_process.py", role, str(config))
        alone = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}  # numpy's threads would not be forked
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=alone)
        self._answer()

    def ask(self, **asked: Any) -> dict[str, Any]:
        """What became of a run: its outcome, or that its process was killed."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(asked) + "\n")
        self.process.stdin.flush()
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        answer = json.loads(self.process.stdout.readline())
        assert isinstance(answer, dict)
        return answer


class Counting(Answering):
    """An API whose writes are counted. It kills its caller at the request that it was told, before or after it has done
    what was asked. A write with a key that it knows is not made again."""

    written: ClassVar[Counter[str]] = Counter()
    received: ClassVar[dict[str, str]] = {}
    """The names of all writes that it was asked for, done or not, and their methods."""

    faults: ClassVar[dict[tuple[int, str], Callable[[int], None]]] = {}
    """What else happens `before` or `after` a request is done, or when it is `answered`: it is passed the caller's
    process id."""

    keys: ClassVar[set[str]] = set()
    methods: ClassVar[list[str]] = []
    victim: tuple[int, str] = (0, "")
    lock = threading.Lock()

    @classmethod
    def begin(cls, victim: tuple[int, str] = (0, "")) -> None:
        """Forget what was, and kill the caller there."""
        Counting.written, Counting.keys, Counting.methods, Counting.victim = Counter(), set(), [], victim
        Counting.received, Counting.faults = {}, {}

    @classmethod
    def once(cls) -> dict[str, int]:
        """How often each write was made that may not be repeated; without the time and the chance in its name."""
        found: Counter[str] = Counter()
        for key, count in cls.written.items():
            if key.startswith(ONCE):
                found[re.sub(r"[@ ][\d.e-]+$", "", key)] += count
        return dict(found)

    def _answered(self) -> None:
        url = urlsplit(self.path)
        if url.path == "/quiet":
            self.answer({})
            return
        asked = {key: values[0] for key, values in parse_qs(url.query).items()}
        if length := int(self.headers.get("Content-Length", 0)):
            if len(body := self.rfile.read(length)) < length:
                return  # its caller was killed while it sent it
            asked |= json.loads(body)
        with self.lock:
            self.methods.append(self.command)
            number = len(self.methods)
            if self.command != "GET":
                self.received[asked["name"]] = self.command
        self._fail(number, "before")
        if self.victim == (number, "before"):
            self._kill()
            return
        if url.path == "/slow":
            time.sleep(int(asked["n"]) / 1000)
        self._write(asked)
        self._fail(number, "after")
        if self.victim == (number, "after"):
            self._kill()
            return
        self._tell(url.path, asked)
        self._fail(number, "answered")

    def _fail(self, number: int, when: str) -> None:
        if fault := self.faults.get((number, when)):
            fault(int(self.headers["X-Caller"]))

    def _write(self, asked: dict[str, Any]) -> None:
        if self.command == "GET":
            return
        key = self.headers.get("Idempotency-Key", "")
        with self.lock:
            if not key or key not in self.keys:
                self.written[f"{self.command} {asked['name']}"] += 1
            if key:
                self.keys.add(key)

    def _tell(self, path: str, asked: dict[str, Any]) -> None:
        if path.startswith("/fail"):
            self.answer({"message": f"no {asked.get('n', asked.get('name'))}"}, 404)
        elif path == "/nothing":
            self.send_response(204)
            self.end_headers()
        elif path == "/big":
            self.answer({"text": "".join(f"{n:9}," for n in range(100 * int(asked["n"])))})
        elif path == "/file":
            self.send_response(200)
            self.send_header("Content-Type", "image/png")
            content = b"\x89PNG\r\n\x1a\n" + bytes(1000 * int(asked["n"]))
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)
        else:
            self.answer({"n": asked.get("n", asked.get("name")), "value": len(str(asked)) * 7})

    def handle(self) -> None:
        with contextlib.suppress(ConnectionError):  # its caller was killed
            super().handle()

    def _kill(self) -> None:
        self.close_connection = True
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(self.headers["X-Caller"]), signal.SIGKILL)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _answered


_TIME_WAIT = "06"


class _Upstream(ThreadingHTTPServer):
    """Knows how many requests it has not done yet."""

    open = 0

    def process_request(self, request: Any, client_address: Any) -> None:
        with Counting.lock:
            self.open += 1
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        super().shutdown_request(request)
        with Counting.lock:
            self.open -= 1

    def wait(self) -> None:
        """Until all is done that was asked: also what a process asked for that was killed then."""
        with urlopen(f"http://127.0.0.1:{self.server_port}/quiet") as answer:  # it comes after those
            answer.read()
        assert until(lambda: not self.open and not self._underway())

    def _underway(self) -> bool:
        """Whether the system has a connection to us that no process holds, of one that was killed."""
        port = f":{self.server_port:04X}"
        sockets = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
        return any(
            port in local + remote and inode == "0" and state != _TIME_WAIT
            for _, local, remote, state, _, _, _, _, _, inode, *_ in sockets
        )


@contextlib.contextmanager
def counting() -> Iterator[tuple[str, Callable[[], None]]]:
    """The API on loopback: its base URL, and what waits until it has done all that it was asked."""
    with _Upstream(("127.0.0.1", 0), Counting) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", server.wait
        finally:
            server.shutdown()
            thread.join()


def is_written(text: str) -> bool:
    """Whether the API has done what a call says."""
    return any(f'"name": "{key.partition(" ")[2]}"' in text for key in Counting.written)


def document(url: str) -> dict[str, Any]:
    """The OpenAPI document of this API."""
    number = {"name": "n", "in": "query", "required": True, "schema": {"type": "integer"}}
    name = {"name": "name", "in": "query", "required": True, "schema": {"type": "string"}}
    body = {"content": {"application/json": {"schema": {
        "type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"],
    }}}}  # fmt: skip
    done: dict[str, Any] = {"responses": {"200": {"description": "ok", "content": {"application/json": {}}}}}
    return {"openapi": "3.1.0", "info": {"title": "Api", "version": "1"}, "servers": [{"url": url}], "paths": {
        "/item": {
            "get": {"operationId": "get_item", "parameters": [number], **done},
            "post": {"operationId": "add_item", "requestBody": body, **done},
            "put": {"operationId": "put_item", "requestBody": body, **done},
            "patch": {"operationId": "patch_item", "requestBody": body, **done},
            "delete": {"operationId": "drop_item", "parameters": [name], **done},
        },
        "/slow": {"get": {"operationId": "slow", "parameters": [number], **done}},
        "/big": {"get": {"operationId": "big", "parameters": [number], **done}},
        "/file": {"get": {"operationId": "file", "parameters": [number], **done}},
        "/nothing": {"get": {"operationId": "nothing", **done}},
        "/fail": {
            "get": {"operationId": "fail", "parameters": [number], **done},
            "post": {"operationId": "fail_item", "requestBody": body, **done},
        },
    }}  # fmt: skip


SERVER = """\
[servers.{name}]
source = "openapi"
spec = "api.json"
base_url = "{url}"
headers = {{ X-Caller = "${{CALLER}}" }}
retries = 0
"""


def configured(
    folder: Path, url: str, durable: str = "always", executor: str = 'executor = "monty"', runs: str = ""
) -> Path:
    """A configuration with this API: as `keyed`, it knows repeated writes by a key. What is added to it comes to the
    server `api`; `runs` comes to `[runs]`."""
    (folder / "api.json").write_text(json.dumps(document(url)))
    file = folder / "doorward.toml"
    servers = [SERVER.format(name=name, url=url) for name in ("keyed", "api")]
    file.write_text(f"""\
state = "state"
cache = "none"
{executor}
[limits]
rate = 1000000
[search]
learn = false
[runs]
durable = "{durable}"
most = 100000
{runs}
{servers[0]}idempotency_key = "Idempotency-Key"
{servers[1]}""")
    return file
