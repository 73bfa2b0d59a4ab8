"""Lists, searches and describes functions, for the MCP tools, the CLI and programs (`import doorward`)."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from doorward.calls.items import declared
from doorward.catalog.schema_inference import is_open
from doorward.config.config import module_name
from doorward.data.cursors import cursor_at, offset_of, page
from doorward.data.quoting import in_a_line
from doorward.data.wording import clean
from doorward.describe import additions, cards, signatures
from doorward.describe.dialects import dialect_of
from doorward.describe.schemas import Definitions
from doorward.model.errors import DoorwardError, InvalidArguments, UnknownName
from doorward.model.functions import Function
from doorward.model.limits import Limits
from doorward.model.names import some
from doorward.program_api.helper_cards import MODULE, HelperCards
from doorward.program_api.hits import Hits
from doorward.program_api.related_functions import RelatedFunctions
from doorward.programs.languages import PYTHON, is_script

if TYPE_CHECKING:
    from doorward.access.policy import Policy
    from doorward.calls.broker import Broker
    from doorward.catalog.catalog import Catalog
    from doorward.program_api.function_search import FunctionSearch
    from doorward.results.observation import Observation
    from doorward.servers.registry import Servers

MAX_DESCRIBED = 5
"""Functions that `get_functions` describes in one answer."""

_MAX_NAMES = 40
"""Function names in the description of a server."""

FEW_SERVERS = 20
"""A list of more servers says less about each."""

FIRST_NAMES, FIRST_NAMES_OF_MANY = 10, 3
"""Names of functions shown with a server in a list of few, and of many."""

ABOUT_CHARS, ABOUT_CHARS_OF_MANY = 200, 80
"""Characters of the description that a server gives of itself, likewise."""

_CALLS = (
    "`import SERVER` and call SERVER.FUNCTION(name=value)",
    '`import * as SERVER from "SERVER"` and `await SERVER.FUNCTION({ name: value })`',
)
"""How Python calls a function, and how a module of JavaScript does."""

_ERROR_CHARS = 1000
"""Characters of a server's error."""


