"""Large values and bytes that programs made or received, kept for a while and read in pages."""

from __future__ import annotations

import codecs
import contextlib
import re
import secrets
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from doorward.calls.artefact_store import ArtefactStore, StoredArtefact
from doorward.calls.files import handle
from doorward.data.clean_text import clean_text, visible
from doorward.data.json_reading import decoded, read_json
from doorward.data.json_values import values_in
from doorward.data.json_writing import MAX_PARTS, exceeds
from doorward.model.calls import File
from doorward.model.errors import InvalidArguments, LimitExceeded, UnknownName
from doorward.model.outcomes import ARTEFACT_URI, Artefact

if TYPE_CHECKING:
    from doorward.host.processes import Process

PREFIX = ARTEFACT_URI
PAGE_BYTES = 32 * 2**10
"""Bytes of a page; a page of text ends with a whole character."""

MAX_FILES = 100
"""Files that one run may leave, or one answer may hold."""

_UNKNOWN_TYPE = "application/octet-stream"
_TYPES_BY_START = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF8": "image/gif",
    b"%PDF-": "application/pdf",
    b"PK\x03\x04": "application/zip",
    b"\x1f\x8b": "application/gzip",
}
_URI_IN_JSON = re.compile(rb'"(doorward://results/[\w-]{1,100})"')
_JSON_TYPE = re.compile(r"[\w.+-]+/(?:[\w.+-]+\+)?json")
_CHARSET = re.compile(r"(?i);\s*charset=((?:utf|us-|iso-|windows-|shift_|euc-|gb|big5|koi8)[\w-]{0,30})\s*\Z", re.ASCII)
"""The charset in a media type, if it is a usual one: some codecs take time that grows with the square of the length."""

_TEXT_TYPE = re.compile(
    r"text/.*|application/(?:[\w.+-]+\+)?(?:json|xml|(?:x-)?yaml|(?:x-)?ndjson|jsonl|csv|javascript|sql|toml)"
)


@dataclass(frozen=True, slots=True)
class Page:
    """A part of an artefact: `content` from `offset` on, of `total` bytes; `next` is the URI of the part after it."""

    content: str | bytes
    type: str
    offset: int
    total: int
    next: str | None


def base_name(name: str) -> str:
    """A file name that is safe to save under: no folders, no control characters, at most 200 characters."""
    name = "".join(c for c in clean_text(re.split(r"[/\\]", name)[-1]) if c.isprintable())
    return "" if name.strip(". ") == "" else name[-200:]


def kind_of(content: bytes) -> str:
    """The media type of bytes that came without one, judged by their first bytes."""
    if content.startswith(b"RIFF"):
        return "image/webp" if content[8:12] == b"WEBP" else _UNKNOWN_TYPE
    if kind := next((kind for start, kind in _TYPES_BY_START.items() if content.startswith(start)), None):
        return kind
    try:
        codecs.getincrementaldecoder("utf-8")().decode(content[:PAGE_BYTES])
    except UnicodeDecodeError:
        return _UNKNOWN_TYPE
    return _UNKNOWN_TYPE if b"\0" in content[:PAGE_BYTES] else "text/plain"


def named_in(dumped: bytes) -> list[str]:
    """The URIs of artefacts that are whole strings in a value's JSON, the first `MAX_FILES` of them."""
    found: dict[str, None] = {}
    if PREFIX.encode() not in dumped:
        return []
    for match in _URI_IN_JSON.finditer(dumped):
        found[match[1].decode()] = None
        if len(found) == MAX_FILES:
            break
    return list(found)


def content_of(file: File) -> Any:
    """The content of a file: JSON as its value, text as text, anything else as bytes. Raises: LimitExceeded."""
    kind = file.type.partition(";")[0].strip().lower()
    if _JSON_TYPE.fullmatch(kind):
        crowded = values_in(file.content, MAX_PARTS) > MAX_PARTS
        with contextlib.suppress(ValueError):
            if not crowded and not exceeds(value := read_json(file.content), MAX_PARTS):
                return value
            raise LimitExceeded(f"the file has more than {MAX_PARTS:,} values", hint="Pass its handle on instead.")
    if not _TEXT_TYPE.fullmatch(kind):
        return file.content
    named = _CHARSET.search(file.type)
    with contextlib.suppress(LookupError, ValueError):
        return decoded(file.content, named[1] if named else "utf-8")
    return decoded(file.content)


def handle_to(artefact: Artefact) -> dict[str, Any]:
    """The handle that programs and agents get for an artefact."""
    named = {"name": artefact.name} if artefact.name else {}
    return {"artefact": artefact.uri, "type": artefact.type, "bytes": artefact.bytes, **named}


