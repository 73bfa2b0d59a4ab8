"""Whose values are passed to whom: what counts as taken from an answer, and what does not."""

from __future__ import annotations

import json
import time
from typing import Any, NoReturn

import pytest
from doorward import Function
from doorward_search.learning.run_record import MAX_ANSWER_BYTES, MAX_CALLS, Done, RunRecord
from doorward_search.learning.value_flow import MAX_VALUES, Flow, flows


def function(name: str, *required: str, **properties: Any) -> Function:
    known = {each: {"type": "string"} for each in required} | properties
    return Function("s", name, name, parameters={"type": "object", "properties": known, "required": [*required]})


LIST, GET = function("list"), function("get", "item_id")
ITEMS = [{"id": "id-0001", "owner": {"login": "somebody"}}, {"id": "id-0002", "count": 4711}]


def found(*calls: tuple[Function, dict[str, Any], Any]) -> set[Flow]:
    return flows([Done(*call) for call in calls])


def test_a_value_of_an_answer_becomes_an_argument() -> None:
    """Within lists, objects and texts that are JSON; numbers as their texts, too."""
    for answer in (ITEMS, {"data": {"items": ITEMS}}, json.dumps(ITEMS), {"content": json.dumps(ITEMS)}):
        assert found((LIST, {}, answer), (GET, {"item_id": "id-0002"}, 1)) == {Flow("s.list", "id", "s.get", "item_id")}
        assert found((LIST, {}, answer), (GET, {"item_id": "4711"}, 1)) == {Flow("s.list", "count", "s.get", "item_id")}
        assert found((LIST, {}, answer), (GET, {"item_id": ["x", "somebody"]}, 1)) == {
            Flow("s.list", "login", "s.get", "item_id")
        }


@pytest.mark.parametrize(
    "calls",
    [
        [(GET, {"item_id": "id-0001"}, 1), (LIST, {}, ITEMS)],  # it came later
        [(function("echo", "text"), {"text": "id-0001"}, {"text": "id-0001"}), (GET, {"item_id": "id-0001"}, 1)],
        [
            (GET, {"item_id": "id-0001"}, 1),
            (LIST, {}, ITEMS),
            (GET, {"item_id": "id-0001"}, 1),
        ],  # it had said so before
        [(LIST, {}, ITEMS), (LIST, {"cursor": "id-0001"}, ITEMS)],  # pages of one function
        [(LIST, {}, [{"id": "abc", "n": 7, "on": True, "price": 1234.5}]), (GET, {"item_id": "abc"}, 1)],  # short
        [(LIST, {}, [{"id": "abc", "n": 7}]), (GET, {"item_id": 7}, 1)],
        [(LIST, {}, [{"on": True}]), (GET, {"item_id": True}, 1)],
        [(LIST, {}, ["id-0001"]), (GET, {"item_id": "id-0001"}, 1)],  # no field names it
        [(LIST, {}, {f"key{n}": f"id-{n:04}" for n in range(100)}), (GET, {"item_id": "id-0001"}, 1)],  # keys are data
        [(LIST, {}, ITEMS), (function("find", item={"enum": ["id-0001"]}), {"item": "id-0001"}, 1)],  # not required
        [(LIST, {}, [{"id": "x" * 500}]), (GET, {"item_id": "x" * 500}, 1)],  # a text, and no identifier
        [(LIST, {}, None), (GET, {"item_id": "id-0001"}, 1)],
    ],
)
def test_what_is_no_flow(calls: list[Any]) -> None:
    """Echoes, coincidences, and what names no field."""
    assert found(*calls) == set()


def test_the_own_server_of_a_consumer_counts_first() -> None:
    """A server that answers with every number there is does not become the source of what others gave."""
    greedy = Function("evil", "numbers", "numbers")
    everything = [{"id": n} for n in range(1000, 2000)]
    calls = [(greedy, {}, everything), (LIST, {}, [{"number": 1234}]), (GET, {"item_id": 1234}, 1)]
    assert found(*calls) == {Flow("s.list", "number", "s.get", "item_id")}
    assert found(calls[0], calls[2]) == {Flow("evil.numbers", "id", "s.get", "item_id")}


@pytest.mark.slow
def test_deep_and_large_answers_are_bounded() -> None:
    """They cost no more than so many values."""
    deep: Any = {"id": "id-0001"}
    for _ in range(5000):
        deep = {"in": deep}
    assert found((LIST, {}, deep), (GET, {"item_id": "id-0001"}, 1)) == set()
    large = [{"id": f"id-{n:06}"} for n in range(3 * MAX_VALUES)]
    started = time.process_time()
    assert found((LIST, {}, large), (GET, {"item_id": f"id-{2 * MAX_VALUES:06}"}, 1)) == set()
    assert time.process_time() - started < 2


def test_a_record_is_bounded() -> None:
    """However many calls a run makes, and however large their answers are."""
    record = RunRecord("local")
    for n in range(2 * MAX_CALLS):
        record.called(function(f"f{n}"), {}, "x", MAX_ANSWER_BYTES // 10)
    assert len(record.calls) == MAX_CALLS
    assert sum(call.answer is not None for call in record.calls) <= 10
    assert len(record.functions) == 100


class Untouched(list[object]):
    """An answer that nobody may look into."""

    def __iter__(self) -> NoReturn:
        raise AssertionError

    __len__ = __getitem__ = __eq__ = __repr__ = __reduce_ex__ = __iter__  # type: ignore[assignment]


def test_a_call_waits_for_next_to_nothing() -> None:
    """Whatever it is answered, that is looked at after the run."""
    answer, record = Untouched(), RunRecord("local")
    record.called(LIST, {"page": 1}, answer, 20_000)
    assert record.calls[0].answer is answer
