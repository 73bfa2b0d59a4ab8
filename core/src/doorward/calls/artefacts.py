"""Large values and bytes that programs made or received, kept for a while and read in pages."""

from __future__ import annotations

import codecs
import json
import math
import re
import secrets
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from doorward.calls.files import handle
from doorward.data.clean_text import clean_text, visible
from doorward.data.json_writing import dump
from doorward.host.store_updates import scan_all
from doorward.model.calls import File
from doorward.model.errors import InvalidArguments, LimitExceeded, UnknownName
from doorward.model.programs import ARTEFACT_URI, Artefact
from doorward.model.storage import Change, Delete, DeleteBlob, Put, PutBlob

if TYPE_CHECKING:
    from doorward.model.storage import Store

PREFIX = ARTEFACT_URI
TABLE = "artefacts"
PAGE_BYTES = 32 * 2**10
"""Bytes of a page; a page of text ends with a whole character."""

_MOST_OF_A_CHARACTER = 4
"""Bytes of the longest character."""

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
_ID = re.compile(r"[\w-]{1,100}", re.ASCII)
_URI_IN_JSON = re.compile(rb'"(doorward://results/[\w-]{1,100})"')


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


def handle_to(artefact: Artefact) -> dict[str, Any]:
    """The handle that programs and agents get for an artefact."""
    named = {"name": artefact.name} if artefact.name else {}
    return {"artefact": artefact.uri, "type": artefact.type, "bytes": artefact.bytes, **named}


@dataclass(frozen=True, slots=True)
class Kept:
    """An artefact with its content. `is_text`: the bytes are UTF-8, and their pages are text."""

    about: Artefact
    content: bytes
    is_text: bool

    @property
    def file(self) -> File:
        return File(self.content, self.about.type, self.about.name)


