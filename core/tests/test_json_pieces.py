"""JSON in pieces is the JSON that it would be at once."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest
from doorward import json_pieces, offload
from doorward.json_pieces import dump, load
from doorward.offload import done, is_large
from doorward.values import plain
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic_core import from_json, to_json

LEAVES = st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=40)
TREES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=8) | st.dictionaries(st.text(max_size=8), inner, max_size=8), max_leaves=60
)
OFTEN = settings(deadline=None, max_examples=300, suppress_health_check=list(HealthCheck))
BREAKS = [b"", b",", b'"', b"[", b"]", b"}", b"{", b":", b"\\", b" ", b"1", b"\\ud83d", b"\xc3"]


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_pieces, "PIECE_BYTES", 8)
    monkeypatch.setattr(json_pieces, "PIECE_PARTS", 20)


@OFTEN
@given(TREES, st.booleans(), st.sampled_from([None, 1]))
def test_what_is_read_in_pieces_is_the_value(value: Any, ascii_only: bool, indent: int | None) -> None:
    assert load(json.dumps(value, ensure_ascii=ascii_only, indent=indent).encode()) == value


@OFTEN
@given(TREES)
def test_what_is_written_in_pieces_is_the_json(value: Any) -> None:
    assert dump(value) == to_json(value)


@OFTEN
@given(TREES, st.data())
def test_what_is_no_json_is_none_in_pieces(value: Any, data: st.DataObject) -> None:
    """Texts that are broken anywhere are refused, and no other ones."""
    text = json.dumps(value).encode()
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(text)))
        text = text[:place] + data.draw(st.sampled_from(BREAKS)) + text[place + 1 :]
    assert _read(load, text) == _read(from_json, text)


def _read(reader: Any, text: bytes) -> Any:
    try:
        return reader(text)
    except ValueError:
        return ValueError


@pytest.mark.parametrize("value", [b"\x00" * 10**6, ["x" * 10**6, {"y": 'é\ud83d\ude00"\\' * 10**5}]])
def test_long_texts_and_bytes(value: Any) -> None:
    value = plain(value, keep=(bytes,))
    assert dump(value) == to_json(value, bytes_mode="base64")
    assert load(dump(value)) == from_json(to_json(value, bytes_mode="base64"))


def test_halves_of_pairs_in_long_texts() -> None:
    """Wherever a text is cut, a character stays whole, and half of one is replaced."""
    assert plain("\U0001f600" * 10 + "\ud800" + "é") == "\U0001f600" * 10 + "?é"


@pytest.mark.anyio
@pytest.mark.parametrize(("value", "there"), [([0] * 10, False), ("x" * 1000, False), ([0] * 1000, True), ("x" * 10**6, True)])
async def test_work_on_large_values_is_done_in_a_thread(value: Any, there: bool) -> None:
    used = await done(threading.get_ident, large=is_large(value))
    assert (used != threading.get_ident()) is there


@pytest.mark.anyio
async def test_whoever_gives_up_does_not_wait_for_the_thread() -> None:
    """A run's time ends while a large value is worked on: its answer does not come later for that."""
    import anyio

    go_on = threading.Event()
    with anyio.move_on_after(0.05) as scope:
        await offload.off_loop(go_on.wait)
    assert scope.cancelled_caught
    go_on.set()
