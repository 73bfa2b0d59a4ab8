"""What is taken out of a text before it leaves: secrets always, personal data unless the operator keeps it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal

from doorward import Refused
from doorward.values import aside

from doorward_llm.settings import KINDS, Kind

_MASKS = ("[secret]", *(f"[{kind}]" for kind in KINDS))
"""What stands in the place of what was taken out."""


def count_masks(texts: Iterable[str]) -> int:
    """In how many places something was taken out of these texts, or looks so."""
    return sum(text.count(mask) for text in texts for mask in _MASKS)


class Filter:
    """Clears the texts of one request. `outgoing` takes secrets out of a text."""

    def __init__(
        self, outgoing: Callable[[str], str], personal_data: Literal["keep", "redact", "refuse"] | Sequence[Kind]
    ) -> None:
        self._outgoing = outgoing
        self._refuses = personal_data == "refuse"
        self._kinds = () if personal_data == "keep" else KINDS if isinstance(personal_data, str) else personal_data

    async def cleared(self, texts: Sequence[str]) -> list[str]:
        """The texts without what must not leave.

        Raises: Refused for personal data, where that is configured; and for a secret that only shows when the texts
        are put together.
        """
        clean = [self._outgoing(text) for text in texts]
        whole = "".join(clean)
        if len(clean) > 1 and self._outgoing(whole) != whole:
            raise Refused(
                "the messages hold a secret, divided between them: nothing was sent",
                hint="Programs need no credentials.",
            )
        if not self._kinds:
            return clean
        from doorward_llm.personal_data import without_personal_data

        redacted = await aside(lambda: [without_personal_data(text, self._kinds) for text in clean], len(whole))
        if self._refuses and (kinds := sorted({kind for _, found in redacted for kind in found})):
            raise Refused(
                f"the prompt holds personal data ({', '.join(kinds)}): nothing was sent",
                hint="Leave it out: the operator allows no personal data in prompts.",
            )
        return [text for text, _ in redacted]
