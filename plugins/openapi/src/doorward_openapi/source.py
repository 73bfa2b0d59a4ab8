"""The source driver `openapi`: a document's operations as functions, and their calls as HTTP requests."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import urlsplit

import anyio
from doorward import Call, Compiled, ConfigError, Function, Refused, Reply, Schema, ServerContext, ServerError, Settings
from doorward.values import aside
from doorward_http import not_public_name

from doorward_openapi.document import servers
from doorward_openapi.settings import OpenAPISettings, is_url

if TYPE_CHECKING:
    from doorward_openapi.calls.client import Client, Reach
    from doorward_openapi.calls.request import Request
    from doorward_openapi.document.refs import Bundle
    from doorward_openapi.operations.routes import Routes

    Read = tuple[Bundle, dict[str, bytes], list[str]]
    """A document, its overlays by URI, and notes for the operator about the download."""

_HELD_SECONDS = 1.0
"""Seconds for which a document that was read for its fingerprint waits to be compiled: at a start most have not
changed, and all of them together may take hundreds of megabytes."""

_CHECK_SECONDS = 5.0
"""Seconds for one request by which it is checked whether the API is where calls go."""

_LOCAL = "http://localhost"
"""The base URL of requests over a Unix socket, if no other is configured."""


class OpenAPI:
    """Functions from an OpenAPI 3.0, 3.1 or 3.2, a Swagger 2.0 or a Google Discovery document."""

    Settings: ClassVar[type[Settings]] = OpenAPISettings

    def __init__(self, server: ServerContext[OpenAPISettings]) -> None:
        self._server = server
        self._settings = server.settings
        self._read: Read | None = None
        self._vouching = anyio.Lock()
        self._opened: Client | None = None
        self._known: set[str] = set()
        self._routes: tuple[Schema, Routes] | None = None

    async def fingerprint(self) -> str:
        """The hash of the document, the files that it refers to and its overlays.

        Raises: ConfigError, ServerError.
        """
        from doorward_openapi.document.refs import Bundle
        from doorward_openapi.fetching.fetch import digest

        self._read = found = bundle, overlays, _ = await self._fetch()
        read = [bundle, *(Bundle(uri, {uri: raw}) for uri, raw in overlays.items())]
        digests = await anyio.to_thread.run_sync(lambda: [digest(bundle) for bundle in read])
        asyncio.get_running_loop().call_later(_HELD_SECONDS, self._let_go, found)
        return " ".join(digests)

    def _let_go(self, found: Read) -> None:
        """Hold a document no longer: nobody has compiled it, for it had not changed. One that was read since stays:
        another one must not be compiled under its fingerprint."""
        if self._read is found:
            self._read = None

    async def compile(self) -> Compiled:
        """All functions of the document, from the files that were read for the fingerprint, if they were.

        Raises: ConfigError, ServerError.
        """
        read, self._read = self._read, None
        return await self._compiled(*(read or await self._fetch()))

    async def _compiled(self, bundle: Bundle, overlays: dict[str, bytes], notes: list[str]) -> Compiled:
        from doorward_openapi.operations.compiler import Choices, compile_document

        settings = self._settings
        local = _LOCAL if settings.socket else None
        choices = Choices(
            settings.base_url,
            list(settings.headers),
            settings.origins,
            settings.variables,
            overlays,
            local,
            self._server.filled(),
        )
        compiled = await anyio.to_thread.run_sync(compile_document, self._server.name, bundle, choices)
        return replace(compiled, warnings=[*notes, *compiled.warnings])

    async def call(self, call: Call) -> Any:
        """Make the HTTP request of a function.

        Returns: a Reply; see `answers.value_of` for its value. For an answer without a body, the value is the location
        of what was created, or the headers after HEAD.
        Raises: ApiError for 400 and above, ServerError, InvalidArguments for values that HTTP cannot carry.
        """
        # `from PACKAGE import MODULE` would take a microsecond for each package, at each call.
        import doorward_openapi.calls.answers as answers
        import doorward_openapi.calls.links as links
        import doorward_openapi.calls.request as request
        import doorward_openapi.calls.retries as retries
        import doorward_openapi.operations.response_headers as response_headers
        from doorward_openapi.calls.further import Further

        function = call.function
        what = f"{function.qualified} ({function.route})"
        await self._vouch(function.data.get("base"))
        base = self._base(function.data)
        made = request.build(base, function.data, call.arguments)
        await self._require_own(call, made)
        prepared = links.page_request(made, call.link) if call.link and servers.same_origin(call.link, base) else made
        further = Further(call, made, base, self._table)
        if why := await further.refusal(prepared.method, prepared.url):
            raise Refused(why)
        timeout, key = min(self._settings.timeout, call.time_left), retries.key_argument(function.data)
        further_page = prepared is not made and prepared.method == "GET"
        repeats = function.idempotent or further_page or key in call.arguments
        if (header := self._settings.idempotency_key) and not repeats:
            repeats = True
            prepared = replace(prepared, headers={**prepared.headers, header: call.key.encode()})
        answer = await self._client().send(
            what, prepared, timeout, left=call.time_left, idempotent=repeats, further=further
        )
        if answer.status >= 400:
            hint = "" if repeats else retries.advice(answer.status, answer.retry_after, key)
            if answer.status == 404:
                hint = self._missing(function, prepared, base)
            raise await aside(partial(answers.error_of, what, answer, self._server.suggest, hint), len(answer.body))
        raw = made.headers["Accept"].decode() in function.data.get("raw", ())
        plan = function.data.get("xml")
        value = await aside(partial(answers.value_of, what, answer, raw=raw, plan=plan), len(answer.body))
        if not answer.body and value is None:
            value = response_headers.instead(prepared.method, answer.status, answer.headers)
        body, kind, name = (value.value, value.type, value.name) if isinstance(value, Reply) else (value, "", "")
        reply = Reply(body, kind, name, status=answer.status, headers=answer.headers)
        return await links.paged(further, answer.url or prepared.url, reply, len(answer.body))

    def _missing(self, function: Function, made: Request, base: str) -> str:
        """What to do about a 404. A path without variables is always there: its host is the first suspect."""
        from doorward_openapi.calls.answers import NOT_FOUND

        if "{" in function.data["path"]:
            return NOT_FOUND
        look = f"{NOT_FOUND} " if function.parameters["properties"] else ""
        return (
            f"{look}If nothing is at {servers.shown(made.url)} at all, the base URL {base} is wrong: the operator sets "
            f"base_url of [servers.{self._server.name}]."
        )

    async def _require_own(self, call: Call, made: Request) -> None:
        """Refuse a path that, with its query, may mean another function which may not be called.

        Raises: Refused.
        """
        data, path, query = call.function.data, made.path, servers.path_and_query(made.url)[1]
        routes = await self._table() if query or "{" in data["path"] else None
        for other in routes.others(data["method"], data["path"], path, query) if routes else ():
            if not call.allows(other.id, route := f"{data['method']} {other.path}"):
                raise Refused(
                    f"{call.function.qualified}: the path {path[:200]!r} can mean {route}, which may not be called"
                )

    async def _table(self) -> Routes | None:
        """The routes of the document, if the catalog has them."""
        from doorward_openapi.operations.routes import NAME, Routes

        table = self._server.definition(NAME)
        if table is None:
            return None
        if self._routes is None or self._routes[0] is not table:
            self._routes = table, await anyio.to_thread.run_sync(Routes, table)
        return self._routes[1]

    @staticmethod
    def upstreams(settings: OpenAPISettings, function: Function | None) -> list[str]:
        """See `doorward.abilities.TellsUpstreams`: the API, and the origins to which it may redirect."""
        named = function.data.get("base") if function else None
        own = servers.among(named, (settings.base_url, *settings.origins)) if named else False
        base = named if own or settings.base_url is None else settings.base_url
        if settings.socket and not own:
            base = None
        socket = f"socket:{settings.socket}" if settings.socket else None
        return [str(each) for each in (base, socket, *settings.origins) if each]

    @staticmethod
    def sent(function: Function, arguments: Mapping[str, Any]) -> tuple[str, str, bytes | None]:
        """See `doorward.abilities.TellsRequests`."""
        import doorward_openapi.calls.request as request

        made = request.build(_LOCAL, function.data, arguments)
        return made.method, made.url.removeprefix(_LOCAL), made.content

    async def check(self, functions: Sequence[Function]) -> Sequence[tuple[str, bool, str]]:
        """See `doorward.abilities.SupportsServerCheck`: whether the API is where calls go. Only places that the
        operator named are asked."""
        import doorward_openapi.calls.place as place
        from doorward_openapi.calls.client import MAX_RESPONSE_BYTES

        settings, reach, name = self._settings, self._reach(), self._server.name
        by_base: dict[str, list[Function]] = {}
        for function in functions:
            try:
                by_base.setdefault(self._base(function.data), []).append(function)
            except ServerError as error:
                return [(str(error), False, error.hint or "")]
        get = partial(self._client().get, name, headers={}, max_bytes=MAX_RESPONSE_BYTES, credentials=False)
        ask = partial(get, timeout=min(settings.timeout, _CHECK_SECONDS))
        found: list[tuple[str, bool, str]] = []
        for base, theirs in by_base.items():
            if servers.among(base, reach.known()):
                found.append(await place.check_base_url(name, base, theirs, reach.documents, ask))
            elif what := not_public_name(servers.origin(base)[1]):
                line = f'If the API is there, add base_url = "{base}" to [servers.{name}].'
                found.append((f"its document names {base}, {what} address; no call is made there", False, line))
        return found

    async def close(self) -> None:
        """Close the connections."""
        opened, self._opened = self._opened, None
        if opened is not None:
            await opened.close()

    def _base(self, data: Any) -> str:
        """The base URL of a function's requests: never of an origin that is not configured, if any is."""
        settings, named = self._settings, data.get("base")
        if named and servers.among(named, (settings.base_url, *settings.origins)):
            return str(named)
        if named and settings.base_url is None:
            return f"{_LOCAL}{urlsplit(named).path}" if settings.socket else self._taken_at_its_word(str(named))
        if base := settings.base_url or (_LOCAL if settings.socket else None):
            return base
        name = self._server.name
        raise ServerError(
            f"nothing says where {name} is: its document names no server",
            hint=f'Add base_url = "https://…" to [servers.{name}].',
        )

    def _taken_at_its_word(self, named: str) -> str:
        """The server that a document names. A downloaded document may not send credentials to any
        place but its own origin."""
        spec = self._settings.spec
        if named in self._known or not is_url(spec):
            return named
        elsewhere = not servers.among(named, (spec, *self._settings.origins))
        if elsewhere and self._has_credentials():
            raise ServerError(
                f"the document of {self._server.name} names {servers.shown(named)}, which is not where it comes from; "
                "credentials are not sent there on its word alone",
                hint=f'If that is right, add base_url = "{servers.shown(named)}" to [servers.{self._server.name}].',
            )
        self._known.add(named)
        return named

    async def _vouch(self, named: str | None) -> None:
        """Make sure that a local document itself names the server to which credentials are sent: the compiled functions
        may have been changed where they are stored.

        Raises: ServerError, ConfigError.
        """
        settings = self._settings
        if not named or named in self._known or settings.base_url or settings.socket or is_url(settings.spec):
            return
        if not self._has_credentials() or servers.among(named, settings.origins):
            return
        async with self._vouching:  # if several calls begin together, one of them reads the document
            if named not in self._known and not await self._names(named):
                raise ServerError(
                    f"the document of {self._server.name} does not name {servers.shown(named)}; credentials are not "
                    f"sent there",
                    hint=f"Compile it again (doorward compile --force), or set base_url of "
                    f"[servers.{self._server.name}].",
                )
            self._known.add(named)

    async def _names(self, base: str) -> bool:
        bundle, overlays, notes = await self._fetch()
        host, texts = (urlsplit(base).hostname or "").encode(), [*bundle.files.values(), *overlays.values()]
        if await anyio.to_thread.run_sync(lambda: any(host in text.lower() for text in texts)):
            return True
        compiled = await self._compiled(bundle, overlays, notes)  # perhaps it is composed of variables
        return base in {function.data.get("base") for function in compiled.functions}

    def _client(self) -> Client:
        if self._opened is None:
            from doorward_openapi.calls.client import Client

            self._opened = Client(self._server.name, self._server.auth, self._settings.headers, self._reach())
        return self._opened

    def _reach(self) -> Reach:
        from doorward_openapi.calls.client import Reach

        settings = self._settings
        documents = tuple(url for url in (settings.spec, *settings.overlay) if is_url(url))
        api = settings.base_url or (
            _LOCAL if settings.socket else settings.spec if settings.spec in documents else None
        )
        socket = str(self._server.folder / Path(settings.socket).expanduser()) if settings.socket else None
        return Reach(api, tuple(settings.origins), documents, socket, settings.retries)

    async def _fetch(self) -> Read:
        from doorward_openapi.fetching.document_cache import DocumentCache
        from doorward_openapi.fetching.downloads import Downloads
        from doorward_openapi.fetching.fetch import fetch

        settings, server = self._settings, self._server
        download = Downloads(
            server.name,
            lambda: self._client().get,
            DocumentCache(server.state / "documents"),
            settings.spec,
            settings.base_url,
            settings.origins,
            settings.timeout,
            settings.spec_auth,
            self._is_home,
        )
        bundle = await fetch(settings.spec, server.folder, download, settings.origins)
        overlays: dict[str, bytes] = {}
        for overlay in settings.overlay:
            found = await fetch(overlay, server.folder, download, settings.origins, key="overlay")
            overlays[found.root] = found.files[found.root]
        return bundle, overlays, download.notes

    def _has_credentials(self) -> bool:
        return bool(self._settings.headers) or self._server.auth() is not None

    def _is_home(self, url: str, body: bytes) -> bool:
        """Whether a public document says that its API is at the origin of `spec`, that is where the document itself is.
        Every call sends credentials there anyway."""
        from doorward_openapi.document.document import decompress, parse

        settings = self._settings
        if not self._has_credentials() or not servers.same_origin(url, settings.spec):
            return False
        try:
            return servers.is_home(parse(decompress(body, ""), ""), url, settings.spec, settings.variables)
        except ConfigError:  # compiling reports it
            return False
