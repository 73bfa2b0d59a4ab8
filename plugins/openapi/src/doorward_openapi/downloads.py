"""Documents over HTTP: with credentials where they belong, and bodies kept with their validators (RFC 9111 section 4.3), so that one that
has not changed is not sent again."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

import anyio
from doorward import ConfigError, LoginRefused, MissingSecret, ServerError, own_folder, status

from doorward_openapi.document import MOST_BYTES
from doorward_openapi.servers import among, same_origin, shown

if TYPE_CHECKING:
    from doorward_openapi.answers import Answer

MOST_KEPT = 200
"""Documents of one server in its folder, of `2 * MOST_BYTES` together; the oldest go."""

_ACCEPT = {"Accept": b"application/json, application/yaml, */*;q=0.8"}


class Downloaded(NamedTuple):
    """A document, and the URL that it came from in the end."""

    url: str
    body: bytes


class Getter(Protocol):
    """What asks: `Client.get`."""

    def __call__(
        self, what: str, url: str, headers: Mapping[str, bytes], timeout: float, most: int, *, credentials: bool
    ) -> Awaitable[Answer]: ...


@dataclass(frozen=True, slots=True)
class Downloads:
    """Downloads the documents of one server.

    Credentials go along where a document's origin is that of the API (`base_url`) or one of its `origins`. Where `base_url` is not
    known, the origin of `spec` gets them if it refuses without. No other origin ever does.
    """

    server: str
    get: Callable[[], Getter]
    kept: Kept
    spec: str
    base_url: str | None
    origins: Sequence[str]
    timeout: float

    async def __call__(self, url: str) -> Downloaded:
        """A document, redirects followed.

        Raises: ServerError.
        """
        what = f"{self.server}: the document {shown(url)}"
        before = await anyio.to_thread.run_sync(self.kept.read, url)
        answer = await self._asked(what, url, before.validators if before else {})
        if answer.status == 304 and before:
            if before.place == _digest(answer.url):
                return Downloaded(answer.url, before.body)
            answer = await self._asked(what, url, {})  # the redirect leads elsewhere by now: what was kept is of another place
        if answer.status != 200:
            hint = "Check `spec`, and `auth` if the document needs it."
            raise ServerError(f"{what} cannot be had: {status(answer.status)}", hint=hint)
        await anyio.to_thread.run_sync(self.kept.write, url, answer.url, answer.headers, answer.body)
        return Downloaded(answer.url, answer.body)

    async def _asked(self, what: str, url: str, validators: Mapping[str, bytes]) -> Answer:
        get, headers, trusted = self.get(), {**_ACCEPT, **validators}, self._trusted(url)
        lacking = None
        if trusted:
            try:
                return await get(what, url, headers, self.timeout, MOST_BYTES, credentials=True)
            except (MissingSecret, LoginRefused) as error:  # what calls need; many documents are open to all
                lacking = error
        answer = await get(what, url, headers, self.timeout, MOST_BYTES, credentials=False)
        if lacking and answer.status in (401, 403, 404):
            raise lacking
        if trusted is None and answer.status in (401, 403, 404):
            answer = await get(what, url, headers, self.timeout, MOST_BYTES, credentials=True)
        return answer

    def _trusted(self, url: str) -> bool | None:
        """Whether credentials go to a URL; `None`: if it refuses without."""
        if among(url, self.origins):
            return True
        if self.base_url:
            return same_origin(url, self.base_url)
        return None if same_origin(url, self.spec) else False


class Entry(NamedTuple):
    """A kept document: the hash of the URL that it came from, what to ask with whether it has changed, its bytes."""

    place: str
    validators: Mapping[str, bytes]
    body: bytes


class Kept:
    """The documents in a folder of the server's own. URLs are kept as hashes only: a query may hold a key."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, url: str) -> Entry | None:
        """What was kept of a URL; `None` if there is nothing, or it is damaged."""
        try:
            with self._file(url).open("rb") as file:
                head = json.loads(file.readline(10_000))
                body = file.read(MOST_BYTES + 1)
            if head["url"] != _digest(url) or head["sha256"] != hashlib.sha256(body).hexdigest():
                return None
            return Entry(head["place"], {name: value.encode() for name, value in head["validators"].items()}, body)
        except (OSError, ValueError, LookupError, TypeError, AttributeError):
            return None

    def write(self, url: str, place: str, headers: Mapping[str, str], body: bytes) -> None:
        """Keep what came from `place` when `url` was asked for, if it may be kept and can be asked for again."""
        names = {"If-None-Match": "etag", "If-Modified-Since": "last-modified"}
        validators = {name: headers[of] for name, of in names.items() if len(headers.get(of, "")) in range(1, 1000)}
        file = self._file(url)
        try:
            if not validators or "no-store" in headers.get("cache-control", "").lower():
                file.unlink(missing_ok=True)
                return
            own_folder(self._folder)
            self._folder.chmod(0o700)
            sha256 = hashlib.sha256(body).hexdigest()
            head = {"url": _digest(url), "place": _digest(place), "validators": validators, "sha256": sha256}
            _write(file, json.dumps(head).encode() + b"\n" + body)
            self._prune()
        except (OSError, ConfigError):
            pass  # it is only asked for in full again

    def _prune(self) -> None:
        left, room = MOST_KEPT, 2 * MOST_BYTES
        for file in sorted(self._folder.iterdir(), key=lambda f: f.stat().st_mtime, reverse=True):
            left, room = left - 1, room - file.stat().st_size
            if left < 0 or room < 0:
                file.unlink(missing_ok=True)

    def _file(self, url: str) -> Path:
        return self._folder / _digest(url)


def _write(file: Path, content: bytes) -> None:
    """Whole or not at all; readable for nobody else."""
    handle, new = tempfile.mkstemp(dir=file.parent)
    try:
        with os.fdopen(handle, "wb") as opened:
            opened.write(content)
        os.replace(new, file)
    except BaseException:
        Path(new).unlink(missing_ok=True)
        raise


def _digest(url: str) -> str:
    return hashlib.sha256(url.encode(errors="surrogatepass")).hexdigest()
