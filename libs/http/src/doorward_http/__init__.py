"""HTTP for plugins: requests to checked addresses only, within the limits that servers tell.

`GuardedTransport` is a transport of httpx2 that connects only where its `Destinations` allow it; `NamedHosts` allow
what the operator named. `HttpEngine` is what it sends by, for a plugin that needs nothing of httpx2's requests.
`UpstreamLimits` has calls wait for their turn at a server that limits requests. `not_public` and `not_public_name` tell
addresses and names of this machine and its network from public ones, `resolved` looks names up; `unpacked` unpacks an
answer in steps, `error_text` finds the words in the body of an error, `retry_after` reads that header, and
`named_headers` checks names of headers.

A name is loaded when it is first used: those that send bring httpx2.
"""

from doorward.exports import Exports

_EXPORTS = Exports(
    __name__,
    {
        "addresses": "PRIVATE_ADDRESS not_public not_public_name resolved",
        "answer": "HttpAnswer",
        "content_codings": "ACCEPTED_CODINGS unpack unpacked zstd_module",
        "destinations": "Destinations",
        "engine": "HttpEngine",
        "error_bodies": "error_text",
        "guarded_transport": "AnswerStream GuardedTransport",
        "header_names": "named_headers",
        "named_hosts": "NamedHosts",
        "retry_after_header": "retry_after",
        "upstream_limits": "UpstreamLimits",
    },
)
__all__ = [*_EXPORTS.places]
__getattr__ = _EXPORTS.load
