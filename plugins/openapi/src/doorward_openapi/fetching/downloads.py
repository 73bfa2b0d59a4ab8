"""Documents over HTTP: with credentials where they belong, and from the cache if they have not changed."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple, Protocol
from urllib.parse import urldefrag

import anyio
from doorward import ConfigError, ServerError
from doorward.values import status

from doorward_openapi.document.document import MAX_DOCUMENT_BYTES, decompress, parse
from doorward_openapi.document.servers import among, same_origin, shown
from doorward_openapi.fetching.document_cache import DocumentCache, url_digest
from doorward_openapi.operations.operations import METHODS

if TYPE_CHECKING:
    from doorward_openapi.calls.answers import Answer

_OF_CREDENTIALS = re.compile(r"auth|cookie|key|session|token", re.IGNORECASE)
"""Names of headers with credentials."""

_ACCEPT = {"Accept": b"application/json, application/yaml, */*;q=0.8"}


class Downloaded(NamedTuple):
    """A document, and the URL that it came from after redirects."""

    url: str
    body: bytes


class Getter(Protocol):
    """The function that sends the request: `Client.get`."""

    def __call__(
        self, what: str, url: str, headers: Mapping[str, bytes], timeout: float, max_bytes: int, *, credentials: bool
    ) -> Awaitable[Answer]: ...


@dataclass(frozen=True, slots=True)
class Downloads:
    """Downloads the documents of one server.

    Everything is asked for without credentials first. They are read and sent only if that is refused, or answered with
    a page for people, or if the document depends on them: its `Vary` names them, or the operator says so (`differs`).
    They go to the origin of the API (`base_url`) and to its `origins`. If `base_url` is not known, the origin of `spec`
    gets them if it refuses, or if its document says that the API is there (`is_home`; the URL is then in `home`). No
    other origin ever gets them. `notes` collects what the operator should know.
    """

    server: str
    get: Callable[[], Getter]
    cache: DocumentCache
    spec: str
    base_url: str | None
    origins: Sequence[str]
    timeout: float
    differs: bool = False
    is_home: Callable[[str, bytes], bool] = lambda url, body: False
    notes: list[str] = field(default_factory=list)
    home: list[str] = field(default_factory=list)

    async def __call__(self, url: str) -> Downloaded:
        """Download a document, following redirects. Raises: ServerError; MissingSecret or LoginRefused if the document
        needs credentials that are not available."""
        from doorward_openapi.calls.client import NotFollowed

        trusted = self._trusted(url)
        try:
            answer = await self._asked(url, credentials=False)
        except NotFollowed:  # perhaps to where people log in
            if trusted is False:
                raise
            return self._usable(url, await self._asked(url, credentials=True))
        refused = 400 <= answer.status < 500 and answer.status != 429  # 400: perhaps for want of a configured header
        if trusted is not False and (refused or _is_page(answer)):
            return self._usable(url, await self._asked(url, credentials=True))
        found = self._usable(url, answer)
        if trusted is False or not (self.differs or _OF_CREDENTIALS.search(answer.headers.get("vary", ""))):
            return found
        if trusted is None:
            if url != urldefrag(self.spec)[0] or not await anyio.to_thread.run_sync(self.is_home, *found):
                return found
            self.home.append(url)
        return await self._more(url, found)

    async def _more(self, url: str, found: Downloaded) -> Downloaded:
        """The document as it is with credentials, if they work; else as everybody sees it."""
        try:
            own = self._usable(url, await self._asked(url, credentials=True))
        except (ConfigError, ServerError) as error:  # a credential that is missing or refused
            self._note(url, f"is read as everybody sees it, and may have more with credentials: {error}")
            return found
        if own.body != found.body:
            counts = await anyio.to_thread.run_sync(lambda: [operations(each.body) for each in (own, found)])
            self._note(url, "was asked for with credentials: {} operations, {} without".format(*counts))
        return own

    def _note(self, url: str, what: str) -> None:
        if url == urldefrag(self.spec)[0]:  # only for the document itself, not for the files that it refers to
            self.notes.append(f"the document {what}")

    def _usable(self, url: str, answer: Answer) -> Downloaded:
        if answer.status != 200:
            hint = "Check `spec`, and `auth` if the document needs it."
            raise ServerError(f"{self._what(url)} cannot be had: {status(answer.status)}", hint=hint)
        return Downloaded(answer.url, answer.body)

    async def _asked(self, url: str, *, credentials: bool) -> Answer:
        """The answer; from the cache if the server says that the document has not changed."""
        key = f"{url}#with credentials" if credentials else url  # the public version is cached separately
        before = await anyio.to_thread.run_sync(self.cache.read, key)
        answer = await self._got(url, before.validators if before else {}, credentials)
        if answer.status == 304 and before:
            if before.place == url_digest(answer.url):
                return replace(answer, status=200, body=before.body, headers={"vary": before.vary, **answer.headers})
            answer = await self._got(
                url, {}, credentials
            )  # the redirect leads elsewhere by now: the cached document is from another place
        if answer.status == 200:
            await anyio.to_thread.run_sync(self.cache.write, key, answer.url, answer.headers, answer.body)
        return answer

    async def _got(self, url: str, validators: Mapping[str, bytes], credentials: bool) -> Answer:
        return await self.get()(
            self._what(url), url, {**_ACCEPT, **validators}, self.timeout, MAX_DOCUMENT_BYTES, credentials=credentials
        )

    def _what(self, url: str) -> str:
        return f"{self.server}: the document {shown(url)}"

    def _trusted(self, url: str) -> bool | None:
        """Whether credentials are sent to a URL; `None`: only if it refuses without, or has the API's own document."""
        if among(url, self.origins):
            return True
        if self.base_url:
            return same_origin(url, self.base_url)
        return (bool(self.home) or None) if same_origin(url, self.spec) else False


def _is_page(answer: Answer) -> bool:
    """Whether an answer is a page for people, such as one to log in: no JSON and no YAML begins so."""
    return answer.status == 200 and answer.body.lstrip()[:1] == b"<"


def operations(body: bytes) -> int:
    """How many operations a document seems to have; 0 if it is not a document."""
    try:
        root = parse(decompress(body, ""), "")
    except ConfigError:
        return 0
    paths = root.get("paths") if isinstance(root, dict) else None
    items = [item for item in paths.values() if isinstance(item, dict)] if isinstance(paths, dict) else []
    return sum(method in METHODS for item in items for method in item)
