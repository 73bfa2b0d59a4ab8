"""To whom a driver may turn while it works: the person who logs in, and the client that asked for a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol


class LoginPrompt(Protocol):
    """Who logs in: the person before the terminal."""

    def tell(self, text: str) -> None:
        """Say what goes on, or what to do."""
        ...

    async def open(self, url: str) -> None:
        """Have them visit a page: in a browser if there is one, else they are told the address."""
        ...

    async def ask(self, question: str) -> str | None:
        """A line that they paste; `None` if they are not to be asked, because an answer comes by another way."""
        ...


class Client(Protocol):
    """The MCP client that asked for a run, as far as a source may turn to it while a call lasts."""

    async def progress(self, done: float, total: float | None = None, message: str = "") -> None:
        """Tell how far a call is, in whatever unit. Nothing happens if the client did not ask to be told."""
        ...

    async def ask(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """Have the client, or the person before it, answer a request of an upstream, `elicitation/create` or
        `sampling/createMessage`; parameters and answer are plain JSON as MCP has them. The deadline of the run stands
        still meanwhile.

        Raises: ServerError if the client cannot answer such a request, or is gone; LimitExceeded if it took too long.
        """
        ...
