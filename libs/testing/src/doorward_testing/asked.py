"""A client whose person answers questions: for tests of what asks somebody."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any


class Person:
    """The client of a run, whose person answers as `reply` says of the question."""

    def __init__(self, reply: Callable[[Mapping[str, Any]], Any]) -> None:
        self.reply = reply
        self.asked: list[Mapping[str, Any]] = []

    async def progress(self, done: float, total: float | None = None, message: str = "") -> None:
        pass

    async def ask(self, method: str, params: Mapping[str, Any]) -> Any:
        assert method == "elicitation/create"
        self.asked.append(params)
        found = self.reply(params)
        return await found if hasattr(found, "__await__") else found


def says(answer: str) -> Person:
    """A client whose person always says this."""
    return Person(lambda question: {"action": "accept", "content": {"answer": answer}})
