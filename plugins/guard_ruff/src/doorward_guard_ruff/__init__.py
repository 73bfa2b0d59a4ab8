"""Ruff reads a program before its sandbox is opened, and tells the author what is broken in it.

This is no security boundary: it saves an agent a run that would fail half-way.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from doorward import ConfigError, Finding, Settings, hookimpl
from pydantic import Field

from doorward_guard_ruff.rules import REFUSED, RULES, SYNTAX

if TYPE_CHECKING:
    from doorward import Gateway, PluginContext, Program

    from doorward_guard_ruff.server import RuffServer

PLUGIN_API = 1

NEWEST_PYTHON = (3, 14)
"""The newest Python that every ruff which we take knows."""

_SWITCH = re.compile("(no)(qa)|(ru)(ff)", re.IGNORECASE)
"""Words of comments by which a program would switch rules off. Ruff gets them parted, wherever they stand."""

_SWITCHED = re.compile("(no)_(qa)|(ru)_(ff)", re.IGNORECASE)
_HALF = re.compile("[\ud800-\udfff]")


class RuffSettings(Settings):
    """`[hooks.ruff]`"""

    select: list[str] = Field([*RULES], description='Rules to look at, by their codes or beginnings of these ("S1")')
    ignore: list[str] = Field([], description="Rules of these to leave out")
    refuse: list[str] = Field([*REFUSED], description="Rules that refuse a program; of the others its author is told")
    python: str = Field("", pattern=r"^$|^3\.\d+$", description='The Python of your executors, such as "3.13"')


class RuffGuard:
    """The hook plugin of the guard. Raises: ConfigError if ruff is not there."""

    Settings = RuffSettings

    def __init__(self, context: PluginContext[RuffSettings]) -> None:
        from ruff import find_ruff_bin

        try:
            self._binary = find_ruff_bin()
        except FileNotFoundError:
            hint = "Install it anew: pip install --force-reinstall ruff"
            raise ConfigError("the program `ruff` is not there", place="[hooks.ruff]", hint=hint) from None
        settings = context.settings
        rules = dict.fromkeys((*settings.select, *settings.refuse))
        self._refused = tuple("" if rule == "ALL" else rule for rule in settings.refuse)
        newest, here = ("{}.{}".format(*version) for version in (NEWEST_PYTHON, min(sys.version_info, NEWEST_PYTHON)))
        python = (settings.python or here) if SYNTAX in rules and SYNTAX not in settings.ignore else newest
        self._options: dict[str, Any] = {
            "target-version": f"py{python.replace('.', '')}",
            "lint": {
                "select": [rule for rule in rules if rule != SYNTAX],
                "ignore": [rule for rule in settings.ignore if rule != SYNTAX],
            },
        }
        self._server: RuffServer | None = None
        self._gateway: Gateway | None = None

    async def open(self) -> None:
        """Check that ruff runs and takes these settings. Raises: ConfigError."""
        from doorward_guard_ruff.server import RuffServer, complaint

        if why := await complaint(self._binary, self._options):
            raise ConfigError(f"ruff takes no such setting: {why}", place="[hooks.ruff]", hint="See `ruff rule --all`.")
        self._server = RuffServer(self._binary, self._options)

    async def close(self) -> None:
        """End ruff."""
        if self._server is not None:
            await self._server.close()

    @hookimpl
    def gateway_made(self, gateway: Gateway) -> None:
        """Learn which names programs have without an import."""
        self._gateway = gateway

    def _is_alias(self, name: str) -> bool:
        """Whether it is such a name; whether there is such a server, the run will tell."""
        if self._gateway is None:
            return False
        server = name.removeprefix("mcp_")
        return bool(self._gateway.modules.names.aliases("python", name, {server: server}, lambda *_: False).before)

    @hookimpl
    async def guard_program(self, program: Program) -> Sequence[Finding]:
        """What ruff finds. A program that it cannot read is refused: nobody knows what is in it."""
        from doorward_guard_ruff.findings import findings
        from doorward_guard_ruff.server import Unreadable

        assert self._server is not None
        if program.language != "python":
            return []
        if half := _HALF.search(program.code):
            line = program.code.count("\n", 0, half.start()) + 1
            return [Finding("the code holds half of a surrogate pair, which no source text may", line)]
        try:
            found = await self._server.diagnostics(_SWITCH.sub(r"\1\3_\2\4", program.code))
        except Unreadable as error:
            return [Finding(f"ruff cannot check the program: {error}", instead="split it into shorter statements")]
        restored = [{**one, "message": _SWITCHED.sub(r"\1\3\2\4", one["message"])} for one in found]
        return [] if not restored else findings(program, restored, self._refused, self._is_alias)
