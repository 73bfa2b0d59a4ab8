"""The choice between media types that a document offers, if they stand for different values and not for the same
value in another notation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from doorward_openapi.document.refs import Documents
from doorward_openapi.schemas.binary import Binaries, Bytes
from doorward_openapi.schemas.keywords import Keyword
from doorward_openapi.wire import media_types

Listed = Sequence[tuple[str, dict[str, Any], str]]
"""Media types as `media_types.listed` returns them."""

_MAX_MEDIA_TYPES = 100
"""Media types that are read for one body or answer."""
_MAX_CHOICES = 8
"""A longer list would cost every reader of the function more than it is worth."""


def for_body(content: Listed, method: str, binaries: Binaries) -> list[str]:
    """The media types that a body may have, the usual one first: exact ones, and ranges of files."""
    patch = method == "PATCH"

    def counts(media: str, schema: Any, file: str) -> bool:
        match media_types.kind(media):
            case "binary":
                return _is_file(media, schema, file, binaries)
            case "text":
                return not media_types.is_xml(media) and _is_text(schema, file, binaries)
            case "json":
                return patch and media_types.is_patch(media)
        return False

    return _counting(content, counts)


def for_answer(content: Listed, binaries: Binaries) -> list[str]:
    """The media types that an answer may have, the usual one first."""
    first = content[0][1].get("schema")

    def counts(media: str, schema: Any, file: str) -> bool:
        match media_types.kind(media):
            case "binary":
                return _is_file(media, schema, file, binaries)
            case "text":
                return "csv" in media or (
                    not media_types.is_xml(media) and schema != first and _is_text(schema, file, binaries)
                )
            case "json":
                return schema != first and media_types.bare(media) != "text/json"
        return media_types.stream(media) not in ("", "events")

    return _counting(content, counts)


def declared(parameter: Mapping[str, Any], file: str, documents: Documents) -> list[str]:
    """The media types that a header parameter lists.

    Raises: BadRef if it refers outside of the document.
    """
    schema, _ = documents.object(parameter.get("schema", parameter), file)
    values = schema.get("enum", [schema["const"]] if "const" in schema else [])
    plain = isinstance(values, list) and len(values) <= _MAX_MEDIA_TYPES
    return values if plain and all(isinstance(v, str) and media_types.well_formed(v) for v in values) else []


def keyword(header: str, media: Sequence[str], about: str) -> list[Keyword]:
    """The argument by which a program chooses a media type, if there is a choice."""
    if not 1 < len(media) <= _MAX_CHOICES:
        return []
    schema = {"type": "string", "enum": list(media), "description": about}
    return [Keyword(header.lower().replace("-", "_"), "header", schema, False, {"name": header})]


def chosen(offered: list[str], plan: dict[str, Any], what: Bytes) -> list[Keyword]:
    """Note in the plan which media type each kind of value has.

    Returns: the argument that chooses, if the value alone does not tell.
    """
    kinds = {
        m: plan["kind"] if plan["kind"] == "binary" or m == plan["media"] else media_types.kind(m) for m in offered
    }
    if (
        plan["kind"] == "json"
        and what.may_be_file
        and (not kinds or media_types.bare(what.media) == media_types.bare(plan["media"]))
    ):
        plan["bytes"] = [plan["media"] if kinds else "*/*"]
    if len(kinds) < 2:
        return []
    files, texts = (
        [m for m in offered if kind(m) == form] for kind, form in ((kinds.get, "binary"), (media_types.kind, "text"))
    )
    patches = [m for m in offered if media_types.bare(m) == "application/json-patch+json"]
    if files:
        plan["bytes"] = files
    if texts and plan["kind"] in ("json", "binary") and "text" not in what.forms:
        plan["strings"] = texts[0]
    if patches and plan["media"] not in patches:
        plan["lists"] = patches[0]
    if len(set(kinds.values())) == len(kinds) and not (texts and what.forms & {"text", "any"}):
        return []
    plan["offers"] = {m: kind for m, kind in kinds.items() if "*" not in m}
    return keyword("Content-Type", [*plan["offers"]], "media type of the body, where its value does not tell")


def with_instead(words: list[Keyword], plan: dict[str, Any]) -> list[Keyword]:
    """The keywords of a JSON body, and an argument for a file or a text that may be sent instead."""
    media = [*plan.get("bytes", ()), *([plan["strings"]] if "strings" in plan else [])]
    if not media:
        return words
    plan["needs"] = [word.name for word in words if word.required]
    about = f"{', '.join(media[:5])}{' …' if len(media) > 5 else ''}: instead of the fields of the JSON body"
    schema = {"type": "string", **({"format": "binary"} if "bytes" in plan else {}), "description": about}
    return [
        *(replace(word, required=False) for word in words),
        Keyword("body", "body", schema, False, {"instead": True}),
    ]


def _counting(content: Listed, counts: Callable[[str, Any, str], bool]) -> list[str]:
    listed = enumerate(content[:_MAX_MEDIA_TYPES])
    usable = [(i, each) for i, each in listed if "*" not in each[0] or media_types.kind(each[0]) == "binary"]
    return list(dict.fromkeys(m for i, (m, entry, file) in usable if i == 0 or counts(m, entry.get("schema"), file)))


def _is_file(media: str, schema: Any, file: str, binaries: Binaries) -> bool:
    return media_types.is_file(media) or binaries.found(schema, file).may_be_file


def _is_text(schema: Any, file: str, binaries: Binaries) -> bool:
    return bool(binaries.found(schema, file).forms & {"text", "any", "binary"})
