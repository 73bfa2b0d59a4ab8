"""One operation of a document → one Function."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from doorward import Function

from doorward_openapi import keywords, media_types, parameters, paths, steering, swagger2
from doorward_openapi.bodies import Bodies
from doorward_openapi.keywords import Unusable
from doorward_openapi.refs import BadRef, Documents
from doorward_openapi.schemas import Schemas
from doorward_openapi.text import kind, line, prose
from doorward_openapi.values import encoded

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace", "query")
_READING = {"GET", "HEAD", "OPTIONS", "QUERY", "TRACE"}
_REPEATABLE = _READING | {"PUT", "DELETE"}
_LONGEST_PATH = 2000
_HANDLE = {"artefact": {"type": "string"}, "type": {"type": "string"}, "bytes": {"type": "integer"}, "name": {"type": "string"}}
_RETURNS: dict[str, dict[str, Any]] = {"text": {"type": "string"}, "binary": {"type": "object", "properties": _HANDLE}}
"""What a program gets of answers that are not JSON: text, or the handle of bytes."""


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation where it was found. `file` and `home` are where the path item and the operation stand."""

    method: str
    path: str
    item: Mapping[str, Any]
    node: Any
    file: str
    home: str

    @property
    def route(self) -> str:
        return f"{self.method} {self.path}"

    @property
    def id(self) -> str:
        """The operationId if there is a usable one."""
        given = self.node.get("operationId") if isinstance(self.node, dict) else None
        return given.strip() if isinstance(given, str) and len(given) <= 200 else ""


def operations_of(path: str, item: Mapping[str, Any], file: str) -> Iterator[Operation]:
    """The operations of a path item; those of `additionalOperations` (3.2) included."""
    for method in METHODS:
        if method in item:
            yield Operation(method.upper(), path, item, item[method], file, file)
    more = item.get("additionalOperations")
    for method, node in more.items() if isinstance(more, dict) else ():
        if str(method).lower() not in METHODS:
            yield Operation(str(method), path, item, node, file, file)


