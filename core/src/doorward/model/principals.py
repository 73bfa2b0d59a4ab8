"""Who is asking."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NoReturn

LOCAL = "local"
"""The principal of all requests that do not come over HTTP: the user who started the process."""

_VIA = " via "
"""What stands in the name of a principal between the person and the endpoint by which they came."""


def via(person: str, endpoint: str) -> Principal:
    """The principal for what somebody does by an endpoint: `alice via support`. What such a principal stores (runs,
    artefacts, kept programs, sessions, approvals) is nobody else's, not even of the same person elsewhere."""
    given = Principal.of(person)
    return Principal(f"{given}{_VIA}{endpoint}", attributes=given.attributes)


def person_of(principal: str) -> str:
    """Who a principal is, by whatever endpoint they came: whose credentials, groups and budgets are used."""
    return principal.partition(_VIA)[0] if _VIA in principal else principal


def endpoint_of(principal: str) -> str:
    """The endpoint by which a principal came; empty if it was none."""
    return principal.partition(_VIA)[2]


def names_of(principal: str) -> tuple[str, ...]:
    """The names by which patterns mean a principal: its own, and that of the person."""
    return (principal, person_of(principal)) if _VIA in principal else (principal,)


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
