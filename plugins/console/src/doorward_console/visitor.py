"""Who looks at a page, and what they see."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from doorward.serving import person_of

if TYPE_CHECKING:
    from doorward import Principal


@dataclass(frozen=True, slots=True)
class Visitor:
    """Who looks at a page. An operator sees what is everybody's, others what is theirs. `may_answer`: their own
    requests as well."""

    principal: Principal
    is_operator: bool = False
    may_answer: bool = False
    by: str = ""
    """As whom they answer: what is stored of it."""

    def sees(self, principal: str) -> bool:
        """Whether what belongs to a principal is for them."""
        return self.is_operator or person_of(principal) == str(self.principal)

    @property
    def whose(self) -> str | None:
        """The principal whose things they see; `None`: everybody's."""
        return None if self.is_operator else str(self.principal)
