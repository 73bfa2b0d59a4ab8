"""The aliases of a program, by its language."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from doorward.compat.aliases import aliases
from doorward.model.executors import Aliases
from doorward.programs.languages import is_script


def aliases_in(
    language: str, code: str, servers: Mapping[str, str], has: Callable[[str, str], bool], *, everything: bool
) -> Aliases:
    """See `aliases` and `script_aliases`, which is imported when it is asked for."""
    if not is_script(language):
        return aliases(code, servers, has, everything=everything)
    from doorward.compat.script_aliases import script_aliases

    return script_aliases(code, servers)
