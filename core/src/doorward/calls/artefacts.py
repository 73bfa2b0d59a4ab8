"""Large values and bytes that programs made or received: kept for a while, handed out in pages."""

from __future__ import annotations

import codecs
import contextlib
import re
import secrets
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from doorward.calls.artefact_store import ArtefactStore, StoredArtefact
from doorward.data.clean_text import clean_text
from doorward.data.json_reading import decoded, read_json
from doorward.model.errors import InvalidArguments, LimitExceeded, UnknownName
from doorward.model.types import ARTEFACT_URI, Artefact, File

PREFIX = ARTEFACT_URI
PAGE = 32 * 2**10
"""Bytes of a page; that of a text ends with a whole character."""


MOST_FILES = 100
"""Files that one run may leave, or one answer may hold."""

_UNKNOWN = "application/octet-stream"
_STARTS = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF8": "image/gif",
    b"%PDF-": "application/pdf",
    b"PK\x03\x04": "application/zip",
    b"\x1f\x8b": "application/gzip",
}
_NAMED = re.compile(rb'"(doorward://results/[\w-]{1,100})"')
_JSON = re.compile(r"[\w.+-]+/(?:[\w.+-]+\+)?json")
_TEXT = re.compile(
    r"text/.*|application/(?:[\w.+-]+\+)?(?:json|xml|(?:x-)?yaml|(?:x-)?ndjson|jsonl|csv|javascript|sql|toml)"
)


@dataclass(frozen=True, slots=True)
class Page:
    """A part of an artefact: `content` from `offset` on, of `total`; `next` is the URI of the part behind it."""

    content: str | bytes
    type: str
    offset: int
    total: int
    next: str | None


def base_name(name: str) -> str:
    """A file name that harms nobody who saves it: no folders, no control characters, at most 200 characters."""
    name = "".join(c for c in clean_text(re.split(r"[/\\]", name)[-1]) if c.isprintable())
    return "" if name.strip(". ") == "" else name[-200:]


def handle(value: Any) -> str | None:
    """The URI in `{"artefact": "doorward://results/…", "type": …, "bytes": …, "name": …}`; `None` if the value is no
    handle."""
    match value:
        case {"artefact": str() as uri, **about} if uri.startswith(PREFIX) and about.keys() <= {
            "type",
            "bytes",
            "name",
        }:
            return uri
    return None


def kind_of(content: bytes) -> str:
    """The media type of bytes of which nobody says it, by how they begin."""
    if content.startswith(b"RIFF"):
        return "image/webp" if content[8:12] == b"WEBP" else _UNKNOWN
    if kind := next((kind for start, kind in _STARTS.items() if content.startswith(start)), None):
        return kind
    try:
        codecs.getincrementaldecoder("utf-8")().decode(content[:PAGE])
    except UnicodeDecodeError:
        return _UNKNOWN
    return _UNKNOWN if b"\0" in content[:PAGE] else "text/plain"


def named_in(dumped: bytes) -> list[str]:
    """The URIs of artefacts that stand in a value's JSON as texts of their own, the first `MOST_FILES` of them."""
    found: dict[str, None] = {}
    for match in _NAMED.finditer(dumped):
        found[match[1].decode()] = None
        if len(found) == MOST_FILES:
            break
    return list(found)


def content_of(file: File) -> Any:
    """What is in a file: JSON as its value, text as text, else bytes."""
    kind = file.type.partition(";")[0].strip().lower()
    if _JSON.fullmatch(kind):
        with contextlib.suppress(ValueError):
            return read_json(file.content)
    return decoded(file.content) if _TEXT.fullmatch(kind) else file.content


def handle_to(artefact: Artefact) -> dict[str, Any]:
    """What programs and agents get for it."""
    named = {"name": artefact.name} if artefact.name else {}
    return {"artefact": artefact.uri, "type": artefact.type, "bytes": artefact.bytes, **named}


