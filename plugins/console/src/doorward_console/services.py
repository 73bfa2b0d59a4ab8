"""What other distributions do, where they are installed and in use."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from doorward import Gateway, Service


def service_key(place: str) -> Service[Any] | None:
    """The key of a service, `package:NAME`; `None` if the package is not installed."""
    package, _, name = place.partition(":")
    try:
        return getattr(importlib.import_module(package), name)  # type: ignore[no-any-return]
    except ModuleNotFoundError:
        return None


def service(gateway: Gateway, place: str) -> Any:
    """The service whose key is at a place; `None` if nobody gives it."""
    key = service_key(place)
    return None if key is None else gateway.services.get(key)
