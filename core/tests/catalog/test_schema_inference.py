"""What is learnt of results: names and types, never values; and what stays as it was while a program runs."""

from __future__ import annotations

import json
import sqlite3
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from doorward import Compiled, File, Function, LimitExceeded, Reply
from doorward.catalog.catalog import Catalog
from doorward.catalog.observation import Shape, as_schema
from doorward.catalog.schema_inference import MAX_PLACES, SchemaInference, bounded, merge, shape
from doorward_store_sqlite.catalog import SqliteCatalog
from doorward_testing.samples import Anything
from hypothesis import given, settings
from hypothesis import strategies as st

NO_PARAMETERS = {"type": "object", "properties": {}}


CONFIG = 'executor = "inprocess"\ncache = "none"\nplugins = []\n[servers.weather]\nsource = "any"\n'


@pytest.fixture
def source(doorward_host: Any) -> type[Anything]:
    class Source(Anything):
        functions, answers, calls = {}, {}, []

    doorward_host.install("source", "any", Source)
    return Source


def function(name: str, **fields: Any) -> Function:
    return replace(Function("weather", name, name, read_only=True, parameters=NO_PARAMETERS), **fields)


# Shapes


@pytest.mark.parametrize(
    ("values", "schema"),
    [
        ([1], {"type": "integer"}),
        ([1, 2.5], {"type": "number"}),
        ([True, None], {"anyOf": [{"type": "boolean"}, {"type": "null"}]}),
        ([[]], {"type": "array", "items": {}}),
        ([[1], ["a"]], {"type": "array", "items": {"anyOf": [{"type": "integer"}, {"type": "string"}]}}),
        ([{"a": 1}, {"a": "x", "b": []}], {"type": "object", "properties": {
            "a": {"anyOf": [{"type": "integer"}, {"type": "string"}]}, "b": {"type": "array", "items": {}}}}),
        ([{"anna@example.org": 1}], {"type": "object", "additionalProperties": {"type": "integer"}}),
        ([{"anna": {"age": 1}}, {"bert": {"age": 2}}],
         {"type": "object", "additionalProperties": {"type": "object", "properties": {"age": {"type": "integer"}}}}),
        ([{"a": 1}, {"0": 2}], {"type": "object", "additionalProperties": {"type": "integer"}}),
        ([{f"k{i}": i for i in range(61)}], {"type": "object", "additionalProperties": {"type": "integer"}}),
        ([{"x" * 65: 1}], {"type": "object", "additionalProperties": {"type": "integer"}}),
        ([{"id_20261121": 1}], {"type": "object", "additionalProperties": {"type": "integer"}}),
        ([{'"""\nimport os': 1}], {"type": "object", "additionalProperties": {"type": "integer"}}),
    ],
)  # fmt: skip
def test_a_shape_has_names_and_types(values: list[Any], schema: Any) -> None:
    """CONTRACT: SRC-25."""
    merged: Shape = {}
    for value in values:
        merged = merge(merged, shape(value))
    assert as_schema(merged) == schema


KEYS = st.sampled_from(["a", "b_c", "d-e"]) | st.text(max_size=6)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(10**6)
    | st.floats(10**6, 10**7)
    | st.text(min_size=1).map(lambda t: f"value-{t}"),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=20,
)


def texts(value: Any) -> list[str]:
    if isinstance(value, (list, dict)):
        return [t for part in (value.values() if isinstance(value, dict) else value) for t in texts(part)]
    return [str(value)] if isinstance(value, (str, int, float)) and not isinstance(value, bool) else []


@pytest.mark.slow
@settings(deadline=None)
@given(st.lists(VALUES, max_size=4))
def test_no_value_is_in_a_shape(values: list[Any]) -> None:
    """CONTRACT: SRC-23."""
    merged: Shape = {}
    for value in values:
        merged = bounded(merge(merged, shape(value)))
        assert merge(merged, merged) == merged
    stored = json.dumps(merged)
    assert not [text for value in values for text in texts(value) if text in stored]


@pytest.mark.slow
def test_a_shape_is_bounded() -> None:
    value: Any = {f"leaf{chr(97 + i)}": 1 for i in range(20)}
    for _ in range(40):
        value = {f"branch_{chr(97 + i)}": value for i in range(20)}
    started = time.process_time()
    whole = bounded(shape([value] * 1000))
    assert time.process_time() - started < 5  # unbounded, it has 20**40 parts
    assert json.dumps(whole).count("{") <= 2 * MAX_PLACES


