"""Which hosts are this machine."""

from __future__ import annotations

import ipaddress

IN_URLS = ("localhost", "127.0.0.1", "[::1]")
"""The usual ones, as they stand in URLs."""


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach what listens there. An IPv6 address has no brackets."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
