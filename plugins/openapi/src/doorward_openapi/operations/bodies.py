"""Request bodies → keyword arguments, and the plan by which they are sent."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from doorward_openapi.document.refs import Documents
from doorward_openapi.document.text import kind
from doorward_openapi.document.values import encoded, wire_text
from doorward_openapi.operations.parameters import described
from doorward_openapi.schemas import binary, implied_values, media_choice
from doorward_openapi.schemas.keywords import Keyword, Unusable
from doorward_openapi.schemas.schemas import Mode, Schemas
from doorward_openapi.schemas.types import nullable
from doorward_openapi.wire import media_types
from doorward_openapi.wire.xml import Plans

MAX_FIELDS = 200
"""Properties of a body that become keywords; a body with more is one argument."""

_HEADER = re.compile(r"[A-Za-z0-9-]{1,100}")
_OBJECTS = ("object", ["object"], ["object", "null"], ["null", "object"])
_OTHERS = ("additionalProperties", "unevaluatedProperties")
_MORE = {"patternProperties", "discriminator", "if", "$dynamicRef"}
_SPREAD = ("json", "form", "multipart")

Read = tuple[list[Keyword], dict[str, Any] | None]
_Media = tuple[str, dict[str, Any], str]

_MAX_ALL_OF_PARTS = 1000
"""Parts of `allOf` that are read for one body: a few lines of a document can refer to billions of them."""


class _Members(NamedTuple):
    """Properties (each with the file in which it stands), which of them are required, and the
    schemas that allow no others."""

    nodes: dict[str, tuple[Any, str]]
    required: set[str]
    closed: list[str]


class Bodies:
    """Turns request bodies into keywords and a plan."""

    def __init__(self, documents: Documents, schemas: Schemas) -> None:
        self._documents = documents
        self._schemas = schemas
        self._known: dict[tuple[str, str, bytes], Read] = {}

    def keywords(self, body: Any, file: str, method: str) -> Read:
        """The keywords of a request body, and how it is sent: `media`, `kind`, whether it is `spread` over
        keywords, and whether one is always sent (`required`). Equal bodies are read once.

        Raises: Unusable, BadRef.
        """
        if body is None:
            return [], None
        key = file, method, encoded(body)
        if key not in self._known:
            self._known[key] = self._read(body, file, method)
        return self._known[key]

    def _read(self, body: Any, file: str, method: str) -> Read:
        body, file = self._documents.follow(body, file)
        if body is None:
            return [], None
        if not isinstance(body, dict):
            raise Unusable(f"its requestBody is {kind(body)}, not an object")
        content = media_types.listed(body.get("content"), self._documents, file)
        if not content:
            return [], None
        self._fuel = _MAX_ALL_OF_PARTS
        content = self._with_room(content)
        media, entry, file = content[0]
        form = media_types.kind(media)
        node = entry.get("schema", entry.get("itemSchema"))
        what = self._schemas.binaries.found(node, file)
        offered = media_choice.for_body(content, method, self._schemas.binaries)
        if form == "json" and what.is_raw:
            offered.sort(key=lambda m: media_types.kind(m) != "binary")
            media, form = next(iter(offered), "*/*"), "binary"
        elif form == "json" and "*" in media:
            media = "application/json"
        plan: dict[str, Any] = {"media": media, "kind": form}
        if (
            form == "text"
            and media_types.is_xml(media)
            and (tree := Plans(self._documents).plan(entry.get("schema"), file))
        ):
            plan |= {"kind": "xml", "xml": tree}
        chosen = media_choice.chosen(offered, plan, what)
        mode: Mode = "Patch" if any(map(media_types.is_merge_patch, (media, *offered))) else ""
        found = self._members(node, file, 0) if form in _SPREAD else None
        if found and found.nodes:
            if form == "json":
                entry = self._with_files(content, entry, found, plan)
            words, plan = self._spread(body, method, entry, found, plan, mode)
            return ([*media_choice.with_instead(words, plan), *chosen] if form == "json" else words), plan
        if found and any(self._documents.object(node, file)[0].get(key) is False for key in _OTHERS):
            return [], None  # an object that may be empty
        required = body.get("required") is True
        schema = self._whole(entry, file, plan, what, mode)
        wire = {"base64": what.base64} if what.base64 and plan["kind"] in ("json", "text") else {}
        return [
            Keyword("body", "body", described(schema, {"description": body.get("description")}), required, wire),
            *chosen,
        ], plan

    def _with_room(self, content: list[_Media]) -> list[_Media]:
        """The same media types, with multipart first if it is offered beside a form and has files,
        which a form cannot hold."""
        forms = [media_types.kind(media) for media, _, _ in content]
        if forms[0] != "form" or "multipart" not in forms:
            return content
        multipart = content[forms.index("multipart")]
        found = self._members(multipart[1].get("schema"), multipart[2], 0)
        has = found and any(self._schemas.binaries.found(*place).is_file for place in found.nodes.values())
        return [multipart, *(each for each in content if each is not multipart)] if has else content

    def _with_files(
        self, content: list[_Media], entry: dict[str, Any], found: _Members, plan: dict[str, Any]
    ) -> dict[str, Any]:
        """Add the files to a body that is JSON, or multipart when files are sent along.

        Returns: the media type by which the fields are written.
        """
        media, parts, file = next((c for c in content if media_types.kind(c[0]) == "multipart"), ("", {}, ""))
        more = self._members(parts.get("schema"), file, 0) if media else None
        for name, place in more.nodes.items() if more else ():
            if name not in found.nodes and self._schemas.binaries.found(*place).is_file:
                found.nodes[name] = place
        if not media or not any(self._schemas.binaries.found(*place).is_file for place in found.nodes.values()):
            return entry
        plan["files"] = media
        return parts

    def _spread(
        self,
        body: Mapping[str, Any],
        method: str,
        entry: Mapping[str, Any],
        found: _Members,
        plan: dict[str, Any],
        mode: Mode,
    ) -> tuple[list[Keyword], dict[str, Any]]:
        # Authors forget `required: true` far more often than they mean an optional body with required members:
        # only an explicit `false` makes it optional.
        needed = body.get("required") is True or (
            body.get("required") is None and method in ("POST", "PUT", "PATCH") and bool(found.required)
        )
        encoding = entry.get("encoding")
        encoding = encoding if isinstance(encoding, dict) else {}
        keywords, received = [], []
        for name, (node, file) in found.nodes.items():
            schema = self._schemas.convert(node, file, mode)
            if schema.get("readOnly") or self._documents.object(node, file)[0].get("readOnly") is True:
                received.append(name)
                continue
            required = needed and name in found.required
            what = self._schemas.binaries.found(node, file)
            wire = self._field("multipart" if "files" in plan else plan["kind"], encoding.get(name), node, file, what)
            if wire.get("file") or ("base64" in wire and (what.is_file or what.media or plan["kind"] != "json")):
                schema = described(what.file_schema(), schema)
            elif wire.get("open"):
                schema = self._schemas.convert(node, file, "Form")
                if not schema.keys() - {"description"}:
                    schema = {"description": f"{schema.get('description', '')} (a file, or any value)".strip()}
            schema = nullable(schema) if mode == "Patch" and not required else schema
            # A default is for something new: a PATCH must not apply it to what exists.
            value = None
            if name in found.required:
                value = implied_values.value(self._documents, node, file, default=method != "PATCH")
            keywords.append(Keyword(name, "body", schema, required, wire, value))
        return keywords, {**plan, "spread": True, "required": needed} | (
            {} if found.closed else {"open": True, "received": received}
        )

    def _whole(
        self, entry: Mapping[str, Any], file: str, plan: Mapping[str, Any], what: binary.Bytes, mode: Mode
    ) -> dict[str, Any]:
        """The schema of a body that is a single argument."""
        kind = plan["kind"]
        if kind == "binary":
            return {"type": ["string", "null"] if what.null else "string", "format": "binary"}
        schema = self._schemas.convert(
            entry.get("schema", entry.get("itemSchema")), file, "Form" if kind == "multipart" else mode
        )
        text = {"type": "string", **({"format": "binary"} if "bytes" in plan else {})}
        if kind == "lines":
            return {"anyOf": [self._lines(entry, file), text]}
        if kind == "xml" or not plan.keys().isdisjoint(("bytes", "strings")):
            return {"anyOf": [schema, text]} if schema else schema
        return schema if kind in _SPREAD or schema.get("type") == "string" else {"type": "string"}

    def _lines(self, entry: Mapping[str, Any], file: str) -> dict[str, Any]:
        """The schema of a body of JSON lines: a list of `itemSchema` (3.2). Before 3.2, `schema` described either the
        whole or one line. A string describes the text as it is sent, and says nothing about its lines."""
        if "itemSchema" in entry:
            return {"type": "array", "items": self._schemas.convert(entry["itemSchema"], file)}
        schema = self._schemas.convert(entry.get("schema"), file)
        if schema.get("type") == "array":
            return schema
        text = self._documents.object(entry.get("schema"), file)[0].get("type") == "string"
        return {"type": "array", "items": {} if text else schema}

    def _members(self, node: Any, file: str, depth: int) -> _Members | None:
        """The properties of an object schema, including those of its `allOf` parts; `None` if the schema says
        more than its properties do."""
        node, file = self._documents.object(node, file)
        self._fuel -= 1
        if depth > 8 or self._fuel < 0 or node.get("type", "object") not in _OBJECTS:
            return None
        if any(node.get(key) not in (None, False) for key in _OTHERS) or not node.keys().isdisjoint(_MORE):
            return None
        if any(not _only_requires(node[k]) for k in ("oneOf", "anyOf") if k in node):
            return None
        members = _Members({}, set(), [key for key in _OTHERS if node.get(key) is False])
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
        return None if len(members.nodes) > MAX_FIELDS or any(len(name) > 500 for name in members.nodes) else members

    def _field(self, form: str, encoding: Any, node: Any, file: str, what: binary.Bytes) -> dict[str, Any]:
        """How one field of a body is written."""
        if form == "json":  # JSON has no other way to hold bytes, unless text is meant
            coding = what.base64 or ("byte" if what.is_file and what.media != binary.ANY else "")
            return {"base64": coding} if coding else {}
        wire: dict[str, Any] = {"base64": what.base64} if what.base64 else {}
        encoding = encoding if isinstance(encoding, dict) else {}
        style, explode, media = encoding.get("style"), encoding.get("explode"), encoding.get("contentType")
        if encoding.get("allowReserved") is True:
            wire["reserved"] = True
        if style in ("spaceDelimited", "pipeDelimited", "tabDelimited", "deepObject"):
            wire["style"] = style
        wire["explode"] = explode if isinstance(explode, bool) else style in (None, "form", "deepObject")
        if form == "multipart":
            types = (
                [m for part in media.split(",")[:20] if media_types.well_formed(m := part.strip())]
                if isinstance(media, str)
                else []
            )
            if what.is_file or (types and what.forms <= {"any", "text"} and all(map(media_types.is_upload, types))):
                wire["file"] = True
            else:
                types = [m for m in types if "*" not in m]
                if what.may_be_file:
                    wire["open"] = True
            if types := types or ([what.media] if media_types.bare(what.media) not in ("", binary.ANY) else []):
                wire["media"] = types
            if headers := self._headers(encoding.get("headers"), file):
                wire["headers"] = headers
        elif what.is_file:
            wire["file"] = True
        elif style is None and (_is_json(media) or self._documents.object(node, file)[0].get("type") == "object"):
            wire["json"] = True
        return wire

    def _headers(self, declared: Any, file: str) -> dict[str, str]:
        """The headers of a part whose values the document fixes."""
        found: dict[str, str] = {}
        for name, header in list(declared.items())[:20] if isinstance(declared, dict) else ():
            if _HEADER.fullmatch(name) and name.lower() not in ("content-type", "content-disposition"):
                node, home = self._documents.object(header, file)
                value = implied_values.value(self._documents, node.get("schema"), home)
                if value is not None and re.fullmatch(r"[\x20-\x7e]{1,500}", text := wire_text(value)):
                    found[name] = text
        return found


def _is_json(media: Any) -> bool:
    return isinstance(media, str) and "," not in media and "*" not in media and media_types.kind(media) == "json"


def _only_requires(parts: Any) -> bool:
    """Whether alternatives differ only in what they require: keyword arguments can express that."""
    return isinstance(parts, list) and all(
        isinstance(p, dict) and not p.keys() - {"required", "description", "title"} for p in parts
    )
