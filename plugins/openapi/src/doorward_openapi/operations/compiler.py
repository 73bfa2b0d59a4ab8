"""A whole document → Compiled: every operation becomes a function, or is skipped with a reason."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlsplit

from doorward import Compiled, ConfigError, Function, Skipped
from doorward_http import not_public_name

from doorward_openapi.document import overlay, servers
from doorward_openapi.document.document import gc_paused
from doorward_openapi.document.refs import BadRef, Bundle, Documents
from doorward_openapi.document.text import kind, prose
from doorward_openapi.operations import pageable, routes
from doorward_openapi.operations.function_names import function_names
from doorward_openapi.operations.operations import Operation, Operations, operations_of
from doorward_openapi.schemas.keywords import Unusable
from doorward_openapi.schemas.schemas import Schemas
from doorward_openapi.security.schemes import Home
from doorward_openapi.security.security import Security
from doorward_openapi.wire import steering

MAX_OPERATIONS = 50_000
MAX_KEYWORDS = 500_000
"""Arguments of all functions together: a small document can multiply them by references."""

_MAX_WARNING_KINDS = 50
_MAX_ALIKE_WARNINGS = 5
_VARYING_TEXT = re.compile(r"'[^']*'|[a-z]+://[^\s,]*|\b[A-Z]+ /\S*|\d+")
"""The parts in which similar warnings differ."""

_KNOWN = re.compile(r"openapi 3\.[0-2]|openapi 3$|swagger 2")
"""Versions that are supported, as `_version` writes them."""


@dataclass(frozen=True, slots=True)
class Choices:
    """The operator's settings for a document: the API's base URL, the names of the headers that are set, other origins
    that belong to the API, values of server variables, overlays (bytes by URI), the origin of an API that is reached
    over a Unix socket, whatever its document says, and the places and names of the parameters that the auth sends."""

    base_url: str | None = None
    headers: Collection[str] = ()
    origins: Collection[str] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    overlays: Mapping[str, bytes] = field(default_factory=dict)
    local: str | None = None
    filled: Collection[tuple[str, str]] = ()


def compile_document(server: str, bundle: Bundle, choices: Choices | None = None) -> Compiled:
    """All functions of a document.

    Raises: ConfigError if it is not an OpenAPI document, or if a server variable has a value that is not allowed.
    """
    with gc_paused():
        return _Compiler(server, bundle, choices or Choices()).run()


class _Compiler:
    def __init__(self, server: str, bundle: Bundle, choices: Choices) -> None:
        self._warnings: list[str] = []
        if choices.overlays:
            bundle, self._warnings = overlay.applied(bundle, choices.overlays)
        self._server = server
        self._documents = Documents(bundle)
        self._schemas = Schemas(self._documents)
        self._root = _root(self._documents)
        self._url = bundle.root
        self._choices = choices
        configured = {*choices.filled, *(("header", name) for name in choices.headers)}
        self._operations = Operations(
            server,
            self._root,
            self._documents,
            self._schemas,
            {(place, steering.plain(name) if place == "header" else name) for place, name in configured},
        )
        self._variables = servers.Variables(choices.variables)
        named, local = servers.root_base(self._root, choices.local or bundle.root, self._variables), choices.local
        self._base = choices.base_url or (f"{local}{urlsplit(named or local).path}" if local else named)
        self._elsewhere: Counter[str] = Counter()
        self._keywords = 0
        self._skipped: list[Skipped] = []

    def run(self) -> Compiled:
        found = self._found()
        self._base = self._base or self._first_base(found)
        names, twice = function_names(found)
        self._warnings += twice
        functions = [f for operation, name in zip(found, names, strict=True) if (f := self._function(operation, name))]
        self._schemas.finish()
        if self._schemas.unusable:
            functions = self._usable(functions)
        functions = pageable.joined(functions)
        security = self._security(found)
        self._warn(functions)
        info = self._root.get("info")
        about = prose(info.get("description"), 1500) or prose(info.get("title"), 200) if isinstance(info, dict) else ""
        bases = {self._base, *(f.data.get("base") for f in functions)}
        table = routes.listed(found, functions, bases)
        definitions = {**self._schemas.definitions, **({routes.NAME: table} if table else {})}
        return Compiled(
            functions, definitions, self._skipped, self._warnings, about, security.closed, security.suggestions()
        )

    def _found(self) -> list[Operation]:
        """All operations under `paths`."""
        found: list[Operation] = []
        for operation in self._walk():
            if len(found) == MAX_OPERATIONS:
                self._skip("paths", f"there are more than {MAX_OPERATIONS} operations; the others are left out")
                break
            found.append(operation)
        return found

    def _walk(self) -> Iterator[Operation]:
        for path, entry in [*self._paths("paths"), *self._paths("x-ms-paths")]:
            if path.startswith("x-"):
                continue
            try:
                item, file = self._item(entry)
            except BadRef as error:
                self._skip(path, str(error))
                continue
            if not isinstance(item, dict):
                self._skip(path, f"is {kind(item)}, not an object")
                continue
            for operation in operations_of(path if path.startswith("/") else f"/{path}", item, file):
                try:
                    node, home = self._documents.follow(
                        operation.node, file
                    )  # an operation may be in a file of its own
                except BadRef as error:
                    self._skip(operation.route, str(error))
                    continue
                yield operation if node is operation.node else replace(operation, node=node, home=home)

    def _paths(self, key: str) -> Iterable[tuple[str, Any]]:
        """The entries of `paths`, or of Azure's `x-ms-paths`, whose keys differ in their queries."""
        paths = self._root.get(key)
        if paths is not None and not isinstance(paths, dict):
            self._skip(key, f"is {kind(paths)}, not an object")
        return paths.items() if isinstance(paths, dict) else ()

    def _item(self, entry: Any) -> tuple[Any, str]:
        """A path item; members beside its `$ref` count as well (3.x section "Path Item Object")."""
        item, file = self._documents.follow(entry, self._url)
        if isinstance(entry, dict) and len(entry) > 1 and "$ref" in entry and isinstance(item, dict):
            item = {**item, **{k: v for k, v in entry.items() if k != "$ref"}}
        return item, file

    def _first_base(self, found: list[Operation]) -> str | None:
        """The base URL if the document itself names none: the one that most operations name, else the place that the
        document came from."""
        named = Counter(url for operation in found if (url := self._own(operation, "")))
        hosts: Counter[str] = Counter()
        for url, count in named.items():
            hosts[servers.origin_of(url)] += count
        for host, _ in hosts.most_common(1):
            return next(url for url, _ in named.most_common() if servers.origin_of(url) == host)
        return servers.clean("/", self._url) if self._url.startswith("http") else None

    def _security(self, found: list[Operation]) -> Security:
        """The credentials that the operations need. A downloaded document does not decide who may receive secrets: that
        is the API that the operator configured, or the place that the document came from."""
        choices, own = self._choices, self._url if self._url.startswith("http") else self._base
        home = Home(
            self._base or "",
            [url for url in (choices.base_url or own, *choices.origins) if url],
            bool(choices.base_url),
        )
        security = Security(self._server, self._root, self._documents, home, {h.lower() for h in choices.headers})
        for operation in found:
            security.add(operation.node)
        self._warnings += security.warnings()
        return security

    def _function(self, operation: Operation, name: str) -> Function | None:
        if self._keywords > MAX_KEYWORDS:
            self._skip(operation.route, "the document has too many parameters altogether")
            return None
        try:
            function = self._operations.function(operation, name, self._where(operation))
        except (Unusable, BadRef, ConfigError) as error:
            self._skip(operation.route, str(error))
            return None
        except Exception as error:  # whatever a document holds, it costs one operation only
            self._skip(operation.route, f"it cannot be understood ({type(error).__name__}: {str(error)[:200]})")
            return None
        self._keywords += len(function.parameters["properties"])
        return function

    def _where(self, operation: Operation) -> str | None:
        """The base URL of an operation. A URL that a path or an operation names is used only if it has the API's
        origin, or one that the operator named: a document must not send credentials elsewhere."""
        if own := self._own(operation, self._base or ""):
            if servers.among(own, (self._base, *self._choices.origins)):
                return own
            self._elsewhere[servers.shown(own)] += 1
        return None if self._choices.base_url else self._base

    def _own(self, operation: Operation, base: str) -> str | None:
        """The base URL that an operation or its path names; relative ones are resolved against `base`."""
        holders = (operation.node, operation.item)
        return next((url for holder in holders for url in servers.base_urls(holder, base, self._variables)), None)

    def _usable(self, functions: list[Function]) -> list[Function]:
        """The functions, without those whose schemas refer to something outside the document, directly or not."""
        bad = dict(self._schemas.unusable)
        users: dict[str, set[str]] = {}
        for name, schema in self._schemas.definitions.items():
            for used in _used(schema):
                users.setdefault(used, set()).add(name)
        todo = list(bad)
        while todo:
            name = todo.pop()
            for user in users.get(name, ()):
                if user not in bad:
                    bad[user] = bad[name]
                    todo.append(user)
        kept = []
        for function in functions:
            why = next((bad[used] for used in _used([function.parameters, function.returns]) if used in bad), None)
            if why:
                self._skip(function.route, why)
            else:
                kept.append(function)
        return kept

    def _of_the_document(self) -> bool:
        """Whether a downloaded document decides where calls go."""
        return not (self._choices.base_url or self._choices.local) and self._url.startswith("http")

    def _unreachable(self, base: str) -> str:
        """The kind of address, as `not_public` words it, if a local document names a host to which only the
        configuration may send requests; otherwise ""."""
        choices = self._choices
        free = choices.base_url or choices.local or servers.among(base, (self._url, *choices.origins))
        return "" if free else not_public_name(servers.origin(base)[1])

    def _skip(self, where: str, why: str) -> None:
        self._skipped.append(Skipped(where[:300], why[:500]))

    def _warn(self, functions: list[Function]) -> None:
        """Collect what the operator should know: first where calls go, then a few warnings of each kind."""
        where = []
        base, place = servers.shown(self._base or ""), f"[servers.{self._server}]"
        line = f'base_url = "{base}"'
        if functions and not self._base:
            where.append(f'the document names no server, so no call can be made: add base_url = "https://…" to {place}')
        elif self._base and self._of_the_document() and not servers.same_origin(self._base, self._url):
            where.append(f"calls go to {base}, which the document names; to be sure of it, add {line} to {place}")
        elif self._base and (what := self._unreachable(self._base)):
            named = f"the document names {base}, {what} address"
            where.append(f"{named}; if the API is there, add {line} to {place}, or no call can be made")
        for url, count in self._elsewhere.items():
            named = (
                f"{count} of {len(functions)} operations name{'s' * (count == 1)} the server {url}, of another origin"
            )
            where.append(f"{named}; calls go to {base} instead")
        if origins := ", ".join(f'"{each}"' for each in dict.fromkeys(map(servers.origin_of, self._elsewhere))):
            line = f"{origins} to the origins of" if self._choices.origins else f"origins = [{origins}] to"
            where.append(f"if that belongs to the API, add {line} {place}")
        for (name, part), count in self._operations.withheld.items():
            has = f"{count} operation{'s have' if count > 1 else ' has'} the {part} {name!r}"
            remedy = "; set it in `headers` if it is needed" if part == "header" else ""
            where.append(f"{has}, which programs cannot give: servers take it for the request itself{remedy}")
        where += [f"variables: no server of the document has {name!r}" for name in sorted(self._variables.unused)]
        if not functions and not self._skipped:
            where.append("the document has no operations")
        if not _KNOWN.match(said := _version(self._root)):
            where.append(f"the document says {said}, which is not known; it is read like the versions that are")
        kinds: dict[str, list[str]] = {}
        for warning in [*where, *self._warnings, *self._schemas.warnings]:
            kinds.setdefault(_VARYING_TEXT.sub("…", warning), []).append(warning)
        self._warnings = []
        for alike in list(kinds.values())[:_MAX_WARNING_KINDS]:
            more = len(alike) - _MAX_ALIKE_WARNINGS
            self._warnings += alike[:_MAX_ALIKE_WARNINGS]
            if more > 0:
                self._warnings.append(f"… and {more} more: {_VARYING_TEXT.sub('…', alike[0])}")


def _root(documents: Documents) -> dict[str, Any]:
    root = documents.parsed(documents.bundle.root)
    name = servers.file_name(documents.bundle.root)
    if not isinstance(root, dict) or not any(
        isinstance(root.get(k), (str, float, int)) for k in ("openapi", "swagger")
    ):
        hint = "Is that the document itself, and not a page about it?"
        raise ConfigError("is no OpenAPI document: it has neither `openapi` nor `swagger`", place=name, hint=hint)
    return root


def _version(root: Mapping[str, Any]) -> str:
    key = "openapi" if "openapi" in root else "swagger"
    return f"{key} {str(root[key])[:20]}"


def _used(schema: Any) -> Iterator[str]:
    """The names of the definitions to which a schema refers."""
    todo = [schema]
    while todo:
        node = todo.pop()
        if isinstance(node, Mapping):
            if isinstance(ref := node.get("$ref"), str):
                yield ref.removeprefix("#/$defs/")
            todo.extend(node.values())
        elif isinstance(node, list):
            todo.extend(node)
