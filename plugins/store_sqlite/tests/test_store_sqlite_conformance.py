"""The SQLite store against the conformance class, as any third party's store."""

from __future__ import annotations

import pytest
from doorward_store_sqlite import SqliteStore
from doorward_testing import StoreConformance, check_driver, check_light_import


class TestSqliteConformance(StoreConformance):
    """The store does what the protocol promises."""

    driver = SqliteStore


@pytest.mark.slow
def test_is_installed_and_light() -> None:
    """The driver is found under its name, and importing it opens nothing heavy."""
    assert check_driver("store", "sqlite") is SqliteStore
    check_light_import("doorward_store_sqlite")
