"""Request bodies → keywords, and the plan by which they are sent."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from doorward_openapi import media_types
from doorward_openapi.keywords import Keyword, Unusable
from doorward_openapi.parameters import described
from doorward_openapi.refs import BadRef, Documents
from doorward_openapi.schemas import Schemas
from doorward_openapi.text import kind
from doorward_openapi.xml import Plans

MOST_FIELDS = 200
"""Properties of a body that become keywords; a body with more is one argument."""

_HEADER = re.compile(r"[A-Za-z0-9-]{1,100}")
_OBJECTS = ("object", ["object"], ["object", "null"], ["null", "object"])
_MORE = {"patternProperties", "discriminator", "if", "$dynamicRef"}
_SPREAD = ("json", "form", "multipart")


_FUEL = 1000
"""Parts of `allOf` that are looked at for one body: a few lines can refer to billions."""


class _Members(NamedTuple):
    """Properties (each with the file in which it stands), which of them are required, and who says that there are no others."""

    nodes: dict[str, tuple[Any, str]]
    required: set[str]
    closed: list[str]


class Bodies:
    """Makes keywords and a plan of a request body."""

    def __init__(self, documents: Documents, schemas: Schemas) -> None:
        self._documents = documents
        self._schemas = schemas

    def keywords(self, body: Any, file: str, method: str) -> tuple[list[Keyword], dict[str, Any] | None]:
        """The keywords of a request body, and how it is sent: `media`, `kind`, whether it is `spread` over
        keywords, and whether one is always sent (`required`).

        Raises: Unusable, BadRef.
        """
        body, file = self._documents.follow(body, file)
        if body is None:
            return [], None
        if not isinstance(body, dict):
            raise Unusable(f"its requestBody is {kind(body)}, not an object")
        content = media_types.listed(body.get("content"), self._documents, file)
        if not content:
            return [], None
        self._fuel = _FUEL
        media, entry, file = content[0]
        form = media_types.kind(media)
        if form == "json" and "*" in media:
            media = "application/json"
            if self._is_bytes(entry.get("schema"), file):
                media, form = "*/*", "binary"
        plan: dict[str, Any] = {"media": media, "kind": form}
        if form == "text" and media_types.is_xml(media) and (tree := Plans(self._documents).plan(entry.get("schema"), file)):
            plan |= {"kind": "xml", "xml": tree}
        node = entry.get("schema", entry.get("itemSchema"))
        found = self._members(node, file, 0) if form in _SPREAD else None
        if found and found.nodes:
            if form == "json":
                entry = self._with_files(content, entry, found, plan)
            return self._spread(body, method, entry, found, plan)
        if form == "json" and (raw := next((m for m, _, _ in content if media_types.kind(m) == "binary"), None)):
            plan["bytes"] = raw
        if found and self._schema(node, file)[0].get("additionalProperties") is False:
            return [], None  # an object that may hold nothing
        required = body.get("required") is True
        schema = self._whole(entry, file, plan)
        return [Keyword("body", "body", described(schema, {"description": body.get("description")}), required)], plan

    def _with_files(
        self, content: list[tuple[str, dict[str, Any], str]], entry: dict[str, Any], found: _Members, plan: dict[str, Any]
    ) -> dict[str, Any]:
        """Of a body that is JSON, but multipart where files go along: add those to what was found.

        Returns: the media type that says how the fields are written.
        """
        media, parts, file = next((c for c in content if media_types.kind(c[0]) == "multipart"), ("", {}, ""))
        more = self._members(parts.get("schema"), file, 0) if media else None
        for name, place in more.nodes.items() if more else ():
            if name not in found.nodes and self._is_bytes(*place):
                found.nodes[name] = place
        if not media or not any(self._is_bytes(*place) for place in found.nodes.values()):
            return entry
        plan["files"] = media
        return parts

    def _spread(
        self, body: Mapping[str, Any], method: str, entry: Mapping[str, Any], found: _Members, plan: dict[str, Any]
    ) -> tuple[list[Keyword], dict[str, Any]]:
        # Documents forget `required: true` far more often than they mean a body that can be left out although it
        # has required members; only a `false` that stands there makes it optional.
        needed = body.get("required") is True or (
            body.get("required") is None and method in ("POST", "PUT", "PATCH") and bool(found.required)
        )
        encoding = entry.get("encoding")
        encoding = encoding if isinstance(encoding, dict) else {}
        keywords = []
        for name, (node, file) in found.nodes.items():
            schema = self._schemas.convert(node, file)
            if schema.get("readOnly") or self._schema(node, file)[0].get("readOnly") is True:
                continue
            wire = self._field("multipart" if "files" in plan else plan["kind"], encoding.get(name), node, file)
            keywords.append(Keyword(name, "body", schema, needed and name in found.required, wire))
        return keywords, {**plan, "spread": True, "required": needed} | ({} if found.closed else {"open": True})

    def _whole(self, entry: Mapping[str, Any], file: str, plan: Mapping[str, Any]) -> dict[str, Any]:
        """The schema of a body that is one argument."""
        kind = plan["kind"]
        if kind == "binary":
            return {"type": "string", "format": "binary"}
        schema = self._schemas.convert(entry.get("schema", entry.get("itemSchema")), file)
        if "bytes" in plan:
            return {"anyOf": [schema, {"type": "string", "format": "binary"}]} if schema else schema
        if kind == "lines":
            return {"anyOf": [schema if schema.get("type") == "array" else {"type": "array", "items": schema}, {"type": "string"}]}
        if kind == "xml":
            return {"anyOf": [schema, {"type": "string"}]}
        return schema if kind in _SPREAD or schema.get("type") == "string" else {"type": "string"}

    def _members(self, node: Any, file: str, depth: int) -> _Members | None:
        """The properties of an object schema, those of its `allOf` parts included; `None` if the schema is more
        than its properties."""
        node, file = self._schema(node, file)
        self._fuel -= 1
        if depth > 8 or self._fuel < 0 or node.get("type", "object") not in _OBJECTS:
            return None
        if node.get("additionalProperties") not in (None, False) or not node.keys().isdisjoint(_MORE):
            return None
        if any(not _only_requires(node[k]) for k in ("oneOf", "anyOf") if k in node):
            return None
        members = _Members({}, set(), [key for key in ("additionalProperties", "unevaluatedProperties") if node.get(key) is False])
        if isinstance(required := node.get("required"), list):
            members.required.update(name for name in required if isinstance(name, str))
        for part in node["allOf"] if isinstance(node.get("allOf"), list) else ():
            if isinstance(part, dict) and not part.keys() - {"description", "title", "example"}:
                continue
            found = self._members(part, file, depth + 1)
            if found is None:
                return None
            members.nodes.update(found.nodes)
            members.required.update(found.required)
            members.closed.extend(found.closed)
        properties = node.get("properties")
        if isinstance(properties, dict):
            members.nodes.update({str(name): (part, file) for name, part in properties.items()})
        return None if len(members.nodes) > MOST_FIELDS or any(len(name) > 500 for name in members.nodes) else members

    def _field(self, form: str, encoding: Any, node: Any, file: str) -> dict[str, Any]:
        """How one field of a form is written."""
        if form == "json":
            return {}
        encoding = encoding if isinstance(encoding, dict) else {}
        wire: dict[str, Any] = {}
        style, explode, media = encoding.get("style"), encoding.get("explode"), encoding.get("contentType")
        if encoding.get("allowReserved") is True:
            wire["reserved"] = True
        if style in ("spaceDelimited", "pipeDelimited", "tabDelimited", "deepObject"):
            wire["style"] = style
        wire["explode"] = explode if isinstance(explode, bool) else style in (None, "form", "deepObject")
        if form == "multipart":
            types = [m for part in media.split(",")[:20] if media_types.well_formed(m := part.strip())] if isinstance(media, str) else []
            if self._is_bytes(node, file):
                wire["file"] = True
            else:
                types = [m for m in types if "*" not in m]
            if types:
                wire["media"] = types
            if headers := self._headers(encoding.get("headers"), file):
                wire["headers"] = headers
        elif style is None and (_is_json(media) or self._schema(node, file)[0].get("type") == "object"):
            wire["json"] = True
        return wire

    def _headers(self, declared: Any, file: str) -> dict[str, str]:
        """The headers of a part whose value the document knows."""
        found: dict[str, str] = {}
        for name, header in list(declared.items())[:20] if isinstance(declared, dict) else ():
            schema = self._schema(self._schema(header, file)[0].get("schema"), file)[0]
            enum = schema.get("enum")
            value = schema.get("const", schema.get("default", enum[0] if isinstance(enum, list) and len(enum) == 1 else None))
            known = _HEADER.fullmatch(name) and name.lower() not in ("content-type", "content-disposition")
            if known and isinstance(value, (str, int)) and re.fullmatch(r"[\x20-\x7e]{1,500}", str(value)):
                found[name] = str(value)
        return found

    def _is_bytes(self, node: Any, file: str, *, whole: bool = True) -> bool:
        """Whether a schema, its items or (of a `whole` one) all its alternatives are bytes."""
        node, file = self._schema(node, file)
        if whole and isinstance(parts := node.get("oneOf", node.get("anyOf")), list) and 0 < len(parts) < 10:
            return all(self._is_bytes(part, file, whole=False) for part in parts)
        if node.get("type") == "array":
            node, file = self._schema(node.get("items"), file)
        media = node.get("contentMediaType")
        other = isinstance(media, str) and "contentEncoding" not in node and not media.startswith("text/")
        return node.get("format") == "binary" or node.get("type") == "file" or other

    def _schema(self, node: Any, file: str) -> tuple[dict[str, Any], str]:
        """A schema object, references followed; empty where they lead nowhere.

        Raises: BadRef if they lead outside of the document.
        """
        try:
            node, file = self._documents.follow(node, file)
        except BadRef as error:
            if error.outside:
                raise
            return {}, file
        return node if isinstance(node, dict) else {}, file


def _is_json(media: Any) -> bool:
    return isinstance(media, str) and "," not in media and "*" not in media and media_types.kind(media) == "json"


def _only_requires(parts: Any) -> bool:
    """Whether alternatives differ in nothing but what they require: keywords can say that."""
    return isinstance(parts, list) and all(isinstance(p, dict) and not p.keys() - {"required", "description", "title"} for p in parts)
