"""Other systems' names for servers, helpers and functions, so that programs and agents of these run here unchanged."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from doorward import hookimpl
from doorward.configuration import module_name
from doorward.helping import PROGRAM_NAMES, ProgramNames

from doorward_compat.aliases import (
    LIBRARY,
    MODELS,
    NO_LIBRARY,
    NO_MODEL,
    RUNTIME,
    aliases,
    function_names,
    server_meant,
)

if TYPE_CHECKING:
    from doorward import Failure, Gateway
    from doorward.sandboxing import Aliases

PLUGIN_API = 1

__all__ = ["Compat"]


class Compat(ProgramNames):
    """Gives programs the module `doorward.runtime`, and is what says what other systems' names mean."""

    def __init__(self, context: Any = None) -> None:
        pass

    @hookimpl
    def gateway_made(self, gateway: Gateway) -> None:
        """See `doorward.plugins.hookspecs`."""
        from doorward_compat.runtime import Runtime

        gateway.services.give(PROGRAM_NAMES, self)
        gateway.modules.add(RUNTIME, Runtime(gateway).all)

    def aliases(
        self,
        language: str,
        code: str,
        servers: Mapping[str, str],
        has: Callable[[str, str], bool],
        *,
        everything: bool = False,
    ) -> Aliases:
        """See `doorward.helping.ProgramNames`."""
        if language not in ("typescript", "javascript"):
            return aliases(code, servers, has, everything=everything)
        from doorward_compat.script_aliases import script_aliases

        return script_aliases(code, servers)

    def text_rule(self, code: str) -> Callable[[Any, str, bool], bool]:
        """See `doorward.helping.ProgramNames`."""
        from doorward_compat.texts import text_rule

        return text_rule(code)

    def functions(self, asked: Iterable[str | Mapping[str, Any]]) -> list[str]:
        """See `doorward.helping.ProgramNames`."""
        return function_names(asked)

    def server(self, name: str) -> str:
        """See `doorward.helping.ProgramNames`."""
        return server_meant(name)

    def missed_server(self, failure: Failure) -> str:
        """See `doorward.helping.ProgramNames`."""
        if failure.type == "NameError" and (found := re.search(r"name '(mcp_\w+)' is not defined", failure.message)):
            return found[1]
        if failure.type == "KeyError" and failure.frames and "mcp_servers" in failure.frames[-1].source:
            return "mcp_" + module_name(failure.message.strip("'"))
        return ""

    def hint(self, name: str) -> str:
        """See `doorward.helping.ProgramNames`."""
        return {MODELS: NO_MODEL, LIBRARY: NO_LIBRARY}.get(name, "")
