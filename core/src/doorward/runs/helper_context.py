"""What a helper of `import doorward` needs to know of its run. `RunContext` in `runs` implements it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from doorward.model.calls import File, Reply
    from doorward.model.programs import Program

Helper = Callable[..., Awaitable[Any]]
"""Called with the run, then with the arguments of the program."""


class HelperContext(Protocol):
    """A run as helpers see it."""

    @property
    def program(self) -> Program: ...

    @property
    def made(self) -> int:
        """The calls counted so far, this one included."""
        ...

    def helper_makes_calls(self) -> None:
        """Do not count the call of a helper, because the calls that it makes are counted."""
        ...

    async def call(self, function: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """See `doorward.Door.call`."""
        ...

    async def reply(
        self, function: str, args: Sequence[Any], kwargs: Mapping[str, Any], *, link: str = "", headers: bool = False
    ) -> Reply:
        """Make one call, as `call` does. The reply also says how to get the next page, if its source knows; the call
        for that page gets the reply's `link`. `headers`: include those of the answer."""
        ...

    def following(self, function: str, arguments: Mapping[str, Any], value: Any) -> tuple[dict[str, Any] | None, str]:
        """The arguments for the page after an answer whose source does not give them."""
        ...

    def note(self, text: str) -> None:
        """Add a note to the answer of the run."""
        ...

    async def open(self, uri: str) -> File:
        """See `doorward.Door.open`."""
        ...

    async def is_foreign(self, uri: str) -> bool:
        """Whether this URI of a file stood in the data of an upstream, and there is no such file."""
        ...

    def close_session(self) -> None:
        """End the session of the run, once its answer is there. Raises: InvalidArguments if it has none."""
        ...