# In memory and in the catalog


def catalog_with(folder: Path, *functions: Function) -> Catalog:
    catalog = Catalog(SqliteCatalog(folder / "catalog.db"))
    catalog.store("weather", Compiled(functions), fingerprint="f", settings="c", ms=1)
    catalog.refresh()
    return catalog


def test_what_was_seen_is_kept_and_no_compile(tmp_path: Path) -> None:
    """CONTRACT: SRC-23."""
    catalog, began = catalog_with(tmp_path, function("f")), time.time()
    before, known = catalog.version(), catalog.function("weather", "f")
    assert known is not None
    seen = SchemaInference(catalog)
    for value in ([{"a": 1}], [{"a": None}], []):
        seen.learn(known, value)
    seen.flush()
    assert catalog.version() == before
    other = SchemaInference(Catalog(SqliteCatalog(tmp_path / "catalog.db")))
    read = other.of(known)
    assert read is not None
    assert read.times == 3
    assert began <= read.last <= time.time()
    other.learn(known, [{"b": "x"}])
    other.flush()
    seen.learn(known, [])
    seen.flush(everything=True)
    merged = SchemaInference(catalog).of(known)
    assert merged is not None
    assert merged.times == 5
    assert set(as_schema(merged.shape)["items"]["properties"]) == {"a", "b"}


def test_what_is_learnt_while_it_is_stored_is_stored_the_next_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is stored by another thread than that of the calls."""
    catalog = catalog_with(tmp_path, function("f"))
    known = catalog.function("weather", "f")
    assert known is not None
    seen = SchemaInference(catalog)

    class Busy(sqlite3.Connection):
        def execute(self, sql: str, *rest: Any) -> sqlite3.Cursor:
            if sql.startswith("INSERT"):
                seen.learn(known, {"a": 1, "b": 1})
            return super().execute(sql, *rest)

    seen.learn(known, {"a": 1})
    with monkeypatch.context() as patched:
        patched.setattr(sqlite3, "connect", partial(sqlite3.connect, factory=Busy))
        seen.flush()
    seen.flush()
    stored = SchemaInference(catalog).of(known)
    assert stored is not None
    assert stored.times == 2
    assert set(stored.schema["properties"]) == {"a", "b"}


def test_a_file_that_cannot_be_written_disturbs_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is tried again the next time."""
    catalog = catalog_with(tmp_path, function("f"))
    known = catalog.function("weather", "f")
    assert known is not None
    seen = SchemaInference(catalog)
    seen.learn(known, {"a": 1})
    (tmp_path / "broken.db").write_bytes(b"no database" * 1000)
    with monkeypatch.context() as patched:
        patched.setattr(catalog, "merge_observations", SqliteCatalog(tmp_path / "broken.db").merge_observations)
        seen.flush()
    assert catalog.observation("weather", "f") is None
    seen.flush()
    assert catalog.observation("weather", "f") is not None


def test_it_survives_a_compile_of_the_same_function_only(tmp_path: Path) -> None:
    catalog = catalog_with(tmp_path, function("same"), function("changes"), function("gone"), function("typed"))
    seen = SchemaInference(catalog)
    for name in catalog.names("weather"):
        seen.learn(catalog.function("weather", name), {"a": 1})  # type: ignore[arg-type]
    seen.flush()
    now = [
        function("same", summary="New words"),
        function("changes", parameters={**NO_PARAMETERS, "required": ["x"]}),
        function("typed", returns={"type": "object"}),
        function("new"),
    ]
    catalog.store("weather", Compiled(now), fingerprint="g", settings="c", ms=1)
    catalog.refresh()
    rows = [name for name in ("same", "changes", "gone", "typed", "new") if catalog.observation("weather", name)]
    assert rows == ["same"]
    assert seen.of(catalog.function("weather", "same")).times == 1  # type: ignore[arg-type,union-attr]
    assert seen.of(catalog.function("weather", "changes")) is None  # type: ignore[arg-type]
    catalog.drop(["weather"])
    assert catalog.observation("weather", "same") is None


