"""The limits of a real HTTP server, kept to: it counts the requests that it had to refuse."""

from __future__ import annotations

import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from doorward import Gateway, RateLimited

from .product import Answering, Project, web
from .test_http_auth import connected, token

pytestmark = pytest.mark.anyio

DOCUMENT = {
    "openapi": "3.1.0",
    "info": {"title": "Shop", "version": "1"},
    "paths": {
        f"/{path}": {method: {"operationId": name, "parameters": given, "responses": {"200": {"description": "ok"}}}}
        for path, method, name, given in (
            ("ask", "get", "ask", [{"name": "who", "in": "query", "schema": {"type": "string"}}]),
            ("tell", "post", "tell", []),
            ("rare", "get", "rare", []),
        )
    },
}


class Limited:
    """A server that takes `limit` requests in each window of `seconds`, and says so by `headers`."""

    def __init__(self, limit: int, seconds: float, headers: Callable[[int, int, float], dict[str, str]]) -> None:
        self.limit, self.seconds, self.headers = limit, seconds, headers
        self.asked: list[str] = []
        self.refused = 0
        self._lock = threading.Lock()
        self._window, self._used = 0, 0

    def take(self, who: str) -> tuple[int, dict[str, str]]:
        with self._lock:
            now = time.time()
            if (window := int(now / self.seconds)) != self._window:
                self._window, self._used = window, 0
            self._used += 1
            told = self.headers(self.limit, max(0, self.limit - self._used), (window + 1) * self.seconds)
            if self._used > self.limit:
                self.refused += 1
                return 429, told
            self.asked.append(who)
            return 200, told

    @contextmanager
    def served(self) -> Iterator[str]:
        limits = self

        class Api(Answering):
            def do_GET(self) -> None:
                if self.path == "/openapi.json":
                    return self.answer(DOCUMENT)
                status, headers = limits.take(self.path.rpartition("=")[2])
                return self.answer({"status": status}, status, headers)

            do_POST = do_GET

        with web(Api) as url:
            yield url


def draft(limit: int, left: int, end: float) -> dict[str, str]:
    """`RateLimit`, as the draft of the IETF has it."""
    return {"RateLimit": f'"default";r={left};t={max(0, math.floor(end - time.time()))}'}


def former(limit: int, left: int, end: float) -> dict[str, str]:
    """An older form of that draft, with a limit and seconds."""
    seconds = str(math.ceil(end - time.time()))
    return {"RateLimit-Limit": f"{limit}, {limit};w=2", "RateLimit-Remaining": str(left), "RateLimit-Reset": seconds}


def epoch(limit: int, left: int, end: float) -> dict[str, str]:
    """As GitHub says it."""
    return {"X-RateLimit-Limit": str(limit), "X-RateLimit-Remaining": str(left), "X-RateLimit-Reset": str(int(end))}


def config(url: str, more: str = "") -> str:
    return f'executor = "monty"\nplugins = []\n[servers.shop]\nsource = "openapi"\nspec = "{url}/openapi.json"\n{more}'


def opened(folder: Path, url: str, more: str = "") -> Any:
    (folder / "doorward.toml").write_text(config(url, more))
    return Gateway.open(folder / "doorward.toml", environ={})


@pytest.mark.slow
@pytest.mark.parametrize("form", [draft, former, epoch])
async def test_no_refusal_is_provoked(form: Any, tmp_path: Path) -> None:
    """Forty calls of four principals at once, and a server that takes eight in two seconds: it refuses none."""
    limits = Limited(8, 2.0, form)
    with limits.served() as url:
        async with opened(tmp_path, url) as gate, anyio.create_task_group() as group:
            for who in ("ann", "bob", "cid", "dot"):
                for _ in range(10):
                    group.start_soon(lambda who=who: gate.call("shop.ask", {"who": who}, principal=who))
    assert limits.refused == 0
    assert Counter(limits.asked) == dict.fromkeys(("ann", "bob", "cid", "dot"), 10)


@pytest.mark.slow
async def test_one_principal_does_not_keep_others_out(tmp_path: Path) -> None:
    """One asks forty times, then another three times: those three do not wait for all of the forty."""
    limits = Limited(6, 2.0, former)
    with limits.served() as url:
        async with opened(tmp_path, url) as gate, anyio.create_task_group() as group:
            for who, times in (("many", 40), ("few", 3)):
                for _ in range(times):
                    group.start_soon(lambda who=who: gate.call("shop.ask", {"who": who}, principal=who))
                await anyio.sleep(0.3)
    assert limits.refused == 0
    assert max(n for n, who in enumerate(limits.asked) if who == "few") < 20


async def test_a_run_without_that_much_time_is_told_at_once(tmp_path: Path) -> None:
    """An hour is longer than any run: nothing is sent, and the agent reads for how long."""
    limits = Limited(2, 3600.0, former)
    with limits.served() as url:
        async with opened(tmp_path, url) as gate:
            await gate.call("shop.ask")
            await gate.call("shop.ask")
            with pytest.raises(RateLimited, match="takes no more requests for") as refused:
                await gate.call("shop.tell")
            assert "Try again in" in (refused.value.hint or "")
            outcome = await gate.execute("import shop\ntry:\n    shop.ask()\nexcept Exception as e:\n    print(e)")
            assert "takes no more requests" in outcome.printed
    assert (len(limits.asked), limits.refused) == (2, 0)


async def test_a_refusal_is_not_repeated_by_others(tmp_path: Path) -> None:
    """A server that only says `Retry-After` is asked again after that time, not by each call on its own."""
    limits = Limited(1, 3600.0, lambda limit, left, end: {} if left else {"Retry-After": "3000"})
    limits.limit = 3
    with limits.served() as url:
        async with opened(tmp_path, url) as gate:
            for _ in range(3):
                await gate.call("shop.ask")
            for _ in range(5):
                with pytest.raises(Exception, match=r"429|takes no more requests"):
                    await gate.call("shop.tell")
    assert limits.refused <= 1


async def test_a_server_without_limits_is_not_held_up(tmp_path: Path) -> None:
    """Thirty calls at once are thirty requests at once, from its first answer on."""
    limits = Limited(1000, 3600.0, lambda limit, left, end: {})
    with limits.served() as url:
        async with opened(tmp_path, url) as gate:
            await gate.call("shop.ask")
            began = time.monotonic()
            async with anyio.create_task_group() as group:
                for _ in range(30):
                    group.start_soon(gate.call, "shop.ask")
            assert time.monotonic() - began < 5
    assert len(limits.asked) == 31


@pytest.mark.slow
async def test_agents_of_several_principals_share_a_limit(tmp_path: Path) -> None:
    """Through real clients over HTTP: programs that gather calls wait for their turns, and succeed."""
    limits = Limited(6, 2.0, former)
    with limits.served() as url:
        project = Project(tmp_path, f'[servers.shop]\nsource = "openapi"\nspec = "{url}/openapi.json"\n')
        tokens = [token(project, who)["token"] for who in ("ann", "bob")]
        code = "import asyncio, shop\nresult = len(await asyncio.gather(*[shop.ask() for _ in range(9)]))"
        values: list[int] = []
        with project.http() as (address, _):

            async def work(secret: str) -> None:
                async with connected(address, secret, "auto") as agent:
                    values.append(await agent.value(code))

            async with anyio.create_task_group() as group:
                for secret in tokens:
                    group.start_soon(work, secret)
    assert (values, limits.refused, len(limits.asked)) == ([9, 9], 0, 18)
