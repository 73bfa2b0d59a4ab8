"""What a configuration's `${…}` are to the base of all settings: something resolves them, and some texts do so
themselves, later."""

from __future__ import annotations

from typing import Protocol


class Resolver(Protocol):
    """What knows the values of references."""

    def expand(self, template: str) -> str:
        """The text with its references replaced. Raises: MissingSecret."""
        ...


class ResolvedLater:
    """A text of the configuration that resolves its references itself, when it is used: `Template` and `Secret`."""

    called = ""
    """The key under which it stands in a table: the name of a header or a variable tells whether what is written there
    is a secret."""
