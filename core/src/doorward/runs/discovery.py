"""Lists, searches and describes functions, for the MCP tools, the CLI and programs (`import doorward`)."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from doorward.catalog.allowed_functions import AllowedFunctions
from doorward.catalog.notes import MAX_CARD_CHARS, MAX_FULL_CHARS
from doorward.catalog.schemas import Definitions
from doorward.catalog.texts import PARAMETERS
from doorward.config.config import module_name
from doorward.data.cursors import cursor_at, offset_of, page
from doorward.data.languages import PYTHON, comment_mark
from doorward.data.quoting import in_a_line
from doorward.data.wording import clean
from doorward.model.calls import effect
from doorward.model.errors import DoorwardError, InvalidArguments, UnknownName
from doorward.model.functions import Function
from doorward.model.names import some
from doorward.model.programs import Program
from doorward.model.search import Found, Search
from doorward.runs.helper_context import HELPING, MODULE, UNTOLD

if TYPE_CHECKING:
    from doorward.access.policy import Policy
    from doorward.calls.broker import Broker
    from doorward.catalog.allowed_functions import AllowedNames
    from doorward.catalog.catalog import Catalog
    from doorward.model.search import Hit, SearchEngine
    from doorward.model.services import Services
    from doorward.servers.registry import Servers

_MAX_NAMES = 40
"""Function names in the description of a server."""

FEW_SERVERS = 20
"""A list of more servers says less about each."""

FIRST_NAMES, FIRST_NAMES_OF_MANY = 10, 3
"""Names of functions shown with a server in a list of few, and of many."""

ABOUT_CHARS, ABOUT_CHARS_OF_MANY = 200, 80
"""Characters of the description that a server gives of itself, likewise."""

_ERROR_CHARS = 1000
"""Characters of a server's error."""


class ServerList:
    """Views of servers, bounded in size. `allowed` answers the names of the functions of a server that a principal may
    call, or `None` for all."""

    def __init__(self, catalog: Catalog, servers: Servers, allowed: AllowedNames) -> None:
        self._catalog, self._servers, self._allowed = catalog, servers, allowed

    async def listed(
        self, principal: str, *, limit: int | None, cursor: str | None, within: tuple[str, ...] | None
    ) -> dict[str, Any]:
        """See `Discovery.servers`."""
        usable = ((module, None) for module in self._servers.usable_by(principal))
        whole: list[tuple[str, DoorwardError | None]] = [*usable, *self._servers.wrong(principal).items()]
        shown, following = page(whole, limit, cursor)
        few = len(whole) <= FEW_SERVERS
        answer: dict[str, Any] = {
            "servers": [
                _broken(name, error) if error else self._server(name, few, await self._allowed(name, principal, within))
                for name, error in shown
            ]
        }
        return answer | ({"total": len(whole), "cursor": following} if following else {})

    def _server(self, module: str, few: bool, allowed: Sequence[str] | None) -> dict[str, Any]:
        report, most = self._catalog.report(module), FIRST_NAMES if few else FIRST_NAMES_OF_MANY
        first = self._catalog.first(module, most) if allowed is None else allowed[:most]
        count = len(allowed) if allowed is not None else report.functions if report else 0
        shown = {"name": module, "functions": count, "first": [*first]}
        shown |= {} if report else {"note": "not compiled yet"}
        if error := self._servers.outdated.get(self._servers.modules[module]):
            shown["note"] = f"as compiled before: {error}"[:_ERROR_CHARS]
        about = clean(report.description, ABOUT_CHARS if few else ABOUT_CHARS_OF_MANY) if report else ""
        return shown | ({"about": about} if about else {})

    async def described(
        self, module: str, principal: str, language: str, within: tuple[str, ...] | None
    ) -> dict[str, Any]:
        """One server in full: `{"function", "text"}`."""
        allowed, report = await self._allowed(module, principal, within), self._catalog.report(module)
        names = self._catalog.names(module) if allowed is None else allowed
        listed = ", ".join(names[:_MAX_NAMES]) + (
            f" and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else ""
        )
        lines = [f"{module}: {report.description[:1000]}" if report and report.description else module]
        lines += [f"{len(names)} functions: {listed or 'none'}"]
        lines += (
            [f"It works in the folder {cwd}"]
            if (cwd := self._servers.cwd(module, principal)) and cwd not in lines[0]
            else []
        )
        written = self._catalog.texts.imported(module, "", language)
        lines += [f"Write `{written}`."] if written else []
        return {"function": module, "text": "\n".join(lines)}


