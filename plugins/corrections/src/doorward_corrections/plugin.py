"""The plugin: after each compile, functions take what the operator says, whatever their document does."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

from doorward import Function, PluginContext, hookimpl
from doorward.configuration import module_name


class Corrections:
    """Corrects the functions of servers that have the keys."""

    def __init__(self, context: PluginContext[Any]) -> None:
        self._server_key = context.server_key
        self._warnings: dict[str, list[str]] = {}

    @hookimpl(wrapper=True)
    def source_compiled(
        self, server: str, functions: list[Function], definitions: dict[str, Any]
    ) -> Generator[None, Any, Any]:
        """Around all others: what they change is corrected, and none of them takes a correction for the upstream's."""
        answers = yield
        module = module_name(server)
        extra, optional = self._server_key(module, "extra"), self._server_key(module, "optional")
        self._warnings.pop(server, None)
        if extra == "allow" or optional:
            from doorward_corrections.corrections import correct  # for those who correct something

            self._warnings[server] = correct(functions, definitions, extra=extra == "allow", optional=optional or ())
        return answers

    @hookimpl
    def compile_warnings(self, server: str, functions: list[Function]) -> Sequence[str]:
        return self._warnings.get(server, ())
