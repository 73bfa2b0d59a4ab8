"""Streamable HTTP: who may come in."""

from __future__ import annotations

import json
import time
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import anyio
import pytest

from .forked import project, shelf
from .product import Project, connected

__all__ = ["project", "shelf"]

pytestmark = pytest.mark.anyio

HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}},
}


def post(url: str, body: Any = HELLO, **headers: str) -> int:
    """The status of a POST."""
    sent = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    sent |= {name.replace("_", "-"): value for name, value in headers.items()}
    try:
        with urlopen(Request(url, json.dumps(body).encode(), sent), timeout=20) as answer:
            return int(answer.status)
    except HTTPError as error:
        return error.code


def test_only_this_machine_is_let_in(http_url: str) -> None:
    """Requests with a foreign Host (DNS rebinding) or Origin (a web page) are refused. CONTRACT: CLI-02, SEC-11."""
    netloc = urlsplit(http_url).netloc
    assert post(http_url) == 200
    assert post(http_url, Origin=f"http://{netloc}") == 200
    for host in ("localhost", "LocalHost:1", "[::1]", "[::1]:65535", "127.0.0.1:80"):
        assert post(http_url, Host=host) == 200, host
    for origin in ("http://localhost", "HTTPS://LOCALHOST:3000", "http://[::1]:5173", "https://127.0.0.1:443"):
        assert post(http_url, Origin=origin) == 200, origin
    for host in (
        *("evil.example", "evil.example:80", "127.0.0.1.evil.example", "127.0.0.1.evil.example:8000", ""),
        *(
            f"{netloc}@evil.example",
            "127.0.0.1:@evil.example",
            "127.0.0.1:80.evil.example",
            "localhost:80/@evil.example",
            "a@localhost",
        ),
        *(
            "localhost.",
            "localhost.:80",
            "127.0.0.1:",
            "127.0.0.1:x",
            "127.0.0.1:80:80",
            "127.0.0.1:800000",
            "127.1",
            "0x7f000001",
        ),
        *(
            "::1",
            "[::1",
            "::1]",
            "[::1].evil.example",
            "[::1]@evil.example",
            "[::1]:80@evil.example",
            "[::ffff:127.0.0.1]",
            "[localhost]",
        ),
        *(
            "localhost,evil.example",
            "localhost evil.example",
            "localhost\tx",
            "localhost#evil.example",
            "localhost?evil.example",
        ),
    ):
        assert post(http_url, Host=host) in (400, 421), host
    for origin in (
        *("http://evil.example", "https://evil.example:443", "http://127.0.0.1.evil.example", "null", "file://", ""),
        *(
            f"http://{netloc}@evil.example",
            "http://localhost:80@evil.example",
            "http://localhost:@evil.example",
            "http://a@localhost",
        ),
        *(
            "http://localhost.",
            "http://localhost:x",
            "http://localhost:",
            "http://localhost/",
            "http://localhost:80/x",
            "localhost",
        ),
        *(
            "http://[::1]@evil.example",
            "http://[::1].evil.example",
            "ftp://localhost",
            "http://http://localhost",
            "http:///localhost",
        ),
        *(
            "http://localhost:3000, http://evil.example",
            "http://localhost http://evil.example",
            "http://localhost:1#@evil.example",
        ),
    ):
        assert post(http_url, Origin=origin) == 403, origin
    assert post(http_url, Content_Type="text/plain") in (400, 415)
    assert post(http_url.replace("/mcp", "/other")) == 404


@pytest.mark.parametrize("host", ["0.0.0.0", "::", ""])
def test_no_address_but_loopback(project: Project, host: str) -> None:
    """Serving where others can reach it needs client authentication, which there is not: refused with the reason, exit
    code 2."""
    if host:
        ran = project.run("serve", "--transport", "http", "--port", "0", "--host", host)
    else:
        project.change(last='\n[http]\nhost = "0.0.0.0"\n')
        ran = project.run("serve", "--transport", "http", "--port", "0")
    assert ran.returncode == 2
    assert "with your credentials" in ran.stderr
    assert "127.0.0.1" in ran.stderr
    assert "Traceback" not in ran.stderr


def test_a_port_that_is_taken_is_said(project: Project, http_url: str) -> None:
    """One message, exit code 2."""
    ran = project.run("serve", "--transport", "http", "--port", str(urlsplit(http_url).port))
    assert ran.returncode == 2
    assert "cannot listen on" in ran.stderr
    assert "Traceback" not in ran.stderr


def test_rubbish_does_no_harm(http_url: str) -> None:
    """Bodies that are no JSON-RPC are refused, and the next request is answered."""
    for body in ({}, [], "x", {"jsonrpc": "2.0"}, {"jsonrpc": "2.0", "id": 1, "method": "no/such"}, [[[[]]]]):
        assert 200 <= post(http_url, body) < 500
    assert post(http_url) == 200


@pytest.mark.parametrize("era", ["auto", "legacy"])
async def test_an_answer_is_not_held_back(http_url: str, era: str) -> None:
    """A small call takes milliseconds: no packet waits for the acknowledgement of another one (40 ms on Linux)."""
    async with connected(http_url, era) as agent:
        for _ in range(500):  # each that is held back takes longer, however idle the machine is
            began = time.perf_counter()
            await agent.run("1")
            if time.perf_counter() - began < 0.035:
                return
    pytest.fail("all were held back")


async def test_clients_come_and_go(http_url: str) -> None:
    """Ten clients of both eras at once, each served; and the next ten."""

    async def one(n: int) -> None:
        async with connected(http_url, ("auto", "legacy")[n % 2]) as agent:
            assert await agent.value("n = 0\nresult = n", params={"n": n}) == n

    for _ in range(2):
        async with anyio.create_task_group() as group:
            for n in range(10):
                group.start_soon(one, n)
