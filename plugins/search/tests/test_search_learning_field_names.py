"""Only names that the catalog has are written: any other key of an answer may be data."""

from __future__ import annotations

from pathlib import Path

import pytest
from doorward import Compiled, Function
from doorward.administration import FunctionNotes
from doorward.searching import Catalog
from doorward.texts import Observation
from doorward_search.learning.field_names import FieldNames
from doorward_store_sqlite.catalog import SqliteCatalog

RETURNS = {"type": "array", "items": {"$ref": "#/$defs/Item"}}
ITEM = {"type": "object", "properties": {"code": {"type": "string"}, "owner": {"properties": {"login": {}}}}}


class Seen(FunctionNotes):
    """Knows the results of one function."""

    def result(self, function: Function) -> Observation | None:
        items = {"type": "object", "properties": {"serial": {"type": "string"}}}
        return Observation({"type": "array", "items": items}, "", 1, 0.0) if function.name == "open" else None


@pytest.fixture
def fields(tmp_path: Path) -> FieldNames:
    catalog = Catalog(SqliteCatalog(tmp_path / "catalog.db"))
    functions = [Function("s", "told", "told", returns=RETURNS), Function("s", "open", "open")]
    catalog.store("s", Compiled(functions, {"Item": ITEM}), fingerprint="f", settings="c", ms=1)
    catalog.notes.add(Seen())
    catalog.refresh()
    return FieldNames(catalog)


@pytest.mark.parametrize(
    ("function", "field", "parameter", "known"),
    [
        ("s.told", "code", "item", True),
        ("s.told", "login", "owner", True),
        ("s.told", "alice", "owner", False),
        ("s.told", "type", "owner", True),  # a word of JSON Schema: no data either
        ("s.open", "serial", "item", True),
        ("s.open", "id", "item_id", True),  # the parameter has its name in the catalog
        ("s.open", "itemId", "item_id", True),
        ("s.open", "alice", "item_id", False),
        ("s.open", "a name", "name", False),
        ("s.gone", "code", "item", False),
    ],
)
def test_names_of_fields(fields: FieldNames, function: str, field: str, parameter: str, known: bool) -> None:
    """As documented, as observed, or as the parameter is called."""
    assert fields.has(function, field, parameter) is known
