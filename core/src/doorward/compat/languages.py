"""The aliases of a program, by its language."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from doorward.compat.aliases import aliases
from doorward.compat.script_aliases import script_aliases
from doorward.model.executors import Aliases
from doorward.programs.languages import is_script


def aliases_in(
    language: str, code: str, servers: Mapping[str, str], has: Callable[[str, str], bool], *, everything: bool
) -> Aliases:
    """See `aliases` and `script_aliases`."""
    return script_aliases(code, servers) if is_script(language) else aliases(code, servers, has, everything=everything)
