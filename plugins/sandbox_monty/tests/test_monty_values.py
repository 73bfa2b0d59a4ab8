"""How many parts the value of a program may have, and that nothing is made of one that has more."""

from __future__ import annotations

import gc
import time
import tracemalloc
from typing import Any

import pytest
from doorward import LimitExceeded, Program
from doorward_sandbox_monty import MontyExecutor, MontySettings, values
from doorward_sandbox_monty.steps import Steps
from doorward_sandbox_monty.values import kept
from doorward_testing import Door

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

TOO_MANY = {
    "a list": "list(range(300_000))",
    "the result": "result = [0] * 300_000\n'not this'",
    "a table": "{i: i for i in range(90_000)}",
    "many small ones": "[[i] for i in range(90_000)]",
    "other names": "def len(x): return 0\ndef isinstance(a, b): return True\nstr = list = int\n[*range(300_000)]",
    "attributes": "class A:\n    def __init__(self): self.x = list(range(300_000))\nA()",
    "awaited": "async def f(): return (1,) * 300_000\nawait f()",
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


@pytest.fixture
def suspicious(monkeypatch: pytest.MonkeyPatch) -> None:
    """What takes a tenth of the time to read is suspected, so a tenth of the parts will do: to make millions in the
    interpreter takes a second."""
    monkeypatch.setattr(values, "SUSPICIOUS_SECONDS", values.SUSPICIOUS_SECONDS / 10)
    monkeypatch.setattr(values, "_LONG_SECONDS", values._LONG_SECONDS / 10)
    monkeypatch.setattr(values, "MOST_SECONDS", values.MOST_SECONDS / 10)


async def refused(host: Any, code: str, why: str, **more: Any) -> None:
    """That the program is refused its value, and next to no memory was taken here."""
    tracemalloc.start()
    try:
        with pytest.raises(LimitExceeded, match=why):
            await ended(host, code, **more)
        assert tracemalloc.get_traced_memory()[1] < 2**22
    finally:
        tracemalloc.stop()


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


@pytest.mark.parametrize("code", ["class A: pass\nA()", "class A: pass\nresult = A()", "class A: pass\n[A()]"])
async def test_an_object_without_attributes_is_no_data(host: Any, code: str) -> None:
    """It is shown as CPython shows it, which core explains; `{}` would look like an answer that is empty."""
    assert await ended(host, code) in ("<A object>", ["<A object>"])


VALUE = "the value has more than 100,000 parts"
ARGUMENTS = "the arguments of a call are too large to be read"


@pytest.mark.usefixtures("suspicious")
@pytest.mark.parametrize("plan", [False, True])
@pytest.mark.parametrize("code", TOO_MANY.values(), ids=TOO_MANY)
async def test_nothing_is_made_of_a_value_of_too_many_parts(host: Any, code: str, plan: bool) -> None:
    """While it were made, nobody else would be served."""
    await refused(host, code, VALUE, plan=plan)


def called(call: str, large: str) -> str:
    """A program that tries three times to hand over what is large."""
    return f"import calc\nlarge = {large}\nfor _ in range(3):\n    print('now')\n    try:\n        {call}\n    except Exception:\n        pass"


@pytest.mark.usefixtures("suspicious")
@pytest.mark.parametrize(
    "call", ["calc.add(a=large, b=1)", "calc.add(large, 1)", "help(large)", "await calc.add(a=large, b=1)"]
)
@pytest.mark.parametrize("large", ["list(range(300_000))", "[[i] for i in range(90_000)]"])
async def test_nothing_is_made_of_arguments_of_too_many_parts(host: Any, call: str, large: str) -> None:
    """The run is over: it cannot try that again and again."""
    await refused(host, called(call, large), ARGUMENTS)


@pytest.mark.parametrize(
    ("code", "why"), [("[[i] for i in range(900_000)]", VALUE), (called("help(large)", "[0] * 3_000_000"), ARGUMENTS)]
)
async def test_what_takes_long_is_suspected(host: Any, code: str, why: str) -> None:
    """With the times as they are."""
    await refused(host, code, why)


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
    with pytest.raises(LimitExceeded, match=ARGUMENTS):
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


@pytest.mark.parametrize("code", ["class A: pass\nA()", "import calc\ncalc.add(a=1, b=2)\n'<A object>'"])
async def test_what_collects_garbage_meanwhile_reads_no_value(
    host: Any, monkeypatch: pytest.MonkeyPatch, code: str
) -> None:
    """The garbage of the whole process is collected in whatever thread makes an object: as long as its catalogs are large."""
    again = Steps.again

    def collected(steps: Steps) -> None:
        again(steps)
        gc.collect()

    monkeypatch.setattr(Steps, "again", collected)
    large = [{number: [number]} for number in range(500_000)]
    assert await ended(host, code) == "<A object>", len(large)
