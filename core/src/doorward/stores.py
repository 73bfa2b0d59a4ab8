"""The stores of a gateway, or of whoever administers it. No other module knows which engines keep them."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from doorward.catalog.memory_catalog import MemoryCatalog
from doorward.catalog.store import CatalogStore
from doorward.host.memory_store import MemoryStore

if TYPE_CHECKING:
    from doorward.config.config import Loaded
    from doorward.model.storage import Store
    from doorward.plugins.manager import Plugins

MEMORY = "memory"
"""The name of core's own store."""


@dataclass(frozen=True, slots=True)
class Stores:
    """The catalog, and `more` places, by names under which plugins look for them. (The store keeps everything
    else.)"""

    catalog: CatalogStore
    more: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def in_folder(cls, state: Path, plugins: Plugins) -> Stores:
        """The catalog in a file of the state folder, by the engine that is installed, or in memory if none is.
        Raises: PluginError."""
        return cls(catalog_in(state, plugins))


def catalog_in(state: Path, plugins: Plugins) -> CatalogStore:
    """The catalog of a state folder. Raises: PluginError for two engines of one name."""
    engines = sorted(entry.name for entry in plugins.index.of("catalog"))
    if not engines:
        return MemoryCatalog()
    return cast("CatalogStore", plugins.driver("catalog", engines[0])(state / "catalog.db"))


def chosen_store(loaded: Loaded, plugins: Plugins, state: Path, name: str = "") -> Store | None:
    """The store of this name, or the one that the configuration names; `None` if it is the default one and not
    installed. It opens nothing yet. Raises: PluginError, ConfigError."""
    asked, name = name, name or loaded.config.store or MEMORY
    if not asked and "store" not in loaded.named and not plugins.index.named("store", name):
        return None
    if name == MEMORY:
        return MemoryStore()
    return cast("Store", plugins.made("store", name, loaded, state))


@contextlib.asynccontextmanager
async def open_store(loaded: Loaded, name: str = "") -> AsyncIterator[Store]:
    """The store of a configuration, or another one of this name, without a gateway. Raises: PluginError,
    ConfigError."""
    from doorward.config.layers import find_index
    from doorward.plugins.manager import Plugins

    store = chosen_store(loaded, Plugins(find_index()), loaded.state_folder(), name) or MemoryStore()
    try:
        yield store
    finally:
        await store.close()
