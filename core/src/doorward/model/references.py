"""What resolves references, apart from settings: it is imported where pydantic is not (`doorward plugins`)."""

from __future__ import annotations

from typing import Protocol


class Resolver(Protocol):
    """Knows the values of references."""

    def expand(self, template: str) -> str:
        """The text with its references replaced. Raises: MissingSecret."""
        ...


class ResolvedLater:
    """A text of the configuration that resolves its references itself, when it is used: `Template` and `Secret`."""

    called = ""
    """The key of this text in its table. The name of a header or a variable tells whether its value is a secret."""
