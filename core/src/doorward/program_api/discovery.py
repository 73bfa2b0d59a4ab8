"""What there is to call: listed, searched, described. The MCP tools, the CLI and programs (`import doorward`) all
ask here."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from doorward.calls.items import declared
from doorward.catalog.schema_inference import is_open
from doorward.compat.aliases import RUNTIME, Aliases, aliases
from doorward.compat.runtime import Runtime
from doorward.config.config import module_name
from doorward.data.cursors import cursor_at, offset_of, page
from doorward.data.quoting import in_a_line
from doorward.data.wording import clean
from doorward.describe import cards, signatures
from doorward.describe.schemas import Definitions
from doorward.model.errors import DoorwardError, InvalidArguments, UnknownName
from doorward.model.names import is_plain, some
from doorward.model.types import Function, Limits
from doorward.program_api.helper_cards import MODULE, HelperCards
from doorward.program_api.helpers import Helper, Helpers

if TYPE_CHECKING:
    from doorward.calls.broker import Broker
    from doorward.catalog.catalog import Catalog
    from doorward.catalog.schema_inference import Observation
    from doorward.runs.executors import Executors
    from doorward.servers.registry import Servers
    from doorward.servers.skills import Skills

MOST_AT_ONCE = 5
"""Functions that `get_functions` shows in one answer."""

_STUB = """from typing import Any
class ApiError(Exception):
    status: int
    body: Any
    retry_after: float | None
