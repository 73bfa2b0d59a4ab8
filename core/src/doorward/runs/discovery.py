"""Lists, searches and describes functions, for the MCP tools, the CLI and programs (`import doorward`)."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from doorward.catalog.allowed_functions import AllowedFunctions
from doorward.catalog.schemas import Definitions
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
    from doorward.catalog.catalog import Catalog
    from doorward.model.search import Hit, SearchEngine
    from doorward.model.services import Services
    from doorward.servers.registry import Servers

FEW_SERVERS = 20
"""A list of more servers says less about each."""

FIRST_NAMES, FIRST_NAMES_OF_MANY = 10, 3
"""Names of functions shown with a server in a list of few, and of many."""

ABOUT_CHARS, ABOUT_CHARS_OF_MANY = 200, 80
"""Characters of the description that a server gives of itself, likewise."""

_ERROR_CHARS = 1000
"""Characters of a server's error."""


def told(error: DoorwardError) -> str:
    """The error of a server in one line."""
    return in_a_line(error)[:_ERROR_CHARS]


MAX_DESCRIBED = 5
"""Functions that `get_functions` describes in one answer."""

MAX_QUERIES = 10
"""Questions in one search."""


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
        usable = ((module, None) for module in self._servers.usable_by(principal))
        whole: list[tuple[str, DoorwardError | None]] = [*usable, *self._servers.wrong(principal).items()]
        shown, following = page(whole, limit, cursor)
        few = len(whole) <= FEW_SERVERS
        answer: dict[str, Any] = {
            "servers": [
                {"name": name, "functions": 0, "broken": told(error)}
                if error
                else self._server(name, few, await self.allowed(name, principal, within))
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
        shown = [self._shown(hit, numbered=len(asked) > 1) for hit in found.hits]
        if self.policy.decides:
            for hit, said in zip(found.hits, shown, strict=True):
                said |= {"confirm": True} if self.policy.told(hit.function, principal) else {}
        answer: dict[str, Any] = {"functions": shown, "total": found.total, "well": found.well}
        answer |= {"near": [*found.near]} if found.near else {}
        if offset + len(shown) < found.total:
            answer["cursor"] = cursor_at(offset + len(shown))
        return answer

    def _shown(self, hit: Hit, *, numbered: bool) -> dict[str, Any]:
        """`{"function", "summary", …}`; what is not so is left out. `numbered`: several questions were asked."""
        function, texts = hit.function, self._catalog.texts
        facts: dict[str, Any] = {
            "answers": [*hit.answers] if numbered else [],
            "read_only": effect(function) == "read",
            "destructive": effect(function) == "destructive",
            "needs": {parameter: [*names] for parameter, names in hit.needs.items()},
            "gives": texts.gives(function),
            "deprecated": function.deprecated,
            "matched": [*hit.matched],
        }
        known = {key: value for key, value in facts.items() if value}
        return {"function": function.qualified, "summary": texts.summary(function), **known}

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
                allowed = await self.allowed(server, asker.principal, asker.functions)
                names = self._catalog.names(server) if allowed is None else allowed
                about = report.description if (report := self._catalog.report(server)) else ""
                return {"function": server, "text": self._catalog.texts.server(server, about, names, asker)}
            return {"function": name[:200], "error": in_a_line(error)}
        except DoorwardError as error:
            return {"function": name[:200], "error": in_a_line(error)}
        definitions, seen = self.definitions(function.server), self._catalog.notes.result(function)
        texts, language = self._catalog.texts, asker.language
        return {
            "function": function.qualified,
            "import": texts.imported(function.server, function.name, language),
            "signature": texts.signature(function, definitions, language, seen),
            "text": texts.card(function, definitions, language, seen)
            + self._told(function, asker)
            + await texts.beside(function, asker),
        }

    def _told(self, function: Function, asker: Program) -> str:
        """What policy says of a function that may be called, as a comment at the end of a card."""
        text = self.policy.told(function, asker.principal) if self.policy.decides else ""
        if accounts := self._servers.accounts.get(function.server):
            text = " ".join(filter(None, (accounts.said(asker.principal), text)))
        return f"\n{comment_mark(asker.language)} {text}" if text else ""

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

    def _part(self, name: str, asker: Program) -> dict[str, Any] | None:
        """The answer for `server.function#Class`: one class of a function's types in full."""
        name, mark, asked = name.rpartition("#")
        if not mark:
            return None
        try:
            function = self.callable(name, asker)
        except UnknownName:
            return None
        except DoorwardError as error:
            return {"function": f"{name[:200]}#{asked[:100]}", "error": in_a_line(error)}
        part = self._catalog.texts.part(function, asked, asker.language)
        return {"function": f"{function.qualified}#{asked[:100]}", **part}

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
