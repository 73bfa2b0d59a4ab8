"""`doorward mock`: serves an API on this machine out of recorded runs, for tests of programs, and for CI."""

from __future__ import annotations

import json
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import anyio
import click
from doorward import LOCAL, ApiError, Gateway, InvalidArguments, RateLimited, UnknownName
from doorward.abilities import TellsRequests
from doorward.administration import bind_arguments, plain_value
from doorward.configuration import module_name
from doorward.recording import RECORDINGS, RecordedCall
from doorward_cli import Project, common, print_json, say

from doorward_durable_runs.journal.entries import HELPERS

HOST = "127.0.0.1"
NOT_RECORDED = 501
MAX_BODY_BYTES = 50 * 2**20


@dataclass(frozen=True, slots=True)
class Answer:
    """How a request is answered, after so many seconds."""

    status: int
    body: bytes
    headers: Mapping[str, str]
    seconds: float


class Mock:
    """The recorded answers by their requests. One that was made several times gets its answers in their order, and
    the last one from then on."""

    def __init__(self) -> None:
        self._answers: dict[tuple[object, ...], deque[Answer]] = {}
        self._lock = Lock()
        self.servers: set[str] = set()
        self.unserved: dict[str, str] = {}
        """Functions of which no answer is served, and why."""

    def add(self, server: str, method: str, target: str, body: bytes | None, answer: Answer) -> None:
        self.servers.add(server)
        self._answers.setdefault(_key(method, f"/{server}{target}", body), deque()).append(answer)

    def answer(self, method: str, target: str, body: bytes | None) -> Answer:
        with self._lock:
            if found := self._answers.get(_key(method, target, body)):
                return found.popleft() if len(found) > 1 else found[0]
        told = json.dumps({"error": f"no answer to {method} {target[:500]} is recorded"})
        return Answer(NOT_RECORDED, told.encode(), _JSON, 0.0)

    @property
    def count(self) -> int:
        return sum(map(len, self._answers.values()))


_JSON = {"Content-Type": "application/json"}


def _key(method: str, target: str, body: bytes | None) -> tuple[object, ...]:
    """What makes two requests the same: neither the order of the query nor the layout of JSON."""
    parts = urlsplit(target)
    try:
        said: object = json.dumps(json.loads(body), sort_keys=True) if body else None
    except ValueError:
        said = body
    return method, unquote(parts.path), tuple(sorted(parse_qsl(parts.query, keep_blank_values=True))), said


def _answer(call: RecordedCall, *, latency: bool) -> Answer:
    seconds = call.ms / 1000 if latency else 0.0
    match call.error:
        case ApiError(status=status, body=body):
            later = getattr(call.error, "retry_after", None)
            headers = {**_JSON} | ({"Retry-After": f"{later:g}"} if later is not None else {})
            return Answer(status, json.dumps(body).encode(), headers, seconds)
        case RateLimited(retry_after=later):
            return Answer(429, b"{}", {**_JSON, "Retry-After": f"{later or 0:g}"}, seconds)
        case None:
            value, status = (call.reply.value, call.reply.status or 200) if call.reply else (None, 200)
            if isinstance(value, bytes):
                return Answer(status, value, {"Content-Type": "application/octet-stream"}, seconds)
            body = b"" if status == 204 else json.dumps(plain_value(value)).encode()
            return Answer(status, body, _JSON, seconds)
        case error:
            return Answer(502, json.dumps({"error": error.message}).encode(), _JSON, seconds)


def _add(gate: Gateway, mock: Mock, latency: bool, call: RecordedCall) -> None:
    """Have a recorded call answered, if its function is still there and takes it."""
    if call.function.startswith(HELPERS):
        return
    kinds = {module_name(name): settings["source"] for name, settings in gate.config.servers.items()}
    try:
        function = gate.broker.functions.find(call.function, LOCAL)
        arguments = bind_arguments(function, call.args, call.kwargs, gate.catalog)
    except (UnknownName, InvalidArguments) as error:
        mock.unserved[call.function] = error.message
        return
    driver: object = gate.plugins.driver("source", kinds[module_name(function.server)])
    if not isinstance(driver, TellsRequests):
        mock.unserved[call.function] = "its source cannot say by which HTTP requests it is reached"
        return
    method, target, body = driver.sent(function, arguments)
    mock.add(module_name(function.server), method, target, body, _answer(call, latency=latency))


async def mock_of(project: Project, runs: tuple[str, ...], *, latency: bool) -> Mock:
    """What runs, or files of recordings, were answered. Their programs run again on these answers, so that the
    arguments of each call are known whole. Raises: DoorwardError."""
    mock, files = Mock(), {run: Path(run).read_text("utf-8") for run in runs if Path(run).is_file()}  # noqa: ASYNC240
    async with project.gateway() as gate:
        recordings = gate.services[RECORDINGS]
        for run in runs:
            recording = files.get(run) or await recordings.of_run(run)
            calls: list[RecordedCall] = []
            await recordings.replay(recording, None, calls.append)
            for call in calls:
                _add(gate, mock, latency, call)
    return mock


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def __init__(self, mock: Mock, *arguments: Any) -> None:
        self._mock = mock
        super().__init__(*arguments)

    def _do(self) -> None:
        size = int(self.headers.get("Content-Length") or 0)
        host = urlsplit(f"//{self.headers.get('Host', '')}").hostname
        if size > MAX_BODY_BYTES or host not in (HOST, "localhost"):  # a page in a browser may name another host
            self.close_connection = True
            answer = Answer(400, b"{}", _JSON, 0.0)
        else:
            answer = self._mock.answer(self.command, self.path, self.rfile.read(size) if size else None)
        time.sleep(answer.seconds)
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer.body)

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = _do

    def log_message(self, *arguments: Any) -> None:
        """Nothing: requests may carry credentials."""


def server_of(mock: Mock, port: int) -> ThreadingHTTPServer:
    """A server on loopback; port 0 is any free one."""
    return ThreadingHTTPServer((HOST, port), partial(_Handler, mock))


def serve(server: ThreadingHTTPServer) -> None:
    with server:
        server.serve_forever()


@click.command()
@common
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, help="The port on 127.0.0.1; any free one if not given."
)
@click.option("--latency/--no-latency", default=True, help="Whether answers take as long as they took.")
def mock(project: Project, runs: tuple[str, ...], port: int, latency: bool) -> None:
    """Serve the APIs that RUNs have called, on this machine alone, out of what was recorded: answers, how long they
    took, and failures. RUN is the id of a stored run, or a file of `doorward runs replay --bundle` or `doorward save`.

    Each server is below the URL that is printed: set it as its `base_url`, or give it to any other client. A request
    that is not recorded is answered with 501.
    """
    found = anyio.run(partial(mock_of, project, runs, latency=latency))
    server = server_of(found, port)
    at = {name: f"http://{HOST}:{server.server_address[1]}/{name}" for name in sorted(found.servers)}
    if project.json:
        print_json({"servers": at, "answers": found.count, "unserved": sorted(found.unserved)})
    else:
        say("\n".join([f"{found.count} recorded answers", *(f"{name}: {url}" for name, url in at.items())]))
    for name, why in sorted(found.unserved.items()):
        say(f"warning: {name} is not served: {why}", err=True)
    serve(server)