class Operations:
    """Makes functions of operations. `configured` are the headers that the operator sets, as `steering.plain` writes them; `withheld` then
    has what documents declare and no program may give: name and place → how many functions have it."""

    def __init__(self, server: str, root: Mapping[str, Any], documents: Documents, schemas: Schemas, configured: Collection[str]) -> None:
        self._server = server
        self._root = root
        self._documents = documents
        self._schemas = schemas
        self._bodies = Bodies(documents, schemas)
        self._configured = configured
        self.withheld: Counter[tuple[str, str]] = Counter()
        self._old = "swagger" in root
        self._parents = _parents(root.get("tags"))
        self._made: dict[tuple[str, int | bytes], keywords.Keyword] = {}

    def function(self, operation: Operation, name: str, base: str | None) -> Function:
        """The function of an operation. `base` is where its requests go, if that is known.

        Raises: Unusable, BadRef.
        """
        method, path = operation.method, operation.path
        if len(path) > _LONGEST_PATH:
            raise Unusable("its path is too long")
        if paths.leads_away(paths.TEMPLATE.sub("x", path.partition("#")[0].partition("?")[0])):
            raise Unusable("its path has a part that is `.` or `..`")
        if not method.isascii() or not method.isalpha() or len(method) > 30:
            raise Unusable(f"{method[:100]!r} is no HTTP method")
        node, file = operation.node, operation.home
        if not isinstance(node, dict):
            raise Unusable(f"it is {kind(node)}, not an object")
        found = parameters.resolved(operation.item, node, operation.file, file, self._documents)
        old = node
        if self._old:
            node, found = swagger2.upgraded(node, found, self._root)
        words = list(parameters.keywords(found, path, self._configured, self._keyword))
        body, plan = self._bodies.keywords(node.get("requestBody"), file, method)
        arguments = keywords.named(self._offered([*words, *body], reads=method in _READING))
        accept, returns = self._answer(old, file)
        data: dict[str, Any] = {"method": method, "path": path, "accept": accept, "arguments": _wires(arguments)}
        if plan:
            data["body"] = plan
        if base:
            data["base"] = base
        return Function(
            server=self._server,
            name=name,
            id=operation.id or operation.route,
            summary=_summary(node),
            description=prose(node.get("description"), 1500),
            parameters=keywords.schema(arguments),
            returns=returns,
            read_only=method in _READING,
            destructive=method == "DELETE",
            idempotent=method in _REPEATABLE,
            deprecated=node.get("deprecated") is True,
            tags=self._tags(node.get("tags")),
            route=operation.route,
            names={argument: k.name for argument, k in arguments.items() if k.name not in ("", argument)},
            open=bool(plan and plan.get("open")),
            data=data,
        )

    def _offered(self, words: list[keywords.Keyword], *, reads: bool) -> Iterator[keywords.Keyword]:
        """The keywords without those that are not a program's to give, which are counted."""
        for word in words:
            if steering.withheld(word.name, word.where, word.schema, reads=reads):
                self.withheld[word.name[:100], "field" if word.where == "body" else word.where] += 1
            else:
                yield word

    def _keyword(self, parameter: dict[str, Any], file: str) -> keywords.Keyword:
        """The keyword of a parameter. Documents repeat them thousands of times: equal ones are made once."""
        key = (file, id(parameter))
        if key not in self._made:
            text = (file, encoded(parameter))
            if text not in self._made:
                upgraded = swagger2.upgraded_parameter(parameter) if self._old else parameter
                self._made[text] = parameters.keyword(upgraded, file, self._schemas)
            self._made[key] = self._made[text]
        return self._made[key]

    def _answer(self, node: Mapping[str, Any], file: str) -> tuple[str, Mapping[str, Any] | None]:
        """What to ask for in `Accept`, and the schema of what comes: the JSON answer of the first status that has
        one, of those that mean success."""
        accept = "application/json, */*;q=0.5"
        returns: dict[str, Any] | None = None
        for response, home in self._successes(node.get("responses"), file):
            if self._old:
                response = swagger2.upgraded_response(response, node, self._root)
            content = media_types.listed(response.get("content"), self._documents, home) if isinstance(response, dict) else []
            for media, entry, place in content:
                form = media_types.kind(media)
                if form == "json" and ("schema" in entry or returns is None):
                    schema = self._schemas.convert(entry["schema"], place) if "schema" in entry else None
                    return (accept if "*" in media else f"{media}, */*;q=0.5"), schema or None
                if returns is None and "*" not in media:
                    accept = f"{media}, */*;q=0.5"
                    form = "text" if media_types.is_text(media) else form
                    returns = self._sequence(entry, place) if form == "lines" else _RETURNS.get(form)
        return accept, returns

    def _tags(self, tags: Any) -> tuple[str, ...]:
        """The tags of an operation, and those above them."""
        found: dict[str, None] = {}
        todo = [tag for tag in tags[:20] if isinstance(tag, str) and tag] if isinstance(tags, list) else []
        for tag in todo:
            if tag not in found and len(found) < 30:
                found[tag] = None
                todo += [self._parents[tag]] if tag in self._parents else []
        return tuple(line(tag, 100) for tag in found)

    def _sequence(self, entry: Mapping[str, Any], file: str) -> dict[str, Any]:
        """What a sequential media type becomes: a list, of what `itemSchema` (3.2) says; before, `schema` was the whole."""
        if "itemSchema" in entry:
            return {"type": "array", "items": self._schemas.convert(entry["itemSchema"], file)}
        whole = self._schemas.convert(entry.get("schema"), file)
        return whole if whole.get("type") == "array" else {"type": "array"}

    def _successes(self, responses: Any, file: str) -> Iterator[tuple[Any, str]]:
        if not isinstance(responses, dict):
            return
        codes = sorted(code for code in responses if len(code) == 3 and code[0] == "2")
        for code in codes or [c for c in ("default",) if c in responses]:  # 2XX sorts after the digits
            try:
                yield self._documents.follow(responses[code], file)
            except BadRef as error:
                if error.outside:
                    raise


def _wires(arguments: Mapping[str, keywords.Keyword]) -> list[dict[str, Any]]:
    return [{"arg": arg, "name": k.name, "in": k.where, **k.wire} for arg, k in arguments.items()]


def _summary(node: Mapping[str, Any]) -> str:
    if summary := line(prose(node.get("summary"), 200), 200):
        return summary
    first = prose(node.get("description"), 600).partition("\n\n")[0]
    return line(first.partition(". ")[0], 200)


def _parents(tags: Any) -> dict[str, str]:
    """Tags that stand below others (3.2), and which."""
    listed = [tag for tag in tags[:5000] if isinstance(tag, dict)] if isinstance(tags, list) else []
    return {t["name"]: t["parent"] for t in listed if isinstance(t.get("name"), str) and isinstance(t.get("parent"), str)}
