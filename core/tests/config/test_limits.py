"""The limits of a run: one dataclass, from which the configuration follows; sizes are bytes."""

from __future__ import annotations

import json
import re
from dataclasses import fields
from typing import Any

import pytest
from doorward import Limits
from doorward.config.settings import LimitSettings
from doorward.data.values import beginning, cut, size
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ByteSize

from ..conftest import CONFIG, MemoryCache

pytestmark = pytest.mark.anyio
TEXT = st.text(st.characters(exclude_categories=[]) | st.sampled_from("aé€😀\ud800"), max_size=60)


def test_each_limit_has_a_key_with_its_default_and_meaning() -> None:
    """`[limits]` says nothing of its own about a run, and what the configuration says reaches it."""
    for limit in fields(Limits):
        field = LimitSettings.model_fields[limit.name.removesuffix("_bytes")]
        assert (field.default, field.description) == (limit.default, limit.metadata["meaning"])
        assert (field.annotation is ByteSize) == limit.name.endswith("_bytes")
    assert LimitSettings().of_run() == Limits()
    other = LimitSettings.model_validate({"memory": "1GiB", "inline": 5, "timeout": 7, "calls": 9})
    assert other.of_run() == Limits(memory_bytes=2**30, inline_bytes=5, timeout=7.0, calls=9)


@pytest.mark.slow
@given(TEXT, st.integers(0, 80))
def test_the_beginning_of_a_text_has_so_many_bytes(text: str, most: int) -> None:
    """It is a whole text of at most so many bytes, and all of one that has no more."""
    found = beginning(text, most)
    assert size(found) <= most
    assert found == text if size(text) <= most else size(found) > most - 4 - 3 * text.count("\ud800")


@pytest.mark.parametrize("value", ["€" * 10_000, ["€" * 100] * 100, {"€" * 20 + str(n): "😀" * 20 for n in range(100)}])
def test_a_cut_value_fits_in_bytes(value: Any) -> None:
    """A text of characters of three bytes is not three times as large as its limit."""
    assert len(json.dumps(cut(value, 1000), ensure_ascii=False).encode()) < 1500


ROWS = [{"id": n, "name": "x" * 50} for n in range(2000)]


@pytest.mark.parametrize(
    ("value", "first", "last", "left"),
    [
        (ROWS, ROWS[0], ROWS[-1], 2000),
        ({"total": 2000, "rows": ROWS, "next": "abc"}, 2000, "abc", 3),
        ({str(n): {"id": n} for n in range(5000)}, {"id": 0}, {"id": 4999}, 5000),
        ("abc" + "x" * 9000 + "end", "abc", "end", 9006),
        ([[[ROWS]]], None, None, 0),
        ([{"body": "x" * 9000}, {"id": 2}], None, {"id": 2}, 2),
        ({"a": "x" * 9000, "b": ROWS, "c": 1}, None, 1, 3),
        ([n / 7 for n in range(5000)], 0.0, 4999 / 7, 5000),
    ],
)
def test_a_cut_value_has_its_beginning_and_its_end(value: Any, first: Any, last: Any, left: int) -> None:
    """Small fields stay whole beside large ones, and what is shown and what is said to be left out are all there was;
    what has room stays as it is."""
    found = cut(value, 2560)
    assert 1500 < len(json.dumps(found)) < 3200
    shown = [*(found.values() if isinstance(found, dict) else found)]
    if isinstance(value, str):
        assert (found[:3], found[-3:]) == (first, last)
        head, between, tail = re.split(r"… \((\d+) more characters\)…", found)
        assert len(head) + int(between) + len(tail) == left
        return
    assert first is None or shown[0] == first
    assert last is None or shown[-1] == last
    notes = [int(part.strip("… more")) for part in map(str, shown) if re.fullmatch(r"(… )?\d+ more", part)]
    assert left in (0, len(shown) - len(notes) + sum(notes))
    assert cut(found, 10**6) == found


async def test_a_caller_asks_how_much_is_shown(doorward_host: Any) -> None:
    """Of a value and of printed text, by a program, a kept one and a call: more than is usual, or less; not anything."""
    doorward_host.install("cache", "memory", MemoryCache)
    async with doorward_host.gateway(CONFIG.replace('"none"', '"memory"')) as gate:
        usual = await gate.execute("print('a b ' * 5000)\nawait weather.big()")
        assert 2000 < len(json.dumps(usual.value)) < 3200
        assert 2500 < len(usual.printed) < 3000
        assert (usual.value[0]["id"], usual.value[-1]["id"], usual.truncated["shape"][:10]) == (0, 1999, "list[2000]")
        for asked in (600, 9000):
            kept = await gate.run_cached(usual.cache_id, show_bytes=asked)
            call = await gate.answer("weather.big", show_bytes=asked)
            run = await gate.execute("await weather.big()", show_bytes=asked)
            for outcome in (kept, call, run):
                assert 0.7 * asked < len(json.dumps(outcome.value)) < 1.3 * asked
        whole = await gate.execute("await weather.big()", show_bytes=2**20)
        assert (len(whole.value), whole.truncated) == (2000, None)
        for refused in (await gate.execute("1", show_bytes=0), await gate.answer("weather.big", show_bytes=2**21)):
            assert "1 to 1048576 can be shown" in refused.error.message


async def test_sizes_of_a_run_are_bytes(doorward_host: Any) -> None:
    """What is printed, and what is shown of that and of a value, is counted in bytes, not in characters."""
    async with doorward_host.gateway(CONFIG + '[limits]\noutput = "3KB"\ninline = "1KB"\n') as gate:
        short = await gate.execute("print('a' * 990)\n'b' * 990")
        assert (short.truncated, short.printed) == (None, "a" * 990 + "\n")
        cut = await gate.execute("print('€' * 500)\n'😀' * 500")
        assert size(cut.value) < 1100
        assert size(cut.printed) < 1200
        assert cut.truncated["bytes"] == 2000
        loud = await gate.execute("print('€' * 2000)")
        kept = (await gate.result(re.findall(r"doorward://results/[\w-]+", loud.printed)[-1])).content
        assert kept == "€" * 1000 + "\n… more than 3000 bytes of output; the rest was dropped"
