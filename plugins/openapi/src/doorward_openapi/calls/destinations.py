"""Where requests may go: the origins that the operator configured, and public addresses. An argument, a document or a
redirect can never reach into the network in which Doorward runs."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable

from doorward import ServerError
from doorward_http import not_public, resolved

from doorward_openapi.document.servers import origin


class Destinations:
    """The origins that the operator configured, which may have any address; every other
    origin must have public ones."""

    def __init__(self, server: str, configured: Iterable[str]) -> None:
        self._server = server
        self._configured = {origin(url)[1:] for url in configured}

    async def addresses(self, host: str, port: int) -> list[str]:
        """The addresses of a host to which a connection may be made, in the order in which they were resolved.

        Raises: ServerError if one of them is not public and the operator did not configure the origin; OSError if the
        name cannot be resolved.
        """
        found = await resolved(host, port)
        if not self.configured(host, port):
            self._require_public(host, port, found)
        return found

    async def by_proxy(self, host: str, port: int) -> None:
        """Raises: ServerError if a proxy may not be asked for this host, as far as can be told from here."""
        if not self.configured(host, port):
            await self.require_public(host, port)

    async def require_public(self, host: str, port: int) -> None:
        """Raises: ServerError if the host has an address that is not public, as far as can be told from here, even if
        the operator configured it."""
        with contextlib.suppress(
            OSError
        ):  # a proxy may know more names; without one there will be no connection either
            self._require_public(host, port, await resolved(host, port))

    def configured(self, host: str, port: int) -> bool:
        return (host.lower().strip("[]"), port) in self._configured

    def _require_public(self, host: str, port: int, addresses: Iterable[str]) -> None:
        for address in addresses:
            if what := not_public(address):
                raise ServerError(
                    f"{self._server}: {host}:{port} is {what} address, to which only the configuration can send "
                    f"requests",
                    hint=f"If the API is there, set base_url of [servers.{self._server}] to it, or list it in "
                    f"`origins`.",
                )
