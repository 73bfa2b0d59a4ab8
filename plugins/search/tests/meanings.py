"""A view that knows which words mean alike, and a configuration that uses it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from doorward import PluginContext, Settings
from doorward_testing.samples import CONFIG

CONCEPTS = [
    {"forecast", "meteorology", "climate", "umbrella"},
    {"station", "stations", "outpost", "observatory"},
    {"token", "credential", "passphrase"},
    {"bytes", "raw", "binary", "blob"},
]
"""Each is one dimension; a word of none has no vector."""

VIEWED = 'search_view = ["means"]\n' + CONFIG


class Means(Settings):
    pass


class Meanings:
    """Embeds by `CONCEPTS`. `asked` has all texts of functions, `questions` all questions; `fails` is raised, `held` is
    waited for, `answer` takes the place of what it would answer."""

    Settings = Means
    made: list[Meanings]
    model = "one"
    fails: BaseException | None = None
    held: asyncio.Event | None = None
    answer: Any = None

    def __init__(self, context: PluginContext[Means]) -> None:
        self.asked: list[str] = []
        self.questions: list[str] = []
        self.closed = 0
        type(self).made.append(self)

    async def fingerprint(self) -> str:
        return self.model

    async def embed(self, texts: Sequence[str], *, question: bool) -> Any:
        (self.questions if question else self.asked).extend(texts)
        cls = type(self)
        if question and cls.held is not None:
            await cls.held.wait()
        if cls.fails is not None:
            raise cls.fails
        if cls.answer is not None:
            return cls.answer(texts, question)
        return [vector(text) for text in texts]

    async def close(self) -> None:
        self.closed += 1


def vector(text: str) -> list[float]:
    words = text.lower().replace(":", " ").replace(",", " ").split()
    return [float(sum(word in concept for word in words)) for concept in CONCEPTS]


async def built(gate: Any) -> None:
    """Wait until everything is embedded."""
    await gate.ready()
    async with asyncio.timeout(30):
        while not await gate.plugins.manager.get_plugin("search").engine.views.build():
            await asyncio.sleep(0.01)


def names(found: Any) -> list[str]:
    return [hit["function"] for hit in found["functions"]]
