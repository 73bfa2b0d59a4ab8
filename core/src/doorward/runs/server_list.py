"""The servers of a principal, as agents are told of them: how many functions they may call, and the first names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from doorward.data.cursors import page
from doorward.data.quoting import in_a_line
from doorward.data.wording import clean

if TYPE_CHECKING:
    from doorward.catalog.allowed_functions import AllowedNames
    from doorward.catalog.catalog import Catalog
    from doorward.model.errors import DoorwardError
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
