"""The people and programs that a driver may ask while it works: a person who logs in, the client of a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable


class LoginPrompt(Protocol):
    """The person at the terminal who logs in."""

    def tell(self, text: str) -> None:
        """Show a line: what happens now, or what to do."""
        ...

    async def open(self, url: str) -> None:
        """Open a page in the browser if there is one; else show its address."""
        ...

    async def ask(self, question: str) -> str | None:
        """The line that the person types or pastes; `None` if the person is not asked because the answer comes by
        another way."""
        ...


class Client(Protocol):
    """The MCP client that asked for a run, as far as a source may turn to it while a call lasts."""

    async def progress(self, done: float, total: float | None = None, message: str = "") -> None:
        """Report how far a call is, in any unit. Does nothing if the client did not ask for progress."""
        ...

    async def ask(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """Pass a request of an upstream (`elicitation/create` or `sampling/createMessage`) to the client, or to the
        person who uses it. Parameters and answer are plain JSON as in MCP. The run's clock stands still meanwhile.

        Raises: ServerError if the client cannot answer such a request, or is gone; LimitExceeded if it took too long.
        """
        ...


@runtime_checkable
class LearnsRun(Protocol):
    """A client that wants the id of its run as soon as the run can be resumed: its answer may be lost."""

    async def run_stored(self, run: str) -> None:
        """The run is stored under this id, before its first call goes out."""
        ...
