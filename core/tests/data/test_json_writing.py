"""JSON that is written in pieces is the JSON that it would be at once; large values are worked on in threads."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from doorward.data import json_writing, offload
from doorward.data.json_writing import dump
from doorward.data.offload import done, is_large
from doorward.data.values import cut, plain
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic_core import to_json

LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-(10**9), 10**9)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=40)
)
TREES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=8) | st.dictionaries(st.text(max_size=8), inner, max_size=8),
    max_leaves=30,
)
OFTEN = settings(deadline=None, suppress_health_check=list(HealthCheck))


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_writing, "PIECE_BYTES", 8)
    monkeypatch.setattr(json_writing, "PIECE_PARTS", 20)


@pytest.mark.slow
@OFTEN
@given(TREES)
def test_what_is_written_in_pieces_is_the_json(value: Any) -> None:
    assert dump(value) == to_json(value)


@pytest.mark.slow
@pytest.mark.parametrize("value", [b"\x00\xff\xfe" * 10**6, ["x" * 10**6, {"y": 'é\ud83d\ude00"\\' * 10**5}]])
def test_long_texts_and_bytes(value: Any) -> None:
    value = plain(value, keep=(bytes,))
    assert dump(value) == to_json(value, bytes_mode="base64")


def test_halves_of_pairs_in_long_texts() -> None:
    """Wherever a text is cut, a character stays whole, and half of one is replaced."""
    assert plain("\U0001f600" * 10 + "\ud800" + "é") == "\U0001f600" * 10 + "?é"


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("value", "there"),
    [([0] * 10, False), ("x" * 1000, False), ([0] * 1000, True), ("x" * 10**6, True), ({"k" * 10**6: 1}, True)],
)
async def test_work_on_large_values_is_done_in_a_thread(value: Any, there: bool) -> None:
    used = await done(threading.get_ident, large=is_large(value))
    assert (used != threading.get_ident()) is there


@pytest.mark.slow
@pytest.mark.anyio
async def test_whoever_gives_up_does_not_wait_for_the_thread() -> None:
    """A run's time ends while a large value is worked on: its answer does not come later for that."""
    import anyio

    go_on = threading.Event()
    with anyio.move_on_after(0.05) as scope:
        await offload.off_loop(go_on.wait)
    assert scope.cancelled_caught
    go_on.set()


def test_long_names_are_cut_as_values_are() -> None:
    """What is shown of a value is small, whatever in it is large."""
    assert len(dump(cut({"k" * 10**6: {"l" * 10**6: "m" * 10**6}}, 1000))) < 2000
