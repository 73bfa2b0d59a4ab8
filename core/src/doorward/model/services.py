"""What plugins of a gateway give to it and to one another: one object of each kind, by its key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

from doorward.model.errors import PluginError

T = TypeVar("T")


@dataclass(frozen=True)  # with slots, Python 3.11 could not make a `Service[…](…)`
class Service(Generic[T]):
    """The key of a service: what `name` calls it in errors, and the `distribution` that brings it, "" if several may.

    Whoever defines a service makes its key once, and others import that: `SEARCH = Service[SearchEngine]("a search
    engine", "acme-search")`.
    """

    name: str
    distribution: str = ""


class Services:
    """The services of one gateway. They are given by the hook `gateway_made`, and used once the gateway is open."""

    def __init__(self) -> None:
        self._given: dict[Service[Any], Any] = {}

    def give(self, service: Service[T], value: T) -> None:
        """Be the one that gives a service. Raises: PluginError if somebody else does."""
        if service in self._given:
            one, other = (type(each).__module__.partition(".")[0] for each in (self._given[service], value))
            raise PluginError(f"{service.name} is given twice: by {one} and by {other}", hint="Use one of the two.")
        self._given[service] = value

    def get(self, service: Service[T]) -> T | None:
        """A service, if anybody gives it."""
        return cast("T | None", self._given.get(service))

    def __getitem__(self, service: Service[T]) -> T:
        """A service. Raises: PluginError, which says what to install, if nobody gives it."""
        if service not in self._given:
            brings = f"`pip install {service.distribution}` brings it; " if service.distribution else ""
            hint = f"{brings}`capabilities` of the configuration must name it, if it is set there."
            raise PluginError(f"{service.name} is not in use here", hint=hint)
        return cast("T", self._given[service])
