"""The modules that programs can import: those of servers, and those of helpers."""

from __future__ import annotations

import difflib
import inspect
import re
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from doorward.catalog.allowed_functions import allowed_names
from doorward.catalog.texts import anything
from doorward.config.config import module_name
from doorward.config.install_hints import owned
from doorward.data.languages import JSON, PYTHON, is_script
from doorward.model.errors import InvalidArguments, PluginError, UnknownName
from doorward.model.names import is_plain
from doorward.model.program_names import PROGRAM_NAMES, ProgramNames
from doorward.model.programs import Program
from doorward.runs.discovery import told
from doorward.runs.helper_context import ERRORS, HELPING, MODULE, UNTOLD, Helping, missing

if TYPE_CHECKING:
    from doorward.catalog.catalog import Catalog
    from doorward.model.calls import Scope
    from doorward.model.services import Services
    from doorward.runs.discovery import Discovery
    from doorward.runs.helper_context import Helper, HelperContext
    from doorward.servers.registry import Servers

_ERRORS_STUB = """class ApiError(Exception):
    status: int
    body: Any
    retry_after: float | None
class ToolError(Exception): ...
"""

_ERRORS_DECLARED = """export class ApiError extends Error {
    status: number;
    body: any;
    retry_after: number | null;
}
export class ToolError extends Error {}
"""

_OURS = ProgramNames()

_MAX_DENIED = 200
"""Servers and sets of principals whose denied names are kept."""


async def call(run: HelperContext, function: str, arguments: Mapping[str, Any] | None = None, **kwargs: Any) -> Any:
    """Call a function by its name: doorward.call("server.function", {"id": 1}). The arguments may be keywords,
    too."""
    run.helper_makes_calls()
    return await run.call(function, (), {**(arguments or {}), **kwargs})


