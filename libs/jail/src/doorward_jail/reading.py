"""What Doorward asks about programs in Python before and after they run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from doorward import InvalidProgram

if TYPE_CHECKING:
    from doorward import Failure
    from doorward.abilities import KnownNames


class ReadsPython:
    """See `doorward.abilities.ReadsPrograms`; for executors of Python. A start does not wait for what reads them."""

    def parameters_of(self, code: str) -> Mapping[str, Any]:
        """The literals of JSON that are assigned at the top level; none if the program cannot be parsed: guards or the
        executor say what is wrong with it, and where."""
        from doorward_jail.program_parameters import parameters

        try:
            return parameters(code)
        except InvalidProgram:
            return {}

    def has_value(self, code: str) -> bool:
        """False only where that is certain."""
        from doorward_jail.program_text import has_value

        return has_value(code)

    def hint_for(self, error: Failure, code: str, names: KnownNames) -> str | None:
        """Nothing: whatever writes texts knows Python."""
        return None
