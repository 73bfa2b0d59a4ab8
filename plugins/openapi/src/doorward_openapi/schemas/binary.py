"""Which schemas describe bytes, in all the ways in which OpenAPI 2.0 to 3.2 describes a file or base64."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from doorward_openapi.document.refs import BadRef, Documents
from doorward_openapi.wire import media_types

ANY = "application/octet-stream"
"""The media type that says no more than that these are bytes."""

_BASE64 = {"base64": "byte", "base64url": "base64url"}
_UNCODED = (None, "", "binary", "8bit", "7bit")
_SAYING = (
    "type",
    "format",
    "properties",
    "items",
    "enum",
    "const",
    "additionalProperties",
    "contentMediaType",
    "contentEncoding",
)
SAYING_FORM = frozenset(["format", "contentEncoding", "contentMediaType"])
"""Keywords without which nothing but the type `file` has a format."""

_MAX_DEPTH = 20


class Bytes(NamedTuple):
    """What a schema says about bytes. `forms` holds `binary`, `byte`, `base64url`, `text`, `other`, or `any` if the
    schema says nothing; `one`, `many` and `null` say whether a single value, a list or null is allowed; `media` is the
    media type that the schema itself names."""

    forms: frozenset[str]
    one: bool = True
    many: bool = False
    null: bool = False
    media: str = ""

    @property
    def is_file(self) -> bool:
        """Whether it is unencoded bytes and nothing else."""
        return self.forms == {"binary"}

    @property
    def is_raw(self) -> bool:
        """Whether a body or an answer of this schema is bytes even if its media type is JSON, not a
        JSON string that holds them."""
        return self.is_file and self.one and not self.many and not self.media

    @property
    def may_be_file(self) -> bool:
        return bool(self.forms & {"binary", "any"})

    @property
    def base64(self) -> str:
        """How bytes are written as text: `byte` or `base64url`; "" if they are not."""
        return next(iter(self.forms)) if self.forms in ({"byte"}, {"base64url"}) else ""

    def file_schema(self) -> dict[str, Any]:
        """The schema of a file, a list of files, or either, with null if that is allowed."""
        null = ["null"] if self.null else []
        one: dict[str, Any] = {"type": ["string", *null] if null else "string", "format": "binary"}
        if not self.many:
            return one
        many: dict[str, Any] = {
            "type": ["array", *null] if null else "array",
            "items": {"type": "string", "format": "binary"},
        }
        return {"anyOf": [one, many]} if self.one else many


_OTHER, _ANYTHING = Bytes(frozenset(["other"])), Bytes(frozenset(["any"]))


def form(node: Mapping[str, Any], *, raw: bool) -> str | None:
    """The `format` of a schema object: `binary` for unencoded bytes, `byte` for base64, in
    whatever way the schema says it.

    JSON cannot hold unencoded bytes: in JSON (not `raw`), a schema without an encoding means base64, or text if it
    names no particular media type.
    """
    named, coding, media = node.get("format"), node.get("contentEncoding"), node.get("contentMediaType")
    if node.get("type") == "file" or (named == "file" and node.get("type", "string") in ("string", "object")):
        return "binary"
    if isinstance(coding, str) and coding.lower() in _BASE64:
        return _BASE64[coding.lower()]
    if named == "base64":
        return "byte"
    if named is None and coding in _UNCODED and isinstance(media, str) and _is_string(node) and _no_text(media):
        return "binary" if raw else "byte" if media_types.bare(media) != ANY and "*" not in media else None
    return named if isinstance(named, str) else None


def _no_text(media: str) -> bool:
    return media_types.kind(media) == "binary" or media.startswith("image/") or "*" in media


def _is_string(node: Mapping[str, Any]) -> bool:
    return node.get("type", "string") in ("string", ["string"], ["string", "null"], ["null", "string"])


class Binaries:
    """Finds out what schemas say about bytes, once for each: a small document can refer to the
    same schema a million times."""

    def __init__(self, documents: Documents) -> None:
        self._documents = documents
        self._known: dict[tuple[int, str], tuple[Any, Bytes]] = {}

    def found(self, node: Any, file: str, depth: int = 0) -> Bytes:
        """What a schema in `file` says, with references followed. In a circle of references, what
        stands outside it counts.

        Raises: BadRef if they lead outside of the document.
        """
        try:
            node, file = self._documents.follow(node, file)
        except BadRef as error:
            if error.outside:
                raise
            return _OTHER
        if not isinstance(node, dict):
            return _ANYTHING
        key = (id(node), file)
        if key not in self._known:
            if depth > _MAX_DEPTH:
                return _OTHER
            self._known[key] = node, _OTHER  # keeping the node prevents its id from being reused
            self._known[key] = node, self._look(node, file, depth + 1)
        return self._known[key][1]

    def _look(self, node: Mapping[str, Any], file: str, depth: int) -> Bytes:
        own = self._own(node, file, depth)
        for parts in _alternatives(node):
            several = [self.found(part, file, depth) for part in parts if not _is_null(part)]
            own = _both(own, _either(several)) if several else own
            own = own._replace(null=own.null or len(several) < len(parts))
        for part in node["allOf"][:20] if isinstance(node.get("allOf"), list) else ():
            own = _both(own, self.found(part, file, depth))
        return own

    def _own(self, node: Mapping[str, Any], file: str, depth: int) -> Bytes:
        """What a schema itself says, without its parts."""
        kinds = node.get("type")
        kinds = kinds if isinstance(kinds, list) else [kinds]
        null = "null" in kinds or node.get("nullable") is True or node.get("x-nullable") is True
        if "array" in kinds:
            items = self.found(node.get("items"), file, depth)
            return (
                items._replace(one=False, many=True, null=null) if items.one else Bytes(frozenset(["other"]), null=null)
            )
        media = node.get("contentMediaType")
        media = media if isinstance(media, str) and media_types.well_formed(media) and "*" not in media else ""
        return Bytes(frozenset([_form_of(node)]), null=null, media=media)


def _form_of(node: Mapping[str, Any]) -> str:
    media, said = node.get("contentMediaType"), node.keys() & set(_SAYING)
    if not said or (
        said == {"contentMediaType"}
        and isinstance(media, str)
        and "*" not in media
        and media_types.kind(media) == "json"
    ):
        return "any"  # a JSON value, or a file that holds JSON
    known = form(node, raw=True)
    if known in ("binary", "byte", "base64url") and (
        _is_string(node) or "file" in (node.get("type"), node.get("format"))
    ):
        return known
    return (
        "text"
        if known is None and _is_string(node) and node.keys().isdisjoint(("enum", "const", "pattern"))
        else "other"
    )


def _alternatives(node: Mapping[str, Any]) -> Iterator[list[Any]]:
    for key in ("oneOf", "anyOf"):
        if isinstance(parts := node.get(key), list) and 0 < len(parts) < 20:
            yield parts


def _is_null(part: Any) -> bool:
    return isinstance(part, dict) and (part.get("type") in ("null", ["null"]) or part.get("enum") == [None])


def _either(several: list[Bytes]) -> Bytes:
    forms = frozenset(form for each in several for form in each.forms)
    media = next((each.media for each in several if each.media), "")
    return Bytes(forms, any(e.one for e in several), any(e.many for e in several), any(e.null for e in several), media)


def _both(one: Bytes, other: Bytes) -> Bytes:
    """What holds if both schemas apply: whatever says more."""
    if one.forms == {"any"}:
        return other._replace(null=one.null or other.null, media=one.media or other.media)
    return one._replace(media=one.media or other.media)
