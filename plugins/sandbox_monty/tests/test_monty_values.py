"""How many parts the value of a program may have, and that nothing is made of one that has more."""

from __future__ import annotations

import time
import tracemalloc
from typing import Any

import pytest
from doorward import LimitExceeded, Program
from doorward_sandbox_monty import MontyExecutor, MontySettings, values
from doorward_sandbox_monty.values import kept
from doorward_testing import Door

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

TOO_MANY = {
    "a list": "list(range(3_000_000))",
    "the result": "result = [0] * 3_000_000\n'not this'",
    "a table": "{i: i for i in range(900_000)}",
    "many small ones": "[[i] for i in range(900_000)]",
    "other names": "def len(x): return 0\ndef isinstance(a, b): return True\nstr = list = int\n[*range(3_000_000)]",
    "attributes": "class A:\n    def __init__(self): self.x = list(range(3_000_000))\nA()",
    "awaited": "async def f(): return (1,) * 3_000_000\nawait f()",
}
ENOUGH = {
    "[0] * 90_000": [0] * 90_000,
    "'x' * 30_000_000": "x" * 30_000_000,
    "class A:\n    def __init__(self, i): self.x = i\n[A(i) for i in range(10_000)]": [{"x": i} for i in range(10_000)],
    "result = list(range(40_000))\n'not this'": [*range(40_000)],
    "(1,\n 2)  # a comment": (1, 2),
    "1, 2": (1, 2),
    "f'{1}' 'ä'": "1ä",
    "(one := 3); one": 3,
}


async def ended(host: Any, code: str, **more: Any) -> Any:
    executor = MontyExecutor(host.context(MontySettings))
    asked = Program(code, deadline=time.monotonic() + 60, **more)
    sandbox = await executor.open(asked)
    try:
        ended = await sandbox.run(asked, Door())
        assert ended.error is None
        return ended.value
    finally:
        await sandbox.close()
        await executor.close()


@pytest.mark.parametrize("plan", [False, True])
@pytest.mark.parametrize("code", TOO_MANY.values(), ids=TOO_MANY)
async def test_nothing_is_made_of_a_value_of_too_many_parts(host: Any, code: str, plan: bool) -> None:
    """While it were made, nobody else would be served."""
    tracemalloc.start()
    try:
        with pytest.raises(LimitExceeded, match="the value has more than 100,000 parts"):
            await ended(host, code, plan=plan)
        assert tracemalloc.get_traced_memory()[1] < 2**22
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "call", ["calc.add(a=LARGE, b=1)", "calc.add(LARGE, 1)", "help(LARGE)", "await calc.add(a=LARGE, b=1)"]
)
@pytest.mark.parametrize("large", ["list(range(3_000_000))", "[[i] for i in range(900_000)]"])
async def test_nothing_is_made_of_arguments_of_too_many_parts(host: Any, call: str, large: str) -> None:
    """The run is over: it cannot try that again and again."""
    code = f"import calc\nlarge = {large}\nfor _ in range(3):\n    print('now')\n    try:\n        {call.replace('LARGE', 'large')}\n    except Exception:\n        pass"
    tracemalloc.start()
    try:
        with pytest.raises(LimitExceeded, match="the arguments of a call are too large to be read"):
            await ended(host, code)
        assert tracemalloc.get_traced_memory()[1] < 2**22
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("code", ENOUGH)
async def test_a_value_of_fewer_parts(host: Any, code: str) -> None:
    assert await ended(host, code) == ENOUGH[code]


@pytest.mark.parametrize("code", ["x = 1", "1 +", "import sys\nsys.exit(1)", "", "exit()"])
def test_a_program_that_ends_with_no_expression_stays_as_it_is(code: str) -> None:
    assert kept(code) == code


async def test_what_was_just_sent_to_the_program_is_no_argument(host: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """To send a large value takes as long as to read one: the call after it is made."""
    monkeypatch.setattr(values, "MOST_SECONDS", -1.0)  # whatever is read takes too long
    code = "import time\ntime.sleep(0)\nlen(x)"  # its first question is a call
    assert await ended(host, code, params={"x": "x" * 3_000_000}) == 3_000_000
    with pytest.raises(LimitExceeded, match="the arguments of a call are too large to be read"):
        await ended(host, code, params={"x": "x"})


@pytest.mark.parametrize(
    ("answer", "is_large"),
    [
        ([0] * 30_000, True),
        ({"a": [{"b": [1] * 200} for _ in range(200)]}, True),
        ({str(n): n for n in range(30_000)}, True),
        (["x" * 500_000] * 5, True),
        ([[1, 2], {"a": "b"}, None], False),
        ("x" * 100_000, False),
    ],
)
def test_large_answers(answer: Any, is_large: bool) -> None:
    """By parts, wherever they are, and by text."""
    assert values.is_large(answer) is is_large
