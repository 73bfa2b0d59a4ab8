"""Sites that plugins add to the HTTP endpoint: a path and all below it, behind the checks of Host and Origin."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest
from doorward import hookimpl
from doorward.serving import PRINCIPAL, VERIFY_TOKEN, RawPage, RawSite
from doorward_mcp_server.transports import serve_http
from doorward_testing.samples import CONFIG
from starlette.requests import Request
from starlette.responses import JSONResponse

pytestmark = pytest.mark.anyio

TOKEN = "doorward_token-of-ann"
ANN = f"[[principals.ann.tokens]]\nid = 'a'\nhash = 'sha256:{hashlib.sha256(TOKEN.encode()).hexdigest()}'\n"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Desk:
    """A site of a third party, which says who asks and what it was sent."""

    def __init__(self, context: Any) -> None:
        self.opened: list[str] = []

    async def app(self, scope: Any, receive: Any, send: Any) -> None:
        request = Request(scope, receive)
        if scope["path"] == "/desk/broken":
            raise RuntimeError("a secret of the site")
        whose = await scope[VERIFY_TOKEN](request.query_params.get("token", ""))
        told = {
            "path": scope["path"],
            "method": request.method,
            "principal": scope.get(PRINCIPAL),
            "whose": whose,
            "body": (await request.body()).decode(),
        }
        await JSONResponse(told)(scope, receive, send)

    async def page(self, headers: Any) -> tuple[int, dict[str, str], bytes]:
        return 200, {}, b"a page"

    @hookimpl
    def http_pages(self) -> list[Any]:
        site = RawSite("/desk", self.app, lambda url: f"Desk at {url}")
        return [site, RawSite("/mcp", self.app), RawPage("/desk-page", self.page)]


@asynccontextmanager
async def served(host: Any, more: str = "") -> AsyncIterator[tuple[httpx2.AsyncClient, list[str]]]:
    host.install("plugin", "desk", Desk)
    async with host.gateway(CONFIG.replace("plugins = []", 'plugins = ["desk"]') + more) as gate:
        ready: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        lines: list[str] = []
        serving = asyncio.ensure_future(serve_http(gate, "127.0.0.1", 0, ready=ready.set_result, announce=lines.append))
        parts = urlsplit(await ready)
        async with httpx2.AsyncClient(base_url=f"{parts.scheme}://{parts.netloc}") as client:
            yield client, lines
        serving.cancel()
        await asyncio.wait([serving])


async def test_a_site_has_its_path_and_all_below(doorward_host: Any) -> None:
    """With every method; what only begins like it, and the path of MCP, are not its; where it is, is announced."""
    async with served(doorward_host) as (client, lines):
        assert (await client.get("/desk")).json()["path"] == "/desk"
        posted = (await client.post("/desk/a/b", content="sent")).json()
        assert (posted["path"], posted["method"], posted["body"]) == ("/desk/a/b", "POST", "sent")
        assert (await client.get("/desks")).status_code == 404
        assert (await client.get("/desk-page")).text == "a page"
        assert (await client.get("/mcp")).status_code in (400, 405, 406)
        assert lines == [f"Desk at {client.base_url}/desk".replace("//desk", "/desk")]


async def test_a_site_says_who_may_come_in(doorward_host: Any) -> None:
    """It gets every request of an allowed host and origin, and learns whose token is good, by the header or by asking."""
    async with served(doorward_host, ANN) as (client, _):
        asked = (await client.get("/desk", params={"token": TOKEN})).json()
        assert (asked["principal"], asked["whose"]) == (None, "ann")
        brought = (await client.get("/desk?token=other", headers={"Authorization": f"Bearer {TOKEN}"})).json()
        assert (brought["principal"], brought["whose"]) == ("ann", None)
        assert (await client.get("/desk", headers={"Authorization": "Bearer other"})).json()["principal"] is None
        assert (await client.get("/desk", headers={"Host": "evil.example"})).status_code == 421
        assert (await client.get("/desk", headers={"Origin": "https://evil.example"})).status_code == 403


async def test_a_site_that_fails_answers_500(doorward_host: Any) -> None:
    """Without what went wrong; the server goes on."""
    async with served(doorward_host) as (client, _):
        broken = await client.get("/desk/broken")
        assert (broken.status_code, "secret" in broken.text) == (500, False)
        assert (await client.get("/desk")).status_code == 200
