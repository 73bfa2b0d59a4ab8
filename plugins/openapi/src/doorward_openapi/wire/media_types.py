"""Media types: which of them are written and read how."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from doorward_openapi.document.refs import Documents

_WELL_FORMED = re.compile(r"[A-Za-z0-9!#$&^_.+*-]{1,100}/[A-Za-z0-9!#$&^_.+*-]{1,100}(\s*;[^\r\n;]{1,100}){0,4}")
_ALSO_TEXT = ("yaml", "javascript", "csv", "graphql", "x-www-form-urlencoded", "toml")
_FILES = re.compile(r"(image|audio|video|font)/.*|application/(pdf|msword|vnd\.(ms-|openxmlformats|oasis)).*")
_ARCHIVES = ("application/octet-stream", "application/zip", "application/gzip", "application/x-tar")
_KINDS = ("json", "lines", "form", "multipart", "text", "binary")


def bare(media: str) -> str:
    """Without parameters, in small letters."""
    return media.partition(";")[0].strip().lower()


def well_formed(media: str) -> bool:
    """Whether this is a media type, or a range of them."""
    return _WELL_FORMED.fullmatch(media) is not None


@lru_cache(256)  # documents have few, thousands of times
def kind(media: str) -> str:
    """How a media type is written: `json`, `lines` (of JSON), `form`, `multipart`, `text` or `binary`."""
    name = bare(media)
    if stream(media):
        return "lines"
    if name in ("*/*", "application/*", "application/json", "text/json") or name.endswith("+json"):
        return "json"
    if name == "application/x-www-form-urlencoded":
        return "form"
    if name.startswith("multipart/"):
        return "multipart"
    text = (
        name.startswith("text/")
        or name in ("application/yaml", "application/x-yaml", "application/graphql")
        or name.endswith("+yaml")
    )
    return "text" if text or is_xml(media) else "binary"


def stream(media: str) -> str:
    """How many values stand one after the other: `events`, `sequence` or `lines`; "" for what is one value."""
    name = bare(media)
    if name == "text/event-stream":
        return "events"
    if name.endswith("json-seq"):
        return "sequence"
    return "lines" if any(word in name for word in ("ndjson", "jsonl", "json-lines", "stream+json")) else ""


def is_xml(media: str) -> bool:
    return bare(media) in ("application/xml", "text/xml") or bare(media).endswith("+xml")


def is_patch(media: str) -> bool:
    """Whether this says how to change something."""
    return bare(media).endswith(("patch+json", "patch+yaml"))


def is_merge_patch(media: str) -> bool:
    """Whether null means there: delete it (RFC 7396)."""
    return bare(media).endswith("merge-patch+json")


def is_file(media: str) -> bool:
    """Whether this is a file whatever schema stands beside it: 2.0 has but one for all. Others (CBOR, archives) may be
    an object's."""
    return kind(media) == "binary" and _FILES.fullmatch(bare(media)) is not None


def is_upload(media: str) -> bool:
    """Whether a part of a form of this type is a file."""
    return is_file(media) or bare(media) in _ARCHIVES


def is_text(media: str) -> bool:
    """Whether an answer of this type is text to a program."""
    name = bare(media)
    return kind(media) == "text" or name == "application/x-sh" or any(word in name for word in _ALSO_TEXT)


def listed(content: Any, documents: Documents, file: str) -> list[tuple[str, dict[str, Any], str]]:
    """The well-formed media types of a content map, each with its entry and where that stands: JSON first, then forms,
    text and bytes."""
    found = []
    for media, entry in content.items() if isinstance(content, dict) else ():
        if isinstance(media, str) and well_formed(media):
            entry, home = documents.follow(entry, file)
            found.append((media, entry if isinstance(entry, dict) else {}, home))
    return sorted(found, key=lambda m: _rank(m[0]))


@lru_cache(1000)
def _rank(media: str) -> tuple[bool, bool, int, int]:
    """Exact types first, whole answers before streams of events, then JSON; of JSON, the plain one, and the patch that
    is written like what it changes."""
    special = ("application/json", "merge-patch+json", "", "json-patch+json")
    exact = next(
        (
            i
            for i, name in enumerate(special)
            if name and media.lower().startswith("application/") and media.endswith(name)
        ),
        2,
    )
    return "*" in media, media.startswith("text/event-stream"), _KINDS.index(kind(media)), exact
