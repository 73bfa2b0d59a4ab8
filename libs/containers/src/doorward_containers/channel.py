"""The connection between the host and a container: the engine's attached stream, as a socket."""

from __future__ import annotations

import contextlib
import select
import socket
import ssl
import struct
import threading
from collections.abc import Callable
from typing import Any

_HEADER = struct.Struct(">BxxxL")
_STDERR = 2
_STDERR_TAIL_BYTES = 16 * 2**10
"""How much of stderr is kept for error messages."""
_PIECE_BYTES = 64 * 2**10


class Unwrap:
    """Removes the engine's stream headers from received data, piece by piece: returns stdout and
    keeps the end of stderr.

    A frame is one byte for the stream, three bytes of padding, a big-endian length, and that many bytes of content.
    Source: Docker Engine API v1.41, `ContainerAttach`, "Stream format".
    """

    def __init__(self) -> None:
        self.said = b""
        self._header = b""
        self._stream = self._left = 0

    def __call__(self, received: bytes) -> bytes:
        out, at, end = [], 0, len(received)
        while at < end:
            if not self._left:
                taken = received[at : at + _HEADER.size - len(self._header)]
                self._header += taken
                at += len(taken)
                if len(self._header) == _HEADER.size:
                    self._stream, self._left = _HEADER.unpack(self._header)
                    self._header = b""
                continue
            content = received[at : at + self._left]
            at += len(content)
            self._left -= len(content)
            if self._stream == _STDERR:
                self.said = (self.said + content)[-_STDERR_TAIL_BYTES:]
            else:
                out.append(content)
        return b"".join(out)


def as_socket(attached: Any) -> socket.socket:
    """The SDK's connection to an attached container as a socket of our own. A plain connection is used directly, so
    that the engine notices at once if this process ends; any other is relayed to a local socket by threads."""
    plain = getattr(attached, "_sock", None)
    if type(plain) is socket.socket:
        return socket.socket(fileno=plain.detach())  # so that the SDK can neither keep it open nor close it
    ours, theirs = socket.socketpair()
    if isinstance(attached, ssl.SSLSocket):
        _thread(_relay_tls, theirs, attached)
    else:
        over = _Once(theirs, attached)
        _thread(_pump, attached.recv, theirs.sendall, over)
        _thread(_pump, theirs.recv, attached.sendall if hasattr(attached, "sendall") else attached.send, over)
    return ours


def _thread(work: Callable[..., None], *given: Any) -> None:
    threading.Thread(target=work, args=given, name="doorward-docker", daemon=True).start()


class _Once:
    """Closes both ends when either direction is over."""

    def __init__(self, *ends: Any) -> None:
        self._ends = ends

    def __call__(self) -> None:
        for one in self._ends:
            with contextlib.suppress(Exception):
                one.shutdown(socket.SHUT_RDWR)
            with contextlib.suppress(Exception):
                one.close()


def _pump(read: Callable[[int], bytes], write: Callable[[bytes], Any], over: _Once) -> None:
    with contextlib.suppress(OSError, ValueError):
        while piece := read(_PIECE_BYTES):
            write(piece)
    over()


def _relay_tls(local: socket.socket, remote: ssl.SSLSocket) -> None:
    """Relay in one thread, for a TLS connection must not be read and written at the same time."""
    remote.setblocking(False)
    with contextlib.suppress(OSError, ValueError), local, remote:
        while True:
            ready = [remote] if remote.pending() else select.select([local, remote], [], [])[0]
            if remote in ready:
                with contextlib.suppress(ssl.SSLWantReadError, ssl.SSLWantWriteError):
                    if not (piece := remote.recv(_PIECE_BYTES)):
                        return
                    local.sendall(piece)
            if local in ready:
                if not (piece := local.recv(_PIECE_BYTES)):
                    return
                _send_tls(remote, piece)


def _send_tls(remote: ssl.SSLSocket, content: bytes) -> None:
    left = memoryview(content)
    while left:
        try:
            left = left[remote.send(left) :]
        except ssl.SSLWantWriteError:
            select.select([], [remote], [])
        except ssl.SSLWantReadError:
            select.select([remote], [], [])
