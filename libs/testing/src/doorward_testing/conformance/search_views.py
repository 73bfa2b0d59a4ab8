"""Conformance tests of search views: inherit `SearchViewConformance`, and say which class it is."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Sequence
from typing import Any

import pytest
from doorward import DoorwardError

from doorward_testing.conformance.base import fail, only, require
from doorward_testing.conformance.drivers import DriverConformance

NAME = "under_test"
TEXTS = ("weather: get forecast\nThe forecast for a city\nTakes: city, days", "billing: list invoices", "cars: rent")
ODD_TEXTS = ("", " \n\t", "\0", "\ud800", "💥 ünï", "word " * 5_000, "x" * 20_000, "'; DROP TABLE vectors; --")
"""Texts that documents and agents may write."""
EMBED_SECONDS = 60.0
"""How long core waits for one batch."""
BLOCKED_SECONDS = 0.5
"""How long other tasks may have to wait for their turn."""
CLOSE_ENOUGH = 1e-3


class SearchViewConformance(DriverConformance):
    """For search views. Say `driver`; override `settings`, what stands in `[search_views.NAME]`."""

    kind = "search_view"

    def view(self, host: Any) -> Any:
        """A fresh instance. Override this where `driver` takes more than a context."""
        return self.driver(host.context(self.driver.Settings, self.settings(host), name=NAME))

    @pytest.mark.anyio
    async def test_the_fingerprint_stays_the_same(self, host: Any) -> None:
        """Else everything is embedded again at each start."""
        one, other = self.view(host), self.view(host)
        found = [await one.fingerprint(), await other.fingerprint(), await one.fingerprint()]
        require(isinstance(found[0], str), f"fingerprint answered {type(found[0]).__name__}, and no text")
        require(len({*found}) == 1, f"fingerprint answered {found} for the same settings: leave out what changes")
        await one.close()
        await other.close()

    @pytest.mark.anyio
    async def test_each_text_has_a_vector(self, host: Any) -> None:
        """Functions and questions alike, in the order of the texts, each of as many finite numbers."""
        view = self.view(host)
        lengths = {len(row) for question in (False, True) for row in await self._vectors(view, TEXTS, question)}
        require(len(lengths) == 1, f"embed answered vectors of {sorted(lengths)} numbers: all must have as many")
        single = await self._vectors(view, TEXTS[:1], False)
        require(len(single) == 1, "embed did not take one text alone")
        await view.close()

    @pytest.mark.anyio
    async def test_vectors_belong_to_their_texts(self, host: Any) -> None:
        """Whatever else is in the batch: a text that comes again gets the same vector."""
        view = self.view(host)
        first = await self._vectors(view, TEXTS, False)
        turned = await self._vectors(view, TEXTS[::-1], False)
        for text, one, other in zip(TEXTS, first, turned[::-1], strict=True):
            require(_near(one, other), f"embed answered another vector for {text!r} when the texts came in turn")
        await view.close()

    @pytest.mark.anyio
    async def test_any_text_is_embedded(self, host: Any) -> None:
        """Odd ones, and as many at once as core asks for: one that fails keeps all others from being found."""
        view = self.view(host)
        for texts in (*((odd,) for odd in ODD_TEXTS), ODD_TEXTS, (TEXTS * 22)[:64]):
            await self._vectors(view, texts, False)
            await self._vectors(view, texts[:1], True)
        await view.close()

    @pytest.mark.anyio
    async def test_other_tasks_go_on(self, host: Any) -> None:
        """A model works in a thread, or is waited for by `await`."""
        view, last, longest = self.view(host), time.monotonic(), 0.0

        async def turn() -> None:
            nonlocal last, longest
            while True:
                await asyncio.sleep(0.01)
                now = time.monotonic()
                last, longest = now, max(longest, now - last)

        turning = asyncio.ensure_future(turn())
        await asyncio.sleep(0.02)
        await self._vectors(view, (TEXTS * 22)[:64], False)
        await asyncio.sleep(0.02)
        turning.cancel()
        require(longest < BLOCKED_SECONDS, f"embed blocks the event loop for {longest:.1f} s: work in a thread")
        await view.close()

    @pytest.mark.anyio
    async def test_a_cancelled_question_is_over(self, host: Any) -> None:
        """A search does not wait for longer than 0.3 seconds; the next one works."""
        view = self.view(host)
        asking = asyncio.ensure_future(view.embed([TEXTS[0]], question=True))
        await asyncio.sleep(0)
        asking.cancel()
        done, _ = await asyncio.wait([asking], timeout=EMBED_SECONDS)
        require(done, "a cancelled question goes on: let CancelledError pass")
        await self._vectors(view, TEXTS, True)
        await view.close()

    @pytest.mark.anyio
    async def test_it_works_in_a_gateway(self, doorward_host: Any) -> None:
        """Functions are embedded, and searches go on."""
        doorward_host.install_real("search", "search_view", "search_views")  # of doorward-search, which asks views
        doorward_host.install("search_view", NAME, self.driver)
        config = {
            "executor": "inprocess",
            "cache": "none",
            "plugins": [],
            "search_view": [NAME],
            "search_views": {NAME: self.settings(doorward_host)},
            "servers": {"weather": {"source": "fake"}},
        }
        try:
            async with doorward_host.gateway(config) as gate:
                await gate.ready()
                told = [check async for check in gate.search_engine().checks()]
                require(all(ok for _, ok, _ in told), f"doctor says: {'; '.join(what for what, _, _ in told)}")
                found = await gate.search_functions("The forecast for a city")
                first = found["functions"][0]["function"] if found["functions"] else "nothing"
                require(first == "weather.get_forecast", f"a function's own summary finds {first} with it")
        except DoorwardError as error:
            fail(f"a gateway does not start with it: {error}")

    @pytest.mark.anyio
    async def test_it_can_be_closed(self, host: Any) -> None:
        """Without having been used, and a second time."""
        view = self.view(host)
        with only((), "close", "Give back what was opened, if anything was."):
            await view.close()
            await view.close()

    async def _vectors(self, view: Any, texts: Sequence[str], question: bool) -> list[list[float]]:
        """What `embed` answers, once it is what core can use."""
        asked = f"embed, given {len(texts)} texts such as {texts[0][:40]!r},"
        with only((), asked, "Any text has a vector; zeros, if nothing is known of it."):
            async with asyncio.timeout(EMBED_SECONDS):
                answer = await view.embed([*texts], question=question)
        try:
            found = [[*map(float, row)] for row in answer]
        except (TypeError, ValueError):
            fail(f"{asked} answered {type(answer).__name__}, and no vectors")
        require(len(found) == len(texts), f"{asked} answered {len(found)} vectors")
        require(len({len(row) for row in found}) == 1, f"{asked} answered vectors of different lengths")
        require(all(found), f"{asked} answered vectors without numbers")
        finite = all(math.isfinite(number) for row in found for number in row)
        require(finite, f"{asked} answered numbers that are not finite")
        return found


def _near(one: Sequence[float], other: Sequence[float]) -> bool:
    """Whether two vectors are the same but for rounding."""
    scale = max(map(abs, (*one, *other)), default=0.0) or 1.0
    return all(abs(a - b) <= CLOSE_ENOUGH * scale for a, b in zip(one, other, strict=True))