class Artefacts:
    """The artefacts of all principals, bounded in total bytes and in seconds each.

    The oldest artefacts of the principal that holds most are removed first.
    """

    def __init__(
        self,
        store: ArtefactStore,
        *,
        most: int,
        seconds: float,
        clock: Callable[[], float] = time.monotonic,
        process: Process | None = None,
    ) -> None:
        self._process = process
        self._store = store
        self._most = most
        self._seconds = seconds
        self._clock = clock

    def keep(
        self, content: str | bytes, type: str, principal: str, name: str = "", *, is_text: bool = False
    ) -> Artefact:
        """Keep content under a new id, which cannot be guessed and works for its principal only. `is_text`: the bytes
        are UTF-8, and their pages are text. Raises: LimitExceeded."""
        if isinstance(content, str):
            content, is_text = content.encode(errors="replace"), True
        if len(content) > self._most:
            raise LimitExceeded(f"a result of {len(content)} bytes is more than may be kept ({self._most})")
        id = (self._process.id if self._process else "") + secrets.token_urlsafe(16)
        self._make_room(len(content), principal)
        self._store.put(principal, id, StoredArtefact(content, type, self._clock() + self._seconds, name, is_text))
        return Artefact(PREFIX + id, type, len(content), name)

    def restore(self, uri: str, content: bytes, type: str, principal: str, name: str = "", *, is_text: bool) -> None:
        """Keep an artefact of a stored run under the id that it had, unless it is still there."""
        if self.about(uri, principal) is None and len(content) <= self._most:
            self._make_room(len(content), principal)
            kept = StoredArtefact(content, type, self._clock() + self._seconds, name, is_text)
            self._store.put(principal, uri.removeprefix(PREFIX), kept)

    def _make_room(self, size: int, principal: str) -> None:
        """Remove artefacts whose time is over, then the oldest of the principal that holds most: nobody loses artefacts
        because another keeps many."""
        self._store.drop_until(self._clock())
        held = Counter(self._store.held())
        while held.total() + size > self._most:
            holder = max(held, key=lambda each: held[each] + (size if each == principal else 0))
            held[holder] -= self._store.drop_oldest(holder)
            if not held[holder]:
                del held[holder]

    def about(self, uri: str, principal: str) -> Artefact | None:
        """The artefact that `doorward://results/ID` names, if this principal has it."""
        try:
            kept = self._find(uri, principal)
        except UnknownName:
            return None
        return Artefact(uri, kept.type, kept.size, kept.name)

    def open(self, uri: str, principal: str) -> File:
        """The whole artefact that `doorward://results/ID` names; text is encoded as UTF-8.

        Raises: UnknownName if this principal has no such artefact (any more).
        """
        kept = self._find(uri, principal)
        return File(kept.content, kept.type, kept.name)

    def in_params(self, params: Mapping[str, Any], principal: str) -> dict[str, Any]:
        """The parameters of a program, with the URI in place of each handle of a file.

        Raises: InvalidArguments for a handle of an artefact that this principal does not have.
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

        Raises: UnknownName if this principal has no such artefact (any more).
        """
        kept = self._find(uri, principal)
        name, _, query = uri.removeprefix(PREFIX).partition("?")
        start = query.removeprefix("offset=")
        offset = min(int(start), kept.size) if start.isdecimal() and len(start) < 16 else 0
        end = offset + PAGE_BYTES
        if kept.is_text:
            offset, end = _whole_character(kept.content, offset), _whole_character(kept.content, end)
        part = kept.content[offset:end]
        following = f"{PREFIX}{name}?offset={end}" if end < kept.size else None
        return Page(part.decode(errors="replace") if kept.is_text else part, kept.type, offset, kept.size, following)

    def _find(self, uri: str, principal: str) -> StoredArtefact:
        kept = self._store.get(principal, uri.removeprefix(PREFIX).partition("?")[0])
        if kept is None and self._process is not None and self._process.knows(uri.removeprefix(PREFIX)):
            raise UnknownName(
                f"the result {visible(uri[:200])} belongs to another process that shares this state folder",
                hint="Results stay in their process: ask that one, or have it made again.",
            )
        if kept is None or kept.until <= self._clock():
            raise UnknownName(
                f"there is no result {visible(uri[:200])}",
                hint="Results are kept for a while only: have it made again.",
            )
        return kept


def _whole_character(text: bytes, place: int) -> int:
    """The first place from here on at which a character begins."""
    while place < len(text) and text[place] & 0xC0 == 0x80:
        place += 1
    return place
