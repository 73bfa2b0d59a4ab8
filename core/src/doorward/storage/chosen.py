"""Which store a gateway has, and whoever administers it."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, cast

from doorward.storage.memory import MemoryStore

if TYPE_CHECKING:
    from doorward.config.config import Loaded
    from doorward.model.storage import Store
    from doorward.plugins.manager import Plugins

MEMORY = "memory"
"""The name of core's own store."""


def chosen_store(loaded: Loaded, plugins: Plugins, state: Path) -> Store | None:
    """The store that the configuration names; `None` if it is the default one and not installed. It opens nothing yet.
    Raises: PluginError, ConfigError."""
    name = loaded.config.store or MEMORY
    if "store" not in loaded.named and not plugins.index.named("store", name):
        return None
    if name == MEMORY:
        return MemoryStore()
    return cast("Store", plugins.made("store", name, loaded, state))


@contextlib.asynccontextmanager
async def open_store(loaded: Loaded) -> AsyncIterator[Store]:
    """The store of a configuration, without a gateway. Raises: PluginError, ConfigError."""
    from doorward.config.layers import find_index
    from doorward.plugins.manager import Plugins

    store = chosen_store(loaded, Plugins(find_index()), loaded.state_folder()) or MemoryStore()
    try:
        yield store
    finally:
        await store.close()
