# `make reference` writes this file.
from doorward_http.addresses import PRIVATE_ADDRESS as PRIVATE_ADDRESS
from doorward_http.addresses import not_public as not_public
from doorward_http.addresses import not_public_name as not_public_name
from doorward_http.addresses import resolved as resolved
from doorward_http.answer import HttpAnswer as HttpAnswer
from doorward_http.content_codings import ACCEPTED_CODINGS as ACCEPTED_CODINGS
from doorward_http.content_codings import unpack as unpack
from doorward_http.content_codings import unpacked as unpacked
from doorward_http.content_codings import zstd_module as zstd_module
from doorward_http.destinations import Destinations as Destinations
from doorward_http.engine import HttpEngine as HttpEngine
from doorward_http.error_bodies import error_text as error_text
from doorward_http.guarded_transport import AnswerStream as AnswerStream
from doorward_http.guarded_transport import GuardedTransport as GuardedTransport
from doorward_http.header_names import named_headers as named_headers
from doorward_http.named_hosts import NamedHosts as NamedHosts
from doorward_http.retry_after_header import retry_after as retry_after
from doorward_http.upstream_limits import UpstreamLimits as UpstreamLimits

__all__ = [
    "ACCEPTED_CODINGS",
    "AnswerStream",
    "Destinations",
    "GuardedTransport",
    "HttpAnswer",
    "HttpEngine",
    "NamedHosts",
    "PRIVATE_ADDRESS",
    "UpstreamLimits",
    "error_text",
    "named_headers",
    "not_public",
    "not_public_name",
    "resolved",
    "retry_after",
    "unpack",
    "unpacked",
    "zstd_module",
]
