"""What vouches for stored functions, where those who can write the catalog must not decide what a function does."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from doorward.model.names import Named

Key = tuple[str, str]
"""What a stored text is of: "function" or "definition", and its name."""


class Integrity(Protocol):
    """Vouches for what is stored of the functions of servers. `altered` is set by the gateway: it is called with a
    server that was changed by others, and has it compiled again."""

    altered: Callable[[str], None]

    def __contains__(self, server: str) -> bool:
        """Whether it vouches for what is stored of a server."""

    def names(self, server: str) -> Sequence[Named]:
        """The functions of the last compile, in the order of its document."""

    def store(self, server: str, texts: Mapping[Key, str], names: Sequence[Named], write: Callable[[], None]) -> None:
        """Have all that a compile stores of a server written by `write`, and vouch for it."""

    def check(self, server: str, key: Key, text: str) -> None:
        """Check a text that was read. Raises: StateError if it may not be used."""