class Artefacts:
    """The artefacts of all principals in a store, bounded in total bytes and in seconds each.

    The oldest artefacts of the principal that holds most are removed first. Processes that share a store look from time
    to time what the others have kept, so that together they may exceed the bound by a sixteenth of it for each.
    """

    def __init__(self, store: Store, *, most: int, seconds: float, clock: Callable[[], float] = time.time) -> None:
        self._store = store
        self._most = most
        self._seconds = seconds
        self._clock = clock
        self._held: dict[str, dict[str, tuple[int, float]]] = {}
        """The size and the end of each artefact of each principal, by id, the oldest first."""
        self._bytes: Counter[str] = Counter()
        """The bytes that each principal holds; principals without artefacts are left out."""
        self._unseen = math.inf
        """Bytes that were kept since somebody looked what others have kept."""

    def made(self, content: str | bytes, type: str, name: str = "", *, is_text: bool = False) -> Kept:
        """Content under a new id, which cannot be guessed. It is not stored yet. Raises: LimitExceeded."""
        if isinstance(content, str):
            content, is_text = content.encode(errors="replace"), True
        if len(content) > self._most:
            raise LimitExceeded(f"a result of {len(content)} bytes is more than may be kept ({self._most})")
        return Kept(Artefact(PREFIX + secrets.token_urlsafe(16), type, len(content), name), content, is_text)

    async def keep(self, kept: Kept, principal: str) -> Artefact:
        """Store an artefact, which works for its principal only. Raises: StateError."""
        about, id = kept.about, kept.about.uri.removeprefix(PREFIX)
        try:
            gone = await self._make_room(about.bytes, principal)
            self._hold(principal, id, about.bytes, self._clock() + self._seconds)
            said = dump([about.type, about.bytes, about.name, kept.is_text])
            record = Put(TABLE, f"{principal}/{id}", said, ttl=self._seconds)
            await self._store.commit(record, PutBlob(f"{TABLE}/{id}", kept.content, self._seconds), *gone)
        except BaseException:
            self._unseen = math.inf
            raise
        return about

    async def remove(self, uris: Collection[str], principal: str) -> None:
        """Remove artefacts of a principal. Raises: StateError."""
        gone: list[Change] = []
        for id in [uri.removeprefix(PREFIX) for uri in uris]:
            if (held := self._held.get(principal, {}).pop(id, None)) is not None:
                self._bytes[principal] -= held[0]
            gone += [Delete(TABLE, f"{principal}/{id}"), DeleteBlob(f"{TABLE}/{id}")]
        if not self._held.get(principal):
            self._held.pop(principal, None)
            self._bytes.pop(principal, None)
        if gone:
            await self._store.commit(*gone)

    async def restore(
        self, uri: str, content: bytes, type: str, principal: str, name: str = "", *, is_text: bool
    ) -> None:
        """Keep an artefact of a stored run under the id that it had, unless it is still there. Raises: StateError."""
        if len(content) <= self._most and await self.about(uri, principal) is None:
            await self.keep(Kept(Artefact(uri, type, len(content), name), content, is_text), principal)

    async def _make_room(self, size: int, principal: str) -> list[Change]:
        """What removes the oldest artefacts of the principal that holds most, so that there is room: nobody loses
        artefacts because another keeps many."""
        self._unseen += size
        if self._unseen > self._most / 16:
            self._unseen = size
            records = await scan_all(self._store, TABLE)
            self._held, self._bytes = {}, Counter()
            for record in sorted(records, key=lambda each: each.version):
                holder, _, id = record.key.rpartition("/")
                self._hold(holder, id, json.loads(record.value)[1], record.expires or math.inf)
        now, gone = self._clock(), list[Change]()
        for holder in [*self._held]:
            while (theirs := self._held.get(holder)) and next(iter(theirs.values()))[1] <= now:
                self._drop_oldest(holder)
        while self._bytes.total() + size > self._most:
            holder = max(self._bytes, key=lambda each: self._bytes[each] + (size if each == principal else 0))
            id = self._drop_oldest(holder)
            gone += [Delete(TABLE, f"{holder}/{id}"), DeleteBlob(f"{TABLE}/{id}")]
        return gone

    def _hold(self, principal: str, id: str, size: int, until: float) -> None:
        self._held.setdefault(principal, {})[id] = size, until
        self._bytes[principal] += size

    def _drop_oldest(self, holder: str) -> str:
        theirs = self._held[holder]
        self._bytes[holder] -= theirs.pop(id := next(iter(theirs)))[0]
        if not theirs:
            del self._held[holder], self._bytes[holder]
        return id

    async def about(self, uri: str, principal: str) -> Artefact | None:
        """The artefact that `doorward://results/ID` names, if this principal has it. Raises: StateError."""
        try:
            return (await self._find(uri, principal))[0]
        except UnknownName:
            return None

    async def open(self, uri: str, principal: str) -> File:
        """The whole artefact that `doorward://results/ID` names; text is encoded as UTF-8.

        Raises: UnknownName if this principal has no such artefact (any more); StateError.
        """
        about, _ = await self._find(uri, principal)
        return File(await self._content(uri), about.type, about.name)

    async def in_params(self, params: Mapping[str, Any], principal: str) -> dict[str, Any]:
        """The parameters of a program, with the URI in place of each handle of a file.

        Raises: InvalidArguments for a handle of an artefact that this principal does not have; StateError.
        """
        plain = dict(params)
        for name, value in params.items():
            if (uri := handle(value)) is not None:
                try:
                    await self._find(uri, principal)
                except UnknownName as error:
                    raise InvalidArguments(f"parameter {name!r}: {error}", hint=error.hint) from None
                plain[name] = uri
        return plain

    async def page(self, uri: str, principal: str) -> Page:
        """The page that `doorward://results/ID?offset=N` names.

        Raises: UnknownName if this principal has no such artefact (any more); StateError.
        """
        about, is_text = await self._find(uri, principal)
        name, _, query = uri.partition("?")
        start = query.removeprefix("offset=")
        offset = min(int(start), about.bytes) if start.isdecimal() and len(start) < 16 else 0
        part = await self._content(uri, offset, PAGE_BYTES + _MOST_OF_A_CHARACTER)
        first, end = 0, PAGE_BYTES
        if is_text:
            first, end = _whole_character(part, first), _whole_character(part, end)
        following = f"{name}?offset={offset + end}" if offset + end < about.bytes else None
        part = part[first:end]
        content = part.decode(errors="replace") if is_text else part
        return Page(content, about.type, offset + first, about.bytes, following)

    async def _find(self, uri: str, principal: str) -> tuple[Artefact, bool]:
        """What is known of an artefact, and whether it is text."""
        if (found := await self._store.get(TABLE, f"{principal}/{_id(uri)}")) is None:
            raise _unknown(uri)
        type, size, name, is_text = json.loads(found.value)
        return Artefact(uri, type, size, name), is_text

    async def _content(self, uri: str, start: int = 0, size: int | None = None) -> bytes:
        if (found := await self._store.blob(f"{TABLE}/{_id(uri)}", start, size)) is None:
            raise _unknown(uri)
        return found.content


def _id(uri: str) -> str:
    """The id in a URI. Raises: UnknownName if none is like that: in a key of the store it stands behind a principal."""
    if not _ID.fullmatch(id := uri.removeprefix(PREFIX).partition("?")[0]):
        raise _unknown(uri)
    return id


def _unknown(uri: str) -> UnknownName:
    return UnknownName(
        f"there is no result {visible(uri[:200])}", hint="Results are kept for a while only: have it made again."
    )


def _whole_character(text: bytes, place: int) -> int:
    """The first place from here on at which a character begins."""
    while place < len(text) and text[place] & 0xC0 == 0x80:
        place += 1
    return place
