"""For plugins that send HTTP requests.

`GuardedTransport` is a transport of httpx2 that connects to allowed addresses only; `NamedHosts` allows those that the
operator named. `HttpEngine` is below it, for a plugin that does not need httpx2's requests. `UpstreamLimits` keeps to
the limits that a server tells.
"""

from __future__ import annotations

from doorward_http.answer import HttpAnswer
from doorward_http.destinations import Destinations
from doorward_http.engine import HttpEngine
from doorward_http.guarded_transport import AnswerStream, GuardedTransport
from doorward_http.named_hosts import NamedHosts
from doorward_http.upstream_limits import UpstreamLimits

__all__ = [
    "AnswerStream",
    "Destinations",
    "GuardedTransport",
    "HttpAnswer",
    "HttpEngine",
    "NamedHosts",
    "UpstreamLimits",
]
