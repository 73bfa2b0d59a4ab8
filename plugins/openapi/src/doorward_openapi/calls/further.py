"""Further requests of a call: redirects, and links to further pages. Where they lead, the API decides, or whoever chose
an argument that the API makes a redirect of. So each is decided anew, as a call of the function whose route it has."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from urllib.parse import parse_qsl, unquote, urlsplit

from doorward import Call, InvalidArguments

from doorward_openapi.calls.request import Request
from doorward_openapi.document.servers import path_and_query
from doorward_openapi.operations.routes import Routes
from doorward_openapi.wire import paths, steering


@dataclass(frozen=True, slots=True)
class Further:
    """The requests of one call, which `made` is the first of. `routes` returns those of the document, if it has any."""

    call: Call
    made: Request
    base: str
    routes: Callable[[], Awaitable[Routes | None]]

    async def refusal(self, method: str, url: str, *, page: bool = False) -> str:
        """Why a request of this call may not be made, or "". A `page` is asked for by a link that is known to repeat
        the call; any other request to the function's own route has to be the very one that was decided.

        Raises: DoorwardError if it cannot be told.
        """
        path, query = path_and_query(url)
        request, call = f"{method} {path or '/'}", self.call
        if method == self.made.method and same(url, self.made.url):
            return call.forbids(request)
        if paths.leads_away(path):
            return f"{request[:200]} has a part that is `.` or `..`"
        try:
            steering.check(steering.names(query.replace(";", "&")))
        except InvalidArguments as error:
            return error.message
        if (routes := await self.routes()) is None:
            return f"the routes of the document are not known, so neither is what {request[:200]} is: compile it again"
        meant, again = routes.meant(method, url, self.base), page or (bool(call.link) and same(url, call.link))
        others = [(id, route) for id, route in meant if not (again and route == call.function.route)]
        return call.refuses_further(request, others) if others or not meant else call.forbids(request)


def same(one: str, other: str) -> bool:
    """Whether two URLs have the same path and query, but for a slash at the end and how they are encoded."""
    return one == other or _plain(one) == _plain(other)


def _plain(url: str) -> tuple[str, list[tuple[str, str]]]:
    parts = urlsplit(url)
    return unquote(parts.path).rstrip("/"), sorted(parse_qsl(parts.query, keep_blank_values=True))
