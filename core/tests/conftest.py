"""What core's tests share; the fake source, executor and cache are samples of `doorward_testing`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from doorward.catalog.catalog import Catalog
from doorward.catalog.sqlite_store import SqliteCatalog
from doorward.engines import MemoryStore
from doorward.model.errors import StateError
from doorward.model.functions import Compiled, Function
from doorward_testing import Host
from doorward_testing.hostile import HOSTILE
from doorward_testing.samples import CONFIG, InProcess, MemoryCache, Weather, WeatherSettings
from hypothesis import strategies as st

from . import simple_rules

__all__ = ["CONFIG", "InProcess", "MemoryCache", "Unusable", "Weather", "WeatherSettings"]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def doorward_host(doorward_host: Host) -> Host:
    """A host whose configurations may have simple rules."""
    simple_rules.install(doorward_host)
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


def check(text: str) -> str:
    """The text itself, once Python and UTF-8 have accepted it."""
    compile(text, "text", "exec")
    text.encode()
    return text


TEXT = st.one_of(
    st.sampled_from(["a", "b", "class", "a-b", "__x", "__debug__", "str", "ｘ", *HOSTILE[:10]]), st.text(max_size=10)
)
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), TEXT),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXT, inner, max_size=3)),
    max_leaves=5,
)
NAMED = st.sampled_from(["#/$defs/A", "#/$defs/B", "#/$defs/none", "#/$defs/\ud800"])
TYPES = st.sampled_from(
    ["string", "integer", "number", "boolean", "null", "array", "object", ["string", "null"], ["object", "array"]]
)


def schemas(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    some = st.one_of(st.lists(inner, max_size=3), JSON)
    keys = {
        "type": st.one_of(TYPES, JSON), "properties": st.one_of(st.dictionaries(TEXT, inner, max_size=4), JSON),
        "required": st.one_of(st.lists(TEXT), JSON), "items": inner, "prefixItems": some, "enum": some, "const": JSON, "oneOf": some,
        "anyOf": some, "allOf": some, "$ref": st.one_of(NAMED, JSON), "default": JSON, "format": JSON, "description": JSON,
        "nullable": JSON, "additionalProperties": inner, "deprecated": JSON, "example": JSON, "examples": JSON, "minimum": JSON,
        "readOnly": JSON,
    }  # fmt: skip
    pairs = st.one_of(*(st.tuples(st.just(key), value) for key, value in keys.items()))
    return st.one_of(st.booleans(), JSON, st.lists(pairs, max_size=8).map(dict))  # each key is drawn only where it is


ANY = st.recursive(schemas(JSON), schemas, max_leaves=6)


# A catalog


def function(name: str, summary: str = "", **fields: object) -> Function:
    return Function("s", name, fields.pop("id", name), summary, **fields)  # type: ignore[arg-type]


def stored(folder: Path, *functions: Function) -> Catalog:
    catalog = Catalog(SqliteCatalog(folder / "catalog.db"))
    catalog.store("s", Compiled(functions, {"Thing": {"type": "object"}}), fingerprint="f", settings="c", ms=1)
    catalog.refresh()
    return catalog
