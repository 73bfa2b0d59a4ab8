"""What core's tests share; the fake source, executor and cache are samples of `doorward_testing`."""

from __future__ import annotations

from typing import Any

import pytest
from doorward.catalog.catalog import Catalog
from doorward.catalog.store import CatalogStore
from doorward.engines import MemoryStore
from doorward.model.errors import StateError
from doorward.model.functions import Compiled, Function
from doorward_testing import Host
from doorward_testing.samples import CONFIG, InProcess, MemoryCache, Weather, WeatherSettings

from . import simple_cache, simple_rules

__all__ = ["CONFIG", "InProcess", "MemoryCache", "Unusable", "Weather", "WeatherSettings"]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def doorward_host(doorward_host: Host) -> Host:
    """A host whose configurations may have simple rules, and which keeps programs where they name a cache."""
    simple_rules.install(doorward_host)
    simple_cache.install(doorward_host)
    return doorward_host


@pytest.fixture
def shared_store(doorward_host: Any) -> MemoryStore:
    """One store of all gateways whose configuration has `store = "shared"`, as a file or a database is that of several
    processes."""
    store = MemoryStore()

    class Shared(MemoryStore):
        lasts = True

        def __init__(self, context: Any) -> None:
            self.__dict__ = store.__dict__

    doorward_host.install("store", "shared", Shared)
    return store


class Unusable(MemoryStore):
    """A store that cannot be used."""

    async def get(self, table: str, key: str) -> Any:
        raise StateError("the store is out of reach")


# A catalog


def function(name: str, summary: str = "", **fields: object) -> Function:
    return Function("s", name, fields.pop("id", name), summary, **fields)  # type: ignore[arg-type]


def stored(store: CatalogStore, *functions: Function) -> Catalog:
    catalog = Catalog(store)
    catalog.store("s", Compiled(functions, {"Thing": {"type": "object"}}), fingerprint="f", settings="c", ms=1)
    catalog.refresh()
    return catalog
