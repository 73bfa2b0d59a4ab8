"""Values of programs that mean less than they seem to: what is made of them, and what notes say."""

from __future__ import annotations

import datetime
import json
import uuid
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from doorward.data.values import plain

from ..conftest import CONFIG

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Decimal("1.10"), "1.10"),
        (Fraction(1, 3), "1/3"),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (datetime.timedelta(hours=1), "1:00:00"),
        (datetime.date(2026, 1, 2), "2026-01-02"),
        (2j, "2j"),
        (ValueError("x"), "ValueError('x')"),
    ],
)
def test_what_its_text_says_is_that_text(value: Any, text: str) -> None:
    """A decimal and the like are not shown as code."""
    assert plain([value]) == [text]


@pytest.mark.parametrize(
    "code",
    ["object()", "[len]", "{'a': lambda: 1}", "json", "range(3)", "{1: 2}.items()", "'[Function: f]'", "'[class A]'"],
)
async def test_the_text_of_an_object_has_a_note(doorward_host: Any, code: str) -> None:
    """In Python and JavaScript, which show objects differently; the note repeats nothing of it."""
    async with doorward_host.gateway(CONFIG) as gate:
        outcome = await gate.execute(f"import json\n{code}")
    assert outcome.notes == (
        "something in the value is only the text of an object, as Python or JavaScript shows it; return its data",
    )


@pytest.mark.parametrize("value", ["<b>object</b>", "<object data='x'>", "a range(3)", "< object >", [1, {"a": "[x]"}]])
async def test_other_text_has_no_note(doorward_host: Any, value: Any) -> None:
    """What an API answers, for example HTML."""
    async with doorward_host.gateway(CONFIG) as gate:
        outcome = await gate.execute(json.dumps(value))
    assert (outcome.value, outcome.notes) == (value, ())


NO_VALUE = "the program has no value: set `result`, or end with an expression"


@pytest.mark.parametrize(
    ("code", "notes"),
    [
        ("x = 1", (NO_VALUE,)),
        ("await weather.big()\nfor n in range(3):\n    pass", (NO_VALUE,)),
        ("result = None", ()),
        ("if False:\n    result = 1", ()),
        ("None", ()),
        ("for n in [1]:\n    print(n)", ()),
        ("x = 1\nprint(x)\ny = 2", ()),
    ],
)
async def test_a_program_without_a_value_has_a_note(doorward_host: Any, code: str, notes: tuple[str, ...]) -> None:
    """Unless it printed something; and a session keeps what it made."""
    async with doorward_host.gateway(CONFIG) as gate:
        outcome = await gate.execute(code)
        assert (outcome.value, outcome.notes) == (None, notes)
        assert (await gate.execute(code, session_id="new")).notes == ()
