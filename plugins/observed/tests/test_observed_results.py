"""What is learnt of results: names and types, never values."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
import structlog
from doorward import Function, Secret, Settings, StateError
from doorward.configuration import load_config
from doorward.engines import MemoryStore, Store
from doorward_observed import Observed, observations
from doorward_observed.observations import Observations, clear
from doorward_observed.shapes import MAX_PLACES, Shape, as_schema, bounded, merge, shape
from doorward_testing.samples import Anything
from hypothesis import given, settings
from hypothesis import strategies as st

from .conftest import plugin_of

pytestmark = pytest.mark.anyio
NO_PARAMETERS = {"type": "object", "properties": {}}


CONFIG = 'executor = "inprocess"\ncache = "none"\nplugins = []\n[servers.weather]\nsource = "any"\n'


class AnyAuth:
    """An auth that signs nothing."""

    class Settings(Settings):
        token: Secret

    def __init__(self, context: Any) -> None: ...

    def create_auth(self) -> Any:
        return object()


async def read(store: Store) -> Observations:
    """What another process knows of the store."""
    found = Observations(store)
    await found.read()
    return found


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


# In memory and in the store


async def test_what_was_seen_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes add up what they saw. CONTRACT: SRC-23."""
    monkeypatch.setattr(observations, "time", SimpleNamespace(time=lambda: 1.8e9))
    store, known = MemoryStore(), function("f")
    seen = Observations(store)
    for value in ([{"a": 1}], [{"a": None}], []):
        seen.learn(known, value)
    assert await seen.flush() == {"weather"}
    other = await read(store)
    found = other.of(known)
    assert found is not None
    assert found.times == 3
    assert found.last == 1.8e9
    other.learn(known, [{"b": "x"}])
    await other.flush()
    seen.learn(known, [])
    assert await seen.flush() == set()
    assert await seen.flush(everything=True) == set()
    merged = (await read(store)).of(known)
    assert merged is not None
    assert merged.times == 5
    assert set(as_schema(merged.shape)["items"]["properties"]) == {"a", "b"}


async def test_what_is_learnt_while_it_is_stored_is_stored_the_next_time() -> None:
    """Calls go on meanwhile."""
    known = function("f")

    class Busy(MemoryStore):
        async def commit(self, *changes: Any, fences: Any = (), sync: bool = False) -> int:
            seen.learn(known, {"a": 1, "b": 1})
            return await super().commit(*changes, fences=fences)

    store = Busy()
    seen = Observations(store)
    seen.learn(known, {"a": 1})
    await seen.flush()
    await seen.flush()
    stored = (await read(store)).of(known)
    assert stored is not None
    assert stored.times == 2
    assert set(as_schema(stored.shape)["properties"]) == {"a", "b"}


async def test_two_that_store_at_once_lose_nothing() -> None:
    """The second merges what the first has stored meanwhile."""
    store, known = MemoryStore(), function("f")
    one, other = Observations(store), Observations(store)
    one.learn(known, {"a": 1, "c": 1})
    other.learn(known, {"b": 1, "c": 1})
    await asyncio.gather(one.flush(), other.flush())
    stored = (await read(store)).of(known)
    assert stored is not None
    assert stored.times == 2
    assert set(as_schema(stored.shape)["properties"]) == {"a", "b", "c"}


async def test_a_store_that_is_out_of_reach_disturbs_nobody() -> None:
    """It is tried again the next time."""

    class Away(MemoryStore):
        away = True

        async def commit(self, *changes: Any, fences: Any = (), sync: bool = False) -> int:
            if self.away:
                raise StateError("the store is out of reach")
            return await super().commit(*changes, fences=fences)

    store, known = Away(), function("f")
    seen = Observations(store)
    seen.learn(known, {"a": 1})
    assert await seen.flush() == set()
    assert (await read(store)).of(known) is None
    store.away = False
    assert await seen.flush() == {"weather"}
    stored = (await read(store)).of(known)
    assert stored is not None
    assert stored.times == 1


