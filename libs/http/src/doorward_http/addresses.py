"""Tells public addresses from those of this machine and of the network around it."""

from __future__ import annotations

import ipaddress
import socket

from doorward.values import is_loopback

LOOPBACK_ADDRESS = "a loopback"
PRIVATE_ADDRESS = "a private or reserved"
"""Answers of `not_public`, to be followed by the word "address"."""

_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_SPECIAL_NETWORKS = [
    ipaddress.ip_network(text)
    for text in (
        *("100.64.0.0/10", "192.0.0.0/24", "192.88.99.0/24", "198.18.0.0/15"),
        *("64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "3fff::/20", "5f00::/16", "fec0::/10"),
    )
]
"""Special addresses (RFC 6890 and later) that `is_global` of some Python versions does not know."""

MAX_ADDRESSES = 16
"""Addresses of one host that are used; more are ignored."""

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address


async def resolved(host: str, port: int) -> list[str]:
    """The addresses of a host, in their order. Raises: OSError if the name cannot be resolved."""
    import anyio

    try:
        answers = await anyio.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM)
    except UnicodeError as error:
        raise OSError(f"{host[:100]!r} is not the name of a host: {error}") from None
    return list(dict.fromkeys(str(address[0]) for *_, address in answers))[:MAX_ADDRESSES]


def not_public(address: str) -> str:
    """The kind of an IP address that is not public: `LOOPBACK_ADDRESS`, "a link-local" …; "" for a public one.

    An address that carries another one (IPv4-mapped, NAT64, 6to4) is judged by that one.
    """
    try:
        ip: IPAddress = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return "no IP"
    if isinstance(ip, ipaddress.IPv6Address):
        inner = (
            ip.ipv4_mapped or ip.sixtofour or (ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF) if ip in _NAT64 else None)
        )
        if inner is not None:
            return not_public(str(inner))
    if ip.is_loopback:
        return LOOPBACK_ADDRESS
    if ip.is_link_local:
        return "a link-local"
    if ip.is_multicast:
        return "a multicast"
    if ip.is_unspecified:
        return "the unspecified"
    if not ip.is_global or ip.is_reserved or any(ip in network for network in _SPECIAL_NETWORKS):
        return PRIVATE_ADDRESS
    return ""


def not_public_name(host: str) -> str:
    """The same for the host of a URL, without a look-up: for addresses, and for `localhost`.

    Names below `localhost` usually lead to this machine, so they are not public. Not every machine keeps to that rule,
    so `is_loopback` does not trust them.
    """
    if is_loopback(host) or host.endswith(".localhost"):
        return LOOPBACK_ADDRESS
    try:
        return not_public(str(ipaddress.ip_address(host)))
    except ValueError:
        return ""