class Modules:
    """Modules by name. `helpers` are the modules of no server: `doorward`, and others within it."""

    def __init__(self, catalog: Catalog, servers: Servers, discovery: Discovery, services: Services) -> None:
        self._catalog = catalog
        self._servers = servers
        self._discovery = discovery
        self.helpers: dict[str, Mapping[str, Helper]] = {MODULE: {"call": call}}
        self._services = services
        self._recorded: set[str] = set()
        self._policy = discovery.policy
        self._denied: dict[tuple[str, Scope], tuple[Sequence[str], frozenset[str]]] = {}
        self._members: dict[str, tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]] = {}

    @property
    def names(self) -> ProgramNames:
        """What other names than ours mean in programs."""
        return self._services.get(PROGRAM_NAMES) or _OURS

    @property
    def told(self) -> Helping:
        """What is told of helpers."""
        return self._services.get(HELPING) or UNTOLD

    def add(self, module: str, helpers: Mapping[str, Helper], *, recorded: Collection[str] = ()) -> None:
        """Give programs another module, `doorward.NAME`, with these helpers, or `doorward` itself more of them.

        Each gets the run (see `HelperContext`), then the arguments of the program. The answers of those that are
        `recorded` are stored with a run that is: they depend on more than its calls.

        Raises: PluginError if there is such a module or helper, or if the module is called otherwise.
        """
        there = self.helpers.get(module, {})
        taken = {name for name, each in helpers.items() if name in ERRORS or there.get(name, each) is not each}
        if taken := taken if module == MODULE else {module} & {*self.helpers}:
            raise PluginError(f"{', '.join(sorted(taken))} of {module} is given already")
        if not re.fullmatch(rf"{MODULE}(\.[a-z][a-z0-9_]*)?", module):
            raise PluginError(f"the module {module!r} of programs is not called {MODULE}.NAME")
        self.helpers[module] = {**helpers, **there}
        self._recorded.update(f"{module}.{name}".removeprefix(f"{MODULE}.") for name in recorded)

    def recorded(self, helper: str) -> bool:
        """Whether the answers of a helper, `NAME` or `MODULE.NAME`, are stored with a run that is."""
        return helper in self._recorded

    def usable_by(self, principal: str) -> Mapping[str, str]:
        """The configured names of the servers that a principal can use, by module name."""
        return self._servers.usable_by(principal)

    def has(self, server: str, name: str) -> bool:
        """Whether a server has a function of exactly this name."""
        return name in self._catalog.names(server)

    def members(self, server: str, principal: str) -> Sequence[str] | None:
        """The names in a server's module for a principal's program: its functions, their aliases, and original ids that
        are Python names."""
        if (helpers := self.helpers.get(server)) is not None:
            return [*helpers, *_absent(helpers), *ERRORS] if server == MODULE else [*helpers]
        if not self._servers.usable(server, principal):
            return None
        names = self._all_members(server)
        if denied := self._denied_to(principal, server, names):
            return [name for name in names if name not in denied]
        return names

    def _all_members(self, server: str) -> tuple[str, ...]:
        """All names in a server's module, whoever may call what."""
        names, ids = self._catalog.names(server), self._catalog.names(server, "original")
        known = self._members.get(server)
        if known is None or known[0] is not names or known[1] is not ids:
            taken = frozenset(names)
            others = dict.fromkeys([*(id for id in ids if is_plain(id)), *self._catalog.aliases(server)])
            known = self._members[server] = names, ids, (*names, *(name for name in others if name not in taken))
        return known[2]

    async def prepare(self, principal: str, code: str) -> None:
        """Find out what policy denies a principal of the servers that its code mentions: of thousands of functions that
        takes a while, which `members` would hold up everybody for."""
        for server in self.usable_by(principal):
            scope = self._policy.scope(principal) if server in code else None
            names = self._all_members(server) if scope else ()
            if scope is not None and self._known_denied(server, scope, names) is None:
                decode, allows = (
                    self._catalog.stored_functions(server),
                    partial(self._policy.allows, principal=principal),
                )
                self._set_denied(server, scope, names, await allowed_names(decode, allows, here=bool(scope.principal)))

    def _denied_to(self, principal: str, server: str, names: Sequence[str]) -> frozenset[str]:
        """The names in a server's module by which policy lets a principal call nothing: to its programs there is no
        such function."""
        if (scope := self._policy.scope(principal)) is None:
            return frozenset()
        if (known := self._known_denied(server, scope, names)) is not None:
            return known
        allowed = {f.name for f in self._catalog.functions(server) if self._policy.allows(f, principal)}
        return self._set_denied(server, scope, names, allowed)

    def _known_denied(self, server: str, scope: Scope, names: Sequence[str]) -> frozenset[str] | None:
        known = self._denied.get((server, scope))
        return known[1] if known is not None and known[0] is names else None

    def _set_denied(self, server: str, scope: Scope, names: Sequence[str], allowed: Collection[str]) -> frozenset[str]:
        own, ids = self._catalog.names(server), self._catalog.names(server, "original")
        meant = {**self._catalog.aliases(server), **dict(zip(reversed(ids), reversed(own), strict=True))}
        meant.update(zip(own, own, strict=True))
        if len(self._denied) >= _MAX_DENIED:
            self._denied.clear()
        denied = frozenset(name for name in names if meant[name] not in allowed)
        self._denied[server, scope] = names, denied
        return denied

    def stub(self, server: str, names: Sequence[str], principal: str, language: str = PYTHON) -> str:
        """The text of a `.pyi` or `.d.ts` file for some functions of a server; empty if the principal cannot use it."""
        scripts = is_script(language)
        if (helpers := self.helpers.get(server)) is not None:
            errors = (_ERRORS_DECLARED if scripts else _ERRORS_STUB) if server == MODULE else ""
            every = [*helpers, *(_absent(helpers) if server == MODULE else ())]
            return ("" if scripts else "from typing import Any\n") + errors + anything(every, language)
        names = names if self._servers.usable(server, principal) else ()
        functions = {n: f for n in names if (f := self._catalog.function(server, n)) is not None}
        functions = {n: f for n, f in functions.items() if self._policy.allows(f, principal)}
        return self._catalog.texts.stub(
            functions, self._discovery.definitions(server), language, self._catalog.notes.result
        )

    async def help(self, run: HelperContext, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """The answer of `doorward.name(…)` to a program.

        Raises: UnknownName; InvalidArguments; DoorwardError of a call that the helper makes.
        """
        helper = self._helper(name, run.program.language)
        written_as = inspect.signature(helper)
        if is_script(run.program.language) and not kwargs:
            args, kwargs = _with_options(written_as, args)
        try:
            written_as.bind(run, *args, **kwargs)
        except TypeError as error:
            hint = self.told.written(name, helper, run.program.language)
            raise InvalidArguments(f"{MODULE}.{name}: {error}", hint=hint) from None
        try:
            return await helper(run, *args, **kwargs)
        except (TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
            raise InvalidArguments(f"{MODULE}.{name}: {error}") from None

    def _helper(self, name: str, language: str) -> Helper:
        told, inside = self.told, name.removeprefix
        found = (each.get(inside(f"{module}.".removeprefix(f"{MODULE}."))) for module, each in self.helpers.items())
        helper = next(filter(None, found), None)
        if helper is None and name in owned()["helper"]:
            raise missing(name)
        if language == JSON and name not in told.calls:
            there = ", ".join(f"{MODULE}.{each}" for each in told.calls) or "none"
            raise UnknownName(f"{MODULE}.{name[:100]} is no function to call here", hint=f"There are: {there}.")
        if helper is not None:
            return helper
        card = told.card(f"{MODULE}.{name}", Program(""))
        raise UnknownName(card.get("error") or f"{MODULE}.{name} cannot be called by its name")

    def said_of_helper(self, name: str) -> str:
        """What is said to who looks for a name in a server's module that is one of `doorward`; "" if it is none."""
        return (
            f"It is {MODULE}.{name}: import {MODULE}."
            if name in (*self.helpers[MODULE], *owned()["helper"], *ERRORS)
            else ""
        )

    def absent(self, server: str, principal: str) -> tuple[str, list[str]]:
        """For a server that a principal asked for and cannot use: its error, if it is one of theirs and broken, and
        similar names."""
        wrong = {module_name(name): error for name, error in self._servers.wrong(principal).items()}
        if error := wrong.get(server):
            return told(error), []
        return "", difflib.get_close_matches(server, [*self._servers.names(principal), *wrong], n=3)


def _absent(helpers: Collection[str]) -> list[str]:
    """The helpers that a program may ask for, and gets an error from that says what to install."""
    return [name for name in owned()["helper"] if name not in helpers and name != MODULE]


def _with_options(written_as: inspect.Signature, args: Sequence[Any]) -> tuple[Sequence[Any], Mapping[str, Any]]:
    """The arguments of a helper from a language without keywords: an object at the end whose fields are all parameters
    for which there is no value yet holds these. Where a helper takes `arguments`, the object there is just that."""
    free = [p.name for p in written_as.parameters.values() if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)][1:]
    free = free[len(args) - 1 :]
    last = args[-1] if args else None
    is_options = isinstance(last, Mapping) and last and free[:1] != ["arguments"] and last.keys() <= {*free}
    return (args[:-1], last) if isinstance(last, Mapping) and is_options else (args, {})
