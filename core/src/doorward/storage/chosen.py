"""Which store a gateway has."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast

from doorward.storage.memory import MemoryStore

if TYPE_CHECKING:
    from doorward.config.config import Loaded
    from doorward.model.storage import Store
    from doorward.plugins.manager import Plugins

MEMORY = "memory"
"""The name of core's own store."""


def chosen_store(loaded: Loaded, plugins: Plugins, state: Path) -> Store:
    """The store that the configuration names; that in memory if it is the default one and not installed. It opens
    nothing yet. Raises: PluginError, ConfigError."""
    name = loaded.config.store or MEMORY
    if name == MEMORY or ("store" not in loaded.named and not plugins.index.named("store", name)):
        return MemoryStore()
    return cast("Store", plugins.made("store", name, loaded, state))
