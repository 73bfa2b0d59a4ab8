"""Where requests may go: what the operator configured, and public addresses. Never what an argument, a document or a
redirect says of the network that Doorward stands in."""

from __future__ import annotations

import contextlib
import ipaddress
import socket
from collections.abc import Iterable

import anyio
from doorward import ServerError

from doorward_openapi.servers import origin

_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_SPECIAL = [
    ipaddress.ip_network(text)
    for text in (
        *("100.64.0.0/10", "192.0.0.0/24", "192.88.99.0/24", "198.18.0.0/15"),
        *("64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "3fff::/20", "5f00::/16", "fec0::/10"),
    )
]
"""Of the registries of special addresses (RFC 6890 and later): what not every Python's `is_global` knows."""

_MOST_ADDRESSES = 16

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address


class Destinations:
    """The origins that the operator configured, which may be anywhere; every other must have public addresses only."""

    def __init__(self, server: str, configured: Iterable[str]) -> None:
        self._server = server
        self._configured = {origin(url)[1:] for url in configured}

    async def addresses(self, host: str, port: int) -> list[str]:
        """The addresses of a host that a connection may be made to, in their order.

        Raises: ServerError if one of them is not public and the operator did not configure that place; OSError if the
        name cannot be resolved.
        """
        found = await self._resolved(host, port)
        if not self.configured(host, port):
            self._require_public(host, port, found)
        return found

    async def require_public(self, host: str, port: int) -> None:
        """Raises: ServerError if the host has, as far as can be told from here, an address that is not public; whether
        or not the operator configured it."""
        with contextlib.suppress(OSError):  # a proxy may know more names; without one there will be no connection either
            self._require_public(host, port, await self._resolved(host, port))

    def configured(self, host: str, port: int) -> bool:
        return (host.lower().strip("[]"), port) in self._configured

    async def _resolved(self, host: str, port: int) -> list[str]:
        answers = await anyio.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM)
        return list(dict.fromkeys(str(address[0]) for *_, address in answers))[:_MOST_ADDRESSES]

    def _require_public(self, host: str, port: int, addresses: Iterable[str]) -> None:
        for address in addresses:
            if what := not_public(address):
                raise ServerError(
                    f"{self._server}: {host}:{port} is {what} address, to which only the configuration can send requests",
                    hint=f"If the API is there, set base_url of [servers.{self._server}] to it, or list it in `origins`.",
                )


def not_public(address: str) -> str:
    """What an IP address is that is not public: "a loopback", "a private" …; "" for a public one.

    One that carries another (IPv4-mapped, NAT64, 6to4) is what that one is.
    """
    try:
        ip: IPAddress = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return "no IP"
    if isinstance(ip, ipaddress.IPv6Address):
        inner = ip.ipv4_mapped or ip.sixtofour or (ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF) if ip in _NAT64 else None)
        if inner is not None:
            return not_public(str(inner))
    if ip.is_loopback:
        return "a loopback"
    if ip.is_link_local:
        return "a link-local"
    if ip.is_multicast:
        return "a multicast"
    if ip.is_unspecified:
        return "the unspecified"
    if not ip.is_global or ip.is_reserved or any(ip in network for network in _SPECIAL):
        return "a private or reserved"
    return ""


def not_public_name(host: str) -> str:
    """The same of a host of a URL, as far as it can be told without asking for its addresses: of addresses, and of `localhost`."""
    if host == "localhost" or host.endswith(".localhost"):
        return "a loopback"
    try:
        return not_public(str(ipaddress.ip_address(host)))
    except ValueError:
        return ""
