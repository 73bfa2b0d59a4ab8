"""The limits of a real HTTP server, kept to: it counts the requests that it had to refuse."""

from __future__ import annotations

import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from doorward import Gateway, RateLimited
from doorward_durable_runs import STORED_RUNS
from doorward_http import upstream_limits

from .forked import Forked
from .product import Answering, web
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


@pytest.fixture(autouse=True)
def first_answers_are_awaited(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine may take longer for the first answer than requests wait for what it tells."""
    monkeypatch.setattr(upstream_limits, "FIRST_PATIENCE_SECONDS", 60.0)


class Limited:
    """A server that takes `limit` requests in each window of `seconds`, and says so by `headers`."""

    def __init__(self, limit: int, seconds: float, headers: Callable[[int, int, float], dict[str, str]]) -> None:
        self.limit, self.seconds, self.headers = limit, seconds, headers
        self.asked: list[str] = []
        self.refused = 0
        self._lock = threading.Lock()
        self._began, self._window, self._used = time.time(), 0, 0  # by the clock, an hour could end in the middle

    def take(self, who: str) -> tuple[int, dict[str, str]]:
        with self._lock:
            now = time.time()
            if (window := int((now - self._began) / self.seconds)) != self._window:
                self._window, self._used = window, 0
            self._used += 1
            end = self._began + (window + 1) * self.seconds
            told = self.headers(self.limit, max(0, self.limit - self._used), end)
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
async def test_no_refusal_is_provoked(tmp_path: Path) -> None:
    """Twenty calls of four principals at once, and a server that takes eight in two seconds: it refuses none, in
    whatever form it says so. (All forms at the same time, in gateways of their own: most of it is waiting.)"""
    kept_to: list[str] = []

    async def check(form: Callable[[int, int, float], dict[str, str]]) -> None:
        limits, folder = Limited(8, 2.0, form), tmp_path / form.__name__
        folder.mkdir()
        with limits.served() as url:
            async with opened(folder, url) as gate, anyio.create_task_group() as group:
                for who in ("ann", "bob", "cid", "dot"):
                    for _ in range(5):
                        group.start_soon(lambda who=who: gate.call("shop.ask", {"who": who}, principal=who))
        assert limits.refused == 0, form
        assert Counter(limits.asked) == dict.fromkeys(("ann", "bob", "cid", "dot"), 5), form
        kept_to.append(form.__name__)

    async with anyio.create_task_group() as forms:
        for form in (draft, former, epoch):
            forms.start_soon(check, form)
    assert sorted(kept_to) == ["draft", "epoch", "former"]


@pytest.mark.slow
async def test_one_principal_does_not_keep_others_out(tmp_path: Path) -> None:
    """One asks thirty times, then another three times: those three do not wait for all of the thirty."""
    limits = Limited(6, 2.0, former)
    with limits.served() as url:
        async with opened(tmp_path, url) as gate, anyio.create_task_group() as group:
            for who, times in (("many", 30), ("few", 3)):
                for _ in range(times):
                    group.start_soon(lambda who=who: gate.call("shop.ask", {"who": who}, principal=who))
                await anyio.sleep(0.3)
    assert limits.refused == 0
    assert max(n for n, who in enumerate(limits.asked) if who == "few") < 20


async def test_a_run_without_that_much_time_is_told_at_once(tmp_path: Path) -> None:
    """An hour is longer than any run: nothing is sent, and the agent reads for how long, where runs are not stored."""
    limits = Limited(2, 3600.0, former)
    with limits.served() as url:
        async with opened(tmp_path, url, '[runs]\ndurable = "never"\n') as gate:
            await gate.call("shop.ask")
            await gate.call("shop.ask")
            with pytest.raises(RateLimited, match="takes no more requests for") as refused:
                await gate.call("shop.tell")
            assert "Try again in" in (refused.value.hint or "")
            outcome = await gate.execute("import shop\ntry:\n    shop.ask()\nexcept Exception as e:\n    print(e)")
            assert "takes no more requests" in outcome.printed
    assert (len(limits.asked), limits.refused) == (2, 0)


async def test_a_run_that_nobody_could_resume_in_time_is_told_so(tmp_path: Path) -> None:
    """A limit that is renewed after stored runs are forgotten: the call fails, as if nothing could be stored."""
    limits = Limited(1, 7200.0, former)
    with limits.served() as url:
        async with opened(tmp_path, url, "[runs]\nkeep = 0.01\n") as gate:
            assert (await gate.execute("import shop\nshop.ask()")).ok
            outcome = await gate.execute("import shop\nshop.ask()")
    assert (outcome.waiting, outcome.error.type) == (None, "RateLimited")


async def test_what_a_session_does_is_not_suspended(tmp_path: Path) -> None:
    limits = Limited(1, 3600.0, former)
    with limits.served() as url:
        async with opened(tmp_path, url) as gate:
            await gate.call("shop.ask")
            outcome = await gate.execute("import shop\nshop.ask()", session_id="new")
    assert outcome.error.type == "RateLimited"


GATHERED = "import asyncio, shop\nresult = len(await asyncio.gather(*[shop.tell() for _ in range(9)]))"


@pytest.mark.slow
async def test_a_run_waits_for_the_limit_to_be_renewed(tmp_path: Path) -> None:
    """Nine writes at once where four go in a window: the run is suspended until the next, and again; resumed too early
    it is told when, and nothing is sent. In the end each write went out once, none was refused, and a budget counts
    nine."""
    limits = Limited(4, 6.0, former)
    more = '[[budgets]]\nprincipal = "*"\nper = "day"\ncalls = 9\n'
    with limits.served() as url:
        async with opened(tmp_path, url, more) as gate:
            outcome, windows = await gate.execute(GATHERED, timeout=2), 0
            while (waiting := outcome.waiting) is not None:
                windows += 1
                assert waiting.for_ == "limit", outcome
                assert len(waiting.what) == 1, waiting
                assert waiting.what[0].startswith("shop takes no more requests until 2")
                assert waiting.next.startswith(f'resume_run("{waiting.run}"), in ')
                before = len(limits.asked)
                early = await gate.services[STORED_RUNS].resume(waiting.run)
                assert (early.waiting.until, early.waiting.for_, early.calls) == (waiting.until, "limit", ())
                assert len(limits.asked) == before
                await anyio.sleep(waiting.until - time.time())
                outcome = await gate.services[STORED_RUNS].resume(waiting.run)
    assert outcome.value == 9, outcome
    assert (len(limits.asked), limits.refused) == (9, 0)
    assert windows >= 1


@pytest.mark.slow
async def test_a_queue_that_is_longer_than_a_run_has_time(tmp_path: Path) -> None:
    """Each window comes in time, but others are before: what has not had its turn when time is nearly up waits with the
    run, and nothing under way is lost."""
    limits = Limited(4, 2.0, former)
    with limits.served() as url:
        async with opened(tmp_path, url) as gate:
            outcome, resumed = await gate.execute(GATHERED.replace("9", "20"), timeout=5), 0
            while (waiting := outcome.waiting) is not None:
                assert waiting.for_ == "limit", outcome
                resumed += 1
                await anyio.sleep(max(0.0, waiting.until - time.time()))
                outcome = await gate.services[STORED_RUNS].resume(waiting.run)
    assert outcome.value == 20, outcome
    assert (len(limits.asked), limits.refused) == (20, 0)
    assert resumed >= 1


async def test_a_refusal_that_says_when_suspends_a_run(tmp_path: Path) -> None:
    """A server that tells nothing but `Retry-After` with 429: the call was not made, and waits with its run."""
    limits = Limited(1, 3600.0, lambda limit, left, end: {"Retry-After": "3000"})
    with limits.served() as url:
        async with opened(tmp_path, url) as gate:
            outcome = await gate.execute("import shop\nresult = [shop.tell()['status'] for _ in range(2)]", timeout=60)
    assert outcome.waiting.for_ == "limit", outcome
    assert 2990 < outcome.waiting.until - time.time() <= 3001
    assert (len(limits.asked), limits.refused) == (1, 1)


@pytest.mark.parametrize("era", ["auto", "legacy"])
async def test_an_agent_is_told_when_to_come_back(tmp_path: Path, era: str) -> None:
    """Through a real client: the answer has the time; `resume_run`, which was not there before, is there then, which
    clients are told, and says it again; the operator sees it, too."""
    told = anyio.Event()

    async def hear(message: Any) -> None:
        if getattr(message, "method", "") == "notifications/tools/list_changed":
            told.set()

    limits = Limited(2, 3600.0, former)
    with limits.served() as url:
        project = Forked(tmp_path, f'[servers.shop]\nsource = "openapi"\nspec = "{url}/openapi.json"\n')
        async with project.stdio(era, message_handler=hear) as agent, AsyncExitStack() as stack:
            if era == "auto":
                events = await stack.enter_async_context(agent.client.listen(tools_list_changed=True))
            assert "resume_run" not in {tool.name for tool in (await agent.client.list_tools()).tools}
            waiting = (await agent.run("import shop\nresult = [shop.tell() for _ in range(3)]"))["waiting"]
            assert "waits (limit) and is suspended" in agent.text
            assert 0 < waiting["until"] - time.time() < 3602
            with anyio.fail_after(60):
                await (anext(aiter(events)) if era == "auto" else told.wait())
            assert "resume_run" in {tool.name for tool in (await agent.client.list_tools()).tools}
            early = await agent.call("resume_run", run=waiting["run"])
        listed = project.run("runs", "list").stdout
    assert (early["waiting"]["until"], early["waiting"]["for"]) == (waiting["until"], "limit")
    assert "it waits (limit, until 2" in listed
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
    """Thirty calls at once are thirty requests at once, from its first answer on: it answers none before it has all."""
    all_here = threading.Barrier(30)

    class Together(Limited):
        def take(self, who: str) -> tuple[int, dict[str, str]]:
            if who == "together":
                all_here.wait()
            return super().take(who)

    limits = Together(1000, 3600.0, lambda limit, left, end: {})
    with limits.served() as url:
        async with opened(tmp_path, url) as gate:
            await gate.call("shop.ask")
            async with anyio.create_task_group() as group:
                for _ in range(30):
                    group.start_soon(gate.call, "shop.ask", {"who": "together"})
    assert len(limits.asked) == 31


@pytest.mark.slow
async def test_agents_of_several_principals_share_a_limit(tmp_path: Path) -> None:
    """Through real clients over HTTP: programs that gather calls wait for their turns, and succeed."""
    limits = Limited(6, 2.0, former)
    with limits.served() as url:
        project = Forked(tmp_path, f'[servers.shop]\nsource = "openapi"\nspec = "{url}/openapi.json"\n')
        tokens = [token(project, who)["token"] for who in ("ann", "bob")]
        code = "import asyncio, shop\nresult = len(await asyncio.gather(*[shop.ask() for _ in range(9)]))"
        values: list[int] = []
        with project.http() as (address, _):

            async def work(secret: str) -> None:
                async with connected(address, secret, "auto") as agent:
                    values.append(await agent.value(code))

            async with connected(address, tokens[0], "auto") as agent:
                await agent.value("import shop\nresult = shop.ask()")  # the limit is known from here on
            async with anyio.create_task_group() as group:
                for secret in tokens:
                    group.start_soon(work, secret)
    assert (values, limits.refused, len(limits.asked)) == ([9, 9], 0, 19)
