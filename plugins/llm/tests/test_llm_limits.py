"""The limits that a provider tells: programs wait for their turn, and no request is refused."""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from doorward_llm.limits import common_words

from .conftest import completion

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


class Limited:
    """Answers as a provider that takes `limit` of something in each window of `seconds`; each request takes `each`."""

    def __init__(self, limit: int, seconds: float, *, each: int = 1, kind: str = "requests") -> None:
        self.limit, self.seconds, self.each, self.kind = limit, seconds, each, kind
        self.refused = self.answered = 0
        self._lock, self._window, self._used = threading.Lock(), 0, 0
        self._start = time.time()  # not on the hour: a window that ends by chance beside a test would renew the limit

    def __call__(self, body: Any) -> Any:
        with self._lock:
            now = time.time()
            if (window := int((now - self._start) / self.seconds)) != self._window:
                self._window, self._used = window, 0
            left = self._start + (window + 1) * self.seconds - now
            fits = self._used + self.each <= self.limit
            self._used += self.each if fits else 0
            self.answered, self.refused = self.answered + fits, self.refused + (not fits)
            headers = {
                f"x-ratelimit-remaining-{self.kind}": str(self.limit - self._used),
                f"x-ratelimit-reset-{self.kind}": f"{int(left)}s{int(left % 1 * 1000) + 1}ms",
            }
            if not fits:
                return 429, {**headers, "Retry-After": str(int(left) + 1)}, {"error": {"message": "too many"}}
            return 200, headers, completion("yes")


GATHERED = "import asyncio\nresult = len(await asyncio.gather(*[other.ask(f'q{n}', max_tokens=90) for n in range(9)]))"


@pytest.mark.parametrize("limit", [{"limit": 4}, {"limit": 400, "each": 91, "kind": "tokens"}])
async def test_no_refusal_is_provoked(asking: Any, provider: Any, limit: Any) -> None:
    """Nine questions at once, of which four fit into two seconds: by requests, or by the tokens that each may take."""
    provider.answers = [limited := Limited(seconds=2.0, **limit)]
    async with asking() as gate:
        outcome = await gate.execute(GATHERED, timeout=30)
    assert outcome.value == 9, outcome.error
    assert (limited.refused, limited.answered) == (0, 9)


async def test_waiting_is_not_answering(asking: Any, provider: Any) -> None:
    """Time in which a question waits for its turn does not count for the `timeout` of a provider."""
    provider.answers = [limited := Limited(4, 2.0)]
    async with asking(timeout=1.0) as gate:
        assert (await gate.execute(GATHERED, timeout=30)).value == 9
    assert limited.refused == 0


async def test_a_run_waits_for_a_limit(asking: Any, provider: Any) -> None:
    """Longer than the run has time: it is suspended, and the agent reads until when. Nothing of its quota is lost."""
    provider.answers = [limited := Limited(1, 3600.0)]
    code = "result = [await other.ask('one'), await other.ask('two')]"
    async with asking(rounds=2, daily={"rounds": 2}) as gate:
        waiting = (await gate.execute(code, timeout=60)).waiting
        assert waiting.for_ == "limit"
        assert 0 < waiting.until - time.time() <= 3602
    assert (limited.refused, limited.answered) == (0, 1)


async def test_a_provider_that_only_refuses(asking: Any, provider: Any) -> None:
    """Without any other word than `Retry-After`: it is asked once, not again and again, and the run waits."""
    provider.answers = [(429, {"Retry-After": "100"}, {"error": {"message": "too many"}})]
    async with asking() as gate:
        waiting = (await gate.execute("await other.ask('one')", timeout=60)).waiting
    assert waiting.for_ == "limit"
    assert 90 < waiting.until - time.time() <= 101
    assert len(provider.seen) == 1


def test_the_words_of_providers() -> None:
    """The limit that is used up first counts; what is no limit stays as it is."""

    def said(**told: str) -> tuple[str, float]:
        words = common_words({name.replace("_", "-"): value for name, value in told.items()}, 100)
        return words["x-ratelimit-remaining"], float(words["x-ratelimit-reset"])

    assert said(x_ratelimit_remaining_requests="5", x_ratelimit_reset_requests="1h2m3.5s") == ("5", 3723.5)
    both = {"x_ratelimit_remaining_requests": "5", "x_ratelimit_reset_requests": "1s"}
    assert said(**both, x_ratelimit_remaining_tokens="250", x_ratelimit_reset_tokens="20ms") == ("2", 0.02)
    assert said(x_ratelimit_remaining_tokens="0", x_ratelimit_reset_tokens="7") == ("0", 7.0)
    assert said(x_ratelimit_remaining_tokens="0", x_ratelimit_reset_tokens="soon") == ("0", 60.0)
    then = (datetime.now(UTC) + timedelta(seconds=30)).isoformat().replace("+00:00", "Z")
    left, seconds = said(anthropic_ratelimit_requests_remaining="3", anthropic_ratelimit_requests_reset=then)
    assert (left, 28 < seconds <= 30) == ("3", True)
    for nothing in ({}, {"x-ratelimit-remaining-requests": "many"}, {"x-ratelimit-remaining-pages": "3"}):
        assert common_words(nothing, 100) == nothing
