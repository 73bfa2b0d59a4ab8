"""What is derived of a server's functions when it is compiled, for whoever finds or relates them: bytes by name, which
are stored with the compile, in its transaction, and mean nothing to the catalog."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from doorward.host.logs import log
from doorward.model.errors import PluginError
from doorward.model.functions import Function

Derive = Callable[[Sequence[Function], Callable[[str], Any], Callable[[str], str]], bytes]
"""Makes the bytes of a server's functions, of what reads the definitions that they refer to, and of what removes
credentials from a text: definitions have not passed it yet. Called in a thread."""


class Derived:
    """What is derived, by name."""

    def __init__(self) -> None:
        self._makers: dict[str, Derive] = {}

    def add(self, name: str, derive: Derive) -> None:
        """Derive this of every server that is compiled from now on. Raises: PluginError if the name is taken."""
        if name in self._makers:
            raise PluginError(f"two plugins derive {name!r} of functions", hint="Use one of the two plugins.")
        self._makers[name] = derive

    def of(
        self, functions: Sequence[Function], definitions: Callable[[str], Any], scrub: Callable[[str], str]
    ) -> Mapping[str, bytes]:
        """All that is derived. What cannot be is left out: whoever reads it does without, or derives it anew."""
        found = {}
        for name, derive in self._makers.items():
            try:
                found[name] = derive(functions, definitions, scrub)
            except Exception as error:  # a defect of a plugin must not stop a compile
                log.error("not_derived", what=name, why=f"{type(error).__name__}: {error}")
        return found
