"""Whether an API is where its calls go, found out without credentials by a few of its routes that need no arguments."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from itertools import islice
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from doorward import Function, ServerError

from doorward_openapi.calls import request
from doorward_openapi.document import servers
from doorward_openapi.wire import media_types

if TYPE_CHECKING:
    from doorward_openapi.calls.answers import Answer

_MAX_ROUTES = 3
_USUAL_PATHS = ("/api", "/api/v1", "/v1")
"""Where many APIs are whose document does not say so."""

_NO_ROUTE = "doorward-asks-whether-this-is-404"
"""A route that no API has: a place that answers it as if it were there says nothing by its answers."""

Get = Callable[[str], Awaitable["Answer"]]
"""Gets a URL. Raises: ServerError."""


async def check_base_url(
    server: str, base: str, functions: Iterable[Function], documents: Sequence[str], get: Get
) -> tuple[str, bool, str]:
    """What is at the base URL, whether that is well, and advice. Where nothing is there, the folders of `documents`
    (URLs) are looked at as well."""
    what, routes = f"calls go to {base}", _routes(functions)
    try:
        if not routes or await _answers(base, routes, get):
            return what, True, ""
        for other in _others(base, documents):
            if await _answers(other, routes, get) and not _is_api(await get(f"{other}/{_NO_ROUTE}")):
                return f"{what}, but the API is at {other}", False, f'Add base_url = "{other}" to [servers.{server}].'
    except ServerError as error:
        return f"{what}: {error}", True, error.hint or ""
    asked = " and ".join(f"GET {servers.shown(_url(base, each))}" for each in routes)
    return f"{what}, where nothing is at {asked}", True, f"See whether base_url of [servers.{server}] is right."


def _routes(functions: Iterable[Function]) -> list[Function]:
    """The first of those that read and need no arguments."""
    plain = (
        each
        for each in functions
        if each.data["method"] == "GET" and "{" not in each.data["path"] and not each.parameters.get("required")
    )
    return [*islice(plain, _MAX_ROUTES)]


def _url(base: str, function: Function) -> str:
    return request.build(base, function.data, {}).url


async def _answers(base: str, routes: Iterable[Function], get: Get) -> bool:
    """Whether one of the routes is there, or may be."""
    for function in routes:
        if _is_api(await get(_url(base, function)), pages="html" in function.data["accept"]):
            return True
    return False


def _is_api(answer: Answer, *, pages: bool = False) -> bool:
    """Whether an answer may be the API's. A page where none is expected is that of another program, such as a user
    interface at every path."""
    page = media_types.bare(answer.media) == "text/html" and answer.status < 400
    return answer.status != 404 and (pages or not page)


def _others(base: str, documents: Iterable[str]) -> Iterable[str]:
    """Other places of the same origin: the folders of the documents, the innermost first, and those that are usual."""
    paths: list[str] = []
    for document in documents:
        folder = urlsplit(document).path.rpartition("/")[0]
        while servers.same_origin(document, base) and folder:
            paths.append(folder)
            folder = folder.rpartition("/")[0]
    origin = servers.origin_of(base)
    return [url for path in dict.fromkeys([*paths, "", *_USUAL_PATHS]) if (url := f"{origin}{path}") != base]
