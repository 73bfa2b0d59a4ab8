"""The run of a call, as far as a person's answer concerns it. `RunContext` in the room `runs` is one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

if TYPE_CHECKING:
    from doorward.model.clock import Clock
    from doorward.model.outcomes import Awaited
    from doorward.model.programs import Program


class Suspends(Protocol):
    """How a run is suspended, see `journal/suspension.py`."""

    @property
    def awaited(self) -> Sequence[tuple[Awaited, str]]: ...

    @property
    def possible(self) -> bool: ...

    def possible_until(self, then: float) -> bool: ...

    async def wait(self, for_: Awaited, what: str, until: int = 0) -> NoReturn: ...


class Asks(Protocol):
    """The client of a run."""

    async def ask(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]: ...


class AskingRun(Protocol):
    """See above."""

    @property
    def program(self) -> Program: ...

    @property
    def clock(self) -> Clock: ...

    @property
    def client(self) -> Asks | None: ...

    @property
    def session(self) -> str: ...

    @property
    def suspension(self) -> Suspends: ...

    def spends(self, yes: str) -> bool:
        """Use up a person's yes. Returns: whether this run has not done that before."""
        ...
