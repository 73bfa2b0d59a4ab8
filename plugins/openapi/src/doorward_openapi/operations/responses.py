"""The answers of an operation: the media types to ask for, the schema of the value, and the headers."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from doorward_openapi.document.refs import BadRef, Documents
from doorward_openapi.document.values import encoded
from doorward_openapi.operations import response_headers, swagger2
from doorward_openapi.schemas import media_choice
from doorward_openapi.schemas.schemas import Schemas
from doorward_openapi.wire import media_types
from doorward_openapi.wire.xml import Plans

_MAX_OTHER_MEDIA_TYPES = 5
"""Media types of other responses that `Accept` lists as well."""

_HANDLE = {
    "artefact": {"type": "string"},
    "type": {"type": "string"},
    "bytes": {"type": "integer"},
    "name": {"type": "string"},
}
_RETURNS: dict[str, dict[str, Any]] = {"text": {"type": "string"}, "binary": {"type": "object", "properties": _HANDLE}}
"""What a program gets from answers that are not JSON: text, or the handle of a file."""


@dataclass(frozen=True, slots=True)
class Success:
    """The successful answer: its media type and schema, all media types that it may have, whether that is bytes,
    whatever comes (`raw`), which of the media types are (`files`), the plan by which XML is read, and the names of its
    headers. `accept` is the value of the Accept header."""

    media: str = ""
    returns: Mapping[str, Any] | None = None
    offered: Sequence[str] = ()
    raw: bool = False
    files: Sequence[str] = ()
    xml: Mapping[str, Any] | None = None
    headers: Sequence[str] = ()
    accept: str = "application/json, */*;q=0.5"


class Responses:
    """Reads the responses that a document declares for its operations."""

    def __init__(self, root: Mapping[str, Any], documents: Documents, schemas: Schemas) -> None:
        self._root = root
        self._documents = documents
        self._schemas = schemas
        self._known: dict[tuple[str, str, bytes], Success] = {}
        self._types: dict[tuple[str, ...], list[str]] = {}

    def answered(self, node: Mapping[str, Any], file: str, method: str) -> Success:
        """The successful answer of an operation. Equal responses, of which documents have many, are read once.

        Raises: BadRef if it refers outside of the document.
        """
        key = file, method, encoded([node.get("responses"), node.get("produces")])
        if key not in self._known:
            self._known[key] = self._answered(node, file, method)
        return self._known[key]

    def _answered(self, node: Mapping[str, Any], file: str, method: str) -> Success:
        found = dict(self._successes(node, file))
        answer = self._returned(node, found.values())
        returns, accept = answer.returns, answer.accept
        if not any(response.keys() & {"content", "schema"} for response, _ in found.values()):
            returns = response_headers.schema(method, {code: response for code, (response, _) in found.items()})
        if answer.media:
            # No `*/*` beside what the document names: Rails, ASP.NET and others then send whatever they like.
            others = [f"{other};q=0.5" for other in self._others(answer.media, node, file)]
            accept = ", ".join([answer.media, *others])
        headers = response_headers.declared(response for response, _ in found.values())
        return replace(answer, returns=returns, accept=accept, headers=headers)

    def _successes(self, node: Mapping[str, Any], file: str) -> Iterator[tuple[str, tuple[dict[str, Any], str]]]:
        """The responses that mean success: status, and response with the file in which it stands."""
        responses: Any = node.get("responses")
        for code in _codes(responses):
            response, home = self._documents.object(responses[code], file)
            if response:
                yield code, (response, home)

    def _returned(self, node: Mapping[str, Any], responses: Iterable[tuple[dict[str, Any], str]]) -> Success:
        """The JSON answer of the first status that has one, else the first other answer."""
        found = Success()
        for response, home in responses:
            content = self._content(response, home, node)
            for media, entry, place in content:
                form = media_types.kind(media)
                named = "" if "*" in media else media
                raw = self._is_raw(media, entry.get("schema"), place)
                if form == "json" and ("schema" in entry or found.returns is None):
                    schema = self._schemas.convert(entry["schema"], place) if "schema" in entry and not raw else None
                    return self._success(named, _RETURNS["binary"] if raw else schema or None, content, raw=raw)
                if found.returns is None and named:
                    form = "binary" if raw else "text" if media_types.is_text(media) else form
                    returns = self._sequence(entry, place) if form == "lines" else _RETURNS.get(form)
                    success = self._success(media, returns, content, raw=raw)
                    if form == "text" and media_types.is_xml(media):
                        success = self._read_by_schema(success, entry, place)
                    found = replace(success, offered=found.offered, files=found.files) if found.offered else success
        return found

    def _success(self, media: str, returns: Any, content: media_choice.Listed, *, raw: bool) -> Success:
        offered = media_choice.for_answer(content, self._schemas.binaries)
        files = [one for one, entry, home in content if one in offered and self._is_raw(one, entry.get("schema"), home)]
        return Success(media, returns, offered, raw=raw, files=files)

    def _read_by_schema(self, success: Success, entry: Mapping[str, Any], place: str) -> Success:
        """An answer of XML whose schema says what is in it, as what it says."""
        plan = Plans(self._documents, reads=True).plan(entry.get("schema"), place)
        return replace(success, returns=self._schemas.convert(entry["schema"], place), xml=plan) if plan else success

    def _is_raw(self, media: str, schema: Any, file: str) -> bool:
        """Whether the document says that an answer of this media type is bytes."""
        what, form = self._schemas.binaries.found(schema, file), media_types.kind(media)
        if form == "json":
            return what.is_raw
        if what.is_file and what.one and not what.many:
            return True
        is_bytes = form == "binary" and not media_types.is_text(media)
        return is_bytes and (what.may_be_file or media_types.is_upload(media))

    def _others(self, media: str, node: Mapping[str, Any], file: str) -> list[str]:
        """The media types of other responses, mostly errors, that cannot come as `media`; any type at
        all if JSON may be a file."""
        found: dict[str, None] = {}
        responses = node.get("responses")
        for response in responses.values() if isinstance(responses, dict) else ():
            with contextlib.suppress(BadRef):
                types = [one for one, _, _ in self._content(*self._documents.follow(response, file), node)]
                if types and media not in types:
                    found[types[0]] = None
                elif media_types.kind(media) == "json" and any(media_types.kind(one) == "binary" for one in types):
                    found["*/*"] = None
        return list(found)[:_MAX_OTHER_MEDIA_TYPES]

    def _content(self, response: Any, home: str, node: Mapping[str, Any]) -> list[tuple[str, dict[str, Any], str]]:
        """The media types of a response."""
        if not isinstance(response, dict):
            return []
        if "swagger" in self._root and "schema" in response:  # it stands under each type that the operation produces
            entry = {"schema": response["schema"]}
            return [(media, entry, home) for media in self._produced(node)]
        return media_types.listed(response.get("content"), self._documents, home)

    def _produced(self, node: Mapping[str, Any]) -> Sequence[str]:
        """The media types that a 2.0 operation produces."""
        named = tuple(swagger2.named_media(node, self._root, "produces") or ["application/json"])
        if named not in self._types:
            listed = media_types.listed(dict.fromkeys(named), self._documents, "")
            self._types[named] = [media for media, *_ in listed]
        return self._types[named]

    def _sequence(self, entry: Mapping[str, Any], file: str) -> dict[str, Any]:
        """The schema of a sequential media type: a list of `itemSchema` (3.2). Before 3.2,
        `schema` described the whole."""
        if "itemSchema" in entry:
            return {"type": "array", "items": self._schemas.convert(entry["itemSchema"], file)}
        whole = self._schemas.convert(entry.get("schema"), file)
        return whole if whole.get("type") == "array" else {"type": "array"}


def _codes(responses: Any) -> list[str]:
    """The status codes that mean success."""
    if not isinstance(responses, dict):
        return []
    codes = sorted(code for code in responses if len(code) == 3 and code[0] == "2")
    return codes or [c for c in ("default",) if c in responses]  # 2XX sorts after the digits
