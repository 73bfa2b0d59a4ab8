"""The trial that reaches for listeners of the host, and for routes."""

from __future__ import annotations

import contextlib
import socket
import sys
from collections.abc import Iterator
from typing import Any

from doorward_jail.probes import in_javascript
from doorward_jail.probes.trial import Asked, Trial, listed, open_folder, told

_NETWORK = """
import socket
TCP = 0
TCP6 = 0
UDP = 0
NAME = ""
PATH = ""
ROUTES = True
reached = []
def attempt(what, family, kind, address):
    try:
        with socket.socket(family, kind) as s:
            s.settimeout(1)
            s.connect(address)
            s.send(b"x")
            if what:
                reached.append(what)
    except (OSError, AttributeError):
        pass
STREAM, DATAGRAM = socket.SOCK_STREAM, socket.SOCK_DGRAM
attempt("the host's loopback", socket.AF_INET, STREAM, ("127.0.0.1", TCP))
attempt("the host's loopback by IPv6", socket.AF_INET6, STREAM, ("::1", TCP6))
attempt("", socket.AF_INET, DATAGRAM, ("127.0.0.1", UDP))
attempt("an abstract Unix socket", socket.AF_UNIX, STREAM, "\\0" + NAME)
attempt("a Unix socket", socket.AF_UNIX, STREAM, PATH)
if ROUTES:
    attempt("a route to name servers", socket.AF_INET, DATAGRAM, ("192.0.2.1", 53))
    attempt("a route to IPv6", socket.AF_INET6, DATAGRAM, ("2001:db8::1", 53))
result = reached
"""


@contextlib.contextmanager
def network(asked: Asked) -> Iterator[Trial]:
    with contextlib.ExitStack() as opened:
        folder = opened.enter_context(open_folder())
        listeners: dict[str, socket.socket] = {}

        def listen(what: str, family: int, kind: int, address: Any) -> Any:
            made = opened.enter_context(socket.socket(family, kind))
            made.setblocking(False)
            with contextlib.suppress(OSError):  # there is no IPv6 here, or no abstract names
                made.bind(address)
                if kind == socket.SOCK_STREAM:
                    made.listen()
                listeners[what] = made
                return made.getsockname()
            return ("", 1)

        names = {
            "TCP": listen("a port", socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0))[1],
            "TCP6": listen("a port by IPv6", socket.AF_INET6, socket.SOCK_STREAM, ("::1", 0))[1],
            "UDP": listen("a port by UDP", socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0))[1],
            "NAME": asked.token,
            "PATH": str(folder / "socket"),
            "ROUTES": not asked.network,
        }
        listen("a Unix socket", socket.AF_UNIX, socket.SOCK_STREAM, names["PATH"])
        (folder / "socket").chmod(0o777)
        if sys.platform == "linux":
            listen("an abstract Unix socket", socket.AF_UNIX, socket.SOCK_STREAM, f"\0{asked.token}")

        def judge(value: Any, error: Any) -> str:
            for what, listener in listeners.items():
                with contextlib.suppress(BlockingIOError):
                    if listener.type == socket.SOCK_STREAM:
                        listener.accept()[0].close()
                    else:
                        listener.recv(1)
                    return f"a program reached {what} of the host"
            return told("found", listed(value))

        routes = "" if asked.network else " nor a route"
        yield Trial(
            asked.written(_NETWORK, in_javascript.NETWORK),
            names,
            judge,
            f"neither a listener of the host{routes} is reached",
        )
