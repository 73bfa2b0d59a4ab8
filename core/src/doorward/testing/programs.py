"""Programs that meet the error of an API, for the conformance of executors."""

from __future__ import annotations

CATCHING = [
    """
import calc, doorward
try:
    calc.fail(status=429)
except doorward.ApiError as e:
    result = [e.status, e.retry_after]
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
    "import calc, doorward\ntry: calc.fail(status=429)\nexcept doorward.ApiError as e: result = [e.status, e.retry_after]\n",
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

RAISING = [
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
