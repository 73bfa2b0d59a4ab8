"""Where a server in a container may connect to: the places of `egress`, at addresses that were checked, and nowhere
else."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import anyio
from doorward_http import not_public, resolved

from doorward_mcp_upstream.connections.stderr import StderrLog

_CONNECT_SECONDS = 10.0


class Egress:
    """The places, each by its number. What is refused stands in the server's log."""

    def __init__(self, places: Sequence[tuple[str, int]], log: StderrLog, *, private: bool) -> None:
        self.places = places
        self._log = log
        self._private = private
        hosts = list(dict.fromkeys(host for host, _ in places))
        self._addresses = {host: f"127.1.0.{number}" for number, host in enumerate(hosts, 1)}

    @property
    def hosts(self) -> list[str]:
        """The lines of the container's /etc/hosts, each name with an address of the container itself."""
        return [f"{host}:{address}" for host, address in self._addresses.items()]

    @property
    def listening(self) -> list[tuple[str, int]]:
        """The addresses in the container, in the order of the places."""
        return [(self._addresses[host], port) for host, port in self.places]

    async def connect(self, place: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A connection to a place, at the very address that was checked. Raises: OSError."""
        if place >= len(self.places):
            raise OSError(f"there is no place {place}")
        host, port = self.places[place]
        try:
            with anyio.fail_after(_CONNECT_SECONDS):
                return await self._connected(host, port)
        except OSError as error:
            why = "it took too long" if isinstance(error, TimeoutError) else error
            self._log.add(f"[no connection to {host}:{port}: {why}]")
            raise

    async def _connected(self, host: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        addresses = await resolved(host, port)
        kinds = [] if self._private else [kind for address in addresses if (kind := not_public(address))]
        if kinds:
            raise OSError(f"it has {kinds[0]} address, which takes egress_private = true")
        failed = OSError("the name has no addresses")
        for address in addresses:
            try:
                return await asyncio.open_connection(address, port)
            except OSError as error:
                failed = error
        raise failed