async def test_no_result_is_forgotten_before_it_is_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    """That functions are forgotten is said once; where the store takes nothing there is a bound all the same."""
    monkeypatch.setattr(observations, "MAX_FUNCTIONS", 3)
    monkeypatch.setattr(observations, "MAX_UNSTORED", 6)
    store, known = MemoryStore(), [function(f"f{n}") for n in range(9)]
    seen = Observations(store)
    with structlog.testing.capture_logs() as logs:
        for each in known[:6]:
            seen.learn(each, {"a": 1})
        assert not logs
        assert await seen.flush() == {"weather"}
        assert [each.name for each in known if seen.of(each)] == ["f3", "f4", "f5"]
        assert len(await store.scan(observations.TABLE)) == 6
        for each in known:
            seen.learn(each, {"a": 1})
        assert [each.name for each in known if seen.of(each)] == ["f3", "f4", "f5", "f6", "f7", "f8"]
    assert [(line["event"], line["function"], line["stored"]) for line in logs] == [
        ("observed_forgotten", "weather.f0", True)
    ]


async def test_it_holds_for_the_same_function_only(doorward_host: Any, source: type[Anything]) -> None:
    """Other parameters, and a schema of the results, end it; other words do not."""
    source.functions = {name: function(name) for name in ("same", "changes", "typed")}
    source.answers = {name: {"a": 1} for name in source.functions}
    async with doorward_host.gateway(CONFIG) as gate:
        for name in source.functions:
            await gate.call(f"weather.{name}")
    source.functions = {
        "same": function("same", summary="New words"),
        "changes": function("changes", parameters={**NO_PARAMETERS, "required": ["x"]}),
        "typed": function("typed", returns={"type": "object"}),
        "new": function("new"),
    }
    source.version += 1
    async with doorward_host.gateway(CONFIG) as gate:
        await gate.compile()
        seen = [name for name in source.functions if gate.catalog.notes.result(gate.catalog.function("weather", name))]
        assert seen == ["same"]


async def test_what_one_sees_is_learnt_for_nobody(doorward_host: Any, source: type[Anything]) -> None:
    """Keys of alice's answers would tell bob of them."""
    source.functions, source.answers = {"raw": function("raw")}, {"raw": {"key_of_alice": 1}}
    own = CONFIG + 'auth = { type = "static", token = "${principal:token}" }\n'
    doorward_host.install("auth", "static", AnyAuth)
    for text, learnt in ((CONFIG, True), (own, False)):
        async with doorward_host.gateway(text + '[principals.alice.secrets]\ntoken = "of-alice"\n') as gate:
            await gate.call("weather.raw", principal="alice")
            card = (await gate.get_functions(["weather.raw"], principal="alice"))[0]
            assert ("key_of_alice" in card["text"], "observed" in card["text"]) == (learnt, learnt)
            plugin_of(gate).observations._known.clear()
            await clear(gate.store)


async def test_without_it_nothing_is_said(doorward_host: Any, source: type[Anything]) -> None:
    source.functions, source.answers = {"f": function("f")}, {"f": {"a": 1}}
    async with doorward_host.gateway(f'capabilities = ["text"]\n{CONFIG}') as gate:
        await gate.call("weather.f")
        assert (await gate.get_functions(["weather.f"]))[0]["signature"] == "def f() -> Any"


async def test_a_catalog_that_is_removed_takes_it_along(doorward_host: Any, source: type[Anything]) -> None:
    """`doorward clean` asks the plugin."""
    source.functions, source.answers = {"f": function("f")}, {"f": {"a": 1}}
    file = doorward_host.write(CONFIG)
    async with doorward_host.gateway(CONFIG) as gate:
        await gate.call("weather.f")
    loaded = load_config(file)
    assert await Observed.clean(loaded) == ["what was observed of the results of 1 functions"]
    assert await Observed.clean(loaded) == []


@pytest.mark.slow
def test_it_costs_next_to_nothing() -> None:
    """A result like those before: well below the 0.1 ms that a call takes anyway."""
    known, seen = function("f"), Observations(MemoryStore())
    value = [{"id": i, "name": "x", "tags": ["a", "b"], "owner": {"id": 1, "login": "y"}} for i in range(1000)]
    seen.learn(known, value)
    best = 1.0
    for _ in range(5):
        started = time.process_time()
        for _ in range(100):
            seen.learn(known, value)
        best = min(best, (time.process_time() - started) / 100)
    assert best < 0.0003, f"{best * 1e6:.0f} µs"


def test_fields_that_hold_values_are_told() -> None:
    """By the format of the text."""
    assert as_schema(merge(shape({"content": "plain"}), shape({"content": '[{"a": 1}]'}))) == {
        "type": "object",
        "properties": {"content": {"type": "string", "format": "holds-JSON"}},
    }
