"""A served gateway with the console, on loopback, and people at it."""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest
from doorward import Gateway
from doorward_mcp_server.transports import serve_http
from doorward_testing.samples import CONFIG

TOKENS = {"ann": "doorward_ann", "bob": "doorward_bob", "<b onclick=x>eve": "doorward_eve"}
ADD = "result = await weather.add_station(city='Oslo')"
RULES = """
[[policy.rules]]
match = "weather.add_station"
then = "confirm"
reason = "writes need a person"

[[policy.rules]]
match = "weather.*"
then = "allow"
"""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@dataclass
class Served:
    """A served gateway: its address, what `serve` said of the console, and whoever looks at it."""

    gate: Gateway
    base: str
    lines: list[str]
    people: list[httpx2.AsyncClient] = field(default_factory=list)

    def person(self, **headers: str) -> httpx2.AsyncClient:
        """Somebody with a browser of their own, who is not signed in."""
        asks = httpx2.AsyncClient(base_url=self.base, headers={"Origin": self.base, **headers}, timeout=60)
        self.people.append(asks)  # a page may start a process, on a machine that is busy
        return self.people[-1]

    @staticmethod
    def forgery(page: httpx2.Response) -> str:
        """The token of the forms of a page."""
        found = re.search(r'name="forgery" value="([^"]+)"', page.text)
        assert found is not None
        return found[1]

    async def asked(self, principal: str = "ann", code: str = ADD, description: str = "Adds a station") -> Any:
        """A run that waits for a person."""
        outcome = await self.gate.execute(code, description=description, principal=principal)
        assert outcome.waiting is not None, outcome
        return outcome

    def link(self) -> str:
        """The secret of the link that `serve` has printed."""
        found = re.search(r"enter\?link=(\S+)", self.lines[0])
        assert found is not None
        return found[1]

    async def operator(self) -> httpx2.AsyncClient:
        """The operator, who came by the link."""
        person = self.person()
        assert (await person.post("/console/enter", data={"link": self.link()})).status_code == 303
        return person

    async def signed_in(self, name: str) -> httpx2.AsyncClient:
        """A principal, who has brought the token."""
        person = self.person()
        assert (await person.post("/console/sign-in", data={"token": TOKENS[name]})).status_code == 303
        return person


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


@pytest.fixture
def tokens() -> str:
    """The tables of the principals of `TOKENS`."""
    return "".join(
        f"[[principals.'{name}'.tokens]]\nid = 't{number}'\nhash = 'sha256:{_hash(token)}'\n"
        for number, (name, token) in enumerate(TOKENS.items())
    )


Serve = Callable[..., AbstractAsyncContextManager[Served]]


@pytest.fixture
def served(doorward_host: Any) -> Serve:
    """Serves the samples with the console."""
    doorward_host.install_real(
        "console",
        "approvals",
        "doorward-budgets",
        "doorward-mcp-server",
        "runs",
        "plans",
        "undo",
        "doorward-policy-rules",
        "doorward-store-sqlite",
        "text",
        "audit_jsonl",
    )

    @asynccontextmanager
    async def serve(
        console: str = "link = true",
        more: str = "",
        plugins: Sequence[str] = (),
        cache: str = "none",
        head: str = "",
        price: str = "",
    ) -> AsyncIterator[Served]:
        head += CONFIG.replace("plugins = []", f"plugins = {[*plugins, 'audit_jsonl']}").replace("none", cache)
        head = head.replace("[servers.weather]", f"[servers.weather]\n{price}")
        config = f"{head}\n[console]\n{console}\n{RULES}{more}"
        async with doorward_host.gateway(config) as gate:
            ready: asyncio.Future[str] = asyncio.get_running_loop().create_future()
            lines: list[str] = []
            serving = asyncio.ensure_future(
                serve_http(gate, "127.0.0.1", 0, ready=ready.set_result, announce=lines.append)
            )
            await asyncio.wait([serving, ready], return_when=asyncio.FIRST_COMPLETED)
            if serving.done():
                await serving
            parts = urlsplit(ready.result())
            found = Served(gate, f"{parts.scheme}://{parts.netloc}", lines)
            while "link = true" in console and not lines:
                await asyncio.sleep(0)
            try:
                yield found
            finally:
                for person in found.people:
                    await person.aclose()
                serving.cancel()
                await asyncio.wait([serving])

    return serve
