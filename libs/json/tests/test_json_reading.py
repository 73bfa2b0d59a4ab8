"""JSON of any size is read piece by piece, and nobody else waits for it."""

from __future__ import annotations

import asyncio
import itertools
import json
import time
from collections.abc import Callable
from typing import Any

import doorward_json as json_reading
import pytest
from doorward.values import aside
from doorward_json import decoded, read_json
from hypothesis import example, given
from hypothesis import strategies as st

pytestmark = pytest.mark.slow

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8")),
    lambda inner: st.lists(inner, max_size=8) | st.dictionaries(st.text(max_size=20), inner, max_size=8),
    max_leaves=60,
)
MI = 2**20


@pytest.fixture(scope="module", autouse=True)
def pieces() -> Any:
    """Small ones, so that small texts have many."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_reading, "PIECE_CHARACTERS", 90)
        patch.setattr(json_reading, "_MIN_PIECE_CHARACTERS", 40)
        yield


@pytest.mark.slow
@given(JSON, st.booleans(), st.sampled_from([None, 1]))
def test_it_reads_what_json_reads(value: Any, ascii: bool, indent: int | None) -> None:
    text = json.dumps(value, ensure_ascii=ascii, indent=indent)
    assert read_json(text) == read_json(text.encode()) == value


@example('"\\1"')
@given(st.text(st.sampled_from('[]{}",:1e.-\\utnf "a'), max_size=120))
def test_it_refuses_what_json_refuses(text: str) -> None:
    try:
        wanted = json.loads(text, strict=False, parse_constant=lambda name: None)
    except ValueError:
        with pytest.raises(ValueError, match="at character"):
            read_json(text)
    else:
        assert read_json(text) == wanted


def test_what_is_odd_costs_nothing_else() -> None:
    """Huge numbers, NaN, lone surrogates, bytes that are no text, repeated keys, and any depth."""
    digits, deep = "9" * 5000, 20_000
    text = f'{{"a": {digits}, "b": NaN, "c": "\\ud800", "a": 1, "d": {"[" * deep}{"]" * deep}, "e": "fine", "f": [{digits}, -Infinity, 2]}}'
    found = read_json(text)
    assert (found["a"], found["b"], found["c"], found["e"], found["f"]) == (
        1,
        None,
        "\ud800",
        "fine",
        [digits, None, 2],
    )
    assert read_json(b'["\xff", "x\x00y"]') == ["\ufffd", "x\x00y"]
    assert read_json('"' + "\U0001f600" * 500 + '"') == "\U0001f600" * 500
    assert read_json('"' + "\\ud83d\\ude00" * 500 + '"') == "\U0001f600" * 500
    assert read_json('"' + "\\\\ud83d" * 500 + '"') == "\\ud83d" * 500
    assert decoded("é".encode() * 999 + b"\xc3") == "é" * 999 + "\ufffd"


def test_depth_does_not_multiply() -> None:
    """Each level was looked at again with all that follows it: minutes."""
    for text in (
        "[" * 30_000 + "]" * 30_000,
        ('["' + "x" * 66 + '",') * 30_000 + "1" + "]" * 30_000,
        '{"a":' * 30_000 + "1" + "}" * 30_000,
    ):
        started = time.process_time()
        assert read_json(text)
        assert time.process_time() - started < 10


@pytest.mark.slow
@pytest.mark.anyio
@pytest.mark.parametrize(
    "made",
    [
        lambda: b'{"a":"' + b"x" * 16 * MI + b'"}',
        lambda: b'{"a":"' + b"x\\n" * MI + b'"}',
        lambda: b"[" + b"[]," * 60_000 + b"1]",
        lambda: b"[" + b'{"a":"bc"},' * 30_000 + b"1]",
    ],
    ids=["a long text", "escapes", "lists", "objects"],
)
async def test_nobody_waits_for_it(made: Callable[[], bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    """The loop has its turns while others are read. Read at once, it has none."""
    text = made()
    monkeypatch.setattr(json_reading, "PIECE_CHARACTERS", 2**16)
    monkeypatch.setattr(json_reading, "_MIN_PIECE_CHARACTERS", 256)
    turns: list[float] = []

    async def count() -> None:
        while True:
            turns.append(time.perf_counter())
            await asyncio.sleep(0.001)

    counting = asyncio.create_task(count())
    await asyncio.sleep(0.01)
    turns.clear()
    assert await aside(lambda: read_json(text), len(text))
    counting.cancel()
    gaps = sorted(b - a for a, b in itertools.pairwise(turns))
    assert len(gaps) > 3
    assert gaps[len(gaps) // 2] < 0.25, "half of them, on whatever machine"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
