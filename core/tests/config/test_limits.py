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

from ..conftest import CONFIG

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
        kept = gate.result(re.findall(r"doorward://results/[\w-]+", loud.printed)[-1]).content
        assert kept == "€" * 1000 + "\n… more than 3000 bytes of output; the rest was dropped"
