"""Who is asking."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NoReturn

LOCAL = "local"
"""The principal of all requests that do not come over HTTP: the user who started the process."""


class Principal(str):
    """Who asks: the name, as which it is stored, logged and compared; and what else is known of them here.

    `groups` are those of `[groups]`. `attributes` are the claims of the access token, and over them what the operator
    says in `[principals.NAME] attributes`. They stay in this process: no copy, pickle or text of a principal has them.
    """

    __slots__ = ("attributes", "groups", "is_known")

    attributes: Mapping[str, Any]
    groups: tuple[str, ...]
    is_known: bool
    """Whether the configuration was asked for its groups and attributes."""

    def __new__(
        cls,
        name: str,
        *,
        attributes: Mapping[str, Any] = MappingProxyType({}),
        groups: tuple[str, ...] = (),
        is_known: bool = False,
    ) -> Principal:
        made = super().__new__(cls, name)
        for name, value in (("attributes", attributes), ("groups", groups), ("is_known", is_known)):
            object.__setattr__(made, name, value)
        return made

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise TypeError("a principal cannot be changed")

    @classmethod
    def of(cls, name: str) -> Principal:
        """The principal of a call or a program; of a plain name nothing else is known."""
        return name if isinstance(name, cls) else cls(name)

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        return str, (str(self),)
