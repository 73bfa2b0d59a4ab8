"""Each mistake in an exporter fails the test that is about it, with a sentence that says what to do."""

from __future__ import annotations

import pytest

from .conftest import Failures, Told

pytestmark = pytest.mark.slow

GOOD = """
from dataclasses import asdict

import httpx2
from doorward import PluginContext, ServerError, Settings
from doorward_testing import ExporterConformance


class CollectorSettings(Settings):
    url: str


class Collector:
    Settings = CollectorSettings

    def __init__(self, context: PluginContext) -> None:
        self.url, self.client = context.settings.url, None

    async def observe(self, batch) -> None:
        self.client = self.client or httpx2.AsyncClient(timeout=10)
        lines = [repr(asdict(event)) for event in batch]
        answer = await self.client.post(self.url, content="\\n".join(lines).encode(errors="replace"))
        if answer.status_code != 200:
            raise ServerError(f"the collector answered {answer.status_code}")

    async def close(self) -> None:
        if self.client is not None:
            await self.client.aclose()


class TestCollector(ExporterConformance):
    driver = Collector

    def settings(self, host):
        return {"url": self.server.url}
"""

MISTAKES = {
    "sync": (("async def observe", "def observe(self, batch) -> None: ...\n\n    async def send"), "test_the_driver_is_complete", "Collector.observe is not asynchronous"),
    "no observe": (("async def observe", "async def watch"), "test_the_driver_is_complete", "lacks the method `observe`"),
    "nothing": (("answer = await", "return\n        answer = await"), "test_what_happens_is_exported", "nothing was delivered"),
    "odd texts": (
        ('"\\n".join(lines).encode(errors="replace")', '"".join(getattr(event, "run", "") for event in batch).encode()'),
        "test_any_batch_is_taken",
        "raised UnicodeEncodeError",
    ),
    "blocks": (
        ("await self.client.post(", "httpx2.post("),
        "test_other_tasks_go_on",
        "observe blocks the event loop: use an asynchronous client",
    ),
    "broken for good": (
        ("            raise ServerError(", "            self.client = 5\n            raise ServerError("),
        "test_a_collector_that_is_down",
        "observe, after a failure, raised AttributeError",
    ),
    "close": (("        if self.client is not None:\n", ""), "test_it_can_be_closed", "close raised AttributeError"),
}  # fmt: skip


def test_a_good_one_passes(failures: Failures) -> None:
    """An exporter without mistakes has no failure."""
    assert failures(GOOD) == {}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_told(told: Told, mistake: str) -> None:
    """In the test that is about it, in one message, without our own frames."""
    told(GOOD, *MISTAKES[mistake])


LATE = """
    asked = 0

    def exported(self, host):
        type(self).asked += 1
        return super().exported(host) if self.asked > 2 else ""
"""


def test_a_collector_may_take_its_time(failures: Failures) -> None:
    """What arrives a moment after it was sent, as it does in a thread, is waited for."""
    assert failures(GOOD + LATE, "is_exported") == {}


def test_a_wrong_answer_is_told(failures: Failures) -> None:
    """An `answer` of the collector that is none is named."""
    found = failures(GOOD + "\n    def answer(self, request):\n        return 200\n", "is_exported")
    assert "`answer`, given POST /, returned 200. Return (status," in found["test_what_happens_is_exported"]
