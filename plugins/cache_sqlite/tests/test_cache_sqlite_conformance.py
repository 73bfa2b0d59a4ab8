"""The cache in the store against core's conformance class, as any third party's cache."""

from __future__ import annotations

from typing import Any

import pytest
from doorward import PluginContext
from doorward_cache_sqlite import SqliteCache
from doorward_store_sqlite import SqliteStore
from doorward_testing import CacheConformance, check_driver, check_light_import


@pytest.mark.slow
class TestSqliteConformance(CacheConformance):
    """CONTRACT: CAC-03. The cache keeps what the protocol promises, in processes of their own."""

    driver = SqliteCache

    def cache(self, host: Any) -> Any:
        store = SqliteStore(PluginContext("sqlite", SqliteStore.Settings(), host.folder))
        return SqliteCache(PluginContext("sqlite", SqliteCache.Settings(), host.folder, store=store))


@pytest.mark.slow
def test_is_installed_and_light() -> None:
    """The driver is found under its name, and importing it opens nothing heavy."""
    assert check_driver("cache", "sqlite") is SqliteCache
    check_light_import("doorward_cache_sqlite")