def _broken(name: str, error: DoorwardError) -> dict[str, Any]:
    return {"name": name, "functions": 0, "broken": told(error)}


def told(error: DoorwardError) -> str:
    """The error of a server in one line."""
    return in_a_line(error)[:_ERROR_CHARS]


class Hits:
    """The hits of a catalog's functions."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def shown(self, hit: Hit, *, numbered: bool) -> dict[str, Any]:
        """`{"function", "summary", …}`; what is not so is left out. `numbered`: several questions were asked."""
        function = hit.function
        summary = " ".join((function.summary or function.description)[:400].split())[:160]
        more: dict[str, Any] = {
            "answers": [*hit.answers] if numbered else [],
            "read_only": effect(function) == "read",
            "destructive": effect(function) == "destructive",
            "needs": {parameter: [*names] for parameter, names in hit.needs.items()},
            "gives": self._gives(function),
            "deprecated": function.deprecated,
            "matched": [*hit.matched],
        }
        told = {key: value for key, value in more.items() if value}
        return {"function": function.qualified, "summary": self._catalog.notes.summary(function) or summary, **told}

    def _gives(self, function: Function) -> str:
        seen = self._catalog.notes.result(function)
        returns = seen.schema if seen else function.returns
        definitions = partial(self._catalog.definition, function.server)
        return self._catalog.texts.gives(returns, definitions) if returns is not None else ""


MAX_DESCRIBED = 5
"""Functions that `get_functions` describes in one answer."""

MAX_QUERIES = 10
"""Questions in one search."""

MAX_SOURCES, MAX_OFTEN_WITH = 3, 3
"""Functions that a card names for one argument, and beside a function."""


class Discovery:
    """Read-only views of the catalog, bounded in size however large it is."""

    def __init__(
        self,
        catalog: Catalog,
        servers: Servers,
        broker: Broker,
        services: Services,
        policy: Policy,
        engine: Callable[[], SearchEngine],
    ) -> None:
        """`engine` returns what finds functions."""
        self._catalog = catalog
        self._servers = servers
        self._broker = broker
        self._services = services
        self.policy, self._engine = policy, engine
        self._allowed = AllowedFunctions(catalog, policy)
        self.hits = Hits(catalog)
        self._list = ServerList(catalog, servers, self.allowed)

    async def servers(
        self,
        principal: str,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        within: tuple[str, ...] | None = None,
    ) -> dict[str, Any]:
        """`{"servers": [{"name", "functions", "first", …}]}`: all servers of a principal, or a page of `limit`, with
        `"total"` and `"cursor"` if there are more. A server has the count and the first names of the functions that
        the principal may call, in a run narrowed by `within`; or its error.

        Raises: InvalidArguments for an invalid cursor.
        """
        return await self._list.listed(principal, limit=limit, cursor=cursor, within=within)

    async def allowed(self, server: str, principal: str, within: tuple[str, ...] | None = None) -> Sequence[str] | None:
        """The names of the functions of a server that a principal may call, in a run narrowed by `within`; `None` if
        it may call all of them, which is known without a look at any."""
        if within is None and self.policy.scope(principal) is None:
            return None
        return await self._allowed.names(server, principal, within)

    async def find(
        self,
        queries: Sequence[str],
        principal: str,
        *,
        server: str | None = None,
        read_only: bool | None = None,
        limit: int = 10,
        offset: int = 0,
        explain: bool = False,
        within: tuple[str, ...] | None = None,
    ) -> Found:
        """What fits any of the queries, of what a principal may call, in a run narrowed by `within`. `server` is the
        module of the only one to look at.

        Raises: InvalidArguments for too many queries.
        """
        if len(queries) > MAX_QUERIES:
            raise InvalidArguments(f"{len(queries)} queries; at most {MAX_QUERIES} in one search")
        usable = self._servers.names(principal)
        allowed = await self._allowed.of(usable, principal, within)
        asked = [server] if server is not None else usable
        return await self._engine().find(
            Search(queries, principal, usable, asked, allowed, read_only, limit, offset, explain)
        )

    async def search(
        self,
        query: str = "",
        *,
        principal: str,
        queries: Sequence[str] = (),
        server: str | None = None,
        read_only: bool | None = None,
        limit: int = 10,
        cursor: str | None = None,
        explain: bool = False,
        within: tuple[str, ...] | None = None,
    ) -> dict[str, Any]:
        """`{"functions": [{"function", "summary", …}], "total": N, "well": N, "cursor": …}`, best first, of what policy
        allows: how many fit in all, and how many of them well. `limit` is at least the number of questions.
        With several `queries`, a hit says by number which of them it `answers`. `explain`: why it was found. Where
        nothing is, `near` may name something.

        Raises: InvalidArguments for an invalid cursor, or too many queries; UnknownName for an unknown server.
        """
        asked = [*dict.fromkeys(map(str, filter(None, [query, *queries])))] or [""]
        only = None if server is None else self.module(server, principal)
        limit, offset = max(len(asked), min(limit, 50)), offset_of(cursor)  # each question has its best function
        how: dict[str, Any] = {"limit": limit, "offset": offset, "explain": explain, "within": within}
        found = await self.find(asked, principal, server=only, read_only=read_only, **how)
        shown = [self.hits.shown(hit, numbered=len(asked) > 1) for hit in found.hits]
        if self.policy.decides:
            for hit, said in zip(found.hits, shown, strict=True):
                said |= {"confirm": True} if self.policy.told(hit.function, principal) else {}
        answer: dict[str, Any] = {"functions": shown, "total": found.total, "well": found.well}
        answer |= {"near": [*found.near]} if found.near else {}
        if offset + len(shown) < found.total:
            answer["cursor"] = cursor_at(offset + len(shown))
        return answer

    async def describe(
        self, names: Sequence[str], principal: str, language: str = PYTHON, within: tuple[str, ...] | None = None
    ) -> list[dict[str, Any]]:
        """One to five functions in full, as programs of a language declare them: `{"function", "import", "signature",
        "text"}`, or `{"function", "error"}`, as for one that may not be called, by policy or because the run is
        narrowed by `within`. A name like `github.issues_create#Issue` asks for one class of a function's types in
        full: `{"function", "text"}`; the name of a server asks for a description of it.

        Raises: InvalidArguments for none or more than five.
        """
        if not 1 <= len(names) <= MAX_DESCRIBED:
            raise InvalidArguments(
                f"one to {MAX_DESCRIBED} functions at a time, got {len(names)}",
                hint='For example ["github.issues_create"].',
            )
        asker = Program("", principal=principal, language=language, functions=within)
        return [await self._card(str(name), asker) for name in names]

    async def _card(self, name: str, asker: Program) -> dict[str, Any]:
        try:
            function = self.callable(name, asker)
        except UnknownName as error:
            if part := self._helper(name, asker) or self._part(name, asker):
                return part
            if server := self._server_named(name, asker.principal):
                return await self._list.described(server, asker.principal, asker.language, asker.functions)
            return {"function": name[:200], "error": in_a_line(error)}
        except DoorwardError as error:
            return {"function": name[:200], "error": in_a_line(error)}
        definitions, seen, language = (
            self.definitions(function.server),
            self._catalog.notes.result(function),
            asker.language,
        )
        texts = self._catalog.texts
        return {
            "function": function.qualified,
            "import": texts.imported(function.server, function.name, language),
            "signature": texts.signature(function, definitions, language, seen),
            "text": texts.card(function, definitions, language, seen)
            + self._told(function, asker)
            + await self._related(function, asker)
            + self._catalog.notes.card(function, language, MAX_CARD_CHARS),
        }

    def _told(self, function: Function, asker: Program) -> str:
        """What policy says of a function that may be called, as a comment at the end of a card."""
        text = self.policy.told(function, asker.principal) if self.policy.decides else ""
        return f"\n{comment_mark(asker.language)} {text}" if text else ""

    async def _related(self, function: Function, asker: Program) -> str:
        """The functions that give what it needs, and those that are often called beside it, as comments at the end of a
        card."""
        related = await self._engine().related(function, asker.principal)
        mark = comment_mark(asker.language)
        fields: dict[str, list[str]] = {}
        for given in related.given:
            told = fields.setdefault(given.parameter, [])
            if len(told) < MAX_SOURCES and self._lets(asker, given.producer):
                told.append(f"`{given.field}` of {given.producer.removeprefix(f'{function.server}.')}")
        lines = [f"{parameter}: {' or '.join(told)}" for parameter, told in fields.items() if told]
        often = islice((name for name in related.often_with if self._lets(asker, name)), MAX_OFTEN_WITH)
        lines += [f"often with: {', '.join(names)}"] if (names := [*often]) else []
        return "".join(f"\n{mark} {line}" for line in lines)

    def _helper(self, name: str, asker: Program) -> dict[str, Any] | None:
        """The card of `doorward` or one of its helpers; `None` if this is the name of neither."""
        if name.partition(".")[0] != MODULE:
            return None
        return (self._services.get(HELPING) or UNTOLD).card(name, asker)

    def callable(self, name: str, asker: Program) -> Function:
        """The function that a name means, if it may be called. Raises: as a call would."""
        function = self._broker.functions.find(name, asker.principal)
        self._broker.permissions.check(asker, function)
        return function

    def _lets(self, asker: Program, qualified: str) -> bool:
        """Whether a function that others are told of may be called: nobody is sent to one that may not."""
        try:
            self.callable(qualified, asker)
        except DoorwardError:
            return False
        return True

    def _part(self, name: str, asker: Program) -> dict[str, Any] | None:
        """The answer for `server.function#Class`: one class of a function's types in full."""
        name, mark, asked = name.rpartition("#")
        language = asker.language
        try:
            function = self.callable(name, asker) if mark else None
        except UnknownName:
            return None
        except DoorwardError as error:
            return {"function": f"{name[:200]}#{asked[:100]}", "error": in_a_line(error)}
        if function is None:
            return None
        definitions = self.definitions(function.server)
        if (seen := self._catalog.notes.result(function)) is not None:
            function = replace(function, returns=seen.schema)
        found = {"function": f"{function.qualified}#{asked[:100]}"}
        if text := self._catalog.texts.part(function, definitions, asked, language):
            if asked == PARAMETERS:
                text += self._catalog.notes.card(function, language, MAX_FULL_CHARS)
            return found | {"text": text}
        known = ", ".join(self._catalog.texts.parts(function, definitions)[:30]) or "none"
        return found | {"error": f"{function.qualified} has no class {asked[:100]!r}. Its classes: {known}"}

    def _server_named(self, name: str, principal: str) -> str:
        """The module of a server, if this is the name of one; else ""."""
        try:
            return self.module(name, principal)
        except UnknownName:
            return ""

    def definitions(self, server: str) -> Definitions:
        """The definitions that the functions of a server refer to."""
        return lambda name: self._catalog.definition(server, name)

    def module(self, server: str, principal: str) -> str:
        """The module name of a server that a principal can use. Raises: UnknownName."""
        asked = module_name(str(server)[:200])
        if (meant := self._servers.meant(asked, principal)) is not None:
            return meant
        usable = self._servers.names(principal)
        near = difflib.get_close_matches(asked, usable, n=3)
        if asked == MODULE:
            raise UnknownName(
                "doorward is no server, but helpers for programs", hint='get_functions(["doorward"]) lists them.'
            )
        hint = f"Near: {', '.join(near)}." if near else f"Servers: {some(usable)}."
        raise UnknownName(f"Server {asked!r} is not available", hint=hint)
