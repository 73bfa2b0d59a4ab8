"""Tools, prompts and resources that plugins add to the MCP server, and the principal of a request."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from doorward.model.principals import LOCAL

PRINCIPAL = "doorward.principal"
"""The key in the ASGI scope under which the HTTP entrance puts the principal."""


@dataclass(frozen=True, slots=True)
class RawTool:
    """An MCP tool that a plugin adds by the hook `mcp_tools`. `tool` is an `mcp_types.Tool`; `call` gets the SDK's
    request context and the arguments, and answers an `mcp_types.CallToolResult`.

    `context.session` reports progress, and sends requests to clients of the older protocol era. A client of the newer
    era is asked by an `InputRequiredResult`. Its next request has `context.params["inputResponses"]`, and in
    `context.params["requestState"]` the state of that result, which is sealed on its way to the client and back.
    """

    tool: Any
    call: Callable[[Any, Mapping[str, Any]], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class RawPrompt:
    """An MCP prompt that a plugin adds by the hook `mcp_prompts`. `prompt` is an `mcp_types.Prompt`; `get` gets the
    SDK's request context and the arguments, and answers an `mcp_types.GetPromptResult` (or asks, as `RawTool` does)."""

    prompt: Any
    get: Callable[[Any, Mapping[str, str]], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class RawResource:
    """MCP resources that a plugin adds by the hook `mcp_resources`. `resource` is an `mcp_types.Resource`, or a
    `ResourceTemplate` for all URIs that fit its RFC 6570 template; `read` gets the SDK's request context and the URI,
    and answers an `mcp_types.ReadResourceResult` (or asks, as `RawTool` does)."""

    resource: Any
    read: Callable[[Any, str], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class RawPage:
    """A path of the HTTP transport that a plugin adds by the hook `http_pages`. `answer` gets the headers of a GET,
    their names in small letters, and says who may read it: it answers a status, headers and the body."""

    path: str
    answer: Callable[[Mapping[str, str]], Awaitable[tuple[int, Mapping[str, str], bytes]]]


@dataclass(frozen=True, slots=True)
class RawSite:
    """A path of the HTTP transport and all below it, that a plugin adds by the hook `http_pages`. `app` is an ASGI
    application, which says itself who may do what there, and how large a request may be. What reaches it names a host
    and an origin that the endpoint admits; its scope has whose request it is where it brought a good token in its
    header (`PRINCIPAL`), and under `VERIFY_TOKEN` a coroutine function that tells whose token a text is, or `None`.
    `opened` is called once with the URL of the path, when it is served, and answers a line for whoever started the
    server; none if it is empty. `shared` says that several processes may serve it together: what it remembers of people
    is in the store."""

    path: str
    app: Callable[[Any, Any, Any], Awaitable[None]]
    opened: Callable[[str], str] = lambda url: ""
    shared: bool = False


VERIFY_TOKEN = "doorward.verify_token"  # noqa: S105
"""The key in the ASGI scope of a `RawSite`: see there."""


@runtime_checkable
class VerifiesTokens(Protocol):
    """What a plugin answers to the hook `token_verifier`: it says whose token this is, `None` if it is not good."""

    async def verify_token(self, token: str) -> Any: ...


def principal_of(ctx: Any) -> str:
    """The principal of a request, from the SDK's request context: `local` over stdio, and over HTTP without
    authentication.

    Raises: KeyError for an HTTP request that did not pass the entrance.
    """
    return LOCAL if ctx.request is None else ctx.request.scope[PRINCIPAL]
