"""Programs that meet the error of an API or of a tool."""

from __future__ import annotations

CATCHING_API_ERRORS = [
    """
import calc
try:
    calc.fail(status=429)
except Exception as e:
    kind = e.__class__
    names = [type(e).__name__, e.__class__.__name__, kind.__name__, f"{type(e).__name__}", f'{e.__class__.__name__}']
    shown = f"{type(e).__name__}: {e}"
    if names == ["ApiError"] * 5 and shown == "ApiError: calc.fail answered 429" and repr(e).startswith("ApiError("):
        result = [e.status, e.retry_after]
""",
    """
import calc, doorward
try:
    calc.fail(status=429)
except doorward.ApiError as e:
    result = [e.status, e.retry_after]
""",
    """
import asyncio, calc, doorward
calls = [calc.fail(status=status) for status in (429, 400)]
failed, bad, sum_ = await asyncio.gather(*calls, calc.add(a=1, b=1), return_exceptions=True)
kinds = [type(x) is doorward.ApiError for x in (failed, bad, sum_)]
from asyncio import gather
again = await gather(return_exceptions=False, *[calc.add(a=1, b=n) for n in (1, 2)])
result = [failed.status, failed.retry_after] if kinds == [True, True, False] and again == [2, 3] else [kinds, again]
""",
    """
import calc
from doorward import ApiError
try:
    calc.fail(status=429)
except ApiError as e:
    result = [getattr(e, "status", 0), e.retry_after]
""",
    """
import calc
from doorward import (
    ApiError as Failed,
    call,
)
try:
    await calc.fail(status=429)
except (KeyError, Failed) as e:
    if e.body["why"] == ["gone"] and str(e) == "calc.fail answered 429":
        result = [e . status, (e).retry_after]
""",
    """
import calc
import doorward as d
def ask():
    try:
        return calc.fail(status=429)
    except d.ApiError as error:
        return [error.status, error.retry_after] if isinstance(error, d.ApiError) else "no"
result = ask()
""",
    """
import asyncio, calc, doorward
async def ask(status):
    try:
        return await calc.fail(status=status)
    except doorward.ApiError as e:
        return e.status
found = await asyncio.gather(ask(400), ask(29))
result = [sum(found), 1.5]
""",
    """
import calc
try:
    calc.fail(status=429)
except Exception as e:
    result = [int(f"{e.status}"), float(f'{e.retry_after:.1f}')]
""",
    """
import calc, doorward
try:
    try:
        calc.fail(status=429)
    except doorward.ApiError:
        raise
except doorward.ApiError as e:
    result = [e.status, e.retry_after]
""",
    """
import calc, doorward
try:
\tcalc.fail(status=429)
except doorward. \\
    ApiError as e:
\tresult = ["äöü😀" and e. \\
        status, (e
            .retry_after)]
""",
    "import calc, doorward\ntry: calc.fail(status=429)\nexcept doorward.ApiError as e: result = [e.status, "
    "e.retry_after]\n",
    """
import calc, doorward
errors = []
for word in ("a", "b", "a"):
    try:
        calc.fail(word, status=429)
    except doorward.ApiError as e:
        errors.append(e)
same = [e.body["args"] for e in errors] == [["a"], ["b"], ["a"]] and hasattr(errors[1], "status")
result = [errors[0].status, errors[1].retry_after] if same else errors
""",
    """
import calc, doorward
class Row:
    def __init__(self):
        self.status = 429
        self.body = {"status": 1.5}
try:
    try:
        calc.refuse()
    except doorward.ApiError:
        result = "a limit is no answer of an API"
except Exception as e:
    result = [Row().status, Row().body["status"]]
""",
    """
import asyncio, calc, doorward, json
def caught(raising):
    try:
        raising()
    except Exception as e:
        return e
def bad(): int("x")
def failed(): raise ValueError("own")
api, own, built_in, parsed = caught(calc.fail), caught(failed), caught(bad), caught(lambda: json.loads("{"))
same = [
    type(api) is doorward.ApiError, api.__class__ == doorward.ApiError, type(own) is ValueError,
    type(own) == type(built_in), type(built_in) in (KeyError, ValueError), {ValueError: True}.get(type(built_in)),
    type(parsed) is json.JSONDecodeError, type(own) is not Exception,
    isinstance(caught(lambda: [][1]), type(caught(lambda: [][2]))), type(1) is int,
    f"{type(own) is ValueError} {type(own).__name__}" == "True ValueError",
    [type(own).__name__, own.__class__.__name__, type(1).__name__] == ["ValueError", "ValueError", "int"],
    type(parsed).__name__ == "JSONDecodeError",
]
try:
    raise type(own)("again")
except ValueError as e:
    same.append(str(e) == "again")
result = [429, 1.5] if all(same) else same
""",
    """
import calc, doorward
try:
    try:
        {}["x"]
    except doorward.ApiError:
        result = "a KeyError is none"
except KeyError as e:
    result = [429, 1.5]
""",
]
"""Each has the value `[429, 1.5]`, if what it catches is what it should."""

RAISING_API_ERRORS = [
    """
import calc, doorward
try:
    calc.fail()
except doorward.ApiError as e:
    if e.status == 404:
        raise
""",
    """
import calc
from doorward import ApiError
def f():
    calc.fail()

try:
    f()
except ApiError as e:
    raise e
""",
    """
import calc
if True:
    calc.fail()
""",
]
"""Each ends by an ApiError of `calc.fail()`."""

CATCHING_TOOL_ERRORS = [
    """
import calc
try:
    calc.complain()
except Exception as e:
    if type(e).__name__ == f"{e.__class__.__name__}" == "ToolError":
        result = str(e)
""",
    """
import calc, doorward
try:
    calc.complain()
except doorward.ToolError as e:
    result = str(e)
""",
    """
import calc
from doorward import ApiError, ToolError
try:
    await calc.complain()
except ApiError:
    result = "not an answer of an HTTP API"
except ToolError as e:
    result = str(e) if isinstance(e, ToolError) and not isinstance(e, ApiError) else "neither"
""",
    """
import calc, doorward as d
def ask():
    try:
        calc.complain()
    except (KeyError, d.ApiError, d.ToolError) as error:
        return f"{error}"
result = ask()
""",
    """
import calc
try:
    calc.complain()
except Exception as e:
    result = str(e)
""",
    """
import calc, doorward
try:
    try:
        calc.fail()
    except doorward.ToolError:
        result = "an answer of an HTTP API is none"
except doorward.ApiError as e:
    result = "the tool says no" if e.status == 404 else "no status"
""",
    """
import calc, doorward
try:
    try:
        calc.refuse()
    except doorward.ToolError:
        result = "a limit is none"
except Exception as e:
    result = "the tool says no"
""",
]
"""Each has the value `the tool says no`, if what it catches is what it should."""

RAISING_TOOL_ERRORS = [
    "import calc\n\ncalc.complain()\n",
    "import calc, doorward\ntry:\n    calc.complain()\nexcept doorward.ToolError as e:\n    raise\n",
    "import calc, doorward\ntry:\n    calc.complain()\nexcept doorward.ApiError as e:\n    pass\n",
]
"""Each ends by a ToolError of `calc.complain()`, in line 3 or below."""
