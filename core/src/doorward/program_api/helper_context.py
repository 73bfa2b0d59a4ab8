"""What a helper of `import doorward` needs of the run that asks for it, which is a `RunContext` of the room `runs`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from doorward.model.types import File, Program, Reply

Helper = Callable[..., Awaitable[Any]]
"""It gets the run that asks, then what the program gives it."""


class HelperContext(Protocol):
    """A run, as helpers know it."""

    @property
    def program(self) -> Program: ...

    @property
    def made(self) -> int:
        """The calls that count so far, this one included."""
        ...

    def helper_makes_calls(self) -> None:
        """Count the calls that a helper makes, not the call of the helper."""
        ...

    async def call(self, function: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """See `doorward.Door.call`."""
        ...

    async def reply(
        self, function: str, args: Sequence[Any], kwargs: Mapping[str, Any], *, link: str = "", headers: bool = False
    ) -> Reply:
        """Make one call, as `call` does; with its value comes what its source says of a next page, whose `link` the
        call for that one gets. `headers`: those of the answer, too."""
        ...

    def following(self, function: str, arguments: Mapping[str, Any], value: Any) -> tuple[dict[str, Any] | None, str]:
        """How the page after an answer is got, where its source says nothing of it."""
        ...

    def note(self, text: str) -> None:
        """Tell the reader of the run's answer something beside its value."""
        ...

    def open(self, uri: str) -> File:
        """See `doorward.Door.open`."""
        ...

    def close_session(self) -> None:
        """End the session of the run, once its answer is there. Raises: InvalidArguments if it has none."""
        ...
