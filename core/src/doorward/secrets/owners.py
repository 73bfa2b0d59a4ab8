"""The owner of a secret, by which texts are told that may hold it."""

from __future__ import annotations

from typing import NamedTuple, Protocol


class Owner(NamedTuple):
    """The owner of a secret: a server (by its module's name), a principal at a server, or a principal alone.

    A value that is not a credential, such as a user's name, is removed from answers too; but programs may know it and
    write it.
    """

    server: str = ""
    principal: str = ""
    is_credential: bool = True


NO_OWNER = Owner()


class Redact(Protocol):
    """Scrubs a value from now on, as long as it is one of the latest values given to this."""

    def __call__(self, value: str, whose: Owner = NO_OWNER) -> None: ...
