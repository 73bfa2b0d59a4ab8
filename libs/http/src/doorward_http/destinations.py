"""Where connections may go, and how the first of several addresses is found that takes one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol, TypeVar

import anyio

_NEXT_ADDRESS_SECONDS = 0.25
"""Seconds until the next address of a host is tried too (RFC 8305 section 5)."""

T = TypeVar("T")


class Destinations(Protocol):
    """Decides where connections may go."""

    async def addresses(self, host: str, port: int) -> list[str]:
        """The addresses of a host to which a connection may be made, in their order.

        Raises: DoorwardError if there is none; OSError if the name cannot be resolved.
        """

    async def by_proxy(self, host: str, port: int) -> None:
        """Raises: DoorwardError if a proxy, which resolves names itself, may not be asked for this host."""


async def first_connected(
    addresses: list[str],
    connect: Callable[[str], Awaitable[T]],
    close: Callable[[Sequence[T]], Awaitable[None]],
    *refusals: type[Exception],
) -> T:
    """The first connection to one of the addresses; each is tried a little after the one before. `close` is given the
    others.

    Raises: the first of `refusals` that `connect` raised; OSError without addresses.
    """
    if len(addresses) == 1:
        return await connect(addresses[0])
    made: list[T] = []
    errors: list[Exception] = []

    async def attempt(address: str, over: anyio.Event) -> None:
        try:
            made.append(await connect(address))
            group.cancel_scope.cancel()
        except refusals as error:
            errors.append(error)
        over.set()

    try:
        async with anyio.create_task_group() as group:
            for address in addresses:
                over = anyio.Event()
                group.start_soon(attempt, address, over)
                with anyio.move_on_after(_NEXT_ADDRESS_SECONDS):
                    await over.wait()
    except BaseException:
        await _shielded(close, made)
        raise
    await _shielded(close, made[1:])
    if not made:
        raise errors[0] if errors else OSError("the name has no addresses")
    return made[0]


async def _shielded(close: Callable[[Sequence[T]], Awaitable[None]], made: Sequence[T]) -> None:
    with anyio.CancelScope(shield=True):
        await close(made)