class Discovery:
    """Read-only views of the catalog, bounded in size however large it is."""

    def __init__(
        self,
        catalog: Catalog,
        servers: Servers,
        broker: Broker,
        cards: HelperCards,
        executors: Callable[[], str],
        limits: Limits,
        policy: Policy,
    ) -> None:
        """`cards` describe `import doorward`; `executors` returns a description of the executors."""
        self._catalog = catalog
        self._servers = servers
        self._broker = broker
        self.cards = cards
        self._executors = executors
        self._limits = limits
        self._policy = policy
        self.related = RelatedFunctions(catalog, servers, broker.learning, policy)
        self.hits = Hits(catalog, self.seen, self.related)

    @cached_property
    def functions(self) -> FunctionSearch:
        """The search, which needs numpy: a tenth of a second that a gateway's start does not wait."""
        from doorward.program_api.function_search import FunctionSearch

        return FunctionSearch(self._catalog, self._servers, self._policy, self._broker.learning)

    def capabilities(self, principal: str, language: str = PYTHON) -> str:
        """A paragraph about what a principal can do here, in programs of a language."""
        return (
            f"Programs run in a sandbox without network and credentials "
            f"({self._executors() or 'no executor is installed'}). "
            f"What they may call are the functions of these servers: {some(self._servers.names(principal))}. "
            f"{_CALLS[is_script(language)]}; find functions with search, see one with describe. "
            f"Limits of a run: {self._limits.timeout:g} s, {self._limits.calls} calls, {self._limits.output_bytes} "
            f"bytes of output. "
            "The value of a program is `result`, or its last expression. "
            'describe("doorward") lists the helpers of `import doorward`: pages, files, errors.'
        )

    def servers(self, principal: str, *, limit: int | None = None, cursor: str | None = None) -> dict[str, Any]:
        """`{"servers": [{"name", "functions", "first", …}]}`: all servers of a principal, or a page of `limit`, with
        `"total"` and `"cursor"` if there are more. A server has the count and the first names of its functions, or its
        error.

        Raises: InvalidArguments for an invalid cursor.
        """
        usable = ((module, None) for module in self._servers.usable_by(principal))
        whole: list[tuple[str, DoorwardError | None]] = [*usable, *self._servers.wrong(principal).items()]
        shown, following = page(whole, limit, cursor)
        few = len(whole) <= FEW_SERVERS
        answer: dict[str, Any] = {
            "servers": [_broken(name, error) if error else self._server(name, few) for name, error in shown]
        }
        return answer | ({"total": len(whole), "cursor": following} if following else {})

    def _server(self, module: str, few: bool) -> dict[str, Any]:
        report, first = (
            self._catalog.report(module),
            self._catalog.first(module, FIRST_NAMES if few else FIRST_NAMES_OF_MANY),
        )
        shown = {"name": module, "functions": report.functions if report else 0, "first": list(first)}
        shown |= {} if report else {"note": "not compiled yet"}
        if error := self._servers.outdated.get(self._servers.modules[module]):
            shown["note"] = f"as compiled before: {error}"[:_ERROR_CHARS]
        about = clean(report.description, ABOUT_CHARS if few else ABOUT_CHARS_OF_MANY) if report else ""
        return shown | ({"about": about} if about else {})

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
    ) -> dict[str, Any]:
        """`{"functions": [{"function", "summary", …}], "total": N, "cursor": …}`, best first, of what policy allows.
        With several `queries`, a hit says by number which of them it `answers`. `explain`: why it was found. Where
        nothing is, `near` may name something.

        Raises: InvalidArguments for an invalid cursor, or too many queries; UnknownName for an unknown server.
        """
        asked = [*dict.fromkeys(map(str, filter(None, [query, *queries])))] or [""]
        only = None if server is None else self.module(server, principal)
        limit, offset = max(1, min(limit, 50)), offset_of(cursor)
        found = await self.functions.find(
            asked,
            principal=principal,
            server=only,
            read_only=read_only,
            limit=limit,
            offset=offset,
            explain=explain,
        )
        shown = [self.hits.shown(hit, principal, numbered=len(asked) > 1) for hit in found.hits]
        answer: dict[str, Any] = {"functions": shown, "total": found.total}
        answer |= {"near": found.near} if found.near else {}
        if offset + len(shown) < found.total:
            answer["cursor"] = cursor_at(offset + len(shown))
        return answer

    def describe(self, names: Sequence[str], principal: str, language: str = PYTHON) -> list[dict[str, Any]]:
        """One to five functions in full, as programs of a language declare them: `{"function", "import", "signature",
        "text"}`, or `{"function", "error"}`. A name like `github.issues_create#Issue` asks for one class of a
        function's types in full: `{"function", "text"}`; the name of a server asks for a description of it.

        Raises: InvalidArguments for none or more than five.
        """
        if not 1 <= len(names) <= MAX_DESCRIBED:
            raise InvalidArguments(
                f"one to {MAX_DESCRIBED} functions at a time, got {len(names)}",
                hint='For example ["github.issues_create"].',
            )
        return [self._card(name, principal, language) for name in names]

    def _card(self, name: str, principal: str, language: str) -> dict[str, Any]:
        try:
            function = self._broker.functions.find(name, principal)
        except DoorwardError as error:
            if (
                part := self.cards.card(str(name), language)
                or self._part(str(name), principal, language)
                or self._about(str(name), principal, language)
            ):
                return part
            return {"function": str(name)[:200], "error": in_a_line(error)}
        definitions, seen = self.definitions(function.server), self.seen(function)
        text = cards.describe(function, definitions, module=function.server, seen=seen, language=language)
        return {
            "function": function.qualified,
            "import": dialect_of(language).imported(function.server, function.name),
            "signature": signatures.signature(function, definitions, seen=seen, language=language),
            "text": text
            + self.related.told(function, principal, language)
            + self._added(function, additions.MAX_CARD_CHARS, language),
        }

    def _added(self, function: Function, room: int, language: str) -> str:
        """What a model adds to a function's documentation, as the end of a text."""
        enhancement = self._catalog.enhancement(function.server, function.name)
        text = additions.added(function, enhancement, room, dialect_of(language)) if enhancement else ""
        return f"\n\n{text}" if text else ""

    def list_in(self, name: str, principal: str) -> tuple[str, ...]:
        """The key of the only list in a function's result schema; empty if there are none or several.

        Raises: UnknownName.
        """
        function = self._broker.functions.find(name, principal)
        return declared(function, self.definitions(function.server)) if function.returns else ()

    def seen(self, function: Function) -> Observation | None:
        """The observed results of a function, if it has no result schema or if they say more than it."""
        seen = self._broker.observed.of(function) if is_open(function) else None
        return seen if seen and (function.returns is None or seen.text) else None

    def _part(self, name: str, principal: str, language: str) -> dict[str, Any] | None:
        """The answer for `server.function#Class`: one class of a function's types in full."""
        name, mark, asked = name.rpartition("#")
        try:
            function = self._broker.functions.find(name, principal) if mark else None
        except DoorwardError:
            return None
        if function is None:
            return None
        definitions = self.definitions(function.server)
        if (seen := self.seen(function)) is not None:
            function = replace(function, returns=seen.schema)
        found = {"function": f"{function.qualified}#{asked[:100]}"}
        if text := cards.describe_class(function, definitions, asked, language):
            whole = self._added(function, additions.MAX_FULL_CHARS, language) if asked == cards.PARAMETERS else ""
            return found | {"text": text + whole}
        known = ", ".join(cards.class_names(function, definitions)[:30]) or "none"
        return found | {"error": f"{function.qualified} has no class {asked[:100]!r}. Its classes: {known}"}

    def _about(self, name: str, principal: str, language: str) -> dict[str, Any] | None:
        """The description of a server, if this is the name of one."""
        try:
            module = self.module(name, principal)
        except UnknownName:
            return None
        report, names = self._catalog.report(module), self._catalog.names(module)
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
        written = dialect_of(language).imported(module, "")
        return {"function": module, "text": "\n".join([*lines, f"Write `{written}`."])}

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


def _broken(name: str, error: DoorwardError) -> dict[str, Any]:
    return {"name": name, "functions": 0, "broken": told(error)}


def told(error: DoorwardError) -> str:
    """The error of a server in one line."""
    return in_a_line(error)[:_ERROR_CHARS]
