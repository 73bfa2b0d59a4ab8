"""The function that a name means, and the functions with names like an unknown one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from doorward.config.config import module_name
from doorward.data.words import nearest, split_words
from doorward.model.errors import UnknownName
from doorward.model.functions import Function
from doorward.model.names import python_name, qualified

if TYPE_CHECKING:
    from doorward.access.policy import Policy
    from doorward.catalog.catalog import Catalog
    from doorward.model.search import SearchEngine
    from doorward.servers.registry import Servers

MAX_COMPARED_NAMES = 3000
"""Names that an unknown name is compared with, letter by letter."""

_SEARCH_RESULTS = 10
_SEARCH_BONUS = 0.5
"""How much nearer a name counts if a search for the unknown name's words finds its function first. The search knows
meanings: `add` finds `create`."""


def names_near(catalog: Catalog, engine: SearchEngine, name: str, servers: Sequence[str], most: int = 5) -> list[str]:
    """The qualified names most similar to this one, nearest first."""
    server, _, bare = name.rpartition(".")
    asked = [server] if server in servers else servers
    found = [function.qualified for function in engine.near(split_words(bare), asked, _SEARCH_RESULTS)]
    everything: list[str] = []
    for each in asked:
        everything += [f"{each}.{n}" for n in catalog.names(each)]
        if len(everything) > MAX_COMPARED_NAMES:  # comparing with all of them would take too long
            return found[:most]
    worth = {known: _SEARCH_BONUS * (1 - place / _SEARCH_RESULTS) for place, known in enumerate(found)}
    return nearest(bare, everything, most, worth) or found[:most]


_MOST_NAMES = 10
"""Functions of a server that a hint names where no name is like the one that was asked for."""
LEFT_OUT_HINT = "Do without it: only the operator can change that."
_MAX_NAME_CHARS = 2200
"""An id may be a route."""


def left_out(name: str, key: str) -> str:
    """What is said of a function that a key of its server leaves out."""
    return f"{name} is left out by `{key}` of [servers.{name.partition('.')[0]}]"


class FunctionLookup:
    """Finds functions by name, of the servers that a principal can use."""

    def __init__(self, catalog: Catalog, servers: Servers, policy: Policy, engine: Callable[[], SearchEngine]) -> None:
        self._catalog = catalog
        self._servers = servers
        self._policy = policy
        self._engine = engine

    def find(self, name: str, principal: str, *, near: bool = True) -> Function:
        """The function that a name means to a principal: `server.name`, `server.original-id`, `mcp__server__name`.

        Raises: UnknownName, with similar names if they are wanted (`near`): finding them can take a second.
        """
        text = qualified(str(name)[:_MAX_NAME_CHARS])
        server, _, bare = text.partition(".")
        function = None
        # No tool takes the place of what a server offers: `resources/read` is a method, not a tool's name.
        if self._servers.usable(server, principal):
            offered = self._servers.offered(server, bare) if "/" in bare else None
            function = offered or self._catalog.function(server, bare) or self._servers.offered(server, bare)
            if function is None and bare.isidentifier():  # `readFile`, as wrappers in JavaScript call `read_file`
                function = self._catalog.function(server, python_name(bare))
        if function is None or not self._policy.knows(function, principal):
            raise self._unknown(text, principal, near)
        return function

    def _unknown(self, text: str, principal: str, near: bool) -> UnknownName:
        server = text.partition(".")[0]
        for name, error in self._servers.wrong(principal).items():
            if module_name(name) == server:
                return UnknownName(f"the server {server!r} is broken: {error}", hint=error.hint)
        if key := self._left_out_by(text, principal):
            return UnknownName(left_out(text, key), hint=LEFT_OUT_HINT)
        likely = self._likely(text, principal) if near else []
        meant = f"; did you mean {likely[0]!r}?" if likely else ""  # a program that catches the error sees no hint
        hint = self._hint(text, principal, likely) if near else ""
        servers = self._servers.names(principal)
        if "." in text and server not in servers:
            meant = f", for there is no server {server[:100]!r}{meant}"
            more = "…" if len(servers) > _MOST_NAMES else ""
            hint = f"Servers: {', '.join(servers[:_MOST_NAMES]) or 'none'}{more}. {hint}".strip()
        return UnknownName(
            f"there is no function {text[:300]!r}{meant}", hint=hint or "Use search_functions to find one."
        )

    def near(self, name: str, principal: str) -> str:
        """The hint for an unknown function, `server.name`: that it is left out, or functions like it; or ""."""
        if key := self._left_out_by(name, principal):
            return f"{left_out(name, key)}. {LEFT_OUT_HINT}"
        return self._hint(name, principal, self._likely(name, principal))

    def _left_out_by(self, name: str, principal: str) -> str:
        """The key by which the configuration leaves out a function of this name, which it does not even store; "" if
        there is none, or policy denies such a function to the principal, who is not told of it."""
        server, _, bare = name.partition(".")
        report = self._catalog.report(server) if server in self._servers.names(principal) else None
        if report is None or not self._policy.allows(Function(server, plain := python_name(bare), bare), principal):
            return ""
        return next((key for key, names in report.left_out.items() if plain in names), "")

    def _likely(self, name: str, principal: str) -> list[str]:
        found = names_near(self._catalog, self._engine(), name, self._servers.names(principal))
        return found if self._policy.scope(principal) is None else [n for n in found if self._allowed(n, principal)]

    def _allowed(self, name: str, principal: str) -> bool:
        """Whether a function of the catalog may be told to a principal: nobody is sent to one that is denied."""
        server, _, bare = name.partition(".")
        function = self._catalog.function(server, bare)
        return function is None or self._policy.allows(function, principal)

    def _hint(self, name: str, principal: str, likely: Sequence[str]) -> str:
        server, _, bare = name.partition(".")
        report = self._catalog.report(server) if server in self._servers.names(principal) else None
        configured = self._servers.modules.get(server, server)
        told = self._catalog.texts.near(likely, bare, configured, report.compiled if report else 0)
        if not likely and report is not None:
            return f"{self._names(server, principal)}{told}"
        return told

    def _names(self, server: str, principal: str) -> str:
        """What a server has, where a name is like nothing of it: all functions, if they are few."""
        names = self._catalog.names(server)
        if len(names) > _MOST_NAMES and self._policy.scope(principal) is None:
            return f"{server} has {len(names)} functions: search_functions finds them. "
        allowed = [name for name in names if self._allowed(f"{server}.{name}", principal)]
        if len(allowed) > _MOST_NAMES:
            return f"{server} has {len(allowed)} functions: search_functions finds them. "
        return f"{server} has {', '.join(allowed)}. " if allowed else ""
