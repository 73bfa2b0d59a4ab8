"""Follows a call and its requests as a plugin wants to, so that a failure of that plugin is its own: neither the call
nor its source is to blame."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from doorward.model.call_trace import CallTrace, RequestTrace
from doorward.plugins.failures import contained
from doorward.plugins.hook_answers import expected

Tells = Callable[[Exception], object]
"""Tells of a failure."""


class FollowedCall:
    """What `trace_call` answered, contained."""

    def __init__(self, trace: CallTrace, tells: Tells) -> None:
        self._trace, self._tells = trace, tells
        self.context: Mapping[str, str] = dict(trace.context)

    def request(self, method: str, url: str) -> FollowedRequest:
        """See `doorward.tracing.CallTrace`."""
        try:
            with contained():
                return FollowedRequest(self._trace.request(method, url), self._tells)
        except Exception as error:
            self._tells(error)
        return FollowedRequest(None, self._tells)


class FollowedRequest:
    """What a `CallTrace` answered for one request, contained."""

    def __init__(self, trace: RequestTrace | None, tells: Tells) -> None:
        self._trace, self._tells = trace, tells
        given: Any = trace.headers if trace is not None else {}
        self.headers: Mapping[str, str] = {expected(str, k): expected(str, v) for k, v in dict(given).items()}

    def end(self, status: int | None, error: str) -> None:
        """See `doorward.tracing.RequestTrace`."""
        try:
            with contained():
                if self._trace is not None:
                    self._trace.end(status, error)
        except Exception as raised:
            self._tells(raised)