class ToolError(Exception): ...
"""

_MOST_NAMES = 40
"""Function names in the description of a server."""

FEW = 20
"""Servers of which each is shown with `FIRST` names of functions; of more, with `FIRST_OF_MANY`."""

FIRST, FIRST_OF_MANY = 10, 3

ABOUT, ABOUT_OF_MANY = 200, 80
"""Characters of what a server says of itself."""

_WHY = 1000
"""Characters of what is wrong with a server."""


class Discovery:
    """Read-only views of the catalog, bounded however large it is."""

    def __init__(self, catalog: Catalog, servers: Servers, broker: Broker, skills: Skills, executors: Executors, limits: Limits) -> None:
        self._catalog = catalog
        self._servers = servers
        self._broker = broker
        self._skills = skills
        self._executors = executors
        self._limits = limits
        self._members: dict[str, tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]] = {}
        self.helpers: Mapping[str, Helper] = Helpers(self, servers, skills).all
        self._of_helpers = HelperCards(self.helpers)
        self._of_others: Mapping[str, Helper] = Runtime(self, catalog, servers, broker).all

    def capabilities(self, principal: str) -> str:
        """What can be done here, in a paragraph."""
        return (
            f"Programs run in a sandbox without network and credentials ({self._executors.told() or 'no executor is installed'}). "
            f"What they may call are the functions of these servers: {some(self._servers.names(principal))}. "
            "`import SERVER` and call SERVER.FUNCTION(name=value); find functions with search, see one with describe. "
            f"Limits of a run: {self._limits.timeout:g} s, {self._limits.calls} calls, {self._limits.output_bytes} bytes of output. "
            "The value of a program is `result`, or its last expression. "
            'describe("doorward") lists the helpers of `import doorward`: pages, files, errors.'
        )

    def servers(self, principal: str, *, limit: int | None = None, cursor: str | None = None) -> dict[str, Any]:
        """`{"servers": [{"name", "functions", "first", …}]}`: all servers of a principal, or a page of so many, then with `"total"` and
        `"cursor"` if there are more. Of each: how many functions, some of their names, or what is wrong with it.

        Raises: InvalidArguments for a cursor that is none.
        """
        usable = ((module, None) for module in self._servers.usable_by(principal))
        whole: list[tuple[str, DoorwardError | None]] = [*usable, *self._servers.wrong(principal).items()]
        shown, following = page(whole, limit, cursor)
        few = len(whole) <= FEW
        answer: dict[str, Any] = {"servers": [_broken(name, error) if error else self._server(name, few) for name, error in shown]}
        return answer | ({"total": len(whole), "cursor": following} if following else {})

    def _server(self, module: str, few: bool) -> dict[str, Any]:
        report, first = self._catalog.report(module), self._catalog.first(module, FIRST if few else FIRST_OF_MANY)
        shown = {"name": module, "functions": report.functions if report else 0, "first": list(first)}
        shown |= {} if report else {"note": "not compiled yet"}
        if error := self._servers.behind.get(self._servers.modules[module]):
            shown["note"] = f"as compiled before: {error}"[:_WHY]
        about = clean(report.description, ABOUT if few else ABOUT_OF_MANY) if report else ""
        return shown | ({"about": about} if about else {})

    def absent(self, server: str, principal: str) -> tuple[str, list[str]]:
        """Of a server that a principal asked for and cannot use: what is wrong with it, if it is theirs, and names that look like it."""
        wrong = {module_name(name): error for name, error in self._servers.wrong(principal).items()}
        if error := wrong.get(server):
            return _broken(server, error)["broken"], []
        return "", difflib.get_close_matches(server, [*self._servers.names(principal), *wrong], n=3)

    def search(
        self,
        query: str,
        *,
        principal: str,
        server: str | None = None,
        read_only: bool | None = None,
        limit: int = 10,
        cursor: str | None = None,
    ) -> dict[str, Any]:
        """`{"functions": [{"function", "summary", …}], "total": N, "cursor": …}`, best first.

        Raises: InvalidArguments for a cursor that is none; UnknownName for a server that is none.
        """
        usable = self._servers.names(principal) if server is None else [self.module(server, principal)]
        limit, offset = max(1, min(limit, 50)), offset_of(cursor)
        functions, total = self._catalog.search(query, servers=usable, read_only=read_only, limit=limit, offset=offset)
        answer: dict[str, Any] = {"functions": [_hit(f) for f in functions], "total": total}
        if offset + len(functions) < total:
            answer["cursor"] = cursor_at(offset + len(functions))
        return answer

    def describe(self, names: Sequence[str], principal: str) -> list[dict[str, Any]]:
        """One to five functions in full: `{"function", "import", "signature", "text"}`, or `{"function", "error"}`. With a
        name like `github.issues_create#Issue`, one class of their types in full: `{"function", "text"}`; with that of a
        server, what it is.

        Raises: InvalidArguments for none or more than five.
        """
        if not 1 <= len(names) <= MOST_AT_ONCE:
            raise InvalidArguments(
                f"one to {MOST_AT_ONCE} functions at a time, got {len(names)}", hint='For example ["github.issues_create"].'
            )
        return [self._card(name, principal) for name in names]

    def _card(self, name: str, principal: str) -> dict[str, Any]:
        try:
            function = self._broker.find(name, principal)
        except DoorwardError as error:
            if part := self._of_helpers.card(str(name)) or self._part(str(name), principal) or self._about(str(name), principal):
                return part
            return {"function": str(name)[:200], "error": in_a_line(error)}
        definitions, seen = self._definitions(function.server), self._seen(function)
        return {
            "function": function.qualified,
            "import": f"from {function.server} import {function.name}",
            "signature": signatures.signature(function, definitions, seen=seen),
            "text": cards.describe(function, definitions, module=function.server, seen=seen),
        }

    def list_in(self, name: str, principal: str) -> tuple[str, ...]:
        """The key of the list that a function answers, where its schema has only one. Raises: UnknownName."""
        function = self._broker.find(name, principal)
        return declared(function, self._definitions(function.server)) if function.returns else ()

    def _seen(self, function: Function) -> Observation | None:
        """What is known of the results of a function without a schema of them, or of which these say less than was seen."""
        seen = self._broker.observed.of(function) if is_open(function) else None
        return seen if seen and (function.returns is None or seen.text) else None

    def _part(self, name: str, principal: str) -> dict[str, Any] | None:
        """What `server.function#Class` means: one class of a function's types in full."""
        name, mark, asked = name.rpartition("#")
        try:
            function = self._broker.find(name, principal) if mark else None
        except DoorwardError:
            return None
        if function is None:
            return None
        definitions = self._definitions(function.server)
        if (seen := self._seen(function)) is not None:
            function = replace(function, returns=seen.schema)
        found = {"function": f"{function.qualified}#{asked[:100]}"}
        if text := cards.describe_class(function, definitions, asked):
            return found | {"text": text}
        known = ", ".join(cards.class_names(function, definitions)[:30]) or "none"
        return found | {"error": f"{function.qualified} has no class {asked[:100]!r}. Its classes: {known}"}

    def _about(self, name: str, principal: str) -> dict[str, Any] | None:
        """What a server is, if this is one's name."""
        try:
            module = self.module(name, principal)
        except UnknownName:
            return None
        report, names = self._catalog.report(module), self._catalog.names(module)
        listed = ", ".join(names[:_MOST_NAMES]) + (f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else "")
        lines = [f"{module}: {report.description[:1000]}" if report and report.description else module]
        lines += [f"{len(names)} functions: {listed or 'none'}"]
        lines += [f"It works in the folder {cwd}"] if (cwd := self._servers.cwd(module, principal)) and cwd not in lines[0] else []
        return {"function": module, "text": "\n".join([*lines, f"Write `import {module}`."])}

    def _definitions(self, server: str) -> Definitions:
        return lambda name: self._catalog.definition(server, name)

    def members(self, server: str, principal: str) -> Sequence[str] | None:
        """The names that `import server` may give a principal's program: its functions, also by further names, original ones that can be
        written so among them."""
        if server in ("doorward", RUNTIME):
            return self._of_helpers.names if server == "doorward" else list(self._of_others)
        if not self._servers.usable(server, principal):
            return None
        names, ids = self._catalog.names(server), self._catalog.names(server, "original")
        known = self._members.get(server)
        if known is None or known[0] is not names or known[1] is not ids:
            taken = frozenset(names)
            others = dict.fromkeys([*(id for id in ids if is_plain(id)), *self._catalog.aliases(server)])
            known = self._members[server] = names, ids, (*names, *(name for name in others if name not in taken))
        return known[2]

    def stub(self, server: str, names: Sequence[str], principal: str) -> str:
        """A `.pyi` text for some functions of a server; there are none of one that is not the principal's."""
        if server in ("doorward", RUNTIME):
            head, helpers = (_STUB, self.helpers) if server == "doorward" else ("from typing import Any\n", self._of_others)
            return head + "".join(f"def {n}(*args: Any, **kwargs: Any) -> Any: ...\n" for n in helpers)
        names = names if self._servers.usable(server, principal) else ()
        functions = {n: f for n in names if (f := self._catalog.function(server, n)) is not None}
        again = "".join(f"{n} = {f.name}\n" for n, f in functions.items() if n != f.name)
        return signatures.stub({f.name: f for f in functions.values()}.values(), self._definitions(server), self._seen) + again

    def helper(self, name: str) -> Helper:
        """What `doorward.name` does for a program. Raises: UnknownName."""
        found = self.helpers.get(name) or self._of_others.get(name.removeprefix("runtime."))
        if found is None:
            card = self._of_helpers.card(f"doorward.{name}") or {}
            raise UnknownName(card.get("error") or f"doorward.{name} cannot be called by its name")
        return found

    def aliases(self, code: str, principal: str, *, everything: bool = False) -> Aliases:
        """What a principal's program needs of other systems' names; see `doorward.aliases`."""
        theirs = self._servers.usable_by(principal)
        return aliases(code, theirs, lambda server, name: name in self._catalog.names(server), everything=everything)

    def near(self, name: str, principal: str) -> str:
        """What to say of functions that look like one which is not there."""
        return self._broker.near(name, principal)

    def module(self, server: str, principal: str) -> str:
        """The module name of a server that a principal can use. Raises: UnknownName."""
        asked = module_name(str(server)[:200])
        if (meant := self._servers.meant(asked, principal)) is not None:
            return meant
        usable = self._servers.names(principal)
        near = difflib.get_close_matches(asked, usable, n=3)
        if asked == MODULE:
            raise UnknownName("doorward is no server, but helpers for programs", hint='get_functions(["doorward"]) lists them.')
        hint = f"Near: {', '.join(near)}." if near else f"Servers: {some(usable)}."
        raise UnknownName(f"Server {asked!r} is not available", hint=hint)


def _broken(name: str, error: DoorwardError) -> dict[str, Any]:
    return {"name": name, "functions": 0, "broken": in_a_line(error)[:_WHY]}


def _hit(function: Function) -> dict[str, Any]:
    hit: dict[str, Any] = {"function": function.qualified, "summary": (function.summary or function.description)[:160]}
    hit |= {"read_only": True} if function.read_only else {}
    return hit | ({"deprecated": True} if function.deprecated else {})
