"""Each mistake in a search view fails the test that is about it, with a sentence that says what to do."""

from __future__ import annotations

import pytest

from .conftest import Failures, Told

pytestmark = pytest.mark.slow

GOOD = """
import time

from doorward import PluginContext, Settings
from doorward_testing import SearchViewConformance

LETTERS = "abcdefghijklmnopqrstuvwxyz"


class Letters:
    Settings = Settings

    def __init__(self, context: PluginContext) -> None:
        self.used = 0

    async def fingerprint(self) -> str:
        return "letters 1"

    async def embed(self, texts, *, question):
        return [[float(text.lower().count(letter)) for letter in LETTERS] for text in texts]

    async def close(self) -> None:
        pass


class TestLetters(SearchViewConformance):
    driver = Letters
"""

MISTAKES = {
    "sync": (("async def embed", "def embed"), "test_the_driver_is_complete", "Letters.embed is not asynchronous"),
    "no fingerprint": (("async def fingerprint", "async def print"), "test_the_driver_is_complete", "lacks the method `fingerprint`"),
    "fingerprint": (('"letters 1"', "str(id(self))"), "test_the_fingerprint_stays_the_same", "leave out what changes"),
    "lengths": (("for letter in LETTERS]", "for letter in LETTERS[question:]]"), "test_each_text_has_a_vector", "vectors of [25, 26] numbers: all must have as many"),
    "order": (("for text in texts]", "for text in sorted(texts)]"), "test_vectors_belong_to_their_texts", "another vector for"),
    "odd": (("text.lower()", "text.encode().decode().lower()"), "test_any_text_is_embedded", "raised UnicodeEncodeError"),
    "infinite": (("float(text.lower().count(letter))", "1e400"), "test_each_text_has_a_vector", "not finite"),
    "missing": (("for text in texts]", "for text in texts if text.strip()]"), "test_any_text_is_embedded", "answered 0 vectors"),
    "blocks": (("        return [[", "        time.sleep(0.01 * len(texts))\n        return [["), "test_other_tasks_go_on", "blocks the event loop"),
    "close": (("        pass", "        self.client.close()"), "test_it_can_be_closed", "close raised AttributeError"),
}  # fmt: skip


def test_a_good_one_passes(failures: Failures) -> None:
    """A view without mistakes has no failure."""
    assert failures(GOOD) == {}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_told(told: Told, mistake: str) -> None:
    """In the test that is about it, in one message, without our own frames."""
    told(GOOD, *MISTAKES[mistake])
