"""What a helper of `import doorward` needs to know of its run. `RunContext` in `runs` implements it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from doorward.config.install_hints import capability_brought, owner_brought
from doorward.data.quoting import in_a_line
from doorward.model.errors import UnknownName
from doorward.model.services import Service

if TYPE_CHECKING:
    from doorward.model.calls import File, Reply
    from doorward.model.programs import Program

MODULE = "doorward"
"""The module of helpers."""

ERRORS = ("ApiError", "ToolError")
"""The error classes in it, which sandboxes define themselves."""

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


class Helping:
    """What is told of `doorward` and its helpers. A plugin gives an heir as the service `HELPING`."""

    calls: Collection[str] = ()
    """The helpers that may be called without a program."""

    def card(self, asked: str, asker: Program) -> dict[str, Any]:
        """The description of `doorward` or `doorward.NAME`: `{"function", "text", …}`, or `{"function", "error"}`."""
        return {"function": asked[:200], "error": in_a_line(missing(asked.partition(".")[2]))}

    def written(self, name: str, helper: Helper, language: str) -> str:
        """A hint: how a helper is called."""
        return ""

    def after(self, run: HelperContext, function: str, arguments: Mapping[str, Any], reply: Reply) -> Iterable[str]:
        """Notes on the answer of a call without a program: how to go on."""
        return ()


HELPING = Service[Helping]("what is told of helpers")
"""Without one, programs have `doorward.call` alone."""

UNTOLD = Helping()


def missing(name: str) -> UnknownName:
    """The error for a helper that there is not."""
    called = f"{MODULE}.{name[:100]}".rstrip(".")
    if owner_brought("helper", name or MODULE):
        return UnknownName(f"{called} is not in use here", hint=capability_brought("helper", name or MODULE))
    return UnknownName(f"there is no {called}")
