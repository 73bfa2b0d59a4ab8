"""The isolated Python that an executor has started."""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol


class Account(Protocol):
    """The use of memory and processes by one sandbox, counted from outside of it."""

    async def reached(self) -> list[str]:
        """The limits that the sandbox has reached: `memory`, `processes`."""
        ...

    async def close(self) -> None:
        """Stop counting: the sandbox has ended."""
        ...


@dataclass(frozen=True)
class Isolated:
    """A Python that an executor has started in isolation.

    * `socket`: connected to its standard input and output.
    * `kill`: ends everything in it, and returns when all of it is gone.
    * `said`: the last of its standard error.
    * `passes_fds`: `socket` is a Unix socket of this machine, by which file descriptors can be passed.
    * `unwrap`: removes what an engine puts around the bytes that come.
    * `room`: the number of sandboxes that it may hold at once.
    * `account`: called for each new sandbox, with its process id on this machine (0 if that is not known); it may be
      awaited.
    * `more_memory`: what to do, besides working on smaller pieces, where a program needs more memory than its limit.
    * `loaded`: called when the packages are loaded, before the first sandbox.
    * `config`: keys of the zygote's configuration, see `zygote_config`.
    """

    socket: socket.socket
    kill: Callable[[], Awaitable[None]]
    said: Callable[[], str] = lambda: ""
    passes_fds: bool = False
    unwrap: Callable[[bytes], bytes] | None = None
    room: int = 1
    account: Callable[[int], Account | Awaitable[Account]] | None = None
    more_memory: str = ""
    loaded: Callable[[], Awaitable[None]] | None = None
    config: Mapping[str, Any] = field(default_factory=dict)
