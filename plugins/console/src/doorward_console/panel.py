"""What a page is: static data and one function, from which its HTML and its JSON are made. Plugins add their own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from doorward import File, hookspec

from doorward_console.visitor import Visitor

if TYPE_CHECKING:
    from doorward import Gateway

    from doorward_console.compile_changes import CompileChanges
    from doorward_console.logins import Logins
    from doorward_console.recent import Recent


@dataclass(frozen=True, slots=True)
class Question:
    """What a page is asked. `rest` is the path below that of the panel, without slashes around it. `form` is what was
    posted: a token against forgery has been checked."""

    gateway: Gateway
    visitor: Visitor
    recent: Recent
    logins: Logins
    compiles: CompileChanges
    rest: str = ""
    query: Mapping[str, str] = field(default_factory=dict)
    form: Mapping[str, str] = field(default_factory=dict)

    @property
    def names(self) -> list[str] | None:
        """The principals whose things the visitor sees: themselves, and as whom they came by each endpoint; `None`:
        everybody."""
        if (own := self.visitor.whose) is None:
            return None
        known = self.gateway.principals
        return [own, *(str(by) for each in known.endpoints if (by := known.by_endpoint(own, each)) is not None)]


@dataclass(frozen=True, slots=True)
class Found:
    """The answer of a view: plain JSON values, which its template shows and `.json` has as they are. `template`: not
    that of the panel. `live`: the page is loaded again every few seconds, for nobody writes on it."""

    data: Mapping[str, Any]
    template: str = ""
    live: bool = False


@dataclass(frozen=True, slots=True)
class Moved:
    """The answer to a form: another page below `/console`, and what is said there."""

    path: str
    notice: str = ""


@dataclass(frozen=True, slots=True)
class Panel:
    """A page below `/console`, at `name`: static, so that nothing is imported to list it.

    `view` answers a question, by a page or a file, `post` a form, by where to go or a page that says what came of it;
    both may raise a DoorwardError, which is shown (UnknownName as 404).
    `template` is a file in the folder `templates` of the package `package`; it extends "doorward_console/base.html".
    `needs` is where the key of the service stands without which there is no page: "acme_costs:COSTS". `operators`: it
    is for them alone. Those with a lower `order` come first.
    """

    name: str
    title: str
    view: Callable[[Question], Awaitable[Found | File]]
    template: str
    package: str
    order: int = 100
    post: Callable[[Question], Awaitable[Moved | Found]] | None = None
    needs: str = ""
    operators: bool = False


class ConsoleHooks:
    """Hooks of this capability."""

    @hookspec
    def console_panels(self) -> Sequence[Panel] | None:
        """More pages of the console: `doorward_console.Panel` objects. Fires once, before the
        first page is asked for."""
