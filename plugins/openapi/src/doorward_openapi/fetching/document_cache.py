"""Downloaded documents in a folder, with their validators (RFC 9111 section 4.3)."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from doorward import ConfigError
from doorward.files import own_file, write_own

from doorward_openapi.document.document import MAX_DOCUMENT_BYTES

MAX_CACHED_DOCUMENTS = 200
"""Documents of one server in its folder; together they have at most `2 *
MAX_DOCUMENT_BYTES`. The oldest are removed."""


class CachedDocument(NamedTuple):
    """A cached document: the hash of the URL that it came from, the names of the headers on which it depends, the
    headers that ask whether it has changed, its bytes."""

    place: str
    vary: str
    validators: Mapping[str, bytes]
    body: bytes


class DocumentCache:
    """The cached documents of one server, in a folder. URLs are stored as hashes only: a query may hold a key."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, url: str) -> CachedDocument | None:
        """The cached document of a URL; `None` if there is none, or if it is damaged."""
        try:
            with open(own_file(self._file(url), os.O_RDONLY), "rb") as file:
                head = json.loads(file.readline(10_000))
                body = file.read(MAX_DOCUMENT_BYTES + 1)
            if head["url"] != url_digest(url) or head["sha256"] != hashlib.sha256(body).hexdigest():
                return None
            validators = {name: value.encode() for name, value in head["validators"].items()}
            return CachedDocument(head["place"], str(head.get("vary", "")), validators, body)
        except (OSError, ConfigError, ValueError, LookupError, TypeError, AttributeError):
            return None

    def write(self, url: str, place: str, headers: Mapping[str, str], body: bytes) -> None:
        """Store the document that came from `place` when `url` was requested, if it may be
        stored and can be revalidated."""
        names = {"If-None-Match": "etag", "If-Modified-Since": "last-modified"}
        validators = {name: headers[of] for name, of in names.items() if len(headers.get(of, "")) in range(1, 1000)}
        file = self._file(url)
        try:
            if not validators or "no-store" in headers.get("cache-control", "").lower():
                file.unlink(missing_ok=True)
                return
            sha256 = hashlib.sha256(body).hexdigest()
            head = {
                "url": url_digest(url),
                "place": url_digest(place),
                "vary": headers.get("vary", "")[:1000],
                "validators": validators,
                "sha256": sha256,
            }
            write_own(file, json.dumps(head).encode() + b"\n" + body)
            self._prune()
        except (OSError, ConfigError):
            pass  # it is only downloaded in full again

    def _prune(self) -> None:
        left, room = MAX_CACHED_DOCUMENTS, 2 * MAX_DOCUMENT_BYTES
        for file in sorted(self._folder.iterdir(), key=lambda f: f.stat().st_mtime, reverse=True):
            left, room = left - 1, room - file.stat().st_size
            if left < 0 or room < 0:
                file.unlink(missing_ok=True)

    def _file(self, url: str) -> Path:
        return self._folder / url_digest(url)


def url_digest(url: str) -> str:
    return hashlib.sha256(url.encode(errors="surrogatepass")).hexdigest()
