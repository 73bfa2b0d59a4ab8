"""Functions that are also tools of their own: those that `expose` of their server names."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from doorward import Function, StateError, log
from doorward.administration import selected

if TYPE_CHECKING:
    from doorward import Gateway, Scope

MAX_TOOLS = 100
"""Functions that become tools, of all servers together."""

_MAX_NAME_CHARS = 64
"""Characters of a tool's name that all clients accept."""


_MAX_VIEWS = 100
"""Sets of principals with the same tools whose tools are kept."""


class ExposedFunctions:
    """The exposed functions, found anew when the catalog or the configuration has changed."""

    def __init__(self, gate: Gateway, reserved: Iterable[str] = ()) -> None:
        """`reserved` are the names of the server's own tools."""
        self._servers, self._catalog, self._policy = gate.servers, gate.catalog, gate.discovery.policy
        self._reserved = frozenset(reserved)
        self._seen: object = None
        self._of_servers: dict[str, tuple[float, list[Function]]] = {}
        self._tools: dict[str, Function] = {}
        self._views: dict[tuple[frozenset[str], Scope | None], Mapping[str, Function]] = {}

    def tools(self, principal: str) -> Mapping[str, Function]:
        """The functions that a principal may call as tools, by the tool's name, `server_function`, in the order of the
        configuration. A tool has the same name for all principals."""
        tools = self._all()
        theirs = frozenset(
            module for module in {f.server for f in tools.values()} if self._servers.usable(module, principal)
        )
        scope = self._policy.scope(principal)
        if (view := self._views.get((theirs, scope))) is None:
            view = {tool: function for tool, function in tools.items() if function.server in theirs}
            if scope is not None:
                view = {tool: each for tool, each in view.items() if self._policy.allows(each, principal)}
            if len(self._views) >= _MAX_VIEWS:
                self._views.clear()
            self._views[theirs, scope] = view
        return view

    def _all(self) -> Mapping[str, Function]:
        now = self._catalog.version(), [module for module, _ in self._servers.exposing()]
        if now != self._seen:
            try:
                self._catalog.refresh()
                chosen = [*self._chosen()]
            except StateError:  # the known tools stay until the catalog can be read again
                return self._tools
            self._seen, self._tools, self._views = now, {}, {}
            for function in chosen:
                if len(self._tools) == MAX_TOOLS:
                    log.warning("too_many_exposed", most=MAX_TOOLS, left_out=function.qualified)
                    break
                self._tools[self._tool_name(function)] = function
        return self._tools

    def _chosen(self) -> Iterator[Function]:
        """The exposed functions of all servers. Those of a server are read again when it was compiled."""
        for module, settings in self._servers.exposing():
            if (report := self._catalog.report(module)) is None:
                continue
            if module not in self._of_servers or self._of_servers[module][0] != report.compiled:
                exposed = [f for f in self._catalog.functions(module) if selected(f, settings.expose)]
                self._of_servers[module] = report.compiled, exposed
            yield from self._of_servers[module][1]

    def _tool_name(self, function: Function) -> str:
        name = f"{function.server}_{function.name}"
        if len(name) <= _MAX_NAME_CHARS and name not in self._tools and name not in self._reserved:
            return name
        return f"{name[: _MAX_NAME_CHARS - 7]}_{hashlib.sha256(function.qualified.encode()).hexdigest()[:6]}"
