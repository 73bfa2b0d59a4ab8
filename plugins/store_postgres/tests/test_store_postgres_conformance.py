"""The PostgreSQL store against the conformance class, as any third party's store."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from doorward_store_postgres import PostgresStore
from doorward_testing import StoreConformance, check_driver, check_light_import

pytestmark = pytest.mark.slow

_schemas = (f"test_{number}" for number in itertools.count())


class TestPostgresConformance(StoreConformance):
    """The store does what the protocol promises; each host has a schema of its own."""

    driver = PostgresStore

    @pytest.fixture(autouse=True)
    def _database(self, postgres: str) -> None:
        self.url, self.schema = postgres, next(_schemas)

    def settings(self, host: Any) -> dict[str, Any]:
        return {"url": self.url, "schema_name": self.schema}


def test_is_installed_and_light() -> None:
    """The driver is found under its name, and importing it opens nothing heavy."""
    assert check_driver("store", "postgres") is PostgresStore
    check_light_import("doorward_store_postgres")
