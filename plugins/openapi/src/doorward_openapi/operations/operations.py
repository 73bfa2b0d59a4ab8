"""One operation of a document → one Function."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

from doorward import Function
from doorward.values import first_sentence, python_name

from doorward_openapi.document.refs import Documents
from doorward_openapi.document.text import kind, line, prose
from doorward_openapi.document.values import encoded
from doorward_openapi.operations import guessed_deletes, pageable, parameters, swagger2
from doorward_openapi.operations.bodies import Bodies
from doorward_openapi.operations.guessed_reads import GuessedReads
from doorward_openapi.operations.responses import Responses, Success
from doorward_openapi.schemas import implied_values, keywords, media_choice
from doorward_openapi.schemas.keywords import Unusable
from doorward_openapi.schemas.schemas import Schemas
from doorward_openapi.wire import paths, steering

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace", "query")
_READING = {"GET", "HEAD", "OPTIONS", "QUERY", "TRACE"}
_REPEATABLE = {"PUT", "DELETE"}
_MAX_PATH_CHARS = 2000


@dataclass(frozen=True)
class Operation:
    """An operation as it was found. `file` and `home` are the files in which the path item and the operation stand."""

    method: str
    path: str
    item: Mapping[str, Any]
    node: Any
    file: str
    home: str

    @cached_property
    def route(self) -> str:
        return f"{self.method} {self.path}"

    @cached_property
    def id(self) -> str:
        """The operationId, if there is a usable one."""
        given = self.node.get("operationId") if isinstance(self.node, dict) else None
        return given.strip() if isinstance(given, str) and len(given) <= 200 else ""


class Declared(NamedTuple):
    """The path of an operation, without what its parameters say; these, each with its file; their keywords; the body
    that is among the parameters of 2.0."""

    path: str
    parameters: list[tuple[dict[str, Any], str]]
    keywords: list[keywords.Keyword]
    body: Any


class Shape(NamedTuple):
    """What a function takes: its keywords; the names and places of those that are withheld; and what the others make:
    the schema, the plan by which they are sent, and their names in the upstream."""

    keywords: list[keywords.Keyword]
    withheld: list[tuple[str, str]]
    parameters: dict[str, Any]
    wires: list[dict[str, Any]]
    names: dict[str, str]


def operations_of(path: str, item: Mapping[str, Any], file: str) -> Iterator[Operation]:
    """The operations of a path item, including `additionalOperations` (3.2)."""
    for method in METHODS:
        if method in item:
            yield Operation(method.upper(), path, item, item[method], file, file)
    more = item.get("additionalOperations")
    for method, node in more.items() if isinstance(more, dict) else ():
        if str(method).lower() not in METHODS:
            yield Operation(str(method), path, item, node, file, file)


class Operations:
    """Turns operations into functions. `configured` are the places and names of parameters that the operator sets,
    those of headers as `steering.plain` writes them. `withheld` counts the parameters that a document declares but no
    program may give: name and place → number of functions."""

    def __init__(
        self,
        server: str,
        root: Mapping[str, Any],
        documents: Documents,
        schemas: Schemas,
        configured: Collection[tuple[str, str]],
    ) -> None:
        self._server = server
        self._root = root
        self._documents = documents
        self._schemas = schemas
        self._bodies = Bodies(documents, schemas)
        self._responses = Responses(root, documents, schemas)
        self._configured = configured
        self.withheld: Counter[tuple[str, str]] = Counter()
        self._guessed = GuessedReads(root.get("paths"))
        self._old = "swagger" in root
        self._parents = _parents(root.get("tags"))
        self._made: dict[tuple[str, int | bytes], keywords.Keyword] = {}
        self._declared: dict[tuple[str, str, bytes], Declared] = {}
        self._shapes: dict[tuple[int, ...], Shape] = {}

    def function(self, operation: Operation, name: str, base: str | None) -> Function:
        """The function for an operation. `base` is the base URL of its requests, if known.

        Raises: Unusable, BadRef.
        """
        method, path = operation.method, operation.path
        if len(path) > _MAX_PATH_CHARS:
            raise Unusable("its path is too long")
        if paths.leads_away(paths.TEMPLATE.sub("x", path.partition("#")[0].partition("?")[0])):
            raise Unusable("its path has a part that is `.` or `..`")
        if not method.isascii() or not method.isalpha() or len(method) > 30:
            raise Unusable(f"{method[:100]!r} is no HTTP method")
        node, file = operation.node, operation.home
        if not isinstance(node, dict):
            raise Unusable(f"it is {kind(node)}, not an object")
        declared = self._asked(operation)
        path = declared.path if "?" in path else path
        body_node = declared.body if self._old else node.get("requestBody")
        body, plan = self._bodies.keywords(body_node, file, method)
        answer = self._responses.answered(node, file, method)
        accept, choice = self._accept(answer, declared.parameters)
        shape = self._shape([*declared.keywords, *body, *choice], reads=method in _READING)
        for each in shape.withheld:
            self.withheld[each] += 1
        data: dict[str, Any] = {"method": method, "path": path, "accept": accept, "arguments": shape.wires}
        if plan:
            data["body"] = plan
        if method != "HEAD" and (raw := [*([accept] if answer.raw else []), *answer.files]):
            data["raw"] = raw
        if answer.xml:
            data["xml"] = answer.xml
        if base:
            data["base"] = base
        if pages := pageable.plan(node):
            data["pages"] = pages
        deletes = guessed_deletes.deletes(method, path, node)
        reads = method in _READING and not deletes
        return Function(
            server=self._server,
            name=name,
            id=operation.id or operation.route,
            summary=_summary(node, operation.id),
            description=prose(node.get("description"), 1500),
            parameters=shape.parameters,
            returns=answer.returns,
            read_only=reads,
            guessed_read=self._guessed.reads(method, path, node, body, plan),
            destructive=method == "DELETE",
            guessed_destructive=deletes,
            idempotent=reads or method in _REPEATABLE,
            deprecated=node.get("deprecated") is True,
            tags=self._tags(node.get("tags")),
            route=operation.route,
            sends_null=bool(plan and plan.get("spread") and plan["kind"] == "json"),
            headers=tuple(answer.headers),
            names=shape.names,
            open=bool(plan and plan.get("open")),
            data=data,
        )

    def _asked(self, operation: Operation) -> Declared:
        """What an operation declares. Many declare the same, which is read once, but for queries in paths."""
        if "?" in operation.path:
            return self._read(operation)
        names, node = paths.TEMPLATE.findall(operation.path), operation.node
        said = [names, operation.item.get("parameters"), node.get("parameters"), node.get("consumes")]
        key = operation.file, operation.home, encoded(said)
        if key not in self._declared:
            self._declared[key] = self._read(operation)
        return self._declared[key]

    def _read(self, operation: Operation) -> Declared:
        node = operation.node
        found = parameters.resolved(operation.item, node, operation.file, operation.home, self._documents)
        if self._old:
            node, found = swagger2.upgraded(node, found, self._root)
        path, settled = paths.settled(operation.path, {p["name"] for p, _ in found if p["in"] == "query"})
        found = [(p, home) for p, home in found if p["in"] != "query" or p["name"] not in settled]
        words = list(parameters.keywords(found, path, self._configured, self._keyword))
        return Declared(path, found, words, node.get("requestBody") if self._old else None)

    def _shape(self, words: list[keywords.Keyword], *, reads: bool) -> Shape:
        """What keywords make of a function, without those that no program may give. Functions of the same keywords
        share it."""
        key = reads, *map(id, words)
        if key not in self._shapes:
            barred = [word for word in words if steering.withheld(word.name, word.where, word.schema, reads=reads)]
            named = keywords.named(word for word in words if word not in barred)
            names = {argument: k.name for argument, k in named.items() if k.name not in ("", argument)}
            withheld = [(word.name[:100], "field" if word.where == "body" else word.where) for word in barred]
            # keeping the keywords prevents their ids from being reused
            self._shapes[key] = Shape(words, withheld, keywords.schema(named), _wires(named), names)
        return self._shapes[key]

    def _keyword(self, parameter: dict[str, Any], file: str) -> keywords.Keyword:
        """The keyword for a parameter. Documents repeat parameters thousands of times: equal
        ones are converted once."""
        key = (file, id(parameter))
        if key not in self._made:
            text = (file, encoded(parameter))
            if text not in self._made:
                upgraded = swagger2.upgraded_parameter(parameter) if self._old else parameter
                made = parameters.keyword(upgraded, file, self._schemas)
                # A default must not choose what a path names.
                value = (
                    implied_values.value(self._documents, upgraded.get("schema"), file, default=made.where != "path")
                    if made.required
                    else None
                )
                self._made[text] = replace(made, known=value)
            self._made[key] = self._made[text]
        return self._made[key]

    def _accept(
        self, answer: Success, declared: list[tuple[dict[str, Any], str]]
    ) -> tuple[str, list[keywords.Keyword]]:
        """The value of `Accept`, and the argument by which a program chooses it: among the media types that the
        document's own parameter of that name lists, else among those of the answers."""
        if ("header", "accept") in self._configured:
            return answer.accept, []
        listed = [p for p in declared if p[0]["in"] == "header" and p[0]["name"].lower() == "accept"]
        own = next(filter(None, (media_choice.declared(*p, self._documents) for p in listed)), [])
        if len(own) == 1:
            return own[0], []
        accept = own[0] if own and answer.media not in own else answer.accept
        return accept, media_choice.keyword("Accept", own or answer.offered, "media type of the answer")

    def _tags(self, tags: Any) -> tuple[str, ...]:
        """The tags of an operation, and their parents."""
        found: dict[str, None] = {}
        todo = [tag for tag in tags[:20] if isinstance(tag, str) and tag] if isinstance(tags, list) else []
        for tag in todo:
            if tag not in found and len(found) < 30:
                found[tag] = None
                todo += [self._parents[tag]] if tag in self._parents else []
        return tuple(line(tag, 100) for tag in found)


