"""When the calls of a stored run were, told from the order of its journal."""

from __future__ import annotations

from typing import Any

from doorward_durable_runs import Given, StoredRun, run_timeline


def test_calls_follow_those_that_had_ended_before_they_began() -> None:
    """And run beside those that had not; one that has not ended is not there."""

    def begins(number: int, name: str) -> tuple[bytes, Any]:
        return b"B", {"n": number, "f": name, "k": "", "a": ""}

    def ends(number: int, begun: int, ms: float, **more: Any) -> tuple[bytes, Any]:
        return b"E", {"n": number, "b": begun, "ms": ms, "u": {}, **more}

    frames = [
        begins(0, "a.first"), ends(0, 1, 10.0), begins(1, "a.long"), begins(2, "a.short"), ends(2, 3, 5.0),
        ends(1, 3, 20.0, u={"tokens": 7}), begins(3, "a.last"), ends(3, 4, 1.0), begins(4, "a.lost"),
    ]  # fmt: skip
    rows = run_timeline(StoredRun(Given("r", "ann", ""), "died", frames=frames))
    assert [(row["function"], row["at"], row["ms"]) for row in rows] == [
        ("a.first", 0.0, 10.0),
        ("a.long", 10.0, 20.0),
        ("a.short", 10.0, 5.0),
        ("a.last", 30.0, 1.0),
    ]
    assert rows[1]["used"] == {"tokens": 7}
