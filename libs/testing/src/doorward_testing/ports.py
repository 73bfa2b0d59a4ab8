"""Ports of loopback that belong to one test process."""

from __future__ import annotations

import socket

_RESERVED: list[socket.socket] = []


def reserve_port() -> int:
    """Reserve a port of 127.0.0.1 until this process ends: connections to it are refused, and no other process is given
    it. A server that the test starts there can listen at it, stop and listen again, if it sets SO_REUSEADDR, as nearly
    all do."""
    taken = socket.socket()
    taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    taken.bind(("127.0.0.1", 0))
    _RESERVED.append(taken)
    return int(taken.getsockname()[1])
