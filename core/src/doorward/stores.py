"""The stores of a gateway. No other module knows which engines keep them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from doorward.calls.artefact_store import ArtefactStore, MemoryArtefacts
from doorward.catalog.memory_catalog import MemoryCatalog
from doorward.catalog.store import CatalogStore

if TYPE_CHECKING:
    from doorward.plugins.manager import Plugins


@dataclass(frozen=True, slots=True)
class Stores:
    """The catalog, which includes observed result shapes, the artefacts, and `more` places, by names under which
    plugins look for them. (The store and the configured cache keep everything else.)"""

    catalog: CatalogStore
    artefacts: ArtefactStore
    more: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def in_folder(cls, state: Path, plugins: Plugins) -> Stores:
        """The catalog in a file of the state folder, by the engine that is installed, or in memory if none is; and
        artefacts in memory. Raises: PluginError."""
        return cls(catalog_in(state, plugins), MemoryArtefacts())


def catalog_in(state: Path, plugins: Plugins) -> CatalogStore:
    """The catalog of a state folder. Raises: PluginError for two engines of one name."""
    engines = sorted(entry.name for entry in plugins.index.of("catalog"))
    if not engines:
        return MemoryCatalog()
    return cast("CatalogStore", plugins.driver("catalog", engines[0])(state / "catalog.db"))
