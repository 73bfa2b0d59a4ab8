"""Two `doorward serve` with folders of their own and one PostgreSQL database, behind a balancer that sends each request to
the next of them, whoever asks: clients cannot tell them from one."""

from __future__ import annotations

import contextlib
import http.client
import itertools
import json
import os
import signal
import threading
from collections.abc import Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import anyio
import mcp_types as t
import pytest

from .conftest import LIMITS, SHELF
from .forked import Forked
from .product import Agent, Answering, Api, connected
from .test_two_machines import RULE, Machines

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

KEY = 'vault_key = "a key of at least thirty-two characters"\n'
DOOR = """
[servers.door]
source = "openapi"
spec = "{url}/openapi.json"
base_url = "{url}"
auth = {{ type = "oauth2", flow = "client_credentials", token_url = "{url}/token", client_id = "us", client_secret = "s" }}

[[budgets]]
server = "door"
calls = 40
"""
CREATE = "import shelf\nresult = shelf.create_item(itemName={name!r})['itemName']"


class Door(Answering):
    """An API whose tokens end when it likes, and what gives them; it counts what it gave."""

    given: list[str]

    def do_POST(self) -> None:
        asked = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        assert asked["grant_type"] == ["client_credentials"]
        self.given.append(f"token-{len(self.given)}-of-the-door")
        self.server.good = self.given[-1]  # type: ignore[attr-defined]
        self.answer({"access_token": self.given[-1], "token_type": "Bearer", "expires_in": 3600})

    def do_GET(self) -> None:
        if self.path == "/openapi.json":
            ok = {"200": {"description": "ok", "content": {"application/json": {"schema": {"type": "object"}}}}}
            paths = {"/who": {"get": {"operationId": "who", "responses": ok}}}
            about = {"title": "door", "version": "1"}
            url = f"http://{self.headers['Host']}"
            self.answer({"openapi": "3.1.0", "info": about, "servers": [{"url": url}], "paths": paths})
        elif self.headers["Authorization"] == f"Bearer {self.server.good}":  # type: ignore[attr-defined]
            self.answer({"token": len(self.given)})
        else:
            self.answer({"error": "the token has ended"}, 401)


class Balancer(Answering):
    """Sends each request to the next of its servers that takes it. What broke off is not sent again."""

    protocol_version = "HTTP/1.1"
    turn: Iterator[int]
    urls: list[str]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        for _ in self.urls:
            at = urlsplit(self.urls[next(self.turn) % len(self.urls)])
            asked = http.client.HTTPConnection(at.hostname or "", at.port, timeout=300)
            try:
                asked.connect()
            except OSError:
                continue
            break
        self.close_connection = True
        try:
            asked.request(self.command, self.path, body, dict(self.headers.items()))
            answer = asked.getresponse()
            self.send_response(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in ("transfer-encoding", "connection", "content-length"):
                    self.send_header(name, value)
            self.send_header("Connection", "close")
            self.end_headers()
            while part := answer.read1(65536):
                self.wfile.write(part)
                self.wfile.flush()
        except (OSError, http.client.HTTPException):
            self.connection.close()
        finally:
            asked.close()

    do_GET = do_DELETE = do_POST


@contextlib.contextmanager
def listening(handler: type[Answering], **known: Any) -> Iterator[tuple[str, Any]]:
    """The URL of a server, and itself."""
    server: Any = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (handler,), known))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


async def yes(context: Any, params: Any) -> t.ElicitResult:
    return t.ElicitResult(action="accept", content={"answer": "approve once"})


@contextlib.contextmanager
def balanced(machines: Machines) -> Iterator[tuple[str, list[Any]]]:
    """The URL of both machines, and their processes."""
    with machines.each[0].http() as one, machines.each[1].http() as other:
        known = {"turn": itertools.count(), "urls": [one[0], other[0]]}
        with listening(Balancer, **known) as (url, _):
            yield f"{url}/mcp", [one[1], other[1]]


def person(url: str) -> contextlib.AbstractAsyncContextManager[Agent]:
    """A client whose person says yes."""
    return connected(url, elicitation_callback=yes)


async def test_they_are_as_one(tmp_path: Path, postgres: str) -> None:
    """What is asked at one is answered at the other, once; programs and results of one are those of the other; a token is
    fetched once for both each time that one has ended; and a budget is exact."""
    given: list[str] = []
    log = tmp_path / "created"
    with Api(log) as api, listening(Door, given=given) as (door, server):
        machines = Machines(tmp_path, postgres, KEY + LIMITS + RULE + SHELF.format(url=api.url) + DOOR.format(url=door))
        async with contextlib.AsyncExitStack() as stack:
            url, _ = stack.enter_context(balanced(machines))
            agents = [await stack.enter_async_context(person(url)) for _ in range(4)]
            names = [f"item {number}" for number in range(5)]
            assert [await agents[0].value(CREATE.format(name=name)) for name in names] == names
            assert [json.loads(line) for line in log.read_text().splitlines()] == names
            kept = await agents[0].run("size: int = 250_000\nresult = 'ä' * size")
            for size in (8, 9):
                again = await agents[0].call("run_cached_code", cache_id=kept["cache_id"], params={"size": size})
                assert again["value"] == "ä" * size
            for _ in range(2):
                uri = kept["truncated"]["rest"]
                assert await agents[0].value(f"import doorward\nlen(doorward.read({uri!r}))") == 250_000
            for ended in range(3):
                server.good = ""
                async with anyio.create_task_group() as tasks:
                    for agent in agents * 2:
                        tasks.start_soon(agent.value, "import door\nresult = door.who()['token']")
                assert len(given) == ended + 1
            spent = "import door\nmade = 0\nfor n in range(10):\n    try:\n        door.who()\n        made += 1\n"
            spent += "    except Exception:\n        break\nresult = made"
            made: list[int] = []

            async def spend(agent: Agent) -> None:
                made.append(await agent.value(spent))

            async with anyio.create_task_group() as tasks:
                for agent in agents:
                    tasks.start_soon(spend, agent)
            assert sum(made) == 40 - 3 * 8


async def test_one_is_killed(tmp_path: Path, postgres: str) -> None:
    """In the middle of what it does: what was answered has been written, and nothing is written twice, also when what
    it left goes on at the other."""
    log, answered = tmp_path / "created", list[str]()
    with Api(log) as api:
        config = KEY + LIMITS + '[runs]\ndurable = "always"\n' + RULE + SHELF.format(url=api.url)
        machines = Machines(tmp_path, postgres, config)
        with balanced(machines) as (url, processes):
            enough = anyio.Event()

            async def work(number: int) -> None:
                for turn in range(6):
                    name = f"{number}-{turn}"
                    with contextlib.suppress(Exception):  # a connection breaks off, and its client begins anew
                        async with person(url) as agent:
                            outcome = await agent.run(CREATE.format(name=name))
                            if outcome.get("ok"):
                                answered.append(outcome["value"])
                    if len(answered) > 4:
                        enough.set()

            async with anyio.create_task_group() as tasks:
                for number in range(4):
                    tasks.start_soon(work, number)
                await enough.wait()
                os.kill(Forked.pid(processes[0].pid), signal.SIGKILL)
            runs = json.loads(machines.each[1].run("runs", "list", "--json").stdout)["runs"]
            for run in runs:
                if run["state"] != "done":
                    async with person(url) as agent:
                        await agent.call("resume_run", run=run["run"])
        written = [json.loads(line) for line in log.read_text().splitlines()]
    assert len(answered) > 5
    assert set(answered) <= set(written)
    assert len(written) == len(set(written))
