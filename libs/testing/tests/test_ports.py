"""Reserved ports."""

from __future__ import annotations

import socket
from contextlib import closing

import pytest
from doorward_testing import reserve_port


def test_nobody_else_is_given_a_reserved_port() -> None:
    """However many ports are asked for, a reserved one is not among them, and whoever connects to it is refused."""
    port = reserve_port()
    others = [reserve_port() for _ in range(200)]
    assert port not in others
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port))


def test_a_server_starts_and_restarts_at_a_reserved_port() -> None:
    """Also after connections that the server ended, which linger."""
    port = reserve_port()
    for _ in range(3):
        with (
            socket.create_server(("127.0.0.1", port)) as server,
            closing(socket.create_connection(("127.0.0.1", port))),
        ):
            server.accept()[0].close()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port))
