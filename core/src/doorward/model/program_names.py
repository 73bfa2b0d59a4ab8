"""Other names than ours, by which programs that were written for somebody else ask for servers and helpers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from doorward.model.calls import TextRule, if_repeated
from doorward.model.errors import InvalidArguments
from doorward.model.executors import Aliases
from doorward.model.programs import Failure
from doorward.model.services import Service


class ProgramNames:
    """What other names mean, and how such a program expects answers. Our own names never come here. By itself it knows
    no others; a plugin gives an heir as the service `PROGRAM_NAMES`."""

    def aliases(
        self,
        language: str,
        code: str,
        servers: Mapping[str, str],
        has: Callable[[str, str], bool],
        *,
        everything: bool = False,
    ) -> Aliases:
        """The aliases that a program needs, or all (`everything`). `servers` are the configured names by module name;
        `has(server, name)` says whether that server has a function of this name."""
        return Aliases()

    def text_rule(self, code: str) -> TextRule:
        """Which answers this program gets as text: see `Call.wants_text`."""
        return if_repeated

    def functions(self, asked: Iterable[str | Mapping[str, Any]]) -> list[str]:
        """Names of functions, as `server.function`. Raises: InvalidArguments."""
        names = []
        for name in asked:
            if not isinstance(name, str):
                raise InvalidArguments(f"{name!r:.100} is no name of a function", hint='Write "server.function".')
            names.append(name)
        return names

    def server(self, name: str) -> str:
        """The server that a name means; else the first part of the name."""
        return name.partition(".")[0]

    def missed_server(self, failure: Failure) -> str:
        """The other name of a server that a program has not found, if that is why it failed; else ""."""
        return ""

    def hint(self, name: str) -> str:
        """What to do about a name that is not defined, or a module that is not there; "" if it is none of these."""
        return ""


PROGRAM_NAMES = Service[ProgramNames]("other names in programs")
"""Whoever gives this says what other names mean in the programs of a gateway."""