class Artefacts:
    """What is kept, bounded by bytes altogether and by seconds each; the oldest of whoever holds most go first."""

    def __init__(
        self, store: ArtefactStore, *, most: int, seconds: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._store = store
        self._most = most
        self._seconds = seconds
        self._clock = clock

    def keep(
        self, content: str | bytes, type: str, principal: str, name: str = "", *, is_text: bool = False
    ) -> Artefact:
        """Keep it and say where. The id cannot be guessed and works for its principal only. `is_text`: the bytes are
        UTF-8, whose pages are texts."""
        if isinstance(content, str):
            content, is_text = content.encode(errors="replace"), True
        if len(content) > self._most:
            raise LimitExceeded(f"a result of {len(content)} bytes is more than may be kept ({self._most})")
        id = secrets.token_urlsafe(16)
        self._make_room(len(content), principal)
        self._store.put(principal, id, StoredArtefact(content, type, self._clock() + self._seconds, name, is_text))
        return Artefact(PREFIX + id, type, len(content), name)

    def _make_room(self, size: int, principal: str) -> None:
        """Let go what is over, then the oldest of whoever holds most: what one keeps costs nobody else theirs."""
        self._store.drop_until(self._clock())
        held = Counter(self._store.held())
        while held.total() + size > self._most:
            holder = max(held, key=lambda each: held[each] + (size if each == principal else 0))
            held[holder] -= self._store.drop_oldest(holder)
            if not held[holder]:
                del held[holder]

    def about(self, uri: str, principal: str) -> Artefact | None:
        """What `doorward://results/ID` names, if it is there for that principal."""
        try:
            kept = self._find(uri, principal)
        except UnknownName:
            return None
        return Artefact(uri, kept.type, kept.size, kept.name)

    def open(self, uri: str, principal: str) -> File:
        """All of what `doorward://results/ID` names, text as UTF-8.

        Raises: UnknownName if there is nothing of that name for that principal (any more).
        """
        kept = self._find(uri, principal)
        return File(kept.content, kept.type, kept.name)

    def in_params(self, params: Mapping[str, Any], principal: str) -> dict[str, Any]:
        """The parameters of a program, with the URI in place of each handle of a file.

        Raises: InvalidArguments for one of nothing, or of what is not the principal's.
        """
        plain = dict(params)
        for name, value in params.items():
            if (uri := handle(value)) is not None:
                try:
                    self._find(uri, principal)
                except UnknownName as error:
                    raise InvalidArguments(f"parameter {name!r}: {error}", hint=error.hint) from None
                plain[name] = uri
        return plain

    def page(self, uri: str, principal: str) -> Page:
        """The page that `doorward://results/ID?offset=N` names.

        Raises: UnknownName if there is nothing of that name for that principal (any more).
        """
        kept = self._find(uri, principal)
        name, _, query = uri.removeprefix(PREFIX).partition("?")
        start = query.removeprefix("offset=")
        offset = min(int(start), kept.size) if start.isdecimal() and len(start) < 16 else 0
        end = offset + PAGE
        if kept.is_text:
            offset, end = _whole_character(kept.content, offset), _whole_character(kept.content, end)
        part = kept.content[offset:end]
        following = f"{PREFIX}{name}?offset={end}" if end < kept.size else None
        return Page(part.decode(errors="replace") if kept.is_text else part, kept.type, offset, kept.size, following)

    def _find(self, uri: str, principal: str) -> StoredArtefact:
        kept = self._store.get(principal, uri.removeprefix(PREFIX).partition("?")[0])
        if kept is None or kept.until <= self._clock():
            raise UnknownName(
                f"there is no result {uri[:200]}", hint="Results are kept for a while only: run the program again."
            )
        return kept


def _whole_character(text: bytes, place: int) -> int:
    """The first place from here on at which a character begins."""
    while place < len(text) and text[place] & 0xC0 == 0x80:
        place += 1
    return place
