"""Media types: how each kind is written and read."""

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
    """A media type without parameters, in lower case."""
    return media.partition(";")[0].strip().lower()


def well_formed(media: str) -> bool:
    """Whether this is a media type or a media range."""
    return _WELL_FORMED.fullmatch(media) is not None


@lru_cache(256)  # documents repeat a few of them thousands of times
def kind(media: str) -> str:
    """The kind of a media type: `json`, `lines` (of JSON), `form`, `multipart`, `text` or `binary`."""
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
    """How a stream separates its values: `events`, `sequence` or `lines`; "" for a media type of a single value."""
    if media == "application/json":
        return ""
    name = bare(media)
    if name == "text/event-stream":
        return "events"
    if name.endswith("json-seq"):
        return "sequence"
    return "lines" if any(word in name for word in ("ndjson", "jsonl", "json-lines", "stream+json")) else ""


def is_xml(media: str) -> bool:
    return bare(media) in ("application/xml", "text/xml") or bare(media).endswith("+xml")


def is_patch(media: str) -> bool:
    """Whether this describes a change to something."""
    return bare(media).endswith(("patch+json", "patch+yaml"))


def is_merge_patch(media: str) -> bool:
    """Whether null means deletion (RFC 7396)."""
    return bare(media).endswith("merge-patch+json")


def is_file(media: str) -> bool:
    """Whether this is a file whatever the schema says: 2.0 has one schema for all media types. Others (CBOR,
    archives) may encode an object."""
    return kind(media) == "binary" and _FILES.fullmatch(bare(media)) is not None


def is_upload(media: str) -> bool:
    """Whether a form part of this type is a file."""
    return is_file(media) or bare(media) in _ARCHIVES


def is_text(media: str) -> bool:
    """Whether a program gets an answer of this type as text."""
    name = bare(media)
    return kind(media) == "text" or name == "application/x-sh" or any(word in name for word in _ALSO_TEXT)


def listed(content: Any, documents: Documents, file: str) -> list[tuple[str, dict[str, Any], str]]:
    """The well-formed media types of a content map, each with its entry and the file of that: JSON first,
    then forms, text and bytes."""
    found = []
    for media, entry in content.items() if isinstance(content, dict) else ():
        if isinstance(media, str) and well_formed(media):
            entry, home = documents.follow(entry, file)
            found.append((media, entry if isinstance(entry, dict) else {}, home))
    return sorted(found, key=lambda m: _rank(m[0]))


@lru_cache(1000)
def _rank(media: str) -> tuple[bool, bool, int, int]:
    """The sort key: exact types first, whole answers before event streams, then JSON; within JSON, plain JSON
    and the merge patch first."""
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