@pytest.mark.slow
def test_it_costs_next_to_nothing(tmp_path: Path) -> None:
    """A result like those before: well below the 0.1 ms that a call takes anyway."""
    catalog = catalog_with(tmp_path, function("f"))
    known = catalog.function("weather", "f")
    assert known is not None
    seen = SchemaInference(catalog)
    value = [{"id": i, "name": "x", "tags": ["a", "b"], "owner": {"id": 1, "login": "y"}} for i in range(1000)]
    seen.learn(known, value)
    best = 1.0
    for _ in range(5):
        started = time.process_time()
        for _ in range(100):
            seen.learn(known, value)
        best = min(best, (time.process_time() - started) / 100)
    assert best < 0.0003, f"{best * 1e6:.0f} µs"


# Through the gateway


@pytest.mark.anyio
async def test_bytes_within_a_result_are_artefacts(doorward_host: Any, source: type[Anything]) -> None:
    """CONTRACT: SRC-18."""
    source.functions = {name: function(name) for name in ("mixed", "many", "large", "whole")}
    source.answers = {
        "mixed": Reply([b"abc", {"file": File(b"PNG", "image/png", "../a.png"), "n": 1}, "x"], next={"page": 2}),
        "many": [b"x"] * 101,
        "large": [b"x" * 2**20] * 3,
        "whole": File(b"%PDF", "application/pdf", "b.pdf"),
    }
    async with doorward_host.gateway(CONFIG + '[limits]\nresult = "2MiB"\n') as gate:
        raw, named, text = await gate.call("weather.mixed")
        assert (raw["type"], raw["bytes"], text) == ("application/octet-stream", 3, "x")
        assert named["file"] | {"artefact": ""} == {"artefact": "", "type": "image/png", "bytes": 3, "name": "a.png"}
        assert gate.file(named["file"]["artefact"]).content == b"PNG"
        whole = await gate.call("weather.whole")
        assert gate.file(whole["artefact"]) == File(b"%PDF", "application/pdf", "b.pdf")
        for name in ("many", "large"):
            with pytest.raises(LimitExceeded):
                await gate.call(f"weather.{name}")


@pytest.mark.anyio
async def test_a_function_that_changes_while_a_program_runs_is_refused(
    doorward_host: Any, source: type[Anything]
) -> None:
    """CONTRACT: SEC-10."""
    source.functions = {"f": function("f"), "other": function("other"), "change": function("change")}

    async def change() -> None:
        properties = {"town": {"type": "string"}}
        source.functions = {
            **source.functions,
            "f": function("f", parameters={"type": "object", "properties": properties}),
        }
        source.version += 1
        await gate.compile()

    source.answers = {"f": 1, "other": 2, "change": change}
    async with doorward_host.gateway(CONFIG) as gate:
        outcome = await gate.execute(
            "await weather.f()\nawait weather.other()\nawait weather.change()\nawait weather.other()\nawait weather.f()"
        )
        assert outcome.error is not None
        assert outcome.error.line == 5
        assert "weather.f has changed since this program called it first" in outcome.error.message
        assert source.calls == ["f", "other", "change", "other"]
        assert (await gate.execute("await weather.f(town='x')")).value == 1


@pytest.mark.anyio
async def test_original_names_of_parameters_work(doorward_host: Any, source: type[Anything]) -> None:
    """CONTRACT: SEC-10."""
    properties = {"from_": {"type": "string"}, "auth": {"type": "string"}}
    schema = {"type": "object", "properties": properties, "additionalProperties": False}
    source.functions = {"f": function("f", parameters=schema, names={"from_": "from", "auth": "x-auth"})}
    source.answers = {"f": 1}
    async with doorward_host.gateway(CONFIG) as gate:
        assert await gate.call("weather.f", {"from": "a", "x-auth": "b"}) == 1
        with pytest.raises(Exception, match="two values for 'from_'"):
            await gate.call("weather.f", {"from": "a", "from_": "b"})
        with pytest.raises(Exception, match="auth-x"):
            await gate.call("weather.f", {"auth-x": "b"})


def test_fields_that_hold_values_are_told() -> None:
    """By the format of the text."""
    assert as_schema(merge(shape({"content": "plain"}), shape({"content": '[{"a": 1}]'}))) == {
        "type": "object",
        "properties": {"content": {"type": "string", "format": "holds-JSON"}},
    }
