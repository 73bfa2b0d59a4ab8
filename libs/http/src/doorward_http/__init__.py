"""HTTP for plugins: requests to checked addresses only, within the limits that servers tell.

`GuardedTransport` is a transport of httpx2 that connects only where its `Destinations` allow it; `NamedHosts` allow
what the operator named. `HttpEngine` is what it sends by, for a plugin that needs nothing of httpx2's requests.
`UpstreamLimits` has calls wait for their turn at a server that limits requests. `not_public` and `not_public_name` tell
addresses and names of this machine and its network from public ones, `resolved` looks names up; `error_text` finds the
words in the body of an error, `retry_after` reads that header, and `named_headers` checks names of headers.

A name is loaded when it is first used: those that send bring httpx2.
"""

from __future__ import annotations

import importlib
from typing import Any

_MODULE_OF = {
    "PRIVATE_ADDRESS": "addresses",
    "AnswerStream": "guarded_transport",
    "Destinations": "destinations",
    "GuardedTransport": "guarded_transport",
    "HttpAnswer": "answer",
    "HttpEngine": "engine",
    "NamedHosts": "named_hosts",
    "UpstreamLimits": "upstream_limits",
    "error_text": "error_bodies",
    "named_headers": "header_names",
    "not_public": "addresses",
    "not_public_name": "addresses",
    "resolved": "addresses",
    "retry_after": "retry_after_header",
}
__all__ = [*_MODULE_OF]


def __getattr__(name: str) -> Any:
    if name in _MODULE_OF:
        return getattr(importlib.import_module(f"doorward_http.{_MODULE_OF[name]}"), name)
    raise AttributeError(f"module 'doorward_http' has no attribute {name!r}")
