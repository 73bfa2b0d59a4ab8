"""Tells whether a host is this machine."""

from __future__ import annotations

import ipaddress

IN_URLS = ("localhost", "127.0.0.1", "[::1]")
"""The usual names of this machine in URLs."""


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a service on this host. An IPv6 address is given without brackets."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
