"""The entrance to the SDK's HTTP application: it lets in clients with a valid token,
and tells which principal they are."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from doorward import LOCAL, Principal, log
from doorward.serving import PRINCIPAL, VERIFY_TOKEN, RawPage, RawSite
from mcp.server.auth.middleware.auth_context import AuthContextMiddleware
from mcp.server.auth.middleware.bearer_auth import BearerAuthBackend, RequireAuthMiddleware
from pydantic import AnyHttpUrl
from starlette.datastructures import Headers
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.requests import HTTPConnection
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from doorward_mcp_server.http.endpoint import HEALTH, READY, Endpoint
from doorward_mcp_server.tokens.bound_token import bound_to
from doorward_mcp_server.tokens.verifiers import Verifiers

_WELL_KNOWN = "/.well-known/"
"""Everything below it is public (RFC 8615): it tells how to log in. Clients accept a 404 there, but not a 401."""


ENDPOINT_NAME = "[a-z0-9][a-z0-9_-]{0,63}"
"""What an endpoint may be called."""

_UNCACHED = {"Cache-Control": "no-store"}


class Entrance:
    """Lets clients pass to the application that name the endpoint's host and have a valid token, or any token where
    none is required. `metadata` is the URL of the metadata of RFC 9728, if there is an authorization server; `unready`
    says why no programs are taken, if so; `pages` are paths of plugins, which say themselves who may read them, and
    `sites` those with all below them; `health` is what anyone is told who asks whether the server answers.
    `by_endpoint` says who a principal is by an endpoint, `None` if there is none for them; `only` is the one by which
    everybody comes, if it is not empty."""

    def __init__(
        self,
        app: ASGIApp,
        endpoint: Endpoint,
        verifiers: Verifiers,
        metadata: AnyHttpUrl | None,
        unready: Callable[[], str],
        pages: Mapping[str, RawPage],
        sites: Sequence[RawSite] = (),
        health: Callable[[], str] = lambda: "ok",
        by_endpoint: Callable[[str, str], Principal | None] = lambda principal, name: None,
        only: str = "",
    ) -> None:
        self._app, self._endpoint, self._verifiers = app, endpoint, verifiers
        self._unready, self._pages, self._sites, self._health = unready, pages, sites, health
        self._path, self._by_endpoint, self._only = endpoint.http.path, by_endpoint, only
        self._metadata = metadata
        required = RequireAuthMiddleware(self._named, verifiers.scopes, metadata)
        self._guarded = AuthenticationMiddleware(
            AuthContextMiddleware(required), BearerAuthBackend(verifiers), _unavailable
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        names = [name for name, _ in scope.get("headers", ())]
        # Of two lengths, a proxy in front may have believed the other one.
        if b"content-length" in names and b"transfer-encoding" in names:
            await JSONResponse({"error": "invalid_request"}, 400, {"Connection": "close"})(scope, receive, send)
        elif scope["type"] != "http" or (scope["path"].startswith(_WELL_KNOWN) and scope["path"] != self._path):
            await self._app(scope, receive, send)
        elif scope["path"] == HEALTH != self._path:  # whoever asks calls us by an address, and has no token
            await PlainTextResponse(f"{self._health()}\n", headers=_UNCACHED)(scope, receive, send)
        elif scope["path"] == READY != self._path:
            why = self._unready()
            answer = PlainTextResponse(f"no: {why}\n" if why else "ok\n", 503 if why else 200, _UNCACHED)
            await answer(scope, receive, send)
        elif scope["path"] in self._pages and scope["path"] != self._path:
            await (await self._page(scope))(scope, receive, send)
        elif not (admitted := self._endpoint.admits(Headers(scope=scope))):
            why, status = ("Origin", 403) if admitted is None else ("Host", 421)
            await PlainTextResponse(f"Invalid {why} header", status)(scope, receive, send)
        elif site := self._site(scope["path"]):
            await self._sent_to(site, scope, receive, send)
        elif self._verifiers.wanted():
            if names.count(b"authorization") > 1:  # a proxy in front may have checked another one
                await JSONResponse({"error": "invalid_request"}, status_code=400)(scope, receive, send)
                return
            await self._guarded(scope, receive, self._with_challenge(scope["path"], send))
        else:
            await self._enter(Principal(LOCAL), None, scope, receive, send)

    async def _page(self, scope: Scope) -> Response:
        if scope["method"] not in ("GET", "HEAD"):
            return PlainTextResponse("Method Not Allowed", 405, {"Allow": "GET, HEAD"})
        try:
            status, headers, body = await self._pages[scope["path"]].answer(dict(Headers(scope=scope)))
            return Response(bytes(body), int(status), dict(headers))
        except Exception as error:
            log.warning("page_failed", path=scope["path"], error=type(error).__name__)
            return PlainTextResponse("Internal Server Error", 500)

    def _site(self, path: str) -> RawSite | None:
        below = (site for site in self._sites if path == site.path or path.startswith(f"{site.path}/"))
        return None if path == self._path else next(below, None)

    async def _sent_to(self, site: RawSite, scope: Scope, receive: Receive, send: Send) -> None:
        began = False

        async def sent(message: Message) -> None:
            nonlocal began
            began = True
            await send(message)

        given: dict[str, Any] = {VERIFY_TOKEN: self._whose}
        kind, _, token = Headers(scope=scope).get("authorization", "").partition(" ")
        try:
            if kind.lower() == "bearer" and (principal := await self._whose(token)) is not None:
                given[PRINCIPAL] = principal
            await site.app({**scope, **given}, receive, sent)
        except Exception as error:
            log.warning("page_failed", path=site.path, error=type(error).__name__)
            if not began:
                await PlainTextResponse("Internal Server Error", 500)(scope, receive, send)

    async def _whose(self, token: str) -> Principal | None:
        """Whose token this is; `None` if it is not good. Raises: Unavailable."""
        found = await self._verifiers.verify_token(token)
        scopes = set(self._verifiers.scopes)
        if found is None or not scopes <= set(found.scopes):
            return None
        if bound_to(found) is not None or self._only:  # what opens one endpoint opens nothing else
            return None
        return Principal(str(found.subject), attributes=found.claims or {})

    async def _named(self, scope: Scope, receive: Receive, send: Send) -> None:
        token = scope["user"].access_token
        principal = Principal(token.subject, attributes=token.claims or {})
        await self._enter(principal, bound_to(token), scope, receive, send)

    async def _enter(
        self, principal: Principal, bound: Sequence[str] | None, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Let a principal in, by the endpoint that the path names; a token may be `bound` to some. There is nothing at
        the path of an endpoint that is not for them."""
        named = self._named_by(scope["path"])
        name = named or self._only
        allowed = self._by_endpoint(principal, name) if name else principal
        if allowed is None or (bound is not None and name not in bound) or (self._only and self._only != name):
            await PlainTextResponse("Not Found", 404)(scope, receive, send)
            return
        await self._app({**scope, **({"path": self._path} if named else {}), PRINCIPAL: allowed}, receive, send)

    def _named_by(self, path: str) -> str:
        """What a path names as an endpoint, whether it is there or not."""
        base, _, asked = path.rpartition("/")
        return asked if base == self._path else ""

    def _with_challenge(self, path: str, send: Send) -> Send:
        """Add to a refusal which scopes are required (RFC 6750, section 3; the MCP specification): the SDK's own lacks
        it. At the path of an endpoint the metadata are of that resource (RFC 9728)."""
        scopes, named = self._verifiers.scopes, self._named_by(path)
        wanted = f', scope="{" ".join(scopes)}"' if scopes else ""
        is_endpoint = self._metadata and re.fullmatch(ENDPOINT_NAME, named)

        def changed(challenge: bytes) -> bytes:
            if is_endpoint:
                challenge = challenge.replace(f'"{self._metadata}"'.encode(), f'"{self._metadata}/{named}"'.encode())
            return challenge + wanted.encode()

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] in (401, 403):
                headers: Any = [(k, changed(v) if k == b"www-authenticate" else v) for k, v in message["headers"]]
                message = {**message, "headers": headers}
            await send(message)

        return sent


def _unavailable(request: HTTPConnection, error: Exception) -> Response:
    body = {"error": "temporarily_unavailable", "error_description": str(error)}
    return JSONResponse(body, status_code=503, headers={"Retry-After": "5"})
