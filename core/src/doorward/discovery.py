"""What there is to call: listed, searched, described. The MCP tools, the CLI and programs (`import doorward`) all
ask here."""

from __future__ import annotations

import base64
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from doorward import signatures
from doorward.config import module_name
from doorward.errors import DoorwardError, InvalidArguments, UnknownName
from doorward.pages import MOST_PAGES, pages
from doorward.schemas import Definitions
from doorward.types import Function, Program

if TYPE_CHECKING:
    from doorward.broker import Broker
    from doorward.catalog import Catalog
    from doorward.door import RunDoor
    from doorward.observed import Observation
    from doorward.servers import Servers
    from doorward.skills import Skills

MOST_AT_ONCE = 5
"""Functions that `get_functions` shows in one answer."""

_STUB = """from typing import Any
class ApiError(Exception):
    status: int
    body: Any
    retry_after: float | None
"""


class Discovery:
    """Read-only views of the catalog, bounded however large it is."""

    def __init__(self, catalog: Catalog, servers: Servers, broker: Broker, skills: Skills, capabilities: Callable[[], str]) -> None:
        self._catalog = catalog
        self._servers = servers
        self._broker = broker
        self._skills = skills
        self.capabilities = capabilities
        self.helpers: dict[str, Callable[..., Awaitable[Any]]] = {
            "servers": self._help_servers,
            "search": self._help_search,
            "describe": self._help_describe,
            "call": self._help_call,
            "pages": self._help_pages,
            "capabilities": self._help_capabilities,
            "skills": self._help_skills,
            "close_session": self._help_close_session,
        }

    def servers(self) -> list[dict[str, Any]]:
        """Every configured server: how many functions, some of their names, or what is wrong with it."""
        reports = self._catalog.reports()
        behind = {module_name(name): error for name, error in self._servers.behind.items()}
        found: list[dict[str, Any]] = []
        for name in self._servers.names():
            report = reports.get(name)
            names = self._catalog.names(name)
            shown = {"name": name, "functions": len(names), "first": list(names[:10])}
            shown |= {} if report else {"note": "not compiled yet"}
            if error := behind.get(name):
                shown["note"] = f"as compiled before: {error}"
            found.append(shown | ({"about": report.description[:200]} if report and report.description else {}))
        found += [
            {"name": name, "functions": 0, "broken": f"{error}{f'. {error.hint}' if error.hint else ''}"}
            for name, error in self._servers.broken.items()
        ]
        return found

    def search(
        self, query: str, *, server: str | None = None, read_only: bool | None = None, limit: int = 10, cursor: str | None = None
    ) -> dict[str, Any]:
        """`{"functions": [{"function", "summary", …}], "total": N, "cursor": …}`, best first.

        Raises: InvalidArguments for a cursor that is none; UnknownName for a server that is none.
        """
        usable = self._servers.names()
        if server is not None:
            server = module_name(server)
            if server not in usable:
                raise UnknownName(f"there is no server {server!r}", hint=f"Servers: {', '.join(usable) or 'none'}.")
            usable = [server]
        limit, offset = max(1, min(limit, 50)), _offset(cursor)
        functions, total = self._catalog.search(query, servers=usable, read_only=read_only, limit=limit, offset=offset)
        answer: dict[str, Any] = {"functions": [_hit(f) for f in functions], "total": total}
        if offset + len(functions) < total:
            answer["cursor"] = base64.urlsafe_b64encode(str(offset + len(functions)).encode()).decode()
        return answer

    def describe(self, names: Sequence[str]) -> list[dict[str, Any]]:
        """One to five functions in full: `{"function", "import", "signature", "text"}`, or `{"function", "error"}`. With a
        name like `github.issues_create#Issue`, one class of their types in full: `{"function", "text"}`.

        Raises: InvalidArguments for none or more than five.
        """
        if not 1 <= len(names) <= MOST_AT_ONCE:
            raise InvalidArguments(
                f"one to {MOST_AT_ONCE} functions at a time, got {len(names)}", hint='For example ["github.issues_create"].'
            )
        return [self._card(name) for name in names]

    def _card(self, name: str) -> dict[str, Any]:
        try:
            function = self._broker.find(name)
        except DoorwardError as error:
            if part := self._part(str(name)):
                return part
            return {"function": str(name)[:200], "error": f"{error}. {error.hint or ''}".strip()}
        definitions, seen = self._definitions(function.server), self._seen(function)
        return {
            "function": function.qualified,
            "import": f"from {function.server} import {function.name}",
            "signature": signatures.signature(function, definitions, seen=seen),
            "text": signatures.describe(function, definitions, module=function.server, seen=seen),
        }

    def _seen(self, function: Function) -> Observation | None:
        """What is known of the results of a function without a schema of them."""
        return self._broker.observed.of(function) if function.returns is None else None

    def _part(self, name: str) -> dict[str, Any] | None:
        """What `server.function#Class` means: one class of a function's types in full."""
        name, mark, asked = name.rpartition("#")
        try:
            function = self._broker.find(name) if mark else None
        except DoorwardError:
            return None
        if function is None:
            return None
        definitions = self._definitions(function.server)
        if (seen := self._seen(function)) is not None:
            function = replace(function, returns=seen.schema)
        found = {"function": f"{function.qualified}#{asked[:100]}"}
        if text := signatures.describe_class(function, definitions, asked):
            return found | {"text": text}
        known = ", ".join(signatures.class_names(function, definitions)[:30]) or "none"
        return found | {"error": f"{function.qualified} has no class {asked[:100]!r}. Its classes: {known}"}

    def _definitions(self, server: str) -> Definitions:
        return lambda name: self._catalog.definition(server, name)

    def members(self, server: str, program: Program) -> Sequence[str] | None:
        """The names that `import server` may give a program."""
        if server == "doorward":
            return list(self.helpers)
        return self._catalog.names(server) if server in self._servers.names() else None

    def stub(self, server: str, names: Sequence[str]) -> str:
        """A `.pyi` text for some functions of a server."""
        if server == "doorward":
            return _STUB + "".join(f"def {n}(*args: Any, **kwargs: Any) -> Any: ...\n" for n in self.helpers)
        functions = [f for n in names if (f := self._catalog.function(server, n)) is not None]
        return signatures.stub(functions, self._definitions(server), self._seen)

    # What `import doorward` offers inside a sandbox

    async def _help_servers(self, run: RunDoor) -> Any:
        return self.servers()

    async def _help_search(
        self,
        run: RunDoor,
        query: str = "",
        server: str | None = None,
        read_only: bool | None = None,
        limit: int = 10,
        cursor: str | None = None,
    ) -> Any:
        return self.search(str(query), server=server, read_only=read_only, limit=int(limit), cursor=cursor)

    async def _help_describe(self, run: RunDoor, *names: str) -> Any:
        flat = [n for name in names for n in ([name] if isinstance(name, str) else name)]
        return "\n\n".join(card.get("text") or f"{card['function']}: {card['error']}" for card in self.describe(flat))

    async def _help_call(self, run: RunDoor, function: str, arguments: Mapping[str, Any] | None = None, **kwargs: Any) -> Any:
        run.made -= 1  # the call itself is counted, not the asking for it
        return await run.call(function, (), {**(arguments or {}), **kwargs})

    async def _help_pages(
        self, run: RunDoor, function: str, arguments: Mapping[str, Any] | None = None, *, most: int = MOST_PAGES, **kwargs: Any
    ) -> Any:
        run.made -= 1  # its calls are counted
        return await pages(run, function, {**(arguments or {}), **kwargs}, int(most))

    async def _help_capabilities(self, run: RunDoor) -> Any:
        return self.capabilities()

    async def _help_skills(self, run: RunDoor, server: str | None = None) -> Any:
        return self._skills.names() if server is None else self._skills.read(module_name(str(server)))

    async def _help_close_session(self, run: RunDoor) -> None:
        if run.session is None:
            raise InvalidArguments("this run has no session", hint="Only a run with a session_id can close its session.")
        run.session.dead = True  # it ends with this run


def _hit(function: Function) -> dict[str, Any]:
    hit: dict[str, Any] = {"function": function.qualified, "summary": (function.summary or function.description)[:160]}
    hit |= {"read_only": True} if function.read_only else {}
    return hit | ({"deprecated": True} if function.deprecated else {})


def _offset(cursor: str | None) -> int:
    if not cursor:
        return 0
    try:
        return min(2**31, max(0, int(base64.urlsafe_b64decode(cursor))))
    except ValueError:
        raise InvalidArguments("the cursor is none of ours", hint="Give the cursor of the answer before, or none.") from None