def _wires(arguments: Mapping[str, keywords.Keyword]) -> list[dict[str, Any]]:
    def wire(keyword: keywords.Keyword) -> dict[str, Any]:
        return {
            "name": keyword.name,
            "in": keyword.where,
            **keyword.wire,
            **({} if keyword.known is None else {"known": keyword.known}),
        }

    return [{"arg": arg, **wire(keyword)} for arg, keyword in arguments.items()]


def _summary(node: Mapping[str, Any], id: str) -> str:
    """The summary; the first sentence of the description where there is none, or one that was made of the name, as
    FastAPI does: `Read Item` for `read_item_items__id__get`."""
    summary = line(prose(node.get("summary"), 200), 200)
    if summary and python_name(summary).strip("_") not in python_name(id):
        return summary
    first = prose(node.get("description"), 600).partition("\n\n")[0]
    sentence, rest = first_sentence(first)
    return line(sentence.removesuffix(".") if rest else sentence, 200) or summary


def _parents(tags: Any) -> dict[str, str]:
    """The parent of each tag that has one (3.2)."""
    listed = [tag for tag in tags[:5000] if isinstance(tag, dict)] if isinstance(tags, list) else []
    return {
        t["name"]: t["parent"] for t in listed if isinstance(t.get("name"), str) and isinstance(t.get("parent"), str)
    }
