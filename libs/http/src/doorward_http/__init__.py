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
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from doorward_http.addresses import PRIVATE_ADDRESS, not_public, not_public_name, resolved
    from doorward_http.answer import HttpAnswer
    from doorward_http.destinations import Destinations
    from doorward_http.engine import HttpEngine
    from doorward_http.error_bodies import error_text
    from doorward_http.guarded_transport import AnswerStream, GuardedTransport
    from doorward_http.header_names import named_headers
    from doorward_http.named_hosts import NamedHosts
    from doorward_http.retry_after_header import retry_after
    from doorward_http.upstream_limits import UpstreamLimits

_EXPORTS = {
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
__all__ = [
    "PRIVATE_ADDRESS",
    "AnswerStream",
    "Destinations",
    "GuardedTransport",
    "HttpAnswer",
    "HttpEngine",
    "NamedHosts",
    "UpstreamLimits",
    "error_text",
    "named_headers",
    "not_public",
    "not_public_name",
    "resolved",
    "retry_after",
]


def __getattr__(name: str) -> Any:
    if name in _EXPORTS:
        return getattr(importlib.import_module(f"doorward_http.{_EXPORTS[name]}"), name)
    raise AttributeError(f"module 'doorward_http' has no attribute {name!r}")
