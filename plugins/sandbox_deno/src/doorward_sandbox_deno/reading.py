"""What Doorward asks about programs in TypeScript and JavaScript before and after they run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from doorward import Failure
    from doorward.abilities import KnownNames


class ReadsScripts:
    """See `doorward.abilities.ReadsPrograms`. A start does not wait for what reads them."""

    def parameters_of(self, code: str) -> Mapping[str, Any]:
        """The literals of JSON that are assigned at the top level."""
        from doorward_sandbox_deno.script_parameters import literals

        return {name: each.value for name, each in literals(code).items()}

    def has_value(self, code: str) -> bool:
        """False only where that is certain."""
        from doorward_sandbox_deno.script_tokens import has_value

        return has_value(code)

    def hint_for(self, error: Failure, code: str, names: KnownNames) -> str | None:
        """Similar names, a missing import or `await`, and what an answer really was."""
        from doorward_sandbox_deno.script_hints import script_hint

        return script_hint(error, code, names)
