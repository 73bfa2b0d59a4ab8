"""Connections to what the operator named in the configuration, and to nothing that an answer or a name server names."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urlsplit

from doorward import ServerError

from doorward_http.addresses import resolved

_PORTS = {"http": 80, "https": 443}


class NamedHosts:
    """The hosts of some URLs, whatever their addresses are: where a `GuardedTransport` may connect to. `sends` is what
    goes there, for messages: `prompts`, or another plural."""

    def __init__(self, urls: Iterable[str], sends: str) -> None:
        self._sends = sends
        parts = [urlsplit(url) for url in urls]
        self._named = {((each.hostname or "").lower(), each.port or _PORTS[each.scheme]) for each in parts}

    async def addresses(self, host: str, port: int) -> list[str]:
        """All addresses of a host that was named. Raises: ServerError; OSError if the name cannot be resolved."""
        await self.by_proxy(host, port)
        return await resolved(host, port)

    async def by_proxy(self, host: str, port: int) -> None:
        """Raises: ServerError if the host was not named."""
        if (host.lower().strip("[]"), port) not in self._named:
            raise ServerError(f"{host}:{port} is not where the configuration sends {self._sends}")
