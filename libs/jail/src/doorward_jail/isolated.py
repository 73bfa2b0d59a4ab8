"""What an executor hands over: a Python that it has started in isolation."""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol


class Account(Protocol):
    """What one sandbox uses, counted from outside of it."""

    async def reached(self) -> list[str]:
        """The limits that it has run into: `memory`, `processes`."""
        ...

    async def close(self) -> None:
        """The sandbox is gone: give back what counted."""
        ...


@dataclass(frozen=True)
class Isolated:
    """A Python that an executor has started in isolation.

    `socket` is connected to its standard input and output; `unwrap` takes off what its carrier puts around the bytes
    that come. `passes_fds`: it is a Unix socket of this machine, and file descriptors can be passed. `kill` ends
    everything in it, and returns when that is gone. `said` is the last of its standard error. `room` is how many
    sandboxes it may hold at once. `account` is called for each new sandbox, with its process id on this machine (0
    where that is not known). `loaded` is called once the packages are, before the first sandbox. `config` are keys of
    the zygote's configuration: see `zygote_config`.
    """

    socket: socket.socket
    kill: Callable[[], Awaitable[None]]
    said: Callable[[], str] = lambda: ""
    passes_fds: bool = False
    unwrap: Callable[[bytes], bytes] | None = None
    room: int = 1
    account: Callable[[int], Account] | None = None
    loaded: Callable[[], Awaitable[None]] | None = None
    config: Mapping[str, Any] = field(default_factory=dict)
